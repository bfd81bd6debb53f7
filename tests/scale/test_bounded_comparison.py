"""Comparisons of runs in parts: they keep to the memory, read each run a few times at most, and say the same."""

import errno
import random
import re
import subprocess
import sys

import pytest

import rankscope as rs
from rankscope.align import top
from rankscope.analysis.unjudged import doc_lists
from rankscope.comparison import evidence
from rankscope.data.sharded import ShardedSource
from rankscope.errors import UnfinishedError
from rankscope.records import replace
from rankscope.report.render import render

QUERIES, DOCS = 40, 30
JUDGED = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(0, 30, 4)} for q in range(QUERIES)}
QRELS = "".join(f"{query} 0 {doc} {grade}\n" for query, docs in JUDGED.items() for doc, grade in docs.items())


def run_lines(step, *, blank=" ", scattered=False):
    rows = [(q, (step * d + q) % 37, d + 1, (d * q * step) % 5) for q in range(QUERIES) for d in range(DOCS)]
    if scattered:
        rows.sort(key=lambda row: row[1])
    return "".join(
        blank.join((f"q{q}", "Q0", f"d{doc}", str(rank), str(score), "t")) + "\n" for q, doc, rank, score in rows
    )


@pytest.fixture
def files(write_file):
    """Write the qrels, and three runs in which many docs have equal scores."""

    def write(**how):
        runs = [write_file(run_lines(step, **how), f"s{step}.run") for step in (1, 2, 5)]
        return write_file(QRELS, "qrels.txt"), runs

    return write


@pytest.fixture
def small_pieces(monkeypatch):
    """Let parts be so small that a few queries fill one."""
    monkeypatch.setattr("rankscope.align.sharded.room_in", lambda *_: 4000)
    monkeypatch.setattr(top, "_SMALL_PIECE", 3000)


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "nDCG", "RR"])
@pytest.mark.parametrize("how", [{}, {"blank": "\t"}, {"blank": "  "}, {"scattered": True}], ids=str)
@pytest.mark.parametrize("share", [1, 1 << 40], ids=["in memory", "on disk"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # rows in no order are regrouped
@pytest.mark.usefixtures("small_pieces")
def test_a_comparison_in_parts_is_that_of_whole_runs(files, monkeypatch, measure, how, share):
    qrels, runs = files(**how)
    whole = rs.compare(qrels, runs, measure, all_pairs=True, n_resamples=99)
    monkeypatch.setattr(doc_lists, "SHARE_OF_MEMORY", share)
    monkeypatch.setattr(ShardedSource, "read", lambda _: pytest.fail("all rows were read"))
    parts = rs.compare(qrels, runs, measure, all_pairs=True, n_resamples=99, memory="512MB")
    assert parts.groups == whole.groups
    assert parts.lists == whole.lists


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "R@1000"])
def test_rows_in_any_order_say_what_ordered_ones_say(write_file, monkeypatch, measure):
    """Read block by block, rows of a query come back after others; this is noticed late, when some are packed already."""
    monkeypatch.setattr(top, "SMALL_FILE", 0)
    monkeypatch.setattr(top, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr("rankscope.io.source._BLOCK_BYTES", 3000)
    qrels, first = write_file(QRELS, "qrels.txt"), write_file(run_lines(1), "first.run")
    lines = run_lines(2).splitlines(keepends=True)
    texts = {"ordered": lines, "mixed": random.Random(0).sample(lines, len(lines))}
    found = []
    for folder, rows in texts.items():
        second = write_file("".join(rows), f"{folder}/second.run")
        found.append(rs.compare(qrels, [first, second], measure, n_resamples=99))
    ordered, mixed = (comparison["first", "second"] for comparison in found)
    assert replace(mixed, hashes=ordered.hashes) == ordered
    assert found[1].lists == found[0].lists


def test_runs_are_not_read_again_for_every_pair_or_query(files, small_pieces, monkeypatch):
    """Each is read once for the lists of its docs, and once for the queries that are shown."""
    read, parts = [], ShardedSource.parts
    monkeypatch.setattr(ShardedSource, "parts", lambda self, **how: read.append(self.name) or parts(self, **how))
    qrels, runs = files()
    found = rs.compare(qrels, runs, "AP", all_pairs=True, n_resamples=99, memory="512MB")
    assert len(found.lists) == 3
    assert {name: read.count(name) for name in read} == {"s1": 2, "s2": 2, "s5": 2}


def test_of_very_many_docs_to_judge_the_first_are_listed_and_all_are_counted(files, monkeypatch):
    qrels, runs = files()
    (whole,) = rs.compare(qrels, runs[:2], "AP", n_resamples=99)
    n_unjudged = sum(f"d{d}" not in JUDGED[f"q{q}"] for q in range(QUERIES) for d in docs_of_either(q))
    assert (len(whole.settle), whole.n_settle) == (n_unjudged, n_unjudged)
    monkeypatch.setattr(evidence, "MOST_TO_JUDGE", 7)
    monkeypatch.setattr(evidence, "FEWEST_LISTED", 1)
    cut = rs.compare(qrels, runs[:2], "AP", n_resamples=99)
    assert (cut.groups[0].comparisons[0].settle, cut.groups[0].comparisons[0].n_settle) == (
        whole.settle[:7],
        n_unjudged,
    )
    assert f"{n_unjudged:,} judgments that would settle it for certain" in render(cut.report(), "text")


def docs_of_either(query):
    """Return the docs that the first two runs have for a query."""
    return {(step * d + query) % 37 for step in (1, 2) for d in range(DOCS)}


def test_many_pairs_share_the_docs_that_are_listed():
    # 2^20 in all, 2^18 for one pair at most, and 1,000 at least
    assert [evidence.most_to_judge(n) for n in (1, 4, 5, 200, 10_000)] == [262_144, 262_144, 209_715, 5242, 1000]


def test_memory_that_unjudged_docs_need_is_said_before_they_are_looked_at(files, monkeypatch):
    qrels, runs = files()
    monkeypatch.setattr(evidence, "resident_bytes", lambda: 200 << 20)
    monkeypatch.setattr(evidence.GroupEvidence, "of", lambda *_: pytest.fail("the work had begun"))
    # both runs have 30 docs for each of 40 queries; 60 MB, 300 + 170 bytes for each that nobody judged, 350 a query
    n_docs = sum(
        f"d{(step * d + q) % 37}" not in JUDGED[f"q{q}"] for step in (1, 2) for q in range(40) for d in range(30)
    )
    needed = 260 + (n_docs * 470 + 40 * 350) / (1 << 20)
    words = f"about {needed:.4g} MB, of which 200 MB are taken already"
    with pytest.warns(UserWarning, match=re.escape(words)), pytest.raises(pytest.fail.Exception):
        rs.compare(qrels, runs[:2], "AP", memory="128MB")
    with pytest.raises(pytest.fail.Exception):
        rs.compare(qrels, runs[:2], "AP", memory="256MB")


def test_memory_that_many_queries_need_is_said_before_they_are_compared(files, monkeypatch):
    """Measured: 200,000 queries took 350 bytes each, where no unjudged docs were looked at."""
    qrels, runs = files()
    monkeypatch.setattr(evidence, "resident_bytes", lambda: 150 << 20)
    words = (
        f"about {150 + 40 * 350 / (1 << 20):.4g} MB, of which 150 MB are taken already; the rest is for comparing 40 "
    )
    with pytest.warns(UserWarning, match=re.escape(words)):
        rs.compare(qrels, runs[:2], "nDCG@10", memory="128MB", unjudged="irrelevant", n_resamples=99)


def test_a_full_disk_is_said(files, small_pieces, monkeypatch):
    class FullDisk:
        def seek(self, at):
            pass

        def close(self):
            pass

        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(doc_lists, "SHARE_OF_MEMORY", 1 << 40)
    monkeypatch.setattr(doc_lists.tempfile, "TemporaryFile", lambda **_: FullDisk())
    qrels, runs = files()
    with pytest.raises(UnfinishedError, match="No space left on device") as caught:
        rs.compare(qrels, runs, "AP", memory="512MB")
    assert "TMPDIR" in str(caught.value.hint)


MEASURED = """
import re, sys, warnings
from pathlib import Path
import rankscope as rs
warnings.simplefilter("ignore")
rs.compare(*sys.argv[1:2], sys.argv[2:], "AP", n_resamples=99, memory="128MB")
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10)
"""
"""What getrusage says would be that of the process which started this one, where that is larger."""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
def test_memory_does_not_grow_with_the_docs(tmp_path, plain_environment):
    """Two runs with 400,000 unjudged docs each; Python's own texts of these alone would take 50 bytes each."""
    paths = []
    for step in (1, 3):
        paths.append(tmp_path / f"s{step}.run")
        with paths[-1].open("w") as stream:
            for q in range(400):
                stream.writelines(f"q{q} Q0 doc{q * 7919 + d * step} {d + 1} {1000 - d} t\n" for d in range(1000))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{q} 0 doc{q * 7919 + d} {d % 2}\n" for q in range(400) for d in (1, 3, 9 + q % 5)))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, qrels, *paths],
        env=plain_environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert int(done.stdout) < 340
