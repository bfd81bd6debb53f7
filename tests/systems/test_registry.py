"""From a type and options to a system."""

import dataclasses
import json
import pickle
import subprocess
import sys
import types
from typing import Annotated

import msgspec
import pytest

from rankscope.errors import OptionError
from rankscope.records import field_docs
from rankscope.systems.base import BaseSystem, System
from rankscope.systems.dense import Dense
from rankscope.systems.diversify import MMR
from rankscope.systems.function import PythonFunction
from rankscope.systems.hybrid import Hybrid
from rankscope.systems.options import SYSTEM, options_in
from rankscope.systems.registry import SYSTEMS, check_options, class_of, make_system, system_names_in

FUNCTION = {"function": "json:loads"}


def known(name):
    return make_system("dense" if name == "dense" else "python", {} if name == "dense" else FUNCTION, name=name)


CONFIGURED = pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bm25", {"k1": 1, "stop_words": ["a"], "fields": ["text"]}),
        ("dense", {"model": "multilingual", "lowercase": True}),
        ("hybrid", {"of": ["a", "dense"], "weights": [1, 2]}),
        ("hybrid", {"of": ["a", "b"], "weights": "tune"}),
        ("mmr", {"of": "dense", "lambda": 0.3}),
        ("dartboard", {"of": "a", "vectors": "dense", "sigma": 0.2}),
        ("dartboard", {}),
        ("rerank", {"of": "a", **FUNCTION}),
        ("expand", {"of": "a", "dictionary": {"x": ["y"]}, "negatives_when": {"clear": True}}),
        ("python", FUNCTION),
        ("run", {"path": "some.run"}),
        ("http", {"url": "http://localhost/?q={query}", "headers": {"X-A": "1"}, "rate": 5}),
        ("elasticsearch", {"index_name": "docs", "query": {"match": {"text": "{query}"}}}),
        ("opensearch", {"index_name": "docs", "fields": "title"}),
        ("command", {"command": ["./search", "{k}"], "input": "tsv"}),
    ],
)


@CONFIGURED
def test_all_types_can_be_made_and_described(name, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.run").write_text("q Q0 a 1 1.0 t\n")
    system = make_system(name, options, name="mine", resolve=known)
    assert isinstance(system, System)
    assert system.name == "mine"
    assert system.index_bytes == 0
    assert json.loads(json.dumps(system.describe()))["type"] == name


@CONFIGURED
def test_a_system_can_move_to_another_process(name, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.run").write_text("q Q0 a 1 1.0 t\n")
    system = make_system(name, options, name="mine", resolve=known, cache=tmp_path)
    copy = pickle.loads(pickle.dumps(system))
    assert (type(copy), copy.name, copy.describe()) == (type(system), "mine", system.describe())


def test_all_types_are_tried():
    assert {name for name, _ in CONFIGURED.mark.args[1]} == set(SYSTEMS)


def test_tuned_weights_move_along():
    system = make_system("hybrid", {"of": ["a", "b"], "weights": "tune"}, resolve=known)
    system.tuned_weights = (0.25, 0.75)
    assert pickle.loads(pickle.dumps(system)).fusion.weights == (0.25, 0.75)


def test_options_reach_the_system():
    system = make_system("mmr", {"of": "dense", "lambda": 0.3, "pool": 7}, resolve=known)
    assert isinstance(system, MMR)
    assert (system.lambda_, system.pool, system.name) == (0.3, 7, "mmr")
    hybrid = make_system("hybrid", {"of": ["x", "dense"]}, resolve=known)
    assert isinstance(hybrid, Hybrid)
    assert [type(part) for part in hybrid.of] == [PythonFunction, Dense]


def test_the_cache_goes_to_those_that_have_one(tmp_path):
    assert make_system("dense", {}, cache=tmp_path).cache == tmp_path
    assert make_system("dense", {"cache": "other"}, cache=tmp_path).cache == "other"
    make_system("bm25", {}, cache=tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bm52", {}, "there is no system of type 'bm52'\nHint: did you mean bm25?"),
        ("bm25", {"k11": 1}, "bm25 has no option 'k11'\nHint: did you mean k1?"),
        ("bm25", {"name": "x"}, "has no option 'name'"),
        ("bm25", {"_index": 1}, "has no option '_index'"),
        ("bm25", {"k1": "high"}, "k1 is 'high', but it must be a number"),
        ("bm25", {"k1": True}, "k1 is True, but it must be a number"),
        ("bm25", {"stop_words": 3}, "stop_words is 3, but it must be a text or a list of texts"),
        ("dense", {"lowercase": "yes"}, "lowercase is 'yes', but it must be true or false"),
        ("dense", {"batch_size": 1.5}, "batch_size is 1.5, but it must be a whole number"),
        ("hybrid", {"of": ["a", "b"], "weights": ["x"]}, "it must be a list of numbers or a text"),
        ("hybrid", {}, "hybrid needs the option 'of'\nHint: The systems whose rankings are fused."),
        ("expand", {"of": "a", "dictionary": ["x"]}, "it must be a table"),
        ("bm25", {"k1": -1}, "k1 is -1, but it must be 0 or more"),
        ("bm25", {"b": 1.5}, "b is 1.5, but it must be between 0 and 1"),
        ("bm25", {"method": "okapi"}, "method 'okapi' is not one of lucene, robertson, atire, bm25l, bm25+"),
        ("bm25", {"method": "lucen"}, "did you mean lucene?"),
        ("bm25", {"method": 3}, "method is 3, but it must be one of lucene, "),
        ("dense", {"cache": 3}, "cache is 3, but it must be a text or a path"),
        ("dense", {"provider": "packed"}, "provider 'packed' is not one of packaged, endpoint, "),
        ("dense", {"batch_size": 0}, "batch_size is 0, but it must be 1 or more"),
        ("mmr", {"lambda": 2}, "lambda is 2, but it must be between 0 and 1"),
        ("mmr", {"lambda_": 0.5}, "mmr has no option 'lambda_'\nHint: did you mean lambda?"),
        ("python", {"function": 3}, "function is 3, but it must be a text or a function"),
        ("http", {"url": "http://x", "rate": 0}, "rate is 0, but it must be above 0"),
        ("http", {"url": "http://x", "rate": "fast"}, "rate is 'fast', but it must be a number"),
        ("http", {"url": "http://x", "headers": {"X": 1}}, "headers is {'X': 1}, but it must be a table of texts"),
        ("json:loads", {}, "is no dataclass"),
        ("no_such_module:Class", {}, "No module named"),
    ],
)
def test_mistakes_get_a_message_that_helps(name, options, message):
    with pytest.raises(OptionError) as error:
        check_options(name, options, where="")
    assert message in str(error.value)


def test_the_place_is_put_before_the_message():
    with pytest.raises(OptionError, match=r"^rankscope.toml: systems.x: bm25 has no option"):
        check_options("bm25", {"k9": 1}, where="rankscope.toml: systems.x")
    with pytest.raises(OptionError, match=r"^here: there is no system"):
        check_options("nothing", {}, where="here")


def test_names_of_systems_need_somebody_who_knows_them():
    with pytest.raises(OptionError, match="of names the system 'a'"):
        make_system("hybrid", {"of": ["a", "b"]})


def test_systems_that_options_refer_to():
    assert system_names_in("hybrid", {"of": ["a", "b"]}) == ("a", "b")
    assert system_names_in("dartboard", {"of": "hybrid", "vectors": "dense"}) == ("hybrid", "dense")
    assert system_names_in("bm25", {"k1": 1}) == ()
    assert system_names_in("hybrid", {"of": 7}) == system_names_in("hybrid", {"of": [7, None]}) == ()


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_type_and_option_is_explained(name):
    assert SYSTEMS.summary(name)
    kind = class_of(name)
    docs = field_docs(kind)
    assert "lambda_" not in options_in(kind)
    for option in options_in(kind).values():
        assert docs[option.field].endswith("."), option


@pytest.fixture
def my_systems(monkeypatch):
    """Return a module that can be filled with classes."""
    module = types.ModuleType("my_systems")
    monkeypatch.setitem(sys.modules, "my_systems", module)
    return module


def test_a_dataclass_of_ones_own(my_systems):
    @dataclasses.dataclass
    class Mine(BaseSystem):
        name: str = "mine"
        size: int = 3
        parts: list[str] = dataclasses.field(default_factory=list)
        anything: "str | type[int]" = ""  # a type that nobody else understands is left to its owner
        inner: object = dataclasses.field(default=None, metadata={"system": True})
        _state: int = dataclasses.field(default=0, init=False)

    my_systems.Mine = Mine
    options = {"size": 4, "parts": ["a"], "anything": int, "inner": "dense"}
    made = make_system("my_systems:Mine", options, name="x", resolve=known)
    assert made == Mine("x", 4, ["a"], int, made.inner)
    assert isinstance(made.inner, Dense)
    assert system_names_in("my_systems:Mine", options) == ("dense",)
    for wrong, message in [
        ({"siz": 4}, "did you mean size"),
        ({"size": "4"}, "size is '4', but it must be a whole number"),
        ({"_state": 4}, "has no option '_state'"),
    ]:
        with pytest.raises(OptionError, match=message):
            make_system("my_systems:Mine", wrong)


def test_a_struct_of_ones_own(my_systems):
    class Mine(BaseSystem, msgspec.Struct):
        inner: Annotated[System, SYSTEM]
        name: str = "mine"
        size: Annotated[int, msgspec.Meta(gt=0)] | None = 3

    my_systems.Mine = Mine
    made = make_system("my_systems:Mine", {"size": 4, "inner": "dense"}, name="x", resolve=known)
    assert (made.name, made.size, type(made.inner)) == ("x", 4, Dense)
    with pytest.raises(OptionError, match="size is 0, but it must be above 0"):
        make_system("my_systems:Mine", {"size": 0, "inner": "dense"}, resolve=known)
    with pytest.raises(OptionError, match="my_systems:Mine needs the option 'inner'"):
        make_system("my_systems:Mine", {})


def test_other_packages_add_types_models_and_fusion_methods(tmp_path):
    """Adding one is a file and a line: here the line is an entry point, looked up by a fresh process."""
    (tmp_path / "plugin.py").write_text("""
from rankscope.systems.base import OptionSystem
from rankscope.systems.fusion import FusionMethod

class Nothing(OptionSystem, kw_only=True):
    name: str = "nothing"
    size: int = 3
    def rank(self, queries, *, k): return [[("d", 1.0)] for _ in queries]

class Ones:
    def encode(self, texts, *, role): return [[1.0] for _ in texts]
    def describe(self): return {"model": "ones"}

first = FusionMethod(lambda lists, weights, fusion: lists[0], "the first list alone", by_rank=True)
""")
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[rankscope.systems]\nnothing = plugin:Nothing\n[rankscope.encoders]\nones = plugin:Ones\n"
        "[rankscope.fusion_methods]\nfirst = plugin:first\n"
    )
    code = """
from rankscope.systems.base import ListDocs, Query
from rankscope.systems.fusion import Fusion, METHODS
from rankscope.systems.registry import SYSTEMS, make_system
queries = [Query("1", "x")]
assert make_system("nothing", {"size": 4}).search(queries, k=1) == [[("d", 1.0)]]
assert make_system("nothing", {}).describe() == {"type": "plugin:Nothing", "size": 3}
assert SYSTEMS.summary("nothing") == "from plugin"
dense = make_system("dense", {"model": "ones"})
dense.fit(ListDocs([("d", "y")]))
assert dense.search(queries, k=1) == [[("d", 1.0)]]
assert Fusion(method="first").fuse([[("a", 1.0)], [("b", 2.0)]]) == [("a", 1.0)]
assert list(METHODS)[-1] == "first"
"""
    path = [str(tmp_path), *filter(None, sys.path)]
    subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"], check=True)


def test_names_and_summaries_load_no_system():
    code = "import sys, rankscope.systems.registry as r; list(r.SYSTEMS); print(*sys.modules)"
    path = [entry for entry in sys.path if entry]
    code = f"import sys; sys.path[:0] = {path!r}\n{code}"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "rankscope.systems.base" in loaded
    assert not {"rankscope.systems.bm25", "rankscope.systems.http", "urllib3", "bm25s"} & set(loaded)
