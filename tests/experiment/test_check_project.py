"""Targets of a project, checked on the runs that it wrote."""

from __future__ import annotations

import gzip
import json
import sys
from datetime import date
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.errors import InputError, OptionError
from rankscope.experiment.keep import keep_benchmark
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import run_project

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

# every query gets the same list; the relevant doc of query qI is dI
FIXED = """
def fixed(query):
    return [("d1", 3.0), ("d2", 2.0), ("d0", 1.0)]

def turned(query):
    return [("d0", 3.0), ("d2", 2.0), ("d1", 1.0)]
"""
TARGETS = """
[[targets]]
query = "q0"
doc = "d0"
top = 1

[[targets]]
name = "floor"
measure = "RR"
at_least = 0.4
stratum = {difficulty = "hard"}
only = "turned"
"""


@pytest.fixture
def project(tmp_path):
    """Return a project of four queries and two systems, which was run."""
    small = small_project(tmp_path, n_queries=4)
    small.add(FIXED)
    small.write(TARGETS + systems("fixed", "turned"))
    run_project(tmp_path)
    return small


def write(small, tables, **keys):
    small.write(tables + systems("fixed", "turned"), **keys)


def outcomes(report):
    return {(result.target, result.run): result.outcome for result in report.results}


def test_the_tables_of_the_project_file_are_checked_on_its_runs(project):
    report = rs.check_project(project.folder)
    assert outcomes(report) == {
        ("q0: d0 in the top 1", "fixed"): "failed",
        ("q0: d0 in the top 1", "turned"): "passed",
        # of the hard queries q0 and q2: 1 and 1/2
        ("floor", "turned"): "passed",
    }
    floor = report.results[2]
    assert (floor.value, floor.collection) == (0.75, "small")
    assert report.results[0].query_text == "text 0"
    assert report.results[0].words == "text 0 of the docs (d0) is at rank 3, but must be in the top 1"


def test_the_means_are_those_of_the_run(project):
    write(project, TARGETS, measures=["AP", "P@2"])
    benchmark = run_project(project.folder)
    report = rs.check_project(project.folder)
    found = {(mean.run, mean.measure): mean.value for mean in report.means}
    scores = benchmark.collections[0].scores
    assert {(run, measure): mean.value for run in scores for measure, mean in scores[run].mean().items()}.items() <= (
        found.items()
    )
    assert ("turned", "RR") in found  # which a target asks for


def test_targets_may_stand_in_a_file_of_their_own(project):
    (project.folder / "expected.toml").write_text(TARGETS)
    write(project, "", targets="expected.toml")
    assert outcomes(rs.check_project(project.folder))["floor", "turned"] == "passed"
    (project.folder / "other.yaml").write_text("- {query: q1, never: d2}\n")
    report = rs.check_project(project.folder, targets=project.folder / "other.yaml")
    assert [result.outcome for result in report.results] == ["failed", "failed"]


def test_pyproject_toml_has_targets_too(project):
    text = (project.folder / "rankscope.toml").read_text()
    (project.folder / "rankscope.toml").unlink()
    text = text.replace("[[targets]]", "[[tool.rankscope.targets]]")
    text = text.replace("[systems.", "[tool.rankscope.systems.").replace(
        "[collections.", "[tool.rankscope.collections."
    )
    file = project.folder / "pyproject.toml"
    file.write_text(text)
    assert not rs.check_project(project.folder).passed
    file.write_text(text.replace("top = 1", "topp = 1"))
    with pytest.raises(OptionError, match=r"pyproject.toml:\d+: target number 1: unknown key 'topp'"):
        rs.check_project(project.folder)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (TARGETS.replace("top = 1", "topp = 1"), "rankscope.toml:8: target number 1: unknown key 'topp'"),
        (TARGETS.replace("top = 1", ""), "rankscope.toml:5: target number 1 has doc, but no top"),
        (TARGETS.replace('"turned"', '"turnd"'), "has no system 'turnd'"),
        (TARGETS.replace("top = 1", 'top = 1\ncollection = "big"'), "has no collection 'big'"),
        (TARGETS.replace('"q0"', '"q9"'), "query 'q9' is neither"),
        (TARGETS.replace('"d0"', '"d99"'), "doc 'd99' is not among the docs"),
        (TARGETS.replace("hard", "soft"), "no query has difficulty = soft"),
        ("", "rankscope.toml has no targets"),
    ],
)
def test_what_is_wrong_with_targets_of_a_project_is_said(project, targets, message):
    write(project, targets)
    with pytest.raises((InputError, OptionError)) as caught:
        rs.check_project(project.folder)
    assert message in caught.value.message


def test_targets_that_are_no_tables_and_no_path_are_refused(project):
    write(project, "", targets=3)
    with pytest.raises(OptionError, match="targets is 3, but should be the path of a target file"):
        rs.check_project(project.folder)


def test_only_chooses_systems_and_targets_about_others_are_left_out(project):
    report = rs.check_project(project.folder, only=["fixed"])
    assert outcomes(report) == {("q0: d0 in the top 1", "fixed"): "failed"}
    assert report.notes[-1] == "1 target is about other systems or collections, and not checked here"
    assert [target.name for target in report.targets] == ["q0: d0 in the top 1"]
    with pytest.raises(OptionError, match="no system 'fixd'"):
        rs.check_project(project.folder, only=["fixd"])
    with pytest.raises(OptionError, match="no collection 'smal'"):
        rs.check_project(project.folder, collections=["smal"])


def test_a_system_without_a_run_is_not_passed_over(project):
    write(project, TARGETS + systems("other"))
    with pytest.raises(InputError, match="there is no run of other on small") as caught:
        rs.check_project(project.folder)
    assert "rankscope run" in caught.value.hint


def test_each_collection_is_checked(project):
    second = '[collections.second]\npath = "small"\n'
    write(project, TARGETS + second)
    run_project(project.folder)
    report = rs.check_project(project.folder)
    assert [(result.collection, result.run) for result in report.results if result.target == "floor"] == [
        ("small", "turned"),
        ("second", "turned"),
    ]
    assert report.counts.total == len(report.results) == 6
    assert {mean.collection for mean in report.means} == {"small", "second"}
    write(project, TARGETS.replace("top = 1", 'top = 1\ncollection = "second"') + second)
    report = rs.check_project(project.folder)
    first = [result.collection for result in report.results if result.target.startswith("q0")]
    assert first == ["second", "second"]
    assert not rs.check_project(project.folder, collections=["second"]).notes[1:]


def test_the_newest_run_counts_also_where_queries_failed(project):
    """A run with failed queries does not replace one without, but it is what the system does now."""
    assert rs.check_project(project.folder, only=["turned"]).passed
    folder = project.folder / "results" / "runs" / "small"
    whole = folder / "turned.trec.gz"
    lines = gzip.decompress(whole.read_bytes()).decode().splitlines(keepends=True)
    newer = folder / "turned.incomplete.trec.gz"
    newer.write_bytes(gzip.compress("".join(line for line in lines if not line.startswith("q0 ")).encode()))
    report = rs.check_project(project.folder, only=["turned"])
    assert report.results[0].words == "turned does not answer the query, so nothing can be shown"


def test_a_damaged_run_is_refused(project):
    run = project.folder / "results" / "runs" / "small" / "fixed.trec.gz"
    run.write_bytes(run.read_bytes()[:-4])
    with pytest.raises(InputError):
        rs.check_project(project.folder)


def test_options_that_have_changed_since_the_run_are_noted(project):
    assert not any("other options" in note for note in rs.check_project(project.folder).notes)
    file = project.folder / "rankscope.toml"
    file.write_text(file.read_text().replace(":turned", ":fixed"))
    (note,) = [note for note in rs.check_project(project.folder).notes if "other options" in note]
    assert note.startswith("turned has other options now than when its run was made")
    (project.folder / "results" / "manifest.json").write_text("{")
    rs.check_project(project.folder)  # says nothing of it, and goes on


def test_fields_of_docs_come_from_the_collection(project):
    corpus = project.folder / "small" / "corpus.jsonl"
    docs = [json.loads(line) for line in corpus.read_text().splitlines()]
    for i, doc in enumerate(docs):
        doc["metadata"] = {"source": "even" if i % 2 == 0 else "odd"}
        if i == 7:
            doc["rare"] = 1
    corpus.write_text("".join(json.dumps(doc) + "\n" for doc in docs))

    def check(field, n):
        return rs.check_project(project.folder, targets={"distinct": n, "field": field, "top": 3}).results[0]

    assert check("metadata.source", 2).outcome == "passed"
    failed = check("metadata.source", 3)
    assert failed.words == "4 of 4 queries fail"
    assert check("rare", 1).outcome == "failed"  # no doc of the lists has it
    with pytest.raises(InputError, match="no field 'sauce'"):
        check("sauce", 1)


def test_queries_without_judgments_count_where_the_project_says_so(project):
    queries = project.folder / "small" / "queries.jsonl"
    queries.write_text(queries.read_text() + '{"_id": "q9", "text": "new"}\n')
    target = {"name": "floor", "measure": "RR", "at_least": 0.0}
    for keys, expected in (({}, (1 / 3 + 1 + 1 / 2 + 0) / 4), ({"unjudged_queries": "zero"}, (1 / 3 + 1 + 1 / 2) / 5)):
        write(project, "", **keys)
        run_project(project.folder)
        (result, _) = rs.check_project(project.folder, targets=target).results
        assert result.value == pytest.approx(expected)


def test_a_measure_without_its_data_is_left_out_unless_a_target_needs_it(project):
    write(project, TARGETS, measures=["AP"])
    report = rs.check_project(project.folder, measures=["AP", "ILD@3"])
    assert report.notes[0] == "ILD@3 is left out: small has no embeddings = FILE of its own"
    with pytest.raises(OptionError, match="a target is about ILD@3, which needs embeddings"):
        rs.check_project(project.folder, targets={"measure": "ILD@3", "at_least": 0.1})


def test_a_quarantine_in_the_project_file_is_a_date(project):
    write(project, TARGETS.replace("top = 1", "top = 1\nquarantine_until = 2026-12-31"))
    assert rs.check_project(project.folder, today=date(2026, 12, 31)).passed
    assert not rs.check_project(project.folder, today=date(2027, 1, 1)).passed
    run_project(project.folder)  # whose records hold what the file says


class TestKept:
    """Results are kept in a store, beside the runs that they are about."""

    @pytest.fixture
    def store(self, project):
        with rs.open_store(project.folder, create=True) as store:
            keep_benchmark(store, load_project(project.folder), run_project(project.folder))
            yield store

    def test_they_are_read_back_equal_with_the_stored_run(self, project, store):
        report = rs.check_project(project.folder, store=store)
        kept = store.targets.list()
        assert tuple(one.result for one in kept) == report.results
        assert [one.target.name for one in kept] == [one.target for one in report.results]
        number = {run.system: run.number for run in store.runs.list()}
        assert [one.run for one in kept] == [number["fixed"], number["turned"], number["turned"]]
        assert {one.checked_on for one in kept} == {report.checked_on}
        assert [one.result.outcome for one in store.targets.list(name="floor")] == ["passed"]
        assert len(store.targets.list(run=number["fixed"])) == 1

    def test_what_has_not_changed_is_not_kept_twice_and_nothing_is_overwritten(self, project, store):
        for day in (date(2026, 11, 16), date(2026, 11, 17)):
            rs.check_project(project.folder, store=store, today=day)
        assert len(store.targets.list()) == 3
        write(project, TARGETS.replace("at_least = 0.4", "at_least = 0.9"))
        rs.check_project(project.folder, store=store)
        floors = store.targets.list(name="floor")
        assert [(one.target.at_least, one.result.outcome) for one in floors] == [(0.4, "passed"), (0.9, "failed")]
        assert store.targets.list(last=1) == floors[-1:]

    def test_a_run_that_is_not_stored_has_no_number(self, project, tmp_path):
        with rs.open_store(tmp_path / "empty.db", create=True) as store:
            rs.check_project(project.folder, store=store)
            assert [one.run for one in store.targets.list()] == [None, None, None]

    def test_where_the_folder_has_no_run_the_newest_of_the_store_is_checked(self, project, store):
        before = rs.check_project(project.folder)
        for path in (project.folder / "results" / "runs" / "small").iterdir():
            path.unlink()
        with pytest.raises(InputError, match="there is no run of fixed on small in "):
            rs.check_project(project.folder)
        report = rs.check_project(project.folder, store=store)
        assert report.results == before.results
        number = store.runs.find("fixed", collection="small").number
        assert f"fixed is run {number} of the store, as the output folder has no run of it" in report.notes
        assert store.targets.list(name="q0: d0 in the top 1")[0].run == number
