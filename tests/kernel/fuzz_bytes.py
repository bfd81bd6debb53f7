"""Any bytes at all, read by the kernel and by the reference: the same arrays or the same error, and neither crashes.

Called below the layer of files, so that a million inputs take minutes. `scripts/fuzz --inputs 100000 --seed 1` (fuzz_files.py).
"""

# ruff: noqa: T201 (a script prints)

import io
import itertools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from both import Outcome, load_kernel, outcome_of

from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.data.qrels import IndexedQrels, Qrels
from rankscope.data.run import Run
from rankscope.io import trec
from rankscope.io.limits import max_line_bytes
from rankscope.io.read import check_collected
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import FileReading
from rankscope.io.table import QRELS, RUN, RowKind
from rankscope.io.text import bad_run_lines
from rankscope.native import index_qrels_text

NAME = "fuzzed"
ALPHABET = b"  \t\r\n\n\v\f00123456789..+-eE#qdQinfaINFTYx_\0\xff\xc3\xa9\xef\xbb\xbf\xed\xa0\x80\x85\xa0"
QUERIES = [
    b"q1",
    b"q2",
    b"q3",
    b"10",
    b"9",
    b"\xff",
    b"caf\xc3\xa9",
    b"#q",
    b"q" * 40,
    b"other",
    b"d1",
    b"\xef\xbb\xbfq1",
]
DOCS = [
    *(b"d%d" % i for i in range(1, 12)),
    b"d01",
    b"D1",
    b"\xff\xfe",
    b"\xc3\xa9",
    b"d\0",
    b"d" * 70,
    b"q1",
    b"-",
    b"doc-12345",
]
SCORES = [
    *b"1 2 0 3.5 3.50 -1 1e3 1E-3 .5 5. +5 -0.0 0.0 inf -INF Infinity nan 0x10 1_0 1e999 -1e999 1e-999 4.9e-324 2.4e-324".split(),
    *b"16777217 16777216 9007199254740993 9007199254740992.5 0.1 0.10000000000000001 1e22 1e23 123456789012345678901234.5".split(),
    *b"1.7976931348623157e308 1.7976931348623159e308 3.4028236e38 1e400000000000000000000 - + . e5 1e 1e+ --1 1..2 5.e3".split(),
    b"0." + b"0" * 400 + b"1", b"1" + b"0" * 310, b"0" * 30 + b"7", b"2.2250738585072011e-308", b"1e-400000000000000000000",
]  # fmt: skip
RANKS = b"1 2 3 4 0 -1 +2 007 x 1.0 - 9223372036854775807 9223372036854775808 -9223372036854775808".split()
GRADES = b"0 1 2 3 -1 0.5 1.0 +1 1e1 inf nan x -0 007 1e999 2e0".split()
QRELS_TEXTS = [
    b"q1 0 d1 1\nq1 0 d2 0\nq1 0 d3 2\nq2 0 d1 1\n10 0 d1 1\n9 0 d4 -1\n",
    b"q1 0 d1 1\n",
    b"".join(
        b"%b 0 %b %d\n" % (query, doc, i % 4) for i, (query, doc) in enumerate(itertools.product(QUERIES[:7], DOCS))
    ),
    b"\xff 0 \xff\xfe 1\ncaf\xc3\xa9 0 \xc3\xa9 1\nq3 0 d\0 1\nd1 0 d1 3\n",
]


@dataclass(frozen=True)
class Case:
    """One input, with everything needed to run it again."""

    run: bytes
    qrels: bytes
    policies: dict[str, Any]
    threads: int
    lenient: bool
    n_per_chunk: int | None
    """How many bytes arrive at a time, as from decompression; None where all are there from the start."""


@dataclass
class TextInMemory:
    """A run as the kernel and the reference get it from a file, but without the file."""

    data: bytes
    lenient: bool
    n_per_chunk: int | None = None
    tag: str | None = None
    integer_ids: frozenset[str] = frozenset()

    def trec_text(self) -> Any:
        if self.n_per_chunk is None:
            return array_of(self.data)
        return (self.data[i : i + self.n_per_chunk] for i in range(0, len(self.data), self.n_per_chunk))

    def errors_of_kernel(self) -> AbstractContextManager[None]:
        return nullcontext()

    def accept(self, bad_lines: Any, *, n_rows: int, tag: str | None) -> None:
        bad_run_lines(NAME, bad_lines, n_good=n_rows, lenient=self.lenient)
        if not n_rows:
            self.read()
        self.tag = tag

    def read(self) -> RunRows:
        rows = read_rows(self.data, RUN, lenient=self.lenient)
        self.tag = rows.tag
        return rows


def array_of(data: bytes) -> Any:
    """Return bytes in memory of exactly their size, so that a sanitizer sees a step beyond."""
    return np.array(bytearray(data), dtype=np.uint8)


def read_rows(data: bytes, kind: RowKind[Any], *, lenient: bool) -> Any:
    """Read bytes as the reference does."""
    reading = FileReading(NAME, io.BytesIO(data))
    collected = trec.read(reading, kind)
    check_collected(reading, len(collected), kind, handler=trec.TREC, lenient=lenient)
    return kind.build(collected)


def read_qrels(data: bytes, *, duplicates: str, threads: int) -> Qrels:
    """Read qrels by the kernel where it is chosen and can, else by the reference."""

    def read() -> QrelsRows:
        rows: QrelsRows = read_rows(data, QRELS, lenient=False)
        return rows

    index = index_qrels_text(array_of(data), max_line=max_line_bytes(), threads=threads)
    return Qrels(read() if index is None else IndexedQrels(index, read), duplicates=duplicates)


def job_of(case: Case) -> Callable[[], tuple[Hits, Any]]:
    """Return the job of reading and aligning the bytes."""

    def job() -> tuple[Hits, Any]:
        policies = Policies(**case.policies)
        qrels = read_qrels(case.qrels, duplicates=policies.duplicates, threads=case.threads)
        source = TextInMemory(case.run, lenient=case.lenient, n_per_chunk=case.n_per_chunk)
        hits = align(qrels, Run(source), policies, threads=case.threads)
        return hits, (source.tag, qrels.fractional_row)

    return job


def outcomes(case: Case) -> tuple[Outcome, Outcome]:
    """Return what the kernel and the reference make of an input."""
    job = job_of(case)
    return outcome_of(job, "kernel"), outcome_of(job, "python")


class Inputs:
    """Makes inputs from a seed: files that are nearly right, and bytes that are not."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def case(self) -> Case:
        rng = self.rng
        return Case(
            run=self.text(self.run_line),
            qrels=rng.choice(QRELS_TEXTS) if rng.random() < 0.85 else self.text(self.qrels_line),
            policies={
                "ties": rng.choice(("trec", "given", "ascending")),
                "precision": rng.choice(("double", "single")),
                "duplicates": rng.choice(("error", "first", "first", "first")),
                "self_match": rng.choice(("keep", "keep", "drop")),
                "missing": rng.choice(("zero", "zero", "zero", "skip", "skip", "error")),
                "depth": rng.choice((None, None, 1, 2, 5)),
            },
            threads=rng.choice((1, 1, 1, 1, 2, 3, 7)),
            lenient=rng.random() < 0.85,
            n_per_chunk=rng.choice((None, None, None, 1 + rng.randrange(100))),
        )

    def text(self, line: Callable[[float], bytes]) -> bytes:
        shape = self.rng.random()
        if shape < 0.15:
            return self.noise(self.rng.randrange(200))
        oddity = self.rng.choice((0.0, 0.0, 0.02, 0.3))
        n_lines = self.rng.choice((0, 1, 3, 8, 8, 12, 12)) if shape < 0.99 else self.rng.choice((60, 700, 1500))
        text = b"".join(line(oddity) for _ in range(n_lines))
        if self.rng.random() < 0.1:
            text = b"\xef\xbb\xbf" + text
        if self.rng.random() < 0.2:
            text = text[: self.rng.randrange(len(text) + 1)]
        for _ in range(self.rng.choice((0, 0, 1, 3))):
            text = self.mutated(text)
        return text

    def noise(self, n: int) -> bytes:
        return bytes(self.rng.choices(ALPHABET, k=n))

    def pick(self, usual: list[bytes], n_usual: int, oddity: float) -> bytes:
        if self.rng.random() >= oddity:
            return self.rng.choice(usual[:n_usual])
        return self.rng.choice(usual) if self.rng.random() < 0.8 else self.noise(self.rng.randrange(1, 8))

    def score(self, oddity: float) -> bytes:
        kind = self.rng.random()
        if kind < 0.4:
            return self.pick(SCORES, 7, oddity)
        digits = self.rng.choice((1, 3, 6, 17, 25))
        text = b"%0*d" % (digits, self.rng.randrange(10**digits))
        point = self.rng.randrange(digits + 1)
        text = text[:point] + b"." + text[point:]
        return text + b"e%d" % self.rng.randint(-330, 330) if kind > 0.9 else text

    def run_line(self, oddity: float) -> bytes:
        fields = [
            self.pick(QUERIES, 6, oddity),
            b"Q0",
            self.pick(DOCS, 12, oddity),
            self.pick(RANKS, 4, oddity),
            self.score(oddity),
            b"tag",
        ]
        return self.joined(fields, oddity)

    def qrels_line(self, oddity: float) -> bytes:
        iteration = self.rng.choice((b"0", b"0", b"0", b"1"))
        fields = [self.pick(QUERIES, 5, oddity), iteration, self.pick(DOCS, 9, oddity), self.pick(GRADES, 5, oddity)]
        return self.joined(fields, oddity)

    def joined(self, fields: list[bytes], oddity: float) -> bytes:
        rng = self.rng
        if rng.random() >= oddity:
            return b" ".join(fields) + b"\n"
        if rng.random() < 0.3:
            fields = [*fields, *rng.choices((b"more", b"7"), k=2)][: rng.randrange(len(fields) + 3)]
        blank = rng.choice((b" ", b"\t", b"  ", b" \t ", b"\r", b"\v"))
        end = rng.choice((b"\n", b"\r\n", b" \n", b"\n\n", b"\n# comment\n", b"", b"\r"))
        return rng.choice((b"", b"", b" ", b"#", b" #")) + blank.join(fields) + end

    def mutated(self, text: bytes) -> bytes:
        rng = self.rng
        at, to = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        how = rng.randrange(5)
        if how == 0:
            return text[:at] + self.noise(rng.randrange(4)) + text[at:]
        if how == 1:
            return text[:at] + text[min(len(text), at + rng.randrange(4)) :]
        if how == 2 and to - at < 4000:
            return text[:to] + text[at:to] + text[to:]
        if how == 3:
            return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
        return text[to:] + text[at:to] + text[:at]


def compared(n_inputs: int, seed: int) -> Iterator[tuple[Case, Outcome, Outcome]]:
    """Yield inputs with what the kernel and the reference make of them."""
    inputs = Inputs(seed)
    for _ in range(n_inputs):
        case = inputs.case()
        yield case, *outcomes(case)


def fuzz(n_inputs: int, seed: int, seconds: float | None = None) -> int:
    """Fuzz, and say how fast, and what was found."""
    if load_kernel() is None:
        print("the kernel is not built here: nothing to compare")
        return 1
    start, n_failed, n_refused, n_done = time.perf_counter(), 0, 0, 0
    for case, found, expected in compared(n_inputs, seed):
        n_done += 1
        n_refused += expected.is_error
        if found != expected:
            n_failed += 1
            print(f"{case}\n  kernel:    {found}\n  reference: {expected}", flush=True)
        if seconds and time.perf_counter() - start > seconds:
            break
    taken = time.perf_counter() - start
    print(
        f"seed {seed}: {n_done:,} inputs in {taken:.1f} s ({n_done / taken:,.0f} per second), of which {n_refused:,} are "
        f"refused by both; {n_failed} disagreements"
    )
    return 1 if n_failed else 0
