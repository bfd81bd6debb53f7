"""The order in which a rater judges what a task holds, which follows from what is stored alone.

What a rater has done comes first, in the order in which it was begun, and stays there whatever is added to the task.
Then comes what is left, whole queries at a time: those that are begun, then those whose docs matter most; of those that
matter alike the queries, and the docs of a query, in an order of the rater's own. Docs that can move nothing come last.
Each doc goes to as many raters as the plan asks for, whole queries at a time, in turns, so that everybody shares docs
with everybody. Docs of which the grade is known are mixed in for every rater, and some docs come back later.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from rankscope.judging.records import TaskItem, TaskPlan
from rankscope.records import Record

QueryDoc: TypeAlias = tuple[str, str]
DoneBy: TypeAlias = Mapping[QueryDoc, Mapping[int, int]]
"""By query and doc, the numbers of the raters who have judged it, each with the number of the first judgment."""

GAP = 10
"""So many others lie between a doc and the same doc again."""
SMALLEST_GAP = 3
"""A doc that has fewer others behind it does not come back: it would be remembered."""
ONE_OF = 5
"""Of so many queries or more, at least one pair of lists comes back: without one, nobody knows whether sides matter."""


class QueueEntry(Record):
    """An item at its place in a rater's queue."""

    item: TaskItem
    again: bool = False
    done: bool = False


def unit_hash(seed: int, *names: str) -> float:
    """Return a number from 0 to 1 that is drawn by a seed and names; it is the same on every machine."""
    content = "\x1f".join([str(seed), *names]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") / 2**64


class SharedOut(Record):
    """What a task holds, shared out among its raters."""

    items_of: dict[int, list[TaskItem]]
    """By the number of the rater: what was judged by this one, and what is left for this one."""
    gold: list[TaskItem]
    """Docs of a known grade, for all who are asked."""
    asked: frozenset[int]
    """The numbers of the raters who get a share of what is left; others have what they judged, and nothing more."""
    n_for_nobody: int = 0
    """How many more judgments the plan asks for than these raters can give."""


def share_out(
    plan: TaskPlan,
    items: Iterable[TaskItem],
    *,
    raters: Sequence[int],
    done: DoneBy,
    in_vain: Mapping[QueryDoc, Collection[int]] | None = None,
) -> SharedOut:
    """Return who judges what.

    Parameters
    ----------
    plan
        Of the task.
    items
        All that the task holds to judge; in `lists`, the queries.
    raters
        The numbers of all raters of the task who were invited, and may judge.
    done
        What any rater has judged, also those who may not any more, or whose judgments come from a file.
    in_vain
        By query and doc, raters who have judged it, and somebody else has to judge it in their place.
    """
    listed = sorted(items, key=lambda item: item.number)
    plain = [item for item in listed if item.gold is None]
    n_queries = len({item.query for item in plain})
    units: dict[QueryDoc, list[TaskItem]] = {}
    for item in plain:  # whole queries, unless there are too few of them for all raters
        units.setdefault((item.query, "" if n_queries >= len(raters) else item.doc), []).append(item)
    load: Counter[int] = Counter()
    in_common: Counter[frozenset[int]] = Counter()
    found: dict[int, list[TaskItem]] = {}
    n_for_nobody = 0
    for unit in units.values():
        judged = [done.get((item.query, item.doc), {}) for item in unit]
        begun = {each for by in judged for each in by}
        ordered = in_turn(raters, unit[0], n_first=plan.overlap, begun=begun, load=load, in_common=in_common)
        together = ordered[: plan.overlap]
        load.update(dict.fromkeys(together, len(unit)))
        in_common.update(dict.fromkeys(map(frozenset, itertools.combinations(together, 2)), len(unit)))
        for item, by in zip(unit, judged, strict=True):
            n_vain = len((in_vain or {}).get((item.query, item.doc), ()))
            wanted = max(0, plan.overlap - len(by) + n_vain)
            new = [each for each in ordered if each not in by][:wanted]
            n_for_nobody += wanted - len(new)
            for each in [*by, *new]:
                found.setdefault(each, []).append(item)
    gold = [item for item in listed if item.gold is not None]
    return SharedOut(found, gold, asked=frozenset(raters), n_for_nobody=n_for_nobody)


def in_turn(
    raters: Sequence[int],
    item: TaskItem,
    *,
    n_first: int,
    begun: Collection[int],
    load: Mapping[int, int],
    in_common: Mapping[frozenset[int], int],
) -> list[int]:
    """Return raters, those first who are to judge a query: who has begun it, then who has the least to do.

    Of those who judge it together, each next one is who has judged the least with the others: where the same two always
    judge the same docs, nobody can tell which of them differs from the rest.
    """
    chosen: list[int] = []
    turn_of = {rater: own_turn(rater, item) for rater in raters}

    def key(rater: int) -> tuple[bool, int, int, float]:
        shared = sum(in_common[frozenset((rater, other))] for other in chosen)
        return rater not in begun, shared, load[rater], turn_of[rater]

    for _ in range(min(n_first, len(raters))):
        chosen.append(min((each for each in raters if each not in chosen), key=key))
    return [*chosen, *sorted((each for each in raters if each not in chosen), key=key)]


def queue_of(
    plan: TaskPlan,
    shared: SharedOut,
    *,
    rater: int,
    seed: int,
    done: DoneBy,
    done_again: Mapping[QueryDoc, int],
    order: Sequence[QueryDoc] = (),
) -> tuple[QueueEntry, ...]:
    """Return what a rater has done and what is left, in order.

    Parameters
    ----------
    plan
        Of the task.
    shared
        What each rater judges.
    rater
        The number of the rater whose queue it is.
    seed
        The rater's own.
    done
        What any rater has judged.
    done_again
        What this rater has judged a second time, with the numbers of the judgments.
    order
        What matters most at the moment; it comes before what the order does not name.
    """
    plain, is_asked = shared.items_of.get(rater, []), rater in shared.asked
    n_gold = round(plan.gold_share * len(plain) / (1 - plan.gold_share)) if is_asked else 0
    mine = [*plain, *gold_of(shared.gold, n_gold, rater=rater, seed=seed, done=done)]
    sorted_items = in_order(plan, mine, rater=rater, seed=seed, done=done, order=order)
    entries = with_repeats(sorted_items, n_repeats(plan, len(mine)) if is_asked else 0, seed, done_again)
    begun: list[tuple[int, QueueEntry]] = []
    left: list[QueueEntry] = []
    for item, again in entries:
        pair = item.query, item.doc
        first = done_again.get(pair) if again else done.get(pair, {}).get(rater)
        if first is None:
            left.append(QueueEntry(item, again))
        else:
            begun.append((first, QueueEntry(item, again, done=True)))
    return *(entry for _, entry in sorted(begun, key=lambda each: each[0])), *left


def in_order(
    plan: TaskPlan, items: Sequence[TaskItem], *, rater: int, seed: int, done: DoneBy, order: Sequence[QueryDoc]
) -> list[TaskItem]:
    """Return the items of a rater as they are judged: query by query, what can move nothing at the end.

    An audit keeps to its order of queries, whatever was begun.
    """
    place_of = {pair: place for place, pair in enumerate(order)}
    judged = {(item.query, item.doc) for item in items if rater in done.get((item.query, item.doc), {})}
    begun = set() if plan.pool == "audit" else {query for query, _ in judged}

    def place(item: TaskItem) -> tuple[int, int]:
        if item.gold is not None:  # anywhere, so that nobody can tell it by its place
            return int(unit_hash(seed, "gold place", item.query, item.doc) * len(place_of)), item.place
        return place_of.get((item.query, item.doc), len(place_of)), item.place

    first_of: dict[str, tuple[int, int]] = {}
    for item in items:
        if (item.query, item.doc) not in judged:
            first_of[item.query] = min(first_of.get(item.query, place(item)), place(item))

    def key(item: TaskItem) -> tuple[Any, ...]:
        moves_nothing = bool(order) and item.gold is None and (item.query, item.doc) not in place_of
        of_query = item.query not in begun, first_of.get(item.query, (0, 0)), unit_hash(seed, item.query)
        return moves_nothing, *of_query, place(item), unit_hash(seed, item.query, item.doc), item.number

    return sorted(items, key=key)


def own_turn(rater: int, item: TaskItem) -> float:
    """Return what decides between raters who have as much to do."""
    return unit_hash(rater, "turn", item.query, item.doc)


def gold_of(gold: Sequence[TaskItem], n: int, *, rater: int, seed: int, done: DoneBy) -> list[TaskItem]:
    """Return n docs of a known grade, drawn for a rater, and those that the rater has judged; a larger n only adds."""
    drawn = sorted(gold, key=lambda item: unit_hash(seed, "gold", item.query, item.doc))
    return [item for place, item in enumerate(drawn) if place < n or rater in done.get((item.query, item.doc), {})]


def n_repeats(plan: TaskPlan, n: int) -> int:
    """Return how many of n docs, or in `lists` queries, a rater is shown a second time."""
    least = 1 if plan.mode == "lists" and plan.repeat_share and n >= ONE_OF else 0
    return max(least, round(plan.repeat_share * n))


def with_repeats(
    items: Sequence[TaskItem], n_again: int, seed: int, done_again: Mapping[QueryDoc, int]
) -> list[tuple[TaskItem, bool]]:
    """Return items with some of them a second time, a few places later.

    What was judged twice counts among them, so that they do not become more as the order changes.
    """
    plain = [item for item in items if item.gold is None]
    drawn = {item.number for item in plain if (item.query, item.doc) in done_again}
    likely = [item for item in items[:-SMALLEST_GAP] if item.gold is None and item.number not in drawn]
    likely.sort(key=lambda item: unit_hash(seed, "again", item.query, item.doc))
    n_left = min(n_again, len(plain) - SMALLEST_GAP) - len(drawn)
    drawn.update(item.number for item in likely[: max(0, n_left)])
    placed = [(float(place), item, False) for place, item in enumerate(items)]
    placed += [(place + GAP + 0.5, item, True) for place, item in enumerate(items) if item.number in drawn]
    return [(item, again) for _, item, again in sorted(placed, key=lambda each: each[0])]


def likely_again(plan: TaskPlan, shared: SharedOut, *, rater: int, seed: int) -> set[QueryDoc]:
    """Return what can come to a rater a second time, in whatever order the queue is.

    Which docs are drawn depends on the last few of the queue, whose order changes while raters judge: so a few more
    than are drawn now count.
    """
    if not plan.repeat_share:
        return set()
    mine = shared.items_of.get(rater, [])
    n_gold = round(plan.gold_share * len(mine) / (1 - plan.gold_share))
    drawn = sorted(mine, key=lambda item: unit_hash(seed, "again", item.query, item.doc))
    most = n_repeats(plan, len(mine) + n_gold) + SMALLEST_GAP
    return {(item.query, item.doc) for item in drawn[:most]}


def screen_order(systems: Sequence[str], seed: int, query: str, *, again: bool) -> tuple[str, ...]:
    """Return systems as their lists stand on a rater's screen, from left to right; a second time, sides are swapped."""
    drawn = sorted(systems, key=lambda system: unit_hash(seed, "side", query, system))
    return tuple(reversed(drawn)) if again else tuple(drawn)
