"""Who may see and do what: roles, who sends a request, the secret of forms, and how often something may be tried."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from ipaddress import IPv4Network, IPv6Network, ip_address
from time import monotonic
from typing import Any, Literal, Protocol

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException, PermissionDeniedException
from litestar.handlers import BaseRouteHandler

from rankscope.records import Record

Role = Literal["rater", "viewer", "editor", "owner"]
ROLES: tuple[Role, ...] = ("rater", "viewer", "editor", "owner")
"""Each may do what those before it may."""
ANYONE = "anyone"
"""The rule of a route that is open to those who are not signed in, too."""
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
MAY: dict[Role, str] = {
    "rater": "Raters judge docs, and see no results, which could sway them.",
    "viewer": "Viewers read every page and ask live; editors also start runs, save test cases and make links.",
    "editor": "Editors read every page, start runs, save test cases and make links; what runs a program is for owners.",
    "owner": "Owners may do everything.",
}
"""What somebody may do, for who was refused something else."""
PER_SECOND, AT_ONCE = 40.0, 200.0
"""Requests of one client: how many go on and on, and how many may come at once."""


class Identity(Record):
    """Who asks: a name, a role, and the session that proves it."""

    name: str
    role: Role
    session: str
    """A secret that only this session's forms hold is made from it; empty where no browser sends it by itself."""
    only_reads: bool = False
    """Whether it came by a read-only link, which changes nothing whatever its role."""

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


class Authenticator(Protocol):
    """Tells who sends a request."""

    login_page: bool
    """Whether there is a page to log in on."""

    def identify(self, session: str | None, headers: dict[str, str], client: str) -> Identity | None:
        """Return who it is by the session's cookie or the headers of a proxy; None where nobody is known."""

    def session_for_token(self, token: str) -> str | None:
        """Return a new session for the token of a link; None where the token is wrong."""


class TokenAuthenticator:
    """One token, made at the start: who has it is the owner."""

    login_page = False

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)

    def _session(self) -> str:
        return hashlib.sha256(b"rankscope session " + self.token.encode()).hexdigest()

    def identify(self, session: str | None, headers: dict[str, str], client: str) -> Identity | None:  # noqa: ARG002
        if "authorization" in headers:
            # no browser sends this by itself, so that its forms need no secret; a cookie beside it does not count
            given = headers["authorization"].removeprefix("Bearer ")
            return Identity("owner", "owner", "") if is_same(given, self.token) else None
        if session and is_same(session, self._session()):
            return Identity("owner", "owner", self._session())
        return None

    def session_for_token(self, token: str) -> str | None:
        return self._session() if is_same(token, self.token) else None


class RaterDoor:
    """Lets in who was invited to judge: on the pages of raters, and on no others. Without a store, it knows nobody."""

    paths: frozenset[str] = frozenset()
    """The pages of raters."""

    def invitation_in(self, path: str, cookie: str | None, headers: dict[str, str]) -> str:
        """Return the token of the invitation that a request shows; empty where none counts."""
        if path not in self.paths:
            return ""
        return headers.get("authorization", "").removeprefix("Bearer ") or cookie or ""

    def known(self, invitation: str) -> str:  # noqa: ARG002
        """Return who came by an invitation before, without asking the store; empty where nobody did."""
        return ""

    def identify(self, invitation: str, headers: dict[str, str]) -> Identity | None:  # noqa: ARG002
        """Return who was invited; None where the invitation is none of ours."""
        return None


class TrustedProxy(Record):
    """A reverse proxy: the addresses that it asks from, and the header in which it says who is signed in."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    header: str = ""
    """In lower case; empty where the proxy does not sign anybody in."""
    role: Role | None = None
    """The role of those whom the store does not know; None keeps them out."""

    def trusts(self, address: str) -> bool:
        if not self.networks:
            return False
        try:
            asked = ip_address(address)
        except ValueError:
            return False
        asked = getattr(asked, "ipv4_mapped", None) or asked
        return any(asked in network for network in self.networks)


def is_same(given: str, known: str) -> bool:
    """Compare secrets in a time that does not depend on how much of them is alike."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), known.encode())


def form_secret(identity: Identity) -> str:
    """Return what a form must send back, so that no page of others can send it; another text every time.

    The secret itself never stands in a page twice in the same form: pages are compressed, and their length would tell
    it bit by bit to who can have them repeat guesses.
    """
    return masked(secret_of(identity.session))


def secret_of(session: str) -> bytes:
    return hmac.new(session.encode(), b"form", hashlib.sha256).digest()


def masked(secret: bytes) -> str:
    mask = secrets.token_bytes(len(secret))
    return (mask + bytes(a ^ b for a, b in zip(mask, secret, strict=True))).hex()


def is_secret_in_form(given: str, session: str) -> bool:
    """Tell whether a form sent back what `form_secret` made for a session."""
    try:
        whole = bytes.fromhex(given)
    except ValueError:
        return False
    half = len(whole) // 2
    mask, rest = whole[:half], whole[half:]
    return len(mask) == len(rest) and hmac.compare_digest(
        bytes(a ^ b for a, b in zip(mask, rest, strict=True)), secret_of(session)
    )


def check_rule(connection: ASGIConnection[BaseRouteHandler, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Let a request through where the rule of its route allows it: the one place where roles are enforced.

    Every handler says `role=…`, the least role that may call it, or `role=ANYONE`; one that says nothing is closed.
    """
    needed = handler.opt.get("role")
    if needed == ANYONE:
        return
    identity = connection.scope["state"].get("identity")
    if not isinstance(identity, Identity):
        raise NotAuthorizedException("You are not signed in.")
    if needed not in ROLES:
        raise PermissionDeniedException("Nobody may use this: the route has no rule.")
    if not identity.may(needed):
        raise PermissionDeniedException(f"This needs the role {needed}; you are {identity.role}.")
    if identity.only_reads and connection.scope.get("method") not in SAFE_METHODS:
        raise PermissionDeniedException("You came by a read-only link, and can change nothing.")


class RateLimit:
    """A bucket of requests for each client, which fills again over time."""

    def __init__(self, per_second: float = PER_SECOND, at_once: float = AT_ONCE) -> None:
        self.per_second, self.at_once = per_second, at_once
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, client: str) -> bool:
        now = monotonic()
        left, since = self._left.pop(client, (self.at_once, now))
        left = min(self.at_once, left + (now - since) * self.per_second)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        while len(self._left) > 10_000:
            self._left.popitem(last=False)
        return allowed
