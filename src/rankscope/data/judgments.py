"""Single judgments: who said what of a doc, when; one line each, which are added to and never changed.

Qrels hold one grade for a query and a doc. Where they come from is kept here: grades, but also flags with a note, and
choices ("this is the one I would take"), of people and of judges that are models. A file of them is JSONL, sorted by
uuid, so that two files merge line by line.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rankscope.errors import FormatError
from rankscope.io.files import write_text
from rankscope.io.source import PathLike
from rankscope.io.table import read_rows
from rankscope.records import Record, from_builtins, replace, to_builtins, to_json

_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # that of addresses (RFC 4122)

LONGEST_NOTE = 2000
_NO_TEXT = re.compile("[\\x00\ud800-\udfff]")
"""Halves of characters, which files cannot hold, and NUL, which some databases cannot."""

JudgmentStatus = Literal["ok", "skipped", "cannot_tell", "withdrawn", "unparsable", "out_of_scale", "refused", "failed"]
"""Only `ok` may have a grade."""
STATUSES: Mapping[str, tuple[JudgmentStatus, ...]] = {
    "person": ("ok", "skipped", "cannot_tell", "withdrawn"),
    "judge": ("ok", "unparsable", "out_of_scale", "refused", "failed"),
}
"""By the kind of the source."""


class JudgmentSource(Record, omit_defaults=True):
    """Who judged: a person, or a judge that is a model."""

    kind: Literal["person", "judge"]
    id: str = ""
    """Of a person, where it is known."""
    name: str = ""
    """Of a judge; in files also of a person, beside the id."""
    model: str = ""
    """Of a judge, as it is called where it runs."""


class JudgmentCost(Record, omit_defaults=True):
    """What a judgment of a model took."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None


class SingleJudgment(Record, kw_only=True, forbid_unknown_fields=True):
    """What somebody said of one doc for one query."""

    query: str
    doc: str
    source: JudgmentSource
    uuid: str = ""
    """Made where the judgment is written down first; the same judgment, sent again, has the same one."""
    grade: float | None = None
    """How relevant the doc is; None where no grade was given."""
    scale: tuple[float, ...] | None = None
    """All grades that could be given."""
    status: JudgmentStatus = "ok"
    flag: bool = False
    """Whether the doc was marked as wrong for the query."""
    choice: bool = False
    """Whether it is the one that would be taken."""
    note: str = ""
    at: str | None = None
    """When, as ISO 8601; None where it is not known."""
    purpose: Literal["audit", "other"] = "other"
    """`audit`: drawn at random by a plan; all else is `other`."""
    system: str | None = None
    """The system in whose list the doc was shown."""
    collection: str | None = None
    task: str | None = None
    """What the rater was asked to do; the same rater may judge a doc once in each task."""
    guideline: str | None = None
    """The sha256 of the text that the rater followed."""
    seconds: float | None = None
    """How long it took."""
    cost: JudgmentCost | None = None

    @property
    def rater(self) -> str:
        """Stands for who judged; a judge that is a model is another one with another model."""
        names = (self.source.id,) if self.source.kind == "person" else (self.source.name, self.source.model)
        return " ".join([self.source.kind, *(json.dumps(name) for name in names)])


def as_text(given: str) -> str:
    """Return a note or a guideline as it is kept: what is no character is replaced by the sign for that."""
    return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", given)


def is_duration(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0


LATER_FIELDS = ("collection", "task", "guideline", "seconds", "cost")
"""Left out where they say nothing: lines that were written before they existed stay the same, and so do their uuids."""


def judgment_record(judgment: SingleJudgment) -> dict[str, Any]:
    """Return a judgment as a line of a file holds it."""
    if judgment.seconds is not None and not is_duration(judgment.seconds):
        judgment = replace(judgment, seconds=None)  # JSON has no such number
    record: dict[str, Any] = to_builtins(judgment)
    return {name: value for name, value in record.items() if value is not None or name not in LATER_FIELDS}


def with_uuid(judgment: SingleJudgment) -> SingleJudgment:
    """Return a judgment with a uuid made from what it says, so that importing it again gives the same one."""
    content = json.dumps(judgment_record(replace(judgment, uuid="")), sort_keys=True, ensure_ascii=True)
    return replace(judgment, uuid=str(uuid.uuid5(_NAMESPACE, content)))


def write_judgments(judgments: Iterable[SingleJudgment], path: str | Path) -> None:
    """Write one line each, sorted by uuid."""
    lines = (judgment_record(judgment) for judgment in sorted(judgments, key=lambda judgment: judgment.uuid))
    write_text(Path(path), "".join(to_json(line, indent=None) + "\n" for line in lines))


def read_judgments(path: PathLike) -> tuple[SingleJudgment, ...]:
    """Return the judgments in a file of JSONL; a line that is none is an error."""
    return check_judgments(read_rows(path, format="jsonl"), where=str(path))


def check_judgments(rows: Iterable[tuple[int, Mapping[str, Any]]], *, where: str) -> tuple[SingleJudgment, ...]:
    """Return numbered rows as judgments, each uuid once."""
    found: dict[str, SingleJudgment] = {}
    for number, row in rows:
        place = f"{where}:{number}"
        judgment = from_builtins(SingleJudgment, dict(row), where=place)
        if problem := problem_with(judgment):
            raise FormatError(f"{place}: {problem}", hint="docs/formats.md says what a judgment holds")
        if found.setdefault(judgment.uuid, judgment) != judgment:
            raise FormatError(f"{place}: the uuid {judgment.uuid} stands for another judgment, too")
    return tuple(found.values())


def stamp_problem(identifier: str, at: str | None) -> str:
    """Return why a uuid, or the time that something was said at, cannot be read; empty where both can."""
    try:
        uuid.UUID(identifier)
    except ValueError:
        return f"its uuid {identifier!r} cannot be read"
    try:
        if at is not None:
            datetime.fromisoformat(at)
    except ValueError:
        return f"its time {at!r} cannot be read: a time is written as 2026-03-14T09:26:53+00:00"
    return ""


def is_earlier(at: str | None, other: str | None) -> bool:
    """Tell whether something was said before something else, where both times are known; one without a zone is UTC."""
    if at is None or other is None:
        return False
    return moment_of(at) < moment_of(other)


def moment_of(at: str) -> datetime:
    moment = datetime.fromisoformat(at)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def problem_with(judgment: SingleJudgment) -> str:
    """Return what a judgment says that it cannot say; empty where it is fine."""
    if problem := stamp_problem(judgment.uuid, judgment.at):
        return problem
    if judgment.grade is not None and not math.isfinite(judgment.grade):
        return f"its grade is {judgment.grade}"
    if judgment.seconds is not None and not is_duration(judgment.seconds):
        return f"it took {judgment.seconds:g} seconds, which is no time"
    numbers = [*(judgment.scale or ()), (judgment.cost.usd if judgment.cost else None) or 0.0]
    if not all(map(math.isfinite, numbers)):
        return "its scale or its cost is not finite"
    if not judgment.query or not judgment.doc:
        return "it has no query or no doc"
    kind = judgment.source.kind
    if judgment.status not in STATUSES[kind]:
        return f"its status {judgment.status} is none of a {kind}: {', '.join(STATUSES[kind])}"
    if judgment.grade is not None and judgment.status != "ok":
        return f"it has a grade, but its status is {judgment.status}"
    if judgment.grade is not None and judgment.scale is not None and judgment.grade not in judgment.scale:
        return f"its grade {judgment.grade:g} is not on its scale {', '.join(f'{grade:g}' for grade in judgment.scale)}"
    if judgment.status == "ok" and judgment.grade is None and not judgment.flag and not judgment.choice:
        return "it says nothing: no grade, no flag, no choice"
    return ""


class JudgmentSummary(Record):
    """How many judgments of one kind there are, and of what."""

    n: int
    by_system: dict[str, int]
    by_doc: dict[str, int]
    """The docs that were judged so most often come first."""
    notes: dict[str, int]
    """What was noted, with how often."""

    @property
    def in_words(self) -> str:
        """For example `parallel 2, algorithmic 1; most often p2 (2); "wrong city" 2`."""
        systems = ", ".join(f"{name} {n}" for name, n in self.by_system.items())
        often = [f"{doc} ({n})" for doc, n in list(self.by_doc.items())[:3] if n > 1]
        noted = [f'"{note}" {n}' for note, n in list(self.notes.items())[:3]]
        parts = (systems, f"most often {', '.join(often)}" if often else "", ", ".join(noted))
        return "; ".join(part for part in parts if part)


def summarise_judgments(judgments: Sequence[SingleJudgment]) -> JudgmentSummary:
    def counted(values: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for value in values:
            found[value] = found.get(value, 0) + 1
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    return JudgmentSummary(
        len(judgments),
        counted(judgment.system for judgment in judgments if judgment.system),
        counted(judgment.doc for judgment in judgments),
        counted(judgment.note for judgment in judgments if judgment.note),
    )
