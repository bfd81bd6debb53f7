"""Checks of one run: docs listed twice, scores, ties, ranks, how deep it goes, and docs with the query's own id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import eq

import numpy as np

from rankscope.align.finding import N_EXAMPLES, Finding, Level, count_and_share, count_of, first_ids, quote_id
from rankscope.analysis.validate.finding import DUPLICATES_HINT, odd_rows
from rankscope.analysis.validate.tables import RunTable, repeated_rows, shared_rows
from rankscope.arrays import Bools, Ints
from rankscope.io.rows import RunRows

MAX_EXAMPLE_ROWS = 1000
NOTICEABLE_TIES = 0.05
MOST = 0.5
NEARLY_ALL = 0.95
SHORT_RANKING = 10
TIE_HINT = "trec_eval orders tied docs by doc id, descending; --ties given keeps the order of the file"


def docs_listed_twice(run: RunTable) -> Iterator[Finding]:
    """Find docs that a query lists more than once."""
    return odd_rows(
        "error",
        "duplicate_docs",
        run,
        repeated_rows(run.queries.codes, run.docs.codes),
        "docs listed again for the same query",
        hint=DUPLICATES_HINT,
    )


def scores_not_numbers(run: RunTable) -> Iterator[Finding]:
    """Find scores that have no place in an order."""
    return odd_rows(
        "error",
        "score_not_a_number",
        run,
        np.flatnonzero(np.isnan(run.rows.score)),
        "scores that are not numbers (NaN)",
        hint="every retrieved doc needs a score: remove or repair these rows",
    )


def tied_scores(run: RunTable) -> Iterator[Finding]:
    """Find rankings that depend on how ties are broken, and scorers that give every doc the same score."""
    constant, n_compared = constant_queries(run)
    n_tied = int(run.tied.sum())
    if len(constant) > MOST * n_compared:
        yield Finding(
            "warning",
            "constant_scores",
            run.name,
            f"a constant scorer: all docs have one score in {count_of(len(constant), n_compared, 'queries')}",
            score_examples(run, np.isin(run.queries.codes, constant)),
            TIE_HINT,
        )
    elif n_tied:
        n_queries = len(np.unique(run.queries.codes[run.tied]))
        yield Finding(
            tie_level(n_tied, run),
            "tied_scores",
            run.name,
            f"tied scores: {count_and_share(n_tied, len(run.rows), 'rows')}, "
            f"in {count_of(n_queries, len(run.queries.ids), 'queries')}",
            score_examples(run, run.tied),
            TIE_HINT,
        )


def tie_level(n_tied: int, run: RunTable) -> Level:
    """Return how bad ties are: a few are usual, many decide the order of docs that the scores leave open."""
    return "warning" if n_tied > NOTICEABLE_TIES * len(run.rows) else "remark"


def constant_queries(run: RunTable) -> tuple[Ints, int]:
    """Return the queries whose docs all have one score, and how many queries have docs to compare at all."""
    codes, n_docs = run.queries.codes, run.n_docs
    best = np.full(len(n_docs), np.nan)
    first = run.position == 0
    best[codes[first]] = run.rows.score[first]
    n_best = np.bincount(codes[run.rows.score == best[codes]], minlength=len(n_docs))
    return np.flatnonzero((n_docs > 1) & (n_best == n_docs)), int((n_docs > 1).sum())


def score_examples(run: RunTable, picked: Bools) -> tuple[str, ...]:
    """Name the first few different scores among the rows, each with its query."""
    rows = run.order[picked[run.order]][:MAX_EXAMPLE_ROWS].tolist()
    distinct = dict.fromkeys((run.rows.query[i], float(run.rows.score[i])) for i in rows)
    return tuple(f"query {quote_id(query)}, score {score!r}" for query, score in list(distinct)[:N_EXAMPLES])


def single_precision_ties(run: RunTable) -> Iterator[Finding]:
    """Find scores that differ, but not after rounding to 32 bits."""
    with np.errstate(over="ignore"):  # beyond the range of 32 bits a score is infinite, as in C
        rounded = run.rows.score.astype(np.float32).astype(np.float64)
    tied = shared_rows(run.queries.codes, rounded) & ~run.tied
    n_tied = int(tied.sum())
    if n_tied:
        yield Finding(
            tie_level(n_tied, run),
            "single_precision_ties",
            run.name,
            f"scores tied only when rounded to 32 bits: {count_and_share(n_tied, len(run.rows), 'rows')}",
            score_examples(run, tied),
            "trec_eval 9 and pytrec_eval round them (--precision single), trec_eval 10 does not: numbers may differ",
        )


def ranks_against_scores(run: RunTable) -> Iterator[Finding]:
    """Find ranks that contradict the scores: further down the list, but scored higher."""
    if run.rows.rank is None:
        return
    query, score, rank = run.queries.codes, run.rows.score, run.rows.rank
    order = np.lexsort((rank, query))
    above, below = order[:-1], order[1:]
    compared = (query[above] == query[below]) & (rank[above] < rank[below])
    wrong = compared & (score[above] < score[below])
    n_wrong, n_compared = int(wrong.sum()), int(compared.sum())
    if n_wrong:
        yield Finding(
            "warning",
            "ranks_against_scores",
            run.name,
            f"ranks contradict scores: {count_and_share(n_wrong, n_compared, 'docs')} "
            "score higher than the doc ranked just above",
            rank_examples(run.rows, rank, above[wrong], below[wrong]),
            "scores rise down the list: if they are distances, negate them"
            if n_wrong > NEARLY_ALL * n_compared
            else "the order is taken from the scores, as in trec_eval: repair the scores if the ranks are right",
        )


def rank_examples(rows: RunRows, rank: Ints, above: Ints, below: Ints) -> tuple[str, ...]:
    """Show the first few pairs of rows, each pair of one query, with their ranks and scores."""
    pairs = zip(above[:N_EXAMPLES].tolist(), below[:N_EXAMPLES].tolist(), strict=True)
    return tuple(
        f"query {quote_id(rows.query[a])}: "
        f"rank {rank[a]} has score {rows.score[a]:g}, rank {rank[b]} has {rows.score[b]:g}"
        for a, b in pairs
    )


def repeated_ranks(run: RunTable) -> Iterator[Finding]:
    """Find ranks that several docs of a query share."""
    rank = run.rows.rank
    if rank is not None:
        yield from odd_rows(
            "remark",
            "repeated_ranks",
            run,
            repeated_rows(run.queries.codes, rank),
            "ranks given again within a query",
            hint="ranks matter only with --ties given",
            note=lambda i: f": rank {rank[i]}",
        )


def depth(run: RunTable) -> Iterator[Finding]:
    """Say how many docs the queries have."""
    n_docs = run.n_docs
    if len(n_docs):
        low, middle, high = n_docs.min(), np.median(n_docs), n_docs.max()
        spread = f"{low:,} to {high:,} docs per query, {middle:,.10g} in the median"
        yield Finding("remark", "depth", run.name, spread if low < high else f"{low:,} docs per query")


def short_rankings(run: RunTable) -> Iterator[Finding]:
    """Find queries with few docs."""
    n_docs = run.n_docs
    short = np.flatnonzero(n_docs < SHORT_RANKING).tolist()
    if short:
        yield Finding(
            "remark",
            "short_rankings",
            run.name,
            f"fewer than {SHORT_RANKING} docs: {count_of(len(short), len(n_docs), 'queries')}",
            tuple(f"query {quote_id(run.queries.ids[i])}: {n_docs[i]}" for i in short[:N_EXAMPLES]),
            f"P@{SHORT_RANKING} divides by {SHORT_RANKING} all the same, as in trec_eval",
        )


def self_matches(run: RunTable) -> Iterator[Finding]:
    """Find queries that retrieve a doc with their own id."""
    own = np.flatnonzero(np.fromiter(map(eq, run.rows.query, run.rows.doc), dtype=np.bool_, count=len(run.rows)))
    if len(own):
        yield Finding(
            "remark",
            "self_matches",
            run.name,
            f"docs with the query's own id: {count_of(len(own), len(run.rows), 'rows')}",
            first_ids(run.rows.query[i] for i in own.tolist()),
            "where queries are themselves in the collection, BEIR drops these: --self-match drop",
        )


RUN_CHECKS: tuple[Callable[[RunTable], Iterator[Finding]], ...] = (
    docs_listed_twice,
    scores_not_numbers,
    tied_scores,
    single_precision_ties,
    ranks_against_scores,
    repeated_ranks,
    self_matches,
    depth,
    short_rankings,
)
