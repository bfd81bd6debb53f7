"""What executors have in common: one function on many inputs, results as they come, failures as data."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

from rankscope.errors import OptionError, RankscopeError, UnfinishedError
from rankscope.records import Record

FailureKind = Literal["raised", "lost", "memory"]
"""What happened: the function raised an error, its worker was lost, or memory ran out."""

FEWER = "make the inputs smaller, or give workers more memory"
"""What is said where memory ran out."""


class TaskFailure(Record, eq=False):
    """What takes the place of a result where there is none."""

    position: int
    """Which of the inputs it was."""
    error: RankscopeError
    kind: FailureKind
    is_final: bool = True
    """Whether trying again cannot help, as what was given is wrong."""


class TaskExecutor(Protocol):
    """Runs a function on many inputs, in this process, in others, or on other machines."""

    @property
    def n_workers(self) -> int:
        """How many inputs are worked on at a time."""
        ...

    def run(
        self, function: Callable[[Any], Any], inputs: Sequence[Any], *, retries: int = 2
    ) -> Iterator[tuple[int, Any]]:
        """Yield the position of each input with its result, or a `TaskFailure`, in the order in which they come.

        The function must be one that can be pickled: of a module, or a `functools.partial` of one. Where a worker is
        lost, its input is tried again, `retries` times.
        """
        ...

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Return what a function returns on each worker, by the worker's name, or the exception that it raised."""
        ...

    def close(self) -> None:
        """End what was started, at once; what is worked on is given up."""
        ...


def outcome(function: Callable[[Any], Any], position: int, given: Any) -> Any:
    """Return what a function returns for an input, or why it returns nothing, as data that can be sent."""
    try:
        return function(given)
    except Exception as error:  # noqa: BLE001 (whatever it is, it has to be said where the results are)
        return failure_of(error, position)


def failure_of(error: BaseException, position: int) -> TaskFailure:
    """Return an error as data; one that somebody else than Rankscope raised is put in words, with where it was."""
    if isinstance(error, RankscopeError):
        return TaskFailure(position, error, "raised", is_final=not isinstance(error, UnfinishedError))
    if isinstance(error, MemoryError):
        return TaskFailure(position, UnfinishedError("memory ran out", hint=FEWER), "memory", is_final=False)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({last[0].filename}:{last[0].lineno})" if last else ""
    words = f"{type(error).__name__}: {error}{where}"
    return TaskFailure(position, UnfinishedError(words), "raised", is_final=False)


def pickled(function: Callable[..., Any]) -> bytes:
    """Return a function as bytes, or say that no other process could find it."""
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise OptionError(
            f"{function!r} cannot be sent to another process: {error}",
            hint="define it at the top of a module that workers can import",
        ) from error


class InThisProcess:
    """Works on one input after the other, here."""

    n_workers = 1

    def run(
        self,
        function: Callable[[Any], Any],
        inputs: Sequence[Any],
        *,
        retries: int = 2,  # noqa: ARG002 (there is no worker that could be lost)
    ) -> Iterator[tuple[int, Any]]:
        """Yield one result after the other; errors but those of Rankscope, files and memory are raised as they are."""
        for position, given in enumerate(inputs):
            try:
                result = function(given)
            except (RankscopeError, OSError, MemoryError) as error:
                result = failure_of(error, position)
            yield position, result

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Return nothing: there is no other worker than whoever asks."""
        del function, args
        return {}

    def close(self) -> None:
        """Do nothing, as nothing was started."""
