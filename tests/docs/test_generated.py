"""The generated pages say what the code says."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def load_generator():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = load_generator().pages()


@pytest.mark.parametrize("name", PAGES)
def test_generating_the_page_again_changes_nothing(name):
    assert (DOCS / "generated" / name).read_text("utf-8") == PAGES[name], "run scripts/docs"


def test_no_page_is_left_over():
    found = {path.relative_to(DOCS / "generated").as_posix() for path in (DOCS / "generated").rglob("*.*")}
    assert found == set(PAGES)


def test_help_depends_neither_on_the_terminal_nor_on_colours():
    wide, narrow = (
        subprocess.run(
            [sys.executable, "-m", "rankscope", "evaluate", "--help"],
            env={**os.environ, "COLUMNS": columns, "FORCE_COLOR": "1"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for columns in ("200", "40")
    )
    assert wide == narrow
    assert "\x1b" not in wide


def test_schema_is_a_schema():
    schema = json.loads((DOCS / "generated/schema/evaluate.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
