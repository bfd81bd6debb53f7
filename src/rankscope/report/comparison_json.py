"""A comparison as the JSON record whose schema is published, and as a table for spreadsheets."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from rankscope._version import __version__
from rankscope.analysis.movement import Movement
from rankscope.comparison.records import Compared, Comparison, Group, QueryChange, Slice, Spread
from rankscope.data.sources import Origin
from rankscope.report.evaluation import closed_object, file_record
from rankscope.report.table import Cell, Table
from rankscope.stats.compare import Pair
from rankscope.stats.interval import Interval

TEXT = {"type": "string"}
TEXT_OR_NULL = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number"}
MAYBE = {"type": ["number", "null"]}
FLAG = {"type": "boolean"}
BOTH = closed_object({"a": MAYBE, "b": MAYBE})
CI = closed_object({"low": MAYBE, "high": MAYBE, "level": NUMBER, "method": TEXT})


def json_text(comparison: Comparison) -> str:
    """Return the JSON record as text."""
    import json

    return json.dumps(json_record(comparison), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def json_record(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as the JSON record."""
    scores = comparison.scores
    return {
        "rankscope": __version__,
        "primary": comparison.primary,
        "baseline": comparison.baseline,
        "correction": comparison.correction,
        "cluster": comparison.cluster,
        "weights": comparison.weights,
        "settings": dataclasses.asdict(comparison.settings),
        "profile": scores.profile,
        "policies": scores.policies,
        "qrels": {**file_record(scores.qrels.origin), "n_queries": scores.qrels.n_queries},
        "runs": [{"name": run.name, **file_record(run.origin)} for run in scores.values()],
        "isolated_by": comparison.isolated_by or None,
        "groups": [group_record(group, comparison) for group in comparison.groups],
        "languages": [spread_record(spread) for spread in comparison.spreads],
        "notes": list(comparison.notes),
    }


def spread_record(spread: Spread) -> dict[str, Any]:
    """Return a system's score over several languages."""
    return {
        "system": spread.system,
        "by_language": {language: number(value) for language, value in spread.by_language},
        "mean": number(spread.mean),
        "variance": number(spread.variance),
    }


def group_record(group: Group, comparison: Comparison) -> dict[str, Any]:
    """Return one group of queries."""
    return {
        "name": group.name or None,
        "n_queries": len(group.query_ids),
        "pooled": group.pooled,
        "leaderboard": [
            {
                "rank": place.rank,
                "system": place.system,
                "mean": number(place.mean),
                "ci": None if place.ci is None else interval(place.ci),
                "n_queries": place.n_queries,
                "beats": list(place.beats),
            }
            for place in group.leaderboard
        ],
        "comparisons": [
            record
            for compared in group.compared
            for record in (
                pair_record(compared.pair, compared, comparison),
                *(pair_record(pair, None, comparison) for pair in compared.exploratory),
            )
        ],
    }


def pair_record(pair: Pair, compared: Compared | None, comparison: Comparison) -> dict[str, Any]:
    """Return one pair by one measure; verdict, strata and evidence belong to the primary measure."""
    return {
        "systems": {"a": pair.a, "b": pair.b},
        "measure": pair.measure,
        "role": pair.role,
        "n_queries": pair.n_queries,
        "n_units": pair.n_units,
        "n_effective": number(pair.n_effective),
        "n_missing": None if compared is None else {"a": len(compared.missing_a), "b": len(compared.missing_b)},
        "missing": None if compared is None else {"a": list(compared.missing_a), "b": list(compared.missing_b)},
        "n_undefined": pair.n_undefined,
        "mean": {"a": number(pair.mean_a), "b": number(pair.mean_b)},
        "delta": number(pair.delta),
        "lower_is_better": pair.lower_is_better,
        "standard_error": number(pair.error),
        "ci": interval(pair.ci),
        "ci_equivalence": interval(pair.ci_equivalence),
        "ci_check": {
            "t": interval(pair.ci_t),
            "bca": None if pair.ci_bootstrap is None else interval(pair.ci_bootstrap),
        },
        "p": {
            "adjusted": number(pair.p.adjusted),
            "method": pair.p.method,
            "correction": pair.p.correction,
            "family_size": pair.p.family_size,
            "n_resamples": pair.p.n_resamples,
            "exact": pair.p.is_exact,
        },
        "p_alone": {"permutation": number(pair.p.alone_permutation), "t": number(pair.p.alone_t)},
        "effect": {"d_z": number(pair.effect.d_z), "superiority": number(pair.effect.superiority)},
        "mde": {
            "power": comparison.settings.power,
            "critical": number(pair.critical),
            "value": number(pair.mde),
        },
        "n_needed": pair.n_needed,
        "margin": pair.margin,
        "tost": bool(pair.margin > max(-pair.ci_equivalence.low, pair.ci_equivalence.high)),
        "bayes": None if pair.bayes is None else dataclasses.asdict(pair.bayes),
        "wins": pair.effect.wins,
        "ties": pair.effect.ties,
        "losses": pair.effect.losses,
        "skew": number(pair.skew),
        **evidence_record(compared),
        "looks": None,
        "seed": comparison.settings.seed,
        "hashes": hashes_of(pair, comparison),
    }


def evidence_record(compared: Compared | None) -> dict[str, Any]:
    """Return what stands behind the verdict; null where the pair is compared by another than the primary measure."""
    if compared is None:
        return dict.fromkeys(
            (
                "judged",
                "unjudged",
                "bounds",
                "settle",
                "movement",
                "also_tested",
                "sensitivity",
                "strata",
                "worst",
                "best",
                "verdict",
            )
        )
    bounds, movement, judged, check = compared.bounds, compared.movement, compared.judged, compared.unjudged
    return {
        "judged": None if judged is None else {"a": number(judged.a), "b": number(judged.b), "depth": judged.depth},
        "unjudged": None
        if check is None
        else {
            "strength": check.strength,
            "system": check.behind,
            "n_unjudged": check.n_unjudged,
            "judged_relevant": number(check.judged_relevant),
            "from_all_systems": check.from_all_systems,
            "tested_share": number(check.tested_share),
            "tipping_point": check.tipping_point,
            "tipping_point_known": check.tipping_point_known,
            "difference_then": number(check.difference_then),
        },
        "bounds": None
        if bounds is None
        else {
            "low": number(bounds.low),
            "high": number(bounds.high),
            "useless": number(bounds.useless),
            "perfect": number(bounds.perfect),
            "exact": bounds.exact,
            "depth": bounds.depth,
        },
        "settle": [{"query": doc.query_id, "doc": doc.doc_id, "swing": number(doc.swing)} for doc in compared.settle],
        "movement": None if movement is None else movement_record(movement),
        "also_tested": [
            {"p": number(test.p), "method": test.method, "n_resamples": test.n_resamples, "caveat": test.caveat}
            for test in compared.also_tested
        ],
        "sensitivity": {name: number(value) for name, value in compared.sensitivity},
        "strata": [slice_record(part) for part in compared.slices],
        "worst": [change_record(change) for change in compared.worst],
        "best": [change_record(change) for change in compared.best],
        "verdict": {
            "code": compared.verdict.code,
            "because": compared.verdict.because or None,
            "text": compared.verdict.text,
            "reason": compared.verdict.reason,
            "cautions": list(compared.verdict.cautions),
        },
    }


def movement_record(movement: Movement) -> dict[str, Any]:
    """Return what a difference is made of."""
    return {
        "kinds": {
            name: {"n_docs": part.n_docs, "total": number(part.total)} for name, part in movement.by_class.items()
        },
        "unjudged": {"a": movement.n_unjudged_a, "b": movement.n_unjudged_b},
        "by_rank": {"a": movement.by_rank_a.tolist(), "b": movement.by_rank_b.tolist()},
        "queries": [
            {
                "query": query.query_id,
                "docs": [
                    {
                        "doc": d.doc_id,
                        "kind": d.kind,
                        "rank_a": d.rank_a,
                        "rank_b": d.rank_b,
                        "change": number(d.change),
                    }
                    for d in query.docs
                ],
            }
            for query in movement.queries
        ],
    }


def slice_record(part: Slice) -> dict[str, Any]:
    """Return one stratum or slice."""
    pair = part.pair
    return {
        "attribute": part.attribute,
        "value": part.value,
        "asked_for": part.asked_for,
        "n_queries": pair.n_queries,
        "mean": {"a": number(pair.mean_a), "b": number(pair.mean_b)},
        "delta": number(pair.delta),
        "ci": interval(pair.ci),
        "n_units": pair.n_units,
        "p": {"alone": number(pair.p.alone_permutation), "adjusted": number(pair.p.adjusted)},
        "contrast": {"p": number(part.contrast_p), "adjusted": number(part.contrast_adjusted)},
        "wins": pair.effect.wins,
        "ties": pair.effect.ties,
        "losses": pair.effect.losses,
        "stands_out": part.stands_out,
        "too_few": part.too_few,
    }


def change_record(change: QueryChange) -> dict[str, Any]:
    """Return one query that changed."""
    return {"query": change.query, "a": change.a, "b": change.b, "delta": change.delta}


def interval(ci: Interval) -> dict[str, Any]:
    """Return an interval."""
    return {"low": number(ci.low), "high": number(ci.high), "level": ci.level, "method": ci.method}


def number(value: float) -> float | None:
    """Return None for what JSON cannot hold."""
    return value if math.isfinite(value) else None


def hashes_of(pair: Pair, comparison: Comparison) -> dict[str, str | None]:
    """Return the content hashes of the files that a comparison rests on."""
    scores = comparison.scores
    return {
        "qrels": sha256_of(scores.qrels.origin),
        "a": sha256_of(scores[pair.a].origin),
        "b": sha256_of(scores[pair.b].origin),
    }


def sha256_of(origin: Origin | None) -> str | None:
    """Return a file's digest, None for data given in memory."""
    return None if origin is None else origin.sha256


def comparison_table(comparison: Comparison) -> Table:
    """Return one row per pair and measure, with the numbers at full precision, for CSV."""
    header = [
        "group", "a", "b", "measure", "role", "n_queries", "mean_a", "mean_b", "delta", "ci_low", "ci_high",
        "p_adjusted", "p_alone", "p_t", "d_z", "superiority", "wins", "ties", "losses", "mde", "verdict",
    ]  # fmt: skip
    rows = []
    for group in comparison.groups:
        for compared in group.compared:
            rows.append(csv_row(compared.pair, compared.verdict.code))
            rows += [csv_row(pair, "") for pair in compared.exploratory]
    return Table(header, rows, n_name_columns=5)


def csv_row(pair: Pair, verdict: str) -> list[Cell]:
    """Return one row."""
    numbers = [
        pair.n_queries, pair.mean_a, pair.mean_b, pair.delta, pair.ci.low, pair.ci.high, pair.p.adjusted,
        pair.p.alone_permutation, pair.p.alone_t, pair.effect.d_z, pair.effect.superiority, pair.effect.wins,
        pair.effect.ties, pair.effect.losses, pair.mde,
    ]  # fmt: skip
    names = [pair.group, pair.a, pair.b, pair.measure, pair.role]
    return [*map(Cell, names), *(Cell("" if value != value else repr(value)) for value in numbers), Cell(verdict)]  # noqa: PLR0124 (NaN)


def described(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return a schema with a description."""
    return {**schema, "description": description}


def array(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": dict(items)}


def or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of something that may be missing."""
    return {"anyOf": [dict(schema), {"type": "null"}]}


SPREADS = described(
    array(
        closed_object(
            {
                "system": TEXT,
                "by_language": {"type": "object", "additionalProperties": MAYBE},
                "mean": MAYBE,
                "variance": MAYBE,
            }
        )
    ),
    "mean over languages, each counting the same, and the variance between them",
)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the record."""
    record = {
        "rankscope": described(TEXT, "the version that made the record"),
        "primary": described(TEXT, "the measure that decides"),
        "baseline": described(TEXT_OR_NULL, "the system that the others are compared with; null for all pairs"),
        "correction": described(TEXT, "how several comparisons are corrected for: maxt, bonferroni or none"),
        "cluster": described(TEXT_OR_NULL, "the attribute that groups queries which are not independent"),
        "weights": described(TEXT_OR_NULL, "the attribute by which queries are weighted"),
        "settings": described({"type": "object"}, "alpha, margin, power, number of resamples, seed"),
        "profile": TEXT_OR_NULL,
        "policies": {"type": "object"},
        "qrels": closed_object({"path": TEXT_OR_NULL, "sha256": TEXT_OR_NULL, "n_queries": COUNT}),
        "runs": array(closed_object({"name": TEXT, "path": TEXT_OR_NULL, "sha256": TEXT_OR_NULL})),
        "isolated_by": described(TEXT_OR_NULL, "the attribute of queries whose values are not pooled"),
        "groups": array(group_schema()),
        "languages": SPREADS,
        "notes": array(TEXT),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A comparison of systems, as printed by rankscope compare --format json",
        **closed_object(record),
    }


def group_schema() -> dict[str, Any]:
    """Return the schema of a group of queries."""
    place = {
        "rank": described(
            {"type": ["integer", "null"]},
            "1 + the number of systems that are better by verdict; null where not all pairs are compared",
        ),
        "system": TEXT,
        "mean": MAYBE,
        "ci": or_null(CI),
        "n_queries": COUNT,
        "beats": described(array(TEXT), "the systems that it is better, or probably better, than"),
    }
    return closed_object(
        {
            "name": TEXT_OR_NULL,
            "n_queries": COUNT,
            "pooled": FLAG,
            "leaderboard": array(closed_object(place)),
            "comparisons": array(pair_schema()),
        }
    )


def movement_schema() -> dict[str, Any]:
    """Return the schema of what a difference is made of."""
    rank = {"type": ["integer", "null"]}
    doc = closed_object({"doc": TEXT, "kind": TEXT, "rank_a": rank, "rank_b": rank, "change": MAYBE})
    kind = closed_object({"n_docs": COUNT, "total": MAYBE})
    return closed_object(
        {
            "kinds": {"type": "object", "additionalProperties": kind},
            "unjudged": described(closed_object({"a": COUNT, "b": COUNT}), "docs that take up ranks and count nothing"),
            "by_rank": described(closed_object({"a": array(NUMBER), "b": array(NUMBER)}), "parts of the mean score"),
            "queries": described(array(closed_object({"query": TEXT, "docs": array(doc)})), "those that moved most"),
        }
    )


def unjudged_schema() -> dict[str, Any]:
    """Return the schema of what unjudged docs could do to a verdict."""
    return closed_object(
        {
            "strength": {"enum": ["stands", "cautious", "not_safe"]},
            "system": described(TEXT, "the one whose unjudged docs are taken for relevant now and then"),
            "n_unjudged": {"type": ["integer", "null"]},
            "judged_relevant": described(MAYBE, "the share of relevant docs among its judged ones"),
            "from_all_systems": FLAG,
            "tested_share": described(MAYBE, "the share of relevant docs at which the verdict was tried"),
            "tipping_point": described(MAYBE, "the smallest share at which the difference is gone; null for none"),
            "tipping_point_known": FLAG,
            "difference_then": described(MAYBE, "for a difference called small: what it would be at that share"),
        }
    )


def pair_schema() -> dict[str, Any]:
    """Return the schema of one pair by one measure."""
    stratum = {
        "attribute": TEXT, "value": TEXT, "asked_for": FLAG, "n_queries": COUNT, "mean": BOTH, "delta": MAYBE, "ci": CI,
        "n_units": COUNT, "p": closed_object({"alone": MAYBE, "adjusted": MAYBE}),
        "contrast": described(closed_object({"p": MAYBE, "adjusted": MAYBE}), "against all other queries"),
        "wins": COUNT, "ties": COUNT, "losses": COUNT, "stands_out": FLAG, "too_few": FLAG,
    }  # fmt: skip
    change = closed_object({"query": TEXT, "a": MAYBE, "b": MAYBE, "delta": MAYBE})
    names = {"type": "array", "items": TEXT}
    return closed_object(
        {
            "systems": closed_object({"a": TEXT, "b": TEXT}),
            "measure": TEXT,
            "role": {"enum": ["primary", "exploratory"]},
            "n_queries": COUNT,
            "n_units": described(COUNT, "units of evidence: clusters where these are given, else queries"),
            "n_effective": described(MAYBE, "equally weighted queries that they are worth"),
            "n_missing": or_null(closed_object({"a": COUNT, "b": COUNT})),
            "missing": or_null(closed_object({"a": names, "b": names})),
            "n_undefined": COUNT,
            "mean": BOTH,
            "delta": described(MAYBE, "b minus a"),
            "lower_is_better": FLAG,
            "standard_error": MAYBE,
            "ci": described(CI, "the one that decides; it excludes 0 exactly where p.adjusted is at most alpha"),
            "ci_equivalence": described(CI, "at level 1 - 2 alpha; within the margin, the difference is small"),
            "ci_check": described(
                closed_object({"t": CI, "bca": or_null(CI)}), "of this difference alone, by other methods"
            ),
            "p": closed_object(
                {
                    "adjusted": MAYBE,
                    "method": TEXT,
                    "correction": TEXT,
                    "family_size": COUNT,
                    "n_resamples": COUNT,
                    "exact": described(FLAG, "whether all flips were tried"),
                }
            ),
            "p_alone": described(closed_object({"permutation": MAYBE, "t": MAYBE}), "not adjusted"),
            "effect": closed_object({"d_z": MAYBE, "superiority": MAYBE}),
            "mde": closed_object({"power": NUMBER, "critical": MAYBE, "value": MAYBE}),
            "n_needed": described({"type": ["integer", "null"]}, "units that would find the margin"),
            "margin": NUMBER,
            "tost": described(FLAG, "whether the difference is shown to be below the margin"),
            "bayes": or_null(closed_object(dict.fromkeys(("better", "equivalent", "worse"), NUMBER))),
            "wins": COUNT,
            "ties": COUNT,
            "losses": COUNT,
            "skew": MAYBE,
            "judged": or_null(closed_object({"a": MAYBE, "b": MAYBE, "depth": {"type": ["integer", "null"]}})),
            "unjudged": described(or_null(unjudged_schema()), "whether the verdict survives relevant unjudged docs"),
            "bounds": or_null(
                closed_object(
                    {
                        **dict.fromkeys(("low", "high", "useless", "perfect"), MAYBE),
                        "exact": FLAG,
                        "depth": {"type": ["integer", "null"]},
                    }
                )
            ),
            "settle": or_null(array(closed_object({"query": TEXT, "doc": TEXT, "swing": MAYBE}))),
            "movement": or_null(movement_schema()),
            "also_tested": or_null(
                array(
                    closed_object(
                        {"p": MAYBE, "method": TEXT, "n_resamples": {"type": ["integer", "null"]}, "caveat": TEXT}
                    )
                )
            ),
            "sensitivity": or_null({"type": "object", "additionalProperties": MAYBE}),
            "strata": or_null(array(closed_object(stratum))),
            "worst": or_null(array(change)),
            "best": or_null(array(change)),
            "verdict": or_null(
                closed_object({"code": TEXT, "because": TEXT_OR_NULL, "text": TEXT, "reason": TEXT, "cautions": names})
            ),
            "looks": described({"type": "null"}, "comparisons made on this query set; not counted without a store"),
            "seed": {"type": "integer"},
            "hashes": closed_object(dict.fromkeys(("qrels", "a", "b"), TEXT_OR_NULL)),
        }
    )
