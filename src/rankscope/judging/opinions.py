"""What raters said beside grades: flags with their notes, the doc they would choose, and the list they find better.

Choices and preferences say of each query which of two systems won, ties counting half; several raters of a query are
averaged, as the query is the unit of evidence. The rank of a chosen doc is that in the whole list.

Flags, choices and preferences each compare every two systems. Where these are several pairs, each has its share of
alpha, so that the intervals of one kind hold together: they are called simultaneous, as everywhere.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rankscope._version import __version__
from rankscope.data.judgments import SingleJudgment
from rankscope.errors import UnknownNameError
from rankscope.judging.agreement import CountOf
from rankscope.judging.flags import flags_of, looks_of
from rankscope.judging.opinion_records import (
    ChoiceRanks,
    ChoiceReport,
    OpinionReport,
    PreferenceCounts,
    PreferenceReport,
    RankCount,
    SwapCheck,
)
from rankscope.judging.pools import with_ranks
from rankscope.judging.records import Preference, Task, TaskItem, again_name
from rankscope.judging.win_rates import PairOf, compared_pairs, win_pair
from rankscope.store import Store
from rankscope.store.judgments import is_choice
from rankscope.store.labels import QueryDoc


def opinions_of(store: Store, task: Task) -> OpinionReport:
    """Return what raters of a task flagged, would choose and prefer."""
    items = {(item.query, item.doc): item for item in ranked_items(store, task)}
    held = [each.judgment for each in store.judgments.current(task.collection, task=str(task.number))]
    held = [each for each in held if each.source.kind == "person"]
    said = [each.preference for each in store.preferences.current(task=str(task.number))]
    again = [each.preference for each in store.preferences.current(task=again_name(str(task.number)))]
    keys = {rater.id: rater.key for rater in store.raters.list(task)}
    listed_by = [(keys.get(each.rater, each.rater), each.query) for each in said]
    return OpinionReport(
        rankscope=__version__,
        task=task.number,
        task_name=task.name,
        collection=task.collection,
        systems=task.plan.systems,
        flags=flags_of(store, task, items, looks_of(task, items, held, listed_by)),
        choices=choices_of(task, items, [each for each in held if is_choice(each) and each.status == "ok"]),
        preferences=preferences_of(task, said, again),
    )


def ranked_items(store: Store, task: Task) -> list[TaskItem]:
    """Return the docs of a task with their ranks in the whole lists; without the runs, those that the task has kept."""
    items = [item for item in store.tasks.items(task) if item.doc]
    try:
        return with_ranks(store, task.plan, items)
    except UnknownNameError:  # a run was removed from the store
        return items


# choices


def choices_of(task: Task, items: Mapping[QueryDoc, TaskItem], chosen: Sequence[SingleJudgment]) -> ChoiceReport:
    ranks = [items[each.query, each.doc].ranks if (each.query, each.doc) in items else {} for each in chosen]
    pairs, every = [], compared_pairs(task)
    for a, b in every if chosen else ():
        outcomes = [(each.query, outcome_of(of.get(a), of.get(b))) for each, of in zip(chosen, ranks, strict=True)]
        pairs.append(win_pair(task, "choices", (a, b), outcomes, len(every)))
    return ChoiceReport(
        n=len(chosen),
        n_queries=len({each.query for each in chosen}),
        n_raters=len({each.rater for each in chosen}),
        systems=tuple(choice_ranks(system, [of.get(system) for of in ranks]) for system in task.plan.systems),
        pairs=tuple(pairs),
        n_first_left_out=n_first_left_out(items, {each.query for each in chosen}),
    )


def n_first_left_out(items: Mapping[QueryDoc, TaskItem], queries: Collection[str]) -> int:
    """Return of how many queries the task lacks the first doc of a system that has some of its docs further down.

    A task of docs that settle a comparison leaves out what all systems have on top, and others what is known already.
    """
    best: dict[tuple[str, str], int] = {}
    for (query, _), item in items.items():
        for system, rank in item.ranks.items() if query in queries else ():
            best[query, system] = min(rank, best.get((query, system), rank))
    return len({query for (query, _), rank in best.items() if rank > 1})


def outcome_of(a: int | None, b: int | None) -> float:
    """Return 1 where B has the chosen doc at the better rank, 0 where A has, and a half where neither has."""
    if a == b:
        return 0.5
    return 1.0 if a is None or (b is not None and b < a) else 0.0


def choice_ranks(system: str, ranks: Sequence[int | None]) -> ChoiceRanks:
    found = [rank for rank in ranks if rank is not None]
    return ChoiceRanks(
        system=system,
        first=CountOf(sum(rank == 1 for rank in found), len(ranks)),
        found=CountOf(len(found), len(ranks)),
        median_rank=statistics.median(found) if found else None,
        by_rank=tuple(RankCount(rank, n) for rank, n in sorted(Counter(found).items())),
    )


# preferences


def preferences_of(task: Task, said: Sequence[Preference], again: Sequence[Preference]) -> PreferenceReport:
    """Return which lists raters prefer; `again` is what they said with sides swapped."""
    every = [*said, *again]
    second = {(each.rater, each.query, pair_of(task, each)): each for each in again}
    outcomes: dict[PairOf, list[tuple[str, float]]] = {}
    alike: list[bool] = []
    for each in said:
        pair = pair_of(task, each)
        other = second.get((each.rater, each.query, pair))
        if each.value is None:
            continue
        side = side_of_pair(each, pair)
        if other is not None and other.value is not None:
            alike.append(side == side_of_pair(other, pair))
            side = side if alike[-1] else 0
        outcomes.setdefault(pair, []).append((each.query, (1 + side) / 2))
    named = [each.value for each in every if each.value]
    return PreferenceReport(
        n=len(said),
        n_queries=len({each.query for each in said}),
        n_raters=len({each.rater for each in said}),
        counts=tuple(preference_counts(task, every)),
        pairs=tuple(
            win_pair(task, "preferences", pair, outcomes[pair], len(outcomes))
            for pair in sorted(outcomes, key=place_in(task))
        ),
        swapped=SwapCheck(
            alike=CountOf(sum(alike), len(alike)), left=CountOf(sum(value < 0 for value in named), len(named))
        ),
    )


def place_in(task: Task) -> Any:
    places = {system: i for i, system in enumerate(task.plan.systems)}
    return lambda pair: tuple((places.get(name, len(places)), name) for name in pair)


def pair_of(task: Task, each: Preference) -> PairOf:
    """Return the two systems of a preference, the one that the task names first first."""
    first, second = sorted((each.left, each.right), key=lambda name: place_in(task)((name,)))
    return first, second


def side_of_pair(each: Preference, pair: PairOf) -> int:
    """Return 1 where B is preferred, -1 where A is, and 0 where neither is."""
    value = each.value or 0
    side = (value > 0) - (value < 0)
    return side if each.right == pair[1] else -side


def preference_counts(task: Task, every: Sequence[Preference]) -> Iterator[PreferenceCounts]:
    counts: dict[PairOf, Counter[int | None]] = {}
    for each in every:
        pair = pair_of(task, each)
        value = each.value if each.value is None or each.right == pair[1] else -each.value
        counts.setdefault(pair, Counter())[value] += 1
    for pair in sorted(counts, key=place_in(task)):
        of = counts[pair]
        yield PreferenceCounts(
            a=pair[0],
            b=pair[1],
            a_clearly=of[-2],
            a_slightly=of[-1],
            none=of[0],
            b_slightly=of[1],
            b_clearly=of[2],
            cannot_tell=of[None],
        )
