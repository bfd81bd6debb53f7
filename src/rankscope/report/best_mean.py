"""The answer that means alone give, at no cost: which run has the best. Tables, pages, cards and JSON all say it."""

from __future__ import annotations

from rankscope.measures.scores import RunScores, Scores, is_over_same_queries
from rankscope.printable import listed
from rankscope.report.evaluation import best_values, counts_among, is_quality, no_best_words, number_cell, primary_of


def answer_lines(scores: Scores) -> list[str]:
    """Return the answer of several runs, and how to learn more; of one run the table itself is the answer."""
    return [line for line in (best_sentence(scores), how_to_tell(scores)) if line]


def best_sentence(scores: Scores) -> str:
    """Return which of several runs has the best mean by the measure that decides, or why none has; of one nothing."""
    if len(scores) == 1:
        return ""
    primary = primary_of(scores)
    if not any(run.aggregate_of(primary).n for run in scores.values()):
        return f"No query has a score by {primary}."
    if not is_quality(primary):
        return f"There is no best run by {primary}: {not_quality_words(primary)}."
    if not is_over_same_queries(scores, primary):
        return f"There is {no_best_words([primary])}."
    best = best_runs(scores)
    run = scores[best[0]] if best else scores.runs[0]
    number = f"mean {primary}" if run.aggregates[run.measures.index(primary)] == "mean" else primary
    if not best:
        return f"All {len(scores)} runs have the same {number}: {value_words(run, primary)}."
    return f"{listed(best)} {'has' if len(best) == 1 else 'share'} the best {number}: {value_words(run, primary)}."


def how_to_tell(scores: Scores) -> str:
    """Return which command tells whether the best is better, where there is a best."""
    if not best_runs(scores):
        return ""
    command = "rankscope compare" if len(scores) == 2 else "rankscope compare --all-pairs"
    return f"Whether that is a real difference: {command}, with the same files."


def best_runs(scores: Scores) -> list[str]:
    """Return the runs that tables mark as the best by the measure that decides; none where all look the same."""
    primary = primary_of(scores)
    best, whole = best_values(scores).get(primary), primary in counts_among(scores)
    values = {name: run.aggregate_of(primary).value for name, run in scores.items()}
    return [name for name, value in values.items() if number_cell(value, best, whole=whole).best]


def not_quality_words(measure: str) -> str:
    return f"{measure} says how much was judged, not how good a run is"


def value_words(run: RunScores, measure: str) -> str:
    counted = run.aggregate_of(measure)
    return counted.shown if counted.is_count else f"{counted.value:.3f}"
