"""Scores: one number per query and measure for each run, frozen, with what must be known to read their means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.hits import Counts
from rankscope.arrays import Bools, Floats, in_order_sum, read_only
from rankscope.data.sources import Origin
from rankscope.errors import InputError, MeasureError, OptionError, UnknownNameError, did_you_mean
from rankscope.light import LightRecord, field, names_of, replace
from rankscope.printable import counted, printable
from rankscope.shown import VIEWS, Plotted, Rendered, Shown, Tabular

if TYPE_CHECKING:
    from rankscope.align.policies import Policies
    from rankscope.data.shapes import QrelsLike
    from rankscope.measures.shard_scores import ShardScores
    from rankscope.measures.spec import Measure
    from rankscope.typing import MeasuresLike

MIN_GEOMETRIC = 0.00001  # trec_eval's floor: one score of 0 would make the whole geometric mean 0
SHOWN_MEASURES = 4
"""More measures than this are counted where one run is printed."""
SHOWN_RUNS = 30
"""Of more runs, the others are counted where scores are printed in an interactive session."""
ROUNDING = 1e-9  # how far a score may miss a limit: sums of fractions are not exact

AGGREGATES = {
    "mean": "the mean over queries",
    "median": "the median over queries",
    "gmean": "the geometric mean over queries, scores below 0.00001 counting as 0.00001",
    "worst": "the mean of the worst tenth of the queries (at least one)",
    "sum": "the sum over queries",
}
WEIGHTED = ("mean", "gmean")
"""The aggregates in which queries can have weights."""


class Aggregate(LightRecord):
    """One number for all queries, and how many queries it stands for."""

    value: float
    """NaN where no query has a score."""
    n: int
    """Queries that count."""
    undefined: int
    """Queries for which the measure is undefined (scored 0 or left out, as the policy says)."""
    missing: int
    """Queries that the run does not answer."""

    is_count: bool = field(default=False, repr=False, compare=False)
    """Whether it counts things, so that it is a whole number."""
    left_out: int = field(default=0, repr=False, compare=False)
    """Queries that are left out: something is undefined for them, such as the rank of a doc that was not found.

    Those without relevant docs are among them unless no_relevant='exclude' leaves them out of every measure."""

    @property
    def shown(self) -> str:
        """The number as it is printed."""
        return f"{self.value:.0f}" if self.is_count else show(self.value)

    def __float__(self) -> float:
        return self.value


class RunScores(Tabular, LightRecord):
    """The scores of one run: a matrix of queries by measures.

    Iterating over it gives the query ids, `scores["q1"]` the scores of a query by measure.
    """

    name: str
    query_ids: tuple[str, ...]
    measures: tuple[str, ...]
    values: Floats
    """Queries x measures; NaN where a score is undefined and left out."""
    undefined: Bools
    """Where the measure is undefined, also where the policy made that a 0."""
    answered: Bools
    """Whether the run has the query."""
    counts: Counts
    aggregates: tuple[str, ...]
    """How each measure is aggregated by default."""
    lower_is_better: frozenset[str] = frozenset()
    origin: Origin | None = None
    """The file that the run was read from."""
    left_out: tuple[int, ...] = ()
    """How many queries each measure leaves out as undefined, apart from those that no_relevant='exclude' leaves out."""
    weights: Floats | None = None
    """How much each query counts in the means, such as how often it is asked; None: all count the same."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunScores):
            return NotImplemented
        return all(same_value(getattr(self, name), getattr(other, name)) for name in names_of(self))

    def __hash__(self) -> int:
        return hash((self.name, self.measures, self.query_ids))

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __len__(self) -> int:
        return len(self.query_ids)

    def __contains__(self, query: object) -> bool:
        return query in self.query_ids

    def __getitem__(self, key: str | tuple[str, str | Measure]) -> Any:
        """Return one score by (query, measure), or one query's scores by measure."""
        if isinstance(key, tuple):
            row, column = position(self.query_ids, key[0], "query"), position(self.measures, key[1], "measure")
            return float(self.values[row, column])
        scores = self.values[position(self.query_ids, key, "query")]
        return dict(zip(self.measures, scores.tolist(), strict=True))

    def column(self, measure: str | Measure) -> Floats:
        """Return one measure's scores, in the order of the queries."""
        return self.values[:, position(self.measures, measure, "measure")]

    def aggregate(self, how: str | None = None) -> dict[str, Aggregate]:
        """Return one number per measure; by default what is usual for the measure, mostly the mean."""
        return {measure: self.aggregate_of(measure, how) for measure in self.measures}

    def mean(self) -> dict[str, Aggregate]:
        """Return the mean of every measure (counts, such as NumRel, are summed)."""
        return self.aggregate()

    def aggregate_of(self, measure: str | Measure, how: str | None = None) -> Aggregate:
        """Return one number for one measure; by default what is usual for it."""
        i = position(self.measures, measure, "measure")
        how = how or self.aggregates[i]
        counts = ~np.isnan(self.values[:, i])
        kept, weights = self.values[counts, i], None if self.weights is None else self.weights[counts]
        return Aggregate(
            value=summarise(kept, how, lower_is_better=self.measures[i] in self.lower_is_better, weights=weights),
            n=len(kept) if weights is None else int(np.count_nonzero(weights)),
            undefined=int(self.undefined[:, i].sum()),
            missing=self.counts.missing,
            is_count=how == "sum" and bool((kept == np.floor(kept)).all()),
            left_out=self.left_out[i] if self.left_out else len(self.query_ids) - len(kept),
        )

    def of_measures(self, places: Sequence[int]) -> RunScores:
        """Return the scores of some measures, by their places."""
        names = tuple(self.measures[i] for i in places)
        return replace(
            self,
            measures=names,
            lower_is_better=self.lower_is_better.intersection(names),
            values=read_only(self.values[:, list(places)]),
            undefined=read_only(self.undefined[:, list(places)]),
            aggregates=tuple(self.aggregates[i] for i in places),
            left_out=tuple(self.left_out[i] for i in places) if self.left_out else (),
        )

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {mean.shown}" for name, mean in list(self.aggregate().items())[:SHOWN_MEASURES])
        more = f", and {len(self.measures) - SHOWN_MEASURES} more" if len(self.measures) > SHOWN_MEASURES else ""
        return f"RunScores({self.name!r}, {counted(len(self), 'query')}: {means}{more})"

    @property
    def effective_n(self) -> float:
        """How many queries of the same weight would say as much as these: (sum of weights)² / sum of squares."""
        if self.weights is None:
            return float(len(self.query_ids))
        return float(self.weights.sum() ** 2 / (self.weights**2).sum()) if self.weights.any() else 0.0

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return {query: {measure: score}}; None where a score is undefined."""
        return {
            query: {measure: none_if_nan(score) for measure, score in zip(self.measures, row, strict=True)}
            for query, row in zip(self.query_ids, self.values.tolist(), strict=True)
        }


class QrelsInfo(LightRecord):
    """Which qrels the scores are against."""

    n_queries: int
    origin: Origin | None = None
    """The file that they were read from."""


class Scores(Tabular, Rendered, Plotted, LightRecord, Mapping[str, RunScores]):
    """The scores of several runs on the same qrels, by the name of the run.

    Examples
    --------
    >>> import rankscope as rs
    >>> scores = rs.evaluate({"q1": {"d1": 1}}, {"bm25": {"q1": ["d2", "d1"]}}, "RR P@1")
    >>> scores.measures
    ('RR', 'P@1')
    >>> scores["bm25"]["q1"]
    {'RR': 0.5, 'P@1': 0.0}
    """

    runs: tuple[RunScores, ...]
    qrels: QrelsInfo
    policies: Mapping[str, Any]
    """Every policy as decided, by name; empty where the scores are another tool's."""
    profile: str | None = None
    weighted_by: str | None = None
    """The column of the queries that says how much each counts, None where all count the same."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """By measure, the version of its definition."""
    notes: tuple[str, ...] = ()
    """What must be known to read the numbers, such as how many queries a run does not answer."""
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Measures that are left out, as not all runs have them, and the runs that do not; of scores read from files."""
    texts: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """What was asked, by query, where queries are given."""
    repetitions: Mapping[str, tuple[RunScores, ...]] = field(default_factory=dict, repr=False)
    """By system, the scores of every repetition, where it was asked several times; those in `runs` are their means."""

    @cached_property
    def by_name(self) -> dict[str, RunScores]:
        """The runs by name."""
        return {run.name: run for run in self.runs}

    def __getitem__(self, name: str) -> RunScores:
        if name not in self.by_name:
            raise UnknownNameError(f"there is no run {name!r}; the runs are {', '.join(self.by_name)}")
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures, the same for all runs."""
        return self.runs[0].measures

    def lacking_in_words(self) -> Iterator[str]:
        """Say which measures are left out, and which runs have no scores by them."""
        measures_without: dict[tuple[str, ...], list[str]] = {}
        for measure, runs in self.lacking.items():
            measures_without.setdefault(runs, []).append(measure)
        for runs, measures in measures_without.items():
            verb, have = "is" if len(measures) == 1 else "are", "has" if len(runs) == 1 else "have"
            yield f"{', '.join(measures)} {verb} left out: {', '.join(runs)} {have} no such scores"

    def mean(self) -> Summary:
        """Return one number per run and measure, with the counts that go with it."""
        return self.aggregate()

    def aggregate(self, how: str | None = None) -> Summary:
        """Return one number per run and measure, by mean, median, gmean, worst or sum."""
        return Summary({name: run.aggregate(how) for name, run in self.by_name.items()})

    def to_dict(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """Return {run: {query: {measure: score}}}; None where a score is undefined."""
        return {name: run.to_dict() for name, run in self.by_name.items()}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one record per run and query."""
        for name, run in self.by_name.items():
            for query, scores in run.to_dict().items():
                yield {"run": name, "query": query, **scores}

    def to_json(self) -> str:
        """Return everything that is known of the scores as JSON, from which `from_json` makes equal ones."""
        from rankscope.measures.scores_record import scores_record
        from rankscope.records import to_json

        return to_json(scores_record(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Scores:
        """Return the scores that `to_json`, or `rankscope evaluate --format json`, wrote."""
        from rankscope.measures.scores_record import ScoresRecord, scores_of_record
        from rankscope.records import from_json

        return scores_of_record(from_json(ScoresRecord, text))

    @classmethod
    def concat(
        cls, parts: Iterable[ShardScores], qrels: QrelsLike, policies: Policies | None = None, *, name: str = "run"
    ) -> Scores:
        """Return the scores of a run from those of all of its shards, which `score_shard` made, in any order.

        A query that two shards have is an InputError, and so are shards that were scored by other measures, policies or
        qrels than the rest or than are given here, that were damaged on their way, or of which only some have ranks
        where these count; without policies, those of the shards hold. Queries that no shard has are treated as the
        policies say. Sums are in the order of the qrels, so that every bit is as without shards. What `evaluate` warns
        of is warned of here.
        """
        from rankscope.measures.shard_scores import concat

        return concat(parts, qrels, policies, name=name)

    def sorted(self, measure: str | Measure | None = None) -> Scores:
        """Return the same runs, best first by a measure (by default the first); one without a number comes last."""
        name = self.measures[0 if measure is None else position(self.measures, measure, "measure")]
        sign = 1 if name in self.runs[0].lower_is_better else -1
        value_of = {run.name: run.aggregate_of(name).value for run in self.runs}
        last = (True, 0.0)
        key = {run: last if math.isnan(value) else (False, sign * value) for run, value in value_of.items()}
        return replace(self, runs=tuple(sorted(self.runs, key=lambda run: key[run.name])))

    def only(self, *runs: str, measures: MeasuresLike = None) -> Scores:
        """Return the scores of some runs, of some measures or both, in the order named; all runs where none is named.

        The queries stay the same, and so do the notes.
        """
        kept, versions = tuple(self[name] for name in runs) or self.runs, self.versions
        repeated = {run.name: self.repetitions[run.name] for run in kept if run.name in self.repetitions}
        if len(set(runs)) < len(runs):
            raise OptionError(f"a run is named twice: {', '.join(runs)}", hint="name each once")
        if measures is not None:
            from rankscope.measures.parse import parse_measures
            from rankscope.measures.spec import Measure

            given = [measures] if isinstance(measures, str | Measure) else list(measures)
            names = [name for one in given for name in ([one] if one in self.measures else parse_measures(one))]
            places = list(dict.fromkeys(position(self.measures, name, "measure") for name in names))
            if not places:
                raise OptionError("measures names none", hint=f"there are {', '.join(self.measures)}")
            kept = tuple(run.of_measures(places) for run in kept)
            repeated = {name: tuple(run.of_measures(places) for run in each) for name, each in repeated.items()}
            versions = {name: versions[name] for name in kept[0].measures if name in versions}
        return replace(self, runs=kept, versions=versions, repetitions=repeated)

    def best(self, measure: str | Measure | None = None) -> str:
        """Return the name of the run with the best mean by a measure, by default the first.

        It is the best of these numbers; whether it is better than the next, `compare` tells. Where means are not over
        the same queries, where no run has one, or where several are equally good, there is no best, and it is
        an InputError.
        """
        ranked = self.sorted(measure)
        name = self.measures[0 if measure is None else position(self.measures, measure, "measure")]
        if not is_over_same_queries(self, name):
            raise InputError(
                f"there is no best {name}: the means are not over the same queries, so a run could win by finding less",
                hint="rs.compare looks at the queries that both have; or evaluate with undefined='zero'",
            )
        values = [run.aggregate_of(name).value for run in ranked.runs]
        if math.isnan(values[0]):
            raise InputError(f"there is no best {name}: no query has a score", hint="take another measure")
        tied = [run.name for run, value in zip(ranked.runs, values, strict=True) if abs(value - values[0]) <= ROUNDING]
        if len(tied) > 1:
            raise InputError(
                f"there is no best {name}: {', '.join(tied)} have the same, {show(values[0])}",
                hint="scores.sorted() puts them in the order given; another measure may tell them apart",
            )
        return tied[0]

    def report(self, *, command: str = "") -> Any:
        """Return the report of these scores, which `render` turns into text, HTML, Markdown or LaTeX."""
        return VIEWS["Scores"].report(self, command=command)

    def __repr__(self) -> str:
        if len(self) <= SHOWN_RUNS:
            return repr(self.mean())
        shown = replace(self, runs=self.runs[:SHOWN_RUNS])
        return f"{shown.mean()!r}\n… and {len(self) - SHOWN_RUNS} more runs, {len(self)} in all"


class Summary(Shown, Mapping[str, dict[str, Aggregate]]):
    """One number per run and measure: `summary["bm25"]["AP"]` or `summary["bm25", "AP"]`."""

    def __init__(self, by_run: Mapping[str, dict[str, Aggregate]]) -> None:
        self._by_run = dict(by_run)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            row = self[key[0]]
            return row[tuple(row)[position(tuple(row), key[1], "measure")]]
        if key not in self._by_run:
            raise UnknownNameError(f"there is no run {key!r}; the runs are {', '.join(self._by_run)}")
        return self._by_run[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_run)

    def __len__(self) -> int:
        return len(self._by_run)

    def to_dict(self) -> dict[str, dict[str, float | None]]:
        """Return {run: {measure: number}}; None where no query has a score."""
        return {
            run: {measure: none_if_nan(aggregate.value) for measure, aggregate in row.items()}
            for run, row in self._by_run.items()
        }

    @property
    def table(self) -> tuple[list[str], list[list[str]]]:
        """The headings, and a row of texts for each run."""
        measures = list(next(iter(self._by_run.values())))
        counted = self.over_fewer_queries
        rows = [
            [run, *(f"{row[m].shown} (n={row[m].n})" if m in counted else row[m].shown for m in measures)]
            for run, row in self._by_run.items()
        ]
        return ["run", *measures], rows

    @property
    def over_fewer_queries(self) -> frozenset[str]:
        """The measures of which some number leaves out queries, or is over fewer than another run's: say n with it."""
        rows = list(self._by_run.values())
        with_gaps = {measure for row in rows for measure, mean in row.items() if mean.left_out}
        return frozenset(m for m in rows[0] if m in with_gaps or len({row[m].n for row in rows}) > 1)

    def __repr__(self) -> str:
        header, rows = self.table
        rows = [[printable(row[0]), *row[1:]] for row in rows]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            for row in [header, *rows]
        ]
        return "\n".join("  ".join(line).rstrip() for line in lines)


def is_over_same_queries(scores: Scores, measure: str) -> bool:
    """Tell whether the means of all runs are over the same queries; else the run that finds less might look best."""
    first, *others = scores.values()
    known = ~np.isnan(first.column(measure))
    if all(run.query_ids == first.query_ids for run in others):
        return all(np.array_equal(~np.isnan(run.column(measure)), known) for run in others)
    counted_in = [set(compress(run.query_ids, ~np.isnan(run.column(measure)))) for run in scores.values()]
    return all(queries == counted_in[0] for queries in counted_in)


def reaches(score: float, limit: float) -> bool:
    """Tell whether a score is at least a limit, but for rounding: the mean of 1, 1/3, 1/3 and 1/3 is not quite 0.5."""
    return score >= limit - ROUNDING


def same_value(one: Any, other: Any) -> bool:
    """Tell whether two values of a record are the same; arrays are, where undefined scores are in the same places."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f")
    return bool(one == other) if type(one) is type(other) else False


def summarise(values: Floats, how: str, *, lower_is_better: bool = False, weights: Floats | None = None) -> float:
    """Return one number for many scores, NaN for none; `weights` say how much each counts in a mean."""
    if how not in AGGREGATES:
        raise OptionError(f"{how!r} is not one of {', '.join(AGGREGATES)}", hint=did_you_mean(how, AGGREGATES))
    if weights is not None and how not in WEIGHTED:
        raise OptionError(
            f"weights do not go with {AGGREGATES[how]}", hint=f"take {' or '.join(WEIGHTED)}, or leave the weights out"
        )
    if how == "sum":
        return in_order_sum(values)
    total = len(values) if weights is None else in_order_sum(weights)
    if not total:
        return math.nan
    if how in WEIGHTED:
        terms = values if how == "mean" else np.log(np.maximum(values, MIN_GEOMETRIC))
        mean = in_order_sum(terms if weights is None else weights * terms) / total
        return mean if how == "mean" else math.exp(mean)
    if how == "median":
        return float(np.median(values))
    worst_first = np.sort(values)[::-1] if lower_is_better else np.sort(values)
    return float(np.mean(worst_first[: max(1, len(values) // 10)]))


def position(names: tuple[str, ...], name: str | Measure, what: str) -> int:
    """Return where a name stands, or say which ones there are; a measure may be called in any way that we know."""
    if name not in names and what == "measure":
        from rankscope.measures.parse import parse_measure  # rarely needed

        with suppress(MeasureError):
            name = parse_measure(name)
    try:
        return names.index(str(name))
    except ValueError:
        hint = did_you_mean(str(name), names) or f"e.g. {', '.join(names[:3])}"
        raise UnknownNameError(f"there is no {what} {str(name)!r} among the scores", hint=hint) from None


def show(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def none_if_nan(value: float) -> float | None:
    """Return None for NaN, which JSON cannot hold."""
    return None if math.isnan(value) else value
