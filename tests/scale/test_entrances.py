"""How people come to runs in parts: options of the command line, files that are too large, standard input, measures."""

import gc
import gzip
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import rankscope as rs
from rankscope.align import sharded
from rankscope.cli.main import main
from rankscope.data import sharded as sources
from rankscope.io import memory, shards

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")

QRELS = "".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for q in range(40) for d in range(0, 30, 4))
LINES = [f"q{q} Q0 d{(7 * d + q) % 31} {d + 1} {(d * q) % 5} t" for q in range(45) for d in range(25)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(sharded, "room_in", lambda *_: 900)
    monkeypatch.setattr(sharded, "SMALLEST_PIECE", 900)


@pytest.fixture
def files(write_file):
    return str(write_file(QRELS, "qrels.txt")), str(write_file("\n".join(LINES), "r.run"))


def printed(capsys, *arguments) -> dict:
    assert main(["evaluate", *map(str, arguments), "--format", "json", "--no-store"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_line_takes_memory_workers_and_keep(files, capsys, tmp_path):
    plain = printed(capsys, *files)
    assert printed(capsys, *files, "--memory", "256MB") == plain
    assert printed(capsys, *files, "--workers", "2", "--keep", tmp_path / "kept") == plain
    assert list((tmp_path / "kept").iterdir())


def test_compare_takes_them_too(files, write_file, capsys):
    other = write_file("\n".join(line for i, line in enumerate(LINES) if i % 3), "other.run")
    texts = []
    for more in ([], ["--memory", "256MB"]):
        assert main(["compare", *files, str(other), "--no-store", "--format", "json", *more]) == 0
        texts.append(json.loads(capsys.readouterr().out))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("value", "words"), [("much", "no amount of memory"), ("3kB", "too little")])
def test_what_is_no_memory_is_exit_code_2(files, capsys, value, words):
    assert main(["evaluate", *files, "--memory", value]) == 2
    assert words in capsys.readouterr().err


def test_trec_evals_text_is_not_made_of_parts(files, capsys):
    assert main(["evaluate", *files, "--format", "trec", "--memory", "256MB"]) == 2
    assert "not read in parts" in capsys.readouterr().err


def test_a_folder_and_a_pattern_are_runs(files, tmp_path, capsys):
    folder = tmp_path / "bm25"
    folder.mkdir()
    for i in range(3):
        (folder / f"part-{i}.run").write_text("".join(f"{line}\n" for line in LINES[375 * i : 375 * (i + 1)]))
    plain = printed(capsys, *files)["runs"][0]
    in_folder = printed(capsys, files[0], folder)["runs"][0]
    by_pattern = printed(capsys, files[0], f"{folder}/part-*.run")["runs"][0]
    assert in_folder["name"] == "bm25"
    assert by_pattern["name"] == "part"
    for found in (in_folder, by_pattern):
        of_file = dict.fromkeys(("name", "path", "sha256"))
        assert {**found, **of_file} == {**plain, **of_file}


@pytest.mark.parametrize(
    ("pattern", "n"),
    [("*", 1), ("**", 3), ("**/*.run", 3), ("a*/**", 2), ("a*/*/*.run", 1), ("**.run", 3), ("***", 3), ("**t-2*", 1)],
)
def test_two_stars_stand_for_folders_at_any_depth_as_in_a_store(pattern, n, files, tmp_path):
    folder = tmp_path / "bm25"
    (folder / "ab" / "c").mkdir(parents=True)
    for i, name in enumerate(["part-0.run", "ab/part-1.run", "ab/c/part-2.run"]):
        (folder / name).write_text("".join(f"{line}\n" for line in LINES[375 * i : 375 * (i + 1)]))
    if "**" in pattern:  # a link that leads back is not followed
        (folder / "ab" / "back").symlink_to(folder)
    assert len(shards.files_of(f"{folder}/{pattern}")) == n


def test_qrels_among_the_files_of_a_run_are_to_be_left_out(files, tmp_path):
    folder = tmp_path / "bm25"
    folder.mkdir()
    for path in files:
        (folder / Path(path).name).write_bytes(Path(path).read_bytes())
    with pytest.raises(rs.InputError, match="qrels") as refused:
        rs.evaluate(files[0], folder)
    assert "a pattern such as 'run/part-*' leaves such files out" in refused.value.hint


def test_what_is_read_only_once_is_not_kept(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(files[1]).read_bytes())))
    assert main(["evaluate", files[0], "-", "--keep", str(tmp_path / "kept")]) == 2
    assert "standard input is read only once" in capsys.readouterr().err


def test_a_large_file_is_read_in_parts_without_being_asked(files, monkeypatch):
    plain = rs.evaluate(*files)
    for owner in (sources, rs.evaluation if hasattr(rs, "evaluation") else sys.modules["rankscope.evaluation"]):
        for name in ("LARGE", "READ_AT_ONCE"):
            if hasattr(owner, name):
                monkeypatch.setattr(owner, name, 100)
    monkeypatch.setattr(sources, "free_memory", lambda: 30_000)
    with pytest.warns(rs.RankscopeWarning, match=r"r\.run has .* in memory; .* kB are free, so it is read in parts"):
        found = rs.evaluate(*files)
    assert found["r"].values.tobytes() == plain["r"].values.tobytes()
    monkeypatch.setattr(sources, "free_memory", lambda: 10**9)
    assert rs.evaluate(*files).notes == plain.notes


def test_parquet_is_read_in_parts_by_its_rows_not_its_size(files, tmp_path, monkeypatch):
    """Rows that are alike take next to nothing in a file, and in memory as much as others."""
    rows = [(f"q{q}", f"d{d}", float(-d)) for q in range(40) for d in range(25)]
    path = tmp_path / "alike.parquet"
    pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row").write_parquet(path)
    plain = rs.evaluate(files[0], path)
    monkeypatch.setattr(sys.modules["rankscope.evaluation"], "READ_TABLE_AT_ONCE", 100)
    monkeypatch.setattr(sources, "LARGE_TABLE", 100)
    monkeypatch.setattr(sources, "free_memory", lambda: 80_000)
    assert path.stat().st_size < 80_000 // 2 < len(rows) * memory.TABLE_ROW_BYTES
    with pytest.warns(
        rs.RankscopeWarning, match=r"alike\.parquet has .* and takes about .* in memory; .* read in parts"
    ):
        found = rs.evaluate(files[0], path)
    assert found["alike"].values.tobytes() == plain["alike"].values.tobytes()
    monkeypatch.setattr(sources, "free_memory", lambda: 10**9)
    assert rs.evaluate(files[0], path).notes == plain.notes


def test_free_memory_is_that_of_the_container_where_it_has_less(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    monkeypatch.setattr(memory, "_CGROUP", str(tmp_path))
    assert memory.free_memory() == 600_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free_memory() > 600_000


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("mixed", [False, True])
def test_standard_input_is_read_in_parts(files, monkeypatch, tmp_path, pack, mixed):
    lines = [LINES[(i * 7) % len(LINES)] for i in range(len(LINES))] if mixed else LINES
    path = tmp_path / "same.run"
    path.write_text("\n".join(lines))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stdin = io.TextIOWrapper(io.BytesIO(pack("\n".join(lines).encode())))
    monkeypatch.setattr(sys, "stdin", stdin)
    found = rs.evaluate(files[0], "-", memory="256MB")
    assert found["stdin"].values.tobytes() == rs.evaluate(files[0], path)["same"].values.tobytes()
    assert found["stdin"].origin.path == "-"
    del found
    import gc

    gc.collect()
    assert not list(tmp_path.glob("rankscope-*"))


@pytest.fixture
def little_memory(monkeypatch, tmp_path):
    """Let half of the free memory be less than the lines take, and keep temporary files apart."""
    monkeypatch.setattr(sources, "free_memory", lambda: 30_000)
    monkeypatch.setattr(memory, "HEAD_BYTES", 4_000)
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 1_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert sum(len(line) + 1 for line in LINES) > 15_000
    return tmp_path


def give_stdin(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


MIXED = [LINES[(i * 7) % len(LINES)] for i in range(len(LINES))]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("lines", [LINES, MIXED], ids=["in order", "mixed"])
def test_standard_input_is_read_in_parts_where_it_does_not_fit(files, monkeypatch, little_memory, lines, pack):
    """Lines have long tags that do not compress well, so that some of them are in the first half of what is packed."""
    tagged = [f"{line}{random.Random(i).randbytes(300).hex()}" for i, line in enumerate(lines)]
    content = pack(("\n".join(tagged) + "\n").encode())
    assert len(content) > 300_000
    monkeypatch.setattr(sources, "free_memory", lambda: 600_000)
    monkeypatch.setattr(memory, "HEAD_BYTES", 150_000)
    plain = rs.evaluate(*files)["r"]
    give_stdin(monkeypatch, content)
    with pytest.warns(rs.RankscopeWarning, match=r"stdin has .* were free, so it was copied to a file and read in"):
        found = rs.evaluate(files[0], "-")
    assert found["stdin"].values.tobytes() == plain.values.tobytes()
    assert not any("rankscope-stdin" in note for note in found.notes)
    if pack is bytes:  # what is packed is so short that it is one piece
        assert any("regrouped by query on disk" in note for note in found.notes) == (lines is MIXED)
    del found
    gc.collect()
    assert not list(little_memory.glob("rankscope-*"))


def test_standard_input_that_fits_is_held_and_never_written(files, monkeypatch, little_memory):
    monkeypatch.setattr(sources, "free_memory", lambda: 10**9)
    monkeypatch.setattr("tempfile.mkdtemp", lambda **_: pytest.fail("a file was written"))
    give_stdin(monkeypatch, "\n".join(LINES).encode())
    found = rs.evaluate(files[0], "-")
    plain = rs.evaluate(*files)
    assert found["stdin"].values.tobytes() == plain["r"].values.tobytes()
    assert found["stdin"].origin.sha256 == plain["r"].origin.sha256
    assert not any("copied" in note for note in found.notes)


def test_standard_input_in_a_format_that_cannot_be_cut_is_held(files, monkeypatch, little_memory):
    docs: dict[str, dict[str, int]] = {}
    for line in LINES:
        query, _, doc, _, score, _ = line.split()
        docs.setdefault(query, {})[doc] = int(score)
    give_stdin(monkeypatch, json.dumps(docs).encode())
    found = rs.evaluate(files[0], "-")
    assert found["stdin"].values.tobytes() == rs.evaluate(files[0], docs)["run"].values.tobytes()
    assert not any("copied" in note for note in found.notes)


def test_a_pipe_is_read_in_parts_where_it_does_not_fit(files, little_memory):
    pipe = little_memory / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("\n".join(LINES)))
    writer.start()
    with pytest.warns(rs.RankscopeWarning, match=r"pipe has .* copied to a file and read in parts"):
        found = rs.evaluate(files[0], str(pipe))
    writer.join()
    assert found["pipe"].values.tobytes() == rs.evaluate(*files)["r"].values.tobytes()


@pytest.mark.parametrize("how", [{}, {"memory": "256MB"}], ids=["free", "bounded"])
def test_what_is_read_once_is_evaluated_as_often_as_one_likes(files, monkeypatch, little_memory, how):
    give_stdin(monkeypatch, "\n".join(LINES).encode())
    run = rs.load_run("-")
    first, second = (rs.evaluate(files[0], run, measure, **how) for measure in ("AP", "RR"))
    assert first["stdin"].values.tobytes() == rs.evaluate(*files, "AP")["r"].values.tobytes()
    assert second["stdin"].values.tobytes() == rs.evaluate(*files, "RR")["r"].values.tobytes()


def test_standard_input_in_memory_is_there_for_another_evaluation(files, monkeypatch, little_memory):
    monkeypatch.setattr(sources, "free_memory", lambda: 10**9)
    give_stdin(monkeypatch, "\n".join(LINES).encode())
    assert rs.evaluate(files[0], "-")["stdin"] == rs.evaluate(files[0], "-")["stdin"]
    give_stdin(monkeypatch, "\n".join(LINES[:500]).encode())
    assert rs.evaluate(files[0], "-")["stdin"].counts.missing > 10  # another one is another run


@pytest.mark.parametrize("how", [[], ["--memory", "256MB"]], ids=["free", "bounded"])
def test_a_page_of_standard_input_is_that_of_the_file(files, monkeypatch, little_memory, how):
    """A page is made of scores, and of charts that read the run again."""
    give_stdin(monkeypatch, "\n".join(LINES).encode())
    page = little_memory / "page.html"
    assert main(["evaluate", files[0], "-", "--no-store", "-o", str(page), *how]) == 0
    assert main(["evaluate", *files, "--no-store", "-o", str(little_memory / "plain.html")]) == 0
    figures = [each.read_text().count("<svg") for each in (page, little_memory / "plain.html")]
    assert figures[0] == figures[1] > 0


@pytest.mark.parametrize("how", [{}, {"memory": "256MB"}], ids=["free", "bounded"])
def test_a_bad_line_of_standard_input_is_named_by_what_the_user_gave(files, monkeypatch, little_memory, how):
    give_stdin(monkeypatch, "\n".join([*LINES[:700], "q3 Q0 d1 1 much t", *LINES[700:]]).encode())
    with pytest.raises(rs.InputError, match=r"standard input:701: ") as raised:
        rs.evaluate(files[0], "-", **how)
    assert "rankscope-stdin" not in str(raised.value)


@pytest.mark.parametrize("how", [{}, {"memory": "256MB"}], ids=["free", "bounded"])
def test_a_stream_without_an_end_fills_no_disk(files, monkeypatch, little_memory, how):
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            line = b"q1 Q0 d1 1 1 t\n"
            buffer[:] = (line * (len(buffer) // len(line) + 1))[: len(buffer)]
            return len(buffer)

    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=400_000))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with pytest.raises(rs.UnfinishedError, match=r"does not end, or is too long .* and 390\.6 kB were free there"):
        rs.evaluate(files[0], "-", **how)
    gc.collect()
    assert not list(little_memory.glob("rankscope-*"))


def test_measures_that_look_at_docs_see_those_of_all_parts(files):
    rows = [line.split() for line in LINES]
    docs = {row[2]: {"topic": f"t{hash_of(row[2]) % 4}"} for row in rows}
    vectors = {row[2]: [float(hash_of(row[2]) % 5), 1.0, float(hash_of(row[2]) % 3)] for row in rows}
    options = {"embeddings": vectors, "docs": docs}
    measures = ["ILD@5", "Uniqueness@10", "nDCG@5"]
    whole = rs.evaluate(*files, measures, **options)
    parts = rs.evaluate(*files, measures, memory="256MB", **options)
    assert whole["r"].values.tobytes() == parts["r"].values.tobytes()
    assert whole.notes == parts.notes


def hash_of(text: str) -> int:
    return sum(text.encode())


def test_a_profile_says_of_rows_in_parts_what_it_says_of_all(files, write_file):
    run = write_file("\n".join([*LINES[:100], LINES[99], *LINES[100:], LINES[-1]]), "twice.run")
    whole = rs.evaluate(files[0], run, profile="ranx", duplicates="first")
    parts = rs.evaluate(files[0], run, profile="ranx", duplicates="first", memory="256MB")
    assert any("repeat" in note for note in whole.notes)
    assert whole.notes == parts.notes


def test_ids_that_match_nothing_are_found_in_parts_too(files, write_file):
    run = write_file("\n".join(line.replace(" d", " D") for line in LINES), "other.run")
    messages = []
    for how in ({}, {"memory": "256MB"}):
        with pytest.raises(rs.InputError) as raised:
            rs.evaluate(files[0], run, **how)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_progress_is_drawn_with_speed_and_time_left(monkeypatch):
    from rankscope.cli import options

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream, clock = Terminal(), iter([0.0, 2.0, 4.0])
    monkeypatch.setattr(options.time, "monotonic", lambda: next(clock))
    draw = options.job_progress_on(stream)
    draw(rs.JobState(done=5, total=20, rows=10_000_000, seconds=2.0, noun="shard"))
    assert stream.getvalue().endswith("scoring: 5 of 20 shards, 5,000,000 rows/s, 6 s left")
    draw(rs.JobState(done=20, total=20, rows=40_000_000, seconds=4.0, noun="shard"))
    assert stream.getvalue().endswith("\x1b[K")


def test_progress_that_nobody_watches_is_a_line_now_and_then(monkeypatch):
    from rankscope.cli import options

    stream, clock = io.StringIO(), iter([0.0, 10.0, 31.0, 31.0, 40.0, 62.0, 62.0, 99.0])
    monkeypatch.setattr(options.time, "monotonic", lambda: next(clock))
    write = options.job_progress_on(stream)
    for done in (1, 2, 3, 4):
        write(rs.JobState(done=done, total=5, noun="part"))
    write(rs.JobState(done=5, total=5, noun="part"))
    assert stream.getvalue() == "scoring: 2 of 5 parts, 0 s left\nscoring: 4 of 5 parts, 0 s left\n"


def test_progress_within_a_part_is_said_in_percent():
    """42% in 2.1 s are 5 s for all, of which 2.9 s are left."""
    state = rs.JobState(done=0, total=1, seconds=2.1, noun="shard", within=0.42)
    assert str(state) == "0 of 1 shard, 42% of the next, 3 s left"
    assert str(rs.JobState(done=1, total=4, seconds=3.0, within=0.5)) == "1 of 4 inputs, 50% of the next, 5 s left"


def long_gz(tmp_path, lines):
    """Write so much that it is decompressed in several pieces of a megabyte."""
    path = tmp_path / "long.run.gz"
    path.write_bytes(gzip.compress("".join(f"{line}{' ' * 3000}\n" for line in lines).encode()))
    return path


def test_progress_is_said_while_one_compressed_file_is_read(files, tmp_path):
    states: list[rs.JobState] = []
    rs.evaluate(files[0], long_gz(tmp_path, LINES), memory="256MB", progress=states.append)
    assert {state.total for state in states} == {1}
    shares = [state.within for state in states if state.done == 0]
    assert any(0 < share < 1 for share in shares)
    assert shares == sorted(shares)
    rows = [state.rows for state in states]
    assert rows == sorted(rows)
    assert any(0 < state.rows < len(LINES) for state in states if 0 < state.within < 1)
    assert rows[-1] == len(LINES)


def test_more_workers_than_cores_can_use_are_warned_of(files, monkeypatch):
    monkeypatch.setattr(sharded, "n_cores", lambda: 1)
    with pytest.warns(rs.RankscopeWarning, match="3 workers are more than 1 core can use: .* and 1 would be quicker"):
        rs.evaluate(*files, workers=3)


def test_a_folder_with_files_of_two_formats_is_said_to_have_both(files, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    half = len(LINES) // 2 // 25 * 25  # whole queries
    (folder / "a.run").write_text("\n".join(LINES[:half]))
    rows = [line.split() for line in LINES[half:]]
    columns = {name: [row[at] for row in rows] for name, at in {"query": 0, "doc": 2, "score": 4}.items()}
    pl.DataFrame(columns).with_columns(pl.col("score").cast(pl.Float64)).write_parquet(folder / "b.parquet")
    assert rs.evaluate(files[0], folder)["run"].origin.format == "parquet and trec"


def test_progress_is_said_while_rows_are_regrouped(files, tmp_path):
    states: list[rs.JobState] = []
    rs.evaluate(files[0], long_gz(tmp_path, MIXED), memory="256MB", progress=states.append)
    regrouping = [state for state in states if state.doing == "regrouping by query"]
    assert any(0 < state.within < 1 for state in regrouping)
    assert states[-1].doing == "scoring"
    assert states[-1].done == states[-1].total


def test_progress_is_said_while_standard_input_is_copied(files, monkeypatch, little_memory):
    said: list[tuple[int, int | None]] = []
    content = "\n".join(LINES).encode()
    give_stdin(monkeypatch, content)
    options = rs.ReadOptions(progress=lambda done, total: said.append((done, total)))
    rs.evaluate(files[0], "-", memory="256MB", options=options)
    n_chunks = -(-len(content) // 1000)
    assert said[: n_chunks - 1] == [(1000 * i, None) for i in range(1, n_chunks)]
    assert said[n_chunks] == (len(content), len(content))


def test_progress_of_unknown_length_is_drawn_in_bytes(monkeypatch):
    from rankscope.cli import options

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream, clock = Terminal(), iter([0.0, 2.0, 2.1, 4.0])
    monkeypatch.setattr(options.time, "monotonic", lambda: next(clock))
    draw = options.progress_on(stream)
    draw(5 << 20, None)
    assert stream.getvalue().endswith("reading 5 MB")
    draw(6 << 20, None)  # too soon after that
    assert stream.getvalue().endswith("reading 5 MB")
    draw(7 << 20, 7 << 20)
    assert stream.getvalue().endswith("\r\x1b[K")


def test_what_was_kept_from_before_is_said(files, tmp_path, capsys):
    command = ["evaluate", *files, "--keep", str(tmp_path / "kept"), "--memory", "256MB", "--no-store"]
    assert main(command) == 0
    first = capsys.readouterr()
    assert "kept from before" not in first.err
    n_parts = len([path for path in (tmp_path / "kept").iterdir() if path.is_file()])
    assert n_parts > 5
    assert main(command) == 0
    second = capsys.readouterr()
    assert f"{n_parts} of {n_parts} parts were kept from before" in second.err
    assert second.out == first.out


@pytest.mark.parametrize("folder", ["", "s3://bucket/kept"])
def test_results_are_kept_in_a_folder_of_this_machine(files, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    assert main(["evaluate", *files, "--keep", folder, "--no-store"]) == 2
    assert "results are kept in a folder of this machine" in capsys.readouterr().err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("size", "words"), [("1MB", "--memory 1MB is too"), ("512", "512 is too little: .* of bytes")])
def test_an_option_of_the_command_is_named_as_it_was_given(files, capsys, size, words):
    assert main(["evaluate", *files, "--memory", size]) == 2
    error = capsys.readouterr().err
    assert re.search(words, error)
    assert "for example --memory 512MB" in error


@pytest.mark.parametrize("how", [{}, {"memory": "256MB"}], ids=["at once", "in parts"])
@pytest.mark.parametrize("option", [{"progress": True}, {"progress": 3}, {"keep": 5}, {"keep": b"kept"}], ids=str)
@pytest.mark.parametrize("call", [rs.evaluate, rs.compare])
def test_how_is_checked_as_other_options_are(files, call, option, how):
    qrels, run = files
    [(name, value)] = option.items()
    kind = "a function" if name == "progress" else "the path of a folder"
    with pytest.raises(rs.OptionError, match=f"{name} is {value!r}, but it must be {kind}"):
        call(qrels, {"a": run, "b": run}, **option, **how)


def test_a_plain_evaluation_loads_nothing_of_this(files):
    code = f"import sys, rankscope as rs; rs.evaluate({files[0]!r}, {files[1]!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    names = set(loaded.stdout.split())
    assert "rankscope.evaluation" in names
    assert not names & {"rankscope.align.sharded", "rankscope.data.sharded", "rankscope.executors", "polars", "msgspec"}
