"""The page: valid, whole, small, and of one piece."""

import base64
import hashlib
import re
from collections import Counter
from itertools import pairwise
from typing import get_args

import pytest
from reading import XHTML, parse_html
from report_samples import LONG, every_block, many_systems, nasty, two_systems

from rankscope.report.document import Figure, Mark, Report, TableBlock, VerdictBlock
from rankscope.report.render import render
from rankscope.report.table import Cell, Table

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


def test_superscripts_are_set_as_such():
    table = Table(["s", "x"], [[Cell("1 a"), Cell("0.71¹,¹²", best=True)]])
    assert "<td><b>0.71<sup>1,12</sup></b>" in render(Report("t", (TableBlock("", table),), (), ()), "html")


def test_a_chart_with_an_xml_declaration_is_taken_in_without_it():
    svg = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE svg>\n<svg viewBox="0 0 1 1"></svg>'
    page = render(Report("t", (Figure("c", svg, "alt"),), (), ()), "html")
    parse_html(page)
    assert '<div class="chart"><svg viewBox="0 0 1 1"></svg></div>' in page
