"""Systems that were asked several times, in reports: the spread from run to run beside the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rankscope.comparison.records import Comparison, PairResult
from rankscope.comparison.verdict import spread_text, with_sign
from rankscope.experiment.results import CollectionResult, SystemResult
from rankscope.measures.repetitions import means_by_repetition, scores_repeat, spread_of_means
from rankscope.measures.scores import Scores, show
from rankscope.records import or_nan
from rankscope.report.document import Fact, Section, Signal, TableBlock
from rankscope.report.table import Cell, Table

RUN_TO_RUN = "run to run"
"""The heading of a column of spreads."""
SPREAD_NOTE = f"{RUN_TO_RUN}: the standard deviation between repetitions; verdict and interval rest on queries alone"
NOT_KNOWN = "a system that was asked once counts as if it repeated itself, as its spread is not known"


def varies(pair: PairResult) -> bool:
    """Tell whether the means of a pair differ between repetitions."""
    return pair.repeats is not None and pair.repeats.difference > 0


def spread_cell(spread: float | None, margin: float = 0.0) -> Cell:
    return Cell("-") if spread is None else Cell(f"±{spread_text(spread, margin)}", raw=repr(spread))


def pair_cells(pairs: Sequence[PairResult]) -> list[list[Cell]]:
    """Return for each pair the cells of the column of spreads: none where nothing changes in any of them."""
    if not any(map(varies, pairs)):
        return [[] for _ in pairs]
    spreads = (None if pair.repeats is None else pair.repeats.difference for pair in pairs)
    return [[spread_cell(spread, pair.margin)] for spread, pair in zip(spreads, pairs, strict=True)]


def pair_notes(pairs: Iterable[PairResult]) -> list[str]:
    """Return what a column of spreads is, and what is not known."""
    varying = [pair.repeats for pair in pairs if pair.repeats is not None and varies(pair)]
    unknown = any(None in (each.spread.a, each.spread.b) for each in varying)
    return [SPREAD_NOTE, *([NOT_KNOWN] if unknown else [])] if varying else []


def first_run_words(pair: PairResult) -> str:
    """Say of what looks at docs that it is about the first run of each system, and what their difference is."""
    if pair.repeats is None or not varies(pair):
        return ""
    first = with_sign(pair.repeats.means.b[0] - pair.repeats.means.a[0], pair)
    return f"about the first repetition, whose Δ is {first}; over all repetitions it is {with_sign(pair.delta, pair)}"


def first_runs_of(scores: Scores, systems: Iterable[str], measure: str) -> str:
    """Say of systems that do not repeat themselves that docs and ranks are those of the first run of each."""
    words = []
    for name in systems:
        if name in scores.repetitions and not scores_repeat(scores, name):
            first, mean = means_by_repetition(scores, name, measure)[0], scores[name].mean()[measure].value
            words.append(f"{name}, whose {measure} is {show(first)} (over all repetitions it is {show(mean)})")
    return f"Docs and ranks are those of the first repetition of {', and of '.join(words)}." if words else ""


def run_to_run_fact(pair: PairResult) -> Iterator[Fact]:
    """Yield how much the difference changes from run to run, to stand beside it."""
    if pair.repeats is None or not varies(pair):
        return
    times = dict.fromkeys(n for n in (pair.repeats.n.a, pair.repeats.n.b) if n > 1)
    over = f"standard deviation over {' and '.join(map(str, times))} repetitions"
    yield Fact("Difference from run to run", f"±{spread_text(pair.repeats.difference, pair.margin)}", over)


def run_to_run_signal(pair: PairResult, margin: str) -> Iterator[Signal]:
    """Yield whether the spread from run to run is smaller than what matters; nothing where there is none."""
    found = pair.repeats
    if found is None or not varies(pair):
        return
    known = ((pair.a, found.n.a, found.spread.a), (pair.b, found.n.b, found.spread.b))
    parts = [f"{name} changes by {spread_text(spread)} ({n} repetitions)" for name, n, spread in known if spread]
    parts += [f"{name} does not change ({n} repetitions)" for name, n, spread in known if spread == 0]
    parts += [f"{name} was asked once, so that is not known" for name, _, spread in known if spread is None]
    words = f"{pair.measure} from run to run: {', '.join(parts)}."
    size = f"The difference between single runs changes by {spread_text(found.difference, pair.margin)}"
    if not pair.margin:
        yield Signal("Repetitions", "note", words)
    elif found.difference > pair.margin:
        yield Signal("Repetitions", "look", f"{words} {size}, more than {margin}.")
    else:
        yield Signal("Repetitions", "fine", f"{words} {size}, within {margin}.")


def varying_systems(result: CollectionResult) -> list[SystemResult]:
    """Return the systems whose repetitions are not all the same."""
    return [system for system in result.systems if system.repetitions and not system.repeats_itself]


def repetition_sections(result: CollectionResult, primary: str) -> Iterator[Section]:
    """Yield the mean of every repetition, and how far the means of all measures spread."""
    scores = result.scores
    varying = [system for system in varying_systems(result) if scores is not None and system.name in scores]
    if scores is None or not varying:
        return
    n_most = max(system.n_times for system in varying)
    rows, spreads = [], []
    for system in varying:
        means = [or_nan(each.mean) for each in system.repetitions]
        cells = [Cell(show(mean), raw=repr(mean)) for mean in means] + [Cell("-")] * (n_most - len(means))
        mean = scores[system.name].mean()[primary].value
        rows.append([Cell(system.name), *cells, Cell(show(mean), raw=repr(mean)), spread_cell(system.spread)])
        of_measures = (means_by_repetition(scores, system.name, measure) for measure in scores.measures)
        spreads.append([Cell(system.name), *(spread_cell(spread_of_means(each)) for each in of_measures)])
    header = ["system", *(f"run {i}" for i in range(1, n_most + 1)), "mean", RUN_TO_RUN]
    means_table = Table(header, rows, notes=(SPREAD_NOTE,), keep=("mean", RUN_TO_RUN))
    blocks = [TableBlock(f"{primary} in every repetition", means_table)]
    if len(scores.measures) > 1:
        blocks.append(TableBlock("Spread from run to run, by measure", Table(["system", *scores.measures], spreads)))
    yield Section("From run to run", tuple(blocks), folded=True)


def first_repetition_of(comparison: Comparison, pair: PairResult) -> str:
    """Say which rankings stand side by side, where systems have several."""
    return first_runs_of(comparison.scores, (pair.a, pair.b), pair.measure) if comparison.has_scores else ""
