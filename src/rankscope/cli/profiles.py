"""List the profiles: the conventions of other tools, as tables of policies and measure variants."""

from __future__ import annotations

import argparse
import json

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.light import asdict
from rankscope.measures.parameters import show_value
from rankscope.measures.profiles import PROFILES, Profile, find_profile
from rankscope.report.measure_help import hanging

EPILOG = """\
examples:
  rankscope profiles
  rankscope profiles beir
  rankscope evaluate qrels.txt run.txt --profile trec_eval-9"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="the profile to show")
    add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    profiles = [find_profile(args.name)] if args.name else list(PROFILES.values())
    if chosen_format(args) == "json":
        print(json.dumps([asdict(profile) for profile in profiles], indent=1, ensure_ascii=False))
    else:
        print("\n".join(text(profile) for profile in profiles), end="")
    return FINE


def text(profile: Profile) -> str:
    policies = ", ".join(f"{name}={value}" for name, value in profile.policies.items())
    variants = ", ".join(
        f"{base}({', '.join(f'{name}={show_value(value)}' for name, value in params.items())})"
        for base, params in profile.variants.items()
    )
    facts = [
        ("policies", policies or "the defaults"),
        *([("measures", variants)] if variants else []),
        *([("default", " ".join(profile.measures))] if profile.measures else []),
        *([("with data", " ".join(profile.measures_of_docs))] if profile.measures_of_docs else []),
        *(("note", note) for note in profile.notes),
    ]
    lines = [*hanging(f"{profile.name}: {profile.description}", "")]
    for heading, fact in facts:
        lines += hanging(fact, f"  {heading:<10}")
    return "\n".join(lines) + "\n"
