"""Finding the parts of a collection in a folder, by the names that files of the field have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankscope.data.queries import bare_stem, queries_in, words_of
from rankscope.errors import FormatError, InputError

DOCS_STEMS = ("corpus", "docs", "documents", "collection", "passages")
DOCS_SUFFIXES = frozenset({"jsonl", "ndjson", "json", "csv", "tsv", "parquet", "pq"})


def find_docs(folder: Path) -> Path:
    """Return the file of docs: corpus.jsonl, docs.jsonl or the like, in any format."""
    tables = [entry for entry in files_in(folder) if DOCS_SUFFIXES & words_of(entry.name)]
    for stem in DOCS_STEMS:
        exact = [entry for entry in tables if bare_stem(entry.name) == stem and entry.name != "collection.json"]
        if exact:
            return only(exact, folder, "docs")
    return only([entry for entry in tables if {*DOCS_STEMS[:3]} & words_of(entry.name)], folder, "docs")


def find_queries(folder: Path) -> Path:
    """Return the file of queries: queries.jsonl, or in any other format."""
    files_in(folder)
    return queries_in(folder)


def find_qrels(folder: Path) -> Path:
    """Return the file of judgments: qrels/test.tsv, qrels.tsv, qrels.txt, test.qrels or the like."""
    inside = folder / "qrels"
    if inside.is_dir():
        files = files_in(inside)
        tests = [entry for entry in files if bare_stem(entry.name) == "test"]
        return only(tests or files, inside, "qrels")
    found = [entry for entry in files_in(folder) if "qrels" in words_of(entry.name)]
    exact = [entry for entry in found if bare_stem(entry.name) == "qrels" or entry.name == "qrels"]
    return only(exact or found, folder, "qrels")


def files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="give the folder of a collection")
    return sorted(entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))


def only(found: Sequence[Path], folder: Path, part: str) -> Path:
    """Return the one file that was found, or say that there are none or several."""
    if len(found) == 1:
        return found[0]
    if not found:
        usual = {"docs": "corpus.jsonl", "qrels": "qrels/test.tsv or qrels.txt"}[part]
        raise FormatError(
            f"{folder} holds no {part}", hint=f"call the file {usual}, or name it in the project: {part} = FILE"
        )
    listed = ", ".join(entry.name for entry in found)
    raise FormatError(
        f"{folder} holds several files of {part}: {listed}",
        hint=f"name one of them in the project: {part} = {found[0].name!r}",
    )
