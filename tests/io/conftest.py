from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

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


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real files that lies beside the repository, where there is one."""
    folder = Path(__file__).parents[2].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real files, shared/data beside the repository, is not here")
    return folder
