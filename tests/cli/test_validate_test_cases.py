"""`rankscope validate FILE`: a file of test cases against its schema."""

import json

import pytest

from rankscope.cli.main import main


@pytest.fixture
def cases(tmp_path):
    def write(content):
        path = tmp_path / "cases.json"
        path.write_text(json.dumps(content))
        return str(path)

    return write


def test_a_sound_file_is_fine(cases, capsys):
    assert main(["validate", cases([{"text": "seizures", "expected_hpo_ids": ["HP:0001250"]}])]) == 0
    assert "valid test-case file" in capsys.readouterr().out


def test_one_problem_is_one(cases, capsys):
    assert main(["validate", cases([{"text": "fits", "expected_hpo_ids": ["1250"]}])]) == 1
    assert capsys.readouterr().out.endswith(": 1 problem\n")


def test_every_problem_is_named(cases, capsys):
    path = cases([{"text": "", "expected_hpo_ids": ["1250"]}, {"expected_hpo_ids": "HP:0001250"}])
    assert main(["validate", path]) == 1
    assert "problems" in capsys.readouterr().out
    assert main(["validate", path, "--format", "json"]) == 1
    assert len(json.loads(capsys.readouterr().out)) >= 2
