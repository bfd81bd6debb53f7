"""The report of flags, choices and preferences: who wins, where the chosen docs are, and what is flagged and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.judging.agreement import CountOf
from rankscope.judging.flags import SHOWN
from rankscope.judging.opinion_records import (
    LEVEL,
    ChoiceReport,
    FlagReport,
    NoteCount,
    OpinionPair,
    OpinionReport,
    PreferenceReport,
    ValueFlags,
    clauses_of,
    interval_name,
    rate_end_text,
    rate_text,
    shown_difference,
    signed_points,
)
from rankscope.printable import counted, listed
from rankscope.report.agreement import (
    NONE,
    NOTE_WIDTH,
    answer_with_reasons,
    count_cell,
    number_cell,
    share_words,
)
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import (
    Block,
    Bullets,
    Estimate,
    Estimates,
    Fact,
    Facts,
    Mark,
    Paragraph,
    Report,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.table import Cell, Table
from rankscope.report.words import doc_cells, query_cells, shortened_cell, without_empty
from rankscope.stats.interval import percent

MOST_FACTS = 5
UNIT = "in percentage points"
EVEN = 0.5
"""The win rate of two systems that are even."""
SHOWN_RANKS = 10
"""Chosen docs further down are counted together."""
SHOWN_WORDS = 5
"""Words of the notes in a row of a table."""


def opinions_report(found: OpinionReport, *, command: str = "") -> Report:
    first: list[Block] = list(answer_blocks(found))
    if facts := tuple(facts_of(found))[:MOST_FACTS]:
        first.append(Facts("", facts))
    first += estimates_of(found)
    return Report(
        title=f"Flags, choices and preferences · {found.task_name}",
        first_screen=tuple(first),
        sections=tuple(section for section in sections_of(found) if section.blocks),
        footer=(("rankscope", found.rankscope), *((("command", command),) if command else ())),
    )


def answer_blocks(found: OpinionReport) -> Iterator[Block]:
    said = [
        counted(found.preferences.n, "preference"),
        counted(found.choices.n, "choice"),
        counted(found.flags.share.n, "flag"),
    ]
    pairs = (*found.preferences.pairs, *found.choices.pairs)
    mark: Mark = VERDICT_MARKS[pairs[0].code] if len({pair.code for pair in pairs}) == 1 else "note"
    flags = found.flags.pairs
    by_flags = [f"By flags, {'; '.join(clauses_of(flags))}."] if flags else []
    said_once = dict.fromkeys([*(pair.evidence for pair in pairs), *by_flags, *(pair.evidence for pair in flags)])
    answer = VerdictBlock(found.headline, "", mark, f"{found.task_name} · {' · '.join(said)}", found.details)
    yield from answer_with_reasons(answer, list(said_once))


def facts_of(found: OpinionReport) -> Iterator[Fact]:
    flags = found.flags.share
    if flags.of:
        yield Fact("Flagged", share_words(flags), f"{flags.n:,} of {counted(flags.of, 'look')} at a doc")
    for each in found.choices.systems if found.choices.n else ():
        rank = "never in its list" if each.median_rank is None else f"median rank {each.median_rank:g}"
        if 0 < each.found.n < each.found.of:
            rank += f" of the {each.found.n:,} in its list"
        context = f"{each.first.n:,} of {counted(each.first.of, 'choice')}; {rank}"
        yield Fact(f"{each.system} has the choice first", share_words(each.first), context)


def estimates_of(found: OpinionReport) -> Iterator[Block]:
    titles = {"preferences": "Better list", "choices": "Chosen doc ranked higher"}
    for kind, pairs in (("preferences", found.preferences.pairs), ("choices", found.choices.pairs)):
        if pairs:
            yield from drawn(f"{titles[kind]}: win rate less 50%, {UNIT}", tuple(map(win_estimate, pairs)))
    if found.flags.pairs:
        yield from drawn(f"Flagged more often, {UNIT}", tuple(map(flag_estimate, found.flags.pairs)))


def drawn(title: str, estimates: tuple[Estimate, ...]) -> Iterator[Block]:
    """Yield a chart of what has an interval; of too few queries there is none, and what is known stands in words."""
    if any(each.low is not None for each in estimates):
        yield Estimates(title, estimates)
        return
    known = tuple(f"{each.name}: {each.words}" for each in estimates if each.value is not None)
    if known:
        yield Bullets(f"{title} (too few queries for an interval)", known)


def win_estimate(pair: OpinionPair) -> Estimate:
    """Return a win rate as its distance from a half, which is what is drawn around 0."""
    return points_estimate(
        pair, *(None if value is None else value - EVEN for value in (pair.rate, pair.low, pair.high))
    )


def flag_estimate(pair: OpinionPair) -> Estimate:
    return points_estimate(pair, pair.rate, pair.low, pair.high)


def points_estimate(pair: OpinionPair, share: float | None, low: float | None, high: float | None) -> Estimate:
    """Return a difference of shares, drawn and said in percentage points."""
    name = f"{pair.b} against {pair.a} ({counted(pair.n_queries, 'query')})"
    mark = VERDICT_MARKS[pair.code]
    if share is None:
        return Estimate(name, None, None, None, NONE, mark, pair.words, NONE)
    words = short = signed_points(shown_difference(pair) if pair.kind == "flags" else share)
    if low is not None and high is not None:
        words += f" ({interval_name(pair)} {signed_points(low)} to {signed_points(high)})"
        short += f" [{signed_points(low)}, {signed_points(high)}]"
    value, *ends = (None if each is None else 100 * each for each in (share, low, high))
    return Estimate(name, value, ends[0], ends[1], words, mark, pair.words, short)


def sections_of(found: OpinionReport) -> Iterator[Section]:
    if found.preferences.n:
        table = TableBlock("", preferences_table(found.preferences))
        yield Section("Preferences", (table, Bullets("", tuple(swap_words(found.preferences)))))
    if found.choices.n:
        yield Section("Rank of the chosen doc", (TableBlock("", choices_table(found.choices)),))
    if found.flags.share.of:
        tables = [TableBlock("How often", rates_table(found.flags))] if found.flags.n_queries else []
        tables.append(TableBlock("At which rank", ranks_table(found.flags)))
        yield Section("Flags by system and rank", tuple(tables))
    if found.flags.share.n:
        yield from flag_sections(found.flags)
    if reading := tuple(reading_of(found)):
        yield Section("How to read it", (Bullets("", reading),))


def flag_sections(flags: FlagReport) -> Iterator[Section]:
    without = (
        f"{flags.n_without_note:,} of {counted(flags.share.n, 'flag')} have no note." if flags.n_without_note else ""
    )
    if flags.notes:
        blocks = (
            TableBlock("Notes", notes_table(flags.notes, "note")),
            TableBlock("Words in notes", notes_table(flags.words, "word")),
        )
        yield Section("What the notes say", tuple(block for block in blocks if block.table.rows), intro=without)
    names = dict.fromkeys((each.of, each.name) for each in flags.by_value)
    tables = [
        TableBlock(
            f"By {name} of the {of}",
            values_table([each for each in flags.by_value if (each.of, each.name) == (of, name)]),
        )
        for of, name in names
    ]
    yield Section("Flags by attribute", (*tables, *left_out_blocks(flags)))
    intro = f"The first {SHOWN} of {flags.n_docs:,}." if flags.n_docs > SHOWN else ""
    yield Section("Flagged docs", (TableBlock("", docs_table(flags)),), intro=intro)


def preferences_table(found: PreferenceReport) -> Table:
    rows = [
        [
            Cell(each.a),
            Cell(each.b),
            *(
                Cell(f"{n:,}", raw=str(n))
                for n in (each.a_clearly, each.a_slightly, each.none, each.b_slightly, each.b_clearly, each.cannot_tell)
            ),
        ]
        for each in found.counts
    ]
    header = ["A", "B", "A clearly", "A slightly", "no difference", "B slightly", "B clearly", "cannot tell"]
    shown = sum(each.n for each in found.counts)
    again = f": {shown:,} times, of which {shown - found.n:,} again with sides swapped" if shown > found.n else ""
    notes = (f"every time that two lists were shown counts once{again}",)
    return Table(header, rows, n_name_columns=2, notes=notes, keep=("B", "A clearly", "B clearly"))


def swap_words(found: PreferenceReport) -> Iterator[str]:
    """Yield whether the side matters."""
    alike, left = found.swapped.alike, found.swapped.left
    if alike.of:
        differ = "" if alike.n == alike.of else "; the others count as ties"
        of = counted(alike.of, "comparison")
        yield f"Shown again with sides swapped: {alike.n:,} of {of} got the same answer{differ}."
    else:
        yield "No lists were judged again with sides swapped, so nobody knows whether the side matters."
    if left.of:
        yield f"The list on the left was named {times(left.n)}, the one on the right {times(left.of - left.n)}."


def times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def choices_table(found: ChoiceReport) -> Table:
    found_at = {each.rank for system in found.systems for each in system.by_rank}
    ranks = sorted(rank for rank in found_at if rank <= SHOWN_RANKS)
    names = [*(f"rank {rank}" for rank in ranks), *([f"below {SHOWN_RANKS}"] if len(ranks) < len(found_at) else [])]
    rows = []
    for each in found.systems:
        counts = {one.rank: one.n for one in each.by_rank}
        shown = [counts.get(rank, 0) for rank in ranks]
        shown += [each.found.n - sum(shown)] if len(names) > len(ranks) else []
        rows.append(
            [
                Cell(each.system),
                number_cell(each.median_rank, "g"),
                count_cell(each.first),
                count_cell(each.found),
                *(Cell(f"{n:,}", raw=str(n)) for n in shown),
            ]
        )
    header = ["system", "median rank", "at rank 1", "in the list", *names]
    notes = ("the median rank is that of the chosen docs that are in the list",)
    return Table(header, rows, notes=notes, optional=tuple(names[::-1]))


def rates_table(flags: FlagReport) -> Table:
    """Return the flag rates that are compared, and beside them the plain counts."""
    rows = []
    for each in flags.systems:
        ends = (
            NONE
            if each.interval is None
            else f"{rate_end_text(each.interval.low)} to {rate_end_text(each.interval.high)}"
        )
        rate = NONE if each.rate is None else rate_text(each.rate)
        rows.append([Cell(each.system), Cell(rate), Cell(ends), count_cell(each.share)])
    level = next((each.interval.level for each in flags.systems if each.interval is not None), None)
    note = (
        f"flag rate: the mean over the {counted(flags.n_queries, 'query')} of which raters looked at docs of every "
        "system, each query counting the same; flagged of shown: a count over all queries, in which queries with more "
        "docs and raters count more"
    )
    header = ["system", "flag rate", NONE if level is None else f"{percent(level)} CI", "flagged of shown"]
    return Table(header, rows, notes=[note])


def ranks_table(flags: FlagReport) -> Table:
    ranks = [each.rank for each in flags.by_rank]
    columns = [{each.rank: each.share for each in system.by_rank} for system in flags.systems]
    rows = [
        [
            Cell(f"{rank}", raw=str(rank)),
            *(count_cell(of[rank]) if rank in of else Cell(NONE) for of in columns),
            count_cell(flags.by_rank[i].share),
        ]
        for i, rank in enumerate(ranks)
    ]
    n, of = sum(each.share.n for each in flags.by_rank), sum(each.share.of for each in flags.by_rank)
    total = [Cell("all"), *(count_cell(system.share) for system in flags.systems), count_cell(CountOf(n, of))]
    note = (
        "flagged of shown: a doc counts once for each rater who looked at it, at the rank that each system has it at; "
        "so the lists together count a doc of two systems twice"
    )
    return Table(["rank", *(system.system for system in flags.systems), "lists together"], [*rows, total], notes=[note])


def left_out_blocks(flags: FlagReport) -> Iterator[Paragraph]:
    """Yield which attributes have no table, and why."""
    if flags.values_left_out:
        names = listed(flags.values_left_out, most=SHOWN)
        yield Paragraph(f"Left out, as nearly every value is that of one or two alone, or there are too many: {names}.")


def notes_table(counts: Sequence[NoteCount], what: str) -> Table:
    rows = [[shortened_cell(each.text, NOTE_WIDTH), Cell(f"{each.n:,}", raw=str(each.n))] for each in counts]
    notes = (f"the {SHOWN} most frequent",) if len(counts) == SHOWN else ()
    return Table([what, "flags"], rows, notes=notes)


def values_table(values: Sequence[ValueFlags]) -> Table:
    rows = [
        [
            Cell(each.value),
            Cell(", ".join(f"{word.text} {word.n}" for word in each.words[:SHOWN_WORDS])),
            count_cell(each.share),
            Cell(share_words(each.share)),
        ]
        for each in values
    ]
    table = Table([values[0].name, "words in notes", "flagged", "rate"], rows, n_name_columns=2, keep=("rate",))
    return without_empty(table, "words in notes")


def docs_table(flags: FlagReport) -> Table:
    systems = [each.system for each in flags.systems]
    rows = [
        [
            *query_cells(each.query, each.query_text),
            *doc_cells(each.doc, each.title),
            shortened_cell("; ".join(f"“{note}”" for note in each.notes), NOTE_WIDTH),
            Cell(f"{each.share.n:,} of {each.share.of:,}"),
            *(Cell(f"{each.ranks[name]}" if name in each.ranks else NONE) for name in systems),
        ]
        for each in flags.docs
    ]
    header = ["query", "query id", "doc", "doc id", "notes", "raters", *(f"rank in {name}" for name in systems)]
    table = Table(header, rows, n_name_columns=5, optional=("query id", "doc id"), keep=("raters",))
    return without_empty(table, "query id", "doc id", "notes")


def reading_of(found: OpinionReport) -> Iterator[str]:
    """Yield what must be known of the numbers."""
    if found.choices.pairs or found.preferences.pairs:
        yield (
            "A win rate counts each query the same, however many raters said something of it, and ties half. Its "
            "interval and its verdict come from the comparison of two systems by the share of each query that they won."
        )
    if max(map(len, (found.choices.pairs, found.preferences.pairs, found.flags.pairs))) > 1:
        yield several_words(found)
    if found.flags.share.of:
        yield (
            "Flags are counted among docs that raters graded or flagged; where whole lists are judged, among all docs "
            "of the queries that a rater judged. What two systems differ by is the difference of their flag rates."
        )
    if found.flags.share.of and found.flags.depth is not None:
        below = counted(found.flags.n_below, "flag")
        ranks = "rank 1" if found.flags.depth == 1 else f"the ranks 1 to {found.flags.depth}"
        none = f" {below} {'is' if found.flags.n_below == 1 else 'are'} of docs that no system has so far up."
        yield (
            f"Flags count for a system at {ranks}, of which the task takes docs: what is "
            f"further down in a list was looked at for another reason.{none if found.flags.n_below else ''}"
        )
    if found.choices.n:
        yield "The rank of a chosen doc is that in the whole list of a system, as far down as the run goes."


def several_words(found: OpinionReport) -> str:
    """Say what is compared, and what simultaneous means."""
    n = max(map(len, (found.choices.pairs, found.preferences.pairs, found.flags.pairs)))
    each = f"{100 * (1 - (1 - LEVEL) / n):.4g}%"
    return (
        "Flags, choices and preferences each compare every two systems that they say something of. The intervals of "
        f"one kind hold together at {percent(LEVEL)} (simultaneous): of {n} pairs each is one of {each}."
    )
