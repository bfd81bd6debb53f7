from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from rankscope.errors import BadLinesError, FormatError, OptionError
from rankscope.io.delimited import unlimited_csv
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.table import read_rows
from rankscope.io.write import write_qrels, write_run


@pytest.mark.parametrize(("delimiter", "name"), [(",", "csv"), (";", "csv"), ("\t", "tsv")])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_run(write_file, delimiter, name, line_end):
    text = "qid,docno,score,rank,run\nq1,a,0.5,1,sys\nq1,b, -2 ,2,sys\n"
    read = read_run(write_file(text.replace(",", delimiter).replace("\n", line_end)))
    assert read.format == name
    assert read.rows.query == ["q1", "q1"]
    assert read.rows.doc == ["a", "b"]
    assert read.rows.score.tolist() == [0.5, -2.0]
    assert read.rows.rank.tolist() == [1, 2]
    assert read.rows.tag == "sys"


def test_qrels_with_every_column(write_file):
    text = "\ufeffTopic,Doc_ID,Label,Subtopic,Annotator,Timestamp,note\nq1,a,2,1,eva,2024-05-01,x\nq1,b,0.5,2,,,y\n"
    rows = read_qrels(write_file(text)).rows
    assert rows.grade.tolist() == [2.0, 0.5]
    assert rows.subtopic == ["1", "2"]
    assert rows.rater == ["eva", ""]
    assert rows.time == ["2024-05-01", ""]


def test_quoted_cells(write_file):
    text = 'query,doc,score\n"q, one","say ""hi""",1\n"two\nlines",d,2\n'
    rows = read_run(write_file(text)).rows
    assert rows.query == ["q, one", "two\nlines"]
    assert rows.doc == ['say "hi"', "d"]


def test_columns_can_be_mapped(write_file):
    path = write_file("Frage;Treffer;Punkte\nq1;a;3\n")
    mapped = {"query": "frage", "doc": "Treffer", "score": "Punkte"}
    assert read_run(path, columns=mapped).rows.score.tolist() == [3.0]
    del mapped["score"]
    assert read_qrels(path, columns={**mapped, "grade": "Punkte"}).rows.grade.tolist() == [3.0]


def test_mapping_an_unknown_role_is_an_error(write_file):
    path = write_file("query,doc,score\nq,d,1\n")
    with pytest.raises(OptionError, match="'scores' is no column of a run") as raised:
        read_run(path, columns={"scores": "score"})
    assert raised.value.hint == "did you mean score?"


def test_mapping_a_column_that_is_not_there_is_an_error(write_file):
    with pytest.raises(FormatError, match="has no column 'points'; its columns are query, doc, score"):
        read_run(write_file("query,doc,score\nq,d,1\n"), columns={"score": "points"})


def test_bad_lines(write_file):
    text = "query,doc,score\nq,a,1\n\nq,b,high\nq,c\nq,d,1,2\nq,,1\nq,e,nan\n"
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file(text))
    assert [(bad.line, bad.problem) for bad in raised.value.bad_lines] == [
        (4, "score 'high' is not a number"),
        (5, "2 cells where the header has 3"),
        (6, "4 cells where the header has 3"),
        (7, "an empty text is given as doc"),
        (8, "score 'nan' is not a number"),
    ]
    read = read_run(write_file(text), lenient=True)
    assert (read.rows.doc, len(read.bad_lines)) == (["a"], 5)


def test_line_numbers_count_blank_lines_before_the_header(write_file):
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file("\n\nquery,doc,score\nq,a,x\n"))
    assert raised.value.bad_lines[0].line == 4


def test_a_quote_that_is_never_closed_does_not_swallow_rows(write_file):
    with pytest.raises(FormatError, match="unexpected end of data") as raised:
        read_run(write_file('query,doc,score\nq,"a,1\nq,b,2\n'))
    assert "close" in raised.value.hint


def test_a_table_without_a_header_says_what_it_found(write_file):
    with pytest.raises(FormatError, match=r"no column for query and doc and score; its columns are q1, d1, 0\.5"):
        read_run(write_file("q1,d1,0.5\nq1,d2,0.4\n"))
    with pytest.raises(FormatError, match=r"its columns are q1, d1, 0\.5") as raised:
        read_run(write_file("q1\td1\t0.5\nq1\td2\t0.4\n"))
    assert (
        raised.value.hint
        == "say which columns they are: --run-columns query=NAME,doc=NAME,score=NAME (with convert --columns), or rename them"
    )


@pytest.mark.parametrize("header", ["query,doc,score,score", "query,doc,score,Score"])
def test_two_columns_of_one_name_are_an_error(write_file, header):
    with pytest.raises(FormatError, match="two columns of the same name"):
        read_run(write_file(f"{header}\nq,d,1,2\n"))


def test_a_header_without_rows_is_an_empty_file(write_file):
    with pytest.raises(FormatError, match="is empty: it has no rows"):
        read_run(write_file("query,doc,score\n"))


def test_the_other_kind_is_recognised(write_file):
    with pytest.raises(FormatError) as raised:
        read_run(write_file("query,doc,grade\nq,d,1\n"))
    assert raised.value.hint == "this looks like qrels; are the arguments swapped?"
    with pytest.raises(FormatError, match="scores and ranks, not grades") as raised:
        read_qrels(write_file("query,doc,rank,score\nq,d,1,0.5\n"))
    assert raised.value.hint == "this looks like a run; are the arguments swapped?"


def test_a_score_is_a_grade_where_nothing_speaks_against_it(write_file):
    assert read_qrels(write_file("query,doc,score\nq,d,1\n")).rows.grade.tolist() == [1.0]
    mapped = read_qrels(write_file("query,doc,rank,score\nq,d,1,2\n"), columns={"grade": "score"})
    assert mapped.rows.grade.tolist() == [2.0]


def test_an_odd_rank_leaves_the_run_without_ranks(write_file):
    assert read_run(write_file("query,doc,score,rank\nq,a,2,1\nq,b,1,\n")).rows.rank is None


def test_written_tables(tmp_path):
    run = RunRows(["q,1", "q2"], ['a"b', "c"], np.array([0.1, np.inf]), np.array([1, 1]), "sys")
    write_run(run, tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == ('query,doc,score,rank,tag\n"q,1","a""b",0.1,1,sys\nq2,c,inf,1,sys\n')
    qrels = QrelsRows(["q 1", "q2"], ["a", "c"], np.array([1.0, 0.5]), rater=["eva", "max"])
    write_qrels(qrels, tmp_path / "qrels.tsv")
    assert (tmp_path / "qrels.tsv").read_text() == "query\tdoc\tgrade\trater\nq 1\ta\t1\teva\nq2\tc\t0.5\tmax\n"


def test_bytes_that_are_not_utf8_survive(write_file, tmp_path):
    rows = read_run(write_file(b"query,doc,score\ncaf\xe9,d,1\n")).rows
    write_run(rows, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == b"query,doc,score\ncaf\xe9,d,1.0\n"


def test_long_cells_are_read_without_a_setting_of_the_whole_program(tmp_path):
    limit = csv.field_size_limit()
    (tmp_path / "docs.csv").write_text(f'id,text\na,"{"long " * 40_000}"\n')
    ((_, row),) = read_rows(tmp_path / "docs.csv")
    assert len(row["text"]) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("spec", [None, SimpleNamespace(name="_csv", loader=SimpleNamespace())], ids=["absent", "odd"])
def test_long_cells_are_read_where_the_csv_module_cannot_be_loaded_twice(spec, tmp_path, monkeypatch):
    monkeypatch.setattr("rankscope.io.delimited.find_spec", lambda _: spec)
    unlimited_csv.cache_clear()
    limit = csv.field_size_limit()
    path = tmp_path / "docs.csv"
    path.write_text("id,text\nd1," + "a" * 200_000 + "\n")
    try:
        [(_, row)] = read_rows(path)
    finally:
        csv.field_size_limit(limit)
        unlimited_csv.cache_clear()
    assert len(row["text"]) == 200_000
