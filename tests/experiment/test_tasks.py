"""Tasks are plain data: they run in other processes, beside one another, and with answers kept anywhere."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankscope.experiment.answer_store import AnswerLog, AnswerStore, AnswerSummary, SystemCall
from rankscope.experiment.collection import load_collection
from rankscope.experiment.journal import JournalStore
from rankscope.experiment.project import load_project
from rankscope.experiment.results import benchmark_record
from rankscope.experiment.runner import RunOptions, TaskResult, execute, gather, plan_tasks, run_project
from rankscope.experiment.session import CollectionSession
from rankscope.records import to_json

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems, without_times

PAIR = f'{systems("one", "other")}[systems.both]\ntype = "hybrid"\nof = ["one", "other"]\n'


def answers_of(result: TaskResult) -> list[tuple[str, str, float]]:
    return list(zip(result.rows.query, result.rows.doc, result.rows.score.tolist(), strict=True))


class MemoryLog:
    """Answers in memory."""

    def __init__(self) -> None:
        self.summary = AnswerSummary()
        self._rankings = {}

    def ranking(self, query):
        return self._rankings[query]

    def add(self, answers, *, seconds, cold=False):
        for answer in answers:
            self.summary.note_answer(answer, cold=cold)
            self._rankings[answer.query_id] = answer.ranking
        self.summary.calls.append(SystemCall(len(answers), seconds, cold))

    def add_fit(self, fit):
        self.summary.fit = fit

    def add_memory(self, n_bytes):
        self.summary.memory_bytes = n_bytes


class MemoryStore:
    """An answer store without files."""

    def __init__(self) -> None:
        self.logs = {}
        self.tuned = {}

    @contextmanager
    def open(self, system, fingerprint, repetition=1) -> Iterator[AnswerLog]:
        yield self.logs.setdefault((system, fingerprint, repetition), MemoryLog())

    def get_tuned(self, system, fingerprint):
        return self.tuned.get((system, fingerprint))

    def put_tuned(self, system, fingerprint, tuned):
        self.tuned[system, fingerprint] = tuned

    def forget(self, systems):
        self.logs = {key: log for key, log in self.logs.items() if key[0] not in set(systems)}


def session_of(task, store: AnswerStore) -> CollectionSession:
    collection = load_collection(task.project.collection(task.collection))
    return CollectionSession(
        task.project, collection, task.split, store, depth=task.depth, clock=lambda: 0.0, on_progress=lambda *_: None
    )


def test_a_plan_has_one_task_for_each_system_and_collection(tmp_path):
    small = small_project(tmp_path)
    small.write(PAIR + '[collections.again]\npath = "small"\n')
    tasks = plan_tasks(load_project(small.folder), RunOptions(only=("one", "both"), depth=5))
    assert [(task.collection, task.system) for task in tasks] == [
        ("small", "one"), ("small", "both"), ("again", "one"), ("again", "both"),
    ]  # fmt: skip
    assert {task.depth for task in tasks} == {5}
    assert tasks[0].split.measured == tuple(f"q{i}" for i in range(40))
    assert not (small.folder / "results").exists(), "nothing is asked or written by a plan"


@pytest.mark.slow
def test_a_task_gives_the_same_answers_in_another_process(tmp_path):
    here, there = (small_project(tmp_path / name, module="searching") for name in ("here", "there"))
    for small in (here, there):
        small.write(PAIR)
    tasks = plan_tasks(load_project(there.folder))
    assert pickle.loads(pickle.dumps(tasks)) == tasks
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        remote = list(pool.map(execute, tasks))
    local = [execute(task) for task in plan_tasks(load_project(here.folder))]
    assert list(map(answers_of, remote)) == list(map(answers_of, local))
    assert [len(result.rows) for result in local] == [400, 400, sum(len(ids) for ids in both_docs(local))]
    assert [result.system.fingerprint for result in remote] == [result.system.fingerprint for result in local]
    assert set(there.asked.values()) == {2}, "once for one, once for both, in whatever process"
    # What came from the other process is gathered as if it had been made here.
    project = load_project(there.folder)
    store = JournalStore(project.output / "journal" / "small", collection="small")
    gathered = gather(RunOptions(), session_of(tasks[0], store), remote)
    expected = run_project(load_project(here.folder)).collections[0]
    assert gathered.scores.to_dict() == expected.scores.to_dict()


def both_docs(results: list[TaskResult]) -> Iterator[set[str]]:
    """Yield the docs that either of the first two results has, query by query."""
    rows = [{query: set() for query in result.rows.query} for result in results[:2]]
    for found, result in zip(rows, results, strict=False):
        for query, doc in zip(result.rows.query, result.rows.doc, strict=True):
            found[query].add(doc)
    for query in rows[0]:
        yield rows[0][query] | rows[1][query]


HELPED = """
import helper
from pack.inner import BONUS


def one(query):
    return helper.rank(query) + [("d29", -BONUS)]
"""


@pytest.mark.slow
def test_two_projects_run_at_the_same_time_each_in_its_own_folder(tmp_path):
    """Both have modules of the same names, a command, and relative paths, but answer otherwise."""
    projects = []
    for name, first in (("a", 3), ("b", 4)):
        small = small_project(tmp_path / name, module="searching")
        (small.folder / "pack").mkdir()
        (small.folder / "pack" / "__init__.py").write_text("")
        (small.folder / "pack" / "inner.py").write_text(f"from . import other\nBONUS = other.N + {first}\n")
        (small.folder / "pack" / "other.py").write_text("N = 0\n")
        (small.folder / "searching.py").write_text(HELPED)
        (small.folder / "helper.py").write_text(
            f"import time\n\ndef rank(query):\n    time.sleep(0.005)\n    return [(f'd{{(int(query.split()[1]) * {first}) % 29}}', 1.0)]\n"
        )
        (small.folder / "print.py").write_text(
            "import json, sys\nfrom pathlib import Path\n"
            "doc = Path('doc.txt').read_text()\n"
            "for line in sys.stdin:\n"
            "    print(json.dumps({'query_id': json.loads(line)['id'], 'results': [[doc, 1.0]]}))\n"
        )
        (small.folder / "doc.txt").write_text(f"d{first}")
        (small.folder / "old.run").write_text("".join(f"q{i} Q0 d{first} 1 1.0 x\n" for i in range(40)))
        small.write(
            '[systems.one]\ntype = "python"\nfunction = "MODULE:one"\n'
            f'[systems.program]\ntype = "command"\ncommand = ["{sys.executable}", "print.py"]\n'
            '[systems.old]\ntype = "run"\npath = "old.run"\n'
        )
        projects.append(small)

    def outcome(small) -> object:
        record = benchmark_record(run_project(load_project(small.folder), RunOptions(fresh=True)))
        text = json.dumps(without_times(json.loads(to_json(record))))
        return text.replace(str(small.folder), ""), small.runs

    before = (Path.cwd(), list(sys.path))
    one_after_the_other = [outcome(small) for small in projects]
    assert one_after_the_other[0] != one_after_the_other[1]
    for _ in range(3):
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(outcome, projects)) == one_after_the_other
    assert (Path.cwd(), sys.path) == before


def test_answers_can_be_kept_anywhere(tmp_path):
    small = small_project(tmp_path)
    small.write(PAIR)
    project = load_project(small.folder)
    tasks = plan_tasks(project)
    store = MemoryStore()
    in_memory = [execute(task, session=session_of(task, store)) for task in tasks]
    assert not (small.folder / "results").exists()
    asked = small.asked
    again = [execute(task, session=session_of(task, store)) for task in tasks]
    assert small.asked == asked, "what was answered before is not asked again"
    assert list(map(answers_of, again)) == list(map(answers_of, in_memory))
    in_files = [execute(task) for task in tasks]
    assert list(map(answers_of, in_files)) == list(map(answers_of, in_memory))
    store.forget(["one"])
    execute(tasks[0], session=session_of(tasks[0], store))
    assert small.asked.total() == asked.total() + 40 + 80  # once after forgetting, twice with files
