"""Texts of docs that systems return where ids are expected."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rankscope.experiment.collection import Collection
from rankscope.systems.answers import Answer, shown

TEXT_INSTEAD_OF_ID = "a text came back instead of the id of a doc: "
"""How the reason of a query that fails for this begins."""
OF_THE_COLLECTION = frozenset({"bm25", "dense", "hybrid", "mmr", "dartboard", "rerank", "expand"})
"""Types of systems that return docs which they, or what they are made of, were given: their ids need no look."""
_START = 32
"""So many letters of a text are compared; one that is shorter has to be the whole text of a doc."""
_FEWEST_LETTERS, _FEWEST_WORDS = 20, 4
"""What is at least as long as this may be a sentence."""


class KnownTexts(NamedTuple):
    """What tells texts from ids: ids that could be texts, and how the texts of docs begin."""

    ids: frozenset[str]
    starts: NDArray[np.int64]
    """Hashes of the beginnings of titles and texts, ascending."""


class TextDetector:
    """Finds texts in answers to queries on a collection; its docs are read once, when something could be a text."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def checked(self, answer: Answer) -> Answer:
        """Return an answer as it is, or as a failure where it holds a text instead of an id."""
        if answer.ranking is None:
            return answer
        text = self.find([doc for doc, _ in answer.ranking])
        return answer if text is None else replace(answer, ranking=None, reason=f"{TEXT_INSTEAD_OF_ID}{shown(text)}")

    def find(self, retrieved: list[str]) -> str | None:
        """Return what is no id of the collection, but a text; None where all may be ids.

        That is what begins as the title or text of a doc does. Where no id of the collection could be a text, it is
        also an answer of nothing but whole sentences.
        """
        doubtful = [doc for doc in retrieved if could_be_text(doc)]
        if not doubtful:
            return None
        doubtful = [doc for doc in doubtful if doc not in self._known.ids]
        for doc in doubtful:
            start, starts = hash(start_of(doc)), self._known.starts
            place = int(np.searchsorted(starts, start))
            if place < len(starts) and starts[place] == start:
                return doc
        if not self._known.ids and len(doubtful) == len(retrieved) and all(map(is_sentence, doubtful)):
            return doubtful[0]
        return None

    @cached_property
    def _known(self) -> KnownTexts:
        ids = {doc for doc in self._collection.qrels.rows.doc if could_be_text(doc)}
        starts: list[int] = []
        for doc in self._collection.docs:
            if could_be_text(doc.id):
                ids.add(doc.id)
            texts = (doc.title, doc.text, f"{doc.title} {doc.text}" if doc.title and doc.text else "")
            starts += [hash(start_of(text)) for text in texts if text]
        return KnownTexts(frozenset(ids), np.unique(np.array(starts, dtype=np.int64)))


def could_be_text(doc: str) -> bool:
    """Tell whether an id has blanks in it, or is long and not in Latin letters, as texts without blanks are."""
    return " " in doc or "\n" in doc or (len(doc) > _START and not doc.isascii())


def start_of(text: str) -> str:
    """Return how a text begins, blanks and line ends alike."""
    return " ".join(text[: 8 * _START].split())[:_START]


def is_sentence(doc: str) -> bool:
    return len(doc) >= _FEWEST_LETTERS and len(doc.split()) >= _FEWEST_WORDS
