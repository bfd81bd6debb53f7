"""Parts of the queries by what is known of them, such as their intent or clarity: how each does, and which does badly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.analysis.diagnose import thresholds as limit
from rankscope.analysis.diagnose.checks import severity_of
from rankscope.analysis.diagnose.records import DiagnosisFinding, FindingExample, Losses, QuerySlice
from rankscope.analysis.diagnose.view import RunView
from rankscope.data.queries import QueryTable
from rankscope.records import or_none
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import contrast_p
from rankscope.stats.units import Units

HELPS: Mapping[str, str] = {
    "clarity": "check how the clarity of queries is rated, and what is done for unclear ones: ask back, or expand them",
    "intent": "check that the intent of these queries is recognised rightly, and that its terms match what docs say",
}
"""By a word of the attribute's name: what usually helps where queries of one value do badly."""
OTHERWISE = "read these queries and see what they share: words, length, a field that docs lack"


def attributes_of(queries: QueryTable, by: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the attributes asked for; without any those about intent or clarity that divide the queries."""
    if by:
        return {name: queries.attribute(name) for name in by}
    return {name: values for name, values in queries.attributes.items() if topic_of(name) and divides(values)}


def topic_of(attribute: str) -> str | None:
    return next((word for word in HELPS if word in attribute.lower()), None)


def divides(values: Mapping[str, Any]) -> bool:
    """Tell whether values stand for parts of the queries: single ones, few, and mostly of several queries."""
    n_values = len(set(map(str, values.values())))
    is_single = not any(isinstance(value, list | tuple | dict) for value in values.values())
    return is_single and n_values <= min(limit.MANY_VALUES, max(1, len(values) // 2))


def slices_of(view: RunView, queries: QueryTable, by: Sequence[str]) -> tuple[QuerySlice, ...]:
    """Return the mean of each value's queries, and whether they do better or worse than all others by more than chance."""
    ids, units = view.hits.query_ids, Units.of(len(view))
    found: list[QuerySlice] = []
    for name, values in attributes_of(queries, by).items():
        own = [str(values[query]) if query in values else None for query in ids]
        for value in sorted({one for one in own if one is not None}):
            inside = np.array([one == value for one in own], dtype=np.bool_)
            p = contrast_p(view.score, inside, units) if inside.sum() >= limit.SMALLEST_SLICE else math.nan
            parts = [view.score, view.reordered - view.score, view.ceiling - view.reordered, 1 - view.ceiling]
            found.append(
                QuerySlice(
                    attribute=name,
                    value=value,
                    n_queries=int(inside.sum()),
                    recall=float((view.found(view.k) / view.n_relevant)[inside].mean()),
                    losses=Losses(*(float(part[inside].mean()) for part in parts)),
                    score_of_others=float(view.score[~inside].mean()) if not inside.all() else None,
                    p=or_none(p),
                )
            )
    return with_adjusted(found)


def with_adjusted(slices: Sequence[QuerySlice]) -> tuple[QuerySlice, ...]:
    """Add the p-values that control the share of false alarms among all of the slices."""
    from msgspec.structs import replace

    tested = [i for i, one in enumerate(slices) if one.p is not None]
    adjusted = benjamini_hochberg(np.array([slices[i].p for i in tested], dtype=np.float64)).tolist() if tested else []
    by_place = dict(zip(tested, adjusted, strict=True))
    return tuple(replace(one, p_adjusted=by_place.get(i)) for i, one in enumerate(slices))


def slice_findings(view: RunView, queries: QueryTable, slices: Sequence[QuerySlice]) -> Iterator[DiagnosisFinding]:
    """Yield the slices that score lower than all other queries, by enough to matter and by more than chance."""
    for one in slices:
        others = one.score_of_others
        if others is None or one.p_adjusted is None or one.p_adjusted >= limit.SLICE_ALPHA:
            continue
        if one.losses.score > others - limit.LOWER_SLICE:
            continue
        values = queries.attributes[one.attribute]
        ids = view.hits.query_ids
        inside = [i for i, query in enumerate(ids) if query in values and str(values[query]) == one.value]
        worst = sorted(inside, key=lambda i: (view.score[i], ids[i]))[: limit.N_EXAMPLES]
        topic = topic_of(one.attribute)
        yield DiagnosisFinding(
            code="weak_slice",
            severity=severity_of(one.n_queries / len(view)),
            what=f"{one.attribute} {one.value}: {view.measure.name} is {one.losses.score:.2f}, that of all other queries "
            f"{others:.2f}",
            n_queries=one.n_queries,
            of_queries=len(view),
            examples=tuple(
                FindingExample(
                    ids[i], {"score": float(view.score[i])}, f"{view.measure.name} {float(view.score[i]):.2f}"
                )
                for i in worst
            ),
            helps=HELPS[topic] if topic else OTHERWISE,
        )
