"""What worker processes of the tests are asked to do: they import this module by its name."""

import os
import signal
import time
from multiprocessing.util import Finalize
from pathlib import Path

from rankscope.errors import BadLine, BadLinesError, UnfinishedError


def square(number):
    return number * number


def slow_square(number, *, seconds=0.02):
    time.sleep(seconds)
    return number * number


def square_or_bad_line(number):
    if number == 3:
        raise BadLinesError([BadLine("a.run", 7, "q1 Q0", "2 columns")], hint="see the file")
    return number * number


def square_or_bug(number):
    return number * number // (number != 3)


def fails_at_first(folder, number):
    """Fail once for each number, as a connection may, then return the square."""
    tried = Path(folder) / f"tried-{number}"
    if number % 3 == 0 and not tried.exists():
        tried.touch()
        raise ConnectionResetError("somebody pulled the plug")
    return number * number


def dies_once(folder, number):
    """Kill the worker at the first try of number 3."""
    died = Path(folder) / "died"
    if number == 3 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return slow_square(number)


def dies_always(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return slow_square(number)


def leaves_mark(folder, number):
    """Return the square slowly, and leave a file that says which process it was."""
    time.sleep(0.05)
    (Path(folder) / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return number * number


def fills_memory(number):
    """Take memory, far more than a worker may have, where the number is 3."""
    held = []
    while number == 3:
        held.append(bytearray(os.urandom(1 << 20)) * 16)
        time.sleep(0.01)
    return number * number


def runs_out_of_memory(number):
    if number == 3:
        raise MemoryError
    return number * number


def unfinished(number):
    if number in {3, 4}:
        raise UnfinishedError(f"no room for {number}", hint="make room")
    return number * number


def cannot_be_sent(number):
    return (lambda: number) if number == 3 else number * number


def encode(number):
    return str(number).encode()


def decode(payload):
    return int(payload)


def dies_always_quickly(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def square_then_sleep(number):
    """Return the first squares at once, and later ones when nobody waits for them any more."""
    time.sleep(60 if number > 1 else 0)
    return number * number


def write_at_the_end(path, number):
    """Let the process write a file at its end, some time after it was asked to end."""

    def write():
        time.sleep(0.3 + number / 2)
        path.with_suffix(f".{number}").touch()

    Finalize(None, write, exitpriority=10)
    time.sleep(0.3)  # so that each input has a process of its own
    return number
