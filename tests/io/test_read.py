from __future__ import annotations

import hashlib
import io
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from rankscope.errors import FormatError, InputError, OptionError
from rankscope.io.detection import detect
from rankscope.io.read import read_qrels, read_run
from rankscope.io.source import missing

RUN = b"q1 Q0 d1 1 2.5 sys\n"


def test_what_is_returned_identifies_the_file(write_file):
    path = write_file(RUN)
    read = read_run(path)
    assert read.path == str(path)
    assert read.sha256 == hashlib.sha256(RUN).hexdigest()
    assert read.bad_lines == ()


def test_a_missing_file_names_its_neighbours(write_file, tmp_path):
    write_file(RUN, "bm25.run")
    with pytest.raises(InputError, match=r"bm52\.run does not exist") as raised:
        read_run(tmp_path / "bm52.run")
    assert raised.value.hint == "did you mean bm25.run?"
    with pytest.raises(InputError, match="does not exist") as raised:
        read_run(tmp_path / "zzz")
    assert raised.value.hint == "check the path"
    with pytest.raises(InputError, match="nor does its folder"):
        read_run(tmp_path / "nowhere" / "bm25.run")


def deny(*arguments, **options):
    raise PermissionError(13, "Permission denied")


def test_a_file_that_may_not_be_read(write_file, monkeypatch):
    path = write_file(RUN)
    monkeypatch.setattr("pathlib.Path.open", deny)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_run(path)


def test_a_device_that_may_not_be_read(monkeypatch):
    monkeypatch.setattr("pathlib.Path.open", deny)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_run(os.devnull)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"[]", b"{}", b'{"q1": {}}'])
@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_a_file_without_rows(write_file, read, content):
    with pytest.raises(FormatError, match="is empty: it has no rows"):
        read(write_file(content))


def test_an_unknown_format(write_file):
    with pytest.raises(OptionError, match="there is no format 'parket'") as raised:
        read_run(write_file(RUN), format="parket")
    assert raised.value.hint == "did you mean parquet?"


def test_a_forced_format_gives_the_error_of_that_format(write_file):
    path = write_file(RUN)
    with pytest.raises(FormatError, match="is not valid JSON"):
        read_run(path, format="json")
    with pytest.raises(FormatError, match="has no column for"):
        read_run(path, format="csv")
    with pytest.raises(FormatError, match="has no column for"):
        read_qrels(path, format="beir")


@pytest.fixture
def stdin(monkeypatch):
    """Return a function that sets what standard input holds."""

    def provide(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return provide


def test_standard_input_can_be_detected_and_then_read(stdin, compressor):
    name, compress = compressor
    stdin(compress(RUN))
    assert detect("-").compression == name
    read = read_run("-")
    assert (read.path, read.rows.doc, read.sha256) == ("-", ["d1"], hashlib.sha256(compress(RUN)).hexdigest())


def test_errors_in_standard_input_are_placed(stdin):
    stdin(RUN + b"q1 Q0\n")
    with pytest.raises(InputError, match="-:2: 2 fields where 6 are needed"):
        read_run("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(RUN,))
    writer.start()
    read = read_run(pipe)
    writer.join()
    assert (read.rows.doc, read.sha256) == (["d1"], hashlib.sha256(RUN).hexdigest())


@pytest.mark.parametrize("format_name", ["trec", "csv", "jsonl"])
def test_progress_is_reported_about_every_megabyte(write_file, format_name):
    line = {
        "trec": "q1 Q0 {} 1 2.5 sys\n",
        "csv": "q1,{},2.5\n",
        "jsonl": '{{"query": "q1", "doc": "{}", "score": 2.5}}\n',
    }[format_name]
    header = "query,doc,score\n" if format_name == "csv" else ""
    path = write_file(header + "".join(line.format(f"doc{i:0100}") for i in range(30_000)))
    calls = []
    read_run(path, progress=lambda done, total: calls.append((done, total)))
    size = path.stat().st_size
    assert [total for _, total in calls] == [size] * len(calls)
    done = [done for done, _ in calls]
    assert done == sorted(done)
    assert done[-1] == size
    assert size // 2**20 <= len(calls) <= size // 2**20 + 1


def test_progress_through_a_compressed_file_is_that_of_the_stored_bytes(write_file, compressor):
    _, compress = compressor
    path = write_file(compress(RUN * 100_000))
    calls = []
    read_run(path, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_missing_file_is_not_taken_for_one_that_only_ends_alike(tmp_path):
    for name in ("e.py", "nape.npy"):
        (tmp_path / name).touch()
    assert missing(tmp_path / "nope.npy").hint == "did you mean nape.npy?"
    (tmp_path / "nape.npy").unlink()
    assert missing(tmp_path / "nope.npy").hint == "check the path"
