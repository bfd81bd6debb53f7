"""Divide the queries of a collection into train and held out, or show what a split holds.

COLLECTION is the folder of a collection, or its name in the project file. A split is stored as a file; its held-out
queries are only shown with --reveal, which is recorded beside the file.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from rankscope.cli.exit_codes import FINE
from rankscope.errors import OptionError
from rankscope.experiment.collection import load_collection
from rankscope.experiment.project import find_collection
from rankscope.experiment.splits import Split, load_split, log_of, make_split, reveal, reveals

EPILOG = """\
examples:
  rankscope split scifact -o split.json
  rankscope split hpo --train 0.3 --by category,difficulty --seed 1 -o split.json
  rankscope split tickets --group session -o split.json
  rankscope split split.json
  rankscope split split.json --reveal"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("collection", metavar="COLLECTION", help="a collection to divide, or a split to show")
    parser.add_argument("-o", "--output", metavar="FILE", help="the split to write")
    parser.add_argument("--train", metavar="SHARE", default="0.5", help="the share to train on (default: 0.5)")
    mixed = "attributes of queries of which both sides get the same mix"
    parser.add_argument("--by", metavar="NAME,...", default="", help=mixed)
    together = "attribute of queries that belong together, such as session: those that share its value stay on one side"
    parser.add_argument("--group", metavar="NAME", help=f"{together} (default: what the project file says)")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="where random numbers start (default: 0)")
    parser.add_argument("--force", action="store_true", help="replace a split that is there already")
    parser.add_argument("--reveal", action="store_true", help="print the held-out queries of a split, and record it")
    parser.add_argument("--project", metavar="FILE", help="the project file, where it is not in this folder or above")


def run(args: argparse.Namespace) -> int:
    if args.output is not None:
        if args.reveal:
            raise OptionError("--reveal is for a split that is there already", hint="leave out -o, or --reveal")
        return make(args)
    if not Path(args.collection).is_file():
        hint = "to make one, say where it is to be written: -o split.json"
        raise OptionError(f"{args.collection} is not a split", hint=hint)
    if not args.reveal:
        return show(load_split(args.collection), args.collection)
    path = args.collection
    holdout = reveal(path, command=shlex.join(["rankscope", "split", path, "--reveal"]))
    sys.stdout.writelines(f"{query}\n" for query in holdout.query_ids)
    times = "for the first time" if holdout.n_reveals == 1 else f"for the {holdout.n_reveals}. time"
    print(f"revealed {times}; recorded in {log_of(Path(path))}", file=sys.stderr)
    return FINE


def make(args: argparse.Namespace) -> int:
    spec, cache = find_collection(args.collection, args.project)
    queries = load_collection(spec, cache=cache).queries
    by = [name.strip() for name in args.by.split(",") if name.strip()]
    group = args.group or spec.group
    split = make_split(queries, args.output, train=args.train, by=by, group=group, seed=args.seed, replace=args.force)
    show(split, args.output)
    print(f"next: name it in the project file, in [collections.{spec.name}]: split = {json.dumps(str(args.output))}")
    return FINE


def show(split: Split, path: str) -> int:
    """Print how many queries and groups are on either side, and whether the held-out ones have been looked at."""
    by = f" by {', '.join(split.by)}" if split.by else ""
    seed = "" if split.seed is None else f", seed {split.seed}"
    print(f"{path}: {len(split.train)} train, {split.n_holdout} held out{by}{seed}")
    if split.by:
        width = max(map(len, split.strata))
        for name, (n_train, n_holdout) in split.strata.items():
            print(f"  {name:<{width}}  {n_train} + {n_holdout}")
    if split.n_groups is not None and split.share is not None:
        n_train, n_holdout = split.n_groups
        achieved = f"{len(split.train) / (len(split.train) + split.n_holdout):.4g} of the queries"
        print(f"  groups by {split.group}: {n_train} + {n_holdout}; train is {achieved}, {split.share:g} was requested")
    for entry in reveals(path):
        print(f"  revealed {entry.date} by {entry.who}: {entry.command}")
    return FINE
