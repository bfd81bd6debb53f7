"""Looks at all that a store holds: whether it can be read, is what its hashes say, and gives the same scores again."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from rankscope.align.policies import Policies
from rankscope.comparison.records import Comparison
from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.measures.parse import parse_measure
from rankscope.progress import Progress
from rankscope.records import StoredRecord, or_none
from rankscope.store.blobs import get_blob
from rankscope.store.check_rows import StoreFinding, row_findings
from rankscope.store.columns import (
    ByteReader,
    ScoreVector,
    qrels_rows_of,
    run_rows_of,
    texts_of,
    vector_bytes,
    vector_of,
)
from rankscope.store.runs import StoredRun
from rankscope.store.schema import blob, blob_chunk
from rankscope.store.schema import scores as scores_table
from rankscope.store.scores import policies_sha256
from rankscope.store.store import Store

SAMPLE = 50
"""So many vectors of scores are computed again, unless all are wanted."""
READERS: dict[str, Callable[[bytes], Any]] = {
    "ranking": run_rows_of,
    "qrels": qrels_rows_of,
    "queries": texts_of,
    "scores": vector_of,
    "latency": ByteReader,
    "comparison": Comparison.from_json,
}
"""How what is in a blob is read, by the kind of the blob."""


class StoreCheck(StoredRecord):
    """What was looked at in a store, and what is wrong with it."""

    store: str
    blobs: int
    bytes: int
    """Of all blobs, uncompressed."""
    runs: int
    vectors: int
    """Of scores that are kept."""
    computed_again: int
    """Of these vectors."""
    findings: tuple[StoreFinding, ...]

    @property
    def is_fine(self) -> bool:
        return not self.findings


def check_store(store: Store, *, every_vector: bool = False, progress: Progress | None = None) -> StoreCheck:
    """Read every blob, and compare hashes, references and scores with what they should be.

    Parameters
    ----------
    store
        An open store; nothing in it is changed.
    every_vector
        Compute all scores again; otherwise a sample of them.
    progress
        Is called with the blobs that were read.
    """
    sizes: list[int] = []
    if lost := list(lost_tables(store)):  # nothing else can be read then
        return StoreCheck(str(store.location), 0, 0, 0, 0, 0, tuple(lost))
    findings = [*guarded(structure_findings(store))]
    findings += guarded(blob_findings(store, sizes, progress))
    findings += guarded(row_findings(store))
    n_again = n_vectors = n_runs = 0
    if not findings:  # scores cannot be computed from what is damaged
        n_runs, n_vectors = len(store.runs.list(repetitions=True)), count(store, scores_table)
        n_again, wrong = vector_findings(store, every=every_vector)
        findings += wrong
    return StoreCheck(str(store.location), len(sizes), sum(sizes), n_runs, n_vectors, n_again, tuple(findings))


def guarded(findings: Iterator[StoreFinding]) -> Iterator[StoreFinding]:
    """Yield findings up to where the store cannot be read any more, which is the last of them.

    A disk that fails, or a store that is locked, says nothing of what the store holds: that error is passed on.
    """
    try:
        yield from findings
    except InputError as error:
        yield StoreFinding("file", f"it cannot be read on from here: {error.message}")


def count(store: Store, table: sa.Table) -> int:
    with store.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())


def lost_tables(store: Store) -> Iterator[StoreFinding]:
    """Yield tables and columns that a store should have."""
    with store.reading() as connection:
        inspector = sa.inspect(connection)
        there = set(inspector.get_table_names())
        for table in blob.metadata.sorted_tables:
            if table.name not in there:
                yield StoreFinding(f"table {table.name}", "it is missing")
                continue
            lost = {column.name for column in table.columns} - {
                each["name"] for each in inspector.get_columns(table.name)
            }
            yield from (StoreFinding(f"table {table.name}", f"its column {name} is missing") for name in sorted(lost))


def structure_findings(store: Store) -> Iterator[StoreFinding]:
    """Yield what SQLite finds in its file: pages that are damaged, and references to nothing."""
    if store.location.path is None:
        return  # PostgreSQL looks after both
    with store.reading() as connection:
        for (said,) in connection.exec_driver_sql("PRAGMA integrity_check(20)").all():
            codes = [int(code) for code in re.findall(r"error code[ =](\d+)", said)]
            if any(code % 256 == sqlite3.SQLITE_IOERR for code in codes):
                raise UnfinishedError(f"the store {store.location} cannot be read: {said}", hint="the disk fails")
            if said != "ok":
                yield StoreFinding("file", f"SQLite says: {said}")
        for table, row, target, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
            yield StoreFinding(f"row {row} of {table}", f"names a row of {target} that is not there")


def blob_findings(store: Store, sizes: list[int], progress: Progress | None) -> Iterator[StoreFinding]:
    with store.reading() as connection:
        rows = connection.execute(sa.select(blob).order_by(blob.c.sha256)).all()
        counted = sa.select(blob_chunk.c.sha256, sa.func.count()).group_by(blob_chunk.c.sha256)
        chunks = {str(row[0]): int(row[1]) for row in connection.execute(counted)}
    for done, row in enumerate(rows, start=1):
        sizes.append(row.n_bytes)
        if problem := blob_problem(store, row, chunks.get(row.sha256, 0)):
            yield StoreFinding(f"{row.kind} {row.sha256[:12]}", problem, used_by(store, row.sha256))
        if progress is not None:
            progress(done, len(rows))


def blob_problem(store: Store, row: Any, n_chunks: int) -> str:
    if n_chunks != row.n_chunks:
        return f"{n_chunks} of its {row.n_chunks} chunks are there"
    try:
        with store.reading() as connection:
            data = get_blob(connection, row.sha256)
        if len(data) != row.n_bytes:
            return f"it has {len(data):,} bytes, and {row.n_bytes:,} are noted"
        READERS.get(row.kind, bytes)(data)
    except (InputError, OptionError) as error:
        return error.message
    except (ValueError, KeyError, TypeError, IndexError) as error:
        return f"its bytes are as they were, but cannot be read: {error}"
    return ""


def used_by(store: Store, sha256: str) -> str:
    """Return the rows that refer to a blob, for example `run 3, run 4`."""
    found = []
    with store.reading() as connection:
        for key in references_to_blobs():
            ids = sa.select(key.parent.table.c.id).where(key.parent == sha256).order_by(key.parent.table.c.id)
            found += [f"{key.parent.table.name} {number}" for number in connection.execute(ids).scalars()]
    return ", ".join(found[:10]) + (f" and {len(found) - 10} more" if len(found) > 10 else "")


def references_to_blobs() -> list[sa.ForeignKey]:
    """Return the columns that name a blob, but for those of its own chunks."""
    tables = blob.metadata.sorted_tables
    keys = (key for table in tables if table is not blob_chunk for key in table.foreign_keys)
    return sorted((key for key in keys if key.column.table is blob), key=lambda key: str(key.parent))


def vector_findings(store: Store, *, every: bool) -> tuple[int, list[StoreFinding]]:
    """Compute scores again and compare their bits; return how many, and those that differ.

    Those under policies that nobody knows, of measures that are defined in another way today, or that look at what the
    store does not have, cannot be computed.
    """
    with store.reading() as connection:
        rows = connection.execute(
            sa.select(scores_table).where(scores_table.c.data_sha256 == "").order_by(scores_table.c.id)
        ).all()
    runs = {run.number: run for run in store.runs.list(repetitions=True)}
    qrels = {each.number: each for each in store.qrels.list()}
    step = 1 if every else max(1, len(rows) // SAMPLE)
    n_again, found = 0, []
    for row in rows[::step]:
        measure, policies = parse_measure(row.measure), known_policies(runs[row.run_id], row.policies_sha256)
        if policies is None or measure.spec.version != row.version:
            continue
        request = EvaluateRequest(measures=(measure,), policies=policies)
        run = runs[row.run_id]
        judged = store.qrels.judgments(qrels[row.qrels_id])
        scored = evaluate_request(request, judged, {run.system: store.runs.ranking(run)})[run.system]
        vector = vector_bytes(ScoreVector(scored.values[:, 0], scored.undefined[:, 0], scored.answered))
        n_again += 1
        mean = scored.aggregate_of(measure.name)
        facts = {"n": mean.n, "undefined": mean.undefined, "missing": mean.missing}
        same = hashlib.sha256(vector).hexdigest() == row.vector_sha256
        if not same or or_none(mean.value) != row.mean or facts != row.facts:
            what = f"{row.measure} of run {row.run_id} under qrels {row.qrels_id}"
            found.append(StoreFinding(what, "is another score when it is computed again"))
    return n_again, found


def known_policies(run: StoredRun, sha256: str) -> Policies | None:
    """Return the policies that a hash stands for: the usual ones, or those of the run."""
    candidates = [Policies()]
    if run.details.policies:
        names = set(Policies().as_dict())
        if set(run.details.policies) <= names:
            candidates.append(Policies(**run.details.policies))
    return next((each for each in candidates if policies_sha256(each) == sha256), None)
