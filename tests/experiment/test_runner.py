"""Running a project in this process: what is asked, chosen, measured and written."""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rankscope.data.queries import load_queries
from rankscope.errors import InputError, OptionError
from rankscope.experiment import retrieve
from rankscope.experiment.answer_store import AnswerInfo, AnswerSummary, SystemCall
from rankscope.experiment.costs import MemoryRise, latency_of, throughput
from rankscope.experiment.project import load_project
from rankscope.experiment.results import Latency
from rankscope.experiment.run_files import file_name
from rankscope.experiment.runner import RunKeywords, RunOptions, run_project
from rankscope.experiment.scoring import seed_note
from rankscope.experiment.splits import make_split, reveals
from rankscope.systems.base import Query
from rankscope.systems.working_directory import load_module, working_directory

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

PAIR = systems("one", "other")

# Finds the relevant doc of the train queries with value 1, of all others with value 2; 3 finds some of both.
CHOOSY = """
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(kw_only=True)
class Choosy:
    name: str = ""
    value: int = 1
    tilt: float = 0.0

    def fit(self, docs, *, progress=None):
        with (HERE / "fits.log").open("a") as stream:
            stream.write(f"{self.name} {self.value}\\n")

    def search(self, queries, *, k):
        with (HERE / "choosy.log").open("a") as stream:
            stream.writelines(f"{self.value} {query.id}\\n" for query in queries)
        return [self.docs(query.id) for query in queries]

    def docs(self, query):
        number = int(query[1:])
        right = {1: number < 20, 2: number >= 20, 3: number % 4 == 0}[self.value]
        return [(f"d{(number if right else number + 1) % 30}", 1.0 + self.tilt)]

    def describe(self) -> dict[str, Any]:
        return {"type": "choosy", "value": self.value, "tilt": self.tilt}

    index_bytes = 0
"""


BROKEN = """
from dataclasses import dataclass

@dataclass(kw_only=True)
class Broken:
    name: str = ""

    def fit(self, docs, *, progress=None):
        return {}["title"]

    def describe(self):
        return {"type": "broken"}
"""

ODD_SIZE = """
class Odd(Broken):
    def fit(self, docs, *, progress=None):
        pass

    def index_bytes(self):
        return 7
"""


@pytest.fixture
def small(tmp_path):
    """Return a small project without a project file."""
    return small_project(tmp_path)


@pytest.fixture
def choosy(small):
    """Return a small project with a system of which something has to be chosen."""
    (small.folder / f"{small.module}_choosy.py").write_text(CHOOSY)
    return small


class TestFromPython:
    def test_a_path_or_a_project_and_options_or_keywords(self, small):
        small.write(PAIR)
        file = small.folder / "rankscope.toml"
        for project in (file, str(file), small.folder, load_project(file)):
            benchmark = run_project(project, only="other", collections=["small"], depth=3, fresh=True)
            assert [system.name for system in benchmark.collections[0].systems] == ["other"]
            assert benchmark.depth == 3
        benchmark = run_project(file, RunOptions(only=("other",), depth=3), depth=4)
        assert (benchmark.depth, len(benchmark.collections[0].systems)) == (4, 1)

    def test_what_is_wrong_is_said(self, small):
        small.write(PAIR)
        with pytest.raises(TypeError, match="unexpected keyword argument 'frehs'; did you mean fresh"):
            run_project(small.folder, frehs=True)
        with pytest.raises(OptionError, match="depth is 'all', but it must be a whole number"):
            run_project(small.folder, depth="all")

    def test_keywords_are_the_options(self):
        assert tuple(RunKeywords.__annotations__) == RunOptions.__struct_fields__


def with_split(small, n_train: int = 20) -> Path:
    """Store a split whose train queries are q0 to q19."""
    path = small.folder / "split.json"
    queries = load_queries(small.folder / "small" / "queries.jsonl")
    make_split(queries, path, train=0.5)
    record = json.loads(path.read_text())
    ids = [f"q{i}" for i in range(40)]
    path.write_text(json.dumps({**record, "train": ids[:n_train], "holdout": ids[n_train:]}))
    return path


def with_sessions(small) -> None:
    """Let every eight queries be a session."""
    path = small.folder / "small" / "queries.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**row, "session": f"s{i // 8}"}) + "\n" for i, row in enumerate(rows)))


def run(small, clock=time.perf_counter, **options):
    return run_project(load_project(small.folder), RunOptions(**options), clock=clock)


class TestRunning:
    def test_writes_runs_and_a_manifest(self, small):
        small.write(PAIR)
        benchmark = run(small, command="rankscope run")
        (result,) = benchmark.collections
        assert result.comparison.baseline == "one"
        assert [system.n_answered for system in result.systems] == [40, 40]
        path = small.folder / "results" / "runs" / "small" / "one.trec.gz"
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        assert len(lines) == 40 * 10
        fingerprint = result.systems[0].fingerprint
        query, _, _, rank, score, tag = lines[0].split()
        assert (query, rank, tag) == ("q0", "1", f"one-{fingerprint[:12]}")
        assert float(score) == 1.0
        manifest = json.loads((small.folder / "results" / "manifest.json").read_text())
        one = manifest["collections"]["small"]["systems"]["one"]
        assert one["fingerprint"] == fingerprint
        assert one["run"]["path"] == "results/runs/small/one.trec.gz"
        assert (one["n_queries"], one["n_answered"], one["n_failed"]) == (40, 40, 0)
        assert manifest["command"] == "rankscope run"
        assert str(small.folder) not in json.dumps(manifest)

    def test_nothing_is_asked_twice_and_the_files_stay_the_same(self, small):
        small.write(PAIR)
        run(small)
        before = small.runs
        run(small)
        assert set(small.asked.values()) == {1}
        assert small.runs == before

    def test_more_queries_or_another_depth_start_anew_and_other_judgments_do_not(self, small):
        small.write(PAIR)
        run(small)
        qrels = small.folder / "small" / "qrels" / "test.tsv"
        qrels.write_text(qrels.read_text().replace("q1\td1\t1", "q1\td2\t1"))
        run(small)
        assert set(small.asked.values()) == {1}
        run(small, depth=5)
        assert set(small.asked.values()) == {2}

    def test_fresh_throws_earlier_answers_away(self, small):
        small.write(PAIR)
        run(small)
        run(small, fresh=True, only=("one",))
        assert set(small.asked.values()) == {2}
        assert sorted(path.name.partition(".")[0] for path in (small.folder / "results/journal/small").iterdir()) == [
            "one", "other",
        ]  # fmt: skip

    def test_only_judged_queries_are_asked(self, small):
        qrels = small.folder / "small" / "qrels" / "test.tsv"
        kept = [line for line in qrels.read_text().splitlines() if not line.startswith(("q1\t", "q2\t"))]
        qrels.write_text("\n".join([*kept, "q99\td1\t1"]) + "\n")
        small.write(PAIR)
        (result,) = run(small).collections
        assert len(small.asked) == 38
        assert result.scores.qrels.n_queries == 38
        assert any("2 queries without judgments were not asked" in note for note in result.notes)
        assert any("1 judged query that the collection does not have" in note for note in result.notes)

    def test_strata_margin_and_measures_come_from_the_project(self, small):
        small.write(PAIR, strata=["difficulty", "mood"], margin=0.2, measures=["RR@10", "P@5"], seeds=[3, 4])
        (result,) = run(small).collections
        assert result.scores.measures == ("RR@10", "P@5")
        assert result.comparison.settings.margin == 0.2
        assert result.comparison.settings.seed == 3
        requested = {
            (part.attribute, part.value) for pair in result.comparison for part in pair.strata if part.requested
        }
        assert requested == {("difficulty", "easy"), ("difficulty", "hard")}
        assert any("no attribute mood" in note for note in result.notes)
        assert any("each of the seeds 3, 4" in note or "depend on the seed" in note for note in result.notes)

    @pytest.mark.parametrize(
        ("second", "words"),
        [
            (["better", "same"], "The verdicts are the same with each of the seeds 3, 4."),
            (["better", "worse"], "1 verdict of 2 depends on the seed (of 3, 4): too close to call."),
            (["cannot_tell", "worse"], "2 verdicts of 2 depend on the seed (of 3, 4): too close to call."),
        ],
    )
    def test_verdicts_that_depend_on_the_seed_are_told(self, second, words):
        first, other = (
            [SimpleNamespace(final_verdict=SimpleNamespace(code=code)) for code in codes]
            for codes in (["better", "same"], second)
        )
        assert seed_note([3, 4], [first, other]) == words

    def test_queries_count_by_their_weight(self, small):
        path = small.folder / "small" / "queries.jsonl"
        queries = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**q, "traffic": 1 + i % 4}) + "\n" for i, q in enumerate(queries)))
        small.write(PAIR, weights="traffic")
        (result,) = run(small).collections
        weights = np.array([1 + int(query[1:]) % 4 for query in result.scores["one"].query_ids])
        means = {}
        for name, scores in result.scores.items():
            means[name] = float((weights * scores.column("nDCG@10")).sum() / weights.sum())  # by hand
            assert scores.mean()["nDCG@10"].value == pytest.approx(means[name])
        pair = result.comparison["one", "other"].pair
        assert (pair.mean.a, pair.mean.b) == (pytest.approx(means["one"]), pytest.approx(means["other"]))
        assert pair.delta == pytest.approx(means["other"] - means["one"])
        assert pair.n_effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
        manifest = json.loads((small.folder / "results/manifest.json").read_text())
        assert manifest["collections"]["small"]["weights"] == "traffic"

    def test_queries_that_belong_together_are_not_taken_for_independent(self, small):
        with_sessions(small)
        small.write(PAIR, group="session")
        (result,) = run(small).collections
        pair = result.comparison["one", "other"].pair
        scores = {name: run.column("nDCG@10") for name, run in result.scores.items()}
        gains = dict(zip(result.scores["one"].query_ids, scores["other"] - scores["one"], strict=True))
        ordered = np.array([gains[f"q{i}"] for i in range(40)])
        # by hand (Liang & Zeger): the sums of the five sessions' deviations, t with four degrees of freedom
        sums = (ordered - ordered.mean()).reshape(5, 8).sum(axis=1)
        half = 2.7764451051977987 * np.sqrt(5 / 4 * (sums**2).sum()) / 40
        assert pair.n_units == 5
        assert pair.ci_check.t.high - pair.ci_check.t.low == pytest.approx(2 * half)
        manifest = json.loads((small.folder / "results/manifest.json").read_text())
        assert manifest["collections"]["small"]["group"] == "session"

    def test_a_group_that_queries_do_not_have_is_an_error(self, small):
        with_sessions(small)
        small.write(PAIR, group="sesion")
        with pytest.raises(InputError, match=r"no attribute 'sesion'(.|\n)*did you mean session"):
            run(small, only=("other",))

    def test_one_system_is_evaluated_without_a_comparison(self, small):
        small.write(PAIR)
        (result,) = run(small, only=("other",)).collections
        assert result.comparison is None
        assert list(result.scores) == ["other"]

    def test_the_baseline_can_be_another(self, small):
        small.write(PAIR)
        assert run(small, baseline="other").collections[0].comparison.baseline == "other"

    def test_ids_with_blanks_are_written_as_json_lines(self, small):
        (small.folder / f"{small.module}.py").write_text("def blank(query):\n    return ['a doc', 'd1']\n")
        small.write('[systems.blank]\ntype = "python"\nfunction = "MODULE:blank"\n')
        (result,) = run(small).collections
        assert result.systems[0].run == "results/runs/small/blank.jsonl.gz"
        assert result.scores["blank"].mean()["R@100"].value > 0

    def test_a_depth_below_a_cut_off_is_told(self, small):
        small.write(PAIR)
        (result,) = run(small, depth=5).collections
        assert "R@100 looks at 100 docs, but only 5 were asked for." in result.notes

    def test_a_system_that_cannot_index_is_left_out_and_the_others_go_on(self, small):
        small.add(BROKEN)
        small.write('[systems.broken]\ntype = "MODULE:Broken"\n' + PAIR)
        (result,) = run(small).collections
        (left_out,) = result.left_out
        assert left_out.name == "broken"
        assert "broken could not index the docs: KeyError: 'title'" in left_out.finding.message
        assert set(result.scores) == {"one", "other"}
        assert set(small.asked.values()) == {1}

    def test_an_index_whose_size_is_no_number_is_named(self, small):
        small.add(BROKEN + ODD_SIZE)
        small.write('[systems.odd]\ntype = "MODULE:Odd"\n')
        (left_out,) = run(small).collections[0].left_out
        assert "odd could not say how large its index is: TypeError" in left_out.finding.message

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"only": ("won",)}, "there is no system 'won' to run"),
            ({"collections": ("big",)}, "there is no collection 'big' to run"),
            ({"baseline": "two"}, "there is no system 'two'"),
            ({"reveal": True}, "there is nothing to reveal"),
            ({"depth": 0}, "k is 0"),
        ],
    )
    def test_options_that_cannot_be_met(self, small, options, message):
        small.write(PAIR)
        with pytest.raises(OptionError, match=message):
            run(small, **options)


class TestFailures:
    PICKY = systems("picky")

    def test_a_function_that_raises_fails_its_query_alone(self, small):
        small.write(self.PICKY)
        (result,) = run(small).collections
        (picky,) = result.systems
        assert [failure.query for failure in picky.failures] == ["q3", "q13", "q23", "q33"]
        assert picky.failures[0].reason == "ValueError: I do not like q3"
        assert small.asked == {f"q{i}": 2 if i % 10 == 3 else 1 for i in range(40)}, "tried twice"
        assert result.scores["picky"].to_dict()["q3"]["nDCG@10"] == 0

    def test_only_what_failed_is_asked_again(self, small):
        small.write(self.PICKY)
        run(small)
        run(small)
        assert small.asked == {f"q{i}": 4 if i % 10 == 3 else 1 for i in range(40)}

    def test_inside_a_batch_the_others_are_answered(self, small, monkeypatch):
        monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
        monkeypatch.setattr(retrieve, "BATCH", 16)
        small.write(self.PICKY)
        (picky,) = run(small).collections[0].systems
        assert [failure.query for failure in picky.failures] == ["q3", "q13", "q23", "q33"]
        assert picky.n_answered == 36

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            ("[('a', float('nan'))]", "not a number|no number"),
            ("[('a', 1), ('a', 2)]", "twice"),
            ("7", "int"),
        ],
    )
    def test_garbage_is_a_failure(self, small, answer, reason):
        (small.folder / f"{small.module}.py").write_text(f"def bad(query):\n    return {answer}\n")
        small.write('[systems.bad]\ntype = "python"\nfunction = "MODULE:bad"\n')
        (result,) = run(small).collections
        assert len(result.systems[0].failures) == 40
        assert result.scores is None
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(result.systems[0].failures[0].reason)

    def test_a_system_without_any_answer_is_left_out_of_the_comparison(self, small):
        small.add("def never(query):\n    raise OSError('down')\n")
        small.write(PAIR + systems("never"))
        (result,) = run(small).collections
        assert result.comparison.systems == ("one", "other")
        assert any("never has retrieved nothing at all" in note for note in result.notes)


class TestChoosing:
    SWEPT = '[systems.choosy]\ntype = "MODULE_choosy:Choosy"\nvalue = [1, 2, 3]\n'

    def asked_of(self, small) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in (small.folder / "choosy.log").read_text().splitlines():
            value, query = line.split()
            found.setdefault(value, set()).add(query)
        return found

    def project(self, choosy, **keys):
        choosy.write(self.SWEPT, **keys)
        return load_project(choosy.folder)

    def test_only_train_queries_decide(self, choosy):
        split = with_split(choosy)
        project = self.project(choosy, split="split.json")
        benchmark = run_project(project, RunOptions(reveal=True, command="rankscope run --reveal"))
        (result,) = benchmark.collections
        (choice,) = result.choices
        assert choice.chosen == {"value": 1}
        # by construction: all of q0 to q19, none of them, and every fourth
        assert [trial.score for trial in choice.trials] == [1.0, 0.0, 0.25]
        assert choice.n_queries == 20
        assert result.split.how == "holdout"
        assert result.scores["choosy"].mean()["nDCG@10"].value == 0, "on the hold-out value 1 finds nothing"
        asked = self.asked_of(choosy)
        train = {f"q{i}" for i in range(20)}
        assert asked["2"] == asked["3"] == train, "held-out queries are asked of the chosen variant alone"
        assert asked["1"] == {f"q{i}" for i in range(40)}
        (entry,) = reveals(split)
        assert entry.command == "rankscope run --reveal"
        assert entry.n_queries == 20
        assert "revealed for the first time." in result.split.words
        (again,) = run_project(project, RunOptions(reveal=True)).collections
        assert "revealed 2 times so far." in again.split.words

    def test_a_hold_out_stays_hidden(self, choosy):
        split = with_split(choosy)
        (result,) = run_project(self.project(choosy, split="split.json")).collections
        assert result.split.how == "train"
        assert result.scores["choosy"].mean()["nDCG@10"].value == 1.0
        assert set.union(*self.asked_of(choosy).values()) == {f"q{i}" for i in range(20)}
        assert reveals(split) == []
        assert any("look better than they are" in note for note in result.notes)
        assert any("20 are held out" in note for note in result.notes)

    def test_without_a_split_half_of_the_queries_is_drawn(self, choosy):
        project = self.project(choosy, seeds=5)
        (result,) = run_project(project).collections
        sides = result.split
        assert sides.how == "drawn"
        assert len(sides.train) == len(sides.measured) == 20
        assert set(sides.train).isdisjoint(sides.measured)
        assert any("half of the queries were drawn to choose on (20, seed 5)" in note for note in result.notes)
        n_low = sum(int(query[1:]) < 20 for query in sides.train)
        (choice,) = result.choices
        assert choice.trials[0].score == pytest.approx(n_low / 20)
        assert result.scores.qrels.n_queries == 20
        assert run_project(project).collections[0].split == sides

    def test_queries_that_belong_together_are_drawn_together(self, choosy):
        with_sessions(choosy)
        (result,) = run_project(self.project(choosy, group="session")).collections
        sides = result.split
        sessions = [{int(query[1:]) // 8 for query in side} for side in (sides.train, sides.measured)]
        assert sessions[0].isdisjoint(sessions[1])
        # five sessions of eight queries: 16 or 24 are as close to a half; the larger is taken
        assert (len(sides.train), len(sides.measured)) == (24, 16)
        assert any(
            "(24, seed 0, whole groups by session); all results are about the other 16" in note for note in result.notes
        )

    def test_a_split_that_tears_groups_apart_is_refused(self, choosy):
        with_sessions(choosy)
        split = with_split(choosy)  # q16 to q23 are one session
        with pytest.raises(InputError, match="same session on both sides, in 1 group\n"):
            run_project(self.project(choosy, split="split.json", group="session"), RunOptions(reveal=True))
        assert reveals(split) == []

    def test_nothing_is_asked_twice_by_a_choice_either(self, choosy):
        project = self.project(choosy)
        run_project(project)
        log = (choosy.folder / "choosy.log").read_text()
        assert len(set(log.splitlines())) == len(log.splitlines())
        run_project(project)
        assert (choosy.folder / "choosy.log").read_text() == log
        assert len((choosy.folder / "fits.log").read_text().splitlines()) == 3, "an answered system is not indexed"

    def test_several_options_make_a_grid_and_the_first_of_equals_is_taken(self, choosy):
        with_split(choosy)
        choosy.write(
            '[systems.choosy]\ntype = "MODULE_choosy:Choosy"\nvalue = [2, 1]\ntilt = [0.5, 0.0]\n', split="split.json"
        )
        (result,) = run_project(load_project(choosy.folder)).collections
        (choice,) = result.choices
        assert [tuple(trial.options.values()) for trial in choice.trials] == [(2, 0.5), (2, 0.0), (1, 0.5), (1, 0.0)]
        assert choice.chosen == {"value": 1, "tilt": 0.5}, "the first of equals is named"
        lines = gzip.decompress((choosy.folder / "results/runs/small/choosy.trec.gz").read_bytes()).decode()
        assert {line.split()[4] for line in lines.splitlines()} == {"1.5"}, "and it is the one that is used: 1 + tilt"

    def test_weights_are_tuned_on_train_queries_and_kept(self, choosy):
        with_split(choosy)
        parts = "".join(
            f'[systems.{name}]\ntype = "MODULE_choosy:Choosy"\nvalue = {value}\n'
            for name, value in (("a", 1), ("b", 2))
        )
        choosy.write(
            f'{parts}[systems.both]\ntype = "hybrid"\nof = ["a", "b"]\nmethod = "weighted"\nweights = "tune"\nstep = 0.5\n',
            split="split.json",
        )
        project = load_project(choosy.folder)
        (result,) = run_project(project, RunOptions(only=("both",))).collections
        (choice,) = result.choices
        log = (choosy.folder / "choosy.log").read_text()
        assert choice.chosen["weights"][0] > choice.chosen["weights"][1], "a is right on train"
        assert set.union(*self.asked_of(choosy).values()) == {f"q{i}" for i in range(20)}
        (again,) = run_project(project, RunOptions(only=("both",))).collections
        assert again.choices == result.choices
        assert (choosy.folder / "choosy.log").read_text() == log, "neither tuned nor asked again"

    def test_lower_may_be_better(self, small):
        placed = (
            "\ndef placed(query, place):\n    i = int(query.id[1:])\n"
            "    return [f'd{(i + 1) % 30}'] * (place - 1) + [f'd{i % 30}']\n"
            "def second(query):\n    return placed(query, 2)\ndef first(query):\n    return placed(query, 1)\n"
            "def never(query):\n    raise OSError('down')\n"
        )
        small.add(placed)
        functions = [f"{small.module}:{name}" for name in ("second", "first", "never")]
        swept = f'[systems.s]\ntype = "python"\nrecords = true\nfunction = {json.dumps(functions)}\n'
        small.write(swept, measures=["FirstRel"])
        (choice,) = run(small).collections[0].choices
        assert choice.chosen == {"function": functions[1]}, "the lowest is the best"
        assert [trial.score for trial in choice.trials] == [2.0, 1.0, None]
        assert choice.best.score == 1.0
        small.write(swept.replace(json.dumps(functions), json.dumps([functions[2]] * 2)), measures=["AP"])
        with pytest.raises(InputError, match="no options can be chosen"):
            run(small)


class TestCosts:
    def test_percentiles_of_known_numbers(self):
        latency = latency_of(AnswerInfo(i / 1000, 1, cold=False) for i in range(1, 101))
        cuts = statistics.quantiles(range(1, 101), n=100, method="inclusive")  # by another hand than NumPy's
        assert (latency.n, latency.max) == (100, 100.0)
        assert latency.mean == pytest.approx(50.5)
        assert [latency.p50, latency.p95, latency.p99] == pytest.approx([cuts[49], cuts[94], cuts[98]])
        assert latency_of([]) is None

    def test_latency_is_that_of_single_queries_by_the_clock(self, small, monkeypatch):
        """The clock stands still but for the time that each search is said to take."""
        monkeypatch.setattr(retrieve, "TIMED_QUERIES", 30)
        monkeypatch.setattr(retrieve, "BATCH", 5)
        clock = [0.0]
        module = small.folder / f"{small.module}.py"
        module.write_text("clock = [0.0]\ndef timed(query):\n    clock[0] += query_s(query)\n    return ['d1']\n"
                          "def query_s(query):\n    return (int(query.id[1:]) + 1) / 1000\n")  # fmt: skip
        small.write(systems("timed"))
        with working_directory(small.folder):
            clock = load_module(small.module).clock
        (result,) = run(small, clock=lambda: clock[0]).collections
        costs = result.systems[0].costs
        expected = np.arange(4, 31)  # 30 single queries of 1, 2, … ms, without the first three
        assert costs.latency_ms.n == 27
        assert costs.latency_ms.mean == pytest.approx(expected.mean())
        assert [costs.latency_ms.p50, costs.latency_ms.p95, costs.latency_ms.p99] == pytest.approx(
            np.percentile(expected, [50, 95, 99]).tolist()
        )
        assert costs.latency_ms.max == pytest.approx(30)
        assert costs.queries_per_second == pytest.approx(10 / sum(i / 1000 for i in range(31, 41)))
        assert costs.index_s == 0
        assert costs.memory_bytes is None or costs.memory_bytes >= 0

    def test_first_calls_are_left_out_where_enough_others_remain(self):
        many = [AnswerInfo(9.0, 1, cold=True)] + [AnswerInfo(1.0, 1, cold=False)] * 20
        assert latency_of(many) == Latency(20, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0)
        few = latency_of(many[:10])
        assert (few.n, few.mean, few.max) == (10, 1800.0, 9000.0)

    def test_throughput(self):
        one_by_one = {f"q{i}": AnswerInfo(0.5, 1, cold=False) for i in range(2)}
        in_batches = {f"b{i}": AnswerInfo(None, 1, cold=False) for i in range(30)}
        singles, batches = [SystemCall(1, 0.5), SystemCall(1, 0.5)], [SystemCall(10, 2.0), SystemCall(20, 1.0)]
        assert throughput(AnswerSummary(one_by_one, calls=singles)) == 2
        assert throughput(AnswerSummary(one_by_one | in_batches, calls=singles + batches)) == 10
        assert throughput(AnswerSummary(one_by_one, calls=[SystemCall(1, 1.0), *singles])) == 1, "one has failed"
        assert throughput(AnswerSummary(one_by_one, calls=singles + batches)) == 0.5, "all in batches have failed"
        assert throughput(AnswerSummary(calls=singles)) is None
        assert throughput(AnswerSummary()) is None

    def test_an_existing_run_has_no_latency(self, small):
        (small.folder / "old.run").write_text("q0 Q0 d0 1 1.0 x\n")
        small.write('[systems.old]\ntype = "run"\npath = "old.run"\n')
        (result,) = run(small).collections
        assert result.systems[0].costs.latency_ms is None
        assert result.systems[0].costs.queries_per_second is None
        assert result.scores["old"].to_dict()["q0"]["nDCG@10"] == 1

    def test_a_class_of_ones_own_is_timed_whatever_its_name(self, choosy):
        names = ("aaa", "zzz")
        for name in names:
            (choosy.folder / f"{name}_{choosy.module}.py").write_text(CHOOSY)
        choosy.write("".join(f'[systems.{name}]\ntype = "{name}_MODULE:Choosy"\n' for name in names))
        ticks = iter(range(10**6))
        (result,) = run(choosy, clock=lambda: float(next(ticks))).collections
        assert [system.costs.latency_ms.p50 for system in result.systems] == [1000, 1000]

    @pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells")
    def test_memory_is_the_rise_at_its_peak(self):
        rise = MemoryRise()
        block = np.ones(8_000_000)
        del block
        assert 60e6 < rise.peak_bytes() < 120e6
        assert MemoryRise().peak_bytes() < 20e6, "what came before is not counted"

    def test_indexing_counts_the_parts_once(self, choosy):
        """Each reading of this clock takes a second, so that each system takes one to index."""
        ticks = iter(range(10**6))
        parts = "".join(f'[systems.{name}]\ntype = "MODULE_choosy:Choosy"\n' for name in ("a", "b"))
        hybrids = '[systems.ab]\ntype = "hybrid"\nof = ["a", "b"]\n[systems.aab]\ntype = "hybrid"\nof = ["a", "ab"]\n'
        choosy.write(hybrids + parts)
        (result,) = run_project(load_project(choosy.folder), clock=lambda: float(next(ticks))).collections
        assert {system.name: system.costs.index_s for system in result.systems} == {"ab": 3, "aab": 4, "a": 1, "b": 1}


def test_progress_starts_at_nothing_and_ends_at_all(choosy):
    with_split(choosy)
    parts = "".join(f'[systems.v{value}]\ntype = "MODULE_choosy:Choosy"\nvalue = {value}\n' for value in (1, 2))
    choosy.write(parts + '[systems.both]\ntype = "hybrid"\nof = ["v1", "v2"]\nweights = "tune"\n', split="split.json")
    said = []
    run_project(load_project(choosy.folder), on_progress=lambda *what: said.append(what))
    labels = [label for label, _, _ in said]
    assert any("tuning weights" in label for label in labels)
    assert any("evaluating" in label for label in labels)
    assert all(0 <= n_done <= n_all >= 1 for _, n_done, n_all in said)


def test_calls_depend_on_the_list_of_queries_alone(monkeypatch):
    monkeypatch.setattr(retrieve, "TIMED_QUERIES", 2)
    monkeypatch.setattr(retrieve, "BATCH", 3)
    queries = [Query(str(i), "x") for i in range(9)]
    assert [[query.id for query in group] for group in retrieve.plan_calls(queries)] == [
        ["0"], ["1"], ["2", "3", "4"], ["5", "6", "7"], ["8"],
    ]  # fmt: skip


def test_names_of_files_are_safe_and_distinct():
    names = ["bm25", "a b", "a-b", "a/b", "../x", "ä", "", "A", "a.b"]
    files = [file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert files[0] == "bm25"
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-") for name in files)
