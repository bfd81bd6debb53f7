"""The compiled kernel, where it was built, and how many threads it may use.

RANKSCOPE_KERNEL=python asks for the reference implementation instead, RANKSCOPE_KERNEL=/a/_kernel.so loads that file.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from typing import Any

_MODULE = "rankscope._kernel"


@lru_cache(maxsize=1)
def load_kernel() -> Any | None:
    """Return the compiled module, or None where it was not built; the first one loaded stays."""
    chosen = os.environ.get("RANKSCOPE_KERNEL", "")
    if os.sep not in chosen:
        try:
            return import_module(_MODULE)
        except ImportError:
            return None
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    loader = ExtensionFileLoader(_MODULE, chosen)  # an error where it cannot be loaded, since it was asked for
    module = module_from_spec(spec_from_file_location(_MODULE, chosen, loader=loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


def kernel() -> Any | None:
    """Return the compiled module, unless the reference implementation is asked for."""
    return None if os.environ.get("RANKSCOPE_KERNEL") == "python" else load_kernel()


def n_threads(wanted: int | None, *, n_bytes: int | None = None) -> int:
    """Return how many threads to use: as many as wanted, by default one per core, but no more than a text is worth."""
    # half a megabyte is read before another thread has been started
    usual = n_cores() if n_bytes is None else min(n_cores(), 1 + n_bytes // (1 << 19))
    return max(1, min(wanted or usual, 1024))


def n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def index_qrels_text(data: Any, *, max_line: int, threads: int | None = None) -> Any | None:
    """Return the kernel's index of TREC qrels text, or None where the reference reader has to read it.

    Text is given as bytes, or as the number of an open file and its size.
    """
    module = kernel()
    if module is None:
        return None
    if isinstance(data, tuple):
        file, n_bytes = data
        return module.qrels_of_file(file, n_bytes, threads=n_threads(threads, n_bytes=n_bytes), max_line=max_line)
    return module.qrels_of_text(data, threads=n_threads(threads, n_bytes=len(data)), max_line=max_line)
