"""A file is called as what it holds: other endings are refused before anything is computed, and no file is made."""

from pathlib import Path

import pytest

from rankscope.cli.main import COMMANDS

QUERY = "--query soup-for-a-cold"
CALLS = {
    "evaluate": "evaluate qrels.txt bm25.run -o OUT",
    "evaluate --format": "evaluate qrels.txt bm25.run --format json -o OUT",
    "evaluate --chart": "evaluate qrels.txt bm25.run -m nDCG --chart curves -o OUT",
    "compare": "compare qrels.txt bm25.run dense.run -o OUT",
    "compare --format": "compare qrels.txt bm25.run dense.run --format csv -o OUT",
    "compare --settle": "compare qrels.txt bm25.run dense.run --settle OUT",
    "compare --chart": "compare qrels.txt bm25.run dense.run --chart differences -o OUT",
    "explain": f"explain qrels.txt bm25.run {QUERY} -o OUT",
    "explain --format": f"explain qrels.txt bm25.run {QUERY} --format json -o OUT",
    "show": "show qrels.txt bm25.run dense.run -o OUT",
    "diagnose": "diagnose qrels.txt bm25.run -o OUT",
    "diagnose --format": "diagnose qrels.txt bm25.run --format text -o OUT",
    "convert": "convert bm25.run OUT",
    "convert --to": "convert bm25.run OUT --to json",
    "embed": "embed nowhere -o OUT",
    "fuse": "fuse bm25.run dense.run -o OUT",
    "plan": "plan qrels.txt bm25.run dense.run --detect 0.1 -o OUT",
    "plan --format": "plan qrels.txt bm25.run dense.run --detect 0.1 --format json -o OUT",
    "report": "report scores.json -o OUT",
    "report --chart": "report scores.json --chart trend -o OUT",
    "gate": "gate --baseline bm25.run qrels.txt dense.run -o OUT",
    "check": "check qrels.txt bm25.run --targets targets.toml -o OUT",
    "history": "history -o OUT",
    "judge qrels": "judge qrels task -o OUT",
    "judge agreement": "judge agreement task -o OUT",
    "judge flags": "judge flags task -o OUT",
    "history diff": "history diff bm25~1 bm25 -o OUT",
    "rescore": "rescore -o OUT",
    "rescore --format": "rescore --format json -o OUT",
    "leaderboard": "leaderboard -o OUT",
    "watch": "watch nowhere -o OUT",
    "watch --format": "watch nowhere --format json -o OUT",
    "run": "run nowhere -o OUT",
    "run --format": "run nowhere --format json -o OUT",
    "init": "init --collection nowhere --yes -o OUT",
    "split": "split nowhere -o OUT",
}
HTML = {"gate", "evaluate", "compare", "report", "run", "show", "diagnose", "check"}
HTML |= {"history", "history diff", "rescore", "leaderboard", "judge agreement", "judge flags"}
"""Those that can write pages."""
FOLDERS = {"baseline", "import", "collection"}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("ending", [".html", ".pdf", ".xlsx", ".HTM", ".xht", ".shtml", ".hta", ".svgz", ".php"])
def test_other_endings_are_refused(rankscope, cookbook, call, ending):
    if call in HTML and ending.lower() in (".html", ".htm"):
        pytest.skip("it can be written")
    for path in cookbook.iterdir():
        path.unlink()  # nothing is read, so nothing is missed
    done = rankscope(*CALLS[call].replace("OUT", f"out{ending}").split())
    assert (done.code, "Traceback" in done.err) == (2, False), done.err
    assert done.err.startswith("error: "), done.err
    assert "hint: " in done.err
    assert f"out{ending}" in done.err
    assert not list(Path().glob("out.*"))


def test_every_command_with_an_output_is_tried():
    from rankscope.cli.main import parser_of

    writing = {name for name in COMMANDS if any("-o" in action.option_strings for action in parser_of(name)._actions)}
    assert writing - FOLDERS == {call.split()[0] for call in CALLS} - {"convert"}


@pytest.mark.parametrize("command", ["explain", "diagnose"])
def test_the_ending_chooses_json_or_text(rankscope, cookbook, command):
    query = QUERY.split() if command == "explain" else []
    for ending, start in ((".json", "{"), (".txt", ("nDCG", "bm25", "hybrid", "Diagnosis"))):
        rankscope(command, "qrels.txt", "bm25.run", *query, "-o", f"out{ending}")
        text = Path(f"out{ending}").read_text("utf-8")
        assert text.startswith(start) == (ending == ".json") or ending == ".txt"
        assert (text.lstrip()[0] == "{") == (ending == ".json")


@pytest.mark.parametrize("name", ["out.html ", "out.html.", "out.html.gz"])
def test_names_that_some_systems_shorten(rankscope, cookbook, name):
    calls = [["explain", "qrels.txt", "bm25.run", *QUERY.split(), "--format", "json", "-o", name]]
    calls += [["convert", "bm25.run", name, "--to", "json"], ["fuse", "bm25.run", "dense.run", "-o", name]]
    for call in calls:
        assert rankscope(*call).code == 2
    assert not list(Path().glob("out.*"))


@pytest.mark.parametrize("name", ["bm25", "bm25.v2", "bm25.robust04", "bm25.run.gz", "scores.txt"])
def test_runs_may_be_called_anything_else(rankscope, cookbook, name):
    assert rankscope("convert", "dense.run", name).code == 0
