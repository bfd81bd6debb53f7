"""A query that is asked all systems of the project at once, side by side; what is found can be kept as a test case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankscope.data.texts import Snippet, Texts
from rankscope.errors import OptionError
from rankscope.experiment.collection import Collection, load_collection
from rankscope.experiment.jobs import systems_with_code
from rankscope.experiment.live import LiveAnswer, LiveQuestion
from rankscope.experiment.project import RUN_FILE, Project
from rankscope.experiment.query_cases import QueryCase, change_attributes, query_of_text, save_test_case
from rankscope.io.columns import QUERY_COLUMNS
from rankscope.printable import counted, listed
from rankscope.records import Options, Record
from rankscope.web.address import address
from rankscope.web.library import Library
from rankscope.web.pages.jobs import project_of
from rankscope.web.security import Identity

MOST_VALUES = 40
"""An attribute with more values than this is no choice."""
MOST_DOCS = 100
LONGEST_QUERY = 10_000
LONGEST_NAME, LONGEST_VALUE = 100, 1_000
"""Of an attribute."""


class LiveOptions(Options):
    """What is asked, and whom."""

    collection: str | None = None
    query: str = ""
    system: tuple[str, ...] = ()
    """The systems; all that can be asked where none is named."""
    attribute: tuple[str, ...] = ()
    """Attributes of the query, each as name=value."""
    k: int = 5
    """How many docs are shown of each."""
    saved: str | None = None
    """The query that a test case was saved for just now."""


class AskedSystem(Record):
    """A system of the project, and whether it can be asked."""

    name: str
    type: str
    needs_owner: bool
    """It runs a program, or code of the project, which only owners may do."""
    why_not: str
    """Why it cannot be asked at all; empty where it can."""
    note: str
    """What is not as in a run."""


class AttributeChoice(Record):
    """An attribute of queries, with the values that there are."""

    name: str
    values: tuple[str, ...]
    chosen: str


class LivePage(Record, kw_only=True):
    """What stands on the page before anybody has answered."""

    project: str | None
    """None where the page is about a store alone: there is nobody to ask."""
    problem: str = ""
    """Why the project file, which was changed, cannot be read; empty where it can."""
    collections: tuple[str, ...] = ()
    collection: str = ""
    systems: tuple[AskedSystem, ...] = ()
    attributes: tuple[AttributeChoice, ...] = ()
    known_query: str | None = None
    """The id of the query of the collection that asks the same; its judgments are shown."""


def live_page(library: Library, asked: LiveOptions) -> LivePage:
    """Show whom a query can be asked; the answers come by /live/ask."""
    project = library.project
    if project is None or not project.collections:
        return LivePage(project=None if project is None else project.file.name, problem=library.project_problem)
    if library.project_problem:
        return LivePage(project=project.file.name, problem=library.project_problem)
    collection = opened_collection(library, asked.collection)
    known = query_of_text(collection, asked.query) if asked.query else None
    own = collection.queries.attributes_of(known) if known is not None else {}
    chosen = {**{name: str(value) for name, value in own.items()}, **pairs_of(asked.attribute)}
    return LivePage(
        project=project.file.name,
        collections=tuple(project.collections),
        collection=collection.name,
        systems=asked_systems(project),
        attributes=attribute_choices(collection, chosen),
        known_query=known,
    )


def opened_collection(library: Library, name: str | None) -> Collection:
    """Return a collection of the project, read anew where its files have changed."""
    project = project_of(library)
    spec = project.collection(name or next(iter(project.collections)))
    parts = (spec.queries, spec.qrels, spec.path and spec.path / "queries.jsonl", spec.path and spec.path / "qrels")
    paths = [Path(part) for part in parts if part is not None]
    states = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.exists())
    return library.cached(("live", spec.name, states), lambda: load_collection(spec, cache=project.cache))


def asked_systems(project: Project) -> tuple[AskedSystem, ...]:
    with_code = systems_with_code(project)
    return tuple(
        AskedSystem(
            name=name,
            type=entry.type,
            needs_owner=name in with_code,
            why_not="it is a run in a file, which has answers to its own queries only"
            if entry.type == RUN_FILE
            else "",
            note="with the first of the values that a run chooses from"
            if entry.sweep
            else "with equal weights, which a run tunes"
            if entry.options.get("weights") == "tune"
            else "",
        )
        for name, entry in project.systems.items()
    )


def attribute_choices(collection: Collection, chosen: dict[str, str]) -> tuple[AttributeChoice, ...]:
    found = []
    for name, column in collection.queries.attributes.items():
        values = [value for value, _ in Counter(str(value) for value in column.values()).most_common()]
        if len(values) <= MOST_VALUES or name in chosen:
            found.append(AttributeChoice(name, tuple(sorted(values[:MOST_VALUES])), chosen.get(name, "")))
    return tuple(found)


def pairs_of(attributes: Sequence[str]) -> dict[str, str]:
    pairs = (each.partition("=") for each in attributes)
    return {name: value for name, _, value in pairs if name and value}


# The question and its answers


class AskOptions(Options):
    """A query to ask."""

    query: str
    collection: str | None = None
    system: tuple[str, ...] = ()
    attribute: tuple[str, ...] = ()
    k: int = 5


def question_of(library: Library, identity: Identity, asked: AskOptions) -> LiveQuestion:
    """Return whom to ask what; systems that run code are asked for owners alone."""
    project = project_of(library)
    if not asked.query.strip():
        raise OptionError("the query is empty", hint="type what somebody would search for")
    refuse_long(asked.query)
    if not 1 <= asked.k <= MOST_DOCS:
        raise OptionError(
            f"k must be a whole number from 1 to {MOST_DOCS}", hint="so many docs are shown of each system"
        )
    known = {system.name: system for system in asked_systems(project)}
    for name in asked.system:
        if name not in known:
            raise OptionError(f"there is no system {name!r}", hint="open the page again: the project was changed")
    may = [
        system.name
        for system in known.values()
        if not system.why_not and (identity.may("owner") or not system.needs_owner)
    ]
    systems = tuple(name for name in may if not asked.system or name in asked.system)
    if not systems:
        raise OptionError("there is no system that you may ask", hint="systems that run a program are for owners alone")
    collection = opened_collection(library, asked.collection)
    query = query_of_text(collection, asked.query)
    own = {} if query is None else collection.queries.attributes_of(query)
    return LiveQuestion(
        collection=collection.name,
        systems=systems,
        text=asked.query.strip(),
        query=query or "live",
        attributes={**own, **pairs_of(asked.attribute)},
        k=asked.k,
    )


def refuse_long(query: str) -> None:
    if len(query) > LONGEST_QUERY:
        raise OptionError(f"the query has {len(query):,} characters", hint=f"it may have up to {LONGEST_QUERY:,}")


class LiveListDoc(Record):
    """A doc in the answer of a system."""

    doc: str
    title: str
    snippet: Snippet
    score: float
    grade: float | None
    """What the qrels say, where the query is one of the collection."""
    n_lists: int
    """In how many of the answers it is."""


class ShownAnswer(Record):
    """The answer of a system, as it is shown."""

    answer: LiveAnswer
    docs: tuple[LiveListDoc, ...]
    share_of_slowest: float | None
    """Its time beside the slowest answer, from 0 to 1."""
    note: str = ""


class LiveAnswers(Record):
    """All answers to a query, side by side."""

    headline: str
    words: str
    """How much the answers have in common."""
    answers: tuple[ShownAnswer, ...]
    n_answered: int
    docs: tuple[LiveListDoc, ...]
    """Every doc once, those that most systems have first: what a test case can be made of."""


def answers_page(library: Library, question: LiveQuestion, found: Sequence[LiveAnswer]) -> LiveAnswers:
    """Put answers side by side."""
    collection = opened_collection(library, question.collection)
    grades = collection.qrels.get(question.query, {})
    times = [answer.latency_ms for answer in found if answer.latency_ms is not None]
    n_lists = Counter(doc.doc for answer in found for doc in answer.docs)
    notes = {system.name: system.note for system in asked_systems(project_of(library))}
    shown = []
    every: dict[str, LiveListDoc] = {}
    for answer in found:
        texts = Texts(
            {question.query: question.text},
            {doc.doc: doc.title for doc in answer.docs},
            {doc.doc: doc.text for doc in answer.docs},
        )
        docs = tuple(
            LiveListDoc(
                doc.doc,
                texts.title(doc.doc) or doc.doc,
                texts.snippet(question.query, doc.doc),
                doc.score,
                grades.get(doc.doc),
                n_lists[doc.doc],
            )
            for doc in answer.docs
        )
        every |= {doc.doc: doc for doc in docs if doc.doc not in every}
        share = None if answer.latency_ms is None or not max(times) else answer.latency_ms / max(times)
        shown.append(ShownAnswer(answer, docs, share, notes.get(answer.system, "")))
    answered = [answer for answer in found if not answer.failure]
    first = f"{len(answered)} of {counted(len(found), 'system')} answered"
    lost = len(found) - len(answered)
    headline = f"{first}; {lost} did not." if lost else f"{first}." if len(found) > 1 else "Answered."
    by_lists = sorted(every.values(), key=lambda doc: -doc.n_lists)
    return LiveAnswers(headline, overlap_words(answered), tuple(shown), len(answered), tuple(by_lists))


def overlap_words(answers: Sequence[LiveAnswer]) -> str:
    """Say how many docs the answers have in common."""
    lists = {answer.system: {doc.doc for doc in answer.docs} for answer in answers}
    if len(lists) < 2:
        return ""
    in_all = set.intersection(*lists.values())
    longest = max(map(len, lists.values()))
    pairs = [
        (len(one & other), first, second)
        for i, (first, one) in enumerate(lists.items())
        for second, other in list(lists.items())[i + 1 :]
    ]
    most = max(pairs)
    docs = counted(len(in_all), "doc") if in_all else "No doc"
    where = "both lists" if len(lists) == 2 else f"all {len(lists)} lists"
    said = f"{docs} {'are' if len(in_all) > 1 else 'is'} in {where}."
    if len(lists) > 2:
        said += f" {listed([most[1], most[2]])} share most: {most[0]} of {longest}."
    return said


# What can be kept


class SaveOptions(Options):
    """A test case."""

    collection: str
    query: str
    attribute: tuple[str, ...] = ()
    doc: tuple[str, ...] = ()
    """Docs that must be among the first `top`."""
    further: str = ""
    """One more of them, by its id or its title."""
    top: int = 3
    never: tuple[str, ...] = ()
    """Docs that must not be among the first `never_top`."""
    never_top: int = 5
    reason: str = ""


def save_case(library: Library, identity: Identity, asked: SaveOptions) -> str:
    """Write a test case into the files of the project."""
    collection = opened_collection(library, asked.collection)
    if asked.top < 1 or asked.never_top < 1:
        raise OptionError("a test case looks at one doc at least", hint="the first 1, 3 or 10")
    refuse_long(asked.query)
    attributes = pairs_of(asked.attribute)
    check_attributes(attributes)
    found = known_docs(collection, (*asked.doc, *asked.never), asked.further.strip())
    docs = tuple(dict.fromkeys((*asked.doc, *([found] if found else []))))
    saved = save_test_case(
        project_of(library),
        collection,
        QueryCase(
            collection=collection.name,
            text=asked.query,
            attributes=attributes,
            docs=docs,
            top=asked.top,
            never=asked.never,
            never_top=asked.never_top,
            reason=asked.reason,
            owner=identity.name,
        ),
    )
    return address("/live", collection=collection.name, query=asked.query, attribute=asked.attribute, saved=saved.query)


def known_docs(collection: Collection, docs: Sequence[str], further: str) -> str:
    """Return the id of a further doc, which is given by id or title; all docs must be of the collection."""
    missing, is_id, titled, n_docs = set(docs), False, [], 0
    wanted = " ".join(further.split()).casefold()
    for doc in collection.docs:
        n_docs += 1
        missing.discard(doc.id)
        is_id = is_id or doc.id == further
        if wanted and " ".join((doc.title or "").split()).casefold() == wanted:
            titled.append(doc.id)
    if not n_docs:  # the systems alone know the docs
        return further
    if missing:
        raise OptionError(
            f"{collection.name} has no doc {min(missing)!r}", hint="a doc that is not there can never be found"
        )
    if not further or is_id:
        return further
    if len(titled) > 1:
        raise OptionError(
            f"{len(titled)} docs have the title {further!r}", hint=f"give the id: {', '.join(titled[:5])}"
        )
    if not titled:
        raise OptionError(f"{collection.name} has no doc with the id or title {further!r}", hint="give all of either")
    return titled[0]


def check_attributes(attributes: Mapping[str, str]) -> None:
    """Refuse attributes that are none, or too long."""
    reserved = {name for names in QUERY_COLUMNS.values() for name in names}
    for name, value in attributes.items():
        if name.casefold() in reserved:
            raise OptionError(f"{name} is no attribute: it stands for the id or the text of a query")
        if len(name) > LONGEST_NAME or len(value) > LONGEST_VALUE:
            longest = f"a name may have up to {LONGEST_NAME} characters, a value up to {LONGEST_VALUE:,}"
            raise OptionError(f"the attribute {name[:40]!r} is too long", hint=longest)


class AttributesOptions(Options):
    """Attributes of a query to change."""

    collection: str
    query: str
    """The text of the query."""
    attribute: tuple[str, ...] = ()
    """Each as name=value; without a value it is removed."""
    name: str = ""
    """A further attribute."""
    value: str = ""


def save_attributes(library: Library, identity: Identity, asked: AttributesOptions) -> str:  # noqa: ARG001 (the role was checked)
    """Change attributes of a query in the file of queries."""
    collection = opened_collection(library, asked.collection)
    query = query_of_text(collection, asked.query)
    if query is None:
        raise OptionError("the collection has no such query", hint="save it as a test case first")
    given = {name: value for name, _, value in (each.partition("=") for each in asked.attribute) if name}
    if asked.value and not asked.name.strip():
        raise OptionError("the attribute has a value and no name", hint="give it a name, such as language")
    if asked.name.strip():
        given[asked.name.strip()] = asked.value
    now = {name: str(value) for name, value in collection.queries.attributes_of(query).items()}
    changes = {name: value for name, value in given.items() if value != now.get(name, "")}
    check_attributes(changes)
    if changes:
        change_attributes(collection, query, changes)
    return address("/live", collection=collection.name, query=asked.query, saved=query)
