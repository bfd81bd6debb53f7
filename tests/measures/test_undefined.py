"""Scores that are undefined for another reason than having no relevant doc: left out, counted as 0, or refused."""

import json
import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.overview import RANK_BANDS, first_hit_bands
from rankscope.analysis.unjudged import unjudged_effect_of
from rankscope.cli.main import main
from rankscope.errors import InputError, MeasureError, OptionError, RankscopeWarning
from rankscope.measures.spec import MeasureExample, MeasureFamily, measure

# q1 has two docs at right angles (distance 1), q2 a single doc, q3 is not answered; all have a relevant doc
QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
RUN = {"q1": ["a", "b"], "q2": ["b"]}
VECTORS = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
TOO_FEW = "(fewer than two of the first k docs have a vector): left out of the mean"


def scores_of(*measures, qrels=QRELS, run=RUN, **options):
    return rs.evaluate(qrels, run, list(measures), **options)["run"]


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
@pytest.mark.parametrize("no_relevant", ["zero", "exclude"])
def test_the_diversity_of_one_doc_is_left_out_of_the_mean_or_counts_0(no_relevant):
    left_out = scores_of("ILD", embeddings=VECTORS, no_relevant=no_relevant)
    np.testing.assert_allclose(left_out.column("ILD"), [1, math.nan, math.nan])
    assert left_out.mean()["ILD"] == rs.Aggregate(pytest.approx(1), n=1, undefined=2, missing=1)
    assert left_out.left_out == (2,)
    zero = scores_of("ILD", embeddings=VECTORS, no_relevant=no_relevant, undefined="zero")
    np.testing.assert_allclose(zero.column("ILD"), [1, 0, 0])
    assert zero.mean()["ILD"] == rs.Aggregate(pytest.approx(1 / 3), n=3, undefined=2, missing=1)
    assert zero.left_out == (0,)


def test_what_is_left_out_is_said():
    measures = ["ILD", "MinDistance@5", "Judged"]
    with pytest.warns(RankscopeWarning) as said:
        rs.evaluate(QRELS, {"bm25": RUN}, measures, embeddings=VECTORS)
    assert [*said[0].message.notes] == [
        f"bm25 does not answer 1 of 3 queries: they score 0 and count, but {', '.join(measures)} are undefined for them",
        "bm25: ILD, MinDistance@5 are undefined for 2 of 3 queries " + TOO_FEW,
    ]


def test_an_undefined_score_can_be_an_error_that_says_where_and_why():
    with pytest.raises(InputError) as error:
        rs.evaluate(QRELS, {"bm25": RUN}, ["nDCG", "ILD"], embeddings=VECTORS, undefined="error")
    assert str(error.value).splitlines()[0] == (
        "bm25: ILD is undefined for query 'q2' and 1 more: fewer than two of the first k docs have a vector"
    )
    assert "undefined='skip'" in error.value.hint
    with pytest.raises(InputError, match="run: FirstRel is undefined for query 'q': no relevant doc was found"):
        scores_of("FirstRel", qrels={"q": {"a": 1}, "r": {"b": 0}}, run={"q": ["x"], "r": ["b"]}, undefined="error")


@pytest.mark.parametrize("undefined", ["skip", "zero", "error"])
def test_conventions_of_relevance_measures_stay(undefined):
    """In trec_eval an empty list, a missing query and a query without relevant docs score 0."""
    names = ["SetP", "SetRelP", "SetF", "SetAP", "P_ret@5", "MeanGain", "nDCG", "R", "RR", "AP", "Rprec", "Compat"]
    qrels = {"answered": {"a": 1}, "empty": {"a": 1}, "nothing relevant": {"a": 0}}
    scores = scores_of(*names, qrels=qrels, run={"answered": ["a"], "empty": []} | {"nothing relevant": ["a"]}, undefined=undefined)  # fmt: skip
    assert scores.values[1].tolist() == scores.values[2].tolist() == [0] * len(names)
    assert scores.left_out == (0,) * len(names)


@pytest.mark.parametrize("undefined", ["skip", "zero", "error"])
def test_the_policy_is_not_about_queries_without_relevant_docs(undefined):
    qrels, run, docs = {"q": {"a": 1}, "r": {"a": 0}}, {"q": ["a", "b"], "r": ["b"]}, {"a": {"topics": "x"}, "b": {}}
    names = ["RelDiv", "TopicRecall", "MeanGain(over='judged')"]
    with pytest.warns(RankscopeWarning, match="have no topics"):
        zero = scores_of(*names, qrels=qrels, run=run, docs=docs, embeddings=VECTORS, undefined=undefined)
    assert zero.values[1].tolist() == [0, 0, 0]
    with pytest.warns(RankscopeWarning, match="have no topics"):
        excluded = scores_of(
            *names, qrels=qrels, run=run, docs=docs, embeddings=VECTORS, undefined=undefined, no_relevant="exclude"
        )
    assert np.isnan(excluded.values[1]).all()
    assert excluded.left_out == (0, 0, 0)


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
def test_measures_of_relevance_that_can_be_undefined_otherwise():
    """One doc has no diversity, a relevant doc without topics has none to recall, an unjudged list no judged gain."""
    qrels = {"q": {"a": 1}, "r": {"b": 2}, "with no results": {"a": 1}}
    run = {"q": ["a", "b"], "r": ["unjudged"], "with no results": []}
    docs = {"a": {"topics": "x"}, "b": {}}
    names = ["RelDiv", "TopicRecall", "MeanGain(over='judged')"]
    skip = scores_of(*names, qrels=qrels, run=run, docs=docs, embeddings=VECTORS)
    assert np.isnan(skip.values).tolist() == [[False] * 3, [True] * 3, [False] * 3]
    assert skip.values[2].tolist() == [0, 0, 0]  # nothing retrieved
    zero = scores_of(*names, qrels=qrels, run=run, docs=docs, embeddings=VECTORS, undefined="zero")
    assert zero.values[1].tolist() == [0, 0, 0]


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
def test_zero_is_not_given_where_it_would_look_like_the_best_score():
    qrels, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": []}
    scores = scores_of("FirstRel", "Redundancy", qrels=qrels, run=run, embeddings=VECTORS, undefined="zero")
    assert np.isnan(scores.values[1]).all()
    assert scores.left_out == (1, 1)


@pytest.mark.parametrize(("profile", "name"), [("dartboard", "ILD"), ("dartboard-code", "ILD"), ("parakeet", "ILD")])
def test_predecessors_counted_undefined_scores_as_0(profile, name):
    """Both return 0.0 for fewer than two embeddings (rag-diversity intra_list_diversity, parakeet semantic_diversity)."""
    run = {**RUN, "q3": ["c"]}
    scores = rs.evaluate(QRELS, run, name, embeddings=VECTORS, profile=profile)
    assert scores.mean()["run"][name].value == pytest.approx(1 / 3)


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
@pytest.mark.parametrize("undefined", ["skip", "error"])
def test_an_undefined_score_can_be_explained(undefined):
    explained = rs.explain(QRELS, RUN, "q2", "ILD", embeddings=VECTORS, undefined=undefined)
    assert explained.score is None
    assert explained.total == 0
    assert explained.steps[0].parts == {"ILD down to here": None}
    defined = rs.explain(QRELS, RUN, "q1", "ILD", embeddings=VECTORS, undefined=undefined)
    assert [step.term for step in defined.steps] == pytest.approx([0, 1])  # the steps add up to the score


def test_unjudged_docs_of_a_run_that_misses_queries():
    """The second run alone has an unjudged doc; the first answers nothing for q3, where the second is right."""
    qrels = {**{q: {**docs, "z": 0} for q, docs in QRELS.items()}, "q1": {"a": 1, "b": 0}}
    judged, policies = rs.Qrels(qrels), rs.Policies()
    runs = [rs.Run(RUN), rs.Run({"q1": ["a", "x"], "q2": ["b"], "q3": ["c"]})]
    aligned = (AlignedRun.of(judged, run, policies) for run in runs)
    found = unjudged_effect_of(judged, *aligned, rs.parse_measure("nDCG@2"), policies)
    assert [(doc.query, doc.doc) for doc in found.docs()] == [("q1", "x")]
    assert (found.n_unjudged, found.useless) == (1, pytest.approx(1 / 3))


@pytest.mark.parametrize("undefined", ["skip", "error"])
def test_the_chart_of_positions_has_a_place_for_what_was_not_found(undefined):
    found = first_hit_bands(QRELS, {**RUN, "q3": ["a"]}, undefined=undefined)
    assert dict(zip(RANK_BANDS, found["run"], strict=True)) == {**dict.fromkeys(RANK_BANDS, 0), "1": 2, "not found": 1}


def test_the_word_is_checked():
    with pytest.raises(OptionError, match="undefined = 'drop' is not one of skip, zero, error"):
        rs.Policies(undefined="drop")


def test_what_becomes_of_an_undefined_score_is_a_known_word():
    with pytest.raises(MeasureError, match="if_undefined = 'drop' is not one of zero, policy, skip"):
        measure(
            "Odd", "Odd", family=MeasureFamily.SET, formula="x", range=(0, 1), cite="nobody", if_undefined="drop",
            example=MeasureExample([1], [1], 1),
        )  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "x.run").write_text("q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\nq2 Q0 b 1 1 x\n")
    np.savez(tmp_path / "v.npz", ids=np.array(["a", "b"]), vectors=np.array([[1.0, 0.0], [0.0, 1.0]]))
    return ["evaluate", "qrels.txt", "x.run", "-m", "ILD", "--embeddings", "v.npz"]


def test_on_the_command_line(files, capsys):
    assert main(files) == 0
    shown = capsys.readouterr()
    assert "warning: x: ILD is undefined for 1 of 2 queries (fewer than two of the first k docs have a vector)" in shown.err  # fmt: skip
    assert "x: ILD undefined for 1 query (left out)" in shown.out
    assert "1.0000" in shown.out
    assert main([*files, "--undefined", "zero"]) == 0
    shown = capsys.readouterr()
    assert (shown.err, "0.5000" in shown.out) == ("", True)
    assert main([*files, "--undefined", "error"]) == 2
    assert "error: x: ILD is undefined for query 'q2'" in capsys.readouterr().err


def test_in_json(files, capsys):
    assert main([*files, "--format", "json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["policies"]["undefined"] == "skip"
    (run,) = record["runs"]
    assert run["queries"]["q2"] == {"ILD": None}
    assert (run["counts"]["undefined"], run["counts"]["left_out"]) == ({"ILD": 1}, {"ILD": 1})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ILD", "undefined='zero' counts it as 0"),
        ("RelDiv", "without relevant docs, or without results, it is 0"),
        ("SetP", "it counts as 0, as in trec_eval"),
        ("FirstRel", "as 0 would look like the best score"),
    ],
)
def test_measures_say_what_becomes_of_an_undefined_score(name, words, capsys):
    assert main(["measures", name]) == 0
    assert words in " ".join(capsys.readouterr().out.split())
