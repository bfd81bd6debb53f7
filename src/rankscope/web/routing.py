"""From a page as data to its routes: HTML, the JSON twin, and what OpenAPI says of both."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from anyio.to_thread import run_sync
from litestar import Request, Response, get
from litestar.exceptions import NotAuthorizedException, NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Operation, Parameter, Reference, Schema

from rankscope.errors import collect_notes
from rankscope.records import Options, Record, field_docs, inline_schema, json_schema, to_json
from rankscope.report.document import Report
from rankscope.web.address import default_of, options_in
from rankscope.web.background import StillComputingError
from rankscope.web.exporting import FORMS, MEDIA_TYPES, ExportForm, export, file_name, parts_of
from rankscope.web.library import Library
from rankscope.web.rendering import MenuEntry
from rankscope.web.security import Identity, Role

Asked = TypeVar("Asked", bound=Options)
Built = TypeVar("Built")
Taken_contra = TypeVar("Taken_contra", bound=Options, contravariant=True)
JSON, HTML = "application/json", "text/html"
"""Litestar adds the charset to every kind of text."""
PATIENCE_S = 0.1
"""How long a reader waits for what is being computed, before a page says that it is."""
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


class PageFunction(Protocol[Taken_contra]):
    """Computes what stands on a page."""

    __name__: str
    __doc__: str | None

    def __call__(self, library: Library, asked: Taken_contra, /) -> Record: ...


class PageRoute(Record, Generic[Asked]):
    """One page: where it is, what it takes, what makes it, what shows it, and who may see it."""

    path: str
    title: str
    options: type[Asked]
    build: PageFunction[Asked]
    record: type[Record]
    template: str
    view: Callable[[Any], Any] | None = None
    """Makes of the record what only the HTML shows, such as charts; the template has it as `view`."""
    report: Callable[[Any], Report | None] | None = None
    """Makes of the record a report, from which files are exported; the template has it as `report`."""
    moved: Callable[[Any], str] | None = None
    """Says of the record at which address a browser finds what it asks for, where this page has nothing of it."""
    role: Role = "viewer"
    in_menu: bool = True
    menu_role: Role = "viewer"
    """The least role that can do something there."""
    sends: bool = False
    """Whether the page is of no use to who only reads."""
    site_options: frozenset[str] = frozenset(("collection",))
    """In a site of files, the options whose values have files of their own; links to others lead nowhere there."""
    site_ignored: frozenset[str] = frozenset()
    """In a site of files, options that only say how the page was reached: they are left out of its addresses."""
    site_limit: int = 200
    """At most so many files of this page are in a site; 0: none."""


def menu_of(routes: Iterable[PageRoute[Any]], library: Library) -> list[MenuEntry]:
    """Return the menu; pages stay with the collection that is looked at, where they can be about it."""

    def in_project(name: str) -> bool:
        return library.project is not None and name in library.project.collections

    def takes(route: PageRoute[Any]) -> Callable[[str], bool] | None:
        has = "collection" in route.options.__struct_fields__ and route.path != "/collections"  # it lists all of them
        return None if not has else in_project if route.path == "/live" else bool

    return [
        MenuEntry(route.path, route.title, route.menu_role, route.sends, takes(route))
        for route in routes
        if route.in_menu
    ]


def handlers_of(route: PageRoute[Any], library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers of a page: as HTML, and as JSON.

    They use a thread by themselves: Litestar's `sync_to_thread` wraps a handler twice where its path has another one,
    as that of a form.
    """
    json_path = "/index.json" if route.path == "/" else f"{route.path}.json"
    name = route.path.strip("/").replace("/", "_") or "index"
    about = (route.build.__doc__ or route.title).strip()

    @get(
        route.path,
        name=name,
        role=route.role,
        operation_class=operation_of(route, f"{name}_page", about, {"text/html": {"type": "string"}}),
    )
    async def show_page(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await run_sync(page_response, request)

    def page_response(request: Request[Any, Any, Any]) -> Response[bytes]:
        known = patiently(lambda: template_values(route, library, options_of(route, request)))
        if route.moved is not None and (where := route.moved(known["page"])):
            return Response(b"", status_code=303, media_type=HTML, headers={"location": where, **VARIES})
        tag = tag_of(
            content_of(known["page"]), known["notes"], request.url, identity_of(request), library.store.read_only
        )
        if (styles := STYLES.known(tag)) is not None and is_known_to_sender(request, tag):
            return Response(b"", status_code=304, media_type=HTML, headers={"etag": tag, **VARIES, **styles})
        html = render(route.template, request=request, **known)
        styles = STYLES.keep(tag, style_hashes(html))
        return Response(as_bytes(html), media_type=HTML, headers={"etag": tag, **VARIES, **styles})

    @get(
        json_path,
        name=f"{name}_json",
        role=route.role,
        operation_class=operation_of(route, f"{name}_json", about, {JSON: json_schema(route.record)}),
    )
    async def show_json(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await run_sync(json_response, request)

    def json_response(request: Request[Any, Any, Any]) -> Response[bytes]:
        with collect_notes():  # the records that need them hold the notes themselves
            page = patiently(lambda: route.build(library, options_of(route, request)))
        content = to_json(page, indent=1).encode()
        headers = {"etag": tag_of(content), **VARIES}
        if is_known_to_sender(request, headers["etag"]):
            return Response(b"", status_code=304, media_type=JSON, headers=headers)
        return Response(content, media_type=JSON, headers=headers)

    exports = [] if route.report is None else [export_handler(route, library, form) for form in FORMS]
    return [show_page, show_json, *exports]


def patiently(build: Callable[[], Built]) -> Built:
    """Return what is built; where something is still being computed, a moment later, and then no more."""
    try:
        return build()
    except StillComputingError as waiting:
        waiting.wait(PATIENCE_S)
    return build()


def template_values(route: PageRoute[Any], library: Library, asked: Options) -> dict[str, Any]:
    """Return what a template gets: the record of the page, what is drawn of it, and what must be known of it."""
    with collect_notes() as notes:
        page = route.build(library, asked)
    report = None if route.report is None else route.report(page)
    return {
        "route": route,
        "asked": asked,
        "page": page,
        "view": None if route.view is None else route.view(page),
        "report": report,
        "export_parts": () if report is None else parts_of(report),
        "notes": tuple(dict.fromkeys(notes)),
    }


def export_handler(route: PageRoute[Any], library: Library, form: ExportForm) -> HTTPRouteHandler:
    """Return the handler that gives what is on a page as a file; `part` in the address says which table or chart."""
    name = f"{route.path.strip('/').replace('/', '_') or 'index'}_{form}"
    path = f"/index.{form}" if route.path == "/" else f"{route.path}.{form}"
    about = f"What {route.path} shows, as .{form}; `part` is the number of the table or chart, from 0."
    content = {MEDIA_TYPES[form].partition(";")[0]: {"type": "string"}}

    @get(path, name=name, role=route.role, operation_class=operation_of(route, name, about, content, ExportOptions))
    async def export_page(request: Request[Any, Any, Any]) -> Response[bytes]:
        return await run_sync(file_response, request)

    def file_response(request: Request[Any, Any, Any]) -> Response[bytes]:
        asked = options_of(route, request)
        which = options_in(ExportOptions, request.scope["query_string"].decode("latin-1"))
        with collect_notes():
            report = route.report(patiently(lambda: route.build(library, asked))) if route.report is not None else None
        if report is None:
            raise NotFoundException("There is nothing on this page yet that could be exported.")
        headers = {"content-disposition": f'attachment; filename="{file_name(route.path, form, which.part)}"'}
        return Response(
            export(report, form, which.part), media_type=MEDIA_TYPES[form].partition(";")[0], headers=headers
        )

    return export_page


def as_bytes(html: str) -> bytes:
    """Return a page as it is sent; halves of characters, which ids may hold and HTML may not, can be read as such."""
    return html.encode("utf-8", "backslashreplace")


def options_of(route: PageRoute[Asked], request: Request[Any, Any, Any]) -> Asked:
    """Return what the address asks for; that the sender may ask for it was checked by the rule of the route."""
    return options_in(route.options, request.scope["query_string"].decode("latin-1"))


VARIES = {"vary": "Cookie, Authorization"}
_START = secrets.token_hex(8)
"""Another one whenever the server starts: with it code and templates may have changed."""


def tag_of(*parts: object) -> str:
    """Return the ETag of a page: what stands on it, who looks at it, and which program made it.

    It is made from the page's data and not from the state of the store, as pages also show files of the project. It is
    weak: a page may be compressed, and the secret of its forms is written another way each time.
    """
    digest = hashlib.sha256(_START.encode())
    for part in parts:
        digest.update(b"\0" + (part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")))
    return f'W/"{digest.hexdigest()[:32]}"'


def content_of(page: Record) -> bytes:
    """Return what stands on a page as bytes; halves of characters and rare types take the slower way."""
    try:
        return msgspec.json.encode(page)
    except (TypeError, ValueError):
        return to_json(page).encode("utf-8", "surrogatepass")


def is_known_to_sender(request: Request[Any, Any, Any], tag: str) -> bool:
    given = request.headers.get("if-none-match", "")
    return given.strip() == "*" or tag in (each.strip() for each in given.split(","))


class KnownStyles:
    """The headers that allow the styles of pages, by ETag: a browser takes those of a 304 for the page that it kept."""

    def __init__(self, most: int = 2000) -> None:
        self.most = most
        self._kept: OrderedDict[str, dict[str, str]] = OrderedDict()

    def known(self, tag: str) -> dict[str, str] | None:
        return self._kept.get(tag)

    def keep(self, tag: str, styles: dict[str, str]) -> dict[str, str]:
        self._kept[tag] = styles
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return styles


STYLES = KnownStyles()


def identity_of(request: Request[Any, Any, Any]) -> Identity:
    identity = request.scope["state"].get("identity")
    if not isinstance(identity, Identity):
        raise NotAuthorizedException("You are not signed in.")
    return identity


def style_hashes(html: str) -> dict[str, str]:
    """Return the header by which the styles that stand in a page itself are allowed, and no others."""
    digests = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in _STYLE.findall(html)]
    return {"x-style-hashes": " ".join(digests)} if digests else {}


class ExportOptions(Options):
    """Which part of a page is exported."""

    part: int = 0
    """The number of the table or chart, from 0; of the whole page there is only one."""


def operation_of(
    route: PageRoute[Any], name: str, about: str, contents: dict[str, dict[str, Any]], *more: type[Options]
) -> type[Operation]:
    """Return what OpenAPI says of a route: a parameter for each option, and what comes back."""
    parameters = parameters_of(route.options, *more)
    responses: dict[str, OpenAPIResponse | Reference] | None = {
        "200": OpenAPIResponse(
            description=route.title,
            content={kind: OpenAPIMediaType(schema=RawSchema(schema)) for kind, schema in contents.items()},
        )
    }

    class PageOperation(Operation):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.operation_id, self.summary, self.description = name, route.title, about
            self.parameters, self.responses = list(parameters), responses

    return PageOperation


def parameters_of(*kinds: type[Options]) -> list[Parameter]:
    """Return what OpenAPI says of the options in an address."""
    return [
        Parameter(
            name=field.encode_name,
            param_in="query",
            required=field.required,
            description=field_docs(kind).get(field.name, ""),
            schema=schema_of_field(field),
        )
        for kind in kinds
        for field in msgspec.structs.fields(kind)
    ]


class RawSchema(Schema):
    """A schema that is known as JSON already."""

    def __init__(self, schema: dict[str, Any]) -> None:
        super().__init__()
        self.raw = inline_schema(schema)

    def to_schema(self) -> dict[str, Any]:
        return self.raw


def schema_of_field(field: msgspec.structs.FieldInfo) -> RawSchema:
    schema = msgspec.json.schema(field.type)
    default = default_of(field)
    if default is not msgspec.NODEFAULT and default is not None:
        schema = {**schema, "default": msgspec.to_builtins(default)}
    return RawSchema(schema)
