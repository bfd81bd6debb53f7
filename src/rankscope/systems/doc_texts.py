"""Texts of docs by id, from a temporary file: a reranker needs a few of them, and memory is not for all."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from rankscope.io.ids import byte_order
from rankscope.systems.base import DocStore, Progress, text_of, with_progress


class DocTexts:
    """The texts of all docs in a file that vanishes with this object; only where each begins is in memory."""

    def __init__(self, docs: DocStore, *, fields: Sequence[str], progress: Progress | None = None) -> None:
        self._place_of: dict[str, tuple[int, int]] = {}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it stays open as long as this object is there)
        for doc in with_progress(docs, progress):
            data = byte_order(text_of(doc, fields))
            self._place_of[doc.id] = (self._file.tell(), len(data))
            self._file.write(data)
        self._file.flush()

    def __getitem__(self, doc_id: str) -> str:
        place, length = self._place_of[doc_id]
        self._file.seek(place)
        return self._file.read(length).decode("utf-8", "surrogateescape")

    def __del__(self) -> None:
        self._file.close()

    @property
    def n_bytes(self) -> int:
        """How much the texts take on disk."""
        return sum(length for _, length in self._place_of.values())
