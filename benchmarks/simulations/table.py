"""What was counted, as rows: measured against promised, and against other simulations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simulations.cases import Case, Promise
from simulations.runner import Counted

N_ERRORS = 4
"""How many standard errors a share may be off before it counts as another one."""
COLUMNS = ("case", "k", "n", "calls", "counted", "nominal", "measured", "s.e.", "reference", "verdict")
HEAD = (f"| {' | '.join(COLUMNS)} |", "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- | --- |")
WORDS = {
    "false claim": "any false better or worse",
    "false same": "any false same",
    "wrong direction": "any wrong direction",
    "coverage": "all intervals cover",
    "found": "difference found",
    "other measure": "any other measure differs",
    "stratum": "any stratum stands out",
}


@dataclass(frozen=True)
class Row:
    """How often one promise was kept or broken."""

    case: Case
    promise: Promise
    n_calls: int
    n_counted: int

    @property
    def measured(self) -> float:
        """The share of all calls."""
        return self.n_counted / self.n_calls

    @property
    def standard_error(self) -> float:
        """That of a simulation in which the promise holds exactly; where there is none, of the measured share."""
        share = self.measured if math.isnan(self.promise.nominal) else self.promise.nominal
        return math.sqrt(share * (1 - share) / self.n_calls)

    @property
    def verdict(self) -> str:
        """Whether the promise holds, is kept with room to spare, or is broken."""
        nominal, limit = self.promise.nominal, self.promise.limit
        if math.isnan(nominal):
            return "no promise"
        excess = (self.measured - nominal) * (-1 if self.promise.more_is_safe else 1)
        if excess > N_ERRORS * self.standard_error:
            return "misses"
        if self.measured > limit:
            return f"misses {limit:g}"
        return "cautious" if excess < -N_ERRORS * self.standard_error else "holds"

    @property
    def is_as_expected(self) -> bool:
        """Whether what holds does hold, and what is known to fail fails; a limit needs more calls than a test makes."""
        is_missed = self.verdict == "misses"
        return is_missed == self.promise.is_known_to_fail

    @property
    def agrees(self) -> bool | None:
        """Whether it is no further from the other simulation than chance explains; None where there is no other."""
        other, others = self.promise.reference, self.promise.reference_calls
        if math.isnan(other):
            return None
        together = (self.n_counted + other * others) / (self.n_calls + others)
        error = math.sqrt(together * (1 - together) * (1 / self.n_calls + 1 / others))
        return abs(self.measured - other) <= N_ERRORS * error

    def to_markdown(self) -> str:
        """Return the row of the table."""
        case, promise = self.case, self.promise
        nominal = "-" if math.isnan(promise.nominal) else f"{promise.nominal:.3f}"
        agreement = {None: "", True: f"{promise.reference:.3f}, agrees", False: f"{promise.reference:.3f}, differs"}
        cells = (
            case.name, case.k, case.n, f"{self.n_calls:,}", WORDS.get(promise.what, promise.what), nominal,
            f"{self.measured:.3f}", f"{self.standard_error:.4f}", agreement[self.agrees], self.verdict,
        )  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"

    def to_dict(self) -> dict[str, Any]:
        """Return the row for JSON."""
        numbers = {
            "nominal": self.promise.nominal,
            "measured": self.measured,
            "standard_error": self.standard_error,
            "reference": self.promise.reference,
            "limit": self.promise.limit,
        }
        return {
            "case": self.case.name,
            "k": self.case.k,
            "n": self.case.n,
            "calls": self.n_calls,
            "counted": self.promise.what,
            **{name: None if math.isnan(value) else value for name, value in numbers.items()},
            "agrees": self.agrees,
            "verdict": self.verdict,
        }


def rows_of(counted: Counted) -> Iterator[Row]:
    """Yield a row for everything that is promised of a case."""
    for promise in counted.case.promises:
        yield Row(counted.case, promise, counted.n_calls, counted.counts[promise.what])
