"""Profiles of the predecessors measure all that their users had, where the data is there; numbers are by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rankscope as rs
from rankscope import predecessors
from rankscope.errors import OptionError, RankscopeWarning

JUDGED = {"ep_001": 3, "ep_002": 2, "ep_003": 1, "ep_004": 0}
SEARCHED = [
    {"episode_id": "ep_003", "podcast_id": "pod_1", "published_at": "2025-01-15", "_distance": 0.1},
    {"episode_id": "ep_001", "podcast_id": "pod_1", "published_at": "2025-01-08", "_distance": 0.2},
    {"episode_id": "ep_002", "podcast_id": "pod_2", "published_at": "2025-01-08", "_distance": 0.3},
    {"episode_id": "ep_003", "podcast_id": "pod_1", "published_at": "2025-01-15", "_distance": 0.4},
]
"""The first episode is listed again at the end."""
TOPICS = {"ep_001": ["ML", "supervised"], "ep_002": ["ML", "CNN"], "ep_003": ["ethics"], "ep_004": ["law"]}
VECTORS = {"ep_001": [1, 0], "ep_002": [0, 1], "ep_003": [1, 0], "ep_004": [0, 1]}


@pytest.fixture
def imported(tmp_path, monkeypatch, rankscope):
    """Return a folder with the importer's own files of a search, judgments and topics."""
    monkeypatch.chdir(tmp_path)
    contents = {
        "judgments": {"machine learning": JUDGED},
        "export": {"metadata": {"query": "machine learning"}, "results": SEARCHED},
        "topics": TOPICS,
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        assert rankscope("import", f"{name}.json", "-o", name).code == 0
    fields = {}
    for name in ("export", "topics"):
        for line in (tmp_path / name / "docs.jsonl").read_text().splitlines():
            doc = json.loads(line)
            fields.setdefault(doc["id"], {}).update(doc)
    (tmp_path / "docs.jsonl").write_text("".join(f"{json.dumps(doc)}\n" for doc in fields.values()))
    rows = (json.dumps({"id": doc, "vector": vector}) for doc, vector in VECTORS.items())
    (tmp_path / "vectors.jsonl").write_text("\n".join(rows))
    return tmp_path


EVALUATE = ("evaluate", "judgments/qrels.txt", "export/runs/podcast-search.run", "--profile", "parakeet")


def test_the_podcast_search_has_all_its_numbers(imported, rankscope):
    """Over ep_003, ep_001, ep_002: the second ep_003 counts for uniqueness alone."""
    done = rankscope(*EVALUATE, "--docs", "docs.jsonl", "--embeddings", "vectors.jsonl", "--format", "json")
    mean = json.loads(done.out)["runs"][0]["mean"]
    dcg, ideal = 1 + 3 / math.log2(3) + 2 / 2, 3 + 2 / math.log2(3) + 1 / 2
    assert mean == {
        "MeanGain(max_grade=3)": pytest.approx((1 + 3 + 2) / 9),
        "P@10": 2 / 10,
        "R@10": 1,
        "nDCG@10": pytest.approx(dcg / ideal),
        "RR": 1 / 2,
        "Uniqueness": 3 / 4,
        "TopicCoverage": 4 / 5,
        "Distinct(field='podcast_id')": pytest.approx(2 / 3),
        "DateDistinct(field='published_at')": 1 / 2,
        "ContentDiversity(field='podcast_id', date='published_at')": pytest.approx((2 + 2) / 6),
        "ILD": pytest.approx((0 + 1 + 1) / 3),
    }
    assert "1 row of 1 query repeats a doc" in done.err
    assert "not measured" not in done.err


def test_what_is_not_measured_is_said_in_one_line(imported, rankscope):
    done = rankscope(*EVALUATE, "--docs", "export/docs.jsonl", "--format", "csv")
    line = next(line for line in done.err.splitlines() if "not measured" in line)
    assert line.startswith(
        "warning: profile parakeet: not measured are TopicCoverage: the docs have no field topics; ILD: pass embeddings"
    )
    assert "ContentDiversity" in done.out
    done = rankscope(*EVALUATE, "--format", "csv")
    line = next(line for line in done.err.splitlines() if "not measured" in line)
    assert "TopicCoverage, Distinct(field='podcast_id'), DateDistinct(" in line
    assert "pass docs=… (--docs FILE" in line
    named = rankscope(*EVALUATE, "-m", "RR", "--format", "csv")
    assert "not measured" not in named.err


def test_measures_of_fields_need_no_names_of_fields_under_the_profile(imported, rankscope):
    """The newest episode is of 15 January; two of three shown are seven days older."""
    done = rankscope(*EVALUATE, "--docs", "docs.jsonl", "-m", "DocAge Freshness(days=7) DateSpan", "--format", "jsonl")
    assert json.loads(done.out) == {
        "run": "podcast-search",
        "DocAge(field='published_at')": pytest.approx(14 / 3),
        "Freshness(field='published_at', days=7)": pytest.approx(1 / 3),
        "DateSpan(field='published_at')": 7,
    }
    assert "1 row of 1 query repeats a doc" in done.err  # also where Uniqueness is not among the measures
    assert "ages count from 2025-01-15, the newest published_at of the docs" in done.err


QRELS = {"machine learning": {"a": 3}}
RUN = {"machine learning": ["a", "b"], "reinforcement learning": ["b", "c"]}


def test_queries_without_judgments_score_0_and_count_for_the_podcast_search():
    with pytest.warns(RankscopeWarning, match=r"1 of 2 queries has no judgments \(reinforcement learning\)"):
        scores = rs.evaluate(QRELS, RUN, "RR P@10 Uniqueness", profile="parakeet")
    mean = scores.mean()["run"]
    assert [mean["RR"].value, mean["P@10"].value, mean["Uniqueness"].value] == [1 / 2, 0.1 / 2, 1]
    assert scores.qrels.n_queries == 2
    assert scores.policies["unjudged_queries"] == "zero"
    with pytest.warns(RankscopeWarning) as warned:
        given = rs.evaluate(
            QRELS,
            {"machine learning": ["a"]},
            "RR",
            profile="parakeet",
            queries={"machine learning": {}, "cooking": {}},
        )
    assert given.mean()["run"]["RR"].value == 1 / 2
    (warning,) = warned
    assert len(warning.message.notes) == 2
    assert any("not answer 1 of 2 queries" in note for note in warning.message.notes)
    assert any("no judg" in note for note in warning.message.notes)


def test_they_are_left_out_by_other_profiles_and_where_that_is_said():
    assert rs.evaluate(QRELS, RUN, "RR").mean()["run"]["RR"].value == 1
    assert rs.evaluate(QRELS, RUN, "RR", profile="parakeet", unjudged_queries="skip").mean()["run"]["RR"].value == 1
    with pytest.warns(RankscopeWarning, match="no judgments"):
        assert rs.evaluate(QRELS, RUN, "RR", unjudged_queries="zero").mean()["run"]["RR"].value == 1 / 2
    with pytest.raises(OptionError, match=r"unjudged_queries = 'null' is not one of skip, zero"):
        rs.evaluate(QRELS, RUN, "RR", unjudged_queries="null")


def test_compare_counts_the_same_queries():
    other = {"machine learning": ["b", "a"], "reinforcement learning": ["c"]}
    with pytest.warns(RankscopeWarning, match="no judgments"):
        found = rs.compare(QRELS, {"one": RUN, "other": other}, "RR", profile="parakeet")
    assert (found.scores.mean()["one", "RR"].value, found["one", "other"].n_queries) == (1 / 2, 2)


def test_dartboard_measures_diversity_where_there_are_vectors():
    run, vectors = {"q": ["a", "b"]}, {"a": [1, 0], "b": [0, 1]}
    mean = rs.evaluate({"q": {"a": 1}}, run, profile="dartboard", embeddings=vectors)["run"].mean()
    assert (mean["ILD@10"].value, mean["NoveltyNDCG@10"].value) == (1, 1)
    assert rs.list_profiles()["dartboard"]


@pytest.mark.parametrize("profile", ["dartboard", "dartboard-code"])
def test_dartboard_measures_the_diversity_of_the_ten_docs_that_its_code_retrieves(profile):
    """Twenty docs, of which ten are alike: the same docs in another order are more diverse where these come last."""
    alike, apart = [f"s{i}" for i in range(10)], [f"d{i}" for i in range(10)]
    vectors = {**dict.fromkeys(alike, [1.0] + [0.0] * 10), **{doc: np.eye(11)[i + 1] for i, doc in enumerate(apart)}}
    runs = {"dense": {"q": [*alike, *apart]}, "diverse": {"q": [*apart, *alike]}}
    scores = rs.evaluate({"q": {"s0": 1}}, runs, profile=profile, embeddings=vectors)
    assert {name: run["q", "ILD@10"] for name, run in scores.items()} == {"dense": 0, "diverse": pytest.approx(1)}
    assert predecessors.in_their_words(scores["diverse"], profile).mean["ILD"] == pytest.approx(1)


def test_phentrieve_measures_similarity_where_there_is_an_ontology(tmp_path):
    terms = {"HP:1": [], "HP:2": ["HP:1"], "HP:3": ["HP:1"]}
    text = "".join(f"[Term]\nid: {t}\n" + "".join(f"is_a: {up}\n" for up in ups) + "\n" for t, ups in terms.items())
    (tmp_path / "tiny.obo").write_text(f"format-version: 1.2\n\n{text}")
    scores = rs.evaluate(
        {"q": {"HP:2": 1}}, {"q": ["HP:3", "HP:2"]}, profile="phentrieve", ontology=str(tmp_path / "tiny.obo")
    )["run"]
    names = [f"MaxOntSim(sim='phentrieve_hybrid')@{k}" for k in (1, 3, 5, 10)]
    assert set(names) <= set(scores.measures)
    assert [scores["q", name] for name in names[1:]] == [1, 1, 1]  # the expected term itself is second
    assert scores["q", names[0]] < 1


def test_the_doctor_search_has_its_positions():
    """Its document: found at 1, 3 and 5, average 3.0, first 1, two in the top 3, three in the top 5 and 10."""
    qrels, run = {"case": list("ABC")}, {"case": ["A", "x", "B", "y", "C"]}
    mean = rs.evaluate(qrels, run, profile="ranking_algo")["run"].mean()
    names = ("FirstRel", "MeanRel", "NumRelRet@3", "NumRelRet@5", "NumRelRet@10")
    assert [mean[name].value for name in names] == [1, 3, 2, 3, 3]
