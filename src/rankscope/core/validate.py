"""What is odd about qrels and runs, found without scoring: one small function per check.

Rows are looked at as they were read, since what is wrong with them may be what `Qrels` and `Run` refuse. There are
checks of the qrels, of one run, of one run against the qrels, and of all runs together; `validate` makes them all.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product, takewhile
from operator import eq
from typing import Literal, TypeAlias

import numpy as np

from rankscope.core.arrays import Bools, Floats, Ints, positions_in_segment, running_sum, safe_divide, segment_sum
from rankscope.core.ids import byte_order
from rankscope.core.rows import QrelsRows, RunRows
from rankscope.errors import BadLine, shorten

Level: TypeAlias = Literal["error", "warning", "remark"]
LEVELS: tuple[Level, ...] = ("error", "warning", "remark")
"""How bad a finding is, worst first: an error stops or spoils an evaluation, a remark only helps to read it."""

N_EXAMPLES = 3
MAX_EXAMPLE_ROWS = 1000
SMALLEST_PERCENT = 0.1
RELEVANT = 1.0
HIGHEST_USUAL_GRADE = 10.0
NOTICEABLE_TIES = 0.05
MOST = 0.5
NEARLY_ALL = 0.95
ENOUGH_JUDGED = 0.6
SHORT_RANKING = 10
JUDGED_DEPTHS = (10, 100)
HARDLY_ANY_DOCS = 0.01
CLEARLY_INVERTED = 0.65
MIN_INVERTED_PAIRS = 100
MIN_CODES = 3
MIN_AFFIX_MATCHES = 2
MAX_AFFIX_CUTS = 6
N_AFFIX_SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is odd: how bad it is, where it is, what it is, and what to do about it."""

    level: Level
    code: str
    """A name that programs can rely on."""
    where: str
    """The name of the run, or of the qrels."""
    message: str
    examples: tuple[str, ...] = ()
    hint: str = ""


def validate(
    qrels_rows: QrelsRows, run_rows: Mapping[str, RunRows], *, qrels_name: str = "qrels"
) -> tuple[Finding, ...]:
    """Return what is odd about the qrels, about each run by its name, and about how they fit: worst first for each."""
    qrels = qrels_table(qrels_name, qrels_rows)
    runs = [run_table(name, rows) for name, rows in run_rows.items()]
    pairs = [match(qrels, run) for run in runs if len(qrels.rows) and len(run.rows)]
    found = chain(
        (finding for check in QRELS_CHECKS for finding in check(qrels)),
        (finding for run in runs for check in RUN_CHECKS for finding in check(run)),
        (finding for pair in pairs for check in PAIR_CHECKS for finding in check(pair)),
        inverted_order(pairs),
    )
    return worst_first(found, [qrels_name, *run_rows])


def worst_first(findings: Iterable[Finding], places: Sequence[str]) -> tuple[Finding, ...]:
    """Put findings in the order of their places and, within one place, of their levels."""
    return tuple(sorted(findings, key=lambda found: (places.index(found.where), LEVELS.index(found.level))))


def malformed_lines(where: str, bad_lines: Sequence[BadLine]) -> Iterator[Finding]:
    """Find lines that were left out when the file was read."""
    if bad_lines:
        yield Finding(
            "error", "malformed_lines", where, f"malformed lines, left out here: {len(bad_lines):,}",
            tuple(f"{where}:{bad.line}: {bad.problem}: {shown(shorten(bad.text))}" for bad in bad_lines[:N_EXAMPLES]),
            "repair them; `rankscope evaluate` stops at them unless --lenient is given",
        )  # fmt: skip


# What the checks look at


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of ids as numbers, counted in the order in which the ids first appear."""

    ids: tuple[str, ...]
    codes: Ints


@dataclass(frozen=True, slots=True, eq=False)
class QrelsTable:
    """Qrels with their ids coded."""

    name: str
    rows: QrelsRows
    queries: Coded
    docs: Coded


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """A run with its ids coded and its rows ranked."""

    name: str
    rows: RunRows
    queries: Coded
    docs: Coded
    tied: Bools
    """Per row: whether another row of the query has the same score."""
    order: Ints
    """The rows, query by query, best first, as trec_eval ranks them."""
    position: Ints
    """Per row: its place in its query's ranking, from 0."""

    @property
    def n_docs(self) -> Ints:
        """How many rows each query has."""
        return np.bincount(self.queries.codes, minlength=len(self.queries.ids))


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A run held against the qrels."""

    qrels: QrelsTable
    run: RunTable
    shared_queries: Bools
    """Per query of the run: whether the qrels have it."""
    grade: Floats
    """Per row of the run: the doc's grade for the query, NaN where it has none."""

    @property
    def overlaps(self) -> bool:
        """Whether there is a query to compare at all."""
        return bool(self.shared_queries.any())


def coded(column: Sequence[str], more: Iterable[str] = ()) -> Coded:
    """Return the ids of a column as numbers, and after them those that are known but have no row."""
    code_of = {name: code for code, name in enumerate(dict.fromkeys(chain(column, more)))}
    codes = np.fromiter(map(code_of.__getitem__, column), dtype=np.int64, count=len(column))
    return Coded(tuple(code_of), codes)


def qrels_table(name: str, rows: QrelsRows) -> QrelsTable:
    """Prepare qrels for the checks."""
    return QrelsTable(name, rows, coded(rows.query, rows.empty_queries), coded(rows.doc))


def run_table(name: str, rows: RunRows) -> RunTable:
    """Prepare a run for the checks."""
    queries, docs = coded(rows.query, rows.empty_queries), coded(rows.doc)
    tied = shared_rows(queries.codes, rows.score)
    order = np.lexsort((places_of_tied(docs, tied), -rows.score, queries.codes))
    position = np.empty(len(rows), dtype=np.int64)
    position[order] = positions_in_segment(queries.codes[order], len(queries.ids))
    return RunTable(name, rows, queries, docs, tied, order, position)


def places_of_tied(docs: Coded, tied: Bools) -> Ints:
    """Return a sort key per row that puts equally scored docs in trec_eval's order: by id, descending by bytes."""
    place = np.zeros(len(docs.ids), dtype=np.int64)
    codes = np.unique(docs.codes[tied]).tolist()
    ordered = sorted(codes, key=lambda code: byte_order(docs.ids[code]), reverse=True)
    place[ordered] = np.arange(len(ordered))
    return place[docs.codes]


def match(qrels: QrelsTable, run: RunTable) -> Pair:
    """Look up every row of a run in the qrels; over several subtopics a doc's grade is the best one."""
    n_docs = len(qrels.docs.ids)
    by_key = np.lexsort((-qrels.rows.grade, keys := qrels.queries.codes * n_docs + qrels.docs.codes))
    known, first = np.unique(keys[by_key], return_index=True)
    query_codes, doc_codes = codes_within(run.queries, qrels.queries), codes_within(run.docs, qrels.docs)
    query, doc = query_codes[run.queries.codes], doc_codes[run.docs.codes]
    asked = np.where((query >= 0) & (doc >= 0), query * n_docs + doc, -1)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    grade = np.where(known[at] == asked, qrels.rows.grade[by_key][first][at], np.nan)
    return Pair(qrels, run, query_codes >= 0, grade)


def codes_within(ids: Coded, others: Coded) -> Ints:
    """Return for each id the code it has on the other side, -1 where it has none."""
    code_of = {name: code for code, name in enumerate(others.ids)}
    return np.fromiter((code_of.get(name, -1) for name in ids.ids), dtype=np.int64, count=len(ids.ids))


def side_by_side(*columns: Ints | Floats) -> tuple[Ints, Bools]:
    """Return an order that puts equal rows side by side, and which of them equal the one before."""
    order = np.lexsort(columns[::-1])
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = True
    for column in columns:
        in_order = column[order]
        same[1:] &= in_order[1:] == in_order[:-1]
    return order, same


def repeated_rows(*columns: Ints | Floats) -> Ints:
    """Return the rows that equal an earlier one in all columns, in the order given."""
    order, same = side_by_side(*columns)
    return np.sort(order[same])


def shared_rows(*columns: Ints | Floats) -> Bools:
    """Tell of each row whether any other equals it in all columns."""
    order, same = side_by_side(*columns)
    shared = np.zeros(len(order), dtype=np.bool_)
    shared[order[same]] = True
    shared[order[np.flatnonzero(same) - 1]] = True
    return shared


# Words


def shown(text: str) -> str:
    """Return an id in quotes; one with anything unprintable in it as its escapes, so that it can be seen."""
    return f'"{text}"' if text.isprintable() else ascii(text)


def listed(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first few ids as examples."""
    return tuple(shown(name) for name, _ in zip(names, range(N_EXAMPLES), strict=False))


def doc_examples(rows: QrelsRows | RunRows, picked: Ints) -> tuple[str, ...]:
    """Name the query and the doc of the first few rows."""
    return tuple(f"query {shown(rows.query[i])}, doc {shown(rows.doc[i])}" for i in picked[:N_EXAMPLES].tolist())


def part(n: int, total: int, nouns: str) -> str:
    """Return how many of how many: 3 of 1,200 rows."""
    return f"{n:,} of {total:,} {nouns}"


def percent(n: float, total: float) -> str:
    """Return a share in words; a small one does not become nothing, nor nearly all become all."""
    share = 100 * n / total
    if 0 < share < SMALLEST_PERCENT:
        return f"under {SMALLEST_PERCENT} %"
    return f"over {100 - SMALLEST_PERCENT} %" if 100 - SMALLEST_PERCENT < share < 100 else f"{share:.1f} %"  # noqa: PLR2004


# Checks of either file


def nothing_there(table: QrelsTable | RunTable) -> Iterator[Finding]:
    """Find a file without any row."""
    if not len(table.rows):
        yield Finding("error", "no_rows", table.name, "there are no rows", hint="check that something was written")


_CONTINUATION = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # noqa: RUF001 (bytes 80 to BF, read as Latin-1 or cp1252)
ENCODING_TROUBLE: dict[str, tuple[str, re.Pattern[str], str]] = {
    "not_utf8": ("bytes that are not UTF-8", re.compile("[\ud800-\udfff]"), "convert the file to UTF-8"),
    "replacement_character": (
        "U+FFFD, which stands where a character was lost",
        re.compile("\ufffd"),
        "make the file again from its source; what was lost cannot be told from this one",
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


def encoding_trouble(table: QrelsTable | RunTable) -> Iterator[Finding]:
    """Find ids that were damaged on their way through encodings."""
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


# Checks of the qrels


def docs_judged_twice(qrels: QrelsTable) -> Iterator[Finding]:
    """Find docs that have two grades for one query (and subtopic)."""
    rows = qrels.rows
    columns = [qrels.queries.codes, qrels.docs.codes]
    if rows.subtopic is not None:
        columns.append(coded(rows.subtopic).codes)
    repeated = repeated_rows(*columns)
    if len(repeated):
        n_contradicting = len(repeated) - len(repeated_rows(*columns, rows.grade))
        yield Finding(
            "error", "duplicate_docs", qrels.name,
            f"docs judged again for the same query{' and subtopic' if rows.subtopic is not None else ''}: "
            f"{part(len(repeated), len(rows), 'rows')}, {n_contradicting:,} of them with another grade",
            doc_examples(rows, repeated),
            "several raters judged them: combine their grades into one first" if rows.rater is not None
            else "remove the repeated rows, or evaluate with --duplicates first",
        )  # fmt: skip


def grades_not_numbers(qrels: QrelsTable) -> Iterator[Finding]:
    """Find grades that are NaN or infinite."""
    broken = np.flatnonzero(~np.isfinite(qrels.rows.grade))
    if len(broken):
        yield Finding(
            "error", "grade_not_a_number", qrels.name,
            f"grades that are not finite numbers: {part(len(broken), len(qrels.rows), 'rows')}",
            grade_examples(qrels.rows, broken), "leave these rows out",
        )  # fmt: skip


def fractional_grades(qrels: QrelsTable) -> Iterator[Finding]:
    """Find grades that are not whole numbers."""
    grade = qrels.rows.grade
    fractional = np.flatnonzero(np.isfinite(grade) & (np.floor(grade) != grade))
    if len(fractional):
        yield Finding(
            "remark", "fractional_grades", qrels.name,
            f"grades that are not whole numbers: {part(len(fractional), len(grade), 'rows')}",
            grade_examples(qrels.rows, fractional),
            "measures that count relevant docs need --min-rel GRADE; measures of graded gain take them as they are",
        )  # fmt: skip


def high_grades(qrels: QrelsTable) -> Iterator[Finding]:
    """Find grades far above the usual scales."""
    grade = qrels.rows.grade
    high = np.flatnonzero(np.isfinite(grade) & (grade > HIGHEST_USUAL_GRADE))
    if len(high):
        yield Finding(
            "warning", "high_grades", qrels.name,
            f"grades above {HIGHEST_USUAL_GRADE:g}: {part(len(high), len(grade), 'rows')}",
            grade_examples(qrels.rows, high),
            "is the right column read as the grade? Gains that grow as 2^grade become huge",
        )  # fmt: skip


def grade_examples(rows: QrelsRows, picked: Ints) -> tuple[str, ...]:
    """Name the first few rows with their grades."""
    named = zip(doc_examples(rows, picked), picked.tolist(), strict=False)
    return tuple(f"{name}: {rows.grade[i]:g}" for name, i in named)


def nothing_relevant(qrels: QrelsTable) -> Iterator[Finding]:
    """Find qrels in which no doc at all is relevant."""
    grade = qrels.rows.grade
    if (grade >= RELEVANT).any():
        return
    if (grade > 0).any():
        yield Finding(
            "warning", "no_relevant_docs", qrels.name, f"no grade reaches {RELEVANT:g}, so no doc counts as relevant",
            hint="say which grades are relevant with --min-rel GRADE",
        )  # fmt: skip
    elif len(grade):
        yield Finding(
            "error", "no_relevant_docs", qrels.name, "no relevant docs at all",
            hint="every measure will be 0 or undefined: is the right column read as the grade?",
        )  # fmt: skip


def queries_without_relevant(qrels: QrelsTable) -> Iterator[Finding]:
    """Find single queries for which no doc is relevant."""
    relevant = qrels.rows.grade >= RELEVANT
    n_relevant = segment_sum(relevant, qrels.queries.codes, len(qrels.queries.ids))
    without = np.flatnonzero(n_relevant == 0).tolist()
    if without and relevant.any():
        yield Finding(
            "remark", "queries_without_relevant_docs", qrels.name,
            f"queries without any relevant doc: {part(len(without), len(n_relevant), 'queries')}",
            listed(qrels.queries.ids[i] for i in without),
            "they score 0 and count, as in trec_eval; --no-relevant exclude leaves them out of the mean",
        )  # fmt: skip


def only_relevant_judged(qrels: QrelsTable) -> Iterator[Finding]:
    """Find qrels that name relevant docs only."""
    if judges_only_relevant(qrels.rows):
        message = "only relevant docs judged: no grade is 0, so bpref and Judged tell little"
        yield Finding("remark", "only_relevant_judged", qrels.name, message)


def judges_only_relevant(rows: QrelsRows) -> bool:
    """Tell whether there are relevant docs but none judged non-relevant."""
    judged = rows.grade[rows.grade >= 0]
    return len(judged) > 0 and bool((judged >= RELEVANT).all())


# Checks of one run


def docs_listed_twice(run: RunTable) -> Iterator[Finding]:
    """Find docs that a query lists more than once."""
    repeated = repeated_rows(run.queries.codes, run.docs.codes)
    if len(repeated):
        yield Finding(
            "error", "duplicate_docs", run.name,
            f"docs listed again for the same query: {part(len(repeated), len(run.rows), 'rows')}",
            doc_examples(run.rows, repeated), "remove the repeated rows, or evaluate with --duplicates first",
        )  # fmt: skip


def scores_not_numbers(run: RunTable) -> Iterator[Finding]:
    """Find scores that have no place in an order."""
    broken = np.flatnonzero(np.isnan(run.rows.score))
    if len(broken):
        yield Finding(
            "error", "score_not_a_number", run.name,
            f"scores that are not numbers (NaN): {part(len(broken), len(run.rows), 'rows')}",
            doc_examples(run.rows, broken), "every retrieved doc needs a score: remove or repair these rows",
        )  # fmt: skip


TIE_HINT = "trec_eval orders tied docs by doc id, descending; --ties given keeps the order of the file"


def tied_scores(run: RunTable) -> Iterator[Finding]:
    """Find rankings that depend on how ties are broken, and scorers that give every doc the same score."""
    constant, n_compared = constant_queries(run)
    n_tied = int(run.tied.sum())
    if len(constant) > MOST * n_compared:
        yield Finding(
            "warning", "constant_scores", run.name,
            f"a constant scorer: all docs have one score in {part(len(constant), n_compared, 'queries')}",
            score_examples(run, np.isin(run.queries.codes, constant)), TIE_HINT,
        )  # fmt: skip
    elif n_tied:
        n_queries = len(np.unique(run.queries.codes[run.tied]))
        yield Finding(
            tie_level(n_tied, run), "tied_scores", run.name,
            f"tied scores: {part(n_tied, len(run.rows), 'rows')} ({percent(n_tied, len(run.rows))}), "
            f"in {part(n_queries, len(run.queries.ids), 'queries')}",
            score_examples(run, run.tied), TIE_HINT,
        )  # fmt: skip


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
    return tuple(f"query {shown(query)}, score {score!r}" for query, score in list(distinct)[:N_EXAMPLES])


def single_precision_ties(run: RunTable) -> Iterator[Finding]:
    """Find scores that differ, but not after rounding to 32 bits."""
    with np.errstate(over="ignore"):  # beyond the range of 32 bits a score is infinite, as in C
        rounded = run.rows.score.astype(np.float32).astype(np.float64)
    tied = shared_rows(run.queries.codes, rounded) & ~run.tied
    n_tied = int(tied.sum())
    if n_tied:
        yield Finding(
            tie_level(n_tied, run), "single_precision_ties", run.name,
            f"scores tied only when rounded to 32 bits: {part(n_tied, len(run.rows), 'rows')} "
            f"({percent(n_tied, len(run.rows))})",
            score_examples(run, tied),
            "trec_eval 9 and pytrec_eval round them (--precision single), trec_eval 10 does not: numbers may differ",
        )  # fmt: skip


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
            "warning", "ranks_against_scores", run.name,
            f"ranks contradict scores: {part(n_wrong, n_compared, 'docs')} ({percent(n_wrong, n_compared)}) "
            "score higher than the doc ranked just above",
            tuple(rank_example(run.rows, rank, a, b) for a, b in first_pairs(above[wrong], below[wrong])),
            "scores rise down the list: if they are distances, negate them" if n_wrong > NEARLY_ALL * n_compared
            else "the order is taken from the scores, as in trec_eval: repair the scores if the ranks are right",
        )  # fmt: skip


def first_pairs(left: Ints, right: Ints) -> Iterator[tuple[int, int]]:
    """Return the first few pairs of rows."""
    return zip(left[:N_EXAMPLES].tolist(), right[:N_EXAMPLES].tolist(), strict=True)


def rank_example(rows: RunRows, rank: Ints, above: int, below: int) -> str:
    """Show two rows of one query with their ranks and scores."""
    scores = f"rank {rank[above]} has score {rows.score[above]:g}, rank {rank[below]} has {rows.score[below]:g}"
    return f"query {shown(rows.query[above])}: {scores}"


def repeated_ranks(run: RunTable) -> Iterator[Finding]:
    """Find ranks that several docs of a query share."""
    if run.rows.rank is None:
        return
    repeated = repeated_rows(run.queries.codes, run.rows.rank)
    if len(repeated):
        named = zip(doc_examples(run.rows, repeated), repeated.tolist(), strict=False)
        yield Finding(
            "remark", "repeated_ranks", run.name,
            f"ranks given again within a query: {part(len(repeated), len(run.rows), 'rows')}",
            tuple(f"{name}: rank {run.rows.rank[i]}" for name, i in named),
            "ranks matter only with --ties given",
        )  # fmt: skip


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
            "remark", "short_rankings", run.name,
            f"fewer than {SHORT_RANKING} docs: {part(len(short), len(n_docs), 'queries')}",
            tuple(f"query {shown(run.queries.ids[i])}: {n_docs[i]}" for i in short[:N_EXAMPLES]),
            f"P@{SHORT_RANKING} divides by {SHORT_RANKING} all the same, as in trec_eval",
        )  # fmt: skip


def self_matches(run: RunTable) -> Iterator[Finding]:
    """Find queries that retrieve a doc with their own id."""
    own = np.flatnonzero(np.fromiter(map(eq, run.rows.query, run.rows.doc), dtype=np.bool_, count=len(run.rows)))
    if len(own):
        yield Finding(
            "remark", "self_matches", run.name,
            f"docs with the query's own id: {part(len(own), len(run.rows), 'rows')}",
            listed(run.rows.query[i] for i in own.tolist()),
            "where queries are themselves in the collection, BEIR drops these: --self-match drop",
        )  # fmt: skip


# Checks of a run against the qrels


def mixed_id_types(pair: Pair) -> Iterator[Finding]:
    """Find ids that are numbers on one side and text on the other."""
    for kind in sorted(pair.qrels.rows.integer_ids ^ pair.run.rows.integer_ids):
        side, other = ("qrels", "run") if kind in pair.qrels.rows.integer_ids else ("run", "qrels")
        message = f"{kind} ids are whole numbers in the {side} and text in the {other}; they are matched as text"
        yield Finding("remark", "mixed_id_types", pair.run.name, message)


def queries_on_one_side(pair: Pair) -> Iterator[Finding]:
    """Find queries that only the qrels or only the run have."""
    judged, retrieved = pair.qrels.queries.ids, pair.run.queries.ids
    unanswered, unjudged = one_sided(judged, retrieved)
    if not pair.overlaps:
        yield Finding(
            "error", "no_overlap", pair.run.name, "run and qrels have no query in common",
            both_sides(unanswered, unjudged), "do both files belong together, and are their ids written the same way?",
        )  # fmt: skip
        return
    if unanswered:
        yield Finding(
            "warning", "queries_not_answered", pair.run.name,
            f"not answered: {part(len(unanswered), len(judged), 'queries of the qrels')}",
            listed(unanswered), "they score 0 and count; --missing skip leaves them out of the mean",
        )  # fmt: skip
    if unjudged:
        yield Finding(
            "remark", "queries_not_judged", pair.run.name,
            f"not in the qrels: {part(len(unjudged), len(retrieved), 'queries of the run')}",
            listed(unjudged), "they are left out",
        )  # fmt: skip


def one_sided(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what only the left has, and what only the right has."""
    in_left, in_right = set(left), set(right)
    return [name for name in left if name not in in_right], [name for name in right if name not in in_left]


def both_sides(judged: Iterable[str], retrieved: Iterable[str]) -> tuple[str, ...]:
    """Show what the ids of either side look like."""
    return f"qrels: {', '.join(listed(judged))}", f"run: {', '.join(listed(retrieved))}"


def nearly_matching_queries(pair: Pair) -> Iterator[Finding]:
    """Find queries that would match if both sides wrote their ids the same way."""
    unanswered, unjudged = one_sided(pair.qrels.queries.ids, pair.run.queries.ids)
    near = nearest(unanswered, unjudged)
    if near:
        yield Finding(
            "warning" if pair.overlaps else "error", "query_ids_nearly_match", pair.run.name,
            f"query ids differ only by {near.difference}: "
            f"{part(near.n_matched, len(unanswered), 'unanswered queries')} would match",
            near.examples, "write the ids of both files the same way",
        )  # fmt: skip


def nearly_matching_docs(pair: Pair) -> Iterator[Finding]:
    """Find doc ids that are written differently, where hardly any judged doc is retrieved."""
    n_judged = len(pair.qrels.docs.ids)
    missed, unjudged = one_sided(pair.qrels.docs.ids, pair.run.docs.ids)
    n_found = n_judged - len(missed)
    if n_found >= HARDLY_ANY_DOCS * n_judged:
        return
    near = nearest(missed, unjudged)
    found = part(n_found, n_judged, "judged docs are retrieved")
    if near and near.n_matched > n_found:
        yield Finding(
            "warning" if n_found else "error", "doc_ids_nearly_match", pair.run.name,
            f"doc ids differ only by {near.difference}: {found}, {near.n_matched:,} would match",
            near.examples, "write the ids of both files the same way",
        )  # fmt: skip
    elif not n_found:
        yield Finding(
            "warning", "no_judged_docs", pair.run.name, found, both_sides(missed, unjudged),
            "every score will be 0: do both files belong to the same collection?",
        )  # fmt: skip


def share_judged(pair: Pair) -> Iterator[Finding]:
    """Say how much of what is shown first anybody judged, and find runs that the qrels can hardly judge."""
    if not pair.overlaps:
        return
    shares = {k: judged_at(pair, k) for k in JUDGED_DEPTHS}
    is_low = shares[JUDGED_DEPTHS[0]] < ENOUGH_JUDGED
    message = "judged: " + ", ".join(f"{percent(share, 1)} of the first {k} docs" for k, share in shares.items())
    if judges_only_relevant(pair.qrels.rows):
        message += " (only relevant docs are judged, so this tells little)"
        is_low = False
    hint = "unjudged docs count as non-relevant, so the run may be better than it scores: judge more, or --judged-only"
    yield Finding("warning" if is_low else "remark", "share_judged", pair.run.name, message, (), hint if is_low else "")


def judged_at(pair: Pair, k: int) -> float:
    """Return the mean of Judged@k over the shared queries that retrieve anything."""
    run = pair.run
    seen = (pair.grade >= 0) & (run.position < k)
    shares = safe_divide(segment_sum(seen, run.queries.codes, len(run.queries.ids)), np.minimum(run.n_docs, k))
    return float(np.nanmean(shares[pair.shared_queries])) if (run.n_docs[pair.shared_queries] > 0).any() else 0.0


# Ids that nearly match


@dataclass(frozen=True, slots=True)
class NearMatch:
    """A difference of spelling that keeps ids from matching."""

    difference: str
    matches: tuple[tuple[str, str], ...]
    """Ids of the run, each with the one of the qrels that it would match."""

    @property
    def n_matched(self) -> int:
        """How many ids of the qrels would be matched."""
        return len({judged for _, judged in self.matches})

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few matches, spelled out where both sides look the same in print."""
        return tuple(side_by_side_text(*match) for match in self.matches[:N_EXAMPLES])


def side_by_side_text(retrieved: str, judged: str) -> str:
    """Show two ids, with escapes where they would look the same in print."""
    show = ascii if composed(retrieved) == composed(judged) else shown
    return f"run {show(retrieved)} ~ qrels {show(judged)}"


_QUOTES_AND_BLANKS = " \t\r\n\v\f\u00a0\ufeff\"'`´‘’“”«»"  # noqa: RUF001 (quotes of all kinds are meant)
_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_FLOAT_TAIL = re.compile(r"(?<=\d)\.0+$")


def without_leading_zeros(name: str) -> str:
    """Return an id whose numbers are not padded."""
    return _LEADING_ZEROS.sub("", name) if "0" in name else name


def without_float_tail(name: str) -> str:
    """Return an id as the whole number it was before somebody's table made it a float."""
    return _FLOAT_TAIL.sub("", name) if name.endswith("0") else name


def composed(name: str) -> str:
    """Return an id with accents composed (NFC)."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def trimmed(name: str) -> str:
    """Return an id without blanks and quotes around it."""
    return name.strip(_QUOTES_AND_BLANKS)


def in_every_way(name: str) -> str:
    """Return an id with all differences of spelling removed."""
    return without_leading_zeros(without_float_tail(composed(trimmed(name)).casefold()))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "leading zeros": without_leading_zeros,
    "upper and lower case": str.casefold,
    "Unicode normalisation (NFC and NFD)": composed,
    "blanks or quotes around them": trimmed,
    "a final .0, as of numbers saved as floats": without_float_tail,
    "several differences of spelling (case, zeros, blanks, quotes, .0)": in_every_way,
}


def nearest(judged: Sequence[str], retrieved: Sequence[str]) -> NearMatch | None:
    """Return the difference of spelling that would match most of the ids that only one side has."""
    if not judged or not retrieved:
        return None
    candidates = [same_but_for(difference, judged, retrieved) for difference in SPELLINGS]
    candidates += affix_match(judged, retrieved)
    best = max(candidates, key=lambda near: near.n_matched)  # of equals the first, which is the simplest
    return best if best.n_matched else None


def same_but_for(difference: str, judged: Sequence[str], retrieved: Sequence[str]) -> NearMatch:
    """Match ids after removing one kind of difference from both sides."""
    normalise = SPELLINGS[difference]
    wanted = {normalise(name): name for name in judged}
    matches = ((name, wanted.get(normalise(name))) for name in retrieved)
    return NearMatch(difference, tuple((name, match) for name, match in matches if match is not None))


@dataclass(frozen=True, slots=True)
class Affixes:
    """What surrounds the ids of each side: taken off those of the qrels, put around those of the run."""

    judged_prefix: str
    judged_suffix: str
    retrieved_prefix: str
    retrieved_suffix: str

    def retrieved(self, judged: str) -> str:
        """Return the id that the run has for an id of the qrels."""
        core = judged.removeprefix(self.judged_prefix).removesuffix(self.judged_suffix)
        return f"{self.retrieved_prefix}{core}{self.retrieved_suffix}"

    @property
    def n_chars(self) -> int:
        """How much is put on and taken off."""
        return sum(
            map(len, (self.judged_prefix, self.judged_suffix, self.retrieved_prefix, self.retrieved_suffix)),
        )

    def __str__(self) -> str:
        sides = {
            "qrels": around(self.judged_prefix, self.judged_suffix),
            "run": around(self.retrieved_prefix, self.retrieved_suffix),
        }
        return " and ".join(f"{what} in the {side}" for side, what in sides.items() if what)


def around(prefix: str, suffix: str) -> str:
    """Describe what surrounds an id."""
    parts = ((f"the prefix {shown(prefix)}", prefix), (f"the suffix {shown(suffix)}", suffix))
    return " and ".join(described for described, text in parts if text)


def affix_match(judged: Sequence[str], retrieved: Sequence[str]) -> list[NearMatch]:
    """Match ids to which one side, or each side its own, adds a prefix or suffix common to all."""
    known = set(retrieved)
    sample = judged[:: max(1, len(judged) // N_AFFIX_SAMPLE)]
    tried = [
        (sum(affixes.retrieved(name) in known for name in sample), -affixes.n_chars, affixes)
        for affixes in possible_affixes(judged, retrieved)
    ]
    n_matched, _, best = max(tried, key=lambda one: one[:2])
    if n_matched < MIN_AFFIX_MATCHES:
        return []
    matches = ((best.retrieved(name), name) for name in judged)
    return [NearMatch(str(best), tuple(match for match in matches if match[0] in known))]


def possible_affixes(judged: Sequence[str], retrieved: Sequence[str]) -> Iterator[Affixes]:
    """Return the prefixes and suffixes that all ids of a side have, in every combination, cut where words end."""
    return (
        Affixes(*combination)
        for combination in product(prefixes(judged), suffixes(judged), prefixes(retrieved), suffixes(retrieved))
    )


def prefixes(names: Sequence[str]) -> list[str]:
    """Return the prefixes that all names have, cut where words end; the empty one is among them."""
    first, last = min(names), max(names)
    common = "".join(a for a, _ in takewhile(lambda both: both[0] == both[1], zip(first, last, strict=False)))
    cuts = [i for i in range(1, len(common) + 1) if ends_word(common, i)]
    return ["", *(common[:i] for i in cuts[-MAX_AFFIX_CUTS:])]


def suffixes(names: Sequence[str]) -> list[str]:
    """Return the suffixes that all names have, cut where words start; the empty one is among them."""
    return [prefix[::-1] for prefix in prefixes([name[::-1] for name in names])]


def ends_word(common: str, i: int) -> bool:
    """Tell whether a prefix may be cut before position i: not within a number or a word that goes on.

    All of 10 to 19 start with 1, which does not make 1 a prefix.
    """
    if i == len(common):
        return not common[-1].isdigit()
    return kind_of(common[i - 1]) != kind_of(common[i])


def kind_of(character: str) -> str:
    """Return whether a character belongs to a number, a word or neither."""
    return "digit" if character.isdigit() else "letter" if character.isalpha() else "other"


# Checks of all runs together


@dataclass(frozen=True, slots=True)
class OrderedPairs:
    """Pairs of differently graded docs of one query, and how many of them are ranked the wrong way round."""

    n_wrong: int
    n_pairs: int

    def __add__(self, other: OrderedPairs) -> OrderedPairs:
        return OrderedPairs(self.n_wrong + other.n_wrong, self.n_pairs + other.n_pairs)

    def __str__(self) -> str:
        return f"{percent(self.n_wrong, self.n_pairs)} of {self.n_pairs:,} pairs"

    @property
    def look_inverted(self) -> bool:
        """Whether clearly more than half are the wrong way round, among enough to say so."""
        return self.n_pairs >= MIN_INVERTED_PAIRS and self.n_wrong >= CLEARLY_INVERTED * self.n_pairs

    @property
    def lean_inverted(self) -> bool:
        """Whether more than half are the wrong way round, by twice what chance would do to independent pairs."""
        return self.n_pairs >= MIN_INVERTED_PAIRS and self.n_wrong - self.n_pairs / 2 > math.sqrt(self.n_pairs)


GRADE_RANGES = {0.0: "differently graded docs", RELEVANT: "differently graded relevant docs"}
"""All grades; then the relevant ones alone, since many docs of grade 0 hide that the others are inverted."""


def inverted_order(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Find grades that look inverted, since the runs rank low grades first, or one run that does unlike the others."""
    suspicious = bool(pairs) and lowest_grade_is_rarest(pairs[0].qrels.rows)
    for lowest, what in GRADE_RANGES.items():
        by_run = {pair.run.name: ordered_pairs(pair, lowest=lowest) for pair in pairs}
        total = sum(by_run.values(), OrderedPairs(0, 0))
        if total.look_inverted or (suspicious and total.lean_inverted):
            aside = "; the lowest grade is the rarest, as the best usually is" if suspicious else ""
            yield inverted_grades(pairs[0].qrels.name, by_run, f"{total} of {what}", aside)
            return
        if lowest < RELEVANT:
            yield from (inverted_scores(name, one, what) for name, one in by_run.items() if one.look_inverted)


def lowest_grade_is_rarest(rows: QrelsRows) -> bool:
    """Tell whether grades are distributed like codes that run from 1 = best: no 0, and fewest docs with the lowest."""
    levels, n_docs = np.unique(rows.grade[rows.grade >= 0], return_counts=True)
    return len(levels) >= MIN_CODES and bool(levels[0] >= RELEVANT) and bool(n_docs[0] < n_docs[1:].min())


def inverted_grades(where: str, by_run: Mapping[str, OrderedPairs], total: str, aside: str) -> Finding:
    """Say that the grades seem to run the wrong way."""
    return Finding(
        "warning", "inverted_grades", where,
        f"grades look inverted (1 = best?): in {total} the lower grade is ranked above the higher{aside}",
        tuple(f"{name}: {ordered}" for name, ordered in by_run.items() if ordered.n_pairs)[:N_EXAMPLES],
        "if low codes mean more relevant, turn them round; if the grades are right, are the scores distances?",
    )  # fmt: skip


def inverted_scores(where: str, ordered: OrderedPairs, what: str) -> Finding:
    """Say that one run seems to rank the wrong way, unlike the others."""
    return Finding(
        "warning", "inverted_scores", where,
        f"scores look inverted: in {ordered} of {what} the lower grade is ranked above the higher",
        hint="other runs rank the other way: if these scores are distances, negate them",
    )  # fmt: skip


def ordered_pairs(pair: Pair, *, lowest: float) -> OrderedPairs:
    """Count pairs of docs with different grades from the lowest up; tied docs are left out, whose order is chance."""
    run = pair.run
    rows = run.order[((pair.grade >= lowest) & ~run.tied)[run.order]]
    grade, query, n_queries = pair.grade[rows], run.queries.codes[rows], len(run.queries.ids)
    n_wrong = n_right = 0
    for level in np.unique(grade):
        here = grade == level
        n_wrong += int(running_sum(grade < level, query, n_queries)[here].sum())
        n_right += int(running_sum(grade > level, query, n_queries)[here].sum())
    return OrderedPairs(n_wrong, n_wrong + n_right)


QRELS_CHECKS: tuple[Callable[[QrelsTable], Iterator[Finding]], ...] = (
    nothing_there,
    docs_judged_twice,
    grades_not_numbers,
    fractional_grades,
    high_grades,
    nothing_relevant,
    queries_without_relevant,
    only_relevant_judged,
    encoding_trouble,
)
RUN_CHECKS: tuple[Callable[[RunTable], Iterator[Finding]], ...] = (
    nothing_there,
    docs_listed_twice,
    scores_not_numbers,
    tied_scores,
    single_precision_ties,
    ranks_against_scores,
    repeated_ranks,
    encoding_trouble,
    self_matches,
    depth,
    short_rankings,
)
PAIR_CHECKS: tuple[Callable[[Pair], Iterator[Finding]], ...] = (
    queries_on_one_side,
    nearly_matching_queries,
    nearly_matching_docs,
    mixed_id_types,
    share_judged,
)
