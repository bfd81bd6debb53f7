"""Checks targets against runs: lists of docs by their order, floors of measures by their scores.

What cannot be shown fails: a query that the run does not answer, docs below the place where a run was cut, a score that
is undefined. What names something that does not exist (a query, a doc, a field, a run) is an error, since a target with
a typing mistake would fail, or worse pass, for ever.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from rankscope._version import __version__
from rankscope.analysis.targets.known import N_INSTEAD, Known
from rankscope.analysis.targets.records import (
    GradedMean,
    Instead,
    Target,
    TargetOutcome,
    TargetResult,
    TargetsReport,
    count_results,
)
from rankscope.arrays import read_only
from rankscope.data.docs import DocTable, load_docs, values_in
from rankscope.data.qrels import Qrels
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.errors import MeasureError, OptionError
from rankscope.evaluation import chosen_profile, decide_measures
from rankscope.light import replace
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import RunScores, Scores, reaches, show
from rankscope.printable import counted
from rankscope.records import Record, or_none

MOST_UNDEFINED = 0.10
"""A mean that leaves out a larger share of its queries, as undefined, reaches no limit: a run could pass by finding less."""

DocsOf = Callable[[AbstractSet[str]], DocTable]
"""Returns the ids of all docs, and the fields of these ones."""


def check_targets(
    targets: Sequence[Target],
    scores: Scores,
    qrels: Qrels,
    runs: Mapping[str, Run],
    *,
    docs: Any | DocsOf = None,
    queries: Any = None,
    today: date | None = None,
    collection: str = "",
) -> TargetsReport:
    """Check every target in every run that it is about.

    `scores` are of the same runs by name, by all measures that `measures_of` names and any others, whose means are
    reported, too; their policies decide the order of docs. `docs` is anything that holds docs, or a function that
    returns a DocTable with the fields of the docs asked for; `queries` anything that holds queries.
    """
    known = Known(qrels, runs, scores, None if queries is None else load_queries(queries))
    measure_of = {target.name: measure_name(target, scores.profile) for target in targets if target.kind == "measure"}
    known.check(targets)
    needed = known.read_lists(targets)
    if docs is not None:
        known.docs = read_docs(docs, needed, {target.field for target in targets if target.kind == "distinct"})
    known.check_docs(targets)
    day = datetime.now(UTC).date() if today is None else today
    checks = Checks(known, measure_of)
    results = tuple(
        decided(
            target,
            checks.check(target, name),
            run=name,
            text="" if target.query is None else known.texts.query(target.query),
            today=day,
            collection=collection,
        )
        for target in targets
        for name in runs
        if not target.only or name in target.only
    )
    means = (
        GradedMean(name, measure, or_none(mean.value), mean.n, collection)
        for name, run in scores.items()
        for measure, mean in run.aggregate().items()
    )
    return TargetsReport(
        __version__, day, count_results(results, targets), tuple(targets), results, tuple(means), scores.notes
    )


def read_docs(docs: Any | DocsOf, needed: AbstractSet[str], fields: AbstractSet[str]) -> DocTable:
    """Return the docs that are needed; where none of them has a field, all, since others may have it."""
    if callable(docs):
        found: DocTable = docs(needed)
        return found
    if not isinstance(docs, str | os.PathLike):
        return load_docs(docs)
    few = load_docs(docs, only=needed)
    return few if fields <= set(few.fields) else load_docs(docs)


def measures_of(targets: Iterable[Target], profile: str | None = None) -> tuple[str, ...]:
    """Return the names of the measures that targets have limits for, as a profile computes them, each once."""
    names = (measure_name(target, profile) for target in targets if target.kind == "measure")
    return tuple(dict.fromkeys(names))


def measure_name(target: Target, profile: str | None) -> str:
    """Return the full name of a target's measure; a limit that makes no sense for it is an error."""
    before = f"target {target.name!r}: "
    try:
        found = decide_measures(chosen_profile(profile), target.measure)
    except MeasureError as error:
        raise MeasureError(f"{before}{error.message}", hint=error.hint) from error
    if len(found) != 1:
        raise OptionError(f"{before}measure names {len(found)} measures", hint="a target is about one")
    measure = found[0]
    lower = measure.spec.better == "lower"
    if lower == (target.at_least is not None):
        better, right, wrong = ("lower", "at_most", "at_least") if lower else ("higher", "at_least", "at_most")
        message = f"{before}{wrong} does not go with {measure.name}, which is better where it is {better}"
        raise OptionError(message, hint=f"write {right} = …")
    if measure.spec.over_all_queries and target.where != "all queries":
        message = f"{before}{measure.name} is one number for all queries together"
        raise OptionError(message, hint="leave out query and stratum, or take another measure, such as nDCG@10")
    return measure.name


class Found(Record):
    """What was found of a target in a run, before its quarantine is looked at."""

    passed: bool
    words: str
    value: float | None = None
    instead: tuple[Instead, ...] = ()


def passes(words: str, value: float | None = None) -> Found:
    return Found(passed=True, words=words, value=None if value is None else float(value))


def fails(words: str, value: float | None = None, instead: tuple[Instead, ...] = ()) -> Found:
    return Found(passed=False, words=words, value=None if value is None else float(value), instead=instead)


def decided(target: Target, found: Found, *, run: str, text: str, today: date, collection: str) -> TargetResult:
    """Return the result of a target, with what its quarantine makes of it."""
    outcome: TargetOutcome = "passed" if found.passed else "failed"
    remark = ""
    if target.is_quarantined(today):
        remark = f"in quarantine until {target.quarantine_until}"
        if found.passed:
            remark += "; it passes, so the quarantine can end"
        else:
            outcome = "quarantined"
    elif target.quarantine_ended(today):
        remark = f"its quarantine ended on {target.quarantine_until}" + ("" if found.passed else ": it counts again")
    return TargetResult(target.name, run, outcome, found.words, found.value, text, found.instead, remark, collection)


class Checks:
    """One method per kind of target."""

    def __init__(self, known: Known, measure_of: Mapping[str, str]) -> None:
        self.known, self.measure_of = known, measure_of

    def check(self, target: Target, run: str) -> Found:
        if target.kind == "measure":
            return self.limit(target, run)
        return self.every_query(target, run) if target.query is None else self.list_of(target, target.query, run)

    def list_of(self, target: Target, query: str, run: str) -> Found:
        """Check the list of one query."""
        if not self.known.answers(query, run):
            return fails(f"{run} does not answer the query, so nothing can be shown")
        listed = self.known.docs_of(query, run)
        match target.kind:
            case "docs":
                return self.expected_docs(target, query, listed)
            case "one_of":
                return self.one_expected_doc(target, query, listed)
            case "never":
                return self.unwanted_docs(target, query, listed, run)
            case _:
                return self.distinct_values(target, listed)

    def expected_docs(self, target: Target, query: str, listed: Sequence[str]) -> Found:
        rank_of = ranks_in(listed)
        top = target.top or len(listed)
        places = [self.place(doc, rank_of, listed) for doc in target.docs]
        worst = None if any(doc not in rank_of for doc in target.docs) else max(rank_of[doc] for doc in target.docs)
        if worst is not None and worst <= top:
            return passes("; ".join(places), worst)
        wrong = [place for doc, place in zip(target.docs, places, strict=True) if rank_of.get(doc, top + 1) > top]
        return fails(f"{'; '.join(wrong)}, but must be in the top {top}", worst, self.first_docs(query, listed))

    def one_expected_doc(self, target: Target, query: str, listed: Sequence[str]) -> Found:
        rank_of = ranks_in(listed)
        top = target.top or len(listed)
        best = min((doc for doc in target.docs if doc in rank_of), key=rank_of.__getitem__, default=None)
        if best is not None and rank_of[best] <= top:
            return passes(self.place(best, rank_of, listed), rank_of[best])
        if best is None:
            return fails(
                f"none of {', '.join(map(self.known.called, target.docs))} is among the {counted(len(listed), 'doc')} "
                f"listed, but one must be in the top {top}",
                None,
                self.first_docs(query, listed),
            )
        words = (
            f"{self.known.called(best)} is the best of them, at rank {rank_of[best]}, but one must be in the top {top}"
        )
        return fails(words, rank_of[best], self.first_docs(query, listed))

    def unwanted_docs(self, target: Target, query: str, listed: Sequence[str], run: str) -> Found:
        top = len(listed) if target.top is None else target.top
        rank_of = ranks_in(listed)
        found = sorted((doc for doc in target.docs if rank_of.get(doc, top + 1) <= top), key=rank_of.__getitem__)
        within = "" if target.top is None else f" in the top {top}"
        if found:
            places = "; ".join(self.place(doc, rank_of, listed) for doc in found)
            instead = self.first_docs(query, listed)
            return fails(f"{places}, but must not be there{within}", rank_of[found[0]], instead)
        if self.known.is_cut(listed, run, top):
            return fails(
                f"{run} holds at most {counted(self.known.depth_of(run), 'doc')} per query, so nothing is known of "
                f"ranks {len(listed) + 1} to {top}",
            )
        return passes(
            f"not among the first {counted(min(top, len(listed)), 'doc')}" if listed else "no docs are listed"
        )

    def distinct_values(self, target: Target, listed: Sequence[str]) -> Found:
        first = listed[: target.top]
        column = {} if self.known.docs is None else self.known.docs.field(target.field)
        counts = Counter(
            str(value) for doc in first if doc in column for value in dict.fromkeys(values_in(column[doc]))
        )
        n, n_without = len(counts), sum(doc not in column for doc in first)
        without = f" ({counted(n_without, 'doc')} without one)" if n_without else ""
        words = f"{counted(n, 'distinct value')} of {target.field} in the first {counted(len(first), 'doc')}{without}"
        if n >= target.distinct:
            return passes(words, n)
        instead = tuple(Instead("value", value, value=count) for value, count in counts.most_common(N_INSTEAD))
        return fails(f"{words}, but there must be at least {target.distinct}", n, instead)

    def every_query(self, target: Target, run: str) -> Found:
        """Check the lists of all queries of a target; those that fail are named."""
        queries = self.known.queries_of(target, run)
        if not queries:
            return fails(f"{run} was asked none of these queries")
        found = {query: self.list_of(target, query, run) for query in queries}
        failed = [query for query, one in found.items() if not one.passed]
        if not failed:
            return passes(f"so in all {counted(len(queries), 'query')}", 0)
        lines = (
            Instead("query", query, self.known.texts.query(query), says=found[query].words)
            for query in failed[:N_INSTEAD]
        )
        verb = "fails" if len(failed) == 1 else "fail"
        return fails(f"{len(failed)} of {counted(len(queries), 'query')} {verb}", len(failed), tuple(lines))

    def limit(self, target: Target, run: str) -> Found:
        """Check a floor or ceiling of a measure: on a query, the queries of a stratum, or all."""
        measure, scored = self.measure_of[target.name], self.known.scores[run]
        cutoff = parse_measure(measure).options.get("k")
        if target.at_most is not None and cutoff is not None and cutoff > self.known.depth_of(run):
            depth = counted(self.known.depth_of(run), "doc")
            return fails(f"{measure} looks at {cutoff} docs, but {run} holds at most {depth} per query")
        if target.query is not None:
            return self.limit_of_query(target, target.query, scored, measure)
        part = scored
        if target.stratum:
            wanted = set(self.known.queries_in(target))
            part = of_queries(scored, [query in wanted for query in scored.query_ids])
        mean = part.aggregate_of(measure)
        n_undefined = len(part) - mean.n if part.weights is None else int(np.isnan(part.column(measure)).sum())
        excludes = self.known.policies.no_relevant == "exclude" or self.known.policies.missing == "skip"
        if math.isnan(mean.value):
            return fails(f"{measure} is undefined: none of these queries has a score")
        if n_undefined > MOST_UNDEFINED * len(part) and not excludes:
            return fails(
                f"{measure} is {mean.shown}, but undefined for {n_undefined} of {counted(len(part), 'query')}, so that "
                f"it says too little",
                mean.value,
            )
        words = f"{measure} is {mean.shown} over {counted(mean.n, 'query')}"
        return self.compared(target, words, mean.value, lambda: self.worst_queries(part, measure))

    def limit_of_query(self, target: Target, query: str, scored: RunScores, measure: str) -> Found:
        if query not in self.known.qrels or query not in scored:
            is_judged = query in self.known.qrels
            why = f"{scored.name} does not answer the query" if is_judged else "nobody judged docs of the query"
            return fails(f"{measure} is undefined: {why}")
        value = scored[query, measure]
        if math.isnan(value):
            return fails(f"{measure} is undefined for the query")
        listed = self.known.docs_of(query, scored.name)
        if not listed:
            return self.compared(
                target, f"{measure} is {show(value)}, as {scored.name} does not answer the query", value, tuple
            )
        return self.compared(target, f"{measure} is {show(value)}", value, lambda: self.first_docs(query, listed))

    def compared(self, target: Target, words: str, value: float, instead: Callable[[], tuple[Instead, ...]]) -> Found:
        if target.at_least is not None:
            passed, limit = reaches(value, target.at_least), f"at least {target.at_least:g}"
        else:
            most = target.at_most or 0.0
            passed, limit = reaches(most, value), f"at most {most:g}"
        return passes(words, value) if passed else fails(f"{words}, but must be {limit}", value, instead())

    # what is there

    def place(self, doc: str, rank_of: Mapping[str, int], listed: Sequence[str]) -> str:
        if doc in rank_of:
            return f"{self.known.called(doc)} is at rank {rank_of[doc]}"
        return f"{self.known.called(doc)} is not among the {counted(len(listed), 'doc')} listed"

    def first_docs(self, query: str, listed: Sequence[str]) -> tuple[Instead, ...]:
        return tuple(self.doc_line(query, doc, rank) for rank, doc in enumerate(listed[:N_INSTEAD], 1))

    def doc_line(self, query: str, doc: str, rank: int) -> Instead:
        grade = self.known.qrels.judged[query].get(doc, -1.0) if query in self.known.qrels else -1.0
        return Instead("doc", doc, self.known.texts.title(doc), rank, grade if grade >= 0 else None)

    def worst_queries(self, scored: RunScores, measure: str) -> tuple[Instead, ...]:
        column = scored.column(measure)
        sign = -1.0 if measure in scored.lower_is_better else 1.0
        order = [i for i in np.argsort(sign * column, kind="stable").tolist() if not math.isnan(column[i])]
        return tuple(
            Instead("query", query, self.known.texts.query(query), value=float(column[i]))
            for i in order[:N_INSTEAD]
            for query in [scored.query_ids[i]]
        )


def ranks_in(listed: Sequence[str]) -> dict[str, int]:
    return {doc: rank for rank, doc in enumerate(listed, 1)}


def of_queries(scored: RunScores, keep: Sequence[bool]) -> RunScores:
    """Return the scores of some of the queries."""
    chosen = np.array(keep, dtype=np.bool_)
    return replace(
        scored,
        query_ids=tuple(query for query, is_kept in zip(scored.query_ids, keep, strict=True) if is_kept),
        values=read_only(scored.values[chosen]),
        undefined=read_only(scored.undefined[chosen]),
        answered=read_only(scored.answered[chosen]),
        weights=None if scored.weights is None else read_only(scored.weights[chosen]),
        left_out=(),
    )
