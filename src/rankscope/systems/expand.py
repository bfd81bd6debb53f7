"""Query expansion around any system: own terms, anchor phrases that count more, negative terms that count against.

Variants of one search differ in nothing but this wrapper, for example:

- algorithmic: a dictionary of the domain's own terms alone;
- parallel: terms made for each query beforehand (attributes or a file), negative terms only where the query is clear;
- goal-specific: the same with negative terms always.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankscope.errors import OptionError
from rankscope.systems.base import BaseSystem, DocStore, Progress, Query, Ranking, System, best_first
from rankscope.systems.expansion import (
    ByAttributes,
    ByFunction,
    ById,
    ByPhrase,
    Expansion,
    Source,
    read_expansions,
)
from rankscope.systems.fusion import Fusion, normalise
from rankscope.systems.options import SYSTEM, check_choice, check_range, load_function, options_of, source_hash


@dataclass(kw_only=True)
class Expand(BaseSystem):
    """Adds terms to each query before another system is asked, and holds back docs that match negative terms.

    With `mode = "text"`, terms are appended to the query and repeated as often as their weight says, which systems that
    count words understand. With `mode = "subqueries"`, the query, its terms and its anchors are asked one by one and
    their scores, from 0 to 1, added by weight; this works with every system.
    """

    name: str = "expand"
    of: System = field(metadata=SYSTEM)
    """The system that is asked."""
    dictionary: Mapping[str, Any] = field(default_factory=dict)
    """What to add for a phrase of the query: a list of terms, or lists named terms, anchors and negatives."""
    file: str | os.PathLike[str] | None = None
    """A JSON or TOML file of such entries."""
    match: str = "phrase"
    """What the names in the file are: phrases of the query (phrase), or ids of queries (query)."""
    function: str | Callable[[Query], Any] | None = None
    """A function, as module:function, that gets the query and returns such an entry."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes of queries that hold terms, anchors or negatives, e.g. { anchors = "anchor_phrases" }."""
    mode: str = "text"
    """How terms are added: text, or subqueries."""
    terms_weight: float = 1.0
    """How much terms count beside the query itself."""
    anchors_weight: float = 2.0
    """How much anchors count beside the query itself."""
    negatives_weight: float = 0.5
    """How much of a doc's score matching negative terms best takes away; 0 leaves negative terms out."""
    negatives_when: Mapping[str, Any] = field(default_factory=dict)
    """Use negative terms only for queries with these attributes, e.g. { clarity = "clear" }; without any, always."""
    depth: int = 1000
    """How many docs are asked for where scores are added or taken away."""

    def __post_init__(self) -> None:
        check_choice(self.mode, ("text", "subqueries"), what="mode")
        check_choice(self.match, ("phrase", "query"), what="match")
        check_range(self.depth, what="depth", low=1)
        for part in ("terms", "anchors", "negatives"):
            check_range(self.weight_of(part), what=f"{part}_weight", low=0)
        if self.mode == "text":
            self.check_repetitions()
        self._sources = self.sources()

    def weight_of(self, part: str) -> float:
        """Return how much terms, anchors or negatives count."""
        return float(getattr(self, f"{part}_weight"))

    def check_repetitions(self) -> None:
        """Refuse weights that are no number of repetitions."""
        for part in ("terms", "anchors"):
            if not self.weight_of(part).is_integer():
                raise OptionError(
                    f"{part}_weight is {self.weight_of(part):g}, but a text can only be repeated whole",
                    hint='give a whole number, or mode = "subqueries"',
                )

    def sources(self) -> list[Source]:
        """Return all that knows what to add to a query."""
        found: list[Source] = []
        if self.dictionary:
            found.append(ByPhrase(self.dictionary, where="dictionary"))
        if self.file is not None:
            kind = ByPhrase if self.match == "phrase" else ById
            found.append(kind(read_expansions(self.file), where=os.fspath(self.file)))
        if self.function is not None:
            found.append(ByFunction(self.called(self.function)))
        if self.attributes:
            found.append(ByAttributes(self.attributes))
        if not found:
            raise OptionError(
                f"{self.name}: nothing says what to add to queries",
                hint="give dictionary, file, function or attributes",
            )
        return found

    @staticmethod
    def called(given: str | Callable[[Query], Any]) -> Callable[[Query], Any]:
        """Return the function that is given or named."""
        return load_function(given, what="the function") if isinstance(given, str) else given

    def expansion(self, query: Query) -> Expansion:
        """Return all that is added to a query."""
        found = sum((source.expansion(query) for source in self._sources), Expansion())
        return found if self.uses_negatives(query) else replace(found, negatives=())

    def uses_negatives(self, query: Query) -> bool:
        """Tell whether negative terms count for a query."""
        holds = all(query.attributes.get(name) == value for name, value in self.negatives_when.items())
        return self.negatives_weight > 0 and holds

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        """Index the docs for the system that is asked."""
        self.of.fit(docs, progress=progress)

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[Ranking]:
        """Return up to k docs for each query, best first; everything is asked in one batch."""
        asked = [self.subqueries(query) for query in queries]
        flat = [subquery for own in asked for subquery, _ in own]
        answers = iter(self.of.search(flat, k=max(k, self.depth)))
        return [joined([(next(answers), weight) for _, weight in own])[:k] for own in asked]

    def subqueries(self, query: Query) -> list[tuple[Query, float]]:
        """Return what is asked for a query, with weights; negative terms have a negative one."""
        added = self.expansion(query)
        asked = [(query, 1.0)]
        if self.mode == "text":
            asked = [(replace(query, text=self.expanded_text(query.text, added)), 1.0)]
        else:
            asked += part_queries(query, "terms", added.terms, self.terms_weight)
            asked += part_queries(query, "anchors", added.anchors, self.anchors_weight)
        return asked + part_queries(query, "negatives", added.negatives, -self.negatives_weight)

    def expanded_text(self, text: str, added: Expansion) -> str:
        """Return a query's text with its terms and anchors, repeated as often as they count."""
        terms = list(added.terms) * int(self.terms_weight)
        return " ".join([text, *terms, *(list(added.anchors) * int(self.anchors_weight))])

    def describe(self) -> dict[str, Any]:
        """Return all parameters, with those of the system that is asked."""
        entries = {"entries": dict(read_expansions(self.file))} if self.file is not None else {}
        source = {} if self.function is None else {"source": source_hash(self.called(self.function))}
        return {"type": "expand", **options_of(self), **entries, **source}

    @property
    def index_bytes(self) -> int:
        """How much the index of the system that is asked takes."""
        return self.of.index_bytes


def part_queries(query: Query, part: str, terms: Sequence[str], weight: float) -> list[tuple[Query, float]]:
    """Return one more query for terms of a kind, where there are any and they count."""
    if not terms or not weight:
        return []
    return [(replace(query, id=f"{query.id}/{part}", text=" ".join(terms)), weight)]


def joined(answers: Sequence[tuple[Ranking, float]]) -> Ranking:
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
