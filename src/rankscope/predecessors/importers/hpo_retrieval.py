"""Files of the HPO retrieval benchmark: test cases, annotated texts, run directories and summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError
from rankscope.io.files import read_json
from rankscope.io.table import read_rows
from rankscope.predecessors.importers.content import a_list, an_object, number_or_none, present, text_of
from rankscope.predecessors.importers.hpo_schema import (
    CASE_KEYS,
    cases_in,
    language_of_word,
    require_valid,
    unknown_keys,
)
from rankscope.predecessors.importers.model import (
    ImportedCollection,
    ImportedDoc,
    ImportedJudgment,
    ImportedQuery,
    ImportedResult,
    RecordedScore,
)

_METRIC = re.compile(r"(?:avg_)?(?:mrr|(?:hit_rate|max_ont_similarity|ndcg|recall|precision|map)(?:_\w+)?@\d+|mrr_\w+)")
_PER_CASE = "_per_case"
_TAKEN = frozenset({"case_id", "text", "expected_hpo_ids", "hpo_ids"})


def import_test_cases(content: Any, where: str) -> ImportedCollection:
    """Import test cases: a bare list, or the full schema with metadata."""
    require_valid(content, where)
    metadata = content.get("metadata", {}) if isinstance(content, Mapping) else {}
    language, origin = language_of(metadata, where)
    own_name = " ".join(str(metadata[key]) for key in ("dataset_id", "version") if metadata.get(key))
    cases = list(cases_in(content))
    n_aliased = sum("hpo_ids" in case and "expected_hpo_ids" not in case for case in cases)
    title = "test cases of HPO retrieval" + (f" ({own_name})" if own_name else "")
    imported = ImportedCollection("hpo-test-cases", title)
    if language:
        imported.notes.append(f"language {language}, {origin}")
    imported.notes += unknown_keys(cases)
    if n_aliased:
        imported.notes.append(f"{n_aliased} cases call their ids hpo_ids, which the original does not read")
    for i, case in enumerate(cases):
        query = str(case.get("case_id", i))
        expected = case.get("expected_hpo_ids", case.get("hpo_ids", []))
        kept = {key: value for key, value in case.items() if key not in _TAKEN}
        attributes = {**({"language": language} if language else {}), **kept}
        imported.queries.append(ImportedQuery(query, case["text"], attributes))
        imported.judgments.extend(ImportedJudgment(query, doc, 1.0) for doc in dict.fromkeys(expected))
        if not expected:
            imported.notes.append(f"{query}: it expects no id, so it is not evaluable")
        elif len(set(expected)) < len(expected):
            twice = "it counts once here, twice in the original's recall and nDCG"
            imported.notes.append(f"{query}: it lists an id twice; {twice}")
    return imported


def language_of(metadata: Mapping[str, Any], where: str) -> tuple[str | None, str]:
    """Return the language of a file, and how it is known: stated, or from the name of the file or its folder."""
    if metadata.get("language"):
        return str(metadata["language"]), "as its metadata says"
    path = Path(where)
    for folder in reversed(path.parts[-3:-1]):
        if found := language_of_word(folder):
            return found, f"after its folder {folder}"
    found = language_of_word(re.split(r"[_.-]", path.name)[0])
    return (found, f"after its name {path.name}") if found else (None, "")


def import_annotations(content: Any, where: str) -> ImportedCollection:
    """Import annotated texts, long or short form: a term that is affirmed has grade 1, one that is denied grade 0."""
    listed = content.get("documents") if isinstance(content, Mapping) and "documents" in content else content
    texts = a_list([listed] if isinstance(listed, Mapping) else listed, where)
    imported = ImportedCollection("hpo-annotations", "texts annotated with HPO terms")
    imported.notes.append("terms that are denied or uncertain have grade 0")
    for number, text in enumerate(texts, 1):
        record = an_object(text, f"{where}: text {number}")
        query = str(record.get("doc_id") or text_of(record, "id", f"{where}: text {number}"))
        facts = {**present(record, "language", "source"), **(record.get("metadata") or {})}
        imported.queries.append(ImportedQuery(query, str(record.get("full_text") or record.get("text") or ""), facts))
        grades: dict[str, float] = {}
        for entry in record.get("annotations") or record.get("gold_hpo_terms") or []:
            term = str(entry.get("hpo_id") or text_of(entry, "id", f"{where}: {query}: a term"))
            stated = str(entry.get("assertion_status") or entry.get("assertion") or "affirmed").lower()
            grades[term] = max(float(stated in {"affirmed", "present"}), grades.get(term, 0.0))
        imported.judgments.extend(ImportedJudgment(query, term, grade) for term, grade in grades.items())
    return imported


def import_run_directory(folder: Path, _where: str) -> ImportedCollection:
    """Import a run: its cases, what was retrieved for them, and the scores that it states."""
    manifest, summary = (
        read_json(folder / name) if (folder / name).exists() else {} for name in ("manifest.json", "summary.json")
    )
    if not (folder / "cases.jsonl").exists():
        raise FormatError(f"{folder} has no cases.jsonl", hint="give a run directory, or its summary.json")
    cases, terms = (
        [dict(row) for _, row in read_rows(folder / name, format="jsonl")] if (folder / name).exists() else []
        for name in ("cases.jsonl", "terms.jsonl")
    )
    system = str(summary.get("model") or (manifest.get("config") or {}).get("model_name") or folder.parent.name)
    score_of = {(str(row.get("case_id")), row.get("hpo_id")): number_or_none(row.get("score")) for row in terms}
    label_of = {str(row["hpo_id"]): row["label"] for row in terms if row.get("label")}
    imported = ImportedCollection("hpo-run", f"run of HPO retrieval with {system}")
    imported.docs += [ImportedDoc(doc, {"label": label}) for doc, label in label_of.items()]
    for case in cases:
        query = str(case.get("case_id"))
        facts = present(case, "description", "status")
        imported.queries.append(ImportedQuery(query, str(case.get("text") or ""), facts))
        if case.get("status", "complete") not in {"complete", "success", "ok"}:
            continue
        imported.judgments.extend(ImportedJudgment(query, doc, 1.0) for doc in dict.fromkeys(_expected(case)))
        imported.results(system).extend(
            ImportedResult(query, str(doc), score_of.get((query, doc))) for doc in case.get("retrieved_hpo_ids") or []
        )
        numbers = {key: number_or_none(value) for key, value in (case.get("metrics") or {}).items()}
        imported.scores.extend(RecordedScore(system, query, key, it) for key, it in numbers.items() if it is not None)
    imported.scores.extend(summary_scores(summary))
    imported.notes.extend(_run_notes(cases, manifest))
    return imported


def _expected(case: Mapping[str, Any]) -> list[str]:
    return [str(doc) for doc in case.get("expected_hpo_ids") or case.get("expected_ids") or []]


def _run_notes(cases: list[dict[str, Any]], manifest: Mapping[str, Any]) -> Iterator[str]:
    for case in cases:
        name, status = case.get("case_id"), case.get("status", "complete")
        if status == "failed":
            reason = (case.get("error") or {}).get("message") or "no reason given"
            yield f"case {name} failed ({reason}); it is left out of the qrels, as of the original's means"
        elif status == "not_evaluable" or not _expected(case):
            yield f"case {name} expects no id, so it is not evaluable"
        elif not case.get("retrieved_hpo_ids"):
            yield f"case {name} retrieved nothing; it scores 0"
    dataset = manifest.get("dataset") or {}
    if dataset.get("case_count") not in (None, len(cases)):
        yield f"the manifest speaks of {dataset['case_count']} cases, cases.jsonl holds {len(cases)}"
    if manifest.get("status") not in (None, "complete"):
        yield f"the run's status is {manifest['status']}"


def import_summary(content: Mapping[str, Any], _where: str) -> ImportedCollection:
    """Import a summary: means, and scores by case where it lists them."""
    title = f"summary of HPO retrieval with {content.get('model') or 'an unnamed model'}"
    imported = ImportedCollection("hpo-summary", title, scores=list(summary_scores(content)))
    if all(score.query is None for score in imported.scores):
        imported.notes.append("the summary holds means only: without scores by case, no difference can be tested")
    return imported


def summary_scores(summary: Mapping[str, Any]) -> Iterator[RecordedScore]:
    """Yield the means and the scores by case of a summary, in any of the ways they have been named."""
    system = str(summary.get("model") or "model")
    for key, value in summary.items():
        plain = key.removesuffix(_PER_CASE)
        if not _METRIC.fullmatch(plain):
            continue
        if isinstance(value, list):
            for i, score in enumerate(value):
                yield RecordedScore(system, str(i), plain, number_or_none(score))
        else:
            yield RecordedScore(system, None, plain, number_or_none(value))
    for key, interval in (summary.get("confidence_intervals") or {}).items():
        for end in ("ci_lower", "ci_upper"):
            yield RecordedScore(system, None, f"{key}:{end}", number_or_none(interval.get(end)))


def is_summary(content: Any) -> bool:
    """Tell whether an object states the benchmark's metrics."""
    return isinstance(content, Mapping) and any(_METRIC.fullmatch(key.removesuffix(_PER_CASE)) for key in content)


def is_test_case(entry: Any) -> bool:
    """Tell whether an object looks like a test case, if perhaps not a valid one."""
    return isinstance(entry, Mapping) and "text" in entry and any(key in entry for key in CASE_KEYS[5:])
