"""The page: valid, whole, small, and of one piece."""

import base64
import hashlib
import re
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from typing import get_args

import pytest
from reading import XHTML, parse_html, squeezed, text_of_html
from report_samples import LONG, NASTY, every_block, many_systems, nasty, two_systems

from rankscope.comparison.verdict import WORDS
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import Figure, Mark, Paragraph, Report, TableBlock, VerdictBlock
from rankscope.report.render import render
from rankscope.report.render.html_table import VERDICTS, columns_on_phone
from rankscope.report.table import Cell, Table
from rankscope.report.tokens import COLOURS

SAMPLES = {
    "two": two_systems(),
    "seven": many_systems([f"s{i}" for i in range(7)]),
    "nasty": nasty(),
    "every": every_block(),
}


@pytest.fixture(params=SAMPLES)
def page(request):
    return render(SAMPLES[request.param], "html")


def test_ids_are_used_once_and_every_reference_has_its_place(page):
    elements = list(parse_html(page).iter())
    ids = Counter(element.get("id") for element in elements if element.get("id"))
    assert max(ids.values()) == 1
    links = {element.get("href")[1:] for element in elements if (element.get("href") or "").startswith("#")}
    labels = {element.get("aria-labelledby") for element in elements} - {None}
    assert links | labels <= set(ids)


def test_equal_titles_have_ids_of_their_own():
    block = TableBlock("Same", Table(["a"], [[Cell("b")]]))
    untitled = TableBlock("", Table(["a"], [[Cell("b")]]), folded=True)
    page = render(Report("r", (block, block, untitled, Figure("", "<svg></svg>", "alt")), (), ()), "html")
    ids = [element.get("id") for element in parse_html(page).iter() if element.get("id")]
    assert len(ids) == len(set(ids)) == 4  # the report, the footer, two tables


def test_nothing_is_loaded_from_elsewhere(page):
    elements = list(parse_html(page).iter())
    assert not [element for element in elements if element.get("src") or element.tag == f"{XHTML}link"]
    assert all(element.get("href").startswith("#") for element in elements if element.get("href"))
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_the_one_script_and_nothing_else(page):
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_landmarks_headings_and_tables_can_be_walked(page):
    tree = parse_html(page)
    for landmark in ("header", "nav", "main", "footer"):
        assert len(tree.findall(f".//{XHTML}{landmark}")) == 1
    levels = [int(element.tag[-1]) for element in tree.iter() if re.fullmatch(f"{XHTML}h[1-6]", str(element.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for table in tree.findall(f".//{XHTML}table"):
        assert all(th.get("scope") in {"row", "col"} for th in table.iter(f"{XHTML}th"))
        assert table.get("aria-labelledby")


def test_rows_have_as_many_cells_as_the_heading(page):
    for table in parse_html(page).findall(f".//{XHTML}table"):
        assert len({len(list(row)) for row in table.iter(f"{XHTML}tr")}) == 1


def test_the_verdict_is_first_and_its_tone_is_said_by_a_shape():
    tree = parse_html(render(two_systems(), "html"))
    first = tree.find(f".//{XHTML}main/{XHTML}section/{XHTML}div")
    assert first.get("class") == "answer better"
    assert first.find(f"{XHTML}h2/{{http://www.w3.org/2000/svg}}svg/{{http://www.w3.org/2000/svg}}path") is not None
    pages = [render(Report("t", (VerdictBlock("h", "r", mark),), (), ()), "html") for mark in get_args(Mark)]
    shapes = {re.search('<svg class="shape".*?</svg>', page)[0] for page in pages}
    assert len(shapes) == len(get_args(Mark)) == 11


def test_fifty_systems_on_a_thousand_queries_with_twelve_charts_stay_below_a_megabyte():
    names = [f"system-{i:02}" for i in range(49)] + [LONG]
    page = render(many_systems(names, 1000, charts=12, chart_bytes=20_000), "html")
    assert page.count("<svg xmlns") == 12
    assert page.count("<td>0.") > 50_000
    assert len(page.encode()) < 1_000_000


def test_every_text_of_every_kind_of_block_is_on_the_page():
    shown = squeezed(text_of_html(render(every_block(), "html")))
    for text in (
        "0.555 → 0.635 14% higher",
        "1 probably better",
        "palpitations at night, need SVT ablation q17",
        "3 relevant docs enter the first 4",
        "0.3700 → 0.9300 +0.5600",
        "0.4500 → 0.1500 -0.3000",
        "lost to order, 0.1420",
        "Judge 46 docs of multilingual.",
        "+0.080 (+0.044 to +0.117)",
    ):
        assert text in shown


def test_nothing_has_a_style_of_its_own_and_no_text_becomes_markup():
    page = render(every_block(NASTY[0]), "html")
    assert not [element for element in parse_html(page).iter() if element.get("style") is not None]
    assert NASTY[0] in text_of_html(page)


def test_the_forest_has_zero_a_margin_and_a_shape_for_each_verdict():
    page = render(every_block(), "html")
    forest = re.search('<ol class="forest">.*?</ol>', page, re.DOTALL)[0]
    rows = forest.split("<li>")[1:]
    assert len(rows) == 7
    for row, tone in zip(rows, ["better", "better", "same", "unsure", "unsafe", "worse", "worse"], strict=True):
        assert f'class="track {tone}"' in row
        assert f'<span class="v {tone}">' in row
    assert re.search('<text class=strong x="[0-9.]+%" y="16">0</text>', forest)
    grid = re.search('<g id="grid">(.*?)</g>', page)[1]
    zero = float(re.search('class="zero" x1="([0-9.]+)%"', grid)[1])
    left, width = (float(re.search(f'class="band".*? {name}="([0-9.]+)%"', grid)[1]) for name in ("x", "width"))
    assert left + width / 2 == pytest.approx(zero, abs=0.02)
    # the axis goes from the lowest end, -0.148, to the highest, 0.117, on 90% of the track from 5% on
    assert zero == pytest.approx(5 + 90 * 0.148 / 0.265, abs=0.01)
    assert width == pytest.approx(90 * 0.02 / 0.265, abs=0.02)
    low, high = re.search('class="iv" x1="([0-9.]+)%" x2="([0-9.]+)%"', rows[0]).groups()
    assert float(low) == pytest.approx(5 + 90 * (0.148 + 0.044) / 0.265, abs=0.01)
    assert float(high) == pytest.approx(95, abs=0.01)


def test_terms_lead_to_one_explanation_each():
    tree = parse_html(render(every_block(), "html"))
    terms = [link for link in tree.iter(f"{XHTML}a") if (link.get("class") or "").startswith("term ")]
    listed = [entry.get("id") for entry in tree.findall(f".//{XHTML}section[@id='terms']//{XHTML}dd")]
    assert {link.get("href") for link in terms} == {f"#{name}" for name in listed}
    assert len(listed) == len(set(listed))
    assert {"d_z", "W / T / L", "p (adj.)", "95% CI", "Δ", "margin", "nDCG@10"} <= {link.text for link in terms}
    bare = render(Report("t", (Paragraph("Nothing to explain."),), (), ()), "html")
    assert "What the words mean" not in bare


def test_verdicts_in_tables_have_the_shape_and_tone_of_the_verdict():
    marks = {words: VERDICT_MARKS[code] for code, words in WORDS.items()}
    assert {**marks, "no score differs": "same", "labels, not quality": "unsafe"} == VERDICTS
    page = render(every_block(), "html")
    assert '<td class=vd><span class="v unsafe"><svg class="shape"' in page


def test_columns_that_are_kept_are_those_the_table_names():
    header = ["system", "a longer heading", "nDCG@10", "verdict", "another heading", "one more heading"]
    rows = [[Cell("a name"), *(Cell("0.123456789") for _ in header[1:])]]
    assert columns_on_phone(Table(header, rows, keep=("verdict", "nDCG@10"))) == [0, 2, 3]
    assert columns_on_phone(Table(header, rows, n_name_columns=2)) == [0, 2]
    assert columns_on_phone(Table(header, rows, n_name_columns=6)) == [0, 1, 2, 3, 4, 5]
    assert columns_on_phone(Table(header[:3], [row[:3] for row in rows])) == [0, 1, 2]


def test_a_folded_section_is_opened_by_what_leads_to_it():
    tree = parse_html(render(every_block(), "html"))
    (details,) = (one for one in tree.iter(f"{XHTML}details") if one.get("class") == "more")
    assert details.find(f"{XHTML}summary/{XHTML}h2").text == "hybrid against algorithmic"
    assert details.find(f"{XHTML}div").get("id") == "section-hybrid-against-algorithmic"


def test_how_to_obtain_it_again_is_folded_where_it_is_long():
    for n, is_folded in ((12, False), (13, True)):
        tree = parse_html(render(Report("t", (), (), tuple((f"run {i}", "sha256") for i in range(n))), "html"))
        footer = tree.find(f".//{XHTML}footer")
        assert (footer.find(f"{XHTML}details") is not None) is is_folded
        assert len(footer.findall(f".//{XHTML}dd")) == n
        assert len(tree.findall(".//*[@id='again']")) == 1


def test_the_style_sheet_takes_its_colours_from_the_tokens():
    sheet = files("rankscope.report.render").joinpath("page.css").read_text("utf-8")
    assert set(re.findall(r"var\(--rs-([\w-]+)\)", sheet)) <= set(COLOURS)
    assert re.findall(r"#[0-9a-f]{3,8}\b", sheet) == ["#fff"]  # paper, where it is printed


def test_superscripts_are_set_as_such():
    table = Table(["s", "x"], [[Cell("1 a"), Cell("0.71¹,¹²", best=True)]])
    assert "<td><b>0.71<sup>1,12</sup></b>" in render(Report("t", (TableBlock("", table),), (), ()), "html")


def test_a_chart_with_an_xml_declaration_is_taken_in_without_it():
    svg = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE svg>\n<svg viewBox="0 0 1 1"></svg>'
    page = render(Report("t", (Figure("c", svg, "alt"),), (), ()), "html")
    parse_html(page)
    assert '<div class="chart"><svg viewBox="0 0 1 1"></svg></div>' in page
