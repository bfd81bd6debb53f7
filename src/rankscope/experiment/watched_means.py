"""What a watch knows of today: means of the newest runs and of those before, targets, and what was not measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile

import numpy as np

from rankscope.comparison.compare import USUAL_MARGIN
from rankscope.comparison.gate import GatePolicy, outcome_of
from rankscope.comparison.known_measures import range_of
from rankscope.experiment.alerts import (
    BaselineCheck,
    WatchedMean,
    WatchedTarget,
    judge,
)
from rankscope.experiment.history import compared_runs, dated_ahead
from rankscope.experiment.keep import KeptCollection, keep_benchmark
from rankscope.experiment.project import Project
from rankscope.experiment.results import CollectionResult, SystemResult
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.experiment.session import TaskProgress
from rankscope.experiment.stored_scoring import HistoryScorer, are_same, mean_over, policies_of, scorer_of
from rankscope.experiment.targets import check_project, targets_of
from rankscope.measures.parse import parse_measure
from rankscope.printable import counted
from rankscope.records import or_none, replace
from rankscope.stats.control_band import FEWEST_RUNS, LAST_RUNS, control_band
from rankscope.store import Store, StoredRun
from rankscope.store.alerts import Alert, FallenQuery, alert_name
from rankscope.store.qrels import StoredQrels

FEWEST_COMMON = 0.5
"""An earlier run that was not asked at least this share of today's queries is left out of the history."""
_TIE = 1e-12


def measured_means(
    project: Project,
    store: Store,
    references: Mapping[tuple[str, str], StoredRun],
    options: RunOptions,
    *,
    on_progress: TaskProgress,
    on_note: Callable[[str], object],
) -> Iterator[WatchedMean]:
    """Run the project, keep what it found, and yield every system with its history.

    All answers are asked for anew: those of earlier runs say nothing of today.
    """
    benchmark = run_project(project, replace(options, fresh=True), on_progress=on_progress, on_note=on_note)
    kept = {each.name: each for each in keep_benchmark(store, project, benchmark)}
    for result in benchmark.collections:
        for system in result.systems:
            problem = problem_of(system)
            run = None if problem else stored_run(kept.get(result.name), system.name)
            mean = unmeasured(project, result.name, system.name, problem or "its run was not stored")
            if run is not None:
                labels = kept[result.name].qrels
                mean = watched_mean(project, store, run, labels, references.get((result.name, system.name)))
                mean = replace(mean, notes=(*mean.notes, *notes_on(result, system)))
            yield mean


def stored_means(
    project: Project,
    store: Store,
    references: Mapping[tuple[str, str], StoredRun],
    systems: Iterable[str],
    collections: Iterable[str],
) -> Iterator[WatchedMean]:
    """Yield every system with its newest stored run as that of today."""
    for name in collections:
        for system in systems:
            runs = store.runs.list(system=system, collection=name, last=1)
            if not runs:
                yield unmeasured(project, name, system, "there is no stored run of it; `rankscope run` makes one")
                continue
            run, labels = runs[0], store.qrels.find(name)
            share = len(run.details.failed) / max(len(store.texts.queries(run.queries_sha256)), 1)
            if share > GatePolicy().allow_missing:
                yield unmeasured(project, name, system, f"{counted(len(run.details.failed), 'query')} failed")
                continue
            yield watched_mean(project, store, run, labels, references.get((name, system)))


def watched_targets(project: Project, watched: Sequence[WatchedMean]) -> Iterator[WatchedTarget]:
    """Check the targets of the project, where it has any, on the systems that were measured."""
    if not project.targets and project.target_file is None:
        return
    listed = {target.name: target for target in targets_of(project)}
    for name in dict.fromkeys(mean.collection for mean in watched):
        runs = {mean.system: mean.run for mean in watched if mean.collection == name and not mean.problem}
        here = [target for target in listed.values() if not target.collections or name in target.collections]
        if not any(not target.only or runs.keys() & set(target.only) for target in here) or not runs:
            continue
        for result in check_project(project, only=tuple(runs), collections=(name,)).results:
            yield WatchedTarget(
                collection=name,
                system=result.run,
                target=result.target,
                outcome=result.outcome,
                words=result.words,
                owner=listed[result.target].owner,
                run=runs[result.run],
            )


def problem_of(system: SystemResult) -> str:
    """Say why a system was not measured, or not well enough to say anything; nothing where it was."""
    if system.finding is not None and system.is_left_out:
        return system.finding.in_one_line
    if system.run is None and not system.failures:
        return "it has answered every query with no docs"
    if len(system.failures) / max(system.n_queries, 1) > GatePolicy().allow_missing:
        first = system.failures[0]
        return (
            f"{len(system.failures)} of {counted(system.n_queries, 'query')} failed; "
            f"the first is {first.query}: {first.reason}"
        )
    return ""


def notes_on(result: CollectionResult, system: SystemResult) -> Iterator[str]:
    if system.failures:
        n = len(system.failures)
        yield f"{system.name} on {result.name}: {counted(n, 'query')} failed, and {'counts' if n == 1 else 'count'} 0."


def stored_run(kept: KeptCollection | None, system: str) -> StoredRun | None:
    return None if kept is None else next((run for run in kept.runs if run.system == system), None)


def unmeasured(project: Project, collection: str, system: str, problem: str) -> WatchedMean:
    return judge(WatchedMean(collection=collection, system=system, measure=project.primary, problem=problem))


def watched_mean(
    project: Project, store: Store, run: StoredRun, labels: StoredQrels, tagged: StoredRun | None
) -> WatchedMean:
    """Return what is known of a run of today: its mean, the band of the runs before it, and a comparison with one."""
    measure = parse_measure(project.primary)
    usual_margin = USUAL_MARGIN if range_of(measure.name) == (0, 1) else 0.0
    mean = WatchedMean(
        collection=run.collection,
        system=run.system,
        measure=measure.name,
        lower_is_better=measure.spec.better == "lower",
        margin=usual_margin if project.margin is None else project.margin,
        run=run.number,
    )
    name = alert_name("drop", mean.collection, mean.system, mean.measure)
    alerts = [each for each in store.alerts.history() if each.name == name]
    past = PastRuns(store, scorer_of(store, measure, policies_of(run)), run, labels, alerts)
    history = past.history()
    label, reference, notes = past.reference(tagged, has_band=len(history) >= FEWEST_RUNS)
    common = past.common_queries([*history, *([] if reference is None else [reference])])
    n_asked = len(past.asked(run))
    if len(common) < n_asked:
        those = f"the {len(common)} of {counted(n_asked, 'query')} that the compared runs have in common"
        notes.append(f"{mean.subject}: means are over {those}.")
    value = past.mean(run, common)
    if value is None:
        return judge(replace(mean, problem=f"{measure.name} is undefined for all of its queries"))
    means = {each.number: past.mean(each, common) for each in history}
    known = {number: each for number, each in means.items() if each is not None}
    band = control_band(np.array(list(known.values())))
    baseline = None
    if reference is not None:
        before = past.mean(reference, common)
        baseline = past.compared(reference, f"{label}, {reference.in_words}", before, project.margin)
    shown = reference
    compared = judge(replace(mean, value=value, band=band, baseline=baseline))
    if band is not None and not compared.fails_baseline:
        typical = min(reversed(known), key=lambda number: abs(known[number] - band.median))
        shown = next(each for each in history if each.number == typical)
    fallen = () if shown is None else past.fallen(shown, common, lower_is_better=mean.lower_is_better)
    return replace(
        compared,
        n_queries=len(common),
        history=tuple(known),
        queries=tuple(fallen),
        queries_against=None if shown is None else shown.number,
        notes=(*notes, *past.notes),
    )


def runs_while_open(runs: Sequence[int], alerts: Iterable[Alert]) -> Iterator[int]:
    """Yield the numbers of runs, given in their order, that were made while an alert was open.

    The run that an alert was seen in is among them, the one that it had recovered in is not. Of an alert that somebody
    accepted there are none: what was then is the new normal.
    """
    for alert in alerts:
        if alert.end == "accepted" or alert.run not in runs:
            continue
        place = runs.index(alert.run)
        end = runs.index(alert.run_at_end) if alert.run_at_end in runs else len(runs)
        yield from runs[place : max(place, end)]


class PastRuns:
    """The runs of a system before one, under the judgments of today; `alerts` are those about it, the newest last.

    While an alert is open, runs are compared with those that it fell from, and afterwards the runs of that time are no
    reference either: neither a drop that stays becomes normal, nor one that comes again.
    """

    def __init__(
        self, store: Store, scorer: HistoryScorer, run: StoredRun, labels: StoredQrels, alerts: Sequence[Alert]
    ) -> None:
        self.store, self.scorer, self.run, self.labels = store, scorer, run, labels
        self._asked: dict[str, set[str]] = {}
        self.notes: list[str] = []
        newest = alerts[-1] if alerts else None
        self.alert = newest if newest is not None and newest.is_open else None
        first = 0 if newest is None or newest.history_from is None else newest.history_from
        everything = store.runs.list(system=run.system, collection=run.collection)
        before = takewhile(lambda each: each.number != run.number, everything)
        self.runs = {each.number: each for each in before if each.number >= first}
        if ahead := dated_ahead(store, self.runs.values()):
            which = f"run {ahead[0].number} is" if len(ahead) == 1 else f"{len(ahead)} earlier runs are"
            self.notes.append(f"{run.system} on {run.collection}: {which} dated in the future. Was a clock wrong?")
        self.while_open = frozenset(runs_while_open(list(self.runs), alerts))

    def asked(self, run: StoredRun) -> set[str]:
        """Return the queries that a run was asked with the words of today, and that are judged today."""
        if run.queries_sha256 not in self._asked:
            today, then = self.scorer.texts(self.run), self.scorer.texts(run)
            judged = set(self.scorer.scores(self.run, self.labels).query_ids)
            same = {query for query, text in then.items() if query in today and are_same(text, today[query])}
            self._asked[run.queries_sha256] = same & judged
        return self._asked[run.queries_sha256]

    def is_comparable(self, run: StoredRun) -> bool:
        is_enough = len(self.asked(run)) >= FEWEST_COMMON * len(self.asked(self.run))
        return is_enough and not self.scorer.refusal(run, self.run)

    def common_queries(self, runs: Iterable[StoredRun]) -> set[str]:
        return set.intersection(self.asked(self.run), *map(self.asked, runs))

    def mean(self, run: StoredRun, queries: set[str]) -> float | None:
        return or_none(mean_over(self.scorer.scores(run, self.labels), queries))

    def history(self) -> list[StoredRun]:
        """Return the runs that the band is made of, the oldest first."""
        runs = self.usual_runs()
        if self.alert is not None and self.alert.history:
            runs = [run for run in self.runs.values() if run.number in self.alert.history]
        elif self.alert is None and (passed_over := self.while_open.intersection(list(self.runs)[-LAST_RUNS:])):
            n = counted(len(passed_over), "run")
            self.notes.append(
                f"{self.run.system} on {self.run.collection}: {n} made while an alert was open "
                f"{'is' if len(passed_over) == 1 else 'are'} no part of the history."
            )
        comparable = (run for run in reversed(runs) if self.is_comparable(run))
        return list(islice(comparable, LAST_RUNS))[::-1]

    def usual_runs(self) -> list[StoredRun]:
        """Return the runs that were made while all was well, as far as anybody knew."""
        return [run for number, run in self.runs.items() if number not in self.while_open]

    def reference(self, tagged: StoredRun | None, *, has_band: bool) -> tuple[str, StoredRun | None, list[str]]:
        """Return the run to compare with, and notes: the tagged one, that of an open alert, or the one before.

        The one before is taken only where there are too few runs for a band.
        """
        label, run = "the baseline", None if tagged is None else self.runs.get(tagged.number)
        if run is None and self.alert is not None:
            label, run = "the run that it fell from", self.runs.get(self.alert.reference or 0)
        elif run is None and not has_band and (usual := self.usual_runs()):
            label, run = "the run before", usual[-1]
        if run is None or self.is_comparable(run):
            return label, run, []
        refused = self.scorer.refusal(run, self.run)
        why = f": {refused}" if refused else ", which was asked other queries"
        note = f"{self.run.system} is not compared with {label}, run {run.number}{why}."
        return label, None, [note]

    def compared(self, reference: StoredRun, label: str, before: float | None, margin: float | None) -> BaselineCheck:
        """Return what a gate makes of today's run against another one, and the verdict in words."""
        compared = compared_runs(
            self.store, self.scorer, reference, self.run, self.labels, margin=margin, on_notes=self.take_notes
        )
        if compared is None:
            return BaselineCheck(reference.number, label, before, "passed", "The rankings are identical.")
        pair = next(iter(compared))
        outcome, words = outcome_of(pair, GatePolicy())
        verdict = pair.final_verdict.text if words.startswith(pair.final_verdict.text) else words
        reason = words.removeprefix(verdict).strip()
        return BaselineCheck(reference.number, label, before, outcome, verdict, reason)

    def take_notes(self, *notes: str) -> None:
        self.notes += (f"{self.run.system} on {self.run.collection}: {note}." for note in notes)

    def fallen(self, reference: StoredRun, queries: set[str], *, lower_is_better: bool) -> Iterator[FallenQuery]:
        """Yield the queries that lost most against a run, the worst first."""
        texts = self.scorer.texts(self.run)
        then, now = (
            dict(zip(scores.query_ids, scores.vector.values.tolist(), strict=True))
            for scores in (self.scorer.scores(reference, self.labels), self.scorer.scores(self.run, self.labels))
        )
        sign = -1.0 if lower_is_better else 1.0
        losses = {query: sign * (now[query] - then[query]) for query in queries}
        for query in sorted(losses, key=lambda query: (losses[query], query)):
            if losses[query] < -_TIE:
                yield FallenQuery(query, texts[query] or "", then[query], now[query])
