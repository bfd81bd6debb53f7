"""Scores as they are stored: the JSON of `rankscope evaluate --format json`, from which equal scores are read back."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from rankscope._version import __version__
from rankscope.align.hits import Counts
from rankscope.arrays import read_only
from rankscope.data.sources import Origin
from rankscope.errors import MeasureError, OptionError, give_warning
from rankscope.light import asdict, names_of
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import QrelsInfo, RunScores, Scores, none_if_nan
from rankscope.records import Record, inline_schema, json_schema, or_nan
from rankscope.shown import ANSWERS

Count = Annotated[int, msgspec.Meta(ge=0)]
Weight = Annotated[float, msgspec.Meta(ge=0)]
ByMeasure = dict[str, float | None]


class QrelsRecord(Record, kw_only=True):
    """Which qrels the scores are against."""

    path: str | None = None
    """the file they were read from, null where they were given in memory"""
    sha256: str | None = None
    """SHA-256 of that file as stored; `files:` of a list of files, `etag:` of a store"""
    n_queries: Count = 0
    format: str | None = None
    """what that file was read as"""


class WeightsRecord(Record, kw_only=True):
    """How much each query counts."""

    column: str
    """the column of the queries that holds the weights"""
    queries: dict[str, Weight]
    """how much each query counts in the means"""


class CountsRecord(Record, kw_only=True):
    """How much of a run could be scored."""

    queries: Count
    """queries scored"""
    missing: Count
    """queries of the qrels that the run does not answer"""
    not_in_qrels: Count
    """queries of the run that have no judgments"""
    no_relevant: Count
    """scored queries without any relevant doc"""
    retrieved: Count
    """docs retrieved for the scored queries, within the depth"""
    unjudged: Count
    """of these, docs that nobody judged"""
    undefined: dict[str, Count]
    """by measure, queries for which it is undefined, counted as 0 or left out"""
    left_out: dict[str, Count]
    """by measure, queries left out as undefined; those that no_relevant='exclude' leaves out do not count"""


class MeanIntervalRecord(Record):
    """How far the mean over all queries may be from the mean over these."""

    low: float
    high: float
    level: float
    method: str


class RunScoresRecord(Record, kw_only=True):
    """The scores of one run."""

    name: str
    """the run's name, unique within the record"""
    path: str | None = None
    """the file it was read from, null where it was given in memory"""
    sha256: str | None = None
    """SHA-256 of that file as stored; `files:` of a list of files, `etag:` of a store"""
    mean: ByMeasure = msgspec.field(default_factory=dict)
    """one number per measure; null where no query has a score"""
    n: dict[str, Count] = msgspec.field(default_factory=dict)
    """by measure, how many queries that number is over"""
    intervals: dict[str, MeanIntervalRecord | None] | None = None
    """the interval of each mean, null where there is none; only with --intervals"""
    queries: dict[str, ByMeasure]
    """scores per query; null where a score is undefined"""
    effective_n: Weight | None = None
    """how many queries of the same weight would say as much: (sum of weights)² / sum of squares"""
    counts: CountsRecord | None = None
    format: str | None = None
    """what that file was read as"""
    unanswered: list[str] = msgspec.field(default_factory=list)
    """scored queries that the run does not answer"""
    undefined_as_zero: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """by measure, queries for which it is undefined and counts as 0"""
    words: dict[str, str] = msgspec.field(default_factory=dict)
    """by measure, the word that the bands have for its number; empty where no bands were asked for"""
    in_words: str = ""
    """all of these words in one line, such as: good precision@3, moderate recall@5"""


class MeasureFacts(Record, kw_only=True):
    """What must be known of a measure to read its scores."""

    version: Count | None = None
    """the version of its definition, null where another tool computed the scores"""
    aggregate: str = "mean"
    """how the scores of all queries become one number"""
    better: str = "higher"
    """higher or lower"""


class ScoresRecord(Record, kw_only=True):
    """The scores of runs, as printed by rankscope evaluate --format json."""

    rankscope: str = ""
    """the version that made the record"""
    profile: str | None = None
    """the profile followed, null for none"""
    policies: dict[str, str | int | float | bool | None] = msgspec.field(default_factory=dict)
    """every policy, as decided"""
    qrels: QrelsRecord = QrelsRecord()
    weights: WeightsRecord | None = None
    """null where all queries count the same"""
    runs: Annotated[list[RunScoresRecord], msgspec.Meta(min_length=1)]
    measures: dict[str, MeasureFacts] = msgspec.field(default_factory=dict)
    """the measures, in the order in which they were asked for"""
    notes: list[str] = msgspec.field(default_factory=list)
    """what must be known to read the numbers"""
    bands: str | None = None
    """whose words stand beside the numbers, null where nobody asked for words"""
    texts: dict[str, str] = msgspec.field(default_factory=dict)
    """what was asked, by query; empty where queries are not given"""
    answer: str = ""
    """of several runs, which has the best number by the measure that decides, or why none has"""
    repetitions: dict[str, list[RunScoresRecord]] = msgspec.field(default_factory=dict)
    """by system, the scores of each repetition where it was asked several times; those in runs are their means"""


def scores_record(scores: Scores) -> ScoresRecord:
    weight_of: dict[str, float] = {}
    for run in scores.runs:
        if run.weights is not None:
            weight_of.update(zip(run.query_ids, run.weights.tolist(), strict=True))
    first = scores.runs[0]
    return ScoresRecord(
        rankscope=__version__,
        profile=scores.profile,
        policies=dict(scores.policies),
        qrels=QrelsRecord(**_file(scores.qrels.origin), n_queries=scores.qrels.n_queries),
        weights=None if scores.weighted_by is None else WeightsRecord(column=scores.weighted_by, queries=weight_of),
        runs=[_run_record(run) for run in scores.runs],
        measures={
            name: MeasureFacts(
                version=scores.versions.get(name),
                aggregate=aggregate,
                better="lower" if name in first.lower_is_better else "higher",
            )
            for name, aggregate in zip(first.measures, first.aggregates, strict=True)
        },
        notes=list(scores.notes),
        texts=dict(scores.texts),
        answer=ANSWERS["Scores"](scores),
        repetitions={name: [_run_record(run) for run in runs] for name, runs in scores.repetitions.items()},
    )


def _file(origin: Origin | None) -> dict[str, Any]:
    return {} if origin is None else {"path": origin.path, "sha256": origin.sha256, "format": origin.format}


def _run_record(run: RunScores) -> RunScoresRecord:
    means = run.aggregate()
    zeroed = run.undefined & ~np.isnan(run.values)
    return RunScoresRecord(
        name=run.name,
        **_file(run.origin),
        mean={measure: none_if_nan(mean.value) for measure, mean in means.items()},
        n={measure: mean.n for measure, mean in means.items()},
        queries=run.to_dict(),
        effective_n=run.effective_n,
        counts=CountsRecord(
            **asdict(run.counts),
            undefined={measure: mean.undefined for measure, mean in means.items()},
            left_out=dict(zip(run.measures, run.left_out, strict=bool(run.left_out))),
        ),
        unanswered=[run.query_ids[i] for i in np.flatnonzero(~run.answered)],
        undefined_as_zero={
            measure: [run.query_ids[i] for i in np.flatnonzero(zeroed[:, column])]
            for column, measure in enumerate(run.measures)
            if zeroed[:, column].any()
        },
    )


def scores_of_record(record: ScoresRecord) -> Scores:
    """Return the scores that were stored.

    What a record does not say of a measure, as older ones do not, is as the measure is defined today. Where it was
    defined otherwise when the scores were computed, a warning says so.
    """
    if twice := [name for name, n in Counter(run.name for run in record.runs).items() if n > 1]:
        raise OptionError(f"several runs are called {twice[0]!r}", hint="give each run a name of its own")
    columns = (name for run in record.runs for row in run.queries.values() for name in row)
    facts = {}
    for name in dict.fromkeys([*record.measures, *columns]):
        today = _facts_today(name)
        facts[name] = stored = record.measures.get(name, replace(today, version=None))
        if None not in (stored.version, today.version) and stored.version != today.version:
            give_warning(
                f"{name} was computed by version {stored.version} of its definition, today's is {today.version}: "
                "compare these scores with others of that version only"
            )
    weight_of = None if record.weights is None else record.weights.queries
    return Scores(
        tuple(_run_scores(run, facts, weight_of) for run in record.runs),
        qrels=QrelsInfo(record.qrels.n_queries, _origin(record.qrels)),
        policies=record.policies,
        profile=record.profile,
        weighted_by=record.weights.column if record.weights else None,
        versions={name: fact.version for name, fact in facts.items() if fact.version is not None},
        notes=tuple(record.notes),
        texts=record.texts,
        repetitions={
            name: tuple(_run_scores(run, facts, weight_of) for run in runs) for name, runs in record.repetitions.items()
        },
    )


def _facts_today(name: str) -> MeasureFacts:
    try:
        measure = parse_measure(name)
    except MeasureError:  # of another tool
        return MeasureFacts()
    aggregate = measure.options.get("agg") or measure.spec.aggregate
    return MeasureFacts(version=measure.spec.version, aggregate=aggregate, better=measure.spec.better)


def _origin(file: QrelsRecord | RunScoresRecord) -> Origin | None:
    return None if file.path is None else Origin(file.path, file.format or "", lambda: file.sha256 or "")


def _run_scores(run: RunScoresRecord, facts: dict[str, MeasureFacts], weight_of: dict[str, float] | None) -> RunScores:
    names, query_ids = tuple(facts), tuple(run.queries)
    cells = [[or_nan(row.get(name)) for name in names] for row in run.queries.values()]
    values = np.array(cells, dtype=np.float64).reshape(len(query_ids), len(names))
    undefined = np.isnan(values)
    for column, name in enumerate(names):
        zeroed = set(run.undefined_as_zero.get(name, ()))
        undefined[:, column] |= [query in zeroed for query in query_ids]
    unanswered = set(run.unanswered)
    counts, left_out = Counts(len(query_ids), len(unanswered), 0, 0, 0, 0), {}
    if run.counts is not None:
        counts = Counts(**{name: getattr(run.counts, name) for name in names_of(Counts)})
        left_out = run.counts.left_out
    return RunScores(
        name=run.name,
        query_ids=query_ids,
        measures=names,
        values=read_only(values),
        undefined=undefined,
        answered=np.array([query not in unanswered for query in query_ids], dtype=np.bool_),
        counts=counts,
        aggregates=tuple(fact.aggregate for fact in facts.values()),
        lower_is_better=frozenset(name for name, fact in facts.items() if fact.better == "lower"),
        origin=_origin(run),
        left_out=tuple(left_out[name] for name in names if name in left_out),
        weights=None if weight_of is None else read_only(np.array([weight_of[query] for query in query_ids])),
    )


def scores_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **inline_schema(json_schema(ScoresRecord)),
        "title": "The scores of runs, as printed by rankscope evaluate --format json",
    }
