"""Rows written by hand, and one function that finds what a check says of them."""

from __future__ import annotations

import numpy as np
import pytest

from rankscope.analysis.validate import Finding, validate_rows
from rankscope.io.rows import QrelsRows, RunRows


def qrels_of(rows, *, subtopic=None, rater=None, **more) -> QrelsRows:
    queries, docs, grades = zip(*rows, strict=True) if rows else ((), (), ())
    return QrelsRows(queries, docs, np.array(grades, dtype=float), subtopic=subtopic, rater=rater, **more)


def run_of(rows, *, rank=None, **more) -> RunRows:
    queries, docs, scores = zip(*rows, strict=True) if rows else ((), (), ())
    ranks = None if rank is None else np.array(rank, dtype=np.int64)
    return RunRows(queries, docs, np.array(scores, dtype=float), rank=ranks, **more)


GOOD_QRELS = qrels_of([(query, f"d{i}", i % 2) for query in ("q1", "q2") for i in range(12)])
GOOD_RUN = run_of([(query, f"d{i}", 12.0 - i) for query in ("q1", "q2") for i in range(12)])


def finding_of(code: str, *, qrels: QrelsRows = GOOD_QRELS, run: RunRows = GOOD_RUN) -> Finding | None:
    findings = [finding for finding in validate_rows(qrels, {"run": run}) if finding.code == code]
    assert len({finding.where for finding in findings}) == len(findings)
    return findings[0] if findings else None


@pytest.fixture(scope="session")
def make_qrels():
    """Return a function that makes qrels from (query, doc, grade)."""
    return qrels_of


@pytest.fixture(scope="session")
def make_run():
    """Return a function that makes a run from (query, doc, score)."""
    return run_of


@pytest.fixture(scope="session")
def found():
    """Return a function that gives the finding of a code, or None; qrels and run are good ones unless given.

    That there are never two of one code in one place is checked there.
    """
    return finding_of


@pytest.fixture(scope="session")
def good_qrels():
    """Return qrels in which nothing is odd."""
    return GOOD_QRELS


@pytest.fixture(scope="session")
def good_run():
    """Return a run in which nothing is odd."""
    return GOOD_RUN
