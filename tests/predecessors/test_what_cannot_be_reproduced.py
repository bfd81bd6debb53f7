"""What the pages for users of earlier frameworks say cannot come out of their documents; each is shown here."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

import rankscope as rs
from rankscope.measures.score_files import read_scores
from rankscope.predecessors import EvaluationFramework, alpha_ndcg, intra_list_diversity, ndcg_at_k

_spec = importlib.util.spec_from_file_location("podcast_sample", Path(__file__).with_name("podcast_sample.py"))
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

DOCS = [f"d{i}" for i in range(8)]
VECTORS = st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=len(DOCS), max_size=len(DOCS))


@given(VECTORS, st.permutations(DOCS), st.sets(st.sampled_from(DOCS), min_size=1), st.floats(0, 1))
def test_novelty_ndcg_never_exceeds_ndcg(vectors, ranking, relevant, alpha):
    embeddings = dict(zip(DOCS, vectors, strict=True))
    with_novelty = alpha_ndcg(ranking, relevant, embeddings, k=5, alpha=alpha)
    assert with_novelty <= ndcg_at_k(ranking, relevant, k=5) + 1e-12


def test_alpha_0_is_not_pure_diversity():
    embeddings = {"a": [1.0, 0.0, 0.0], "b": [0.6, 0.8, 0.0], "c": [0.0, 0.0, 1.0]}
    assert intra_list_diversity(["c", "a"], embeddings) == 1.0
    assert alpha_ndcg(["c", "a"], {"b"}, embeddings, alpha=0.0) == 0.0
    # by hand: the second doc has cosine 0.6 with the first, so its gain is 0.5 + 0.5 * 0.4
    by_hand = (1 + 0.7 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert alpha_ndcg(["a", "b"], {"a", "b"}, embeddings, alpha=0.5) == pytest.approx(by_hand)


def test_the_snippet_of_the_t_test_says_the_same_of_both_orders_and_compare_does_not(tmp_path):
    rng = np.random.default_rng(1)
    low = rng.uniform(0.1, 0.4, 30)
    high = low + rng.uniform(0.1, 0.3, 30)
    assert ttest_rel(low, high).pvalue == pytest.approx(ttest_rel(high, low).pvalue)
    assert ttest_rel(low, high).pvalue < 0.05
    rows = "".join(f"q{i},{a},{b}\n" for i, (a, b) in enumerate(zip(low, high, strict=True)))
    (tmp_path / "scores.csv").write_text(f"query,low,high\n{rows}")
    scores = read_scores([str(tmp_path / "scores.csv")])
    verdicts = {
        baseline: next(iter(rs.compare_scores(scores, baseline=baseline))).final_verdict.code for baseline in scores
    }
    assert verdicts == {"low": "better", "high": "worse"}


def test_the_fifth_query_of_the_podcast_set_has_no_judgments():
    assert len(sample.JUDGMENTS) == 5
    assert "reinforcement learning" in sample.RESULTS
    assert "reinforcement learning" not in sample.JUDGMENTS
    assert "neural networks" not in sample.RESULTS
    found = EvaluationFramework().evaluate_search_results(
        "reinforcement learning", sample.RESULTS["reinforcement learning"], {}
    )
    assert (found.ndcg, found.precision, found.mean_reciprocal_rank) == (0.0, 0.0, 0.0)
