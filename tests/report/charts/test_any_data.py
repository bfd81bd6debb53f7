"""Whatever the numbers, a chart is either drawn rightly or refused with an error that says why."""

import json
import math

import chart_kinds as charts
import pytest
from chart_reading import check_chart
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import OptionError
from rankscope.report.charts.maps import front_of

COMMON = {"title": "t", "measure": "m"}
NAN = math.nan

plain = st.floats(-1, 1) | st.sampled_from([0.0, 0.5, 1.0])
finite = plain | st.floats(-1e90, 1e90) | st.sampled_from([1e9, 1e9 + 1, 1e-300, -3e-7, 123456.789])
wild = finite | st.just(NAN)
texts = st.text(min_size=1, max_size=60)
few = settings(max_examples=40)


def ends(value, half):
    return (NAN, NAN) if math.isnan(value) or math.isnan(half) else (value - abs(half), value + abs(half))


def drawn(make):
    """Draw, unless nothing is defined; every picture must be right and its data must be JSON."""
    try:
        chart = make()
    except OptionError as error:
        if "nothing to draw" not in error.message:
            raise
        return None
    check_chart(chart)
    json.dumps(chart.data, allow_nan=False)
    assert chart.alt.endswith(".")
    return chart


@few
@given(st.lists(st.tuples(texts, wild, wild, texts), min_size=1, max_size=8), st.none() | st.floats(1e-3, 1))
def test_forest(rows, margin):
    made = [charts.ForestRow(name, value, *ends(value, half), note) for name, value, half, note in rows]
    chart = drawn(lambda: charts.forest(made, margin=margin, **COMMON))
    assert (chart is None) == all(math.isnan(row.value) for row in made)


@few
@given(st.lists(texts, min_size=2, max_size=8, unique=True), st.data())
def test_matrix(names, data):
    marks = st.sampled_from(
        ["better", "probably_better", "worse", "probably_worse", "same", "unsure", "unsafe", "fails"]
    )
    cells = []
    for i, row in enumerate(names):
        for column in names[i + 1 :]:
            value, half = data.draw(wild), data.draw(wild)
            cells.append(charts.MatrixCell(row, column, data.draw(marks), "a verdict", value, *ends(value, half)))
    assert drawn(lambda: charts.matrix(names, cells, "m", title="t"))


@few
@given(st.lists(st.tuples(texts, wild, wild), min_size=1, max_size=30), st.sampled_from(["higher", "lower"]))
def test_differences_and_scatter(rows, better):
    queries, a, b = zip(*rows, strict=True)
    drawn(lambda: charts.differences(queries, a, better=better, **COMMON))
    drawn(lambda: charts.scatter(queries, a, b, better=better, **COMMON))


@few
@given(
    st.lists(
        st.tuples(texts, st.lists(st.tuples(st.floats(0, 1e6), wild), min_size=1, max_size=9)), min_size=1, max_size=9
    )
)
def test_curves(systems):
    lines = []
    for name, points in systems:
        x, y = zip(*points, strict=True)
        bands = [ends(value, 0.1) for value in y]
        lines.append(charts.ChartLine(name, x, y, [low for low, _ in bands], [high for _, high in bands]))
    drawn(lambda: charts.curves(lines, **COMMON))


@few
@given(st.dictionaries(st.tuples(texts, texts), st.tuples(wild, wild), min_size=1, max_size=12))
def test_heat_maps(values):
    cells = [charts.HeatCell(*place, value, *ends(value, half), 7) for place, (value, half) in values.items()]
    drawn(lambda: charts.strata(cells, **COMMON))
    drawn(lambda: charts.systems(cells, title="t"))


@few
@given(st.lists(st.lists(plain.map(abs) | st.just(NAN), min_size=4, max_size=4), min_size=4, max_size=4))
def test_overlap(matrix):
    drawn(lambda: charts.overlap(list("abcd"), matrix, matrix, title="t", depth=5))


@few
@given(st.lists(st.tuples(texts, st.lists(finite, min_size=1, max_size=20)), min_size=1, max_size=5))
def test_distribution(systems):
    spreads = []
    for name, values in systems:
        v = sorted(values)
        quartiles = [v[0], v[len(v) // 4], v[len(v) // 2], v[3 * len(v) // 4], v[-1]]
        spreads.append(charts.ScoreSpread(name, [*v, NAN], *quartiles))
    assert drawn(lambda: charts.distribution(spreads, **COMMON))


@few
@given(st.integers(1, 12), st.lists(st.lists(st.integers(0, 10**6), min_size=12, max_size=12), min_size=1, max_size=6))
def test_positions(n_bands, counts):
    systems = [charts.BandCounts(f"s{i}", row[:n_bands]) for i, row in enumerate(counts)]
    drawn(lambda: charts.positions([f"band {i}" for i in range(n_bands)], systems, title="t"))


@few
@given(st.lists(st.tuples(texts, wild, wild, wild), min_size=1, max_size=12))
def test_maps(rows):
    points = [charts.MapPoint(name, x, y, *ends(x, half), *ends(y, half)) for name, x, y, half in rows]
    drawn(lambda: charts.relevance_diversity(points, title="t", x_measure="x", y_measure="y"))
    positive = [charts.MapPoint(p.name, abs(p.x) + 1e-3, p.y, p.x_low, p.x_high) for p in points]
    drawn(lambda: charts.quality_latency(positive, **COMMON))


@few
@given(st.lists(st.tuples(texts, wild, st.floats(-1e12, 1e12)), min_size=1, max_size=20), st.none() | plain)
def test_waterfall(rows, target):
    parts = [charts.WaterfallPart(n, v) for n, v, _ in rows]
    drawn(lambda: charts.waterfall(0.0 if target is None else target, parts, **COMMON))


@few
@given(st.lists(st.tuples(texts, wild, st.floats(-1e12, 1e12)), min_size=1, max_size=20), st.none() | plain)
def test_trend(rows, target):
    drawn(lambda: charts.trend([charts.TrendPoint(n, v, *ends(v, 0.1)) for n, v, _ in rows], target=target, **COMMON))
    placed = [charts.TrendPoint(name, value, at=at) for name, value, at in rows]
    drawn(lambda: charts.trend(placed, target=target, **COMMON))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=15),
    st.sampled_from(["higher", "lower"]),
    st.sampled_from(["higher", "lower"]),
)
def test_the_front_is_whom_nobody_beats(places, x_better, y_better):
    signs = [1 if better == "higher" else -1 for better in (x_better, y_better)]
    goods = [(signs[0] * x, signs[1] * y) for x, y in places]
    unbeaten = {
        i for i, (x, y) in enumerate(goods) if not any((a >= x and b > y) or (a > x and b >= y) for a, b in goods)
    }
    points = [charts.MapPoint(str(i), x, y) for i, (x, y) in enumerate(places)]
    front = front_of(points, x_better=x_better, y_better=y_better)
    assert set(front) == unbeaten
    assert [goods[i][0] for i in front] == sorted(goods[i][0] for i in front)


EMPTY = {
    "matrix": lambda: charts.matrix([], [], "m", title="t"),
    "forest": lambda: charts.forest([], **COMMON),
    "differences": lambda: charts.differences([], [], **COMMON),
    "scatter": lambda: charts.scatter([], [], [], **COMMON),
    "curves": lambda: charts.curves([], **COMMON),
    "precision_recall": lambda: charts.precision_recall([], title="t"),
    "strata": lambda: charts.strata([], **COMMON),
    "systems": lambda: charts.systems([], title="t"),
    "overlap": lambda: charts.overlap([], [], [], title="t", depth=10),
    "distribution": lambda: charts.distribution([], **COMMON),
    "positions": lambda: charts.positions([], [], title="t"),
    "relevance_diversity": lambda: charts.relevance_diversity([], title="t", x_measure="x", y_measure="y"),
    "trend": lambda: charts.trend([], **COMMON),
    "quality_latency": lambda: charts.quality_latency([], **COMMON),
    "waterfall": lambda: charts.waterfall(0.5, [], **COMMON),
}


@pytest.mark.parametrize("kind", charts.KINDS)
def test_nothing_to_draw_is_an_error(kind):
    with pytest.raises(OptionError, match="there is nothing to draw: no "):
        EMPTY[kind]()


def verdict(row, column):
    return charts.MatrixCell(row, column, "better", "better", 0.1, 0.05, 0.15)


WRONG = {
    "is not a number": lambda: charts.forest([charts.ForestRow("a", None)], **COMMON),
    "cannot be drawn": lambda: charts.forest([charts.ForestRow("a", math.inf)], **COMMON),
    "interval from 1 to 0": lambda: charts.forest([charts.ForestRow("a", 1, 1, 0)], **COMMON),
    "margin = -1": lambda: charts.forest([charts.ForestRow("a", 1)], margin=-1, **COMMON),
    "is none of better": lambda: charts.forest([charts.ForestRow("a", 1, mark="good")], **COMMON),
    "the matrix shows all pairs": lambda: charts.matrix(list("abc"), [verdict("a", "b")], "m", title="t"),
    "have no place in half a square": lambda: charts.matrix(list("ab"), [verdict("b", "a")], "m", title="t"),
    "are not both among the systems": lambda: charts.matrix(list("ab"), [verdict("a", "c")], "m", title="t"),
    "two systems have the same name": lambda: charts.matrix(list("aa"), [verdict("a", "a")], "m", title="t"),
    "every difference is undefined": lambda: charts.differences(["a"], [NAN], **COMMON),
    "differ in length: 1 and 2": lambda: charts.differences(["a"], [1, 2], **COMMON),
    "one side of a band": lambda: charts.curves([charts.ChartLine("a", [1], [1], low=[0])], **COMMON),
    "without a place": lambda: charts.curves([charts.ChartLine("a", [NAN], [1])], **COMMON),
    "outside 0 to 1": lambda: charts.precision_recall([charts.ChartLine("a", [0], [2])], title="t"),
    "appear twice": lambda: charts.strata([charts.HeatCell("a", "b", 1)] * 2, **COMMON),
    "shared has a value outside": lambda: charts.overlap(["a"], [[2]], [[1]], title="t", depth=1),
    "columns of shared": lambda: charts.overlap(["a"], [[1, 1]], [[1]], title="t", depth=1),
    "is not in order": lambda: charts.distribution([charts.ScoreSpread("a", [1], 3, 2, 1, 0, 0)], **COMMON),
    "counts that are none": lambda: charts.positions(["1"], [charts.BandCounts("a", [-1])], title="t"),
    "has no queries": lambda: charts.positions(["1"], [charts.BandCounts("a", [0])], title="t"),
    "not above 0": lambda: charts.quality_latency([charts.MapPoint("a", 0, 1)], **COMMON),
    "for all or for none": lambda: charts.trend([charts.TrendPoint("a", 1), charts.TrendPoint("b", 1, at=1)], **COMMON),
    "no place in time": lambda: charts.trend([charts.TrendPoint("a", 1, at=NAN)], **COMMON),
    "cannot begin an id": lambda: charts.trend([charts.TrendPoint("a", 1)], prefix="1 x", **COMMON),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_data_is_refused(message):
    with pytest.raises(OptionError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_undefined_queries_are_counted_not_drawn():
    chart = charts.scatter(["a", "b", "c"], [1, NAN, 0.5], [0, 1, NAN], **COMMON)
    assert "on 0 of 1 query, behind on 1, equal on 0; 2 queries undefined, not drawn." in chart.alt
    assert "2 queries undefined, not drawn" in chart.svg
    assert [row["a"] for row in chart.data] == [1, None, 0.5]
