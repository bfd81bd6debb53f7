"""Checks of one file: of either, of the qrels, and of a run; each yields findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from operator import eq

import numpy as np

from rankscope.align.finding import N_EXAMPLES, Finding, Level, count_and_share, count_of, first_ids, quote_id
from rankscope.analysis.validate.tables import CheckedQrels, CheckedRun, code_ids, odd_rows, repeated_rows, shared_rows
from rankscope.arrays import Bools, segment_sum
from rankscope.data.qrels import HIGHEST_USUAL_GRADE
from rankscope.io.rows import QrelsRows

RELEVANT = 1.0
MAX_EXAMPLE_ROWS = 1000
NOTICEABLE_TIES = 0.05
SHORT_RANKING = 10
DUPLICATES_HINT = "remove the repeated rows, or evaluate with --duplicates first"
TIE_HINT = "trec_eval orders tied docs by doc id, descending; --ties given keeps the order of the file"
_CONTINUATION = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # noqa: RUF001 (bytes 80 to BF, read as Latin-1 or cp1252)
ENCODING_TROUBLE: dict[str, tuple[str, re.Pattern[str], str]] = {
    "not_utf8": ("bytes that are not UTF-8", re.compile("[\ud800-\udfff]"), "convert the file to UTF-8"),
    "replacement_character": (
        "U+FFFD, which stands where a character was lost",
        re.compile("\ufffd"),
        "make the file again from its source; this one does not show what was lost",
    ),
    "mojibake": (
        "UTF-8 that was read as another encoding",
        re.compile(f"[ÂÃÐÑ][{_CONTINUATION}]|â[€\u0080]|ï»¿"),
        "read the source as UTF-8 and write the file again",
    ),
    "byte_order_mark": ("a byte order mark", re.compile("\ufeff"), "it is left from joining files: remove it"),
    "control_character": (
        "control characters",
        re.compile("[\u0000-\u001f\u007f-\u009f]"),
        "an invisible character keeps an id from matching what looks the same: remove it",
    ),
}
"""By code: what such an id holds, how to recognise it, and what to do; an id is reported for the first that it has."""


def unreadable(table: CheckedQrels | CheckedRun) -> Iterator[Finding]:
    """Find tables without rows, and ids that an encoding damaged."""
    if not len(table.rows):
        yield Finding("error", "no_rows", table.name, "there are no rows", hint="check that something was written")
    columns = (ids for ids in (table.queries.ids, table.docs.ids) if not is_plain(" ".join(ids)))
    suspects = [name for name in chain.from_iterable(columns) if not is_plain(name)]
    for code, (what, pattern, hint) in ENCODING_TROUBLE.items():
        found = [name for name in suspects if pattern.search(name)]
        if found:
            examples = tuple(map(ascii, found[:N_EXAMPLES]))
            yield Finding("warning", code, table.name, f"ids that hold {what}: {len(found):,}", examples, hint)
        suspects = [name for name in suspects if not pattern.search(name)]


def is_plain(text: str) -> bool:
    """Tell whether a text is printable ASCII; all ids of most files are, so they are looked at in one go first."""
    return text.isascii() and text.isprintable()


def docs_judged_twice(qrels: CheckedQrels) -> Iterator[Finding]:
    rows = qrels.rows
    columns = [qrels.queries.codes, qrels.docs.codes]
    if rows.subtopic is not None:
        columns.append(code_ids(rows.subtopic).codes)
    repeated = repeated_rows(*columns)
    if len(repeated):
        what = f"docs judged again for the same query{'' if rows.subtopic is None else ' and subtopic'}"
        n_contradicting = len(repeated) - len(repeated_rows(*columns, rows.grade))
        more = f", {n_contradicting:,} of them with another grade"
        several_raters = "several raters judged them: combine their grades into one first"
        hint = DUPLICATES_HINT if rows.rater is None else several_raters
        yield from odd_rows("error", "duplicate_docs", qrels, repeated, what, hint=hint, more=more)


def odd_grades(qrels: CheckedQrels) -> Iterator[Finding]:
    """Find grades that are no numbers, not whole, or far above the usual scales."""
    grade, is_finite = qrels.rows.grade, np.isfinite(qrels.rows.grade)
    kinds: tuple[tuple[Level, str, Bools, str, str], ...] = (
        ("error", "grade_not_a_number", ~is_finite, "grades that are not finite numbers", "leave these rows out"),
        (
            "remark",
            "fractional_grades",
            is_finite & (np.floor(grade) != grade),
            "grades that are not whole numbers",
            "measures that count relevant docs need --min-rel GRADE; measures of graded gain take them as they are",
        ),
        (
            "warning",
            "high_grades",
            is_finite & (grade > HIGHEST_USUAL_GRADE),
            f"grades above {HIGHEST_USUAL_GRADE:g}",
            "is the right column read as the grade? Gains that grow as 2^grade become huge",
        ),
    )
    for level, code, odd, what, hint in kinds:
        rows = np.flatnonzero(odd)
        yield from odd_rows(level, code, qrels, rows, what, hint=hint, note=lambda i: f": {grade[i]:g}")


def queries_without_relevant(qrels: CheckedQrels) -> Iterator[Finding]:
    grade, relevant = qrels.rows.grade, qrels.rows.grade >= RELEVANT
    if relevant.any():
        n_relevant = segment_sum(relevant, qrels.queries.codes, len(qrels.queries.ids))
        without = np.flatnonzero(n_relevant == 0).tolist()
        if without:
            message = f"queries without any relevant doc: {count_of(len(without), len(n_relevant), 'queries')}"
            examples = first_ids(qrels.queries.ids[i] for i in without)
            hint = "they score 0 and count, as in trec_eval; --no-relevant exclude leaves them out of the mean"
            yield Finding("remark", "queries_without_relevant_docs", qrels.name, message, examples, hint)
    elif (grade > 0).any():
        message = f"no grade reaches {RELEVANT:g}, so no doc counts as relevant"
        hint = "say which grades are relevant with --min-rel GRADE"
        yield Finding("warning", "no_relevant_docs", qrels.name, message, hint=hint)
    elif len(grade):
        hint = "every measure will be 0 or undefined: is the right column read as the grade?"
        yield Finding("error", "no_relevant_docs", qrels.name, "no relevant docs at all", hint=hint)


def only_relevant_judged(qrels: CheckedQrels) -> Iterator[Finding]:
    if judges_only_relevant(qrels.rows):
        message = "only relevant docs judged: no grade is 0, so bpref and Judged tell little"
        yield Finding("remark", "only_relevant_judged", qrels.name, message)


def judges_only_relevant(rows: QrelsRows) -> bool:
    judged = rows.grade[rows.grade >= 0]
    return len(judged) > 0 and bool((judged >= RELEVANT).all())


def unusable_rows(run: CheckedRun) -> Iterator[Finding]:
    again, what = repeated_rows(run.queries.codes, run.docs.codes), "docs listed again for the same query"
    yield from odd_rows("error", "duplicate_docs", run, again, what, hint=DUPLICATES_HINT)
    rows, what = np.flatnonzero(np.isnan(run.rows.score)), "scores that are not numbers (NaN)"
    hint = "every retrieved doc needs a score: remove or repair these rows"
    yield from odd_rows("error", "score_not_a_number", run, rows, what, hint=hint)


def tied_scores(run: CheckedRun) -> Iterator[Finding]:
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


def ties(run: CheckedRun, tied: Bools, code: str, what: str, where: str = "", *, hint: str) -> Finding:
    """Return the finding of ties: a few are usual, many decide the order of docs that the scores leave open."""
    n_tied, n_rows = int(tied.sum()), len(run.rows)
    level: Level = "warning" if n_tied > NOTICEABLE_TIES * n_rows else "remark"
    message = f"{what}: {count_and_share(n_tied, n_rows, 'rows')}{where}"
    return Finding(level, code, run.name, message, score_examples(run, tied), hint)


def score_examples(run: CheckedRun, picked: Bools) -> tuple[str, ...]:
    """Name the first few different scores among the rows, each with its query."""
    rows = run.order[picked[run.order]][:MAX_EXAMPLE_ROWS].tolist()
    distinct = dict.fromkeys((run.rows.query[i], float(run.rows.score[i])) for i in rows)
    return tuple(f"query {quote_id(query)}, score {score!r}" for query, score in list(distinct)[:N_EXAMPLES])


def single_precision_ties(run: CheckedRun) -> Iterator[Finding]:
    """Find scores that differ, but not after rounding to 32 bits."""
    with np.errstate(over="ignore"):  # beyond the range of 32 bits a score is infinite, as in C
        rounded = run.rows.score.astype(np.float32).astype(np.float64)
    tied = shared_rows(run.queries.codes, rounded) & ~run.tied
    if tied.any():
        hint = "trec_eval 9 and pytrec_eval round them (--precision single), trec_eval 10 does not: numbers may differ"
        yield ties(run, tied, "single_precision_ties", "scores tied only when rounded to 32 bits", hint=hint)


def odd_ranks(run: CheckedRun) -> Iterator[Finding]:
    """Find ranks that contradict the scores (further down the list, but scored higher), and ranks given twice."""
    query, score, rank = run.queries.codes, run.rows.score, run.rows.rank
    if rank is None:
        return
    order = np.lexsort((rank, query))
    above, below = order[:-1], order[1:]
    compared = (query[above] == query[below]) & (rank[above] < rank[below])
    wrong = compared & (score[above] < score[below])
    n_wrong, n_compared = int(wrong.sum()), int(compared.sum())
    if n_wrong:
        wrong_docs = count_and_share(n_wrong, n_compared, "docs")
        pairs = zip(above[wrong][:N_EXAMPLES].tolist(), below[wrong][:N_EXAMPLES].tolist(), strict=True)
        examples = tuple(
            f"query {quote_id(run.rows.query[a])}: "
            f"rank {rank[a]} has score {score[a]:g}, rank {rank[b]} has {score[b]:g}"
            for a, b in pairs
        )
        message = f"ranks contradict scores: {wrong_docs} score higher than the doc ranked just above"
        hint = "the order is taken from the scores, as in trec_eval: repair the scores if the ranks are right"
        if n_wrong > 0.95 * n_compared:
            hint = "scores rise down the list: if they are distances, negate them"
        yield Finding("warning", "ranks_against_scores", run.name, message, examples, hint)
    again, what = repeated_rows(query, rank), "ranks given again within a query"
    hint = "ranks matter only with --ties given"
    yield from odd_rows("remark", "repeated_ranks", run, again, what, hint=hint, note=lambda i: f": rank {rank[i]}")


def self_matches(run: CheckedRun) -> Iterator[Finding]:
    own = np.flatnonzero(np.fromiter(map(eq, run.rows.query, run.rows.doc), dtype=np.bool_, count=len(run.rows)))
    if len(own):
        message = f"docs with the query's own id: {count_of(len(own), len(run.rows), 'rows')}"
        examples = first_ids(run.rows.query[i] for i in own.tolist())
        hint = "where queries are themselves in the collection, BEIR drops these: --self-match drop"
        yield Finding("remark", "self_matches", run.name, message, examples, hint)


def depths(run: CheckedRun) -> Iterator[Finding]:
    n_docs = run.n_docs
    if len(n_docs):
        low, middle, high = n_docs.min(), np.median(n_docs), n_docs.max()
        spread = f"{low:,} to {high:,} docs per query, {middle:,.10g} in the median"
        yield Finding("remark", "depth", run.name, spread if low < high else f"{low:,} docs per query")
    short = np.flatnonzero(n_docs < SHORT_RANKING).tolist()
    if short:
        message = f"fewer than {SHORT_RANKING} docs: {count_of(len(short), len(n_docs), 'queries')}"
        examples = tuple(f"query {quote_id(run.queries.ids[i])}: {n_docs[i]}" for i in short[:N_EXAMPLES])
        hint = f"P@{SHORT_RANKING} divides by {SHORT_RANKING} all the same, as in trec_eval"
        yield Finding("remark", "short_rankings", run.name, message, examples, hint)


QRELS_CHECKS: tuple[Callable[[CheckedQrels], Iterator[Finding]], ...] = (
    docs_judged_twice,
    odd_grades,
    queries_without_relevant,
    only_relevant_judged,
    unreadable,
)
RUN_CHECKS: tuple[Callable[[CheckedRun], Iterator[Finding]], ...] = (
    unusable_rows,
    tied_scores,
    single_precision_ties,
    odd_ranks,
    self_matches,
    depths,
    unreadable,
)
