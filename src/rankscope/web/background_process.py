"""The process that computes what takes long: tasks come on standard input, what they give goes to standard output."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from rankscope.errors import RankscopeError, UnfinishedError, collect_notes
from rankscope.printable import printable
from rankscope.store import open_store
from rankscope.web.background import receive, send
from rankscope.web.library import Library

NICENESS = 10
"""Pages come first: what is computed beside them gets the time that they leave."""


def main() -> int:
    """Compute tasks until standard input ends."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    with suppress(AttributeError, OSError):  # not on Windows
        os.nice(NICENESS)
    location, read_only = pickle.loads(receive(sys.stdin.buffer))  # noqa: S301 (our own server has written it)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=read_tasks, args=(tasks,), daemon=True).start()
    with open_store(location, read_only=read_only) as store:
        library = Library(store)
        while True:
            send(output, answer_to(tasks.get(), library))


def read_tasks(tasks: SimpleQueue[bytes]) -> None:
    """Take tasks as they come; where the server has gone, nobody wants what is being computed."""
    while True:
        try:
            tasks.put(receive(sys.stdin.buffer))
        except EOFError:
            os._exit(0)


def answer_to(message: bytes, library: Library) -> tuple[str, Any]:
    """Return what a task gives, or why it does not."""
    try:
        task, arguments = pickle.loads(message)  # noqa: S301 (as above)
        with collect_notes() as notes:
            value = task(library, *arguments)
        answer = ("done", (value, tuple(notes)))
        pickle.dumps(answer)
    except MemoryError:
        return "failed", UnfinishedError("there is not enough memory for this", hint="compare fewer systems at a time")
    except RankscopeError as error:
        return "failed", error
    except Exception as error:  # noqa: BLE001 (whatever it is, the server says that it was ours)
        return "failed", RuntimeError(f"{type(error).__name__}: {printable(str(error))}")
    return answer
