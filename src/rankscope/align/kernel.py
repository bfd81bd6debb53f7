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
from rankscope.native import kernel, n_threads

_LARGEST_DEPTH = (1 << 63) - 1


def find_with_kernel(qrels: Qrels, run: Run, policies: Policies, *, threads: int | None = None) -> KernelHits | None:
    """Find the judged docs of every query in the run, or return None where the reference has to do it."""
    module = kernel()
    if module is None:
        return None
    source = run.source
    index = kernel_qrels(module, qrels)
    if index is None:
        return None
    call = {
        "ties": policies.ties,
        "single": policies.precision == "single",
        "drop_self": policies.self_match == "drop",
        "depth": min(policies.depth or 0, _LARGEST_DEPTH),
    }
    if isinstance(source, DictSource):
        return find_in_dict(module, index, source, call)
    call |= {"first": policies.duplicates == "first"}
    if isinstance(source, RowsSource):
        return find_in_rows(module, index, source, call, threads)
    if isinstance(source, TableSource):
        return find_in_table(module, index, source, call, threads)
    return find_in_text(module, index, source, call, threads) if hasattr(source, "trec_text") else None


def find_in_text(module: Any, index: Any, source: Any, call: dict[str, Any], threads: int | None) -> KernelHits | None:
    """Find in TREC text that lies in memory, is mapped there, or arrives in pieces."""
    data = source.trec_text()
    if data is None:
        return None
    if isinstance(data, np.ndarray):
        *answer, tag, bad_lines = module.align_text(index, data, **call, threads=n_threads(threads, n_bytes=len(data)))
    else:
        stream = module.TextStream(index, **call, threads=n_threads(threads))
        for chunk in data:
            stream.feed(chunk)
        *answer, tag, bad_lines = stream.finish()
    source.accept(bad_lines, n_rows=answer[1], tag=tag)
    return hits_in(*answer)


def find_in_dict(module: Any, index: Any, source: DictSource, call: dict[str, Any]) -> KernelHits | None:
    """Find in a dict of dicts."""
    docs_of = source.docs_of
    odd = type(docs_of) is not dict or not docs_of or call["ties"] == "given" or set(map(type, docs_of)) != {str}
    if odd or "" in docs_of:
        return None
    answer = module.align_dict(index, docs_of, **call)
    if answer is None:
        return None
    arrays, n_other_queries = answer
    return hits_in(arrays, len(docs_of), n_other_queries, list(docs_of)[:1000] if n_other_queries else [], None)


def find_in_rows(
    module: Any, index: Any, source: RowsSource, call: dict[str, Any], threads: int | None
) -> KernelHits | None:
    """Find in columns of Python texts."""
    rows = source.rows
    if rows.empty_queries or not isinstance(rows.query, list) or not isinstance(rows.doc, list):
        return None
    scores = np.ascontiguousarray(rows.score, dtype=np.float64)
    ranks = None if rows.rank is None else np.ascontiguousarray(rows.rank, dtype=np.int64)
    answer = module.align_rows(index, rows.query, rows.doc, scores, ranks, **call, threads=n_threads(threads))
    return None if answer is None else hits_in(*answer)


def find_in_table(
    module: Any, index: Any, source: TableSource, call: dict[str, Any], threads: int | None
) -> KernelHits | None:
    """Find in the columns of an Arrow table."""
    at = source.column_of
    rank = at.get("rank", -1) if call["ties"] == "given" else -1
    columns = (at["query"], at["doc"], at["score"], rank)
    answer = module.align_table(index, source.table, *columns, **call, threads=n_threads(threads))
    return None if answer is None else hits_in(*answer)


def kernel_qrels(module: Any, qrels: Qrels) -> Any:
    """Return the kernel's index of the qrels, which is made once; None where an id is not UTF-8."""
    if qrels.kernel_index is None:
        qrels.kernel_index = module.qrels_of_dict({query: dict(docs) for query, docs in qrels.judged.items()})
    return qrels.kernel_index


def hits_in(
    arrays: tuple[bytes, ...],
    _n_rows: int,
    n_other_queries: int,
    other_queries: list[str],
    duplicate: tuple[str, str] | None,
) -> KernelHits:
    """Make arrays of the bytes that the kernel returns."""
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
    )
