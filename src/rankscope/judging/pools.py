"""Where the docs of a task come from: the first of each system's list, a sample of them, disagreements, or an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.data.run import Run
from rankscope.errors import OptionError, UnknownNameError
from rankscope.io.ids import byte_order
from rankscope.judging.queue import unit_hash
from rankscope.judging.records import Task, TaskItem, TaskPlan
from rankscope.judging.worst_case import asked_of, common_queries
from rankscope.measures.parse import parse_measure
from rankscope.records import Record, replace
from rankscope.store import Store, StoredRun

Lists: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By system and query, the first docs."""
PLACES = 2**31
"""How many places an audit has: that of a query follows from its name, and stays when queries are added."""
WITHOUT_IDEAL = frozenset({"P", "P_ret", "Success", "RR", "FirstRel", "CG", "DCG", "NumRelRet"})
"""Measures that read the first docs of a list alone; others may read the best docs there are, too."""
ORDER_ASIDE = frozenset({"P", "P_ret", "Success", "CG", "NumRelRet", "R", "R_cap", "F", "NCG"})
"""Measures that are the same for all orders of the first k docs."""


class MeasureReading(Record):
    """What a measure reads of a list."""

    depth: int
    in_order: bool = True
    """Whether the order of the docs counts."""
    ideal: bool = True
    """Whether the best docs there are count, too, whichever system has them."""

    def of(self, docs: Sequence[str]) -> tuple[str, ...] | frozenset[str]:
        """Return what tells lists apart: where it is the same for two, so are their scores, whatever the labels."""
        first = tuple(docs[: self.depth])
        return first if self.in_order else frozenset(first)


def reading_of(measure: str, k: int) -> MeasureReading:
    """Return what a measure reads of the first k docs; without a measure all of them count, in their order."""
    if not measure:
        return MeasureReading(k)
    cut, name = cut_of(measure), parse_measure(measure).spec.name
    # without a cut-off even the number of docs further down counts, so that an order tells lists apart
    return MeasureReading(min(cut or k, k), not (cut and name in ORDER_ASIDE), name not in WITHOUT_IDEAL)


def cut_of(measure: str) -> int | None:
    """Return how many docs of each list a measure reads; None where it has no cut-off, or none is named."""
    found = parse_measure(measure).arguments(rel=1.0).get("k") if measure else None
    return None if found is None else int(found)


class KnownLabels:
    """Labels that the store has already, of people and of a judge that is a model."""

    def __init__(self, store: Store, plan: TaskPlan) -> None:
        self.people = labels_of(store, plan.qrels)
        self.judge = labels_of(store, plan.judge_qrels)


def labels_of(store: Store, number: int | None) -> Mapping[str, Mapping[str, float]]:
    """Return the grades of stored qrels, by query and doc; nothing where no number is given."""
    if number is None:
        return {}
    found = next((each for each in store.qrels.list() if each.number == number), None)  # a name may be a number, too
    if found is None:
        raise UnknownNameError(f"the store has no qrels {number}", hint="`rankscope store info` says what it has")
    return store.qrels.judgments(found).judged


def runs_of(store: Store, numbers: Iterable[int]) -> list[StoredRun]:
    """Return stored runs by their numbers."""
    known = {run.number: run for run in store.runs.list(repetitions=True)}
    wanted = list(numbers)
    if lost := [number for number in wanted if number not in known]:
        raise UnknownNameError(f"the store has no run {lost[0]}", hint="`rankscope history` lists those that it has")
    return [known[number] for number in wanted]


def lists_of(store: Store, runs: Sequence[StoredRun], systems: Sequence[str], k: int) -> Lists:
    """Return the first k docs of every query that all of the runs were asked."""
    rankings = {name: store.runs.ranking(run, answered=True) for name, run in zip(systems, runs, strict=True)}
    common = common_queries(rankings)
    if runs and not common:
        raise OptionError("the runs of the task have no query in common", hint="choose runs of the same queries")
    return first_docs(rankings, common, k)


def rankings_of(store: Store, plan: TaskPlan, runs: Sequence[StoredRun]) -> dict[str, Run]:
    """Return the rankings of a task's runs by the names that its plan has for them; some stored plans have none."""
    names = plan.systems if len(plan.systems) == len(runs) else tuple(run.system for run in runs)
    return {name: store.runs.ranking(run, answered=True) for name, run in zip(names, runs, strict=True)}


def answered_among(store: Store, collection: str, queries: Iterable[str]) -> frozenset[str]:
    """Return those of some queries that a run on a collection answers, whatever it is known to have been asked."""
    wanted, found = frozenset(queries), set[str]()
    for run in store.runs.list(collection=collection) if wanted else ():
        found |= wanted.intersection(store.runs.columns(run).queries)
        if found == wanted:
            break
    return frozenset(found)


def queries_left_out(store: Store, plan: TaskPlan) -> dict[str, list[str]]:
    """Return the queries that some of the runs answer and others were not asked: by query, those other systems."""
    rankings = rankings_of(store, plan, runs_of(store, plan.runs))
    asked = {name: frozenset(asked_of(run)) for name, run in rankings.items()}
    every = sorted(frozenset().union(*asked.values()), key=byte_order)
    lacking = {query: [name for name, queries in asked.items() if query not in queries] for query in every}
    return {query: names for query, names in lacking.items() if names}


def first_docs(rankings: Mapping[str, Run], common: Iterable[str], k: int | None) -> Lists:
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, run in rankings.items():
        top = top_docs(run, list(common), Policies(duplicates="first"), depth=k)
        found[name] = dict(zip(top.query_ids, top.docs, strict=True))
    return found


def pooled(lists: Lists) -> list[TaskItem]:
    """Return the docs of all lists, each once for a query, with its rank in each list."""
    ranks: dict[tuple[str, str], dict[str, int]] = {}
    for system, docs_of in lists.items():
        for query, docs in docs_of.items():
            for rank, doc in enumerate(docs, start=1):
                ranks.setdefault((query, doc), {})[system] = rank
    pairs = sorted(ranks, key=lambda pair: tuple(map(byte_order, pair)))  # an order that tells nothing of ranks
    return [TaskItem(number=0, query=query, doc=doc, place=0, ranks=ranks[query, doc]) for query, doc in pairs]


def with_ranks(store: Store, plan: TaskPlan, items: Sequence[TaskItem]) -> list[TaskItem]:
    """Return items with the ranks that their docs have in the runs of a task, however far down."""
    docs: dict[str, dict[str, dict[str, int]]] = {}
    for item in items:
        docs.setdefault(item.query, {})[item.doc] = {}
    rankings = rankings_of(store, plan, runs_of(store, plan.runs))
    asked = [query for query in common_queries(rankings) if query in docs]
    for system, docs_of in first_docs(rankings, asked, None).items():
        for query, listed in docs_of.items():
            for rank, doc in enumerate(listed, start=1):
                if doc in docs[query]:
                    docs[query][doc][system] = rank
    return [replace(item, ranks=docs[item.query][item.doc]) for item in items]


def n_known(store: Store, plan: TaskPlan) -> int:
    """Return how many of the first docs of the systems are not judged, as stored qrels grade them."""
    people = labels_of(store, plan.qrels)
    lists = lists_of(store, runs_of(store, plan.runs), plan.systems, plan.k)
    return sum(item.doc in people.get(item.query, {}) for item in pooled(lists))


def n_added(store: Store, task: Task) -> int:
    """Return how many docs of a random sample were not drawn for it, and were added since."""
    plan = task.plan
    if plan.pool != "sample" or plan.mode == "lists":
        return 0
    lists = lists_of(store, runs_of(store, plan.runs), plan.systems, plan.k)
    drawn = {(item.query, item.doc) for item in pool_of(plan, lists, KnownLabels(store, plan))}
    return sum(item.gold is None and (item.query, item.doc) not in drawn for item in store.tasks.items(task))


def pool_of(plan: TaskPlan, lists: Lists, known: KnownLabels) -> list[TaskItem]:
    """Return what a task of stored runs or labels is made of, without gold docs."""
    if plan.mode == "lists":
        return whole_lists(plan, lists)
    if plan.pool == "audit":
        return audit(plan, lists, known.judge)
    if plan.pool == "disagreements":
        return disagreements(plan, lists, known)
    items = [item for item in pooled(lists) if item.doc not in known.people.get(item.query, {})]
    if plan.pool == "sample":
        items.sort(key=lambda item: unit_hash(plan.seed, item.query, item.doc))
        items = items[: plan.size]
    return whole_queries(plan, items) if plan.pool == "top" and plan.size is not None else items


def whole_queries(plan: TaskPlan, items: Sequence[TaskItem]) -> list[TaskItem]:
    """Return the docs of some queries, all of each and at most `size` in all.

    The queries are drawn in an order that follows from the seed and their names, so that a larger size only adds some.
    """
    n_docs = Counter(item.query for item in items)
    order = sorted(n_docs, key=lambda query: unit_hash(plan.seed, query))
    totals = dict(zip(order, accumulate(n_docs[query] for query in order), strict=True))
    return [item for item in items if totals[item.query] <= (plan.size or 0)]


def whole_lists(plan: TaskPlan, lists: Lists) -> list[TaskItem]:
    """Return the queries whose lists differ, with the docs of their lists; `size` draws some of the queries."""
    differ = [query for query in queries_of(lists) if not all_alike(lists, query)]
    differ.sort(key=lambda query: unit_hash(plan.seed, query))
    chosen = set(differ[: plan.size])
    queries = [TaskItem(number=0, query=query, doc="", place=0) for query in queries_of(lists) if query in chosen]
    return queries + [item for item in pooled(lists) if item.query in chosen]


def queries_of(lists: Lists) -> list[str]:
    return list(next(iter(lists.values()), {}))


def all_alike(lists: Lists, query: str, reading: MeasureReading | None = None) -> bool:
    """Tell whether systems have the same list for a query; with a reading, whether it reads the same of all."""
    found = [docs_of[query] for docs_of in lists.values()]
    return len({docs if reading is None else reading.of(docs) for docs in found}) <= 1


def audit(plan: TaskPlan, lists: Lists, judge: Mapping[str, Mapping[str, float]]) -> list[TaskItem]:
    """Return the docs of the first queries of the audit order, all of each.

    The order is random and follows from the seed and the names of the queries. A query's docs are the first k of every
    system, and where the measure has an ideal the k docs that the judge grades highest. Queries of which the measure
    reads the same from all systems are left out: they differ by 0, whatever the labels.
    """
    leave_out, reading = plan.changed_only and len(lists) > 1, reading_of(plan.measure, plan.k)
    queries = [query for query in queries_of(lists) if not (leave_out and all_alike(lists, query, reading))]
    queries.sort(key=lambda query: unit_hash(plan.seed, query))
    chosen = frozenset(queries[: plan.size])
    found = {(item.query, item.doc): item for item in pooled(lists) if item.query in chosen}
    for query in chosen if reading.ideal else ():
        graded = sorted(judge.get(query, {}).items(), key=lambda each: (-each[1], byte_order(each[0])))
        for doc, _ in graded[: plan.k]:
            found.setdefault((query, doc), TaskItem(number=0, query=query, doc=doc, place=0))
    return [
        TaskItem(
            number=0,
            query=query,
            doc=doc,
            place=int(unit_hash(plan.seed, query) * PLACES),
            purpose="audit",
            ranks=found[query, doc].ranks,
        )
        for query, doc in sorted(found, key=lambda pair: tuple(map(byte_order, pair)))
    ]


def disagreements(plan: TaskPlan, lists: Lists, known: KnownLabels) -> list[TaskItem]:
    """Return the docs that people and a judge graded differently, those that differ most first."""
    ranks = {(item.query, item.doc): item.ranks for item in pooled(lists)}
    gaps = {
        (query, doc): abs(grade - known.judge[query][doc])
        for query, docs in known.people.items()
        for doc, grade in docs.items()
        if doc in known.judge.get(query, {}) and grade != known.judge[query][doc]
    }
    order = sorted(gaps, key=lambda pair: (-gaps[pair], unit_hash(plan.seed, *pair)))[: plan.size]
    steps = sorted({gaps[pair] for pair in order}, reverse=True)
    return [
        TaskItem(number=0, query=query, doc=doc, place=steps.index(gaps[query, doc]), ranks=ranks.get((query, doc), {}))
        for query, doc in order
    ]


def gold_items(
    plan: TaskPlan,
    items: Sequence[TaskItem],
    gold: Mapping[str, Mapping[str, float]],
    shown: Mapping[tuple[str, str], Mapping[str, int]] | None = None,
) -> list[TaskItem]:
    """Return docs of known grades to mix in: as many as a rater of all items would need, at places like theirs.

    Docs of queries that are judged anyway come first: they do not stand out. Where raters see ranks, only docs in
    `shown` are taken, with the ranks that it has.
    """
    wanted = round(plan.gold_share * len(items) / (1 - plan.gold_share))
    if not wanted:
        return []
    taken, queries = {(item.query, item.doc) for item in items}, {item.query for item in items}
    pairs = [(query, doc) for query, docs in gold.items() for doc in docs if (query, doc) not in taken]
    if pairs and shown is not None and not (pairs := [pair for pair in pairs if pair in shown]):
        raise OptionError(
            "no doc of a known grade has a rank that raters would see: they could tell all of them from the others",
            hint="leave --show-ranks out, or mix none in (--gold-share 0)",
        )
    pairs.sort(key=lambda pair: (pair[0] not in queries, unit_hash(plan.seed, "gold", *pair)))
    if not pairs:
        raise OptionError(
            "there are no docs of a known grade to mix in",
            hint="name qrels that grade docs outside the pool (--qrels), or mix none in (--gold-share 0)",
        )
    return [
        TaskItem(
            number=0,
            query=query,
            doc=doc,
            place=items[int(unit_hash(plan.seed, "place", query, doc) * len(items))].place,
            gold=gold[query][doc],
            ranks=dict((shown or {}).get((query, doc), {})),
        )
        for query, doc in pairs[:wanted]
    ]


def items_of_pairs(pairs: Iterable[tuple[str, str]]) -> list[TaskItem]:
    """Return pairs of query and doc as they are given in a file, each once."""
    return [TaskItem(number=0, query=query, doc=doc, place=0) for query, doc in dict.fromkeys(pairs)]
