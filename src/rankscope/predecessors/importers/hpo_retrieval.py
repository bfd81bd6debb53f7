"""Files of the HPO retrieval benchmark: test cases, annotated texts, run directories and summaries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError
from rankscope.io.files import read_json
from rankscope.io.table import read_rows
from rankscope.predecessors.importers.content import number_or_none, objects_in, present, text_of
from rankscope.predecessors.importers.hpo_schema import CASE_KEYS, language_of_word, unknown_keys, valid_cases
from rankscope.predecessors.importers.model import ImportedCollection, ImportedDoc

_METRIC = re.compile(r"(?:avg_)?(?:mrr|(?:hit_rate|max_ont_similarity|ndcg|recall|precision|map)(?:_\w+)?@\d+|mrr_\w+)")
_PER_CASE = "_per_case"
_TAKEN = frozenset({"case_id", "text", "expected_hpo_ids", "hpo_ids"})


def import_test_cases(content: Any, where: str) -> ImportedCollection:
    """Import test cases: a bare list, or the full schema with metadata."""
    cases = valid_cases(content, where)
    metadata = content.get("metadata", {}) if isinstance(content, Mapping) else {}
    own_name = " ".join(str(metadata[key]) for key in ("dataset_id", "version") if metadata.get(key))
    imported = ImportedCollection("test cases of HPO retrieval" + (f" ({own_name})" if own_name else ""))
    language, origin = language_of(metadata, Path(where))
    if language:
        imported.notes.append(f"language {language}, {origin}")
    imported.notes += unknown_keys(cases)
    n_aliased = sum("hpo_ids" in case and "expected_hpo_ids" not in case for case in cases)
    if n_aliased:
        imported.notes.append(f"{n_aliased} cases call their ids hpo_ids, which the original does not read")
    for i, case in enumerate(cases):
        query = str(case.get("case_id", i))
        kept = {key: value for key, value in case.items() if key not in _TAKEN}
        imported.add_query(query, case["text"], {**({"language": language} if language else {}), **kept})
        expected = case.get("expected_hpo_ids", case.get("hpo_ids", []))
        imported.add_judgments(query, dict.fromkeys(expected))
        if not expected:
            imported.notes.append(f"{query}: it expects no id, so it is not evaluable")
        elif len(set(expected)) < len(expected):
            twice = "it counts once here, twice in the original's recall and nDCG"
            imported.notes.append(f"{query}: it lists an id twice; {twice}")
    return imported


def language_of(metadata: Mapping[str, Any], path: Path) -> tuple[str | None, str]:
    """Return the language of a file, and how it is known: stated, or from the name of the file or its folder."""
    if metadata.get("language"):
        return str(metadata["language"]), "as its metadata says"
    for folder in reversed(path.parts[-3:-1]):
        if found := language_of_word(folder):
            return found, f"after its folder {folder}"
    return language_of_word(re.split(r"[_.-]", path.name)[0]), f"after its name {path.name}"


def import_annotations(content: Any, where: str) -> ImportedCollection:
    """Import annotated texts, long or short form: a term that is affirmed has grade 1, one that is denied grade 0."""
    listed = content.get("documents") if isinstance(content, Mapping) and "documents" in content else content
    texts = [listed] if isinstance(listed, Mapping) else listed
    imported = ImportedCollection("texts annotated with HPO terms")
    imported.notes.append("terms that are denied or uncertain have grade 0")
    for record, place in objects_in(texts, where, key="documents", what="text"):
        query = str(record.get("doc_id") or text_of(record, "id", place))
        facts = {**present(record, "language", "source"), **(record.get("metadata") or {})}
        imported.add_query(query, record.get("full_text") or record.get("text"), facts)
        grades: dict[str, float] = {}
        for entry in record.get("annotations") or record.get("gold_hpo_terms") or []:
            term = str(entry.get("hpo_id") or text_of(entry, "id", f"{where}: {query}: a term"))
            stated = str(entry.get("assertion_status") or entry.get("assertion") or "affirmed").lower()
            grades[term] = max(float(stated in {"affirmed", "present"}), grades.get(term, 0.0))
        for term, grade in grades.items():
            imported.add_judgments(query, [term], grade)
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
    score_of = {(str(row.get("case_id")), row.get("hpo_id")): row.get("score") for row in terms}
    label_of = {str(row["hpo_id"]): row["label"] for row in terms if row.get("label")}
    imported = ImportedCollection(f"run of HPO retrieval with {system}")
    imported.made = str(summary.get("timestamp") or manifest.get("run_id") or folder.name)
    imported.docs += [ImportedDoc(doc, {"label": label}) for doc, label in label_of.items()]
    for case in cases:
        query = str(case.get("case_id"))
        imported.add_query(query, case.get("text"), present(case, "description"))
        if case.get("status", "complete") not in {"complete", "success", "ok"}:
            continue
        imported.add_judgments(query, dict.fromkeys(_expected(case)))
        retrieved = case.get("retrieved_hpo_ids") or []
        imported.add_results(system, query, [(str(doc), score_of.get((query, doc))) for doc in retrieved])
        metrics = (case.get("metrics") or {}).items()
        imported.add_scores(system, query, {key: it for key, it in metrics if number_or_none(it) is not None})
    _add_summary(imported, summary)
    imported.notes.extend(_run_notes(cases, manifest))
    return imported


def _expected(case: Mapping[str, Any]) -> list[str]:
    return [str(doc) for doc in case.get("expected_hpo_ids") or case.get("expected_ids") or []]


def _run_notes(cases: list[dict[str, Any]], manifest: Mapping[str, Any]) -> Iterator[str]:
    for case in cases:
        name, status = case.get("case_id"), case.get("status", "complete")
        if status == "failed":
            reason = (case.get("error") or {}).get("message") or "no reason given"
            yield f"case {name} failed ({reason}); it gives no judgments, as the original left it out of its means"
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
    imported = ImportedCollection(f"summary of HPO retrieval with {content.get('model') or 'an unnamed model'}")
    imported.made = str(content.get("timestamp") or content.get("run_id") or "")
    _add_summary(imported, content)
    if all(score.query is None for score in imported.scores):
        imported.notes.append("the summary holds means only: without scores by case, no difference can be tested")
    return imported


def _add_summary(imported: ImportedCollection, summary: Mapping[str, Any]) -> None:
    """Add the means and the scores by case of a summary, in any of the ways they have been named."""
    system = str(summary.get("model") or "model")
    for key, value in summary.items():
        plain = key.removesuffix(_PER_CASE)
        if not _METRIC.fullmatch(plain):
            continue
        if isinstance(value, list):
            for i, score in enumerate(value):
                imported.add_scores(system, str(i), {plain: score})
        else:
            imported.add_scores(system, None, {plain: value})
    for key, interval in (summary.get("confidence_intervals") or {}).items():
        ends = {f"{key}:{end}": interval.get(end) for end in ("ci_lower", "ci_upper")}
        imported.add_scores(system, None, ends)


def is_summary(content: Any) -> bool:
    """Tell whether an object states the benchmark's metrics."""
    return isinstance(content, Mapping) and any(_METRIC.fullmatch(key.removesuffix(_PER_CASE)) for key in content)


def is_test_case(entry: Any) -> bool:
    """Tell whether an object looks like a test case, if perhaps not a valid one."""
    return isinstance(entry, Mapping) and "text" in entry and any(key in entry for key in CASE_KEYS[5:])
