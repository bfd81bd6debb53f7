"""The summary of a diagnosis: one or two sentences that say what to do first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.measures.diagnose.records import Finding, Losses
from rankscope.measures.diagnose.view import View

WHERE_LOST = {
    "order": (
        "inside the top {k}: the docs are there, in a poor order",
        "Work on the order of the first docs first.",
    ),
    "ranked_low": (
        "below the top {k}: relevant docs are retrieved, but ranked too low",
        "Work on the ranking first: a re-ranker of the first {depth} could win it back.",
    ),
    "not_retrieved": (
        "outside the pool: relevant docs are not among the {depth} retrieved",
        "Work on retrieval first: no re-ranker can win it back.",
    ),
}
"""Where nDCG is lost, and what that means."""


def summary_of(view: View, findings: Sequence[Finding]) -> str:
    """Return what is to be known first."""
    return " ".join([*verdict(view, findings), *doubts(view, findings)])


def verdict(view: View, findings: Sequence[Finding]) -> Iterator[str]:
    """Say how good the run is and where it loses most, or that there is nothing to complain about."""
    losses = view.losses
    yield f"{view.measure.name} is {losses.score:.4f} over {counted(len(view), 'query', 'queries')}."
    if all(finding.severity == "remark" for finding in findings):
        yield "Nothing to complain about: no check concerns more than a few queries."
        return
    part = largest(losses)
    where, advice = WHERE_LOST[part]
    missing, lost = 1 - losses.score, getattr(losses, part)
    share = "Most" if lost > missing / 2 else "The largest part"
    place = where.format(k=view.k, depth=view.depth)
    yield f"{share} of what is missing to 1 ({lost:.2f} of {missing:.2f}) is lost {place}."
    yield advice.format(depth=view.depth)


def largest(losses: Losses) -> str:
    """Return where most is lost; of equal losses the one that is easiest to win back."""
    return max(WHERE_LOST, key=lambda part: round(float(getattr(losses, part)), 9))


def doubts(view: View, findings: Sequence[Finding]) -> Iterator[str]:
    """Say where judgments are too few to be sure."""
    if any(finding.code == "unjudged" and finding.severity != "remark" for finding in findings):
        yield f"But {view.unjudged_share:.0%} of the docs in the top {view.k} are unjudged: the scores may be too low."


def counted(n: int, one: str, many: str) -> str:
    """Count things in words."""
    return f"1 {one}" if n == 1 else f"{n:,} {many}"
