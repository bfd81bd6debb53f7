"""Score every stored run again under the judgments of today, and tell what the judgments changed from what systems did.

In the folder of a project, the judgments of today are those of its collections; elsewhere, the newest of the store.
--qrels FILE takes others. They are kept as the newest judgments of the collection; the runs stay as they are.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.errors import InputError, OptionError
from rankscope.io.memory import memory_of, resident_bytes

if TYPE_CHECKING:
    from rankscope.data.qrels import Qrels

FORMATS = ("text", "markdown", "html", "latex", "json")
EPILOG = """\
examples:
  rankscope rescore
  rankscope rescore -m AP -o rescored.html
  rankscope rescore --qrels new-judgments.txt --collection scifact

total = labels + system: labels is what the judgments of today change of the earlier run, system what the later run
changes under the judgments of today. Queries that were added since are never a gain."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--qrels", metavar="FILE", help="the judgments of today")
    parser.add_argument("--collection", metavar="NAME", help="only this collection")
    parser.add_argument("-m", "--measure", metavar="NAME", help="the measure (default: the one that decided last)")
    options.add_store_option(parser)
    memory = (
        "take about this much memory, e.g. 512MB: large runs are scored some queries at a time; the scores are the same"
    )
    parser.add_argument("--memory", metavar="SIZE", help=memory)
    parser.add_argument("--details", action="store_true", help="in text: every run, too")
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .tex .json .txt")


def run(args: argparse.Namespace) -> int:
    from rankscope.align.sharded import warn_of_little_memory
    from rankscope.data.sharded import ShardPlan
    from rankscope.experiment.history import rescored
    from rankscope.report.history import rescore_report
    from rankscope.store import open_to_look

    form = options.chosen_format(args)
    memory = None if args.memory is None else memory_of(args.memory, option="--memory")
    with open_to_look(args.store) as store:
        store.memory = memory
        if memory is not None:
            warn_of_little_memory(ShardPlan(memory=memory), 1, resident_bytes(), store.runs.bytes_to_score(memory))
        names = (args.collection,) if args.collection else store.runs.collections()
        if not names:
            raise InputError("the store has no runs yet", hint="`rankscope run` stores the first")
        if args.qrels is not None and len(names) > 1:
            raise OptionError(
                f"the store has runs on {len(names)} collections: {', '.join(names)}",
                hint="--collection NAME says which one the judgments are of",
            )
        labels = labels_of_today(args, names)
        progress = options.progress_on(sys.stderr, "scoring runs")
        found = [rescored(store, name, labels.get(name), measure=args.measure, on_progress=progress) for name in names]
    command = options.command_line(args)
    options.write_result(args, form, found, lambda **_: rescore_report(found, command=command))
    return FINE


def labels_of_today(args: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Qrels]:
    """Return the judgments of a file, or those of the project's collections; none elsewhere."""
    from rankscope.data.loading import load_qrels
    from rankscope.experiment.collection import load_collection
    from rankscope.experiment.project import load_project, project_file

    if args.qrels is not None:
        return {names[0]: load_qrels(args.qrels)}
    try:
        file = project_file(None)
    except InputError:  # not in the folder of a project
        return {}
    project = load_project(file)
    return {
        name: load_collection(project.collection(name), cache=project.cache).qrels
        for name in names
        if name in project.collections
    }
