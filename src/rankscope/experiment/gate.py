"""The gate of a whole benchmark: each collection is a family of its own, and the worst of them decides."""

from __future__ import annotations

from rankscope.comparison.gate import GateCheck, GatePolicy, GateResult, gate_of
from rankscope.experiment.results import Benchmark


def benchmark_gate(benchmark: Benchmark, policy: GatePolicy) -> GateResult:
    """Return the checks; a system without a run, or a collection without a comparison, is an error, not a pass."""
    checks: list[GateCheck] = []
    several = len(benchmark.collections) > 1
    for result in benchmark.collections:
        where = f" ({result.name})" if several else ""
        for system in result.systems:
            if system.is_left_out and system.finding is not None:
                checks.append(GateCheck(f"{system.name}{where}", "error", f"It is left out: {system.finding.message}."))
            elif system.run is None:
                checks.append(GateCheck(f"{system.name}{where}", "error", "It has retrieved nothing at all."))
        if result.comparison is not None:
            checks += gate_of(result.comparison, policy, collection=result.name if several else "").checks
        elif all(system.run is not None and not system.is_left_out for system in result.systems):
            checks.append(GateCheck(f"{result.name}", "error", "There are not two systems to compare."))
    return GateResult(tuple(checks), policy)
