"""Ids are text inside Rankscope: 7 and "7" name the same query or doc.

Text from files is decoded as UTF-8 with `surrogateescape`, so that any bytes at all survive a round trip and ids
compare by their bytes, as trec_eval compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rankscope.errors import IdError


def as_id(value: Any, *, what: str = "id") -> str:
    """Return an id as text: text stays as it is, whole numbers (NumPy's too) become their digits."""
    if isinstance(value, str):
        if value:
            return str(value)
        raise IdError(f"an empty text is given as {what}", hint="every query and every doc needs an id")
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise IdError(
        f"{value!r} ({type(value).__name__}) is given as {what}",
        hint="ids are text or whole numbers; a column of whole numbers with a gap becomes floats in pandas: "
        "fill the gap, then convert it to int or str",
    )


def as_ids(values: Iterable[Any], *, what: str = "id") -> tuple[list[str], bool]:
    """Return ids as text, and whether any of them was given as a whole number."""
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    kinds = set(map(type, listed))
    if kinds <= {str} and "" not in listed:
        return listed, False
    return [as_id(value, what=what) for value in listed], any(issubclass(kind, int | np.integer) for kind in kinds)


def as_key(value: Any) -> Any:
    """Return what is looked up among ids as they are: an id as text; what cannot be an id is found nowhere."""
    is_id = isinstance(value, bytes | int | np.integer) and not isinstance(value, bool)
    return as_id(value) if is_id else value


def byte_order(identifier: str) -> bytes:
    """Return the key by which ids are ordered: their bytes, as strcmp sees them."""
    try:
        return identifier.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, as a broken JSON text may hold
        return identifier.encode("utf-8", "surrogatepass")
