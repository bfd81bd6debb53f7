"""From a type and options to a system."""

import dataclasses
import json
import sys
import types

import pytest

from rankscope.errors import OptionError
from rankscope.systems.base import System
from rankscope.systems.dense import Dense
from rankscope.systems.diversify import MMR
from rankscope.systems.function import PythonFunction
from rankscope.systems.hybrid import Hybrid
from rankscope.systems.registry import (
    TYPES,
    check_options,
    class_of,
    explanation,
    fields_of,
    make_system,
    option_names,
    system_names_in,
)

FUNCTION = {"function": "json:loads"}
MINE = ("bm25", "dense", "hybrid", "mmr", "dartboard", "rerank", "expand", "python", "run")


def known(name):
    return make_system("dense" if name == "dense" else "python", {} if name == "dense" else FUNCTION, name=name)


@pytest.mark.parametrize(
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
    ],
)
def test_all_types_can_be_made_and_described(name, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.run").write_text("q Q0 a 1 1.0 t\n")
    system = make_system(name, options, name="mine", resolve=known)
    assert isinstance(system, System)
    assert system.name == "mine"
    assert system.index_bytes == 0
    assert json.loads(json.dumps(system.describe()))["type"] == name


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


@pytest.mark.parametrize("name", MINE)
def test_every_option_is_explained(name):
    kind = class_of(name)
    assert "lambda_" not in option_names(name)
    for option in fields_of(kind):
        assert explanation(kind, option).endswith("."), option


def test_a_class_of_ones_own(monkeypatch):
    @dataclasses.dataclass
    class Mine:
        name: str = "mine"
        size: int = 3

    module = types.ModuleType("my_systems")
    module.Mine = Mine
    monkeypatch.setitem(sys.modules, "my_systems", module)
    assert make_system("my_systems:Mine", {"size": 4}, name="x") == Mine("x", 4)
    with pytest.raises(OptionError, match="did you mean size"):
        make_system("my_systems:Mine", {"siz": 4})


def test_asking_for_options_imports_nothing_heavy():
    assert set(MINE) <= set(TYPES)
