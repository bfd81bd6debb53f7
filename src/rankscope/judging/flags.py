"""Flags: how often raters who looked at a doc said that it is wrong, by rank, system, note and attribute.

A flag rate counts each query the same, on the queries of which raters looked at docs of every system; what two systems
differ by is the difference of their two rates. Flags count for the systems that have a doc among the docs that the task
takes of each list: what was looked at further down was so because another system has it further up, or somebody asked
for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from rankscope.data.judgments import SingleJudgment
from rankscope.data.tasks import reason_and_note
from rankscope.data.texts import COMMON_WORDS
from rankscope.io.ids import byte_order
from rankscope.judging.agreement import CountOf
from rankscope.judging.opinion_records import (
    LEVEL,
    FlaggedDoc,
    FlagReport,
    NoteCount,
    OpinionPair,
    RankFlags,
    SystemFlags,
    ValueFlags,
)
from rankscope.judging.rater_verdicts import task_queries
from rankscope.judging.records import Task, TaskItem
from rankscope.judging.win_rates import code_and_words, compared, compared_pairs
from rankscope.records import Record
from rankscope.stats.interval import mean_interval
from rankscope.store import Store, StoredDoc, StoredQuery
from rankscope.store.judgments import is_choice
from rankscope.store.labels import QueryDoc

SHOWN = 20
"""Of notes, words and flagged docs, so many of the most frequent are kept."""
MOST_VALUES = 20
"""Attributes of queries and fields of docs with more values than this are texts, and do not divide flags."""
FEW_VALUES = 5
"""An attribute with so many values is always shown."""
RARELY_SHARED = 0.2
"""Where at most this share of the values is of three docs or more, an attribute names docs and no kind of them."""
SHORTEST_WORD = 3
_WORD = re.compile("[^\\W\\d_]+(?:[-'\u2019][^\\W\\d_]+)*")
SIMPLE = (str, int, float, bool)


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
