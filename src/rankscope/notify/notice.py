"""What is sent: a subject, a text, and the same as data; and the interface of all that send it."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from msgspec import field

from rankscope.errors import UnfinishedError
from rankscope.printable import printable, printable_lines
from rankscope.records import Options, Record, to_json

NoticeKind: TypeAlias = Literal["alert", "recovery", "test"]
LONGEST_SUBJECT = 200
"""Characters; mail servers refuse lines that are much longer."""


class NotifyError(UnfinishedError):
    """A message could not be sent; the next attempt may succeed."""


class PartlySentError(NotifyError):
    """Some have got the message: sending it again would send it to them twice."""


class Notice(Record):
    """A message. Its texts may quote queries, ids and errors of others, so each notifier sends them made harmless."""

    kind: NoticeKind
    subject: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    """The same for programs."""

    @property
    def line(self) -> str:
        """The subject as one line without control characters."""
        line = printable(self.subject)
        return line if len(line) <= LONGEST_SUBJECT else f"{line[: LONGEST_SUBJECT - 1]}…"

    @property
    def lines(self) -> str:
        """The text without control characters; only its own line breaks are left."""
        return printable_lines(self.text)

    @property
    def json(self) -> str:
        """Everything as one line of JSON in ASCII."""
        return to_json(self, indent=None, ascii_only=True)


class NotifierOptions(Options):
    """The options of a notifier, as a table [notify.NAME] of the project file has them next to its type."""

    def check(self) -> None:
        """Refuse values that can never work; environment variables are filled in by now."""

    def send(self, notice: Notice) -> None:
        """Send a notice, or raise a NotifyError that says why that did not work."""
        raise NotImplementedError


class SendsNotices(Protocol):
    """Something that sends notices, by its name."""

    @property
    def name(self) -> str: ...

    def send(self, notice: Notice) -> None:
        """Send a notice, or raise a NotifyError."""
