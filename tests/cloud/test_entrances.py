"""Every command and function that takes files takes addresses of them, and says what it says of files here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import rankscope as rs
from conftest import DOCS, QUERIES, jsonl
from rankscope.cli.main import main
from rankscope.demo import demo_file

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
NAMES = ("qrels.txt", "bm25.run", "dense.run")
AT = "s3://rankings/demo/"


@pytest.fixture
def both(bucket, tmp_path, monkeypatch):
    """Put the demo's files into a folder and into a bucket."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        content = demo_file(name).read_bytes()
        (tmp_path / name).write_bytes(content)
        bucket.put(f"demo/{name}", content)
    return bucket


def output(capsys, *args: str) -> str:
    code = main(list(args))
    text = capsys.readouterr()
    assert code in {0, 1}, text.err
    return text.out + text.err


@pytest.mark.parametrize(
    "args",
    [
        ["evaluate", "qrels.txt", "bm25.run", "dense.run"],
        ["evaluate", "qrels.txt", "bm25.run", "--per-query"],
        ["evaluate", "qrels.txt", "bm25.run", "--format", "json"],
        ["compare", "qrels.txt", "bm25.run", "dense.run"],
        ["compare", "qrels.txt", "bm25.run", "dense.run", "--format", "json"],
        ["validate", "qrels.txt", "bm25.run"],
        ["explain", "qrels.txt", "bm25.run", "--query", "quick-vegan-dinner"],
        ["diagnose", "qrels.txt", "bm25.run"],
    ],
    ids=" ".join,
)
def test_commands_say_the_same(both, capsys, args):
    here = output(capsys, *args)
    there = output(capsys, *(f"{AT}{arg}" if arg in NAMES else arg for arg in args))
    assert "s3:/r" not in there
    assert there.replace(AT, "").split() == here.split()  # lines are broken elsewhere


def test_convert(both, capsys, tmp_path):
    assert main(["convert", "bm25.run", "here.jsonl"]) == 0
    assert main(["convert", f"{AT}bm25.run", "there.jsonl"]) == 0
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()
    capsys.readouterr()
    assert main(["convert", "bm25.run", f"{AT}out.jsonl"]) == 2
    assert f"{AT}out.jsonl" in (said := capsys.readouterr().err)
    assert "nothing is written there" in said
    assert main(["evaluate", "qrels.txt", "bm25.run", "-o", f"{AT}out.json"]) == 2
    assert "nothing is written there" in capsys.readouterr().err
    assert not (tmp_path / "s3:").exists()


def test_loaders(both):
    here, there = rs.load_run("bm25.run").rows, rs.load_run(f"{AT}bm25.run").rows
    assert (here.query, here.doc, here.tag) == (there.query, there.doc, there.tag)
    assert here.score.tobytes() == there.score.tobytes()
    assert rs.load_run(f"{AT}bm25.run").name == "bm25"
    assert rs.load_qrels(f"{AT}qrels.txt").query_ids == rs.load_qrels("qrels.txt").query_ids
    assert rs.Qrels(f"{AT}qrels.txt").origin.sha256 == rs.Qrels("qrels.txt").origin.sha256
    assert rs.load_run(f"{AT}bm25.run").origin.path == f"{AT}bm25.run"


def test_scores_keep_the_address(both):
    record = json.loads(rs.evaluate(f"{AT}qrels.txt", f"{AT}bm25.run").to_json())
    here = json.loads(rs.evaluate("qrels.txt", "bm25.run").to_json())
    assert json.loads(json.dumps(record).replace(AT, "")) == here


def test_a_beir_folder(bucket, tmp_path, monkeypatch):
    rows = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td3\t1\n"
    bucket.put("beir/qrels/test.tsv", rows)
    bucket.put("beir/qrels/train.tsv", rows)
    bucket.put("beir/corpus.jsonl", jsonl(DOCS))
    assert rs.load_qrels("s3://rankings/beir/").origin.path == "s3://rankings/beir/qrels/test.tsv"


def test_queries_and_docs(both, capsys):
    queries = [{"_id": "quick-vegan-dinner", "text": "what to cook tonight", "weight": 3}]
    rest = [query for query in rs.load_qrels("qrels.txt").query_ids if query != "quick-vegan-dinner"]
    text = jsonl([*queries, *({"_id": query, "text": f"about {query}", "weight": 1} for query in rest)])
    url = both.put("queries.jsonl", text)
    Path("queries.jsonl").write_text(text, encoding="utf-8")
    here = rs.evaluate("qrels.txt", "bm25.run", "AP", queries="queries.jsonl", weights="weight")
    there = rs.evaluate("qrels.txt", "bm25.run", "AP", queries=url, weights="weight")
    assert here.mean()["bm25"]["AP"].value == there.mean()["bm25"]["AP"].value
    assert here.texts == there.texts


PROJECT = """
measures = ["RR@10", "AP"]
[collections.small]
docs = "{at}docs.jsonl.gz"
queries = "{at}queries.jsonl"
qrels = "{at}qrels.tsv"
[systems.words]
type = "bm25"
stemmer = "none"
[systems.old]
type = "run"
path = "{at}old.run"
"""


def test_a_project_whose_files_are_addresses(bucket, tmp_path, monkeypatch, capsys):
    import gzip

    files = {
        "docs.jsonl.gz": gzip.compress(jsonl(DOCS).encode()),
        "queries.jsonl": jsonl(
            [
                {**query, "text": text}
                for query, text in zip(QUERIES, ("sudden event", "raised temperature"), strict=True)
            ]
        ).encode(),
        "qrels.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td3\t1\n",
        "old.run": b"q1 Q0 d2 1 2.0 old\nq1 Q0 d1 2 1.0 old\nq2 Q0 d3 1 1.0 old\n",
    }
    outputs = {}
    for place in ("here", "there"):
        folder = tmp_path / place
        folder.mkdir()
        for name, content in files.items():
            (bucket.put(f"small/{name}", content) if place == "there" else (folder / name).write_bytes(content))
        at = "s3://rankings/small/" if place == "there" else ""
        (folder / "rankscope.toml").write_text(PROJECT.format(at=at))
        monkeypatch.chdir(folder)
        assert main(["run", "--no-store"]) in {0, 1}, capsys.readouterr().err
        said = capsys.readouterr().out
        runs = {path.name: path.read_bytes() for path in folder.glob("results/runs/small/*")}
        manifest = (folder / "results" / "manifest.json").read_text()
        assert "s3:/r" not in said + manifest
        outputs[place] = (
            runs,
            re.findall(r'"(?:sha256|fingerprint)": "\w+"', manifest)[1:],
        )  # the project file itself differs
    assert len(outputs["here"][0]) == 4  # two runs, each with the queries it was asked
    assert outputs["here"] == outputs["there"]


def test_a_report_says_which_digest_stands_for_a_file(both, capsys, tmp_path):
    rs.write_run("bm25.run", "bm25.parquet")
    url = both.put_file(tmp_path / "bm25.parquet", "demo/bm25.parquet")
    said = output(capsys, "compare", f"{AT}qrels.txt", url, f"{AT}dense.run", "-o", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert re.search(r"demo/bm25\.parquet etag:[0-9a-f]{32}", page), said
    assert re.search(r"demo/dense\.run sha256:[0-9a-f]{64}", page)
