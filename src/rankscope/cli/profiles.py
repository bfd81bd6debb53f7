"""List the profiles: the conventions of other tools, as tables of policies and measure variants."""

from __future__ import annotations

import argparse
import dataclasses
import json

from rankscope.measures.parameters import show_value
from rankscope.measures.profiles import PROFILES, Profile, find_profile

EPILOG = """\
examples:
  rankscope profiles
  rankscope profiles beir
  rankscope evaluate qrels.txt run.txt --profile trec_eval-9"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="the profile to show")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print")


def run(args: argparse.Namespace) -> int:
    """List them all, or show one."""
    profiles = [find_profile(args.name)] if args.name else list(PROFILES.values())
    if args.format == "json":
        print(json.dumps([dataclasses.asdict(profile) for profile in profiles], indent=1, ensure_ascii=False))
    else:
        print("\n".join(text(profile) for profile in profiles), end="")
    return 0


def text(profile: Profile) -> str:
    """Return a profile as text."""
    policies = ", ".join(f"{name}={value}" for name, value in profile.policies.items())
    variants = ", ".join(
        f"{base}({', '.join(f'{name}={show_value(value)}' for name, value in params.items())})"
        for base, params in profile.variants.items()
    )
    lines = [
        f"{profile.name}: {profile.description}",
        f"  policies  {policies or 'the defaults'}",
        *([f"  measures  {variants}"] if variants else []),
        f"  default   {' '.join(profile.measures)}",
        *(f"  note      {note}" for note in profile.notes),
    ]
    return "\n".join(lines) + "\n"
