"""`rankscope run`: its formats, exit codes, and the smallest project file that works."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest

from rankscope.cli.run import progress_bars
from rankscope.measures.scores_record import scores_schema as evaluate_schema
from rankscope.report.benchmark_json import run_schema

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "collections"
SYSTEMS = """
[systems.one]
type = "python"
function = "MODULE:one"
records = true
[systems.picky]
type = "python"
function = "MODULE:picky"
records = true
"""


@pytest.fixture
def run(rankscope, monkeypatch):
    """Return a function that runs `rankscope run` in this process."""
    return lambda *arguments: rankscope("run", *arguments)


@pytest.fixture
def small(tmp_path, monkeypatch):
    project = small_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return project


def test_json_follows_its_schema(run, small):
    small.write(SYSTEMS, strata=["difficulty"])
    outcome = run("--format", "json")
    record = json.loads(outcome.out)
    jsonschema.validate(record, run_schema())
    assert outcome.code == 1, "queries have failed"
    assert "4 queries of picky failed" in outcome.err
    assert record["n_failed"] == 4
    (collection,) = record["collections"]
    jsonschema.validate(collection["evaluation"], evaluate_schema())
    assert [system["name"] for system in collection["systems"]] == ["one", "picky"]
    assert collection["systems"][1]["failures"][0] == {
        "query": "q3", "reason": "ValueError: I do not like q3", "attempts": 2, "text": "text 3", "repetition": 1,
    }  # fmt: skip
    assert collection["comparison"]["groups"][0]["comparisons"][0]["systems"] == {"a": "one", "b": "picky"}
    assert collection["systems"][0]["costs"]["latency_ms"]["n"] == 37


def test_json_without_any_answer_follows_its_schema_too(run, small):
    (small.folder / f"{small.module}.py").write_text("def never(query):\n    raise OSError('down')\n")
    small.write('[systems.never]\ntype = "python"\nfunction = "MODULE:never"\n')
    outcome = run("--format", "json")
    jsonschema.validate(json.loads(outcome.out), run_schema())
    assert outcome.code == 1
    assert "Nothing was retrieved" in run().out


def test_text_shows_quality_beside_cost(run, small):
    small.write(SYSTEMS)
    outcome = run("--only", "one")
    assert outcome.code == 0
    assert re.search(r"system +nDCG@10 .* p50 ms +p95 ms +queries/s +failed", outcome.out)
    mean = re.search(r"one +(0\.\d{4})", outcome.out)[1]
    said = rf"since the last run:\n  one: nDCG@10 {mean}, the first stored run\nstored: one [0-9a-f]{{8}}\n"
    assert re.fullmatch(said, outcome.err)
    assert run("--only", "one", "--no-store").err == ""
    assert "picky" not in outcome.out
    with_failures = run()
    assert with_failures.code == 1
    assert "picky: 4 of 40 queries failed and count 0." in " ".join(with_failures.out.split())
    assert "ValueError: I do not like q13" in with_failures.out


@pytest.mark.parametrize("name", ["report.html", "report.md", "report.tex", "report.txt"])
def test_a_report_in_a_file(run, small, name):
    small.write(SYSTEMS)
    outcome = run("-o", name)
    assert outcome.out == ""
    assert f"the report is in {name}" in outcome.err
    text = (small.folder / name).read_text()
    for words in ("Quality and cost", "4 of 40 queries failed", "p99", "q13"):
        assert words in text
    assert ("Quality and latency" in text) == (name != "report.txt")


def test_several_collections_in_one_page(run, small):
    small.write(SYSTEMS)
    file = small.folder / "rankscope.toml"
    file.write_text(file.read_text().replace("[systems.one]", '[collections.again]\npath = "small"\n[systems.one]'))
    assert run("-o", "report.html").code == 1
    html = (small.folder / "report.html").read_text()
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)), "every id is there once"
    named = {name for names in re.findall(r'aria-labelledby="([^"]+)"', html) for name in names.split()}
    assert named <= set(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(ids)
    record = json.loads(run("--format", "json", "--collection", "again").out)
    assert [collection["name"] for collection in record["collections"]] == ["again"]


def test_collections_in_several_languages_are_kept_apart_and_their_spread_is_shown(run, small):
    small.write(SYSTEMS.partition("[systems.picky]")[0])
    file = small.folder / "rankscope.toml"
    german = '[collections.german]\npath = "small"\nattributes = { language = "de" }\n'
    text = file.read_text().replace('path = "small"\n', 'path = "small"\nattributes = { language = "en" }\n')
    file.write_text(text.replace("[systems.one]", f"{german}[systems.one]"))
    record = json.loads(run("--format", "json").out)
    jsonschema.Draft202012Validator(run_schema()).validate(record)
    mean = record["collections"][0]["evaluation"]["runs"][0]["mean"]["nDCG@10"]
    assert record["languages"] == [
        {"system": "one", "by_language": {"en": mean, "de": mean}, "mean": pytest.approx(mean), "variance": 0.0}
    ]
    shown = " ".join(run().out.split())
    assert "nDCG@10 across languages" in shown
    assert f"{mean:.3f} (de) to {mean:.3f} (en)" in shown
    assert "variance" not in shown
    file.write_text(text.replace("[systems.one]", f"{german}{german.replace('german', 'more')}[systems.one]"))
    shown = " ".join(run().out.split())
    assert "across languages" not in shown.partition("There is no table across languages")[0]
    assert (
        "There is no table across languages: it takes one collection in each, and here are 1 in en, 2 in de." in shown
    )
    assert "no table across languages" not in run("--collection", "german", "--collection", "more").out


def test_a_sweep_is_shown_with_its_curve(run, small):
    small.write('[systems.words]\ntype = "bm25"\nk1 = [0.5, 1.5]\nb = [0.2, 0.9]\n')
    pytest.importorskip("bm25s")
    assert run("-o", "report.html").code == 0
    html = (small.folder / "report.html").read_text()
    assert "Chosen: words" in html
    assert "nDCG@10 over k1" in html
    text = " ".join(run().out.split())
    assert re.search(r"k1 = [\d.]+, b = [\d.]+ had the best nDCG@10 of 4 tried", text)
    assert "half of the queries were drawn to choose on" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "two"], "there is no system 'two' to run"),
        (["--collection", "large"], "there is no collection 'large' to run"),
        (["--reveal"], "there is nothing to reveal"),
        (["--k", "0"], "k is 0"),
        (["-o", "report.pdf"], ".pdf is not written here: 'report.pdf'"),
        (["--format", "pdf"], "--format pdf is not one of"),
        (["nowhere.toml"], "nowhere.toml"),
    ],
)
def test_what_cannot_be_run(run, small, arguments, message):
    small.write(SYSTEMS)
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert not small.asked


def test_a_project_elsewhere(run, small, tmp_path_factory, monkeypatch):
    small.write(SYSTEMS)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    outcome = run(small.folder / "rankscope.toml", "--only", "one", "-o", "here.md")
    assert outcome.code == 0
    assert (elsewhere / "here.md").exists()
    assert (small.folder / "results" / "runs" / "small" / "one.trec.gz").exists()
    assert run(small.folder, "--only", "one").code == 0


def test_progress_is_drawn_where_somebody_looks():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with progress_bars(terminal) as watch:
        watch("small · bm25: indexing", 10, 30)
        watch("small · bm25: indexing", 30, 30)
    assert "small · bm25: indexing" in terminal.getvalue()
    assert "30/30" in terminal.getvalue()
    quiet = io.StringIO()
    with progress_bars(quiet) as watch:
        watch("small · bm25: indexing", 30, 30)
    assert quiet.getvalue() == ""


def test_a_project_without_systems(run, small):
    small.write("")
    outcome = run()
    assert outcome.code == 2
    assert "rankscope.toml names no system" in outcome.err


@pytest.mark.slow
def test_the_smallest_project_file_on_scifact(run, tmp_path, monkeypatch):
    """Figures of the collection's own notes: BM25 has an nDCG@10 of 0.679 there."""
    for package in ("bm25s", "wordllama"):
        pytest.importorskip(package)
    if not (SHARED / "scifact").is_dir():
        pytest.skip("the collection scifact is not there")
    (tmp_path / "rankscope.toml").write_text(
        f'[collections.scifact]\npath = "{SHARED / "scifact"}"\n[systems.bm25]\ntype = "bm25"\n'
        '[systems.dense]\ntype = "dense"\n[systems.hybrid]\ntype = "hybrid"\nof = ["bm25", "dense"]\n'
    )
    monkeypatch.chdir(tmp_path)
    outcome = run("--format", "json")
    assert outcome.code == 0
    record = json.loads(outcome.out)
    jsonschema.validate(record, run_schema())
    (collection,) = record["collections"]
    means = {each["name"]: each["mean"]["nDCG@10"] for each in collection["evaluation"]["runs"]}
    assert means["bm25"] == pytest.approx(0.679, abs=0.002)
    assert set(means) == {"bm25", "dense", "hybrid"}
    assert all(system["costs"]["latency_ms"]["n"] == 197 for system in collection["systems"])
    assert all(system["costs"]["index_bytes"] > 1e6 for system in collection["systems"])
    html = run("-o", "report.html")
    assert html.code == 0
    assert "Quality and latency" in (tmp_path / "report.html").read_text()


WITH_TEXTS = """
[systems.one]
type = "python"
function = "MODULE:one"
records = true
[systems.texts]
type = "python"
function = "MODULE:texts"
records = true
[systems.picky]
type = "python"
function = "MODULE:picky"
records = true
"""


@pytest.fixture
def with_texts(small):
    """Return a project of which one system returns texts instead of ids."""
    module = small.folder / f"{small.module}.py"
    texts = "    return [(f'text {doc[1:]} of the docs', score) for doc, score in docs_for(query.id)]\n"
    module.write_text(f"{module.read_text()}\n\ndef texts(query):\n{texts}")
    small.write(WITH_TEXTS)
    return small


def test_a_system_without_ids_of_docs_is_left_out(run, with_texts):
    outcome = run()
    assert outcome.code == 2
    words = "40 of 40 queries were answered with texts instead of ids of docs"
    assert f"error: texts is left out: {words}" in outcome.err
    assert 'such as "d0", then run again' in outcome.err
    assert "44 queries failed (texts: 40, picky: 4)" in outcome.err
    text = " ".join(outcome.out.split())
    assert f"CAUTION texts is left out: {words}" in text
    assert "picky vs one" in text
    assert re.search(r"^ *texts( +-){6}.* left out$", outcome.out, flags=re.MULTILINE)


def test_json_of_a_system_that_is_left_out(run, with_texts):
    record = json.loads(run("--format", "json").out)
    jsonschema.validate(record, run_schema())
    assert record["n_left_out"] == 1
    (collection,) = record["collections"]
    assert [each["name"] for each in collection["evaluation"]["runs"]] == ["one", "picky"]
    findings = {system["name"]: system["finding"] for system in collection["systems"]}
    assert findings["texts"]["code"] == "texts_instead_of_ids"
    assert (findings["one"], findings["picky"]) == (None, None)


@pytest.mark.parametrize("name", ["report.html", "report.md", "report.tex"])
def test_every_report_says_first_what_is_left_out(run, with_texts, name):
    assert run("-o", name).code == 2
    text = (with_texts.folder / name).read_text()
    assert text.index("texts is left out: ") < text.index("Quality and cost")


def test_where_nothing_is_left_to_compare(run, with_texts):
    outcome = run("--only", "texts")
    assert outcome.code == 2
    assert "texts is left out: " in outcome.out
    assert "Nothing can be measured." in outcome.out
    assert "Nothing was retrieved" not in outcome.out


def write_strange(small):
    """Add a system to the project that returns ids of another collection."""
    strange = "def strange(query):\n    return [(f'x{doc}', score) for doc, score in docs_for(query.id)]\n"
    (small.folder / "strange_ids.py").write_text(f"from {small.module} import docs_for\n\n\n{strange}")
    small.write(WITH_TEXTS + "[systems.strange]\ntype = 'python'\nfunction = 'strange_ids:strange'\nrecords = true\n")


def test_anyway_it_is_compared(run, with_texts):
    write_strange(with_texts)
    outcome = run("--anyway", "--only", "one", "--only", "strange", "--no-store")
    assert (outcome.code, outcome.err) == (0, "")
    assert "It is compared anyway." in " ".join(outcome.out.split())
    assert "strange vs one" in outcome.out


PAIR = """
[systems.one]
type = "python"
function = "MODULE:one"
records = true
[systems.worst]
type = "python"
function = "MODULE:worst"
records = true
"""
WORST = "def worst(query):\n    return [(f'd{doc}', 1 - doc / 40) for doc in range(30) if f'd{doc}' != f'd{int(query.id[1:]) % 30}']\n"


@pytest.fixture
def with_worst(small):
    """Return a project of which the second system never finds the relevant doc."""
    module = small.folder / f"{small.module}.py"
    module.write_text(f"{module.read_text()}\n\n{WORST}")
    small.write(PAIR)
    return small


def test_the_gate_fails_where_a_system_is_worse(run, with_worst):
    assert run().code == 0  # nobody asked for a gate
    outcome = run("--fail-if-worse")
    assert outcome.code == 1
    assert "gate: worst vs one: failed: worst is worse." in outcome.err
    assert "VERDICT   Keep one: worst is worse, by 0.090 in nDCG@10." in outcome.out
    assert run("--fail-if-worse", "--baseline", "worst").code == 0
    assert run("--fail-if-worse", "-o", "gate.xml").code == 1
    assert 'failures="1" errors="0"' in (with_worst.folder / "gate.xml").read_text()


def test_the_gate_of_several_collections_names_each(run, with_worst):
    file = with_worst.folder / "rankscope.toml"
    file.write_text(file.read_text().replace("[systems.one]", '[collections.again]\npath = "small"\n[systems.one]'))
    outcome = run("--fail-if-worse")
    assert outcome.code == 1
    for name in ("small", "again"):
        assert f"gate: worst vs one ({name}): failed: worst is worse." in outcome.err


def test_failed_queries_and_left_out_systems_are_errors_of_the_gate(run, small, with_texts):
    small.write(SYSTEMS)  # picky fails on 4 of 40 queries, which is not more than 10 %
    assert run("--fail-if-worse").code in (0, 1)
    outcome = run("--fail-if-worse", "--allow-missing", "0.05")
    assert outcome.code == 2
    assert "picky does not answer 4 of 40 queries (10%; at most 5% are allowed)" in outcome.err
    small.write(WITH_TEXTS)
    outcome = run("--fail-if-worse")
    assert outcome.code == 2
    assert "gate: texts: error: It is left out" in outcome.err
    write_strange(small)
    kept = run("--fail-if-worse", "--anyway", "--only", "one", "--only", "strange")
    assert kept.code == 2
    assert "strange and one are not comparable." in kept.out


def test_one_system_is_nothing_to_compare(run, with_worst):
    outcome = run("--fail-if-worse", "--only", "one")
    assert outcome.code == 2
    assert "There are not two systems to compare." in outcome.err
