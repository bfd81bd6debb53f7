"""Diagnose: what a run does badly, in plain words with evidence, and what usually helps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope._version import __version__
from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.matching import find_mismatch, find_swap, raise_or_warn
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.diagnose.checks import findings_of
from rankscope.analysis.diagnose.lists import best_queries, position_report, query_list, worst_queries
from rankscope.analysis.diagnose.records import Diagnosis
from rankscope.analysis.diagnose.summary import summary_of
from rankscope.analysis.diagnose.view import RunView
from rankscope.data.loading import ReadOptions, load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError, RankscopeWarning
from rankscope.evaluation import chosen_profile, decide_measures, decide_policies, id_notes, load_side_data
from rankscope.measures.extras import Extras
from rankscope.measures.parse import parse_measures
from rankscope.measures.scoring import check_grades, count
from rankscope.measures.spec import Measure

if TYPE_CHECKING:
    from typing import Unpack

    from rankscope.data.shapes import QrelsLike, RunLike
    from rankscope.typing import PolicyOptions

__all__ = ["POOL_CUTS", "SEEN_DOCS", "Diagnosis", "diagnose"]

SEEN_DOCS = 10
"""How many docs a reader sees, by default."""
POOL_CUTS = (10, 50, 100, 1000)
"""The depths of the candidate pool that a diagnosis looks at."""


def diagnose(
    qrels: QrelsLike,
    run: RunLike,
    *,
    k: int = SEEN_DOCS,
    pool_cuts: Sequence[int] = POOL_CUTS,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    embeddings: Any = None,
    anyway: bool = False,
    **policies: Unpack[PolicyOptions],
) -> Diagnosis:
    """Explain a run in plain words: what it does badly, for which queries, and what usually helps.

    Parameters
    ----------
    qrels, run
        The judgments and the run, in any form that `evaluate` takes.
    k
        How many docs a reader sees.
    pool_cuts
        Depths of the candidate pool: what would a perfect re-ranker of so many docs reach?
    embeddings
        Vectors of docs, {doc: vector} or a file; they show which results repeat one another.
    profile, options, qrels_options, anyway, **policies
        As for `evaluate`.

    Returns
    -------
    Diagnosis
        A summary, findings with evidence, and the numbers behind them.

    Raises
    ------
    InputError
        If no query has a relevant doc, or if run and qrels do not belong together (a warning with `anyway`).
    OptionError
        If a cut-off is not a whole number from 1 up.

    Examples
    --------
    >>> import rankscope as rs
    >>> diagnosis = rs.diagnose({"q": {"a": 1, "b": 0, "c": 0}}, {"q": ["b", "c", "a"]}, k=2)
    >>> [(finding.code, finding.severity) for finding in diagnosis.findings][:2]
    [('ranked_low', 'serious'), ('bad_at_rank_1', 'serious')]
    >>> diagnosis.losses.ranked_low
    1.0

    """
    for cut in (k, *pool_cuts):
        if not isinstance(cut, int) or isinstance(cut, bool) or cut < 1:
            raise OptionError(f"{cut!r} is not a cut-off: it counts ranks, so it is a whole number from 1 up")
    chosen = chosen_profile(profile)
    decided = decide_policies(chosen, policies)
    measure = decide_measures(chosen, f"nDCG@{k}")[0]
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    loaded = load_run(run, options=options)
    raise_or_warn(find_swap(judged, loaded, decided), anyway=anyway)
    vectors = next(iter(load_side_data(embeddings=embeddings, docs=None, ontology=None).values()), None)
    hits = align(judged, loaded, decided)
    raise_or_warn(find_mismatch(judged, loaded, count(hits, decided)), anyway=anyway)
    diagnosis = diagnose_run(judged, loaded, measure, decided, hits=hits, pool_cuts=pool_cuts, embeddings=vectors)
    for note in id_notes(judged, loaded):
        warnings.warn(note, RankscopeWarning, stacklevel=2)
    return diagnosis


def diagnose_run(
    qrels: Qrels,
    run: Run,
    measure: Measure,
    policies: Policies,
    *,
    hits: Hits,
    pool_cuts: Sequence[int],
    embeddings: Any = None,
) -> Diagnosis:
    """Explain a run from its hits; `measure` is an nDCG with a cut-off, `pool_cuts` are depths of the candidate pool."""
    k = int(measure.options["k"])
    check_grades(qrels, parse_measures(f"R@{k}"), policies)
    view = RunView(hits, measure, rel=policies.relevance_level, cuts=pool_cuts)
    if not len(view):
        raise InputError(
            f"no query has a doc of grade {view.rel:g} or better, so there is nothing to find",
            hint="lower --min-rel, or check the grades with `rankscope validate`",
        )
    if embeddings is not None:
        extras = Extras(qrels, top_docs(run, view.hits.query_ids, policies, depth=k), embeddings=embeddings)
        redundancy = parse_measures(f"Redundancy@{k}")[0].score(view.hits, extras=extras)
        view.repeated_share = np.nan_to_num(redundancy)
    has_relevant = set(view.hits.query_ids)
    findings = findings_of(view, [query for query in hits.query_ids if query not in has_relevant])
    worst = worst_queries(view)
    best = best_queries(view, but=worst)
    return Diagnosis(
        rankscope=__version__,
        is_fine=all(finding.severity == "remark" for finding in findings),
        run=run.name or "run",
        measure=measure.name,
        k=k,
        min_rel=view.rel,
        n_queries=len(view),
        n_other_queries=len(hits) - len(view),
        recall=float((view.found(k) / view.n_relevant).mean()),
        unjudged_share=view.unjudged_share,
        summary=summary_of(view, findings),
        losses=view.losses,
        findings=findings,
        pool=tuple(view.pool),
        relevant_docs=tuple(view.relevant_docs),
        ranks=tuple(view.ranks),
        positions=position_report(view.hits, view.rel),
        worst=tuple(query_list(view, i, qrels, run, policies) for i in worst),
        best=tuple(query_list(view, i, qrels, run, policies) for i in best),
    )
