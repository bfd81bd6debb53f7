"""`rankscope show`: the queries that changed most, and one of them side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rankscope.cli.main import main


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    runs = {"old": {"1": "ab", "2": "xa", "3": "a"}, "new": {"1": "xya", "2": "a", "3": "a"}}
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 a 1\n" for query in "123"))
    for name, run in runs.items():
        lines = [
            f"{query} Q0 {doc} {i + 1} {9 - i} {name}\n" for query, docs in run.items() for i, doc in enumerate(docs)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": q, "text": f"query number {q}"}) + "\n" for q in "123")
    )
    (tmp_path / "docs.jsonl").write_text('{"_id": "a", "title": "A doc\\u001b[31m", "text": "the number of it"}\n')
    return [str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run")]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    return capsys.readouterr().out


def test_without_a_query_the_largest_changes_are_listed(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    queries = str(Path(files[0]).with_name("queries.jsonl"))
    text = shown(capsys, *files, "-m", "RR", "--queries", queries)
    assert "RR is worse for 1 query, better for 1 and the same for 1." in text
    loss = next(line for line in text.splitlines() if "query number 1" in line)
    assert loss.split()[-3:] == ["1.0000", "0.3333", "-0.6667"]
    found = json.loads(shown(capsys, *files, "-m", "RR", "--format", "json"))
    assert [one["query"] for one in found["queries"]] == ["1", "3", "2"]


def test_where_lower_is_better_a_rise_is_a_loss(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, *files, "-m", "FirstRel")
    assert "FirstRel is worse for 1 query, better for 1 and the same for 1." in text
    loss = text[text.index("Largest losses") : text.index("Largest gains")].splitlines()[3]
    assert loss.split() == ["1", "1", "1.0000", "3.0000", "+2.0000"]


def test_ids_that_match_nothing_are_shown_only_on_demand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    numbers = range(30)
    (tmp_path / "qrels.txt").write_text("".join(f"{i} 0 d{i} 1\n" for i in numbers))
    for name, prefix in {"right": "d", "wrong": "zz"}.items():
        (tmp_path / f"{name}.run").write_text("".join(f"{i} Q0 {prefix}{i} 1 9 t\n" for i in numbers))
    files = [str(tmp_path / name) for name in ("qrels.txt", "right.run", "wrong.run")]
    assert main(["show", *files]) == 2
    assert "--anyway" in capsys.readouterr().err
    assert "is worse for 30 queries" in shown(capsys, *files, "--anyway")


def test_a_query_by_id_or_by_its_number_in_the_list(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    by_number = shown(capsys, *files, "-m", "RR", "--loss", "1")
    assert by_number == shown(capsys, *files, "-m", "RR", "--query", "1")
    assert "RR is 1.0000 in old and 0.3333 in new: -0.6667." in by_number
    assert "Query 2" in shown(capsys, *files, "--gain", "1")


def test_words_and_no_terminal_commands(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(files[0]).parent
    words = ["--queries", str(folder / "queries.jsonl"), "--docs", str(folder / "docs.jsonl")]
    text = shown(capsys, *files, "--query", "1", *words)
    assert "“query number 1” (query 1)" in text
    assert r"A doc\x1b[31m" in text
    assert "the [number] of it" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("ending", ["html", "md", "json", "txt"])
def test_it_can_be_written_to_a_file(files: list[str], ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"one.{ending}"
    assert main(["show", *files, "--query", "2", "-o", str(target)]) == 0
    assert "Query 2" in target.read_text() or json.loads(target.read_text())["query"] == "2"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["--loss", "5"], "there is no loss number 5: there is one"), (["--query", "9"], "there is no query '9'")],
)
def test_what_is_not_there(
    files: list[str], arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", *files, *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.fixture
def languages(tmp_path: Path) -> list[str]:
    """Six queries in two languages; the largest losses are 1.0 - 0.25 in de (de1), 1.0 - 0.5 in en (en1)."""
    ranks = {"de1": (1, 4), "de2": (1, 2), "de3": (2, 1), "en1": (1, 2), "en2": (3, 1), "en3": (1, 1)}
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 a 1\n" for query in ranks))
    for at, name in enumerate(("old", "new")):
        lines = [
            f"{query} Q0 {'a' if rank == both[at] else f'x{rank}'} {rank} {9 - rank} {name}\n"
            for query, both in ranks.items()
            for rank in range(1, 6)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    rows = [{"_id": query, "text": f"words of {query}", "language": query[:2]} for query in ranks]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [*(str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run")), "-m", "RR", "--queries",
            str(tmp_path / "queries.jsonl")]  # fmt: skip


def test_losses_are_numbered_within_a_language(languages: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "words of en1" in shown(capsys, *languages, "--language", "en", "--loss", "1")
    assert "words of de2" in shown(capsys, *languages, "--language", "de", "--loss", "2")
    assert "RR is worse for 1 query, better for 1 and the same for 1." in shown(capsys, *languages, "--language", "en")
    assert "words of de1" in shown(capsys, *languages, "--language", "de", "--query", "de1")


def test_numbers_of_reports_in_several_languages_can_be_given(
    languages: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *languages, "--format", "text", "--details"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    commands = re.findall(r"rankscope (show \S+ \S+ \S+ -m RR --queries \S+ --language (\w\w)) --loss 1", text)
    assert [language for _, language in commands] == ["de", "en"]
    for command, language in commands:
        assert f"words of {language}1" in shown(capsys, *command.split()[1:], "--loss", "1")


def test_it_is_said_that_all_languages_are_numbered_together(
    languages: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", *languages, "--loss", "2"]) == 0
    assert "note: the queries are in 2 languages (de, en); reports number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--language", "fr"], "no query is in the language 'fr'"),
        (["--language", "en", "--query", "de1"], "query 'de1' is not in the language 'en'"),
        (["--language", "en", "--loss", "2"], "there is no loss number 2: there is one"),
    ],
)
def test_languages_that_are_not_there(
    languages: list[str], arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", *languages, *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_a_language_needs_the_queries(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *files, "--language", "en"]) == 2
    assert "--language needs the queries" in capsys.readouterr().err


def test_it_is_said_where_the_file_is(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *files, "--loss", "1", "-o", str(tmp_path / "loss.html")]) == 0
    assert f"the report is in {tmp_path / 'loss.html'}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["show", "compare", "evaluate", "diagnose", "explain"])
def test_texts_of_other_queries_and_docs_are_not_passed_over(
    command: str, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.jsonl").write_text('{"_id": "q-1", "text": "words"}\n')
    (tmp_path / "corpus.jsonl").write_text('{"_id": "doc-a", "title": "A doc"}\n')
    runs = {"diagnose": files[:2], "explain": files[:2]}.get(command, files)
    more = ["--query", "1"] if command in ("show", "explain") else ["-o", str(tmp_path / "page.html")]
    words = ["--queries", str(tmp_path / "other.jsonl"), "--docs", str(tmp_path / "corpus.jsonl")]
    assert main([command, *runs, *more, *words]) == 0
    said = capsys.readouterr().err
    queries, docs = r"none of the 3 queries is in (other.jsonl|the queries given)", r"in (corpus.jsonl|the docs given)"
    assert re.search(rf"{queries}, so ids are shown without words: e.g. '1' here and 'q-1' there", said)
    assert re.search(rf"{docs}, so ids are shown without words: e.g. 'a' here and 'doc-a' there", said)


def test_no_word_is_lost_where_most_ids_are_known(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(files[0]).parent
    words = ["--queries", str(folder / "queries.jsonl"), "--docs", str(folder / "docs.jsonl")]
    for command in (["show", *files, "--query", "1"], ["diagnose", *files[:2]], ["compare", *files]):
        assert main([*command, *words]) == 0
        assert "without words" not in capsys.readouterr().err
