"""ndeval's own output for four runs of the TREC 2012 Web track, reproduced to the last printed digit."""

import csv
from pathlib import Path

import pytest

import rankscope as rs

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "runs" / "web2012-diversity"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not beside the checkout")
RUNS = ["indri-ql-cata-filtered", "indri-ql-catb", "indri-rm-cata", "indri-rm-catb"]
each_run = pytest.mark.parametrize("run", RUNS)


@pytest.fixture(scope="module")
def qrels():
    return rs.Qrels(DATA / "qrels.ndeval.gz")


def printed(run):
    """Return what `ndeval -c` printed: the columns, and {query: values}, the means under "amean"."""
    with (DATA / "ndeval_reference" / f"{run}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return header[2:], {query: values for _, query, *values in rows}


def shown(scores):
    """Return our scores as ndeval prints them."""
    table = {
        query: [f"{value:.6f}" for value in row]
        for query, row in zip(scores.query_ids, scores.values.tolist(), strict=True)
    }
    return {**table, "amean": [f"{mean.value:.6f}" for mean in scores.mean().values()]}


@each_run
def test_every_value_of_every_query_and_every_mean_is_the_one_that_ndeval_prints(run, qrels):
    columns, reference = printed(run)
    assert len(columns) == 21
    assert len(reference) == 51
    scores = rs.evaluate(qrels, {run: DATA / "runs" / f"{run}.gz"}, columns, profile="ndeval", missing="zero")[run]
    assert shown(scores) == reference


def test_the_profile_reports_the_columns_of_ndeval_in_their_order(qrels):
    columns, reference = printed(RUNS[0])
    scores = rs.evaluate(qrels, {"run": DATA / "runs" / f"{RUNS[0]}.gz"}, profile="ndeval")["run"]
    assert shown(scores) == reference
    assert [rs.parse_measure(column).base for column in columns] == [rs.parse_measure(m).base for m in scores.measures]


@each_run
def test_the_literature_differs_from_ndeval_only_in_alpha_dcg(run, qrels):
    columns, reference = printed(run)
    others = [column for column in columns if not column.startswith("alpha-DCG")]
    scores = rs.evaluate(qrels, {run: DATA / "runs" / f"{run}.gz"}, others, ties="given")[run]
    picked = [columns.index(column) for column in others]
    assert shown(scores) == {query: [values[i] for i in picked] for query, values in reference.items()}


@each_run
def test_control_the_order_of_equal_scores_matters_in_these_runs(run, qrels):
    columns, reference = printed(run)
    scores = rs.evaluate(qrels, {run: DATA / "runs" / f"{run}.gz"}, columns, profile="ndeval", ties="trec")[run]
    assert shown(scores) != reference


def test_graded_judgments_with_negative_grades_give_the_same_as_the_binary_ones():
    columns, reference = printed(RUNS[1])
    run = {"run": DATA / "runs" / f"{RUNS[1]}.gz"}
    assert shown(rs.evaluate(DATA / "qrels.diversity.gz", run, columns, profile="ndeval")["run"]) == reference
