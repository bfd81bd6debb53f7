from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import jsonschema
import numpy as np
import pytest
from msgspec import Meta, field

import rankscope as rs
from rankscope.comparison.gate import GatePolicy, gate_of
from rankscope.errors import OptionError
from rankscope.experiment.alerts import WatchedMean
from rankscope.judging.agreement import agreement_of
from rankscope.judging.opinions import opinions_of
from rankscope.records import (
    KINDS_OF_JSON,
    Misfit,
    Options,
    Record,
    from_builtins,
    from_json,
    json_schema,
    kind_of_json,
    to_builtins,
    to_json,
)
from small_task import small_task


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


QRELS = {f"q{i}": {f"d{i}": 1, "x": 0} for i in range(6)}
RUNS = {
    "a": {f"q{i}": [f"d{i}", "x"] for i in range(6)},
    "b": {f"q{i}": ["x"] * (i % 2) + [f"d{i}"] for i in range(6)},
}


class TestWhatUsersKeep:
    """Every public record has `to_json` and `from_json`."""

    @pytest.fixture
    def records(self, tmp_path):
        scores = rs.evaluate(QRELS, RUNS, "AP RR@10")
        with small_task(tmp_path) as made:
            made.grade("ada", {"d0": 3, "d1": 1, "d2": 0, "d3": 0}, flag=True)
            made.grade("bo", {"d0": 2, "d1": 1, "d2": 0, "d3": 0})
            made.say("ada", "q00", "d0", choice=True)
            made.prefer("ada", "q00", "old", "new", 1)
            judged = [agreement_of(made.store, made.task), opinions_of(made.store, made.task)]
        return [
            *judged,
            scores,
            rs.compare(QRELS, RUNS, "AP", n_resamples=99),
            rs.diagnose(QRELS, RUNS["b"]),
            rs.validate(QRELS, RUNS["a"]),
            rs.explain(QRELS, RUNS["b"], "q1", "AP"),
            rs.robustness(scores, "AP", baseline="a")["b"],
            rs.plan(scores=scores, measure="AP", detect=0.1),
            rs.check(QRELS, RUNS, {"query": "q1", "doc": "d1", "top": 1}, "AP"),
            gate_of(rs.compare(QRELS, RUNS, "AP", baseline="a", n_resamples=99), GatePolicy()),
            rs.WatchResult(
                rankscope="1",
                project="p",
                at="2026-11-16T09:00:00.000000+00:00",
                dry_run=False,
                watched=(WatchedMean(collection="c", system="s", measure="AP", value=1 / 3),),
            ),
        ]

    @pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
    def test_is_written_and_read_back_equal(self, records):
        for record in records:
            assert type(record).from_json(record.to_json()) == record

    @pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
    def test_another_kind_is_said(self, records):
        records = [record for record in records if not isinstance(record, rs.Robustness)]
        assert {type(record).__name__ for record in records} == set(KINDS_OF_JSON) - {"Benchmark"}
        for record in records:
            assert kind_of_json(json.loads(record.to_json())) == type(record).__name__
            for kind in (type(other) for other in records if other is not record):
                message = f"this is the JSON of {type(record).__name__}, but what is wanted is that of {kind.__name__}"
                with pytest.raises(OptionError, match=message):
                    kind.from_json(record.to_json())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{}", "this is not the JSON of Comparison: there must be the key 'rankscope'"),
            ("[]", "this is not the JSON of Comparison, which is a table"),
            ("x", "not JSON.*\nHint: what is wanted is the JSON of Comparison"),
        ],
    )
    def test_what_is_expected_is_said(self, text, message):
        with pytest.raises(OptionError, match=message):
            rs.Comparison.from_json(text)

    def test_ids_that_are_not_text_are_written_as_escapes(self):
        qrels, run = {"q\udce9": {"d": 1}}, {"q\udce9": ["d"]}
        for record in (rs.explain(qrels, run, "q\udce9", "AP"), rs.evaluate(qrels, run, "AP")):
            text = record.to_json()
            text.encode()
            assert type(record).from_json(text) == record
        assert "\u00e9" in rs.evaluate({"\u00e9": {"d": 1}}, {"\u00e9": ["d"]}, "AP").to_json()
