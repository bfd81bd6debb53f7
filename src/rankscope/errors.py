"""Every error Rankscope raises on purpose, and every warning it gives.

    RankscopeError                  anything a caller may want to catch in one place
    ├── InputError                  the data given is wrong
    │   ├── FormatError             a file cannot be read as the format it is taken for
    │   ├── BadLinesError           one or more lines of a file are malformed
    │   ├── IdError                 an id is missing or of a type that cannot be an id
    │   ├── ScoreError              a score of a run is not a number
    │   ├── GradeError              a grade of the qrels is not one the measure can use
    │   ├── DuplicateError          a doc appears twice for one query
    │   ├── MissingQueriesError     the run does not answer queries of the qrels
    │   ├── NoOverlapError          run and qrels have no query in common
    │   └── UnknownNameError        there is no run, query or measure of that name (also a KeyError)
    ├── MeasureError                a measure's name or parameters are wrong
    ├── OptionError                 an option or argument has a value it cannot have
    │   └── UnknownKeywordError     a function has no such option (also a TypeError)
    └── UnfinishedError             what was given is right, but there is no room, no memory, or a disk fails

Each has a message (what is wrong, and where) and a hint (the next step).
"""

from __future__ import annotations

__all__ = [
    "BadLine",
    "BadLinesError",
    "DuplicateError",
    "FormatError",
    "GradeError",
    "IdError",
    "InputError",
    "MeasureError",
    "MissingQueriesError",
    "NoOverlapError",
    "OptionError",
    "RankscopeError",
    "RankscopeWarning",
    "ScoreError",
    "UnfinishedError",
    "UnknownKeywordError",
    "UnknownNameError",
    "collect_notes",
    "did_you_mean",
    "give_warning",
]

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import ParamSpec, TypeVar

from rankscope.light import LightRecord

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class RankscopeWarning(UserWarning):
    """Something in the data that changes how a number should be read."""

    def __init__(self, *notes: str) -> None:
        super().__init__(notes[0] if len(notes) == 1 else "".join(f"\n- {note}" for note in first_of(notes)))
        self.notes = notes
        """What is said, one thing each."""


class RankscopeError(Exception):
    """A problem with a message that says what is wrong and a hint that says what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Callable[..., RankscopeError], tuple[object, ...]]:
        """Return how it is made again in another process: as it is, whatever its class takes to make one."""
        return _remade, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        """Return the message with its hint."""
        return f"{self.message}\nHint: {self.hint}" if self.hint else self.message


def _remade(kind: type[RankscopeError], args: tuple[object, ...], state: dict[str, object]) -> RankscopeError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(RankscopeError, ValueError):
    """The data given is wrong."""


class FormatError(InputError):
    """A file cannot be read as the format it is taken for."""


class IdError(InputError):
    """An id is missing, or of a type that cannot be an id."""


class ScoreError(InputError):
    """A score of a run is not a number."""


class GradeError(InputError):
    """A grade of the qrels is not one the measure can use."""


class DuplicateError(InputError):
    """A doc appears twice for one query."""


class MissingQueriesError(InputError):
    """The run does not answer queries of the qrels, and the policy is to stop."""


class NoOverlapError(InputError):
    """The run answers none of the queries of the qrels."""


class UnknownNameError(InputError, KeyError):
    """There is no run, query or measure of that name among those at hand."""


class MeasureError(RankscopeError, ValueError):
    """A measure's name or parameters are wrong."""


class OptionError(RankscopeError, ValueError):
    """An option or argument has a value it cannot have."""


class UnknownKeywordError(OptionError, TypeError):
    """A function has no option of that name."""


class UnfinishedError(RankscopeError):
    """The work could not be finished, though what was given is right: no room, no memory, a disk that fails."""


class BadLine(LightRecord):
    """One malformed line of a file: where it is, what it says, what is wrong with it."""

    path: str
    line: int
    text: str
    problem: str

    def __str__(self) -> str:
        """Return the location, the problem and the text of the line."""
        return f"{self.path}:{self.line}: {self.problem}\n    {shorten(self.text)}"


class BadLinesError(InputError):
    """One or more lines of a file are malformed."""

    SHOWN = 5
    MOST = 5000
    """After so many a file is not read on, unless malformed lines may be left out."""

    def __init__(self, bad_lines: Iterable[BadLine], *, is_all: bool = True, hint: str = "") -> None:
        self.bad_lines = tuple(bad_lines)
        self.is_all = is_all
        """Whether the file was read to its end; otherwise more of its lines may be malformed."""
        super().__init__(describe_bad_lines(self.bad_lines, shown=self.SHOWN, is_all=is_all), hint=hint)


def describe_bad_lines(bad_lines: tuple[BadLine, ...], *, shown: int, is_all: bool = True) -> str:
    """Show the first few malformed lines and say how many more there are."""
    listed = [str(bad) for bad in bad_lines[:shown]]
    if len(bad_lines) > 1:
        listed.insert(0, f"{'' if is_all else 'at least '}{len(bad_lines)} bad lines in {bad_lines[0].path}")
    if len(bad_lines) == 1 and not is_all:
        listed.append("there may be more: not all was read")
    if len(bad_lines) > shown:
        n_more, last = len(bad_lines) - shown, bad_lines[-1].line
        listed.append(
            f"... and {n_more} more, the last at line {last}" if is_all else f"... and at least {n_more} more"
        )
    return "\n".join(listed)


def shorten(text: str, *, limit: int = 120) -> str:
    """Cut a long text so that an error message stays readable."""
    text = text.rstrip("\r\n")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a hint that names the closest candidates, or nothing when none is close."""
    import difflib  # only wanted when something was mistyped

    by_lower: dict[str, str] = {}
    for candidate in candidates:
        by_lower.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(by_lower[match] for match in close)}?" if close else ""


PASSED_BY = frozenset({"rankscope", "functools", "contextlib"})
"""Packages whose lines a warning does not point at: ours, and those that stand between two of ours."""
SHOWN_NOTES = 5
"""A warning shows at most so many notes, or one more."""
_CALLER: ContextVar[FrameType | None] = ContextVar("rankscope_caller", default=None)
_COLLECTED: ContextVar[list[str] | None] = ContextVar("rankscope_collected", default=None)


@contextmanager
def collect_notes() -> Iterator[list[str]]:
    """Collect what would be warned of within the block, for those who show it elsewhere, such as on a page."""
    notes: list[str] = []
    token = _COLLECTED.set(notes)
    try:
        yield notes
    finally:
        _COLLECTED.reset(token)


def give_warning(*notes: str) -> None:
    """Warn of what must be known, at the line of the program that called Rankscope; several notes are one warning."""
    if not notes:
        return
    collected = _COLLECTED.get()
    if collected is not None:
        collected += notes
        return
    frame = _CALLER.get() or calling_frame()
    warnings.warn_explicit(
        RankscopeWarning(*notes),
        RankscopeWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def first_of(notes: tuple[str, ...]) -> list[str]:
    """Return the notes that a warning shows: all of a few, of many the first and how many more there are."""
    n_more = len(notes) - SHOWN_NOTES if len(notes) > SHOWN_NOTES + 1 else 0
    return [*notes[: len(notes) - n_more], *([f"and {n_more} more; the notes of the result have all"] * bool(n_more))]


def calling_frame() -> FrameType:
    """Return the innermost line of a program that is not ours; where all of it is, the outermost."""
    frame = sys._getframe(1)  # noqa: SLF001 (as `warnings` does; what Python has for this is slow)
    while frame.f_globals.get("__name__", "").partition(".")[0] in PASSED_BY and frame.f_back is not None:
        frame = frame.f_back
    return frame


def with_caller(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function for other threads, whose warnings point at the line that called Rankscope in this one."""
    here = copy_context()
    here.run(_CALLER.set, _CALLER.get() or calling_frame())

    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return here.copy().run(function, *args, **kwargs)

    return called
