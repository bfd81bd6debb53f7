"""`rankscope fuse`."""

import pytest

from rankscope.cli import fuse
from rankscope.cli.main import parser_of
from rankscope.errors import OptionError


@pytest.fixture
def fuse_files(tmp_path, monkeypatch, capsys):
    """Return a function that runs the command in a folder with two runs, and returns what it wrote to stderr."""
    (tmp_path / "a.run").write_text("1 Q0 x 1 9 a\n1 Q0 y 2 5 a\n2 Q0 x 1 1 a\n")
    (tmp_path / "b.csv").write_text("query,doc,score\n1,y,0.7\n1,z,0.2\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        assert fuse.run(parser_of("fuse").parse_args([str(argument) for argument in arguments])) == 0
        return capsys.readouterr().err

    return run


def test_reciprocal_ranks(fuse_files, tmp_path):
    said = fuse_files("a.run", "b.csv", "-o", "both.run")
    assert said == "both: 4 rows, 2 queries, rrf of 2 runs\n"
    rows = [line.split() for line in (tmp_path / "both.run").read_text().splitlines()]
    assert [(row[0], row[2], row[3], row[5]) for row in rows] == [
        ("1", "y", "1", "both"),
        ("1", "x", "2", "both"),
        ("1", "z", "3", "both"),
        ("2", "x", "1", "both"),
    ]
    assert [float(row[4]) for row in rows] == [1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 61]


def test_weights_norm_and_depth(fuse_files, tmp_path):
    fuse_files(
        "a.run", "b.csv", "--method", "weighted", "--norm", "max", "--weights", "1,2", "-o", "o.json", "--depth", 2
    )
    assert (tmp_path / "o.json").read_text() == (f'{{\n"1": {{"y": {5 / 9 + 2}, "x": 1.0}},\n"2": {{"x": 1.0}}\n}}\n')


def test_the_run_may_be_named(fuse_files, tmp_path):
    assert fuse_files("a.run", "b.csv", "-o", "o.run", "--name", "mine").startswith("mine:")
    assert (tmp_path / "o.run").read_text().endswith("mine\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.run"], "one run cannot be fused"),
        (["a.run", "b.csv", "--method", "rff"], "did you mean rrf"),
        (["a.run", "b.csv", "--weights", "1,x"], "weights '1,x' are not numbers"),
        (["a.run", "b.csv", "--weights", "1"], "1 weights are given for 2 rankings"),
        (["a.run", "b.csv", "--norm", "max"], "looks at ranks alone"),
        (["-", "-"], "standard input"),
    ],
)
def test_mistakes_get_a_message_that_helps(fuse_files, arguments, message):
    with pytest.raises(OptionError, match=message):
        fuse_files(*arguments)
