"""`rankscope run` as a process of its own: code of the project imports and opens files as a script there would."""

import gzip
import os
import py_compile
import subprocess
import sys

import pytest

PROJECT = """
[collections.c]
docs = "docs.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"

[systems.mine]
type = "python"
function = "{module}:search"
"""

WAYS = {
    "import_module": "import importlib\nsibling = importlib.import_module('sibling')",
    "resolve_name": "import pkgutil, types\nsibling = types.SimpleNamespace(V=pkgutil.resolve_name('sibling:V'))",
    "find_spec": "import importlib.util\nassert importlib.util.find_spec('sibling')\nimport sibling",
    "reload": "import importlib, sibling\nsibling = importlib.reload(sibling)",
    "package": "import package.deep.mod as sibling",
    "resources": "import importlib.resources, sibling\n"
    "assert importlib.resources.files('package').joinpath('deep').is_dir()",
    "own name": "import sys, sibling\nassert __name__ == 'mine' and sys.modules['mine']",
    "relative path": "import types\nsibling = types.SimpleNamespace(V=open('value.txt').read())",
    "child process": "import subprocess, sys, types\n"
    "said = subprocess.run([sys.executable, '-c', 'import sibling; print(sibling.V)'], stdout=subprocess.PIPE).stdout\n"
    "sibling = types.SimpleNamespace(V=said.decode().strip())",
    "spawned workers": "import multiprocessing, sibling\n"
    "def work(i):\n    return sibling.V\n"
    "def values():\n"
    "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
    "        return pool.map_async(work, [1]).get(30)\n",
    "compiled": "import compiled as sibling",
}


@pytest.mark.parametrize("way", WAYS)
def test_code_of_a_project_imports_and_opens_as_a_script_in_its_folder(way, tmp_path):
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    (home / "package/deep").mkdir(parents=True)
    elsewhere.mkdir()
    (home / "sibling.py").write_text("V = 'd1'\n")
    (home / "value.txt").write_text("d1")
    (home / "package/deep/mod.py").write_text("V = 'd1'\n")
    (home / "source.py").write_text("V = 'd1'\n")
    py_compile.compile(str(home / "source.py"), cfile=str(home / "compiled.pyc"))
    body = "    return [values()[0]]\n" if "def values" in WAYS[way] else "    return [sibling.V]\n"
    (home / "mine.py").write_text(f"{WAYS[way]}\n\ndef search(text):\n{body}")
    (home / "docs.jsonl").write_text('{"id": "d1", "text": "a"}\n{"id": "d2", "text": "b"}\n')
    (home / "queries.jsonl").write_text('{"id": "q1", "text": "a"}\n')
    (home / "qrels.txt").write_text("q1 0 d1 1\n")
    (home / "rankscope.toml").write_text(PROJECT.format(module="mine"))
    done = subprocess.run(
        [sys.executable, "-m", "rankscope", "run", str(home), "-o", "report.json"],
        cwd=elsewhere,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run_file = next((home / "results").rglob("mine.trec.gz"))
    assert gzip.decompress(run_file.read_bytes()).split()[2] == b"d1"
    assert (elsewhere / "report.json").exists()
