"""What is told of a measure."""

import pytest

from rankscope.measures.registry import REGISTRY
from rankscope.report.measure_help import measure_markdown, plain_formula


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"\mathrm{DCG}_k / \mathrm{IDCG}_k", "DCG_k / IDCG_k"),
        (r"\sum_{r \le k} g_r / \log_2(r + 1)", "Σ_(r ≤ k) g_r / log_2(r + 1)"),
        (r"\frac{1}{R} \sum_r \frac{a + b}{c}", "1/R Σ_r (a + b)/c"),
        (r"|\{\text{relevant in top } k\}| / k", "|{relevant in top k}| / k"),
        (r"\frac{2^g - 1}{2^{g_{max}}}", "(2^g - 1)/(2^g_max)"),
        (r"(1+\beta^2) P", "(1+β^2) P"),
    ],
)
def test_formulas_read_well_in_a_terminal(latex, plain):
    assert plain_formula(latex) == plain


@pytest.mark.parametrize("name", REGISTRY)
def test_markdown_section_is_complete(name):
    text = measure_markdown(REGISTRY[name])
    assert text.startswith(f"### {name}\n")
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 3 for line in table)
