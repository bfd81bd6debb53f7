"""Scales and their ticks: from numbers to places and back, with ticks at 1, 2 or 5 times a power of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rankscope.records import Record
from rankscope.report.charts.numbers import LARGEST, MINUS, finite

STEPS = (1, 2, 5, 10)
CONSTANT = 1e-9
"""Values closer than this, relative to their size, are one value for the eye."""
MOST_FINE_TICKS, MOST_LOG_TICKS = 10, 7
PLAIN_FROM, PLAIN_TO = 1e-4, 1e6


class Scale(Record):
    """Where a value stands between two places; `log` scales take positive values only."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value; what lies outside stands at the edge."""
        share = (self._level(value) - self._level(self.low)) / (self._level(self.high) - self._level(self.low))
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def value_at(self, place: float) -> float:
        low, high = self._level(self.low), self._level(self.high)
        level = low + (place - self.start) / (self.end - self.start) * (high - low)
        return float(10**level) if self.log else level

    def _level(self, value: float) -> float:
        if not self.log or math.isinf(value):
            return value
        return math.log10(value) if value > 0 else -math.inf


class Axis(Record):
    """Ticks and what stands beside them."""

    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    log: bool = False

    def scale(self, start: float, end: float) -> Scale:
        """Return the scale from the first tick to the last one."""
        return Scale(self.ticks[0], self.ticks[-1], start, end, log=self.log)


def linear_axis(values: Iterable[float], *, n_ticks: int = 5, whole: bool = False) -> Axis:
    """Return an axis whose ticks reach from below the least value to above the greatest."""
    ticks = nice_ticks(*span(finite(values)), n_ticks=n_ticks, whole=whole)
    return Axis(tuple(ticks), tuple(tick_labels(ticks)))


def log_axis(values: Iterable[float]) -> Axis:
    """Return an axis in powers of ten around positive values."""
    known = finite(values)
    ticks = log_ticks(min(known), max(known))
    return Axis(tuple(ticks), tuple(map(power_label, ticks)), log=True)


def fixed_axis(ticks: Sequence[float]) -> Axis:
    """Return an axis with given ticks."""
    return Axis(tuple(ticks), tuple(tick_labels(ticks)))


def span(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the greatest value, set apart where all are the same."""
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    if size < 1 / LARGEST:
        return 0.0, 1.0
    if high - low > CONSTANT * size:
        return low, high
    return low - size / 10, high + size / 10


def nice_ticks(low: float, high: float, *, n_ticks: int, whole: bool = False) -> list[float]:
    """Return about so many ticks, the first at or below `low`, the last at or above `high`."""
    exponent = math.floor(math.log10((high - low) / n_ticks))
    unit = 10.0**exponent
    factor = next((step for step in STEPS if step * unit >= (high - low) / n_ticks * (1 - CONSTANT)), STEPS[-1])
    step = factor * unit
    if whole and step < 1:
        step, exponent = 1.0, 0
    first, last = math.floor(low / step + CONSTANT), math.ceil(high / step - CONSTANT)
    return [tidy(i * step, exponent) for i in range(first, max(last, first + 1) + 1)]


def tidy(value: float, exponent: int) -> float:
    """Return a tick without the dust of binary fractions: 0.3, not 0.30000000000000004."""
    return round(value, -exponent) if -300 < exponent < 0 else value


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """Return ticks with as many digits as tell them apart."""
    step, size = ticks[1] - ticks[0], max(abs(ticks[0]), abs(ticks[-1]))
    if size < PLAIN_TO and step >= PLAIN_FROM / 10:
        decimals = max(0, -math.floor(math.log10(step) + CONSTANT))
        return [with_minus(f"{tick:,.{decimals}f}") for tick in ticks]
    digits = max(1, math.ceil(math.log10(size / step) + 1))
    return [with_minus(short_power(f"{tick:.{digits - 1}e}")) for tick in ticks]


def short_power(text: str) -> str:
    """Return 1e6 for 1.00e+06."""
    mantissa, exponent = text.split("e")
    plain = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{plain}e{int(exponent)}" if float(mantissa) else "0"


def with_minus(text: str) -> str:
    """Return a number with a typographic minus, and zero without one."""
    return text.replace("-", MINUS) if text.strip("-0.,") else text.lstrip("-")


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten around the values; within wide ranges the powers alone."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    fine = [tidy(step * 10.0**power, power) for power in range(first - 1, last + 2) for step in STEPS[:-1]]
    begin = max(i for i, tick in enumerate(fine) if tick <= low * (1 + CONSTANT))
    end = min(i for i, tick in enumerate(fine) if tick >= high * (1 - CONSTANT))
    if end - begin < MOST_FINE_TICKS:
        return fine[begin : max(end, begin + 1) + 1]
    stride = math.ceil((last - first) / MOST_LOG_TICKS)
    powers = [tidy(10.0**power, power) for power in range(first, last + 1, stride)]
    return [fine[begin], *(power for power in powers if fine[begin] < power < fine[end]), fine[end]]


def power_label(tick: float) -> str:
    """Return a tick of a logarithmic axis."""
    if PLAIN_FROM <= tick < PLAIN_TO:
        return f"{tick:,.0f}" if tick >= 1 else f"{tick:.4f}".rstrip("0")
    return with_minus(short_power(f"{tick:.0e}"))
