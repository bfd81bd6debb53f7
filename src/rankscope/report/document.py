"""A report as data: what stands in it, in which order; renderers turn it into text, HTML or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankscope.report.table import Table

Tone = Literal["good", "caution", "bad", "neutral"]
"""How a statement is meant; renderers show it by a word or mark as well as by colour."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in plain words: a headline, the reason for it, and what limits it."""

    headline: str
    reason: str
    tone: Tone
    subject: str = ""
    """What it is about, e.g. `nDCG@10 · dense vs bm25 (baseline) · 54 queries`."""
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signal:
    """One answer to "can I trust it?": a name, a traffic light, and words."""

    name: str
    tone: Tone
    words: str


@dataclass(frozen=True, slots=True)
class Signals:
    """All such answers."""

    title: str
    signals: tuple[Signal, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference with its interval, as numbers to be drawn and as words to be read."""

    name: str
    value: float
    low: float
    high: float
    words: str
    """E.g. `+0.042 (95% CI +0.011 to +0.073)`."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Differences drawn below one another on one axis, with zero and the margin of what matters."""

    title: str
    estimates: tuple[Estimate, ...]
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A short list of statements under a title."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table with a title; its notes say what must be known to read it."""

    title: str
    table: Table
    folded: bool = False
    """Whether it is long detail, shown on demand where the medium can (per-query rows)."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, as SVG with its text alternative; media without pictures show the alternative."""

    title: str
    svg: str
    alt: str


Block: TypeAlias = "Verdict | Signals | Estimates | Paragraph | Bullets | TableBlock | Figure"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]
    intro: str = ""


@dataclass(frozen=True, slots=True)
class Report:
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
