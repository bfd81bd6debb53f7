"""The measures by subtopic against formulas written plainly from the papers, over random judgments and rankings."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs

DOCS = "abcdefg"
ALPHAS = (0, 0.25, 0.3, 0.5, 0.9, 1)
JUDGED = st.dictionaries(
    st.tuples(st.sampled_from("123"), st.sampled_from(DOCS[:6])), st.sampled_from([-1, 0, 1, 1, 2]), min_size=1
)
"""Grades by subtopic and doc; nobody judged g."""
A_RELEVANT = JUDGED.map(lambda grades: {**grades, ("1", "a"): 1})
"""The same, where a is relevant at least."""
RANKED = st.lists(st.sampled_from(DOCS), unique=True, max_size=7)


def relevant(grades, rel):
    """Return the subtopics that have relevant docs, and their docs: J(d, i) of Clarke et al. 2008."""
    subtopics = {t for (t, _), grade in grades.items() if grade >= rel}
    return {t: {doc for (u, doc), grade in grades.items() if u == t and grade >= rel} for t in sorted(subtopics)}


def gain(docs_of, above, doc, alpha):
    """Clarke et al. 2008, equation 5: the sum over i of J(d_k, i) (1 - alpha)^{r_{i,k-1}}."""
    return sum((1 - alpha) ** sum(d in docs for d in above) for docs in docs_of.values() if doc in docs)


def gains(docs_of, ranking, alpha):
    return [gain(docs_of, ranking[:i], doc, alpha) for i, doc in enumerate(ranking)]


def discounted(values, discount):
    return sum(float(value) * discount(rank) for rank, value in enumerate(values, 1))


def log_discount(rank):
    return 1 / math.log2(1 + rank)


def reciprocal(rank):
    return 1 / rank


def patience(rank):
    return 0.7 ** (rank - 1)


def greedy(docs_of, alpha):
    """Clarke et al. 2008, section 3.3: the ideal gain vector by the greedy approach; exact, so that ties are ties."""
    left, ranking = sorted(set().union(*docs_of.values()), reverse=True), []
    while left:
        best = max(left, key=lambda doc: (gain(docs_of, ranking, doc, Fraction(alpha)), doc))
        left.remove(best)
        ranking.append(best)
    return ranking


def expected(docs_of, ranking, k, alpha):
    """Return what each measure must be, by its name without parameters."""
    top, ideal = ranking[:k], greedy(docs_of, alpha)[:k]
    mine, best = gains(docs_of, top, alpha), gains(docs_of, ideal, alpha)
    perfect = [(1 - alpha) ** i for i in range(k)]
    n = len(docs_of)
    hits = {t: [rank for rank, doc in enumerate(top, 1) if doc in docs] for t, docs in docs_of.items()}
    ratio = {name: discounted(mine, d) / discounted(best, d) for name, d in
             (("alpha_nDCG", log_discount), ("nERR_IA", reciprocal), ("nNRBP", patience))}  # fmt: skip
    return {
        **ratio,
        "alpha_DCG": discounted(mine, log_discount),
        "alpha_DCG best": discounted(mine, log_discount) / n / discounted(perfect, log_discount),
        "ERR_IA": discounted(mine, reciprocal) / n / discounted(perfect, reciprocal),
        "ERR_IA none": sum(expected_reciprocal_rank(ranks, alpha) for ranks in hits.values()) / n,
        "NRBP": (1 - (1 - alpha) * 0.7) / n * discounted(mine, patience),
        "StRecall": sum(bool(ranks) for ranks in hits.values()) / n,
        "P_IA": sum(len(ranks) / k for ranks in hits.values()) / n,
        "AP_IA": sum(
            sum(i / rank for i, rank in enumerate(hits[t], 1)) / len(docs) for t, docs in docs_of.items()
        ) / n,
    }  # fmt: skip


def expected_reciprocal_rank(ranks, stops):
    """Chapelle et al. 2009, algorithm 1, for relevant docs at these ranks that satisfy with the same chance."""
    total, goes_on = 0.0, 1.0
    for rank in ranks:
        total += goes_on * stops / rank
        goes_on *= 1 - stops
    return total


def written(k, alpha, rel):
    """Return the name of each measure with its parameters."""
    plain = {"StRecall": f"(rel={rel})", "P_IA": f"(rel={rel})", "AP_IA": f"(rel={rel})"}
    patient = dict.fromkeys(("NRBP", "nNRBP"), f"(alpha={alpha}, beta=0.7, rel={rel})")
    scaled = {
        f"{name} {scale}": f"(alpha={alpha}, rel={rel}, scale='{scale}')"
        for name, scale in (("alpha_DCG", "best"), ("ERR_IA", "none"))
    }
    others = dict.fromkeys(("alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA"), f"(alpha={alpha}, rel={rel})")
    inside = {**plain, **patient, **scaled, **others}
    return {name: f"{name.split(' ', maxsplit=1)[0]}{params}@{k}" for name, params in inside.items()}


def evaluated(grades, ranking, names):
    rows = [
        *({"query": "q", "subtopic": t, "doc": doc, "grade": grade} for (t, doc), grade in grades.items()),
        {"query": "other", "subtopic": "1", "doc": "a", "grade": 1},
    ]
    run = {"q": {doc: -float(i) for i, doc in enumerate(ranking)}, "other": {"a": 1.0}}
    found = rs.evaluate(rows, run, list(names.values()))["run"]
    undefined = dict(zip(found.measures, found.undefined[found.query_ids.index("q")].tolist(), strict=True))
    return {
        name: (found["q", m.name], undefined[m.name])
        for name, m in zip(names, map(rs.parse_measure, names.values()), strict=True)
    }


@given(
    grades=JUDGED, ranking=RANKED, k=st.integers(1, 8), alpha=st.sampled_from(ALPHAS), rel=st.sampled_from([1, 2])
)  # fmt: skip
def test_every_measure_equals_its_formula(grades, ranking, k, alpha, rel):
    docs_of = relevant(grades, rel)
    found = evaluated(grades, ranking, written(k, alpha, rel))
    if not docs_of:
        assert all(undefined for _, undefined in found.values())
        return
    wanted = expected(docs_of, ranking, k, alpha)
    assert {name: score for name, (score, _) in found.items()} == pytest.approx(wanted, abs=1e-12)
    assert not any(undefined for _, undefined in found.values())


@given(grades=A_RELEVANT, alpha=st.sampled_from(ALPHAS), k=st.integers(1, 4))
def test_no_ranking_beats_the_greedy_one_by_more_than_the_range_says(grades, alpha, k):
    docs_of = relevant(grades, 1)
    docs = sorted(set().union(*docs_of.values()))
    ideal = discounted(gains(docs_of, greedy(docs_of, alpha)[:k], alpha), log_discount)
    best = max(
        discounted(gains(docs_of, ranking, alpha), log_discount)
        for ranking in itertools.permutations(docs, min(k, len(docs)))
    )
    assert ideal <= best + 1e-12
    assert best / ideal <= rs.parse_measure("alpha_nDCG").spec.range[1]


@given(grades=A_RELEVANT, others=st.permutations("bcdef"), i=st.integers(0, 5), alpha=st.sampled_from(ALPHAS))
def test_a_relevant_doc_that_rises_past_one_that_is_not_never_lowers_a_score(grades, others, i, alpha):
    names = written(3, alpha, 1)
    before, after = (evaluated(grades, [*others[:i], *pair, *others[i:]], names) for pair in ("ga", "ag"))
    assert all(after[name][0] >= before[name][0] - 1e-12 for name in names)


@given(grades=JUDGED, ranking=RANKED)
def test_order_of_judgments_and_names_of_subtopics_do_not_matter(grades, ranking):
    names = written(3, 0.5, 1)
    renamed = {({"1": "ü", "2": "x y", "3": "0"}[t], doc): grade for (t, doc), grade in reversed(grades.items())}
    one, other = (evaluated(judgments, ranking, names) for judgments in (grades, renamed))
    assert np.array(list(one.values())) == pytest.approx(np.array(list(other.values())), abs=1e-12)
