"""Systems that are asked one query: all at once, each for itself, whatever happens to one of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said
from rankscope.experiment import live as live_module
from rankscope.experiment.live import LiveAsker, LiveQuestion
from small_project import small_project, systems

LONG_S = 60
CODE = """
import sys

def printing(query):
    print("this is no answer")
    return ["d3", "d5"]

def failing(query):
    raise ValueError("not with s3cret-of-the-search")

def hanging(query):
    time.sleep(600)

def dying(query):
    os.kill(os.getpid(), signal.SIGKILL)

def attributes(query):
    return [query.attributes["first"], "d9"]
"""


@pytest.fixture
def small(tmp_path):
    made = small_project(tmp_path / "project", n_queries=4, module="searching")
    made.add(CODE)
    made.write(
        systems("printing", "failing", "hanging", "dying", "attributes")
        + '[systems.words]\ntype = "bm25"\nk1 = [0.9, 1.2]\n'
        + '[systems.wider]\ntype = "expand"\nof = "words"\n'
        + '[systems.wider.dictionary]\nsoup = {terms = ["broth"], negatives = ["cake"]}\n'
        + '[systems.both]\ntype = "hybrid"\nof = ["wider", "words"]\nweights = "tune"\n'
    )
    return made


@pytest.fixture
def asker(small):
    made = LiveAsker(small.folder / "rankscope.toml")
    yield made
    made.close()


def ask(asker, *names, text="text 13", **options):
    futures = asker.ask(LiveQuestion(collection="small", systems=names, text=text, **options))
    return {name: future.result(LONG_S) for name, future in futures.items()}


def test_all_systems_answer_with_titles_and_times(asker):
    found = ask(asker, "words", "printing", "both", k=3)
    # d13 is the only doc that holds "13"; all have the other word
    assert found["words"].docs[0].doc == "d13"
    assert found["words"].docs[0].text == "text 13 of the docs"
    assert len(found["both"].docs) == 3
    assert [doc.doc for doc in found["printing"].docs] == ["d3", "d5"]
    assert all(answer.latency_ms >= 0 and not answer.failure for answer in found.values())
    assert found["words"].index_s is not None
    again = ask(asker, "words")
    assert again["words"].index_s is None  # the docs are indexed already
    assert asker.timeout_of("small", "words") == live_module.ANSWER_S
    assert asker.timeout_of("small", "wider") == live_module.INDEX_S


def test_what_a_system_adds_to_a_query_is_told(asker):
    found = ask(asker, "wider", "both", "words", text="soup")
    assert (found["wider"].added, found["wider"].removed) == (("broth",), ("cake",))
    assert (found["both"].added, found["both"].removed) == (("broth",), ("cake",))
    assert found["words"].added == ()


def test_attributes_go_along(asker):
    assert ask(asker, "attributes", attributes={"first": "d7"})["attributes"].docs[0].doc == "d7"


def test_a_system_that_fails_says_why(asker, small, monkeypatch):
    monkeypatch.setenv("API_KEY", "s3cret-of-the-search")
    with (small.folder / "rankscope.toml").open("a") as stream:
        stream.write('[systems.away]\ntype = "http"\nurl = "http://127.0.0.1:9/${API_KEY}?q={query}"\nattempts = 1\n')
    found = ask(asker, "failing", "words", "away")
    assert found["failing"].failure == "ValueError: not with ${API_KEY}"
    assert found["words"].docs
    assert "Connection refused" in found["away"].failure
    assert "s3cret" not in repr(found)


def test_a_system_that_hangs_holds_nobody_up(asker, monkeypatch):
    waiting = asker.ask(LiveQuestion(collection="small", systems=("hanging", "words"), text="soup"))
    assert ask(asker, "words")["words"].failure == ""
    assert not waiting["hanging"].done()
    monkeypatch.setattr(live_module, "STUCK_S", -live_module.INDEX_S - 1)  # its time is over
    assert ask(asker, "words")["words"].docs
    assert "ended by SIGKILL" in waiting["hanging"].result(LONG_S).failure


def test_a_system_that_crashes_takes_nothing_else_along(asker):
    assert "ended by SIGKILL; ask again" in ask(asker, "dying")["dying"].failure
    assert ask(asker, "words")["words"].docs


def test_what_a_search_says_of_a_query_is_shown(asker, small):
    reply = {"hits": ["d4"], "intent": {"label": "electrophysiology"}, "terms": ["ablation", "SVT"]}
    with Loopback(lambda _: Said(reply)) as server:
        with (small.folder / "rankscope.toml").open("a") as stream:
            stream.write(
                f'[systems.search]\ntype = "http"\nurl = "{server.url}/?q={{query}}"\nids = "$.hits[*]"\n'
                'shows = { intent = "$.intent.label", added = "$.terms[*]", clarity = "$.clarity" }\n'
            )
        found = ask(asker, "search")["search"]
    assert [doc.doc for doc in found.docs] == ["d4"]
    assert found.facts["intent"] == "electrophysiology"
    assert found.facts["added"] == "ablation, SVT"
    assert not found.facts.get("clarity")


def test_a_project_that_cannot_be_read(tmp_path):
    asker = LiveAsker(tmp_path / "rankscope.toml")
    assert "ended by exit code 1" in ask(asker, "words")["words"].failure
    asker.close()
