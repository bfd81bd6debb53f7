"""The summary of a diagnosis: one or two sentences that say what to do first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.analysis.diagnose.records import Finding, Losses
from rankscope.analysis.diagnose.view import View

WHERE_LOST = {
    "order": (
        "inside the top {k}: relevant docs are there, but not at its first ranks",
        "Work on the first ranks: the best order of the same {k} docs would reach {reached:.2f}.",
    ),
    "ranked_low": (
        "below the top {k}: relevant docs are retrieved, but ranked too low",
        "Work on the ranking first: a perfect re-ranker of the first {depth} docs would reach {reached:.2f}.",
    ),
    "not_retrieved": (
        "outside the pool: relevant docs are not among the first {depth}",
        "Work on retrieval first: no re-ranker of these docs gets beyond {reached:.2f}.",
    ),
}
"""Where nDCG is lost, and what that means."""
WORTHWHILE = 0.75
"""A re-ranker need not look at the whole pool: the first docs that could win back this share of the loss will do."""


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
    depth, reached = reach_of(part, view)
    place = where.format(k=view.k, depth=view.depth)
    yield f"{share} of what is missing to 1 ({lost:.2f} of {missing:.2f}) is lost {place}."
    yield advice.format(k=view.k, depth=depth, reached=reached)


def reach_of(part: str, view: View) -> tuple[int, float]:
    """Return the depth to which docs should be re-ranked against a loss, and what nDCG that could reach at best."""
    if part == "order":
        return view.k, float(view.reordered.mean())
    low, high = float(view.reordered.mean()), float(view.ceiling.mean())
    target = low + WORTHWHILE * (high - low) if part == "ranked_low" else high
    reached = ((depth, float(view.best_score(depth).mean())) for depth in view.cuts if depth >= view.k)
    return next((one for one in reached if one[1] >= target), (view.depth, high))


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
