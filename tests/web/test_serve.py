"""The command: where it listens, how it ends, what it warns of, and what it refuses."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3
from sample import fill_store

from rankscope.cli.exit_codes import INTERRUPTED, TERMINATED, WRONG_INPUT
from rankscope.errors import InputError, OptionError
from rankscope.web import serving
from rankscope.web.serving import PageServer, ServeOptions, open_library, private_page, trusted_proxy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a small store."""
    made = tmp_path_factory.mktemp("serve")
    fill_store(made, n_queries=4, weeks=("2026-10-05",)).close()
    return made


@contextmanager
def serving_in(folder, *arguments, **environment):
    """Give the process of a server, and its link."""
    with subprocess.Popen(
        [sys.executable, "-m", "rankscope", "serve", "--port", "0", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            lines = []
            for line in started.stderr:
                lines.append(line)
                if found := re.search(r"Rankscope is at (http\S+)", line):
                    yield started, found[1]
                    return
            raise AssertionError(f"it did not start: {lines}")
        finally:
            started.kill()


def opened_cookie(link):
    answer = urllib3.request("GET", link, redirect=False, retries=urllib3.Retry(30, backoff_factor=0.1))
    assert answer.status == 303
    return answer.headers["set-cookie"].split(";")[0]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_signal_ends_it_with_its_code(folder, number, code):
    with serving_in(folder) as (started, link), urllib3.PoolManager() as pool:
        cookie = opened_cookie(link)
        page = pool.request("GET", link.partition("?")[0], headers={"Cookie": cookie})
        assert page.status == 200  # its connection is kept open, which does not hold the end up
        started.send_signal(number)
        assert started.wait(timeout=30) == code
        assert "Traceback" not in started.stderr.read()


def test_a_port_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "rankscope", "serve", "--port", port], cwd=folder, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == WRONG_INPUT
    assert f"error: port {port} of 127.0.0.1 is in use by another program" in done.stderr
    assert "--port 0" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--port 70000", "must be from 0 to 65535"),
        ("--host no.such.host.invalid", "cannot listen on"),
        ("--proxy-header X-User", "--proxy-header needs --proxy-from"),
        ("--proxy-from nonsense", "neither an address nor a network"),
        ("--proxy-from 127.0.0.1 --proxy-role viewer", "--proxy-role goes with --proxy-header"),
        ("--proxy-from 127.0.0.1 --proxy-header a:b", "cannot be the name of a header"),
        ("--allow-host https://a.example/", "is no name of a host"),
        ("--check --open", "--check ends before"),
    ],
)
def test_what_makes_no_sense_is_refused(folder, arguments, said, rankscope_in):
    done = rankscope_in(folder, "serve", "--port", "0", *arguments.split())
    assert (done[0], "Traceback" in done[1]) == (WRONG_INPUT, False)
    assert said in done[1]


@pytest.fixture
def rankscope_in(capsys, monkeypatch):
    from rankscope.cli.main import main

    def call(folder, *arguments):
        monkeypatch.chdir(folder)
        return main(list(arguments)), "".join(capsys.readouterr())

    return call


def test_check_says_what_would_be_served(folder, rankscope_in, monkeypatch):
    monkeypatch.delenv("RANKSCOPE_TOKEN", raising=False)
    code, said = rankscope_in(folder, "serve", "--check", "--port", "0")
    assert code == 0
    assert re.search(r"^store +\S+store.db, 3 runs$", said, re.MULTILINE)
    assert "whoever has the token of the start, as owner" in said
    assert "token=" not in said
    code, said = rankscope_in(folder, "serve", "--check", "--port", "0", "--host", "0.0.0.0")
    assert "warning: this server listens beyond this machine, and has no users" in said
    given = ("--proxy-from", "10.0.0.0/8", "--proxy-header", "X-Remote-User")
    code, said = rankscope_in(folder, "serve", "--check", "--port", "0", "--host", "0.0.0.0", *given)
    assert "whom the proxy names in the header x-remote-user" in said
    assert "warning" not in said


def test_users_make_a_login_of_it(tmp_path, rankscope_in):
    store = fill_store(tmp_path, n_queries=3, weeks=("2026-10-05",))
    store.users.add("ada", "owner", password="a long password")
    store.close()
    code, said = rankscope_in(tmp_path, "serve", "--check", "--port", "0", "--host", "0.0.0.0")
    assert code == 0
    assert "users of the store, by name and password" in said
    assert "token" not in said
    assert "warning" not in said


def test_a_token_of_ones_own_gives_the_same_link(folder):
    with serving_in(folder, RANKSCOPE_TOKEN="chosen-by-me") as (_, link):
        assert link.endswith("/?token=chosen-by-me")
        assert opened_cookie(link)


class TestStoreThatCannotBeWritten:
    @pytest.fixture(autouse=True)
    def unwritable(self, monkeypatch):
        """Root may write anything, so that what the system says is said here."""
        monkeypatch.setattr(serving, "is_writable", lambda _: False)

    def test_pages_are_shown_with_a_note(self, folder, monkeypatch):
        from running import TOKEN, Server

        monkeypatch.chdir(folder)
        library = open_library(None, None)
        assert library.store.read_only
        server = Server(library)
        try:
            page = server.get("/")
            assert page.status == 200
            assert b"The store can only be read here" in page.data
            assert server.get("/share").status == 200
            headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
            answer = server.ask("POST", "/share", "page=/", Origin=server.url, **headers)
            assert answer.status == 400
            assert str(folder).encode() not in answer.data
        finally:
            server.close()
            library.store.close()

    def test_nobody_could_sign_in(self, tmp_path, monkeypatch):
        store = fill_store(tmp_path, n_queries=3, weeks=("2026-10-05",))
        store.users.add("ada", "owner", password="a long password")
        store.close()
        monkeypatch.chdir(tmp_path)
        library = open_library(None, None)
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            pytest.raises(InputError, match="nobody could sign in"),
        ):
            PageServer(library, listener, ServeOptions())
        library.store.close()


def test_what_is_writable(folder, monkeypatch):
    library = open_library(None, str(folder / ".rankscope" / "store.db"))
    assert serving.is_writable(library.store)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not serving.is_writable(library.store)
    library.store.close()


def test_a_broken_project_file_is_not_passed_over(folder, tmp_path, monkeypatch):
    (tmp_path / "rankscope.toml").write_text("x = [")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        open_library(None, str(folder / ".rankscope" / "store.db"))


def test_the_link_is_no_argument_of_a_browser():
    """All users of a machine can see the arguments of programs; the file that holds the link is of one user alone."""
    with private_page("http://127.0.0.1:1/?token=secret&x=1") as address:
        assert "secret" not in address
        path = Path(address.removeprefix("file://"))
        assert "token=secret&amp;x=1" in path.read_text("utf-8")
        assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.exists()


def test_the_browser_is_opened_once_the_server_answers(folder, tmp_path):
    marker = tmp_path / "opened"
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\necho "$1" > {marker}.half && mv {marker}.half {marker}\n')
    browser.chmod(0o755)
    with serving_in(folder, "--open", BROWSER=str(browser)) as (_, link):
        opened_cookie(link)
        for _ in range(300):
            if marker.exists():
                break
            time.sleep(0.1)
        assert marker.read_text().startswith("file://")
        assert "token" not in marker.read_text()


def test_a_network_of_proxies():
    proxy = trusted_proxy(ServeOptions(proxy_from=("10.0.0.0/8", "::1"), proxy_header="X-User", proxy_role="viewer"))
    assert [proxy.trusts(address) for address in ("10.9.9.9", "::1", "::ffff:10.1.1.1")] == [True] * 3
    assert [proxy.trusts(address) for address in ("11.0.0.1", "::2", "", "testclient", "127.0.0.1")] == [False] * 5
    with pytest.raises(OptionError):
        trusted_proxy(ServeOptions(proxy_header="X-User"))


@pytest.mark.slow
def test_the_demo_opens_its_page(tmp_path):
    """`rankscope demo --recipes --serve`: measured, kept in a store of its own, shown; given again, shown at once."""
    browser = tmp_path / "browser.sh"
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-m", "rankscope", "demo", "--recipes", "--serve", "--folder", "made"],
            cwd=tmp_path, env={**os.environ, "BROWSER": str(browser), "RANKSCOPE_STORE": str(tmp_path / "other.db")},
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        ) as started:  # fmt: skip
            try:
                links = (re.search(r"Rankscope is at (http\S+)", line) for line in started.stderr)
                link = next(found[1] for found in links if found)
                cookie = opened_cookie(link)
                page = urllib3.request("GET", link.partition("?")[0] + "index.json", headers={"Cookie": cookie})
                assert page.json()["runs"]
            finally:
                started.kill()
    assert (tmp_path / "made" / ".rankscope" / "store.db").exists()
    assert not (tmp_path / "other.db").exists()
