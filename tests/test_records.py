from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import jsonschema
import numpy as np
import pytest
from msgspec import Meta, field

from rankscope.errors import OptionError
from rankscope.records import Misfit, Options, Record, from_builtins, from_json, json_schema, to_builtins, to_json


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


class Pen(Options):
    """What to draw with."""

    width: Annotated[int, Meta(ge=1, extra={"words": "a whole number from 1 up"})] = 1
    """How broad a line is."""
    file: Path | None = None


class Box(Options):
    """Pens by name."""

    pens: dict[str, Pen] = field(default_factory=dict)
    widths: Annotated[tuple[int, ...], Meta(extra={"words": "a list of widths"})] = ()


@pytest.mark.parametrize(
    ("data", "misfit"),
    [
        (
            {"pens": {"thin": {}, "thick": {"width": 0}}},
            Misfit("wrong", "pens.thick.width", 0, "a whole number from 1 up", "How broad a line is."),
        ),
        ({"pens": {"thin": {"with": 1}}}, Misfit("unknown", "pens.thin.with", known=("width", "file"))),
        ({"pens": {"thin": 1}}, Misfit("wrong", "pens.thin", 1, "a table")),
        ({"widths": [1, "x"]}, Misfit("wrong", "widths", [1, "x"], "a list of widths")),
        ({"pens": {"thin": {"file": ""}}}, Misfit("wrong", "pens.thin.file", "", "a text")),
    ],
)
def test_a_misfit_has_its_full_path_and_the_words_of_its_type(data, misfit):
    found = []

    def words(misfit, where):
        found.append(misfit)
        return OptionError(where)

    with pytest.raises(OptionError, match="file"):
        from_builtins(Box, data, where="file", wording=words)
    assert found == [misfit]


def test_paths_are_read_and_written_as_text():
    box = from_builtins(Box, {"pens": {"thin": {"file": "a/b"}}})
    assert box.pens["thin"].file == Path("a/b")
    assert from_json(Box, to_json(box)) == box
    assert json_schema(Box)["$defs"]["Pen"]["properties"]["file"]["anyOf"][0] == {"type": "string", "minLength": 1}


def test_text_that_is_not_json_is_an_error():
    with pytest.raises(OptionError, match="file: not JSON"):
        from_json(Point, "{", where="file")
