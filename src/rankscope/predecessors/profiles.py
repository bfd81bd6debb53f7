"""Profiles of four evaluation frameworks that Rankscope replaces, with the names their users know.

A key such as `precisionAt{k}` stands for one key per cut-off; `{max_k}` is the deepest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rankscope.measures.profiles import Profile

_REPEATS = "a doc listed twice is refused; rankscope.predecessors counts it twice, as the original does"
_NDCG = "nDCG(gain='binary')@{k}"


def expand_keys(patterns: Mapping[str, str], cuts: Sequence[int]) -> dict[str, str]:
    """Return {key: measure} with the cut-offs filled in; keys that have one are listed cut-off by cut-off."""
    deepest = max(cuts, default=0)
    found: dict[str, str] = {}
    for has_cut, group in groupby(patterns.items(), key=lambda pair: "{k}" in pair[0]):
        listed = list(group)
        for k in cuts if has_cut else (deepest,):
            for pair in listed:
                key, measure = (text.replace("{k}", str(k)).replace("{max_k}", str(deepest)) for text in pair)
                found[key] = measure
    return found


def podcast_mean_key(key: str) -> str:
    """Return what the podcast search calls the mean of a score."""
    return f"avg_{'mrr' if key == 'mean_reciprocal_rank' else key.removesuffix('_score')}"


RANKING_ALGO = Profile(
    name="ranking_algo",
    description="the doctor search's test bench: binary nDCG, test cases without ground truth left out",
    policies={"ties": "given", "missing": "zero", "no_relevant": "exclude"},
    variants={"nDCG": {"gain": "binary"}},
    measures=(
        *("P@3", "R@3", "P@5", "R@5", "RR", "nDCG@5"),
        *("FirstRel", "MeanRel", "NumRelRet@3", "NumRelRet@5", "NumRelRet@10"),
    ),
    keys={
        "precisionAt{k}": "P@{k}",
        "recallAt{k}": "R@{k}",
        "mrr": "RR",
        "ndcg": "nDCG(gain='binary')@5",
        "averagePosition": "MeanRel",
        "minPosition": "FirstRel",
        "maxPosition": "LastRel",
        **{f"inTop{k}": f"NumRelRet@{k}" for k in (3, 5, 10)},
        "totalFound": "NumRelRet",
    },
    mean_keys={
        "averagePrecisionAt{k}": "P@{k}",
        "averageRecallAt{k}": "R@{k}",
        "averageMRR": "RR",
        "averageNDCG": "nDCG(gain='binary')@5",
    },
    cuts=(3, 5),
    notes=(
        "its nDCG is cut at 5 in the server and at 12 on its command line; say nDCG@12 for the latter",
        (
            "positions: the first (FirstRel) and the average one (MeanRel) over the cases where somebody was found, "
            "with that n; how many doctors stand in the top 3, 5 and 10 (NumRelRet@3, @5, @10), over all cases"
        ),
        "names of the ground truth that match nobody stay in the denominator of recall; the original drops them",
        _REPEATS,
    ),
)

_PODCAST_KEYS = {
    "relevance_score": "MeanGain(max_grade=3)",
    "coverage_score": "TopicCoverage",
    "diversity_score": "ContentDiversity(field='podcast_id', date='published_at')",
    "precision": "P@10",
    "recall": "R@10",
    "ndcg": "nDCG@10",
    "mean_reciprocal_rank": "RR",
}
PARAKEET = Profile(
    name="parakeet",
    description="the podcast search's quality metrics: grades 0 to 3, relevant from 2 up, graded nDCG",
    policies={"ties": "given", "duplicates": "first", "missing": "zero", "undefined": "zero", "min_rel": 2},
    variants={
        "MeanGain": {"max_grade": 3},
        "Distinct": {"field": "podcast_id"},
        "ContentDiversity": {"field": "podcast_id", "date": "published_at"},
        **{
            name: {"field": "published_at"}
            for name in ("DateDistinct", "DateSpan", "GapEntropy", "DocAge", "Freshness")
        },
    },
    measures=("MeanGain", "P@10", "R@10", "nDCG@10", "RR", "Uniqueness"),
    measures_of_docs=("TopicCoverage", "Distinct", "DateDistinct", "ContentDiversity", "ILD"),
    unjudged_queries="zero",
    keys=_PODCAST_KEYS,
    mean_keys={podcast_mean_key(key): name for key, name in _PODCAST_KEYS.items()},
    notes=(
        "diversity_score is ILD where embeddings are given, else ContentDiversity; both are measured where they can be",
        (
            "queries without judgments that a run answers, or that are among the queries given, score 0 and count; "
            "unjudged_queries='skip' leaves them out"
        ),
        (
            "of a doc listed twice the first row counts, and Uniqueness counts them all; rankscope.predecessors "
            "counts it twice everywhere, as the original does"
        ),
    ),
)


def _phentrieve() -> Iterator[Profile]:
    cuts = (1, 3, 5, 10)
    for name, precision, note in (
        ("phentrieve", "P", "the divisor of precision is k, as in the code since commit 48e784e"),
        ("phentrieve-plan", "P_ret", "the divisor of precision is the number of docs retrieved, as in its plan"),
    ):
        keys = {
            "mrr_dense": "RR",
            "hit_rate_dense@{k}": "Success@{k}",
            "max_ont_similarity_dense@{k}": "MaxOntSim(sim='phentrieve_hybrid')@{k}",
            "ndcg_dense@{k}": _NDCG,
            "recall_dense@{k}": "R@{k}",
            "precision_dense@{k}": f"{precision}@{{k}}",
            "map_dense@{k}": "AP(norm='min')@{k}",
        }
        of_docs = {key: measure for key, measure in keys.items() if measure.startswith("MaxOntSim")}
        plain = {key: measure for key, measure in keys.items() if key not in of_docs}
        yield Profile(
            name=name,
            description="the HPO retrieval benchmark: binary nDCG, AP over at most k, cases without ids left out",
            policies={"ties": "given", "missing": "zero", "no_relevant": "exclude"},
            variants={"nDCG": {"gain": "binary"}, "AP": {"norm": "min"}, "MaxOntSim": {"sim": "phentrieve_hybrid"}},
            measures=tuple(expand_keys(plain, cuts).values()),
            measures_of_docs=tuple(expand_keys(of_docs, cuts).values()),
            keys=keys,
            mean_keys=keys,
            cuts=cuts,
            notes=(
                note,
                "failed cases are not in its means: leave them out of the qrels, as `rankscope import` does",
                _REPEATS,
            ),
        )


def _dartboard() -> Iterator[Profile]:
    for name, precision, what in (
        ("dartboard", "P", "k, as its documents say"),
        ("dartboard-code", "P_ret", "the number of docs retrieved, as its code has it"),
    ):
        plain = {
            "MRR@{max_k}": "RR@{max_k}",
            "Recall@{k}": "R@{k}",
            "Precision@{k}": f"{precision}@{{k}}",
            "NDCG@{k}": _NDCG,
            "AP": "AP",
        }
        over_docs = {"ILD": "ILD@10", "Alpha-NDCG@10": "NoveltyNDCG(rel_weight=0.5)@10"}
        means = {**plain, "MAP@{max_k}": "AP@{max_k}"}
        cuts = (1, 5, 10, 20, 100)
        yield Profile(
            name=name,
            description=f"the diversity-aware RAG benchmark: binary nDCG; precision divides by {what}",
            policies={"ties": "given", "missing": "zero", "undefined": "zero"},
            variants={"nDCG": {"gain": "binary"}},
            measures=tuple(expand_keys(means, cuts).values()),
            measures_of_docs=tuple(over_docs.values()),
            keys={**plain, **over_docs},
            mean_keys={**means, **over_docs},
            cuts=cuts,
            notes=(
                (
                    "its ILD is that of the ten docs that it retrieves, ILD@10 here: over a longer list, docs in "
                    "another order would be just as diverse"
                ),
                "its Alpha-NDCG is NoveltyNDCG here; alpha_nDCG is the measure of Clarke et al. 2008, by subtopics",
                "queries of the qrels without relevant docs score 0 and count; unjudged_queries='zero' adds others",
                _REPEATS,
            ),
        )


PHENTRIEVE, PHENTRIEVE_PLAN = _phentrieve()
DARTBOARD, DARTBOARD_CODE = _dartboard()
