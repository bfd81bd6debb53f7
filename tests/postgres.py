"""A real PostgreSQL server for the tests, from Debian's packages, with a database of its own for each test.

RANKSCOPE_TEST_POSTGRES=postgresql://… names one that is there already, whose user may create databases.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import sqlalchemy as sa

VARIABLE = "RANKSCOPE_TEST_POSTGRES"
TEMPLATE = "rankscope_template"
START_S = 60


class NoPostgresError(Exception):
    """There is no server, and none can be started."""


class PostgresServer:
    """A server on which every caller gets an empty database, or one that has the tables of a store already."""

    def __init__(self, url: str) -> None:
        self.url = sa.make_url(url).set(drivername="postgresql")
        self.template = f"{TEMPLATE}_{secrets.token_hex(6)}"
        self.has_template = False

    def ask(self, command: str) -> list[tuple]:
        with psycopg.connect(self.url.render_as_string(hide_password=False), autocommit=True) as connection:
            found = connection.execute(command)
            return found.fetchall() if found.description else []

    def address_of(self, database: str) -> str:
        return self.url.set(database=database).render_as_string(hide_password=False)

    def new_database(self, *, template: str = "template1") -> str:
        """Return the address of a new database."""
        name = f"rankscope_{secrets.token_hex(8)}"
        self.ask(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.address_of(name)

    def new_store(self) -> str:
        """Return the address of a database that has the tables, which takes no time for migrations."""
        from rankscope.store import open_store

        if not self.has_template:
            self.ask(f"CREATE DATABASE {self.template}")
            open_store(self.address_of(self.template), create=True).close()
            self.has_template = True
        return self.new_database(template=self.template)

    def drop(self, address: str) -> None:
        self.ask(f'DROP DATABASE IF EXISTS "{sa.make_url(address).database}" WITH (FORCE)')


def programs_folder() -> Path:
    """Return where initdb and postgres are; they are installed where that is possible."""
    for attempt in (1, 2):
        found = shutil.which("initdb")
        if found is not None and shutil.which("postgres") is not None:
            return Path(found).parent
        installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
        if installed:
            return installed[-1].parent
        if attempt == 1:
            install()
    raise NoPostgresError("apt-get install postgresql installed no initdb")


def install() -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise NoPostgresError(
            f"there is no PostgreSQL: apt-get install postgresql, or name a server: {VARIABLE}=postgresql://…"
        )
    with Path(tempfile.gettempdir(), "rankscope-tests-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of pytest come here at once
        for command in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
            done = subprocess.run(
                ["apt-get", "-qq", *command], capture_output=True, text=True, timeout=900, check=False
            )
            if done.returncode:
                raise NoPostgresError(f"there is no PostgreSQL, and it cannot be installed: {done.stderr[-300:]}")


def server_user() -> str | None:
    """Return the user that the server runs as: it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name for user in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@contextmanager
def running_server(*, fsync: bool = False) -> Iterator[PostgresServer]:
    """Give a server that ends with the block; its files are removed."""
    if given := os.environ.get(VARIABLE):
        server = PostgresServer(given)
        try:
            yield server
        finally:
            server.ask(f"DROP DATABASE IF EXISTS {server.template} WITH (FORCE)")
        return
    programs, user = programs_folder(), server_user()
    folder = Path(tempfile.mkdtemp(prefix="rankscope-pg-"))  # short: the path of a socket has at most 107 bytes
    try:
        if user is not None:
            account = pwd.getpwnam(user)
            os.chown(folder, account.pw_uid, account.pw_gid)
        as_user = {"user": user, "cwd": folder}
        made = subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
             "--no-sync"],
            **as_user, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode:
            raise NoPostgresError(f"initdb failed: {made.stderr[-500:]}")
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=",
                 "-c", f"fsync={'on' if fsync else 'off'}", "-c", "max_connections=200"],
                **as_user, stdout=log, stderr=log,
            )  # fmt: skip
        server = PostgresServer(f"postgresql://postgres@/postgres?host={folder}")
        try:
            wait_for(server, process, folder / "log")
            yield server
        finally:
            process.send_signal(signal.SIGINT)  # clients are not waited for
            process.wait(timeout=START_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(server: PostgresServer, process: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            server.ask("SELECT 1")
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise NoPostgresError(f"PostgreSQL does not start: {log.read_text()[-500:]}") from error
            time.sleep(0.05)
        else:
            return
