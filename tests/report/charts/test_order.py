"""Charts of a comparison or of runs stand in the order of the primary measure, and say what the verdicts say."""

import random
import re
from itertools import pairwise

import chart_kinds as charts
import pytest
from chart_reading import Picture, check_chart

import rankscope as rs
from rankscope.comparison.verdict import short_words
from rankscope.errors import OptionError
from rankscope.records import replace
from rankscope.report.charts import CHARTS
from rankscope.report.charts.palette import MARK_COLOURS, RAMP, SUNK
from rankscope.report.charts.sources import RunData
from rankscope.report.comparison_pair import VERDICT_MARKS

GOODNESS = {"poor": 0.1, "fair": 0.5, "twin": 0.5, "good": 0.75, "top": 0.97}  # the worst is given first
QUERIES = [f"q{i}" for i in range(60)]
QRELS = {query: {"hit": 1, "miss": 0} for query in QUERIES}


def run_of(share, seed):
    """Return a run that has its relevant doc first for a share of the queries."""
    rng = random.Random(seed)
    first = {query: rng.random() < share for query in QUERIES}
    return {query: {"hit": 2.0 if first[query] else 1.0, "miss": 1.5} for query in QUERIES}


RUNS = {name: run_of(share, seed) for seed, (name, share) in enumerate(GOODNESS.items())}


@pytest.fixture(scope="module")
def every_pair():
    return rs.compare(QRELS, RUNS, "RR nDCG@10", all_pairs=True, seed=1)


@pytest.fixture(scope="module")
def with_baseline():
    return rs.compare(QRELS, RUNS, "RR nDCG@10", baseline="fair", seed=1)


def by_mean():
    means = {name: sum(1 if docs["hit"] > 1.5 else 0.5 for docs in run.values()) / 60 for name, run in RUNS.items()}
    return sorted(means, key=means.get, reverse=True)


def labels(picture, names):
    """Return the names in the order in which they stand, from top to bottom."""
    found = {text.words: text.y for text in picture.texts if text.words in names}
    return sorted(found, key=found.get)


def test_the_matrix_has_the_verdict_of_every_pair_in_its_cell(every_pair):
    chart = CHARTS["matrix"].from_comparison(every_pair).render()
    order = by_mean()
    assert len(chart.data) == 10
    for picture in check_chart(chart):
        rows = {t.words.split(" ", 1)[1]: t.y for t in picture.texts if re.match(r"\d (?:\w+)$", t.words)}
        assert sorted(rows, key=rows.get) == order
        columns = {order[int(t.words) - 1]: t.x for t in picture.texts if t.anchor == "middle"}
        assert list(columns) == order[1:]
        for pair in every_pair:
            ahead, behind = sorted((pair.a, pair.b), key=order.index)
            code = pair.final_verdict.code
            mark = VERDICT_MARKS[code]
            if ahead == pair.a:
                mark = {"better": "worse", "worse": "better"}.get(mark, mark)
                mark = {"probably_better": "probably_worse", "probably_worse": "probably_better"}.get(mark, mark)
            shape = next(s for s in picture.shapes if s.tip.startswith(f"{ahead} vs {behind}: "))
            assert MARK_COLOURS[mark] in (shape.attributes["fill"], shape.attributes["stroke"])
            x, y = (shape.box.left + shape.box.right) / 2, (shape.box.top + shape.box.bottom) / 2
            assert min(columns, key=lambda name: abs(columns[name] - x)) == behind
            assert min(rows, key=lambda name: abs(rows[name] - 4 - y)) == ahead
        legend = " ".join(text.words for text in picture.texts)
        assert all(
            short_words(pair.final_verdict.code, pair).replace("worse", "better") in legend for pair in every_pair
        )


def test_the_matrix_is_legible_for_3_to_40_systems():
    for n_systems in (3, 10, 21, 40):
        names = [f"a system called {i}" for i in range(n_systems)]
        marks = ["better", "unsure", "probably_better", "unsafe", "same"]
        cells = [
            charts.MatrixCell(row, column, marks[(i * j) % 5], marks[(i * j) % 5], 0.1, 0.05, 0.15)
            for i, row in enumerate(names)
            for j, column in enumerate(names)
            if i < j
        ]
        chart = charts.matrix(names, cells, "m", title="t")
        for picture in check_chart(chart):
            heads = [t for t in picture.texts if t.anchor == "middle"]
            places = sorted({round(t.x, 2) for t in heads})
            assert min(b - a for a, b in pairwise(places)) >= 10  # room for a mark
            wide_enough = [s for s in picture.shapes if s.name == "circle"]
            assert all(s.box.right - s.box.left >= 5.5 for s in wide_enough)
        assert len(chart.svg) < 130_000
        assert len(chart.html) < 180_000


def test_the_matrix_of_very_many_systems_has_the_best_ones():
    runs = {f"s{i}": run_of(0.3 + i / 100, i) for i in range(42)}
    comparison = rs.compare({q: QRELS[q] for q in QUERIES[:20]}, runs, "RR", all_pairs=True, seed=1, n_resamples=200)
    chart = CHARTS["matrix"].from_comparison(comparison)
    assert list(chart.names) == [row.system for row in comparison.groups[0].leaderboard][:40]
    assert "the first 40 of 42 systems" in chart.subtitle
    check_chart(chart.render())


def test_the_matrix_needs_all_pairs(with_baseline):
    with pytest.raises(OptionError, match="shows all pairs, and this comparison is with fair alone") as caught:
        CHARTS["matrix"].from_comparison(with_baseline)
    assert "--all-pairs" in caught.value.hint


def test_the_command_draws_the_matrix(tmp_path, capsys):
    from rankscope.cli.main import main

    (tmp_path / "qrels.txt").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items())
    )
    files = [str(tmp_path / "qrels.txt")]
    for name, run in RUNS.items():
        rows = [f"{q} Q0 {d} 1 {score} {name}\n" for q, docs in run.items() for d, score in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(rows))
        files.append(str(tmp_path / f"{name}.run"))
    target = tmp_path / "matrix.svg"
    assert main(["compare", *files, "-m", "RR", "--all-pairs", "--chart", "matrix", "-o", str(target)]) == 0
    assert "Who beats whom in RR" in target.read_text()
    assert main(["compare", *files, "-m", "RR", "--chart", "matrix", "-o", str(target)]) == 2
    assert "--all-pairs" in capsys.readouterr().err


def test_the_forest_is_in_order_with_the_baseline_in_its_place(with_baseline):
    chart = CHARTS["forest"].from_comparison(with_baseline).render()
    for picture in check_chart(chart):
        assert labels(picture, GOODNESS) == by_mean()
        assert "baseline" in [text.words for text in picture.texts]
    row = next(row for row in chart.data if row["label"] == "top")
    pair = with_baseline["fair", "top"]
    assert (row["difference"], row["low"], row["high"]) == (pair.delta, pair.ci.low, pair.ci.high)
    assert chart.alt.startswith("4 differences in RR from fair: ")


def test_the_forest_of_all_pairs_has_the_better_system_first(every_pair):
    chart = CHARTS["forest"].from_comparison(every_pair).render()
    order = by_mean()
    expected = [f"{a} \N{MINUS SIGN} {b}" for i, a in enumerate(order) for b in order[i + 1 :]]
    assert [row["label"] for row in chart.data] == expected
    assert all(row["difference"] >= 0 for row in chart.data)
    assert not any(row["verdict"].endswith("worse") for row in chart.data)


def test_the_forest_of_very_many_pairs_is_against_the_best():
    runs = {**RUNS, "sixth": run_of(0.3, 9)}
    comparison = rs.compare(QRELS, runs, "RR", all_pairs=True, seed=1)
    chart = CHARTS["forest"].from_comparison(comparison).render()
    assert chart.title == "Difference in RR from top"
    assert len(chart.data) == 6
    assert all(row["difference"] <= 0 for row in chart.data)
    assert {row["verdict"] for row in chart.data} >= {"the best", "worse"}


def test_shades_of_systems_follow_the_verdicts_of_all_pairs(every_pair):
    picture = Picture(CHARTS["systems"].from_comparison(every_pair).render().svg)
    shades = {s.tip.split(":")[0]: s.attributes["fill"] for s in picture.shapes if s.tip}
    order, tiers = by_mean(), []
    told = {frozenset((p.a, p.b)) for p in every_pair if p.final_verdict.code.endswith(("better", "worse"))}
    rest = list(order)
    while rest:
        tiers.append([name for name in rest if frozenset((rest[0], name)) not in told])
        rest = [name for name in rest if name not in tiers[-1]]
    levels = [{RAMP.index(shades[f"{name}, RR"]) for name in tier} for tier in tiers]
    assert all(len(level) == 1 for level in levels)
    assert sorted(levels, key=min, reverse=True) == levels
    assert len({min(level) for level in levels}) == len(tiers) >= 3


def test_shades_of_systems_follow_the_verdicts_against_the_baseline(with_baseline):
    picture = Picture(CHARTS["systems"].from_comparison(with_baseline).render().svg)
    fills = {s.tip.split(",")[0]: s.attributes["fill"] for s in picture.shapes if ", RR:" in s.tip}
    assert fills.pop("fair") == SUNK
    for name, fill in fills.items():
        mark = VERDICT_MARKS[with_baseline["fair", name].final_verdict.code]
        tint = {"probably_better": "better", "probably_worse": "worse"}.get(mark, mark)
        assert ("better-tint" in fill, "worse-tint" in fill) == (tint == "better", tint == "worse")
    assert "better than fair" in [text.words for text in picture.texts]


@pytest.mark.parametrize("kind", ["curves", "precision_recall", "systems", "distribution", "positions", "overlap"])
def test_charts_of_runs_are_in_the_order_of_the_primary_measure(kind):
    data = RunData.load(QRELS, RUNS, ["RR", "nDCG@10"] if kind != "curves" else ["nDCG@10"], {})
    chart = CHARTS[kind].from_runs(data).render()
    found = [name for row in chart.data for name in row.values() if name in RUNS]
    assert list(dict.fromkeys(found)) == by_mean()
    if kind in {"curves", "precision_recall"}:
        assert "top, best" in [text.words for text in Picture(chart.svg).texts]


def test_measures_in_which_no_pairs_were_compared_are_shaded_by_their_intervals(every_pair):
    only_primary = replace(every_pair.groups[0], comparisons=every_pair.groups[0].compared)
    comparison = replace(every_pair, groups=(only_primary,)).with_scores(every_pair.scores)
    chart = CHARTS["systems"].from_comparison(comparison)
    picture = Picture(chart.render().svg)
    shades = {s.tip.split(":")[0]: RAMP.index(s.attributes["fill"]) for s in picture.shapes if s.tip}
    ends = {cell.row: (cell.low, cell.high) for cell in chart.cells if cell.column == "nDCG@10"}
    best = ends["top"]
    for name, (low, high) in ends.items():
        meets = low <= best[1] and high >= best[0]
        assert (shades[f"{name}, nDCG@10"] == shades["top, nDCG@10"]) == meets
    assert shades["poor, nDCG@10"] < shades["top, nDCG@10"]
    words = " ".join(text.words for text in picture.texts)
    assert "by verdict in RR; in others, intervals that meet" in words


@pytest.mark.parametrize("kind", ["systems", "distribution", "positions", "overlap"])
def test_charts_with_a_row_per_system_show_the_best_40(kind):
    runs = {f"s{i}": run_of(i / 44, i) for i in range(45)}
    data = RunData.load(QRELS, runs, ["RR"], {})
    chart = CHARTS[kind].from_runs(data)
    rows = [name for row in chart.records() for name in row.values() if name in runs]
    assert list(dict.fromkeys(rows)) == data.order[:40]
    assert "the first 40 of 45 systems" in chart.subtitle


def test_the_forest_of_very_many_systems_keeps_the_baseline():
    runs = {f"s{i}": run_of(i / 44, i) for i in range(45)}
    comparison = rs.compare(QRELS, runs, "RR", baseline="s0", seed=1, n_resamples=200)
    chart = CHARTS["forest"].from_comparison(comparison)
    assert [row.label for row in chart.rows] == [*comparison.systems_in_order(comparison.groups[0])[:40], "s0"]


def test_charts_keep_the_order_given_where_that_was_asked_for(every_pair):
    comparison = replace(every_pair, order="given").with_scores(every_pair.scores)
    assert list(CHARTS["matrix"].from_comparison(comparison).names) == list(RUNS)
    assert [spread.name for spread in CHARTS["distribution"].from_comparison(comparison).spreads] == list(RUNS)
    data = replace(RunData.load(QRELS, RUNS, ["RR"], {}), in_given_order=True)
    assert [system.name for system in CHARTS["positions"].from_runs(data).systems] == list(RUNS)
    assert CHARTS["precision_recall"].from_runs(data).best == "top"
