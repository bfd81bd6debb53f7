"""What a report says in one place agrees with what it says in another: failures, answers, reuse, times and counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli import main
from rankscope.experiment import retrieve
from rankscope.experiment.project import load_project
from rankscope.experiment.results import Benchmark
from rankscope.experiment.runner import run_project
from rankscope.report.benchmark import report_of
from rankscope.report.benchmark_json import run_schema
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project, systems

FUNCTIONS = '''
def none(query):
    raise ValueError("never")


def mixed(query):
    """Fail but for a ranking and an answer without docs."""
    if query.id == "q0":
        return []
    return docs_for(query.id) if query.id == "q1" else none(query)


def hollow(query):
    return docs_for(query.id) if query.id != "q0" else []


def nothing(query):
    return []


def many(query):
    """Answer three queries, and fail for nine reasons."""
    number = int(query.id[1:])
    if number < 3:
        return docs_for(query.id)
    raise ValueError("because of " + "abcdefghijkl"[number])


def but_one(query):
    return docs_for(query.id) if query.id != "q5" else none(query)


def texts(query):
    return [(f"a long text, number {i}", 1 - i / 7) for i in range(5)]


def unlike_rankings(queries):
    return [docs_for(query.id) if int(query.id[1:]) % 2 else 7 for query in queries]
'''


@pytest.fixture
def small(tmp_path):
    project = small_project(tmp_path, n_queries=12)
    project.add(FUNCTIONS)
    return project


def run(small: SmallProject, *names: str) -> Benchmark:
    small.write(systems(*names))
    return run_project(load_project(small.folder))


def words_of(benchmark: Benchmark, *, details: bool = False) -> str:
    return " ".join(render(report_of(benchmark, with_figures=False, every_pair=details), "text").split())


class TestThroughput:
    def test_without_an_answer_there_is_none(self, small):
        benchmark = run(small, "none", "one")
        none, one = benchmark.collections[0].systems
        assert (none.costs.queries_per_second, none.costs.latency_ms) == (None, None)
        assert one.costs.queries_per_second > 0
        record = json.loads(benchmark.to_json())["collections"][0]["systems"][0]["costs"]
        assert record["queries_per_second"] is None
        assert record["latency_ms"] is None

    def test_queries_that_failed_are_not_counted(self, small):
        small.write(systems("mixed"))
        ticks = iter(range(10_000))  # each call takes one second
        (mixed,) = run_project(load_project(small.folder), clock=lambda: float(next(ticks))).collections[0].systems
        assert mixed.costs.queries_per_second == pytest.approx(2 / 12)
        assert mixed.costs.latency_ms.n == 2

    def test_nor_are_those_of_a_batch_that_fails_and_is_asked_one_by_one(self, small, monkeypatch):
        monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
        monkeypatch.setattr(retrieve, "BATCH", 4)
        small.write(systems("unlike_rankings", also="batch = true\n"))
        ticks = iter(range(10_000))
        (system,) = run_project(load_project(small.folder), clock=lambda: float(next(ticks))).collections[0].systems
        assert system.n_answered == 6
        assert system.costs.queries_per_second == pytest.approx(6 / 12)


class TestAnswered:
    def test_failed_and_without_docs_are_told_apart(self, small):
        benchmark = run(small, "one", "mixed")
        words = words_of(benchmark)
        assert "mixed: 10 of 12 queries failed and count 0; 1 was answered with no docs" in words
        assert "Over the 2 that did not fail, nDCG@10 is" in words
        assert "mixed has no docs for 11 of 12 queries (10 failed, 1 answered with no docs)" in words
        assert "mixed does not answer 11 of 12" not in words
        assert "the comparison counts these 11 as not answered" in words

    @pytest.mark.parametrize("names", [("hollow",), ("one", "hollow")])
    def test_without_failures(self, small, names):
        words = words_of(run(small, *names))
        assert "hollow has no docs for 1 of 12 queries (answered with no docs)" in words
        assert "hollow does not answer 1 of 12" not in words

    def test_with_failures_alone(self, small):
        words = words_of(run(small, "one", "many"))
        assert "many: 9 of 12 queries failed and count 0. Over the 3 that did not fail, nDCG@10 is" in words
        assert "many has no docs for 9 of 12 queries (failed)" in words

    def test_no_docs_at_all(self, small):
        words = words_of(run(small, "one", "nothing", "none"))
        assert "left out of the comparison: 12 queries were answered with no docs." in words
        assert "none has retrieved nothing at all, and is left out of the comparison: 12 queries failed." in words


class TestReasons:
    def test_what_is_not_listed_is_counted(self, small):
        benchmark = run(small, "many")
        words = words_of(benchmark)
        assert words.count("many: 1 × ValueError: because of") == 5
        assert "many: and 4 more, for 4 other reasons; --details lists all." in words

    def test_reasons_that_are_alike_are_not_said_to_be_the_same(self, small):
        small.add("def numbered(query):\n    raise ValueError(f'number 1{query.id[1:]}')\n")
        assert "numbered: 12 × such as ValueError: number 10" in words_of(run(small, "numbered"))

    def test_details_list_all(self, small):
        words = words_of(run(small, "many"), details=True)
        assert words.count("many: 1 × ValueError: because of") == 9
        assert "more, for" not in words


class TestReuse:
    def test_it_is_a_part_of_all_queries(self, small):
        run(small, "many")
        again = run(small, "many")
        assert again.collections[0].systems[0].reused.n == 3
        assert "many: 3 of 12 queries' answers are from an earlier run of" in words_of(again)

    def test_one(self, tmp_path):
        small = small_project(tmp_path, n_queries=1)
        run(small, "one")
        assert "one: its only query's answer is from an earlier run of" in words_of(run(small, "one"))


class TestAttempts:
    @pytest.mark.parametrize("batch", [1, 4])
    def test_they_count_calls_with_the_query_alone(self, small, monkeypatch, batch):
        monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
        monkeypatch.setattr(retrieve, "BATCH", batch)
        small.add(
            "asked = []\n"
            "def unsteady(queries):\n"
            "    asked.append([query.id for query in queries])\n"
            "    if 'q3' in asked[-1] or asked[-1] == ['q5'] and asked.count(['q5']) == 1:\n"
            "        raise ValueError('not now')\n"
            "    if len(queries) > 1:\n"
            "        raise ValueError('one by one')\n"
            "    return [docs_for(query.id) for query in queries]\n"
        )
        small.write(systems("unsteady", also="batch = true\n"))
        (system,) = run_project(load_project(small.folder)).collections[0].systems
        assert [(failure.query, failure.attempts) for failure in system.failures] == [("q3", 2)]
        assert system.n_retried == 2, "q5 was answered at the second attempt, and q3 never"

    def test_the_schema_says_what_they_are(self):
        text = json.dumps(run_schema())
        assert "not counting a batch that failed" in text
        assert "Queries that were asked more than once, whether they were answered in the end or failed" in text


class TestCounts:
    def test_one_query_failed(self, small, monkeypatch, capsys):
        small.write(systems("one", "but_one"))
        monkeypatch.chdir(small.folder)
        assert main.main(["run"]) == 1
        shown = capsys.readouterr()
        assert "1 query of but_one failed; run again to ask for it only" in shown.err
        words = " ".join(shown.out.split())
        assert "but_one: 1 of 12 queries failed and counts 0." in words
        assert "Running again asks only for this one." in words

    def test_failures_of_several_systems(self, small, monkeypatch, capsys):
        small.write(systems("one", "but_one", "many"))
        monkeypatch.chdir(small.folder)
        main.main(["run"])
        assert "10 queries failed (but_one: 1, many: 9); run again to ask for these only" in capsys.readouterr().err

    def test_systems_that_are_left_out(self, small):
        words = words_of(run(small, "one", "none", "mixed", "many", "texts"))
        assert "3 systems were compared on small" in words
        assert "nDCG@10 · 3 systems, 2 left out · 12 queries" in words
        assert "nDCG@10 · 5 systems" not in words
        assert "nDCG@10 · 3 systems ·" not in words

    def test_few_systems_are_named(self, small):
        words = words_of(run(small, "one", "many", "texts"))
        assert "one and many were compared on small" in words
        assert "nDCG@10 · many vs one, 1 left out · 12 queries" in words

    def test_one_doc_and_one_query(self, tmp_path):
        small = small_project(tmp_path, n_queries=2)
        qrels = tmp_path / "small/qrels/test.tsv"
        qrels.write_text("".join(qrels.read_text().splitlines(keepends=True)[:2]) + "q77\td1\t1\n")
        small.write(systems("one"), depth=1)
        words = words_of(run_project(load_project(small.folder)))
        assert "1 query without judgments was not asked." in words
        assert "1 judged query that the collection does not have is left out." in words
        assert "but only 1 was asked for." in words


def test_the_page_names_the_file_of_a_run_whose_ids_do_not_fit_into_trec_text(small):
    corpus = small.folder / "small/corpus.jsonl"
    corpus.write_text(corpus.read_text().replace('"d1"', '"d 1"'))
    small.add("def blank(query):\n    return ['d 1', 'd2']\n")
    run_file = run(small, "blank").collections[0].systems[0].run
    assert run_file == "results/runs/small/blank.jsonl.gz"
    assert len(rs.Run(str(small.folder / run_file))["q1"]) == 2
    page = (Path(__file__).parents[2] / "docs/run.md").read_text()
    assert "written as `bm25.jsonl.gz` instead" in " ".join(page.split())
