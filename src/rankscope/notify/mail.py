"""A message by e-mail, over SMTP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from rankscope.errors import OptionError, shorten
from rankscope.notify.notice import Notice, NotifierOptions, NotifyError, PartlySentError
from rankscope.printable import printable
from rankscope.systems.options import AboveZero

if TYPE_CHECKING:
    import smtplib
    from email.message import EmailMessage

PORTS = {"starttls": 587, "tls": 465, "none": 25}
_ADDRESS = re.compile(r"[^\s@<>\"(),:;\\\[\]]+@[^\s@<>\"(),:;\\\[\]]+")
"""An address alone, without a name beside it."""
_SHOWN = 200

Addresses = Annotated[str | Sequence[str], Meta(extra={"words": "an address or a list of addresses"})]


class EmailNotifier(NotifierOptions):
    """Sends a plain text by way of a mail server, encrypted, and logs in where a user and password are given."""

    host: Annotated[str, Meta(min_length=1)]
    """The mail server."""
    sender: Annotated[str, Meta(min_length=1)] = field(name="from")
    """The address that it comes from."""
    to: Addresses
    """Who gets it: an address or several."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted: starttls, tls from the start, or none, for a server on this machine."""
    port: Annotated[int, Meta(ge=1, le=65535)] | None = None
    """The port of the server; by default 587 for starttls, 465 for tls, 25 for none."""
    user: str | None = None
    """Who logs in; without it nobody does."""
    password: str | None = None
    """The password, from an environment variable: "${SMTP_PASSWORD}"."""
    timeout_s: AboveZero = 30.0
    """How long the server may take for each answer, in seconds."""

    @property
    def recipients(self) -> list[str]:
        return [self.to] if isinstance(self.to, str) else list(self.to)

    def check(self) -> None:
        from rankscope.io.connections import is_loopback

        if not self.recipients:
            raise OptionError("to is empty", hint='for example to = ["team@example.org"]')
        for name, address in (("from", self.sender), *(("to", address) for address in self.recipients)):
            if not _ADDRESS.fullmatch(address) or not address.isprintable():
                raise OptionError(f"{name} holds {address!r}, which is no address", hint="e.g. team@example.org")
        if not re.fullmatch(r"[\w.:-]+", self.host):
            raise OptionError(f"host is {self.host!r}, which is no name of a server", hint="e.g. smtp.example.org")
        if (self.user is None) != (self.password is None):
            lacking = "password" if self.password is None else "user"
            raise OptionError(f"{lacking} is missing: who logs in needs both", hint=f'add {lacking} = "${{NAME}}"')
        if self.password is not None and self.security == "none" and not is_loopback(self.host):
            raise OptionError(
                'security is "none", so everybody on the way could read the password: nothing is sent',
                hint='use security = "starttls" or "tls"',
            )

    def send(self, notice: Notice) -> None:
        import smtplib
        import ssl

        try:
            with self._connected() as server:
                if self.security == "starttls":
                    server.starttls(context=ssl.create_default_context())
                if self.user is not None and self.password is not None:
                    server.login(self.user, self.password)
                refused = server.send_message(self._message(notice), self.sender, self.recipients)
        except smtplib.SMTPRecipientsRefused as error:
            raise NotifyError(f"{self.host} takes no mail for {refusals(error.recipients)}") from None
        except smtplib.SMTPResponseException as error:
            raise NotifyError(f"{self.host} answered {error.smtp_code}: {words_of(error.smtp_error)}") from None
        except (smtplib.SMTPException, OSError) as error:
            why = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            raise NotifyError(f"{self.host} cannot be reached: {words_of(why)}") from None
        if refused:
            raise PartlySentError(f"{self.host} takes no mail for {refusals(refused)}; all others have got it")

    def _connected(self) -> smtplib.SMTP:
        import smtplib
        import ssl

        port = self.port or PORTS[self.security]
        if self.security == "tls":
            return smtplib.SMTP_SSL(self.host, port, timeout=self.timeout_s, context=ssl.create_default_context())
        return smtplib.SMTP(self.host, port, timeout=self.timeout_s)

    def _message(self, notice: Notice) -> EmailMessage:
        """Return the mail; a line break in a header, which could start another header, is refused by EmailMessage."""
        from email.message import EmailMessage
        from email.utils import formatdate, make_msgid

        message = EmailMessage()
        message["Subject"] = notice.line
        message["From"] = self.sender
        message["To"] = ", ".join(self.recipients)
        message["Date"] = formatdate()
        message["Message-ID"] = make_msgid(domain=self.sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(notice.lines)
        return message


def refusals(refused: dict[str, Any]) -> str:
    return "; ".join(f"{printable(address)} ({code} {words_of(said)})" for address, (code, said) in refused.items())


def words_of(said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return printable(shorten(" ".join(text.split()), limit=_SHOWN))
