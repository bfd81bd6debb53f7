"""Ids are text inside Rankscope: 7 and "7" name the same query or doc.

Text from files is decoded as UTF-8 with `surrogateescape`, so that any bytes at all survive a round trip and ids
compare by their bytes, as trec_eval compares them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rankscope.errors import IdError

LONGEST_SHOWN = 80
"""How many characters are shown of what cannot be an id."""


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
    shown = " ".join(repr(value).split())  # a list of Polars has several lines
    raise IdError(
        f"{shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + '…'} ({type(value).__name__}) "
        f"is given as {what}",
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


_WORD = (1 << 64) - 1
_KEY = 0x243F6A8885A308D3, 0x13198A2E03707344


def shared_hash(identifier: str) -> int:
    """Return 64 bits of an id, the same in every process: what the kernel calls shared_hash_of."""
    data = byte_order(identifier)
    n = len(data)
    first, mixed = _KEY[0], (_KEY[1] + n * 0x9E3779B97F4A7C15) & _WORD

    def load(place: int, width: int) -> int:
        return int.from_bytes(data[place : place + width], "little")

    def fold(a: int, b: int) -> int:
        product = a * b
        return (product ^ (product >> 64)) & _WORD

    if n >= 8:
        for i in range(0, n - 16, 16):
            mixed = fold(load(i, 8) ^ first, load(i + 8, 8) ^ mixed)
        return fold(load(max(0, n - 16), 8) ^ first, load(n - 8, 8) ^ mixed)
    if n >= 4:
        return fold(load(0, 4) ^ first, load(n - 4, 4) ^ mixed)
    return fold(int.from_bytes(data, "big") ^ first, mixed)


def shared_hashes(identifiers: Iterable[str]) -> bytes:
    """Return 64 bits of each id, as the kernel returns them."""
    return np.fromiter(map(shared_hash, identifiers), dtype=np.uint64).tobytes()
