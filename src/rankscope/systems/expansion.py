"""What is added to a query: terms, anchor phrases and negative terms, from dictionaries, files or functions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from rankscope.errors import FormatError, InputError, OptionError, did_you_mean
from rankscope.systems.base import Query

_SHAPE = 'give a list of terms, or {"terms": […], "anchors": […], "negatives": […]}'


@dataclass(frozen=True, slots=True)
class Expansion:
    """What is added to one query."""

    terms: tuple[str, ...] = ()
    """Words or phrases that mean the same or belong to it."""
    anchors: tuple[str, ...] = ()
    """Phrases that a good doc should have, and that count more."""
    negatives: tuple[str, ...] = ()
    """Words that speak against a doc."""

    def __add__(self, other: Expansion) -> Expansion:
        """Return both together, each entry once, in order."""
        parts = zip(
            (self.terms, self.anchors, self.negatives), (other.terms, other.anchors, other.negatives), strict=True
        )
        return Expansion(*(tuple(dict.fromkeys((*mine, *theirs))) for mine, theirs in parts))


PARTS = tuple(part.name for part in fields(Expansion))


class Source(Protocol):
    """Anything that knows what to add to a query."""

    def expansion(self, query: Query) -> Expansion:
        """Return what is added to a query."""
        ...


def as_expansion(value: Any, *, where: str) -> Expansion:
    """Return an expansion from a list of terms or from lists by name."""
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
    """Return a text, or a list of texts, as terms."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not all(isinstance(term, str) for term in listed):
        raise InputError(f"{where}: {value!r} is not a list of texts", hint=_SHAPE)
    return tuple(term for term in listed if term.strip())


class ByPhrase:
    """Adds what a dictionary has for phrases that the query holds, as whole words, in capitals or not."""

    def __init__(self, dictionary: Mapping[str, Any], *, where: str) -> None:
        self._entries = [
            (
                re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)", re.IGNORECASE),
                as_expansion(entry, where=f"{where}: {phrase}"),
            )
            for phrase, entry in dictionary.items()
        ]

    def expansion(self, query: Query) -> Expansion:
        """Return what is added to a query."""
        return sum((entry for phrase, entry in self._entries if phrase.search(query.text)), Expansion())


class ById:
    """Adds what was written down for each query, by its id."""

    def __init__(self, entries: Mapping[str, Any], *, where: str) -> None:
        self._entries = {str(query): as_expansion(entry, where=f"{where}: {query}") for query, entry in entries.items()}

    def expansion(self, query: Query) -> Expansion:
        """Return what is added to a query."""
        return self._entries.get(query.id, Expansion())


@dataclass(frozen=True, slots=True)
class ByFunction:
    """Adds what a function returns for a query."""

    function: Callable[[Query], Any]

    def expansion(self, query: Query) -> Expansion:
        """Return what is added to a query."""
        return as_expansion(self.function(query), where=f"the expansion of query {query.id!r}")


@dataclass(frozen=True, slots=True)
class ByAttributes:
    """Adds what the query's own attributes hold, such as terms that were made for it beforehand."""

    attribute_of: Mapping[str, str]
    """Which attribute holds the terms, the anchors, the negatives."""

    def __post_init__(self) -> None:
        for part in self.attribute_of:
            if part not in PARTS:
                raise OptionError(
                    f"attributes: {part!r} is not one of {', '.join(PARTS)}", hint=did_you_mean(part, PARTS)
                )

    def expansion(self, query: Query) -> Expansion:
        """Return what is added to a query."""
        held = {part: query.attributes.get(name) or () for part, name in self.attribute_of.items()}
        return as_expansion(held, where=f"query {query.id!r}")


def read_expansions(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """Return expansions by phrase or by query from a JSON or TOML file."""
    file = Path(path)
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    try:
        content = json.loads(text) if file.suffix.lower() == ".json" else toml_of(text)
    except ValueError as error:
        raise FormatError(f"{path} is not valid: {error}", hint="expansions are in a .json or .toml file") from error
    if not isinstance(content, Mapping):
        raise FormatError(f"{path} holds no expansions by phrase or by query", hint=_SHAPE)
    return content


def toml_of(text: str) -> Mapping[str, Any]:
    """Return what a TOML text holds."""
    import tomllib

    return tomllib.loads(text)
