"""What a number of queries is good for, in words, and the differences that it finds."""

from __future__ import annotations

from collections.abc import Mapping

from rankscope.stats.power import ALPHA, can_reach, minimal_detectable_effect

TINY, SMALL, STANDARD, COMPREHENSIVE = 9, 50, 200, 500
SIZES: Mapping[str, int] = {"tiny": TINY, "small": SMALL, "standard": STANDARD, "comprehensive": COMPREHENSIVE}
WORDS = (
    (COMPREHENSIVE, "a full benchmark"),
    (STANDARD, "what publication usually takes"),
    (SMALL, f"enough for development; {STANDARD} for publication"),
    (TINY, f"a quick check; {SMALL} for development, {STANDARD} for publication"),
    (0, f"too few even for a quick check, which takes {TINY}; {SMALL} for development, {STANDARD} for publication"),
)
"""The fewest queries that a word is true of, largest first."""
USUAL_SPREAD: Mapping[str, float] = {"nDCG": 0.18, "RR": 0.42}
"""The standard deviation of differences per query that half of all pairs of the better TREC systems exceed."""


def size_in_words(n: int) -> str:
    """Return what n queries are good for."""
    return next(words for least, words in WORDS if n >= least)


def usual_differences(n: int) -> dict[str, float]:
    """Return the smallest true differences that n queries find with 80 % chance where systems differ as usual.

    None where n queries find no difference, however large.
    """
    if not can_reach(n, ALPHA):
        return {}
    return {name: minimal_detectable_effect(spread, n) for name, spread in USUAL_SPREAD.items()}


def size_with_differences(n: int) -> str:
    """Return what n queries are good for, and which differences they find, in one line."""
    found = " or ".join(f"{value:.2g} in {name}" for name, value in usual_differences(n).items())
    spreads = " and ".join(f"{spread:g}" for spread in USUAL_SPREAD.values())
    chance = f"80% chance to find {found}, at spreads of {spreads}" if found else "so few can find no difference"
    return f"{size_in_words(n)} ({chance})"
