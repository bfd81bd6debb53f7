"""`rankscope explain`; expected numbers are worked out by hand."""

import json
import math

import pytest


@pytest.fixture
def small(tmp_path, monkeypatch):
    (tmp_path / "qrels.txt").write_text("q 0 a 2\nq 0 b 0\nq 0 c 1\nempty 0 a 0\n")
    (tmp_path / "a.run").write_text("q Q0 x 1 3 t\nq Q0 c 2 2 t\nq Q0 a 3 1 t\nempty Q0 a 1 1 t\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


NDCG = (1 / math.log2(3) + 2 / 2) / (2 + 1 / math.log2(3))


def test_arithmetic_is_shown_rank_by_rank(rankscope, small):
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "nDCG@10")
    assert done.code == 0
    rows = [line.split() for line in done.out.splitlines()]
    assert ["1", "x", "unjudged", "0.000000"] in rows
    assert ["2", "c", "1", "1", "1.584963", "0.630930"] in rows
    assert ["3", "a", "2", "2", "2.000000", "1.000000"] in rows
    assert "the ideal ranking, from all judged docs" in done.out
    assert ["1", "a", "2", "2", "1.000000", "2.000000"] in rows
    assert f"nDCG@10 = 1.63093 / 2.63093 = {NDCG:.6f}" in done.out


def test_json_has_full_precision(rankscope, small):
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "--format", "json")
    record = json.loads(done.out)
    assert record["measure"] == "nDCG@10"
    assert record["score"] == pytest.approx(NDCG, abs=1e-15)
    assert [step["doc"] for step in record["steps"]] == ["x", "c", "a"]
    assert record["steps"][1]["term"] == 1 / math.log2(3)


def test_output_file_gets_json(rankscope, small):
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "RR", "-o", "why.json")
    assert (done.code, done.out) == (0, "")
    assert json.loads((small / "why.json").read_text())["score"] == 0.5


def test_table_can_be_written_to_a_file(rankscope, small):
    rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "RR", "-o", "why.txt", "--format", "table")
    assert (small / "why.txt").read_text().endswith("RR = 0.5\n")


def test_ranks_that_add_nothing_are_left_out_unless_asked_for(rankscope, small):
    docs = "".join(f"q Q0 junk{i:02} 1 {100 - i} t\n" for i in range(20))
    (small / "long.run").write_text(docs + "q Q0 a 1 1 t\n")
    short = rankscope("explain", "qrels.txt", "long.run", "--query", "q", "-m", "AP")
    assert "10 more ranks add nothing and are not shown" in short.out
    assert "junk09" in short.out
    assert "junk10" not in short.out
    assert "21 " in short.out
    every = rankscope("explain", "qrels.txt", "long.run", "--query", "q", "-m", "AP", "--all")
    assert "junk10" in every.out
    assert "not shown" not in every.out


def test_printed_changes_add_up_where_unjudged_docs_move_the_score(rankscope, small):
    unjudged = "".join(f"q Q0 junk{i:02} 1 {100 - i} t\n" for i in range(20))
    (small / "long.run").write_text(f"q Q0 a 1 200 t\n{unjudged}q Q0 c 1 1 t\n")
    short = rankscope("explain", "qrels.txt", "long.run", "--query", "q", "-m", "SetP")
    rows = [line.split() for line in short.out.splitlines()]
    assert ["1", "a", "2", "1.000000", "+1.000000"] in rows
    assert ["2", "junk00", "unjudged", "0.500000", "-0.500000"] in rows
    # from 1/10 to 1/21, which is left after the last of them
    assert ["(11", "unjudged", "docs,", "ranks", "11", "to", "21)", "0.047619", "-0.052381"] in rows
    assert ["22", "c", "1", "0.090909", "+0.043290"] in rows
    assert short.out.endswith("sum of changes = 0.090909\nSetP = 0.090909\n")
    every = rankscope("explain", "qrels.txt", "long.run", "--query", "q", "-m", "SetP", "--all")
    assert ["11", "junk09", "unjudged", "0.090909", "-0.009091"] in [line.split() for line in every.out.splitlines()]


def test_what_belongs_to_no_rank_has_a_row_of_its_own(rankscope, small):
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "NumRel")
    rows = [line.split() for line in done.out.splitlines()]
    assert ["(empty", "list)", "2", "+2"] in rows
    assert ["1", "x", "unjudged", "2", "0"] in rows


def test_pooled_docs_and_removed_docs_are_named(rankscope, small):
    (small / "qrels.txt").write_text("q 0 a 2\nq 0 c -1\n")
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "Judged")
    assert "unjudged (-1)" in done.out
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "SetP", "--judged-only")
    assert done.out.startswith("SetP of query q; 1 judged doc was retrieved; docs without a judgment are left out\n")
    assert done.out.endswith("SetP = 1\n")


def test_a_query_without_a_list(rankscope, small):
    (small / "other.run").write_text("empty Q0 a 1 1 t\n")
    done = rankscope("explain", "qrels.txt", "other.run", "--query", "q", "-m", "P_ret@5")
    assert done.out == (
        "P_ret@5 of query q; 0 docs were retrieved\n\n"
        "P_ret@5 = 0 (undefined: nothing was retrieved; counts as 0)\n"
    )  # fmt: skip


def test_one_number_for_all_queries_is_said_to_be_no_sum(rankscope, small):
    (small / "docs.jsonl").write_text('{"id": "a"}\n{"id": "c"}\n')
    done = rankscope(
        "explain", "qrels.txt", "a.run", "--query", "empty", "-m", "CatalogCoverage", "--docs", "docs.jsonl"
    )
    assert done.out.splitlines()[2:] == [
        "CatalogCoverage is one number for all queries together, not a sum over the ranks of one of them",
        "CatalogCoverage = 1",
    ]


def test_measures_by_ontology_are_explained(rankscope, small):
    terms = {"animal": "", "a": "is_a: animal\n", "c": "is_a: animal\n", "x": "is_a: a\n"}
    (small / "zoo.obo").write_text("".join(f"[Term]\nid: {term}\n{parent}\n" for term, parent in terms.items()))
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "q", "-m", "MaxOntSim", "--ontology", "zoo.obo")
    rows = [line.split() for line in done.out.splitlines()]
    assert next(row[:4] for row in rows if row[:1] == ["2"]) == ["2", "c", "1", "1.000000"]  # an expected term itself
    assert done.out.endswith("sum of changes = 1\nMaxOntSim = 1\n")


def test_undefined_is_said(rankscope, small):
    done = rankscope("explain", "qrels.txt", "a.run", "--query", "empty", "-m", "nDCG@10")
    assert "nDCG@10 = 0 (undefined: no judged doc of the query has a gain above 0; counts as 0)" in done.out
    left_out = rankscope(
        "explain", "qrels.txt", "a.run", "--query", "empty", "-m", "nDCG@10", "--no-relevant", "exclude"
    )
    assert "nDCG@10 is undefined here: the query has no relevant doc, and such queries are left out" in left_out.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--query", "Q"], "did you mean q?"),
        (["--query", "nothing-like-it"], "queries are empty, q"),
        (["--query", "q", "-m", "RR AP"], "one measure can be explained at a time"),
        ([], "the following arguments are required: --query"),
        (["--query", "q", "--format", "jsonl"], "did you mean json?"),
    ],
)
def test_mistakes_get_a_message_that_helps(rankscope, small, arguments, message):
    done = rankscope("explain", "qrels.txt", "a.run", *arguments)
    assert done.code == 2
    assert message in done.err


def test_explanation_agrees_with_evaluate_under_a_profile(rankscope, cookbook):
    query = ("--query", "soup-for-a-cold", "-m", "nDCG@10", "--profile", "sentence-transformers", "--format", "json")
    score = json.loads(rankscope("explain", "qrels.txt", "hybrid.run", *query).out)["score"]
    evaluated = rankscope("evaluate", "qrels.txt", "hybrid.run", *query[2:])
    queries = json.loads(evaluated.out)["runs"][0]["queries"]
    assert queries["soup-for-a-cold"] == {"nDCG(gain='binary')@10": score}
