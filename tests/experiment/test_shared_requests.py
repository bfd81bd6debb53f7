"""One reply with all variants, as the doctor search's /test/run-all-variants gives it: asked once, it feeds all of them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from rankscope.errors import UnfinishedError
from rankscope.experiment.project import load_project
from rankscope.experiment.results import BenchmarkRecord
from rankscope.experiment.runner import run_project
from rankscope.predecessors.importers import import_file, write_collection
from rankscope.report.benchmark import report_of
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Asked, Loopback, Said

VARIANTS = ("algorithmic", "parallel", "parallel_general_goal_specificity")
CASES = [
    {
        "id": f"c{i}",
        "userQuery": f"query {i}",
        "conversation": [{"role": "user", "content": f"turn of {i}"}],
        "groundTruth": [f"Prof Doctor {i}"],
    }
    for i in range(6)
]


def ranked(variant: str, case: int) -> list[str]:
    """Five doctors, the right one (p{case}) at rank 1, 2 or 3 by variant."""
    others = [f"p{(case + step) % 6}" for step in range(1, 5)]
    others.insert(VARIANTS.index(variant), f"p{case}")
    return others


class RunAllVariants:
    """The endpoint; a variant may fail for a case, for all or for the first attempts."""

    def __init__(self, failing: tuple[str, str] | None = None, n_failures: int = 99) -> None:
        self.failing, self.n_failures = failing, n_failures

    def __call__(self, asked: Asked) -> Said:
        sent = asked.json()
        case = int(sent["userQuery"].removeprefix("query "))
        variants = []
        for name in VARIANTS:
            results = [
                {"document": {"practitioner_id": doc}, "score": 9 - i} for i, doc in enumerate(ranked(name, case))
            ]
            variant = {"name": name, "top10Results": results}
            if self.failing == (name, f"c{case}") and self.n_failures > 0:
                self.n_failures -= 1
                variant = {"name": name, "error": "the model did not answer", "top10Results": []}
            variants.append(variant)
        return Said({"success": True, "variants": variants})


@pytest.fixture
def project(tmp_path):
    """Return a function that makes a project of the variants on a server.

    `each` is added to all of them, `also` to the last.
    """
    people = [{"practitioner_id": f"p{i}", "name": f"Dr Doctor {i}"} for i in range(6)]
    for name, content in (("cases.json", {"testCases": CASES}), ("people.json", people)):
        (tmp_path / name).write_text(json.dumps(content))
    found = import_file(tmp_path / "cases.json", practitioners=tmp_path / "people.json")
    write_collection(found, tmp_path / "doctors")

    def make(server: Loopback, *, variants: tuple[str, ...] = VARIANTS, each: str = "", also: str = ""):
        text = 'measures = ["RR"]\n[collections.doctors]\npath = "doctors"\n'
        for name in variants:
            text += (
                f'[systems.{name}]\ntype = "http"\nurl = "{server.url}/test/run-all-variants"\n'
                'body = { userQuery = "{query}", messages = "{conversation}" }\n'
                f"ids = \"$.variants[?(@.name=='{name}')].top10Results[*].document.practitioner_id\"\n"
                f"attempts = 2\nbackoff_s = 0.001\n{each}\n"
            )
        (tmp_path / "rankscope.toml").write_text(text + also)
        return load_project(tmp_path)

    return make


def means(benchmark) -> dict[str, float]:
    scores = benchmark.collections[0].scores
    return {name: scores[name].mean()["RR"].value for name in scores}


def test_each_query_is_asked_once_with_its_conversation_and_answers_all_variants(project):
    with Loopback(RunAllVariants()) as server:
        benchmark = run_project(project(server))
        assert len(server.requests) == 6, "one request for each query, not one for each variant"
        bodies = sorted((asked.json() for asked in server.requests), key=lambda body: body["userQuery"])
        assert bodies == [{"userQuery": case["userQuery"], "messages": case["conversation"]} for case in CASES]
        run_project(project(server))
        assert len(server.requests) == 6, "everything is in the journals"
    assert means(benchmark) == pytest.approx({VARIANTS[0]: 1.0, VARIANTS[1]: 1 / 2, VARIANTS[2]: 1 / 3})


def test_each_repetition_is_one_request_for_all_variants_too(project):
    with Loopback(RunAllVariants()) as server:
        found = project(server, also="repeat = 3\n")
        result = run_project(found, repeat=None).collections[0]
        assert [system.n_times for system in result.systems] == [1, 1, 3]
        assert len(server.requests) == 6 * 3, "the first for all variants, two more for the last"
        result = run_project(found, repeat=3).collections[0]
        assert [system.n_times for system in result.systems] == [3, 3, 3]
        assert len(server.requests) == 6 * 5, "two more for the first two together"
        assert all(system.repeats_itself for system in result.systems)


def test_latency_is_said_to_be_that_of_the_whole_request(project):
    with Loopback(RunAllVariants()) as server:
        benchmark = run_project(project(server))
    systems = benchmark.collections[0].systems
    assert [system.costs.shared_with for system in systems] == [
        tuple(name for name in VARIANTS if name != system.name) for system in systems
    ]
    assert len({system.costs.latency_ms.p50 for system in systems}) == 1
    text = " ".join(render(report_of(benchmark), "text").split())
    assert (
        f"{', '.join(VARIANTS)}: one request per query is answered for all of them; latency and queries/s are" in text
    )
    assert BenchmarkRecord.from_json(benchmark.to_json()) == benchmark.record


def test_a_variant_that_fails_is_asked_again_and_then_counts_as_failed_alone(project):
    with Loopback(RunAllVariants(("parallel", "c2"))) as server:
        benchmark = run_project(project(server))
        assert len(server.requests) == 7, "c2 twice, as two attempts are allowed, whichever system asks"
    failures = {system.name: system.failures for system in benchmark.collections[0].systems}
    assert {name: [one.query for one in found] for name, found in failures.items()} == {
        VARIANTS[0]: [], "parallel": ["c2"], VARIANTS[2]: [],
    }  # fmt: skip
    assert failures["parallel"][0].reason == "the answer holds an error: the model did not answer"
    assert failures["parallel"][0].attempts == 2
    assert means(benchmark)["parallel"] == pytest.approx(5 / 6 / 2)


def test_a_variant_that_recovers_has_its_answer(project):
    with Loopback(RunAllVariants(("parallel", "c2"), n_failures=1)) as server:
        benchmark = run_project(project(server))
        assert len(server.requests) == 7
    assert {system.n_retried for system in benchmark.collections[0].systems} == {0, 1}
    assert not benchmark.collections[0].n_failed


def test_the_next_run_asks_only_for_what_failed(project):
    with Loopback(RunAllVariants(("parallel", "c2"), n_failures=2)) as server:
        loaded = project(server)
        run_project(loaded)
        again = run_project(loaded)
        assert len(server.requests) == 8
        assert server.requests[-1].json()["userQuery"] == "query 2"
    assert not again.collections[0].n_failed


def test_on_failure_stop_holds_for_every_variant(project):
    with Loopback(RunAllVariants(("parallel", "c0"), n_failures=2)) as server:
        loaded = project(server)
        with pytest.raises(UnfinishedError, match="parallel: the run stops, as query 'c0' failed"):
            run_project(loaded, on_failure="stop")
        assert len(server.requests) == 2
        benchmark = run_project(loaded)
        assert len(server.requests) == 2 + 5 + 1, "the five others once for all, and c0 for the variant that lacks it"
    assert not benchmark.collections[0].n_failed


def test_a_variant_that_is_added_later_asks_for_itself_alone(project):
    with Loopback(RunAllVariants()) as server:
        run_project(project(server, variants=VARIANTS[:2]))
        benchmark = run_project(project(server))
        assert len(server.requests) == 12
    added = benchmark.collections[0].systems[2]
    assert added.costs.shared_with == ()
    assert means(benchmark)[VARIANTS[2]] == pytest.approx(1 / 3)


@pytest.mark.parametrize("also", ['headers = { "X-Of" = "mine" }', "timeout_s = 7"])
def test_other_requests_are_not_shared(project, also):
    with Loopback(RunAllVariants()) as server:
        benchmark = run_project(project(server, also=also))
        assert len(server.requests) == 12
    assert benchmark.collections[0].systems[0].costs.shared_with == ("parallel",)
    assert benchmark.collections[0].systems[2].costs.shared_with == ()


def test_nobody_there_leaves_all_of_them_out(project):
    with Loopback(RunAllVariants()) as server:
        loaded = project(server)
    benchmark = run_project(loaded)
    assert [system.is_left_out for system in benchmark.collections[0].systems] == [True] * 3


def test_silence_is_met_once_for_all_of_them(project, monkeypatch):
    monkeypatch.setattr("rankscope.systems.http._SILENT_S", 0.05)

    def silent(_: Asked) -> Said:
        time.sleep(1.5)
        return Said({})

    with Loopback(silent) as server:
        benchmark = run_project(project(server, each="timeout_s = 0.3"))
        n_requests = len(server.requests)
    assert [system.is_left_out for system in benchmark.collections[0].systems] == [True] * 3
    assert n_requests == 2


def test_only_one_variant(project):
    with Loopback(RunAllVariants()) as server:
        benchmark = run_project(project(server), only="parallel")
        assert len(server.requests) == 6
    assert benchmark.collections[0].systems[0].costs.shared_with == ()
