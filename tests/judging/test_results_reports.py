"""What came of a task as reports and commands: every format, hostile names, small numbers."""

from __future__ import annotations

import json

import pytest

from rankscope.cli.main import main
from rankscope.judging.agreement import AgreementReport, agreement_of
from rankscope.judging.opinions import OpinionReport, opinions_of
from rankscope.report.agreement import agreement_report
from rankscope.report.opinions import opinions_report
from rankscope.report.render import render
from small_task import small_task

GRADES = {"d0": 3, "d1": 1, "d2": 0, "d3": 0}
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
