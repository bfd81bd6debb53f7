"""Targets on real runs: limits at official scores, and ranks by a plain sort of the run's own lines."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

import rankscope as rs

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "runs" / "trec-covid-round1"
NAMES = ("run1", "smith.bm25", "lda400s2000", "KU_run2")

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the real runs, shared/data beside the repository, are not here"
)


@pytest.fixture(scope="module")
def official():
    """Return the official means by run, and the scores of every query that another program computed."""
    with (FOLDER / "leaderboard.csv").open() as stream:
        means = {row["run"]: float(row["ndcg@10"]) for row in csv.DictReader(stream)}
    with (FOLDER / "per_topic_nDCG@10_all143.csv").open() as stream:
        per_query = {row["query"]: row for row in csv.DictReader(stream)}
    return means, per_query


def check(targets):
    runs = {name: FOLDER / "runs" / f"{name}.gz" for name in NAMES}
    return rs.check(FOLDER / "qrels.trec.gz", runs, targets, "nDCG@10")


def test_limits_are_reached_at_the_official_scores_and_not_above(official):
    means, per_query = official
    targets = []
    for name in NAMES:
        for query in ("1", "17", "30"):
            score = float(per_query[query][name])
            at = {"query": query, "measure": "nDCG@10", "only": name}
            targets.append({"name": f"{name} {query} low", "at_least": score - 0.0001, **at})
            targets.append({"name": f"{name} {query} high", "at_least": score + 0.0001, **at})
        at = {"measure": "nDCG@10", "only": name}
        targets.append({"name": f"{name} low", "at_least": means[name] - 0.00005, **at})
        targets.append({"name": f"{name} high", "at_least": means[name] + 0.00005, **at})
    for result in check(targets).results:
        assert result.outcome == ("passed" if result.target.endswith("low") else "failed"), result


def test_ranks_are_those_of_the_lines_sorted_by_score():
    ranks = {}
    for name in NAMES:
        with gzip.open(FOLDER / "runs" / f"{name}.gz", "rt") as stream:
            rows = [line.split() for line in stream]
        listed = sorted(((float(row[4]), row[2]) for row in rows if row[0] == "17"), reverse=True)
        ranks[name] = {doc: rank for rank, (_, doc) in enumerate(listed, 1)}
    common = set.intersection(*map(set, ranks.values()))
    assert common
    doc = min(common)
    results = check({"query": "17", "doc": doc, "top": 1}).results
    assert {result.run: result.value for result in results} == {name: ranks[name][doc] for name in NAMES}
    for name in NAMES:
        rank = ranks[name][doc]
        at = {"query": "17", "only": name, "top": rank}
        assert check([{"doc": doc, **at}]).passed
        assert not check([{"never": doc, **at}]).passed
        assert rank == 1 or check([{"never": doc, **at, "top": rank - 1}]).passed
