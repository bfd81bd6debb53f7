"""Comparing: from runs, or from scores that exist already, to verdicts with everything that stands behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Unpack

import msgspec
import numpy as np

from rankscope.align.matching import find_mismatch
from rankscope.analysis.rankings import Rankings
from rankscope.arrays import Floats
from rankscope.checks import check_options
from rankscope.comparison.evidence import EvidenceSource
from rankscope.comparison.groups import ComparisonInput, compare_groups
from rankscope.comparison.known_measures import (
    check_within_range,
    known_measure,
    range_of,
    refuse_lacking,
    with_directions,
)
from rankscope.comparison.records import Comparison
from rankscope.comparison.request import CompareOptions, CompareRequest, ScoreOptions, request_of, signature_with
from rankscope.comparison.words import needed_docs, with_sides, with_words
from rankscope.data.loading import load_qrels, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable, load_queries, query_weights
from rankscope.data.run import Run
from rankscope.data.texts import Texts, files_among, lacking_notes
from rankscope.errors import InputError, OptionError, did_you_mean, give_warning
from rankscope.evaluation import (
    add_unjudged_queries,
    deciding_measure,
    evaluate_further,
    evaluate_request,
    planned,
    queries_asked,
    query_texts,
)
from rankscope.light import replace
from rankscope.measures.extras import Need
from rankscope.measures.scores import AGGREGATES, RunScores, Scores
from rankscope.stats.units import Units
from rankscope.typing import MeasuresLike, QrelsLike, RunsLike

LARGEST_SCORE = 1e100
USUAL_MARGIN = 0.01
"""The smallest difference that matters where nobody says otherwise, for measures between 0 and 1."""


def compare(
    qrels: QrelsLike, runs: RunsLike, measures: MeasuresLike = None, **options: Unpack[CompareOptions]
) -> Comparison:
    """Tell which of several runs is better, how sure that is, and where the difference sits.

    Parameters
    ----------
    qrels, runs, measures
        As for `evaluate`; at least two runs.
    baseline
        The run that the others are compared with, by default the first; `all_pairs` compares each with each.
    primary
        The one measure that decides, by default the first; the others are exploratory. It is added where it is not
        among the measures.
    margin
        The smallest difference that matters, by default 0.01 for measures between 0 and 1, and none for others.
    queries, by
        `queries` holds texts and attributes of queries (a file, {query: text} or {query: {attribute: value}}), `by`
        names attributes to report separately. Queries in several languages are never pooled unless `pool` says so.
    docs
        Titles and texts of docs, shown beside their ids, and fields for measures that need them. `comparison.texts` has
        the words of queries and docs that are shown.
    cluster, weights
        Attributes of queries: one that groups queries which are not independent, such as paraphrases, and one that says
        how much each query counts, such as its traffic.
    correction
        How several comparisons are corrected for: maxt, bonferroni or none.
    unjudged
        What docs without a judgment may be: auto, uncertain or irrelevant.
    also
        Further tests to print: wilcoxon, sign, bootstrap, mcnemar.
    alpha, n_resamples, seed
        The error rate of all together, how many sign flips are drawn, and the seed of everything random.
    order
        How reports order systems: score, the best first by the measure that decides, or given. Of all pairs, b is the
        one with the better mean, or the one named later.
    anyway
        Go on where ids match nothing, with the verdict that the two are not comparable.
    problems
        Why runs cannot be compared, by their names, where the caller has looked at ids itself.
    **options
        The others are those of `evaluate`.

    Returns
    -------
    Comparison
        Verdicts with all that stands behind them: a record that can be written as JSON and read back.

    Raises
    ------
    InputError, OptionError, MeasureError
        Data that cannot be compared, an option with a value it cannot have, an unknown measure.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels = {f"q{i}": {"d": 1} for i in range(20)}
    >>> old, new = {q: ["x", "d"] for q in qrels}, {q: ["x", "y", "d"] if q == "q0" else ["d"] for q in qrels}
    >>> runs = {"old": old, "new": new}
    >>> rs.compare(qrels, runs, "RR")
    Use new: it is better than old, by 0.467 in RR.
    new vs old: new is better. Its RR is higher by 0.467 (95% CI +0.395 to +0.539), more than the margin of 0.01.
    """
    request = request_of(options, function="compare", known=CompareOptions, measures=measures)
    notes: list[str] = []
    comparison = compare_runs(qrels, runs, request, on_note=notes.append)
    give_warning(*notes)
    return comparison


def compare_runs(
    qrels: QrelsLike,
    runs: RunsLike,
    request: CompareRequest,
    *,
    on_note: Callable[[str], None] = give_warning,
    further: Mapping[str, Sequence[Run]] | None = None,
    lists: bool = True,
) -> Comparison:
    """Compare runs as a request says; measures and policies are decided here and nowhere else.

    `on_note` takes what must be known of the data; by default it is given as warnings. `further` are more runs of the
    same systems, by name: scores are then means over all of a system's runs, and what is found of docs is about the
    first. Without `lists`, the rankings of the queries that changed most are not put side by side.
    """
    scoring = request.scoring()
    policies = scoring.policies
    judged = load_qrels(qrels, duplicates=policies.duplicates, options=request.qrels_options)
    planned_runs = (planned(run, scoring) for run in load_runs(runs, options=request.options))
    loaded = {run.name or "run": run for run in planned_runs}
    judged, asked_notes = queries_asked(judged, list(loaded.values()))
    table = None if request.queries is None else load_queries(request.queries)
    if scoring.unjudged_queries == "zero":
        judged, unjudged_notes = add_unjudged_queries(judged, list(loaded.values()), table)
        asked_notes += unjudged_notes
    measure = request.primary_of(scoring.measures)
    evidence = EvidenceSource(judged, measure, policies, request)
    needs = {need for each in (*scoring.measures, *scoring.optional) for need in each.spec.needs}
    scoring = replace(
        scoring,
        queries=None if request.weights is None else table,
        docs=request.docs if Need.DOCS in needs else None,  # for words alone, only those shown are read
    )
    scores = evaluate_request(scoring, judged, loaded, align_run=evidence.align)
    evidence.warn_of_memory(request)
    if further:
        scores = evaluate_further(scoring, judged, scores, further)
        evidence.add_repetitions(further, scores)
    if table is not None:
        scores = replace(scores, texts=query_texts(table, judged.query_ids))
    for note in (*asked_notes, *scores.notes):
        on_note(note)
    offsets, grades = judged.ideal
    before = np.concatenate(([0], np.cumsum(grades >= policies.relevance_level)))
    n_relevant = dict(zip(judged.query_ids, np.diff(before[offsets]).tolist(), strict=True))
    if measure.spec.about_relevance and not request.anyway and not any(n_relevant.values()):
        raise InputError(
            f"no doc of the qrels has a grade of {policies.relevance_level:g} or more, so every score is 0",
            hint="are these the right judgments? min_rel says which grades are relevant",
        )
    if request.weights is not None and table is not None:
        weights = query_weights(table, request.weights, judged.query_ids)
        evidence.weight_of = dict(zip(judged.query_ids, weights.tolist(), strict=True))
    problems = request.problems
    if problems is None:  # ids that match nothing are only here where they were to be scored anyway
        mismatches = {name: find_mismatch(judged, run, scores[name].counts) for name, run in loaded.items()}
        problems = {name: f"{found.message}." for name, found in mismatches.items() if found and found.level == "error"}
    decided = msgspec.structs.replace(request, primary=measure.name)
    given = comparison_input(scores, decided, table, problems=problems, n_relevant=n_relevant, on_note=on_note)
    docs = request.docs
    rankings = Rankings(
        judged, loaded, policies, request.profile, lambda shown: Texts.of(queries=table, docs=docs, only=shown)
    )
    compared = compare_groups(given, evidence)
    comparison = with_sides(compared, evidence) if lists else compared
    if table is not None or docs is not None:
        texts = rankings.texts_of(needed_docs(comparison))
        for note in texts.notes:
            on_note(note)
        comparison = with_words(comparison, replace(texts, files=files_among(queries=request.queries, docs=docs)))
    return comparison.with_rankings(rankings)


def complete_kept(
    kept: Comparison,
    qrels: Qrels,
    runs: Mapping[str, Run],
    request: CompareRequest,
    *,
    further: Mapping[str, Sequence[Run]] | None = None,
) -> Comparison:
    """Return a comparison that was kept with what its record does not hold, from the data that it was made of.

    That is the scores of queries, and both rankings of those that changed most; nothing is tested again.
    """
    scoring, loaded = request.scoring(), dict(runs)
    judged, _ = queries_asked(qrels, list(loaded.values()))
    evidence = EvidenceSource(judged, request.primary_of(scoring.measures), scoring.policies, request)
    scores = evaluate_request(scoring, judged, loaded, align_run=evidence.align)
    if further:
        scores = evaluate_further(scoring, judged, scores, further)
        evidence.add_repetitions(further, scores)
    return with_sides(kept.with_scores(with_directions(scores)), evidence)


def compare_scores(scores: Scores, **options: Unpack[ScoreOptions]) -> Comparison:
    """Compare systems whose scores exist already, whichever tool computed them.

    Parameters
    ----------
    scores
        The scores of two or more systems, from `evaluate` or `read_scores`.
    **options
        Those of `compare` that need neither qrels nor runs. `problems` says of systems, by their names, why they cannot
        be compared with the others.

    Returns
    -------
    Comparison
        As from `compare`, without what can only be known from the docs.

    Raises
    ------
    InputError, OptionError
        Scores that cannot be compared, or an option with a value it cannot have.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels = {f"q{i}": {"d": 1} for i in range(20)}
    >>> old, new = {q: ["x", "d"] for q in qrels}, {q: ["x", "y", "d"] if q == "q0" else ["d"] for q in qrels}
    >>> runs = {"old": old, "new": new}
    >>> rs.compare_scores(rs.evaluate(qrels, runs, "RR"))
    Use new: it is better than old, by 0.467 in RR.
    new vs old: new is better. Its RR is higher by 0.467 (95% CI +0.395 to +0.539), more than the margin of 0.01.
    """
    check_options(compare_scores.__annotations__, {"scores": scores})
    request = request_of(options, function="compare_scores", known=ScoreOptions)
    notes: list[str] = []
    comparison = compare_scores_request(scores, request, on_note=notes.append)
    give_warning(*notes)
    return comparison


def compare_scores_request(
    scores: Scores, request: CompareRequest, *, on_note: Callable[[str], None] = give_warning
) -> Comparison:
    table = None if request.queries is None else load_queries(request.queries)
    given = comparison_input(scores, request, table, problems=request.problems or {}, on_note=on_note)
    comparison = compare_groups(given)
    return comparison if table is None else with_words(comparison, Texts.of(queries=table))


compare.__signature__ = signature_with(compare, CompareOptions)  # type: ignore[attr-defined]
compare_scores.__signature__ = signature_with(compare_scores, ScoreOptions)  # type: ignore[attr-defined]


def comparison_input(
    scores: Scores,
    request: CompareRequest,
    table: QueryTable | None,
    *,
    problems: Mapping[str, str],
    n_relevant: Mapping[str, int] | None = None,
    on_note: Callable[[str], None] = give_warning,
) -> ComparisonInput:
    """Decide what a request leaves open, and refuse what cannot be compared."""
    scores = with_directions(scores)
    for name, run in scores.items():
        if (np.abs(run.values[~np.isnan(run.values)]) > LARGEST_SCORE).any():
            raise InputError(f"{name} has scores beyond {LARGEST_SCORE:g}", hint="scores are finite numbers")
    if len(scores) < 2:
        raise InputError(f"only {next(iter(scores))!r} is given", hint="a comparison needs at least two systems")
    if (request.strata or request.cluster or request.weights) and table is None:
        raise OptionError("the attributes of queries are not given", hint="give queries, a file with one row per query")
    primary = find_measure(request.primary or deciding_measure(scores.profile, scores.measures), scores)
    margin = margin_of(request, scores, primary)
    ids = tuple(dict.fromkeys(query for run in scores.values() for query in run.query_ids))
    if table is not None:
        check_attributes(table, request, next(iter(scores.values())).query_ids, on_note)
    clusters = weights = None
    if table is not None and request.cluster is not None:
        values = table.attribute(request.cluster)  # a query without a cluster is one of its own
        clusters = np.array([f"c {values[query]}" if query in values else f"q {query}" for query in ids])
    if table is not None and request.weights is not None:
        weights = query_weights(table, request.weights, ids)
        weights = weights / weights.max()  # only their ratios count, and very large or small ones would overflow
    columns = {place: column for place, (column,) in columns_of({name: (run,) for name, run in scores.items()}, ids)}
    return ComparisonInput(
        scores=scores,
        request=request,
        settings=request.settings(margin),
        primary=primary,
        baseline=find_name(request.baseline, tuple(scores), "run"),
        queries=table,
        n_relevant=n_relevant,
        problems=problems,
        ids=ids,
        units=Units.of(len(ids), clusters, weights),
        columns=columns,
        repeated=dict(columns_of(scores.repetitions, ids)),
    )


def columns_of(
    scored: Mapping[str, Sequence[RunScores]], ids: Sequence[str]
) -> Iterator[tuple[tuple[str, str], Floats]]:
    """Yield by system and measure the scores of its runs (runs x queries); NaN where a query has none."""
    place = {query: i for i, query in enumerate(ids)}
    for name, runs in scored.items():
        rows = [[place[query] for query in run.query_ids] for run in runs]
        for j, measure in enumerate(runs[0].measures):
            columns = np.full((len(runs), len(ids)), math.nan)
            for i, run in enumerate(runs):
                columns[i, rows[i]] = run.values[:, j]
            yield (name, measure), columns


def find_measure(name: str | None, scores: Scores) -> str:
    """Return a measure as the scores name it; one that only some systems have is refused."""
    if name is not None and name not in scores.measures:
        refuse_lacking(name, scores)
    return find_name(name, scores.measures, "measure")


def find_name(name: str | None, known: Sequence[str], what: str) -> str:
    """Return the name as it is known, the first where none is asked for; measures may be written in another way."""
    if name is None:
        return known[0]
    measure = known_measure(name) if what == "measure" and name not in known else None
    full = name if measure is None else measure.name
    if full in known:
        return full
    raise OptionError(
        f"there is no {what} {name!r} among {', '.join(known[:8])}",
        hint=did_you_mean(name, known) or "name one of them",
    )


def margin_of(request: CompareRequest, scores: Scores, primary: str) -> float:
    """Return the margin, and refuse to decide by anything but the mean over queries of what each of them scores.

    A margin within which every difference lies is refused too: it would call everything the same. Where none is given
    it is the usual one of measures between 0 and 1; 0 for others, for which nobody else can know it.
    """
    run, measure, margin = next(iter(scores.values())), known_measure(primary), request.margin
    how = run.aggregates[run.measures.index(primary)]
    if how not in ("mean", "sum"):
        raise OptionError(
            f"{primary} is {AGGREGATES[how]}, but comparisons are about means",
            hint="name a measure without agg as primary",
        )
    if measure is not None and measure.spec.over_all_queries:
        raise OptionError(
            f"{primary} is one number for the whole set of queries, so queries are no evidence: it cannot decide",
            hint="name another measure as primary; this one is then shown beside it",
        )
    if margin is not None:
        check_within_range(margin, primary)
        return margin
    values = np.concatenate([run.column(primary) for run in scores.values()])
    return USUAL_MARGIN if range_of(primary, values) == (0, 1) else 0.0


def check_attributes(
    table: QueryTable, request: CompareRequest, ids: Sequence[str], on_note: Callable[[str], None]
) -> None:
    """Say so where queries have no attributes, or no cluster; refuse clusters that no query has."""
    known = set(table.ids)
    if notes := lacking_notes("queries", ids, known, files_among(queries=request.queries)):
        on_note(notes[0])
    elif lacking := sum(query not in known for query in ids):
        on_note(f"{lacking} of {len(ids)} queries are not in the queries file; they are in no stratum")
    cluster = request.cluster
    if cluster is None:
        return
    values = table.attribute(cluster)
    lacking = sum(query not in values for query in ids)
    if lacking == len(ids):
        raise InputError(
            f"no query has a value of {cluster}, so there are no clusters",
            hint=f"are the ids written the same way? e.g. {ids[0]!r} and {next(iter(table.ids), '')!r}",
        )
    if lacking:
        on_note(f"{lacking} of {len(ids)} queries have no {cluster}; each of them is a cluster of its own")
