"""Results are written as JSON and read back as what they were: diagnoses, validations and explanations."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope import __version__
from rankscope.align.finding import LEVELS, Finding
from rankscope.analysis.diagnose import Diagnosis
from rankscope.analysis.explain import Explanation
from rankscope.analysis.validate import FileInfo, ValidationReport
from rankscope.records import from_json, json_schema, to_builtins, to_json

QUERIES, DOCS = ("q1", "q2", "ü"), ("d1", "d2", "d3", "d4", "caf\udce9")
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1)
scores = st.dictionaries(st.sampled_from(DOCS), st.floats(-5, 5))
qrels_and_run = st.tuples(
    st.dictionaries(st.sampled_from(QUERIES), grades, min_size=1).filter(
        lambda qrels: any(grade > 0 for docs in qrels.values() for grade in docs.values())
    ),
    st.dictionaries(st.sampled_from(QUERIES), scores, min_size=1),
).filter(lambda both: not both[0].keys().isdisjoint(both[1]))
texts = st.text(max_size=8)
findings = st.builds(
    Finding,
    level=st.sampled_from(LEVELS),
    code=texts,
    where=texts,
    message=texts,
    examples=st.lists(texts).map(tuple),
    hint=texts,
)
files = st.builds(
    FileInfo,
    path=texts,
    kind=st.sampled_from(["qrels", "run"]),
    format=texts,
    n_rows=st.integers(0),
    n_queries=st.integers(0),
)
pytestmark = pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")


def check_read_back(record: object) -> None:
    """Write a record, check it against its schema, and read it back."""
    text = to_json(record, ascii_only=True)
    assert from_json(type(record), text) == record
    jsonschema.validate(to_plain(to_builtins(record)), json_schema(type(record)))


def to_plain(value: object) -> object:
    """Return what JSON holds: lists, and keys that are texts."""
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    return [to_plain(one) for one in value] if isinstance(value, list | tuple) else value


@settings(max_examples=60, deadline=None)
@given(qrels_and_run, st.integers(1, 4))
def test_diagnoses(data, k):
    qrels, run = data
    diagnosis = rs.diagnose(qrels, run, k=k, anyway=True)
    assert diagnosis.rankscope == __version__
    check_read_back(diagnosis)


@settings(max_examples=60, deadline=None)
@given(qrels_and_run, st.sampled_from(["nDCG@3", "AP", "RR", "Bpref", "Judged@2", "ERR", "GMAP"]))
def test_explanations(data, measure):
    qrels, run = data
    for query in qrels:
        check_read_back(rs.explain(qrels, run, query, measure))


@given(st.lists(findings).map(tuple), st.lists(files, min_size=2).map(tuple))
def test_validations(found, looked_at):
    check_read_back(ValidationReport(__version__, found, looked_at))


@pytest.mark.parametrize("kind", [Diagnosis, Explanation, ValidationReport])
def test_schemas_describe_the_fields(kind):
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$defs"][kind.__name__]["additionalProperties"] is False
    described = [field for field in schema["$defs"][kind.__name__]["properties"].values() if "description" in field]
    assert described
