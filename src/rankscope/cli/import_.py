"""Import files of the frameworks that Rankscope replaces: say what they hold, and write it as one collection.

FILE is JSON, JSONL or CSV, plain or compressed, or a run directory; its kind is detected from its content. With -o all
of them are written to FOLDER: qrels.txt, runs/*.run, queries.jsonl, docs.jsonl, judgments.jsonl (flags, choices and a
model's verdicts), choices.txt (what would be chosen, as qrels), qrels-judge.txt (a model's grades), scores.jsonl and
means.jsonl (numbers that the files themselves state, by query and over all), and summary.json.

Docs and queries that several files know are united; where files differ, both values are said. Runs of one system for
different queries become one; where two files have other lists for the same query, they become as few runs as needed,
named after days, folders, kinds or names of files. A file that says only the text of a query is about the test case
with that text.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.cli.style import show
from rankscope.data.judgments import summarise_judgments
from rankscope.errors import OptionError
from rankscope.predecessors.importers import KINDS, ImportedCollection, import_files, write_collection

SHOWN_NOTES = 40
"""So many notes are printed."""
EPILOG = f"""\
kinds:
{chr(10).join(f"  {name:<18} {kind.description}" for name, kind in KINDS.items())}

examples:
  rankscope import benchmark-test-cases.json --practitioners practitioners.json -o doctors
  rankscope import german/tiny_v1.json -o hpo
  rankscope import judgments.json topics.json exports/*.json -o podcasts
  rankscope import export.csv --query "I need SVT ablation" -o svt
  rankscope import --check my_cases.json
  rankscope import results/retrieval/tiny/BioLORD/20250121 -o biolord

exit codes: 0 fine, 1 --check found something, 2 wrong use or input"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="the files or run directories to import")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="write what was found to a new folder")
    parser.add_argument("--kind", metavar="KIND", help="what the files are, instead of detecting it from their content")
    parser.add_argument(
        "--query", metavar="TEXT", help="what was searched for, or a query's id, where a file does not say"
    )
    parser.add_argument("--practitioners", metavar="FILE", help="ids and names of the people that test cases name")
    unresolved = "names that match nobody: keep (the default) as relevant docs that are never found, or drop"
    parser.add_argument("--unresolved", metavar="WORD", default="keep", help=unresolved)
    parser.add_argument("--check", action="store_true", help="only check files of test cases (HPO, doctors)")
    add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    form = chosen_format(args)
    if args.check:
        if args.output:
            raise OptionError("--check writes nothing, so -o makes no sense with it", hint="leave out one of them")
        from rankscope.cli.validate import check_test_cases

        if form == "json" and len(args.files) > 1:
            raise OptionError("--check writes the JSON of one file", hint="check the files one by one")
        return max([check_test_cases(file, as_json=form == "json") for file in args.files])
    how = {name: getattr(args, name) for name in ("kind", "query", "practitioners", "unresolved")}
    found = import_files(args.files, **how)
    files = write_collection(found, args.output) if args.output else {}
    if form == "json":
        print(json.dumps(found.summary(files), indent=1, ensure_ascii=False))
    else:
        show(*lines_of(found, files, args.output))
    return FINE


def lines_of(found: ImportedCollection, files: Mapping[str, int], folder: str | None) -> Iterator[str]:
    """Yield what was found, the files that were written, and what can be done with them."""
    yield f"{found.kind}: {found.title}"
    n_judged = len({judgment.query for judgment in found.judgments})
    by_query = [score for score in found.scores if score.query is not None]
    counts = {
        "queries": (len(found.queries), f"{n_judged} with judgments" if found.judgments else ""),
        "judgments": (len(found.judgments), ""),
        "runs": (len(found.runs), ", ".join(run.name for run in found.runs)),
        "docs": (len(found.docs), ""),
        "flags": (len(found.flags), summarise_judgments(found.flags).in_words),
        "choices": (len(found.choices), summarise_judgments(found.choices).in_words),
        "verdicts": (len(found.verdicts), "of a model"),
        "scores": (len(by_query), "of single queries, as the file states them"),
        "means": (len(found.scores) - len(by_query), "as the file states them"),
    }
    for name, (count, detail) in counts.items():
        if count:
            yield f"  {name:<10} {count}" + (f" ({detail})" if detail else "")
    for note in found.notes[:SHOWN_NOTES]:
        yield f"  note       {note}"
    if len(found.notes) > SHOWN_NOTES:
        where = "summary.json has them" if folder else "--format json shows them"
        yield f"  note       and {len(found.notes) - SHOWN_NOTES} more; {where}"
    if folder:
        yield f"written to {Path(folder)}: {', '.join([*files, 'summary.json'])}"
        measures: dict[str, set[str]] = {}
        for score in by_query:
            measures.setdefault(score.system, set()).update([] if score.value is None else [score.measure])
        can_be_read = bool(measures) and bool(set.intersection(*measures.values()))
        steps = list(next_steps(found, list(files), Path(folder), can_be_read=can_be_read))
        if found.runs and (found.judgments or found.choices) and not any(step[0] == "evaluate" for step in steps):
            yield "no run answers a query that has judgments, so there is nothing to score; was --query forgotten?"
        yield from (f"next: rankscope {shlex.join(step)}" for step in steps)


def next_steps(
    found: ImportedCollection, files: Sequence[str], folder: Path, *, can_be_read: bool
) -> Iterator[list[str]]:
    """Yield commands that take what was written; runs that answer no query with judgments are left out."""
    run_files = [str(folder / name) for name in files if name.startswith("runs/")]
    at = {name.partition(".")[0]: str(folder / name) for name in files}
    by = "people" if "qrels" in at else "judge"
    judged = {
        at.get("qrels") or at.get("qrels-judge"): ({row.query for row in found.judged_by(by)}, []),
        at.get("choices"): ({row.query for row in found.choices}, ["-m", "RR Success@1 Success@3"]),
    }
    for qrels, (queries, measures) in judged.items():
        runs = [run for run in found.runs if any(result.query in queries for result in run.results)]
        names = [file for run, file in zip(found.runs, run_files, strict=True) if run in runs]
        if qrels and names:
            repeats = ["--duplicates", "first"] if any(run.n_repeats for run in runs) else []
            yield ["evaluate", qrels, *names, *measures, *repeats]
    can_be_asked = bool(found.queries) and all(query.text.strip() for query in found.queries)
    if "qrels" in at and "docs" in at and can_be_asked and not run_files:
        yield ["init", "--collection", str(folder)]
    if can_be_read:
        yield ["report", at["scores"], "-o", str(folder / "scores.html")]
