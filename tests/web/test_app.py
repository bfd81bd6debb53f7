import json

import msgspec
import urllib3
from running import TOKEN

from rankscope.web.pages import ACTIONS, PAGES


def test_every_page_has_html_and_a_json_twin(server):
    for route in PAGES:
        html = server.get(route.path)
        assert html.status == 200, route.path
        assert b"<h1" in html.data
        twin = server.get("/index.json" if route.path == "/" else f"{route.path}.json")
        assert twin.status == 200
        assert isinstance(json.loads(twin.data), dict)


def test_openapi_describes_every_route(server):
    schema = json.loads(server.get("/schema/openapi.json").data)
    for route in PAGES:
        assert "get" in schema["paths"][route.path]
        for option in route.options.__struct_fields__:
            assert option in [each["name"] for each in schema["paths"][route.path]["get"]["parameters"]]


def test_openapi_describes_every_form(server):
    schema = json.loads(server.get("/schema/openapi.json").data)
    for route in ACTIONS:
        assert schema["paths"][route.path]["post"]["summary"] == route.title
        assert "requestBody" in schema["paths"][route.path]["post"]


def test_no_number_of_an_address_breaks_a_page(server):
    for route in PAGES:
        for field in msgspec.structs.fields(route.options):
            if "int" in str(field.type):
                for number in (-1, 0, 2**62, 2**63, 10**30):
                    answer = server.get(f"{route.path}?{field.encode_name}={number}")
                    assert answer.status in (200, 400, 404), (route.path, field.name, number)


def test_there_are_no_pages_that_would_load_scripts_from_elsewhere(server):
    for path in ("/schema", "/schema/swagger", "/schema/elements", "/schema/redoc", "/schema/rapidoc"):
        answer = server.get(path)
        assert answer.status == 404 or b"<script" not in answer.data, path


def test_nothing_is_shown_without_a_session(server):
    answer = urllib3.request("GET", server.url + "/", redirect=False)
    assert answer.status == 401
    assert b"token" in answer.data
    assert urllib3.request("GET", server.url + "/index.json", redirect=False).json()["error"]
    assert urllib3.request("GET", server.url + "/?token=wrong", redirect=False).status == 403


def test_a_link_with_the_token_becomes_a_cookie_and_leaves_the_address(server):
    answer = urllib3.request("GET", f"{server.url}/?collection=doctor-finder&token={TOKEN}", redirect=False)
    assert answer.status == 303
    assert answer.headers["location"] == "/?collection=doctor-finder"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert TOKEN not in answer.headers["set-cookie"]


def test_other_hosts_and_origins_are_refused(server):
    assert server.get("/", Host="evil.example").status == 421
    posted = urllib3.request("POST", server.url + "/", headers={"Origin": "http://evil.example"}, redirect=False)
    assert posted.status == 403


def test_the_first_page_opens_in_a_browser(page):
    assert page.locator("h1").first.inner_text()
    assert page.url.endswith("/")


def test_openapi_knows_every_route(server):
    paths = json.loads(server.get("/schema/openapi.json").data)["paths"]
    known = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    for route in server.app.app.routes:
        for handler in route.route_handlers:
            for method in handler.http_methods - {"OPTIONS", "HEAD"}:
                if not route.path.startswith(("/schema", "/static")):
                    assert (method, route.path_format) in known, route.path
    assert [one["name"] for one in paths["/job/events"]["get"]["parameters"]] == ["number"]
    assert list(paths["/live/ask"]["post"]["responses"]["200"]["content"]) == ["application/x-ndjson"]


def test_exports_say_their_charset_once_and_have_names_of_their_own(server):
    first, second = (server.get(f"/compare.csv?part={part}").headers for part in (0, 1))
    assert first["content-type"] == "text/csv; charset=utf-8"
    assert first["content-disposition"] != second["content-disposition"]
