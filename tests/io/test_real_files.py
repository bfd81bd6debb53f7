"""Files of evaluation campaigns; the expected numbers come from their documentation, `wc` and `zcat | head`."""

from __future__ import annotations

import pytest

from rankscope.io.conversion import convert
from rankscope.io.detection import detect
from rankscope.io.read import read_qrels, read_run

COVID_ROWS = {
    "10x10.prf.unipd.it": 30_000,
    "CincyMedIR-run1": 29_970,
    "SFDC-23April-run1": 27_399,
    "lda400s2000": 1_972,
}


@pytest.mark.parametrize("name", COVID_ROWS)
def test_runs_of_trec_covid(shared_data, name):
    read = read_run(shared_data / "runs" / "trec-covid-round1" / "runs" / f"{name}.gz")
    assert (read.format, read.compression, read.rows.tag) == ("trec", "gz", name)
    assert len(read.rows) == COVID_ROWS[name]
    assert read.rows.rank is not None


def test_every_run_is_recognised(shared_data):
    paths = sorted(shared_data.glob("runs/*/runs/*.gz"))
    assert paths
    assert {(detect(path).format, detect(path).kind) for path in paths} == {("trec", "run")}


def test_qrels_of_trec_covid(shared_data):
    rows = read_qrels(shared_data / "runs" / "trec-covid-round1" / "qrels.trec.gz").rows
    assert len(rows) == 8_691
    assert len(set(rows.query)) == 30
    assert set(rows.grade.tolist()) == {0.0, 1.0, 2.0}
    assert (rows.query[0], rows.subtopic[0], rows.doc[0], rows.grade[0]) == ("1", "0.5", "010vptx3", 2.0)


def test_robust_2003(shared_data):
    folder = shared_data / "runs" / "robust03"
    qrels = read_qrels(folder / "qrels.trec.gz").rows
    assert (len(qrels), qrels.subtopic) == (128_796, None)
    run = read_run(folder / "runs" / "uic0301.gz").rows
    assert len(run) == 99_969
    assert (run.query[0], run.doc[0], run.rank[0], run.score[0]) == ("303", "FT921-7107", 0, 1000.0)


def test_web_2012_has_subtopics(shared_data):
    folder = shared_data / "runs" / "web2012-diversity"
    rows = read_qrels(folder / "qrels.ndeval.gz").rows
    assert len(rows) == 59_736
    assert (rows.query[0], rows.subtopic[:3]) == ("151", ["1", "2", "3"])
    assert set(rows.query) == {str(query) for query in range(151, 201)}
    assert read_qrels(folder / "qrels.adhoc.gz").rows.subtopic is None
    assert read_qrels(folder / "qrels.adhoc.gz").rows.grade[0] == -2.0


@pytest.mark.parametrize(("name", "n_rows", "n_queries"), [("scifact", 339, 300), ("cranfield", 1_837, 225)])
def test_collections(shared_data, tmp_path, name, n_rows, n_queries):
    path = shared_data / "collections" / name / "qrels.trec"
    done = convert(path, tmp_path / "qrels.tsv", target_format="beir")
    assert (done.kind, done.n_rows, done.n_queries) == ("qrels", n_rows, n_queries)
    before, after = read_qrels(path).rows, read_qrels(tmp_path / "qrels.tsv").rows
    assert (list(before.query), list(before.doc)) == (list(after.query), list(after.doc))
    assert before.grade.tolist() == after.grade.tolist()


def test_a_collections_text_is_no_run(shared_data):
    assert detect(shared_data / "collections" / "scifact" / "corpus.jsonl.gz").kind is None
