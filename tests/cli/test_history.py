"""`rankscope history`: systems over time, two runs against one another, tags; what it says agrees with itself."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.experiment.history_records import History, RunChange
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project

N = 40
QUERIES = [f"q{i:02}" for i in range(N)]


def ranking(rank_of, *, queries=QUERIES):
    """Return a run with the relevant doc of each query at a rank, by a function of the query's number."""
    docs_of = {}
    for i, query in enumerate(queries):
        docs_of[query] = [f"other{j}" for j in range(9)]
        docs_of[query].insert(rank_of(i) - 1, f"d{i}")
    return docs_of


def qrels(*, more=0):
    """Return one relevant doc for each query; of the first `more` queries, other0 is relevant, too."""
    return {q: {f"d{i}": 1, **({"other0": 1} if i < more else {})} for i, q in enumerate(QUERIES)}


def keep(store, docs_of, *, week, system="bm25", labels=None, collection="cook", config=None, measure="RR"):
    kept = store.qrels.add(rs.Qrels(labels or qrels()), name=collection)
    facts = RunFacts(
        system=system,
        type="bm25",
        config={"type": "bm25", **(config or {})},
        collection=CollectionFacts(
            name=collection,
            queries={query: StoredQuery(f"text of {query}") for query in docs_of},
            qrels_sha256=kept.judgments_sha256,
            counts={"queries": len(docs_of), "qrels": N},
        ),
        started=f"2026-{9 + week // 4:02}-{1 + 7 * (week % 4):02}T10:00:00.000000+00:00",
        details=RunDetails(primary=measure, host="here", latency_ms={"p50": 1.0, "p95": 2.5, "n": 40.0}),
    )
    return store.runs.add(rs.Run(docs_of), facts)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Let cells stay in one line, so that their texts are found in one piece."""
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    return tmp_path


@pytest.fixture
def store(folder):
    """Four runs of bm25 that get better, the labels changing between the second and the third; one run of dense."""
    with rs.open_store(folder, create=True) as store:
        keep(store, ranking(lambda i: 4), week=0, config={"k1": 0.9})
        keep(store, ranking(lambda i: 4 if i else 3), week=1, config={"k1": 0.9})
        keep(store, ranking(lambda i: 4 if i else 3), week=2, labels=qrels(more=20), config={"k1": 1.2})
        keep(store, ranking(lambda i: 2 if i % 3 else 4), week=3, labels=qrels(more=20), config={"k1": 1.2})
        keep(store, ranking(lambda i: 3), week=3, system="dense", labels=qrels(more=20))
        yield store


def lines(text):
    return " ".join(text.split())


@pytest.mark.usefixtures("store")
def test_the_answer_is_carried_by_a_verdict(rankscope):
    done = rankscope("history", "--system", "bm25")
    assert done.code == 0, done.err
    text = lines(done.out)
    found = History.from_json(rankscope("history", "--system", "bm25", "--format", "json").out)
    assert found.verdict.verdict == "better"
    assert f"bm25 has risen by {found.verdict.difference:.3f} in 3 weeks." in text
    assert "The jump of 15 September was the labels, not the search." in text
    assert "k1 0.9 to 1.2" in text
    assert "labels, not quality" in text


def test_a_rise_that_may_be_chance_is_not_called_one(rankscope, folder):
    """Of 40 queries one gains and one loses a little more."""
    with rs.open_store(folder, create=True) as store:
        keep(store, ranking(lambda i: 1 if i % 2 else 5), week=0)
        keep(store, ranking(lambda i: {0: 1, 1: 3, 2: 2, 3: 2}.get(i, 1 if i % 2 else 5)), week=2)
    text = lines(rankscope("history").out)
    found = History.from_json(rankscope("history", "--format", "json").out)
    assert found.verdict.verdict in ("cannot_tell", "not_safe")
    assert "has risen" not in text
    assert "has fallen" not in text
    assert re.search(r"(Cannot tell|not safe to say) whether bm25 has changed in 2 weeks", text)
    assert f"{found.verdict.difference:+.3f}" in text


def test_a_run_that_changes_nothing(rankscope, folder):
    with rs.open_store(folder, create=True) as store:
        keep(store, ranking(lambda i: 1), week=0)
        keep(store, ranking(lambda i: 1), week=1)
    text = lines(rankscope("history").out)
    assert "bm25 has not changed in 7 days." in text
    assert "The rankings are identical." in text


def test_one_run_is_no_trend(rankscope, folder):
    with rs.open_store(folder, create=True) as store:
        keep(store, ranking(lambda i: 2), week=0)
    text = lines(rankscope("history").out)
    assert "bm25 has RR 0.5000. There is one run of it so far" in text


@pytest.mark.usefixtures("store")
def test_json_and_the_page_have_the_same_numbers(rankscope, folder):
    found = History.from_json(rankscope("history", "--format", "json").out)
    assert History.from_json(found.to_json()) == found
    by_name = {each.system: each for each in found.systems}
    bm25 = by_name["bm25"]
    assert [point.run for point in bm25.points] == [1, 2, 3, 4]
    for before, after in pairwise(bm25.points):
        assert after.change.total == pytest.approx(after.change.system + after.change.labels, abs=1e-12)
        assert after.change.system == pytest.approx(after.mean - before.mean, abs=1e-12)
    for one in found.changes:
        points = {point.run: point for point in by_name[one.system].points}
        assert one.difference == pytest.approx(points[one.after].mean - points[one.before].mean, abs=1e-12)
    done = rankscope("history", "-o", "history.html", "--system", "bm25")
    assert done.code == 0, done.err
    page = Path("history.html").read_text()
    assert "as scored then" in page
    assert "bm25: from what was printed to what it is today" in page
    assert f"{bm25.points[-1].mean:.4f}" in page
    assert 'class="v unsafe"' in page  # labels, not quality
    assert " style=" not in page
    for name in ("history.md", "history.tex", "history.txt", "history.json"):
        assert rankscope("history", "-o", name).code == 0
        assert "bm25" in Path(name).read_text()
    assert History.from_json(Path("history.json").read_text()).systems == found.systems


@pytest.mark.usefixtures("store")
def test_last_details_and_measure(rankscope):
    found = History.from_json(rankscope("history", "--last", "2", "-m", "P@3", "--format", "json").out)
    assert found.measure == "P@3"
    assert {each.system: [point.run for point in each.points] for each in found.systems} == {
        "bm25": [3, 4],
        "dense": [5],
    }
    assert "Every run" in rankscope("history", "--details").out
    earlier = History.from_json(rankscope("history", "--qrels", "1", "--format", "json").out)
    assert [point.mean for point in earlier.systems[0].points][:2] == [0.25, pytest.approx(0.25 + (1 / 3 - 1 / 4) / N)]


@pytest.mark.usefixtures("store")
def test_production_is_what_the_answer_is_about(rankscope):
    assert History.from_json(rankscope("history", "--format", "json").out).main == "bm25"  # dense came later
    assert rankscope("history", "tag", "production", "dense").code == 0
    assert History.from_json(rankscope("history", "--format", "json").out).main == "dense"


@pytest.mark.usefixtures("store")
def test_diff(rankscope):
    found = RunChange.from_json(rankscope("history", "diff", "bm25~1", "bm25", "--format", "json").out)
    assert (found.before.run, found.after.run) == (3, 4)
    assert RunChange.from_json(found.to_json()) == found
    assert next(iter(found.comparison)).delta == pytest.approx(found.change.system, abs=1e-12)
    text = lines(rankscope("history", "diff", "1", "bm25").out)
    assert "Run 4 is better" in text
    assert "The labels moved the number by" in text
    assert "k1 0.9 to 1.2" in text
    other = lines(rankscope("history", "diff", "--margin", "0.05", "bm25", "dense").out)
    assert "dense (run 5)" in other
    assert "your margin of 0.05" in other
    assert rankscope("history", "diff", "1", "4", "-o", "change.html").code == 0
    assert "What moved the number" in Path("change.html").read_text()
    identical = rankscope("history", "diff", "2", "3")
    assert "The rankings are identical" in identical.out


def test_other_queries_are_refused_or_told(rankscope, store):
    """By hand: on 40 queries RR was 1/4; of 41, the common 40 have it still, and the new one has 1."""
    keep(
        store,
        ranking(lambda i: 1 if i == N else 4, queries=[*QUERIES, "new"]),
        week=4,
        labels={**qrels(), "new": {"d40": 1}},
    )
    done = rankscope("history", "diff", "1", "bm25")
    assert done.code == 2
    assert "error: run 1 and run 6 were not asked the same queries: 1 query was added" in done.err
    assert "--anyway compares them on the 40 queries" in done.err
    text = lines(rankscope("history", "diff", "1", "bm25", "--anyway").out)
    assert "Compared on 40 common queries: 1 query was added" in text
    shown = (1 + N / 4) / (N + 1) - 0.25
    assert f"other queries: those that only one of the runs was asked {shown:+.4f}" in text
    whole = lines(rankscope("history").out)
    assert "On the 40 queries that the run before was asked, too, the system has changed by" in whole
    assert "and are compared with it on the 40 queries that both were asked" in whole
    assert "4 runs of bm25 were asked other queries than the newest (since the first run 1 query was added)" in whole
    assert "on 40 common queries" in whole
    assert "not comparable" not in whole, "of one query more, nothing on the common ones is lost"


@pytest.mark.usefixtures("store")
def test_show(rankscope, folder):
    text = rankscope("history", "show", "bm25").out
    assert re.search(r"^options +k1 = 1.2$", text, re.MULTILINE)
    assert re.search(r"^made +2026-09-22 10:00:00 UTC$", text, re.MULTILINE)
    assert re.search(r"^latency +p50 1.00 ms, p95 2.50 ms \(40 queries\)$", text, re.MULTILINE)
    assert json.loads(rankscope("history", "show", "4", "--format", "json").out)["system"] == "bm25"
    assert rankscope("history", "show", "bm25", "-o", "run.html").code == 0
    assert "k1 = 1.2" in Path("run.html").read_text()
    assert rankscope("history", "show", "bm25", "-o", "run.txt").code == 0
    assert Path("run.txt").read_text() == text


def test_tags(rankscope, store):
    assert "there are no tags yet" in rankscope("history", "tag").err
    assert rankscope("history", "tag", "baseline", "bm25~1").code == 0
    assert rankscope("history", "tag", "baseline", "bm25").code == 0  # it moves
    assert rankscope("history", "tag").out.startswith("baseline  bm25 of 2026-09-22 10:00 (run 4, ")
    assert [move.run for move in store.tags.moves("baseline")] == [3, 4]
    assert "baseline" in rankscope("history", "--details").out
    assert rankscope("history", "tag", "--remove", "baseline").code == 0
    assert store.tags.current() == {}
    for name in ("12", "a~1", " "):
        done = rankscope("history", "tag", name, "bm25")
        assert (done.code, "cannot be a tag" in done.err) == (2, True)
    assert rankscope("history", "tag", "--remove", "baseline").code == 2


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shwo", "bm25"], "there is no action 'shwo'"),
        (["show"], "0 names are given, but 1 are needed"),
        (["show", "bm26"], "the store has no run 'bm26'"),
        (["show", "bm25~9"], "bm25 has 4 stored runs"),
        (["diff", "bm25"], "1 names are given, but 2 are needed"),
        (["diff", "1", "99"], "the store has no run '99'"),
        (["--system", "splade"], "the store has no run of 'splade'"),
        (["--collection", "nope"], "the store has no runs on 'nope'"),
        (["--qrels", "77"], "the store has no qrels '77'"),
        (["-m", "nDCQ"], "nDCQ"),
        (["show", "1", "--margin", "0.1"], "--margin goes with `rankscope history` and `rankscope history diff`"),
        (["tag", "--last", "3"], "--last goes with `rankscope history`"),
    ],
)
def test_errors_say_what_is_wrong(rankscope, arguments, said):
    done = rankscope("history", *arguments)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert said in done.err
    assert done.out == ""


def test_no_store_and_an_empty_one(rankscope, folder):
    done = rankscope("history")
    assert (done.code, "there is no store" in done.err) == (2, True)
    rs.open_store(folder, create=True).close()
    done = rankscope("history")
    assert (done.code, "the store has no runs yet" in done.err) == (2, True)


def test_a_hash_that_fits_two_runs(rankscope, store):
    first, second = store.runs.list(system="bm25")[:2]
    with store.writing() as connection:
        for run, digest in ((first, "abcd1"), (second, "abcd2")):
            connection.exec_driver_sql("UPDATE run SET digest = ? WHERE id = ?", (digest.ljust(64, "0"), run.number))
    done = rankscope("history", "show", "abcd")
    assert (done.code, "several runs begin with abcd" in done.err) == (2, True)
    assert rankscope("history", "show", "abcd2").out.split()[:2] == ["run", "2"]


def test_two_collections(rankscope, store):
    keep(store, ranking(lambda i: 1), week=1, collection="bake")
    done = rankscope("history")
    assert (done.code, "2 collections: bake, cook" in done.err) == (2, True)
    assert rankscope("history", "--collection", "bake").code == 0
    done = rankscope("history", "show", "bm25")
    assert (done.code, "bm25 has runs on 2 collections: bake, cook" in done.err) == (2, True)
    done = rankscope("history", "diff", "1", "6")
    assert (done.code, "run 1 is on cook, and run 6 on bake" in done.err) == (2, True)


def test_after_runs_of_a_project(rankscope, folder, monkeypatch):
    """What a user does: run, change an option, run again, and look."""
    monkeypatch.syspath_prepend(str(folder))
    small = small_project(folder, n_queries=12)
    table = '[systems.mine]\ntype = "python"\nrecords = true\nfunction = "MODULE:{}"\n'
    for function in ("one", "other"):
        small.write(table.format(function))
        assert rankscope("run").code == 0
    text = lines(rankscope("history").out)
    assert "function searching" in text
    assert "run 1 to run 2" in text
    assert rankscope("history", "diff", "mine~1", "mine").code == 0


@pytest.mark.usefixtures("store")
class TestWhatIsAskedFor:
    def test_the_newest_run_alone_is_not_the_only_one(self, rankscope):
        said = lines(rankscope("history", "--system", "bm25", "--last", "1").out)
        assert "Only its newest run is asked for; there are 3 earlier to compare it with." in said
        assert "There is one run of it so far" in lines(rankscope("history", "--system", "dense", "--last", "1").out)

    def test_earlier_judgments_are_not_those_of_today(self, rankscope):
        """Without other0, the newest runs have RR 1/2 on two of three queries, and 1/4 on the others."""
        for arguments in (["history", "--qrels", "1", "--details"], ["history", "--qrels", "1", "-o", "old.md"]):
            done = rankscope(*arguments)
            said = lines(done.out or Path("old.md").read_text())
            assert "today" not in said
            assert "under judgments 1" in said
        assert "judgments of today" in rankscope("history").out

    def test_a_file_is_named_once(self, rankscope, folder):
        done = rankscope("history", "-o", "a.html", "-o", "b.json")
        assert (done.code, "-o is given twice: a.html and b.json" in done.err) == (2, True)
        assert not (folder / "a.html").exists()

    def test_a_diff_names_the_queries_that_moved(self, rankscope):
        """From the third run to the fourth, of 40 queries 26 rise from rank 4 to 2, and one falls from 3 to 4.

        On the first 20 other0 at rank 1 is relevant, so that nothing changes there.
        """
        found = RunChange.from_json(rankscope("history", "diff", "3", "4", "--format", "json").out)
        assert [len(found.losses), len(found.gains)] == [0, 5]
        assert {(change.a, change.b) for change in found.gains} == {(0.25, 0.5)}
        assert found.gains[0].text == f"text of {found.gains[0].query}"
        said = rankscope("history", "diff", "3", "4").out
        # 20 to 39 without the multiples of 3: 21, 24, 27, 30, 33, 36, 39
        assert "13 queries got better; the 5 that changed most" in said
        assert f"text of {found.gains[0].query}" in said
        rankscope("history", "diff", "4", "3", "-o", "change.html")
        assert f"text of {found.gains[0].query}" in Path("change.html").read_text()


def test_the_facts_are_of_the_main_and_the_best_system(rankscope, store):
    """RR of bm25 is the best; of those that came later, the answer is about what users see."""
    for week, system in ((4, "late"), (5, "later")):
        keep(store, ranking(lambda i: 9), week=week, system=system)
    rankscope("history", "tag", "production", "later")
    said = rankscope("history").out
    assert [name for name in ("bm25", "dense", "late", "later") if f"  {name} today" in said] == ["bm25", "later"]


def test_a_sentence_begins_with_a_capital(rankscope, store):
    said = lines(rankscope("history", "diff", "1", "4").out)
    assert "VERDICT Run 4 is" in said


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "command",
    [["history"], ["history", "--details"], ["history", "diff", "bm25~1", "bm25"], ["rescore"], ["leaderboard"]],
)
def test_tables_fit_where_the_text_is_piped(rankscope, monkeypatch, command):
    def widest(columns: str) -> int:
        monkeypatch.setenv("COLUMNS", columns)
        return max(len(line) for line in rankscope(*command).out.splitlines() if line.startswith("  ──"))

    whole = widest("300")
    assert widest("") == widest("no number") == widest("80") <= 80
    assert widest(f"{whole}") == whole
