"""What is known of docs besides their relevance: fields such as topic, source or date, by doc id."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from rankscope.errors import FormatError, InputError, did_you_mean

ID_FIELD = "id"
"""The field that every table has: the doc's own id."""
ID_NAMES = (
    "id", "_id", "doc_id", "docid", "docno", "doc", "did", "document_id", "document", "doc-id", "doc id", "corpus-id",
    "corpus_id", "episode_id", "passage_id", "pid", "item_id", "chunk_id",
)  # fmt: skip
"""The names under which tables keep the id of a doc, best first."""


@dataclass(frozen=True, slots=True, eq=False)
class DocTable:
    """Fields of docs: {field: {doc: value}}; a doc without a value is left out of its field."""

    fields: Mapping[str, Mapping[str, Any]]
    doc_ids: frozenset[str]
    """All docs of the table, also those without any field."""

    def field(self, name: str) -> Mapping[str, Any]:
        """Return a field by its name, or say which ones there are."""
        if name in self.fields:
            return self.fields[name]
        if name == ID_FIELD:
            return {doc: doc for doc in self.doc_ids}
        known = ", ".join(self.fields)
        raise InputError(
            f"the docs have no field {name!r}" + (f"; they have {known}" if known else ", and no other either"),
            hint=did_you_mean(name, self.fields) or "name one of them: field='…'",
        )


def values_in(cell: Any) -> tuple[Hashable, ...]:
    """Return the values that a field holds for one doc: those of a list or set, else the one value."""
    if isinstance(cell, list | tuple | AbstractSet):
        return tuple(whole_value(item) for item in cell)
    return (whole_value(cell),)


def whole_value(cell: Any) -> Hashable:
    """Return what a field holds for one doc as one value that can be compared; the order of a list is no matter."""
    if isinstance(cell, list | tuple | AbstractSet):
        return frozenset(map(whole_value, cell))
    return cell if isinstance(cell, Hashable) else repr(cell)


def is_missing(cell: Any) -> bool:
    """Tell whether a field holds nothing for a doc: None, NaN, an empty text or an empty list."""
    if cell is None or (isinstance(cell, str | list | tuple | AbstractSet) and not cell):
        return True
    return not isinstance(cell, str | list | tuple | AbstractSet) and str(cell) in {"nan", "NaT", "<NA>"}


def id_column(names: Iterable[Any], *, where: str) -> str:
    """Return which column holds the ids of docs."""
    by_lower = {str(name).strip().lower(): str(name) for name in reversed(list(names))}
    match = next((by_lower[name] for name in ID_NAMES if name in by_lower), None)
    if match is None:
        listed = ", ".join(reversed(by_lower.values()))
        raise FormatError(
            f"{where} has no column for the doc id; its columns are {listed}", hint="call it id, doc_id, docno or _id"
        )
    return match
