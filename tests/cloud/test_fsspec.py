"""Where obstore is not installed, but fsspec with the package of a store is, that reads the files."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.demo import demo_file
from rankscope.io import remote, remote_store
from rankscope.io.remote import remote_bytes, remote_file, remote_list, remote_open

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")


@pytest.fixture
def memory(monkeypatch):
    """Make fsspec take files in memory for those of S3."""
    from fsspec.implementations.memory import MemoryFileSystem

    class MemoryStore(MemoryFileSystem):
        protocol = "s3"
        store: dict = {}  # noqa: RUF012 (as the class it is made from)
        pseudo_dirs = [""]  # noqa: RUF012
        cachable = False
        versions: dict = {}  # noqa: RUF012

        @classmethod
        def _strip_protocol(cls, path):
            return MemoryFileSystem._strip_protocol(path.replace("s3://", "memory://"))

        def info(self, path, **kwargs):
            return {**super().info(path, **kwargs), "ETag": self.versions.get(self._strip_protocol(path))}

        def fill(self, path, content):
            self.versions[self._strip_protocol(path)] = f'"{hash(content)}"'
            self.pipe_file(path, content)

    known = {"fsspec", "s3fs"}
    monkeypatch.setattr(remote_store, "find_spec", lambda name: name in known or None)
    monkeypatch.setattr(fsspec, "filesystem", lambda scheme: MemoryStore())
    return MemoryStore()


def test_the_same_scores(memory, tmp_path, monkeypatch, engine):
    monkeypatch.setattr(remote, "HEAD_BYTES", 700)
    monkeypatch.chdir(tmp_path)
    for name in ("qrels.txt", "bm25.run"):
        content = demo_file(name).read_bytes()
        (tmp_path / name).write_bytes(content)
        memory.fill(f"s3://runs/{name}", content)
    here, there = rs.evaluate("qrels.txt", "bm25.run"), rs.evaluate("s3://runs/qrels.txt", "s3://runs/bm25.run")
    assert here.runs[0].values.tobytes() == there.runs[0].values.tobytes()


def test_lists_parts_and_errors(memory, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 4)
    for name in ("a/1.run", "a/2.run", "a/b/3.run"):
        memory.fill(f"s3://runs/{name}", name.encode())
    assert [file.url for file in remote_list("s3://runs/a/*.run")] == ["s3://runs/a/1.run", "s3://runs/a/2.run"]
    assert len(remote_list("s3://runs/a/")) == 3
    assert remote_bytes("s3://runs/a/1.run", 2, 5) == b"1.r"
    with pytest.raises(rs.InputError, match=r"s3://runs/a/4\.run does not exist") as error:
        remote_file("s3://runs/a/4.run")
    assert error.value.hint == "did you mean 2.run or 1.run?"
    with remote_open("s3://runs/a/1.run") as file:
        file.read(4)
        memory.fill("s3://runs/a/1.run", b"another")
        with pytest.raises(rs.InputError, match="changed while it was read"):
            file.read()
