"""A run in many files of a bucket is one run, whatever the files are, and scores as the one file does."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.align import sharded
from rankscope.data.sharded import ShardedSource
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


def before_it_is_read(monkeypatch, act) -> None:
    """Do something when a run has been listed and nothing of it has been read."""
    cut = ShardedSource.cut

    def watched(source, *given, **how):
        found = cut(source, *given, **how)
        act()
        return found

    monkeypatch.setattr(ShardedSource, "cut", watched)


@pytest.mark.parametrize("run", ["text/", "text/part-*", "parquet/", "text/part-0.trec"])
@pytest.mark.parametrize("how", [{}, {"memory": "100MB"}, {"workers": 2}], ids=str)
def test_a_file_that_is_replaced_meanwhile_is_refused(parts, run, how, monkeypatch):
    """Some rows would be of the one run and some of the other: such scores belong to neither."""
    name = "text/part-0.trec" if run.startswith("text") else "parquet/part-1.parquet"
    other = remote_bytes(f"s3://rankings/{name}").replace(b"bm25", b"bm26")
    options = how or {"keep": "kept"}
    before_it_is_read(monkeypatch, lambda: parts.put(name, other))
    with pytest.raises(rs.InputError, match=rf"{name} changed while it was read"):
        rs.evaluate("qrels.txt", f"s3://rankings/{run}", **options)


def test_a_file_that_is_replaced_between_two_parts_is_refused(parts, monkeypatch):
    other = remote_bytes("s3://rankings/text/part-2.trec").replace(b"bm25", b"bm26")
    align = sharded.align_shard

    def watched(*given, **how):
        parts.put("text/part-2.trec", other)
        return align(*given, **how)

    monkeypatch.setattr(sharded, "align_shard", watched)
    with pytest.raises(rs.InputError, match=r"part-2\.trec changed while it was read"):
        rs.evaluate("qrels.txt", "s3://rankings/text/", memory="100MB")


def test_shards_are_of_the_files_that_were_listed(parts):
    shards = rs.shards_of("s3://rankings/text/")
    content = remote_bytes(shards[0].path).decode()
    parts.put("text/part-0.trec", content.replace(" 11.5 ", " -11.5 "))
    with pytest.raises(rs.InputError, match=r"part-0\.trec changed while it was read"):
        rs.score_shard("qrels.txt", shards[0], "RR")
    with pytest.raises(rs.InputError, match=r"part-0\.trec changed while it was read"):
        rs.evaluate("qrels.txt", shards, "RR")
    rs.score_shard("qrels.txt", shards[1], "RR")
    rs.score_shard("qrels.txt", rs.shards_of("s3://rankings/text/")[0], "RR")


@pytest.mark.parametrize("how", [{}, {"memory": "100MB"}], ids=str)
def test_the_digest_is_of_what_was_scored(parts, how):
    before = rs.evaluate("qrels.txt", "s3://rankings/text/", **how).runs[0].origin
    same = rs.evaluate("qrels.txt", "s3://rankings/text/", **how).runs[0].origin.sha256
    parts.put("text/part-0.trec", remote_bytes("s3://rankings/text/part-0.trec").replace(b"bm25", b"bm26"))
    assert before.sha256 == same
    assert rs.evaluate("qrels.txt", "s3://rankings/text/", **how).runs[0].origin.sha256 != same


def test_a_query_in_two_files(parts, tmp_path):
    parts.put("text/part-9.trec", "quick-vegan-dinner Q0 zzz 1 0.01 bm25\n")
    (tmp_path / "bm25.run").write_text("".join([*LINES, "quick-vegan-dinner Q0 zzz 1 0.01 bm25\n"]))
    here, there = rs.evaluate("qrels.txt", "bm25.run"), rs.evaluate("qrels.txt", "s3://rankings/text/")
    assert here.runs[0].values.tobytes() == there.runs[0].values.tobytes()
