"""Runs one case again and again, each time with another call of the system going wrong, and prints what went wrong with it.

    LD_PRELOAD=shim.so python harness.py SHIM COMMAND [NUMBER] [--every]

Rankscope is loaded once; each trial is a fork. A trial is judged by what a user and the next program would see: the
exit code, what is printed, and the files in the folder.
"""

# ruff: noqa: T201 (a script prints)

from __future__ import annotations

import ctypes
import errno
import fnmatch
import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from cases import CASES, EARLIER, Case

import rankscope
from rankscope.cli.exit_codes import BUG
from rankscope.cli.main import main

KINDS = ("open", "read", "mmap", "write", "fsync", "rename", "close")
SHORT = -1
FULL, DAMAGED, QUOTA, TOO_MANY = errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EMFILE
ERRORS: dict[str, tuple[int, ...]] = {
    "open": (DAMAGED, FULL, TOO_MANY, QUOTA),
    "read": (DAMAGED, SHORT),
    "mmap": (DAMAGED, TOO_MANY),
    "write": (FULL, DAMAGED, SHORT, QUOTA),
    "fsync": (DAMAGED, FULL, QUOTA),
    "rename": (DAMAGED, FULL, QUOTA),
    "close": (DAMAGED, FULL, QUOTA),
}
MEMORY, ROOM, WAYS = "memory", "room", "ways"
ROOMS = [n << 18 for n in (0, 1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)]
"""How many bytes more than it has a process may take: up to 64 MB."""
READING_AND_WRITING = ("/rankscope/io/", "/rankscope/experiment/", "/rankscope/data/")
SECONDS = 60
STDOUT = "standard-output"
JOURNALS = "*results/journal/*"
NOTES = (".rankscope/*", "*/.rankscope/*", "kept/*")  # the names of kept parts depend on when their files were made
Files = dict[str, bytes]


@dataclass(frozen=True)
class Fault:
    """What goes wrong in one trial: the n-th call of a kind, and with `stays` all that follow it."""

    kind: str
    call: int
    error: int = 0
    stays: bool = False

    def __str__(self) -> str:
        """Say it in words."""
        word = "short" if self.error == SHORT else errno.errorcode.get(self.error, "")
        return f"{self.kind} {self.call} {word}{' and all after it' if self.stays else ''}"


@dataclass(frozen=True)
class Outcome:
    """How one call ended; the code is negative where a signal or the clock ended it."""

    code: int
    fired: bool
    stderr: str
    files: Files


class Harness:
    """Makes the folder of a case, and calls the command in it."""

    def __init__(self, shim: str, case: Case, *, place: Path) -> None:
        self.shim = ctypes.CDLL(shim)
        self.case = case
        self.folder = place / "folder"
        self.notes = place / "notes"
        self.notes.mkdir()
        self.folder.mkdir()
        case.prepare(self.folder)
        for name in case.earlier:
            (self.folder / name).write_text(EARLIER)
        if case.first is not None:
            done = self.call(case.first)
            assert done.code == 0, done.stderr
        (self.folder / STDOUT).unlink(missing_ok=True)
        self.before = files_in(self.folder)
        self.first = self.anew(None)
        assert self.first.code in (0, 1), self.first

    def anew(self, fault: Fault | None) -> Outcome:
        """Call the command in the folder as it was before."""
        shutil.rmtree(self.folder)
        for name, content in self.before.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_bytes(content)
        return self.call(self.case.arguments, fault)

    def call(self, arguments: tuple[str, ...], fault: Fault | None = None) -> Outcome:
        """Call the command in a fork, in the folder as it is."""
        child = os.fork()
        if not child:
            self.run_in_child(arguments, fault)
        deadline = time.monotonic() + SECONDS
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return Outcome(-999, fired=True, stderr="it did not end", files={})
            time.sleep(0.002)
        fired = self.notes / "fired"
        stderr = (self.notes / "stderr").read_text("utf-8", "replace")
        was_hit = fired.exists() and fired.read_text() != "0"
        fired.unlink(missing_ok=True)
        return Outcome(os.waitstatus_to_exitcode(ended[1]), was_hit, stderr, files_in(self.folder))

    def run_in_child(self, arguments: tuple[str, ...], fault: Fault | None) -> None:
        code = 99
        try:
            os.chdir(self.folder)
            os.environ.update(self.case.environment)
            sys.path.insert(0, str(self.folder))
            out = os.open(STDOUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            err = os.open(self.notes / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.close(out)
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), "utf-8")
            sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", write_through=True)
            fired = self.begin(fault)
            try:
                code = main(list(arguments))
                sys.stdout.flush()
            finally:
                n_fired = fired()
                self.shim.faults_begin(b"", -1, 0, 0, 0)
                (self.notes / "fired").write_text(str(n_fired))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 98
        except BaseException:  # noqa: BLE001 (it is a fork, which must end here)
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)

    def begin(self, fault: Fault | None):
        """Let the fault come, and return what tells how often it has."""
        if fault is None:
            return lambda: 0
        if fault.kind == MEMORY:
            return fail_in_python(fault.call)
        if fault.kind == WAYS:
            return note_ways(self.notes / "ways")
        if fault.kind == ROOM:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + fault.call
            before = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))

            def lift() -> int:
                resource.setrlimit(resource.RLIMIT_AS, before)  # what follows is the harness's own work
                return 1

            return lift
        kind = KINDS.index(fault.kind)
        self.shim.faults_begin(os.fsencode(self.folder), kind, fault.call, fault.error, int(fault.stays))
        return self.shim.faults_fired

    # What a trial may not do

    def problems(self, fault: Fault) -> tuple[bool, list[str]]:
        """Try one fault: whether it came at all, and what was wrong with how it ended."""
        done = self.anew(fault)
        if fault.kind == ROOM:  # what Python itself says where it cannot clean up for lack of memory
            done = replace(done, stderr=re.sub(r"Exception ignored in: .*\nMemoryError: ?\n", "", done.stderr))
        codes = (*self.case.codes, *((BUG,) if fault.kind == ROOM else ()))  # libraries without memory say odd things
        found = [f"{fault}: {problem}" for problem in self.judge(done, codes)]
        if self.case.resumes and done.code != self.first.code and done.code >= 0:
            again = self.call(self.case.arguments)
            found += [f"{fault}, then undisturbed: {problem}" for problem in self.judge(again, ())]
        return done.fired, found

    def memory_calls(self) -> list[int]:
        """Return the calls of Python functions to let fail: of each way to a function the first, second and last one.

        A loop over rows comes the same way to the same function thousands of times, and what it does then is the same.
        """
        self.anew(Fault(WAYS, 0))
        calls: dict[str, list[int]] = {}
        for call, way in enumerate((self.notes / "ways").read_text().split(), 1):
            calls.setdefault(way, []).append(call)
        return sorted({call for taken in calls.values() for call in (*taken[:2], taken[-1])})

    def judge(self, done: Outcome, codes: tuple[int, ...]) -> Iterator[str]:
        if "Traceback" in done.stderr or "Exception ignored" in done.stderr or done.code < 0:
            yield f"exit code {done.code}: {done.stderr[-1500:]}"
            return
        passed = done.code == self.first.code
        if not passed and done.code not in codes:
            yield f"exit code {done.code}: {done.stderr[-600:]}"
        elif not passed and "error: " not in done.stderr and not (done.code == 1 and "failed" in done.stderr):
            yield f"exit code {done.code} without an error: {done.stderr[-600:]}"
        for name in sorted({*done.files, *self.first.files, *self.before}):
            if fnmatch.fnmatch(name, JOURNALS) or any(fnmatch.fnmatch(name, note) for note in NOTES):
                if name.endswith(".tmp"):
                    yield f"{name} was left behind"
                continue
            if name == STDOUT and not passed:
                continue
            yield from self.judge_file(name, done.files.get(name), passed=passed)

    def judge_file(self, name: str, content: bytes | None, *, passed: bool) -> Iterator[str]:
        expected, before = self.first.files.get(name), self.before.get(name)
        may_differ = any(fnmatch.fnmatch(name, pattern) for pattern in self.case.varying)
        is_gate = name.endswith(".xml") and not passed  # it says that something went wrong
        if (may_differ or is_gate) and content is not None and is_complete(name, content, expected or b""):
            return
        allowed = [expected] if passed else [expected, before, None] if before is None else [expected, before]
        if content not in allowed:
            what = "is missing" if content is None else f"holds {len(content)} bytes: {content[-80:]!r}"
            yield f"{'exit code 0, but ' if passed else ''}{name} {what}"


def fail_in_python(call: int):
    """Let the n-th call of a Python function that reads or writes raise MemoryError."""
    n_calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal n_calls
        if event == "call" and reads_or_writes(frame):
            n_calls += 1
            if n_calls == call:
                sys.setprofile(None)
                raise MemoryError

    sys.setprofile(count)
    return lambda: int(n_calls >= call)


def note_ways(place: Path):
    """Write down by which way, all callers with their lines, each call of a function that reads or writes is reached."""
    ways: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and reads_or_writes(frame):
            way = []
            caller: FrameType | None = frame
            while caller is not None:
                way.append((id(caller.f_code), caller.f_lineno))
                caller = caller.f_back
            ways.append(str(hash(tuple(way))))

    def end() -> int:
        sys.setprofile(None)
        place.write_text(" ".join(ways))
        return 1

    sys.setprofile(note)
    return end


def reads_or_writes(frame: FrameType) -> bool:
    if frame.f_code.co_flags & inspect.CO_GENERATOR:  # called to be thrown away, too: Python hides what fails
        return False
    return any(part in frame.f_code.co_filename for part in READING_AND_WRITING)


def files_in(folder: Path) -> Files:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".log"
    }


def is_complete(name: str, content: bytes, like: bytes) -> bool:
    """Tell whether a file that never is the same twice is whole: JSON to its end, other texts end alike."""
    if name.endswith((".json", ".jsonl")):
        try:
            return bool(
                [json.loads(line) for line in content.splitlines()] if name.endswith("l") else json.loads(content)
            )
        except ValueError:
            return False
    return bool(content) and content[-7:] == like[-7:]


def faults(harness: Harness, *, every: bool) -> Iterator[tuple[bool, list[str]]]:
    """Try the first call, the second, … until a fault no longer comes; without `every`, one error per call in turn."""
    for kind in KINDS:
        for turn, call in enumerate(calls(every=every, dense=harness.case.dense)):
            errors = ERRORS[kind] if every or call == 1 else (ERRORS[kind][turn % len(ERRORS[kind])],)
            tried = [harness.problems(Fault(kind, call, error)) for error in errors]
            if kind in ("write", "open", "read") and (every or call <= 2):
                error = FULL if kind == "write" else TOO_MANY if kind == "open" else SHORT
                tried.append(harness.problems(Fault(kind, call, error, stays=True)))
            yield from tried
            if not any(fired for fired, _ in tried):
                break
    for call in harness.memory_calls() if every else calls(every=False, dense=2):
        tried_once = harness.problems(Fault(MEMORY, call))
        yield tried_once
        if not tried_once[0] and not every:
            break
    for room in ROOMS if every else ROOMS[1::5]:
        yield harness.problems(Fault(ROOM, room))


def calls(*, every: bool, dense: int) -> Iterator[int]:
    """Yield 1, 2, 3, …, further and further apart from where it is dense no more."""
    call = 1
    while True:
        yield call
        call += 1 if every else max(1, call // dense)


def load_everything() -> None:
    """Load all modules, so that a fork need not; none that start threads, which no fork takes along."""
    for module in pkgutil.walk_packages(rankscope.__path__, "rankscope."):
        if not module.name.endswith("__main__") and ".migrations." not in module.name:  # Alembic runs these
            importlib.import_module(module.name)
    for name in ("numpy.random", "rich.table", "rich.console", "zstandard", "msgspec", "gzip", "scipy.stats", "bm25s"):
        importlib.import_module(name)
    assert "polars" not in sys.modules
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def try_case(shim: str, case: Case, *, every: bool) -> dict[str, Any]:
    """Try all faults on one case; return how many there were, how many of them came, and what was wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        tried = list(faults(Harness(shim, case, place=Path(temporary).resolve()), every=every))
    shown = " ".join(case.arguments)
    problems = [f"{shown}: {problem}" for _, found in tried for problem in found]
    return {"tried": len(tried), "hit": sum(fired for fired, _ in tried), "problems": problems}


if __name__ == "__main__":
    shim, command, *more = sys.argv[1:]
    load_everything()
    chosen = [CASES[command][int(number)] for number in more if number.isdigit()] or CASES[command]
    print(json.dumps([try_case(shim, case, every="--every" in more) for case in chosen]))
