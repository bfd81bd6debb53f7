"""What a file may ask of this process: memory, time, and that it stays as it is while it is read."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import textwrap
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import rankscope as rs
from rankscope.data.docs import load_docs
from rankscope.data.ontology_files import read_obo
from rankscope.data.queries import load_queries
from rankscope.errors import BadLinesError, FormatError, InputError, OptionError, RankscopeError
from rankscope.io.limits import in_words, max_line_bytes
from rankscope.io.read import read_qrels, read_run
from rankscope.io.source import source_of
from rankscope.io.table import read_rows
from rankscope.io.table_check import check_table

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and devices as Linux has them")
READERS: dict[str, Callable[[str], object]] = {
    "evaluate": lambda path: rs.evaluate({"q1": {"d1": 1}}, path, ["P@1"]),
    "run": read_run,
    "qrels": read_qrels,
    "load_qrels": rs.load_qrels,
    "queries": load_queries,
    "docs": load_docs,
    "scores": rs.read_scores,
}


def in_child(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, whose end is part of the test."""
    program = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(
        program, capture_output=True, text=True, timeout=300, check=False, env=os.environ | environment
    )


def outcome(read: Callable[[str], object], path: str | Path) -> str:
    """Return what is said of a file that cannot be read, or nothing."""
    try:
        read(str(path))
    except RankscopeError as error:
        return str(error)
    return ""


@pytest.fixture
def one_line_gz(tmp_path):
    """A gigabyte in one line, in a file of one megabyte."""

    def write(name: str, start: bytes = b"") -> Path:
        path = tmp_path / name
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        block = b"a" * (1 << 20)
        with path.open("wb") as stream:
            stream.write(packer.compress(start))
            for _ in range(1 << 10):
                stream.write(packer.compress(block))
            stream.write(packer.flush())
        return path

    return write


MEASURED = r"""
    import re, sys
    import rankscope as rs
    from rankscope.data.docs import load_docs
    from rankscope.data.queries import load_queries
    from rankscope.io.read import read_run, read_qrels
    readers = {
        "evaluate": lambda path: rs.evaluate({"q1": {"d1": 1}}, path, ["P@1"]),
        "run": read_run, "qrels": read_qrels, "load_qrels": rs.load_qrels,
        "queries": load_queries, "docs": load_docs, "scores": rs.read_scores,
    }
    for reader in sys.argv[2:]:
        try:
            readers[reader](sys.argv[1])
        except rs.RankscopeError as error:
            print(reader, str(error)[:300].replace(chr(10), " "))
    status = open("/proc/self/status").read()  # the usage that getrusage tells begins with that of the parent
    print("peak", int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024)
"""


@LINUX
@pytest.mark.parametrize(
    ("name", "start", "readers"),
    [
        ("one.run.gz", b"q1 Q0 d1 1 0.5 t\n", ("evaluate", "run")),
        ("one.qrels.gz", b"q1 0 d1 1\n", ("qrels", "load_qrels")),
        ("one.jsonl.gz", b'{"_id": "q1", "text": "t"}\n{"_id": "', ("queries", "docs")),
        ("one.csv.gz", b"query,doc,score\n", ("run", "queries", "scores")),
        ("one.json.gz", b'{"q1": {"', ("run", "qrels", "queries", "docs", "scores")),
    ],
)
def test_a_small_file_cannot_fill_the_memory(one_line_gz, name, start, readers):
    done = in_child(MEASURED, one_line_gz(name, start), *readers)
    *errors, peak = done.stdout.splitlines()
    assert len(errors) == len(readers), done.stderr
    assert all("the line is longer than 16 MB" in error or "over 200 times its size" in error for error in errors), (
        errors
    )
    assert int(peak.split()[1]) < (450 if "json." in name else 250)


@LINUX
def test_the_peak_of_a_run_of_one_line(one_line_gz):
    done = in_child(MEASURED, one_line_gz("one.run.gz", b"q1 Q0 d1 1 0.5 t\n"), "evaluate")
    assert int(done.stdout.split()[-1]) < 200


@pytest.mark.parametrize("kernel", ["kernel", "python"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_line_that_is_too_long_is_named(tmp_path, monkeypatch, is_compressed, kernel):
    monkeypatch.setenv("RANKSCOPE_MAX_LINE", str(1 << 16))
    monkeypatch.setenv("RANKSCOPE_KERNEL", kernel)
    usual = b"".join(b"q1 Q0 d%d 1 0.5 t\n" % i for i in range(5000))
    ending = b" 1 0.25 t\n"
    for n_extra, is_fine in ((0, True), (1, False)):
        line = b"q1 Q0 " + b"d" * ((1 << 16) - 6 - len(ending) + n_extra) + ending
        path = tmp_path / f"{n_extra}.run"
        path.write_bytes(gzip.compress(usual + line) if is_compressed else usual + line)
        if is_fine:
            assert rs.evaluate({"q1": {"d1": 1}}, path, ["Judged@1"]).runs
            continue
        with pytest.raises(FormatError, match=r"1\.run:5001: the line is longer than 64 kB") as raised:
            rs.evaluate({"q1": {"d1": 1}}, path, ["P@1"])
        assert "RANKSCOPE_MAX_LINE" in raised.value.hint
        qrels = tmp_path / "long.qrels"
        qrels.write_bytes(b"q1 0 d1 1\n" + b"q1 0 " + b"d" * (1 << 16) + b" 1\n")
        with pytest.raises(FormatError, match=r"long\.qrels:2: the line is longer than 64 kB"):
            rs.load_qrels(qrels)


@pytest.mark.parametrize("given", ["0", "65535", "-1", "1e9", "many", "9" * 400])
def test_a_limit_must_be_a_number_of_bytes(monkeypatch, given):
    monkeypatch.setenv("RANKSCOPE_MAX_LINE", given)
    with pytest.raises(OptionError, match="RANKSCOPE_MAX_LINE"):
        max_line_bytes()


def test_sizes_in_words():
    assert [in_words(n) for n in (0, 17, 1 << 16, 16 << 20, 3 << 29)] == [
        "0 bytes",
        "17 bytes",
        "64 kB",
        "16 MB",
        "1.5 GB",
    ]


@LINUX
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "device", ["/dev/zero", "/dev/urandom", "/dev/full", "/proc/self/maps", "/proc/self/mem", "/dev/null"]
)
def test_devices_and_files_that_the_system_makes_up(device, reader):
    said = outcome(READERS[reader], device)
    assert said or device == "/proc/self/maps"  # which is text with a colon in every line, as queries may be


@LINUX
def test_a_pipe_that_never_ends_is_refused():
    code = """
        import sys, rankscope as rs
        try:
            rs.evaluate({"q1": {"d1": 1}}, "-", ["P@1"])
        except rs.RankscopeError as error:
            print(error)
    """
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdin=endless.stdout,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        endless.kill()
    assert "longer than 16 MB" in done.stdout, done.stderr


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["a" * 300, "b" * 300 + "/c.run", "c" * 5000, "\ud800.run", "nul\0.run"])
def test_names_that_no_file_can_have(tmp_path, reader, name):
    with pytest.raises(RankscopeError):
        READERS[reader](f"{tmp_path}/{name}")


@LINUX
def test_a_file_that_shrinks_while_it_is_read_does_not_end_the_process(tmp_path):
    code = """
        import os, sys, threading, time
        import rankscope as rs
        path, kept = sys.argv[1], 1 << 16
        line = b"q1 Q0 d%07d 1 0.5 t\\n"
        content = b"".join(line % i for i in range(300_000))
        n_refused = 0
        for trial in range(40):
            with open(path, "wb") as stream:
                stream.write(content)
            def shrink():
                time.sleep(trial * 0.0005)
                os.truncate(path, kept)
            thread = threading.Thread(target=shrink)
            thread.start()
            try:
                rs.evaluate({"q1": {"d1": 1}}, path, ["P@1"]) if trial % 2 else rs.load_qrels(path, duplicates="first")
            except rs.RankscopeError as error:
                n_refused += "changed while it was read" in str(error)
            thread.join()
        print("alive", n_refused)
    """
    done = in_child(code, tmp_path / "big.run")
    assert done.returncode == 0, done.stderr
    assert "alive" in done.stdout


@LINUX
def test_vectors_that_shrink_while_they_are_read_do_not_end_the_process(tmp_path):
    code = """
        import os, sys, threading, time
        import numpy as np
        import rankscope as rs
        path, n_docs = sys.argv[1], 20_000
        vectors = np.random.default_rng(1).standard_normal((n_docs, 64), dtype=np.float32)
        docs = [f"d{i}" for i in range(n_docs)]
        with open(path + ".ids.txt", "w") as stream:
            stream.write("\\n".join(docs))
        qrels = {f"q{i}": {docs[i]: 1} for i in range(1000)}
        run = {query: {docs[(7919 * i + 131 * rank) % n_docs]: 1 / (1 + rank) for rank in range(100)}
               for i, query in enumerate(qrels)}
        n_refused = 0
        for trial in range(12):
            np.save(path, vectors)
            def shrink():
                time.sleep(trial * 0.03)
                os.truncate(path, 5000)
            thread = threading.Thread(target=shrink)
            thread.start()
            try:
                rs.evaluate(qrels, run, ["ILD@100", "ILD@50"], embeddings=path)
            except rs.RankscopeError as error:
                n_refused += "changed while it was read" in str(error)
            thread.join()
        print("alive", n_refused)
    """
    done = in_child(code, tmp_path / "vectors.npy")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 0


@LINUX
@pytest.mark.parametrize("name", ["kernel", "python"])
def test_a_file_that_changes_its_size_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setenv("RANKSCOPE_KERNEL", name)
    path = tmp_path / "a.run"
    path.write_bytes(b"q1 Q0 d1 1 0.5 t\n" * 10)
    with (
        pytest.raises(InputError, match="changed while it was read: it had 170 bytes and now has 40"),
        source_of(path).reading(),
    ):
        os.truncate(path, 40)


@LINUX
def test_without_memory_there_is_an_error_of_ours(tmp_path):
    path = tmp_path / "big.run"
    path.write_bytes(b"".join(b"q%d Q0 d%07d 1 0.5 t\n" % (i % 7, i) for i in range(300_000)))
    packed = tmp_path / "big.run.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    table = tmp_path / "big.csv"
    table.write_bytes(b"query,doc,score\n" + b"".join(b"q1,d%d,1\n" % i for i in range(150_000)))
    code = """
        import resource, sys
        import numpy, polars
        import rankscope as rs
        from rankscope.io.read import read_run
        qrels = rs.load_qrels({"q1": {"d1": 1}})
        rs.evaluate(qrels, {"q1": {"d1": 1.0}}, ["P@1"])
        def now():
            return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        n_refused = 0
        for path in sys.argv[1:]:
            for extra in (1, 6, 14, 30):
                resource.setrlimit(resource.RLIMIT_AS, (now() + (extra << 20), -1))
                for read in (lambda: rs.evaluate(qrels, path, ["P@1"], threads=1), lambda: len(read_run(path).rows)):
                    try:
                        read()
                    except rs.RankscopeError as error:
                        assert "does not fit into memory" in str(error), error
                        n_refused += 1
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        print("refused", n_refused)
    """
    done = in_child(code, path, packed, table)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 5


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("shape", ["csv", "unnamed.csv", "tsv", "jsonl", "short.csv"])
def test_a_hundred_thousand_columns_are_read_in_two_seconds(tmp_path, reader, shape):
    n_columns = 100_000
    names = [f"column{i}" for i in range(n_columns)]
    known = (
        [] if shape == "unnamed.csv" else ["query", "doc", "score" if reader in {"run", "evaluate"} else "grade", "id"]
    )
    delimiter = "\t" if shape == "tsv" else ","
    cells = ["q1", "d1", "1", "i1"][: len(known)] + ["0.5"] * (2 if shape == "short.csv" else n_columns)
    if shape == "jsonl":
        import json

        content = json.dumps(dict(zip(known + names, cells, strict=True))) + "\n"
    else:
        content = delimiter.join(known + names) + "\n" + delimiter.join(cells) + "\n"
    path = tmp_path / f"wide.{shape}"
    path.write_text(content)
    start = time.process_time()
    said = outcome(READERS[reader], path)
    assert time.process_time() - start < 2
    assert len(said) < 2000  # nobody reads a hundred thousand names


def test_rows_of_a_long_line_are_read_where_lines_may_be_long(tmp_path, monkeypatch):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(b'{"id": "d1", "text": "' + b"a" * (17 << 20) + b'"}\n')
    with pytest.raises(FormatError, match=r"docs\.jsonl:1: the line is longer than 16 MB"):
        list(read_rows(path))
    monkeypatch.setenv("RANKSCOPE_MAX_LINE", str(32 << 20))
    assert len(list(read_rows(path))) == 1


def equal_rows(n_rows: int) -> pl.DataFrame:
    return pl.select(query=pl.repeat("q1", n_rows), doc=pl.repeat("d1", n_rows), score=pl.repeat(1.0, n_rows))


TABLES: dict[str, Callable[[Path], object]] = {
    "table.parquet": lambda path: equal_rows(3_000_000).write_parquet(path, compression="zstd"),
    "table.arrow": lambda path: equal_rows(3_000_000).write_ipc(path, compression="zstd"),
    "stream.arrow": lambda path: equal_rows(3_000_000).write_ipc_stream(path, compression="zstd"),
    "text.parquet": lambda path: (
        equal_rows(5000).with_columns(doc=pl.lit("d" * 100_000)).write_parquet(path, compression="zstd")
    ),
    "text.arrow": lambda path: (
        equal_rows(5000)
        .with_columns(doc=pl.lit("d" * 100_000, pl.Categorical), query=pl.repeat("q", 5000, dtype=pl.String))
        .write_ipc(path, compression="zstd")
    ),
}


@pytest.mark.parametrize("reader", ["run", "qrels", "queries", "docs"])
@pytest.mark.parametrize("name", TABLES)
def test_a_small_table_cannot_fill_the_memory(tmp_path, monkeypatch, name, reader):
    path = tmp_path / name
    TABLES[name](path)
    assert path.stat().st_size < 120_000
    assert "times its size" in outcome(READERS[reader], path)
    monkeypatch.setenv("RANKSCOPE_MAX_GROWTH", "0")
    assert "RANKSCOPE_MAX_GROWTH is '0'" in outcome(READERS[reader], path)


def test_a_table_may_grow_as_much_as_its_user_says(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    equal_rows(2_000_000).write_parquet(path, compression="zstd")
    with pytest.raises(FormatError, match=r"would take 76\.29 MB of memory at least, which is over 1000 times"):
        read_run(path)
    monkeypatch.setenv("RANKSCOPE_MAX_GROWTH", "100000")
    assert len(read_run(path).rows) == 2_000_000


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_run_with_the_same_ranking_for_every_query_is_sound(tmp_path, ending):
    n_queries, n_docs = 2000, 1000
    run = pl.select(query=pl.int_range(n_queries * n_docs) // n_docs, rank=pl.int_range(n_queries * n_docs) % n_docs)
    run = run.select(
        query=pl.format("q{}", "query"), doc=pl.format("d{}", "rank"), rank="rank", score=1 / (1 + pl.col("rank"))
    ).with_columns(tag=pl.lit("popular"))
    path = tmp_path / f"popular.{ending}"
    (run.write_parquet if ending == "parquet" else run.write_ipc)(path, compression="zstd")
    with path.open("rb") as file:
        check_table(file, "parquet" if ending == "parquet" else "ipc", name=str(path))


def test_text_that_grows_may_grow_as_much_as_its_user_says(tmp_path, monkeypatch):
    path = tmp_path / "equal.qrels.gz"
    path.write_bytes(gzip.compress(b"#" * (70 << 20) + b"\nq1 0 d1 1\n"))
    monkeypatch.setenv("RANKSCOPE_MAX_LINE", str(1 << 28))
    with pytest.raises(FormatError, match="over 200 times its size") as raised:
        read_qrels(path)
    assert "RANKSCOPE_MAX_GROWTH" in raised.value.hint
    monkeypatch.setenv("RANKSCOPE_MAX_GROWTH", "2000")
    assert len(read_qrels(path).rows) == 1


@LINUX
@pytest.mark.parametrize("megabytes", [120, 300, 500])
def test_a_table_that_does_not_fit_into_memory_is_an_error_of_ours(tmp_path, megabytes):
    path = tmp_path / "table.parquet"
    equal_rows(4_000_000).write_parquet(path)
    code = """
        import resource, sys
        import polars
        from rankscope.errors import UnfinishedError
        from rankscope.io.read import read_run
        read_run(sys.argv[2])
        n_used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (n_used + (int(sys.argv[3]) << 20), -1))
        try:
            read_run(sys.argv[1])
        except UnfinishedError as error:
            print(error)
    """
    small = tmp_path / "small.parquet"
    equal_rows(10).write_parquet(small)
    done = in_child(code, path, small, megabytes, RANKSCOPE_MAX_GROWTH="100000")
    assert done.returncode == 0, done.stderr
    assert "table.parquet does not fit into memory" in done.stdout


BAD_FILES = {
    "a.qrels": (b"q1 0 d1 1\n", b"oops x\n", ("qrels", "load_qrels")),
    "b.qrels": (b"", b"q1 0 d1 one\n", ("qrels", "load_qrels")),
    "a.run": (b"q1 Q0 d1 1 0.5 t\n", b"q1 Q0 d1 1 half t\n", ("run", "evaluate")),
    "a.csv": (b"query,doc,score\nq1,d1,0.5\n", b"q1,d1\n", ("run", "evaluate")),
    "b.csv": (b"query,doc,score\nq1,d1,0.5\n", b"q1,d1,half\n", ("run", "evaluate")),
    "a.jsonl": (b'{"query": "q1", "doc": "d1", "score": 0.5}\n', b"[]\n", ("run", "docs")),
    "b.jsonl": (b'{"id": "q1", "text": "a"}\n', b"{oops\n", ("queries", "docs", "ontology")),
    "c.jsonl": (b'{"query": "q1", "doc": "d1", "score": 0.5}\n', b'{"query": "q1", "doc": ""}\n', ("run",)),
}


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize(
    ("name", "reader"), [(name, reader) for name, (*_, all_) in BAD_FILES.items() for reader in all_]
)
def test_not_every_bad_line_of_millions_is_kept(tmp_path, name, reader, is_compressed):
    good, bad, _ = BAD_FILES[name]
    if reader == "ontology":
        name, good, bad, read = "a.obo", b"[Term]\nid: A:1\n", b"oops\n", lambda path: read_obo(Path(path))
    else:
        read = READERS[reader]
    path = tmp_path / (f"{name}.gz" if is_compressed else name)
    for n_bad in (5000, 5001, 20_000):
        content = good + bad * n_bad
        path.write_bytes(gzip.compress(content, 1) if is_compressed else content)
        with pytest.raises(BadLinesError) as raised:
            read(str(path))
        said = str(raised.value)
        assert len(raised.value.bad_lines) == min(n_bad, 5000)
        if n_bad <= 5000:
            assert f"{n_bad} bad lines in" in said
            assert f"... and {n_bad - 5} more, the last at line {len(content.splitlines())}" in said
            assert "at least" not in said
        else:
            assert "at least 5000 bad lines in" in said
            assert "... and at least 4995 more" in said
        assert raised.value.hint


@pytest.mark.parametrize("name", ["a.qrels", "a.run", "b.csv", "c.jsonl"])
def test_bad_lines_that_are_left_out_are_counted_exactly(tmp_path, name):
    good, bad, readers = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(good + bad * 20_000 + good.splitlines(keepends=True)[-1].replace(b"d1", b"d2"))
    read = read_qrels if "qrels" in readers else read_run
    found = read(path, lenient=True)
    assert len(found.rows) == 2
    assert len(found.bad_lines) == 20_000
    assert len(set(found.bad_lines)) == 5002
    assert found.bad_lines[-1].line == found.bad_lines[0].line + 19_999
    assert found.bad_lines[-1].text == bad.decode().strip() or name.endswith("csv")


def test_qrels_of_another_kind_are_named_also_where_not_all_was_read(tmp_path):
    path = tmp_path / "a.qrels"
    path.write_bytes(b"q1 Q0 d1 1 0.5 t\n" * 6000)
    with pytest.raises(BadLinesError, match="at least 5000 bad lines") as raised:
        read_qrels(path)
    assert "run" in raised.value.hint
