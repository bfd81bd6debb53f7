"""One odd answer fails its own query, with the reason; the other queries and the next systems go on."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rankscope.experiment import retrieve
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import run_project
from rankscope.report.benchmark import report_of
from rankscope.report.render import render
from rankscope.systems.answers import BadAnswerError
from rankscope.systems.base import Query
from rankscope.systems.function import PythonFunction
from rankscope.systems.http import Http
from rankscope.systems.rankings import read_ranking
from rankscope.systems.transport import HttpReply

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Asked, Loopback, Said
from small_project import SmallProject, small_project

ODD = "q2"
NESTED = b"[" * 100_000
BIG = "9" * 4000


@pytest.fixture
def small(tmp_path) -> SmallProject:
    return small_project(tmp_path, n_queries=5)


def run(small: SmallProject, system: str) -> Any:
    """Run an odd system and then a sound one; return the odd one, after all output was made of it."""
    small.write(f'[systems.odd]\n{system}\n[systems.one]\ntype = "python"\nrecords = true\nfunction = "MODULE:one"\n')
    benchmark = run_project(load_project(small.folder))
    for form in ("text", "html"):
        render(report_of(benchmark), form).encode()
    odd, one = benchmark.collections[0].systems
    assert one.failures == ()
    return odd


def check_only_the_odd_one_failed(odd: Any, reason: str) -> None:
    assert [failure.query for failure in odd.failures] == [ODD]
    assert reason in odd.failures[0].reason


ANSWERS = {
    "nested": (NESTED, "nested too deeply"),
    "nested tables": (b'{"hits":' * 100_000, "nested too deeply"),
    "a surrogate": (b'{"hits": [{"id": "a\\ud800b"}]}', "lone surrogate"),
    "a long number": (f'{{"hits": [{{"id": {BIG * 2}}}]}}'.encode(), ""),
    "a text": ({"hits": "d1"}, "is not there, but 'd1'"),
    "nothing": ({"hits": None}, "is not there, but None"),
    "a number": ({"hits": [{"id": 1.5}]}, "1.5 (float)"),
    "true": ({"hits": [{"id": True}]}, "True (bool)"),
    "a table": ({"hits": [{"id": {}}]}, "{} (dict)"),
    "twice": ({"hits": [{"id": "d17"}, {"id": "d17"}]}, "doc 'd17' is there twice"),
    "not UTF-8": (b'{"hits": [{"id": "\xff\xfe"}]}', "not JSON"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_over_http(answer, small):
    content, reason = ANSWERS[answer]
    with Loopback(lambda asked: Said(content if ODD in asked.path else {"hits": [{"id": "d1"}]})) as server:
        odd = run(small, f'type = "http"\nurl = "{server.url}/{{query_id}}"\nids = "$.hits[*].id"\nattempts = 1\n')
    check_only_the_odd_one_failed(odd, reason)


def test_the_report_shows_the_value_that_was_wrong(small):
    small.add(CODE.replace("ODD", "return ['d17', 'd17']"))
    small.write(f"[systems.odd]\n{SHAPES['function']}\n")
    text = render(report_of(run_project(load_project(small.folder))), "text")
    assert "odd: 1 × query 'q2': doc 'd17' is there twice" in text


def test_escapes_of_a_terminal_do_not_reach_it(small):
    with Loopback(lambda asked: Said(b"\x1b[31mred" if ODD in asked.path else [{"id": "d1"}])) as server:
        odd = run(small, f'type = "http"\nurl = "{server.url}/{{query_id}}"\nattempts = 1\n')
    check_only_the_odd_one_failed(odd, "not JSON: \\x1b[31mred")


@pytest.mark.parametrize("score", ["1e999", BIG, "null", "NaN", '"7"', "true", "[1]"])
def test_scores_over_http(score, small):
    content = f'{{"hits": [{{"id": "d1", "s": {score}}}]}}'.encode()
    sound = {"hits": [{"id": "d1", "s": 1}]}
    with Loopback(lambda asked: Said(content if ODD in asked.path else sound)) as server:
        paths = 'ids = "$.hits[*].id"\nscores = "$.hits[*].s"\nattempts = 1\n'
        odd = run(small, f'type = "http"\nurl = "{server.url}/{{query_id}}"\n{paths}')
    check_only_the_odd_one_failed(odd, "score of doc 'd1'")


@pytest.mark.parametrize("content", [NESTED, b'{"hits": {"hits": [{"_id": "\\ud800", "_score": 1}]}}', b"null", b"7"])
def test_of_elasticsearch(content, small):
    sound = {"hits": {"hits": [{"_id": "d1", "_score": 2.0}]}}
    with Loopback(lambda asked: Said(content if "text 2" in asked.body else sound)) as server:
        odd = run(small, f'type = "elasticsearch"\nurl = "{server.url}"\nindex_name = "x"\nattempts = 1\n')
    check_only_the_odd_one_failed(odd, "")


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("\xb2", None),
        ("١٢", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "long"),
        ("9" * 400, "long"),
        ("-1", None),
        ("1e9", None),
        ("", None),
        ("99 Foo", None),
    ],
)
def test_a_strange_retry_after(value, wait):
    found = HttpReply(503, {"Retry-After": value}, b"").retry_after_s
    assert found is None if wait is None else found > 1e6


def test_a_strange_retry_after_is_waited_for_like_none(small):
    first = set()

    def answer(asked: Asked) -> Said:
        if asked.path in first:
            return Said([{"id": "d1"}])
        first.add(asked.path)
        return Said(b"", 503, {"Retry-After": "\xb2"})

    with Loopback(answer) as server:
        assert run(small, f'type = "http"\nurl = "{server.url}/{{query_id}}"\nbackoff_s = 0.001\n').failures == ()


@pytest.mark.parametrize("wait", ["99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "121"])
def test_a_server_that_asks_to_wait_for_long_is_not_waited_for(wait):
    with Loopback(lambda _: Said(b"busy", 503, {"Retry-After": wait})) as server:
        started = time.monotonic()
        answers = list(Http(url=server.url).answers([Query("1", "x"), Query("2", "y")], k=1))
        assert len(server.requests) == 2
    assert time.monotonic() - started < 10
    assert {answer.reason for answer in answers} == {"the server answered 503: busy; it asks to wait longer than 120 s"}


def test_headers_outside_latin_1_are_utf_8_and_half_characters_are_refused():
    queries = [Query("1", "naïve 北京"), Query("2", "half \ud800"), Query("3", "plain")]
    with Loopback(lambda _: Said([{"id": "a"}])) as server:
        system = Http(url=server.url, headers={"X-Query": "{query}"}, attempts=1)
        answers = {answer.query_id: answer for answer in system.answers(queries, k=1)}
        sent = {asked.headers["X-Query"].encode("latin-1").decode() for asked in server.requests}
    assert sent == {"naïve 北京", "plain"}
    assert {query: answer.failed for query, answer in answers.items()} == {"1": False, "2": True, "3": False}
    assert "the header X-Query would hold half a character" in answers["2"].reason


@pytest.mark.parametrize("body", ["q={query}", '{"q": "{query}"}', {"q": "{query}"}])
def test_half_a_character_in_a_query_fails_that_query_at_most(body):
    queries = [Query("1", "x"), Query("2", "half \ud800"), Query("3", "y")]
    with Loopback(lambda _: Said([{"id": "a"}])) as server:
        system = Http(url=f"{server.url}/?q={{query}}", body=body, attempts=3)
        answers = {answer.query_id: answer for answer in system.answers(queries, k=1)}
    assert [query for query in answers if answers[query].failed] == ["2"]
    assert answers["2"].n_attempts == 1, "it would fail again"


PROGRAM = """
import json, sys
for line in sys.stdin:
    query = json.loads(line)["id"]
    if query == "q2":
        ODD
    else:
        print(json.dumps({"query_id": query, "results": ["d1"]}), flush=True)
"""


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ("""print('{"query_id": "q2", "results": [["a\\\\ud800", 1]]}')""", "lone surrogate"),
        ("""print('{"query_id": "q2", "results": [["d1", 1e999]]}')""", "score of doc 'd1' is inf"),
        ("""print('{"query_id": "q2", "results": "d1"}')""", "its results are 'd1', but should be a list"),
        ("""print('{"query_id": "q2", "results": [null]}')""", "None"),
        ("pass", "printed nothing for it"),
    ],
)
def test_of_a_program(odd, reason, small):
    (small.folder / "prog.py").write_text(PROGRAM.replace("ODD", odd))
    command = json.dumps([sys.executable, "prog.py"])
    check_only_the_odd_one_failed(run(small, f'type = "command"\ncommand = {command}\nattempts = 1\n'), reason)


def test_a_program_that_prints_brackets_without_end_fails_what_is_left(small):
    (small.folder / "prog.py").write_text(PROGRAM.replace("ODD", "print('{\"query_id\":' + '[' * 100_000)"))
    command = json.dumps([sys.executable, "prog.py"])
    odd = run(small, f'type = "command"\ncommand = {command}\nattempts = 1\n')
    assert odd.failures[0].query == ODD
    assert "nested too deeply" in odd.failures[0].reason


FUNCTIONS = {
    "return 'd1'": "'d1' (str) is no ranking",
    "return b'd1'": "b'd1' (bytes) is no ranking",
    "return None": "None (NoneType) is no ranking",
    "return 17": "17 (int) is no ranking",
    "return object": "is no ranking",
    "return {'d1', 'd2'}": "(set) is no ranking",
    "return [None]": "None (NoneType) is no doc",
    "return [1.5]": "1.5 (float) is no doc",
    "return ['d1', ('d2', 1.0)]": "'d1' has no score, but others have",
    "return [('d1', 'high')]": "the score of doc 'd1' is 'high'",
    "return [('d1', 10 ** 400)]": "larger than any score",
    "return [(10 ** 5000, 1.0)]": "too long",
    "return [('d1', float('nan'))]": "is nan",
    "return [('d1', 1, 2)]": "('d1', 1, 2) (tuple) is no doc",
    "return ['d17', 'd17']": "doc 'd17' is there twice",
    "return ['a\\ud800']": "lone surrogate",
    "return [{'score': 1.0}]": "{'score': 1.0} has no id",
    "return {'ids': [['d1'], ['d2']], 'distances': None}": "rows for 2 queries, but one was asked",
    "return {'ids': [['d1']], 'distances': [[1, 2]]}": "1 ids, but 2 distances",
    "import itertools; return itertools.count()": "more than 1,000,000 hits",
    "sys.exit(0)": "SystemExit: 0",
    "raise Leave('now')": "Leave: now",
    "raise StrangeInterrupt('now')": "StrangeInterrupt: now",
    "raise asyncio.CancelledError": "CancelledError",
    "raise Mute": "Mute",
    "raise ValueError('half \\ud800')": "ValueError: half \\ud800",
    "return (1 / 0 for _ in 'x')": "ZeroDivisionError",
    "return Broken()": "is no ranking",
    "return [Broken()]": "is no doc",
    "def deep(n):\n    return deep(n + 1)\n  deep(0)": "RecursionError",
}
CODE = """
import asyncio, sys

class Leave(BaseException): pass
class StrangeInterrupt(KeyboardInterrupt): pass
class Mute(Exception):
    def __str__(self): raise RuntimeError
class Broken:
    def __repr__(self): raise RuntimeError

def odd(query):
 if query.id == "q2":
  ODD
 return docs_for(query.id)

def odd_batch(queries):
    return [odd(query) for query in queries]

from rankscope.systems.base import BaseSystem
import dataclasses

@dataclasses.dataclass
class OddClass(BaseSystem):
    name: str = "odd"
    def rank(self, queries, *, k): return [odd(query) for query in queries]
    def describe(self): return {}

@dataclasses.dataclass
class OddAnswers(BaseSystem):
    name: str = "odd"
    def answers(self, queries, *, k):
        from rankscope.systems.answers import Answer
        last = [query for query in queries if query.id == "q2"]
        for query in [query for query in queries if query.id != "q2"] + last:
            found = odd(query)
            yield Answer(query.id, found) if isinstance(found, list) and query.id != "q2" else found
    def describe(self): return {}
"""
SHAPES = {
    "function": 'type = "python"\nrecords = true\nfunction = "MODULE:odd"',
    "batch": 'type = "python"\nrecords = true\nbatch = true\nfunction = "MODULE:odd_batch"',
    "class": 'type = "MODULE:OddClass"',
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("odd", FUNCTIONS)
def test_of_python(odd, shape, small, monkeypatch):
    monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
    small.add(CODE.replace("ODD", odd))
    check_only_the_odd_one_failed(run(small, SHAPES[shape]), FUNCTIONS[odd])


@pytest.mark.parametrize("odd", ["return 'd1'", "sys.exit(0)", "raise Leave('now')", "return None"])
def test_of_a_class_that_answers_by_itself(odd, small):
    small.add(CODE.replace("ODD", odd))
    check_only_the_odd_one_failed(run(small, 'type = "MODULE:OddAnswers"'), "")


@pytest.mark.parametrize("returned", ["7", "None", "'d1'", "{}", "[]", "[['d1']] * 9", "odd"])
def test_of_a_batch_as_a_whole(returned, small, monkeypatch):
    monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
    small.add(f"def odd(queries):\n    return {returned}\n")
    odd = run(small, 'type = "python"\nbatch = true\nfunction = "MODULE:odd"')
    assert len(odd.failures) == 5


def test_a_real_interruption_stops(small):
    small.add("def odd(text):\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        run(small, 'type = "python"\nfunction = "MODULE:odd"')


def test_a_module_that_exits_when_it_is_loaded(small):
    small.add("import sys; sys.exit(0)")
    odd = run(small, 'type = "python"\nfunction = "MODULE:odd"')
    assert odd.is_left_out
    assert "fails: SystemExit: 0" in odd.finding.message


def document(text: str, **more: Any) -> Any:
    return SimpleNamespace(page_content=text, **{"metadata": {}, "id": None, **more})


def node(doc: str, score: float | None) -> Any:
    return SimpleNamespace(node=SimpleNamespace(node_id=doc, text="x", metadata={}), score=score)


@pytest.mark.parametrize(
    ("answer", "ranking"),
    [
        (["b", "a"], {"b": 1.0, "a": 0.5}),
        ((doc for doc in ("b", "a")), {"b": 1.0, "a": 0.5}),
        (np.array(["b", "a"]), {"b": 1.0, "a": 0.5}),
        (np.array([7, 3]), {"7": 1.0, "3": 0.5}),
        ({"b": 2.0, "a": 1}, {"b": 2.0, "a": 1.0}),
        ([("b", np.float32(2)), ("a", np.array(1.0))], {"b": 2.0, "a": 1.0}),
        ([{"id": "b", "score": 2}, {"id": "a", "score": 1}], {"b": 2.0, "a": 1.0}),
        ([{"doc_id": "b"}, {"_id": "a"}], {"b": 1.0, "a": 0.5}),
        ([{"id": "b", "distance": 0.1}, {"id": "a", "distance": 0.3}], {"b": -0.1, "a": -0.3}),
        (
            [{"episode_id": e, "podcast_id": "p", "_distance": d} for e, d in (("b", 0.1), ("a", 0.3))],
            {"b": -0.1, "a": -0.3},
        ),
        ([{"practitioner_id": "b", "name": "Dr B"}, {"practitioner_id": "a", "name": "Dr A"}], {"b": 1.0, "a": 0.5}),
        ([{"hpo_id": "b", "label": "Seizure", "similarity": 0.9}], {"b": 0.9}),
        ([document("x", metadata={"id": "b"}), document("y", metadata={"source": "a"})], {"b": 1.0, "a": 0.5}),
        ([document("x", id="b"), document("y", id="a", metadata={"source": "s"})], {"b": 1.0, "a": 0.5}),
        ([(document("x", id="b"), 0.9), (document("y", id="a"), 0.5)], {"b": 0.9, "a": 0.5}),
        ([(document("x", id="b"), 0.2), (document("y", id="a"), 0.5)], {"b": -0.2, "a": -0.5}),
        ([{"page_content": "x", "metadata": {"id": "b"}}], {"b": 1.0}),
        ([node("b", 0.9), node("a", 0.5)], {"b": 0.9, "a": 0.5}),
        ([node("b", None), node("a", None)], {"b": 1.0, "a": 0.5}),
        ({"ids": [["b", "a"]], "distances": [[0.1, 0.3]], "documents": None}, {"b": -0.1, "a": -0.3}),
        ({"ids": [["b", "a"]], "distances": None}, {"b": 1.0, "a": 0.5}),
        ({"ids": ["b", "a"], "metadatas": [{}, {}]}, {"b": 1.0, "a": 0.5}),
        ({"ids": [[]], "distances": [[]]}, {}),
        ([SimpleNamespace(id=7, score=0.9), SimpleNamespace(id="a", score=0.5)], {"7": 0.9, "a": 0.5}),
        (SimpleNamespace(points=[SimpleNamespace(id="b", score=0.9, payload={})]), {"b": 0.9}),
        ({"ids": 3.0, "d": 1.0}, {"ids": 3.0, "d": 1.0}),
        ([], {}),
    ],
)
def test_shapes_of_other_libraries(answer, ranking):
    found = read_ranking(answer, k=10)
    assert dict(found) == pytest.approx(ranking)
    assert [doc for doc, _ in found] == list(ranking), "best first"


def test_a_document_without_an_id_says_where_to_put_it():
    with pytest.raises(BadAnswerError, match="has no id in its metadata, as id or source"):
        read_ranking([document("some text")], k=10)


def test_chroma_answers_a_batch_in_one_table():
    def function(texts):
        return {"ids": [[text, "z"] for text in texts], "distances": [[0.1, 0.2] for _ in texts]}

    queries = [Query("1", "a"), Query("2", "b")]
    found = PythonFunction(function=function, batch=True).search(queries, k=1)
    assert found == [[("a", -0.1)], [("b", -0.1)]]
