"""Warnings say in which line of the user's own program the data came in, and one call gives one of them."""

import linecache
import warnings

import pytest

import rankscope as rs
from rankscope.errors import give_warning

QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(12)}
SOME = {query: ["b", "a"] for query in list(QRELS)[:9]}
MORE = {query: ["a", "b"] for query in list(QRELS)[:8]}


def files(folder):
    """Write qrels and two runs that do not answer every query, with a malformed line in each."""
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()))
    for name, run in (("one.run", SOME), ("two.run", MORE)):
        rows = [f"{query} Q0 {doc} {i} {-i} t\n" for query, docs in run.items() for i, doc in enumerate(docs, 1)]
        (folder / name).write_text("".join([*rows, "malformed\n"]))
    return [str(folder / name) for name in ("qrels.txt", "one.run", "two.run")]


def assert_at(call, warned, *, n=1):
    """Assert that each warning names the line of this file that holds a call."""
    for warning in warned:
        assert warning.filename == __file__
        assert call in linecache.getline(warning.filename, warning.lineno)
    assert len(warned) == n, [str(warning.message) for warning in warned]


def test_evaluate_and_compare_of_dicts():
    for function in (rs.evaluate, rs.compare):
        with pytest.warns(rs.RankscopeWarning) as warned:
            function(QRELS, {"one": SOME, "two": MORE}, "RR")
        assert_at("function(", warned)
        assert [note.split(" of ")[0] for note in warned[0].message.notes] == [
            "one does not answer 3",
            "two does not answer 4",
        ]


def test_diagnose_and_explain_of_dicts():
    numbered = {i: {1: 1, 2: 0} for i in range(12)}
    run = {str(i): {"2": 2.0, "1": 1.0} for i in range(12)}
    with pytest.warns(rs.RankscopeWarning) as warned:
        rs.diagnose(numbered, run)
    assert_at("rs.diagnose(", warned)
    with pytest.warns(rs.RankscopeWarning) as warned:
        rs.explain({"q": {"a": 1}}, {"q": ["x", "y", "z"]}, "q", "RR")
    assert_at("rs.explain(", warned)


def test_files_that_are_read_in_threads(tmp_path):
    qrels, one, two = files(tmp_path)
    lenient = rs.ReadOptions(lenient=True)
    for function in (rs.evaluate, rs.compare):
        with pytest.warns(rs.RankscopeWarning) as warned:
            function(qrels, [one, two], "RR", options=lenient)
        assert_at("function(", warned, n=3)  # two files with a bad line, and what must be known of the scores
        assert sum("bad line" in str(warning.message) for warning in warned) == 2
    with pytest.warns(rs.RankscopeWarning) as warned:
        rs.diagnose(qrels, one, options=lenient)
    assert_at("rs.diagnose(", warned)


def test_a_file_that_is_read_when_it_is_first_looked_at(tmp_path):
    _, one, _ = files(tmp_path)
    run = rs.load_run(one, options=rs.ReadOptions(lenient=True))
    with pytest.warns(rs.RankscopeWarning, match="bad line") as warned:
        len(run)
    assert_at("len(run)", warned)


def test_a_second_call_from_the_same_line_is_not_said_again_by_default(recwarn):
    warnings.simplefilter("default")
    for _ in range(3):
        rs.evaluate(QRELS, {"one": SOME}, "RR")
    assert len(recwarn) == 1


def test_of_many_notes_a_warning_shows_the_first():
    with pytest.warns(rs.RankscopeWarning) as warned:
        give_warning(*map(str, range(30)))
    assert str(warned[0].message).count("\n- ") == 6
    assert "and 25 more" in str(warned[0].message)
    assert len(warned[0].message.notes) == 30
    with pytest.warns(rs.RankscopeWarning, match="^only one$"):
        give_warning("only one")


def test_what_nobody_has_to_know_is_no_warning(recwarn):
    give_warning()
    rs.evaluate(QRELS, {query: ["a"] for query in QRELS}, "RR")
    assert not recwarn


def test_a_run_of_a_file_has_the_name_of_the_file(tmp_path):
    qrels, one, two = files(tmp_path)
    lenient = {"options": rs.ReadOptions(lenient=True)}
    with pytest.warns(rs.RankscopeWarning):
        named = rs.evaluate(qrels, [rs.load_run(one, **lenient), two], "RR", **lenient)
    assert list(named) == ["one", "two"]
    (tmp_path / "good.run.gz").write_bytes(b"")
    assert rs.Run(tmp_path / "good.run.gz").name == rs.load_run(tmp_path / "good.run.gz").name == "good"
    assert rs.Run(one, name="mine").name == "mine"
