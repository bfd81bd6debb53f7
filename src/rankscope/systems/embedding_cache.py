"""Embeddings on disk: a block of texts is encoded once for a model, however often it is asked for.

A block is a file that is named after the hash of its texts, in a folder that is named after the model. It is written
beside and then renamed, so what is there is complete; what was cut off by a crash of the machine is encoded again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.io.write import replaced
from rankscope.systems.base import content_hash
from rankscope.systems.vector_index import Vectors


class EmbeddingCache:
    """Blocks of embeddings of one model, in a folder."""

    def __init__(self, folder: Path, model: dict[str, Any]) -> None:
        identity = json.dumps(model, sort_keys=True)
        self.folder = folder / content_hash([identity])[:16]
        self.folder.mkdir(parents=True, exist_ok=True)
        with replaced(self.folder / "model.json") as stream:
            stream.write(identity.encode())

    def block(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
        """Return the vectors of some texts from the file that has them, or encode them and make that file."""
        path = self.folder / f"{content_hash(texts)}.npy"
        known = read_block(path, n_texts=len(texts))
        if known is None:
            with replaced(path) as stream:
                np.save(stream, encode(texts))
            known = read_block(path, n_texts=len(texts))
        return encode(texts) if known is None else known


def read_block(path: Path, *, n_texts: int) -> Vectors | None:
    """Return the vectors in a file without reading them yet, or None where it is not there or not whole."""
    with contextlib.suppress(OSError, ValueError, EOFError):
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
        if vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == n_texts:
            return np.asarray(vectors)
    return None
