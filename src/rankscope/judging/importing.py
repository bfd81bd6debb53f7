"""What becomes of a file of judgments in a store: each belongs to a collection or a task, and to a rater.

Each has a uuid that follows from what it says: the same file, read again, adds nothing, and where something else holds
meanwhile that is said. What cannot be taken is counted and said.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.data.judgments import (
    LONGEST_NOTE,
    JudgmentSource,
    JudgmentStatus,
    SingleJudgment,
    as_text,
    is_earlier,
    with_uuid,
)
from rankscope.data.loading import load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.tasks import AGAIN, Task, TaskRater, again_name, name_of_forgotten, names_of_raters
from rankscope.errors import FormatError, InputError
from rankscope.io.addresses import shown_url
from rankscope.io.numbers import grade_text
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.imported_raters import check_names_are_text, composed_source, raters_of_sources
from rankscope.judging.judgment_files import (
    READERS,
    TASK_NUMBER,
    ImportFormat,
    check_sources,
    empty_export,
    exported_judgments,
    first_rows,
    format_of,
    of_people,
    preferences_in,
    says_who,
)
from rankscope.judging.pools import answered_among
from rankscope.judging.preference_files import (
    PreferenceLine,
    fitting_preferences,
    keep_preferences,
    older_words,
    replaced_words,
)
from rankscope.printable import counted
from rankscope.records import Record, replace
from rankscope.store.judgments import StoredJudgment, graded_by, is_choice, subject_of
from rankscope.store.qrels import StoredQrels

if TYPE_CHECKING:
    from rankscope.store.store import Store

SHOWN = 3
GRADES_ALONE = ("qrels", "quepid")
"""Files of these formats have a place for neither time, flag, choice nor note."""
RATER_ID = re.compile(r"task \d+ rater \d+")
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
    if empty := empty_export(path):
        note = f"{shown_url(str(path))} is an export without any judgment"
        return TakenIn(format=empty, n=0, n_new=0, n_grades=0, n_flags=0, n_choices=0, notes=(note,))
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
        raters = raters_of_sources(store, task, dict.fromkeys(sources), own=own_raters(store, task, judgments, before))
        judgments = [as_of_task(each, task, raters[each.source]) for each in judgments]
    notes.extend(said_twice(judgments, {} if task is None else names_of_raters(store.raters.list(task))))
    if not judgments and not preferences:
        raise InputError(
            f"{shown_url(str(path))} holds no judgment that can be taken",
            hint="; ".join(notes) or "is it the right file?",
        )
    named = [replace(each, collection=collection, source=without_name(each.source)) for each in judgments]
    wanted = [with_known_guideline(store, each, notes) for each in named]
    if form in GRADES_ALONE:
        wanted = unchanged_as_held(wanted, before)
    kept = store.judgments.add(with_uuids(as_held(wanted, before)))
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


def own_raters(
    store: Store, task: Task, judgments: Sequence[SingleJudgment], before: Sequence[StoredJudgment]
) -> dict[JudgmentSource, str]:
    """Return the ids of raters of this task whom a file names, whatever these are called by now.

    Another store may have raters of the same ids; but none of them said the same of the same doc at the same moment.
    Whose name was taken away stays without it, too, where a file has no times but this rater's id, or times but no id,
    and says nothing that this rater has not said.
    """
    own = str(task.number)
    held: dict[str, set[tuple[object, ...]]] = {}
    for stored in (each.judgment for each in before):
        if (stored.task or "").removesuffix(AGAIN) == own:
            held.setdefault(stored.source.id, set()).add(said_of(stored))
    said: dict[JudgmentSource, list[SingleJudgment]] = {}
    for each in judgments:
        said.setdefault(each.source, []).append(each)
    forgotten = [rater.id for rater in store.raters.list(task) if rater.name == name_of_forgotten(rater.number)]
    found = {source: own_rater(source, those, held, forgotten, own) for source, those in said.items()}
    return {source: rater for source, rater in found.items() if rater}


def own_rater(
    source: JudgmentSource,
    said: Sequence[SingleJudgment],
    held: Mapping[str, Collection[tuple[object, ...]]],
    forgotten: Sequence[str],
    task: str,
) -> str:
    """Return the id of the rater of this task who said what a file has, empty where nothing shows that one did."""
    by_id = held.get(source.id, ())
    of_task = [each for each in said if (each.task or "").removesuffix(AGAIN) == task]
    if any(said_of(each) in by_id for each in of_task if each.at is not None):
        return source.id
    if any(each.task is not None for each in said) and len(of_task) < len(said):
        return ""
    if source.id in forgotten and all(said_of(each) in by_id for each in said):
        return source.id
    if RATER_ID.fullmatch(source.id) or any(each.at is None for each in said):
        return ""
    same = [rater for rater in forgotten if all(said_of(each) in held.get(rater, ()) for each in said)]
    return same[0] if len(same) == 1 else ""


def said_of(each: SingleJudgment) -> tuple[object, ...]:
    return (each.task or "").endswith(AGAIN), each.query, each.doc, each.at, each.grade, each.choice


def as_held(wanted: Sequence[SingleJudgment], before: Sequence[StoredJudgment]) -> Iterator[SingleJudgment]:
    """Yield judgments with the uuids that the store knows them by, whichever their file gives them, or none."""
    uuid_of = {replace(each.judgment, uuid=""): each.judgment.uuid for each in before if each.judgment.at is not None}
    known = {each.judgment.uuid for each in before}
    for each in wanted:
        yield each if each.uuid in known else replace(each, uuid=uuid_of.get(replace(each, uuid=""), each.uuid))


def unchanged_as_held(wanted: Sequence[SingleJudgment], before: Sequence[StoredJudgment]) -> list[SingleJudgment]:
    """Return judgments as they are held where the grade is the same: what a file has no place for is not taken back.

    Of several grades of a doc in one file the last has to hold, so that these are taken as they are.
    """
    held = {subject_of(each.judgment): each.judgment for each in before if not is_choice(each.judgment)}
    n_said = Counter(map(subject_of, wanted))
    found = [(each, held.get(subject_of(each)) if n_said[subject_of(each)] == 1 else None) for each in wanted]
    return [same if same is not None and same.grade == each.grade else each for each, same in found]


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


def with_composed_names(judgments: Iterable[SingleJudgment], known: Collection[str]) -> list[SingleJudgment]:
    """Return judgments with the names of raters in the one form that is kept; what the store has stays as it is."""
    found = []
    for each in judgments:
        source = composed_source(each.source)
        uuid_of = each.uuid if source.id == each.source.id else ""
        found.append(each if each.uuid in known else replace(each, source=source, uuid=uuid_of))
    return found


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
            steps = ", ".join(map(grade_text, scale))
            raise InputError(
                f"the grade {grade_text(each.grade)} of doc {each.doc!r} for query {each.query!r} is not on the scale "
                f"{steps}",
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
