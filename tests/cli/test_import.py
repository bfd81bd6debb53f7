"""`rankscope import`."""

import json
import shlex
from pathlib import Path

import pytest

CASES = [
    {"text": "Krampfanfälle", "expected_hpo_ids": ["HP:0001250"], "difficulty": "easy"},
    {"text": "Mikrozephalie", "expected_hpo_ids": ["HP:0000252"]},
]


@pytest.fixture
def save(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(content, name="cases.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), "utf-8")
        return name

    return write


def test_says_what_it_found_and_writes_it(rankscope, save, tmp_path):
    done = rankscope("import", save(CASES, "german/tiny.json"), "-o", "hpo")
    assert done.code == 0
    assert done.out == (
        "hpo-test-cases: test cases of HPO retrieval\n"
        "  queries    2 (2 with judgments)\n"
        "  judgments  2\n"
        "  note       language de, after its folder german\n"
        "written to hpo: qrels.txt, queries.jsonl, summary.json\n"
    )
    assert (tmp_path / "hpo/qrels.txt").read_text() == "0 0 HP:0001250 1\n1 0 HP:0000252 1\n"
    assert json.loads((tmp_path / "hpo/queries.jsonl").read_text("utf-8").splitlines()[0])["difficulty"] == "easy"


def test_without_a_folder_nothing_is_written(rankscope, save, tmp_path):
    assert rankscope("import", save(CASES)).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cases.json"]


def test_the_next_step_works(rankscope, save):
    variants = [{"name": "parallel", "top3Results": [{"id": "x"}, {"id": "a"}]}]
    done = rankscope("import", save({"success": True, "variants": variants, "groundTruthIds": ["a"]}), "-o", "out")
    command = done.out.splitlines()[-1].removeprefix("next: rankscope ")
    scored = rankscope(*command.split(), "--profile", "ranking_algo", "--format", "csv")
    assert scored.code == 0
    assert ",0.5," in scored.out.splitlines()[1]


def doctor_export(case, flagged, chosen):
    """Two variants; one flag and one choice in each."""

    def variant(name, docs):
        return {
            "name": name,
            "top3Results": [
                {
                    "practitionerId": doc,
                    "practitionerName": f"Dr {doc}",
                    "bm25Score": 3 - place,
                    "relevanceFlagged": {"flagged": True, "reason": "too far"} if doc == flagged else None,
                    "bookingProxy": doc == chosen,
                }
                for place, doc in enumerate(docs)
            ],
        }

    variants = [variant("parallel", ["a", "b", "c"]), variant("algorithmic", ["c", "b", "a"])]
    precision = {"parallel": 0.5, "algorithmic": 0.25}
    measured = {"precisionAt3": precision, "groundTruth": [chosen]}
    return {"testCase": {"id": case, "userQuery": f"text {case}"}, "variants": variants, "measurements": measured}


def test_many_files_at_once_and_every_next_step_works(rankscope, save, tmp_path):
    save(doctor_export("c1", "c", "a"), "one.json")
    save(doctor_export("c2", "c", "b"), "two.json")
    done = rankscope("import", "one.json", "two.json", "-o", "doctors")
    lines = done.out.splitlines()
    assert lines[0] == "doctor-export: 2 files as one collection"
    assert "  runs       2 (parallel, algorithmic)" in lines
    assert '  flags      4 (parallel 2, algorithmic 2; most often c (4); "too far" 4)' in lines
    assert "  choices    4 (parallel 2, algorithmic 2; most often a (2), b (2))" in lines
    assert "  scores     4 (of single queries, as the file states them)" in lines
    steps = [line.removeprefix("next: rankscope ") for line in lines if line.startswith("next: ")]
    assert len(steps) == 3
    for step in steps:
        assert rankscope(*shlex.split(step)).code == 0
    chosen = rankscope(*shlex.split(steps[1]), "--format", "csv").out.splitlines()
    assert chosen[1].split(",")[:2] == ["parallel", "0.75"], "ranks 1 and 2"
    assert chosen[2].split(",")[0] == "algorithmic"
    assert float(chosen[2].split(",")[1]) == pytest.approx((1 / 3 + 1 / 2) / 2)
    compared = rankscope("compare", "--scores", "doctors/scores.jsonl", "--format", "json")
    assert compared.code == 0
    assert json.loads(compared.out)["primary"] == "precisionAt3"


PEOPLE = [{"id": "p1", "name": "Ann"}, {"id": "p2", "name": "Ben"}]
DOCTOR_CASES = {
    "testCases": [
        {"id": "c1", "userQuery": "svt", "groundTruth": ["Ann"]},
        {"id": "c2", "userQuery": "knee", "groundTruth": ["Ben"]},
    ]
}
EPISODES = [{"episode_id": "e1"}, {"episode_id": "e1"}, {"episode_id": "e2"}]


@pytest.mark.parametrize(
    ("files", "options", "n_steps"),
    [
        (["cases.json", "a.csv"], ["--query", "svt"], 1),
        (["cases.json", "a.csv"], ["--query", "c1"], 1),
        (["cases.json", "a.csv"], ["--practitioners", "people.json"], 0),
        (["cases.json", "a.csv", "two.json"], [], 3),
        (["cases.json", "said.json"], [], 1),
        (["cases.json"], ["--practitioners", "people.json"], 1),
        (["judged.json", "list.json"], ["--query", "law"], 1),
        (["judged.json", "list.json"], [], 0),
        (["odd.json"], [], 1),
        (["untold.json"], ["--practitioners", "people.json"], 0),
    ],
)
def test_what_is_said_to_come_next_works(rankscope, save, files, options, n_steps):
    save(DOCTOR_CASES)
    save(PEOPLE, "people.json")
    save(doctor_export("c2", "c", "b"), "two.json")
    save({"userQuery": "SVT", "variants": [{"name": "one", "top10Results": [{"id": "p1"}]}]}, "said.json")
    result = {"testCaseId": "c1", "variants": [{"name": "v", "top3Results": [{"id": "p1"}]}]}
    truth = {"names": ["Ann"], "ids": ["p1"]}
    odd = [{**result, "groundTruth": truth, "evaluation": {"v": {"mrr": None, "ndcg": "high"}}}]
    save({"summary": {}, "results": odd}, "odd.json")
    save({"testCases": [{"id": "c1", "groundTruth": ["Ann"]}]}, "untold.json")
    save({"law": {"e1": 2}}, "judged.json")
    save(EPISODES, "list.json")
    Path("a.csv").write_text("Variant,Rank,Practitioner ID,Practitioner Name\none,1,p1,Ann\n")
    if "two.json" in files:
        save({"testCases": DOCTOR_CASES["testCases"][:1]})
    done = rankscope("import", *files, *options, "-o", "my folder")
    assert done.code == 0
    steps = [line.removeprefix("next: rankscope ") for line in done.out.splitlines() if line.startswith("next: ")]
    assert len(steps) == n_steps
    assert ("no run answers a query that has judgments" in done.out) == (n_steps == 0 and "untold.json" not in files)
    for step in steps:
        assert rankscope(*shlex.split(step)).code == 0, step


def test_kept_judgments_can_be_looked_at_again(rankscope, save):
    rankscope("import", save(doctor_export("c1", "c", "a"), "one.json"), "-o", "doctors")
    done = rankscope("import", "doctors/judgments.jsonl")
    assert done.out.splitlines()[0] == "judgments: single judgments"
    assert '  flags      2 (parallel 1, algorithmic 1; most often c (2); "too far" 2)' in done.out


def test_the_query_of_a_csv(rankscope, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("Variant,Rank,Practitioner ID,Practitioner Name\nparallel,1,p1,Ann\n")
    assert rankscope("import", "x.csv", "--query", "I need SVT ablation", "-o", "svt").code == 0
    row = json.loads((tmp_path / "svt/queries.jsonl").read_text())
    assert row == {"id": "i-need-svt-ablation", "text": "I need SVT ablation"}


def test_test_cases_with_practitioners_are_a_whole_collection(rankscope, save):
    save([{"id": "p1", "name": "Dr A", "specialty": "Cardiology"}], "people.json")
    turns = [{"role": "user", "content": "my heart races"}]
    cases = {"testCases": [{"id": "c", "userQuery": "svt", "groundTruth": ["A"], "conversation": turns}]}
    done = rankscope("import", save(cases), "--practitioners", "people.json", "-o", "doctors")
    assert done.out.splitlines()[-1] == "next: rankscope init --collection doctors"
    assert rankscope("init", "--collection", "doctors").code == 0
    shown = rankscope("collection", "show", "doctors")
    assert shown.code == 0
    assert "problems   none" in shown.out


def test_a_folder_that_is_there(rankscope, save, tmp_path):
    rankscope("import", save(CASES), "-o", "hpo")
    done = rankscope("import", save(CASES, "more.json"), "-o", "hpo")
    assert done.code == 2
    assert "hpo is there already, and nothing is added to it" in done.err
    assert "all files at once" in done.err


def test_check_of_several_files(rankscope, save):
    wrong = save([{"text": "a", "expected_hpo_ids": ["HP:1"]}], "wrong.json")
    done = rankscope("import", "--check", save(CASES), wrong)
    assert done.code == 1
    assert "cases.json: a valid test-case file" in done.out
    assert "wrong.json: 1 problem" in done.out


def test_json(rankscope, save):
    done = rankscope("import", save(CASES), "--format", "json")
    assert json.loads(done.out)["queries"] == 2


def test_options(rankscope, save):
    save([{"id": "p1", "name": "Dr A"}], "people.json")
    cases = save({"testCases": [{"id": "c", "groundTruth": ["A", "B"]}]})
    done = rankscope("import", cases, "--practitioners", "people.json", "--unresolved", "drop")
    assert "nobody is called 'B'; it is left out, as in the original" in done.out
    results = save([{"episode_id": "e"}], "results.json")
    assert "note" not in rankscope("import", results, "--query", "deep learning").out
    assert rankscope("import", results, "--kind", "podcast-topics").code == 2


def test_check(rankscope, save):
    done = rankscope("import", "--check", save(CASES))
    assert (done.code, done.out) == (0, "cases.json: a valid test-case file\n")
    wrong = save([{"text": "a", "expected_hpo_ids": ["HP:1"]}, {}], "wrong.json")
    done = rankscope("import", "--check", wrong)
    assert done.code == 1
    assert done.out == (
        'wrong.json: test_cases[0].expected_hpo_ids[0]: "HP:1" is not an HPO id: HP: and seven digits\n'
        "wrong.json: test_cases[1]: it has no text\n"
        "wrong.json: test_cases[1]: it has no expected_hpo_ids\n"
        "wrong.json: 3 problems\n"
    )
    assert len(json.loads(rankscope("import", "--check", wrong, "--format", "json").out)) == 3
    assert rankscope("import", "--check", wrong, "-o", "x").code == 2


def test_check_of_the_doctor_search_s_cases(rankscope, save):
    done = rankscope("import", "--check", save(DOCTOR_CASES))
    assert (done.code, done.out) == (0, "cases.json: a valid test-case file\n")
    turns = [{"role": "user", "content": "hello"}, "hello"]
    cases = [
        {"id": "c1", "userQuery": "svt", "groundTruth": ["Ann", 7], "conversation": turns},
        {"id": "c1", "userQuery": " ", "groundTruth": "Ann"},
        {"userQuery": "knee", "groundTruth": [], "conversation": "hello"},
        "c4",
    ]
    done = rankscope("import", "--check", save({"testCases": cases}, "wrong.json"))
    assert done.code == 1
    assert done.out.splitlines() == [
        "wrong.json: testCases[0].groundTruth[1]: 7 is not a name",
        'wrong.json: testCases[0].conversation[1]: "hello" has not a role and a content',
        'wrong.json: testCases[1].id: "c1" is also that of testCases[0]',
        "wrong.json: testCases[1]: it has no userQuery",
        'wrong.json: testCases[1].groundTruth: "Ann" is not a list',
        "wrong.json: testCases[2]: it has no id",
        "wrong.json: testCases[2].groundTruth: it names nobody, so that the case cannot be scored",
        'wrong.json: testCases[2].conversation: "hello" is not a list',
        'wrong.json: testCases[3]: "c4" is not an object',
        "wrong.json: 9 problems",
    ]
    assert rankscope("import", "--check", save({"testCases": []}, "none.json")).code == 1
    done = rankscope("import", "--check", save(doctor_export("c1", "c", "a"), "page.json"))
    assert done.code == 2
    assert "page.json holds no test cases: it looks like doctor-export" in done.err


def test_errors(rankscope, save):
    done = rankscope("import", "nothing.json")
    assert done.code == 2
    assert "does not exist" in done.err
    done = rankscope("import", save({"a": 1}))
    assert "none of the files that can be imported" in done.err


def test_help_lists_the_kinds(start):
    done = start("import", "--help")
    assert done.code == 0
    for kind in ("doctor-test-cases", "podcast-judgments", "hpo-run", "rag-cache"):
        assert kind in done.out
