"""Measures Rankscope against its peers: all jobs in turn, several rounds, medians in one table."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from guard import check_means, check_workload
from machine import describe_machine
from measure import BenchmarkError, Job, Sample, medians, run_job
from paths import BENCHMARKS, RESULTS
from peers import install_all
from plan import SECTIONS, Comparison, FilesOf, Floor, Growth, comparisons, floors, growth, workloads_of
from table import COMPARISON_HEADER, GROWTH_HEADER, as_markdown, as_text, comparison_row, floor_row, growth_rows
from workloads import Files, files_of, sized

SCRIPTS = {"ild": ("ild.py",), "dense": ("dense_search.py",), "store": ("store.py", "--postgres")}
"""Diversity by embedding against scipy, exact dense search against faiss, what the store takes: a section each."""
QUICKER = {"store": ("--runs", "50", "--judgments", "2000")}
ALL = (*SECTIONS, *SCRIPTS)

References = dict[str, dict[str, float]]


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is measured."""

    comparisons: tuple[Comparison, ...]
    floors: tuple[Floor, ...]
    growth: Growth | None

    @property
    def jobs(self) -> list[Job]:
        """Every job once, though several rows may need it."""
        compared = [job for row in self.comparisons for job in (row.ours, row.other) if job]
        growing = self.growth.jobs if self.growth else ()
        return list(dict.fromkeys([*(row.job for row in self.floors), *compared, *growing]))


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries, in about a minute")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each job runs (default: 3)")
    parser.add_argument("--only", action="append", choices=ALL, metavar="NAME", help=f"of {', '.join(ALL)}")
    parser.add_argument("--without", action="append", choices=ALL, metavar="NAME", default=[], help="all but these")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    return parser.parse_args()


def say(message: str) -> None:
    """Tell how far it is."""
    print(message, file=sys.stderr, flush=True)


def make_plan(files: FilesOf, sections: Sequence[str], *, quick: bool) -> Plan:
    """Return the rows of some sections."""
    return Plan(
        tuple(row for row in comparisons(files) if row.section in sections and not (quick and row.slow)),
        tuple(row for row in floors(files) if row.section in sections),
        growth(files) if "growth" in sections else None,
    )


def write_workloads(names: Sequence[str], *, quick: bool) -> None:
    """Write what is missing, in a process of its own: this one must stay small."""
    option = ["--quick"] if quick else []
    subprocess.run([sys.executable, BENCHMARKS / "workloads.py", *names, *option], check=True)


def check_all(names: Sequence[str], *, quick: bool) -> References:
    """Check our means on every workload, and return pytrec_eval's."""
    references = {}
    for name in names:
        say(f"Checking our means on {name} against pytrec_eval's …")
        workload = sized(quick=quick)[name]
        references[name] = check_workload(files_of(workload, quick=quick), gzipped=workload.gzipped)
    return references


def warm_up(sections: Sequence[str], small: Files, *, quick: bool) -> None:
    """Run every program once on the small workload, so that what Python and numba compile is compiled."""
    for job in make_plan(lambda _: small, sections, quick=quick).jobs:
        run_job(job)


def measure(jobs: Sequence[Job], *, rounds: int, references: References) -> dict[Job, list[Sample]]:
    """Run all jobs in turn, several times, so that a noisy minute falls on all of them."""
    samples: dict[Job, list[Sample]] = {job: [] for job in jobs}
    for number in range(1, rounds + 1):
        for i, job in enumerate(jobs, 1):
            sample = run_job(job)
            check_means(sample.means, references[job.workload], who=" ".join(job.command))
            samples[job].append(sample)
            say(f"round {number} of {rounds}, job {i} of {len(jobs)}: {sample.seconds:8.3f} s  {short(job)}")
    return samples


def short(job: Job) -> str:
    """Return a command without its folders."""
    return re.sub(r"/\S*/", "", " ".join(job.command))


def print_machine(machine: dict[str, str], *, markdown: bool) -> None:
    """Print what the figures depend on."""
    for name, fact in machine.items():
        print(f"- {name}: {fact}" if markdown else f"{name}: {fact}")


def print_tables(plan: Plan, samples: dict[Job, list[Sample]], *, quick: bool, markdown: bool) -> None:
    """Print the comparisons and the growth."""
    render = as_markdown if markdown else as_text
    measured = {job: medians(taken) for job, taken in samples.items()}
    rows = [comparison_row(row, measured) for row in plan.comparisons]
    rows += [floor_row(row, measured) for row in plan.floors]
    if rows:
        print("\n" + render(COMPARISON_HEADER, rows))
    if quick:
        print("The sizes are a tenth: the targets are meant for the full ones.")
    if plan.growth:
        n_rows = [sized(quick=quick)[job.workload].n_rows for job in plan.growth.jobs]
        print("\n" + render(GROWTH_HEADER, growth_rows(plan.growth, measured, n_rows=n_rows)))


def print_script(name: str, *, quick: bool, markdown: bool) -> None:
    """Print what another script measures, in a process of its own."""
    say(f"Measuring {name} …")
    script, *options = (*SCRIPTS[name], *(QUICKER.get(name, ()) if quick else ()))
    command = [sys.executable, Path(__file__).parent / script, *options]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip()
    print(f"\n```text\n{text}\n```" if markdown else f"\n{text}")


def save(samples: dict[Job, list[Sample]], args: argparse.Namespace, machine: dict[str, str]) -> None:
    """Keep every single figure."""
    jobs = [
        {**dataclasses.asdict(job), "samples": [dataclasses.asdict(sample) for sample in taken]}
        for job, taken in samples.items()
    ]
    facts = {"machine": machine, "quick": args.quick, "rounds": args.rounds, "jobs": jobs}
    RESULTS.write_text(json.dumps(facts, indent=1))
    say(f"All figures are in {RESULTS}")


def measure_peers(sections: Sequence[str], args: argparse.Namespace) -> None:
    """Print what is compared with the peers."""
    names = workloads_of(tuple(sections))

    def files(name: str) -> Files:
        return files_of(sized(quick=args.quick)[name], quick=args.quick)

    install_all()
    write_workloads(names, quick=args.quick)
    try:
        references = check_all(names, quick=args.quick)
        say("Warming up …")
        warm_up(sections, files("small"), quick=args.quick)
        machine = describe_machine()
        plan = make_plan(files, sections, quick=args.quick)
        samples = measure(plan.jobs, rounds=args.rounds, references=references)
    except BenchmarkError as error:
        sys.exit(str(error))
    print_machine(machine, markdown=args.markdown)
    print_tables(plan, samples, quick=args.quick, markdown=args.markdown)
    save(samples, args, machine)


def main() -> None:
    """Run the benchmark."""
    args = arguments()
    chosen = [name for name in args.only or ALL if name not in args.without]
    if sections := [name for name in chosen if name in SECTIONS]:
        measure_peers(sections, args)
    for name in chosen:
        if name in SCRIPTS:
            print_script(name, quick=args.quick, markdown=args.markdown)


if __name__ == "__main__":
    main()
