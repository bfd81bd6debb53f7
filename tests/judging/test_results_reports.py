"""What came of a task as reports and commands: every format, hostile names, small numbers."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from rankscope.cli.main import main
from rankscope.judging.agreement import AgreementReport, agreement_of
from rankscope.judging.flags import Look, looks_by_value, tells_nothing, value_flags
from rankscope.judging.opinion_records import OpinionReport
from rankscope.judging.opinions import opinions_of
from rankscope.records import replace
from rankscope.report.agreement import agreement_report
from rankscope.report.document import Bullets, Estimate, Estimates
from rankscope.report.opinions import drawn, left_out_blocks, opinions_report, preferences_table
from rankscope.report.render import render
from rankscope.store import StoredDoc
from small_task import small_task

GRADES = {"d0": 3, "d1": 1, "d2": 0, "d3": 0}
SCHEMAS = Path(__file__).parents[2] / "docs" / "generated" / "schema"
SCRIPT = "<script>alert(1)</script>"


def fill(made, *, raters=("ada", "bo")):
    for name in raters:
        for i, query in enumerate(made.queries):
            for doc, grade in GRADES.items():
                differs = name != "ada" and i % 4 == 0
                made.say(
                    name, query, doc, grade=3.0 - grade if differs else float(grade), note=SCRIPT if differs else ""
                )
            made.say(name, query, "d0" if i % 5 else "d3", choice=True)
            made.prefer(name, query, "old", "new", 1 if i % 3 else -2)
        made.say(name, "q01", "d3", grade=0.0, flag=True, note=f"wrong \x1b[31mcity {SCRIPT}")


@pytest.mark.parametrize("form", ["html", "markdown", "latex"])
def test_reports_in_every_form_are_free_of_what_raters_wrote(tmp_path, form):
    with small_task(tmp_path) as made:
        fill(made, raters=("ada", SCRIPT))
        reports = (
            agreement_report(agreement_of(made.store, made.task)),
            opinions_report(opinions_of(made.store, made.task)),
        )
    for report in reports:
        text = render(report, form)
        assert SCRIPT not in text
        assert "\x1b" not in text


@pytest.fixture
def small_store(tmp_path, monkeypatch):
    with small_task(tmp_path) as made:
        fill(made)
    monkeypatch.setenv("RANKSCOPE_STORE", str(tmp_path / "store.db"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("small_store")
def test_agreement_on_the_command_line(capsys):
    assert main(["judge", "agreement", "hearts", "--format", "json"]) == 0
    found = AgreementReport.from_json(capsys.readouterr().out)
    assert main(["judge", "agreement", "hearts"]) == 0
    text = capsys.readouterr().out
    assert found.headline.split(".")[0] in " ".join(text.split())
    assert f"{found.same.n} of {found.same.of}" in text
    # three of twelve queries are graded the other way round by bo: 3 for 0 and 0 for 3, 2 for 1
    assert (found.same.n, found.same.of, found.apart.n) == (36, 48, 9)


@pytest.mark.usefixtures("small_store")
def test_agreement_by_another_measure(capsys):
    assert main(["judge", "agreement", "hearts", "-m", "RR@4", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"]["pairs"][0]["measure"] == "RR@4"


@pytest.mark.usefixtures("small_store")
def test_flags_on_the_command_line(capsys, tmp_path):
    assert main(["judge", "flags", "hearts", "--format", "json"]) == 0
    found = OpinionReport.from_json(capsys.readouterr().out)
    assert (found.flags.share.n, found.choices.n, found.preferences.n) == (2, 24, 24)
    assert main(["judge", "flags", "hearts", "-o", str(tmp_path / "flags.html")]) == 0
    page = (tmp_path / "flags.html").read_text()
    assert "win rate" in page
    assert SCRIPT not in page


@pytest.mark.usefixtures("small_store")
def test_an_unknown_task_is_said(capsys):
    assert main(["judge", "agreement", "herts"]) == 2
    assert "hearts" in capsys.readouterr().err


@pytest.mark.parametrize("n_queries", [1, 2, 12])
@pytest.mark.parametrize("raters", [(), ("ada",), ("ada", "bo"), ("ada", "bo", "cy")])
def test_small_numbers_are_words_in_every_report(tmp_path, n_queries, raters):
    with small_task(tmp_path, n_queries=n_queries) as made:
        for name in raters:
            made.grade(name, GRADES)
        if raters:
            made.say("ada", "q00", "d0", choice=True)
        for report in (
            agreement_report(agreement_of(made.store, made.task)),
            opinions_report(opinions_of(made.store, made.task)),
        ):
            text = render(report, "markdown")
            assert "nan" not in text.lower().replace("nano", "")
            assert "None" not in text


@pytest.mark.usefixtures("small_store")
@pytest.mark.parametrize(
    ("action", "schema"), [("agreement", "judge-agreement"), ("flags", "judge-flags"), ("show", "judge-show")]
)
def test_the_json_follows_its_published_schema(capsys, action, schema):
    assert main(["judge", action, "hearts", "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    published = json.loads((SCHEMAS / f"{schema}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(published)
    jsonschema.validate(record, published)
    for change in ({"more": 1}, {"task": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**record, **change}, published)


def test_the_first_of_many_queries_on_which_raters_differ_are_named_as_such(tmp_path):
    with small_task(tmp_path, n_queries=12) as made:
        made.grade("ada", GRADES)
        made.grade("bo", lambda query, doc: 3 - GRADES[doc] if query != "q11" else GRADES[doc])
        found = agreement_of(made.store, made.task)
    assert (found.n_differ_queries, len(found.hardest_queries)) == (11, 10)
    text = render(agreement_report(found), "markdown")
    assert "The first 10 of 11 queries on which raters differ." in text
    assert "marked: the same grade from both" in text


def test_intervals_under_each_rater_are_named_as_in_the_verdict(tmp_path):
    lists = {"old": ("d3", "d2", "d1", "d0"), "mid": ("d1", "d0", "d2", "d3"), "new": ("d0", "d1", "d2", "d3")}
    for folder, systems in (("two", ("old", "new")), ("three", ("old", "mid", "new"))):
        with small_task(tmp_path / folder, lists={name: lists[name] for name in systems}) as made:
            for name in ("ada", "bo"):
                made.grade(name, lambda query, doc: GRADES[doc] if query > "q02" else 3 - GRADES[doc])
            report = agreement_report(agreement_of(made.store, made.task))
        words = [
            each.words for block in report.first_screen if isinstance(block, Estimates) for each in block.estimates
        ]
        together = folder == "three"
        assert words
        assert all(("simultaneous 95% CI" in each) == together for each in words if " CI " in each)
        reasons = [report.first_screen[0].reason]
        reasons += [item for block in report.first_screen if isinstance(block, Bullets) for item in block.items]
        assert any(" CI " in reason for reason in reasons)
        assert any("simultaneous 95% CI" in reason for reason in reasons) == together


def test_agreement_on_lists_says_where_to_look(tmp_path):
    with small_task(tmp_path, mode="lists") as made:
        nothing = agreement_of(made.store, made.task)
        made.prefer("ada", "q00", "old", "new", 1)
        found = agreement_of(made.store, made.task)
    where = "Which list is preferred is told by `rankscope judge flags 1`, or the page Flags, choices and preferences."
    graded = "Lists are compared in this task, not graded."
    assert nothing.headline == f"{graded} Nobody has compared lists yet. {where}"
    assert found.headline == f"{graded} No two lists were compared by two raters. {where}"


def test_agreement_on_lists_on_the_command_line(tmp_path, monkeypatch, capsys):
    """Two raters of twelve queries: of three, every fourth, they name different lists."""
    with small_task(tmp_path, mode="lists") as made:
        for name in ("ada", "bo"):
            for i, query in enumerate(made.queries):
                made.prefer(name, query, "old", "new", 1 if name == "ada" or i % 4 else -1)
    monkeypatch.setenv("RANKSCOPE_STORE", str(tmp_path / "store.db"))
    assert main(["judge", "agreement", "hearts", "--details"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "hearts · 2 raters · 24 preferences · 12 queries" in text
    assert "Lists are compared in this task, not graded." in text
    assert "Raters gave the same answer in 9 of 12 comparisons that two of them made or more." in text
    assert "rankscope judge flags 1" in text
    assert "ada bo 9 of 12 75%" in text
    for word in ("Nothing is graded", "Alpha", "0 raters", "0 grades", "the rule"):
        assert word not in text, word
    assert main(["judge", "agreement", "hearts", "--format", "json"]) == 0
    published = json.loads((SCHEMAS / "judge-agreement.schema.json").read_text())
    jsonschema.validate(json.loads(capsys.readouterr().out), published)


def test_without_any_interval_there_are_words_and_no_empty_chart():
    bare, whole = (Estimate("new against old", 25.0, *ends, "+25 points") for ends in ((None, None), (-5.0, 55.0)))
    assert list(drawn("Flags", (bare, whole))) == [Estimates("Flags", (bare, whole))]
    words = Bullets("Flags (too few queries for an interval)", ("new against old: +25 points",))
    assert list(drawn("Flags", (bare,))) == [words]
    assert list(drawn("Flags", (replace(bare, value=None),))) == []


def test_an_attribute_whose_values_name_one_doc_each_has_no_table(tmp_path):
    """By hand: of ten docs, each has a year of its own and one of two kinds."""
    with small_task(tmp_path) as made:
        fill(made)
        flags = opinions_of(made.store, made.task).flags
    docs = {f"d{i}": StoredDoc(fields={"year": 1990 + i, "kind": "ab"[i % 2]}) for i in range(10)}
    looks = [Look("ada", "q01", doc, doc == "d1", "") for doc in docs]
    values = looks_by_value(looks, {}, docs)
    assert [name for (of, name), some in values.items() if tells_nothing(of, some)] == ["year"]
    assert {(each.name, each.value) for each in value_flags(values)} == {("kind", "a"), ("kind", "b")}
    (said,) = left_out_blocks(replace(flags, values_left_out=("year of the doc",)))
    assert said.text.endswith("or there are too many: year of the doc.")
    assert list(left_out_blocks(flags)) == []


def test_a_phone_has_both_names_of_a_preference_and_both_clear_answers(tmp_path):
    with small_task(tmp_path) as made:
        fill(made)
        table = preferences_table(opinions_of(made.store, made.task).preferences)
    shown = [table.header[0], *table.keep]
    assert shown == ["A", "B", "A clearly", "B clearly"]
    assert set(shown) <= set(table.header)
