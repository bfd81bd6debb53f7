from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankscope.errors import MeasureError, OptionError, RankscopeWarning
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


def write_package(folder, entry_points, module):
    (folder / "constants_plugin.py").write_text(module)
    info = folder / "constants_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: constants-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install a package in this process: its module and its entry points, none of which a registry of ours looks for."""

    def install(entry_points):
        write_package(tmp_path, entry_points, "class Holder:\n    answer = 42\nanswer = 42\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        groups_of_entry_points.cache_clear()

    yield install
    groups_of_entry_points.cache_clear()
    sys.modules.pop("constants_plugin", None)


def test_other_packages_add_theirs_through_entry_points(plugin):
    plugin("[example.constants]\nanswer = constants_plugin:answer\n")
    registry = Registry("constant", {"pi": Entry("math:pi")}, entry_points="example.constants")
    assert registry["answer"] == 42
    assert registry.summary("answer") == "from constants-plugin"
    assert len(registry) == 2


def test_a_name_of_ours_cannot_be_taken(plugin):
    plugin("[example.constants]\npi = constants_plugin:answer\n")
    registry = Registry("constant", {"pi": Entry("math:pi")}, entry_points="example.constants")
    with pytest.warns(RankscopeWarning, match="the package constants-plugin offers a constant 'pi'; there is one"):
        assert list(registry) == ["pi"]
    assert registry["pi"] != 42


def test_entry_points_may_have_dots_and_extras(plugin):
    plugin("[example.constants]\ninner = constants_plugin:Holder.answer\nmore = constants_plugin:Holder [x]\n")
    registry = Registry("constant", {}, entry_points="example.constants")
    assert registry["inner"] == 42
    assert registry["more"].answer == 42


def test_a_part_of_another_package_that_cannot_be_loaded_is_an_error_that_names_the_package(plugin):
    plugin("[example.constants]\nbad = no_such_module:thing\nanswer = constants_plugin:answer\n")
    registry = Registry("constant", {}, entry_points="example.constants")
    with pytest.raises(OptionError, match=r"'bad' of the package constants-plugin cannot be loaded: ModuleNotFoundErr"):
        registry["bad"]
    assert registry["answer"] == 42


def test_threads_see_all_names_or_wait(plugin):
    plugin("[example.constants]\n" + "".join(f"c{i} = constants_plugin:answer\n" for i in range(200)))
    for _ in range(5):
        registry = Registry("constant", {}, entry_points="example.constants")
        together = threading.Barrier(8)

        def look_up(i, registry=registry, together=together):
            together.wait()
            return registry[f"c{199 - i}"]

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(look_up, range(8))) == [42] * 8


@pytest.mark.parametrize(
    ("entry_points", "module"),
    [
        ("[rankscope.charts]\nbad = no_such_module:thing\n", ""),
        ("[rankscope.measures]\nbad = no_such_module\n", ""),
        ("[rankscope.measures]\nbad = constants_plugin\n", "raise SystemError('broken')\n"),
        (
            "[rankscope.measures]\nclash = constants_plugin\n",
            """from rankscope import measure, MeasureFamily
@measure("nDCG", "x", family=MeasureFamily.SET, formula="x", range=(0, 1), undefined="never", cite="x")
def f(hits, *, k):
    return hits.per_query(hits.within(k))
""",
        ),
        ("[rankscope.commands]\nbad = no_such_module\n", ""),
        ("[rankscope.formats]\nbad = no_such_module:thing\ncsv = no_such_module:thing\n", ""),
    ],
)
def test_a_broken_package_keeps_nobody_from_anything_else(tmp_path, entry_points, module):
    write_package(tmp_path, entry_points, module)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}

    def run(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    for command in (["evaluate", "--help"], ["compare", "--help"], ["report", "--help"], ["measures"], ["--help"]):
        done = run("-m", "rankscope", *command)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    done = run(
        "-c", "import rankscope as rs; dir(rs); print(hasattr(rs, 'foo'), rs.parse_measure('CategoryEntropy@5'))"
    )
    assert done.stdout.startswith("False"), done.stderr
    done = run("-m", "rankscope", "measures", "nDCGG")
    assert "did you mean nDCG" in done.stderr
    assert "Traceback" not in done.stderr


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
