"""The report of a comparison: verdict first, then the estimate, whether to trust it, who won where, then details."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rankscope.comparison import verdict as wording
from rankscope.comparison.records import Comparison, LanguageSpread, LeaderboardRow, PairResult, QueryGroup
from rankscope.light import replace
from rankscope.measures.scores import Scores
from rankscope.printable import counted
from rankscope.records import or_nan
from rankscope.report import comparison_pair as parts
from rankscope.report import document as doc
from rankscope.report.charts import figures
from rankscope.report.evaluation import (
    footer,
    mean_cells,
    mean_notes,
    no_best_words,
    number_cell,
    queries,
    summary_table,
)
from rankscope.report.evaluation import notes as evaluation_notes
from rankscope.report.table import Cell, Table
from rankscope.stats.family import CORRECTIONS

DETAILED = 8
"""Pairs that get a section of their own on a page; with more of them the tables and the JSON record must do."""
DETAILED_IN_TEXT = 200
MANY_SYSTEMS = 20
"""With more systems than this, charts of all of them say less than the tables do, and make a page heavy."""
TOO_MANY_ROWS = 1_500
"""A longer table of pairs is nothing to read; programs find it in the JSON record."""
MOST_REASONS = 60
"""Reasons beside a table of verdicts; of more pairs than this the JSON record has them."""
MANY_ROWS = 60
"""A table of pairs that is longer is folded."""
LONG_FIGURE = 40
WAYS = {
    "probably better than": ("probably_better",),
    "not told apart from": ("cannot_tell", "too_few"),
    "equal in every score to": ("identical",),
    "practically the same as": ("same",),
    "not safe to call against": ("not_safe",),
    "not comparable with": ("not_comparable",),
    "worse than": ("worse", "probably_worse"),
}
"""How the leader stands to others, by the verdicts on it against them."""
CHECKED: dict[str, tuple[doc.Mark, str]] = {
    "stands": ("fine", "The verdict would survive relevant docs among the others."),
    "cautious": ("look", "The verdict would not survive unusually many relevant docs among the others."),
    "not_safe": ("fails", "A common share of relevant docs among the others would change it."),
}
"""What unjudged docs could do to a verdict."""


def report_of(
    comparison: Comparison, *, command: str = "", with_figures: bool = True, every_pair: bool = True
) -> doc.Report:
    """Return the report; without figures where the medium shows none, and without a section per pair where asked."""
    first: list[doc.Block] = []
    sections: list[doc.Section] = []
    for group in comparison.groups:
        first += first_screen(comparison, group)
        sections += group_sections(comparison, group, with_figures=with_figures, every_pair=every_pair)
    if comparison.languages:
        first.append(spread_block(comparison.languages, comparison.primary))
    return doc.Report(
        title=title_of(comparison),
        first_screen=tuple(first),
        sections=(*sections, method_section(comparison)),
        footer=(("seed", str(comparison.settings.seed)), *footer(comparison.scores, command)),
    )


def title_of(comparison: Comparison) -> str:
    others = [name for name in comparison.systems if name != comparison.baseline]
    what = others[0] if len(others) == 1 else f"{len(others)} systems"
    against = "each with each" if comparison.baseline is None else f"vs {comparison.baseline} (baseline)"
    return f"{comparison.primary} · {what}{',' if comparison.baseline is None else ''} {against}"


def report_without_scores(comparison: Comparison) -> doc.Report:
    """Return what can be shown of a comparison that was read back: its first screen."""
    first = [block for group in comparison.groups for block in first_screen(comparison, group)]
    if comparison.languages:
        first.append(spread_block(comparison.languages, comparison.primary))
    lacking = "This comparison was read back; with_scores(scores) adds the scores per query, and with them the details."
    files = [("qrels", comparison.qrels.path, comparison.qrels.sha256)]
    files += [(run.name, run.path, run.sha256) for run in comparison.runs]
    return doc.Report(
        title=title_of(comparison),
        first_screen=(*first, doc.Paragraph(lacking)),
        sections=(),
        footer=(
            ("seed", str(comparison.settings.seed)),
            *((name, f"{path} sha256:{sha256}") for name, path, sha256 in files if path is not None),
            ("rankscope", comparison.rankscope),
        ),
    )


def first_screen(comparison: Comparison, group: QueryGroup) -> Iterator[doc.Block]:
    if len(group.compared) == 1:
        pair = group.compared[0]
        yield parts.verdict_block(pair, group)
        yield estimates_of(comparison, group)
        yield doc.Signals("Can I trust it?", tuple(signals(comparison, pair)))
        if comparison.has_scores:
            yield doc.TableBlock(parts.in_group("All measures", group), parts.measures_table(comparison, group, pair))
        yield doc.Paragraph(parts.power_words(comparison, pair))
        return
    yield leader_block(comparison, group)
    if len(group.compared) <= LONG_FIGURE:
        yield estimates_of(comparison, group)
    if len(group.compared) > TOO_MANY_ROWS:
        stored = "in the JSON record and the CSV table (-o FILE.csv)"
        yield doc.Paragraph(f"The {len(group.compared):,} verdicts are {stored}.")
        return
    table = verdict_table(comparison, group.compared)
    yield doc.TableBlock(parts.in_group("Verdicts", group), table, folded=len(group.compared) > MANY_ROWS)
    reasons = tuple(reason_lines(group))
    if reasons:
        yield doc.Bullets(parts.in_group("Why, where the interval alone does not say", group), reasons)
    if any(part.requested for part in group.compared[0].strata or ()):
        yield doc.TableBlock(parts.in_group(f"{comparison.primary} by stratum", group), strata_table(comparison, group))


def reason_lines(group: QueryGroup) -> Iterator[str]:
    """Yield what the table of verdicts cannot show: what unjudged docs do to them, and what is left out."""
    said = []
    for item in group.compared:
        verdict, words = item.final_verdict, []
        if verdict.because == "unjudged" or verdict.code == "not_comparable":
            words.append(f"{verdict.text} {verdict.reason}")
        if verdict.code == "too_few":
            words.append(wording.small_set_words(item))
        words += [caution for caution in verdict.cautions if " left out" in caution or "rests on" in caution]
        words += parts.missing_words(item)
        if words:
            said.append(f"{item.b} vs {item.a}: {' '.join(words)}")
    yield from said[:MOST_REASONS]
    if len(said) > MOST_REASONS:
        yield f"{len(said) - MOST_REASONS} more are in the JSON record."
    n_units = max((item.n_units for item in group.compared if item.standard_error), default=0)
    if wording.MIN_UNITS <= n_units < wording.CAUTION_UNITS:
        yield f"Only {n_units} {wording.unit_word(group.compared[0])}: intervals from so few are rough."


def leader_block(comparison: Comparison, group: QueryGroup) -> doc.VerdictBlock:
    """Return the answer where there are many systems, from the verdicts on their pairs and nothing else."""
    board = group.leaderboard
    subject = f"{comparison.primary} · {len(board)} systems · {parts.in_group(queries(len(group.query_ids)), group)}"
    if not board:
        return doc.VerdictBlock("Cannot tell.", "No query has a score.", "unsure", subject)
    top, ahead = board[0], ahead_words(comparison, group)
    if comparison.baseline is not None:
        headline = f"Verdicts against {comparison.baseline}: {verdict_counts(group)}."
        return doc.VerdictBlock(headline, f"{ahead}.", "note", subject)
    if all(item.final_verdict.code in ("same", "identical") and not item.differs for item in group.compared):
        identical = all(item.final_verdict.code == "identical" for item in group.compared)
        headline = "All rankings are identical." if identical else "No query's score differs between any two systems."
        return doc.VerdictBlock(headline, f"{ahead}.", "same", subject)
    n_units = max(item.n_units for item in group.compared)
    if n_units < wording.MIN_UNITS:
        word = wording.unit_word(group.compared[0])
        return doc.VerdictBlock(f"Too few {word} to call (n={n_units}).", f"{ahead}.", "unsure", subject)
    if not group.is_over_same_queries:
        return doc.VerdictBlock(f"Verdicts on all pairs: {verdict_counts(group)}.", f"{ahead}.", "unsure", subject)
    codes = codes_against(top.system, group)
    ways = {way: [name for name, code in codes.items() if code in which] for way, which in WAYS.items()}
    named = [
        f"{way} {', '.join(names[:5])}" + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        for way, names in ways.items()
        if names
    ]
    n_better = sum(code == "better" for code in codes.values())
    leader = "It" if board[1].mean != top.mean else top.system
    reason = f"{ahead}. {leader} is " + ", ".join([*([f"better than {n_better}"] if n_better else []), *named]) + "."
    if n_better == len(codes):
        reason = f"{ahead}, better than each of the others."
        return doc.VerdictBlock(f"{top.system} is the best.", reason, "better", subject)
    if n_better + len(ways["probably better than"]) == len(codes):
        return doc.VerdictBlock(f"{top.system} is probably the best.", reason, "probably_better", subject)
    n_open = len(codes) - n_better - len(ways["probably better than"])
    headline = f"{top.system} leads, but is not shown to be better than {n_open} of {len(codes)} others."
    if board[1].mean == top.mean:
        headline = f"{top.system} and {board[1].system} have the same mean; neither is shown to be better."
    return doc.VerdictBlock(headline, reason, "unsure", subject)


def ahead_words(comparison: Comparison, group: QueryGroup) -> str:
    """Say who has the best mean, or that nobody can be said to, as the means are not over the same queries."""
    board, top = group.leaderboard, group.leaderboard[0]
    if not group.is_over_same_queries:
        return f"There is {no_best_words([comparison.primary])}"
    if len({place.mean for place in board}) == 1:
        return f"All {len(board)} systems have the same mean {comparison.primary}: {top.mean:.3f}"
    interval = f" ({top.ci.level * 100:.4g}% CI {top.ci.low:.3f} to {top.ci.high:.3f})" if top.ci else ""
    return f"{leaders_of(board)} the best mean {comparison.primary}: {top.mean:.3f}{interval}"


def verdict_counts(group: QueryGroup) -> str:
    """Say how often there is each verdict: better (2), cannot tell (1)."""
    order = list(wording.WORDS)
    compared = sorted(group.compared, key=lambda pair: order.index(pair.final_verdict.code))
    found = Counter(wording.short_words(pair.final_verdict.code, pair) for pair in compared)
    return ", ".join(f"{words} ({n})" for words, n in found.items())


def leaders_of(board: Sequence[LeaderboardRow]) -> str:
    """Name the systems whose mean no other one exceeds."""
    names = [place.system for place in board if place.mean == board[0].mean]
    if len(names) == 1:
        return f"{names[0]} has"
    return f"{', '.join(names[:-1])} and {names[-1]} share" if len(names) <= 5 else f"{len(names)} systems share"


def codes_against(system: str, group: QueryGroup) -> dict[str, str]:
    """Return the verdict on a system against each other one, as if it were the challenger."""
    turned = {"better": "worse", "probably_better": "probably_worse"}
    turned |= {after: before for before, after in turned.items()}
    found: dict[str, str] = {}
    for item in group.compared:
        code = item.final_verdict.code
        if code == "same" and not item.differs:
            code = "identical"
        if item.b == system:
            found[item.a] = code
        elif item.a == system:
            found[item.b] = turned.get(code, code)
    return found


def estimates_of(comparison: Comparison, group: QueryGroup) -> doc.Estimates:
    first = group.compared[0]
    marks = f"zero and {parts.whose_margin(comparison)} are marked" if first.margin else "zero is marked"
    level = wording.level_words(first).replace("CI", "interval")
    against = f" from {comparison.baseline}" if comparison.baseline else ""
    return doc.Estimates(
        parts.in_group(f"Difference{against} with its {level}; {marks}", group),
        tuple(
            doc.Estimate(
                c.b if comparison.baseline else f"{c.b} - {c.a}",
                c.delta,
                or_nan(c.ci.low),
                or_nan(c.ci.high),
                f"{wording.with_sign(c.delta, c)} ({wording.interval_words(c)})",
            )
            for c in group.compared
            if c.delta is not None
        ),
        first.margin,
    )


def signals(comparison: Comparison, pair: PairResult) -> Iterator[doc.Signal]:
    """Answer, one by one, what a careful reader asks before believing a verdict."""
    worth = min(float(pair.n_units), pair.n_effective)
    enough: doc.Mark = "fine" if worth >= wording.CAUTION_UNITS else "look" if worth >= wording.MIN_UNITS else "fails"
    n_words = f"{queries(pair.n_queries)} {'has' if pair.n_queries == 1 else 'have'} both scores"
    if pair.clustered:
        n_words += f", in {pair.n_units} clusters, which are what counts"
    if comparison.weights:
        n_words += f"; weighted by {comparison.weights} they are worth {pair.n_effective:.1f}"
    if pair.n_units < wording.MIN_UNITS and pair.differs:
        n_words += f"; a verdict takes at least {wording.MIN_UNITS}"
    yield doc.Signal("Queries", enough if pair.differs else "note", f"{n_words}.")
    if pair.mde.value is not None and pair.n_units >= wording.MIN_UNITS:
        mde, chance = pair.mde.value, f"{comparison.settings.power:.0%}"
        found = f"Differences from {mde:.{wording.decimals(pair)}f} up are found with {chance} chance"
        if not pair.margin:
            yield doc.Signal("Sensitivity", "note", f"{found}; no margin says whether that is enough.")
        elif mde <= pair.margin:
            yield doc.Signal("Sensitivity", "fine", f"{found}, which is within {parts.whose_margin(comparison)}.")
        else:
            times = f"{mde / pair.margin:.1f} times {parts.whose_margin(comparison)}"
            yield doc.Signal("Sensitivity", "look", f"{found}: {times}.")
    yield judged_signal(pair)


def judged_signal(pair: PairResult) -> doc.Signal:
    judged, check = pair.judged, pair.unjudged
    if judged is None:
        return doc.Signal("Judgments", "note", "How much is judged is not known here.")
    among = "results" if judged.depth is None else f"first {judged.depth} results"
    share_a, share_b = or_nan(judged.a), or_nan(judged.b)
    words = (
        f"Judged: {share_b:.0%} of {pair.b}'s {among}, {share_a:.0%} of {pair.a}'s, on average over the queries that "
        "each answers."
    )
    if min(share_a, share_b) >= 1:
        return doc.Signal("Judgments", "fine", words)
    if check is None:
        return doc.Signal("Judgments", "note", f"{words} The others count as not relevant.")
    mark, outcome = CHECKED[check.strength]
    return doc.Signal("Judgments", mark, f"{words} {outcome}")


def verdict_table(comparison: Comparison, pairs: Sequence[PairResult]) -> Table:
    other = [] if comparison.baseline else ["against"]
    pair = pairs[0]
    header = ["system", *other, "verdict", "mean", "Δ", wording.level_words(pair), "p (adj.)", "d_z", "W / T / L"]
    rows = [
        [
            Cell(c.b),
            *(Cell(c.a) for _ in other),
            Cell(wording.short_words(c.final_verdict.code, c)),
            number_cell(or_nan(c.mean.b), None),
            *parts.difference_cells(c, wording.decimals(c)),
            *parts.effect_cells(c),
        ]
        for c in pairs
    ]
    sizes = sorted({c.n_queries for c in pairs})
    n_words = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    if pair.clustered:
        n_words += f" in {max(c.n_units for c in pairs)} clusters"
    family = f"{CORRECTIONS.summary(comparison.correction)}, {counted(pair.p.family_size, 'comparison')}"
    against = f"Δ against {comparison.baseline or 'the other'}, {wording.measure_words(pair)}, {n_words}"
    notes = [f"{against}; verdict, interval and p come from one critical value: {family}"]
    still = sum(not c.differs for c in pairs)
    if still:
        verb = "takes" if still == 1 else "take"
        notes.append(f"{counted(still, 'pair')} without any difference {verb} no part in it")
    few = next((c for c in pairs if c.n_units < wording.MIN_UNITS and c.differs), None)
    if few:
        notes.append(parts.few_units_note(few))
    return Table(header, rows, 2 + len(other), notes, optional=("W / T / L", "d_z", "mean"))


def strata_table(comparison: Comparison, group: QueryGroup) -> Table:
    means: dict[tuple[str, str], dict[str, float]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for pair in group.compared:
        for part in pair.strata or ():
            if part.requested:
                place = part.attribute, part.value
                means.setdefault(place, {})[pair.a] = or_nan(part.mean.a)
                means[place][pair.b] = or_nan(part.mean.b)
                sizes[place] = part.n_queries
    better = min if group.compared[0].lower_is_better else max
    rows = []
    for place, of_system in means.items():
        known = [value for value in of_system.values() if not math.isnan(value)]
        best = better(known) if len(set(known)) > 1 else None
        cells = [number_cell(of_system.get(name, math.nan), best) for name in comparison.systems]
        rows.append([Cell(place[0]), Cell(place[1]), Cell(str(sizes[place])), *cells])
    few = [" ".join(place) for place, n in sizes.items() if n < wording.MIN_UNITS]
    notes = (
        "exploratory; the sections on pairs hold intervals and tests",
        *(f"too few queries: {name}" for name in few),
    )
    return Table(["by", "value", "n", *comparison.systems], rows, n_name_columns=2, notes=notes)


def group_sections(
    comparison: Comparison, group: QueryGroup, *, with_figures: bool, every_pair: bool
) -> Iterator[doc.Section]:
    title = "Leaderboard" if comparison.baseline is None else "Means"
    blocks: list[doc.Block] = [doc.TableBlock(title, leaderboard_table(comparison, group))]
    if not comparison.isolated_by:
        blocks.append(doc.TableBlock("All measures", means_table(comparison.scores)))
        if with_figures and len(comparison.systems) <= MANY_SYSTEMS:
            for kind in ("systems", "distribution"):
                blocks += figures(kind, "comparison", comparison)
    yield doc.Section(parts.in_group("Systems", group), tuple(blocks))
    most = DETAILED if with_figures else DETAILED_IN_TEXT
    top = group.leaderboard[0].system if group.leaderboard else ""
    ordered = sorted(group.compared, key=lambda item: top not in (item.a, item.b))
    detailed = ordered[: most if every_pair or len(ordered) == 1 else 0]
    for pair in detailed:
        yield parts.pair_section(comparison, group, pair, with_figures=with_figures)
    if len(ordered) > len(detailed):
        left = f"{len(ordered) - len(detailed)} more pairs are in the tables above, and in full in the JSON record"
        words = doc.Paragraph(f"{left}{'' if every_pair else '; --details prints them here'}.")
        yield doc.Section(parts.in_group("Other pairs" if detailed else "Pairs", group), (words,))
    columns = {
        name: dict(zip(run.query_ids, run.column(comparison.primary).tolist(), strict=True))
        for name, run in comparison.scores.items()
    }
    rows = [
        [Cell(query), *(number_cell(column.get(query, math.nan), None) for column in columns.values())]
        for query in group.query_ids
    ]
    title = parts.in_group(f"{comparison.primary} of every query", group)
    table = doc.TableBlock(title, Table(["query", *columns], rows), folded=True)
    yield doc.Section(parts.in_group("Every query", group), (table,))


def leaderboard_table(comparison: Comparison, group: QueryGroup) -> Table:
    """Return the systems, best mean first; where all pairs were compared, with ranks and marks by the verdicts."""
    board = group.leaderboard
    by_verdict = comparison.baseline is None
    numbered = by_verdict and len(board) <= MANY_SYSTEMS
    place_of = {place.system: i for i, place in enumerate(board, 1)}
    rows = []
    for i, place in enumerate(board, 1):
        marks = sorted(place_of[name] for name in place.beats) if numbered else []
        rank = [Cell("-" if place.rank is None else str(place.rank))] if by_verdict else []
        interval = "-" if place.ci is None else f"[{place.ci.low:.4f}, {place.ci.high:.4f}]"
        rows.append(
            [
                *rank,
                Cell(f"{i} {place.system}" if numbered else place.system),
                Cell(doc.marked(f"{place.mean:.4f}", marks), raw=repr(place.mean)),
                Cell(interval),
                Cell(str(place.n_queries)),
            ]
        )
    level = f"{(1 - comparison.settings.alpha) * 100:.4g}% CI"
    header = [*(["rank"] if by_verdict else []), "system", comparison.primary, level, "n"]
    notes = ["by mean; which system is better than the baseline is said by the verdicts, not by these intervals"]
    if by_verdict:
        notes = ["rank: 1 + the number of systems that are better, or probably better, by verdict; others tie"]
    if numbered:
        notes.append("superscripts: the systems that this one is better, or probably better, than")
    if not group.is_over_same_queries:
        notes.append(no_best_words([comparison.primary]))
    if any(place.ci is None for place in board):
        notes.append("-: no interval, as there are too few queries or all of them score the same")
    return Table(header, rows, n_name_columns=len(header) - 3, notes=notes)


def means_table(scores: Scores) -> Table:
    """Return every system's mean of every measure; other tools' scores have no policies to tell of."""
    if scores.policies:
        return summary_table(scores)
    rows = [[Cell(name), *(replace(cell, best=False) for cell in cells)] for name, cells in mean_cells(scores).items()]
    return Table(["system", *scores.measures], rows, notes=(*evaluation_notes(scores), *mean_notes(scores)))


def spread_block(spreads: Sequence[LanguageSpread], measure: str) -> doc.TableBlock:
    languages = list(spreads[0].by_language)
    rows = [
        [
            Cell(spread.system),
            *(number_cell(or_nan(value), None) for value in spread.by_language.values()),
            number_cell(or_nan(spread.mean), None),
            Cell(f"{or_nan(spread.variance):.6f}", raw=parts.raw(spread.variance)),
        ]
        for spread in spreads
    ]
    note = (
        f"languages are not pooled here: the mean is that of the {len(languages)} means, each counting the same; "
        "the variance is between them, divided by their number"
    )
    table = Table(["system", *languages, "mean", "variance"], rows, notes=(note,))
    return doc.TableBlock(f"Across languages, {measure}", table)


def method_section(comparison: Comparison) -> doc.Section:
    s = comparison.settings
    flips = max((item.p.n_resamples for item in comparison), default=s.n_resamples)
    unit = "cluster" if comparison.cluster else "query"
    missing = "a query that one of two systems does not answer is left out of their comparison"
    if not comparison.scores.policies:
        missing = "a query for which one of two systems has no score is left out of their comparison"
    if comparison.scores.policies.get("missing") == "zero":
        missing = "a query of the qrels that a system does not answer counts as empty"
    margin = f"{'A margin of 0' if s.margin_given else 'No margin'}: any difference counts."
    if s.margin:
        margin = f"Smallest difference that matters: {parts.whose_margin(comparison)}."
    items = [
        f"Primary measure: {comparison.primary}; the verdict rests on it alone. Others are exploratory.",
        f"Pairing: by query id; {missing}.",
        (
            f"Test: the sign of each {unit}'s difference is flipped, the same for all pairs, {flips:,} times; p = "
            "(1 + flips whose largest t reaches the pair's) / (1 + all flips). The interval is the difference plus or "
            "minus the critical t times its standard error, so p is at most alpha exactly where it excludes 0."
        ),
        f"Correction: {CORRECTIONS.summary(comparison.correction)}.",
        f"Level {(1 - s.alpha) * 100:.4g}%, power {s.power:.0%}. {margin}",
    ]
    if comparison.cluster:
        items.append(f"Evidence is counted in clusters of queries with the same {comparison.cluster}.")
    if comparison.weights:
        items.append(f"Queries are weighted by {comparison.weights}.")
    if comparison.isolated_by:
        items.append("All groups of this comparison are one family: their verdicts hold together.")
    return doc.Section("How this was computed", (doc.Bullets("Method", (*items, *comparison.notes)),))
