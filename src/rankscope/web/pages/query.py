"""One query: what two or more runs show for it, side by side, and how their scores come about."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal

from msgspec import Meta

from rankscope._version import __version__
from rankscope.analysis.explain import Explanation, Step
from rankscope.analysis.side_by_side import (
    DocChange,
    ShownDoc,
    SideBySide,
    adds_by_doc,
    docs_in,
    in_words,
    one_measure,
)
from rankscope.data.judgments import SingleJudgment
from rankscope.data.texts import Snippet, beginning, one_line
from rankscope.errors import UnknownNameError, did_you_mean
from rankscope.records import Record, or_none, replace
from rankscope.report.changed_queries import what_happened
from rankscope.report.document import Paragraph, Report, Section, TableBlock
from rankscope.report.explanation import conclusion, number, ranking_table
from rankscope.report.render.texts import with_minus
from rankscope.report.side_by_side import score_sentence
from rankscope.report.table import Cell, Table
from rankscope.store import StoredDoc, StoredQuery, StoredRun
from rankscope.store.judgments import StoredJudgment
from rankscope.web.library import Library
from rankscope.web.lists import RankedQueries, names_of, read_docs, read_rankings, texts_of
from rankscope.web.query_list import ChosenRuns, ListedRun, QueryListOptions, choose_runs, order_queries

MOST_LISTS = 6
LETTERS = "ABCDEF"
LONGEST_QUERY = 2_000
LONGEST_TEXT = 4_000
"""Of a doc's text, on its own."""
LONGEST_FIELD = 1_000
MOST_FIELDS = 60
LONGEST_NOTE = 300
MOST_MISSED = 20


class QueryOptions(QueryListOptions):
    """Which query is looked at, in which runs; the other options say in which list of queries it stands."""

    query: str = ""
    """The id of the query; by default the first of the list."""
    more: tuple[str, ...] = ()
    """Further runs beside the two, at most four, each named as `a` and `b` are."""
    docs: Annotated[int, Meta(ge=1, le=100)] = 10
    """How many docs of each list are shown."""
    blind: bool = False
    """Hide names, scores and grades, and put the systems in an order that follows from the seed."""
    seed: Annotated[int, Meta(ge=0, le=2**31)] = 0
    doc: str = ""
    """The doc that is shown with all of its fields, and where it stands in each list."""


class QueryAttribute(Record):
    """Something known of the query."""

    name: str
    value: str


class ScorePart(Record):
    """What a rank adds to a score."""

    rank: int
    adds: float
    start: float
    """What the ranks before it add together."""


class HitShown(Record, kw_only=True):
    """A doc of a list."""

    rank: int
    doc: str
    title: str
    """Empty where nothing is known of the doc."""
    snippet: Snippet
    grade: float | None
    """None where nobody judged the doc."""
    is_relevant: bool
    adds: float
    """What it adds to the score of the list."""
    before: int | None
    """Its rank in the list on the left, however deep; None for the first list, and where it is not there."""
    move: Literal["", "up", "down", "same", "new"]
    """From the list on the left, among the docs shown; empty in the first list."""
    is_lost: bool
    """Whether the list on the right does not show it."""


class MoveLine(Record):
    """A doc that two lists beside one another show: where it stands in both."""

    left: int
    right: int
    kind: Literal["up", "down", "stays"]
    """up and down for relevant docs only."""


class ListShown(Record, kw_only=True):
    """What one run shows for the query."""

    letter: str
    name: str
    """The letter again where names are hidden."""
    run: ListedRun | None
    """None where names are hidden."""
    score: float | None
    """None where the measure is undefined."""
    n_retrieved: int
    failure: str | None
    """Why there is no answer, empty where that is not known or would tell the name; None where there is one."""
    latency_ms: float | None
    hits: tuple[HitShown, ...]
    lines: tuple[MoveLine, ...]
    """To the list on the left; none in the first list."""
    parts: tuple[ScorePart, ...]
    """The ranks that add something, in their order; they add up to the score where docs have shares in it."""
    working: WorkedScore


class WorkedScore(Record):
    """How the score of a list comes about, as a table and in words."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]


class RaterGrade(Record, kw_only=True):
    """What somebody said of a doc."""

    rater: str
    is_model: bool
    grade: float | None
    status: str
    is_flagged: bool
    note: str
    at: str | None


class DocPlace(Record, kw_only=True):
    """Where a doc stands in one list."""

    letter: str
    name: str
    rank: int | None
    """None where the run does not have it."""
    score: float | None
    """What the system gave it."""
    adds: float | None
    parts: tuple[QueryAttribute, ...]
    """What its share of the score is made of."""


class DocDetails(Record, kw_only=True):
    """A doc with all that is known of it."""

    doc: str
    title: str
    text: str
    is_cut: bool
    fields: tuple[QueryAttribute, ...]
    n_fields: int
    grade: float | None
    places: tuple[DocPlace, ...]


class QueryPage(Record, kw_only=True):
    """What stands on the page."""

    collection: str
    measure: str
    systems: tuple[ListedRun, ...]
    """The newest run of each system, to choose from."""
    earlier: tuple[ListedRun, ...]
    """Other runs to choose from."""
    measures: tuple[str, ...]
    """Measures to choose from."""
    query: str
    text: str
    is_cut: bool
    attributes: tuple[QueryAttribute, ...]
    answer: str
    why: str
    """What happened to the docs that make the difference; empty where that is not known."""
    is_judged: bool
    lists: tuple[ListShown, ...]
    best: tuple[ScorePart, ...]
    """What the ranks of the best possible list add, where the measure has one."""
    scale: float
    """The largest sum of parts, to draw them by."""
    changes: tuple[DocChange, ...]
    """The docs that make the difference between two lists, the most important first."""
    missed: tuple[str, ...]
    """Titles, or else ids, of relevant docs that no list shows."""
    n_relevant: int
    graded_by: dict[str, tuple[RaterGrade, ...]]
    """Who gave which grade, by doc, where single judgments are kept."""
    labels: str
    """Whose grades are shown: the judgments, and when they were stored."""
    doc: DocDetails | None
    previous: str | None
    next: str | None
    place: int | None
    """Where it stands in the list of queries; None where it is not in the list."""
    n_listed: int
    repeated: str = ""
    """Which runs have several repetitions, of which the first one's list is shown; empty where there are none."""


def query_page(library: Library, asked: QueryOptions) -> QueryPage:
    """Put the lists of two or more runs for one query side by side, with grades and what each doc adds."""
    made = library.cached(("query page", asked), lambda: make_page(library, asked))
    return blinded(made) if asked.blind and made.lists else made


def blinded(page: QueryPage) -> QueryPage:
    """Return a page that tells nothing of who is better: no scores, no grades, and no word on relevant docs."""
    return replace(
        page,
        answer="Which list is better? Scores and grades are hidden, as the names are.",
        why="",
        lists=tuple(
            replace(
                each,
                score=None,
                hits=tuple(replace(hit, grade=None, is_relevant=False, adds=0.0) for hit in each.hits),
                lines=tuple(replace(line, kind="stays") for line in each.lines),
                parts=(),
                working=WorkedScore((), (), ()),
            )
            for each in page.lists
        ),
        best=(),
        changes=(),
        missed=(),
        graded_by={},
        doc=None
        if page.doc is None
        else replace(
            page.doc,
            grade=None,
            places=tuple(replace(place, score=None, adds=None, parts=()) for place in page.doc.places),
        ),
    )


def make_page(library: Library, asked: QueryOptions) -> QueryPage:
    chosen = choose_runs(library, asked, asked.more[: MOST_LISTS - 2])
    if chosen is None:
        return no_query()
    one_measure([chosen.measure])
    order = order_queries(library, replace(chosen, runs=chosen.runs[:2]), asked)
    listed, judged = order.query_ids, order.scores.query_ids
    query = asked.query or next(iter(listed), "")
    stored = find_query(library, chosen, query)
    shown = shuffled(chosen, asked, query)
    names = list(LETTERS[: len(shown.runs)]) if asked.blind else names_of(shown.runs)
    also = judged[:1] if query not in judged else ()  # without any judgment, nothing could be aligned
    ranked = read_rankings(library, shown, names, [query, *also])
    sides = all_sides(ranked, query, asked.docs)
    docs = read_docs(library, chosen, {*(doc for each in sides for doc in docs_in(each)), asked.doc})
    texts = texts_of({query: stored}, docs)
    sides = [in_words(each, texts) for each in sides]
    explanations = [ranked.explanation(i, query).with_texts(texts) for i in range(len(names))]
    best = best_parts(explanations[0])
    lists = tuple(lists_of(library, shown, names, sides, explanations, blind=asked.blind))
    place = listed.index(query) if query in listed else None
    is_pair = len(names) == 2
    return QueryPage(
        collection=chosen.collection,
        measure=chosen.measure.name,
        systems=chosen.newest,
        earlier=chosen.earlier,
        measures=chosen.measures,
        query=query,
        text=beginning(one_line(stored.text or ""), LONGEST_QUERY),
        is_cut=len(stored.text or "") > LONGEST_QUERY,
        attributes=tuple(attributes_of(stored.attributes)),
        answer=with_minus(score_sentence(sides[0]) if is_pair else scores_sentence(explanations, names)),
        why=sentence(what_happened(sides[0], chosen.sign)) if is_pair else "",
        is_judged=bool(ranked.qrels.judged[query]),
        lists=lists,
        best=best,
        scale=max(
            [1e-9, *(part.start + part.adds for parts in (best, *(each.parts for each in lists)) for part in parts)]
        ),
        changes=sides[0].changes if is_pair else (),
        missed=missed_by_all(sides)[:MOST_MISSED],
        n_relevant=sides[0].n_relevant,
        graded_by=grades_by_doc(library, chosen, query, docs_shown(sides, asked.doc)),
        labels=f"{chosen.labels.name} of {chosen.labels.stored[:10]}",
        doc=doc_details(asked.doc, docs.get(asked.doc), query, ranked, explanations) if asked.doc else None,
        previous=listed[place - 1] if place else None,
        next=listed[place + 1] if place is not None and place + 1 < len(listed) else None,
        place=None if place is None else place + 1,
        n_listed=len(listed),
        repeated=repeated_words(shown.runs, names),
    )


def repeated_words(runs: Sequence[StoredRun], names: Sequence[str]) -> str:
    """Say which lists are the first of several, as the list of queries shows means over all of them."""
    asked = [
        f"{name} {run.details.n_repetitions} times"
        for run, name in zip(runs, names, strict=True)
        if run.details.n_repetitions > 1
    ]
    if not asked:
        return ""
    return (
        f"The query was asked of {', of '.join(asked)}: this is the first answer, and the list of queries has the mean."
    )


def no_query() -> QueryPage:
    return QueryPage(
        collection="", measure="", systems=(), earlier=(), measures=(), query="", text="", is_cut=False, attributes=(),
        answer="There are no runs yet.", why="", is_judged=False, lists=(), best=(), scale=1.0, changes=(), missed=(),
        n_relevant=0,
        graded_by={}, labels="", doc=None, previous=None, next=None, place=None, n_listed=0,
    )  # fmt: skip


def find_query(library: Library, chosen: ChosenRuns, query: str) -> StoredQuery:
    """Return what was asked; a query that was asked of no run is an error."""
    known: list[str] = []
    for sha256 in dict.fromkeys(run.queries_sha256 for run in reversed(chosen.runs)):
        ids = library.cached(("query ids", sha256), partial(library.store.texts.query_ids, sha256), lasting=True)
        if query in ids:
            return library.store.texts.queries_at(sha256, [ids.index(query)])[query]
        known += ids
    raise UnknownNameError(
        f"{chosen.collection} has no query {query!r}" if query else f"no query of {chosen.collection} fits the filters",
        hint=did_you_mean(query, known) or "the page Queries lists them",
    )


def shuffled(chosen: ChosenRuns, asked: QueryOptions, query: str) -> ChosenRuns:
    """Return the runs in the order in which they are shown: as they were chosen, or blind in one of the seed's."""
    if not asked.blind:
        return chosen
    runs = sorted(chosen.runs, key=lambda run: run.number)
    random.Random(f"{asked.seed} {query}").shuffle(runs)  # noqa: S311 (an order to be repeated, not a secret)
    return replace(chosen, runs=tuple(runs))


def all_sides(ranked: RankedQueries, query: str, n_shown: int) -> list[SideBySide]:
    """Return each list beside the one on its right; a list that is alone beside itself."""
    pairs = list(pairwise(range(len(ranked.sources)))) or [(0, 0)]
    return [ranked.sides(first, second, query, n_shown=n_shown) for first, second in pairs]


def attributes_of(attributes: Mapping[str, Any]) -> Iterator[QueryAttribute]:
    for name, value in list(attributes.items())[:MOST_FIELDS]:
        yield QueryAttribute(beginning(one_line(name), LONGEST_NOTE), beginning(value_text(value), LONGEST_NOTE))


def value_text(value: Any) -> str:
    """Return a value of a field as people read it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False, default=str)


def scores_sentence(explanations: Sequence[Explanation], names: Sequence[str]) -> str:
    scores = ["undefined" if each.score is None else f"{each.score:.4f}" for each in explanations]
    said = [f"{score} in {name}" for score, name in zip(scores, names, strict=True)]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{explanations[0].measure} is {listed}."


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def lists_of(
    library: Library,
    shown: ChosenRuns,
    names: Sequence[str],
    sides: Sequence[SideBySide],
    explanations: Sequence[Explanation],
    *,
    blind: bool,
) -> Iterator[ListShown]:
    query = sides[0].query
    for i, (run, name, explanation) in enumerate(zip(shown.runs, names, explanations, strict=True)):
        left = sides[i - 1].b.docs if i else None
        right = sides[i].a.docs if i < len(sides) and len(shown.runs) > 1 else None
        own = left if left is not None else sides[0].a.docs
        hits = tuple(
            hit_shown(doc, has_left=left is not None, is_lost=right is not None and right[at].move == "lost")
            for at, doc in enumerate(own)
        )
        latencies = library.store.runs.latencies_ms(run) if run.latencies_sha256 else None
        failed = query in run.details.failed
        yield ListShown(
            letter=LETTERS[i],
            name=name,
            run=None if blind else shown.listed(run),
            score=explanation.score,
            n_retrieved=explanation.n_retrieved,
            failure=(run.details.reasons.get(query, "") if not blind else "") if failed else None,
            latency_ms=None if latencies is None or blind else or_none(latencies.get(query)),
            hits=hits,
            lines=tuple(lines_between(left or ())),
            parts=parts_of(explanation),
            working=worked(explanation),
        )


def hit_shown(doc: ShownDoc, *, has_left: bool, is_lost: bool) -> HitShown:
    move: Any = doc.move if has_left and doc.move != "lost" else ""
    return HitShown(
        rank=doc.rank,
        doc=doc.doc,
        title=doc.title,
        snippet=doc.snippet,
        grade=doc.grade,
        is_relevant=doc.is_relevant,
        adds=doc.adds,
        before=doc.other_rank if has_left else None,
        move=move,
        is_lost=is_lost,
    )


def lines_between(docs: Iterable[ShownDoc]) -> Iterator[MoveLine]:
    """Yield a line for each doc that both lists show, as the reports have them."""
    for doc in docs:
        if doc.move in ("up", "down", "same") and doc.other_rank is not None:
            kind: Any = doc.move if doc.is_relevant and doc.move != "same" else "stays"
            yield MoveLine(doc.other_rank, doc.rank, kind)


def parts_of(explanation: Explanation) -> tuple[ScorePart, ...]:
    return score_parts((step for step in explanation.steps if step.rank is not None), explanation.divisor)


def best_parts(explanation: Explanation) -> tuple[ScorePart, ...]:
    return score_parts(explanation.ideal, explanation.divisor)


def score_parts(steps: Iterable[Step], divisor: float | None) -> tuple[ScorePart, ...]:
    """Return the ranks that add something, with where they begin in the sum."""
    parts, start = [], 0.0
    for step in steps:
        adds = step.term / (divisor or 1.0)
        if adds:
            parts.append(ScorePart(step.rank or 0, adds, start))
        start += adds
    return tuple(parts)


def worked(explanation: Explanation) -> WorkedScore:
    table = ranking_table(explanation)
    rows = tuple(tuple(with_minus(cell.text) for cell in row) for row in table.rows)
    return WorkedScore(tuple(table.header), rows, (*table.notes, *map(with_minus, conclusion(explanation))))


def missed_by_all(sides: Sequence[SideBySide]) -> tuple[str, ...]:
    """Return the relevant docs that no list shows, the best first."""
    others = [frozenset(each.missed) for each in sides[1:]]
    return tuple(doc for doc in sides[0].missed if all(doc in each for each in others))


def docs_shown(sides: Sequence[SideBySide], doc: str) -> frozenset[str]:
    return frozenset([doc, *(one.doc for each in sides for shown in (each.a, each.b) for one in shown.docs)])


def grades_by_doc(
    library: Library, chosen: ChosenRuns, query: str, docs: frozenset[str]
) -> dict[str, tuple[RaterGrade, ...]]:
    found: dict[str, tuple[RaterGrade, ...]] = {}
    for stored in library.store.judgments.current(chosen.collection, query=query):
        if stored.judgment.doc in docs:
            found[stored.judgment.doc] = (*found.get(stored.judgment.doc, ()), rater_grade(stored))
    return found


def rater_grade(stored: StoredJudgment) -> RaterGrade:
    judgment = stored.judgment
    return RaterGrade(
        rater=rater_name(judgment),
        is_model=judgment.source.kind == "judge",
        grade=judgment.grade,
        status=judgment.status,
        is_flagged=judgment.flag,
        note=beginning(one_line(judgment.note), LONGEST_NOTE),
        at=known_time(judgment.at) or stored.stored,
    )


def rater_name(judgment: SingleJudgment) -> str:
    source = judgment.source
    names = [source.id] if source.kind == "person" else [source.name, source.model]
    return beginning(one_line(" ".join(filter(None, names))), 80) or "somebody"


def known_time(text: str | None) -> str | None:
    """Return a time that somebody wrote, where it is one."""
    try:
        return None if text is None else datetime.fromisoformat(text).isoformat()
    except ValueError:
        return None


def doc_details(
    doc: str, stored: StoredDoc | None, query: str, ranked: RankedQueries, explanations: Sequence[Explanation]
) -> DocDetails:
    """Return all that is known of a doc, and where it stands in each list."""
    known = stored or StoredDoc()
    fields = list(known.fields.items())
    grade = ranked.qrels.judged[query].get(doc, -1.0)
    return DocDetails(
        doc=doc,
        title=beginning(one_line(known.title), LONGEST_NOTE),
        text=beginning(known.text, LONGEST_TEXT),
        is_cut=len(known.text) > LONGEST_TEXT,
        fields=tuple(
            QueryAttribute(beginning(one_line(name), LONGEST_NOTE), beginning(value_text(value), LONGEST_FIELD))
            for name, value in fields[:MOST_FIELDS]
        ),
        n_fields=len(fields),
        grade=grade if grade >= 0 else None,
        places=tuple(places_of(doc, query, ranked, explanations)),
    )


def places_of(doc: str, query: str, ranked: RankedQueries, explanations: Sequence[Explanation]) -> Iterator[DocPlace]:
    for i, explanation in enumerate(explanations):
        step = next((step for step in explanation.steps if step.doc == doc), None)
        rank, score = ranked.place(i, query, doc)
        yield DocPlace(
            letter=LETTERS[i],
            name=ranked.sources[i].name,
            rank=rank,
            score=score,
            adds=adds_by_doc(explanation).get(doc),
            parts=step_parts(step),
        )


def step_parts(step: Step | None) -> tuple[QueryAttribute, ...]:
    parts = {} if step is None else step.parts
    return tuple(QueryAttribute(name, "undefined" if value is None else number(value)) for name, value in parts.items())


def query_report(page: QueryPage) -> Report | None:
    """Return the lists and how their scores come about as a report, from which files are made."""
    if not page.lists:
        return None
    asked = f"“{beginning(page.text, LONGEST_NOTE)}” ({page.query})" if page.text else f"Query {page.query}"
    lists = [TableBlock(f"{each.letter} {each.name}", hits_table(each, page.measure)) for each in page.lists]
    workings = [
        TableBlock(f"{each.letter} {each.name}", Table(each.working.header, working_rows(each), 3, each.working.words))
        for each in page.lists
        if each.working.header  # there is none where scores are hidden
    ]
    said = Paragraph(" ".join(filter(None, (page.answer, page.why))))
    sections = [Section("What each list shows", tuple(lists))]
    if workings:
        sections.append(Section("How the scores come about", tuple(workings)))
    return Report(asked, (said,), tuple(sections), (("rankscope", __version__), ("judgments", page.labels)))


def hits_table(shown: ListShown, measure: str) -> Table:
    rows = [
        [
            Cell(str(hit.rank)),
            Cell(hit.title),
            Cell(hit.doc),
            Cell("-" if hit.grade is None else f"{hit.grade:g}"),
            Cell(f"{hit.adds:.4f}", raw=repr(hit.adds)),
            Cell("" if hit.before is None else str(hit.before)),
        ]
        for hit in shown.hits
    ]
    notes = (f"adds: what a doc contributes to {measure}; before: its rank in the list on the left",)
    return Table(["rank", "doc", "id", "grade", "adds", "before"], rows, n_name_columns=3, notes=notes)


def working_rows(shown: ListShown) -> list[list[Cell]]:
    return [[Cell(text) for text in row] for row in shown.working.rows]
