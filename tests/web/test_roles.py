"""Who may do what: every route of the application, for every role and for nobody."""

import pytest
from running import Server
from sample import fill_store

from rankscope.web.accounts import StoreAuthenticator
from rankscope.web.library import Library
from rankscope.web.security import ANYONE, ROLES, Identity, form_secret
from rankscope.web.shield import COOKIE

DENIED = (b"This needs the role", b"You are not signed in", b"read-only link, and can change nothing", b"has no rule")


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    """A server on a store with a user of every role; `team.cookie(role)` is a session of one."""
    store = fill_store(tmp_path_factory.mktemp("team"), n_queries=6, weeks=("2026-10-05",))
    for role in ROLES:
        store.users.add(f"{role}-person", role, password="correct horse battery")
    server = Server(Library(store), authenticator=StoreAuthenticator(store))
    yield server
    server.close()
    store.close()


def sessions(team):
    """Return the session of every role, of nobody, and of who has a read-only link."""
    users, links = team.library.store.users, team.library.store.links
    opened = {role: users.open_session(f"{role}-person") for role in ROLES}
    return {**opened, "nobody": None, "link": "link." + links.add("/", who="owner-person", lasts_s=3600)}


def routes(team):
    """Yield method, path and rule of every handler."""
    for route in team.app.app.routes:
        for handler in route.route_handlers:
            for method in handler.http_methods:
                if method != "OPTIONS":  # Litestar's own; refused before it gets there
                    yield method, route.path_format.replace("{name}", "app.js"), handler.opt.get("role")


def ask(team, method, path, session, *, origin=None, secret=True):
    headers = {"Origin": origin or team.url}
    if session:
        headers["Cookie"] = f"{COOKIE}_{team.port}={session}"
    body = None
    if method not in ("GET", "HEAD"):
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        cookie = "a-form-before-any-session"
        if session is None:
            headers["Cookie"] = f"rankscope_form_{team.port}={cookie}"
        body = f"secret={form_secret(Identity('', 'owner', session or cookie))}" if secret else "x=1"
    return team.ask(method, path, body, **headers)


def is_denied(answer):
    to_login = answer.status == 303 and answer.headers.get("location", "").startswith("/login?to=")
    return to_login or (answer.status in (401, 403) and any(words in answer.data for words in DENIED))


def test_every_route_has_a_rule_and_keeps_it(team):
    tried = 0
    for method, path, rule in routes(team):
        assert rule in (*ROLES, ANYONE), f"{method} {path} says no role=…, and is closed to everybody"
        for who, session in sessions(team).items():
            role = "viewer" if who == "link" else who
            allowed = rule == ANYONE or (role != "nobody" and ROLES.index(role) >= ROLES.index(rule))
            if who == "link" and method not in ("GET", "HEAD") and rule != ANYONE:
                allowed = False
            answer = ask(team, method, path, session)
            assert is_denied(answer) != allowed, f"{method} {path} for {who}: {answer.status} {answer.data[:300]}"
            tried += 1
    assert tried >= 6 * 8


def test_a_route_without_a_rule_is_closed(team):
    from litestar import get

    @get("/forgotten", sync_to_thread=False)
    def forgotten() -> str:
        return "open"

    team.app.app.register(forgotten)
    try:
        answer = ask(team, "GET", "/forgotten", sessions(team)["owner"])
        assert (answer.status, answer.data == b"open") == (403, False)
        with pytest.raises(AssertionError, match="/forgotten says no role"):
            test_every_route_has_a_rule_and_keeps_it(team)
    finally:
        team.app.app.routes[:] = [route for route in team.app.app.routes if route.path != "/forgotten"]


def test_every_change_needs_our_origin_and_the_secret_of_the_session(team):
    owner = sessions(team)["owner"]
    changing = [(method, path) for method, path, _ in routes(team) if method not in ("GET", "HEAD")]
    assert len(changing) >= 4
    for method, path in changing:
        other = ask(team, method, path, owner, origin="http://evil.example")
        assert (other.status, b"comes from another page" in other.data) == (403, True), path
        for secret in (ask(team, method, path, owner, secret=False), ask(team, method, path, None, secret=False)):
            assert (secret.status, b"does not belong to this session" in secret.data) == (403, True), path


def test_the_secret_of_one_session_is_none_of_another(team):
    by_role = sessions(team)
    stolen = form_secret(Identity("", "owner", by_role["editor"]))
    headers = {
        "Origin": team.url,
        "Cookie": f"{COOKIE}_{team.port}={by_role['owner']}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    assert team.ask("POST", "/share", f"secret={stolen}&page=/", **headers).status == 403
    own = form_secret(Identity("", "owner", by_role["owner"]))
    assert team.ask("POST", "/share", f"secret={own}&page=/", **headers).status == 200
    assert form_secret(Identity("", "owner", by_role["owner"])) != own  # another text each time


def test_no_other_origin_gets_through(team):
    owner = sessions(team)["owner"]
    wrong = ("null", "http://127.0.0.1", f"http://127.0.0.1:{team.port}.evil.example", "http://evil.example", "x")
    for origin in wrong:
        assert ask(team, "POST", "/share", owner, origin=origin).status == 403, origin
    headers = {"Cookie": f"{COOKIE}_{team.port}={owner}"}
    assert team.ask("POST", "/share", "", **headers).status == 403  # neither Origin nor Referer
    sent = {**headers, "Origin": team.url, "Sec-Fetch-Site": "cross-site"}
    assert team.ask("POST", "/share", "", **sent).status == 403
