"""The verdict: what may be said of a difference, by fixed rules, in plain words.

The first rule of the table that holds decides; then unjudged docs may weaken it. Report, page, gate, JUnit and exit
code read the verdict made here, and the interval in its words is the one in every table and chart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from rankscope.comparison.pairs import WithoutTopUnit
from rankscope.comparison.records import Bounds, Code, PairResult, Stratum, UnjudgedCheck, Verdict
from rankscope.printable import counted, listed
from rankscope.records import Record, or_nan, replace
from rankscope.stats.family import CORRECTIONS
from rankscope.stats.power import can_reach

WORDS: dict[Code, str] = {
    "better": "better",
    "probably_better": "probably better",
    "worse": "worse",
    "probably_worse": "probably worse",
    "same": "practically the same",
    "identical": "identical",
    "cannot_tell": "cannot tell",
    "not_safe": "not safe to call",
    "too_few": "too few queries",
    "not_comparable": "not comparable",
}
"""Each verdict in a word or two, the best first."""
TURNED: dict[Code, Code] = {
    "better": "worse",
    "probably_better": "probably_worse",
    "worse": "better",
    "probably_worse": "probably_better",
}
"""What a verdict is, seen from the other of two systems; the others stay."""
CLAIMS = ("better", "worse", "probably_better", "probably_worse")
Because: TypeAlias = Literal["margin", "unjudged", "raters"] | None
NEARLY_ALL = 0.995
"""A tipping point from here on would be printed as 100 %, and more than all cannot be."""
MIN_UNITS = 10
"""With fewer queries, or clusters of them, nothing is said."""
CAUTION_UNITS = 25
"""With fewer what is said comes with a caution."""
MANY_UNDEFINED = 0.10
LOPSIDED = 2.0
ENOUGH_IF_LOPSIDED = 100
"""With a skewness beyond LOPSIDED, fewer units than this make rough intervals."""


class VerdictContext(Record, kw_only=True):
    """What is known of a pair beyond its numbers."""

    margin_given: bool = False
    identical: bool = False
    """Whether both return the same docs in the same order."""
    problem: str = ""
    """Why the two cannot be compared at all; empty where they can."""
    unit_names: Sequence[str] = ()
    without_top_unit: WithoutTopUnit | None = None
    min_units: int = MIN_UNITS
    """With fewer queries, or clusters of them, there is no verdict."""


def verdict_of(pair: PairResult, known: VerdictContext) -> Verdict:
    """Return the verdict on B: what the first rule says, weakened where unjudged docs could change it."""
    code, unjudged = decide(pair, known), pair.unjudged
    because: Because = "margin" if code in ("probably_better", "probably_worse") else None
    if unjudged is not None and (code in CLAIMS or code == "same"):
        if unjudged.strength == "not_safe":
            code, because = "not_safe", "unjudged"
        elif unjudged.strength == "cautious" and code in ("better", "worse"):
            code, because = ("probably_better" if code == "better" else "probably_worse"), "unjudged"
    return Verdict(
        code=code,
        because=because,
        text=sentence(code, because, pair),
        reason=reason(code, because, pair, known),
        cautions=tuple(cautions(code, pair, known)),
    )


def lowered_for_raters(verdict: Verdict, pair: PairResult, against: Mapping[str, PairResult]) -> Verdict:
    """Return the verdict as it stands where some raters' grades alone show the opposite.

    `against` are the same pair by the grades of each of these raters: their intervals lie on the other side of 0.
    """
    if not against or verdict.code not in CLAIMS:
        return verdict
    found = tuple(
        f"By the grades of {name} alone, {each.b}'s {each.measure} is {direction(each)} ({interval_words(each)})."
        for name, each in against.items()
    )
    if verdict.code not in ("better", "worse"):
        return replace(verdict, cautions=(*verdict.cautions, *found))
    code: Code = "probably_better" if verdict.code == "better" else "probably_worse"
    text = f"{pair.b} is {WORDS[code]}, but not by the grades of {listed(list(against))} alone."
    return replace(verdict, code=code, because="raters", text=text, cautions=(*verdict.cautions, *found))


def decide(pair: PairResult, known: VerdictContext) -> Code:
    """Return the first rule of the table that holds, before unjudged docs are looked at."""
    if known.problem or not pair.n_queries:
        return "not_comparable"
    if known.identical:
        return "identical"
    code: Code = "same" if not pair.differs else "too_few" if pair.n_units < known.min_units else call(pair)
    return "not_comparable" if code == "same" and leaves_half_out(pair) else code


def leaves_half_out(pair: PairResult) -> bool:
    """Tell whether half of the queries or more have no score of both: that the rest is alike says nothing of them."""
    return 2 * pair.n_undefined >= pair.n_members


def half_words(pair: PairResult) -> str:
    if not pair.n_queries:
        return "No query has a score of both."
    known_by = f"Only {pair.n_queries} of {counted(pair.n_members, 'query')} have a {pair.measure} of both"
    return f"{known_by}; that they are alike there says nothing of the others."


def call(pair: PairResult, rest: WithoutTopUnit | None = None, *, more_error: float = 0.0) -> Code:
    """Return what the interval of a pair's gain says, or of the rest of it without a unit, by the margin.

    `more_error` is added to the standard error, as independent of it.
    """
    gain, margin = pair.gain, pair.margin
    error, critical, narrow = map(or_nan, (pair.standard_error, pair.mde.critical, pair.critical_equivalence))
    if rest is not None:
        gain, error, critical, narrow = pair.sign * rest.delta, rest.error, rest.critical, rest.critical_equivalence
    error = math.hypot(error, more_error) if more_error else error
    half = critical * error
    if margin > 0 and abs(gain) + narrow * error < margin:
        return "same"
    if gain - half > margin:
        return "better"
    if gain + half < -margin:
        return "worse"
    if gain - half > 0:
        return "probably_better"
    return "probably_worse" if gain + half < 0 else "cannot_tell"


def short_words(code: Code, pair: PairResult) -> str:
    return "no score differs" if code == "same" and not pair.differs else WORDS[code]


def sentence(code: Code, because: Because, pair: PairResult) -> str:
    unless = ""
    if because == "unjudged" and pair.unjudged is not None:
        unless = f"unless {pair.unjudged.system}'s unjudged results are unusually good"
    return {
        "not_comparable": "Not comparable.",
        "identical": "The rankings are identical.",
        "not_safe": "Not safe to call: too many unjudged results.",
        "too_few": f"Too few {unit_word(pair)} to call (n={pair.n_units}).",
        "better": f"{pair.b} is better.",
        "probably_better": f"{pair.b} is probably better, {unless or 'but the gain may be too small to matter'}.",
        "worse": f"{pair.b} is worse.",
        "probably_worse": f"{pair.b} is probably worse, {unless or 'but the loss may be too small to matter'}.",
        "same": f"Practically the same (difference below {pair.margin:g})."
        if pair.differs
        else "No query's score differs.",
        "cannot_tell": "Cannot tell.",
    }[code]


def reason(code: Code, because: Because, pair: PairResult, known: VerdictContext, *, after_advice: bool = False) -> str:
    """Say what a verdict rests on; `after_advice` without what a recommendation above it has said."""
    margin = f"{'your' if known.margin_given else 'the'} margin of {pair.margin:g}"
    if code == "not_comparable":
        return known.problem or half_words(pair)
    if code in ("identical", "same") and not pair.differs:
        return f"Both have the same {pair.measure} on each of {counted(pair.n_queries, 'query')}."
    if code == "not_safe":
        return "" if pair.unjudged is None else not_safe_words(pair, pair.unjudged, margin)
    whose = f"{pair.b}'s" if after_advice else "Its"
    side = f"{whose} {pair.measure} is {direction(pair)}"
    where = f"{side} ({interval_words(pair)})"
    if code == "too_few":
        needed = "" if after_advice else f"At least {known.min_units} {unit_word(pair)} are needed for a verdict. "
        return f"{needed}{side}. {small_set_words(pair)}".rstrip()
    if code == "cannot_tell":
        return f"{where}. {what_could_be_found(pair)}"
    if code == "same":
        return same_words(pair, whose, margin)
    beyond = "more than"
    if after_advice and pair.standard_error:
        ends = f"{with_sign(pair.ci.low, pair)} to {with_sign(pair.ci.high, pair)}"
        where, beyond = f"The {level_words(pair)} of the difference ({pair.b} - {pair.a}) is {ends}", "beyond"
    if pair.margin == 0:
        none = "With a margin of 0" if known.margin_given else "No margin is given, so"
        return f"{where}. {none} any difference counts."
    if code in ("better", "worse") or because == "unjudged":
        return f"{where}, {beyond} {margin}."
    return f"{where}; the interval reaches into {margin}."


def same_words(pair: PairResult, whose: str, margin: str) -> str:
    """Say how a difference lies within the margin."""
    side = f"{whose} {pair.measure} is {direction(pair)}"
    if not pair.standard_error:
        return f"{side} on every query, so there is no interval; that is within {margin}."
    small = pair.ci_equivalence
    ends = f"{with_sign(small.low, pair)} to {with_sign(small.high, pair)}"
    within = f"the {small.level * 100:.4g}% interval is {ends}"
    if or_nan(pair.ci.low) > 0 or or_nan(pair.ci.high) < 0:
        size = f"measurably {direction(pair)} ({interval_words(pair)})"
        return f"{whose} {pair.measure} is {size}, but by less than {margin}: {within}."
    return f"{side} ({interval_words(pair)}); {within}, within {margin}."


def small_set_words(pair: PairResult) -> str:
    """Say who won where, by name, and what the exact sign test can say of so few units."""
    small = pair.small_set
    if small is None:
        return ""

    def named(queries: Sequence[str]) -> str:
        few = ", ".join(queries[: MIN_UNITS - 1]) + (", …" if len(queries) >= MIN_UNITS else "")
        return f"{counted(len(queries), 'query')} ({few})" if queries else "none"

    ties = f", and ties on {named(small.tied)}" if small.tied else ""
    words = f"It wins {named(small.won)} and loses {named(small.lost)}{ties}."
    if small.sign_p is None or small.smallest_p is None:
        return f"{words} The sign test knows no weights."
    unit = "cluster" if pair.clustered else "query"
    which = f"{counted(small.n_differ, unit)} that differ{'s' if small.n_differ == 1 else ''}"
    alone = ", not adjusted for the other comparisons" if pair.p.family_size > 1 else ""
    return (
        f"{words} Exact sign test: p = {small.sign_p:.4g}{alone}; with {which} "
        f"it cannot be below {small.smallest_p:.4g}."
    )


def finds_nothing_words(pair: PairResult) -> str:
    if not can_reach(pair.n_units, 1 - pair.ci.level):
        return f"So few {unit_word(pair)} can find nothing at this level."
    return f"So few {unit_word(pair)} find no difference with {pair.mde.power:.0%} chance."


def what_could_be_found(pair: PairResult) -> str:
    if pair.mde.value is None:
        return finds_nothing_words(pair)
    needed = ""
    if pair.n_needed is not None and pair.n_needed > pair.n_units:
        needed = f"; you would need about {about(pair.n_needed)} {unit_word(pair)} for {pair.margin:g}"
    return f"This set can only find differences above {pair.mde.value:.{decimals(pair)}f}{needed}."


def not_safe_words(pair: PairResult, check: UnjudgedCheck, margin: str) -> str:
    """Say how relevant unjudged docs would have to be to turn the difference, and how relevant judged ones are."""
    if check.difference_then is not None:
        return (
            f"On the judgments there are, the difference is below {margin}; but if "
            f"{check.tested_share:.0%} of {check.system}'s unjudged results were relevant, it would be "
            f"{check.difference_then:+.3f}. {typical_words(check)}"
        )
    delta = or_nan(pair.delta) if check.system == pair.b else -or_nan(pair.delta)
    size = f"{check.system} is {'higher' if delta > 0 else 'lower'} by {abs(delta):.{decimals(pair)}f}"
    turned = f"unless more than {check.tipping_point or 0.0:.0%} of its unjudged results are relevant"
    if not check.tipping_point_known:
        turned = f"but {check.tested_share:.0%} of its unjudged results being relevant would be enough to reverse it"
    return f"{size}, {turned}. {typical_words(check)}"


def typical_words(check: UnjudgedCheck) -> str:
    whose = "all systems' judged ones" if check.from_all_systems else "its judged ones"
    return (
        f"(Of {whose} {or_nan(check.judged_relevant):.0%} are; unjudged docs are usually about half as often relevant.)"
    )


def direction(pair: PairResult) -> str:
    """Say on which side B is, and how far."""
    delta = or_nan(pair.delta)
    if delta == 0:
        return "equal on average"
    size = f"{abs(delta):.{decimals(pair)}f}"
    if float(size) == 0:
        size = f"less than {10.0 ** -decimals(pair):g}"
    return f"{'higher' if delta > 0 else 'lower'} by {size}"


def level_words(pair: PairResult) -> str:
    is_wider = pair.role == "primary" and pair.p.family_size > 1 and CORRECTIONS[pair.p.correction].simultaneous
    return f"{'simultaneous ' if is_wider else ''}{pair.ci.level * 100:.4g}% CI"


def interval_words(pair: PairResult) -> str:
    """Return the interval of the difference in words, as every table shows it."""
    if not pair.differs and pair.n_queries:
        return "no query's score differs, so there is no interval"
    if pair.standard_error == 0:
        return "by exactly this much for every query, so there is no interval"
    if pair.ci.low is None:
        return f"no interval: too few {unit_word(pair)}"
    return f"{level_words(pair)} {with_sign(pair.ci.low, pair)} to {with_sign(pair.ci.high, pair)}"


def cautions(code: Code, pair: PairResult, known: VerdictContext) -> Iterator[str]:
    """Say what else must be known before acting on the verdict."""
    if pair.n_units >= MIN_UNITS and (few := few_differ_words(pair)):
        yield f"{few}."
    if MIN_UNITS <= pair.n_units < CAUTION_UNITS and pair.differs:
        yield f"Only {pair.n_units} {unit_word(pair)}: {few_words(pair)}."
    left_out = {
        "one side does not answer them": pair.n_unanswered,
        f"{pair.measure} is undefined": pair.n_undefined - pair.n_unanswered,
    }
    for why, n in left_out.items():
        if n:
            share = n / pair.n_members
            more = f" That is {share:.0%} of all: the rest may not represent them." if share > MANY_UNDEFINED else ""
            yield f"{counted(n, 'query')} left out, as {why}.{more}"
    rest = known.without_top_unit
    if code in CLAIMS and rest is not None and not math.isnan(rest.error):
        after = call(pair, rest)
        if after not in (call(pair), code):  # unjudged docs may have weakened it to that already
            name = known.unit_names[rest.unit] if known.unit_names else f"number {rest.unit + 1}"
            what = f"the cluster of query {name}" if pair.clustered else f"query {name}"
            would = "would" if rest.is_exact else "would probably"
            yield f"It rests on {what}: without it the verdict {would} be another one ({WORDS[after]})."
    if is_lopsided(pair):
        yield (
            f"The differences are skewed (skewness {pair.skew:+.1f}): with {pair.n_units} {unit_word(pair)} "
            "the interval is rough."
        )
    yield from run_to_run_words(code, pair, margin_given=known.margin_given)
    yield from unjudged_words(code, pair)


def run_to_run_words(code: Code, pair: PairResult, *, margin_given: bool) -> Iterator[str]:
    """Say what the spread between repetitions means for a difference, and whether the verdict survives it.

    The interval counts what changes query by query, not what changes for all queries of a run at once. So the spread is
    added to its error once more; where the verdict would then be another one, that is said.
    """
    found = pair.repeats
    if found is None or not found.difference:
        return
    margin = f"{'your' if margin_given else 'the'} margin of {pair.margin:g}"
    if pair.margin and found.difference > pair.margin:
        size = spread_text(found.difference, pair.margin)
        yield (
            f"From run to run the difference between {pair.b} and {pair.a} changes by {size} (standard deviation), "
            f"more than {margin}: a difference that small between two single runs says nothing."
        )
    if code in (*CLAIMS, "same"):
        after = call(pair, more_error=found.error)
        if after not in (call(pair), code):
            yield (
                "It rests on few repetitions: with the spread from run to run added to the error, the verdict would be "
                f"another one ({WORDS[after]})."
            )


def spread_text(spread: float, margin: float = 0.0) -> str:
    """Print a spread with two digits that count, or more where it would look as if it were the margin."""
    digits = 2
    while digits < 9 and spread != margin and float(f"{spread:.{digits}g}") == margin:
        digits += 1
    return f"{spread:.{max(0, digits - 1 - math.floor(math.log10(spread)))}f}" if spread > 0 else "0"


def is_lopsided(pair: PairResult) -> bool:
    """Tell whether differences are so lopsided that the interval of so few is rough."""
    return abs(or_nan(pair.skew)) > LOPSIDED and MIN_UNITS <= pair.n_units < ENOUGH_IF_LOPSIDED and pair.differs


def few_differ_words(pair: PairResult) -> str:
    """Say where so few queries differ that p cannot reach the level: flipped signs of the others change nothing."""
    n_differ, alpha = pair.wins + pair.losses, 1 - pair.ci.level
    if not n_differ or pair.p.method == "t" or can_reach(n_differ, alpha):
        return ""
    verb = "differs" if n_differ == 1 else "differ"
    only = f"Only {n_differ} of {counted(pair.n_queries, 'query')} {verb} in {pair.measure}"
    return f"{only}: too few for p to reach {alpha:.3g}, wherever the interval ends"


def few_words(pair: PairResult) -> str:
    if pair.standard_error:
        return "intervals from so few are rough"
    return "that so few all differ alike does not mean that others would"


def unjudged_words(code: Code, pair: PairResult) -> Iterator[str]:
    """Say how much is unjudged, and what that could do to the verdict."""
    check, judged = pair.unjudged, pair.judged
    if judged is None or check is None or code == "not_safe":
        return
    share_a, share_b = or_nan(judged.a), or_nan(judged.b)
    if min(share_a, share_b) >= 1:
        return
    among = "results" if judged.depth is None else f"first {judged.depth} results"
    shares = f"Unjudged: {1 - share_b:.0%} of {pair.b}'s {among}, {1 - share_a:.0%} of {pair.a}'s."
    yield f"{shares} {turning_words(code, check, pair.bounds)}"


def turning_words(code: Code, check: UnjudgedCheck, bounds: Bounds | None) -> str:
    """Say which share of relevant docs among the unjudged ones would turn a verdict.

    That share is of docs with grades like those judged so far. The worst case, in which the best grades go where they
    change most, may turn what no share does.
    """
    theirs, typical = f"{check.system}'s unjudged results", f" {typical_words(check)}"
    if code == "same" or (check.strength == "stands" and not check.tipping_point_known):
        then = f"It holds even if {check.tested_share:.0%} of {theirs} are relevant."
    elif not check.tipping_point_known:
        then = f"It would change if {check.tested_share:.0%} of {theirs} were relevant."
    elif check.tipping_point is not None and check.tipping_point >= NEARLY_ALL:
        then = f"It would take nearly all of {theirs} being relevant, with grades like judged docs, to reverse it."
    elif check.tipping_point is not None:
        then = (
            f"The difference would be reversed only if more than {check.tipping_point:.0%} of {theirs} were relevant."
        )
    else:
        then, typical = never_words(theirs, bounds), ""
    return f"{then}{typical}"


def never_words(theirs: str, bounds: Bounds | None) -> str:
    """Say that no share of relevant docs closes a gap, and whether the worst case does."""
    if bounds is not None and (or_nan(bounds.low) > 0 or or_nan(bounds.high) < 0):
        return "No grades of unjudged docs could reverse the difference, not even in the worst case."
    still = f"Even if all of {theirs} were relevant, with grades like those of judged docs, it would not be reversed"
    return f"{still}." if bounds is None else f"{still}; in the worst case it could be."


def measure_words(pair: PairResult) -> str:
    return f"{pair.measure} (lower is better)" if pair.lower_is_better else pair.measure


def unit_word(pair: PairResult) -> str:
    return "clusters" if pair.clustered else "queries"


def about(number: int) -> str:
    """Print how many queries it would take with two digits that count, rounded up: it is known no better."""
    step = 10 ** max(0, len(str(number)) - 2)
    return f"{math.ceil(number / step) * step:,}"


def with_sign(value: float | None, pair: PairResult | Stratum, digits: int | None = None) -> str:
    """Print a difference with its sign and the digits that the interval warrants, or those of its column."""
    return "-" if value is None else f"{value:+.{decimals(pair) if digits is None else digits}f}"


def decimals(pair: PairResult | Stratum) -> int:
    """Return the decimals that show two significant digits of the interval's half-width, but at least three below 1.

    More where an end that is not 0, or not at the margin, would be printed as if it were: the digits must not
    contradict the verdict.
    """
    margin = pair.margin if isinstance(pair, PairResult) and pair.role == "primary" else 0.0
    return decimals_of(pair.ci.low, pair.ci.high, pair.delta if pair.standard_error == 0 else None, margin)


@lru_cache(maxsize=256)
def decimals_of(low: float | None, high: float | None, exact: float | None, margin: float) -> int:
    """Return the same of an interval, or of a difference that has none; the words on a pair need it several times."""
    half = (or_nan(high) - or_nan(low)) / 2
    digits = min(6, max(3 if half < 1 else 2, 1 - math.floor(math.log10(half)))) if half > 0 else 4
    ends = (low, high, exact)
    close = [(end, edge) for end in ends if end is not None for edge in (0.0, margin, -margin) if end != edge]
    while digits < 9 and any(round(end, digits) == round(edge, digits) for end, edge in close):
        digits += 1
    return digits
