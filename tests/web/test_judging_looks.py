"""Tasks that were looked at, or whose scale no measure reads, on the page: what is refused, and what is still shown."""

import json
import re

import pytest
from judging_store import add_task, fill
from running import TOKEN, Server
from test_judging_tasks import save, send

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.data.tasks import TaskPlan
from rankscope.judging.tasks import create_task
from rankscope.web.library import Library

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q3", "d6")]
HALVES = "## Scale\n- 0 no\n- 0.5 half\n- 1 yes\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    store = fill(tmp_path_factory.mktemp("looks"))
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


def words_of(answer):
    return " ".join(re.sub(r"<[^>]*>", "", answer.data.decode()).split())


def test_an_audit_that_was_looked_at_is_not_extended_by_the_form(desk):
    """P@1 reads other docs for two of the three queries; one is audited, and that is the only look."""
    store = desk.store
    model = rs.Qrels({query: {"d1": 1.0, "d4": 1.0} for query in ("q1", "q2", "q3")})
    number = store.qrels.add(model, name="gpt", kind="judge").number
    plan = TaskPlan(pool="audit", k=1, measure="P@1", judge_qrels=number, size=1, repeat_share=0.0)
    task = create_task(store, "audit", plan, runs=[run.number for run in store.runs.list()])
    rater, _ = store.raters.invite(task, name="Ann")
    said = [
        SingleJudgment(
            query=item.query, doc=item.doc, source=JudgmentSource("person", id=rater.id), grade=1.0,
            task=str(task.number),
        )
        for item in store.tasks.items(task)
    ]  # fmt: skip
    store.judgments.add(said, collection="doctors")
    assert send(desk, "/judge/extend", task=task.number, size=2).status == 400
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    asked = f"task={task.number}&size=2"
    answer = desk.ask("POST", "/judge/extend", asked, **headers, Accept="application/json")
    assert answer.status == 400
    assert "he audit audit was looked at after 1 query, so its plan stays as it is" in json.loads(answer.data)["error"]
    assert store.tasks.get("audit").plan == task.plan


@pytest.mark.parametrize(
    ("guideline", "said"),
    [
        (HALVES, "P@2 needs whole grades, and the scale of the guideline has the grade 0.5"),
        ("## Scale\n- -1 bad\n- 0 no\n- 1 yes\n", "The scale of the guideline has the grade -1"),
    ],
)
def test_a_scale_that_cannot_be_read_is_refused_by_the_form(desk, guideline, said):
    runs = [run.number for run in desk.store.runs.list()]
    fields = {"collection": "doctors", "run": runs, "measure": "P@2", "guideline": guideline}
    answer = send(desk, "/judge/create", name="unread", **fields)
    assert answer.status == 400
    assert said in words_of(answer)
    assert "unread" not in [task.name for task in desk.store.tasks.list()]


def test_a_stored_task_whose_scale_cannot_be_read_is_shown_and_judged(desk):
    runs = tuple(run.number for run in desk.store.runs.list())
    task = add_task(desk.store, "halves", PAIRS, guideline=HALVES, overlap=1, measure="P@2", runs=runs)
    _, token = desk.store.raters.invite(task, name="Ann")
    kept = save(desk, token, uuid="6f1d9a52-6c0e-4d0e-9a55-0f6f3c1b7a01", query="q1", doc="d1", grade=0.5)
    assert kept.status == 200, kept.data
    for path in (f"/judge/show?task={task.number}", f"/judge/show.json?task={task.number}", "/judge"):
        assert desk.get(path).status == 200, path
    shown = words_of(desk.get(f"/judge/show?task={task.number}"))
    assert "There is no verdict: P@2 needs whole grades" in shown
    assert desk.get(f"/agreement?task={task.number}").status == 200
    assert desk.ask("GET", "/judge/settling.json", Authorization=f"Bearer {token}").status == 200


def test_the_first_doc_is_one(desk):
    runs = [run.number for run in desk.store.runs.list()]
    create_task(desk.store, "firsts", TaskPlan(k=1), runs=runs)
    assert "the first doc of each system of lexical-7, dense-9" in words_of(desk.get("/judge"))
