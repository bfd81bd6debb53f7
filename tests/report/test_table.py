"""Tables as Markdown, LaTeX and CSV, with text in them that could be taken for markup."""

import csv
import io

import pytest
from markdown_it import MarkdownIt

from rankscope.report.render import render_table
from rankscope.report.table import Cell, Table, plain_rows, print_table, to_csv, transposed, width_of

ODD = 'a|b_c & 50% #1 $x {y} ~z ^w \\n "q", [red]'


@pytest.fixture
def table():
    rows = [[Cell(ODD), Cell("0.5000", raw="0.5000000000000001", best=True)], [Cell("plain"), Cell("-")]]
    return Table(["run", "P(rel=2)@5"], rows, notes=("50 % of a|b",))


def test_markdown_keeps_its_columns(table):
    lines = render_table(table, "markdown").splitlines()
    assert lines[0] == "| run | P(rel=2)@5 |"
    assert lines[2].startswith("| a\\|b_c \\& 50% #1 \\$x {y} \\~z ^w ")
    assert "\\[red\\]" in lines[2]
    assert "^w \\\\n" in lines[2]
    assert lines[2].endswith("| **0.5000** |")
    assert all(line.replace("\\|", "").count("|") == 3 for line in lines[:4])
    assert lines[-1] == "- 50 % of a\\|b"


def test_markdown_does_not_take_backslashes_and_breaks_for_markup():
    text = render_table(Table(["run", "x"], [[Cell("a\\|b\nc"), Cell("1")]]), "markdown")
    assert "\\<b\\>\\*" in render_table(Table(["run"], [[Cell("<b>*")]]), "markdown")
    assert text.splitlines()[2] == "| a\\\\\\|b c | 1 |"


def test_latex_escapes_what_is_special(table):
    text = render_table(table, "latex")
    assert r"a\textbar{}b\_c \& 50\% \#1 \$x \{y\} \textasciitilde{}z \textasciicircum{}w \textbackslash{}n" in text
    assert r"& \textbf{0.5000} \\" in text
    assert "\\begin{tabular}{lr}" in text


def test_latex_notes_are_comments_on_one_line():
    text = render_table(Table(["run"], [[Cell("a")]], notes=("first\nsecond",)), "latex")
    assert [line for line in text.splitlines() if "second" in line] == ["% first second"]


def test_what_the_poorer_escapers_took_for_markup_is_shown_as_it_is():
    """`[x](y)` is a link in Markdown and _x_ is slanted; in LaTeX -0.1 has a hyphen, and a row may not begin with [."""
    table = Table(["run", "Δ"], [[Cell("[x](y) _x_ ~~z~~ &lt;"), Cell("-0.1")], [Cell("[a]"), Cell("検索")]])
    markdown = MarkdownIt("gfm-like", {"linkify": False}).render(render_table(table, "markdown"))
    assert "<td>[x](y) _x_ ~~z~~ &amp;lt;</td>" in markdown
    lines = render_table(table, "latex").splitlines()
    assert r"\ensuremath{-}0.1 \\" in lines[lines.index(r"\midrule") + 1]
    assert lines[lines.index(r"\midrule") + 2].startswith("{[}a{]} & \\rankscopeforeign{検索}")
    assert any(line.startswith(r"\ifdefined\rankscopeforeign") for line in lines)
    assert r"run & \ensuremath{\Delta} \\" in lines


def test_csv_quotes_and_has_full_precision(table):
    rows = list(csv.reader(io.StringIO(to_csv(table))))
    assert rows == [["run", "P(rel=2)@5"], [ODD, "0.5000000000000001"], ["plain", "-"]]


def test_terminal_shows_text_as_it_is(table):
    stream = io.StringIO()
    print_table(table, file=stream)
    assert ODD in stream.getvalue()
    assert "0.5000*" in stream.getvalue()
    assert stream.getvalue().splitlines()[-1] == "* the best value"


def test_long_names_are_not_cut_in_pipes():
    stream = io.StringIO()
    print_table(Table(["run", "x"], [[Cell("n" * 300), Cell("1")]]), file=stream)
    assert "n" * 300 in stream.getvalue()


def test_transposing_keeps_marks_and_notes(table):
    turned = transposed(table, corner="measure")
    assert list(turned.header) == ["measure", ODD, "plain"]
    assert turned.rows[0][1].best
    assert turned.notes == table.notes


def test_a_table_folds_at_blanks_and_never_cuts_a_number():
    header = ["system", "first run", "printed then", "labels", "newest run, today", "change with its interval"]
    cells = ["bm25", "run 1 of 2026-09-01", "0.6838", "+0.0081", "0.8466", "-0.292 [-0.396, -0.189]"]
    table = Table(header, [[Cell(text) for text in cells], [Cell(text) for text in ["検索", *cells[1:]]]], 2)
    whole = list(plain_rows(table))
    assert max(map(width_of, whole)) > 80
    assert list(plain_rows(table, width=200)) == whole
    for width in (80, 76, 72):
        lines = list(plain_rows(table, width=width))
        assert max(map(width_of, lines)) <= width
        assert sum("[-0.396, -0.189]" in line for line in lines) == 2
        assert all(any(word in line.split() for line in lines) for text in (*header, *cells) for word in text.split())
    wider = list(plain_rows(table, width=84))
    assert any("run 1 of 2026-09-01" in line and "-0.292 [-0.396, -0.189]" in line for line in wider)  # headings first
    narrow = list(plain_rows(table, width=1))
    assert {word for line in narrow for word in line.split()} >= {"2026-09-01", "+0.0081", "-0.189]", "検索"}
