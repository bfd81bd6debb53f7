"""Test cases as JUnit XML, as Jenkins, GitHub and GitLab read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rankscope.records import Record
from rankscope.report.render.texts import clean


class JUnitCase(Record):
    """One check, e.g. a gate on a measure: its name, the group it belongs to, and how it went."""

    name: str
    classname: str
    failed: str | None = None
    """Why it failed; None where it did not."""
    time_s: float = 0.0
    skipped: str | None = None
    """Why it was not checked; None where it was."""
    error: str | None = None
    """Why it could not be checked, which is no less bad than failing; None where it could."""
    message: str | None = None
    """What has to be known though it passed."""
    properties: Mapping[str, str] = {}
    """What else is known, printed as the case's output: the schema of Jenkins has no other place for it."""


def to_junit(cases: Iterable[JUnitCase], *, suite: str = "rankscope") -> str:
    listed = list(cases)
    n_errors = sum(case.error is not None for case in listed)
    n_failed = sum(case.failed is not None and case.error is None for case in listed)
    n_skipped = sum(case.skipped is not None and case.failed is None and case.error is None for case in listed)
    counts = {"tests": str(len(listed)), "failures": str(n_failed), "errors": str(n_errors)}
    attributes = {"name": clean(suite), **counts, "time": f"{sum(case.time_s for case in listed):.3f}"}
    root = Element("testsuites", attributes)
    element = SubElement(root, "testsuite", {**attributes, "skipped": str(n_skipped)})
    for case in listed:
        add_case(element, case)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def add_case(suite: Element, case: JUnitCase) -> None:
    names = {"classname": clean(case.classname), "name": clean(case.name)}
    element = SubElement(suite, "testcase", {**names, "time": f"{case.time_s:.3f}"})
    kind, problem = ("failure", case.failed) if case.error is None else ("error", case.error)
    if problem is not None:
        part = SubElement(element, kind, {"type": kind, "message": clean(problem)})
        part.text = "\n".join(map(clean, problem.splitlines()))
    elif case.skipped is not None:
        SubElement(element, "skipped", {"message": clean(case.skipped)})
    lines = [f"{clean(name)}: {clean(value)}" for name, value in case.properties.items()]
    if case.message is not None:
        lines.insert(0, clean(case.message))
    if lines:
        SubElement(element, "system-out").text = "\n".join(lines)
