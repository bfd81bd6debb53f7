"""Comparing: from runs, or from scores that exist already, to verdicts with everything that stands behind them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.align.matching import find_mismatch
from rankscope.align.policies import Policies
from rankscope.comparison.group import Groups, compare_groups
from rankscope.comparison.known_measures import known_measure, range_of, with_directions
from rankscope.comparison.records import Comparison
from rankscope.data.loading import ReadOptions, load_qrels, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable, load_queries, query_weights
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError, RankscopeWarning, did_you_mean
from rankscope.evaluation import decide_measures, decide_policies, evaluate
from rankscope.measures.profiles import find_profile
from rankscope.measures.scores import AGGREGATES, Scores
from rankscope.measures.spec import Measure
from rankscope.stats.compare import Settings
from rankscope.stats.family import CORRECTIONS
from rankscope.stats.paired import ON_REQUEST

LARGEST_SCORE = 1e100
USUAL_MARGIN = 0.01
"""The smallest difference that matters where nobody says otherwise, for measures between 0 and 1."""
UNJUDGED = {
    "auto": "uncertain where the qrels also hold docs that are not relevant; else not relevant",
    "uncertain": "docs without a judgment might be relevant: a verdict must survive that, or there is none",
    "irrelevant": "docs without a judgment are not relevant, as the qrels are known to be complete",
}


def compare(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    baseline: str | None = None,
    primary: str | None = None,
    margin: float | None = None,
    by: str | Sequence[str] = (),
    queries: Any = None,
    all_pairs: bool = False,
    correction: str = "maxt",
    pool: bool = False,
    cluster: str | None = None,
    weights: str | None = None,
    unjudged: str = "auto",
    also: str | Sequence[str] = (),
    alpha: float = 0.05,
    n_resamples: int = 9_999,
    seed: int = 0,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    threads: int | None = None,
    embeddings: Any = None,
    docs: Any = None,
    ontology: Any = None,
    anyway: bool = False,
    problems: Mapping[str, str] | None = None,
    **policies: Any,
) -> Comparison:
    """Tell which of several runs is better, how sure that is, and where the difference sits.

    `baseline` names the run that the others are compared with, by default the first; `all_pairs` compares each with
    each. `primary` is the one measure that decides, by default the first; the others are exploratory. `margin` is the
    smallest difference that matters, by default 0.01 for measures between 0 and 1, and none for others. `queries`
    holds attributes of queries (a file, or {query: {attribute: value}}), `by` names those to report separately. Queries
    in several languages are never pooled unless `pool` says so. `cluster` names an attribute that groups queries which
    are not independent, such as paraphrases, `weights` one that says how much each query counts, such as its traffic.
    `correction` is maxt, bonferroni or none. `unjudged` says what docs without a judgment may be: auto, uncertain or
    irrelevant. `also` names further tests to print: wilcoxon, sign, bootstrap, mcnemar. `anyway` goes on where ids
    match nothing, with the verdict that the two are not comparable; `problems` says why runs cannot be compared, by
    their names, where the caller has looked at ids itself. The other arguments are those of `evaluate`.
    """
    from rankscope.comparison.evidence import gather  # scores alone need none of it

    if unjudged not in UNJUDGED:
        raise OptionError(f"unjudged {unjudged!r} is not one of {', '.join(UNJUDGED)}")
    chosen = find_profile(profile) if profile else None
    decided = decide_policies(chosen, {"missing": "zero", **policies})
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options)
    loaded = load_runs(runs, options=options)
    wanted = decide_measures(chosen, measures)
    table = None if queries is None else load_queries(queries)
    scores = evaluate(
        judged, {str(run.name or "run"): run for run in loaded}, wanted, profile=profile, threads=threads,
        embeddings=embeddings, docs=docs, ontology=ontology, anyway=anyway or problems is not None,
        queries=None if weights is None else table, weights=weights, **{**policies, "missing": decided.missing},
    )  # fmt: skip
    if problems is None:
        problems = id_problems(judged, loaded, scores)
    first = next((m for m in wanted if m.name == primary), wanted[0])
    if first.spec.about_relevance and not anyway and not any(relevant_counts(judged, decided).values()):
        raise InputError(
            f"no doc of the qrels has a grade of {decided.relevance_level:g} or more, so every score is 0",
            hint="are these the right judgments? min_rel says which grades are relevant",
        )
    compared = compare_scores(
        scores, baseline=baseline, primary=primary, margin=margin, by=by, queries=table, all_pairs=all_pairs,
        correction=correction, pool=pool, cluster=cluster, weights=weights, also=also, alpha=alpha,
        n_resamples=n_resamples, seed=seed, n_relevant=relevant_counts(judged, decided),
        problems=problems,
    )  # fmt: skip
    measure = next(m for m in wanted if m.name == compared.primary)
    weight_of = None
    if weights is not None and table is not None:
        weight_of = dict(zip(judged.query_ids, query_weights(table, weights, judged.query_ids).tolist(), strict=True))
    return gather(
        compared, judged, {run.name or "run": run for run in loaded}, measure, decided, unjudged=unjudged,
        weights=weight_of,
    )  # fmt: skip


def id_problems(qrels: Qrels, runs: Iterable[Run], scores: Scores) -> dict[str, str]:
    """Return which runs have ids that match nothing; there are only such where these were to be scored anyway."""
    found = ((str(run.name or "run"), find_mismatch(qrels, run, scores[run.name or "run"].counts)) for run in runs)
    return {name: f"{finding.message}." for name, finding in found if finding is not None and finding.level == "error"}


def relevant_counts(qrels: Qrels, policies: Policies) -> dict[str, int]:
    """Return how many relevant docs each query has."""
    offsets, grades = qrels.ideal
    before = np.concatenate(([0], np.cumsum(grades >= policies.relevance_level)))
    return dict(zip(qrels.query_ids, np.diff(before[offsets]).tolist(), strict=True))


def compare_scores(
    scores: Scores,
    *,
    baseline: str | None = None,
    primary: str | None = None,
    margin: float | None = None,
    by: str | Sequence[str] = (),
    queries: Any = None,
    all_pairs: bool = False,
    correction: str = "maxt",
    pool: bool = False,
    cluster: str | None = None,
    weights: str | None = None,
    also: str | Sequence[str] = (),
    alpha: float = 0.05,
    n_resamples: int = 9_999,
    seed: int = 0,
    n_relevant: Mapping[str, int] | None = None,
    problems: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare systems whose scores exist already, whoever computed them; the arguments are those of `compare`.

    `problems` says of systems, by their names, why they cannot be compared with the others.
    """
    scores = with_directions(scores)
    refuse_endless(scores)
    if len(scores) < 2:
        raise InputError(f"only {next(iter(scores))!r} is given", hint="a comparison needs at least two systems")
    table = None if queries is None else load_queries(queries)
    if (words_of(by) or cluster or weights) and table is None:
        raise OptionError("the attributes of queries are not given", hint="give queries, a file with one row per query")
    decisive = named(primary, scores.measures, "measure") if primary else scores.measures[0]
    refuse_other_than_means(scores, decisive)
    refuse_wide_margin(margin, decisive)
    groups = Groups(
        scores=scores,
        baseline=named(baseline, tuple(scores), "run") if baseline else next(iter(scores)),
        primary=decisive,
        by=words_of(by),
        queries=table,
        all_pairs=all_pairs,
        correction=chosen_correction(correction),
        pool=pool,
        cluster=cluster,
        weights=weights,
        also=chosen_tests(also),
        settings=Settings(
            alpha=alpha,
            margin=usual_margin(scores, decisive) if margin is None else margin,
            margin_given=margin is not None,
            n_resamples=n_resamples,
            seed=seed,
        ),
        n_relevant=n_relevant,
        problems=problems or {},
    )
    warn_of_unknown(table, scores)
    check_clusters(table, cluster, scores)
    return compare_groups(groups)


def words_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return names that are given one by one, or several in a text."""
    texts = [given] if isinstance(given, str) else given
    return tuple(name for text in texts for name in text.replace(",", " ").split())


def chosen_tests(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the tests that are asked for, or say which there are."""
    names = words_of(given)
    for name in names:
        if name not in ON_REQUEST:
            raise OptionError(
                f"test {name!r} is not one of {', '.join(ON_REQUEST)}", hint=did_you_mean(name, ON_REQUEST)
            )
    return names


def chosen_correction(given: str) -> str:
    """Return how several comparisons are corrected for, or say which ways there are."""
    reasons = {
        "holm": "its p-values have no interval of their own",
        "tukey": "it lets systems that have nothing to do with a pair decide it",
    }
    if given in reasons:
        raise OptionError(
            f"correction {given} is not offered: {reasons[given]}",
            hint="the default, maxt, has neither fault, for challengers of a baseline and for all pairs",
        )
    if given not in CORRECTIONS:
        raise OptionError(
            f"correction {given!r} is not one of {', '.join(CORRECTIONS)}", hint=did_you_mean(given, CORRECTIONS)
        )
    return given


def refuse_endless(scores: Scores) -> None:
    """Refuse scores that no mean can be made of."""
    for name, run in scores.items():
        if (np.abs(run.values[~np.isnan(run.values)]) > LARGEST_SCORE).any():
            raise InputError(f"{name} has scores beyond {LARGEST_SCORE:g}", hint="scores are finite numbers")


def refuse_wide_margin(margin: float | None, primary: str) -> None:
    """Refuse a margin within which every difference lies: it would call everything the same."""
    low, high = range_of(primary)
    if margin is not None and margin >= high - low:
        raise OptionError(
            f"margin = {margin:g} is as wide as the range of {primary}, so everything would be the same",
            hint="give the smallest difference that matters, such as 0.01",
        )


def refuse_other_than_means(scores: Scores, primary: str) -> None:
    """Refuse to decide by anything but the mean over queries of what each of them scores."""
    run = next(iter(scores.values()))
    how = run.aggregates[run.measures.index(primary)]
    if how not in ("mean", "sum"):
        raise OptionError(
            f"{primary} is {AGGREGATES[how]}, but comparisons are about means",
            hint="name a measure without agg as primary",
        )
    found = known_measure(primary)
    if found is not None and found.spec.over_all_queries:
        raise OptionError(
            f"{primary} is one number for the whole set of queries, so queries are no evidence: it cannot decide",
            hint="name another measure as primary; this one is then shown beside it",
        )


def usual_margin(scores: Scores, primary: str) -> float:
    """Return the usual margin of measures between 0 and 1; 0 for others, for which nobody else can know it."""
    if known_measure(primary) is not None:
        return USUAL_MARGIN if range_of(primary) == (0, 1) else 0.0
    columns = [run.column(primary) for run in scores.values()]
    known = np.concatenate([column[~np.isnan(column)] for column in columns])
    return USUAL_MARGIN if len(known) and known.min() >= 0 and known.max() <= 1 else 0.0


def named(name: str, known: Sequence[str], what: str) -> str:
    """Return the name as it is known; measures may be written in another way."""
    if name in known:
        return name
    if what == "measure":
        from rankscope.errors import MeasureError
        from rankscope.measures.parse import parse_measure

        try:
            full = parse_measure(name).name
        except MeasureError:
            full = name
        if full in known:
            return full
    raise OptionError(
        f"there is no {what} {name!r} among {', '.join(known[:8])}",
        hint=did_you_mean(name, known) or "name one of them",
    )


def check_clusters(table: QueryTable | None, cluster: str | None, scores: Scores) -> None:
    """Refuse clusters that no query has, and say so where some have none: each of these is a cluster of its own."""
    if table is None or cluster is None:
        return
    ids = next(iter(scores.values())).query_ids
    values = table.attribute(cluster)
    lacking = [query for query in ids if query not in values]
    if len(lacking) == len(ids):
        raise InputError(
            f"no query has a value of {cluster}, so there are no clusters",
            hint=f"are the ids written the same way? e.g. {ids[0]!r} and {next(iter(table.ids), '')!r}",
        )
    if lacking:
        warnings.warn(
            f"{len(lacking)} of {len(ids)} queries have no {cluster}; each of them is a cluster of its own",
            RankscopeWarning,
            stacklevel=4,
        )


def warn_of_unknown(table: QueryTable | None, scores: Scores) -> None:
    """Say so where attributes are missing for many of the queries."""
    if table is None:
        return
    ids = next(iter(scores.values())).query_ids
    known = set(table.ids)
    lacking = sum(query not in known for query in ids)
    if lacking:
        warnings.warn(
            f"{lacking} of {len(ids)} queries are not in the queries file; they are in no stratum",
            RankscopeWarning,
            stacklevel=3,
        )
