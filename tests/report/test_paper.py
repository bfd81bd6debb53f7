"""The table for a paper: order, bold, superscripts from verdicts alone, and a caption that says what they mean."""
# ruff: noqa: RUF001, RUF002 (ranges of letters have a long dash)

import math
import re
import shutil
import subprocess

import pytest

import rankscope as rs
from rankscope.report.paper import letter_of, paper_of_comparison, paper_of_scores, ranges
from rankscope.report.render.latex_table import latex_paper_table

N_QUERIES = 24
QRELS = {f"q{i}": {"d": 1} for i in range(N_QUERIES)}


def ranked(rank, *, better_every=0):
    """Return a run that has the relevant doc at a rank, one higher for some queries, so that differences vary."""
    runs = {}
    for i, query in enumerate(QRELS):
        place = rank - (1 if better_every and i % better_every == 0 else 0)
        runs[query] = [*(f"x{j}" for j in range(1, place)), "d"]
    return runs


RUNS = {
    "last": ranked(9, better_every=3),
    "first_run": ranked(1),
    "second": ranked(3, better_every=2),
    "also-second": ranked(3, better_every=4),
}


def rows_of(text):
    body = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [line.removesuffix(r" \\").split(" & ") for line in body.strip().splitlines()]


def test_all_pairs_by_letters():
    # mean RR: first 1; second (12/2 + 12/3) / 24 = 0.4167; also-second (6/2 + 18/3) / 24 = 0.3750; last is below 0.13.
    # second is better than also-second in 6 queries by 1/6 and never worse: 0.0417 with standard error 0.0150
    text = latex_paper_table(paper_of_comparison(rs.compare(QRELS, RUNS, "RR P@1", all_pairs=True)))
    rows = rows_of(text)
    assert [row[1] for row in rows] == [r"first\_run", "second", "also-second", "last"]
    assert rows[0] == ["a", r"first\_run", r"\textbf{1.0000}\textsuperscript{b–d}", r"\textbf{1.0000}"]
    assert rows[2][2] == r"0.3750\textsuperscript{d}"
    assert rows[3] == ["d", "last", f"{(16 / 9 + 8 / 8) / 24:.4f}", "0.0000"]
    caption = re.search(r"\\caption\{(.*)\}\n", text)[1]
    assert "Mean RR and P@1 of 4 systems over 24 queries. Bold: the best of each column." in caption
    assert "Superscripts of RR: the systems that this one is better than" in caption
    assert "corrected for 6 comparisons (max-t, Westfall and Young), level 5\\%" in caption
    assert "beyond a margin of 0.01" in caption
    assert text.count(r"\begin{table}") == text.count(r"\label{tab:rr-systems}") == 1
    assert r"\documentclass" not in text


def test_superscripts_are_the_verdicts():
    comparison = rs.compare(QRELS, RUNS, "RR", all_pairs=True)
    paper = paper_of_comparison(comparison)
    names = [row[1].text for row in paper.table.rows]
    beaten = {
        (winner, loser)
        for pair in comparison
        for winner, loser, code in ((pair.b, pair.a, "better"), (pair.a, pair.b, "worse"))
        if pair.final_verdict.code == code
    }
    for (row, column), mark in paper.superscripts.items():
        assert paper.table.header[column] == "RR"
        sure = mark.partition("(")[0]
        losers = {names[i] for i in range(len(names)) if letter_of(i) in spelt_out(sure)}
        assert losers == {loser for winner, loser in beaten if winner == names[row]}


def spelt_out(mark):
    """Return the letters of a mark: those of b,d–f are b, d, e, f."""
    found = set()
    for part in filter(None, mark.split(",")):
        first, _, last = part.partition("–")
        found |= {chr(code) for code in range(ord(first), ord(last or first) + 1)}
    return found


def test_against_a_baseline_by_signs():
    text = latex_paper_table(paper_of_comparison(rs.compare(QRELS, RUNS, "RR", baseline="second", margin=0.05)))
    rows = {row[0]: row[1] for row in rows_of(text)}
    assert rows[r"first\_run"] == r"\textbf{1.0000}\textsuperscript{+}"
    assert rows["last"].endswith(r"\textsuperscript{\ensuremath{-}}")
    assert rows["also-second"].endswith(r"\textsuperscript{(\ensuremath{-})}")  # 0.0417 is below the margin
    assert rows["second"] == "0.4167"
    assert r"against second: + better, \ensuremath{-} worse, (\ensuremath{-}) probably worse." in text


def test_nothing_shown_is_said():
    runs = {
        "a": ranked(2, better_every=2),
        "b": dict(zip(QRELS, reversed(list(ranked(2, better_every=2).values())), strict=True)),
    }
    text = latex_paper_table(paper_of_comparison(rs.compare(QRELS, runs, "RR")))
    assert "No system can be distinguished from a by RR." in text
    assert "textsuperscript" not in text


def test_languages_have_a_column_each():
    language = {query: {"language": "de" if i % 2 else "en"} for i, query in enumerate(QRELS)}
    runs = {name: RUNS[name] for name in ("last", "first_run")}
    text = latex_paper_table(paper_of_comparison(rs.compare(QRELS, runs, "RR", queries=language)))
    header = text.split("\\toprule\n")[1].split(r" \\")[0].split(" & ")
    assert (header[0], {*header[1:]}) == ("system", {"de", "en"})
    assert rows_of(text)[0] == [r"first\_run", *[r"\textbf{1.0000}\textsuperscript{+}"] * 2]
    assert "12" in re.search(r"by language \(queries: (.*?)\)", text)[1]


def test_the_order_given_and_lower_is_better():
    comparison = rs.compare(QRELS, RUNS, "FirstRel RR", order="given")
    assert [row[0].text for row in paper_of_comparison(comparison).table.rows] == list(RUNS)
    paper = paper_of_comparison(rs.compare(QRELS, RUNS, "FirstRel"))
    assert paper.table.rows[0][0].text == "first_run"
    assert paper.superscripts[0, 1] == "+"
    assert "Lower is better: FirstRel." in paper.caption


def test_scores_alone_have_no_superscripts_and_say_why():
    paper = paper_of_scores(rs.evaluate(QRELS, RUNS, "RR"), why_no_marks="too many")
    text = latex_paper_table(paper)
    assert "textsuperscript" not in text
    assert "% no superscripts: too many" in text
    assert r"\caption{Mean RR of 4 systems over 24 queries. Bold: the best of each column.}" in text


def test_letters_go_on_after_z():
    assert [letter_of(i) for i in (0, 25, 26, 27, 51, 52)] == ["a", "z", "aa", "ab", "az", "ba"]
    assert ranges([1, 3, 4, 6, 7, 8, 26]) == "b,d,e,g–i,aa"
    assert ranges([]) == ""


def test_names_cannot_break_the_table():
    nasty = {"a & b \\\\": RUNS["first_run"], "50%_{x}": RUNS["last"], "日本": RUNS["second"]}
    text = latex_paper_table(paper_of_comparison(rs.compare(QRELS, nasty, "RR", all_pairs=True)))
    assert r"a \& b \textbackslash{}\textbackslash{}" in text
    assert r"50\%\_\{x\}" in text
    assert r"\protected\def\rankscopeforeign" in text


needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed (Debian: texlive-latex-recommended)"
)


@needs_latex
@pytest.mark.slow
@pytest.mark.parametrize("n_systems", [3, 40, 70])
def test_it_compiles_with_the_packages_that_it_names(n_systems, tmp_path):
    names = ["a & b", "50%_x", "日本", *(f"system-{i:02}" for i in range(n_systems))][:n_systems]
    runs = {name: ranked(2 + i % 6, better_every=2 + i % 4) for i, name in enumerate(names)}
    text = latex_paper_table(paper_of_comparison(rs.compare(QRELS, runs, "RR nDCG@10 AP P@1", all_pairs=True)))
    packages = re.findall(r"^% (?:needs|and for its letters, with pdfLaTeX,) (\\usepackage.*)$", text, re.MULTILINE)
    lines = [
        r"\documentclass{article}",
        *packages,
        r"\begin{document}",
        text,
        r"Table~\ref{tab:rr-systems}",
        r"\end{document}",
    ]
    (tmp_path / "paper.tex").write_text("\n".join(lines), "utf-8")
    for _ in range(2):  # the second time the label is known
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
        log = (tmp_path / "paper.log").read_text("utf-8", "replace")
        assert done.returncode == 0, log[-2000:]
    assert "undefined" not in log
    assert not re.findall(r"Overfull \\hbox .* in alignment", log)


def test_numbers_are_those_of_the_evaluation():
    comparison = rs.compare(QRELS, RUNS, "nDCG@10", all_pairs=True)
    rows = rows_of(latex_paper_table(paper_of_comparison(comparison)))
    shown = {row[1].replace(r"\_", "_"): float(re.search(r"\d\.\d{4}", row[2])[0]) for row in rows}
    # one relevant doc: nDCG is 1 / log2(rank + 1)
    expected = sum(1 / math.log2((2 if i % 2 == 0 else 3) + 1) for i in range(N_QUERIES)) / N_QUERIES
    assert shown["second"] == pytest.approx(expected, abs=5e-5)
