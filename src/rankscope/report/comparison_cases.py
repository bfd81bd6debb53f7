"""A comparison as test cases, for the pages on which build servers show what passed and what failed."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.comparing.records import Comparison
from rankscope.report.render import Case

FAILED = ("worse", "probably_worse")
NOT_CALLED = ("not_safe", "too_few")


def cases(comparison: Comparison) -> Iterator[Case]:
    """Yield one case per pair: it fails where the system is worse, and is skipped where nothing can be said."""
    for item in comparison:
        pair, verdict = item.pair, item.verdict
        words = f"{verdict.text} {verdict.reason}"
        yield Case(
            name=f"{pair.b} vs {pair.a}" + (f" ({pair.group})" if pair.group else ""),
            classname=f"rankscope.compare.{pair.measure}",
            failed=words if verdict.code in FAILED else None,
            skipped=words if verdict.code in NOT_CALLED else None,
            properties={
                "verdict": verdict.code,
                "delta": repr(pair.delta),
                "ci": f"{pair.ci.low!r} to {pair.ci.high!r}",
                "p_adjusted": repr(pair.p.adjusted),
                "n_queries": str(pair.n_queries),
            },
        )
