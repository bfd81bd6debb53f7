"""The server opens no address that a visitor gives, on whichever page and in whichever field of a form."""

import msgspec
import pytest
from running import TOKEN, Server
from test_jobs_pages import OneUser, send

from loopback import Loopback, Said
from rankscope.experiment.project import load_project
from rankscope.io import remote
from rankscope.store import open_store
from rankscope.web.address import address
from rankscope.web.library import Library
from rankscope.web.pages import ACTIONS, PAGES
from small_project import small_project

FORMS = [(route.path, route.options) for route in ACTIONS]
USUAL = {"collection": "small", "system": "words", "task": "1", "query": "q1", "text": "words", "number": "1"}


@pytest.fixture
def running(tmp_path):
    small = small_project(tmp_path / "project", n_queries=4, module="searching")
    small.write('[systems.words]\ntype = "bm25"\n')
    with open_store(small.folder, create=True) as store:
        library = Library(store, load_project(small.folder))
        server = Server(library)
        server.server.config.app.authenticator = OneUser(TOKEN)
        try:
            yield server
        finally:
            server.close()
            library.close()


def fields_of(options) -> list[str]:
    return [field.name for field in msgspec.structs.fields(options)]


def test_no_address_of_a_visitor_is_opened(running, monkeypatch):
    opened = []
    monkeypatch.setattr(remote, "backend_of", opened.append)
    n_asked = 0
    with Loopback(lambda asked: Said(b"q1 0 d1 1\n")) as elsewhere:
        for given in (f"{elsewhere.url}/qrels.txt", "s3://bucket/qrels.txt"):
            for route in PAGES:
                for name in fields_of(route.options):
                    answer = running.get(address(route.path, None, **{name: given}))
                    assert answer.status < 500, (route.path, name, answer.data[:300])
                    n_asked += 1
            for path, options in FORMS:
                known = {name: USUAL[name] for name in fields_of(options) if name in USUAL}
                for name in fields_of(options):
                    answer = send(running, path, **{**known, name: given})
                    assert answer.status < 500, (path, name, answer.data[:300])
                    n_asked += 1
            send(running, "/live/ask", text=given, collection=given, system=given)
            send(running, "/live/ask", text=given, collection="small", system="words")
        assert elsewhere.requests == []
    assert opened == []
    assert n_asked > 2 * (len(PAGES) + len(FORMS))
