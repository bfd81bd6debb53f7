"""Queries that count more than others: weighted means, worked out by hand."""

import json
import math

import jsonschema
import numpy as np
import pandas as pd
import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.data.queries import load_queries, query_weights
from rankscope.errors import InputError, OptionError, RankscopeWarning
from rankscope.measures.score_files import read_scores, with_measures
from rankscope.measures.scores import summarise
from rankscope.measures.scores_record import scores_schema as json_schema

# reciprocal ranks 1, 1/2 and 1/4, asked 6, 3 and 1 times
QRELS = {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}
RUN = {"a": ["x"], "b": ["o", "x"], "c": ["o", "p", "q", "x"]}
ASKED = {"a": {"asked": 6}, "b": {"asked": 3}, "c": {"asked": 1}}
MEAN = (6 * 1 + 3 * 0.5 + 1 * 0.25) / 10
EFFECTIVE = 10**2 / (36 + 9 + 1)


def weighted(measures="RR", run=RUN, queries=ASKED, **options):
    return rs.evaluate(QRELS, run, measures, queries=queries, weights="asked", **options)


def test_the_mean_is_weighted():
    scores = weighted(["RR", "Success@1"])
    assert scores.mean()["run"]["RR"].value == pytest.approx(MEAN)
    assert scores.mean()["run"]["Success@1"].value == pytest.approx(0.6)
    assert scores.mean()["run"]["RR"].n == 3
    assert scores["run"].weights.tolist() == [6, 3, 1]
    assert scores["run"].effective_n == pytest.approx(EFFECTIVE)
    assert scores.weighted_by == "asked"
    assert "0.7750" in repr(scores)


def test_without_weights_nothing_changes():
    scores = rs.evaluate(QRELS, RUN, "RR")
    assert scores["run"].weights is None
    assert (scores["run"].effective_n, scores.weighted_by) == (3, None)
    assert scores.mean()["run"]["RR"].value == pytest.approx(1.75 / 3)


def test_equal_weights_change_nothing():
    same = {query: {"asked": 7.5} for query in QRELS}
    assert weighted(queries=same).mean()["run"]["RR"].value == pytest.approx(1.75 / 3)
    assert weighted(queries=same)["run"].effective_n == pytest.approx(3)


def test_a_weight_of_0_leaves_a_query_out():
    scores = weighted(queries={**ASKED, "c": {"asked": 0}})
    mean = scores.mean()["run"]["RR"]
    assert (mean.value, mean.n) == (pytest.approx((6 + 1.5) / 9), 2)


def test_queries_that_are_left_out_take_their_weight_with_them():
    with pytest.warns(RankscopeWarning, match="FirstRel is undefined for 1 of 3"):
        found = weighted("FirstRel", {**RUN, "b": ["o"]})
    assert found.mean()["run"]["FirstRel"].value == pytest.approx((6 * 1 + 1 * 4) / 7)
    with pytest.warns(RankscopeWarning, match="does not answer"):
        skipped = weighted("RR", {"b": RUN["b"], "c": RUN["c"]}, missing="skip")["run"]
    assert skipped.mean()["RR"].value == pytest.approx((3 * 0.5 + 0.25) / 4)
    assert skipped.effective_n == pytest.approx(16 / 10)
    with pytest.warns(RankscopeWarning, match="does not answer"):
        counted = weighted("RR", {"b": RUN["b"], "c": RUN["c"]})["run"]
    assert counted.mean()["RR"].value == pytest.approx((3 * 0.5 + 0.25) / 10)


def test_where_no_query_that_counts_has_weight_there_is_no_mean():
    with pytest.warns(RankscopeWarning, match="undefined"):
        scores = weighted("FirstRel", {"a": ["o"], "b": ["o"], "c": ["x"]}, {**ASKED, "c": {"asked": 0}})
    mean = scores.mean()["run"]["FirstRel"]
    assert (math.isnan(mean.value), mean.n) == (True, 0)


def test_the_geometric_mean_is_weighted():
    scores = weighted("RR(agg='gmean')")
    wanted = math.exp((6 * math.log(1) + 3 * math.log(1 / 2) + 1 * math.log(1 / 4)) / 10)
    assert scores.mean()["run"]["RR(agg='gmean')"].value == pytest.approx(wanted)


@pytest.mark.parametrize("measure", ["RR(agg='median')", "RR(agg='worst')", "RR(agg='sum')", "NumRel"])
def test_other_aggregates_are_refused(measure):
    with pytest.raises(OptionError, match=r"weights do not go with .*, which is the .* queries") as error:
        weighted(["RR", measure])
    assert "mean and gmean" in error.value.hint


@pytest.mark.parametrize("how", ["median", "worst", "sum"])
def test_other_aggregates_are_refused_afterwards_too(how):
    with pytest.raises(OptionError, match="weights do not go with the"):
        weighted().aggregate(how)
    with pytest.raises(OptionError, match="weights do not go with the"):
        summarise(np.array([1.0]), how, weights=np.array([1.0]))


def test_weights_from_any_table(tmp_path):
    (tmp_path / "q.csv").write_text("query_id,text,asked\na,one,6\nb,two,3\nc,three,1.0\n")
    (tmp_path / "q.jsonl").write_text("".join(json.dumps({"_id": q, **row}) + "\n" for q, row in ASKED.items()))
    frame = pd.DataFrame({"query_id": list("abc"), "asked": np.array([6, 3, 1])})
    numbers = {query: {"asked": np.int64(row["asked"])} for query, row in ASKED.items()}
    for queries in (tmp_path / "q.csv", str(tmp_path / "q.jsonl"), frame, numbers, load_queries(ASKED)):
        assert weighted(queries=queries).mean()["run"]["RR"].value == pytest.approx(MEAN)


def test_weights_come_in_the_order_asked_for():
    table = load_queries(ASKED)
    assert query_weights(table, "asked", ["c", "a"]).tolist() == [1, 6]
    assert not query_weights(table, "asked", ["c", "a"]).flags.writeable


def test_a_column_that_is_not_there():
    with pytest.raises(InputError, match="no attribute 'askd'") as error:
        query_weights(load_queries(ASKED), "askd", ["a"])
    assert error.value.hint == "did you mean asked?"


def test_a_query_without_a_weight_is_named():
    table = load_queries([{"id": query, "asked": None} for query in "pqrs"] + [{"id": "a", "asked": 1}])
    with pytest.raises(InputError, match="5 of 6 queries have no weight in column 'asked': p, q, r, …"):
        query_weights(table, "asked", ["a", *"pqrs", "unknown"])
    with pytest.raises(InputError, match="1 of 3 queries have no weight in column 'asked': c"):
        weighted(queries={query: ASKED[query] for query in "ab"})


@pytest.mark.parametrize("weight", [-1, "many", math.inf, "inf", True, "1_000", [1]])
def test_weights_are_numbers_from_0_up(weight):
    with pytest.raises(InputError, match="column 'asked' has weights that are no numbers from 0 up: b has "):
        weighted(queries={**ASKED, "b": {"asked": weight}})


def test_not_all_weights_can_be_0():
    with pytest.raises(InputError, match="every weight in column 'asked' is 0"):
        weighted(queries={query: {"asked": 0} for query in QRELS})


def test_weights_need_queries():
    with pytest.raises(OptionError, match="weights needs queries"):
        rs.evaluate(QRELS, RUN, "RR", weights="asked")
    assert rs.evaluate(QRELS, RUN, "RR", queries=ASKED) == rs.evaluate(QRELS, RUN, "RR")  # for words alone


def test_some_of_the_measures_keep_their_weights():
    some = with_measures(weighted(["P@1", "RR"]), ["RR"])
    assert some.mean()["run"]["RR"].value == pytest.approx(MEAN)
    assert some.weighted_by == "asked"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 x 1\n" for query in QRELS))
    rows = [f"{query} Q0 {doc} {rank} {-rank} r\n" for query, docs in RUN.items() for rank, doc in enumerate(docs, 1)]
    (tmp_path / "x.run").write_text("".join(rows))
    (tmp_path / "queries.csv").write_text("id,asked\na,6\nb,3\nc,1\n")
    return ["evaluate", "qrels.txt", "x.run", "-m", "RR", "--queries", "queries.csv", "--weights", "asked"]


NOTE = "weighted by asked; effective n 2.2, as of so many queries of the same weight"


@pytest.mark.parametrize("form", ["table", "markdown", "html"])
def test_what_people_read_says_so(files, form, capsys):
    assert main([*files, "--format", form]) == 0
    shown = capsys.readouterr().out
    assert "0.7750" in shown
    assert NOTE in shown


def test_in_json(files, capsys, tmp_path):
    assert main([*files, "--format", "json"]) == 0
    text = capsys.readouterr().out
    record = json.loads(text)
    jsonschema.validate(record, json_schema())
    assert record["weights"] == {"column": "asked", "queries": {"a": 6, "b": 3, "c": 1}}
    (run,) = record["runs"]
    assert (run["mean"]["RR"], run["effective_n"]) == (pytest.approx(MEAN), pytest.approx(EFFECTIVE))
    (tmp_path / "scores.json").write_text(text)
    with pytest.warns(RankscopeWarning, match="its means are weighted by asked; here all queries count the same"):
        assert read_scores([tmp_path / "scores.json"]).mean()["x"]["RR"].value == pytest.approx(1.75 / 3)


def test_without_weights_json_says_none(files, capsys):
    assert main([*files[:-4], "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    jsonschema.validate(record, json_schema())
    assert (record["weights"], record["runs"][0]["effective_n"]) == (None, 3)


def test_charts_draw_the_weighted_mean(files, tmp_path):
    assert main([*files, "--chart", "systems", "-o", "systems.svg"]) == 0
    assert "0.775" in (tmp_path / "systems.svg").read_text("utf-8")
    assert main([*files, "--chart", "curves", "-o", "curves.svg"]) == 0
    assert "0.775" in (tmp_path / "curves.svg").read_text("utf-8")


def test_trec_eval_knows_no_weights(files, capsys):
    assert main([*files, "--format", "trec"]) == 2
    assert "--weights does not go with --format trec" in capsys.readouterr().err
