"""Starts the server: opens what is shown, decides who may see it, says where it is, and ends at a signal."""

from __future__ import annotations

import ipaddress
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankscope.errors import InputError, OptionError
from rankscope.experiment.jobs import JobWorker
from rankscope.experiment.keep import project_store
from rankscope.experiment.project import NoProjectError, Project, load_project
from rankscope.progress import Progress
from rankscope.records import Options
from rankscope.store import Store, open_store
from rankscope.store.engine import StoreLocation, find_store, location_of, may_write
from rankscope.web.background import Background
from rankscope.web.library import Library

if TYPE_CHECKING:
    import uvicorn

    from rankscope.web.accounts import StoreAuthenticator
    from rankscope.web.security import TrustedProxy
    from rankscope.web.shield import Shield
    from rankscope.web.site import SiteSummary

MOST_CONNECTIONS = 400
KEEP_ALIVE_S, HEAD_S, SHUTDOWN_S = 15, 20, 4
"""How long a connection may be silent, a request's headers may take, and readers may finish at the end."""


class ServeOptions(Options):
    """How the page is served, as `rankscope serve` takes it."""

    hosts: tuple[str, ...] = ()
    """Names that the server is reached by, beside its address."""
    token: str | None = None
    """What opens the page as its owner; made up where there are no users, and none is given."""
    proxy_from: tuple[str, ...] = ()
    """Addresses or networks of a reverse proxy that is trusted."""
    proxy_header: str | None = None
    """The header in which it says who is signed in."""
    proxy_role: str | None = None
    """The role of those whom the store does not know."""


def open_library(project: str | None, store: str | None) -> Library:
    """Open the project, where there is one, and its store; one that cannot be written is opened for reading."""
    found: Project | None = None
    try:
        found = load_project(project)
    except NoProjectError:
        if project is not None:
            raise
    where = store or (project_store(found) if found is not None else None)
    location = where if isinstance(where, StoreLocation) else find_store() if where is None else location_of(where)
    if location is not None and not may_write(location):
        return Library(open_store(location, read_only=True), found)
    try:
        opened = open_store(location, create=found is not None)
    except InputError as error:
        if location is None or location.path is not None:
            raise
        try:  # a user of the database who may only read
            opened = open_store(location, read_only=True)
        except InputError:
            raise error from None
    if not opened.read_only and not is_writable(opened):
        opened.close()
        opened = open_store(location, read_only=True)
    return Library(opened, found)


def is_writable(store: Store) -> bool:
    """Tell whether a store that was opened for writing can be written: some files and databases only say so later."""
    path = store.location.path
    if path is not None:
        return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    with store.reading() as connection:
        return bool(connection.execute(sa.text("SELECT has_table_privilege('run', 'INSERT')")).scalar_one())


def written_site(library: Library, folder: Path, *, n_queries: int, progress: Progress | None = None) -> SiteSummary:
    """Write the pages of a library to a new folder, with at most so many pages of single queries."""
    try:
        from rankscope.web.pages import PAGES
        from rankscope.web.site import write_site
    except ImportError as error:
        raise missing_package(error) from error
    return write_site(library, PAGES, folder, limits={"/query": n_queries}, progress=progress)


def missing_package(error: ImportError) -> OptionError:
    return OptionError(
        f"the page needs the package {error.name}, which is not installed", hint='pip install "rankscope[web]"'
    )


class PageServer:
    """The application with its way in: who may come, by which link, and what has to be said about it."""

    def __init__(self, library: Library, listener: socket.socket, options: ServeOptions) -> None:
        self.library, self.listener = library, listener
        self.address, self.port = listener.getsockname()[:2]
        self.app, self.authenticator = self._build(options)

    def _build(self, options: ServeOptions) -> tuple[Shield, StoreAuthenticator]:
        try:
            import uvicorn  # noqa: F401 (asked for here, so that what is missing is said before anything is opened)

            from rankscope.web.accounts import StoreAuthenticator
            from rankscope.web.app import make_app
            from rankscope.web.security import TokenAuthenticator
        except ImportError as error:
            raise missing_package(error) from error
        proxy = trusted_proxy(options)
        store = self.library.store
        authenticator = StoreAuthenticator(store, token=options.token, proxy=proxy)
        if authenticator.login_page and store.read_only:
            raise InputError(
                "the store has users, but cannot be written, so that nobody could sign in",
                hint="give the user of this process the right to write it, or serve a copy: `rankscope store backup`",
            )
        if not (authenticator.login_page or proxy.header or options.token):
            authenticator.by_token = TokenAuthenticator()
        hosts = known_hosts(self.address, self.port, options.hosts)
        return make_app(self.library, authenticator, hosts=hosts, proxy=proxy), authenticator

    @property
    def url(self) -> str:
        """Where the page is, without a token."""
        address = "127.0.0.1" if self.address == "0.0.0.0" else "::1" if self.address == "::" else self.address  # noqa: S104
        return f"http://{f'[{address}]' if ':' in address else address}:{self.port}/"

    @property
    def link(self) -> str:
        """What opens the page: with the token, where there is one."""
        by_token = self.authenticator.by_token
        return self.url + (f"?token={by_token.token}" if by_token else "")

    def notes(self) -> Iterator[str]:
        """Yield what the person who starts it should know."""
        if self.library.store.read_only:
            yield "note: the store can only be read; pages are shown, and nothing new is kept"
        has_users = self.authenticator.login_page or self.authenticator.proxy.header
        if not has_users and not ipaddress.ip_address(self.address).is_loopback:
            yield (
                "warning: this server listens beyond this machine, and has no users: whoever has the link is its "
                "owner, and without https others on the network can read it. `rankscope user add` adds users; "
                "docs/deploy.md shows a proxy with https"
            )

    def run(self, *, on_start: Callable[[], object] = lambda: None) -> None:
        """Answer requests until SIGINT or SIGTERM, and hand the signal on."""
        import uvicorn

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                on_start()

        library = self.library
        library.background = Background(library.store.location, read_only=library.store.read_only)
        library.settler = Background(library.store.location, read_only=library.store.read_only)
        if library.project is not None and not library.store.read_only:
            library.worker = JobWorker(library.store, library.project.file)
            library.worker.start()
        try:
            Server(server_config(self.app)).run(sockets=[self.listener])
        finally:
            library.background.close()
            library.settler.close()
            if library.worker is not None:
                library.worker.stop()


def server_config(app: Shield, *, head_s: float = HEAD_S) -> uvicorn.Config:
    """Return how uvicorn serves an application: what it must neither do nor wait for."""
    import uvicorn

    from rankscope.web.protocol import protocol_class
    from rankscope.web.shield import LONGEST_HEAD

    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # addresses hold ids and texts of queries
        server_header=False,
        proxy_headers=False,  # `Shield` believes only the proxy that was named
        http=protocol_class(head_s),
        ws="none",
        h11_max_incomplete_event_size=LONGEST_HEAD,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )


def trusted_proxy(options: ServeOptions) -> TrustedProxy:
    """Return the proxy that options name.

    Raises
    ------
    OptionError
        They do not belong together, or an address is none.
    """
    from rankscope.web.security import ROLES, TrustedProxy

    networks = []
    for given in options.proxy_from:
        try:
            networks.append(ipaddress.ip_network(given, strict=False))
        except ValueError:
            raise OptionError(
                f"--proxy-from {given} is neither an address nor a network", hint="e.g. 127.0.0.1 or 10.0.0.0/8"
            ) from None
    header, role = options.proxy_header, options.proxy_role
    if header is not None and not networks:
        raise OptionError(
            "--proxy-header needs --proxy-from: anybody else could send that header, too",
            hint="--proxy-from 127.0.0.1 where the proxy runs on this machine",
        )
    if header is not None and not (header.isascii() and header.replace("-", "").isalnum()):
        raise OptionError(f"--proxy-header {header} cannot be the name of a header", hint="e.g. X-Remote-User")
    if role is not None and header is None:
        raise OptionError("--proxy-role goes with --proxy-header")
    known = next((each for each in ROLES if each == role), None)
    return TrustedProxy(tuple(networks), (header or "").lower(), known)


def known_hosts(address: str, port: int, more: Sequence[str]) -> list[str]:
    """Return the names that the server answers for.

    Others would be pages that have their own name lead to this machine, and speak to it behind one's back. Names that
    are given may come with the port of a proxy, or without one.
    """
    from rankscope.web.shield import host_forms

    for name in more:
        if not name or "/" in name or any(each.isspace() for each in name):
            raise OptionError(f"--allow-host {name} is no name of a host", hint="e.g. rankscope.example.org")
    own = ipaddress.ip_address(address)
    names = [address, *(["localhost", "127.0.0.1", "::1"] if own.is_loopback or own.is_unspecified else [])]
    given = [f"[{name}]" if is_ipv6(name) else name for name in more]
    return [form for name in names for form in host_forms(name, port)] + [
        form for name in given for form in (name, *([] if has_port(name) else [f"{name}:{port}"]))
    ]


def is_ipv6(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).version == 6
    except ValueError:
        return False


def has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


@contextmanager
def private_page(link: str) -> Iterator[str]:
    """Give the address of a file that leads to a link.

    The arguments of a browser can be seen by all users of a machine: a link with a token must not be among them.
    """
    import html

    with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:  # of this user alone
        path = Path(folder, "open.html")
        target = html.escape(link)
        path.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={target}">'
            f'<title>Rankscope</title><a href="{target}">Rankscope</a>',
            encoding="utf-8",
        )
        yield path.as_uri()
