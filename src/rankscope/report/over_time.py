"""The same systems in several score files, each a point in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankscope.comparison.known_measures import known_measure, with_directions
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.evaluation import deciding_measure
from rankscope.measures.score_files import file_labels, other_qrels, scores_by_file
from rankscope.measures.scores import Scores, show
from rankscope.records import Record
from rankscope.report.means import Mean, mean_of
from rankscope.report.table import Cell, Table
from rankscope.stats.interval import LEVEL, percent

if TYPE_CHECKING:
    from rankscope.report.charts.chart import Better


class OverTime(Record):
    """The means of systems in several files."""

    measure: str
    better: Better
    labels: tuple[str, ...]
    """What the files are called, in the order given."""
    means: Mapping[str, Sequence[Mean | None]]
    """By system, one per file; None where the file has no such system, or not this measure."""
    cautions: tuple[str, ...] = ()
    """Why the points may not be comparable."""


def scores_over_time(
    paths: Sequence[str], *, measure: str | None = None, system: str | None = None, alone: bool = True
) -> OverTime:
    """Return the means of all systems, or of one, in each file, by a measure or the first that all files have.

    A table without names of systems is one of query by system where each file is read `alone`, else one of measures.
    """
    labels = file_labels(paths)
    read = scores_by_file(paths, measure=measure, alone=alone)
    files = dict(zip(labels, map(with_directions, read), strict=True))
    known = list(dict.fromkeys(name for scores in files.values() for name in scores))
    if system is not None and system not in known:
        hint = did_you_mean(system, known) or f"there are {', '.join(known)}"
        raise OptionError(f"{', '.join(paths)}: there is no system {system!r}", hint=hint)
    followed = known if system is None else [system]
    n_files = Counter(name for scores in files.values() for name in scores)
    if system is None and len(paths) > 1 and max(n_files.values()) == 1:
        held = "; ".join(f"{label} has {', '.join(scores)}" for label, scores in files.items())
        raise InputError(
            f"no system is in more than one of the files, so there is nothing to follow: {held}",
            hint="a system is followed by its name: evaluate it under the same name every time",
        )
    name = followed_measure(files, measure)
    with_measure = [scores if name in scores.measures else {} for scores in files.values()]
    means = {
        each: tuple(mean_of(scores[each], name) if each in scores else None for scores in with_measure)
        for each in followed
    }
    lower = any(name in run.lower_is_better for scores in with_measure for run in scores.values())
    return OverTime(name, "lower" if lower else "higher", tuple(labels), means, tuple(cautions_of(paths, files)))


def followed_measure(files: Mapping[str, Scores], measure: str | None) -> str:
    """Return the measure to follow: one that some file has, or of those that all of them have the one that decides."""
    known = list(dict.fromkeys(name for scores in files.values() for name in scores.measures))
    if measure is not None:
        ours = known_measure(measure)
        found = [name for name in (measure, measure if ours is None else ours.name) if name in known]
        if found:
            return found[0]
        hint = did_you_mean(measure, known) or f"there are {', '.join(known)}"
        raise OptionError(f"there is no measure {measure!r} among the scores", hint=hint)
    shared = [name for name in known if all(name in scores.measures for scores in files.values())]
    if not shared:
        held = "; ".join(f"{label} has {', '.join(scores.measures)}" for label, scores in files.items())
        raise InputError("the files have no measure in common", hint=f"{held}; -m NAME follows one of them")
    profiles = {scores.profile for scores in files.values()}
    return deciding_measure(profiles.pop() if len(profiles) == 1 else None, shared)


def cautions_of(paths: Sequence[str], files: Mapping[str, Scores]) -> Iterator[str]:
    if other_qrels(paths, anyway=True):
        yield "not all against the same qrels"
    if len({frozenset(query for run in scores.values() for query in run.query_ids) for scores in files.values()}) > 1:
        yield "not the same queries in all files"


def over_time_table(found: OverTime) -> Table:
    """Return one row per file, with every system's mean and its interval."""
    rows = []
    for i, label in enumerate(found.labels):
        cells = [Cell(label)]
        for means in found.means.values():
            mean = means[i]
            ends = "" if mean is None or mean.interval is None else " [{}, {}]".format(*map(show, mean.ends))
            cells.append(Cell("-") if mean is None else Cell(f"{show(mean.value)}{ends}", raw=repr(mean.value)))
        rows.append(cells)
    notes = [f"mean {found.measure}, with {percent(LEVEL)} intervals where there are any; -: not in this file"]
    return Table(["file", *found.means], rows, notes=(*notes, *found.cautions))
