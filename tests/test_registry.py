from __future__ import annotations

import pytest

from rankscope.errors import MeasureError, OptionError
from rankscope.registry import Entry, Registry, groups_of_entry_points


@pytest.fixture
def numbers():
    return Registry("number", {"pi": Entry("math:pi", "3.14"), "tau": Entry("math:tau", "6.28")}, hint="your own")


def test_a_part_is_imported_when_it_is_asked_for(numbers):
    broken = Registry("part", {"there": Entry("math:pi"), "broken": Entry("no.such.module:thing")})
    assert broken["there"] == pytest.approx(3.14159, abs=1e-5)
    with pytest.raises(ModuleNotFoundError):
        broken["broken"]


def test_names_and_summaries_come_without_loading():
    lazy = Registry("part", {"a": Entry("no.such.module:thing", "what a is")})
    assert list(lazy) == ["a"]
    assert lazy.summary("a") == "what a is"


def test_an_unknown_name_is_an_error_with_the_closest_one(numbers):
    with pytest.raises(OptionError, match=r"there is no number 'tua'\nHint: did you mean tau\?"):
        numbers["tua"]
    with pytest.raises(OptionError, match=r"there are pi, tau, and your own"):
        numbers["q"]


def test_the_kind_of_error_is_chosen():
    with pytest.raises(MeasureError):
        Registry("measure", {}, error=MeasureError)["x"]


def test_a_part_can_be_added_once(numbers):
    numbers.add("e", "math:e", "2.72")
    numbers.add("two", 2)
    assert numbers["e"] == pytest.approx(2.71828, abs=1e-5)
    assert numbers["two"] == 2
    with pytest.raises(OptionError, match="there is already a number 'two'"):
        numbers.add("two", 3)


def test_other_packages_add_theirs_through_entry_points(tmp_path, monkeypatch):
    (tmp_path / "constants_plugin.py").write_text("answer = 42\n")
    info = tmp_path / "constants_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: constants-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[example.constants]\nanswer = constants_plugin:answer\npi = constants_plugin:answer\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    groups_of_entry_points.cache_clear()
    registry = Registry("constant", {"pi": Entry("math:pi")}, entry_points="example.constants")
    assert registry["answer"] == 42
    assert registry.summary("answer") == "from constants-plugin"
    assert registry["pi"] != 42, "a name of ours cannot be taken"
    assert len(registry) == 2


def test_parts_that_register_themselves_are_loaded_when_a_name_is_missing():
    loaded = []

    def load_more():
        if not loaded:
            loaded.append("once")
            parts.add("late", 42)

    parts = Registry("part", {"early": Entry("math:pi")}, load_more=load_more)
    assert parts["early"] == pytest.approx(3.14159, abs=1e-5)
    assert loaded == []
    assert parts["late"] == 42
    assert list(parts) == ["early", "late"]
    with pytest.raises(OptionError, match=r"there is no part 'later'\nHint: did you mean late\?"):
        parts["later"]
    parts.remove("late")
    assert "late" not in parts
