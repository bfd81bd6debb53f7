"""Results in notebooks and scripts: how they print, what a notebook shows, tables, files and charts."""

import json
import math
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import html5lib
import numpy as np
import polars as pl
import pytest

import rankscope as rs
from rankscope.errors import InputError, OptionError, UnknownNameError
from rankscope.shown import VIEWS

NASTY = "<script>alert('x')</script>&\"q\""
QRELS = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(20)}
GOOD = {query: ["a", "b", "c"] for query in QRELS}
FAIR = {query: ["b", "a", "c"] if i % 4 else ["c", "b", "a"] for i, query in enumerate(QRELS)}
POOR = {query: ["x", "c", "b"] if i % 3 else ["a", "b"] for i, query in enumerate(QRELS)}
TEXTS = {query: f"what is {query}" for query in QRELS}

SCORES = rs.evaluate(QRELS, {"good": GOOD, "fair": FAIR, NASTY: POOR}, "nDCG@3 RR NumRelRet")
COMPARISON = rs.compare(QRELS, {"fair": FAIR, "good": GOOD, NASTY: POOR}, "nDCG@3 RR", queries=TEXTS)
RESULTS = {
    "Scores": SCORES,
    "Comparison": COMPARISON,
    "PairQueries": COMPARISON["fair", NASTY].queries,
    "Diagnosis": rs.diagnose(QRELS, POOR, k=3),
    "Explanation": rs.explain({NASTY: {"a": 1, NASTY: 1}}, {NASTY: ["x", NASTY, "a"]}, NASTY, "nDCG@3"),
    "TargetsReport": rs.check(
        {NASTY: {"a": 1, NASTY: 1}},
        {NASTY: {NASTY: ["x", NASTY, "a"]}},
        [{"query": NASTY, "doc": NASTY, "top": 1, "owner": NASTY, "reason": NASTY, "name": NASTY}],
        docs={"x": {"title": NASTY}, "a": {"title": NASTY}, NASTY: {"title": NASTY}},
        queries={NASTY: NASTY},
    ),
    "Report": COMPARISON.report(),
    "Run": rs.Run({NASTY: {"a": 2.0, NASTY: 1.0}}, name=NASTY),
    "Qrels": rs.Qrels({NASTY: {"a": 2, NASTY: 0}}),
    "RunScores": SCORES[NASTY],
    "Summary": SCORES.mean(),
}
TABULAR = (
    "Scores",
    "Comparison",
    "PairQueries",
    "Diagnosis",
    "Explanation",
    "TargetsReport",
    "Run",
    "Qrels",
    "RunScores",
)
RENDERED = ("Scores", "Comparison", "PairQueries", "Diagnosis", "Explanation", "TargetsReport", "Report")
PLOTTED = ("Scores", "Comparison", "Diagnosis", "Explanation")


class Tags(HTMLParser):
    """The tags, attributes and visible text of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def test_every_result_has_a_view():
    assert set(RESULTS) == set(VIEWS)


@pytest.mark.parametrize("name", RESULTS)
def test_it_prints_in_a_few_short_lines(name):
    lines = repr(RESULTS[name]).splitlines()
    assert 1 <= len(lines) <= 12
    assert all(len(line) < 400 for line in lines)


@pytest.mark.parametrize("name", RESULTS)
def test_a_notebook_shows_html_that_is_whole_escaped_and_needs_nothing(name):
    html = RESULTS[name]._repr_html_()
    html5lib.HTMLParser(strict=True).parseFragment(html)
    found = Tags(html)
    assert not {"script", "link", "img"} & set(found.tags)
    assert not [key for key, _ in found.attributes if key.startswith("on") or key in ("href", "src")]
    if name == "Report":
        assert found.tags == ["iframe"]
        return
    assert "prefers-color-scheme:dark" in html
    assert len(html) < 40_000
    if name not in ("Diagnosis", "Qrels"):
        assert NASTY in found.text


def test_best_values_are_bold_and_means_have_intervals():
    html = SCORES._repr_html_()
    assert html.count("<b>1.0000</b>") == 2  # both measures of `good`: nDCG@3 and RR
    assert "<b>" not in rs.evaluate(QRELS, {"good": GOOD}, "RR")._repr_html_()
    # of 20 reciprocal ranks 1/2 (15 times) and 1/3 (5 times): mean 11/24, spread 0.0740, t(19) at 97.5% 2.0930
    values = np.array([1 / 2] * 15 + [1 / 3] * 5)
    half = 2.0930240544 * values.std(ddof=1) / math.sqrt(20)
    by_hand = rs.evaluate(
        QRELS, {"x": {q: ["z", "b"] if i % 4 else ["z", "y", "b"] for i, q in enumerate(QRELS)}}, "RR"
    )
    assert f"[{values.mean() - half:.4f}, {values.mean() + half:.4f}]" in by_hand._repr_html_()


def test_of_many_runs_a_notebook_shows_the_best():
    runs = {f"run{i:02}": {q: ["a"] if j < i else ["c"] for j, q in enumerate(QRELS)} for i in range(20)}
    scores = rs.evaluate(QRELS, runs, "RR")
    html = scores._repr_html_()
    assert "the best 12 by RR; 8 more runs" in html
    assert html.index("run19") < html.index("run18")
    assert "run07" not in html
    assert "run08" in html
    many = {f"n{i}": GOOD for i in range(40)}
    assert repr(rs.evaluate(QRELS, many, "RR")).splitlines()[-1] == "… and 10 more runs, 40 in all"


@pytest.mark.parametrize("name", TABULAR)
def test_tables_of_pandas_and_polars_are_alike(name):
    result = RESULTS[name]
    frame, table = result.to_pandas(), result.to_polars()
    assert list(frame.columns) == table.columns
    assert len(frame) == len(table) > 0
    for column in table.columns:
        values = [None if value is None or value != value else value for value in frame[column].astype(object).tolist()]  # noqa: PLR0124 (NaN)
        assert values == table[column].to_list()


def test_what_is_in_the_tables():
    table = SCORES.to_polars()
    assert table.schema == {
        "run": pl.String, "query": pl.String, "nDCG@3": pl.Float64, "RR": pl.Float64, "NumRelRet": pl.Float64
    }  # fmt: skip
    assert table.filter(run="fair", query="q0")["RR"].to_list() == [1 / 2]
    pairs = COMPARISON.to_polars()
    assert pairs.select("a", "b", "measure").rows()[:2] == [("fair", "good", "nDCG@3"), ("fair", "good", "RR")]
    assert pairs["verdict"].to_list()[1] is None  # RR is exploratory
    ranks = RESULTS["Diagnosis"].to_polars()
    # for q1 the run lists x, c, b: of a and b, which are relevant, b is found at rank 3
    assert ranks.filter(query="q1").rows()[0][:6] == ("q1", 2, 1, 3, 3.0, 3)
    steps = RESULTS["Explanation"].to_polars()
    assert steps["doc"].to_list() == ["x", NASTY, "a"]
    assert steps["adds"].to_list() == pytest.approx([0, 1 / math.log2(3), 1 / 2])
    assert RESULTS["Run"].to_dict() == {NASTY: {"a": 2.0, NASTY: 1.0}}
    assert RESULTS["Qrels"].to_dict() == {NASTY: {"a": 2.0, NASTY: 0.0}}


@pytest.mark.parametrize("name", TABULAR)
def test_without_pandas_the_error_says_what_to_do(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match="pandas is not installed") as raised:
        RESULTS[name].to_pandas()
    assert raised.value.hint == "pip install pandas; or use to_polars()"


@pytest.mark.parametrize("name", RENDERED)
@pytest.mark.parametrize("ending", [".html", ".md", ".tex", ".json", ".txt", ".csv"])
def test_files_by_their_ending(name, ending, tmp_path):
    result, path = RESULTS[name], tmp_path / f"x{ending}"
    if ending == ".csv" and name in ("Diagnosis", "Report"):
        with pytest.raises(OptionError, match=r"cannot be written as a file that ends in \.csv") as raised:
            result.save(path)
        assert ".html" in raised.value.hint
        assert not path.exists()
        return
    result.save(path)
    text = path.read_text("utf-8")
    if ending == ".html":
        html5lib.HTMLParser(strict=True).parse(text)
    elif ending == ".json":
        assert json.loads(text) == json.loads(result.to_json())
    elif ending == ".csv":
        assert len(pl.read_csv(path)) > 0
    elif ending == ".tex":
        assert r"\toprule" in text
        assert result.to_latex() == text
    elif ending == ".md":
        assert "| --- |" in text
        assert result.to_markdown() == text
    else:
        assert text.strip()


@pytest.mark.parametrize("name", RENDERED)
def test_an_ending_that_nobody_knows_is_an_error(name, tmp_path):
    for path in (tmp_path / "x.docx", tmp_path / "x"):
        with pytest.raises(OptionError, match="cannot be written as a file"):
            RESULTS[name].save(path)
        assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        SCORES.save(tmp_path / "nowhere" / "x.html")


@pytest.mark.parametrize("name", PLOTTED)
def test_charts_show_and_save_themselves(name, tmp_path):
    result = RESULTS[name]
    kinds = list(VIEWS[name].charts())
    assert result.plot() == result.plot(kinds[0])
    for kind in kinds:
        if kind in ("strata", "matrix"):  # there are no strata, and not all pairs
            continue
        chart = result.plot(kind)
        assert chart._repr_svg_().startswith("<svg")
        assert chart._repr_html_().count("<svg") == 2  # for wide and for narrow places
        assert len(repr(chart)) < 200
        chart.save(tmp_path / f"{kind}.svg")
        assert (tmp_path / f"{kind}.svg").read_text() == f"{chart.svg}\n"
    with pytest.raises(OptionError, match=r"a chart cannot be written as x\.gif"):
        chart.save(tmp_path / "x.gif")
    with pytest.raises(OptionError, match="there is no chart 'nothing'"):
        result.plot("nothing")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        result.plot(colour="red")


def test_a_chart_is_saved_as_png(tmp_path):
    pytest.importorskip("resvg_py")
    COMPARISON.plot("forest").save(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_that_does_not_fit_says_why():
    with pytest.raises(OptionError, match="all pairs"):
        COMPARISON.plot("matrix")
    every = rs.compare(QRELS, {"fair": FAIR, "good": GOOD, NASTY: POOR}, "RR", all_pairs=True)
    assert every.plot("matrix").kind == "matrix"


def test_charts_take_a_measure_or_a_pair():
    assert SCORES.plot("distribution", measure=rs.RR).title == "RR over the queries"
    assert "good minus fair" in COMPARISON.plot("differences", pair=("fair", "good")).title
    assert NASTY in COMPARISON.plot("scatter", pair=("fair", NASTY)).title
    with pytest.raises(UnknownNameError, match="no measure 'AP'"):
        SCORES.plot("distribution", measure="AP")


def test_what_makes_no_sense_is_not_there():
    for name in ("Run", "Qrels", "Report"):
        assert not hasattr(RESULTS[name], "plot")
    for name in ("Run", "Qrels", "RunScores"):
        assert not hasattr(RESULTS[name], "to_latex")
    assert not hasattr(RESULTS["Report"], "to_pandas")
    assert all(hasattr(result, "to_dict") for result in RESULTS.values())


class TestQueriesOfAPair:
    def test_the_largest_loss_is_first(self):
        found = COMPARISON["fair", "good"].queries
        gained = rs.compare(QRELS, {"good": GOOD, "fair": FAIR}, "nDCG@3")["good", "fair"].queries
        dcg = {"good": 2 + 1 / math.log2(3), "fair, 1 in 4": 1 / math.log2(3) + 2 / 2, "fair": 1 + 2 / math.log2(3)}
        assert gained.rows[0].delta == pytest.approx(dcg["fair, 1 in 4"] / dcg["good"] - 1)
        assert {row.query for row in gained.rows[:5]} == {"q0", "q4", "q8", "q12", "q16"}
        assert gained.rows[-1].delta == pytest.approx(dcg["fair"] / dcg["good"] - 1)
        assert found.rows[0].delta == pytest.approx(1 - dcg["fair"] / dcg["good"])
        assert len(found) == 20
        assert found["q0"].text == "what is q0"
        assert found["q0"].b == 1
        assert gained["q0"].text is None
        assert sum(row.delta for row in found) / 20 == pytest.approx(COMPARISON["fair", "good"].delta)

    def test_columns_have_the_names_of_the_systems(self):
        table = COMPARISON["fair", NASTY].queries.to_polars()
        assert table.columns == ["query", "text", "fair", NASTY, "difference"]
        assert table["text"][0].startswith("what is q")
        odd = rs.compare(QRELS, {"query": FAIR, "text": GOOD}, "RR")["query", "text"].queries
        assert odd.to_polars().columns == ["query", "text", "query (run)", "text (run)", "difference"]

    def test_less_is_better(self):
        found = rs.compare(QRELS, {"good": GOOD, "fair": FAIR}, "FirstRel")["good", "fair"].queries
        assert found.lower_is_better
        assert found.rows[0].delta == max(row.delta for row in found)
        assert "less is better" in repr(found)

    def test_other_measures_and_iteration(self):
        assert [len(pair.queries) for pair in COMPARISON] == [20, 20]
        assert COMPARISON.groups[0].comparisons[1].measure == "RR"

    def test_the_other_order_and_unknown_systems(self):
        with pytest.raises(UnknownNameError, match="were not compared") as raised:
            COMPARISON["good", "fair"]
        assert raised.value.hint == "they were compared the other way round: comparison['fair', 'good']"
        with pytest.raises(UnknownNameError, match="no query 'q99'"):
            COMPARISON["fair", "good"].queries["q99"]

    def test_a_pair_on_its_own_and_one_that_was_read_back(self):
        with pytest.raises(InputError, match="does not know the comparison"):
            COMPARISON.groups[0].comparisons[0].queries  # noqa: B018
        again = rs.Comparison.from_json(COMPARISON.to_json())
        with pytest.raises(InputError, match="no scores of queries"):
            again["fair", "good"].queries  # noqa: B018
        with_scores = again.with_scores(COMPARISON.scores)["fair", "good"].queries
        assert [row.delta for row in with_scores] == [row.delta for row in COMPARISON["fair", "good"].queries]

    def test_it_survives_pickle(self):
        again = pickle.loads(pickle.dumps(COMPARISON))
        assert again["fair", "good"].queries == COMPARISON["fair", "good"].queries


class TestScores:
    def test_sorted_best_first(self):
        assert list(SCORES.sorted("RR")) == ["good", "fair", NASTY]  # 1, then (15 + 5 / 2) / 20
        assert next(iter(SCORES.sorted("nDCG@3"))) == "good"
        ranks = rs.evaluate(QRELS, {"fair": FAIR, "good": GOOD}, "FirstRel")
        assert list(ranks.sorted()) == ["good", "fair"]  # a rank is better where it is lower
        assert list(ranks) == ["fair", "good"]

    def test_only_some_runs_and_measures(self):
        some = SCORES.only("fair", "good", measures="RR nDCG@3")
        assert list(some) == ["fair", "good"]
        assert some.measures == ("RR", "nDCG@3")
        assert some["fair"].mean()["RR"] == SCORES["fair"].mean()["RR"]
        assert some["fair"]["q0", "nDCG@3"] == SCORES["fair"]["q0", "nDCG@3"]
        assert list(SCORES.only(measures=[rs.RR])) == list(SCORES)
        assert rs.Scores.from_json(some.to_json()) == some
        with pytest.raises(UnknownNameError, match="there is no run 'bad'"):
            SCORES.only("bad")
        with pytest.raises(UnknownNameError, match="no measure 'AP'"):
            SCORES.only(measures="AP")
        with pytest.raises(OptionError, match="named twice"):
            SCORES.only("good", "good")
        with pytest.raises(OptionError, match="names none"):
            SCORES.only(measures=[])

    def test_best(self):
        assert SCORES.best() == SCORES.best("nDCG@3") == "good"
        assert rs.evaluate(QRELS, {"fair": FAIR, "good": GOOD}, "FirstRel").best() == "good"
        assert rs.evaluate(QRELS, {"only": FAIR}, "RR").best() == "only"

    def test_there_is_no_best_of_equals(self):
        same = rs.evaluate(QRELS, {"one": GOOD, "two": GOOD, "three": POOR}, "RR")
        with pytest.raises(InputError, match=r"no best RR: one, two have the same, 1\.0000"):
            same.best()

    def test_there_is_no_best_over_different_queries(self):
        fewer = {query: ["a"] if i else ["x"] for i, query in enumerate(QRELS)}
        with pytest.warns(rs.RankscopeWarning, match="undefined"):
            scores = rs.evaluate(QRELS, {"good": GOOD, "fewer": fewer}, "FirstRel")
        with pytest.raises(InputError, match="not over the same queries"):
            scores.best()

    def test_there_is_no_best_of_nothing(self):
        nothing = {query: ["x"] for query in QRELS}
        with pytest.warns(rs.RankscopeWarning):
            scores = rs.evaluate(QRELS, {"one": nothing, "two": nothing}, "FirstRel", anyway=True)
        with pytest.raises(InputError, match="no query has a score"):
            scores.best()


def test_a_large_file_is_not_read_to_be_shown(tmp_path, monkeypatch):
    path = tmp_path / "large.run"
    path.write_text("q1 Q0 a 1 1.0 t\n")
    monkeypatch.setattr("rankscope.report.views.LARGE_FILE", 10)
    run = rs.Run(path)
    assert "not read to be shown" in run._repr_html_()
    assert "rankings" not in vars(run)
    assert len(run) == 1
    assert "1 query, 1 doc" in run._repr_html_()


def test_scores_are_shown_without_loading_anything_before():
    heavy = {"msgspec", "scipy", "polars", "pandas", "rankscope.report"}
    code = (
        "import sys, rankscope as rs; s = rs.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, rs.nDCG @ 10); "
        f"repr(s), s.sorted(), s.best(), s.only('run'); print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_methods_are_those_that_the_guide_lists():
    page = (Path(__file__).parents[1] / "docs/python.md").read_text("utf-8")
    listed = {}
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        listed[cells[0].strip("`")] = cells[1:]
    for name in (
        "Scores",
        "RunScores",
        "Comparison",
        "PairQueries",
        "Diagnosis",
        "Explanation",
        "TargetsReport",
        "Report",
        "Run",
        "Qrels",
    ):
        tables, texts, files, charts = listed[name]
        result = RESULTS[name]
        assert (tables != "") == hasattr(result, "to_pandas"), name
        assert (texts != "") == hasattr(result, "to_latex"), name
        view = VIEWS[name]
        if view.files:
            assert set(files.split()) == set(view.files), name
        kinds = [] if view.charts is None else list(view.charts())
        assert charts.split() == kinds, name
