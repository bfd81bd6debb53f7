"""Files, names and options that are odd in every way end with an error that says so, never with a traceback."""

from __future__ import annotations

import io
import json
import re
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project

DEEP = "[" * 100_000
DEEP_OBJECT = '{"a":' * 50_000
HUGE = '{"q1": ' + "9" * 5000 + "}"
JSON_TEXTS = {
    "deep": DEEP,
    "deep object": DEEP_OBJECT,
    "huge integer": HUGE,
    "list": "[1, 2]",
    "number": "7",
    "null": "null",
    "cut off": '{"a": [1,',
    "not UTF-8": b'{"q": "\xff\xfe"}',
    "wrong values": '{"schema": 1, "runs": 7, "measures": {"a": null}}',
}
READERS = {
    "evaluate run": "evaluate qrels.txt odd.json",
    "evaluate qrels": "evaluate odd.json bm25.run",
    "evaluate docs": "evaluate qrels.txt bm25.run -m nDCG --docs odd.json",
    "evaluate ontology": "evaluate qrels.txt bm25.run --ontology odd.json",
    "evaluate embeddings": "evaluate qrels.txt bm25.run --embeddings odd.json",
    "evaluate queries": "evaluate qrels.txt bm25.run --queries odd.json --weights w",
    "compare queries": "compare qrels.txt bm25.run dense.run --queries odd.json --by language",
    "compare scores": "compare --scores odd.json",
    "validate": "validate odd.json",
    "validate run": "validate qrels.txt odd.json --strict",
    "convert": "convert odd.json new.run",
    "fuse": "fuse bm25.run odd.json -o new.run",
    "import": "import odd.json",
    "import check": "import --check odd.json",
    "import practitioners": "import people.json --practitioners odd.json",
    "split": "split odd.json",
    "collection": "collection show odd.json",
    "plan": "plan --scores odd.json -m AP --detect 0.1",
    "report": "report odd.json -o report.html",
    "chart": "report odd.json --chart trend -o trend.svg",
}
MAY_FIND = {"validate", "import check", "evaluate docs", "evaluate ontology", "evaluate queries", "evaluate embeddings"}
"""Readers that may take some of these texts: as a finding, or as there is nothing to look up in them."""


def assert_refused(done, *, codes=(2,)) -> None:
    assert "Traceback" not in done.err
    assert done.code in codes, done.err
    if done.code == 2:
        assert re.search("^error: .", done.err, re.MULTILINE), done.err


@pytest.mark.parametrize("text", JSON_TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_odd_json(rankscope, cookbook, reader, text):
    content = JSON_TEXTS[text]
    (cookbook / "odd.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    (cookbook / "people.json").write_text('{"testCases": []}')
    done = rankscope(*READERS[reader].split())
    assert_refused(
        done, codes=(0, 1, 2) if reader in MAY_FIND or text not in ("deep", "deep object", "cut off") else (2,)
    )
    assert done.code != 0 or not re.search("^error: ", done.err, re.MULTILINE)


@pytest.mark.parametrize("lines", ["deep", "deep object"])
@pytest.mark.parametrize(
    "reader", ["evaluate qrels.txt odd.jsonl", "compare qrels.txt bm25.run dense.run --queries odd.jsonl"]
)
def test_odd_lines_of_json(rankscope, cookbook, reader, lines):
    (cookbook / "odd.jsonl").write_text(f'{{"query": "a", "doc": "d", "score": 1}}\n{JSON_TEXTS[lines]}\n')
    assert_refused(rankscope(*reader.split()))


def zip_of(*, method=0, flags=0, size=None, name="embeddings.npy"):
    """Return an .npz whose headers say what they should not."""
    held = io.BytesIO()
    np.save(held, np.ones((2, 2), dtype=np.float32))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, held.getvalue())
        ids = io.BytesIO()
        np.save(ids, np.array(["d1", "d2"]))
        archive.writestr("ids.npy", ids.getvalue())
    content = bytearray(packed.getvalue())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(mark)
        while start >= 0:
            content[start + offset : start + offset + 4] = struct.pack("<HH", flags, method)
            if size is not None:
                where = start + (22 if mark == b"PK\x03\x04" else 24)
                content[where : where + 4] = struct.pack("<I", size)
            start = content.find(mark, start + 4)
    return bytes(content)


ARCHIVES = {
    "encrypted": zip_of(flags=1),
    "unknown method": zip_of(method=97),
    "lies about its size": zip_of(size=0xFFFFFFF0),
    "smaller than it is": zip_of(size=3),
    "no archive": b"PK\x03\x04 and nothing else",
    "empty": b"",
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_odd_archives(rankscope, cookbook, kind):
    (cookbook / "vectors.npz").write_bytes(ARCHIVES[kind])
    assert_refused(rankscope("evaluate", "qrels.txt", "bm25.run", "-m", "ILD@5", "--embeddings", "vectors.npz"))


@pytest.mark.parametrize("ids", [DEEP, "[[1]]", '{"a": 1}', "7", HUGE, b"\xff"])
def test_odd_ids_beside_vectors(rankscope, cookbook, ids):
    np.save(cookbook / "vectors.npy", np.ones((2, 2), dtype=np.float32))
    (cookbook / "vectors.ids.json").write_bytes(ids if isinstance(ids, bytes) else ids.encode())
    assert_refused(rankscope("evaluate", "qrels.txt", "bm25.run", "-m", "ILD@5", "--embeddings", "vectors.npy"))


HTTP = 'type = "http"\nids = "$.ids[*]"\n'
SYSTEMS = {
    "port that is no number": f'{HTTP}url = "http://localhost:abc/"',
    "port too high": f'{HTTP}url = "http://localhost:99999/"',
    "bad IPv6": f'{HTTP}url = "http://[::1/"',
    "no host": f'{HTTP}url = "http:///x"',
    "no scheme": f'{HTTP}url = "localhost"',
    "control in the address": f'{HTTP}url = "http://localhost/\\u001b\\n"',
    "bad method": f'{HTTP}url = "http://localhost/"\nmethod = "GE T"',
    "bad header name": f'{HTTP}url = "http://localhost/"\nheaders = {{"a b:" = "x"}}',
    "bad header value": f'{HTTP}url = "http://localhost/"\nheaders = {{"a" = "x\\ny"}}',
    "unbalanced quote": 'type = "command"\ncommand = "search \'half"',
    "NUL in a command": 'type = "command"\ncommand = "search \\u0000 x"',
    "empty command": 'type = "command"\ncommand = " "',
    "endpoint": 'type = "dense"\nmodel = "openai"\nbase_url = "http://[::1/"',
}


@pytest.mark.parametrize("kind", SYSTEMS)
def test_odd_options_of_systems(rankscope, tmp_path, monkeypatch, kind):
    small_project(tmp_path, n_queries=2).write(f"[systems.s]\n{SYSTEMS[kind]}\n")
    monkeypatch.chdir(tmp_path)
    assert_refused(rankscope("run"))


LONG = "n" * 400
NAMES = {
    "evaluate": f"evaluate qrels.txt {LONG}",
    "evaluate -o": f"evaluate qrels.txt bm25.run -o {LONG}.json",
    "compare": f"compare qrels.txt bm25.run {LONG}",
    "compare -o": f"compare qrels.txt bm25.run dense.run -o {LONG}.html",
    "settle": f"compare qrels.txt bm25.run dense.run --settle {LONG}.csv",
    "chart": f"evaluate qrels.txt bm25.run --chart curves -m nDCG -o {LONG}.svg",
    "convert": f"convert {LONG} x.run",
    "convert to": f"convert bm25.run {LONG}.run",
    "fuse": f"fuse bm25.run dense.run -o {LONG}.run",
    "import": f"import {LONG}",
    "import -o": f"import cases.json -o {LONG}",
    "init": f"init --collection {LONG} --yes",
    "run": f"run {LONG}",
    "collection": f"collection show {LONG}",
    "split": f"split {LONG} -o x.json",
    "split show": f"split {LONG}",
    "report": f"report {LONG} -o x.html",
    "demo": f"demo --files {LONG}",
    "queries": f"compare qrels.txt bm25.run dense.run --queries {LONG} --by x",
    "embeddings": f"evaluate qrels.txt bm25.run --embeddings {LONG}.npy -m ILD@5",
    "ontology": f"evaluate qrels.txt bm25.run --ontology {LONG}.obo -m nDCG",
    "bands": f"evaluate qrels.txt bm25.run --bands {LONG}.toml",
    "NUL": "evaluate qrels.txt bm25\0.run",
    "NUL in -o": "evaluate qrels.txt bm25.run -o x\0.json",
}


@pytest.mark.parametrize("call", NAMES)
def test_names_that_no_system_allows(rankscope, cookbook, call):
    (cookbook / "cases.json").write_text(json.dumps([{"text": "fits", "expected_hpo_ids": ["HP:0001250"]}]))
    codes = (0, 2) if call == "ontology" else (2,)
    assert_refused(rankscope(*NAMES[call].split(" ")), codes=codes)


@pytest.mark.parametrize("what", ["collection", "system"])
def test_a_name_in_a_project_that_is_very_long(rankscope, tmp_path, monkeypatch, what):
    project = small_project(tmp_path, n_queries=2)
    monkeypatch.chdir(tmp_path)
    project.write('[systems.s]\ntype = "command"\ncommand = "cat"\n')
    text = (
        Path("rankscope.toml")
        .read_text()
        .replace("collections.small" if what == "collection" else "systems.s", f"{what}s.{LONG}")
    )
    Path("rankscope.toml").write_text(text)
    done = rankscope("run")
    assert "Traceback" not in done.err
    assert done.code in (1, 2), done.err


@pytest.mark.parametrize(
    "measure",
    [
        "nDCG@99999999999999999999999",
        "P@" + "9" * 5000,
        "P(rel=1e999)@5",
        "ERR(max_rel=" + "9" * 400 + ")@5",
        "nDCG@-1",
        "(" * 5000,
        "nDCG@٣",
    ],
)
def test_odd_measures(rankscope, cookbook, measure):
    assert_refused(rankscope("evaluate", "qrels.txt", "bm25.run", "-m", measure), codes=(0, 2))
    assert_refused(rankscope("measures", measure), codes=(0, 2))


@pytest.mark.parametrize(
    "text",
    [
        "x = " + DEEP,
        "a" + ".a" * 3000 + " = 1",
        "x = " + "9" * 5000,
        b"\xff\xfe",
        "[systems.s]\ntype = 7",
        "x = 1\nx = 2",
    ],
)
def test_odd_toml(rankscope, cookbook, text):
    for name in ("rankscope.toml", "bands.toml"):
        (cookbook / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert_refused(rankscope("run"))
    assert_refused(rankscope("evaluate", "qrels.txt", "bm25.run", "--bands", "bands.toml"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize(
    "file",
    ["/proc/self/mem", "/proc/self/cmdline", "/proc/cpuinfo", "/proc/self/attr/current", "/proc/self/fd", "/dev/null"],
)
@pytest.mark.parametrize(
    "call", ["evaluate qrels.txt FILE", "convert FILE x.run", "report FILE -o x.html", "import FILE", "split FILE"]
)
def test_files_that_the_system_makes_up(rankscope, cookbook, file, call):
    assert_refused(rankscope(*call.replace("FILE", file).split()), codes=(2, 3))


OUTPUTS = {
    "folder in a file": "evaluate qrels.txt bm25.run -o qrels.txt/x.json",
    "a folder": "evaluate qrels.txt bm25.run -o folder.json",
    "compare": "compare qrels.txt bm25.run dense.run -o qrels.txt/x.html",
    "chart": "evaluate qrels.txt bm25.run -m nDCG --chart curves -o qrels.txt/x.svg",
    "import": "import cases.json -o qrels.txt",
    "import below": "import cases.json -o qrels.txt/x",
    "demo": "demo --files qrels.txt",
    "demo below": "demo --files qrels.txt/x",
    "convert": "convert bm25.run qrels.txt/x.run",
    "fuse": "fuse bm25.run dense.run -o qrels.txt/x.run",
    "init": "init --collection mini --yes -o qrels.txt/x.toml",
    "split": "split mini -o qrels.txt/x.json",
    "settle": "compare qrels.txt bm25.run dense.run --settle qrels.txt/x.csv",
}


@pytest.mark.parametrize("call", OUTPUTS)
def test_output_where_a_file_stands(rankscope, cookbook, beir, call):
    (cookbook / "folder.json").mkdir()
    (cookbook / "cases.json").write_text(json.dumps([{"text": "fits", "expected_hpo_ids": ["HP:0001250"]}]))
    before = (cookbook / "qrels.txt").read_bytes()
    assert_refused(rankscope(*OUTPUTS[call].split()))
    assert (cookbook / "qrels.txt").read_bytes() == before
