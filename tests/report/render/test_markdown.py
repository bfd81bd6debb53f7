"""Markdown that GitHub shows as meant; tables are parsed back."""

import html5lib
from reading import html_of_markdown
from report_samples import NASTY, many_systems, two_systems

from rankscope.report.document import (
    ChangedQueries,
    ChangedQuery,
    Estimates,
    Fact,
    Facts,
    Figure,
    Paragraph,
    Report,
    Section,
    TableBlock,
    VerdictCount,
    VerdictCounts,
)
from rankscope.report.render import render
from rankscope.report.render.markdown import to_markdown
from rankscope.report.table import Cell, Table


def parsed(text):
    return html5lib.parse(html_of_markdown(text), namespaceHTMLElements=False)


def test_tables_keep_rows_and_columns_whatever_stands_in_them():
    report = many_systems(["bm25", *NASTY])
    tables = parsed(render(report, "markdown")).findall(".//table")
    shapes = [(len(table.findall(".//tr")), {len(list(row)) for row in table.findall(".//tr")}) for table in tables]
    estimates = next(block for block in report.first_screen if isinstance(block, Estimates))
    assert shapes == [(1 + len(estimates.estimates), {4}), (5, {8}), (3, {5}), (61, {5})]
    assert ["".join(cell.itertext()) for cell in tables[3].find(".//tr")] == ["query", "bm25", *NASTY]


def test_the_verdict_is_a_quotation_in_bold_with_its_shape():
    quote = parsed(render(two_systems(), "markdown")).find(".//blockquote")
    assert quote.find(".//strong").text == "▲ dense-v3 is better."
    assert [strong.text for strong in quote.iter("strong")][1] == "Caution:"


def test_all_but_the_first_screen_is_folded():
    report = two_systems()
    tree = parsed(render(report, "markdown"))
    summaries = [summary.text for summary in tree.iter("summary")]
    assert [section.title for section in report.sections if section.title not in summaries] == []
    assert summaries[-1] == "How to reproduce this report"
    assert "Scores per query (54 rows)" in summaries
    long = next(d for d in tree.iter("details") if d.find("summary").text == "Scores per query (54 rows)")
    assert len(long.findall(".//tr")) == 55


def test_best_values_are_bold():
    tree = parsed(render(two_systems(), "markdown"))
    table = tree.findall(".//table")[1]
    assert [strong.text for strong in table.iter("strong")] == ["0.535", "0.85", "0.79"]


def test_a_comment_holds_no_more_than_it_takes():
    report = many_systems([f"system-{i}" for i in range(20)], 1000)
    whole = to_markdown(report)
    assert len(whole) > 100_000
    text = to_markdown(report, limit=20_000)
    assert len(text) <= 20_000
    assert "1,000 rows, left out here; --details keeps them." in text
    assert whole.startswith(text[: text.index("<details>")])  # the first screen is whole


def test_sections_that_do_not_fit_are_named():
    sections = tuple(Section(f"Section {i}", (Paragraph("x " * 200),)) for i in range(20))
    text = to_markdown(Report("t", (), sections, ()), limit=3_000)
    assert len(text) <= 3_000
    assert "<summary>Section 5</summary>" in text
    assert "*Left out, to fit into a comment: Section" in text
    assert "Section 19; --details keeps them.*" in text


def test_groups_facts_and_changed_queries_read_like_prose():
    counts = VerdictCounts(
        "", (VerdictCount("better", "better", ("a", "b")), VerdictCount("unsure", "cannot tell", ("c",)))
    )
    changed = ChangedQueries("", (ChangedQuery("q7", "masks_and *flu*", 0.9, 0.4, "worse", "fell from 1 to 5"),))
    text = to_markdown(Report("", (Facts("", (Fact("queries", "30", "judged"),)), counts, changed), (), ()))
    assert "queries **30** (judged)" in text
    assert "▲ **2** better · ○ **1** cannot tell" in text
    assert "1. ▼ masks_and \\*flu\\* (q7): 0.900 → 0.400 (-0.500), fell from 1 to 5" in text


def test_a_chart_is_given_in_words():
    report = Report("t", (), (Section("s", (Figure("Wins", "<svg></svg>", "B wins [most]."),)),), ())
    assert parsed(to_markdown(report)).find(".//img") is None
    assert "B wins \\[most\\]." in to_markdown(report)


def test_names_with_underscores_stay_readable():
    table = Table(["run"], [[Cell("dense_v3_large")], [Cell("_x_")]])
    text = to_markdown(Report("t", (TableBlock("", table),), (), ()))
    assert "| dense_v3_large |" in text
    assert r"| \_x\_ |" in text
