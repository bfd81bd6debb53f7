"""Splits: which queries may be trained on, and which are held out until a result is to be believed.

A split is a file. Its train queries can be read freely; its held-out queries are only handed out by `reveal`, which
writes down beside the file that, when and by what this was done.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

from rankscope.bench.digest import queries_digest
from rankscope.errors import FormatError, InputError, OptionError
from rankscope.io.predecessors.content import read_json
from rankscope.io.predecessors.write import write_text
from rankscope.io.queries import QueryTable
from rankscope.io.source import missing

VERSION = 1
LOG_SUFFIX = ".reveals.jsonl"

Stratum = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The train queries, and how many are held out; which ones these are is told by `reveal`."""

    train: tuple[str, ...]
    n_holdout: int
    seed: int | None = None
    share: float | None = None
    """The share of the queries that was asked for as train."""
    by: tuple[str, ...] = ()
    """The attributes by which the queries were divided, so that both sides have the same mix."""
    queries_sha256: str = ""
    """The content hash of the queries that were split."""
    strata: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each stratum in words how many queries are train, and how many held out."""


@dataclass(frozen=True, slots=True)
class Reveal:
    """One time that held-out queries were handed out."""

    date: str
    who: str
    command: str
    n_queries: int


@dataclass(frozen=True, slots=True)
class Holdout:
    """Held-out queries, and how often they have been handed out by now, this time included."""

    query_ids: tuple[str, ...]
    n_reveals: int


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both sides of a split, which only this module sees together."""

    split: Split
    holdout: tuple[str, ...]


def make_split(
    queries: QueryTable,
    path: str | Path,
    *,
    train: float | str = 0.5,
    by: Sequence[str] = (),
    seed: int = 0,
    replace: bool = False,
) -> Split:
    """Divide queries into train and held out, store the split as a file, and return its train side.

    Every stratum, which is what queries with the same values of the attributes `by` form, is divided in the same
    proportion, to less than one query; so is the whole, to half a query. Which queries are drawn depends on the seed
    and on their ids alone, not on their order.
    """
    target = Path(path)
    if target.exists() and not replace:
        raise InputError(
            f"{target} is there already",
            hint="a split that is drawn again shows held-out queries to who trained on the old one; "
            "name another file, or say --force",
        )
    sides = divided(queries, share=fraction_of(train), by=tuple(by), seed=seed)
    write_text(target, json.dumps(record_of(sides), indent=1, ensure_ascii=False) + "\n")
    return sides.split


def fraction_of(share: float | str) -> Fraction:
    """Return a share of queries exactly as it is written, strictly between 0 and 1."""
    try:
        fraction = Fraction(str(share))
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"train = {share!r} is not a number", hint="for example 0.5") from None
    if not 0 < fraction < 1:
        raise OptionError(f"train = {share} is not between 0 and 1", hint="0.5 trains on half of the queries")
    return fraction


def divided(queries: QueryTable, *, share: Fraction, by: tuple[str, ...], seed: int) -> _Sides:
    """Draw the train queries of every stratum."""
    members: dict[str, list[str]] = {}
    for query, stratum in queries.strata(by).items():
        members.setdefault(words_of(stratum), []).append(query)
    sizes = {name: len(members[name]) for name in sorted(members)}
    n_train = train_counts(sizes, share, seed=seed)
    drawn = {query for name in sizes for query in shuffled(members[name], seed)[: n_train[name]]}
    train = tuple(query for query in queries.ids if query in drawn)
    holdout = tuple(query for query in queries.ids if query not in drawn)
    if not train or not holdout:
        raise InputError(
            f"{len(queries)} queries cannot be divided {float(share):g} to {float(1 - share):g}",
            hint="both sides need at least one query",
        )
    strata = {name: (n_train[name], sizes[name] - n_train[name]) for name in sizes}
    return _Sides(
        Split(train, len(holdout), seed, float(share), by, queries_digest(queries), strata),
        holdout,
    )


def train_counts(sizes: Mapping[str, int], share: Fraction, *, seed: int) -> dict[str, int]:
    """Return how many queries of each stratum are drawn: its share rounded down, the rest to the largest remainders.

    The total is the share of all queries, rounded half up. Equal remainders are ordered by the seed.
    """
    exact = {name: share * size for name, size in sizes.items()}
    counts = {name: floor(value) for name, value in exact.items()}
    n_left = floor(share * sum(sizes.values()) + Fraction(1, 2)) - sum(counts.values())
    by_remainder = sorted(sizes, key=lambda name: (counts[name] - exact[name], draw(name, seed)))
    for name in by_remainder[:n_left]:
        counts[name] += 1
    return counts


def shuffled(ids: Sequence[str], seed: int) -> list[str]:
    """Return ids in an order that depends on the seed and the ids alone."""
    return sorted(ids, key=lambda query: (draw(query, seed), query))


def draw(name: str, seed: int) -> bytes:
    """Return the lot of a name: the same on every machine and every version of Python."""
    return hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogateescape")).digest()


def words_of(stratum: Stratum) -> str:
    """Return a stratum in words."""
    return " / ".join("(none)" if value is None else value_in_words(value) for value in stratum) or "all"


def value_in_words(value: Hashable) -> str:
    """Return a value of an attribute in words; those of a list in one order."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)


def record_of(sides: _Sides) -> dict[str, Any]:
    """Return a split as its file has it."""
    split = sides.split
    return {
        "rankscope_split": VERSION,
        "seed": split.seed,
        "share": split.share,
        "by": list(split.by),
        "strata": {name: list(counts) for name, counts in split.strata.items()},
        "queries_sha256": split.queries_sha256,
        "train": list(split.train),
        "holdout": list(sides.holdout),
    }


def load_split(path: str | Path, *, queries: QueryTable | None = None) -> Split:
    """Return the train side of a split that was stored; with `queries`, check that these are what was split."""
    split = read_sides(Path(path)).split
    if queries is not None:
        check_queries(split, queries, str(path))
    return split


def read_sides(path: Path) -> _Sides:
    """Read a split of Rankscope's own, or one of the doctor search."""
    if not path.exists():
        raise missing(path)
    content = read_json(path)
    own = isinstance(content, dict) and "rankscope_split" in content
    keys = ("train", "holdout") if own else ("trainIds", "holdoutIds")
    if not isinstance(content, dict) or not all(isinstance(content.get(key), list) for key in keys):
        raise FormatError(f"{path} is not a split", hint="`rankscope split COLLECTION -o FILE` makes one")
    train, holdout = (tuple(map(str, content[key])) for key in keys)
    if not holdout or not train or len({*train, *holdout}) < len(train) + len(holdout):
        raise FormatError(f"{path}: a side is empty, or a query is there twice", hint="make the split again")
    if not own:
        return _Sides(Split(train, len(holdout)), holdout)
    try:
        strata = {str(name): (int(counts[0]), int(counts[1])) for name, counts in content["strata"].items()}
        stated = Split(
            train,
            len(holdout),
            int(content["seed"]),
            float(content["share"]),
            tuple(map(str, content["by"])),
            str(content["queries_sha256"]),
            strata,
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FormatError(f"{path} is damaged: {error!r}", hint="make the split again") from error
    return _Sides(stated, holdout)


def check_queries(split: Split, queries: QueryTable, name: str) -> None:
    """Refuse queries that are not those that were split."""
    known = set(queries.ids)
    strange = [query for query in split.train if query not in known]
    if strange:
        raise InputError(
            f"{name} splits other queries: {strange[0]!r} is not among these",
            hint="is this its collection?",
        )
    if split.queries_sha256 and split.queries_sha256 != queries_digest(queries):
        raise InputError(
            f"the queries have changed since {name} was made", hint="take the old queries, or make a new split"
        )


def reveal(path: str | Path, *, command: str, who: str | None = None, queries: QueryTable | None = None) -> Holdout:
    """Hand out the held-out queries of a split, and write down that this was done, by whom and for what."""
    file = Path(path)
    sides = read_sides(file)
    if queries is not None:
        check_queries(sides.split, queries, str(path))
    entry = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "who": who or user_name(),
        "command": command,
        "n_queries": len(sides.holdout),
    }
    append(log_of(file), json.dumps(entry, ensure_ascii=False) + "\n")
    return Holdout(sides.holdout, len(reveals(file)))


def reveals(path: str | Path) -> list[Reveal]:
    """Return when and by what the held-out queries of a split have been handed out, oldest first."""
    log = log_of(Path(path))
    if not log.exists():
        return []
    found = []
    for number, line in enumerate(log.read_text("utf-8").splitlines(), 1):
        try:
            entry = json.loads(line)
            found.append(Reveal(entry["date"], entry["who"], entry["command"], entry["n_queries"]))
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{log}:{number} is damaged: {error!r}", hint="only Rankscope writes it") from error
    return found


def log_of(path: Path) -> Path:
    """Return the log beside a split; it only ever grows."""
    return path.with_name(path.name + LOG_SUFFIX)


def append(log: Path, line: str) -> None:
    """Add a line to a log, on disk before anything else goes on."""
    with log.open("a", encoding="utf-8") as stream:
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def user_name() -> str:
    """Return who is logged in, as far as the system knows."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
