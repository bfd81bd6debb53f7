"""The docs themselves: which ones stand at the top of each query's ranking, for measures that look beyond grades.

`top_docs` reads a whole run into Python, which takes long where a run has millions of rows and ten docs a query are
needed. `leading_docs` gives the same and drops rows that cannot be among the first as early as possible: TREC text and
polars tables are searched by the column. `packed_docs` gives it some queries at a time, with all ids in one text: for
those who look at all docs of a run, which as Python's own texts would fill the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from rankscope.align.policies import Policies
from rankscope.align.reference import compared_scores, considered, ranked_docs
from rankscope.arrays import Floats, Ints, offsets_of
from rankscope.data.run import Run
from rankscope.data.sources import RowsSource, TableSource
from rankscope.io.rows import RunRows
from rankscope.io.text import TrecFile
from rankscope.light import LightRecord

_BLOCK_BYTES = 1 << 23
_LONGEST_LINE = 1 << 16
_SMALL_PIECE = 1 << 21
"""How many bytes of text are looked at together where memory is bounded."""
FEW_QUERIES = 100
"""Of a run in shards, so many queries at most are looked for without reading all of it into memory."""
_ALL_FIELDS = tuple(f"column_{i}" for i in range(1, 7))
_FIELDS = {"query": "column_1", "doc": "column_3", "rank": "column_4", "score": "column_5"}
"""What is needed of a line of TREC text, and the names that polars gives to columns without a name."""


SMALL_FILE = 1 << 20
"""Smaller files are put in order query by query, as it takes longer to load what is quick with large ones."""
_QUERIES_AT_ONCE = 500


class TopDocs(LightRecord, eq=False):
    """The first docs of every query, best first, in the order of the hits' queries."""

    query_ids: tuple[str, ...]
    docs: tuple[tuple[str, ...], ...]

    def cut(self, k: int | None) -> tuple[tuple[str, ...], ...]:
        return self.docs if k is None else tuple(docs[:k] for docs in self.docs)


def top_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> TopDocs:
    """Return the first docs of every query; a query that the run does not answer has none."""
    run = few_queries(run, query_ids, policies)
    found = (
        tuple(ranked_docs(considered(run, query, policies), policies, depth)) if query in run.rankings else ()
        for query in query_ids
    )
    return TopDocs(tuple(query_ids), tuple(found))


def listed_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> TopDocs:
    """Return the first rows of every query as the run lists them: the same as `top_docs`, with docs listed twice."""
    run = few_queries(run, query_ids, policies)
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


class PackedDocs(LightRecord, eq=False):
    """The first docs of some queries, best first, with all ids in one text."""

    query_ids: tuple[str, ...]
    counts: Ints
    """How many docs each query has."""
    text: bytes
    """The ids one after the other, in UTF-8."""
    lengths: Ints
    """How many bytes each id has."""

    @classmethod
    def of(cls, query_ids: Sequence[str], lists: Sequence[Sequence[str]]) -> PackedDocs:
        ids = [doc.encode("utf-8", "surrogatepass") for docs in lists for doc in docs]
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        return cls(tuple(query_ids), counts, b"".join(ids), lengths)


class UnusualRowsError(Exception):
    """Says that rows cannot be searched by the column, or that a query comes back. It never leaves this file."""


def packed_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> Iterator[PackedDocs]:
    """Yield the first docs of all queries that have any, some queries at a time: those of `leading_docs`.

    What comes later of a query holds: rows may turn out to need another way when some have been read.
    """
    depths = [each for each in (depth, policies.depth) if each is not None]
    n_kept = min(depths, default=None)
    is_small = getattr(run.source, "n_stored", SMALL_FILE) < SMALL_FILE
    if is_small or any(query.startswith("#") for query in query_ids):  # in TREC text such a line is a comment
        yield from packed_by_query(run, query_ids, policies, n_kept)
        return
    try:
        yield from packed_by_column(run, query_ids, policies, n_kept)
    except UnusualRowsError:
        yield from packed_by_query(run, query_ids, policies, n_kept)


def packed_by_query(run: Run, query_ids: Sequence[str], policies: Policies, n_kept: int | None) -> Iterator[PackedDocs]:
    """Yield the same, by Python; of a run in parts that lie query by query, one part after the other."""
    in_parts = getattr(run.source, "is_sharded", False) and run.source.is_grouped and policies.ties != "given"
    wanted = set(query_ids)
    for part in (Run(each, name=run.name) for each in run.source.parts()) if in_parts else (run,):
        own = [query for query in part.query_ids if query in wanted] if in_parts else query_ids
        if n_kept is not None and policies.duplicates != "first":
            part = narrowed_run(part, own, policies, n_kept + (policies.self_match == "drop"))  # noqa: PLW2901
        for start in range(0, len(own), _QUERIES_AT_ONCE):
            some = own[start : start + _QUERIES_AT_ONCE]
            lists = top_docs(part, some, policies, depth=n_kept).docs
            answered = [(query, docs) for query, docs in zip(some, lists, strict=True) if docs]
            if answered:
                yield PackedDocs.of([query for query, _ in answered], [docs for _, docs in answered])


def packed_by_column(
    run: Run, query_ids: Sequence[str], policies: Policies, n_kept: int | None
) -> Iterator[PackedDocs]:
    """Yield the same, by the column; all rows are held at once only where those of a query do not lie together."""
    import polars as pl

    if getattr(run.source, "is_grouped", True):
        try:
            for frame in frames_of_queries(wanted_frames(run, query_ids, policies, n_kept)):
                yield packed(in_rank_order(frame, policies, n_kept))
        except QueryAgainError:
            pass
        else:
            return
    frames = list(wanted_frames(run, query_ids, policies, n_kept))
    if frames:
        yield packed(in_rank_order(pl.concat(frames), policies, n_kept))


def wanted_frames(run: Run, query_ids: Sequence[str], policies: Policies, n_kept: int | None) -> Iterator[Any]:
    """Yield the rows of some queries as frames, without most of those that are not among the first."""
    import polars as pl

    needed = [name for name in _FIELDS if name != "rank" or policies.ties == "given"]
    wanted, names = ids_in_frames(query_ids), None
    for frame in frames_of(run.source, needed):
        if not is_usual(frame, names):
            raise UnusualRowsError
        names = frame.columns
        in_a_row = frame["query"].rle().struct.unnest()
        is_wanted = in_a_row["value"].is_in(wanted).to_numpy()
        found = frame.filter(pl.Series(np.repeat(is_wanted, in_a_row["len"].to_numpy())))
        if n_kept is not None and policies.duplicates != "first" and len(found):
            found = first_rows(found, policies, n_kept + (policies.self_match == "drop"))
        if len(found):
            yield found


class QueryAgainError(Exception):
    """Says that a query comes back after others. It never leaves this file."""


def frames_of_queries(frames: Iterable[Any]) -> Iterator[Any]:
    """Yield the same rows in frames that have all rows of their queries; the last query of each waits for the next."""
    import polars as pl

    done, held = set[str](), list[Any]()
    for frame in frames:
        last = frame["query"][-1]
        others = frame.filter(pl.col("query") != last)
        is_held = bool(held) and held[0]["query"][0] == last
        ready = ([] if is_held else held) + ([others] if len(others) else [])
        held = (held if is_held else []) + [frame.filter(pl.col("query") == last)]
        if ready:
            yield newly(pl.concat(ready), done)
    if held:
        yield newly(pl.concat(held), done)


def newly(frame: Any, done: set[str]) -> Any:
    queries = frame["query"].unique().to_list()
    if not done.isdisjoint(queries):
        raise QueryAgainError
    done.update(queries)
    return frame


def in_rank_order(frame: Any, policies: Policies, n_kept: int | None) -> Any:
    """Return the rows of each query one after the other, best first, cut at a depth."""
    import polars as pl

    if policies.duplicates == "first":
        frame = frame.unique(["query", "doc"], keep="first", maintain_order=True)
    if policies.self_match == "drop":
        frame = frame.filter(pl.col("query") != pl.col("doc"))
    groups = frame["query"].rle_id().to_numpy().astype(np.int64)
    if len(groups) and frame["query"].n_unique() <= groups[-1]:  # rows of a query do not lie together
        groups = frame["query"].rank("dense").to_numpy().astype(np.int64) - 1
    scores = compared_scores(frame["score"].to_numpy(), policies)
    same_group = groups[1:] == groups[:-1]
    if not np.all((groups[1:] > groups[:-1]) | (same_group & (scores[1:] < scores[:-1]))):
        order = best_first_rows(frame, groups, scores, policies)
        frame, groups = frame[order], groups[order]
    if n_kept is None:
        return frame
    starts = offsets_of(np.bincount(groups))[:-1]
    return frame.filter(pl.Series(np.arange(len(groups)) - starts[groups] < n_kept))


def best_first_rows(frame: Any, groups: Ints, scores: Floats, policies: Policies) -> Ints:
    """Return the positions of rows by group, best first; only where scores are equal, ids have a say."""
    import polars as pl

    if policies.ties == "given" and "rank" in frame.columns:
        return np.lexsort((frame["rank"].to_numpy(), -scores, groups))
    order = np.lexsort((-scores, groups))
    if policies.ties == "given":
        return order
    groups, scores = groups[order], scores[order]
    is_tied = np.concatenate(([False], (groups[1:] == groups[:-1]) & (scores[1:] == scores[:-1]), [False]))
    tied = np.flatnonzero(is_tied[1:] | is_tied[:-1])  # with the one before, or with the one behind
    tie = np.cumsum(~is_tied[tied])
    ids = pl.DataFrame({"tie": tie, "doc": frame["doc"][order[tied]]})
    by_id = ids.select(pl.arg_sort_by("tie", "doc", descending=[False, policies.ties == "trec"])).to_series()
    order[tied] = order[tied][by_id.to_numpy()]
    return order


def packed(frame: Any) -> PackedDocs:
    in_a_row = frame["query"].rle().struct.unnest()
    docs = frame["doc"]
    return PackedDocs(
        tuple(in_a_row["value"].to_list()),
        in_a_row["len"].to_numpy().astype(np.int64),
        (docs.str.join("").item() or "").encode() if len(docs) else b"",
        docs.str.len_bytes().to_numpy().astype(np.int64),
    )


def whole_lists(run: Run, query_ids: Sequence[str], policies: Policies) -> TopDocs:
    """Return all docs of a few queries, best first: the same as `top_docs`, sooner where a run has many others."""
    return top_docs(chosen_queries(run, query_ids, policies), query_ids, policies, depth=None)


def chosen_queries(run: Run, query_ids: Sequence[str], policies: Policies) -> Run:
    """Return a run with the rows of some queries alone, where there is a fast way to tell."""
    wanted = ids_in_frames(query_ids)

    def of_these(frame: Any) -> Any:
        return frame.filter(frame["query"].is_in(wanted))

    return filtered_run(run, query_ids, policies, of_these)


def run_of_queries(run: Run, query_ids: Sequence[str], policies: Policies) -> Run:
    """Return a large run with the rows of a few queries alone, so that it is read once for all; else as it is."""
    is_read = "rankings" in vars(run) or getattr(run.source, "n_stored", SMALL_FILE) < SMALL_FILE
    return run if is_read else chosen_queries(run, query_ids, policies)


def few_queries(run: Run, query_ids: Sequence[str], policies: Policies) -> Run:
    """Return a run in shards with a few queries of it alone, so that not all of it comes into memory; else as it is.

    What was asked for last is kept, as one query is looked at several times.
    """
    source = run.source
    if not getattr(source, "is_sharded", False) or len(query_ids) > FEW_QUERIES:
        return run
    key = (*query_ids, policies.ties)
    if source.looked_at is None or source.looked_at[0] != key:
        source.looked_at = (key, chosen_queries(run, query_ids, policies))
    found: Run = source.looked_at[1]
    return found


def narrowed_run(run: Run, query_ids: Sequence[str], policies: Policies, n_kept: int) -> Run:
    """Return a run without most of the rows that are not among the first, where there is a fast way to tell."""
    return filtered_run(run, query_ids, policies, lambda frame: first_rows(frame, policies, n_kept))


def filtered_run(run: Run, query_ids: Sequence[str], policies: Policies, keep: Callable[[Any], Any]) -> Run:
    """Return a run without rows that are not needed, where it is text or a frame of polars; else as it is."""
    if any(query.startswith("#") for query in query_ids):  # in TREC text such a line is a comment
        return run
    kept: list[Any] = []
    needed = [name for name in _FIELDS if name != "rank" or policies.ties == "given"]
    for frame in frames_of(run.source, needed):
        if not is_usual(frame, kept[0].columns if kept else None):
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


def ids_in_frames(ids: Iterable[str]) -> list[str]:
    """Return those of some ids that a frame can have: its texts are UTF-8, as ids in TREC text need not be."""
    return [each for each in ids if each.encode("utf-8", "replace").decode() == each]


def is_usual(frame: Any | None, names: Sequence[str] | None) -> bool:
    """Tell whether a frame has these columns, where they are known, and no value in it is missing or no number."""
    if frame is None or (names is not None and frame.columns != names):
        return False
    return not (any(column.null_count() for column in frame.get_columns()) or frame["score"].is_nan().any())


def frames_of(source: Any, needed: Sequence[str]) -> Iterable[Any]:
    """Return a run as polars frames with the columns that are needed; None for what cannot be one."""
    if getattr(source, "is_sharded", False):
        is_small = source.plan.memory is not None and not any(file.endswith(".parquet") for file in source.files)
        parts = source.parts(piece_bytes=_SMALL_PIECE) if is_small else source.parts()
        return (frame for part in parts for frame in frames_of_part(part, needed))
    source = getattr(source, "sound_columns", None) or source
    if isinstance(source, TableSource) and hasattr(source.original, "get_columns"):
        import polars as pl

        columns, at = source.original.get_columns(), source.column_of
        return [with_our_types(pl.DataFrame({name: columns[at[name]] for name in needed if name in at}))]
    text = source.trec_text() if hasattr(source, "trec_text") else None
    return [None] if text is None else (text_frame(block, needed) for block in blocks_of(text))


def frames_of_part(part: Any, needed: Sequence[str]) -> Iterable[Any]:
    """Return a part of a run as frames; lines that are out of the ordinary are read one by one, as a part is small."""
    frames = list(frames_of(part, needed))
    if all(frame is not None for frame in frames):
        return frames
    import polars as pl

    rows = part.read()
    columns = {"query": rows.query, "doc": rows.doc, "rank": rows.rank, "score": rows.score}
    try:
        return [with_our_types(pl.DataFrame({name: columns[name] for name in needed if columns[name] is not None}))]
    except (UnicodeEncodeError, pl.exceptions.PolarsError):  # ids that are no text
        return [None]


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
    blank = " " if b" " in block else "\t"
    try:
        frame = pl.read_csv(block, has_header=False, separator=blank, quote_char=None, schema=types, columns=fields)
    except pl.exceptions.PolarsError:
        return None
    if any(other in block for other in (b"\v", b"\f", *((b"\t",) if blank == " " else ()))):
        return None
    is_space = np.frombuffer(block, dtype=np.uint8) == ord(blank)
    n_between = (len(_ALL_FIELDS) - 1) * len(frame)
    if np.count_nonzero(is_space) != n_between or (is_space[1:] & is_space[:-1]).any():
        return None  # some line has not six fields with a single blank between them
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
