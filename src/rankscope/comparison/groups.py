"""Groups of queries: all of them, or each language on its own; within each every pair and stratum."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import numpy as np
from msgspec import field

from rankscope._version import __version__
from rankscope.arrays import Bools, Floats
from rankscope.comparison.evidence import EvidenceSource, GroupEvidence
from rankscope.comparison.known_measures import known_measure, range_of
from rankscope.comparison.pairs import MANY_PAIRS, Contest, StratumName, TestedContest, compare_contests, weighted_mean
from rankscope.comparison.recommendation import recommend, recommend_in
from rankscope.comparison.records import (
    Comparison,
    Contrast,
    FileHashes,
    LanguageSpread,
    LeaderboardRow,
    PairResult,
    QrelsFile,
    QueryChange,
    QueryGroup,
    RepetitionFile,
    RunFile,
    RunToRun,
    SmallSet,
    Stratum,
    StratumPValues,
)
from rankscope.comparison.request import CompareRequest, Settings
from rankscope.comparison.verdict import MIN_UNITS, VerdictContext, verdict_of
from rankscope.data.queries import LANGUAGE, QueryTable
from rankscope.data.sources import Origin
from rankscope.data.texts import beginning, one_line
from rankscope.errors import OptionError
from rankscope.measures.repetitions import spread_of_means
from rankscope.measures.scores import Scores
from rankscope.printable import counted
from rankscope.records import Both, Record, or_none, replace
from rankscope.stats.interval import mean_interval
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import ON_REQUEST, contrast_p, sign_p, wins_and_losses
from rankscope.stats.units import Units

POOLED = "all languages pooled"
MANY_VALUES = 20
"""An attribute with more values than this makes strata only on request."""
SMALLEST_SLICE = 5
"""A stratum that was not asked for has at least this many queries."""
SHOWN_QUERIES = 5
LISTED_PAIRS = 2_000
"""Of all pairs of more systems than make so many, those with the best mean list the queries that changed most."""
FULL_BELOW = 1_000
"""Exploratory comparisons over fewer queries than this get everything that the primary one gets."""
WORDS = (4, 8, 15)
RELEVANT = (2, 5, 20)
"""Where the ranges of query length in words, and of the number of relevant docs, begin anew."""
SHORT_TEXT = 60
"""So much of a query's text is quoted within a sentence."""


class ComparisonInput(Record, eq=False):
    """Scores, and what is asked of them, with everything that a request leaves open decided."""

    scores: Scores
    request: CompareRequest
    settings: Settings
    primary: str
    baseline: str
    queries: QueryTable | None
    n_relevant: Mapping[str, int] | None
    problems: Mapping[str, str]
    """Why a system cannot be compared, by its name."""
    ids: tuple[str, ...]
    """All queries that any of the systems was scored on."""
    units: Units
    columns: Mapping[tuple[str, str], Floats]
    """Every system's scores by every measure, in the order of the queries; NaN where there is none."""
    repeated: Mapping[tuple[str, str], Floats] = field(default_factory=dict)
    """The same in each repetition (repetitions x queries), of systems that were asked several times."""

    @property
    def n_pairs(self) -> int:
        """How many pairs each group of queries has."""
        return math.comb(len(self.scores), 2) if self.request.all_pairs else len(self.scores) - 1

    def pairs_in(self, group: Bools) -> list[tuple[str, str]]:
        """Return the pairs to compare, the reference first; of all pairs the better mean is held against the lower."""
        if not self.request.all_pairs:
            return [(self.baseline, name) for name in self.scores if name != self.baseline]
        if self.request.order == "given":
            return list(combinations(self.scores, 2))
        return [(lower, better) for better, lower in combinations(self.means_in(group), 2)]

    def means_in(self, group: Bools) -> dict[str, float]:
        """Return every system's mean by the primary measure, the best first; NaN where no query has a score."""
        means = {}
        for name in self.scores:
            column = self.columns[name, self.primary]
            means[name] = weighted_mean(column, group & ~np.isnan(column), self.units)
        sign = 1 if self.primary in self.scores[self.baseline].lower_is_better else -1
        return dict(sorted(means.items(), key=lambda item: (math.isnan(item[1]), sign * item[1])))

    def ids_in(self, mask: Bools) -> tuple[str, ...]:
        return tuple(query for query, inside in zip(self.ids, mask.tolist(), strict=True) if inside)


def compare_groups(given: ComparisonInput, evidence: EvidenceSource | None = None) -> Comparison:
    """Compare every pair in every group of queries; evidence is at hand where runs are compared, not scores alone."""
    request, scores = given.request, given.scores
    isolated_by, masks = language_masks(given)
    if request.pool and not isolated_by:
        raise OptionError(
            "there is nothing to pool: the queries are not in several languages",
            hint="their attributes, given with queries, name the language of each",
        )
    systems = None
    if request.all_pairs and len(masks) == 1:
        ranked = scores if request.order == "given" else given.means_in(next(iter(masks.values())))
        matrix = np.column_stack([given.columns[name, given.primary] for name in ranked])
        undefined = np.isnan(matrix)
        systems = matrix if (undefined.all(axis=1) == undefined.any(axis=1)).all() else None
    tested = compare_contests(
        list(contests_of(given, masks)),
        given.settings,
        correction=request.correction,
        units=given.units,
        systems=systems,
    )
    contrasts = contrasts_of(given, [each.contest for each in tested])
    groups, weights, baseline = [], given.units.weights, None if request.all_pairs else given.baseline
    for name, mask in masks.items():
        inside = given.ids_in(mask)
        found = None
        if evidence is not None:
            found = GroupEvidence(evidence, inside, all_ids=given.ids, n_pairs=given.n_pairs)
        of_group = (each for each in tested if each.contest.group == name)
        best = next(iter(given.means_in(mask))) if given.n_pairs > LISTED_PAIRS and request.all_pairs else None
        results = tuple(pair_results(given, of_group, contrasts, found, listed=best))
        group = QueryGroup(
            name=name,
            n_queries=len(inside),
            pooled=name == POOLED,
            leaderboard=leaderboard_of(given, mask, results),
            comparisons=results,
            query_ids=inside,
            uncounted=() if weights is None else given.ids_in(mask & (weights == 0)),
        )
        groups.append(replace(group, recommendation=recommend_in(group, baseline)))
    languages = []
    for system in scores if isolated_by else ():
        column = given.columns[system, given.primary]
        means = {
            str(language): weighted_mean(column, mask & ~np.isnan(column), given.units)
            for language, mask in masks.items()
            if language != POOLED
        }
        languages.append(spread_of(system, means))
    clusters = dict(zip(given.ids, map(str, given.units.member.tolist()), strict=True))
    comparison = Comparison(
        rankscope=__version__,
        primary=given.primary,
        baseline=baseline,
        correction=request.correction,
        settings=given.settings,
        profile=scores.profile,
        policies=dict(scores.policies),
        qrels=QrelsFile(*path_and_digest(scores.qrels.origin), scores.qrels.n_queries),
        runs=tuple(
            RunFile(
                run.name,
                *path_and_digest(run.origin),
                tuple(RepetitionFile(*path_and_digest(each.origin)) for each in scores.repetitions.get(run.name, ())),
            )
            for run in scores.values()
        ),
        recommendation=recommend(groups, baseline),
        order=request.order,
        groups=tuple(groups),
        cluster=request.cluster,
        cluster_of=clusters if given.units.clustered else None,
        weights=request.weights,
        isolated_by=isolated_by,
        languages=tuple(languages),
        notes=(
            *(() if evidence is None else evidence.notes),
            *(f"{words}." for words in scores.lacking_in_words()),
            *left_out_of_many(given),
        ),
    )
    return comparison.with_scores(scores)


def left_out_of_many(given: ComparisonInput) -> Iterator[str]:
    """Say what the records of very many pairs do not hold."""
    if given.n_pairs > MANY_PAIRS:
        other = " Other measures are only averaged." if len(given.scores.measures) > 1 else ""
        yield (
            f"With more than {MANY_PAIRS} pairs each has its verdict, but neither a bootstrap interval nor chances, "
            f"and no worst case of unjudged docs.{other}"
        )
    if given.request.all_pairs and given.n_pairs > LISTED_PAIRS:
        yield (
            f"With more than {LISTED_PAIRS:,} pairs only those with the best system list the queries that changed "
            "most; comparison[a, b].queries has those of any pair."
        )


def path_and_digest(origin: Origin | None) -> tuple[str | None, str | None]:
    """Return the path and the SHA-256 of a file, nothing for data given in memory."""
    return (None, None) if origin is None else (origin.path, origin.sha256)


def language_masks(given: ComparisonInput) -> tuple[str | None, dict[str | None, Bools]]:
    """Return the queries of each language, where they are in several; else all queries as one nameless group."""
    whole = np.ones(len(given.ids), dtype=np.bool_)
    found = None if given.queries is None else given.queries.language
    language = {} if given.queries is None or found is None else given.queries.attributes[found]
    values = sorted({str(language[query]) for query in given.ids if query in language})
    if len(values) < 2:
        return None, {None: whole}
    masks: dict[str | None, Bools] = {value: members(given.ids, language, value) for value in values}
    others = ~np.any(list(masks.values()), axis=0)
    if others.any():  # no query may drop out of the answer
        masks[f"without {found}"] = others
    return found, {**masks, **({POOLED: whole} if given.request.pool else {})}


def members(ids: Sequence[str], values: Mapping[str, Any], value: str) -> Bools:
    return np.array([query in values and str(values[query]) == value for query in ids], dtype=np.bool_)


def strata_of(given: ComparisonInput, group: Bools) -> Iterator[tuple[StratumName, Bools]]:
    """Yield the strata asked for, then other parts of the queries in which a difference might sit."""
    wanted: list[tuple[str, Mapping[str, Any], bool]] = []
    if given.queries is not None:
        wanted += [(name, given.queries.attribute(name), True) for name in given.request.strata]
    if given.n_pairs <= MANY_PAIRS:
        wanted += [(name, values, False) for name, values in other_attributes(given).items()]
    inside = given.ids_in(group)
    for name, values, requested in wanted:
        present = {str(values[query]) for query in inside if query in values}
        for value in sorted(present, key=numbers_first) if requested or 2 <= len(present) <= MANY_VALUES else ():
            mask = members(given.ids, values, value) & group
            if requested or mask.sum() >= SMALLEST_SLICE:
                yield StratumName(name, value, requested), mask


def numbers_first(text: str) -> tuple[float, str]:
    """Order numbers, and ranges of them, by their size, before text."""
    head = text.split("-", 1)[0].rstrip("+")
    return (float(head), "") if head.replace(".", "", 1).isdigit() else (math.inf, text)


def counted_bins(values: Iterable[int], edges: tuple[int, ...]) -> list[str]:
    """Return words for whole numbers by range: with edges 2, 5 these are `1`, `2-4` and `5+`."""
    lows = [1, *edges]
    names = [f"{low}" if low == high - 1 else f"{low}-{high - 1}" for low, high in zip(lows, edges, strict=False)]
    names.append(f"{edges[-1]}+")
    return ["0" if value < 1 else names[bisect_right(edges, value)] for value in values]


def other_attributes(given: ComparisonInput) -> dict[str, Mapping[str, Any]]:
    """Return what else is known of queries: their other attributes, length, and number of relevant docs."""
    found: dict[str, Mapping[str, Any]] = {}
    if given.queries is not None:
        skipped = {*given.request.strata, given.request.cluster, given.request.weights}
        found |= {
            name: values
            for name, values in given.queries.attributes.items()
            if name not in skipped
            and name.lower() not in LANGUAGE
            and len(set(map(str, values.values()))) <= MANY_VALUES
        }
        texts = given.queries.texts or {}
        lengths = {query: len(texts[query].split()) for query in given.ids if query in texts}
        if lengths:
            found["query length in words"] = dict(zip(lengths, counted_bins(lengths.values(), WORDS), strict=True))
    if given.n_relevant is not None:
        counts = [given.n_relevant.get(query, 0) for query in given.ids]
        found["relevant docs"] = dict(zip(given.ids, counted_bins(counts, RELEVANT), strict=True))
    return found


def contests_of(given: ComparisonInput, masks: Mapping[str | None, Bools]) -> Iterator[Contest]:
    """Yield every contest: each pair in each group by each measure, the primary one first, then in each stratum."""
    units, columns, scores = given.units, given.columns, given.scores
    counts = np.ones(len(units.member), dtype=np.bool_) if units.weights is None else units.weights > 0
    measures = [given.primary, *(measure for measure in scores.measures if measure != given.primary)]
    if given.n_pairs > MANY_PAIRS:
        measures = measures[:1]
    ranges = {
        measure: range_of(measure, np.concatenate([columns[name, measure] for name in scores])) for measure in measures
    }
    qrels_digest = path_and_digest(scores.qrels.origin)[1]
    digest = {name: path_and_digest(run.origin)[1] for name, run in scores.items()}
    for group, mask in masks.items():
        # a query of weight 0 is no part of anything
        wanted: list[tuple[str, StratumName | None, Bools]] = [(measure, None, mask & counts) for measure in measures]
        wanted += [(given.primary, stratum, inside & counts) for stratum, inside in strata_of(given, mask)]
        for a, b in given.pairs_in(mask):
            for measure, stratum, inside in wanted:
                is_primary, known = measure == given.primary and stratum is None, known_measure(measure)
                lowest, highest = ranges[measure]
                yield Contest(
                    a=a,
                    b=b,
                    measure=measure,
                    role="primary" if is_primary else "exploratory",
                    scores_a=columns[a, measure],
                    scores_b=columns[b, measure],
                    mask=inside,
                    lower_is_better=measure in scores[given.baseline].lower_is_better,
                    furthest=float(highest - lowest),
                    group=group,
                    stratum=stratum,
                    in_full=is_primary or (stratum is None and int(inside.sum()) < FULL_BELOW),
                    can_test=known is None or not known.spec.over_all_queries,
                    hashes=FileHashes(qrels_digest, digest[a], digest[b]),
                )


def contrasts_of(given: ComparisonInput, contests: Sequence[Contest]) -> dict[Contest, Contrast]:
    """Return whether strata differ from all other queries; false discoveries are controlled over those of all pairs."""
    p_of: dict[Contest, float] = {}
    for contest in contests:
        if contest.role == "primary":
            main, differences = contest, None
        elif contest.stratum is not None:
            differences = main.differences if differences is None else differences
            p_of[contest] = contrast_p(differences, contest.mask, given.units)
    known = [contest for contest, p in p_of.items() if not math.isnan(p)]
    adjusted = dict(zip(known, benjamini_hochberg(np.array([p_of[c] for c in known])).tolist(), strict=True))
    return {contest: Contrast(or_none(p), adjusted.get(contest)) for contest, p in p_of.items()}


def pair_results(
    given: ComparisonInput,
    tested: Iterable[TestedContest],
    contrasts: Mapping[Contest, Contrast],
    evidence: GroupEvidence | None,
    *,
    listed: str | None = None,
) -> Iterator[PairResult]:
    """Yield every pair of a group by the primary measure, with its verdict, followed by the other measures.

    The queries that changed most are listed of pairs with the system that `listed` names; where it is None, of all.
    """
    answered = answered_by_system(given)
    texts = {} if given.queries is None else given.queries.texts or {}
    unit_names = tuple(
        f"{name} (“{beginning(one_line(texts[name]), SHORT_TEXT)}”)" if texts.get(name) else name
        for name in given.units.names(given.ids)
    )
    for (a, b), of_pair in groupby(tested, key=lambda each: (each.contest.a, each.contest.b)):
        main, *others = of_pair
        context = VerdictContext(
            margin_given=given.settings.margin_given,
            problem="; ".join(f"{name}: {given.problems[name]}" for name in (a, b) if name in given.problems)
            or found_by_one(given, main.contest),
            unit_names=unit_names,
            without_top_unit=main.without_top_unit,
        )
        strata = tuple(
            stratum_of(each.contest.stratum, each.result, contrasts[each.contest], given.settings)
            for each in others
            if each.contest.stratum is not None
        )
        more: dict[str, Any] = {"settle": (), "sensitivity": {}}
        if evidence is not None:
            context, more = evidence.of(main, context)
        more["repeats"] = run_to_run(given, main.contest)
        result = replace(
            main.result, strata=strata, **query_details(given, main, answered, lists=listed in (None, a, b)), **more
        )
        yield replace(result, verdict=verdict_of(result, context))
        for each in others:
            if each.contest.stratum is None:
                yield replace(each.result, repeats=run_to_run(given, each.contest))


def run_to_run(given: ComparisonInput, contest: Contest) -> RunToRun | None:
    """Return how much a pair changes from run to run, over its queries; None where both systems were asked once."""
    names = ((contest.a, contest.measure), (contest.b, contest.measure))
    if not any(name in given.repeated for name in names):
        return None
    known = ~np.isnan(contest.differences)
    if not known.any():
        return None
    means = [
        tuple(weighted_mean(scores, known, given.units) for scores in given.repeated.get(name, [given.columns[name]]))
        for name in names
    ]
    spread = Both(*(or_none(spread_of_means(each)) for each in means))
    return RunToRun(Both(*means), spread, math.hypot(spread.a or 0.0, spread.b or 0.0))


def stratum_of(name: StratumName, inside: PairResult, contrast: Contrast, settings: Settings) -> Stratum:
    too_few = inside.n_units < MIN_UNITS
    differs = contrast.adjusted is not None and contrast.adjusted <= settings.false_discoveries
    same = ("n_queries", "mean", "delta", "ci", "n_units", "wins", "ties", "losses", "standard_error")
    return Stratum(
        attribute=name.attribute,
        value=name.value,
        requested=name.requested,
        p=StratumPValues(inside.p.alone_permutation, inside.p.adjusted),
        contrast=contrast,
        stands_out=differs and not too_few,
        too_few=too_few,
        **{field: getattr(inside, field) for field in same},
    )


def found_by_one(given: ComparisonInput, contest: Contest) -> str:
    """Say so where a rank is known for one of the two only: left out, such queries favour the one that finds less."""
    measure = known_measure(contest.measure)
    if measure is None or not measure.spec.about_relevance or measure.spec.if_undefined != "skip":
        return ""
    for name, lacking, other in (
        (contest.b, contest.scores_b, contest.scores_a),
        (contest.a, contest.scores_a, contest.scores_b),
    ):
        only_other = given.ids_in(np.isnan(lacking) & ~np.isnan(other) & contest.mask)
        n = len(set(only_other).intersection(given.scores[name].query_ids))  # others were left out on purpose
        if n:
            return (
                f"{name} finds nothing for {counted(n, 'query')} where the other one does, and {contest.measure} "
                "leaves them out: who finds less would look better. RR counts them as 0."
            )
    return ""


def answered_by_system(given: ComparisonInput) -> dict[str, Bools]:
    """Return which of all queries each system answers."""
    place = {query: i for i, query in enumerate(given.ids)}
    found = {}
    for name, run in given.scores.items():
        found[name] = np.zeros(len(place), dtype=np.bool_)
        found[name][[place[query] for query in run.query_ids]] = run.answered
    return found


def query_details(
    given: ComparisonInput, main: TestedContest, answered: Mapping[str, Bools], *, lists: bool
) -> dict[str, Any]:
    """Return which queries a pair lacks, which changed most, and what other tests say of them."""
    contest, ids = main.contest, given.ids
    lacks_a, lacks_b = np.isnan(contest.scores_a), np.isnan(contest.scores_b)
    # queries that a system does not answer, though the other one has a score for them
    missing = [contest.mask & ~lacks & ~answered[name] for name, lacks in ((contest.a, lacks_b), (contest.b, lacks_a))]
    small = main.result.n_units < MIN_UNITS and main.result.differs
    details: dict[str, Any] = {
        "n_missing": Both(*(int(np.count_nonzero(mask)) for mask in missing)),
        "missing": Both(*(given.ids_in(mask) if mask.any() else () for mask in missing)),
        "n_unanswered": int(np.count_nonzero((missing[0] | missing[1]) & (lacks_a | lacks_b))),
        "n_one_sided": int(np.count_nonzero((lacks_a != lacks_b) & contest.mask)),
        "also_tested": (),
    }
    if not (lists or small or given.request.also):
        return details
    differences = contest.differences
    gains = -differences if contest.lower_is_better else differences
    texts = (None if given.queries is None else given.queries.texts) or {}

    def change(i: int) -> QueryChange:
        a, b = float(contest.scores_a[i]), float(contest.scores_b[i])
        return QueryChange(ids[i], a, b, b - a, texts.get(ids[i]))

    if lists or small:
        shown = max(SHOWN_QUERIES, MIN_UNITS - 1) if small else SHOWN_QUERIES
        details["worst"] = tuple(change(i) for i in smallest_first(gains, shown) if gains[i] < 0)
        details["best"] = tuple(change(i) for i in smallest_first(-gains, shown) if gains[i] > 0)
    if small:
        by_size = smallest_first(gains, len(ids)), smallest_first(-gains, len(ids))
        details["small_set"] = small_set_of(given, gains, *by_size)
    tests = given.request.tests if main.result.n_queries else ()
    if tests:
        column = given.units.sums(differences[:, None]).column(0)
        drawn = {"n_resamples": given.settings.n_resamples, "seed": given.settings.seed}
        details["also_tested"] = tuple(ON_REQUEST[name](column, **drawn) for name in tests)
    return details


def smallest_first(values: Floats, n: int) -> list[int]:
    """Return where the n smallest values are, in their order, equal ones as they come; NaN is none of them."""
    known = np.flatnonzero(~np.isnan(values))
    if len(known) > n > 0:  # all others need no order
        known = known[values[known] <= np.partition(values[known], n - 1)[n - 1]]
    return list(map(int, known[np.argsort(values[known], kind="stable")][:n]))


def small_set_of(
    given: ComparisonInput, gains: Floats, worst_first: Sequence[int], best_first: Sequence[int]
) -> SmallSet:
    """Return who won where, by name, and the sign test of the units."""
    units = given.units.sums(gains[:, None]).column(0)
    wins, losses = wins_and_losses(units)
    counts_alike = not units.weighted
    return SmallSet(
        won=tuple(given.ids[i] for i in best_first if gains[i] > 0),
        lost=tuple(given.ids[i] for i in worst_first if gains[i] < 0),
        tied=tuple(given.ids[i] for i in worst_first if gains[i] == 0),
        n_differ=wins + losses,
        sign_p=sign_p(wins, losses) if counts_alike else None,
        smallest_p=sign_p(wins + losses, 0) if counts_alike else None,
    )


def leaderboard_of(given: ComparisonInput, mask: Bools, results: Sequence[PairResult]) -> tuple[LeaderboardRow, ...]:
    """Return the systems, best mean first; where all pairs are compared, with ranks by verdict."""
    units = given.units
    beats: dict[str, list[str]] = {name: [] for name in given.scores}
    for result in results:
        code = "" if result.verdict is None or not given.request.all_pairs else result.verdict.code
        if code in ("better", "probably_better"):
            beats[result.b].append(result.a)
        elif code in ("worse", "probably_worse"):
            beats[result.a].append(result.b)
    losses = Counter(name for beaten in beats.values() for name in beaten)
    rows = []
    for name, mean in given.means_in(mask).items():
        column = np.where(mask, given.columns[name, given.primary], math.nan)
        known = ~np.isnan(column)
        if not math.isnan(mean):
            ci = mean_interval(
                column[known],
                level=given.settings.level,
                range=range_of(given.primary, column),
                clusters=units.member[known] if units.clustered else None,
                weights=None if units.weights is None else units.weights[known],
            )
            rank = 1 + losses[name] if given.request.all_pairs else None
            rows.append(LeaderboardRow(rank, name, mean, ci, int(known.sum()), tuple(beats[name])))
    return tuple(rows)


def spread_of(system: str, means: Mapping[str, float]) -> LanguageSpread:
    """Return a system's score over several languages, or collections, from the mean of each; each counts the same."""
    values = np.array(list(means.values()))
    by_language = {language: or_none(mean) for language, mean in means.items()}
    return LanguageSpread(system, by_language, or_none(float(values.mean())), or_none(float(values.var())))
