"""What a reader reads off the axes is what was drawn: places are turned back into values by the written ticks alone."""

import math
import re

import chart_kinds as charts
import pytest
from chart_reading import Picture, as_number, check_chart, path_points

from rankscope.report.charts.palette import AXIS, BG, FG, GOOD, MARK_COLOURS, MARK_TINTS, RAMP, SERIES, SUNK

COMMON = {"title": "t", "measure": "m"}


def both(chart):
    return [Picture(chart.svg), Picture(chart.narrow)]


def middle(shape):
    return (shape.box.left + shape.box.right) / 2, (shape.box.top + shape.box.bottom) / 2


def test_forest_markers_and_whiskers_stand_at_their_values():
    rows = [
        charts.ForestRow("a", 0.031, 0.012, 0.05, "cannot tell", "unsure"),
        charts.ForestRow("b", -0.044, -0.07, -0.018, "cannot tell", "unsure"),
    ]
    for picture in both(charts.forest(rows, **COMMON)):
        assert [text.words for text in picture.texts if text.words == "cannot tell"] == ["cannot tell"] * 2
        values = [picture.value_at(middle(circle)[0], "middle") for circle in picture.circles()]
        assert len(values) == 4  # on the line, and beside the word, right of all that is drawn
        assert [v for v in values if v < 0.05] == pytest.approx([0.031, -0.044], abs=5e-4)
        lines = [s for s in picture.shapes if s.name == "line" and s.attributes.get("stroke") == FG]
        level = [(s.box.left, s.box.right) for s in lines if s.box.top == s.box.bottom]
        ends = [picture.value_at(end, "middle") for pair in level for end in pair]
        assert ends == pytest.approx([0.012, 0.05, -0.07, -0.018], abs=5e-4)


def test_forest_zero_is_labelled_in_bold_and_drawn_in_ink():
    rows = [charts.ForestRow(f"row {i}", i / 100, i / 100 - 0.3, i / 100 + 0.3, "cannot tell") for i in range(21)]
    for picture in both(charts.forest(rows, **COMMON)):
        zeros = [text for text in picture.texts if as_number(text.words) == 0]
        assert len(zeros) == 2  # above and below so many rows
        line = next(s for s in picture.shapes if s.attributes.get("stroke-width") == "1.25")
        assert line.attributes["stroke"] == FG
        assert [text.x for text in zeros] == pytest.approx([line.box.left] * 2, abs=0.1)
        assert picture.value_at(line.box.left, "middle") == pytest.approx(0, abs=1e-3)


SHAPES = {
    # how each mark is drawn: corners of its outline, filled or not
    "better": (3, True),
    "probably_better": (3, False),
    "worse": (3, True),
    "probably_worse": (3, False),
    "unsafe": (4, False),
    "unsure": (0, False),
    "same": (8, True),
}


@pytest.mark.parametrize("mark", SHAPES)
def test_every_verdict_has_a_shape_and_a_tone_of_its_own(mark):
    picture = Picture(charts.forest([charts.ForestRow("a", 0.2, 0.1, 0.3, "word", mark)], **COMMON).svg)
    tone = MARK_COLOURS[mark]
    looks = [s for s in picture.shapes if tone in (s.attributes.get("fill"), s.attributes.get("stroke"))]
    outline = looks[0]
    corners = len(set(path_points(outline.attributes["d"]))) if outline.name == "path" else 0
    assert (corners, outline.attributes["fill"] == tone) == SHAPES[mark]
    if mark == "unsafe":  # half of it is filled
        half = looks[1]
        assert half.attributes["fill"] == tone
        assert half.box.right == pytest.approx(middle(outline)[0], abs=0.1)
    if outline.name == "path" and corners == 3:
        tip_y = next(iter(path_points(outline.attributes["d"])))[1]
        assert (tip_y == pytest.approx(outline.box.top)) == mark.endswith("better")
    word = next(text for text in picture.texts if text.words == "word")
    assert f'fill="{tone}">word<' in charts.forest([charts.ForestRow("a", 0.2, 0.1, 0.3, "word", mark)], **COMMON).svg
    assert word.box.left > outline.box.right


def test_forest_margin_is_a_band_around_zero():
    for picture in both(charts.forest([charts.ForestRow("a", 0.2, 0.1, 0.3)], margin=0.05, **COMMON)):
        band = next(s for s in picture.shapes if s.name == "rect" and s.box.left > 30)
        assert [picture.value_at(x, "middle") for x in (band.box.left, band.box.right)] == pytest.approx(
            [-0.05, 0.05], abs=2e-3
        )


def test_forest_interval_without_an_end_runs_to_the_edge_without_a_cap():
    row = charts.ForestRow("a", 0.2, 0.1, math.inf, mark="better")
    wide = Picture(charts.forest([row], **COMMON).svg)
    lines = [s for s in wide.shapes if s.name == "line" and s.attributes.get("stroke") == FG]
    assert len(lines) == 2  # the interval and its left end
    assert wide.value_at(max(s.box.right for s in lines), "middle") == pytest.approx(
        max(v for _, v in wide.axis("middle"))
    )


def test_difference_bars_have_the_height_of_their_value_and_are_sorted():
    values = {"q1": 0.25, "q2": -0.5, "q3": 0.0, "q4": 0.75, "q5": math.nan}
    for picture in both(charts.differences(list(values), list(values.values()), **COMMON)):
        bars = [s for s in picture.shapes if s.name == "rect" and s.tip]
        zero = next(s for s in bars if s.tip.startswith("q1")).box.bottom
        read = {s.tip.split(":")[0]: (s.box.top, s.box.bottom) for s in bars}
        assert list(read) == ["q4", "q1", "q2"]
        heights = {
            q: picture.value_at(zero, "end") - picture.value_at(zero + b - t, "end") for q, (t, b) in read.items()
        }
        assert heights == pytest.approx({"q4": 0.75, "q1": 0.25, "q2": 0.5}, abs=5e-3)
        assert read["q2"][0] == pytest.approx(zero)  # a loss hangs below zero


def test_where_lower_is_better_a_negative_difference_is_a_gain():
    chart = charts.differences(["q1", "q2"], [-1, 2], better="lower", names=("old", "new"), **COMMON)
    assert "new is ahead of old on 1 of 2 queries, behind on 1, equal on 0" in chart.alt
    assert "largest gain \N{MINUS SIGN}1.000 (query q1), largest loss +2.000 (query q2)" in chart.alt
    bars = [s for s in Picture(chart.svg).shapes if s.name == "rect" and s.tip]
    assert [(s.tip.split(":")[0], s.attributes["fill"] == GOOD) for s in bars] == [("q1", True), ("q2", False)]


def test_the_outline_of_many_differences_keeps_extremes_and_shares():
    n = 7000
    values = [1 - 2 * i / (n - 1) for i in range(n)]
    for picture in both(charts.differences([f"q{i}" for i in range(n)], values, **COMMON)):
        gains, losses = [s for s in picture.shapes if s.name == "path"]
        assert picture.value_at(gains.box.top, "end") == pytest.approx(1, abs=0.01)
        assert picture.value_at(losses.box.bottom, "end") == pytest.approx(-1, abs=0.01)
        assert gains.box.right - gains.box.left == pytest.approx(losses.box.right - losses.box.left, rel=0.01)
        # a quarter of the way along, the straight line from 1 to -1 is at 0.5
        quarter = gains.box.left + (losses.box.right - gains.box.left) / 4
        height = next(y for x, y in path_points(gains.attributes["d"]) if x >= quarter)
        assert picture.value_at(height, "end") == pytest.approx(0.5, abs=0.02)


def test_scatter_points_stand_at_their_scores_and_equal_ones_are_one_larger_point():
    a, b = [0.1, 0.2, 0.2, 0.9, 0.5], [0.8, 0.7, 0.7, 0.3, 0.5]
    for picture in both(charts.scatter(list("vwxyz"), a, b, **COMMON)):
        points = {s.tip: s for s in picture.shapes if s.tip}
        assert set(points) == {"v: 0.100, 0.800", "w, x: 0.200, 0.700", "y: 0.900, 0.300", "z: 0.500, 0.500"}
        for words, shape in points.items():
            x, y = map(float, words.split(": ")[1].split(", "))
            assert picture.value_at(middle(shape)[0], "middle") == pytest.approx(x, abs=5e-3)
            assert picture.value_at(middle(shape)[1], "end") == pytest.approx(y, abs=5e-3)
        radius = {words: float(s.attributes["r"]) for words, s in points.items() if s.name == "circle"}
        assert radius["w, x: 0.200, 0.700"] > radius["v: 0.100, 0.800"]


def test_thousands_of_scatter_points_are_merged_and_none_is_lost():
    n = 5000
    a, b = [i / n for i in range(n)], [(i * 7919 % n) / n for i in range(n)]
    picture = Picture(charts.scatter([f"q{i}" for i in range(n)], a, b, **COMMON).svg)
    tips = [s.tip for s in picture.shapes if s.tip]
    counts = [len(words.split(" and ")[0].split(":")[0].split(", ")) for words in tips]
    more = [int(m[1]) for words in tips if (m := re.search(r" and (\d+) more:", words))]
    assert sum(counts) + sum(more) == n
    assert len(tips) < 700


def test_curve_markers_stand_at_their_points_on_a_logarithmic_axis():
    ks, y = [1, 5, 10, 100, 1000], [0.2, 0.4, 0.5, 0.7, 0.8]
    for picture in both(charts.curves([charts.ChartLine("a", ks, y)], **COMMON)):
        points = [middle(circle) for circle in picture.circles()]
        assert [picture.value_at(x, "middle", log=True) for x, _ in points] == pytest.approx(ks, rel=0.01)
        assert [picture.value_at(y, "end") for _, y in points] == pytest.approx(y, abs=5e-3)


def lines_of(picture):
    """Return the lines of systems by name: those paths whose tooltip is a name alone."""
    return {s.tip: s for s in picture.shapes if s.name == "path" and s.tip and ":" not in s.tip}


def test_up_to_four_lines_differ_in_colour_and_dash_and_are_named_at_their_ends():
    made = [charts.ChartLine(name, [1, 2, 3], [y, y, y]) for name, y in (("a", 0.9), ("b", 0.6), ("c", 0.3), ("d", 0))]
    for picture in both(charts.curves(made, **COMMON)):
        lines = lines_of(picture)
        assert [lines[name].attributes["stroke"] for name in "abcd"] == list(SERIES)
        assert len({lines[name].attributes.get("stroke-dasharray") for name in "abcd"}) == 4
        for name in "abcd":
            text = next(text for text in picture.texts if text.words == name)
            assert text.box.left > lines[name].box.right
            assert text.y - 0.35 * text.size == pytest.approx(lines[name].box.bottom, abs=1)


def test_of_many_lines_the_best_and_the_baseline_are_strong_and_the_rest_is_grey():
    made = [charts.ChartLine(f"s{i}", [1, 2], [i / 10, i / 10]) for i in range(9)]
    chart = charts.curves(made, best="s3", baseline="s5", **COMMON)
    for picture in both(chart):
        strokes = {name: line.attributes["stroke"] for name, line in lines_of(picture).items()}
        assert (strokes.pop("s3"), strokes.pop("s5")) == SERIES[:2]
        assert set(strokes.values()) == {AXIS}
        assert {"s3, best", "s5, baseline", "7 other systems"} <= {text.words for text in picture.texts}
    assert (
        chart.alt
        == "m by k, s3, best: 0.300 at 1 to 0.300 at 2; s5, baseline: 0.500 at 1 to 0.500 at 2; 7 other systems in grey."
    )
    highest = charts.curves(made, **COMMON)  # nothing is said of which is best
    assert "s8, best" in {text.words for text in Picture(highest.svg).texts}


def test_narrow_ranges_of_k_have_a_linear_axis():
    picture = Picture(charts.curves([charts.ChartLine("a", [5, 10, 15, 20], [1, 2, 3, 4])], **COMMON).svg)
    assert [picture.value_at(middle(s)[0], "middle") for s in picture.circles()] == pytest.approx(
        [5, 10, 15, 20], abs=0.1
    )


def test_an_undefined_point_leaves_a_gap():
    line = charts.ChartLine("a", [1, 2, 3, 4], [1, math.nan, 2, 3], [0, 0, 1, 2], [2, 2, 3, 4])
    chart = charts.curves([line], **COMMON)
    picture = Picture(chart.svg)
    assert len(picture.circles()) == 3
    path = next(s for s in picture.shapes if s.name == "path" and s.tip == "a")
    assert path.attributes["d"].count("M") == 2
    assert chart.data[1] == {"system": "a", "x": 2, "y": None, "low": 0, "high": 2}


def test_precision_recall_has_axes_from_0_to_1():
    picture = Picture(charts.precision_recall([charts.ChartLine("a", [0, 0.5, 1], [0.9, 0.5, 0.1])], title="t").svg)
    for anchor in ("middle", "end"):
        assert sorted(value for _, value in picture.axis(anchor)) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert [picture.value_at(middle(s)[1], "end") for s in picture.circles()] == pytest.approx(
        [0.9, 0.5, 0.1], abs=5e-3
    )


def test_strata_cells_hold_value_interval_and_n():
    cells = [charts.HeatCell("en", "a", 0.5, 0.4, 0.6, 12), charts.HeatCell("de", "b", 0.25, n=3)]
    for picture in check_chart(charts.strata(cells, **COMMON)):
        words = [text.words for text in picture.texts]
        assert {"+0.500", "[+0.400, +0.600]", "n = 12", "+0.250", "n = 3"} <= set(words)
        assert words.count("\N{EN DASH}") == 2  # en of b, and de of a, were not given
        fills = {s.tip: s.attributes["fill"] for s in picture.shapes if s.tip}
        assert fills["en, a: +0.500 [+0.400, +0.600] n = 12"] == MARK_TINTS["better"]
        assert fills["de, b: +0.250 n = 3"] == SUNK  # without an interval nothing is distinguished


def test_strata_are_coloured_where_the_interval_leaves_out_zero():
    ends = {"en": (0.1, 0.01, 0.2), "de": (-0.1, -0.2, -0.01), "fr": (0.3, -0.1, 0.7), "it": (math.nan,)}
    cells = [charts.HeatCell(name, "a", *numbers) for name, numbers in ends.items()]
    for better, (gain, loss) in {"higher": ("en", "de"), "lower": ("de", "en")}.items():
        picture = Picture(charts.strata(cells, better=better, **COMMON).svg)
        fills = {s.tip.split(",")[0]: s.attributes["fill"] for s in picture.shapes if s.tip}
        told = {gain: MARK_TINTS["better"], loss: MARK_TINTS["worse"]}
        assert fills == told | {"fr": SUNK, "it": SUNK}  # fr is the largest of all, and nobody can tell
        assert {"+0.100", "\N{MINUS SIGN}0.100", "undefined"} <= {text.words for text in picture.texts}


def test_systems_are_shaded_by_what_their_intervals_tell_apart():
    # by hand: a meets b and d, so these are one shade; c meets e; f meets nobody; the spread of values is no matter
    ends = {
        "a": (0.90, 0.80, 1.00),
        "b": (0.81, 0.75, 0.87),
        "c": (0.70, 0.66, 0.74),
        "d": (0.65, 0.45, 0.85),
        "e": (0.60, 0.50, 0.70),
        "f": (0.10, 0.05, 0.15),
    }
    cells = [charts.HeatCell(name, "P", *numbers) for name, numbers in ends.items()]
    costs = [charts.HeatCell(name, "cost", -v, -high, -low) for name, (v, low, high) in ends.items()]
    chart = charts.systems([*cells, *costs], title="t", better={"cost": "lower"})
    for picture in both(chart):
        fills = {tuple(s.tip.split(":")[0].split(", ")): s.attributes["fill"] for s in picture.shapes if s.tip}
        for measure in ("P", "cost"):
            own = {name: RAMP.index(fills[name, measure]) for name in ends}
            assert own["a"] == own["b"] == own["d"] > own["c"] == own["e"] > own["f"]
    assert (
        chart.alt == "Of 6 systems a has the best P, 0.900 [0.800, 1.000], and 2 others are not distinguished from it."
    )


def test_systems_without_intervals_are_not_shaded():
    picture = Picture(charts.systems([charts.HeatCell(n, "P", v) for n, v in (("a", 1), ("b", 0))], title="t").svg)
    assert {s.attributes["fill"] for s in picture.shapes if s.tip} == {SUNK}


def test_the_best_value_of_each_measure_is_bold():
    cells = [
        *(charts.HeatCell(name, "nDCG", value) for name, value in (("a", 0.5), ("b", 0.7))),
        *(charts.HeatCell(name, "latency", value) for name, value in (("a", 12.0), ("b", 34.0))),
    ]
    svg = charts.systems(cells, title="t", better={"latency": "lower"}).svg
    bold = re.findall(r'font-weight="600">([0-9.]+)<', svg)
    assert bold == ["12.0", "0.700"]


def test_overlap_shows_shared_above_and_rbo_below_the_diagonal():
    shared = [[1, 0.11, 0.12], [0.91, 1, 0.13], [0.92, 0.93, 1]]
    rbo = [[1, 0.81, 0.82], [0.21, 1, 0.83], [0.22, 0.23, 1]]
    for picture in check_chart(charts.overlap(["a", "b", "c"], shared, rbo, title="t", depth=10)):
        cells = sorted((t.y, t.x, float(t.words)) for t in picture.texts if re.fullmatch(r"0\.\d\d", t.words))
        assert [value for _, _, value in cells] == [0.11, 0.12, 0.21, 0.13, 0.22, 0.23]


def test_distribution_boxes_stand_at_their_quartiles():
    spread = charts.ScoreSpread("a", [0.1, 0.2, 0.4, 0.6, 0.9], 0.1, 0.2, 0.4, 0.6, 0.9, 0.44)
    for picture in both(charts.distribution([spread], **COMMON)):
        box = next(s for s in picture.shapes if s.name == "rect")
        assert [picture.value_at(x, "middle") for x in (box.box.left, box.box.right)] == pytest.approx(
            [0.2, 0.6], abs=5e-3
        )
        median = next(s for s in picture.shapes if s.attributes.get("stroke-width") == "2.5")
        assert picture.value_at(median.box.left, "middle") == pytest.approx(0.4, abs=5e-3)
        strip = next(s for s in picture.shapes if s.attributes.get("stroke-opacity") == "0.75")
        marks = [picture.value_at(x, "middle") for x, _ in path_points(strip.attributes["d"])][::2]
        assert marks == pytest.approx([0.1, 0.2, 0.4, 0.6, 0.9], abs=0.01)


def test_position_columns_have_the_height_of_their_counts():
    counts = [charts.BandCounts("a", [30, 5, 0]), charts.BandCounts("b", [10, 20, 5])]
    for picture in both(charts.positions(["1", "2 to 3", "not found"], counts, title="t")):
        bars = {s.tip: s for s in picture.shapes if s.name == "rect" and s.tip}
        bottom = next(iter(bars.values())).box.bottom
        base = picture.value_at(bottom, "end")
        heights = {words.split(":")[0]: picture.value_at(s.box.top, "end") - base for words, s in bars.items()}
        expected = {"a, 1": 30, "a, 2 to 3": 5, "b, 1": 10, "b, 2 to 3": 20, "b, not found": 5}
        assert heights == pytest.approx(expected, abs=0.3)


def test_position_bars_of_many_systems_have_the_width_of_their_shares():
    counts = [charts.BandCounts(name, [50, 30, 20]) for name in "abcd"]
    for picture in both(charts.positions(["1", "2", "no"], counts, title="t")):
        pieces = [s for s in picture.shapes if s.tip.startswith("b, ")]
        ends = [picture.value_at(s.box.right, "middle") for s in pieces]
        assert ends == pytest.approx([50, 80, 100], abs=0.5)


def test_map_points_stand_at_their_values_and_the_front_is_filled():
    points = [charts.MapPoint("a", 0.2, 0.9), charts.MapPoint("b", 0.8, 0.3), charts.MapPoint("c", 0.2, 0.3)]
    for picture in both(charts.relevance_diversity(points, title="t", x_measure="x", y_measure="y")):
        circles = {s.tip.split(":")[0]: s for s in picture.circles() if s.tip}
        for point in points:
            x, y = middle(circles[point.name])
            assert picture.value_at(x, "middle") == pytest.approx(point.x, abs=5e-3)
            assert picture.value_at(y, "end") == pytest.approx(point.y, abs=5e-3)
        assert [circles[name].attributes["fill"] for name in "abc"] == [FG, FG, BG]


def test_latency_is_logarithmic_and_its_front_is_fast_and_good():
    points = [charts.MapPoint("slow", 900, 0.9), charts.MapPoint("fast", 3, 0.5), charts.MapPoint("bad", 30, 0.4)]
    chart = charts.quality_latency(points, **COMMON)
    for picture in both(chart):
        circles = {s.tip.split(":")[0]: s for s in picture.circles() if s.tip}
        read = [picture.value_at(middle(circles[p.name])[0], "middle", log=True) for p in points]
        assert read == pytest.approx([900, 3, 30], rel=0.02)
    assert {row["system"]: row["on_front"] for row in chart.data} == {"slow": True, "fast": True, "bad": False}


def test_trend_points_stand_at_their_values_and_misses_are_marked():
    points = [charts.TrendPoint(f"v{i}", v, at=t) for i, (v, t) in enumerate([(0.5, 0), (0.45, 10), (0.6, 40)])]
    for picture in both(charts.trend(points, target=0.48, **COMMON)):
        dots = [s for s in picture.shapes if re.match(r"v\d:", s.tip)]
        places = {s.tip[:2]: middle(s) for s in dots}
        read = [picture.value_at(places[name][1], "end") for name in ("v0", "v1", "v2")]
        assert read == pytest.approx([0.5, 0.45, 0.6], abs=2e-3)
        assert (places["v1"][0] - places["v0"][0]) / (places["v2"][0] - places["v0"][0]) == pytest.approx(
            0.25, abs=0.01
        )
        assert {s.tip[:2] for s in dots if s.name == "path"} == {"v1"}


def test_a_trend_has_what_was_said_then_and_begins_anew():
    said = [(0.5, 0.45, False), (0.52, 0.47, False), (0.7, 0.7, True), (0.71, 0.71, False)]
    points = [
        charts.TrendPoint(f"v{i}", value, at=i, system="a", then=then, is_new=new)
        for i, (value, then, new) in enumerate(said)
    ]
    events = [charts.TrendEvent(2, "labels")]
    chart = charts.trend([*points, charts.TrendPoint("v0", 0.4, at=0, system="b")], events=events, main="a", **COMMON)
    assert [row["then"] for row in chart.data if row["system"] == "a"] == [0.45, 0.47, 0.7, 0.71]
    assert "as scored then from 0.450 at v0 to 0.710 at v3" in chart.alt
    assert "1 event: labels" in chart.alt
    for picture in both(chart):
        lines = [shape for shape in picture.shapes if shape.tip == "a" and shape.name == "path"]
        assert len(lines) == 2  # nothing is drawn from v1 to v2
        dotted = [shape for shape in picture.shapes if shape.tip == "a, as scored then"]
        assert [shape.attributes["stroke-dasharray"] for shape in dotted] == ["2 3", "2 3"]
        assert [shape.name for shape in picture.shapes if shape.tip == "labels"] == ["line"]


def test_bars_of_a_waterfall_stand_on_one_another():
    parts = [charts.WaterfallPart("labels", 0.02, "unsafe"), charts.WaterfallPart("system", -0.05, "worse")]
    chart = charts.waterfall(0.5, parts, start_label="then", end_label="today", **COMMON)
    assert chart.alt == "m: then 0.500; labels +0.020; system \N{MINUS SIGN}0.050; today 0.470."
    assert [row["value"] for row in chart.data] == [0.5, 0.02, -0.05, pytest.approx(0.47)]
    for picture in both(chart):
        bars = {shape.tip.split(":")[0]: shape for shape in picture.shapes if shape.name == "rect" and shape.tip}
        ends = {}
        for name, bar in bars.items():
            top = float(bar.attributes["y"])
            places = (top + float(bar.attributes["height"]), top)
            ends[name] = [picture.value_at(place, "end") for place in places]
        assert ends["labels"] == pytest.approx([0.5, 0.52], abs=2e-3)
        assert ends["system"] == pytest.approx([0.47, 0.52], abs=2e-3)
        assert (ends["then"][1], ends["today"][1]) == pytest.approx((0.5, 0.47), abs=2e-3)
        assert ends["then"][0] == ends["today"][0] < 0.47


def test_trend_points_may_come_in_any_order():
    points = [charts.TrendPoint("late", 0.6, at=2), charts.TrendPoint("early", 0.5, at=1)]
    chart = charts.trend(points, **COMMON)
    assert [row["label"] for row in chart.data] == ["early", "late"]
    assert chart.alt == "m from 0.500 at early to 0.600 at late, 2 values."


def test_axes_are_written_as_numbers():
    picture = Picture(charts.forest([charts.ForestRow("a", -1234, -1300, -1100)], **COMMON).svg)
    assert all(value is not None for value in map(as_number, ["1,500", "\N{MINUS SIGN}0.5"]))
    assert min(value for _, value in picture.axis("middle")) <= -1300
