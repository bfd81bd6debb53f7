"""From hits to the scores of a run; the policies on undefined scores are applied here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.hits import Counts, Hits
from rankscope.align.policies import Policies
from rankscope.arrays import Bools, Floats
from rankscope.data.qrels import Qrels, require_whole_grades
from rankscope.data.run import Run
from rankscope.errors import InputError
from rankscope.measures.scores import RunScores
from rankscope.measures.spec import Measure

if TYPE_CHECKING:
    from rankscope.measures.extras import Extras, Need

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@100", "P@10", "Judged@10")


def check_grades(qrels: Qrels, measures: Sequence[Measure], policies: Policies) -> None:
    """Refuse fractional grades where a measure would have to guess which of them are relevant."""
    for measure in measures:
        guesses = measure.uses_threshold and policies.min_rel is None
        if guesses or measure.spec.whole_grades or isinstance(measure.options.get("gain"), tuple):
            require_whole_grades(qrels, measure.name)


def extras_for(
    qrels: Qrels,
    run: Run,
    query_ids: Sequence[str],
    measures: Sequence[Measure],
    policies: Policies,
    *,
    side: Mapping[Need, Any],
) -> Extras:
    """Return what measures that look at the docs themselves get besides the hits; `side` was loaded for them."""
    from rankscope.align.top import listed_docs, top_docs  # most measures need nothing of this
    from rankscope.measures.extras import Extras

    looking = [measure for measure in measures if measure.spec.needs]
    depths: list[Any] = [measure.arguments(rel=1.0).get("k") for measure in looking]
    judged_only = policies.judged_only or any(measure.options.get("judged_only") for measure in looking)
    depth = None if judged_only or None in depths else max(depths, default=0)  # judged docs may stand at any rank
    top = top_docs(run, query_ids, policies, depth=depth)
    data = {str(need): loaded for need, loaded in side.items()}
    if any("lists" in measure.spec.needs for measure in looking):
        data["lists"] = listed_docs(run, query_ids, policies, depth=depth)
    extras = Extras(qrels, top, **data)
    return extras.judged_only() if policies.judged_only else extras


def score_hits(
    hits: Hits, measures: Sequence[Measure], policies: Policies, extras: Extras | None = None
) -> tuple[Floats, Bools]:
    """Return the scores (queries x measures) and where they are undefined.

    A measure of relevance scores 0 where there is no relevant doc or nothing was retrieved, as in trec_eval. All other
    undefined scores are NaN, unless the policy makes them 0.
    """
    values = np.empty((len(hits), len(measures)))
    for i, measure in enumerate(measures):
        values[:, i] = measure.score(hits, rel=policies.relevance_level, extras=extras)
    undefined = np.isnan(values)
    for i, measure in enumerate(measures):
        spec, becomes_zero = measure.spec, undefined[:, i]
        if spec.if_undefined == "policy" and policies.undefined != "zero":
            shown = hits.judged_only() if measure.options.get("judged_only") else hits
            lacking = lacks_relevant(hits, measure, policies)
            becomes_zero = becomes_zero & spec.about_relevance & (lacking | (shown.n_retrieved == 0))
        if spec.if_undefined != "skip":
            values[becomes_zero, i] = 0.0
        if spec.about_relevance and policies.no_relevant == "exclude":
            values[lacks_relevant(hits, measure, policies), i] = np.nan
    undefined |= np.isnan(values)
    values.flags.writeable = undefined.flags.writeable = False
    return values, undefined


def lacks_relevant(hits: Hits, measure: Measure, policies: Policies) -> Bools:
    """Tell for which queries no judged doc has a grade that the measure takes for relevant."""
    return np.equal(hits.n_relevant(measure.options.get("rel", policies.relevance_level)), 0)


def count_left_out(
    name: str, hits: Hits, measures: Sequence[Measure], values: Floats, policies: Policies
) -> tuple[int, ...]:
    """Count the queries that each measure leaves out, but not those without relevant docs where all measures do so.

    Where the policy says so, there must not be any for another reason than having no relevant doc.
    """
    left_out = np.isnan(values)
    for i, measure in enumerate(measures):
        others = left_out[:, i]
        if measure.spec.about_relevance and others.any():
            others = others & ~lacks_relevant(hits, measure, policies)
            if policies.no_relevant == "exclude":
                left_out[:, i] = others
        if policies.undefined == "error" and others.any():
            queries = [hits.query_ids[q] for q in np.flatnonzero(others)]
            which = f"query {queries[0]!r}" + (f" and {len(queries) - 1} more" if len(queries) > 1 else "")
            raise InputError(
                f"{name}: {measure.name} is undefined for {which}: {measure.spec.undefined}",
                hint="undefined='skip' leaves such queries out of the mean, undefined='zero' counts them as 0",
            )
    return tuple(left_out.sum(axis=0).tolist())


def count(hits: Hits, policies: Policies) -> Counts:
    n_retrieved = int(hits.n_retrieved.sum())
    return Counts(
        queries=len(hits),
        missing=hits.n_missing,
        not_in_qrels=hits.n_other_queries,
        no_relevant=int((hits.n_relevant(policies.relevance_level) == 0).sum()),
        retrieved=n_retrieved,
        unjudged=n_retrieved - int((hits.grades >= 0).sum()),
    )


def scores_of(
    hits: Hits, run: Run, measures: Sequence[Measure], policies: Policies, extras: Extras | None = None
) -> RunScores:
    name = run.name or "run"
    values, undefined = score_hits(hits, measures, policies, extras)
    left_out = count_left_out(name, hits, measures, values, policies)
    return RunScores(
        name=name,
        query_ids=hits.query_ids,
        measures=tuple(measure.name for measure in measures),
        values=values,
        undefined=undefined,
        answered=hits.answered,
        counts=count(hits, policies),
        aggregates=tuple(measure.options.get("agg") or measure.spec.aggregate for measure in measures),
        lower_is_better=frozenset(measure.name for measure in measures if measure.spec.better == "lower"),
        origin=run.origin,
        left_out=left_out,
    )
