"""Programs that are started, fed and read, and that end together with all that they have started."""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO

from rankscope.errors import OptionError, shorten
from rankscope.systems.answers import LARGEST_ANSWER_BYTES, BadAnswerError
from rankscope.systems.working_directory import current_directory

StreamWork = Callable[[BinaryIO], None]
_ERROR_BYTES = 4096
_JOIN_S = 2.0
"""How long to wait for a thread whose pipe somebody else keeps open."""


def split_command(command: str | Sequence[str], *, example: str) -> list[str]:
    """Return a program and its arguments, given as a text as for a shell or as a list."""
    try:
        parts = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        hint = "close every quote, or give a list of texts"
        raise OptionError(f"command {command!r} cannot be read: {error}", hint=hint) from error
    if not parts:
        raise OptionError("command is empty", hint=f'for example command = "{example}"')
    if any("\0" in part for part in parts):
        raise OptionError("command holds the character NUL, which no argument can", hint="remove it")
    return parts


class LastLine:
    """The last line that a program says on standard error; of a line without end, its beginning."""

    def __init__(self) -> None:
        self.text = ""

    def keep(self, stream: BinaryIO) -> None:
        line = b""
        with suppress(OSError), stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                *ended, line = (line + chunk).split(b"\n")
                line = line[:_ERROR_BYTES]
                for said in filter(bytes.strip, [*ended, line]):
                    self.text = shorten(said[:_ERROR_BYTES].decode("utf-8", "replace").strip(), limit=250)


class Program:
    """A process with what it starts and what stays in its group, which ends together and in time."""

    def __init__(self, timeout_s: float) -> None:
        self._deadline = time.monotonic() + timeout_s
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=16)
        """What was printed and not yet read; nothing stands for its end."""
        self._ended = threading.Event()
        self._process: Any = None
        self._started: Future[Any] | None = None
        self._threads: list[threading.Thread] = []

    def start(
        self,
        arguments: Sequence[str],
        *,
        feed: StreamWork,
        keep_error: StreamWork,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it in the folder of the project; `environment` replaces that of this process."""
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        pool = ThreadPoolExecutor(1)  # an interruption reaches the main thread, and cannot lose what was just started
        popen = partial(subprocess.Popen, cwd=current_directory(), env=environment, start_new_session=True, **pipes)
        self._started = pool.submit(popen, arguments)
        pool.shutdown(wait=False)
        self._process = self._started.result()
        for work, name in ((feed, "stdin"), (self._take_output, "stdout"), (keep_error, "stderr")):
            thread = threading.Thread(target=work, args=(getattr(self._process, name),), daemon=True)
            thread.start()
            self._threads.append(thread)

    def lines(self) -> Iterator[str]:
        """Yield lines as they are printed; one that is too long is refused before it has ended."""
        rest = bytearray()
        while chunk := self._next_chunk():
            rest += chunk
            if b"\n" in chunk:
                *ended, rest = rest.split(b"\n")
                for line in ended:
                    yield line.decode("utf-8", "surrogateescape")
            if len(rest) > LARGEST_ANSWER_BYTES:
                raise BadAnswerError(f"the program printed a line that is longer than {LARGEST_ANSWER_BYTES >> 20} MB")
        yield rest.decode("utf-8", "surrogateescape")

    def wait(self) -> int:
        try:
            return int(self._process.wait(max(self._deadline - time.monotonic(), 0)))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None

    def end(self) -> None:
        """End all processes of the group, and wait for the threads; what has left the group may keep a pipe open."""
        self._ended.set()
        if self._process is None and self._started is not None:
            with suppress(Exception):
                self._process = self._started.result()
        if self._process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def _next_chunk(self) -> bytes:
        left = self._deadline - time.monotonic()
        try:
            if left > 0:  # a program that always has something to say never lets the queue run empty
                return self._chunks.get(timeout=left)
        except queue.Empty:
            pass
        raise TimeoutError

    def _take_output(self, stream: BinaryIO) -> None:
        with suppress(OSError), stream:
            while (chunk := os.read(stream.fileno(), 1 << 16)) and self._put(chunk):
                pass
        self._put(b"")

    def _put(self, chunk: bytes) -> bool:
        """Hand over what was printed, as soon as there is room; not any more once nobody reads it."""
        while not self._ended.is_set():
            with suppress(queue.Full):
                self._chunks.put(chunk, timeout=0.05)
                return True
        return False
