"""The verdict: what may be said of a difference, by fixed rules, in plain words.

The first rule of the table that holds decides; then unjudged docs may weaken it. Report, page, gate, JUnit and exit
code read the verdict made here, and the interval in its words is the one in every table and chart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankscope.stats.compare import Pair

Code = Literal[
    "not_comparable", "identical", "same", "too_few", "better", "probably_better", "worse", "probably_worse",
    "cannot_tell", "not_safe",
]  # fmt: skip
WORDS: dict[Code, str] = {
    "better": "better", "probably_better": "probably better", "worse": "worse", "probably_worse": "probably worse",
    "same": "practically the same", "identical": "identical", "cannot_tell": "cannot tell",
    "not_safe": "not safe to call", "too_few": "too few queries", "not_comparable": "not comparable",
}  # fmt: skip
"""Each verdict in a word or two, the best first."""
Because: TypeAlias = Literal["", "margin", "unjudged"]
MIN_UNITS = 10
"""With fewer queries, or clusters of them, nothing is said."""
CAUTION_UNITS = 25
"""With fewer what is said comes with a caution."""
MANY_UNDEFINED = 0.10
LOPSIDED = 2.0
ENOUGH_IF_LOPSIDED = 100
"""With a skewness beyond LOPSIDED, fewer units than this make rough intervals."""
MOST_DECIMALS = 6
EVEN_MORE_DECIMALS = 9
"""As many as it takes to show that an interval excludes 0, by however little."""


@dataclass(frozen=True, slots=True)
class UnjudgedCheck:
    """Whether a verdict would survive if unjudged docs of the system that is behind were relevant now and then."""

    strength: Literal["stands", "cautious", "not_safe"]
    behind: str
    judged_relevant: float
    """The share of relevant docs among the judged ones at those ranks."""
    from_all_systems: bool
    """Whether that share is over all systems, as the one behind has too few judged docs."""
    tested_share: float
    """The share of relevant docs among unjudged ones at which the verdict was tried."""
    tipping_point: float | None = None
    """The smallest share at which the difference is gone; None where no share makes it so, or it was not looked for."""
    tipping_point_known: bool = False
    n_unjudged: int | None = None
    """Docs without a judgment that only the system behind retrieved, within the depth the measure sees."""
    difference_then: float = math.nan
    """For a difference called small: what it would be at the tested share."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How much of what each system is scored on is judged."""

    a: float
    b: float
    depth: int | None
    """How many results of each query the measure looks at; None for all."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said: a code for programs, a sentence, the reason for it, and what limits it."""

    code: Code
    text: str
    reason: str
    cautions: tuple[str, ...] = ()
    because: Because = ""
    """What weakened a probable verdict: the margin, or unjudged docs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a pair beyond its numbers."""

    margin_given: bool = False
    identical: bool = False
    """Whether both return the same docs in the same order."""
    problem: str = ""
    """Why the two cannot be compared at all; empty where they can."""
    unjudged: UnjudgedCheck | None = None
    judged: Judged | None = None
    unit_names: Sequence[str] = ()
    n_unanswered: int = 0
    """Queries that are left out, as one of the two does not answer them."""


def verdict_of(pair: Pair, known: Known) -> Verdict:
    """Return the verdict on B."""
    before = decide(pair, known)
    code, because = weakened(before, known.unjudged)
    return Verdict(
        code=code,
        text=sentence(code, because, pair, known),
        reason=reason(code, because, pair, known),
        cautions=tuple(cautions(code, pair, known)),
        because=because,
    )


def decide(pair: Pair, known: Known) -> Code:
    """Return the first rule of the table that holds, before unjudged docs are looked at."""
    if known.problem or not pair.n_queries:
        return "not_comparable"
    if known.identical:
        return "identical"
    if not differs(pair):
        return "same"
    if pair.n_units < MIN_UNITS:
        return "too_few"
    return call(pair.gain, pair.error, pair.critical, pair.critical_equivalence, margin=pair.margin)


def differs(pair: Pair) -> bool:
    """Tell whether any query's score differs."""
    return bool(pair.effect.wins or pair.effect.losses)


def call(gain: float, error: float, critical: float, critical_equivalence: float, *, margin: float) -> Code:
    """Return what the interval of a gain says, by its critical values and the margin."""
    half = critical * error
    if margin > 0 and abs(gain) + critical_equivalence * error < margin:
        return "same"
    if gain - half > margin:
        return "better"
    if gain + half < -margin:
        return "worse"
    if gain - half > 0:
        return "probably_better"
    return "probably_worse" if gain + half < 0 else "cannot_tell"


def short_words(code: Code, pair: Pair) -> str:
    """Return a verdict in a word or two."""
    return "no score differs" if code == "same" and not differs(pair) else WORDS[code]


def is_claim(code: Code) -> bool:
    """Tell whether a verdict says which system is ahead."""
    return code in ("better", "worse", "probably_better", "probably_worse")


def weakened(code: Code, unjudged: UnjudgedCheck | None) -> tuple[Code, Because]:
    """Return the verdict once unjudged docs are looked at, and what weakened it."""
    because: Because = "margin" if code in ("probably_better", "probably_worse") else ""
    if unjudged is None or not (is_claim(code) or code == "same"):
        return code, because
    if unjudged.strength == "not_safe":
        return "not_safe", "unjudged"
    if unjudged.strength == "cautious" and code in ("better", "worse"):
        return ("probably_better" if code == "better" else "probably_worse"), "unjudged"
    return code, because


def sentence(code: Code, because: Because, pair: Pair, known: Known) -> str:
    """Return the verdict as one sentence."""
    if code == "same" and not differs(pair):
        return "No query's score differs."
    if code in ("probably_better", "probably_worse"):
        which = "better" if code == "probably_better" else "worse"
        if because == "unjudged" and known.unjudged is not None:
            return (
                f"{pair.b} is probably {which}, unless {known.unjudged.behind}'s unjudged results are unusually good."
            )
        what = "gain" if code == "probably_better" else "loss"
        return f"{pair.b} is probably {which}, but the {what} may be too small to matter."
    return {
        "not_comparable": "Not comparable.",
        "identical": "The rankings are identical.",
        "not_safe": "Not safe to call: too many unjudged results.",
        "too_few": f"Too few {unit_word(pair)} to call (n={pair.n_units}).",
        "better": f"{pair.b} is better.",
        "worse": f"{pair.b} is worse.",
        "same": f"Practically the same (difference below {pair.margin:g}).",
        "cannot_tell": "Cannot tell.",
    }[code]


def reason(code: Code, because: Because, pair: Pair, known: Known) -> str:
    """Return why, with the numbers that decided."""
    margin = margin_words(pair, known)
    if code == "not_comparable":
        return known.problem or "No query has a score of both."
    if code in ("identical", "same") and not differs(pair):
        return f"Both have the same {pair.measure} on each of {counted(pair.n_queries, 'query')}."
    if code == "not_safe":
        return not_safe_words(pair, known)
    where = f"Its {pair.measure} is {direction(pair)} ({interval_words(pair)})"
    if code == "too_few":
        return (
            f"At least {MIN_UNITS} {unit_word(pair)} are needed for a verdict. Its {pair.measure} is {direction(pair)}."
        )
    if code == "cannot_tell":
        return f"{where}. {what_could_be_found(pair)}"
    if code == "same":
        if excludes_zero(pair):
            side = "higher" if pair.delta > 0 else "lower"
            size = f"{side} by {shown(abs(pair.delta), pair)} ({interval_words(pair)})"
            return f"Its {pair.measure} is measurably {size}, but by less than {margin}: {within_words(pair)}."
        return f"{where}; {within_words(pair)}, within {margin}."
    if pair.margin == 0:
        none = "With a margin of 0" if known.margin_given else "No margin is given, so"
        return f"{where}. {none} any difference counts."
    if code in ("better", "worse") or because == "unjudged":
        return f"{where}, more than {margin}."
    return f"{where}; the interval reaches into {margin}."


def within_words(pair: Pair) -> str:
    """Name the interval that shows a difference to be small."""
    small = pair.ci_equivalence
    ends = f"{signed(small.low, pair)} to {signed(small.high, pair)}"
    return f"the {small.level * 100:.4g}% interval is {ends}"


def counted(n: int, noun: str) -> str:
    """Return a number of things."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def margin_words(pair: Pair, known: Known) -> str:
    """Name the margin, and whose it is."""
    return f"{'your' if known.margin_given else 'the'} margin of {pair.margin:g}"


def not_safe_words(pair: Pair, known: Known) -> str:
    """Say how relevant unjudged docs would have to be to turn the difference, and how relevant judged ones are."""
    check = known.unjudged
    if check is None:
        return ""
    if not math.isnan(check.difference_then):
        return (
            f"On the judgments there are, the difference is below {margin_words(pair, known)}; but if "
            f"{check.tested_share:.0%} of {check.behind}'s unjudged results were relevant, it would be "
            f"{check.difference_then:+.3f}. {typical_words(check)}"
        )
    sign = 1.0 if check.behind == pair.b else -1.0
    side = "higher" if sign * pair.delta > 0 else "lower"
    size = f"{check.behind} is {side} by {shown(abs(pair.delta), pair)}"
    if not check.tipping_point_known:
        enough = f"{check.tested_share:.0%} of its unjudged results being relevant would be enough to turn it"
        return f"{size}, but {enough}. {typical_words(check)}"
    share = f"more than {check.tipping_point or 0.0:.0%} of its unjudged results are relevant"
    return f"{size}, unless {share}. {typical_words(check)}"


def typical_words(check: UnjudgedCheck) -> str:
    """Say what share is known, and what is usual."""
    whose = "all systems' judged ones" if check.from_all_systems else "its judged ones"
    return f"(Of {whose} {check.judged_relevant:.0%} are; unjudged docs are usually about half as often relevant.)"


def what_could_be_found(pair: Pair) -> str:
    """Say what this set of queries can find, and what more would take."""
    if math.isnan(pair.mde):
        return f"So few {unit_word(pair) if pair.p.is_exact else 'flips'} cannot reach this level."
    found = f"This set can only find differences above {shown(pair.mde, pair)}"
    if pair.n_needed is None or pair.n_needed <= pair.n_units:
        return f"{found}."
    return f"{found}; you would need about {pair.n_needed:,} {unit_word(pair)} for {pair.margin:g}."


def direction(pair: Pair) -> str:
    """Say on which side B is, and how far."""
    if pair.delta == 0:
        return "equal on average"
    size = shown(abs(pair.delta), pair)
    if float(size) == 0:
        size = f"less than {10.0 ** -decimals(pair):g}"
    return f"{'higher' if pair.delta > 0 else 'lower'} by {size}"


def level_words(pair: Pair) -> str:
    """Name the interval: its level, and whether it holds together with others."""
    together = "simultaneous " if pair.role == "primary" and holds_together(pair) else ""
    return f"{together}{pair.ci.level * 100:.4g}% CI"


def holds_together(pair: Pair) -> bool:
    """Tell whether the interval was widened for a family of several pairs."""
    return pair.p.family_size > 1 and pair.p.correction in ("maxt", "bonferroni")


def interval_words(pair: Pair) -> str:
    """Return the interval of the difference in words, as every table shows it."""
    if math.isnan(pair.ci.low):
        return f"no interval: too few {unit_word(pair) if pair.p.is_exact or pair.n_units < MIN_UNITS else 'flips'}"
    if not pair.has_spread:
        return "by exactly this much for every query, so there is no interval"
    return f"{level_words(pair)} {signed(pair.ci.low, pair)} to {signed(pair.ci.high, pair)}"


def excludes_zero(pair: Pair) -> bool:
    """Tell whether the deciding interval lies on one side of 0."""
    return pair.ci.low > 0 or pair.ci.high < 0


def cautions(code: Code, pair: Pair, known: Known) -> Iterator[str]:
    """Say what else must be known before acting on the verdict."""
    if MIN_UNITS <= pair.n_units < CAUTION_UNITS:
        yield f"Only {pair.n_units} {unit_word(pair)}: intervals from so few are rough."
    n_undefined = pair.n_undefined - known.n_unanswered
    for n, why in (
        (known.n_unanswered, "one side does not answer them"),
        (n_undefined, f"{pair.measure} is undefined"),
    ):
        if n:
            share = n / max(pair.n_members, 1)
            more = f" That is {share:.0%} of all: the rest may not stand for them." if share > MANY_UNDEFINED else ""
            yield f"{counted(n, 'query')} left out, as {why}.{more}"
    if is_claim(code):
        yield from rests_on(code, pair, known)
    if abs(pair.skew) > LOPSIDED and MIN_UNITS <= pair.n_units < ENOUGH_IF_LOPSIDED and differs(pair):
        yield (
            f"The differences are lopsided (skewness {pair.skew:+.1f}): with {pair.n_units} {unit_word(pair)} "
            "the interval is rough."
        )
    yield from unjudged_words(code, pair, known)


def rests_on(code: Code, pair: Pair, known: Known) -> Iterator[str]:
    """Say so where the verdict would be another one without the query that carries most of it."""
    rest = pair.without_top_unit
    if rest is None or math.isnan(rest.error):
        return
    gain = pair.sign * rest.delta
    after = call(gain, rest.error, rest.critical, rest.critical_equivalence, margin=pair.margin)
    before = call(pair.gain, pair.error, pair.critical, pair.critical_equivalence, margin=pair.margin)
    if after not in (before, code):  # unjudged docs may have weakened it to that already
        name = known.unit_names[rest.unit] if known.unit_names else f"number {rest.unit + 1}"
        what = f"the cluster of query {name}" if pair.clustered else f"query {name}"
        would = "would" if rest.is_exact else "would probably"
        yield f"It rests on {what}: without it the verdict {would} be another one ({WORDS[after]})."


def unjudged_words(code: Code, pair: Pair, known: Known) -> Iterator[str]:
    """Say how much is unjudged, and what that could do to the verdict."""
    check, judged = known.unjudged, known.judged
    if judged is None or min(judged.a, judged.b) >= 1 or check is None or code == "not_safe":
        return
    among = "results" if judged.depth is None else f"first {judged.depth} results"
    share = f"Unjudged: {1 - judged.b:.0%} of {pair.b}'s {among}, {1 - judged.a:.0%} of {pair.a}'s."
    theirs = f"{check.behind}'s unjudged results"
    if code == "same":
        yield f"{share} It holds even if {check.tested_share:.0%} of {theirs} are relevant. {typical_words(check)}"
    elif check.tipping_point_known and check.tipping_point is None:
        yield f"{share} No share of relevant docs among {theirs} could turn the difference."
    elif check.tipping_point_known:
        tip = f"The difference would turn only if more than {check.tipping_point or 0.0:.0%} of {theirs} were relevant."
        yield f"{share} {tip} {typical_words(check)}"
    elif check.strength == "stands":
        yield f"{share} It holds even if {check.tested_share:.0%} of {theirs} are relevant. {typical_words(check)}"
    else:
        yield f"{share} It would turn if {check.tested_share:.0%} of {theirs} were relevant. {typical_words(check)}"


def measure_words(pair: Pair) -> str:
    """Name the measure, and its direction where less is better."""
    return f"{pair.measure} (lower is better)" if pair.lower_is_better else pair.measure


def unit_word(pair: Pair) -> str:
    """Return what evidence is counted in."""
    return "clusters" if pair.clustered else "queries"


def signed(value: float, pair: Pair) -> str:
    """Print a difference with its sign and the digits that the interval warrants."""
    return "-" if math.isnan(value) else f"{value:+.{decimals(pair)}f}"


def shown(value: float, pair: Pair) -> str:
    """Print a number with the digits that the interval warrants."""
    return f"{value:.{decimals(pair)}f}"


def decimals(pair: Pair) -> int:
    """Return the decimals that show two significant digits of the interval's half-width.

    More where an end that is not 0, or not at the margin, would be printed as if it were: the digits must not
    contradict the verdict.
    """
    half = (pair.ci.high - pair.ci.low) / 2
    digits = 4 if not math.isfinite(half) or half <= 0 else min(MOST_DECIMALS, max(2, 1 - math.floor(math.log10(half))))
    edges = (0.0, pair.margin, -pair.margin) if pair.role == "primary" else (0.0,)
    ends = [end for end in (pair.ci.low, pair.ci.high) if math.isfinite(end)]
    while digits < EVEN_MORE_DECIMALS and any(
        end != edge and round(end, digits) == round(edge, digits) for end in ends for edge in edges
    ):
        digits += 1
    return digits
