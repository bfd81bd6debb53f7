"""What is known of docs besides their relevance: fields such as topic, source or date, by doc id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankscope.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True, eq=False)
class DocTable:
    """Fields of docs: {field: {doc: value}}; a doc without a value is left out of its field."""

    fields: Mapping[str, Mapping[str, Any]]
    doc_ids: frozenset[str]
    """All docs of the table, also those without any field."""

    def field(self, name: str) -> Mapping[str, Any]:
        """Return a field by its name, or say which ones there are."""
        if name not in self.fields:
            raise InputError(
                f"the docs have no field {name!r}; they have {', '.join(self.fields)}",
                hint=did_you_mean(name, self.fields),
            )
        return self.fields[name]
