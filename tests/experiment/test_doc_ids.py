"""Systems that return something else than the ids of the collection's docs: left out with the reason, or kept anyway."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rankscope.errors import InputError
from rankscope.experiment.collection import CollectionSpec, load_collection
from rankscope.experiment.doc_ids import find_unknown_docs, unknown_ids
from rankscope.experiment.doc_texts import TextDetector
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.systems.answers import Answer

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said
from small_project import small_project, systems

# What each function returns for the docs d0 to d29 that the module's docs_for finds.
OTHER_IDS = """

def renamed(query, name):
    return [(name(int(doc[1:])), score) for doc, score in docs_for(query.id)]


def texts(query):
    return renamed(query, lambda i: f"text {i} of the docs")


def prefixed(query):
    return renamed(query, lambda i: f"doc-d{i}")


def strange(query):
    return renamed(query, lambda i: f"{i * 7919:x}-{i}")


def blanks(query):
    return renamed(query, lambda i: " " * (i + 1))


def half(query):
    return renamed(query, lambda i: f"d{i}" if i < 15 else f"strange-{i * 7919}")


def most(query):
    return renamed(query, lambda i: f"d{i}" if i < 14 else f"strange-{i * 7919}")


def nothing(query):
    return []
"""


@pytest.fixture
def small(tmp_path):
    """Return a small project whose module also has systems with other ids."""
    project = small_project(tmp_path)
    project.add(OTHER_IDS)
    return project


def run(small, *names, measures=("nDCG@10",), more="", **options):
    small.write(systems(*names) + more, measures=list(measures))
    (result,) = run_project(load_project(small.folder), RunOptions(**options)).collections
    return result


def finding_of(result, name):
    return next(system for system in result.systems if system.name == name).finding


def test_the_others_go_on(small):
    result = run(small, "texts", "one", "other")
    assert [system.name for system in result.left_out] == ["texts"]
    assert list(result.scores) == ["one", "other"]
    assert result.comparison.baseline == "one"
    assert "texts would be the baseline; without it, others are compared with one." in result.notes


def test_texts_instead_of_ids(small):
    result = run(small, "one", "other", "texts")
    finding = finding_of(result, "texts")
    assert (finding.level, finding.code) == ("error", "texts_instead_of_ids")
    assert finding.message == "40 of 40 queries were answered with texts instead of ids of docs"
    assert finding.examples[0].endswith(" of the docs'")
    assert finding.hint == 'give ids as the collection has them, such as "d0", then run again'
    assert finding_of(run(small, "one", "texts", anyway=True), "texts") == finding, "there is nothing to compare"
    small.add("\n\ndef texts(query):\n    return docs_for(query.id)\n")
    assert small.run("--only", "texts").returncode == 0, "they are asked again without --fresh"


def test_words_that_begin_no_doc(small):
    small.add("def words(query):\n    return renamed(query, lambda i: f'words {i}')\n")
    finding = finding_of(run(small, "one", "words"), "words")
    assert (finding.level, finding.code) == ("error", "texts_instead_of_ids")
    assert finding.message == "0 of 30 retrieved ids are docs of the collection; these look like texts, not ids"
    assert "--fresh --only words" in finding.hint


TEXTS = {
    "a text": "text 7 of the docs",
    "with other blanks": "text  7\nof the docs ",
    "sentences from elsewhere": "Nobody has ever written this in any doc of the collection.",
    "a short sentence": "Nobody has written it",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("kind", ["python", "http"])
def test_a_text_instead_of_an_id_fails_its_query_alone(small, text, kind):
    docs = [text] if "Nobody" in text else ["d1", text, "d2"]
    if kind == "http":
        answer = lambda asked: Said([{"id": doc} for doc in docs] if asked.path == "/q3" else [{"id": "d1"}])  # noqa: E731
        with Loopback(answer) as server:
            web = f'[systems.mine]\ntype = "http"\nurl = "{server.url}/{{query_id}}"\nbackoff_s = 0\n'
            result = run(small, "one", more=web)
    else:
        small.add(f"def mine(query):\n    return {docs!r} if query.id == 'q3' else ['d1']\n")
        result = run(small, "one", "mine")
    one, mine = result.systems
    assert [(failure.query, failure.reason) for failure in mine.failures] == [
        ("q3", f"a text came back instead of the id of a doc: {text!r}")
    ]
    assert (mine.finding, mine.n_answered, one.n_answered) == (None, 39, 40)
    assert list(result.scores) == ["one", "mine"]


def test_a_long_text_is_shown_shortened(small):
    corpus = small.folder / "small" / "corpus.jsonl"
    long = "a doc of very many words " * 100
    corpus.write_text(corpus.read_text() + json.dumps({"_id": "long", "title": "A title", "text": long}) + "\n")
    small.add(f"def mine(query):\n    return [{long[:500]!r} if query.id == 'q3' else 'd1']\n")
    small.add(
        "def titled(query):\n    return ['A title ' + 'a doc of very many words' if query.id == 'q3' else 'd1']\n"
    )
    result = run(small, "mine", "titled")
    for system in result.systems:
        ((query, reason),) = ((failure.query, failure.reason) for failure in system.failures)
        assert query == "q3"
        assert len(reason) < 200
    assert result.systems[0].failures[0].reason.endswith("… (502 characters)")


def test_ids_that_look_like_texts_are_ids_where_the_collection_has_them(small):
    """Titles as ids, of which one is also what a doc says; and one that only the judgments have."""
    folder = small.folder / "small"
    names = {f"d{i}": f"the name of doc {i} in many words, more than thirty-two letters" for i in range(30)}
    docs = [{"_id": names[f"d{i}"], "title": "", "text": names[f"d{(i + 1) % 30}"]} for i in range(30)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    rows = [f"q{i}\t{names[f'd{i % 30}']}\t1\n" for i in range(40)]
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join([*rows, "q1\ta doc of none\t1\n"])
    )
    small.add(
        f"NAMES = {names!r}\ndef mine(query):\n    return [*NAMES.values(), 'a doc of none', 'a doc that nobody knows']\n"
    )
    (mine,) = run(small, "mine").systems
    assert (mine.failures, mine.finding) == ((), None)


@pytest.mark.parametrize(
    "doc", ["d 1", "doc 1", "d1 d2 d3 d4 d5 d6", "https://example.org/a-rather-long-address-of-a-doc", "長い"]
)
def test_ids_from_elsewhere_are_no_texts(small, doc):
    small.add(f"def mine(query):\n    return [{doc!r}, 'd1'] if query.id == 'q3' else ['d1']\n")
    (mine,) = run(small, "mine").systems
    assert (mine.failures, mine.finding) == ((), None)


def test_a_text_without_blanks(small):
    corpus = small.folder / "small" / "corpus.jsonl"
    text = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    corpus.write_text(corpus.read_text() + json.dumps({"_id": "cat", "text": text * 3}) + "\n")
    small.add(f"def mine(query):\n    return [{text * 2!r}, 'd1'] if query.id == 'q3' else ['d1']\n")
    (mine,) = run(small, "mine").systems
    assert [failure.query for failure in mine.failures] == ["q3"]


def test_docs_are_not_read_where_nothing_looks_like_a_text(small):
    collection = load_collection(CollectionSpec(name="small", path=small.folder / "small"))
    collection.docs = None
    answer = Answer("q1", [("d1", 1.0), ("https://example.org/x", 0.5)])
    assert TextDetector(collection).checked(answer) is answer


def test_a_prefix(small):
    finding = finding_of(run(small, "one", "prefixed"), "prefixed")
    assert finding.code == "doc_ids_nearly_match"
    assert finding.message == (
        "0 of 30 retrieved ids are docs of the collection; "
        'they differ only by the prefix "doc-" in the run: 30 would match'
    )
    assert finding.examples[0] == 'run "doc-d0" ~ collection "d0"'


def test_ids_from_elsewhere_are_shown_beside_those_of_the_collection(small):
    finding = finding_of(run(small, "one", "strange"), "strange")
    assert finding.code == "unknown_docs"
    assert finding.examples[0] == 'collection: "d0", "d1", "d2"'
    assert finding.examples[1].startswith('run: "')


def test_blanks_are_no_texts(small):
    finding = finding_of(run(small, "one", "blanks"), "blanks")
    assert (finding.code, finding.message) == ("unknown_docs", "0 of 30 retrieved ids are docs of the collection")


def test_half_of_the_ids_is_enough(small):
    result = run(small, "half", "most", "one")
    assert finding_of(result, "half") is None
    assert finding_of(result, "most").message == "14 of 30 retrieved ids are docs of the collection"
    assert list(result.scores) == ["half", "one"]


def test_a_system_that_retrieves_nothing_has_no_wrong_ids(small):
    result = run(small, "nothing", "one")
    assert result.left_out == ()
    (note,) = (note for note in result.notes if note.startswith("nothing has retrieved nothing at all"))
    assert "queries were answered with no docs." in note


def test_where_no_system_is_left_there_are_no_scores(small):
    result = run(small, "texts", "prefixed")
    assert (len(result.left_out), result.scores, result.comparison) == (2, None, None)


def test_anyway_keeps_it_and_says_so(small):
    result = run(small, "one", "prefixed", anyway=True)
    assert result.left_out == ()
    assert finding_of(result, "prefixed").level == "warning"
    assert list(result.scores) == ["one", "prefixed"]
    assert result.scores["prefixed"].mean()["nDCG@10"].value == 0
    (note,) = (note for note in result.notes if "is compared anyway" in note)
    assert note.startswith("prefixed: 0 of 30 retrieved ids are docs of the collection")


def test_what_is_made_of_it_is_looked_at_too(small):
    more = '[systems.mixed]\ntype = "hybrid"\nof = ["texts", "prefixed"]\n'
    result = run(small, "one", "texts", "prefixed", more=more)
    assert [system.name for system in result.left_out] == ["texts", "prefixed", "mixed"]


def test_options_can_be_tried_for_it_all_the_same(small, monkeypatch):
    """Choosing scores the system on its own, which must not stop the run of the others."""
    module = small.folder / f"{small.module}_tried.py"
    module.write_text(
        "from dataclasses import dataclass\n\n\n@dataclass(kw_only=True)\nclass Tried:\n    name: str = ''\n"
        "    value: int = 1\n    index_bytes = 0\n\n    def fit(self, docs, *, progress=None): ...\n\n"
        "    def search(self, queries, *, k):\n"
        "        return [[(f'doc-d{i}', 30.5 - i) for i in range(20)] for _ in queries]\n\n"
        "    def describe(self):\n        return {'value': self.value}\n"
    )
    monkeypatch.syspath_prepend(small.folder)
    result = run(small, "one", more='[systems.tried]\ntype = "MODULE_tried:Tried"\nvalue = [1, 2]\n')
    assert [system.name for system in result.left_out] == ["tried"]
    assert result.choices[0].best.score == 0


def test_a_measure_by_embeddings_where_no_id_is_known(small):
    pytest.importorskip("wordllama")
    more = '[systems.dense]\ntype = "dense"\n'
    result = run(small, "strange", measures=["nDCG@10", "ILD@10"], more=more, only=("strange",))
    assert [system.name for system in result.left_out] == ["strange"]
    kept = run(small, "strange", measures=["nDCG@10", "ILD@10"], more=more, only=("strange",), anyway=True)
    mean = kept.scores["strange"].mean()["ILD@10"]
    assert mean.undefined == 40
    assert any("ILD@10" in note and "no vector" in note for note in kept.notes)


def test_judgments_of_another_collection_stop_the_run(small):
    qrels = small.folder / "small" / "qrels" / "test.tsv"
    qrels.write_text(qrels.read_text().replace("\td", "\tPMC-"))
    with pytest.raises(InputError, match=r'^small: doc ids differ only by the prefix "PMC-" in the qrels'):
        run(small, "one", "other")
    result = run(small, "one", "other", anyway=True)
    assert any(note.startswith("small: doc ids differ only by") for note in result.notes)


def test_one_system_may_miss_every_judged_doc(small):
    """Its ids are those of the collection, so it is a bad system, not another collection."""
    small.add("def bad(query):\n    return [('d29', 1.5), ('d28', 0.5)]\n")
    qrels = small.folder / "small" / "qrels" / "test.tsv"
    qrels.write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i % 28}\t1\n" for i in range(40)))
    result = run(small, "bad", "one")
    assert result.comparison.baseline == "bad"
    assert any(note.startswith("bad: 0 of 28 judged docs are retrieved") for note in result.notes)


def test_docs_are_read_only_as_far_as_needed(small):
    collection = load_collection(CollectionSpec(name="small", path=small.folder / "small"))
    n_read = 0

    class Counted:
        def __iter__(self):
            nonlocal n_read
            for i in range(1000):
                n_read += 1
                yield type("Doc", (), {"id": f"d{i}"})

    collection.docs = Counted()
    assert unknown_ids(collection, {"near": {"d1": None, "d3": None}, "also": {"d2": None}}) == {
        "near": set(),
        "also": set(),
    }
    assert n_read == 4
    assert unknown_ids(collection, {"none": {}}) == {"none": set()}
    assert n_read == 4
    retrieved = {"near": {"d1": None, "y": None}, "far": {"x": None}}
    unknown = unknown_ids(collection, retrieved)
    assert unknown == {"near": {"y"}, "far": {"x"}}
    assert list(find_unknown_docs(collection, retrieved, unknown)) == ["far"]


def test_some_ids_that_the_collection_does_not_have_are_noted(small):
    result = run(small, "one", "half")
    assert finding_of(result, "half") is None
    (note,) = (note for note in result.notes if note.startswith("half: "))
    assert note.startswith('half: 15 of 30 retrieved ids are no docs of the collection ("strange-')
    assert not any(note.startswith("one: ") for note in result.notes)


def test_the_manifest_is_written_as_ever(small):
    run(small, "texts", "one")
    manifest = json.loads((small.folder / "results" / "manifest.json").read_text())
    assert set(manifest["collections"]["small"]["systems"]) == {"texts", "one"}
