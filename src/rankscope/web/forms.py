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


class FilledForm:
    """A form as it was sent, for a template: what is not in it was left empty."""

    def __init__(self, sent: SentForm | None = None) -> None:
        self.sent = sent
        self.values: dict[str, list[str]] = {}
        for name, value in parameters_in(sent.body, keep_blank_values=True) if sent is not None else ():
            self.values.setdefault(name, []).append(value.replace("\r\n", "\n"))  # as browsers send lines

    def get(self, name: str, default: object = "") -> str:
        """Return the value of a field, or of a form that was not sent its preset."""
        return self.values.get(name, [""])[-1] if self.sent is not None else str(default)

    def has(self, name: str, value: object, *, default: bool = False) -> bool:
        """Tell whether a choice is taken."""
        return str(value) in self.values.get(name, []) if self.sent is not None else default


async def checked_form(request: Request[Any, Any, Any]) -> SentForm:
    """Return what a form sent.

    That it comes from a page of ours (Origin, Host) and from a form of this session (its secret) was checked before any
    handler is called, by `Shield`, for whatever is not GET or HEAD; so was that it has not too many fields.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise HTTPException(f"What is sent must be a form ({FORM}).", status_code=415)
    return SentForm((await request.body()).decode("latin-1"))
