"""Signing in and out, and read-only links: who comes by a password, a proxy, the token of the start, or a link."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any

from litestar import Request, Response, get, post
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from rankscope.records import Options
from rankscope.store import Store
from rankscope.store.users import SESSION_S, LoginSession
from rankscope.web.actions import address_operation, form_operation
from rankscope.web.forms import checked_form
from rankscope.web.library import Library
from rankscope.web.pages.share import ShareOptions, share_page
from rankscope.web.routing import identity_of
from rankscope.web.security import ANYONE, Authenticator, Identity, RateLimit, TokenAuthenticator, TrustedProxy
from rankscope.web.shield import COOKIE, FORM_COOKIE, cookie_name, cookies_in, local_path, session_cookie

IDLE_S = 4 * 24 * 3600
"""A session that was not used for so long has ended; it lasts 14 days at most (`SESSION_S`)."""
LINK = "link."
"""What the cookie of who came by a read-only link begins with."""
DAY_S = 24 * 3600


class StoreAuthenticator:
    """Knows the users and the links of a store, a trusted proxy, and the token of the start where there is one."""

    def __init__(self, store: Store, *, token: str | None = None, proxy: TrustedProxy | None = None) -> None:
        self.store, self.proxy = store, proxy or TrustedProxy()
        self.login_page = any(user.has_password and not user.is_disabled for user in store.users.list())
        self.by_token = TokenAuthenticator(token) if token else None
        self._key = secrets.token_bytes(32)

    def identify(self, session: str | None, headers: dict[str, str], client: str) -> Identity | None:
        by_token = self.by_token.identify(session, headers, client) if self.by_token else None
        if by_token is not None or "authorization" in headers:
            return by_token
        named = headers.get(self.proxy.header, "").strip() if self.proxy.header else ""
        if named and self.proxy.trusts(client):
            return self._by_proxy(named)
        if not session:
            return None
        if session.startswith(LINK):
            link = self.store.links.find(session.removeprefix(LINK))
            return Identity("a read-only link", "viewer", session, only_reads=True) if link else None
        found = self.store.users.session(session)
        if found is None or found.user is None or self._is_idle(found):
            return None
        return Identity(found.user, found.role, session)

    def session_for_token(self, token: str) -> str | None:
        if self.by_token and (session := self.by_token.session_for_token(token)):
            return session
        return LINK + token if self.store.links.find(token) else None

    def _by_proxy(self, name: str) -> Identity | None:
        known = self.store.users.find(name)
        role = known.role if known is not None else self.proxy.role
        if role is None or (known is not None and known.is_disabled):
            return None
        session = hmac.new(self._key, name.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
        return Identity(name, role, session)

    def _is_idle(self, session: LoginSession) -> bool:
        unused = datetime.fromisoformat(self.store.clock()) - datetime.fromisoformat(session.seen)
        if unused.total_seconds() <= IDLE_S:
            return False
        self.store.users.revoke(session.number)
        return True


class SecretOptions(Options):
    """What every form sends."""

    secret: str
    """What the form of this session holds; who sends a token as a header needs none."""


class LoginPageOptions(Options):
    """How the page to sign in is opened."""

    to: str = "/"
    """The page to go on to."""


class LoginOptions(SecretOptions):
    """Who signs in."""

    name: str
    password: str
    to: str = "/"
    """The page to go on to."""


class NewLinkOptions(SecretOptions):
    """A read-only link to make."""

    page: str = "/"
    days: int = 7
    """How long it is good for."""


class RevokeOptions(SecretOptions):
    """A link that is to be good no more."""

    number: int


class LoginLimits:
    """How often a password may be tried, by one client and for one name; and how many are checked at a time."""

    def __init__(self) -> None:
        self.by_client = RateLimit(per_second=0.5, at_once=20)
        self.by_name = RateLimit(per_second=0.2, at_once=10)
        self.at_a_time = asyncio.Semaphore(2)  # each takes 32 MB and a tenth of a second

    def allow(self, client: str, name: str) -> bool:
        # both are asked, so that neither tells anything of the other
        allowed = self.by_client.allows(client), self.by_name.allows(name)
        return all(allowed)


def login_handlers(store: Store, authenticator: Authenticator, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers of `/login` and `/logout`."""
    limits = LoginLimits()

    def login_form(request: Request[Any, Any, Any], status: int = 200, **values: Any) -> Response[str]:
        if not authenticator.login_page:
            raise HTTPException(
                "There are no users: the link that `rankscope serve` printed opens it.", status_code=404
            )
        html = render("login.html", request=request, **{"to": "/", "name": "", "wrong": "", **values})
        cookie = session_cookie(request.scope, request.scope["state"]["form_cookie"], name=FORM_COOKIE)  # type: ignore[arg-type]
        return Response(html, status_code=status, media_type="text/html", headers={"set-cookie": cookie})

    @get(
        "/login",
        role=ANYONE,
        sync_to_thread=False,
        operation_class=address_operation("Sign in", "login_page", LoginPageOptions, "text/html"),
    )
    def show_login(request: Request[Any, Any, Any]) -> Response[str]:
        return login_form(request, to=local_path(request.query_params.get("to", "/")))

    @post(
        "/login",
        role=ANYONE,
        status_code=200,
        operation_class=form_operation("Sign in by a name and a password", "login", LoginOptions),
    )
    async def log_in(request: Request[Any, Any, Any]) -> Response[str] | Response[None]:
        form = await checked_form(request)
        name, to = form.get("name").strip(), local_path(form.get("to", "/"))
        if not authenticator.login_page or not limits.allow(request.client.host if request.client else "", name):
            return login_form(request, 429, to=to, name=name, wrong="Too many tries. Wait a minute, then try again.")
        async with limits.at_a_time:
            user = await asyncio.to_thread(store.users.check_password, name, form.get("password"))
        if user is None:
            return login_form(request, 403, to=to, name=name, wrong="The name or the password is wrong.")
        session = await asyncio.to_thread(store.users.open_session, user.name)
        cookie = session_cookie(request.scope, session, seconds=SESSION_S)  # type: ignore[arg-type]
        return Response(None, status_code=303, headers={"location": to, "set-cookie": cookie})

    @post(
        "/logout",
        role=ANYONE,
        status_code=303,
        operation_class=form_operation("Sign out", "logout", SecretOptions),
    )
    async def log_out(request: Request[Any, Any, Any]) -> Response[None]:
        scope: Any = request.scope
        session = cookies_in(request.headers.get("cookie", "")).get(cookie_name(COOKIE, scope), "")
        if session and not session.startswith(LINK) and not store.read_only:
            await asyncio.to_thread(store.users.end_session, session)
        gone = session_cookie(scope, "", seconds=0)
        return Response(None, status_code=303, headers={"location": "/login?out=1", "set-cookie": gone})

    return [show_login, log_in, log_out]


def link_handlers(library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers that make and revoke read-only links; the page that lists them is `pages/share.py`."""
    links = library.store.links

    @post(
        "/share",
        role="editor",
        status_code=200,
        operation_class=form_operation(
            "Make a read-only link",
            "share_make",
            NewLinkOptions,
            status="200",
            answer="The page that shows the link, once.",
            media_type="text/html",
        ),
    )
    async def make_link(request: Request[Any, Any, Any]) -> Response[str]:
        form = await checked_form(request)
        who, page = identity_of(request).name, local_path(form.get("page", "/"))
        try:
            lasts_s = int(form.get("days", "7")) * DAY_S
        except ValueError:
            raise HTTPException("A link lasts a number of days.", status_code=400) from None
        token = await asyncio.to_thread(links.add, page, who=who, lasts_s=lasts_s)
        scope: Any = request.scope
        link = f"{scope['scheme']}://{request.headers['host']}{page}{'&' if '?' in page else '?'}token={token}"
        shown = await asyncio.to_thread(share_page, library, ShareOptions(page=page))
        html = render("share.html", request=request, asked=ShareOptions(page=page), page=shown, link=link)
        return Response(html, media_type="text/html", headers={"cache-control": "no-store"})

    @post(
        "/share/revoke",
        role="editor",
        status_code=303,
        operation_class=form_operation("Revoke a read-only link", "share_revoke", RevokeOptions),
    )
    async def revoke_link(request: Request[Any, Any, Any]) -> Response[None]:
        number = (await checked_form(request)).get("number")
        if not number.isascii() or not number.isdigit() or len(number) > 15:
            raise HTTPException("There is no such link.", status_code=404)
        await asyncio.to_thread(links.revoke, int(number))
        return Response(None, status_code=303, headers={"location": "/share"})

    return [make_link, revoke_link]
