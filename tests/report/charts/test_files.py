"""Charts as files."""

import functools
import struct
import sys

import chart_examples
import pytest

from rankscope.errors import InputError, OptionError
from rankscope.report.charts.chart import can_write, to_png, write_chart

CHART = chart_examples.curves(2, 0, "x")
resvg_py = pytest.importorskip("resvg_py", reason="PNG needs resvg-py")


@pytest.fixture(autouse=True)
def _fresh():
    can_write.cache_clear()
    yield
    can_write.cache_clear()


@pytest.fixture
def _font():
    if not can_write():
        pytest.skip("no font is installed here")


def size_of(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_svg_is_written_as_it_is(tmp_path):
    path = write_chart(CHART, tmp_path / "chart.svg")
    assert path.read_text("utf-8") == f"{CHART.svg}\n"


@pytest.mark.usefixtures("_font")
def test_png_is_twice_as_large(tmp_path):
    path = write_chart(CHART, str(tmp_path / "chart.PNG"))
    assert size_of(path.read_bytes())[0] == 1440
    assert size_of(to_png(CHART.narrow))[0] == 720


@pytest.mark.usefixtures("_font")
def test_every_kind_can_be_drawn_as_png():
    for chart in chart_examples.every_kind(2).values():
        picture = to_png(chart.svg)
        assert size_of(picture)[0] == 1440
        assert picture != to_png(chart.svg.replace("--rs-ink-3,", "--rs-worse,"))  # colours are variables


@pytest.mark.usefixtures("_font")
def test_png_has_its_text():
    assert to_png(CHART.svg) != to_png(CHART.svg.replace("Recall by depth", ""))


def test_without_resvg_the_error_names_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(OptionError, match=r"pip install resvg-py") as caught:
        to_png(CHART.svg)
    assert "rankscope[png]" in caught.value.hint


def test_without_any_font_it_is_said(monkeypatch):
    bare = functools.partial(resvg_py.svg_to_bytes, skip_system_fonts=True)
    monkeypatch.setattr(resvg_py, "svg_to_bytes", bare)
    with pytest.raises(OptionError, match="no font was found"):
        to_png(CHART.svg)


def test_what_is_no_picture_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"cannot be written as chart\.pdf"):
        write_chart(CHART, tmp_path / "chart.pdf")
    with pytest.raises(InputError, match="missing does not exist"):
        write_chart(CHART, tmp_path / "missing" / "chart.svg")


@pytest.mark.usefixtures("_font")
def test_what_is_no_svg_is_refused():
    with pytest.raises(OptionError, match="cannot be drawn as PNG"):
        to_png("<svg")
