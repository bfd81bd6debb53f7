"""Importing the files of the four predecessors: small files written by hand after FORMATS.md."""

import contextlib
import json

import pytest

import rankscope as rs
from rankscope import predecessors as compat
from rankscope.errors import FormatError, InputError, OptionError, RankscopeError
from rankscope.predecessors.importers import KINDS, content_of, import_file, import_files, kind_of, write_collection
from rankscope.predecessors.importers.doctor_search import normalised


@pytest.fixture
def save(tmp_path):
    """Return a function that writes JSON, or text as it is, and returns the path."""

    def write(content, name="file.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return write


def judged(found):
    return [(row.query, row.doc, row.grade) for row in found.judgments]


def listed(found):
    return {run.name: [(row.query, row.doc) for row in run.results] for run in found.runs}


def said(found):
    return [(row.query, row.system, row.doc, "flag" if row.flag else "choice", row.note) for row in found.opinions]


def stated(found):
    return {(score.system, score.query, score.measure): score.value for score in found.scores}


PEOPLE = [
    {"practitioner_id": "p1", "name": "Dr Jane  Doe"},
    {"id": "p2", "name": "Prof. John Smith"},
    {"id": "p3", "name": "Mr John Smith"},
    {"id": "p4", "name": "Miss Ann Lee"},
]
CASES = {
    "testCases": [
        {
            "id": "benchmark-cardiology-001",
            "name": "SVT",
            "userQuery": "I need SVT ablation",
            "conversation": [{"role": "user", "content": "hello"}],
            "groundTruth": ["jane doe", "Ms Ann LEE", "Dr Nobody", "John Smith"],
            "expectedSpecialty": "Cardiology",
            "set": "train",
        },
        {"id": "benchmark-002", "userQuery": "knee", "groundTruth": []},
    ]
}
VARIANT = {
    "name": "parallel",
    "top10Results": [
        {"document": {"practitioner_id": "p1", "name": "Dr Jane Doe"}, "score": 3.5},
        {"document": {"id": "p9"}, "score": 2.0},
    ],
}


class TestNames:
    @pytest.mark.parametrize(
        "name", ["Dr Jane Doe", "DR. jane  doe", " Prof Dr Jane Doe ", "Miss Jane Doe", "jane doe"]
    )
    def test_titles_case_and_blanks_do_not_matter(self, name):
        assert normalised(name) == "jane doe"

    @pytest.mark.parametrize("name", ["Drake Doe", "Missy Doe", "Profumo"])
    def test_names_that_begin_like_a_title_stay(self, name):
        assert normalised(name) == name.lower()

    def test_a_part_of_a_name_is_no_match(self, save):
        cases = {"testCases": [{"id": "c", "groundTruth": ["Jane"]}]}
        found = import_file(save(cases), practitioners=save(PEOPLE, "people.json"))
        assert judged(found) == [("c", "name:jane", 1.0)]
        assert found.notes == ["c: nobody is called 'Jane'; it counts as a relevant doc that is never found"]


class TestDoctorSearch:
    def test_test_cases(self, save):
        found = import_file(save(CASES), practitioners=save(PEOPLE, "people.json"))
        assert found.kind == "doctor-test-cases"
        assert found.queries[0].text == "I need SVT ablation"
        assert found.queries[0].attributes["expectedSpecialty"] == "Cardiology"
        assert judged(found) == [
            ("benchmark-cardiology-001", doc, 1.0) for doc in ("p1", "p4", "name:nobody", "name:john-smith")
        ]
        assert tuple(found.notes) == (
            "benchmark-cardiology-001: nobody is called 'Dr Nobody'; it counts as a relevant doc that is never found",
            "benchmark-cardiology-001: 2 people are called 'John Smith' (p2, p3); it counts as a relevant doc that is never found",
            "benchmark-002: it has no ground truth, so it cannot be scored",
        )

    def test_unresolved_names_stay_in_the_denominator_or_are_dropped_as_in_the_original(self, save):
        kept = import_file(save(CASES), practitioners=save(PEOPLE, "people.json"))
        dropped = import_file(save(CASES), practitioners=save(PEOPLE, "people.json"), unresolved="drop")
        run = {"benchmark-cardiology-001": ["p1", "p4"]}
        recall = {
            name: rs.evaluate(found.qrels_rows, run, "R@5", profile="ranking_algo").mean()["run"]["R@5"].value
            for name, found in {"kept": kept, "dropped": dropped}.items()
        }
        assert recall == {"kept": 0.5, "dropped": 1.0}

    def test_without_a_directory_names_become_ids(self, save):
        found = import_file(save(CASES))
        assert ("benchmark-cardiology-001", "name:jane-doe", 1.0) in judged(found)
        assert found.notes[-1].startswith("the ground truth is names")

    def test_practitioners_may_be_an_object(self, save):
        found = import_file(save(CASES), practitioners=save({"practitioners": PEOPLE}, "people.json"))
        assert judged(found)[0][1] == "p1"
        found = import_file(save(CASES), practitioners=save({"p1": "Jane Doe"}, "people.json"))
        assert judged(found)[0][1] == "p1"

    def test_batch_response(self, save):
        evaluation = {"precisionAt3": 1 / 3, "mrr": 1.0, "ndcg": None, "positionMetrics": {"inTop3": 1}}
        batch = {
            "summary": {"totalTestCases": 1, "averageMRR": {"parallel": 1.0}},
            "results": [
                {
                    "testCaseId": "c1",
                    "testCaseName": "SVT",
                    "userQuery": "svt",
                    "variants": [
                        {"name": "parallel", "top3Results": [{"name": "Dr A", "id": "p1", "score": 2}]},
                        {"name": "algorithmic", "error": "timeout"},
                    ],
                    "evaluation": {"parallel": evaluation},
                    "groundTruth": {"names": ["Dr A", "Dr B"], "ids": ["p1"]},
                }
            ],
        }
        found = import_file(save(batch))
        assert found.kind == "doctor-batch"
        assert listed(found) == {"parallel": [("c1", "p1")]}
        assert judged(found) == [("c1", "p1", 1.0), ("c1", "name:unresolved-1", 1.0)]
        assert stated(found)["parallel", None, "averageMRR"] == 1.0
        assert stated(found)["parallel", "c1", "ndcg"] is None
        assert stated(found)["parallel", "c1", "inTop3"] == 1.0
        assert "c1: variant algorithmic failed: timeout" in found.notes

    def test_response_for_one_query(self, save):
        found = import_file(save({"success": True, "variants": [VARIANT], "corpusSize": 2, "groundTruthIds": ["p1"]}))
        assert found.kind == "doctor-variants"
        assert listed(found) == {"parallel": [("query", "p1"), ("query", "p9")]}
        assert judged(found) == [("query", "p1", 1.0)]

    def test_export_with_flags_and_choices(self, save):
        result = {"practitionerId": "p1", "practitionerName": "Dr Jane Doe", "bm25Score": 3, "rank": 1}
        export = {
            "testCase": {"id": "c1", "name": "SVT", "userQuery": "svt", "timestamp": "2025"},
            "variants": [
                {
                    "name": "parallel",
                    "top3Results": [
                        {**result, "relevanceFlagged": None, "bookingProxy": True},
                        {
                            **result,
                            "practitionerId": "p2",
                            "relevanceFlagged": {"flagged": True, "reason": "wrong city"},
                        },
                    ],
                }
            ],
            "measurements": {"precisionAt3": {"parallel": 0.5}, "groundTruth": ["p2", "Jane Doe", "Dr Who"]},
        }
        found = import_file(save(export))
        assert found.kind == "doctor-export"
        assert said(found) == [("c1", "parallel", "p1", "choice", ""), ("c1", "parallel", "p2", "flag", "wrong city")]
        assert [doc for _, doc, _ in judged(found)] == ["p2", "name:jane-doe", "name:who"]
        assert stated(found) == {("parallel", "c1", "precisionAt3"): 0.5}

    def test_csv_export(self, save):
        text = (
            "Variant,Rank,Practitioner ID,Practitioner Name,Specialty,BM25 Score,Relevance Flagged,Flag Reason,Booking Proxy,Precision@3\n"
            'parallel,2,p2,"Smith, John",Cardiology,1.5,Yes,"too far, really",No,0.5\n'
            "parallel,1,p1,Jane Doe,Cardiology,2.5,No,,Yes,0.5\n"
        )
        found = import_file(save(text, "export.csv"))
        assert found.kind == "doctor-export-csv"
        assert listed(found) == {"parallel": [("query", "p1"), ("query", "p2")]}
        assert said(found) == [
            ("query", "parallel", "p1", "choice", ""), ("query", "parallel", "p2", "flag", "too far, really"),
        ]  # fmt: skip
        assert stated(found) == {("parallel", "query", "precisionAt3"): 0.5}

    def test_csv_export_of_the_page_lacks_the_last_column(self, save):
        header = "Variant,Rank,Practitioner ID,Practitioner Name,Specialty,BM25 Score,Relevance Flagged,Flag Reason,Booking Proxy"
        found = import_file(save(f"{header}\nparallel,1,p1,Jane,Cardiology,,No,,No\n", "export.csv"))
        assert not found.scores
        assert len(found.runs[0].results) == 1

    def test_the_query_of_an_export_may_be_given(self, save):
        text = "Variant,Rank,Practitioner ID,Practitioner Name,Specialty\nparallel,1,p1,Jane Doe,Cardiology\n"
        found = import_file(save(text, "export.csv"), query="I need SVT ablation")
        assert [(query.id, query.text) for query in found.queries] == [("i-need-svt-ablation", "I need SVT ablation")]
        assert listed(found) == {"parallel": [("i-need-svt-ablation", "p1")]}
        assert found.notes == []
        assert "say --query TEXT" in import_file(save(text, "export.csv")).notes[0]
        with pytest.raises(OptionError, match="says itself what was searched for"):
            import_file(save(CASES), query="I need SVT ablation")

    def test_practitioners_and_what_results_show_of_them_are_docs(self, save):
        people = [{"id": "p1", "name": "Dr Jane Doe", "specialty": "Cardiology", "address": {"city": "Ulm"}}]
        found = import_file(save(CASES), practitioners=save(people, "people.json"))
        assert [(doc.id, doc.fields) for doc in found.docs] == [
            ("p1", {"title": "Dr Jane Doe", "specialty": "Cardiology"})
        ]
        with pytest.raises(OptionError, match="no file names practitioners"):
            import_file(save({"e1": ["t"]}), practitioners=save(people, "people.json"))

    def test_flags_that_stand_in_the_measurements_only(self, save):
        shown = [{"practitionerId": "p1"}, {"practitionerId": "p2"}]
        measured = {"relevanceFlags": {"v": {"1": {"flagged": True, "reason": "far"}}}, "bookingProxy": {"v": 0}}
        export = {"testCase": {"id": "c1", "timestamp": "2025-03-01T10:00:00Z"}, "measurements": measured}
        found = import_file(save({**export, "variants": [{"name": "v", "top3Results": shown}]}))
        assert said(found) == [("c1", "v", "p1", "choice", ""), ("c1", "v", "p2", "flag", "far")]
        assert {row.at for row in found.opinions} == {"2025-03-01T10:00:00Z"}

    def test_baseline_run(self, save):
        baseline = {
            "baseline": "v1",
            "variant": "algorithmic",
            "summary": {"totalTestCases": 1, "averageRecallAt12": 0.5},
            "results": [
                {
                    "id": "c1",
                    "userQuery": "svt",
                    "groundTruthNames": ["A"],
                    "groundTruthIds": ["p1"],
                    "evaluation": {"recallAt12": 0.5},
                }
            ],
        }
        found = import_file(save(baseline))
        assert found.kind == "doctor-baseline"
        assert stated(found)["algorithmic", "c1", "recallAt12"] == 0.5
        assert stated(found)["algorithmic", None, "averageRecallAt12"] == 0.5
        assert judged(found) == [("c1", "p1", 1.0)]

    def test_split(self, save):
        found = import_file(save({"rule": "every fifth", "trainIds": ["a", "b"], "holdoutIds": ["c"], "trainCount": 3}))
        assert {query.id: query.attributes["split"] for query in found.queries} == {
            "a": "train", "b": "train", "c": "holdout",
        }  # fmt: skip
        assert tuple(found.notes) == (
            "trainCount is 3, but trainIds lists 2 cases",
            "the rule of the split: every fifth",
        )

    def test_verdicts_of_an_llm(self, save):
        verdicts = {
            "summary": {"success_metrics": {"pct_excellent_at_3_avg": 0.5}},
            "byId": {
                "c1": {
                    "userQuery": "svt",
                    "top12_names": ["Dr A B", "Dr C"],
                    "verification": {
                        "per_doctor": [
                            {"practitioner_name": "Dr A B", "fit_category": "excellent", "brief_reason": "expert"},
                            {"practitioner_name": "Dr C", "fit_category": "ill-fit"},
                            {"practitioner_name": "Dr D", "fit_category": "unsure"},
                        ]
                    },
                    "metrics": {"pct_excellent_at_3": 0.5, "top3_all_excellent": False},
                }
            },
        }
        found = import_file(save(verdicts))
        assert judged(found) == [("c1", "name:a-b", 2.0), ("c1", "name:c", 0.0)]
        assert stated(found)["llm-judged", "c1", "top3_all_excellent"] == 0.0
        assert "c1: 'Dr D' has the unknown fit 'unsure'" in found.notes
        assert {row.by for row in found.judgments} == {"judge"}
        assert [(row.doc, row.grade, row.status, row.note) for row in found.opinions] == [
            ("name:a-b", 2.0, "ok", "expert"), ("name:c", 0.0, "ok", ""), ("name:d", None, "out_of_scale", ""),
        ]  # fmt: skip
        written = write_collection(found, save("", "x").parent / "out")
        assert "qrels-judge.txt" in written, "a model's grades are not those of people"
        assert "qrels.txt" not in written

    def test_what_is_missing_is_named(self, save):
        with pytest.raises(FormatError, match="test case 1 has no id"):
            import_file(save({"testCases": [{"userQuery": "x"}]}))
        with pytest.raises(FormatError, match='groundTruth of a is "Dr A", not a list'):
            import_file(save({"testCases": [{"id": "a", "groundTruth": "Dr A"}]}))


class TestPodcastSearch:
    def test_judgments(self, save):
        found = import_file(save({"machine learning": {"e1": 3, "e2": 0}, "learning": {"e1": 1}}))
        assert found.kind == "podcast-judgments"
        assert [(query.id, query.text) for query in found.queries] == [
            ("machine-learning", "machine learning"),
            ("learning", "learning"),
        ]
        assert judged(found) == [
            ("machine-learning", "e1", 3.0),
            ("machine-learning", "e2", 0.0),
            ("learning", "e1", 1.0),
        ]
        assert "also contains 'learning'" in found.notes[1]

    def test_grades_beyond_3_are_refused(self, save):
        with pytest.raises(FormatError, match="grade 4 is not 0, 1, 2 or 3"):
            import_file(save({"q": {"e": 4}}))

    def test_topics(self, save):
        found = import_file(save({"e1": ["b", "a"], "e2": ["a"]}))
        assert found.kind == "podcast-topics"
        assert found.docs[0].fields == {"topics": ["a", "b"]}
        assert tuple(found.notes) == ("2 different topics over 2 episodes",)

    RESULTS = (
        {"episode_id": "e1", "podcast_id": "p", "published_at": "2025-01-01", "_distance": 0.25},
        {"episode_id": "e2"},
    )

    def test_results(self, save):
        found = import_file(save(list(self.RESULTS)), query="Deep Learning")
        assert listed(found) == {"podcast-search": [("deep-learning", "e1"), ("deep-learning", "e2")]}
        assert found.runs[0].results[0].score == 0.75
        assert found.docs[0].fields == {"podcast_id": "p", "published_at": "2025-01-01"}
        assert "say --query TEXT" in import_file(save(list(self.RESULTS))).notes[0]

    def test_export_of_the_app(self, save):
        rows = [{"episode_id": "e1", "distance": 0.5}, {"episode_id": "e2", "relevance": 25.0}, {"episode_id": "e1"}]
        found = import_file(save({"metadata": {"query": "AI", "result_count": 4}, "results": rows}))
        assert found.kind == "podcast-export"
        assert [row.score for row in found.runs[0].results] == [0.5, 0.25, None]
        assert tuple(found.notes) == (
            "result_count is 4, but there are 3 results",
            "podcast-search: 1 result showing a doc again; the original counts each",
        )


class TestRagBenchmark:
    def test_report(self, save):
        report = {
            "dataset": "scifact", "methods": ["bm25", "dense", "hybrid"], "k_values": [10],
            "metrics": {"bm25": {"NDCG@10": 0.6, "ILD": 0.3}, "dense": {"error": "out of memory"}},
        }  # fmt: skip
        found = import_file(save(report))
        assert found.kind == "rag-report"
        assert stated(found) == {("bm25", None, "NDCG@10"): 0.6, ("bm25", None, "ILD"): 0.3}
        assert tuple(found.notes) == (
            "method dense failed: out of memory",
            "method hybrid is listed, but has no metrics",
            "the report holds means only: without scores by query, no difference can be tested",
        )

    CACHE = {  # noqa: RUF012
        "name": "scifact",
        "queries": [{"id": "q1", "text": "why", "metadata": {"url": "u"}}],
        "documents": [{"id": "d1", "text": "because", "title": "t", "metadata": {}}],
        "qrels": [{"query_id": "q1", "doc_id": "d1", "relevance": 1}],
    }

    def test_cache(self, save):
        found = import_file(save(self.CACHE))
        assert found.kind == "rag-cache"
        assert judged(found) == [("q1", "d1", 1.0)]
        assert found.queries[0].attributes == {"url": "u"}
        assert found.docs[0].fields == {"title": "t", "text": "because"}
        assert tuple(found.notes) == ()

    def test_cache_made_from_four_columns_is_noticed(self, save):
        wrong = {**self.CACHE, "qrels": [{"query_id": "q9", "doc_id": "0", "relevance": 1}]}
        notes = import_file(save(wrong)).notes
        assert notes[0] == "1 queries are judged but not listed, e.g. q9"
        assert "four-column TREC qrels" in notes[1]

    def test_a_judgment_without_a_number(self, save):
        with pytest.raises(FormatError, match="judgment 1: relevance 'yes' is not a number"):
            import_file(save({**self.CACHE, "qrels": [{"query_id": "q", "doc_id": "d", "relevance": "yes"}]}))


class TestWriting:
    def test_what_is_written_can_be_evaluated(self, save, tmp_path):
        batch = {
            "success": True,
            "variants": [VARIANT, {**VARIANT, "name": "Parallel (Goal/Specificity)"}],
            "groundTruthIds": ["p9"],
        }
        written = write_collection(import_file(save(batch)), tmp_path / "out")
        assert list(written) == [
            "qrels.txt",
            "runs/parallel.run",
            "runs/Parallel-(Goal-Specificity).run",
            "queries.jsonl",
            "docs.jsonl",
        ]
        scores = rs.evaluate(tmp_path / "out/qrels.txt", tmp_path / "out/runs/parallel.run", profile="ranking_algo")
        assert compat.in_their_words(scores["parallel"], "ranking_algo").mean["averageMRR"] == 0.5

    def test_ids_with_blanks_are_written_as_jsonl(self, save, tmp_path):
        cache = {**TestRagBenchmark.CACHE, "qrels": [{"query_id": "q 1", "doc_id": "d1", "relevance": 1}]}
        written = write_collection(import_file(save(cache)), tmp_path / "out")
        assert "qrels.jsonl" in written
        assert rs.load_qrels(tmp_path / "out/qrels.jsonl").query_ids == ("q 1",)

    def test_lists_without_falling_scores_keep_their_order(self, save):
        rows = [{"document": {"id": doc}, "score": score} for doc, score in (("a", 1.0), ("b", 5.0), ("c", 3.0))]
        found = import_file(save({"success": True, "variants": [{"name": "v", "top10Results": rows}]}))
        assert found.runs[0].rows.score.tolist() == [3.0, 2.0, 1.0]
        assert found.runs[0].rows.rank.tolist() == [1, 2, 3]

    def test_a_folder_that_holds_something_is_not_touched(self, save, tmp_path):
        with pytest.raises(InputError, match="is there already"):
            write_collection(import_file(save(CASES)), tmp_path)

    def test_summary(self, save, tmp_path):
        write_collection(import_file(save(CASES)), tmp_path / "out")
        summary = json.loads((tmp_path / "out/summary.json").read_text("utf-8"))
        assert (summary["queries"], summary["judged_queries"], summary["judgments"]) == (2, 1, 4)


class TestKinds:
    def test_files_of_no_kind(self, save):
        for content in (["a"], {"a": 1}, 3, {}):
            with pytest.raises(FormatError, match="none of the files that can be imported"):
                import_file(save(content))

    def test_not_json(self, save):
        with pytest.raises(FormatError, match="is not valid JSON"):
            import_file(save("{"))

    def test_a_kind_that_does_not_fit(self, save):
        with pytest.raises(FormatError, match="does not look like rag-cache"):
            import_file(save(CASES), kind="rag-cache")
        with pytest.raises(OptionError, match="there is no kind 'rag-cash'"):
            import_file(save(CASES), kind="rag-cash")
        assert import_file(save(CASES), kind="doctor-test-cases").queries

    def test_unresolved_is_keep_or_drop(self, save):
        with pytest.raises(OptionError, match="neither keep nor drop"):
            import_file(save(CASES), unresolved="guess")

    def test_the_first_kind_that_fits_is_taken(self, save):
        assert kind_of(content_of(save(CASES))) == "doctor-test-cases"
        assert len(KINDS) == 19


WHOLE_FILES = [
    CASES,
    {"success": True, "variants": [VARIANT], "groundTruthIds": ["p1"], "evaluation": {"parallel": {"mrr": 1}}},
    {"testCase": {"id": "c"}, "variants": [VARIANT], "measurements": {"precisionAt3": {"parallel": 1}, "groundTruth": ["p1"]}},
    {"baseline": "b", "results": [{"id": "c", "groundTruthIds": ["p"], "evaluation": {"mrr": 1}}], "summary": {"x": 1}},
    {"summary": {"averageMRR": {"v": 1}}, "results": [{"testCaseId": "c", "groundTruth": {"ids": ["p"], "names": ["A"]}}]},
    {"trainIds": ["a"], "holdoutIds": ["b"]},
    {"byId": {"c": {"top12_names": ["A"], "verification": {"per_doctor": [{"practitioner_name": "A"}]}, "metrics": {}}}},
    {"machine learning": {"e1": 3}},
    {"e1": ["t"]},
    [{"episode_id": "e", "_distance": 0.5}],
    {"metadata": {"query": "x"}, "results": [{"episode_id": "e", "relevance": 50}]},
    [{"text": "a", "expected_hpo_ids": ["HP:0001250"]}],
    [{"doc_id": "d", "full_text": "t", "annotations": [{"hpo_id": "HP:0001250", "assertion_status": "affirmed"}]}],
    {"model": "m", "mrr_dense": 0.5, "confidence_intervals": {"mrr_dense": {"ci_lower": 0.1}}},
    {"methods": ["m"], "metrics": {"m": {"AP": 0.5}}},
    TestRagBenchmark.CACHE,
]  # fmt: skip
ODD = [None, 7, -1.5, True, "text", "", [], [1], {}, {"a": None}, [{"a": 1}]]


def with_odd_values(content):
    """Yield the content with each of its values in turn replaced by something odd."""
    places = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in list(places):
        for odd in (*ODD, *with_odd_values(value)):
            changed = dict(content) if isinstance(content, dict) else list(content)
            changed[key] = odd
            yield changed


@pytest.mark.parametrize("content", WHOLE_FILES, ids=kind_of)
def test_whatever_a_file_holds_it_is_imported_or_refused_with_words(content, save):
    for odd in with_odd_values(content):
        with contextlib.suppress(RankscopeError):  # any other error fails the test
            found = import_file(save(odd))
            assert found.qrels_rows is not None
            assert all(run.rows is not None for run in found.runs)
        with contextlib.suppress(RankscopeError):
            assert len(import_files([save(odd), save(CASES, "other.json")]).sources) == 2
