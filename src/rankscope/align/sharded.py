"""Alignment of a run in shards: each shard on its own, then all hits put where one alignment would have put them.

What a shard returns is all that measures see of its queries, so the scores are computed once, over all queries, from
the same arrays as without shards: not a bit of them can depend on where a run was cut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rankscope._version import __version__
from rankscope.align.hits import KernelHits
from rankscope.align.policies import Policies
from rankscope.align.same_files import (
    FileMark,
    QrelsPlace,
    check_files,
    check_once,
    check_seen,
    kept_name,
    loaded_qrels,
    marks_of,
    qrels_elsewhere,
)
from rankscope.align.shard_hits import (
    Clash,
    JoinedShards,
    ShardHits,
    align_shard,
    decoded,
    encoded,
    kernel_hits,
    lines_notes,
    replace_bad,
)
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.sharded import ShardedSource, ShardPlan, TextPart, source_parts
from rankscope.data.sources import ReadOptions
from rankscope.errors import BadLine, BadLinesError, InputError, give_warning
from rankscope.executors import executor_from
from rankscope.executors.jobs import TaskJob, run_kept
from rankscope.executors.kept import Kept
from rankscope.io.addresses import is_remote
from rankscope.io.file_state import check_same, states_of
from rankscope.io.limits import in_words
from rankscope.io.memory import GROWTH, PART_BYTES, PROCESS_BYTES, client_bytes, resident_bytes
from rankscope.io.regroup import (
    bytes_of_shards,
    deal_out_tables,
    deal_out_text,
    frame_of,
    has_rows,
    look_at,
    scratch_folder,
)
from rankscope.io.shards import ROW_BYTES, USUAL_ROWS, RowGroups, Shard, WholeFile, size_at, smaller_shards
from rankscope.io.table import QRELS, looks_like
from rankscope.light import replace
from rankscope.native import n_cores
from rankscope.printable import counted
from rankscope.progress import JobState, Progress, WatchJob, WatchWithin, ignore_job

RESERVE = 24 << 20
"""What is left free of the memory given, for what Python sets aside besides."""
SHARE = 0.4
"""The share of the rest that text may have: rows in no order take as much again, and somewhat more."""
KEPT_FORMAT = 3
"""Raised where what is kept of a part means something else than before: older parts are not found then."""
KEPT_PARTS = 64
"""Where parts are kept, a run is cut into so many or more, however many workers there are: another time there may be
more of them, or fewer."""
SMALLEST_PIECE = 8 << 20
"""Text is cut into no smaller pieces, however little memory there is: each of them costs time of its own."""
SMALLEST_DEALT = 1 << 20
"""What is dealt out, or shared among workers, may be smaller: it is only read."""
SMALLEST_TABLE = 9 << 20
"""The text that the rows of the smallest part of a table would be: a quarter of a million rows."""
TABLE_SHARE = 0.25
"""The rows of a table that fit where so much text does: ids lie there as texts of their own, and decoded twice."""
MORE_BY = 1.1
"""How much more than was given is taken before it is warned of: what is foretold is so exact, and no more."""
MOST_PARTS = 512
MOST_FILES = 1 << 17
"""So many files a table may become while it is regrouped: one for each piece that is read and each part."""
SCATTERED = 2.5
"""How much more memory rows take that are not in order within a part, besides their text."""
TOO_MANY_WORKERS = 2
"""More processes than so many times the cores are warned of."""
DEALT_AT_ONCE = 16
"""Into so many pieces the memory is divided while rows are dealt out: some are read, some dealt out, some written."""
ALIGNED_BY = ("ties", "precision", "duplicates", "self_match", "depth")
"""The policies that decide which docs are found at which ranks; the others are applied to what was found."""


class NotGroupedError(Exception):
    """Ends a job of which nothing more is needed: the run has to be regrouped. It never leaves this file."""


def find_in_shards(qrels: Qrels, run: Run, policies: Policies, *, threads: int | None = None) -> KernelHits:
    """Find the judged docs of every query in a run in shards, with their ranks."""
    source: ShardedSource = run.source
    known = source.ahead.pop(ahead_key(qrels, policies), None)
    if known is None:
        align_ahead(qrels, [run], policies, threads=threads)
        known = source.ahead.pop(ahead_key(qrels, policies))
    hits: ShardHits = known[1]
    give_warning(*lines_notes(hits, source.path, shown=source.shown))
    source.tag, source.found_integer_ids = hits.tag, hits.integer_ids
    return kernel_hits(hits, len(qrels))


def ahead_key(qrels: Qrels, policies: Policies) -> tuple[Any, ...]:
    """Return what hits depend on; policies that are applied to hits later do not count."""
    return (id(qrels), *(getattr(policies, name) for name in ALIGNED_BY))


def align_ahead(qrels: Qrels, runs: Sequence[Run], policies: Policies, *, threads: int | None = None) -> None:
    """Align the shards of several runs in one job, and keep what is found until each run is asked for it.

    Runs that are not in shards are left alone.
    """
    by_plan: dict[Any, list[ShardedSource]] = {}
    for run in runs:
        source = run.source
        if getattr(source, "is_sharded", False) and ahead_key(qrels, policies) not in source.ahead:
            by_plan.setdefault(source.plan.key, []).append(source)
    for sources in by_plan.values():
        plan = sources[0].plan
        with executor_from(plan.on, plan.workers) as executor:
            clients = max((client_bytes(file) for source in sources for file in source.files), default=0)
            work = ShardWork(qrels, policies, plan, executor, threads, client_bytes=clients)
            try:
                found = work.hits_of(sources)
            except InputError as error:
                raise error_of_run(error, sources) from error.__cause__
            for source, hits in zip(sources, found, strict=True):
                source.ahead[ahead_key(qrels, policies)] = (qrels, hits)  # the qrels stay, so that nothing has their id


def error_of_run(error: InputError, sources: Sequence[ShardedSource]) -> InputError:
    """Return what is wrong with a part as it is said of a run: its other files, or parts, may be sound or not."""
    if error.hint.startswith(looks_like(QRELS)) and any(len(source.files) > 1 for source in sources):
        error.hint = "this looks like qrels; a pattern such as 'run/part-*' leaves such files out of a run"
    if not isinstance(error, BadLinesError):
        return error
    return with_shown_paths(error, sources)


def with_shown_paths(error: BadLinesError, sources: Sequence[ShardedSource]) -> BadLinesError:
    """Return an error that does not name the copy of standard input, which is gone when somebody reads it."""
    lines = error.bad_lines
    for source in (each for each in sources if each.spool is not None):
        lines = tuple(replace(line, path=source.shown(line.path)) for line in lines)
    return BadLinesError(lines, is_all=False, hint=error.hint)  # other parts were not read


def room_in(plan: ShardPlan, n_workers: int, taken: int) -> int:
    """Return how many bytes of text a shard may have, so that what it takes fits into the memory that there may be.

    Workers have about as much taken as this process, to begin with.
    """
    memory = None if plan.memory is None else plan.memory // n_workers
    room = room_beside(memory, taken)
    # what a process has differs a little each time, and parts must be cut as they were
    return room if plan.keep is None else 1 << room.bit_length() - 1


def room_beside(memory: int | None, taken: int) -> int:
    """Return how many bytes of text a part may have in a process that may have so much memory, and has some of it."""
    if memory is None:
        return USUAL_ROWS * ROW_BYTES
    return max(SMALLEST_PIECE, int((memory - taken - RESERVE) * SHARE))


def warn_of_little_memory(plan: ShardPlan, n_workers: int, taken: int, parts: int) -> None:
    """Say before the work begins that more memory will be taken than was given, by what is there and by the parts."""
    needed = (taken + parts) * n_workers
    if plan.memory is not None and needed > plan.memory * MORE_BY:
        each = f" by {n_workers} workers" if n_workers > 1 else ""
        give_warning(
            f"more memory will be taken{each} than the {in_words(plan.memory)} that are given: about "
            f"{in_words(needed)}{' together' if each else ''}, of which {in_words(taken * n_workers)} are taken before "
            "a run is read; parts cannot be smaller"
        )


def warn_of_many_workers(plan: ShardPlan, sources: Sequence[ShardedSource]) -> None:
    """Say that processes beyond the cores only take time to start, where they have no slow connections to wait for."""
    cores = n_cores()
    if (plan.workers or 0) > TOO_MANY_WORKERS * cores and not any(is_remote(source.path) for source in sources):
        give_warning(
            f"{plan.workers:,} workers are more than {counted(cores, 'core')} can use: each takes its time to start, "
            f"and {cores} would be quicker"
        )


def table_share(plan: ShardPlan, room: int) -> float:
    """Return the share of the rows of text that a part of a table has; it never has fewer than are worth reading."""
    return 1.0 if plan.memory is None else min(1.0, max(TABLE_SHARE, SMALLEST_TABLE / room))


class ShardWork:
    """Aligns the shards of runs, in this process or others."""

    def __init__(
        self,
        qrels: Qrels,
        policies: Policies,
        plan: ShardPlan,
        executor: Any,
        threads: int | None,
        *,
        client_bytes: int = 0,
    ) -> None:
        self.qrels, self.policies, self.plan, self.executor = qrels, policies, plan, executor
        self.threads = threads
        self.n_workers = 1 if plan.is_here else executor.n_workers
        self.taken = max(resident_bytes(), PROCESS_BYTES) + client_bytes
        """What this process has before it reads a run, with what fetches files from elsewhere, as `doctor` says it."""
        self.room = room_in(plan, self.n_workers, self.taken)
        self.kept = None if plan.keep is None else Kept.open(plan.keep)
        self._names: dict[str, str] = {}

    def hits_of(self, sources: Sequence[ShardedSource]) -> list[ShardHits]:
        """Return the hits of all runs; a run whose rows are not grouped by query is regrouped on disk."""
        states = states_of(file for source in sources for file in source.files)
        shards = [self.cut(source) for source in sources]
        self.foretell(sources, shards)
        warn_of_many_workers(self.plan, sources)
        found = [self.kept_regrouped(source, own) for source, own in zip(sources, shards, strict=True)]
        missing = [i for i, hits in enumerate(found) if hits is None]
        joined = self.joined([sources[i] for i in missing], [shards[i] for i in missing]) if missing else []
        for i, one in zip(missing, joined, strict=True):
            source, own = sources[i], shards[i]
            found[i] = self.regrouped(source, own, one.clash) if one.clash else self.checked(source, own, one)
        check_same(states)
        for source in sources:
            source.states = {file: states[file] for file in source.files if file in states}
        return [hits for hits in found if hits is not None]

    def kept_regrouped(self, source: ShardedSource, shards: Sequence[Shard]) -> ShardHits | None:
        """Return the hits of a run that was regrouped at an earlier time; None where it was not, or nothing is kept."""
        content = None if self.kept is None else self.kept.load(self.regrouped_key(source, shards))
        hits = None if content is None else decoded(content)
        if hits is None:
            return None
        source.is_grouped = False
        source.notes.append(
            f"{source.name}: not all rows of a query lie together, so they were regrouped by query before, and what "
            "was found then is kept"
        )
        watch = self.plan.progress or ignore_job
        watch(JobState(1, 1, 1, noun="regrouped run"))
        return hits

    def regrouped_key(self, source: ShardedSource, shards: Sequence[Shard]) -> str:
        """Return what the hits of a regrouped run depend on."""
        return (
            f"regrouped {self.digest(ignores_ranks=False)} {[self.kept_name(source.options, each) for each in shards]}"
        )

    def kept_name(self, options: ReadOptions, shard: Any) -> str:
        """Return what tells a shard from all others; asked once, as a file elsewhere may have to be fetched for it."""
        options = replace(options, progress=None)
        place = f"{options!r} {shard!r}"
        if place not in self._names:
            self._names[place] = kept_name(options, shard)
        return self._names[place]

    def foretell(self, sources: Sequence[ShardedSource], shards: Sequence[Sequence[Shard]]) -> None:
        """Warn where memory is given and the run with the largest part takes more."""
        if self.plan.memory is not None:
            sizes = [max((shard.size for shard in own), default=0) for own in shards]
            at = sizes.index(max(sizes))
            how = sources[at].options
            parts = bytes_of_shards(shards[at], self.room, format_name=how.format, columns=how.columns)
            warn_of_little_memory(self.plan, self.n_workers, self.taken, parts)

    def cut(self, source: ShardedSource) -> list[Shard]:
        for shard in source.given or ():
            check_seen(shard)
        room = self.room
        if self.plan.keep is not None or not self.plan.is_here:  # all workers have something to do
            n_parts = 4 * max(1, self.executor.n_workers) if self.plan.keep is None else KEPT_PARTS
            room = max(min(SMALLEST_DEALT, room), min(room, source.n_bytes // n_parts))
        shards = source.cut(room, table_share=table_share(self.plan, room))
        if self.plan.memory is not None:
            source.check_fits(shards, self.plan.memory // self.n_workers - self.taken)
            source.notes += uncut_notes(source, shards, self.room)
        return shards

    def checked(self, source: ShardedSource, shards: Sequence[Any], joined: JoinedShards) -> ShardHits:
        """Return the hits of one run, in which ranks count in all shards, or in none."""
        if self.policies.ties == "given" and joined.disagrees_on_ranks:
            (joined,) = self.joined([source], [shards], ignores_ranks=True)
        return joined.as_shard()

    def joined(
        self, sources: Sequence[ShardedSource], shards: Sequence[Sequence[Any]], *, ignores_ranks: bool = False
    ) -> list[JoinedShards]:
        """Align all shards of all runs, and put those of each run together."""
        joined = [JoinedShards(len(self.qrels), self.qrels.query_ids) for _ in sources]
        places = [(i, j) for i, own in enumerate(shards) for j in range(len(own))]
        how = [replace(source.options, progress=None) for source in sources]  # what draws it stays in this process
        inputs = [(how[i], self.sent(shards[i][j])) for i, j in places]

        def take(position: int, part: ShardHits) -> None:
            i, j = places[position]
            joined[i].add(j, shards[i][j], part)
            if len(sources) == 1 and joined[i].clash:
                raise NotGroupedError  # nothing that comes now is needed

        watch = WatchWithin(self.plan.progress or ignore_job)
        with ExitStack() as stack:
            given: Any = (
                self.qrels if self.plan.is_here else stack.enter_context(qrels_elsewhere(self.qrels, self.plan))
            )
            marks = () if self.plan.is_here else marks_of(shard for _, shard in inputs)
            function = partial(
                align_task,
                given,
                marks=marks,
                policies=self.policies,
                threads=self.threads if self.plan.is_here else 1,
                piece_bytes=self.room,
                ignores_ranks=ignores_ranks,
                progress=watch.reading if self.plan.is_here and self.plan.progress else None,
                on_rows=watch.rows if self.plan.is_here and self.plan.progress else None,
            )
            keys = None
            if self.kept is not None:
                digest = self.digest(ignores_ranks=ignores_ranks)
                keys = [f"{digest} {self.kept_name(options, shard)}" for options, shard in inputs]
            job = TaskJob(
                function,
                inputs,
                keys=keys,
                encode=encoded,
                decode=decoded,
                name_of=lambda given: str(given[1]),
                sizes=[max(1, shard.size // ROW_BYTES) for _, shard in inputs],
                rows_of=lambda part: part.n_rows,
                can_read=partial(check_files, marks),
                noun="part",
            )
            with suppress(NotGroupedError):
                run_kept(self.executor, job, take, kept=self.kept, progress=watch)
        return joined

    def sent(self, shard: Any) -> Any:
        """Return a shard as it is sent: workers of a cluster were started in folders of their own."""
        is_here = self.plan.on is None or is_remote(shard.path) or shard.path == "-"
        return shard if is_here else replace(shard, path=str(Path(shard.path).absolute()))

    def digest(self, *, ignores_ranks: bool) -> str:
        """Return what the hits of every shard depend on besides the shard."""
        decided = {name: getattr(self.policies, name) for name in ALIGNED_BY}
        return f"hits {KEPT_FORMAT} {__version__} {self.qrels.digest} {decided} {ignores_ranks}"

    def regrouped(self, source: ShardedSource, shards: Sequence[Shard], clash: Clash) -> ShardHits:
        """Deal out the rows of a run to files on disk, so that each query is in one of them, and align these."""
        n_bytes = bytes_regrouped(shards, source.options)
        is_text = all(map(source.is_text, shards))
        part_bytes = min(PART_BYTES, max(int(self.room / SCATTERED), 0 if is_text else SMALLEST_TABLE))
        n_parts = min(MOST_PARTS, max(2, -(-n_bytes // max(1, part_bytes))))
        if not is_text:
            n_parts = min(n_parts, max(2, MOST_FILES // (1 + n_bytes // SMALLEST_TABLE)))
        here = ShardWork(
            self.qrels, self.policies, replace(self.plan, on=None, workers=None, keep=None), None, self.threads
        )
        with scratch_folder(n_bytes, source.path) as folder, executor_from() as executor:
            here.executor = executor
            with_rank, watch = self.policies.ties == "given", self.plan.progress or ignore_job
            parts = dealt_out(source, shards, folder, n_parts, self.room, with_rank=with_rank, progress=watch)
            n_written = sum(part.size for part in parts)
            try:
                joined = here.joined([source], [parts])[0]
                hits = here.checked(source, parts, joined)
            except BadLinesError:
                self.raise_where_it_is(source, shards)
                raise
        source.is_grouped = False
        hits = replace(hits, integer_ids=source.found_integer_ids)
        if hits.bad_lines or source.has_left_lines_out:
            hits = replace_bad(hits, self.lines_left_out(source, shards))
        # which query is met first depends on which worker is the quicker one
        example = f" (those of {clash.query!r} do not)" if self.plan.is_here else ""
        source.notes.append(
            f"{source.name}: not all rows of a query lie together{example}, so they were regrouped by query on disk "
            f"({in_words(n_written)}), which takes time; a run in which they do needs none of this"
        )
        content = encoded(hits)
        if self.kept is not None and content is not None:
            self.kept.store(self.regrouped_key(source, shards), content)
        return hits

    def raise_where_it_is(self, source: ShardedSource, shards: Sequence[Shard]) -> None:
        """Raise the error for a malformed line again, with the place that it has in the user's file."""
        for shard in shards:
            align_shard(self.qrels, shard, self.policies, source.options, piece_bytes=self.room)

    def lines_left_out(self, source: ShardedSource, shards: Sequence[Shard]) -> list[BadLine]:
        """Return the malformed lines, with the places that they have in the user's files."""
        found = (align_shard(self.qrels, each, self.policies, source.options, piece_bytes=self.room) for each in shards)
        return [line for part in found for line in part.bad_lines]


def uncut_notes(source: ShardedSource, shards: Sequence[Shard], room: int) -> Iterator[str]:
    """Say so where a query is so long that the part it is in takes more memory than was given."""
    largest = max(
        (shard for shard in shards if not isinstance(shard, WholeFile)), key=lambda each: each.size, default=None
    )
    if largest is not None and largest.size > 2 * room:
        yield (
            f"{source.name}: {source.shown(str(largest))} has {in_words(largest.size)} and cannot be cut, as the rows "
            "of a query, or of a row group, lie there: it takes more memory than was given"
        )


def bytes_regrouped(shards: Sequence[Shard], options: ReadOptions) -> int:
    """Return what the rows of shards take on disk, about: compressed text is written as text."""
    from rankscope.io.source import source_of

    sizes = [size_at(shard.path) if isinstance(shard, WholeFile) else shard.size for shard in shards]
    in_turn = sorted(zip(sizes, shards, strict=True), key=lambda pair: pair[0], reverse=True)
    size, largest = next((pair for pair in in_turn if has_rows(pair[1])), in_turn[0])
    if not isinstance(largest, WholeFile) or not size:
        return sum(sizes)
    look = look_at(source_of(largest.path), format_name=options.format, columns=options.columns)
    growth = look.n_bytes / size if look.format == "trec" else GROWTH
    return round(sum(sizes) * growth)


def dealt_out(
    source: ShardedSource,
    shards: Sequence[Shard],
    folder: Path,
    n_parts: int,
    room: int,
    *,
    with_rank: bool,
    progress: WatchJob = ignore_job,
) -> Sequence[Any]:
    """Write the rows of all shards to files by query: text as text, all else as tables."""
    is_text = all(map(source.is_text, shards))
    piece = max(min(SMALLEST_PIECE, SMALLEST_DEALT), room // DEALT_AT_ONCE)
    table_piece = max(SMALLEST_TABLE, int(piece * TABLE_SHARE))
    pieces = [
        smaller
        for shard in shards
        for smaller in smaller_shards(shard, table_piece if isinstance(shard, RowGroups) else piece)
    ]
    watch, started = WatchWithin(progress), time.monotonic()
    options = replace(source.options, progress=watch.reading)

    def parts_in_turn() -> Iterator[Any]:
        for i, shard in enumerate(pieces):
            seconds = time.monotonic() - started
            watch(JobState(i, len(pieces), seconds=seconds, noun="piece", doing="regrouping by query"))
            for part in source_parts(shard, options, piece_bytes=piece, with_rank=with_rank):
                yield part
                source.found_integer_ids |= part.integer_ids  # in what is written, ids are text
                source.has_left_lines_out |= bool(getattr(part, "bad_lines", ()))

    sources = parts_in_turn()
    if is_text:
        return deal_out_text((part.lines for part in sources), folder, n_parts)
    frames = frames_of(sources, lenient=options.lenient)
    return deal_out_tables(frames, folder, n_parts, source.path, n_rows=table_piece // ROW_BYTES)


def frames_of(parts: Iterator[Any], *, lenient: bool) -> Iterator[Any]:
    """Yield the rows of parts; some may have none, which says nothing of the run as a whole."""
    for part in parts:
        if isinstance(part, TextPart) and part.is_blank:
            continue
        try:
            frame = frame_of(part)
        except BadLinesError as error:
            if not lenient:
                raise
            part.bad_lines = error.bad_lines
            continue
        yield frame


def align_task(
    given: Qrels | QrelsPlace,
    task: tuple[ReadOptions, Any],
    *,
    marks: tuple[FileMark, ...] = (),
    progress: Progress | None = None,
    **options: Any,
) -> ShardHits:
    """Align one shard, wherever this is called."""
    check_once(marks)
    qrels = loaded_qrels(given) if isinstance(given, QrelsPlace) else given
    read_options, shard = task
    policies = options.pop("policies")
    return align_shard(qrels, shard, policies, replace(read_options, progress=progress), **options)
