"""Write a project file, rankscope.toml: which collections, which systems, what is measured.

On a terminal it asks for what is not given; with --yes, or without a terminal, it takes the defaults.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import check_ending
from rankscope.cli.style import show
from rankscope.errors import OptionError, RankscopeError
from rankscope.experiment.collection import find_docs, find_qrels, find_queries, load_collection
from rankscope.experiment.init_file import SYSTEMS, InitOptions, fields_to_search, project_text
from rankscope.experiment.project import FILE, read_project
from rankscope.io.files import write_text
from rankscope.printable import counted
from rankscope.records import replace

DEFAULT_SYSTEMS = "bm25,dense,hybrid"
DEFAULT_PRIMARY = "nDCG@10"

EPILOG = """\
examples:
  rankscope init
  rankscope init --collection scifact --systems bm25,dense,hybrid --primary nDCG@10 --yes
  rankscope init --collection hpo/en --collection hpo/de --yes"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    folder = "the folder of a collection; may be given several times"
    parser.add_argument("--collection", metavar="PATH", action="append", help=folder)
    systems = f"what to compare: {', '.join(SYSTEMS)} (default: {DEFAULT_SYSTEMS})"
    parser.add_argument("--systems", metavar="NAME,...", help=systems)
    parser.add_argument("--primary", metavar="MEASURE", help=f"the measure that decides (default: {DEFAULT_PRIMARY})")
    parser.add_argument("--yes", action="store_true", help="ask nothing: take the defaults for what is not given")
    parser.add_argument("--force", action="store_true", help="replace a project file that is there already")
    parser.add_argument("-o", "--output", metavar="FILE", default=FILE, help=f"the file to write (default: {FILE})")


def run(args: argparse.Namespace) -> int:
    check_ending(args.output, [".toml"])
    target = Path(args.output)
    if target.exists() and not args.force:
        raise OptionError(f"{target} is there already", hint="change it by hand, or replace it with --force")
    choices = choices_from(args, asks=not args.yes and sys.stdin.isatty())
    project = read_project(project_text(choices), file=target)
    collections = [load_collection(spec) for spec in project.collections.values()]
    columns = [one.queries.attributes.get("language", {}) for one in collections]
    languages = sorted({str(value) for column in columns for value in column.values()})
    fields = fields_to_search(collections)
    write_text(target, project_text(replace(choices, languages=languages, fields=fields)))
    show(f"{target} is written")
    for collection in collections:
        n_queries, n_rows = counted(len(collection.queries), "query"), counted(len(collection.qrels.rows), "judgment")
        show(f"  {collection.name:<12} {n_queries}, {n_rows}, docs in {Path(collection.where['docs']).name}")
    show(f"  {'systems':<12} {', '.join(project.systems)}")
    show(f"  {'measures':<12} {', '.join(project.measures)}; {project.primary} decides")
    show("next: look at the file, then `rankscope run`")
    return FINE


def choices_from(args: argparse.Namespace, *, asks: bool) -> InitOptions:
    """Return what was given, asked for, or holds by default."""
    collections = args.collection or collections_here(asks=asks)
    systems = args.systems or (ask("Which systems?", DEFAULT_SYSTEMS) if asks else DEFAULT_SYSTEMS)
    primary = args.primary or (ask("Which measure decides?", DEFAULT_PRIMARY) if asks else DEFAULT_PRIMARY)
    names = [name.strip() for name in systems.split(",") if name.strip()]
    folder = Path(args.output).parent  # a file names paths as seen from its folder
    paths = [
        path if Path(path).is_absolute() else Path(os.path.relpath(path, folder)).as_posix()
        for path in dict.fromkeys(collections)
    ]
    return InitOptions(collections=paths, systems=list(dict.fromkeys(names)), primary=primary)


def collections_here(*, asks: bool) -> list[str]:
    """Return the folders here that hold a collection, or the one that is named when asked."""
    found = [entry.name for entry in (Path(), *sorted(Path().iterdir())) if is_collection(entry)]
    if asks:
        return [ask("Which folder is the collection in?", found[0] if found else "")]
    if not found:
        raise OptionError("there is no collection in this folder", hint="name one: --collection FOLDER")
    return [name or "." for name in found]


def is_collection(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    try:
        return bool(find_docs(folder) and find_queries(folder) and find_qrels(folder))
    except RankscopeError:
        return False


def ask(question: str, default: str) -> str:
    """Ask on the terminal; an empty answer takes what is proposed."""
    proposed = f" [{default}]" if default else ""
    while not (answer := input(f"{question}{proposed} ").strip() or default):
        pass
    return answer
