"""A benchmark as the JSON record whose schema is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope._version import __version__
from rankscope.experiment.results import (
    Benchmark,
    BenchmarkRecord,
    CollectionRecord,
    CollectionResult,
    ProjectReference,
    RunTimes,
    SplitSizes,
)
from rankscope.records import json_schema, to_builtins, to_json
from rankscope.report import comparison_json, evaluation


def json_text(benchmark: Benchmark) -> str:
    """Return the JSON record as text."""
    return to_json(benchmark_record(benchmark), indent=1) + "\n"


def json_record(benchmark: Benchmark) -> dict[str, Any]:
    """Return the JSON record as dicts and lists."""
    record: dict[str, Any] = to_builtins(benchmark_record(benchmark))
    return record


def benchmark_record(benchmark: Benchmark) -> BenchmarkRecord:
    """Return what is stored of a benchmark."""
    project = benchmark.project
    return BenchmarkRecord(
        __version__,
        ProjectReference(project.file, project.sha256),
        project.primary,
        project.seeds,
        benchmark.depth,
        benchmark.n_failed,
        benchmark.n_left_out,
        tuple(collection_record(result) for result in benchmark.collections),
        tuple(comparison_json.spread_record(spread) for spread in benchmark.spreads),
        RunTimes(benchmark.started, benchmark.finished),
    )


def collection_record(result: CollectionResult) -> CollectionRecord:
    """Return what is stored of one collection."""
    return CollectionRecord(
        result.name,
        result.parts,
        SplitSizes(len(result.split.measured), len(result.split.train), result.split.how),
        result.systems,
        result.choices,
        result.notes,
        None if result.scores is None else evaluation.json_record(result.scores),
        None if result.comparison is None else comparison_json.json_record(result.comparison),
    )


def run_schema() -> dict[str, Any]:
    """Return the JSON schema of the record; evaluation and comparison are as those commands print them."""
    schema = json_schema(BenchmarkRecord)
    collection = schema["$defs"]["CollectionRecord"]
    embedded = {
        "evaluation": or_null(evaluation.json_schema()),
        "comparison": or_null(comparison_json.json_schema()),
    }
    record = schema["$defs"]["BenchmarkRecord"]
    definitions = {
        **schema["$defs"],
        "CollectionRecord": {**collection, "properties": {**collection["properties"], **embedded}},
        "BenchmarkRecord": {**record, "properties": {**record["properties"], "languages": comparison_json.SPREADS}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A benchmark, as printed by rankscope run --format json",
        **schema,
        "$defs": definitions,
    }


def or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema as part of another, where there may be nothing as well."""
    return {"anyOf": [{name: value for name, value in schema.items() if name != "$schema"}, {"type": "null"}]}
