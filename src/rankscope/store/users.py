"""Users of the page and their sessions: names, roles, passwords as scrypt hashes, tokens as SHA-256.

Neither a password nor a token is stored as it is. A session ends when it expires, when it is revoked, and as soon as
its user is disabled, removed, or has a new password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

import sqlalchemy as sa

from rankscope.errors import OptionError, UnknownNameError, did_you_mean
from rankscope.records import Record, from_builtins, to_builtins
from rankscope.store.schema import login_session, text_sha256, user

if TYPE_CHECKING:
    from rankscope.store.store import Store

Role = Literal["owner", "editor", "viewer", "rater"]
ROLES: tuple[Role, ...] = get_args(Role)
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1024
"""Longer ones would only cost time: whoever logs in sends one before anything is known of them."""
LONGEST_NAME = 100
SESSION_S = 14 * 24 * 3600
"""How long a session lasts."""
SEEN_S = 60
"""How exactly it is noted when a session was used last, so that not every page that is opened writes."""


class PasswordHash(Record):
    """A password as scrypt keeps it, with the parameters that it was made with."""

    salt: str
    hash: str
    n: int = 1 << 15
    r: int = 8
    p: int = 1

    @classmethod
    def of(cls, password: str) -> PasswordHash:
        blank = cls(salt=base64.b64encode(secrets.token_bytes(16)).decode(), hash="")
        return cls(salt=blank.salt, hash=blank._derive(password))

    def fits(self, password: str) -> bool:
        return hmac.compare_digest(self._derive(password), self.hash)

    def _derive(self, password: str) -> str:
        derived = hashlib.scrypt(
            password.encode("utf-8", "surrogatepass"),
            salt=base64.b64decode(self.salt),
            n=self.n,
            r=self.r,
            p=self.p,
            maxmem=256 * self.n * self.r,
            dklen=32,
        )
        return base64.b64encode(derived).decode()


NOBODY = PasswordHash(salt=base64.b64encode(bytes(16)).decode(), hash="")
"""Compared with where there is no such user, so that the time does not tell which names there are."""


class User(Record):
    """Somebody who may use the page."""

    name: str
    role: Role
    has_password: bool
    """Without one, a user comes by the header of a reverse proxy only."""
    is_disabled: bool
    since: str


class LoginSession(Record):
    """A browser that is logged in."""

    number: int
    user: str | None
    """None where the token of the server's start was given."""
    role: Role
    """What it may do now."""
    created: str
    seen: str
    expires: str


class UserTable:
    """The users of a store, as `store.users`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, name: str, role: str, *, password: str | None) -> User:
        """Add a user; without a password, one who comes by a reverse proxy's header."""
        check_name(name)
        row = {"name": name, "role": checked_role(role), "password": None if password is None else hashed(password)}
        with self.store.writing() as connection:
            if find_row(connection, name) is not None:
                raise OptionError(f"there is a user {name} already", hint="`rankscope user list` shows all of them")
            connection.execute(sa.insert(user), {**row, "stored": self.store.clock()})
            return user_of(get_row(connection, name))

    def list(self) -> tuple[User, ...]:
        """Return all users, by name."""
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(user)).all()
        return tuple(sorted(map(user_of, rows), key=lambda each: each.name))

    def find(self, name: str) -> User | None:
        with self.store.reading() as connection:
            row = find_row(connection, name)
        return None if row is None else user_of(row)

    def get(self, name: str) -> User:
        """Return a user; it is an error where there is none of that name."""
        with self.store.reading() as connection:
            return user_of(get_row(connection, name))

    def set_role(self, name: str, role: str) -> User:
        """Give a user another role, which holds at once for browsers that are logged in."""
        return self._change(name, role=checked_role(role))

    def set_password(self, name: str, password: str) -> User:
        """Give a user another password; browsers that are logged in have to log in again."""
        return self._change(name, ends_sessions=True, password=hashed(password))

    def set_disabled(self, name: str, *, is_disabled: bool) -> User:
        """Keep a user out, or let one in again."""
        return self._change(name, ends_sessions=is_disabled, disabled=self.store.clock() if is_disabled else None)

    def remove(self, name: str) -> None:
        """Remove a user with all sessions; what they have done keeps the name."""
        with self.store.writing() as connection:
            row = get_row(connection, name)
            refuse_loss_of_owner(connection, row)
            connection.execute(sa.delete(login_session).where(login_session.c.user_id == row.id))
            connection.execute(sa.delete(user).where(user.c.id == row.id))

    def _change(self, name: str, *, ends_sessions: bool = False, **values: Any) -> User:
        with self.store.writing() as connection:
            row = get_row(connection, name)
            if values.get("role", "owner") != "owner" or values.get("disabled") is not None:
                refuse_loss_of_owner(connection, row)
            connection.execute(sa.update(user).where(user.c.id == row.id).values(**values))
            if ends_sessions:
                own = (login_session.c.user_id == row.id) & login_session.c.revoked.is_(None)
                connection.execute(sa.update(login_session).where(own).values(revoked=self.store.clock()))
            return user_of(get_row(connection, name))

    def check_password(self, name: str, password: str) -> User | None:
        """Return the user whose name and password these are; it takes as long where there is no such user."""
        with self.store.reading() as connection:
            row = find_row(connection, name)
        known = None if row is None or row.password is None else from_builtins(PasswordHash, row.password)
        fits = (known or NOBODY).fits(password[:LONGEST_PASSWORD])
        if row is None or known is None or not fits or row.disabled is not None or len(password) > LONGEST_PASSWORD:
            return None
        return user_of(row)

    # Sessions

    def open_session(self, name: str | None, role: str = "owner", *, lasts_s: float = SESSION_S) -> str:
        """Log a user in, or whoever has the token of the server's start (None); return the token, which is not kept."""
        token = secrets.token_urlsafe(32)
        with self.store.writing() as connection:
            now = self.store.clock()
            row = None if name is None else get_row(connection, name)
            connection.execute(sa.delete(login_session).where(login_session.c.expires < now))
            values = {
                "token_sha256": text_sha256(token),
                "user_id": None if row is None else row.id,
                "role": checked_role(role) if row is None else row.role,
                "created": now,
                "seen": now,
                "expires": later(now, lasts_s),
            }
            connection.execute(sa.insert(login_session), values)
        return token

    def session(self, token: str) -> LoginSession | None:
        """Return the session of a token; None where it has ended, or there never was one."""
        now = self.store.clock()
        with self.store.reading() as connection:
            row = connection.execute(found_sessions().where(login_session.c.token_sha256 == text_sha256(token))).first()
        if row is None or row.revoked is not None or row.expires <= now or row.disabled is not None:
            return None
        if later(row.seen, SEEN_S) < now and not self.store.read_only:
            with self.store.writing() as connection:
                connection.execute(sa.update(login_session).where(login_session.c.id == row.id).values(seen=now))
        return session_of(row)

    def sessions(self, name: str | None = None) -> tuple[LoginSession, ...]:
        """Return the sessions that have not ended, of one user or of all."""
        now = self.store.clock()
        with self.store.reading() as connection:
            rows = connection.execute(found_sessions().order_by(login_session.c.id)).all()
        return tuple(
            session_of(row)
            for row in rows
            if row.revoked is None and row.expires > now and row.disabled is None and name in (None, row.name)
        )

    def end_session(self, token: str) -> None:
        """Log out: the token is good for nothing any more."""
        own = login_session.c.token_sha256 == text_sha256(token)
        with self.store.writing() as connection:
            connection.execute(sa.update(login_session).where(own).values(revoked=self.store.clock()))

    def revoke(self, number: int) -> None:
        """End a session by its number, as one of a lost computer."""
        with self.store.writing() as connection:
            own = (login_session.c.id == number) & login_session.c.revoked.is_(None)
            connection.execute(sa.update(login_session).where(own).values(revoked=self.store.clock()))


def found_sessions() -> sa.Select[Any]:
    columns = (user.c.name, user.c.role.label("user_role"), user.c.disabled)
    return sa.select(login_session, *columns).outerjoin(user, user.c.id == login_session.c.user_id)


def session_of(row: Any) -> LoginSession:
    role = row.role if row.user_id is None else row.user_role
    return LoginSession(row.id, row.name, role, row.created, row.seen, row.expires)


def later(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def find_row(connection: sa.Connection, name: str) -> Any:
    return connection.execute(sa.select(user).where(user.c.name == name)).first()


def get_row(connection: sa.Connection, name: str) -> Any:
    row = find_row(connection, name)
    if row is None:
        known = list(connection.execute(sa.select(user.c.name)).scalars())
        raise UnknownNameError(f"there is no user {name}", hint=did_you_mean(name, known) or "rankscope user list")
    return row


def refuse_loss_of_owner(connection: sa.Connection, row: Any) -> None:
    """Refuse to lose the last owner while there are other users: nobody could change anything any more."""
    others = connection.execute(sa.select(user.c.role, user.c.disabled).where(user.c.id != row.id)).all()
    has_owner = any(other.role == "owner" and other.disabled is None for other in others)
    if row.role == "owner" and others and not has_owner:
        raise OptionError(f"{row.name} is the only owner", hint="make somebody else an owner first")


def user_of(row: Any) -> User:
    return User(row.name, row.role, row.password is not None, row.disabled is not None, row.stored)


def check_name(name: str) -> None:
    if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise OptionError(
            f"{name!r} cannot be the name of a user",
            hint=f"a name has 1 to {LONGEST_NAME} characters that can be printed, and no blanks around it",
        )


def checked_role(role: str) -> Role:
    for known in ROLES:
        if role == known:
            return known
    raise OptionError(f"there is no role {role!r}; there are {', '.join(ROLES)}", hint=did_you_mean(role, ROLES))


def hashed(password: str) -> dict[str, Any]:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise OptionError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
    made: dict[str, Any] = to_builtins(PasswordHash.of(password))
    return made
