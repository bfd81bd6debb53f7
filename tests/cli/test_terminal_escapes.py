"""Ids, texts and names of others cannot command a terminal: what people read shows them as escapes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from rankscope.printable import UNSAFE, printable, printable_lines

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b1m\u202eback"
SEEN = r"\x1b[31mred\x1b]0;title\x07\x9b1m\u202eback"
OBEYED = "\x1b\x07\x9b\u202e\r"
RUNS = {"one": [3, 2, 1], "two": [1, 2, 3]}


def test_what_is_shown_and_what_stays():
    assert printable(EVIL) == SEEN
    assert printable("a\rb\nc\td") == r"a\rb\nc\td"
    assert printable_lines("a\rb\nc") == "a\\rb\nc"
    assert printable("größe 中文 \u00a0 é 👩\u200d💻") == "größe 中文 \u00a0 é 👩\u200d💻"
    assert printable("\udcff") == r"\udcff"
    assert printable(printable(EVIL)) == printable(EVIL)
    for char in map(chr, (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x1FFFE)):
        assert re.search(UNSAFE, char)
        assert printable(char).isascii()
        assert printable(char).isprintable()


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """Go to a folder whose ids, texts and file names hold controls."""
    monkeypatch.chdir(tmp_path)
    queries, docs = [f"q{i}{EVIL}" for i in range(6)], [f"d{i}{EVIL}" for i in range(3)]
    rows = [{"query": q, "doc": d, "grade": (i + j) % 2} for i, q in enumerate(queries) for j, d in enumerate(docs)]
    Path("qrels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, scores in RUNS.items():
        run = [{"query": q, "doc": d, "score": s} for q in queries for d, s in zip(docs, scores, strict=True)]
        run.append({"query": f"other{EVIL}", "doc": f"other{EVIL}", "score": 1})
        Path(f"{name}{EVIL}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in run))
    Path(f"bad{EVIL}.run").write_text(f"{EVIL} is no run\n")
    records = [{"_id": q, "text": f"text {EVIL}", "language": f"en{EVIL}"} for q in queries]
    folder = Path(f"mini{EVIL}")
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": d, "text": f"t {EVIL}"}) + "\n" for d in docs))
    (folder / "qrels/qrels.jsonl").write_text(Path("qrels.jsonl").read_text())
    cases = [{"text": EVIL, "expected_hpo_ids": [EVIL], "difficulty": EVIL}]
    Path(f"cases{EVIL}.json").write_text(json.dumps(cases))
    return tmp_path


ONE, TWO, MINI = f"one{EVIL}.jsonl", f"two{EVIL}.jsonl", f"mini{EVIL}"
CALLS = {
    "evaluate": ["evaluate", "qrels.jsonl", ONE, TWO],
    "evaluate -q": ["evaluate", "qrels.jsonl", ONE, "-q"],
    "evaluate markdown": ["evaluate", "qrels.jsonl", ONE, TWO, "-q", "--format", "markdown"],
    "evaluate gate": ["evaluate", "qrels.jsonl", ONE, "--fail-under", "nDCG@10=1"],
    "compare": ["compare", "qrels.jsonl", ONE, TWO, "--details"],
    "compare gate": ["compare", "qrels.jsonl", ONE, TWO, "--fail-if-worse"],
    "compare markdown": ["compare", "qrels.jsonl", ONE, TWO, "--format", "markdown"],
    "explain": ["explain", "qrels.jsonl", ONE, "--query", f"q1{EVIL}", "--all"],
    "diagnose": ["diagnose", "qrels.jsonl", ONE, "-q"],
    "validate": ["validate", "qrels.jsonl", ONE, TWO],
    "convert": ["convert", ONE, f"new{EVIL}.jsonl"],
    "fuse": ["fuse", ONE, TWO, "-o", f"new{EVIL}.jsonl"],
    "import": ["import", f"cases{EVIL}.json", "-o", f"new{EVIL}"],
    "import check": ["import", "--check", f"cases{EVIL}.json"],
    "init": ["init", "--collection", MINI, "--systems", "bm25", "--yes", "-o", f"new{EVIL}.toml"],
    "collection": ["collection", "show", MINI],
    "split": ["split", MINI, "--by", "language", "-o", f"new{EVIL}.json"],
    "plan": ["plan", "qrels.jsonl", ONE, TWO, "--detect", "0.1"],
    "bad line": ["evaluate", "qrels.jsonl", f"bad{EVIL}.run"],
    "missing": ["evaluate", "qrels.jsonl", f"missing{EVIL}"],
    "unknown query": ["explain", "qrels.jsonl", ONE, "--query", EVIL],
    "unknown measure": ["evaluate", "qrels.jsonl", ONE, "-m", EVIL],
    "unknown option": ["evaluate", "qrels.jsonl", ONE, f"--{EVIL}"],
    "unknown command": [EVIL],
    "measures": ["measures", EVIL],
    "profiles": ["profiles", EVIL],
    "run": ["run", EVIL],
    "report": ["report", f"missing{EVIL}", "-o", "x.html"],
    "output": ["evaluate", "qrels.jsonl", ONE, "-o", f"{EVIL}.pdf"],
}


@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_obeyed(rankscope, evil, call):
    done = rankscope(*CALLS[call])
    for text in (done.out, done.err):
        assert not set(text) & set(OBEYED), ascii(text)
    if call not in ("convert", "plan"):  # which name no ids where all is well
        assert r"\x1b[31m" in done.out + done.err or r"\\x1b" in done.out + done.err


def test_reports_in_files(rankscope, evil):
    for name in ("report.md", "report.txt"):
        assert rankscope("compare", "qrels.jsonl", ONE, TWO, "-o", name).code == 0
        assert not set(Path(name).read_text("utf-8")) & set(OBEYED)


def test_formats_for_programs_keep_ids_as_they_are(rankscope, evil):
    rankscope("convert", ONE, "exact.jsonl")
    rankscope("fuse", ONE, TWO, "-o", "fused.jsonl")
    for name in ("exact.jsonl", "fused.jsonl"):
        ids = {json.loads(line)["doc"] for line in Path(name).read_text("utf-8").splitlines()}
        assert f"d1{EVIL}" in ids
    assert f"q1{EVIL}" in rankscope("evaluate", "qrels.jsonl", ONE, "-q", "--format", "csv").out
    rows = rankscope("evaluate", "qrels.jsonl", ONE, "-q", "--format", "jsonl").out.splitlines()
    assert f"q1{EVIL}" in {json.loads(row)["query"] for row in rows}


def test_what_systems_say(rankscope, tmp_path, monkeypatch):
    project = small_project(tmp_path, n_queries=3)
    project.add(f"def rude(query):\n    raise ValueError({EVIL!r})\n")
    project.write('[systems."evil\\u001b[31m"]\ntype = "python"\nfunction = "MODULE:other"\nrecords = true\n'
                  '[systems.rude]\ntype = "python"\nfunction = "MODULE:rude"\nrecords = true\n')  # fmt: skip
    done = project.run()
    for text in (done.stdout, done.stderr):
        assert not set(text) & set(OBEYED), ascii(text)
    assert r"\x1b[31m" in done.stderr
