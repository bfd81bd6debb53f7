"""What is on screen as files: every page with a report, in every form."""

import csv
import io
import json

import pytest

from rankscope.web.exporting import FORMS
from rankscope.web.pages import PAGES

EXPORTED = [route for route in PAGES if route.report is not None]


@pytest.mark.parametrize("route", EXPORTED, ids=lambda route: route.path)
@pytest.mark.parametrize("form", FORMS)
def test_a_page_can_be_had_as_a_file(server, route, form):
    answer = server.get(f"{'/index' if route.path == '/' else route.path}.{form}")
    assert answer.status in (200, 400, 404)
    if answer.status == 404:  # a page of tasks or targets, of which the store has none
        assert route.path in ("/agreement", "/flags", "/targets")
        assert b"nothing on this page yet" in answer.data
        return
    if answer.status == 400:
        assert form in ("svg", "png", "csv")
        assert b"The page has no" in answer.data
        return
    assert "attachment" in answer.headers["content-disposition"]
    start = {"svg": b"<svg xmlns=", "png": b"\x89PNG", "html": b"<!DOCTYPE html>"}.get(form)
    assert answer.data
    assert start is None or answer.data.startswith(start)
    assert b"var(--rs" not in answer.data or form == "html"


def test_the_table_of_systems_has_the_means_of_the_json(server):
    shown = json.loads(server.get("/history.json").data)["history"]
    newest = {system["system"]: system["points"][-1]["mean"] for system in shown["systems"]}
    tables = [
        list(csv.DictReader(io.StringIO(server.get(f"/history.csv?part={part}").data.decode()))) for part in range(2)
    ]
    table = next(rows for rows in tables if "nDCG@10" in rows[0])
    assert {row["system"]: float(row["nDCG@10"]) for row in table} == pytest.approx(newest, abs=5e-5)


def test_a_part_that_is_not_there_is_refused(server):
    assert server.get("/history.csv?part=99").status == 400
    assert server.get("/history.csv?part=x").status == 400


def test_the_main_chart_of_a_comparison_is_a_picture_with_a_row_for_each_system(server):
    page = json.loads(server.get("/compare.json").data)
    svg = server.get("/compare.svg").data.decode()
    for each in page["comparison"]["groups"][0]["leaderboard"]:
        assert each["system"] in svg
    assert svg.startswith("<svg xmlns=")


def test_targets_collections_and_the_overview_are_tables_with_the_words_of_their_pages(server):
    for path, words in (("/collections.csv", "judged queries"), ("/index.csv?part=0", "what")):
        answer = server.get(path)
        assert answer.status == 200, answer.data
        assert words in answer.data.decode().splitlines()[0]
    names = [line["name"] for line in json.loads(server.get("/collections.json").data)["lines"]]
    assert [line.partition(",")[0] for line in server.get("/collections.csv").data.decode().splitlines()[1:]] == names
