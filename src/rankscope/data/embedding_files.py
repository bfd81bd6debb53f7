"""Embeddings from a dict, a table, or a file: .npy with ids beside it (mapped, not read), .npz or a table."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankscope.data.docs import id_column
from rankscope.data.embeddings import Embeddings, make_embeddings
from rankscope.errors import FormatError, IdError, InputError
from rankscope.io.columns import EMBEDDING_COLUMNS, first_names, match_columns
from rankscope.io.files import parse_json
from rankscope.io.formats import FORMATS, format_in_name
from rankscope.io.limits import check_growth, in_words, out_of_memory
from rankscope.io.polars_file import n_bytes_of
from rankscope.io.source import missing, source_of
from rankscope.io.table import read_rows
from rankscope.io.table_check import TABLE_GROWTH, check_table, errors_of_polars
from rankscope.io.write import open_target
from rankscope.records import Record

if TYPE_CHECKING:
    import polars as pl

EMBEDDING_FILES = ".npy with FILE.ids.txt beside it (or FILE.npy:ids.txt), .npz, .parquet, .arrow or .jsonl"
_PAIR_MARK = b"\nids sha256:"
_PAIR_BYTES = len(_PAIR_MARK) + 64
"""What follows the array in an .npy, where NumPy does not look: the hash of the ids that it was written with."""
_SHAPES = f"give {{doc: vector}}, (ids, matrix), a table with an id and a vector, or a file: {EMBEDDING_FILES}"


def load_embeddings(data: Any) -> Embeddings:
    if isinstance(data, Embeddings):
        return data
    if isinstance(data, str | os.PathLike):
        return read_embeddings(os.fspath(data))
    if isinstance(data, Mapping):
        return from_mapping(data, where="the embeddings")
    if isinstance(data, tuple) and len(data) == 2:
        return make_embeddings(*data)
    if hasattr(data, "__arrow_c_stream__"):
        import polars as pl

        return from_table(pl.DataFrame(data), where="the embeddings")
    raise InputError(f"{type(data).__name__} holds no embeddings that can be read", hint=_SHAPES)


def from_mapping(vectors: Mapping[Any, Any], *, where: str) -> Embeddings:
    rows = [np.asarray(vector) for vector in vectors.values()]
    for doc, row in zip(vectors, rows, strict=True):
        if row.ndim != 1 or len(row) != len(rows[0]):
            wanted = f"{len(rows[0])} numbers as that of {next(iter(vectors))!r}" if rows[0].ndim == 1 else "numbers"
            raise InputError(
                f"{where}: the vector of doc {doc!r} has the shape {row.shape}, not {wanted}",
                hint="all vectors need the same number of dimensions",
            )
    return make_embeddings(list(vectors), np.stack(rows) if rows else np.empty((0, 0)), where=where)


def read_embeddings(path: str) -> Embeddings:
    is_there = os.path.exists(path)  # noqa: PTH110 (unlike pathlib's, it takes a name that no system would allow)
    matched = None if is_there else re.fullmatch(r"(.+\.npy):(.+)", path, re.DOTALL)
    name, ids = matched.groups() if matched else (path, None)
    if not os.path.exists(name):  # noqa: PTH110 (as above)
        raise missing(Path(name))
    suffix = Path(name).suffix.lower()
    if suffix == ".npy":
        matrix = load_array(name, mmap_mode="r")
        if ids is not None:
            return make_embeddings(read_ids(Path(ids)), matrix, where=name)
        beside = ids_beside(name)
        embeddings = make_embeddings(read_ids(beside), matrix, where=name)
        check_pair(name, matrix, beside, embeddings.row_of)
        return embeddings
    if suffix == ".npz":
        return read_npz(name)
    if suffix in {".parquet", ".pq"}:
        return read_parquet(name)
    format_name = format_in_name(name)
    if format_name is None or FORMATS[format_name].rows is None or FORMATS[format_name].has_text_cells:
        raise FormatError(f"{name} is no file of embeddings: its name ends in {suffix or 'nothing'}", hint=_SHAPES)
    import polars as pl

    rows = [row for _, row in read_rows(name, format=format_name)]
    try:
        table = pl.DataFrame(rows)
    except Exception as error:  # whatever keeps Polars from making columns of the rows
        raise FormatError(
            f"{name}: its rows make no table: {str(error).partition(chr(10))[0]}",
            hint="every row needs an id and a vector, each of the same type in all rows",
        ) from error
    return from_table(table, where=name)


def write_embeddings(path: str, ids: Sequence[str], vectors: NDArray[Any] | Iterable[NDArray[Any]]) -> VectorFiles:
    """Write vectors with their ids, to one .npz or to an .npy and a file beside it.

    Vectors are a matrix, or parts of one that are written as they come, so that no more than a part is in memory. Two
    files cannot take their names at the same moment. So both are complete before the first one does, and the .npy
    ends with a hash of its ids: new vectors beside old ids are noticed when they are read.
    """
    parts = iter([vectors] if isinstance(vectors, np.ndarray) else vectors)
    first = np.asarray(next(parts, np.empty((0, 0), dtype=np.float32)))
    rows = VectorRows(len(ids), first, parts)
    if Path(path).suffix.lower() == ".npz":
        with open_target(path) as stream, zipfile.ZipFile(stream, "w") as archive:
            for name, write in (("ids", lambda file: np.save(file, np.array(ids, dtype=str))), ("vectors", rows.write)):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    write(member)
        return VectorFiles((path,), rows.n_dims)
    odd = next((doc for doc in ids if not doc or "\n" in doc or doc.endswith("\r")), None)
    if odd is not None:
        raise IdError(f"{odd!r} cannot stand on a line of its own", hint="write an .npz, which has room for any id")
    read_first = f"{path}.ids.txt"
    beside = read_first if Path(read_first).exists() else str(Path(path).with_suffix(".ids.txt"))
    with open_target(beside) as id_stream, open_target(path) as stream:
        id_stream.write("".join(f"{doc}\n" for doc in ids).encode("utf-8", "surrogateescape"))
        id_stream.flush()
        if Path(id_stream.name).is_file():
            os.fsync(id_stream.fileno())
        rows.write(stream)
        stream.write(_PAIR_MARK + hash_of_ids(ids))
    return VectorFiles((path, beside), rows.n_dims)


class VectorFiles(Record):
    """The files that vectors were written to, and how many dimensions these have."""

    paths: tuple[str, ...]
    n_dims: int


class VectorRows:
    """The rows of a matrix that is written part by part."""

    def __init__(self, n: int, first: NDArray[Any], others: Iterable[NDArray[Any]]) -> None:
        self.n, self._first, self._others = n, first, others
        self.n_dims = int(first.shape[1])

    def write(self, stream: IO[bytes]) -> None:
        """Write them as NumPy would; np.save itself hides why a disk took only a part of it."""
        header = np.lib.format.header_data_from_array_1_0(self._first[:0]) | {"shape": (self.n, self.n_dims)}
        np.lib.format.write_array_header_1_0(stream, header)
        written = 0
        for part in itertools.chain([self._first], self._others):
            rows = np.ascontiguousarray(part, dtype=self._first.dtype)
            if rows.shape[1] != self.n_dims:
                raise InputError(
                    f"vectors have {rows.shape[1]} dimensions, and those before them {self.n_dims}",
                    hint="all vectors need the same number of dimensions",
                )
            stream.write(rows.reshape(-1).view(np.uint8).data)
            written += len(rows)
        if written != self.n:
            raise InputError(f"there are {written} vectors for {self.n} ids", hint="every id needs a vector")


def hash_of_ids(ids: Iterable[str]) -> bytes:
    return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest().encode()


def check_pair(path: str, matrix: Any, beside: Path, ids: Iterable[str]) -> None:
    """Refuse vectors beside other ids than those they were written with; only `write_embeddings` notes which."""
    with Path(path).open("rb") as file:
        file.seek(-min(_PAIR_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
        mark, noted = file.read(len(_PAIR_MARK)), file.read()
    is_noted = mark == _PAIR_MARK and Path(path).stat().st_size >= matrix.offset + matrix.nbytes + _PAIR_BYTES
    if is_noted and noted != hash_of_ids(ids):
        raise IdError(
            f"{path} and {beside} do not belong together: the vectors were written with other ids",
            hint=f"write them again with `rankscope embed`, or say {path}:{beside} where these are the ids of its rows",
        )


def load_array(path: str, **options: Any) -> Any:
    """Load what NumPy has saved: one array, or a dict of those in an archive."""
    try:
        if Path(path).suffix.lower() != ".npz":
            return np.load(path, allow_pickle=False, **options)
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            check_archive(path, archive.zip)
            arrays = {name: archive[name] for name in archive.files}
    except MemoryError as error:
        raise out_of_memory(path, Path(path).stat().st_size) from error
    except InputError:
        raise
    except Exception as error:  # whatever NumPy and zipfile stumble over: encryption, unknown methods, odd headers
        raise FormatError(
            f"{path} cannot be read by NumPy: {error}",
            hint="save vectors as floats and ids as text, such as np.array(ids, dtype=str): objects are not loaded, "
            "since they could run code",
        ) from error
    odd = next((name for name, array in arrays.items() if not isinstance(array, np.ndarray)), None)
    if odd is not None:  # NumPy gives the bytes of what it does not know
        raise FormatError(f"{path}: {odd!r} in it is no array of NumPy", hint="np.savez makes such a file")
    return arrays


def check_archive(path: str, archive: Any) -> None:
    """Refuse an archive whose arrays would be much larger than itself: its sizes are lies, or it is made to harm."""
    entries = archive.infolist()
    n_bytes = sum(entry.file_size for entry in entries)
    n_stored = Path(path).stat().st_size
    if n_bytes > max(1 << 26, 1000 * n_stored):
        raise FormatError(
            f"{path} says that its arrays have {in_words(n_bytes)}, and has {in_words(n_stored)} itself",
            hint="it is damaged, or made to fill the memory; save the arrays again",
        )
    for entry in entries:
        with archive.open(entry) as member:
            n_claimed = n_bytes_claimed(member)
        if n_claimed > entry.file_size:
            raise FormatError(
                f"{path}: {entry.filename!r} claims to have {in_words(n_claimed)}, and has {in_words(entry.file_size)}",
                hint="it is damaged; save the arrays again",
            )


def n_bytes_claimed(member: Any) -> int:
    """Return how many bytes an array has by its header; 0 where there is none that says so."""
    if member.read(6) != b"\x93NUMPY":
        return 0
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}.get(member.read(2)[0])
    if read is None:
        return 0
    shape, _, dtype = read(member)
    return math.prod(shape) * int(dtype.itemsize)


def ids_beside(path: str) -> Path:
    stems = (path, str(Path(path).with_suffix("")))
    candidates = [Path(stem + suffix) for suffix in (".ids.txt", ".ids.json", ".ids.npy") for stem in stems]
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None:
        raise FormatError(
            f"{path} has no ids beside it",
            hint=f"write one id a line, in the order of the rows, to {candidates[1].name}, or say {path}:ids.txt",
        )
    return found


def read_ids(path: Path) -> Iterable[Any]:
    """Read ids: one a line, or a JSON list, or an array."""
    if not os.path.exists(path):  # noqa: PTH110 (as above)
        raise missing(path)
    if path.suffix.lower() == ".npy":
        return np.asarray(load_array(str(path)))
    text = source_of(path).read().decode("utf-8", "surrogateescape")
    if path.suffix.lower() == ".json":
        listed = parse_json(text, where=str(path), hint='ids are a list: ["a", "b"]')
        if not isinstance(listed, list):
            raise FormatError(f"{path} holds no list", hint='ids are a list, in the order of the rows: ["a", "b"]')
        return listed
    ids = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if "" in ids:
        raise IdError(f"{path}:{ids.index('') + 1}: the line is empty", hint="every row of the matrix needs an id")
    return ids


def read_npz(path: str) -> Embeddings:
    """Read ids and vectors from an archive of arrays, or a vector per doc where every array is one."""
    arrays = load_array(path)
    found = match_columns(arrays, EMBEDDING_COLUMNS)
    ids = found.get("id") or only(name for name, array in arrays.items() if array.dtype.kind in "US")
    vectors = found.get("vector") or only(name for name, array in arrays.items() if array.ndim > 1)
    if ids is not None and vectors is not None:
        return make_embeddings(arrays[ids], arrays[vectors], where=path)
    if arrays and all(array.ndim == 1 and array.dtype.kind in "fiu" for array in arrays.values()):
        return from_mapping(arrays, where=path)
    raise FormatError(
        f"{path} has the arrays {', '.join(arrays) or '(none)'}; which of them are ids and vectors is not clear",
        hint="np.savez(file, ids=np.array(ids, dtype=str), vectors=matrix)",
    )


def only(names: Iterable[str]) -> str | None:
    listed = list(names)
    return listed[0] if len(listed) == 1 else None


def read_parquet(path: str) -> Embeddings:
    """Read an id column and a column of vectors, or one column per dimension; other columns are not read."""
    import polars as pl

    with Path(path).open("rb") as file:
        check_table(file, "parquet", name=path)
    with errors_of_polars(path, "parquet"):
        empty = pl.DataFrame(schema=pl.read_parquet_schema(path))
        wanted = [id_column(empty.columns, where=path), *vector_columns(empty, where=path)]
        table = pl.read_parquet(path, columns=wanted)
        check_growth(path, n_bytes_of(table), Path(path).stat().st_size, usual=TABLE_GROWTH)
        return from_table(table, where=path)


def from_table(table: pl.DataFrame, *, where: str) -> Embeddings:
    import polars as pl

    ids = table[id_column(table.columns, where=where)]
    if ids.null_count():
        raise IdError(f"{where}: row {ids.is_null().arg_max() + 1} has no id", hint="every vector needs an id")  # type: ignore[operator]
    columns = vector_columns(table, where=where)
    column = table[columns[0]]
    if len(columns) > 1 or not is_vector(column.dtype):
        numbers = pl.DataFrame([as_floats(table[name]) for name in columns]).to_numpy()
        return make_embeddings(ids.to_list(), numbers, where=where)
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    lengths = lists.list.len().fill_null(0)
    usual = int(lengths.mode().max())  # type: ignore[arg-type]
    odd = lengths != usual
    if odd.any():
        row = int(odd.arg_max())  # type: ignore[arg-type]
        raise InputError(
            f"{where}: the vector of doc {ids[row]!r} (row {row + 1}) has {lengths[row]} numbers, others have {usual}",
            hint="all vectors need the same number of dimensions",
        )
    numbers = as_floats(lists.explode()).to_numpy().reshape(len(lists), -1)
    return make_embeddings(ids.to_list(), numbers, where=where)


def as_floats(column: pl.Series) -> pl.Series:
    """Return a column as NumPy can have it, which knows neither whole numbers of 128 bits nor decimals."""
    import polars as pl

    return column.cast(pl.Float64) if column.dtype.is_integer() or column.dtype.is_decimal() else column


def vector_columns(table: pl.DataFrame, *, where: str) -> list[str]:
    """Return the column that holds vectors, or those that hold a dimension each."""
    key = id_column(table.columns, where=where)
    vectors = [name for name, kind in table.schema.items() if is_vector(kind)]
    chosen = only(vectors) or match_columns(vectors, EMBEDDING_COLUMNS).get("vector")
    if chosen:
        return [chosen]
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric() and name != key]
    if vectors or not numbers:
        listed = first_names(vectors or table.columns)
        raise FormatError(
            f"{where}: which column holds the vectors is not clear among {listed}",
            hint="call the column vector or embedding, or keep one column per dimension",
        )
    return numbers


def is_vector(kind: pl.DataType) -> bool:
    import polars as pl

    return isinstance(kind, pl.List | pl.Array) and kind.inner.is_numeric()
