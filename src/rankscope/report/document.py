"""A report as data: what stands in it, in which order; renderers turn it into text, HTML or LaTeX.

A report is made of records, so it can be written as JSON (`records.to_json`), read back equal, and rendered elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from rankscope.analysis.side_by_side import SideBySide
from rankscope.records import Record, StoredRecord, or_none
from rankscope.report.table import Table

Tone = Literal["good", "caution", "bad", "neutral"]
"""How a statement is meant; renderers show it by a word or mark as well as by colour."""


class VerdictBlock(Record, tag="verdict"):
    """The answer in plain words: a headline, the reason for it, and what limits it."""

    headline: str
    reason: str
    tone: Tone
    subject: str = ""
    """What it is about, e.g. `nDCG@10 · dense vs bm25 (baseline) · 54 queries`."""
    cautions: tuple[str, ...] = ()


class Signal(Record):
    """One answer to "can I trust it?": a name, a traffic light, and words."""

    name: str
    tone: Tone
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

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            msgspec.structs.force_setattr(self, name, or_none(getattr(self, name)))

    @property
    def numbers(self) -> tuple[float, float, float] | None:
        """The lower end, the value and the upper end; None where one of them is undefined and nothing can be drawn."""
        if self.low is None or self.value is None or self.high is None:
            return None
        return self.low, self.value, self.high


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


Block: TypeAlias = VerdictBlock | Signals | Estimates | Paragraph | Bullets | TableBlock | SideBySideBlock | Figure


class Section(Record):
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]
    intro: str = ""


class Report(StoredRecord):
    """A whole report: the first screen, then sections of detail, then how to obtain it again."""

    title: str
    first_screen: tuple[Block, ...]
    sections: tuple[Section, ...]
    footer: tuple[tuple[str, str], ...]
    """Name and value: seed, hashes, version, the command that reproduces it."""


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def marked(text: str, marks: Sequence[int]) -> str:
    """Return a cell's text with superscript numbers behind it, e.g. of the systems that it is better than."""
    return text + ",".join(str(mark).translate(_SUPERSCRIPTS) for mark in marks)
