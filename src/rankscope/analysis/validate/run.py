"""Checks of one run: docs listed twice, scores, ties, ranks, how deep it goes, and docs with the query's own id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import eq

import numpy as np

from rankscope.align.finding import N_EXAMPLES, Finding, Level, count_and_share, count_of, first_ids, quote_id
from rankscope.analysis.validate.tables import DUPLICATES_HINT, RunTable, odd_rows, repeated_rows, shared_rows
from rankscope.arrays import Bools

MAX_EXAMPLE_ROWS = 1000
NOTICEABLE_TIES = 0.05
SHORT_RANKING = 10
TIE_HINT = "trec_eval orders tied docs by doc id, descending; --ties given keeps the order of the file"


def docs_listed_twice(run: RunTable) -> Iterator[Finding]:
    again = repeated_rows(run.queries.codes, run.docs.codes)
    return odd_rows("error", "duplicate_docs", run, again, "docs listed again for the same query", hint=DUPLICATES_HINT)


def scores_not_numbers(run: RunTable) -> Iterator[Finding]:
    rows = np.flatnonzero(np.isnan(run.rows.score))
    hint = "every retrieved doc needs a score: remove or repair these rows"
    return odd_rows("error", "score_not_a_number", run, rows, "scores that are not numbers (NaN)", hint=hint)


def tied_scores(run: RunTable) -> Iterator[Finding]:
    codes, n_docs = run.queries.codes, run.n_docs
    best = np.full(len(n_docs), np.nan)
    first = run.position == 0
    best[codes[first]] = run.rows.score[first]
    n_best = np.bincount(codes[run.rows.score == best[codes]], minlength=len(n_docs))
    constant, n_compared = np.flatnonzero((n_docs > 1) & (n_best == n_docs)), int((n_docs > 1).sum())
    if len(constant) > 0.5 * n_compared:
        message = f"a constant scorer: all docs have one score in {count_of(len(constant), n_compared, 'queries')}"
        examples = score_examples(run, np.isin(run.queries.codes, constant))
        yield Finding("warning", "constant_scores", run.name, message, examples, TIE_HINT)
    elif run.tied.any():
        n_queries = len(np.unique(run.queries.codes[run.tied]))
        in_queries = count_of(n_queries, len(run.queries.ids), "queries")
        yield ties(run, run.tied, "tied_scores", "tied scores", f", in {in_queries}", hint=TIE_HINT)


def ties(run: RunTable, tied: Bools, code: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return the finding of ties: a few are usual, many decide the order of docs that the scores leave open."""
    n_tied, n_rows = int(tied.sum()), len(run.rows)
    level: Level = "warning" if n_tied > NOTICEABLE_TIES * n_rows else "remark"
    message = f"{what}: {count_and_share(n_tied, n_rows, 'rows')}{where}"
    return Finding(level, code, run.name, message, score_examples(run, tied), hint)


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
    if tied.any():
        hint = "trec_eval 9 and pytrec_eval round them (--precision single), trec_eval 10 does not: numbers may differ"
        yield ties(run, tied, "single_precision_ties", "scores tied only when rounded to 32 bits", hint=hint)


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
        pairs = zip(above[wrong][:N_EXAMPLES].tolist(), below[wrong][:N_EXAMPLES].tolist(), strict=True)
        yield Finding(
            "warning",
            "ranks_against_scores",
            run.name,
            f"ranks contradict scores: {count_and_share(n_wrong, n_compared, 'docs')} "
            "score higher than the doc ranked just above",
            tuple(
                f"query {quote_id(run.rows.query[a])}: "
                f"rank {rank[a]} has score {score[a]:g}, rank {rank[b]} has {score[b]:g}"
                for a, b in pairs
            ),
            "scores rise down the list: if they are distances, negate them"
            if n_wrong > 0.95 * n_compared
            else "the order is taken from the scores, as in trec_eval: repair the scores if the ranks are right",
        )


def repeated_ranks(run: RunTable) -> Iterator[Finding]:
    rank = run.rows.rank
    if rank is not None:
        again, what = repeated_rows(run.queries.codes, rank), "ranks given again within a query"
        hint = "ranks matter only with --ties given"
        yield from odd_rows("remark", "repeated_ranks", run, again, what, hint=hint, note=lambda i: f": rank {rank[i]}")


def depth(run: RunTable) -> Iterator[Finding]:
    n_docs = run.n_docs
    if len(n_docs):
        low, middle, high = n_docs.min(), np.median(n_docs), n_docs.max()
        spread = f"{low:,} to {high:,} docs per query, {middle:,.10g} in the median"
        yield Finding("remark", "depth", run.name, spread if low < high else f"{low:,} docs per query")


def short_rankings(run: RunTable) -> Iterator[Finding]:
    n_docs = run.n_docs
    short = np.flatnonzero(n_docs < SHORT_RANKING).tolist()
    if short:
        message = f"fewer than {SHORT_RANKING} docs: {count_of(len(short), len(n_docs), 'queries')}"
        examples = tuple(f"query {quote_id(run.queries.ids[i])}: {n_docs[i]}" for i in short[:N_EXAMPLES])
        hint = f"P@{SHORT_RANKING} divides by {SHORT_RANKING} all the same, as in trec_eval"
        yield Finding("remark", "short_rankings", run.name, message, examples, hint)


def self_matches(run: RunTable) -> Iterator[Finding]:
    own = np.flatnonzero(np.fromiter(map(eq, run.rows.query, run.rows.doc), dtype=np.bool_, count=len(run.rows)))
    if len(own):
        message = f"docs with the query's own id: {count_of(len(own), len(run.rows), 'rows')}"
        hint = "where queries are themselves in the collection, BEIR drops these: --self-match drop"
        yield Finding(
            "remark", "self_matches", run.name, message, first_ids(run.rows.query[i] for i in own.tolist()), hint
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
