"""A little Markdown, as guidelines use it: headings, lists, paragraphs, bold, code. All of it is text, none is HTML."""

from __future__ import annotations

import re
from typing import Literal

from rankscope.judging.guidelines import REASONS, SCALE
from rankscope.records import Record

_INLINE = re.compile(r"\*\*(.+?)\*\*|`(.+?)`")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")


class MarkdownSpan(Record):
    """A part of a line."""

    text: str
    kind: Literal["plain", "bold", "code"] = "plain"


class MarkdownBlock(Record):
    """A heading, a paragraph, or a list."""

    kind: Literal["heading", "paragraph", "list"]
    lines: tuple[tuple[MarkdownSpan, ...], ...]
    """Of a list its items; else one."""


def markdown_blocks(text: str) -> tuple[MarkdownBlock, ...]:
    """Return the blocks of a text; what is none of the few signs known here stays as it was written."""
    reader = BlockReader()
    for line in text.splitlines():
        reader.take(line)
    reader.finish()
    return tuple(reader.blocks)


class BlockReader:
    """Reads a text line by line: `lines` are those of the block that is not finished yet."""

    def __init__(self) -> None:
        self.blocks: list[MarkdownBlock] = []
        self.kind: Literal["paragraph", "list"] = "paragraph"
        self.lines: list[str] = []

    def take(self, line: str) -> None:
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        if heading or not line.strip():
            self.finish()
            if heading:
                self.blocks.append(MarkdownBlock("heading", (spans(heading[2]),)))
        elif item:
            self.begin("list")
            self.lines.append(item[1])
        elif self.kind == "list" and self.lines and line[:1].isspace():
            self.lines[-1] += f" {line.strip()}"
        else:
            self.begin("paragraph")
            self.lines.append(line.strip())

    def begin(self, kind: Literal["paragraph", "list"]) -> None:
        if kind != self.kind:
            self.finish()
            self.kind = kind

    def finish(self) -> None:
        if self.lines:
            texts = self.lines if self.kind == "list" else [" ".join(self.lines)]
            self.blocks.append(MarkdownBlock(self.kind, tuple(spans(text) for text in texts)))
            self.lines = []


def spans(text: str) -> tuple[MarkdownSpan, ...]:
    """Return the parts of a line: plain, bold, code."""
    found: list[MarkdownSpan] = []
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            found.append(MarkdownSpan(text[at : match.start()]))
        found.append(MarkdownSpan(match[1] or match[2], "bold" if match[1] else "code"))
        at = match.end()
    if at < len(text):
        found.append(MarkdownSpan(text[at:]))
    return tuple(found)


def without_scale(text: tuple[MarkdownBlock, ...]) -> tuple[MarkdownBlock, ...]:
    """Return a guideline without the lists that are shown by themselves: the scale, and reasons for a flag."""
    kept: list[MarkdownBlock] = []
    heading = ""
    for block in text:
        if block.kind == "heading":
            heading = "".join(span.text for span in block.lines[0]).strip().lower()
        if heading in (SCALE, REASONS) and block.kind != "paragraph":
            continue
        kept.append(block)
    return tuple(kept)
