"""Judgments from files and to files: TREC qrels, tables, JSONL, Quepid, and exports of earlier test pages.

What is read becomes single judgments of a collection or a task, each with a uuid that follows from what it says: the
same file, read again, adds nothing. What cannot be taken is counted and said.

- single judgments: JSONL with a `source` in each line, as `rankscope import` and this module write them;
- a table with a column `flag`, `choice`, `note` or `status`, as this module writes it, one judgment each row;
- Quepid: a CSV with the columns `query` and `docid`, and either `rating` or a column for each rater; queries are texts;
- exports of the doctor finder, with flags and choices, and of other earlier frameworks;
- qrels of any format, whose grades are those of one rater, or of those in their column `rater`.
"""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankscope.data.imported import import_collection
from rankscope.data.judgments import JudgmentSource, SingleJudgment, check_judgments, with_uuid, write_judgments
from rankscope.data.loading import load_qrels
from rankscope.data.tasks import AGAIN, Task, TaskRater, names_of_raters
from rankscope.errors import FormatError, InputError, OptionError, RankscopeError
from rankscope.io.files import write_text
from rankscope.io.formulas import as_text_cell, restored_rows
from rankscope.io.ids import byte_order
from rankscope.io.table import guess_format, read_rows
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.labels import grades_of_task, labels_of, with_known
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.store.judgments import StoredJudgment
from rankscope.store.labels import QueryDoc, label_docs
from rankscope.store.qrels import StoredQrels

if TYPE_CHECKING:
    from rankscope.store.store import Store

ImportFormat = Literal["judgments", "table", "quepid", "export", "qrels"]
ExportFormat = Literal["qrels", "csv", "jsonl", "quepid"]
IMPORT_FORMATS: tuple[ImportFormat, ...] = get_args(ImportFormat)
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
ENDINGS: dict[str, ExportFormat] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "qrels"}
ENDINGS |= {".qrels": "qrels", ".trec": "qrels"}
COLUMNS = (
    *("query", "doc", "grade", "status", "flag", "choice", "note", "rater"),
    *("at", "seconds", "purpose", "system", "task", "guideline", "rater_id"),
)
"""Of a table of judgments, one in each row."""
SAYS_MORE = {"flag", "choice", "note", "status"}
"""Columns by which a table of judgments is known from qrels."""
YES = {"1", "true", "yes", "x"}
SHOWN = 3
IMPORTED = "imported"
"""Who judged, where neither the file nor the user says."""


class TakenIn(Record, kw_only=True):
    """What became of a file of judgments."""

    format: ImportFormat
    n: int
    """Judgments that were taken, new or not."""
    n_new: int
    n_grades: int
    n_flags: int
    n_choices: int
    notes: tuple[str, ...] = ()
    """What was left out, and why."""


def import_judgments(
    store: Store,
    path: str | Path,
    *,
    collection: str,
    task: Task | None = None,
    rater: str = "",
    query: str = "",
    format: ImportFormat | None = None,  # noqa: A002
) -> TakenIn:
    """Keep the judgments of a file.

    Parameters
    ----------
    store
        Where they are kept.
    path
        The file.
    collection
        Whose queries and docs are judged; that of the task where one is given.
    task
        Take only docs of this task, as judgments in it; those of others are counted.
    rater
        Whose judgments they are, where the file does not say.
    query
        What was searched for, an id or a text, where an export does not say.
    format
        What the file is, instead of finding it out: judgments, table, quepid, export or qrels.

    Returns
    -------
    TakenIn
        How many there were, and what was left out.

    Examples
    --------
    >>> import rankscope as rs
    >>> from pathlib import Path
    >>> _ = Path("qrels.txt").write_text("q1 0 d1 2")
    >>> with rs.open_store("kept.db", create=True) as store:
    ...     rs.import_judgments(store, "qrels.txt", collection="recipes", rater="ann").n_new
    1
    """
    form = format or format_of(path)
    notes: list[str] = []
    found = exported_judgments(path, query, notes) if form == "export" else READERS[form](path, rater, notes)
    read = [part for each in found for part in apart(each)]
    judgments = by_query_id(store, collection, read, notes)
    if task is not None:
        judgments = in_task(store, task, judgments, notes)
    if not judgments:
        raise InputError(
            f"{path} holds no judgment that can be taken", hint="; ".join(notes) or "is it the right file?"
        )
    before = store.judgments.list(collection)
    known = {each.judgment.uuid for each in before}
    named = [replace(each, collection=collection, source=without_name(each.source)) for each in judgments]
    wanted = [with_known_guideline(store, each, notes) for each in named]
    kept = store.judgments.add(dict.fromkeys(each if each.uuid else with_uuid(each) for each in wanted))
    return TakenIn(
        format=form,
        n=len(kept),
        n_new=sum(each.judgment.uuid not in known for each in kept),
        n_grades=sum(each.judgment.grade is not None for each in kept),
        n_flags=sum(each.judgment.flag for each in kept),
        n_choices=sum(each.judgment.choice for each in kept),
        notes=tuple(notes),
    )


def format_of(path: str | Path) -> ImportFormat:
    """Tell what a file is by its first rows; qrels where nothing else fits."""
    try:
        head = [row for _, row in islice(read_rows(path), 20)]
    except RankscopeError:
        head = []  # a TREC file has no header, and what is no table is read by those who know it
    names = {str(name).strip().lower() for row in head for name in row}
    if head and {"source", "uuid"} <= names:
        return "judgments"
    if {"query", "docid"} <= names and not {"doc", "grade"} & names:
        return "quepid"
    if "query" in names and SAYS_MORE & names and {"doc", "docid"} & names:
        return "table"
    try:
        import_collection(path)
    except RankscopeError:
        return "qrels"
    return "export"


def apart(each: SingleJudgment) -> Iterator[SingleJudgment]:
    """Yield a choice apart from what is said of the doc: a query has one choice, which a newer one replaces."""
    if not each.choice or (each.grade is None and not each.flag):
        yield each
        return
    yield replace(each, choice=False, uuid="")
    yield replace(each, grade=None, scale=None, flag=False, note="", uuid="")


def with_known_guideline(store: Store, each: SingleJudgment, notes: list[str]) -> SingleJudgment:
    """Return a judgment without a guideline whose text the store does not have."""
    if each.guideline is None or each.guideline in store.judgments.guidelines():
        return each
    note = f"the text of guideline {each.guideline[:12]} is not in the store, so its judgments name none"
    notes.extend([] if note in notes else [note])
    return replace(each, guideline=None, uuid="")


def without_name(source: JudgmentSource) -> JudgmentSource:
    """Return who judged as it is kept: a person by id alone, so that a name that changes changes no judgment."""
    return replace(source, name="") if source.kind == "person" else source


def kept_judgments(path: str | Path, _rater: str, _notes: list[str]) -> Iterator[SingleJudgment]:
    yield from check_judgments(read_rows(path, format="jsonl"), where=str(path))


def table_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the judgments of a table, one in each row; rows that say nothing are counted."""
    empty = 0
    for number, row in table_rows(path):
        cells = {str(name).strip().lower(): text_of(cell) for name, cell in row.items()}
        where = f"{path}:{number}"
        grade = number_in(cells.get("grade", ""), where=where, what="grade")
        flag, choice = (cells.get(name, "").lower() in YES for name in ("flag", "choice"))
        status = cells.get("status") or "ok"
        if grade is None and not flag and not choice and status == "ok":
            empty += 1
            continue
        record = {
            "query": cells.get("query", ""),
            "doc": cells.get("doc") or cells.get("docid", ""),
            "source": {"kind": "person", "id": cells.get("rater") or rater or IMPORTED},
            "grade": grade,
            "status": status,
            "flag": flag,
            "choice": choice,
            "note": cells.get("note", ""),
            "at": cells.get("at") or None,
            "seconds": number_in(cells.get("seconds", ""), where=where, what="number of seconds"),
            "purpose": cells.get("purpose") or "other",
            "system": cells.get("system") or None,
            "uuid": str(uuid.UUID(int=0)),
        }
        yield from (replace(each, uuid="") for each in check_judgments([(number, record)], where=str(path)))
    if empty:
        notes.append(f"{counted(empty, 'row')} without grade, flag and choice left out")


def quepid_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the ratings of a case of Quepid, or those of each rater of a book."""
    empty = 0
    for number, row in table_rows(path):
        cells = {str(name).strip(): text_of(cell) for name, cell in row.items()}
        query, doc = cells.pop("query"), cells.pop("docid")
        if not query or not doc:
            raise FormatError(f"{path}:{number}: the row has no query or no docid")
        empty += not any(cells.values())
        for name, cell in cells.items():
            who = (rater or IMPORTED) if name.lower() == "rating" else name
            grade = number_in(cell, where=f"{path}:{number}", what="rating")
            if grade is not None:
                yield SingleJudgment(query=query, doc=doc, source=JudgmentSource("person", id=who), grade=grade)
    if empty:
        notes.append(f"{counted(empty, 'row')} without a rating left out")


def exported_judgments(path: str | Path, query: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield flags, choices and grades of an earlier framework's export; verdicts of models are left out."""
    opinions = import_collection(path, query=query or None).opinions
    machine = sum(each.source.kind == "judge" for each in opinions)
    if machine:
        notes.append(f"{counted(machine, 'judgment')} of a model left out: people judge in tasks")
    yield from (replace(each, uuid="") for each in opinions if each.source.kind == "person")


def qrels_judgments(path: str | Path, rater: str, notes: list[str]) -> Iterator[SingleJudgment]:
    """Yield the grades of qrels; grades below 0 say that nobody judged a doc."""
    rows = load_qrels(str(path), duplicates="error").rows
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
    rows = read_rows(path)
    with Path(path).open("rb") as stream:
        is_csv = guess_format(str(path), stream.read(1 << 12)) == "csv"
    return restored_rows(rows) if is_csv else rows


def text_of(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip()


def number_in(cell: str, *, where: str, what: str) -> float | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        raise FormatError(f"{where}: {cell[:40]!r} is no {what}", hint="leave it empty where there is none") from None


def by_query_id(
    store: Store, collection: str, judgments: Sequence[SingleJudgment], notes: list[str]
) -> list[SingleJudgment]:
    """Return judgments with ids of queries where files have texts; a text that several queries share is left out."""
    ids, by_text = known_queries(store, collection)
    if not ids:
        return list(judgments)
    found, unknown = list[SingleJudgment](), dict[str, int]()
    for each in judgments:
        named = [each.query] if each.query in ids else by_text.get(each.query.strip(), [])
        if len(named) == 1:
            found.append(replace(each, query=named[0]))
        else:
            unknown[each.query] = unknown.get(each.query, 0) + 1
    if unknown:
        notes.append(
            f"{counted(sum(unknown.values()), 'judgment')} of {counted(len(unknown), 'query')} left out that "
            f"{collection} does not have, or has twice: {', '.join(sorted(unknown)[:SHOWN])}"
        )
    return found


def known_queries(store: Store, collection: str) -> tuple[frozenset[str], dict[str, list[str]]]:
    """Return the ids of a collection's queries, and those with each text; nothing where the store knows none."""
    texts: dict[str, str] = {}
    for sha256 in dict.fromkeys(run.queries_sha256 for run in store.runs.list(collection=collection)):
        texts |= {name: query.text or "" for name, query in store.texts.queries(sha256).items()}
    by_text: dict[str, list[str]] = {}
    for name, text in texts.items():
        if text.strip():
            by_text.setdefault(text.strip(), []).append(name)
    return frozenset(texts), by_text


def in_task(store: Store, task: Task, judgments: Sequence[SingleJudgment], notes: list[str]) -> list[SingleJudgment]:
    """Return judgments as those of raters of a task, on its scale; docs that it does not hold are left out."""
    held = {(item.query, item.doc) for item in store.tasks.items(task)}
    scale = tuple(each.grade for each in parse_guideline(store.judgments.guidelines()[task.guideline]).scale)
    found = list[SingleJudgment]()
    raters: dict[JudgmentSource, TaskRater] = {}
    for each in judgments:
        if (each.query, each.doc) not in held:
            continue
        if each.grade is not None and each.grade not in scale:
            steps = ", ".join(f"{grade:g}" for grade in scale)
            raise InputError(
                f"the grade {each.grade:g} of doc {each.doc!r} for query {each.query!r} is not on the scale {steps}",
                hint="make a task whose guideline has the scale of the file",
            )
        who = each.source
        if who not in raters:
            raters[who] = rater_of_source(store, task, who)
        given = {"source": replace(who, id=raters[who].id), "task": str(task.number)}
        own = replace(each, **given, scale=scale if each.grade is not None else each.scale)
        found.append(own if own == each else replace(own, uuid=""))
    if len(found) < len(judgments):
        notes.append(f"{counted(len(judgments) - len(found), 'judgment')} of docs outside the task left out")
    return found


def rater_of_source(store: Store, task: Task, source: JudgmentSource) -> TaskRater:
    """Return the rater of a task who is meant; an id with another name is of another store."""
    if source.name:
        known = names_of_raters(store.raters.list(task))
        return rater_named(store, task, source.id if known.get(source.id) == source.name else source.name)
    return rater_named(store, task, source.id or IMPORTED)


def rater_named(store: Store, task: Task, name: str) -> TaskRater:
    """Return the rater of a task with this name or id; where there is none, a new one whose link nobody has."""
    found = raters_called(store, task, name)
    return found[0] if found else store.raters.invite(task, name=name[:100])[0]


def raters_called(store: Store, task: Task, name: str) -> list[TaskRater]:
    """Return the raters of a task who are meant by a name or an id; small and large letters are alike."""
    raters = store.raters.list(task)
    shown = names_of_raters(raters)
    if exact := [rater for rater in raters if name in (rater.name, shown[rater.id], rater.id)]:
        return exact
    return [rater for rater in raters if rater.name and rater.name.casefold() == name.casefold()]


def export_judgments(
    store: Store,
    path: str | Path,
    *,
    collection: str,
    task: Task | None = None,
    format: ExportFormat | None = None,  # noqa: A002
    qrels: StoredQrels | None = None,
) -> int:
    """Write the judgments that hold, of a collection or a task; return how many lines there are.

    `qrels` are the labels by the rule of the task (of a collection: by the lower median) in the form of TREC, `csv` and
    `jsonl` single judgments, and `quepid` a table with the texts of queries and a column for each rater.
    With `qrels`, the labels are those that were made before.

    Examples
    --------
    >>> import rankscope as rs
    >>> from pathlib import Path
    >>> _ = Path("qrels.txt").write_text("q1 0 d1 2")
    >>> with rs.open_store("kept.db", create=True) as store:
    ...     _ = rs.import_judgments(store, "qrels.txt", collection="recipes", rater="ann")
    ...     rs.export_judgments(store, "judgments.csv", collection="recipes")
    1
    """
    form = format or ENDINGS.get(Path(path).suffix.lower())
    if form is None:
        raise OptionError(
            f"{str(path)!r} does not say in which form judgments are written",
            hint=f"name a file that ends in {', '.join(ENDINGS)}, or give --to {'|'.join(EXPORT_FORMATS)}",
        )
    held = store.judgments.current(collection, task=None if task is None else str(task.number))
    held = tuple(each for each in held if not (each.judgment.task or "").endswith(AGAIN))
    names = rater_names(store, held)
    if form == "jsonl":
        write_judgments((with_name(each.judgment, names) for each in held), path)
        return len(held)
    if form == "csv":
        rows = [csv_row(each, names) for each in held]
        write_text(Path(path), csv_text([COLUMNS, *rows]))
        return len(rows)
    if form == "quepid":
        table = quepid_table(store, collection, held, names)
        write_text(Path(path), csv_text(table))
        return len(table) - 1
    labels = labels_held(store, task, held) if qrels is None else labels_in(store, qrels)
    ordered = sorted(labels, key=lambda pair: tuple(map(byte_order, pair)))
    for query, doc in ordered:
        if any(character.isspace() for character in query + doc):
            raise InputError(
                f"{query!r} {doc!r}: an id with a blank cannot stand in TREC qrels", hint="write .csv or .jsonl"
            )
    write_text(Path(path), "".join(f"{query} 0 {doc} {labels[query, doc]:g}\n" for query, doc in ordered))
    return len(ordered)


def labels_in(store: Store, qrels: StoredQrels) -> dict[QueryDoc, float]:
    judged = store.qrels.judgments(qrels).judged
    return {(query, doc): grade for query, docs in judged.items() for doc, grade in docs.items()}


def labels_held(store: Store, task: Task | None, held: Sequence[StoredJudgment]) -> Mapping[QueryDoc, float]:
    if task is not None:
        graded = grades_of_task(store, task)
        return with_known(graded, labels_of(graded).grades, all_queries=True)
    grades: dict[QueryDoc, dict[str, float]] = {}
    for each in (stored.judgment for stored in held):
        if each.grade is not None and each.source.kind == "person":
            grades.setdefault((each.query, each.doc), {})[each.rater] = each.grade
    return label_docs(grades, "lower median").grades


def rater_names(store: Store, held: Sequence[StoredJudgment]) -> dict[str, str]:
    """Return what people call the raters of tasks, by their ids."""
    tasks = {each.judgment.task for each in held if each.judgment.task}
    raters = [rater for task in store.tasks.list() if str(task.number) in tasks for rater in store.raters.list(task)]
    own = {rater.id for rater in raters}
    return names_of_raters(raters, taken={each.judgment.source.id for each in held} - own)


def with_name(each: SingleJudgment, names: Mapping[str, str]) -> SingleJudgment:
    """Return a judgment that says the name of its rater beside the id."""
    if each.source.kind != "person" or each.source.id not in names:
        return each
    return replace(each, source=replace(each.source, name=names[each.source.id]))


def csv_row(stored: StoredJudgment, names: Mapping[str, str]) -> tuple[str, ...]:
    each = stored.judgment
    who = each.source.id if each.source.kind == "person" else f"{each.source.name} {each.source.model}".strip()
    cells = {
        "grade": "" if each.grade is None else f"{each.grade:g}",
        "flag": "yes" if each.flag else "",
        "choice": "yes" if each.choice else "",
        "rater": names.get(who, who),
        "rater_id": who if who in names else "",
        "seconds": "" if each.seconds is None else f"{each.seconds:g}",
    }
    return tuple(cells.get(name) or str(getattr(each, name, None) or "") for name in COLUMNS)


def quepid_table(
    store: Store, collection: str, held: Sequence[StoredJudgment], names: Mapping[str, str]
) -> list[Sequence[str]]:
    graded = [each.judgment for each in held if each.judgment.grade is not None]
    raters = sorted({names.get(each.source.id, each.source.id or each.source.name) for each in graded})
    _, by_text = known_queries(store, collection)
    text_of_id = {name: text for text, found in by_text.items() if len(found) == 1 for name in found}
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for each in graded:
        who = names.get(each.source.id, each.source.id or each.source.name)
        cells.setdefault((each.query, each.doc), {})[who] = f"{each.grade:g}"
    rows = [
        (text_of_id.get(query, query), doc, *(given.get(who, "") for who in raters))
        for (query, doc), given in cells.items()
    ]
    return [("query", "docid", *raters), *rows]


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([as_text_cell(cell) for cell in row] for row in rows)
    return stream.getvalue()
