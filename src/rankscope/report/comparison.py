"""The report of a comparison: verdict first, then the estimate, whether to trust it, who won where, then details."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rankscope import records
from rankscope.arrays import Floats
from rankscope.comparison import verdict as wording
from rankscope.comparison.recommendation import ALIKE, OPEN, codes_against, recommend, recommend_in
from rankscope.comparison.records import (
    Code,
    Comparison,
    JudgmentFile,
    LanguageSpread,
    LeaderboardRow,
    PairResult,
    QrelsFile,
    QueryGroup,
)
from rankscope.light import replace
from rankscope.measures.scores import RunScores
from rankscope.printable import counted, digest_words
from rankscope.records import or_nan
from rankscope.report import comparison_pair as parts
from rankscope.report import document as doc
from rankscope.report import repetitions as repeated
from rankscope.report.changed_queries import changed_queries
from rankscope.report.charts import figures
from rankscope.report.diagnosis_section import compared_sections, diagnosed_systems
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
from rankscope.report.words import query_cells, without_empty
from rankscope.stats.family import CORRECTIONS

DETAILED = 8
"""Pairs that get a section of their own on a page; with more of them the tables and the JSON record must do."""
DETAILED_IN_TEXT = 200
FEW_DETAILED = 2
"""More pairs than this stand in the contents below one entry."""
MANY_SYSTEMS = 20
"""With more systems than this, charts of all of them say less than the tables do, and make a page heavy."""
TOO_MANY_ROWS = 300
"""A longer table of pairs is nothing to read, and makes a page heavy; programs find it in the JSON record."""
MOST_REASONS = 60
"""Reasons beside a table of verdicts; of more pairs than this the JSON record has them."""
MANY_REASONS = 8
"""A longer list of them is shown on demand."""
MANY_SCORES = 30_000
"""More scores than this would make a page heavy that nobody reads to the end."""
MOST_QUERIES = 20_000
"""So many queries have a row of their own, for the same reason."""
MANY_ROWS = 60
"""A table of pairs that is longer is folded."""
SHORT_BOARD = 50
"""So many systems of a longer leaderboard are in a short text."""
LONG_FIGURE = 40
TELLING = (" left out", "rests on", "From run to run")
"""Words of cautions that stand beside a table of verdicts."""
MANY_LOOKS = 10
"""From so many comparisons on the same queries on, a reader is warned."""
NOT_DISTINGUISHED = "marked as best: the best mean, and those that the verdicts do not distinguish from it"
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
    first: list[doc.Block] = list(answer_over_groups(comparison))
    sections: list[doc.Section] = []
    for group in comparison.groups:
        first += first_screen(comparison, group, with_figures=with_figures)
        sections += group_sections(comparison, group, with_figures=with_figures, every_pair=every_pair)
    if comparison.languages:
        first.append(spread_block(comparison.languages, comparison.primary))
    return doc.Report(
        title=title_of(comparison),
        first_screen=tuple(first),
        sections=(*sections, specialist_section(comparison)),
        footer=(
            ("seed", str(comparison.settings.seed)),
            *(("qrels", f"{file.path} {digest_words(file.sha256)}") for file in comparison.qrels.files),
            *footer(comparison.scores, command),
        ),
    )


def answer_over_groups(comparison: Comparison) -> Iterator[doc.VerdictBlock]:
    """Yield what to do in each group of queries, where there are several; then each has an answer of its own."""
    if len(comparison.groups) < 2:
        return
    advice = comparison.recommendation or recommend(comparison.groups, comparison.baseline)
    names = f"{len(comparison.groups)} groups by {comparison.isolated_by}"
    subject = f"{comparison.primary} · {len(comparison.systems)} systems · {names}"
    reason = "Each group of queries is compared on its own; the verdicts on them follow, and hold jointly."
    yield doc.VerdictBlock(advice.text, reason, parts.advice_mark(advice), subject)


def title_of(comparison: Comparison) -> str:
    others = [name for name in comparison.systems if name != comparison.baseline]
    what = others[0] if len(others) == 1 else f"{len(others)} systems"
    against = "all pairs" if comparison.baseline is None else f"vs {comparison.baseline} (baseline)"
    return f"{comparison.primary} · {what}{',' if comparison.baseline is None else ''} {against}"


def report_without_scores(comparison: Comparison) -> doc.Report:
    """Return what can be shown of a comparison that was read back: its first screen."""
    first: list[doc.Block] = list(answer_over_groups(comparison))
    first += (block for group in comparison.groups for block in first_screen(comparison, group, with_figures=False))
    if comparison.languages:
        first.append(spread_block(comparison.languages, comparison.primary))
    lacking = "This comparison was read back; with_scores(scores) adds the scores per query, and with them the details."
    files = [("qrels", comparison.qrels.path, comparison.qrels.sha256)]
    files += [("qrels", file.path, file.sha256) for file in comparison.qrels.files]
    files += [(run.name, run.path, run.sha256) for run in comparison.runs]
    return doc.Report(
        title=title_of(comparison),
        first_screen=(*first, doc.Paragraph(lacking)),
        sections=(),
        footer=(
            ("seed", str(comparison.settings.seed)),
            *((name, f"{path} {digest_words(sha256 or '')}") for name, path, sha256 in files if path is not None),
            ("rankscope", comparison.rankscope),
        ),
    )


def first_screen(comparison: Comparison, group: QueryGroup, *, with_figures: bool) -> Iterator[doc.Block]:
    """Yield the answer, what it was measured on, the numbers it rests on, and the picture."""
    if len(group.compared) == 1:
        pair = group.compared[0]
        yield parts.answer_block(comparison, pair, group)
        yield doc.Paragraph(measured_words(comparison, group))
        yield parts.facts_of(comparison, group, pair)
        yield estimates_of(comparison, group)
        yield doc.Signals("Can I trust it?", tuple(signals(comparison, pair)))
        return
    yield leader_block(comparison, group)
    yield doc.Paragraph(measured_words(comparison, group))
    if group.leaderboard:
        yield counts_block(comparison, group)
        yield estimates_of(comparison, group)
    if with_figures and comparison.baseline is None and group is comparison.groups[0]:
        yield from figures("matrix", "comparison", comparison)
    pairs, n_pairs = comparison.pairs_in_order(group), len(group.compared)
    if n_pairs > TOO_MANY_ROWS:
        reference = reference_of(comparison, group) if group.leaderboard else pairs[0].a
        pairs = tuple(pair for pair in pairs if reference in (pair.a, pair.b))
        which = f"the first {TOO_MANY_ROWS} of the {len(pairs):,}" if len(pairs) > TOO_MANY_ROWS else "those"
        pairs = pairs[:TOO_MANY_ROWS]
        stored = "all of them are in the JSON record and the CSV table (-o FILE.csv)"
        yield doc.Paragraph(f"Of {n_pairs:,} verdicts the table has {which} against {reference}; {stored}.")
    table = verdict_table(comparison, group, pairs)
    yield doc.TableBlock(parts.in_group("Verdicts", group), table, folded=len(pairs) > MANY_ROWS)
    if any(part.requested for part in pairs[0].strata or ()):
        yield doc.TableBlock(parts.in_group(f"{comparison.primary} by stratum", group), strata_table(comparison, group))


def measured_words(comparison: Comparison, group: QueryGroup) -> str:
    """Say what the answer rests on: the measure, the queries, and how much of the results is judged."""
    pair, qrels = group.compared[0], comparison.qrels.path
    where = f" of {Path(qrels).name}" if qrels else judgments_words(comparison.qrels)
    asked = queries(len(group.query_ids))
    if len(group.compared) == 1 and pair.n_queries < len(group.query_ids):
        asked = f"{pair.n_queries} of {asked}"
    words = f"Measured by {wording.measure_words(pair)} on {parts.in_group(asked, group)}{where}"
    if comparison.cluster:
        words += f" in {max(each.n_units for each in group.compared)} clusters by {comparison.cluster}"
    if comparison.weights:
        words += f", weighted by {comparison.weights}"
    shares: dict[str, float] = {}
    for each in group.compared:
        if each.judged is not None:
            shares |= {each.a: or_nan(each.judged.a), each.b: or_nan(each.judged.b)}
    known = [share for share in shares.values() if not math.isnan(share)]
    if pair.judged is None or not known:
        return f"{words}. How much of the results is judged is not known here."
    among = "results" if pair.judged.depth is None else f"first {pair.judged.depth} results"
    low, high = f"{min(known):.0%}", f"{max(known):.0%}"
    span = low if low == high else f"{low} to {high}"
    if len(shares) == 2:
        texts = {name: "no results" if math.isnan(share) else f"{share:.0%}" for name, share in shares.items()}
        span = " and ".join(f"{text} ({name})" for name, text in texts.items())
    return f"{words}. Judged of the {among}: {span}."


def judgments_words(qrels: QrelsFile) -> str:
    """Name the files whose judgments were put together, each with what it adds; empty where there is nothing to say."""
    if not qrels.files:
        return ""
    first, *others = qrels.files
    added = [f"{file.n_added:,} added by {Path(file.path).name}{changed_words(file)}" for file in others]
    return f" of {Path(first.path).name} ({counted(first.n_added, 'judgment')}; {', '.join(added)})"


def changed_words(file: JudgmentFile) -> str:
    return f", which changes {counted(file.n_changed, 'grade')}" if file.n_changed else ""


def reason_lines(comparison: Comparison, group: QueryGroup) -> Iterator[str]:
    """Yield what the table of verdicts cannot show: what unjudged docs do to them, and what is left out."""
    said = []
    for item in comparison.pairs_in_order(group):
        verdict, words = item.final_verdict, []
        if verdict.because == "unjudged" or verdict.code == "not_comparable":
            words.append(f"{verdict.text} {verdict.reason}")
        if verdict.code == "too_few":
            words.append(wording.small_set_words(item))
        words += [caution for caution in verdict.cautions if any(each in caution for each in TELLING)]
        if item.unjudged is not None and item.unjudged.strength == "cautious":
            words += wording.unjudged_words(verdict.code, item)
        words += parts.missing_words(item, comparison.texts)
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
    advice = group.recommendation or recommend_in(group, comparison.baseline)
    n_systems = len(group.leaderboard) or len(comparison.systems)
    subject = f"{comparison.primary} · {n_systems} systems · {parts.in_group(queries(len(group.query_ids)), group)}"
    reason = "No query has a score."
    if group.leaderboard:
        reason = f"{ahead_words(comparison, group)}. {advice.more}".rstrip()
        if comparison.baseline is not None and len(group.compared) > 1:
            reason += (
                f" Each is compared with {comparison.baseline}, not with the others; comparing all pairs does that."
            )
    return doc.VerdictBlock(advice.text, reason, parts.advice_mark(advice), subject)


def ahead_words(comparison: Comparison, group: QueryGroup) -> str:
    """Say who has the best mean, or that nobody can be said to, as the means are not over the same queries."""
    board, top = group.leaderboard, group.leaderboard[0]
    if not group.is_over_same_queries:
        return f"There is {no_best_words([comparison.primary])}"
    if len({place.mean for place in board}) == 1:
        return f"All {len(board)} systems have the same mean {comparison.primary}: {top.mean:.3f}"
    interval = f" ({top.ci.level * 100:.4g}% CI {top.ci.low:.3f} to {top.ci.high:.3f})" if top.ci else ""
    words = f"{leaders_of(board)} the best mean {comparison.primary}: {top.mean:.3f}{interval}"
    own = next((place.mean for place in board if place.system == comparison.baseline), None)
    if own is not None and own != top.mean:
        words += f"; {comparison.baseline}, the baseline, has {own:.3f}"
    return words


def leaders_of(board: Sequence[LeaderboardRow]) -> str:
    """Name the systems whose mean no other one exceeds."""
    names = [place.system for place in board if place.mean == board[0].mean]
    if len(names) == 1:
        return f"{names[0]} has"
    return f"{', '.join(names[:-1])} and {names[-1]} share" if len(names) <= 5 else f"{len(names)} systems share"


def reference_of(comparison: Comparison, group: QueryGroup) -> str:
    """Return the system that the others are shown against: the baseline, else the one with the best mean."""
    return comparison.baseline or group.leaderboard[0].system


def pairs_with(reference: str, comparison: Comparison, group: QueryGroup) -> Iterator[tuple[str, PairResult, Code]]:
    """Yield each other system with its pair and the verdict on it against the reference, in the order of the report."""
    pair_of = {}
    for pair in group.compared:
        if reference in (pair.a, pair.b):
            pair_of[pair.b if pair.a == reference else pair.a] = pair
    for name in comparison.systems_in_order(group):
        if name in pair_of:
            pair = pair_of[name]
            code = pair.final_verdict.code
            yield name, pair, code if pair.b == name else wording.TURNED.get(code, code)


def counts_block(comparison: Comparison, group: QueryGroup) -> doc.VerdictCounts:
    """Return how many systems have which verdict against the baseline, or the one with the best mean."""
    reference = reference_of(comparison, group)
    found: dict[str, tuple[Code, list[str]]] = {}
    for name, pair, code in pairs_with(reference, comparison, group):
        found.setdefault(wording.short_words(code, pair), (code, []))[1].append(name)
    order = list(wording.WORDS)
    groups = sorted(found.items(), key=lambda item: order.index(item[1][0]))
    role = "the baseline" if comparison.baseline else "which has the best mean"
    return doc.VerdictCounts(
        parts.in_group(f"Against {reference}, {role}", group),
        tuple(doc.VerdictCount(parts.VERDICT_MARKS[code], words, tuple(names)) for words, (code, names) in groups),
    )


def estimates_of(comparison: Comparison, group: QueryGroup) -> doc.Estimates:
    """Return the differences from the baseline, or from the system with the best mean, in the order of the report."""
    first = group.compared[0]
    level = wording.level_words(first).replace("CI", "interval" if len(group.compared) == 1 else "intervals")
    if len(group.compared) == 1:
        name = first.b if comparison.baseline else f"{first.b} - {first.a}"
        against = f" from {comparison.baseline}" if comparison.baseline else ""
        code, digits = first.final_verdict.code, wording.decimals(first)
        rows = [estimate_of(name, first, code, digits)] if first.delta is not None else []
    else:
        reference = reference_of(comparison, group)
        against = f" from {reference}"
        known = [row for row in pairs_with(reference, comparison, group) if row[1].delta is not None]
        digits = parts.column_digits(pair for _, pair, _ in known[:LONG_FIGURE])
        rows = [estimate_of(name, pair, code, digits, turned=pair.a == name) for name, pair, code in known]
        rows = with_reference(rows, reference, comparison, group)
    title = f"Difference{against} in {comparison.primary}, with {'its ' * (len(group.compared) == 1)}{level}"
    if len(rows) > LONG_FIGURE:
        title += f"; the first {LONG_FIGURE} of {len(rows)} systems"
    return doc.Estimates(parts.in_group(title, group), tuple(rows[:LONG_FIGURE]), first.margin)


def estimate_of(name: str, pair: PairResult, code: Code, digits: int, *, turned: bool = False) -> doc.Estimate:
    """Return a difference as it is drawn; turned where it is that of the pair's first system."""
    delta, low, high = or_nan(pair.delta), or_nan(pair.ci.low), or_nan(pair.ci.high)
    if turned:
        delta, low, high = -delta, -high, -low
    value, start, end = (wording.with_sign(number, pair, digits) for number in (delta, low, high))
    words, short = f"{value} ({wording.interval_words(pair)})", ""
    if pair.ci.low is not None and pair.standard_error:
        words, short = f"{value} ({wording.level_words(pair)} {start} to {end})", f"{value} [{start}, {end}]"
    mark, verdict = parts.VERDICT_MARKS[code], wording.short_words(code, pair)
    return doc.Estimate(name, delta, low, high, words, mark, verdict, short)


def with_reference(
    rows: list[doc.Estimate], reference: str, comparison: Comparison, group: QueryGroup
) -> list[doc.Estimate]:
    """Return the rows with that of the system itself in its place, which is where zero is."""
    mean = next((place.mean for place in group.leaderboard if place.system == reference), None)
    if mean is None:
        return rows
    role = "baseline" if comparison.baseline else "best mean"
    own = doc.Estimate(reference, None, None, None, f"{mean:.3f}, the {role}", None, role)
    order = comparison.systems_in_order(group)
    return sorted([*rows, own], key=lambda row: order.index(row.name))


def signals(comparison: Comparison, pair: PairResult) -> Iterator[doc.Signal]:
    """Answer, one by one, what a careful reader asks before believing a verdict."""
    worth = min(float(pair.n_units), pair.n_effective)
    enough: doc.Mark = "fine" if worth >= wording.CAUTION_UNITS else "look" if worth >= wording.MIN_UNITS else "fails"
    n_words = f"{queries(pair.n_queries)} {'has' if pair.n_queries == 1 else 'have'} both scores"
    if enough == "fine" and wording.is_lopsided(pair):
        enough = "look"
        n_words += f"; as differences are skewed, {wording.ENOUGH_IF_LOPSIDED} would be enough"
    if pair.clustered:
        n_words += f", in {pair.n_units} clusters, which are what counts"
    if comparison.weights:
        n_words += f"; weighted by {comparison.weights} they are worth {pair.n_effective:.1f}"
    if pair.n_units < wording.MIN_UNITS and pair.differs:
        n_words += f"; a verdict takes at least {wording.MIN_UNITS}"
    yield doc.Signal("Queries", enough if pair.differs else "note", f"{n_words}.")
    if pair.mde.value is not None and pair.n_units >= wording.MIN_UNITS:
        mde, chance = pair.mde.value, f"{comparison.settings.power:.0%}"
        found = f"Differences of {mde:.{wording.decimals(pair)}f} or more are detected with {chance} probability"
        if not pair.margin:
            yield doc.Signal("Sensitivity", "note", f"{found}; no margin says whether that is enough.")
        elif mde <= pair.margin:
            yield doc.Signal("Sensitivity", "fine", f"{found}, which is within {parts.whose_margin(comparison)}.")
        else:
            times = f"{mde / pair.margin:.1f} times {parts.whose_margin(comparison)}"
            yield doc.Signal("Sensitivity", "look", f"{found}: {times}.")
    yield from repeated.run_to_run_signal(pair, parts.whose_margin(comparison))
    yield judged_signal(pair)
    if comparison.look is not None:
        yield look_signal(comparison.look)


def look_signal(look: int) -> doc.Signal:
    """Say how often these queries were compared on: with every look it is easier to find a winner by chance."""
    mark: doc.Mark = "fine" if look == 1 else "note" if look < MANY_LOOKS else "look"
    return doc.Signal("Looks", mark, look_words(look))


def look_words(look: int) -> str:
    if look == 1:
        return "The first comparison on these queries that the store knows of."
    ending = "th" if 10 <= look % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(look % 10, "th")
    words = f"The {look}{ending} comparison on these queries; p-values and intervals do not correct for earlier ones."
    if look < MANY_LOOKS:
        return words
    return f"{words} What wins may have been fitted to them: confirm it on new queries."


def judged_signal(pair: PairResult) -> doc.Signal:
    judged, check = pair.judged, pair.unjudged
    if judged is None:
        return doc.Signal("Judgments", "note", "How much is judged is not known here.")
    among = "results" if judged.depth is None else f"first {judged.depth} results"
    share_a, share_b = or_nan(judged.a), or_nan(judged.b)
    empty = [name for name, share in ((pair.a, share_a), (pair.b, share_b)) if math.isnan(share)]
    if empty:
        return doc.Signal("Judgments", "fails", f"{' and '.join(empty)} returned no docs, so nothing can be judged.")
    words = (
        f"Judged: {share_b:.0%} of {pair.b}'s {among}, {share_a:.0%} of {pair.a}'s, on average over the queries that "
        "each answers."
    )
    if min(share_a, share_b) >= 1:
        return doc.Signal("Judgments", "fine", words)
    if check is None:
        return doc.Signal("Judgments", "note", f"{words} The others count as not relevant.")
    mark, outcome = CHECKED[check.strength]
    if check.strength == "stands":
        outcome = f"{outcome} {wording.turning_words(pair.final_verdict.code, check, pair.bounds)}"
    return doc.Signal("Judgments", mark, f"{words} {outcome}")


def verdict_table(comparison: Comparison, group: QueryGroup, pairs: Sequence[PairResult]) -> Table:
    """Return the verdicts in the order of the report; the baseline has a row in its place."""
    other = [] if comparison.baseline else ["against"]
    pair, best = pairs[0], best_systems(comparison, group)
    level, digits = wording.level_words(pair), parts.column_digits(pairs)
    spreads = repeated.pair_cells(pairs)
    apart = [repeated.RUN_TO_RUN] if spreads[0] else []
    header = ["system", *other, "verdict", comparison.primary, "Δ", level, *apart, "p (adj.)", "d_z", "W / T / L"]
    rows = [
        [
            Cell(c.b),
            *(Cell(c.a) for _ in other),
            Cell(wording.short_words(c.final_verdict.code, c)),
            replace(number_cell(or_nan(c.mean.b), None), best=not other and c.b in best),
            *parts.difference_cells(c, digits, spread=spread),
            *parts.effect_cells(c),
        ]
        for c, spread in zip(pairs, spreads, strict=True)
    ]
    own = next((place for place in group.leaderboard if place.system == comparison.baseline), None)
    if own is not None:
        mean = replace(number_cell(own.mean, None), best=own.system in best)
        rows.append([Cell(own.system), Cell("baseline"), mean, *(Cell("-") for _ in header[3:])])
        place = {name: i for i, name in enumerate(comparison.systems_in_order(group))}
        rows.sort(key=lambda row: place[row[0].text])
    sizes = sorted({c.n_queries for c in pairs})
    n_words = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    if pair.clustered:
        n_words += f" in {max(c.n_units for c in pairs)} clusters"
    family = f"{CORRECTIONS.summary(comparison.correction)}, {counted(pair.p.family_size, 'comparison')}"
    against = f"Δ against {comparison.baseline or 'the other'}, {wording.measure_words(pair)}, {n_words}"
    notes = [f"{against}; verdict, interval and p come from one critical value: {family}", *repeated.pair_notes(pairs)]
    still = sum(not c.differs for c in pairs)
    if still:
        verb = "takes" if still == 1 else "take"
        notes.append(f"{counted(still, 'pair')} without any difference {verb} no part in it")
    few = next((c for c in pairs if c.n_units < wording.MIN_UNITS and c.differs), None)
    if few:
        notes.append(parts.few_units_note(few))
    if not other and len(best) > 1:
        notes.append(NOT_DISTINGUISHED)
    kept = ("verdict", comparison.primary)
    return Table(header, rows, 2 + len(other), notes, optional=("W / T / L", "d_z"), keep=kept)


def best_systems(comparison: Comparison, group: QueryGroup) -> set[str]:
    """Return the systems with the best mean, and those that the verdicts do not distinguish from it.

    Where only a baseline was compared with all others there are verdicts on the best one if it is the baseline itself.
    """
    board = group.leaderboard
    if not board or not group.is_over_same_queries:
        return set()
    best = {place.system for place in board if place.mean == board[0].mean}
    if len(best) == len(board):
        return set()
    if comparison.baseline in (None, board[0].system):
        codes = codes_against(board[0].system, group)
        best |= {name for name, code in codes.items() if code in (*OPEN, *ALIKE)}
    return best


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
    systems = comparison.systems_in_order(group)
    rows = []
    for place, of_system in means.items():
        known = [value for value in of_system.values() if not math.isnan(value)]
        best = better(known) if len(set(known)) > 1 else None
        cells = [number_cell(of_system.get(name, math.nan), best) for name in systems]
        rows.append([Cell(place[0]), Cell(place[1]), Cell(str(sizes[place])), *cells])
    few = [" ".join(place) for place, n in sizes.items() if n < wording.MIN_UNITS]
    notes = (
        "exploratory; the sections on pairs hold intervals and tests",
        *(f"too few queries: {name}" for name in few),
    )
    return Table(["by", "value", "n", *systems], rows, n_name_columns=2, notes=notes)


def group_sections(
    comparison: Comparison, group: QueryGroup, *, with_figures: bool, every_pair: bool
) -> Iterator[doc.Section]:
    """Yield the details: of one pair in sections of their own, of many in one section a pair, opened on demand."""
    pairs = comparison.pairs_in_order(group)
    details: list[doc.Section] = []
    if len(pairs) == 1:
        first, *details = parts.pair_sections(comparison, group, pairs[0], with_figures=with_figures)
        yield first
    elif comparison.baseline is not None and with_figures and every_pair:
        yield from changed_section(comparison, group, pairs)
    if every_pair:  # it takes a look at the docs, which a short text does without
        yield from compared_sections(comparison, group)
    yield from details
    reasons = tuple(reason_lines(comparison, group))
    if reasons and len(pairs) > 1:
        title = parts.in_group("Notes on the verdicts", group)
        yield doc.Section(title, (doc.Bullets("", reasons),), folded=len(reasons) > MANY_REASONS)
    title = "Leaderboard" if comparison.baseline is None else "Means"
    is_short = not every_pair and len(group.leaderboard) > MANY_ROWS
    board = leaderboard_table(comparison, group, most=SHORT_BOARD if is_short else None)
    blocks: list[doc.Block] = [doc.TableBlock(title, board)]
    if not comparison.isolated_by:
        many = len(comparison.systems) > MANY_ROWS
        blocks.append(doc.TableBlock("All measures", means_table(comparison, group), folded=many))
        if with_figures and 2 < len(comparison.systems) <= MANY_SYSTEMS:
            for kind in ("systems", "distribution"):
                blocks += figures(kind, "comparison", comparison)
    yield doc.Section(parts.in_group("Systems", group), tuple(blocks), folded=len(pairs) == 1)
    if len(pairs) > 1:
        yield from sections_of_pairs(comparison, group, pairs, with_figures=with_figures, every_pair=every_pair)
    yield every_query_section(comparison, group, with_rows=every_pair)


def changed_section(comparison: Comparison, group: QueryGroup, pairs: Sequence[PairResult]) -> Iterator[doc.Section]:
    """Yield the queries that the best challenger changes most; both rankings of each are in the section on the pair."""
    challenger = diagnosed_systems(comparison, group)[-1]
    pair = next((pair for pair in pairs if pair.b == challenger), None)
    if pair is None:
        return
    blocks = [
        records.replace(block, queries=tuple(records.replace(one, sides=None) for one in block.queries), note="")
        for block in changed_queries(comparison, pair)
        if not block.folded
    ]
    if blocks:
        title = parts.in_group(f"{pair.b} against {pair.a}", group)
        below = f"Both rankings of each query are further down, in “{title}”."
        where = below if pair in pairs[:DETAILED] else ""
        title = parts.in_group(f"Queries that changed, {pair.b} vs {pair.a}", group)
        yield doc.Section(title, tuple(blocks), intro=where)


def sections_of_pairs(
    comparison: Comparison, group: QueryGroup, pairs: Sequence[PairResult], *, with_figures: bool, every_pair: bool
) -> Iterator[doc.Section]:
    """Yield a section for each of the best pairs, and say where the others are."""
    most = DETAILED if with_figures else DETAILED_IN_TEXT
    detailed = pairs[: most if every_pair else 0]
    within = parts.in_group("Pairs, the best first", group) if len(detailed) > FEW_DETAILED else ""
    for pair in detailed:
        yield parts.pair_section(comparison, group, pair, with_figures=with_figures, within=within)
    if len(pairs) > len(detailed):
        n = len(pairs) - len(detailed)
        left = f"{n:,} more pair{'s' * (n > 1)}" if detailed else counted(n, "pair")
        where = f"{left} {'is' if n == 1 else 'are'} in the tables above, and in full in the JSON record"
        if len(pairs) > TOO_MANY_ROWS:
            where = f"{left} are in full in the JSON record, and as a row each in the CSV table"
        them = "them" if len(pairs) <= most else f"the first {most}"
        words = doc.Paragraph(f"{where}{'' if every_pair else f'; --details prints {them} here'}.")
        yield doc.Section(parts.in_group("Other pairs" if detailed else "Pairs", group), (words,))


def every_query_section(comparison: Comparison, group: QueryGroup, *, with_rows: bool = True) -> doc.Section:
    """Return the scores of every query; of very many systems those of the best and the baseline, and the spread.

    Where the section is only named, it needs no rows: those of many queries would take more than all else.
    """
    names = comparison.systems_in_order(group)
    values = {name: scores_on(group, comparison.scores[name], comparison.primary) for name in names}
    intro = ""
    if len(names) * len(group.query_ids) > MANY_SCORES:
        shown = list(dict.fromkeys([names[0], reference_of(comparison, group) if group.leaderboard else names[0]]))
        values = {**{name: values[name] for name in shown}, **spread_of(list(values.values()))}
        intro = (
            f"Of {len(names)} systems these are {' and '.join(shown)}, and how far all of them spread; evaluate "
            "--per-query writes the scores of every system."
        )
    if len(group.query_ids) > MOST_QUERIES:
        intro += f"{' ' * bool(intro)}Of {len(group.query_ids):,} queries these are the first {MOST_QUERIES:,}; "
        intro += "evaluate --per-query writes the scores of every query."
    listed = group.query_ids[: MOST_QUERIES if with_rows else 0]
    columns = [column[: len(listed)].tolist() for column in values.values()]
    rows = [
        [*query_cells(query, comparison.texts.query(query)), *(number_cell(score, None) for score in scores)]
        for query, scores in zip(listed, zip(*columns, strict=True), strict=True)
    ]
    title = parts.in_group(f"{comparison.primary} of every query", group)
    scored = without_empty(Table(["query", "id", *values], rows, n_name_columns=2), "id")
    table = doc.TableBlock(title, scored, folded=True)
    return doc.Section(parts.in_group("Every query", group), (table,), intro)


def spread_of(columns: Sequence[Floats]) -> dict[str, Floats]:
    """Return, query by query, how far the scores of all systems spread."""
    stacked = np.column_stack(columns)
    known = ~np.isnan(stacked).all(axis=1)
    spread = {}
    for name, of in (("lowest", np.nanmin), ("median", np.nanmedian), ("highest", np.nanmax)):
        spread[f"{name} of all"] = np.full(len(stacked), math.nan)
        spread[f"{name} of all"][known] = of(stacked[known], axis=1)
    return spread


def scores_on(group: QueryGroup, run: RunScores, measure: str) -> Floats:
    """Return what a run scores on every query of a group; NaN where there is none."""
    if run.query_ids == group.query_ids:
        return run.column(measure)
    scores = dict(zip(run.query_ids, run.column(measure).tolist(), strict=True))
    return np.array([scores.get(query, math.nan) for query in group.query_ids])


def leaderboard_table(comparison: Comparison, group: QueryGroup, *, most: int | None = None) -> Table:
    """Return the systems, best mean first, or the first of them; with ranks and marks by the verdicts on all pairs."""
    board = group.leaderboard
    by_verdict, best = comparison.baseline is None, best_systems(comparison, group)
    numbered = by_verdict and len(board) <= MANY_SYSTEMS
    place_of = {place.system: i for i, place in enumerate(board, 1)}
    rows = []
    for i, place in enumerate(board[:most], 1):
        marks = sorted(place_of[name] for name in place.beats) if numbered else []
        rank = [Cell("-" if place.rank is None else str(place.rank))] if by_verdict else []
        interval = "-" if place.ci is None else f"[{place.ci.low:.4f}, {place.ci.high:.4f}]"
        rows.append(
            [
                *rank,
                Cell(f"{i} {place.system}" if numbered else place.system),
                Cell(doc.marked(f"{place.mean:.4f}", marks), raw=repr(place.mean), best=place.system in best),
                Cell(interval),
                Cell(str(place.n_queries)),
            ]
        )
    level = f"{(1 - comparison.settings.alpha) * 100:.4g}% CI"
    header = [*(["rank"] if by_verdict else []), "system", comparison.primary, level, "n"]
    notes = ["by mean; which system is better than the baseline is said by the verdicts, not by these intervals"]
    if by_verdict:
        notes = ["rank: 1 + the number of systems that are better, or probably better, by verdict; others tie"]
    if len(best) > 1:
        notes.append(NOT_DISTINGUISHED)
    if numbered:
        notes.append("superscripts: the systems that this one is better, or probably better, than")
    if not group.is_over_same_queries:
        notes.append(no_best_words([comparison.primary]))
    if len(rows) < len(board):
        notes.append(f"the first {len(rows)} of {len(board)} systems; --details prints all of them")
    if any(place.ci is None for place in board[:most]):
        notes.append("-: no interval, as there are too few queries or all of them score the same")
    return Table(header, rows, n_name_columns=len(header) - 3, notes=notes)


def means_table(comparison: Comparison, group: QueryGroup) -> Table:
    """Return every system's mean of every measure; other tools' scores have no policies to tell of."""
    scores = comparison.scores
    if scores.policies:
        table = summary_table(scores)
    else:
        cells = mean_cells(scores).items()
        rows = [[Cell(name), *(replace(cell, best=False) for cell in row)] for name, row in cells]
        table = Table(["system", *scores.measures], rows, notes=(*evaluation_notes(scores), *mean_notes(scores)))
    row_of = {row[0].text: row for row in table.rows}
    return replace(table, rows=[row_of[name] for name in comparison.systems_in_order(group)])


def spread_block(spreads: Sequence[LanguageSpread], measure: str) -> doc.TableBlock:
    languages = list(spreads[0].by_language)
    rows = [
        [
            Cell(spread.system),
            *(number_cell(or_nan(value), None) for value in spread.by_language.values()),
            number_cell(or_nan(spread.mean), None),
            range_cell(spread),
        ]
        for spread in spreads
    ]
    note = f"languages are not pooled here: the mean is that of the {len(languages)} means, each counting the same"
    table = Table(["system", *languages, "mean", "lowest to highest"], rows, notes=(note,), keep=("mean",))
    return doc.TableBlock(f"{measure} across languages", table)


def range_cell(spread: LanguageSpread) -> Cell:
    """Return how far the languages lie apart, as people read it: the lowest and the highest, with their languages."""
    known = sorted((value, language) for language, value in spread.by_language.items() if value is not None)
    if not known:
        return Cell("-")
    (low, lowest), (high, highest) = known[0], known[-1]
    return Cell(f"{low:.3f} ({lowest}) to {high:.3f} ({highest})", raw=repr(high - low))


def specialist_section(comparison: Comparison) -> doc.Section:
    """Return what only those ask for who want to know how it was computed, shown on demand."""
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
        items.append("All groups of this comparison are one family: their verdicts hold jointly.")
    blocks: list[doc.Block] = [doc.Bullets("How this was computed", (*items, *comparison.notes))]
    for group in comparison.groups:
        if len(group.compared) == 1:
            pair = group.compared[0]
            blocks.append(doc.Paragraph(parts.power_words(comparison, pair)))
            blocks += parts.other_tests(pair)
    return doc.Section("For the specialist", tuple(blocks), folded=True)
