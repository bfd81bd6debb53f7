"""Raters: how an invitation becomes a session of its own, and what the screens of a rater ask and send."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import anyio.to_thread
from litestar import Request, Response, get, post
from litestar.handlers import HTTPRouteHandler

from rankscope.data.tasks import Guideline, Task, TaskRater
from rankscope.errors import OptionError
from rankscope.judging.kept_sessions import KeptSessions
from rankscope.judging.rater_view import PreferenceRequest, RaterState, SaveRequest
from rankscope.judging.session import RaterSession
from rankscope.judging.settling import order_for
from rankscope.records import Options, Record, from_json, to_json
from rankscope.store import Store
from rankscope.web.address import address, options_in
from rankscope.web.forms import SentForm, checked_form
from rankscope.web.library import Library
from rankscope.web.markdown import markdown_blocks, without_scale
from rankscope.web.pages.judge import InviteOptions, RaterNumber, TaskOptions, rater_in, task_page
from rankscope.web.rendering import STYLE, static_file
from rankscope.web.routing import HTML, JSON, as_bytes
from rankscope.web.security import ANYONE, Identity, RaterDoor
from rankscope.web.shield import FORM_FIELD, RATER_COOKIE, session_cookie

Done = TypeVar("Done")

START, TASK, LISTS, NAME = "/judge/start", "/judge/task", "/judge/lists", "/judge/name"
STATE, QUERY, SAVE, PREFERENCE = "/judge/state.json", "/judge/query.json", "/judge/save.json", "/judge/preference.json"
SETTLING, WORKER = "/judge/settling.json", "/judge/worker.js"
SCREEN_FILES = (STYLE, "judge.css", "judge-core.js", "judge.js", "judge-lists.js")
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


def levels_of(guideline: Guideline) -> tuple[int, ...]:
    """Return how strongly each grade is shaded, from 0 to 3."""
    most = max(1, len(guideline.scale) - 1)
    return tuple(round(place / most * 3) for place in range(len(guideline.scale)))


class RaterSettling(Record):
    """How far the answer of a task is, for a rater: no system is named."""

    line: str
    newer: bool
    """Whether there are newer judgments than it knows; an answer that does is on its way."""
    left: bool = False
    """Whether it speaks of docs that are left to judge."""


class RaterDesk:
    """What raters see and send: each request works on the task of its invitation, and on no other."""

    def __init__(self, library: Library, render: Callable[..., str]) -> None:
        self.library, self.store, self.render = library, library.store, render
        self.sessions = KeptSessions(library.store)

    def invitation(self, request: Request[Any, Any, Any]) -> str:
        invitation: str = request.scope["state"].get("invitation", "")
        if not invitation:
            raise OptionError(
                "you were not invited to judge in this browser",
                hint="open the link of your invitation, as it was sent to you",
            )
        return invitation

    def session(self, request: Request[Any, Any, Any], *, to_save: bool = False) -> RaterSession:
        return self.sessions.open(self.invitation(request), to_save=to_save)

    async def answer(self, request: Request[Any, Any, Any], build: Callable[[RaterSession], Record]) -> Response[bytes]:
        """Return what `build` makes of the rater's session, as JSON."""
        return await self.made(lambda: build(self.session(request)))

    async def made(self, build: Callable[[], Record]) -> Response[bytes]:
        def made() -> bytes:
            return to_json(build(), indent=None).encode()

        content = await anyio.to_thread.run_sync(made)
        return Response(content, media_type=JSON, headers={"cache-control": "no-store"})

    def over(self, request: Request[Any, Any, Any], task: Task | None) -> Response[bytes]:
        """Say that an invitation does not count any more, or never did; who reads it may see no other page."""
        html = self.render("rater_over.html", request=request, task=task, rater=None, outbox="")
        headers = {"cache-control": "no-store"}
        return Response(as_bytes(html), status_code=403, media_type=HTML, headers=headers)

    def start(self, request: Request[Any, Any, Any], invitation: str) -> Response[bytes]:
        """Make a cookie of an invitation that counts."""
        found = self.store.raters.with_task(invitation) if invitation else None
        if found is None or found[0].revoked is not None:
            return self.over(request, found[1] if found is not None else None)
        scope: Any = request.scope
        cookie = session_cookie(scope, invitation, name=RATER_COOKIE, seconds=COOKIE_S)
        return Response(b"", status_code=303, headers={"location": TASK, "set-cookie": cookie})

    def screen(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        found = self.store.raters.with_task(self.invitation(request))
        if found is None or found[0].revoked is not None:
            return self.over(request, found[1] if found is not None else None)
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
            text=without_scale(text) if session.task.plan.mode == "lists" else text,
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
        return RaterSettling("", newer) if state is None else RaterSettling(state.short, newer, state.n_open > 0)


def rater_handlers(library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers of what a rater sees and sends."""
    desk = RaterDesk(library, render)
    return [*screen_handlers(desk), *data_handlers(desk)]


def screen_handlers(desk: RaterDesk) -> list[HTTPRouteHandler]:
    @get(START, role=ANYONE, summary="Come by an invitation, which becomes a cookie")
    async def start(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await anyio.to_thread.run_sync(desk.start, request, request.query_params.get("invite", ""))

    @get([TASK, LISTS], role="rater", summary="The screen of a rater")
    async def show_screen(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await anyio.to_thread.run_sync(desk.screen, request)

    @post(NAME, role="rater", status_code=303, summary="Say how a rater wants to be called")
    async def take_name(request: Request[Any, Any, Any]) -> Response[bytes]:
        name = options_in(RaterName, (await checked_form(request)).body).name.strip()
        await anyio.to_thread.run_sync(lambda: desk.session(request).rename(name))
        return Response(b"", status_code=303, headers={"location": TASK})

    @get(WORKER, role=ANYONE, sync_to_thread=False, summary="What opens the screen of a rater without a connection")
    def show_worker() -> Response[bytes]:
        # below /judge/ a worker is for the pages there, and for no others
        return Response(worker_script(), media_type="text/javascript", headers={"cache-control": "no-cache"})

    return [start, show_screen, take_name, show_worker]


@cache
def worker_script() -> bytes:
    """Return what gives the screen of a rater without a connection; other files of the screen make it another one."""
    script = static_file("judge-worker.js") or b""
    version = hashlib.sha256(script + b"".join(static_file(name) or b"" for name in SCREEN_FILES)).hexdigest()[:16]
    return script.replace(b"@VERSION@", version.encode())


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
        return await desk.made(lambda: desk.sessions.save(desk.invitation(request), sent))

    @post(PREFERENCE, role="rater", status_code=200, summary="Keep which list a rater finds better")
    async def save_preference(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = from_json(PreferenceRequest, await request.body())
        return await desk.made(lambda: desk.session(request, to_save=True).save_preference(sent))

    return [show_state, show_query, show_settling, save, save_preference]


class FormsSentOnce:
    """Does what a form asks for once, however often a browser sends it: a page that is loaded again sends it again.

    The secret of a form is another text on every page that is made, so it tells a form that is sent again from another
    one. Programs that show a token send none, and mean every request.
    """

    def __init__(self) -> None:
        self._sent: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def first(self, sent: SentForm, act: Callable[[], Done]) -> Done | None:
        """Return what `act` returns; None, and nothing is done, where the same form was sent before."""
        key = digest(sent.body) if sent.get(FORM_FIELD) else ""
        with self._lock:  # who presses twice sends both at the same time
            if key in self._sent:
                return None
            done = act()
            if key:
                self._sent[key] = None
            while len(self._sent) > MOST_KNOWN:
                self._sent.popitem(last=False)
        return done


def invite_handlers(library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers that make the link of a rater; it is in their answer, and cannot be seen again.

    A form that is sent again, as where the answer is loaded again, makes no other rater and no other link.
    """
    store, once = library.store, FormsSentOnce()

    def answer(
        request: Request[Any, Any, Any], task: int, sent: SentForm, make: Callable[[], tuple[TaskRater, str]]
    ) -> Response[bytes]:
        made = once.first(sent, make)
        asked = TaskOptions(task=str(task))
        values: dict[str, Any] = {"sent_again": made is None}
        if made is not None:
            rater, token = made
            scope: Any = request.scope
            link = f"{scope['scheme']}://{request.headers['host']}{address(START, invite=token)}"
            values |= {"link": link, "invited": rater.name}
        html = render("judge_task.html", request=request, asked=asked, page=task_page(library, asked), **values)
        return Response(as_bytes(html), media_type=HTML, headers={"cache-control": "no-store"})

    @post("/judge/invite", role="editor", status_code=200, summary="Invite raters; their links are shown once")
    async def invite(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = await checked_form(request)
        asked = options_in(InviteOptions, sent.body)

        def make() -> tuple[TaskRater, str]:
            return store.raters.invite(store.tasks.get(asked.task), name=asked.name.strip())

        return await anyio.to_thread.run_sync(answer, request, asked.task, sent, make)

    @post("/judge/renew", role="editor", status_code=200, summary="Make a new link for a rater")
    async def renew(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = await checked_form(request)
        asked = options_in(RaterNumber, sent.body)

        def make() -> tuple[TaskRater, str]:
            return store.raters.renew(rater_in(library, asked).number)

        return await anyio.to_thread.run_sync(answer, request, asked.task, sent, make)

    return [invite, renew]
