"""Embeddings from files and from memory."""

import ctypes
import errno
import json
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankscope.data import mapped_rows
from rankscope.data.embedding_files import load_embeddings
from rankscope.data.embeddings import Embeddings
from rankscope.data.mapped_rows import in_memory, take_rows
from rankscope.errors import DuplicateError, FormatError, IdError, InputError

IDS = ["a", "b", "ü"]
MATRIX = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)


def same(found, *, ids=IDS, dtype=np.float32):
    """Check ids, values and precision."""
    assert isinstance(found, Embeddings)
    assert dict(found.row_of) == {doc: row for row, doc in enumerate(ids)}
    assert np.array_equal(found.vectors, MATRIX)
    assert found.vectors.dtype == dtype
    return True


@pytest.fixture
def matrix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("vec.npy", MATRIX)
    return tmp_path


@pytest.mark.parametrize("name", ["vec.ids.txt", "vec.npy.ids.txt"])
@pytest.mark.parametrize("end", ["\n", ""])
def test_npy_with_ids_beside_it_is_mapped_and_not_read(matrix, name, end):
    (matrix / name).write_text("\n".join(IDS) + end, "utf-8")
    found = load_embeddings("vec.npy")
    assert same(found)
    assert isinstance(found.vectors, np.memmap)


def test_npy_with_windows_line_ends_and_a_byte_order_mark(matrix):
    (matrix / "vec.ids.txt").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(IDS).encode() + b"\r\n")
    assert same(load_embeddings(matrix / "vec.npy"))


def test_npy_with_ids_as_json_or_array(matrix):
    (matrix / "vec.ids.json").write_text(json.dumps(IDS))
    assert same(load_embeddings("vec.npy"))
    (matrix / "vec.ids.json").write_text(json.dumps([1, 2, 3]))
    assert same(load_embeddings("vec.npy"), ids=["1", "2", "3"])
    (matrix / "vec.ids.json").unlink()
    np.save("vec.ids.npy", np.array(IDS))
    assert same(load_embeddings("vec.npy"))


def test_npy_with_ids_named_behind_a_colon(matrix):
    (matrix / "names.txt").write_text("a\nb\nü\n", "utf-8")
    assert same(load_embeddings("vec.npy:names.txt"))
    assert same(load_embeddings(f"{matrix / 'vec.npy'}:{matrix / 'names.txt'}"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_precision_is_kept(matrix, dtype):
    np.save("vec.npy", MATRIX.astype(dtype))
    (matrix / "vec.ids.txt").write_text("a\nb\nü\n", "utf-8")
    assert same(load_embeddings("vec.npy"), dtype=dtype)


@pytest.mark.parametrize(
    ("arrays", "ids"),
    [
        ({"ids": np.array(IDS), "vectors": MATRIX}, IDS),
        ({"doc_ids": np.array(IDS), "embeddings": MATRIX, "model": np.array("m")}, IDS),
        ({"arr_0": np.array(IDS), "arr_1": MATRIX}, IDS),
        ({"ids": np.array([7, 8, 9]), "emb": MATRIX}, ["7", "8", "9"]),
        ({"ids": np.array([b"a", b"b", b"c"]), "x": MATRIX}, ["a", "b", "c"]),
        ({"a": MATRIX[0], "b": MATRIX[1], "ü": MATRIX[2]}, IDS),
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_with_any_sensible_names(tmp_path, arrays, ids, save):
    save(tmp_path / "vec.npz", **arrays)
    assert same(load_embeddings(tmp_path / "vec.npz"), ids=ids)


LISTS = pl.Series("embedding", MATRIX.tolist(), dtype=pl.List(pl.Float32))


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"id": IDS, "vector": MATRIX}),
        pl.DataFrame({"title": ["x", "y", "z"], "docno": IDS, "embedding": LISTS, "year": [1, 2, 3]}),
        pl.DataFrame({"_id": IDS, "embedding": LISTS, "keywords": [[1], [2], [3]]}),
        pl.DataFrame({"doc_id": IDS, "0": MATRIX[:, 0], "1": MATRIX[:, 1]}),
    ],
    ids=["array", "list", "two lists", "dimensions"],
)
def test_parquet_and_tables(tmp_path, table):
    table.write_parquet(tmp_path / "vec.parquet")
    assert same(load_embeddings(tmp_path / "vec.parquet"))
    assert same(load_embeddings(table))


def test_parquet_with_whole_numbers_as_ids(tmp_path):
    pl.DataFrame({"id": [1, 2, 3], "vector": MATRIX}).write_parquet(tmp_path / "vec.parquet")
    assert same(load_embeddings(tmp_path / "vec.parquet"), ids=["1", "2", "3"])


def test_shapes_in_memory():
    assert same(load_embeddings(dict(zip(IDS, MATRIX, strict=True))))
    assert same(load_embeddings({"a": [1, 2], "b": (3, 4.0), "ü": np.array([5, 6])}), dtype=np.float64)
    assert same(load_embeddings((IDS, MATRIX)))
    assert same(load_embeddings(pd.DataFrame({"id": IDS, "vector": MATRIX.tolist()})), dtype=np.float64)
    found = load_embeddings({1: [1.0]})
    assert load_embeddings(found) is found
    assert dict(found.row_of) == {"1": 0}


def refused(data, message, error=InputError):
    with pytest.raises(error, match=message) as caught:
        load_embeddings(data)
    assert caught.value.hint
    return True


def test_what_does_not_fit_together_is_refused():
    assert refused((IDS[:2], MATRIX), "2 ids for 3 vectors")
    assert refused((IDS, MATRIX[0]), "the shape 2, not docs x dimensions")
    assert refused((IDS, MATRIX[None]), "the shape 1 x 3 x 2, not docs x dimensions")
    assert refused(([], MATRIX[:0]), "the shape 0 x 2")
    assert refused((IDS, np.array([["x"]] * 3)), "not numbers")
    assert refused((["a", "b", "a"], MATRIX), "doc 'a' has two vectors, in rows 1 and 3", DuplicateError)
    assert refused(({"a": 1}, MATRIX, 3), "tuple holds no embeddings")
    assert refused({"a": [1.0, 2.0], "b": [1.0]}, r"the vector of doc 'b' has the shape \(1,\), not 2 numbers")
    assert refused({"a": 1.0}, "the vector of doc 'a'")
    assert refused({}, "the shape 0 x 0")
    assert refused({1: [1.0], "1": [2.0]}, "doc '1' has two vectors", DuplicateError)
    assert refused({None: [1.0]}, "None", IdError)


def test_files_that_are_not_right_are_refused(matrix):
    assert refused("vec.npy", r"vec\.npy has no ids beside it", FormatError)
    assert refused("vec.npx", "does not exist")
    assert refused("vec.npy:none.txt", "none.txt does not exist")
    (matrix / "vec.ids.txt").write_text("a\n\nb\n")
    assert refused("vec.npy", r"vec\.ids\.txt:2: the line is empty", IdError)
    (matrix / "vec.ids.txt").write_text("a\nb\n")
    assert refused("vec.npy", r"vec\.npy: 2 ids for 3 vectors")
    (matrix / "bad.json").write_text("{}")
    assert refused("vec.npy:bad.json", "holds no list", FormatError)
    (matrix / "bad.json").write_text("[")
    assert refused("vec.npy:bad.json", "not valid JSON", FormatError)
    (matrix / "vec.txt").write_text("1 2 3")
    assert refused("vec.txt", r"ends in \.txt", FormatError)
    (matrix / "cut.npy").write_bytes((matrix / "vec.npy").read_bytes()[:40])
    assert refused("cut.npy:vec.ids.txt", "cannot be read by NumPy", FormatError)
    (matrix / "cut.npz").write_bytes(b"PK\x03\x04nonsense")
    with pytest.raises(FormatError):
        load_embeddings("cut.npz")


def test_objects_are_not_loaded_since_they_could_run_code(matrix):
    np.savez("objects.npz", ids=np.array(IDS, dtype=object), vectors=MATRIX)
    assert refused("objects.npz", "cannot be read by NumPy", FormatError)
    np.save("objects.npy", np.array(IDS, dtype=object))
    assert refused("vec.npy:objects.npy", "cannot be read by NumPy", FormatError)


def test_npz_in_which_nothing_is_clear(tmp_path):
    np.savez(tmp_path / "vec.npz", one=MATRIX, two=MATRIX)
    assert refused(tmp_path / "vec.npz", "has the arrays one, two; which of them", FormatError)


def test_parquet_that_is_not_right(tmp_path):
    path = tmp_path / "vec.parquet"
    ragged = pl.Series([[1.0, 2.0], [3.0, 4.0], [5.0]])
    pl.DataFrame({"id": IDS, "vector": ragged}).write_parquet(path)
    assert refused(path, r"the vector of doc 'ü' \(row 3\) has 1 numbers, others have 2")
    pl.DataFrame({"id": IDS, "vector": pl.Series([[1.0], None, [3.0]])}).write_parquet(path)
    assert refused(path, "the vector of doc 'b'")
    pl.DataFrame({"key": IDS, "vector": MATRIX}).write_parquet(path)
    assert refused(path, "no column for the doc id; its columns are key, vector", FormatError)
    pl.DataFrame({"id": IDS, "title": IDS}).write_parquet(path)
    assert refused(path, "which column holds the vectors is not clear among id, title", FormatError)
    pl.DataFrame({"id": IDS, "u": MATRIX, "v": MATRIX}).write_parquet(path)
    assert refused(path, "is not clear among u, v", FormatError)
    pl.DataFrame({"id": ["a", None, "c"], "v": MATRIX}).write_parquet(path)
    assert refused(path, "row 2 has no id", IdError)
    path.write_bytes(b"PAR1")
    assert refused(path, "cannot be read as Parquet", FormatError)


@pytest.mark.parametrize("name", ["ids.npy", "vectors.npy", "a", "../../ids.npy"])
@pytest.mark.parametrize("content", [b"", b"raw bytes", b"\x93NUMPX"])
def test_an_archive_with_a_member_that_is_no_array(tmp_path, name, content):
    path = tmp_path / "odd.npz"
    np.savez(path, vectors=np.eye(2)) if "ids" in name else np.savez(path, ids=np.array(["a", "b"]))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, content)
    with pytest.raises(FormatError, match=r"odd\.npz.* is no array of NumPy"):
        load_embeddings(path)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", "<i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_mapped_rows_are_those_of_the_matrix(tmp_path, dtype, order):
    matrix = np.asarray(np.random.default_rng(1).standard_normal((500, 7)) * 100, dtype=dtype, order=order)
    np.save(tmp_path / "m.npy", matrix)
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")
    rows = np.random.default_rng(2).integers(0, 500, 2500)
    out = np.empty((2500, 7), dtype=matrix.dtype)
    assert np.array_equal(take_rows(mapped, rows, out), matrix[rows])
    assert np.array_equal(out, matrix[rows])
    assert len(take_rows(mapped, np.array([-1, 3]), out[:2])) == 2, "where there is no row, any will do"
    assert np.array_equal(out[1], matrix[3])
    assert np.array_equal(in_memory(mapped, n_rows=501), matrix)
    assert in_memory(mapped, n_rows=500) is mapped


def test_mapped_rows_where_the_system_does_not_copy_them(tmp_path, monkeypatch):
    np.save(tmp_path / "m.npy", np.eye(3))
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")

    def refuse(*_):
        ctypes.set_errno(errno.EPERM)
        return -1

    for read in (None, refuse):
        monkeypatch.setattr(mapped_rows, "process_vm_readv", lambda read=read: read)
        assert take_rows(mapped, np.array([2, 0]), np.empty((2, 3))).tolist() == [[0, 0, 1], [1, 0, 0]]
        assert in_memory(mapped, n_rows=9) is mapped


@pytest.mark.parametrize("write", ["columns", "lists", "decimals"])
def test_numbers_that_numpy_has_no_type_for(write, tmp_path):
    path = tmp_path / ("vectors.parquet" if write == "decimals" else "vectors.jsonl")
    large = 10**25
    if write == "decimals":
        pl.DataFrame({"id": ["a"], "x": [Decimal(large)], "y": [Decimal("0.5")]}).write_parquet(path)
    else:
        numbers = {"x": large, "y": 0.5} if write == "columns" else {"vector": [large, 2]}
        path.write_text(json.dumps({"id": "a", **numbers}) + "\n" + json.dumps({"id": "b", **numbers}) + "\n")
    assert load_embeddings(path).vectors[0].tolist() == [1e25, 2.0 if write == "lists" else 0.5]
