"""Rankings of a few queries out of stored runs, side by side, with the words behind their ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar, cast

from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.explain import Explanation, explain_score
from rankscope.analysis.side_by_side import ListSource, SideBySide, sides_of
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.texts import Texts, beginning
from rankscope.light import replace
from rankscope.measures.spec import Measure
from rankscope.records import Record, or_none
from rankscope.store import StoredDoc, StoredQuery, StoredRun
from rankscope.store.columns import QueryColumns
from rankscope.web.library import Library
from rankscope.web.query_list import ChosenRuns

AnyColumns = TypeVar("AnyColumns", bound=QueryColumns)
MOST_BYTES = 128 << 20
"""Of runs and judgments that are kept in memory; a run of 10,000 queries with 100 docs each has about 25 MB."""
LONGEST_TITLE = 200
LONGEST_QUERY = 300
"""In a list; a page of its own shows more of it."""


class KeptColumns:
    """Runs and judgments that were read last, as they are stored; who goes through queries reads the same ones."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[str, QueryColumns] = OrderedDict()
        self._lock = Lock()

    def get(self, sha256: str, read: Callable[[], AnyColumns]) -> AnyColumns:
        with self._lock:
            found = self._kept.get(sha256)
            if found is not None:
                self._kept.move_to_end(sha256)
                return cast("AnyColumns", found)
        columns = read()
        with self._lock:
            self._kept[sha256] = columns
            while sum(each.n_bytes for each in self._kept.values()) > self.most_bytes and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return columns


class RankedQueries(Record, eq=False):
    """What chosen runs retrieved for a few queries, aligned with the judgments of these."""

    qrels: Qrels
    sources: tuple[ListSource, ...]
    measure: Measure
    policies: Policies

    def sides(self, first: int, second: int, query: str, *, n_shown: int) -> SideBySide:
        """Put the lists of two runs for one query beside one another, by ids."""
        a, b = self.sources[first], self.sources[second]
        return sides_of(self.qrels, a, b, query, measure=self.measure, policies=self.policies, n_shown=n_shown)

    def explanation(self, number: int, query: str) -> Explanation:
        """Return the arithmetic of one run's score for one query."""
        each = self.sources[number]
        return explain_score(self.qrels, each.run, query, self.measure, self.policies, hits=each.hits, side={})

    def place(self, number: int, query: str, doc: str) -> tuple[int | None, float | None]:
        """Return the rank of a doc in one run, and what the system gave it; None where it is not there."""
        run = self.sources[number].run
        docs = top_docs(run, [query], self.policies, depth=None).docs[0]
        if doc not in docs:
            return None, None
        scores = run.rankings.ranking(query, duplicates="first").score_of
        return docs.index(doc) + 1, or_none(scores[doc])


def read_rankings(
    library: Library, chosen: ChosenRuns, names: Sequence[str], queries: Collection[str]
) -> RankedQueries:
    """Read what runs retrieved for a few queries, and nothing of other queries.

    The highest grade is that of all judgments, as in the scores of the store.
    """
    wanted, store = frozenset(queries), library.store
    kept = library.cached(("columns",), KeptColumns)
    judged = kept.get(chosen.labels.judgments_sha256, lambda: store.qrels.columns(chosen.labels))
    qrels = store.qrels.judgments(chosen.labels, only=wanted, columns=judged)
    if unjudged := wanted.difference(qrels.query_ids):
        qrels = Qrels(replace(qrels.rows, empty_queries=(*qrels.rows.empty_queries, *sorted(unjudged))))
    policies = replace(chosen.policies, missing="zero")  # a query without an answer is shown, too
    sources = []
    for name, stored in zip(names, chosen.runs, strict=True):
        columns = kept.get(stored.ranking_sha256, partial(store.runs.columns, stored))
        run = store.runs.ranking(stored, only=wanted, columns=columns)
        if not len(run):  # nothing was retrieved for any of them
            run = Run({query: {} for query in wanted}, name=stored.system)
        sources.append(ListSource(name, run, replace(align(qrels, run, policies), max_grade=judged.highest_grade)))
    return RankedQueries(qrels, tuple(sources), chosen.measure, policies)


def names_of(runs: Sequence[StoredRun]) -> list[str]:
    """Return what runs are called: by their systems, with numbers where a system is there twice."""
    systems = [run.system for run in runs]
    return [run.system if systems.count(run.system) == 1 else f"{run.system} (run {run.number})" for run in runs]


def texts_of(queries: Mapping[str, StoredQuery], docs: Mapping[str, StoredDoc]) -> Texts:
    """Return the words behind ids, as reports take them."""
    return Texts(
        queries={query: each.text or "" for query, each in queries.items()},
        titles={doc: beginning(each.title, LONGEST_TITLE) for doc, each in docs.items()},
        bodies={doc: each.text for doc, each in docs.items()},
    )


def read_docs(library: Library, chosen: ChosenRuns, docs: Iterable[str]) -> dict[str, StoredDoc]:
    return library.store.texts.docs(chosen.collection, docs)
