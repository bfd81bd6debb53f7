"""Files of the HPO retrieval benchmark: test cases and their schema, annotated texts, run directories, summaries."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

import rankscope as rs
from rankscope import predecessors as compat
from rankscope.errors import BadLinesError, FormatError
from rankscope.io.files import read_json
from rankscope.predecessors.importers import import_file, problems_of, write_collection
from rankscope.predecessors.importers import test_case_schema as case_schema
from rankscope.predecessors.importers.hpo_schema import LANGUAGE_CODES

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "hpo" / "phentrieve"
real_files = pytest.mark.skipif(
    not REAL.is_dir(), reason="the real test files, shared/data/hpo/phentrieve, are not here"
)
CASE = {"text": "Krampfanfälle", "expected_hpo_ids": ["HP:0001250"]}
FULL = {
    "metadata": {"dataset_id": "de_neuro", "version": "1", "language": "de", "description": "nerves"},
    "test_cases": [
        {
            **CASE,
            "case_id": "de_neuro_001",
            "description": "German word for seizures",
            "difficulty": "easy",
            "category": "exact_match",
            "hpo_domain": "Abnormality of the nervous system",
        },
        {**CASE, "case_id": "de_neuro_002", "expected_hpo_ids": []},
    ],
}


@pytest.fixture
def save(tmp_path):
    def write(content, name="file.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), "utf-8")
        return path

    return write


class TestTestCases:
    def test_bare_list_has_its_places_as_ids(self, save):
        found = import_file(save([CASE, {**CASE, "expected_hpo_ids": ["HP:0000001", "HP:0000002"]}]))
        assert [query.id for query in found.queries] == ["0", "1"]
        assert [(row.query, row.doc) for row in found.judgments] == [
            ("0", "HP:0001250"), ("1", "HP:0000001"), ("1", "HP:0000002"),
        ]  # fmt: skip

    def test_full_schema(self, save):
        found = import_file(save(FULL))
        assert found.title == "test cases of HPO retrieval (de_neuro 1)"
        assert found.queries[0].attributes == {
            "language": "de",
            "description": "German word for seizures",
            "difficulty": "easy",
            "category": "exact_match",
            "hpo_domain": "Abnormality of the nervous system",
        }
        assert "de_neuro_002: it expects no id, so it is not evaluable" in found.notes

    @pytest.mark.parametrize(
        ("name", "language"),
        [
            ("german/tiny_v1.json", "de"), ("Deutsch/tiny.json", "de"), ("en/tiny.json", "en"), ("french/x.json", "fr"),
            ("german/v1/tiny.json", "de"), ("nl_tiny.json", "nl"), ("tiny_v1.json", None),
        ],
    )  # fmt: skip
    def test_language_is_told_from_folder_or_name(self, save, name, language):
        found = import_file(save([CASE], name))
        assert found.queries[0].attributes.get("language") == language

    def test_other_name_of_the_ids(self, save):
        found = import_file(save([{"text": "a", "hpo_ids": ["HP:0001250"], "language": "en"}]))
        assert found.judgments[0].doc == "HP:0001250"
        assert found.queries[0].attributes["language"] == "en"
        assert "1 cases call their ids hpo_ids, which the original does not read" in found.notes

    def test_an_id_listed_twice_counts_once_and_is_noted(self, save):
        found = import_file(save([{"text": "a", "expected_hpo_ids": ["HP:0001250", "HP:0001250"]}]))
        assert len(found.judgments) == 1
        assert "lists an id twice" in found.notes[0]

    def test_fields_that_may_be_typos(self, save):
        found = import_file(save([{**CASE, "dificulty": "easy"}]))
        assert found.queries[0].attributes["dificulty"] == "easy"
        assert tuple(found.notes) == (
            "1 cases have the field 'dificulty', which the schema does not know (did you mean difficulty?)",
        )

    def test_errors_say_where_and_what(self, save):
        wrong = copy.deepcopy(FULL)
        wrong["test_cases"][0] |= {"expected_hpo_ids": ["HP:001250"], "difficulty": "tricky"}
        with pytest.raises(FormatError) as error:
            import_file(save(wrong, "wrong.json"))
        assert "wrong.json is not a valid test-case file" in str(error.value)
        assert 'test_cases[0].expected_hpo_ids[0]: "HP:001250" is not an HPO id: HP: and seven digits' in str(
            error.value
        )
        assert 'test_cases[0].difficulty: "tricky" is not one of easy, medium, hard' in str(error.value)

    def test_many_problems_are_cut(self, save):
        with pytest.raises(FormatError, match="and 3 more"):
            import_file(save([{"text": " ", "expected_hpo_ids": []}] * 8))


COMPLETE = {**FULL, "test_cases": FULL["test_cases"][:1]}
VALID = [
    [CASE],
    COMPLETE,
    {"test_cases": [CASE]},
    {"metadata": {}, "test_cases": [CASE]},
    [{**CASE, "extra": 1}],
    [{"text": "a", "hpo_ids": ["HP:0001250"]}],
    [{**CASE, "language": "pt-BR"}],
]
INVALID = {
    "the file: 3 is not a list": 3,
    "the file: it has no test_cases": {},
    "test_cases: {} is not a list": {"test_cases": {}},
    "test_cases: there is not a single one": [],
    "metadata: [] is not an object": {"metadata": [], "test_cases": [CASE]},
    "metadata.version: 1 is not a text": {"metadata": {"version": 1}, "test_cases": [CASE]},
    'metadata.language: "german" is not a language code: write de': {
        "metadata": {"language": "german"},
        "test_cases": [CASE],
    },
    'metadata.language: "xx" is not a language code: write a code of ISO 639-1, such as de, en or fr': {
        "metadata": {"language": "xx"},
        "test_cases": [CASE],
    },
    'test_cases[0].language: "dee" is not a language code: write a code of ISO 639-1, such as de, en or fr': [
        {**CASE, "language": "dee"}
    ],
    'test_cases[0]: "a" is not an object': ["a"],
    "test_cases[0]: it has no text": [{"expected_hpo_ids": ["HP:0001250"]}],
    "test_cases[0].expected_hpo_ids: it expects no id, so that nothing could be found": [
        {"text": "a", "expected_hpo_ids": []}
    ],
    "test_cases[0].hpo_ids: it expects no id, so that nothing could be found": [{"text": "a", "hpo_ids": []}],
    "test_cases[0].text: it is empty": [{**CASE, "text": " "}],
    "test_cases[0].text: 1 is not a text": [{**CASE, "text": 1}],
    "test_cases[0].case_id: it is empty": [{**CASE, "case_id": ""}],
    "test_cases[0]: it has no expected_hpo_ids": [{"text": "a"}],
    'test_cases[0].expected_hpo_ids: "HP:0001250" is not a list': [{"text": "a", "expected_hpo_ids": "HP:0001250"}],
    "test_cases[1].expected_hpo_ids[0]: 7 is not an HPO id: HP: and seven digits": [
        CASE,
        {"text": "a", "expected_hpo_ids": [7]},
    ],
    'test_cases[0].category: "guess" is not one of exact_match, synonym, abbreviation, layperson, complex': [
        {**CASE, "category": "guess"}
    ],
    "test_cases[0].difficulty: null is not one of easy, medium, hard": [{**CASE, "difficulty": None}],
}


class TestSchema:
    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(case_schema())

    @pytest.mark.parametrize("content", VALID)
    def test_valid_files(self, content):
        jsonschema.Draft202012Validator(case_schema()).validate(content)
        assert problems_of(content) == []

    @pytest.mark.parametrize("problem", INVALID)
    def test_invalid_files(self, problem):
        assert not jsonschema.Draft202012Validator(case_schema()).is_valid(INVALID[problem])
        assert [str(found) for found in problems_of(INVALID[problem])] == [problem]

    def test_every_language_of_the_plan_is_known_and_few_others(self):
        # The plan's own list, and how many codes ISO 639-1 has.
        assert {"de", "en", "es", "fr", "nl"} <= LANGUAGE_CODES
        assert len(LANGUAGE_CODES) == 183

    def test_two_cases_of_one_name_are_more_than_a_schema_can_see(self):
        twice = [{**CASE, "case_id": "a"}, {**CASE, "case_id": "a"}]
        assert [str(found) for found in problems_of(twice)] == [
            'test_cases[1].case_id: "a" is also that of test_cases[0]'
        ]


class TestAnnotations:
    def test_long_form(self, save):
        terms = [
            ("HP:0000001", "affirmed"),
            ("HP:0000002", "negated"),
            ("HP:0000002", "affirmed"),
            ("HP:0000003", "negated"),
        ]
        text = {
            "doc_id": "t1",
            "language": "en",
            "source": "phenobert",
            "full_text": "long",
            "metadata": {"dataset": "GSC+"},
            "annotations": [{"hpo_id": term, "assertion_status": status} for term, status in terms],
        }
        for content in (text, [text]):
            found = import_file(save(content))
            assert [(row.doc, row.grade) for row in found.judgments] == [
                ("HP:0000001", 1.0), ("HP:0000002", 1.0), ("HP:0000003", 0.0),
            ]  # fmt: skip
            assert found.queries[0].attributes == {"language": "en", "source": "phenobert", "dataset": "GSC+"}

    def test_short_form(self, save):
        terms = [{"id": "HP:0000001", "assertion": "PRESENT"}, {"id": "HP:0000002", "assertion": "ABSENT"}]
        found = import_file(save({"metadata": {}, "documents": [{"id": "d", "text": "t", "gold_hpo_terms": terms}]}))
        assert [(row.query, row.doc, row.grade) for row in found.judgments] == [
            ("d", "HP:0000001", 1.0), ("d", "HP:0000002", 0.0),
        ]  # fmt: skip


def write_run_directory(folder):
    """Write a run as the benchmark does: two cases done, one failed, one without expected ids, one without results."""
    cases = [
        {"case_id": 0, "text": "a", "expected_hpo_ids": ["HP:0000001"], "retrieved_hpo_ids": ["HP:0000009", "HP:0000001"],
         "metrics": {"mrr": 0.5, "note": "x"}, "status": "complete"},
        {"case_id": 1, "text": "b", "expected_ids": ["HP:0000002", "HP:0000003"], "retrieved_hpo_ids": ["HP:0000003"],
         "metrics": {"mrr": 1.0}, "status": "complete"},
        {"case_id": 2, "text": "c", "expected_hpo_ids": ["HP:0000004"], "status": "failed",
         "error": {"type": "ValueError", "message": "too long"}},
        {"case_id": 3, "text": "d", "expected_hpo_ids": [], "status": "not_evaluable"},
        {"case_id": 4, "text": "e", "expected_hpo_ids": ["HP:0000005"], "retrieved_hpo_ids": [], "status": "complete"},
    ]  # fmt: skip
    terms = [
        {"case_id": 0, "hpo_id": "HP:0000009", "label": "Nine", "rank": 1, "score": 0.9},
        {"case_id": 0, "hpo_id": "HP:0000001", "label": "One", "rank": 2, "score": 0.8},
        {"case_id": 1, "hpo_id": "HP:0000003", "label": "Three", "rank": 1, "score": 0.7},
    ]
    summary = {
        "model": "BioLORD", "num_test_cases": 5, "mrr_dense": 0.5, "mrr_dense_per_case": [0.5, 1.0, 0.0],
        "hit_rate_dense@1": 1 / 3,
        "confidence_intervals": {"mrr_dense": {"point_estimate": 0.5, "ci_lower": 0.1, "ci_upper": 0.9}},
    }  # fmt: skip
    manifest = {"schema_version": 1, "dataset": {"case_count": 6}, "status": "partial"}
    folder.mkdir(parents=True)
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "terms.jsonl").write_text("".join(json.dumps(term) + "\n" for term in terms))
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


class TestRunDirectory:
    def test_means_are_those_of_the_original(self, tmp_path):
        found = import_file(write_run_directory(tmp_path / "BioLORD" / "run1"))
        assert found.kind == "hpo-run"
        write_collection(found, tmp_path / "out")
        with pytest.warns(rs.RankscopeWarning) as caught:
            scores = rs.evaluate(tmp_path / "out/qrels.txt", tmp_path / "out/runs/BioLORD.run", profile="phentrieve")
        assert len(caught) == 1
        for words in ("does not answer 1 of 3 queries", "not measured are MaxOntSim"):
            assert any(words in note for note in caught[0].message.notes)
        mean = compat.in_their_words(scores["BioLORD"], "phentrieve").mean
        stated = {score.measure: score.value for score in found.scores if score.query is None}
        assert mean["mrr_dense"] == stated["mrr_dense"] == 0.5
        assert mean["hit_rate_dense@1"] == pytest.approx(stated["hit_rate_dense@1"])

    def test_everything_is_there(self, tmp_path):
        found = import_file(write_run_directory(tmp_path / "BioLORD" / "run1"))
        assert tuple(found.notes) == (
            "case 2 failed (too long); it gives no judgments, as the original left it out of its means",
            "case 3 expects no id, so it is not evaluable",
            "case 4 retrieved nothing; it scores 0",
            "the manifest speaks of 6 cases, cases.jsonl holds 5",
            "the run's status is partial",
        )
        assert [result.score for result in found.runs[0].results] == [0.9, 0.8, 0.7]
        assert found.docs[0].fields == {"label": "Nine"}
        stated = {(score.query, score.measure): score.value for score in found.scores}
        assert stated["0", "mrr"] == 0.5
        assert stated["1", "mrr_dense"] == 1.0
        assert stated[None, "mrr_dense:ci_upper"] == 0.9
        assert ("0", "note") not in stated

    def test_cases_alone_are_enough(self, tmp_path):
        folder = write_run_directory(tmp_path / "BioLORD" / "run1")
        for name in ("terms.jsonl", "summary.json", "manifest.json"):
            (folder / name).unlink()
        found = import_file(folder)
        assert found.runs[0].name == "BioLORD"
        assert found.runs[0].rows.score.tolist() == [2.0, 1.0, 1.0]

    def test_a_folder_without_cases(self, tmp_path):
        with pytest.raises(FormatError, match=r"has no cases\.jsonl"):
            import_file(tmp_path)

    def test_a_broken_line_is_named(self, tmp_path):
        (tmp_path / "cases.jsonl").write_text('{"case_id": 0}\n{"case_id": \n')
        with pytest.raises(BadLinesError, match=r"cases\.jsonl:2: not valid JSON"):
            import_file(tmp_path)


class TestSummary:
    def test_current_and_older_names(self, save):
        content = {
            "model": "m",
            "timestamp": "t",
            "avg_mrr": 0.5,
            "mrr": [1.0, 0.0],
            "hit_rate@1": [1, 0],
            "avg_hit_rate@1": 0.5,
        }
        found = import_file(save(content))
        assert found.kind == "hpo-summary"
        assert {(score.query, score.measure): score.value for score in found.scores} == {
            (None, "avg_mrr"): 0.5, ("0", "mrr"): 1.0, ("1", "mrr"): 0.0, ("0", "hit_rate@1"): 1.0,
            ("1", "hit_rate@1"): 0.0, (None, "avg_hit_rate@1"): 0.5,
        }  # fmt: skip
        assert not found.notes

    def test_means_only(self, save):
        assert "means only" in import_file(save({"mrr_dense": 0.5})).notes[0]


@real_files
class TestRealFiles:
    @pytest.mark.parametrize(
        ("name", "cases", "ids"),
        [
            ("de_tiny_v1", 9, 18), ("de_small_v1", 9, 18), ("de_70cases_gemini_v1", 70, 70), ("de_70cases_o3_v1", 70, 70),
            ("de_200cases_gemini_v1", 200, 200), ("de_200cases_o3_v1", 200, 200), ("de_570terms_german", 570, 570),
        ],
    )  # fmt: skip
    def test_test_cases(self, name, cases, ids, tmp_path):
        content = read_json(REAL / f"{name}.json")
        jsonschema.Draft202012Validator(case_schema()).validate(content)
        assert problems_of(content) == []
        found = import_file(REAL / f"{name}.json")
        assert (len(found.queries), len(found.judgments)) == (cases, ids)
        assert {query.attributes["language"] for query in found.queries} == {"de"}
        write_collection(found, tmp_path / "out")
        assert len(rs.load_qrels(tmp_path / "out/qrels.txt")) == cases
        back = [json.loads(line) for line in (tmp_path / "out/queries.jsonl").read_text("utf-8").splitlines()]
        assert [row["text"] for row in back] == [case["text"] for case in content]

    @pytest.mark.parametrize(
        ("name", "texts"),
        [("phenobert_GSC_plus", 228), ("phenobert_GeneReviews", 10), ("phenobert_ID_68", 68), ("raghpo_paper_CSC", 112), ("raghpo_paper_GSC", 114)],
    )  # fmt: skip
    def test_annotated_texts(self, name, texts):
        found = import_file(REAL / f"en_{name}.json.gz")
        content = read_json(REAL / f"en_{name}.json.gz")
        assert found.kind == "hpo-annotations"
        assert len(found.queries) == texts
        affirmed = {
            (text["doc_id"], term["hpo_id"])
            for text in content for term in text["annotations"] if term["assertion_status"] == "affirmed"
        }  # fmt: skip
        assert {(row.query, row.doc) for row in found.judgments if row.grade == 1} == affirmed
