"""Users and sessions: nothing secret is stored as it is, and what has ended opens nothing."""

from __future__ import annotations

import base64
import hashlib

import pytest
import sqlalchemy as sa

from rankscope.errors import OptionError, UnknownNameError
from rankscope.store import open_store, users
from rankscope.store.exchange import export_store
from rankscope.store.schema import login_session, metadata
from rankscope.store.schema import user as user_table
from set_clock import SetClock

PASSWORD = "correct horse battery"


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def opened(store_address, clock):
    with open_store(store_address, clock=clock) as store:
        yield store


def all_text(store) -> str:
    with store.reading() as connection:
        return repr([connection.execute(sa.select(table)).all() for table in metadata.sorted_tables])


def test_a_user_logs_in_with_the_right_password_only(opened):
    made = opened.users.add("ada", "owner", password=PASSWORD)
    assert (made.name, made.role, made.has_password, made.is_disabled) == ("ada", "owner", True, False)
    assert opened.users.check_password("ada", PASSWORD) == made
    for name, password in (("ada", PASSWORD + "x"), ("ada", ""), ("eve", PASSWORD), ("ada", PASSWORD + "x" * 5000)):
        assert opened.users.check_password(name, password) is None
    assert PASSWORD not in all_text(opened)


def test_the_hash_is_scrypt_with_a_salt_of_its_own(opened):
    opened.users.add("ada", "owner", password=PASSWORD)
    opened.users.add("bo", "viewer", password=PASSWORD)
    with opened.reading() as connection:
        stored = list(connection.execute(sa.select(user_table.c.password)).scalars())
    assert stored[0]["salt"] != stored[1]["salt"]
    for each in stored:
        derived = hashlib.scrypt(
            PASSWORD.encode(), salt=base64.b64decode(each["salt"]), n=2**15, r=8, p=1, maxmem=2**26, dklen=32
        )
        assert (each["n"], each["r"], each["p"]) == (2**15, 8, 1)
        assert base64.b64decode(each["hash"]) == derived


def test_an_unknown_name_costs_the_same_work(opened, monkeypatch):
    opened.users.add("ada", "owner", password=PASSWORD)
    opened.users.add("proxied", "viewer", password=None)
    calls = []
    scrypt = hashlib.scrypt
    monkeypatch.setattr(users.hashlib, "scrypt", lambda *a, **k: calls.append({**k, "salt": None}) or scrypt(*a, **k))
    for name in ("ada", "nobody", "proxied"):
        assert opened.users.check_password(name, "wrong password") is None
    assert len(calls) == 3
    assert calls[0] == calls[1] == calls[2]


def test_names_roles_and_passwords_that_cannot_be(opened):
    for name in ("", " ada", "a\nb", "x" * 101):
        with pytest.raises(OptionError, match="cannot be the name of a user"):
            opened.users.add(name, "viewer", password=PASSWORD)
    with pytest.raises(OptionError, match=r"there is no role 'ower'.*") as caught:
        opened.users.add("ada", "ower", password=PASSWORD)
    assert "owner" in caught.value.hint
    with pytest.raises(OptionError, match="8 to 1024 characters"):
        opened.users.add("ada", "owner", password="short")
    opened.users.add("ada", "owner", password=PASSWORD)
    with pytest.raises(OptionError, match="there is a user ada already"):
        opened.users.add("ada", "owner", password=PASSWORD)
    with pytest.raises(UnknownNameError, match="there is no user adda"):
        opened.users.set_role("adda", "viewer")


def test_a_session_opens_until_it_expires(opened, clock):
    opened.users.add("ada", "editor", password=PASSWORD)
    token = opened.users.open_session("ada", lasts_s=100)
    assert token not in all_text(opened)
    found = opened.users.session(token)
    assert (found.user, found.role) == ("ada", "editor")
    assert opened.users.session(token + "x") is None
    clock.seconds = 99
    assert opened.users.session(token).expires == "2026-11-17T09:01:40.000000+00:00"
    assert opened.users.sessions("ada")[0].seen == clock()
    clock.seconds = 100
    assert opened.users.session(token) is None
    assert opened.users.sessions() == ()
    clock.seconds = 101
    opened.users.open_session("ada")
    with opened.reading() as connection:  # what has expired is removed
        assert connection.execute(sa.select(sa.func.count()).select_from(login_session)).scalar_one() == 1


def test_sessions_end_with_log_out_revocation_and_changes_of_the_user(opened):
    opened.users.add("ada", "owner", password=PASSWORD)
    opened.users.add("bo", "owner", password=PASSWORD)
    one, two = (opened.users.open_session("ada") for _ in range(2))
    opened.users.end_session(one)
    assert opened.users.session(one) is None
    opened.users.revoke(opened.users.session(two).number)
    assert opened.users.session(two) is None
    three, other = opened.users.open_session("ada"), opened.users.open_session("bo")
    opened.users.set_role("ada", "viewer")
    assert opened.users.session(three).role == "viewer"  # at once
    opened.users.set_password("ada", "another password")
    assert opened.users.session(three) is None
    assert opened.users.check_password("ada", PASSWORD) is None
    four = opened.users.open_session("ada")
    opened.users.set_disabled("ada", is_disabled=True)
    assert opened.users.session(four) is None
    assert opened.users.check_password("ada", "another password") is None
    opened.users.set_disabled("ada", is_disabled=False)
    assert opened.users.session(four) is None  # it was revoked for good
    assert opened.users.check_password("ada", "another password").name == "ada"
    assert opened.users.session(other).role == "owner"
    five = opened.users.open_session("ada")
    opened.users.remove("ada")
    assert opened.users.session(five) is None
    assert [each.name for each in opened.users.list()] == ["bo"]


def test_the_token_of_the_start_has_a_session_without_a_user(opened):
    token = opened.users.open_session(None, "owner")
    assert opened.users.session(token).user is None
    assert opened.users.session(token).role == "owner"


def test_the_last_owner_stays(opened):
    opened.users.add("ada", "owner", password=PASSWORD)
    opened.users.add("bo", "viewer", password=PASSWORD)
    for act in (
        lambda: opened.users.set_role("ada", "viewer"),
        lambda: opened.users.set_disabled("ada", is_disabled=True),
        lambda: opened.users.remove("ada"),
    ):
        with pytest.raises(OptionError, match="ada is the only owner"):
            act()
    opened.users.remove("bo")
    opened.users.remove("ada")
    assert opened.users.list() == ()


def test_users_and_jobs_are_in_no_export(opened, tmp_path):
    opened.users.add("ada-lovelace", "owner", password=PASSWORD)
    token = opened.users.open_session("ada-lovelace")
    opened.jobs.add("/project-of-ada.toml", {}, who="ada-lovelace")
    export_store(opened, tmp_path / "kept")
    written = b"".join(path.read_bytes() for path in (tmp_path / "kept").rglob("*") if path.is_file())
    with opened.reading() as connection:
        stored = connection.execute(sa.select(user_table.c.password)).scalar_one()
    for secret in ("ada-lovelace", token, stored["hash"], "project-of-ada"):
        assert secret.encode() not in written
