"""Queries with their attributes, from files and from memory."""

import gzip
import json

import pandas as pd
import polars as pl
import pytest

from rankscope.data.queries import load_queries
from rankscope.errors import BadLinesError, DuplicateError, FormatError, InputError, OptionError

ROWS = [
    {"_id": "q1", "text": "seizure", "language": "en", "level": 1},
    {"_id": "q2", "text": "Krampfanfall", "language": "de", "level": None},
]
TEXTS = {"q1": "seizure", "q2": "Krampfanfall"}


def same(table, level=1):
    assert table.ids == ("q1", "q2")
    assert table.texts == TEXTS
    assert table.attributes == {"language": {"q1": "en", "q2": "de"}, "level": {"q1": level}}
    return True


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_jsonl_json_and_compressed(write_file):
    assert same(load_queries(write_file(jsonl(ROWS), "queries.jsonl")))
    assert same(load_queries(write_file(gzip.compress(jsonl(ROWS).encode()), "q.jsonl.gz")))
    assert same(load_queries(write_file(jsonl(ROWS), "queries")))
    assert same(load_queries(write_file(json.dumps(ROWS), "queries.json")))
    assert same(load_queries(write_file(json.dumps({row["_id"]: row for row in ROWS}), "queries.json")))
    assert load_queries(write_file(json.dumps(TEXTS), "queries.json")).texts == TEXTS


def test_tables(write_file, tmp_path):
    text = "query_id,query,language,level\nq1,seizure,en,1\nq2,Krampfanfall,de,\n"
    assert same(load_queries(write_file(text, "queries.csv")), level="1")
    assert same(load_queries(write_file(text.replace(",", "\t"), "queries.tsv")), level="1")
    pl.DataFrame(ROWS).write_parquet(tmp_path / "q.parquet")
    assert same(load_queries(tmp_path / "q.parquet"))


def test_shapes_in_memory():
    assert same(load_queries(ROWS))
    assert same(load_queries({row["_id"]: row for row in ROWS}))
    assert same(load_queries(pl.DataFrame(ROWS)))
    assert same(load_queries(pd.DataFrame(ROWS)))
    assert load_queries(TEXTS).texts == TEXTS
    table = load_queries(ROWS)
    assert load_queries(table) is table


@pytest.mark.parametrize(
    ("columns", "id_column", "text_column"),
    [
        ("query", "query", None),
        ("query,topic", "query", None),
        ("topic,query", "query", None),
        ("query,language", "query", None),
        ("query,text", "query", "text"),
        ("query,title", "query", "title"),
        ("query,question,topic", "query", "question"),
        ("query,topic,text", "query", "text"),
        ("topic,text", "topic", "text"),
        ("topic,title", "topic", "title"),
        ("topic,query,title", "query", "title"),
        ("id,query", "id", "query"),
        ("_id,query", "_id", "query"),
        ("qid,query", "qid", "query"),
        ("query_id,query", "query_id", "query"),
        ("query-id,query", "query-id", "query"),
        ("query_id,query,topic", "query_id", "query"),
        ("topic,query,query_id", "query_id", "query"),
        ("qid,query,text", "qid", "text"),
        ("topic_id,query", "topic_id", "query"),
        ("topic_id,topic,title", "topic_id", "title"),
        ("number,query", "number", "query"),
        ("num,title", "num", "title"),
        ("case_id,query", "case_id", "query"),
        ("id,query_id,query", "id", "query"),
        ("Query,Topic", "Query", None),
        ("QID,Query", "QID", "Query"),
    ],
)
def test_which_column_is_the_id_and_which_the_text(write_file, columns, id_column, text_column):
    names = columns.split(",")
    rows = [{name: f"{name} {i}" for name in names} for i in (1, 2)]
    cells = "".join(",".join(row.values()) + "\n" for row in rows)
    for table in (
        load_queries(write_file(f"{columns}\n{cells}", "queries.csv")),
        load_queries(write_file(f"{columns}\n{cells}".replace(",", "\t"), "queries.tsv")),
        load_queries(write_file(jsonl(rows), "queries.jsonl")),
        load_queries(rows),
        load_queries(pl.DataFrame(rows)),
    ):
        assert table.ids == (f"{id_column} 1", f"{id_column} 2")
        texts = None if text_column is None else {f"{id_column} {i}": f"{text_column} {i}" for i in (1, 2)}
        assert table.texts == texts
        assert set(table.attributes) == {*names} - {id_column, text_column}


def test_columns_can_be_mapped_where_their_names_do_not_tell(write_file):
    path = write_file("topic,query\n1,fits\n2,rash\n", "queries.csv")
    for columns in ({"id": "topic"}, {"text": "query"}):
        assert load_queries(path, columns=columns, need_text=True).texts == {"1": "fits", "2": "rash"}
    with pytest.raises(BadLinesError, match=r"the query has no text: the columns are topic, query(.|\n)*id=NAME"):
        load_queries(path, need_text=True)


def test_a_query_column_is_the_id_where_there_is_no_other(write_file):
    table = load_queries(write_file("query,language\nq1,en\nq2,de\n", "a.csv"))
    assert table.ids == ("q1", "q2")
    assert table.texts is None
    assert table.attributes == {"language": {"q1": "en", "q2": "de"}}


def test_lines_of_id_and_text(write_file):
    assert load_queries(write_file("q1\tseizure\nq2\tKrampfanfall\n", "queries.tsv")).texts == TEXTS
    assert load_queries(write_file("q1:seizure\n\nq2: Krampfanfall\r\n", "queries.txt")).texts == TEXTS
    with pytest.raises(BadLinesError, match=r"queries.txt:2: there is no ':' in it"):
        load_queries(write_file("q1:seizure\nq2 x\n", "queries.txt"))


# The layout of the topics of TREC 1, 6 and CLEF, TREC Web 2012 and TREC-COVID, with words of our own.
OLD = """
<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  Medicine
<title> Topic:  Sudden
 fits
<desc> Description:
What is a fit?

<narr> Narrative:
Anything on fits, a < b or not.
</top>

<top>
<num> Number: 52
<title> rash </title>
<desc> </desc>
</top>
"""
WEB = """<?xml version="1.0" encoding="UTF-8"?>
<webtrack2012>
  <topic number="151" type="faceted">
    <query>fits</query>
    <description>What is a fit?</description>
    <subtopic number="1" type="nav">any</subtopic>
  </topic>
  <topic number="152" type="ambiguous"><query>rash</query></topic>
</webtrack2012>
"""
CLEF = '<topics><topic lang="en"><identifier>10.2452/441-AH</identifier><title>fits</title></topic></topics>'
PLAIN = '<topics task="2021"><topic number="1">\nA boy of 3\nwith fits.</topic></topics>'


def test_old_topics(write_file):
    table = load_queries(write_file(OLD, "topics.txt"))
    assert table.ids == ("051", "52")
    assert table.texts == {"051": "Sudden fits", "52": "rash"}
    assert table.attributes["domain"] == {"051": "Medicine"}
    assert table.attributes["description"] == {"051": "What is a fit?"}
    assert table.attributes["narrative"] == {"051": "Anything on fits, a < b or not."}
    described = load_queries(write_file(OLD, "topics.txt"), columns={"text": "description"})
    assert described.texts == {"051": "What is a fit?"}
    with pytest.raises(BadLinesError, match=r"topics.txt:15: the query has no text"):
        load_queries(write_file(OLD, "topics.txt"), columns={"text": "description"}, need_text=True)


def test_xml_topics(write_file):
    table = load_queries(write_file(WEB, "wt12.xml"))
    assert table.texts == {"151": "fits", "152": "rash"}
    assert table.attributes["type"] == {"151": "faceted", "152": "ambiguous"}
    assert table.attributes["description"] == {"151": "What is a fit?"}
    assert load_queries(write_file(CLEF, "clef.xml")).texts == {"10.2452/441-AH": "fits"}
    assert load_queries(write_file(PLAIN, "ct.xml")).texts == {"1": "A boy of 3 with fits."}


def test_broken_topics(write_file):
    with pytest.raises(FormatError, match="begins 2 topics and ends 1"):
        load_queries(write_file(OLD.replace("</top>", "", 1), "t.txt"))
    with pytest.raises(FormatError, match="not valid XML"):
        load_queries(write_file(WEB.replace("</topic>", ""), "t.xml"))
    with pytest.raises(FormatError, match="XML without topics"):
        load_queries(write_file("<?xml version='1.0'?><topics/>", "t.xml"))
    with pytest.raises(FormatError, match="defines entities"):
        load_queries(write_file("<?xml version='1.0'?><!DOCTYPE t [<!ENTITY a 'b'>]><t><q>x</q></t>", "t.xml"))
    with pytest.raises(BadLinesError, match=r"t.xml:3: the query has no id"):
        load_queries(write_file("<?xml version='1.0'?>\n<ts>\n<t><title>x</title></t></ts>", "t.xml"))


def test_test_cases_of_an_earlier_framework(write_file):
    cases = [{"text": "Krampfanfall", "expected_hpo_ids": ["HP:0001250"], "difficulty": "easy"}]
    table = load_queries(write_file(json.dumps(cases), "german/cases.json"))
    assert table.texts == {"0": "Krampfanfall"}
    assert table.attributes == {"language": {"0": "de"}, "difficulty": {"0": "easy"}}


def test_metadata_counts_as_the_query_s_own_and_objects_are_for_systems_only():
    metadata = {"lang": "en", "31715818": [{"sentences": [0]}]}
    table = load_queries([{"_id": "1", "text": "x", "metadata": metadata, "tags": ["a", "b"]}])
    assert table.attributes == {"lang": {"1": "en"}, "tags": {"1": ["a", "b"]}}
    assert table.attributes_of("1") == {
        "lang": "en", "tags": ["a", "b"], "metadata": metadata, "31715818": [{"sentences": [0]}],
    }  # fmt: skip


def test_a_conversation_is_known_of_its_query_but_is_no_stratum():
    turns = [{"role": "user", "content": "my heart races"}]
    table = load_queries(
        [
            {"_id": "1", "text": "x", "conversation": turns},
            {"_id": "2", "text": "y", "conversation": []},
            {"_id": "3", "text": "z", "conversation": "none"},
        ]
    )
    assert table.attributes == {"conversation": {"3": "none"}}
    assert [table.attributes_of(query) for query in "123"] == [{"conversation": turns}, {}, {"conversation": "none"}]
    assert load_queries([{"_id": "1", "text": "x", "conversation": turns}]).attributes == {}


def test_columns_can_be_named():
    rows = [{"key": 7, "de": "Fieber", "en": "fever", "lang": "de"}]
    table = load_queries(rows, columns={"id": "key", "text": "de", "language": "lang"})
    assert table.texts == {"7": "Fieber"}
    assert table.attributes == {"en": {"7": "fever"}, "language": {"7": "de"}}
    with pytest.raises(OptionError, match="no column 'kye'") as error:
        load_queries(rows, columns={"id": "kye"})
    assert error.value.hint == "did you mean key?"


def test_strata():
    table = load_queries([*ROWS, {"_id": "q3", "text": "x", "tags": ["b", "a"]}])
    assert table.strata("language") == {"q1": ("en",), "q2": ("de",), "q3": (None,)}
    assert table.strata(["language", "level"])["q1"] == ("en", 1)
    assert table.strata("tags")["q3"] == (frozenset({"a", "b"}),)
    with pytest.raises(InputError, match="no attribute 'languge'; they have language, level, tags") as error:
        table.strata("languge")
    assert error.value.hint == "did you mean language?"
    with pytest.raises(InputError, match="nor any other"):
        load_queries(TEXTS).strata("language")


def test_folders(write_file, tmp_path):
    write_file(jsonl(ROWS), "beir/queries.jsonl")
    write_file(jsonl(ROWS), "beir/queries.de.jsonl")
    assert same(load_queries(tmp_path / "beir"))
    write_file(jsonl(ROWS), "two/queries.en.jsonl")
    write_file(jsonl(ROWS), "two/queries.de.jsonl")
    with pytest.raises(FormatError, match=r"several files of queries: queries.de.jsonl, queries.en.jsonl"):
        load_queries(tmp_path / "two")
    (tmp_path / "none").mkdir()
    with pytest.raises(FormatError, match="holds no queries"):
        load_queries(tmp_path / "none")


def test_what_is_wrong_is_said_with_its_place(write_file):
    with pytest.raises(DuplicateError, match=r"q.jsonl:3: query 'q1' is there already, at line 1"):
        load_queries(write_file(jsonl([*ROWS, ROWS[0]]), "q.jsonl"))
    with pytest.raises(BadLinesError, match=r"q.jsonl:2: the query has no id"):
        load_queries(write_file(jsonl([ROWS[0], {"_id": "", "text": "x"}]), "q.jsonl"))
    with pytest.raises(BadLinesError, match=r"q.jsonl:2: not valid JSON"):
        load_queries(write_file('{"_id": 1}\n{"_id": \n', "q.jsonl"))
    with pytest.raises(BadLinesError, match=r"q.jsonl:1: the query has no text"):
        load_queries(write_file('{"_id": 1}\n', "q.jsonl"), need_text=True)
    with pytest.raises(FormatError, match=r"no column for the query id; its columns are name, text"):
        load_queries([{"name": "x", "text": "y"}])
    with pytest.raises(FormatError, match="row 1 is"):
        load_queries([3])
    with pytest.raises(FormatError, match="query 'q' holds int"):
        load_queries({"q": 3})
    with pytest.raises(InputError, match="int holds no queries"):
        load_queries(3)
    with pytest.raises(FormatError, match="holds no queries"):
        load_queries(write_file("\n", "q.jsonl"))
    with pytest.raises(FormatError, match="not valid JSON"):
        load_queries(write_file("{", "q.json"))


def test_real_files(shared_data):
    assert len(load_queries(shared_data / "collections/scifact")) == 300
    assert len(load_queries(shared_data / "runs/web2012-diversity/queries.151-200.txt")) == 50
    assert load_queries(shared_data / "runs/web2012-diversity/queries.151-200.txt").texts["152"] == "angular cheilitis"
    german = load_queries(shared_data / "hpo/phentrieve/de_570terms_german.json")
    assert len(german) == 570
    assert set(german.attribute("language").values()) == {"de"}
