"""What evaluating a run will take, before it is begun: rows, time, memory, disk, and whether a cluster would pay.

Nothing is read as a whole: a sample of the rows is scored here and timed, and lines at many places are looked at for
queries that come back later, which means that the rows have to be regrouped on disk. What memory is needed is asked of
the functions by which `evaluate` plans, warns and refuses.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from rankscope.align.sharded import MORE_BY, room_beside, table_share
from rankscope.data.sharded import ShardedSource, ShardPlan, is_stream, memory_for_parts, parts_needed
from rankscope.data.sources import FileSource
from rankscope.errors import DuplicateError, InputError, collect_notes
from rankscope.evaluation import evaluate
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.detection import layout_of
from rankscope.io.limits import in_words
from rankscope.io.memory import PROCESS_BYTES, STORE_BYTES, client_bytes, free_memory, memory_of
from rankscope.io.regroup import (
    N_PLACES,
    PLACE_BYTES,
    PLACE_ROWS,
    bytes_of_shards,
    first_that_returns,
    look_at,
    looks_by_kind,
    queries_in_turn,
    query_across,
)
from rankscope.io.remote import remote_file
from rankscope.io.remote_parquet import RemoteTable
from rankscope.io.shards import (
    WholeFile,
    files_of,
    is_blank,
    is_many,
    open_file,
    query_column,
    query_in,
    remote_roles,
    size_at,
)
from rankscope.io.source import StoredFile, source_of
from rankscope.io.table import RUN, find_roles
from rankscope.io.table import rows_in as table_rows
from rankscope.io.table_check import row_group_sizes
from rankscope.printable import counted
from rankscope.records import Record

SAMPLE_BYTES = 32 << 20
"""So much text of a run is scored to see how fast this machine is."""
SAMPLE_ROWS = 1_000_000
REGROUPED_TIMES = 1.5
"""How much longer rows in disorder take that must be regrouped on disk: 10^8 of them, benchmarks/scale.py."""
REGROUPED_AS_TABLES_TIMES = 5.0
"""The same of text beside tables, which is regrouped as columns: 10^7 rows."""
IN_PARTS_TIMES = 1.6
"""How much longer rows take that are read in parts, so that memory is bounded: likewise."""
ROWS_FOR_A_CLUSTER = 10**10
"""From so many rows on, several machines are worth their trouble even where the files are local."""
SECONDS_FOR_A_CLUSTER = 120
"""Where fetching files over one link takes longer than this, machines near the files are worth their trouble."""

STORE_SHARE = 1.5
"""Where keeping a run takes so many times what evaluating it takes, that is said."""
LITTLE_TO_STORE = 100 << 20
"""What is not worth a word about a store."""

Kind = Literal["trec", "compressed trec", "parquet", "other"]
KIND_WORDS: dict[Kind, str] = {
    "trec": "TREC text",
    "compressed trec": "compressed TREC text",
    "parquet": "Parquet",
    "other": "another format",
}


class JobSize(Record, kw_only=True):
    """What it takes to evaluate a run on this machine."""

    run: str
    n_files: int
    n_bytes: int
    kinds: tuple[Kind, ...]
    is_remote: bool
    n_rows: int | None
    """None where that is not known before all is read."""
    is_exact: bool
    """Whether the rows were counted, not estimated."""
    n_queries_seen: int
    """Queries that were met at the places looked at."""
    scattered_query: str | None
    """A query whose rows do not lie together: then the rows are regrouped on disk."""
    rows_per_second: float | None
    """As measured here on a sample, with all threads, and with all that has to be done before rows can be scored."""
    link_bytes_per_second: float | None
    """How fast a sample of remote files arrived."""
    seconds: float | None
    trouble: str
    """Why the first rows cannot be scored; nothing where they can."""
    free_memory: int
    memory: int | None
    """The memory that it may take, where one was given."""
    memory_needed: int | None
    """What the process that evaluates it takes, about, with some ten thousand judgments; None where it is refused."""
    memory_stored: int | None
    """What that process takes, about, where the run is kept in a store; None where it is not, as memory is given."""
    refused: str
    """Why it is refused with so much memory; nothing where it is not."""
    in_parts: str
    """Why it is read in parts; nothing where it is read at once."""
    scratch_bytes: int
    """What regrouping takes on disk."""
    scratch_free: int
    pays_on_a_cluster: bool
    why: str
    """Why a cluster would pay, or would not."""


def scratch_of(file: SizedFile) -> int:
    """Return what the rows of a file take on disk while they are regrouped: compressed text is written as text."""
    return look_at(source_of(file.path)).n_bytes if file.kind == "compressed trec" else file.size


class RowSample(Record):
    """The first rows of a run's largest file, and how long they take here."""

    n_rows: int
    n_stored: int
    """How many bytes of the file they are."""
    queries: tuple[str, ...]
    """Their queries in order, each once where its rows lie together."""
    fetching_s: float
    """How long it took to read and decompress them."""
    scoring_s: float | None
    """How long it took to score them from a plain file; None where they cannot be scored."""
    trouble: str
    """Why they cannot be scored."""

    @property
    def rows_per_second(self) -> float | None:
        return None if not self.scoring_s else self.n_rows / self.scoring_s


def size_of_job(run: str, *, memory: str | int | None = None) -> JobSize:
    """Tell what evaluating a run takes: a file, a folder, a pattern, or addresses of these."""
    limit = None if memory is None else memory_of(memory)
    check_can_be_looked_at(run)
    paths = files_of(run) if is_many(run) else [run]
    sizes = {path: size_at(path) for path in paths}
    filled = [path for path in paths if not is_blank(WholeFile(path, sizes[path]))]  # as `evaluate` leaves them out
    files = [SizedFile(path, sizes[path], kind_of(path)) for path in filled or paths]
    n_bytes = sum(file.size for file in files)
    largest = max(files, key=lambda file: file.size)
    check_are_runs(files, largest)
    sample = None if largest.kind == "other" else sample_of(largest)
    n_rows, is_exact = rows_in(files, sample)
    seen = [sample.queries, *places_in(files, largest.path, sample.n_stored)] if sample else places_in(files)
    n_seen, scattered = first_that_returns(seen)
    scattered = scattered or query_across([file.path for file in files])
    in_parts, allowed = how_in_parts(paths, limit)
    needed, refused = memory_for(run, allowed) if in_parts else (memory_at_once(largest), "")
    needed = None if needed is None else needed + client_bytes(largest.path)
    link = sample.n_stored / sample.fetching_s if sample and is_remote(run) else None
    longer = times_longer(files, in_parts=bool(in_parts), is_scattered=scattered is not None)
    seconds = seconds_for(n_rows, sample, longer)
    if seconds is not None and sample and (link or largest.kind == "compressed trec"):
        seconds += n_bytes / sample.n_stored * sample.fetching_s
    pays, why = is_worth_a_cluster(n_rows, n_bytes, seconds, link)
    return JobSize(
        run=shown_url(run),
        n_files=len(paths),
        n_bytes=n_bytes,
        kinds=tuple(sorted({file.kind for file in files})),
        is_remote=is_remote(run),
        n_rows=n_rows,
        is_exact=is_exact,
        n_queries_seen=n_seen,
        scattered_query=scattered,
        rows_per_second=n_rows / seconds if n_rows and seconds else None,
        link_bytes_per_second=link,
        seconds=seconds,
        trouble=sample.trouble if sample else "",
        free_memory=free_memory(),
        memory=limit,
        memory_needed=needed,
        memory_stored=None if limit is not None or needed is None else needed + stored_bytes(files),
        refused=refused,
        in_parts=in_parts,
        scratch_bytes=sum(map(scratch_of, files)) if scattered is not None and in_parts else 0,
        scratch_free=shutil.disk_usage(tempfile.gettempdir()).free,
        pays_on_a_cluster=pays,
        why=why,
    )


def check_can_be_looked_at(run: str) -> None:
    """Refuse what can be read only once: who evaluates it would find nothing left, and a pipe may never begin."""
    if is_stream(run):
        what = "standard input" if run == "-" else f"{run}, a pipe or a device,"
        raise InputError(f"{what} cannot be looked at beforehand: it can be read only once", hint="give a file")


def check_are_runs(files: Iterable[SizedFile], largest: SizedFile) -> None:
    """Refuse files that hold no rows of a run, as notes beside the parts of one do; one of each kind of name is tried.

    Of the largest a sample is scored anyway, where it can be cut; of files elsewhere each would have to be fetched.
    """
    smallest: dict[str, SizedFile] = {}
    for file in sorted((each for each in files if not is_remote(each.path)), key=lambda each: each.size):
        smallest.setdefault(Path(file.path).suffix, file)
    for file in smallest.values():
        if file.kind == "other":
            check_has_columns(file)
        elif file != largest:
            sample_of(file)


def check_has_columns(file: SizedFile) -> None:
    """Refuse a table without the columns of a run; JSON has none, and is known once all of it is read."""
    source = source_of(file.path)
    form = layout_of(source).format
    if form not in ("csv", "tsv", "jsonl"):
        return
    header: list[str] = []
    with source.reading() as reading:
        reading.on_header = header.extend
        _, row = next(table_rows(reading, form), (0, {}))
    find_roles(header or list(row), RUN, chosen=None, where=file.path)


class SizedFile(Record):
    """One file of a run."""

    path: str
    size: int
    kind: Kind


def kind_of(path: str) -> Kind:
    source = source_of(path)
    name = layout_of(source).format
    if name == "trec":
        return "trec" if source.compression is None else "compressed trec"
    return "parquet" if name == "parquet" and source.compression is None else "other"


def sample_of(file: SizedFile) -> RowSample:
    """Take the first rows of a file, and score them by themselves."""
    source = source_of(file.path)
    with tempfile.TemporaryDirectory(prefix="rankscope-size-") as folder:
        if file.kind == "parquet":
            copy = Path(folder, "sample.parquet")
            rows, n_stored, fetching = table_sample(source, copy)
        else:
            copy = Path(folder, "sample.trec")
            rows, n_stored, fetching = text_sample(source, copy)
        firsts = {query: doc for query, doc in reversed(rows) if query and doc}
        seconds, trouble = scoring_seconds(copy, firsts, file.path)
    queries = queries_in_turn(query for query, _ in rows)
    return RowSample(len(rows), n_stored, queries, fetching, seconds, trouble)


def table_sample(source: StoredFile, copy: Path) -> tuple[list[tuple[str, str]], int, float]:
    """Copy the first rows of a Parquet file; return their queries and docs, their bytes in it and the time it took."""
    import polars as pl

    started = time.perf_counter()
    if source.remote is None:
        with source.open() as file:
            n_rows = sum(row_group_sizes(file, name=source.name))
            n_bytes = file.seek(0, 2)
            file.seek(0)
            table = pl.read_parquet(file, n_rows=SAMPLE_ROWS)
    else:
        remote = RemoteTable(source.remote)
        n_rows, n_bytes = remote.n_rows, source.remote.size
        table = remote.read(list(remote_roles(remote).values()), 0, SAMPLE_ROWS)
    fetching = time.perf_counter() - started
    table.write_parquet(copy)
    roles = find_roles(table.columns, RUN, chosen=None, where=source.name)
    rows = table.select(pl.col(roles["query"], roles["doc"]).cast(pl.String)).rows()
    return rows, n_bytes * len(rows) // max(1, n_rows), fetching


def text_sample(source: StoredFile, copy: Path) -> tuple[list[tuple[str, str]], int, float]:
    """Copy the first lines of TREC text; return their queries and docs, their bytes in it and the time it took."""
    n_read = 0

    def note(done: int, _total: int | None, /) -> None:
        nonlocal n_read
        n_read = done

    started = time.perf_counter()
    with source.reading(progress=note) as reading:
        text = reading.read(SAMPLE_BYTES)
        is_all = not reading.read(1)
        reading.tick()
    fetching = time.perf_counter() - started
    text = text if is_all else text[: text.rfind(b"\n") + 1]
    copy.write_bytes(text)
    fields = (line.split(None, 3) for line in text.splitlines() if query_in(line))
    rows = [(readable(each[0]), readable(each[2])) for each in fields if len(each) > 2]
    return rows, len(text) if source.compression is None else n_read, fetching


def readable(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def scoring_seconds(path: Path, firsts: dict[str, str], where: str) -> tuple[float | None, str]:
    """Return how long it takes to score a sample, once its file is in memory, or which option it would need."""
    qrels = {query: {doc: 1} for query, doc in firsts.items()} or {"-": {"-": 1}}  # of bad rows the run's error tells
    try:
        with collect_notes():
            return min(timed(qrels, path) for _ in range(2)), ""
    except DuplicateError as error:
        return None, str(error).partition("\n")[0]
    except InputError as error:
        what = str(error).partition("\n")[0].replace(str(path), shown_url(where))
        raise InputError(
            f"{shown_url(where)} cannot be scored: {what}", hint="rankscope validate looks at it closely"
        ) from error


def timed(qrels: dict[str, dict[str, int]], path: Path) -> float:
    started = time.perf_counter()
    evaluate(qrels, path)
    return time.perf_counter() - started


def rows_in(files: Sequence[SizedFile], sample: RowSample | None) -> tuple[int | None, bool]:
    """Return how many rows files have, and whether these were counted."""
    if all(file.kind == "parquet" for file in files):
        return sum(map(rows_of_parquet, files)), True
    if sample is None or not sample.n_stored or any(file.kind == "other" for file in files):
        return None, False
    n_bytes = sum(file.size for file in files)
    return sample.n_rows if sample.n_stored >= n_bytes else round(n_bytes * sample.n_rows / sample.n_stored), (
        sample.n_stored >= n_bytes
    )


def rows_of_parquet(file: SizedFile) -> int:
    if is_remote(file.path):
        return RemoteTable(remote_file(file.path)).n_rows
    with source_of(file.path).open() as stream:
        return sum(row_group_sizes(stream, name=file.path))


def places_in(files: Sequence[SizedFile], sampled: str = "", n_sampled: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the queries in turn at places spread over the local files of a run, behind what was sampled of one."""
    cuttable = [file for file in files if not is_remote(file.path) and file.kind in ("trec", "parquet")]
    step = max(PLACE_BYTES, sum(file.size for file in cuttable) // N_PLACES)
    before = 0
    for file in cuttable:
        places = range(-before % step, file.size, step)
        behind = [place for place in places if file.path != sampled or place >= n_sampled]
        before += file.size
        if behind:
            yield from (queries_in_text if file.kind == "trec" else queries_in_table)(file, behind)


def queries_in_text(file: SizedFile, places: Iterable[int]) -> Iterator[tuple[str, ...]]:
    with open_file(file.path) as stream:
        for place in places:
            stream.seek(place)
            lines = stream.read(PLACE_BYTES).split(b"\n")[1:-1]  # the first and the last may be cut
            yield queries_in_turn(readable(query) for query in map(query_in, lines) if query)


def queries_in_table(file: SizedFile, places: Iterable[int]) -> Iterator[tuple[str, ...]]:
    n_rows, read = rows_of_parquet(file), query_column(file.path)
    for place in places:
        yield queries_in_turn(map(str, read(place * n_rows // max(1, file.size), PLACE_ROWS)))


def how_in_parts(paths: Sequence[str], limit: int | None) -> tuple[str, int | None]:
    """Return why a run is read in parts, and the memory that it may take then; nothing where it is read at once."""
    if limit is not None:
        return f"it may take {in_words(limit)} of memory", limit
    if len(paths) > 1:
        return f"it lies in {len(paths):,} files", None
    if is_remote(paths[0]):
        return "", None
    free, why = parts_needed(FileSource(paths[0]))
    if not why:
        return "", None
    return "it" + why.removeprefix(paths[0]).partition(", so it is")[0], memory_for_parts(free)


def memory_at_once(file: SizedFile) -> int:
    """Return what a process takes that reads a file at once, about."""
    return look_at(source_of(file.path)).bytes_at_once if file.size else PROCESS_BYTES


def stored_bytes(files: Iterable[SizedFile]) -> int:
    """Return what it takes besides to keep a run in a store, by what the largest file of each kind takes."""
    looks = looks_by_kind({file.path: file.size for file in files})
    return STORE_BYTES + sum(round(look.bytes_to_store * times) for look, times in looks)


def memory_for(run: str, allowed: int | None) -> tuple[int | None, str]:
    """Return what a process takes that reads a run in parts, about; or why it is refused."""
    plan = ShardPlan(memory=allowed)
    source, room = ShardedSource(run, plan=plan), room_beside(allowed, PROCESS_BYTES + client_bytes(run))
    shards = source.cut(room, table_share=table_share(plan, room))
    if allowed is not None:
        try:
            source.check_fits(shards, allowed - PROCESS_BYTES)
        except InputError as error:
            return None, error.message
    return PROCESS_BYTES + bytes_of_shards(shards, room), ""


def seconds_for(n_rows: int | None, sample: RowSample | None, times: float) -> float | None:
    """Return how long it takes to read and score so many rows, once they are on this machine."""
    rate = sample.rows_per_second if sample else None
    return None if n_rows is None or rate is None else n_rows / rate * times


def times_longer(files: Iterable[SizedFile], *, in_parts: bool, is_scattered: bool) -> float:
    """Return how many times longer rows take than those of a sample, which is read at once."""
    if not in_parts:
        return 1.0
    if not is_scattered:
        return IN_PARTS_TIMES
    are_text = {file.kind in ("trec", "compressed trec") for file in files}
    return REGROUPED_AS_TABLES_TIMES if len(are_text) > 1 else REGROUPED_TIMES


def is_worth_a_cluster(n_rows: int | None, n_bytes: int, seconds: float | None, link: float | None) -> tuple[bool, str]:
    """Tell whether several machines would be quicker by enough to be worth it, and why."""
    if link and n_bytes / link > SECONDS_FOR_A_CLUSTER:
        return True, (
            f"fetching {in_words(n_bytes)} over the link of this machine takes {in_seconds(n_bytes / link)}: "
            "workers close to the files have a link each"
        )
    if n_rows is not None and n_rows >= ROWS_FOR_A_CLUSTER:
        return True, "from 10 billion rows on, workers on several machines save more than they cost"
    if seconds is None:
        return False, "up to a billion rows one machine is enough"
    return False, (
        f"this machine needs {in_seconds(seconds)}, and a cluster a second or more before its first worker begins"
    )


def in_seconds(seconds: float) -> str:
    """Return an estimate of a time as people say it."""
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def words_on(job: JobSize) -> Iterator[tuple[str, str]]:
    """Yield what a person wants to know of a job, the answer first: a heading and a sentence each."""
    yield "what happens", happening(job)
    yield "time", time_of(job)
    yield "memory", memory_of_job(job)
    if job.memory_stored is not None and job.memory_stored > max(
        LITTLE_TO_STORE, STORE_SHARE * (job.memory_needed or 0)
    ):
        yield (
            "a store",
            f"keeping the run in one takes about {in_words(job.memory_stored)} of memory; --no-store does not",
        )
    if job.scattered_query is not None and job.in_parts:
        room = "" if job.scratch_free > job.scratch_bytes else ": too little, set TMPDIR to another folder"
        free = f"{in_words(job.scratch_free)} are free there{room}"
        yield "disk", f"about {in_words(job.scratch_bytes)} in {tempfile.gettempdir()} meanwhile; {free}"
    yield "a cluster", f"{'would pay' if job.pays_on_a_cluster else 'would not pay'}: {job.why}"
    kinds = " and ".join(KIND_WORDS[kind] for kind in job.kinds)
    rows = (
        "rows cannot be counted before they are read"
        if job.n_rows is None
        else (f"{job.n_rows:,} rows" if job.is_exact else f"about {rounded(job.n_rows):,} rows")
    )
    size = in_words(job.n_bytes) + (f" ({job.n_bytes:,} bytes)" if job.n_bytes >= 1024 else "")
    yield "the run", f"{counted(job.n_files, 'file')}, {size} of {kinds}, {rows}"
    if not job.n_queries_seen:
        yield "its order", "is not known before all is read"
    elif job.scattered_query is None:
        seen = counted(job.n_queries_seen, "query")
        yield "its order", f"rows of a query lie together at all places looked at ({seen})"
    else:
        yield "its order", f"rows of a query do not lie together: {job.scattered_query} comes back after others"


def rounded(n: int) -> int:
    """Return an estimate with as many digits as it deserves: three."""
    return int(float(f"{n:.3g}"))


def happening(job: JobSize) -> str:
    if job.refused:
        return f"it is refused: {job.refused}"
    if not job.in_parts:
        return "it is read at once" + ("; rows in any order are no problem then" if job.scattered_query else "")
    how = "as a whole, as it is in a format that cannot be cut" if "other" in job.kinds else "in parts"
    regrouped = ", after its rows are regrouped by query on disk" if job.scattered_query is not None else ""
    return f"it is read {how}{regrouped}: {job.in_parts}"


def conversion(job: JobSize) -> str:
    return (
        "rankscope convert FILE FILE.parquet, of each file" if job.n_files > 1 else "rankscope convert RUN run.parquet"
    )


def memory_of_job(job: JobSize) -> str:
    if job.memory_needed is None:
        return f"none, as it is refused; as TREC text or Parquet it can be read in parts: {conversion(job)}"
    needed = f"about {in_words(job.memory_needed)}"
    beside = "and what its judged queries take where they are millions"
    if job.memory:
        more = job.memory_needed / job.memory
        is_seen = more > 1 and in_words(job.memory_needed) != in_words(job.memory)
        compared = ", a little more than is given" if is_seen else ""
        compared = ", more than is given: parts of it cannot be smaller" if more > MORE_BY else compared
        return f"{needed}{compared}, {beside}"
    mapped = ""
    if not job.in_parts and job.kinds == ("trec",) and not job.is_remote and job.scattered_query is None:
        mapped = ", of which the system can take back what is the file"
    bound = "" if job.in_parts or job.kinds == ("other",) else "; --memory SIZE bounds it"
    return f"{needed}{mapped}, {beside}; {in_words(job.free_memory)} are free{bound}"


def time_of(job: JobSize) -> str:
    if job.refused:
        return "none, as it is refused"
    if job.trouble:
        return f"none: its first rows cannot be scored: {job.trouble}"
    if job.seconds is None or job.rows_per_second is None:
        return f"is known once all is read; of TREC text or Parquet it is known before: {conversion(job)}"
    rate = f"{job.rows_per_second / 1e6:.3g} million rows a second, all included, measured here on its first rows"
    speed = job.link_bytes_per_second
    link = f"; files arrive at {in_words(round(speed))} a second" if speed else ""
    longer = "where fewer bytes arrive" if job.is_remote else "where its disk is slower than that"
    return f"{in_seconds(job.seconds)} ({rate}{link}); longer {longer}"
