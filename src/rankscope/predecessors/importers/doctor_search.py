"""Files of the doctor search's test bench: test cases, responses, exports, baseline runs, splits, an LLM's verdicts.

Ground truth is given by name. A name stands for an id where exactly one person has it, once titles, case and blanks are
put aside; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.errors import FormatError
from rankscope.predecessors.importers.content import (
    a_list,
    an_object,
    objects_in,
    present,
    query_id,
    shown,
    text_of,
    time_or_none,
)
from rankscope.predecessors.importers.model import ImportedCollection, RecordedScore
from rankscope.records import replace

CSV_HEADER = ("Variant", "Rank", "Practitioner ID", "Practitioner Name")
_RECORDED = ("precisionAt3", "precisionAt5", "precisionAt12", "recallAt3", "recallAt5", "recallAt12", "mrr", "ndcg")
_LOWER_IS_BETTER = frozenset({"averagePosition", "minPosition", "maxPosition"})
_GRADE_OF_FIT = {"excellent": 2.0, "good": 1.0, "ill_fit": 0.0}
_CASE_TAKEN = frozenset({"id", "userQuery", "groundTruth", "text"})
"""Fields of a test case that are no attributes of its query."""
_PERSON = JudgmentSource("person")
_POSITIONS = ("averagePosition", "minPosition", "maxPosition", "inTop3", "inTop5", "inTop10", "totalFound")
_TITLE = re.compile(r"^(?:dr|prof|mr|mrs|ms|miss)\b\.?\s*")


def normalised(name: str) -> str:
    """Return a name in lower case, without titles, with single blanks."""
    plain = " ".join(name.lower().split())
    while (shorter := _TITLE.sub("", plain, count=1)) != plain:
        plain = shorter
    return plain


def stand_in(name: str) -> str:
    """Return an id made from a name that was not resolved, so that it still counts as not found."""
    return "name:" + (re.sub(r"\s+", "-", normalised(name)) or "unknown")


def _judge(
    imported: ImportedCollection, query: str, names: Iterable[str], name_of: Mapping[str, str], *, keep: bool
) -> None:
    """Find the one id, among {id: name}, that each name of the ground truth stands for.

    Names that match nobody, or several people, are noted and by default kept.
    """
    ids_of = ids_by_name(name_of)
    found = [(name, ids_of.get(normalised(name), [])) for name in names]
    effect = "it counts as a relevant doc that is never found" if keep else "it is left out, as in the original"
    unknown = [f"{query}: nobody is called {name!r}; {effect}" for name, ids in found if name_of and not ids]
    ambiguous = [
        f"{query}: {len(ids)} people are called {name!r} ({', '.join(ids)}); {effect}"
        for name, ids in found
        if len(ids) > 1
    ]
    imported.notes += [*unknown, *ambiguous]
    docs = [ids[0] if len(ids) == 1 else stand_in(name) for name, ids in found if keep or len(ids) == 1]
    imported.add_judgments(query, dict.fromkeys(docs))


def ids_by_name(name_of: Mapping[str, str]) -> dict[str, list[str]]:
    ids_of: dict[str, list[str]] = {}
    for doc, name in name_of.items():
        ids_of.setdefault(normalised(name), []).append(doc)
    return ids_of


def result_id(result: Mapping[str, Any]) -> str | None:
    """Return a result's id, looked up where the original looks for it."""
    document = result.get("document") or {}
    inside = document.get("practitioner_id") or document.get("id")
    found = inside or result.get("practitioner_id") or result.get("practitionerId") or result.get("id")
    if found is not None and (isinstance(found, bool) or not isinstance(found, str | int)):
        raise FormatError(f"the id {shown(found)} of a doctor is neither a text nor a number")
    return None if found is None else str(found)


def result_name(result: Mapping[str, Any]) -> str:
    document = result.get("document") or {}
    return str(document.get("name") or result.get("name") or result.get("practitionerName") or "")


def doc_of(result: Mapping[str, Any]) -> str:
    """Return a result's id, or one made from the name that it shows."""
    return result_id(result) or stand_in(result_name(result))


def results_of(variant: Mapping[str, Any]) -> list[dict[str, Any]]:
    return variant.get("top10Results") or variant.get("top3Results") or []


def practitioners_in(content: Any, where: str) -> dict[str, dict[str, Any]]:
    """Return the fields of each practitioner by id: from a list, an object that holds one, or {id: name}."""
    if isinstance(content, Mapping):
        lists = [value for value in content.values() if isinstance(value, list)]
        if not lists:
            return {str(doc): {"title": name} for doc, name in content.items() if isinstance(name, str)}
        content = lists[0]
    people: dict[str, dict[str, Any]] = {}
    for number, person in enumerate(a_list(content, where), 1):
        place = f"{where}, practitioner {number}"
        record = an_object(person, place)
        said = an_object(record.get("document") or record, f"{place}: document")
        people[result_id(record) or text_of(record, "id", place)] = fields_of(said, result_name(record))
    return people


def fields_of(record: Any, name: str) -> dict[str, Any]:
    """Return what is said of a doctor: the name as title, and whatever is a text, a number or a list of them."""
    hidden = {"practitioner_id", "practitionerId", "id", "name", "practitionerName", "title"}
    said = record.items() if isinstance(record, Mapping) else ()
    plain = {str(key): value for key, value in said if key not in hidden and is_plain(value)}
    return {**({"title": name} if name else {}), **plain}


def is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str | int | float) for item in value)
    return isinstance(value, str | int | float) and value != ""


def names_shown(content: Any) -> dict[str, str]:
    """Return {id: name} of the doctors that lists of results show, and of ground truth given as names and ids."""
    if isinstance(content, list):
        return {row["Practitioner ID"]: row["Practitioner Name"] for row in content if row.get("Practitioner ID")}
    found: dict[str, str] = {}
    for case in content.get("results") or [content]:
        for result in (result for variant in case.get("variants") or [] for result in results_of(variant)):
            if (doc := result_id(result)) and result_name(result):
                found[doc] = result_name(result)
        truth = case.get("groundTruth") or {}
        names = truth.get("names") or case.get("groundTruthNames") or []
        ids = truth.get("ids") or case.get("groundTruthIds") or []
        if len(names) == len(ids):
            found |= {str(doc): str(name) for doc, name in zip(ids, names, strict=True)}
    return found


def import_test_cases(
    content: Mapping[str, Any], where: str, *, name_of: Mapping[str, str], keep: bool
) -> ImportedCollection:
    imported = ImportedCollection("test cases of the doctor search")
    for record, place in objects_in(content.get("testCases"), where, key="testCases", what="test case"):
        query = text_of(record, "id", place)
        facts = present(record, *(key for key in record if key not in _CASE_TAKEN))
        imported.add_query(query, record.get("userQuery"), facts)
        if present(record, "text"):
            imported.notes.append(f"{query}: its field text is left out: what is asked is in userQuery")
        names = [str(name) for name in a_list(record.get("groundTruth"), f"{where}: groundTruth of {query}")]
        if not names:
            imported.notes.append(f"{query}: it has no ground truth, so it cannot be scored")
        _judge(imported, query, names, name_of, keep=keep)
    if not name_of:
        imported.notes.append(
            "the ground truth is names: docs have ids made from them (name:…); give the practitioners for real ids"
        )
    return imported


def import_batch(
    content: Mapping[str, Any], where: str, *, name_of: Mapping[str, str], keep: bool
) -> ImportedCollection:
    """Import the response of a batch evaluation: lists of three, and the scores that were computed over ten."""
    imported = ImportedCollection("batch evaluation of the doctor search")
    for record, place in objects_in(content.get("results"), where, key="results", what="result"):
        query = text_of(record, "testCaseId", place)
        name = record.get("testCaseName")
        imported.add_query(query, record.get("userQuery"), {"name": name} if name else {})
        _take_variants(imported, query, record.get("variants"), f"{where}: {query}")
        _take_truth(imported, query, record.get("groundTruth") or {}, name_of, keep=keep)
        _take_evaluation(imported, query, record.get("evaluation") or {})
    for key, by_variant in (content.get("summary") or {}).items():
        if isinstance(by_variant, Mapping):
            for variant, value in by_variant.items():
                imported.add_scores(variant, None, {key: value})
    imported.notes.append("the lists hold three results each; the recorded scores were computed over ten")
    return imported


def import_variants(
    content: Mapping[str, Any], where: str, *, query: str | None, name_of: Mapping[str, str]
) -> ImportedCollection:
    imported = ImportedCollection("response of the doctor search for one query")
    case = content.get("testCase") or {}
    own = _add_one_query(imported, case, case.get("userQuery") or content.get("userQuery"), query)
    _take_variants(imported, own, content.get("variants"), where)
    truth = {"ids": content.get("groundTruthIds"), **(content.get("groundTruth") or {})}
    _take_truth(imported, own, truth, name_of, keep=True)
    _take_evaluation(imported, own, content.get("evaluation") or {})
    return imported


def _add_one_query(imported: ImportedCollection, case: Mapping[str, Any], text: Any, given: str | None) -> str:
    """Add the only query of a file, and return its id: its own, or one made from its text."""
    said = str(text or given or "")
    imported.has_texts_only = not case.get("id")
    imported.is_nameless = imported.has_texts_only and not said
    query = str(case.get("id") or query_id(said))
    turns = case.get("conversation") or case.get("messages")
    imported.add_query(query, said, {**present(case, "name"), **({"conversation": turns} if turns else {})})
    if imported.is_nameless:
        imported.notes.append('the file does not say what was asked: the query is called "query"; say --query TEXT')
    return query


def import_export(content: Mapping[str, Any], where: str, *, query: str | None) -> ImportedCollection:
    """Import an export of the test page: results with flags and the doctor that would be booked."""
    imported = ImportedCollection("export of the doctor search's test page")
    case = an_object(content.get("testCase"), f"{where}: testCase")
    turns = case.get("conversation") or case.get("messages") or []
    said = case.get("userQuery") or next((turn.get("content") for turn in turns if isinstance(turn, dict)), "")
    own = _add_one_query(imported, case, said, query)
    imported.made = str(case.get("timestamp") or "")
    variants = a_list(content.get("variants"), f"{where}: variants")
    _take_variants(imported, own, variants, where)
    measured = content.get("measurements") or {}
    flags, chosen = (measured.get(key) or {} for key in ("relevanceFlags", "bookingProxy"))
    for variant in variants:
        name = str(variant.get("name"))
        for place, result in enumerate(variant.get("top3Results") or []):
            flag = result.get("relevanceFlagged") or (flags.get(name) or {}).get(str(place)) or {}
            is_flagged = flag is True or (isinstance(flag, Mapping) and bool(flag.get("flagged")))
            reason = str(flag.get("reason") or "") if isinstance(flag, Mapping) else ""
            said = SingleJudgment(
                query=own, doc=doc_of(result), source=_PERSON, system=name, at=time_or_none(imported.made)
            )
            is_chosen = bool(result.get("bookingProxy")) or str(chosen.get(name)) == str(place)
            _take_opinions(imported, said, flag=reason if is_flagged else None, is_chosen=is_chosen)
    for variant, value in (measured.get("precisionAt3") or {}).items():
        imported.add_scores(variant, own, {"precisionAt3": value})
    truth = measured.get("groundTruth") or []
    if isinstance(truth, list):
        known = {result.doc: result.doc for run in imported.runs for result in run.results}
        listed = [result for variant in variants for result in results_of(variant)]
        known |= {doc: result_name(result) for result in listed if (doc := result_id(result))}
        for entry in [str(entry.get("id") if isinstance(entry, dict) else entry) for entry in truth]:
            if entry in known:
                imported.add_judgments(own, [entry])
            else:
                _judge(imported, own, [entry], known, keep=True)
    return imported


def import_export_csv(rows: list[dict[str, str]], _where: str, *, query: str | None) -> ImportedCollection:
    imported = ImportedCollection("CSV export of the doctor search's test page")
    own = _add_one_query(imported, {}, "", query)
    for row in sorted(rows, key=lambda row: (row["Variant"], int(row["Rank"] or 0))):
        variant, doc = row["Variant"], row["Practitioner ID"] or stand_in(row["Practitioner Name"])
        score = float(row["BM25 Score"]) if row.get("BM25 Score") else None
        imported.add_results(variant, own, [(doc, score)])
        imported.add_doc(doc, fields_of({"specialty": row.get("Specialty") or ""}, row["Practitioner Name"]))
        said = SingleJudgment(query=own, doc=doc, source=_PERSON, system=variant)
        flag = (row.get("Flag Reason") or "") if row.get("Relevance Flagged") == "Yes" else None
        _take_opinions(imported, said, flag=flag, is_chosen=row.get("Booking Proxy") == "Yes")
        if row.get("Precision@3"):
            recorded = RecordedScore(variant, own, "precisionAt3", float(row["Precision@3"]))
            imported.scores.extend([recorded] if recorded not in imported.scores else [])
    return imported


def _take_opinions(imported: ImportedCollection, said: SingleJudgment, *, flag: str | None, is_chosen: bool) -> None:
    """Take a flag with its reason, and a choice, of one result."""
    if flag is not None:
        imported.add_opinion(replace(said, flag=True, note=flag))
    if is_chosen:
        imported.add_opinion(replace(said, choice=True))


def import_baseline(content: Mapping[str, Any], where: str, *, name_of: Mapping[str, str]) -> ImportedCollection:
    """Import a baseline run: ground truth and recorded scores of every case; it holds no lists."""
    imported = ImportedCollection("baseline run of the doctor search")
    system = str(content.get("variant") or content.get("baseline") or "baseline")
    imported.made = str(content.get("runAt") or "")
    for record, place in objects_in(content.get("results"), where, key="results", what="result"):
        query = text_of(record, "id", place)
        imported.add_query(query, record.get("userQuery"), present(record, "expectedSpecialty"))
        truth = {"names": record.get("groundTruthNames"), "ids": record.get("groundTruthIds")}
        _take_truth(imported, query, truth, name_of, keep=True)
        _take_evaluation(imported, query, {system: record.get("evaluation") or {}})
    imported.add_scores(system, None, content.get("summary") or {})
    imported.notes.append("the file holds scores, but not the lists they were computed from")
    return imported


def import_split(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import which cases are for training and which are held out."""
    imported = ImportedCollection("split of the doctor search's test cases")
    for name, key in (("train", "trainIds"), ("holdout", "holdoutIds")):
        ids = [str(case) for case in a_list(content.get(key), f"{where}: {key}")]
        for case in ids:
            imported.add_query(case, attributes={"split": name})
        stated = content.get(f"{name}Count")
        if stated is not None and stated != len(ids):
            imported.notes.append(f"{name}Count is {stated}, but {key} lists {len(ids)} cases")
    if content.get("rule"):
        imported.notes.append(f"the rule of the split: {content['rule']}")
    return imported


def import_llm_judge(content: Mapping[str, Any], where: str, *, name_of: Mapping[str, str]) -> ImportedCollection:
    """Import an LLM's verdicts: a grade per doctor by its fit, 2 for excellent, 1 for good, 0 for an ill fit."""
    imported = ImportedCollection("an LLM's verdicts on the doctor search")
    summary = content.get("summary") or {}
    imported.made = str(summary.get("runAt") or "")
    source = JudgmentSource("judge", name="doctor search", model=str(summary.get("model") or ""))
    ids_of = ids_by_name(name_of)

    def id_of(name: str) -> str:
        ids = ids_of.get(normalised(name), [])
        return ids[0] if len(ids) == 1 else stand_in(name)

    for query, case in an_object(content.get("byId"), f"{where}: byId").items():
        imported.add_query(query, case.get("userQuery"), present(case, "expectedSpecialty"))
        imported.add_results("llm-judged", query, [(id_of(str(name)), None) for name in case.get("top12_names") or []])
        for verdict in (case.get("verification") or {}).get("per_doctor") or []:
            doc = id_of(str(verdict.get("practitioner_name")))
            fit = str(verdict.get("fit_category") or "").strip().lower().replace("-", "_").replace(" ", "_")
            grade = _GRADE_OF_FIT.get(fit)
            if grade is not None:
                imported.add_judgments(query, [doc], grade, by="judge")
            else:
                imported.notes.append(f"{query}: {verdict.get('practitioner_name')!r} has the unknown fit {fit!r}")
            said = SingleJudgment(
                query=query,
                doc=doc,
                source=source,
                grade=grade,
                scale=tuple(sorted(_GRADE_OF_FIT.values())),
                status="out_of_scale" if grade is None else "ok",
                note=str(verdict.get("brief_reason") or ""),
                at=time_or_none(imported.made),
                system="llm-judged",
            )
            imported.add_opinion(said)
        metrics = (case.get("metrics") or {}).items()
        numbers = {key: float(value) if isinstance(value, bool) else value for key, value in metrics}
        imported.add_scores("llm-judged", query, numbers, lower_is_better=[key for key in numbers if "ill_fit" in key])
    imported.add_scores("llm-judged", None, summary.get("success_metrics") or {})
    imported.judgments = list({(found.query, found.doc): found for found in imported.judgments}.values())
    imported.notes.append("these grades are a model's, not people's: they are kept in a file of their own")
    if not name_of:
        imported.notes.append("doctors are known by name only: their ids are made from their names (name:…)")
    return imported


def _take_variants(imported: ImportedCollection, query: str, variants: Any, where: str) -> None:
    for record, place in objects_in(variants, where, key="variants", what="variant"):
        name = text_of(record, "name", place)
        if record.get("error"):
            imported.notes.append(f"{query}: variant {name} failed: {record['error']}")
            continue
        found = [(doc_of(result), result.get("score", result.get("bm25Score"))) for result in results_of(record)]
        imported.add_results(name, query, found)
        for result in results_of(record):
            said = result.get("document") or present(result, "specialty")
            imported.add_doc(doc_of(result), fields_of(said, result_name(result)))


def _take_truth(
    imported: ImportedCollection, query: str, truth: Mapping[str, Any], name_of: Mapping[str, str], *, keep: bool
) -> None:
    """Take ground truth given as ids, and as names of which some may not have been resolved."""
    ids = list(dict.fromkeys(str(doc) for doc in truth.get("ids") or []))
    imported.add_judgments(query, ids)
    names = list(dict.fromkeys(map(stand_in, truth.get("names") or [])))
    known = {stand_in(name_of[doc]) for doc in ids if doc in name_of}
    n_lost = len(names) - len(ids)
    if n_lost > 0:
        effect = "they count as relevant docs that are never found" if keep else "they are left out, as in the original"
        imported.notes.append(
            f"{query}: {n_lost} of {len(truth['names'])} names of the ground truth have no id; {effect}"
        )
        if keep:
            lost = [name for name in names if name not in known]
            imported.add_judgments(query, lost if len(lost) == n_lost else unresolved_ids(n_lost))


def unresolved_ids(n: int) -> list[str]:
    """Return ids for names of the ground truth of which it is not known which they are."""
    return [f"name:unresolved-{i}" for i in range(1, n + 1)]


def _take_evaluation(imported: ImportedCollection, query: str, evaluation: Mapping[str, Any]) -> None:
    for variant, found in evaluation.items():
        positions = (found or {}).get("positionMetrics") or {}
        for keys, values in ((_RECORDED, found or {}), (_POSITIONS, positions)):
            stated = {key: values[key] for key in keys if key in values}
            imported.add_scores(variant, query, stated, lower_is_better=_LOWER_IS_BETTER)
