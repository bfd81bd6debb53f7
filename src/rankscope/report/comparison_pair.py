"""One pair of systems in a report: its verdict, all measures, who won where, why it moved, what is unjudged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from rankscope.analysis.movement import MovedDoc
from rankscope.analysis.overview import RANK_BANDS, count_by_band
from rankscope.analysis.unjudged import DocToJudge
from rankscope.comparison.known_measures import known_measure
from rankscope.comparison.recommendation import WORSE, recommend_in
from rankscope.comparison.records import Code, Comparison, PairResult, QueryGroup, Recommendation, Stratum
from rankscope.comparison.verdict import (
    MIN_UNITS,
    VerdictContext,
    about,
    decimals,
    few_differ_words,
    finds_nothing_words,
    interval_words,
    measure_words,
    reason,
    unit_word,
    unjudged_words,
    with_sign,
)
from rankscope.data.texts import Texts, beginning
from rankscope.printable import counted
from rankscope.records import or_nan, replace
from rankscope.report.changed_queries import changed_queries
from rankscope.report.charts import figures
from rankscope.report.charts.sources import pair_scores
from rankscope.report.document import (
    Block,
    Bullets,
    Fact,
    Facts,
    Mark,
    Paragraph,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.evaluation import number_cell, queries
from rankscope.report.repetitions import (
    RUN_TO_RUN,
    first_run_words,
    pair_cells,
    pair_notes,
    run_to_run_fact,
    varies,
)
from rankscope.report.table import Cell, Table
from rankscope.report.words import doc_cells, query_cells, without_empty
from rankscope.stats.family import CORRECTIONS

VERDICT_MARKS: dict[Code, Mark] = {
    "better": "better",
    "probably_better": "probably_better",
    "worse": "worse",
    "probably_worse": "probably_worse",
    "same": "same",
    "identical": "same",
    "cannot_tell": "unsure",
    "not_safe": "unsafe",
    "too_few": "unsure",
    "not_comparable": "fails",
}
FEW_PAIRS = 6
"""With more pairs than this, a page has no room for a point per query and pair."""
NOTHING_FOUND = ("nDCG", "DCG", "P", "R", "RR", "AP", "Success", "ERR")
"""Measures whose score at a depth is 0 exactly where nothing useful stands above it."""
SHOWN_RANKS = 10
NO_TEXTS = Texts()
SHORT_QUERY = 40
"""So much of a query's text is quoted within a sentence."""
SHOWN_DOCS = 20
"""So many docs to judge are listed."""


def advice_mark(advice: Recommendation) -> Mark:
    """Return the mark of what to do: that a baseline is kept because the others are worse is no bad news."""
    return "fine" if advice.action == "keep" and advice.code in WORSE else VERDICT_MARKS[advice.code]


def in_group(title: str, group: QueryGroup) -> str:
    """Return a title that names the group, where there are several."""
    return f"{title}, {group.name}" if group.name else title


def answer_block(comparison: Comparison, pair: PairResult, group: QueryGroup) -> VerdictBlock:
    """Return what to do with two systems: the recommendation, then the evidence for it that it does not hold itself."""
    advice = group.recommendation or recommend_in(group, comparison.baseline)
    block, verdict = verdict_block(pair, group, comparison.texts), pair.final_verdict
    if verdict.code != "not_comparable":
        known = VerdictContext(margin_given=comparison.settings.margin_given)
        evidence = reason(verdict.code, verdict.because, pair, known, after_advice=True)
        block = replace(block, reason=evidence)
    return replace(block, headline=advice.text, mark=VERDICT_MARKS[advice.code])


def facts_of(comparison: Comparison, group: QueryGroup, pair: PairResult) -> Facts:
    """Return the numbers that the answer rests on."""
    digits, facts = decimals(pair), []
    if pair.mean.a is not None and pair.mean.b is not None:
        a, b = pair.mean.a, pair.mean.b
        share = f"{share_words(abs(b - a) / abs(a))} {'higher' if b > a else 'lower'}" if a and b != a else ""
        facts.append(Fact(f"{measure_words(pair)}, {pair.a} → {pair.b}", f"{a:.{digits}f} → {b:.{digits}f}", share))
    if pair.delta is not None:
        facts.append(Fact("Difference", with_sign(pair.delta, pair), interval_words(pair)))
    facts += run_to_run_fact(pair)
    if pair.n_queries:
        tally = f"{pair.wins} / {pair.ties} / {pair.losses}"
        facts.append(Fact("Queries won / tied / lost", tally, f"of {pair.n_queries}, by {pair.b}"))
    if comparison.has_scores and pair.n_queries and not pair.lower_is_better:
        _, *scores = pair_scores(comparison, pair)
        before, after = (int((values == 0).sum()) for values in scores)
        if before or after:
            facts.append(Fact(zero_words(pair), f"{before} → {after}", f"of {queries(pair.n_queries)}"))
    return Facts(in_group("In numbers", group), tuple(facts))


def share_words(share: float) -> str:
    """Return a share in percent; a small one with a decimal, as nothing that changed is 0% higher."""
    if share < 0.0005:
        return "less than 0.1%"
    return f"{share:.1%}" if share < 0.0095 else f"{share:.0%}"


def zero_words(pair: PairResult) -> str:
    """Say what a score of 0 means, where that is known."""
    measure = known_measure(pair.measure)
    if measure is not None and measure.base in NOTHING_FOUND and measure.options.get("k") is not None:
        return f"Nothing useful in the first {measure.options['k']}"
    return f"Queries with {pair.measure} of 0"


def verdict_block(pair: PairResult, group: QueryGroup, texts: Texts = NO_TEXTS) -> VerdictBlock:
    verdict = pair.final_verdict
    subject = f"{measure_words(pair)} · {pair.b} vs {pair.a} · {in_group(queries(pair.n_queries), group)}"
    is_safe = pair.unjudged is not None and pair.unjudged.strength == "stands"  # then the checks say so
    known = set(unjudged_words(verdict.code, pair)) if is_safe else set()
    cautions = [caution for caution in verdict.cautions if caution not in known]
    return VerdictBlock(
        verdict.text,
        verdict.reason,
        VERDICT_MARKS[verdict.code],
        subject,
        (*cautions, *missing_words(pair, texts)),
    )


def missing_words(pair: PairResult, texts: Texts = NO_TEXTS) -> Iterator[str]:
    if pair.missing is None:
        return
    how = "left out" if pair.n_unanswered else "counted as empty"
    for system, missing in ((pair.a, pair.missing.a), (pair.b, pair.missing.b)):
        if missing:
            few = few_queries(missing, texts)
            yield f"{system} does not answer {queries(len(missing))} ({how}): {few}."


def few_queries(missing: Sequence[str], texts: Texts) -> str:
    """Name the first queries of a list: up to 8 by their ids, or 3 by what was asked."""
    asked = {query: beginning(texts.query(query), SHORT_QUERY) for query in missing[:3]}
    names = [f"“{text}” ({query})" for query, text in asked.items()] if all(asked.values()) else list(missing[:8])
    return ", ".join(names) + (", …" if len(missing) > len(names) else "")


def raw(number: float | None) -> str:
    """Return a number as tables sort it and files hold it."""
    return repr(or_nan(number))


def column_digits(pairs: Iterable[PairResult | Stratum]) -> int:
    """Return the decimals of all differences of a table: as many as the one that needs most of them."""
    return max((decimals(pair) for pair in pairs if pair.standard_error or pair.delta), default=3)


def difference_cells(
    pair: PairResult | Stratum, digits: int, what: str = "", *, spread: Sequence[Cell] = ()
) -> list[Cell]:
    """Return a difference, the interval that decides, its spread from run to run, and p with what it is."""
    interval = "-"
    if pair.ci.low is not None and pair.standard_error:
        interval = f"[{with_sign(pair.ci.low, pair, digits)}, {with_sign(pair.ci.high, pair, digits)}]"
    p = p_text(pair.p.adjusted) + what
    return [Cell(with_sign(pair.delta, pair, digits), raw=raw(pair.delta)), Cell(interval), *spread, Cell(p)]


def effect_cells(pair: PairResult) -> list[Cell]:
    size = "-" if pair.effect.d_z is None else f"{pair.effect.d_z:.2f}"
    return [Cell(size), Cell(f"{pair.wins} / {pair.ties} / {pair.losses}")]


def whose_margin(comparison: Comparison) -> str:
    return f"{'your' if comparison.settings.margin_given else 'the'} margin of {comparison.settings.margin:g}"


def p_text(p: float | None) -> str:
    """Print a p-value; never as 0, and with all the digits that flips give it by default."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def measures_table(comparison: Comparison, group: QueryGroup, pair: PairResult) -> Table:
    all_measures = (pair, *group.exploratory(pair))
    rows, digits, spreads = [], column_digits(all_measures), pair_cells(all_measures)
    for each, spread in zip(all_measures, spreads, strict=True):
        tested, is_primary = each.p.adjusted is not None, each.role == "primary"
        rows.append(
            [
                Cell(f"{each.measure}{' (primary)' if is_primary else ''}{' ↓' if each.lower_is_better else ''}"),
                *(Cell("-" if v is None else f"{v:.{digits}f}", raw=raw(v)) for v in (each.mean.a, each.mean.b)),
                *difference_cells(each, digits, " explor." if tested and not is_primary else "", spread=spread),
                *(effect_cells(each) if tested else (Cell("-"), Cell("-"))),
            ]
        )
    level = f"{pair.ci.level * 100:.4g}% CI"
    apart = [RUN_TO_RUN] if spreads[0] else []
    header = ["measure", pair.a, pair.b, "Δ", level, *apart, "p (adj.)", "effect d_z", "W / T / L"]
    notes = (*p_notes(comparison, all_measures), *pair_notes(all_measures))
    return Table(header, rows, notes=notes, optional=("effect d_z", "W / T / L"), keep=(pair.b, "Δ"))


def exploratory_words(comparison: Comparison) -> str:
    """Say over what the false discoveries of exploratory comparisons are controlled."""
    results = [result for group in comparison.groups for result in group.comparisons]
    n_measures = sum(result.role == "exploratory" and result.p.family_size > 0 for result in results)
    parts = [part for result in results for part in result.strata or ()]
    held = [f"{n_measures} by other measures"] if n_measures else []
    if parts:
        names = ", ".join(dict.fromkeys(part.attribute for part in parts))
        held.append(f"{len(parts)} on part of the queries (by {names})")
    share = f"{comparison.settings.false_discoveries:.0%}"
    family = counted(n_measures + len(parts), "comparison")
    return f"false discoveries controlled at {share} over {family}, {' and '.join(held)} (Benjamini-Hochberg)"


def p_notes(comparison: Comparison, all_measures: Sequence[PairResult]) -> Iterator[str]:
    pair, *others = all_measures
    flips = f"all {counted(pair.p.n_resamples, 'pattern')}" if pair.p.exact else f"{pair.p.n_resamples:,} flips"
    family = (
        "one comparison in the family"
        if pair.p.family_size <= 1
        else f"{pair.p.family_size} comparisons in the family, whose intervals hold jointly (simultaneous) by "
        f"{CORRECTIONS.summary(comparison.correction)}"
    )
    n_words = f"n = {pair.n_queries}" + (f" in {pair.n_units} clusters" if pair.clustered else "")
    yield f"primary: sign flips of the mean difference, {flips}; {family}; {n_words}; p and interval are the same test"
    if pair.n_units < MIN_UNITS and pair.differs:
        yield few_units_note(pair)
    yield from filter(None, map(few_differ_words, others))
    run = next(iter(comparison.scores.values()))
    if run.lower_is_better.intersection(comparison.scores.measures):
        yield "↓: lower is better"
    sums = [m for m, how in zip(comparison.scores.measures, run.aggregates, strict=True) if how != "mean"]
    if sums:
        yield f"{', '.join(sums)}: means per query here"
    if len(comparison.scores.measures) > 1:
        level = f"{pair.ci.level * 100:.4g}%"
        yield f"explor.: exploratory; each interval is a {level} one of its own, p with {exploratory_words(comparison)}"
    for each in others:
        if each.n_queries != pair.n_queries:
            yield f"{each.measure}: n = {each.n_queries}, the queries for which both systems have a score"


def few_units_note(pair: PairResult) -> str:
    return f"fewer than {MIN_UNITS} {unit_word(pair)}: p and interval decide nothing"


def power_words(comparison: Comparison, pair: PairResult) -> str:
    """Say what this set of queries can find, and what more would take."""
    power = f"{comparison.settings.power:.0%}"
    if not pair.differs:
        alike = pair.final_verdict.code == "identical"
        what = "The two systems are identical" if alike else "No query's score differs"
        return f"{what}, so nothing can be said of what this set could find."
    if pair.standard_error == 0:
        unit = "cluster" if pair.clustered else "query"
        return f"Every {unit} differs by the same amount, so nothing can be said of what this set could find."
    if pair.mde.value is None:
        return finds_nothing_words(pair)
    found = f"{pair.mde.value:.{decimals(pair)}f}"
    words = f"Smallest difference this set can find ({power} power): {found}."
    if pair.n_units < MIN_UNITS:
        words = (
            f"A test of {pair.n_units} {unit_word(pair)} could find differences from {found} up ({power} power), but "
            f"fewer than {MIN_UNITS} get no verdict."
        )
    if pair.n_needed is not None:
        n_needed = max(pair.n_needed, MIN_UNITS)
        number = about(n_needed) if n_needed > pair.n_units else f"{n_needed:,}"
        words += f" To find {pair.margin:g} you need about {number} {unit_word(pair)}."
    return words


def pair_sections(
    comparison: Comparison, group: QueryGroup, pair: PairResult, *, with_figures: bool
) -> Iterator[Section]:
    """Yield the details of the only pair: the queries that changed, all measures, why it moved, what is unjudged."""
    named: dict[str, list[Block]] = {
        "Queries that changed": query_blocks(comparison, group, pair, with_figures=with_figures),
        "All measures": [TableBlock("", measures_table(comparison, group, pair))],
        "Where the difference comes from": [
            *rank_blocks(comparison, pair),
            *slice_blocks(comparison, pair),
            *movement_blocks(pair),
        ],
        "Unjudged docs": list(unjudged_blocks(pair)),
    }
    for title, blocks in named.items():
        if blocks:
            yield Section(in_group(title, group), tuple(blocks))


def pair_section(
    comparison: Comparison, group: QueryGroup, pair: PairResult, *, with_figures: bool, within: str = ""
) -> Section:
    """Return one of several pairs, which is opened on demand."""
    blocks: list[Block] = [
        verdict_block(pair, group, comparison.texts),
        TableBlock("All measures", measures_table(comparison, group, pair)),
        Paragraph(power_words(comparison, pair)),
        *query_blocks(comparison, group, pair, with_figures=with_figures),
        *rank_blocks(comparison, pair),
        *slice_blocks(comparison, pair),
        *movement_blocks(pair),
        *unjudged_blocks(pair),
        *other_tests(pair),
    ]
    return Section(in_group(f"{pair.b} against {pair.a}", group), tuple(blocks), folded=True, within=within)


def query_blocks(comparison: Comparison, group: QueryGroup, pair: PairResult, *, with_figures: bool) -> list[Block]:
    """Return who won where: the queries that lost and gained most, then all of them in a picture."""
    blocks: list[Block] = list(changed_queries(comparison, pair))
    tally = f"{pair.b} wins {queries(pair.wins)}, ties {pair.ties} and loses {pair.losses} by {pair.measure}"
    if pair.n_units >= MIN_UNITS:
        chance = f"{or_nan(pair.effect.superiority):.0%}"
        tally += f"; it wins a randomly chosen query with a probability of {chance}, ties counting half"
    blocks.append(Paragraph(f"{tally}."))
    if with_figures:
        blocks += figures("differences", "comparison", comparison, pair)
    if with_figures and len(group.compared) <= FEW_PAIRS:
        blocks += figures("scatter", "comparison", comparison, pair)
    return blocks


def other_tests(pair: PairResult) -> Iterator[Block]:
    """Yield the tests that were asked for beside the one that decides."""
    if not pair.also_tested:
        return
    items = []
    for test in pair.also_tested:
        p = p_text(test.p)
        is_p = f"p < {p[1:]}" if p.startswith("<") else f"p = {p}"
        items.append(f"{test.method}: {is_p}" + (f"; {test.caveat}" if test.caveat else ""))
    items.append(f"skewness of the differences: {or_nan(pair.skew):+.2f}")
    yield Bullets("Other tests, not adjusted, which decide nothing", tuple(items))


def rank_blocks(comparison: Comparison, pair: PairResult) -> Iterator[Block]:
    """Show where the first relevant doc stands, where that is what the measure is about.

    A mean of reciprocal ranks hides it: from rank 1 to 2 is as far as from rank 2 to never.
    """
    if pair.measure.partition("@")[0].partition("(")[0] != "RR" or varies(pair):
        return  # the mean over repetitions is no rank
    _, *scores = pair_scores(comparison, pair)
    counts = [count_by_band(np.rint(1 / np.where(values > 0, values, math.nan))) for values in scores]
    rows = [[Cell(band), Cell(str(a)), Cell(str(b))] for band, a, b in zip(RANK_BANDS, *counts, strict=True)]
    yield TableBlock("Rank of the first relevant doc, in queries", Table(["rank", pair.a, pair.b], rows))


def slice_blocks(comparison: Comparison, pair: PairResult) -> Iterator[Block]:
    strata = [part for part in pair.strata or () if part.requested]
    if strata:
        yield TableBlock("By stratum (exploratory)", strata_rows(comparison, pair, strata))
    few = [f"{part.attribute} {part.value} ({part.n_queries})" for part in strata if part.too_few]
    if few:
        yield Paragraph(f"Too few queries to say anything about: {', '.join(few)}.")
    others = [part for part in pair.strata or () if not part.requested]
    found = [part for part in others if part.stands_out]
    if found:
        yield TableBlock("Where the difference sits", strata_rows(comparison, pair, found))
    elif others:
        names = " and by ".join(dict.fromkeys(part.attribute for part in others))
        yield Paragraph(
            f"Divided by {names}, no part of the queries could be shown to differ from the rest "
            f"({counted(len(others), 'part')} looked at)."
        )


def strata_rows(comparison: Comparison, pair: PairResult, parts: Sequence[Stratum]) -> Table:
    digits = column_digits(parts)
    rows = [
        [
            Cell(part.attribute),
            Cell(part.value),
            Cell(str(part.n_queries)),
            number_cell(or_nan(part.mean.a), None),
            number_cell(or_nan(part.mean.b), None),
            *difference_cells(part, digits),
            Cell(f"{part.wins} / {part.ties} / {part.losses}"),
            Cell("differs from the rest" if part.stands_out else ""),
        ]
        for part in parts
    ]
    note = (
        f"exploratory: each interval is one of its own; p with {exploratory_words(comparison)}; “differs from the "
        "rest” is a test against all other queries, controlled likewise"
    )
    level = f"{parts[0].ci.level * 100:.4g}% CI"
    header = ["by", "value", "n", pair.a, pair.b, "Δ", level, "p (adj.)", "W / T / L", ""]
    return Table(header, rows, n_name_columns=2, notes=(note,))


def movement_blocks(pair: PairResult) -> Iterator[Block]:
    """Show what the difference is made of: by what became of docs, by rank, and doc by doc where most moved."""
    movement = pair.movement
    if movement is None:
        return
    rows = [
        [Cell(name), Cell(str(part.n_docs)), Cell(f"{or_nan(part.mean):+.4f}", raw=raw(part.mean))]
        for name, part in movement.kinds.items()
        if part.n_docs
    ]
    unjudged = f"{movement.unjudged.a} before, {movement.unjudged.b} now"
    rows.append([Cell("unjudged"), Cell(unjudged), Cell("+0.0000", raw="0.0")])
    rows.append([Cell("together"), Cell(""), Cell(f"{or_nan(movement.difference):+.4f}", raw=raw(movement.difference))])
    note = (
        "docs whose part of the score changed: the part in the one ranking minus the part in the other, as a share of "
        "the mean over queries; the parts add up"
    )
    change = f"part of Δ {pair.measure}"
    notes = tuple(filter(None, (note, first_run_words(pair))))
    table = Table(["docs that are", "docs", change], rows, notes=notes, keep=(change,))
    yield TableBlock("Why it moved", table)

    both = (movement.by_rank.a, movement.by_rank.b)
    a, b = (np.pad(values[:SHOWN_RANKS], (0, max(0, SHOWN_RANKS - len(values)))) for values in both)
    rows = [
        [Cell(str(rank)), Cell(f"{x:.4f}", raw=repr(x)), Cell(f"{y:.4f}", raw=repr(y)), Cell(f"{y - x:+.4f}")]
        for rank, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True), 1)
        if x or y
    ]
    deeper = [float(np.sum(values[SHOWN_RANKS:])) for values in both]
    if any(deeper):
        rows.append([Cell("below"), *(Cell(f"{x:.4f}") for x in deeper), Cell(f"{deeper[1] - deeper[0]:+.4f}")])
    notes = tuple(filter(None, (f"parts of the mean {pair.measure}", first_run_words(pair))))
    table = Table(["rank", pair.a, pair.b, "Δ"], rows, notes=notes)
    yield TableBlock("Where in the ranking the scores come from", table)

    rows = [
        [
            *query_cells(query.query, query.text),
            *doc_cells(doc.doc, doc.title),
            *map(Cell, (doc.kind, f"{doc.grade:g}")),
            *rank_cells(doc),
            Cell(f"{or_nan(doc.change):+.4f}", raw=raw(doc.change)),
        ]
        for query in movement.queries
        for doc in query.docs
    ]
    if movement.queries:
        header = ["query", "id", "doc", "doc id", "what became of it", "grade", "rank before", "rank now", "Δ"]
        table = without_empty(Table(header, rows, n_name_columns=5), "id", "doc id")
        yield TableBlock("Docs that moved, in the queries that moved most", table, folded=True)


def rank_cells(doc: MovedDoc | DocToJudge) -> list[Cell]:
    return [Cell("-" if rank is None else str(rank)) for rank in (doc.rank_a, doc.rank_b)]


def unjudged_blocks(pair: PairResult) -> Iterator[Block]:
    bounds, judged = pair.bounds, pair.judged
    if bounds is None or judged is None or min(or_nan(judged.a), or_nan(judged.b)) >= 1:
        return
    worst, best = (bounds.high, bounds.low) if pair.lower_is_better else (bounds.low, bounds.high)
    among = "the results" if bounds.depth is None else f"the first {bounds.depth} results"
    rows = [
        [Cell("all not relevant"), Cell(f"{or_nan(bounds.useless):+.4f}")],
        [Cell("all of the highest grade"), Cell(f"{or_nan(bounds.perfect):+.4f}")],
        [Cell(f"worst case for {pair.b}"), Cell(f"{or_nan(worst):+.4f}")],
        [Cell(f"best case for {pair.b}"), Cell(f"{or_nan(best):+.4f}")],
        *([Cell(name), Cell(f"{value:+.4f}")] for name, value in (pair.sensitivity or {}).items() if value is not None),
    ]
    note = f"covers unjudged docs among {among} of the two systems; judging other docs could change scores too. " + (
        "Both cases are possible." if bounds.exact else "The cases are safe limits, but may be too far apart."
    )
    about = tuple(filter(None, (note, first_run_words(pair))))
    yield TableBlock(f"If the unjudged docs among {among} were …", Table(["unjudged docs", "Δ"], rows, notes=about))
    if pair.settle:
        rows = [
            [
                *query_cells(doc.query, doc.text),
                *doc_cells(doc.doc, doc.title),
                Cell(f"{or_nan(doc.swing):.4f}", raw=raw(doc.swing)),
                *rank_cells(doc),
            ]
            for doc in pair.settle[:SHOWN_DOCS]
        ]
        header = ["query", "id", "doc", "doc id", "could move Δ by", f"rank in {pair.a}", f"rank in {pair.b}"]
        n_docs = max(pair.n_settle or 0, len(pair.settle))
        title = f"{counted(n_docs, 'judgment')} that would settle it for certain, best first"
        notes = []
        if len(pair.settle) > SHOWN_DOCS:
            written = "all" if n_docs == len(pair.settle) else f"the first {len(pair.settle):,}"
            how = f"rankscope compare --settle FILE.csv writes {written}, to be judged and given back"
            notes = [f"the first {SHOWN_DOCS}; {how}"]
        table = without_empty(Table(header, rows, n_name_columns=4, notes=notes), "id", "doc id")
        yield TableBlock(title, table)
