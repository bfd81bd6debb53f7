"""What a file may ask of this process, and the errors for what asks too much: long lines, memory, a moving size."""

from __future__ import annotations

import errno
import io
import os
from typing import BinaryIO

from rankscope.errors import FormatError, InputError, OptionError, RankscopeError, UnfinishedError
from rankscope.io.addresses import address_in, shown_url

MAX_LINE = "RANKSCOPE_MAX_LINE"
MAX_GROWTH = "RANKSCOPE_MAX_GROWTH"

WRONG_PATHS = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP, errno.ENXIO}
)
"""What a system says of a path that is wrong by itself: another one has to be given."""
NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM})
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

SMALL_BYTES = 1 << 26
"""So much a file may always hold, however small it is stored."""

_USUAL_LINE = 16 << 20
_SHORTEST_LIMIT = 1 << 16  # the kernel does not measure shorter lines


def max_line_bytes() -> int:
    """Return how many bytes a line may have, its end included."""
    given = os.environ.get(MAX_LINE)
    if not given:
        return _USUAL_LINE
    if not (given.isascii() and given.isdigit()) or not _SHORTEST_LIMIT <= (limit := int(given[:20])) < 1 << 62:
        raise OptionError(
            f"{MAX_LINE} is {given!r}", hint=f"give the bytes that a line may have, from {_SHORTEST_LIMIT} up"
        )
    return limit


def line_too_long(name: str, line: int) -> FormatError:
    return FormatError(
        f"{name}:{line}: the line is longer than {in_words(max_line_bytes())}",
        hint=f"is it in the format it is taken for? If so, {MAX_LINE}=BYTES lets lines be longer",
    )


def max_growth(usual: int) -> int:
    """Return how many times as large as it is stored a file may become."""
    given = os.environ.get(MAX_GROWTH)
    if not given:
        return usual
    if not (given.isascii() and given.isdigit()) or not 1 <= (limit := int(given[:20])) < 1 << 31:
        raise OptionError(
            f"{MAX_GROWTH} is {given!r}", hint="give how many times its size a file may become, such as 5000"
        )
    return limit


def check_growth(name: str, n_bytes: int, n_stored: int, *, usual: int) -> None:
    """Refuse a file that would become far larger in memory than honest data does, and so could fill it."""
    growth = max_growth(usual)
    if n_bytes > max(SMALL_BYTES, growth * n_stored):
        raise FormatError(
            f"{name} has {in_words(n_stored)} and would take {in_words(n_bytes)} of memory at least, "
            f"which is over {growth} times its size",
            hint=f"such a file may be made to fill the memory; if it is sound, {MAX_GROWTH}=TIMES lets it grow more",
        )


def check_room(name: str, n_bytes: int) -> None:
    """Refuse what needs more memory than the limit of this process leaves, which some libraries would not survive."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    try:
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123 (pathlib takes long to load)
            n_used = int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:  # only Linux says it so
        n_used = 0
    if n_bytes > limit - n_used:
        raise out_of_memory(name, 0)


def out_of_memory(name: str, n_bytes: int) -> UnfinishedError:
    needed = f": it holds {in_words(n_bytes)}, and more than that is needed" if n_bytes else ""
    return UnfinishedError(
        f"{name} does not fit into memory{needed}",
        hint="end other programs, raise the limit of this one (ulimit -v), or give fewer queries at a time",
    )


MORE_FILES = "let the process have more open files: ulimit -n 1024"


def cannot_read(name: str, error: OSError) -> RankscopeError:
    address = address_in(name)
    shown = shown_url(address).replace("://", ":/", 1) if address else name
    message = f"{shown} cannot be read: {error.strerror or error}"
    if error.errno == errno.EMFILE:
        return UnfinishedError(message, hint=MORE_FILES)
    if error.errno in WRONG_PATHS | NOT_ALLOWED:
        meant = f"did you mean {shown_url(address)}?" if address else "check its path and permissions"
        return InputError(message, hint=meant)
    return UnfinishedError(message, hint="the file may be fine, but the system could not read it to its end: try again")


def cannot_write(name: str, error: OSError, *, hint: str = "check path, rights and space") -> RankscopeError:
    message = f"{name} cannot be written: {error.strerror or error}"
    if error.errno == errno.EMFILE:
        hint = MORE_FILES
    return (InputError if error.errno in WRONG_PATHS else UnfinishedError)(message, hint=hint)


def size_of(file: BinaryIO) -> int:
    remote_size: int | None = getattr(file, "remote_size", None)
    if remote_size is not None:
        return remote_size
    if not isinstance(file, io.BytesIO):
        return os.fstat(file.fileno()).st_size
    place = file.tell()
    n_bytes = file.seek(0, 2)  # to ask for its buffer would copy the bytes that it was made of
    file.seek(place)
    return n_bytes


def check_size(name: str, file: BinaryIO, n_bytes: int) -> None:
    """Refuse a file that no longer has the size that it had."""
    if size_of(file) != n_bytes:
        raise InputError(
            f"{name} changed while it was read: it had {n_bytes} bytes and now has {size_of(file)}",
            hint="wait until what writes it has come to its end, then try again",
        )


def in_words(n_bytes: int) -> str:
    """Return a number of bytes as people say it: 16 MB."""
    power = max(0, min(4, (n_bytes.bit_length() - 1) // 10))
    return f"{n_bytes / 1024**power:.4g} {('bytes', 'kB', 'MB', 'GB', 'TB')[power]}"
