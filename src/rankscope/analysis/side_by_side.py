"""Side by side: what two runs show for one query, doc beside doc, with what each adds to the score.

The contributions of a list add up to its score, as `explain` shows it; a doc has its rank in the other list beside its
own, so one sees what moved, what is new and what was lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.matching import find_mismatch, find_swap, raise_or_warn
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.explain import Explanation, explain_score
from rankscope.checks import check_keywords, check_options
from rankscope.data.loading import ReadOptions, load_qrels, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.texts import Snippet, Texts
from rankscope.errors import MeasureError, OptionError, give_warning
from rankscope.evaluation import chosen_profile, decide_measures, decide_policies
from rankscope.io.ids import as_id, byte_order
from rankscope.light import names_of
from rankscope.measures.scores import Scores
from rankscope.measures.scoring import count
from rankscope.measures.spec import Measure
from rankscope.records import Record, StoredRecord, replace

if TYPE_CHECKING:
    from typing import Unpack

    from rankscope.data.shapes import QrelsLike, RunLike
    from rankscope.typing import MeasureLike, PolicyOptions

SHOWN_DOCS = 10
ROUNDING = 1e-12
"""A difference below this is a 0 of which the last bits were lost."""

Move = Literal["up", "down", "same", "new", "lost"]
"""What became of a doc from the first list to the second; lost and new: it is shown in one of them only."""


class ShownDoc(Record):
    """A doc of one list: its place, its words, its grade, and what it adds to the score."""

    rank: int
    doc: str
    title: str
    """Empty where no docs are given."""
    snippet: Snippet
    """Empty where no texts of docs are given."""
    grade: float | None
    """None where nobody judged the doc."""
    is_relevant: bool
    adds: float
    other_rank: int | None
    """Its rank in the other list, however deep; None where the other run does not have it."""
    move: Move


class ShownList(Record):
    """What one run shows for the query."""

    run: str
    score: float | None
    """None where the measure is undefined."""
    n_retrieved: int
    docs: tuple[ShownDoc, ...]


class DocChange(Record):
    """A doc that adds another amount to the score in the second list."""

    doc: str
    title: str
    snippet: Snippet
    grade: float | None
    rank_a: int | None
    """None where the run does not have it."""
    rank_b: int | None
    change: float
    is_relevant: bool = False


AnyListed = TypeVar("AnyListed", ShownDoc, DocChange)


class SideBySide(StoredRecord):
    """Two runs' answers to one query."""

    query: str
    query_text: str
    """Empty where no queries are given."""
    measure: str
    a: ShownList
    b: ShownList
    changes: tuple[DocChange, ...]
    """The docs that make the difference, shown or not, the most important first; they add up to it."""
    missed: tuple[str, ...]
    """Titles, or else ids, of relevant docs that neither list shows, the best first."""
    n_relevant: int = 0
    """How many docs are relevant, found or not."""

    @property
    def difference(self) -> float | None:
        """The second score less the first."""
        return None if self.a.score is None or self.b.score is None else self.b.score - self.a.score


def side_by_side(
    qrels: QrelsLike,
    run_a: RunLike,
    run_b: RunLike,
    query: Any,
    measure: MeasureLike = "nDCG@10",
    *,
    queries: Any = None,
    docs: Any = None,
    n_shown: int = SHOWN_DOCS,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    **policies: Unpack[PolicyOptions],
) -> SideBySide:
    """Put the rankings of two runs for one query beside one another.

    Parameters
    ----------
    qrels, run_a, run_b
        The judgments and the runs, in any form that `evaluate` takes.
    query
        The id of the query.
    measure
        The measure to which each doc contributes.
    queries, docs
        Files, tables or dicts with the texts of queries, and with titles and texts of docs: words instead of ids.
    n_shown
        How many docs of each list are shown.
    profile, options, qrels_options, **policies
        As for `evaluate`.

    Returns
    -------
    SideBySide
        Both lists, with grades, contributions, and the rank of every doc in the other list.

    Raises
    ------
    InputError
        If the qrels have no such query.
    MeasureError
        If there is no such measure, or it looks at more than grades.

    Examples
    --------
    >>> import rankscope as rs
    >>> found = rs.side_by_side({"q": {"a": 1}}, {"q": ["x", "a"]}, {"q": ["a", "y"]}, "q", "RR")
    >>> [(doc.doc, doc.move, doc.adds) for doc in found.b.docs]
    [('a', 'up', 1.0), ('y', 'new', 0.0)]
    >>> found.difference
    0.5
    """
    check_keywords("side_by_side", policies, [*side_by_side.__annotations__, *names_of(Policies)])
    given = {"options": options, "qrels_options": qrels_options, "n_shown": n_shown}
    check_options(side_by_side.__annotations__, given)
    if n_shown < 1:
        raise OptionError(f"{n_shown} docs of a list cannot be shown", hint="n_shown is 1 or more")
    chosen = chosen_profile(profile)
    decided = decide_policies(chosen, {"missing": "zero", **policies})  # as `compare` has it
    wanted = one_measure(decide_measures(chosen, measure))
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    loaded = load_runs([run_a, run_b], options=options)
    hits = [aligned_hits(judged, run, decided) for run in loaded]
    a, b = (ListSource(str(run.name), run, found) for run, found in zip(loaded, hits, strict=True))
    sides = sides_of(judged, a, b, as_id(query), measure=wanted, policies=decided, n_shown=n_shown)
    texts = Texts.of(queries=queries, docs=docs, only=docs_in(sides), query_ids=judged.query_ids)
    give_warning(*texts.notes)
    return in_words(sides, texts)


class ListSource(Record):
    """Where one of the two lists comes from: a run, what it is called, and its hits for all queries."""

    name: str
    run: Run
    hits: Hits


def sides_of(
    qrels: Qrels,
    a: ListSource,
    b: ListSource,
    query: str,
    *,
    measure: Measure,
    policies: Policies,
    n_shown: int = SHOWN_DOCS,
) -> SideBySide:
    """Put two rankings beside one another by the ids of docs; `in_words` adds what they are called."""
    explained = [explain_score(qrels, each.run, query, measure, policies, hits=each.hits, side={}) for each in (a, b)]
    first, second = (top_docs(each.run, [query], policies, depth=None).docs[0] for each in (a, b))
    lowest = measure.options.get("rel") or policies.relevance_level
    relevant = relevant_docs(qrels, query, lowest)
    shown = {*first[:n_shown], *second[:n_shown]}
    adds_a, adds_b = map(adds_by_doc, explained)
    changes = {doc: adds_b.get(doc, 0.0) - adds_a.get(doc, 0.0) for doc in {**adds_a, **adds_b}}
    changes = {doc: change for doc, change in changes.items() if abs(change) > ROUNDING}
    context = ListContext(qrels.judged[query], frozenset(relevant), n_shown)
    return SideBySide(
        query,
        "",
        measure.name,
        shown_list(context, a.name, explained[0], first, second, is_second=False),
        shown_list(context, b.name, explained[1], second, first, is_second=True),
        changes=tuple(
            DocChange(
                doc,
                "",
                (),
                context.grade(doc),
                rank_of(doc, first),
                rank_of(doc, second),
                changes[doc],
                doc in context.relevant,
            )
            for doc in sorted(changes, key=lambda doc: -abs(changes[doc]))
        ),
        missed=tuple(doc for doc in relevant if doc not in shown),
        n_relevant=len(relevant),
    )


def docs_in(sides: SideBySide) -> frozenset[str]:
    """Return the docs whose words are shown, of lists that are made of ids."""
    listed: list[ShownDoc | DocChange] = [*sides.a.docs, *sides.b.docs, *sides.changes]
    return frozenset([*(one.doc for one in listed), *sides.missed])


def in_words(sides: SideBySide, texts: Texts) -> SideBySide:
    """Return lists that are made of ids with what was asked, and with titles and snippets, as far as they are known."""

    def doc_in_words(one: AnyListed) -> AnyListed:
        return replace(one, title=texts.title(one.doc), snippet=texts.snippet(sides.query, one.doc))

    def list_in_words(shown: ShownList) -> ShownList:
        return replace(shown, docs=tuple(map(doc_in_words, shown.docs)))

    return replace(
        sides,
        query_text=texts.query(sides.query),
        a=list_in_words(sides.a),
        b=list_in_words(sides.b),
        changes=tuple(map(doc_in_words, sides.changes)),
        missed=tuple(texts.title(doc) or doc for doc in sides.missed),
    )


class ListContext(Record):
    """What both lists of a query have in common."""

    grade_of: Mapping[str, float]
    relevant: frozenset[str]
    n_shown: int

    def grade(self, doc: str) -> float | None:
        """Return the grade of a doc, None where nobody judged it."""
        grade = self.grade_of.get(doc, -1.0)
        return grade if grade >= 0 else None


def has_shares(measure: Measure) -> bool:
    """Tell whether docs have a share in a measure: it is a score of one query, and looks at nothing but grades."""
    return not measure.spec.needs and not measure.spec.over_all_queries


def one_measure(measures: Sequence[Measure]) -> Measure:
    """Return the measure to which docs contribute; it is one, and looks at nothing but grades."""
    if len(measures) != 1:
        raise MeasureError(f"docs add to one measure at a time, not {len(measures)}", hint="for example nDCG@10")
    measure = measures[0]
    if not has_shares(measure):
        what = "looks at more than grades" if measure.spec.needs else "is one number for all queries together"
        raise MeasureError(f"{measure.name} {what}, so docs have no share in it", hint="try nDCG@10, AP or RR")
    return measure


def aligned_hits(qrels: Qrels, run: Run, policies: Policies) -> Hits:
    raise_or_warn(find_swap(qrels, run, policies), anyway=True)
    hits = align(qrels, run, policies)
    raise_or_warn(find_mismatch(qrels, run, count(hits, policies)), anyway=True)
    return hits


def relevant_docs(qrels: Qrels, query: str, lowest: float) -> list[str]:
    """Return the relevant docs of a query, the best first."""
    graded = [(doc, grade) for doc, grade in qrels.judged[query].items() if grade >= lowest]
    return [doc for doc, _ in sorted(graded, key=lambda pair: (-pair[1], byte_order(pair[0])))]


def adds_by_doc(explanation: Explanation) -> dict[str, float]:
    """Return what each doc adds to the score."""
    divisor = explanation.divisor or 1.0
    return {step.doc: step.term / divisor for step in explanation.steps if step.doc is not None}


def rank_of(doc: str, ranking: Sequence[str]) -> int | None:
    return ranking.index(doc) + 1 if doc in ranking else None


def shown_list(
    context: ListContext,
    run: str,
    explanation: Explanation,
    own: Sequence[str],
    other: Sequence[str],
    *,
    is_second: bool,
) -> ShownList:
    """Return the first docs of one run, each with its place in the other run's list."""
    adds_of = adds_by_doc(explanation)
    rank_in_other = {doc: rank for rank, doc in enumerate(other, 1)}
    docs = []
    for rank, doc in enumerate(own[: context.n_shown], 1):
        other_rank = rank_in_other.get(doc)
        old, new = (other_rank, rank) if is_second else (rank, other_rank)
        docs.append(
            ShownDoc(
                rank=rank,
                doc=doc,
                title="",
                snippet=(),
                grade=context.grade(doc),
                is_relevant=doc in context.relevant,
                adds=adds_of.get(doc, 0.0),
                other_rank=other_rank,
                move=move_between(old, new, context.n_shown),
            )
        )
    return ShownList(run, explanation.score, explanation.n_retrieved, tuple(docs))


def move_between(old: int | None, new: int | None, n_shown: int) -> Move:
    """Return what became of a doc that one of two lists shows."""
    if new is None or new > n_shown:
        return "lost"
    if old is None or old > n_shown:
        return "new"
    return "same" if old == new else "up" if new < old else "down"


class ScoreChange(Record):
    """A query's scores in two runs."""

    query: str
    text: str
    """Empty where no queries are given."""
    score_a: float
    score_b: float
    change: float
    """The second score less the first; with the sign turned where lower is better, so that a loss is below 0."""


class ScoreChanges(StoredRecord):
    """How the score of every query changes from one run to another, the largest loss first."""

    measure: str
    run_a: str
    run_b: str
    queries: tuple[ScoreChange, ...]
    n_undefined: int
    """Queries for which the measure is undefined in a run; they are left out."""

    @property
    def losses(self) -> tuple[ScoreChange, ...]:
        return tuple(one for one in self.queries if one.change < 0)

    @property
    def gains(self) -> tuple[ScoreChange, ...]:
        """The largest first."""
        gains = (one for one in self.queries if one.change > 0)
        return tuple(sorted(gains, key=lambda one: (-one.change, byte_order(one.query))))


def changes_between(scores: Scores, texts: Texts, only: AbstractSet[str] | None = None) -> ScoreChanges:
    """Return how queries changed from the first run of scores to the second, by their only measure."""
    first, second = scores.runs
    measure = scores.measures[0]
    sign = -1.0 if measure in first.lower_is_better else 1.0
    chosen = [query for query in first if query in second and (only is None or query in only)]
    values = {query: (first[query, measure], second[query, measure]) for query in chosen}
    changes = [
        ScoreChange(query, texts.query(query), a, b, sign * (b - a))
        for query, (a, b) in values.items()
        if not math.isnan(b - a)
    ]
    changes.sort(key=lambda one: (one.change, byte_order(one.query)))
    return ScoreChanges(measure, first.name, second.name, tuple(changes), len(values) - len(changes))
