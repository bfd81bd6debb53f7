"""Markdown that GitHub shows as meant; tables are parsed back."""

import html5lib
from reading import html_of_markdown
from report_samples import NASTY, many_systems, two_systems

from rankscope.report.document import Figure, Report, Section, TableBlock
from rankscope.report.render import render
from rankscope.report.render.markdown import to_markdown
from rankscope.report.table import Cell, Table


def parsed(text):
    return html5lib.parse(html_of_markdown(text), namespaceHTMLElements=False)


def test_tables_keep_rows_and_columns_whatever_stands_in_them():
    report = many_systems(["bm25", *NASTY])
    tables = parsed(render(report, "markdown")).findall(".//table")
    shapes = [(len(table.findall(".//tr")), {len(list(row)) for row in table.findall(".//tr")}) for table in tables]
    assert shapes == [(5, {8}), (3, {5}), (61, {5})]
    assert ["".join(cell.itertext()) for cell in tables[2].find(".//tr")] == ["query", "bm25", *NASTY]


def test_the_verdict_is_a_quotation_in_bold():
    quote = parsed(render(two_systems(), "markdown")).find(".//blockquote")
    assert quote.find(".//strong").text == "Verdict: dense-v3 is better."
    assert [strong.text for strong in quote.iter("strong")][1] == "Caution:"


def test_long_detail_is_folded():
    details = parsed(render(two_systems(), "markdown")).find(".//details")
    assert details.find("summary").text == "Scores per query (54 rows)"
    assert len(details.findall(".//tr")) == 55


def test_best_values_are_bold():
    tree = parsed(render(two_systems(), "markdown"))
    assert [strong.text for strong in tree.find(".//table").iter("strong")] == ["0.535", "0.85", "0.79"]


def test_a_chart_is_given_in_words():
    report = Report("t", (), (Section("s", (Figure("Wins", "<svg></svg>", "B wins [most]."),)),), ())
    assert parsed(to_markdown(report)).find(".//img") is None
    assert "B wins \\[most\\]." in to_markdown(report)


def test_names_with_underscores_stay_readable():
    table = Table(["run"], [[Cell("dense_v3_large")], [Cell("_x_")]])
    text = to_markdown(Report("t", (TableBlock("", table),), (), ()))
    assert "| dense_v3_large |" in text
    assert r"| \_x\_ |" in text
