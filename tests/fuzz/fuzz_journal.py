"""Journals that were damaged: what is resumed from one is the same as if nothing had happened, or it is refused.

`scripts/fuzz --kind journal --inputs 1000 --seed 1`. Bits are flipped, lines cut, swapped, doubled and spliced in from
journals of other systems, collections and versions; now and then a whole project is run from what came out.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzz_project import reason_of

from rankscope.errors import RankscopeError
from rankscope.experiment import journal as journals
from rankscope.experiment.answer_store import IndexCost
from rankscope.experiment.journal import JournalStore
from rankscope.experiment.project import load_project
from rankscope.experiment.retrieve import retrieve_missing
from rankscope.experiment.run_files import run_rows
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.systems.answers import Answer
from rankscope.systems.base import Query

QUERIES = [Query(f"q{i}", f"text {i}") for i in range(6)]
IDS = [query.id for query in QUERIES]
FINGERPRINT = "0123456789abcdef" * 4
PROJECT_EVERY = 400
"""One input in so many goes through a whole project, which takes a hundred times as long."""


class Ranks:
    """Answers by a fixed rule that depends on its name."""

    index_bytes = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def search(self, queries: Sequence[Query], *, k: int) -> list[list[tuple[str, float]]]:
        return [
            [(f"{self.name}-{query.id}-d{i}", 1.0 - i / 10) for i in range(1 + len(query.text) % 3)]
            for query in queries
        ]


def answered(store: JournalStore, system: Ranks, fingerprint: str, *, failing: bool = False) -> Any:
    """Resume, or begin, and return the rows of the run."""
    with store.open(system.name, fingerprint) as log:
        if failing:
            log.add_fit(IndexCost(0.5, 10))
            log.add([Answer("q3", None, "it was busy")], seconds=0.1)
        for _ in retrieve_missing(system, QUERIES, log, k=5, clock=lambda: 0.0):
            pass
        log.add_memory(7)
        rows = run_rows(log, IDS, tag=system.name)
        kept = (sorted(log.summary.answered), dict(log.summary.failures))
    return list(rows.query), list(rows.doc), rows.score.tolist(), kept


class Damage:
    """Changes journals, from a seed."""

    def __init__(self, seed: int, right: bytes, others: Sequence[bytes]) -> None:
        self.rng = random.Random(seed)
        self.right = right
        self.lines = right.splitlines(keepends=True)
        self.others = [line for other in others for line in other.splitlines(keepends=True)]

    def journal(self) -> bytes:
        rng = self.rng
        lines = list(self.lines)
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            self.change_lines(lines)
        content = bytearray(b"".join(lines))
        for _ in range(rng.choice((0, 0, 1, 1, 3, 20))):
            if not content:
                break
            at, how = rng.randrange(len(content)), rng.randrange(5)
            if how < 2:
                content[at] ^= 1 << rng.randrange(8)
            elif how == 2:
                del content[at : at + rng.randrange(1, 40)]
            elif how == 3:
                content[at:at] = rng.choice(
                    (b"\n", b"\0", b"\r", b"\xff", b" ", b"}", b'"', b"\xed\xa0\x80", b"9" * 50)
                )
            else:
                del content[at:]
        return bytes(content) if rng.random() > 0.01 else rng.choice((b"", b"\n", b"\0" * 5000, b"[" * 100_000 + b"\n"))

    def change_lines(self, lines: list[bytes]) -> None:
        rng = self.rng
        at, to, how = rng.randrange(len(lines) + 1), rng.randrange(len(lines) + 1), rng.randrange(8)
        if how == 0:
            lines.insert(at, rng.choice(self.lines))
        elif how == 1:
            lines.insert(at, rng.choice(self.others))
        elif how == 2:
            del lines[min(at, to) : max(at, to)]
        elif how == 3:
            rng.shuffle(lines)
        elif how == 4 and at < len(lines):
            other = rng.choice(self.others + self.lines)
            cut = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + other[rng.randrange(len(other)) :]
        elif how == 5 and at < len(lines):  # what one query was answered stands as the answer to another
            lines[at] = lines[at].replace(b'"q%d"' % rng.randrange(6), b'"q%d"' % rng.randrange(6))
        elif how == 6:
            lines[:] = [*rng.sample(self.others, min(3, len(self.others))), *lines[rng.randrange(2) :]]
        else:
            lines[min(at, to) : max(at, to)] = lines[min(at, to) : max(at, to)] * 2


def problems(inputs: Iterator[int], seed: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the journals from which something else is resumed than what was asked, or which raise what is not ours."""
    store, system = JournalStore(folder / "journals", "small"), Ranks("one")
    expected = answered(store, system, FINGERPRINT, failing=True)
    (path,) = (folder / "journals").glob("*.jsonl")
    right = path.read_bytes()
    damage = Damage(seed, right, others(folder))
    whole = WholeProject(folder / "project", seed)
    for number in inputs:
        content = damage.journal()
        path.write_bytes(content)
        try:
            found = answered(store, system, FINGERPRINT)
            if found != expected:
                yield repr(content), f"resumed {found}\n  expected {expected}"
            elif answered(store, system, FINGERPRINT) != expected:
                yield repr(content), "resumed a second time it is another run"
        except RankscopeError as error:
            yield repr(content), f"refused, though all could be asked again: {error}"
        except Exception as error:  # noqa: BLE001 (that is what is looked for)
            yield repr(content), reason_of(error)
        path.with_name(f"{path.name}.old").unlink(missing_ok=True)
        if number % PROJECT_EVERY == 1:
            yield from whole.problems()


def others(folder: Path) -> list[bytes]:
    """Return journals of another system, another collection, another fingerprint and another version."""
    made = []
    cases = [("two", "small", FINGERPRINT), ("one", "large", FINGERPRINT), ("one", "small", "f" + FINGERPRINT[1:])]
    for number, (system, collection, fingerprint) in enumerate(cases):
        place = folder / f"other-{number}"
        answered(
            JournalStore(place, collection), Ranks("two"), fingerprint, failing=True
        ) if system == "two" else answered(JournalStore(place, collection), Ranks("one"), fingerprint)
        made += [path.read_bytes() for path in place.glob("*.jsonl")]
    usual = journals.VERSION
    journals.VERSION = usual + 1  # type: ignore[misc]
    try:
        answered(JournalStore(folder / "other-version", "small"), Ranks("one"), FINGERPRINT)
    finally:
        journals.VERSION = usual  # type: ignore[misc]
    return [*made, *(path.read_bytes() for path in (folder / "other-version").glob("*.jsonl"))]


class WholeProject:
    """A project with two systems that is run again from damaged journals: its runs must be the same bytes."""

    def __init__(self, folder: Path, seed: int) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from small_project import small_project, systems

        folder.mkdir()
        self.small = small_project(folder, n_queries=5)
        self.small.write(systems("other", "one"))
        self.run()
        self.expected = self.small.runs
        self.journals = {
            path: path.read_bytes() for path in (folder / "results").rglob("*.jsonl") if "journal" in str(path)
        }
        assert len(self.journals) == 2
        self.damages = [Damage(seed, content, [*self.journals.values()]) for content in self.journals.values()]

    def run(self) -> None:
        run_project(load_project(self.small.folder), RunOptions())

    def problems(self) -> Iterator[tuple[str, str]]:
        contents = [damage.journal() for damage in self.damages]
        for path, content in zip(self.journals, contents, strict=True):
            path.write_bytes(content)
        try:
            self.run()
        except Exception as error:  # noqa: BLE001 (as above)
            yield repr(contents), reason_of(error)
        if self.small.runs != self.expected:
            yield repr(contents), f"the runs differ: {self.small.runs}"
