"""The answer of an evaluation: how good a run is, or which of several is the best, with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.comparison import verdict as wording
from rankscope.comparison.recommendation import codes_against
from rankscope.comparison.records import Comparison
from rankscope.errors import MeasureError, RankscopeError
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import RunScores, Scores
from rankscope.report.best_mean import best_runs, best_sentence, how_to_tell, value_words
from rankscope.report.charts.sources import RunData
from rankscope.report.comparison import first_screen
from rankscope.report.document import Fact, Mark, VerdictBlock
from rankscope.report.evaluation import (
    primary_of,
    queries,
    span,
    special_queries,
)
from rankscope.report.means import mean_of
from rankscope.stats.interval import percent

DEPTH = 10
"""So many results are looked at for what a reader sees on a page of results."""
SEEN = ("Success@1", f"Success@{DEPTH}", f"Judged@{DEPTH}")
EQUAL_TO_SEEN: dict[str, tuple[str, ...]] = {
    SEEN[0]: (SEEN[0], "P@1", "RR", f"RR@{DEPTH}"),
    SEEN[1]: (SEEN[1], f"P@{DEPTH}", f"R@{DEPTH}", f"RR@{DEPTH}"),
    SEEN[2]: (SEEN[2],),
}
"""Measures that tell the same: the first is 1 where they are 1, the second is 0 where they are 0."""


def answer_of(scores: Scores, comparison: Comparison | None, why_not: str = "") -> VerdictBlock:
    """Return the answer: of one run how good it is, of several who is the best by the verdicts on all pairs."""
    primary = primary_of(scores)
    subject = f"{primary} · {f'{len(scores)} runs' if len(scores) > 1 else next(iter(scores))} · {size_of(scores)}"
    if len(scores) == 1:
        run = next(iter(scores.values()))
        mark: Mark = "note" if run.aggregate_of(primary).n else "fails"
        return VerdictBlock(score_sentence(scores, run), measured_on(scores), mark, subject, tuple(warned(scores, run)))
    if comparison is not None:
        group = comparison.groups[0]
        blocks = first_screen(comparison, group, with_figures=False)
        verdict = next(block for block in blocks if isinstance(block, VerdictBlock))
        reason = f"{verdict.reason} {measured_on(scores)}"
        return VerdictBlock(verdict.headline, reason, verdict.mark, subject, verdict.cautions)
    known = (measured_on(scores), how_to_tell(scores), why_not)
    mark = "note" if how_to_tell(scores) else "unsure"
    return VerdictBlock(best_sentence(scores), " ".join(filter(None, known)), mark, subject)


def score_sentence(scores: Scores, run: RunScores) -> str:
    primary = primary_of(scores)
    counted = run.aggregate_of(primary)
    if not counted.n:
        return f"No query of {run.name} has a score by {primary}."
    weighted = "" if scores.weighted_by is None else f", weighted by {scores.weighted_by}"
    return f"{run.name} scores {primary} {mean_words(run, primary)} over {queries(counted.n)}{weighted}."


def mean_words(run: RunScores, measure: str) -> str:
    """Return a mean with its interval, e.g. `0.684 (95% interval 0.597 to 0.772)`."""
    value, interval = value_words(run, measure), interval_words(run, measure)
    return f"{value} ({interval})" if interval else value


def interval_words(run: RunScores, measure: str) -> str:
    ci = mean_of(run, measure).interval
    return "" if ci is None else f"{percent(ci.level)} interval {ci.low:.3f} to {ci.high:.3f}"


def size_of(scores: Scores) -> str:
    return span(queries(n) for n in sorted({run.counts.queries for run in scores.values()}))


def measured_on(scores: Scores) -> str:
    """Say against which judgments it was measured, and what the primary measure tells."""
    primary, origin = primary_of(scores), scores.qrels.origin
    against = "" if origin is None else f" of {PurePath(origin.path).name}"
    words = f"Measured on {queries(scores.qrels.n_queries)}{against}."
    with suppress(MeasureError):  # a measure of somebody else may not be known here
        spec = parse_measure(primary).spec
        question, found, _ = spec.description.partition("?")
        low, high = (f"{end:g}" for end in spec.range)
        ends = f"from {low} to {high}" if high != "inf" else f"from {low} up"
        if found and question.startswith("Answers: "):
            asked = " ".join(question.removeprefix("Answers: ").split())
            words += f" {primary} answers: {asked}? It goes {ends}, and {spec.better} is better."
    return words


def warned(scores: Scores, run: RunScores) -> Iterator[str]:
    """Yield what limits the number: queries that the run does not answer."""
    if scores.policies and run.counts.missing:
        yield f"{next(special_queries(run, scores.policies))}."


def facts_of(scores: Scores, data: RunData | None, comparison: Comparison | None) -> Iterator[Fact]:
    """Yield at most five numbers of the only run or of the best, as far as scores and runs tell them."""
    primary = primary_of(scores)
    if not (best_names := list(scores) if len(scores) == 1 else best_runs(scores)):
        return
    run = scores[best_names[0]]
    whose = "" if len(scores) == 1 else f"{run.name}, "
    best = "" if len(scores) == 1 else "Best "
    yield Fact(
        f"{best}{primary}",
        value_words(run, primary),
        f"{whose}{interval_words(run, primary) or mean_of(run, primary).why_none}".rstrip(", "),
    )
    if comparison is not None and len(scores) > 2:
        codes = codes_against(comparison.groups[0].leaderboard[0].system, comparison.groups[0])
        n_open = sum(code not in ("better", "probably_better") for code in codes.values())
        yield Fact("Not distinguished from it", f"{n_open} of {len(codes)}", "others, by the verdicts on all pairs")
    seen = what_is_seen(run, data)
    if SEEN[0] in seen:
        yield Fact("First result relevant", f"{among(seen[SEEN[0]] == 1)} queries", whose.removesuffix(", "))
    if SEEN[1] in seen:
        yield Fact(f"Nothing relevant in top {DEPTH}", f"{among(seen[SEEN[1]] == 0)} queries", whose.removesuffix(", "))
    if SEEN[2] in seen and len(seen[SEEN[2]]):
        yield Fact(f"Judged in top {DEPTH}", f"{seen[SEEN[2]].mean():.0%}", f"{whose}mean over its queries")
    if len(scores) == 1 and scores.policies:
        yield Fact("Not answered", f"{run.counts.missing} of {scores.qrels.n_queries}", "queries")


def among(true: Bools) -> str:
    return f"{int(true.sum())} of {len(true)}"


def what_is_seen(run: RunScores, data: RunData | None) -> Mapping[str, Floats]:
    """Return what a reader of the first results sees, one number per query; from the runs where these are given."""
    if data is not None:
        with suppress(RankscopeError):
            (own,) = (each for each in data.runs if (each.name or "run") == run.name)
            request = EvaluateRequest.decide(SEEN, **{**data.options, "profile": None, **data.policies.as_dict()})
            found = evaluate_request(request, data.qrels, [own]).runs[0]
            asked = np.isin(found.query_ids, run.query_ids)
            return {name: known(found.values[asked, i]) for i, name in enumerate(SEEN)}
    seen: dict[str, Floats] = {}
    for name, others in EQUAL_TO_SEEN.items():
        for other in (other for other in others if other in run.measures):
            seen.setdefault(name, known(run.column(other)))
    return seen


def known(column: Floats) -> Floats:
    known_scores: Floats = column[~np.isnan(column)]
    return known_scores


def words_against_best(comparison: Comparison) -> dict[str, str]:
    """Return the verdict on every run against the one with the best mean, in a word or two."""
    group = comparison.groups[0]
    best = group.leaderboard[0].system
    codes = codes_against(best, group)
    return {best: "best mean", **{name: wording.WORDS[wording.TURNED.get(code, code)] for name, code in codes.items()}}
