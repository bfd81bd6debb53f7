"""A benchmark as the JSON record whose schema is published."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from rankscope._version import __version__
from rankscope.analysis.validate import Finding
from rankscope.comparison.records import Comparison, LanguageSpread
from rankscope.experiment.latency import Latency, Profile
from rankscope.experiment.results import Benchmark, Choice, CollectionResult, SystemResult
from rankscope.records import json_schema, or_none, to_builtins
from rankscope.report import evaluation
from rankscope.report.evaluation import closed_object

TEXT = {"type": "string"}
TEXT_OR_NULL = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number"}
MAYBE = {"type": ["number", "null"]}


def described(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return a schema with a description."""
    return {**schema, "description": description}


def array(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(items)}


def or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of something that may be missing."""
    return {"anyOf": [dict(schema), {"type": "null"}]}


FINDING: dict[str, Any] = {
    "level": {"enum": ["error", "warning"], "description": "error: it is left out; warning: it is compared anyway"},
    "code": described(TEXT, "what was found, as a name to rely on"),
    "message": TEXT,
    "examples": array(TEXT),
    "hint": TEXT,
}
LATENCY = {
    "n": described(COUNT, "single queries that were timed"),
    **{name: described(NUMBER, f"{name} in milliseconds") for name in ("mean", "p50", "p95", "p99", "max")},
}


def json_text(benchmark: Benchmark) -> str:
    """Return the JSON record as text."""
    return json.dumps(json_record(benchmark), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def json_record(benchmark: Benchmark) -> dict[str, Any]:
    """Return the benchmark as the JSON record."""
    project = benchmark.project
    return {
        "rankscope": __version__,
        "project": {"file": project.file.name, "sha256": project.sha256},
        "primary": project.primary,
        "seeds": list(project.seeds),
        "depth": benchmark.depth,
        "n_failed": benchmark.n_failed,
        "n_left_out": benchmark.n_left_out,
        "collections": [collection_record(result) for result in benchmark.collections],
        "languages": [to_builtins(spread) for spread in benchmark.spreads],
        "times": {"started": benchmark.started, "finished": benchmark.finished},
    }


def collection_record(result: CollectionResult) -> dict[str, Any]:
    """Return one collection."""
    return {
        "name": result.name,
        "parts": {name: {"n": part.n, "sha256": part.sha256} for name, part in result.parts.items()},
        "queries": {"measured": len(result.sides.measured), "train": len(result.sides.train), "how": result.sides.how},
        "systems": [system_record(system, result) for system in result.systems],
        "choices": [choice_record(choice) for choice in result.choices],
        "notes": list(result.notes),
        "evaluation": None if result.scores is None else evaluation.json_record(result.scores),
        "comparison": None if result.comparison is None else result.comparison.to_dict(),
    }


def system_record(system: SystemResult, result: CollectionResult) -> dict[str, Any]:
    """Return one system: what it is, what it answered, what it costs."""
    return {
        "name": system.name,
        "type": system.type,
        "fingerprint": system.fingerprint,
        "run": None if system.run is None else system.run.as_posix(),
        "n_queries": system.n_queries,
        "n_answered": system.n_answered,
        "n_retried": system.n_retried,
        "failures": [
            {"query": answer.query_id, "reason": answer.reason, "attempts": answer.n_attempts}
            for answer in system.failures
        ],
        "finding": None if system.finding is None else finding_record(system.finding),
        "primary_over_answered": number_or_none(result.answered_only.get(system.name)),
        "costs": costs_record(system.profile),
    }


def finding_record(finding: Finding) -> dict[str, Any]:
    """Return what is wrong with the ids that a system returns."""
    record = dataclasses.asdict(finding)
    return {name: record[name] for name in FINDING}


def number_or_none(value: float | None) -> float | None:
    """Return a number that JSON can hold."""
    return None if value is None else or_none(value)


def costs_record(profile: Profile) -> dict[str, Any]:
    """Return what a system costs."""
    return {
        "latency_ms": latency_record(profile.latency),
        "queries_per_second": profile.queries_per_second,
        "index_s": profile.index_s,
        "index_bytes": profile.index_bytes,
        "memory_bytes": profile.memory_bytes,
    }


def latency_record(latency: Latency | None) -> dict[str, Any] | None:
    """Return the latency of single queries."""
    return None if latency is None else dataclasses.asdict(latency)


def choice_record(choice: Choice) -> dict[str, Any]:
    """Return what was tried for a system, and what was chosen."""
    return {
        "system": choice.system,
        "measure": choice.measure,
        "n_queries": choice.n_queries,
        "chosen": dict(choice.chosen.options),
        "trials": [{"options": dict(trial.options), "score": or_none(trial.score)} for trial in choice.trials],
    }


def run_schema() -> dict[str, Any]:
    """Return the JSON schema of the record."""
    record = {
        "rankscope": described(TEXT, "the version that made the record"),
        "project": closed_object({"file": TEXT, "sha256": described(TEXT, "digest of the project file")}),
        "primary": described(TEXT, "the measure that decides"),
        "seeds": array({"type": "integer"}),
        "depth": described(COUNT, "how many docs each system was asked for"),
        "n_failed": described(COUNT, "queries without an answer, over all systems and collections"),
        "n_left_out": described(COUNT, "systems that are not evaluated, over all collections: see their finding"),
        "collections": array(collection_schema()),
        "languages": array(json_schema(LanguageSpread)["$defs"]["LanguageSpread"]),
        "times": closed_object({"started": TEXT, "finished": TEXT}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A benchmark, as printed by rankscope run --format json",
        **closed_object(record),
        "$defs": json_schema(Comparison)["$defs"],
    }


def collection_schema() -> dict[str, Any]:
    """Return the schema of one collection; evaluation and comparison are as those commands print them."""
    sides = {
        "measured": described(COUNT, "queries that the results are about"),
        "train": described(COUNT, "queries that options and weights were chosen on"),
        "how": {"enum": ["all", "train", "holdout", "drawn"]},
    }
    return closed_object(
        {
            "name": TEXT,
            "parts": {"type": "object", "additionalProperties": closed_object({"n": COUNT, "sha256": TEXT})},
            "queries": closed_object(sides),
            "systems": array(system_schema()),
            "choices": array(choice_schema()),
            "notes": array(TEXT),
            "evaluation": or_null(embedded(evaluation.json_schema())),
            "comparison": or_null({"$ref": "#/$defs/Comparison"}),
        }
    )


def embedded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema as part of another."""
    return {name: value for name, value in schema.items() if name != "$schema"}


def system_schema() -> dict[str, Any]:
    """Return the schema of one system."""
    costs = {
        "latency_ms": described(or_null(closed_object(LATENCY)), "of single queries; null where it cannot be told"),
        "queries_per_second": MAYBE,
        "index_s": described(MAYBE, "seconds that indexing took, with all that the system is made of"),
        "index_bytes": {"type": ["integer", "null"]},
        "memory_bytes": described({"type": ["integer", "null"]}, "how far the process grew at most"),
    }
    failure = {"query": TEXT, "reason": TEXT, "attempts": COUNT}
    return closed_object(
        {
            "name": TEXT,
            "type": TEXT,
            "fingerprint": described(TEXT, "stands for the system, its options, docs, queries and depth"),
            "run": described(TEXT_OR_NULL, "the run's file, from the folder of the project"),
            "n_queries": COUNT,
            "n_answered": COUNT,
            "n_retried": described(COUNT, "answers that took more than one attempt"),
            "failures": array(closed_object(failure)),
            "finding": described(or_null(closed_object(FINDING)), "where what it returns are not ids of docs"),
            "primary_over_answered": described(MAYBE, "without the failed queries; null where none failed"),
            "costs": closed_object(costs),
        }
    )


def choice_schema() -> dict[str, Any]:
    """Return the schema of what was tried and chosen for a system."""
    options = {"type": "object"}
    return closed_object(
        {
            "system": TEXT,
            "measure": TEXT,
            "n_queries": COUNT,
            "chosen": options,
            "trials": array(closed_object({"options": options, "score": MAYBE})),
        }
    )
