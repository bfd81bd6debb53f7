"""Stored runs: what a system answered, with all that it depended on. A run is never changed, and many may be kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from msgspec import field

from rankscope.data.asked_queries import AskedQueries
from rankscope.data.run import Run
from rankscope.data.sources import Origin, RowsSource
from rankscope.errors import InputError, UnknownNameError, did_you_mean
from rankscope.io.ids import byte_order
from rankscope.printable import counted
from rankscope.records import Record, from_builtins, to_builtins
from rankscope.store.blobs import get_blob, insert_if_new, put_blob, row_dict
from rankscope.store.columns import ByteReader, ByteWriter, run_bytes, run_rows_of, texts_bytes, texts_of
from rankscope.store.schema import canonical_json, collection, collection_version, config, system
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
    finished: str = ""
    latency_ms: dict[str, float] | None = None
    """Mean, p50, p95, p99, max and n of single queries."""
    failed: tuple[str, ...] = ()
    """Queries without an answer."""
    split: str = "all"
    """What the queries are: all that there are, or which side of a split."""
    primary: str = ""
    """The measure that decided, where one did."""
    policies: dict[str, Any] = field(default_factory=dict)
    """How it was scored: every policy, by name."""
    repetition: int = 1
    """Which of several repetitions it is, from 1."""
    n_repetitions: int = 1
    """How often the system was asked all queries."""
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
        return f"{self.system} of {self.started[:16].replace('T', ' ')} (run {self.number}, {self.short})"


class StoredSource(RowsSource, eq=False):
    """The rows of a stored run, for `Run`; the kernel reads them as it reads any rows."""

    origin: Origin
    asked: AskedQueries


def latency_bytes(latencies: Mapping[str, float]) -> bytes:
    names = sorted(latencies, key=byte_order)
    writer = ByteWriter({"kind": "latency"})
    writer.add_texts(names)
    writer.add_array([latencies[name] for name in names], "<f8")
    return writer.result()


_COLUMNS: sa.Select[Any] = (
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
        data, now = run_bytes(run.rows), self.store.clock()
        with self.store.writing() as connection:
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
                "facts": to_builtins(facts.details),
                "started": facts.started,
            }
            digest = run_digest(facts, ranking)
            same = _COLUMNS.where(run_table.c.digest == digest)
            if connection.execute(same).first() is None:  # looking first leaves no gaps in the numbers
                insert_if_new(connection, run_table, {"digest": digest, "stored": now, **row})
            return stored_run(connection.execute(same).one())

    def list(
        self,
        *,
        system: str | None = None,
        collection: str | None = None,
        last: int | None = None,
        repetitions: bool = False,
    ) -> tuple[StoredRun, ...]:
        """Return the runs of a system, of a collection or all, the oldest first; `last`: only so many of the newest.

        Of a system that was asked several times, the first stands for all, unless `repetitions` are asked for.
        """
        columns = _COLUMNS if repetitions else _COLUMNS.where(run_table.c.repetition == 1)
        wanted = filtered(columns, system, collection).order_by(run_table.c.started.desc(), run_table.c.id.desc())
        with self.store.reading() as connection:
            rows = connection.execute(wanted.limit(last)).all()
        return tuple(stored_run(row) for row in reversed(rows))

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
                return stored_run(connection.execute(_COLUMNS.where(run_table.c.id == tagged)).one())
            before = re.fullmatch(r"(.+)~([0-9]{1,9})", reference, re.DOTALL)
            name = reference
            for name, back in [(reference, 0)] + ([(before[1], int(before[2]))] if before else []):
                first = filtered(_COLUMNS.where(run_table.c.repetition == 1), name, collection)
                newest = first.order_by(run_table.c.started.desc(), run_table.c.id.desc())
                rows = connection.execute(newest.limit(back + 1)).all()
                if rows:
                    check_one_collection(connection, name, collection)
                    if len(rows) <= back:
                        raise UnknownNameError(
                            f"there is no {reference}: {name} has {counted(len(rows), 'stored run')}"
                        )
                    return stored_run(rows[back])
            if re.fullmatch("[0-9]{1,7}", reference):
                rows = connection.execute(_COLUMNS.where(run_table.c.id == int(reference))).all()
            if not rows and re.fullmatch("[0-9a-f]{4,64}", reference):
                rows = connection.execute(_COLUMNS.where(run_table.c.digest.startswith(reference)).limit(2)).all()
            if len(rows) > 1:
                raise UnknownNameError(f"several runs begin with {reference}", hint="give more of the hash")
            if rows:
                return stored_run(rows[0])
        known = self.systems()
        hint = did_you_mean(name, known) or (f"there are runs of {', '.join(known[:10])}" if known else "")
        raise UnknownNameError(
            f"the store has no run {reference!r}", hint=hint or "`rankscope run` stores the first; there are none yet"
        )

    def ranking(self, stored: StoredRun) -> Run:
        """Return the run itself, named after its system."""
        with self.store.reading() as connection:
            rows = run_rows_of(get_blob(connection, stored.ranking_sha256))
            asked = texts_of(get_blob(connection, stored.asked_sha256))
        origin = Origin(f"run {stored.number} of the store", "store", lambda: stored.ranking_sha256)
        queries = AskedQueries(stored.ranking_sha256, asked, stored.details.failed, stored.details.split)
        return Run(StoredSource(rows, origin, queries), name=stored.system)

    def latencies_ms(self, stored: StoredRun) -> dict[str, float] | None:
        """Return how long each query took; None where nobody measured it."""
        if stored.latencies_sha256 is None:
            return None
        with self.store.reading() as connection:
            reader = ByteReader(get_blob(connection, stored.latencies_sha256))
        return dict(zip(reader.take_texts(), np.asarray(reader.take_array("<f8")).tolist(), strict=True))


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
    return from_builtins(StoredRun, row_dict(row))


def id_of(connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> int:
    """Return the number of a row, which is inserted where it is not there."""
    insert_if_new(connection, table, row)
    same = [table.c[name] == value for name, value in row.items()]
    return int(connection.execute(sa.select(table.c.id).where(*same)).scalar_one())


def config_id_of(connection: sa.Connection, value: dict[str, Any]) -> int:
    sha256 = hashlib.sha256(canonical_json(value).encode()).hexdigest()
    insert_if_new(connection, config, {"sha256": sha256, "value": value})
    return int(connection.execute(sa.select(config.c.id).where(config.c.sha256 == sha256)).scalar_one())


def run_digest(facts: RunFacts, ranking_sha256: str) -> str:
    """Return what stands for a run; the judgments are no part of it, as they may change without it."""
    about = facts.collection
    identity = (facts.system, facts.type, facts.config, facts.started, facts.details.repetition, ranking_sha256)
    collected = (about.name, queries_sha256(about.queries), about.docs_sha256)
    return hashlib.sha256(canonical_json([*identity, *collected]).encode()).hexdigest()


def version_of(facts: CollectionFacts) -> str:
    parts: Sequence[str] = (queries_sha256(facts.queries), facts.docs_sha256, facts.qrels_sha256)
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def put_collection(connection: sa.Connection, facts: CollectionFacts, now: str) -> tuple[int, int]:
    """Return the numbers of a collection's version and of the collection."""
    collection_id = collection_id_of(connection, facts.name, now)
    queries = put_queries(connection, facts.queries)
    row = {"collection_id": collection_id, "version": version_of(facts)}
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
