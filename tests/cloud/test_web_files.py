"""Files of web servers: read in parts, or as a whole; what is dangerous or broken is refused."""

from __future__ import annotations

import base64
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import rankscope as rs
from loopback import Asked, Loopback, Said
from rankscope.cli.main import main
from rankscope.demo import demo_file
from rankscope.io import remote, remote_http
from rankscope.io.remote import remote_bytes, remote_open

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
FILES = {f"/{name}": demo_file(name).read_bytes() for name in ("qrels.txt", "bm25.run")}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)


def in_parts(asked: Asked, content: bytes, etag: str = '"1"') -> Said:
    start, _, end = asked.headers["Range"].removeprefix("bytes=").partition("-")
    part = content[int(start) : int(end) + 1]
    return Said(
        part, 206, {"Content-Range": f"bytes {start}-{int(start) + len(part) - 1}/{len(content)}", "ETag": etag}
    )


def files_in_parts(asked: Asked) -> Said:
    path = asked.path.partition("?")[0]
    return in_parts(asked, FILES[path]) if path in FILES else Said(b"", 404)


def files_as_a_whole(asked: Asked) -> Said:
    return Said(FILES[asked.path], 200, {}) if asked.path in FILES else Said(b"", 404)


@pytest.mark.parametrize("answer", [files_in_parts, files_as_a_whole])
def test_the_same_scores(answer, engine, tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 600)
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name[1:]).write_bytes(content)
    with Loopback(answer) as server:
        base = server.url.rstrip("/")
        there = rs.evaluate(f"{base}/qrels.txt", f"{base}/bm25.run")
    here = rs.evaluate("qrels.txt", "bm25.run")
    assert here.runs[0].values.tobytes() == there.runs[0].values.tobytes()
    assert there.runs[0].name == "bm25"
    assert there.runs[0].origin.path == f"{base}/bm25.run"
    assert there.runs[0].origin.sha256 == here.runs[0].origin.sha256


def test_a_user_a_password_and_a_signed_query_are_sent_and_not_shown(capsys):
    with Loopback(files_in_parts) as server:
        base = server.url.rstrip("/").replace("://", "://ann:canary%21@")
        code = main(["evaluate", f"{base}/qrels.txt?sig=canary", f"{base}/bm25.run?sig=canary&x=1"])
        text = capsys.readouterr()
        assert code == 0, text.err
        assert "canary" not in text.out + text.err
        assert {asked.path for asked in server.requests} == {"/qrels.txt?sig=canary", "/bm25.run?sig=canary&x=1"}
        expected = "Basic " + base64.b64encode(b"ann:canary!").decode()
        assert {asked.headers["Authorization"] for asked in server.requests} == {expected}


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        (Said(b"", 404), 2, "does not exist"),
        (Said(b"", 403), 2, "there is no permission to read it (HTTP 403)"),
        (Said(b"", 401), 2, "there is no permission to read it (HTTP 401)"),
        (Said(b"", 400), 2, "the server answers HTTP 400"),
        (Said(b"", 503), 3, "the server is busy or fails (HTTP 503)"),
        (Said(b"", 429), 3, "the server is busy or fails (HTTP 429)"),
        (Said(b"", 302, {"Location": "file:///etc/passwd"}), 2, "sends its readers to file://"),
        (Said(b"", 302, {"Location": "http://example.org/x"}), 2, "sends its readers to http://example.org"),
        (Said(b"", 302, {"Location": "/again"}), 2, "sends its readers on and on"),
        (Said(b"abc", 206, {"Content-Range": "bytes 0-4999/5000"}), 3, "the answer has 3 of 5,000 bytes"),
        (Said(b"", 200, {}), 2, "is empty"),
    ],
)  # fmt: skip
def test_what_a_server_may_answer(said, code, message, capsys, write_file):
    qrels = str(write_file("q1 0 d1 1\n"))
    with Loopback(lambda asked: said) as server:
        assert main(["evaluate", qrels, f"{server.url}/a.run"]) == code
        text = capsys.readouterr().err
        assert message in text
        assert "hint: " in text
        assert len(server.requests) == {3: 4, "on": 6}.get("on" if "on and on" in message else code, 1)


def test_being_sent_on_within_this_machine_keeps_the_password_to_the_first_server():
    with Loopback(files_in_parts) as second:
        with Loopback(lambda asked: Said(b"", 302, {"Location": f"{second.url}/bm25.run"})) as first:
            assert remote_bytes(f"{first.url.replace('://', '://a:b@')}/x") == FILES["/bm25.run"]
        assert "Authorization" in first.requests[0].headers
        assert "Authorization" not in second.requests[0].headers


def test_a_public_server_may_not_send_into_this_network(monkeypatch):
    monkeypatch.setattr(remote_http, "is_public", lambda host: host == "example.org")
    for target in ("https://127.0.0.1/x", "https://localhost/x", "https://[::1]/x", "https://10.0.0.1/x"):
        with pytest.raises(rs.InputError, match="which lies in this network"):
            remote_http.check_redirect("https://example.org/a", target)
    with pytest.raises(rs.InputError, match="not followed"):
        remote_http.check_redirect("https://example.org/a", "http://example.org/b")
    remote_http.check_redirect("https://example.org/a", "https://example.org/b")


def test_which_hosts_are_public():
    private = ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "localhost", "0.0.0.0", "fd00::1"]
    assert not any(map(remote_http.is_public, private))
    assert remote_http.is_public("93.184.216.34")


def test_a_file_that_changes(monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 8)
    content = {"etag": '"1"', "data": b"0123456789abcdef" * 4}
    served = Loopback(lambda asked: in_parts(asked, content["data"], content["etag"]))
    with served as server, remote_open(f"{server.url}/x") as file:
        file.read(8)
        content["etag"] = '"2"'
        with pytest.raises(rs.InputError, match="changed while it was read"):
            file.read()


RANKED = "".join(
    f"q{i:02d} Q0 {doc} 1 {score} t\n" for i in range(60) for doc, score in (("yes", 2), ("no", 1))
).encode()


def other_part(asked: Asked, *, from_byte: int, change: str) -> Said:
    """Answer what is asked for beyond some byte as a server does that is not in order."""
    said = in_parts(asked, RANKED)
    start = int(asked.headers["Range"].removeprefix("bytes=").partition("-")[0])
    if start < from_byte:
        return said
    content, there = said.content, said.headers["Content-Range"]
    first, _, last = there.removeprefix("bytes ").partition("/")[0].partition("-")
    changed = {
        "another part": (content, f"bytes {int(first) + 16}-{int(last) + 16}/{len(RANKED)}"),
        "a shorter part": (content[:-16], f"bytes {first}-{int(last) - 16}/{len(RANKED)}"),
        "no place": (content, f"bytes */{len(RANKED)}"),
        "more": (content + b"q99 Q0 no 1 9 t\n", there),
    }
    body, place = changed[change]
    return Said(body, 206, {**said.headers, "Content-Range": place})


@pytest.mark.parametrize("from_byte", [0, 1])
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            "another part",
            rs.InputError,
            r"/a\.run cannot be read: the server sends bytes [\d,]+ to [\d,]+, but was asked for",
        ),
        (
            "a shorter part",
            rs.InputError,
            r"/a\.run cannot be read: the server sends bytes [\d,]+ to [\d,]+, but was asked",
        ),
        (
            "no place",
            rs.InputError,
            r"/a\.run cannot be read: the server does not say which it sends, but was asked for",
        ),
        ("more", rs.UnfinishedError, r"/a\.run could not be read: the answer has more than the [\d,]+ bytes"),
    ],
)
def test_another_part_than_was_asked_for_is_refused(change, error, words, from_byte, monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 160)
    with (
        Loopback(lambda asked: other_part(asked, from_byte=from_byte, change=change)) as server,
        pytest.raises(error, match=words),
    ):
        remote_bytes(f"{server.url}/a.run", 320, 640)


@pytest.mark.parametrize("place", [None, "bytes 0-15/*"])
def test_a_part_of_unknown_place_is_not_taken_for_the_file(place):
    def answer(asked: Asked) -> Said:
        headers = {"ETag": '"1"'} if place is None else {"ETag": '"1"', "Content-Range": place}
        return Said(RANKED[:16], 206, headers) if "Range" in asked.headers else Said(RANKED, 200, {})

    with Loopback(answer) as server:
        assert remote_bytes(f"{server.url}/x") == RANKED
    with (
        Loopback(lambda asked: Said(RANKED[:16], 206, {})) as server,
        pytest.raises(rs.InputError, match="the server sends a part of it, but was asked for all of it"),
    ):
        remote_bytes(f"{server.url}/x")


@pytest.mark.parametrize("sends_parts", [True, False])
def test_parts_that_are_kept_are_of_the_whole_address(tmp_path, sends_parts):
    """Both files were changed in the same second, and have the same size; so was one a second time, which is longer."""
    runs = {"/a.run?n=1": b"q Q0 yes 1 2 t\nq Q0 no 1 1 t\n", "/a.run?n=2": b"q Q0 yes 1 1 t\nq Q0 no 1 2 t\n"}
    later = b"q Q0 yes 1 0 t\nq Q0 no 1 2 t\nq Q0 neither 1 1 t\n"

    def answer(asked: Asked) -> Said:
        if asked.path not in runs:
            return Said(b"", 404)
        said = in_parts(asked, runs[asked.path]) if sends_parts else Said(runs[asked.path], 200, {})
        changed = {name: value for name, value in said.headers.items() if name != "ETag"}
        return Said(said.content, said.status, {**changed, "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"})

    def score(url: str) -> float:
        scores = rs.evaluate({"q": {"yes": 1}}, url, "RR", memory="256MB", keep=tmp_path / "kept")
        return float(scores.runs[0].values.item())

    with Loopback(answer) as server:
        one, other = (f"{server.url.rstrip('/')}{path}" for path in runs)
        assert [score(url) for url in (one, other, one, other)] == [1.0, 0.5, 1.0, 0.5]
        assert len(list((tmp_path / "kept").iterdir())) == 2
        runs["/a.run?n=1"] = later
        assert score(one) == 1 / 3


def unidentified(asked: Asked, content: bytes) -> Said:
    """Answer as a server does that sends parts, and nothing that tells versions apart."""
    if "Range" not in asked.headers:
        return Said(content, 200, {})
    said = in_parts(asked, content)
    return Said(said.content, 206, {"Content-Range": said.headers["Content-Range"]})


@contextmanager
def file_that_is_replaced(monkeypatch):
    """Serve a run that is another one from the fourth request on: docs that were first are second then."""
    monkeypatch.setattr(remote, "HEAD_BYTES", 2000)
    monkeypatch.setattr(remote, "_BLOCK_BYTES", 2000)
    good, bad = (
        "".join(f"q{i:03d} Q0 {doc} 1 {score} t\n" for i in range(300) for doc, score in (("yes", yes), ("no", 1)))
        for yes in (2, 0)
    )
    qrels = {f"q{i:03d}": {"yes": 1} for i in range(300)}
    n_asked = 0

    def answer(asked: Asked) -> Said:
        nonlocal n_asked
        n_asked += asked.path == "/a.run"
        content = good if n_asked <= 3 else bad
        return unidentified(asked, content.encode()) if asked.path == "/a.run" else Said(b"", 404)

    with Loopback(answer) as server:
        yield qrels, f"{server.url.rstrip('/')}/a.run"


def test_a_file_that_nothing_tells_from_others_is_of_one_content(monkeypatch):
    with file_that_is_replaced(monkeypatch) as (qrels, run):
        assert rs.evaluate(qrels, run, "RR").runs[0].values[:, 0].tolist() == [1.0] * 300


@pytest.mark.parametrize("how", [{"memory": "100MB"}, {"workers": 2}], ids=str)
def test_a_file_that_nothing_tells_from_others_and_is_replaced_is_refused(monkeypatch, how):
    with file_that_is_replaced(monkeypatch) as (qrels, run), pytest.raises(rs.InputError, match="changed while it was"):
        rs.evaluate(qrels, run, "RR", **how)


def test_a_file_that_nothing_tells_from_others_is_read(monkeypatch):
    monkeypatch.setattr(remote, "HEAD_BYTES", 600)
    with Loopback(lambda asked: unidentified(asked, FILES["/bm25.run"])) as server:
        assert remote_bytes(f"{server.url}/x") == FILES["/bm25.run"]
        assert len(server.requests) == 2
        assert "Range" not in server.requests[1].headers
    with Loopback(lambda asked: unidentified(asked, b"short")) as server:
        assert remote_bytes(f"{server.url}/x") == b"short"
        assert len(server.requests) == 1


def test_a_file_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(remote_http.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    served = Loopback(lambda asked: Said(b"x" * 5000, 200, {}))
    with served as server, pytest.raises(rs.InputError, match="does not end"):
        remote_bytes(f"{server.url}/x")


def test_an_empty_file_of_a_server_with_parts():
    with Loopback(lambda asked: Said(b"", 416, {"Content-Range": "bytes */0"})) as server:
        assert remote_bytes(f"{server.url}/x") == b""


def test_nobody_is_there():
    with pytest.raises(rs.UnfinishedError, match="its server cannot be reached"):
        remote_bytes("https://127.0.0.1:9/x")


def test_a_web_server_lists_nothing():
    with pytest.raises(rs.InputError, match="a web server does not list its files"):
        list(remote_http.WebFiles().files_below("https://example.org/a/"))


@pytest.mark.parametrize("name", ["parts/", "part-*.run"])
def test_several_files_of_a_web_server_are_given_one_by_one(name):
    with (
        Loopback(lambda asked: Said(b"", 404)) as server,
        pytest.raises(rs.InputError, match="does not exist") as refused,
    ):
        remote_bytes(f"{server.url}/{name}")
    assert refused.value.hint == "a web server does not list its files: give each by its address"


@pytest.fixture
def secure_server(tmp_path):
    """A server with a certificate that nobody has signed."""
    x509 = pytest.importorskip("cryptography.x509", reason="cryptography comes with moto")
    import datetime as dt

    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
    certificate = made.sign(key, hashes.SHA256())
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (tmp_path / "both.pem").write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://localhost:{server.server_port}/"
    server.shutdown()
    thread.join(timeout=5)
    server.server_close()


def test_a_certificate_that_is_not_valid(secure_server):
    with pytest.raises(rs.InputError, match="the certificate or encryption of the server is not valid: self") as error:
        remote_bytes(f"{secure_server}x")
    assert "SSL_CERT_FILE" in error.value.hint


@pytest.mark.parametrize(("answer", "n_shards"), [(files_in_parts, 4), (files_as_a_whole, 1)])
def test_parquet_is_cut_where_the_server_sends_parts(answer, n_shards, tmp_path, monkeypatch):
    """Where it sends the whole file in any case, each part would fetch all of it."""
    monkeypatch.setattr(remote, "HEAD_BYTES", 600)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bm25.run").write_bytes(FILES["/bm25.run"])
    rs.load_run("bm25.run").to_polars().write_parquet("bm25.parquet", row_group_size=30)
    monkeypatch.setitem(FILES, "/bm25.parquet", (tmp_path / "bm25.parquet").read_bytes())
    with Loopback(answer) as server:
        url = f"{server.url.rstrip('/')}/bm25.parquet"
        shards = rs.shards_of(url, n=6)
        parts = [rs.score_shard(demo_file("qrels.txt"), shard, "RR") for shard in shards]
    assert len(shards) == n_shards
    here = rs.evaluate(demo_file("qrels.txt"), "bm25.parquet", "RR")
    assert rs.Scores.concat(parts, demo_file("qrels.txt")).runs[0].values.tobytes() == here.runs[0].values.tobytes()
