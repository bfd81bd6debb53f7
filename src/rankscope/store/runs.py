"""Stored runs: what a system answered, with all that it depended on. A run is never changed, and many may be kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from msgspec import field

from rankscope.data.asked_queries import AskedQueries
from rankscope.data.run import Run
from rankscope.data.sharded import QueryBlock, ShardedSource
from rankscope.data.sources import Origin, RowsSource
from rankscope.errors import InputError, UnknownNameError, did_you_mean
from rankscope.io.ids import byte_order
from rankscope.io.memory import STAYS_BYTES
from rankscope.io.shards import ROW_BYTES
from rankscope.printable import counted
from rankscope.records import Record, from_builtins, to_builtins
from rankscope.store.blobs import get_blob, insert_if_new, put_blob, row_dict
from rankscope.store.columns import ByteReader, ByteWriter, RunColumns, run_bytes, texts_bytes, texts_of
from rankscope.store.schema import blob, canonical_json, collection, collection_version, config, system
from rankscope.store.schema import run as run_table
from rankscope.store.tags import tagged_run
from rankscope.store.texts import StoredDoc, StoredQuery, collection_id_of, put_docs, put_queries, queries_sha256

if TYPE_CHECKING:
    from rankscope.store.store import Store

SHORT = 8
"""So many characters of a run's hash are shown."""


class CollectionFacts(Record, kw_only=True):
    """The collection that a run was made on, as it was then."""

    name: str
    queries: dict[str, StoredQuery]
    """All that were asked, by id."""
    docs_sha256: str = ""
    """Stands for the docs; empty where nobody knows."""
    qrels_sha256: str = ""
    """Stands for the judgments at that time: those of `StoredQrels.judgments_sha256`."""
    counts: dict[str, int] = field(default_factory=dict)


class RunDetails(Record, kw_only=True):
    """What is known of how a run was made."""

    fingerprint: str = ""
    """Stands for the system with its options and code, the docs, and the number of docs asked for."""
    seeds: tuple[int, ...] = ()
    depth: int | None = None
    """How many docs were asked for."""
    versions: dict[str, str] = field(default_factory=dict)
    host: str = ""
    git_commit: str = ""
    command: str = ""
    project: str = ""
    """The project file that it was made by."""
    finished: str = ""
    latency_ms: dict[str, float] | None = None
    """Mean, p50, p95, p99, max and n of single queries."""
    costs: dict[str, float] = field(default_factory=dict)
    """What else was measured: queries_per_second, index_s, index_bytes, memory_bytes."""
    failed: tuple[str, ...] = ()
    """Queries without an answer."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why they have none, by query; of runs that were stored before reasons were, nothing is known."""
    split: str = "all"
    """What the queries are: all that there are, or which side of a split."""
    primary: str = ""
    """The measure that decided, where one did."""
    margin: float | None = None
    """The smallest difference of that measure that matters, where it was given."""
    baseline: str = ""
    """The system that others were compared with, where the run was one of several."""
    policies: dict[str, Any] = field(default_factory=dict)
    """How it was scored: every policy, by name."""
    repetition: int = 1
    """Which of several repetitions it is, from 1."""
    n_repetitions: int = 1
    """How often the system was asked all queries."""
    backdated: bool = False
    """Whether it was made before the store was given it, as a file or an import: its time says where it belongs."""
    answers_of: str = ""
    """The hash of an earlier run whose answers it has, where nothing was asked again; it was started when that was
    found."""
    repetition_of: str = ""
    """Of a further repetition: the hash of the first one, which stands for all of them."""
    note: str = ""


class RunFacts(Record, kw_only=True):
    """All that is kept of a run beside its ranking."""

    system: str
    collection: CollectionFacts
    started: str
    """When the answers came, in UTC as ISO 8601."""
    type: str = ""
    """The type of the system, such as bm25."""
    config: dict[str, Any] = field(default_factory=dict)
    """The options of the system; secrets have no place in it."""
    latencies_ms: dict[str, float] | None = None
    """How long each query took."""
    details: RunDetails = RunDetails()


class StoredRun(Record, kw_only=True):
    """A run as the store has it; the ranking is read by `store.runs.ranking`."""

    number: int
    digest: str
    """Stands for the run: its ranking, system, options, collection, and when it was made."""
    system: str
    type: str
    config: dict[str, Any]
    collection: str
    collection_version: str
    queries_sha256: str
    docs_sha256: str
    qrels_sha256: str
    counts: dict[str, int]
    ranking_sha256: str
    asked_sha256: str
    latencies_sha256: str | None
    started: str
    stored: str
    details: RunDetails

    @property
    def short(self) -> str:
        """The beginning of the hash, as it is shown."""
        return self.digest[:SHORT]

    @property
    def in_words(self) -> str:
        """For example `bm25 of 2026-11-16 14:02 (run 3, 1f2e3d4c)`."""
        which = f"run {self.number}, {self.short}"
        if self.details.repetition > 1:
            which += f", repetition {self.details.repetition} of {self.details.n_repetitions}"
        return f"{self.system} of {self.started[:16].replace('T', ' ')} ({which})"


ROW_IN_MEMORY = 250
"""How many bytes a row takes, with texts of its own for query and doc."""


LEAST_ROW_BYTES = 16
"""How many bytes a row of a stored run has at the least: its score, and the length and the letters of its doc."""


def rows_at_a_time(memory: int) -> int:
    """Return how many rows of a stored run are in memory at a time."""
    return max(1, memory // (4 * ROW_IN_MEMORY))


class StoredSource(RowsSource, eq=False):
    """The rows of a stored run, for `Run`; the kernel reads them as it reads any rows."""

    origin: Origin
    asked: AskedQueries


class StoredParts(ShardedSource):
    """The rows of a stored run, a block of queries after the other."""

    stored: StoredSource

    def __init__(self, path: str, blocks: Sequence[QueryBlock]) -> None:
        super().__init__(path)
        self.blocks = blocks

    def cut(self, target_bytes: int, *, table_share: float = 1.0) -> list[Any]:  # noqa: ARG002 (they are cut already)
        """Return the blocks."""
        return list(self.blocks)

    @property
    def n_bytes(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def origin(self) -> Origin:
        return self.stored.origin

    @property
    def asked(self) -> AskedQueries:
        return self.stored.asked


def blocks_of(columns: RunColumns, stored: StoredRun, most_rows: int) -> list[QueryBlock]:
    """Return the queries of a run in blocks of about so many rows; those that are answered with nothing come last."""
    blocks, block, n_rows = [], list[str](), 0
    for query, n in zip(
        (*columns.queries, *columns.empty), (*columns.counts.tolist(), *(0 for _ in columns.empty)), strict=True
    ):
        if block and n_rows + n > most_rows:
            blocks.append((block, n_rows))
            block, n_rows = [], 0
        block.append(query)
        n_rows += n
    blocks.append((block, n_rows))
    where = f"run {stored.number} of the store"
    return [
        QueryBlock(f"{where} (from query {queries[0]!r})", n * ROW_BYTES, partial(columns.rows, frozenset(queries)))
        for queries, n in blocks
    ]


def latency_bytes(latencies: Mapping[str, float]) -> bytes:
    names = sorted(latencies, key=byte_order)
    writer = ByteWriter({"kind": "latency"})
    writer.add_texts(names)
    writer.add_array([latencies[name] for name in names], "<f8")
    return writer.result()


RUN_COLUMNS: sa.Select[Any] = (
    sa.select(
        run_table.c.id.label("number"),
        run_table.c.digest,
        system.c.name.label("system"),
        system.c.type,
        config.c.value.label("config"),
        collection.c.name.label("collection"),
        collection_version.c.version.label("collection_version"),
        *(collection_version.c[name] for name in ("queries_sha256", "docs_sha256", "qrels_sha256", "counts")),
        *(run_table.c[name] for name in ("ranking_sha256", "asked_sha256", "latencies_sha256", "started", "stored")),
        run_table.c.facts.label("details"),
    )
    .select_from(run_table)
    .join(system)
    .join(config)
    .join(collection_version)
    .join(collection)
)


class RunTable:
    """The runs of a store, as `store.runs`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, run: Run, facts: RunFacts, *, docs: Mapping[str, StoredDoc] | None = None) -> StoredRun:
        """Keep a run, and what is known of the docs it names; one that is there already is returned as it is."""
        return self.add_repetitions([(run, facts)], docs=docs)[0]

    def add_repetitions(
        self, runs: Sequence[tuple[Run, RunFacts]], *, docs: Mapping[str, StoredDoc] | None = None
    ) -> tuple[StoredRun, ...]:
        """Keep the runs of a system that was asked several times: all of them, or none where something fails."""
        rows, now = [(run_bytes(run.rows), facts) for run, facts in runs], self.store.clock()
        with self.store.writing() as connection:
            return tuple(
                put_run(connection, data, facts, docs if place == 0 else None, now)
                for place, (data, facts) in enumerate(rows)
            )

    def repetitions(self, runs: Iterable[StoredRun]) -> dict[int, tuple[StoredRun, ...]]:
        """Return each run with its further repetitions, by its number; a repetition itself stands alone."""
        listed = tuple(runs)
        found = {run.number: [run] for run in listed}
        repeated = [run for run in listed if run.details.n_repetitions > 1 and run.details.repetition == 1]
        if not repeated:
            return {number: tuple(group) for number, group in found.items()}
        first = {run.digest: run.number for run in repeated}
        first |= {made_together(run): run.number for run in repeated}
        wanted = RUN_COLUMNS.where(run_table.c.repetition > 1).order_by(run_table.c.repetition, run_table.c.id)
        if len({run.system for run in repeated}) == 1:
            wanted = filtered(wanted, repeated[0].system, None)
        with self.store.reading() as connection:
            for each in map(stored_run, connection.execute(wanted)):
                number = first.get(each.details.repetition_of or made_together(each))
                if number is not None:
                    found[number].append(each)
        return {number: tuple(group) for number, group in found.items()}

    def list(
        self,
        *,
        system: str | None = None,
        collection: str | None = None,
        last: int | None = None,
        repetitions: bool = False,
    ) -> tuple[StoredRun, ...]:
        """Return the runs of a system, of a collection or all, the oldest first; `last`: only so many of the newest.

        The order is that in which the store took them, as clocks go backwards; `numbers_in_order` says more. Of a
        system that was asked several times, the first stands for all, unless `repetitions` are asked for.
        """
        wanted = filtered(RUN_COLUMNS, system, collection)
        with self.store.reading() as connection:
            numbers = numbers_in_order(connection, system, collection, repetitions=repetitions)
            if last is not None:
                numbers = numbers[-last:] if last else []
                wanted = wanted.where(run_table.c.id.in_(numbers))
            row_of = {row.number: row for row in connection.execute(wanted)}
        return tuple(stored_run(row_of[number]) for number in numbers)

    def known_digests(self, digests: Iterable[str]) -> frozenset[str]:
        """Return those of some hashes that runs in the store have."""
        with self.store.reading() as connection:
            wanted = sa.select(run_table.c.digest).where(run_table.c.digest.in_(list(digests)))
            return frozenset(connection.execute(wanted).scalars())

    def systems(self) -> tuple[str, ...]:
        with self.store.reading() as connection:
            found = connection.execute(sa.select(system.c.name).join(run_table).group_by(system.c.name)).scalars()
            return tuple(sorted(found))

    def collections(self) -> tuple[str, ...]:
        with self.store.reading() as connection:
            joined = sa.select(collection.c.name).join(collection_version).join(run_table)
            return tuple(sorted(connection.execute(joined.group_by(collection.c.name)).scalars()))

    def find(self, reference: str, *, collection: str | None = None) -> StoredRun:
        """Return the run that a user names.

        A tag, a system for its newest run (`bm25~1` for the one before), the number of a run, or the beginning of its
        hash, the first of these that there is.
        """
        with self.store.reading() as connection:
            tagged = tagged_run(connection, reference)
            if tagged is not None:
                return stored_run(connection.execute(RUN_COLUMNS.where(run_table.c.id == tagged)).one())
            before = re.fullmatch(r"(.+)~([0-9]{1,9})", reference, re.DOTALL)
            name = reference
            for name, back in [(reference, 0)] + ([(before[1], int(before[2]))] if before else []):
                numbers = numbers_in_order(connection, name, collection)
                if numbers:
                    check_one_collection(connection, name, collection)
                    if len(numbers) <= back:
                        raise UnknownNameError(
                            f"there is no {reference}: {name} has {counted(len(numbers), 'stored run')}"
                        )
                    return stored_run(connection.execute(RUN_COLUMNS.where(run_table.c.id == numbers[-1 - back])).one())
            rows: Sequence[Any] = ()
            if re.fullmatch("[0-9]{1,7}", reference):
                rows = connection.execute(RUN_COLUMNS.where(run_table.c.id == int(reference))).all()
            if not rows and re.fullmatch("[0-9a-f]{4,64}", reference):
                rows = connection.execute(RUN_COLUMNS.where(run_table.c.digest.startswith(reference)).limit(2)).all()
            if len(rows) > 1:
                raise UnknownNameError(f"several runs begin with {reference}", hint="give more of the hash")
            if rows:
                return stored_run(rows[0])
        known = self.systems()
        hint = did_you_mean(name, known) or (f"there are runs of {', '.join(known[:10])}" if known else "")
        raise UnknownNameError(
            f"the store has no run {reference!r}", hint=hint or "`rankscope run` stores the first; there are none yet"
        )

    def columns(self, stored: StoredRun) -> RunColumns:
        """Return a run as it is stored, to read a few queries of it, again and again."""
        with self.store.reading() as connection:
            return RunColumns(get_blob(connection, stored.ranking_sha256))

    def ranking(
        self,
        stored: StoredRun,
        *,
        only: Collection[str] | None = None,
        columns: RunColumns | None = None,
        answered: bool = False,
    ) -> Run:
        """Return the run itself, named after its system; `only` the docs of some queries are read much sooner.

        `columns` are what the method `columns` returned for it. Of a run in a file it is only known that it was asked
        the judged queries; with `answered`, those that it has docs for count as asked as well.
        """
        rows = (columns or self.columns(stored)).rows(only)
        with self.store.reading() as connection:
            asked = texts_of(get_blob(connection, stored.asked_sha256))
        if answered:
            asked = tuple(dict.fromkeys([*asked, *rows.query]))
        origin = Origin(f"run {stored.number} of the store", "store", lambda: stored.ranking_sha256)
        queries = AskedQueries(stored.ranking_sha256, asked, stored.details.failed, stored.details.split)
        return Run(StoredSource(rows, origin, queries), name=stored.system)

    def ranking_in_parts(self, stored: StoredRun, memory: int) -> Run:
        """Return the run itself, of which some queries at a time are read where all would take more than the memory."""
        columns = self.columns(stored)
        most_rows = rows_at_a_time(memory)
        if len(columns.scores) <= most_rows:
            return self.ranking(stored, columns=columns)
        whole = self.ranking(stored, columns=columns, only=())
        source = StoredParts(f"run {stored.number} of the store", blocks_of(columns, stored, most_rows))
        source.stored = whole.source
        return Run(source, name=stored.system)

    def bytes_to_score(self, memory: int) -> int:
        """Return what the largest run takes, about, of which some queries at a time are scored."""
        with self.store.reading() as connection:
            is_ranking = run_table.c.ranking_sha256 == blob.c.sha256
            largest = sa.select(sa.func.max(blob.c.n_bytes)).select_from(blob).join(run_table, is_ranking)
            n_bytes: int = connection.execute(largest).scalar() or 0
        n_rows = min(n_bytes // LEAST_ROW_BYTES, rows_at_a_time(memory))
        return 2 * n_bytes + STAYS_BYTES + n_rows * ROW_IN_MEMORY

    def latencies_ms(self, stored: StoredRun) -> dict[str, float] | None:
        """Return how long each query took; None where nobody measured it."""
        if stored.latencies_sha256 is None:
            return None
        with self.store.reading() as connection:
            reader = ByteReader(get_blob(connection, stored.latencies_sha256))
        return dict(zip(reader.take_texts(), np.asarray(reader.take_array("<f8")).tolist(), strict=True))


def numbers_in_order(
    connection: sa.Connection, name: str | None, collection_name: str | None, *, repetitions: bool = False
) -> list[int]:
    """Return the numbers of runs, the oldest first.

    A run follows all that the store had when it was made, whatever clocks said. One that was made before the store was
    given it has its place by its time, which cannot be later than that.
    """
    is_backdated = sa.type_coerce(run_table.c.facts, sa.Text).like('%"backdated":true%')
    times = (run_table.c.started, run_table.c.stored)
    columns = sa.select(run_table.c.id, *times, is_backdated.label("backdated")).select_from(run_table)
    wanted = columns if repetitions else columns.where(run_table.c.repetition == 1)
    joined = wanted.join(system).join(config).join(collection_version).join(collection)
    placed, newest = [], ""
    for row in connection.execute(filtered(joined, name, collection_name).order_by(run_table.c.id)):
        at = min(row.started, row.stored) if row.backdated else max(newest, row.started)
        newest = max(newest, at)
        placed.append((at, row.id))
    return [number for _, number in sorted(placed)]


def put_run(
    connection: sa.Connection, data: bytes, facts: RunFacts, docs: Mapping[str, StoredDoc] | None, now: str
) -> StoredRun:
    """Store a run whose ranking is given as bytes, unless it is there."""
    names = {"ranking": data, "queries": texts_bytes(facts.collection.queries)}
    ranking, asked = (put_blob(connection, each, kind=kind, now=now) for kind, each in names.items())
    latencies = None
    if facts.latencies_ms is not None:
        latencies = put_blob(connection, latency_bytes(facts.latencies_ms), kind="latency", now=now)
    version, collection_id = put_collection(connection, facts.collection, now)
    if docs:
        put_docs(connection, collection_id, docs)
    row = {
        "ranking_sha256": ranking,
        "system_id": id_of(connection, system, {"name": facts.system, "type": facts.type}),
        "config_id": config_id_of(connection, facts.config),
        "collection_version_id": version,
        "asked_sha256": asked,
        "latencies_sha256": latencies,
        "repetition": facts.details.repetition,
        "facts": with_hash(to_builtins(facts.details)),
        "started": facts.started,
    }
    digest = run_digest(facts, ranking)
    same = RUN_COLUMNS.where(run_table.c.digest == digest)
    if connection.execute(same).first() is None:  # looking first leaves no gaps in the numbers
        insert_if_new(connection, run_table, {"digest": digest, "stored": now, **row})
    return stored_run(connection.execute(same).one())


def made_together(run: StoredRun) -> str:
    """Return what repetitions share that were stored before they named the first of them."""
    about = (run.system, run.collection, run.details.fingerprint, run.details.finished, run.details.n_repetitions)
    return canonical_json(about)


def filtered(wanted: sa.Select[Any], name: str | None, collection_name: str | None) -> sa.Select[Any]:
    if name is not None:
        wanted = wanted.where(system.c.name == name)
    return wanted if collection_name is None else wanted.where(collection.c.name == collection_name)


def check_one_collection(connection: sa.Connection, name: str, collection_name: str | None) -> None:
    """Refuse a system's name alone where it has runs on several collections."""
    if collection_name is not None:
        return
    names = connection.execute(
        sa.select(collection.c.name).join(collection_version).join(run_table).join(system).where(system.c.name == name)
        .group_by(collection.c.name).order_by(collection.c.name)
    ).scalars().all()  # fmt: skip
    if len(names) > 1:
        raise InputError(
            f"{name} has runs on {len(names)} collections: {', '.join(names)}",
            hint="--collection NAME says which; a number or hash names one run",
        )


def stored_run(row: Any) -> StoredRun:
    columns = row_dict(row)
    return from_builtins(StoredRun, {**columns, "details": without_hash(columns["details"])})


HASH_OF_FACTS = "sha256"
"""What is known of how a run was made is no part of its digest, and has a hash of its own beside it."""


def with_hash(details: dict[str, Any]) -> dict[str, Any]:
    return {**details, HASH_OF_FACTS: sha256_of_json(details)}


def without_hash(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name != HASH_OF_FACTS}


def id_of(connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> int:
    """Return the number of a row, which is inserted where it is not there."""
    insert_if_new(connection, table, row)
    same = [table.c[name] == value for name, value in row.items()]
    return int(connection.execute(sa.select(table.c.id).where(*same)).scalar_one())


def config_id_of(connection: sa.Connection, value: dict[str, Any]) -> int:
    sha256 = sha256_of_json(value)
    insert_if_new(connection, config, {"sha256": sha256, "value": value})
    return int(connection.execute(sa.select(config.c.id).where(config.c.sha256 == sha256)).scalar_one())


def ranking_sha256(run: Run) -> str:
    """Return what stands for a ranking in the store."""
    return hashlib.sha256(run_bytes(run.rows)).hexdigest()


def run_digest(facts: RunFacts, ranking_sha256: str) -> str:
    """Return what stands for a run; the judgments are no part of it, as they may change without it."""
    about = facts.collection
    identity = (facts.system, facts.type, facts.config, facts.started, facts.details.repetition, ranking_sha256)
    return sha256_of_json([*identity, about.name, queries_sha256(about.queries), about.docs_sha256])


def digest_of_stored(run: StoredRun) -> str:
    """Return the digest that follows from what the store says of a run."""
    identity = (run.system, run.type, run.config, run.started, run.details.repetition, run.ranking_sha256)
    return sha256_of_json([*identity, run.collection, run.queries_sha256, run.docs_sha256])


def version_of(queries_sha256: str, docs_sha256: str, qrels_sha256: str) -> str:
    return sha256_of_json([queries_sha256, docs_sha256, qrels_sha256])


def sha256_of_json(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def put_collection(connection: sa.Connection, facts: CollectionFacts, now: str) -> tuple[int, int]:
    """Return the numbers of a collection's version and of the collection."""
    collection_id = collection_id_of(connection, facts.name, now)
    queries = put_queries(connection, facts.queries)
    version = version_of(queries, facts.docs_sha256, facts.qrels_sha256)
    row = {"collection_id": collection_id, "version": version}
    insert_if_new(
        connection,
        collection_version,
        {
            **row,
            "queries_sha256": queries,
            "docs_sha256": facts.docs_sha256,
            "qrels_sha256": facts.qrels_sha256,
            "counts": facts.counts,
            "stored": now,
        },
    )
    same = [collection_version.c[name] == value for name, value in row.items()]
    return int(connection.execute(sa.select(collection_version.c.id).where(*same)).scalar_one()), collection_id
