"""Scores of stored runs, under the judgments of today or as they were kept, and the measure that runs are judged by."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

import numpy as np

from rankscope.align.hits import Counts
from rankscope.align.policies import Policies
from rankscope.arrays import Floats
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import RankscopeError
from rankscope.experiment.history_records import QueryCounts
from rankscope.experiment.keep import project_store
from rankscope.experiment.project import Project, load_project
from rankscope.measures.parse import parse_measure
from rankscope.measures.repetitions import mean_of, spread_of_means
from rankscope.measures.scores import QrelsInfo, RunScores, Scores, summarise
from rankscope.measures.spec import Measure
from rankscope.records import Record, or_none, replace
from rankscope.store import Store, StoredRun
from rankscope.store.columns import ScoreVector
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import ScoreSummary, StoredScores, data_of_docs, refuse_data_of_docs

DEFAULT_MEASURE = "nDCG@10"
KEPT_ROWS = 3_000_000
"""Rankings of so many rows in all are held while a history compares runs: most are looked at twice."""


class MeasureWithMargin(Record):
    """What decides between runs: a measure, and the smallest difference that matters, where it was given."""

    measure: Measure
    margin: float | None


def measure_with_margin(
    store: Store, runs: Sequence[StoredRun], name: str | None = None, margin: float | None = None
) -> MeasureWithMargin:
    """Return the measure asked for, else that of the project of the store, else the one that decided last.

    The margin is the one given, else the one that goes with the measure. What files were scored by does not count
    where there are runs of a project.
    """
    primary, of_primary = DEFAULT_MEASURE, None
    if project := project_of_store(store, runs[-1].collection):
        primary, of_primary = project.primary, project.margin
    else:
        decided = [run for run in runs if run.details.primary]
        for last in [*(run for run in reversed(decided) if run.type), *reversed(decided)][:1]:
            primary, of_primary = last.details.primary, last.details.margin
    wanted, usual = parse_measure(name or primary), parse_measure(primary)
    return MeasureWithMargin(wanted, of_primary if margin is None and wanted == usual else margin)


def project_of_store(store: Store, collection: str) -> Project | None:
    """Return the project whose store this is, as it is today; None where none is found that has the collection."""
    folders = [Path.cwd()] if store.location.path is None else [store.location.path.parent.parent, Path.cwd()]
    for folder in folders:
        with suppress(RankscopeError):
            project = load_project(folder)
            if collection in project.collections and project_store(project) == store.location:
                return project
    return None


def policies_of(run: StoredRun) -> Policies:
    return Policies(**run.details.policies)


class HistoryScorer:
    """Scores of stored runs by one measure; each is asked of the store once.

    Of a run with several repetitions, the score of a query is its mean over all of them, as in the report of `run`.
    """

    def __init__(self, store: Store, measure: Measure, policies: Policies) -> None:
        self.store, self.measure, self.policies = store, measure, policies
        self._single: dict[tuple[int, int], StoredScores] = {}
        self._scores: dict[tuple[int, int], StoredScores] = {}
        self._means: dict[tuple[int, int], ScoreSummary] = {}
        self._repetitions: dict[int, tuple[StoredRun, ...]] = {}
        self._texts: dict[str, dict[str, str | None]] = {}
        self._labels: dict[str, StoredQrels] | None = None
        self._same: dict[tuple[str, str], frozenset[str]] = {}
        self._scored: dict[str, frozenset[str]] = {}
        self._counts: dict[tuple[str, ...], QueryCounts] = {}
        self._covers: dict[tuple[str, str, str], bool] = {}
        self._judgments_on: dict[tuple[int, frozenset[str]], Qrels] = {}
        self._rankings: dict[tuple[str, str], Run] = {}

    def judgments_on(self, labels: StoredQrels, queries: frozenset[str]) -> Qrels:
        """Return judgments of some queries; the same ones again, so that what is worked out of them is kept too."""
        key = (labels.number, queries)
        if key not in self._judgments_on:
            self._judgments_on = {key: self.store.qrels.judgments(labels).select(queries)}
        return self._judgments_on[key]

    def ranking(self, run: StoredRun, name: str) -> Run:
        """Return the ranking of a run under a name; the last ones are held, the oldest of them makes room."""
        key = (run.digest, name)
        found = self._rankings.pop(key, None)
        if found is None:
            found = self.store.runs.ranking(run).renamed(name)
        self._rankings[key] = found
        while len(self._rankings) > 1 and sum(len(each.rows) for each in self._rankings.values()) > KEPT_ROWS:
            del self._rankings[next(iter(self._rankings))]
        return found

    def prepare(
        self, runs: Sequence[StoredRun], labels: StoredQrels, on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Score what was not scored yet, under given judgments and those of its time, and read it all at once."""
        self.labels_of_all(labels)
        self._repetitions |= self.store.runs.repetitions(runs)
        groups: dict[int, tuple[StoredQrels, list[StoredRun]]] = {labels.number: (labels, [])}
        for run in runs:
            then = self.labels_then(run)
            for qrels in {each.number: each for each in (labels, then) if each is not None}.values():
                groups.setdefault(qrels.number, (qrels, []))[1].extend(self.repetitions(run))
        for number, (qrels, group) in groups.items():
            means = self.store.scores.means(group, qrels, self.measure, self.policies, on_progress=on_progress)
            self._means |= {(run, number): summary for run, summary in means.items()}
        needed = [each for run in runs for each in self.repetitions(run)]
        read = self.store.scores.read([self._means[run.number, labels.number] for run in needed])
        self._single |= {(run.number, labels.number): scores for run, scores in zip(needed, read, strict=True)}

    def repetitions(self, run: StoredRun) -> tuple[StoredRun, ...]:
        """Return a run and its further repetitions, whose scores are averaged query by query."""
        if run.number not in self._repetitions:
            self._repetitions |= self.store.runs.repetitions([run])
        return self._repetitions[run.number]

    def single_scores(self, run: StoredRun, labels: StoredQrels) -> StoredScores:
        """Return the scores of one repetition."""
        key = (run.number, labels.number)
        if key not in self._single:
            self._single[key] = self.store.scores.read([self.single_summary(run, labels)])[0]
        return self._single[key]

    def single_summary(self, run: StoredRun, labels: StoredQrels) -> ScoreSummary:
        key = (run.number, labels.number)
        if key not in self._means:
            self._means |= {key: self.store.scores.means([run], labels, self.measure, self.policies)[run.number]}
        return self._means[key]

    def scores(self, run: StoredRun, labels: StoredQrels) -> StoredScores:
        """Return the score of each query: its mean over all repetitions of the run."""
        repetitions = self.repetitions(run)
        if len(repetitions) == 1:
            return self.single_scores(run, labels)
        key = (run.number, labels.number)
        if key not in self._scores:
            self._scores[key] = mean_of_repetitions(
                [self.single_scores(each, labels) for each in repetitions], self.measure
            )
        return self._scores[key]

    def summary(self, run: StoredRun, labels: StoredQrels) -> ScoreSummary:
        """Return the mean of a run, and what it stands for."""
        if len(self.repetitions(run)) == 1:
            return self.single_summary(run, labels)
        return self.scores(run, labels).summary

    def spread(self, run: StoredRun, labels: StoredQrels) -> float | None:
        """Return how far the means of a run's repetitions spread, over queries with a score in all; None of one."""
        if len(self.repetitions(run)) == 1:
            return None
        known = ~np.isnan(self.scores(run, labels).vector.values)
        values = [self.single_scores(each, labels).vector.values[known] for each in self.repetitions(run)]
        return or_none(spread_of_means([summarised(each, self.measure) for each in values]))

    def has(self, run: StoredRun) -> bool:  # noqa: ARG002 (not every scorer has all)
        """Tell whether a run has scores by the measure, or can be scored."""
        return True

    def refusal(self, before: StoredRun, after: StoredRun) -> str:  # noqa: ARG002 (as above)
        """Say why the scores of two runs cannot be compared, whatever they were asked; empty where they can."""
        return ""

    def labels_of_all(self, labels: StoredQrels | None = None) -> dict[str, StoredQrels]:
        """Return the first stored judgments of each content; of that of `labels`, these."""
        if self._labels is None:
            self._labels = {each.judgments_sha256: each for each in reversed(self.store.qrels.list())}
        if labels is not None:
            self._labels[labels.judgments_sha256] = labels
        return self._labels

    def labels_then(self, run: StoredRun) -> StoredQrels | None:
        """Return the judgments of a run's time; None where nobody knows them."""
        return self.labels_of_all().get(run.qrels_sha256)

    def texts(self, run: StoredRun) -> dict[str, str | None]:
        """Return the queries that a run was asked, with their words."""
        if run.queries_sha256 not in self._texts:
            queries = self.store.texts.queries(run.queries_sha256)
            self._texts[run.queries_sha256] = {query: each.text for query, each in queries.items()}
        return self._texts[run.queries_sha256]

    def same_queries(self, before: StoredRun, after: StoredRun) -> frozenset[str]:
        """Return the queries that two runs were asked with the same words."""
        key = (before.queries_sha256, after.queries_sha256)
        if key not in self._same:
            then, now = self.texts(before), self.texts(after)
            both = then.keys() & now.keys()
            self._same[key] = frozenset(query for query in both if are_same(then[query], now[query]))
        return self._same[key]

    def query_counts(self, before: StoredRun, after: StoredRun, labels: StoredQrels) -> QueryCounts:
        """Return how the queries of two runs differ, those judged then and those judged today."""
        then = self.labels_then(before) or labels
        asked = (before.queries_sha256, after.queries_sha256)
        key = (*asked, self.summary(before, then).queries_sha256, self.summary(after, labels).queries_sha256)
        if key not in self._counts:
            same = self.same_queries(before, after)
            judged_then, judged_now = (
                self.scored_queries(before, then) & same,
                self.scored_queries(after, labels) & same,
            )
            old, new = self.texts(before).keys(), self.texts(after).keys()
            self._counts[key] = QueryCounts(
                n_common=len(judged_now),
                n_added=len(new - old),
                n_removed=len(old - new),
                n_changed=len(old & new) - len(same),
                n_judged_since=len(judged_now - judged_then),
                n_no_longer_judged=len(judged_then - judged_now),
            )
        return self._counts[key]

    def scored_queries(self, run: StoredRun, labels: StoredQrels) -> frozenset[str]:
        sha256 = self.summary(run, labels).queries_sha256
        if sha256 not in self._scored:
            self._scored[sha256] = frozenset(self.store.scores.scored_queries(sha256))
        return self._scored[sha256]

    def mean_over_same(self, run: StoredRun, labels: StoredQrels, before: StoredRun, after: StoredRun) -> float:
        """Return the mean of a run over the queries that two runs were asked; NaN where none of them has a score."""
        summary = self.summary(run, labels)
        key = (summary.queries_sha256, before.queries_sha256, after.queries_sha256)
        if key not in self._covers:
            self._covers[key] = self.scored_queries(run, labels) <= self.same_queries(before, after)
        if self._covers[key]:
            return float("nan") if summary.mean is None else summary.mean
        same = self.same_queries(before, after)
        return mean_over(self.scores(run, labels), same, self.measure.spec.aggregate)


class KeptScorer(HistoryScorer):
    """Scores by a measure that cannot be computed again: as they were kept, under the judgments of their time.

    Two runs can be compared where both were scored under the same judgments, with the same embeddings or ontology.
    """

    def __init__(self, store: Store, measure: Measure, policies: Policies) -> None:
        super().__init__(store, measure, policies)
        self._kept = {number: scores[-1] for number, scores in store.scores.kept(measure, policies).items()}
        self._judgments = {each.number: each.judgments_sha256 for each in store.qrels.list()}

    def prepare(
        self,
        runs: Sequence[StoredRun],
        labels: StoredQrels,
        on_progress: Callable[[int, int], object] | None = None,  # noqa: ARG002 (nothing is computed)
    ) -> None:
        self.labels_of_all(labels)
        self._repetitions |= self.store.runs.repetitions(runs)

    def has(self, run: StoredRun) -> bool:
        return all(each.number in self._kept for each in self.repetitions(run))

    def single_summary(self, run: StoredRun, labels: StoredQrels) -> ScoreSummary:  # noqa: ARG002 (those of its time)
        if run.number not in self._kept:
            refuse_data_of_docs([self.measure], run)
        return self._kept[run.number].summary

    def made_with(self, run: StoredRun) -> tuple[str, str]:
        """Return what stands for the judgments and the data that a run was scored with."""
        kept = self._kept[run.number]
        return self._judgments[kept.qrels], kept.data_sha256

    def refusal(self, before: StoredRun, after: StoredRun) -> str:
        data = " and ".join(data_of_docs(self.measure))
        again = f"{self.measure.name} cannot be computed again, as {data} are not stored"
        for run in (before, after):
            if not self.has(run):
                return f"run {run.number} has no scores by it, and {again}"
        (then, data_then), (now, data_now) = self.made_with(before), self.made_with(after)
        if then != now:
            return f"run {before.number} was scored under other judgments, and {again}"
        return "" if data_then == data_now else f"run {before.number} was scored with other {data}, and {again}"

    def both(self, runs: Mapping[str, StoredRun], labels: StoredQrels, queries: AbstractSet[str]) -> Scores:
        """Return the scores of runs by name over some queries, to be compared."""
        scored = []
        for name, run in runs.items():
            found = self.scores(run, labels)
            places = [i for i, query in enumerate(found.query_ids) if query in queries]
            answered = found.vector.answered[places]
            scored.append(
                RunScores(
                    name=name,
                    query_ids=tuple(found.query_ids[i] for i in places),
                    measures=(self.measure.name,),
                    values=found.vector.values[places, None],
                    undefined=found.vector.undefined[places, None],
                    answered=answered,
                    counts=Counts(len(places), int((~answered).sum()), 0, 0, 0, 0),
                    aggregates=(self.measure.spec.aggregate,),
                    lower_is_better=frozenset([self.measure.name] if self.measure.spec.better == "lower" else ()),
                )
            )
        return Scores(tuple(scored), QrelsInfo(len(scored[0])), policies=self.policies.as_dict())


def scorer_of(store: Store, measure: Measure, policies: Policies) -> HistoryScorer:
    """Return what scores stored runs, or what reads the scores of a measure that cannot be computed again."""
    return (KeptScorer if data_of_docs(measure) else HistoryScorer)(store, measure, policies)


def mean_of_repetitions(repetitions: Sequence[StoredScores], measure: Measure) -> StoredScores:
    """Return the mean over repetitions for each query; it is undefined where it is in any of them."""
    first, vectors = repetitions[0], [each.vector for each in repetitions]
    values, answered = mean_of([each.values for each in vectors]), np.all([each.answered for each in vectors], axis=0)
    undefined = np.any([each.undefined for each in vectors], axis=0)
    known = values[~np.isnan(values)]
    summary = replace(
        first.summary,
        mean=or_none(summarised(known, measure)),
        n=len(known),
        undefined=int(undefined.sum()),
        missing=int((~answered).sum()),
    )
    return StoredScores(summary, first.query_ids, ScoreVector(values, undefined, answered))


def summarised(values: Floats, measure: Measure) -> float:
    """Return one number for the scores of all queries, as is usual for a measure."""
    return summarise(values, measure.spec.aggregate, lower_is_better=measure.spec.better == "lower")


def are_same(then: str | None, now: str | None) -> bool:
    """Whether a query of the same id asks for the same, as far as its words are known."""
    return then is None or now is None or then == now


def mean_over(scores: StoredScores, queries: AbstractSet[str], how: str = "mean") -> float:
    """Return the mean over some queries, or what else is usual for a measure; NaN where none of them has a score."""
    values = scores.vector.values[[query in queries for query in scores.query_ids]]
    known = values[~np.isnan(values)]
    return summarise(known, how) if len(known) else float("nan")
