"""The test-case file of HPO retrieval: its JSON schema, and the same checks by hand, with words for a reader."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rankscope.errors import FormatError, did_you_mean
from rankscope.predecessors.importers.content import shown
from rankscope.records import Record

DIFFICULTIES = ("easy", "medium", "hard")
CATEGORIES = ("exact_match", "synonym", "abbreviation", "layperson", "complex")
METADATA_TEXTS = ("dataset_id", "version", "language", "description")
CASE_TEXTS = ("case_id", "text", "description", "language", "hpo_domain")
CASE_KEYS = (*CASE_TEXTS, "expected_hpo_ids", "hpo_ids", "difficulty", "category")
HPO_ID = r"^HP:\d{7}$"
ISO_639_1 = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es et
eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk
kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny
oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk
tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
LANGUAGE_CODES = frozenset(ISO_639_1.split())
LANGUAGE = rf"^({'|'.join(sorted(LANGUAGE_CODES))})(-[A-Za-z0-9]+)*$"
"""A code of ISO 639-1, with or without a region: de, pt-BR."""
LANGUAGES = {
    "de": ("german", "deutsch"),
    "en": ("english", "englisch"),
    "fr": ("french", "français", "franzoesisch", "französisch"),
    "es": ("spanish", "español", "spanisch"),
    "nl": ("dutch", "nederlands", "niederlaendisch", "niederländisch"),
}
"""Folder names that stand for a language."""
_TEXT: dict[str, str] = {"type": "string"}


class Problem(Record):
    """One thing that is wrong with a test-case file, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def test_case_schema() -> dict[str, Any]:
    """Return the JSON schema of the test-case file: a list of cases, or an object with metadata and cases."""
    ids = {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": HPO_ID}}
    case = {
        "type": "object",
        "required": ["text"],
        "anyOf": [{"required": ["expected_hpo_ids"]}, {"required": ["hpo_ids"]}],
        "properties": {
            "case_id": {**_TEXT, "minLength": 1, "description": "its place in the list, from 0, where it has none"},
            "text": {**_TEXT, "pattern": r"\S", "description": "what is searched for"},
            "description": _TEXT,
            "language": {**_TEXT, "pattern": LANGUAGE, "description": "overrides the language of the file"},
            "expected_hpo_ids": {**ids, "description": "at least one: a case without any cannot be evaluated"},
            "hpo_ids": {**ids, "description": "another name of expected_hpo_ids"},
            "difficulty": {"enum": list(DIFFICULTIES)},
            "category": {"enum": list(CATEGORIES), "description": "which kind of match is needed"},
            "hpo_domain": {**_TEXT, "description": "a branch of HPO, e.g. Abnormality of the nervous system"},
        },
    }
    cases = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/case"}}
    metadata = {
        "type": "object",
        "properties": {
            name: {**_TEXT, **({"pattern": LANGUAGE} if name == "language" else {})} for name in METADATA_TEXTS
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Test cases of HPO retrieval",
        "oneOf": [
            cases,
            {"type": "object", "required": ["test_cases"], "properties": {"metadata": metadata, "test_cases": cases}},
        ],
        "$defs": {"case": case},
    }


def unknown_keys(cases: list[Mapping[str, Any]]) -> list[str]:
    """Return notes on keys that the schema does not know: they are kept as attributes, but may be typos."""
    counts = Counter(key for case in cases for key in case if key not in CASE_KEYS)
    hints = {key: did_you_mean(key, CASE_KEYS) for key in counts}
    return [
        f"{n} cases have the field {key!r}, which the schema does not know" + (f" ({hints[key]})" if hints[key] else "")
        for key, n in counts.items()
    ]


def valid_cases(content: Any, where: str) -> list[Any]:
    """Return the cases, or raise with the first few problems where there are any.

    A case that expects no id is no reason to refuse the others: the import makes a note.
    """
    problems = problems_of(content, allow_no_ids=True)
    if problems:
        listed = [f"  {problem}" for problem in problems[:5]]
        if len(problems) > 5:
            listed.append(f"  … and {len(problems) - 5} more")
        raise FormatError(
            f"{where} is not a valid test-case file:\n" + "\n".join(listed),
            hint='a case is {"text": "Krampfanfälle", "expected_hpo_ids": ["HP:0001250"]}',
        )
    return list(content["test_cases"] if isinstance(content, Mapping) else content)


def problems_of(content: Any, *, allow_no_ids: bool = False) -> list[Problem]:
    """Return everything that the schema would object to, in words; with `allow_no_ids`, but for cases without ids."""
    problems: list[Problem] = []
    cases, where = content, "the file"
    if isinstance(content, Mapping):
        problems += _text_problems(content.get("metadata", {}), METADATA_TEXTS, "metadata")
        if "test_cases" not in content:
            return [*problems, Problem("the file", "it has no test_cases")]
        cases, where = content["test_cases"], "test_cases"
    if not isinstance(cases, list):
        return [*problems, Problem(where, f"{shown(cases)} is not a list")]
    if not cases:
        return [*problems, Problem("test_cases", "there is not a single one")]
    for i, case in enumerate(cases):
        problems += _case_problems(case, f"test_cases[{i}]", allow_no_ids=allow_no_ids)
    first: dict[str, int] = {}
    for i, case in enumerate(cases):
        name = case.get("case_id") if isinstance(case, Mapping) else None
        if isinstance(name, str) and first.setdefault(name, i) != i:
            repeated = f"{shown(name)} is also that of test_cases[{first[name]}]"
            problems.append(Problem(f"test_cases[{i}].case_id", repeated))
    return problems


def _case_problems(case: Any, where: str, *, allow_no_ids: bool) -> Iterator[Problem]:
    if not isinstance(case, Mapping):
        yield Problem(where, f"{shown(case)} is not an object")
        return
    if "text" not in case:
        yield Problem(where, "it has no text")
    elif isinstance(case["text"], str) and not case["text"].strip():
        yield Problem(f"{where}.text", "it is empty")
    if case.get("case_id") == "":
        yield Problem(f"{where}.case_id", "it is empty")
    yield from _text_problems(case, CASE_TEXTS, where)
    yield from _id_problems(case, where, allow_no_ids=allow_no_ids)
    for name, choices in (("difficulty", DIFFICULTIES), ("category", CATEGORIES)):
        if name in case and case[name] not in choices:
            yield Problem(f"{where}.{name}", f"{shown(case[name])} is not one of {', '.join(choices)}")


def _id_problems(case: Mapping[str, Any], where: str, *, allow_no_ids: bool) -> Iterator[Problem]:
    given = [name for name in ("expected_hpo_ids", "hpo_ids") if name in case]
    if not given:
        yield Problem(where, "it has no expected_hpo_ids")
    for name in given:
        if not isinstance(case[name], list):
            yield Problem(f"{where}.{name}", f"{shown(case[name])} is not a list")
            continue
        if not case[name] and not allow_no_ids:
            yield Problem(f"{where}.{name}", "it expects no id, so that nothing could be found")
        for i, found in enumerate(case[name]):
            if not isinstance(found, str) or not re.fullmatch(HPO_ID, found):
                yield Problem(f"{where}.{name}[{i}]", f"{shown(found)} is not an HPO id: HP: and seven digits")


def _text_problems(record: Any, names: tuple[str, ...], where: str) -> Iterator[Problem]:
    """Yield what is not a text, and a language that is not a code."""
    if not isinstance(record, Mapping):
        yield Problem(where, f"{shown(record)} is not an object")
        return
    for name in names:
        if name in record and not isinstance(record[name], str):
            yield Problem(f"{where}.{name}", f"{shown(record[name])} is not a text")
    language = record.get("language")
    if isinstance(language, str) and not re.search(LANGUAGE, language):
        code = language_of_word(language)
        wanted = f"write {code}" if code else "write a code of ISO 639-1, such as de, en or fr"
        yield Problem(f"{where}.language", f"{shown(language)} is not a language code: {wanted}")


def language_of_word(word: str) -> str | None:
    """Return the code that a word stands for: a code itself, or the name of a language."""
    lowered = word.lower()
    return next((code for code, names in LANGUAGES.items() if lowered == code or lowered in names), None)
