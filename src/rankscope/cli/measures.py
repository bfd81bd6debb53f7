"""List the measures by family, or explain one: what it answers, formula, range, parameters, example, citation."""

from __future__ import annotations

import argparse
import json
import math

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.measures.listing import by_family
from rankscope.measures.parse import parse_measures
from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.measures.spec import MeasureSpec
from rankscope.report.measure_help import measure_text, parameter_lines, usual_name

EPILOG = """\
examples:
  rankscope measures
  rankscope measures nDCG
  rankscope measures recip_rank

measures are written as nDCG@10, P(rel=2)@5 or nDCG(gain='exp2')@20; the names of trec_eval, ranx and
ir_measures are understood too"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="the measure to explain")
    add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    specs = [find(args.name)] if args.name else [spec for family in by_family().values() for spec in family]
    if chosen_format(args) == "json":
        print(json.dumps([record(spec) for spec in specs], indent=1, ensure_ascii=False))
    elif args.name:
        print(measure_text(specs[0]), end="")
    else:
        width = max(len(usual_name(spec)) for spec in specs)
        for family, members in by_family().items():
            print(family)
            for spec in members:
                print(f"  {usual_name(spec):<{width}}  {spec.summary.removeprefix('Answers: ')}")
            print()
        print("`rankscope measures NAME` explains one of them")
    return FINE


def find(name: str) -> MeasureSpec:
    """Return the measure of a name, with or without its cut-off."""
    if name.lower() in ALIASES:
        return REGISTRY[ALIASES[name.lower()][0]]
    return parse_measures(name)[0].spec


def record(spec: MeasureSpec) -> dict[str, object]:
    return {
        "name": spec.name,
        "title": spec.title,
        "family": str(spec.family),
        "answers": spec.summary.removeprefix("Answers: "),
        "formula": spec.formula,
        "range": [bound if math.isfinite(bound) else None for bound in spec.range],
        "better": spec.better,
        "undefined": spec.undefined,
        "cite": spec.cite,
        "version": spec.version,
        "aliases": list(spec.aliases),
        "elsewhere": dict(spec.names_elsewhere),
        "parameters": dict(parameter_lines(spec)),
    }
