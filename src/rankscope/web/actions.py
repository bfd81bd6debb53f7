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
from rankscope.web.routing import RawSchema, identity_of
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


def form_operation(title: str, name: str, kind: type[Options]) -> type[Operation]:
    """Return what OpenAPI says of a form."""
    schema = RawSchema(msgspec.json.schema(kind))

    class FormOperation(Operation):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.operation_id, self.summary, self.parameters = name, title, []
            self.request_body = RequestBody(content={FORM: OpenAPIMediaType(schema=schema)}, required=True)
            self.responses = {"303": OpenAPIResponse(description="Done; the address of the page that shows it.")}

    return FormOperation
