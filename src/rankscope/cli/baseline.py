"""Save runs as a baseline: a folder to commit, with which `rankscope gate` compares later ones.

save writes the runs of a project, or of files, as .trec.gz beside a manifest.json: hashes of runs, queries and qrels,
versions, the measure that decides with its policies, and how long queries took where that is known.

show prints what a baseline holds, and checks that it is what was saved.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import show
from rankscope.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from rankscope.experiment.baseline import BaselineManifest

ACTIONS = ("save", "show")
FOLDER = "baseline"

EPILOG = """\
examples:
  rankscope baseline save
  rankscope baseline save --system hybrid -o baseline
  rankscope baseline save qrels.txt bm25.run -o baseline
  rankscope baseline save qrels.txt bm25.run -m RR@10 --margin 0.02 --queries queries.jsonl
  rankscope baseline save qrels.txt bm25.run --latencies times.csv
  rankscope baseline show baseline

an earlier baseline in the folder is replaced once the new one is complete. Commit the folder; docs/ci.md shows the
way from a search function to a gate"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help="save or show")
    what = (
        "save: the judgments, then one or more runs; or a project, by default the nearest one, whose last run is "
        "saved. show: the folder"
    )
    parser.add_argument("files", metavar="QRELS RUN | PROJECT | FOLDER", nargs="*", help=what)
    parser.add_argument("-o", "--output", metavar="FOLDER", help=f"the folder to write (default: {FOLDER})")
    system = "save this system of the project; may be repeated (default: all)"
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help=system)
    collection = "save the runs of this collection of the project; may be repeated (default: all)"
    parser.add_argument("--collection", action="append", default=[], metavar="NAME", help=collection)
    options.add_format_option(parser, "text", "json")
    files = parser.add_argument_group("for runs in files; a project says these in its file")
    files.add_argument("-m", "--measure", metavar="NAME", help="the measure that decides (default: nDCG@10)")
    margin = "the smallest difference that matters (default: 0.01 for measures between 0 and 1)"
    files.add_argument("--margin", type=float, metavar="X", help=margin)
    files.add_argument("--queries", metavar="FILE", help="texts of the queries, by which changed ones are noticed")
    times = "how long queries took: a table with columns query and ms, and system where there are several runs"
    files.add_argument("--latencies", metavar="FILE", help=times)
    options.add_profile_option(files)
    options.add_evaluation_options(parser)


def run(args: argparse.Namespace) -> int:
    if args.action not in ACTIONS:
        message = f"there is no action {args.action!r}; there are {', '.join(ACTIONS)}"
        raise OptionError(message, hint=did_you_mean(args.action, ACTIONS))
    as_json = options.chosen_format(args, output=None) == "json"
    manifest = saved(args) if args.action == "save" else shown(args)
    folder = target_of(args) if args.action == "save" else str(args.files[0] if args.files else FOLDER)
    if as_json:
        print(manifest.to_json(), end="")
    else:
        show(*lines_of(manifest, folder, is_new=args.action == "save"))
    return FINE


def target_of(args: argparse.Namespace) -> str:
    return str(args.output or FOLDER)


def saved(args: argparse.Namespace) -> BaselineManifest:
    from rankscope.experiment.baseline import save_baseline
    from rankscope.experiment.current_runs import files_to_keep, runs_to_keep
    from rankscope.experiment.project import load_project

    if options.names_project(args.files):
        options.refuse_file_options(args, "measure", "margin", "queries", "latencies")
        project = load_project(next(iter(args.files), None))
        kept, measure = runs_to_keep(project, systems=args.system, collections=args.collection)
        return save_baseline(Path(target_of(args)), kept, measure, margin=project.margin)
    from rankscope.comparison.request import CompareRequest
    from rankscope.data.latencies import read_latencies

    if args.system or args.collection:
        raise OptionError("--system and --collection choose among the runs of a project", hint="name the files instead")
    options.one_stdin(args.files)
    given = options.evaluation_options_from(args)
    request = CompareRequest(measures=args.measure, margin=args.margin, queries=args.queries, **given)
    latencies = {} if args.latencies is None else read_latencies(args.latencies)
    kept, measure = files_to_keep(args.files[0], args.files[1:], request, latencies=latencies)
    return save_baseline(Path(target_of(args)), kept, measure, margin=args.margin)


def shown(args: argparse.Namespace) -> BaselineManifest:
    from rankscope.experiment.baseline import load_baseline, read_manifest

    if len(args.files) > 1 or args.output:
        raise OptionError("show takes one folder", hint="rankscope baseline show baseline")
    folder = Path(args.files[0] if args.files else FOLDER)
    load_baseline(folder)
    return read_manifest(folder)


def lines_of(manifest: BaselineManifest, folder: str, *, is_new: bool) -> list[str]:
    measure = manifest.measure
    saved = f"{folder} was saved on {manifest.created} by Rankscope {manifest.rankscope}"
    lines = [f"saved {folder}" if is_new else saved]
    margin = "" if manifest.margin is None else f", margin {manifest.margin:g}"
    lines.append(f"  decided by {measure.name} (definition {measure.version}){margin}")
    for collection in manifest.collections:
        lines.append(f"  {collection.name}: {collection.queries.n:,} queries, {collection.qrels.n:,} judgments")
        for one in collection.runs:
            mean = "" if one.mean is None else f"  {measure.name} {one.mean:.4f}"
            timed = "" if one.latency is None else f", {one.latency.n:,} queries timed"
            timed += f", the first of {len(one.further) + 1} repetitions" if one.further else ""
            lines.append(f"    {one.system}{mean}  {one.ranking.file} ({one.ranking.bytes:,} bytes{timed})")
    return [*lines, f"commit it: git add {folder}"] if is_new else [*lines, "every file is what was saved"]
