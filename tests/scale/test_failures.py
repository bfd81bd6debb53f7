"""What goes wrong with shards: each is found and said, or makes no difference to a single bit."""

import gzip
import json
import os
import pickle
import pickletools
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import rankscope as rs
from rankscope.align import kernel, sharded
from rankscope.align.shard_hits import Clash, ShardHits, decoded, encoded, nothing
from rankscope.data import sharded as sources
from rankscope.errors import BadLine, BadLinesError
from rankscope.io import shards
from rankscope.io.shards import ByteRange, RowGroups, WholeFile, cut_text
from rankscope.light import asdict, replace
from rankscope.measures import shard_scores

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")

QRELS = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(0, 30, 4)} for q in range(40)}
ROWS = [(f"q{q}", f"d{(7 * d + q) % 31}", d + 1, float((d * q) % 5)) for q in range(45) for d in range(25)]
LINES = [f"{query} Q0 {doc} {rank} {score!r} t" for query, doc, rank, score in ROWS]
MEASURES = "nDCG@10 AP RR ERR RBP Bpref Judged@5"


def scores_of(run, **how):
    return rs.evaluate(QRELS, {"r": run}, MEASURES, **how)["r"]


def bits(scores: rs.RunScores) -> bytes:
    return scores.values.tobytes()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Let parts be so small that a few lines fill one."""
    monkeypatch.setattr(sharded, "room_in", lambda *_: 700)
    monkeypatch.setattr(sharded, "SMALLEST_PIECE", 300)
    monkeypatch.setattr(sharded, "TABLE_SHARE", 1.0)
    monkeypatch.setattr(sharded, "SMALLEST_TABLE", 700)


@pytest.fixture
def whole(write_file):
    return write_file("\n".join(LINES) + "\n", "whole.run")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Return the folder in which temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def write_parts(folder: Path, cuts: list[int], lines=LINES) -> Path:
    folder.mkdir()
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
        (folder / f"part-{i:03d}.run").write_text("".join(f"{line}\n" for line in lines[start:stop]))
    return folder


def frame(rows=ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query", "doc", "rank", "score"], orient="row")


def on_part(monkeypatch, number: int, act) -> None:
    """Do something right before a part is aligned."""
    align, seen = sharded.align_shard, []

    def watched(*given, **how):
        seen.append(1)
        if len(seen) == number:
            act()
        return align(*given, **how)

    monkeypatch.setattr(sharded, "align_shard", watched)


def test_a_file_that_is_removed_during_the_job_is_said(whole, monkeypatch):
    on_part(monkeypatch, 3, whole.unlink)
    with pytest.raises(rs.InputError, match=r"whole\.run cannot be read: No such file"):
        scores_of(whole, memory="256MB")


def test_a_file_that_becomes_shorter_is_said(whole, monkeypatch):
    on_part(monkeypatch, 3, lambda: os.truncate(whole, 900))
    with pytest.raises(rs.InputError, match=r"whole\.run changed while it was read: it had \d+ bytes and now has 900"):
        scores_of(whole, memory="256MB")


def test_a_file_that_grows_is_said(whole, monkeypatch):
    on_part(monkeypatch, 3, lambda: whole.write_text(whole.read_text() + "q1 Q0 more 1 1 t\n"))
    with pytest.raises(rs.InputError, match=r"whole\.run changed while it was read"):
        scores_of(whole, memory="256MB")


def test_parquet_that_changes_is_said(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    frame().write_parquet(path, row_group_size=50)
    on_part(monkeypatch, 3, lambda: frame(ROWS[:50]).write_parquet(path))
    with pytest.raises(rs.InputError, match=r"r\.parquet changed while it was read"):
        scores_of(path, memory="256MB")


@pytest.mark.parametrize("how", ["in place", "renamed over"])
@pytest.mark.parametrize("number", [1, 3, 100])
def test_a_file_that_becomes_another_one_of_the_same_size_and_time_is_said(whole, monkeypatch, how, number):
    """Some rows would be of the one and some of the other: such scores belong to neither."""
    other = whole.with_name("other.run")
    n_parts = len(list(cut_text(str(whole), whole.stat().st_size, 700)))

    def change() -> None:
        time.sleep(0.02)  # the clock of a file system may tick as rarely as this
        target = whole if how == "in place" else other
        target.write_bytes(whole.read_bytes().replace(b"d1 ", b"d2 "))
        os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
        target.replace(whole)

    state = whole.stat()
    on_part(monkeypatch, min(number, n_parts), change)
    with pytest.raises(rs.InputError, match=r"whole\.run was changed while it was read"):
        scores_of(whole, memory="256MB")


@pytest.mark.parametrize("how", ["plain", "gz"])
def test_a_bad_line_has_the_number_that_it_has_in_the_file(write_file, how):
    lines = [*LINES[:613], "this is no row", *LINES[613:]]
    text = "\n".join(lines).encode()
    path = write_file(gzip.compress(text) if how == "gz" else text, "bad.run" + (".gz" if how == "gz" else ""))
    with pytest.raises(BadLinesError, match=r"bad\.run(\.gz)?:614: ") as raised:
        scores_of(path, memory="256MB")
    with pytest.raises(BadLinesError) as at_once:
        scores_of(path)
    assert raised.value.bad_lines == at_once.value.bad_lines
    assert raised.value.hint == at_once.value.hint
    assert raised.value.message == f"{at_once.value.message}\nthere may be more: not all was read"


@pytest.mark.parametrize("shuffled", [False, True])
def test_bad_lines_that_may_be_left_out_are_counted_and_named(write_file, shuffled, engine):
    lines = LINES if not shuffled else [LINES[(i * 7) % len(LINES)] for i in range(len(LINES))]
    path = write_file("\n".join([*lines[:613], "no row", *lines[613:900], "nor this", *lines[900:]]), "bad.run")
    lenient = rs.ReadOptions(lenient=True)
    with pytest.warns(
        rs.RankscopeWarning, match=r"2 bad lines of .*bad\.run were skipped; the first is .*bad\.run:614"
    ):
        found = scores_of(path, memory="256MB", options=lenient)
    with pytest.warns(rs.RankscopeWarning, match="2 bad lines"):
        assert bits(found) == bits(scores_of(path, options=lenient))


def test_a_bad_line_among_rows_in_no_order_is_found_where_it_is(write_file, scratch):
    lines = [LINES[(i * 7) % len(LINES)] for i in range(len(LINES))]
    path = write_file("\n".join([*lines[:1000], "no row", *lines[1000:]]), "bad.run")
    with pytest.raises(BadLinesError, match=r"bad\.run:1001: "):
        scores_of(path, memory="256MB")
    assert not list(scratch.iterdir())


def test_a_bad_row_of_parquet_has_its_number(tmp_path):
    rows = [*ROWS[:613], ("q1", None, 1, 1.0), *ROWS[613:]]
    frame(rows).write_parquet(tmp_path / "r.parquet", row_group_size=50)
    with pytest.raises(BadLinesError, match=r"r\.parquet:614: the doc id is missing\n    row 614: "):
        scores_of(tmp_path / "r.parquet", memory="256MB")


def frame_with_gaps(column: str, places: list[int], rows=ROWS) -> pl.DataFrame:
    gap = pl.int_range(pl.len()).is_in(places)
    return frame(rows).with_columns(pl.when(gap).then(None).otherwise(pl.col(column)).alias(column))


@pytest.mark.parametrize("measures", [MEASURES, "Uniqueness@10"])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("column", ["query", "doc", "score"])
def test_rows_that_lack_something_are_left_out_in_parts_as_at_once(tmp_path, column, shuffled, measures, engine):
    """Some right before a place where the run may be cut, and all rows of some row groups."""
    places = [24, 49, 74, 99, 124, 149, *range(600, 710), len(ROWS) - 1]
    rows = [ROWS[(i * 7) % len(ROWS)] for i in range(len(ROWS))] if shuffled else ROWS
    path, lenient = tmp_path / "r.parquet", rs.ReadOptions(lenient=True)
    frame_with_gaps(column, places, rows).write_parquet(path, row_group_size=50)
    at_once = rs.evaluate(QRELS, path, measures, options=lenient).runs[0]
    assert bits(rs.evaluate(QRELS, path, measures, options=lenient, memory="256MB").runs[0]) == bits(at_once)
    with pytest.raises(BadLinesError, match=r"r\.parquet:25: .*\n    row 25: "):
        rs.evaluate(QRELS, path, measures, memory="256MB")


def test_parquet_is_not_cut_within_a_query_around_rows_that_have_none(tmp_path):
    """By hand: q1 has rows 3 to 7, of which rows 5 and 6 lack it; a cut at row 4 or later goes behind row 7."""
    queries = ["q0", "q0", "q1", "q1", None, None, "q1", "q2", "q2", None]
    table = pl.DataFrame({"query": queries, "doc": [f"d{i}" for i in range(10)], "score": [1.0] * 10})
    table.write_parquet(tmp_path / "r.parquet", row_group_size=2)
    shards = rs.shards_of(tmp_path / "r.parquet", n=10)
    assert [(shard.start, shard.end) for shard in shards] == [(0, 2), (2, 7), (7, 10)]
    table[3:6].with_columns(query=pl.lit(None, pl.String)).write_parquet(tmp_path / "none.parquet", row_group_size=1)
    assert len(rs.shards_of(tmp_path / "none.parquet", n=3)) == 1


def test_parquet_of_many_row_groups_is_read_a_few_times_while_it_is_cut(tmp_path, monkeypatch):
    frame().write_parquet(tmp_path / "r.parquet", row_group_size=5)
    reads, real = [], shards.query_column

    def watched(path, columns):
        read = real(path, columns)
        return lambda start, n_rows: reads.append(start) or read(start, n_rows)

    expected = [(shard.start, shard.end) for shard in rs.shards_of(tmp_path / "r.parquet", n=45)]
    assert expected == [(start, start + 25) for start in range(0, len(ROWS), 25)]
    monkeypatch.setattr(shards, "query_column", watched)
    monkeypatch.setattr(shards, "_LOOK_AHEAD_ROWS", 100)
    assert [(shard.start, shard.end) for shard in rs.shards_of(tmp_path / "r.parquet", n=45)] == expected
    assert len(reads) < 15  # and not twice for each of the 45 shards


def test_that_ids_are_whole_numbers_is_said_of_rows_that_are_regrouped(tmp_path):
    rows = [ROWS[(i * 7) % len(ROWS)] for i in range(len(ROWS))]
    table = frame(rows).with_columns(pl.col("query", "doc").str.slice(1).cast(pl.Int64))
    table.write_parquet(tmp_path / "r.parquet", row_group_size=60)
    qrels = {query[1:]: {doc[1:]: grade for doc, grade in docs.items()} for query, docs in QRELS.items()}
    expected = rs.evaluate(qrels, tmp_path / "r.parquet", "RR").notes
    assert [note.split(" are whole numbers in the run")[0] for note in expected] == ["r: doc ids", "r: query ids"]
    found = rs.evaluate(qrels, tmp_path / "r.parquet", "RR", memory="256MB").notes
    assert set(expected) < set(found)
    assert any("regrouped" in note for note in found)


def test_a_judged_query_that_is_not_utf_8_does_not_matter_to_files_without_it(tmp_path, write_file):
    """By hand: of the two rows of q2 one is another doc, and the first query is not answered."""
    qrels = write_file(b"w\xe9 0 a 1\nq2 0 a 1\n", "qrels.txt")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "1.run").write_text("q2 Q0 a 1 2 t\nq2 Q0 a 2 1 t\n")
    scores = rs.evaluate(qrels, folder, "Uniqueness@10", duplicates="first").runs[0]
    assert dict(zip(scores.query_ids, scores.values[:, 0].tolist(), strict=True))["q2"] == 0.5
    (folder / "2.run").write_bytes(b"w\xe9 Q0 a 1 2 t\n")
    scores = rs.evaluate(qrels, folder, "Uniqueness@10", duplicates="first").runs[0]
    assert sorted(scores.values[:, 0].tolist()) == [0.5, 1.0]


def test_the_shards_that_have_rows_of_one_query_are_named_in_their_order(whole):
    size = whole.stat().st_size
    middle = whole.read_text().index("q10 Q0") + len("q10 Q0 d8 1 0.0 t\n") * 5
    middle = whole.read_text().index("\n", middle) + 1
    halves = [ByteRange(str(whole), 0, middle), ByteRange(str(whole), middle, size)]
    for order in (halves, halves[::-1]):
        with pytest.raises(rs.InputError, match=rf"bytes 0 to {middle}\) and in .*bytes {middle} to {size}"):
            rs.Scores.concat([rs.score_shard(QRELS, shard, "AP") for shard in order], QRELS)


@pytest.mark.parametrize("ending", ["gz", "csv"])
def test_a_file_that_cannot_be_cut_and_is_another_one_by_now_is_refused(write_file, ending):
    rows = "query,doc,score\nq1,d1,2\nq1,d2,1\n"
    content = rows.encode() if ending == "csv" else gzip.compress(b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\n")
    path = write_file(content, f"r.{ending}")
    (shard,) = rs.shards_of(path)
    assert rs.score_shard({"q1": {"d2": 1}}, shard, ["RR"]).values.tolist() == [[0.5]]
    other = f"{rows}q2,d1,2\n".encode() if ending == "csv" else gzip.compress(b"q1 Q0 d2 1 2 t\n")
    path.write_bytes(other)
    with pytest.raises(rs.InputError, match=f"it had {len(content)} bytes"):
        rs.score_shard({"q1": {"d2": 1}}, shard, ["RR"])


def test_a_shard_that_is_listed_twice_is_refused(whole):
    shards = rs.shards_of(whole, n=4)
    assert len(shards) == 4
    assert bits(scores_of(shards)) == bits(scores_of(whole))
    with pytest.raises(rs.InputError, match="is listed twice"):
        scores_of([*shards, shards[1]])
    overlapping = ByteRange(str(whole), 0, shards[1].end)
    with pytest.raises(rs.InputError, match="overlap"):
        scores_of([shards[0], overlapping])


def test_the_order_of_shards_does_not_matter(whole):
    shards = rs.shards_of(whole, n=9)
    assert bits(scores_of(shards[::-1])) == bits(scores_of(whole))


@pytest.mark.parametrize("ties", ["trec", "given", "ascending"])
@pytest.mark.usefixtures("engine")
def test_a_query_in_two_shards_is_put_together(tmp_path, whole, scratch, ties):
    folder = write_parts(tmp_path / "parts", [260])  # in the middle of a query
    scores = rs.evaluate(QRELS, {"r": folder}, MEASURES, ties=ties)
    assert bits(scores["r"]) == bits(scores_of(whole, ties=ties))
    assert any("those of 'q10' do not" in note and "regrouped" in note for note in scores.notes)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("ties", ["trec", "given"])
@pytest.mark.parametrize("with_ranks", [True, False])
def test_rows_of_parquet_in_no_order_are_regrouped(tmp_path, scratch, ties, with_ranks):
    rows = [ROWS[(i * 7) % len(ROWS)] for i in range(len(ROWS))]
    table = frame(rows) if with_ranks else frame(rows).drop("rank")
    table.write_parquet(tmp_path / "r.parquet", row_group_size=60)
    found = scores_of(tmp_path / "r.parquet", memory="256MB", ties=ties)
    assert bits(found) == bits(scores_of(tmp_path / "r.parquet", ties=ties))
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("ties", ["trec", "given"])
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.with_columns(pl.col("score").cast(pl.Float32)),
        lambda table: table.with_columns(pl.col("score").cast(pl.Int64)),
        lambda table: table.with_columns(pl.col("rank").cast(pl.Int8)),
        lambda table: table.drop("rank"),
        lambda table: table.rename({"score": "sim"}).select("sim", "doc", "query", "rank"),
    ],
    ids=["single precision", "whole numbers", "small ranks", "no ranks", "other name"],
)
def test_files_whose_tables_differ_are_regrouped_together(tmp_path, scratch, ties, change):
    folder = tmp_path / "parts"
    folder.mkdir()
    first, second = frame(ROWS[:260]), change(frame(ROWS[260:]))  # in the middle of a query
    first.write_parquet(folder / "a.parquet")
    second.write_parquet(folder / "b.parquet")
    together = frame() if "rank" in second.columns else frame().drop("rank")
    together.write_parquet(tmp_path / "whole.parquet")
    scores = rs.evaluate(QRELS, {"r": folder}, MEASURES, ties=ties)
    assert any("regrouped" in note for note in scores.notes)
    assert bits(scores["r"]) == bits(scores_of(tmp_path / "whole.parquet", ties=ties))
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    "more", ["\n" * 3000, "# nothing was found\n" * 500, "no row\n" * 2000], ids=["blank", "comments", "bad lines"]
)
def test_text_without_rows_beside_tables_is_no_reason_to_stop(tmp_path, more, engine):
    folder = tmp_path / "parts"
    folder.mkdir()
    table = pl.DataFrame({"query": ["q1", "q2"], "doc": ["d", "d"], "score": [2.0, 2.0]})
    table.write_parquet(folder / "a.parquet")
    (folder / "b.trec").write_text(f"q3 Q0 d 1 1 t\n{more}")
    table.with_columns(doc=pl.lit("e"), score=pl.Series([3.0, 1.0])).write_parquet(folder / "c.parquet")
    lenient = rs.ReadOptions(lenient=True)
    found = rs.evaluate({f"q{i}": {"d": 1} for i in (1, 2, 3)}, folder, "RR", memory="256MB", options=lenient)
    assert any("regrouped" in note for note in found.notes)
    assert found.runs[0].values[:, 0].tolist() == [0.5, 1.0, 1.0]


def test_an_id_that_is_not_utf_8_beside_tables_is_named_with_its_file(tmp_path):
    table = pl.DataFrame({"query": ["q1", "q2"], "doc": ["d", "d"], "score": [2.0, 2.0]})
    folder = tmp_path / "parts"
    folder.mkdir()
    table.write_parquet(folder / "a.parquet")
    (folder / "b.trec").write_bytes(b"q3 Q0 d1 1 2 t\nq3 Q0 d\xe9 2 1 t\n")
    table.with_columns(doc=pl.lit("e")).write_parquet(folder / "c.parquet")
    with pytest.raises(rs.InputError, match=r"b\.trec: the id 'd\\udce9' holds bytes that are not UTF-8"):
        scores_of(folder, memory="256MB")


@pytest.mark.parametrize("n", [1, 2000])
def test_bad_lines_beside_tables_are_counted_and_named(tmp_path, n):
    table = pl.DataFrame({"query": ["q1", "q2"], "doc": ["d", "d"], "score": [2.0, 2.0]})
    folder = tmp_path / "parts"
    folder.mkdir()
    table.write_parquet(folder / "a.parquet")
    (folder / "b.trec").write_text("q3 Q0 d 1 1 t\n" + "no row\n" * n)
    table.with_columns(doc=pl.lit("e")).write_parquet(folder / "c.parquet")
    with pytest.warns(rs.RankscopeWarning, match=rf"{n:,} bad lines? of .* skipped; the first is .*b\.trec:2: "):
        scores_of(folder, memory="256MB", options=rs.ReadOptions(lenient=True))


@pytest.mark.parametrize("more", ["\n" * 3000, "no row\n" * 300], ids=["blank", "bad lines"])
def test_text_without_rows_between_others_is_no_reason_to_stop(write_file, more, engine):
    run = write_file(f"q1 Q0 d 1 1 t\n{more}q2 Q0 d 1 1 t\n", "r.run")
    lenient = rs.ReadOptions(lenient=True)
    found = rs.evaluate({"q1": {"d": 1}, "q2": {"d": 1}}, run, "RR", memory="256MB", options=lenient)
    assert found.runs[0].values[:, 0].tolist() == [1.0, 1.0]


def test_what_was_regrouped_is_kept(tmp_path, scratch, monkeypatch):
    run, kept = tmp_path / "mixed.run", tmp_path / "kept"
    run.write_text("".join(f"{LINES[(i * 7) % len(LINES)]}\n" for i in range(len(LINES))))
    first = scores_of(run, memory="256MB", keep=kept)
    monkeypatch.setattr(sharded, "align_shard", lambda *_, **__: pytest.fail("it is scored again"))
    states: list[rs.JobState] = []
    again = rs.evaluate(QRELS, {"r": run}, MEASURES, memory="256MB", keep=kept, progress=states.append)
    assert bits(again["r"]) == bits(first)
    assert "what was found then is kept" in again.notes[-1]
    assert (states[-1].kept, states[-1].done, states[-1].total) == (1, 1, 1)


def test_compressed_text_takes_as_much_disk_as_it_has_text(tmp_path, scratch, monkeypatch):
    """By hand: what is free has to hold the text, not six times what is stored."""
    mixed = "".join(f"{LINES[(i * 7) % len(LINES)]}{' ' * 3000}\n" for i in range(len(LINES))).encode()
    (tmp_path / "r.run.gz").write_bytes(gzip.compress(mixed, 1))
    asked = []
    free = sharded.scratch_folder
    monkeypatch.setattr(sharded, "scratch_folder", lambda n, what: asked.append(n) or free(n, what))
    scores_of(tmp_path / "r.run.gz", memory="256MB")
    assert asked == [pytest.approx(len(mixed), rel=0.01)]


def test_a_folder_for_temporary_files_that_is_not_there_is_said(tmp_path, monkeypatch):
    run = tmp_path / "mixed.run"
    run.write_text("".join(f"{LINES[(i * 7) % len(LINES)]}\n" for i in range(len(LINES))))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(rs.OptionError, match=r"TMPDIR is .*missing, where nothing can be written"):
        scores_of(run, memory="256MB")


def test_where_the_disk_is_full_it_is_said_and_nothing_is_left(tmp_path, scratch, monkeypatch):
    folder = write_parts(tmp_path / "parts", [260])
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=10))
    with pytest.raises(rs.UnfinishedError, match=r"has to be regrouped by query.*only 10 bytes are free") as raised:
        scores_of(folder)
    assert "TMPDIR" in raised.value.hint
    assert not list(scratch.iterdir())


def test_a_table_is_regrouped_into_few_files(tmp_path, scratch, monkeypatch):
    rows = [ROWS[(i * 7) % len(ROWS)] for i in range(len(ROWS))]
    frame(rows).write_parquet(tmp_path / "r.parquet", row_group_size=60)
    monkeypatch.setattr(sharded, "MOST_FILES", 100)
    counts = []
    deal = sharded.deal_out_tables

    def counted(*given, **options):
        dealt = deal(*given, **options)
        counts.append(sum(len(part.paths) for part in dealt))
        return dealt

    monkeypatch.setattr(sharded, "deal_out_tables", counted)
    found = scores_of(tmp_path / "r.parquet", memory="256MB")
    assert bits(found) == bits(scores_of(tmp_path / "r.parquet"))
    assert 0 < counts[0] <= 2 * 100
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("shuffled", [False, True])
def test_ids_that_are_bytes_are_read_in_parts_as_in_one(tmp_path, whole, shuffled):
    rows = [ROWS[(i * 7) % len(ROWS)] for i in range(len(ROWS))] if shuffled else ROWS
    table = frame(rows).with_columns(pl.col("query", "doc").cast(pl.Binary))
    table.write_parquet(tmp_path / "r.parquet", row_group_size=60)
    assert bits(scores_of(tmp_path / "r.parquet", memory="256MB")) == bits(scores_of(whole))


def test_ids_that_are_no_ids_are_refused_in_parts_as_in_one(tmp_path):
    table = frame().with_columns(pl.struct(pl.col("query").alias("a")).alias("query"))
    table.write_parquet(tmp_path / "r.parquet", row_group_size=60)
    said = []
    for how in ({}, {"memory": "256MB"}):
        with pytest.raises(rs.InputError) as raised:
            scores_of(tmp_path / "r.parquet", **how)
        said.append(re.sub("q[0-9]+", "q", str(raised.value)))  # the first query that was looked at is named
    assert said[0] == said[1]


def test_a_table_without_rows_as_pyarrow_writes_it_is_an_empty_shard(tmp_path, whole):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = write_parts(tmp_path / "parts", [500])
    table = arrow.table({"query": ["q"], "doc": ["d"], "score": [1.0]})
    parquet.write_table(table.slice(0, 0), folder / "part-000a.parquet")
    for how in ({}, {"memory": "256MB"}):
        assert bits(scores_of(folder, **how)) == bits(scores_of(whole))


def test_empty_shards_and_those_without_judged_queries_change_nothing(tmp_path, whole):
    folder = write_parts(tmp_path / "parts", [100, 1000])  # the last part has none of the judged queries
    (folder / "part-000a.run").write_bytes(b"")
    (folder / "part-000c.run").write_bytes(b"\r\n \n")
    frame([]).write_parquet(folder / "part-000b.parquet")
    (folder / "_SUCCESS").write_bytes(b"")
    assert bits(scores_of(folder)) == bits(scores_of(whole))
    assert scores_of(folder).counts == scores_of(whole).counts


def test_a_folder_of_empty_files_has_no_rows(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    with pytest.raises(rs.InputError, match="folder without files"):
        scores_of(folder)
    (folder / "part-0.run").write_bytes(b"")
    with pytest.raises(rs.FormatError, match="is empty: it has no rows"):
        scores_of(folder)


def test_thousands_of_small_shards(tmp_path, whole):
    folder = write_parts(tmp_path / "parts", list(range(25, len(LINES), 25)))
    for i in range(2_000):
        (folder / f"other-{i:05d}.run").write_text(f"other{i} Q0 d1 1 1 t\n")
    found = scores_of(folder)
    assert bits(found) == bits(scores_of(whole))
    assert found.counts.not_in_qrels == 5 + 2_000


def test_one_query_that_is_longer_than_a_part(write_file):
    long = [f"q3 Q0 x{i} {i} {5000 - i} t" for i in range(2_000)]
    path = write_file(
        "\n".join([*LINES[:75], *long[:1900], "q3 Q0 d28 1 0.5 t", *long[1900:], *LINES[200:]]), "long.run"
    )
    found = rs.evaluate(QRELS, {"r": path}, MEASURES, memory="256MB")
    assert bits(found["r"]) == bits(scores_of(path))
    assert any("cannot be cut" in note for note in found.notes)
    content = path.read_bytes()
    zipped = path.with_suffix(".run.gz")
    zipped.write_bytes(gzip.compress(content))
    assert bits(scores_of(zipped, memory="256MB")) == bits(scores_of(path))


def test_cuts_at_every_place_of_a_file_are_where_queries_begin(write_file):
    text = "\r\n".join(LINES[:80]).encode()
    path = write_file(text, "cut.run")
    starts = {0} | {text.index(line.encode()) for line in LINES[25:80:25]}
    for target in range(1, len(text) + 10, 7):
        shards = list(cut_text(str(path), len(text), target))
        assert [shard.start for shard in shards] == [0, *(shard.end for shard in shards[:-1])]
        assert shards[-1].end == len(text)
        assert {shard.start for shard in shards} <= starts


def test_a_rank_that_is_no_number_in_one_part_counts_for_all(write_file, engine):
    lines = [line.replace(" 7 ", " seven ") if i == 700 - 700 % 25 + 6 else line for i, line in enumerate(LINES)]
    assert lines != LINES
    path = write_file("\n".join(lines), "r.run")
    assert bits(scores_of(path, ties="given", memory="256MB")) == bits(scores_of(path, ties="given"))


def test_ranks_of_compressed_text_count_in_all_pieces_or_in_none(tmp_path, engine):
    """By hand: the first query has ranks against the order of its rows, and comes in another piece than the bad rank."""
    lines = ["q1 Q0 b 2 1 t", "q1 Q0 a 1 1 t", "q2 Q0 b x 1 t", "q2 Q0 a 1 1 t"]
    (tmp_path / "r.run.gz").write_bytes(packed(lines))
    found = rs.evaluate(RANKED, tmp_path / "r.run.gz", "RR", ties="given", memory="256MB")["r"]
    assert found.values.tolist() == [[0.5], [0.5]]


RANKED = {"q1": {"a": 1}, "q2": {"a": 1}}
FIRST = pl.DataFrame({"query": ["q1", "q1"], "doc": ["b", "a"], "score": [1.0, 1.0], "rank": [2, 1]})
SECOND = pl.DataFrame({"query": ["q2", "q2"], "doc": ["b", "a"], "score": [1.0, 1.0]})
RANKS = {
    "absent": SECOND,
    "null": SECOND.with_columns(rank=pl.lit(None, dtype=pl.Int64)),
    "one null": SECOND.with_columns(rank=pl.Series([None, 1], dtype=pl.Int64)),
    "fractions": SECOND.with_columns(rank=pl.Series([2.0, 1.0])),
    "text": SECOND.with_columns(rank=pl.Series(["2", "1"])),
}


@pytest.mark.parametrize("how", [{}, {"memory": "256MB"}, {"on": ThreadPoolExecutor}, {"keep": "kept"}], ids=str)
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("is_split", [False, True], ids=["grouped", "regrouped"])
@pytest.mark.parametrize("second", RANKS.values(), ids=RANKS)
@pytest.mark.usefixtures("engine", "scratch")
def test_ranks_of_some_tables_do_not_count(tmp_path, second, is_split, ending, how):
    """By hand: where a table has no ranks, docs of equal scores are in the order of the rows, so `a` is second."""
    folder = tmp_path / "parts"
    folder.mkdir()
    first = FIRST if not is_split else pl.concat((FIRST, FIRST[:1].with_columns(query=pl.lit("q2"), doc=pl.lit("c"))))
    n_before = 1 + is_split  # rows of q2 before its `a`
    for name, frame in (("1", first), ("2", second)):
        getattr(frame, f"write_{ending}")(folder / f"{name}.{ending}")
    how = {name: tmp_path / "kept" if name == "keep" else value for name, value in how.items()}
    how = {name: value(2) if name == "on" else value for name, value in how.items()}
    found = rs.evaluate(RANKED, folder, "RR", ties="given", **how)["parts"].values.ravel().tolist()
    ranks_count = ending == "csv" and second is RANKS["text"]  # there is no other text than numbers in CSV
    assert found == ([1.0, 1.0] if ranks_count else [0.5, 1 / (n_before + 1)])


def test_one_rank_that_is_missing_at_the_end_of_a_table_counts_for_all(tmp_path, engine):
    ranks = [25 - row[2] for row in ROWS]
    table = frame([(*row[:3], 1.0) for row in ROWS]).with_columns(rank=pl.Series([*ranks[:-1], None]))
    table.write_parquet(tmp_path / "r.parquet", row_group_size=50)
    table.drop("rank").write_parquet(tmp_path / "plain.parquet")
    whole = scores_of(tmp_path / "plain.parquet", ties="given")
    for how in ({}, {"memory": "256MB"}):
        assert bits(scores_of(tmp_path / "r.parquet", ties="given", **how)) == bits(whole)


def test_a_shard_with_other_columns_is_refused_by_its_name(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame(ROWS[:500]).write_parquet(folder / "a.parquet")
    frame(ROWS[500:]).rename({"score": "weight"}).write_parquet(folder / "b.parquet")
    with pytest.raises(rs.InputError, match=r"b\.parquet"):
        scores_of(folder)
    renamed = frame(ROWS[500:]).rename({"query": "qid", "doc": "docno"})
    renamed.write_parquet(folder / "b.parquet")  # other names for the same are known
    frame().write_parquet(tmp_path / "whole.parquet")
    assert bits(scores_of(folder)) == bits(scores_of(tmp_path / "whole.parquet"))


def test_files_that_must_be_read_at_once_are_refused_where_they_are_too_large(write_file, monkeypatch):
    monkeypatch.setattr(sources, "READ_WHOLE", 100)
    monkeypatch.setattr(sharded, "resident_bytes", lambda: (256 << 20) - 100)
    import json

    run = {query: {doc: score for name, doc, _, score in ROWS if name == query} for query in QRELS}
    path = write_file(json.dumps(run), "r.json")
    with pytest.raises(rs.InputError, match=r"r\.json has .* and can only be read as a whole") as raised:
        scores_of(path, memory="256MB")
    assert "convert" in raised.value.hint


def test_many_runs_are_one_job_and_each_has_its_own_scores(tmp_path, write_file):
    runs = {f"r{i}": write_file("\n".join(LINES[25 * i :]), f"r{i}.run") for i in range(6)}
    states = []
    found = rs.evaluate(QRELS, runs, MEASURES, memory="256MB", progress=states.append)
    plain = rs.evaluate(QRELS, runs, MEASURES)
    assert [bits(run) for run in found.values()] == [bits(run) for run in plain.values()]
    assert states[-1].done == states[-1].total
    assert states[-1].rows == sum(len(LINES) - 25 * i for i in range(6))
    assert "parts" in str(states[-1])


@pytest.mark.parametrize("kind", ["r.run", "r.run.gz", "r.parquet", "r.json"])
def test_a_file_that_is_rewritten_while_it_is_read_at_once_is_refused(tmp_path, monkeypatch, kind):
    """Its size and its time of change are those of before; whoever reads it has half of each, or bad lines."""
    path = tmp_path / kind
    rs.write_run({"q1": {"d4": 2.0, "d8": 1.0}}, path)
    content, state = path.read_bytes(), path.stat()

    def rewritten(*args, **kwargs):
        path.write_bytes(content)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        return n_threads(*args, **kwargs)

    source = rs.load_run(path).source
    n_threads = kernel.n_threads
    if kind == "r.json":  # which the kernel does not read
        from rankscope.io import read

        monkeypatch.setattr(read, "read_file", lambda *a, _old=read.read_file, **k: (rewritten(None), _old(*a, **k))[1])
    else:
        monkeypatch.setattr(kernel, "n_threads", rewritten)
    run = rs.Run(source, name="r")
    with pytest.raises(rs.InputError, match=rf"{kind} was changed while it was read, or since"):
        rs.evaluate(QRELS, run, "AP")


def test_parquet_that_is_cut_off_while_it_is_read_at_once_is_said(tmp_path, monkeypatch):
    """What reads it finds damage then, which is not what is wrong with it."""
    from rankscope.io import polars_file

    path = tmp_path / "r.parquet"
    frame().write_parquet(path)
    find_roles = polars_file.find_roles

    def cut_off(*args, **options):
        os.truncate(path, 100)
        return find_roles(*args, **options)

    monkeypatch.setattr(polars_file, "find_roles", cut_off)
    with pytest.raises(rs.InputError, match=r"r\.parquet was changed while it was read"):
        rs.evaluate(QRELS, path, "AP")


@pytest.mark.parametrize("how", [{}, {"memory": "256MB"}])
def test_the_digest_of_a_file_that_was_rewritten_since_is_refused(whole, how):
    found = rs.evaluate(QRELS, whole, "AP", **how)
    later = rs.evaluate(QRELS, whole, "AP", **how)
    assert found.to_json()
    state = whole.stat()
    whole.write_text(whole.read_text().replace("d1 ", "d3 "))
    os.utime(whole, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert found.to_json()  # as it is known
    with pytest.raises(rs.InputError, match=r"whole\.run was changed while it was read, or since"):
        later.to_json()


def test_what_is_kept_is_not_scored_again_and_what_is_damaged_is(whole, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    first = scores_of(whole, memory="256MB", keep=kept)
    files = sorted(kept.iterdir())
    assert len(files) > 5
    files[0].write_bytes(files[0].read_bytes()[:-5])
    files[1].unlink()
    calls = []
    align = sharded.align_shard
    monkeypatch.setattr(sharded, "align_shard", lambda *given, **how: calls.append(1) or align(*given, **how))
    assert bits(scores_of(whole, memory="256MB", keep=kept)) == bits(first) == bits(scores_of(whole))
    assert len(calls) == 2
    scores_of(whole, memory="256MB", keep=kept, ties="ascending")
    assert len(calls) == 2 + len(files)


def scores_kept(qrels, run, kept):
    return rs.evaluate(qrels, run, "RR", memory="256MB", keep=kept)["r"].mean()["RR"].value


@pytest.mark.parametrize("how", ["in place", "renamed over"])
def test_a_file_that_was_changed_is_scored_again_whatever_its_size_and_mtime(tmp_path, how):
    run, other, kept = tmp_path / "r.run", tmp_path / "other", tmp_path / "kept"
    run.write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n")
    os.utime(run, ns=(10**18, 10**18))
    assert scores_kept({"q": {"b": 1}}, run, kept) == 0.5
    time.sleep(0.02)  # the clock of a file system may tick as rarely as this
    written = run if how == "in place" else other
    written.write_text("q Q0 a 1 1.0 t\nq Q0 b 2 2.0 t\n")
    os.utime(written, ns=(10**18, 10**18))
    written.replace(run)
    assert run.stat().st_mtime_ns == 10**18
    assert scores_kept({"q": {"b": 1}}, run, kept) == 1.0


def test_a_job_that_breaks_off_goes_on_where_it_was(whole, tmp_path, monkeypatch):
    kept = tmp_path / "kept"
    with monkeypatch.context() as broken:

        def interrupt() -> None:
            raise KeyboardInterrupt

        on_part(broken, 4, interrupt)
        with pytest.raises(KeyboardInterrupt):
            scores_of(whole, memory="256MB", keep=kept)
    assert len(list(kept.iterdir())) == 3
    states = []
    found = scores_of(whole, memory="256MB", keep=kept, progress=states.append)
    assert bits(found) == bits(scores_of(whole))
    assert states[-1].kept == 3


def packed(lines) -> bytes:
    return gzip.compress("".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize("how", [{}, {"on": ThreadPoolExecutor}], ids=["here", "elsewhere"])
def test_a_job_that_breaks_off_before_rows_are_regrouped_shows_nothing_partial(tmp_path, write_file, monkeypatch, how):
    """A query of the second file comes back after others, in another piece of it: what is kept must not lack its rows."""
    folder, kept = tmp_path / "parts", tmp_path / "kept"
    folder.mkdir()
    (folder / "a.run.gz").write_bytes(packed(LINES[:250]))
    later = LINES[250:1000]  # the last query, which comes back in a piece of its own, is judged
    (folder / "b.run.gz").write_bytes(packed([*later[::2], *later[1::2]]))
    pool = {name: made(2) for name, made in how.items()}
    with monkeypatch.context() as broken:

        def interrupt(*_, **__) -> None:
            raise KeyboardInterrupt

        broken.setattr(sharded, "dealt_out", interrupt)
        with pytest.raises(KeyboardInterrupt):
            scores_of(folder, memory="256MB", keep=kept, **pool)
    whole = write_file("\n".join(LINES[:1000]), "whole.run")
    assert bits(scores_of(folder, memory="256MB", keep=kept, **pool)) == bits(scores_of(whole))


HITS = {
    "positions": np.array([0, 3]),
    "n_retrieved": np.array([5, 2]),
    "n_hits": np.array([2, 1]),
    "ranks": np.array([1, 4, 2]),
    "grades": np.array([1.0, -1.0, 0.5]),
    "n_rows": 7,
    "other_queries": ("\udcff", "é"),
    "other_hashes": bytes(range(16)),
    "duplicate": (3, "q", "d"),
    "uses_ranks": False,
    "tag": "bm25",
    "bad_lines": (BadLine("a.run", 3, "\udcff x", "a row has six fields"),),
    "integer_ids": frozenset({"query", "doc"}),
    "clash": Clash("q", WholeFile("a.run"), WholeFile("b.run")),
}


def plain(value):
    return (value.dtype, value.tolist()) if isinstance(value, np.ndarray) else value


def test_all_that_a_part_says_is_kept():
    assert HITS.keys() == asdict(nothing()).keys()
    for values in ({**HITS, "clash": None}, asdict(nothing())):
        found = asdict(decoded(encoded(ShardHits(**values))))
        assert {name: plain(value) for name, value in found.items()} == {
            name: plain(value) for name, value in values.items()
        }
    assert encoded(ShardHits(**HITS)) is None


@pytest.mark.parametrize("change", [lambda head: head.pop("tag"), lambda head: head.update(newer=1)])
def test_a_kept_part_with_other_values_than_a_part_has_counts_as_absent(change):
    line, _, arrays = encoded(ShardHits(**{**HITS, "clash": None})).partition(b"\n")
    head = json.loads(line)
    change(head)
    assert decoded(json.dumps(head).encode() + b"\n" + arrays) is None
    assert decoded(line + b"\n" + arrays[:60]) is None


def test_the_digest_of_a_run_of_files_is_of_their_names_sizes_and_digests(tmp_path):
    import hashlib

    folder = write_parts(tmp_path / "parts", [500])
    text = "".join(
        f"{path.name}\0{path.stat().st_size}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(folder.iterdir())
    )
    origin = scores_of(folder).origin
    assert origin.sha256 == f"files:{hashlib.sha256(text.encode()).hexdigest()}"
    assert origin.path == str(folder)


def test_shards_that_are_scored_one_by_one_are_the_whole_together(whole):
    qrels = rs.load_qrels(QRELS)
    parts = [rs.score_shard(qrels, shard, MEASURES) for shard in rs.shards_of(whole, n=7)]
    together = rs.Scores.concat(parts[::-1], qrels)["run"]
    alone = scores_of(whole)
    assert bits(together) == bits(alone)
    assert (together.counts, together.left_out) == (alone.counts, alone.left_out)
    placed = np.concatenate([part.positions for part in parts])
    assert sorted(placed.tolist()) == list(range(40))
    with pytest.raises(rs.InputError, match=r"query 'q0' has rows in .* and in "):
        rs.Scores.concat([*parts, parts[0]], qrels)
    with pytest.raises(rs.InputError, match="no shard"):
        rs.Scores.concat([], qrels)
    with pytest.raises(rs.MeasureError, match="looks at the docs"):
        rs.score_shard(qrels, WholeFile(str(whole)), "ILD@5")


@pytest.mark.filterwarnings("default::rankscope.RankscopeWarning")
def test_shards_put_together_say_what_an_evaluation_says(whole):
    qrels = {**QRELS, "never-asked": {"d1": 1}, "none-relevant": {"d1": 0}}
    whole.write_text(whole.read_text() + "none-relevant Q0 d1 1 1 t\n")
    for policies in (rs.Policies(), rs.Policies(no_relevant="exclude")):
        parts = [rs.score_shard(qrels, shard, "AP", policies=policies) for shard in rs.shards_of(whole, n=4)]
        with pytest.warns(rs.RankscopeWarning):
            together = rs.Scores.concat(parts, qrels, name="whole")
        alone = rs.evaluate(qrels, whole, "AP", no_relevant=policies.no_relevant)
        assert "whole does not answer 1 of 42 queries: they score 0 and count" in alone.notes[0]
        assert together.notes == alone.notes


def test_a_shard_that_was_lost_is_said(whole):
    first, lost, *others = rs.shards_of(whole, n=4)
    parts = [rs.score_shard(QRELS, shard, "AP") for shard in (first, *others)]
    notes = rs.Scores.concat(parts, QRELS, name="whole").notes
    assert f"bytes {lost.start} to {lost.end} of {whole} are in no shard that was given" in notes
    assert any("whole does not answer" in note for note in notes)


def by_hand(qrels, shards, measures="RR", *, options=None, **policies):
    decided = rs.Policies(**policies)
    parts = [
        pickle.loads(pickle.dumps(rs.score_shard(qrels, each, measures, decided, options=options))) for each in shards
    ]
    return rs.Scores.concat(parts, qrels, name="r")


@pytest.mark.parametrize("second", ["q2 Q0 b x 1 t\nq2 Q0 a 1 1 t\n", SECOND], ids=["text", "table"])
def test_ranks_of_some_shards_are_refused_where_they_would_count(tmp_path, second, engine):
    """Each shard has been ranked on its own: with ranks the first, by the order of its rows the second."""
    folder = tmp_path / "parts"
    folder.mkdir()
    if isinstance(second, str):
        (folder / "1.run").write_text("q1 Q0 b 2 1 t\nq1 Q0 a 1 1 t\n")
        (folder / "2.run").write_text(second)
    else:
        FIRST.write_parquet(folder / "1.parquet")
        second.write_parquet(folder / "2.parquet")
    with pytest.raises(rs.InputError, match=r"/1\..* has a rank in each of its rows, and .*/2\..* has not"):
        by_hand(RANKED, rs.shards_of(folder), ties="given")
    assert by_hand(RANKED, rs.shards_of(folder)[:1], ties="given")["r"].values.tolist() == [[1.0], [0.0]]
    assert by_hand(RANKED, rs.shards_of(folder))["r"].values.tolist() == [[0.5], [0.5]]


@pytest.mark.parametrize("form", ["run", "parquet", "run.gz"])
def test_a_file_that_is_another_one_of_the_same_size_between_shards_is_refused(tmp_path, form, monkeypatch):
    path, rows = tmp_path / f"r.{form}", [("q1", "a", 1, 1.0), ("q2", "b", 1, 1.0)]

    def write(rows) -> None:
        text = "".join(f"{query} Q0 {doc} {rank} {score} t\n" for query, doc, rank, score in rows).encode()
        if form == "parquet":
            frame(rows).write_parquet(path, row_group_size=1, compression="uncompressed")
        else:
            path.write_bytes(text if form == "run" else gzip.compress(text, 0, mtime=0))

    write(rows)
    size, before = path.stat().st_size, path.stat().st_mtime_ns
    shards = rs.shards_of(path, n=2)
    assert by_hand(RANKED, shards)["r"].values.tolist() == [[1.0], [0.0]]
    write([("q1", "b", 1, 1.0), ("q2", "a", 1, 1.0)])
    os.utime(path, ns=(before + 10**6, before + 10**6))
    assert path.stat().st_size == size
    for shard in shards:
        with pytest.raises(rs.InputError, match=rf"r\.{form} was changed"):
            rs.score_shard(RANKED, shard, "RR")
    with pytest.raises(rs.InputError, match=rf"r\.{form} was changed"):
        rs.evaluate(RANKED, shards, "RR")
    monkeypatch.setattr("rankscope.align.same_files.node", lambda: "elsewhere")
    with pytest.raises(rs.InputError, match="another size or time on elsewhere than on"):
        rs.score_shard(RANKED, shards[0], "RR")


def test_a_file_that_is_written_to_while_a_shard_is_scored_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.run"
    path.write_text("q1 Q0 a 1 1 t\n")
    (shard,) = rs.shards_of(path)

    def write() -> None:
        path.write_text("q1 Q0 b 1 1 t\n")
        os.utime(path, ns=(1, 1))

    align = shard_scores.align_shard
    monkeypatch.setattr(shard_scores, "align_shard", lambda *given: (align(*given), write())[0])
    with pytest.raises(rs.InputError, match="was changed while it was read"):
        rs.score_shard(RANKED, shard, "RR")


def test_other_machines_need_not_agree_on_more_than_size_and_time(tmp_path, monkeypatch):
    path = tmp_path / "r.run"
    path.write_text("q1 Q0 a 1 1 t\n")
    (shard,) = rs.shards_of(path)
    there = replace(shard, seen=replace(shard.seen, host="elsewhere", state=(*shard.seen.state[:2], 1, 2)))
    assert by_hand(RANKED, [there])["r"].values.tolist() == [[1.0], [0.0]]


@pytest.mark.filterwarnings("default::rankscope.RankscopeWarning")
@pytest.mark.parametrize(
    "text",
    ["q1 Q0 a 1 1 t\nbad\nq2 Q0 b 1 1 t\n", "q1 Q0 zz 1 1 t\nq2 Q0 zy 1 1 t\n", "q2 Q0 a 1 1 t\nq1 Q0\nq1\n"],
    ids=["a bad line", "no judged doc", "bad lines, a query missing"],
)
def test_shards_put_together_warn_as_an_evaluation_does(write_file, text):
    path, options = write_file(text, "r.run"), rs.ReadOptions(lenient=True)
    with pytest.warns(rs.RankscopeWarning) as alone:
        expected = rs.evaluate(RANKED, path, "RR", options=options, memory="256MB")
    with pytest.warns(rs.RankscopeWarning) as together:
        found = by_hand(RANKED, rs.shards_of(path, n=2), options=options)
    assert [str(each.message) for each in together] == [str(each.message) for each in alone]
    assert found.notes == expected.notes


@pytest.mark.filterwarnings("default::rankscope.RankscopeWarning")
def test_shards_whose_files_are_elsewhere_by_now_are_put_together_all_the_same(write_file):
    path = write_file("q1 Q0 zz 1 1 t\nq2 Q0 zy 1 1 t\n", "r.run")
    parts = [rs.score_shard(RANKED, shard, "RR") for shard in rs.shards_of(path)]
    path.unlink()
    with pytest.warns(rs.RankscopeWarning, match="not one doc that was retrieved is judged for its query"):
        assert rs.Scores.concat(parts, RANKED)["run"].values.tolist() == [[0.0], [0.0]]


def test_ids_that_are_numbers_on_one_side_are_said_of_shards_too(tmp_path):
    pl.DataFrame({"query": [1, 2], "doc": ["a", "a"], "score": [1.0, 1.0]}).write_parquet(tmp_path / "r.parquet")
    qrels = {"1": {"a": 1}, "2": {"a": 1}}
    notes = rs.evaluate(qrels, tmp_path / "r.parquet", "RR", memory="256MB").notes
    assert "query ids are whole numbers in the run" in notes[0]
    assert by_hand(qrels, rs.shards_of(tmp_path / "r.parquet")).notes == notes


def test_all_bad_lines_are_an_error_of_shards_too(write_file):
    path, options = write_file("bad\nworse\n", "r.run"), rs.ReadOptions(lenient=True, format="trec")
    with pytest.raises(BadLinesError, match="2 bad lines"):
        by_hand(RANKED, rs.shards_of(path), options=options)


@pytest.mark.parametrize(
    "change",
    [
        {"ranks": np.array([2])},
        {"ranks": np.array([1.0])},
        {"ranks": np.array([1, 2])},
        {"grades": np.array([2.0])},
        {"positions": np.array([1])},
        {"n_hits": np.array([0])},
        {"n_retrieved": np.array([2])},
        {"other_hashes": b"12345678"},
        {"n_rows": 2},
    ],
)
def test_parts_that_were_damaged_on_their_way_are_refused(write_file, change):
    (shard,) = rs.shards_of(write_file("q1 Q0 a 1 1 t\n", "r.run"))
    part = rs.score_shard(RANKED, shard, "RR")
    assert list(rs.Scores.concat([pickle.loads(pickle.dumps(part))], RANKED))
    for damaged in (replace(part, hits=replace(part.hits, **change)), replace(part, measures=("AP",))):
        with pytest.raises(
            rs.InputError, match=r"r\.run \(bytes 0 to 14\) is not what score_shard returned: it was dam"
        ):
            rs.Scores.concat([damaged], RANKED)


def texts_in(content: bytes) -> list[range]:
    """Return where texts and bytes of what was pickled are: names of classes and of values, texts, and rows of arrays."""
    ops = list(pickletools.genops(content))
    ends = [place for *_, place in ops[1:]]
    is_text = re.compile(".*(UNICODE|BYTES)").match
    texts = [(end, arg) for (op, arg, _), end in zip(ops, ends, strict=False) if is_text(op.name)]
    return [range(end - len(arg.encode() if isinstance(arg, str) else arg), end) for end, arg in texts]


def test_a_bit_that_was_turned_on_the_way_is_seen(write_file):
    """Either what is not whole cannot be unpickled, or it is refused, or it is the same.

    Not of the sizes of arrays: where these are damaged, NumPy may end the process that unpickles them.
    """
    shard = rs.shards_of(write_file("\n".join(LINES), "r.run"), n=2)[0]
    part = rs.score_shard(QRELS, shard, MEASURES)
    right, content = bits(rs.Scores.concat([part], QRELS, name="r")["r"]), pickle.dumps(part)
    n_refused = 0
    for at in (at for text in texts_in(content) for at in text[:300]):
        turned = bytearray(content)
        turned[at] ^= 1 << at % 7
        try:
            found = pickle.loads(bytes(turned))
        except Exception:  # noqa: BLE001 (what is torn fails in many ways)
            continue
        try:
            same = bits(rs.Scores.concat([found], QRELS, name="r")["r"]) == right
        except rs.InputError:
            n_refused += 1
        else:
            assert same
    assert n_refused > 1000


@pytest.mark.parametrize("missing", ["shard", "hits", "policies", "end"])
def test_a_part_that_lacks_something_is_named(write_file, missing):
    shards = rs.shards_of(write_file("".join(f"q{i} Q0 a 1 1 t\n" for i in range(4)), "r.run"), n=2)
    parts = [rs.score_shard(RANKED, shard, "RR") for shard in shards]
    del vars(parts[1].shard if missing == "end" else parts[1])[missing]
    name = "part 2 of 2" if missing in ("shard", "end") else r".*r\.run \(bytes 42 to 56\)"
    with pytest.raises(rs.InputError, match=f"what was found in {name} is not what score_shard returned"):
        rs.Scores.concat(parts, RANKED)


def test_shards_of_two_versions_of_a_file_are_refused(write_file):
    text = "\n".join(LINES)
    path = write_file(text, "r.run")
    first = [rs.score_shard(QRELS, shard, "AP") for shard in rs.shards_of(path, n=4)[:2]]
    os.utime(path, (1, 1))
    later = [rs.score_shard(QRELS, shard, "AP") for shard in rs.shards_of(path, n=4)[2:]]
    with pytest.raises(rs.InputError, match=r"r\.run was changed between the cutting"):
        rs.Scores.concat([*first, *later], QRELS)


@pytest.mark.parametrize("place", [0, 1, -1])
def test_rows_of_parquet_that_nobody_scored_are_named(tmp_path, place):
    path = tmp_path / "r.parquet"
    frame().write_parquet(path, row_group_size=200)
    shards = rs.shards_of(path, n=4)
    lost = shards.pop(place)
    parts = [rs.score_shard(QRELS, shard, "AP") for shard in shards]
    words = f"rows {lost.start + 1} to {lost.end} of {path} are in no shard that was given"
    assert words in rs.Scores.concat(parts, QRELS).notes


def test_what_is_no_scored_shard_is_refused(whole):
    with pytest.raises(rs.OptionError, match="is no scored shard"):
        rs.Scores.concat(rs.shards_of(whole), QRELS)


def test_a_shard_that_is_given_twice_is_refused_without_judged_queries_too(write_file):
    path = str(write_file("q1 Q0 a 1 1 t\nu1 Q0 a 1 1 t\n", "r.run"))
    first, second = ByteRange(path, 0, 14), ByteRange(path, 14, 28)
    with pytest.raises(rs.InputError, match="is listed twice"):
        by_hand(RANKED, [first, second, second])


@pytest.mark.parametrize("ends", [(-1, 2), (2, 1), (-5, -1)])
@pytest.mark.parametrize("kind", [ByteRange, RowGroups])
def test_a_range_that_is_none_is_refused(tmp_path, kind, ends):
    FIRST.write_parquet(tmp_path / "r.parquet")
    shard = kind(str(tmp_path / "r.parquet"), *ends)
    for score in (lambda: rs.score_shard(RANKED, shard, "RR"), lambda: rs.evaluate(RANKED, [shard], "RR")):
        with pytest.raises(rs.InputError, match="is no part of a file"):
            score()


def test_rows_that_a_table_does_not_have_are_refused(tmp_path):
    FIRST.write_parquet(tmp_path / "r.parquet")
    with pytest.raises(rs.InputError, match="the file ends after row 2"):
        rs.score_shard(RANKED, RowGroups(str(tmp_path / "r.parquet"), 0, 99), "RR")


def test_what_is_no_shard_is_refused(whole):
    with pytest.raises(rs.OptionError, match=r"whole\.run' is no shard"):
        rs.score_shard(QRELS, str(whole), "AP")


@pytest.mark.parametrize(
    ("qrels", "measures", "policies", "words"),
    [
        (QRELS, "AP", {"depth": 5}, "other policies: depth=5 instead of None"),
        (QRELS, "AP", {"ties": "given"}, "other policies: ties='given' instead of 'trec'"),
        ({query: {doc: 3 - grade for doc, grade in own.items()} for query, own in QRELS.items()}, "AP", {}, "qrels"),
        ({f"q{i}": {"d1": 1} for i in range(60)}, "AP", {}, "qrels"),
        (QRELS, "RR", {}, "other measures"),
    ],
)
def test_shards_that_were_scored_in_another_way_are_refused(whole, qrels, measures, policies, words):
    *shards, last = rs.shards_of(whole, n=4)
    parts = [rs.score_shard(QRELS, shard, "AP") for shard in shards]
    other = rs.score_shard(qrels, last, measures, rs.Policies(**policies))
    with pytest.raises(rs.InputError, match=words):
        rs.Scores.concat([*parts, other], QRELS)


def test_shards_are_put_together_by_the_policies_they_were_scored_by(whole):
    parts = [rs.score_shard(QRELS, shard, "AP", rs.Policies(depth=5)) for shard in rs.shards_of(whole, n=4)]
    together = rs.Scores.concat(parts, QRELS)
    assert bits(together["run"]) == bits(rs.evaluate(QRELS, {"r": whole}, "AP", depth=5)["r"])
    assert together.policies["depth"] == 5
    with pytest.raises(rs.InputError, match="depth=5 instead of 7"):
        rs.Scores.concat(parts, QRELS, rs.Policies(depth=7))


def test_shards_of_a_file_hold_it_whole(whole, tmp_path):
    path = tmp_path / "r.parquet"
    frame().write_parquet(path, row_group_size=40)
    shards = rs.shards_of(path, n=6)
    assert len(shards) == 6
    assert all(isinstance(shard, RowGroups) for shard in shards)
    assert [shard.start for shard in shards] == [0, *(shard.end for shard in shards[:-1])]
    assert shards[-1].end == len(ROWS)
    assert {shard.start % 25 for shard in shards} == {0}
    assert [type(shard) for shard in rs.shards_of(whole, target_rows=10**6)] == [ByteRange]


@pytest.mark.parametrize(
    ("given", "words"),
    [("12 parsecs", "no amount of memory"), ("1MB", "too little"), (-5, "no amount of memory"), ("", "no amount")],
)
def test_an_amount_of_memory_that_is_none_is_refused(whole, given, words):
    with pytest.raises(rs.OptionError, match=words):
        scores_of(whole, memory=given)


def test_compare_says_the_same_of_runs_in_parts(whole, write_file):
    other = write_file("\n".join(line for i, line in enumerate(LINES) if i % 3), "other.run")
    runs = {"a": whole, "b": other, "c": write_file(whole.read_bytes(), "same.run")}
    for how in ({}, {"primary": "AP"}, {"unjudged": "uncertain"}):
        in_parts = rs.compare(QRELS, runs, MEASURES, memory="256MB", **how)
        plain = rs.compare(QRELS, runs, MEASURES, **how)
        assert in_parts.to_json() == plain.to_json()


OWN_NAMES = {"query": "kw", "doc": "item", "score": "weight"}


@pytest.mark.parametrize("rows", ["grouped", "scattered"])
@pytest.mark.parametrize("kind", ["r.parquet", "r.csv", "r.csv.gz"])
def test_columns_of_other_names_are_known_in_parts_too(tmp_path, kind, rows):
    names = dict(zip(("query", "doc", "rank", "score"), ("kw", "item", "place", "weight"), strict=True))
    table = frame(sorted(ROWS, key=lambda row: row[1]) if rows == "scattered" else ROWS).rename(names)
    path, options = tmp_path / kind, rs.ReadOptions(columns=OWN_NAMES)
    if kind == "r.parquet":
        table.write_parquet(path, row_group_size=200)
    else:
        content = table.write_csv().encode()
        path.write_bytes(gzip.compress(content) if kind.endswith("gz") else content)
    frame().write_parquet(tmp_path / "usual.parquet")
    wanted = bits(scores_of(tmp_path / "usual.parquet"))
    for how in ({}, {"memory": "256MB"}, {"workers": 2}, {"keep": tmp_path / "kept"}):
        assert bits(scores_of(path, options=options, **how)) == wanted
    if rows == "grouped":
        parts = [rs.score_shard(QRELS, each, MEASURES, options=options) for each in rs.shards_of(path, options=options)]
        assert bits(rs.Scores.concat(parts, QRELS, name="r")["r"]) == wanted
