"""Importing many files into one collection: what they say of the same things, and where they differ."""

import json

import pytest

import rankscope as rs
from rankscope.data.judgments import read_judgments
from rankscope.errors import FormatError, InputError
from rankscope.predecessors.importers import import_file, import_files, write_collection


@pytest.fixture
def save(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path

    return write


def export(query, *episodes, date=None):
    rows = [{"episode_id": episode, "episode_title": f"title of {episode}"} for episode in episodes]
    return {"metadata": {"query": query, **({"export_date": date} if date else {})}, "results": rows}


def listed(found):
    lists = {}
    for run in found.runs:
        for result in run.results:
            lists.setdefault(run.name, {}).setdefault(result.query, []).append(result.doc)
    return lists


class TestPodcasts:
    def test_judgments_topics_and_exports_become_one_collection(self, save, tmp_path):
        files = [
            save("judgments.json", {"deep learning": {"e1": 3, "e2": 0}, "ethics": {"e3": 2}}),
            save("topics.json", {"e1": ["ML"], "e9": ["law"]}),
            save("first.json", export("deep learning", "e2", "e1")),
            save("second.json", export("ethics", "e3")),
        ]
        found = import_files(files)
        assert listed(found) == {"podcast-search": {"deep-learning": ["e2", "e1"], "ethics": ["e3"]}}
        assert {doc.id: doc.fields for doc in found.docs} == {
            "e1": {"topics": ["ML"], "episode_title": "title of e1"},
            "e9": {"topics": ["law"]},
            "e2": {"episode_title": "title of e2"},
            "e3": {"episode_title": "title of e3"},
        }
        written = write_collection(found, tmp_path / "out")
        assert list(written) == ["qrels.txt", "runs/podcast-search.run", "queries.jsonl", "docs.jsonl"]
        scores = rs.evaluate(
            tmp_path / "out/qrels.txt", tmp_path / "out/runs/podcast-search.run", "RR", profile="parakeet"
        )
        assert scores.mean()["podcast-search"]["RR"].value == (1 / 2 + 1) / 2

    def test_two_weeks_are_two_runs_named_by_their_days(self, save):
        files = [
            save("a.json", export("deep learning", "e1", "e2", date="2025-01-08T09:00:00")),
            save("b.json", export("ethics", "e3", date="2025-01-08T09:05:00")),
            save("c.json", export("deep learning", "e2", "e1", date="2025-01-15T09:00:00")),
        ]
        found = import_files(files)
        assert listed(found) == {
            "podcast-search_2025-01-08": {"deep-learning": ["e1", "e2"], "ethics": ["e3"]},
            "podcast-search_2025-01-15": {"deep-learning": ["e2", "e1"]},
        }
        (note,) = found.notes
        assert note.endswith("e.g. for query deep-learning: its runs are named apart, by the days that the files say")

    def test_a_week_of_two_days_is_one_run(self, save):
        files = [
            save("a.json", export("deep learning", "e1", date="2025-01-08")),
            save("b.json", export("ethics", "e3", date="2025-01-08")),
            save("c.json", export("deep learning", "e1", date="2025-01-15")),
            save("d.json", export("ethics", "e4", date="2025-01-16")),
        ]
        assert listed(import_files(files)) == {
            "podcast-search_2025-01-08": {"deep-learning": ["e1"], "ethics": ["e3"]},
            "podcast-search_2025-01-15": {"deep-learning": ["e1"], "ethics": ["e4"]},
        }

    @pytest.mark.parametrize(
        ("names", "marks", "how"),
        [
            (["w1/dl", "w1/law", "w2/dl", "w2/law"], ["w1", "w2"], "by their folders"),
            (["w1-dl", "w1-law", "w2-dl", "w2-law"], ["w1", "w2"], "by what the names of files begin with"),
            (["dl-w1", "law-w1", "dl-w2", "law-w2"], ["w1", "w2"], "by what the names of files end with"),
            (["a", "b", "c", "d"], ["a", "c"], "by the first file of each"),
        ],
    )
    def test_files_that_do_not_differ_stay_one_run(self, save, names, marks, how):
        lists = [("dl", "e1"), ("law", "e3"), ("dl", "e2"), ("law", "e3")]
        files = [save(f"{name}.json", export(*listed)) for name, listed in zip(names, lists, strict=True)]
        found = import_files(files)
        first, second = (f"podcast-search_{mark}" for mark in marks)
        assert listed(found) == {first: {"dl": ["e1"], "law": ["e3"]}, second: {"dl": ["e2"], "law": ["e3"]}}
        assert found.notes[-1].endswith(f"its runs are named apart, {how}")

    def test_without_days_they_are_named_by_their_files(self, save):
        files = [save("old/x.json", export("ethics", "e1")), save("new/x.json", export("ethics", "e2"))]
        assert list(listed(import_files(files))) == ["podcast-search_old/x", "podcast-search_new/x"]
        files = [save("a.json", export("ethics", "e1")), save("b.json", export("ethics", "e2"))]
        assert list(listed(import_files(files))) == ["podcast-search_a", "podcast-search_b"]
        files = [save("a.json", export("ethics", "e1")), save("a.json.bak", export("ethics", "e2"))]
        assert list(listed(import_files(files))) == ["podcast-search_a.json", "podcast-search_a.json.bak"]

    def test_runs_of_two_systems_are_never_one(self, save):
        def response(system, doc):
            return {"success": True, "testCase": {"id": "c"}, "variants": [variant(system, (doc, "X"))]}

        files = [
            save(f"{name}.json", response(system, doc))
            for name, system, doc in (("b_c", "a", "1"), ("x", "a", "2"), ("c", "a_b", "3"), ("y", "a_b", "4"))
        ]
        with pytest.raises(FormatError, match="runs of a and of a_b would both be called a_b_c"):
            import_files(files)

    def test_the_same_list_twice_is_one(self, save):
        files = [save("a.json", export("ethics", "e1", "e2")), save("b.json", export("ethics", "e1", "e2"))]
        assert listed(import_files(files)) == {"podcast-search": {"ethics": ["e1", "e2"]}}

    def test_fields_and_grades_that_differ_are_said_with_both_values(self, save):
        other = {"metadata": {"query": "ethics"}, "results": [{"episode_id": "e1", "episode_title": "Another"}]}
        files = [
            save("a.json", export("ethics", "e1")),
            save("b.json", other),
            save("j1.json", {"ethics": {"e1": 3}}),
            save("j2.json", {"ethics": {"e1": 1}}),
        ]
        found = import_files(files)
        assert found.docs[0].fields == {"episode_title": "title of e1"}
        assert [judgment.grade for judgment in found.judgments] == [3.0]
        assert [note for note in found.notes if "kept" in note] == [
            'episode_title of doc e1 is "title of e1" in a.json and "Another" in b.json; the first is kept',
            "the grade of doc e1 for query ethics is 3.0 in j1.json and 1.0 in j2.json; the first is kept",
        ]

    def test_many_conflicts_are_counted(self, save):
        ids = [f"e{i}" for i in range(14)]
        rows = [{"episode_id": doc, "episode_title": "other"} for doc in ids]
        files = [
            save("a.json", export("ethics", *ids)),
            save("b.json", {"metadata": {"query": "law"}, "results": rows}),
        ]
        notes = import_files(files).notes
        assert len(notes) == 11
        assert notes[-1] == "4 more fields of docs differ; the first value is kept"

    def test_two_queries_under_one_id_are_refused(self, save):
        files = [save("a.json", export("C++", "e1")), save("b.json", export("C", "e2"))]
        with pytest.raises(FormatError, match=r'query c is "C\+\+" in a.json, but "C" in b.json'):
            import_files(files)

    def test_case_makes_no_other_query(self, save):
        files = [save("a.json", export("Ethics", "e1")), save("b.json", export("ethics", "e1"))]
        assert [query.text for query in import_files(files).queries] == ["Ethics"]

    def test_a_file_is_given_once(self, save):
        path = save("a.json", export("ethics", "e1"))
        with pytest.raises(FormatError, match="is given twice"):
            import_files([path, path])


CASES = {
    "testCases": [
        {
            "id": "c1",
            "userQuery": "svt",
            "groundTruth": ["Dr Ann Arbor", "Ben Bolt", "Cy Coe"],
            "expectedSpecialty": "C",
        },
        {"id": "c2", "userQuery": "knee", "groundTruth": ["Dee Doe"]},
    ]
}


def variant(name, *people, **more):
    results = [{"document": {"practitioner_id": doc, "name": person}, "score": 1.0} for doc, person in people]
    return {"name": name, "top10Results": results, **more}


CSV = "Variant,Rank,Practitioner ID,Practitioner Name"
ANN, BEN, XI = ("p1", "Dr Ann Arbor"), ("p2", "Prof Ben Bolt"), ("p3", "Xi")


class TestDoctors:
    def test_names_are_those_that_other_files_show(self, save):
        response = {
            "success": True,
            "testCase": {"id": "c1", "userQuery": "svt"},
            "variants": [variant("parallel", XI, ANN), variant("algorithmic", BEN)],
            "groundTruthIds": ["p1", "p2"],
        }
        found = import_files([save("cases.json", CASES), save("response.json", response)])
        assert [(row.query, row.doc) for row in found.judgments] == [
            ("c1", "p1"), ("c1", "p2"), ("c1", "name:cy-coe"), ("c2", "name:dee-doe"),
        ]  # fmt: skip
        assert listed(found) == {"parallel": {"c1": ["p3", "p1"]}, "algorithmic": {"c1": ["p2"]}}
        assert found.queries[0].attributes == {"expectedSpecialty": "C"}
        assert {doc.id: doc.fields["title"] for doc in found.docs} == dict([XI, ANN, BEN])
        assert "query c1 has other judged docs in each file (3 in cases.json, 2 in response.json); all 3 are kept" in (
            found.notes
        )

    def test_names_left_open_by_one_file_are_not_counted_again(self, save):
        truth = {"names": ["Dr Ann Arbor", "Ben Bolt", "Cy Coe"], "ids": ["p1", "p2"]}
        batch = {"summary": {}, "results": [{"testCaseId": "c1", "groundTruth": truth, "variants": [variant("v", XI)]}]}
        alone = import_file(save("batch.json", batch))
        assert [row.doc for row in alone.judgments] == ["p1", "p2", "name:unresolved-1"]
        people = save("people.json", [{"id": doc, "name": name} for doc, name in (ANN, BEN, XI)])
        both = import_files([save("cases.json", CASES), save("batch.json", batch)], practitioners=people)
        assert [row.doc for row in both.judgments if row.query == "c1"] == ["p1", "p2", "name:cy-coe"]
        assert not [note for note in both.notes if "other judged docs" in note]

    def test_exports_without_an_id_stay_apart(self, save):
        header = "Variant,Rank,Practitioner ID,Practitioner Name,Relevance Flagged,Flag Reason,Booking Proxy\n"
        files = [
            save("monday.csv", f"{header}parallel,1,p1,Ann,No,,Yes\n"),
            save("friday.csv", f"{header}parallel,1,p2,Ben,Yes,too far,No\n"),
        ]
        found = import_files(files)
        assert listed(found) == {"parallel": {"query-monday": ["p1"], "query-friday": ["p2"]}}
        assert {(row.query, row.doc) for row in found.opinions} == {("query-monday", "p1"), ("query-friday", "p2")}
        same = save("sunday.csv", f"{header}parallel,1,p2,Ben,Yes,too far,No\n")
        assert len(import_files([*files, same]).flags) == 2

    def test_a_query_that_is_given_is_that_of_all_exports_that_do_not_say(self, save):
        header = "Variant,Rank,Practitioner ID,Practitioner Name\n"
        files = [save("a.csv", f"{header}one,1,p1,Ann\n"), save("b.csv", f"{header}two,1,p2,Ben\n")]
        found = import_files([*files, save("cases.json", CASES)], query="svt")
        assert listed(found) == {"one": {"c1": ["p1"]}, "two": {"c1": ["p2"]}}, "svt is the text of case c1"
        assert [query.id for query in found.queries] == ["c1", "c2"]
        found = import_files(files, query="svt")
        assert listed(found) == {"one": {"svt": ["p1"]}, "two": {"svt": ["p2"]}}

    def test_the_id_of_a_case_is_taken_as_that_case(self, save):
        flagged = f"{CSV},Relevance Flagged,Flag Reason\none,1,p1,Ann,Yes,too far\n"
        found = import_files([save("a.csv", flagged), save("cases.json", CASES)], query="c2")
        assert listed(found) == {"one": {"c2": ["p1"]}}
        assert {query.id: query.text for query in found.queries} == {"c1": "svt", "c2": "knee"}
        assert [flag.query for flag in found.flags] == ["c2"]

    def test_a_response_that_says_only_the_text_is_of_the_case_with_that_text(self, save):
        response = {"userQuery": " SVT ", "variants": [variant("parallel", ANN)]}
        for files in (["cases.json", "response.json"], ["response.json", "cases.json"]):
            save("cases.json", CASES)
            folder = save("response.json", response).parent
            found = import_files([folder / name for name in files])
            assert listed(found) == {"parallel": {"c1": ["p1"]}}
            assert len(found.queries) == 2

    def test_a_text_of_two_cases_is_refused(self, save):
        twice = {"testCases": [{"id": name, "userQuery": "svt", "groundTruth": ["Ann"]} for name in ("c1", "c9")]}
        files = [save("a.csv", f"{CSV}\none,1,p1,Ann\n"), save("cases.json", twice)]
        with pytest.raises(FormatError, match=r'a.csv is about "svt", which may be any of the queries c1, c9') as error:
            import_files(files, query="svt")
        assert "--query ID" in error.value.hint
        assert listed(import_files(files, query="c9")) == {"one": {"c9": ["p1"]}}

    def test_a_case_called_as_another_is_asked_is_refused(self, save):
        odd = {"testCases": [{"id": "knee", "userQuery": "hip"}, {"id": "c2", "userQuery": "knee"}]}
        files = [save("a.csv", f"{CSV}\none,1,p1,Ann\n"), save("cases.json", odd)]
        with pytest.raises(FormatError, match="which may be any of the queries c2, knee"):
            import_files(files, query="knee")

    def test_all_fields_of_a_case_are_attributes_of_its_query(self, save):
        case = {"id": "c", "userQuery": "svt", "groundTruth": ["Ann"], "clarity": "high", "intent": "procedure"}
        more = {"isUrgent": False, "age": 0, "notes": None, "text": "other"}
        found = import_file(save("cases.json", {"testCases": [{**case, **more}]}))
        assert found.queries[0].attributes == {"clarity": "high", "intent": "procedure", "isUrgent": False, "age": 0}
        assert "c: its field text is left out: what is asked is in userQuery" in found.notes

    def test_a_model_s_grades_are_kept_apart_from_people_s(self, save, tmp_path):
        verdict = {"practitioner_name": "Ann Arbor", "fit_category": "good", "brief_reason": "near"}
        judged = {"summary": {"model": "m"}, "byId": {"c1": {"verification": {"per_doctor": [verdict]}}}}
        response = {"success": True, "testCase": {"id": "c1"}, "variants": [variant("parallel", ANN)]}
        found = import_files([save("cases.json", CASES), save("judged.json", judged), save("response.json", response)])
        written = write_collection(found, tmp_path / "out")
        assert (tmp_path / "out/qrels-judge.txt").read_text() == "c1 0 p1 1\n"
        assert written["qrels.txt"] == 4
        (kept,) = read_judgments(tmp_path / "out/judgments.jsonl")
        assert (kept.source.kind, kept.source.model, kept.grade, kept.doc, kept.note) == (
            "judge",
            "m",
            1.0,
            "p1",
            "near",
        )

    def test_flags_of_several_exports_are_summed_up(self, save, tmp_path):
        def flagged(case, name, doc, reason):
            result = {"practitionerId": doc, "relevanceFlagged": {"flagged": True, "reason": reason}}
            chosen = {"practitionerId": "p9", "bookingProxy": True}
            return {
                "testCase": {"id": case, "userQuery": case},
                "variants": [{"name": name, "top3Results": [result, chosen]}],
                "measurements": {},
            }

        files = [
            save("a.json", flagged("c1", "parallel", "p1", "too far")),
            save("b.json", flagged("c2", "parallel", "p1", "too far")),
            save("c.json", flagged("c3", "algorithmic", "p2", "retired")),
        ]
        found = import_files(files)
        summary = found.summary({})
        assert summary["sources"] == dict.fromkeys(("a.json", "b.json", "c.json"), "doctor-export")
        assert summary["flags"] == {
            "n": 3,
            "by_system": {"parallel": 2, "algorithmic": 1},
            "by_doc": {"p1": 2, "p2": 1},
            "notes": {"too far": 2, "retired": 1},
        }
        assert summary["choices"]["by_system"] == {"parallel": 2, "algorithmic": 1}
        write_collection(found, tmp_path / "out")
        assert import_file(tmp_path / "out/judgments.jsonl").summary({})["flags"] == summary["flags"]
        again = import_files([*files, tmp_path / "out/judgments.jsonl"])
        assert again.summary({})["flags"] == summary["flags"], "what is imported twice counts once"
        run = rs.Run(tmp_path / "out/runs/parallel.run")
        choices = rs.evaluate(rs.load_qrels(tmp_path / "out/choices.txt").select(["c1", "c2"]), run, "RR")
        assert choices.mean()["parallel"]["RR"].value == 0.5, "the doctor that would be booked is at rank 2"

    def test_a_batch_and_pages_are_two_runs_and_flags_are_counted_by_variant(self, save):
        def page(case):
            flagged = {"practitionerId": "p1", "relevanceFlagged": {"flagged": True, "reason": "too far"}}
            variants = [{"name": "parallel", "top3Results": [flagged]}]
            return {"testCase": {"id": case}, "variants": variants, "measurements": {}}

        results = [{"testCaseId": case, "variants": [variant("parallel", XI)]} for case in ("c1", "c2", "c3")]
        files = [save("batch.json", {"summary": {}, "results": results})]
        files += [save(f"{name}.json", page(case)) for name, case in (("x", "c1"), ("y", "c2"), ("z", "c3"))]
        found = import_files(files)
        assert listed(found) == {
            "parallel_batch": {"c1": ["p3"], "c2": ["p3"], "c3": ["p3"]},
            "parallel_export": {"c1": ["p1"], "c2": ["p1"], "c3": ["p1"]},
        }
        assert found.summary({})["flags"]["by_system"] == {"parallel": 3}

    def test_a_folder_that_is_there_is_refused_with_what_to_do(self, save, tmp_path):
        found = import_file(save("cases.json", CASES))
        write_collection(found, tmp_path / "out")
        with pytest.raises(InputError, match="is there already, and nothing is added to it") as error:
            write_collection(found, tmp_path / "out")
        assert "all files at once" in error.value.hint

    def test_what_cannot_be_written_leaves_nothing_behind(self, save, tmp_path, monkeypatch):
        found = import_files([save("cases.json", CASES), save("a.csv", f"{CSV}\none,1,p1,Ann\n")], query="svt")

        def full(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("rankscope.predecessors.importers.model.write_jsonl", full)
            with pytest.raises(KeyboardInterrupt):
                write_collection(found, tmp_path / "out")
        assert not list((tmp_path / "out").iterdir())
        assert "runs/one.run" in write_collection(found, tmp_path / "out"), "the same can be done again"

    def test_names_that_files_cannot_have(self, save, tmp_path):
        names = ["a/b", "a b", "a:b", "a-b-2", "x" * 400, "x" * 399]
        response = {"userQuery": "svt", "variants": [variant(name, ANN) for name in names]}
        written = write_collection(import_file(save("response.json", response)), tmp_path / "out")
        runs = ["a-b", "a-b-2", "a-b-3", "a-b-2-2", "x" * 50, "x" * 50 + "-2"]
        assert [name for name in written if name.startswith("runs/")] == [f"runs/{name}.run" for name in runs]

    def test_a_key_that_is_there_twice_is_refused(self, save):
        path = save("judgments.json", '{"ml": {"a": 3, "a": 0}, "law": {"b": 1}}')
        with pytest.raises(FormatError, match=r'judgments.json: "a" is there twice in one object'):
            import_file(path)

    def test_ids_that_are_none_are_refused(self, save):
        response = {"userQuery": "svt", "variants": [variant("v", (["x"], "Ann"))]}
        with pytest.raises(FormatError, match=r'the id \["x"\] of a doctor is neither a text nor a number'):
            import_file(save("response.json", response))


class TestScores:
    def test_what_is_no_number_is_said(self, save, tmp_path):
        stated = '{"precisionAt3": 1e999, "mrr": "high", "ndcg": null}'
        batch = '{"summary": {}, "results": [{"testCaseId": "c", "evaluation": {"v": %s}}]}'
        found = import_file(save("batch.json", batch % stated))
        assert found.notes[:2] == [
            "precisionAt3 of v for query c is Infinity, which is no number",
            'mrr of v for query c is "high", which is no number',
        ]
        write_collection(found, tmp_path / "out")
        rows = [json.loads(line) for line in (tmp_path / "out/scores.jsonl").read_text().splitlines()]
        assert [row["value"] for row in rows] == [None, None, None]

    def summary(self, model, mrr, **more):
        return {"model": model, "mrr_dense": sum(mrr) / len(mrr), "mrr_dense_per_case": mrr, **more}

    def test_scores_of_two_models_can_be_compared(self, save, tmp_path):
        files = [
            save("one.json", self.summary("BioLORD", [1.0, 0.5, 0.25, 1.0])),
            save("two.json", self.summary("medBERT", [0.5, 0.5, 0.2, 0.0])),
        ]
        written = write_collection(import_files(files), tmp_path / "out")
        assert written == {"scores.jsonl": 8, "means.jsonl": 2}
        scores = rs.read_scores(tmp_path / "out/scores.jsonl")
        assert scores.mean()["BioLORD"]["mrr_dense"].value == 0.6875
        leaders = rs.compare_scores(scores).groups[0].leaderboard
        assert {row.system: row.mean for row in leaders} == pytest.approx({"BioLORD": 0.6875, "medBERT": 0.3})
        means = [json.loads(line) for line in (tmp_path / "out/means.jsonl").read_text().splitlines()]
        assert means[1] == {"system": "medBERT", "measure": "mrr_dense", "value": 0.3, "file": "two.json"}

    def test_two_runs_of_one_model_are_named_apart(self, save):
        files = [
            save("one.json", self.summary("BioLORD", [1.0, 0.5], timestamp="2025-01-21T10:00:00")),
            save("two.json", self.summary("BioLORD", [1.0, 0.0], run_id="20250128T100000123456")),
        ]
        assert import_files(files).systems == ("BioLORD_2025-01-21", "BioLORD_2025-01-28")

    def test_positions_are_better_when_lower(self, save, tmp_path):
        def result(case, near, far):
            places = {"near": near, "far": far}
            return {
                "testCaseId": case,
                "evaluation": {name: {"positionMetrics": {"averagePosition": at}} for name, at in places.items()},
            }

        batch = {"summary": {}, "results": [result("c1", 1, 4), result("c2", 2, 5), result("c3", None, 9)]}
        write_collection(import_file(save("batch.json", batch)), tmp_path / "out")
        scores = rs.read_scores(tmp_path / "out/scores.jsonl")
        assert scores["near"].lower_is_better == {"averagePosition"}
        assert scores["near"].undefined[:, 0].tolist() == [False, False, True]

    def test_other_test_files_do_not_mix(self, save):
        case = {"expected_hpo_ids": ["HP:0001250"]}
        files = [
            save("german/tiny.json", [{"text": "Krampfanfall", **case}]),
            save("english/tiny.json", [{"text": "Seizure", **case}]),
        ]
        with pytest.raises(FormatError, match=r'query 0 is "Krampfanfall" in german/tiny.json, but "Seizure"'):
            import_files(files)
