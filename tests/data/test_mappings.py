"""Run and Qrels as users see them: read-only mappings that can be saved, and made tables of."""

from __future__ import annotations

import doctest
import io
import pickle
import sys
from collections.abc import Mapping
from importlib import import_module

import numpy as np
import pytest

import rankscope as rs
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import DuplicateError, InputError, OptionError

RUN = {"q2": {"a": 1.0, "b": 3.0, "c": 1.0, "\u00e9": 1.0}, "q1": {"a": -0.5}}
QRELS = {"q2": {"a": 0, "b": 2}, "q1": {"c": 1}}


@pytest.mark.parametrize("module", ["rankscope.data.run", "rankscope.data.qrels"])
def test_the_examples_of_the_docstrings(module):
    done = doctest.testmod(import_module(module))
    assert done.attempted > 3
    assert done.failed == 0


@pytest.fixture(params=["dict", "rows", "table", "file"])
def run(request, tmp_path):
    if request.param == "dict":
        return Run(RUN)
    rows = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
    if request.param == "rows":
        return Run(rows)
    if request.param == "table":
        return Run(Run(rows).to_polars())
    path = tmp_path / "a.run"
    path.write_text("".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows))
    return Run(path)


def test_a_run_is_a_mapping_of_ranked_docs(run):
    assert list(run) == ["q2", "q1"]
    assert list(run["q2"].items()) == [("b", 3.0), ("\u00e9", 1.0), ("c", 1.0), ("a", 1.0)], "as trec_eval breaks ties"
    assert dict(run.items()) == {"q2": {"b": 3.0, "\u00e9": 1.0, "c": 1.0, "a": 1.0}, "q1": {"a": -0.5}}
    assert ("q1" in run, "q3" in run, len(run)) == (True, False, 2)
    assert run.get("q3") is None
    with pytest.raises(KeyError):
        run["q3"]
    assert isinstance(run, Mapping)


def test_what_a_run_gives_out_cannot_change_it(run):
    run["q1"]["a"] = 99.0
    assert run["q1"] == {"a": -0.5}


class TestEquality:
    def test_runs_are_equal_by_content_wherever_it_comes_from(self, run):
        assert run == Run(RUN, name="other") == dict(run) == run
        assert len({run, Run(RUN)}) == 1
        assert run != Run({**RUN, "q1": {"a": 0.5}})
        assert run != Run({"q2": RUN["q2"]})
        assert run != RUN["q2"]
        assert run != "q2"

    def test_qrels_too(self, tmp_path):
        Qrels(QRELS).save(tmp_path / "qrels.txt")
        from_file = Qrels(tmp_path / "qrels.txt")
        assert from_file == Qrels(QRELS) == rs.load_qrels(QRELS) == QRELS
        assert from_file != Qrels({**QRELS, "q1": {"c": 0}})
        assert hash(from_file) == hash(Qrels(QRELS))

    def test_a_run_never_equals_qrels(self):
        assert Run({"q": {"d": 1}}) != Qrels({"q": {"d": 1}})

    def test_a_doc_listed_twice_is_no_error_here(self):
        run = Run([("q", "d", 1.0), ("q", "d", 2.0)])
        assert run == run  # noqa: PLR0124
        assert run != Run({"q": {"d": 1.0}})


class TestIdsAreText:
    """7 and "7" are the same id, also where one is looked up."""

    @pytest.mark.parametrize("query", [7, "7", b"7", np.int64(7)])
    def test_a_query_is_found_by_number_and_by_text(self, query):
        for run in (Run({7: ["a"]}), Run({7: {"a": 1.0}}), Run([("7", "a", 1.0)])):
            assert run[query] == run.get(query) == {"a": 1.0}
            assert query in run
        for qrels in (Qrels({7: {"a": 1}, 8: {"a": 1}}), rs.load_qrels({"7": {"a": 1}, "8": {"a": 1}})):
            assert qrels[query] == qrels.get(query) == {"a": 1.0}
            assert query in qrels
            assert list(qrels.select([query])) == ["7"]

    @pytest.mark.parametrize("no_id", [7.0, True, None, "", ("7",)])
    def test_what_is_no_id_is_not_found(self, no_id):
        run, qrels = Run({7: ["a"], 1: ["a"]}), Qrels({7: {"a": 1}, 1: {"a": 1}})
        assert no_id not in run
        assert no_id not in qrels
        assert run.get(no_id) is qrels.get(no_id) is None


class TestPickling:
    def test_a_run_is_the_same_afterwards(self, run):
        again = pickle.loads(pickle.dumps(run))
        assert (again, again.name, again.integer_ids) == (run, run.name, run.integer_ids)

    @pytest.mark.parametrize("name", ["qrels.txt", "qrels.csv"])
    def test_qrels_keep_the_file_that_they_came_from(self, tmp_path, name):
        Qrels(QRELS).save(tmp_path / name)
        qrels = Qrels(tmp_path / name)
        stored, digest = pickle.dumps(qrels), qrels.origin.sha256
        (tmp_path / name).unlink()
        again = pickle.loads(stored)
        assert (again, again.origin.path, again.origin.sha256) == (qrels, str(tmp_path / name), digest)
        assert rs.evaluate(again, RUN, "AP") == rs.evaluate(qrels, RUN, "AP")

    def test_qrels_that_were_never_in_a_file(self):
        for qrels in (Qrels(QRELS), rs.load_qrels(QRELS)):
            assert pickle.loads(pickle.dumps(qrels)) == qrels


def test_a_run_says_what_it_is_without_reading_a_file(tmp_path):
    path = tmp_path / "bm25.run"
    assert repr(Run(path)) == f"Run('bm25', file {str(path)!r})"
    assert repr(Run(RUN, name="bm25")) == "Run('bm25', 2 queries)"
    assert repr(Run([("q", "d", 1.0)])) == "Run(1 query)"
    assert repr(Qrels(QRELS)) == "Qrels(2 queries, 3 judgments)"


def test_a_doc_that_is_listed_twice_is_an_error_when_the_ranking_is_wanted():
    run = Run([("q", "d", 1.0), ("q", "d", 2.0)])
    with pytest.raises(DuplicateError, match="lists doc 'd' more than once"):
        run["q"]


def test_qrels_are_a_mapping_of_grades(tmp_path):
    (tmp_path / "qrels.txt").write_text("q2 0 a 0\nq2 0 b 2\nq1 0 c 1\n")
    for qrels in (Qrels(QRELS), rs.load_qrels(QRELS), Qrels(tmp_path / "qrels.txt")):
        assert list(qrels) == ["q1", "q2"]
        assert qrels["q2"] == {"a": 0.0, "b": 2.0}
        assert dict(qrels) == QRELS
        assert ("q1" in qrels, "q3" in qrels, len(qrels)) == (True, False, 2)
        qrels["q2"]["a"] = 3.0
        assert qrels["q2"] == {"a": 0.0, "b": 2.0}
        with pytest.raises(KeyError):
            qrels["q3"]


def test_qrels_of_some_queries_keep_all_that_is_known_of_them(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q1 1 a 1\nq1 2 a 2\nq2 1 b 1\nq3 1 c 0\n")
    chosen = Qrels(path).select(["q1", "q3", "unknown"])
    assert dict(chosen) == {"q1": {"a": 2.0}, "q3": {"c": 0.0}}
    assert (chosen.rows.doc, chosen.rows.subtopic, chosen.rows.grade.tolist()) == (
        ["a", "a", "c"],
        ["1", "2", "1"],
        [1, 2, 0],
    )
    assert chosen.origin.path == str(path)


def test_all_of_the_queries_are_the_same_qrels():
    qrels = Qrels(QRELS)
    assert qrels.select(["q1", "q2", "q3"]) is qrels


def test_a_choice_keeps_the_first_of_two_judgments():
    qrels = Qrels([("q1", "a", 1), ("q1", "a", 2), ("q2", "b", 1)], duplicates="first")
    assert qrels.select(["q1"])["q1"] == {"a": 1.0}


def test_no_query_at_all_is_an_error():
    with pytest.raises(InputError, match="the qrels are empty"):
        Qrels(QRELS).select(["q9"])


@pytest.mark.parametrize("name", ["a.run", "a.csv.gz", "a.parquet", "a.json"])
def test_what_is_saved_is_read_back(tmp_path, name):
    Run(RUN).save(tmp_path / name)
    Qrels(QRELS).save(tmp_path / f"qrels-{name}")
    assert dict(Run(tmp_path / name)) == dict(Run(RUN))
    assert dict(Qrels(tmp_path / f"qrels-{name}")) == QRELS


def test_the_format_can_be_given(tmp_path):
    Run(RUN).save(tmp_path / "a.txt", format="jsonl")
    assert (tmp_path / "a.txt").read_text().startswith('{"query": "q2", "doc": "a", "score": 1.0}')


def test_tables():
    table = Run(RUN).to_polars()
    assert table.to_dict(as_series=False) == {
        "query": ["q2", "q2", "q2", "q2", "q1"], "doc": ["a", "b", "c", "\u00e9", "a"], "score": [1.0, 3.0, 1.0, 1.0, -0.5],
    }  # fmt: skip
    frame = Qrels([("q1", "a", 1)]).to_pandas()
    assert frame.to_dict("list") == {"query": ["q1"], "doc": ["a"], "grade": [1.0]}
    assert dict(Run(table)) == dict(Run(Run(RUN).to_pandas())) == dict(Run(RUN))


def test_without_pandas_an_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match="pandas is not installed") as raised:
        Run(RUN).to_pandas()
    assert raised.value.hint.startswith("pip install pandas")


class TestOpenFiles:
    @pytest.fixture
    def files(self, tmp_path):
        (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n")
        (tmp_path / "qrels.txt").write_text("q1 0 d2 1\n")
        (tmp_path / "bad.run").write_text("q1 Q0 d1 1 x t\n")
        return tmp_path

    @pytest.mark.parametrize("mode", ["r", "rb"])
    def test_an_open_file_is_read(self, files, mode):
        with (files / "bm25.run").open(mode) as run, (files / "qrels.txt").open(mode) as qrels:
            assert Run(run)["q1"] == {"d1": 2.5, "d2": 1.5}
            assert Qrels(qrels)["q1"] == {"d2": 1.0}

    def test_and_evaluated(self, files):
        with (files / "bm25.run").open() as run, (files / "qrels.txt").open() as qrels:
            scores = rs.evaluate(qrels, run, "RR")
        assert {name: each.values.tolist() for name, each in scores.items()} == {"bm25": [[0.5]]}

    def test_several(self, files):
        with (files / "bm25.run").open() as first, (files / "bm25.run").open("rb") as second:
            scores = rs.evaluate(files / "qrels.txt", {"a": first, "b": second}, "RR")
        assert [each.values.tolist() for each in scores.values()] == [[[0.5]], [[0.5]]]

    def test_text_in_memory(self):
        assert Run(io.StringIO("q1 Q0 d1 1 2.5 t\n"))["q1"] == {"d1": 2.5}
        assert Run(io.BytesIO(b"query,doc,score\nq1,d1,2.5\n"))["q1"] == {"d1": 2.5}

    def test_errors_name_the_file(self, files):
        with (files / "bad.run").open() as run, pytest.raises(rs.RankscopeError, match=r"bad\.run:1: score 'x' is not"):
            Run(run).rows  # noqa: B018


def test_runs_as_runs_are_not_taken_for_dicts():
    run = Run(RUN, name="bm25")
    scores = rs.evaluate(QRELS, {"x": run, "y": run}, "RR")
    assert list(scores) == ["x", "y"]
    assert list(rs.evaluate(QRELS, run, "RR")) == ["bm25"]
    assert list(rs.evaluate(QRELS, [run, Run(RUN, name="dense")], "RR")) == ["bm25", "dense"]
    assert "rankings" not in vars(run)


def test_an_evaluation_builds_no_rankings():
    run = rs.load_run(RUN)
    rs.evaluate(rs.load_qrels(QRELS), run, "RR")
    assert "rankings" not in vars(run)


def test_a_copy_of_a_run_shares_what_it_has_read():
    run = Run(RUN)
    assert Run(run, name="x").source is run.source
    assert np.array_equal(Run(run).rows.score, run.rows.score)
