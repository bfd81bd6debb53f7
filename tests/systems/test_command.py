"""Programs that read queries and print a run; the programs are small Python scripts."""

from __future__ import annotations

import sys

import pytest

from rankscope.errors import OptionError
from rankscope.systems import command
from rankscope.systems.base import Query
from rankscope.systems.registry import make_system

QUERIES = [
    Query("1", "one\ttwo\nthree", {"language": "de", "text": "not this"}),
    Query("2", "zwei"),
    Query("3", "drei"),
]


@pytest.fixture
def program(tmp_path):
    """Return a function that makes a system of a script."""

    def make(code: str, **options: object):
        script = tmp_path / "search.py"
        script.write_text(f"import json, os, sys\nk = int(sys.argv[1])\n{code}")
        return make_system("command", {"command": [sys.executable, str(script), "{k}"], **options}, name="prog")

    return make


def answers_of(system, k=3):
    return {answer.query_id: answer for answer in system.answers(QUERIES, k=k)}


TREC = """
for line in sys.stdin:
    query = json.loads(line)
    for rank in range(k):
        print(query["id"], "Q0", f"d{rank}", rank + 1, 1 / (rank + 1), "me")
"""


def test_trec_text(program):
    system = program(TREC)
    assert system.search(QUERIES, k=2) == [[("d0", 1.0), ("d1", 0.5)]] * 3


def test_queries_as_json_lines_with_attributes(program):
    system = program(
        "for line in sys.stdin:\n q = json.loads(line)\n"
        " print(json.dumps({'query_id': q['id'], 'results': [[q['text'], 1], [q.get('language', 'none'), 2]]}))"
    )
    assert system.search(QUERIES[:2], k=5) == [[("de", 2.0), ("one\ttwo\nthree", 1.0)], [("none", 2.0), ("zwei", 1.0)]]


def test_queries_as_tab_separated_lines(program):
    system = program(
        "for line in sys.stdin:\n i, text = line.rstrip('\\n').split('\\t')\n"
        " print(json.dumps({'id': i, 'docs': [text]}))",
        input="tsv",
    )
    assert system.search(QUERIES[:2], k=5) == [[("one two three", 1.0)], [("zwei", 1.0)]]


def test_results_as_tables(program):
    system = program(
        "for line in sys.stdin:\n q = json.loads(line)\n"
        " print(json.dumps({'query_id': q['id'], 'hits': [{'doc_id': 'a', 'score': 1}, {'doc_id': 'b', 'score': 2}]}))"
    )
    assert system.search(QUERIES[:1], k=5) == [[("b", 2.0), ("a", 1.0)]]


def test_a_query_without_a_row_of_trec_text_has_no_results(program):
    system = program("sys.stdin.read()\nprint('2 Q0 a 1 1.0 me')")
    assert {query: answer.ranking for query, answer in answers_of(system).items()} == {
        "1": [],
        "2": [("a", 1.0)],
        "3": [],
    }


def test_a_json_program_that_leaves_a_query_out_is_started_again_for_it(program, tmp_path):
    log = tmp_path / "log"
    system = program(
        f"ids = [json.loads(line)['id'] for line in sys.stdin]\nopen({str(log)!r}, 'a').write(' '.join(ids) + '|')\n"
        "for i in ids:\n if i != '2' or len(ids) == 1:\n  print(json.dumps({'query_id': i, 'results': ['a']}))"
    )
    answers = answers_of(system)
    assert {query: (answer.failed, answer.n_attempts) for query, answer in answers.items()} == {
        "1": (False, 1), "3": (False, 1), "2": (False, 2),
    }  # fmt: skip
    assert log.read_text() == "1 2 3|2|"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('1 Q0 a 1 1.0 me')\nprint('no luck', file=sys.stderr)\nsys.exit(3)", "ended with code 3: no luck"),
        ("sys.stdin.read()", "the program printed nothing for it"),
        ("print('hello')", "'hello', which is no line of TREC text or JSON"),
        ("print('{oops')", "{oops, which is not JSON"),
        ("print('{\"a\": 1}')", "has none of query_id"),
        ("print('9 Q0 a 1 1.0 me')", "an answer for '9', which was not asked"),
        ("import time\nsys.stdout.flush()\ntime.sleep(20)", "had not ended after 0.5 s"),
    ],
)
def test_a_program_that_goes_wrong_fails_all_queries_without_an_answer(program, code, reason):
    answers = answers_of(program(code, attempts=1, timeout_s=0.5 if "sleep" in code else 30.0))
    assert {answer.failed for answer in answers.values()} == {True}
    assert reason in answers["1"].reason


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("1 Q0 a 1 nan me\\n", "the score of doc 'a' is nan, which is no number"),
        ("1 Q0 a 1 x me\\n", "the score of doc 'a' is nan, which is no number"),
        ("1 Q0 a 1 2 me\\n1 Q0 a 2 1 me\\n", "doc 'a' is there twice"),
    ],
)
def test_a_bad_ranking_fails_its_own_query_alone(program, rows, reason):
    answers = answers_of(program(f"sys.stdin.read()\nprint('{rows}2 Q0 b 1 1 me')", attempts=1))
    assert answers["1"].reason == reason
    assert answers["2"].ranking == [("b", 1.0)]


JSON = """
for line in sys.stdin:
    query = json.loads(line)
    if query["id"] == "2":
        print(LINE)
    else:
        print(json.dumps({"query_id": query["id"], "results": ["a"]}))
"""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"query_id": "2", "results": oops}', "which is not JSON"),
        ('{"id":"\\u0032","results":[["a", 1', "which is not JSON"),
        ('{"qid": 2, "results": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"query_id": "2", "results": [' + "9" * 10_000 + "]}", ""),
        ('{"query_id": "2", "results": null}', "has none of results"),
        ('{"query_id": "2", "results": 7}', "should be a list"),
        ('{"results": [], "query_id": "2"', "which is not JSON"),
        ('{"query_id": "9", "results": []}', "'9', which was not asked"),
        ('{"query_id": "1", "results": ["b"]}', "'1', which was not asked or answered before"),
        ("loading the index", "'loading the index', which is no line of TREC text or JSON"),
        ("2 docs found", "'2 docs found', which is no line of TREC text or JSON"),
        ("[" * 100_000, "which is no line of TREC text or JSON"),
        ("\n" * 1000, "printed nothing for it"),
    ],
)
def test_a_line_that_cannot_be_read_takes_no_answer_in_json_along(program, line, reason):
    answers = answers_of(program(JSON.replace("LINE", repr(line)), attempts=1))
    assert {query: answer.ranking for query, answer in answers.items()} == {
        "1": [("a", 1.0)],
        "2": None,
        "3": [("a", 1.0)],
    }
    assert reason in answers["2"].reason


def test_noise_before_answers_in_json_does_no_harm(program):
    answers = answers_of(program("print('1 moment please')\n" + JSON.replace('== "2"', "== 0"), attempts=1))
    assert not any(answer.failed for answer in answers.values())


@pytest.mark.parametrize("row", ["2 Q0 d9 1 0.1", "2", "2 Q0 d9 1 0.1 me more"])
def test_a_row_of_trec_text_that_cannot_be_read_fails_the_query_that_it_names(program, row):
    answers = answers_of(program(f"{TREC}print({row!r})", attempts=1))
    assert {query for query, answer in answers.items() if answer.failed} == {"2"}
    assert answers["2"].reason == f"the program printed {row!r}, which is no line of TREC text or JSON"


@pytest.mark.parametrize("row", ["nobody Q0 d9 1 0.1", "9 Q0 d9 1 0.1 me", "{"])
@pytest.mark.parametrize("is_first", [True, False])
def test_in_trec_text_a_row_that_may_be_of_any_query_fails_them_all(program, row, is_first):
    parts = [f"print({row!r})\n", TREC]
    answers = answers_of(program("".join(parts if is_first else parts[::-1]), attempts=1))
    assert all(answer.failed for answer in answers.values())
    assert {answer.reason.startswith("the program printed ") for answer in answers.values()} == {True}


def test_a_program_that_only_makes_noise_is_given_up(program, monkeypatch):
    monkeypatch.setattr(command, "_MOST_SKIPPED", 1000)
    for line, reason in (("", "more than 1,000 lines with nothing in them"), ("noise", "'noise', which is no line")):
        answers = answers_of(program(f"while True: print({line!r})", attempts=1, timeout_s=60))
        assert all(reason in answer.reason for answer in answers.values())


def test_lines_of_json_are_taken_as_they_come(program):
    """The program waits for ever after its first answer, so that only a reader that does not wait gets it."""
    system = program("print(json.dumps({'query_id': '1', 'results': ['a']}), flush=True)\nimport time\ntime.sleep(60)")
    answers = system.answers(QUERIES, k=3)
    assert next(answers).ranking == [("a", 1.0)]
    answers.close()


def test_a_program_that_does_not_read_its_input(program):
    many = [Query(str(i), "x" * 1000) for i in range(500)]
    system = program("print('7 Q0 a 1 1.0 me')")
    assert {answer.query_id for answer in system.answers(many, k=3) if answer.ranking} == {"7"}


def test_options():
    with pytest.raises(OptionError, match="nowhere/program cannot be started"):
        make_system("command", {"command": "nowhere/program --top {k}"}, name="x").search(QUERIES, k=3)
    with pytest.raises(OptionError, match="command is empty"):
        make_system("command", {"command": " "})
    with pytest.raises(OptionError, match="input 'xml' is not one of jsonl, tsv"):
        make_system("command", {"command": "x", "input": "xml"})
    system = make_system("command", {"command": "search --top {k} 'two words' {other}"})
    assert system.arguments(k=9) == ["search", "--top", "9", "two words", "{other}"]
    assert system.describe() == {"type": "command", "command": "search --top {k} 'two words' {other}", "input": "jsonl"}
