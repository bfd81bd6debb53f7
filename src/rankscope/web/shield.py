"""The outermost part of the application: the checks that every request passes before a page sees it.

A request is refused where its Host is not ours, where it changes something and comes from another origin or without
the secret of our forms, where it is larger or slower than allowed, and where it comes too often. Every answer forbids
scripts and styles of others.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import quote, urlsplit

from rankscope.web.address import parameters_in
from rankscope.web.security import (
    SAFE_METHODS,
    Authenticator,
    Identity,
    RateLimit,
    RaterDoor,
    TrustedProxy,
    is_secret_in_form,
    masked,
    secret_of,
)

COOKIE, FORM_COOKIE, RATER_COOKIE = "rankscope_session", "rankscope_form", "rankscope_rater"
"""Cookies of the session, of forms that are sent before there is one, and of who was invited to judge; the port is
added, as cookies know none."""
FORM = "application/x-www-form-urlencoded"
FORM_FIELD, FORM_HEADER = "secret", "x-form-secret"
"""Where a form sends its secret back, and a script that sends something else."""
LARGEST_BODY = 2 << 20
"""Bytes of a request."""
LONGEST_HEAD = 32 << 10
"""Bytes of a request's first line and headers."""
MOST_PARAMETERS, MOST_FIELDS = 200, 2000
"""Of an address, and of a form."""
BODY_S = 30
"""How long a request may take to arrive."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data:; connect-src 'self'; "
    "font-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE"))

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Refusal = Callable[[Scope, int, str, str], tuple[str, bytes]]
"""Makes the page, or the JSON, of a refusal from its status, what is wrong and what to do: its type and content."""
Problem = tuple[int, str, str]
"""The status of a refusal, what is wrong, and what to do."""
ErrorProblem = Callable[[Scope, Exception], Problem]
"""Says what an error is for a reader; what is for the server's log is written there."""

OTHER_PAGE = 403, "The request comes from another page.", "Open the page of Rankscope itself, and try again."
OLD_FORM = (
    403,
    "The form does not belong to this session.",
    "Go back, load the page again, and send the form once more.",
)
TOO_LARGE = 413, "The request is too large.", f"At most {LARGEST_BODY >> 20} MB are taken."
TOO_MANY_FIELDS = 400, "The form has too many fields.", f"At most {MOST_FIELDS} are taken."
TOO_SLOW = 408, "The request took too long to arrive.", "Try again."


class Shield:
    """Answers what must not get further, and hands on the rest: with who asks in `scope["state"]["identity"]`."""

    def __init__(
        self,
        app: AsgiApp,
        authenticator: Authenticator,
        *,
        hosts: Iterable[str],
        proxy: TrustedProxy | None = None,
        rate_limit: RateLimit | None = None,
        raters: RaterDoor | None = None,
        refuse: Refusal,
        explain: ErrorProblem,
    ) -> None:
        self.app, self.authenticator, self.refuse, self.explain = app, authenticator, refuse, explain
        self.raters = raters or RaterDoor()
        self.hosts = frozenset(host.lower() for host in hosts)
        self.proxy = proxy or TrustedProxy()
        self.rate_limit = rate_limit or RateLimit()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks over a socket
            await send({"type": "websocket.close"})
            return
        send = with_headers(send, is_head=scope["method"] == "HEAD")
        # HEAD is what GET would say, without the content
        scope = {**scope, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            await self.answer(scope, headers, receive, send)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is said without paths, SQL and traces)
            await self.reject(scope, send, self.explain(scope, error))

    async def answer(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        problem = self.problem_with(scope, headers)
        if problem is not None:
            await self.reject(scope, send, problem)
            return
        self.believe_proxy(scope, headers)
        cookies = cookies_in(headers.get("cookie", ""))
        invitation = self.raters.invitation_in(scope["path"], cookies.get(cookie_name(RATER_COOKIE, scope)), headers)
        # raters of one team often share an address: who is known by an invitation is counted alone
        if not self.rate_limit.allows(self.raters.known(invitation) or client_of(scope)):
            wait = 429, "Too many requests in a short time.", "Wait a few seconds, then try again."
            await self.reject(scope, send, wait, [("retry-after", "5")])
            return
        session = cookies.get(cookie_name(COOKIE, scope))
        identity = await self.invited(invitation, headers) if invitation else None
        if identity is None:
            invitation = ""
            identity = await asyncio.to_thread(self.authenticator.identify, session, headers, scope["peer"])
        parameters = parameters_in(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = dict(parameters).get("token")
        if token and scope["method"] == "GET":
            await self.start_session(scope, send, token, identity)
            return
        # forms of those who are not signed in, as that of the login, are tied to a cookie of their own
        anonymous = cookies.get(cookie_name(FORM_COOKIE, scope)) or secrets.token_urlsafe(24)
        owner_of_forms = anonymous if identity is None else identity.session
        scope.setdefault("state", {}).update(
            identity=identity,
            invitation=invitation,
            form_cookie=anonymous,
            form_secret=masked(secret_of(owner_of_forms)),
            can_log_out=identity is not None and session is not None and self.authenticator.login_page,
        )
        if scope["method"] not in SAFE_METHODS:
            body, problem = await read_body(receive)
            if problem is None and body.count(b"&") >= MOST_FIELDS:
                problem = TOO_MANY_FIELDS
            if problem is None and not is_from_form(headers, body, identity, owner_of_forms):
                problem = OLD_FORM
            if problem is not None:
                await self.reject(scope, send, problem)
                return
            receive = again(body, receive)
        await self.app(scope, receive, send)

    async def invited(self, invitation: str, headers: dict[str, str]) -> Identity | None:
        """Return who was invited; only for one who was never here the store is asked, which takes time."""
        if self.raters.known(invitation):
            return self.raters.identify(invitation, headers)
        return await asyncio.to_thread(self.raters.identify, invitation, headers)

    async def reject(self, scope: Scope, send: Send, problem: Problem, headers: Iterable[tuple[str, str]] = ()) -> None:
        await respond(send, problem[0], *self.refuse(scope, *problem), headers)

    def problem_with(self, scope: Scope, headers: dict[str, str]) -> Problem | None:
        """Return why a request is refused before anything else is looked at."""
        n_bytes = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if n_bytes + sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEAD:
            return 431, "The address or the headers of the request are too large.", "Remove cookies of this machine."
        host = headers.get("host", "").lower()
        if host not in self.hosts and host not in hosts_of(scope):
            return (
                421,
                "This server does not answer for that name.",
                "`rankscope serve --allow-host NAME` lets it answer for another name.",
            )
        if scope["method"] not in METHODS:
            return 405, "There is no such way to ask.", "The pages answer GET, HEAD and POST."
        peer = client_of(scope)
        n_named = sum(name.decode("latin-1").lower() == self.proxy.header for name, _ in scope["headers"])
        if n_named and (n_named > 1 or not self.proxy.trusts(peer)):
            return (
                403,
                f"The header {self.proxy.header} came twice, or not from the proxy.",
                "`rankscope serve --proxy-from ADDRESS` names the proxy, which must remove that header of others.",
            )
        if scope["query_string"].count(b"&") >= MOST_PARAMETERS:
            return 400, "The address has too many parameters.", f"At most {MOST_PARAMETERS} are taken."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or len(length) > 15 or int(length) > LARGEST_BODY:
            return TOO_LARGE
        if scope["method"] not in SAFE_METHODS and not is_from_here(headers, host):
            return OTHER_PAGE
        return None

    def believe_proxy(self, scope: Scope, headers: dict[str, str]) -> None:
        """Take the address and the scheme of the client from a proxy that is trusted, and from nobody else."""
        scope["peer"] = client_of(scope)
        if not self.proxy.trusts(scope["peer"]):
            return
        # the last address is the one that the proxy itself has seen
        forwarded = headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        if forwarded:
            scope["client"] = (forwarded, 0)
        if headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower() == "https":
            scope["scheme"] = "https"

    async def start_session(self, scope: Scope, send: Send, token: str, identity: Identity | None) -> None:
        """Turn the token of a link into a cookie, and show the page without it, so that it is not passed on."""
        cookie = []
        if identity is None or identity.only_reads:  # who is signed in stays who he is
            session = await asyncio.to_thread(self.authenticator.session_for_token, token)
            if session is None:
                await self.reject(scope, send, (403, "The link is not valid, or no longer.", "Ask for a new one."))
                return
            cookie = [("set-cookie", session_cookie(scope, session))]
        given = scope["query_string"].decode("latin-1").split("&")
        rest = "&".join(part for part in given if part.partition("=")[0] != "token")
        where = local_path(quote(scope["path"], errors="surrogatepass") + (f"?{rest}" if rest else ""))
        await respond(send, 303, "text/plain", b"", [("location", where), *cookie])


def client_of(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def hosts_of(scope: Scope) -> tuple[str, ...]:
    """Return the address that a request came to, as a Host: no name of others, so it may always be asked for."""
    server = scope.get("server")
    if not server or server[1] is None:
        return ()
    return tuple(host_forms(server[0], server[1]))


def host_forms(name: str, port: int) -> list[str]:
    """Return what a browser writes as Host for a name or address on a port."""
    shown = f"[{name}]" if ":" in name and not name.startswith("[") else name
    return [f"{shown}:{port}", *([shown] if port in (80, 443) else [])]


def is_from_here(headers: dict[str, str], host: str) -> bool:
    """Tell whether the sender of a change is one of our pages, or no browser at all."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin") or headers.get("referer")
    if origin is None:
        return headers.get("authorization", "").startswith("Bearer ")
    return urlsplit(origin).netloc.lower() == host


def is_from_form(headers: dict[str, str], body: bytes, identity: Identity | None, session: str) -> bool:
    """Tell whether a change was sent by a form of this session, or by who shows a token that no browser adds."""
    if identity is not None and not identity.session:
        return True
    given = headers.get(FORM_HEADER, "")
    if not given and headers.get("content-type", "").startswith(FORM):
        given = dict(parameters_in(body.decode("latin-1"))).get(FORM_FIELD, "")
    return is_secret_in_form(given, session)


async def read_body(receive: Receive) -> tuple[bytes, Problem | None]:
    """Return all that a request sends, as long as it is neither too large nor too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > LARGEST_BODY:
                    return b"", TOO_LARGE
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return bytes(body), None
    except TimeoutError:
        return b"", TOO_SLOW


def again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body which was read already."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def cookies_in(header: str) -> dict[str, str]:
    """Return the cookies of a request; those of other programs on this machine may look like anything."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return {name: value for name, equals, value in pairs if equals}


def cookie_name(name: str, scope: Scope) -> str:
    """Return the name of a cookie: two servers on one machine must not sign one another out."""
    server = scope.get("server")
    return f"{name}_{server[1]}" if server and server[1] else name


def session_cookie(scope: Scope, value: str, *, name: str = COOKIE, seconds: int | None = None) -> str:
    """Return the header that sets a cookie that no script can read, and that goes over https alone where there is."""
    lasting = f"; Max-Age={seconds}" if seconds is not None else ""
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{cookie_name(name, scope)}={value}; Path=/; HttpOnly; SameSite=Lax{lasting}{secure}"


def local_path(asked: str) -> str:
    """Return an address to go on to, if it is one of ours; else the first page."""
    is_ours = asked.startswith("/") and not asked.startswith(("//", "/\\")) and asked.isprintable()
    # what a browser would take for another host behind a slash, or for a header, is not followed
    return asked.encode("ascii", "ignore").decode() if is_ours and "\\" not in asked else "/"


def with_headers(send: Send, *, is_head: bool = False) -> Send:
    """Return a `send` that adds what protects a page in a browser; a page may name hashes of styles of its own."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept, styles = [], ""
            for name, value in message.get("headers", []):
                if name.lower() == b"x-style-hashes":
                    styles = "".join(f" 'sha256-{digest}'" for digest in value.decode().split())
                else:
                    kept.append((name, value))
            names = {name.lower() for name, _ in kept}
            more = {
                b"content-security-policy": POLICY.format(styles=styles).encode(),
                b"x-content-type-options": b"nosniff",
                b"referrer-policy": b"same-origin",
                b"cross-origin-opener-policy": b"same-origin",
                b"cross-origin-resource-policy": b"same-origin",
                b"cache-control": b"private, no-cache",
            }
            kept += [(name, value) for name, value in more.items() if name not in names]
            message = {**message, "headers": kept}
        elif is_head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return sending


async def respond(
    send: Send, status: int, content_type: str, body: bytes, headers: Iterable[tuple[str, str]] = ()
) -> None:
    kept = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    kept += [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": kept})
    await send({"type": "http.response.body", "body": body})
