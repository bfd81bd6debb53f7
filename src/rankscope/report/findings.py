"""What `rankscope validate` found, made ready to be read: text grouped by file, and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankscope._version import __version__
from rankscope.analysis.validate import LEVELS, Finding
from rankscope.report.evaluation import closed_object

STYLES = {"error": "bold red", "warning": "yellow", "remark": "dim"}
LEVELS_IN_WORDS = (
    "error: an evaluation would stop, or its numbers would be wrong; warning: they may mislead; remark: good to know"
)
INDENT = 2
LEVEL_WIDTH = max(map(len, LEVELS)) + 2


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file that was looked at."""

    path: str
    kind: str
    format: str
    n_rows: int
    n_queries: int


@dataclass(frozen=True, slots=True)
class FindingsReport:
    """What was found in which files; each finding's `where` is the path of one of them."""

    files: tuple[FileInfo, ...]
    findings: tuple[Finding, ...]

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing but remarks."""
        return all(finding.level == "remark" for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the text, before it is wrapped: what it says, how far it is indented, and in which style."""

    text: str
    indent: int = 0
    style: str = ""
    label: str = ""
    """What stands in the margin, in the style of the line; the text itself is then plain."""


def json_text(report: FindingsReport) -> str:
    """Return the report as JSON; in ASCII, since a path may hold bytes that are not text."""
    record = {
        "rankscope": __version__,
        "findings": [dataclasses.asdict(finding) for finding in report.findings],
        "files": [dataclasses.asdict(file) for file in report.files],
    }
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the record."""
    text = {"type": "string"}
    count = {"type": "integer", "minimum": 0}
    finding = {
        "level": {"enum": list(LEVELS), "description": LEVELS_IN_WORDS},
        "code": {**text, "pattern": "^[a-z0-9_]+$", "description": "what was found, as a name to rely on"},
        "where": {**text, "description": "the path of the file that it was found in"},
        "message": {**text, "description": "what was found, in words that may change between versions"},
        "examples": {"type": "array", "items": text, "description": "a few of the places"},
        "hint": {**text, "description": "what to do about it; empty where there is nothing to do"},
    }
    file = {
        "path": {**text, "description": "as given; - is standard input"},
        "kind": {"enum": ["qrels", "run"]},
        "format": {**text, "description": "the format it was read as"},
        "n_rows": {**count, "description": "rows read, without those of malformed lines"},
        "n_queries": {**count, "description": "queries among them, and those listed without any row"},
    }
    record = {
        "rankscope": {**text, "description": "the version that made the record"},
        "findings": {
            "type": "array",
            "items": closed_object(finding),
            "description": "in the order of the files, the worst of each first",
        },
        "files": {
            "type": "array",
            "items": closed_object(file),
            "minItems": 2,
            "description": "the qrels, then the runs",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What is odd about qrels and runs, as printed by rankscope validate --format json",
        **closed_object(record),
    }


def text_lines(report: FindingsReport) -> Iterator[Line]:
    """Return the report as lines: file by file, then how it ended."""
    for file in report.files:
        yield Line(f"{printable(file.path)} ({file.kind}, {file.format})", style="bold")
        yield Line(f"{file.n_rows:,} rows, {file.n_queries:,} queries", indent=INDENT, style="dim")
        for finding in report.findings:
            if finding.where == file.path:
                yield from finding_lines(finding)
        yield Line("")
    yield Line(conclusion(report))


def finding_lines(finding: Finding) -> Iterator[Line]:
    """Return one finding as lines: what it is, examples, and what to do."""
    yield Line(finding.message, indent=INDENT, style=STYLES[finding.level], label=finding.level)
    for example in finding.examples:
        yield Line(printable(example), indent=INDENT + LEVEL_WIDTH + 2, style="dim")
    if finding.hint:
        yield Line(f"hint: {finding.hint}", indent=INDENT + LEVEL_WIDTH)


def conclusion(report: FindingsReport) -> str:
    """Return how many findings of each level there are."""
    counts = {level: sum(finding.level == level for finding in report.findings) for level in LEVELS}
    counted = ", ".join(f"{n} {level}{'' if n == 1 else 's'}" for level, n in counts.items() if n)
    if not report.is_fine:
        return counted
    return f"nothing odd found ({counted})" if counted else "nothing odd found"


def printable(text: str) -> str:
    """Return a text that any terminal can print: bytes that are not UTF-8 as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def print_findings(report: FindingsReport) -> None:
    """Draw the report in the terminal; piped output has neither colour nor line breaks within lines."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=100_000, legacy_windows=False)
    for line in text_lines(report):
        first = " " * line.indent + (f"{line.label:<{LEVEL_WIDTH}}" if line.label else "")
        body = Text(line.text, style="" if line.label else line.style)
        for i, part in enumerate(body.wrap(console, max(20, console.width - len(first)))):
            margin = Text(first if i == 0 else " " * len(first), style=line.style)
            part.rstrip()
            console.print(Text.assemble(margin, part), soft_wrap=True)
