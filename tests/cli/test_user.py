"""The command that looks after users: passwords come from stdin or a terminal, and never from the arguments."""

from __future__ import annotations

import getpass
import io
import json

import pytest

from rankscope.cli.exit_codes import FINE, WRONG_INPUT
from rankscope.cli.main import main
from rankscope.store import open_store

PASSWORD = "a long password"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Return a function that calls `rankscope user` with what is typed or piped."""

    def call(*arguments, typed=PASSWORD):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{typed}\nanother line\n"))
        code = main(["user", *arguments, "--store", str(tmp_path / "store.db")])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def users(tmp_path):
    with open_store(tmp_path / "store.db", create=True) as store:
        yield store.users


def test_a_user_from_the_beginning_to_the_end(call, users):
    assert call("add", "ada", "owner") == (FINE, "ada is an owner now\n", "")
    assert users.check_password("ada", PASSWORD).role == "owner"
    assert call("add", "bo") == (FINE, "bo is a viewer now\n", "")
    assert call("role", "bo", "editor") == (FINE, "bo is an editor now\n", "")
    users.open_session("bo")
    code, out, _ = call("list", "--format", "json")
    listed = {each["name"]: each for each in json.loads(out)}
    assert (code, listed["bo"]["role"], listed["bo"]["sessions"], listed["ada"]["sessions"]) == (FINE, "editor", 1, 0)
    assert PASSWORD not in out
    assert call("password", "bo", typed="another long one")[0] == FINE
    assert users.check_password("bo", "another long one").name == "bo"
    assert users.sessions() == ()
    assert call("disable", "bo") == (FINE, "bo is kept out now\n", "")
    assert users.check_password("bo", "another long one") is None
    assert "bo   editor  since 20" in call("list")[1]
    assert call("enable", "bo")[0] == FINE
    assert users.check_password("bo", "another long one").name == "bo"
    assert call("remove", "bo") == (FINE, "bo is removed\n", "")
    assert [each.name for each in users.list()] == ["ada"]


def test_a_user_who_comes_by_a_proxy_has_no_password(call, users):
    assert call("add", "cy", "rater", "--no-password", typed="")[0] == FINE
    assert users.check_password("cy", "") is None
    assert "no password" in call("list")[1]


def test_a_password_is_asked_for_twice(call, users, monkeypatch):
    answers = iter([PASSWORD, "something else", PASSWORD, PASSWORD])
    monkeypatch.setattr(getpass, "getpass", lambda _: next(answers))

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(io, "StringIO", Terminal)
    code, _, err = call("add", "ada", "owner")
    assert code == WRONG_INPUT
    assert "the two passwords are not the same" in err
    assert call("add", "ada", "owner")[0] == FINE
    assert users.check_password("ada", PASSWORD).name == "ada"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ad", "ada"), "there is no action 'ad'"),
        (("add",), "no user is named"),
        (("list", "ada"), "takes no name"),
        (("role", "ada"), "no role is given"),
        (("role", "ada", "king"), "there is no role 'king'"),
        (("role", "eve", "owner"), "there is no user eve"),
        (("remove", "ada", "owner"), "a role does nothing with remove"),
        (("remove", "ada", "--no-password"), "--no-password does nothing with remove"),
        (("add", "eve", "--format", "json"), "--format json does nothing with add"),
        (("add", "ada"), "there is a user ada already"),
        (("password", "eve"), "there is no user eve"),
    ],
)
def test_what_cannot_be(call, users, arguments, said):
    users.add("ada", "owner", password=PASSWORD)
    code, out, err = call(*arguments)
    assert (code, out) == (WRONG_INPUT, "")
    assert said in err


def test_a_password_that_is_too_short(call, users):
    code, _, err = call("add", "ada", "owner", typed="short")
    assert code == WRONG_INPUT
    assert "a password has 8 to 1024 characters" in err
    assert users.list() == ()
