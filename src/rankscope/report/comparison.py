"""The report of a comparison: verdict first, then the estimate, whether to trust it, who won where, then details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rankscope._version import __version__
from rankscope.comparing.records import Compared, Comparison, Group, Place, Spread
from rankscope.report import figures
from rankscope.report.comparison_pair import (
    WORDS,
    figure,
    in_group,
    interval_text,
    measures_table,
    p_is,
    p_text,
    pair_section,
    power_words,
    signed,
    verdict_block,
)
from rankscope.report.document import (
    Block,
    Bullets,
    Estimate,
    Estimates,
    Paragraph,
    Report,
    Section,
    Signal,
    Signals,
    TableBlock,
    Tone,
    Verdict,
    marked,
)
from rankscope.report.evaluation import number_cell, queries
from rankscope.report.table import Cell, Table
from rankscope.stats.compare import CORRECTIONS, Pair
from rankscope.stats.verdict import CAUTION_QUERIES, JUDGED_GAP, MIN_QUERIES, decimals

DETAILED = 8
"""Pairs that get a section of their own; with more of them the tables and the JSON record must do."""
MANY_SYSTEMS = 20
"""With more systems than this, charts of all of them say less than the tables do, and make a page heavy."""
TOO_MANY_ROWS = 1_500
"""A longer table of pairs is nothing to read; programs find it in the JSON record."""
MANY_ROWS = 60
"""A table of pairs that is longer is folded."""
LONG_FIGURE = 40


def report_of(
    comparison: Comparison, *, command: str = "", with_figures: bool = True, every_pair: bool = True
) -> Report:
    """Return the report; without figures where the medium shows none, and without a section per pair where asked."""
    first: list[Block] = []
    sections: list[Section] = []
    for group in comparison.groups:
        first += first_screen(comparison, group)
        sections += group_sections(comparison, group, with_figures=with_figures, every_pair=every_pair)
    if comparison.spreads:
        first.append(spread_block(comparison.spreads, comparison.primary))
    return Report(
        title=title_of(comparison),
        first_screen=tuple(first),
        sections=(*sections, method_section(comparison)),
        footer=tuple(footer(comparison, command)),
    )


def title_of(comparison: Comparison) -> str:
    """Return what is compared with what."""
    if comparison.baseline is None:
        return f"{comparison.primary} · {len(comparison.systems)} systems, each with each"
    others = [name for name in comparison.systems if name != comparison.baseline]
    what = others[0] if len(others) == 1 else f"{len(others)} systems"
    return f"{comparison.primary} · {what} vs {comparison.baseline} (baseline)"


def first_screen(comparison: Comparison, group: Group) -> Iterator[Block]:
    """Yield the answer, the estimate, whether to trust it, and the table of measures."""
    if len(group.compared) == 1:
        compared = group.compared[0]
        yield verdict_block(compared, group)
        yield estimates_of(comparison, group)
        yield Signals("Can I trust it?", tuple(signals(compared)))
        yield TableBlock(in_group("All measures", group), measures_table(comparison, compared))
        yield Paragraph(power_words(compared))
        return
    yield leader_block(comparison, group)
    if len(group.compared) <= LONG_FIGURE:
        yield estimates_of(comparison, group)
    if len(group.compared) > TOO_MANY_ROWS:
        yield Paragraph(f"The {len(group.compared):,} verdicts are in the JSON record and the CSV table (-o FILE.csv).")
        return
    table = verdict_table(comparison, group.compared)
    yield TableBlock(in_group("Verdicts", group), table, folded=len(group.compared) > MANY_ROWS)
    if any(part.asked_for for part in group.compared[0].slices):
        yield TableBlock(in_group(f"{comparison.primary} by stratum", group), strata_table(comparison, group))


def leader_block(comparison: Comparison, group: Group) -> Verdict:
    """Return the answer where there are many systems."""
    board = group.leaderboard
    subject = f"{comparison.primary} · {len(board)} systems · {in_group(queries(len(group.query_ids)), group)}"
    if not board:
        return Verdict("Cannot tell.", "No query has a score for every system.", "caution", subject)
    top = board[0]
    ahead = (
        f"{top.system} has the best {comparison.primary}: {top.mean:.3f} (95% CI {top.ci.low:.3f} to {top.ci.high:.3f})"
    )
    if len(group.query_ids) < MIN_QUERIES:
        return Verdict(f"Too few queries to call (n={len(group.query_ids)}).", f"{ahead}.", "caution", subject)
    if comparison.baseline is not None:
        return Verdict(against_baseline(comparison.baseline, group), f"{ahead}.", "neutral", subject)
    tied = [place.system for place in board[1:] if place.rank == 1]
    if not tied:
        return Verdict(f"{top.system} is the best.", f"{ahead}, statistically better than all others.", "good", subject)
    names = ", ".join(tied[:5]) + (", …" if len(tied) > 5 else "")  # noqa: PLR2004 (as examples)
    return Verdict(
        f"{top.system} leads, but cannot be told apart from {len(tied)} of {len(board) - 1} others.",
        f"{ahead}. Not statistically worse: {names}.",
        "caution",
        subject,
    )


def against_baseline(baseline: str, group: Group) -> str:
    """Count the verdicts of several challengers."""
    codes = [compared.verdict.code for compared in group.compared]
    counts = [f"{codes.count(code)} {words}" for code, words in WORDS.items() if code in codes]
    return f"Of {len(codes)} systems against {baseline}: {', '.join(counts)}."


def estimates_of(comparison: Comparison, group: Group) -> Estimates:
    """Return the differences on one axis."""
    return Estimates(
        in_group(f"Difference{against(comparison)} with its 95% interval; zero and your margin are marked", group),
        tuple(
            Estimate(
                c.pair.b if comparison.baseline else f"{c.pair.b} - {c.pair.a}",
                c.pair.delta,
                c.pair.ci.low,
                c.pair.ci.high,
                delta_words(c.pair),
            )
            for c in group.compared
            if not math.isnan(c.pair.delta)
        ),
        group.compared[0].pair.margin,
    )


def against(comparison: Comparison) -> str:
    """Name what is compared with, where it is one system."""
    return f" from {comparison.baseline}" if comparison.baseline else ""


def delta_words(pair: Pair) -> str:
    """Return a difference and its interval."""
    low, high = signed(pair.ci.low, pair), signed(pair.ci.high, pair)
    return f"{signed(pair.delta, pair)} ({pair.ci.level:.0%} CI {low} to {high})"


def signals(compared: Compared) -> Iterator[Signal]:
    """Answer, one by one, what a careful reader asks before believing a verdict."""
    pair = compared.pair
    enough: Tone = (
        "good" if pair.n_queries >= CAUTION_QUERIES else "caution" if pair.n_queries >= MIN_QUERIES else "bad"
    )
    yield Signal("Queries", enough, f"{queries(pair.n_queries)} have both scores.")
    if not math.isnan(pair.mde):
        fine = pair.mde <= max(pair.margin, abs(pair.delta))
        yield Signal(
            "Sensitivity",
            "good" if fine else "caution",
            f"Differences from {pair.mde:.{decimals(pair)}f} up are found with 80% chance; "
            f"your margin is {pair.margin:g}.",
        )
    yield judged_signal(compared)
    alpha = 1 - pair.ci.level
    agree = (pair.p.permutation <= alpha) == (pair.p.t <= alpha)
    yield Signal(
        "Tests",
        "good" if agree else "caution",
        f"Sign flips {p_is(pair.p.permutation)}, paired t {p_is(pair.p.t)}: "
        + ("they agree." if agree else "they do not agree."),
    )
    if pair.ci_check is not None:
        same = (pair.ci_check.low > 0 or pair.ci_check.high < 0) == (pair.ci.low > 0 or pair.ci.high < 0)
        yield Signal(
            "Interval",
            "good" if same else "caution",
            f"The bootstrap (BCa) gives {signed(pair.ci_check.low, pair)} to {signed(pair.ci_check.high, pair)}: "
            + ("the same conclusion." if same else "another conclusion."),
        )


def judged_signal(compared: Compared) -> Signal:
    """Say how much of the results is judged."""
    bounds = compared.bounds
    if compared.judged is None:
        return Signal("Judgments", "neutral", "What unjudged docs could change is not known here.")
    a, b = compared.judged
    words = f"Judged: {b:.0%} of {compared.pair.b}'s results, {a:.0%} of {compared.pair.a}'s. "
    if bounds is None:
        return Signal("Judgments", "neutral", f"{words}The others count as not relevant.")
    if not bounds.cross_zero:
        return Signal("Judgments", "good", words + "No judgment that is missing could turn the difference.")
    gap = abs(bounds.judged_a - bounds.judged_b) > JUDGED_GAP
    tone: Tone = "bad" if compared.verdict.code == "not_safe" or gap else "caution"
    return Signal(
        "Judgments", tone, words + f"Missing ones could make the difference {bounds.low:+.3f} to {bounds.high:+.3f}."
    )


def verdict_table(comparison: Comparison, compared: Sequence[Compared]) -> Table:
    """Return one row per pair."""
    other = [] if comparison.baseline else ["against"]
    header = ["system", *other, "verdict", "mean", "Δ", "95% CI", "p (adj.)", "d_z", "W / T / L"]
    rows = [
        [
            Cell(c.pair.b),
            *(Cell(c.pair.a) for _ in other),
            Cell(WORDS[c.verdict.code]),
            number_cell(c.pair.mean_b, None),
            Cell(signed(c.pair.delta, c.pair), raw=repr(c.pair.delta)),
            Cell(interval_text(c.pair)),
            Cell(p_text(c.pair.p.adjusted)),
            Cell("-" if math.isnan(c.pair.effect.d_z) else f"{c.pair.effect.d_z:.2f}"),
            Cell(f"{c.pair.effect.wins} / {c.pair.effect.ties} / {c.pair.effect.losses}"),
        ]
        for c in compared
    ]
    pair = compared[0].pair
    note = (
        f"Δ against {comparison.baseline or 'the other'}, {pair.measure}, n = {pair.n_queries}; "
        f"p: sign-flip permutation, adjusted over {pair.p.family_size} comparisons; "
        "intervals are plain 95%, verdicts use wider ones that hold together"
    )
    return Table(header, rows, n_name_columns=2 + len(other), notes=(note,))


def strata_table(comparison: Comparison, group: Group) -> Table:
    """Return every system's mean within each stratum, with how many queries there are."""
    means: dict[tuple[str, str], dict[str, float]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for compared in group.compared:
        for part in compared.slices:
            if part.asked_for:
                place = part.attribute, part.value
                means.setdefault(place, {})[part.pair.a] = part.pair.mean_a
                means[place][part.pair.b] = part.pair.mean_b
                sizes[place] = part.pair.n_queries
    better = min if group.compared[0].pair.lower_is_better else max
    rows = []
    for place, of_system in means.items():
        known = [value for value in of_system.values() if not math.isnan(value)]
        best = better(known) if len(set(known)) > 1 else None
        cells = [number_cell(of_system.get(name, math.nan), best) for name in comparison.systems]
        rows.append([Cell(place[0]), Cell(place[1]), Cell(str(sizes[place])), *cells])
    few = [" ".join(place) for place, n in sizes.items() if n < MIN_QUERIES]
    notes = (
        "exploratory; the sections on pairs hold intervals and tests",
        *(f"too few queries: {name}" for name in few),
    )
    return Table(["by", "value", "n", *comparison.systems], rows, n_name_columns=2, notes=notes)


def group_sections(comparison: Comparison, group: Group, *, with_figures: bool, every_pair: bool) -> Iterator[Section]:
    """Yield the sections of one group: the systems, then each pair, then the queries."""
    yield systems_section(comparison, group, with_figures=with_figures)
    detailed = group.compared[: DETAILED if every_pair or len(group.compared) == 1 else 0]
    for compared in detailed:
        yield pair_section(comparison, group, compared, with_figures=with_figures)
    if len(group.compared) > len(detailed) > 0:
        left = f"{len(group.compared) - DETAILED} more pairs are in the tables above, and in full in the JSON record."
        yield Section(in_group("Other pairs", group), (Paragraph(left),))
    yield Section(in_group("Every query", group), (query_block(comparison, group),))


def systems_section(comparison: Comparison, group: Group, *, with_figures: bool) -> Section:
    """Return all systems: the leaderboard, and all measures."""
    blocks: list[Block] = [TableBlock("Leaderboard", leaderboard_table(comparison, group.leaderboard))]
    if not comparison.isolated_by:
        blocks.append(TableBlock("All measures", means_table(comparison)))
        if with_figures and len(comparison.systems) <= MANY_SYSTEMS:
            blocks += [
                figure(figures.systems(comparison.scores)),
                figure(figures.distribution(comparison.scores, comparison.primary)),
            ]
    return Section(in_group("Systems", group), tuple(blocks))


def leaderboard_table(comparison: Comparison, board: Sequence[Place]) -> Table:
    """Return the systems, best first; marks say which ones each is statistically better than."""
    place_of = {place.system: i for i, place in enumerate(board, 1)}
    rows = [
        [
            Cell(str(place.rank)),
            Cell(f"{i} {place.system}"),
            Cell(marked(f"{place.mean:.4f}", sorted(place_of[name] for name in place.beats)), raw=repr(place.mean)),
            Cell(f"[{place.ci.low:.4f}, {place.ci.high:.4f}]"),
            Cell(str(place.n_queries)),
        ]
        for i, place in enumerate(board, 1)
    ]
    notes = (
        "rank: 1 + the number of systems that are statistically better, so that those which cannot be told apart tie",
        (
            "superscripts: the systems that this one is statistically better than, by Tukey's test of all pairs (5%); "
            "it is stricter than verdicts against one baseline"
        ),
    )
    return Table(["rank", "system", comparison.primary, "95% CI", "n"], rows, n_name_columns=2, notes=notes)


def means_table(comparison: Comparison) -> Table:
    """Return every system's mean of every measure."""
    from rankscope.report.evaluation import summary_table

    return summary_table(comparison.scores) if comparison.scores.policies else plain_means(comparison)


def plain_means(comparison: Comparison) -> Table:
    """Return the means of scores that another tool computed."""
    summary = comparison.scores.mean()
    measures = comparison.scores.measures
    rows = [[Cell(name), *(number_cell(summary[name][m].value, None) for m in measures)] for name in comparison.scores]
    return Table(["system", *measures], rows, notes=(f"{comparison.scores.qrels.n_queries} queries; scores as given",))


def query_block(comparison: Comparison, group: Group) -> TableBlock:
    """Return every query's score by the primary measure, for every system."""
    inside = set(group.query_ids)
    columns = {
        name: dict(zip(run.query_ids, run.column(comparison.primary).tolist(), strict=True))
        for name, run in comparison.scores.items()
    }
    rows = [
        [Cell(query), *(number_cell(column.get(query, math.nan), None) for column in columns.values())]
        for query in group.query_ids
        if query in inside
    ]
    title = f"{comparison.primary} of every query"
    return TableBlock(in_group(title, group), Table(["query", *columns], rows), folded=True)


def spread_block(spreads: Sequence[Spread], measure: str) -> TableBlock:
    """Return each system's score per language, their mean and variance."""
    languages = [name for name, _ in spreads[0].by_language]
    rows = [
        [
            Cell(spread.system),
            *(number_cell(value, None) for _, value in spread.by_language),
            number_cell(spread.mean, None),
            Cell(f"{spread.variance:.6f}", raw=repr(spread.variance)),
        ]
        for spread in spreads
    ]
    note = (
        f"languages are never pooled: the mean is that of the {len(languages)} means, each counting the same; "
        "the variance is between them, divided by their number"
    )
    return TableBlock(
        f"Across languages, {measure}", Table(["system", *languages, "mean", "variance"], rows, notes=(note,))
    )


def method_section(comparison: Comparison) -> Section:
    """Say how everything was computed."""
    s = comparison.settings
    items = (
        f"Primary measure: {comparison.primary}; the verdict rests on it alone. Others are exploratory.",
        "Pairing: by query id over the queries of the qrels; a query that a system does not answer counts as empty.",
        (
            f"Test: two-sided sign-flip permutation of the mean difference, B = {s.n_resamples:,}, "
            "p = (b + 1) / (B + 1), exact where all sign patterns can be tried, more where p is too near alpha to tell."
        ),
        "Intervals: Student's t of the differences; verdicts use simultaneous ones.",
        f"Correction: {CORRECTIONS[comparison.correction]}.",
        f"Smallest difference that matters (margin): {s.margin:g}. Level {1 - s.alpha:.0%}, power {s.power:.0%}.",
        *comparison.notes,
    )
    return Section("How this was computed", (Bullets("Method", items),))


def footer(comparison: Comparison, command: str) -> Iterator[tuple[str, str]]:
    """Yield what is needed to obtain the report again."""
    scores = comparison.scores
    yield "seed", str(comparison.settings.seed)
    if scores.qrels.origin is not None:
        yield "qrels", f"{scores.qrels.origin.path} sha256:{scores.qrels.origin.sha256}"
    for run in scores.values():
        if run.origin is not None:
            yield run.name, f"{run.origin.path} sha256:{run.origin.sha256}"
    if scores.policies:
        yield "policies", ", ".join(f"{name}={value}" for name, value in scores.policies.items() if value is not None)
    yield "rankscope", __version__
    if command:
        yield "command", command
