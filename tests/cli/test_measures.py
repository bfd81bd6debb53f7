"""`rankscope measures`."""

import json

import pytest

from rankscope.measures.registry import REGISTRY


def test_list_has_every_measure_with_its_question(rankscope):
    done = rankscope("measures")
    assert done.code == 0
    listed = {line.split()[0].split("[")[0].split("@")[0] for line in done.out.splitlines() if line.startswith("  ")}
    assert listed == set(REGISTRY)
    assert "how close is the ranking to the best possible one" in done.out


@pytest.mark.parametrize("name", REGISTRY)
def test_every_measure_can_be_taught(rankscope, name):
    done = rankscope("measures", name)
    assert done.code == 0
    for word in ("Answers: ", "formula ", "range ", "undefined ", "example ", "cite ", "parameters:"):
        assert word in done.out
    assert "\\" not in done.out
    assert max(map(len, done.out.splitlines())) <= 120


@pytest.mark.parametrize("name", ["nDCG", "ndcg_cut", "nDCG@10", "ndcg_cut.10", "NDCG"])
def test_all_names_lead_to_the_measure(rankscope, name):
    assert rankscope("measures", name).out.startswith("nDCG[@k]: Normalised discounted cumulative gain")


def test_example_shows_its_arithmetic(rankscope):
    out = rankscope("measures", "nDCG").out
    assert "formula       DCG_k / IDCG_k" in out
    assert "score with k=3: 0.6199" in out  # (1/log2(3) + 2/2) / (2 + 1/log2(3)), by hand


def test_typo_gets_a_suggestion(rankscope):
    done = rankscope("measures", "ndgc")
    assert done.code == 2
    assert "did you mean nDCG" in done.err


def test_json_has_all_of_them(rankscope):
    records = json.loads(rankscope("measures", "--format", "json").out)
    assert sorted(record["name"] for record in records) == sorted(REGISTRY)
    assert set(records[0]) >= {"answers", "formula", "range", "parameters", "cite"}


def test_json_of_one(rankscope):
    (record,) = json.loads(rankscope("measures", "DCG", "--format", "json").out)
    assert record["range"] == [0, None]


def test_unknown_format(rankscope):
    assert "--format yaml is not one of text, json" in rankscope("measures", "--format", "yaml").err
