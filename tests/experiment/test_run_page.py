"""The page of a run: one recommendation on top, a table over collections, contents with one entry per collection."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import run_project
from rankscope.report.benchmark import report_of
from rankscope.report.document import TableBlock, VerdictBlock
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project, systems

N = 12
FUNCTIONS = '''
def best(query):
    """The relevant doc of query i is doc i."""
    return ["d" + query.id[1:]]


def second(query):
    return ["d29", "d" + query.id[1:]]


def second_but(query):
    if query.id == "q3":
        raise ValueError("not now")
    return second(query)


def texts(query):
    return [(f"a long text, number {i}", 1 - i / 7) for i in range(5)]
'''


@pytest.fixture
def small(tmp_path) -> SmallProject:
    """Return a project whose query i has one relevant doc, doc i."""
    project = small_project(tmp_path, n_queries=N)
    qrels = "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i}\t1\n" for i in range(N))
    (tmp_path / "small/qrels/test.tsv").write_text(qrels)
    project.add(FUNCTIONS)
    return project


def run(small: SmallProject, *names: str, collections: str = "") -> rs.Benchmark:
    small.write(systems(*names), measures=["RR"])
    file = small.folder / "rankscope.toml"
    text = file.read_text()
    if collections:
        text = re.sub(r"\[collections\.small\].*?(?=\[systems)", collections, text, flags=re.DOTALL)
    file.write_text(text)
    return run_project(load_project(small.folder))


TWO = """[collections.english]
path = "small"
attributes = { language = "en" }
[collections.german]
path = "small"
attributes = { language = "de" }
"""


def first_table(report):
    return next(block.table for block in report.first_screen if isinstance(block, TableBlock))


def test_one_collection_begins_with_what_to_do(small):
    report = report_of(run(small, "second", "best"), with_figures=False)
    assert report.title == "second and best were compared on small"
    answer = report.first_screen[0]
    assert isinstance(answer, VerdictBlock)
    assert re.fullmatch(r"Use best: it is better than second, by 0\.50* in RR\.", answer.headline)  # 1 and 1/2 always
    assert answer.mark == "better"
    table = first_table(report)
    assert [row[0].text for row in table.rows] == ["best", "second"], "the best comes first, whoever is the baseline"
    assert [row[1].text for row in table.rows] == ["1.0000", "0.5000"]
    assert table.keep == ("RR", "p50 ms")


def test_failures_and_what_is_left_out_stand_in_the_answer(small):
    answer = report_of(run(small, "best", "second_but", "texts"), with_figures=False).first_screen[0]
    left_out, failed = answer.cautions[:2]
    assert left_out.startswith("texts is left out: 12 of 12 queries were answered with texts instead of ids of docs")
    assert "To fix it, " in left_out
    assert failed.startswith("second_but: 1 of 12 queries failed and counts 0.")
    assert answer.subject.endswith("1 left out · 12 queries")


def test_several_collections_have_one_answer_and_one_table(small):
    report = report_of(run(small, "second", "best", collections=TWO), with_figures=False)
    assert report.title == "second and best were compared on english and german"
    answer, table = report.first_screen
    assert answer.headline == "Use best on english and german."
    assert (
        "There is no verdict over all of them: 2 collections are no random sample of all collections." in answer.reason
    )
    assert table.title == "RR across languages"
    assert list(table.table.header) == [
        "system",
        "english",
        "verdict on english",
        "german",
        "verdict on german",
        "mean",
        "lowest to highest",
    ]
    rows = [[cell.text for cell in row] for row in table.table.rows]
    assert rows == [
        ["best", "1.0000", "better", "1.0000", "better", "1.0000", "1.000 (de) to 1.000 (en)"],
        ["second", "0.5000", "baseline", "0.5000", "baseline", "0.5000", "0.500 (de) to 0.500 (en)"],
    ]
    assert [row[1].best for row in table.table.rows] == [True, False]


def test_collections_that_call_for_different_things(small):
    benchmark = run(small, "second", "best", "second_but", collections=TWO)
    english, german = benchmark.collections
    swapped = rs.compare_scores(german.scores, baseline="best")
    both = rs.Benchmark(
        benchmark.project, benchmark.depth, (english, type(german)(**fields_of(german, comparison=swapped))), "", ""
    )
    answer = report_of(both, with_figures=False).first_screen[0]
    assert answer.headline == "Use best on english; keep best on german."
    assert answer.cautions[0].startswith("english: second_but: 1 of 12 queries failed")
    assert answer.cautions[1].startswith("german: second_but: 1 of 12 queries failed")


def fields_of(record, **changed):
    return {**{name: getattr(record, name) for name in record.__struct_fields__}, **changed}


def test_the_contents_have_one_entry_per_collection_with_its_parts_folded(small):
    page = render(report_of(run(small, "second", "best", collections=TWO)), "html")
    contents = re.search(r"<nav.*?</nav>", page, flags=re.DOTALL)[0]
    outer = re.sub(r"<details>.*?</details>", "", contents)
    entries = re.findall(r">([^<]+)</a>", outer)
    assert entries[:3] == ["In short", "english", "german"]
    assert len(entries) <= 6
    (english, german) = re.findall(r"<details><summary>Parts of (?:english|german)</summary>(.*?)</details>", contents)
    assert re.findall(r">([^<]+)</a>", english) == re.findall(r">([^<]+)</a>", german)
    assert "Latency, throughput and size" in english
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', contents)) <= ids


def test_a_collection_on_which_nothing_can_be_compared(small):
    answer = report_of(run(small, "best", collections=TWO), with_figures=False).first_screen[0]
    assert answer.headline == "Measured on english and german; there is nothing to compare."
    assert answer.mark == "note"
