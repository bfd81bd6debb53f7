"""Fields of docs from files and from memory."""

import gzip
import json
from datetime import date

import pandas as pd
import polars as pl
import pytest

from rankscope.data.docs import DocTable, load_docs
from rankscope.errors import BadLinesError, DuplicateError, FormatError, IdError, InputError

ROWS = [
    {"id": "a", "source": "x", "topics": ["t", "u"], "year": 2020},
    {"id": "b", "source": None, "topics": [], "year": 2021},
    {"id": "ü", "source": "y", "topics": ["u"], "year": 2022},
]
FIELDS = {
    "source": {"a": "x", "ü": "y"},
    "topics": {"a": ["t", "u"], "ü": ["u"]},
    "year": {"a": 2020, "b": 2021, "ü": 2022},
}


def same(found, fields=FIELDS, ids=("a", "b", "ü")):
    assert isinstance(found, DocTable)
    assert found.doc_ids == frozenset(ids)
    assert {name: dict(values) for name, values in found.fields.items()} == fields
    return True


def test_shapes_in_memory():
    by_id = {row["id"]: {name: value for name, value in row.items() if name != "id"} for row in ROWS}
    assert same(load_docs(by_id))
    assert same(load_docs({row["id"]: row for row in ROWS}))  # with the id among the fields as well
    assert same(load_docs(ROWS))
    assert same(load_docs(iter(ROWS)))
    assert same(load_docs(pl.DataFrame(ROWS)))
    assert same(load_docs(pd.DataFrame(ROWS)))
    found = load_docs(ROWS)
    assert load_docs(found) is found


def test_jsonl(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    assert same(load_docs(path))
    packed = tmp_path / "docs.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert same(load_docs(str(packed)))


def test_json_as_a_list_or_by_id(tmp_path):
    path = tmp_path / "docs.json"
    path.write_text(json.dumps(ROWS))
    assert same(load_docs(path))
    path.write_text(json.dumps({row["id"]: row for row in ROWS}))
    assert same(load_docs(path))


def test_parquet_keeps_types(tmp_path):
    path = tmp_path / "docs.parquet"
    pl.DataFrame(ROWS).with_columns(day=pl.lit(date(2024, 1, 2))).write_parquet(path)
    found = load_docs(path)
    assert dict(found.field("topics")) == FIELDS["topics"]
    assert found.field("day")["a"] == date(2024, 1, 2)


@pytest.mark.parametrize(("name", "separator"), [("docs.csv", ","), ("docs.csv", ";"), ("docs.tsv", "\t")])
def test_text_tables_hold_text_and_json_lists(tmp_path, name, separator):
    path = tmp_path / name
    lines = [["docno", "source", "topics", "year"], ["a", "x", '"[""t"", ""u""]"', "2020"], ["b", "", "[]", "2021"], ["ü", "y", '"[""u""]"', "2022"]]  # fmt: skip
    path.write_text("\n".join(separator.join(cells) for cells in lines) + "\n", "utf-8")
    fields = {**FIELDS, "year": {"a": "2020", "b": "2021", "ü": "2022"}}
    assert same(load_docs(path), fields)


@pytest.mark.parametrize(
    "name", ["id", "_id", "doc_id", "docid", "docno", "Doc_ID", "episode_id", "pid", "passage_id", "corpus-id"]
)
def test_the_id_has_many_names(name):
    assert same(load_docs([{"source": "x", name: 7}]), {"source": {"7": "x"}}, ids=["7"])


def test_the_best_name_is_taken_where_there_are_several():
    found = load_docs([{"passage_id": "p1", "id": "a"}, {"passage_id": "p2", "id": "b"}])
    assert same(found, {"passage_id": {"a": "p1", "b": "p2"}}, ids=["a", "b"])


def test_fields_within_a_field_have_a_dot():
    found = load_docs([{"_id": "a", "metadata": {"url": "u", "lang": None}}])
    assert same(found, {"metadata.url": {"a": "u"}, "metadata.lang": {}}, ids=["a"])


def test_rows_may_have_different_fields():
    assert same(load_docs([{"id": "a", "x": 1}, {"id": "b", "y": 2}]), {"x": {"a": 1}, "y": {"b": 2}}, ids=["a", "b"])


@pytest.mark.parametrize("nothing", [None, "", [], float("nan"), pd.NaT, pd.NA])
def test_what_counts_as_missing(nothing):
    assert load_docs([{"id": "a", "x": nothing}]).fields == {"x": {}}


@pytest.mark.parametrize("something", [0, False, "nan", " ", 0.0])
def test_what_does_not(something):
    assert load_docs([{"id": "a", "x": something}]).fields == {"x": {"a": something}}


def refused(data, message, error=InputError):
    with pytest.raises(error, match=message) as caught:
        load_docs(data)
    assert caught.value.hint
    return True


def test_what_cannot_be_read_is_refused():
    assert refused([{"id": "a"}, {"id": "b"}, {"id": "a"}], "doc 'a' is there twice, in rows 1 and 3", DuplicateError)
    assert refused([{"name": "a"}], "no column for the doc id; its columns are name", FormatError)
    assert refused([{"id": "a"}, {"name": "a"}], "row 2 has no column for the doc id", FormatError)
    assert refused([{"id": None}], "doc id in row 1", IdError)
    assert refused([["a", "x"]], "row 1 is", FormatError)
    assert refused({"a": ["x"]}, "doc 'a' holds list, not its fields", FormatError)
    assert refused(7, "int holds no docs")


def test_files_that_are_not_right_are_refused(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "a"}\n{"id": \n[1]\n')
    with pytest.raises(BadLinesError, match=r"docs\.jsonl:2: not valid JSON") as error:
        load_docs(path)
    assert [bad.line for bad in error.value.bad_lines] == [2, 3]
    path.write_text("")
    assert refused(path, "holds no docs", FormatError)
    assert refused(tmp_path, "is a folder")
    assert refused(tmp_path / "docs.jsonk", "does not exist")
    other = tmp_path / "docs.txt"
    other.write_text("a")
    assert refused(other, "cannot tell the format", FormatError)
    table = tmp_path / "docs.csv"
    table.write_text("id,x\na,1,2\n")
    with pytest.raises(BadLinesError, match="3 cells where the header has 2"):
        load_docs(table)
    table.write_text("id,id\na,1\n")
    assert refused(table, "two columns of the same name", FormatError)
    broken = tmp_path / "docs.json"
    broken.write_text('{"id": "a"}\n{"id": "b"}')
    assert refused(broken, "not valid JSON", FormatError)
    broken.write_text("3")
    assert refused(broken, "a single JSON value", FormatError)
    (tmp_path / "docs.parquet").write_bytes(b"PAR1nonsense")
    assert refused(tmp_path / "docs.parquet", "cannot be read as Parquet", FormatError)


def test_the_id_is_a_field_of_every_table():
    assert dict(load_docs([{"id": "a"}]).field("id")) == {"a": "a"}
    assert refused_field(load_docs([{"id": "a"}]), "source", "nor any other")


def refused_field(table, name, message):
    with pytest.raises(InputError, match=message):
        table.field(name)
    return True
