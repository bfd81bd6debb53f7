"""Reranking, query expansion, Python functions, and run files as systems."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from rankscope.errors import InputError, OptionError, ScoreError
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import run_project
from rankscope.systems.answers import BadAnswerError
from rankscope.systems.base import BaseSystem, Doc, ListDocs, Query
from rankscope.systems.expansion import Expand
from rankscope.systems.function import PythonFunction
from rankscope.systems.rerank import Rerank
from rankscope.systems.run_file import RunFileSystem

DOCS = ListDocs(
    [Doc("1", "heart rhythm ablation"), Doc("2", "heart surgery"), Doc("3", "skin", title="Laser ablation")]
)


class Words(BaseSystem):
    """Scores docs by how many of the query's words they hold, and remembers what it was asked."""

    name = "words"

    def __init__(self):
        self.asked = []

    def index(self, docs, *, progress):
        self.docs = {doc.id: f"{doc.title} {doc.text}".lower().split() for doc in docs}

    def rank(self, queries, *, k):
        self.asked += [(query.id, query.text) for query in queries]
        return [self.ranking(query.text.lower().split())[:k] for query in queries]

    def ranking(self, words):
        scores = {doc: float(sum(map(held.count, words))) for doc, held in self.docs.items()}
        return sorted(((doc, score) for doc, score in scores.items() if score), key=lambda pair: (-pair[1], pair[0]))

    def describe(self):
        return {"type": "words"}


@pytest.fixture
def words():
    return Words()


def answer(system, text, *, k=10, **attributes):
    system.fit(DOCS)
    return system.search([Query("q", text, attributes)], k=k)[0]


# Reranking


def test_the_pool_is_scored_again_and_the_rest_follows(words):
    seen = []

    def longest(text, docs):
        seen.append((text, docs))
        return [len(doc) for doc in docs]

    system = Rerank(of=words, function=longest, pool=2)
    assert answer(system, "heart ablation") == [("1", 21.0), ("2", 13.0), ("3", 12.0)]
    assert seen == [("heart ablation", ["heart rhythm ablation", "heart surgery"])]
    assert answer(system, "heart ablation", k=1) == [("1", 21.0)]
    assert answer(system, "nothing") == []
    assert system.index_bytes == len("heart rhythm ablation" + "heart surgery" + "Laser ablation skin")


@pytest.mark.parametrize(
    ("scores", "message"), [([1.0], "returned 1 scores for 3 docs"), ([1, 2, float("nan")], "NaN or infinity")]
)
def test_what_a_reranker_returns_is_checked(words, scores, message):
    with pytest.raises(ScoreError, match=message):
        answer(Rerank(of=words, function=lambda text, docs: scores), "heart ablation")


# Expansion


def test_terms_are_appended_and_anchors_repeated(words):
    system = Expand(of=words, dictionary={"SVT": {"terms": ["heart rhythm"], "anchors": ["ablation"]}})
    assert answer(system, "I need svt treatment") == [("1", 4.0), ("3", 2.0), ("2", 1.0)]  # ablation counts twice
    assert words.asked == [("q", "I need svt treatment heart rhythm ablation ablation")]
    assert answer(system, "svtx ablation") == [("1", 1.0), ("3", 1.0)]  # no whole word of the dictionary


def test_subqueries_are_weighted_and_added(words):
    system = Expand(
        of=words, dictionary={"svt": {"terms": ["rhythm"], "anchors": ["laser"]}}, mode="subqueries", terms_weight=0.5
    )
    # heart svt: docs 1 and 2 alike, 1 each; rhythm: doc 1 alone, 1 x 0.5; laser: doc 3 alone, 1 x 2
    assert dict(answer(system, "heart svt")) == {"1": 1.5, "2": 1.0, "3": 2.0}
    assert words.asked == [("q", "heart svt"), ("q/terms", "rhythm"), ("q/anchors", "laser")]


def test_negative_terms_take_away(words):
    system = Expand(of=words, dictionary={"heart": {"negatives": ["surgery", "skin"]}})
    # heart: 1 and 2 alike, 1 each; surgery skin: 2 and 3 alike, 1 each, half of it taken away; 3 was never found
    assert answer(system, "heart") == [("1", 1.0), ("2", 0.5)]
    assert answer(Expand(of=words, dictionary={"heart": {"negatives": ["surgery"]}}, negatives_weight=0), "heart") == [
        ("1", 1.0),
        ("2", 1.0),
    ]


def test_negative_terms_may_depend_on_the_query(words):
    system = Expand(of=words, dictionary={"heart": {"negatives": ["surgery"]}}, negatives_when={"clarity": "clear"})
    assert dict(answer(system, "heart", clarity="clear")) == {"1": 1.0, "2": 0.5}
    assert dict(answer(system, "heart", clarity="vague")) == {"1": 1.0, "2": 1.0}
    assert dict(answer(system, "heart")) == {"1": 1.0, "2": 1.0}


def test_the_variants_of_a_doctor_search_can_be_told_apart(words):
    query = Query(
        "7", "ablation", {"intent_terms": ["heart", "rhythm"], "negative_terms": ["laser"], "clarity": "vague"}
    )
    made_for_the_query = {"terms": "intent_terms", "negatives": "negative_terms"}
    variants = {
        "algorithmic": Expand(of=words, dictionary={"ablation": ["catheter"]}),
        "parallel": Expand(of=words, attributes=made_for_the_query, negatives_when={"clarity": "clear"}),
        "goal-specific": Expand(of=words, attributes=made_for_the_query),
    }
    found = {}
    for name, system in variants.items():
        system.fit(DOCS)
        found[name] = dict(system.search([query], k=5)[0])
    assert found == {
        "algorithmic": {"1": 1.0, "3": 1.0},
        "parallel": {"1": 3.0, "2": 1.0, "3": 1.0},
        "goal-specific": {"1": 1.0, "2": 0.0, "3": -0.5},
    }


def test_a_function_named_in_a_project_makes_terms_and_its_failures_are_those_of_queries(tmp_path):
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    folder = tmp_path / "small"
    folder.mkdir()
    texts = ["epistaxis at night", "syncope while standing", "cough and fever"]
    docs = [{"_id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    queries = [{"_id": f"q{i}", "text": text} for i, text in enumerate(["bloody nose", "fainting", "hot"])]
    for name, lines in (("corpus", docs), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.txt").write_text("q0 0 d0 1\nq1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "terms_of_mine.py").write_text(
        "MADE = {'bloody nose': ['epistaxis'], 'fainting': {'terms': ['syncope'], 'negatives': ['fever']}}\n"
        "def make(query):\n    return MADE[query.text]\n"
    )
    (tmp_path / "rankscope.toml").write_text(
        'primary = "RR"\nmeasures = ["RR"]\n[collections.small]\npath = "small"\n[systems.bm25]\ntype = "bm25"\n'
        '[systems.made]\ntype = "expand"\nof = "bm25"\nfunction = "terms_of_mine:make"\n'
    )
    [result] = run_project(load_project(tmp_path / "rankscope.toml")).collections
    made = result.systems[1]
    assert (made.n_answered, [one.query for one in made.failures]) == (2, ["q2"])
    assert "KeyError" in made.failures[0].reason
    assert result.scores.mean()["made"]["RR"].value == pytest.approx(2 / 3)  # what failed counts 0


def test_expansions_from_files_and_functions(words, tmp_path):
    by_phrase = tmp_path / "phrases.toml"
    by_phrase.write_text('svt = ["heart"]\n')
    assert dict(answer(Expand(of=words, file=by_phrase), "svt")) == {"1": 1.0, "2": 1.0}
    by_id = tmp_path / "queries.json"
    by_id.write_text(json.dumps({"q": {"terms": "skin"}, "other": ["heart"]}))
    assert dict(answer(Expand(of=words, file=by_id, match="query"), "svt")) == {"3": 1.0}
    made = Expand(of=words, function=lambda query: [query.attributes["hint"]])
    assert dict(answer(made, "svt", hint="laser")) == {"3": 1.0}
    assert dict(answer(Expand(of=words, function=lambda query: None), "laser")) == {"3": 1.0}
    both = Expand(of=words, file=by_phrase, dictionary={"svt": ["heart", "skin"]})
    answer(both, "svt")
    assert words.asked[-1] == ("q", "svt heart skin")  # each term once


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, OptionError, "nothing says what to add"),
        ({"dictionary": {"a": ["b"]}, "terms_weight": 0.5}, OptionError, "repeated whole"),
        ({"dictionary": {"a": ["b"]}, "mode": "txt"}, OptionError, "did you mean text"),
        ({"dictionary": {"a": {"anchor": ["b"]}}}, InputError, "did you mean anchors"),
        ({"dictionary": {"a": 3}}, InputError, "dictionary: a: 3 is not a list of texts"),
        ({"attributes": {"term": "x"}}, OptionError, "did you mean terms"),
        ({"file": "no_such_file.json"}, InputError, "cannot be read"),
        ({"file": Path(__file__)}, InputError, "is not valid"),
        ({"dictionary": {"a": ["b"]}, "negatives_weight": -1}, OptionError, "negatives_weight is -1"),
    ],
)
def test_mistakes_in_expansions_get_a_message_that_helps(words, options, error, message):
    with pytest.raises(error, match=message):
        Expand(of=words, **options)


def test_an_expansion_describes_what_its_file_holds(words, tmp_path):
    file = tmp_path / "phrases.json"
    file.write_text('{"svt": ["heart"]}')
    before = Expand(of=words, file=file).describe()
    file.write_text('{"svt": ["skin"]}')
    assert Expand(of=words, file=file).describe() != before
    json.dumps(before)


# Functions


@pytest.mark.parametrize(
    "returned", [{"a": 1.0, "b": 2}, [("a", 1.0), ("b", 2.0)], (pair for pair in [("b", 2.0), ("a", 1.0)])]
)
def test_a_function_returns_scores_in_any_shape(returned):
    assert answer(PythonFunction(function=lambda text: returned), "x") == [("b", 2.0), ("a", 1.0)]


def test_a_function_may_return_docs_best_first():
    assert answer(PythonFunction(function=lambda text: ["b", 7, "a"]), "x", k=2) == [("b", 1.0), ("7", 0.5)]


def test_a_function_gets_texts_or_records_one_by_one_or_all_at_once():
    queries = [Query("1", "one"), Query("2", "two", {"language": "en"})]

    def search(**options):
        seen = []

        def function(given, k):
            seen.append((given, k))
            return [["a"] for _ in given] if options.get("batch") else ["a"]

        assert PythonFunction(function=function, **options).search(queries, k=3) == [[("a", 1.0)]] * 2
        return seen

    assert search() == [("one", 3), ("two", 3)]
    assert search(batch=True) == [(["one", "two"], 3)]
    assert search(records=True) == [(queries[0], 3), (queries[1], 3)]
    assert search(batch=True, records=True) == [(queries, 3)]


def test_an_async_function_is_asked_for_all_queries_at_once():
    async def function(text):
        both.setdefault("barrier", asyncio.Barrier(2))
        await both["barrier"].wait()  # ends only where both are under way
        return [text]

    both: dict = {}

    queries = [Query("1", "one"), Query("2", "two")]
    expected = [[("one", 1.0)], [("two", 1.0)]]
    assert PythonFunction(function=function).search(queries, k=1) == expected

    both.clear()

    async def inside_a_loop():
        return PythonFunction(function=function).search(queries, k=1)

    assert asyncio.run(inside_a_loop()) == expected


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([("a", "high")], "score of doc 'a' is 'high', which is no number"),
        ([("a", 1, 2)], "return {doc: score}"),
        ([("a", float("nan"))], "score of doc 'a' is nan, which is no number"),
        (["a", "a"], "'a' is there twice"),
    ],
)
def test_what_a_function_returns_is_checked(returned, message):
    with pytest.raises(BadAnswerError, match=message):
        answer(PythonFunction(function=lambda text: returned), "x")


def test_a_function_that_forgets_a_query_is_an_error():
    with pytest.raises(InputError, match="0 rankings for 1 queries"):
        answer(PythonFunction(function=lambda texts: [], batch=True), "x")


def test_a_change_of_a_functions_file_is_a_change_of_the_system(tmp_path, monkeypatch, words):
    monkeypatch.syspath_prepend(tmp_path)
    described = []
    for body in ("['a']", "['b']"):
        (tmp_path / "my_search.py").write_text(f"def search(text, docs=None):\n    return {body}\n")
        sys.modules.pop("my_search", None)
        function = {"function": "my_search:search"}
        systems = [PythonFunction(**function), Rerank(of=words, **function), Expand(of=words, **function)]
        described.append([json.dumps(system.describe()) for system in systems])
    sys.modules.pop("my_search", None)
    assert all(before != after for before, after in zip(*described, strict=True))


# Run files


def test_a_run_file_is_a_system(tmp_path):
    file = tmp_path / "old.run"
    file.write_text("q Q0 a 1 1.0 t\nq Q0 b 2 3.0 t\n")
    system = RunFileSystem(path=file)
    assert answer(system, "ignored") == [("b", 3.0), ("a", 1.0)]
    assert answer(system, "ignored", k=1) == [("b", 3.0)]
    assert system.search([Query("other", "x")], k=3) == [[]]
    before = system.describe()
    file.write_text("q Q0 a 1 2.0 t\n")
    assert RunFileSystem(path=file).describe() != before
