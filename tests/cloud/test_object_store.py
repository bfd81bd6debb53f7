"""Files of an object store give the same numbers, to the last bit, as the same files on this machine."""

from __future__ import annotations

import numpy as np
import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.demo import demo_file
from rankscope.io import remote
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.remote import remote_bytes, remote_list, remote_open

# one query is not answered, which is said here as there
pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
QRELS, BM25, DENSE = (demo_file(name).read_bytes() for name in ("qrels.txt", "bm25.run", "dense.run"))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in {"qrels.txt": QRELS, "bm25.run": BM25, "dense.run": DENSE}.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def assert_same(here: rs.Scores, there: rs.Scores) -> None:
    for one, other in zip(here.runs, there.runs, strict=True):
        assert one.name == other.name
        assert one.query_ids == other.query_ids
        assert np.array_equal(one.values, other.values, equal_nan=True)
        assert one.values.tobytes() == other.values.tobytes()
        assert one.counts == other.counts
    assert here.notes == there.notes


def test_evaluate_reads_qrels_and_run_from_a_bucket(bucket, files, engine):
    qrels, run = bucket.put("qrels.txt", QRELS), bucket.put("runs/bm25.run", BM25)
    assert_same(rs.evaluate("qrels.txt", "bm25.run"), rs.evaluate(qrels, run))


def test_every_compression(bucket, files, engine, compressor):
    ending, compress = compressor
    qrels = bucket.put(f"qrels.txt.{ending}", compress(QRELS))
    run = bucket.put(f"bm25.run.{ending}", compress(BM25))
    assert_same(rs.evaluate("qrels.txt", "bm25.run"), rs.evaluate(qrels, run))


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "tsv", "parquet", "arrow", "jsonl.zst", "parquet.gz"])
def test_every_format(bucket, files, engine, ending):
    rs.write_run("bm25.run", f"bm25.{ending}")
    there = bucket.put_file(files / f"bm25.{ending}")
    assert_same(rs.evaluate("qrels.txt", f"bm25.{ending}"), rs.evaluate("qrels.txt", there))


def test_a_file_larger_than_one_request_is_read_ahead(bucket, files, monkeypatch, engine):
    monkeypatch.setattr(remote, "HEAD_BYTES", 500)
    monkeypatch.setattr(remote, "_BLOCK_BYTES", 1500)
    assert len(BM25) > 7_000
    assert_same(rs.evaluate("qrels.txt", "bm25.run"), rs.evaluate("qrels.txt", bucket.put("bm25.run", BM25)))


def test_the_command_line_says_the_address_as_it_was_given(bucket, files, capsys):
    qrels, run = bucket.put("qrels.txt", QRELS), bucket.put("a/bm25.run", BM25)
    assert main(["evaluate", "qrels.txt", "bm25.run"]) == 0
    here = capsys.readouterr().out
    assert main(["evaluate", qrels, run]) == 0
    assert capsys.readouterr().out.replace("s3://rankings/a/", "").replace("s3://rankings/", "") == here


def test_what_addresses_are():
    assert all(map(is_remote, ["s3://b/k", "gs://b/k", "az://c/k", "https://h/x", "S3://b/k", "ftp://h/x"]))
    assert not any(map(is_remote, ["a/b", "/s3://b", "C:\\x", "-", "s3:/b/k", "", None, 7]))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://ann:pw@example.org/a.run?sig=x#y", "https://example.org/a.run"),
        ("https://example.org/a.run", "https://example.org/a.run"),
        ("https://example.org?token=x", "https://example.org"),
        ("s3://key:secret@bucket/a.run", "s3://bucket/a.run"),
        ("s3://bucket/a.run?X-Amz-Signature=x", "s3://bucket/a.run"),
        ("s3://bucket/part-?.run", "s3://bucket/part-?.run"),
        ("HTTPS://a@b@example.org/x", "https://example.org/x"),
        ("a?b=c#d", "a?b=c#d"),
        ("https://ann:PASS/W0RD@example.org/x", "https://…"),
        ("https://ann:PASS?W0RD@example.org/x", "https://…"),
        ("https://ann:PASS#W0RD@example.org/x", "https://…"),
        ("https://ann:12/34@example.org/x", "https://…"),
        ("https://T0KEN/+x@example.org/x", "https://…"),
        ("https://ann@example.com:PASS/W0RD@example.org/x", "https://…"),
        ("https://ann@example.com/W0RD@example.org/x", "https://…"),
        ("s3://KEY:SECR/ET@bucket/x", "s3://…"),
        ("s3://KEY:SE?CR=ET@bucket/x", "s3://…"),
        ("ftp://ann:PASS/W0RD@example.org/x", "ftp://…"),
        ("https://example.org:8000/users/@me/x.run", "https://example.org:8000/users/@me/x.run"),
        ("http://localhost:8000/@me/x.run", "http://localhost:8000/@me/x.run"),
        ("https://ann:p@example.org/x?user=a@b", "https://example.org/x"),
        ("s3://bucket/a@b/c?.run", "s3://bucket/a@b/c?.run"),
    ],
)
def test_addresses_are_shown_without_secrets(given, shown):
    assert shown_url(given) == shown


def test_lists_of_a_prefix_and_of_patterns(bucket):
    for key in ("run/part-2.txt", "run/part-1.txt", "run/deep/part-3.txt", "run/notes.md", "runs.txt"):
        bucket.put(key, key)
    bucket.put("run/", b"")

    def names(url):
        return [file.key for file in remote_list(url)]

    assert names("s3://rankings/run/") == ["run/deep/part-3.txt", "run/notes.md", "run/part-1.txt", "run/part-2.txt"]
    assert names("s3://rankings/run/part-*.txt") == ["run/part-1.txt", "run/part-2.txt"]
    assert names("s3://rankings/run/part-[2-9].txt") == ["run/part-2.txt"]
    assert names("s3://rankings/run/part-?.txt") == ["run/part-1.txt", "run/part-2.txt"]
    assert names("s3://rankings/**/part-*") == ["run/deep/part-3.txt", "run/part-1.txt", "run/part-2.txt"]
    assert names("s3://rankings/runs.txt") == ["runs.txt"]
    [one] = remote_list("s3://rankings/runs.txt")
    assert one.size == len("runs.txt")
    assert one.etag
    with pytest.raises(rs.InputError, match=r"no file matches s3://rankings/run/part-\*\.csv"):
        names("s3://rankings/run/part-*.csv")
    with pytest.raises(rs.InputError, match="there is nothing below s3://rankings/other/") as raised:
        names("s3://rankings/other/")
    assert raised.value.hint == "below s3://rankings/ there are run, runs.txt"
    with pytest.raises(rs.InputError, match="there is nothing below s3://rankings/rnu/") as raised:
        names("s3://rankings/rnu/")
    assert raised.value.hint == "did you mean run?"


def test_parts_of_a_file(bucket, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 16)
    monkeypatch.setattr(remote, "_BLOCK_BYTES", 64)
    content = bytes(range(256)) * 8
    url = bucket.put("x.bin", content)
    assert remote_bytes(url, 100, 300) == content[100:300]
    assert remote_bytes(url, 2000, 9999) == content[2000:]
    assert remote_bytes(url) == content
    with remote_open(url) as file:
        assert file.read(10) == content[:10]
        assert file.seek(-5, 2) == len(content) - 5
        assert file.read() == content[-5:]
        assert file.read() == b""
        file.seek(700)
        assert [file.read(300), file.tell()] == [content[700:1000], 1000]
        file.seek(0)
        assert b"".join(iter(lambda: file.read(33), b"")) == content
        buffer = bytearray(7)
        file.seek(3)
        assert file.readinto(buffer) == 7
        assert buffer == content[3:10]


def test_an_empty_file(bucket, files):
    url = bucket.put("empty.run", b"")
    assert remote_bytes(url) == b""
    with pytest.raises(rs.InputError, match=r"s3://rankings/empty\.run is empty"):
        rs.evaluate("qrels.txt", url)


def test_of_parquet_only_the_columns_of_a_run_are_fetched(bucket, files, monkeypatch, tmp_path):
    """The texts beside the columns of a run are many times as large as these, and are not asked for."""
    import os

    import polars as pl

    from rankscope.io import remote_parquet

    monkeypatch.setattr(remote_parquet, "_GAP_BYTES", 1000)
    monkeypatch.setattr(remote, "HEAD_BYTES", 4096)
    rs.write_run("bm25.run", "bm25.parquet")
    table = pl.read_parquet("bm25.parquet")
    texts = pl.Series("text", [os.urandom(20_000).hex() for _ in range(len(table))])
    nested = pl.Series("more", [{"a": os.urandom(500).hex(), "b": [1, 2]} for _ in range(len(table))])
    table.insert_column(1, texts).insert_column(3, nested).write_parquet("large.parquet", row_group_size=50)
    url = bucket.put_file(tmp_path / "large.parquet")
    size = (tmp_path / "large.parquet").stat().st_size
    asked = []
    read = remote_parquet.remote_bytes
    monkeypatch.setattr(
        remote_parquet, "remote_bytes", lambda file, start, end: asked.append(end - start) or read(file, start, end)
    )
    here, there = rs.evaluate("qrels.txt", "large.parquet"), rs.evaluate("qrels.txt", url)
    for one, other in zip(here.runs, there.runs, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
    assert sum(asked) < size / 20
    assert rs.load_run(url).origin.sha256.startswith("etag:")


def test_docs_in_parquet_are_read_row_by_row(bucket, tmp_path):
    import polars as pl

    from rankscope.data.docs import load_docs

    rows = pl.DataFrame({"id": ["d1", "d2"], "text": ["a", "b"], "tags": [["x"], []]})
    rows.write_parquet(tmp_path / "docs.parquet")
    there = load_docs(bucket.put_file(tmp_path / "docs.parquet"))
    assert there.fields == load_docs(str(tmp_path / "docs.parquet")).fields


def test_damaged_parquet_is_refused(bucket, files, tmp_path):
    rs.write_run("bm25.run", "bm25.parquet")
    content = (tmp_path / "bm25.parquet").read_bytes()
    for damaged in (content[:-20] + b"\xff" * 12 + content[-8:], content[:-5], content[: len(content) // 2], b"PAR1"):
        with pytest.raises(rs.InputError, match=r"s3://rankings/bad\.parquet"):
            rs.evaluate("qrels.txt", bucket.put("bad.parquet", damaged))


def test_a_text_is_fetched_once_for_its_scores_and_its_digest(bucket, files, monkeypatch):
    import hashlib

    from rankscope.io.remote_store import ObstoreFiles

    monkeypatch.setattr(remote, "HEAD_BYTES", 500)
    fetched = []
    read = ObstoreFiles.read
    monkeypatch.setattr(
        ObstoreFiles,
        "read",
        lambda self, file, start, end: fetched.append((start, end)) or read(self, file, start, end),
    )
    scores = rs.evaluate("qrels.txt", bucket.put("bm25.run", BM25))
    n_before = len(fetched)
    assert scores.runs[0].origin.sha256 == hashlib.sha256(BM25).hexdigest()
    assert len(fetched) == n_before
