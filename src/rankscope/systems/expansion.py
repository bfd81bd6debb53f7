"""Query expansion around any system: own terms, anchor phrases that count more, negative terms that count against.

Variants of one search, such as with negative terms always, never, or for clear queries only, differ in nothing else.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec.structs import replace

from rankscope.errors import FormatError, InputError, OptionError, did_you_mean
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.files import read_text
from rankscope.systems.base import OptionSystem, Query, RankedDocs, System, best_first, search_once
from rankscope.systems.fusion import Fusion, normalise
from rankscope.systems.options import SYSTEM, AtLeastOne, AtLeastZero, check_choice, load_function, source_hash

PARTS = ("terms", "anchors", "negatives")
_SHAPE = 'give a list of terms, or {"terms": […], "anchors": […], "negatives": […]}'


class Expansion(msgspec.Struct, frozen=True):
    """What is added to one query."""

    terms: tuple[str, ...] = ()
    """Words or phrases that mean the same or belong to it."""
    anchors: tuple[str, ...] = ()
    """Phrases that a good doc should have, and that count more."""
    negatives: tuple[str, ...] = ()
    """Words that speak against a doc."""


class Expand(OptionSystem, kw_only=True):
    """Adds terms to each query before another system is asked, and holds back docs that match negative terms.

    With `mode = "text"`, terms are appended to the query and repeated as often as their weight says, which systems that
    count words understand. With `mode = "subqueries"`, the query, its terms and its anchors are asked one by one and
    their scores, from 0 to 1, added by weight; this works with every system.
    """

    kind: ClassVar[str] = "expand"
    of: Annotated[System, SYSTEM]
    """The system that is asked."""
    dictionary: Mapping[str, Any] = {}
    """What to add for a phrase of the query: a list of terms, or lists named terms, anchors and negatives."""
    file: str | os.PathLike[str] | None = None
    """A JSON or TOML file of such entries."""
    match: Literal["phrase", "query"] = "phrase"
    """What the names in the file are: phrases of the query (phrase), or ids of queries (query)."""
    function: str | Callable[[Query], Any] | None = None
    """A function, as module:function, that gets the query and returns such an entry."""
    attributes: Mapping[str, str] = {}
    """Attributes of queries that hold terms, anchors or negatives, e.g. { anchors = "anchor_phrases" }."""
    mode: Literal["text", "subqueries"] = "text"
    """How terms are added: text, or subqueries."""
    terms_weight: AtLeastZero = 1.0
    """How much terms count beside the query itself."""
    anchors_weight: AtLeastZero = 2.0
    """How much anchors count beside the query itself."""
    negatives_weight: AtLeastZero = 0.5
    """How much of a doc's score matching negative terms best takes away; 0 leaves negative terms out."""
    negatives_when: Mapping[str, Any] = {}
    """Use negative terms only for queries with these attributes, e.g. { clarity = "clear" }; without any, always."""
    depth: AtLeastOne = 1000
    """How many docs are asked for where scores are added or taken away."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, weight in (("terms_weight", self.terms_weight), ("anchors_weight", self.anchors_weight)):
            if self.mode == "text" and not float(weight).is_integer():
                raise OptionError(
                    f"{option} is {weight:g}, but a text can only be repeated whole",
                    hint='give a whole number, or mode = "subqueries"',
                )
        self._function = None if self.function is None else load_function(self.function, what="the function")
        if not (self.dictionary or self.attributes or self._function) and self.file is None:
            raise OptionError(
                f"{self.name}: nothing says what to add to queries",
                hint="give dictionary, file, function or attributes",
            )
        for part in self.attributes:
            check_choice(part, PARTS, what="attributes:")
        entries = as_expansions(self.dictionary, where="dictionary")
        listed = {} if self.file is None else as_expansions(read_expansions(self.file), where=os.fspath(self.file))
        self._of_query = listed if self.match == "query" else {}
        self._of_phrase = [
            (re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)", re.IGNORECASE), entry)
            for phrase, entry in [*entries.items(), *(listed.items() if self.match == "phrase" else ())]
        ]

    def expansion(self, query: Query) -> Expansion:
        """Return all that is added to a query: for phrases in it, for its id, by the function, by its attributes."""
        found = [entry for phrase, entry in self._of_phrase if phrase.search(query.text)]
        found.append(self._of_query.get(query.id, Expansion()))
        if self._function is not None:
            found.append(as_expansion(self._function(query), where=f"the expansion of query {query.id!r}"))
        held = {part: query.attributes.get(name) or () for part, name in self.attributes.items()}
        found.append(as_expansion(held, where=f"query {query.id!r}"))
        each_once = (dict.fromkeys(term for entry in found for term in getattr(entry, part)) for part in PARTS)
        added = Expansion(*map(tuple, each_once))
        uses_negatives = all(query.attributes.get(name) == value for name, value in self.negatives_when.items())
        return added if uses_negatives and self.negatives_weight else replace(added, negatives=())

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        subqueries = [self.subqueries(query) for query in queries]
        flat = [subquery for own in subqueries for subquery, _ in own]
        answers = iter(search_once(self.of, flat, k=max(k, self.depth)))
        return [add_answers([(next(answers), weight) for _, weight in own])[:k] for own in subqueries]

    def subqueries(self, query: Query) -> list[tuple[Query, float]]:
        """Return what is asked for a query, with weights; negative terms have a negative one."""
        added = self.expansion(query)
        weights = {"terms": self.terms_weight, "anchors": self.anchors_weight, "negatives": -self.negatives_weight}
        found = [(query, 1.0)]
        if self.mode == "text":
            repeated = [*added.terms * int(weights.pop("terms")), *added.anchors * int(weights.pop("anchors"))]
            found = [(replace(query, text=" ".join([query.text, *repeated])), 1.0)]
        for part, weight in weights.items():
            if weight and (listed := getattr(added, part)):
                found.append((replace(query, id=f"{query.id}/{part}", text=" ".join(listed)), weight))
        return found

    def describe(self) -> dict[str, Any]:
        entries = {"entries": dict(read_expansions(self.file))} if self.file is not None else {}
        source = {} if self._function is None else {"source": source_hash(self._function)}
        return {**super().describe(), **entries, **source}


def add_answers(answers: Sequence[tuple[RankedDocs, float]]) -> RankedDocs:
    """Add the scores of answers by weight; a doc that only negative terms find is not in the result."""
    if len(answers) == 1:
        return answers[0][0]
    positive = [(ranking, weight) for ranking, weight in answers if weight > 0]
    fusion = Fusion(method="weighted", norm="minmax", weights=tuple(weight for _, weight in positive))
    scores = dict(fusion.fuse([ranking for ranking, _ in positive]))
    total = sum(weight for _, weight in positive)
    for ranking, weight in answers:
        if weight < 0:
            for doc, score in normalise(dict(ranking), "minmax").items():
                if doc in scores:
                    scores[doc] += weight * total * score
    return best_first(scores)


def as_expansions(entries: Mapping[str, Any], *, where: str) -> dict[str, Expansion]:
    return {name: as_expansion(entry, where=f"{where}: {name}") for name, entry in entries.items()}


def as_expansion(value: Any, *, where: str) -> Expansion:
    if value is None:
        return Expansion()
    if isinstance(value, Expansion):
        return value
    if isinstance(value, Mapping):
        unknown = next((name for name in value if name not in PARTS), None)
        if unknown is not None:
            raise InputError(f"{where}: {unknown!r} is not known", hint=did_you_mean(str(unknown), PARTS) or _SHAPE)
        return Expansion(**{name: as_terms(listed, where=f"{where}: {name}") for name, listed in value.items()})
    return Expansion(terms=as_terms(value, where=where))


def as_terms(value: Any, *, where: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not all(isinstance(term, str) for term in listed):
        raise InputError(f"{where}: {value!r} is not a list of texts", hint=_SHAPE)
    return tuple(term for term in listed if term.strip())


def read_expansions(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    import tomllib

    name = shown_url(os.fspath(path))
    try:
        text = read_text(path) if is_remote(path) else Path(path).read_text("utf-8")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    try:
        content = json.loads(text) if name.lower().endswith(".json") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name} is not valid: {error}", hint="expansions are in a .json or .toml file") from error
    if not isinstance(content, Mapping):
        raise FormatError(f"{name} holds no expansions by phrase or by query", hint=_SHAPE)
    return content
