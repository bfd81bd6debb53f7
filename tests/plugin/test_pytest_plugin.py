"""The pytest plugin, in processes of its own: what it adds where it is asked for, and nothing where it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from small_project import small_project, systems  # noqa: E402

TARGETS = """
[[targets]]
name = "the first one"
query = "q1"
doc = "d1"
top = 1
owner = "search team"
reason = "a customer asked for it"

[[targets]]
name = "a limit that holds"
measure = "nDCG@10"
at_least = 0.0

[[targets]]
name = "in quarantine"
query = "q2"
doc = "d2"
top = 1
quarantine_until = 2999-12-31
"""


def run_pytest(folder, *arguments, **environment):
    """Run pytest with the plugin as an installed package would bring it, and nothing else."""
    command = [sys.executable, "-m", "pytest", "-p", "rankscope.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    known = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "150", **environment}
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False, timeout=120)


def rankscope(folder, *arguments):
    command = [sys.executable, "-m", "rankscope", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=120)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Return a project whose one system has the relevant doc first, then two others, with a baseline of it."""
    folder = tmp_path_factory.mktemp("project")
    small = small_project(folder, n_queries=12, module="searching")
    small.add("def best(query):\n    return [('d' + query.id[1:], 3.0), ('d20', 2.0), ('d21', 1.0)]\n")
    small.write(systems("best"))
    rankscope(folder, "run", "--no-store")
    rankscope(folder, "baseline", "save")
    (folder / "tests").mkdir()
    (folder / "tests/test_own.py").write_text("def test_own():\n    pass\n")
    return folder


@pytest.fixture
def project(template, tmp_path):
    return Path(shutil.copytree(template, tmp_path / "shop"))


def make_worse(folder):
    path = folder / "searching.py"
    worse = "[('d20', 3.0), ('d21', 2.0), ('d' + query.id[1:], 1.0)]"
    path.write_text(path.read_text().replace("[('d' + query.id[1:], 3.0), ('d20', 2.0), ('d21', 1.0)]", worse))


def test_it_is_an_entry_point():
    content = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert content["project"]["entry-points"]["pytest11"] == {"rankscope": "rankscope.pytest_plugin"}


def test_without_being_asked_for_it_adds_nothing_and_loads_nothing(project):
    (project / "tests/test_own.py").write_text(
        "import sys\ndef test_own():\n    heavy = {'numpy', 'msgspec', 'polars', 'scipy', 'sqlalchemy'}\n"
        "    assert not heavy & set(sys.modules)\n"
        "    assert sorted(name for name in sys.modules if name.startswith('rankscope')) == "
        "['rankscope', 'rankscope._version', 'rankscope.pytest_plugin']\n"
    )
    done = run_pytest(project, "-v")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert "gate[" not in done.stdout


def test_a_gate_that_passes(project):
    done = run_pytest(project, "-v", "--rankscope", ".")
    assert done.returncode == 0, done.stdout
    assert "rankscope.toml::gate[best] PASSED" in done.stdout
    assert "2 passed" in done.stdout


def test_a_worse_ranking_fails_and_shows_both_lists_with_titles(project):
    make_worse(project)
    corpus = project / "small/corpus.jsonl"
    corpus.write_text(corpus.read_text().replace('"d1", "title": ""', '"d1", "title": "Pea soup"'))
    done = run_pytest(project, "--rankscope", "rankscope.toml")
    assert done.returncode == 1
    assert "best vs baseline: failed" in done.stdout
    assert "best is worse." in done.stdout
    # each query falls from rank 1 to 3: 1 to 1 / log2(4) = 0.5
    assert "nDCG@10 is 1.0000 in baseline and 0.5000 in best: -0.5000" in done.stdout
    assert "A baseline" in done.stdout
    assert "B best" in done.stdout
    assert "Pea soup (d1)" in done.stdout
    assert "Traceback" not in done.stdout
    assert "12 queries got worse in all." in done.stdout


def test_runs_are_taken_as_they_are_where_asked_for(project):
    make_worse(project)
    assert run_pytest(project, "--rankscope", ".", "--rankscope-no-run").returncode == 0
    (project / "pytest.ini").write_text("[pytest]\nrankscope_project = .\nrankscope_run = false\n")
    assert run_pytest(project).returncode == 0
    (project / "pytest.ini").write_text("[pytest]\nrankscope_project = .\n")
    assert run_pytest(project).returncode == 1


def test_one_test_for_each_target(project):
    text = (project / "rankscope.toml").read_text()
    (project / "rankscope.toml").write_text(f'targets = "targets.toml"\n{text}')
    (project / "targets.toml").write_text(TARGETS)
    good = run_pytest(project, "-v", "--rankscope", ".")
    assert "target[the first one] PASSED" in good.stdout, good.stdout
    assert good.returncode == 0
    make_worse(project)
    done = run_pytest(project, "-v", "-k", "target", "--rankscope", ".")
    assert "target[the first one] FAILED" in done.stdout
    assert "target[a limit that holds] PASSED" in done.stdout
    assert "target[in quarantine] XFAIL" in done.stdout
    assert "expected: d1 in the top 1" in done.stdout
    assert "is at rank 3, but must be in the top 1" in done.stdout
    assert "1. " in done.stdout.partition("instead:")[2]
    assert "owner: search team" in done.stdout
    assert "2 deselected" in done.stdout  # -k chooses among them as among any tests


def test_a_damaged_baseline_is_a_failed_test(project):
    for path in (project / "baseline").glob("*.trec.gz"):
        path.write_bytes(path.read_bytes()[:40])
    done = run_pytest(project, "--rankscope", ".")
    assert done.returncode == 1
    assert "it is truncated: 40 of" in done.stdout


def test_a_project_that_is_not_there(tmp_path):
    done = run_pytest(tmp_path, "--rankscope", "nowhere.toml")
    assert done.returncode == 4
    assert "nowhere.toml" in done.stderr + done.stdout
    assert "INTERNALERROR" not in done.stderr + done.stdout


def test_nothing_to_test_is_an_error(project):
    shutil.rmtree(project / "baseline")
    done = run_pytest(project, "--rankscope", ".")
    assert done.returncode == 4
    assert "nothing to test" in done.stderr + done.stdout


def test_with_several_processes(project):
    pytest.importorskip("xdist")
    make_worse(project)
    done = run_pytest(project, "-p", "xdist", "-n", "2", "--rankscope", ".")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "best is worse." in done.stdout
    assert "1 failed, 1 passed" in done.stdout
