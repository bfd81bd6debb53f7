"""Results are stored: written as JSON and read back equal."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.comparison.records import LanguageSpread
from rankscope.experiment.collection import CollectionPart
from rankscope.experiment.project import load_project
from rankscope.experiment.results import (
    BenchmarkRecord,
    Choice,
    CollectionRecord,
    Costs,
    FailedQuery,
    Latency,
    ProjectReference,
    RunTimes,
    SplitSizes,
    SystemResult,
    Trial,
    UnknownDocs,
    benchmark_record,
)
from rankscope.experiment.runner import run_project
from rankscope.records import from_json, kind_of_json, replace, to_json
from rankscope.report.benchmark import report_of
from rankscope.report.benchmark_json import json_text, run_schema
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

TEXTS = st.text(max_size=5)
COUNTS = st.integers(0, 10**6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
OPTIONS = st.dictionaries(TEXTS, st.one_of(NUMBERS, TEXTS, st.booleans(), st.lists(NUMBERS, max_size=2)), max_size=2)


def several(strategy):
    return st.lists(strategy, max_size=2).map(tuple)


def maybe(strategy):
    return st.one_of(st.none(), strategy)


COSTS = st.builds(
    Costs,
    latency_ms=maybe(st.builds(Latency, COUNTS, *[NUMBERS] * 5)),
    queries_per_second=maybe(NUMBERS),
    index_s=maybe(NUMBERS),
    index_bytes=maybe(COUNTS),
    memory_bytes=maybe(COUNTS),
)
FINDINGS = st.builds(UnknownDocs, st.sampled_from(["error", "warning"]), TEXTS, TEXTS, several(TEXTS), TEXTS)
SYSTEMS = st.builds(
    SystemResult, name=TEXTS, type=TEXTS, fingerprint=TEXTS, run=maybe(TEXTS), n_queries=COUNTS, n_answered=COUNTS,
    n_retried=COUNTS, failures=several(st.builds(FailedQuery, TEXTS, TEXTS, COUNTS)), finding=maybe(FINDINGS),
    primary_over_answered=maybe(NUMBERS), costs=COSTS,
)  # fmt: skip
CHOICES = st.builds(Choice, TEXTS, TEXTS, COUNTS, OPTIONS, several(st.builds(Trial, OPTIONS, maybe(NUMBERS))))
SIZES = st.builds(SplitSizes, COUNTS, COUNTS, st.sampled_from(["all", "train", "holdout", "drawn"]))
COLLECTIONS = st.builds(
    CollectionRecord, TEXTS, st.dictionaries(TEXTS, st.builds(CollectionPart, COUNTS, TEXTS), max_size=2), SIZES,
    several(SYSTEMS), several(CHOICES), several(TEXTS), st.none(), st.none(),
)  # fmt: skip
SPREADS = st.builds(
    LanguageSpread, TEXTS, st.dictionaries(TEXTS, maybe(NUMBERS), max_size=2), maybe(NUMBERS), maybe(NUMBERS)
)
BENCHMARKS = st.builds(
    BenchmarkRecord, TEXTS, st.builds(ProjectReference, TEXTS, TEXTS), TEXTS, several(COUNTS), COUNTS, COUNTS, COUNTS,
    several(COLLECTIONS), several(SPREADS), st.builds(RunTimes, TEXTS, TEXTS),
)  # fmt: skip


@given(BENCHMARKS)
def test_any_record_is_read_back_equal(record):
    assert from_json(BenchmarkRecord, to_json(record)) == record


def test_a_real_run_is_read_back_equal_and_tells_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("OWN_SECRET", "abc-very-secret")
    small = small_project(tmp_path)
    small.write(
        systems("one", "picky") + '[systems.bm25]\ntype = "bm25"\nstop_words = ["${OWN_SECRET}"]\nk1 = [0.9, 1.2]\n'
    )
    benchmark = run_project(load_project(small.folder))
    text = json_text(benchmark)
    assert from_json(BenchmarkRecord, text) == benchmark_record(benchmark)
    assert rs.BenchmarkRecord.from_json(benchmark.to_json()) == benchmark.record
    assert kind_of_json(json.loads(text)) == "Benchmark"
    again = pickle.loads(pickle.dumps(benchmark))
    assert again.record == benchmark.record
    shown, lost = report_of(benchmark), "What is still lost, and what usually helps"
    others = tuple(section for section in shown.sections if section.title != lost)
    assert len(others) == len(shown.sections) - 1  # it takes the rankings, which are not stored
    assert render(report_of(again), "html") == render(replace(shown, sections=others), "html")
    jsonschema.Draft202012Validator(run_schema()).validate(json.loads(text))
    stored = to_json(benchmark.project)
    assert from_json(type(benchmark.project), stored) == benchmark.project
    manifest = (small.folder / "results" / "manifest.json").read_text()
    assert "abc-very-secret" not in text + stored + manifest
    assert str(small.folder) not in stored + manifest
    (choice,) = benchmark.collections[0].choices
    assert [trial.options for trial in choice.trials] == [{"k1": 0.9}, {"k1": 1.2}]
