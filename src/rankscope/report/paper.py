"""One table to paste into a paper: systems by measures, the best value bold, what is better than what by superscripts.

Superscripts come from verdicts alone, as every other statement does: letters name the systems that one is better than
where all pairs were compared, signs say how it stands to the baseline where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rankscope.comparison import verdict as wording
from rankscope.comparison.records import Code, Comparison, QueryGroup
from rankscope.light import LightRecord, replace
from rankscope.measures.scores import Scores
from rankscope.printable import counted, listed
from rankscope.records import or_nan
from rankscope.report.evaluation import number_cell, queries, summary_table
from rankscope.report.table import Cell, Table

TO = "\N{EN DASH}"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIGNS: dict[Code, tuple[str, str]] = {
    "better": ("+", "better"),
    "probably_better": ("(+)", "probably better"),
    "worse": ("\N{MINUS SIGN}", "worse"),
    "probably_worse": ("(\N{MINUS SIGN})", "probably worse"),
    "same": ("=", "practically the same"),
    "identical": ("=", "practically the same"),
    "not_safe": ("?", "not safe to call, as too much is unjudged"),
    "not_comparable": ("!", "not comparable"),
    "too_few": ("", ""),
    "cannot_tell": ("", ""),
}
"""How a system stands to the baseline: the sign, and what it means; nothing separates those without a sign from it."""


class PaperTable(LightRecord):
    """A table with what belongs to it in a paper."""

    table: Table
    caption: str
    label: str
    superscripts: Mapping[tuple[int, int], str] = {}
    """By row and column, what stands raised behind a value."""
    comments: Sequence[str] = ()
    """What only those read who paste it."""


def paper_of_comparison(
    comparison: Comparison, *, scores: Scores | None = None, table: Table | None = None
) -> PaperTable:
    """Return the table of a comparison; languages that are not pooled have a column each, by the measure that decides.

    `scores` are to be shown in this order where they are given, and `table` holds their means where these are not to be
    shown in the usual way.
    """
    scores = scores or scores_in_order(comparison)
    by_group = means_by_group(comparison, list(scores)) if comparison.isolated_by else None
    means = with_rows(by_group or table or summary_table(scores), scores)
    by_column = {group.name if comparison.isolated_by else comparison.primary: group for group in comparison.groups}
    names, lettered = list(scores), comparison.baseline is None
    marks = {
        (names.index(system), means.header.index(str(column))): mark
        for column, group in by_column.items()
        for system, mark in (letters_of(group, names) if lettered else signs_of(group))
        if mark
    }
    if lettered:
        rows = [[Cell(letter_of(i)), *row] for i, row in enumerate(means.rows)]
        means = replace(means, header=["", *means.header], rows=rows, n_name_columns=2)
        marks = {(row, column + 1): mark for (row, column), mark in marks.items()}
    sentences = [*measured_sentences(scores, means, comparison), *verdict_sentences(comparison, has_marks=bool(marks))]
    return PaperTable(
        replace(means, notes=()), " ".join(sentences), label_of(comparison.primary), marks, tuple(means.notes)
    )


def scores_in_order(comparison: Comparison) -> Scores:
    """Return the scores of a comparison in the order of its reports."""
    scores, first = comparison.scores, comparison.groups[0]
    runs = scores.by_name
    return replace(scores, runs=tuple(runs[name] for name in comparison.systems_in_order(first)))


def paper_of_scores(scores: Scores, *, table: Table | None = None, why_no_marks: str = "") -> PaperTable:
    """Return the table of scores that nothing is known of beyond their means."""
    means = with_rows(table or summary_table(scores), scores)
    comments = [*means.notes, *([f"no superscripts: {why_no_marks}"] if why_no_marks else [])]
    caption = " ".join(measured_sentences(scores, means))
    return PaperTable(replace(means, notes=()), caption, label_of(scores.measures[0]), {}, comments)


def with_rows(means: Table, names: Iterable[str]) -> Table:
    """Return a table of means, systems being rows, in another order."""
    rows_of = {row[0].text: row for row in means.rows}
    return replace(means, header=["system", *means.header[1:]], rows=[rows_of[name] for name in names])


def means_by_group(comparison: Comparison, names: Sequence[str]) -> Table:
    columns = []
    for group in comparison.groups:
        mean_of = {place.system: place.mean for place in group.leaderboard}
        known = [mean for mean in mean_of.values() if group.is_over_same_queries]
        lower = group.compared[0].lower_is_better if group.compared else False
        best = (min if lower else max)(known) if len(set(known)) > 1 else None
        columns.append([number_cell(or_nan(mean_of.get(name)), best) for name in names])
    rows = [[Cell(name), *cells] for name, *cells in zip(names, *columns, strict=True)]
    return Table(["system", *(str(group.name) for group in comparison.groups)], rows)


def letters_of(group: QueryGroup, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield for each system the letters of those that it is better than, and in brackets probably better than."""
    better: dict[str, dict[str, list[int]]] = {}
    for item in group.compared:
        code = item.final_verdict.code
        for winner, loser, found in ((item.b, item.a, code), (item.a, item.b, wording.TURNED.get(code, code))):
            if found in ("better", "probably_better"):
                better.setdefault(winner, {}).setdefault(found, []).append(names.index(loser))
    for name, beaten in better.items():
        sure, likely = (ranges(sorted(beaten.get(code, ()))) for code in ("better", "probably_better"))
        yield name, ",".join(filter(None, (sure, f"({likely})" if likely else "")))


def signs_of(group: QueryGroup) -> Iterator[tuple[str, str]]:
    """Yield for each system the sign of its verdict against the baseline."""
    for item in group.compared:
        yield item.b, SIGNS[item.final_verdict.code][0]


def letter_of(i: int) -> str:
    """Return a, b, … z, aa, ab, …"""
    before, last = divmod(i, len(LETTERS))
    return (letter_of(before - 1) if before else "") + LETTERS[last]


def ranges(places: Sequence[int]) -> str:
    """Return the letters of some places, three and more in a row as a range."""
    parts: list[list[int]] = []
    for place in places:
        if parts and parts[-1][-1] == place - 1:
            parts[-1].append(place)
        else:
            parts.append([place])
    return ",".join(
        f"{letter_of(part[0])}{TO}{letter_of(part[-1])}" if len(part) > 2 else ",".join(map(letter_of, part))
        for part in parts
    )


def measured_sentences(scores: Scores, means: Table, comparison: Comparison | None = None) -> Iterator[str]:
    """Say what was measured, on how many queries, and what is bold."""
    measures = scores.measures
    who = "" if len(scores) == 1 else f" of {len(scores)} systems"
    if comparison is not None and comparison.isolated_by:
        measures = (comparison.primary,)
        sizes = ", ".join(f"{group.name} {len(group.query_ids)}" for group in comparison.groups)
        yield f"Mean {comparison.primary}{who} by {comparison.isolated_by} (queries: {sizes})."
    else:
        yield f"Mean {listed(measures, most=len(measures))}{who} over {n_words(scores)}."
    if any(cell.best for row in means.rows for cell in row):
        yield "Bold: the best of each column."
    lower = [measure for measure in measures if measure in scores.runs[0].lower_is_better]
    if lower:
        yield f"Lower is better: {listed(lower, most=len(lower))}."


def verdict_sentences(comparison: Comparison, *, has_marks: bool) -> Iterator[str]:
    """Say what the superscripts mean, and by which test and at which level they came about."""
    pairs = list(comparison)
    codes = [item.final_verdict.code for item in pairs]
    where = "" if comparison.isolated_by else f" of {comparison.primary}"
    if comparison.baseline is None and has_marks:
        brackets = " (in brackets: probably better)" if {"probably_better", "probably_worse"} & {*codes} else ""
        n_unsafe = codes.count("not_safe")
        unsafe = f"; {counted(n_unsafe, 'pair')} not safe to call, as too much is unjudged" if n_unsafe else ""
        yield f"Superscripts{where}: the systems that this one is better than{brackets}{unsafe}."
    elif comparison.baseline is None:
        yield f"No system is shown to be better than another by {comparison.primary}."
    elif has_marks:
        used = dict.fromkeys(SIGNS[code] for code in SIGNS if code in codes and SIGNS[code][0])
        meant = ", ".join(f"{sign} {words}" for sign, words in used)
        open_ = "; none: cannot tell" if "cannot_tell" in codes else ""
        yield f"Superscripts{where}, against {comparison.baseline}: {meant}{open_}."
    else:
        yield f"No system can be distinguished from {comparison.baseline} by {comparison.primary}."
    if "too_few" in codes:
        few = next(item for item in pairs if item.final_verdict.code == "too_few")
        yield f"Fewer than {wording.MIN_UNITS} {wording.unit_word(few)} get no verdict."
    yield from test_sentences(comparison)


def test_sentences(comparison: Comparison) -> Iterator[str]:
    tested = next((item for item in comparison if item.p.adjusted is not None), None)
    if tested is None:
        return
    settings, size = comparison.settings, tested.p.family_size
    how = "Student's t" if comparison.correction == "bonferroni" else "sign flips"
    correction = {"maxt": "max-t, Westfall and Young", "bonferroni": "Bonferroni"}.get(comparison.correction, "")
    family = f" corrected for {counted(size, 'comparison')} ({correction})" if correction and size > 1 else ""
    family = f" not corrected for {counted(size, 'comparison')}" if not correction and size > 1 else family
    unit = f"{comparison.cluster} cluster" if comparison.cluster else "query"
    weighted = f", weighted by {comparison.weights}" if comparison.weights else ""
    yield f"Paired test by {unit} ({how}{weighted}){family}, level {settings.alpha * 100:.4g}%."
    if tested.margin:
        interval = wording.level_words(tested).replace("CI", "interval")
        likely = {"probably_better", "probably_worse"} & {item.final_verdict.code for item in comparison}
        or_else = "; probably: beyond 0 only, or unjudged docs could change it" if likely else ""
        yield f"Better or worse: the {interval} of the difference lies beyond a margin of {tested.margin:g}{or_else}."


def n_words(scores: Scores) -> str:
    sizes = sorted({run.counts.queries for run in scores.values()})
    words = queries(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} queries"
    return words if scores.weighted_by is None else f"{words}, weighted by {scores.weighted_by}"


def label_of(measure: str) -> str:
    """Return a label that LaTeX takes in any package: letters, numbers and hyphens."""
    return "tab:" + re.sub(r"[^a-z0-9]+", "-", f"{measure} systems".lower()).strip("-")
