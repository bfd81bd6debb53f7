"""The unjudged docs of one system, where they stand in another one, and their random judgments."""

from __future__ import annotations

from functools import cached_property
from itertools import chain, compress

import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.random_judgments import Keys, RandomJudgments
from rankscope.arrays import Floats, Ints, offsets_of
from rankscope.errors import InputError


class UnjudgedDocs:
    """The unjudged docs that one system retrieved within the depth of a measure, query by query, by rank.

    The run is read only where the hits say that there are any.
    """

    def __init__(self, run: AlignedRun, hits: Hits, judgments: RandomJudgments, *, depth: int | None) -> None:
        n_shown = hits.n_retrieved if depth is None else np.minimum(hits.n_retrieved, depth)
        starts = offsets_of(n_shown)
        query = np.repeat(np.arange(len(hits)), n_shown)
        judged = (hits.grades >= 0) & hits.within(depth)
        unjudged = np.ones(len(query), dtype=np.bool_)
        unjudged[starts[hits.segments[judged]] + hits.ranks[judged] - 1] = False
        self.ranks = (np.arange(len(query)) - starts[query] + 1)[unjudged]
        self.counts = np.bincount(query[unjudged], minlength=len(hits))
        """How many docs each query has."""
        self.offsets = offsets_of(self.counts)
        self.keys: Keys = np.empty(0, dtype=np.uint64)
        """A number for each pair of query and doc: the same one in every system."""
        places = np.flatnonzero(self.counts)
        if len(places):
            query_ids = [hits.query_ids[i] for i in places.tolist()]
            lists = run.leading(query_ids, int(n_shown.max()) if depth is None else depth)
            if [len(docs) for docs in lists] != n_shown[places].tolist():
                raise InputError(
                    f"the hits of {run.run.name or 'a run'} do not belong to it",
                    hint="give what align returns for the same run under the same policies",
                )
            doc_ids = list(compress(chain.from_iterable(lists), unjudged[(self.counts > 0)[query]].tolist()))
            self.keys = judgments.keys(hits.query_ids, query[unjudged], doc_ids)


class SampledDocs:
    """The unjudged docs of one system for some queries, each of which has some, with their random judgments."""

    def __init__(self, docs: UnjudgedDocs, queries: Ints, other_rows: Ints, judgments: RandomJudgments) -> None:
        self.queries, self.judgments = queries, judgments
        self.rows, self.query = rows_of(docs.offsets, queries)
        """Where each doc stands among the unjudged docs of its system, and its query by its place in `queries`."""
        self.other_rows = other_rows
        """Where it stands among those of the other system; -1 where the other did not retrieve it."""
        self.starts = offsets_of(docs.counts[queries])[:-1]
        """Where the docs of each query start."""
        self.keys = docs.keys[self.rows]

    @cached_property
    def chances(self) -> Floats:
        """The rate above which each doc is relevant, docs x draws."""
        return self.judgments.chances(self.keys)

    @cached_property
    def picks(self) -> Ints:
        """Which of the relevant grades each doc has where it is relevant, docs x draws."""
        return self.judgments.picks(self.keys)


def rows_in_other(docs: UnjudgedDocs, other: UnjudgedDocs, queries: Ints) -> Ints:
    """Return where each unjudged doc of some queries stands among another system's; -1 where it is not there."""
    keys, rows = docs.keys[rows_of(docs.offsets, queries)[0]], rows_of(other.offsets, queries)[0]
    if not len(rows):
        return np.full(len(keys), -1)
    rows = rows[np.argsort(other.keys[rows])]
    other_keys = other.keys[rows]
    place = np.minimum(np.searchsorted(other_keys, keys), len(rows) - 1)
    return np.where(other_keys[place] == keys, rows[place], -1)


def rows_of(offsets: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some segments, and to which of these segments each row belongs, counted from 0."""
    first, lengths = offsets[segments], offsets[segments + 1] - offsets[segments]
    within = np.repeat(np.arange(len(segments)), lengths)
    return np.arange(len(within)) + (first - offsets_of(lengths)[:-1])[within], within
