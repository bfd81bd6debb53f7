"""Files of the doctor search's test bench: test cases, responses, exports, baseline runs, splits, an LLM's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rankscope.predecessors.importers.content import a_list, an_object, number_or_none, present, text_of
from rankscope.predecessors.importers.model import (
    ImportedCollection,
    ImportedJudgment,
    ImportedQuery,
    ImportedResult,
    ImportedRun,
    Opinion,
    RecordedScore,
)
from rankscope.predecessors.importers.names import resolve, stand_in

CSV_HEADER = ("Variant", "Rank", "Practitioner ID", "Practitioner Name")
DISPLAY_NAMES = {
    "algorithmic": "Algorithmic",
    "parallel": "Parallel (No Negatives)",
    "parallel_general_goal_specificity": "Parallel (Goal/Specificity)",
}
_RECORDED = ("precisionAt3", "precisionAt5", "precisionAt12", "recallAt3", "recallAt5", "recallAt12", "mrr", "ndcg")
_POSITIONS = ("averagePosition", "minPosition", "maxPosition", "inTop3", "inTop5", "inTop10", "totalFound")


class _Parts(msgspec.Struct):
    """What is collected on the way through a file."""

    queries: list[ImportedQuery] = msgspec.field(default_factory=list)
    judgments: list[ImportedJudgment] = msgspec.field(default_factory=list)
    lists: dict[str, list[ImportedResult]] = msgspec.field(default_factory=dict)
    opinions: list[Opinion] = msgspec.field(default_factory=list)
    scores: list[RecordedScore] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    def collection(self, kind: str, title: str) -> ImportedCollection:
        """Return it all, frozen."""
        return ImportedCollection(
            kind=kind,
            title=title,
            queries=tuple(self.queries),
            judgments=tuple(self.judgments),
            runs=tuple(ImportedRun(name, tuple(results)) for name, results in self.lists.items() if results),
            opinions=tuple(self.opinions),
            scores=tuple(self.scores),
            notes=tuple(self.notes),
        )

    def judge(self, query: str, names: Iterable[str], name_of: Mapping[str, str], *, keep: bool) -> None:
        """Resolve the ground truth of a query; names that match nobody, or several, are noted and by default kept."""
        found = resolve(names, name_of)
        for name in found.unresolved if name_of else ():
            self.notes.append(f"{query}: nobody is called {name!r}{_consequence(keep=keep)}")
        for name, ids in found.ambiguous:
            them = f"{len(ids)} people are called {name!r} ({', '.join(ids)})"
            self.notes.append(f"{query}: {them}{_consequence(keep=keep)}")
        kept = [doc for doc in found.ids if keep or doc not in found.stand_ins]
        self.judgments.extend(ImportedJudgment(query, doc, 1.0) for doc in kept)


def _consequence(*, keep: bool) -> str:
    return "; it counts as a relevant doc that is never found" if keep else "; it is left out, as in the original"


def result_id(result: Mapping[str, Any]) -> str | None:
    """Return a result's id, looked up where the original looks for it."""
    document = result.get("document") or {}
    found = (
        document.get("practitioner_id")
        or document.get("id")
        or result.get("practitioner_id")
        or result.get("practitionerId")
        or result.get("id")
    )
    return None if found is None else str(found)


def result_name(result: Mapping[str, Any]) -> str:
    """Return the name of the doctor that a result shows."""
    document = result.get("document") or {}
    return str(document.get("name") or result.get("name") or result.get("practitionerName") or "")


def directory_of(content: Any, where: str) -> dict[str, str]:
    """Return {id: name} from a list of practitioners, or an object that holds one."""
    if isinstance(content, Mapping):
        lists = [value for value in content.values() if isinstance(value, list)]
        if not lists:
            return {str(doc): str(name) for doc, name in content.items() if isinstance(name, str)}
        content = lists[0]
    people = {}
    for number, person in enumerate(a_list(content, where), 1):
        record = an_object(person, f"{where}, practitioner {number}")
        people[str(result_id(record) or text_of(record, "id", f"{where}, practitioner {number}"))] = result_name(record)
    return people


def import_test_cases(
    content: Mapping[str, Any], where: str, *, name_of: Mapping[str, str], keep: bool = True
) -> ImportedCollection:
    """Import test cases whose ground truth is names."""
    parts = _Parts()
    for number, case in enumerate(a_list(content.get("testCases"), f"{where}: testCases"), 1):
        record = an_object(case, f"{where}: test case {number}")
        query = text_of(record, "id", f"{where}: test case {number}")
        facts = present(record, "name", "expectedSpecialty", "set", "conversation")
        parts.queries.append(ImportedQuery(query, str(record.get("userQuery") or ""), facts))
        names = [str(name) for name in a_list(record.get("groundTruth"), f"{where}: groundTruth of {query}")]
        if not names:
            parts.notes.append(f"{query}: it has no ground truth, so it cannot be scored")
        parts.judge(query, names, name_of, keep=keep)
    if not name_of:
        parts.notes.append(
            "the ground truth is names: docs have ids made from them (name:…); give the practitioners for real ids"
        )
    return parts.collection("doctor-test-cases", "test cases of the doctor search")


def import_batch(content: Mapping[str, Any], where: str, *, keep: bool = True) -> ImportedCollection:
    """Import the response of a batch evaluation: lists of three, and the scores that were computed over ten."""
    parts = _Parts()
    for number, case in enumerate(a_list(content.get("results"), f"{where}: results"), 1):
        record = an_object(case, f"{where}: result {number}")
        query = text_of(record, "testCaseId", f"{where}: result {number}")
        parts.queries.append(ImportedQuery(query, str(record.get("userQuery") or ""), present(record, "testCaseName")))
        _take_variants(parts, query, record.get("variants"), f"{where}: {query}")
        _take_truth(parts, query, record.get("groundTruth") or {}, keep=keep)
        _take_evaluation(parts, query, record.get("evaluation") or {})
    _take_summary(parts, content.get("summary") or {})
    parts.notes.append("the lists hold three results each; the recorded scores were computed over ten")
    return parts.collection("doctor-batch", "batch evaluation of the doctor search")


def import_variants(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import the response for one query, all variants."""
    parts = _Parts()
    case = content.get("testCase") or {}
    query = str(case.get("id") or "query")
    parts.queries.append(ImportedQuery(query, str(case.get("userQuery") or content.get("userQuery") or "")))
    _take_variants(parts, query, content.get("variants"), where)
    truth = content.get("groundTruth") or {}
    _take_truth(parts, query, {"ids": content.get("groundTruthIds"), **truth}, keep=True)
    _take_evaluation(parts, query, content.get("evaluation") or {})
    return parts.collection("doctor-variants", "response of the doctor search for one query")


def import_export(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import an export of the test page: results with flags and the doctor that would be booked."""
    parts = _Parts()
    case = an_object(content.get("testCase"), f"{where}: testCase")
    query = str(case.get("id") or "query")
    turns = case.get("conversation") or case.get("messages") or []
    said = case.get("userQuery") or next((turn.get("content") for turn in turns if isinstance(turn, dict)), "")
    parts.queries.append(ImportedQuery(query, str(said or ""), present(case, "name", "timestamp")))
    _take_variants(parts, query, content.get("variants"), where)
    for variant in a_list(content.get("variants"), f"{where}: variants"):
        _take_opinions(parts, query, str(variant.get("name")), variant.get("top3Results") or [])
    measured = content.get("measurements") or {}
    for variant, value in (measured.get("precisionAt3") or {}).items():
        parts.scores.append(RecordedScore(variant, query, "precisionAt3", number_or_none(value)))
    truth = measured.get("groundTruth") or []
    if isinstance(truth, list):
        names = {result.doc: result.doc for results in parts.lists.values() for result in results}
        known = {**names, **_names_in(content.get("variants") or [])}
        listed = [str(entry.get("id") if isinstance(entry, dict) else entry) for entry in truth]
        for entry in listed:
            if entry in known:
                parts.judgments.append(ImportedJudgment(query, entry, 1.0))
            else:
                parts.judge(query, [entry], known, keep=True)
    return parts.collection("doctor-export", "export of the doctor search's test page")


def import_export_csv(rows: list[dict[str, str]], where: str) -> ImportedCollection:
    """Import the CSV of the test page."""
    del where
    parts = _Parts()
    parts.queries.append(ImportedQuery("query"))
    for row in sorted(rows, key=lambda row: (row["Variant"], int(row["Rank"] or 0))):
        variant, doc = row["Variant"], row["Practitioner ID"] or stand_in(row["Practitioner Name"])
        score = float(row["BM25 Score"]) if row.get("BM25 Score") else None
        parts.lists.setdefault(variant, []).append(ImportedResult("query", doc, score))
        if row.get("Relevance Flagged") == "Yes":
            parts.opinions.append(Opinion("query", variant, doc, "flag", row.get("Flag Reason") or ""))
        if row.get("Booking Proxy") == "Yes":
            parts.opinions.append(Opinion("query", variant, doc, "choice"))
        if row.get("Precision@3"):
            recorded = RecordedScore(variant, "query", "precisionAt3", float(row["Precision@3"]))
            parts.scores.extend([recorded] if recorded not in parts.scores else [])
    parts.notes.append('the CSV does not say what was asked: the query is called "query"')
    return parts.collection("doctor-export-csv", "CSV export of the doctor search's test page")


def import_baseline(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import a baseline run: ground truth and recorded scores of every case; it holds no lists."""
    parts = _Parts()
    system = str(content.get("variant") or content.get("baseline") or "baseline")
    for number, case in enumerate(a_list(content.get("results"), f"{where}: results"), 1):
        record = an_object(case, f"{where}: result {number}")
        query = text_of(record, "id", f"{where}: result {number}")
        parts.queries.append(
            ImportedQuery(query, str(record.get("userQuery") or ""), present(record, "expectedSpecialty"))
        )
        truth = {"names": record.get("groundTruthNames"), "ids": record.get("groundTruthIds")}
        _take_truth(parts, query, truth, keep=True)
        _take_evaluation(parts, query, {system: record.get("evaluation") or {}})
    for key, value in (content.get("summary") or {}).items():
        parts.scores.append(RecordedScore(system, None, key, number_or_none(value)))
    parts.notes.append("the file holds scores, but not the lists they were computed from")
    return parts.collection("doctor-baseline", "baseline run of the doctor search")


def import_split(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import which cases are for training and which are held out."""
    parts = _Parts()
    for name, key in (("train", "trainIds"), ("holdout", "holdoutIds")):
        ids = [str(case) for case in a_list(content.get(key), f"{where}: {key}")]
        parts.queries.extend(ImportedQuery(case, attributes={"split": name}) for case in ids)
        stated = content.get(f"{name}Count")
        if stated is not None and stated != len(ids):
            parts.notes.append(f"{name}Count is {stated}, but {key} lists {len(ids)} cases")
    if content.get("rule"):
        parts.notes.append(f"the rule of the split: {content['rule']}")
    return parts.collection("doctor-split", "split of the doctor search's test cases")


def import_llm_judge(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import an LLM's verdicts: a grade per doctor by its fit, 2 for excellent, 1 for good, 0 for an ill fit."""
    grade_of = {"excellent": 2.0, "good": 1.0, "ill_fit": 0.0}
    parts = _Parts()
    for query, case in an_object(content.get("byId"), f"{where}: byId").items():
        parts.queries.append(ImportedQuery(query, str(case.get("userQuery") or ""), present(case, "expectedSpecialty")))
        shown = [stand_in(str(name)) for name in case.get("top12_names") or []]
        parts.lists.setdefault("llm-judged", []).extend(ImportedResult(query, doc) for doc in shown)
        for verdict in (case.get("verification") or {}).get("per_doctor") or []:
            doc, fit = stand_in(str(verdict.get("practitioner_name"))), _category(verdict.get("fit_category"))
            if fit in grade_of:
                parts.judgments.append(ImportedJudgment(query, doc, grade_of[fit]))
            else:
                parts.notes.append(f"{query}: {verdict.get('practitioner_name')!r} has the unknown fit {fit!r}")
            parts.opinions.append(Opinion(query, "llm-judged", doc, fit, str(verdict.get("brief_reason") or "")))
        for key, value in (case.get("metrics") or {}).items():
            parts.scores.append(RecordedScore("llm-judged", query, key, _number_of(value)))
    for key, value in ((content.get("summary") or {}).get("success_metrics") or {}).items():
        parts.scores.append(RecordedScore("llm-judged", None, key, number_or_none(value)))
    parts.judgments = list({(found.query, found.doc): found for found in parts.judgments}.values())
    parts.notes.append("doctors are known by name only: their ids are made from their names (name:…)")
    return parts.collection("doctor-llm-judge", "an LLM's verdicts on the doctor search")


def _category(value: Any) -> str:
    return str(value or "").strip().lower().replace("-", "_").replace(" ", "_")


def _number_of(value: Any) -> float | None:
    return float(value) if isinstance(value, bool) else number_or_none(value)


def _take_variants(parts: _Parts, query: str, variants: Any, where: str) -> None:
    for number, variant in enumerate(a_list(variants, f"{where}: variants"), 1):
        record = an_object(variant, f"{where}: variant {number}")
        name = text_of(record, "name", f"{where}: variant {number}")
        if record.get("error"):
            parts.notes.append(f"{query}: variant {name} failed: {record['error']}")
            continue
        shown = record.get("top10Results") or record.get("top3Results") or []
        parts.lists.setdefault(name, []).extend(_ranked(query, shown))


def _ranked(query: str, shown: list[dict[str, Any]]) -> Iterator[ImportedResult]:
    for result in shown:
        doc = result_id(result) or stand_in(result_name(result))
        yield ImportedResult(query, doc, number_or_none(result.get("score", result.get("bm25Score"))))


def _names_in(variants: list[dict[str, Any]]) -> dict[str, str]:
    """Return {id: name} of all results shown."""
    lists = (variant.get("top10Results") or variant.get("top3Results") or [] for variant in variants)
    shown = [result for results in lists for result in results]
    return {doc: result_name(result) for result in shown if (doc := result_id(result))}


def _take_truth(parts: _Parts, query: str, truth: Mapping[str, Any], *, keep: bool) -> None:
    """Take ground truth given as ids, and as names of which some may not have been resolved."""
    ids = list(dict.fromkeys(str(doc) for doc in truth.get("ids") or []))
    parts.judgments.extend(ImportedJudgment(query, doc, 1.0) for doc in ids)
    n_lost = len(set(map(stand_in, truth.get("names") or []))) - len(ids)
    if n_lost > 0:
        effect = "they count as relevant docs that are never found" if keep else "they are left out, as in the original"
        parts.notes.append(f"{query}: {n_lost} of {len(truth['names'])} names of the ground truth have no id; {effect}")
        if keep:
            parts.judgments.extend(ImportedJudgment(query, f"name:unresolved-{i}", 1.0) for i in range(1, n_lost + 1))


def _take_evaluation(parts: _Parts, query: str, evaluation: Mapping[str, Any]) -> None:
    for variant, found in evaluation.items():
        for key in _RECORDED:
            if key in (found or {}):
                parts.scores.append(RecordedScore(variant, query, key, number_or_none(found[key])))
        for key in _POSITIONS:
            positions = (found or {}).get("positionMetrics") or {}
            if key in positions:
                parts.scores.append(RecordedScore(variant, query, key, number_or_none(positions[key])))


def _take_summary(parts: _Parts, summary: Mapping[str, Any]) -> None:
    for key, by_variant in summary.items():
        if isinstance(by_variant, Mapping):
            for variant, value in by_variant.items():
                parts.scores.append(RecordedScore(variant, None, key, number_or_none(value)))


def _take_opinions(parts: _Parts, query: str, variant: str, shown: list[dict[str, Any]]) -> None:
    for result in shown:
        doc = result_id(result) or stand_in(result_name(result))
        flag = result.get("relevanceFlagged") or {}
        if flag is True or (isinstance(flag, Mapping) and flag.get("flagged")):
            reason = str(flag.get("reason") or "") if isinstance(flag, Mapping) else ""
            parts.opinions.append(Opinion(query, variant, doc, "flag", reason))
        if result.get("bookingProxy"):
            parts.opinions.append(Opinion(query, variant, doc, "choice"))
