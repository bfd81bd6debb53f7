"""Open the page: look at results, compare, follow single queries, and see what needs somebody.

PROJECT is a rankscope.toml or the folder of one; without it the nearest one is taken, from the current folder upwards,
and where there is none, the nearest store. The page is for this machine alone unless --host says otherwise.

Who gets in: where the store has no users, whoever has the link that is printed, as its owner. As soon as
`rankscope user add` has added users, everybody signs in with a name and a password. Behind a reverse proxy that signs
people in itself, --proxy-header names the header in which it says who they are; only the addresses of --proxy-from are
believed.
"""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.errors import InputError, OptionError

if TYPE_CHECKING:
    from rankscope.web.serving import PageServer

EPILOG = """\
examples:
  rankscope serve                         the store of this project, on http://127.0.0.1:8321
  rankscope serve --open                  the same, and the browser opens it
  rankscope serve search/ --port 9000
  rankscope serve --store postgresql://me@server/rankscope
  rankscope serve --check                 open everything, say what would be served and to whom, and end
  RANKSCOPE_TOKEN=… rankscope serve       the same link after every start

for a team (docs/deploy.md has the whole of it):
  rankscope user add ada owner
  rankscope serve --allow-host rankscope.example.org --proxy-from 127.0.0.1
  rankscope serve --proxy-from 10.0.0.5 --proxy-header X-Remote-User --proxy-role viewer"""
PORT = 8321


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", nargs="?", help="the project file, or its folder")
    options.add_store_option(parser)
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"the port (default: {PORT}; 0 takes a free one)"
    )
    name = "a name that the server is reached by, as behind a proxy; others are refused; may be repeated"
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=name)
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    check = "open the store and the port, print what would be served and to whom, and end"
    parser.add_argument("--check", action="store_true", help=check)
    proxy = parser.add_argument_group("behind a reverse proxy")
    trusted = "an address or network of the proxy; what it says of clients is believed; may be repeated"
    proxy.add_argument("--proxy-from", action="append", default=[], metavar="ADDRESS", help=trusted)
    header = "the header in which the proxy names who is signed in; from other addresses it is refused"
    proxy.add_argument("--proxy-header", metavar="NAME", help=header)
    role = "the role of those whom the store does not know: viewer or rater (default: they are kept out)"
    proxy.add_argument("--proxy-role", choices=("viewer", "rater", "editor"), metavar="ROLE", help=role)


def run(args: argparse.Namespace) -> int:
    from rankscope.web.serving import PageServer, ServeOptions, open_library

    if args.open and args.check:
        raise OptionError("--check ends before there is anything to --open")
    asked = ServeOptions(
        hosts=tuple(args.allow_host),
        token=os.environ.get("RANKSCOPE_TOKEN") or None,
        proxy_from=tuple(args.proxy_from),
        proxy_header=args.proxy_header,
        proxy_role=args.proxy_role,
    )
    library = open_library(args.project, args.store)
    try:
        with listening(args.host, args.port) as listener:
            server = PageServer(library, listener, asked)
            if args.check:
                print_check(server)
            else:
                serve(server, opens=args.open)
    finally:
        library.close()
    return FINE


def serve(server: PageServer, *, opens: bool = False) -> None:
    """Say where the page is, open it where that is asked for, and answer until a signal comes."""
    from rankscope.web.serving import private_page

    for note in server.notes():
        say(note)
    say(f"Rankscope is at {server.link}")
    say("Ctrl-C ends it")
    with private_page(server.link) as page:
        server.run(on_start=(lambda: open_browser(page)) if opens else lambda: None)


def open_browser(page: str) -> None:
    """Open a page, in a thread of its own: some browsers return only when they are closed."""
    import threading
    import webbrowser

    def open_it() -> None:
        if not webbrowser.open(page):
            say("note: no browser was found here; open the link above")

    threading.Thread(target=open_it, daemon=True).start()


def print_check(server: PageServer) -> None:
    """Print what would be served: what is shown, where, and who gets in."""
    from rankscope.printable import counted
    from rankscope.store.upkeep import store_info

    store, proxy = server.library.store, server.authenticator.proxy
    ways = [
        *(["users of the store, by name and password"] if server.authenticator.login_page else []),
        *([f"whom the proxy names in the header {proxy.header}"] if proxy.header else []),
        *(["whoever has the token of the start, as owner"] if server.authenticator.by_token else []),
    ]
    project = server.library.project
    print(f"project  {project.file if project is not None else 'none'}")
    print(f"store    {store.location}, {counted(store_info(store).rows['run'], 'run')}")
    print(f"address  {server.url}")
    print(f"who      {'; '.join(ways)}")
    for note in server.notes():
        print(note)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, before anything is said of it."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port is {port}, but it must be from 0 to 65535")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"port {port} of {host} is in use by another program",
                hint="is `rankscope serve` running already? --port 0 takes a free port",
            ) from error
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="--host takes an address of this machine, and ports below 1024 need the right to use them",
        ) from error
