"""The door to the C++ kernel: hands it a run in whatever form it is in, and makes arrays of what comes back.

Where there is no kernel, or a run is in a form it has no fast way for, the answer is None and the reference
implementation does the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankscope.align.hits import KernelHits
from rankscope.align.policies import Policies
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.sources import DictSource, RowsSource, TableSource
from rankscope.io.limits import max_line_bytes
from rankscope.io.text import TrecFile
from rankscope.native import kernel, n_threads


def find_with_kernel(
    qrels: Qrels, run: Run, policies: Policies, *, threads: int | None = None, ignores_ranks: bool = False
) -> KernelHits | None:
    """Find the judged docs of every query in the run, or return None where the reference has to do it.

    `ignores_ranks` says that the ranks of the run do not count, as other parts of it have none.
    """
    module = kernel()
    if module is None:
        return None
    source = run.source
    if qrels.kernel_index is None:
        qrels.kernel_index = module.qrels_of_dict({query: dict(docs) for query, docs in qrels.judged.items()})
    index = qrels.kernel_index
    if index is None:  # an id is not UTF-8
        return None
    call = {
        "ties": policies.ties,
        "single": policies.precision == "single",
        "drop_self": policies.self_match == "drop",
        "depth": min(policies.depth or 0, (1 << 63) - 1),
    }
    first = policies.duplicates == "first"
    with_ranks = policies.ties == "given" and not ignores_ranks
    answer: Any = None
    if isinstance(source, DictSource):
        answer = find_in_dict(module, index, source, call)
    elif isinstance(source, RowsSource):
        more = {"first": first, "threads": n_threads(threads)}
        answer = find_in_rows(module, index, source.rows, call | more, with_ranks=with_ranks)
    elif isinstance(source, TableSource):
        answer = find_in_table(module, index, source, call | {"first": first}, threads, with_ranks=with_ranks)
    elif hasattr(source, "trec_text"):
        answer = find_in_file(module, index, source, call | {"first": first}, threads, with_ranks=with_ranks)
    if answer is None:
        return None
    arrays, n_rows, n_other_queries, other_queries, duplicate, hashes, uses_ranks = answer
    answered, n_retrieved, n_hits, ranks, grades = arrays
    return KernelHits(
        answered=np.frombuffer(answered, dtype=np.bool_),
        n_retrieved=np.frombuffer(n_retrieved, dtype=np.int64),
        n_hits=np.frombuffer(n_hits, dtype=np.int64),
        ranks=np.frombuffer(ranks, dtype=np.int64),
        grades=np.frombuffer(grades, dtype=np.float64),
        n_other_queries=n_other_queries,
        other_queries=other_queries,
        duplicate=duplicate,
        n_rows=n_rows,
        other_hashes=hashes,
        uses_ranks=uses_ranks,
    )


def find_in_file(
    module: Any, index: Any, source: Any, call: dict[str, Any], threads: int | None, *, with_ranks: bool
) -> Any:
    """Find in TREC text, else in the columns of a table, where the file is one."""
    answer = find_in_text(module, index, source, dict(call), threads, with_ranks=with_ranks)
    by_column = getattr(source, "by_column", None) if answer is None else None
    if by_column is None:
        return answer
    answer = find_in_table(module, index, by_column, call, threads, with_ranks=with_ranks)
    if answer is not None:
        source.accept_columns()
    return answer


def find_in_table(
    module: Any, index: Any, source: TableSource, call: dict[str, Any], threads: int | None, *, with_ranks: bool
) -> Any:
    at = source.column_of
    rank = at.get("rank", -1) if with_ranks else -1
    columns = (at["query"], at["doc"], at["score"], rank)
    answer = module.align_table(index, source.table, *columns, **call, threads=n_threads(threads))
    return None if answer is None else (*answer[:-1], rank >= 0)


def find_in_text(
    module: Any, index: Any, source: Any, call: dict[str, Any], threads: int | None, *, with_ranks: bool
) -> Any:
    """Find in TREC text that lies in a file or in memory, or arrives in pieces."""
    data = source.trec_text()
    if data is None:
        return None
    call |= {"max_line": max_line_bytes()}
    with source.errors_of_kernel():
        if isinstance(data, TrecFile):
            with data.opened() as (file, size):
                found = module.align_file(index, file, size, **call, threads=n_threads(threads, n_bytes=size))
        elif isinstance(data, np.ndarray):
            n = n_threads(threads, n_bytes=len(data))
            found = module.align_text(index, data, **call, with_ranks=with_ranks, threads=n)
        else:
            stream = module.TextStream(index, **call, threads=n_threads(threads))
            for chunk in data:
                stream.feed(chunk)
            found = stream.finish()
    *answer, tag, bad_lines = found
    source.accept(bad_lines, n_rows=answer[1], tag=tag)
    return answer


def find_in_dict(module: Any, index: Any, source: DictSource, call: dict[str, Any]) -> Any:
    docs_of = source.docs_of
    odd = type(docs_of) is not dict or not docs_of or call["ties"] == "given" or set(map(type, docs_of)) != {str}
    if odd or "" in docs_of:
        return None
    answer = module.align_dict(index, docs_of, **call)
    if answer is None:
        return None
    arrays, n_other_queries = answer
    return arrays, len(docs_of), n_other_queries, list(docs_of)[:1000] if n_other_queries else [], None, b"", False


def find_in_rows(module: Any, index: Any, rows: Any, call: dict[str, Any], *, with_ranks: bool) -> Any:
    if rows.empty_queries or not isinstance(rows.query, list) or not isinstance(rows.doc, list):
        return None
    scores = np.ascontiguousarray(rows.score, dtype=np.float64)
    uses_ranks = with_ranks and rows.rank is not None
    ranks = np.ascontiguousarray(rows.rank, dtype=np.int64) if uses_ranks else None
    answer = module.align_rows(index, rows.query, rows.doc, scores, ranks, **call)
    return None if answer is None else (*answer[:-1], uses_ranks)
