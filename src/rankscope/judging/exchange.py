"""Judgments from files and to files: TREC qrels, tables, JSONL, Quepid, and exports of earlier test pages.

What is read becomes single judgments of a collection or a task, each with a uuid that follows from what it says: the
same file, read again, adds nothing, and where something else holds meanwhile that is said. What cannot be taken is
counted and said.

- single judgments: JSONL with a `source` in each line, as `rankscope import` and this module write them;
- a table with a column `flag`, `choice`, `note` or `status`, as this module writes it, one judgment each row;
- Quepid: a CSV with the columns `query` and `docid`, and either `rating` or a column for each rater; queries are texts;
- exports of the doctor finder, with flags and choices, and of other earlier frameworks;
- qrels of any format, whose grades are those of one rater, or of those in their column `rater`.

Lines and rows with a `left` and a `right` list are preferences (`preference_files`), which a task alone can take in.
"""

from __future__ import annotations

import csv
import io
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankscope.data.imported import import_collection
from rankscope.data.judgments import (
    LONGEST_NOTE,
    JudgmentSource,
    JudgmentStatus,
    SingleJudgment,
    as_text,
    check_judgments,
    is_earlier,
    judgment_record,
    with_uuid,
)
from rankscope.data.loading import load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.tasks import AGAIN, Task, TaskRater, again_name, composed, name_key, names_of_raters
from rankscope.errors import BadLinesError, DuplicateError, FormatError, InputError, OptionError, RankscopeError
from rankscope.io.addresses import shown_url
from rankscope.io.files import write_text
from rankscope.io.formulas import as_text_cell, restored_rows
from rankscope.io.ids import byte_order
from rankscope.io.numbers import number_in as number_of
from rankscope.io.source import source_of
from rankscope.io.table import guess_format, read_rows
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.labels import grades_of_task, labels_of, with_known
from rankscope.judging.pools import answered_among
from rankscope.judging.preference_files import COLUMNS as PREFERENCE_COLUMNS
from rankscope.judging.preference_files import (
    PreferenceLine,
    fitting_preferences,
    is_preference,
    keep_preferences,
    lines_of_preferences,
    older_words,
    preference_line,
    replaced_words,
    table_cells,
)
from rankscope.printable import counted
from rankscope.records import Record, replace, to_json
from rankscope.store.judgments import StoredJudgment, graded_by, is_choice, subject_of
from rankscope.store.labels import QueryDoc, label_docs
from rankscope.store.qrels import StoredQrels
from rankscope.store.raters import checked_rater_name

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
    *("at", "seconds", "purpose", "system", "task", "guideline", "rater_id", "kind", "model"),
    *PREFERENCE_COLUMNS,
)
"""Of a table of judgments, one in each row."""
SAYS_MORE = {"flag", "choice", "note", "status", "rater"}
"""Columns by which a table of judgments is known from qrels."""
QUEPID_COLUMNS = ("query", "docid", "rating")
YES = {"1", "true", "yes", "x"}
NO = {"", "0", "false", "no"}
SHOWN = 3
IMPORTED = "imported"
"""Who judged, where neither the file nor the user says."""
TASK_NUMBER = re.compile(rf"\d+(?:{AGAIN})?")
"""What judgments call a task of a store; another store has another task of this number."""
RATER_ID = re.compile(r"task \d+ rater \d+")
NO_UUID = str(uuid.UUID(int=0))
_NAMESPACE = uuid.UUID("2f1c7a54-0b5e-4a43-8a0e-6b0d9c3f7e15")


class TakenIn(Record, kw_only=True):
    """What became of a file of judgments."""

    format: ImportFormat
    n: int
    """Judgments that were taken, new or not, preferences among them."""
    n_new: int
    n_grades: int
    n_flags: int
    n_choices: int
    n_preferences: int = 0
    judge_qrels: tuple[str, ...] = ()
    """The names of stored qrels that now hold the labels of the models in the file."""
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
    if form not in ("judgments", "export") and says_who(first_rows(path)):
        raise FormatError(
            f"the lines of {shown_url(str(path))} say who judged, which is lost when they are read as {form}",
            hint="read them as judgments (--kind judgments)",
        )
    if form not in ("judgments", "export"):
        check_sources(path)
    notes: list[str] = []
    found = exported_judgments(path, query, notes) if form == "export" else READERS[form](path, rater, notes)
    read = [part for each in found for part in apart(each)]
    before = store.judgments.list(collection)
    known = {each.judgment.uuid for each in before}
    named_once = with_composed_names(read, known)
    judgments = by_query_id(store, collection, with_texts(named_once, notes), notes)
    preferences = [replace(each, source=composed_source(each.source)) for each in preferences_in(path, form, rater)]
    raters: dict[JudgmentSource, TaskRater] = {}
    if task is None:
        judgments = outside_tasks(first_answers(judgments, notes), known)
        preferences = without_task(preferences, notes)
    else:
        judgments, preferences = of_this_mode(task, judgments, preferences, notes)
        judgments = on_the_scale(store, task, judgments, notes)
        preferences = fitting_preferences(store, task, preferences, notes)
        sources = [*(each.source for each in judgments), *(each.source for each in preferences)]
        check_names_are_text(path, sources)
        raters = raters_of_sources(store, task, dict.fromkeys(sources))
        judgments = [as_of_task(each, task, raters[each.source]) for each in judgments]
    notes.extend(said_twice(judgments, {} if task is None else names_of_raters(store.raters.list(task))))
    if not judgments and not preferences:
        raise InputError(
            f"{shown_url(str(path))} holds no judgment that can be taken",
            hint="; ".join(notes) or "is it the right file?",
        )
    named = [replace(each, collection=collection, source=without_name(each.source)) for each in judgments]
    wanted = [with_known_guideline(store, each, notes) for each in named]
    kept = store.judgments.add(with_uuids(wanted))
    notes.extend(replaced_since(store, collection, kept, known))
    notes.extend(older_than_held(kept, before))
    n_preferences, n_new = (0, 0) if task is None else keep_preferences(store, task, preferences, raters, notes)
    models = (
        {} if task is not None else {each.judgment.rater: each.judgment.source for each in graded_by("judge", kept)}
    )
    return TakenIn(
        format=form,
        judge_qrels=tuple(labels_of_model(store, collection, source).name for source in models.values()),
        n=len(kept) + n_preferences,
        n_new=sum(each.judgment.uuid not in known for each in kept) + n_new,
        n_grades=sum(each.judgment.grade is not None for each in kept),
        n_flags=sum(each.judgment.flag for each in kept),
        n_choices=sum(each.judgment.choice for each in kept),
        n_preferences=n_preferences,
        notes=tuple(notes),
    )


def labels_of_model(store: Store, collection: str, source: JudgmentSource) -> StoredQrels:
    """Keep what a model has graded in a collection as qrels that are called as the model, and are those of a judge."""
    wanted = SingleJudgment(query="", doc="", source=source).rater
    held = [each for each in graded_by("judge", store.judgments.current(collection)) if each.judgment.rater == wanted]
    grades = {(each.judgment.query, each.judgment.doc): each.judgment.grade for each in held}  # the newest is last
    rows = [(query, doc, grade) for (query, doc), grade in grades.items() if grade is not None]
    return keep_judge_qrels(store, Qrels(rows), source.model or source.name or "judge", collection, judge=wanted)


def keep_judge_qrels(store: Store, qrels: Qrels, name: str, collection: str, *, judge: str = "") -> StoredQrels:
    """Keep labels as those of a judge; where other labels have the name, they are called after the collection, too."""
    facts = {"collection": collection, **({"judge": judge} if judge else {})}
    for called in (name, f"{name} on {collection}", f"{name} ({judge}) on {collection}"):
        same = store.qrels.list(name=called)
        own = [each for each in same if each.kind == "judge" and facts.items() <= each.facts.items()]
        if len(own) == len(same):
            break
    return store.qrels.add(qrels, name=called, kind="judge", facts=facts)


def judge_qrels_in(store: Store, path: str | Path, *, collection: str) -> StoredQrels:
    """Keep the labels of a model that a file holds: qrels, which get its name, or the judgments of one model."""
    form = format_of(path)
    if form == "qrels":
        return keep_judge_qrels(store, load_qrels(str(path)), Path(path).name.partition(".")[0], collection)
    found = import_judgments(store, path, collection=collection).judge_qrels
    if len(found) != 1:
        names = f"those of {', '.join(found)}" if found else "none of a model"
        raise InputError(
            f"{path} should hold the labels of one model, and holds {names}",
            hint="name the qrels of one of them" if found else "is `source.kind`, or the column kind, `judge`?",
        )
    return store.qrels.find(found[0])


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


def with_composed_names(judgments: Iterable[SingleJudgment], known: Collection[str]) -> list[SingleJudgment]:
    """Return judgments with the names of raters in the one form that is kept; what the store has stays as it is."""
    found = []
    for each in judgments:
        source = composed_source(each.source)
        uuid_of = each.uuid if source.id == each.source.id else ""
        found.append(each if each.uuid in known else replace(each, source=source, uuid=uuid_of))
    return found


def composed_source(source: JudgmentSource) -> JudgmentSource:
    if source.kind == "judge":
        return source
    return replace(source, id=composed(source.id), name=composed(source.name))


def check_names_are_text(path: str | Path, sources: Iterable[JudgmentSource]) -> None:
    for name in map(called, sources):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"the name of a rater in {shown_url(str(path))} is not UTF-8: {as_text(name)[:200]}",
                hint="save the file as UTF-8",
            ) from None


def with_texts(judgments: Iterable[SingleJudgment], notes: list[str]) -> list[SingleJudgment]:
    """Return judgments whose notes can be kept; what is no character in one is replaced, and one too long refused."""
    found, n_replaced = [], 0
    for each in judgments:
        # who cannot tell has the reason before the note
        most = LONGEST_NOTE + (len("query unclear: ") if each.status == "cannot_tell" else 0)
        if len(each.note) > most:
            raise InputError(
                f"the note on doc {each.doc!r} for query {each.query!r} has {len(each.note):,} characters",
                hint=f"at most {LONGEST_NOTE:,} are possible, as on the page: shorten it",
            )
        note = as_text(each.note)
        n_replaced += note != each.note
        found.append(each if note == each.note else replace(each, note=note, uuid=""))
    if n_replaced:
        notes.append(f"{counted(n_replaced, 'note')} with bytes or characters that are no text: these are \ufffd now")
    return found


def of_this_mode(
    task: Task, judgments: list[SingleJudgment], preferences: list[PreferenceLine], notes: list[str]
) -> tuple[list[SingleJudgment], list[PreferenceLine]]:
    """Return what fits how a task shows docs: nothing of lists goes into one of single docs, no grade into lists."""
    if task.plan.mode == "lists":
        return without_grades(task, judgments, notes), preferences
    if not preferences:
        return judgments, preferences
    others = {line.task or "" for line in preferences}
    fitting = [each for each in judgments if (each.task or "").removesuffix(AGAIN) not in others]
    what = counted(len(preferences), "preference")
    if len(fitting) < len(judgments):
        what += f" and {counted(len(judgments) - len(fitting), 'judgment')}"
    notes.append(f"{what} of a task of lists left out, as {task.name} shows docs one by one")
    return fitting, []


def without_grades(task: Task, judgments: Sequence[SingleJudgment], notes: list[str]) -> list[SingleJudgment]:
    """Return what may be said of docs in lists: flags and choices, but no grades, which are counted."""
    if n_grades := sum(each.grade is not None for each in judgments):
        notes.append(f"{counted(n_grades, 'grade')} left out, as {task.name} shows whole lists, which get no grades")
    left = [each for each in judgments if each.grade is None or each.flag]
    return [each if each.grade is None else replace(each, grade=None, scale=None, uuid="") for each in left]


def without_task(preferences: Sequence[PreferenceLine], notes: list[str]) -> list[PreferenceLine]:
    """Return no preference, and say so: lists are those of a task."""
    if preferences:
        notes.append(f"{counted(len(preferences), 'preference')} left out, as lists are those of a task: give --task")
    return []


def apart(each: SingleJudgment) -> Iterator[SingleJudgment]:
    """Yield a choice apart from what is said of the doc: a query has one choice, which a newer one replaces.

    Who cannot tell how relevant a doc is, or passed over it, may choose it all the same.
    """
    no_grade = each.status in ("cannot_tell", "skipped")
    if not each.choice or (each.grade is None and not each.flag and not no_grade):
        yield each
        return
    yield replace(each, choice=False, uuid="")
    status: JudgmentStatus = "ok" if no_grade else each.status
    yield replace(each, grade=None, scale=None, status=status, flag=False, note="", uuid="")


def with_known_guideline(store: Store, each: SingleJudgment, notes: list[str]) -> SingleJudgment:
    """Return a judgment without a guideline whose text the store does not have."""
    if each.guideline is None or each.guideline in store.judgments.guidelines():
        return each
    note = f"the text of guideline {each.guideline[:12]} is not in the store, so its judgments name none"
    notes.extend([] if note in notes else [note])
    return replace(each, guideline=None, uuid="")


def with_uuids(judgments: Iterable[SingleJudgment]) -> Iterator[SingleJudgment]:
    """Yield judgments with uuids, a repeated row once.

    Who says again what they said before something else has a judgment of its own, which holds.
    """
    newest: dict[tuple[str | None, ...], str] = {}
    n_times: Counter[str] = Counter()
    for each in judgments:
        own = each if each.uuid else with_uuid(each)
        if newest.get(subject_of(own)) == own.uuid:
            continue
        newest[subject_of(own)] = own.uuid
        n_times[own.uuid] += 1
        if n_times[own.uuid] == 1:
            yield own
        elif not each.uuid:
            yield replace(own, uuid=str(uuid.uuid5(_NAMESPACE, f"{own.uuid} {n_times[own.uuid]}")))


def replaced_since(
    store: Store, collection: str, kept: Iterable[StoredJudgment], known: Collection[str]
) -> Iterator[str]:
    """Say how many judgments of a file were there before, and hold no more: reading them again does not renew them."""
    last = {subject_of(each.judgment): each.judgment for each in kept}
    before = [each for each in last.values() if each.uuid in known and each.status != "withdrawn"]
    current = store.judgments.current(collection) if before else ()
    holding = {subject_of(each.judgment): replace(each.judgment, uuid="") for each in current}
    if n := sum(holding.get(subject_of(each)) != replace(each, uuid="") for each in before):
        yield replaced_words(counted(n, "judgment"), n)


def older_than_held(kept: Iterable[StoredJudgment], before: Iterable[StoredJudgment]) -> Iterator[str]:
    """Say how many judgments of a file, by their times older, took the place of what was held before."""
    held = {subject_of(each.judgment): each for each in before}
    last = {subject_of(each.judgment): each for each in sorted(kept, key=lambda each: each.number)}
    fresh = [each for subject, each in last.items() if subject in held and each.number > held[subject].number]
    if n := sum(is_earlier(each.judgment.at, held[subject_of(each.judgment)].judgment.at) for each in fresh):
        yield older_words(counted(n, "judgment"))


def without_name(source: JudgmentSource) -> JudgmentSource:
    """Return who judged as it is kept: a person by id alone, so that a name that changes changes no judgment."""
    return replace(source, name="") if source.kind == "person" else source


def first_answers(judgments: Sequence[SingleJudgment], notes: list[str]) -> list[SingleJudgment]:
    """Return judgments without those of docs that were shown a second time: these are no labels."""
    first = [each for each in judgments if not (each.task or "").endswith(AGAIN)]
    if len(first) < len(judgments):
        notes.append(f"{counted(len(judgments) - len(first), 'judgment')} of docs that were shown again left out")
    return first


def outside_tasks(judgments: Sequence[SingleJudgment], known: Collection[str]) -> list[SingleJudgment]:
    """Return judgments that go into no task; those of another store's task are of none here, and raters have names.

    The numbers of its tasks and raters mean others in this store. What the store has already stays as it is.
    """
    return [each if each.uuid in known else outside_task(each) for each in judgments]


def outside_task(each: SingleJudgment) -> SingleJudgment:
    own, source = each, each.source
    if each.task is not None and TASK_NUMBER.fullmatch(each.task):
        own = replace(own, task=None)
    if source.kind == "person" and source.name and RATER_ID.fullmatch(source.id):
        own = replace(own, source=replace(source, id=source.name))
    return each if own == each else replace(own, uuid="")


def said_twice(judgments: Iterable[SingleJudgment], names: Mapping[str, str]) -> Iterator[str]:
    """Say where a file has several choices of a rater for a query, or several judgments of a doc: the last holds."""
    distinct = list(dict.fromkeys(each if each.uuid else with_uuid(each) for each in judgments))
    chosen = Counter((each.source, each.query) for each in distinct if is_choice(each) and each.status == "ok")
    first = [each for each in distinct if not (each.task or "").endswith(AGAIN)]
    judged = Counter((each.source, each.query, each.doc) for each in first if not is_choice(each))
    for what, counts in (("choices of a rater for a query", chosen), ("judgments of a rater of a doc", judged)):
        several = [key for key, n in counts.items() if n > 1]
        if several:
            source, query, *doc = several[0]
            who = names.get(source.id, source.id or source.name)
            place = f"{who}, query {query}{f', doc {doc[0]}' if doc else ''}"
            yield f"several {what}, {counted(len(several), 'time')}, of which the last holds; the first: {place}"


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
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip()


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


def by_query_id(
    store: Store, collection: str, judgments: Sequence[SingleJudgment], notes: list[str]
) -> list[SingleJudgment]:
    """Return judgments with ids of queries where files have texts; a text that several queries share is left out."""
    ids, by_text = known_queries(store, collection)
    if not ids:
        return list(judgments)
    ids |= answered_among(store, collection, {each.query for each in judgments} - ids - by_text.keys())
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
    asked = [run.queries_sha256 for run in store.runs.list(collection=collection)]
    for sha256 in dict.fromkeys([*store.tasks.further_queries(collection), *asked]):
        texts |= {name: query.text or "" for name, query in store.texts.queries(sha256).items()}
    by_text: dict[str, list[str]] = {}
    for name, text in texts.items():
        if text.strip():
            by_text.setdefault(text.strip(), []).append(name)
    return frozenset(texts), by_text


def on_the_scale(
    store: Store, task: Task, judgments: Sequence[SingleJudgment], notes: list[str]
) -> list[SingleJudgment]:
    """Return judgments of people with the scale of a task; docs that it does not hold are left out."""
    held = {(item.query, item.doc) for item in store.tasks.items(task)}
    scale = tuple(each.grade for each in parse_guideline(store.judgments.guidelines()[task.guideline]).scale)
    people = of_people(judgments, notes)
    taken = [each for each in people if (each.query, each.doc) in held]
    if len(taken) < len(people):
        notes.append(f"{counted(len(people) - len(taken), 'judgment')} of docs outside the task left out")
    for each in taken:
        if each.grade is not None and each.grade not in scale:
            steps = ", ".join(f"{grade:g}" for grade in scale)
            raise InputError(
                f"the grade {each.grade:g} of doc {each.doc!r} for query {each.query!r} is not on the scale {steps}",
                hint="make a task whose guideline has the scale of the file",
            )
    return [with_scale(each, scale) for each in taken]


def with_scale(each: SingleJudgment, scale: tuple[float, ...]) -> SingleJudgment:
    own = replace(each, scale=scale) if each.grade is not None else each
    return own if own == each else replace(own, uuid="")


def as_of_task(each: SingleJudgment, task: Task, rater: TaskRater) -> SingleJudgment:
    """Return a judgment as that of a rater of a task; what it was already keeps its uuid."""
    number = str(task.number)
    name = again_name(number) if (each.task or "").endswith(AGAIN) else number
    own = replace(each, source=replace(each.source, id=rater.id), task=name)
    return own if own == each else replace(own, uuid="")


def raters_of_sources(store: Store, task: Task, sources: Iterable[JudgmentSource]) -> dict[JudgmentSource, TaskRater]:
    """Return the rater of a task for each who judged; whom it does not have is added, without an invitation.

    All are looked for before anybody is added: the id of a new rater may be that of another one in a file. Two of a
    file never become one.
    """
    known = store.raters.list(task)
    found = {source: rater_of_source(task, known, source) for source in sources}
    meant: dict[str, JudgmentSource] = {}
    for source, rater in found.items():
        name = called(source)
        other = meant.setdefault(name_key(name) if rater is None else rater.id, source)
        if key_of(other) != key_of(source):
            both = f"{called(other)!r} ({key_of(other)}) and {name!r} ({key_of(source)})"
            raise InputError(
                f"{both} of the file would be one rater of {task.name}",
                hint="give them names that differ in more than small and large letters",
            )
        if rater is None:
            checked_rater_name(name)
    new = {key_of(source): called(source) for source, rater in found.items() if rater is None}
    made = {key: store.raters.add(task, name=name) for key, name in new.items()}
    return {source: made[key_of(source)] if rater is None else rater for source, rater in found.items()}


def key_of(source: JudgmentSource) -> str:
    """Return by what a file tells people apart: the id, or the name where there is none."""
    return source.id or called(source)


def called(source: JudgmentSource) -> str:
    return source.name or source.id or IMPORTED


def rater_of_source(task: Task, known: Sequence[TaskRater], source: JudgmentSource) -> TaskRater | None:
    """Return which of the raters is meant, None where none is; an id with another name is of another store."""
    shown, name = names_of_raters(known), called(source)
    for rater in known:
        if source.name and rater.id == source.id and shown[rater.id] == source.name:
            return rater
    ways = (
        [rater for rater in known if name == rater.name],
        [rater for rater in known if name == shown[rater.id]],
        [rater for rater in known if name == rater.id and not source.name],
        [rater for rater in known if name_key(name) == name_key(rater.name)],
    )
    found = next((way for way in ways if way), [])
    if len(found) > 1:
        ids = ", ".join(rater.id for rater in found)
        raise InputError(f"several raters of {task.name} are called {name}", hint=f"say which one: {ids}")
    return found[0] if found else None


def rater_named(store: Store, task: Task, name: str) -> TaskRater:
    """Return the rater of a task with this name or id, who is to judge; a new one, or one of a file, is invited."""
    known = rater_of_source(task, store.raters.list(task), JudgmentSource("person", id=name))
    if known is None or (known.revoked is None and not known.invited):
        return store.raters.invite(task, name=name if known is None else known.name)[0]
    return known


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
        tasks = [each for each in store.tasks.list() if each.collection == collection and task in (None, each)]
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
        "grade": "" if each.grade is None else f"{each.grade:g}",
        "flag": "yes" if each.flag else "",
        "choice": "yes" if each.choice else "",
        "rater": names.get(who, who) if is_person else who,
        "rater_id": who if is_person and who in names else "",
        "kind": each.source.kind,
        "model": each.source.model,
        "seconds": "" if each.seconds is None else f"{each.seconds:g}",
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
    text = stream.getvalue()
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InputError(
            f"line {line} of the table would hold half a character, which no such file can", hint="write .jsonl"
        ) from None
    return text
