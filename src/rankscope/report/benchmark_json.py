"""A benchmark as the JSON record whose schema is published."""

from __future__ import annotations

from typing import Any

from rankscope.experiment.results import Benchmark, BenchmarkRecord
from rankscope.records import json_schema


def json_text(benchmark: Benchmark) -> str:
    return benchmark.to_json()


def run_schema() -> dict[str, Any]:
    """Return the JSON schema of the record; evaluation and comparison are as those commands print them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A benchmark, as printed by rankscope run --format json",
        **json_schema(BenchmarkRecord),
    }
