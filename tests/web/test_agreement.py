"""The terminal, the report, and every page say the same of the same runs, whatever was run last."""

import re
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.experiment.project import load_project
from rankscope.web.library import Library
from rankscope.web.pages.compare import ComparePageOptions, compare_page
from rankscope.web.pages.history import HistoryOptions, history_page
from rankscope.web.pages.overview import OverviewOptions, overview_page
from rankscope.web.pages.queries import QueriesOptions, queries_page
from rankscope.web.pages.query import QueryOptions, query_page
from rankscope.web.pages.systems import SystemsOptions, systems_page

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

GOOD_AND_JUNK = """
def good(query):
    return [(f"d{int(query.id[1:]) % 30}", 2.0)]


def junk(query):
    return [("d29", 1.0)]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose last system is junk, before anything was run."""
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    made = small_project(tmp_path)
    made.add(GOOD_AND_JUNK)
    made.write(systems("one", "good", "junk"), measures=["nDCG@10", "RR(rel=1)@5"])
    return made


@pytest.fixture
def look_at(project):
    """Open the pages of the project's store."""
    opened = []

    def build():
        opened.append(Library(rs.open_store(project.folder), load_project(project.folder)))
        return opened[-1]

    yield build
    for library in opened:
        library.close()


def headline(text):
    """Return the first recommendation in a text."""
    return re.search(r"((?:Use|Prefer|Keep|Choose|Any|Either)\b[^.:]*)", re.sub(r"\s+", " ", text))[1].strip()


def said_by_pages(library):
    overview = overview_page(library, OverviewOptions())
    compared = compare_page(library, ComparePageOptions())
    return {
        "overview": headline(overview.answer.headline),
        "compare": headline(compared.comparison.recommendation.text),
    }, {
        "overview": overview.baseline,
        "compare": compared.baseline,
        "history": history_page(library, HistoryOptions()).history.main,
        "queries": queries_page(library, QueriesOptions()).a.system,
    }


def test_all_surfaces_recommend_the_same(project, look_at, capsys):
    assert main(["run", "-o", "report.html"]) == 0
    terminal = capsys.readouterr().err  # the report is in the file
    assert headline(terminal) == "Use good"
    with rs.open_store(project.folder) as store:
        made = store.comparisons.result(store.comparisons.list()[0])
    assert headline(made.recommendation.text) == "Use good"
    assert made.recommendation.text in Path("report.html").read_text()
    said, baselines = said_by_pages(look_at())
    assert set(said.values()) == {"Use good"}
    assert set(baselines.values()) == {"one"}
    texts = {compare_page(look_at(), ComparePageOptions()).comparison.recommendation.text, made.recommendation.text}
    assert texts == {made.recommendation.text}


def test_a_junk_system_that_is_run_once_is_not_what_others_are_compared_with(project, look_at, capsys):
    assert main(["run", "--only", "one", "--only", "good"]) == 0
    before = said_by_pages(look_at())
    assert main(["run", "--only", "junk"]) == 0
    assert said_by_pages(look_at()) == before
    assert before[0]["overview"] == "Use good"
    assert overview_page(look_at(), OverviewOptions()).facts[0].label == "one, nDCG@10"


def test_a_baseline_that_was_asked_for_holds_until_the_next_comparison(project, look_at, capsys):
    for options, expected in ((["--baseline", "good"], "good"), ([], "one"), (["--baseline", "good"], "good")):
        assert main(["run", *options]) == 0
        terminal = headline(capsys.readouterr().out)
        said, baselines = said_by_pages(look_at())
        assert set(baselines.values()) == {expected}
        assert set(said.values()) == {terminal}


def test_a_library_that_is_open_sees_what_the_next_run_compares_with(project, look_at, capsys):
    main(["run"])
    library = look_at()
    assert compare_page(library, ComparePageOptions()).baseline == "one"
    main(["run", "--baseline", "good"])
    assert compare_page(library, ComparePageOptions()).baseline == "good"
    main(["run"])
    assert compare_page(library, ComparePageOptions()).baseline == "one"


def test_some_systems_alone_do_not_move_the_baseline(project, look_at, capsys):
    main(["run", "--only", "one", "--only", "good"])
    main(["run", "--only", "good", "--only", "junk"])
    assert compare_page(look_at(), ComparePageOptions()).baseline == "one"


def test_tags_come_first(project, look_at, capsys):
    main(["run"])
    assert overview_page(look_at(), OverviewOptions()).baseline_why == "the last run compared the others with it"
    main(["history", "tag", "baseline", "junk"])
    assert set(said_by_pages(look_at())[1].values()) == {"junk"}
    main(["history", "tag", "production", "good"])
    assert set(said_by_pages(look_at())[1].values()) == {"good"}
    assert compare_page(look_at(), ComparePageOptions()).baseline_why == "it has the tag production"


def test_every_page_offers_the_same_measures_those_of_the_project_first(project, look_at, capsys):
    main(["run"])
    library = look_at()
    query_page(library, QueryOptions(query="q1"))  # which scores by measures of its own
    offered = {
        "compare": compare_page(library, ComparePageOptions()).measures,
        "systems": systems_page(library, SystemsOptions()).measures,
        "history": history_page(library, HistoryOptions()).measures,
        "queries": queries_page(library, QueriesOptions()).measures,
    }
    assert set(offered.values()) == {("nDCG@10", "RR(rel=1)@5", "RR@10", "AP", "R@100", "P@10")}


@pytest.mark.parametrize(
    "other",
    [
        ComparePageOptions(baseline="good"),
        ComparePageOptions(pairs="all"),
        ComparePageOptions(margin=0.2),
        ComparePageOptions(stratum=("difficulty=easy",)),
        ComparePageOptions(measure="AP"),
        ComparePageOptions(systems=("good",)),
    ],
)
def test_each_other_view_is_a_look_and_the_comparison_of_the_run_the_first(project, look_at, capsys, other):
    main(["run"])
    library = look_at()
    assert compare_page(library, ComparePageOptions()).comparison.look == 1, "that is what the run compared"
    assert compare_page(library, other).comparison.look == 2
    assert compare_page(look_at(), other).comparison.look == 2, "it was looked at before"
    assert compare_page(look_at(), ComparePageOptions(margin=0.3)).comparison.look == 3
