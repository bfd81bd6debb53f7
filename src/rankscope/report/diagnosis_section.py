"""The diagnosis within other reports: what each of their runs loses to what, and what usually helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from rankscope.analysis.diagnose import diagnose_one
from rankscope.analysis.diagnose.records import Diagnosis
from rankscope.analysis.rankings import Rankings
from rankscope.comparison.records import Comparison, QueryGroup
from rankscope.data.texts import Texts
from rankscope.errors import give_warning
from rankscope.evaluation import EvaluateRequest, add_unjudged_queries, queries_asked
from rankscope.measures.scores import Scores
from rankscope.printable import counted
from rankscope.report.charts.sources import RunData, better_of
from rankscope.report.diagnosis import answer_block, shares_block, shares_of, steps_blocks, worst_blocks
from rankscope.report.document import Block, Paragraph, Section, TableBlock
from rankscope.report.evaluation import primary_of, queries
from rankscope.report.repetitions import first_runs_of
from rankscope.report.table import Cell, Table

FEW_RUNS = 3
"""So many runs are each diagnosed in the report of an evaluation; of more, the best one is."""
MOST_GROUPS = 12
TITLE = "What is lost, and what usually helps"


def evaluated_sections(scores: Scores, data: RunData) -> Iterator[Section]:
    """Yield the diagnosis of each run where there are few, of the best one where there are many."""
    asked, docs = data.options.get("queries"), data.options.get("docs")
    qrels, _ = queries_asked(data.qrels, data.runs)
    if EvaluateRequest.decide(data.measures, **data.options).unjudged_queries == "zero":
        qrels, _ = add_unjudged_queries(qrels, data.runs, asked)
    rankings = Rankings(
        qrels,
        {run.name or "run": run for run in data.runs},
        data.policies,
        data.options.get("profile"),
        lambda shown: texts_or_warning(asked, docs, shown),
    )
    yield from diagnosis_sections(scores, rankings, primary=primary_of(scores))


def texts_or_warning(queries: Any, docs: Any, shown: AbstractSet[str]) -> Texts:
    """Return the words of docs that are shown, with a warning where there are none; `evaluate` looks at the queries."""
    texts = Texts.of(queries=queries, docs=docs, only=shown)
    give_warning(*texts.notes)
    return texts


def diagnosis_sections(scores: Scores, rankings: Rankings, *, primary: str) -> Iterator[Section]:
    names = list(scores)
    if len(names) > FEW_RUNS:
        means = {name: run.mean()[primary].value for name, run in scores.items()}
        sign = -1 if better_of(scores, primary) == "lower" else 1
        names = [max(names, key=lambda name: (means[name] == means[name], sign * means[name]))]
    found = [one for name in names if (one := diagnose_one(rankings, name, primary)) is not None]
    blocks: list[Block] = []
    several = len(scores) > 1
    for diagnosis in found:
        blocks += [
            Paragraph(diagnosis_words(diagnosis)),
            shares_block(diagnosis, name=diagnosis.run if several else ""),
        ]
        blocks += [*steps_blocks(diagnosis), *worst_blocks(diagnosis)]
    if len(scores) > len(names) and found:
        blocks.append(Paragraph(others_words([name for name in scores if name not in names])))
    if found:
        intro = f"{intro_of(found[0], weighted_by=scores.weighted_by)} {first_runs_of(scores, names, primary)}".rstrip()
        yield Section(TITLE, tuple(blocks), intro=intro)


def compared_sections(comparison: Comparison, group: QueryGroup) -> Iterator[Section]:
    """Yield what baseline and best challenger lose on a group of queries, and how the loss moved between them.

    What usually helps is about the one with the better mean. Nothing where scores alone are known, and for the queries
    of several languages together.
    """
    rankings = comparison.rankings
    if rankings is None or group.pooled or len(comparison.groups) > MOST_GROUPS:
        return
    inside = set(group.query_ids).difference(group.uncounted)
    diagnosed = (
        diagnose_one(rankings, name, comparison.primary, query_ids=inside)
        for name in diagnosed_systems(comparison, group)
    )
    found = [one for one in diagnosed if one is not None]
    if not found:
        return
    blocks: list[Block] = [Paragraph(moved_words(*found))] if len(found) == 2 else []
    blocks += [shares_block(one, name=one.run) for one in found]
    if len(found) == 2:
        blocks.append(TableBlock("How the loss moved", moved_table(*found), folded=True))
    place = {row.system: i for i, row in enumerate(group.leaderboard)}
    best = min(found, key=lambda one: place.get(one.run, len(place)))
    blocks += [Paragraph(diagnosis_words(best)), *steps_blocks(best), *worst_blocks(best)]
    others = [name for name in comparison.systems_in_order(group) if name not in [one.run for one in found]]
    if others:
        blocks.append(Paragraph(others_words(others)))
    title = "What is still lost, and what usually helps"
    title = f"{title}, {group.name}" if group.name else title
    about = ""
    if comparison.has_scores:
        about = first_runs_of(comparison.scores, [one.run for one in found], comparison.primary)
    intro = f"{intro_of(best, weighted_by=comparison.weights)} {about}".rstrip()
    yield Section(title, tuple(blocks), intro=intro)


def diagnosed_systems(comparison: Comparison, group: QueryGroup) -> list[str]:
    """Return the baseline and the best challenger; where all pairs are compared, the best system."""
    best_first = [place.system for place in group.leaderboard]
    if comparison.baseline is None:
        return best_first[1::-1] if len(best_first) == 2 else best_first[:1]
    return [comparison.baseline, *[name for name in best_first if name != comparison.baseline][:1]]


def intro_of(diagnosis: Diagnosis, *, weighted_by: str | None) -> str:
    """Say what the numbers are about, where that is not what the rest of the report is about."""
    words = [f"By {diagnosis.measure}, over the {queries(diagnosis.n_queries)} that have relevant docs."]
    if weighted_by:
        words.append(f"Here each query counts the same, and is not weighted by {weighted_by}.")
    return " ".join(words)


def diagnosis_words(diagnosis: Diagnosis) -> str:
    answer = answer_block(diagnosis)
    return f"{answer.headline} {answer.reason}"


def others_words(names: Sequence[str]) -> str:
    few = ", ".join(names[:FEW_RUNS]) + (f" and {len(names) - FEW_RUNS} more" if len(names) > FEW_RUNS else "")
    return f"For {few}: rankscope diagnose QRELS RUN."


def moved_words(before: Diagnosis, after: Diagnosis) -> str:
    """Say which losses became smaller from one run to the other, and which larger; they add up to the difference."""
    parts = {name: after_value - before_value for name, before_value, after_value in moved_parts(before, after)}
    lost = {name: change for name, change in parts.items() if name != "reached" and abs(change) >= SHOWN_CHANGE}
    scores = f"from {before.losses.score:.4f} to {after.losses.score:.4f}"
    words = f"From {before.run} to {after.run}, {after.measure} goes {scores}"
    moves = [
        f"{abs(change):.4f} {'less' if change < 0 else 'more'} is {name}"
        for name, change in sorted(lost.items(), key=lambda part: -abs(part[1]))
    ]
    return f"{words}: {', '.join(moves)}." if moves else f"{words}, and no kind of loss changes."


SHOWN_CHANGE = 0.00005
"""A smaller change is 0 as it is shown."""


def moved_parts(before: Diagnosis, after: Diagnosis) -> list[tuple[str, float, float]]:
    """Return every part of the score by name, as it is in both runs."""
    first, second = ({share.name: share.value for share in shares_of(one)} for one in (before, after))
    return [(name, first.get(name, 0.0), second.get(name, 0.0)) for name in {**first, **second}]


def moved_table(before: Diagnosis, after: Diagnosis) -> Table:
    rows = [
        [
            Cell(name),
            *(Cell(f"{value:.4f}", raw=repr(value)) for value in (first, second)),
            Cell(f"{second - first:+.4f}", raw=repr(second - first)),
        ]
        for name, first, second in moved_parts(before, after)
    ]
    notes = []
    if before.n_queries != after.n_queries:
        sizes = f"{before.run} {counted(before.n_queries, 'query')}, {after.run} {counted(after.n_queries, 'query')}"
        notes.append(f"not over the same queries: {sizes}")
    return Table(["", before.run, after.run, "change"], rows, notes=notes, keep=("change",))
