"""Where the store of a folder is; nothing is loaded to find that out."""

from __future__ import annotations

import os

VARIABLE = "RANKSCOPE_STORE"
FOLDER = ".rankscope"
FILE = "store.db"


def nearest_store(folder: str = ".") -> str | None:
    """Return the store that `RANKSCOPE_STORE` names, else the nearest one from a folder upwards, or None."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    parent = os.path.abspath(folder)  # noqa: PTH100 (pathlib takes long to load)
    while True:
        path = os.path.join(parent, FOLDER, FILE)  # noqa: PTH118 (as above)
        if os.path.isfile(path):  # noqa: PTH113 (as above)
            return path
        above = os.path.dirname(parent)  # noqa: PTH120 (as above)
        if above == parent:
            return None
        parent = above
