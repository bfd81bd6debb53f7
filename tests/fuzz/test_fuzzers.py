"""A short run of the fuzzers of project files, answers over HTTP and journals; `scripts/fuzz --kind …` makes long ones."""

import importlib
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_project

from rankscope.errors import InputError, OptionError
from rankscope.experiment.project import load_project
from rankscope.systems.dense import Dense

SHARE = int(os.environ.get("RANKSCOPE_TEST_EXAMPLES", "50")) / 50
N_INPUTS = {"project": 1500, "http": 1000, "journal": 1200}


@pytest.mark.slow
@pytest.mark.parametrize("kind", N_INPUTS)
def test_odd_input_is_read_or_refused(kind, tmp_path):
    fuzzer = importlib.import_module(f"fuzz_{kind}")
    inputs = iter(range(max(1, int(SHARE * N_INPUTS[kind]))))
    assert list(fuzzer.problems(inputs, 5, tmp_path)) == []


def test_the_project_that_is_taken_apart_is_right(tmp_path):
    list(fuzz_project.problems(iter([]), 0, tmp_path))  # makes the collection
    (tmp_path / "rankscope.toml").write_text(fuzz_project.toml(fuzz_project.RIGHT))
    assert set(load_project(tmp_path).systems) == set(fuzz_project.RIGHT["systems"])


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 100_000, "{a=" * 100_000], ids=["digits", "lists", "tables"])
def test_numbers_without_end_and_deep_nesting_are_refused(value, tmp_path):
    (tmp_path / "rankscope.toml").write_text(f"margin = {value}")
    with pytest.raises(Exception, match=r"not valid TOML|nested too deeply") as error:
        load_project(tmp_path)
    assert type(error.value).__name__ == "FormatError"


def test_of_two_misfits_the_first_is_named(tmp_path):
    """The second one hid at which key of a table the first is."""
    (tmp_path / "rankscope.toml").write_text(
        "collections = {small = {path = 'small'}, apart = {queries = {}}}\nsystems = 3\n"
    )
    with pytest.raises(OptionError, match=r"collections\.apart\.queries is \{\}"):
        load_project(tmp_path)


@pytest.mark.parametrize("vectors", [[[1.0], [1.0, 2.0]], [["a"], ["b"]], [[None], [1.0]], [[10**400], [1]], [{}, {}]])
def test_what_is_no_vectors_is_said(vectors, monkeypatch):
    system = Dense(model="m", base_url="http://127.0.0.1:9")
    monkeypatch.setattr(type(system._encoder), "encode", lambda *_, **__: vectors)
    with pytest.raises(InputError, match="m returned"):
        system.encode(["one", "two"], role="query")
