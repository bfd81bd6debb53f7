"""Libraries that do not survive a tight limit of memory are not loaded under one.

Where the address space is limited (ulimit -v) to less than they take when they are loaded, OpenBLAS tries for ever or
ends the process with code 1, and Polars aborts it. So the limit is looked at before they are imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rankscope.errors import UnfinishedError

NEEDED_MB = {"numpy": 256, "scipy": 640, "polars": 2048}
"""The address space with which each can be loaded and do a little work."""


def refuse_libraries_beyond_the_limit() -> None:
    """Make imports fail with an error in words where the limit of this process is too low for a library."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit >> 20 < max(NEEDED_MB.values()):
        sys.meta_path.insert(0, ImportRefusal(limit >> 20))


class ImportRefusal:
    """Stands before all that finds modules, and refuses libraries that need more memory than there may be."""

    def __init__(self, limit_mb: int) -> None:
        self._limit_mb = limit_mb

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: Any = None) -> None:
        needed = NEEDED_MB.get(name, 0)
        if needed > self._limit_mb:
            raise UnfinishedError(
                f"there is not enough memory: {name} needs {needed} MB, and this process may have {self._limit_mb} MB",
                hint=f"raise the limit: ulimit -v {max(NEEDED_MB.values()) << 10} is enough for every library",
            )
