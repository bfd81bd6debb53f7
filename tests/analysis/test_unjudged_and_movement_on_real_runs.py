"""Real runs of TREC-COVID, round 1: differences as on the official leaderboard, taken apart and bounded."""

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs, top_docs
from rankscope.analysis.aligned import AlignedRun, JudgedDocs
from rankscope.analysis.movement import movement_of
from rankscope.analysis.unjudged import unjudged_effect_of
from rankscope.data.loading import load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.measures.parse import parse_measure
from rankscope.measures.scoring import score_hits

COVID = Path(__file__).parents[2].parent / "shared" / "data" / "runs" / "trec-covid-round1"
pytestmark = pytest.mark.skipif(not COVID.is_dir(), reason="the shared data folder is not beside the checkout")
OFFICIAL = {"nDCG@10": "ndcg@10", "P@5": "p@5", "AP": "MAP"}
PAIRS = list(pairwise(["run1", "udel_fang_run3", "azimiv_wk1", "savantx_nist_run_2"]))
POLICIES = Policies(depth=1000)


@pytest.fixture(scope="module")
def qrels():
    return load_qrels(COVID / "qrels.trec.gz")


def leaderboard():
    with (COVID / "leaderboard.csv").open(newline="") as file:
        return {row["run"]: row for row in csv.DictReader(file)}


def runs_of(pair):
    return [load_run(COVID / "runs" / f"{name}.gz") for name in pair]


def effect_of(qrels, runs, measure):
    return unjudged_effect_of(qrels, *(AlignedRun.of(qrels, run, POLICIES) for run in runs), measure, POLICIES)


@pytest.mark.parametrize("measure", OFFICIAL)
@pytest.mark.parametrize("pair", PAIRS)
def test_the_official_difference(qrels, measure, pair):
    official = leaderboard()
    a, b = (float(official[name][OFFICIAL[measure]]) for name in pair)
    wanted = parse_measure(measure)
    docs = JudgedDocs.of(qrels)
    moved = movement_of(
        docs, *(AlignedRun.of(qrels, run, POLICIES, docs=docs) for run in runs_of(pair)), wanted, POLICIES
    )
    effect = effect_of(qrels, runs_of(pair), wanted)
    assert moved.difference == pytest.approx(b - a, abs=1.01e-4)  # both are rounded to four decimals
    assert sum(part.mean for part in moved.kinds.values()) == pytest.approx(moved.difference, abs=1e-12)
    assert effect.useless == pytest.approx(moved.difference, abs=1e-12)
    assert effect.low - 1e-12 <= min(effect.useless, effect.perfect)
    assert effect.high + 1e-12 >= max(effect.useless, effect.perfect)


@pytest.mark.parametrize("measure", ["nDCG@10", "RR", "AP@20", "R@10"])
def test_random_judgments_stay_within_the_bounds(qrels, measure):
    runs, wanted = runs_of(PAIRS[1]), parse_measure(measure)
    effect = effect_of(qrels, runs, wanted)
    rng = np.random.default_rng(0)
    for share in (0.05, 0.3, 0.7):
        judged = {query: dict(docs) for query, docs in qrels.judged.items()}
        for doc in effect.docs():
            judged[doc.query][doc.doc] = int(rng.integers(1, 3)) if rng.random() < share else 0
        hits = [align(Qrels(judged), run, POLICIES) for run in runs]
        a, b = (score_hits(each, [wanted], POLICIES)[0][:, 0] for each in hits)
        assert np.all(b - a >= effect.query_low - 1e-9)
        assert np.all(b - a <= effect.query_high + 1e-9)
        complete = effect_of(Qrels(judged), runs, wanted)
        assert complete.low == pytest.approx(complete.high, abs=1e-9)


@pytest.mark.parametrize("name", ["run1", "azimiv_wk1", "lda400s2000"])
def test_the_first_docs_of_real_files(qrels, name):
    run = load_run(COVID / "runs" / f"{name}.gz")
    found = leading_docs(run, qrels.query_ids, POLICIES, depth=10)
    assert found.docs == top_docs(run, qrels.query_ids, POLICIES, depth=10).docs
