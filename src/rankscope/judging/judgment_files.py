"""Files of judgments: what a file is, and what its lines or rows say, as single judgments and preferences.

- single judgments: JSONL with a `source` in each line, as `rankscope import` and `judge export` write them;
- a table with a column that qrels have not, such as `flag`, `rater`, `kind` or `at`, as `judge export` writes it, one
  judgment each row;
- Quepid: a CSV with the columns `query` and `docid`, and either `rating` or a column for each rater; queries are texts;
- exports of the doctor finder, with flags and choices, and of other earlier frameworks;
- qrels of any format, whose grades are those of one rater.

Lines and rows with a `left` and a `right` list are preferences (`preference_files`). What a file says of a rater and of
a doc is taken as it stands here; what becomes of it in a store is decided in `importing`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from rankscope.data.imported import import_collection
from rankscope.data.judgments import JudgmentSource, SingleJudgment, check_judgments
from rankscope.data.loading import load_qrels
from rankscope.data.tasks import AGAIN
from rankscope.errors import BadLinesError, DuplicateError, FormatError, RankscopeError
from rankscope.io.addresses import shown_url
from rankscope.io.formulas import restored_rows
from rankscope.io.numbers import grade_text
from rankscope.io.numbers import number_in as number_of
from rankscope.io.source import source_of
from rankscope.io.table import guess_format, read_rows
from rankscope.judging.preference_files import COLUMNS as PREFERENCE_COLUMNS
from rankscope.judging.preference_files import PreferenceLine, is_preference, preference_line
from rankscope.printable import counted
from rankscope.records import replace

ImportFormat = Literal["judgments", "table", "quepid", "export", "qrels"]
IMPORT_FORMATS: tuple[ImportFormat, ...] = get_args(ImportFormat)
COLUMNS = (
    *("query", "doc", "grade", "status", "flag", "choice", "note", "rater"),
    *("at", "seconds", "purpose", "system", "task", "guideline", "rater_id", "kind", "model"),
    *PREFERENCE_COLUMNS,
)
"""Of a table of judgments, one in each row."""
SAYS_MORE = {"flag", "choice", "note", "status", "rater", "kind", "model", "at", "seconds", "task"}
"""Columns by which a table of judgments is known from qrels."""
QUEPID_COLUMNS = ("query", "docid", "rating")
YES = {"1", "true", "yes", "x"}
NO = {"", "0", "false", "no"}
IMPORTED = "imported"
"""Who judged, where neither the file nor the user says."""
TASK_NUMBER = re.compile(rf"\d+(?:{AGAIN})?")
"""What judgments call a task of a store; another store has another task of this number."""
NO_UUID = str(uuid.UUID(int=0))


def format_of(path: str | Path) -> ImportFormat:
    """Tell what a file is by its first rows; qrels where nothing else fits."""
    head = first_rows(path)
    names = {str(name).strip().lower() for row in head for name in row}
    if (head and {"source", "uuid"} <= names) or says_who(head):
        return "judgments"
    if {"query", "docid"} <= names and not {"doc", "grade"} & names:
        return "quepid"
    if "query" in names and ((SAYS_MORE & names and {"doc", "docid"} & names) or {"left", "right"} <= names):
        return "table"
    try:
        import_collection(path)
    except RankscopeError:
        return "qrels"
    return "export"


def empty_export(path: str | Path) -> ImportFormat | None:
    """Return what an export without any judgment is: no line at all, or a table with nothing but its header."""
    source = source_of(path)
    if guess_format(source.name, b"") == "jsonl":
        return None if source.head(1) else "judgments"
    header, _, rows = source.head(1 << 12).partition(b"\n")
    names = tuple(name.strip() for name in header.decode("utf-8-sig", "replace").split(","))
    if rows:
        return None
    return "table" if names == COLUMNS else "quepid" if names == QUEPID_COLUMNS[:2] else None


def first_rows(path: str | Path) -> list[Mapping[str, Any]]:
    try:
        return [row for _, row in islice(read_rows(path), 20)]
    except RankscopeError:
        return []  # a TREC file has no header, and what is no table is read by those who know it


def says_who(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether lines name who judged as single judgments do: a person, or a model."""
    return any(isinstance(row.get("source"), Mapping) and "kind" in row["source"] for row in rows)


def check_sources(path: str | Path) -> None:
    """Refuse lines of JSON whose `source` would be lost: who judged is there, and not as single judgments say it."""
    source = source_of(path)
    if guess_format(source.name, source.head(1 << 12)) not in ("json", "jsonl"):
        return
    try:
        found = next(((n, row["source"]) for n, row in read_rows(source) if row.get("source") and not row.get("rater")))
    except (StopIteration, RankscopeError):
        return  # what is no table is read by those who know it
    number, said = found
    raise FormatError(
        f"{shown_url(str(path))}:{number}: its source {str(said)[:40]!r} does not say who judged",
        hint='write "source": {"kind": "person", "id": "a name"}, or leave it out',
    )


def preferences_in(path: str | Path, form: ImportFormat, rater: str) -> Iterator[PreferenceLine]:
    """Yield the preferences of a file: lines and rows that name two lists."""
    if form == "judgments":
        for number, row in read_rows(path, format="jsonl"):
            if is_preference(row):
                line = preference_line(row, where=f"{path}:{number}")
                unnamed = line.source.kind == "person" and not (line.source.id or line.source.name)
                yield replace(line, source=JudgmentSource("person", id=rater or IMPORTED)) if unnamed else line
    elif form == "table":
        for number, row in table_rows(path):
            if is_preference(row):
                yield preference_in_table(row, rater, where=f"{path}:{number}")


def preference_in_table(row: Mapping[str, Any], rater: str, *, where: str) -> PreferenceLine:
    exact = {str(name).strip().lower(): cell if isinstance(cell, str) else text_of(cell) for name, cell in row.items()}
    cells = {name: cell.strip() for name, cell in exact.items()}
    value = number_in(cells.get("preference", ""), where=where, what="preference")
    record = {
        **{name: exact.get(name, "") for name in ("query", "left", "right", "note")},
        "source": source_in(cells, rater, where=where),
        "preference": int(value) if value is not None and value.is_integer() else value,
        "status": cells.get("status") or "ok",
        "at": cells.get("at") or None,
        "seconds": number_in(cells.get("seconds", ""), where=where, what="number of seconds"),
        "guideline": cells.get("guideline") or None,
        "task": cells.get("task") or None,
        "again": yes_or_no(cells.get("again", ""), where=where, what="second time"),
    }
    return preference_line(record, where=where)


def kept_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the judgments of lines; a line without a uuid gets one that follows from what it says."""
    n_lines = n_unnamed = 0
    rows = [(number, dict(row)) for number, row in read_rows(path, format="jsonl") if not is_preference(row)]
    with_own = [(number, row) for number, row in rows if row.get("uuid")]
    without = [(number, {**row, "uuid": NO_UUID}) for number, row in rows if not row.get("uuid")]
    found = list(check_judgments(with_own, where=shown_url(str(path))))
    for row in without:
        found += (replace(each, uuid="") for each in check_judgments([row], where=shown_url(str(path))))
    for each in found:
        n_lines += 1
        if each.source.kind == "person" and not (each.source.id or each.source.name):
            n_unnamed += 1
            yield replace(each, source=replace(each.source, id=rater), uuid="") if rater else each
        else:
            yield each
    if rater and n_unnamed < n_lines:
        named = counted(n_lines - n_unnamed, "judgment")
        notes.append(f"the file says who made {named}, so {rater} did not")


def table_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the judgments of a table, one in each row; rows that say nothing are counted."""
    empty = 0
    for number, row in table_rows(path):
        if is_preference(row):
            continue
        cells = {str(name).strip().lower(): text_of(cell) for name, cell in row.items()}
        where = f"{path}:{number}"
        grade = number_in(cells.get("grade", ""), where=where, what="grade")
        flag, choice = (yes_or_no(cells.get(name, ""), where=where, what=name) for name in ("flag", "choice"))
        status = cells.get("status") or "ok"
        if grade is None and not flag and not choice and status == "ok":
            empty += 1
            continue
        record = {
            "query": cells.get("query", ""),
            "doc": cells.get("doc") or cells.get("docid", ""),
            "source": source_in(cells, rater, where=where),
            "guideline": cells.get("guideline") or None,
            "grade": grade,
            "status": status,
            "flag": flag,
            "choice": choice,
            "note": next((str(cell) for name, cell in row.items() if is_note(name) and cell is not None), ""),
            "at": cells.get("at") or None,
            "seconds": number_in(cells.get("seconds", ""), where=where, what="number of seconds"),
            "purpose": cells.get("purpose") or "other",
            "system": cells.get("system") or None,
            "task": cells["task"] if TASK_NUMBER.fullmatch(cells.get("task", "")) else None,
            "uuid": NO_UUID,
        }
        yield from (replace(each, uuid="") for each in check_judgments([(number, record)], where=shown_url(str(path))))
    if empty:
        notes.append(f"{counted(empty, 'row')} without grade, flag and choice left out")


def source_in(cells: Mapping[str, str], rater: str, *, where: str) -> dict[str, str]:
    """Return who judged, as a row of a table says it: a person, with the id where there is one, or a model."""
    kind, who = cells.get("kind", "").lower() or "person", cells.get("rater", "")
    if kind == "judge":
        return {"kind": "judge", "name": who, "model": cells.get("model", "")}
    if kind != "person":
        raise FormatError(f"{where}: {kind[:40]!r} is no kind of rater", hint="write person, or judge for a model")
    if who and cells.get("rater_id"):
        return {"kind": "person", "id": cells["rater_id"], "name": who}
    return {"kind": "person", "id": who or rater or IMPORTED}


def quepid_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the ratings of a case of Quepid, or those of each rater of a book."""
    empty = 0
    for number, row in table_rows(path):
        cells = {quepid_column(str(name)): text_of(cell) for name, cell in row.items()}
        query, doc = cells.pop("query", ""), cells.pop("docid", "")
        if not query or not doc:
            raise FormatError(f"{path}:{number}: the row has no query or no docid")
        empty += not any(cells.values())
        for name, cell in cells.items():
            who = (rater or IMPORTED) if name == "rating" else name
            grade = number_in(cell, where=f"{path}:{number}", what="rating")
            if grade is not None:
                yield SingleJudgment(query=query, doc=doc, source=JudgmentSource("person", id=who), grade=grade)
    if empty:
        notes.append(f"{counted(empty, 'row')} without a rating left out")


def quepid_column(name: str) -> str:
    """Return the name of a column: of Quepid's own in small letters, of a rater as it is."""
    own = name.strip().lower()
    return own if own in QUEPID_COLUMNS else name.strip()


def exported_judgments(path: str | Path, query: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield flags, choices and grades of an earlier framework's export; verdicts of models are left out."""
    opinions = import_collection(path, query=query or None).opinions
    yield from (replace(each, uuid="") for each in of_people(opinions, notes))


def of_people(judgments: Sequence[SingleJudgment], notes: list[str]) -> list[SingleJudgment]:
    """Return the judgments of people; those of models are counted, never taken for a person's."""
    people = [each for each in judgments if each.source.kind == "person"]
    if len(people) < len(judgments):
        notes.append(f"{counted(len(judgments) - len(people), 'judgment')} of a model left out: people judge in tasks")
    return people


def qrels_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the grades of qrels; grades below 0 say that nobody judged a doc."""
    try:
        rows = load_qrels(str(path), duplicates="error").rows
    except (DuplicateError, BadLinesError, FormatError) as error:  # of what it says to try, an import has no option
        error.hint = "`rankscope validate` says what is odd about the file"
        if isinstance(error, DuplicateError):
            error.hint = "keep one grade for each doc; several raters are told apart by a column `rater`"
        raise
    raters = rows.rater if rows.rater is not None else [rater] * len(rows)
    unjudged = 0
    for query, doc, grade, who in zip(rows.query, rows.doc, rows.grade.tolist(), raters, strict=True):
        if grade < 0:
            unjudged += 1
            continue
        yield SingleJudgment(
            query=query, doc=doc, source=JudgmentSource("person", id=str(who or rater or IMPORTED)), grade=grade
        )
    if unjudged:
        notes.append(f"{counted(unjudged, 'doc')} with a grade below 0, which is none, left out")


READERS = {
    "judgments": kept_judgments,
    "table": table_judgments,
    "quepid": quepid_judgments,
    "qrels": qrels_judgments,
}


def table_rows(path: str | Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    """Return the rows of a table; texts that our CSV has marked as no formulas are as they were."""
    source = source_of(path)
    rows = read_rows(source)
    return restored_rows(rows) if guess_format(source.name, source.head(1 << 12)) == "csv" else rows


def is_note(name: Any) -> bool:
    """Tell whether a column holds notes, which are kept to the last blank."""
    return str(name).strip().lower() == "note"


def text_of(cell: Any) -> str:
    if cell is None:
        return ""
    return grade_text(cell) if isinstance(cell, float) else str(cell).strip()


def yes_or_no(cell: str, *, where: str, what: str) -> bool:
    if cell.lower() not in YES | NO:
        raise FormatError(
            f"{where}: {cell[:40]!r} does not say whether there is a {what}", hint="write yes, or nothing"
        )
    return cell.lower() in YES


def number_in(cell: str, *, where: str, what: str) -> float | None:
    if not cell:
        return None
    number = number_of(cell)
    if number is None:
        raise FormatError(f"{where}: {cell[:40]!r} is no {what}", hint="leave it empty where there is none")
    return number
