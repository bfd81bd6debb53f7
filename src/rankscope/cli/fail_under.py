"""`evaluate --fail-under nDCG@10=0.5`: a gate on the scores themselves, loaded when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rankscope.comparing.gate import GateCheck, GatePolicy, GateResult
from rankscope.core.scores import Scores
from rankscope.errors import MeasureError, OptionError
from rankscope.measures.parse import parse_measure


def parse_limits(given: Sequence[str]) -> dict[str, float]:
    """Return {measure: limit} from texts such as nDCG@10=0.5."""
    limits = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            limits[parse_measure(name).name] = float(number)
        except (MeasureError, ValueError) as error:
            hint = "for example --fail-under nDCG@10=0.5"
            message = str(error) if equals and isinstance(error, MeasureError) else f"{text!r} is not MEASURE=NUMBER"
            raise OptionError(f"--fail-under: {message}", hint=hint) from None
        if not math.isfinite(limits[parse_measure(name).name]):
            raise OptionError(f"--fail-under: {number!r} is no limit", hint="give a number")
    return limits


def limit_gate(scores: Scores, limits: dict[str, float], *, allow_missing: float | None = None) -> GateResult:
    """Return what the gate says of every run and limit."""
    policy = GatePolicy() if allow_missing is None else GatePolicy(allow_missing=allow_missing)
    return GateResult(tuple(checks_of(scores, limits, policy)), policy)


def checks_of(scores: Scores, limits: dict[str, float], policy: GatePolicy) -> Iterator[GateCheck]:
    """Yield one check per run and limit; a run that leaves many queries unanswered is an error."""
    for name, run in scores.items():
        means = run.mean()
        for measure, limit in limits.items():
            aggregate, lower = means[measure], measure in run.lower_is_better
            word = "at most" if lower else "at least"
            words = f"{measure} is {aggregate.shown}, and is to be {word} {limit:g}."
            missing = run.counts.missing / max(scores.qrels.n_queries, 1)
            if missing > policy.allow_missing:
                yield GateCheck(
                    f"{name} {measure}", "error",
                    f"{name} does not answer {run.counts.missing} of {scores.qrels.n_queries} queries ({missing:.0%}; "
                    f"at most {policy.allow_missing:.0%} are allowed).",
                )  # fmt: skip
            elif math.isnan(aggregate.value):
                yield GateCheck(f"{name} {measure}", "error", f"No query has a score by {measure}.")
            else:
                holds = aggregate.value <= limit if lower else aggregate.value >= limit
                yield GateCheck(f"{name} {measure}", "passed" if holds else "failed", words)
