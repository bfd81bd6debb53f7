"""Agreement of two rankings of docs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from rankscope.errors import OptionError


def rbo(first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = 0.9) -> float:
    """Return extrapolated rank-biased overlap of two rankings without repeats (Webber, Moffat & Zobel 2010)."""
    if not 0 < p < 1:
        raise OptionError(f"p = {p} is not between 0 and 1")
    short, long = sorted((list(first), list(second)), key=len)
    if not short:
        return 1.0 if not long else 0.0
    seen_short: set[Hashable] = set()
    seen_long: set[Hashable] = set()
    overlaps = []
    for depth, doc in enumerate(long):
        seen_long.add(doc)
        if depth < len(short):
            seen_short.add(short[depth])
        overlaps.append(len(seen_short & seen_long))
    s, length, x_s, x_l = len(short), len(long), overlaps[len(short) - 1], overlaps[-1]
    # equation 32 of the paper: overlap so far, carried on beyond what both rankings show
    total = sum(x / d * p**d for d, x in enumerate(overlaps, 1))
    total += sum(x_s * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    return float((1 - p) / p * total + ((x_l - x_s) / length + x_s / s) * p**length)


def jaccard(first: Iterable[Hashable], second: Iterable[Hashable]) -> float:
    """Return the share of all docs of two lists that are in both: |A ∩ B| / |A ∪ B|; NaN where both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a or b else float("nan")
