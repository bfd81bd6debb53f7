"""What one system does wrong fails its query, with the reason; other queries and systems go on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rankscope.errors import OptionError, RankscopeError
from rankscope.experiment import retrieve
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.systems.answers import Answer
from rankscope.systems.base import Query

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

# Returns, does or raises whatever the project says for the query q3, and something right for all others.
CUSTOM = """
import sys
from dataclasses import dataclass

class Odd:
    def __iter__(self):
        raise SystemExit(0)

class Silent(Exception):
    def __str__(self):
        raise SystemExit(0)

class Mute(BaseException):
    def __str__(self):
        raise GeneratorExit

class Shy:
    def __repr__(self):
        raise SystemExit(0)

def leave(code=0):
    sys.exit(code)

def raising(error):
    raise error

@dataclass(kw_only=True)
class Custom:
    what: str
    name: str = ""
    index_bytes = 0

    def fit(self, docs, *, progress=None): ...

    def search(self, queries, *, k):
        return [eval(self.what) if query.id == "q3" else [("d1", 1.0)] for query in queries]

    def describe(self):
        return {"type": "custom", "what": self.what}
"""

FAULTS = {
    "7": "",
    "None": "",
    "object()": "",
    "[('d1', 1.0, 2)]": "",
    "[('d1', 'high')]": "no number",
    "[('d1', float('nan'))]": "no number",
    "[(None, 1.0)]": "None",
    "[('', 1.0)]": "empty",
    "[('d1', 1.0), ('d1', 0.5)]": "twice",
    "[('d\\ud800', 1.0)]": "\\ud800",
    "(pair for pair in [1 / 0])": "ZeroDivisionError",
    "leave()": "SystemExit",
    "leave('bye')": "SystemExit: bye",
    "Odd()": "SystemExit",
    "raising(RecursionError('deep'))": "RecursionError",
    "raising(OSError(28, 'No space left'))": "No space left",
    "raising(UnicodeError('\\ud800'))": "UnicodeError",
    "raising(Silent())": "Silent",
    "raising(Mute())": "Mute",
    "raising(GeneratorExit())": "GeneratorExit",
    "raising(MemoryError())": "MemoryError: there was not enough memory",
    "raising(MemoryError('too much'))": "MemoryError: too much",
    "(pair for pair in [raising(MemoryError())])": "MemoryError",
    "Shy()": "Shy that cannot be shown",
    "[Shy()]": "Shy that cannot be shown",
}
"""What is returned or done for a query, and what the reason must say."""


@pytest.fixture
def small(tmp_path):
    """Return a small project with the module `own`."""
    small = small_project(tmp_path, n_queries=8)
    (small.folder / "own.py").write_text(CUSTOM)
    return small


def run(small, **options):
    return run_project(load_project(small.folder), RunOptions(**options))


@pytest.mark.parametrize("batched", [True, False], ids=["batch", "single"])
@pytest.mark.parametrize(("what", "reason"), FAULTS.items())
def test_a_fault_of_any_kind_fails_its_query_alone(what, reason, batched, small, monkeypatch):
    if batched:
        monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
    small.write(f"[systems.own]\ntype = 'own:Custom'\nwhat = {json.dumps(what)}\n{systems('one')}")
    (result,) = run(small).collections
    own, one = result.systems
    ((query, why),) = ((failure.query, failure.reason) for failure in own.failures)
    assert query == "q3"
    assert why
    assert reason in why
    why.encode()  # it can be printed
    assert (own.n_answered, one.n_answered) == (7, 8)
    assert set(result.scores) == {"own", "one"}


def test_a_real_interrupt_still_stops(small):
    small.write("[systems.own]\ntype = 'own:Custom'\nwhat = 'raising(KeyboardInterrupt())'\n" + systems("one"))
    with pytest.raises(KeyboardInterrupt):
        run(small)
    assert not small.asked


@pytest.mark.parametrize("is_async", [True, False])
def test_a_function_that_ends_the_process_does_not_end_the_run(small, is_async):
    word = "async def" if is_async else "def"
    small.add(f"import sys\n\n{word} leaving(query):\n    sys.exit(0)\n")
    small.write(systems("leaving", "one"))
    done = small.run("--format", "json")
    assert done.returncode == 1, done.stderr
    leaving, one = json.loads(done.stdout)["collections"][0]["systems"]
    assert len(leaving["failures"]) == 8
    assert all("SystemExit: 0" in failure["reason"] for failure in leaving["failures"])
    assert one["n_answered"] == 8


DESCRIBE = 'return {"type": "custom", "what": self.what}'
MISTAKES = {
    "fit": (CUSTOM.replace("progress=None): ...", "progress=None): WHAT"), "index the docs"),
    "describe": (CUSTOM.replace(DESCRIBE, "WHAT"), "say what its answers depend on"),
    "init": (CUSTOM + "    def __post_init__(self):\n        WHAT\n", "be made"),
    "bytes": (CUSTOM.replace("index_bytes = 0", "index_bytes = property(lambda self: self.odd())")
        + "    def odd(self):\n        WHAT\n", "say how large its index is"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("leave()", "SystemExit: 0"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise Mute", "Mute"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise MemoryError", "MemoryError: there was not enough memory"),
    ],
)
@pytest.mark.parametrize("where", MISTAKES)
def test_a_system_that_fails_before_it_is_asked_is_left_out(small, where, what, reason):
    code, words = MISTAKES[where]
    (small.folder / "own.py").write_text(code.replace("WHAT", what))
    small.write(f"[systems.own]\ntype = 'own:Custom'\nwhat = '7'\n{systems('one')}")
    done = small.run()
    assert done.returncode == 2
    assert f"error: own is left out: it cannot be asked: own could not {words}: {reason}" in done.stderr
    assert "Traceback" not in done.stderr
    assert "one.trec.gz" in small.runs


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("{'a': 1, 2: 3, (4, 5): 6}", "has the key (4, 5)"),
        ("{'a': {'b': {1, 2}}}", "describe()['a']['b'] is {1, 2}, which JSON cannot hold"),
        ("{'a': [object()]}", "describe()['a'][0] is <object"),
        ("{'a': Shy()}", "describe()['a'] is a Shy that cannot be shown"),
        ("{'a': b'x'}", "b'x'"),
        ("{'a': '\\ud800'}", "JSON cannot hold"),
        ("{'\\ud800': 1}", "JSON cannot hold"),
        ("{'a': 10**30}", "JSON cannot hold"),
        ("['a']", "should return a dict"),
        ("None", "describe() returned None, but should return a dict"),
        ("[x := {}, x.update(x=x)][0]", "RecursionError"),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_a_system_that_describes_itself_in_what_is_no_json_is_left_out(small, returned, reason, is_late):
    odd = f"return {{}} if {is_late} and not hasattr(self, 'asked') else {returned}"
    code = CUSTOM.replace(DESCRIBE, odd).replace("        return [eval", "        self.asked = 1\n        return [eval")
    (small.folder / "own.py").write_text(code)
    small.write(f"[systems.own]\ntype = 'own:Custom'\nwhat = '[]'\n{systems('one')}")
    done = small.run("--format", "json")
    assert done.returncode == 2, done.stderr
    assert "error: own is left out: it cannot be asked: own could not say what its answers depend on: " in done.stderr
    assert reason in done.stderr
    assert json.loads(done.stdout)["collections"][0]["systems"][1]["n_answered"] == 8


def test_what_json_can_hold_may_be_described(small):
    described = "{'a': 1, 2: 3, 'n': np.float32(0.5), 'p': Path('x'), 't': (1, None, True), 'f': float('nan')}"
    code = CUSTOM.replace(DESCRIBE, f"return {described}")
    (small.folder / "own.py").write_text(f"import numpy as np\nfrom pathlib import Path\n{code}")
    small.write("[systems.own]\ntype = 'own:Custom'\nwhat = '[]'\n")
    (result,) = run(small).collections
    expected = {"a": 1, "2": 3, "n": 0.5, "p": "x", "t": [1, None, True]}
    assert expected.items() <= result.described["own"].items()
    assert '"p": "x"' in (small.folder / "results" / "manifest.json").read_text()


def test_a_class_may_call_anything_concurrency(small):
    (small.folder / "own.py").write_text(CUSTOM.replace("index_bytes = 0", "index_bytes = 0\n    concurrency = 'much'"))
    small.write("[systems.own]\ntype = 'own:Custom'\nwhat = '[]'\n")
    assert run(small).collections[0].systems[0].n_answered == 8


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(3)", "loading broken fails: SystemExit: 3"),
        ("raise GeneratorExit", "loading broken fails: GeneratorExit"),
        ("class Silent(Exception):\n    def __str__(self): raise SystemExit\nraise Silent", "broken fails: Silent"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("other = 1", "broken has no f"),
        ("f = 1", "is a int, not a function"),
    ],
)
@pytest.mark.parametrize("option", ["type = 'python'\nfunction", "type = 'dense'\nmodel"])
def test_a_module_that_cannot_be_loaded_leaves_its_system_out(small, option, code, reason):
    (small.folder / "broken.py").write_text(code)
    small.write(f"[systems.own]\n{option} = 'broken:f'\n{systems('one')}")
    done = small.run()
    assert done.returncode == 2
    assert "error: own is left out: it cannot be asked: own could not " in done.stderr
    assert reason in done.stderr
    assert "one.trec.gz" in small.runs


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("[[float('nan')]] * len(texts)", "returned NaN or infinity"),
        ("[[1.0]] * (len(texts) - 1)", "texts"),
        ("'text'", "no vectors of numbers"),
        ("[[1.0], [1.0, 2.0]]", "no vectors of numbers"),
        ("None", "returned"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("1 / 0", "ZeroDivisionError"),
        ("np.ones(1 << 50)", "MemoryError"),
    ],
)
@pytest.mark.parametrize("role", ["doc", "query"])
def test_an_encoder_that_fails_leaves_its_system_out_or_fails_queries(small, returned, reason, role):
    good = "[[1.0, float(len(text))] for text in texts]"
    small.add(
        f"import sys\nimport numpy as np\n\ndef encode(texts, role):\n    return {returned} if role == {role!r} else {good}\n"
    )
    small.write(DENSE + systems("one"))
    done = small.run("--format", "json")
    assert done.returncode == (2 if role == "doc" else 1), done.stderr
    assert reason in done.stderr
    dense, one = json.loads(done.stdout)["collections"][0]["systems"]
    assert (dense["n_answered"], one["n_answered"]) == (0, 8)


class Broken:
    """Hands out answers one by one, then does something odd."""

    def __init__(self, then) -> None:
        self.then = then

    def answers(self, queries, *, k):
        for query in queries[:2]:
            yield Answer(query.id, [("d1", 1.0)])
        yield from self.then(queries)


def breaking(error):
    def then(_):
        raise error
        yield

    return then


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (breaking(RecursionError("deep")), "RecursionError: deep"),
        (breaking(SystemExit(0)), "SystemExit: 0"),
        (breaking(GeneratorExit()), "GeneratorExit"),
        (breaking(MemoryError()), "MemoryError: there was not enough memory"),
        (lambda _: iter(()), "no answer"),
        (lambda queries: iter([Answer(queries[0].id, [])]), "asked"),
        (lambda _: iter([Answer("other", [])]), "asked"),
        (lambda _: iter([7]), ""),
    ],
)
def test_a_system_that_breaks_down_while_it_answers_fails_what_is_left(then, reason):
    queries = [Query(f"q{i}", "x") for i in range(4)]
    calls = list(retrieve.call_system(Broken(then), queries, queries, k=5, clock=lambda: 0.0))
    answers = [answer for found, _ in calls for answer in found]
    assert [answer.query_id for answer in answers] == ["q0", "q1", "q2", "q3"]
    assert [answer.failed for answer in answers] == [False, False, True, True]
    assert all(answer.reason and reason in answer.reason for answer in answers[2:])


@pytest.mark.parametrize("error", [SystemExit(0), ValueError(), GeneratorExit()])
def test_a_system_that_fails_when_it_is_closed_has_answered(error):
    class Clinging:
        def answers(self, queries, *, k):
            try:
                for query in queries:
                    yield Answer(query.id, [("d1", 1.0)])
                yield 7
            finally:
                raise error

    queries = [Query(f"q{i}", "x") for i in range(4)]
    answers = [found[0] for found, _ in retrieve.call_system(Clinging(), queries, queries, k=5, clock=lambda: 0.0)]
    assert [answer.failed for answer in answers] == [False] * 4


@pytest.mark.parametrize("ranking", [7, [("d\ud800", 1.0)], [("d", "x")], "d1"])
def test_an_answer_that_is_none_fails_its_query_alone(ranking):
    queries = [Query(f"q{i}", "x") for i in range(4)]
    system = Broken(lambda given: iter([Answer(given[2].id, ranking), Answer(given[3].id, [("d2", 1.0)])]))
    calls = list(retrieve.call_system(system, queries, queries, k=5, clock=lambda: 0.0))
    assert [answer.failed for found, _ in calls for answer in found] == [False, False, True, False]


DENSE = '[systems.dense]\ntype = "dense"\nmodel = "MODULE:encode"\n'
ENCODE = """
import numpy as np

def encode(texts):
    return np.array([[1.0, float(len(text)), float(text.split()[1])] for text in texts])
"""


class TestMeasuresOfDocs:
    @pytest.fixture
    def dense(self, small):
        small.add(ENCODE)
        return small

    def test_what_chooses_options_cannot_depend_on_them(self, dense):
        dense.write(DENSE + 'similarity = ["cosine", "dot"]\n', measures=["ILD@5"], primary="ILD@5")
        with pytest.raises(
            OptionError, match=r"ILD@5 is to choose the options of dense, and compares docs by its"
        ) as error:
            run(dense)
        assert "embeddings = FILE" in error.value.hint

    def test_another_dense_system_gives_the_embeddings(self, dense):
        swept = DENSE + 'similarity = ["cosine", "dot"]\n'
        dense.write(
            swept + DENSE.replace("systems.dense", "systems.plain"),
            measures=["ILD@5", "MinDistance@5"],
            primary="ILD@5",
        )
        (result,) = run(dense).collections
        [note] = [note for note in result.notes if "embeddings" in note]
        assert note == "ILD@5, MinDistance@5 compare docs by the embeddings of the system plain."
        assert [choice.system for choice in result.choices] == ["dense"]

    def test_other_measures_may_look_at_what_was_chosen(self, dense):
        dense.write(DENSE + 'similarity = ["cosine", "dot"]\n', measures=["nDCG@10", "ILD@5"], primary="nDCG@10")
        (result,) = run(dense).collections
        assert any("by the embeddings of the system dense" in note for note in result.notes)


@pytest.mark.parametrize("arguments", [(), ("--format", "json"), ("-o", "x.json"), ("-o", "x.html"), ("-o", "x.xml")])
def test_queries_whose_ids_are_not_unicode_are_asked_and_reported(small, arguments):
    """JSON can hold half a character, and so can ids in it; TREC text cannot, so the run is written as JSON lines."""
    queries = small.folder / "small" / "queries.jsonl"
    queries.write_text(queries.read_text().replace('"q3"', '"q\\ud800"'))
    rows = [{"query": "q\ud800", "doc": "d3", "grade": 1}, {"query": "q1", "doc": "d1", "grade": 1}]
    (small.folder / "small" / "qrels" / "test.tsv").unlink()
    (small.folder / "small" / "qrels" / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    small.add("def fixed(query):\n    return [('d1', 1.0)]\n\ndef failing(query):\n    raise ValueError(query.id)\n")
    small.write(systems("fixed", "failing"))
    done = small.run(*arguments)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert (small.folder / "results" / "runs" / "small" / "fixed.jsonl.gz").exists()


def test_every_error_of_a_system_in_a_batch_is_one_of_ours_or_its_own(small):
    """OptionError is for the user: it stops, as no query could be answered."""
    small.write("[systems.own]\ntype = 'own:Custom'\nwhat = 'undefined_name'\n")
    (result,) = run(small).collections
    assert result.systems[0].failures[0].reason.startswith("NameError")
    small.write("[systems.own]\ntype = 'own:Custom'\n")
    with pytest.raises(RankscopeError, match="needs the option 'what'"):
        run(small)


def test_a_module_that_cannot_be_imported_is_an_error(small):
    (small.folder / "own.py").write_text("raise SystemExit(3)\n")
    small.write("[systems.own]\ntype = 'own:Custom'\nwhat = '7'\n")
    with pytest.raises(RankscopeError, match="SystemExit: 3"):
        load_project(small.folder)
