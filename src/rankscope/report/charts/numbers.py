"""Numbers as a reader sees them, and the checks that what is to be drawn are numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from rankscope.errors import OptionError
from rankscope.printable import counted
from rankscope.records import Record, replace

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Record)

LARGEST = 1e100
"""Beyond it is an error of the caller, and sums would overflow; below its inverse there is nothing but zero."""
SMALLEST, SMALL, LARGE = 1e-6, 5e-4, 1e5
NAN = math.nan
TOLD = 10  # how many things the words for a chart name one by one
MINUS = "\N{MINUS SIGN}"


def numbers(values: Iterable[float], what: str) -> list[float]:
    """Return values as floats; NaN is undefined and may stay, anything else that cannot be drawn is refused."""
    return [checked(value, what) for value in values]


def checked(value: float, what: str, *, endless: bool = False) -> float:
    """Return a value as a float that can be drawn; only the end of an interval may be infinite."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"{what} has {value!r}, which is not a number", hint="use NaN for undefined") from None
    if abs(result) > LARGEST and not (endless and math.isinf(result)):
        raise OptionError(f"{what} has {result}, which cannot be drawn", hint="use NaN for undefined")
    return 0.0 if abs(result) < 1 / LARGEST else result


def checked_interval(low: float, high: float, what: str) -> tuple[float, float]:
    """Return the ends of an interval; both are NaN where one is."""
    ends = checked(low, what, endless=True), checked(high, what, endless=True)
    if math.isnan(ends[0]) or math.isnan(ends[1]):
        return NAN, NAN
    if ends[0] > ends[1]:
        raise OptionError(f"{what} has an interval from {low} to {high}", hint="the lower end comes first")
    return ends


def checked_estimate(row: Row, what: str) -> Row:
    """Return a record with `value`, `low` and `high` that can be drawn."""
    estimate: Any = row
    low, high = checked_interval(estimate.low, estimate.high, what)
    return cast("Row", replace(estimate, value=checked(estimate.value, what), low=low, high=high))


def require(items: Sequence[Any], what: str) -> None:
    if not len(items):
        raise OptionError(f"there is nothing to draw: no {what}", hint="leave the chart out where there is no data")


def require_defined(values: Iterable[float], what: str) -> None:
    if not any(map(math.isfinite, values)):
        raise OptionError(f"there is nothing to draw: every {what} is undefined (NaN)", hint="leave the chart out")


def require_equal_lengths(what: str, *sequences: Sequence[Any]) -> None:
    if len({len(sequence) for sequence in sequences}) > 1:
        lengths = " and ".join(str(len(sequence)) for sequence in sequences)
        raise OptionError(f"{what} differ in length: {lengths}", hint="give one entry of each for the same thing")


def finite(values: Iterable[float]) -> list[float]:
    """Return the values that have a place on an axis."""
    return [value for value in values if math.isfinite(value)]


def shown(value: float) -> str:
    """Return a value with three decimals, or as short as its size asks for."""
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else f"{MINUS if value < 0 else ''}∞"
    size = abs(value)
    if size and (size < SMALLEST or size >= LARGE):
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    decimals = 1 - math.floor(math.log10(size)) if 0 < size < SMALL else 3
    decimals = decimals if size < 10 else 1 if size < 1000 else 0
    return fixed(value, decimals)


def signed(value: float) -> str:
    return f"+{shown(value)}" if value > 0 else shown(value)


def with_interval(value: float, low: float, high: float, *, with_sign: bool = False) -> str:
    """Return a value and its interval, if any, with equal decimals: at least two digits of the half-width."""
    numbers, write = (value, low, high), signed if with_sign else shown
    if math.isnan(low):
        return write(value)
    largest, half = max(map(abs, numbers)), (high - low) / 2
    if not all(map(math.isfinite, numbers)) or largest >= LARGE:
        texts = [write(number) for number in numbers]
    else:
        usual = 3 if largest < 10 else 1 if largest < 1000 else 0
        decimals = max(usual, 1 - math.floor(math.log10(half))) if half >= SMALLEST else usual
        texts = [f"{'+' * (with_sign and number > 0)}{fixed(number, decimals)}" for number in numbers]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def fixed(value: float, decimals: int) -> str:
    """Return a value with some decimals; what rounds to zero has no sign."""
    text = f"{value:,.{decimals}f}"
    return text.replace("-", MINUS) if float(text.replace(",", "")) else text.lstrip("-")


def list_words(items: Sequence[Item], words: Callable[[Item], str], more: str, *, most: int = TOLD) -> str:
    """Say items one by one, as far as a listener will follow, and how many more there are."""
    rest = f"; and {counted(len(items) - most, more)}" if len(items) > most else ""
    return "; ".join(map(words, items[:most])) + rest
