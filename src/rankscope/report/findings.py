"""What `rankscope validate` found, made ready to be read: text grouped by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

from rankscope.analysis.validate import LEVELS, ValidationReport
from rankscope.printable import counted, printable
from rankscope.records import Record

STYLES = {"error": "bold red", "warning": "yellow", "remark": "dim"}
LEVELS_IN_WORDS = (
    "error: an evaluation would stop, or its numbers would be wrong; warning: they may mislead; remark: good to know"
)
INDENT = 2
LEVEL_WIDTH = max(map(len, LEVELS)) + 2
ENDLESS = 100_000
"""The width of piped output, which is not wrapped."""


class FindingLine(Record):
    """One line of the text, before it is wrapped: what it says, how far it is indented, and in which style."""

    text: str
    indent: int = 0
    style: str = ""
    label: str = ""
    """What stands in the margin, in the style of the line; the text itself is then plain."""


def text_lines(report: ValidationReport) -> Iterator[FindingLine]:
    for file in report.files:
        yield FindingLine(f"{file.path} ({file.kind}, {file.format})", style="bold")
        yield FindingLine(
            f"{counted(file.n_rows, 'row')}, {counted(file.n_queries, 'query')}", indent=INDENT, style="dim"
        )
        for finding in report.findings:
            if finding.where != file.path:
                continue
            yield FindingLine(finding.message, indent=INDENT, style=STYLES[finding.level], label=finding.level)
            for example in finding.examples:
                yield FindingLine(example, indent=INDENT + LEVEL_WIDTH + 2, style="dim")
            if finding.hint:
                yield FindingLine(f"hint: {finding.hint}", indent=INDENT + LEVEL_WIDTH)
        yield FindingLine("")
    yield FindingLine(conclusion(report))


def conclusion(report: ValidationReport) -> str:
    counts = {level: sum(finding.level == level for finding in report.findings) for level in LEVELS}
    counted = ", ".join(f"{n} {level}{'' if n == 1 else 's'}" for level, n in counts.items() if n)
    if not report.is_fine:
        return counted
    return f"nothing odd found ({counted})" if counted else "nothing odd found"


def print_findings(report: ValidationReport) -> None:
    print_lines(text_lines(report), label_width=LEVEL_WIDTH)


def print_lines(lines: Iterable[FindingLine], *, label_width: int, file: TextIO | None = None) -> None:
    """Draw lines in the terminal, wrapped and indented; piped output has neither colour nor line breaks in lines."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, file=file)
    if not console.is_terminal:
        console = Console(highlight=False, file=file, width=ENDLESS, legacy_windows=False)
    for line in lines:
        first = " " * line.indent + (f"{line.label:<{label_width}}" if line.label else "")
        body = Text(printable(line.text), style="" if line.label else line.style)
        for i, part in enumerate(body.wrap(console, max(20, console.width - len(first)))):
            margin = Text(first if i == 0 else " " * len(first), style=line.style)
            part.rstrip()
            console.print(Text.assemble(margin, part), soft_wrap=True)
