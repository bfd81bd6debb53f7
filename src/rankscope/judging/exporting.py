"""Judgments as files: TREC qrels, tables, JSONL and Quepid's table; `judgment_files` reads them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankscope.data.judgments import (
    SingleJudgment,
    as_text,
    judgment_record,
)
from rankscope.data.tasks import AGAIN, Task, again_name, names_of_raters
from rankscope.errors import InputError, OptionError
from rankscope.io.files import write_text
from rankscope.io.formulas import as_csv, as_text_cell
from rankscope.io.ids import byte_order
from rankscope.io.numbers import grade_text
from rankscope.judging.importing import known_queries
from rankscope.judging.judgment_files import COLUMNS, IMPORTED, QUEPID_COLUMNS
from rankscope.judging.labels import grades_of_task, labels_of, with_known
from rankscope.judging.preference_files import (
    lines_of_preferences,
    table_cells,
)
from rankscope.records import replace, to_json
from rankscope.store.judgments import StoredJudgment, graded_by
from rankscope.store.labels import QueryDoc, label_docs
from rankscope.store.qrels import StoredQrels

if TYPE_CHECKING:
    from rankscope.store.store import Store

ExportFormat = Literal["qrels", "csv", "jsonl", "quepid"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
ENDINGS: dict[str, ExportFormat] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "qrels"}
ENDINGS |= {".qrels": "qrels", ".trec": "qrels"}


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
    `jsonl` single judgments and preferences, `quepid` a table with the texts of queries and a column for each rater.
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
    held = judgments_to_export(store, collection, task, again=form in ("jsonl", "csv"))
    names = rater_names(store, held)
    if form in ("jsonl", "csv"):
        tasks = [each for each in store.tasks.list() if each.collection == collection]
        if task is not None:  # it may have been changed since it was read
            tasks = [each for each in tasks if each.number == task.number]
        names = rater_names(store, held, tasks)
        preferences = lines_of_preferences(store, tasks, names)
    if form == "jsonl":
        # in the order in which they came, which the rule `latest` goes by
        lines: list[Any] = [judgment_record(with_name(with_note(each.judgment), names)) for each in held]
        lines += preferences
        write_text(Path(path), "".join(to_json(line, indent=None) + "\n" for line in lines))
        return len(lines)
    if form == "csv":
        rows = [csv_row(each, names) for each in held]
        rows += (tuple(table_cells(line).get(name, "") for name in COLUMNS) for line in preferences)
        write_text(Path(path), csv_text([COLUMNS, *rows]))
        return len(rows)
    if form == "quepid" and task is not None and task.plan.mode == "lists":
        raise InputError(
            f"{task.name} shows whole lists, which get no grades, and a table for Quepid holds nothing else",
            hint="write .csv or .jsonl, which hold flags, choices and preferences",
        )
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
    write_text(Path(path), "".join(f"{query} 0 {doc} {grade_text(labels[query, doc])}\n" for query, doc in ordered))
    return len(ordered)


def judgments_to_export(store: Store, collection: str, task: Task | None, *, again: bool) -> list[StoredJudgment]:
    """Return the judgments that hold, in the order in which they came; `again` with those of docs shown twice."""
    number = None if task is None else str(task.number)
    held = list(store.judgments.current(collection, task=number))
    if again and number is not None:
        held += store.judgments.current(collection, task=again_name(number))
    kept = [each for each in held if again or not (each.judgment.task or "").endswith(AGAIN)]
    return sorted(kept, key=lambda each: each.number)


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


def rater_names(store: Store, held: Sequence[StoredJudgment], further: Sequence[Task] = ()) -> dict[str, str]:
    """Return what people call the raters of tasks, by their ids."""
    tasks = {each.judgment.task for each in held if each.judgment.task} | {str(task.number) for task in further}
    raters = [rater for task in store.tasks.list() if str(task.number) in tasks for rater in store.raters.list(task)]
    own = {rater.id for rater in raters}
    return names_of_raters(raters, taken={each.judgment.source.id for each in held} - own)


def with_name(each: SingleJudgment, names: Mapping[str, str]) -> SingleJudgment:
    """Return a judgment that says the name of its rater beside the id."""
    if each.source.kind != "person" or each.source.id not in names:
        return each
    return replace(each, source=replace(each.source, name=names[each.source.id]))


def with_note(each: SingleJudgment) -> SingleJudgment:
    """Return a judgment with a note that files can hold; one that says something else has another uuid."""
    note = as_text(each.note)
    return each if note == each.note else replace(each, note=note, uuid="")


def csv_row(stored: StoredJudgment, names: Mapping[str, str]) -> tuple[str, ...]:
    each = with_note(stored.judgment)
    is_person = each.source.kind == "person"
    who = each.source.id if is_person else each.source.name
    cells = {
        "grade": "" if each.grade is None else grade_text(each.grade),
        "flag": "yes" if each.flag else "",
        "choice": "yes" if each.choice else "",
        "rater": names.get(who, who) if is_person else who,
        "rater_id": who if is_person and who in names else "",
        "kind": each.source.kind,
        "model": each.source.model,
        "seconds": "" if each.seconds is None else grade_text(each.seconds),
    }
    return tuple(cells.get(name) or str(getattr(each, name, None) or "") for name in COLUMNS)


def quepid_table(
    store: Store, collection: str, held: Sequence[StoredJudgment], names: Mapping[str, str]
) -> list[Sequence[str]]:
    """Return the grades of people, a column for each: a column cannot say that it is a model's."""
    graded = [each.judgment for each in graded_by("people", held)]
    raters = sorted({names.get(each.source.id, each.source.id or IMPORTED) for each in graded})
    if taken := [who for who in raters if who.lower() in QUEPID_COLUMNS]:
        raise InputError(
            f"the rater {taken[0]!r} is called as a column of Quepid's own", hint="rename the rater, or write .csv"
        )
    ids, by_text = known_queries(store, collection)
    alone = {text: found[0] for text, found in by_text.items() if len(found) == 1 and text not in ids}
    text_of_id = {name: text for text, name in alone.items()}
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for each in graded:
        who = names.get(each.source.id, each.source.id or IMPORTED)
        cells.setdefault((each.query, each.doc), {})[who] = "" if each.grade is None else grade_text(each.grade)
    rows = [
        (text_of_id.get(query, query), doc, *(given.get(who, "") for who in raters))
        for (query, doc), given in cells.items()
    ]
    return [("query", "docid", *raters), *rows]


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    text = as_csv([as_text_cell(cell) for cell in row] for row in rows)
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InputError(
            f"line {line} of the table would hold half a character, which no such file can", hint="write .jsonl"
        ) from None
    return text
