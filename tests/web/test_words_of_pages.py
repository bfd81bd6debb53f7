"""What pages say to who came by a wrong address, may not do something, or looks at one collection of several."""

import pytest
from query_store import fill
from running import Server
from test_roles import ask, sessions, team  # noqa: F401 (a fixture)

import rankscope as rs
from rankscope.errors import OptionError
from rankscope.store import CollectionFacts, RunFacts, StoredQuery
from rankscope.web.address import options_in
from rankscope.web.library import Library
from rankscope.web.pages.compare import ComparePageOptions
from rankscope.web.pages.jobs import StartOptions
from rankscope.web.pages.queries import QueriesOptions


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A server on a store with two collections; the newest run is on the second."""
    store = rs.open_store(tmp_path_factory.mktemp("two") / "store.db", create=True)
    fill(store)
    store.qrels.add(rs.Qrels({"k1": {"e": 1}}), name="faq")
    asked = CollectionFacts(name="faq", queries={"k1": StoredQuery("how", {})})
    store.runs.add(
        rs.Run({"k1": ["e"]}), RunFacts(system="words", collection=asked, started="2026-02-01T10:00:00.000000+00:00")
    )
    server = Server(Library(store))
    yield server
    server.close()
    store.close()


@pytest.mark.parametrize(
    ("kind", "asked", "words"),
    [
        (ComparePageOptions, "margin=abc", "margin must be a number of 0 or more, such as 0.05"),
        (QueriesOptions, "show=never", "show must be one of all, "),
        (StartOptions, "depth=many", "depth must be a whole number from 1 to 10,000"),
        (StartOptions, "fresh=perhaps", "fresh must be 1 or 0"),
    ],
)
def test_what_a_value_must_be_is_said_in_words(kind, asked, words):
    with pytest.raises(OptionError) as error:
        options_in(kind, asked)
    assert error.value.message.startswith(words)


def test_a_comma_may_stand_for_the_point_of_a_number():
    assert options_in(ComparePageOptions, "margin=0,05").margin == 0.05
    with pytest.raises(OptionError):
        options_in(ComparePageOptions, "margin=1,000,000")


def test_errors_are_sentences_on_a_page_with_the_menu(server):
    html = server.get("/compare?margin=abc").data.decode()
    assert "Margin must be a number of 0 or more, such as 0.05." in html
    assert 'href="/systems"' in html
    wrong = server.get("/history?measure=ndgc@10").data.decode()
    assert "`" not in wrong


@pytest.mark.parametrize("where", ["/query?query=none", "/run?run=999", "/job?number=77", "/query.json?query=none"])
def test_what_is_not_there_is_not_found(server, where):
    assert server.get(where).status == 404


def test_the_menu_stays_with_the_collection(two):
    for page in (
        "/compare?collection=food",
        "/queries?collection=food",
        "/query?collection=food&query=q1",
        "/run?run=1",
    ):
        html = two.get(page).data.decode()
        for goal in ("/systems", "/history", "/targets"):
            assert f'href="{goal}?collection=food"' in html, page
        assert 'href="/collections"' in html  # it lists all of them
        assert 'href="/live"' in html  # there is no project that has it


def test_one_collection_needs_no_name_in_the_menu(server):
    assert 'href="/systems"' in server.get("/compare").data.decode()


def test_the_page_of_a_query_belongs_to_the_queries(two):
    assert (
        'href="/queries?collection=food" aria-current="true"'
        in two.get("/query?collection=food&query=q1").data.decode()
    )


def test_a_rater_is_told_what_raters_do_and_can_sign_out(team):  # noqa: F811
    answer = ask(team, "GET", "/", sessions(team)["rater"])
    html = answer.data.decode()
    assert answer.status == 403
    assert "Raters judge docs" in html
    assert 'action="/logout"' in html
    assert 'href="/systems"' not in html
    assert "Back to the overview" not in html


def test_viewers_are_offered_nothing_that_they_may_not_do(team):  # noqa: F811
    for who, offered in (("viewer", False), ("link", False), ("editor", True)):
        html = ask(team, "GET", "/", sessions(team)[who]).data.decode()
        assert ("Start runs" in html) == offered, who
    assert ">Live</a>" not in ask(team, "GET", "/", sessions(team)["link"]).data.decode()
    refused = ask(team, "GET", "/share", sessions(team)["viewer"]).data.decode()
    assert "Viewers read every page" in refused
