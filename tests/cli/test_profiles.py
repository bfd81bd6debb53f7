"""`rankscope profiles`."""

import json

from rankscope.measures.profiles import PROFILES


def test_all_are_listed(rankscope):
    done = rankscope("profiles")
    assert done.code == 0
    for name in (
        "trec_eval-9",
        "trec_eval-10",
        "gdeval",
        "msmarco",
        "beir",
        "sentence-transformers",
        "ranx",
        "sklearn",
    ):
        assert f"{name}: " in done.out


def test_one_is_shown_with_its_policies_and_variants(rankscope):
    done = rankscope("profiles", "gdeval")
    assert "policies  no_relevant=exclude, missing=skip" in done.out
    assert "measures  nDCG(gain='exp2'), ERR(max_grade=4)" in done.out
    assert "msmarco" not in done.out


def test_json(rankscope):
    records = json.loads(rankscope("profiles", "--format", "json").out)
    assert [record["name"] for record in records] == list(PROFILES)


def test_typo_gets_a_suggestion(rankscope):
    done = rankscope("profiles", "trec_eval9")
    assert done.code == 2
    assert "did you mean trec_eval-9" in done.err
