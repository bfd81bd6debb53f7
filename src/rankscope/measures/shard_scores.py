"""Scores of shards, made one by one and anywhere, and put together: for programs that have a loop of their own.

`evaluate` does all of this by itself; here are the functions that it is made of, for engines that it does not know.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from platform import node
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from rankscope.align.alignment import check_answered, hits_of
from rankscope.align.matching import find_mismatch, notes_or_raise
from rankscope.align.policies import Policies
from rankscope.align.same_files import check_seen
from rankscope.align.shard_hits import JoinedShards, ShardHits, align_shard, kernel_hits, lines_notes
from rankscope.arrays import Floats, Ints
from rankscope.checks import check_at_least, check_options
from rankscope.data.loading import ReadOptions, load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run, raise_duplicate
from rankscope.data.sharded import ShardedSource
from rankscope.data.sources import DictSource
from rankscope.errors import InputError, MeasureError, OptionError, give_warning
from rankscope.io.file_state import states_of
from rankscope.io.shards import (
    USUAL_ROWS,
    ByteRange,
    FileSeen,
    RowGroups,
    Shard,
    WholeFile,
    check_ends,
    check_listed_once,
    cut_run,
    files_of,
    is_many,
)
from rankscope.light import LightRecord, asdict, replace
from rankscope.measures.parse import parse_measures
from rankscope.measures.score_notes import id_notes, missing_notes, undefined_if_missing, undefined_notes
from rankscope.measures.scores import QrelsInfo, RunScores, Scores
from rankscope.measures.scoring import DEFAULT_MEASURES, check_grades, score_hits, scores_of

if TYPE_CHECKING:
    from rankscope.data.shapes import QrelsLike
    from rankscope.typing import MeasuresLike


class ShardScores(LightRecord, eq=False):
    """The scores of the queries of one shard, with what is needed to put them together with others; can be pickled."""

    shard: Shard
    """Which one it is; as a text, what it is called in errors."""
    measures: tuple[str, ...]
    values: Floats
    """The shard's own judged queries x measures."""
    hits: ShardHits
    """What the shard has of these queries. The scores of a whole run are computed from the hits of all shards."""
    policies: Policies
    """Those that it was scored by."""
    qrels_digest: str
    """That of the judgments that it was scored by."""
    options: ReadOptions = ReadOptions()
    """How the file was read."""
    digest: str = ""
    """That of all else, by which `concat` sees that nothing was damaged on its way."""

    @property
    def positions(self) -> Ints:
        """Which of the judged queries these are, by their places among all."""
        return self.hits.positions

    @property
    def n_rows(self) -> int:
        """How many rows the shard has."""
        return self.hits.n_rows


def shards_of(
    run: str | os.PathLike[str],
    n: int | None = None,
    *,
    target_rows: int = USUAL_ROWS,
    options: ReadOptions | None = None,
) -> list[Shard]:
    r"""Cut a run into shards, each with whole queries.

    Parameters
    ----------
    run
        A file, a folder of files, or a pattern such as ``"run/part-*.parquet"``. Rows of a query must lie together.
    n
        How many shards there are to be, about; of a folder at least one for each file.
    target_rows
        How many rows a shard is to have, about, where `n` is not given.
    options
        How files are read, as `score_shard` is given it: which columns hold what, where their names do not tell.

    Returns
    -------
    list of ByteRange, WholeFile and RowGroups
        The shards in the order of their rows; no file is read as a whole for this.

    Raises
    ------
    InputError
        There is no such file.

    Examples
    --------
    >>> import rankscope as rs, pathlib
    >>> _ = pathlib.Path("bm25.run").write_text("".join(f"q{i} Q0 d1 1 2.5 me\n" for i in range(4)))
    >>> [str(shard) for shard in rs.shards_of("bm25.run", n=2)]
    ['bm25.run (bytes 0 to 54)', 'bm25.run (bytes 54 to 72)']
    """
    check_options(shards_of.__annotations__, {"n": n, "target_rows": target_rows, "options": options})
    check_at_least(1, n=n, target_rows=target_rows)
    path = os.fspath(run)
    states = states_of(files_of(path) if is_many(path) else [path])
    seen = {file: FileSeen(node(), state) for file, state in states.items()}
    columns = None if options is None else options.columns
    shards = cut_run(path, n, target_rows=target_rows, columns=columns)
    return [replace(shard, seen=seen.get(shard.path)) for shard in shards]


def score_shard(
    qrels: QrelsLike,
    shard: Shard,
    measures: MeasuresLike = None,
    policies: Policies | None = None,
    *,
    options: ReadOptions | None = None,
) -> ShardScores:
    r"""Score one shard of a run, with one thread; nothing is warned of, and queries of other shards do not count.

    Parameters
    ----------
    qrels
        The judgments, as `evaluate` takes them; `load_qrels` loads them once for many shards.
    shard
        One of those that `shards_of` returns.
    measures
        As for `evaluate`, but none that looks at the docs themselves.
    policies
        How ties, duplicates and others are handled; the same for all shards.
    options
        How the file is read.

    Returns
    -------
    ShardScores
        To be given to `Scores.concat` with those of all other shards.

    Raises
    ------
    InputError
        The shard cannot be read, or its file is another one than when it was cut.
    MeasureError
        A measure does not exist, or looks at the docs themselves.

    Examples
    --------
    >>> import rankscope as rs, pathlib
    >>> _ = pathlib.Path("bm25.run").write_text("q1 Q0 d1 1 2.5 me\nq2 Q0 d2 1 1.5 me\n")
    >>> qrels = rs.load_qrels({"q1": {"d1": 1}, "q2": {"d1": 1}})
    >>> parts = [rs.score_shard(qrels, shard, "RR") for shard in rs.shards_of("bm25.run", n=2)]
    >>> rs.Scores.concat(parts, qrels)
    run      RR
    run  0.5000
    """
    if not isinstance(shard, (ByteRange, WholeFile, RowGroups)):
        raise OptionError(f"{shard!r} is no shard", hint="shards_of cuts a run into shards")
    check_ends(shard)
    check_seen(shard)
    decided = policies or Policies()
    judged = load_qrels(qrels, duplicates=decided.duplicates)
    wanted = parse_measures(DEFAULT_MEASURES if measures is None else measures)
    for measure in wanted:
        if measure.spec.needs:
            raise MeasureError(
                f"{measure.name} looks at the docs themselves, which shards do not keep",
                hint="evaluate(qrels, run, …, memory=) scores it",
            )
    found = align_shard(judged, shard, decided, options)
    check_seen(shard)
    if found.clash:
        raise InputError(f"{shard}: query {found.clash.query!r} has rows in two places", hint="sort the run by query")
    own = hits_of(kernel_hits(found, len(judged)), judged, replace(decided, missing="skip"))
    values, _undefined = score_hits(own, wanted, decided)
    names = tuple(measure.name for measure in wanted)
    how = replace(options or ReadOptions(), progress=None)  # what draws it stays where it is
    scored = ShardScores(shard, names, values, found, decided, judged.digest, how)
    return replace(scored, digest=digest_of(scored))


def concat(parts: Iterable[ShardScores], qrels: QrelsLike, policies: Policies | None = None, *, name: str) -> Scores:
    """Return the scores of a run from those of all of its shards, in whatever order they come."""
    given = list(parts)
    if not given:
        raise InputError("no shard was scored", hint="shards_of cuts a run into shards")
    for part in given:
        if not isinstance(part, ShardScores):
            raise OptionError(f"{part!r} is no scored shard", hint="score_shard scores the shards of a run")
    check_whole(given)
    first = given[0]
    decided = policies or first.policies
    judged = load_qrels(qrels, duplicates=decided.duplicates)
    hits = joined_hits(given, judged, decided)
    measures = parse_measures(first.measures)
    check_grades(judged, measures, decided)
    give_warning(*lines_notes(hits, first.shard.path if len({part.shard.path for part in given}) == 1 else name))
    found = kernel_hits(hits, len(judged))
    check_answered(judged, found.answered, found.other_queries, found.n_other_queries, decided)
    if found.duplicate and decided.duplicates == "error":
        raise_duplicate(*found.duplicate)
    scores = scores_of(hits_of(found, judged, decided), Run(DictSource({}), name=name), measures, decided)
    notes = [
        *(mismatch_notes(given, judged, scores) if any(each.spec.finds_judged_docs for each in measures) else ()),
        *id_notes(name, judged.integer_ids, hits.integer_ids),
        *missing_notes(name, scores.counts.missing, len(judged), decided, undefined_if_missing(scores)),
        *undefined_notes(scores, measures),
        *gap_notes(part.shard for part in given),
    ]
    give_warning(*notes)
    return Scores(
        (scores,),
        notes=tuple(notes),
        qrels=QrelsInfo(len(judged), judged.origin),
        policies=decided.as_dict(),
        versions={measure.name: measure.spec.version for measure in measures},
    )


def joined_hits(parts: Sequence[ShardScores], qrels: Qrels, policies: Policies) -> ShardHits:
    """Return the hits of all shards as those of one, where they belong together."""
    digest = qrels.digest
    joined = JoinedShards(len(qrels), qrels.query_ids)
    for place, part in enumerate(parts):
        check_scored_alike(part, parts[0], policies, digest)
        joined.add(place, part.shard, part.hits)
        if joined.clash:
            clash = joined.clash
            raise InputError(
                f"query {clash.query!r} has rows in {clash.first} and in {clash.second}",
                hint="list each shard once; evaluate(…, memory=) regroups rows that are not grouped by query",
            )
    check_listed_once([part.shard for part in parts])
    check_one_version(part.shard for part in parts)
    if policies.ties == "given" and joined.disagrees_on_ranks:
        raise_different_ranks(parts)
    return joined.as_shard()


def check_whole(parts: Sequence[ShardScores]) -> None:
    """Refuse a part that is not what was scored; any of its values may have another type than it had, or be missing."""
    for number, part in enumerate(parts, start=1):
        name = f"part {number} of {len(parts)}"
        with suppress(Exception):
            name = str(part.shard)
            if digest_of(part) == part.digest:
                continue
        raise InputError(
            f"what was found in {name} is not what score_shard returned: it was damaged on its way",
            hint="score this shard again",
        )


def raise_different_ranks(parts: Sequence[ShardScores]) -> NoReturn:
    first = {part.hits.uses_ranks: part.shard for part in reversed(parts) if part.n_rows}
    raise InputError(
        f"{first[True]} has a rank in each of its rows, and {first[False]} has not: with ties='given' the ranks of a "
        "run count in all of its parts or in none",
        hint="evaluate(qrels, run, …, memory=) scores it; or write ranks, whole numbers, into all rows, or into none",
    )


def digest_of(part: ShardScores) -> str:
    """Return the SHA-256 of all that a scored shard says."""
    digest = hashlib.sha256()
    for name, value in sorted({**vars(part), **vars(part.hits), "seen": getattr(part.shard, "seen", None)}.items()):
        if name in ("hits", "digest"):
            continue
        if isinstance(value, np.ndarray):
            digest.update(f"{name} {value.dtype.str} {value.shape} ".encode())
            digest.update(value.tobytes())
        else:  # the order of a set differs from one process to the next
            said = sorted(value) if isinstance(value, frozenset) else value
            digest.update(f"{name} {said!r} ".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def check_one_version(shards: Iterable[Shard]) -> None:
    """Refuse shards of one file that was another one by the time that some of them were cut."""
    first: dict[tuple[str, str], FileSeen] = {}
    for shard in shards:
        seen = shard.seen
        if seen is not None and first.setdefault((shard.path, seen.host), seen) != seen:
            raise InputError(
                f"{shard.path} was changed between the cutting of some of its shards and that of others",
                hint="cut the file as it is now (shards_of), and score all of its shards",
            )


def mismatch_notes(parts: Sequence[ShardScores], qrels: Qrels, scores: RunScores) -> tuple[str, ...]:
    """Say so where not one doc of the run is judged, for which all docs have to be read again."""
    source = ShardedSource(scores.name, parts[0].options, shards=[part.shard for part in parts])
    try:
        return notes_or_raise(find_mismatch(qrels, Run(source, name=scores.name), scores.counts), anyway=True)
    except InputError:  # the files may be elsewhere
        return (f"{scores.name}: not one doc that was retrieved is judged for its query",)


def gap_notes(shards: Iterable[Any]) -> Iterator[str]:
    """Say which bytes or rows of a file nobody has scored, where shards are ranges of it."""
    ranges: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for shard in shards:
        if isinstance(shard, ByteRange) and shard.n_bytes is not None:
            ranges.setdefault((shard.path, "bytes", shard.n_bytes), []).append((shard.start, shard.end))
        elif isinstance(shard, RowGroups) and shard.n_rows is not None:
            ranges.setdefault((shard.path, "rows", shard.n_rows), []).append((shard.start, shard.end))
    for (path, what, total), own in ranges.items():
        end, first = 0, 0 if what == "bytes" else 1  # rows are counted from 1, as in the name of a shard
        for start, next_end in [*sorted(own), (total, total)]:
            if start > end:
                yield f"{what} {end + first} to {start} of {path} are in no shard that was given"
            end = max(end, next_end)


def check_scored_alike(part: ShardScores, first: ShardScores, policies: Policies, qrels_digest: str) -> None:
    """Refuse scores that were made by other measures, policies or judgments; say which."""
    if part.measures != first.measures:
        raise InputError(
            f"{part.shard} was scored by other measures than {first.shard}",
            hint=f"score all shards by the same: {' '.join(first.measures)}",
        )
    own, wanted = asdict(part.policies), asdict(policies)
    # what becomes of queries that no shard has is decided here alone
    other = [name for name in own if name != "missing" and own[name] != wanted[name]]
    if other:
        said = ", ".join(f"{name}={own[name]!r} instead of {wanted[name]!r}" for name in other)
        raise InputError(
            f"{part.shard} was scored by other policies: {said}",
            hint="give score_shard, for all shards, and Scores.concat the same policies",
        )
    if part.qrels_digest != qrels_digest:
        raise InputError(
            f"{part.shard} was scored by other qrels than those given here",
            hint="give score_shard, for all shards, and Scores.concat the same qrels, read in the same way",
        )
