"""The verdict: what may be said of a difference, by fixed rules, in plain words.

The first rule that applies decides. It looks at the simultaneous interval, so that words and adjusted p-values do not
contradict one another; where they still differ, the weaker statement wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rankscope.stats.compare import Pair

Code = Literal[
    "identical", "not_safe", "too_few", "better", "probably_better", "worse", "probably_worse", "same", "cannot_tell"
]
MIN_QUERIES = 10
"""With fewer queries nothing is said."""
CAUTION_QUERIES = 25
"""With fewer queries what is said comes with a caution."""
JUDGED_GAP = 0.10
"""Systems whose judged shares differ by more than this are not compared on equal terms."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far missing judgments could move a difference."""

    judged_a: float
    judged_b: float
    low: float
    high: float
    useless: float
    """The difference if no unjudged doc were relevant."""
    perfect: float
    """The difference if every unjudged doc had the highest grade."""
    exact: bool = True
    """Whether the ends can be reached; else they are safe, but may be too far apart."""

    @property
    def cross_zero(self) -> bool:
        """Whether the missing judgments decide who is ahead."""
        return self.low <= 0 <= self.high and self.low < self.high


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said: a code for programs, a sentence, the reason for it, and what limits it."""

    code: Code
    text: str
    reason: str
    cautions: tuple[str, ...] = ()


def verdict_of(pair: Pair, bounds: Bounds | None = None, *, identical: bool = False) -> Verdict:
    """Return the verdict on B; `identical` says that the rankings themselves are equal."""
    code = decide(pair, bounds)
    return Verdict(
        code, sentence(code, pair, identical=identical), reason(code, pair, bounds), tuple(cautions(code, pair, bounds))
    )


def decide(pair: Pair, bounds: Bounds | None) -> Code:
    """Return the first rule of the table that applies."""
    gain, small_p = pair.gain, pair.p.adjusted <= significance(pair)
    if pair.n_queries and not pair.effect.wins and not pair.effect.losses:
        return "identical"
    if is_unsafe(pair, bounds):
        return "not_safe"
    if pair.n_queries < MIN_QUERIES:
        return "too_few"
    if gain.low > 0 and small_p:
        return "better" if gain.low > pair.margin else "probably_better"
    if gain.high < 0 and small_p:
        return "worse" if gain.high < -pair.margin else "probably_worse"
    return "same" if pair.equivalent else "cannot_tell"


def significance(pair: Pair) -> float:
    """Return the alpha of all comparisons together."""
    return 1 - pair.ci.level


def is_unsafe(pair: Pair, bounds: Bounds | None) -> bool:
    """Tell whether missing judgments could turn the difference, and something says that they may."""
    if bounds is None or not bounds.cross_zero:
        return False
    interval_is_clear = pair.ci_simultaneous.low > 0 or pair.ci_simultaneous.high < 0
    return interval_is_clear or abs(bounds.judged_a - bounds.judged_b) > JUDGED_GAP


def sentence(code: Code, pair: Pair, *, identical: bool) -> str:
    """Return the verdict as one sentence."""
    if code == "identical":
        return (
            "The rankings are identical." if identical else f"Both have the same {pair.measure} for every single query."
        )
    return {
        "not_safe": "Not safe to call: too many unjudged results.",
        "too_few": f"Too few queries to call (n={pair.n_queries}).",
        "better": f"{pair.b} is better.",
        "probably_better": f"{pair.b} is probably better, but the gain may be too small to matter.",
        "worse": f"{pair.b} is worse.",
        "probably_worse": f"{pair.b} is probably worse, but the loss may be too small to matter.",
        "same": f"Practically the same (difference below {pair.margin:g}).",
        "cannot_tell": "Cannot tell.",
    }[code]


def reason(code: Code, pair: Pair, bounds: Bounds | None) -> str:
    """Return why, with the numbers that decided."""
    if code == "identical":
        return f"No score differs on any of the {pair.n_queries} queries."
    if code == "not_safe" and bounds is not None:
        return (
            f"{pair.b}'s {pair.measure} is {direction(pair)}, but depending on the missing judgments the difference "
            f"could be anything from {signed(bounds.low)} to {signed(bounds.high)}."
        )
    where = f"Its {pair.measure} is {direction(pair)} ({interval_words(pair)})"
    if code == "too_few":
        return f"At least {MIN_QUERIES} queries are needed for a verdict."
    if code == "cannot_tell":
        return f"{where}. {what_could_be_found(pair)}"
    if code == "same":
        return f"{where}; the whole 90% interval lies within your margin of {pair.margin:g}."
    beyond = {"better": "more than", "worse": "more than"}.get(code)
    return (
        f"{where}, {beyond} your margin of {pair.margin:g}." if beyond else f"{where}; your margin is {pair.margin:g}."
    )


def what_could_be_found(pair: Pair) -> str:
    """Say what this set of queries can find, and what more would take."""
    found = f"This set can only find differences above {shown(pair.mde, pair)}"
    if pair.n_needed is None or pair.n_needed <= pair.n_queries:
        return f"{found}."
    return f"{found}; you would need about {pair.n_needed:,} queries for {pair.margin:g}."


def direction(pair: Pair) -> str:
    """Say on which side B is, and how far."""
    if pair.delta == 0:
        return "equal on average"
    return f"{'higher' if pair.delta > 0 else 'lower'} by {shown(abs(pair.delta), pair)}"


def interval_words(pair: Pair) -> str:
    """Return the interval of the difference in words; turned with the difference, so that it reads as its size."""
    ci = pair.ci_simultaneous
    low, high = (ci.low, ci.high) if pair.delta >= 0 else (-ci.high, -ci.low)
    together = "simultaneous " if pair.p.family_size > 1 else ""
    return f"{together}{ci.level * 100:.4g}% CI {shown(low, pair)} to {shown(high, pair)}"


def cautions(code: Code, pair: Pair, bounds: Bounds | None) -> Iterator[str]:
    """Say what else must be known before acting on the verdict."""
    if MIN_QUERIES <= pair.n_queries < CAUTION_QUERIES:
        yield f"Only {pair.n_queries} queries: intervals from so few are rough."
    if bounds is not None and min(bounds.judged_a, bounds.judged_b) < 1:
        yield unjudged_words(code, pair, bounds)
    alpha = significance(pair)
    if (pair.p.permutation <= alpha) != (pair.p.t <= alpha):
        yield (
            f"The two tests do not agree: p = {pair.p.permutation:.3g} by sign flips, "
            f"{pair.p.t:.3g} by the paired t test."
        )
    if pair.ci_check is not None and crosses(pair.ci.low, pair.ci.high) != crosses(
        pair.ci_check.low, pair.ci_check.high
    ):
        yield (
            f"The bootstrap interval, {shown(pair.ci_check.low, pair)} to {shown(pair.ci_check.high, pair)}, "
            "disagrees with the t interval on whether the difference could be 0."
        )
    if pair.n_undefined:
        yield f"{pair.n_undefined} queries are left out, since {pair.measure} is undefined for them."


def crosses(low: float, high: float) -> bool:
    """Tell whether an interval holds 0."""
    return low <= 0 <= high


def unjudged_words(code: Code, pair: Pair, bounds: Bounds) -> str:
    """Say how much is unjudged and what that could do."""
    share = (
        f"{1 - bounds.judged_b:.0%} of what {pair.b} is scored on is unjudged ({pair.a}: {1 - bounds.judged_a:.0%}). "
        f"If all of it were useless the difference is {signed(bounds.useless)}; if all were relevant, "
        f"{signed(bounds.perfect)}."
    )
    if bounds.cross_zero:
        return (
            f"{share} Who is ahead depends on it." if code == "not_safe" else f"{share} It could turn the difference."
        )
    return f"{share} The direction does not depend on it."


def signed(value: float) -> str:
    """Print a difference with its sign."""
    return f"{value:+.3f}"


def shown(value: float, pair: Pair) -> str:
    """Print a number with the digits that the interval warrants."""
    return f"{value:.{decimals(pair)}f}"


def decimals(pair: Pair) -> int:
    """Return the decimals that show two significant digits of the interval's half-width."""
    half = (pair.ci.high - pair.ci.low) / 2
    if not math.isfinite(half) or half <= 0:
        return 4
    return min(6, max(2, 1 - math.floor(math.log10(half))))
