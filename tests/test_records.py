from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

from rankscope.errors import OptionError
from rankscope.records import Options, Record, from_builtins, from_json, json_schema, to_builtins, to_json


class Point(Record):
    """A point."""

    x: float
    """How far right."""
    y: float | None = None


class Shape(Record):
    """Some points."""

    name: str
    points: tuple[Point, ...] = ()


class DrawOptions(Options):
    """How to draw."""

    colour: str = "blue"
    shapes: tuple[Shape, ...] = ()


SHAPE = Shape("line", (Point(0.5, 1.0), Point(-2.0)))


def test_a_record_is_written_and_read_back_equal():
    assert from_json(Shape, to_json(SHAPE)) == SHAPE
    assert to_builtins(SHAPE)["points"][1] == {"x": -2.0, "y": None}


def test_numpy_numbers_are_written_as_numbers():
    assert to_json(Point(np.float64(0.25)), indent=None) == '{"x": 0.25, "y": null}'


def test_nan_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(Point(float("nan")))


def test_the_schema_describes_and_accepts_the_record():
    schema = json_schema(Shape)
    jsonschema.validate(json.loads(to_json(SHAPE)), schema)
    assert schema["$defs"]["Point"]["properties"]["x"]["description"] == "How far right."
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": 3}, schema)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"color": "red"}, r"file: unknown key 'color'\nHint: did you mean colour\?"),
        ({"shapes": [{"nome": "a"}]}, r"file: shapes\[0\] needs the key 'name'"),
        (
            {"shapes": [{"name": "a", "extra": 1, "points": [{"x": "far"}]}]},
            r"shapes\[0\].points\[0\].x is 'far', but it must be a number",
        ),
        ({"colour": 3}, r"file: colour is 3, but it must be a text"),
        ({"shapes": 7}, r"file: shapes is 7, but it must be a list"),
    ],
)
def test_what_does_not_fit_is_an_error_that_says_where(data, message):
    with pytest.raises(OptionError, match=message):
        from_builtins(DrawOptions, data, where="file")


def test_text_that_is_not_json_is_an_error():
    with pytest.raises(OptionError, match="file: not JSON"):
        from_json(Point, "{", where="file")
