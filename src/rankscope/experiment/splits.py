"""Splits: which queries may be trained on, and which are held out until a result is to be believed.

A split is a file. Its train queries can be read freely; its held-out queries are only handed out by `reveal`, which
writes down beside the file that, when and by what this was done. Queries that belong together, such as paraphrases, can
be kept on one side.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

from msgspec import field

from rankscope.data.docs import whole_value
from rankscope.data.queries import QueryTable
from rankscope.errors import FormatError, InputError, OptionError
from rankscope.experiment.fingerprint import queries_digest
from rankscope.io.files import read_json, write_text
from rankscope.io.source import missing
from rankscope.io.write import errors_of_writing
from rankscope.printable import counted
from rankscope.records import Record

VERSION = 1


class Split(Record):
    """The train queries, and how many are held out; only `reveal` says which ones these are."""

    train: tuple[str, ...]
    n_holdout: int
    seed: int | None = None
    share: float | None = None
    """The share of the queries that was asked for as train."""
    by: tuple[str, ...] = ()
    """The attributes by which the queries were divided, so that both sides have the same mix."""
    queries_sha256: str = ""
    """The content hash of the queries that were split."""
    strata: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each stratum in words how many queries are train, and how many held out."""
    group: str | None = None
    """The attribute whose groups of queries were kept whole."""
    n_groups: tuple[int, int] | None = None
    """How many groups are train, and how many held out; None where queries were not grouped."""


class Reveal(Record):
    """One time that held-out queries were handed out."""

    date: str
    who: str
    command: str
    n_queries: int


class Holdout(Record):
    """Held-out queries, and how often they have been handed out by now, this time included."""

    query_ids: tuple[str, ...]
    n_reveals: int


def make_split(
    queries: QueryTable,
    path: str | Path,
    *,
    train: float | str = 0.5,
    by: Sequence[str] = (),
    group: str | None = None,
    seed: int = 0,
    replace: bool = False,
) -> Split:
    """Divide queries into train and held out, store the split as a file, and return its train side.

    Every stratum, which is what queries with the same values of the attributes `by` form, is divided in the same
    proportion, to less than one query; so is the whole, to half a query. Which queries are drawn depends on the seed
    and on their ids alone, not on their order.

    Queries with the same value of the attribute `group` stay together; one without a value is a group of its own.
    Sizes are then as close to the share as whole groups allow. With `by`, a group belongs to the stratum of most of
    its queries.
    """
    target = Path(path)
    if target.exists() and not replace:
        raise InputError(
            f"{target} is there already",
            hint="a split that is drawn again may hold out queries that somebody has trained on already; "
            "name another file, or say --force",
        )
    try:
        share = Fraction(str(train))  # exactly as it is written
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"train = {train!r} is not a number", hint="for example 0.5") from None
    if not 0 < share < 1:
        raise OptionError(f"train = {train} is not between 0 and 1", hint="0.5 trains on half of the queries")
    split, holdout = divide(queries, share=share, by=tuple(by), group=group, seed=seed)
    kept = ("seed", "share", "by", "strata", "group", "n_groups", "queries_sha256", "train")
    stored = {"rankscope_split": VERSION, **{name: getattr(split, name) for name in kept}, "holdout": holdout}
    write_text(target, json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    return split


def divide(
    queries: QueryTable, *, share: Fraction, by: tuple[str, ...], seed: int, group: str | None = None
) -> tuple[Split, tuple[str, ...]]:
    """Draw the train queries of every stratum, whole groups at a time; return the split, and what is held out."""
    stratum_of = {
        query: " / ".join("(none)" if value is None else value_in_words(value) for value in values) or "all"
        for query, values in queries.strata(by).items()
    }
    groups = query_groups(queries, group)
    sizes: dict[str, dict[str, int]] = {}
    for name in sorted(groups, key=lambda name: (draw(name, seed), name)):
        counts = Counter(stratum_of[query] for query in groups[name])
        most_common = min(counts, key=lambda stratum: (-counts[stratum], stratum))
        sizes.setdefault(most_common, {})[name] = len(groups[name])
    n_train = train_counts({stratum: list(sizes[stratum].values()) for stratum in sorted(sizes)}, share, seed=seed)
    drawn = {name for stratum in sizes for name in closest_subset(sizes[stratum], n_train[stratum])}
    inside = {query for name in drawn for query in groups[name]}
    train = tuple(query for query in queries.ids if query in inside)
    holdout = tuple(query for query in queries.ids if query not in inside)
    if not train or not holdout:
        what = counted(len(queries), "query")
        if group is not None:
            what += f" in {counted(len(groups), 'group')} by {group}"
        raise InputError(
            f"{what} cannot be divided {float(share):g} to {float(1 - share):g}",
            hint=f"both sides need at least one {'query' if group is None else 'group'}",
        )
    n_of, n_train_of = Counter(stratum_of.values()), Counter(stratum_of[query] for query in train)
    strata = {name: (n_train_of[name], n_of[name] - n_train_of[name]) for name in sorted(n_of)}
    n_groups = None if group is None else (len(drawn), len(groups) - len(drawn))
    digest = queries_digest(queries)
    return Split(train, len(holdout), seed, float(share), by, digest, strata, group, n_groups), holdout


def query_groups(queries: QueryTable, attribute: str | None) -> dict[str, list[str]]:
    """Return the queries that share a value of an attribute, by the first of their ids in order.

    A query without a value is a group of its own, and so is every query where no attribute is named.
    """
    values = {} if attribute is None else queries.attribute(attribute)
    by_value: dict[tuple[str, str], list[str]] = {}
    for query in queries.ids:
        key = ("value", value_in_words(whole_value(values[query]))) if query in values else ("query", query)
        by_value.setdefault(key, []).append(query)
    return {min(members): members for members in by_value.values()}


def train_counts(groups: Mapping[str, Sequence[int]], share: Fraction, *, seed: int) -> dict[str, int]:
    """Return how many queries of each stratum are drawn, given the sizes of the groups in it.

    That is the largest number up to its share, or the smallest one from it up, that whole groups can make: whichever
    brings the share of all queries closest, with as many from the strata that are closest to the upper one. Without
    groups this is the method of the largest remainders. Equal remainders are ordered by the seed.
    """
    exact = {name: share * sum(sizes) for name, sizes in groups.items()}
    around = {name: totals_around(possible_totals(Counter(sizes))[-1], exact[name]) for name, sizes in groups.items()}
    steps = {name: above - below for name, (below, above) in around.items() if above > below}
    by_remainder = sorted(steps, key=lambda name: ((around[name][0] - exact[name]) / steps[name], draw(name, seed)))
    missing_below = sum(exact.values()) - sum(below for below, _ in around.values())
    raised = closest_subset({name: steps[name] for name in by_remainder}, missing_below)
    return {name: around[name][name in raised] for name in groups}


def closest_subset(sizes: Mapping[str, int], target: Fraction | int) -> set[str]:
    """Return names whose sizes add up as close to a target as any could; of two totals as close, the larger.

    Names are taken in the order given until the target is full. Where they miss the closest total, some are exchanged
    for names of another size, as few as possible of the largest sizes; names of one size stay in the order given.
    """
    by_size: dict[int, list[str]] = {}
    for name, size in sizes.items():
        by_size.setdefault(size, []).append(name)
    totals = possible_totals({size: len(names) for size, names in by_size.items()})
    below, above = totals_around(totals[-1], target)
    left = room = above if above - target <= target - below else below
    wanted: Counter[int] = Counter()
    for size in sizes.values():
        if size > 2 * room:  # with it the total is further off; stopping below it always would favour small sizes
            break
        wanted[size] += 1
        room -= size
    chosen: set[str] = set()
    for size, totals_of_smaller in zip(sorted(by_size, reverse=True), reversed(totals[:-1]), strict=True):
        names = by_size[size]
        counts = sorted(range(min(len(names), left // size) + 1), key=lambda n: abs(n - wanted[size]))
        n = next(n for n in counts if totals_of_smaller >> (left - n * size) & 1)
        chosen.update(names[:n])
        left -= n * size
    return chosen


def possible_totals(counts: Mapping[int, int]) -> list[int]:
    """Return which totals the i smallest sizes can make, i from 0 up; bit n is set where n is such a total.

    `counts` says how often each size can be taken. Whole numbers as sets of bits make this fast for many queries.
    """
    totals = [1]
    for size, count in sorted(counts.items()):
        reached, n_left, n_taken = totals[-1], count, 1
        while n_left:  # steps of 1, 2, 4, … and the rest add up to any number of copies
            n_taken = min(n_taken, n_left)
            reached |= reached << (n_taken * size)
            n_left -= n_taken
            n_taken *= 2
        totals.append(reached)
    return totals


def totals_around(totals: int, exact: Fraction | int) -> tuple[int, int]:
    """Return the largest total up to a number and the smallest from it up, from a set of bits that has both."""
    below = (totals & ((1 << (floor(exact) + 1)) - 1)).bit_length() - 1
    from_exact = totals >> ceil(exact)
    return below, ceil(exact) + (from_exact & -from_exact).bit_length() - 1


def draw(name: str, seed: int) -> bytes:
    """Return the lot of a name: the same on every machine and every version of Python."""
    return hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogateescape")).digest()


def value_in_words(value: Hashable) -> str:
    """Return a value of an attribute in words; those of a list in one order."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)


def load_split(path: str | Path, *, queries: QueryTable | None = None, group: str | None = None) -> Split:
    """Return the train side of a split that was stored; with `queries`, check that these are what was split.

    With `group`, check also that no two queries with the same value of this attribute are on different sides.
    """
    return read_split_file(Path(path), queries, group)[0]


def read_split_file(path: Path, queries: QueryTable | None, group: str | None) -> tuple[Split, tuple[str, ...]]:
    """Read both sides of a split, Rankscope's own or one of the doctor search, and check them as `load_split` says."""
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
    split = Split(train, len(holdout))
    if own:
        try:
            is_grouped = content.get("group") is not None  # files of old do not say
            split = Split(
                train,
                len(holdout),
                int(content["seed"]),
                float(content["share"]),
                tuple(map(str, content["by"])),
                str(content["queries_sha256"]),
                {str(name): pair_of(counts) for name, counts in content["strata"].items()},
                str(content["group"]) if is_grouped else None,
                pair_of(content["n_groups"]) if is_grouped else None,
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise FormatError(f"{path} is damaged: {error!r}", hint="make the split again") from error
    if queries is not None:
        check_queries(split, holdout, queries, str(path), group=group)
    return split, holdout


def pair_of(counts: Sequence[Any]) -> tuple[int, int]:
    n_train, n_holdout = counts
    return int(n_train), int(n_holdout)


def check_queries(split: Split, holdout: Sequence[str], queries: QueryTable, name: str, *, group: str | None) -> None:
    known = set(queries.ids)
    strange = next((query for query in split.train if query not in known), None)
    if strange is not None:
        raise InputError(f"{name} splits other queries: {strange!r} is not among these", hint="is this its collection?")
    if split.queries_sha256 and split.queries_sha256 != queries_digest(queries):
        raise InputError(
            f"the queries have changed since {name} was made", hint="take the old queries, or make a new split"
        )
    if group is not None:
        side = {**dict.fromkeys(split.train, "train"), **dict.fromkeys(holdout, "holdout")}
        members = query_groups(queries, group).values()
        torn = sum(len({side[query] for query in ids if query in side}) > 1 for ids in members)
        if torn:
            raise InputError(
                f"{name} has queries with the same {group} on both sides, in {counted(torn, 'group')}",
                hint=f"make a new split that keeps them together: rankscope split … --group {group}",
            )


def reveal(
    path: str | Path,
    *,
    command: str,
    who: str | None = None,
    queries: QueryTable | None = None,
    group: str | None = None,
) -> Holdout:
    """Hand out the held-out queries of a split, and write down that this was done, by whom and for what.

    Nothing is handed out where `queries` or `group` do not fit, as in `load_split`.
    """
    import getpass

    _, holdout = read_split_file(Path(path), queries, group)
    try:
        who = who or getpass.getuser()
    except (OSError, KeyError):
        who = "unknown"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = {"date": now, "who": who, "command": command, "n_queries": len(holdout)}
    append_line(log_of(Path(path)), json.dumps(entry, ensure_ascii=False))
    return Holdout(holdout, len(reveals(path)))


def append_line(log: Path, text: str) -> None:
    """Add a line to a log, on disk before anything else goes on; where it cannot be added whole, nothing is."""
    with errors_of_writing(str(log)), log.open("ab", buffering=0) as stream:
        before = stream.tell()
        left = memoryview(f"{text}\n".encode("utf-8", "surrogateescape"))
        try:
            while left:
                left = left[stream.write(left) :]
            os.fsync(stream.fileno())
        except BaseException:
            with suppress(OSError):
                stream.truncate(before)
                if not before:
                    log.unlink()
            raise


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
    return path.with_name(path.name + ".reveals.jsonl")
