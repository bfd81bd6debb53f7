"""A comparison as JSON, whose schema is published, and as a table for spreadsheets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankscope.comparison.records import Comparison, PairResult
from rankscope.records import json_schema as schema_of
from rankscope.report.table import Cell, Table


def json_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A comparison of systems, as printed by rankscope compare --format json",
        **schema_of(Comparison),
    }


COLUMNS: dict[str, tuple[type, Callable[[PairResult], Any]]] = {
    "group": (str, lambda pair: pair.group),
    "a": (str, lambda pair: pair.a),
    "b": (str, lambda pair: pair.b),
    "measure": (str, lambda pair: pair.measure),
    "role": (str, lambda pair: pair.role),
    "n_queries": (int, lambda pair: pair.n_queries),
    "mean_a": (float, lambda pair: pair.mean.a),
    "mean_b": (float, lambda pair: pair.mean.b),
    "delta": (float, lambda pair: pair.delta),
    "ci_low": (float, lambda pair: pair.ci.low),
    "ci_high": (float, lambda pair: pair.ci.high),
    "p_adjusted": (float, lambda pair: pair.p.adjusted),
    "p_alone": (float, lambda pair: pair.p.alone_permutation),
    "p_t": (float, lambda pair: pair.p.alone_t),
    "d_z": (float, lambda pair: pair.effect.d_z),
    "superiority": (float, lambda pair: pair.effect.superiority),
    "wins": (int, lambda pair: pair.wins),
    "ties": (int, lambda pair: pair.ties),
    "losses": (int, lambda pair: pair.losses),
    "mde": (float, lambda pair: pair.mde.value),
    "verdict": (str, lambda pair: pair.verdict and pair.verdict.code),
    "sign_p": (float, lambda pair: pair.small_set and pair.small_set.sign_p),
    "smallest_sign_p": (float, lambda pair: pair.small_set and pair.small_set.smallest_p),
}
"""What is known of a pair by one measure, for tables: the type of each column, and where its value is."""


def comparison_table(comparison: Comparison) -> Table:
    """Return one row per pair and measure, with the numbers at full precision, for CSV."""
    rows = [
        [
            Cell("" if (value := value_of(pair)) is None else value if kind is str else repr(value))
            for kind, value_of in COLUMNS.values()
        ]
        for pair in every_pair(comparison)
    ]
    return Table(list(COLUMNS), rows, n_name_columns=5)


def every_pair(comparison: Comparison) -> list[PairResult]:
    """Return every pair by every measure."""
    return [result for group in comparison.groups for result in group.comparisons]
