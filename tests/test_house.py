"""Rules of the code base that no linter checks."""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rankscope"
MODULES = sorted(SOURCE.rglob("*.py"))
TREES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in MODULES}


def calls(name: str) -> list[str]:
    """Return where an attribute or function is used, as module:line."""
    return [
        f"{module}:{node.lineno}"
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and f"{ast.unparse(node)}".endswith(name))
        or (isinstance(node, ast.Name) and node.id == name)
    ]


def test_class_names_are_unique():
    places = defaultdict(list)
    for module, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_there_are_two_kinds_of_records():
    decorated = [
        f"{module}:{node.lineno}"
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any("dataclass(" in ast.unparse(each) + "(" for each in node.decorator_list)
    ]
    assert decorated == []


@pytest.mark.parametrize("state", ["chdir", "sys.path.insert", "sys.path.append"])
def test_no_process_wide_state_is_changed(state):
    """Only `process_of` does so, for a process that belongs to one project."""
    assert [place for place in calls(state) if not place.startswith("systems/working_directory.py")] == []


def test_warnings_are_no_channel():
    """Only the command line, which prints them, catches warnings."""
    assert [place for place in calls("catch_warnings") if not place.startswith("cli/main.py")] == []


def test_only_registry_tables_name_modules_in_strings():
    """A package that imports by a string hides from the import contract."""
    hidden = [
        f"{module}:{node.lineno}"
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("import_module")
        and any(isinstance(argument, ast.Constant) and "rankscope" in str(argument.value) for argument in node.args)
    ]
    assert hidden == []


def test_architecture_names_every_table_that_reaches_up():
    """Import-linter does not see what a table names by a string; the page lists them."""
    root = SOURCE.parents[1]
    contract = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    height = {room: -i for i, layer in enumerate(contract["layers"]) for room in layer.split(" | ")}
    upward = set()
    for module, tree in TREES.items():
        own = module.split("/")[0].removesuffix(".py")
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and own in height:
                named = re.fullmatch(r"rankscope\.(\w+)[\w.]*:\w*", node.value)
                if named and height.get(named[1], -99) > height[own]:
                    upward.add(module)
    text = (root / "ARCHITECTURE.md").read_text("utf-8")
    listed = set(re.findall(r"`([\w/]+\.py)`", text[text.index("that name a higher package:") :].split("\n\n")[0]))
    assert upward == listed


def test_plain_words():
    """Words of our own that a contributor could not guess have no place in names, docstrings and comments."""
    odd = re.compile(r"(\b|_)(told|Told|Wishes|Workshop|at_home|Sides|mend|kin)(\b|_)")
    found = []
    for path in MODULES:
        text = path.read_text("utf-8")
        ours = docstring_lines(ast.parse(text))
        with path.open("rb") as stream:
            for token in tokenize.tokenize(stream.readline):
                is_ours = token.type in (tokenize.NAME, tokenize.COMMENT) or token.start[0] in ours
                if is_ours and odd.search(token.string):
                    found.append(f"{path.relative_to(SOURCE)}:{token.start[0]}: {token.string.strip()}")
    assert found == []


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the lines at which strings start that stand for themselves: docstrings, and the docs of fields."""
    return {
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
