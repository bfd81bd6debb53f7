"""The report of how raters agree: the answer first, then the verdict under each rater, pairs, raters and hard docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.judging.agreement import (
    RELIABLE,
    TENTATIVE,
    AgreementReport,
    CountOf,
    PreferenceAgreement,
    RaterErrors,
    RaterPair,
    RaterSummary,
    alpha_number,
)
from rankscope.judging.rater_verdicts import RaterVerdicts, VerdictLine
from rankscope.printable import counted
from rankscope.records import or_nan, replace
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import (
    Block,
    Bullets,
    Estimate,
    Estimates,
    Fact,
    Facts,
    Mark,
    Report,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.table import MARKED, Cell, Table
from rankscope.report.words import doc_cells, query_cells, shortened_cell, without_empty
from rankscope.stats.interval import Interval, percent

NOTE_WIDTH = 60
MOST_ON_PHONE = 3
"""So many raters' grades of a doc stand side by side on a phone."""
NONE = "-"


def agreement_report(found: AgreementReport, *, command: str = "") -> Report:
    if found.preferences is not None and not found.n_grades:
        return lists_report(found, found.preferences, command=command)
    pairs = found.verdicts.pairs
    named = {f"{pair.b} against {pair.a}: " if len(pairs) > 1 else "": pair.verdict for pair in pairs}
    reasons = [f"{name}{verdict.text} {verdict.reason}".strip() for name, verdict in named.items() if verdict.text]
    first: list[Block] = [*answer_blocks(found, reasons), facts_of(found)]
    first += [estimates_of(pair, together=len(pairs) > 1) for pair in pairs]
    sections = [section for section in sections_of(found) if section.blocks]
    return Report(
        title=f"Agreement · {found.task_name}",
        first_screen=tuple(first),
        sections=tuple(sections),
        footer=(
            ("labels", f"by the rule {found.rule}"),
            ("rankscope", found.rankscope),
            *((("command", command),) if command else ()),
        ),
    )


def lists_report(found: AgreementReport, said: PreferenceAgreement, *, command: str = "") -> Report:
    """Return the report of a task in which lists are compared: they get no grades, so that answers are counted."""
    subject = [counted(said.n_raters, "rater"), counted(said.n, "preference"), counted(said.n_queries, "query")]
    first: list[Block] = [
        VerdictBlock(found.headline, "", "note", " · ".join([found.task_name, *subject]), found.details)
    ]
    sections: list[Section] = []
    if said.twice.n:
        same, twice = (f"{share.n:,} of {counted(share.of, 'comparison')}" for share in (said.same, said.twice))
        first.append(
            Facts(
                "",
                (
                    Fact("Same answer", share_words(said.same), f"{same} made twice or more"),
                    Fact("Made twice or more", share_words(said.twice), twice),
                ),
            )
        )
        rows = [
            [Cell(pair.first), Cell(pair.second), count_cell(pair.same), Cell(share_words(pair.same))]
            for pair in said.pairs
        ]
        table = Table(["rater", "and", "same answer", "share"], rows, n_name_columns=2, keep=("and", "share"))
        sections.append(Section("Every pair of raters", (TableBlock("", table),)))
        reading = (
            "The same answer: the same list is better, slightly or clearly, or neither. Who cannot tell gives none.",
            "This is raw agreement: what chance alone would give is not taken off.",
        )
        sections.append(Section("How to read it", (Bullets("", reading),)))
    return Report(
        title=f"Agreement · {found.task_name}",
        first_screen=tuple(first),
        sections=tuple(sections),
        footer=(("rankscope", found.rankscope), *((("command", command),) if command else ())),
    )


def answer_blocks(found: AgreementReport, reasons: Sequence[str]) -> Iterator[Block]:
    """Yield the answer; the reasons of several pairs stand below it, each on a line of its own."""
    subject = (
        f"{found.task_name} · {counted(found.n_raters, 'rater')} · {counted(found.n_grades, 'grade')} · "
        f"{counted(found.n_queries, 'query')}"
    )
    answer = VerdictBlock(found.headline, "", mark_of(found), subject, found.details)
    yield from answer_with_reasons(answer, reasons)


def answer_with_reasons(answer: VerdictBlock, reasons: Sequence[str]) -> Iterator[Block]:
    """Yield an answer with its reason; of several, each stands on a line of its own below it."""
    if len(reasons) < 2:
        yield replace(answer, reason="".join(reasons))
    else:
        yield answer
        yield Bullets("", tuple(reasons))


def mark_of(found: AgreementReport) -> Mark:
    pairs = found.verdicts.pairs
    if any(pair.depends_on_rater for pair in pairs):
        return "look"
    if found.alpha.value is None or any(pair.depends_on_rater is None for pair in pairs):
        return "note"
    if len(pairs) == 1:
        return VERDICT_MARKS[pairs[0].verdict.code]
    return "fine" if found.alpha.value >= TENTATIVE else "look"


def facts_of(found: AgreementReport) -> Facts:
    alpha = found.alpha
    if alpha.value is None:
        value, context = NONE, alpha.words
    else:
        value = alpha_number(alpha.value)
        context = f"{interval_words(alpha.interval)} · {alpha.words}"
    facts = [Fact("Alpha, ordinal", value, context)]
    if found.same.of:
        docs = "docs graded twice or more"
        facts.append(Fact("Same grade", share_words(found.same), f"{found.same.n:,} of {found.same.of:,} {docs}"))
        facts.append(
            Fact("Two or more apart", share_words(found.apart), f"{found.apart.n:,} of {found.apart.of:,} {docs}")
        )
    facts.append(
        Fact("Graded twice or more", share_words(found.twice), f"{found.twice.n:,} of {found.twice.of:,} docs")
    )
    return Facts("", tuple(facts))


def interval_words(interval: Interval | None) -> str:
    if interval is None:
        return "no interval: too few queries"
    return f"{percent(interval.level)} CI {interval.low:.2f} to {interval.high:.2f}"


def share_words(share: CountOf) -> str:
    """Return a share as a percentage; one that is not quite nothing or all is not rounded to it."""
    if share.value is None:
        return NONE
    rounded = f"{share.value:.0%}"
    if rounded == "0%" and share.n:
        return "under 1%"
    return "over 99%" if rounded == "100%" and share.n < share.of else rounded


def estimates_of(found: RaterVerdicts, *, together: bool) -> Estimates:
    """Return a verdict by all grades and by those of each rater; `together`: its intervals are simultaneous."""
    title = f"The verdict under each rater: {found.b} against {found.a}, {found.measure}"
    lines = (found.main, *found.lines)
    return Estimates(title, tuple(estimate_of(line, found.decimals, together=together) for line in lines), found.margin)


def estimate_of(line: VerdictLine, digits: int, *, together: bool) -> Estimate:
    name = f"{line.name} ({counted(line.n_queries, 'query')})"
    if line.delta is None:
        return Estimate(name, None, None, None, line.reason, VERDICT_MARKS[line.code], line.words, NONE)
    ends = short_ends = ""
    if line.low is not None and line.high is not None:
        name_of = f"{'simultaneous ' if together else ''}{percent(line.level)} CI"
        ends = f" ({name_of} {line.low:+.{digits}f} to {line.high:+.{digits}f})"
        short_ends = f" [{line.low:+.{digits}f}, {line.high:+.{digits}f}]"
    words = f"{line.delta:+.{digits}f}"
    return Estimate(
        name,
        line.delta,
        line.low,
        line.high,
        f"{words}{ends or ', no interval'}",
        VERDICT_MARKS[line.code],
        line.words,
        f"{words}{short_ends}",
    )


def sections_of(found: AgreementReport) -> Iterator[Section]:
    common = sorted((pair for pair in found.pairs if pair.n_docs), key=lambda pair: -pair.n_docs)
    if common:
        most, *others = common
        yield Section(
            f"{most.first} and {most.second}, doc by doc", (confusion_block(found, most),), intro=kappa_words(most)
        )
        yield Section("Every pair of raters", (TableBlock("", pairs_table(found)),))
        blocks = tuple(confusion_block(found, pair, folded=True) for pair in others)
        yield Section("The other pairs, doc by doc", blocks, folded=True)
    if found.raters:
        yield Section("Raters", (TableBlock("", raters_table(found)),))
    if found.hardest:
        shown, differ = len(found.hardest), found.same.of - found.same.n
        first = f"; the first {shown} are shown" if shown < differ else ""
        intro = f"Raters differ on {counted(differ, 'doc')}, those whose grades are furthest apart first{first}."
        yield Section("Hardest docs", (TableBlock("", hardest_table(found)),), intro=intro)
    if found.hardest_queries:
        shown, differ = len(found.hardest_queries), max(found.n_differ_queries, len(found.hardest_queries))
        intro = f"The first {shown:,} of {counted(differ, 'query')} on which raters differ." if shown < differ else ""
        yield Section("Queries on which raters differ most", (TableBlock("", queries_table(found)),), intro=intro)
    if found.n_grades:
        yield Section("Grades given", (TableBlock("", given_table(found)),))
    if found.verdicts.orders:
        yield Section("The order of the systems", (TableBlock("", orders_table(found)),))
    if found.errors:
        blocks = tuple(TableBlock(each.name, errors_table(each)) for each in found.errors)
        yield Section("How raters err, by the model of Dawid and Skene", blocks, folded=True)
    yield Section("How to read it", (Bullets("", tuple(reading_of(found))),))


def confusion_block(found: AgreementReport, pair: RaterPair, *, folded: bool = False) -> TableBlock:
    header = [f"{pair.first} \\ {pair.second}", *(f"{each.grade:g}" for each in found.scale)]
    rows = [
        [
            Cell(f"{each.grade:g} {each.label}".strip()),
            *(Cell(f"{n:,}", raw=str(n), best=i == j) for j, n in enumerate(counts)),
        ]
        for i, (each, counts) in enumerate(zip(found.scale, pair.confusion, strict=True))
    ]
    note = f"{MARKED}: the same grade from both"
    title = f"{pair.first} and {pair.second}" if folded else ""
    return TableBlock(title, Table(header, rows, notes=[note]), folded=folded)


def kappa_words(pair: RaterPair) -> str:
    docs = f"{counted(pair.n_docs, 'doc')} that both graded, {share_words(pair.same)} with the same grade."
    if pair.quadratic_kappa is None:
        return f"{docs} Kappa is undefined: both gave one grade to all of them."
    return f"{docs} Quadratic kappa {pair.quadratic_kappa:.2f}, linear {or_nan(pair.linear_kappa):.2f}."


def number_cell(value: float | None, form: str = ".2f") -> Cell:
    return Cell(NONE) if value is None else Cell(f"{value:{form}}", raw=repr(value))


def count_cell(share: CountOf) -> Cell:
    return Cell(f"{share.n:,} of {share.of:,}" if share.of else NONE)


def pairs_table(found: AgreementReport) -> Table:
    rows = [
        [
            Cell(pair.first),
            Cell(pair.second),
            Cell(f"{pair.n_docs:,}", raw=str(pair.n_docs)),
            number_cell(pair.quadratic_kappa),
            number_cell(pair.linear_kappa),
            number_cell(pair.plain_kappa),
            Cell(share_words(pair.same)),
        ]
        for pair in found.pairs
    ]
    header = ["rater", "and", "docs in common", "quadratic kappa", "linear", "plain", "same grade"]
    return Table(header, rows, n_name_columns=2, optional=("plain", "linear"), keep=("and", "quadratic kappa"))


def raters_table(found: AgreementReport) -> Table:
    header = ["rater", "remark", "docs", "queries", "median time", "alpha with the rest", "kinder by", "own agreement"]
    header += ["gold", "flags", "cannot tell"]
    rows = [
        [
            Cell(rater.name),
            Cell(remark_of(rater, found.n_raters)),
            Cell(f"{rater.n_docs:,}", raw=str(rater.n_docs)),
            Cell(f"{rater.n_queries:,}", raw=str(rater.n_queries)),
            number_cell(rater.median_seconds, ".0f") if rater.median_seconds is None else seconds_cell(rater),
            number_cell(rater.alpha_with_rest),
            number_cell(rater.kinder_by, "+.2f"),
            count_cell(rater.own),
            count_cell(rater.gold),
            Cell(f"{rater.n_flags:,}", raw=str(rater.n_flags)),
            Cell(f"{rater.n_cannot_tell:,}", raw=str(rater.n_cannot_tell)),
        ]
        for rater in found.raters
    ]
    note = (
        "alpha with the rest: of the rater's grades and the lower medians of the others'; kinder by: the mean "
        "difference from the others' means; own agreement: docs shown a second time that got the same grade"
    )
    optional = ("cannot tell", "flags", "gold", "own agreement", "kinder by", "median time", "queries")
    return Table(header, rows, n_name_columns=2, notes=[note], optional=optional, keep=("alpha with the rest",))


def seconds_cell(rater: RaterSummary) -> Cell:
    return Cell(f"{or_nan(rater.median_seconds):.3g} s", raw=repr(rater.median_seconds))


def remark_of(rater: RaterSummary, n_raters: int) -> str:
    if rater.remarks:
        return ", ".join(rater.remarks)
    if n_raters < 2:
        return NONE
    if not rater.n_common:
        return "no doc in common with others"
    return "nothing unusual" if n_raters > 2 else NONE  # of two who differ, nobody knows who is right


def hardest_table(found: AgreementReport) -> Table:
    names = [rater.name for rater in found.raters]
    rows = [
        [
            *query_cells(each.query, each.query_text),
            *doc_cells(each.doc, each.title),
            shortened_cell("; ".join(f"“{note}”" for note in each.notes), NOTE_WIDTH),
            *(Cell(f"{each.grades[name]:g}" if name in each.grades else "") for name in names),
        ]
        for each in found.hardest
    ]
    header = ["query", "query id", "doc", "doc id", "notes", *names]
    shown = names if len(names) <= MOST_ON_PHONE else ()
    table = Table(header, rows, n_name_columns=5, optional=("query id", "doc id"), keep=("doc", *shown))
    return without_empty(table, "query id", "doc id", "notes")


def queries_table(found: AgreementReport) -> Table:
    rows = [
        [
            *query_cells(each.query, each.query_text),
            Cell(f"{each.n_docs:,}", raw=str(each.n_docs)),
            Cell(f"{each.n_differ:,}", raw=str(each.n_differ)),
            number_cell(each.mean_steps),
        ]
        for each in found.hardest_queries
    ]
    header = ["query", "id", "docs graded twice", "with different grades", "mean steps apart"]
    return without_empty(Table(header, rows, n_name_columns=2, keep=("mean steps apart",)), "id")


def given_table(found: AgreementReport) -> Table:
    rows = [
        [
            Cell(f"{each.grade:g} {each.label}".strip()),
            Cell(f"{each.share.n:,}", raw=str(each.share.n)),
            Cell(share_words(each.share)),
        ]
        for each in found.given
    ]
    return Table(["grade", "times", "share"], rows)


def orders_table(found: AgreementReport) -> Table:
    rows = [
        [Cell(each.name), Cell(", ".join(" = ".join(same) for same in each.places)), number_cell(each.tau)]
        for each in found.verdicts.orders
    ]
    ties = any(len(each.places) < len(each.order) for each in found.verdicts.orders)
    notes = [
        "tau: Kendall's tau-b of the systems' means with those by all grades; 1 is the same order",
        *(["a = b: both have the same mean"] if ties else []),
    ]
    return Table(
        ["by the grades of", "best mean first", "tau"], rows, n_name_columns=2, notes=notes, keep=("best mean first",)
    )


def errors_table(rater: RaterErrors) -> Table:
    grades = [f"{grade:g}" for grade in rater.grades]
    rows = [
        [Cell(f"{name} is right"), *(number_cell(value) for value in row)]
        for name, row in zip(grades, rater.matrix, strict=True)
    ]
    return Table(["", *(f"gave {name}" for name in grades)], rows)


def reading_of(found: AgreementReport) -> Iterator[str]:
    """Yield what must be known of the numbers."""
    yield (
        "Alpha (Krippendorff) is 1 where all agree and 0 where grades agree as by chance: from "
        f"{RELIABLE:.2f} on it is called reliable, from {TENTATIVE:g} on tentative. Relevance is often below; whether "
        "the verdict holds under each rater says more."
    )
    yield "Its interval comes from drawing whole queries again, as the grades of one query go wrong together."
    if found.ac2 is not None and found.nominal_alpha is not None:
        yield (
            f"Beside it: alpha that knows only same and different {found.nominal_alpha:.2f}; Gwet's AC2 "
            f"{found.ac2:.2f}, which is high wherever one grade is given to almost everything, and decides nothing."
        )
    if found.verdicts.pairs:
        yield (
            "Each line of a rater uses only that rater's grades, on the queries of which the rater graded a doc or of "
            "which there was nothing to judge, and labels of other docs that the task began with, if any. A verdict of "
            "better or worse is lowered to “probably” where the interval of a rater lies on the other side of 0."
        )
