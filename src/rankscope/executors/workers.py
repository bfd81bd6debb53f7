"""Are the workers fit for the job? Asked of all of them before any work is done."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rankscope._version import __version__
from rankscope.errors import InputError, UnfinishedError
from rankscope.executors.tasks import TaskExecutor
from rankscope.light import LightRecord

SAME_PLACES = "put the files where all workers see them under the same path, or on an object store"


def check_workers(executor: TaskExecutor, can_read: Callable[..., Any] | None = None, *args: Any) -> None:
    """Refuse workers of another version of Rankscope or Python, and those that cannot read what they will have to.

    Only functions of the standard library are asked for versions: they are there whatever a worker has installed.
    """
    ours = own_version()
    found = {
        worker: "none" if isinstance(answer, ModuleNotFoundError) else said_by(worker, answer)
        for worker, answer in executor.everywhere(version, "rankscope").items()
    }
    _refuse("rankscope", ours, found, hint=f"on every worker: pip install rankscope=={ours}; then start it again")
    python = minor(platform.python_version())
    pythons = {
        worker: minor(said_by(worker, answer))
        for worker, answer in executor.everywhere(platform.python_version).items()
    }
    hint = f"start the workers with Python {python}, and install rankscope=={ours} there"
    _refuse("Python", python, pythons, hint=hint)
    if can_read is not None:
        for worker, answer in executor.everywhere(can_read, *args).items():
            if isinstance(answer, Exception):
                message = getattr(answer, "message", f"{type(answer).__name__}: {answer}")
                own = getattr(answer, "hint", None) if isinstance(answer, UnfinishedError) else None
                raise InputError(
                    f"worker {worker} cannot read what it will have to: {message}",
                    hint=f"on every worker: {own}" if own else SAME_PLACES,
                )


def said_by(worker: str, answer: Any) -> str:
    """Return what a worker has answered; one that has not can do no work."""
    if isinstance(answer, Exception):
        raise UnfinishedError(
            f"worker {worker} cannot be reached: {type(answer).__name__}: {answer}",
            hint="see whether it is still there, then run it again",
        ) from answer
    return str(answer)


class WorkerVersions(LightRecord):
    """What a worker must have in common with where the job was begun."""

    rankscope: str
    python: str


def own_versions() -> WorkerVersions:
    return WorkerVersions(own_version(), minor(platform.python_version()))


def check_versions(ours: WorkerVersions) -> None:
    """Refuse to work in a process that has other versions: a worker that came after all others had been asked."""
    if (theirs := own_versions()) != ours:
        raise InputError(
            f"a worker on {platform.node()} has rankscope {theirs.rankscope} and Python {theirs.python}, but the job "
            f"was begun with rankscope {ours.rankscope} and Python {ours.python}",
            hint=f"on every worker, also on those that come later: pip install rankscope=={ours.rankscope}",
        )


def _refuse(what: str, ours: str, found: dict[str, str], *, hint: str) -> None:
    others = [f"{worker} has {theirs}" for worker, theirs in found.items() if theirs != ours]
    if others:
        n_more = f", and {len(others) - 3} more workers have others" if len(others) > 3 else ""
        raise InputError(f"{what} is {ours} here, but worker {', '.join(others[:3])}{n_more}", hint=hint)


def own_version() -> str:
    """Return the version that is installed here, as workers are asked for theirs; of mere source code what it says."""
    try:
        return version("rankscope")
    except PackageNotFoundError:
        return __version__


def minor(python: str) -> str:
    """Return 3.11 of 3.11.7."""
    return ".".join(python.split(".")[:2])
