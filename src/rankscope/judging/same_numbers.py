"""How `rankscope compare` comes to the numbers of a task: by which options, on which queries.

In a task all queries count that its systems were asked, and one without a judged doc counts as no difference. A file of
qrels has no place for such a query, so that `compare` has to know of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rankscope.comparison.compare import compare_runs
from rankscope.comparison.records import PairResult
from rankscope.comparison.request import CompareRequest
from rankscope.data.qrels import Qrels
from rankscope.errors import RankscopeError
from rankscope.judging.records import Task
from rankscope.judging.task_comparison import compared_runs
from rankscope.judging.worst_case import ComparedRuns, queries_words
from rankscope.records import Record, replace
from rankscope.store import Store
from rankscope.store.exchange import file_stem
from rankscope.store.qrels import StoredQrels

KEPT = "kept"
"""The folder that stored runs are written to in the commands that are shown."""


class SameNumbers(Record, kw_only=True):
    """What `compare` makes of the qrels of a task."""

    task: str
    """The differences as the task has them, in words."""
    queries: str
    """On which queries, in a sentence."""
    alone: str
    """What `compare` says without further options, in words; empty where that is the same."""
    commands: tuple[str, ...]
    """What leads to the numbers of the task; none where nothing does."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say it for people; the commands come after that."""
        said = [f"As `judge show` has it: {self.task}. {self.queries}"]
        if self.alone:
            said.append(f"`compare` leaves out queries that qrels do not have, and says {self.alone}.")
            if not self.commands:
                said.append("No option of `compare` counts the same queries.")
        return (*said, "The numbers of `judge show` again:") if self.commands else tuple(said)


def same_numbers(
    store: Store, task: Task, stored: StoredQrels, *, file: str = "", place: str = ""
) -> SameNumbers | None:
    """Return how to come to the numbers of a task by qrels that were made of it; None where it compares nothing.

    `file` is where the qrels were written, `place` the store as it was named. Labels by another rule than the task's
    have numbers of their own.
    """
    what = compared_runs(store, task) if task.plan.pool != "audit" else None
    if what is None:
        return None
    qrels = store.qrels.judgments(stored)
    own = pairs_by(qrels.with_queries(what.query_ids), what, what.request())
    if not own:
        return None
    ways: dict[str, tuple[PairResult, ...]] = {
        word: pairs_by(qrels, what, replace(what.request(), unjudged_queries=word)) for word in ("skip", "zero")
    }
    same = next((word for word, pairs in ways.items() if figures(pairs) == figures(own)), None)
    has_judged = frozenset(qrels.query_ids)
    return SameNumbers(
        task=difference_words(own),
        queries=queries_words(len(what.query_ids), sum(query not in has_judged for query in what.query_ids)),
        alone="" if same == "skip" else difference_words(ways["skip"]) or "nothing",
        commands=() if same is None else tuple(commands(store, task, stored, what, same, file=file, place=place)),
    )


def pairs_by(qrels: Qrels, what: ComparedRuns, request: CompareRequest) -> tuple[PairResult, ...]:
    """Return the pairs by these labels, none where they cannot be compared."""
    try:
        return compare_runs(qrels, dict(what.runs), request, on_note=lambda _: None, lists=False).groups[0].compared
    except RankscopeError:
        return ()


def figures(pairs: Sequence[PairResult]) -> list[tuple[object, ...]]:
    return [(pair.a, pair.b, pair.n_queries, pair.delta, pair.ci.low, pair.ci.high) for pair in pairs]


def difference_words(pairs: Sequence[PairResult]) -> str:
    said = [f"{pair.b} {pair.delta:+.3f}" for pair in pairs if pair.delta is not None]
    return f"{', '.join(said)} against {pairs[0].a} (n = {pairs[0].n_queries:,})" if said else ""


def commands(
    store: Store, task: Task, stored: StoredQrels, what: ComparedRuns, unjudged_queries: str, *, file: str, place: str
) -> Iterator[str]:
    """Yield what is typed into a shell: to write the runs, and to compare them."""
    plan, runs = task.plan, {run.number: run for run in store.runs.list(collection=task.collection, repetitions=True)}
    where = "" if not place or "://" in place else f" --store {shlex.quote(place)}"
    yield f"rankscope store export {KEPT}{where}"
    qrels = shlex.quote(file) if file else f"{KEPT}/qrels/{file_stem(stored.name, stored.short)}.*.gz"
    files = [
        f"{KEPT}/runs/{file_stem(run.collection, run.system, run.short)}.*.gz"
        for run in (runs[number] for number in plan.runs)
    ]
    given = ["-m", shlex.quote(plan.measure)]
    if unjudged_queries == "zero":
        given += ["--unjudged-queries", "zero"]
    if (min_rel := what.request().min_rel) is not None:
        given += ["--min-rel", f"{min_rel!r}"]
    if plan.margin is not None:
        given += ["--margin", f"{plan.margin!r}"]
    if plan.seed:
        given += ["--seed", str(plan.seed)]
    yield " ".join(["rankscope compare", qrels, *files, *given, "--unjudged uncertain --order given --no-store"])
