"""Embeddings from a dict, or from .npz files with ids and vectors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankscope.core.embeddings import Embeddings
from rankscope.core.ids import as_ids
from rankscope.errors import FormatError


def load_embeddings(data: Any) -> Embeddings:
    """Return embeddings from {doc: vector} or a file."""
    if isinstance(data, Embeddings):
        return data
    if isinstance(data, Mapping):
        ids, _ = as_ids(list(data), what="doc id")
        return Embeddings({doc: row for row, doc in enumerate(ids)}, np.asarray(list(data.values())))
    path = os.fspath(data)
    if not path.endswith(".npz"):
        raise FormatError(f"{path}: embeddings are read from .npz files", hint="save ids and vectors with numpy.savez")
    with np.load(path) as arrays:
        ids, _ = as_ids(arrays["ids"], what="doc id")
        return Embeddings({doc: row for row, doc in enumerate(ids)}, arrays["vectors"])
