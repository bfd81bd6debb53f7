"""Raters: how an invitation becomes a session of its own, and what the screens of a rater ask and send."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from litestar import Request, Response, get, post
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler

from rankscope.data.tasks import Guideline, TaskRater
from rankscope.errors import OptionError
from rankscope.judging.guidelines import REASONS, SCALE
from rankscope.judging.rater_view import PreferenceRequest, RaterState, SaveRequest
from rankscope.judging.session import RaterSession, open_session
from rankscope.judging.settling import order_for
from rankscope.records import Options, Record, from_json, to_json
from rankscope.store import Store
from rankscope.web.address import address, options_in
from rankscope.web.forms import checked_form
from rankscope.web.library import Library
from rankscope.web.markdown import MarkdownBlock, markdown_blocks
from rankscope.web.pages.judge import InviteOptions, RaterNumber, TaskOptions, rater_in, task_page
from rankscope.web.routing import HTML, JSON, as_bytes
from rankscope.web.security import ANYONE, Identity, RaterDoor
from rankscope.web.shield import RATER_COOKIE, session_cookie

START, TASK, LISTS, NAME = "/judge/start", "/judge/task", "/judge/lists", "/judge/name"
STATE, QUERY, SAVE, PREFERENCE = "/judge/state.json", "/judge/query.json", "/judge/save.json", "/judge/preference.json"
SETTLING = "/judge/settling.json"
COOKIE_S = 180 * 24 * 3600
"""How long a browser remembers an invitation; the owner of the task can end it at any time."""
MOST_KNOWN = 10_000


class StoreRaterDoor(RaterDoor):
    """Knows the invitations of a store.

    Who is let in here has no other role, and every page of a rater opens the task by the invitation again: what was
    revoked meanwhile is refused there.
    """

    paths = frozenset((TASK, LISTS, NAME, STATE, QUERY, SAVE, PREFERENCE, SETTLING))

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: OrderedDict[str, str] = OrderedDict()

    def known(self, invitation: str) -> str:
        return self._known.get(digest(invitation), "") if invitation else ""

    def identify(self, invitation: str, headers: dict[str, str]) -> Identity | None:
        name = self.known(invitation)
        if not name:
            found = self.store.raters.by_token(invitation)
            if found is None:
                return None
            name = self._known[digest(invitation)] = found.id
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        # a program that shows the token itself needs no secret of a form: no browser sends that header by itself
        session = "" if "authorization" in headers else f"rater {invitation}"
        return Identity(name, "rater", session)


def digest(invitation: str) -> str:
    return hashlib.sha256(invitation.encode("utf-8", "surrogatepass")).hexdigest()


class QueryAsked(Options):
    """Which query a rater looks at."""

    query: str
    again: bool = False
    """Of lists: whether they are shown a second time, with sides swapped."""


class RaterName(Options):
    """How a rater wants to be called."""

    name: str = ""


def grade_keys(guideline: Guideline) -> tuple[str, ...]:
    """Return the key of each grade: its digit, or where grades are no digits its place from 1; ten have one at most."""
    grades = [step.grade for step in guideline.scale]
    if all(grade in range(10) for grade in grades):
        return tuple(f"{grade:g}" for grade in grades)
    return tuple(str(place) if place < 10 else "" for place in range(1, len(grades) + 1))


def without_scale(text: tuple[MarkdownBlock, ...]) -> tuple[MarkdownBlock, ...]:
    """Return a guideline without the lists that are shown by themselves: the scale, and reasons for a flag."""
    kept: list[MarkdownBlock] = []
    heading = ""
    for block in text:
        if block.kind == "heading":
            heading = "".join(span.text for span in block.lines[0]).strip().lower()
        if heading in (SCALE, REASONS) and block.kind != "paragraph":
            continue
        kept.append(block)
    return tuple(kept)


def levels_of(guideline: Guideline) -> tuple[int, ...]:
    """Return how strongly each grade is shaded, from 0 to 3."""
    most = max(1, len(guideline.scale) - 1)
    return tuple(round(place / most * 3) for place in range(len(guideline.scale)))


class RaterSettling(Record):
    """How far the answer of a task is, for a rater: no system is named."""

    line: str
    newer: bool
    """Whether there are newer judgments than it knows; an answer that does is on its way."""


class RaterDesk:
    """What raters see and send: each request works on the task of its invitation, and on no other."""

    def __init__(self, library: Library, render: Callable[..., str]) -> None:
        self.library, self.store, self.render = library, library.store, render

    def session(self, request: Request[Any, Any, Any]) -> RaterSession:
        invitation = request.scope["state"].get("invitation", "")
        if not invitation:
            raise OptionError(
                "you were not invited to judge in this browser",
                hint="open the link of your invitation, as it was sent to you",
            )
        return open_session(self.store, invitation)

    async def answer(self, request: Request[Any, Any, Any], build: Callable[[RaterSession], Record]) -> Response[bytes]:
        """Return what `build` makes of the rater's session, as JSON."""

        def made() -> bytes:
            return to_json(build(self.session(request)), indent=None).encode()

        content = await anyio.to_thread.run_sync(made)
        return Response(content, media_type=JSON, headers={"cache-control": "no-store"})

    def screen(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        session = self.session(request)
        wanted = LISTS if session.task.plan.mode == "lists" else TASK
        if request.scope["path"] != wanted:
            return Response(b"", status_code=303, headers={"location": wanted})
        text = markdown_blocks(session.guideline.text)
        html = self.render(
            f"rater_{session.task.plan.mode}.html" if session.rater.name else "rater_start.html",
            request=request,
            task=session.task,
            rater=session.rater,
            guideline=session.guideline,
            text=text,
            without_scale=without_scale(text),
            levels=levels_of(session.guideline),
            grade_keys=grade_keys(session.guideline),
            # answers that a browser keeps are those of this rater, and of no other one; a new link finds them again
            outbox=digest(f"{session.rater.id} {session.rater.created} {session.rater.seed}")[:16],
        )
        return Response(as_bytes(html), media_type=HTML, headers={"cache-control": "no-store"})

    def state(self, session: RaterSession) -> RaterState:
        """Return where a rater stands; what moves the verdict most comes first, as far as it is known by now."""
        settling = self.library.settling.latest(session.task) if session.task.plan.measure else None
        return session.state(order=order_for(settling, session.rater.seed))

    def settling(self, session: RaterSession) -> RaterSettling:
        state = self.library.settling.latest(session.task) if session.task.plan.measure else None
        newer = bool(session.task.plan.measure) and not self.library.settling.is_newest(session.task, state)
        return RaterSettling("" if state is None else state.short, newer)


def rater_handlers(library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers of what a rater sees and sends."""
    desk = RaterDesk(library, render)
    return [*screen_handlers(desk), *data_handlers(desk)]


def screen_handlers(desk: RaterDesk) -> list[HTTPRouteHandler]:
    @get(START, role=ANYONE, summary="Come by an invitation, which becomes a cookie")
    async def start(request: Request[Any, Any, Any]) -> Response[bytes]:
        invitation = request.query_params.get("invite", "")
        found = await anyio.to_thread.run_sync(desk.store.raters.by_token, invitation) if invitation else None
        if found is None:
            raise HTTPException("This invitation is not known here. Ask who sent it for a new link.", status_code=403)
        scope: Any = request.scope
        cookie = session_cookie(scope, invitation, name=RATER_COOKIE, seconds=COOKIE_S)
        return Response(b"", status_code=303, headers={"location": TASK, "set-cookie": cookie})

    @get([TASK, LISTS], role="rater", summary="The screen of a rater")
    async def show_screen(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await anyio.to_thread.run_sync(desk.screen, request)

    @post(NAME, role="rater", status_code=303, summary="Say how a rater wants to be called")
    async def take_name(request: Request[Any, Any, Any]) -> Response[bytes]:
        name = options_in(RaterName, (await checked_form(request)).body).name.strip()
        await anyio.to_thread.run_sync(lambda: desk.session(request).rename(name))
        return Response(b"", status_code=303, headers={"location": TASK})

    return [start, show_screen, take_name]


def data_handlers(desk: RaterDesk) -> list[HTTPRouteHandler]:
    @get(STATE, role="rater", summary="The task of a rater: what is done, and what comes next")
    async def show_state(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await desk.answer(request, desk.state)

    @get(QUERY, role="rater", summary="A query of a rater's task with its docs")
    async def show_query(request: Request[Any, Any, Any]) -> Response[bytes]:
        asked = options_in(QueryAsked, request.scope["query_string"].decode("latin-1"))
        return await desk.answer(request, lambda session: session.query(asked.query, again=asked.again))

    @get(SETTLING, role="rater", summary="How far the answer of a rater's task is from settled")
    async def show_settling(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await desk.answer(request, desk.settling)

    @post(SAVE, role="rater", status_code=200, summary="Keep what a rater says of a doc")
    async def save(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = from_json(SaveRequest, await request.body())
        return await desk.answer(request, lambda session: session.save(sent))

    @post(PREFERENCE, role="rater", status_code=200, summary="Keep which list a rater finds better")
    async def save_preference(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = from_json(PreferenceRequest, await request.body())
        return await desk.answer(request, lambda session: session.save_preference(sent))

    return [show_state, show_query, show_settling, save, save_preference]


def invite_handlers(library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers that make the link of a rater; it is in their answer, and cannot be seen again."""
    store = library.store

    def shown(request: Request[Any, Any, Any], rater: TaskRater, token: str) -> Response[bytes]:
        asked = TaskOptions(task=str(rater.task))
        scope: Any = request.scope
        link = f"{scope['scheme']}://{request.headers['host']}{address(START, invite=token)}"
        page = task_page(library, asked)
        html = render("judge_task.html", request=request, asked=asked, page=page, link=link, invited=rater.name)
        return Response(as_bytes(html), media_type=HTML, headers={"cache-control": "no-store"})

    @post("/judge/invite", role="editor", status_code=200, summary="Invite raters; their links are shown once")
    async def invite(request: Request[Any, Any, Any]) -> Response[bytes]:
        asked = options_in(InviteOptions, (await checked_form(request)).body)

        def make() -> Response[bytes]:
            return shown(request, *store.raters.invite(store.tasks.get(asked.task), name=asked.name.strip()))

        return await anyio.to_thread.run_sync(make)

    @post("/judge/renew", role="editor", status_code=200, summary="Make a new link for a rater")
    async def renew(request: Request[Any, Any, Any]) -> Response[bytes]:
        asked = options_in(RaterNumber, (await checked_form(request)).body)

        def make() -> Response[bytes]:
            return shown(request, *store.raters.renew(rater_in(library, asked).number))

        return await anyio.to_thread.run_sync(make)

    return [invite, renew]
