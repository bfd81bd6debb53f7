"""Show the main job, offline: four searches in an ontology are run, timed, compared and reported.

It takes less than two minutes and leaves collection, project file and report in a folder. With --recipes, or where the
packages for it are not installed, a smaller example is shown: runs that exist already are scored. --files FOLDER leaves
the files of that one, to try the commands on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file
from pathlib import Path

from rankscope.analysis.explain import explain
from rankscope.cli.explain import print_explanation
from rankscope.demo import QRELS, RUNS, demo_file
from rankscope.errors import OptionError
from rankscope.evaluation import evaluate
from rankscope.report.evaluation import readable_table
from rankscope.report.table import print_table

EPILOG = """\
examples:
  rankscope demo
  rankscope demo --folder my-first-benchmark
  rankscope demo --recipes
  rankscope demo --files recipes && cd recipes && rankscope evaluate qrels.txt bm25.run dense.run"""

EXPLAINED = ("hybrid.run", "soup-for-a-cold", "nDCG@5")

INTRODUCTION = """\
A cookbook has three searches: by words (bm25), by meaning (dense), and both together (hybrid). For 15 questions,
people graded recipes from 0 (useless) to 3 (just right). Which search is best?
"""
FINDING = """
hybrid is best, though its first good recipe comes a little later than the others' (RR@10). bm25 found nothing at all
for one question: it scores 0 there, and the note says so. Judged@10 is the share of the first ten that was graded.

Any score can be followed by hand. "Soup for a cold" scores low: the best soup, chicken broth, comes only fourth.
"""
NEXT = """
Next:
  rankscope demo --files recipes                    leaves these files in a folder, to try things on
  rankscope evaluate YOUR_QRELS YOUR_RUN...         your own data: TREC, BEIR, JSON, CSV, Parquet and more
  rankscope measures                                what can be measured; `rankscope measures nDCG` teaches one
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        default="rankscope-demo",
        help="where to leave everything (default: rankscope-demo)",
    )
    parser.add_argument("--recipes", action="store_true", help="show the smaller example, which retrieves nothing")
    parser.add_argument("--files", metavar="FOLDER", help="write the smaller example's files into a folder instead")


def run(args: argparse.Namespace) -> int:
    """Show the example, or write its files."""
    if args.files is not None:
        print(write_files(Path(args.files)))
        return 0
    if not args.recipes:
        from rankscope.cli.demo_benchmark import INSTALL, missing_packages, show_benchmark

        missing = missing_packages()
        if not missing:
            show_benchmark(Path(args.folder))
            return 0
        print(f"without {', '.join(missing)} this is the smaller demo; for the other one: {INSTALL}\n", file=sys.stderr)
    with example_paths() as path_of:
        show(path_of)
    return 0


@contextmanager
def example_paths() -> Iterator[dict[str, Path]]:
    """Give the example's files as paths, also where the package lies in an archive."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(as_file(demo_file(name))) for name in (QRELS, *RUNS)}


def show(path_of: dict[str, Path]) -> None:
    """Evaluate, explain one score, and say what to do next."""
    run_name, query, measure = EXPLAINED
    print(INTRODUCTION)
    print(f"$ rankscope evaluate {' '.join(path_of)}\n", flush=True)
    print_table(readable_table(evaluate(path_of[QRELS], [path_of[name] for name in RUNS])))
    print(FINDING)
    print(f"$ rankscope explain {QRELS} {run_name} --query {query} -m {measure}\n")
    print_explanation(explain(path_of[QRELS], path_of[run_name], query, measure))
    print(NEXT, end="")


def write_files(folder: Path) -> str:
    """Write the example's files and say so; a file that is there already is not touched."""
    there = [name for name in (QRELS, *RUNS) if (folder / name).exists()]
    if there:
        raise OptionError(f"{folder / there[0]} is there already", hint="name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot make the folder {folder}: {error.strerror}", hint="name another one") from error
    for name in (QRELS, *RUNS):
        (folder / name).write_bytes(demo_file(name).read_bytes())
    return f"{folder}: {', '.join([QRELS, *RUNS])}"
