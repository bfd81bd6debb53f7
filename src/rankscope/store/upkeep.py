"""Looks after a store: what nothing points to is removed, backups are made and put back, all of it is copied."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.progress import Progress
from rankscope.records import Record
from rankscope.store.check import check_store, references_to_blobs
from rankscope.store.engine import (
    HALF,
    StoreLocation,
    check_file,
    check_schema,
    connect,
    folder_lock,
    in_words,
    schema_of,
    sync,
)
from rankscope.store.schema import SCHEMA_VERSION, blob, blob_chunk, meta, metadata
from rankscope.store.store import Store, open_store

AT_A_TIME = 500
KEPT_FACTS = ("schema", "migrated_by")
"""What a store that is copied to says of itself."""


class StoreInfo(Record, kw_only=True):
    """What a store holds."""

    store: str
    store_id: str
    created: str
    created_by: str
    schema: str
    bytes: int
    """On disk."""
    rows: dict[str, int]
    """By table."""
    blob_bytes: dict[str, int]
    """Uncompressed, by kind."""
    collections: tuple[str, ...]
    systems: tuple[str, ...]
    tags: dict[str, int]
    repeated: dict[int, int]
    """Of how many runs there are so many repetitions, where it is more than one; a run counts once, as in a history."""
    first: str | None
    """When the oldest run was made."""
    last: str | None


def store_info(store: Store) -> StoreInfo:
    with store.reading() as connection:
        about = {str(row.key): str(row.value) for row in connection.execute(sa.select(meta))}
        rows = {
            table.name: int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())
            for table in metadata.sorted_tables
        }
        kinds = sa.select(blob.c.kind, sa.func.sum(blob.c.n_bytes)).group_by(blob.c.kind).order_by(blob.c.kind)
        blob_bytes = {kind: int(n) for kind, n in connection.execute(kinds)}
        if store.location.path is None:
            size = int(connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())
        else:
            size = sum(path.stat().st_size for path in files_of(store.location.path))
    runs = store.runs.list(repetitions=True)
    repeated = Counter(run.details.n_repetitions for run in runs if run.details.repetition == 1)
    repeated.pop(1, None)
    return StoreInfo(
        store=str(store.location),
        store_id=about["store_id"],
        created=about["created"],
        created_by=about["created_by"],
        schema=about["schema"],
        bytes=size,
        rows=rows,
        blob_bytes=blob_bytes,
        collections=store.runs.collections(),
        systems=store.runs.systems(),
        tags=store.tags.current(),
        repeated=dict(sorted(repeated.items())),
        first=runs[0].started if runs else None,
        last=runs[-1].started if runs else None,
    )


def files_of(path: Path) -> list[Path]:
    """Return the file of a store and those that SQLite keeps beside it."""
    return [each for ending in ("", "-wal", "-shm") if (each := path.with_name(path.name + ending)).exists()]


class GcResult(Record):
    """What was removed from a store."""

    blobs: int
    bytes: int
    """Of these blobs, uncompressed."""
    files: tuple[str, ...]
    """That were not written to their end."""
    gave_back: int
    """Bytes that the file of the store became smaller by."""


def collect_garbage(store: Store) -> GcResult:
    """Remove blobs that nothing points to, and files that were left half-written; return what was removed."""
    with store.writing() as connection:
        used = sa.union(*(sa.select(key.parent).where(key.parent.is_not(None)) for key in references_to_blobs()))
        unused = sa.select(blob.c.sha256, blob.c.n_bytes).where(blob.c.sha256.not_in(used))
        found = [(str(row.sha256), int(row.n_bytes)) for row in connection.execute(unused)]
        for at in range(0, len(found), AT_A_TIME):
            names = [sha256 for sha256, _ in found[at : at + AT_A_TIME]]
            connection.execute(sa.delete(blob_chunk).where(blob_chunk.c.sha256.in_(names)))
            connection.execute(sa.delete(blob).where(blob.c.sha256.in_(names)))
    path, removed, gave_back = store.location.path, [], 0
    if path is not None:
        with in_words(store.location), folder_lock(path.parent):
            for half in path.parent.glob(f"{path.name}*{HALF}"):
                half.unlink()
                removed.append(half.name)
        gave_back = shrink(store, path) if found else 0
    return GcResult(len(found), sum(n for _, n in found), tuple(sorted(removed)), gave_back)


def shrink(store: Store, path: Path) -> int:
    """Give the room of what was removed back to the disk; return how many bytes."""
    before = sum(each.stat().st_size for each in files_of(path))
    with (
        suppress(UnfinishedError),  # others use it: the room is used again
        in_words(store.location),
        store.turn(),
        closing(store.engine.raw_connection()) as plain,
    ):
        plain.cursor().execute("VACUUM")
        plain.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return max(0, before - sum(each.stat().st_size for each in files_of(path)))


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a path to write to, which becomes the target when all is written and safe on the disk."""
    half = target.with_name(target.name + HALF)
    with in_words(StoreLocation(target)):
        half.unlink(missing_ok=True)
        try:
            yield half
            sync(half)
            half.replace(target)
            sync(target.parent)
        finally:
            for each in files_of(half):
                each.unlink()


def back_up(store: Store, target: Path, *, replace: bool = False, progress: Progress | None = None) -> int:
    """Write all that a store holds to one file, while others go on writing; return the file's size.

    The file is a store itself, in SQLite, also where the store is in PostgreSQL.
    """
    if target.exists() and not replace:
        raise OptionError(f"{target} is there already", hint="name another file, or add --force")
    if not target.parent.is_dir():
        raise OptionError(f"cannot write {target}: there is no folder {target.parent}")
    if store.location.path is not None and target.exists() and target.samefile(store.location.path):
        raise OptionError(f"{target} is the store itself")
    with whole_file(target) as half:
        if store.location.path is not None:
            with in_words(store.location), closing(store.engine.raw_connection()) as plain:
                plain.cursor().execute("VACUUM INTO ?", (os.fspath(half),))
        else:
            with open_store(half, create=True) as made:
                copy_all(store, made, progress=progress)
                with closing(made.engine.raw_connection()) as plain:
                    plain.cursor().execute("PRAGMA journal_mode=DELETE")
    return target.stat().st_size


def restore(backup: Path, location: StoreLocation, *, progress: Progress | None = None) -> Path | None:
    """Put a backup in the place of a store; return where the file that was there is now, None where there was none.

    The backup is checked first, and stays where it is.
    """
    if location.path is None:
        raise OptionError(
            "a store in PostgreSQL is not replaced as a whole",
            hint=f"copy the backup into an empty database: rankscope store copy --store {backup} --to postgresql://…",
        )
    if not backup.is_file():
        raise InputError(f"there is no backup {backup}")
    target = location.path
    if target.exists() and backup.samefile(target):
        raise OptionError(f"{backup} is the store itself")
    with in_words(location), up_to_date(backup, target) as usable:
        with open_store(usable, read_only=True) as opened:
            found = check_store(opened, progress=progress)
        if found.findings:
            first = found.findings[0]
            raise InputError(
                f"the backup {backup} is damaged: {first.what} {first.problem}",
                hint="`rankscope store check --store FILE` lists all that is wrong; the store was left as it is",
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        with folder_lock(target.parent), whole_copy(usable, target) as half:
            return replace_file(target, half)


@contextmanager
def up_to_date(backup: Path, target: Path) -> Iterator[Path]:
    """Give a backup with the tables of today: itself, or for a while a copy of one that is older."""
    check_file(backup)
    engine = connect(StoreLocation(backup), read_only=True)
    try:
        with in_words(StoreLocation(backup)), engine.connect() as connection:
            version = schema_of(connection)
            check_schema(version, connection, StoreLocation(backup))
        if version is None or version == SCHEMA_VERSION:
            yield backup
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="restore-", dir=target.parent) as folder:
            copy = Path(folder, backup.name)
            with closing(engine.raw_connection()) as plain:
                plain.cursor().execute("VACUUM INTO ?", (os.fspath(copy),))
            open_store(copy).close()
            yield copy
    finally:
        engine.dispose()


@contextmanager
def whole_copy(backup: Path, target: Path) -> Iterator[Path]:
    half = target.with_name(target.name + HALF)
    try:
        with open_store(backup, read_only=True) as opened, closing(opened.engine.raw_connection()) as plain:
            half.unlink(missing_ok=True)
            plain.cursor().execute("VACUUM INTO ?", (os.fspath(half),))  # with what is in its log only
        sync(half)
        yield half
    finally:
        half.unlink(missing_ok=True)


def replace_file(target: Path, half: Path) -> Path | None:
    """Put a file in the place of another, which is kept beside it with the files that belong to it."""
    kept = None
    if target.exists():
        moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
        kept = target.with_name(f"{target.name}.replaced-{moment}")
        for each in files_of(target):  # the store first: without it, nobody takes the log for that of the new one
            each.replace(kept.with_name(kept.name + each.name.removeprefix(target.name)))
    half.replace(target)
    sync(target.parent)
    return kept


def copy_all(source: Store, target: Store, *, progress: Progress | None = None) -> dict[str, int]:
    """Copy every row to a store that is empty, and compare all of them afterwards; return how many, by table."""
    tables = [table for table in metadata.sorted_tables if table is not meta]
    with source.reading() as reader, target.writing() as writer:
        for table in tables:
            if writer.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None:
                raise InputError(
                    f"the store {target.location} is not empty: it has rows in {table.name}",
                    hint="copy to a new database or file; `rankscope store import` adds to a store",
                )
        sizes = {
            table.name: int(reader.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())
            for table in tables
        }
        done, total = 0, sum(sizes.values())
        for table in tables:
            for rows in batches(reader, table):
                writer.execute(sa.insert(table).inline(), rows)
                done += len(rows)
                if progress is not None:
                    progress(done, total)
            if writer.dialect.name == "postgresql" and "id" in table.c:
                continue_numbers(writer, table)
        kept = sa.select(meta).where(meta.c.key.not_in(KEPT_FACTS))
        facts = [{"key": row.key, "value": row.value} for row in reader.execute(kept)]
        writer.execute(sa.delete(meta).where(meta.c.key.in_([fact["key"] for fact in facts])))
        writer.execute(sa.insert(meta), facts)
        for table in tables:
            compare_table(reader, writer, table, target.location)
    return sizes


def batches(connection: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table in the order of its key, a few at a time: chunks of blobs are megabytes."""
    size = 1 if table is blob_chunk else AT_A_TIME
    ordered = sa.select(table).order_by(*table.primary_key.columns).execution_options(yield_per=size)
    with connection.execute(ordered) as result:
        for part in result.mappings().partitions(size):
            yield [dict(row) for row in part]


def continue_numbers(connection: sa.Connection, table: sa.Table) -> None:
    """Let PostgreSQL count on from the highest number that was copied."""
    sequence = f"pg_get_serial_sequence('\"{table.name}\"', 'id')"
    highest = f'SELECT max(id) FROM "{table.name}"'  # noqa: S608 (the names are ours)
    connection.execute(sa.text(f"SELECT setval({sequence}, ({highest})) WHERE ({highest}) IS NOT NULL"))


def compare_table(source: sa.Connection, target: sa.Connection, table: sa.Table, location: StoreLocation) -> None:
    for ours, theirs in zip_longest(batches(source, table), batches(target, table)):
        if ours != theirs:
            raise UnfinishedError(
                f"what was copied to {location} is not the same in {table.name}; nothing is kept there"
            )
