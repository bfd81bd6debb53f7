"""Stored comparisons: each is kept as it was, and counts as a look at its queries.

One that is made only to show what is known, as a history does, is kept as well, but is no look: its number is 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.comparison.records import Comparison
from rankscope.records import Record, or_none
from rankscope.store.blobs import get_blob, put_blob
from rankscope.store.schema import canonical_json, comparison

if TYPE_CHECKING:
    from rankscope.store.store import Store


class StoredPair(Record):
    """What a comparison said of two runs."""

    a: str
    b: str
    measure: str
    verdict: str
    """The code of the verdict."""
    difference: float | None
    low: float | None
    high: float | None


class StoredComparison(Record):
    """A comparison that was kept."""

    number: int
    request_sha256: str
    queries_sha256: str
    result_sha256: str
    pairs: tuple[StoredPair, ...]
    look: int
    """Which comparison on the same queries it is, counted from 1; 0 where it does not count."""
    stored: str


class ComparisonTable:
    """The comparisons of a store, as `store.comparisons`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(
        self,
        result: Comparison,
        *,
        queries_sha256: str,
        rankings: Iterable[str],
        inputs: Any,
        is_look: bool = True,
        part: Iterable[str] | None = None,
    ) -> StoredComparison:
        """Keep a comparison; one of the same inputs is returned as it is.

        Whatever may give another verdict is another look at the queries: other rankings, another measure that decides,
        another baseline or all pairs, another margin, a part of the queries. The same under other judgments is not.
        `rankings` are the hashes of what was compared, `inputs` all that the result depends on, `part` the queries
        where they are not all. Without `is_look` it is kept to be shown, and not counted.
        """
        request = request_sha256(inputs if is_look else only_shown(inputs))
        subject = request_sha256([sorted(rankings), result.primary, view_of(result), part and sorted(part)])
        pairs = [
            {"a": pair.a, "b": pair.b, "measure": pair.measure, "verdict": pair.final_verdict.code,
             "difference": or_none(pair.delta), "low": or_none(pair.ci.low), "high": or_none(pair.ci.high)}
            for pair in result
        ]  # fmt: skip
        now = self.store.clock()
        with self.store.writing() as connection:
            same = sa.select(comparison).where(comparison.c.request_sha256 == request)
            found = connection.execute(same).first()
            if found is None:
                looks = connection.execute(looks_at(queries_sha256)).all()
                before = {each.subject_sha256: each.look for each in looks}
                row = {
                    "request_sha256": request,
                    "subject_sha256": subject,
                    "queries_sha256": queries_sha256,
                    "result_sha256": put_blob(connection, result.to_json().encode(), kind="comparison", now=now),
                    "pairs": pairs,
                    "look": before.get(subject, len(before) + 1) if is_look else 0,
                    "stored": now,
                }
                connection.execute(sa.insert(comparison), row)
                found = connection.execute(same).one()
            return stored_comparison(found)

    def n_looks(self, queries_sha256: str) -> int:
        """Return how many different comparisons were made on some queries, those that count."""
        with self.store.reading() as connection:
            return len({row.subject_sha256 for row in connection.execute(looks_at(queries_sha256))})

    def find(self, inputs: Any) -> StoredComparison | None:
        """Return the comparison that was made of these inputs, one that counts first; None where there is none."""
        either = [request_sha256(inputs), request_sha256(only_shown(inputs))]
        wanted = sa.select(comparison).where(comparison.c.request_sha256.in_(either))
        with self.store.reading() as connection:
            found = connection.execute(wanted.order_by(comparison.c.look.desc()).limit(1)).first()
        return None if found is None else stored_comparison(found)

    def list(self, *, queries_sha256: str | None = None) -> tuple[StoredComparison, ...]:
        wanted = sa.select(comparison).order_by(comparison.c.id)
        if queries_sha256 is not None:
            wanted = wanted.where(comparison.c.queries_sha256 == queries_sha256)
        with self.store.reading() as connection:
            return tuple(stored_comparison(row) for row in connection.execute(wanted))

    def result(self, stored: StoredComparison) -> Comparison:
        """Return the comparison as it was made."""
        with self.store.reading() as connection:
            return Comparison.from_json(get_blob(connection, stored.result_sha256))


def looks_at(queries_sha256: str) -> sa.Select[Any]:
    return sa.select(comparison.c.subject_sha256, comparison.c.look).where(
        comparison.c.queries_sha256 == queries_sha256, comparison.c.look > 0
    )


def view_of(result: Comparison) -> list[Any]:
    """Return by what the same runs may be looked at in another way: the baseline, the margin, languages together.

    Where two runs are compared, it is all the same which of them is called the baseline.
    """
    baseline = result.baseline if len(result.runs) > 2 else ""
    return [baseline, result.settings.margin, any(group.pooled for group in result.groups)]


def only_shown(inputs: Any) -> Any:
    """Return what a comparison depends on that does not count as a look."""
    return {"shown": inputs}


def request_sha256(inputs: Any) -> str:
    return hashlib.sha256(canonical_json(inputs).encode()).hexdigest()


def stored_comparison(row: sa.Row[Any]) -> StoredComparison:
    pairs = tuple(StoredPair(**pair) for pair in row.pairs)
    return StoredComparison(
        row.id, row.request_sha256, row.queries_sha256, row.result_sha256, pairs, row.look, row.stored
    )
