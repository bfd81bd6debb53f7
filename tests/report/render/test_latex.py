"""LaTeX: what is special is escaped, tables fit, and pdfLaTeX compiles it."""

import re
import shutil
import subprocess

import pytest
from report_samples import LONG, many_systems, nasty, two_systems

from rankscope.report.document import Paragraph, Report, TableBlock
from rankscope.report.render import render
from rankscope.report.render.latex_table import LATIN_LACKING, MATHS, SPECIAL, TYPOGRAPHY, breakable, latex_text
from rankscope.report.table import Cell, Table


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50% of a_b & #1", r"50\% of a\_b \& \#1"),
        ("{x} $y ~z ^w \\n", r"\{x\} \$y \textasciitilde{}z \textasciicircum{}w \textbackslash{}n"),
        ("--margin", "-{}-margin"),
        ("a---b", "a-{}-{}-b"),
        ("[-0.03, +0.09]", r"{[}\ensuremath{-}0.03, +0.09{]}"),
        ("dense-v3", "dense-v3"),
        ("q-3", "q-3"),
        ("*a", "{*}a"),
        ("Δ ≤ 1", r"\ensuremath{\Delta} \ensuremath{\leq} 1"),
        ("naïve Ærøskøbing Żółć", "naïve Ærøskøbing Żółć"),
        ("0.71¹,¹²", r"0.71\textsuperscript{1,12}"),
        ("日本 x", r"\rankscopeforeign{日本}{U+65E5 U+672C} x"),
        ("ħ", r"\rankscopeforeign{ħ}{U+0127}"),
    ],
)
def test_text(text, latex):
    assert latex_text(text) == latex


def test_long_words_can_be_broken():
    assert breakable("multi_qa-mpnet", 8) == r"multi\_\allowbreak{}qa-\allowbreak{}mpnet\allowbreak{}"
    assert breakable("abcdefghij", 4) == r"abcd\allowbreak{}efgh\allowbreak{}ij\allowbreak{}"


def test_a_document_with_a_part_for_papers():
    text = render(two_systems(), "latex")
    assert text.startswith("\\documentclass")
    before, part, after = re.split("% ---- the report (?:begins|ends).*\n", text)
    assert r"\begin{document}" in before
    assert r"\documentclass" not in part
    assert after.strip() == r"\end{document}"


def test_best_values_are_bold_and_notes_stand_below():
    text = render(two_systems(), "latex")
    table = text[text.index(r"\caption{All measures}") : text.index(r"\end{table}")]
    assert r"& \textbf{0.535} &" in table
    assert table.index(r"\end{tabular}") < table.index("sign-flip permutation")


def test_long_tables_run_over_pages_and_wide_ones_are_split():
    text = render(many_systems([f"system-{i}" for i in range(50)], 100), "latex")
    parts = re.findall(r"\\caption\{nDCG@10 per query \(part (\d+) of (\d+)\)\}", text)
    assert [int(part) for part, _ in parts] == list(range(1, int(parts[0][1]) + 1))
    assert len(parts) >= 5
    assert text.count(r"\endhead") == len(parts) + 1  # and the table of systems
    assert all(text.count(rf"system-{i} &") + text.count(rf"system-{i} \\") >= 3 for i in range(50))


def test_charts_are_given_in_words():
    text = render(two_systems(), "latex")
    assert r"\paragraph{Differences per query} (A chart; it stands in the HTML report.)" in text
    assert "<svg" not in text


needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-latex-recommended)"
)


def compiled(text, folder):
    """Compile a document, and return the log."""
    (folder / "report.tex").write_text(text, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    log = (folder / "report.log").read_text("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    return log


@needs_latex
@pytest.mark.slow
@pytest.mark.parametrize("report", [two_systems(), nasty(), many_systems([LONG, *(f"sys{i}" for i in range(49))], 100)])
def test_it_compiles_and_no_table_is_too_wide(report, tmp_path):
    log = compiled(render(report, "latex"), tmp_path)
    assert not re.findall(r"Overfull \\hbox .* in alignment", log)


@needs_latex
@pytest.mark.slow
def test_every_letter_that_is_written_as_it_is_compiles(tmp_path):
    letters = "".join(chr(code) for code in (*range(0x20, 0x7F), *range(0xA0, 0x180))) + TYPOGRAPHY + LATIN_LACKING
    odd = "".join(SPECIAL) + "".join(MATHS) + "\u200d\u202e\u0301🔎日אا⁰¹²³⁴⁵⁶⁷⁸⁹"
    rows = [[Cell(char), Cell(f"{char}{char} x")] for char in letters + odd]
    log = compiled(
        render(Report(letters, (Paragraph(odd), TableBlock(odd, Table(["a", "b"], rows))), (), ()), "latex"), tmp_path
    )
    assert "Missing character" not in log
