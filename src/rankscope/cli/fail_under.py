"""`evaluate --fail-under nDCG@10=0.5`: a gate on the scores themselves, loaded when it is asked for."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence

from rankscope.cli.gate_options import write_cases
from rankscope.comparison.gate import GateCheck, GatePolicy, GateResult
from rankscope.errors import OptionError, RankscopeError
from rankscope.evaluation import chosen_profile, decide_measures
from rankscope.measures.scores import Scores
from rankscope.report.render.junit import cases, error_case


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
        policy = GatePolicy() if args.allow_missing is None else GatePolicy(allow_missing=args.allow_missing)
        gate = GateResult(tuple(checks_of(scores, limits, policy)), policy)
    except RankscopeError as error:
        if form == "junit":
            write_cases([error_case("evaluate", str(error), command="evaluate")], args.output, command="evaluate")
        raise
    if form == "junit":
        write_cases(cases(gate, command="evaluate"), args.output, command="evaluate")
    else:
        report(args, form, scores)
    for line in gate.lines():
        print(line, file=sys.stderr)
    return gate.exit_code


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


def checks_of(scores: Scores, limits: dict[str, float], policy: GatePolicy) -> Iterator[GateCheck]:
    """Yield one check per run and limit; a run that leaves many queries unanswered is an error."""
    allowed = f"at most {policy.allow_missing:.0%} are allowed"
    # queries without relevant docs, or without an answer, may be left out on purpose
    excludes = scores.policies.get("no_relevant") == "exclude" or scores.policies.get("missing") == "skip"
    for name, run in scores.items():
        means, counts, n_queries = run.mean(), run.counts, scores.qrels.n_queries
        missing = counts.missing / max(n_queries, 1)
        # queries of weight 0 were never part of a mean
        n_counted = counts.queries if run.weights is None else int((run.weights > 0).sum())
        for measure, limit in limits.items():
            mean, lower = means[measure], measure in run.lower_is_better
            undefined = 1 - mean.n / max(n_counted, 1)
            error = ""
            if counts.retrieved and counts.unjudged == counts.retrieved:
                error = "Not one of the docs it retrieved is judged."
            elif missing > policy.allow_missing:
                error = f"{name} does not answer {counts.missing} of {n_queries} queries ({missing:.0%}; {allowed})."
            elif undefined > policy.allow_missing and not excludes:
                n_undefined = counts.queries - mean.n
                error = f"{measure} is undefined for {n_undefined} of {counts.queries} queries ({allowed})."
            elif math.isnan(mean.value):
                error = f"No query has a score by {measure}."
            holds = mean.value <= limit if lower else mean.value >= limit
            words = f"{measure} is {mean.shown}, and is to be {'at most' if lower else 'at least'} {limit:g}."
            yield GateCheck(f"{name} {measure}", "error" if error else "passed" if holds else "failed", error or words)
