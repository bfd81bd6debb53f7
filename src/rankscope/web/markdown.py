"""A little Markdown, as guidelines use it: headings, lists, paragraphs, bold, code. All of it is text; nothing is HTML."""

from __future__ import annotations

import re
from typing import Literal

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
    blocks: list[MarkdownBlock] = []
    waiting: list[str] = []
    items: list[str] = []

    def finish() -> None:
        if waiting:
            blocks.append(MarkdownBlock("paragraph", (spans(" ".join(waiting)),)))
        if items:
            blocks.append(MarkdownBlock("list", tuple(spans(item) for item in items)))
        waiting.clear()
        items.clear()

    for line in text.splitlines():
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        if heading or not line.strip():
            finish()
            if heading:
                blocks.append(MarkdownBlock("heading", (spans(heading[2]),)))
        elif item:
            if waiting:
                finish()
            items.append(item[1])
        elif items and line[:1].isspace():
            items[-1] += f" {line.strip()}"
        else:
            if items:
                finish()
            waiting.append(line.strip())
    finish()
    return tuple(blocks)


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
