"""What raters said beside grades: flags with their notes, the doc they would choose, and the list they find better.

Choices and preferences say of each query which of two systems won, ties counting half; several raters of a query are
averaged, as the query is the unit of evidence. Interval and verdict come from `compare_scores`, as everywhere: the
score of a system is the share of a query's opinions that it won, so that half of 1 plus their difference is the win
rate, and the interval of the one is that of the other.

Flags, choices and preferences each compare every two systems. Where these are several pairs, each has its share of
alpha, so that the intervals of one kind hold together: they are called simultaneous, as everywhere. A flag rate counts
each query the same, on the queries of which raters looked at docs of every system; what two systems differ by is the
difference of their two rates. Flags count for the systems that have a doc among the docs that the task takes of each
list: what was looked at further down was so because another system has it further up, or somebody asked for it. The
rank of a chosen doc is that in the whole list.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from rankscope._version import __version__
from rankscope.comparison.compare import compare_scores_request
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.request import CompareRequest
from rankscope.comparison.verdict import MIN_UNITS, WORDS, few_differ_words
from rankscope.data.judgments import SingleJudgment
from rankscope.data.tasks import reason_and_note
from rankscope.data.texts import COMMON_WORDS
from rankscope.errors import UnknownNameError
from rankscope.io.ids import byte_order
from rankscope.judging.agreement import CountOf
from rankscope.judging.pools import with_ranks
from rankscope.judging.rater_verdicts import task_queries
from rankscope.judging.records import Preference, Task, TaskItem, again_name
from rankscope.measures.score_files import ScoreFile, as_scores
from rankscope.printable import counted
from rankscope.records import Record, StoredRecord
from rankscope.stats.interval import Interval, mean_interval, wilson_interval
from rankscope.store import Store, StoredDoc, StoredQuery
from rankscope.store.judgments import is_choice
from rankscope.store.labels import QueryDoc

ALPHA = 0.05
LEVEL = 1 - ALPHA
SHOWN = 20
"""Of notes, words and flagged docs, so many of the most frequent are kept."""
MOST_VALUES = 20
"""Attributes of queries and fields of docs with more values than this are texts, and do not divide flags."""
FEW_VALUES = 5
"""An attribute with so many values is always shown."""
RARELY_SHARED = 0.2
"""Where at most this share of the values is of three docs or more, an attribute names docs and no kind of them."""
SHORTEST_WORD = 3
ENOUGH_CHECKS = 5
"""With fewer preferences, nothing is said of sides."""
STEADY = 0.75
"""The share of lists shown again that is expected to get the same answer."""
ROUNDING = 1e-6
"""Shares that differ by less are the same up to rounding."""
SHOWN_DIGITS = 3
"""Of shares; in per cent one digit behind the point."""
SMALL_RATE = 0.0005
"""Flag rates below this would be 0.0%."""
_WORD = re.compile("[^\\W\\d_]+(?:[-'\u2019][^\\W\\d_]+)*")
SIMPLE = (str, int, float, bool)

OpinionKind = Literal["choices", "preferences", "flags"]
PairOf = tuple[str, str]


class OpinionPair(Record, kw_only=True):
    """Two systems by what raters said; `rate` is B's win rate, or for flags B's flag rate minus A's."""

    kind: OpinionKind
    a: str
    b: str
    n_queries: int
    n_opinions: int
    won: int
    """Opinions that B won."""
    tied: int
    lost: int
    rate: float | None
    low: float | None
    high: float | None
    level: float
    """Of the intervals of all pairs together."""
    n_pairs: int = 1
    """How many pairs hold at this level together; each alone has the level 1 - (1 - level) / n_pairs."""
    code: Code
    words: str
    """The verdict on B in a word or two."""
    flag_rates: tuple[float, float] | None = None
    """For flags: the rate of A and that of B, whose difference `rate` is."""
    caution: str = ""
    """What the interval does not show: so few queries differ that there can be no verdict."""

    @property
    def text(self) -> str:
        """The verdict with what it rests on."""
        return f"By {self.kind}, {verdict_clause(self)}. {self.evidence}"

    @property
    def evidence(self) -> str:
        """The numbers, in a sentence, and what they do not show."""
        return f"{evidence_sentence(self)} {self.caution}".rstrip()


class RankFlags(Record):
    """How often docs at a rank were flagged."""

    rank: int
    share: CountOf


class SystemFlags(Record, kw_only=True):
    """How often the docs of a system were flagged."""

    system: str
    share: CountOf
    """Of what raters looked at among its first docs; a doc counts once for each rater."""
    rate: float | None
    """The mean over queries of the share that is flagged, on the queries of the report; None where there are none."""
    interval: Interval | None
    """Of the rate, from queries as units; None where there are fewer than two."""
    by_rank: tuple[RankFlags, ...]


class NoteCount(Record):
    """A note or a word, and in how many flags it stands."""

    text: str
    n: int


class ValueFlags(Record, kw_only=True):
    """Flags of the queries, or docs, that have a value of an attribute."""

    of: Literal["query", "doc"]
    name: str
    """The attribute of queries, or the field of docs."""
    value: str
    share: CountOf
    words: tuple[NoteCount, ...]
    """The most frequent in their notes."""


class FlaggedDoc(Record, kw_only=True):
    """A doc that was flagged."""

    query: str
    query_text: str
    doc: str
    title: str
    share: CountOf
    """Raters who flagged it, of those who looked at it."""
    ranks: dict[str, int]
    notes: tuple[str, ...]


class FlagReport(Record, kw_only=True):
    """What was flagged as wrong."""

    share: CountOf
    """Of what raters looked at: a doc counts once for each rater."""
    by_rank: tuple[RankFlags, ...]
    """Over all systems: a doc counts at the rank that each has it at."""
    depth: int | None = None
    """Down to this rank flags count for a system; None where they count at any rank."""
    n_below: int = 0
    """Flags of docs that no system has so far up: they count for none."""
    n_queries: int
    """Queries of which raters looked at docs of every system that has any: flag rates are over these."""
    systems: tuple[SystemFlags, ...]
    pairs: tuple[OpinionPair, ...]
    n_without_note: int
    notes: tuple[NoteCount, ...]
    """The most frequent, as they are written."""
    words: tuple[NoteCount, ...]
    """The most frequent words in notes, each counted once in a note."""
    by_value: tuple[ValueFlags, ...]
    values_left_out: tuple[str, ...] = ()
    """Attributes and fields that are not among these, as they have very many values, or values of one or two docs."""
    docs: tuple[FlaggedDoc, ...]
    """Those that most raters flagged first."""
    n_docs: int
    """How many docs are flagged."""


class RankCount(Record):
    """How many chosen docs a system has at a rank."""

    rank: int
    n: int


class ChoiceRanks(Record, kw_only=True):
    """Where a system has the docs that raters would choose."""

    system: str
    first: CountOf
    """At rank 1."""
    found: CountOf
    """In its list at all."""
    median_rank: float | None
    """Of those that are in its list."""
    by_rank: tuple[RankCount, ...]


class ChoiceReport(Record, kw_only=True):
    """Which docs raters would choose."""

    n: int
    n_queries: int
    n_raters: int
    systems: tuple[ChoiceRanks, ...]
    pairs: tuple[OpinionPair, ...]


class SwapCheck(Record, kw_only=True):
    """Whether preferences depend on the side: where lists were shown again with sides swapped, and in all."""

    alike: CountOf
    """Of those shown twice, how many named the same list, or none, both times."""
    left: CountOf
    """Of all that named a list, how many named the one on the left."""


class PreferenceCounts(Record, kw_only=True):
    """What was said of two lists, as often as it was shown."""

    a: str
    b: str
    a_clearly: int
    a_slightly: int
    none: int
    b_slightly: int
    b_clearly: int
    cannot_tell: int

    @property
    def n(self) -> int:
        return self.a_clearly + self.a_slightly + self.none + self.b_slightly + self.b_clearly + self.cannot_tell


class PreferenceReport(Record, kw_only=True):
    """Which list raters find better."""

    n: int
    n_queries: int
    n_raters: int
    counts: tuple[PreferenceCounts, ...]
    pairs: tuple[OpinionPair, ...]
    """A list that won with one side and lost with the other has a tie."""
    swapped: SwapCheck


class OpinionReport(StoredRecord, kw_only=True):
    """Flags, choices and preferences of a task."""

    rankscope: str
    task: int
    task_name: str
    collection: str
    systems: tuple[str, ...]
    flags: FlagReport
    choices: ChoiceReport
    preferences: PreferenceReport

    @property
    def headline(self) -> str:
        """The answer in a sentence or two."""
        return headline_of(self)

    @property
    def details(self) -> tuple[str, ...]:
        """What limits it."""
        return tuple(detail_sentences(self))


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


# flags


class Look(Record):
    """That a rater looked at a doc, and whether it was flagged."""

    rater: str
    query: str
    doc: str
    flag: bool
    note: str


def looks_of(
    task: Task,
    items: Mapping[QueryDoc, TaskItem],
    held: Sequence[SingleJudgment],
    listed_by: Sequence[tuple[str, str]],
) -> list[Look]:
    """Return which docs raters looked at: those they graded or flagged; of lists, all docs of queries they judged.

    `listed_by` are the raters and queries of preferences.
    """
    opinions = [each for each in held if not is_choice(each) and (each.grade is not None or each.flag)]
    looks = {
        (each.rater, each.query, each.doc): Look(each.rater, each.query, each.doc, each.flag, own_note(each))
        for each in opinions
    }
    if task.plan.mode == "lists":
        judged = [*((each.rater, each.query) for each in held), *listed_by]
        docs: dict[str, list[str]] = {}
        for query, doc in items:
            docs.setdefault(query, []).append(doc)
        for rater, query in dict.fromkeys(judged):
            for doc in docs.get(query, []):
                looks.setdefault((rater, query, doc), Look(rater, query, doc, flag=False, note=""))
    return sorted(looks.values(), key=lambda each: (byte_order(each.query), byte_order(each.doc), each.rater))


def own_note(each: SingleJudgment) -> str:
    """Return what a rater noted of a doc, without the reason why they cannot tell, which is no note on a flag."""
    return reason_and_note(each.note)[1] if each.status == "cannot_tell" else each.note


def flags_of(store: Store, task: Task, items: Mapping[QueryDoc, TaskItem], looks: Sequence[Look]) -> FlagReport:
    flagged = [each for each in looks if each.flag]
    queries = task_queries(store, task)
    docs = store.texts.docs(task.collection, dict.fromkeys(each.doc for each in looks))
    depth = None if task.plan.pool == "file" else task.plan.k
    ranked = [
        (system, rank, look)
        for look in looks
        for system, rank in ranks_of(items, look).items()
        if depth is None or rank <= depth
    ]
    by_doc: dict[QueryDoc, list[Look]] = {}
    for each in looks:
        by_doc.setdefault((each.query, each.doc), []).append(each)
    wrong = {pair: some for pair, some in by_doc.items() if any(each.flag for each in some)}
    rates = flag_rates(task, ranked)
    notes = Counter(each.note for each in flagged if each.note)
    values = looks_by_value(looks, queries, docs) if flagged else {}
    return FlagReport(
        share=CountOf(len(flagged), len(looks)),
        by_rank=rank_flags((rank, look) for _, rank, look in ranked),
        depth=depth,
        n_below=len(flagged) - len({id(look) for _, _, look in ranked if look.flag}),
        n_queries=max((len(of) for of in rates.values()), default=0),
        systems=tuple(
            system_flags(system, [(rank, look) for name, rank, look in ranked if name == system], rates[system])
            for system in task.plan.systems
        ),
        pairs=tuple(flag_pairs(task, rates, ranked)) if flagged else (),
        n_without_note=sum(not each.note for each in flagged),
        notes=most_frequent(notes),
        words=word_counts(flagged),
        by_value=tuple(value_flags(values)),
        values_left_out=tuple(f"{name} of the {of}" for (of, name), some in values.items() if tells_nothing(of, some)),
        docs=tuple(flagged_docs(wrong, items, queries, docs)),
        n_docs=len(wrong),
    )


def ranks_of(items: Mapping[QueryDoc, TaskItem], look: Look) -> dict[str, int]:
    item = items.get((look.query, look.doc))
    return {} if item is None else item.ranks


def rank_flags(ranked: Iterable[tuple[int, Look]]) -> tuple[RankFlags, ...]:
    counts: dict[int, list[bool]] = {}
    for rank, look in ranked:
        counts.setdefault(rank, []).append(look.flag)
    return tuple(RankFlags(rank, CountOf(sum(flags), len(flags))) for rank, flags in sorted(counts.items()))


def flag_rates(task: Task, ranked: Sequence[tuple[str, int, Look]]) -> dict[str, dict[str, float]]:
    """Return the share of looks that flagged, by system and query, on the queries with docs of every system.

    A system of which raters have looked at no doc at all takes no query from the others.
    """
    flags: dict[str, dict[str, list[bool]]] = {system: {} for system in task.plan.systems}
    for system, _, look in ranked:
        if system in flags:
            flags[system].setdefault(look.query, []).append(look.flag)
    seen = [set(of) for of in flags.values() if of]
    common = sorted(set.intersection(*seen), key=byte_order) if seen else []
    return {system: {query: sum(of[query]) / len(of[query]) for query in common if of} for system, of in flags.items()}


def system_flags(system: str, ranked: Sequence[tuple[int, Look]], rates: Mapping[str, float]) -> SystemFlags:
    values = np.array(list(rates.values()), dtype=np.float64)
    return SystemFlags(
        system=system,
        share=CountOf(sum(look.flag for _, look in ranked), len(ranked)),
        rate=float(values.mean()) if len(values) else None,
        interval=mean_interval(values, range=(0.0, 1.0)) if len(values) > 1 else None,
        by_rank=rank_flags(ranked),
    )


def flag_pairs(
    task: Task, rates: Mapping[str, Mapping[str, float]], ranked: Sequence[tuple[str, int, Look]]
) -> Iterator[OpinionPair]:
    """Yield how much more often a system's docs are flagged than another's, query by query."""
    pairs = compared_pairs(task)
    for a, b in pairs:
        both = [query for query in rates[a] if query in rates[b]]
        scores = {name: {query: rates[name][query] for query in both} for name in (a, b)}
        pair = compared(task, (a, b), scores, "flag rate", len(pairs), lower=True)
        more = [scores[b][query] - scores[a][query] for query in both]
        means = tuple(float(np.mean(list(scores[name].values()))) for name in (a, b)) if both else ()
        yield OpinionPair(
            kind="flags",
            a=a,
            b=b,
            n_queries=len(both),
            n_opinions=sum(system in (a, b) and look.query in scores[system] for system, _, look in ranked),
            won=sum(each < 0 for each in more),
            tied=sum(each == 0 for each in more),
            lost=sum(each > 0 for each in more),
            rate=None if pair is None else pair.delta,
            low=None if pair is None else pair.ci.low,
            high=None if pair is None else pair.ci.high,
            level=LEVEL,
            n_pairs=len(pairs),
            flag_rates=(means[0], means[1]) if means else None,
            **code_and_words(pair),
        )


def word_counts(flagged: Sequence[Look]) -> tuple[NoteCount, ...]:
    """Return the most frequent words of notes, each counted once in a note."""
    counts: Counter[str] = Counter()
    for each in flagged:
        words = {word.casefold() for word in _WORD.findall(each.note)}
        counts.update(sorted(word for word in words if len(word) >= SHORTEST_WORD and word not in COMMON_WORDS))
    return most_frequent(counts)


def most_frequent(counts: Mapping[str, int]) -> tuple[NoteCount, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], byte_order(item[0])))
    return tuple(NoteCount(text, n) for text, n in ordered[:SHOWN])


def value_flags(values: ValueLooks) -> Iterator[ValueFlags]:
    """Yield flags by the values of attributes of queries and of fields of docs, those with most flags first."""
    for (of, name), by_value in values.items():
        if len(by_value) < 2 or tells_nothing(of, by_value):
            continue
        some = [(value, [each for each in of_value if each.flag], of_value) for value, of_value in by_value.items()]
        for value, flagged, of_value in sorted(some, key=lambda one: (-len(one[1]), byte_order(one[0]))):
            yield ValueFlags(
                of=of, name=name, value=value, share=CountOf(len(flagged), len(of_value)), words=word_counts(flagged)
            )


ValueLooks: TypeAlias = Mapping[tuple[Literal["query", "doc"], str], Mapping[str, Sequence[Look]]]
"""By the kind and name of an attribute and each of its values, what raters looked at."""


def looks_by_value(
    looks: Sequence[Look], queries: Mapping[str, StoredQuery], docs: Mapping[str, StoredDoc]
) -> ValueLooks:
    found: dict[tuple[Literal["query", "doc"], str], dict[str, list[Look]]] = {}
    for each in looks:
        of_query = queries[each.query].attributes if each.query in queries else {}
        of_doc = docs[each.doc].fields if each.doc in docs else {}
        named: list[tuple[Literal["query", "doc"], Mapping[str, Any]]] = [("query", of_query), ("doc", of_doc)]
        for of, attributes in named:
            for name, value in attributes.items():
                if isinstance(value, SIMPLE):
                    found.setdefault((of, name), {}).setdefault(str(value), []).append(each)
    return dict(sorted(found.items(), key=lambda one: one[0][0] != "query"))


def tells_nothing(of: Literal["query", "doc"], by_value: Mapping[str, Sequence[Look]]) -> bool:
    """Tell whether there are too many values, or nearly all are those of one or two docs (or queries) each."""
    if len(by_value) <= FEW_VALUES:
        return False
    shared = [len({each.query if of == "query" else each.doc for each in looks}) > 2 for looks in by_value.values()]
    return len(by_value) > MOST_VALUES or sum(shared) <= RARELY_SHARED * len(by_value)


def flagged_docs(
    wrong: Mapping[QueryDoc, Sequence[Look]],
    items: Mapping[QueryDoc, TaskItem],
    queries: Mapping[str, StoredQuery],
    docs: Mapping[str, StoredDoc],
) -> Iterator[FlaggedDoc]:
    ordered = sorted(wrong.items(), key=lambda one: -sum(each.flag for each in one[1]))
    for (query, doc), looks in ordered[:SHOWN]:
        text = queries[query].text if query in queries else ""
        yield FlaggedDoc(
            query=query,
            query_text=text or "",
            doc=doc,
            title=docs[doc].title if doc in docs else "",
            share=CountOf(sum(each.flag for each in looks), len(looks)),
            ranks=ranks_of(items, looks[0]),
            notes=tuple(dict.fromkeys(each.note for each in looks if each.flag and each.note)),
        )


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
    )


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


# win rates


def compared_pairs(task: Task) -> list[PairOf]:
    """Return every two systems, in the order in which the task names them."""
    return list(combinations(task.plan.systems, 2))


def win_pair(
    task: Task, kind: OpinionKind, pair: PairOf, outcomes: Sequence[tuple[str, float]], n_pairs: int
) -> OpinionPair:
    """Return who wins between two systems; outcomes are 1 where B won, 0 where A did, a half for a tie."""
    by_query: dict[str, list[float]] = {}
    for query, outcome in outcomes:
        by_query.setdefault(query, []).append(outcome)
    won = {query: sum(some) / len(some) for query, some in by_query.items()}
    scores = {pair[0]: {query: 1 - share for query, share in won.items()}, pair[1]: won}
    found = compared(task, pair, scores, f"share of {kind} won", n_pairs)
    return OpinionPair(
        kind=kind,
        a=pair[0],
        b=pair[1],
        n_queries=len(won),
        n_opinions=len(outcomes),
        won=sum(outcome == 1 for _, outcome in outcomes),
        tied=sum(outcome == 0.5 for _, outcome in outcomes),
        lost=sum(outcome == 0 for _, outcome in outcomes),
        rate=rate_of(None if found is None else found.delta),
        low=rate_of(None if found is None else found.ci.low),
        high=rate_of(None if found is None else found.ci.high),
        level=LEVEL,
        n_pairs=n_pairs,
        **code_and_words(found),
    )


def rate_of(difference: float | None) -> float | None:
    """Return the win rate that goes with a difference of shares, which a rate cannot be beyond."""
    return None if difference is None else min(1.0, max(0.0, (1 + difference) / 2))


def compared(
    task: Task,
    pair: PairOf,
    scores: Mapping[str, Mapping[str, float]],
    measure: str,
    n_pairs: int,
    *,
    lower: bool = False,
) -> PairResult | None:
    """Compare two systems by scores of queries, as one of several pairs; None where there is no query."""
    if not scores[pair[0]]:
        return None
    cells = {name: {measure: dict(of)} for name, of in scores.items()}
    file = ScoreFile(cells, lower_is_better=frozenset({measure}) if lower else frozenset())
    alpha = round(ALPHA / n_pairs, 12)
    request = CompareRequest(margin=0.0, alpha=alpha, seed=task.plan.seed, order="given", baseline=pair[0])
    comparison = compare_scores_request(as_scores(file, where=measure), request, on_note=lambda _: None)
    return comparison.groups[0].compared[0]


def code_and_words(pair: PairResult | None) -> dict[str, Any]:
    """Return the verdict; that a few queries are all ties says nothing of others."""
    code: Code = "not_comparable" if pair is None else pair.final_verdict.code
    if code == "same" and pair is not None and pair.n_units < MIN_UNITS:
        code = "too_few"
    few = "" if pair is None or code == "too_few" else few_differ_words(pair)
    return {"code": code, "words": "even" if code == "same" else WORDS[code], "caution": f"{few}." if few else ""}


# words


def verdict_clause(pair: OpinionPair) -> str:
    match pair.code:
        case "better" | "worse" | "probably_better" | "probably_worse":
            return f"{pair.b} is {pair.words} than {pair.a}"
        case "same" | "identical":
            return f"{pair.b} and {pair.a} are even"
        case "too_few":
            return f"there are too few queries to tell {pair.b} from {pair.a}"
        case "cannot_tell":
            return f"one cannot tell whether {pair.b} or {pair.a} is better"
        case _:
            return f"{pair.b} and {pair.a} cannot be compared"


def clauses_of(pairs: Sequence[OpinionPair]) -> Iterator[str]:
    """Yield what is said of pairs; those of which nothing can be said come last, and together."""
    clear = [pair for pair in pairs if pair.code not in ("cannot_tell", "too_few")]
    yield from map(verdict_clause, clear)
    if open_pairs := [pair for pair in pairs if pair.code == "cannot_tell"]:
        either = ", nor whether ".join(f"{pair.b} or {pair.a} is better" for pair in open_pairs)
        yield f"one cannot tell whether {either}"
    if few := [pair for pair in pairs if pair.code == "too_few"]:
        yield f"there are too few queries to tell {', or '.join(f'{pair.b} from {pair.a}' for pair in few)}"


def evidence_sentence(pair: OpinionPair) -> str:
    if pair.rate is None:
        return "No query says something of both."
    on, ends = f"on {counted(pair.n_queries, 'query')}", interval_text(pair)
    if pair.kind == "flags":
        if pair.rate == 0:
            return f"The same share of docs is flagged of {pair.b} and of {pair.a}, {on}."
        way = "more" if pair.rate > 0 else "less"
        both = f"{rate_text(pair.flag_rates[1])} against {rate_text(pair.flag_rates[0])}" if pair.flag_rates else ""
        points = f"{points_text(abs(shown_difference(pair)))} percentage points {way}{ends}"
        return f"Docs of {pair.b} are flagged {way} often than those of {pair.a}: {both}, {points}, {on}."
    if pair.kind == "choices":
        said = (
            f"{counted(pair.n_opinions, 'choice')}, {pair.b} has {pair.won:,} at a better rank, {pair.a} {pair.lost:,}"
        )
    else:
        are = "is" if pair.won == 1 else "are"
        said = f"{counted(pair.n_opinions, 'preference')}, {pair.won:,} {are} for {pair.b}, {pair.lost:,} for {pair.a}"
    tied = f", and {pair.tied:,} {'is' if pair.tied == 1 else 'are'} tied" if pair.tied else ""
    rate = f"The win rate of {pair.b} against {pair.a} is {rate_text(pair.rate)}{ends}"
    return f"{rate}, {on}: of {said}{tied}."


def interval_text(pair: OpinionPair) -> str:
    if pair.low is None or pair.high is None:
        return ""
    if pair.kind == "flags":
        ends = f"{signed_points(pair.low)} to {signed_points(pair.high)}"
    else:
        ends = f"{rate_text(pair.low)} to {rate_text(pair.high)}"
    return f" ({interval_name(pair)} {ends})"


def interval_name(pair: OpinionPair) -> str:
    return f"{'simultaneous ' if pair.n_pairs > 1 else ''}{100 * pair.level:.4g}% CI"


def shown_difference(pair: OpinionPair) -> float:
    """Return the difference of two flag rates as they are shown, so that who subtracts them finds it."""
    exact = pair.rate or 0.0
    if pair.flag_rates is None or any(0 < rate < SMALL_RATE for rate in pair.flag_rates):
        return exact
    a, b = (round(rate, SHOWN_DIGITS) for rate in pair.flag_rates)
    return round(b - a, SHOWN_DIGITS) or exact


def rate_text(share: float) -> str:
    """Return a rate in per cent, with as many digits as differences have."""
    return f"{points_text(share)}%"


def points_text(share: float) -> str:
    """Return percentage points, one digit behind the point; what is not 0, a half or all is not rounded to it."""
    digits = SHOWN_DIGITS
    while any(round(share, digits) == end and abs(share - end) > ROUNDING for end in (0.0, 0.5, 1.0)):
        digits += 1
    return f"{100 * share:.{digits - 2}f}"


def signed_points(share: float) -> str:
    return f"{'+' if share > ROUNDING else '-' if share < -ROUNDING else ''}{points_text(abs(share))}"


def headline_of(found: OpinionReport) -> str:
    parts = [
        f"By {pairs[0].kind}, {'; '.join(clauses_of(pairs))}."
        for pairs in (found.preferences.pairs, found.choices.pairs)
        if pairs
    ]
    flags = found.flags.share
    if flags.n:
        parts.append(f"{counted(flags.n, 'flag')} on {counted(found.flags.n_docs, 'doc')}.")
    elif flags.of:
        parts.append(f"Nothing is flagged, of {counted(flags.of, 'look')} at a doc.")
    return " ".join(parts) or "Nobody has flagged, chosen or preferred anything yet."


def detail_sentences(found: OpinionReport) -> Iterator[str]:
    """Yield what limits the answer."""
    alike, left = found.preferences.swapped.alike, found.preferences.swapped.left
    if alike.of >= ENOUGH_CHECKS and alike.n < STEADY * alike.of:
        yield (
            f"Preferences are not steady: shown again with sides swapped, {alike.of - alike.n:,} of {alike.of:,} got "
            "another answer. They count as ties."
        )
    if left.of >= ENOUGH_CHECKS and 0.5 not in wilson_interval(left.n, left.of):
        side, n = ("left", left.n) if 2 * left.n > left.of else ("right", left.of - left.n)
        yield f"The side may matter: {n:,} of {left.of:,} preferences are for the list on the {side}."
    if found.choices.n and found.choices.n_queries == 1:
        yield "All choices are of one query: they say nothing of others."
