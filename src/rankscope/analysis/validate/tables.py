"""What the checks look at: qrels and runs with their ids as numbers, and runs with the grades of their docs.

Rows that are odd become findings here, with a few of them as examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import msgspec
import numpy as np

from rankscope.align.finding import N_EXAMPLES, Finding, Level, count_of, quote_id
from rankscope.arrays import Bools, Floats, Ints, positions_in_segment
from rankscope.io.ids import byte_order
from rankscope.io.rows import QrelsRows, RunRows


class CodedIds(msgspec.Struct, frozen=True, eq=False):
    """A column of ids as numbers, counted in the order in which the ids first appear."""

    ids: tuple[str, ...]
    codes: Ints


class CheckedQrels:
    """Qrels with their ids coded."""

    def __init__(self, name: str, rows: QrelsRows) -> None:
        self.name, self.rows = name, rows
        self.queries, self.docs = code_ids(rows.query, rows.empty_queries), code_ids(rows.doc)


class CheckedRun:
    """A run with its ids coded and its rows ranked."""

    def __init__(self, name: str, rows: RunRows) -> None:
        self.name, self.rows = name, rows
        self.queries, self.docs = code_ids(rows.query, rows.empty_queries), code_ids(rows.doc)
        self.n_docs = np.bincount(self.queries.codes, minlength=len(self.queries.ids))
        """Per query."""
        self.tied = shared_rows(self.queries.codes, rows.score)
        """Per row: whether another row of the query has the same score."""
        place = np.zeros(len(self.docs.ids), dtype=np.int64)
        codes = np.unique(self.docs.codes[self.tied]).tolist()
        ordered = sorted(codes, key=lambda code: byte_order(self.docs.ids[code]), reverse=True)
        place[ordered] = np.arange(len(ordered))
        self.order = np.lexsort((place[self.docs.codes], -rows.score, self.queries.codes))
        """The rows, query by query, best first, as trec_eval ranks them: tied ones by doc id, descending by bytes."""
        self.position = np.empty(len(rows), dtype=np.int64)
        """Per row: its place in its query's ranking, from 0."""
        self.position[self.order] = positions_in_segment(self.queries.codes[self.order], len(self.queries.ids))


class JudgedRun:
    """A run with the grades that the qrels give to its docs; over several subtopics a doc's grade is the best one."""

    def __init__(self, qrels: CheckedQrels, run: CheckedRun) -> None:
        self.qrels, self.run = qrels, run
        n_docs = len(qrels.docs.ids)
        keys = qrels.queries.codes * n_docs + qrels.docs.codes
        by_key = np.lexsort((-qrels.rows.grade, keys))
        known, first = np.unique(keys[by_key], return_index=True)
        query_codes, doc_codes = codes_within(run.queries, qrels.queries), codes_within(run.docs, qrels.docs)
        query, doc = query_codes[run.queries.codes], doc_codes[run.docs.codes]
        wanted = np.where((query >= 0) & (doc >= 0), query * n_docs + doc, -1)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        self.grade = np.where(known[at] == wanted, qrels.rows.grade[by_key][first][at], np.nan)
        """Per row of the run: the doc's grade for the query, NaN where it has none."""
        self.shared_queries = query_codes >= 0
        """Per query of the run: whether the qrels have it."""
        self.overlaps = bool(self.shared_queries.any())


def code_ids(column: Sequence[str], more: Iterable[str] = ()) -> CodedIds:
    """Return the ids of a column as numbers, and after them those that are known but have no row."""
    code_of = {name: code for code, name in enumerate(dict.fromkeys(chain(column, more)))}
    codes = np.fromiter(map(code_of.__getitem__, column), dtype=np.int64, count=len(column))
    return CodedIds(tuple(code_of), codes)


def codes_within(ids: CodedIds, others: CodedIds) -> Ints:
    """Return for each id the code it has on the other side, -1 where it has none."""
    code_of = {name: code for code, name in enumerate(others.ids)}
    return np.fromiter((code_of.get(name, -1) for name in ids.ids), dtype=np.int64, count=len(ids.ids))


def sort_equal_rows(*columns: Ints | Floats) -> tuple[Ints, Bools]:
    """Return an order that puts equal rows next to one another, and which of them equal the one before."""
    order = np.lexsort(columns[::-1])
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = True
    for column in columns:
        in_order = column[order]
        same[1:] &= in_order[1:] == in_order[:-1]
    return order, same


def repeated_rows(*columns: Ints | Floats) -> Ints:
    """Return the rows that equal an earlier one in all columns, in the order given."""
    order, same = sort_equal_rows(*columns)
    return np.sort(order[same])


def shared_rows(*columns: Ints | Floats) -> Bools:
    """Tell for each row whether any other equals it in all columns."""
    order, same = sort_equal_rows(*columns)
    shared = np.zeros(len(order), dtype=np.bool_)
    shared[order[same]] = True
    shared[order[np.flatnonzero(same) - 1]] = True
    return shared


def odd_rows(
    level: Level,
    code: str,
    table: CheckedQrels | CheckedRun,
    picked: Ints,
    what: str,
    *,
    hint: str,
    more: str = "",
    note: Callable[[int], str] = lambda _: "",
) -> Iterator[Finding]:
    """Return the finding that some rows of a table are odd, where there are any; a note says more of each row."""
    if len(picked):
        rows, message = table.rows, f"{what}: {count_of(len(picked), len(table.rows), 'rows')}{more}"
        examples = tuple(
            f"query {quote_id(rows.query[i])}, doc {quote_id(rows.doc[i])}{note(i)}"
            for i in picked[:N_EXAMPLES].tolist()
        )
        yield Finding(level, code, table.name, message, examples, hint)
