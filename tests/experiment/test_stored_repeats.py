"""A stored run with several repetitions: the mean per query over all of them counts, wherever the run is looked at."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.comparison.gate import GateResult
from rankscope.experiment.baseline import load_baseline
from rankscope.experiment.history import diff_runs, history_of, rescored
from rankscope.experiment.leaderboard import leaderboard_of
from rankscope.experiment.stored_comparison import StoredQuestion, compare_stored
from rankscope.experiment.stored_scoring import policies_of
from rankscope.experiment.watch import WatchOptions, watch_project
from rankscope.web.library import Library
from rankscope.web.pages.queries import QueriesOptions, queries_page
from rankscope.web.pages.query import QueryOptions, query_page

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

# Answers by how often the query was asked before.
NOISY = """
RANKS = {"q0": (1, 2, 4, 1, 1, 1), "q1": (2, 1, 1, 1, 1, 2)}


def noisy(query):
    path = Path(__file__).with_name(f"times {query.id}")
    before = path.read_text() if path.exists() else ""
    path.write_text(before + "x")
    docs = [f"d{29 - i}" for i in range(RANKS[query.id][len(before)] - 1)] + [f"d{query.id[1:]}"]
    return [(doc, 1 - i / 20) for i, doc in enumerate(docs)]
"""
# RR by hand. First: q0 1, 1/2, 1/4 and q1 1/2, 1, 1, so that the runs have 3/4, 3/4 and 5/8.
FIRST, FIRST_SPREAD = 17 / 24, math.sqrt(3) / 24
# Then: q0 1, 1, 1 and q1 1, 1, 1/2, so that the runs have 1, 1 and 3/4: off 11/12 by 1, 1 and -2 of 1/12.
SECOND, SECOND_SPREAD = 11 / 12, math.sqrt(3) / 12


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a project whose system was asked three times, and then three times anew."""
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    made = small_project(tmp_path, n_queries=2)
    made.add(NOISY)
    made.write(systems("noisy"), measures=["RR"])
    assert main(["run", "--repeat", "3"]) == 0
    return made


@pytest.fixture
def twice(project, capsys):
    assert main(["run", "--repeat", "3", "--fresh"]) == 0
    return capsys.readouterr().err


def opened():
    return rs.open_store(Path.cwd())


def test_history_has_the_mean_and_the_spread(twice, capsys):
    with opened() as store:
        first, second = history_of(store).systems[0].points
        assert (first.mean, first.mean_then) == pytest.approx((FIRST, FIRST))
        assert (second.mean, second.spread) == pytest.approx((SECOND, SECOND_SPREAD))
        assert first.spread == pytest.approx(FIRST_SPREAD)
        assert (first.n, first.n_repetitions) == (2, 3)
        assert second.change.system == pytest.approx(SECOND - FIRST)
        assert history_of(store).changes[0].difference == pytest.approx(SECOND - FIRST)
    assert main(["history"]) == 0
    said = capsys.readouterr().out
    assert "run to run" in said
    assert "±0.14" in said  # sqrt(3)/12


def test_what_changed_since_the_last_run_is_said_of_the_means(twice):
    assert "noisy: RR 0.9167 (±0.14 from run to run, 3 repetitions), +0.2083 since run 1" in twice


def test_diff_compares_the_means(twice, capsys):
    with opened() as store:
        found = diff_runs(store, store.runs.find("noisy~1"), store.runs.find("noisy"))
    pair = next(iter(found.comparison))
    assert pair.delta == pytest.approx(SECOND - FIRST)
    assert pair.repeats.means.a == pytest.approx((3 / 4, 3 / 4, 5 / 8))
    # 3/576 + 12/576: the squares of both spreads are added
    assert pair.repeats.difference == pytest.approx(math.sqrt(15) / 24)
    assert main(["history", "diff", "noisy~1", "noisy"]) == 0
    assert "Difference from run to run" in capsys.readouterr().out


def test_leaderboard_and_rescore(twice):
    with opened() as store:
        assert leaderboard_of(store).rows[0].cells[0].mean == pytest.approx(SECOND)
        judged = rs.Qrels({"q0": {"d29": 1}, "q1": {"d1": 1}})
        again = rescored(store, "small", judged).systems[0].points
    # d29 is the first doc of q0 wherever the relevant one is not: 0, 1 and 1, while q1 stays 1/2, 1 and 1
    assert (again[0].mean, again[0].mean_then) == pytest.approx(((2 / 3 + 5 / 6) / 2, FIRST))


def test_watch_compares_the_means(twice, project):
    with opened() as store:
        found = watch_project(project.folder, store, WatchOptions(stored=True))
    assert found.watched[0].value == pytest.approx(SECOND)
    assert found.watched[0].baseline.before == pytest.approx(FIRST)


@pytest.mark.parametrize("baseline", ["noisy~1", "baseline"])
def test_a_gate_compares_the_means(project, capsys, baseline):
    """The baseline is a run of the store, or a folder that was saved of it."""
    assert main(["baseline", "save"]) == 0
    main(["run", "--repeat", "3", "--fresh"])
    capsys.readouterr()
    main(["gate", "--baseline", baseline, "--format", "json"])
    pair = GateResult.from_json(capsys.readouterr().out).checks[0].compared
    assert (pair.mean.a, pair.mean.b) == pytest.approx((FIRST, SECOND))
    assert pair.repeats.difference == pytest.approx(math.sqrt(15) / 24)
    main(["gate", "--baseline", baseline])
    assert "run to run" in capsys.readouterr().out


def test_a_saved_baseline_has_every_repetition(project):
    main(["baseline", "save"])
    kept = load_baseline(Path("baseline")).runs["small"]["noisy"]
    assert len(kept.further) == 2
    assert kept.mean == pytest.approx(FIRST)
    name = json.loads(Path("baseline/manifest.json").read_text())["collections"][0]["runs"][0]["further"][0]["file"]
    Path("baseline", name).write_bytes(b"")
    with pytest.raises(rs.InputError, match="truncated"):
        load_baseline(Path("baseline"))


def test_repetitions_are_counted_as_one_run_everywhere(twice, capsys):
    assert main(["store", "info"]) == 0
    assert "2 runs, 2 of them repeated 3 times, 1 qrels" in capsys.readouterr().out
    assert main(["history", "show", "noisy"]) == 0
    assert "3 (runs 4, 5, 6): scores are means over all of them" in capsys.readouterr().out
    assert main(["history", "show", "5"]) == 0
    assert "number 2 of 3" in capsys.readouterr().out
    assert main(["baseline", "save"]) == 0
    assert "3 repetitions" in capsys.readouterr().out


def test_a_repetition_can_be_looked_at_alone(project):
    """By its number; the number of the first stands for all."""
    with opened() as store:
        runs = store.runs.list(repetitions=True)
        assert [run.details.repetition for run in runs] == [1, 2, 3]
        assert store.runs.repetitions(runs)[1] == runs
        assert store.runs.repetitions(runs)[3] == (runs[2],)
        found = diff_runs(store, store.runs.find("1"), store.runs.find("3"))
        assert (found.before.mean, found.after.mean) == pytest.approx((FIRST, 5 / 8))
        assert "repetition 3 of 3" in runs[2].in_words


def test_repetitions_that_do_not_name_the_first(project):
    """As they were stored before they did: they share when the whole of them was finished."""
    from sqlalchemy import select, update

    from rankscope.store.schema import run as run_table

    with opened() as store, store.writing() as connection:
        for number, facts in connection.execute(select(run_table.c.id, run_table.c.facts)).all():
            old = {name: value for name, value in facts.items() if name != "repetition_of"}
            connection.execute(update(run_table).where(run_table.c.id == number).values(facts=old))
    with opened() as store:
        assert history_of(store).systems[0].points[0].mean == pytest.approx(FIRST)


def test_stored_runs_are_compared_by_the_means_over_their_repetitions(twice):
    with opened() as store:
        runs = store.runs.list()
        labels = store.qrels.find(runs[0].collection)
        question = StoredQuestion(
            runs={"before": runs[0], "after": runs[1]},
            labels=labels,
            measure=rs.parse_measure("RR"),
            policies=policies_of(runs[0]),
            baseline="before",
        )
        for comparison in (compare_stored(store, question), compare_stored(store, question)):  # made, then found again
            pair = comparison["before", "after"]
            assert (pair.mean.a, pair.mean.b) == pytest.approx((FIRST, SECOND))
            assert pair.repeats is not None
            assert comparison.scores["before"].column("RR").tolist() == pytest.approx([7 / 12, 5 / 6])


def test_the_list_of_queries_shows_means_over_repetitions(twice):
    with opened() as store:
        before, after = (str(run.number) for run in store.runs.list())
        page = queries_page(Library(store), QueriesOptions(a=before, b=after))
    scores = {line.query: (line.score_a, line.score_b) for line in page.lines}
    assert scores == {"q0": pytest.approx((7 / 12, 1)), "q1": pytest.approx((5 / 6, 5 / 6))}
    assert page.means == pytest.approx((FIRST, SECOND))


def test_the_page_of_a_query_says_that_its_list_is_the_first_of_several(twice):
    with opened() as store:
        page = query_page(Library(store), QueryOptions(query="q0"))
    assert "asked of noisy (run 1) 3 times" in page.repeated
