"""Charts on pages, alone and in notebooks: valid, accessible, the same bytes every time, right in light and dark."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import chart_examples
import chart_kinds as charts
import pytest

from rankscope.report.charts.palette import DASHES, MARKERS, SERIES
from rankscope.report.tokens import THEMES

EXAMPLES = chart_examples.every_kind(7, prefix="p1")
SVG = "{http://www.w3.org/2000/svg}"


def test_every_kind_is_in_the_registry_under_its_name():
    assert list(charts.KINDS) == list(EXAMPLES)
    assert all(chart.kind == kind for kind, chart in EXAMPLES.items())


@pytest.mark.parametrize("kind", charts.KINDS)
def test_a_picture_is_named_and_described(kind):
    chart = EXAMPLES[kind]
    for svg in (chart.svg, chart.narrow):
        root = ET.fromstring(svg)
        title, desc = root[0], root[1]
        assert (root.get("role"), title.tag, desc.tag) == ("img", f"{SVG}title", f"{SVG}desc")
        assert root.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]
        assert title.text == chart.title
        assert re.search(r"\d", desc.text)
        assert desc.text.endswith(".")


@pytest.mark.parametrize("kind", charts.KINDS)
def test_pictures_on_one_page_share_no_ids(kind):
    other = chart_examples.DRAW[kind](7, 0, "p2")
    pictures = [EXAMPLES[kind].svg, EXAMPLES[kind].narrow, other.svg, other.narrow]
    ids = [re.findall(r' id="([^"]+)"', svg) for svg in pictures]
    together = [name for names in ids for name in names]
    assert len(together) == len(set(together))
    for svg, names in zip(pictures, ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(names)


@pytest.mark.parametrize("kind", charts.KINDS)
def test_a_picture_adapts_to_its_place(kind):
    for svg in (EXAMPLES[kind].svg, EXAMPLES[kind].narrow):
        root = ET.fromstring(svg)
        assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
        assert "max-width:100%" in root.get("style")


@pytest.mark.parametrize("kind", charts.KINDS)
def test_colours_are_variables_with_a_fallback(kind):
    body = re.sub(r"<style>.*?</style>", "", EXAMPLES[kind].svg)
    colours = re.findall(r'(?:fill|stroke)="([^"]+)"', body)
    assert colours
    assert all(re.fullmatch(r"none|url\(#[\w-]+\)|var\(--rs-[\w-]+,#[0-9a-f]{6}\)", colour) for colour in colours)


def test_alone_a_picture_sets_its_own_colours_and_in_a_page_it_does_not():
    style = ET.fromstring(EXAMPLES["forest"].svg).find(f"{SVG}style").text
    selectors = re.findall(r"([^{}]+)\{--rs", style)
    assert selectors == ["svg:root", "svg:root"]
    assert "prefers-color-scheme:dark" in style


def test_the_same_data_give_the_same_bytes_in_another_process():
    code = "import chart_examples, hashlib; print(hashlib.sha256(''.join(c.svg + c.narrow for c in chart_examples.every_kind(7, prefix='p1').values()).encode()).hexdigest())"
    here = "".join(chart.svg + chart.narrow for chart in EXAMPLES.values()).encode()
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders)), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == hashlib.sha256(here).hexdigest()


def test_html_holds_both_pictures_and_notebooks_show_it():
    chart = EXAMPLES["curves"]
    assert chart.html.count("<svg ") == 2
    assert chart._repr_svg_() == chart.svg
    assert chart.html in chart._repr_html_()
    assert 'class="rs-wide"' in chart.svg
    assert 'class="rs-narrow"' in chart.narrow
    assert ".rs-chart .rs-narrow{display:none}" in charts.PAGE_CSS


@pytest.mark.parametrize("kind", charts.KINDS)
def test_a_page_has_the_same_pictures_without_what_only_files_need(kind):
    chart = EXAMPLES[kind]
    assert not re.search(r"<style| style=|xmlns|font-family|var\([^)]*,", chart.html)
    inside = ET.fromstring(chart.html)
    for of_file, of_page in zip((chart.svg, chart.narrow), inside, strict=True):
        root = ET.fromstring(of_file)
        root.remove(root.find(f"{SVG}style"))
        own, found = parts(root), parts(of_page)
        if of_file is chart.narrow and len(found) < len(own):  # of many marks, the tooltips are in the wide one
            assert len(of_file) > 8_000
            own = [part for part in own if part[1] != "title" or part[0] in {"svg", "text"}]
        assert own == found


def parts(root):
    """Return all elements of a picture that a page has, too, with colours by their names."""
    found = []
    for parent in root.iter():
        for node in parent:
            looks = {k: re.sub(r",#\w+", "", v) for k, v in node.attrib.items() if k not in {"font-family", "style"}}
            words = (node.text or "") + "".join(child.tail or "" for child in node)
            found.append((parent.tag.removeprefix(SVG), node.tag.removeprefix(SVG), words, looks))
    return found


@pytest.mark.parametrize("kind", charts.KINDS)
def test_the_description_is_one_sentence(kind):
    for n_systems in (1, 2, 4, 50):
        alt = chart_examples.DRAW[kind](n_systems, 0, "p").alt
        assert not re.search(r"[.!?] [A-Z]", alt), alt
        assert len(alt) < 700, alt


def luminance(colour):
    """Relative luminance after WCAG 2.1."""
    parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def rgb(text):
    return [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]


@pytest.mark.parametrize("theme", THEMES)
def test_contrast_is_enough_to_read(theme):
    colours = THEMES[theme]
    ground = rgb(colours["paper"])
    assert all(contrast(rgb(colours[name]), ground) >= 4.5 for name in ("ink", "ink-3", "better", "worse"))
    assert all(contrast(rgb(colours[f"s{i}"]), ground) >= 4.5 for i in range(1, 5))  # lines, and their names
    grounds = ["sunk", "better-tint", "worse-tint", "r0", "r1", "r2"]
    assert all(contrast(rgb(colours["ink"]), rgb(colours[name])) >= 4.5 for name in grounds)
    assert all(contrast(rgb(colours[f"on-r{i}"]), rgb(colours[f"r{i}"])) >= 4.5 for i in (3, 4))
    for tone in ("better", "worse", "same", "unsafe"):
        assert contrast(rgb(colours[tone]), rgb(colours[f"{tone}-tint"])) >= 4.5


def test_lines_differ_without_colour():
    assert len(set(DASHES)) == len(set(MARKERS)) == len(SERIES)
