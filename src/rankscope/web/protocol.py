"""HTTP/1.1 as uvicorn speaks it, with a limit on how long the headers of a request may take."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_class(head_s: float) -> type[H11Protocol]:
    """Return the protocol of connections that are closed where no whole request has come after some seconds.

    Without it, who opens connections and sends a byte now and then keeps others out. Between two requests uvicorn's own
    limit holds; how long the content of a request may take is the business of `Shield`.
    """

    class TimedProtocol(H11Protocol):
        _limit: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start_limit()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._end_limit()
            elif self._limit is None and not self.transport.is_closing():
                self._start_limit()  # the headers of another request have begun

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_limit()
            super().connection_lost(exc)

        def _start_limit(self) -> None:
            self._limit = self.loop.call_later(head_s, self.transport.close)

        def _end_limit(self) -> None:
            if self._limit is not None:
                self._limit.cancel()
                self._limit = None

    return TimedProtocol
