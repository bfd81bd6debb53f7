"""The words of an ontology's terms, from its OBO file: label, definition and typed synonyms."""

from __future__ import annotations

import re
from pathlib import Path

from rankscope.data.ontology_files import OboFile
from rankscope.records import Record

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(.*)')
_ESCAPED = re.compile(r"\\(.)")


class Synonym(Record):
    """Another name of a term: how close it is (EXACT, BROAD …) and of what type (layperson, abbreviation …)."""

    text: str
    scope: str = "EXACT"
    type: str = ""


class TermText(Record):
    """What an ontology says of a term in words."""

    id: str
    label: str
    definition: str = ""
    synonyms: tuple[Synonym, ...] = ()


def read_term_texts(path: Path) -> dict[str, TermText]:
    """Return the words of every term in use, by id, in the order of the file."""
    return {
        stanza.id: TermText(
            stanza.id, stanza.name, unquoted(stanza.definition)[0], tuple(map(synonym_in, stanza.synonyms))
        )
        for stanza in OboFile(path).stanzas
        if stanza.id and not stanza.is_obsolete
    }


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
