"""No command writes or says the secrets of an address: every one is given signed addresses, and all it leaves is read."""

from __future__ import annotations

import gzip
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import DOCS, jsonl
from faults.cases import CASES, Case, put_demo
from loopback import Asked, Loopback, Said
from rankscope.cli.main import main
from rankscope.io import remote

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
CANARY = "c4n4ry"
OUTPUTS = ("-o", "--output", "--folder")
FURTHER = [
    Case(("evaluate", "qrels.txt", "bm25.run", "--format", "html", "--queries", "queries.jsonl")),
    Case(("evaluate", "qrels.txt", "bm25.run", "--format", "json", "-o", "scores.json")),
    Case(("evaluate", "qrels.txt", "bm25.run", "--memory", "100MB", "--keep", "kept")),
    Case(("evaluate", "qrels.txt", "bm25.run", "--store", "store.db")),
    Case(("evaluate", "qrels.txt", "bm25.run", "-m", "alpha_nDCG@5", "--docs", "docs.jsonl")),
    Case(("evaluate", "qrels.txt", "bm25.run", "-m", "ILD@5", "--embeddings", "docs.jsonl")),
    Case(("compare", "qrels.txt", "bm25.run", "dense.run", "--queries", "queries.jsonl", "--docs", "docs.jsonl")),
    Case(("compare", "qrels.txt", "bm25.run", "dense.run", "--format", "json")),
    Case(("show", "qrels.txt", "bm25.run", "dense.run", "--queries", "queries.jsonl", "--docs", "docs.jsonl")),
]
UNFIT = FURTHER[4:6]
"""Files of other kinds are asked for here."""
ADDRESSES_ARE_READ = {"evaluate", "compare", "explain", "show", "diagnose", "validate", "convert", "fuse", "baseline"}


def inputs() -> list[Case]:
    """Return the calls that are given files, each of which becomes an address."""
    known = [case for cases in CASES.values() for case in cases]
    return [case for case in [*known, *FURTHER] if any("." in argument for argument in case.arguments)]


@contextmanager
def served(folder: Path, answer=None):
    """Serve a folder to those who know the secrets."""

    def reply(asked: Asked) -> Said:
        path = folder / urllib.parse.urlsplit(asked.path).path[1:]
        if CANARY not in asked.path or "Authorization" not in asked.headers:
            return Said(b"", 403)
        return Said(path.read_bytes(), 200, {}) if path.is_file() else Said(b"", 404)

    with Loopback(answer or reply) as server:
        yield lambda name: f"{server.url.replace('://', f'://ann:{CANARY}@')}/{name}?X-Amz-Signature={CANARY}"


def with_addresses(arguments: tuple[str, ...], folder: Path, address) -> list[str]:
    given = []
    for before, argument in zip(("", *arguments), arguments, strict=False):
        is_input = before not in OUTPUTS and not argument.startswith("-") and (folder / argument).is_file()
        given.append(address(argument) if is_input else argument)
    return given


def leaks(folder: Path, text: str) -> list[str]:
    """Return the files, and the lines of a text, that hold the secret."""
    found = [line for line in text.splitlines() if CANARY in line]
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        found += [str(path)] * (CANARY in str(path) or CANARY.encode() in content)
    return found


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    (tmp_path / "served").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def prepare(case: Case, folders: Path) -> None:
    for folder in (folders / "served", folders / "work"):
        case.prepare(folder)
        if case.prepare is put_demo:
            (folder / "docs.jsonl").write_text(jsonl(DOCS))
            (folder / "queries.jsonl").write_text(jsonl([{"_id": "soup-for-a-cold", "text": "soup"}]))


@pytest.mark.parametrize("case", inputs(), ids=lambda case: " ".join(case.arguments))
def test_no_command_tells(case, folders, capfd):
    prepare(case, folders)
    if case.first:
        main(list(case.first))
    with served(folders / "served") as address:
        arguments = with_addresses(case.arguments, folders / "served", address)
        codes = [main(arguments)]
    text = capfd.readouterr()
    assert leaks(folders / "work", text.out + text.err) == []
    with served(folders / "served", lambda asked: Said(b"<html>", 200, {})) as address:
        codes.append(main(with_addresses(case.arguments, folders / "served", address)))
    with served(folders / "served", lambda asked: Said(b"", 500)) as address:
        codes.append(main([*with_addresses(case.arguments, folders / "served", address), "--debug"]))
    text = capfd.readouterr()
    assert leaks(folders / "work", text.out + text.err) == []
    assert 70 not in codes
    if case.arguments[0] in ADDRESSES_ARE_READ and case not in UNFIT:
        assert codes[0] in {0, 1}


@pytest.mark.parametrize("command", ["evaluate", "compare", "validate", "doctor"])
@pytest.mark.parametrize(
    "address",
    [
        f"https://ann:PASS/{CANARY}@127.0.0.1:1/x.run",
        f"https://ann:PASS?{CANARY}=@127.0.0.1:1/x.run",
        f"https://ann:{CANARY}/x@127.0.0.1:1/x.run",
        f"https://{CANARY}/x@127.0.0.1:1/x.run",
        f"s3://KEY:{CANARY}/x@bucket/x.run",
    ],
)
def test_a_password_with_signs_that_end_it_is_not_told(command, address, folders, capfd):
    put_demo(folders / "work")
    given = {
        "evaluate": ["qrels.txt", address],
        "compare": ["qrels.txt", "bm25.run", address],
        "validate": [address, "--qrels", address],
        "doctor": ["--size", address],
    }
    codes = {main([command, *given[command], *debug]) for debug in ([], ["--debug"])}
    text = capfd.readouterr()
    assert codes <= {2, 3}
    assert "://" in text.err
    assert leaks(folders / "work", text.out + text.err) == []


PROJECT = """
measures = ["RR@10"]
[collections.small]
docs = "{docs}"
queries = "{queries}"
qrels = "{qrels}"
[systems.words]
type = "bm25"
[systems.old]
type = "run"
path = "{old}"
"""


def test_a_project_does_not_tell(folders, capfd):
    files = {
        "docs.jsonl": jsonl(DOCS),
        "queries.jsonl": jsonl([{"_id": "q1", "text": "sudden"}, {"_id": "q2", "text": "raised"}]),
        "qrels.txt": "q1 0 d1 1\nq2 0 d3 1\n",
        "old.run": "q1 Q0 d1 1 2 x\nq2 Q0 d3 1 1 x\n",
    }
    for name, content in files.items():
        (folders / "served" / name).write_text(content)
    with served(folders / "served") as address:
        keys = {"docs": "docs.jsonl", "queries": "queries.jsonl", "qrels": "qrels.txt", "old": "old.run"}
        project = Path("rankscope.toml")
        project.write_text(PROJECT.format(**{key: address(name) for key, name in keys.items()}))
        codes = [main(["run", "-o", "report.html"]), main(["run", "--format", "json"])]
        codes += [main(["history"]), main(["collection", "show", "small"]), main(["store", "export", "out"])]
        codes += [main(["split", "small", "-o", "split.json"]), main(["baseline", "save", "-o", "kept"])]
        (folders / "served" / "old.run").unlink()
        assert main(["run", "--fresh"]) not in {0, 70}
    project.unlink()
    text = capfd.readouterr()
    assert leaks(folders / "work", text.out + text.err) == []
    assert codes == [0] * len(codes), text.err
