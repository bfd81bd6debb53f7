"""`rankscope plan`; expected numbers are those of statsmodels, or by hand."""

import json

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

SCORES = "query,a,b,c\n" + "".join(
    f"q{i},{a},{b},{c}\n"
    for i, (a, b, c) in enumerate([(0.1, 0.4, 0.2), (0.5, 0.4, 0.9), (0.3, 0.9, 0.1), (0.8, 0.9, 0.4)])
)
"""By hand: b - a is .3 -.1 .6 .1, with standard deviation 0.29861; c - a is .1 .4 -.2 -.4, with 0.35."""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(SCORES)
    return path


@pytest.fixture
def planned(rankscope):
    """Return a function that plans and returns the JSON record."""

    def plan(*arguments):
        done = rankscope("plan", *arguments, "--format", "json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    return plan


def queries_by_statsmodels(detect, sd, *, alpha=0.05, power=0.8):
    return int(np.ceil(TTestPower().solve_power(effect_size=detect / sd, alpha=alpha, power=power)))


def test_from_a_spread(planned):
    record = planned("--sd", 0.15, "--detect", 0.02)
    assert record["pairs"][0]["queries_needed"] == queries_by_statsmodels(0.02, 0.15) == 444
    assert record["n_queries"] is None


def test_smallest_difference_with_some_queries(planned):
    record = planned("--sd", 0.15, "--queries", 54)
    assert TTestPower().power(record["pairs"][0]["mde"] / 0.15, nobs=54, alpha=0.05) == pytest.approx(0.8, abs=1e-8)
    assert record["pairs"][0]["queries_needed"] is None
    assert record["interval"] is None


def test_alpha_power_and_systems(planned):
    record = planned("--sd", 0.15, "--detect", 0.02, "--alpha", 0.01, "--power", 0.9, "--systems", 5)
    assert record["alpha_per_comparison"] == pytest.approx(0.0025)  # four comparisons share it
    assert record["pairs"][0]["queries_needed"] == queries_by_statsmodels(0.02, 0.15, alpha=0.0025, power=0.9)
    assert record["anova"]["residual_sd"] == pytest.approx(0.15 / np.sqrt(2))


def test_interval_as_narrow_as_the_difference(planned):
    # (1.96 · 0.15 / 0.02)² = 216.1, and a little more since the spread is estimated
    interval = planned("--sd", 0.15, "--detect", 0.02)["interval"]
    assert 216 < interval["queries_needed"] < 222
    assert (interval["half_width"], interval["level"]) == (0.02, 0.95)


def test_spread_of_score_files_by_hand(planned, table):
    record = planned("--scores", table, "-m", "nDCG@10", "--detect", 0.2)
    first, second = record["pairs"]
    assert (first["a"], first["b"], second["b"]) == ("a", "b", "c")
    assert first["sd"] == pytest.approx(np.std([0.3, -0.1, 0.6, 0.1], ddof=1))
    assert second["sd"] == pytest.approx(np.std([0.1, 0.4, -0.2, -0.4], ddof=1))
    assert record["n_queries"] == 4
    assert record["systems"] == 3
    assert second["queries_needed"] == queries_by_statsmodels(0.2, second["sd"], alpha=0.025)
    assert second["sd_low"] < second["sd"] < second["sd_high"]
    assert second["queries_needed_low"] < second["queries_needed"] < second["queries_needed_high"]


def test_undefined_scores_are_left_out_and_counted(rankscope, planned, table):
    table.write_text(SCORES + "q9,0.5,,0.1\n")
    assert planned("--scores", table, "--detect", 0.2)["n_left_out"] == 1
    assert "1 query is left out" in rankscope("plan", "--scores", table, "--detect", 0.2).out


def test_from_runs(planned, rankscope, cookbook):
    record = planned("qrels.txt", "bm25.run", "dense.run", "--detect", 0.02)
    scores = json.loads(
        rankscope("evaluate", "qrels.txt", "bm25.run", "dense.run", "-m", "nDCG@10", "--format", "json").out
    )["runs"]
    bm25, dense = ([queries["nDCG@10"] for queries in run["queries"].values()] for run in scores)
    assert record["pairs"][0]["sd"] == pytest.approx(np.std(np.subtract(dense, bm25), ddof=1))
    assert record["measure"] == "nDCG@10"
    assert record["n_queries"] == record["n_queries_of_files"] == 15


def test_policies_are_those_of_evaluate(planned, cookbook):
    # bm25 does not answer one of the queries
    assert planned("qrels.txt", "bm25.run", "dense.run", "--missing", "skip")["n_queries"] == 14


def test_words(rankscope):
    done = rankscope("plan", "--sd", 0.15, "--detect", 0.02, "--queries", 54)
    assert done.code == 0
    assert done.out.startswith("About 444 queries find a true difference of 0.02 with 80% chance.\n")
    assert "54 queries find a true difference of 0.058 with 80% chance" in done.out
    assert "one paired two-sided test at 5%" in done.out


def test_words_with_runs(rankscope, cookbook):
    out = rankscope("plan", "qrels.txt", "bm25.run", "dense.run", "hybrid.run", "--detect", 0.05).out
    assert "The 15 you have find a true difference of" in out
    assert "2 paired two-sided tests against one baseline, which share 5%: 2.5% each." in out
    assert "The pair whose differences vary most decides: dense against bm25." in out
    assert "would be no surprise" in out
    assert "little more than a guess" in out
    assert "of 3 systems, 0.05 apart (ANOVA)" in out


def test_words_with_another_number_of_queries(rankscope, cookbook):
    out = rankscope("plan", "qrels.txt", "bm25.run", "dense.run", "--queries", 1000).out
    assert out.startswith("1,000 queries find a true difference of 0.016 ")
    assert "queries for" not in out


def test_the_same_seed_gives_the_same(rankscope, cookbook):
    arguments = ("plan", "qrels.txt", "bm25.run", "dense.run", "--detect", 0.02, "--seed")
    assert rankscope(*arguments, 1).out == rankscope(*arguments, 1).out
    assert rankscope(*arguments, 1).out != rankscope(*arguments, 2).out


def test_output_goes_to_a_file(rankscope, tmp_path):
    target = tmp_path / "plan.json"
    assert rankscope("plan", "--sd", 0.1, "--detect", 0.02, "--format", "json", "-o", target).out == ""
    assert json.loads(target.read_text())["pairs"][0]["queries_needed"] == queries_by_statsmodels(0.02, 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sd", 0.15], "nothing to plan"),
        ([], "at least two runs, or a spread"),
        (["qrels.txt", "bm25.run", "--detect", 0.02], "at least two runs"),
        (["qrels.txt", "bm25.run", "dense.run", "--sd", 0.1], "--sd and files"),
        (["qrels.txt", "bm25.run", "bm25.run", "--detect", 0.02], "has the same nDCG@10 as bm25.run on every query"),
        (["--sd", 0, "--detect", 0.02], "not a number above 0"),
        (["--sd", "much", "--detect", 0.02], "not a number above 0"),
        (["--sd", 0.1, "--detect", 0.02, "--alpha", 1], "between 0 and 1"),
        (["--sd", 0.1, "--queries", 1], "whole number from 2 up"),
        (["--sd", 0.1, "--detect", 0.02, "--format", "csv"], "table, json"),
        (["--scores", "--detect", 0.02], "no score file"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_planned_is_refused(rankscope, cookbook, arguments, message):
    done = rankscope("plan", *arguments)
    assert done.code == 2
    assert message in done.err


def test_one_system_or_one_query_has_no_spread(rankscope, table):
    table.write_text("query,a\nq1,0.1\nq2,0.2\n")
    assert "only 'a' is given" in rankscope("plan", "--scores", table, "--detect", 0.1).err
    table.write_text("query,a,b\nq1,0.1,0.2\n")
    assert "a spread needs two" in rankscope("plan", "--scores", table, "--detect", 0.1).err


def test_measure_that_the_scores_do_not_have(rankscope, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("query,AP,RR\nq1,0.1,0.2\nq2,0.4,0.1\n")
    done = rankscope("plan", "--scores", tmp_path / "a.csv", tmp_path / "b.csv", "-m", "nDCG", "--detect", 0.1)
    assert "no measure 'nDCG'" in done.err


def test_never_observed_power(rankscope, cookbook):
    out = rankscope("plan", "qrels.txt", "bm25.run", "dense.run", "--detect", 0.02).out
    assert "observed power" not in out.lower()
