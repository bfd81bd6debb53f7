"""Forks processes that write to a store, and kills them at random moments; prints what they were told is kept.

    python killing.py write ADDRESS FOLDER SEED     4 processes make 200 writes; each is killed several times
    python killing.py judge ADDRESS FOLDER SEED     4 processes of 5 threads add 400 judgments; each is killed, too
    python killing.py create ADDRESS FOLDER SEED    processes that make the store are killed
    python killing.py together ADDRESS              4 processes make the store at once
    python killing.py unprivileged ADDRESS          what a user without the right to write may do

Rankscope is loaded once; each process is a fork.
"""

# ruff: noqa: T201 (a script prints)

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from small_store import QUERIES, ranked, run_facts

from rankscope.cli.exit_codes import code_of_error
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.errors import RankscopeError
from rankscope.store import open_store

WRITERS, WRITES, LIVES = 4, 50, 8
THREADS, JUDGMENTS = 5, 100
NOBODY = 65534


def start(work: Callable[[], Any]) -> int:
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        work()
        code = 0
    except BaseException:  # noqa: BLE001 (it is a fork, which must end here)
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def write(address: str, notes: Path, writer: int) -> None:
    """Go on where the last one was killed; a line is noted only when the store has said that it is kept."""
    done = len(notes.read_text().splitlines()) if notes.exists() else 0
    with open_store(address, timeout_s=120) as store, notes.open("ab", buffering=0) as stream:
        for i in range(done, WRITES):
            number = writer * 1000 + i
            if i % 5 < 3:
                kept = store.runs.add(ranked(number, depth=50), run_facts(f"system{writer}", i)).digest
            elif i % 5 == 3:
                name = str(uuid.uuid5(uuid.NAMESPACE_URL, str(number)))
                source = JudgmentSource("person", id=str(writer))
                store.judgments.add(SingleJudgment(query="q1", doc=f"d{i}", source=source, grade=1.0, uuid=name))
                kept = name
            else:
                run = store.runs.list(system=f"system{writer}")[-1]
                store.tags.move(f"tag{writer}-{i}", run)
                kept = f"tag{writer}-{i}"
            stream.write(f"{kept}\n".encode())


def judge(address: str, notes: Path, writer: int) -> None:
    """Let threads add judgments at once, so that several are in one transaction; each is noted when it is kept."""
    done = set(notes.read_text().splitlines()) if notes.exists() else set()
    names = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{writer}/{i}")) for i in range(JUDGMENTS)]

    def add(name: str) -> None:
        if name not in done:
            source = JudgmentSource("person", id=str(writer))
            store.judgments.add(SingleJudgment(query="q1", doc=name, source=source, grade=1.0, uuid=name))
            stream.write(f"{name}\n".encode())

    with (
        open_store(address, timeout_s=120) as store,
        notes.open("ab", buffering=0) as stream,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        list(pool.map(add, names))


LONGEST_S = {"write": 0.2, "judge": 0.12}
"""A process is killed within this time: so soon that it has not done all of its work on a quick machine."""


def kill_writers(work: Callable[[str, Path, int], None], address: str, folder: Path, seed: int) -> dict[str, Any]:
    moments = random.Random(seed)
    kills, lives = 0, dict.fromkeys(range(WRITERS), 0)
    running: dict[int, tuple[int, float]] = {}

    def begin(writer: int) -> None:
        lives[writer] += 1
        child = start(lambda: work(address, folder / f"{writer}.txt", writer))
        until = moments.uniform(0, LONGEST_S[work.__name__]) if lives[writer] <= LIVES else 1e9
        running[child] = writer, time.monotonic() + until

    for writer in range(WRITERS):
        begin(writer)
    failures = []
    while running:
        time.sleep(0.001)
        for child, (writer, until) in list(running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                del running[child]
                if status:
                    failures.append([writer, status])
            elif time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                kills += 1
                del running[child]
                begin(writer)
    noted = [(folder / f"{writer}.txt").read_text().splitlines() for writer in range(WRITERS)]
    return {"kills": kills, "failures": failures, "noted": noted}


def kill_makers(address: str, seed: int) -> dict[str, Any]:
    moments, kills = random.Random(seed), 0
    for _ in range(8):
        child = start(lambda: open_store(address, create=True).close())
        time.sleep(moments.uniform(0, 0.25))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        kills += status == signal.SIGKILL
    return {"kills": kills}


def make_together(address: str) -> dict[str, Any]:
    at = time.monotonic() + 0.5

    def make() -> None:
        time.sleep(max(0.0, at - time.monotonic()))
        with open_store(address, create=True) as store:
            store.runs.add(ranked(1), run_facts())

    children = [start(make) for _ in range(WRITERS)]
    return {"codes": [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]}


def without_rights(address: str) -> dict[str, Any]:
    """Give up the rights of root, and say what reading and writing end with."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    with open_store(address, read_only=True) as store:
        read = [run.digest for run in store.runs.list()]
        queries = len(store.runs.ranking(store.runs.list()[0]))
    try:
        with open_store(address) as store:
            store.runs.add(ranked(9), run_facts("late", 9))
    except RankscopeError as error:
        return {"read": read, "queries": queries == len(QUERIES), "said": error.message, "code": code_of_error(error)}
    return {"read": read, "said": "it was written"}


if __name__ == "__main__":
    action, address, *more = sys.argv[1:]
    if action in ("write", "judge"):
        work = {"write": write, "judge": judge}[action]
        print(json.dumps(kill_writers(work, address, Path(more[0]), int(more[1]))))
    elif action == "create":
        print(json.dumps(kill_makers(address, int(more[0]))))
    elif action == "together":
        print(json.dumps(make_together(address)))
    else:
        print(json.dumps(without_rights(address)))
