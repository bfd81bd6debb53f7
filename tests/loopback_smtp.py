"""A mail server on the loopback address that takes mail, or refuses it as a test says, and remembers what came."""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Self


@dataclass
class Mail:
    """One mail as it came in."""

    sender: str
    recipients: list[str]
    content: bytes
    encrypted: bool

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.content, policy=policy.default)


@dataclass
class LoopbackMail:
    """Takes mail at `port` while it is entered."""

    refuse: dict[str, list[str]] = field(default_factory=dict)
    """Answers to give instead of the usual ones, first to last, by command: {"DATA": ["451 later"]}."""
    login: tuple[str, str] | None = None
    """Who may send; everybody where there is none."""
    certificate: tuple[str, str] | None = None
    """Files of a certificate and its key, with which STARTTLS is offered."""
    tls_first: bool = False
    mails: list[Mail] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError), closing(Talk(outer, self.request)) as talk:  # whoever sent may be gone
                    talk.go_on()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Talk:
    """One connection: a method for each command that has more to do than to say yes."""

    def __init__(self, server: LoopbackMail, sock: object) -> None:
        self.server, self.sock, self.encrypted = server, sock, False
        self.logged_in = server.login is None
        self.sender, self.recipients = "", []
        self.reader = sock.makefile("rb")

    def close(self) -> None:
        self.reader.close()
        self.sock.close()

    def say(self, text: str) -> None:
        self.sock.sendall(f"{text}\r\n".encode())

    def encrypt(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.server.certificate)
        wrapped = context.wrap_socket(self.sock, server_side=True, do_handshake_on_connect=False)
        self.sock, self.encrypted = wrapped, True
        self.reader = wrapped.makefile("rb")
        wrapped.do_handshake()

    def go_on(self) -> None:
        if self.server.tls_first:
            self.encrypt()
        self.say("220 loopback")
        while line := self.reader.readline():
            words = line.decode().strip()
            verb = words.split(" ")[0].upper()
            self.server.commands.append(verb)
            if self.server.refuse.get(verb):
                self.say(self.server.refuse[verb].pop(0))
            elif hasattr(self, verb.lower()):
                getattr(self, verb.lower())(words)
            else:
                self.say("250 fine")

    def ehlo(self, _: str) -> None:
        offers = ["STARTTLS"] if self.server.certificate and not self.encrypted else []
        lines = ["loopback", *offers, *(["AUTH PLAIN"] if self.server.login else [])]
        self.say("\r\n".join(f"250{'-' if i + 1 < len(lines) else ' '}{each}" for i, each in enumerate(lines)))

    def starttls(self, _: str) -> None:
        self.say("220 go on")
        self.encrypt()

    def auth(self, words: str) -> None:
        _, user, password = base64.b64decode(words.split(" ")[2]).decode().split("\0")
        self.logged_in = (user, password) == self.server.login
        self.say("235 welcome" if self.logged_in else f"535 no such user: {user} {password}")

    def mail(self, words: str) -> None:
        self.sender, self.recipients = words.split("<")[1].split(">", maxsplit=1)[0], []
        self.say("250 fine" if self.logged_in else "530 log in first")

    def rcpt(self, words: str) -> None:
        self.recipients.append(words.split("<")[1].split(">", maxsplit=1)[0])
        self.say("250 fine")

    def data(self, _: str) -> None:
        self.say("354 go on")
        content = b""
        while (part := self.reader.readline()) != b".\r\n":
            content += part[1:] if part.startswith(b"..") else part
        self.server.mails.append(Mail(self.sender, self.recipients, content, self.encrypted))
        self.say("250 taken")

    def quit(self, _: str) -> None:
        self.say("221 bye")
