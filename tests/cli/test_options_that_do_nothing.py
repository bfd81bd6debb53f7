"""An option that would do nothing is refused, and help texts say what is true."""

import pytest

import rankscope as rs
from rankscope.cli.main import parser_of
from rankscope.errors import OptionError
from rankscope.io.formats import FORMATS

REFUSED = {
    "report scores.json --system dense -o x.html": "--system goes with --chart trend",
    "report scores.json --target 0.5 -o x.html": "--target goes with --chart trend",
    "report scores.json --chart trend --margin 0.5 -o x.svg": "--margin is for reports",
    "report one.json --baseline dense -o x.html": "--baseline is for several systems",
    "evaluate qrels.txt bm25.run --intervals --per-query": "--intervals does not go with --per-query",
    "evaluate qrels.txt bm25.run --intervals --format jsonl": "--intervals does not go with --format jsonl",
    "evaluate qrels.txt bm25.run --intervals --chart curves -o x.svg": "--chart and --intervals do not go together",
    "evaluate qrels.txt bm25.run --details --format csv": "--details does not go with --format csv",
    "plan --sd 0.1 --detect 0.02 --missing skip": "--missing is about runs",
    "plan --sd 0.1 --detect 0.02 --complete": "--complete is about runs",
    "plan --sd 0.1 --detect 0.02 --run-format csv": "--run-format is about runs",
    "plan --sd 0.1 --detect 0.02 --qrels-columns a=b": "--qrels-columns is about runs",
    "plan --scores scores.json --detect 0.02 --ties given": "--ties is about runs",
    "compare --scores scores.json --run-format csv": "--run-format is about runs",
    "compare --scores scores.json --unjudged-queries zero": "--unjudged-queries is about runs",
    "evaluate qrels.txt bm25.run --format trec --unjudged-queries zero": "--unjudged-queries does not go with",
    "fuse bm25.run dense.run --method borda --k 10": "borda has no constant",
}


@pytest.mark.usefixtures("cookbook")
@pytest.mark.parametrize("command", REFUSED)
def test_what_would_do_nothing_is_refused(rankscope, command):
    assert rankscope("evaluate", "qrels.txt", "bm25.run", "dense.run", "-o", "scores.json").code == 0
    assert rankscope("evaluate", "qrels.txt", "dense.run", "-o", "one.json").code == 0
    done = rankscope(*command.split())
    assert done.code == 2
    assert REFUSED[command] in done.err


def test_the_same_in_python():
    with pytest.raises(OptionError, match="missing is about runs"):
        rs.plan(sd=0.1, detect=0.02, missing="skip")
    with pytest.raises(OptionError, match="borda has no constant"):
        rs.fuse([{"q": ["a"]}, {"q": ["b"]}], "borda", k=10)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("evaluate", "--docs FILE"),
        ("evaluate", "--queries FILE"),
        ("compare", "--queries FILE"),
        ("report", "[SCORES...] score"),
    ],
)
def test_help_names_every_format(command, option):
    text = " ".join(parser_of(command).format_help().split())
    shown = text.partition(f" {option}")[2][:250]
    for name in FORMATS:
        assert name in ("trec", "beir") or f".{name}" in shown


@pytest.mark.usefixtures("cookbook")
def test_validate_says_what_it_needs(rankscope):
    assert "validate QRELS [RUN...]" in parser_of("validate").format_help()
    done = rankscope("validate", "qrels.txt")
    assert (done.code, "rankscope validate QRELS RUN..." in done.err) == (2, True)
    assert "valid JSON" not in done.err


def test_doctor_lists_its_formats(rankscope):
    assert "text, json (default: text)" in parser_of("doctor").format_help()
    assert rankscope("doctor", "--format", "yaml").code == 2
