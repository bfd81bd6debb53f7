"""Stored scores: a cache of what rankings and judgments give, one vector for each run, qrels, measure and policies.

All of it can be dropped and computed again to the same bits, but for measures that look at embeddings, docs or an
ontology, which are not stored: these scores are kept for good, with a hash that stands for what was looked at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.align.policies import Policies
from rankscope.errors import MeasureError
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.measures.scores import RunScores
from rankscope.measures.spec import Measure
from rankscope.records import Record, or_none, replace
from rankscope.store.blobs import get_blob, get_blobs, insert_if_new, put_blob
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


class KeptScores(Record):
    """Scores that cannot be computed again, under the judgments that they were computed with."""

    run: int
    qrels: int
    data_sha256: str
    """Stands for the embeddings, docs or ontology that the measure looked at."""
    summary: ScoreSummary


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
        self._unkept: dict[tuple[Any, ...], StoredScores] = {}
        """What was computed while the store may only be read."""

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

        `data_sha256` stands for embeddings or an ontology that the measures looked at. A store that may only be read
        has them as long as it is open.
        """
        if self.store.read_only:
            for i, measure in enumerate(scores.measures):
                key = (run.number, qrels.number, measure, versions.get(measure, 0), policies_sha256(policies))
                self._unkept[key] = unkept_scores(scores, i)
            return
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
        found = {}
        for measure in measures:
            summary = self.means([run], qrels, measure, policies)[run.number]
            found[measure.name] = self.read([summary])[0]
        return found

    def means(
        self,
        runs: Sequence[StoredRun],
        qrels: StoredQrels,
        measure: Measure,
        policies: Policies | None = None,
        *,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> dict[int, ScoreSummary]:
        """Return one number for each run, by the number of the run; what is not kept yet is computed and kept."""
        policies = policies or Policies()
        self.compute(runs, qrels, [measure], policies, on_progress=on_progress)
        asked = {run.number for run in runs}
        wanted = wanted_scores(qrels, measure, policies)
        if len(asked) == 1:
            wanted = wanted.where(scores_table.c.run_id == next(iter(asked)))
        with self.store.reading() as connection:
            rows = connection.execute(wanted).all()
        unkept = {
            number: self._unkept[key].summary
            for number in asked
            if (key := key_of(number, qrels, measure, policies)) in self._unkept
        }
        return unkept | {row.run_id: summary_of(row) for row in rows if row.run_id in asked}

    def kept(self, measure: Measure, policies: Policies) -> dict[int, list[KeptScores]]:
        """Return scores by a measure that cannot be computed again, by the number of the run, the newest last."""
        wanted = sa.select(scores_table).where(
            scores_table.c.measure == measure.name,
            scores_table.c.version == measure.spec.version,
            scores_table.c.policies_sha256 == policies_sha256(policies),
            scores_table.c.data_sha256 != "",
        )
        found: dict[int, list[KeptScores]] = {}
        with self.store.reading() as connection:
            for row in connection.execute(wanted.order_by(scores_table.c.id)):
                kept = KeptScores(row.run_id, row.qrels_id, row.data_sha256, summary_of(row))
                found.setdefault(row.run_id, []).append(kept)
        return found

    def read(self, summaries: Sequence[ScoreSummary]) -> list[StoredScores]:
        """Return the scores behind summaries, all of them read at once."""
        unkept = {each.summary.vector_sha256: each for each in self._unkept.values()}
        kept = [each for each in summaries if each.vector_sha256 not in unkept]
        with self.store.reading() as connection:
            vectors = get_blobs(connection, (each.vector_sha256 for each in kept))
            queries = get_blobs(connection, (each.queries_sha256 for each in kept))
        query_ids = {sha256: texts_of(data) for sha256, data in queries.items()}
        return [
            StoredScores(each, query_ids[each.queries_sha256], vector_of(vectors[each.vector_sha256]))
            if each.vector_sha256 in vectors
            else replace(unkept[each.vector_sha256], summary=each)
            for each in summaries
        ]

    def scored_queries(self, queries_sha256: str) -> tuple[str, ...]:
        """Return the queries that `ScoreSummary.queries_sha256` stands for."""
        for each in self._unkept.values():
            if each.summary.queries_sha256 == queries_sha256:
                return each.query_ids
        with self.store.reading() as connection:
            return texts_of(get_blob(connection, queries_sha256))

    def lacking(
        self, runs: Iterable[StoredRun], qrels: StoredQrels, measures: Sequence[Measure], policies: Policies
    ) -> dict[int, list[Measure]]:
        """Return the measures that are not kept yet, by the number of the run."""
        asked = {run.number for run in runs}
        lacking: dict[int, list[Measure]] = {}
        with self.store.reading() as connection:
            for measure in measures:
                wanted = wanted_scores(qrels, measure, policies, only_number=True)
                if len(asked) == 1:
                    wanted = wanted.where(scores_table.c.run_id == next(iter(asked)))
                for number in asked.difference(connection.execute(wanted).scalars()):
                    if key_of(number, qrels, measure, policies) not in self._unkept:
                        lacking.setdefault(number, []).append(measure)
        return lacking

    def compute(
        self,
        runs: Sequence[StoredRun],
        qrels: StoredQrels,
        measures: Sequence[Measure],
        policies: Policies,
        *,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Compute and keep what is not kept yet; `on_progress` is called with the runs done and in all."""
        lacking = self.lacking(runs, qrels, measures, policies)
        if not lacking:
            return
        judgments = self.store.qrels.judgments(qrels)
        for done, run in enumerate(run for run in runs if run.number in lacking):
            if on_progress is not None:
                on_progress(done, len(lacking))
            wanted = tuple(lacking[run.number])
            refuse_data_of_docs(wanted, run)
            request = EvaluateRequest(measures=wanted, policies=policies)
            rankings, memory = self.store.runs, self.store.memory
            ranking = rankings.ranking(run) if memory is None else rankings.ranking_in_parts(run, memory)
            scored = evaluate_request(request, judgments, {run.system: ranking})
            self.add(run, qrels, scored[run.system], versions=scored.versions, policies=policies)
        if on_progress is not None:
            on_progress(len(lacking), len(lacking))

    def drop(self) -> int:
        """Remove all scores that can be computed again; return how many there were."""
        with self.store.writing() as connection:
            return connection.execute(sa.delete(scores_table).where(scores_table.c.data_sha256 == "")).rowcount


def key_of(run: int, qrels: StoredQrels, measure: Measure, policies: Policies) -> tuple[Any, ...]:
    return run, qrels.number, measure.name, measure.spec.version, policies_sha256(policies)


def unkept_scores(scores: RunScores, place: int) -> StoredScores:
    """Return the scores of one measure as the store would have them."""
    mean = scores.aggregate_of(scores.measures[place])
    vector = ScoreVector(scores.values[:, place], scores.undefined[:, place], scores.answered)
    summary = ScoreSummary(
        measure=scores.measures[place],
        mean=or_none(mean.value),
        n=mean.n,
        undefined=mean.undefined,
        missing=mean.missing,
        queries_sha256=hashlib.sha256(texts_bytes(scores.query_ids)).hexdigest(),
        vector_sha256=hashlib.sha256(vector_bytes(vector)).hexdigest(),
    )
    return StoredScores(summary, tuple(scores.query_ids), vector)


def wanted_scores(
    qrels: StoredQrels, measure: Measure, policies: Policies, *, only_number: bool = False
) -> sa.Select[Any]:
    chosen = sa.select(scores_table.c.run_id) if only_number else sa.select(scores_table)
    return chosen.where(
        scores_table.c.qrels_id == qrels.number,
        scores_table.c.measure == measure.name,
        scores_table.c.version == measure.spec.version,
        scores_table.c.policies_sha256 == policies_sha256(policies),
        scores_table.c.data_sha256 == "",
    )


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
