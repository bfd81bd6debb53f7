"""Runs that are aligned once, and looked at many times: their hits, the docs behind these, and the first docs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from rankscope.align.alignment import align, apply_policies
from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs, packed_docs
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.light import replace


class JudgedDocs(msgspec.Struct, frozen=True, eq=False):
    """All judged docs of all queries, numbered."""

    ids: tuple[str, ...]
    grades: Floats
    numbered: Qrels
    """Qrels that have a doc's number in place of its grade, so that alignment tells which docs it found."""

    @classmethod
    def of(cls, qrels: Qrels) -> JudgedDocs:
        return cls(*qrels.numbered)

    def aligned_by(self, policies: Policies) -> tuple[Qrels, Policies]:
        """Return the judgments and policies by which runs are aligned, so that all judged docs of all are found."""
        missing = "zero" if policies.missing == "skip" else policies.missing
        return self.numbered, replace(policies, judged_only=False, missing=missing)


class AlignedRun:
    """A run with what alignment found in it; its first docs are read when they are first asked for, and kept."""

    def __init__(self, run: Run, hits: Hits, policies: Policies, numbers: Ints | None = None) -> None:
        self.run, self.hits, self.policies = run, hits, policies
        self.numbers = numbers
        """The number of the doc behind each hit, where docs are numbered (`JudgedDocs`)."""
        self._leading: dict[int | None, dict[str, tuple[str, ...]]] = {}
        self.whole = self
        """The alignment of all queries, of which this one may have some."""
        self.lists: dict[int | None, Any] = {}
        """The docs of all queries, packed, by depth, as far as somebody has asked for them."""

    @classmethod
    def of(
        cls, qrels: Qrels, run: Run, policies: Policies, *, docs: JudgedDocs | None = None, threads: int | None = None
    ) -> AlignedRun:
        """Align a run; with `docs`, the same alignment also tells which docs were found."""
        if docs is None:
            return cls(run, align(qrels, run, policies, threads=threads), policies)
        numbered, by_policies = docs.aligned_by(policies)
        found = align(numbered, run, by_policies, threads=threads)
        numbers = found.grades.astype(np.int64)
        ideal_offsets, ideal_grades = qrels.ideal
        hits = replace(
            found,
            grades=docs.grades[numbers],
            ideal_offsets=ideal_offsets,
            ideal_grades=ideal_grades,
            max_grade=float(ideal_grades.max(initial=0.0)),
        )
        if policies.judged_only:  # queries that are left out have no hits, so nothing else removes any
            numbers = numbers[hits.grades >= 0]
        return cls(run, apply_policies(hits, policies), policies, numbers)

    def select(self, keep: Bools, *, max_grade: float) -> AlignedRun:
        """Return what was found for some of the queries, whose judgments have this highest grade."""
        numbers = None if self.numbers is None else self.numbers[keep[self.hits.segments]]
        part = AlignedRun(self.run, replace(self.hits.select(keep), max_grade=max_grade), self.policies, numbers)
        part._leading, part.whole, part.lists = self._leading, self.whole, self.lists
        return part

    def leading(self, query_ids: Sequence[str], depth: int | None) -> tuple[tuple[str, ...], ...]:
        known = self._leading.setdefault(depth, {})
        lacking = [query for query in query_ids if query not in known]
        if lacking:
            known.update(zip(lacking, leading_docs(self.run, lacking, self.policies, depth=depth).docs, strict=True))
        return tuple(known[query] for query in query_ids)


def same_first_docs(a: AlignedRun, b: AlignedRun, query_ids: Sequence[str], depth: int) -> bool:
    """Tell whether two runs have the same docs in the same order; what is held of each query are a few bytes."""
    return marks_of(a, query_ids, depth) == marks_of(b, query_ids, depth)


def marks_of(aligned: AlignedRun, query_ids: Sequence[str], depth: int) -> dict[str, bytes]:
    """Return what stands for the first docs of each query that has any."""
    marks = dict[str, bytes]()
    for block in packed_docs(aligned.run, query_ids, aligned.policies, depth=depth):
        rows, ends = offsets_of(block.counts), offsets_of(block.lengths)
        for query, first, stop in zip(block.query_ids, rows[:-1].tolist(), rows[1:].tolist(), strict=True):
            mark = hashlib.blake2b(block.lengths[first:stop].tobytes(), digest_size=16)
            mark.update(block.text[ends[first] : ends[stop]])
            marks[query] = mark.digest()
    return marks


def on_shared_queries(a: AlignedRun, b: AlignedRun) -> tuple[AlignedRun, AlignedRun]:
    if a.hits.query_ids == b.hits.query_ids:
        return a, b
    shared = set(a.hits.query_ids) & set(b.hits.query_ids)
    first, second = (
        run.select(np.array([query in shared for query in run.hits.query_ids]), max_grade=run.hits.max_grade)
        for run in (a, b)
    )
    return first, second
