"""A run in many files of a bucket is one run, whatever the files are, and scores as the one file does."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.demo import demo_file
from rankscope.io.remote import remote_bytes

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
LINES = demo_file("bm25.run").read_text().splitlines(keepends=True)


@pytest.fixture
def parts(bucket, tmp_path, monkeypatch):
    """Put the queries of a run into three files, in each of three formats."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_bytes(demo_file("qrels.txt").read_bytes())
    (tmp_path / "bm25.run").write_text("".join(LINES))
    queries = list(dict.fromkeys(line.split()[0] for line in LINES))
    for part in range(3):
        chosen = set(queries[part::3])
        text = "".join(line for line in LINES if line.split()[0] in chosen)
        (tmp_path / f"part-{part}.trec").write_text(text)
        bucket.put(f"text/part-{part}.trec", text)
        for ending in ("parquet", "trec.zst"):
            rs.write_run(f"part-{part}.trec", f"part-{part}.{ending}")
            bucket.put_file(tmp_path / f"part-{part}.{ending}", f"{ending}/part-{part}.{ending}")
    for folder in ("text", "parquet", "trec.zst"):
        bucket.put(f"{folder}/_SUCCESS", b"")
        bucket.put(f"{folder}/deeper/other.txt", b"these are notes")
    return bucket


@pytest.mark.parametrize("run", ["text/", "text/part-*", "parquet/", "parquet/part-?.parquet", "trec.zst/*.zst"])
@pytest.mark.parametrize("options", [{}, {"memory": "100MB"}], ids=str)
def test_the_same_scores(parts, run, options):
    here = rs.evaluate("qrels.txt", "bm25.run")
    there = rs.evaluate("qrels.txt", f"s3://rankings/{run}", **options)
    [one], [other] = here.runs, there.runs
    assert one.query_ids == other.query_ids
    assert one.values.tobytes() == other.values.tobytes()
    assert {measure: mean.value for measure, mean in here.mean()["bm25"].items()} == {
        measure: mean.value for measure, mean in next(iter(there.mean().values())).items()
    }
    assert there.runs[0].origin.path == f"s3://rankings/{run}"
    assert there.runs[0].origin.sha256


def test_in_other_processes(parts):
    here = rs.evaluate("qrels.txt", "bm25.run")
    there = rs.evaluate("qrels.txt", "s3://rankings/text/", workers=2, keep="kept")
    assert here.runs[0].values.tobytes() == there.runs[0].values.tobytes()
    again = rs.evaluate("qrels.txt", "s3://rankings/text/", workers=2, keep="kept")
    assert here.runs[0].values.tobytes() == again.runs[0].values.tobytes()


def test_a_file_that_changed_is_scored_again(parts):
    first = rs.evaluate("qrels.txt", "s3://rankings/text/", keep="kept")
    before = remote_bytes("s3://rankings/text/part-0.trec").decode()
    parts.put("text/part-0.trec", before.replace(" 11.5 ", " -11.5 "))
    second = rs.evaluate("qrels.txt", "s3://rankings/text/", keep="kept")
    assert first.runs[0].values.tobytes() != second.runs[0].values.tobytes()


def test_a_query_in_two_files(parts, tmp_path):
    parts.put("text/part-9.trec", "quick-vegan-dinner Q0 zzz 1 0.01 bm25\n")
    (tmp_path / "bm25.run").write_text("".join([*LINES, "quick-vegan-dinner Q0 zzz 1 0.01 bm25\n"]))
    here, there = rs.evaluate("qrels.txt", "bm25.run"), rs.evaluate("qrels.txt", "s3://rankings/text/")
    assert here.runs[0].values.tobytes() == there.runs[0].values.tobytes()
