"""What a comparison is asked for: one record into which Python keywords, command line, project file and HTTP decode.

To add an option, write its field here, with its help text below it, and its type in `CompareOptions`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import msgspec

from rankscope.checks import check_keywords, check_options
from rankscope.data.loading import ReadOptions
from rankscope.errors import OptionError, did_you_mean
from rankscope.io.formats import table_endings
from rankscope.measures.spec import Measure
from rankscope.records import Options, Record, field_docs
from rankscope.stats.family import CORRECTIONS, rank_of_critical
from rankscope.stats.interval import N_RESAMPLES
from rankscope.stats.paired import ON_REQUEST
from rankscope.typing import EvaluateOptions, MeasureLike

if TYPE_CHECKING:
    from rankscope.evaluation import EvaluateRequest

ORDERS = ("score", "given")
UNJUDGED = ("auto", "uncertain", "irrelevant")
NOT_OFFERED = {
    "holm": "its p-values have no interval of their own",
    "tukey": "it lets systems that have nothing to do with a pair decide it",
}
"""Corrections that people know, and why there are none of them."""
Names: TypeAlias = str | Sequence[str]


class Settings(Record, kw_only=True):
    """What a comparison is made with; the defaults are recorded with every result."""

    alpha: float = 0.05
    margin: float = 0.01
    """The smallest difference that matters; 0 where none is known."""
    margin_given: bool = False
    """Whether the user named the margin."""
    power: float = 0.8
    false_discoveries: float = 0.10
    """The share of false claims allowed among exploratory results."""
    n_resamples: int = N_RESAMPLES
    seed: int = 0

    @property
    def level(self) -> float:
        """The level of intervals, as people write it: 0.95, not 0.9500000000000001."""
        return round(1 - self.alpha, 12)

    @property
    def level_equivalence(self) -> float:
        return round(1 - 2 * self.alpha, 12)

    def __post_init__(self) -> None:
        for name, largest in (("alpha", 0.5), ("power", 1), ("false_discoveries", 1)):
            if not 0 < getattr(self, name) < largest:
                raise OptionError(f"{name} = {getattr(self, name)} is not between 0 and {largest}")
        if not 0 <= self.margin < math.inf:
            raise OptionError(
                f"margin = {self.margin} is negative or not a number", hint="give the smallest difference that matters"
            )
        if self.n_resamples < 99:
            raise OptionError(f"n_resamples = {self.n_resamples} is too few", hint="the default is 9999")
        if rank_of_critical(self.n_resamples, self.alpha) > self.n_resamples:
            raise OptionError(
                f"n_resamples = {self.n_resamples} is too few for alpha = {self.alpha:g}",
                hint=f"at least {math.ceil(1 / self.alpha)} are needed to reach it at all; take ten times as many",
            )
        if self.seed < 0:
            raise OptionError(f"seed = {self.seed} is negative", hint="give a whole number from 0 up")


class CompareRequest(Options):
    """Every option of a comparison; the text below a field is its help on the command line."""

    measures: Any = None
    """measures, as for evaluate"""
    baseline: str | None = None
    """the run to compare with, by name (default: the first)"""
    primary: str | None = None
    """the measure that decides (default: the first, of a profile's own measures nDCG@10); it is added where it is not
    among the measures"""
    margin: float | None = None
    """the smallest difference that matters (default: 0.01 for measures between 0 and 1, none for others)"""
    by: str | tuple[str, ...] = ()
    """attributes of queries to report separately"""
    queries: Any = None
    """texts and attributes of queries: {files}, or TREC topics; reports show what was asked"""
    all_pairs: bool = False
    """compare each run with each, as one family"""
    correction: str = "maxt"
    """for several comparisons: {corrections}"""
    pool: bool = False
    """also compare over all languages together, labelled so"""
    cluster: str | None = None
    """attribute that groups queries which are not independent"""
    weights: str | None = None
    """attribute that says how much each query counts, such as its traffic"""
    unjudged: str = "auto"
    """what docs without a judgment may be: uncertain, irrelevant, or auto (default: uncertain where the qrels also hold
    docs that are not relevant)"""
    also: str | tuple[str, ...] = ()
    """print other tests too: {tests}; they decide nothing"""
    alpha: float = 0.05
    """error rate of all together (default: 0.05)"""
    n_resamples: int = N_RESAMPLES
    """sign flips drawn (default: 9999)"""
    seed: int = 0
    """seed of everything random (default: 0)"""
    order: str = "score"
    """how systems, and the two of a pair, are ordered: score (default: best first, by the primary measure) or given"""
    anyway: bool = False
    """go on where ids match nothing; the verdict is then: not comparable"""
    problems: dict[str, str] | None = None
    """why runs cannot be compared, by their names, where the caller has looked at ids itself"""
    profile: str | None = None
    """the policies and measures of another tool"""
    options: ReadOptions | None = None
    """how run files are read"""
    qrels_options: ReadOptions | None = None
    """how the file of qrels is read"""
    threads: int | None = None
    """number of threads (default: one per core)"""
    embeddings: Any = None
    """for measures by embedding: as for rankscope evaluate"""
    docs: Any = None
    """titles and texts, which reports show, and fields for measures by topic, source, date …"""
    ontology: Any = None
    """for measures by ontology: as for rankscope evaluate"""
    unjudged_queries: str | None = None
    """queries without any judgment: skip (default: leave them out), or zero (they score 0 and count)"""
    memory: str | int | None = None
    """how much memory may be taken, such as 512MB: as for rankscope evaluate"""
    on: Any = None
    """the cluster that scores the parts of runs: as for rankscope evaluate"""
    workers: int | None = None
    """number of processes that score the parts of runs: as for rankscope evaluate"""
    keep: Any = None
    """a folder for what has been scored, to go on after a crash: as for rankscope evaluate"""
    progress: Any = None
    """called with how far the scoring of parts is"""
    ties: str | None = None
    precision: str | None = None
    duplicates: str | None = None
    self_match: str | None = None
    missing: str | None = None
    no_relevant: str | None = None
    undefined: str | None = None
    depth: int | None = None
    judged_only: bool | None = None
    min_rel: float | None = None

    def __post_init__(self) -> None:
        check_options(type(self).__annotations__, {name: getattr(self, name) for name in self.__struct_fields__})
        if self.unjudged not in UNJUDGED:
            raise OptionError(f"unjudged {self.unjudged!r} is not one of {', '.join(UNJUDGED)}")
        if self.order not in ORDERS:
            raise OptionError(f"order {self.order!r} is not one of {', '.join(ORDERS)}")
        if self.correction in NOT_OFFERED:
            raise OptionError(
                f"correction {self.correction} is not offered: {NOT_OFFERED[self.correction]}",
                hint="take the default, maxt, which serves for challengers of a baseline and for all pairs",
            )
        given = [("correction", self.correction, list(CORRECTIONS))]
        given += [("test", name, list(ON_REQUEST)) for name in self.tests]
        for what, name, names in given:
            if name not in names:
                raise OptionError(f"{what} {name!r} is not one of {', '.join(names)}", hint=did_you_mean(name, names))
        self.settings(0.0 if self.margin is None else self.margin)

    @property
    def strata(self) -> tuple[str, ...]:
        return words_of(self.by)

    @property
    def tests(self) -> tuple[str, ...]:
        return words_of(self.also)

    def scoring(self) -> EvaluateRequest:
        """Decide how runs are scored; the measure that decides is always among the measures.

        A query that a run does not answer counts as empty unless said otherwise.
        """
        from rankscope import light  # the help of the command line needs none of these
        from rankscope.evaluation import EvaluateRequest

        own = {"measures", "queries", *ScoreOptions.__annotations__, "unjudged", "missing"} - {"weights"}
        given: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__ if name not in own}
        given |= {"anyway": self.anyway or self.problems is not None, "missing": self.missing or "zero"}
        request = EvaluateRequest.decide(self.measures, caller="compare", **given)
        primary = self.primary_of(request.measures)
        more = () if primary in request.measures else (primary,)
        return light.replace(request, measures=(*more, *request.measures))

    def primary_of(self, measures: Sequence[Measure]) -> Measure:
        """Return the measure that decides, as the profile computes it: the usual one unless another one is named."""
        from rankscope.evaluation import chosen_profile, decide_measures, deciding_measure
        from rankscope.measures.parse import parse_measure

        if self.primary is None:
            by_name = {measure.name: measure for measure in measures}
            return by_name[deciding_measure(self.profile, list(by_name))]
        return decide_measures(chosen_profile(self.profile), parse_measure(self.primary))[0]

    def settings(self, margin: float) -> Settings:
        """Return what the statistics are made with; the margin is the one given, or the usual one of the measure."""
        return Settings(
            alpha=self.alpha,
            margin=margin,
            margin_given=self.margin is not None,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )


class ScoreOptions(TypedDict, total=False):
    """The options of `compare_scores`, for type checkers and editors: what is asked of scores that exist already."""

    baseline: str | None
    primary: MeasureLike | None
    margin: float | None
    by: Names
    queries: Any
    all_pairs: bool
    correction: str
    pool: bool
    cluster: str | None
    weights: str | None
    also: Names
    alpha: float
    n_resamples: int
    seed: int
    order: Literal["score", "given"]
    problems: Mapping[str, str] | None


class CompareOptions(ScoreOptions, EvaluateOptions, total=False):
    """The options of `compare`, for type checkers and editors: those of scores, and how runs become scores."""

    unjudged: Literal["auto", "uncertain", "irrelevant"]


def request_of(options: Mapping[str, Any], *, function: str, known: type[Any], measures: Any = None) -> CompareRequest:
    """Return the request that keywords of a function make; an unknown one is an error that names the closest."""
    check_keywords(function, options, known.__annotations__)
    primary = options.get("primary")
    named = {**options, "primary": primary.name} if isinstance(primary, Measure) else options
    return CompareRequest(measures=measures, **named)


def signature_with(function: Any, known: type[Any]) -> inspect.Signature:
    """Return a function's signature with its options by name, for help and for editors that look at run time."""
    defaults = {field.name: field.default for field in msgspec.structs.fields(CompareRequest)}
    plain = inspect.signature(function)
    parameters = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name],
            annotation=getattr(annotation, "__forward_arg__", annotation),  # as it is written
        )
        for name, annotation in known.__annotations__.items()
    ]
    return plain.replace(parameters=parameters)


@cache
def option_texts() -> dict[str, str]:
    """Return the help of every option, as the command line shows it."""
    corrections = list(CORRECTIONS)
    listed = f"{corrections[0]} (default), {', '.join(corrections[1:-1])} or {corrections[-1]}"
    return {
        name: " ".join(text.split()).format(corrections=listed, tests=", ".join(ON_REQUEST), files=table_endings())
        for name, text in field_docs(CompareRequest).items()
    }


def words_of(given: Names) -> tuple[str, ...]:
    """Return names that are given one by one, or several in a text."""
    texts = [given] if isinstance(given, str) else given
    return tuple(name for text in texts for name in text.replace(",", " ").split())
