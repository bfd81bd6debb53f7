"""A message posted to a webhook, as Slack, Mattermost, Rocket.Chat and many others take it."""

from __future__ import annotations

import http.client
import re
import urllib.parse
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, field

from rankscope.errors import OptionError, shorten
from rankscope.notify.notice import Notice, NotifierOptions, NotifyError
from rankscope.printable import printable
from rankscope.records import to_builtins, to_json
from rankscope.systems.options import AboveZero
from rankscope.systems.secrets import HIDDEN, forms_of

_SHOWN = 200
"""How much of a refusal is shown."""
_LOOKED_AT = 500 * _SHOWN
"""So many bytes of it are searched for secrets before it is cut: what is hidden becomes shorter."""
_SECRET = 6
"""Parts of an address with fewer characters are no secrets."""
_MENTION = re.compile(r"@(?=\w)")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_NO_BREAK = "\u200b"
"""A blank without width: behind an @ it keeps the word from calling people, and the eye sees no difference."""


class WebhookNotifier(NotifierOptions):
    """Posts JSON to an address: {"text": …} for people, and the same as data under "rankscope".

    In the text &, < and > are escaped as Slack asks for, and no @ calls anybody. Redirections are not followed. The
    address is taken for a secret: of it only the host is ever shown.
    """

    url: Annotated[str, Meta(min_length=1, extra={"words": "an address as text"})]
    """The address, best from an environment variable: "${SLACK_WEBHOOK}"."""
    headers: Annotated[dict[str, str], Meta(extra={"words": "a table of texts"})] = field(default_factory=dict)
    """More headers of the request, such as Authorization."""
    timeout_s: AboveZero = 10.0
    """How long the exchange may take, in seconds."""
    allow_plain_http: bool = False
    """Whether an address of another machine may be http, which everybody on the way can read."""

    @property
    def host(self) -> str:
        return urllib.parse.urlsplit(self.url).netloc.rpartition("@")[2]

    def check(self) -> None:
        from rankscope.systems.transport import check_address, check_request_options, is_private

        try:
            check_address(self.url)
        except OptionError as error:  # its words show the address
            problem = "is no http or https address, or has a name, password or blank in it"
            raise OptionError(f"url {problem}", hint="e.g. https://hooks.slack.com/services/…") from error.__cause__
        check_request_options("POST", self.headers)
        if not all(value.isprintable() for value in self.headers.values()):
            raise OptionError("headers: a value has a line break or a control character in it", hint="remove it")
        if not (self.allow_plain_http or is_private(self.url)):
            raise OptionError(
                f"url is not encrypted ({self.host}), and anyone who reads it on the way can write in your name",
                hint="use https; allow_plain_http = true sends all the same",
            )

    def send(self, notice: Notice) -> None:
        from rankscope.systems.transport import HttpRequest, Transport

        body = to_json(payload(notice), indent=None, ascii_only=True).encode()
        headers: Mapping[str, str | bytes] = {
            "Content-Type": "application/json",
            "User-Agent": "rankscope",
            **{name: value.encode() for name, value in self.headers.items()},
        }
        transport = Transport(timeout_s=self.timeout_s, concurrency=1)
        try:
            reply = transport.send(HttpRequest("POST", self.url, headers, body))
        except TimeoutError:
            raise NotifyError(f"{self.host} did not answer within {self.timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            why = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            raise NotifyError(f"{self.host} did not answer: {self._hidden(why)}") from None
        finally:
            transport.close()
        if 300 <= reply.status < 400:
            raise NotifyError(f"{self.host} answered HTTP {reply.status}, a redirection, which is not followed")
        if not 200 <= reply.status < 300:
            said = " ".join(reply.content[:_LOOKED_AT].decode("utf-8", "replace").split())
            words = printable(shorten(self._hidden(said), limit=_SHOWN))
            raise NotifyError(f"{self.host} answered HTTP {reply.status}" + (words and f": {words}"))

    def _hidden(self, words: str) -> str:
        """Return words without the address, any part of its path and query, and what headers hold."""
        parts = urllib.parse.urlsplit(self.url)
        values = [value for _, value in urllib.parse.parse_qsl(parts.query, keep_blank_values=True)]
        in_headers = [word for value in self.headers.values() for word in (value, *value.split())]
        single = [*parts.path.split("/"), *re.split("[&=]", parts.query), *values, *in_headers]
        single += map(urllib.parse.unquote, list(single))
        whole = {text for text in (self.url, parts.path, parts.query) if len(text) > 3}
        secret = whole.union(*(forms_of(text) for text in single if len(text) >= _SECRET))
        for each in sorted(secret, key=len, reverse=True):
            words = re.sub(re.escape(each), HIDDEN, words, flags=re.IGNORECASE)
        return words


def payload(notice: Notice) -> dict[str, object]:
    """Return what is posted; Slack neither formats the text nor fetches what it links to."""
    return {
        "text": chat_text(f"{notice.line}\n{notice.lines}"),
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "rankscope": to_builtins(notice),
    }


def chat_text(text: str) -> str:
    """Return a text that commands no chat: no links, mentions or calls such as <!here> and @channel."""
    return _MENTION.sub(f"@{_NO_BREAK}", text.translate(_ESCAPES))
