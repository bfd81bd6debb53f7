"""Forms that change something: each is one function; who may send it is the rule of its route (`security.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio.to_thread
import msgspec
from litestar import Request, Response, post
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Operation, RequestBody

from rankscope.records import Options, Record
from rankscope.web.address import options_in
from rankscope.web.forms import checked_form
from rankscope.web.library import Library
from rankscope.web.routing import RawSchema, identity_of, parameters_of
from rankscope.web.security import Identity, Role
from rankscope.web.shield import FORM

Asked = TypeVar("Asked", bound=Options)


class ActionRoute(Record, Generic[Asked]):
    """A form: where it is sent, what it holds, who may send it, and what it does."""

    path: str
    title: str
    options: type[Asked]
    act: Callable[[Library, Identity, Asked], str]
    """Does it, and returns the address of the page that shows what came of it."""
    role: Role = "editor"


def action_handler(route: ActionRoute[Any], library: Library) -> HTTPRouteHandler:
    name = route.path.strip("/").replace("/", "_")

    @post(
        route.path,
        name=name,
        role=route.role,
        status_code=303,
        operation_class=form_operation(route.title, name, route.options),
    )
    async def take_form(request: Request[Any, Any, Any]) -> Response[bytes]:
        asked = options_in(route.options, (await checked_form(request)).body)
        where = await anyio.to_thread.run_sync(route.act, library, identity_of(request), asked)
        return Response(b"", status_code=303, headers={"location": where})

    return take_form


DONE = "Done; the address of the page that shows it."


def form_operation(
    title: str, name: str, kind: type[Options], *, status: str = "303", answer: str = DONE, media_type: str = ""
) -> type[Operation]:
    """Return what OpenAPI says of a form; `media_type` is that of what comes back, where that is no other page."""
    schema = RawSchema(msgspec.json.schema(kind))
    content = {media_type: OpenAPIMediaType(schema=RawSchema({"type": "string"}))} if media_type else None

    class FormOperation(Operation):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.operation_id, self.summary, self.parameters = name, title, []
            self.request_body = RequestBody(content={FORM: OpenAPIMediaType(schema=schema)}, required=True)
            self.responses = {status: OpenAPIResponse(description=answer, content=content)}

    return FormOperation


def address_operation(title: str, name: str, kind: type[Options], media_type: str) -> type[Operation]:
    """Return what OpenAPI says of something that is asked by an address and is no page."""
    parameters = parameters_of(kind)

    class AddressOperation(Operation):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.operation_id, self.summary, self.parameters = name, title, list(parameters)
            content = {media_type: OpenAPIMediaType(schema=RawSchema({"type": "string"}))}
            self.responses = {"200": OpenAPIResponse(description=title, content=content)}

    return AddressOperation
