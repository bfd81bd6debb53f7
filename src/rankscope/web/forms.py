"""What a form sends: read once, by one function, for every handler that changes something."""

from __future__ import annotations

from typing import Any

from litestar import Request
from litestar.exceptions import HTTPException

from rankscope.records import Record
from rankscope.web.address import parameters_in
from rankscope.web.shield import FORM


class SentForm(Record):
    """What a form sent."""

    body: str
    """Its fields, encoded as in an address: `options_in` makes options of it."""

    def get(self, name: str, default: str = "") -> str:
        """Return the value of a field; the last one where there are several."""
        pairs = parameters_in(self.body, keep_blank_values=True)
        return next((value for key, value in reversed(pairs) if key == name), default)


async def checked_form(request: Request[Any, Any, Any]) -> SentForm:
    """Return what a form sent.

    That it comes from a page of ours (Origin, Host) and from a form of this session (its secret) was checked before any
    handler is called, by `Shield`, for whatever is not GET or HEAD; so was that it has not too many fields.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(f"What is sent must be a form ({FORM}).", status_code=415)
    return SentForm((await request.body()).decode("latin-1"))
