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


# One Parquet file, in which queries cross the borders of row groups


@pytest.fixture
def table(parts, tmp_path, monkeypatch):
    """Put one file of several row groups here and there, and let runs be cut into small parts."""
    rows = rs.load_run("bm25.run").to_polars()
    rows.write_parquet("bm25.parquet", row_group_size=30)
    parts.put_file(tmp_path / "bm25.parquet", "one/bm25.parquet")
    monkeypatch.setattr(sharded, "SMALLEST_DEALT", 30 * 36)
    monkeypatch.setattr(sharded, "SMALLEST_PIECE", 30 * 36)
    monkeypatch.setattr(sharded, "SMALLEST_TABLE", 30 * 36)
    return "s3://rankings/one/bm25.parquet"


def rows_of(shards) -> list[tuple[int, int]]:
    return [(shard.start, shard.end) for shard in shards]


@pytest.mark.parametrize("n", [1, 2, 6, 1000])
def test_parquet_is_cut_as_it_is_here(table, n):
    there = rs.shards_of(table, n=n)
    assert rows_of(there) == rows_of(rs.shards_of("bm25.parquet", n=n))
    assert {(shard.n_rows, bool(shard.version)) for shard in there} == {(len(LINES), True)}
    parts = [rs.score_shard("qrels.txt", shard, "RR") for shard in there]
    whole = rs.evaluate("qrels.txt", "bm25.parquet", "RR")
    assert rs.Scores.concat(parts, "qrels.txt").runs[0].values.tobytes() == whole.runs[0].values.tobytes()


@pytest.mark.parametrize("ties", ["trec", "given"])
@pytest.mark.parametrize("how", [{"memory": "64MB"}, {"keep": "kept"}, {"workers": 2}], ids=str)
def test_parts_of_parquet_score_as_all_of_it(table, how, ties):
    states: list[rs.JobState] = []
    found = [rs.evaluate("qrels.txt", table, ties=ties, progress=states.append, **how) for _ in range(2)]
    here = rs.evaluate("qrels.txt", "bm25.parquet", ties=ties)
    assert {scores.runs[0].values.tobytes() for scores in found} == {here.runs[0].values.tobytes()}
    assert states[-1].total > 1
    assert states[-1].kept == (states[-1].total if "keep" in how else 0)
    assert found[0].runs[0].origin.sha256.startswith("etag:")


def test_rows_in_no_order_are_regrouped(table, parts, tmp_path):
    import polars as pl

    mixed = pl.read_parquet("bm25.parquet").sample(fraction=1, shuffle=True, seed=1)
    mixed.write_parquet("mixed.parquet", row_group_size=30)
    url = parts.put_file(tmp_path / "mixed.parquet")
    found = rs.evaluate("qrels.txt", url, memory="64MB")
    assert found.runs[0].values.tobytes() == rs.evaluate("qrels.txt", "bm25.parquet").runs[0].values.tobytes()
    assert any("regrouped" in note for note in found.notes)


def test_of_a_part_only_its_row_groups_are_fetched(table, parts, tmp_path, monkeypatch):
    import os

    import polars as pl

    from rankscope.io import remote, remote_parquet

    monkeypatch.setattr(remote_parquet, "_GAP_BYTES", 100)
    monkeypatch.setattr(remote, "HEAD_BYTES", 4096)
    rows = pl.read_parquet("bm25.parquet")
    long = pl.col("doc") + pl.Series([os.urandom(5_000).hex() for _ in range(len(rows))])
    rows.with_columns(long).write_parquet("long.parquet", row_group_size=12)
    url = parts.put_file(tmp_path / "long.parquet")
    shards = rs.shards_of(url, n=14)
    asked = []
    read = remote_parquet.remote_bytes
    monkeypatch.setattr(
        remote_parquet, "remote_bytes", lambda file, start, end: asked.append(end - start) or read(file, start, end)
    )
    rs.score_shard("qrels.txt", shards[3], "RR")
    assert sum(asked) < (tmp_path / "long.parquet").stat().st_size / 5


@pytest.mark.parametrize("how", [{"memory": "64MB"}, {"workers": 2}, {"keep": "kept"}], ids=str)
def test_a_table_that_is_replaced_between_its_parts_is_refused(table, parts, how, monkeypatch):
    other = remote_bytes(table).replace(b"bm25", b"bm26")
    [first, *_] = rs.shards_of(table, n=6)
    before_it_is_read(monkeypatch, lambda: parts.put("one/bm25.parquet", other))
    with pytest.raises(rs.InputError, match=r"bm25\.parquet changed while it was read"):
        rs.evaluate("qrels.txt", table, **how)
    with pytest.raises(rs.InputError, match=r"bm25\.parquet changed while it was read"):
        rs.score_shard("qrels.txt", first, "RR")


def test_a_row_without_a_doc_is_named_by_its_place_in_the_file(table, parts, tmp_path):
    import polars as pl

    rows = pl.read_parquet("bm25.parquet").with_row_index()
    without = rows.with_columns(doc=pl.when(pl.col("index") == 100).then(None).otherwise(pl.col("doc"))).drop("index")
    without.write_parquet("bad.parquet", row_group_size=30)
    url = parts.put_file(tmp_path / "bad.parquet")
    with pytest.raises(rs.InputError, match=r"bad\.parquet:101: the doc id is missing"):
        rs.evaluate("qrels.txt", url, memory="64MB")
