"""A benchmark as the JSON record whose schema is published."""

from __future__ import annotations

import re
from typing import Any

from rankscope.experiment.results import Benchmark, BenchmarkRecord, benchmark_record
from rankscope.records import json_schema, to_json


def json_text(benchmark: Benchmark) -> str:
    """Return the record as JSON; ids that are not Unicode are written as escapes, and then all that is not ASCII is."""
    record = benchmark_record(benchmark)
    text = to_json(record, indent=1)
    is_unicode = not re.search("[\ud800-\udfff]", text)
    return (text if is_unicode else to_json(record, indent=1, ascii_only=True)) + "\n"


def run_schema() -> dict[str, Any]:
    """Return the JSON schema of the record; evaluation and comparison are as those commands print them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A benchmark, as printed by rankscope run --format json",
        **json_schema(BenchmarkRecord),
    }
