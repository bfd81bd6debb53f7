"""JUnit XML, checked against the rules of the schema that Jenkins uses (junit-10.xsd of its xUnit plugin)."""

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from rankscope.report.render.junit import JUnitCase, to_junit

ALLOWED = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {
        "name",
        "tests",
        "failures",
        "errors",
        "group",
        "time",
        "skipped",
        "timestamp",
        "hostname",
        "id",
        "package",
        "file",
        "log",
        "url",
    },
    "testcase": {"name", "time", "classname", "group"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"error", "failure", "skipped", "system-out"},
}
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")

CASES = [
    JUnitCase("nDCG@10 >= 0.5", "gates.quality"),
    JUnitCase(
        "R@100",
        "gates.quality",
        failed='0.71 < 0.75 & "falling"\nsecond line',
        properties={"value": "0.71", "limit": "0.75"},
    ),
    JUnitCase("judged@10", "gates.trust", error="no qrels <here>"),
]


def check(text):
    root = ET.fromstring(text.encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
        assert REQUIRED.get(element.tag, set()) <= set(element.attrib)
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert TIME.fullmatch(element.get("time", "0"))
    return root


def test_cases_are_counted_and_told_apart():
    root = check(to_junit(CASES, suite="nightly"))
    suite = root.find("testsuite")
    assert suite.attrib == {
        "name": "nightly",
        "tests": "3",
        "failures": "1",
        "errors": "1",
        "skipped": "0",
        "time": "0.000",
    }
    passed, failed, unchecked = suite
    assert passed.attrib == {"classname": "gates.quality", "name": "nDCG@10 >= 0.5", "time": "0.000"}
    assert list(passed) == []
    assert failed.find("failure").get("message") == '0.71 < 0.75 & "falling"'  # the first line
    assert failed.find("failure").text == '0.71 < 0.75 & "falling"\nsecond line'
    assert failed.find("system-out").text == "value: 0.71\nlimit: 0.75"
    assert unchecked.find("error").get("message") == "no qrels <here>"


def test_what_does_not_count_is_skipped():
    cases = [JUnitCase("a", "b", skipped="in quarantine"), JUnitCase("c", "b", failed="x", skipped="y")]
    suite = check(to_junit(cases, suite="s")).find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["2", "1", "1"]
    skipped, failed = suite
    assert skipped.find("skipped").get("message") == "in quarantine"
    assert [part.tag for part in failed] == ["failure"]


def test_no_cases_are_a_suite_too():
    assert check(to_junit([], suite="none")).find("testsuite").get("tests") == "0"


def test_a_case_that_could_not_be_checked_is_not_counted_as_failed():
    suite = check(to_junit([JUnitCase("a", "b", failed="x", error="y")], suite="s")).find("testsuite")
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


@given(st.text(), st.none() | st.text(), st.none() | st.text(), st.dictionaries(st.text(), st.text(), max_size=2))
def test_any_text_is_valid_xml(name, failed, error, properties):
    root = check(to_junit([JUnitCase(name, name, failed=failed, error=error, properties=properties)], suite=name))
    assert len(list(root.iter("testcase"))) == 1
