"""Whether runs and qrels belong together: ids that match nothing, and qrels and a run that are swapped.

Either would give scores that look like those of a bad system, so it is looked for in every evaluation. The first look
costs next to nothing and is enough for nearly all data; only where that leaves a doubt, all ids or values are gone
through.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.hits import Counts
from rankscope.align.policies import Policies
from rankscope.data.qrels import HIGHEST_USUAL_GRADE, Qrels
from rankscope.data.run import Run
from rankscope.data.sources import DictSource, TableSource
from rankscope.errors import InputError, give_warning
from rankscope.io.limits import out_of_memory

if TYPE_CHECKING:
    from rankscope.align.finding import Finding  # loaded where there is something to find

USUAL_GRADES = frozenset(range(-2, int(HIGHEST_USUAL_GRADE) + 1))
"""Grades as qrels have them; below 0 are docs that were pooled but not judged."""
MOST_REPEATED, MOST_REPEATED_IF_FINE = 1 / 10, 1 / 3
"""Scores may tie now and then; a larger share of equal numbers within queries makes them grades.

Numbers with more than two decimals may tie more often, as those of reciprocal rank fusion do: nobody grades like that.
"""
DEEP = 10
"""How many docs per query rankings have at least, where their numbers alone do not tell that they are scores."""
FEW_DOCS = 3
"""In so few docs a 0 is a grade; in longer lists it may be the last of n-1 … 0, which are ranks turned into scores."""
ENOUGH_QUERIES = 5
MOST_COMPARED = 1_000_000
"""Of a run in shards, about so many docs are compared by their spelling; whether one is judged is looked up for all."""


def find_mismatch(qrels: Qrels, run: Run, counts: Counts) -> Finding | None:
    """Return that not one doc of the run, at any rank, is judged for any query; None where one is.

    `counts` are those of the evaluation, and usually settle it: a doc that is judged for its own query is enough. Else
    all ids are compared, as a run may miss every relevant doc where few are judged, or be cut off by a policy. It is an
    error where the ids differ in their spelling only, or where enough of them are known on both sides; else a warning.
    """
    if counts.unjudged < counts.retrieved:
        return None
    try:
        return compare_docs(run.name or "run", qrels, docs_of(run, qrels))
    except MemoryError as error:
        raise out_of_memory(run.name or "the run", 0) from error


def docs_of(run: Run, qrels: Qrels) -> Iterable[str]:
    """Return the docs of a run; of one in shards all that are judged for some query, and enough of the others."""
    if not getattr(run.source, "is_sharded", False):
        return run.rows.doc
    judged, found = set(qrels.rows.doc), dict[str, None]()
    for part in run.source.parts():
        docs = part.read().doc
        found.update(dict.fromkeys(doc for doc in docs if doc in judged))
        if len(found) < MOST_COMPARED:
            found.update(dict.fromkeys(docs))
    return found


def compare_docs(where: str, qrels: Qrels, retrieved: Iterable[str]) -> Finding | None:
    """Return that not one of the retrieved docs is judged for any query; None where one is, or there are none."""
    docs = dict.fromkeys(retrieved)
    judged = dict.fromkeys(qrels.rows.doc)
    if not docs or not docs.keys().isdisjoint(judged):
        return None
    from rankscope.align.near_ids import unmatched_docs

    return unmatched_docs(where, tuple(judged), tuple(docs))


def find_swap(qrels: Qrels, run: Run, policies: Policies) -> Finding | None:
    """Return that qrels and run look swapped; None where at least one of them looks like what it should be.

    Only data without names or columns that tell can be swapped unnoticed: JSON, and dicts or rows in memory. The
    numbers in the qrels must look like scores, and those in the run like grades: neither fractional grades nor scores
    that are whole numbers, such as n … 1 down a list, are enough.
    """
    if not policies.relevance_level.is_integer():  # anyone who names such a grade means grades to be fractions
        return None
    if qrels.origin is not None and qrels.origin.format != "json":
        return None
    if not hold_scores(qrels) or not holds_grades(run, is_sparse=n_per_query(qrels) >= DEEP):
        return None
    from rankscope.align.finding import Finding

    name = run.name or "run"
    scores = ", ".join(f"{grade:g}" for grade in qrels.rows.grade[:3])
    grades = ", ".join(f"{score:g}" for score in run.rows.score[:3])
    message = f"the qrels hold what looks like scores ({scores}), and the run what looks like grades ({grades})"
    return Finding("error", "swapped", name, message, (), "the qrels look like a run; are the arguments swapped?")


def hold_scores(qrels: Qrels) -> bool:
    """Tell whether the numbers in qrels look like those that a system gives to docs.

    Most of them are fractions, or some go beyond the usual grades in deep lists, and few are equal within a query.
    """
    offsets, grades = qrels.ideal
    has_fractions = qrels.fractional_row is not None
    if not has_fractions and grades.max(initial=0.0) <= HIGHEST_USUAL_GRADE:
        return False
    if not len(grades):  # all are below 0
        return True
    most_are_fractions = np.count_nonzero(grades % 1) > len(grades) / 2
    if not most_are_fractions and (grades.max() <= HIGHEST_USUAL_GRADE or n_per_query(qrels) < DEEP):
        return False
    in_percent = 100 * grades
    are_fine = np.count_nonzero(np.abs(in_percent - np.rint(in_percent)) > 1e-6) > len(grades) / 2
    is_repeated = grades[1:] == grades[:-1]  # they are in order within a query
    starts = offsets[1:-1]
    is_repeated[starts[(starts > 0) & (starts < len(grades))] - 1] = False
    most = MOST_REPEATED_IF_FINE if are_fine else MOST_REPEATED
    return bool(np.count_nonzero(is_repeated) <= most * len(grades))


def n_per_query(qrels: Qrels) -> float:
    offsets, grades = qrels.ideal
    return len(grades) / (len(offsets) - 1)


def holds_grades(run: Run, *, is_sparse: bool) -> bool:
    """Tell whether the numbers in a run look like those that people give to docs.

    All are usual grades, and some are equal within a query, or 0 among few docs, or each of enough queries has a single
    doc with the same number; `is_sparse` says whether that would be much less than the other side has.
    """
    if isinstance(run.source, TableSource) or (run.origin is not None and run.origin.format != "json"):
        return False
    by_query: Iterator[list[Any]]
    if isinstance(run.source, DictSource):
        by_query = (list(docs.values()) for docs in run.source.docs_of.values() if docs)
    else:
        rows = zip(run.rows.query, run.rows.score.tolist(), strict=True)
        by_query = ([score for _, score in group] for _, group in itertools.groupby(rows, key=lambda row: row[0]))
    look_graded = False
    single: list[Any] = []
    n_queries = 0
    for values in by_query:
        if not all(isinstance(value, int | float | np.number) and value in USUAL_GRADES for value in values):
            return False
        n_queries += 1
        if len(values) == 1:
            single += values
        look_graded |= len(set(values)) < len(values) or (min(values) <= 0 and len(values) <= FEW_DOCS)
    all_single = len(single) == n_queries >= ENOUGH_QUERIES and len(set(single)) == 1
    return look_graded or (all_single and is_sparse)


def notes_or_raise(found: Finding | None, *, anyway: bool = False) -> tuple[str, ...]:
    """Raise what was found where it is an error; return it as a note where it is not, or is to be scored anyway."""
    if found is None:
        return ()
    if found.level == "error" and not anyway:
        anyway_hint = "--anyway (in Python anyway=True) scores it all the same"
        joined = f"{found.hint}{' ' if found.hint.endswith('?') else '; '}{anyway_hint}"
        raise InputError("\n  ".join((f"{found.where}: {found.message}", *found.examples)), hint=joined)
    return (f"{found.where}: {found.in_one_line}",)


def raise_or_warn(found: Finding | None, *, anyway: bool = False) -> None:
    """Raise or warn of what was found, for functions that users call themselves."""
    give_warning(*notes_or_raise(found, anyway=anyway))
