"""Test cases that are added by hand: a query with the docs that are expected, written into the files of a project.

A target goes into the project's target file, or into the project file itself; a query that is new also goes into the
collection's queries and qrels, so that the next run asks it. Files are changed as text: what stands there stays as it
is, and each file is complete or as it was before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rankscope.data.loading import ReadOptions, load_qrels
from rankscope.errors import InputError, OptionError
from rankscope.experiment.collection import Collection
from rankscope.experiment.project import PYPROJECT, Project, read_project
from rankscope.experiment.target_file import load_targets
from rankscope.experiment.toml_file import parse_toml, read_text
from rankscope.io.addresses import is_remote
from rankscope.io.columns import QUERY_COLUMNS, match_columns
from rankscope.io.files import write_text
from rankscope.records import Options, Record

QUERIES_AS_LINES = (".jsonl", ".ndjson")
PREFIX = "live-"
"""What the ids of queries begin with that were added by hand."""


class QueryCase(Options):
    """A query with the docs that must be found for it, and those that must not."""

    collection: str
    text: str
    """What is asked."""
    attributes: dict[str, str] = {}  # noqa: RUF012 (msgspec copies it)
    docs: tuple[str, ...] = ()
    """They must be among the first `top`."""
    top: int = 3
    never: tuple[str, ...] = ()
    """They must not be among the first `never_top`."""
    never_top: int = 5
    reason: str = ""
    owner: str = ""


class SavedCase(Record):
    """What was written."""

    query: str
    """The id of the query."""
    is_new: bool
    """Whether the query was added to the collection."""
    files: tuple[str, ...]
    """The files that were changed."""


def save_test_case(project: Project, collection: Collection, case: QueryCase) -> SavedCase:
    """Write a test case; everything is checked before the first file is changed."""
    if not case.docs and not case.never:
        raise OptionError("no doc is chosen", hint="choose what must be found, or what must never be")
    if set(case.docs) & set(case.never):
        raise OptionError(f"{min(set(case.docs) & set(case.never))} cannot be expected and unwanted at once")
    if not case.text.strip():
        raise OptionError("the query is empty", hint="type what is asked")
    known = query_of_text(collection, case.text)
    query = known or new_id(collection)
    changed: dict[Path, str] = {}
    if known is None:
        path = written_file(collection, "queries")
        changed[path] = with_query(path, collection, query, case)
        path = written_file(collection, "qrels")
        grades = {**dict.fromkeys(case.docs, best_grade(collection)), **dict.fromkeys(case.never, 0)}
        changed[path] = with_judgments(path, collection, query, grades)
    path, text = with_targets(project, query, case)
    changed[path] = text
    for path, text in changed.items():
        write_text(path, text)
    return SavedCase(query=query, is_new=known is None, files=tuple(path.name for path in changed))


def written_file(collection: Collection, part: str) -> Path:
    """Return the file of a part, which is to be changed; one that is not on this machine is not."""
    where = collection.where[part]
    if is_remote(where):
        raise OptionError(
            f"the {part} lie at {where}, which is not written to",
            hint=f"copy the file, and name the copy in the project file: {part} = FILE",
        )
    return Path(where)


def query_of_text(collection: Collection, text: str) -> str | None:
    """Return the id of the query that asks exactly this."""
    wanted = " ".join(text.split()).casefold()
    texts = collection.queries.texts or {}
    return next((query for query, asked in texts.items() if " ".join(asked.split()).casefold() == wanted), None)


def best_grade(collection: Collection) -> int:
    """Return the grade of what must be found: the best that the collection has, so that every measure counts it."""
    grades = (grade for query in collection.qrels for grade in collection.qrels[query].values())
    return max(1, int(max(grades, default=1)))


def new_id(collection: Collection) -> str:
    known = set(collection.queries.ids)
    return next(f"{PREFIX}{number}" for number in range(1, len(known) + 2) if f"{PREFIX}{number}" not in known)


def query_lines(path: Path, collection: Collection) -> tuple[list[str], dict[str, str]]:
    """Return the lines of a file of queries, and the names of its columns; other formats are not written."""
    if path.suffix.lower() not in QUERIES_AS_LINES:
        raise OptionError(
            f"queries cannot be written into {path.name}",
            hint="they can in JSON lines (.jsonl); `queries = FILE` in the project file names another file",
        )
    lines = read_text(path).splitlines()
    first = next((json.loads(line) for line in lines if line.strip()), {"_id": "", "text": ""})
    stated = collection.spec.columns.get("queries") or {}
    chosen = {role: name for role, name in stated.items() if role in QUERY_COLUMNS}
    return lines, match_columns(list(first), QUERY_COLUMNS, chosen=chosen, where=path.name)


def with_query(path: Path, collection: Collection, query: str, case: QueryCase) -> str:
    lines, columns = query_lines(path, collection)
    row = {columns["id"]: query, columns["text"]: case.text, **case.attributes}
    return "\n".join([*lines, json.dumps(row, ensure_ascii=False)]) + "\n"


def change_attributes(collection: Collection, query: str, attributes: Mapping[str, str]) -> Path:
    """Change attributes of a query in the file of queries; one that becomes empty is removed."""
    path = written_file(collection, "queries")
    lines, columns = query_lines(path, collection)
    reserved = set(attributes) & set(columns.values())
    if reserved:
        raise OptionError(f"{min(reserved)} is no attribute: it is the id or the text of the query")
    has_found = False
    for number, line in enumerate(lines):
        row = json.loads(line) if line.strip() else {}
        if str(row.get(columns["id"])) == query:
            kept = {**row, **attributes}
            cleared = {name for name, value in attributes.items() if value == ""}
            lines[number] = json.dumps({n: v for n, v in kept.items() if n not in cleared}, ensure_ascii=False)
            has_found = True
    if not has_found:
        raise InputError(
            f"{path.name} has no query {query!r}", hint="was the file changed meanwhile? Open the page again"
        )
    write_text(path, "\n".join(lines) + "\n")
    return path


def with_judgments(path: Path, collection: Collection, query: str, grades: Mapping[str, int]) -> str:
    """Return the text of qrels with rows added, in the columns that the file has: TREC's four, or BEIR's three."""
    if path.suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".parquet", ".arrow", ".json", ".jsonl", ".csv"):
        raise OptionError(
            f"judgments cannot be written into {path.name}",
            hint="they can in TREC's qrels, and in .tsv as BEIR has them",
        )
    text = read_text(path)
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    by_tab = "\t" in last
    n_columns = len(last.split("\t" if by_tab else None))
    if n_columns not in (3, 4):
        raise OptionError(f"judgments cannot be written into {path.name}: its rows have {n_columns} columns")
    blank = "\t" if by_tab else " "
    if not by_tab and any(re.search(r"\s", one) for one in (query, *grades)):
        raise OptionError(f"{path.name} has no place for ids with blanks")
    rows = [
        blank.join([query, *(["0"] if n_columns == 4 else []), doc, str(grade)]) + "\n" for doc, grade in grades.items()
    ]
    added = (text if text.endswith("\n") or not text else text + "\n") + "".join(rows)
    with TemporaryDirectory() as folder:  # columns may stand in another order than they usually do
        copy = Path(folder, path.name)
        write_text(copy, added)
        read = load_qrels(str(copy), options=ReadOptions(columns=collection.spec.columns.get("qrels")))
    if query not in read or read[query] != grades:
        raise OptionError(f"judgments cannot be written into {path.name}: its columns are not in the usual order")
    return added


def with_targets(project: Project, query: str, case: QueryCase) -> tuple[Path, str]:
    """Return the file that targets go into, and its text with those of a case."""
    path = project.target_file or project.file
    if path.suffix.lower() != ".toml":
        raise OptionError(f"targets cannot be written into {path.name}", hint="they can in TOML: targets.toml")
    text = read_text(path) if path.exists() else ""
    table = "tool.rankscope.targets" if path == project.file and path.name == PYPROJECT else "targets"
    known = {
        target.name for target in (load_targets(path) if project.target_file and text.strip() else project.targets)
    }
    parts = [text.rstrip("\n")] if text.strip() else []
    for key, docs, top in (("doc", case.docs, case.top), ("never", case.never, case.never_top)):
        if not docs:
            continue
        what = f"{case.text.strip()}: {'in the' if key == 'doc' else 'never in the'} first {top}"
        name = next(each for each in (what, *(f"{what} ({n})" for n in range(2, 10_000))) if each not in known)
        values: dict[str, Any] = {"name": name, "query": query, key: list(docs), "top": top}
        values |= {"collection": case.collection, "reason": case.reason.strip(), "owner": case.owner.strip()}
        lines = [f"{key} = {toml_value(value)}" for key, value in values.items() if value != ""]
        parts.append("\n".join([f"[[{table}]]", *lines]))
    added = "\n\n".join(parts) + "\n"
    if path == project.file:
        read_project(added, file=path)  # what cannot be read back is not written
    else:
        parse_toml(added, path)
    return path, added


def toml_value(value: str | float | Sequence[str]) -> str:
    """Return a value as TOML writes it; a text of JSON is one of TOML, but for the character DEL."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return str(value)
