"""Checks of the doctor search's test-case file, with words for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rankscope.predecessors.importers.content import shown
from rankscope.predecessors.importers.hpo_schema import Problem


def problems_of_doctor_cases(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield everything that keeps a case from being imported, run or scored."""
    cases = content.get("testCases")
    if not isinstance(cases, list):
        yield Problem("testCases", f"{shown(cases)} is not a list")
        return
    if not cases:
        yield Problem("testCases", "there is not a single one")
    first: dict[str, int] = {}
    for i, case in enumerate(cases):
        where = f"testCases[{i}]"
        if not isinstance(case, Mapping):
            yield Problem(where, f"{shown(case)} is not an object")
            continue
        name = case.get("id")
        if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
            yield Problem(where, "it has no id")
        elif first.setdefault(str(name), i) != i:
            yield Problem(f"{where}.id", f"{shown(name)} is also that of testCases[{first[str(name)]}]")
        if not isinstance(case.get("userQuery"), str) or not case["userQuery"].strip():
            yield Problem(where, "it has no userQuery")
        yield from _truth_problems(case.get("groundTruth"), f"{where}.groundTruth")
        yield from _conversation_problems(case.get("conversation"), f"{where}.conversation")


def _truth_problems(names: Any, where: str) -> Iterator[Problem]:
    if names is None or names == []:
        yield Problem(where, "it names nobody, so that the case cannot be scored")
    elif not isinstance(names, list):
        yield Problem(where, f"{shown(names)} is not a list")
    else:
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name.strip():
                yield Problem(f"{where}[{i}]", f"{shown(name)} is not a name")


def _conversation_problems(turns: Any, where: str) -> Iterator[Problem]:
    if turns is not None and not isinstance(turns, list):
        yield Problem(where, f"{shown(turns)} is not a list")
        return
    for i, turn in enumerate(turns or []):
        if not isinstance(turn, Mapping) or not all(isinstance(turn.get(key), str) for key in ("role", "content")):
            yield Problem(f"{where}[{i}]", f"{shown(turn)} has not a role and a content")
