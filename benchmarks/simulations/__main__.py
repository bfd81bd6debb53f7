"""Simulates how often what a comparison says is wrong, and prints the tables of docs/statistics.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import rankscope
from simulations.cases import CASES, Case, why_not
from simulations.counting import N_FLIPS, count_verdicts
from simulations.methods import METHODS
from simulations.runner import SEED, Counted, run_cases
from simulations.table import HEAD, rows_of


def main() -> None:
    """Run all cases, or those asked for, and print a row for each promise as soon as it is known."""
    parser = argparse.ArgumentParser(prog="scripts/calibration", description=__doc__)
    parser.add_argument("--calls", type=int, metavar="N", help="at most so many per case (default: 2,000 to 300 by k)")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases that have this in their name, e.g. 'k=5'")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: all)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows here as well")
    asked = parser.parse_args()
    counted: list[Counted] = []
    for cases in (CASES, METHODS):
        chosen = [case for case in cases if asked.only in case.key]
        for case in chosen:
            if why_not(case):
                print(f"left out: {case.key}, as {why_not(case)}", file=sys.stderr)
        counted += print_table([case for case in chosen if not why_not(case)], asked)
    print(summary(counted))
    if asked.json:
        rows = [row.to_dict() for found in counted for row in rows_of(found)]
        record = {
            "rankscope": rankscope.__version__,
            "seed": SEED,
            "flips": N_FLIPS,
            "contradictions": sum(found.counts["contradiction"] for found in counted),
            "rows": rows,
        }
        asked.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def print_table(cases: list[Case], asked: argparse.Namespace) -> list[Counted]:
    """Print the rows of some cases and return what was counted; progress goes to stderr."""
    if not cases:
        return []
    print("\n".join(HEAD), flush=True)
    all_counted = []
    begun = time.monotonic()
    for number, counted in enumerate(run_cases(cases, n_workers=asked.workers, most_calls=asked.calls), 1):
        print("\n".join(row.to_markdown() for row in rows_of(counted)), flush=True)
        passed = time.monotonic() - begun
        print(f"{number}/{len(cases)}, {passed:.0f} s: {counted.case.key}", file=sys.stderr, flush=True)
        all_counted.append(counted)
    print()
    return all_counted


def summary(counted: list[Counted]) -> str:
    """Say how many promises are kept, how many other simulations agree, and whether anything contradicts itself."""
    rows = [row for found in counted for row in rows_of(found)]
    missed = [row for row in rows if row.verdict.startswith("misses")]
    known = sum(row.promise.is_known_to_fail for row in missed)
    verdicts, agreements = Counter(row.verdict for row in rows), Counter(row.agrees for row in rows)
    compared = [found for found in counted if found.case.outcome is count_verdicts]
    calls, odd = sum(found.n_calls for found in compared), sum(found.counts["contradiction"] for found in compared)
    n_references = agreements[True] + agreements[False]
    return (
        f"{verdicts['holds']} promises hold, {verdicts['cautious']} are kept with room to spare and {len(missed)} are "
        f"missed, {known} of them by what is known to fail. {agreements[True]} of {n_references} references agree. "
        f"Verdict, interval and adjusted p-value contradicted one another in {odd:,} of {calls:,} calls."
    )


if __name__ == "__main__":
    main()
