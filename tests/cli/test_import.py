"""`rankscope import`."""

import json

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
