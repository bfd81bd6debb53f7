"""A message handed to a program."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, BinaryIO, Literal

from msgspec import Meta

from rankscope.notify.notice import Notice, NotifierOptions, NotifyError
from rankscope.systems.options import AboveZero
from rankscope.systems.program import LastLine, Program, split_command

EXAMPLE = "./tell-the-team --channel search"


class CommandNotifier(NotifierOptions):
    """Starts a program and writes the message to its standard input.

    The kind and the subject are in the environment variables RANKSCOPE_KIND and RANKSCOPE_SUBJECT, too. No part of a
    message becomes an argument, so none can be taken for an option or a command. Exit code 0 says that it has arrived.
    """

    command: Annotated[str | Sequence[str], Meta(extra={"words": "a text or a list of texts"})]
    """The program with its arguments."""
    input: Literal["text", "json"] = "text"
    """What is written to its standard input: text (the subject, an empty line, the text) or json."""
    timeout_s: AboveZero = 30.0
    """How long the program may take, in seconds; then it is ended with all that it started."""

    def check(self) -> None:
        split_command(self.command, example=EXAMPLE)

    def send(self, notice: Notice) -> None:
        arguments = split_command(self.command, example=EXAMPLE)
        written = notice.json + "\n" if self.input == "json" else f"{notice.line}\n\n{notice.lines}\n"
        variables = {"RANKSCOPE_KIND": notice.kind, "RANKSCOPE_SUBJECT": notice.line}
        said = LastLine()
        program = Program(self.timeout_s)
        try:
            program.start(
                arguments,
                feed=partial(write_all, written.encode()),
                keep_error=said.keep,
                environment={**os.environ, **variables},
            )
            for _ in program.lines():
                pass  # what it prints is for nobody
            code = program.wait()
        except TimeoutError:
            raise NotifyError(f"{arguments[0]} had not ended after {self.timeout_s:g} s") from None
        except (OSError, ValueError) as error:
            why = (isinstance(error, OSError) and error.strerror) or str(error)
            raise NotifyError(f"{arguments[0]} cannot be started: {why}") from error
        finally:
            program.end()
        if code:
            raise NotifyError(f"{arguments[0]} ended with code {code}" + (said.text and f": {said.text}"))


def write_all(content: bytes, stream: BinaryIO) -> None:
    """Write what a program is to read; one that has ended reads no more of it."""
    with suppress(OSError), stream:
        stream.write(content)
