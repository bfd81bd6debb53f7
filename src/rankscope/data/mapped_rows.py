"""Rows of a matrix that is mapped from a file, which may become shorter at any moment.

A process that reads a page of a mapped file behind its end is ended by the system (SIGBUS). So the system itself is
asked to copy the rows: where the file has become shorter, it says so. That is possible on Linux.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankscope.arrays import Ints
from rankscope.errors import InputError

_PLACES_AT_ONCE = 1024
"""As many as the system takes in one call."""
_MOST_BYTES = 1 << 30
_NOT_ALLOWED = {errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EINVAL}


def in_memory(matrix: NDArray[Any], *, n_rows: int) -> NDArray[Any]:
    """Return a mapped matrix as one in memory, where that is quicker: more rows are looked up than it has."""
    if n_rows <= len(matrix) or not isinstance(matrix, np.memmap) or matrix.nbytes > _MOST_BYTES:
        return matrix
    whole = np.empty(matrix.shape, dtype=matrix.dtype)
    places = np.array([[matrix.ctypes.data, matrix.nbytes]], dtype=np.uint64)
    return whole if matrix.flags.c_contiguous and copy_places(matrix, places, whole) else matrix


def take_rows(matrix: NDArray[Any], rows: Ints, out: NDArray[Any]) -> NDArray[Any]:
    """Return rows of a matrix, in `out`; a row below 0 is any row."""
    if isinstance(matrix, np.memmap) and matrix.flags.c_contiguous:
        places = np.empty((len(rows), 2), dtype=np.uint64)
        places[:, 0] = matrix.ctypes.data + np.maximum(rows, 0) * matrix.strides[0]
        places[:, 1] = matrix.strides[0]
        if copy_places(matrix, places, out):
            return out
    return np.take(matrix, rows, axis=0, out=out, mode="clip")


def copy_places(matrix: NDArray[Any], places: NDArray[np.uint64], out: NDArray[Any]) -> bool:
    """Copy places of a mapped matrix, as (address, bytes), one after the other; tell whether the system does that."""
    read = process_vm_readv()
    if read is None:
        return False
    address = out.ctypes.data
    for start in range(0, len(places), _PLACES_AT_ONCE):
        part = places[start : start + _PLACES_AT_ONCE]
        n_bytes = int(part[:, 1].sum())
        target = np.array([address, n_bytes], dtype=np.uint64)
        n_read = read(os.getpid(), target.ctypes.data, 1, part.ctypes.data, len(part), 0)
        if n_read < 0 and ctypes.get_errno() in _NOT_ALLOWED:
            return False
        if n_read != n_bytes:
            name = getattr(matrix, "filename", "the file")
            raise InputError(
                f"{name} changed while it was read: part of its vectors is not there any more",
                hint="wait until what writes it has come to its end, then try again",
            )
        address += n_bytes
    return True


@cache
def process_vm_readv() -> Any:
    """Return the system's function that copies memory and does not fail for pages that are gone; None without one."""
    read = getattr(ctypes.CDLL(None, use_errno=True), "process_vm_readv", None) if os.name == "posix" else None
    if read is not None:
        size, place = ctypes.c_ulong, ctypes.c_void_p
        read.restype, read.argtypes = ctypes.c_ssize_t, [ctypes.c_int, place, size, place, size, size]
    return read
