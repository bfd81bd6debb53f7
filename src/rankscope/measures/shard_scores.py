"""Scores of shards, made one by one and anywhere, and put together: for programs that have a loop of their own.

`evaluate` does all of this by itself; here are the two functions that it is made of, for engines that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rankscope.align.alignment import check_answered, hits_of
from rankscope.align.policies import Policies
from rankscope.align.sharded import JoinedShards, ShardHits, align_shard, digest_of_qrels, kernel_hits
from rankscope.arrays import Floats, Ints
from rankscope.data.loading import ReadOptions, load_qrels
from rankscope.data.run import Run, raise_duplicate
from rankscope.data.sources import DictSource
from rankscope.errors import InputError, MeasureError, OptionError, give_warning
from rankscope.io.shards import ByteRange, RowGroups, Shard, WholeFile
from rankscope.light import LightRecord, asdict, replace
from rankscope.measures.parse import parse_measures
from rankscope.measures.score_notes import missing_notes, undefined_if_missing, undefined_notes
from rankscope.measures.scores import QrelsInfo, Scores
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

    @property
    def positions(self) -> Ints:
        """Which of the judged queries these are, by their places among all."""
        return self.hits.positions

    @property
    def n_rows(self) -> int:
        """How many rows the shard has."""
        return self.hits.n_rows


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
        The shard cannot be read.
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
    if found.clash:
        raise InputError(f"{shard}: query {found.clash.query!r} has rows in two places", hint="sort the run by query")
    own = hits_of(kernel_hits(found, len(judged)), judged, replace(decided, missing="skip"))
    values, _undefined = score_hits(own, wanted, decided)
    names = tuple(measure.name for measure in wanted)
    return ShardScores(shard, names, values, found, decided, digest_of_qrels(judged))


def concat(parts: Iterable[ShardScores], qrels: QrelsLike, policies: Policies | None = None, *, name: str) -> Scores:
    """Return the scores of a run from those of all of its shards, in whatever order they come."""
    given = list(parts)
    if not given:
        raise InputError("no shard was scored", hint="shards_of cuts a run into shards")
    first = given[0]
    decided = policies or first.policies
    judged = load_qrels(qrels, duplicates=decided.duplicates)
    digest = digest_of_qrels(judged)
    joined = JoinedShards(len(judged), judged.query_ids)
    for place, part in enumerate(given):
        check_scored_alike(part, first, decided, digest)
        joined.add(place, part.shard, part.hits)
        if joined.clash:
            clash = joined.clash
            raise InputError(
                f"query {clash.query!r} has rows in {clash.first} and in {clash.second}",
                hint="list each shard once; evaluate(…, memory=) regroups rows that are not grouped by query",
            )
    measures = parse_measures(first.measures)
    check_grades(judged, measures, decided)
    hits = joined.as_shard()
    found = kernel_hits(hits, len(judged))
    check_answered(judged, found.answered, found.other_queries, found.n_other_queries, decided)
    if found.duplicate and decided.duplicates == "error":
        raise_duplicate(*found.duplicate)
    scores = scores_of(hits_of(found, judged, decided), Run(DictSource({}), name=name), measures, decided)
    notes = [
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


def gap_notes(shards: Iterable[Any]) -> Iterator[str]:
    """Say which bytes of a file nobody has scored, where shards are ranges of it."""
    ranges: dict[tuple[str, int], list[ByteRange]] = {}
    for shard in shards:
        if isinstance(shard, ByteRange) and shard.n_bytes is not None:
            ranges.setdefault((shard.path, shard.n_bytes), []).append(shard)
    for (path, n_bytes), own in ranges.items():
        end = 0
        for start, next_end in [*sorted((each.start, each.end) for each in own), (n_bytes, n_bytes)]:
            if start > end:
                yield f"bytes {end} to {start} of {path} are in no shard that was given"
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
            hint="give score_shard, for all shards, and Scores.concat the same qrels, from the same file",
        )
