"""Opening a store: where it is, the connection to SQLite or PostgreSQL, migrations, and errors in words.

SQLite: WAL, foreign keys, `BEGIN IMMEDIATE` for whatever writes, synchronous FULL: what was acknowledged survives a
kill and a loss of power. PostgreSQL: whatever writes takes one lock of its own, as in SQLite, so that numbers are given
in the order in which rows appear, and two programs never wait for one another in a circle.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from rankscope._version import __version__
from rankscope.errors import InputError, OptionError, RankscopeError, UnfinishedError
from rankscope.records import Record
from rankscope.store.schema import SCHEMA_VERSION, meta, metadata
from rankscope.store_file import FILE, FOLDER, VARIABLE, nearest_store

CONNECTIONS = 16
"""So many connections stay open: to open one takes longer than most of what is asked by it."""
PING_S = 1.0
"""A connection that rested longer is asked whether its server is still there, before anything else is."""
BUSY_S = 10
"""How long a writer waits for another one."""
MIGRATION_S = 600
"""How long a program waits for another one that brings the tables up to date."""
HALF = ".half"
"""The ending of a file that is not written to its end yet."""
WRITE_LOCK = 7_263_551_901
"""The number of PostgreSQL's advisory lock under which one transaction at a time writes."""
NETWORK_FILE_SYSTEMS = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fuse.ceph", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs",
    "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2",
    "pvfs2", "smb", "smb2", "smb3", "smbfs",
})  # fmt: skip


class StoreLocation(Record):
    """Where a store is: a file, or the address of a PostgreSQL database."""

    path: Path | None = None
    url: str = ""

    def __str__(self) -> str:
        """Return the place as it may be printed: without a password."""
        if self.path is not None:
            return str(self.path)
        return shown_url(self.url)

    @property
    def exists(self) -> bool:
        return self.path is None or self.path.exists()


SECRET_OPTIONS = frozenset({"password", "passfile", "sslpassword", "oauth_client_secret", "scram_client_key"})
"""Options of PostgreSQL, behind `?` in an address, that are nobody else's business."""


def shown_url(address: str) -> str:
    """Return an address of PostgreSQL as it may be printed: without passwords, wherever they stand."""
    url = sa.make_url(address).set(drivername="postgresql")
    hidden = {name: "***" for name in url.query if name.lower() in SECRET_OPTIONS}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def find_store(folder: str | os.PathLike[str] = ".") -> StoreLocation | None:
    """Return the store that `RANKSCOPE_STORE` names, else the nearest one from a folder upwards, or None."""
    found = nearest_store(os.fspath(folder))
    return None if found is None else location_of(found)


def location_of(where: str | os.PathLike[str]) -> StoreLocation:
    """Return the place that a user names: an address, a file, or a folder, in which the file has its usual name."""
    given = os.fspath(where)
    if "://" in given:
        return StoreLocation(url=checked_url(given))
    path = Path(given)
    if path.name == FOLDER and not path.is_file():
        path /= FILE
    elif path.is_dir():
        path = path / FOLDER / FILE
    return StoreLocation(path.absolute())


def checked_url(given: str) -> str:
    try:
        url = sa.make_url(given)
    except (sa.exc.ArgumentError, ValueError):
        raise OptionError(
            "the address of the store cannot be read", hint="it is postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    if url.drivername not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise OptionError(
            f"{url.drivername} is no database that a store can be in",
            hint="give postgresql://…, or the path of a file for SQLite",
        )
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def connect(location: StoreLocation, *, read_only: bool, timeout_s: float = BUSY_S) -> sa.Engine:
    if location.path is None:
        return postgres_engine(location.url, timeout_s=timeout_s)
    return sqlite_engine(location.path, read_only=read_only, timeout_s=timeout_s)


def postgres_engine(url: str, *, timeout_s: float) -> sa.Engine:
    try:
        import psycopg  # noqa: F401 (SQLAlchemy loads it; here it is only asked whether it is there)
    except ImportError:
        raise OptionError(
            "a store in PostgreSQL needs the package psycopg", hint="pip install 'rankscope[postgres]'"
        ) from None
    engine = sa.create_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=CONNECTIONS,
        pool_timeout=timeout_s,
        connect_args={"connect_timeout": max(2, round(timeout_s))},
    )

    @sa.event.listens_for(engine, "checkin")
    def note(_: object, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def ask(connection: Any, record: Any, _: object) -> None:
        if time.monotonic() - record.info.get("used", math.inf) > PING_S:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise sa.exc.InvalidatePoolError from error  # all of them are opened again

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            wait = f"SET LOCAL lock_timeout = {max(1, round(timeout_s * 1000))}"
            connection.exec_driver_sql(f"{wait}; SELECT pg_advisory_xact_lock({WRITE_LOCK})")

    return engine


def sqlite_engine(path: Path, *, read_only: bool, timeout_s: float) -> sa.Engine:
    mode = "mode=rw" if not read_only else "mode=ro" if needs_shared_files(path) else "mode=ro&immutable=1"
    address = f"file:{quote(os.fsencode(path))}?{mode}"

    def open_file() -> sqlite3.Connection:
        # without an isolation level Python leaves transactions alone, and those below are the only ones
        return sqlite3.connect(address, uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False)

    # a thread that waits for its turn to write keeps its connection, so there may be as many as there are threads
    engine = sa.create_engine(
        "sqlite://", creator=open_file, poolclass=sa.QueuePool, pool_size=CONNECTIONS, max_overflow=-1
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        if not read_only:
            connection.execute("PRAGMA synchronous=FULL")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def needs_shared_files(path: Path) -> bool:
    """Whether a reader needs the files beside a store through which it sees what others are writing.

    Not where nobody can write: a folder without the right to write in it, and no log of changes that are not in the
    file yet. One that is there must be read, though SQLite may say that it cannot.
    """
    beside = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    return os.access(path.parent, os.W_OK) or any(each.exists() and each.stat().st_size for each in beside)


def file_system_of(path: Path) -> str:
    """Return the type of the file system that a path is on; empty where the system does not say."""
    found, name, place = "", "", path.resolve()
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines():
            _, mount, kind, *_ = line.split(" ")
            mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), mount)
            if len(mount) >= len(found) and place.is_relative_to(mount):
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
        raise InputError(
            f"the store {path} is empty: it has lost all that was in it",
            hint="`rankscope store restore BACKUP` puts a backup in its place; to begin anew, remove the file",
        )
    if not header.startswith(b"SQLite format 3\0"):
        raise InputError(f"{path} is not a store", hint="a store is a file that `rankscope run` makes")
    page_size = int.from_bytes(header[16:18], "big")
    wanted = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    is_counted = header[24:28] == header[92:96]  # otherwise the number of pages in the header is not kept
    log = path.with_name(path.name + "-wal")
    has_log = log.exists() and log.stat().st_size > 0
    if is_counted and not has_log and path.stat().st_size < wanted:
        raise damaged(StoreLocation(path), f"it has {path.stat().st_size:,} of {wanted:,} bytes")


def is_read_only(path: Path) -> bool:
    """Whether a path, or where it would be made, is on a file system that may only be read."""
    place = next(each for each in (path, *path.absolute().parents) if each.exists())
    return hasattr(os, "statvfs") and bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def may_write(location: StoreLocation) -> bool:
    """Whether the file of a store may be written, as far as the system says."""
    path = location.path
    return path is None or not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def read_only_error(location: StoreLocation) -> UnfinishedError:
    return UnfinishedError(
        f"the store {location} cannot be written: its file system is read-only",
        hint=f"it can be looked at (rankscope history); {VARIABLE} or --store names a place for what is new",
    )


def damaged(location: StoreLocation, why: str) -> InputError:
    return InputError(
        f"the store {location} is damaged: {why}",
        hint="`rankscope store restore BACKUP` puts a backup in its place; the damaged file is kept beside it",
    )


_BY_SQLITE = {
    "SQLITE_BUSY": (UnfinishedError, "is locked by another program, which was waited for", "try again later"),
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
    except UnicodeDecodeError as error:
        raise damaged(location, f"a text in it is none ({error})") from error
    except sa.exc.TimeoutError as error:
        raise UnfinishedError(f"the store {location} has no connection to spare", hint="try again later") from error
    except OSError as error:
        if error.errno == errno.EROFS:
            raise read_only_error(location) from error
        kind = InputError if error.errno in (errno.EACCES, errno.EPERM) else UnfinishedError
        raise kind(
            f"the store {location}: {error.strerror or error}", hint="are the file and its folder yours?"
        ) from error


def error_of(error: DBAPIError, location: StoreLocation) -> RankscopeError:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return error_of_sqlite(original, location)
    state, said = getattr(original, "sqlstate", None) or "", str(original).strip().partition("\n")[0]
    if state in ("42P01", "42703"):
        return damaged(location, said)
    if state.startswith("53"):
        return UnfinishedError(f"the store {location} has no room or no memory left: {said}", hint="ask who runs it")
    if state in ("42501", "25006"):
        return InputError(
            f"the store {location} cannot be written: {said}", hint="the user of the address may only read"
        )
    if state == "55P03":
        words = "is locked by another program, which was waited for"
        return UnfinishedError(f"the store {location} {words}", hint="try again later")
    if "does not exist" in said and "database" in said:
        return InputError(
            f"the store {location} cannot be opened: {said}", hint="who runs the server makes it: createdb NAME"
        )
    if "authentication" in said or "password" in said or state.startswith("28"):
        return InputError(f"the store {location} cannot be opened: {said}", hint=f"is {VARIABLE} right?")
    return UnfinishedError(
        f"the store {location} does not answer as it should: {said}", hint=f"is the address in {VARIABLE} right?"
    )


def error_of_sqlite(error: sqlite3.Error, location: StoreLocation) -> RankscopeError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return damaged(location, str(error))
    if re.match("no such (table|column)|table .* has no column", str(error)):
        return damaged(location, str(error))
    if name.startswith("SQLITE_READONLY") and location.path is not None and is_read_only(location.path):
        return read_only_error(location)
    for known, (kind, words, hint) in _BY_SQLITE.items():
        if name.startswith(known):
            return kind(f"the store {location} {words}", hint=hint)
    hint = "where it stays so, `rankscope store restore BACKUP` puts a backup in its place"
    return UnfinishedError(f"the store {location}: {error}", hint=hint)


# Migrations


def schema_of(connection: sa.Connection) -> str | None:
    """Return the newest migration that a store has been through; None where it has no tables."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return None if found is None else str(found)


def check_schema(version: str | None, connection: sa.Connection, location: StoreLocation) -> None:
    """Refuse a store of a newer program, one that has lost its version, and the database of another program."""
    if version == SCHEMA_VERSION:
        return
    if version is None:
        tables = set(sa.inspect(connection).get_table_names()) - {"alembic_version"}
        if tables and 2 * len(tables & set(metadata.tables)) < len(metadata.tables):
            raise InputError(
                f"{location} is not a store of Rankscope: it holds tables of another program ({min(tables)})",
                hint="name a new file, or a database of its own",
            )
        if tables:
            raise damaged(location, "it does not say which version its tables are of")
        return
    is_ours = re.fullmatch(r"\d{4}", version) and sa.inspect(connection).has_table(meta.name)
    if not is_ours:
        raise InputError(
            f"{location} holds the tables of another program", hint="a store needs a database of its own: createdb NAME"
        )
    if version > SCHEMA_VERSION:
        by = connection.execute(sa.select(meta.c.value).where(meta.c.key == "migrated_by")).scalar_one_or_none()
        raise InputError(
            f"the store {location} was written by Rankscope {by or 'of a newer version'} (tables {version}), and this "
            f"is {__version__} (tables {SCHEMA_VERSION})",
            hint=f"install Rankscope {by or 'of a newer version'} or newer: pip install --upgrade rankscope",
        )


def migrate(engine: sa.Engine, location: StoreLocation) -> None:
    """Bring the tables of a store to what this program needs; of a store that has some, a copy is kept before."""
    if location.path is None:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            bring_up_to_date(connection, location)
        return
    with folder_lock(location.path.parent):
        with engine.connect() as connection:
            version = schema_of(connection)
        if version is not None and version < SCHEMA_VERSION:
            copy_before(engine, location.path)
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            bring_up_to_date(connection, location)


def make_file(path: Path, timeout_s: float) -> None:
    """Make the file of a new store, whole or not at all, unless another program was faster."""
    half = path.with_name(f"{path.name}.new{HALF}")
    with folder_lock(path.parent):
        if path.exists():
            return
        for ending in ("", "-journal"):
            half.with_name(half.name + ending).unlink(missing_ok=True)
        for ending in ("-wal", "-shm"):  # of a file that was removed; SQLite would take them for those of the new one
            path.with_name(path.name + ending).unlink(missing_ok=True)
        half.touch()
        engine = sqlite_engine(half, read_only=False, timeout_s=timeout_s)
        try:
            with engine.connect().execution_options(writes=True) as connection, connection.begin():
                bring_up_to_date(connection, StoreLocation(path))
        finally:
            engine.dispose()
        half.replace(path)
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until what was written to a file, or which files a folder has, is safe on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def bring_up_to_date(connection: sa.Connection, location: StoreLocation) -> None:
    version = schema_of(connection)
    check_schema(version, connection, location)
    if version == SCHEMA_VERSION:
        return  # another program was faster
    upgrade(connection)
    facts = {"schema": SCHEMA_VERSION, "migrated_by": __version__}
    if version is None:
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        facts |= {"created_by": __version__, "created": now, "store_id": os.urandom(16).hex()}
    connection.execute(sa.delete(meta).where(meta.c.key.in_(facts)))
    connection.execute(sa.insert(meta), [{"key": key, "value": value} for key, value in facts.items()])


def copy_before(engine: sa.Engine, path: Path) -> None:
    """Keep a store as it is before its tables are changed, whole or not at all."""
    copy = path.with_name(f"{path.name}.before-{SCHEMA_VERSION}")
    half = copy.with_name(f"{copy.name}.tmp")
    half.unlink(missing_ok=True)
    with closing(engine.raw_connection()) as plain:  # it has no transaction
        plain.cursor().execute("VACUUM INTO ?", (os.fspath(half),))
    half.replace(copy)


def use_log(engine: sa.Engine, location: StoreLocation) -> None:
    """Let writers write to a log (WAL), so that readers need not wait; a new file, or a backup, does not do so yet."""
    if location.path is None:
        return
    with closing(engine.raw_connection()) as plain:  # it has no transaction
        if plain.cursor().execute("PRAGMA journal_mode").fetchone() != ("wal",):
            with folder_lock(location.path.parent):
                plain.cursor().execute("PRAGMA journal_mode=WAL")


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # not on Windows, where SQLite's own lock has to do
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    deadline = time.monotonic() + MIGRATION_S
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise UnfinishedError(
                        f"the store in {folder} is being changed by another program", hint="try again later"
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def upgrade(connection: sa.Connection) -> None:
    log = logging.getLogger("alembic")
    if not log.level:  # it says each step, and some packages have everything printed that anybody says
        log.setLevel(logging.WARNING)
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "rankscope:store/migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
