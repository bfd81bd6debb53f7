"""Draws the ids, scores and judgments of a workload; apart from the rest, so that only this loads NumPy and polars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from workloads import Files, Workload

SEED = 20_240_601
MARCO_QUERIES = 1_102_400
MARCO_DOCS, ROBUST_DOCS = 8_841_823, 528_163  # both are prime: see Walks
CHUNK_QUERIES = 2_000


@dataclass(frozen=True, slots=True)
class Walks:
    """Each query's own walk through the docs, which never meets a doc twice.

    The docs of a query are start, start + step, start + 2 step … modulo a prime. The first `depth` of them are its
    ranking, best first; a judgment names its doc by the place in the walk, and places from `depth` on are docs that
    the run has missed.
    """

    query_ids: np.ndarray
    start: np.ndarray
    step: np.ndarray
    n_docs: int
    fbis: bool
    """Whether doc ids look like FBIS3-12345 rather than 12345."""

    def doc_ids(self, queries: np.ndarray, places: np.ndarray) -> pl.Series:
        """Return the ids of the docs at places of queries' walks."""
        number = pl.Series((self.start[queries] + self.step[queries] * places) % self.n_docs)
        text = number.cast(pl.String)
        return "FBIS" + (number % 4 + 1).cast(pl.String) + "-" + text if self.fbis else text


@dataclass(frozen=True, slots=True)
class Judgments:
    """Judged docs, by the number of the query and the place in its walk."""

    query: np.ndarray
    place: np.ndarray
    grade: np.ndarray


def write_qrels_and_run(workload: Workload, files: Files) -> None:
    """Write both files; workloads of the same kind and size have the same judgments and the same rows."""
    rng = np.random.default_rng([SEED, workload.n_queries, workload.depth])
    marco = workload.kind == "marco"
    walks = marco_walks(workload, rng) if marco else robust_walks(workload, rng)
    judgments = marco_judgments(workload, rng) if marco else robust_judgments(workload, rng)
    write(qrels_frame(walks, judgments), files.qrels)
    write(run_frame(workload, walks, rng), files.run)


def write(frame: pl.DataFrame, path: str) -> None:
    """Write rows as TREC text."""
    frame.write_csv(path, include_header=False, separator=" ", float_precision=4)


def marco_walks(workload: Workload, rng: np.random.Generator) -> Walks:
    """Return queries with ids far apart, and docs that are numbers, as MS MARCO has them."""
    query_ids = np.sort(rng.choice(MARCO_QUERIES, workload.n_queries, replace=False))
    start, step = rng.integers(1, MARCO_DOCS, (2, workload.n_queries))
    return Walks(query_ids, start, step, MARCO_DOCS, fbis=False)


def robust_walks(workload: Workload, rng: np.random.Generator) -> Walks:
    """Return queries 301, 302 … and docs with longer ids, as TREC has them."""
    start, step = rng.integers(1, ROBUST_DOCS, (2, workload.n_queries))
    return Walks(np.arange(301, 301 + workload.n_queries), start, step, ROBUST_DOCS, fbis=True)


def marco_judgments(workload: Workload, rng: np.random.Generator) -> Judgments:
    """Return 1.07 relevant docs a query; seven in eight are retrieved, most of them early."""
    shape = (workload.n_queries, 3)
    slot = np.broadcast_to(np.arange(3), shape)
    present = rng.random(shape) < [1.0, 0.06, 0.01]
    place = (rng.geometric(0.15, shape) - 1) * rng.choice([1, 10], shape) * 3 + slot  # one residue a slot: never equal
    missed = (rng.random(shape) < 1 / 8) | (place >= workload.depth)
    place = np.where(missed, workload.depth + slot, place)
    query = np.nonzero(present)[0]
    return Judgments(query, place[present], np.ones(len(query), dtype=np.int64))


def robust_judgments(workload: Workload, rng: np.random.Generator) -> Judgments:
    """Return many judged docs a query: a third of the ranking, and more of it and better ones at its top."""
    depth, n_missed = workload.depth, workload.n_judged - round(0.35 * workload.depth)
    ranked = 0.9 * (1 - np.arange(depth) / depth) ** 1.6  # 35 % on average
    chance = np.concatenate([ranked, np.full(2 * n_missed, 0.5)])
    query, place = np.nonzero(rng.random((workload.n_queries, len(chance))) < chance)
    relevant = 0.02 + 0.3 * np.exp(-10 * place / depth)
    luck = rng.random(len(place))
    unsure = 0.001
    grade = np.select([luck < relevant / 3, luck < relevant, luck > 1 - unsure], [2, 1, -1], 0)
    return Judgments(query, place, grade)


def qrels_frame(walks: Walks, judgments: Judgments) -> pl.DataFrame:
    """Return the judgments in TREC's columns."""
    return pl.DataFrame(
        {
            "query": walks.query_ids[judgments.query],
            "iteration": 0,
            "doc": walks.doc_ids(judgments.query, judgments.place),
            "grade": judgments.grade,
        }
    )


def run_frame(workload: Workload, walks: Walks, rng: np.random.Generator) -> pl.DataFrame:
    """Return the run in TREC's columns."""
    numbers = np.arange(workload.n_queries)
    parts = np.array_split(numbers, max(1, workload.n_queries // CHUNK_QUERIES))
    rows = pl.concat([run_rows(workload, walks, rng, queries=part) for part in parts])
    return rows[rng.permutation(len(rows))] if workload.shuffled else rows


def run_rows(workload: Workload, walks: Walks, rng: np.random.Generator, *, queries: np.ndarray) -> pl.DataFrame:
    """Return the rows of some queries."""
    owner = np.repeat(queries, workload.depth)
    place = np.tile(np.arange(workload.depth), len(queries))
    return pl.DataFrame(
        {
            "query": walks.query_ids[owner],
            "q0": "Q0",
            "doc": walks.doc_ids(owner, place),
            "rank": place + 1,
            "score": draw_scores(workload, rng, n_queries=len(queries)).ravel(),
            "tag": "bench",
        }
    )


def draw_scores(workload: Workload, rng: np.random.Generator, *, n_queries: int) -> np.ndarray:
    """Return falling scores, of which some are equal once they are written with four decimals, or all equal."""
    shape = (n_queries, workload.depth)
    scores = np.sort(rng.gamma(2.0, 2.0, shape) + rng.uniform(5, 12, (n_queries, 1)), axis=1)[:, ::-1]
    return np.ones(shape) if workload.tied else scores
