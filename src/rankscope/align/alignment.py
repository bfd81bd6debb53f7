"""Alignment: the one place where ids, ties, duplicates, missing queries and unjudged docs are decided.

It has two implementations that return the same arrays: the C++ kernel, and plain Python where there is no kernel or
the input is out of the ordinary.
"""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.align.hits import Hits, KernelHits
from rankscope.align.kernel import find_with_kernel
from rankscope.align.policies import Policies
from rankscope.arrays import Bools, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run, raise_duplicate
from rankscope.errors import MissingQueriesError, NoOverlapError, did_you_mean
from rankscope.io.limits import out_of_memory


def align(qrels: Qrels, run: Run, policies: Policies, *, threads: int | None = None) -> Hits:
    """Find the judged docs of every query in the run, with their ranks."""
    try:
        return align_by(qrels, run, policies, threads=threads)
    except MemoryError as error:
        raise out_of_memory(run.name or "the run", 0) from error


def align_by(qrels: Qrels, run: Run, policies: Policies, *, threads: int | None) -> Hits:
    """Align by the kernel, or by the reference where the kernel cannot."""
    if getattr(run.source, "is_sharded", False):
        from rankscope.align.sharded import find_in_shards  # most runs are read at once

        found: KernelHits | None = find_in_shards(qrels, run, policies, threads=threads)
    else:
        found = find_with_kernel(qrels, run, policies, threads=threads)
    if found is not None:
        check_answered(qrels, found.answered, found.other_queries, found.n_other_queries, policies)
        if found.duplicate:
            raise_duplicate(*found.duplicate)
    else:
        from rankscope.align.reference import N_OTHERS_SHOWN, answered_queries, find_in_python

        answered = answered_queries(qrels, run)
        check_answered(qrels, answered, run.query_ids[:N_OTHERS_SHOWN], len(run), policies)
        found = find_in_python(qrels, run, policies, answered)
    return hits_of(found, qrels, policies)


def hits_of(found: KernelHits, qrels: Qrels, policies: Policies) -> Hits:
    """Return what was found as measures see it."""
    ideal_offsets, ideal_grades = qrels.ideal
    hits = Hits(
        query_ids=qrels.query_ids,
        answered=found.answered,
        n_retrieved=found.n_retrieved,
        offsets=offsets_of(found.n_hits),
        ranks=found.ranks,
        grades=found.grades,
        ideal_offsets=ideal_offsets,
        ideal_grades=ideal_grades,
        max_grade=float(ideal_grades.max(initial=0.0)),  # of the judgments that count, where a doc is judged twice
        n_missing=int((~found.answered).sum()),
        n_other_queries=found.n_other_queries,
    )
    return apply_policies(hits, policies)


def apply_policies(hits: Hits, policies: Policies) -> Hits:
    """Remove unjudged docs and missing queries where the policies say so."""
    if policies.judged_only:
        hits = hits.judged_only()
    return hits.select(hits.answered) if policies.missing == "skip" else hits


def check_answered(qrels: Qrels, answered: Bools, theirs: Sequence[str], n_theirs: int, policies: Policies) -> None:
    """Refuse a run that answers none of the judged queries, or not all where the policy asks for all."""
    if not answered.any():
        from rankscope.align.near_ids import find_near_match  # only wanted when something is wrong

        near = find_near_match(qrels.query_ids, theirs)
        first = qrels.query_ids[0]
        close = did_you_mean(first, theirs)
        raise NoOverlapError(
            "the run answers none of the queries of the qrels\n"
            f"  queries of the qrels: {', '.join(map(repr, qrels.query_ids[:3]))} ({len(qrels)} in all)\n"
            f"  queries of the run:   {', '.join(map(repr, theirs[:3]))} ({n_theirs} in all)",
            hint=f"query ids differ only by {near.difference} ({near.examples[0]}): write them the same way in both"
            if near
            else f"for query {first!r} of the qrels, {close}"
            if close
            else "are the ids written the same way (prefixes, zero padding), and do both files belong together?",
        )
    if policies.missing == "error" and not answered.all():
        missing = [query for query, there in zip(qrels.query_ids, answered.tolist(), strict=True) if not there]
        raise MissingQueriesError(
            f"the run does not answer {len(missing)} of {len(answered)} queries: {', '.join(missing[:3])}"
            f"{', …' if len(missing) > 3 else ''}",
            hint="add them, or choose missing='zero' (they count as empty) or missing='skip'",
        )
