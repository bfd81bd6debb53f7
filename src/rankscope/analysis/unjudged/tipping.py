"""The tipping point: how often the unjudged docs of the system that is behind would have to be relevant to close the gap.

Bounds over all judgments that unjudged docs could get are wide, and most of what they cover never happens: unjudged
docs are as a rule less often relevant than judged ones. So here every unjudged doc of the system that is behind is
relevant at some rate, with a grade like those of the relevant docs of the qrels. A doc that both systems retrieved gets
one judgment for both, docs that only the leader retrieved stay not relevant, and the ideal ranking moves along. What
becomes of the difference is averaged over a number of random draws, the same ones at every rate.

The yardstick for the rate is r95: what the share of relevant docs among the judged docs of that system may be at most.
Whether a verdict stands is decided at 0.8 and 0.6 times r95 alone. The tipping point, the lowest rate at which the gap
is closed, is worked out where somebody wants to see it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.linear import FORMS, has_plain_gains
from rankscope.analysis.unjudged.pool import keeps_unjudged
from rankscope.analysis.unjudged.random_judgments import N_DRAWS, RandomJudgments
from rankscope.analysis.unjudged.sampled_scores import (
    RetrievedDocs,
    SampledDocs,
    SampledHits,
    SampledPrecisions,
    SampledScores,
    SampledSums,
    UnjudgedDocs,
)
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, MeasureError
from rankscope.light import replace
from rankscope.measures.gain import gains_of
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.records import Record

STANDS_AT, CAUTIOUS_AT = 0.8, 0.6
"""The two rates that decide, as shares of r95."""
FEWEST_JUDGED = 20
"""With fewer judged docs than this, a system's own share of relevant docs says too little."""
Z95 = 1.645
GRID = 20
"""The tipping point is first looked for in steps of 1/20."""
PRECISION = 1e-4
"""How closely it is then found."""
TIE = 1e-12
"""What rounding alone may make of a difference of 0, for scores up to 1."""
CELLS = 1 << 18
"""About how many numbers an array over all draws may hold; results do not depend on it."""
MOST_KEPT = 1 << 20
"""So many unjudged docs of a pair at most stay in memory, where they take 20 bytes each, while rates are tried."""
MOST_LEVELS = 16
"""With more different gains than this, the way by sums is not worth its while."""


def supports_tipping(measure: Measure, policies: Policies) -> bool:
    """Tell whether it can be worked out what a measure would be if unjudged docs were relevant.

    It can for every measure that looks at nothing but ranks and grades, and takes an unjudged doc for not relevant.
    """
    if measure.spec.needs or measure.base in ("Bpref", "infAP"):  # these leave unjudged docs out
        return False
    about_relevance = measure.spec.about_relevance or measure.base in ("NumRelRet", "Utility")
    return about_relevance and keeps_unjudged(measure, policies)


class RelevantShare(Record):
    """How many of a system's judged docs are relevant."""

    share: float
    """NaN where no doc is judged."""
    r95: float
    """The upper end of its one-sided 95 % interval (Wilson 1927); 1 where no doc is judged."""
    n_judged: int
    from_all_systems: bool


class TippingCheck(Record):
    """Whether the unjudged docs of the system that is behind could close the gap, were they relevant often enough."""

    behind: str
    ahead: str
    difference: float
    """The mean of the one that is behind less that of the other, on the judgments there are; below 0, better up."""
    n_unjudged: int
    """Pairs of query and doc that only the system behind retrieved, within the depth of the measure, unjudged."""
    judged_relevant: float
    """The share of relevant docs among the judged docs of the system behind, at the same ranks (r); NaN of none."""
    r95: float
    """What that share may be at most: the upper end of its one-sided 95 % Wilson interval."""
    n_judged: int
    """How many judged docs that share comes from."""
    from_all_systems: bool
    """Whether it comes from all systems, as the one behind has too few judged docs."""
    strength: Literal["stands", "cautious", "not_safe"]
    """stands: the gap stays if the unjudged docs are relevant at 0.8 r95; cautious: only at 0.6 r95; not_safe: it is
    gone at 0.6 r95 already."""


class SameCheck(Record):
    """Whether two systems stay as close as they are when the unjudged docs of either are relevant at 0.8 r95.

    All differences are the second system's mean less the first's, better up.
    """

    first_gains: float
    """If the unjudged docs of the first system are relevant."""
    second_gains: float
    holds: bool
    """Whether neither brings the difference beyond the margin."""


class TippingTable:
    """Checks pairs of systems by one measure on one set of qrels.

    The runs are aligned with these qrels under these policies. One is read when a check first needs to know its docs.
    What is drawn for a doc depends on the seed, the query and the doc alone.

    `means` are scores of systems over several runs, of which `runs` has the first. The difference is then that of the
    means, and moves with the rate as that of the first runs does.
    """

    def __init__(
        self,
        qrels: Qrels,
        runs: Mapping[str, AlignedRun],
        measure: Measure,
        policies: Policies,
        *,
        seed: int = 0,
        means: Mapping[str, Floats] | None = None,
    ) -> None:
        if not supports_tipping(measure, policies):
            raise MeasureError(
                f"what unjudged docs could do to {measure.name} cannot be worked out",
                hint="it can for measures of ranks and grades, with unjudged docs left in the lists",
            )
        self.query_ids = qrels.query_ids
        """The queries; `counted` and `weights` are in their order."""
        self.runs, self.policies = runs, policies
        self.sign = -1.0 if measure.spec.better == "lower" else 1.0
        given = measure.arguments(rel=policies.relevance_level)
        self.depth = min((each for each in (given.get("k"), policies.depth) if each is not None), default=None)
        self.ideal = qrels.ideal
        relevant = qrels.ideal[1][is_relevant(qrels.ideal[1], given)]
        if not len(relevant):  # then the lowest grade that would be relevant
            relevant = np.array([float(given.get("rel") or 1.0)])
        self.judgments = RandomJudgments(seed=seed, grades=relevant)
        self.judged, self.scores, self.counts = {}, {}, {}
        for name, run in runs.items():
            hits, place = on_all_queries(run.hits, qrels)
            self.scores[name] = np.full(len(qrels), math.nan)
            self.scores[name][place] = self.sign * score_hits(run.hits, [measure], policies)[0][:, 0]
            seen = hits if self.depth is None else hits.first(self.depth)
            self.judged[name] = judged = seen.kept(seen.grades >= 0)
            n_relevant = judged.per_query(is_relevant(judged.grades, given))
            self.counts[name] = np.stack([np.diff(judged.offsets), n_relevant])
        self.means = {**self.scores, **{name: self.sign * values for name, values in (means or {}).items()}}
        self.sampled = self.way_to_score(measure, given)
        self.retrieved: dict[str, RetrievedDocs] = {}
        self.gap: ScoreGap | None = None
        """That of the last check, as its tipping point is often asked for next."""

    def way_to_score(self, measure: Measure, given: dict[str, Any]) -> SampledScores:
        relevant, (_, grades) = self.judgments.grades, self.ideal
        if measure.base in FORMS and has_plain_gains(given):
            form = FORMS[measure.base](given, float(max(grades.max(initial=0.0), relevant.max())))
            if len(np.unique(form.gain(np.unique(grades)))) <= MOST_LEVELS:
                longest = max((int(each.n_retrieved.max(initial=0)) for each in self.judged.values()), default=0)
                return SampledSums(form, self.ideal, relevant, longest=longest)
        if measure.base == "AP":
            return SampledPrecisions(self.ideal, rel=given["rel"], most=given["k"] if given["norm"] == "min" else None)
        return SampledHits(measure, self.policies, self.ideal, relevant)

    def check(
        self, a: str, b: str, *, counted: Bools | None = None, weights: Floats | None = None
    ) -> TippingCheck | None:
        """Tell whether the lead of one system would survive if unjudged docs of the other were relevant.

        `counted` says which queries count, by default those on which both systems have a score, and `weights` how much
        each of them does. None where neither system is behind.
        """
        counted, shares = self.queries_of(a, b, counted, weights)
        means = [float(shares @ np.nan_to_num(self.means[name])) for name in (a, b)]
        if abs(means[0] - means[1]) <= TIE * max(1.0, *map(abs, means)):
            return None
        behind, ahead = (a, b) if means[0] < means[1] else (b, a)
        gap = self.gap = ScoreGap(self, behind, ahead, shares)
        relevant = self.relevant_share(behind, counted=counted)
        strength: Literal["stands", "cautious", "not_safe"] = "stands"
        if gap.is_closed_at(STANDS_AT * relevant.r95):
            strength = "not_safe" if gap.is_closed_at(CAUTIOUS_AT * relevant.r95) else "cautious"
        return TippingCheck(
            behind=behind,
            ahead=ahead,
            difference=-abs(means[0] - means[1]),
            n_unjudged=gap.n_only_first,
            judged_relevant=relevant.share,
            r95=relevant.r95,
            n_judged=relevant.n_judged,
            from_all_systems=relevant.from_all_systems,
            strength=strength,
        )

    def point(
        self, check: TippingCheck, *, counted: Bools | None = None, weights: Floats | None = None
    ) -> float | None:
        """Return the lowest rate of relevance that closes the gap, or None where no rate does.

        `counted` and `weights` are those that the check was made with.

        The mean over the draws need not rise with every step of the rate. So it is looked for where the check says that
        it is: above 0.8 r95 where the verdict stands, up to 0.6 r95 where it is not safe, else in between.
        """
        _, shares = self.queries_of(check.behind, check.ahead, counted, weights)
        gap, self.gap = self.gap, None
        if gap is None or not gap.is_of(check.behind, check.ahead, shares):
            gap = ScoreGap(self, check.behind, check.ahead, shares)
        caution, stand = CAUTIOUS_AT * check.r95, STANDS_AT * check.r95
        ends = {"stands": (stand, 1.0), "cautious": (caution, stand), "not_safe": (0.0, caution)}
        open_at, end = ends[check.strength]
        steps = [step / GRID for step in range(GRID) if open_at < step / GRID < end]
        closed_at = next((rate for rate in (*steps, end) if gap.is_closed_at(rate)), None)
        if closed_at is None:
            return None
        open_at = max([open_at, *(step for step in steps if step < closed_at)])
        while closed_at - open_at > PRECISION:
            middle = (open_at + closed_at) / 2
            open_at, closed_at = (open_at, middle) if gap.is_closed_at(middle) else (middle, closed_at)
        return closed_at

    def same_holds(
        self, a: str, b: str, margin: float, *, counted: Bools | None = None, weights: Floats | None = None
    ) -> SameCheck:
        """Tell whether two systems stay within a margin if the unjudged docs of either are relevant at 0.8 r95."""
        counted, shares = self.queries_of(a, b, counted, weights)
        rate_a, rate_b = (STANDS_AT * self.relevant_share(name, counted=counted).r95 for name in (a, b))
        first_gains = -ScoreGap(self, a, b, shares).at(rate_a)
        second_gains = ScoreGap(self, b, a, shares).at(rate_b)
        return SameCheck(
            first_gains=first_gains,
            second_gains=second_gains,
            holds=max(abs(first_gains), abs(second_gains)) <= margin + TIE,
        )

    def relevant_share(self, name: str, *, counted: Bools) -> RelevantShare:
        """Return the share of relevant docs among a system's judged docs; those of all systems where it has too few."""
        n_judged, n_relevant = (self.counts[name] @ counted).tolist()
        from_all_systems = n_judged < FEWEST_JUDGED
        if from_all_systems:
            n_judged, n_relevant = (np.sum(list(self.counts.values()), axis=0) @ counted).tolist()
        if not n_judged:
            return RelevantShare(math.nan, 1.0, 0, from_all_systems)
        share, squared = n_relevant / n_judged, Z95 * Z95
        spread = Z95 * math.sqrt(share * (1 - share) / n_judged + squared / (4 * n_judged * n_judged))
        upper = (share + squared / (2 * n_judged) + spread) / (1 + squared / n_judged)
        return RelevantShare(share, min(1.0, upper), round(n_judged), from_all_systems)

    def queries_of(self, a: str, b: str, counted: Bools | None, weights: Floats | None) -> tuple[Bools, Floats]:
        """Return which queries count and their shares in the mean, or say what is wrong with those given."""
        for given in (counted, weights):
            if given is not None and len(given) != len(self.query_ids):
                raise InputError(
                    f"{len(given)} values are given for {len(self.query_ids)} queries",
                    hint="give one for each query of the qrels, in the order of `query_ids`",
                )
        if counted is None:
            counted = ~np.isnan(self.scores[a] + self.scores[b])
        parts = np.where(counted, 1.0 if weights is None else weights, 0.0)
        return counted, parts / parts.sum() if parts.any() else parts

    def docs_of(self, name: str) -> RetrievedDocs:
        if name not in self.retrieved:
            docs = UnjudgedDocs(self.runs[name], self.judged[name], self.judgments, depth=self.depth)
            self.retrieved[name] = self.sampled.prepare(self.judged[name], docs)
        return self.retrieved[name]


class ScoreGap:
    """The mean difference between two systems, better up, at any rate of relevance among the first's unjudged docs."""

    def __init__(self, table: TippingTable, first: str, second: str, shares: Floats) -> None:
        self.table, self.shares, self.names = table, shares, (first, second)
        self.systems = table.docs_of(first), table.docs_of(second)
        docs = self.systems[0].unjudged
        has_unjudged = (docs.counts > 0) & (shares > 0)
        now = np.nan_to_num(table.scores[first]) - np.nan_to_num(table.scores[second])
        over_runs = np.nan_to_num(table.means[first]) - np.nan_to_num(table.means[second])
        self.constant = float(shares[~has_unjudged] @ now[~has_unjudged] + shares @ (over_runs - now))
        """What the other queries contribute, whose scores no judgment changes, and what other runs add."""
        queries = np.flatnonzero(has_unjudged)
        piece = np.cumsum(table.sampled.sizes(*self.systems)[queries]) * N_DRAWS // CELLS
        self.spans = np.split(queries, np.flatnonzero(np.diff(piece)) + 1) if len(queries) else []
        self.is_kept = int(docs.counts[queries].sum()) <= MOST_KEPT
        self.kept: list[SampledDocs] = []

    def is_of(self, first: str, second: str, shares: Floats) -> bool:
        return self.names == (first, second) and np.array_equal(self.shares, shares)

    def samples(self) -> Iterator[SampledDocs]:
        """Yield the docs span by span; they are found again each time where there are very many."""
        if self.kept:
            yield from self.kept
            return
        docs, others = (each.unjudged for each in self.systems)
        kept = []
        for spans in self.spans_together():
            sample = SampledDocs(docs, others, np.concatenate(spans), spans=spans)
            if self.is_kept:
                kept.append(sample)
            yield sample
        self.kept = kept

    def spans_together(self) -> Iterator[list[Ints]]:
        """Yield spans, as many at a time as are looked at together."""
        some, n_docs = list[Ints](), 0
        for span in self.spans:
            own = int(self.systems[0].unjudged.counts[span].sum())
            if some and n_docs + own > self.table.sampled.docs_at_once:
                yield some
                some, n_docs = [], 0
            some.append(span)
            n_docs += own
        if some:
            yield some

    @cached_property
    def n_only_first(self) -> int:
        return sum(sample.n_only_here for sample in self.samples())

    def at(self, rate: float) -> float:
        total = self.constant
        for sample in self.samples():
            differences = self.table.sampled.differences(sample, *self.systems, min(rate, 1.0))
            ends = np.cumsum([len(span) for span in sample.spans])[:-1]
            for span, own in zip(sample.spans, np.split(differences, ends), strict=True):
                total += self.table.sign * float(self.shares[span] @ own)
            if len(self.spans) > 1:
                sample.forget()
        return total

    def is_closed_at(self, rate: float) -> bool:
        return self.at(rate) >= -TIE


def is_relevant(grades: Floats, given: dict[str, Any]) -> Bools:
    """Tell which grades a measure with these arguments takes for relevant: those that it counts, or that have a gain."""
    if "gain" in given:
        return np.asarray(gains_of(grades, given["gain"], given["rel"]) > 0)
    return np.asarray(grades > 0 if given.get("rel") is None else grades >= given["rel"])


def on_all_queries(hits: Hits, qrels: Qrels) -> tuple[Hits, Ints]:
    """Return hits with a segment for every query of the qrels, and the places of those that there were.

    Queries that had been left out have retrieved nothing.
    """
    if hits.query_ids == qrels.query_ids:
        return hits, np.arange(len(qrels))
    place_of = {query: i for i, query in enumerate(qrels.query_ids)}
    place = np.array([place_of[query] for query in hits.query_ids], dtype=np.int64)
    n_retrieved, n_hits = np.zeros((2, len(qrels)), dtype=np.int64)
    n_retrieved[place], n_hits[place] = hits.n_retrieved, np.diff(hits.offsets)
    answered = np.zeros(len(qrels), dtype=np.bool_)
    answered[place] = hits.answered
    on_all = replace(
        hits,
        query_ids=qrels.query_ids,
        answered=answered,
        n_retrieved=n_retrieved,
        offsets=offsets_of(n_hits),
        ideal_offsets=qrels.ideal[0],
        ideal_grades=qrels.ideal[1],
    )
    return on_all, place
