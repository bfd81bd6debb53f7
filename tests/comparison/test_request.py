"""The request: one record for Python keywords, command line and JSON; wrong options are named."""

import argparse
import inspect

import msgspec
import pytest

import rankscope as rs
from rankscope.cli import compare as command
from rankscope.comparison.request import CompareOptions, CompareRequest, ScoreOptions, option_texts
from rankscope.errors import OptionError
from rankscope.records import from_builtins
from rankscope.stats import family, paired

QRELS = {f"q{i}": {"a": 1, "b": 0, "c": 0} for i in range(12)}
RUNS = {
    "first": {query: {"b": 2.0, "a": 1.0} for query in QRELS},
    "second": {query: {"a": 2.0, "b": 1.0} for query in QRELS},
}


def test_editors_know_every_option_of_the_request():
    fields = {field.name for field in msgspec.structs.fields(CompareRequest)}
    assert {*CompareOptions.__annotations__} == fields - {"measures"}
    assert {*ScoreOptions.__annotations__} < fields
    shown = inspect.signature(rs.compare).parameters
    assert [*shown][:3] == ["qrels", "runs", "measures"]
    assert {*shown} - {"qrels", "runs"} == fields
    assert shown["correction"].default == "maxt"


def test_a_wrong_keyword_names_the_closest():
    with pytest.raises(
        TypeError, match=r"compare\(\) got an unexpected keyword argument 'tie'\nHint: did you mean ties"
    ):
        rs.compare(QRELS, RUNS, tie="trec")
    scores = rs.evaluate(QRELS, RUNS, "RR")
    with pytest.raises(
        TypeError, match=r"compare_scores\(\) got an unexpected keyword argument 'allpairs'\nHint: did you mean"
    ):
        rs.compare_scores(scores, allpairs=True)
    with pytest.raises(TypeError, match=r"compare_scores\(\) got an unexpected keyword argument 'profile'"):
        rs.compare_scores(scores, profile="beir")


def test_a_request_is_read_from_json():
    request = from_builtins(CompareRequest, {"margin": 0.02, "by": ["language"], "all_pairs": True, "ties": "given"})
    assert request == CompareRequest(margin=0.02, by=("language",), all_pairs=True, ties="given")
    assert request.strata == ("language",)
    with pytest.raises(OptionError, match="unknown key 'alhpa'") as caught:
        from_builtins(CompareRequest, {"alhpa": 0.1})
    assert "did you mean alpha" in caught.value.hint
    with pytest.raises(OptionError, match="margin is 'x', but it must be a number"):
        from_builtins(CompareRequest, {"margin": "x"})
    with pytest.raises(OptionError, match="alpha = 2"):
        from_builtins(CompareRequest, {"alpha": 2})


def test_options_are_checked_before_anything_is_read():
    for wrong in ({"alpha": 1}, {"correction": "hom"}, {"also": "sing"}, {"seed": -1}, {"unjudged": "perhaps"}):
        with pytest.raises(OptionError):
            rs.compare("nowhere.qrels", ["nowhere.run"], **wrong)


def test_the_command_line_makes_the_same_request():
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(
        ["q", "a", "b", "--by", "kind,topic", "--all-pairs", "--resamples", "499", "--also", "sign", "--alpha", "0.1"]
    )
    request = command.request_from(args)
    assert request.strata == ("kind", "topic")
    assert (request.n_resamples, request.alpha, request.all_pairs, request.tests) == (499, 0.1, True, ("sign",))
    assert command.request_from(parser.parse_args(["q", "a", "b"])) == CompareRequest()


def test_every_option_of_the_command_line_has_its_help():
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    ours = {field.name for field in msgspec.structs.fields(CompareRequest)}
    for action in parser._actions:
        if action.dest in ours:
            assert str(action.help), action.dest


def test_a_new_correction_is_one_line(monkeypatch):
    monkeypatch.setattr(family.CORRECTIONS, "entries", dict(family.CORRECTIONS.entries))
    monkeypatch.setattr(family.CORRECTIONS, "_loaded", dict(family.CORRECTIONS._loaded))
    halved = family.Correction(
        lambda differences, _, *, alpha, **options: family.separate_tests(differences(), alpha=alpha / 2, **options),
        "half of alpha",
        "sign-flip permutation",
        simultaneous=True,
    )
    family.CORRECTIONS.add("halved", halved, "alpha is halved, whatever the family")
    found = rs.compare(QRELS, {**RUNS, "third": RUNS["first"]}, "RR@10", correction="halved")
    assert next(iter(found)).ci.method == "half of alpha"
    assert next(iter(found)).p.correction == "halved"
    assert "halved" in option_texts.__wrapped__()["correction"]
    assert "alpha is halved" in found.report().to_json()


def test_a_new_test_on_request_is_one_line(monkeypatch):
    monkeypatch.setattr(paired.ON_REQUEST, "entries", dict(paired.ON_REQUEST.entries))
    monkeypatch.setattr(paired.ON_REQUEST, "_loaded", dict(paired.ON_REQUEST._loaded))
    paired.ON_REQUEST.add("coin", lambda units, **_: paired.Test(0.5, "a coin"), "a coin is thrown")
    (test,) = next(iter(rs.compare(QRELS, RUNS, "RR@10", also="coin"))).also_tested
    assert (test.method, test.p) == ("a coin", 0.5)
    assert "coin" in option_texts.__wrapped__()["also"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"all_pairs": True},
        {"unjudged": "uncertain", "measures": "AP"},
        {"queries": {q: {"language": "de" if i < 6 else "en"} for i, q in enumerate(QRELS)}, "pool": True},
    ],
)
def test_every_run_is_aligned_once(options, monkeypatch):
    from rankscope.align import alignment

    aligned = []
    find = alignment.find_with_kernel
    monkeypatch.setattr(
        alignment,
        "find_with_kernel",
        lambda qrels, run, *rest, **more: aligned.append(run.name) or find(qrels, run, *rest, **more),
    )
    runs = {**RUNS, "third": {q: {"x": 3.0, "a": 2.0, "y": 1.0} for q in QRELS}}
    options = {"measures": "nDCG@10 RR@10", **options}
    rs.compare(QRELS, runs, options.pop("measures"), **options)
    assert sorted(aligned) == ["first", "second", "third"]


def test_a_verdict_is_made_once(monkeypatch):
    from rankscope.comparison import groups

    calls = []
    verdict_of = groups.verdict_of
    monkeypatch.setattr(groups, "verdict_of", lambda *given: calls.append(given) or verdict_of(*given))
    rs.compare(QRELS, {**RUNS, "third": RUNS["first"]}, "RR@10 P@1")
    assert len(calls) == 2  # one for each challenger
