"""A comparison as JSON, whose schema is published, and as a table for spreadsheets."""

from __future__ import annotations

from typing import Any

from rankscope.comparison.records import Comparison
from rankscope.records import json_schema as schema_of
from rankscope.report.table import Cell, Table


def json_text(comparison: Comparison) -> str:
    return comparison.to_json()


def json_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A comparison of systems, as printed by rankscope compare --format json",
        **schema_of(Comparison),
    }


def comparison_table(comparison: Comparison) -> Table:
    """Return one row per pair and measure, with the numbers at full precision, for CSV."""
    header = [
        "group", "a", "b", "measure", "role", "n_queries", "mean_a", "mean_b", "delta", "ci_low", "ci_high",
        "p_adjusted", "p_alone", "p_t", "d_z", "superiority", "wins", "ties", "losses", "mde", "verdict",
        "sign_p", "smallest_sign_p",
    ]  # fmt: skip
    rows = []
    for pair in (result for group in comparison.groups for result in group.comparisons):
        numbers = [
            pair.n_queries, pair.mean.a, pair.mean.b, pair.delta, pair.ci.low, pair.ci.high, pair.p.adjusted,
            pair.p.alone_permutation, pair.p.alone_t, pair.effect.d_z, pair.effect.superiority, pair.wins,
            pair.ties, pair.losses, pair.mde.value,
        ]  # fmt: skip
        small = pair.small_set
        signs = (None, None) if small is None else (small.sign_p, small.smallest_p)
        texts, sign_texts = (["" if value is None else repr(value) for value in each] for each in (numbers, signs))
        verdict = "" if pair.verdict is None else pair.verdict.code
        names = (pair.group or "", pair.a, pair.b, pair.measure, pair.role)
        rows.append([*map(Cell, [*names, *texts, verdict, *sign_texts])])
    return Table(header, rows, n_name_columns=5)
