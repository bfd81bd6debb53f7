"""The store of a project: what is kept of runs, judgments, scores and comparisons, each behind a small interface."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import sqlalchemy as sa

from rankscope.errors import InputError, UnfinishedError
from rankscope.store.alerts import AlertTable
from rankscope.store.comparisons import ComparisonTable
from rankscope.store.engine import (
    BUSY_S,
    StoreLocation,
    check_file,
    check_schema,
    connect,
    find_store,
    in_words,
    is_read_only,
    location_of,
    make_file,
    may_write,
    migrate,
    read_only_error,
    schema_of,
    use_log,
)
from rankscope.store.jobs import JobTable
from rankscope.store.judgments import JudgmentTable
from rankscope.store.links import LinkTable
from rankscope.store.preferences import PreferenceTable
from rankscope.store.qrels import QrelsTable
from rankscope.store.raters import RaterTable
from rankscope.store.runs import RunTable
from rankscope.store.saving import SaveTable
from rankscope.store.schema import SCHEMA_VERSION
from rankscope.store.scores import ScoreTable
from rankscope.store.tags import TagTable
from rankscope.store.targets import TargetTable
from rankscope.store.tasks import TaskTable
from rankscope.store.texts import TextTable
from rankscope.store.turns import FairLock, turn_among_processes
from rankscope.store.users import UserTable

VERSION = sa.text("SELECT version_num FROM alembic_version")
LONGEST_TURN_S = 120
"""How long a thread waits for the other threads of its process."""


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return what stands for a file, whatever its name is; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Store:
    """An open store; `open_store` opens one.

    Whatever writes does so in one transaction: after a method has returned, what it kept survives a kill of the
    process; one that did not return has kept nothing.
    """

    def __init__(
        self,
        engine: sa.Engine,
        location: StoreLocation,
        *,
        read_only: bool,
        clock: Callable[[], str] = utc_now,
        timeout_s: float = BUSY_S,
    ) -> None:
        self.engine = engine
        self.location = location
        self.read_only = read_only
        self.clock = clock
        """Returns the time, in UTC as ISO 8601 with microseconds."""
        self.timeout_s = timeout_s
        self.memory: int | None = None
        """How much memory runs may take while they are scored; None: they are read as a whole."""
        self._line = FairLock()
        self._file = None if location.path is None else identity_of(location.path)

    def check_place(self) -> None:
        """Refuse to go on with a file that is no longer where the store is: what is kept in it would be lost."""
        if self.location.path is not None and identity_of(self.location.path) != self._file:
            raise UnfinishedError(
                f"the store {self.location} was removed or replaced by another file while it was open",
                hint="put it back, or start the program again to use the file that is there now",
            )

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection that sees one state of the store, whatever others write meanwhile."""
        self.check_place()
        with in_words(self.location), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def glancing(self) -> Iterator[sa.Connection]:
        """As `reading`, for a single statement: it sees one state by itself, without the messages of a transaction."""
        self.check_place()
        with in_words(self.location), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execution_options(isolation_level="AUTOCOMMIT")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection whose changes are all kept at the end, or none of them."""
        with self.turn(), self.transaction() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """As `writing`, for a thread whose turn it is."""
        if self.read_only:
            raise InputError(f"the store {self.location} was opened for reading only")
        with (
            in_words(self.location),
            self.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            version = connection.execute(VERSION).scalar_one_or_none()
            if version != SCHEMA_VERSION:  # another program has changed it since it was opened
                check_schema(version, connection, self.location)
            yield connection
            self.check_place()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let those who write do so one after the other, in the order in which they came."""
        if not self._line.acquire(LONGEST_TURN_S):
            raise UnfinishedError(f"the store {self.location} is being written for too long", hint="try again later")
        try:
            if self.location.path is None:  # PostgreSQL has a lock for this
                yield
            else:
                with turn_among_processes(self.location.path.parent, self.timeout_s):
                    yield
        finally:
            self._line.release()

    @cached_property
    def runs(self) -> RunTable:
        return RunTable(self)

    @cached_property
    def qrels(self) -> QrelsTable:
        return QrelsTable(self)

    @cached_property
    def scores(self) -> ScoreTable:
        return ScoreTable(self)

    @cached_property
    def comparisons(self) -> ComparisonTable:
        return ComparisonTable(self)

    @cached_property
    def tags(self) -> TagTable:
        return TagTable(self)

    @cached_property
    def judgments(self) -> JudgmentTable:
        return JudgmentTable(self)

    @cached_property
    def alerts(self) -> AlertTable:
        return AlertTable(self)

    @cached_property
    def targets(self) -> TargetTable:
        return TargetTable(self)

    @cached_property
    def jobs(self) -> JobTable:
        return JobTable(self)

    @cached_property
    def users(self) -> UserTable:
        return UserTable(self)

    @cached_property
    def texts(self) -> TextTable:
        return TextTable(self)

    @cached_property
    def links(self) -> LinkTable:
        return LinkTable(self)

    @cached_property
    def tasks(self) -> TaskTable:
        return TaskTable(self)

    @cached_property
    def raters(self) -> RaterTable:
        return RaterTable(self)

    @cached_property
    def preferences(self) -> PreferenceTable:
        return PreferenceTable(self)

    @cached_property
    def saves(self) -> SaveTable:
        return SaveTable(self)

    def at(self, times: Iterable[str]) -> Store:
        """Return the same store with a clock that says given times, one after the other."""
        return Store(
            self.engine, self.location, read_only=self.read_only, clock=iter(times).__next__, timeout_s=self.timeout_s
        )

    def close(self) -> None:
        """Give the file or the connections back; `with` does so at its end."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({str(self.location)!r})"


def open_store(
    where: str | os.PathLike[str] | StoreLocation | None = None,
    *,
    create: bool = False,
    read_only: bool = False,
    clock: Callable[[], str] = utc_now,
    timeout_s: float = BUSY_S,
) -> Store:
    """Open a store, and bring its tables up to date.

    Parameters
    ----------
    where
        A file, the folder of a project, or `postgresql://…`; by default what the environment variable RANKSCOPE_STORE
        names, else the nearest `.rankscope/store.db` from the current folder upwards.
    create
        Make it where there is none.
    read_only
        Only read; nothing is changed, not even the tables of an older version.
    clock
        Returns the time that is written beside what is kept.
    timeout_s
        How long to wait for another program that writes.

    Raises
    ------
    InputError
        There is no store, it is damaged, or a newer version of Rankscope has written it.
    UnfinishedError
        It is locked, or the disk is full.

    Examples
    --------
    >>> import rankscope as rs
    >>> with rs.open_store("kept.db", create=True) as store:
    ...     qrels = store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="first")
    ...     store.qrels.judgments(qrels)["q1"]
    {'d1': 1.0}
    """
    location = where if isinstance(where, StoreLocation) else find_store() if where is None else location_of(where)
    if location is None and create:
        location = location_of(Path.cwd())
    if location is None or not (create or location.exists):
        named = f" at {location}" if location else ", neither here nor in a folder above"
        raise InputError(
            f"there is no store{named}",
            hint="`rankscope run` makes one beside the project file; --store PATH names another place",
        )
    if location.path is not None:
        with in_words(location):
            if not read_only and is_read_only(location.path):
                raise read_only_error(location)
            if create and not read_only:
                location.path.parent.mkdir(parents=True, exist_ok=True)
        check_file(location.path)
        if create and not read_only and not location.path.exists():
            with in_words(location):
                make_file(location.path, timeout_s)
    engine = connect(location, read_only=read_only, timeout_s=timeout_s)
    try:
        prepare(engine, location, read_only=read_only)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, location, read_only=read_only, clock=clock, timeout_s=timeout_s)


def open_to_look(where: str | os.PathLike[str] | StoreLocation | None = None) -> Store:
    """Open a store to look at it; what is computed on the way is kept, unless the store may only be read."""
    location = where if isinstance(where, StoreLocation) else find_store() if where is None else location_of(where)
    return open_store(location, read_only=location is not None and not may_write(location))


def prepare(engine: sa.Engine, location: StoreLocation, *, read_only: bool) -> None:
    with in_words(location):
        with engine.connect() as connection:
            version = schema_of(connection)
            check_schema(version, connection, location)
        if read_only and version != SCHEMA_VERSION:
            which = "no tables yet" if version is None else "the tables of an older version"
            raise InputError(
                f"the store {location} has {which}, and may only be read",
                hint="open it once with the right to write: any command that stores something does so",
            )
        if not read_only:
            use_log(engine, location)
        if version != SCHEMA_VERSION:
            migrate(engine, location)
