"""What keeps a file from being read is said in a sentence, with what to do next, and without what is secret."""

from __future__ import annotations

import pytest

import rankscope as rs
from loopback import Loopback, Said
from rankscope.cli.main import main
from rankscope.io import remote, remote_store
from rankscope.io.remote import remote_bytes, remote_file, remote_list, remote_open

XML = '<?xml version="1.0"?><Error><Code>{code}</Code><Message>{said}</Message></Error>'


@pytest.fixture
def fake_store(bucket, monkeypatch):
    """Return a function that makes a store of one answer to all requests."""
    servers = []
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)

    def serve(answer):
        server = Loopback(answer if callable(answer) else lambda asked: answer)
        servers.append(server)
        server.__enter__()
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url.rstrip("/"))
        return server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


def refusal(status: int, code: str, said: str = "") -> Said:
    return Said(XML.format(code=code, said=said).encode(), status, {"Content-Type": "application/xml"})


def test_a_missing_file_and_names_near_it(bucket):
    bucket.put("runs/bm25.run", b"x")
    with pytest.raises(rs.InputError) as error:
        remote_file("s3://rankings/runs/bm52.run")
    assert error.value.message == "s3://rankings/runs/bm52.run does not exist"
    assert error.value.hint == "did you mean bm25.run?"
    with pytest.raises(rs.InputError, match=r"s3://rankings/other/x\.run does not exist") as error:
        remote_file("s3://rankings/other/x.run")
    assert error.value.hint == "check the address"
    with pytest.raises(rs.InputError) as error:
        remote_file("s3://rankings/runs")
    assert error.value.hint == "did you mean runs/?"


@pytest.mark.parametrize("url", ["s3://no-such-bucket/a.run", "s3://no-such-bucket/", "s3://no-such-bucket/*.run"])
def test_a_missing_bucket(bucket, url):
    with pytest.raises(rs.InputError, match="the bucket no-such-bucket does not exist") as error:
        remote_list(url)
    assert "AWS_ENDPOINT_URL" in error.value.hint


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (refusal(403, "AccessDenied"), "there is no permission to read it (AccessDenied)", "allowed to get objects"),
        (refusal(403, "InvalidAccessKeyId", "canary"), "S3 does not accept the credentials (InvalidAccessKeyId)", "AWS_PROFILE"),
        (refusal(403, "SignatureDoesNotMatch", "canary"), "S3 does not accept the credentials", "AWS_SECRET_ACCESS_KEY"),
        (refusal(400, "ExpiredToken", "canary"), "S3 does not accept the credentials (ExpiredToken)", "AWS_ACCESS_KEY_ID"),
        (refusal(301, "PermanentRedirect"), "the bucket rankings lies in another region", "AWS_REGION=REGION"),
        (
            refusal(400, "AuthorizationHeaderMalformed", "the region 'us-east-1' is wrong; expecting 'eu-west-1'"),
            "the bucket rankings lies in another region",
            "AWS_REGION=eu-west-1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_refusals(fake_store, answer, message, hint):
    fake_store(answer)
    with pytest.raises(rs.InputError) as error:
        remote_file("s3://rankings/a.run")
    assert message in error.value.message
    assert hint in error.value.hint
    assert "canary" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_busy_store_is_asked_three_times_more(fake_store, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = fake_store(refusal(503, "SlowDown"))
    assert main(["evaluate", "s3://rankings/qrels.txt", "s3://rankings/a.run"]) == 3
    said = capsys.readouterr().err
    assert "s3://rankings/qrels.txt could not be read: the server is busy or fails" in said
    assert "it was tried 4 times" in said
    assert len(server.requests) == 4


def test_a_store_that_is_busy_for_a_moment(fake_store):
    state = {"n": 0}

    def answer(asked):
        state["n"] += 1
        if state["n"] < 3:
            return refusal(503, "SlowDown")
        headers = {"ETag": '"1"', "Content-Range": "bytes 0-4/5", "Last-Modified": "Wed, 18 Nov 2026 08:00:00 GMT"}
        return Said(b"hello", 206, headers)

    fake_store(answer)
    assert remote_bytes("s3://rankings/a.txt") == b"hello"


def test_nobody_is_there(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)
    with pytest.raises(rs.RankscopeError, match="its server cannot be reached") as error:
        remote_file("s3://rankings/a.run")
    assert "AWS_ENDPOINT_URL" in error.value.hint


def test_no_credentials(bucket, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")  # where a machine in the cloud would have them
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)
    with pytest.raises(rs.InputError, match="there are no credentials") as error:
        remote_file("s3://rankings/a.run")
    assert "AWS_ACCESS_KEY_ID" in error.value.hint


def test_credentials_of_a_profile(bucket, monkeypatch, tmp_path):
    url = bucket.put("a.txt", b"hello")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[team]\naws_access_key_id = a\naws_secret_access_key = b\n")
    (tmp_path / ".aws" / "config").write_text("[profile team]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_PROFILE", "team")
    assert remote_bytes(url) == b"hello"
    monkeypatch.setenv("AWS_PROFILE", "other")
    with pytest.raises(rs.InputError, match="there is no profile 'other'"):
        remote_bytes(url)
    (tmp_path / ".aws" / "credentials").write_text("aws_access_key_id")
    with pytest.raises(rs.InputError, match="cannot be read as a file of profiles"):
        remote_bytes(url)


def test_a_file_that_changes_while_it_is_read(bucket, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 4)
    url = bucket.put("a.run", b"q1 Q0 d1 1 2 x\n" * 100)
    with remote_open(url) as file:
        file.read(4)
        bucket.put("a.run", b"q1 Q0 d2 1 2 x\n" * 100)
        with pytest.raises(rs.InputError, match=r"s3://rankings/a\.run changed while it was read"):
            file.read()


def test_an_answer_that_is_cut_off(fake_store, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 10)
    headers = {"ETag": '"1"', "Content-Range": "bytes 0-9/5000", "Last-Modified": "Wed, 18 Nov 2026 08:00:00 GMT"}
    fake_store(Said(b"hello", 206, headers))
    with pytest.raises(rs.UnfinishedError, match=r"s3://rankings/a\.txt could not be read"):
        remote_bytes("s3://rankings/a.txt")


@pytest.mark.parametrize(
    ("status", "place"), [(200, None), (206, "bytes 10-19/5000")], ids=["the whole file", "another part"]
)
def test_another_part_than_was_asked_for_is_asked_for_again(status, place, fake_store, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 10)
    headers = {"ETag": '"1"', "Last-Modified": "Wed, 18 Nov 2026 08:00:00 GMT"}
    wrong = Said(b"x" * (10 if place else 5000), status, {**headers, **({"Content-Range": place} if place else {})})
    right = Said(b"helloworld", 206, {**headers, "Content-Range": "bytes 0-9/10"})
    server = fake_store(lambda asked: wrong if len(server.requests) < 3 else right)
    assert remote_bytes("s3://rankings/a.txt") == b"helloworld"
    server = fake_store(wrong)
    with pytest.raises(rs.UnfinishedError, match="another part of the file than was asked for") as error:
        remote_bytes("s3://rankings/a.txt")
    assert "it was tried 4 times" in error.value.hint
    assert len(server.requests) == 4


def test_a_key_that_is_listed_and_not_there(bucket, monkeypatch):
    url = bucket.put("a.run", b"hello")
    monkeypatch.setattr(
        remote_store.ObstoreFiles, "first", lambda *_: (_ for _ in ()).throw(remote_store.missing_key(url))
    )
    with pytest.raises(rs.InputError, match="is listed, but is not there"):
        remote_file(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/a.run", "ftp:// cannot be opened"),
        ("file:///etc/passwd", "file:// cannot be opened"),
        ("s3:///a.run", "names no bucket"),
        ("s3://b$d/a.run", "names no bucket"),
        ("s3://key:canary@bucket/a.run", "is given with a user or password in it"),
        ("s3://bucket/a.run?X-Amz-Signature=canary", "is given with a query behind it"),
        ("http://example.org/a.run", "is not encrypted"),
        ("https:///a.run", "is no address"),
        ("s3://rankings/a//b", "s3://rankings/a//b"),
        ("s3://rankings/../b", "s3://rankings/../b"),
    ],
)
def test_what_is_no_address(bucket, url, message, capsys, write_file):
    qrels = str(write_file("q1 0 d1 1\n"))
    assert main(["evaluate", qrels, url]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "hint: " in said
    assert "canary" not in said


def test_without_the_package(bucket, monkeypatch):
    monkeypatch.setattr(remote_store, "find_spec", lambda name: None)
    with pytest.raises(rs.InputError, match="a package is needed") as error:
        remote_file("s3://rankings/a.run")
    assert error.value.hint == "pip install 'rankscope[cloud]'"
    with pytest.raises(rs.InputError, match="to read from Google Cloud Storage"):
        remote_file("gs://rankings/a.run")


def test_azure_says_what_it_needs(bucket, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(rs.RankscopeError, match=r"az://runs/a\.run: there are no credentials") as error:
        remote_file("az://runs/a.run")
    assert "AZURE_STORAGE_ACCOUNT_NAME" in error.value.hint


@pytest.mark.parametrize("how", [{}, {"memory": "100MB"}], ids=str)
@pytest.mark.parametrize("scheme", ["s3", "https"])
def test_an_address_with_one_slash_is_one_that_was_meant(how, scheme):
    with pytest.raises(rs.InputError, match=f"{scheme}:/rankings/bm25.run ") as raised:
        rs.evaluate({"q": {"d": 1}}, f"{scheme}:/rankings/bm25.run", **how)
    assert raised.value.hint == f"did you mean {scheme}://rankings/bm25.run?"


@pytest.mark.parametrize("run", ["s3://rankings", "s3://rankings/"])
def test_a_bucket_as_a_run_is_the_files_right_below_it(bucket, run):
    bucket.put("deep/part-1.trec", "q Q0 d 1 1.5 me\n")
    with pytest.raises(rs.InputError, match=f"there is no file of a run right below {run}") as raised:
        rs.evaluate({"q": {"d": 1}}, run)
    assert raised.value.hint == "s3://rankings/** stands for files at any depth"
    bucket.put("part-1.trec", "q Q0 d 1 1.5 me\n")
    [scores] = rs.evaluate({"q": {"d": 1}}, run, "RR").runs
    assert (scores.name, scores.values.tolist()) == ("rankings", [[1.0]])
