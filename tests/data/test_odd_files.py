"""Files that nobody would write on purpose: every reader says what is wrong with them, in an error of ours."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope.data.docs import load_docs
from rankscope.data.embedding_files import load_embeddings
from rankscope.data.imported import import_collection
from rankscope.data.ontology_files import load_ontology
from rankscope.data.queries import load_queries
from rankscope.errors import FormatError, InputError, RankscopeError
from rankscope.experiment.splits import load_split
from rankscope.io.files import read_json
from rankscope.io.read import read_qrels, read_run
from rankscope.measures.score_files import other_qrels

READERS: dict[str, Callable[[str], object]] = {
    "run": read_run,
    "qrels": read_qrels,
    "evaluate": lambda path: rs.evaluate({"q1": {"d1": 1}}, path, ["P@1"]),
    "queries": load_queries,
    "docs": load_docs,
    "scores": rs.read_scores,
    "other qrels": lambda path: other_qrels([path]),
    "embeddings": load_embeddings,
    "import": import_collection,
    "split": load_split,
    "ontology": load_ontology,
    "json": read_json,
    "scores record": lambda path: rs.Scores.from_json(Path(path).read_bytes()),
}
CONTENTS = {
    "nested lists": b"[" * 100_000,
    "nested objects": b'{"a":' * 100_000,
    "nested rows": b'[{"query": "q1", "doc": ' + b"[" * 100_000,
    "closed": b"[" * 100_000 + b"]" * 100_000,
    "not UTF-8": b'{"query": "\xff\xfe", "doc": "\xed\xa0\x80", "score": }',
    "digits": b'{"q1": {"d1": ' + b"9" * 5000 + b"}}",
    "list": b"[1, 2, 3]",
    "list of lists": b'[["q1", "d1"]]',
    "text": b'"text"',
    "null": b"null",
    "half a character": b'{"q1": {"\\ud800": 1}',
}


@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("content", CONTENTS)
def test_json_that_no_reader_can_use(tmp_path, content, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(CONTENTS[content])
    for read in READERS.values():
        try:
            read(str(path))
        except RankscopeError as error:
            assert str(error)  # noqa: PT017 (some readers take some of these)


@pytest.mark.parametrize("content", ["nested lists", "closed", "not UTF-8", "digits", "text", "null"])
def test_ids_of_embeddings(tmp_path, content):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    (tmp_path / "a.ids.json").write_bytes(CONTENTS[content])
    with pytest.raises(FormatError, match=r"a\.ids\.json"):
        load_embeddings(tmp_path / "a.npy")


def archive(path, change: Callable[[bytearray], None]) -> str:
    """Write vectors, then change bytes of the archive."""
    np.savez_compressed(path, ids=np.array(["d1", "d2"]), vectors=np.ones((2, 2)))
    content = bytearray(path.read_bytes())
    change(content)
    path.write_bytes(content)
    return str(path)


def in_entries(content: bytearray, at: int, form: str, value: int) -> None:
    """Set a field of every entry of the list at the end of a ZIP archive."""
    place = content.find(b"PK\1\2")
    while place >= 0:
        struct.pack_into(form, content, place + at, value)
        place = content.find(b"PK\1\2", place + 1)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("encrypted", lambda content: in_entries(content, 8, "<H", 1)),
        ("unknown method", lambda content: in_entries(content, 10, "<H", 77)),
        ("unpacked size", lambda content: in_entries(content, 24, "<I", 0xFFFFFFF0)),
        ("checksum", lambda content: in_entries(content, 16, "<I", 1)),
        ("cut off", lambda content: content.__delitem__(slice(len(content) // 2, None))),
    ],
)
def test_archives_of_arrays(tmp_path, name, change):
    with pytest.raises(FormatError, match=r"a\.npz"):
        load_embeddings(archive(tmp_path / "a.npz", change))


def test_an_array_that_claims_to_be_huge(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as target:
        head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000), }".ljust(117) + b"\n"
        target.writestr("vectors.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head)
    with pytest.raises(RankscopeError, match=r"a\.npz"):
        load_embeddings(tmp_path / "a.npz")


@pytest.mark.parametrize("ending", ["npy", "npz"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_vectors_that_hold_no_numbers_are_named_by_their_row(tmp_path, ending, number):
    vectors = np.array([[1.0, 2.0], [3.0, number]])
    path = tmp_path / f"a.{ending}"
    if ending == "npy":
        np.save(path, vectors)
        (tmp_path / "a.ids.txt").write_text("d1\nd2\n")
    else:
        np.savez(path, ids=np.array(["d1", "d2"]), vectors=vectors)
    with pytest.raises(InputError, match=r"doc 'd2' \(row 2\) holds NaN or infinity"):
        rs.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0, "d2": 0.5}}, ["ILD@2"], embeddings=path)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux has them")
@pytest.mark.parametrize("layout", ["parquet", "ipc"])
def test_damaged_tables_do_not_end_the_process(tmp_path, layout):
    code = """
        import io, random, resource, sys
        import polars as pl
        import rankscope as rs
        from rankscope.io.read import read_run
        from rankscope.io.table import read_rows
        path, layout = sys.argv[1:]
        n = 200
        table = pl.DataFrame({"query": [f"q{i // 10}" for i in range(n)], "doc": [f"d{i}" for i in range(n)], "score": [i / 2 for i in range(n)]})
        content = io.BytesIO()
        getattr(table, f"write_{layout}")(content)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        rng = random.Random(7)
        for trial in range(500):
            changed = bytearray(content.getvalue())
            for _ in range(rng.choice((1, 1, 1, 2, 4))):
                at = rng.randrange(len(changed))
                changed[at] = rng.choice((0, 255, 127, 128, rng.randrange(256), changed[at] ^ (1 << rng.randrange(8))))
            with open(path, "wb") as stream:
                stream.write(changed)
            for read in (read_run, lambda where: list(read_rows(where))):
                try:
                    read(path)
                except rs.RankscopeError:
                    pass
        print("alive")
    """
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(code),
            str(tmp_path / f"a.{'parquet' if layout == 'parquet' else 'arrow'}"),
            layout,
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=os.environ,
    )
    assert done.stdout == "alive\n", done.stderr[-2000:]
