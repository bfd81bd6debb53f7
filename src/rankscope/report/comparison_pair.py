"""One pair of systems in a report: its verdict, all measures, who won where, why it moved, what is unjudged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rankscope.analysis.chart_data import BANDS, band_counts
from rankscope.analysis.movement import Movement
from rankscope.arrays import Floats
from rankscope.comparison.records import Compared, Comparison, Group, QueryChange, Slice
from rankscope.comparison.verdict import Code, decimals, differs, measure_words, signed, unit_word
from rankscope.report.charts.sources import all_queries, column_of
from rankscope.report.document import Block, Bullets, Paragraph, Section, TableBlock, Tone, Verdict
from rankscope.report.evaluation import number_cell, queries
from rankscope.report.figures import figures
from rankscope.report.table import Cell, Table
from rankscope.stats.compare import Pair
from rankscope.stats.family import CORRECTIONS

TONES: dict[Code, Tone] = {
    "better": "good", "probably_better": "good", "worse": "bad", "probably_worse": "bad", "same": "neutral",
    "identical": "neutral", "cannot_tell": "caution", "not_safe": "caution", "too_few": "caution",
    "not_comparable": "bad",
}  # fmt: skip
FEW_PAIRS = 6
"""With more pairs than this, a page has no room for a point per query and pair."""
SHOWN_RANKS = 10
SHOWN_DOCS = 20
"""A longer list of docs to judge is folded."""


def in_group(title: str, group: Group) -> str:
    """Return a title that names the group, where there are several."""
    if not group.name:
        return title
    return f"{title}, {group.name}"


def verdict_block(compared: Compared, group: Group) -> Verdict:
    """Return the verdict on one pair."""
    pair, verdict = compared.pair, compared.verdict
    subject = f"{measure_words(pair)} · {pair.b} vs {pair.a} · {in_group(queries(pair.n_queries), group)}"
    return Verdict(
        verdict.text, verdict.reason, TONES[verdict.code], subject, (*verdict.cautions, *missing_words(compared))
    )


def missing_words(compared: Compared) -> Iterator[str]:
    """Name the queries that a system does not answer."""
    how = "left out" if compared.known.n_unanswered else "counted as empty"
    for system, missing in ((compared.pair.a, compared.missing_a), (compared.pair.b, compared.missing_b)):
        if missing:
            few = ", ".join(missing[:8]) + (", …" if len(missing) > 8 else "")
            yield f"{system} does not answer {queries(len(missing))} ({how}): {few}."


def interval_text(pair: Pair) -> str:
    """Return the interval that decides, as tables show it."""
    if math.isnan(pair.ci.low) or not pair.has_spread:
        return "-"
    return f"[{signed(pair.ci.low, pair)}, {signed(pair.ci.high, pair)}]"


def whose_margin(comparison: Comparison) -> str:
    """Name the margin, and whose it is."""
    return f"{'your' if comparison.settings.margin_given else 'the'} margin of {comparison.settings.margin:g}"


def p_is(p: float) -> str:
    """Return a p-value as it stands in a sentence."""
    return f"p {p_text(p)}".replace("<", "< ") if p_text(p).startswith("<") else f"p = {p_text(p)}"


def p_text(p: float, alpha: float | None = None) -> str:
    """Print a p-value; never as 0, and never as alpha where it is not."""
    if math.isnan(p):
        return "-"
    if p < 0.0001:
        return "<0.0001"
    near_alpha = alpha is not None and f"{p:.2f}" == f"{alpha:.2f}"
    return f"{p:.4f}" if p < 0.01 or near_alpha else f"{p:.2f}"


def measures_table(comparison: Comparison, compared: Compared) -> Table:
    """Return one row per measure, the primary one first."""
    a, b = compared.pair.a, compared.pair.b
    level = f"{compared.pair.ci.level * 100:.4g}% CI"
    header = ["measure", a, b, "Δ", level, "p (adj.)", "effect d_z", "W / T / L"]
    rows = [measure_row(pair, comparison.settings.alpha) for pair in (compared.pair, *compared.exploratory)]
    notes = tuple(p_notes(comparison, compared.pair))
    return Table(header, rows, notes=notes, optional=("effect d_z", "W / T / L"))


def measure_row(pair: Pair, alpha: float) -> list[Cell]:
    """Return one measure's row."""
    digits = decimals(pair)
    name = f"{pair.measure}{' (primary)' if pair.role == 'primary' else ''}{' ↓' if pair.lower_is_better else ''}"
    tested = not math.isnan(pair.p.adjusted)
    p = p_text(pair.p.adjusted, alpha) + (" explor." if tested and pair.role == "exploratory" else "")
    return [
        Cell(name),
        *(Cell("-" if math.isnan(v) else f"{v:.{digits}f}", raw=repr(v)) for v in (pair.mean_a, pair.mean_b)),
        Cell(signed(pair.delta, pair), raw=repr(pair.delta)),
        Cell(interval_text(pair)),
        Cell(p),
        Cell("-" if math.isnan(pair.effect.d_z) else f"{pair.effect.d_z:.2f}"),
        Cell(f"{pair.effect.wins} / {pair.effect.ties} / {pair.effect.losses}" if tested else "-"),
    ]


def p_notes(comparison: Comparison, pair: Pair) -> Iterator[str]:
    """Say how p-values and intervals were obtained."""
    flips = f"all {pair.p.n_resamples:,} patterns" if pair.p.is_exact else f"{pair.p.n_resamples:,} flips"
    family = (
        "one comparison in the family"
        if pair.p.family_size <= 1
        else f"{pair.p.family_size} comparisons in the family, whose intervals hold together (simultaneous) by "
        f"{CORRECTIONS[comparison.correction]}"
    )
    counted = f"n = {pair.n_queries}" + (f" in {pair.n_units} clusters" if pair.clustered else "")
    yield f"primary: sign flips of the mean difference, {flips}; {family}; {counted}; p and interval are the same test"
    if any(measure_is_lower(comparison, name) for name in comparison.scores.measures):
        yield "↓: lower is better"
    sums = [m for m, how in zip(comparison.scores.measures, aggregates_of(comparison), strict=True) if how != "mean"]
    if sums:
        yield f"{', '.join(sums)}: means per query here"
    if len(comparison.scores.measures) > 1:
        level = f"{pair.ci.level * 100:.4g}%"
        share = f"{comparison.settings.false_discoveries:.0%}"
        yield (
            f"explor.: exploratory; each interval is a {level} one of its own, p with false discoveries controlled at "
            f"{share} over all of them (Benjamini-Hochberg)"
        )


def measure_is_lower(comparison: Comparison, name: str) -> bool:
    """Tell whether less is better by a measure."""
    return name in next(iter(comparison.scores.values())).lower_is_better


def aggregates_of(comparison: Comparison) -> tuple[str, ...]:
    """Return how each measure is summed up elsewhere."""
    return next(iter(comparison.scores.values())).aggregates


def power_words(comparison: Comparison, compared: Compared) -> str:
    """Say what this set of queries can find, and what more would take."""
    pair, power = compared.pair, f"{comparison.settings.power:.0%}"
    if math.isnan(pair.mde):
        return f"So few {unit_word(pair)} can find nothing at this level."
    if not differs(pair):
        return "No query's score differs, so nothing can be said of what this set could find."
    words = f"Smallest difference this set can find ({power} power): {pair.mde:.{decimals(pair)}f}."
    if pair.n_needed is not None:
        words += f" To find {pair.margin:g} you need about {pair.n_needed:,} {unit_word(pair)}."
    return words


def pair_section(comparison: Comparison, group: Group, compared: Compared, *, with_figures: bool) -> Section:
    """Return all that is known of one pair."""
    pair = compared.pair
    blocks: list[Block] = []
    if len(group.compared) > 1:
        blocks.append(verdict_block(compared, group))
        blocks.append(TableBlock("All measures", measures_table(comparison, compared)))
        blocks.append(Paragraph(power_words(comparison, compared)))
    blocks.append(Paragraph(won_words(pair)))
    if with_figures:
        blocks += figures("differences", "comparison", comparison, compared)
    if with_figures and len(group.compared) <= FEW_PAIRS:
        blocks += figures("scatter", "comparison", comparison, compared)
    blocks += rank_blocks(comparison, compared)
    blocks += also_blocks(compared)
    blocks += extremes_blocks(compared)
    blocks += slice_blocks(comparison, compared)
    blocks += movement_blocks(compared)
    blocks += unjudged_blocks(compared)
    return Section(in_group(f"{pair.b} against {pair.a}", group), tuple(blocks))


def rank_blocks(comparison: Comparison, compared: Compared) -> Iterator[Block]:
    """Show where the first relevant doc stands, where that is what the measure is about.

    A mean of reciprocal ranks hides it: from rank 1 to 2 is as far as from rank 2 to never.
    """
    pair = compared.pair
    if pair.measure.partition("@")[0].partition("(")[0] != "RR":
        return
    ids, counted = all_queries(comparison.scores), ~np.isnan(pair.differences)
    counts = []
    for system in (pair.a, pair.b):
        values = column_of(comparison.scores, system, pair.measure, ids)[counted]
        counts.append(band_counts(np.rint(1 / np.where(values > 0, values, math.nan))))
    rows = [[Cell(band), Cell(str(a)), Cell(str(b))] for band, a, b in zip(BANDS, *counts, strict=True)]
    yield TableBlock("Rank of the first relevant doc, in queries", Table(["rank", pair.a, pair.b], rows))


def also_blocks(compared: Compared) -> Iterator[Block]:
    """Show the tests that were asked for beside the one that decides."""
    if compared.also_tested:
        items = [
            f"{test.method}: {p_is(test.p)}" + (f"; {test.caveat}" if test.caveat else "")
            for test in compared.also_tested
        ]
        items.append(f"skewness of the differences: {compared.pair.skew:+.2f}")
        yield Bullets("Other tests, not adjusted, which decide nothing", tuple(items))


def won_words(pair: Pair) -> str:
    """Say who won how many queries."""
    e = pair.effect
    return (
        f"{pair.b} wins {queries(e.wins)}, ties {e.ties} and loses {e.losses} by {pair.measure}; a query drawn at "
        f"random goes to it with a chance of {e.superiority:.0%}, ties counting half."
    )


def extremes_blocks(compared: Compared) -> Iterator[Block]:
    """Name the queries that changed most."""
    for title, changes in (("Largest losses", compared.worst), ("Largest gains", compared.best)):
        if changes:
            yield Bullets(title, tuple(change_words(change) for change in changes))


def change_words(change: QueryChange) -> str:
    """Return one query's change."""
    return f"{change.query}: {change.delta:+.3f} ({change.a:.3f} to {change.b:.3f})"


def slice_blocks(comparison: Comparison, compared: Compared) -> Iterator[Block]:
    """Show the strata asked for, and where else the difference sits."""
    strata = [part for part in compared.slices if part.asked_for]
    if strata:
        yield TableBlock("By stratum (exploratory)", slice_table(comparison, strata))
    few = [f"{part.attribute} {part.value} ({part.pair.n_queries})" for part in strata if part.too_few]
    if few:
        yield Paragraph(f"Too few queries to say anything about: {', '.join(few)}.")
    others = [part for part in compared.slices if not part.asked_for]
    found = [part for part in others if part.stands_out]
    if found:
        yield TableBlock("Where the difference sits", slice_table(comparison, found))
    elif others:
        names = ", ".join(dict.fromkeys(part.attribute for part in others))
        yield Paragraph(
            f"By {names} no part of the queries could be shown to differ from the rest ({len(others)} looked at)."
        )


def slice_table(comparison: Comparison, parts: Sequence[Slice]) -> Table:
    """Return one row per part of the queries."""
    rows = [
        [
            Cell(part.attribute),
            Cell(part.value),
            Cell(str(part.pair.n_queries)),
            number_cell(part.pair.mean_a, None),
            number_cell(part.pair.mean_b, None),
            Cell(signed(part.pair.delta, part.pair), raw=repr(part.pair.delta)),
            Cell(interval_text(part.pair) if part.pair.n_queries > 1 else "-"),
            Cell(p_text(part.pair.p.adjusted, comparison.settings.alpha)),
            Cell(f"{part.pair.effect.wins} / {part.pair.effect.ties} / {part.pair.effect.losses}"),
            Cell("differs from the rest" if part.stands_out else ""),
        ]
        for part in parts
    ]
    first = parts[0].pair
    share = f"{comparison.settings.false_discoveries:.0%}"
    note = (
        f"exploratory: each interval is one of its own; p with false discoveries controlled at {share} over all pairs, "
        "strata and measures (Benjamini-Hochberg); “differs from the rest” is a test against all other queries, "
        "controlled likewise"
    )
    level = f"{first.ci.level * 100:.4g}% CI"
    header = ["by", "value", "n", first.a, first.b, "Δ", level, "p (adj.)", "W / T / L", ""]
    return Table(header, rows, n_name_columns=2, notes=(note,))


def movement_blocks(compared: Compared) -> Iterator[Block]:
    """Show what the difference is made of: by what became of docs, by rank, and doc by doc where most moved."""
    if compared.movement is None:
        return
    yield TableBlock("Why it moved", kinds_table(compared, compared.movement))
    yield TableBlock("Where in the ranking the scores come from", ranks_table(compared.pair, compared.movement))
    if compared.movement.queries:
        yield TableBlock("Docs that moved, in the queries that moved most", moves_table(compared.movement), folded=True)


def kinds_table(compared: Compared, movement: Movement) -> Table:
    """Return what each kind of moved docs contributes."""
    rows = [
        [Cell(name), Cell(str(part.n_docs)), Cell(f"{part.mean:+.4f}", raw=repr(part.mean))]
        for name, part in movement.by_class.items()
        if part.n_docs
    ]
    unjudged = f"{movement.n_unjudged_a} before, {movement.n_unjudged_b} now"
    rows.append([Cell("unjudged"), Cell(unjudged), Cell("+0.0000", raw="0.0")])
    rows.append([Cell("together"), Cell(""), Cell(f"{movement.difference:+.4f}", raw=repr(movement.difference))])
    note = (
        "docs whose part of the score changed: the part in the one ranking minus the part in the other, as a share of "
        "the mean over queries; the parts add up"
    )
    return Table(["docs that are", "docs", f"part of Δ {compared.pair.measure}"], rows, notes=(note,))


def ranks_table(pair: Pair, movement: Movement) -> Table:
    """Return what the first ranks of both systems contribute to their scores."""
    a, b = (np.pad(values[:SHOWN_RANKS], (0, max(0, SHOWN_RANKS - len(values)))) for values in by_rank(movement))
    rows = [
        [Cell(str(rank)), Cell(f"{x:.4f}", raw=repr(x)), Cell(f"{y:.4f}", raw=repr(y)), Cell(f"{y - x:+.4f}")]
        for rank, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True), 1)
        if x or y
    ]
    deeper = [float(values[SHOWN_RANKS:].sum()) for values in by_rank(movement)]
    if any(deeper):
        rows.append([Cell("below"), *(Cell(f"{x:.4f}") for x in deeper), Cell(f"{deeper[1] - deeper[0]:+.4f}")])
    return Table(["rank", pair.a, pair.b, "Δ"], rows, notes=(f"parts of the mean {pair.measure}",))


def by_rank(movement: Movement) -> tuple[Floats, Floats]:
    """Return what each rank contributes, for both systems."""
    return movement.by_rank_a, movement.by_rank_b


def moves_table(movement: Movement) -> Table:
    """Return the docs that made the difference in the queries that moved most."""
    rows = [
        [
            Cell(query.query_id),
            Cell(doc.doc_id),
            Cell(doc.kind),
            Cell(f"{doc.grade:g}"),
            Cell("-" if doc.rank_a is None else str(doc.rank_a)),
            Cell("-" if doc.rank_b is None else str(doc.rank_b)),
            Cell(f"{doc.change:+.4f}", raw=repr(doc.change)),
        ]
        for query in movement.queries
        for doc in query.docs
    ]
    return Table(["query", "doc", "what became of it", "grade", "rank before", "rank now", "Δ"], rows, n_name_columns=3)


def unjudged_blocks(compared: Compared) -> Iterator[Block]:
    """Show what unjudged docs could change, and which judgments would settle it."""
    bounds, judged = compared.bounds, compared.judged
    if bounds is None or judged is None or min(judged.a, judged.b) >= 1:
        return
    worst, best = (bounds.high, bounds.low) if compared.pair.lower_is_better else (bounds.low, bounds.high)
    among = "the results" if bounds.depth is None else f"the first {bounds.depth} results"
    rows = [
        [Cell("all useless"), Cell(f"{bounds.useless:+.4f}")],
        [Cell("all perfect"), Cell(f"{bounds.perfect:+.4f}")],
        [Cell(f"as bad as can be for {compared.pair.b}"), Cell(f"{worst:+.4f}")],
        [Cell(f"as good as can be for {compared.pair.b}"), Cell(f"{best:+.4f}")],
        *([Cell(name), Cell(f"{value:+.4f}")] for name, value in compared.sensitivity if not math.isnan(value)),
    ]
    note = f"covers unjudged docs among {among} of the two systems; judging other docs could change scores too. " + (
        "The ends can be reached." if bounds.exact else "The ends are safe, but may be too far apart."
    )
    yield TableBlock(f"If the unjudged docs among {among} were …", Table(["unjudged docs", "Δ"], rows, notes=(note,)))
    if compared.settle:
        yield TableBlock(
            f"{len(compared.settle)} judgments that would settle who is ahead, best first",
            settle_table(compared),
            folded=len(compared.settle) > SHOWN_DOCS,
        )


def settle_table(compared: Compared) -> Table:
    """Return the docs to judge."""
    rows = [
        [
            Cell(doc.query_id),
            Cell(doc.doc_id),
            Cell(f"{doc.swing:.4f}", raw=repr(doc.swing)),
            Cell("-" if doc.rank_a is None else str(doc.rank_a)),
            Cell("-" if doc.rank_b is None else str(doc.rank_b)),
        ]
        for doc in compared.settle
    ]
    header = ["query", "doc", "could move Δ by", f"rank in {compared.pair.a}", f"rank in {compared.pair.b}"]
    return Table(header, rows, n_name_columns=2)
