"""Runs that are read in parts score as they do when they are read at once, to the last bit."""

import numpy as np
import polars as pl
import pytest

import rankscope as rs
from rankscope.align import sharded
from rankscope.data.sharded import ShardPlan

QRELS = "".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for q in range(40) for d in range(0, 30, 4))
LINES = [f"q{q} Q0 d{(7 * d + q) % 31} {d + 1} {(d * q) % 5} t" for q in range(45) for d in range(25)]


def same(one: rs.Scores, other: rs.Scores) -> bool:
    return one == other and one.notes == other.notes


@pytest.fixture
def small_pieces(monkeypatch):
    """Let parts be so small that a few lines fill one."""
    monkeypatch.setattr(sharded, "room_in", lambda *_: 700)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("last", ["", "end"])
def test_scores_of_text_in_parts_are_those_of_the_whole(write_file, small_pieces, engine, end, last):
    run = write_file(end.join(LINES) + (end if last else ""), "a.run")
    qrels = write_file(QRELS, "qrels.txt")
    whole = rs.evaluate(qrels, run, "nDCG@10 AP RR ERR@5 RBP")
    parts = rs.evaluate(qrels, run, "nDCG@10 AP RR ERR@5 RBP", memory="256MB")
    assert same(whole, parts)
    assert np.array_equal(whole["a"].values, parts["a"].values)
    assert whole["a"].counts.not_in_qrels == 5


def test_scores_that_do_not_fit_are_warned_of_before_the_work(write_file, monkeypatch):
    run = write_file("".join(f"q{i} Q0 d 1 1 t\n" for i in range(1000)), "a.run")
    qrels = {f"q{i}": {"d": 1} for i in range(1000)}
    monkeypatch.setattr("rankscope.io.memory.resident_bytes", lambda: 255 << 20)
    rs.evaluate(qrels, run, "AP RR", memory="256MB")  # 18 kB of scores are not what memory is lacking for
    monkeypatch.setattr("rankscope.evaluation.SCORE_BYTES", 30 << 10)
    with pytest.warns(match="1,000 queries x 2 measures x 1 run are 58.59 MB of scores, and 255 MB are taken already"):
        rs.evaluate(qrels, run, "AP RR", memory="256MB")
    monkeypatch.setattr("rankscope.io.memory.resident_bytes", lambda: 100 << 20)
    rs.evaluate(qrels, run, "AP RR", memory="256MB")


def test_memory_that_is_taken_already_is_said_before_the_work(write_file, monkeypatch):
    """A small run takes little: only what is there already, or the library that reads tables, can be too much."""
    run = write_file("q Q0 d 1 1 t\n", "a.run")
    monkeypatch.setattr(sharded, "resident_bytes", lambda: 50 << 20)
    rs.evaluate({"q": {"d": 1}}, run, "AP", memory=64 << 20)  # 50, and 4 aside
    table = run.with_suffix(".parquet")
    pl.DataFrame({"query": ["q"], "doc": ["d"], "score": [1.0]}).write_parquet(table)
    with pytest.warns(
        match=r"more memory will be taken than the 64 MB that are given: about 108 MB, of which 50 MB are taken"
    ):
        rs.evaluate({"q": {"d": 1}}, table, "AP", memory=64 << 20)  # 50, 4 aside, and 54 for the library
    monkeypatch.setattr(sharded, "resident_bytes", lambda: 80 << 20)
    with pytest.warns(match=r"about 84 MB, of which 80 MB are taken before a run is read"):
        rs.evaluate({"q": {"d": 1}}, run, "AP", memory=64 << 20)


def test_a_long_query_is_foretold_with_what_it_takes(write_file, monkeypatch):
    """It cannot be cut, so all of its rows are in memory, and in order, at a time."""
    lines = [f"q Q0 d{i:06d} {i} {300_000 - i:06d} t\n" for i in range(100_000, 300_000)]
    run = write_file("".join(lines), "a.run")
    monkeypatch.setattr(sharded, "resident_bytes", lambda: 60 << 20)
    text, rows = run.stat().st_size, 200_000 * 43
    assert text == 200_000 * len("q Q0 d100000 100000 200000 t\n")
    foretold = (60 << 20) + (4 << 20) + text + rows
    with pytest.warns(match=rf"about {foretold / 2**20:.3g}\d* MB, of which 60 MB are taken before a run is read"):
        rs.evaluate({"q": {"d100000": 1}}, run, "AP", memory=64 << 20)


def test_parts_that_are_kept_are_cut_alike_whatever_else_is_in_memory():
    """Else the same command would find none of them again."""
    plan = ShardPlan(memory=512 << 20, keep="kept")
    rooms = {sharded.room_in(plan, 1, taken) for taken in (46_000_000, 46_300_000, 47_111_222)}
    assert rooms == {128 << 20}  # the next power of 2 below (512 - 45 - 24) x 0.4 MB


def test_a_row_group_that_fits_is_no_reason_to_warn_where_several_have_something_to_do(tmp_path):
    """Two processes with 750 MB each may read 500,000 rows at a time, though a part is as small as a row group."""
    table = pl.DataFrame({"query": [f"q{i // 1000}" for i in range(500_000)]})
    table = table.with_columns(pl.int_range(pl.len()).cast(pl.Float64).alias("score"))
    table.with_columns(("d" + pl.int_range(pl.len()).cast(pl.String)).alias("doc")).write_parquet(
        tmp_path / "r.parquet", row_group_size=500_000
    )
    found = rs.evaluate({"q1": {"d1000": 1}}, tmp_path / "r.parquet", "RR", workers=2, memory="1500MB")
    assert not [note for note in found.notes if "cannot be cut" in note]


def test_parts_of_tables_are_never_tiny():
    plan = ShardPlan(memory=64 << 20)
    room = sharded.room_in(plan, 1, 46 << 20)
    assert room >= 8 << 20
    assert int(room * sharded.table_share(plan, room)) // 36 >= 230_000


def test_a_comparison_that_shows_a_query_does_not_read_all_rows(write_file, monkeypatch):
    qrels = write_file(QRELS, "qrels.txt")
    other = [line.replace(" t", " u").replace("Q0 d1 ", "Q0 d99 ") for line in LINES]
    runs = [write_file("\n".join(lines), name) for lines, name in ((LINES, "a.run"), (other, "b.run"))]
    plain = rs.compare(qrels, runs, "nDCG@10")
    monkeypatch.setattr("rankscope.data.sharded.ShardedSource.read", lambda _: pytest.fail("all rows were read"))
    in_parts = rs.compare(qrels, runs, "nDCG@10", memory="256MB")
    assert str(in_parts) == str(plain)
