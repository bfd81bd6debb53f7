"""Forms that make and extend judging tasks: a wrong one is shown again, filled in, with what is wrong beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from litestar import Request, Response, post
from litestar.handlers import HTTPRouteHandler

from rankscope.errors import OptionError
from rankscope.records import Record
from rankscope.web.actions import form_operation
from rankscope.web.address import options_in
from rankscope.web.forms import FilledForm, SentForm, checked_form
from rankscope.web.library import Library
from rankscope.web.pages.judge import (
    FIELDS,
    CreateOptions,
    ExtendOptions,
    FormError,
    JudgeOptions,
    TaskOptions,
    extend,
    judge_page,
    make_task,
    page_of,
    task_page,
)
from rankscope.web.routing import HTML, as_bytes, identity_of

_OF_COMMANDS = re.compile(r" \(--[^()]*\)")
"""What a hint says to those at the command line, such as ` (--gold-share 0)`."""


class FormProblem(Record):
    """What is wrong with a form."""

    field: str
    """Beside which it is said; empty: above all of them."""
    words: str


def problem_of(error: OptionError) -> FormProblem:
    """Return what is wrong in the words of the form, which do not know the names of options."""
    field = error.field if isinstance(error, FormError) else error.message.partition(" ")[0]
    words = error.message
    if not isinstance(error, FormError):
        words = f"{FIELDS.get(field, field)} {error.message.partition(' ')[2]}"
        return FormProblem(field if field in FIELDS else "", sentence(words))
    hint = sentence(_OF_COMMANDS.sub("", error.hint)) if error.hint else ""
    return FormProblem(field, f"{sentence(words)} {hint}".strip())


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', '!', '?')) else '.'}"


def task_form_handlers(library: Library, render: Callable[..., str]) -> list[HTTPRouteHandler]:
    """Return the handlers of both forms."""

    def wrong(template: str, request: Request[Any, Any, Any], sent: SentForm, error: OptionError) -> Response[bytes]:
        if "application/json" in request.headers.get("accept", ""):
            raise error
        asked: Any
        if template == "judge.html":
            asked = JudgeOptions(collection=sent.get("collection") or None)
            page: Record = judge_page(library, asked)
        else:
            asked = TaskOptions(task=sent.get("task"))
            page = task_page(library, asked)
        html = render(
            template, request=request, asked=asked, page=page, filled=FilledForm(sent), problem=problem_of(error)
        )
        return Response(as_bytes(html), status_code=400, media_type=HTML, headers={"cache-control": "no-store"})

    @post(
        "/judge/create",
        name="judge_create",
        role="editor",
        status_code=303,
        operation_class=form_operation("Make a judging task", "judge_create", CreateOptions),
    )
    async def create(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = await checked_form(request)

        def make() -> Response[bytes]:
            try:
                made = make_task(library, identity_of(request), options_in(CreateOptions, sent.body))
            except OptionError as error:
                return wrong("judge.html", request, sent, error)
            return Response(b"", status_code=303, headers={"location": page_of(made.number)})

        return await anyio.to_thread.run_sync(make)

    @post(
        "/judge/extend",
        name="judge_extend",
        role="editor",
        status_code=303,
        operation_class=form_operation("Extend a judging task", "judge_extend", ExtendOptions),
    )
    async def extend_by_form(request: Request[Any, Any, Any]) -> Response[bytes]:
        sent = await checked_form(request)

        def more() -> Response[bytes]:
            try:
                asked = options_in(ExtendOptions, sent.body)
                extend(library, asked)
            except OptionError as error:
                return wrong("judge_task.html", request, sent, error)
            return Response(b"", status_code=303, headers={"location": page_of(asked.task)})

        return await anyio.to_thread.run_sync(more)

    return [create, extend_by_form]
