"""Opening a store: where it is, the connection to SQLite or PostgreSQL, migrations, and errors in words.

SQLite: WAL, foreign keys, `BEGIN IMMEDIATE` for whatever writes, synchronous FULL: what was acknowledged survives a
kill and a loss of power. PostgreSQL: READ COMMITTED, where unique constraints decide who was first.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from rankscope._version import __version__
from rankscope.errors import InputError, OptionError, RankscopeError, UnfinishedError
from rankscope.records import Record
from rankscope.store.schema import SCHEMA_VERSION, meta

VARIABLE = "RANKSCOPE_STORE"
FOLDER = ".rankscope"
FILE = "store.db"
BUSY_S = 10
"""How long a writer waits for another one."""
MIGRATION_LOCK = 7_263_551_901
"""The number of PostgreSQL's advisory lock under which one process at a time migrates."""
NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ncpfs",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.rclone",
    }
)


class StoreLocation(Record):
    """Where a store is: a file, or the address of a PostgreSQL database."""

    path: Path | None = None
    url: str = ""

    def __str__(self) -> str:
        """Return the place as it may be printed: without a password."""
        return str(self.path) if self.path is not None else sa.make_url(self.url).render_as_string(hide_password=True)

    @property
    def exists(self) -> bool:
        return self.path is None or self.path.exists()


def find_store(folder: str | os.PathLike[str] = ".") -> StoreLocation | None:
    """Return the store that `RANKSCOPE_STORE` names, else the nearest one from a folder upwards, or None."""
    named = os.environ.get(VARIABLE)
    if named:
        return location_of(named)
    start = Path(folder).absolute()
    found = (parent / FOLDER / FILE for parent in (start, *start.parents))
    return next((StoreLocation(path) for path in found if path.is_file()), None)


def location_of(where: str | os.PathLike[str]) -> StoreLocation:
    """Return the place that a user names: an address, a file, or a folder, in which the file has its usual name."""
    given = os.fspath(where)
    if "://" in given:
        return StoreLocation(url=checked_url(given))
    path = Path(given)
    if path.is_dir():
        path = path / FILE if path.name == FOLDER else path / FOLDER / FILE
    return StoreLocation(path.absolute())


def checked_url(given: str) -> str:
    try:
        url = sa.make_url(given)
    except sa.exc.ArgumentError:
        raise OptionError(
            "the address of the store cannot be read", hint="it is postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise OptionError(
            f"{url.drivername} is no database that a store can be in",
            hint="give postgresql://…, or the path of a file for SQLite",
        )
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def connect(location: StoreLocation, *, read_only: bool) -> sa.Engine:
    return sqlite_engine(location.path, read_only=read_only) if location.path is not None else postgres_engine(location)


def postgres_engine(location: StoreLocation) -> sa.Engine:
    try:
        import psycopg  # noqa: F401 (SQLAlchemy loads it; here it is only asked whether it is there)
    except ImportError:
        raise OptionError(
            "a store in PostgreSQL needs the package psycopg", hint="pip install 'rankscope[postgres]'"
        ) from None
    return sa.create_engine(location.url, pool_pre_ping=True, connect_args={"connect_timeout": BUSY_S})


def sqlite_engine(path: Path, *, read_only: bool) -> sa.Engine:
    mode = "mode=rwc" if not read_only else "mode=ro" if is_shareable(path) else "mode=ro&immutable=1"
    address = f"file:{quote(os.fsencode(path))}?{mode}"

    def open_file() -> sqlite3.Connection:
        # without an isolation level Python leaves transactions alone, and those below are the only ones
        return sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=open_file, poolclass=sa.QueuePool)

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        if not read_only:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def is_shareable(path: Path) -> bool:
    """Whether SQLite can make the files beside a store through which readers see what others are writing."""
    beside = path.with_name(path.name + "-shm")
    return beside.exists() or os.access(path.parent, os.W_OK)


def file_system_of(path: Path) -> str:
    """Return the type of the file system that a path is on; empty where the system does not say."""
    found, name = "", ""
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines():
            _, mount, kind, *_ = line.split(" ")
            mount = mount.encode().decode("unicode_escape")
            if len(mount) >= len(found) and path.is_relative_to(mount):
                found, name = mount, kind
    return name


def check_file(path: Path) -> None:
    """Refuse a file that is no store, that lost its end, or where SQLite's locks do not work."""
    kind = file_system_of(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise OptionError(
            f"{path} is on a network file system ({kind}), where SQLite cannot keep two programs apart",
            hint=f"put the store on a local disk ({VARIABLE}=PATH), or use PostgreSQL ({VARIABLE}=postgresql://…)",
        )
    if not path.exists():
        return
    with in_words(StoreLocation(path)), path.open("rb") as stream:
        header = stream.read(100)
    if not header:
        return  # made by a process that was killed before it wrote anything
    if not header.startswith(b"SQLite format 3\0"):
        raise InputError(f"{path} is not a store", hint="a store is a file that `rankscope run` makes")
    page_size = int.from_bytes(header[16:18], "big")
    wanted = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    is_counted = header[24:28] == header[92:96]  # otherwise the number of pages in the header is not kept
    log = path.with_name(path.name + "-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if is_counted and not has_log and path.stat().st_size < wanted:
        raise damaged(StoreLocation(path), f"it has {path.stat().st_size:,} of {wanted:,} bytes")


def damaged(location: StoreLocation, why: str) -> InputError:
    return InputError(
        f"the store {location} is damaged: {why}",
        hint="`rankscope store restore BACKUP` puts a backup in its place; the damaged file is kept beside it",
    )


_BY_SQLITE = {
    "SQLITE_BUSY": (UnfinishedError, "is locked by another program", f"it was waited for {BUSY_S} s: try again later"),
    "SQLITE_LOCKED": (UnfinishedError, "is locked by another program", "try again later"),
    "SQLITE_FULL": (UnfinishedError, "cannot grow: the disk is full", "make room and try again; nothing is lost"),
    "SQLITE_IOERR": (
        UnfinishedError,
        "cannot be read or written",
        "the disk fails, or is full; look at the system's log",
    ),
    "SQLITE_READONLY": (InputError, "cannot be written", "it is read-only: are the file and its folder yours?"),
    "SQLITE_CANTOPEN": (InputError, "cannot be opened", "are the file and its folder yours?"),
    "SQLITE_PERM": (InputError, "cannot be opened", "are the file and its folder yours?"),
    "SQLITE_NOMEM": (UnfinishedError, "needs more memory than there is", "end other programs and try again"),
}


@contextmanager
def in_words(location: StoreLocation) -> Iterator[None]:
    """Turn what a database or disk says into an error that says what to do."""
    try:
        yield
    except DBAPIError as error:
        raise error_of(error, location) from error
    except sqlite3.Error as error:
        raise error_of_sqlite(error, location) from error
    except OSError as error:
        if isinstance(error, UnfinishedError):
            raise
        kind = InputError if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else UnfinishedError
        raise kind(
            f"the store {location}: {error.strerror or error}", hint="are the file and its folder yours?"
        ) from error


def error_of(error: DBAPIError, location: StoreLocation) -> RankscopeError:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return error_of_sqlite(original, location)
    state, said = getattr(original, "sqlstate", None) or "", str(original).strip().partition("\n")[0]
    if state.startswith("53"):
        return UnfinishedError(f"the store {location} has no room or no memory left: {said}", hint="ask who runs it")
    if state in ("42501", "25006"):
        return InputError(
            f"the store {location} cannot be written: {said}", hint="the user of the address may only read"
        )
    if state == "55P03":
        return UnfinishedError(f"the store {location} is locked by another program", hint="try again later")
    return UnfinishedError(
        f"the store {location} does not answer as it should: {said}", hint=f"is the address in {VARIABLE} right?"
    )


def error_of_sqlite(error: sqlite3.Error, location: StoreLocation) -> RankscopeError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return damaged(location, str(error))
    for known, (kind, words, hint) in _BY_SQLITE.items():
        if name.startswith(known):
            return kind(f"the store {location} {words}", hint=hint)
    return UnfinishedError(f"the store {location}: {error}", hint="`rankscope store check` looks at all of it")


# Migrations


def schema_of(connection: sa.Connection) -> str | None:
    """Return the newest migration that a store has been through; None where it has no tables."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return (
        str(connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none() or "") or None
    )


def check_schema(version: str | None, connection: sa.Connection, location: StoreLocation) -> None:
    """Refuse a store that a newer program has written."""
    if version is not None and version > SCHEMA_VERSION:
        by = connection.execute(sa.select(meta.c.value).where(meta.c.key == "migrated_by")).scalar_one_or_none()
        raise InputError(
            f"the store {location} was written by Rankscope {by or 'of a newer version'}, and this is {__version__}",
            hint=f"install Rankscope {by or 'of a newer version'} or newer: pip install --upgrade rankscope",
        )


def migrate(engine: sa.Engine, location: StoreLocation) -> None:
    """Bring the tables of a store to what this program needs; of a store that has some, a copy is kept before."""
    with migration_lock(engine, location) as connection:
        version = schema_of(connection)
        check_schema(version, connection, location)
        connection.rollback()
        if version == SCHEMA_VERSION:
            return
        if version is not None and location.path is not None:
            copy = location.path.with_name(f"{location.path.name}.before-{SCHEMA_VERSION}")
            copy.unlink(missing_ok=True)
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as plain:
                plain.exec_driver_sql("VACUUM INTO ?", (str(copy),))
        with connection.begin():
            upgrade(connection)
            now = datetime.now(UTC).isoformat(timespec="microseconds")
            facts = {"schema": SCHEMA_VERSION, "migrated_by": __version__}
            if version is None:
                facts |= {"created_by": __version__, "created": now, "store_id": os.urandom(16).hex()}
            connection.execute(sa.delete(meta).where(meta.c.key.in_(facts)))
            connection.execute(sa.insert(meta), [{"key": key, "value": value} for key, value in facts.items()])


@contextmanager
def migration_lock(engine: sa.Engine, location: StoreLocation) -> Iterator[sa.Connection]:
    """Let one process at a time migrate."""
    if location.path is None:
        with engine.connect() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_lock(MIGRATION_LOCK)))
            connection.commit()
            try:
                yield connection
            finally:
                connection.rollback()
                connection.execute(sa.select(sa.func.pg_advisory_unlock(MIGRATION_LOCK)))
                connection.commit()
        return
    with folder_lock(location.path.parent), engine.connect().execution_options(writes=True) as connection:
        yield connection


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # not on Windows, where SQLite's own lock has to do
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def upgrade(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "rankscope:store/migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
