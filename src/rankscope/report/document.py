"""A report as data: what stands in it, in which order; renderers turn it into text, HTML or LaTeX.

A report is made of records, so it can be written as JSON (`records.to_json`), read back equal, and rendered elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from rankscope.analysis.side_by_side import SideBySide
from rankscope.printable import counted
from rankscope.records import Record, StoredRecord, or_none, to_builtins
from rankscope.report.table import Cell, Table
from rankscope.report.words import query_cells, without_empty
from rankscope.shown import Rendered

Mark = Literal[
    "better", "probably_better", "worse", "probably_worse", "same", "unsure", "unsafe", "fine", "look", "fails", "note"
]
"""How a statement is meant: verdicts, then checks (fine, look, fails), and what is neither. Renderers show it by a
shape and a word as well as by colour."""


class VerdictBlock(Record, tag="verdict"):
    """The answer in plain words: what to do or what is so, the reason for it, and what limits it."""

    headline: str
    reason: str
    mark: Mark
    subject: str = ""
    """What it is about, e.g. `nDCG@10 · dense vs bm25 (baseline) · 54 queries`."""
    cautions: tuple[str, ...] = ()


class Fact(Record):
    """A number that the answer rests on: what it is, its value, and what to compare it with."""

    label: str
    value: str
    context: str = ""


class Facts(Record, tag="facts"):
    """At most five numbers below the answer."""

    title: str
    facts: tuple[Fact, ...]


class VerdictCount(Record):
    """How many systems have one verdict, and which."""

    mark: Mark
    words: str
    """The verdict, such as `probably better`."""
    names: tuple[str, ...]


class VerdictCounts(Record, tag="verdict_counts"):
    """How often there is each verdict, as a row of named groups."""

    title: str
    groups: tuple[VerdictCount, ...]


class Signal(Record):
    """One answer to "can I trust it?": a name, a mark, and words."""

    name: str
    mark: Mark
    words: str


class Signals(Record, tag="signals"):
    """All such answers."""

    title: str
    signals: tuple[Signal, ...]


class Estimate(Record):
    """A difference with its interval, as numbers to be drawn and as words to be read."""

    name: str
    value: float | None
    """None where it is undefined, as are the ends of the interval where it has none."""
    low: float | None
    high: float | None
    words: str
    """E.g. `+0.042 (95% CI +0.011 to +0.073)`."""
    mark: Mark | None = None
    """Of the verdict on it, where there is one."""
    verdict: str = ""
    """The verdict in a word or two, beside the drawing."""
    short: str = ""
    """The words without what holds for all, such as `+0.042 [+0.011, +0.073]`, for places with little room."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            msgspec.structs.force_setattr(self, name, or_none(getattr(self, name)))

    @property
    def numbers(self) -> tuple[float, float, float] | None:
        """The lower end, the value and the upper end; None where one of them is undefined and nothing can be drawn."""
        if self.low is None or self.value is None or self.high is None:
            return None
        return self.low, self.value, self.high

    @property
    def drawn(self) -> tuple[float, float, float] | None:
        """What is drawn beside others that have intervals: without one the value alone, as a point."""
        if self.value is not None and self.low is None and self.high is None:
            return self.value, self.value, self.value
        return self.numbers


class Estimates(Record, tag="estimates"):
    """Differences drawn below one another on one axis, with zero and the margin of what matters."""

    title: str
    estimates: tuple[Estimate, ...]
    margin: float = 0.0


class Paragraph(Record, tag="paragraph"):
    """A paragraph of plain text."""

    text: str


class Bullets(Record, tag="bullets"):
    """A short list of statements under a title."""

    title: str
    items: tuple[str, ...]
    numbered: bool = False
    """Whether they are steps, one after the other."""


class TableBlock(Record, tag="table"):
    """A table with a title; its notes say what must be known to read it."""

    title: str
    table: Table
    folded: bool = False
    """Whether it is long detail, shown on demand where the medium can (per-query rows)."""


class Figure(Record, tag="figure"):
    """A chart, as SVG with its text alternative; media without pictures show the alternative."""

    title: str
    svg: str
    alt: str


class SideBySideBlock(Record, tag="side_by_side"):
    """Two rankings of one query; media without columns of text show them as a table."""

    title: str
    sides: SideBySide
    table: Table
    """The same as a table."""


class ChangedQuery(Record):
    """A query whose score changed: what was asked, what became of it, and both rankings where they are known."""

    query: str
    text: str
    """Empty where it is not known."""
    before: float
    after: float
    mark: Mark
    """better or worse, whichever way the measure counts."""
    why: str = ""
    """What happened, in a few words: `the relevant doc fell from 1 to 5`."""
    sides: SideBySide | None = None


class ChangedQueries(Record, tag="changed_queries"):
    """Queries that got better, or worse, the most changed first."""

    title: str
    queries: tuple[ChangedQuery, ...]
    first: int = 1
    """The number of the first of them, where others stand before: `rankscope show --loss N` counts the same way."""
    note: str = ""
    """How to see others."""
    folded: bool = False
    """Whether they are shown on demand where the medium can."""


class CheckedTarget(Record):
    """What came of one target: what it is called and about, what is so, and a few lines of what is there instead."""

    name: str
    mark: Mark
    outcome: str
    """In a word: `failed`."""
    about: str
    """The query and the run: `when are you open (q17) · hybrid`."""
    words: str
    instead: tuple[str, ...] = ()
    small: str = ""
    """Why it matters, who owns it, what it weighs, its quarantine."""


class CheckedTargets(Record, tag="checked_targets"):
    """Targets, the most important first."""

    title: str
    targets: tuple[CheckedTarget, ...]
    note: str = ""


class Share(Record):
    """A part of a whole: its name, how large it is, and what to know of it."""

    name: str
    value: float
    words: str = ""


class Shares(Record, tag="shares"):
    """The parts of a whole, drawn as one bar: what is reached, and what is lost to what."""

    title: str
    shares: tuple[Share, ...]


Block: TypeAlias = (
    VerdictBlock
    | Facts
    | VerdictCounts
    | Signals
    | Estimates
    | Paragraph
    | Bullets
    | TableBlock
    | SideBySideBlock
    | ChangedQueries
    | CheckedTargets
    | Shares
    | Figure
)
SimpleBlock: TypeAlias = VerdictBlock | Signals | Estimates | Paragraph | Bullets | TableBlock | Figure


class Section(Record):
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]
    intro: str = ""
    folded: bool = False
    """Whether it is detail that is shown on demand where the medium can, such as one of many pairs."""
    within: str = ""
    """What it is a part of, such as a collection or the pairs; the contents list it below that, folded."""


class Report(Rendered, StoredRecord):
    """A whole report: the first screen, then sections of detail, then how to obtain it again."""

    title: str
    first_screen: tuple[Block, ...]
    sections: tuple[Section, ...]
    footer: tuple[tuple[str, str], ...]
    """Name and value: seed, hashes, version, the command that reproduces it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dicts, lists, texts and numbers."""
        record: dict[str, Any] = to_builtins(self)
        return record

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {counted(len(self.sections), 'section')})"


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def marked(text: str, marks: Sequence[int]) -> str:
    """Return a cell's text with superscript numbers behind it, e.g. of the systems that it is better than."""
    return text + ",".join(str(mark).translate(_SUPERSCRIPTS) for mark in marks)


def simple(block: Block) -> SimpleBlock:
    """Return a block as a list or a table, for media that have no better way to show it."""
    match block:
        case Facts():
            items = tuple(
                f"{fact.label}: {fact.value}{f' ({fact.context})' if fact.context else ''}" for fact in block.facts
            )
            return Bullets(block.title, items)
        case VerdictCounts():
            items = tuple(f"{len(group.names)} {group.words}: {', '.join(group.names)}" for group in block.groups)
            return Bullets(block.title, items)
        case SideBySideBlock():
            return TableBlock(block.title, block.table)
        case ChangedQueries():
            return TableBlock(block.title, changed_table(block), block.folded)
        case CheckedTargets():
            return TableBlock(block.title, targets_table(block))
        case Shares():
            rows = [
                [Cell(one.name), Cell(f"{one.value:.4f}", raw=repr(one.value)), Cell(one.words)] for one in block.shares
            ]
            return TableBlock(block.title, Table(["part", "share", ""], rows))
        case _:
            return block


def changed_table(block: ChangedQueries) -> Table:
    rows = [
        [
            Cell(str(i)),
            *query_cells(one.query, one.text),
            Cell(one.why),
            *(Cell(f"{score:.4f}", raw=repr(score)) for score in (one.before, one.after)),
            Cell(f"{one.after - one.before:+.4f}", raw=repr(one.after - one.before)),
        ]
        for i, one in enumerate(block.queries, block.first)
    ]
    header = ["", "query", "id", "what happened", "before", "after", "change"]
    notes = (block.note,) if block.note else ()
    table = Table(header, rows, n_name_columns=4, notes=notes, optional=("id",), keep=("change",))
    return without_empty(table, "id", "what happened")


def targets_table(block: CheckedTargets) -> Table:
    rows = [
        [
            Cell(one.outcome),
            Cell(one.name),
            Cell(one.about),
            Cell(one.words),
            Cell("; ".join(one.instead)),
            Cell(one.small),
        ]
        for one in block.targets
    ]
    header = ["", "target", "query and run", "what is so", "there instead", "note"]
    notes = (block.note,) if block.note else ()
    return without_empty(Table(header, rows, n_name_columns=6, notes=notes), "there instead", "note")
