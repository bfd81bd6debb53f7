"""Scores of other tools, in every shape in which they come."""

import json
import math

import polars as pl
import pytest

import rankscope as rs
from rankscope.align.hits import Counts
from rankscope.errors import FormatError, InputError, OptionError, RankscopeWarning
from rankscope.measures.score_files import other_qrels, read_scores
from rankscope.measures.scores import Scores


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_table_may_say_which_way_a_measure_goes(tmp_path):
    rows = [
        {"system": system, "query": "q1", "measure": name, "value": value, **more}
        for system, value in (("a", 1), ("b", 2))
        for name, more in (("position", {"lower_is_better": True}), ("found", {}))
    ]
    lines = write(tmp_path, "scores.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    for path in (lines, write(tmp_path, "scores.json", json.dumps(rows))):
        scores = read_scores(path)
        assert scores.measures == ("position", "found")
        assert scores["b"].lower_is_better == {"position"}


def test_one_table_holds_systems_in_columns(tmp_path):
    path = write(tmp_path, "ndcg.csv", "query,bm25,dense\n1,0.5,0.75\n2,0.25,\n")
    scores = read_scores([path], measure="nDCG@10")
    assert list(scores) == ["bm25", "dense"]
    assert scores["bm25"]["1", "nDCG@10"] == 0.5
    assert math.isnan(scores["dense"]["2", "nDCG@10"])


def test_several_tables_are_one_system_each(tmp_path):
    a = write(tmp_path, "a.csv", "qid,AP,RR\nq1,0.1,1\nq2,0.2,0.5\n")
    b = write(tmp_path, "b.tsv", "query_id\tRR\tAP\nq2\t1\t0.4\n")
    scores = read_scores([a, b])
    assert scores.measures == ("AP", "RR")
    assert scores["b"]["q2", "AP"] == 0.4
    assert scores["a"].counts == Counts(queries=2, missing=0, not_in_qrels=0, no_relevant=0, retrieved=0, unjudged=0)
    assert scores["b"].counts == Counts(queries=2, missing=1, not_in_qrels=0, no_relevant=0, retrieved=0, unjudged=0)
    assert list(scores["b"].answered) == [False, True]


def test_rows_may_name_the_system(tmp_path):
    path = write(tmp_path, "all.csv", "run,query,AP\nx,1,0.1\ny,1,0.3\n")
    assert read_scores([path])["y"]["1", "AP"] == 0.3


def test_long_tables_name_measure_and_value(tmp_path):
    frame = pl.DataFrame({"system": ["x", "y"], "query": [1, 1], "metric": ["AP", "AP"], "value": [0.25, 0.5]})
    frame.write_parquet(tmp_path / "long.parquet")
    assert read_scores([tmp_path / "long.parquet"])["y"]["1", "AP"] == 0.5


def test_trec_evals_text_without_its_summary(tmp_path):
    text = "runid\tall\tbm25\nmap\t1\t0.5\nmap\t2\t0.25\nmap\tall\t0.375\n"
    scores = read_scores([write(tmp_path, "bm25.txt", text), write(tmp_path, "x.eval", text)])
    assert scores["bm25"].query_ids == ("1", "2")
    assert scores.mean()["x"]["map"].value == pytest.approx(0.375)


def test_json_in_its_usual_shapes(tmp_path):
    ours = {"runs": [{"name": "a", "queries": {"1": {"AP": 0.5}}}, {"name": "b", "queries": {"1": {"AP": None}}}]}
    scores = read_scores([write(tmp_path, "ours.json", json.dumps(ours))])
    assert math.isnan(scores["b"]["1", "AP"])
    nested = {"a": {"1": {"AP": 0.5}}, "b": {"1": {"AP": 0.75}}}
    assert read_scores([write(tmp_path, "n.json", json.dumps(nested))])["b"]["1", "AP"] == 0.75
    flat = {"1": {"AP": 0.5}}
    assert list(read_scores([write(tmp_path, "sys.json", json.dumps(flat))])) == ["sys"]
    by_system = {"a": {"1": 0.5}, "b": {"1": 0.75}}
    assert read_scores([write(tmp_path, "s.json", json.dumps(by_system))], measure="AP")["b"]["1", "AP"] == 0.75
    rows = [{"run": "a", "query": 1, "AP": 0.1}, {"run": "b", "query": 1, "AP": 0.2}]
    assert read_scores([write(tmp_path, "r.json", json.dumps(rows))])["b"]["1", "AP"] == 0.2


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("x.csv", "a,b\n1,2\n", FormatError, "no column for the query"),
        ("x.csv", "query,a\n1,good\n", FormatError, "x.csv:2: 'good' is not a number"),
        ("x.csv", "query,a\n1,0.5\n1,0.5\n", FormatError, "given twice"),
        ("x.csv", "query,a\n", FormatError, "no rows"),
        ("x.txt", "map all 0.5\n", FormatError, "no score of a single query"),
        ("x.txt", "hello\n", FormatError, "not `measure query value`"),
        ("x.json", "3", FormatError, "no scores of named systems and queries"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, text, error, message):
    with pytest.raises(error, match=message):
        read_scores([write(tmp_path, name, text)])


def test_files_must_fit_together(tmp_path):
    a = write(tmp_path, "a.csv", "query,AP\n1,0.5\n")
    b = write(tmp_path, "b.csv", "query,RR\n1,0.5\n")
    with pytest.raises(InputError, match="no measure in common"):
        read_scores([a, b])
    with pytest.raises(InputError, match="is given twice"):
        read_scores([a, a])
    with pytest.raises(InputError, match="does not exist"):
        read_scores([tmp_path / "none.csv"])
    with pytest.raises(OptionError, match="no score file"):
        read_scores([])


def test_measures_that_only_some_systems_have_are_named(tmp_path):
    rows = "run,query,measure,value\na,1,RR,1\na,1,hit,1\na,1,map,1\nb,1,RR,0.5\nb,1,hit,1\nc,1,RR,0.2\n"
    path = write(tmp_path, "scores.csv", rows)
    left_out = ["hit is left out: c has no such scores", "map is left out: b, c have no such scores"]
    with pytest.warns(RankscopeWarning) as caught:
        scores = read_scores(path)
    assert [list(warning.message.notes) for warning in caught] == [left_out]
    assert (scores.measures, list(scores.notes)) == (("RR",), left_out)
    assert rs.compare_scores(scores).notes == tuple(f"{words}." for words in left_out)  # the report tells them
    for ask in (lambda: rs.compare_scores(scores, primary="hit"), lambda: rs.plan(measure="hit", scores=scores)):
        with pytest.raises(OptionError, match=r"^c has no scores by hit, so that not all systems"):
            ask()


@pytest.mark.filterwarnings("ignore")
def test_a_system_in_several_files_is_named_apart(tmp_path):
    days = [tmp_path / day for day in ("monday", "tuesday")]
    for day in days:
        day.mkdir()
    named = [write(day, "week.csv", "run,query,AP\nbm25,1,0.5\n") for day in days]
    assert list(read_scores(named)) == ["bm25 (monday/week)", "bm25 (tuesday/week)"]
    unnamed = [write(day, "bm25.csv", "query,AP\n1,0.5\n") for day in days]
    assert list(read_scores(unnamed)) == ["monday/bm25", "tuesday/bm25"]
    both = [write(tmp_path, "x.csv", "query,AP\n1,0.5\n"), write(tmp_path, "x.tsv", "query\tAP\n1\t0.4\n")]
    assert list(read_scores(both)) == ["x", "x (2)"]
    a = write(tmp_path, "w1.csv", "run,query,AP\na,1,0.5\na (w1),1,0.2\n")
    b = write(tmp_path, "w2.csv", "run,query,AP\na,1,0.5\n")
    with pytest.raises(InputError, match=r"two systems would be called 'a \(w1\)'"):
        read_scores([a, b])


def test_less_may_be_better(tmp_path):
    path = write(tmp_path, "t.csv", "run,query,latency\nx,1,3\ny,1,5\n")
    assert read_scores([path], lower_is_better=["latency", "other"])["x"].lower_is_better == {"latency"}


def test_a_record_without_counts_says_by_its_queries_how_many_were_scored(tmp_path):
    run = {"name": "a", "queries": {"1": {"AP": 0.5}, "2": {"AP": 0}, "3": {"AP": 0}}}
    records = {"all.json": run, "some.json": run | {"unanswered": ["2", "3"]}}
    for (name, record), n_missing in zip(records.items(), (0, 2), strict=True):
        text = json.dumps({"rankscope": "0.1", "runs": [record]})
        for scores in (read_scores([write(tmp_path, name, text)]), Scores.from_json(text)):
            found = scores["a"]
            assert (found.counts.queries, found.counts.missing) == (3, n_missing)
            assert (~found.answered).sum() == n_missing


def test_scores_against_other_qrels_are_not_compared_unless_asked_for(tmp_path):
    paths = [write(tmp_path, "first.csv", "query,AP\n1,0.5\n"), write(tmp_path, "other.txt", "map 1 0.5\n")]
    for name, digest in (("a", "0" * 64), ("b", "1" * 64), ("c", "0" * 64)):
        record = {
            "rankscope": "0.1",
            "qrels": {"sha256": digest},
            "runs": [{"name": name, "queries": {"1": {"AP": 0.5}}}],
        }
        paths.append(write(tmp_path, f"{name}.json", json.dumps(record)))
    with pytest.raises(InputError, match=r"b\.json holds scores against other qrels than .*a\.json"):
        other_qrels(paths)
    assert list(other_qrels(paths, anyway=True)) == ["b"]
    assert other_qrels([path for path in paths if path.name != "b.json"]) == {}


def test_a_file_with_means_alone_holds_no_scores(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text("query,run,measure,value\nall,a,nDCG@10,0.5\n")
    with pytest.raises(rs.FormatError, match="holds no score of a single query"):
        rs.read_scores(path)
