"""Diagnose: what a run does badly, in plain words with evidence, and what usually helps."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope._version import __version__
from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.matching import find_mismatch, find_swap, notes_or_raise
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs, whole_lists
from rankscope.analysis.bands import BandProfile, find_bands, in_one_line
from rankscope.analysis.diagnose.checks import findings_of, most_serious_first
from rankscope.analysis.diagnose.records import (
    Diagnosis,
    DiagnosisFinding,
    ListedDoc,
    LostTo,
    MissedDoc,
    QueryList,
    QuerySlice,
)
from rankscope.analysis.diagnose.slices import slice_findings, slices_of
from rankscope.analysis.diagnose.thresholds import N_BEST, N_MISSED, N_WORST
from rankscope.analysis.diagnose.view import RunView
from rankscope.analysis.rankings import Rankings
from rankscope.checks import check_at_least, check_keywords, check_options
from rankscope.data.loading import ReadOptions, load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable, load_queries
from rankscope.data.run import Run
from rankscope.data.texts import Texts
from rankscope.errors import InputError, OptionError, give_warning
from rankscope.evaluation import (
    add_unjudged_queries,
    chosen_profile,
    decide_measures,
    decide_policies,
    load_side_data,
    queries_asked,
)
from rankscope.light import LightRecord, names_of
from rankscope.measures.extras import Extras
from rankscope.measures.parse import parse_measures
from rankscope.measures.profiles import Profile
from rankscope.measures.score_notes import id_notes
from rankscope.measures.scores import Aggregate
from rankscope.measures.scoring import check_grades, count, scores_of
from rankscope.measures.spec import COMMON, Measure

if TYPE_CHECKING:
    from typing import Unpack

    from rankscope.data.shapes import QrelsLike, RunLike
    from rankscope.typing import PolicyOptions

__all__ = ["POOL_CUTS", "SEEN_DOCS", "Diagnosis", "diagnose"]

SEEN_DOCS = 10
"""How many docs a reader sees, by default."""
POOL_CUTS = (10, 50, 100, 1000)
"""The depths of the candidate pool that a diagnosis looks at."""
WHERE_LOST: dict[LostTo, tuple[str, str]] = {
    "order": (
        "inside the top {k}: relevant docs are there, but not at its first ranks",
        "Work on the first ranks: the best order of the same {k} docs would reach {reached:.2f}.",
    ),
    "ranked_low": (
        "below the top {k}: relevant docs are retrieved, but ranked too low",
        "Work on the ranking first: a perfect re-ranker of the first {depth} docs would reach {reached:.2f}.",
    ),
    "not_answered": (
        "in queries that the run does not answer",
        "Find out first why these have no docs.",
    ),
    "not_retrieved": (
        "outside the pool: relevant docs are not among the first {depth}",
        "Work on retrieval first: no re-ranker of these docs gets beyond {reached:.2f}.",
    ),
}
"""Where nDCG is lost, and what that means."""
MANY_ROWS = 200_000
"""From so many rows on, a run is not read as a whole for the docs of a few queries."""
WORTHWHILE = 0.75
"""A re-ranker need not look at the whole pool: the first docs that could regain this share of the loss are enough."""


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
    bands: str | BandProfile | None = None,
    queries: Any = None,
    docs: Any = None,
    by: str | Sequence[str] = (),
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
    bands
        Whose words to put precision, recall, reciprocal rank and nDCG in, such as ``"doctor-search"``.
    queries
        What is known of the queries, as `compare` takes it: what they ask stands beside their ids, and they are divided
        by their intent and clarity.
    docs
        Docs with their titles or texts, {doc: {field: value}} or a file, to name docs by.
    by
        Other attributes to divide them by.
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
    given = {"k": k, "pool_cuts": pool_cuts, "options": options, "qrels_options": qrels_options, "anyway": anyway}
    check_keywords("diagnose", policies, [*diagnose.__annotations__, *names_of(Policies)])
    check_options(diagnose.__annotations__, given)
    check_at_least(1, k=k)
    if min(pool_cuts, default=1) < 1:
        raise OptionError(f"pool_cuts is {pool_cuts!r}, but it must be whole numbers from 1 up")
    chosen = chosen_profile(profile)
    decided = decide_policies(chosen, policies)
    measure = decide_measures(chosen, f"nDCG@{k}")[0]
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    loaded = load_run(run, options=options)
    judged, notes = queries_asked(judged, [loaded])
    notes += notes_or_raise(find_swap(judged, loaded, decided), anyway=anyway)
    if chosen is not None and chosen.unjudged_queries == "zero":
        judged, unjudged_notes = add_unjudged_queries(judged, [loaded], queries)
        notes += unjudged_notes
    hits = align(judged, loaded, decided)
    notes += notes_or_raise(find_mismatch(judged, loaded, count(hits, decided)), anyway=anyway)
    give_warning(*notes, *id_notes(loaded.name or "run", judged.integer_ids, loaded.integer_ids))
    if by and queries is None:
        raise OptionError("by is given, but no queries", hint="say where their attributes are: --queries FILE")
    table = None if queries is None else load_queries(queries)
    diagnosis = diagnosis_of(
        DiagnosedRun(judged, loaded, hits, decided, measure),
        chosen,
        pool_cuts=pool_cuts,
        vectors=next(iter(load_side_data(embeddings=embeddings, docs=None, ontology=None).values()), None),
        bands=find_bands(bands) if isinstance(bands, str) else bands,
        queries=table,
        by=by.replace(",", " ").split() if isinstance(by, str) else by,
    )
    if table is None and docs is None:
        return diagnosis
    texts = Texts.of(queries=table, docs=docs, only=diagnosis.shown_docs, query_ids=judged.query_ids)
    give_warning(*texts.notes)
    return diagnosis.with_texts(texts)


def diagnose_one(
    rankings: Rankings, name: str, primary: str, *, query_ids: Collection[str] | None = None
) -> Diagnosis | None:
    """Return the diagnosis of one of the runs that a report is about, by its primary measure where that is an nDCG@k.

    None where there is nothing to be said: no query has a relevant doc, or not one doc of the run is judged.
    """
    run, policies = rankings.runs[name], rankings.policies
    qrels = rankings.qrels if query_ids is None else rankings.qrels.select(query_ids)
    chosen = chosen_profile(rankings.profile)
    measure = parse_measures(primary)[0]
    if measure.base != "nDCG" or "k" not in measure.options or not {"rel", *COMMON}.isdisjoint(measure.options):
        measure = decide_measures(chosen, f"nDCG@{SEEN_DOCS}")[0]
    hits = align(qrels, run, policies)
    counts = count(hits, policies)
    if counts.unjudged == counts.retrieved:
        return None
    try:
        diagnosis = diagnosis_of(DiagnosedRun(qrels, run, hits, policies, measure), chosen)
    except InputError:
        return None
    return diagnosis.with_texts(rankings.texts_of(diagnosis.shown_docs))


class DiagnosedRun(LightRecord, eq=False):
    """What is diagnosed: a run, aligned with the judgments, by an nDCG at k."""

    qrels: Qrels
    run: Run
    hits: Hits
    policies: Policies
    measure: Measure


def diagnosis_of(
    given: DiagnosedRun,
    profile: Profile | None,
    *,
    pool_cuts: Sequence[int] = POOL_CUTS,
    vectors: Any = None,
    bands: BandProfile | None = None,
    queries: QueryTable | None = None,
    by: Sequence[str] = (),
) -> Diagnosis:
    hits, run, policies, measure = given.hits, given.run, given.policies, given.measure
    k = int(measure.options["k"])
    check_grades(given.qrels, parse_measures(f"R@{k}"), policies)
    view = RunView(hits, measure, rel=policies.relevance_level, cuts=pool_cuts)
    if not len(view):
        raise InputError(
            f"no query has a doc of grade {view.rel:g} or better, so there is nothing to find",
            hint="lower --min-rel, or check the grades with `rankscope validate`",
        )
    if vectors is not None:
        extras = Extras(given.qrels, top_docs(run, view.hits.query_ids, policies, depth=k), embeddings=vectors)
        redundancy = parse_measures(f"Redundancy@{k}")[0].score(view.hits, extras=extras)
        view.repeated_share = np.nan_to_num(redundancy)
    asked = decide_measures(profile, f"P@{k} R@{k} RR")
    evaluated = scores_of(hits, run, (*asked, measure), policies)
    has_relevant = set(view.hits.query_ids)
    findings = findings_of(view, [query for query in hits.query_ids if query not in has_relevant])
    slices: tuple[QuerySlice, ...] = ()
    if queries is not None:
        slices = slices_of(view, queries, by)
        findings = most_serious_first((*findings, *slice_findings(view, queries, slices)))
    worst, best = query_lists(view, given.qrels, run, policies)
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
        summary=summary_of(view, findings, evaluated.aggregate_of(measure)),
        losses=view.losses,
        findings=findings,
        pool=tuple(view.pool),
        relevant_docs=tuple(view.relevant_docs),
        ranks=tuple(view.ranks),
        positions=view.positions,
        worst=worst,
        best=best,
        bands=None if bands is None else bands.name,
        in_words="" if bands is None else in_one_line(evaluated, bands),
        slices=slices,
    )


def summary_of(view: RunView, findings: Sequence[DiagnosisFinding], evaluated: Aggregate) -> str:
    """Say how good the run is, where it loses most and what to do, or that there is nothing to complain about.

    `evaluated` is the mean as `evaluate` has it, which may count queries without relevant docs, too.
    """
    losses, part = view.losses, view.losses.largest
    queries = "1 query" if len(view) == 1 else f"{len(view):,} queries"
    sentences = [f"{view.measure.name} is {losses.score:.4f} over {queries}."]
    if evaluated.n > len(view):
        sentences.append(
            f"It is {evaluated.shown} over {evaluated.n:,}, as `evaluate` has it: where nothing is relevant, the score "
            "is 0 and counts."
        )
    if all(finding.severity == "remark" for finding in findings):
        sentences.append("Nothing to complain about: no check concerns more than a few queries.")
    elif part is None:
        sentences.append("Nothing is missing to 1; what was found is about other things.")
    else:
        where, advice = WHERE_LOST[part]
        missing, lost = 1 - losses.score, getattr(losses, part)
        share = "Most" if lost > missing / 2 else "The largest part"
        place = where.format(k=view.k, depth=view.depth)
        sentences.append(f"{share} of what is missing to 1 ({lost:.2f} of {missing:.2f}) is lost {place}.")
        depth, reached = view.k, float(view.reordered.mean())
        if part != "order":  # how deep to re-rank, and what that could reach at best
            low, high = reached, float(view.ceiling.mean())
            target = low + WORTHWHILE * (high - low) if part == "ranked_low" else high
            by_depth = ((cut, float(view.best_score(cut).mean())) for cut in view.cuts if cut >= view.k)
            depth, reached = next((one for one in by_depth if one[1] >= target), (view.depth, high))
        sentences.append(advice.format(k=view.k, depth=depth, reached=reached))
    if any(finding.code == "unjudged" and finding.severity != "remark" for finding in findings):
        sentences.append(
            f"But {view.unjudged_share:.0%} of the docs in the top {view.k} are unjudged: the scores may be too low."
        )
    return " ".join(sentences)


def query_lists(
    view: RunView, qrels: Qrels, run: Run, policies: Policies
) -> tuple[tuple[QueryList, ...], tuple[QueryList, ...]]:
    """Return the worst and the best queries, with their docs in the top k and what is missing there.

    Among equals, the worst are those whose first relevant doc is not in the pool, or furthest down in it, the best those
    with most relevant docs. No query that is perfect is among the worst, and none without any score among the best.
    """
    first = np.nan_to_num(view.first, nan=math.inf)
    lowest_first = np.lexsort((-view.n_relevant, -first, view.score)).tolist()
    worst = [i for i in lowest_first if view.score[i] < 1 - 1e-9][:N_WORST]
    highest_first = np.lexsort((-view.n_relevant, -view.score)).tolist()
    best = [i for i in highest_first if view.score[i] > 0 and i not in worst][:N_BEST]
    shown = [view.hits.query_ids[i] for i in (*worst, *best)]
    is_large = int(view.hits.n_retrieved.sum()) > MANY_ROWS
    lists = whole_lists(run, shown, policies) if is_large else top_docs(run, shown, policies, depth=None)
    found_of = dict(zip(shown, lists.docs, strict=True))

    def listed(i: int) -> QueryList:
        query = view.hits.query_ids[i]
        judged = {doc: grade for doc, grade in qrels.judged[query].items() if grade >= 0}
        docs = [doc for doc in found_of[query] if doc in judged or not policies.judged_only]
        rank_of = {doc: rank for rank, doc in enumerate(docs, 1)}
        missed = [
            MissedDoc(doc, grade, rank_of.get(doc))
            for doc, grade in judged.items()
            if grade >= view.rel and rank_of.get(doc, view.k + 1) > view.k
        ]
        missed.sort(key=lambda one: (-one.grade, one.rank is None, one.rank or 0, one.doc))
        return QueryList(
            query=query,
            score=float(view.score[i]),
            n_found=int(view.found(view.k)[i]),
            n_relevant=int(view.n_relevant[i]),
            docs=tuple(ListedDoc(rank, doc, judged.get(doc)) for rank, doc in enumerate(docs[: view.k], 1)),
            missed=tuple(missed[:N_MISSED]),
        )

    return tuple(map(listed, worst)), tuple(map(listed, best))
