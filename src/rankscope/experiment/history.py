"""What became of systems over time: every stored run under today's judgments, and what changed between two of them.

A change is taken apart: **total** = S(r2, Q2) - S(r1, Q1) = **system** [S(r2, Q2) - S(r1, Q2)] + **labels**
[S(r1, Q2) - S(r1, Q1)], for run r1 under the judgments Q1 of its time and run r2 under the judgments Q2 of today. S is
over the queries that both runs were asked, as far as they are judged: queries that were added are counted apart, and
those that were judged since are the labels' part, so neither is ever a gain. The verdict is on the system's part, under
the judgments of today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rankscope._version import __version__
from rankscope.comparison.compare import compare_runs, compare_scores_request
from rankscope.comparison.known_measures import range_of
from rankscope.comparison.records import Code, Comparison, PairResult, QueryChange
from rankscope.comparison.request import CompareOptions, ScoreOptions, request_of
from rankscope.comparison.verdict import short_words, spread_text
from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, OptionError, give_warning
from rankscope.experiment.history_records import (
    ChangeParts,
    History,
    HistoryPoint,
    LabelsOfToday,
    LabelStep,
    QueryCounts,
    RunChange,
    SystemHistory,
    VerdictOnChange,
)
from rankscope.experiment.keep import KeptCollection, one_or_all
from rankscope.experiment.project import Project
from rankscope.experiment.stored_scoring import (
    HistoryScorer,
    KeptScorer,
    measure_with_margin,
    policies_of,
    project_of_store,
    scorer_of,
)
from rankscope.experiment.usual_baseline import chosen_baseline
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import ROUNDING, show
from rankscope.records import or_none, replace
from rankscope.stats.interval import mean_interval
from rankscope.store import Store, StoredRun
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import data_of_docs, refuse_data_of_docs

SHOWN_CHANGES = 8
SHOWN_QUERIES = 5
"""So many of the queries that lost, and of those that gained, are named."""
LONGEST_VALUE = 24
"""Of an option's value, so many characters are shown where it was changed."""


def history_of(
    store: Store,
    *,
    collection: str | None = None,
    measure: str | None = None,
    systems: Sequence[str] = (),
    last: int | None = None,
    qrels: str | None = None,
    margin: float | None = None,
    n_changes: int = SHOWN_CHANGES,
    on_progress: Callable[[int, int], object] | None = None,
) -> History:
    """Return the stored runs of systems on a collection, each scored under the judgments of today.

    `last` keeps the newest runs of each system; `qrels` names other judgments than the newest; `margin` is the smallest
    difference that matters, by default that of the project; `n_changes` is how many runs are compared with the one
    before; with 0 nothing is compared. What was not scored yet is scored now, and kept.
    """
    name = chosen_collection(store, collection)
    runs = store.runs.list(collection=name)
    known = {run.system for run in runs}
    for system in systems:
        if system not in known:
            raise OptionError(
                f"the store has no run of {system!r} on {name}", hint=f"there are {', '.join(sorted(known))}"
            )
    of_system = {
        system: [run for run in runs if run.system == system][-last if last else None :]
        for system in dict.fromkeys(run.system for run in runs)
        if not systems or system in systems
    }
    deciding, policies = measure_with_margin(store, runs, measure, margin), policies_of(runs[-1])
    wanted = deciding.measure
    labels = store.qrels.find(qrels or name)
    scorer = scorer_of(store, wanted, policies)
    of_system, notes = with_scores(scorer, of_system)
    scorer.prepare([run for group in of_system.values() for run in group], labels, on_progress)
    tags: dict[int, list[str]] = {}
    for tag, number in store.tags.current().items():
        tags.setdefault(number, []).append(tag)
    n_all = Counter(run.system for run in runs)
    histories = {
        system: replace(
            system_history(scorer, system, group, labels, tags),
            n_earlier=n_all[system] - len(group) if last else 0,
        )
        for system, group in of_system.items()
    }
    order = {run.number: place for place, run in enumerate(runs)}
    main = main_system_of(of_system, usual_run(store, runs), order)
    verdict, since = None, histories[main].since
    if n_changes and since is not None:
        first = next(run for run in of_system[main] if run.number == since)
        verdict = verdict_on_change(store, scorer, first, of_system[main][-1], labels, margin=deciding.margin)
    return History(
        rankscope=__version__,
        collection=name,
        measure=wanted.name,
        better="lower" if wanted.spec.better == "lower" else "higher",
        labels=LabelsOfToday(
            labels.number,
            labels.name,
            labels.digest,
            labels.facts["n_queries"],
            labels.facts["n_judgments"],
            labels.stored,
            labels == store.qrels.find(name),
        ),
        systems=tuple(histories.values()),
        main=main,
        verdict=verdict,
        changes=tuple(
            verdict_on_change(store, scorer, before, after, labels, margin=deciding.margin)
            for before, after in newest_pairs(of_system.values(), order)[:n_changes]
        ),
        n_looks=store.comparisons.n_looks(runs[-1].queries_sha256),
        label_steps=tuple(label_steps(scorer, histories[main], of_system[main])),
        notes=notes,
        dated_ahead=tuple(run.number for group in of_system.values() for run in dated_ahead(store, group)),
    )


def dated_ahead(store: Store, runs: Iterable[StoredRun]) -> list[StoredRun]:
    """Return the runs whose time is still to come: a clock was wrong, or is."""
    now = store.clock()
    return [run for run in runs if run.started > now]


def with_scores(
    scorer: HistoryScorer, runs: Mapping[str, Sequence[StoredRun]]
) -> tuple[dict[str, list[StoredRun]], tuple[str, ...]]:
    """Return the runs that have scores, or can be scored, and what is to be said of a measure that cannot be."""
    known = {system: [run for run in group if scorer.has(run)] for system, group in runs.items()}
    n_lacking = sum(map(len, runs.values())) - sum(map(len, known.values()))
    if not any(known.values()):
        refuse_data_of_docs([scorer.measure], next(run for group in runs.values() for run in group))
    notes = []
    if data := data_of_docs(scorer.measure):
        why = f"{scorer.measure.name} looks at {' and '.join(data)}, which the store does not keep"
        notes.append(f"{why}: its numbers are those of the time of each run, under the judgments of that time.")
    if n_lacking:
        were = "run was not scored by it, and is" if n_lacking == 1 else "runs were not scored by it, and are"
        notes.append(f"{n_lacking} {were} left out.")
    return {system: group for system, group in known.items() if group}, tuple(notes)


def usual_run(store: Store, runs: Sequence[StoredRun]) -> StoredRun:
    """Return the run that others are compared with, among all runs on a collection."""
    return chosen_baseline(runs, store.tags.current(), project_of_store(store, runs[-1].collection)).run


def main_system_of(runs: Mapping[str, Sequence[StoredRun]], usual: StoredRun, order: Mapping[int, int]) -> str:
    """Return the system of the run that others are compared with; where it is not shown, that of the newest run."""
    if usual.system in runs:
        return usual.system
    return max(runs, key=lambda system: order[runs[system][-1].number])


def chosen_collection(store: Store, name: str | None) -> str:
    known = store.runs.collections()
    if not known:
        raise InputError("the store has no runs yet", hint="`rankscope run` stores the first")
    if name is not None:
        if name not in known:
            raise OptionError(f"the store has no runs on {name!r}", hint=f"there are {', '.join(known)}")
        return name
    if len(known) > 1:
        raise OptionError(
            f"the store has runs on {len(known)} collections: {', '.join(known)}", hint="--collection NAME says which"
        )
    return known[0]


def system_history(
    scorer: HistoryScorer, system: str, runs: Sequence[StoredRun], labels: StoredQrels, tags: dict[int, list[str]]
) -> SystemHistory:
    newest = runs[-1]
    points = tuple(
        point_of(
            scorer,
            run,
            labels,
            before=before,
            tags=tuple(tags.get(run.number, ())),
            same_as_newest=scorer.query_counts(run, newest, labels).are_same and not scorer.refusal(run, newest),
        )
        for before, run in zip([None, *runs], runs, strict=False)
    )
    queries = scorer.query_counts(runs[0], newest, labels) if len(runs) > 1 else None
    first = next(run for run, point in zip(runs, points, strict=True) if point.same_as_newest)
    if first == newest:
        return SystemHistory(system, points, queries=queries)
    _, change = change_between(scorer, first, newest, labels)
    return SystemHistory(system, points, first.number, change, queries)


def newest_pairs(groups: Iterable[Sequence[StoredRun]], order: Mapping[int, int]) -> list[tuple[StoredRun, StoredRun]]:
    """Return each run with the one before it of its system, the newest first."""
    pairs = [pair for runs in groups for pair in pairwise(runs)]
    return sorted(pairs, key=lambda pair: order[pair[1].number], reverse=True)


def verdict_on_change(
    store: Store,
    scorer: HistoryScorer,
    before: StoredRun,
    after: StoredRun,
    labels: StoredQrels,
    *,
    margin: float | None,
) -> VerdictOnChange:
    counts, change = change_between(scorer, before, after, labels)
    facts: dict[str, Any] = {
        "system": after.system,
        "before": before.number,
        "after": after.number,
        "at": after.started,
        "what": ", ".join(changed_options(before, after)),
    }
    if change is None or not (counts.are_same or counts.are_nearly_same):
        reason = scorer.refusal(before, after) if counts.are_same else counts.in_words
        why = f"Not comparable: {reason or 'no judged query in common'}."
        facts |= {"difference": None, "low": None, "high": None}
        return VerdictOnChange(**facts, verdict="not_comparable", short="not comparable", words=why)
    compared = compared_runs(store, scorer, before, after, labels, margin=margin, is_look=False)
    if compared is None:
        facts |= {"difference": 0.0, "low": None, "high": None}
        return VerdictOnChange(**facts, verdict="identical", short="identical", words="The rankings are identical.")
    pair = next(iter(compared))
    verdict = pair.final_verdict
    on = "" if counts.are_same else f"On the {counts.n_common} queries that both were asked ({counts.in_words}): "
    return VerdictOnChange(
        **facts,
        difference=or_none(pair.delta),
        low=or_none(pair.ci.low),
        high=or_none(pair.ci.high),
        verdict=verdict.code,
        short=short_words(verdict.code, pair),
        words=f"{on}{verdict.text} {verdict.reason}",
    )


def label_steps(scorer: HistoryScorer, history: SystemHistory, runs: Sequence[StoredRun]) -> Iterator[LabelStep]:
    """Yield where the printed numbers moved as the judgments did: by how much, and what of it was not the system."""
    run_of = {run.number: run for run in runs}
    for before, after in pairwise(history.comparable):
        old, new = (scorer.labels_then(run_of[point.run]) for point in (before, after))
        if old is None or new is None or old.judgments_sha256 == new.judgments_sha256:
            continue
        if before.mean_then is None or after.mean_then is None or before.mean is None or after.mean is None:
            continue
        printed = after.mean_then - before.mean_then
        yield LabelStep(
            system=history.system,
            before=before.run,
            after=after.run,
            at=after.started,
            n_before=old.facts["n_judgments"],
            n_after=new.facts["n_judgments"],
            printed=printed,
            labels=printed - (after.mean - before.mean),
        )


def compared_runs(
    store: Store,
    scorer: HistoryScorer,
    before: StoredRun,
    after: StoredRun,
    labels: StoredQrels,
    *,
    margin: float | None = None,
    is_look: bool = True,
    on_notes: Callable[..., object] = give_warning,
) -> Comparison | None:
    """Return the comparison of two runs under some judgments, as it was kept or made now; None for the same ranking.

    They are compared on the queries that both were asked with the same words, by the means over all repetitions.
    Without `is_look` the comparison shows what is known, and is not counted: it has no lists of docs. `on_notes` takes
    what must be known of the data.
    """
    rankings = {run.number: [each.ranking_sha256 for each in scorer.repetitions(run)] for run in (before, after)}
    if len({ranking for each in rankings.values() for ranking in each}) == 1:
        return None
    same = scorer.same_queries(before, after)
    names = {f"run {run.number}": run for run in (before, after)}
    if before.system != after.system:
        names = {f"{run.system} (run {run.number})": run for run in (before, after)}
    inputs = {
        # in their order: what is better in one is worse in the other
        "runs": [[name, one_or_all(rankings[run.number])] for name, run in names.items()],
        "queries": sorted(same),
        "qrels": labels.judgments_sha256,
        "measure": [scorer.measure.name, scorer.measure.spec.version],
        "margin": margin,
        "policies": scorer.policies.as_dict(),
        "rankscope": __version__,
    }
    if isinstance(scorer, KeptScorer):
        inputs["qrels"], inputs["data"] = scorer.made_with(after)
    about: dict[str, Any] = {
        "queries_sha256": after.queries_sha256,
        "rankings": [ranking for each in rankings.values() for ranking in each],
        "inputs": inputs,
        "is_look": is_look,
    }
    kept = store.comparisons.find(inputs)
    if kept is not None:
        result = store.comparisons.result(kept)
        if is_look and not kept.look and not store.read_only:
            kept = store.comparisons.add(result, **about)
        return result.with_look(kept.look or None)
    notes: list[str] = []
    if isinstance(scorer, KeptScorer):
        asked = request_of({"margin": margin}, function="compare_scores", known=ScoreOptions)
        made = compare_scores_request(scorer.both(names, labels, same), asked, on_note=notes.append)
    else:
        judgments = scorer.judgments_on(labels, same)
        runs = {name: scorer.ranking(run, name) for name, run in names.items()}
        further = {
            name: [scorer.ranking(each, each.system) for each in scorer.repetitions(run)[1:]]
            for name, run in names.items()
        }
        given = {"margin": margin, **scorer.policies.as_dict()}
        request = request_of(given, function="compare", known=CompareOptions, measures=scorer.measure)
        made = compare_runs(judgments, runs, request, on_note=notes.append, further=further, lists=is_look)
    on_notes(*notes)
    if store.read_only:
        return made
    return made.with_look(store.comparisons.add(made, **about).look or None)


def point_of(
    scorer: HistoryScorer,
    run: StoredRun,
    labels: StoredQrels,
    *,
    before: StoredRun | None,
    tags: tuple[str, ...],
    same_as_newest: bool = True,
) -> HistoryPoint:
    scores, then = scorer.scores(run, labels), scorer.labels_then(run)
    values = scores.vector.values[~np.isnan(scores.vector.values)]
    interval = None
    if scorer.measure.spec.aggregate == "mean" and len(values) > 1:
        interval = mean_interval(values, range=range_of(scorer.measure.name, values))
    queries = change = None
    refused = ""
    if before is not None:
        queries, change = change_between(scorer, before, run, labels)
        refused = scorer.refusal(before, run)
    return HistoryPoint(
        run=run.number,
        digest=run.digest,
        started=run.started,
        mean=scores.summary.mean,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        mean_then=None if then is None else scorer.summary(run, then).mean,
        n=scores.summary.n,
        missing=scores.summary.missing,
        n_repetitions=len(scorer.repetitions(run)),
        spread=scorer.spread(run, labels),
        change=change,
        queries=queries,
        refused=refused,
        same_as_newest=same_as_newest,
        tags=tags,
    )


def change_between(
    scorer: HistoryScorer, before: StoredRun, after: StoredRun, labels: StoredQrels
) -> tuple[QueryCounts, ChangeParts | None]:
    """Return how the queries differ, and the change of the mean over the common ones, taken apart."""
    counts = scorer.query_counts(before, after, labels)
    if not counts.n_common or scorer.refusal(before, after):
        return counts, None
    new, old_now = (scorer.mean_over_same(run, labels, before, after) for run in (after, before))
    old_then = scorer.mean_over_same(before, scorer.labels_then(before) or labels, before, after)
    return counts, ChangeParts(or_none(new - old_then), or_none(new - old_now), or_none(old_now - old_then))


def diff_runs(
    store: Store,
    before: StoredRun,
    after: StoredRun,
    *,
    measure: str | None = None,
    qrels: str | None = None,
    margin: float | None = None,
    anyway: bool = False,
) -> RunChange:
    """Return what changed between two stored runs of a collection.

    Runs that were asked other queries are refused unless `anyway` is given: then the common ones are compared.
    """
    if before.collection != after.collection:
        raise InputError(
            f"run {before.number} is on {before.collection}, and run {after.number} on {after.collection}",
            hint="runs on two collections cannot be compared: they were asked other queries",
        )
    deciding = measure_with_margin(store, (before, after), measure, margin)
    wanted, labels = deciding.measure, store.qrels.find(qrels or after.collection)
    scorer = scorer_of(store, wanted, policies_of(after))
    if refused := scorer.refusal(before, after):
        raise InputError(
            f"run {before.number} and run {after.number} cannot be compared by {wanted.name}: {refused}",
            hint="choose a measure of ranking and judgments with -m, or run both again under the judgments of today",
        )
    scorer.prepare((before, after), labels)
    counts, change = change_between(scorer, before, after, labels)
    if change is None:
        raise InputError(
            f"run {before.number} and run {after.number} have no judged query in common"
            + (f": {counts.in_words}" if counts.in_words else ""),
            hint="nothing can be said of what changed",
        )
    if not counts.are_same and not anyway:
        raise InputError(
            f"run {before.number} and run {after.number} were not asked the same queries: {counts.in_words}",
            hint=f"--anyway compares them on the {counts.n_common} queries that both were asked",
        )
    comparison = compared_runs(store, scorer, before, after, labels, margin=deciding.margin)
    losses, gains = changed_most(scorer, before, after, labels)
    tags = store.tags.current()
    points = [
        point_of(
            scorer,
            run,
            labels,
            before=None,
            tags=tuple(tag for tag, number in tags.items() if number == run.number),
            same_as_newest=counts.are_same,
        )
        for run in (before, after)
    ]
    return RunChange(
        rankscope=__version__,
        measure=wanted.name,
        before=points[0],
        after=points[1],
        systems=(before.system, after.system),
        collection=after.collection,
        queries=counts,
        change=change,
        comparison=comparison,
        notes=tuple(notes_on(before, after)),
        losses=losses,
        gains=gains,
    )


def changed_most(
    scorer: HistoryScorer, before: StoredRun, after: StoredRun, labels: StoredQrels
) -> tuple[tuple[QueryChange, ...], tuple[QueryChange, ...]]:
    """Return the queries that lost and that gained most from one run to another, each with what was asked."""
    scores = [scorer.scores(run, labels) for run in (before, after)]
    old, new = (dict(zip(each.query_ids, each.vector.values.tolist(), strict=True)) for each in scores)
    texts, sign = scorer.texts(after), -1 if scorer.measure.spec.better == "lower" else 1
    changes = [
        QueryChange(query, old[query], new[query], new[query] - old[query], texts.get(query))
        for query in scorer.same_queries(before, after)
        if query in old and query in new and abs(new[query] - old[query]) > ROUNDING
    ]
    ordered = sorted(changes, key=lambda change: (-abs(change.delta), change.query))
    losses = [change for change in ordered if sign * change.delta < 0][:SHOWN_QUERIES]
    gains = [change for change in ordered if sign * change.delta > 0][:SHOWN_QUERIES]
    return tuple(losses), tuple(gains)


def rescored(
    store: Store,
    collection: str,
    labels: Qrels | None = None,
    *,
    measure: str | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> History:
    """Score all stored runs on a collection under the judgments of today, or the newest of the store; both are kept."""
    name = chosen_collection(store, collection)
    if labels is not None:
        newest = store.runs.list(collection=name, last=1)[0]
        if newest.qrels_sha256 and counts_unjudged(store, name):
            labels = labels.with_queries(store.texts.queries(newest.queries_sha256))
        store.qrels.add(labels, name=name)
    return history_of(store, collection=name, measure=measure, n_changes=0, on_progress=on_progress)


def counts_unjudged(store: Store, name: str) -> bool:
    """Whether queries without judgments count on a collection: then its judgments list them."""
    return bool(store.qrels.judgments(store.qrels.find(name)).rows.empty_queries)


def change_lines(store: Store, kept: KeptCollection, project: Project) -> Iterator[str]:
    """Say in one line for each system what has changed since its run before."""
    wanted = parse_measure(project.primary)
    for run in kept.runs:
        runs = store.runs.list(system=run.system, collection=kept.name)
        scorer = scorer_of(store, wanted, policies_of(run))
        now = scorer.scores(run, kept.qrels).summary.mean
        here = f"{run.system}: {wanted.name} {'undefined' if now is None else show(now)}"
        if spread := scorer.spread(run, kept.qrels):
            here += f" (±{spread_text(spread)} from run to run, {len(scorer.repetitions(run))} repetitions)"
        place = [each.number for each in runs].index(run.number)
        if run.number not in kept.new:
            then = scorer.labels_then(run)
            before = None if then is None else scorer.scores(run, then).summary.mean
            moved = before is not None and now is not None and abs(now - before) > ROUNDING
            labels = f"; other judgments move it by {now - before:+.4f}" if moved and now and before is not None else ""
            yield f"{here}, the same answers as in run {run.number}{labels}"
        elif place == 0:
            yield f"{here}, the first stored run"
        else:
            again = f" (the answers of run {store.runs.find(of).number})" if (of := run.details.answers_of) else ""
            since = since_words(store, scorer, runs[place - 1], run, kept.qrels, margin=project.margin)
            yield f"{here}{since}{again}"


def since_words(
    store: Store,
    scorer: HistoryScorer,
    before: StoredRun,
    after: StoredRun,
    labels: StoredQrels,
    *,
    margin: float | None,
) -> str:
    when = f"run {before.number} of {before.started[:16].replace('T', ' ')}"
    if refused := scorer.refusal(before, after):
        return f"; not comparable with {when}: {refused}"
    counts, change = change_between(scorer, before, after, labels)
    if change is None or not counts.are_same:
        return f"; not comparable with {when}: {counts.in_words or 'no judged query in common'}"
    compared = compared_runs(store, scorer, before, after, labels, margin=margin)
    verdict = "identical" if compared is None else short_words(*verdict_and_pair(compared))
    moved = "" if not change.labels else f"; other judgments moved that run by {change.labels:+.4f}"
    difference = "" if change.system is None else f"{change.system:+.4f} "
    return f", {difference}since {when}: {verdict}{moved}"


def verdict_and_pair(comparison: Comparison) -> tuple[Code, PairResult]:
    pair = next(iter(comparison))
    return pair.final_verdict.code, pair


def notes_on(before: StoredRun, after: StoredRun) -> list[str]:
    """Return what else differs between two runs, which may be why they differ."""
    notes = []
    if before.docs_sha256 != after.docs_sha256:
        notes.append("The docs of the collection have changed: part of the difference may come from them.")
    if before.details.depth != after.details.depth:
        notes.append(f"{before.details.depth} docs were asked for then, and {after.details.depth} now.")
    options = option_changes(before, after)
    if before.system == after.system and options:
        notes.append(f"The options of the system have changed: {', '.join(options)}.")
    return notes


def changed_options(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield what was changed on purpose, as far as the store knows: `k1 0.9 to 1.2`, `docs`."""
    yield from option_changes(before, after)
    if before.docs_sha256 != after.docs_sha256:
        yield "docs"
    if before.details.depth != after.details.depth:
        yield f"depth {before.details.depth} to {after.details.depth}"


def option_changes(before: StoredRun, after: StoredRun) -> list[str]:
    then, now = before.config, after.config
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return [f"{name} {brief(then.get(name))} to {brief(now.get(name))}" for name in changed]


def brief(value: Any) -> str:
    """Return the value of an option in few characters."""
    text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
