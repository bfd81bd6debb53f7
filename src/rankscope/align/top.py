"""The docs themselves: which ones stand at the top of each query's ranking, for measures that look beyond grades.

`top_docs` reads a whole run into Python, which takes long where a run has millions of rows and ten docs a query are
needed. `leading_docs` gives the same and drops rows that cannot be among the first as early as possible: TREC text and
polars tables are searched by the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from rankscope.align.policies import Policies
from rankscope.align.reference import compared_scores, considered, ranked_docs
from rankscope.arrays import offsets_of
from rankscope.data.run import Run
from rankscope.data.sources import RowsSource, TableSource
from rankscope.io.rows import RunRows
from rankscope.io.text import TrecFile
from rankscope.light import LightRecord

_BLOCK_BYTES = 1 << 23
_LONGEST_LINE = 1 << 16
_ALL_FIELDS = tuple(f"column_{i}" for i in range(1, 7))
_FIELDS = {"query": "column_1", "doc": "column_3", "rank": "column_4", "score": "column_5"}
"""What is needed of a line of TREC text, and the names that polars gives to columns without a name."""


class TopDocs(LightRecord, eq=False):
    """The first docs of every query, best first, in the order of the hits' queries."""

    query_ids: tuple[str, ...]
    docs: tuple[tuple[str, ...], ...]

    def cut(self, k: int | None) -> tuple[tuple[str, ...], ...]:
        return self.docs if k is None else tuple(docs[:k] for docs in self.docs)


def top_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> TopDocs:
    """Return the first docs of every query; a query that the run does not answer has none."""
    found = (
        tuple(ranked_docs(considered(run, query, policies), policies, depth)) if query in run.rankings else ()
        for query in query_ids
    )
    return TopDocs(tuple(query_ids), tuple(found))


def listed_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> TopDocs:
    """Return the first rows of every query as the run lists them: the same as `top_docs`, with docs listed twice."""
    found = []
    for query in query_ids:
        docs = ranked_docs(run.rankings.listed(query), policies) if query in run.rankings else []
        found.append(tuple(doc for doc in docs if policies.self_match == "keep" or doc != query)[:depth])
    return TopDocs(tuple(query_ids), tuple(found))


def leading_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> TopDocs:
    """Return the first docs of every query, best first: the same as `top_docs`, sooner where the depth is small."""
    if depth is not None and policies.duplicates != "first":  # which of two equal docs is the first, only all rows tell
        run = narrowed_run(run, query_ids, policies, depth + (policies.self_match == "drop"))
    return top_docs(run, query_ids, policies, depth=depth)


def whole_lists(run: Run, query_ids: Sequence[str], policies: Policies) -> TopDocs:
    """Return all docs of a few queries, best first: the same as `top_docs`, sooner where a run has many others."""
    wanted = list(query_ids)

    def of_these(frame: Any) -> Any:
        return frame.filter(frame["query"].is_in(wanted))

    return top_docs(filtered_run(run, query_ids, policies, of_these), query_ids, policies, depth=None)


def narrowed_run(run: Run, query_ids: Sequence[str], policies: Policies, n_kept: int) -> Run:
    """Return a run without most of the rows that are not among the first, where there is a fast way to tell."""
    return filtered_run(run, query_ids, policies, lambda frame: first_rows(frame, policies, n_kept))


def filtered_run(run: Run, query_ids: Sequence[str], policies: Policies, keep: Callable[[Any], Any]) -> Run:
    """Return a run without rows that are not needed, where it is text or a frame of polars; else as it is."""
    if any(query.startswith("#") for query in query_ids):  # in TREC text such a line is a comment
        return run
    kept = []
    needed = [name for name in _FIELDS if name != "rank" or policies.ties == "given"]
    for frame in frames_of(run.source, needed):
        if frame is None or any(column.null_count() for column in frame.get_columns()) or frame["score"].is_nan().any():
            return run
        kept.append(keep(frame))
    if not kept:
        return run
    import polars as pl

    frame = pl.concat(kept)
    ranks = frame["rank"].to_numpy() if "rank" in frame.columns else None
    in_a_row = frame["query"].rle().struct.unnest()  # ids that follow one another become one text, not one for each row
    queries = chain.from_iterable(map(repeat, in_a_row["value"].to_list(), in_a_row["len"].to_list()))
    rows = RunRows(list(queries), frame["doc"].to_list(), frame["score"].to_numpy(), ranks)
    return Run(RowsSource(rows), name=run.name)


def frames_of(source: Any, needed: Sequence[str]) -> Iterable[Any]:
    """Return a run as polars frames with the columns that are needed; None for what cannot be one."""
    if isinstance(source, TableSource) and hasattr(source.original, "get_columns"):
        import polars as pl

        columns, at = source.original.get_columns(), source.column_of
        return [with_our_types(pl.DataFrame({name: columns[at[name]] for name in needed if name in at}))]
    text = source.trec_text() if hasattr(source, "trec_text") else None
    return [None] if text is None else (text_frame(block, needed) for block in blocks_of(text))


def blocks_of(text: Any) -> Iterator[bytes]:
    """Yield TREC text, which lies in a file or in memory or arrives in pieces, in large blocks of whole lines."""
    if isinstance(text, TrecFile):
        text = text.chunks()
    if not isinstance(text, np.ndarray):
        yield from blocks_of_stream(text)
        return
    start = 0
    while start < len(text):
        stop = min(start + _BLOCK_BYTES, len(text))
        if stop < len(text):
            end = text[stop - _LONGEST_LINE : stop].tobytes().rfind(b"\n")
            # a line that is longer than any should be ends the division into blocks
            stop = len(text) if end < 0 else stop - _LONGEST_LINE + end + 1
        yield text[start:stop].tobytes()
        start = stop


def blocks_of_stream(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for chunk in chunks:
        held.append(chunk)
        if len(held) * len(chunk) >= _BLOCK_BYTES:
            text = b"".join(held)
            end = text.rfind(b"\n") + 1
            if end:
                yield text[:end]
            held = [text[end:]]
    if rest := b"".join(held):
        yield rest


def text_frame(block: bytes, needed: Sequence[str]) -> Any | None:
    """Return lines of TREC text as a frame, or None where a line is out of the ordinary."""
    import polars as pl

    types = {field: pl.Float64() if field == _FIELDS["score"] else pl.String() for field in _ALL_FIELDS}
    fields = [_FIELDS[name] for name in needed]
    try:
        frame = pl.read_csv(block, has_header=False, separator=" ", quote_char=None, schema=types, columns=fields)
    except pl.exceptions.PolarsError:
        return None
    if any(blank in block for blank in (b"\t", b"\v", b"\f")):
        return None
    is_space = np.frombuffer(block, dtype=np.uint8) == ord(" ")
    n_between = (len(_ALL_FIELDS) - 1) * len(frame)
    if np.count_nonzero(is_space) != n_between or (is_space[1:] & is_space[:-1]).any():
        return None  # some line has not six fields with a single space between them
    return with_our_types(frame.rename({_FIELDS[name]: name for name in needed}))


def with_our_types(frame: Any) -> Any:
    """Return a frame with ids as text and numbers as numbers, missing where they are none."""
    import polars as pl

    types = {"query": pl.String, "doc": pl.String, "rank": pl.Int64, "score": pl.Float64}
    return frame.with_columns(pl.col(name).cast(types[name], strict=False) for name in frame.columns)


def first_rows(frame: Any, policies: Policies, n_kept: int) -> Any:
    """Return the rows that may be among the first of their query, by what this frame has of it."""
    import polars as pl

    groups = frame["query"].rle_id().to_numpy().astype(np.int64)
    if len(groups) and len(groups) < 4 * (int(groups[-1]) + 1):  # rows of a query hardly lie together
        groups = frame["query"].rank("dense").to_numpy().astype(np.int64) - 1
    scores = compared_scores(frame["score"].to_numpy(), policies)
    same_group = groups[1:] == groups[:-1]
    is_in_order = np.all((groups[1:] > groups[:-1]) | (same_group & (scores[1:] <= scores[:-1])))
    best_first = scores if is_in_order else scores[np.lexsort((-scores, groups))]
    offsets = offsets_of(np.bincount(groups))
    lowest = best_first[np.minimum(offsets[:-1] + n_kept, offsets[1:]) - 1]  # of the n-th best, or of the last one
    return frame.filter(pl.Series(scores >= lowest[groups]))
