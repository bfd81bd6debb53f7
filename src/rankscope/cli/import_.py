"""Import a file of the frameworks that Rankscope replaces: say what it holds, and write it as qrels and runs.

FILE is JSON, JSONL or CSV, plain or compressed, or a run directory; its kind is detected from its content. With -o it
is written to FOLDER: qrels.txt, runs/*.run, queries.jsonl, docs.jsonl, opinions.jsonl (flags and choices), scores.jsonl
(numbers that the file itself states) and summary.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.errors import OptionError
from rankscope.predecessors.importers import KINDS, ImportedCollection, import_file, write_collection

EPILOG = f"""\
kinds:
{chr(10).join(f"  {name:<18} {kind.description}" for name, kind in KINDS.items())}

examples:
  rankscope import benchmark-test-cases.json --practitioners practitioners.json -o doctors
  rankscope import german/tiny_v1.json -o hpo
  rankscope import --check my_cases.json
  rankscope import results/retrieval/tiny/BioLORD/20250121 -o biolord

exit codes: 0 fine, 1 --check found something, 2 wrong use or input"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file or run directory to import")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="write what was found to a new folder")
    parser.add_argument("--kind", metavar="KIND", help="what FILE is, instead of detecting it from its content")
    parser.add_argument("--query", metavar="TEXT", help="what was searched for, where the file does not say")
    parser.add_argument("--practitioners", metavar="FILE", help="ids and names of the people that test cases name")
    unresolved = "names that match nobody: keep (the default) as relevant docs that are never found, or drop"
    parser.add_argument("--unresolved", metavar="WORD", default="keep", help=unresolved)
    parser.add_argument("--check", action="store_true", help="only check a file of HPO test cases against its schema")
    add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    form = chosen_format(args)
    if args.check:
        if args.output:
            raise OptionError("--check writes nothing, so -o makes no sense with it", hint="leave out one of them")
        from rankscope.cli.validate import check_test_cases

        return check_test_cases(args.file, as_json=form == "json")
    how = {name: getattr(args, name) for name in ("kind", "query", "practitioners", "unresolved")}
    found = import_file(args.file, **how)
    files = write_collection(found, args.output) if args.output else {}
    if form == "json":
        print(json.dumps(found.summary(files), indent=1, ensure_ascii=False))
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines_of(found, files, args.output))
    return FINE


def lines_of(found: ImportedCollection, files: Mapping[str, int], folder: str | None) -> Iterator[str]:
    """Yield what was found, and the files that were written."""
    yield f"{found.kind}: {found.title}"
    n_judged = len({judgment.query for judgment in found.judgments})
    counts = {
        "queries": (len(found.queries), f"{n_judged} with judgments" if found.judgments else ""),
        "judgments": (len(found.judgments), ""),
        "runs": (len(found.runs), ", ".join(run.name for run in found.runs)),
        "docs": (len(found.docs), ""),
        "opinions": (len(found.opinions), ""),
        "scores": (len(found.scores), "as the file states them"),
    }
    for name, (count, detail) in counts.items():
        if count:
            yield f"  {name:<10} {count}" + (f" ({detail})" if detail else "")
    for note in found.notes:
        yield f"  note       {note}"
    if folder:
        yield f"written to {Path(folder)}: {', '.join([*files, 'summary.json'])}"
        qrels = next((name for name in files if name.startswith("qrels.")), None)
        runs = [name for name in files if name.startswith("runs/")]
        if qrels and runs:
            yield f"next: rankscope evaluate {' '.join(str(Path(folder, name)) for name in (qrels, *runs))}"
