"""Secrets of the environment: sent where the project says so, over private connections only, and seen nowhere."""

from __future__ import annotations

import html
import json
import pickle
import sys
from base64 import b64encode, encodebytes, urlsafe_b64encode
from hashlib import sha512
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from rankscope.cli.main import main
from rankscope.errors import OptionError
from rankscope.experiment.project import load_project, read_project
from rankscope.experiment.runner import run_project
from rankscope.io.connections import is_loopback
from rankscope.systems.base import Query
from rankscope.systems.encoders import Endpoint
from rankscope.systems.http import Http
from rankscope.systems.options import options_in
from rankscope.systems.registry import SYSTEMS, class_of, make_system
from rankscope.systems.secrets import FromEnvironment, Secrets, as_recorded, forms_of, secrets_in

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said
from small_project import SmallProject, small_project

PLAIN = "hunter2-Zx81-swordfish"
ODD = 'p@ss w/ö"rd\\n%41 <b>&'
HITS = Said({"hits": [{"id": "d1"}, {"id": "d2"}]})
NEEDED = {
    "hybrid": {"of": ["words", "words"]},
    "mmr": {"of": "words", "vectors": "words"},
    "dartboard": {"of": "words", "vectors": "words"},
    "rerank": {"of": "words", "function": "MODULE:score"},
    "expand": {"of": "words", "dictionary": {"text": ["docs"]}},
    "python": {"function": "MODULE:search"},
    "run": {"path": "old.run"},
    "http": {"url": "URL/search?q={query}", "ids": "$.hits[*].id", "attempts": 1},
    "elasticsearch": {"url": "URL", "index_name": "docs", "attempts": 1},
    "opensearch": {"url": "URL", "index_name": "docs", "attempts": 1},
    "command": {"command": ["cat"], "attempts": 1},
    "dense": {"base_url": "URL/v1", "model": "m"},
}
MORE = """
def search(text):
    return ["d1", "d2"]

def score(text, docs):
    return [1.0 for _ in docs]
"""


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


def table(name: str, kind: str, options: dict[str, object]) -> str:
    lines = "".join(f"{key} = {toml(value)}\n" for key, value in options.items())
    return f'[systems.{name}]\ntype = "{kind}"\n{lines}'


@pytest.fixture
def small(tmp_path) -> SmallProject:
    project = small_project(tmp_path, n_queries=3)
    project.add(MORE)
    (tmp_path / "old.run").write_text("q1 Q0 d1 1 1.0 t\n")
    return project


def traces(secret: str, *texts: str) -> list[str]:
    """Return where a secret, or the better part of it, stands in texts, however it may be written."""
    forms = {
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        html.escape(secret),
        secret[:9],
        secret.encode().decode("latin-1"),
        *(b64encode(f"{user}{secret}".encode()).decode()[4:24] for user in ("", "a:", "me:", "bob:")),
        *(urlsafe_b64encode(f"{user}{secret}".encode()).decode()[4:24] for user in ("", "a:", "me:", "bob:")),
    }
    return [text for text in texts for form in forms if form.lower() in text.lower()]


def all_output(small: SmallProject, capsys, secret: str) -> list[str]:
    """Run a project twice, as JSON and as a page, and return where a secret is seen."""
    seen = []
    for arguments in (["--format", "json"], ["-o", "report.html"]):
        main(
            [
                "run",
                str(small.folder),
                *arguments[:1],
                *(str(small.folder / a) if "." in a else a for a in arguments[1:]),
            ]
        )
        seen += traces(secret, *capsys.readouterr())
    given = {small.folder / "rankscope.toml", small.folder / f"{small.module}.py"}
    for path in small.folder.rglob("*"):
        if path.is_file() and path not in given and "__pycache__" not in path.parts:
            content = path.read_bytes()
            if path.suffix == ".gz":
                import gzip

                content = gzip.decompress(content)
            seen += [f"{path}: {found[:300]}" for found in traces(secret, content.decode("utf-8", "replace"))]
            seen += traces(secret, path.name)
    return seen


def planted(option) -> list[object]:
    """Return values that hold the secret, of whatever shape an option takes, and one that it does not."""
    text = "x${RS_SECRET}"
    values: list[object] = ["${RS_SECRET}", text, f"http://127.0.0.1:9/{text}"]
    if "Mapping" in str(option.type):
        values += [{"Authorization": f"Bearer {text}", "a": text}, {"match": {"text": f"{{query}} {text}"}}]
    if "Sequence" in str(option.type):
        values += [[text, "text"]]
    return values


@pytest.mark.parametrize("kind", SYSTEMS)
def test_in_no_option_of_any_type_is_a_secret_seen(kind, small, capsys, monkeypatch):
    monkeypatch.setenv("RS_SECRET", PLAIN)
    monkeypatch.setenv("OPENAI_API_KEY", PLAIN)
    monkeypatch.setattr("rankscope.systems.encoders.time.sleep", lambda _: None)
    n_tried = 0
    with Loopback(lambda asked: Said({"error": asked.path + asked.body + str(asked.headers)}, 400)) as server:
        for name, option in options_in(class_of(kind)).items():
            for value in planted(option)[: 1 if name in NEEDED.get(kind, {}) and kind == "dense" else None]:
                options = {**NEEDED.get(kind, {}), name: value}
                given = {key: json.loads(json.dumps(one).replace("URL", server.url)) for key, one in options.items()}
                small.write(table("words", "bm25", {}) + table("it", kind, given), measures=["nDCG@10"])
                assert all_output(small, capsys, PLAIN) == [], (kind, name, value)
                n_tried += 1
    assert n_tried


SAYS_IT = """
import json, os, sys
queries = [json.loads(line)["id"] for line in sys.stdin]
"""
PROGRAMS = {
    "on stderr": 'print("no luck with", os.environ["RS_SECRET"], file=sys.stderr); sys.exit(3)',
    "on stderr, cut off": 'print("x" * 245 + os.environ["RS_SECRET"], file=sys.stderr); sys.exit(3)',
    "as a line": 'print(os.environ["RS_SECRET"])',
    "as a doc": 'print(json.dumps({"query_id": "q1", "results": [sys.argv[1]]}))',
    "in a doc of TREC text": 'print("q1 Q0", "d-" + "".join(sys.argv[1].split()), "1 1.0 me")',
    "as a score": 'print(json.dumps({"query_id": "q1", "results": [["d1", sys.argv[1]]]}))',
    "in base64": "import base64; sys.stderr.buffer.write(base64.b64encode(sys.argv[1].encode())); sys.exit(4)",
    "as a login": 'import base64; print(base64.urlsafe_b64encode(b"bob:" + sys.argv[1].encode()), file=sys.stderr)\n'
    "sys.exit(4)",
    "in base64 as a doc": "import base64\n"
    'print(json.dumps({"query_id": "q1", "results": [base64.b64encode(sys.argv[1].encode()).decode()]}))',
    "for a query": 'print(json.dumps({"query_id": sys.argv[1], "results": ["d1"]}))',
}


PARTED = 'Zx9"q7]/Wp+L.8k[abc:7de.fgh'
"""A value that parsers of paths, addresses and modules take apart."""


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("http", {"ids": "${RS_VALUE}"}),
        ("http", {"ids": "$.hits[*].${RS_VALUE}"}),
        ("http", {"scores": "${RS_VALUE}"}),
        ("http", {"url": "http://127.0.0.1:${RS_VALUE}/"}),
        ("http", {"url": "http://[${RS_VALUE}]/", "allow_plain_http": True}),
        ("http", {"url": "${RS_VALUE}"}),
        ("elasticsearch", {"id_field": "${RS_VALUE}"}),
        ("dense", {"base_url": "http://127.0.0.1:${RS_VALUE}/"}),
        ("dense", {"base_url": None, "model": "${RS_VALUE}"}),
        ("python", {"function": "${RS_VALUE}"}),
        ("rerank", {"function": "${RS_VALUE}"}),
        ("command", {"command": "${RS_VALUE} '"}),
        ("run", {"path": "${RS_VALUE}"}),
    ],
)
@pytest.mark.parametrize("value", [PARTED, PARTED[7:], "abcdef.ghijkl.mnopqr", "json.scanner:uvwxyz", "uvwxyz:JSON"])
def test_errors_of_parsers_show_no_part_of_it(kind, options, value, small, capsys, monkeypatch):  # noqa: PLR0917
    monkeypatch.setenv("RS_VALUE", value)
    with Loopback(lambda _: HITS) as server:
        given = {**NEEDED[kind], **options}
        given = {name: json.loads(json.dumps(one).replace("URL", server.url)) for name, one in given.items() if one}
        small.write(table("words", "bm25", {}) + table("it", kind, given), measures=["nDCG@10"])
        main(["run", str(small.folder)])
    seen = "".join(capsys.readouterr()).replace("json", "")
    parts = {value[i : i + 5] for i in range(len(value) - 4)}
    assert not [part for part in parts if part in seen], seen


@pytest.mark.parametrize("secret", [PLAIN, ODD], ids=["plain", "odd"])
@pytest.mark.parametrize("user", ["", "a:", "me:", "bob:", "é:"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("end", ["", "\n", ":x"])
def test_base64_hides_nothing_from_us(secret, user, encode, end):
    secrets = Secrets({"K": secret}, frozenset({"K"}))
    said = encode(f"{user}{secret}{end}".encode()).decode()
    for text in (said, said.rstrip("=")):
        hidden = secrets.hide(f"no luck: {text} is wrong")
        assert "${K}" in hidden
        assert len(hidden.replace("${K}", "")) <= len("no luck:  is wrong") + len(user + end) * 2 + 4
    assert secrets.found_in(["d1", said]) == "K"


@pytest.mark.parametrize("length", [60, 70, 100, 120])
def test_of_base64_in_lines_no_line_is_seen(length):
    secret = sha512(b"x").hexdigest()[:length]
    secrets = Secrets({"K": secret}, frozenset({"K"}))
    for line in encodebytes(secret.encode()).decode().split():
        if len(line) > 6:
            assert secrets.hide(f"no luck: {line}").rstrip("=") == "no luck: ${K}"


def test_a_short_secret_in_base64():
    secrets = Secrets({"K": "short"}, frozenset({"K"}))
    assert secrets.hide(f"no luck: {b64encode(b'short').decode()}") == "no luck: ${K}"


@pytest.mark.parametrize("secret", ["schlüssel-ñandú", 'k é"y à la carte', "пароль-на-сервер", "鍵鍵鍵鍵鍵鍵"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii"])
@pytest.mark.parametrize("as_json", [True, False])
def test_a_server_that_reads_it_in_another_encoding(secret, encoding, as_json, monkeypatch):
    monkeypatch.setenv("RS_SECRET", secret)
    misread = secret.encode().decode(encoding, "replace")

    def answer(_):
        return Said({"error": misread} if as_json else f"no {misread}".encode(), 400)

    with Loopback(answer) as server:
        system = Http(url=server.url, headers={"X-Key": "${RS_SECRET}"}, attempts=1)
        (found,) = system.answers([Query("1", "x")], k=1)
    assert "${RS_SECRET}" in found.reason
    assert "".join(misread.split()) not in "".join(found.reason.split())


@pytest.mark.parametrize("secret", [PLAIN, ODD], ids=["plain", "odd"])
@pytest.mark.parametrize("said", PROGRAMS)
def test_a_program_that_says_it(said, secret, small, capsys, monkeypatch):
    monkeypatch.setenv("RS_SECRET", secret)
    (small.folder / "prog.py").write_text(SAYS_IT + PROGRAMS[said])
    command = [sys.executable, str(small.folder / "prog.py"), "${RS_SECRET}"]
    small.write(table("it", "command", {"command": command, "attempts": 1}))
    if "TREC" in said and secret == ODD:
        pytest.skip("blanks are taken out, so it is another text")
    assert all_output(small, capsys, secret) == []


def test_a_program_that_cannot_start(small, capsys, monkeypatch):
    monkeypatch.setenv("RS_SECRET", PLAIN)
    small.write(table("it", "command", {"command": "./${RS_SECRET} --top {k}"}))
    assert all_output(small, capsys, PLAIN) == []
    main(["run", str(small.folder)])
    assert "it cannot be asked: ./${RS_SECRET} cannot be started: No such file" in capsys.readouterr().err


SERVERS = {
    "an error": lambda secret: Said(f"bad key {secret}".encode(), 500),
    "a long error": lambda secret: Said(("x" * 290 + secret + "y" * 99).encode(), 500),
    "a refusal": lambda secret: Said({"denied": secret}, 403),
    "another place": lambda secret: Said(b"", 302, {"Location": f"http://127.0.0.1:1/?k={quote(secret)}"}),
    "no JSON": lambda secret: Said(secret.encode()),
    "another shape": lambda secret: Said({"key": secret}),
    "as a doc": lambda secret: Said({"hits": [{"id": secret}, {"id": "d2"}]}),
    "in a doc": lambda secret: Said({"hits": [{"id": f"d-{secret}"}, {"id": "d2"}]}),
    "twice": lambda secret: Said({"hits": [{"id": secret}, {"id": secret}]}),
}


@pytest.mark.parametrize("secret", [PLAIN, ODD], ids=["plain", "odd"])
@pytest.mark.parametrize("said", SERVERS)
def test_a_server_that_says_it(said, secret, small, capsys, monkeypatch):
    monkeypatch.setenv("RS_SECRET", secret)
    with Loopback(lambda _: SERVERS[said](secret)) as server:
        options = {"url": f"{server.url}/?q={{query}}", "ids": "$.hits[*].id", "attempts": 1}
        small.write(table("it", "http", {**options, "headers": {"X-Key": "${RS_SECRET}"}}))
        assert all_output(small, capsys, secret) == []
        assert server.requests, "it was asked"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/${RS_SECRET}", "http://${RS_SECRET}.invalid/", "http://[${RS_SECRET}/"]
)
def test_an_address_that_fails(url, small, capsys, monkeypatch):
    monkeypatch.setenv("RS_SECRET", PLAIN)
    small.write(table("it", "http", {"url": url, "attempts": 1, "allow_plain_http": True}))
    assert all_output(small, capsys, PLAIN) == []


CLASSES = """
import dataclasses, os
from rankscope.systems.base import BaseSystem

@dataclasses.dataclass
class Talks(BaseSystem):
    key: str
    how: str
    name: str = "talks"

    def __post_init__(self):
        if self.how == "making":
            raise KeyError(self.key)

    def index(self, docs, *, progress):
        if self.how == "indexing":
            raise RuntimeError(f"no {self.key}")

    def rank(self, queries, *, k):
        if self.how == "ranking":
            raise RuntimeError(f"no {self.key}")
        return [[self.key] if self.how == "doc" else ["d1"] for _ in queries]

    def describe(self):
        return {"key": self.key, "nested": [{"key": f"x{self.key}"}]}
"""


@pytest.mark.parametrize("how", ["making", "indexing", "ranking", "doc", "describing"])
def test_a_class_that_says_it(how, small, capsys, monkeypatch):
    monkeypatch.setenv("RS_SECRET", PLAIN)
    small.add(CLASSES)
    small.write(table("it", "MODULE:Talks", {"key": "${RS_SECRET}", "how": how}))
    assert all_output(small, capsys, PLAIN) == []


def test_another_key_asks_for_nothing_new_but_another_host_does(small, monkeypatch):
    with Loopback(lambda _: HITS) as one, Loopback(lambda _: HITS) as other:
        options = {"url": "${RS_SERVER}/", "ids": "$.hits[*].id", "headers": {"X-Plain": "${RS_TOKEN}"}}
        small.write(table("it", "http", options))
        for server, token in ((one, "first-token"), (one, "second-token"), (other, "second-token")):
            monkeypatch.setenv("RS_SERVER", server.url)
            monkeypatch.setenv("RS_TOKEN", token)
            run_project(load_project(small.folder))
        assert (len(one.requests), len(other.requests)) == (3, 3)


class TestKeysOfEndpoints:
    VECTORS = Said({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})

    def test_no_default_key_is_ever_sent(self, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", PLAIN)
        with Loopback(lambda _: self.VECTORS) as server:
            Endpoint("m", base_url=server.url).encode(["x"], role="doc")
            assert "Authorization" not in server.requests[0].headers

    @pytest.mark.parametrize("option", [{"api_key": "${MY_KEY}"}, {"api_key_env": "MY_KEY"}])
    def test_one_that_the_project_names_is(self, option, small, monkeypatch, capsys):
        monkeypatch.setenv("MY_KEY", PLAIN)

        def answer(asked):
            n = len(asked.json()["input"])
            return Said({"data": [{"index": i, "embedding": [1.0, float(i)]} for i in range(n)]})

        with Loopback(answer) as server:
            small.write(table("it", "dense", {"model": "m", "base_url": server.url, **option}))
            assert all_output(small, capsys, PLAIN) == []
            assert {asked.headers["Authorization"] for asked in server.requests} == {f"Bearer {PLAIN}"}
        assert list(small.folder.glob(".rankscope/embeddings/*/model.json"))

    def test_a_named_variable_that_is_not_set_is_an_error(self, monkeypatch):
        monkeypatch.delenv("MY_KEY", raising=False)
        with Loopback(lambda _: self.VECTORS) as server:
            with pytest.raises(OptionError, match="MY_KEY is not set"):
                Endpoint("m", base_url=server.url, api_key_env="MY_KEY").encode(["x"], role="doc")
            assert server.requests == []

    def test_no_redirection_is_followed(self):
        with Loopback(lambda _: self.VECTORS) as thief:
            moved = Said(b"", 302, {"Location": f"{thief.url}/stolen"})
            with Loopback(lambda _: moved) as server, pytest.raises(OptionError, match=f"302: see {thief.url}/stolen"):
                Endpoint("m", base_url=server.url, api_key=PLAIN).encode(["x"], role="doc")
            assert thief.requests == []

    @pytest.mark.parametrize("places", [[0, 0], [1, 2], [0], ["a", "b"], [None, 0]])
    def test_rows_that_say_they_are_others_are_refused(self, places):
        rows = [{"index": place, "embedding": [1.0]} for place in places]
        with Loopback(lambda _: Said({"data": rows})) as server, pytest.raises(ValueError, match="answered with"):
            Endpoint("m", base_url=server.url, n_attempts=1).encode(["x", "y"], role="doc")


class TestPlainHttp:
    FAR = "http://search.example/"

    @pytest.mark.parametrize(
        ("kind", "options", "what"),
        [
            ("http", {"url": FAR, "headers": {"X-Index": "${RS_VALUE}"}}, "the header X-Index"),
            ("http", {"url": FAR, "headers": {"Authorization": "Bearer abc"}}, "the header Authorization"),
            ("http", {"url": f"{FAR}?api_key=${{RS_VALUE}}"}, "the address"),
            ("http", {"url": FAR, "body": {"token": "${RS_VALUE}"}}, "body"),
            ("elasticsearch", {"url": FAR, "index_name": "x", "headers": {"X": "${RS_VALUE}"}}, "the header X"),
            ("opensearch", {"url": FAR, "index_name": "x", "headers": {"X": "${RS_VALUE}"}}, "the header X"),
            ("dense", {"base_url": FAR, "api_key": "${RS_VALUE}"}, "the header Authorization"),
            ("dense", {"base_url": FAR, "api_key_env": "RS_VALUE"}, "the header Authorization"),
        ],
    )
    def test_carries_no_secret_to_another_machine(self, kind, options, what, tmp_path):
        known = {"RS_VALUE": PLAIN}
        file = tmp_path / "rankscope.toml"
        with pytest.raises(
            OptionError, match=f"{what} holds a secret, and .* is not encrypted: nothing is sent"
        ) as found:
            read_project(table("it", kind, options), file=file, environment=known)
        assert "allow_plain_http = true" in found.value.hint
        assert PLAIN not in str(found.value)
        read_project(table("it", kind, {**options, "allow_plain_http": True}), file=file, environment=known)
        address = "base_url" if kind == "dense" else "url"
        own = str(options[address])
        for good in ("localhost:9200", "127.0.0.7", "[::1]:80", "https"):
            other = own.replace("http:", "https:") if good == "https" else own.replace("search.example", good)
            given = {**options, address: other}
            read_project(table("it", kind, given), file=file, environment=known)

    def test_without_a_secret_is_fine(self):
        make_system("http", {"url": self.FAR, "headers": {"X-Index": "v2"}})
        make_system("dense", {"base_url": self.FAR})

    def test_a_host_that_a_query_names_is_looked_at_when_it_is_known(self):
        with Loopback(lambda _: Said([{"id": "a"}])) as server:
            port = server.url.rpartition(":")[2]
            system = Http(url=f"http://{{host}}:{port}/", headers={"Authorization": "Bearer abc"}, attempts=1)
            queries = [Query("1", "x", {"host": "127.0.0.1"}), Query("2", "x", {"host": "search.example"})]
            own, other = system.answers(queries, k=1)
        assert own.ranking == [("a", 1.0)]
        assert "is not encrypted: nothing is sent" in other.reason

    def test_a_proxy_is_not_asked_for_this_machine(self, monkeypatch):
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        monkeypatch.delenv("no_proxy", raising=False)
        with Loopback(lambda _: Said([{"id": "a"}])) as server:
            assert Http(url=server.url).search([Query("1", "x")], k=1) == [[("a", 1.0)]]

    def test_loopback(self):
        assert all(map(is_loopback, ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1"]))
        assert not any(map(is_loopback, ["localhost.evil.org", "10.0.0.1", "0.0.0.0", "example.org", ""]))


class TestTexts:
    def test_remember_how_they_were_written(self):
        text = FromEnvironment("a-value", "a-${X}", {"X": "value"})
        assert (text, repr(text)) == ("a-value", "'a-${X}'")
        copy = pickle.loads(pickle.dumps(text))
        assert (copy, copy.written, copy.values) == (text, "a-${X}", {"X": "value"})

    def test_values_are_hidden_in_all_their_forms(self):
        secrets = Secrets({"K": ODD}, frozenset({"K"}))
        for form in forms_of(ODD):
            assert secrets.hide(f"<{form}>") == "<${K}>"
        assert secrets.hide(f"it said {ODD[:9]}… (300 characters)") == "it said ${K}… (300 characters)"

    def test_short_values_are_hidden_as_words_and_only_where_their_name_says_so(self):
        options = {
            "headers": {"X-Key": FromEnvironment("abc", "${A}", {"A": "abc"})},
            "n": FromEnvironment("10", "", {"B": "10"}),
        }
        secrets = secrets_in(options)
        assert secrets.hide("abc abcdef 10 k=abc") == "${A} abcdef 10 k=${A}"
        assert secrets.found_in(["abc"]) is None, "too short to be told from an id"

    def test_what_stands_in_the_file_itself_is_not_recorded(self):
        written = {
            "type": "http", "url": "https://me:pw@x.org/?api_key=1", "api_key": "sk-1", "token_pattern": "x",
            "headers": {"Authorization": "Bearer abc", "X-Key": "${K}", "X": "1"},
        }  # fmt: skip
        assert as_recorded(written) == {
            "type": "http", "url": "https://(hidden)@x.org/?api_key=(hidden)", "api_key": "(hidden)",
            "token_pattern": "x", "headers": {"Authorization": "(hidden)", "X-Key": "${K}", "X": "1"},
        }  # fmt: skip
