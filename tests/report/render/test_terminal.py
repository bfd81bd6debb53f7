"""The report in a terminal and in a pipe: layout, colour, and streams that know only ASCII."""

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import squeezed
from report_samples import nasty, two_systems

from rankscope.report.document import (
    ChangedQueries,
    ChangedQuery,
    Estimate,
    Estimates,
    Fact,
    Facts,
    Paragraph,
    Report,
    Section,
    Share,
    Shares,
    Signal,
    Signals,
    TableBlock,
    VerdictBlock,
    VerdictCount,
    VerdictCounts,
)
from rankscope.report.render import render
from rankscope.report.render.interval import text_estimate
from rankscope.report.render.terminal import print_report, to_text, wrapped
from rankscope.report.table import Cell, Table, width_of


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


def test_the_first_screen_is_laid_out_as_in_the_statistics_guide():
    lines = to_text(two_systems(), details=False).splitlines()
    assert lines[:6] == [
        "nDCG@10 · dense-v3 vs bm25 (baseline) · TREC-DL20 · 54 queries",
        "",
        "  VERDICT   dense-v3 is better.",
        "            Its nDCG@10 is higher by 0.042 (95% CI 0.011 to 0.073), more than your margin of 0.01.",
        "  CAUTION   12% of its top 10 is unjudged (bm25: 3%). If all of those were useless the gain is still",
        "            +0.042; if all were relevant it is +0.13. The direction does not depend on them.",
    ]


def test_prose_is_as_wide_as_asked_for():
    report = Report(
        "t",
        (VerdictBlock("word " * 60, "reason " * 60, "better", cautions=("caution " * 60,)), Paragraph("x " * 200)),
        (),
        (("a", "b " * 99),),
    )
    for width in (60, 100):
        assert width - 8 < max(map(width_of, to_text(report, width=width).splitlines())) <= width


def test_signals_have_a_shape_and_a_word():
    text = render(
        Report("t", (Signals("Trust", tuple(Signal(t, t, "w") for t in ("fine", "look", "fails", "note"))),), (), ()),
        "text",
    )
    assert [line.split()[:2] for line in text.splitlines()[3:]] == [
        ["✓", "fine"],
        ["!", "look"],
        ["✗", "problem"],
        ["·", "note"],
    ]


def test_details_can_be_left_out_but_not_in_silence():
    text = to_text(two_systems(), details=False)
    assert "q1053" not in text
    assert "sha256" not in text
    how = "--details prints them, -o FILE.html writes a page with everything."
    assert squeezed(text).endswith(f"Not shown: Every query, files and command. {how}")
    whole = to_text(two_systems())
    assert "q1053" in whole
    assert "sha256" in whole
    assert "Not shown" not in whole


def test_folded_tables_and_sections_are_detail():
    table = Table(["a"], [[Cell("1")]] * 3)
    mixed = Section("Mixed", (Paragraph("words"), TableBlock("Long", table, folded=True)))
    method = Section("Method", (Paragraph("by flips"),), folded=True)
    report = Report("t", (), (mixed, method), ())
    text = to_text(report, details=False)
    assert "  Long\n  3 rows, not shown here: --details prints them\n" in text
    assert "by flips" not in text
    assert "Not shown: Method." in text
    assert "by flips" in to_text(report)


def test_groups_of_verdicts_are_one_line_with_names_below():
    many = tuple(f"s{i}" for i in range(9))
    groups = (VerdictCount("better", "better", ("a",)), VerdictCount("probably_worse", "probably worse", many))
    report = Report("t", (VerdictCounts("", (*groups, VerdictCount("unsure", "cannot tell", ()))),), (), ())
    assert to_text(report, details=False).splitlines()[2:] == [
        "  ▲ 1 better   ▽ 9 probably worse",
        "  ▲ better          a",
        "  ▽ probably worse  s0, s1, s2, s3, s4, s5 and 3 more",
    ]
    assert "s8" in to_text(report)


def test_changed_queries_are_numbered_lines_cut_to_the_width():
    long = ChangedQuery("q1", "what is known of " * 9, 1.0, 0.25, "worse", "the doc fell from 1 to 5")
    report = Report(
        "t", (ChangedQueries("Largest losses", (long, ChangedQuery("q2", "", 0.5, 0.25, "worse"))),), (), ()
    )
    title, first, why, second = to_text(report, width=70, details=False).splitlines()[2:]
    assert title == "  Largest losses"
    assert first.startswith("  1. ▼ 1.000 → 0.250  -0.750  what is known of what")
    assert first.endswith("… (q1)")
    assert width_of(first) <= 70
    assert why.strip() == "the doc fell from 1 to 5"
    assert second == "  2. ▼ 0.500 → 0.250  -0.250  q2"
    assert "(q1)" in to_text(report)


def test_facts_stand_in_columns_and_shares_are_drawn():
    facts = Facts("", (Fact("queries", "30", "of TREC"), Fact("judged", "9%")))
    shares = Shares("", (Share("reached", 0.75), Share("order", 0.25, "below others")))
    assert to_text(Report("t", (facts, shares), (), ())).splitlines()[2:] == [
        "  queries  30  of TREC",
        "  judged   9%",
        "",
        "  reached  ███████████████·····  75%  0.7500",
        "  order    █████···············  25%  0.2500  below others",
    ]


def test_a_pipe_gets_no_colour(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    stream = io.StringIO()
    print_report(two_systems(), file=stream)
    assert stream.getvalue() == render(two_systems(), "text")


def test_a_terminal_gets_colour_unless_it_is_unwanted(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "90")
    coloured, plain = Terminal(), Terminal()
    print_report(two_systems(), file=coloured)
    assert "\x1b[1;34m  VERDICT   \x1b[0m" in coloured.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    print_report(two_systems(), file=plain)
    assert "34m" not in plain.getvalue()
    assert "VERDICT" in plain.getvalue()


def test_an_ascii_stream_gets_ascii_in_straight_columns():
    bytes_ = io.BytesIO()
    stream = io.TextIOWrapper(bytes_, encoding="ascii", write_through=True)
    print_report(two_systems(), file=stream)
    print_report(nasty(), file=stream)
    text = bytes_.getvalue().decode("ascii")
    assert "  + fine      queries    54 queries" in text
    assert " :....|...:====" in text
    assert "\\u65e5\\u672c" in text
    header = next(line for line in text.splitlines() if line.startswith("  stratum"))
    row = next(line for line in text.splitlines() if line.startswith("  keyword"))
    assert "delta" in header
    assert header.index("delta") + len("delta") == row.index("-0.02") + len("-0.02")


def test_a_long_word_is_not_cut():
    assert wrapped("a " + "x" * 50 + " b", 20) == ["a", "x" * 50, "b"]


def drawn(low, value, high, *others, margin=0.0, width=40):
    rows = [Estimate("", *numbers, "") for numbers in ((value, low, high), *others)]
    return text_estimate(rows[0], Estimates("", tuple(rows), margin), width=width)


def test_an_interval_as_text_by_hand():
    # The axis goes from -0.02 to 0.08: 11 places, 0.01 each.
    assert drawn(0.01, 0.04, 0.08, margin=0.02, width=11) == "[-0.02 :·|━:━●━━━━ +0.08]"
    assert drawn(-0.02, 0.03, 0.08, width=11) == "[-0.02 ━━┿━━●━━━━━ +0.08]"
    assert drawn(0.02, 0.03, 0.04, width=5) == "[0 |·━●━ +0.04]"
    assert drawn(0.2, 0.2, 0.4, (0, -0.4, 0.4), width=5) == "[-0.4 ··|●━ +0.4]"


@pytest.mark.parametrize("numbers", [(math.nan, 0.1, 0.2), (0.1, math.nan, 0.2), (-math.inf, 0, 1)])
def test_an_undefined_interval_is_not_drawn(numbers):
    assert drawn(*numbers) == ""


finite = st.floats(-1e6, 1e6)


@given(st.tuples(finite, finite, finite).map(sorted), st.floats(0, 10), st.integers(5, 60))
def test_an_interval_is_as_wide_as_asked_for_and_shows_its_value(numbers, margin, width):
    track = drawn(*numbers, margin=margin, width=width).split()[1]
    assert len(track) == width
    assert track.count("●") == 1


def test_estimates_share_one_axis_whose_ends_and_zero_stand_below():
    rows = (
        Estimate("a", 0.1, 0.05, 0.15, "+0.1", "better", "better"),
        Estimate("b", -0.3, -0.4, -0.2, "-0.3", "worse", "worse"),
        Estimate("x" * 60, 0, -0.1, 0.1, "0"),
    )
    *_, a, b, name, long, axis = to_text(Report("t", (Estimates("d", rows),), (), ())).splitlines()
    assert a.startswith("  ▲ a  ")
    assert a.endswith("  +0.1  better")
    assert b.startswith("  ▼ b  ")
    assert name.strip() == "x" * 60
    # the axis goes from -0.4 to 0.15 over 40 places, so that zero is the 29th of them
    zero = axis.index("0", axis.index("-0.4") + len("-0.4"))
    assert a[zero] == b[zero] == "|"
    assert long[zero] == "●"
    assert zero - axis.index("-0.4") == round(0.4 / 0.55 * 39)
    assert axis.split() == ["-0.4", "0", "+0.15"]
