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
        depth, reached = view.k, float(view.reordered.mean())
        if part != "order":  # how deep to re-rank, and what that could reach at best
            low, high = reached, float(view.ceiling.mean())
            target = low + WORTHWHILE * (high - low) if part == "ranked_low" else high
            by_depth = ((cut, float(view.best_score(cut).mean())) for cut in view.cuts if cut >= view.k)
            depth, reached = next((one for one in by_depth if one[1] >= target), (view.depth, high))
        sentences.append(advice.format(k=view.k, depth=depth, reached=reached))
    if any(finding.code == "unjudged" and finding.severity != "remark" for finding in findings):
        sentences.append(
            f"But {view.unjudged_share:.0%} of the docs in the top {view.k} are unjudged: the scores may be too low."
        )
    return " ".join(sentences)
