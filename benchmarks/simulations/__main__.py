"""Simulates how often each test and interval keeps its promise, and prints a table in Markdown."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator

from simulations.cases import CASES, Measured, measure

N_SIMULATIONS = 10_000


def main() -> None:
    """Measure every case and print a row for it as soon as it is done."""
    parser = argparse.ArgumentParser(prog="scripts/calibration", description=__doc__)
    parser.add_argument(
        "--simulations", type=int, default=N_SIMULATIONS, metavar="N", help=f"per row (default: {N_SIMULATIONS:,})"
    )
    sims = parser.parse_args().simulations
    print("\n".join(header()), flush=True)
    for case in CASES:
        print(row(measure(case, sims)), flush=True)


def header() -> Iterator[str]:
    """Yield the head of the table."""
    yield "| data | n | method | counted | promised | measured | standard error | verdict |"
    yield "| --- | ---: | --- | --- | ---: | ---: | ---: | --- |"


def row(found: Measured) -> str:
    """Return one row of the table."""
    case = found.case
    promised = "-" if math.isnan(case.nominal) else f"{case.nominal:.3f}"
    cells = (case.world, case.n, case.method, case.what, promised, f"{found.rate:.3f}", f"{found.standard_error:.4f}")
    return f"| {' | '.join(map(str, cells))} | {found.verdict} |"


if __name__ == "__main__":
    main()
