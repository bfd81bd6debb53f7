"""Tells whether a file is still the one that reading began with."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from rankscope.errors import InputError
from rankscope.io.addresses import is_remote

SizeAndTimes = tuple[int, int, int]
"""The size of a file and its times; on other machines the last one may differ."""
FileStates = dict[str, SizeAndTimes]


def states_of(paths: Iterable[str]) -> FileStates:
    """Return the size and the times of each file on this machine that can be read again.

    While one is read in parts, by several processes or from mapped memory, something else may take its place.
    """
    found: FileStates = {}
    for path in paths:
        if not is_remote(path) and path != "-":  # a store tells its versions apart
            with suppress(OSError, ValueError):  # whoever reads it says what is wrong
                state = os.stat(path)  # noqa: PTH116 (pathlib takes long to load)
                if stat.S_ISREG(state.st_mode):
                    found[path] = (state.st_size, state.st_mtime_ns, state.st_ctime_ns)  # programs set the mtime alone
    return found


def check_same(states: FileStates) -> None:
    """Refuse what was found in files of which some rows may be of one content and some of another."""
    now = states_of(states)
    for path, state in states.items():
        if now.get(path) != state:
            raise changed_meanwhile(path)


def changed_meanwhile(path: str) -> InputError:
    return InputError(
        f"{path} was changed while it was read, or since, so what was found in it cannot be trusted",
        hint="wait until what writes it has come to its end, then try again",
    )
