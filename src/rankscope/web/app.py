"""The application: pages, static files, errors, and the shield before all of them."""

from __future__ import annotations

import json
import logging
import secrets
import threading
import traceback
from collections.abc import Iterable
from contextlib import suppress
from typing import Annotated, Any, cast
from urllib.parse import urlencode

from litestar import Litestar, Request, Response, Router, get
from litestar.config.compression import CompressionConfig
from litestar.exceptions import HTTPException, NotAuthorizedException, PermissionDeniedException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.params import PathParameter

from rankscope._version import __version__
from rankscope.errors import RankscopeError, UnfinishedError, UnknownNameError
from rankscope.printable import printable, printable_lines, without_paths
from rankscope.systems.secrets import Secrets
from rankscope.web.accounts import link_handlers, login_handlers
from rankscope.web.actions import action_handler
from rankscope.web.background import StillComputingError
from rankscope.web.chosen import collection_runs
from rankscope.web.library import Library
from rankscope.web.pages import ACTIONS, PAGES
from rankscope.web.pages.compare import ComparePageOptions, begun_page
from rankscope.web.raters import StoreRaterDoor, invite_handlers, rater_handlers
from rankscope.web.rendering import TYPES, Renderer, static_address, static_file
from rankscope.web.routing import handlers_of, menu_of
from rankscope.web.security import ANYONE, MAY, Authenticator, Identity, RateLimit, TrustedProxy, check_rule
from rankscope.web.shield import AsgiApp, Problem, Scope, Shield
from rankscope.web.streams import STREAMED, job_events, live_answers
from rankscope.web.task_forms import task_form_handlers

AGAIN_S = 2
"""After so many seconds a page that is being computed opens itself again."""
LOG = logging.getLogger("rankscope.web")

BEGINNINGS = frozenset(
    ("the", "there", "no", "a", "an", "only", "this", "it", "choose", "correct", "open", "type", "fill")
)
"""Words that errors begin with; others may be names."""


def make_app(
    library: Library,
    authenticator: Authenticator,
    *,
    hosts: Iterable[str],
    proxy: TrustedProxy | None = None,
    rate_limit: RateLimit | None = None,
) -> Shield:
    """Return the application that answers requests on a library."""
    renderer = Renderer(menu_of(PAGES, library), only_read=library.store.read_only)
    pages = [handler for route in PAGES for handler in handlers_of(route, library, renderer.render)]
    errors = ErrorPages(renderer, authenticator, library.secrets)
    schema = Router("/schema", route_handlers=[], opt={"role": "viewer"})
    accounts = login_handlers(library.store, authenticator, renderer.render) + link_handlers(library, renderer.render)
    actions = [action_handler(route, library) for route in ACTIONS]
    app = Litestar(
        [
            *pages,
            *actions,
            *accounts,
            job_events(library, renderer),
            live_answers(library, renderer),
            *rater_handlers(library, renderer.render),
            *invite_handlers(library, renderer.render),
            *task_form_handlers(library, renderer.render),
            show_static,
            show_health,
        ],
        guards=[check_rule],
        exception_handlers={
            HTTPException: errors.refused,
            StillComputingError: errors.computing,
            Exception: errors.failed,
        },
        openapi_config=OpenAPIConfig(
            title="Rankscope",
            version=__version__,
            openapi_router=schema,
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],  # other pages load scripts from elsewhere
            use_handler_docstrings=True,
        ),
        compression_config=CompressionConfig(backend="gzip", minimum_size=1000, exclude_opt_key=STREAMED),
        on_startup=[threading.Thread(target=prepare, args=(library, renderer), name="prepare", daemon=True).start],
        logging_config=None,
        debug=False,
    )
    return Shield(
        cast("AsgiApp", app),
        authenticator,
        hosts=hosts,
        proxy=proxy,
        rate_limit=rate_limit,
        raters=StoreRaterDoor(library.store),
        refuse=errors.page,
        explain=errors.problem_of,
    )


def prepare(library: Library, renderer: Renderer) -> None:
    """Load and read what the first reader would have to wait for; nothing is compared, as that is a look at queries."""
    renderer.load()
    with suppress(Exception):  # whatever it is, a page says it; and the server may be ending
        of = collection_runs(library, "")
        begun_page(library, ComparePageOptions(collection=of.name))


@get("/static/{name:str}", role=ANYONE, include_in_schema=False, sync_to_thread=False)
def show_static(request: Request[Any, Any, Any], name: Annotated[str, PathParameter()]) -> Response[bytes]:
    content = static_file(name)
    if content is None:
        raise HTTPException("There is no such file.", status_code=404)
    # the address of a file holds its hash; another one, as of an older page, must not be kept for ever
    is_newest = static_address(name).endswith(f"?{request.scope['query_string'].decode('latin-1')}")
    kept = "public, max-age=31536000, immutable" if is_newest else "no-cache"
    return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers={"cache-control": kept})


@get("/health", role=ANYONE, sync_to_thread=False)
def show_health() -> dict[str, str]:
    """Say that the server answers."""
    return {"status": "ok"}


class ErrorPages:
    """What is shown where something went wrong: what, why, and what to do; as JSON where JSON was asked for.

    Neither a page nor the log shows secrets; pages show no path, no address of a database and no traceback.
    """

    def __init__(self, renderer: Renderer, authenticator: Authenticator, secrets_: Secrets) -> None:
        self.renderer, self.authenticator, self.secrets = renderer, authenticator, secrets_

    def page(self, scope: Scope, status: int, what: str, hint: str) -> tuple[str, bytes]:
        if wants_json(scope):
            return "application/json", json.dumps({"error": what, "hint": hint}).encode()
        what, hint = sentence(what), sentence(hint)
        html = self.renderer.render("error.html", request=None, scope=scope, status=status, what=what, hint=hint)
        return "text/html; charset=utf-8", html.encode("utf-8", "replace")

    def response(
        self, request: Request[Any, Any, Any], problem: Problem, headers: dict[str, str] | None = None
    ) -> Response[bytes]:
        kind, content = self.page(cast("Scope", request.scope), *problem)
        return Response(content, status_code=problem[0], media_type=kind.partition(";")[0], headers=headers or {})

    def refused(self, request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
        if isinstance(error, NotAuthorizedException):
            return self.ask_to_log_in(request)
        words = {404: "There is no such page.", 405: "This page cannot be asked in that way."}
        is_ours = error.detail not in ("Not Found", "Method Not Allowed", "Internal Server Error")
        what = self.shown(error.detail) if is_ours else words.get(error.status_code, error.detail)
        identity = request.scope["state"].get("identity")
        hint = ""
        if isinstance(error, PermissionDeniedException) and isinstance(identity, Identity):
            hint = f"{MAY[identity.role]} An owner can give you another role." if not identity.only_reads else ""
        return self.response(request, (error.status_code, what, hint), dict(error.headers or {}))

    def ask_to_log_in(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        scope = cast("Scope", request.scope)
        if self.authenticator.login_page and scope["method"] == "GET" and not wants_json(scope):
            asked = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            return Response(b"", status_code=303, headers={"location": f"/login?{urlencode({'to': asked})}"})
        hint = "Open the link that `rankscope serve` printed; it holds a token."
        return self.response(
            request, (401, "You are not signed in.", "Sign in at /login." if self.authenticator.login_page else hint)
        )

    def failed(self, request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
        return self.response(request, self.problem_of(cast("Scope", request.scope), error))

    def computing(self, request: Request[Any, Any, Any], error: StillComputingError) -> Response[bytes]:
        """Say what is being computed, since when; the page opens itself again until it is there."""
        headers = {"retry-after": str(AGAIN_S), "cache-control": "no-store"}
        if wants_json(cast("Scope", request.scope)):
            said = {"computing": error.what, "since": error.since, "n_before": error.n_before}
            return Response(json.dumps(said).encode(), status_code=202, media_type="application/json", headers=headers)
        html = self.renderer.render("computing.html", request=request, computing=error, again_s=AGAIN_S)
        content = html.encode("utf-8", "backslashreplace")
        return Response(content, status_code=202, media_type="text/html", headers=headers)

    def problem_of(self, scope: Scope, error: Exception) -> Problem:
        """Return what an error is for a reader; a bug gets a number, under which the log says more."""
        if isinstance(error, RankscopeError):
            status = 503 if isinstance(error, UnfinishedError) else 404 if isinstance(error, UnknownNameError) else 400
            return status, self.shown(error.message), self.shown(error.hint)
        number = secrets.token_hex(4)
        trace = self.secrets.hide("".join(traceback.format_exception(error)))
        LOG.error("error %s on %s\n%s", number, printable(scope["path"]), printable_lines(trace))
        hint = f"The log of the server says more under the number {number}."
        return 500, "Something went wrong in Rankscope itself.", hint

    def shown(self, text: str) -> str:
        """Return the words of an error for a page: of paths the last part, of addresses nothing, and no secret."""
        return without_paths(self.secrets.hide(text))


def sentence(text: str) -> str:
    """Return the words of an error as a sentence; names that it begins with stay as they are."""
    first = text.partition(" ")[0]
    if first in BEGINNINGS or " must be " in text[: len(first) + 9] or text.endswith(" is missing"):
        text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?" else f"{text}."


def wants_json(scope: Scope) -> bool:
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return scope["path"].endswith(".json") or accepted.startswith(b"application/json")
