"""What others write is shown and never obeyed: hostile ids and texts on every page, in a real browser; secrets on none."""

import json
import logging
import re
from urllib.parse import quote

import msgspec
import pytest
from crawl import crawl, json_twin
from hostile import ATTACKS, ELSEWHERE, fill_hostile
from running import TOKEN, Server
from sample import fill_store

from rankscope.experiment.project import load_project
from rankscope.web.address import address, parameters_in
from rankscope.web.library import Library
from rankscope.web.pages import PAGES
from small_project import small_project

MARKUP = [attack for attack in ATTACKS if "<" in attack]
"""What must not stand in a page as it is; whether the others do something is seen in a browser."""


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    store = fill_hostile(tmp_path_factory.mktemp("hostile"))
    server = Server(Library(store))
    yield server
    server.close()
    store.close()


def test_every_page_answers_and_escapes(attacked):
    n = 0
    for where, answer in crawl(attacked.get, most_per_path=3):
        assert answer.status == 200, f"{where}: {answer.status} {answer.data[:500]}"
        if "attachment" in answer.headers.get("content-disposition", ""):
            n += 1
            continue  # a file to keep, in which ids stay what they are
        text = answer.data.decode("utf-8")  # what is no character has become something that can be read
        n += 1
        if "json" in answer.headers["content-type"]:
            json.loads(text)
        if "text/html" not in answer.headers["content-type"]:
            continue
        for attack in MARKUP:
            assert attack not in text, where
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", text), where
    assert n >= 2 * len(PAGES)


def hostile_addresses():
    """Yield every page with an attack in each of its options, and such paths."""
    for route in PAGES:
        for field in msgspec.structs.fields(route.options):
            for attack in (ATTACKS[0], ATTACKS[2], ATTACKS[6]):
                value = quote(attack.encode("utf-8", "surrogatepass"))
                for path in (route.path, json_twin(route.path)):
                    yield f"{path}?{field.name}={value}"
    for attack in ATTACKS[:3]:
        yield f"/{quote(attack)}"
        yield f"/static/{quote(attack)}"


def test_attacks_in_addresses_come_back_as_text(attacked):
    for where in hostile_addresses():
        answer = attacked.get(where)
        assert answer.status in (200, 400, 404), f"{where}: {answer.status} {answer.data[:300]}"
        assert "Something went wrong" not in answer.data.decode("utf-8"), where
        if "html" in answer.headers["content-type"]:
            assert not [attack for attack in MARKUP if attack in answer.data.decode("utf-8")], where


def test_any_id_survives_an_address():
    for odd in (*ATTACKS, "\udcff\ud800", "caf\u00e9 \U0001f600", "a+b%20&c=d;e", "\u00c3\u00a9"):
        written = address("/", None, x=odd)
        assert written.isascii()
        assert parameters_in(written.partition("?")[2], keep_blank_values=True) == [("x", odd)]
    assert parameters_in("x=%FF%C3%A9") == [("x", "\udcff\u00e9")]  # bytes that nobody of ours has written


def test_in_a_browser_no_script_runs_and_nothing_is_asked_elsewhere(attacked, chromium):
    addresses = [where for where, _ in crawl(attacked.get, most_per_path=2) if ".json" not in where]
    addresses += [where for where in hostile_addresses() if ".json" not in where][::4]
    context = chromium.new_context(base_url=attacked.url)
    page = context.new_page()
    asked, dialogs = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"/?token={TOKEN}")
    n = 0
    for where in addresses:
        if re.search(r"\.(csv|md|tex|svg|png|html)(\?|$)", where):
            continue  # a file to keep; what is in it has tests of its own
        page.goto(where, wait_until="load")
        assert page.evaluate("window.attacked") is None, where
        n += 1
    context.close()
    assert n >= len(PAGES)
    assert dialogs == []
    assert [url for url in asked if not url.startswith(attacked.url)] == []
    assert not [url for url in asked if ELSEWHERE in url]


SECRET = "s3cr3t-Zx9q7Wp"


def test_secrets_are_on_no_page_and_in_no_log(tmp_path, monkeypatch, caplog):
    """As for the command line (tests/systems/test_secrets.py): in options, in the environment, in errors."""
    monkeypatch.setenv("RS_SECRET", SECRET)
    monkeypatch.setenv("SOME_API_KEY", SECRET[::-1])
    monkeypatch.setenv("RANKSCOPE_TOKEN", TOKEN)
    small = small_project(tmp_path, n_queries=4, module="searching_for_secrets")
    small.write(
        '[systems.asked]\ntype = "http"\nurl = "http://127.0.0.1:9/x${RS_SECRET}?q={query}"\n'
        'headers = { Authorization = "Bearer ${RS_SECRET}" }\n'
        '[systems.told]\ntype = "command"\ncommand = "search --key ${RS_SECRET}"\n'
        '[systems.words]\ntype = "bm25"\n'
    )
    project = load_project(tmp_path)
    store = fill_store(tmp_path, n_queries=4, weeks=("2026-10-05",))
    library = Library(store, project)
    server = Server(library)
    seen = []
    try:
        with caplog.at_level(logging.DEBUG):
            for where, answer in crawl(server.get, starts=("/schema/openapi.json", "/login", "/nowhere")):
                seen += [where for secret in (SECRET, SECRET[::-1], TOKEN) if secret.encode() in answer.data]
                seen += [f"{where} headers" for secret in (SECRET, SECRET[::-1]) if secret in str(answer.headers)]

            def fail(*_, **__):
                raise RuntimeError(f"connection to http://x/{SECRET} failed with {SECRET[::-1]}")

            monkeypatch.setattr(store.links, "list", fail)
            failed = server.get("/share")
        assert failed.status == 500
        assert SECRET not in failed.data.decode()
    finally:
        server.close()
        store.close()
    assert seen == []
    assert "connection to http://x/" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET[::-1] not in caplog.text
