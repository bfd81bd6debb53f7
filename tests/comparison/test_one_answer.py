"""Verdict, interval, p-value, leaderboard, gate, words and files say the same, on all real data at hand."""

import csv
import io
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope.comparison.compare import compare_scores
from rankscope.comparison.gate import GatePolicy, gate_of
from rankscope.errors import RankscopeWarning
from rankscope.measures.score_files import read_scores
from rankscope.report.comparison import report_of
from rankscope.report.comparison_json import comparison_table
from rankscope.report.render import render
from rankscope.report.table import to_csv

DATA = Path(__file__).parents[2].parent / "shared" / "data"
COVID = DATA / "runs" / "trec-covid-round1"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real test data (../shared) is not here")
CLAIMS = ("better", "worse", "probably_better", "probably_worse")


def table_says(pair):
    """Return the verdict that the published table of rules gives, from the printed numbers alone."""
    if not (pair.effect.wins or pair.effect.losses):
        return "same"
    if pair.n_units < 10:
        return "too_few"
    sign = -1 if pair.lower_is_better else 1
    low, high = sorted((sign * pair.ci.low, sign * pair.ci.high))
    narrow = sorted((sign * pair.ci_equivalence.low, sign * pair.ci_equivalence.high))
    m = pair.margin
    if m > 0 and -m < narrow[0] and narrow[1] < m:
        return "same"
    if low > m:
        return "better"
    if high < -m:
        return "worse"
    return "probably_better" if low > 0 else "probably_worse" if high < 0 else "cannot_tell"


def check_item(item, alpha):
    pair, code = item.pair, item.verdict.code
    excludes = pair.ci.low > 0 or pair.ci.high < 0
    assert (pair.p.adjusted <= alpha) == excludes
    assert pair.ci.low <= pair.delta <= pair.ci.high
    says = table_says(pair)
    if code == "identical":
        assert says == "same"
    elif code == "not_safe":
        assert says in (*CLAIMS, "same")
        assert item.unjudged.strength == "not_safe"
        assert "unjudged results" in item.verdict.reason
    elif code == "not_comparable":  # a rank that one of the two does not have
        assert item.n_one_sided > 0
        assert "who finds less would look better" in item.verdict.reason
    elif item.verdict.because == "unjudged":
        assert says == code.removeprefix("probably_")
    else:
        assert code == says
    if code in CLAIMS:
        assert ("better" in code) == (pair.gain > 0)
        assert excludes
    point = item.unjudged and item.unjudged.tipping_point
    if point is not None:
        assert (point > item.unjudged.tested_share) == (item.unjudged.strength == "stands")


def check_words(comparison, item):
    """The interval that is printed is the one that decides, everywhere, rounded alike."""
    if item.verdict.code in ("not_safe", "too_few", "identical", "not_comparable") or not (item.wins + item.losses):
        return
    found = re.search(r"(\d[\d.]*)% CI ([+-][\d.]+) to ([+-][\d.]+)", item.verdict.reason)
    assert float(found[1]) == pytest.approx(100 * (1 - comparison.settings.alpha))
    digits = len(found[2].partition(".")[2])
    assert (found[2], found[3]) == (f"{item.pair.ci.low:+.{digits}f}", f"{item.pair.ci.high:+.{digits}f}")
    for end, printed in ((item.pair.ci.low, float(found[2])), (item.pair.ci.high, float(found[3]))):
        touches = printed == 0 and abs(end) < 1e-9  # an end at 0 does not exclude it
        assert touches or (printed > 0, printed < 0) == (end > 0, end < 0)


def check_board(comparison):
    for group in comparison.groups:
        for place in group.leaderboard:
            if comparison.baseline is not None:
                assert place.rank is None
                continue
            better = {
                item.pair.b for item in group.compared if item.pair.a == place.system and "better" in item.verdict.code
            }
            better |= {
                item.pair.a for item in group.compared if item.pair.b == place.system and "worse" in item.verdict.code
            }
            assert place.rank == 1 + len(better)
        top = report_of(comparison).first_screen[0]
        if comparison.baseline is None and " is the best." in top.headline:
            assert len(group.leaderboard[0].beats) == len(group.leaderboard) - 1


def check_files(comparison):
    record = comparison.to_dict()
    listed = [c for group in record["groups"] for c in group["comparisons"] if c["role"] == "primary"]
    rows = [
        row for row in csv.DictReader(io.StringIO(to_csv(comparison_table(comparison)))) if row["role"] == "primary"
    ]
    for item, entry, row in zip(comparison, listed, rows, strict=True):
        assert entry["verdict"]["code"] == row["verdict"] == item.verdict.code
        assert (entry["ci"]["low"], entry["p"]["adjusted"]) == (item.pair.ci.low, item.pair.p.adjusted)
        assert (float(row["ci_low"]), float(row["p_adjusted"])) == (item.pair.ci.low, item.pair.p.adjusted)
    json.dumps(record, allow_nan=False)


def check_gate(comparison):
    if comparison.baseline is None:
        return
    gate = gate_of(comparison, GatePolicy(allow_missing=1.0))
    for item, check in zip(comparison, gate.checks, strict=True):
        if "worse" in item.verdict.code:
            assert check.outcome == "failed"
        elif item.verdict.code in ("better", "probably_better", "same", "identical"):
            assert check.outcome == "passed"


def check_everything(comparison):
    for item in comparison:
        check_item(item, comparison.settings.alpha)
        check_words(comparison, item)
    check_board(comparison)
    check_files(comparison)
    check_gate(comparison)


def compared(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankscopeWarning)
        return rs.compare(*arguments, **options)


@pytest.fixture(scope="module")
def covid_runs():
    return sorted((COVID / "runs").glob("*.gz"))


@pytest.mark.parametrize("measure", ["nDCG@10", "P@5", "RR@10", "AP", "FirstRel", "Success@1"])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_covid_runs_against_a_baseline(measure, alpha, covid_runs):
    runs = covid_runs if measure != "AP" else covid_runs[::3]
    check_everything(compared(COVID / "qrels.trec.gz", runs, measure, alpha=alpha, n_resamples=1_999))


@pytest.mark.parametrize("correction", ["maxt", "bonferroni", "none"])
def test_covid_runs_each_with_each(correction, covid_runs):
    options = {"all_pairs": True, "correction": correction, "n_resamples": 1_999}
    check_everything(compared(COVID / "qrels.trec.gz", covid_runs, "nDCG@10", **options))


@pytest.mark.parametrize("qrels", ["trec-covid-round1", "robust03", "scifact-local"])
def test_other_collections(qrels):
    if qrels == "scifact-local":
        judged, runs = DATA / "collections" / "scifact" / "qrels.trec", DATA / "runs" / "scifact-local" / "runs"
    else:
        folder = DATA / "runs" / qrels
        judged, runs = next(folder.glob("qrels*")), folder / "runs"
    listed = sorted(runs.iterdir())[:7]
    for unjudged in ("auto", "uncertain", "irrelevant"):
        check_everything(compared(judged, listed, "nDCG@10 RR@10", unjudged=unjudged, n_resamples=999))


@pytest.mark.parametrize("path", sorted((DATA / "stats" / "urbano-sigir2019").glob("*_*.csv")), ids=lambda p: p.stem)
def test_scores_of_many_trec_systems(path, tmp_path):
    table = np.loadtxt(path, delimiter=",", skiprows=1)[:, :12]
    lines = [f"{i}," + ",".join(map(repr, row)) for i, row in enumerate(table.tolist())]
    file = tmp_path / "scores.csv"
    file.write_text("\n".join([f"query,{','.join(f's{i}' for i in range(12))}", *lines]) + "\n")
    scores = read_scores([file], measure="score")
    for options in ({"all_pairs": True}, {}):
        check_everything(compare_scores(scores, n_resamples=999, **options))


def test_a_collapse_is_called_worse_and_fails_the_gate():
    """0.684 against 0.026, not one query won of 30: unjudged docs cannot excuse that."""
    runs = [COVID / "runs" / name for name in ("run1.gz", "CincyMedIR-run1.gz")]
    comparison = compared(COVID / "qrels.trec.gz", runs, "nDCG@10")
    (item,) = comparison
    assert (round(item.mean.a, 3), round(item.mean.b, 3)) == (0.684, 0.026)
    assert item.verdict.code == "worse"
    assert gate_of(comparison, GatePolicy()).exit_code == 1


def test_pages_of_one_and_of_many_systems_name_one_interval(covid_runs):
    comparison = compared(COVID / "qrels.trec.gz", covid_runs, "nDCG@10", n_resamples=999)
    text = render(report_of(comparison, with_figures=False, every_pair=False), "text")
    for item in comparison:
        line = next(line for line in text.splitlines() if line.startswith(f"  {item.pair.b} ") and " / " in line)
        low, high = re.search(r"\[([+-][\d.]+), ([+-][\d.]+)\]", line).groups()
        assert f"{low} to {high}" in item.verdict.reason or item.verdict.code == "not_safe"
