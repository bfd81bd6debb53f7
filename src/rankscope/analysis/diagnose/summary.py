"""The summary of a diagnosis: a few sentences that say what to do first."""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.analysis.diagnose.records import DiagnosisFinding
from rankscope.analysis.diagnose.view import RunView

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
"""A re-ranker need not look at the whole pool: the first docs that could regain this share of the loss are enough."""


def summary_of(view: RunView, findings: Sequence[DiagnosisFinding]) -> str:
    """Say how good the run is, where it loses most and what to do, or that there is nothing to complain about."""
    losses = view.losses
    queries = "1 query" if len(view) == 1 else f"{len(view):,} queries"
    sentences = [f"{view.measure.name} is {losses.score:.4f} over {queries}."]
    if all(finding.severity == "remark" for finding in findings):
        sentences.append("Nothing to complain about: no check concerns more than a few queries.")
    else:
        # of equals the easiest to regain
        part = max(WHERE_LOST, key=lambda name: round(float(getattr(losses, name)), 9))
        where, advice = WHERE_LOST[part]
        missing, lost = 1 - losses.score, getattr(losses, part)
        share = "Most" if lost > missing / 2 else "The largest part"
        place = where.format(k=view.k, depth=view.depth)
        sentences.append(f"{share} of what is missing to 1 ({lost:.2f} of {missing:.2f}) is lost {place}.")
        depth, reached = reach_of(part, view)
        sentences.append(advice.format(k=view.k, depth=depth, reached=reached))
    if any(finding.code == "unjudged" and finding.severity != "remark" for finding in findings):
        sentences.append(
            f"But {view.unjudged_share:.0%} of the docs in the top {view.k} are unjudged: the scores may be too low."
        )
    return " ".join(sentences)


def reach_of(part: str, view: RunView) -> tuple[int, float]:
    """Return the depth to which docs should be re-ranked against a loss, and what nDCG that could reach at best."""
    if part == "order":
        return view.k, float(view.reordered.mean())
    low, high = float(view.reordered.mean()), float(view.ceiling.mean())
    target = low + WORTHWHILE * (high - low) if part == "ranked_low" else high
    reached = ((depth, float(view.best_score(depth).mean())) for depth in view.cuts if depth >= view.k)
    return next((one for one in reached if one[1] >= target), (view.depth, high))
