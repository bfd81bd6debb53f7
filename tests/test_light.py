from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.align.policies import Policies
from rankscope.light import LightRecord, asdict, field, names_of, replace


class Point(LightRecord):
    """A place."""

    KIND: ClassVar[str] = "point"

    x: float
    y: float = 0.0
    tags: list = field(default_factory=list)
    note: str = field(default="", repr=False, compare=False)

    @property
    def size(self):
        return abs(self.x) + abs(self.y)


@dataclasses.dataclass(frozen=True)
class Model:
    """The same as a dataclass, which is what a record should behave like."""

    KIND: ClassVar[str] = "point"

    x: float
    y: float = 0.0
    tags: list = dataclasses.field(default_factory=list)
    note: str = dataclasses.field(default="", repr=False, compare=False)


class Named(LightRecord, kw_only=True):
    first: int = 1
    second: str


class Pair(LightRecord):
    left: int
    right: int


class Identity(LightRecord, eq=False):
    value: int


class Many(LightRecord, many=True):
    x: float
    y: float = 0.0
    tags: object = ()
    note: str = field(default="", repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class ModelOfMany:
    x: float
    y: float = 0.0
    tags: object = ()
    note: str = dataclasses.field(default="", repr=False, compare=False)


class ManyNamed(LightRecord, many=True, kw_only=True):
    first: int = 1
    second: str

    def __post_init__(self):
        object.__setattr__(self, "second", self.second.upper())


class Checked(LightRecord):
    low: int
    high: int

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError("low is above high")
        object.__setattr__(self, "high", float(self.high))


class Point3(Point):
    z: float = 0.0


GIVEN = st.tuples(
    st.lists(st.integers(0, 3), max_size=5),
    st.dictionaries(st.sampled_from(["x", "y", "tags", "note", "z"]), st.integers(0, 3), max_size=5),
)


def outcome(kind, values, named):
    try:
        made = kind(*values, **named)
    except TypeError:
        return TypeError
    return vars(made), repr(made).partition("(")[2]


@given(GIVEN)
def test_a_record_takes_and_refuses_the_arguments_that_a_dataclass_does(arguments):
    assert outcome(Point, *arguments) == outcome(Model, *arguments)


@given(GIVEN)
def test_so_does_one_of_many(arguments):
    assert outcome(Many, *arguments) == outcome(ModelOfMany, *arguments)


def test_one_of_many_is_a_record_like_any_other():
    assert asdict(ManyNamed(second="b")) == {"first": 1, "second": "B"}
    assert Many(1) == Many(1, note="n") != Many(2)
    assert replace(Many(1), y=2) == Many(1, 2)
    assert pickle.loads(pickle.dumps(Many(1, 2))) == Many(1, 2)
    with pytest.raises(TypeError, match="positional"):
        ManyNamed(1, second="b")
    with pytest.raises(TypeError, match="have plain defaults"):
        type("Wrong", (LightRecord,), {"__annotations__": {"a": "list"}, "a": field(default_factory=list)}, many=True)


@given(st.tuples(st.integers(0, 1), st.integers(0, 1)), st.tuples(st.integers(0, 1), st.integers(0, 1)))
def test_records_are_equal_where_their_values_are(mine, other):
    assert (Pair(*mine) == Pair(*other)) is (mine == other)
    assert (hash(Pair(*mine)) == hash(Pair(*other))) is (mine == other)


def test_a_value_that_is_not_compared_makes_no_difference():
    assert Point(1, note="a") == Point(1, note="b")


def test_records_of_different_kinds_are_not_equal():
    assert Pair(1, 2) != Checked(1, 2)
    assert Point(1) != Point3(1)
    assert Pair(1, 2) != (1, 2)


def test_a_record_without_equality_is_equal_to_itself_alone():
    one = Identity(1)
    assert one == one  # noqa: PLR0124 (that is the question)
    assert one != Identity(1)
    assert len({one, Identity(1)}) == 2


def test_a_record_with_a_list_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


def test_a_record_stays_as_it_is():
    point = Point(1, 2)
    for name in ("x", "y", "unknown"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"a Point stays as it is: {name}"):
            setattr(point, name, 3)
    with pytest.raises(AttributeError, match="x cannot be changed"):
        del point.x
    assert asdict(point) == {"x": 1, "y": 2, "tags": [], "note": ""}


def test_every_record_has_a_default_of_its_own():
    assert Point(1).tags is not Point(1).tags


def test_a_record_is_printed_as_it_is_written():
    assert repr(Point(1, tags=["a"], note="hidden")) == "Point(x=1, y=0.0, tags=['a'])"


def test_values_by_name_only_may_be_required_behind_others():
    assert asdict(Named(second="b")) == {"first": 1, "second": "b"}
    with pytest.raises(TypeError, match="takes 0 values by position, not 1"):
        Named(1, second="b")
    with pytest.raises(TypeError, match=r"Named\(\) is missing second"):
        Named()


@pytest.mark.parametrize(
    ("values", "named", "problem"),
    [
        ((), {}, r"Pair\(\) is missing left, right"),
        ((1,), {"left": 2, "right": 3}, r"Pair\(\) got left twice"),
        ((1, 2), {"middle": 3}, r"Pair\(\) got an unexpected argument 'middle'"),
        ((1, 2, 3), {}, r"Pair\(\) takes 2 values by position, not 3"),
    ],
)
def test_wrong_arguments_are_named(values, named, problem):
    with pytest.raises(TypeError, match=problem):
        Pair(*values, **named)


def test_a_required_value_behind_an_optional_one_is_refused():
    with pytest.raises(TypeError, match="late has no default, but stands behind early, which has one"):
        type("Wrong", (LightRecord,), {"__annotations__": {"early": "int", "late": "int"}, "early": 1})


def test_annotations_must_be_text_which_costs_nothing_to_make():
    with pytest.raises(TypeError, match="Wrong: a module of records needs `from __future__ import annotations`"):
        type("Wrong", (LightRecord,), {"__annotations__": {"value": int}})


def test_what_comes_after_making_it_may_check_and_complete_it():
    assert Checked(1, 2).high == 2.0
    with pytest.raises(ValueError, match="low is above high"):
        Checked(3, 2)


def test_a_record_may_be_made_from_another_kind():
    assert names_of(Point3) == ("x", "y", "tags", "note", "z")
    assert Point3(1, z=3).z == 3
    assert Point3(3, 4).size == 7


def test_replace_changes_a_copy():
    point = Point(1, 2, note="n")
    assert asdict(replace(point, y=5)) == {"x": 1, "y": 5, "tags": [], "note": "n"}
    assert point.y == 2
    with pytest.raises(TypeError, match="unknown"):
        replace(point, unknown=1)
    with pytest.raises(ValueError, match="low is above high"):
        replace(Checked(1, 2), low=3)


def test_help_shows_how_a_record_is_made():
    assert str(inspect.signature(Pair)) == "(left: 'int', right: 'int')"
    assert str(inspect.signature(Named)) == "(*, first: 'int' = 1, second: 'str')"
    assert list(inspect.signature(Policies).parameters) == list(names_of(Policies))


def test_a_record_can_be_matched():
    match Pair(1, 2):
        case Pair(1, right):
            assert right == 2
        case _:
            pytest.fail("it does not match")


@pytest.mark.parametrize("record", [Point(1, 2, ["a"], "n"), Named(second="b"), Checked(1, 2)])
def test_a_record_survives_pickling_and_copying(record):
    for twin in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):
        assert twin == record
        assert twin is not record
        with pytest.raises(AttributeError):
            twin.x = 1


PLAIN = """
import sys, warnings
import numpy
before = set(sys.modules)
import rankscope
scores = rankscope.evaluate(sys.argv[1], sys.argv[2])
scores.mean()
print(*sorted(set(sys.modules) - before))
"""
NOT_NEEDED = {
    "argparse", "ast", "concurrent.futures", "csv", "dataclasses", "difflib", "hashlib", "importlib.metadata", "inspect",
    "json", "numpy.typing", "pathlib", "polars", "rich", "scipy", "tempfile", "threading", "tomllib",
    "rankscope.data.coerce", "rankscope.align.reference", "rankscope.align.top", "rankscope.analysis.validate",
    "rankscope.io.detection", "rankscope.io.read", "rankscope.io.source", "rankscope.analysis.bands",
    "rankscope.analysis.explain", "rankscope.measures.extras", "rankscope.measures.profiles", "rankscope.stats",
}  # fmt: skip


def test_a_plain_evaluation_loads_only_what_it_needs(tmp_path):
    from rankscope.native import kernel

    if kernel() is None:
        pytest.skip("there is no kernel here, and the reference needs more")
    qrels, run = tmp_path / "qrels.txt", tmp_path / "a.run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\n")
    run.write_text("q1 Q0 d2 1 2.5 a\nq1 Q0 d1 2 1.5 a\n")
    command = [sys.executable, "-c", PLAIN, qrels, run]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert "rankscope.measures.gain" in loaded
    assert loaded & NOT_NEEDED == set()
