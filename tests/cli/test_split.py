"""`rankscope split`."""

import json

import pytest


@pytest.fixture(autouse=True)
def mini(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mini"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "A sudden event."}\n')
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "q{i}", "text": "x", "level": "{"easy" if i < 4 else "hard"}"}}\n' for i in range(8)))  # fmt: skip
    (folder / "qrels.txt").write_text("q0 0 d1 1\n")
    return folder


def test_make_show_and_reveal(rankscope, tmp_path):
    made = rankscope("split", "mini", "--train", "0.25", "--by", "level", "--seed", "3", "-o", "split.json")
    assert made.code == 0
    assert made.out.splitlines() == [
        "split.json: 2 train, 6 held out by level, seed 3",
        "  easy  1 + 3",
        "  hard  1 + 3",
        'next: name it in the project file, in [collections.mini]: split = "split.json"',
    ]
    content = json.loads((tmp_path / "split.json").read_text())
    assert (content["seed"], content["by"], len(content["train"])) == (3, ["level"], 2)
    shown = rankscope("split", "split.json")
    assert shown.out.splitlines() == made.out.splitlines()[:3]
    assert not any(query in made.out + shown.out for query in content["holdout"])
    revealed = rankscope("split", "split.json", "--reveal")
    assert revealed.out.split() == content["holdout"]
    assert "revealed for the first time; recorded in split.json.reveals.jsonl" in revealed.err
    assert "for the 2. time" in rankscope("split", "split.json", "--reveal").err
    log = (tmp_path / "split.json.reveals.jsonl").read_text().splitlines()
    assert [json.loads(line)["command"] for line in log] == ["rankscope split split.json --reveal"] * 2
    assert rankscope("split", "split.json").out.count("revealed 20") == 2


def test_a_collection_of_the_project(rankscope, tmp_path):
    (tmp_path / "rankscope.toml").write_text('[collections.small]\npath = "mini"\n')
    done = rankscope("split", "small", "-o", "s.json")
    assert done.out.splitlines()[0] == "s.json: 4 train, 4 held out, seed 0"


def test_groups_stay_together(rankscope, tmp_path):
    rows = [{"_id": f"q{i}", "text": "x", "level": "easy", "session": session} for i, session in enumerate("aaabbbbcc")]
    (tmp_path / "mini/queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = rankscope("split", "mini", "--group", "session", "-o", "s.json")
    assert made.code == 0
    # 9 queries in sessions of 3, 4 and 2: 4.5 is between 4 and 5, which is 3 + 2
    assert made.out.splitlines()[:2] == [
        "s.json: 5 train, 4 held out, seed 0",
        "  groups by session: 2 + 1; train is 0.5556 of the queries, 0.5 was requested",
    ]
    assert json.loads((tmp_path / "s.json").read_text())["holdout"] == ["q3", "q4", "q5", "q6"]
    assert rankscope("split", "s.json").out.splitlines() == made.out.splitlines()[:2]


def test_the_project_says_which_queries_belong_together(rankscope, tmp_path):
    (tmp_path / "rankscope.toml").write_text('[collections.small]\npath = "mini"\ngroup = "level"\n')
    done = rankscope("split", "small", "--train", "0.3", "-o", "s.json")
    assert done.out.splitlines()[1] == "  groups by level: 1 + 1; train is 0.5 of the queries, 0.3 was requested"
    wrong = rankscope("split", "small", "--group", "levle", "-o", "t.json")
    assert wrong.code == 2
    assert "no attribute 'levle'; they have level" in wrong.err
    assert "did you mean level" in wrong.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mini"], "mini is not a split"),
        (["mini", "--by", "levl", "-o", "s.json"], "the queries have no attribute 'levl'"),
        (["mini", "--train", "1.5", "-o", "s.json"], "train = 1.5 is not between 0 and 1"),
        (["mini", "--reveal", "-o", "s.json"], "--reveal is for a split that is there already"),
        (["nowhere", "-o", "s.json"], "nowhere does not exist"),
        (["mini/corpus.jsonl"], "is not"),
    ],
)
def test_what_is_refused(rankscope, arguments, message, tmp_path):
    done = rankscope("split", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "s.json").exists()


def test_a_split_is_not_drawn_again_by_chance(rankscope):
    assert rankscope("split", "mini", "-o", "s.json").code == 0
    assert "s.json is there already" in rankscope("split", "mini", "-o", "s.json").err
    assert rankscope("split", "mini", "--seed", "1", "--force", "-o", "s.json").code == 0
