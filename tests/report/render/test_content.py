"""Every text of a report is found in each of its renderings, whatever signs stand in it."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import READERS, report_of, squeezed, texts_of
from report_samples import NASTY, many_systems, nasty, two_systems

from rankscope.errors import OptionError
from rankscope.report.render import FORMS, render
from rankscope.report.render.texts import clean, cleaned

SIGNS = "\\`*_{}[]()<>#+-.!|&~$^%\"'=:;,?@/ \t\n\r\x00\x1b\x7f\x85\u2028\u202e\u200bé€Δ\N{MINUS SIGN}¹²日אا🔎\ud800\udcff\uffff\ufdd0"
LINES = (
    "# a",
    "a #",
    "- a",
    "+ b",
    "1. a",
    "2) b",
    "> a",
    "---",
    "===",
    "```",
    "~~~",
    "    code",
    "<!-- a",
    "&amp;",
    "&#60;",
    "[a](b)",
    "![a](b)",
    "http://a.b",
    "$x$",
    "\\\\",
    "a  ",
    "|",
    "--",
    "[x]",
    "* a",
    "a_b_c",
    "_a_",
    "__a__",
    "~~a~~",
    "</table>",
    "]]>",
    "%",
    "\\end{document}",
    "^^41",
    "\\item",
)
texts = st.text(st.one_of(st.sampled_from(SIGNS), st.characters()), max_size=12) | st.sampled_from(LINES)


def missing(report, form):
    shown = squeezed(READERS[form](render(report, form)))
    return [text for text in texts_of(cleaned(report)) if squeezed(text) not in shown]


def texts_told_apart(line):
    """Yield the text again and again, each time with another number behind it."""
    return (f"{line} {number}." for number in itertools.count())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "report", [two_systems(), two_systems(*NASTY[:2]), many_systems([f"s{i}" for i in range(7)]), nasty()]
)
def test_nothing_is_left_out(report, form):
    assert missing(report, form) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("line", LINES)
def test_markup_is_shown_as_it_is(line, form):
    assert missing(report_of(itertools.repeat(line)), form) == []
    assert missing(report_of(texts_told_apart(line)), form) == []


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60)
@given(st.lists(texts, min_size=1, max_size=80))
def test_no_text_is_lost_or_taken_for_markup(form, some):
    assert missing(report_of(itertools.cycle(some)), form) == []


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(texts, min_size=1, max_size=20))
@settings(max_examples=20)
def test_every_rendering_can_be_written_to_a_file(form, some):
    shown = render(report_of(itertools.cycle(some)), form)
    assert shown.encode("utf-8").decode("utf-8").endswith("\n")
    assert not set("\x00\x07\x1b\x7f\r") & set(shown)


def test_controls_and_half_characters_are_shown_as_escapes():
    assert clean("a\x1b[31m\x00\udc80b\nc\uffff") == r"a\x1b[31m\x00\udc80b c\uffff"


@pytest.mark.parametrize("form", FORMS)
def test_the_footer_is_in_every_rendering(form):
    shown = squeezed(READERS[form](render(two_systems(), form)))
    for text in ("seed", "sha256:ab12cd34ef56", "sha256:cd34ef56ab12", "0.1.0", "rankscope compare qrels.txt"):
        assert text in shown


def test_other_forms_are_refused():
    with pytest.raises(OptionError, match=r"markdwn.*\n.*markdown"):
        render(two_systems(), "markdwn")
