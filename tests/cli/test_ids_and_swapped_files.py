"""Ids that match nothing, and swapped files, through the commands that people run."""

from __future__ import annotations

import json
import os
import threading

import pytest

import rankscope as rs


@pytest.fixture
def prefixed(cookbook):
    """Write a run of the demo whose doc ids all have a prefix."""
    rows = [line.split() for line in (cookbook / "hybrid.run").read_text().splitlines()]
    path = cookbook / "prefixed.run"
    path.write_text("".join(" ".join([*row[:2], f"doc-{row[2]}", *row[3:]]) + "\n" for row in rows))
    return path


@pytest.fixture
def as_json(cookbook):
    """Write the qrels and a run of the demo as JSON."""
    qrels = {query: dict(docs) for query, docs in rs.load_qrels("qrels.txt").judged.items()}
    rows = rs.load_run("hybrid.run").rows
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in zip(rows.query, rows.doc, rows.score.tolist(), strict=True):
        run.setdefault(query, {})[doc] = score
    (cookbook / "q.json").write_text(json.dumps(qrels))
    (cookbook / "h.json").write_text(json.dumps(run))
    return cookbook


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "qrels.txt", "prefixed.run"],
        ["evaluate", "qrels.txt", "hybrid.run", "prefixed.run", "-o", "report.html"],
        ["evaluate", "qrels.txt", "prefixed.run", "--chart", "positions", "-o", "chart.svg"],
        ["compare", "qrels.txt", "hybrid.run", "prefixed.run"],
        ["diagnose", "qrels.txt", "prefixed.run"],
        ["plan", "qrels.txt", "hybrid.run", "prefixed.run", "--detect", "0.02"],
    ],
    ids=["evaluate", "evaluate to a page", "evaluate to a chart", "compare", "diagnose", "plan"],
)
def test_ids_that_match_nothing(rankscope, prefixed, command):
    done = rankscope(*command)
    assert (done.code, done.out) == (2, "")
    assert 'error: prefixed: doc ids differ only by the prefix "doc-" in the run: 0 of ' in done.err
    assert '  run "doc-' in done.err
    assert "--anyway" in done.err


@pytest.mark.parametrize("command", ["evaluate", "diagnose"])
def test_anyway(rankscope, prefixed, command):
    done = rankscope(command, "qrels.txt", "prefixed.run", "--anyway")
    assert done.code == (0 if command == "evaluate" else 1), "a diagnosis finds something then"
    assert done.err.startswith("warning: prefixed: doc ids differ only by")
    assert "prefixed" in done.out


def test_trec_eval_s_text_stays_as_it_is(rankscope, prefixed):
    done = rankscope("evaluate", "qrels.txt", "prefixed.run", "--format", "trec", "-m", "map")
    assert (done.code, done.out) == (0, "map                   \tall\t0.0000\n")
    assert done.err.startswith("warning: prefixed: doc ids differ only by")


def test_explain_goes_on(rankscope, prefixed):
    query = prefixed.read_text().split()[0]
    done = rankscope("explain", "qrels.txt", "prefixed.run", "--query", query)
    assert done.code == 0
    assert done.err.startswith("warning: prefixed: doc ids differ only by")


def test_a_run_from_standard_input_is_looked_at_too(start, prefixed):
    done = start("evaluate", "qrels.txt", "-", stdin=prefixed.read_bytes())
    assert done.code == 2
    assert 'error: stdin: doc ids differ only by the prefix "doc-"' in done.err


def test_a_pipe_that_can_be_read_only_once(start, prefixed, tmp_path):
    """A shell's <(zcat run.gz) is such a pipe."""
    done = evaluated_from_pipe(start, tmp_path, "qrels.txt", prefixed.read_bytes())
    assert done.code == 2
    assert 'error: pipe: doc ids differ only by the prefix "doc-"' in done.err


def test_a_pipe_of_json(start, as_json):
    done = evaluated_from_pipe(start, as_json, "q.json", (as_json / "h.json").read_bytes())
    assert (done.code, done.err) == (0, "")
    assert "read as json (qrels, pipe)" in done.out


def evaluated_from_pipe(start, folder, qrels, content):
    """Evaluate a run that comes through a named pipe."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    done = start("evaluate", qrels, pipe)
    writer.join()
    return done


def test_swapped_json_files(rankscope, as_json):
    for command in (["evaluate"], ["evaluate", "-m", "nDCG@10"], ["diagnose"]):
        done = rankscope(command[0], "h.json", "q.json", *command[1:])
        assert (done.code, done.out) == (2, "")
        assert "error: q: the qrels hold what looks like scores" in done.err
        assert "hint: the qrels look like a run; are the arguments swapped?" in done.err
    assert rankscope("evaluate", "h.json", "q.json", "-m", "nDCG@10", "--anyway").code == 0
    assert rankscope("evaluate", "q.json", "h.json").code == 0
