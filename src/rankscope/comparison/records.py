"""What a comparison found. These records are its JSON: what is written is read back as it was.

Attributes have the names of the JSON keys. A number that is undefined is None.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rankscope.analysis.movement import PairMovement
from rankscope.analysis.unjudged import DocToJudge
from rankscope.comparison.request import Settings
from rankscope.data.texts import Texts
from rankscope.errors import InputError, UnknownNameError
from rankscope.printable import printable
from rankscope.records import Both, Record, StoredRecord, or_nan, replace, to_builtins, to_json
from rankscope.shown import VIEWS, Plotted, Rendered, Tabular
from rankscope.stats.interval import Interval
from rankscope.stats.paired import Chances, Test

if TYPE_CHECKING:
    from rankscope.analysis.rankings import Rankings
    from rankscope.analysis.side_by_side import SideBySide
    from rankscope.measures.scores import Scores

PairKey: TypeAlias = tuple[str | None, str, str]
"""The group of queries, and the two systems."""
Role: TypeAlias = Literal["primary", "exploratory"]
Code: TypeAlias = Literal[
    "not_comparable",
    "identical",
    "same",
    "too_few",
    "better",
    "probably_better",
    "worse",
    "probably_worse",
    "cannot_tell",
    "not_safe",
]

Action: TypeAlias = Literal["use", "prefer", "keep", "either", "choose", "none", "by_group"]

PAIRS_IN_A_PIECE = 512
"""Pairs whose JSON is held at once while it is written."""
SHOWN_VERDICTS = 10
"""Verdicts in the repr of a comparison."""


class DifferenceInterval(Record):
    """The interval of a difference; both ends are None where there is none, as for too few units or without spread."""

    low: float | None
    high: float | None
    level: float
    method: str


class IntervalChecks(Record):
    """Intervals of the same difference by other methods, which decide nothing."""

    t: DifferenceInterval
    """Student's."""
    bca: Interval | None
    """The bootstrap's, where there are few units or skewed differences."""


class PValues(Record):
    """The p-values of a comparison, and how they were obtained."""

    adjusted: float | None
    """For its family; at most alpha exactly where the interval excludes 0."""
    method: str
    correction: str
    family_size: int
    n_resamples: int
    exact: bool
    """Whether all flips were tried."""
    alone_permutation: float | None
    """Of this pair's own sign flips, not adjusted."""
    alone_t: float | None
    """Of Student's t, not adjusted."""


class UnadjustedPValues(Record):
    """The p-values of a pair on its own."""

    permutation: float | None
    t: float | None


class Effect(Record):
    """The size of a paired difference, turned so that more is better."""

    d_z: float | None
    """The mean gain in units of its own standard deviation; null where nothing varies."""
    superiority: float | None
    """The share of queries won, ties counting half."""
    wins: int
    ties: int
    losses: int


class DetectableDifference(Record):
    """The smallest difference that this set of queries finds with some power, by the same formula as `plan`."""

    power: float
    critical: float | None
    """How many standard errors decide: those of the interval, the p-value and the verdict; null for too few flips."""
    value: float | None
    """Null where there is none: for too few flips, beyond what two scores can differ by, and where nothing varies, as
    identical systems say nothing of what could be found."""


class JudgedShares(Record):
    """How much of what each system is scored on is judged."""

    a: float | None
    b: float | None
    depth: int | None
    """How many results of each query the measure looks at; null for all."""


class UnjudgedCheck(Record, kw_only=True):
    """Whether a verdict would survive if unjudged docs of the system that is behind were relevant now and then."""

    strength: Literal["stands", "cautious", "not_safe"]
    system: str
    """The one whose unjudged docs are taken for relevant now and then."""
    n_unjudged: int | None = None
    """Docs without a judgment that only the system behind retrieved, within the depth the measure sees."""
    judged_relevant: float | None
    """The share of relevant docs among its judged ones at those ranks."""
    from_all_systems: bool
    """Whether that share is over all systems, as the one behind has too few judged docs."""
    tested_share: float
    """The share of relevant docs among unjudged ones at which the verdict was tried."""
    tipping_point: float | None = None
    """The smallest share at which the difference is gone; null where no share makes it so, or it was not looked for."""
    tipping_point_known: bool = False
    difference_then: float | None = None
    """For a difference called small: what it would be at the tested share."""


class Bounds(Record):
    """How far the unjudged docs among the results that a measure looks at could move a difference, at the worst."""

    low: float | None
    high: float | None
    useless: float | None
    """The difference if no unjudged doc were relevant."""
    perfect: float | None
    """The difference if every unjudged doc had the highest grade."""
    exact: bool = True
    """Whether the ends can be reached; else they are safe, but may be too far apart."""
    depth: int | None = None
    """How many results of each query are looked at; null for all."""


class StratumPValues(Record):
    """The p-values of a stratum's difference."""

    alone: float | None
    adjusted: float | None


class Contrast(Record):
    """Whether some queries differ from all others."""

    p: float | None
    """Null where that cannot be tested."""
    adjusted: float | None
    """The same, with false discoveries controlled among all strata of all pairs."""


class Stratum(Record, kw_only=True):
    """The difference within some of the queries."""

    attribute: str
    value: str
    requested: bool = False
    n_queries: int
    mean: Both[float | None]
    delta: float | None
    ci: DifferenceInterval
    n_units: int
    p: StratumPValues
    contrast: Contrast
    wins: int
    ties: int
    losses: int
    stands_out: bool = False
    """Whether the difference sits here: it is another one than among all other queries."""
    too_few: bool = False
    standard_error: float | None


class QueryChange(Record):
    """How one query changed."""

    query: str
    a: float
    b: float
    delta: float
    text: str | None = None
    """What was asked, where the queries are given."""


class SmallSet(Record, kw_only=True):
    """What can be said of fewer units than a verdict needs; none of it decides."""

    won: tuple[str, ...]
    """The queries that B wins, the largest gain first."""
    lost: tuple[str, ...]
    tied: tuple[str, ...]
    n_differ: int
    """Units that differ, which are what the sign test counts: clusters where these are given, else queries."""
    sign_p: float | None
    """Of the exact sign test, not adjusted; null where queries are weighted, which it does not know."""
    smallest_p: float | None
    """The smallest p-value that the sign test of so many units can have."""


class RunToRun(Record):
    """How much a pair changes from run to run, where its systems were asked several times; it decides nothing.

    The unit of evidence stays the query: scores are means over the repetitions, and so are means and difference.
    """

    means: Both[tuple[float, ...]]
    """Each system's mean in every repetition, over the same queries; one number where it was asked once."""
    spread: Both[float | None]
    """The standard deviation of these means; null where it was asked once, so that it is not known."""
    difference: float
    """That of the difference between one run of each, taken as independent: the root of the sum of squares.

    It is too small where a spread is not known."""

    @property
    def n(self) -> Both[int]:
        """How often each system was asked."""
        return Both(len(self.means.a), len(self.means.b))

    @property
    def error(self) -> float:
        """The standard error of the difference of the means over all repetitions, from the spread alone."""
        parts = zip((self.spread.a, self.spread.b), (self.n.a, self.n.b), strict=True)
        return math.sqrt(sum((spread or 0.0) ** 2 / n for spread, n in parts))


class Verdict(Record):
    """What is said: a code for programs, a sentence, the reason for it, and what limits it."""

    code: Code
    because: Literal["margin", "unjudged", "raters"] | None
    """What weakened a probable verdict: the margin, unjudged docs, or raters by whose grades it is the opposite."""
    text: str
    reason: str
    cautions: tuple[str, ...] = ()


class FileHashes(Record):
    """The SHA-256 of the files that a comparison rests on; null for data given in memory."""

    qrels: str | None = None
    a: str | None = None
    b: str | None = None


class PairResult(Record, kw_only=True, dict=True):
    """One pair of systems by one measure; verdict, strata and evidence belong to the primary measure."""

    systems: Both[str]
    measure: str
    role: Role
    n_queries: int
    """Queries for which both have a score."""
    n_units: int
    """Units of evidence: clusters where these are given, else queries."""
    n_effective: float
    """How many equally weighted queries they are worth."""
    n_missing: Both[int] | None = None
    missing: Both[tuple[str, ...]] | None = None
    """Queries that a system does not answer, though the other one has a score for them."""
    n_undefined: int
    mean: Both[float | None]
    delta: float | None
    """B minus A."""
    lower_is_better: bool
    standard_error: float | None
    ci: DifferenceInterval
    """The one that decides; it holds together with those of the family, and excludes 0 where p.adjusted <= alpha.

    Where every unit differs by the same amount there is none, and p decides alone."""
    ci_equivalence: DifferenceInterval
    """At level 1 - 2 alpha; where it lies within the margin, the difference is small."""
    ci_check: IntervalChecks
    p: PValues
    p_alone: UnadjustedPValues
    """Not adjusted."""
    effect: Effect
    mde: DetectableDifference
    n_needed: int | None
    """How many units would find a difference as small as the margin; null without a margin, or where nothing varies.

    A verdict takes at least 10 of them."""
    margin: float
    tost: bool
    """Whether the difference is shown to be below the margin."""
    bayes: Chances | None
    wins: int
    ties: int
    losses: int
    skew: float | None
    judged: JudgedShares | None = None
    unjudged: UnjudgedCheck | None = None
    """Whether the verdict survives relevant docs among the unjudged ones; null where they are not in doubt."""
    bounds: Bounds | None = None
    """What unjudged docs could change at the worst; null where they are not in doubt, or it cannot be worked out."""
    settle: tuple[DocToJudge, ...] | None = None
    """Docs whose grades could turn the verdict in the worst case, those that could move it most first; empty where the
    bounds settle it."""
    n_settle: int | None = None
    """How many such docs there are: of very many, only the first are listed. Null where there are none."""
    movement: PairMovement | None = None
    also_tested: tuple[Test, ...] | None = None
    """Other tests of the same differences that were asked for; they decide nothing."""
    sensitivity: dict[str, float | None] | None = None
    """The difference under other treatments of unjudged docs, by their names."""
    strata: tuple[Stratum, ...] | None = None
    worst: tuple[QueryChange, ...] | None = None
    best: tuple[QueryChange, ...] | None = None
    small_set: SmallSet | None = None
    """Who won where, and the sign test, where a difference has too few units for a verdict."""
    verdict: Verdict | None = None
    seed: int
    hashes: FileHashes = FileHashes()
    group: str | None = None
    """The group of queries, where there are several."""
    clustered: bool
    n_members: int
    """Queries that are part of it, scored or not."""
    n_unanswered: int = 0
    """Queries that are left out, as one of the two does not answer them."""
    n_one_sided: int = 0
    """Queries for which only one of the two has a score; they are left out."""
    critical_equivalence: float | None
    """How many standard errors decide at level 1 - 2 alpha."""
    repeats: RunToRun | None = None
    """How much it changes from run to run; null where both systems were asked once.

    What is known of docs (judged, unjudged, bounds, settle, movement) is then about the first run of each."""

    @property
    def pair(self) -> PairResult:
        """The numbers of the pair, which are this record itself."""
        return self

    @property
    def queries(self) -> PairQueries:
        """Every query on which the two are compared, with its text and both scores, the largest loss first."""
        comparison: Comparison | None = self.__dict__.get("comparison")
        if comparison is None:
            raise InputError(
                "this pair does not know the comparison that it is part of",
                hint=f"take it from there: comparison[{self.a!r}, {self.b!r}].queries",
            )
        return queries_of(comparison, self)

    @property
    def final_verdict(self) -> Verdict:
        """The verdict; a pair by another than the primary measure has none."""
        if self.verdict is None:
            raise InputError(f"{self.measure} is exploratory, and has no verdict", hint="take the primary measure")
        return self.verdict

    @property
    def a(self) -> str:
        return self.systems.a

    @property
    def b(self) -> str:
        return self.systems.b

    @property
    def sign(self) -> float:
        """1 where more is better, -1 where less is."""
        return -1.0 if self.lower_is_better else 1.0

    @property
    def gain(self) -> float:
        """The difference, turned so that more is better; NaN where it is undefined."""
        return self.sign * or_nan(self.delta)

    @property
    def lowest_gain(self) -> float:
        """The lower end of the deciding interval, turned so that more is better; NaN where there is none.

        Where every unit differs by the same amount, which needs no interval, it is this amount.
        """
        if self.standard_error == 0 and self.mde.critical is not None:
            return self.gain
        return -or_nan(self.ci.high) if self.lower_is_better else or_nan(self.ci.low)

    @property
    def differs(self) -> bool:
        return bool(self.wins or self.losses)


class PairQuery(Record):
    """One query of a pair: what was asked, and what both systems score."""

    query: str
    text: str | None
    """None where it is not known: give `queries` to `compare`."""
    a: float
    b: float
    delta: float
    """B minus A."""


class PairQueries(Tabular, Rendered, Record):
    """The queries of a pair by one measure, the largest loss of b first, whichever way the measure counts.

    Iterating over it gives a record for each query: `query`, `text`, `a`, `b` and `delta`, which is b minus a.
    """

    a: str
    """The name of the first system."""
    b: str
    measure: str
    lower_is_better: bool
    rows: tuple[PairQuery, ...]

    def __iter__(self) -> Iterator[PairQuery]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, query: str) -> PairQuery:
        """Return one query by its id."""
        for row in self.rows:
            if row.query == query:
                return row
        raise UnknownNameError(f"there is no query {query!r} among those of {self.a} and {self.b}")

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return {query: {text, a, b, delta}}."""
        return {row.query: {"text": row.text, "a": row.a, "b": row.b, "delta": row.delta} for row in self.rows}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return to_json(self, indent=1) + "\n"

    def __repr__(self) -> str:
        text: str = VIEWS["PairQueries"].text(self)
        return text


class Recommendation(Record):
    """What to do by the verdicts, in a sentence for people and in codes for programs; it claims nothing beyond them."""

    text: str
    action: Action
    """use: it is better; prefer: it is probably better; keep: the baseline, as no other is shown to be better; either:
    no difference that matters; choose: none of these is shown to be better than another; none: nothing can be said;
    by_group: groups differ."""
    systems: tuple[str, ...]
    """Those that the action is about."""
    code: Code
    """The verdict that it rests on."""
    more: str = ""
    """What else to know before acting on it."""


class LeaderboardRow(Record):
    """A system's place on the leaderboard."""

    rank: int | None
    """One more than the number of systems that are better by verdict; null where not all pairs are compared."""
    system: str
    mean: float
    ci: Interval | None
    """Null where there is none: too few queries, or all of them score the same."""
    n_queries: int
    beats: tuple[str, ...] = ()
    """The systems that it is better, or probably better, than."""


class QueryGroup(Record):
    """Queries that are compared as one: all of them, or those of one language."""

    name: str | None
    """Null where all queries are one group."""
    n_queries: int
    pooled: bool
    """Whether it mixes languages, which was asked for."""
    leaderboard: tuple[LeaderboardRow, ...]
    """The systems, best mean first; with ranks where all pairs are compared."""
    comparisons: tuple[PairResult, ...]
    """Every pair by the primary measure, each followed by the same pair by the others."""
    query_ids: tuple[str, ...]
    uncounted: tuple[str, ...] = ()
    """Those of weight 0, which have no part in any comparison."""
    recommendation: Recommendation | None = None
    """What to do by the verdicts on these queries; null in records of earlier versions."""

    @property
    def compared(self) -> tuple[PairResult, ...]:
        return tuple(result for result in self.comparisons if result.role == "primary")

    @property
    def is_over_same_queries(self) -> bool:
        """Whether the means of all systems are over the same queries; else the one that finds less might look best."""
        return not any(result.n_one_sided for result in self.compared)

    def exploratory(self, pair: PairResult) -> tuple[PairResult, ...]:
        """Return the same pair by the other measures."""
        return tuple(
            result for result in self.comparisons if result.role == "exploratory" and result.systems == pair.systems
        )


class LanguageSpread(Record):
    """A system's score over several languages: the mean of their means, and how far they lie apart."""

    system: str
    by_language: dict[str, float | None]
    mean: float | None
    """Each language counts the same."""
    variance: float | None
    """Of the languages' means, divided by their number."""


class JudgmentFile(Record):
    """One of several files of judgments that were put together."""

    path: str
    sha256: str
    n_added: int
    """Judgments of docs that the files before it do not have."""
    n_changed: int = 0
    """Docs to which it gives another grade than the files before it; the later one counts."""


class QrelsFile(Record):
    """The judgments that the scores rest on."""

    path: str | None
    sha256: str | None
    n_queries: int
    files: tuple[JudgmentFile, ...] = ()
    """Where they are from several files, the first with all of its judgments; there is no path then."""


class RepetitionFile(Record):
    """The run of one repetition."""

    path: str | None
    sha256: str | None


class RunFile(Record):
    """A system, and the file that its run was read from."""

    name: str
    path: str | None
    sha256: str | None
    repetitions: tuple[RepetitionFile, ...] = ()
    """The runs of all repetitions, where it was asked several times; the first is the one above."""


class Comparison(Tabular, Rendered, Plotted, StoredRecord, kw_only=True, dict=True):
    """The answer to: which is better, how sure is that, and where does the difference sit?

    It is written without the scores of every query, which `scores` has while they are at hand; `with_scores` adds them
    to a comparison that was read back, so that a report can be made of it.
    """

    rankscope: str
    """The version that made the record."""
    primary: str
    """The measure that decides."""
    baseline: str | None
    """The system that the others are compared with; null for all pairs."""
    correction: str
    """How several comparisons are corrected for."""
    cluster: str | None = None
    """The attribute that groups queries which are not independent."""
    weights: str | None = None
    """The attribute by which queries are weighted."""
    settings: Settings
    """Alpha, margin, power, number of resamples, seed."""
    profile: str | None
    policies: dict[str, Any]
    qrels: QrelsFile
    runs: tuple[RunFile, ...]
    isolated_by: str | None = None
    """The attribute of queries whose values are not pooled, such as language."""
    recommendation: Recommendation | None = None
    """What to do, by the verdicts of all groups; null in records of earlier versions."""
    order: str = "score"
    """How reports order systems: score, by the primary measure, or given, as they were named."""
    groups: tuple[QueryGroup, ...]
    languages: tuple[LanguageSpread, ...] = ()
    """Mean over languages, each counting the same, and the variance between them."""
    notes: tuple[str, ...] = ()
    cluster_of: dict[str, str] | None = None
    """The cluster of each query, where there are clusters."""
    look: int | None = None
    """Which comparison on these queries it is, counted from 1; null where no store counts them."""

    @property
    def scores(self) -> Scores:
        """The scores per query that were compared; a comparison that was read back has none until they are added."""
        scores: Scores | None = self.__dict__.get("scores")
        if scores is None:
            raise InputError(
                "a comparison that was read back has no scores of queries",
                hint="add those that it was made of: comparison.with_scores(rs.evaluate(…)), or "
                "with_scores(rs.Scores.from_json(text)) where they were kept",
            )
        return scores

    @property
    def has_scores(self) -> bool:
        """Whether the scores per query are at hand, which a report needs."""
        return "scores" in self.__dict__

    def with_scores(self, scores: Scores) -> Comparison:
        """Return the comparison with the scores per query that it was made of, which its JSON does not hold."""
        return self._with(scores=scores)

    @property
    def texts(self) -> Texts:
        """What was asked, and what docs are called, where queries and docs are given; else nothing is known."""
        texts: Texts | None = self.__dict__.get("texts")
        return texts or Texts()

    def with_texts(self, texts: Texts) -> Comparison:
        """Return the comparison with texts of queries and docs, which its report then shows."""
        return self._with(texts=texts)

    @property
    def lists(self) -> Mapping[PairKey, tuple[SideBySide, ...]]:
        """Both rankings of the queries that changed most, by (group, a, b); none where it was made of scores alone."""
        lists: Mapping[PairKey, tuple[SideBySide, ...]] = self.__dict__.get("lists", {})
        return lists

    def with_lists(self, lists: Mapping[PairKey, tuple[SideBySide, ...]]) -> Comparison:
        """Return the comparison with rankings of queries side by side, which its report then shows."""
        return self._with(lists=lists)

    def with_judgments_of(self, files: tuple[JudgmentFile, ...]) -> Comparison:
        """Return the comparison with the files whose judgments were put together for it."""
        named = replace(self, qrels=replace(self.qrels, files=files))
        named.__dict__.update(self.__dict__)
        return named

    def _with(self, **more: Any) -> Comparison:
        """Return the comparison with more at hand than its JSON holds."""
        result = replace(self)
        result.__dict__.update({**self.__dict__, **more})
        return result

    @property
    def rankings(self) -> Rankings | None:
        """The judgments and runs that were compared, for reports that look at docs; None where they are not at hand."""
        return self.__dict__.get("rankings")

    def with_look(self, look: int | None) -> Comparison:
        """Return the comparison with which one on these queries it is."""
        if look is None:
            return self
        result = replace(self, look=look)
        result.__dict__.update(self.__dict__)
        return result

    def with_rankings(self, rankings: Rankings) -> Comparison:
        """Return the comparison with the judgments and runs that it was made of, which are never written with it."""
        return self._with(rankings=rankings)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        kept = {name: value for name, value in self.__dict__.items() if name != "rankings"}
        return partial(Comparison, **fields), (), kept

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of all systems, in the order given."""
        return tuple(run.name for run in self.runs)

    def systems_in_order(self, group: QueryGroup) -> tuple[str, ...]:
        """Return the names as reports list them: the best mean first, or as they were given."""
        if self.order == "given":
            return self.systems
        return tuple(dict.fromkeys([*(place.system for place in group.leaderboard), *self.systems]))

    def pairs_in_order(self, group: QueryGroup) -> tuple[PairResult, ...]:
        """Return the pairs as reports list them: those of the best system first, or as they were given."""
        if self.order == "given":
            return group.compared
        place = {name: i for i, name in enumerate(self.systems_in_order(group))}
        if self.baseline is not None:
            return tuple(sorted(group.compared, key=lambda pair: place[pair.b]))
        return tuple(sorted(group.compared, key=lambda pair: sorted((place[pair.a], place[pair.b]))))

    def __iter__(self) -> Iterator[PairResult]:
        """Give each pair by the primary measure."""
        return (self._linked(result) for group in self.groups for result in group.compared)

    def _linked(self, result: PairResult) -> PairResult:
        """Return a pair that knows what it is part of, so that it has its queries."""
        linked = replace(result)
        linked.__dict__["comparison"] = self
        return linked

    def __getitem__(self, systems: tuple[str, str]) -> PairResult:
        """Return what was found of two systems, (a, b), as they were compared: differences are b minus a.

        The other order is an error, as every sign would be the wrong one. Of all pairs, b is the one with the better
        mean; with order="given", the one named later. Where there are several groups of queries, it is the first one's.
        """
        results = self.groups[0].compared
        for result in results:
            if (result.a, result.b) == systems:
                return self._linked(result)
        pairs = [(result.a, result.b) for result in results]
        if isinstance(systems, tuple) and systems[::-1] in pairs:
            hint = f"they were compared the other way round: comparison[{systems[1]!r}, {systems[0]!r}]"
        else:
            more = f", and {len(pairs) - SHOWN_VERDICTS} more" if len(pairs) > SHOWN_VERDICTS else ""
            hint = f"there are {', '.join(map(str, pairs[:SHOWN_VERDICTS]))}{more}"
        raise UnknownNameError(f"{systems} were not compared", hint=hint)

    def to_json(self) -> str:
        """Return the record as JSON, from which `from_json` makes an equal one."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """Yield the JSON of the record piece by piece: that of very many pairs is larger than anybody wants to hold."""
        gap = f"pairs of a group {secrets.token_hex(16)}"  # nothing else in the record is the same text
        groups = [replace(group, comparisons=()) for group in self.groups]
        shell = to_builtins(replace(self, groups=tuple(groups)))
        for group, written in zip(self.groups, shell["groups"], strict=True):
            written["comparisons"] = [gap] if group.comparisons else []
        before, *others = (to_json(shell, indent=1) + "\n").split(f'"{gap}"')
        yield before
        filled = (group.comparisons for group in self.groups if group.comparisons)
        for pairs, after in zip(filled, others, strict=True):
            for start in range(0, len(pairs), PAIRS_IN_A_PIECE):
                text = to_json(pairs[start : start + PAIRS_IN_A_PIECE], indent=1)
                # a list at this depth, without its brackets
                inner = text[len("[\n ") : -len("\n]")].replace("\n", "\n" + " " * 3)
                yield inner if start == 0 else ",\n" + " " * 4 + inner
            yield after

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON record whose schema is published."""
        record: dict[str, Any] = json.loads(to_json(self, indent=None))
        return record

    def report(self, *, command: str = "") -> Any:
        """Return the report, which `render` turns into text, HTML, Markdown or LaTeX; it needs the scores."""
        return VIEWS["Comparison"].report(self, command=command)

    def __repr__(self) -> str:
        """Return the recommendation, then the verdicts, of many the first."""
        lines = [] if self.recommendation is None else [self.recommendation.text]
        pairs = [pair for group in self.groups for pair in self.pairs_in_order(group)]
        for pair in pairs[:SHOWN_VERDICTS]:
            where = f" ({pair.group})" if pair.group else ""
            lines.append(f"{pair.b} vs {pair.a}{where}: {pair.final_verdict.text} {pair.final_verdict.reason}".rstrip())
        more = len(pairs) - SHOWN_VERDICTS
        return "\n".join([*map(printable, lines), *([f"… and {more:,} more pairs"] if more > 0 else [])])


def queries_of(comparison: Comparison, pair: PairResult) -> PairQueries:
    """Return the queries on which a pair is compared, the largest loss first."""
    group = next(group for group in comparison.groups if group.name == pair.group)
    counted = set(group.query_ids).difference(group.uncounted)
    a, b = (
        dict(zip(run.query_ids, run.column(pair.measure).tolist(), strict=True))
        for run in (comparison.scores[pair.a], comparison.scores[pair.b])
    )
    rows = [
        PairQuery(query, comparison.texts.query(query) or None, a[query], b[query], b[query] - a[query])
        for query in a
        if query in counted and query in b and not math.isnan(a[query]) and not math.isnan(b[query])
    ]
    rows.sort(key=lambda row: pair.sign * row.delta)
    return PairQueries(pair.a, pair.b, pair.measure, pair.lower_is_better, tuple(rows))
