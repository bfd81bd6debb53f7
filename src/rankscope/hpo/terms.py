"""The words of an ontology's terms, from its OBO file: label, definition and typed synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rankscope.io.source import source_of

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(.*)')
_ESCAPED = re.compile(r"\\(.)")
_KEPT = frozenset({"id", "name", "def", "synonym", "is_obsolete"})


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another name of a term: how close it is (EXACT, BROAD …) and of what type (layperson, abbreviation …)."""

    text: str
    scope: str = "EXACT"
    type: str = ""


@dataclass(frozen=True, slots=True)
class TermText:
    """What an ontology says of a term in words."""

    id: str
    label: str
    definition: str = ""
    synonyms: tuple[Synonym, ...] = ()


def read_term_texts(path: Path) -> dict[str, TermText]:
    """Return the words of every term in use, by id, in the order of the file."""
    text = source_of(path).read().decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    stanzas = re.split(r"^\[(\w+)\][^\n]*$", text, flags=re.MULTILINE)[1:]
    terms = (term_in(body) for kind, body in zip(stanzas[::2], stanzas[1::2], strict=True) if kind == "Term")
    return {term.id: term for term in terms if term is not None}


def term_in(stanza: str) -> TermText | None:
    """Return the term of a stanza, or None for one no longer in use."""
    values: dict[str, list[str]] = {tag: [] for tag in _KEPT}
    for tag, value in tag_values(stanza):
        values[tag].append(value)
    if values["is_obsolete"] == ["true"] or not values["id"]:
        return None
    definition = next((unquoted(value)[0] for value in values["def"]), "")
    synonyms = tuple(synonym_in(value) for value in values["synonym"])
    return TermText(values["id"][0], next(iter(values["name"]), ""), definition, synonyms)


def tag_values(stanza: str) -> Iterator[tuple[str, str]]:
    """Yield the tags of a stanza that are read."""
    for line in stanza.split("\n"):
        tag, colon, value = line.partition(":")
        if colon and tag in _KEPT:
            yield tag, value.strip()


def unquoted(value: str) -> tuple[str, str]:
    """Return the text in quotes at the start of a value, and what stands behind it."""
    match = _QUOTED.match(value)
    if match is None:
        return value, ""
    return _ESCAPED.sub(r"\1", match[1]).strip(), match[2]


def synonym_in(value: str) -> Synonym:
    """Return a synonym from its line: "text" SCOPE type [references]."""
    text, rest = unquoted(value)
    words = rest.partition("[")[0].split()
    return Synonym(text, words[0] if words else "RELATED", words[1] if len(words) > 1 else "")
