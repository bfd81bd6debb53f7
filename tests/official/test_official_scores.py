"""Official scores of real runs: TREC-COVID's leaderboard, NIST's robust track, NIST's own tests of trec_eval 10."""

import csv
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.evaluation import trec_eval_text

DATA = Path(__file__).parents[2].parent / "shared" / "data"
RUNS = DATA / "runs"
pytestmark = [
    pytest.mark.skipif(not RUNS.is_dir(), reason="the shared data folder is not beside the checkout"),
    pytest.mark.filterwarnings("ignore:.*does not answer:rankscope.errors.RankscopeWarning"),
]


def table(path):
    """Return the rows of a CSV file by their first column."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file)}


COVID = RUNS / "trec-covid-round1"
LEADERBOARD = table(COVID / "leaderboard.csv")
COVID_RUNS = sorted(path.stem for path in (COVID / "runs").glob("*.gz"))
ROBUST = RUNS / "robust03"
NIST = table(ROBUST / "official_nist.csv")
ROBUST_RUNS = sorted(path.stem for path in (ROBUST / "runs").glob("*.gz"))
TESTS = RUNS / "trec_eval-10-tests"


def test_all_the_runs_are_there():
    assert len(COVID_RUNS) == 21
    assert len(ROBUST_RUNS) == 3
    assert set(COVID_RUNS) <= set(LEADERBOARD)
    assert set(ROBUST_RUNS) <= set(NIST)


def means(folder, run, measures, **policies):
    scores = rs.evaluate(folder / "qrels.trec.gz", {run: folder / "runs" / f"{run}.gz"}, measures, **policies)
    return {name: f"{mean.value:.4f}" for name, mean in scores[run].mean().items()}


@pytest.mark.parametrize("run", COVID_RUNS)
def test_trec_covid_leaderboard(run):
    official = LEADERBOARD[run]
    assert means(COVID, run, ["nDCG@10", "P@5", "Bpref", "AP"], missing="zero", depth=1000) == {
        "nDCG@10": official["ndcg@10"],
        "P@5": official["p@5"],
        "Bpref": official["bpref"],
        "AP": official["MAP"],
    }


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("run", ROBUST_RUNS)
def test_robust_track_scores_of_nist(run):
    official = NIST[run]
    ours = means(ROBUST, run, ["AP", "P@100", "P@1000", "Rprec"])
    assert (ours["AP"], ours["P@100"], ours["P@1000"]) == (official["map"], official["P_100"], official["P_1000"])
    assert float(ours["Rprec"]) == pytest.approx(float(official["Rprec"]), abs=1.01e-4)  # the page rounds otherwise


def parity(expected, *, qrels="qrels.test", run="results.test", measures=("all_trec",), **options):
    """Return our lines and NIST's, without rbp: the program reads memory there that it never set."""
    ours = trec_eval_text(TESTS / qrels, TESTS / run, measures, profile="trec_eval-10", **options).splitlines()
    theirs = (TESTS / expected).read_text().splitlines()
    return tuple([line for line in lines if not line.startswith("rbp ")] for lines in (ours, theirs))


LEVEL_2 = {"per_query": True, "qrels": "qrels.rel_level", "min_rel": 2}
MEASURE_PARAMETERS = (
    "ndcg_cut.23,10,20", "success.2,5,20", "P.5,7,3", "recall.20,2000", "iprec_at_recall..10,.20,.25,.75,.50",
    "Rprec_mult.0.2,0.35,5.0", "utility.2,-1,0,0", "11pt_avg..25,.5,.75", "ndcg.1=3,2=9,4=4.5",
)  # fmt: skip


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("expected", "options"),
    [
        ("out.test", {"measures": ("official",)}),
        ("out.test.a", {}),
        ("out.test.aq", {"per_query": True}),
        ("out.test.aqc", {"per_query": True, "complete": True, "run": "results.trunc"}),
        ("out.test.aqcM", {"per_query": True, "complete": True, "run": "results.trunc", "depth": 100}),
        ("out.test.aql", {**LEVEL_2, "measures": ("relstring.20", "all_trec")}),
        ("out.test.meas_params", {"per_query": True, "measures": MEASURE_PARAMETERS}),
    ],
)
def test_text_of_nists_own_tests(expected, options):
    ours, theirs = parity(expected, **options)
    assert ours == theirs


def test_control_the_wrong_depth_or_level_does_not_give_the_expected_text():
    complete = {"per_query": True, "complete": True, "run": "results.trunc"}
    ours, theirs = parity("out.test.aqcM", **complete, depth=99)
    assert ours != theirs
    ours, theirs = parity("out.test.aql", per_query=True, qrels="qrels.rel_level", min_rel=1)
    assert ours != theirs
