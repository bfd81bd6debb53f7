"""Signing in and out, sessions that end, a proxy that signs people in, and read-only links."""

import re
from ipaddress import ip_network
from urllib.parse import urlencode

import pytest
import urllib3
from running import Server
from sample import fill_store

from rankscope.store.upkeep import back_up
from rankscope.store.users import SESSION_S
from rankscope.web.accounts import IDLE_S, StoreAuthenticator
from rankscope.web.library import Library
from rankscope.web.security import TrustedProxy
from set_clock import SetClock

PASSWORD = "correct horse battery"
LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    opened = fill_store(tmp_path_factory.mktemp("accounts"), n_queries=4, weeks=("2026-10-05",))
    opened.users.add("ada", "owner", password=PASSWORD)
    opened.users.add("vera", "viewer", password=PASSWORD)
    opened.clock = SetClock()
    yield opened
    opened.close()


@pytest.fixture
def team(store):
    server = Server(Library(store), authenticator=StoreAuthenticator(store))
    yield server
    server.close()


class Browser:
    """Keeps cookies, and sends forms as a browser does."""

    def __init__(self, server, host=None, **headers):
        self.server, self.cookies, self.headers = server, {}, headers
        self.origin = f"http://{host}" if host else server.url
        if host:
            self.headers["Host"] = host

    def ask(self, method, path, body=None, **more):
        headers = {**self.headers, **more}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = urllib3.request(method, self.server.url + path, body=body, headers=headers, redirect=False)
        for cookie in answer.headers.getlist("set-cookie"):
            name, _, value = cookie.split(";")[0].partition("=")
            if "Max-Age=0" in cookie:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer

    def get(self, path):
        return self.ask("GET", path)

    def send(self, path, *, on, **fields):
        """Send a form that stands on a page."""
        secret = re.search(r'name="secret" value="(\w+)"', self.get(on).data.decode())
        body = urlencode({"secret": secret[1] if secret else "", **fields})
        sent = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, body, **sent)

    def log_in(self, name="ada", password=PASSWORD, **more):
        return self.send("/login", on="/login", name=name, password=password, **more)


def test_a_page_leads_to_the_login_and_back(team):
    browser = Browser(team)
    sent_away = browser.get("/?collection=doctor-finder")
    assert (sent_away.status, sent_away.headers["location"]) == (303, "/login?to=%2F%3Fcollection%3Ddoctor-finder")
    done = browser.log_in(to="/?collection=doctor-finder")
    assert (done.status, done.headers["location"]) == (303, "/?collection=doctor-finder")
    cookie = done.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert f"Max-Age={SESSION_S}" in cookie
    assert "Secure" not in cookie  # there is no https here
    page = browser.get("/")
    assert page.status == 200
    assert b"ada" in page.data
    assert b"Sign out" in page.data


@pytest.mark.parametrize(
    "to", ["//evil.example", "/\\evil.example", "https://evil.example", "/%0aSet-Cookie:x=1", "/\nX: 1"]
)
def test_nobody_is_sent_elsewhere_after_the_login(team, to):
    where = Browser(team).log_in(to=to).headers["location"]
    assert where in ("/", "/%0aSet-Cookie:x=1")


def test_a_wrong_name_and_a_wrong_password_are_answered_alike(team):
    answers = [Browser(team).log_in(name, password) for name, password in (("ada", "wrong"), ("nobody", "wrong"))]
    texts = [re.sub(r'value="\w*"', "", answer.data.decode()) for answer in answers]
    assert [answer.status for answer in answers] == [403, 403]
    assert texts[0] == texts[1]
    assert "The name or the password is wrong." in texts[0]
    assert not any("rankscope_session" in answer.headers.get("set-cookie", "") for answer in answers)


def test_a_password_is_hashed_for_a_name_that_there_is_not(store, monkeypatch):
    """So that the time does not tell which names there are."""
    import hashlib

    derived = []
    real = hashlib.scrypt
    monkeypatch.setattr(hashlib, "scrypt", lambda *given, **more: derived.append(more["n"]) or real(*given, **more))
    for name in ("ada", "nobody"):
        assert store.users.check_password(name, "wrong") is None
    assert len(derived) == 2
    assert derived[0] == derived[1]


@pytest.fixture
def still(monkeypatch):
    """Let no time go by for limits."""
    monkeypatch.setattr("rankscope.web.security.monotonic", lambda: 1.0)


@pytest.mark.usefixtures("still")
def test_passwords_cannot_be_tried_without_end(team):
    browser = Browser(team)
    statuses = [browser.log_in("vera", "wrong").status for _ in range(12)]
    assert statuses[:10] == [403] * 10
    assert statuses[-1] == 429
    assert browser.log_in("vera", PASSWORD).status == 429  # the right one does not count either
    assert browser.log_in("ada").status == 303  # others are not kept out


@pytest.mark.usefixtures("still")
def test_one_client_cannot_try_many_names(team):
    browser = Browser(team)
    statuses = [browser.log_in(f"name-{i}", "wrong").status for i in range(22)]
    assert statuses[0] == 403
    assert statuses[-1] == 429


def test_logging_out_ends_the_session_for_good(team):
    browser = Browser(team)
    browser.log_in()
    kept = dict(browser.cookies)
    assert browser.send("/logout", on="/").status == 303
    assert browser.get("/").status == 303
    browser.cookies = kept
    assert browser.get("/").headers["location"].startswith("/login")


def test_a_session_ends_when_it_is_not_used_and_after_two_weeks(team, store):
    idle, busy = Browser(team), Browser(team)
    for browser in (idle, busy):
        browser.log_in()
    started = store.clock.seconds
    for day in range(1, 14):
        store.clock.seconds = started + day * 24 * 3600
        assert busy.get("/").status == 200, day
    assert IDLE_S < 13 * 24 * 3600
    assert [idle.get("/").status, idle.get("/").status] == [303, 303]
    store.clock.seconds = started + SESSION_S + 60
    assert busy.get("/").status == 303


def test_users_who_are_disabled_or_get_another_role_lose_it_at_once(team, store):
    store.users.add("eddy", "editor", password=PASSWORD)
    browser = Browser(team)
    browser.log_in("eddy")
    assert browser.get("/share").status == 200
    store.users.set_role("eddy", "viewer")
    assert browser.get("/share").status == 403
    store.users.set_disabled("eddy", is_disabled=True)
    assert browser.get("/").status == 303
    assert browser.log_in("eddy").status == 403


class TestProxy:
    @pytest.fixture
    def behind(self, store):
        servers = []

        def serve(**given):
            proxy = TrustedProxy(**{"networks": LOOPBACK, "header": "x-remote-user", **given})
            servers.append(Server(Library(store), authenticator=StoreAuthenticator(store, proxy=proxy), proxy=proxy))
            return servers[-1]

        yield serve
        for server in servers:
            server.close()

    def test_whom_it_names_has_the_role_of_the_store(self, behind):
        server = behind()
        assert b"ada" in server.ask("GET", "/share", **{"X-Remote-User": "ada"}).data
        assert server.ask("GET", "/share", **{"X-Remote-User": "vera"}).status == 403
        assert server.ask("GET", "/", **{"X-Remote-User": "vera"}).status == 200
        assert server.ask("GET", "/", **{"X-Remote-User": "stranger"}).status == 303
        assert behind(role="viewer").ask("GET", "/", **{"X-Remote-User": "stranger"}).status == 200

    def test_the_header_is_refused_from_other_addresses_and_twice(self, behind):
        elsewhere = behind(networks=(ip_network("10.0.0.5"),))
        for named in ("ada", "", "nobody"):
            answer = elsewhere.ask("GET", "/", **{"X-Remote-User": named})
            assert (answer.status, b"not from the proxy" in answer.data) == (403, True)
        # nor can the address be forged
        forged = {"X-Remote-User": "ada", "X-Forwarded-For": "10.0.0.5", "Forwarded": "for=10.0.0.5"}
        assert elsewhere.ask("GET", "/", **forged).status == 403
        headers = urllib3.HTTPHeaderDict([("X-Remote-User", "vera"), ("X-Remote-User", "ada")])
        # a list of two in one header is the name of nobody
        assert urllib3.request("GET", behind().url + "/", headers=headers, redirect=False).status in (303, 403)

    def test_its_users_need_the_secret_of_forms_too(self, behind):
        server = behind()
        browser = Browser(server, **{"X-Remote-User": "ada"})
        assert browser.send("/share", on="/share", page="/").status == 200
        sent = {"Origin": server.url, "Content-Type": "application/x-www-form-urlencoded", "X-Remote-User": "ada"}
        assert server.ask("POST", "/share", "page=/", **sent).status == 403

    def test_behind_https_cookies_are_secure(self, behind):
        server = behind()
        browser = Browser(server, host="rankscope.example", **{"X-Forwarded-Proto": "https"})
        browser.origin = "https://rankscope.example"
        assert "; Secure" in browser.log_in().headers["set-cookie"]
        browser = Browser(behind(networks=()), host="rankscope.example", **{"X-Forwarded-Proto": "https"})
        assert "; Secure" not in browser.log_in().headers["set-cookie"]

    @pytest.mark.usefixtures("still")
    def test_limits_count_the_client_and_not_the_proxy(self, behind):
        server = behind()
        first, second = (Browser(server, **{"X-Forwarded-For": f"9.9.9.9, 198.51.100.{i}"}) for i in (1, 2))
        assert [first.log_in(f"a{i}", "x").status for i in range(22)][-1] == 429
        assert second.log_in("ada").status == 303


class TestLinks:
    def test_a_link_opens_the_page_as_it_is_and_changes_nothing(self, team):
        owner = Browser(team)
        owner.log_in()
        made = owner.send("/share", on="/share", page="/?collection=doctor-finder", days="7")
        link = re.search(r'value="(http://[^"]+token=[\w-]+)"', made.data.decode())[1].replace("&amp;", "&")
        assert made.headers["cache-control"] == "no-store"
        reader = Browser(team)
        opened = reader.get(link.removeprefix(team.url))
        assert (opened.status, opened.headers["location"]) == (303, "/?collection=doctor-finder")
        assert reader.get("/?collection=doctor-finder").status == 200
        assert reader.get("/share").status == 403
        answer = reader.send("/share", on="/", page="/")
        assert answer.status == 403
        (token,) = re.findall(r"token=([\w-]+)", link)
        assert token not in owner.get("/share").data.decode()  # it is not kept, so it is not shown again
        assert token not in owner.get("/share.json").data.decode()

    def test_revoked_and_expired_links_are_good_for_nothing(self, team, store):
        owner = Browser(team)
        owner.log_in()
        for ends in ("revoked", "expired"):
            token = store.links.add("/", who="ada", lasts_s=3600)
            reader = Browser(team)
            assert reader.get(f"/?token={token}").status == 303
            assert reader.get("/").status == 200
            if ends == "revoked":
                number = store.links.list()[0].number
                assert owner.send("/share/revoke", on="/share", number=str(number)).status == 303
            else:
                store.clock.seconds += 2 * 3600
            assert reader.get("/").headers["location"].startswith("/login")
            assert Browser(team).get(f"/?token={token}").status == 403

    def test_who_is_signed_in_stays_so(self, team, store):
        owner = Browser(team)
        owner.log_in()
        assert owner.get(f"/share?token={store.links.add('/', who='ada', lasts_s=60)}").status == 303
        assert owner.get("/share").status == 200

    @pytest.mark.parametrize("fields", [{"days": "91"}, {"days": "0"}, {"days": "-1"}, {"days": "x"}, {"days": "1e3"}])
    def test_no_link_lasts_for_ever(self, team, fields):
        owner = Browser(team)
        owner.log_in()
        before = owner.get("/share.json").json()["links"]
        assert owner.send("/share", on="/share", page="/", **fields).status == 400
        assert owner.get("/share.json").json()["links"] == before

    def test_a_link_leads_to_no_other_site(self, team):
        owner = Browser(team)
        owner.log_in()
        made = owner.send("/share", on="/share", page="//evil.example/")
        assert f'value="{team.url}/?token=' in made.data.decode()


def test_neither_passwords_nor_tokens_are_in_the_store(store, team, tmp_path):
    browser = Browser(team)
    browser.log_in()
    token = store.links.add("/", who="ada", lasts_s=3600)
    (session,) = [value for name, value in browser.cookies.items() if "session" in name]
    back_up(store, tmp_path / "copy.db")
    content = (tmp_path / "copy.db").read_bytes()
    assert b"share_link" in content
    for secret in (PASSWORD, session, token):
        assert secret.encode() not in content
