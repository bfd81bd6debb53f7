"""Files of the four frameworks that Rankscope replaces: recognised by their content, and imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rankscope.errors import FormatError, OptionError, RankscopeError, did_you_mean
from rankscope.io.files import read_json, read_text
from rankscope.io.source import PathLike
from rankscope.predecessors.importers import doctor_search, hpo_retrieval, podcast_search, rag_diversity
from rankscope.predecessors.importers.content import read_csv
from rankscope.predecessors.importers.hpo_schema import Problem, problems_of, test_case_schema
from rankscope.predecessors.importers.model import (
    ImportedCollection,
    ImportedDoc,
    ImportedJudgment,
    ImportedQuery,
    ImportedResult,
    ImportedRun,
    Opinion,
    RecordedScore,
)
from rankscope.predecessors.importers.write import WrittenCollection, write_collection
from rankscope.records import Record, replace

__all__ = [
    "KINDS",
    "ImportedCollection",
    "ImportedDoc",
    "ImportedJudgment",
    "ImportedQuery",
    "ImportedResult",
    "ImportedRun",
    "Opinion",
    "Problem",
    "RecordedScore",
    "WrittenCollection",
    "import_file",
    "kind_of",
    "problems_of",
    "test_case_schema",
    "write_collection",
]


class ImportOptions(Record):
    """What a file itself does not say."""

    query: str | None = None
    name_of: Mapping[str, str] = msgspec.field(default_factory=dict)
    keep_unresolved: bool = True


class FileKind(Record):
    """One kind of file: how it is recognised, and imported."""

    description: str
    fits: Callable[[Any], bool]
    load: Callable[[Any, str, ImportOptions], ImportedCollection]


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda content: isinstance(content, Mapping) and all(key in content for key in keys)


def _lists(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda content: isinstance(content, list) and bool(content) and test(content[0])


def _values(kind: type) -> Callable[[Any], bool]:
    def fits(content: Any) -> bool:
        return isinstance(content, Mapping) and bool(content) and all(isinstance(v, kind) for v in content.values())

    return fits


KINDS: dict[str, FileKind] = {
    "doctor-test-cases": FileKind(
        "doctor search: test cases, ground truth by name",
        _has("testCases"),
        lambda content, where, options: doctor_search.import_test_cases(
            content, where, name_of=options.name_of, keep=options.keep_unresolved
        ),
    ),
    "doctor-export": FileKind(
        "doctor search: JSON export of the test page",
        _has("testCase", "variants", "measurements"),
        lambda content, where, _: doctor_search.import_export(content, where),
    ),
    "doctor-export-csv": FileKind(
        "doctor search: CSV export of the test page",
        _lists(_has(*doctor_search.CSV_HEADER)),
        lambda content, where, _: doctor_search.import_export_csv(content, where),
    ),
    "doctor-baseline": FileKind(
        "doctor search: baseline run",
        _has("baseline", "results"),
        lambda content, where, _: doctor_search.import_baseline(content, where),
    ),
    "doctor-batch": FileKind(
        "doctor search: response of a batch evaluation",
        lambda content: _has("summary", "results")(content) and _lists(_has("testCaseId"))(content["results"]),
        lambda content, where, options: doctor_search.import_batch(content, where, keep=options.keep_unresolved),
    ),
    "doctor-variants": FileKind(
        "doctor search: response for one query",
        _has("variants", "success"),
        lambda content, where, _: doctor_search.import_variants(content, where),
    ),
    "doctor-split": FileKind(
        "doctor search: split into training and held-out cases",
        _has("trainIds", "holdoutIds"),
        lambda content, where, _: doctor_search.import_split(content, where),
    ),
    "doctor-llm-judge": FileKind(
        "doctor search: an LLM's verdicts",
        _has("byId"),
        lambda content, where, _: doctor_search.import_llm_judge(content, where),
    ),
    "podcast-export": FileKind(
        "podcast search: JSON export of the app",
        lambda content: _has("metadata", "results")(content) and isinstance(content["results"], list),
        lambda content, where, options: podcast_search.import_export(content, where, query=options.query),
    ),
    "podcast-results": FileKind(
        "podcast search: a list of results",
        _lists(_has("episode_id")),
        lambda content, where, options: podcast_search.import_results(content, where, query=options.query),
    ),
    "hpo-test-cases": FileKind(
        "HPO retrieval: test cases, a list or the full schema",
        lambda content: _has("test_cases")(content) or _lists(hpo_retrieval.is_test_case)(content),
        lambda content, where, _: hpo_retrieval.import_test_cases(content, where),
    ),
    "hpo-annotations": FileKind(
        "HPO retrieval: annotated texts",
        lambda content: (
            _lists(_has("annotations"))(content)
            or _has("annotations", "full_text")(content)
            or (_has("documents")(content) and _lists(_has("gold_hpo_terms"))(content["documents"]))
        ),
        lambda content, where, _: hpo_retrieval.import_annotations(content, where),
    ),
    "hpo-run": FileKind(
        "HPO retrieval: a run directory",
        lambda content: isinstance(content, Path),
        lambda content, _, __: hpo_retrieval.import_run_directory(content),
    ),
    "rag-report": FileKind(
        "RAG benchmark: a report",
        _has("metrics", "methods"),
        lambda content, where, _: rag_diversity.import_report(content, where),
    ),
    "rag-cache": FileKind(
        "RAG benchmark: a cached collection",
        _has("queries", "documents", "qrels"),
        lambda content, where, _: rag_diversity.import_cache(content, where),
    ),
    "hpo-summary": FileKind(
        "HPO retrieval: a summary",
        lambda content: isinstance(content, Mapping) and hpo_retrieval.is_summary(content),
        lambda content, where, _: hpo_retrieval.import_summary(content, where),
    ),
    "podcast-judgments": FileKind(
        "podcast search: judgments by query text",
        _values(dict),
        lambda content, where, _: podcast_search.import_judgments(content, where),
    ),
    "podcast-topics": FileKind(
        "podcast search: topics by episode",
        _values(list),
        lambda content, where, _: podcast_search.import_topics(content, where),
    ),
}
"""Every kind by name; the first that fits is taken, so the more specific ones come first."""


def import_file(
    path: PathLike,
    *,
    kind: str | None = None,
    query: str | None = None,
    practitioners: PathLike | None = None,
    unresolved: str = "keep",
) -> ImportedCollection:
    """Import a predecessor's file, or a run directory; its kind is detected from its content unless it is given.

    `query` is what was searched for, where the file does not say; `practitioners` is a file with the ids and names of
    the people that test cases name; `unresolved` says what happens to names that match nobody: "keep" or "drop".
    """
    if unresolved not in {"keep", "drop"}:
        raise OptionError(f"unresolved = {unresolved!r} is neither keep nor drop")
    content = content_of(path)
    chosen = checked_kind(kind, content, path) if kind else kind_of(content, where=str(path))
    name_of = doctor_search.directory_of(read_json(practitioners), str(practitioners)) if practitioners else {}
    found = load(chosen, content, str(path), ImportOptions(query, name_of, unresolved == "keep"))
    repeats = [
        f"{run.name}: {run.n_repeats} results repeat a doc; the original counts them again"
        for run in found.runs
        if run.n_repeats
    ]
    return replace(found, notes=(*found.notes, *repeats))


def load(kind: str, content: Any, where: str, options: ImportOptions) -> ImportedCollection:
    """Import content of a kind; where a value is not of the type it has in such files, say so."""
    try:
        return KINDS[kind].load(content, where, options)
    except RankscopeError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{where} looks like {kind} ({KINDS[kind].description}), but a value in it is of another type: {error}",
            hint="compare it with a file that the original wrote, or say what it is with --kind",
        ) from error


def content_of(path: PathLike) -> Any:
    """Return what a path holds: a run directory as its path, a CSV as rows, anything else as JSON."""
    folder = Path(path)
    if folder.is_dir():
        return folder
    if read_text(path).lstrip().startswith(doctor_search.CSV_HEADER[0] + ","):
        return read_csv(path)
    return read_json(path)


def checked_kind(kind: str, content: Any, path: PathLike) -> str:
    """Return a kind that was asked for, or say which there are."""
    if kind not in KINDS:
        raise OptionError(f"there is no kind {kind!r}; there are {', '.join(KINDS)}", hint=did_you_mean(kind, KINDS))
    if not KINDS[kind].fits(content):
        looks = next((name for name, known in KINDS.items() if known.fits(content)), None)
        raise FormatError(f"{path} does not look like {kind}", hint=f"it looks like {looks}" if looks else "")
    return kind


def kind_of(content: Any, *, where: str = "the file") -> str:
    """Return the first kind that the content fits."""
    for name, kind in KINDS.items():
        if kind.fits(content):
            return name
    raise FormatError(
        f"{where} is none of the files that can be imported",
        hint="qrels and runs in common formats need no import: `rankscope evaluate` reads them as they are",
    )
