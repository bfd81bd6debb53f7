"""What a run of a project found: for every collection the scores, the comparison, the costs, and what failed.

`BenchmarkRecord` is what is written as JSON; it can be read back and equals the one that was written. `Benchmark` has
the scores and comparisons themselves as well, from which reports are made.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from msgspec import field

from rankscope._version import __version__
from rankscope.analysis.bands import BandProfile, scores_in_words
from rankscope.analysis.overview import RunOverlap
from rankscope.analysis.rankings import Rankings
from rankscope.comparison.groups import spread_of
from rankscope.comparison.records import Comparison, LanguageSpread
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable
from rankscope.experiment.collection import CollectionPart
from rankscope.measures.scores import Scores
from rankscope.measures.scores_record import ScoresRecord, scores_record
from rankscope.records import Record, StoredRecord

SplitKind = Literal["all", "train", "holdout", "drawn"]


class SplitSizes(Record):
    """How many queries the results are about, and how many choices were made on."""

    measured: int
    """Queries that the results are about."""
    train: int
    """Queries that options and weights were chosen on."""
    how: SplitKind


class TrainTestSplit(Record):
    """Which queries choices are made on, and which ones are measured."""

    train: tuple[str, ...]
    """The queries on which options and weights are chosen; empty where nothing has to be chosen."""
    measured: tuple[str, ...]
    """The queries that all results are about."""
    how: SplitKind = "all"
    """`train`: a hold-out stays hidden; `holdout`: it was revealed; `drawn`: queries were divided for this run."""
    words: str = ""
    """What has to be said about it."""

    @property
    def sizes(self) -> SplitSizes:
        return SplitSizes(len(self.measured), len(self.train), self.how)


class Trial(Record):
    """One combination of options or weights that was tried on the train queries."""

    options: dict[str, Any]
    score: float | None
    """Mean of the measure over the train queries; None where it is undefined."""


class Choice(Record):
    """What was chosen for a system, and what all that was tried had scored."""

    system: str
    measure: str
    n_queries: int
    """How many train queries the choice rests on."""
    chosen: dict[str, Any]
    """The options of the best trial; of several that score the same, the first."""
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        return next(trial for trial in self.trials if trial.options == self.chosen)


class FailedQuery(Record):
    """A query that failed; one that was answered with no docs did not."""

    query: str
    reason: str
    attempts: int
    """How often it was asked in the run that says so, not counting a batch that failed; 0 where it was not asked."""
    text: str = ""
    """What was asked."""
    repetition: int = 1
    """In which repetition, where the system was asked several times."""


class UnknownDocs(Record):
    """What is wrong with the doc ids that a system returns, or why it returns nothing."""

    level: Literal["error", "warning"]
    """`error`: the system is left out; `warning`: it is compared anyway."""
    code: str
    """What was found, as a name that programs can rely on."""
    message: str
    examples: tuple[str, ...] = ()
    hint: str = ""

    @property
    def in_one_line(self) -> str:
        return f"{self.message} ({'; '.join(self.examples)})" if self.examples else self.message


class Latency(Record):
    """How long single queries take, in milliseconds."""

    n: int
    """How many single queries were timed."""
    mean: float
    p50: float
    p95: float
    p99: float
    max: float


class Costs(Record):
    """What a system costs; None where something was not or cannot be measured."""

    latency_ms: Latency | None = None
    """Of single queries."""
    queries_per_second: float | None = None
    """Answered queries, by the time of the batches where there are any, of all calls otherwise; None without any."""
    index_s: float | None = None
    """Seconds that indexing took, with all that the system is made of."""
    index_bytes: int | None = None
    memory_bytes: int | None = None
    """How far the memory of the process rose, at most, above where it was before."""
    shared_with: tuple[str, ...] = ()
    """Systems that the same requests were sent for: latency and queries/s are those of the whole request."""
    beside: int = 0
    """How many other systems other workers asked at the same time: times and memory are not those of one alone."""


class ReusedAnswers(Record):
    """Answers that were not asked for now, as an earlier run had them."""

    n: int
    first: str
    """When the first of them came."""
    last: str

    @property
    def in_words(self) -> str:
        """For example `an earlier run of 2026-11-16`."""
        days = tuple(dict.fromkeys((self.first[:10], self.last[:10])))
        return f"an earlier run of {days[0]}" if len(days) == 1 else f"earlier runs of {days[0]} to {days[1]}"


class RepetitionResult(Record):
    """One of several times that a system was asked all queries."""

    run: str | None
    """The run's file, from the folder of the project; None where nothing was retrieved."""
    n_answered: int
    """Queries that did not fail in it."""
    mean: float | None = None
    """The primary measure, over the queries that have a score in every repetition; None where it was not evaluated."""
    kept: str | None = None
    """The file of an earlier run without failed queries, which this one with failed queries does not replace."""


class SystemResult(Record):
    """One system on one collection."""

    name: str
    type: str
    fingerprint: str
    """Stands for the system, its options, the docs and queries, and the number of docs asked for."""
    run: str | None
    """The run's file, from the folder of the project; None where nothing was retrieved. Of several the first."""
    n_queries: int
    n_answered: int
    """Queries that did not fail, in no repetition where there are several; also those answered with no docs."""
    n_retried: int
    """Queries that were asked more than once, whether they were answered in the end or failed."""
    failures: tuple[FailedQuery, ...]
    finding: UnknownDocs | None
    """Where what it returns are not ids of docs, or where it cannot be asked at all."""
    primary_over_answered: float | None
    """The primary measure over the queries that did not fail; None where none failed."""
    costs: Costs
    reused: ReusedAnswers | None = None
    """The answers of earlier runs among these; None where all were asked for now."""
    kept: str | None = None
    """The file of an earlier run without failed queries, which this one with failed queries does not replace."""
    repetitions: tuple[RepetitionResult, ...] = ()
    """Each time that it was asked all queries, where that was more than once; scores are means over them."""
    repeats_itself: bool | None = None
    """Whether all repetitions gave the same docs in the same order, and the same scores; None where it was asked once.
    """
    spread: float | None = None
    """How much the mean of the primary measure changes from run to run: the standard deviation over the repetitions.

    None where it was asked once, or not evaluated."""

    @property
    def n_times(self) -> int:
        """How often it was asked every query."""
        return max(len(self.repetitions), 1)

    @property
    def is_left_out(self) -> bool:
        """Whether it is neither evaluated nor compared: it cannot be asked, or returns no docs of the collection."""
        return self.finding is not None and self.finding.level == "error"

    @property
    def found_nothing(self) -> bool:
        """Whether it has answered every query with no docs; queries that failed can be asked again."""
        return self.run is None and not self.failures and not self.is_left_out


class AnswerTimes(Record):
    """When a system answered, and how long each query took."""

    first: str
    """When the first answer came, as ISO 8601 in UTC."""
    last: str
    latencies_ms: dict[str, float] | None = None
    """By query; None where single queries were not timed, or their times mean nothing."""


class CollectionResult(Record, eq=False):
    """All systems on one collection."""

    name: str
    parts: dict[str, CollectionPart]
    split: TrainTestSplit
    systems: tuple[SystemResult, ...]
    scores: Scores | None
    """None where no system has retrieved anything."""
    comparison: Comparison | None
    """None where there are not two systems to compare."""
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    """All parameters and versions of each system, as it gives them."""
    about: dict[str, Any] = field(default_factory=dict)
    """What the collection says of itself."""
    group: str | None = None
    """The attribute of queries that belong together."""
    weights: str | None = None
    """The attribute of queries that says how much each counts."""
    language: str = ""
    """The language of its queries, where all of them have the same."""
    overlap: RunOverlap | None = None
    """What the first docs of every two systems have in common; None where there are not two, or very many."""
    rankings: Rankings | None = None
    """The judgments and runs themselves, for reports that look at docs."""
    queries: QueryTable | None = None
    """The queries of the collection, with all that is known of them."""
    judgments: Qrels | None = None
    """All judgments of the collection, with queries that were asked without any where these count."""
    answer_times: dict[str, tuple[AnswerTimes | None, ...]] = field(default_factory=dict)
    """By system, of each repetition; None where nothing was answered."""
    data_digests: dict[str, str] = field(default_factory=dict)
    """What stands for embeddings, docs and ontology, where measures look at them."""

    @property
    def n_failed(self) -> int:
        return sum(len(system.failures) for system in self.systems)

    @property
    def left_out(self) -> tuple[SystemResult, ...]:
        return tuple(system for system in self.systems if system.is_left_out)


class ProjectSummary(Record):
    """The project as it was run: what its file says, without paths of this machine and values of the environment."""

    file: str
    """The name of the project file."""
    sha256: str
    """Digest of the project file."""
    measures: tuple[str, ...]
    primary: str
    """The measure that decides."""
    strata: tuple[str, ...]
    margin: float | None
    seeds: tuple[int, ...]
    systems: dict[str, dict[str, Any]]
    """Their tables as they stand in the file."""
    profile: str | None = None
    policies: dict[str, Any] = field(default_factory=dict)
    """The policies that the file names."""
    unjudged_queries: str = "skip"
    bands: BandProfile | None = None
    """Whose words stand beside the scores."""


class Benchmark(Record, eq=False):
    """A whole run of a project."""

    project: ProjectSummary
    depth: int
    """How many docs each system was asked for."""
    collections: tuple[CollectionResult, ...]
    started: str
    finished: str
    command: str = ""

    @property
    def n_failed(self) -> int:
        """Queries that failed, added up over all systems, repetitions and collections."""
        return sum(result.n_failed for result in self.collections)

    @property
    def n_left_out(self) -> int:
        """Systems that are left out, or have answered and retrieved nothing at all, over all collections."""
        systems = (system for result in self.collections for system in result.systems)
        return sum(system.is_left_out or system.found_nothing for system in systems)

    @property
    def spreads(self) -> tuple[LanguageSpread, ...]:
        """Each system's primary measure over collections that differ in language; none where they do not."""
        scored = [(result.language, result.scores) for result in self.collections if result.scores is not None]
        by_language = dict(scored)
        if len(by_language) < max(len(scored), 2) or "" in by_language:
            return ()
        shared = [name for name in scored[0][1] if all(name in scores for _, scores in scored)]
        primary = self.project.primary
        return tuple(
            spread_of(name, {language: scores[name].mean()[primary].value for language, scores in scored})
            for name in shared
        )

    @property
    def why_no_spreads(self) -> str:
        """Why there are no spreads though collections differ in language; nothing where they do not, or there are."""
        scored = [result for result in self.collections if result.scores is not None]
        n_in = Counter(result.language for result in scored if result.language)
        if self.spreads or len(n_in) < 2:
            return ""
        without = [result.name for result in scored if not result.language]
        if not without and max(n_in.values()) == 1:
            return "There is no table across languages, as no system was evaluated in all of them."
        counts = ", ".join(f"{n} in {language}" for language, n in n_in.items())
        mixed = f", and {', '.join(without)} in no single language" if without else ""
        return (
            f"There is no table across languages: it takes one collection in each, and here are {counts}{mixed}. "
            "--collection NAME chooses the ones to set side by side."
        )

    @property
    def record(self) -> BenchmarkRecord:
        """What is stored of it: all but the project's own settings, what systems say of themselves, and the command."""
        return benchmark_record(self)

    def to_json(self) -> str:
        """Return its record as JSON, as `rankscope run --format json` does; `BenchmarkRecord.from_json` reads it."""
        return self.record.to_json()


# What is stored


class ProjectReference(Record):
    """Which project file it was."""

    file: str
    sha256: str
    """Digest of the project file."""


class CollectionRecord(Record):
    """All systems on one collection."""

    name: str
    parts: dict[str, CollectionPart]
    queries: SplitSizes
    systems: tuple[SystemResult, ...]
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    evaluation: ScoresRecord | None
    """As `rankscope evaluate --format json` prints it."""
    comparison: Comparison | None
    """As `rankscope compare --format json` prints it."""


class RunTimes(Record):
    """When a run was started and when it had ended."""

    started: str
    finished: str


class BenchmarkRecord(StoredRecord):
    """A benchmark, as printed by rankscope run --format json."""

    rankscope: str
    """The version that made the record."""
    project: ProjectReference
    primary: str
    """The measure that decides."""
    seeds: tuple[int, ...]
    depth: int
    """How many docs each system was asked for."""
    n_failed: int
    """Queries that failed, added up over all systems, repetitions and collections."""
    n_left_out: int
    """Systems that are left out, over all collections: see their finding; one without has answered with no docs."""
    collections: tuple[CollectionRecord, ...]
    languages: tuple[LanguageSpread, ...]
    """Each system's primary measure over collections that differ in language."""
    times: RunTimes
    profile: str | None = None
    """The profile followed, null for none."""
    bands: str | None = None
    """Whose words the evaluations hold, null where the project asks for none."""


def benchmark_record(benchmark: Benchmark) -> BenchmarkRecord:
    project, bands = benchmark.project, benchmark.project.bands

    def evaluation(scores: Scores) -> ScoresRecord:
        return scores_record(scores) if bands is None else scores_in_words(scores, bands)

    return BenchmarkRecord(
        __version__,
        ProjectReference(project.file, project.sha256),
        project.primary,
        project.seeds,
        benchmark.depth,
        benchmark.n_failed,
        benchmark.n_left_out,
        tuple(
            CollectionRecord(
                result.name,
                result.parts,
                result.split.sizes,
                result.systems,
                result.choices,
                result.notes,
                None if result.scores is None else evaluation(result.scores),
                result.comparison,
            )
            for result in benchmark.collections
        ),
        benchmark.spreads,
        RunTimes(benchmark.started, benchmark.finished),
        project.profile,
        None if bands is None else bands.name,
    )
