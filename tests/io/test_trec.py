from __future__ import annotations

import math

import numpy as np
import pytest

from rankscope.errors import BadLinesError, FormatError, IdError, OptionError
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run

RUN = "q1 Q0 d1 1 2.5 sys\nq1 Q0 d2 2 1.5 sys\nq2 Q0 d1 1 -3e-2 last\n"
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"


def bad_lines(raised) -> list[tuple[int, str]]:
    return [(bad.line, bad.problem) for bad in raised.value.bad_lines]


def test_a_run(write_file):
    read = read_run(write_file(RUN))
    assert (read.format, read.compression) == ("trec", None)
    assert list(read.rows.query) == ["q1", "q1", "q2"]
    assert list(read.rows.doc) == ["d1", "d2", "d1"]
    assert read.rows.score.tolist() == [2.5, 1.5, -0.03]
    assert read.rows.rank.tolist() == [1, 2, 1]
    assert read.rows.tag == "last"
    assert read.rows.integer_ids == frozenset()
    assert read.rows.query[0] is read.rows.query[1]


def test_qrels(write_file):
    rows = read_qrels(write_file(QRELS)).rows
    assert list(rows.query) == ["q1", "q1", "q2"]
    assert list(rows.doc) == ["d1", "d2", "d1"]
    assert rows.grade.tolist() == [1.0, 0.0, 2.0]
    assert (rows.subtopic, rows.rater, rows.time) == (None, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "q1\tQ0\td1\t1\t2.5\tsys\n",
        "  q1 \t Q0\v d1\f1   2.5 sys  \r\n",
        "\ufeffq1 Q0 d1 1 2.5 sys\n",
        "\n \t\r\nq1 Q0 d1 1 2.5 sys\n\n",
        "# a comment\n  # another\nq1 Q0 d1 1 2.5 sys",
        "#q1 Q0 d9 1 2.5 sys\nq1 Q0 d1 1 2.5 sys",
        "q1 Q0 d1 1 2.5 sys and more words\n",
        "q1 Q0 d1 1 +2.5e0 sys",
        "q1 Q0 d1 1 0.25E+1 sys",
    ],
)
def test_spellings_of_one_line(write_file, text):
    rows = read_run(write_file(text)).rows
    assert (rows.query, rows.doc, rows.score.tolist()) == (["q1"], ["d1"], [2.5])
    assert (rows.rank.tolist(), rows.tag) == ([1], "sys")


@pytest.mark.parametrize(
    "text",
    ["# made by hand\nq1 0 d1 1\n", "\n  #q0 0 d0 1\n q1\t0\td1  1\r\n", "\ufeffq1 0 d1 1", "#q1 0 d9 1\nq1 0 d1 1.0"],
)
def test_spellings_of_one_judgment(write_file, text):
    rows = read_qrels(write_file(text)).rows
    assert (rows.query, rows.doc, rows.grade.tolist()) == (["q1"], ["d1"], [1.0])


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("+INF", math.inf),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e1", -5.0),
        ("1e400", math.inf),
        ("007", 7.0),
    ],
)
def test_scores_that_are_numbers(write_file, text, score):
    assert read_run(write_file(f"q Q0 d 1 {text} t")).rows.score.tolist() == [score]


@pytest.mark.parametrize(
    "text", ["abc", "nan", "NaN", "1_0", "0x1p3", "\u0661", "1,5", "1e", "--1", "+", ".", "infin", "1.2.3"]
)
def test_scores_that_are_not_numbers(write_file, text):
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file(f"q Q0 d 1 {text} t\n"), format="trec")
    assert bad_lines(raised) == [(1, f"score {text!r} is not a number")]


@pytest.mark.parametrize("text", ["nan", "high", "1_0", "0x1"])
def test_grades_that_are_not_numbers(write_file, text):
    with pytest.raises(BadLinesError) as raised:
        read_qrels(write_file(f"q 0 d {text}\n"), format="trec")
    assert bad_lines(raised) == [(1, f"grade {text!r} is not a number")]


@pytest.mark.parametrize("text", ["inf", "-infinity", "1e999"])
def test_a_grade_must_be_finite(write_file, text):
    with pytest.raises(BadLinesError) as raised:
        read_qrels(write_file(f"q 0 d {text}\n"))
    assert bad_lines(raised) == [(1, f"grade {text!r} is not a finite number")]


def test_grades_keep_their_fractions_and_signs(write_file):
    assert read_qrels(write_file("q 0 a 0.5\nq 0 b -2\nq 0 c 1.75\n")).rows.grade.tolist() == [0.5, -2.0, 1.75]


@pytest.mark.parametrize("rank", ["1.5", "first", "9223372036854775808", "1_0", "1" * 30])
def test_one_odd_rank_leaves_the_run_without_ranks(write_file, rank):
    rows = read_run(write_file(f"q Q0 a 1 2 t\nq Q0 b {rank} 1 t\n# slow\nq Q0 c 3 0 t\n")).rows
    assert rows.rank is None
    assert len(rows) == 3
    assert read_run(write_file(f"q Q0 a 1 2 t\nq Q0 b {rank} 1 t\n")).rows.rank is None


@pytest.mark.parametrize("rank", ["-9223372036854775808", "9223372036854775807", "0", "+7"])
def test_ranks_of_64_bits(write_file, rank):
    assert read_run(write_file(f"q Q0 a {rank} 2 t\n")).rows.rank.tolist() == [int(rank)]


def test_all_bad_lines_are_reported_at_once_with_their_place_and_text(write_file):
    path = write_file("q1 Q0 d1 1 2.5 sys\nq1 Q0 d2 2 1.5\n\nq1 Q0 d3 3 abc sys\nalone\n")
    with pytest.raises(BadLinesError) as raised:
        read_run(path)
    assert bad_lines(raised) == [
        (2, "5 fields where 6 are needed"),
        (4, "score 'abc' is not a number"),
        (5, "1 field where 6 are needed"),
    ]
    assert f"{path}:2: 5 fields where 6 are needed\n    q1 Q0 d2 2 1.5" in str(raised.value)
    assert raised.value.hint == "the columns are query Q0 doc rank score tag"


def test_lenient_returns_the_good_rows_and_the_bad_lines(write_file):
    read = read_run(write_file("q1 Q0 d1 1 2.5 sys\nq1 Q0 d2 2 1.5\n"), lenient=True)
    assert read.rows.doc == ["d1"]
    assert [(bad.line, bad.text) for bad in read.bad_lines] == [(2, "q1 Q0 d2 2 1.5")]


def test_lenient_without_a_good_row_is_an_error(write_file):
    with pytest.raises(BadLinesError):
        read_run(write_file("q1 Q0 d2 2 1.5\n"), lenient=True)


@pytest.mark.parametrize("lenient", [False, True])
def test_qrels_where_a_run_is_wanted(write_file, lenient):
    with pytest.raises(BadLinesError, match="4 fields where 6 are needed") as raised:
        read_run(write_file(QRELS), lenient=lenient)
    assert raised.value.hint == "this looks like qrels; are the arguments swapped?"


def test_a_run_where_qrels_are_wanted(write_file):
    with pytest.raises(BadLinesError, match=r"6 fields where 4 are needed \(it looks like a line of a run\)") as raised:
        read_qrels(write_file(RUN))
    assert raised.value.hint == "this looks like a run; are the arguments swapped?"


def test_one_short_line_does_not_make_qrels_of_a_run(write_file):
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file(RUN + "q 0 d 1\n"))
    assert raised.value.hint == "the columns are query Q0 doc rank score tag"


@pytest.mark.parametrize("line", ["q 0 d", "q 0 d 1 x"])
def test_qrels_have_exactly_four_fields(write_file, line):
    with pytest.raises(BadLinesError) as raised:
        read_qrels(write_file(QRELS + line))
    assert bad_lines(raised) == [(4, f"{len(line.split())} fields where 4 are needed")]


@pytest.mark.parametrize("comment", ["", "# line by line\n"])
def test_a_second_column_that_varies_is_the_subtopic(write_file, comment):
    assert read_qrels(write_file(comment + "q 1 a 1\nq 2 a 0\n")).rows.subtopic == ["1", "2"]
    assert read_qrels(write_file(comment + "q 7 a 1\nq 7 b 0\n")).rows.subtopic is None


def test_bytes_that_are_not_utf8_survive_in_ids(write_file, tmp_path):
    content = b"caf\xe9 Q0 \xff\xfe\xc3 1 2.0 t\xe9\n"
    rows = read_run(write_file(content)).rows
    assert (rows.query, rows.doc) == (["caf\udce9"], ["\udcff\udcfe\udcc3"])
    write_run(rows, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content


def test_only_the_blanks_of_c_separate_fields(write_file):
    rows = read_run(write_file("q\u00a0x Q0 d\u3000y\x1c 1 2.0 t\u2003u\n")).rows
    assert (rows.query, rows.doc, rows.tag) == (["q\u00a0x"], ["d\u3000y\x1c"], "t\u2003u")


def test_a_large_file_is_read_block_by_block(write_file):
    lines = [f"q{i // 1000} Q0 doc{i} {i % 1000 + 1} {1000 - i % 1000}.5 sys" for i in range(60_000)]
    lines.insert(50_000, "# a comment in a later block")
    rows = read_run(write_file("\n".join(lines))).rows
    assert len(rows) == 60_000
    assert (rows.query[59_999], rows.doc[59_999], rows.score[59_999]) == ("q59", "doc59999", 1.5)
    assert rows.rank[50_000] == 1
    lines[0] = "q0 Q0 doc0 first 0.5 sys"
    del lines[50_000]
    assert read_run(write_file("\n".join(lines))).rows.rank is None


def test_line_numbers_count_through_blocks(write_file):
    lines = [f"q{i // 1000} Q0 doc{i} 1 0.5 sys" for i in range(60_000)]
    lines[55_555] = "q Q0 broken"
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file("\n".join(lines)))
    assert bad_lines(raised) == [(55_556, "3 fields where 6 are needed")]


def test_columns_cannot_be_mapped(write_file):
    with pytest.raises(OptionError, match="no named columns"):
        read_run(write_file(RUN), columns={"query": "qid"}, format="trec")


def run_rows(**changes) -> RunRows:
    given = {"query": ["q1", "q2", "q1"], "doc": ["a", "b", "c"], "score": np.array([1.0, 5.0, 2.0])}
    return RunRows(**(given | changes))


def qrels_rows(**changes) -> QrelsRows:
    given = {"query": ["q1", "q1"], "doc": ["a", "b"], "grade": np.array([1.0, 0.5])}
    return QrelsRows(**(given | changes))


def test_a_written_run_is_ranked_by_score_and_ties_as_given(tmp_path):
    write_run(run_rows(), tmp_path / "run")
    assert (
        tmp_path / "run"
    ).read_text() == "q1 Q0 a 2 1.0 rankscope\nq2 Q0 b 1 5.0 rankscope\nq1 Q0 c 1 2.0 rankscope\n"
    write_run(run_rows(score=np.array([2.0, math.inf, 2.0]), tag="mine"), tmp_path / "run")
    assert (tmp_path / "run").read_text() == "q1 Q0 a 1 2.0 mine\nq2 Q0 b 1 inf mine\nq1 Q0 c 2 2.0 mine\n"


def test_a_written_run_keeps_given_ranks(tmp_path):
    write_run(run_rows(rank=np.array([0, 7, 3])), tmp_path / "run")
    assert read_run(tmp_path / "run").rows.rank.tolist() == [0, 7, 3]


def test_written_qrels(tmp_path):
    write_qrels(qrels_rows(), tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "q1 0 a 1\nq1 0 b 0.5\n"
    write_qrels(qrels_rows(subtopic=["2", "3"]), tmp_path / "qrels")
    assert (tmp_path / "qrels").read_text() == "q1 2 a 1\nq1 3 b 0.5\n"


@pytest.mark.parametrize("rows", [run_rows(query=["q1", "has blank", "q"]), run_rows(doc=["a", "b\n", "c"])])
def test_ids_with_blanks_are_not_written(tmp_path, rows):
    with pytest.raises(FormatError, match=r"(query 'has blank'|doc 'b\\n') holds a blank") as raised:
        write_run(rows, tmp_path / "run")
    assert "csv" in raised.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_would_be_a_comment_is_not_written(tmp_path):
    with pytest.raises(FormatError, match="query '#2' starts with '#'"):
        write_run(run_rows(query=["q1", "#2", "q1"]), tmp_path / "run")


def test_empty_ids_are_not_written(tmp_path):
    with pytest.raises(IdError, match="row 2 has an empty doc id"):
        write_run(run_rows(doc=["a", "", "c"]), tmp_path / "run")


def test_a_tag_or_subtopic_with_a_blank_is_not_written(tmp_path):
    with pytest.raises(FormatError, match="tag 'two words' holds a blank"):
        write_run(run_rows(tag="two words"), tmp_path / "run")
    with pytest.raises(FormatError, match="subtopic '' is empty"):
        write_qrels(qrels_rows(subtopic=["1", ""]), tmp_path / "qrels")


@pytest.mark.parametrize("role", ["rater", "time"])
def test_what_trec_cannot_hold_is_refused_and_not_dropped(tmp_path, role):
    with pytest.raises(FormatError, match=f"TREC text cannot hold the {role}") as raised:
        write_qrels(qrels_rows(**{role: ["x", "y"]}), tmp_path / "qrels")
    assert raised.value.hint == "write csv, tsv, jsonl, parquet or arrow instead"


def test_an_id_that_begins_like_a_byte_order_mark_survives(tmp_path):
    write_run(run_rows(query=["\ufeffq", "q2", "q3"]), tmp_path / "run")
    assert read_run(tmp_path / "run").rows.query == ["\ufeffq", "q2", "q3"]
