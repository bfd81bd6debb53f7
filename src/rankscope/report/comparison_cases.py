"""A gate as test cases, for the pages on which build servers show what passed and what failed."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.comparison.gate import GateResult
from rankscope.records import or_nan
from rankscope.report.render.junit import JUnitCase


def cases(result: GateResult, *, command: str = "compare") -> Iterator[JUnitCase]:
    """Yield one case per check: what the exit code says of all of them is said here of each."""
    for check in result.checks:
        measure = "" if check.compared is None else f".{check.compared.measure}"
        fails = check.outcome == "failed" or (
            check.outcome == "inconclusive" and result.policy.on_inconclusive == "fail"
        )
        properties: dict[str, str] = {"gate": check.outcome}
        if pair := check.compared:
            properties |= {
                "verdict": pair.final_verdict.code,
                "delta": repr(or_nan(pair.delta)),
                "ci": "none" if pair.ci.low is None else f"{pair.ci.low!r} to {pair.ci.high!r}",
                "p_adjusted": repr(or_nan(pair.p.adjusted)),
                "n_queries": str(pair.n_queries),
                "n_left_out": str(pair.n_undefined),
            }
        yield JUnitCase(
            name=check.name,
            classname=f"rankscope.{command}{measure}",
            failed=check.words if fails else None,
            error=check.words if check.outcome == "error" else None,
            message=check.words if not fails and check.outcome == "inconclusive" else None,
            properties=properties,
        )


def error_case(name: str, message: str, *, command: str = "compare", measure: str = "") -> JUnitCase:
    """Return the case of something that could not be checked at all."""
    classname = f"rankscope.{command}" + (f".{measure}" if measure else "")
    return JUnitCase(name=name, classname=classname, error=message, properties={"gate": "error"})
