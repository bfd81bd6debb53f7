"""Plan a test collection: how many queries a difference takes, or which differences a number of queries can find.

How many queries are needed depends on how unevenly two systems differ from query to query. That spread is taken from
runs of two or more systems that you have (the first is the baseline), from scores that another tool has computed
(--scores), or from --sd. Plan before you look at a difference, with the smallest difference that would matter to you:
a "power" worked out from a difference that was already found says no more than its p-value.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankscope.cli.options import (
    add_anyway_option,
    add_file_options,
    add_format_option,
    add_policy_options,
    add_profile_option,
    chosen_format,
    one_stdin,
    output_to,
    policies_from,
    read_options_from,
)
from rankscope.errors import InputError, OptionError
from rankscope.stats.power import ALPHA, POWER

if TYPE_CHECKING:
    from rankscope.arrays import Floats
    from rankscope.measures.scores import Scores
    from rankscope.report.table import Table

FORMATS = ("table", "json")
MEASURE = "nDCG@10"
FEW_QUERIES = 25
"""A spread that comes from fewer queries is little more than a guess."""

EPILOG = """\
examples:
  rankscope plan qrels.txt bm25.run dense.run --detect 0.02
  rankscope plan qrels.txt bm25.run dense.run hybrid.run -m "RR@10" --detect 0.05 --systems 10
  rankscope plan qrels.txt bm25.run dense.run --queries 200
  rankscope plan --scores per_query.csv -m nDCG@10 --detect 0.02
  rankscope plan --sd 0.15 --detect 0.02
  rankscope plan --sd 0.15 --queries 54 --format json

half of all pairs of the better TREC systems (ad hoc 5 to 8, web 2010 to 2013) have an --sd above 0.15 for AP, 0.18 for
nDCG@20, 0.27 for P@10 and 0.42 for RR: better take it from runs of your own. Add queries because of a plan, not
because a test was not yet statistically significant."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How unevenly two systems differ from query to query."""

    a: str
    b: str
    sd: float
    low: float
    """With `high`, the 95 % interval of the standard deviation; both NaN where it was given."""
    high: float


@dataclass(frozen=True, slots=True)
class Basis:
    """What is planned with."""

    measure: str
    n_queries: int | None
    """How many queries there are."""
    n_left_out: int
    """Queries without a score of every system."""
    spreads: tuple[Spread, ...]
    residual_sd: float
    """The standard deviation of what systems and queries leave unexplained."""
    n_systems: int
    from_data: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for."""

    detect: float | None
    queries: int | None
    systems: int
    alpha: float
    power: float

    @property
    def alpha_each(self) -> float:
        """Alpha of each comparison with the baseline, where several share it."""
        return self.alpha / (self.systems - 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", metavar="[QRELS RUN RUN...]", nargs="*", help="the judgments, then two or more runs; not with --sd"
    )
    parser.add_argument("-m", "--measure", metavar="NAME", help=f"the measure that is to decide (default: {MEASURE})")
    parser.add_argument(
        "--detect", type=positive, metavar="X", help="the smallest difference that matters, in points of the measure"
    )
    parser.add_argument(
        "--queries", type=from_two, metavar="N", help="plan with this many queries (default: those of the files)"
    )
    parser.add_argument(
        "--sd", type=positive, metavar="X", help="the standard deviation of the differences per query, instead of files"
    )
    parser.add_argument(
        "--systems", type=from_two, metavar="M",
        help="how many systems will be compared, the baseline included; alpha is shared by all comparisons with it "
        "(default: as many as there are runs, or 2)",
    )  # fmt: skip
    parser.add_argument(
        "--alpha", type=share, default=ALPHA, metavar="X", help=f"chance of a false alarm (default: {ALPHA})"
    )
    parser.add_argument(
        "--power", type=share, default=POWER, metavar="X",
        help=f"chance to find a difference that is there (default: {POWER})",
    )  # fmt: skip
    parser.add_argument("--scores", action="store_true", help="the files hold scores per query, not qrels and runs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    add_format_option(parser, FORMATS)
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")
    add_profile_option(parser)
    add_anyway_option(parser)
    add_policy_options(parser)
    add_file_options(parser)


def positive(text: str) -> float:
    """Accept a number above 0."""
    value = as_number(text)
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return value


def share(text: str) -> float:
    """Accept a number between 0 and 1."""
    value = as_number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number between 0 and 1")
    return value


def from_two(text: str) -> int:
    """Accept a whole number from 2 up."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 2 up")
    return int(text)


def as_number(text: str) -> float:
    """Return a number, NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def run(args: argparse.Namespace) -> int:
    """Plan and print."""
    form = chosen_format(args.format, FORMATS)
    basis = basis_from(args)
    wanted = Wanted(
        args.detect, args.queries or basis.n_queries, args.systems or basis.n_systems, args.alpha, args.power
    )
    if wanted.detect is None and wanted.queries is None:
        raise OptionError("there is nothing to plan", hint="say --detect X, the smallest difference, or --queries N")
    record = record_of(basis, wanted)
    with output_to(args.output) as stream:
        if form == "json":
            stream.write(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
        else:
            from rankscope.report.table import print_table

            stream.write("\n".join(text_lines(basis, wanted, record)) + "\n\n")
            print_table(table_of(basis, wanted, record), file=stream)
    return 0


def basis_from(args: argparse.Namespace) -> Basis:
    """Return what to plan with: the spread that was given, or that of the files."""
    if args.sd is not None and args.files:
        raise OptionError(
            "--sd and files are given", hint="the files have a spread of their own: leave one of them out"
        )
    if args.sd is not None:
        spread = Spread("", "", args.sd, math.nan, math.nan)
        # two systems that leave s unexplained each differ with √2 s
        return Basis(args.measure or "", None, 0, (spread,), args.sd / math.sqrt(2), 2, from_data=False)
    return basis_of(scores_from(args), args.measure, seed=args.seed)


def scores_from(args: argparse.Namespace) -> Scores:
    """Return the scores that the spread is taken from."""
    one_stdin(args.files)
    if args.scores:
        from rankscope.measures.score_files import read_scores

        return read_scores(args.files, measure=args.measure)
    if len(args.files) < 3:
        raise OptionError(
            "give the qrels and at least two runs, or a spread",
            hint="rankscope plan QRELS RUN RUN --detect 0.02, or rankscope plan --sd 0.15 --detect 0.02",
        )
    from rankscope.evaluation import evaluate

    return evaluate(
        args.files[0],
        args.files[1:],
        args.measure or MEASURE,
        profile=args.profile,
        options=read_options_from(args),
        qrels_options=read_options_from(args, "qrels"),
        anyway=args.anyway,
        **policies_from(args),
    )


def basis_of(scores: Scores, measure: str | None, *, seed: int) -> Basis:
    """Return the spread of every system's differences from the first, over the queries that all have a score for."""
    import numpy as np

    from rankscope.stats.multiple import residual_variance

    if len(scores) < 2:
        raise InputError(f"only {next(iter(scores))!r} is given", hint="the spread is that of two or more systems")
    name = measure_among(scores, measure)
    matrix, n_left_out = matrix_of(scores, name)
    if len(matrix) < 2:
        raise InputError(f"there are {len(matrix)} queries for which every system has a score; a spread needs two")
    first, *others = scores
    differences = {other: matrix[:, i] - matrix[:, 0] for i, other in enumerate(others, 1)}
    spreads = tuple(spread_of(first, b, d, seed=seed) for b, d in differences.items() if np.ptp(d) > 0)
    if not spreads:
        raise InputError(
            f"{name} differs by the same amount on every query", hint="take systems that differ, or give --sd"
        )
    return Basis(
        name, len(matrix), n_left_out, spreads, math.sqrt(residual_variance(matrix)), len(scores), from_data=True
    )


def measure_among(scores: Scores, measure: str | None) -> str:
    """Return the measure to plan for, as the scores name it."""
    from rankscope.measures.scores import position

    if measure is None or len(scores.measures) == 1:
        return scores.measures[0]
    return scores.measures[position(scores.measures, measure, "measure")]


def matrix_of(scores: Scores, measure: str) -> tuple[Floats, int]:
    """Return the scores, queries x systems, and how many queries lack one."""
    import numpy as np

    by_system = [dict(zip(run.query_ids, run.column(measure).tolist(), strict=True)) for run in scores.values()]
    queries = list(dict.fromkeys(query for found in by_system for query in found))
    matrix = np.array([[found.get(query, math.nan) for found in by_system] for query in queries])
    whole = ~np.isnan(matrix).any(axis=1)
    return matrix[whole], int((~whole).sum())


def spread_of(a: str, b: str, differences: Floats, *, seed: int) -> Spread:
    """Return the standard deviation of the differences, with how well these queries know it."""
    from rankscope.stats.interval import bca_interval

    interval = bca_interval(differences, lambda rows: rows.std(axis=1, ddof=1), seed=seed)
    return Spread(a, b, float(differences.std(ddof=1)), interval.low, interval.high)


def record_of(basis: Basis, wanted: Wanted) -> dict[str, Any]:
    """Return all of the answer as plain data."""
    return {
        "measure": basis.measure or None,
        "n_queries": wanted.queries,
        "n_queries_of_files": basis.n_queries,
        "n_left_out": basis.n_left_out,
        "systems": wanted.systems,
        "alpha": wanted.alpha,
        "alpha_per_comparison": wanted.alpha_each,
        "power": wanted.power,
        "detect": wanted.detect,
        "pairs": [pair_record(spread, wanted) for spread in basis.spreads],
        "interval": width_record(basis, wanted) if wanted.detect else None,
        "anova": range_record(basis, wanted) if wanted.detect and wanted.systems > 2 else None,
    }


def pair_record(spread: Spread, wanted: Wanted) -> dict[str, Any]:
    """Return what can be found with the queries there are, and how many a difference needs."""
    from rankscope.stats.power import minimal_detectable_effect

    mde = (
        minimal_detectable_effect(spread.sd, wanted.queries, alpha=wanted.alpha_each, power=wanted.power)
        if wanted.queries
        else None
    )
    return {
        "a": spread.a or None,
        "b": spread.b or None,
        "sd": spread.sd,
        "sd_low": none_if_unknown(spread.low),
        "sd_high": none_if_unknown(spread.high),
        "mde": mde,
        "queries_needed": needed(spread.sd, wanted),
        "queries_needed_low": needed(spread.low, wanted),
        "queries_needed_high": needed(spread.high, wanted),
    }


def none_if_unknown(value: float) -> float | None:
    """Return None for NaN, which JSON cannot hold."""
    return None if math.isnan(value) else value


def needed(sd: float, wanted: Wanted) -> int | None:
    """Return how many queries find the difference; None where none is named or the spread is unknown."""
    from rankscope.stats.power import queries_needed

    if wanted.detect is None or not sd > 0:
        return None
    return queries_needed(wanted.detect, sd, alpha=wanted.alpha_each, power=wanted.power).n_queries


def width_record(basis: Basis, wanted: Wanted) -> dict[str, Any]:
    """Return how many queries make the interval of a difference as narrow as the difference wanted."""
    from rankscope.stats.design import queries_for_width

    plan = queries_for_width(float(wanted.detect or 0), widest(basis).sd, level=1 - wanted.alpha)
    return {"half_width": plan.half_width, "level": plan.level, "queries_needed": plan.n_queries}


def range_record(basis: Basis, wanted: Wanted) -> dict[str, Any]:
    """Return how many queries tell by analysis of variance that the best and the worst system differ."""
    from rankscope.stats.design import queries_for_range

    plan = queries_for_range(
        float(wanted.detect or 0), basis.residual_sd, wanted.systems, alpha=wanted.alpha, power=wanted.power
    )
    return {"range": plan.min_range, "residual_sd": plan.spread, "queries_needed": plan.n_queries}


def widest(basis: Basis) -> Spread:
    """Return the pair that needs most queries."""
    return max(basis.spreads, key=lambda spread: spread.sd)


def text_lines(basis: Basis, wanted: Wanted, record: dict[str, Any]) -> Iterator[str]:
    """Yield the answer in words: what it takes, what there is, and how sure that is."""
    decisive = max(record["pairs"], key=lambda pair: pair["sd"])
    if decisive["queries_needed"] is not None:
        yield (
            f"About {decisive['queries_needed']:,} queries find a true difference of {wanted.detect:g}{of(basis)} with "
            f"{percent(wanted.power)} chance."
        )
    if decisive["mde"] is not None:
        yield (
            f"{whose(basis, wanted)} find a true difference of {decisive['mde']:.2g} with {percent(wanted.power)} "
            "chance; smaller ones are missed more often."
        )
    yield how_it_is_tested(wanted)
    if len(basis.spreads) > 1:
        yield f"The pair whose differences vary most decides: {decisive['b']} against {decisive['a']}."
    yield from cautions(basis, decisive)


def of(basis: Basis) -> str:
    """Name the measure, where one is known."""
    return f" in {basis.measure}" if basis.measure else ""


def whose(basis: Basis, wanted: Wanted) -> str:
    """Name the queries that there are, or that were asked about."""
    return f"The {wanted.queries:,} you have" if wanted.queries == basis.n_queries else f"{wanted.queries:,} queries"


def how_it_is_tested(wanted: Wanted) -> str:
    """Say what the numbers take for granted."""
    if wanted.systems == 2:
        return f"This is for one paired two-sided test at {percent(wanted.alpha)}."
    return (
        f"This is for {wanted.systems - 1} paired two-sided tests against one baseline, which share "
        f"{percent(wanted.alpha)}: {percent(wanted.alpha_each)} each."
    )


def percent(value: float) -> str:
    """Print a share as a percentage, without digits that say nothing."""
    return f"{100 * value:.3g} %"


def cautions(basis: Basis, decisive: dict[str, Any]) -> Iterator[str]:
    """Say how rough the plan is, and what was left out."""
    low, high = decisive["queries_needed_low"], decisive["queries_needed_high"]
    if low is not None and high is not None:
        yield f"The spread itself is known from {basis.n_queries} queries: {low:,} to {high:,} would be no surprise."
    if basis.n_queries is not None and basis.n_queries < FEW_QUERIES:
        yield f"With fewer than {FEW_QUERIES} queries a spread is little more than a guess; plan again with more."
    if basis.n_left_out:
        are = "query is" if basis.n_left_out == 1 else "queries are"
        yield f"{basis.n_left_out} {are} left out: not every system has a score there."


def table_of(basis: Basis, wanted: Wanted, record: dict[str, Any]) -> Table:
    """Return the ways of planning below one another."""
    from rankscope.report.table import Cell, Table

    rows = [list(map(Cell, row)) for row in ways(basis, wanted, record)]
    header = ["plan for", "spread"]
    header += [f"found with {wanted.queries:,}"] if wanted.queries else []
    header += [f"queries for {wanted.detect:g}"] if wanted.detect else []
    return Table(header, rows)


def ways(basis: Basis, wanted: Wanted, record: dict[str, Any]) -> Iterator[list[str]]:
    """Yield a row for every pair, then the other ways to plan."""
    for pair in record["pairs"]:
        name = f"a difference, {pair['b']} against {pair['a']}" if basis.from_data else "a difference"
        yield row_of(wanted, name, pair["sd"], found=f"{pair['mde']:.2g}" if pair["mde"] else "", pair=pair)
    if record["interval"]:
        name = f"a {percent(1 - wanted.alpha)} interval of ± {wanted.detect:g}"
        yield row_of(wanted, name, widest(basis).sd, found="-", pair=record["interval"])
    if record["anova"]:
        name = f"the best and the worst of {wanted.systems} systems, {wanted.detect:g} apart (ANOVA)"
        yield row_of(wanted, name, basis.residual_sd, found="-", pair=record["anova"])


def row_of(wanted: Wanted, name: str, spread: float, *, found: str, pair: dict[str, Any]) -> list[str]:
    """Return one row, with the columns that were asked for."""
    cells = [name, f"{spread:.3f}"]
    cells += [found] if wanted.queries else []
    cells += [f"{pair['queries_needed']:,}"] if wanted.detect else []
    return cells
