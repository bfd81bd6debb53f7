"""Files of the four frameworks that Rankscope replaces: recognised by their content, and imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError, OptionError, RankscopeError, did_you_mean
from rankscope.io.addresses import shown_url
from rankscope.io.files import read_json, read_text
from rankscope.io.formats import format_in_name
from rankscope.io.source import PathLike, source_of
from rankscope.io.table import read_rows, rows_in
from rankscope.predecessors.importers import doctor_search as doctor
from rankscope.predecessors.importers import hpo_retrieval as hpo
from rankscope.predecessors.importers import podcast_search as podcast
from rankscope.predecessors.importers import rag_diversity as rag
from rankscope.predecessors.importers.doctor_schema import problems_of_doctor_cases
from rankscope.predecessors.importers.hpo_schema import Problem, problems_of, test_case_schema
from rankscope.predecessors.importers.merge import import_kept, merge_imports
from rankscope.predecessors.importers.model import ImportedCollection, write_collection
from rankscope.printable import counted
from rankscope.records import Record

__all__ = ["ImportedCollection", "problems_of", "test_case_schema", "write_collection"]


class FileKind(Record):
    """One kind of file: how it is recognised, and imported."""

    description: str
    fits: Callable[[Any], bool]
    load: Callable[..., ImportedCollection]
    """Takes the content, its path, and by name what the file itself does not say."""
    options: tuple[str, ...] = ()
    """What it takes by name: query, name_of or keep."""


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda content: isinstance(content, Mapping) and all(key in content for key in keys)


def _lists(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda content: isinstance(content, list) and bool(content) and test(content[0])


def _values(kind: type) -> Callable[[Any], bool]:
    return lambda content: (
        isinstance(content, Mapping) and bool(content) and all(isinstance(value, kind) for value in content.values())
    )


KINDS: dict[str, FileKind] = {
    "doctor-test-cases": FileKind(
        "doctor search: test cases, ground truth by name",
        _has("testCases"),
        doctor.import_test_cases,
        ("name_of", "keep"),
    ),
    "doctor-export": FileKind(
        "doctor search: JSON export of the test page",
        _has("testCase", "variants", "measurements"),
        doctor.import_export,
        ("query",),
    ),
    "doctor-export-csv": FileKind(
        "doctor search: CSV export of the test page",
        _lists(_has(*doctor.CSV_HEADER)),
        doctor.import_export_csv,
        ("query",),
    ),
    "doctor-baseline": FileKind(
        "doctor search: baseline run", _has("baseline", "results"), doctor.import_baseline, ("name_of",)
    ),
    "doctor-batch": FileKind(
        "doctor search: response of a batch evaluation",
        lambda content: _has("summary", "results")(content) and _lists(_has("testCaseId"))(content["results"]),
        doctor.import_batch,
        ("name_of", "keep"),
    ),
    "doctor-variants": FileKind(
        "doctor search: response for one query",
        lambda content: (
            _has("variants")(content) and ("success" in content or _lists(_has("name"))(content["variants"]))
        ),
        doctor.import_variants,
        ("query", "name_of"),
    ),
    "doctor-split": FileKind(
        "doctor search: split into training and held-out cases", _has("trainIds", "holdoutIds"), doctor.import_split
    ),
    "doctor-llm-judge": FileKind(
        "doctor search: an LLM's verdicts", _has("byId"), doctor.import_llm_judge, ("name_of",)
    ),
    "podcast-export": FileKind(
        "podcast search: JSON export of the app",
        lambda content: _has("metadata", "results")(content) and isinstance(content["results"], list),
        podcast.import_export,
        ("query",),
    ),
    "podcast-results": FileKind(
        "podcast search: a list of results", _lists(_has("episode_id")), podcast.import_results, ("query",)
    ),
    "hpo-test-cases": FileKind(
        "HPO retrieval: test cases, a list or the full schema",
        lambda content: _has("test_cases")(content) or _lists(hpo.is_test_case)(content),
        hpo.import_test_cases,
    ),
    "hpo-annotations": FileKind(
        "HPO retrieval: annotated texts",
        lambda content: (
            _lists(_has("annotations"))(content)
            or _has("annotations", "full_text")(content)
            or (_has("documents")(content) and _lists(_has("gold_hpo_terms"))(content["documents"]))
        ),
        hpo.import_annotations,
    ),
    "hpo-run": FileKind(
        "HPO retrieval: a run directory", lambda content: isinstance(content, Path), hpo.import_run_directory
    ),
    "rag-report": FileKind("RAG benchmark: a report", _has("metrics", "methods"), rag.import_report),
    "rag-cache": FileKind(
        "RAG benchmark: a cached collection", _has("queries", "documents", "qrels"), rag.import_cache
    ),
    "hpo-summary": FileKind("HPO retrieval: a summary", hpo.is_summary, hpo.import_summary),
    "judgments": FileKind(
        "single judgments that an import has kept", _lists(_has("uuid", "query", "doc", "source")), import_kept
    ),
    "podcast-judgments": FileKind("podcast search: judgments by query text", _values(dict), podcast.import_judgments),
    "podcast-topics": FileKind("podcast search: topics by episode", _values(list), podcast.import_topics),
}
"""Every kind by name; the first that fits is taken, so the more specific ones come first."""


_SHOW_DOCTORS = frozenset({"doctor-export", "doctor-export-csv", "doctor-baseline", "doctor-batch", "doctor-variants"})
"""Kinds of files whose results say who has which id."""


def import_file(
    path: PathLike,
    *,
    kind: str | None = None,
    query: str | None = None,
    practitioners: PathLike | None = None,
    unresolved: str = "keep",
) -> ImportedCollection:
    """Import a predecessor's file, or a run directory; its kind is detected from its content unless it is given.

    `query` is what was searched for, where the file does not say: a text, or the id of a query of another file;
    `practitioners` is a file with the ids and names of the people that test cases name; `unresolved` says what happens
    to names that match nobody: "keep" or "drop".
    """
    return import_files([path], kind=kind, query=query, practitioners=practitioners, unresolved=unresolved)


def import_files(
    paths: Sequence[PathLike],
    *,
    kind: str | None = None,
    query: str | None = None,
    practitioners: PathLike | None = None,
    unresolved: str = "keep",
) -> ImportedCollection:
    """Import several files into one collection; without `practitioners`, names are those that any of the files show."""
    if unresolved not in {"keep", "drop"}:
        raise OptionError(f"unresolved = {unresolved!r} is neither keep nor drop")
    read = [read_content(path, kind) for path in paths]
    people = doctor.practitioners_in(read_json(practitioners), str(practitioners)) if practitioners else {}
    name_of = {doc: str(fields.get("title") or "") for doc, fields in people.items()}
    if not practitioners and len(read) > 1:
        for file in (file for file in read if file.kind in _SHOW_DOCTORS):
            with refuse_wrong_types(file):
                name_of |= doctor.names_shown(file.content)
    options = {"query": query, "name_of": name_of, "keep": unresolved == "keep"}
    found = [import_content(file, options) for file in read]
    refuse_unused(read, found, query=query, practitioners=practitioners)
    parts = [(shown_url(str(path)), each) for path, each in zip(paths, found, strict=True)]
    return merge_imports(parts, docs={str(practitioners): people} if people else {}, asked=query)


class FileContent(Record):
    """A file that has been read, and what it is."""

    path: str
    content: Any
    kind: str


def read_content(path: PathLike, kind: str | None) -> FileContent:
    content, name = content_of(path), shown_url(str(path))
    chosen = kind or kind_of(content, where=name)
    if chosen not in KINDS:
        raise OptionError(
            f"there is no kind {chosen!r}; there are {', '.join(KINDS)}", hint=did_you_mean(chosen, KINDS)
        )
    if not KINDS[chosen].fits(content):
        looks = next((name for name, other in KINDS.items() if other.fits(content)), None)
        raise FormatError(f"{name} does not look like {chosen}", hint=f"it looks like {looks}" if looks else "")
    return FileContent(name, content, chosen)


def refuse_unused(
    read: Sequence[FileContent],
    found: Sequence[ImportedCollection],
    *,
    query: str | None,
    practitioners: PathLike | None,
) -> None:
    """Refuse options that say what no file asks for."""
    wants = {option for file in read for option in KINDS[file.kind].options}
    texts = {each.text for collection in found for each in collection.queries}
    if query is not None and ("query" not in wants or query not in texts):
        raise OptionError(
            "every file says itself what was searched for, or is about many queries",
            hint="leave out --query, or give the files that it is about alone",
        )
    if practitioners is not None and "name_of" not in wants:
        raise OptionError("no file names practitioners", hint="leave out --practitioners")


@contextmanager
def refuse_wrong_types(file: FileContent) -> Iterator[None]:
    """Say that a file is not what it looks like where a value in it is of another type."""
    try:
        yield
    except RankscopeError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{file.path} looks like {file.kind} ({KINDS[file.kind].description}), but a value in it is of another "
            f"type: {error}",
            hint="compare it with a file that the original wrote, or say what it is with --kind",
        ) from error


def import_content(file: FileContent, options: Mapping[str, Any]) -> ImportedCollection:
    """Import what a file holds, as what it is."""
    known = KINDS[file.kind]
    with refuse_wrong_types(file):
        found = known.load(file.content, file.path, **{name: options[name] for name in known.options})
    found.kind = file.kind
    found.runs = [run for run in found.runs if run.results]
    found.notes += [
        f"{run.name}: {counted(run.n_repeats, 'result')} showing a doc again; the original counts each"
        for run in found.runs
        if run.n_repeats
    ]
    return found


def case_problems(content: Any, path: str) -> list[Problem]:
    """Return what is wrong with test cases of the doctor search or of HPO retrieval; other files are refused.

    What only might be another file, as names by themselves do not say, is looked at as cases of HPO retrieval.
    """
    kind = next((name for name, kind in KINDS.items() if kind.fits(content)), "")
    if kind == "doctor-test-cases":
        return list(problems_of_doctor_cases(content))
    if kind in {"", "hpo-test-cases", "podcast-judgments", "podcast-topics"}:
        return problems_of(content)
    raise OptionError(
        f"{path} holds no test cases: it looks like {kind} ({KINDS[kind].description})",
        hint="import it without --check to see what it holds",
    )


def content_of(path: PathLike) -> Any:
    """Return what a path holds: a run directory as its path, a CSV as rows, anything else as JSON."""
    folder = Path(path)
    if folder.is_dir():
        return folder
    if format_in_name(folder.name) == "jsonl":
        return [dict(row) for _, row in read_rows(path, format="jsonl")]
    if read_text(path).lstrip().startswith(doctor.CSV_HEADER[0] + ","):
        with source_of(path).reading(ragged=True) as reading:
            return [dict(row) for _, row in rows_in(reading, "csv")]
    return read_json(path, keys_once=True)


def kind_of(content: Any, *, where: str = "the file") -> str:
    """Return the first kind that the content fits."""
    for name, kind in KINDS.items():
        if kind.fits(content):
            return name
    raise FormatError(
        f"{where} is none of the files that can be imported",
        hint="qrels and runs in common formats need no import: `rankscope evaluate` reads them as they are",
    )
