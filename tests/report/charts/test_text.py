"""Texts are never wider than estimated, and are shortened and wrapped to fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.report.charts.svg import element, escaped, number, shortened, text_width, wrapped

# advance widths in em from the hmtx table of DejaVu Sans 2.37 (Book and Bold), among the widest of the usual fonts
BOOK = {
    0.27: "'", 0.28: "ijl", 0.29: "IJ", 0.32: " ,.·", 0.34: "/:;\\|", 0.35: "f", 0.36: "-", 0.39: "()[]t", 0.40: "!",
    0.41: "r", 0.46: '"', 0.5: "*_`", 0.52: "sz", 0.53: "?", 0.55: "c", 0.56: "L", 0.58: "Fk", 0.59: "vxy", 0.6: "P",
    0.61: "TYao", 0.62: "e", 0.63: "ESbdghnpqu", 0.64: "$0123456789{}", 0.66: "K", 0.68: "AV", 0.69: "BRXZ", 0.7: "C",
    0.73: "U", 0.75: "HN", 0.77: "DG", 0.78: "&", 0.79: "OQ", 0.82: "w", 0.84: "#+<=>^~×→←", 0.86: "M", 0.95: "%",
    0.97: "m", 0.99: "W", 1.0: "@…",
}  # fmt: skip
BOLD = {
    0.31: "'", 0.34: "ijl", 0.35: " ", 0.37: "/IJ\\|", 0.38: ",.·", 0.4: ":;", 0.42: "-", 0.44: "f", 0.46: "!()[]",
    0.48: "t", 0.49: "r", 0.5: "_`", 0.52: '"*', 0.58: "?z", 0.59: "c", 0.6: "s", 0.64: "L", 0.65: "vxy", 0.67: "ak",
    0.68: "EFTe", 0.69: "o", 0.7: "$0123456789", 0.71: "hnu{}", 0.72: "SYbdgpq", 0.73: "CPZ", 0.76: "B", 0.77: "AKRVX",
    0.81: "U", 0.82: "G", 0.83: "D", 0.84: "#+<=>HN^~×→←", 0.85: "OQ", 0.87: "&", 0.92: "w", 1.0: "%@M…", 1.04: "m",
    1.1: "W",
}  # fmt: skip


@pytest.mark.parametrize(("font", "bold"), [(BOOK, False), (BOLD, True)])
def test_no_character_is_wider_than_estimated(font, bold):
    short = {
        char: width for width, chars in font.items() for char in chars if text_width(char, 1, bold=bold) < width - 0.011
    }
    assert short == {}


def test_wide_and_combining_characters():
    assert text_width("検索", 10) >= 20
    assert text_width("e\N{COMBINING ACUTE ACCENT}", 10) == text_width("e", 10)


@given(st.text(max_size=80), st.floats(20, 300))
def test_shortened_texts_fit(text, width):
    assert text_width(shortened(text, width, 12), 12) <= width


@given(st.text(max_size=200), st.floats(20, 300), st.integers(1, 4))
def test_wrapped_texts_fit(text, width, max_lines):
    lines = wrapped(text, width, 12, max_lines=max_lines)
    assert len(lines) <= max_lines
    assert all(text_width(line, 12) <= width for line in lines)


def test_a_shortened_name_keeps_both_ends():
    assert shortened("model-with-a-long-name-v1", 90, 12) != shortened("model-with-a-long-name-v2", 90, 12)
    assert shortened("short", 90, 12) == "short"


def test_wrapping_keeps_every_word_where_there_is_room():
    assert wrapped("one two three", 60, 12, max_lines=3) == ["one two", "three"]
    assert wrapped("one two three", 70, 12, max_lines=1) == ["one two…"]
    assert wrapped("", 60, 12) == []


def test_numbers_have_two_decimals_at_most():
    assert [number(v) for v in (1, 1.5, 1.005, -0.001, 12.3456)] == ["1", "1.5", "1", "0", "12.35"]


def test_elements_are_escaped():
    assert escaped('a<b>&"c"\x00\ud800\n d') == "a&lt;b&gt;&amp;&quot;c&quot;\ufffd\ufffd d"
    assert element("rect", x=1, fill_opacity=None, class_="a") == '<rect x="1" class="a"/>'
