"""Answers that go on: how far a job is (server-sent events), and what systems answer to a query, one by one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import anyio.to_thread
from litestar import Request, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from rankscope.experiment.live import LiveAnswer, LiveAsker, LiveQuestion
from rankscope.records import to_builtins
from rankscope.store.jobs import ENDED
from rankscope.web.actions import address_operation, form_operation
from rankscope.web.address import options_in
from rankscope.web.forms import checked_form
from rankscope.web.library import Library
from rankscope.web.pages.jobs import JobOptions, JobPage, job_page
from rankscope.web.pages.live import AskOptions, LiveAnswers, answers_page, question_of
from rankscope.web.rendering import Renderer
from rankscope.web.routing import identity_of

STREAMED = "streamed"
"""Marks handlers whose answers are not compressed: what is compressed is held back until there is enough of it."""
LOOK_S = 0.7
STILL_S = 15.0
"""How often something is sent where nothing happens, so that a connection that is gone is noticed."""
LONGEST_S = 600.0
"""A browser asks again after this."""


def job_events(library: Library, renderer: Renderer) -> HTTPRouteHandler:
    """Return the handler that follows a job."""

    @get(
        "/job/events",
        name="job_events",
        role="viewer",
        opt={STREAMED: True},
        operation_class=address_operation(
            "Follow a run (server-sent events)", "job_events", JobOptions, "text/event-stream"
        ),
    )
    async def follow_job(request: Request[Any, Any, Any]) -> Stream:
        asked = options_in(JobOptions, request.scope["query_string"].decode("latin-1"))
        first = await anyio.to_thread.run_sync(job_page, library, asked)  # one that is not there is an error now

        def parts(page: JobPage) -> str:
            return renderer.render("job_parts.html", request=request, page=page)

        async def events(page: JobPage) -> AsyncIterator[bytes]:
            shown, started, sent = None, time.monotonic(), time.monotonic()
            while time.monotonic() - started < LONGEST_S:
                if page.line is None:
                    return
                if page != shown:
                    shown, sent = page, time.monotonic()
                    data = json.dumps({"state": page.line.state, "html": parts(page)})
                    yield f"event: parts\ndata: {data}\n\n".encode()
                    if page.line.state in ENDED:
                        return
                elif time.monotonic() - sent > STILL_S:
                    sent = time.monotonic()
                    yield b": still here\n\n"
                await anyio.sleep(LOOK_S)
                page = await anyio.to_thread.run_sync(job_page, library, asked)

        return Stream(events(first), media_type="text/event-stream", headers={"cache-control": "no-store"})

    return follow_job


def live_answers(library: Library, renderer: Renderer) -> HTTPRouteHandler:
    """Return the handler that asks all systems a query; each line of its answer is what one of them has answered."""

    @post(
        "/live/ask",
        name="live_ask",
        role="viewer",
        status_code=200,
        opt={STREAMED: True},
        operation_class=form_operation(
            "Ask systems a query (lines of JSON)",
            "live_ask",
            AskOptions,
            status="200",
            answer="A line of JSON for each system as it answers; the last one is about all of them.",
            media_type="application/x-ndjson",
        ),
    )
    async def ask_systems(request: Request[Any, Any, Any]) -> Stream:
        asked = options_in(AskOptions, (await checked_form(request)).body)
        question = await anyio.to_thread.run_sync(question_of, library, identity_of(request), asked)

        def together(found: Sequence[LiveAnswer]) -> tuple[LiveAnswers, str]:
            page = answers_page(library, question, found)
            return page, renderer.render("live_answers.html", request=request, page=page, question=question)

        def alone(answer: LiveAnswer) -> str:
            (shown,) = answers_page(library, question, [answer]).answers
            return renderer.render("live_answer.html", request=request, shown=shown, n_lists=1)

        async def lines() -> AsyncIterator[bytes]:
            yield line_of(systems=question.systems)
            found: dict[str, LiveAnswer] = {}
            async for answer in answers_to(library.asker, question):
                found[answer.system] = answer
                html = await anyio.to_thread.run_sync(alone, answer)
                yield line_of(system=answer.system, answer=to_builtins(answer), html=html)
            page, html = await anyio.to_thread.run_sync(together, [found[name] for name in question.systems])
            yield line_of(html=html, headline=page.headline, words=page.words)

        return Stream(lines(), media_type="application/x-ndjson", headers={"cache-control": "no-store"})

    return ask_systems


def line_of(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


async def answers_to(asker: LiveAsker, question: LiveQuestion) -> AsyncIterator[LiveAnswer]:
    """Yield answers as they come; a system whose time is over has not answered. No thread waits for them."""
    patience = {name: asker.timeout_of(question.collection, name) for name in question.systems}
    futures = await anyio.to_thread.run_sync(asker.ask, question)

    async def answer_of(name: str) -> LiveAnswer:
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(futures[name])), patience[name])
        except TimeoutError:
            return LiveAnswer(system=name, failure=f"there was no answer within {patience[name]:.0f} s")

    for next_one in asyncio.as_completed([answer_of(name) for name in question.systems]):
        yield await next_one
