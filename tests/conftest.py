"""Settings and fixtures for all tests."""

import bz2
import gzip
import json
import lzma
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, settings

from rankscope.native import load_kernel

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "rankscope",
    deadline=None,  # a busy machine is not a bug
    database=None,  # a test run leaves nothing behind
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
    ],  # `engine` holds for all examples
)
settings.load_profile("rankscope")


@pytest.fixture(params=["kernel", "python"])
def engine(request, monkeypatch):
    """Run a test with the C++ kernel, and again with the reference implementation."""
    if request.param == "kernel" and load_kernel() is None:
        pytest.skip("the kernel is not built here")
    monkeypatch.setenv("RANKSCOPE_KERNEL", request.param)
    return request.param


COMPRESSORS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


@pytest.fixture
def write_file(tmp_path):
    """Return a function that writes bytes or text to a file of a neutral name and returns its path."""

    def write(content: bytes | str, name: str = "file") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture(params=sorted(COMPRESSORS))
def compressor(request):
    """Return each compression's name and a function that compresses bytes with the library itself."""
    return request.param, COMPRESSORS[request.param]


DOCS = [
    {"_id": "d1", "title": "Seizure", "text": "A sudden event.", "year": 2020},
    {"_id": "d2", "title": "", "text": "Skin changes of any kind."},
    {"_id": "d3", "title": "Fever", "text": "Raised temperature."},
]
QUERIES = [
    {"_id": "q1", "text": "fits", "language": "en", "level": "hard"},
    {"_id": "q2", "text": "Fieber", "language": "de", "level": "easy"},
]
QRELS = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d3", 1)]


def jsonl(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file below the test's folder and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def beir(write, tmp_path):
    """Return the folder of a small collection."""
    write("mini/corpus.jsonl", jsonl(DOCS))
    write("mini/queries.jsonl", jsonl(QUERIES))
    rows = "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in QRELS)
    write("mini/qrels/test.tsv", f"query-id\tcorpus-id\tscore\n{rows}")
    return tmp_path / "mini"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real files that lies beside the repository, where there is one."""
    folder = Path(__file__).parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real files, shared/data beside the repository, is not here")
    return folder


@pytest.fixture(scope="session")
def postgres_server():
    """Give a real PostgreSQL server, for all tests of a worker."""
    from postgres import NoPostgresError, running_server

    with ExitStack() as stack:
        try:
            server = stack.enter_context(running_server())
        except NoPostgresError as error:
            pytest.skip(str(error))
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_address(request, tmp_path):
    """Return where a store is, a file or an address, with tables and nothing in them: once in SQLite, once in PostgreSQL."""
    from rankscope.store import open_store

    if request.param == "sqlite":
        path = tmp_path / ".rankscope" / "store.db"
        open_store(path, create=True).close()
        yield str(path)
        return
    server = request.getfixturevalue("postgres_server")
    address = server.new_store()
    yield address
    server.drop(address)


@pytest.fixture
def store(store_address):
    """Return an open store, in SQLite and again in PostgreSQL."""
    from rankscope.store import open_store

    with open_store(store_address) as opened:
        yield opened
