"""What every request must be, and every answer has: hosts, sizes, times, policies, ETags, errors that tell no secrets."""

import gzip
import json
import logging
import socket
from contextlib import suppress

import pytest
import urllib3
from crawl import crawl
from running import TOKEN, Server

from rankscope.errors import InputError, UnfinishedError
from rankscope.web import shield
from rankscope.web.pages import PAGES
from rankscope.web.security import RateLimit
from rankscope.web.serving import known_hosts
from rankscope.web.shield import LARGEST_BODY, MOST_PARAMETERS, host_forms

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"


def raw(server, sent, *, more=b"", timeout=30):
    """Send bytes as they are; return all that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        connection.sendall(sent)
        if more:
            connection.sendall(more)
        parts = []
        with suppress(ConnectionResetError):  # closed before all was read
            while part := connection.recv(65536):
                parts.append(part)
    return b"".join(parts)


class TestHosts:
    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1:{port}",
            "localhost:{port}",
            "LOCALHOST:{port}",
            "[::1]:{port}",
            "rankscope.example",
            "rankscope.example:{port}",
        ],
    )
    def test_own_names_are_answered(self, server, host):
        assert server.get("/", Host=host.format(port=server.port)).status == 200

    @pytest.mark.parametrize(
        "host",
        ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:1", "localhost.evil.example:{port}",
         "127.0.0.1:{port}.evil.example", "rankscope.example.evil.example", "a@127.0.0.1:{port}", "", "127.1:{port}"],
    )  # fmt: skip
    def test_others_are_not(self, server, host):
        assert server.get("/", Host=host.format(port=server.port)).status == 421

    def test_a_name_of_others_that_leads_here_gets_nothing(self, server):
        """DNS rebinding: the browser sends the request here, with the name of another page, be it with our cookie."""
        opened = server.ask("GET", f"/?token={TOKEN}")
        cookie = opened.headers["set-cookie"].split(";")[0]
        assert server.ask("GET", "/", Cookie=cookie).status == 200
        answer = server.ask("GET", "/index.json", Cookie=cookie, Host=f"rebound.example:{server.port}")
        assert answer.status == 421
        assert b"doctor-finder" not in answer.data

    def test_ports_that_browsers_leave_out(self):
        assert host_forms("localhost", 80) == ["localhost:80", "localhost"]
        assert host_forms("::1", 443) == ["[::1]:443", "[::1]"]
        assert host_forms("::1", 8321) == ["[::1]:8321"]

    def test_names_that_are_given(self):
        hosts = known_hosts("10.0.0.7", 8321, ("a.example", "b.example:9000", "2001:db8::1"))
        assert set(hosts) == {
            "10.0.0.7:8321", "a.example", "a.example:8321", "b.example:9000", "[2001:db8::1]", "[2001:db8::1]:8321",
        }  # fmt: skip

    def test_the_address_that_it_was_asked_on(self, library):
        """A server on all addresses is asked by any of them; an address is no name that others can point here."""
        with socket.create_server(("0.0.0.0", 0)) as probe:
            port = probe.getsockname()[1]
        assert shield.hosts_of({"server": ("192.0.2.7", port)}) == (f"192.0.2.7:{port}",)

    def test_over_ipv6(self, library):
        try:
            listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
        except OSError:
            pytest.skip("there is no IPv6 here")
        port = listener.getsockname()[1]
        listener.close()
        assert f"[::1]:{port}" in known_hosts("::1", port, ())


class TestSizes:
    def test_a_body_that_says_its_length(self, server):
        head = f"POST /share HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\n"
        answer = raw(server, f"{head}Content-Length: {LARGEST_BODY + 1}\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 413")

    def test_a_body_that_does_not(self, server):
        """It is refused while it arrives, whatever comes after."""
        head = (
            f"POST /share HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\n"
            f"Authorization: Bearer {TOKEN}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(head.encode())
            n_sent = 0
            with suppress(OSError):  # closed meanwhile
                while n_sent < 64 << 20:
                    connection.sendall(chunk)
                    n_sent += len(chunk)
        assert n_sent < 64 << 20

    def test_a_body_that_never_ends_is_given_up(self, server, monkeypatch):
        monkeypatch.setattr(shield, "BODY_S", 0.2)
        head = (
            f"POST /share HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\n"
            f"Content-Length: 100\r\nConnection: close\r\n\r\nx"
        )
        assert raw(server, head.encode()).startswith(b"HTTP/1.1 408")

    def test_headers_that_never_end_are_given_up(self, server):
        assert raw(server, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ") == b""
        assert raw(server, b"") == b""

    def test_headers_that_are_too_large(self, server):
        head = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Large: "
        assert raw(server, head + b"x" * 100_000 + b"\r\n\r\n").startswith(b"HTTP/1.1 431")
        assert server.get("/" + "x" * 40_000).status == 431
        assert server.get("/?x=" + "x" * 40_000).status == 431
        # where they do not end, they are not waited for
        assert raw(server, head + b"x" * 1_000_000).startswith((b"HTTP/1.1 400", b""))

    def test_too_many_parameters(self, server):
        assert server.get("/?" + "&".join(f"a{i}=1" for i in range(MOST_PARAMETERS))).status == 200
        answer = server.get("/?" + "&".join(f"a{i}=1" for i in range(MOST_PARAMETERS + 1)))
        assert (answer.status, b"too many parameters" in answer.data) == (400, True)

    @pytest.mark.parametrize("length", ["-1", "x", "1e3", "٣", "9" * 30])
    def test_lengths_that_are_none(self, server, length):
        answer = raw(
            server, f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {length}\r\n\r\n".encode()
        )
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413"))

    def test_too_many_requests(self, library):
        server = Server(library, rate_limit=RateLimit(per_second=0.0, at_once=3))
        try:
            answers = [server.get("/health") for _ in range(5)]
            assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
            assert answers[-1].headers["retry-after"]
        finally:
            server.close()


class TestAnswers:
    def answers(self, server):
        """Return an answer of every kind, by its status."""
        tag = server.get("/").headers["etag"]
        form = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {TOKEN}"}
        return {
            200: server.get("/"),
            303: server.ask("GET", f"/?token={TOKEN}"),
            304: server.get("/", **{"If-None-Match": tag}),
            400: server.get("/?" + "&" * 300),
            401: server.ask("GET", "/"),
            403: server.ask("POST", "/share", "", Origin="http://evil.example"),
            404: server.get("/no-such-page"),
            405: server.ask("DELETE", "/", None, Origin=server.url, **form),
            413: server.ask("POST", "/share", b"x" * (LARGEST_BODY + 1), Origin=server.url, **form),
            415: server.ask("POST", "/share", "{}", Origin=server.url, **{**form, "Content-Type": "application/json"}),
            421: server.get("/", Host="evil.example"),
        }

    def test_each_has_the_policy_and_the_status(self, server, library, monkeypatch):
        answers = self.answers(server)
        monkeypatch.setattr(library.store.links, "list", lambda: 1 / 0)
        answers[500] = server.get("/share")
        monkeypatch.undo()
        for status, answer in answers.items():
            assert answer.status == status, answer.data
            assert answer.headers["content-security-policy"].startswith(POLICY), status
            assert "unsafe" not in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert "server" not in answer.headers
            assert answer.headers["cache-control"], status

    def test_errors_are_pages_and_json(self, server):
        page = server.get("/no-such-page")
        assert b"There is no such page." in page.data
        assert page.headers["content-type"].startswith("text/html")
        assert server.get("/no-such-page.json").json() == {"error": "There is no such page.", "hint": ""}
        assert server.get("/no-such-page", Accept="application/json").json()["error"]
        assert "GET" in self.answers(server)[405].headers["allow"]

    def test_what_is_known_is_not_sent_again(self, server):
        for route in PAGES:
            for path in (route.path, "/index.json" if route.path == "/" else f"{route.path}.json"):
                first = server.get(path)
                again = server.get(path, **{"If-None-Match": f'"other", {first.headers["etag"]}'})
                assert (again.status, again.data) == (304, b""), path
                assert again.headers["etag"] == first.headers["etag"]
                assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
                assert server.get(path, **{"If-None-Match": 'W/"other"'}).status == 200

    def test_another_state_and_another_reader_have_another_tag(self, server, library):
        before = server.get("/share").headers["etag"]
        library.store.links.add("/", who="x", lasts_s=60)
        assert server.get("/share", **{"If-None-Match": before}).status == 200
        cookie = server.ask("GET", f"/?token={TOKEN}").headers["set-cookie"].split(";")[0]
        # the forms of a browser's page hold a secret that those of a program do not
        assert server.ask("GET", "/share", Cookie=cookie).headers["etag"] != server.get("/share").headers["etag"]

    def test_head_is_get_without_content(self, server):
        for path, status in (("/", 200), ("/index.json", 200), ("/no-such-page", 404)):
            got = server.get(path, **{"Accept-Encoding": "identity"})
            headers = {"Authorization": f"Bearer {TOKEN}", "Accept-Encoding": "identity"}
            head = server.ask("HEAD", path, None, **headers)
            assert (head.status, head.data) == (status, b"")
            assert head.headers.get("etag") == got.headers.get("etag")
            assert int(head.headers["content-length"]) >= len(got.data) - 200  # the secret of forms has another form

    def test_large_answers_are_compressed(self, server):
        with urllib3.PoolManager() as pool:
            headers = {"Authorization": f"Bearer {TOKEN}", "Accept-Encoding": "gzip"}
            answer = pool.request("GET", server.url + "/", headers=headers, decode_content=False, preload_content=False)
            packed = answer.read(decode_content=False)
        assert answer.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in answer.headers["vary"].lower()
        assert "cookie" in ", ".join(answer.headers.getlist("vary")).lower()
        assert b"<h1" in gzip.decompress(packed)

    def test_files_are_kept_for_ever_only_by_their_hash(self, server):
        html = server.get("/").data.decode()
        newest = html.split('rel="stylesheet" href="')[1].split('"')[0]
        assert "immutable" in server.ask("GET", newest).headers["cache-control"]
        for other in (newest.split("?")[0], newest + "0"):
            assert server.ask("GET", other).headers["cache-control"] == "no-cache"
        for path in ("/static/..%2fapp.py", "/static/.hidden.js", "/static/none.css", "/static/app.py"):
            assert server.ask("GET", path).status == 404


class TestErrors:
    LEAKS = ("/home/secret", "SELECT", "Traceback", "hunter2", "server.internal", ".py", "site-packages")

    @pytest.mark.parametrize(
        ("error", "status", "said"),
        [
            (OSError(5, "Input/output error", "/home/secret/store.db"), 500, "went wrong in Rankscope itself"),
            (ZeroDivisionError("SELECT password FROM x; hunter2hunter2"), 500, "went wrong"),
            (UnfinishedError("the store /home/secret/.rankscope/store.db is locked", hint="try again later"), 503, "store.db is locked"),
            (InputError("postgresql://me:hunter2@server.internal/db cannot be opened", hint="see /home/secret/x.toml"), 400, "cannot be opened"),
            (InputError("the key hunter2hunter2 is wrong"), 400, "the key ${MY_API_KEY} is wrong"),
        ],
    )  # fmt: skip
    def test_they_show_no_paths_no_sql_and_no_secrets(  # noqa: PLR0917
        self, library, error, status, said, monkeypatch, caplog
    ):
        monkeypatch.setenv("MY_API_KEY", "hunter2hunter2")
        library.__dict__.pop("secrets", None)
        server = Server(library)

        def fail(*_):
            raise error

        try:
            monkeypatch.setattr(library.store.links, "list", fail)
            with caplog.at_level(logging.DEBUG):
                answers = [server.get("/share"), server.get("/share.json")]
        finally:
            server.close()
            library.__dict__.pop("secrets", None)
        for answer in answers:
            assert answer.status == status
            assert not [leak for leak in self.LEAKS if leak in answer.data.decode()], answer.data
        assert said in json.loads(answers[1].data)["error"]
        assert "hunter2hunter2" not in caplog.text
        if status == 500:
            number = json.loads(answers[1].data)["hint"].split()[-1].rstrip(".")
            assert f"error {number} on /share.json" in caplog.text
            assert type(error).__name__ in caplog.text


def test_every_page_is_in_order(server):
    """All that can be reached by links answers, and none of it needs more than the policy allows."""
    import html5lib

    n = 0
    for address, answer in crawl(server.get):
        assert answer.status == 200, f"{address}: {answer.status}"
        n += 1
        if "html" not in answer.headers["content-type"] or "attachment" in answer.headers.get(
            "content-disposition", ""
        ):
            continue  # data, or a file to keep
        tree = html5lib.parse(answer.data.decode(), namespaceHTMLElements=False)
        for element in tree.iter():
            if not isinstance(element.tag, str):
                continue
            odd = [name for name in element.attrib if name == "style" or name.lower().startswith(("on", "hx-on"))]
            assert not odd, f"{address}: <{element.tag} {odd}>"
            if element.tag == "script":
                assert element.get("src", "").startswith("/static/"), f"{address}: a script of its own"
                assert not (element.text or "").strip()
            for name in ("href", "src", "action", "formaction"):
                target = element.get(name, "")
                assert not target.lower().startswith(("http:", "https:", "//", "javascript:", "data:text")), target
    assert n >= 2 * len(PAGES)
