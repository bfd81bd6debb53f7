"""What doctor --size says of a run is what evaluate then does."""

import csv
import gzip
import io
import json
import lzma
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import polars as pl
import pytest

import rankscope as rs
from rankscope.analysis import job_size
from rankscope.analysis.job_size import first_that_returns, is_worth_a_cluster, size_of_job, words_on
from rankscope.cli.doctor import hanging_lines
from rankscope.cli.main import main
from rankscope.data import sharded as sources
from rankscope.errors import InputError, OptionError
from rankscope.io import memory, regroup
from rankscope.io.regroup import look_at_text, most_places_alone


def lines(n_queries=300, depth=20):
    return [f"q{q} Q0 d{q}-{r} {r} {100 - r} me\n" for q in range(n_queries) for r in range(1, depth + 1)]


def sentences(job):
    return dict(words_on(job))


def test_text_in_order_is_read_at_once(write_file):
    job = size_of_job(str(write_file("".join(lines()), "run.trec")))
    assert (job.n_rows, job.is_exact, job.n_files, job.kinds) == (6000, True, 1, ("trec",))
    assert job.scattered_query is None
    assert job.in_parts == ""
    assert job.seconds == pytest.approx(6000 / job.rows_per_second)
    assert not job.pays_on_a_cluster
    assert sentences(job)["what happens"] == "it is read at once"
    assert "6,000 rows" in sentences(job)["the run"]


def test_rows_of_a_long_file_are_estimated_and_looked_at_throughout(write_file, monkeypatch):
    monkeypatch.setattr(job_size, "SAMPLE_BYTES", 1 << 14)
    monkeypatch.setattr(job_size, "PLACE_BYTES", 1 << 12)
    in_order = lines(1000)
    job = size_of_job(str(write_file("".join(in_order), "run.trec")))
    assert not job.is_exact
    assert job.n_rows == pytest.approx(20_000, rel=0.15)  # later ids are longer
    assert job.scattered_query is None
    random.Random(0).shuffle(in_order)
    job = size_of_job(str(write_file("".join(in_order), "shuffled.trec")), memory="128MB")
    assert job.scattered_query is not None
    assert "regrouped by query on disk" in sentences(job)["what happens"]
    assert job.scratch_bytes == job.n_bytes
    assert job.n_queries_seen <= 1000
    assert "disk" in sentences(job)


def test_rows_in_any_order_are_no_problem_where_all_fits(write_file):
    shuffled = lines(50)
    random.Random(1).shuffle(shuffled)
    job = size_of_job(str(write_file("".join(shuffled), "run.trec")))
    assert sentences(job)["what happens"] == "it is read at once; rows in any order are no problem then"
    assert "disk" not in sentences(job)
    assert job.scratch_bytes == 0


def test_compressed_parquet_and_folders(tmp_path, write_file):
    text = "".join(lines()).encode()
    packed = size_of_job(str(write_file(gzip.compress(text), "run.trec.gz")))
    assert (packed.kinds, packed.n_rows) == (("compressed trec",), 6000)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        rows = [(f"q{part}-{q}", f"d{r}", float(-r)) for q in range(100) for r in range(20)]
        pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row").write_parquet(folder / f"{part}.parquet")
    job = size_of_job(str(folder))
    assert (job.n_files, job.n_rows, job.is_exact, job.kinds) == (3, 6000, True, ("parquet",))
    assert job.in_parts == "it lies in 3 files"
    assert size_of_job(str(folder / "*.parquet")).n_rows == 6000


def test_other_formats_are_not_guessed_at(write_file):
    job = size_of_job(str(write_file(json.dumps({"q1": {"d1": 2.0, "d2": 1.0}}), "run.json")))
    assert (job.n_rows, job.seconds, job.kinds) == (None, None, ("other",))
    assert "rankscope convert" in sentences(job)["time"]


def test_rows_that_evaluate_refuses_are_named(write_file):
    job = size_of_job(str(write_file("q1 Q0 d1 1 2 me\nq1 Q0 d1 2 1 me\n", "run.trec")))
    assert job.seconds is None
    assert "'d1' more than once" in sentences(job)["time"]


def test_what_is_no_run_is_refused_by_name(write_file):
    path = write_file("q1 Q0 d1 1 2 me\nq1 Q0 d2 2 much me\n", "run.trec")
    with pytest.raises(InputError, match=r"run\.trec cannot be scored") as refused:
        size_of_job(str(path))
    assert "rankscope-size" not in str(refused.value)


N_ROWS = 1_500_000


def many_rows(form: str) -> bytes:
    """Return rows of 1,500 queries in a form: long enough for their memory to be seen beside that of Python."""
    rows = [
        (f"q{q}", f"D{(q * 991 + r * 7919) % 10**7}", 1000.0 - r) for q in range(N_ROWS // 1000) for r in range(1000)
    ]
    if "shuffled" in form:
        random.Random(3).shuffle(rows)
    if "long query" in form:
        rows = [("long" if i > 2_000 else f"s{i}", doc, score) for i, (_, doc, score) in enumerate(rows)]
    if "parquet" in form:
        stream = io.BytesIO()
        rows = rows[: N_ROWS // 5] if "texts" in form else rows
        table = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
        if "ranks" in form:
            table = table.with_row_index("rank").cast({"rank": pl.Int64}).with_columns(tag=pl.lit("me"))
        if "texts" in form:
            texts = random.Random(4).randbytes(len(rows) * 150).hex()
            table = table.with_columns(text=pl.Series([texts[i * 300 : i * 300 + 300] for i in range(len(rows))]))
        table.write_parquet(stream, row_group_size=250_000)
        return stream.getvalue()
    if form == "csv":
        text = io.StringIO()
        csv.writer(text).writerows([("query", "doc", "score"), *rows[: N_ROWS // 3]])
        return text.getvalue().encode()
    text = "".join(f"{query} Q0 {doc} 1 {score} me\n" for query, doc, score in rows).encode()
    return gzip.compress(text, 1) if "gz" in form else text


EVALUATE = """
import sys
from rankscope.cli.main import main
code = main(["evaluate", *sys.argv[1:], "--no-store", "--format", "csv"])
print("code", code)
print(open("/proc/self/status").read())
"""


def evaluated(*arguments, environment, script=EVALUATE) -> tuple[int, float, str]:
    """Return the exit code, the largest memory of the whole process in bytes, and what it warns of."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    peak = int(re.search(r"VmHWM:\s+(\d+)", done.stdout)[1]) * 1024
    return int(re.search(r"code (\d+)", done.stdout)[1]), peak, done.stderr


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say it so")
@pytest.mark.parametrize(
    "form",
    [
        "text",
        "shuffled text",
        "text of a long query",
        "gz",
        "shuffled gz",
        "parquet",
        "shuffled parquet",
        "parquet with ranks and tags",
        "parquet with texts",
        "csv",
    ],
)
def test_the_memory_said_is_what_the_process_takes(form, write_file, plain_environment):
    path = write_file(many_rows(form), "run.csv" if form == "csv" else "run")
    docs = [(q, f"D{(q * 991 + r * 7919) % 10**7}") for q in range(1500) for r in range(7)]
    is_long = "long query" in form
    judged = (f"{'long' if is_long else f'q{q}'} 0 {doc} 1\n" for q, doc in (docs[100:107] if is_long else docs))
    qrels = write_file("".join(judged), "qrels.txt")
    memories = [[]] if form == "csv" else [[], ["--memory", "64MB"]]
    for given in memories:
        said = size_of_job(str(path), memory=given[1] if given else None).memory_needed
        code, taken, warned = evaluated(qrels, path, *given, environment=plain_environment)
        assert code == 0
        # threads that happen to overlap, and what allocators keep, move it by a tenth or two from machine to machine
        assert 0.7 * taken <= said <= 1.5 * taken, (given, said / 2**20, taken / 2**20)
        foretold = re.search(r"are given: about ([\d.]+) MB", warned)
        assert (foretold is not None) == (bool(given) and said > 1.1 * (64 << 20))
        if foretold:
            assert float(foretold[1]) * 2**20 == pytest.approx(said, rel=0.1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say it so")
@pytest.mark.parametrize("beside", ["parquet", "json"])
@pytest.mark.parametrize("form", ["text", "shuffled text"])
def test_the_memory_said_of_text_beside_other_files_is_what_the_process_takes(
    form, beside, write_file, plain_environment, tmp_path
):
    """Text in no order is dealt out as a table is there; the file that takes most need not be the largest one."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.run").write_bytes(many_rows(form))
    docs = [f"D{i}" for i in range(10 if beside == "parquet" else 120_000)]
    if beside == "parquet":
        pl.DataFrame({"query": "other", "doc": docs, "score": 1.0}).write_parquet(folder / "b.parquet")
    else:
        (folder / "b.json").write_text(json.dumps({"other": dict.fromkeys(docs, 1.0)}))
    qrels = write_file("".join(f"q{q} 0 D{q * 991} 1\n" for q in range(1500)), "qrels.txt")
    said = size_of_job(str(folder), memory="64MB").memory_needed
    code, taken, warned = evaluated(qrels, folder, "--memory", "64MB", environment=plain_environment)
    assert code == 0
    assert 0.7 * taken <= said <= 1.5 * taken, (said / 2**20, taken / 2**20)
    assert taken < (320 << 20)
    assert (f"about {said >> 20}" in warned) == (said > 1.1 * (64 << 20))


@pytest.mark.filterwarnings("ignore:.*regrouped by query:rankscope.RankscopeWarning")
@pytest.mark.parametrize("content", [b"", b" \n"])
@pytest.mark.parametrize("is_grouped", [True, False])
def test_the_largest_file_may_have_no_rows(content, is_grouped, tmp_path):
    """An empty file of xz is larger than a small one with rows."""
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 t\n")
    (tmp_path / "b.run").write_text(f"q{2 if is_grouped else 1} Q0 d2 1 1.0 t\n")
    (tmp_path / "c.run.xz").write_bytes(lzma.compress(content))
    assert (tmp_path / "c.run.xz").stat().st_size > (tmp_path / "a.run").stat().st_size
    assert size_of_job(str(tmp_path), memory="64MB").refused == ""
    for how in ({"memory": "64MB"}, {"workers": 2}, {}):
        found = rs.evaluate({"q1": {"d1": 1}}, {"r": tmp_path}, "RR", **how)
        assert found.runs[0].values[:, 0].tolist() == [1.0]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say it so")
@pytest.mark.parametrize("form", ["text", "parquet", "csv", "text and parquet"])
def test_what_keeping_a_run_in_a_store_takes_is_said(form, write_file, plain_environment, tmp_path):
    """A store takes whole runs, so that each row has texts of its own for the while."""
    if form == "text and parquet":
        path = tmp_path / "run"
        path.mkdir()
        text = [line for line in many_rows("text").decode().splitlines(keepends=True) if line < "q3"]
        (path / "a.run").write_text("".join(text))
        table = pl.read_parquet(many_rows("parquet")).filter(pl.col("query") >= "q3")
        table.write_parquet(path / "b.parquet", row_group_size=250_000)
    else:
        path = write_file(many_rows(form), "run.csv" if form == "csv" else "run")
    qrels = write_file("".join(f"q{q} 0 D{q * 991} 1\n" for q in range(1500)), "qrels.txt")
    script = EVALUATE.replace('"--no-store"', f'"--store", {str(tmp_path / "new.db")!r}')
    code, taken, warned = evaluated(qrels, path, environment=plain_environment, script=script)
    assert code == 0
    assert "stored: run" in warned
    job = size_of_job(str(path))
    assert 0.7 * taken <= job.memory_stored <= 1.5 * taken, (job.memory_stored / 2**20, taken / 2**20)
    assert "--no-store does not" in sentences(job)["a store"]


def test_a_store_that_nobody_asked_for_does_not_take_the_memory(write_file, monkeypatch, capsys, tmp_path):
    path = write_file("".join(lines(3_000)), "run")
    qrels = write_file("q1 0 d1-1 1\n", "qrels.txt")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".rankscope").mkdir()
    with rs.open_store(tmp_path, create=True):
        pass
    monkeypatch.setattr(memory, "free_memory", lambda: 10 << 20)
    assert main(["evaluate", str(qrels), str(path)]) == 0
    assert re.search(r"not stored: a store takes whole runs, .* of memory; 10 MB are free", capsys.readouterr().err)
    assert main(["evaluate", str(qrels), str(path), "--store", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "warning: a store takes whole runs" in said
    assert "stored: run" in said


def test_files_that_cannot_be_cut_are_refused_before_the_work(write_file, capsys):
    text = "query,doc,score\n" + "".join(f"q{q},d{r},{-r}\n" for q in range(3000) for r in range(100))
    path = write_file(text, "run.csv")
    assert 3 << 20 < len(text) < 4 << 20  # seven times that is more than 20 MB, and more than 64 MB leave
    job = size_of_job(str(path), memory="64MB")
    assert job.memory_needed is None
    assert sentences(job)["time"] == "none, as it is refused"
    assert "can only be read as a whole" in job.refused
    assert sentences(job)["what happens"].startswith("it is refused")
    assert sentences(job)["its order"] == "is not known before all is read"
    qrels = write_file("q1 0 d1 1\n", "qrels.txt")
    assert main(["evaluate", str(qrels), str(path), "--memory", "64MB", "--no-store"]) == 2
    assert "can only be read as a whole" in capsys.readouterr().err
    assert size_of_job(str(path), memory="1GB").refused == ""


def test_of_many_compressed_files_of_text_few_are_looked_at_closely(tmp_path, monkeypatch):
    """Only what has to be read as a whole may be refused, so that only this is worth a look at its rows."""
    for i in range(20):
        (tmp_path / f"p{i:02d}.run.gz").write_bytes(gzip.compress(f"q{i} Q0 d 1 1 t\n".encode()))
    looked_at = []
    look = regroup.look_at_head
    monkeypatch.setattr(regroup, "look_at_head", lambda source, size: looked_at.append(source) or look(source, size))
    monkeypatch.setattr(sources, "READ_WHOLE", 0)
    run = sources.ShardedSource(str(tmp_path))
    run.check_fits(run.cut(1 << 20), 0)
    assert not looked_at
    rs.evaluate({"q1": {"d": 1}}, {"r": tmp_path}, "RR", memory="256MB")
    assert len(looked_at) == 1


@pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")
def test_rows_in_no_order_are_read_in_parts_where_at_once_they_do_not_fit(write_file, monkeypatch):
    """Their text alone would fit into half of the memory, as it does where rows lie together."""
    in_order = lines(300)
    shuffled = in_order.copy()
    random.Random(2).shuffle(shuffled)
    paths = [write_file("".join(rows), name) for rows, name in ((in_order, "a.trec"), (shuffled, "b.trec"))]
    size = paths[0].stat().st_size
    needed = size + 43 * len(in_order)  # the text, and what each row takes while it is put in order
    monkeypatch.setattr(sources, "LARGE", 100)
    monkeypatch.setattr(sys.modules["rankscope.evaluation"], "READ_AT_ONCE", 100)
    monkeypatch.setattr(sources, "free_memory", lambda: size + needed)
    assert size < (size + needed) // 2 < needed
    qrels = {"q1": {"d1-1": 1}, "q7": {"d7-3": 1}}
    assert rs.evaluate(qrels, paths[0]).notes == ()
    with pytest.warns(match=r"as rows of a query do not lie together; .* are free, so it is read in parts"):
        found = rs.evaluate(qrels, paths[1])
    assert found["b"].values.tobytes() == rs.evaluate(qrels, paths[0])["a"].values.tobytes()
    assert size_of_job(str(paths[0])).in_parts == ""
    assert "rows of a query do not lie together" in size_of_job(str(paths[1])).in_parts


@pytest.mark.parametrize("content", [b"", b" \n# nothing\n"])
@pytest.mark.parametrize("ending", [".run", ".run.gz"])
def test_empty_files_of_a_folder_are_left_out_as_they_are_when_it_is_evaluated(content, ending, tmp_path):
    (tmp_path / "a.run").write_text("".join(lines(3)))
    (tmp_path / f"b{ending}").write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    assert rs.evaluate({"q1": {"d1-1": 1}}, tmp_path, "RR")[tmp_path.name].values.tolist() == [[1.0]]
    job = size_of_job(str(tmp_path))
    assert (job.n_files, job.n_rows, job.kinds, job.in_parts) == (2, 60, ("trec",), "it lies in 2 files")


def test_the_time_is_that_of_the_rate(write_file, monkeypatch):
    monkeypatch.setattr(job_size, "SAMPLE_BYTES", 1 << 14)
    for name, content in (
        ("a.trec", "".join(lines()).encode()),
        ("a.trec.gz", gzip.compress("".join(lines()).encode())),
    ):
        job = size_of_job(str(write_file(content, name)))
        assert job.n_rows / job.rows_per_second == pytest.approx(job.seconds)


def test_what_is_said_of_remote_files_is_not_about_a_disk(write_file):
    job = size_of_job(str(write_file("".join(lines()), "run.trec")))
    assert "disk" in sentences(job)["time"]
    far = msgspec.structs.replace(job, is_remote=True, link_bytes_per_second=1e6)
    assert sentences(far)["time"].endswith("longer where fewer bytes arrive")


@pytest.mark.parametrize("name", ["-", "pipe"])
def test_what_can_be_read_only_once_is_not_looked_at(name, tmp_path, monkeypatch, capsys):
    """Nobody writes into the pipe: who opened it would wait for ever."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert main(["doctor", "--size", name]) == 2
    what = "standard input" if name == "-" else "pipe, a pipe or a device,"
    assert f"error: {what} cannot be looked at beforehand" in capsys.readouterr().err


def test_a_run_without_a_single_good_row_is_what_is_wrong(tmp_path, write_file):
    gaps = pl.DataFrame({"query": [None, "q"], "doc": ["a", None], "score": [1.0, 2.0]})
    gaps.write_parquet(tmp_path / "gaps.parquet")
    files = {tmp_path / "gaps.parquet": "2 bad lines", write_file("q1 Q0\n" * 3, "short.run"): "3 bad lines"}
    for path, words in files.items():
        with pytest.raises(InputError, match=rf"{path.name} cannot be scored: {words}"):
            size_of_job(str(path))


def test_sizes_are_given_in_bytes_too(write_file):
    path = write_file("q1 Q0 d1 1 2 me\n" * 1 + "".join(lines(100)), "run.trec")
    size = path.stat().st_size
    assert f"{size / 1024:.4g} kB ({size:,} bytes)" in sentences(size_of_job(str(path)))["the run"]


@pytest.mark.parametrize("name", ["missing.trec", "nothing-*.parquet"])
def test_what_is_not_there(name, tmp_path):
    with pytest.raises(InputError):
        size_of_job(str(tmp_path / name))


def test_memory_must_be_an_amount(write_file):
    with pytest.raises(OptionError, match="no amount of memory"):
        size_of_job(str(write_file("q1 Q0 d1 1 2 me\n", "run.trec")), memory="lots")


def test_memory_of_the_command_is_named_as_it_was_given(write_file, capsys):
    assert main(["doctor", "--size", str(write_file("q1 Q0 d1 1 2 me\n", "run.trec")), "--memory", "1MB"]) == 2
    error = capsys.readouterr().err
    assert "--memory 1MB is too little" in error
    assert "for example --memory 512MB" in error


@pytest.mark.parametrize(
    ("more", "said"),
    [(0, False), (1000, False), (3 << 20, True)],
    ids=["as given", "the same in words", "a little more"],
)
def test_more_memory_than_is_given_is_said_where_it_can_be_seen(write_file, more, said):
    job = size_of_job(str(write_file("q1 Q0 d1 1 2 me\n", "run.trec")), memory="128MB")
    words = sentences(msgspec.structs.replace(job, memory_needed=(128 << 20) + more))["memory"]
    assert ("a little more than is given" in words) == said


@pytest.mark.parametrize(
    ("places", "most"),
    [
        ([("a", "b"), ("c", "d"), ("d", "e")], 0),
        ([("a", "b"), ("b",), ("b",), (), ("b", "c"), ("c",)], 2),
        ([("a",), ("a", "b"), ("a",)], 1),
        ([], 0),
    ],
)
def test_how_many_places_have_one_query_alone(places, most):
    assert most_places_alone(places) == most


def test_queries_that_are_longer_than_a_place_are_not_taken_for_as_long_as_what_lies_between(write_file):
    """Six queries of 5,000 rows each, of which places have some 4,000 or fewer: each place has one query alone."""
    rows = (f"q{q} Q0 d{r:09d} 1 1.0 t\n" for q in range(6) for r in range(5_000))
    look = look_at_text(str(path := write_file("".join(rows), "r.run")), path.stat().st_size)
    assert look.rows_per_query <= 10_000


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ([["a", "b", "c"]], None),
        ([["a", "b", "a"]], "a"),
        ([["a", "b", "c"], ["c", "d"], ["d", "e"]], None),  # a query goes on from place to place
        ([["a", "b", "c"], ["x", "b", "y"]], "b"),
        ([["a"], ["a"], ["a"]], None),  # one query of very many rows
        ([], None),
    ],
)
def test_queries_that_come_back(places, found):
    assert first_that_returns(places)[1] == found


@pytest.mark.parametrize("ending", ["trec", "parquet", "trec.gz"])
def test_a_query_that_goes_on_in_the_next_file_is_seen(ending, tmp_path, plain_environment):
    """Its rows are in two parts then, so `evaluate` regroups all of them; the end of compressed text is not looked at."""
    rows = [(f"q{q}", f"d{q}-{r}", 9.0 - r) for q in range(40) for r in range(9)]
    folder = tmp_path / "cut"
    folder.mkdir()
    for part in range(4):
        own = rows[part * 90 + (part == 2) * 4 : part * 90 + 90 + (part == 1) * 4]
        if ending == "parquet":
            pl.DataFrame(own, schema=["query", "doc", "score"], orient="row").write_parquet(folder / f"{part}.parquet")
        else:
            text = "".join(f"{query} Q0 {doc} 1 {score} me\n" for query, doc, score in own).encode()
            (folder / f"{part}.{ending}").write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    job = size_of_job(str(folder))
    assert job.scattered_query == (None if ending.endswith("gz") else "q20")
    assert (job.scratch_bytes > 0) == (job.scattered_query is not None)
    (tmp_path / "qrels.txt").write_text("q20 0 d20-1 1\n")
    code, _, warned = evaluated(tmp_path / "qrels.txt", folder, environment=plain_environment)
    assert code == 0
    assert "(those of 'q20' do not), so they were regrouped" in warned


def test_of_many_files_some_are_looked_at_from_their_ends(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(regroup, "edge_query", lambda path, *_, **__: asked.append(path) or path)
    assert regroup.query_across([str(i) for i in range(1000)]) is None
    assert len(asked) <= 2 * regroup.N_PLACES
    assert regroup.query_across(["a"]) is regroup.query_across([]) is None


def test_when_a_cluster_pays():
    assert is_worth_a_cluster(10**8, 3 << 30, 3.0, None)[0] is False
    assert is_worth_a_cluster(10**10, 3 << 38, 300.0, None)[0] is True
    assert is_worth_a_cluster(10**8, 3 << 30, 9.0, 1e9)[0] is False  # 3 s to fetch
    far, why = is_worth_a_cluster(10**9, 30 << 30, 400.0, 1e8)  # over 5 minutes to fetch
    assert far
    assert "5 min" in why


def test_the_command(write_file, capsys):
    path = write_file("".join(lines(20)), "run.trec")
    assert main(["doctor", "--size", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("what happens")
    assert "would not pay" in shown
    assert main(["doctor", "--size", str(path), "--memory", "100MB", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["memory"] == 100 << 20
    assert main(["doctor", "--memory", "1GB"]) == 2
    assert "goes with --size" in capsys.readouterr().err


def test_lines_fit_onto_a_screen_and_are_whole_elsewhere():
    """By hand: behind 14 characters there is room for 26."""
    value = "rows of a query do not lie together: q1 comes back"
    assert hanging_lines("its order", value, None) == [f"its order     {value}"]
    assert hanging_lines("its order", value, 40) == [
        "its order     rows of a query do not lie",
        "              together: q1 comes back",
    ]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gen.py", "import numpy, os, sys\nprint(1, 2, 3)\n", "no column for query"),
        ("README.md", "hello\n", "README.md"),
        ("qrels.txt", "q1 0 d1 1\n", "qrels.txt"),
    ],
)
def test_a_file_that_evaluate_refuses_is_refused_beside_others_too(name, content, words, tmp_path, capsys):
    (tmp_path / "a.run").write_text("".join(lines()))
    assert size_of_job(str(tmp_path)).refused == ""
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=words):
        size_of_job(str(tmp_path))
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "qrels").write_text("q1 0 d1-1 1\n")
    assert main(["evaluate", str(tmp_path / "judged" / "qrels"), str(tmp_path), "--no-store"]) == 2
    assert words in capsys.readouterr().err
