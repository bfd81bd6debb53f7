"""What every encoder has in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rankscope.errors import InputError, shorten

Vectors = NDArray[np.float32]
Role = Literal["query", "doc"]
_MATRIX = 2


class Encoder(Protocol):
    """Anything that turns texts into vectors of one length."""

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        """Return one vector per text; some models treat queries and docs differently."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on: model, settings, versions."""
        ...


def check_vectors(vectors: Any, texts: Sequence[str], *, model: str) -> Vectors:
    """Return what an encoder gave as a matrix of single precision, or say what is wrong with it."""
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != _MATRIX or len(matrix) != len(texts) or not matrix.shape[1]:
        shape = " x ".join(map(str, matrix.shape)) or "a single number"
        raise InputError(
            f"{model} returned {shape} for {len(texts)} texts", hint="an encoder returns one vector per text"
        )
    odd = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(odd):
        raise InputError(f"{model} returned NaN or infinity for the text {shorten(texts[odd[0]])!r}")
    return matrix


def encode_separately(encode: Any, texts: Sequence[str], *, role: Role) -> Vectors:
    """Encode queries each on its own, so that a query's vector never depends on which others it is asked with."""
    if role == "doc":
        return np.asarray(encode(list(texts)), dtype=np.float32)
    return np.concatenate([np.asarray(encode([text]), dtype=np.float32) for text in texts])
