"""The public surface: every name is written once, is there, is typed, documented, and its examples work."""

import builtins
import contextlib
import doctest
import importlib.util
import inspect
import pydoc
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.align.policies import CHOICES, Policies
from rankscope.evaluation import HOW_KEYS, REQUEST_KEYS, EvaluateRequest
from rankscope.light import names_of
from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.typing import EvaluateOptions, PolicyOptions

FUNCTIONS = [name for name in rs.PUBLIC if inspect.isfunction(getattr(rs, name))]
CLASSES = [name for name in rs.PUBLIC if inspect.isclass(getattr(rs, name))]


QRELS = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
RUNS = {"a": {q: ["b", "a"] for q in QRELS}, "b": {q: ["a", "b"] if q > "q2" else ["x", "y", "a"] for q in QRELS}}
SCORES = rs.evaluate(QRELS, RUNS, ["AP", "nDCG@10"])


def shard_scores(measures):
    """Score the only shard of a run in the current folder."""
    Path("r.run").write_text("q1 Q0 a 1 1.5 r\n")
    return rs.score_shard(QRELS, rs.shards_of("r.run")[0], measures)


def means_of_project(measures):
    """Run a project in the current folder, and return the means that a check of it reports."""
    Path("docs.jsonl").write_text('{"id": "d1", "text": "pea soup"}\n{"id": "d2", "text": "plum cake"}\n')
    Path("queries.tsv").write_text("q1\tsoup\nq2\tcake\n")
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    files = "docs = 'docs.jsonl'\nqueries = 'queries.tsv'\nqrels = 'qrels.txt'\n"
    Path("rankscope.toml").write_text(f"[collections.food]\n{files}[systems.words]\ntype = 'bm25'\n")
    rs.run_project("rankscope.toml")
    return rs.check_project(targets={"query": "q1", "doc": "d1", "top": 1}, measures=measures).means


MEASURES_TAKEN = {
    ("check", "measures"): lambda given: rs.check(QRELS, RUNS, {"measure": "AP", "at_least": 0}, given).means,
    ("check_project", "measures"): means_of_project,
    ("evaluate", "measures"): lambda given: rs.evaluate(QRELS, RUNS, given),
    ("compare", "measures"): lambda given: rs.compare(QRELS, RUNS, given),
    ("compare", "primary"): lambda given: rs.compare(QRELS, RUNS, "AP", primary=given),
    ("compare_scores", "primary"): lambda given: rs.compare_scores(SCORES, primary=given),
    ("explain", "measure"): lambda given: rs.explain(QRELS, RUNS["a"], "q1", given),
    ("parse_measure", "name"): rs.parse_measure,
    ("parse_measures", "names"): rs.parse_measures,
    ("plan", "measure"): lambda given: rs.plan(QRELS, RUNS, given, detect=0.1).decisive,
    ("read_scores", "measure"): lambda given: rs.read_scores("scores.csv", measure=given),
    ("read_scores", "lower_is_better"): lambda given: (
        rs.read_scores("scores.csv", measure="nDCG@10", lower_is_better=given)["a"].lower_is_better
    ),
    ("robustness", "measure"): lambda given: rs.robustness(SCORES, given, baseline="a"),
    ("score_shard", "measures"): lambda given: shard_scores(given).values,
    ("side_by_side", "measure"): lambda given: rs.side_by_side(QRELS, RUNS["a"], RUNS["b"], "q1", given),
    ("trec_eval_text", "measures"): lambda given: rs.trec_eval_text(QRELS, RUNS["a"], given),
    ("RunScores.column", "measure"): SCORES["b"].column,
    ("Scores.best", "measure"): SCORES.best,
    ("Scores.only", "measures"): lambda given: SCORES.only(measures=given),
    ("Scores.sorted", "measure"): SCORES.sorted,
    ("RunScores.aggregate_of", "measure"): SCORES["b"].aggregate_of,
}
"""Every public parameter that takes a measure, and a call that gives it."""
SEVERAL = ("measures", "names", "lower_is_better")


@pytest.fixture
def measures_as_before():
    """Forget the measures that an example registers."""
    before = [(registry, set(registry)) for registry in (REGISTRY, ALIASES)]
    yield
    for registry, names in before:
        for name in set(registry) - names:
            registry.remove(name)


def test_every_name_is_there_and_listed():
    for name in rs.__all__:
        assert getattr(rs, name) is not None
    assert set(rs.__all__) == {"__version__", *rs.PUBLIC}
    assert {*rs.__all__, "nDCG", "AP", "alpha_nDCG"} <= set(dir(rs))


def test_type_checkers_see_the_same_names():
    path = Path(__file__).parents[1] / "docs/generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert generate.STUB.read_text() == generate.stub(), "run scripts/docs"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        rs.nothing  # noqa: B018


@pytest.mark.usefixtures("measures_as_before")
@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_what_is_public_has_a_docstring_whose_examples_work(name, tmp_path):
    part = getattr(rs, name)
    assert inspect.getdoc(part)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    n_examples = 0
    with contextlib.chdir(tmp_path):
        for test in doctest.DocTestFinder(recurse=True).find(part, name):
            n_examples += len(test.examples)
            runner.run(test)
    assert not runner.summarize(verbose=False).failed
    assert n_examples or name in CLASSES, "a public function needs an example"


def test_the_example_of_the_package_works():
    assert not doctest.testmod(rs).failed


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_names_in_a_public_docstring_are_public(name):
    """Of classes and constants: what is returned, raised or referred to can be reached as it is written."""
    owner = getattr(rs, name)
    parts = [owner]
    if inspect.isclass(owner):
        parts += [part for key, part in vars(owner).items() if not key.startswith("_")]
    text = "\n".join(inspect.getdoc(part) or "" for part in parts if not isinstance(part, str | tuple | dict))
    listed = re.findall(r"^(?:Returns|Raises)\n-+\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    names = {each for part in listed for each in re.findall(r"^[A-Z]\w+|(?<=, )[A-Z]\w+(?=$|,)", part, re.MULTILINE)}
    names |= set(re.findall(r"`([A-Z]\w+)(?:\.\w+)?`", text))
    assert [each for each in sorted(names) if each not in rs.__all__ and not hasattr(builtins, each)] == []


def test_what_is_internal_says_so():
    """docs/stability.md leaves out what begins with this word, and all that has no docstring."""
    internal = {
        f"{owner.__name__}.{key}"
        for owner in (rs.Run, rs.Qrels)
        for key, part in vars(owner).items()
        if (inspect.getdoc(part) or "").startswith("Internal:")
    }
    assert internal == {
        "Run.rankings",
        "Run.asked",
        "Qrels.judged",
        "Qrels.ideal",
        "Qrels.fractional_row",
        "Qrels.numbered",
        "Qrels.is_file",
        "Qrels.duplicates",
        "Qrels.digest",
    }
    assert '"Internal:"' in (Path(__file__).parents[1] / "docs/stability.md").read_text("utf-8")


def test_stable_entry_points_are_those_that_are_offered():
    root = Path(__file__).parents[1]
    source = "".join(path.read_text("utf-8") for path in (root / "src").rglob("*.py"))
    offered = set(re.findall(r'entry_points="(rankscope\.\w+)"', source)) | {"rankscope.measures"}
    stable = (root / "docs/stability.md").read_text("utf-8")
    assert {each for each in offered if f"`{each}`" not in stable} == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_are_typed(name):
    function = getattr(rs, name)
    assert "return" in function.__annotations__
    code = function.__code__
    n_names = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    assert set(code.co_varnames[:n_names]) <= set(function.__annotations__)


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_are_documented(name):
    owner = getattr(rs, name)
    for key, part in vars(owner).items():
        if not key.startswith("_") and (callable(part) or isinstance(part, property | classmethod)):
            assert inspect.getdoc(part), f"{name}.{key}"


def test_the_keywords_of_evaluate_are_those_of_the_request():
    policies = set(names_of(Policies))
    assert set(PolicyOptions.__annotations__) == policies
    keywords = set(typing.get_type_hints(EvaluateOptions))
    assert keywords == policies | set(names_of(EvaluateRequest)) - {"measures", "policies", "optional"}
    assert set(REQUEST_KEYS) == keywords - set(HOW_KEYS) | {"measures"}


@pytest.mark.parametrize("name", CHOICES)
def test_the_words_of_a_policy_are_those_of_its_type(name):
    words = {
        word for part in typing.get_args(typing.get_type_hints(PolicyOptions)[name]) for word in typing.get_args(part)
    }
    assert words == set(CHOICES[name])


class TestMeasuresAreValues:
    def test_as_their_names_say(self):
        assert rs.nDCG @ 10 == rs.parse_measure("nDCG@10")
        assert rs.P(rel=2) @ 5 == rs.parse_measure("P(rel=2)@5")
        assert rs.parse_measure("AP") == rs.AP
        assert rs.AP(rel=2) @ 100 == rs.parse_measure("AP(rel=2)@100")
        assert rs.IPrec @ 0.1 == rs.parse_measure("IPrec@0.1")

    def test_they_are_equal_hashable_and_print_their_canonical_name(self):
        assert len({rs.nDCG @ 10, rs.parse_measure("ndcg_cut_10"), rs.nDCG(gain="linear") @ 10}) == 1
        assert str(rs.P(rel=2) @ 5) == repr(rs.P(rel=2) @ 5) == "P(rel=2)@5"

    @pytest.mark.parametrize("name", REGISTRY)
    def test_every_measure_is_one(self, name):
        assert str(getattr(rs, name)) == name

    @pytest.mark.parametrize(
        ("place", "as_list"),
        [
            (place, as_list)
            for place in MEASURES_TAKEN
            for as_list in (False, True)
            if not as_list or place[1] in SEVERAL
        ],
    )
    def test_they_are_taken_wherever_a_name_is(self, place, as_list, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("scores.csv").write_text("query,a,b\nq1,0.5,0.7\nq2,0.1,0.2\n")
        take = MEASURES_TAKEN[place]
        by_name = take(["nDCG@10"] if as_list else "nDCG@10")
        assert str(by_name) == str(take([rs.nDCG @ 10] if as_list else rs.nDCG @ 10))
        assert str(by_name) == str(take(["ndcg_cut_10"] if as_list else "ndcg_cut_10")) or "read_scores" in place[0]

    def test_every_place_that_takes_a_measure_is_known(self):
        found = set()
        for name in [*FUNCTIONS, *CLASSES]:
            part = getattr(rs, name)
            methods = (
                {name: part}
                if inspect.isfunction(part)
                else {f"{name}.{key}": each for key, each in vars(part).items()}
            )
            for called, each in methods.items():
                function = getattr(each, "__func__", each)
                if inspect.isfunction(function) and not called.rpartition(".")[2].startswith("_"):
                    for key, parameter in inspect.signature(function).parameters.items():
                        kinds = set(re.findall(r"\w+", str(parameter.annotation)))
                        by_type = kinds & {"Measure", "MeasureLike", "MeasuresLike"}
                        if by_type or key in ("measure", "measures", "primary", "lower_is_better"):
                            assert by_type, f"{called}: {key}: {parameter.annotation}"
                            found.add((called, key))
        assert found == set(MEASURES_TAKEN)

    def test_they_are_found_wherever_their_name_is(self):
        scores = rs.evaluate(QRELS, RUNS, [rs.nDCG @ 10, "AP"])
        assert (rs.nDCG @ 10) in scores.measures
        assert scores.measures.index(rs.AP) == 1
        for summary in (scores.mean(), scores.aggregate("median")):
            assert summary["a"][rs.nDCG @ 10] == summary["a", rs.nDCG @ 10] == summary["a", "ndcg_cut_10"]
        assert scores["a"].mean()[rs.AP] == scores["a"].aggregate_of(rs.AP)
        assert scores["a"]["q1"][rs.nDCG @ 10] == scores["a"]["q1", "nDCG@10"] == scores["a"]["q1", "ndcg_cut_10"]
        assert scores["a"].column("ndcg_cut_10").tolist() == scores["a"].column(rs.nDCG @ 10).tolist()
        assert scores.to_dict()["a"]["q1"][rs.AP] == 0.5
        assert rs.AP != "map"
        assert rs.AP != rs.RR
        assert rs.AP != 1

    def test_they_say_what_they_are(self):
        assert "Normalised discounted cumulative gain" in rs.nDCG.__doc__
        assert "Answers: how close is the ranking to the best possible one" in (rs.nDCG @ 10).__doc__
        assert "gain = 'linear'" in rs.nDCG.__doc__
        assert [*inspect.signature(rs.nDCG).parameters] == ["k", "gain", "rel", "judged_only", "agg"]
        assert inspect.signature(rs.P(rel=2)).parameters["rel"].default == 2
        assert [*inspect.signature(rs.Measure).parameters] == ["base", "params"]
        assert rs.Measure.__doc__.startswith("A measure with its parameters")
        assert "Precision" in pydoc.render_doc(rs.P)

    @pytest.mark.parametrize("name", REGISTRY)
    def test_every_measure_has_its_own_help(self, name):
        assert getattr(rs, name).__doc__.startswith(f"{name}: ")

    def test_scores_by_value(self):
        qrels, run = {"q": {"a": 2, "b": 1}}, {"q": ["b", "a"]}
        scores = rs.evaluate(qrels, run, [rs.nDCG @ 10, rs.P(rel=2) @ 1])
        assert scores.measures == ("nDCG@10", "P(rel=2)@1")
        assert scores["run"]["q", rs.P(rel=2) @ 1] == 0
        assert scores["run"].column(rs.nDCG @ 10)[0] == pytest.approx(
            (1 + 2 / 1.584962500721156) / (2 + 1 / 1.584962500721156)
        )
        assert scores.mean()["run", rs.nDCG @ 10].n == 1
        assert rs.explain(qrels, run, "q", rs.RR).score == 1
        assert set(rs.robustness(scores, rs.nDCG @ 10)) == {"run"}

    def test_a_missing_cut_off_is_said(self):
        with pytest.raises(rs.RankscopeError, match="P needs a cut-off"):
            rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, rs.P)

    def test_what_does_not_fit_is_said(self):
        with pytest.raises(rs.RankscopeError, match="Bpref has no cut-off"):
            rs.Bpref @ 10
        with pytest.raises(rs.RankscopeError, match="P has no parameter 'relevance'"):
            rs.P(relevance=2)


def test_importing_loads_no_heavy_package():
    heavy = {"msgspec", "scipy", "polars", "pandas", "dataclasses", "pathlib", "rich"}
    code = (
        "import sys, rankscope as rs; rs.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, rs.nDCG @ 10); "
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
