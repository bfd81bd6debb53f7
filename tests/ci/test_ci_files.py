"""The action for GitHub and the job for GitLab: their form by schema and linter, their scripts by running them.

Neither has been tried on the real service, which the guide says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is needed to read the files")

ROOT = Path(__file__).parents[2]
ACTION, WORKFLOW, GITLAB = ROOT / "action.yml", ROOT / "docs/ci/github.yml", ROOT / "docs/ci/gitlab.yml"
COMPOSITE = {
    "type": "object",
    "required": ["name", "description", "runs"],
    "properties": {
        "inputs": {"additionalProperties": {"required": ["description", "default"], "additionalProperties": True}},
        "outputs": {"additionalProperties": {"required": ["description", "value"]}},
        "runs": {
            "type": "object",
            "required": ["using", "steps"],
            "additionalProperties": False,
            "properties": {
                "using": {"const": "composite"},
                "steps": {
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "oneOf": [{"required": ["run", "shell"]}, {"required": ["uses"]}],
                        "propertyNames": {
                            "enum": ["name", "id", "if", "run", "shell", "env", "working-directory", "uses", "with"]
                        },
                    },
                },
            },
        },
    },
}
"""What GitHub asks of a composite action: a step runs a script in a named shell, or uses another action."""


def load(path):
    return yaml.safe_load(path.read_text("utf-8"))


def test_the_action_has_the_form_of_a_composite_action():
    jsonschema.validate(load(ACTION), COMPOSITE)


def test_what_is_given_reaches_scripts_by_the_environment_alone():
    """A script with ${{ … }} in it would run what somebody wrote into a title or a branch name."""
    for step in load(ACTION)["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_every_input_is_used_and_every_input_that_is_used_is_there():
    text, known = ACTION.read_text("utf-8"), load(ACTION)["inputs"]
    import re

    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(known)
    given = load(WORKFLOW)["jobs"]["gate"]["steps"][1]["with"]
    assert set(given) <= set(known)


@pytest.mark.parametrize(
    ("schema", "path"), [("github-actions", ACTION), ("github-workflows", WORKFLOW), ("gitlab-ci", GITLAB)]
)
def test_by_the_schemas_of_the_services(schema, path):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_by_a_linter(tmp_path):
    program = shutil.which("zizmor", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        pytest.skip("zizmor is not installed")
    # versions are named by tags here; whoever wants hashes pins those of the day
    (tmp_path / "zizmor.yml").write_text("rules:\n  unpinned-uses:\n    disable: true\n")
    command = [
        program,
        "--offline",
        "--no-progress",
        "--config",
        str(tmp_path / "zizmor.yml"),
        str(ACTION),
        str(WORKFLOW),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


# The scripts


def step(name):
    return next(one for one in load(ACTION)["runs"]["steps"] if one["name"] == name)


@pytest.fixture
def runner(tmp_path):
    """Return a function that runs a step of the action as GitHub does, with programs of our own before all others."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("rankscope", "gh", "python"):
        path = programs / name
        log = f'printf "%s\\n" "$@" >> "{tmp_path}/{name}.log"\n'
        answer = {
            "gh": f'cat "{tmp_path}/gh.answer" 2>/dev/null || true\n',
            "rankscope": 'exit "${GATE_CODE:-0}"\n',
        }.get(name, "")
        path.write_text(f"#!/bin/bash\n{log}{answer}")
        path.chmod(0o755)

    def run(name, **environment):
        known = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "out"),
        }
        known |= {"GITHUB_ACTION_PATH": "/action", "GITHUB_REPOSITORY": "me/shop", **environment}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step(name)["run"]]
        return subprocess.run(command, env=known, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    return run


def logged(tmp_path, name):
    path = tmp_path / f"{name}.log"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("code", ["0", "1", "2"])
def test_the_exit_code_of_the_gate_is_that_of_the_action(runner, tmp_path, code):
    given = {"PROJECT": "shop dir", "BASELINE": "baseline", "RUN": "true", "ARGUMENTS": "--on-inconclusive\nfail\n"}
    compared = runner("Compare with the baseline", **given, GATE_CODE=code)
    assert compared.returncode == 0, compared.stderr  # so that the comment is written before it fails
    words = logged(tmp_path, "rankscope")
    assert words[:8] == [
        "gate",
        "--baseline",
        "baseline",
        "--format",
        "github",
        "--run",
        "shop dir",
        "--on-inconclusive",
    ]
    assert words[8:11] == ["fail", "-o", f"{tmp_path}/rankscope-gate.md"]
    outputs = dict(line.split("=", 1) for line in (tmp_path / "out").read_text().splitlines())
    assert outputs["exit-code"] == code
    assert runner("Pass or fail", CODE=code).returncode == int(code)


def test_files_instead_of_a_project(runner, tmp_path):
    given = {"PROJECT": "", "BASELINE": "b", "RUN": "true", "ARGUMENTS": "qrels.txt\nnew.run"}
    assert runner("Compare with the baseline", **given).returncode == 0
    assert logged(tmp_path, "rankscope")[:7] == [
        "gate",
        "--baseline",
        "b",
        "--format",
        "github",
        "qrels.txt",
        "new.run",
    ]


def test_the_arguments_are_those_that_the_command_knows(runner, tmp_path):
    from rankscope.cli.main import parser_of

    given = {"PROJECT": ".", "BASELINE": "baseline", "RUN": "true", "ARGUMENTS": ""}
    runner("Compare with the baseline", **given)
    args = parser_of("gate").parse_args(logged(tmp_path, "rankscope")[1:])
    assert (args.run, args.files, args.baseline, args.format) == (True, ["."], "baseline", "github")
    assert [Path(path).suffix for path in args.output] == [".md", ".xml", ".json"]


def test_a_comment_is_written_once_and_updated_then(runner, tmp_path):
    comment = tmp_path / "comment.md"
    comment.write_text("<!-- rankscope gate -->\nfine\n")
    given = {"NUMBER": "7", "COMMENT": str(comment), "GH_TOKEN": "x"}
    assert runner("Comment on the pull request", **given).returncode == 0
    first = logged(tmp_path, "gh")
    assert "POST" in first
    assert "repos/me/shop/issues/7/comments" in first
    assert f"body=@{comment}" in first
    (tmp_path / "gh.log").unlink()
    (tmp_path / "gh.answer").write_text("4711\n4712\n")
    assert runner("Comment on the pull request", **given).returncode == 0
    again = logged(tmp_path, "gh")
    assert "PATCH" in again
    assert "repos/me/shop/issues/comments/4711" in again


def test_the_comment_is_found_by_what_the_report_begins_with():
    from rankscope.report.gate import MARKER

    assert f'startswith("{MARKER}")' in step("Comment on the pull request")["run"]


def test_what_is_installed_is_the_version_of_the_action(runner, tmp_path):
    runner("Install Rankscope", EXTRAS="systems")
    assert logged(tmp_path, "python")[-1] == "/action[systems]"
    runner("Install Rankscope", EXTRAS="")
    assert logged(tmp_path, "python")[-1] == "/action"


def test_the_job_of_gitlab_calls_what_there_is():
    import shlex

    from rankscope.cli.main import parser_of

    job = load(GITLAB)["rankscope-gate"]
    (command,) = job["script"]
    program, name, *words = shlex.split(command)
    args = parser_of(name).parse_args(words)
    assert (program, name, args.run) == ("rankscope", "gate", True)
    assert {*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]} == set(args.output)
