"""Systems that are asked several times: what is asked and kept, what is averaged, and what is said of the spread."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import sys
from collections import Counter
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli import main
from rankscope.errors import OptionError
from rankscope.experiment.project import load_project
from rankscope.experiment.results import Benchmark, BenchmarkRecord, CollectionResult
from rankscope.experiment.runner import plan_tasks, run_project
from rankscope.report.benchmark import report_of
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project, systems

# Answers by how often the query was asked before; each function counts on its own, also over processes.
FUNCTIONS = """
TIMES = Path(__file__).with_name("times")
RANKS = {
    "noisy": {"q0": (1, 2, 4), "q1": (2, 1, 1)},
    "lively": {"q0": (1, 1, 2), "q1": (2, 2, 2)},
    "steady": {"q0": (2, 2, 2), "q1": (2, 2, 2)},
}


def asked_before(name, query_id):
    TIMES.mkdir(exist_ok=True)
    path = TIMES / f"{name} {query_id}"
    before = path.read_text() if path.exists() else ""
    path.write_text(before + "x")
    return len(before)


def with_relevant_at(query_id, rank):
    docs = [f"d{29 - i}" for i in range(rank - 1)] + [f"d{query_id[1:]}"]
    return [(doc, 1 - i / 20) for i, doc in enumerate(docs)]


def scripted(name, query):
    return with_relevant_at(query.id, RANKS[name][query.id][asked_before(name, query.id)])


def noisy(query):
    return scripted("noisy", query)


def lively(query):
    return scripted("lively", query)


def steady(query):
    return scripted("steady", query)


def wobbly(query):
    '''Put the relevant doc at rank 1 or 2, in turns: all queries of a run alike.'''
    return with_relevant_at(query.id, 1 + asked_before("wobbly", query.id) % 2)


def third(query):
    return with_relevant_at(query.id, 3)


def reordered(query):
    '''Swap two docs that are not relevant each time.'''
    docs = [f"d{query.id[1:]}", "d28", "d29"]
    if asked_before("reordered", query.id) % 2:
        docs = [docs[0], docs[2], docs[1]]
    return [(doc, 3.0 - i) for i, doc in enumerate(docs)]


def ordered(query):
    return [(f"d{query.id[1:]}", 3.0), ("d28", 2.0), ("d29", 1.0)]


def at_times(query):
    '''Fail for q3 when it is asked the second time, and once more when that is tried again.'''
    log(query.id)
    if query.id == "q3" and asked_before("at_times", query.id) in (1, 2):
        raise ValueError("not now")
    return docs_for(query.id)


def hollow_later(query):
    return docs_for(query.id) if asked_before("hollow_later", query.id) == 0 else []


def dies(query):
    n_before = asked_before("dies", query.id)
    log(query.id)
    if query.id == "q5" and n_before == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return docs_for(query.id, str(n_before))
"""


@pytest.fixture
def small(tmp_path) -> SmallProject:
    project = small_project(tmp_path, n_queries=20)
    project.add(FUNCTIONS)
    return project


@pytest.fixture
def two(tmp_path) -> SmallProject:
    """Return a project of two queries, for a pencil."""
    project = small_project(tmp_path, n_queries=2)
    project.add(FUNCTIONS)
    return project


def first_of(benchmark: Benchmark) -> CollectionResult:
    return benchmark.collections[0]


def words_of(benchmark: Benchmark, *, details: bool = False) -> str:
    return " ".join(render(report_of(benchmark, with_figures=False, every_pair=details), "text").split())


class TestByPencil:
    """RR of noisy: q0 1, 1/2, 1/4 and q1 1/2, 1, 1; runs 3/4, 3/4, 5/8. Of lively: q0 1, 1, 1/2 and q1 always 1/2."""

    def test_means_spreads_and_that_of_the_difference(self, two):
        two.write(systems("steady", "noisy", "lively"), measures=["RR"])
        result = first_of(run_project(two.folder, repeat=3))
        steady, noisy, lively = result.systems
        assert result.scores["noisy"]["q0", "RR"] == pytest.approx(7 / 12)
        assert [each.mean for each in noisy.repetitions] == pytest.approx([3 / 4, 3 / 4, 5 / 8])
        assert noisy.spread == pytest.approx(math.sqrt(3) / 24)
        assert [each.mean for each in lively.repetitions] == pytest.approx([3 / 4, 3 / 4, 1 / 2])
        assert lively.spread == pytest.approx(math.sqrt(3) / 12)  # off 2/3 by 1, 1 and -2 of 1/12
        assert (steady.spread, steady.repeats_itself) == (0.0, True)
        assert (noisy.repeats_itself, lively.repeats_itself) == (False, False)
        pair = result.comparison["steady", "noisy"]
        assert pair.mean.b == pytest.approx(17 / 24)
        assert pair.delta == pytest.approx(17 / 24 - 1 / 2)
        assert pair.repeats.difference == pytest.approx(math.sqrt(3) / 24), "steady adds nothing to it"
        assert pair.n_units == 2, "queries are evidence, repetitions are not"

    def test_of_two_that_vary_squares_are_added(self, two):
        two.write(systems("noisy", "lively"), measures=["RR"])
        pair = first_of(run_project(two.folder, repeat=3)).comparison["noisy", "lively"]
        assert pair.repeats.means.a == pytest.approx((3 / 4, 3 / 4, 5 / 8))
        # 3/576 + 12/576 = 15/576; the pairing of repetitions is arbitrary, so it plays no part
        assert pair.repeats.difference == pytest.approx(math.sqrt(15) / 24)
        assert pair.repeats.error == pytest.approx(math.sqrt(15) / 24 / math.sqrt(3))

    def test_a_run_file_has_one_answer_and_a_spread_that_is_not_known(self, two):
        (two.folder / "old.run").write_text("q0 Q0 d0 1 2 old\nq1 Q0 d29 1 2 old\nq1 Q0 d1 2 1 old\n")
        two.write('[systems.old]\ntype = "run"\npath = "old.run"\n' + systems("noisy"), measures=["RR"], repeat=3)
        benchmark = run_project(two.folder)
        result = first_of(benchmark)
        old, noisy = result.systems
        assert (old.n_times, old.repeats_itself, old.spread) == (1, None, None)
        assert noisy.n_times == 3
        pair = result.comparison["old", "noisy"]
        assert (pair.repeats.n.a, pair.repeats.spread.a) == (1, None)
        assert pair.repeats.difference == pytest.approx(noisy.spread)
        words = words_of(benchmark)
        assert "old was asked once, so its spread is not known." in words

    def test_it_agrees_with_each_run_on_its_own(self, small):
        small.write(systems("third", "dies"), measures=["nDCG@10", "RR"])
        result = first_of(run_project(small.folder, repeat=1))
        assert result.systems[1].repetitions == ()
        small.write(systems("third", "wobbly"), measures=["nDCG@10", "RR"])
        result = first_of(run_project(small.folder, repeat=3))
        files = [small.folder / each.run for each in result.systems[1].repetitions]
        assert [path.name for path in files] == ["wobbly.trec.gz", "wobbly.2.trec.gz", "wobbly.3.trec.gz"]
        qrels = small.folder / "small/qrels/test.tsv"
        alone = [rs.evaluate(qrels, str(path), "nDCG@10 RR") for path in files]
        means = [next(iter(scores.values())).mean()["nDCG@10"].value for scores in alone]
        assert [each.mean for each in result.systems[1].repetitions] == pytest.approx(means)
        assert result.systems[1].spread == pytest.approx(statistics.stdev(means))
        assert result.scores["wobbly"].mean()["nDCG@10"].value == pytest.approx(statistics.fmean(means))


class TestWhatIsAsked:
    def test_each_query_as_often_as_it_says_and_nothing_twice(self, small):
        small.write(systems("one", "other"))
        project = load_project(small.folder)
        run_project(project, repeat=3)
        assert small.asked == Counter({f"q{i}": 3 for i in range(20)})
        run_project(project, repeat=3)
        assert set(small.asked.values()) == {3}, "all of it is kept"
        run_project(project, repeat=2)
        assert set(small.asked.values()) == {3}, "two of three are kept as well"
        run_project(project, repeat=4)
        assert set(small.asked.values()) == {4}, "only the fourth is new"
        run_project(project, repeat=2, fresh=True)
        assert set(small.asked.values()) == {6}
        journals = sorted(path.name for path in (small.folder / "results/journal/small").glob("one.*"))
        assert [name.split(".", 2)[2] for name in journals] == ["2.jsonl", "jsonl"], "--fresh removed the others"

    def test_a_run_that_is_killed_in_a_repetition_goes_on_there(self, small):
        small.write(systems("dies", "third"), repeat=3)
        assert small.run().returncode == -9
        assert small.asked["q4"] == 2
        assert small.asked["q6"] == 1
        assert small.run().returncode == 0
        assert small.asked == Counter({f"q{i}": 3 for i in range(20)} | {"q5": 4}), "q5 was being asked"
        assert small.run().returncode == 0
        assert small.asked.total() == 61

    def test_journals_are_bound_to_their_repetition(self, small):
        small.write(systems("one"))
        run_project(small.folder, repeat=2)
        folder = small.folder / "results/journal/small"
        first = next(folder.glob("one.????????????.jsonl"))
        second = next(folder.glob("one.????????????.2.jsonl"))
        assert json.loads(second.read_text().splitlines()[0])["repetition"] == 2
        second.write_bytes(first.read_bytes())
        notes = first_of(run_project(small.folder, repeat=2)).notes
        assert any("was of another version or about something else" in note for note in notes)
        assert small.asked["q0"] == 3, "answers of another repetition are no answers of this one"

    def test_latency_is_over_all_repetitions(self, small):
        small.write(systems("one"))
        ticks = iter(range(100_000))
        (system,) = first_of(run_project(small.folder, repeat=3, clock=lambda: float(next(ticks)))).systems
        assert system.costs.latency_ms.n == 3 * 20 - 3 * 3, "without the first three calls of each"
        assert system.costs.queries_per_second == pytest.approx(1.0)

    def test_a_query_that_fails_in_one_repetition(self, small):
        small.write(systems("third", "at_times"))
        benchmark = run_project(small.folder, repeat=3)
        system = first_of(benchmark).systems[1]
        assert [(one.query, one.repetition) for one in system.failures] == [("q3", 2)]
        assert (system.n_queries, system.n_answered) == (20, 19)
        assert [each.n_answered for each in system.repetitions] == [20, 19, 20]
        assert benchmark.n_failed == 1
        words = words_of(benchmark)
        assert "at_times: 1 of 20 queries failed in some of 3 repetitions, 1 of 60 times in all, and counts 0" in words
        assert first_of(benchmark).comparison["third", "at_times"].missing.b == ("q3",), "the gate hears of it"
        n_before = small.asked.total()
        again = run_project(small.folder, repeat=3)
        assert small.asked.total() == n_before + 1, "only the one that failed"
        assert again.n_failed == 0
        run_project(small.folder, repeat=3)

    def test_a_repetition_without_any_doc_leaves_the_system_out(self, small, monkeypatch, capsys):
        small.write(systems("third", "other", "hollow_later"))
        monkeypatch.chdir(small.folder)
        assert main.main(["run", "--repeat", "2"]) == 2
        assert (
            "hollow_later is left out: it has retrieved nothing at all in repetition 2 of 2" in capsys.readouterr().err
        )

    def test_tasks_say_how_often(self, small):
        small.write(systems("one") + systems("other", also="repeat = 5\n"), repeat=3)
        project = load_project(small.folder)
        assert [task.repeat for task in plan_tasks(project)] == [3, 5]
        assert [project.repeat_of(name, 2) for name in ("one", "other")] == [2, 2]


class TestWhatIsWritten:
    def test_runs_manifest_and_what_is_no_longer_asked_for(self, small):
        small.write(systems("third", "wobbly"))
        run_project(small.folder, repeat=3)
        manifest = json.loads((small.folder / "results/manifest.json").read_text())
        found = manifest["collections"]["small"]["systems"]["wobbly"]
        assert found["repeat"] == 3
        assert found["repeats_itself"] is False
        assert found["repetitions"][0] == found["run"]
        for each in found["repetitions"]:
            assert each["sha256"] == hashlib.sha256((small.folder / each["path"]).read_bytes()).hexdigest()
        assert manifest["collections"]["small"]["systems"]["third"]["repeats_itself"] is True
        names = [f"wobbly{number}.trec.gz{end}" for number in ("", ".2", ".3") for end in ("", ".queries.json")]
        assert sorted(names) == [name for name in small.runs if name.startswith("wobbly")]
        run_project(small.folder, repeat=2)
        assert "wobbly.2.trec.gz" in small.runs
        assert "wobbly.3.trec.gz" not in small.runs

    def test_other_commands_read_them(self, small, monkeypatch, capsys):
        small.write(systems("third", "wobbly"))
        run_project(small.folder, repeat=2)
        monkeypatch.chdir(small.folder / "results/runs/small")
        qrels = str(small.folder / "small/qrels/test.tsv")
        assert main.main(["compare", qrels, "wobbly.trec.gz", "wobbly.2.trec.gz", "--format", "json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert [run["name"] for run in record["runs"]] == ["wobbly", "wobbly.2"]

    def test_json_is_read_back_equal_and_has_it_all(self, small):
        small.write(systems("third", "wobbly"))
        benchmark = run_project(small.folder, repeat=2)
        assert BenchmarkRecord.from_json(benchmark.to_json()) == benchmark.record
        (record,) = json.loads(benchmark.to_json())["collections"]
        assert [each["run"] for each in record["systems"][1]["repetitions"]] == [
            "results/runs/small/wobbly.trec.gz",
            "results/runs/small/wobbly.2.trec.gz",
        ]
        assert len(record["evaluation"]["repetitions"]["wobbly"]) == 2
        pair = record["comparison"]["groups"][0]["comparisons"][0]
        assert pair["repeats"]["difference"] == pytest.approx(record["systems"][1]["spread"])
        files = record["comparison"]["runs"][1]["repetitions"]
        assert [each["sha256"] for each in files] == [
            hashlib.sha256(small.runs[name]).hexdigest() for name in ("wobbly.trec.gz", "wobbly.2.trec.gz")
        ]


class TestWhatIsSaid:
    """wobbly has RR 1 and 1/2 in turns: over two runs a mean of 3/4, off by 1/4 each, so a spread of sqrt(2)/4."""

    SIZE = f"{math.sqrt(2) / 4:.2f}"

    def test_beside_the_difference_and_against_the_margin(self, small):
        small.write(systems("third", "wobbly"), measures=["RR"])
        benchmark = run_project(small.folder, repeat=2)
        words = words_of(benchmark)
        caution = (
            f"From run to run the difference between wobbly and third changes by {self.SIZE} (standard deviation), more "
            "than the margin of 0.01: a difference that small between two single runs says nothing."
        )
        assert caution in words
        assert caution in first_of(benchmark).comparison["third", "wobbly"].verdict.cautions
        assert f"Difference from run to run ±{self.SIZE} standard deviation over 2 repetitions" in words
        assert "third: the same rankings in each of 2 repetitions." in words
        assert "wobbly was asked 2 times, and its scores are means over the repetitions: RR is 1.0000, 0.5000" in words
        page = render(report_of(benchmark), "html")
        assert f"±{self.SIZE}" in page
        assert "more than the <" in page or "more than the margin" in page

    def test_of_several_pairs_it_stands_beside_the_answer(self, small):
        small.write(systems("third", "wobbly", "other"), measures=["RR"])
        words = words_of(run_project(small.folder, repeat=2))
        assert f"CAUTION The RR of wobbly changes by {self.SIZE} from run to run (standard deviation), more" in words
        assert words.count("run to run") > 3
        assert f"±{self.SIZE}" in words

    def test_a_wide_margin_is_not_exceeded(self, small):
        small.write(systems("third", "wobbly"), measures=["RR"], margin=0.4)
        benchmark = run_project(small.folder, repeat=2)
        assert "says nothing" not in words_of(benchmark)
        assert f"changes by {self.SIZE}, within your margin of 0.4" in words_of(benchmark)

    def test_a_verdict_that_the_spread_would_turn_says_so(self, small):
        """Every query gains 5/12, so the queries are sure; two runs off by 1/4 each are not."""
        small.write(systems("third", "wobbly"), measures=["RR"])
        pair = first_of(run_project(small.folder, repeat=2)).comparison["third", "wobbly"]
        assert pair.delta == pytest.approx(3 / 4 - 1 / 3)
        assert pair.verdict.code == "better"
        # the error of a mean of two runs: sqrt(2)/4 / sqrt(2) = 1/4; about two of these are more than 5/12
        assert pair.repeats.error == pytest.approx(1 / 4)
        assert any("with the spread from run to run added to the error" in one for one in pair.verdict.cautions)

    def test_systems_that_repeat_themselves_take_one_line(self, small):
        small.write(systems("one", "other"))
        once, thrice = (words_of(run_project(small.folder, repeat=n, fresh=True)) for n in (1, 3))
        assert "run to run" not in thrice
        assert "one, other: the same rankings in each of 3 repetitions." in thrice
        assert "repetition" not in once
        assert len(thrice) - len(once) < 200

    def test_rankings_that_vary_are_not_called_identical(self, small):
        small.write(systems("ordered", "reordered"), measures=["RR"])
        once = first_of(run_project(small.folder)).comparison["ordered", "reordered"]
        assert once.verdict.code == "identical"
        result = first_of(run_project(small.folder, repeat=2))
        assert result.systems[1].repeats_itself is False
        assert result.comparison["ordered", "reordered"].verdict.code == "same"

    def test_what_looks_at_docs_says_that_it_is_about_the_first_run(self, small):
        small.write(systems("third", "wobbly"), measures=["nDCG@10"])
        words = words_of(run_project(small.folder, repeat=2), details=True)
        assert "Docs and ranks are those of the first repetition of wobbly, whose nDCG@10 is 1.0000" in words
        assert "about the first repetition, whose Δ is +0.500" in words  # 1 - 1/log2(4)

    def test_what_changed_since_the_last_run_is_about_the_mean(self, small, monkeypatch, capsys):
        small.write(systems("wobbly"), measures=["RR"])
        monkeypatch.chdir(small.folder)
        assert main.main(["run", "--repeat", "2"]) == 0
        printed = capsys.readouterr()
        # by hand: the means are 1 and 1/2, whose standard deviation is 0.5 divided by the root of 2
        assert "wobbly: RR 0.7500 (±0.35 from run to run, 2 repetitions), the first stored run" in printed.err
        assert "0.7500" in printed.out, "the mean of both"

    def test_one_system_alone(self, small):
        small.write(systems("wobbly"), measures=["RR"], margin=0.1)
        words = words_of(run_project(small.folder, repeat=2))
        assert (
            f"The RR of wobbly changes by {self.SIZE} from run to run (standard deviation), more than the margin"
            in words
        )
        assert f"0.7500 ±{self.SIZE}" in words


class TestOptions:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("repeat = 0\n", "should be a whole number from 1 up"),
            ('repeat = "3"\n', "should be a whole number from 1 up"),
            ("repeat = true\n", "should be a whole number from 1 up"),
            ("repeat = [1, 2]\n", "should be a whole number from 1 up"),
        ],
    )
    def test_what_repeat_may_be_in_a_system(self, small, given, message):
        small.write(systems("one", also=given))
        with pytest.raises(OptionError, match=rf"systems.one.repeat is .*{message}"):
            load_project(small.folder)

    def test_in_a_project_and_on_the_command_line(self, small, monkeypatch, capsys):
        small.write(systems("one"), repeat=0)
        with pytest.raises(OptionError, match="repeat is 0, but should be a whole number from 1 up"):
            load_project(small.folder)
        small.write(systems("one"))
        monkeypatch.chdir(small.folder)
        assert main.main(["run", "--repeat", "0"]) == 2
        assert "repeat is 0, but every query has to be asked at least once" in capsys.readouterr().err
        assert main.main(["run", "--repeat", "2", "--format", "json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert len(record["collections"][0]["systems"][0]["repetitions"]) == 2

    def test_a_run_file_cannot_be_asked_again(self, small):
        small.write('[systems.old]\ntype = "run"\npath = "old.run"\nrepeat = 2\n')
        with pytest.raises(OptionError, match="a run that exists already has one answer"):
            load_project(small.folder)

    def test_an_option_of_that_name_of_a_class_is_the_class_s_own(self, small):
        small.add("""
from dataclasses import dataclass

@dataclass(kw_only=True)
class Repeating:
    name: str = ""
    repeat: str = "no"

    def fit(self, docs, *, progress=None):
        pass

    def search(self, queries, *, k):
        return [docs_for(query.id) for query in queries]

    def describe(self):
        return {"repeat": self.repeat}

    index_bytes = 0
""")
        small.write('[systems.mine]\ntype = "MODULE:Repeating"\nrepeat = "yes"\n', repeat=2)
        project = load_project(small.folder)
        assert project.systems["mine"].options == {"repeat": "yes"}
        assert project.repeat_of("mine") == 2
