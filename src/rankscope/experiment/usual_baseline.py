"""Which run others are compared with unless somebody says so: the same one in the terminal, in reports and on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rankscope.errors import RankscopeError
from rankscope.experiment.project import Project
from rankscope.experiment.run_files import MANIFEST
from rankscope.io.files import read_json
from rankscope.records import Record
from rankscope.store import StoredRun

PRODUCTION, BASELINE = "production", "baseline"
"""The tags of the run that users see, and of the one that gates compare with."""

Why = Literal["production", "baseline", "compared", "first", "none"]
WORDS: dict[Why, str] = {
    "production": "it has the tag production",
    "baseline": "it has the tag baseline",
    "compared": "the last run compared the others with it",
    "first": "it is the first system of the project",
    "none": "no baseline is chosen, and it is the first system that was stored",
}


class ChosenBaseline(Record, eq=False):
    """The run that others are compared with, and why it is that one."""

    run: StoredRun
    why: Why

    @property
    def words(self) -> str:
        """Why it is that one, for example `it has the tag production`."""
        return WORDS[self.why]


def chosen_baseline(
    runs: Sequence[StoredRun], tags: Mapping[str, int], project: Project | None = None
) -> ChosenBaseline:
    """Return the run that others are compared with.

    That is the run with the tag production, else the one with the tag baseline, else the newest run of the system that
    the last `rankscope run` compared the others with, else that of the first system of the project; where nothing says
    so, that of the system that was stored first. How new a run is never decides: a system that is tried once does not
    become what the others are compared with.

    Parameters
    ----------
    runs
        All stored runs on a collection, the oldest first; at least one.
    tags
        The number of the run that each tag is on.
    project
        The project of the store, where there is one.
    """
    by_tag: dict[Why, str] = {"production": PRODUCTION, "baseline": BASELINE}
    for why, tag in by_tag.items():
        for run in runs:
            if run.number == tags.get(tag):
                return ChosenBaseline(run, why)
    newest = {run.system: run for run in runs}
    for system in (compared_with(project, runs[-1].collection), compared_by_run(runs)):
        if system in newest:
            return ChosenBaseline(newest[system], "compared")
    for system in () if project is None else project.systems:
        if system in newest:
            return ChosenBaseline(newest[system], "first")
    return ChosenBaseline(newest[min(runs, key=lambda run: run.number).system], "none")


def compared_with(project: Project | None, collection: str) -> str:
    """Return the system that the last run of a project compared others with; empty where nobody knows."""
    if project is None:
        return ""
    try:
        manifest: Any = read_json(project.output / MANIFEST)
        found = manifest["collections"][collection].get(BASELINE)
    except (RankscopeError, OSError, LookupError, TypeError, AttributeError):
        return ""  # there are no results, or others wrote them
    return found if isinstance(found, str) else ""


def compared_by_run(runs: Sequence[StoredRun]) -> str:
    """Return the system that the newest run was compared with that was compared at all."""
    return next((run.details.baseline for run in reversed(runs) if run.details.baseline), "")
