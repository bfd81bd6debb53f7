"""Files that are nearly right, in every format but TREC text: what comes out is rows or an error of ours, nothing else.

`scripts/fuzz --kind json --inputs 1000 --seed 1` (or --minutes 5); the kinds are json, csv, parquet (Arrow as well) and
trec, and in tests/fuzz project, http and journal.
"""

# ruff: noqa: T201 (a script prints)

import argparse
import importlib
import io
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from both import align_job, outcome_of

import rankscope as rs
from rankscope.data.docs import load_docs
from rankscope.data.embedding_files import load_embeddings
from rankscope.data.imported import import_collection
from rankscope.data.ontology_files import load_ontology
from rankscope.data.queries import load_queries
from rankscope.experiment.splits import load_split
from rankscope.io.files import read_json
from rankscope.io.read import read_qrels, read_run

FILES = ("json", "csv", "parquet")
ELSEWHERE = ("project", "http", "journal")
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}
READERS: dict[str, Callable[[str], object]] = {
    "run": read_run,
    "qrels": read_qrels,
    "queries": load_queries,
    "docs": load_docs,
    "scores": rs.read_scores,
    "embeddings": load_embeddings,
    "import": import_collection,
    "split": load_split,
    "ontology": load_ontology,
    "json": read_json,
}
ODD_VALUES: list[Any] = [
    *(
        None,
        True,
        [],
        {},
        "",
        "0",
        "\ud800",
        "a\0b",
        "é",
        -1,
        1e308,
        10**400,
        0.5,
        "1e999",
        "nan",
        [[1]],
        {"a": {"b": 1}},
    ),
    *("=1+1", 1 << 63, -(1 << 63) - 1, [None], ["d1", 2], {"": ""}),
]
KEYS = [
    *(
        "query",
        "doc",
        "score",
        "grade",
        "id",
        "_id",
        "text",
        "vector",
        "rank",
        "tag",
        "query_id",
        "train",
        "holdout",
        "runs",
    ),
    *("rankscope_split", "queries", "results", "metadata", "title", "", "query ", "QUERY"),
]


class Files:
    """Makes the content of files from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.25 or depth > 3:
            return rng.choice(ODD_VALUES)
        if kind < 0.6:
            return rng.choice(("q1", "q2", "d1", "d2", 1, 2, 0.5, 0))
        if kind < 0.8:
            return [self.value(depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(KEYS): self.value(depth + 1) for _ in range(rng.randrange(5))}

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"query": "q1", "doc": f"d{self.rng.randrange(5)}", "score": self.rng.random()}
        if self.rng.random() < 0.3:
            row |= {"id": f"i{self.rng.randrange(99)}", "vector": [1.0, 0.5], "text": "some words", "grade": 1}
        for _ in range(self.rng.choice((0, 0, 1, 2))):
            row[self.rng.choice([*row, *KEYS])] = self.value()
        return row

    def mutated(self, content: bytes) -> bytes:
        rng = self.rng
        changed = bytearray(content)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            if not changed:
                break
            at = rng.randrange(len(changed))
            how = rng.randrange(4)
            if how == 0:
                changed[at] = rng.choice(
                    (0, 0x7F, 0x80, 0xFF, rng.randrange(256), changed[at] ^ (1 << rng.randrange(8)))
                )
            elif how == 1:
                del changed[at : at + rng.randrange(1, 9)]
            elif how == 2:
                changed[at:at] = rng.choice((b"[", b"{", b'"', b",", b"\n", b"\xff", b"\xed\xa0\x80", b"9" * 30, b"\0"))
            else:
                changed[at] = rng.randrange(256)
        return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.05 else changed)

    def json(self) -> tuple[str, bytes]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.03:
            deep = rng.choice((b"[", b'{"a":', b'[{"query":', b'{"q1":['))
            return rng.choice(("a.json", "a.jsonl")), deep * 100_000
        if kind < 0.4:
            lines = (json.dumps(self.row()) for _ in range(rng.randrange(6)))
            return "a.jsonl", self.mutated("\n".join(lines).encode())
        content: Any = self.value()
        if kind < 0.6:
            content = [self.row() for _ in range(rng.randrange(5))]
        elif kind < 0.9:
            docs = {f"d{i}": rng.choice((1, 2, 0.5, self.value())) for i in range(rng.randrange(5))}
            content = {rng.choice(("q1", "q2", *KEYS)): rng.choice((docs, list(docs), self.value())) for _ in range(3)}
        return "a.json", self.mutated(json.dumps(content).encode())

    def csv(self) -> tuple[str, bytes]:
        rng = self.rng
        delimiter = rng.choice(",;\t")
        header = rng.choice((["query", "doc", "score"], ["query", "doc", "grade"], ["id", "text"], ["query", "bm25"]))
        header = [*header, *rng.choices(KEYS, k=rng.choice((0, 0, 1, 2)))]
        cells = [
            "q1",
            "q2",
            "d1",
            "d2",
            "1",
            "0.5",
            "",
            '"a"',
            '"',
            "nan",
            "inf",
            "9" * 400,
            "[1, 2]",
            "[" * 5000 + "]",
            "é",
            "a b",
        ]
        rows = [
            rng.choices(cells, k=max(0, len(header) + rng.choice((0, 0, 0, 1, -1)))) for _ in range(rng.randrange(5))
        ]
        text = rng.choice(("\n", "\r\n", "\r")).join(delimiter.join(row) for row in [header, *rows])
        return rng.choice(("a.csv", "a.tsv", "a")), self.mutated(text.encode())

    def parquet(self) -> tuple[str, bytes]:
        import polars as pl

        rng = self.rng
        n = rng.choice((0, 1, 20, 300))
        table = pl.DataFrame(
            {
                "query": [f"q{i // 10}" for i in range(n)],
                "doc": [f"d{i}" for i in range(n)],
                "score": [i * 0.5 for i in range(n)],
                "vector": [[float(i), 1.0] for i in range(n)],
            }
        )
        content = io.BytesIO()
        if rng.random() < 0.5:
            table.write_parquet(content, compression=rng.choice(("zstd", "snappy", "uncompressed", "gzip")))
            return "a.parquet", self.mutated(content.getvalue())
        if rng.random() < 0.3:
            table.write_ipc_stream(content)
        else:
            table.write_ipc(content, compression=rng.choice(("uncompressed", "lz4", "zstd")))
        return "a.arrow", self.mutated(content.getvalue())


def problems(kind: str, inputs: Iterator[int], seed: int, folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """Yield the files that give anything but rows or an error of ours, or that kernel and reference see differently."""
    files = Files(seed)
    for _ in inputs:
        name, content = getattr(files, kind)()
        path = folder / name
        path.write_bytes(content)
        for reader in files.rng.sample(sorted(READERS), 4):
            reason = failure_of(READERS[reader], str(path))
            if reason:
                yield reader, content, reason
        job = align_job(lambda: QRELS, lambda where=str(path): where)  # type: ignore[misc]
        found, expected = outcome_of(job, "kernel"), outcome_of(job, "python")
        if found != expected:
            yield "evaluate", content, f"kernel: {found}\nreference: {expected}"


def failure_of(read: Callable[[str], object], path: str) -> str:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            read(path)
        except rs.RankscopeError:
            return ""
        except BaseException as error:
            import traceback

            if isinstance(error, KeyboardInterrupt):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {str(error)[:200]} at {last.filename}:{last.lineno}"
    return ""


def problems_elsewhere(kind: str, inputs: Iterator[int], seed: int, folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """Yield what one of the fuzzers in tests/fuzz finds."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
    for content, reason in importlib.import_module(f"fuzz_{kind}").problems(inputs, seed, folder):
        yield kind, content.encode("utf-8", "backslashreplace"), reason


def main() -> int:
    """Fuzz one kind of file, or TREC text by way of fuzz_bytes.py."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=(*FILES, *ELSEWHERE, "trec"), default="trec")
    parser.add_argument("--inputs", type=int, help="stop after so many (default: 20,000 where no time is given)")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    seconds = 60 * arguments.minutes if arguments.minutes else arguments.seconds
    most = arguments.inputs or (sys.maxsize if seconds else 20_000)
    if arguments.kind == "trec":
        import fuzz_bytes

        return fuzz_bytes.fuzz(most, arguments.seed, seconds)
    start, n_failed, n_inputs = time.perf_counter(), 0, 0

    def counted() -> Iterator[int]:
        nonlocal n_inputs
        while n_inputs < most and not (seconds and time.perf_counter() - start > seconds):
            n_inputs += 1
            yield n_inputs

    find = problems if arguments.kind in FILES else problems_elsewhere
    with tempfile.TemporaryDirectory() as folder:
        for reader, content, reason in find(arguments.kind, counted(), arguments.seed, Path(folder)):
            n_failed += 1
            print(f"{reader}: {content[:300]!r}\n  {reason}", flush=True)
    print(f"{arguments.kind}, seed {arguments.seed}: {n_inputs:,} inputs, {n_failed} failures")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
