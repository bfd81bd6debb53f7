"""Modules and paths of a project are found in its folder, and only while the project is at work."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankscope.errors import OptionError
from rankscope.systems.options import load_function, source_hash
from rankscope.systems.working_directory import current_directory, load_module, resolve_path, working_directory


@pytest.fixture
def folders(tmp_path):
    """Return two folders with a module of the same name, which imports another one."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(
            "import json\nfrom beside import NAME\n\ndef say():\n    import late\n    return NAME + late.NAME\n"
        )
        (tmp_path / name / "beside.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "late.py").write_text(f"NAME = {name.upper()!r}\n")
        (tmp_path / name / "json.py").write_text("raise RuntimeError('not the one of Python')\n")
    return tmp_path / "a", tmp_path / "b"


def test_each_folder_has_its_own_modules(folders):
    functions = []
    for folder in folders:
        with working_directory(folder):
            functions.append(load_function("mine:say", what="the function"))
            assert load_module("mine") is load_module("mine")
    assert [function() for function in functions] == ["aA", "bB"], "also what is imported when it is called"
    assert source_hash(functions[0]) == source_hash(functions[1]) != ""
    assert not {"mine", "beside", "late"} & set(sys.modules)


def test_outside_of_a_project_python_s_rules_apply(folders):
    with pytest.raises(OptionError, match="No module named 'mine'"):
        load_function("mine:say", what="the function")
    with working_directory(folders[0]):
        assert load_module("statistics").__name__ == "statistics"
        with pytest.raises(OptionError, match=r"No module named 'mine.inner'"):
            load_function("mine.inner:say", what="the function")


def test_a_module_that_fails_is_not_kept(folders):
    file = folders[0] / "broken.py"
    file.write_text("1 / 0\n")
    with working_directory(folders[0]):
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                load_module("broken")


def test_the_folder_belongs_to_a_thread(folders):
    with working_directory(folders[0]), ThreadPoolExecutor(1) as pool:
        assert current_directory() == folders[0]
        assert pool.submit(current_directory).result() is None
        assert resolve_path("mine.py") == str(folders[0] / "mine.py")
        assert resolve_path("organisation/model") == "organisation/model"
    assert current_directory() is None
    assert resolve_path("mine.py") == "mine.py"


def test_packages_with_and_without_a_file_of_their_own(folders):
    for name, init in (("whole", "from .part import N\n"), ("loose", None)):
        (folders[0] / name).mkdir()
        (folders[0] / name / "part.py").write_text("import beside\nN = beside.NAME\n")
        if init is not None:
            (folders[0] / name / "__init__.py").write_text(init)
    (folders[0] / "user.py").write_text(
        "import whole.part\nfrom loose import part\nN = whole.part.N + part.N + whole.N\n"
    )
    with working_directory(folders[0]):
        assert load_module("user").N == "aaa"
        assert load_module("loose.part").N == load_module("whole.part").N == "a"
