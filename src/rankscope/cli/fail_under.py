"""`evaluate --fail-under nDCG@10=0.5`: a gate on the scores themselves, loaded when it is asked for."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence

from rankscope.cli.options import output_to
from rankscope.comparison.gate import GateCheck, GatePolicy, GateResult
from rankscope.errors import OptionError, RankscopeError
from rankscope.evaluation import chosen_profile, decide_measures
from rankscope.measures.scores import Aggregate, RunScores, Scores
from rankscope.report.comparison_cases import cases, error_case
from rankscope.report.render.junit import JUnitCase, to_junit


def run_with_gate(args: argparse.Namespace, form: str) -> int:
    """Evaluate, print, and return the exit code that the limits give; what they are about is shown with the rest."""
    from rankscope.cli.evaluate import report, scores_from

    if not args.fail_under:
        option = "--allow-missing" if form != "junit" else "--format junit"
        raise OptionError(f"{option} goes with --fail-under", hint="for example --fail-under nDCG@10=0.5")
    if form == "trec":
        raise OptionError("--fail-under does not go with --format trec", hint="leave the format out, or use csv")
    limits = parse_limits(args.fail_under, args.profile)
    shown = [measure.name for measure in decide_measures(chosen_profile(args.profile), args.measures or None)]
    args.measures = list(dict.fromkeys([*shown, *limits]))
    try:
        scores = scores_from(args)
        gate = limit_gate(scores, limits, allow_missing=args.allow_missing)
    except RankscopeError as error:
        if form == "junit":
            write_cases([error_case("evaluate", str(error), command="evaluate")], args)
        raise
    if form == "junit":
        write_cases(cases(gate, command="evaluate"), args)
    else:
        report(args, form, scores)
    for line in gate.lines():
        print(line, file=sys.stderr)
    return gate.exit_code


def write_cases(listed: Iterable[JUnitCase], args: argparse.Namespace) -> None:
    """Write test cases for a build server."""
    with output_to(args.output) as stream:
        stream.write(to_junit(listed, suite="rankscope evaluate"))


def parse_limits(given: Sequence[str], profile: str | None) -> dict[str, float]:
    """Return {measure: limit} from texts such as nDCG@10=0.5, measures being those of the profile."""
    limits = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            limit = float(number) if equals else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise OptionError(f"--fail-under {text}: that is not MEASURE=NUMBER", hint="for example nDCG@10=0.5")
        for measure in decide_measures(chosen_profile(profile), name):
            limits[measure.name] = limit
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
            if run.counts.retrieved and run.counts.unjudged == run.counts.retrieved:
                yield GateCheck(f"{name} {measure}", "error", "Not one of the docs it retrieved is judged.")
                continue
            if missing > policy.allow_missing:
                yield GateCheck(
                    f"{name} {measure}",
                    "error",
                    f"{name} does not answer {run.counts.missing} of {scores.qrels.n_queries} queries ({missing:.0%}; "
                    f"at most {policy.allow_missing:.0%} are allowed).",
                )
            elif undefined_share(run, aggregate) > policy.allow_missing and not excludes(scores):
                yield GateCheck(
                    f"{name} {measure}",
                    "error",
                    f"{measure} is undefined for {run.counts.queries - aggregate.n} of {run.counts.queries} queries "
                    f"(at most {policy.allow_missing:.0%} are allowed).",
                )
            elif math.isnan(aggregate.value):
                yield GateCheck(f"{name} {measure}", "error", f"No query has a score by {measure}.")
            else:
                holds = aggregate.value <= limit if lower else aggregate.value >= limit
                yield GateCheck(f"{name} {measure}", "passed" if holds else "failed", words)


def undefined_share(run: RunScores, aggregate: Aggregate) -> float:
    """Return the share of queries that the mean leaves out; those of weight 0 were never part of it."""
    counted = run.counts.queries if run.weights is None else int((run.weights > 0).sum())
    return 1 - aggregate.n / max(counted, 1)


def excludes(scores: Scores) -> bool:
    """Tell whether queries are left out on purpose: those without relevant docs, or without an answer."""
    return scores.policies.get("no_relevant") == "exclude" or scores.policies.get("missing") == "skip"
