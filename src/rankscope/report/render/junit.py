"""Gates as test cases in JUnit XML, as Jenkins, GitHub and GitLab read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rankscope.errors import shorten
from rankscope.records import Record, or_nan
from rankscope.report.render.texts import clean

if TYPE_CHECKING:
    from rankscope.comparison.gate import GateResult
    from rankscope.comparison.records import QueryChange

LONGEST_LINE = 4000
NO_TIME = {"time": "0.000"}


class JUnitCase(Record):
    """One check, e.g. a gate on a measure: its name, the group it belongs to, and how it went."""

    name: str
    classname: str
    failed: str | None = None
    """Why it failed; None where it did not."""
    error: str | None = None
    """Why it could not be checked, which is no less bad than failing; None where it could."""
    message: str | None = None
    """What has to be known though it passed."""
    skipped: str | None = None
    """Why it does not count though it fails, such as a quarantine; None where it counts."""
    properties: Mapping[str, str] = {}
    """What else is known, printed as the case's output: the schema of Jenkins has no other place for it."""


def cases(result: GateResult, *, command: str = "compare") -> Iterator[JUnitCase]:
    """Yield one case per check: what the exit code says of all of them is said here of each."""
    for place, check in enumerate(result.checks):
        measure = "" if check.compared is None else f".{check.compared.measure}"
        is_open, fails = check.outcome == "inconclusive", result.fails(check)
        properties: dict[str, str] = {"gate": check.outcome}
        if pair := check.compared:
            properties |= {
                "verdict": pair.final_verdict.code,
                "delta": repr(or_nan(pair.delta)),
                "ci": "none" if pair.ci.low is None else f"{pair.ci.low!r} to {pair.ci.high!r}",
                "p_adjusted": repr(or_nan(pair.p.adjusted)),
                "n_queries": str(pair.n_queries),
                "n_left_out": str(pair.n_undefined),
            }
        if check.losses and check.outcome != "passed":
            changes = (f"{query_words(one)}: {one.a:.3f} to {one.b:.3f}" for one in check.losses)
            properties["got worse"] = "; ".join(changes)
        if place == 0 and result.notes:  # a suite has no place for them
            properties["to know"] = " ".join(result.notes)
        yield JUnitCase(
            name=check.name,
            classname=f"rankscope.{command}{measure}",
            failed=check.words if fails else None,
            error=check.words if check.outcome == "error" else None,
            message=check.words if is_open and not fails else None,
            properties=properties,
        )


def error_case(name: str, message: str, *, command: str = "compare", measure: str = "") -> JUnitCase:
    classname = f"rankscope.{command}" + (f".{measure}" if measure else "")
    return JUnitCase(name=name, classname=classname, error=message, properties={"gate": "error"})


def one_line(text: str) -> str:
    """Return a line of a case: cut, so that no text of a user fills the page of a build server."""
    return clean(shorten(text, limit=LONGEST_LINE))


def query_words(change: QueryChange) -> str:
    """Return what was asked, with the id of the query; both are cut."""
    query = shorten(change.query)
    return f"{shorten(change.text)} ({query})" if change.text else query


def to_junit(cases: Iterable[JUnitCase], *, suite: str = "rankscope") -> str:
    listed = list(cases)
    n_errors = sum(case.error is not None for case in listed)
    n_failed = sum(case.failed is not None and case.error is None for case in listed)
    n_skipped = sum(case.skipped is not None and case.error is None and case.failed is None for case in listed)
    counts = {"tests": str(len(listed)), "failures": str(n_failed), "errors": str(n_errors)}
    attributes = {"name": clean(suite), **counts, **NO_TIME}
    root = Element("testsuites", attributes)
    parent = SubElement(root, "testsuite", {**attributes, "skipped": str(n_skipped)})
    for case in listed:
        names = {"classname": one_line(case.classname), "name": one_line(case.name)}
        element = SubElement(parent, "testcase", {**names, **NO_TIME})
        kind, problem = ("failure", case.failed) if case.error is None else ("error", case.error)
        if problem is not None:
            part = SubElement(element, kind, {"type": kind, "message": one_line(problem.partition("\n")[0])})
            part.text = "\n".join(map(one_line, problem.splitlines()))
        elif case.skipped is not None:
            SubElement(element, "skipped", {"message": one_line(case.skipped)})
        lines = [] if case.message is None else [one_line(case.message)]
        lines += (f"{one_line(name)}: {one_line(value)}" for name, value in case.properties.items())
        if lines:
            SubElement(element, "system-out").text = "\n".join(lines)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'
