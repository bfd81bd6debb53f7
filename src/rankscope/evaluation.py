"""The public functions: they join the readers, the alignment and the measures."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.alignment import align
from rankscope.align.matching import find_mismatch, find_swap, raise_or_warn
from rankscope.align.policies import Policies
from rankscope.arrays import read_only
from rankscope.data.loading import ReadOptions, load_qrels, load_run, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import OptionError, RankscopeWarning
from rankscope.light import names_of, replace
from rankscope.measures.parse import parse_measures
from rankscope.measures.scores import AGGREGATES, WEIGHTED, QrelsInfo, RunScores, Scores
from rankscope.measures.scoring import DEFAULT_MEASURES, check_grades, count, extras_for, scores_of
from rankscope.measures.spec import Measure
from rankscope.native import n_cores

if TYPE_CHECKING:  # loaded when they are used
    from rankscope.align.finding import Finding
    from rankscope.measures.extras import Need
    from rankscope.measures.profiles import Profile


def evaluate(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    profile: str | None = None,
    options: ReadOptions | None = None,
    qrels_options: ReadOptions | None = None,
    threads: int | None = None,
    embeddings: Any = None,
    docs: Any = None,
    ontology: Any = None,
    anyway: bool = False,
    queries: Any = None,
    weights: str | None = None,
    **policies: Any,
) -> Scores:
    """Score one or more runs against qrels.

    `qrels` and each run may be a path, a dict of dicts, a table, or an iterable of rows; `runs` is one run, a list
    of them, or {name: run}. `policies` are `ties`, `precision`, `duplicates`, `missing`, `depth`, `judged_only`,
    `min_rel`, `no_relevant`, `undefined` and `self_match`; `profile` sets those of another tool. `options` say how run
    files are read, `qrels_options` how the qrels are. `threads` is the number of threads, by default one per core; it
    changes nothing but the time.

    `embeddings` ({doc: vector} or a file), `docs` (fields of docs, by id) and `ontology` are for measures that look at
    the docs themselves.

    A run of which not one doc is judged for any query, and qrels and a run that look swapped, are errors; with `anyway`
    they are warnings.

    `weights` names the column of `queries` (a file, a table or {query: {column: value}}) that says how much each query
    counts in the means, such as how often it is asked.
    """
    chosen = chosen_profile(profile)
    decided = decide_policies(chosen, policies)
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=qrels_options, threads=threads)
    wanted = decide_measures(chosen, measures)
    loaded = load_runs(runs, options=options)
    for run in loaded:
        raise_or_warn(swapped(judged, run, decided), anyway=anyway)
    check_grades(judged, wanted, decided)
    weight_of = load_weights(queries, weights, judged, wanted)
    side = load_side_data(embeddings=embeddings, docs=docs, ontology=ontology)
    check_side_data(wanted, judged, side)
    scored = score_all(judged, loaded, wanted, decided, side=side, threads=threads)
    by_id = any(map(finds_judged_docs, wanted))
    for run, (scores, lacking) in zip(loaded, scored, strict=True):
        if by_id:
            raise_or_warn(find_mismatch(judged, run, scores.counts), anyway=anyway)
        for note in (
            *id_notes(judged, run),
            *missing_notes(scores.name, scores.counts.missing, len(judged), decided, undefined_if_missing(scores)),
            *lacking,
            *undefined_notes(scores, wanted),
        ):
            warnings.warn(note, RankscopeWarning, stacklevel=2)
    return Scores(
        tuple(with_weights(scores, weight_of) for scores, _ in scored),
        qrels=info_of(judged),
        policies=decided.as_dict(),
        profile=profile,
        weighted_by=weights,
    )


def swapped(qrels: Qrels, run: Run, policies: Policies) -> Finding | None:
    """Return that qrels and run look swapped, unless a fraction is named as the lowest relevant grade."""
    return find_swap(qrels, run) if policies.relevance_level.is_integer() else None


def finds_judged_docs(measure: Measure) -> bool:
    """Tell whether a measure looks for judged docs by their ids; others look at the docs themselves."""
    return measure.spec.needs <= {"subtopics"}


def load_side_data(*, embeddings: Any, docs: Any, ontology: Any) -> dict[Need, Any]:
    """Load what measures may need beyond qrels and runs; each reader only where it has something to read."""
    if embeddings is None and docs is None and ontology is None:
        return {}
    from rankscope.measures.extras import Need

    side: dict[Need, Any] = {}
    if embeddings is not None:
        from rankscope.data.embedding_files import load_embeddings

        side[Need.EMBEDDINGS] = load_embeddings(embeddings)
    if docs is not None:
        from rankscope.data.docs import load_docs

        side[Need.DOCS] = load_docs(docs)
    if ontology is not None:
        from rankscope.data.ontology_files import load_ontology

        side[Need.ONTOLOGY] = load_ontology(ontology)
    return side


def load_weights(
    queries: Any, column: str | None, qrels: Qrels, measures: Sequence[Measure]
) -> dict[str, float] | None:
    """Return how much each judged query counts, None where all count the same."""
    if column is None and queries is None:
        return None
    if column is None or queries is None:
        given, lacking = ("queries", "weights") if column is None else ("weights", "queries")
        raise OptionError(f"{given} needs {lacking}", hint="queries=FILE, weights='COLUMN' (--queries, --weights)")
    for measure in measures:
        how = measure.options.get("agg") or measure.spec.aggregate
        if how not in WEIGHTED:
            raise OptionError(
                f"weights do not go with {measure.name}, which is {AGGREGATES[how]}",
                hint=f"leave it out; weights go with {' and '.join(WEIGHTED)}",
            )
    from rankscope.data.queries import load_queries, query_weights

    weights = query_weights(load_queries(queries), column, qrels.query_ids)
    return dict(zip(qrels.query_ids, weights.tolist(), strict=True))


def with_weights(scores: RunScores, weight_of: Mapping[str, float] | None) -> RunScores:
    """Return the scores with the weights of their queries, where these have any."""
    if weight_of is None:
        return scores
    return replace(scores, weights=read_only(np.array([weight_of[query] for query in scores.query_ids])))


def check_side_data(measures: Iterable[Measure], qrels: Qrels, side: Mapping[Need, Any]) -> None:
    """Refuse measures whose data is not there; most need none."""
    for measure in measures:
        if measure.spec.needs:
            from rankscope.measures.extras import check_needs

            check_needs(measure.name, measure.spec.needs, qrels=qrels, given=side)


def score_all(
    qrels: Qrels,
    runs: Sequence[Run],
    measures: Sequence[Measure],
    policies: Policies,
    *,
    side: Mapping[Need, Any],
    threads: int | None,
) -> tuple[tuple[RunScores, tuple[str, ...]], ...]:
    """Score every run, several at a time; each comes with what must be said of data that its docs lack."""
    n_threads = threads or n_cores()
    looks_at_docs = any(measure.spec.needs for measure in measures)

    def score(run: Run, per_run: int | None) -> tuple[RunScores, tuple[str, ...]]:
        hits = align(qrels, run, policies, threads=per_run)
        if not looks_at_docs:
            return scores_of(hits, run, measures, policies), ()
        from rankscope.measures.extras import lacking_notes

        extras = extras_for(qrels, run, hits.query_ids, measures, policies, side=side)
        lacking = tuple(lacking_notes(run.name or "run", measures, extras))
        return scores_of(hits, run, measures, policies, extras), lacking

    n_at_once = min(len(runs), n_threads)
    if n_at_once == 1:
        return tuple(score(run, threads) for run in runs)
    from concurrent.futures import ThreadPoolExecutor  # not needed for a single run

    with ThreadPoolExecutor(n_at_once) as pool:
        return tuple(pool.map(score, runs, itertools.repeat(max(1, n_threads // n_at_once))))


def info_of(qrels: Qrels) -> QrelsInfo:
    """Return which qrels these are."""
    return QrelsInfo(len(qrels), qrels.origin)


def trec_eval_text(
    qrels: Any,
    run: Any,
    measures: Sequence[str] = ("official",),
    *,
    profile: str = "trec_eval-10",
    per_query: bool = False,
    complete: bool = False,
    options: ReadOptions | None = None,
    **policies: Any,
) -> str:
    """Return exactly the text that trec_eval prints for one run.

    `complete` is its -c: queries that the run does not answer count as 0. As there, ids that match nothing are no
    error; a warning tells of them.
    """
    from rankscope.measures.profiles import VERSIONS
    from rankscope.measures.trec_text import TrecText

    if profile not in VERSIONS:
        raise OptionError(f"profile {profile!r} is not one of {', '.join(VERSIONS)}")
    if complete:
        policies["missing"] = "zero"
    decided = decide_policies(chosen_profile(profile), policies)
    judged = load_qrels(qrels, duplicates=decided.duplicates, options=options)
    judged.require_whole_grades("trec_eval")
    loaded = load_run(run, options=options)
    text = TrecText(measures, VERSIONS[profile], per_query=per_query, complete=complete, policies=decided)
    hits = align(judged, loaded, decided)
    raise_or_warn(find_mismatch(judged, loaded, count(hits, decided)), anyway=True)
    for note in missing_notes(loaded.name or "run", hits.n_missing, len(judged), decided):
        warnings.warn(note, RankscopeWarning, stacklevel=2)
    tag = loaded.tag or loaded.name or "rankscope"
    return "".join(f"{line}\n" for line in text.lines(hits, tag=tag))


def chosen_profile(name: str | None) -> Profile | None:
    """Return the profile of that name, or none where none is named."""
    if not name:
        return None
    from rankscope.measures.profiles import find_profile

    return find_profile(name)


def decide_policies(profile: Profile | None, given: Mapping[str, Any]) -> Policies:
    """Return the policies of the profile, with those given by the caller on top."""
    unknown = [name for name in given if name not in names_of(Policies)]
    if unknown:
        raise TypeError(f"evaluate() got an unexpected keyword argument {unknown[0]!r}")
    chosen = {name: value for name, value in given.items() if value is not None}
    return Policies(**{**(profile.policies if profile else {}), **chosen})


def decide_measures(profile: Profile | None, given: Any) -> tuple[Measure, ...]:
    """Return the measures asked for, or the usual ones, as the profile computes them."""
    if given is None or given == []:
        given = profile.measures if profile and profile.measures else DEFAULT_MEASURES
    measures = parse_measures(given)
    return profile.adapt(measures) if profile else measures


def id_notes(qrels: Qrels, run: Run) -> Iterator[str]:
    """Say so where ids are whole numbers on one side and text on the other."""
    for kind in sorted(qrels.integer_ids ^ run.integer_ids):
        side, other = ("qrels", "run") if kind in qrels.integer_ids else ("run", "qrels")
        yield (
            f"{run.name or 'run'}: {kind} ids are whole numbers in the {side} and text in the {other}; "
            "they are matched as text, so 7 is '7'"
        )


def missing_notes(
    name: str, n_missing: int, n_queries: int, policies: Policies, undefined: Sequence[str] = ()
) -> Iterator[str]:
    """Say how many queries the run does not answer, and what that does to the mean.

    `undefined` are measures that are undefined for these queries, and for no other.
    """
    if n_missing:
        effect = "they score 0 and count" if policies.missing == "zero" else "they are left out of the mean"
        if undefined:
            effect += f", but {', '.join(undefined)} {'is' if len(undefined) == 1 else 'are'} undefined for them"
        yield f"{name} does not answer {n_missing} of {n_queries} queries: {effect}"


def undefined_if_missing(scores: RunScores) -> tuple[str, ...]:
    """Return the measures that leave out no queries but those that the run does not answer."""
    n_missing = np.isnan(scores.values[~scores.answered]).sum(axis=0).tolist()
    columns = zip(scores.measures, scores.left_out, n_missing, strict=True)
    return tuple(measure for measure, n_left_out, n in columns if n_left_out == n > 0)


def undefined_notes(scores: RunScores, measures: Sequence[Measure]) -> Iterator[str]:
    """Say for which measures how many queries are left out of the mean, and why; those that agree in that together."""
    alike: dict[tuple[int, str], list[str]] = {}
    said = undefined_if_missing(scores)
    for measure, n_left_out in zip(measures, scores.left_out, strict=True):
        if n_left_out and measure.name not in said:
            alike.setdefault((n_left_out, measure.spec.undefined), []).append(measure.name)
    for (n_left_out, why), names in alike.items():
        yield (
            f"{scores.name}: {', '.join(names)} {'is' if len(names) == 1 else 'are'} undefined for {n_left_out} of "
            f"{scores.counts.queries} queries ({why}): left out of the mean"
        )
