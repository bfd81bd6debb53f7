"""The collections that runs were made on: sizes, strata, how much is judged, and what is odd about their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from rankscope.analysis.validate import validate_rows
from rankscope.errors import UnknownNameError
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted
from rankscope.records import Options, Record
from rankscope.report.document import Mark, Report, Section, TableBlock, VerdictBlock
from rankscope.report.table import Cell, Table
from rankscope.store.runs import StoredRun
from rankscope.store.schema import collection, collection_version, run
from rankscope.web.chosen import collection_runs
from rankscope.web.library import Library
from rankscope.web.query_list import simple_values

SHOWN_VALUES = 12
"""Values of an attribute; the others are counted."""
JUDGED = "Judged@10"
MARKS: dict[str, Mark] = {"error": "fails", "warning": "look", "remark": "note"}
WELL_JUDGED = 0.9


class CollectionsOptions(Options):
    """Which collection is shown."""

    collection: str | None = None
    """One collection with all that is known of it; by default a line for each."""


class CollectionLine(Record, kw_only=True):
    """One collection in short."""

    name: str
    n_queries: int
    n_docs: int | None
    """None where nobody said how many docs there are."""
    n_judgments: int
    n_judged_queries: int
    n_systems: int
    n_runs: int
    newest_run: str
    n_versions: int
    """How often its queries, docs or judgments have changed, from 1."""


class AttributeCounts(Record):
    """An attribute of queries, and how often each of its values occurs."""

    name: str
    values: tuple[tuple[str, int], ...]
    """The most frequent ones."""
    n_values: int


class JudgedShare(Record):
    """How much of the first results of a system is judged."""

    system: str
    run: int
    share: float | None


class OddThing(Record):
    """Something that is odd about judgments, or about how runs fit to them."""

    where: str
    mark: Mark
    message: str
    examples: tuple[str, ...]
    hint: str


class CollectionDetails(Record):
    """What is known of one collection."""

    attributes: tuple[AttributeCounts, ...]
    judged: tuple[JudgedShare, ...]
    odd: tuple[OddThing, ...]
    grades: tuple[tuple[float, int], ...]
    """How often each grade was given."""


class CollectionsPage(Record):
    """What stands on the page of the collections."""

    collections: tuple[str, ...]
    collection: str | None
    answer: VerdictBlock | None
    lines: tuple[CollectionLine, ...]
    details: CollectionDetails | None


def collections_page(library: Library, asked: CollectionsOptions) -> CollectionsPage:
    """Show what runs were made on: how large it is, its strata, how much is judged, which ids are odd."""
    names = library.store.runs.collections()
    if asked.collection is not None and asked.collection not in names:
        raise UnknownNameError(f"the store has no runs on {asked.collection!r}", hint=f"there are {', '.join(names)}")
    wanted = [asked.collection] if asked.collection else list(names)
    lines = library.cached(("collections", tuple(wanted)), lambda: tuple(line_of(library, name) for name in wanted))
    details = None
    if len(wanted) == 1:
        of = collection_runs(library, wanted[0])
        labels = library.store.qrels.list(name=of.name)
        details = library.large(
            ("collection", of.name, tuple(run.number for run in of.newest.values()), *(each.number for each in labels)),
            details_of,
            of.name,
            n_scores=lines[0].n_queries * len(of.newest),
            what=f"what is odd about {of.name}",
        )
    return CollectionsPage(
        collections=names,
        collection=asked.collection,
        answer=answer_of(lines, details) if lines else None,
        lines=lines,
        details=details,
    )


def line_of(library: Library, name: str) -> CollectionLine:
    runs = library.store.runs.list(collection=name)
    labels = library.store.qrels.list(name=name)
    versions = (
        sa.select(sa.func.count(collection_version.c.id.distinct()))
        .select_from(collection_version.join(collection).join(run))
        .where(collection.c.name == name)
    )
    with library.store.reading() as connection:
        n_versions = connection.execute(versions).scalar_one()
    newest = runs[-1]
    return CollectionLine(
        name=name,
        n_queries=newest.counts.get("queries") or len(library.store.texts.queries(newest.queries_sha256)),
        n_docs=newest.counts.get("docs"),
        n_judgments=labels[-1].facts["n_judgments"] if labels else 0,
        n_judged_queries=labels[-1].facts["n_queries"] if labels else 0,
        n_systems=len({run.system for run in runs}),
        n_runs=len(runs),
        newest_run=newest.started,
        n_versions=n_versions,
    )


def details_of(library: Library, name: str) -> CollectionDetails:
    store = library.store
    newest_of: dict[str, StoredRun] = {run.system: run for run in store.runs.list(collection=name)}
    newest = list(newest_of.values())[-1]
    queries = store.texts.queries(newest.queries_sha256)
    values: dict[str, Counter[str]] = {}
    for query in queries.values():
        for attribute, value in query.attributes.items():
            if not simple_values(value):  # objects, such as turns of a conversation
                continue
            values.setdefault(attribute, Counter())[text_of(value)] += 1
    attributes = tuple(
        AttributeCounts(attribute, tuple(counts.most_common(SHOWN_VALUES)), len(counts))
        for attribute, counts in values.items()
    )
    if not store.qrels.list(name=name):
        return CollectionDetails(attributes, (), (), ())
    stored = store.qrels.find(name)
    labels = store.qrels.judgments(stored)
    means = store.scores.means(list(newest_of.values()), stored, parse_measure(JUDGED))
    rankings = {run.system: store.runs.ranking(run).rows for run in newest_of.values()}
    findings = validate_rows(labels.rows, rankings, qrels_name="the judgments")
    grades = Counter(labels.rows.grade.tolist())
    return CollectionDetails(
        attributes,
        tuple(JudgedShare(run.system, run.number, means[run.number].mean) for run in newest_of.values()),
        tuple(OddThing(one.where, MARKS[one.level], one.message, tuple(one.examples), one.hint) for one in findings),
        tuple(sorted(grades.items(), reverse=True)),
    )


def text_of(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def answer_of(lines: tuple[CollectionLine, ...], details: CollectionDetails | None) -> VerdictBlock:
    """Say what there is; of one collection, whether its judgments reach what systems find."""
    if details is None:
        n = sum(line.n_runs for line in lines)
        return VerdictBlock(f"{counted(len(lines), 'collection')}, {counted(n, 'run')}.", "", "note")
    line = lines[0]
    size = f"{counted(line.n_queries, 'query')}, {counted(line.n_judgments, 'judgment')}"
    shares = [one.share for one in details.judged if one.share is not None]
    n_wrong = sum(one.mark == "fails" for one in details.odd)
    if n_wrong:
        return VerdictBlock(f"{counted(n_wrong, 'thing')} about {line.name} must be put right.", f"{size}.", "fails")
    if not shares:
        return VerdictBlock(f"{line.name} has no judgments.", f"{size}.", "look")
    least = min(shares)
    who = min((one for one in details.judged if one.share is not None), key=lambda one: one.share or 0).system
    judged = f"{size}. Of the first ten results of {who}, {least:.0%} are judged, the least of all systems."
    if least < WELL_JUDGED:
        return VerdictBlock(f"Part of what systems find on {line.name} is not judged.", judged, "look")
    return VerdictBlock(f"What systems find on {line.name} is judged well.", judged, "fine")


def collections_report(page: CollectionsPage) -> Report | None:
    """Return what is on the page as a report, from which files are exported."""
    if page.answer is None:
        return None
    header = [
        "collection",
        "queries",
        "docs",
        "judgments",
        "judged queries",
        "systems",
        "runs",
        "newest run",
        "versions",
    ]
    rows = [
        [
            Cell(line.name),
            Cell(str(line.n_queries)),
            Cell("-" if line.n_docs is None else str(line.n_docs)),
            *(Cell(str(n)) for n in (line.n_judgments, line.n_judged_queries, line.n_systems, line.n_runs)),
            Cell(line.newest_run),
            Cell(str(line.n_versions)),
        ]
        for line in page.lines
    ]
    sections = () if page.details is None else (Section(page.collection or "", tuple(detail_tables(page.details))),)
    first = (page.answer, TableBlock("Collections", Table(header, rows)))
    return Report(title="Collections", first_screen=first, sections=sections, footer=())


def detail_tables(details: CollectionDetails) -> Iterator[TableBlock]:
    """Yield what is known of one collection, a table each."""
    strata = [[Cell(one.name), Cell(value), Cell(str(n))] for one in details.attributes for value, n in one.values]
    judged = [
        [
            Cell(one.system),
            Cell(str(one.run)),
            Cell("-" if one.share is None else f"{one.share:.4f}", raw=repr(one.share)),
        ]
        for one in details.judged
    ]
    grades = [[Cell(f"{grade:g}"), Cell(str(n))] for grade, n in details.grades]
    odd = [[Cell(one.where), Cell(one.message), Cell("; ".join(one.examples)), Cell(one.hint)] for one in details.odd]
    for title, header, rows, n_names in (
        ("Strata", ["attribute", "value", "queries"], strata, 2),
        ("Judged of the first 10", ["system", "run", "share"], judged, 1),
        ("Grades", ["grade", "judgments"], grades, 1),
        ("What is odd", ["where", "what", "examples", "hint"], odd, 4),
    ):
        if rows:
            yield TableBlock(title, Table(header, rows, n_name_columns=n_names))
