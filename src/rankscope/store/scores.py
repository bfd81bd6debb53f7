"""Stored scores: a cache of what rankings and judgments give, one vector for each run, qrels, measure and policies.

All of it can be dropped and computed again to the same bits, but for measures that look at embeddings or an ontology,
which are not stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.align.policies import Policies
from rankscope.errors import MeasureError
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.measures.scores import RunScores
from rankscope.measures.spec import Measure
from rankscope.records import Record, or_none
from rankscope.store.blobs import get_blob, insert_if_new, put_blob
from rankscope.store.columns import ScoreVector, texts_bytes, texts_of, vector_bytes, vector_of
from rankscope.store.schema import canonical_json
from rankscope.store.schema import scores as scores_table

if TYPE_CHECKING:
    from rankscope.store.qrels import StoredQrels
    from rankscope.store.runs import StoredRun
    from rankscope.store.store import Store


class ScoreSummary(Record, kw_only=True):
    """One number for all queries, and what it stands for."""

    measure: str
    mean: float | None
    """None where no query has a score."""
    n: int
    """Queries that count."""
    undefined: int
    missing: int
    """Queries that the run does not answer."""
    queries_sha256: str
    """Stands for the queries that were scored, in their order; the same for runs that can be subtracted."""
    vector_sha256: str


class StoredScores(Record, eq=False):
    """The scores of one measure on all queries."""

    summary: ScoreSummary
    query_ids: tuple[str, ...]
    vector: ScoreVector


def policies_sha256(policies: Policies | Mapping[str, Any]) -> str:
    """Return what stands for policies; scores under others cannot be compared."""
    given = policies.as_dict() if isinstance(policies, Policies) else dict(policies)
    return hashlib.sha256(canonical_json(given).encode()).hexdigest()


class ScoreTable:
    """The scores of a store, as `store.scores`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(
        self,
        run: StoredRun,
        qrels: StoredQrels,
        scores: RunScores,
        *,
        versions: Mapping[str, int],
        policies: Policies | Mapping[str, Any],
        data_sha256: str = "",
    ) -> None:
        """Keep scores that were computed: those of a run under qrels, all measures.

        `data_sha256` stands for embeddings or an ontology that the measures looked at.
        """
        now, queries = self.store.clock(), texts_bytes(scores.query_ids)
        common = {"run_id": run.number, "qrels_id": qrels.number, "policies_sha256": policies_sha256(policies)}
        with self.store.writing() as connection:
            queries_sha256 = put_blob(connection, queries, kind="queries", now=now)
            for i, measure in enumerate(scores.measures):
                mean = scores.aggregate_of(measure)
                vector = ScoreVector(scores.values[:, i], scores.undefined[:, i], scores.answered)
                row = {
                    **common,
                    "measure": measure,
                    "version": versions.get(measure, 0),
                    "data_sha256": data_sha256,
                    "queries_sha256": queries_sha256,
                    "vector_sha256": put_blob(connection, vector_bytes(vector), kind="scores", now=now),
                    "mean": or_none(mean.value),
                    "facts": {"n": mean.n, "undefined": mean.undefined, "missing": mean.missing},
                }
                insert_if_new(connection, scores_table, row)

    def of(
        self, run: StoredRun, qrels: StoredQrels, measures: Sequence[Measure], policies: Policies | None = None
    ) -> dict[str, StoredScores]:
        """Return the scores of a run under qrels by measure; what is not kept yet is computed and kept."""
        policies = policies or Policies()
        self.compute([run], qrels, measures, policies)
        found = {}
        with self.store.reading() as connection:
            for measure in measures:
                row = connection.execute(wanted_scores([run.number], qrels, measure, policies)).one()
                queries = texts_of(get_blob(connection, row.queries_sha256))
                vector = vector_of(get_blob(connection, row.vector_sha256))
                found[measure.name] = StoredScores(summary_of(row), queries, vector)
        return found

    def means(
        self, runs: Sequence[StoredRun], qrels: StoredQrels, measure: Measure, policies: Policies | None = None
    ) -> dict[int, ScoreSummary]:
        """Return one number for each run, by the number of the run; what is not kept yet is computed and kept."""
        policies = policies or Policies()
        self.compute(runs, qrels, [measure], policies)
        with self.store.reading() as connection:
            rows = connection.execute(wanted_scores(None, qrels, measure, policies)).all()
        asked = {run.number for run in runs}
        return {row.run_id: summary_of(row) for row in rows if row.run_id in asked}

    def lacking(
        self, runs: Iterable[StoredRun], qrels: StoredQrels, measures: Sequence[Measure], policies: Policies
    ) -> dict[int, list[Measure]]:
        """Return the measures that are not kept yet, by the number of the run."""
        known: dict[str, set[int]] = {}
        with self.store.reading() as connection:
            for measure in measures:
                rows = connection.execute(wanted_scores(None, qrels, measure, policies, only_number=True)).scalars()
                known[measure.name] = set(rows)
        lacking = {run.number: [each for each in measures if run.number not in known[each.name]] for run in runs}
        return {number: each for number, each in lacking.items() if each}

    def compute(
        self, runs: Sequence[StoredRun], qrels: StoredQrels, measures: Sequence[Measure], policies: Policies
    ) -> None:
        """Compute and keep what is not kept yet."""
        lacking = self.lacking(runs, qrels, measures, policies)
        if not lacking:
            return
        judgments = self.store.qrels.judgments(qrels)
        for run in runs:
            if run.number in lacking:
                wanted = tuple(lacking[run.number])
                refuse_data_of_docs(wanted, run)
                request = EvaluateRequest(measures=wanted, policies=policies)
                scored = evaluate_request(request, judgments, {run.system: self.store.runs.ranking(run)})
                self.add(run, qrels, scored[run.system], versions=scored.versions, policies=policies)

    def drop(self) -> int:
        """Remove all scores that can be computed again; return how many there were."""
        with self.store.writing() as connection:
            return connection.execute(sa.delete(scores_table).where(scores_table.c.data_sha256 == "")).rowcount


def wanted_scores(
    runs: Sequence[int] | None, qrels: StoredQrels, measure: Measure, policies: Policies, *, only_number: bool = False
) -> sa.Select[Any]:
    chosen = sa.select(scores_table.c.run_id) if only_number else sa.select(scores_table)
    wanted = chosen.where(
        scores_table.c.qrels_id == qrels.number,
        scores_table.c.measure == measure.name,
        scores_table.c.version == measure.spec.version,
        scores_table.c.policies_sha256 == policies_sha256(policies),
    )
    return wanted if runs is None else wanted.where(scores_table.c.run_id.in_(runs)).limit(1)


def summary_of(row: sa.Row[Any]) -> ScoreSummary:
    facts = {name: row.facts[name] for name in ("n", "undefined", "missing")}
    hashes = {"queries_sha256": row.queries_sha256, "vector_sha256": row.vector_sha256}
    return ScoreSummary(measure=row.measure, mean=row.mean, **facts, **hashes)


def data_of_docs(measure: Measure) -> list[str]:
    """Return what a measure looks at that the store does not have."""
    return sorted(need for need in measure.spec.needs if need in ("embeddings", "docs", "ontology"))


def refuse_data_of_docs(measures: Iterable[Measure], run: StoredRun) -> None:
    for measure in measures:
        needed = data_of_docs(measure)
        if needed:
            raise MeasureError(
                f"{measure.name} looks at {' and '.join(needed)}, which the store does not keep, so it cannot be "
                f"computed again for {run.in_words}",
                hint="choose a measure of ranking and judgments, or run the system again",
            )
