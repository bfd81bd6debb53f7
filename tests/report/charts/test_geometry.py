"""Nothing overlaps, nothing is cut off, and every letter can be read, whatever the names and however many systems."""

import chart_examples
import chart_kinds as charts
import pytest
from chart_reading import check_chart

from rankscope.records import replace

PHONE, PAGE = 358, 620  # the least width in which the narrow and the wide picture are shown


@pytest.mark.parametrize("n_systems", [1, 2, 7, 50])
@pytest.mark.parametrize("kind", charts.KINDS)
def test_no_text_overlaps_and_nothing_is_cut_off(kind, n_systems):
    check_chart(chart_examples.DRAW[kind](n_systems, 1, "x"))


@pytest.mark.parametrize("kind", charts.KINDS)
def test_letters_are_at_least_11_px_where_the_picture_is_shown(kind):
    wide, narrow = check_chart(chart_examples.DRAW[kind](7, 2, "x"))
    assert min(text.size for text in wide.texts) * PAGE / wide.frame.right >= 11
    assert min(text.size for text in narrow.texts) * PHONE / narrow.frame.right >= 11


@pytest.mark.parametrize("kind", charts.KINDS)
def test_long_words_everywhere_do_not_break_the_layout(kind):
    long = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen " * 5
    base = {"title": long, "subtitle": long, "prefix": "x"}
    charts_of = {
        "forest": lambda: charts.forest([charts.ForestRow(long, 0.1, 0, 0.2, long)], measure=long, **base),
        "matrix": lambda: charts.matrix(
            [long, f"{long} 2"], [charts.MatrixCell(long, f"{long} 2", "better", long, 0.1)], long, **base
        ),
        "differences": lambda: charts.differences([long], [0.1], measure=long, names=(long, long), **base),
        "scatter": lambda: charts.scatter([long], [0.1], [0.2], measure=long, names=(long, long), **base),
        "curves": lambda: charts.curves(
            [charts.ChartLine(long, [1, 2], [0, 1])] * 2, measure=long, x_label=long, **base
        ),
        "precision_recall": lambda: charts.precision_recall([charts.ChartLine(long, [0, 1], [1, 0])] * 2, **base),
        "strata": lambda: charts.strata([charts.HeatCell(long, long, 0.1)], measure=long, **base),
        "systems": lambda: charts.systems([charts.HeatCell(long, long, 0.1)], **base),
        "overlap": lambda: charts.overlap([long] * 2, [[1, 0.5]] * 2, [[1, 0.5]] * 2, depth=10, **base),
        "distribution": lambda: charts.distribution(
            [charts.ScoreSpread(long, [1], 1, 1, 1, 1, 1)], measure=long, **base
        ),
        "positions": lambda: charts.positions([long] * 3, [charts.BandCounts(long, [1, 2, 3])], **base),
        "relevance_diversity": lambda: charts.relevance_diversity(
            [charts.MapPoint(long, 1, 1)], x_measure=long, y_measure=long, **base
        ),
        "trend": lambda: charts.trend([charts.TrendPoint(long, 1)] * 3, measure=long, x_label=long, **base),
        "waterfall": lambda: charts.waterfall(
            1, [charts.WaterfallPart(long, -0.3)] * 3, long, start_label=long, end_label=long, **base
        ),
        "quality_latency": lambda: charts.quality_latency([charts.MapPoint(long, 1, 1)], measure=long, **base),
    }
    check_chart(charts_of[kind]())


def test_a_shortened_name_is_there_in_full():
    name = chart_examples.NASTY[1]
    chart = chart_examples.distribution(2, 0, "x")
    for picture in check_chart(chart):
        shown = [text.words for text in picture.texts]
        assert name not in shown
        assert any("…" in words and words.startswith("dense-") and words.endswith("01") for words in shown)
    assert f"<title>{name}</title>" in chart.svg


def test_7000_queries_stay_small():
    for kind in ("differences", "scatter"):
        chart = chart_examples.DRAW[kind](50, 3, "x")
        assert len(chart.svg.encode()) < 100_000
        assert len(chart.narrow.encode()) < 100_000


def test_50_systems_stay_small():
    for chart in chart_examples.every_kind(50).values():
        assert len(chart.svg.encode()) < 130_000, chart.kind


def test_of_more_than_four_lines_the_best_is_named_and_the_others_are_counted():
    for picture in check_chart(chart_examples.curves(50, 0, "x")):
        words = [text.words for text in picture.texts]
        assert "49 other systems" in words
        assert sum(text.endswith(", best") for text in words) == 1


@pytest.mark.parametrize("kind", charts.KINDS)
def test_no_chart_of_21_systems_is_higher_than_a_screen(kind):
    for picture in check_chart(chart_examples.DRAW[kind](21, 0, "x")):
        assert picture.frame.bottom <= 900


def test_differences_are_low_enough_to_be_seen_at_a_glance():
    for picture in check_chart(chart_examples.differences(2, 0, "x")):
        bars = [shape.box for shape in picture.shapes if shape.tip]
        assert max(bar.bottom for bar in bars) - min(bar.top for bar in bars) <= 200


def test_names_that_have_no_room_on_a_map_are_counted():
    points = [charts.MapPoint(f"system {i}", 0.5, 0.5) for i in range(8)]
    points += [charts.MapPoint(end, value, value) for end, value in (("low", 0.1), ("high", 0.9))]
    chart = charts.relevance_diversity(points, title="t", x_measure="x", y_measure="y")
    wide, _ = check_chart(chart)
    named = sum(text.words.startswith("system ") or text.words in {"low", "high"} for text in wide.texts)
    assert f"{named} of 10 systems are named; the others had no room" in [text.words for text in wide.texts]
    assert 3 <= named < 10


def test_of_many_systems_on_a_map_the_front_and_the_ends_are_named():
    points = [charts.MapPoint(f"system {i}", 0.4 + i / 100, 0.6 - i / 100) for i in range(20)]
    points = [replace(point, y=point.y - 0.3) if i % 2 else point for i, point in enumerate(points)]
    ends = {"least": (0.1, 0.2), "right": (0.9, 0.3), "top": (0.3, 0.9)}
    points += [charts.MapPoint(name, *place) for name, place in ends.items()]
    for picture in check_chart(charts.relevance_diversity(points, title="t", x_measure="x", y_measure="y")):
        words = [text.words for text in picture.texts]
        assert set(ends) <= set(words)
        assert "of 23 systems are named, with intervals" in " ".join(words)


def test_every_band_of_ranks_is_named():
    for picture in check_chart(chart_examples.positions(2, 0, "x")):
        words = " ".join(text.words for text in picture.texts)
        assert all(band in words for band in ("2 to 3", "4 to 10", "11 to 100", "not found"))
