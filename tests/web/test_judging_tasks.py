"""The pages on which tasks are made and followed, and who may see what: a rater sees the own task, and nothing else."""

import json
import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import get_args
from urllib.parse import urlencode

import pytest
import urllib3
from judging_store import DOCS, LISTS, QUERIES, add_task, fill
from running import TOKEN, Server
from test_every_page import SERIOUS

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment, with_uuid
from rankscope.data.tasks import LabelRule, Preference, TaskPlan
from rankscope.judging.labels import make_qrels
from rankscope.judging.session import PreferenceRequest, SaveRequest, open_session
from rankscope.judging.tasks import create_task, extend_task
from rankscope.store import StoredDoc, StoredQuery, open_store
from rankscope.web.library import Library
from rankscope.web.markdown import MarkdownSpan, markdown_blocks
from rankscope.web.pages import PAGES
from rankscope.web.pages.judge import FormError
from rankscope.web.security import RateLimit
from rankscope.web.shield import RATER_COOKIE
from rankscope.web.task_forms import problem_of

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q3", "d6")]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    store = fill(tmp_path_factory.mktemp("tasks"))
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


def send(server, path, **fields):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode(fields, doseq=True)
    return urllib3.request("POST", server.url + path, body=body, headers=headers, redirect=False)


def save(server, token, **body):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return urllib3.request("POST", server.url + "/judge/save.json", body=json.dumps(body), headers=headers)


def test_a_task_is_made_extended_stopped_and_reopened(desk):
    runs = [run.number for run in desk.store.runs.list()]
    made = send(desk, "/judge/create", name="from the page", collection="doctors", run=runs, k=1, overlap=2, ranks=1)
    assert made.status == 303, made.data
    page = made.headers["location"]
    task = desk.store.tasks.get("from the page")
    assert (task.plan.k, task.plan.overlap, task.plan.blind, task.plan.systems) == (
        1,
        2,
        False,
        ("lexical-7", "dense-9"),
    )
    before = len(desk.store.tasks.items(task))
    assert before == 5  # q1: d3 and d1, q2: d5 and d4, q3: d6
    assert send(desk, "/judge/extend", task=task.number, k=2, overlap=3).status == 303
    task = desk.store.tasks.get(task.number)
    assert (task.plan.overlap, len(desk.store.tasks.items(task))) == (3, 9 - 1)
    for path, state in (("/judge/stop", "stopped"), ("/judge/reopen", "open")):
        assert send(desk, path, task=task.number).headers["location"] == page
        assert desk.store.tasks.get(task.number).state == state
    assert "from the page" in desk.get("/judge").data.decode()
    assert "nobody is invited yet" in desk.get(page).data.decode()


def test_docs_outside_a_task_are_said_on_its_page(desk):
    runs = [run.number for run in desk.store.runs.list()]
    fields = {"collection": "doctors", "run": runs, "k": 1, "measure": "nDCG@10"}
    page = send(desk, "/judge/create", name="first ones", **fields).headers["location"]
    shown = re.sub(r"<[^>]*>", "", desk.get(page).data.decode())
    task, every = (
        desk.store.tasks.get("first ones"),
        {(q, d) for lists in LISTS.values() for q in lists for d in lists[q]},
    )
    outside = len(every) - len(desk.store.tasks.items(task))
    assert f"The task alone cannot settle it for certain: {outside} docs outside it could turn it" in shown
    assert f"<code>rankscope judge extend {task.number} --settle</code>" in desk.get(page).data.decode()
    assert "`" not in shown.partition("What is judged")[0]


def test_a_collection_without_runs_leaves_the_form_of_others(tmp_path):
    """A task of a file is all that is known of the collection load, and the newest of all tasks."""
    with fill(tmp_path) as store:
        create_task(store, "of doctors", TaskPlan(k=2), runs=list(LISTS))
        create_task(store, "of a file", TaskPlan(pool="file"), collection="load", pairs=PAIRS)
        server = Server(Library(store))
        try:
            page = server.get("/judge").data.decode()
            assert 'name="collection" value="doctors"' in page
            assert '<p class="crumb" dir="auto">2 collections</p>' in page
            choice = re.search('<select name="collection">.*?</select>', page, re.DOTALL)[0]
            names = re.findall('<option value="([^"]*)"( selected)?>', choice)
            assert names == [("", " selected"), ("doctors", ""), ("load", "")]
            assert "of doctors" in page
            assert "of a file" in page
            other = server.get("/judge?collection=load").data.decode()
            assert "of doctors" not in other
            assert "of a file" in other
            said = re.sub("<[^>]*>", "", other)
            assert "load has no runs, so there is nothing that a task could be made of here." in said
            assert "rankscope judge create NAME --file FILE --collection load" in said
            assert '<a href="/judge?collection=doctors" dir="auto">doctors</a>' in other
            assert 'action="/judge/create' not in other
            assert "load" not in re.search("<nav.*?</nav>", other, re.DOTALL)[0]  # other pages know nothing of it
            own = server.get("/judge?collection=doctors").data.decode()
            assert "of a file" not in own
            assert "Make the task" in own
        finally:
            server.close()


def test_a_store_with_tasks_and_no_runs_says_so(tmp_path):
    with open_store(tmp_path, create=True) as store:
        create_task(store, "of a file", TaskPlan(pool="file"), collection="load", pairs=PAIRS)
        server = Server(Library(store))
        try:
            said = re.sub("<[^>]*>", "", server.get("/judge").data.decode())
        finally:
            server.close()
    assert "of a file" in said
    assert "load has no runs" in said
    assert "rankscope run stores the first run." in said


def test_what_cannot_be_is_said(desk):
    for wrong in (
        {"name": "none", "collection": "doctors"},
        {"name": "", "collection": "doctors", "run": 1},
        {"name": "k", "collection": "doctors", "run": 1, "k": 0},
        {"name": "one list", "collection": "doctors", "run": 1, "mode": "lists"},
        {"name": "no scale", "collection": "doctors", "run": 1, "guideline": "grade them"},
        {"name": "unknown", "collection": "doctors", "run": 999},
    ):
        answer = send(desk, "/judge/create", **wrong)
        assert answer.status == (404 if wrong["name"] == "unknown" else 400), wrong
    assert send(desk, "/judge/stop", task=999).status == 404
    assert desk.get("/judge/show?task=999").status == 404


WRONG = [
    ({"name": "kept"}, "There is a task kept already"),
    ({"name": " "}, "Give the task a name"),
    ({"run": []}, "No system is chosen"),
    ({"pool": "settle"}, "Say which measure decides"),
    ({"measure": "nDGC@2"}, "nDGC"),
    ({"k": "many"}, "Docs per query and system must be a whole number"),
    ({"k": 0}, "Take from 1 to 1,000 docs"),
    ({"overlap": 0}, "From 1 to 100 raters"),
    ({"margin": "0.1"}, "A margin goes with a measure"),
    ({"margin": "little", "measure": "P@2"}, "The margin must be a number"),
    ({"margin": "nan", "measure": "P@2"}, "A margin is a number, 0 or more"),
    ({"margin": "inf", "measure": "P@2"}, "A margin is a number, 0 or more"),
    ({"margin": "1", "measure": "P@2"}, "as wide as the range of P@2"),
    ({"gold": "0.1"}, "choose qrels there, or none here"),
    ({"mode": "lists", "pool": "settle", "measure": "P@2"}, "Whole lists are shown as they are"),
    ({"pool": "audit"}, "Choose the labels of the judge"),
    ({"pool": "disagreements"}, "Choose what people have judged"),
    ({"rule": "trusted"}, "Name the rater whose grade counts"),
    ({"pool": "file"}, "a pair in each line"),
    ({"pool": "file", "size": "", "pairs": "query,doc\nq1,d1\nq2"}, "Line 3 of the docs"),
    ({"pool": "file", "size": "", "pairs": "query,doc\nq99,d1"}, "Doctors does not have the query q99"),
    ({"pool": "file", "pairs": "query,doc\nq1,d1"}, "Docs that are listed are all judged: leave this empty"),
    ({"guideline": "grade them"}, "scale"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG)
def test_a_wrong_form_comes_back_as_it_was_filled_in(desk, wrong, words):
    if "kept" not in [task.name for task in desk.store.tasks.list()]:
        add_task(desk.store, "kept", PAIRS)
    runs = [run.number for run in desk.store.runs.list()]
    given = {"name": "my own <name>", "collection": "doctors", "run": runs, "size": 7, "overlap": 3, "ranks": 1}
    given |= {"trusted": "", "guideline": "Mine.\n\n## Scale\n\n- 0 No\n- 1 Yes\n"} | wrong
    before = len(desk.store.tasks.list())
    answer = send(desk, "/judge/create", **given)
    page = answer.data.decode()
    assert (answer.status, len(desk.store.tasks.list())) == (400, before)
    (said,) = re.findall(r'<p class="wrong" id="wrong" role="alert">(.*?)</p>', page)
    assert words.lower() in re.sub("<.*?>", "", said).lower(), said
    assert "_" not in re.sub("<.*?>", "", said)
    for name in ("name", "size", "overlap"):
        (field,) = re.findall(rf'<input [^>]*name="{name}"[^>]*>', page)
        shown = str(given[name]).strip().replace("<", "&lt;").replace(">", "&gt;")
        assert f'value="{shown}"' in field or (name == "name" and not shown)
    assert [f'name="run" value="{run}" checked' in page for run in runs] == [bool(given["run"])] * len(runs)
    assert 'name="ranks" value="1" checked' in page
    assert given["guideline"] in page


def test_a_form_names_no_options_of_commands():
    hint = "name qrels that grade docs outside the pool (--qrels), or mix none in (--gold-share 0)"
    problem = problem_of(FormError("gold", "there are no docs of a known grade to mix in", hint))
    assert problem.words == (
        "There are no docs of a known grade to mix in. Name qrels that grade docs outside the pool, or mix none in."
    )


def test_programs_get_a_wrong_form_as_json(desk):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    answer = desk.ask("POST", "/judge/create", "name=x&collection=doctors", **headers, Accept="application/json")
    assert (answer.status, json.loads(answer.data)["error"]) == (400, "No system is chosen: choose at least one.")


def test_the_page_makes_what_the_command_line_makes(desk):
    store = desk.store
    runs = [run.number for run in store.runs.list()]
    people = store.qrels.add(rs.Qrels({"q1": {"d3": 2, "d1": 0}}), name="doctors")
    judge = store.qrels.add(rs.Qrels({"q1": {"d3": 0, "d1": 0}}), name="doctors", kind="judge")
    base = {"collection": "doctors", "run": runs, "k": 2}
    for name, more in {
        "settled": {"measure": "P@2", "margin": "0,05", "pool": "settle"},
        "audited": {"pool": "audit", "judge_qrels": judge.number},
        "listed": {"pool": "file", "pairs": "query;doc\nq1;d1\nq3;d6", "run": []},
        "trusting": {"rule": "trusted", "trusted": "Ann"},
        "begun": {"qrels": people.number},
        "plain": {},
    }.items():
        made = send(desk, "/judge/create", name=name, **(base | more))
        assert made.status == 303, made.data
    plans = {task.name: task.plan for task in store.tasks.list()}
    assert (plans["settled"].measure, plans["settled"].margin, plans["settled"].pool) == ("P@2", 0.05, "settle")
    assert plans["audited"].judge_qrels == judge.number
    assert plans["trusting"].trusted == "Ann"
    trusting = store.tasks.get("trusting")
    ann = store.raters.invite(trusting, name="Ann")[0]
    assert "the grade of the trusted rater (Ann)" in desk.get(f"/judge/show?task={trusting.number}").data.decode()
    store.raters.rename(ann.number, "Dr. A.")
    assert "the grade of the trusted rater (Dr. A.)" in desk.get(f"/judge/show?task={trusting.number}").data.decode()
    assert plans["plain"].qrels is None, "as on the command line, nothing is known unless it is said"
    items = {name: store.tasks.items(store.tasks.get(name)) for name in plans}
    assert [(item.query, item.doc) for item in items["listed"]] == [("q1", "d1"), ("q3", "d6")]
    # the first two of both lists of q1 are d3, d1 and d1, d2: d3 and d1 are known
    assert len(items["plain"]) - len(items["begun"]) == 2
    shown = desk.get(f"/judge/show?task={store.tasks.get('begun').number}").data.decode()
    assert f"2 docs left out as known already (qrels {people.number})" in shown


def test_the_form_names_the_baseline_and_all_that_is_known(tmp_path):
    with fill(tmp_path) as store:
        store.qrels.add(rs.Qrels({"q1": {"d3": 2}}), name="doctors")
        second = store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="<second> look")
        store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="a model", kind="judge")
        server = Server(Library(store))
        try:
            page = server.get("/judge").data.decode()
            known = re.search('<select name="qrels".*?</select>', page, re.DOTALL)[0]
            names = re.findall(">([^<>]+) [(]qrels", known)
            assert names == ["&lt;second&gt; look", "doctors"]
            assert re.findall("[(]qrels [0-9]+, ([^<>]*), [0-9]+ ", known) == ["1 judgment", "1 judgment"]
            shown = re.findall('name="run" value="([0-9]+)"', page)
            runs = {run.system: run.number for run in store.runs.list()}
            assert [int(number) for number in shown] == [runs[system] for system in LISTS]  # as they were stored
            base = {"collection": "doctors", "run": shown, "k": 2, "qrels": second.number}
            for name, baseline in {"first": "", "second": runs["dense-9"]}.items():
                assert send(server, "/judge/create", name=name, baseline=baseline, **base).status == 303
            assert store.tasks.get("first").plan.systems == ("lexical-7", "dense-9")
            assert store.tasks.get("second").plan.systems == ("dense-9", "lexical-7")
            wrong = send(server, "/judge/create", name="x", baseline=shown[1], **(base | {"run": shown[:1]}))
            assert (wrong.status, "The baseline is not among the systems" in wrong.data.decode()) == (400, True)
        finally:
            server.close()


def test_labels_of_one_name_are_told_apart_by_rule_and_number(desk):
    """Grades 0, 1 and 3 of q1 and d1: the lower median is 1, the highest 3; d2 has one grade."""
    task = add_task(desk.store, "by rules", PAIRS, overlap=3)
    for name, grade in (("Ann", 0.0), ("Bo", 1.0), ("Cy", 3.0)):
        rater, _ = desk.store.raters.invite(task, name=name)
        said = {"source": JudgmentSource("person", id=rater.id), "collection": "doctors", "task": str(task.number)}
        for doc in ("d1", "d2") if name == "Cy" else ("d1",):
            desk.store.judgments.add([with_uuid(SingleJudgment(query="q1", doc=doc, grade=grade, **said))])
    made = [make_qrels(desk.store, task, rule=rule) for rule in ("max", "lower median")]
    page = desk.get("/judge?collection=doctors").data.decode()
    for qrels, rule in zip(made, ("max", "lower median"), strict=True):
        assert f"by rules (qrels {qrels.number}, rule {rule}, 2 judgments, " in page


def test_a_page_of_results_is_below_judge_in_the_menu(desk):
    task = add_task(desk.store, "in the menu", PAIRS)
    for path in ("/agreement", "/flags", "/judge/show"):
        page = desk.get(f"{path}?task={task.number}").data.decode()
        current = re.findall('<a href="([^"]*)" aria-current="[a-z]*">', re.search("<nav.*?</nav>", page, re.DOTALL)[0])
        assert current == ["/judge"], path


def test_the_page_of_flags_knows_the_newest_preference(desk):
    task = create_task(desk.store, "preferred", TaskPlan(mode="lists", k=3), runs=list(LISTS))
    for n, name in enumerate(("Ann", "Bo"), 1):
        rater, _ = desk.store.raters.invite(task, name=name)
        uuid = f"0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3b00{n}"
        left, right = LISTS
        said = {"task": str(task.number), "query": "q1", "rater": rater.id, "left": left, "right": right, "value": 1}
        desk.store.preferences.add(Preference(uuid=uuid, **said))
        found = json.loads(desk.get(f"/flags.json?task={task.number}").data)
        assert found["opinions"]["preferences"]["n"] == n
        assert ("Raters gave the same answer in 1 of 1 comparison" in found["remark"]) == (n == 2)


def test_the_table_of_raters_says_that_it_leaves_out_what_was_shown_a_second_time(tmp_path):
    """Five queries, of which one comes again: who cannot tell all six times is counted five times here."""
    names = [f"n{i}" for i in range(5)]
    lists = {"old-1": {name: ["d1", "d2"] for name in names}, "new-2": {name: ["d3", "d6"] for name in names}}
    with fill(tmp_path, queries={name: StoredQuery(name) for name in names}, lists=lists) as store:
        task = create_task(store, "again", TaskPlan(mode="lists", k=2, repeat_share=0.05), runs=list(lists))
        server = Server(Library(store))
        _, token = store.raters.invite(task, name="Ann")
        session = open_session(store, token)
        for again in (False, True):
            shown = server.get(f"/judge/show?task={task.number}").data.decode()
            assert "leave out what was shown a second time" not in shown
            for item in [item for item in session.state().items if item.again == again]:
                answer = {"query": item.query, "left": 0, "right": 1, "cannot_tell": True, "again": again}
                session.save_preference(PreferenceRequest(uuid=str(uuid.uuid4()), **answer))
        shown = server.get(f"/judge/show?task={task.number}").data.decode()
        assert "flags and cannot tell leave out what was shown a second time" in shown
        assert '<td data-of="cannot tell">5</td>' in shown
        server.close()


def test_judgments_of_a_file_make_no_version_of_the_guideline(desk):
    task = add_task(desk.store, "of a book", PAIRS)
    rater, _ = desk.store.raters.invite(task, name="Ann")
    source = JudgmentSource("person", id=rater.id)
    place = {"query": "q1", "collection": "doctors", "task": str(task.number)}
    for doc, followed in (("d1", None), ("d2", task.guideline)):
        said = SingleJudgment(source=source, doc=doc, grade=1.0, guideline=followed, **place)
        desk.store.judgments.add([with_uuid(said)])
        assert "1 version so far" in desk.get(f"/judge/show?task={task.number}").data.decode()
    text = desk.store.tasks.guideline_text(task)
    send(desk, "/judge/guideline", task=task.number, guideline=f"Look twice.\n{text}")
    assert "2 versions so far" in desk.get(f"/judge/show?task={task.number}").data.decode()
    agreement = json.loads(desk.get(f"/agreement.json?task={task.number}").data)["agreement"]
    assert agreement["n_guidelines"] == 2


def test_what_is_settled_of_each_pair_stands_in_a_line_of_its_own(tmp_path):
    lists = {**LISTS, "hybrid-3": {"q1": ["d6", "d3", "d1"], "q2": ["d4", "d1"], "q3": ["d2", "d6"]}}
    with fill(tmp_path, lists=lists) as store:
        task = create_task(store, "three", TaskPlan(k=3, measure="P@2", repeat_share=0.05), runs=list(lists))
        rater, token = store.raters.invite(task, name="Ada")
        session = open_session(store, token)
        for i, item in enumerate(session.state().items[:3]):
            said = SaveRequest(uuid=f"0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a10{i}", query=item.query, doc=item.doc, grade=2)
            assert session.save(said).status == "ok"
        server = Server(Library(store))
        try:
            page = server.get(f"/judge/show?task={task.number}").data.decode()
            lines = re.findall('<p class="because" dir="auto">(.*?)</p>', page)
            of_system = {system: [line for line in lines if system in line] for system in ("dense-9", "hybrid-3")}
            assert all(of_system.values()), lines
            assert not set(of_system["dense-9"]) & set(of_system["hybrid-3"])
            assert "5% of each rater's docs are shown twice, rounded" in page.replace("&#39;", "'")
            store.raters.revoke(rater.number)
            over = server.ask("GET", f"/judge/start?invite={token}").data.decode()
            assert "An answer that was not sent yet is in this browser only" in over
        finally:
            server.close()


def test_the_form_offers_labels_of_models_by_name(desk):
    store = desk.store
    labels = rs.Qrels({"q1": {"d3": 0, "d1": 0}})
    known = {"collection": "doctors"}
    gpt = store.qrels.add(labels, name="<gpt>", kind="judge", facts=known)
    store.qrels.add(labels, name="elsewhere", kind="judge", facts={"collection": "recipes"})
    page = desk.get("/judge?collection=doctors").data.decode()
    assert "No labels of a judge are stored" not in page
    assert f'<option value="{gpt.number}">&lt;gpt&gt; (qrels {gpt.number})' in page
    assert "elsewhere" not in page
    runs = [run.number for run in store.runs.list()]
    more = {"pool": "audit", "judge_qrels": gpt.number, "measure": "P@2", "k": 10}
    assert send(desk, "/judge/create", name="by name", collection="doctors", run=runs, **more).status == 303
    assert store.tasks.get("by name").plan.k == 2


def test_a_comparison_that_nothing_can_move_is_said_beside_its_field(desk):
    runs = [run.number for run in desk.store.runs.list()]
    known = desk.store.qrels.add(rs.Qrels({query: dict.fromkeys(DOCS, 0) for query in QUERIES}), name="doctors")
    given = {"name": "moot", "collection": "doctors", "run": runs, "pool": "settle", "measure": "P@1"}
    answer = send(desk, "/judge/create", **given, qrels=known.number)
    (said,) = re.findall(r'<p class="wrong" id="wrong" role="alert">(.*?)</p>', answer.data.decode())
    assert (answer.status, "There is nothing to judge." in said, "can change the verdict" in said) == (400, True, True)
    assert re.search(r'<select name="pool" aria-invalid="true"', answer.data.decode())


def test_what_cannot_be_extended_is_said_and_a_sample_grows(desk):
    runs = [run.number for run in desk.store.runs.list()]
    send(desk, "/judge/create", name="sampled", collection="doctors", run=runs, pool="sample", size=2, k=3)
    task = desk.store.tasks.get("sampled")
    assert len(desk.store.tasks.items(task)) == 2
    for wrong, words in (
        ({"k": 1}, "Docs per query and system cannot become 1: there are 3 already."),
        ({"size": 1}, "cannot become 1: there are 2 already."),
        ({"overlap": "x"}, "Raters per doc must be a whole number"),
        ({"k": 3, "overlap": 1, "size": 2}, "Nothing would be added"),
    ):
        answer = send(desk, "/judge/extend", task=task.number, **wrong)
        assert (answer.status, words in answer.data.decode()) == (400, True), (wrong, words)
    assert send(desk, "/judge/extend", task=task.number, size=4).status == 303
    assert len(desk.store.tasks.items(desk.store.tasks.get("sampled"))) == 4
    assert "added since" not in desk.get(f"/judge/show?task={task.number}").data.decode()
    extend_task(desk.store, desk.store.tasks.get("sampled"), pairs=[("q1", "not drawn")])
    assert ", and 1 doc added since: 5 docs" in desk.get(f"/judge/show?task={task.number}").data.decode()


def test_a_revoked_link_sets_no_cookie_and_leads_nowhere(desk):
    task = add_task(desk.store, "no more", PAIRS)
    rater, token = desk.store.raters.invite(task, name="Bo")
    desk.store.raters.revoke(rater.number)
    for path, headers in (
        (f"/judge/start?invite={token}", {}),
        ("/judge/start?invite=wrong", {}),
        ("/judge/task", {"Cookie": f"{RATER_COOKIE}_{desk.port}={token}"}),
    ):
        answer = desk.ask("GET", path, **headers)
        assert (answer.status, answer.headers.get("set-cookie")) == (403, None), path
        assert 'href="/' not in re.sub(r'href="/static/[^"]*"', "", answer.data.decode())
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert b"Your invitation was revoked." in desk.ask("GET", f"/judge/start?invite={token}").data


def test_a_save_that_was_kept_is_acknowledged_after_the_end(desk):
    task = add_task(desk.store, "kept before", PAIRS)
    rater, token = desk.store.raters.invite(task, name="Bo")
    body = {"uuid": "0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a0aa", "query": "q1", "doc": "d1", "grade": 2.0}
    assert json.loads(save(desk, token, **body).data)["status"] == "ok"
    desk.store.raters.revoke(rater.number)
    assert json.loads(save(desk, token, **body).data)["status"] == "ok"
    new = {**body, "uuid": "0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a0ab", "doc": "d2"}
    answer = json.loads(save(desk, token, **new).data)
    assert (answer["status"], answer["later"]) == ("refused", True)


def test_the_kinds_of_pages_name_their_charset_once(desk):
    for path in ("/judge", "/judge/show?task=1", "/nowhere", "/judge.csv"):
        assert desk.get(path).headers["content-type"].count("charset") <= 1, path


def test_a_task_of_lists_leads_to_preferences(desk):
    plan = TaskPlan(mode="lists", k=3)
    task = create_task(desk.store, "side by side", plan, runs=list(LISTS))
    page = desk.get(f"/judge/show?task={task.number}").data.decode()
    assert f'href="/flags?task={task.number}">Flags, choices and preferences' in page
    assert f'href="/agreement?task={task.number}"' not in page
    assert "3 queries" in page


def test_the_link_of_an_invitation_is_shown_once_and_can_be_revoked(desk):
    task = add_task(desk.store, "links", PAIRS)
    answer = send(desk, "/judge/invite", task=task.number, name="Bo")
    (link,) = re.findall(r'value="(http://[^"]*invite=[^"]*)"', answer.data.decode())
    assert answer.headers["cache-control"] == "no-store"
    token = link.partition("invite=")[2]
    (rater,) = desk.store.raters.list(task)
    assert token not in desk.get(f"/judge/show?task={task.number}").data.decode()
    came = urllib3.request("GET", link, redirect=False)
    assert (came.status, came.headers["location"]) == (303, "/judge/task")
    assert came.headers["set-cookie"].startswith(f"{RATER_COOKIE}_{desk.port}={token};")
    assert "HttpOnly; SameSite=Lax" in came.headers["set-cookie"]
    other = add_task(desk.store, "another", PAIRS)
    assert send(desk, "/judge/revoke", task=other.number, rater=rater.number).status == 400
    assert send(desk, "/judge/revoke", task=task.number, rater=rater.number).status == 303
    refused = desk.ask("GET", "/judge/state.json", Authorization=f"Bearer {token}")
    assert (refused.status, b"revoked" in refused.data) == (400, True)
    renewed = send(desk, "/judge/renew", task=task.number, rater=rater.number).data.decode()
    (new,) = re.findall(r"invite=([^\"&]*)", renewed)
    assert new != token
    assert desk.ask("GET", "/judge/state.json", Authorization=f"Bearer {new}").status == 200
    assert urllib3.request("GET", desk.url + "/judge/start?invite=wrong", redirect=False).status == 403


def test_a_revoked_rater_counts_as_one_whose_answers_stay(desk):
    task = add_task(desk.store, "revoked", PAIRS)
    for name, n in (("Ann", 2), ("Bo", 1)):
        _, token = desk.store.raters.invite(task, name=name)
        for query, doc in PAIRS[:n]:
            body = {"uuid": str(uuid.uuid4()), "query": query, "doc": doc, "grade": 1.0}
            assert desk.ask("POST", "/judge/save.json", json.dumps(body), Authorization=f"Bearer {token}").status == 200
    bo = next(rater for rater in desk.store.raters.list(task) if rater.name == "Bo")
    assert send(desk, "/judge/revoke", task=task.number, rater=bo.number).status == 303
    page = desk.get(f"/judge/show?task={task.number}").data.decode()
    n = 2 * len(PAIRS)
    words = (
        f"3 of {n} answers are given, by 2 raters, 1 of them revoked. No rater is left for {n - 1 - len(PAIRS)} of them"
    )
    assert words in page
    assert '<td data-of="done">1</td>' in page
    assert f'<td data-of="done">2 of {len(PAIRS)}</td>' in page


def in_a_browser(server):
    """Return the headers of an owner who came by the link of the server, as a browser sends them."""
    came = server.ask("GET", f"/?token={TOKEN}")
    cookie = came.headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie, "Origin": server.url, "Content-Type": "application/x-www-form-urlencoded"}


def test_a_form_that_is_sent_again_adds_nobody_and_changes_no_link(desk):
    task, headers = add_task(desk.store, "sent again", PAIRS), in_a_browser(desk)
    show = f"/judge/show?task={task.number}"

    def secret_in(page):
        return re.search('name="secret" value="([^"]*)"', page)[1]

    def links_after(path, **fields):
        answer = desk.ask("POST", path, urlencode({"task": task.number, **fields}), **headers)
        assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
        page = answer.data.decode()
        return re.findall(r"invite=([^\"&]*)", page), "This form was sent before" in page, page

    for name in ("", "Ann"):
        before = len(desk.store.raters.list(task))
        secret = secret_in(desk.ask("GET", show, **headers).data.decode())
        (token,), again, page = links_after("/judge/invite", name=name, secret=secret)
        assert not again
        assert links_after("/judge/invite", name=name, secret=secret)[:2] == ([], True)
        assert len(desk.store.raters.list(task)) == before + 1
        assert desk.store.raters.by_token(token) is not None
    # the same page may invite somebody else, and the form of the answer is another one
    assert len(links_after("/judge/invite", name="Bo", secret=secret)[0]) == 1
    assert len(links_after("/judge/invite", secret=secret_in(page))[0]) == 1
    assert [rater.name for rater in desk.store.raters.list(task)] == ["", "Ann", "Bo", ""]
    ann = desk.store.raters.list(task)[1].number
    (new,), _, page = links_after("/judge/renew", rater=ann, secret=secret)
    assert links_after("/judge/renew", rater=ann, secret=secret)[:2] == ([], True)
    assert desk.store.raters.by_token(new).number == ann, "the link that was sent to Ann still counts"
    assert len(links_after("/judge/renew", rater=ann, secret=secret_in(page))[0]) == 1


def test_two_presses_at_once_add_one_rater(desk):
    task, headers = add_task(desk.store, "pressed twice", PAIRS), in_a_browser(desk)
    page = desk.ask("GET", f"/judge/show?task={task.number}", **headers).data.decode()
    body = urlencode({"task": task.number, "secret": re.search('name="secret" value="([^"]*)"', page)[1]})
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: desk.ask("POST", "/judge/invite", body, **headers), range(4)))
    assert [answer.status for answer in answers] == [200] * 4
    assert sum(b"invite=" in answer.data for answer in answers) == 1
    assert len(desk.store.raters.list(task)) == 1


def test_a_second_rater_of_the_same_name_is_refused(desk):
    task = add_task(desk.store, "same twice", PAIRS)
    assert send(desk, "/judge/invite", task=task.number, name="Ann").status == 200
    refused = send(desk, "/judge/invite", task=task.number, name="ann")
    assert (refused.status, b"is called Ann already" in refused.data) == (400, True)
    assert len(desk.store.raters.list(task)) == 1


def test_the_page_of_a_task_counts_and_remarks_as_that_of_agreement(desk):
    """Two raters of 12 docs: 23 grades and one doc of which Bo cannot tell; Ann takes a second for each."""
    pairs = [(query, doc) for query in ("q1", "q3") for doc in DOCS]
    task = add_task(desk.store, "remarks", pairs)
    scale = (0.0, 1.0, 2.0, 3.0)
    for name, seconds in (("Ann", 1.0), ("Bo", 20.0)):
        rater, _ = desk.store.raters.invite(task, name=name)
        for i, (query, doc) in enumerate(pairs):
            said = {"status": "cannot_tell", "note": "doc unclear"} if name == "Bo" and not i else {"grade": i % 4.0}
            source = JudgmentSource("person", id=rater.id)
            place = {"query": query, "doc": doc, "collection": "doctors", "task": str(task.number)}
            flag = {"flag": i == 1, "note": "wrong city"} if i == 1 else {}
            judgment = SingleJudgment(source=source, seconds=seconds, scale=scale, **place, **said, **flag)
            desk.store.judgments.add([with_uuid(judgment)])
    page = json.loads(desk.get(f"/judge/show.json?task={task.number}").data)
    assert page["standing"]["words"] == "24 of 24 answers are given (23 grades, 1 cannot tell), by 2 raters."
    assert [rater["remark"] for rater in page["standing"]["raters"]] == ["done, very fast", "done"]
    agreement = json.loads(desk.get(f"/agreement.json?task={task.number}").data)["agreement"]
    assert agreement["n_grades"] == 23
    assert [rater["remarks"] for rater in agreement["raters"]] == [["very fast"], []]
    shown = desk.get(f"/judge/show?task={task.number}").data.decode()
    assert f"rankscope judge export judgments.csv --task {task.number}" in re.sub("<[^>]*>", "", shown)
    assert f'href="/flags?task={task.number}"' in shown
    flags = desk.get(f"/flags?task={task.number}").data.decode()
    assert "wrong city" in flags
    found = json.loads(desk.get(f"/flags.json?task={task.number}").data)["opinions"]
    assert found["flags"]["share"]["n"] == 2
    assert page["flags"] in flags.replace("&#39;", "'")


def test_a_guideline_is_changed_and_a_rater_forgotten_on_the_page(desk):
    task = add_task(desk.store, "changes", PAIRS)
    rater, token = desk.store.raters.invite(task, name="Zebedee")
    text = desk.store.tasks.guideline_text(task)
    changed = send(desk, "/judge/guideline", task=task.number, guideline=f"Look twice.\r\n{text}")
    assert changed.status == 303
    assert desk.store.tasks.guideline_text(desk.store.tasks.get(task.number)) == f"Look twice.\n{text}"
    refused = send(desk, "/judge/guideline", task=task.number, guideline="## Scale\n\n- 0 No\n- 9 Yes\n")
    assert (refused.status, b"the grades may not" in refused.data) == (400, True)
    other = add_task(desk.store, "not this", PAIRS)
    assert send(desk, "/judge/forget", task=other.number, rater=rater.number).status == 400
    assert send(desk, "/judge/forget", task=task.number, rater=rater.number).status == 303
    assert "Zebedee" not in desk.get(f"/judge/show?task={task.number}").data.decode()
    assert desk.ask("GET", "/judge/state.json", Authorization=f"Bearer {token}").status >= 400
    for path in ("/judge/forget", "/judge/guideline"):
        stranger = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode({"task": task.number, "rater": rater.number, "guideline": text})
        assert urllib3.request("POST", desk.url + path, body=body, headers=stranger, redirect=False).status in (
            401,
            403,
        )


def test_a_rater_sees_the_own_task_and_nothing_else(desk):
    task = add_task(desk.store, "alone", PAIRS)
    other = add_task(desk.store, "of others", [("q2", "d4")])
    _, token = desk.store.raters.invite(task, name="Ada")
    desk.store.raters.invite(other, name="Bo")
    cookie = {"Cookie": f"{RATER_COOKIE}_{desk.port}={token}; rankscope_session_{desk.port}={token}"}
    for route in PAGES:
        for path in (route.path, f"{route.path}.json" if route.path != "/" else "/index.json"):
            assert desk.ask("GET", path, **cookie).status in (401, 403), path
    assert desk.ask("GET", "/schema/openapi.json", **cookie).status in (401, 403)
    shown = desk.ask("GET", "/judge/task", **cookie).data.decode()
    assert "<nav" not in shown
    assert 'href="/' not in re.sub(r'href="/static/[^"]*"', "", shown)
    state = json.loads(desk.ask("GET", "/judge/state.json", **cookie).data)
    assert {(item["query"], item["doc"]) for item in state["items"]} == set(PAIRS)
    assert not [system for system in LISTS if system in json.dumps(state)]
    assert desk.ask("GET", "/judge/query.json?query=q2", **cookie).status == 400
    view = json.loads(desk.ask("GET", "/judge/query.json?query=q1", **cookie).data)
    assert [doc["ranks"] for doc in view["docs"]] == [{}, {}]
    answer = json.loads(
        save(desk, token, uuid="0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a001", query="q2", doc="d4", grade=1).data
    )
    assert (answer["status"], answer["reason"]) == ("refused", "This doc is not part of the task.")
    # what a browser sends needs the secret of this session's forms, and our own origin
    headers = {**cookie, "Content-Type": "application/json", "Origin": desk.url}
    assert desk.ask("POST", "/judge/save.json", "{}", **headers).status == 403
    (secret,) = re.findall(r'data-secret="([0-9a-f]+)"', shown)
    body = json.dumps({"uuid": "0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a002", "query": "q1", "doc": "d1", "grade": 2})
    assert desk.ask("POST", "/judge/save.json", body, **headers, **{"X-Form-Secret": secret}).status == 200
    wrong = {**headers, "Origin": "http://evil.example", "X-Form-Secret": secret}
    assert desk.ask("POST", "/judge/save.json", body, **wrong).status == 403
    # the owner's token opens the pages, but no task of a rater
    assert desk.get("/judge/task").status == 400


def test_a_save_that_is_sent_again_counts_once_and_odd_ones_are_refused(desk):
    task = add_task(desk.store, "again", PAIRS)
    _, token = desk.store.raters.invite(task, name="Ada")
    body = {"uuid": "0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a003", "query": "q1", "doc": "d1", "grade": 2.0, "replaces": None}
    for _ in range(2):
        assert json.loads(save(desk, token, **body).data)["status"] == "ok"
    assert len(desk.store.judgments.list("doctors", task=str(task.number))) == 1
    for wrong in ({}, {**body, "grade": "two"}, {**body, "surprise": 1}):
        assert save(desk, token, **wrong).status == 400, wrong
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    assert desk.ask("POST", "/judge/save.json", "no json", **headers).status == 400
    assert desk.ask("POST", "/judge/save.json", "[" * 100_000, **headers).status == 400


def ask_once(server, token):
    headers = {"Authorization": f"Bearer {token}"}
    return urllib3.request("GET", server.url + "/judge/settling.json", headers=headers, retries=False).status


@pytest.mark.parametrize("blind", [True, False])
def test_that_names_stay_hidden_is_said_where_it_is_so(desk, blind):
    plan = TaskPlan(k=1, measure="P@1", repeat_share=0.0, blind=blind)
    task = create_task(desk.store, f"hidden {blind}", plan, runs=list(LISTS))
    _, token = desk.store.raters.invite(task, name="Ann")
    page = desk.ask("GET", "/judge/task", Authorization=f"Bearer {token}").data.decode()
    assert ("Systems are compared; their names stay hidden." in page) == blind
    assert ("Systems are compared." in page) == (not blind)


def test_raters_behind_one_address_are_counted_one_by_one(tmp_path):
    store = fill(tmp_path)
    task = add_task(store, "team", PAIRS)
    tokens = [store.raters.invite(task)[1] for _ in range(4)]
    server = Server(Library(store), rate_limit=RateLimit(per_second=0.001, at_once=6))
    try:
        statuses = [ask_once(server, token) for _ in range(4) for token in tokens]
        assert statuses == [200] * 16
        assert [ask_once(server, f"x{i}") for i in range(8)][-1] == 429
    finally:
        server.close()
        store.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_an_owner_makes_a_task_and_invites_in_a_browser(chromium, desk, width, scheme):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    context = chromium.new_context(
        base_url=desk.url, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"/judge?token={TOKEN}")
    page.get_by_label("Name", exact=True).fill(f"in a browser {width}")
    page.get_by_label("To settle").fill("P@2")
    page.get_by_text("Raters and options").click()
    page.get_by_label("Raters per doc").fill("2")
    page.get_by_role("button", name="Make the task").click()
    page.get_by_text("Nobody is invited yet.", exact=True).wait_for()
    page.get_by_label("Invite").fill("Bo")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("The link").input_value()
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/judge")
    page.locator(".task-list a", has_text=f"in a browser {width}").click()
    page.get_by_role("rowheader", name="Bo").wait_for()
    for name in ("Revoke Bo", "New link for Bo"):
        box = page.get_by_role("button", name=name).bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
    assert page.get_by_label("The link").count() == 0
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []
    page.goto(link)  # who is signed in can look at it as the rater
    page.locator("#title:not(:empty)").wait_for()
    page.goto("/judge")
    page.get_by_role("heading", name="Make a task").wait_for()  # and is still signed in
    context.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_wrong_form_is_corrected_in_a_browser(chromium, desk, width):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    viewport = {"width": width, "height": 900}
    context = chromium.new_context(base_url=desk.url, viewport=viewport, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"/judge?token={TOKEN}")
    page.get_by_label("Name", exact=True).fill(f"corrected {width}")
    page.get_by_label("Which of them").select_option("settle")
    page.get_by_text("Guideline and scale").click()
    own = "My words.\n\n## Scale\n\n- 0 No\n- 1 Yes\n"
    page.get_by_label("Guideline in Markdown").fill(own)
    page.get_by_role("button", name="Make the task").click()
    said = page.get_by_role("alert")
    said.get_by_text("Say which measure decides").wait_for()
    field = page.get_by_label("To settle")
    assert field.get_attribute("aria-invalid") == "true"
    apart = said.bounding_box()["y"] - field.bounding_box()["y"]
    assert 0 < apart < 150, "the sentence stands below its field"
    assert page.get_by_label("Name", exact=True).input_value() == f"corrected {width}"
    assert page.get_by_label("Guideline in Markdown").input_value() == own
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []
    field.fill("P@2")
    page.get_by_role("button", name="Make the task").click()
    page.get_by_text("Nobody is invited yet.", exact=True).wait_for()
    task = desk.store.tasks.get(f"corrected {width}")
    assert (task.plan.measure, desk.store.tasks.guideline_text(task)) == ("P@2", own)
    page.get_by_label("Docs per query and system").fill("3")
    page.get_by_role("button", name="Extend").click()
    page.get_by_role("alert").get_by_text("there are 10 already").wait_for()
    assert page.get_by_label("Docs per query and system").input_value() == "3"
    context.close()


def test_a_phone_shows_both_raters_the_doc_and_their_grades(chromium, desk):
    task = add_task(desk.store, "on a phone", PAIRS)
    for name, grades in (("Ann", (0.0, 1.0, 2.0)), ("Bo", (3.0, 1.0, 0.0))):
        rater, _ = desk.store.raters.invite(task, name=name)
        source = JudgmentSource("person", id=rater.id)
        for (query, doc), grade in zip(PAIRS, grades, strict=True):
            said = SingleJudgment(
                source=source, query=query, doc=doc, collection="doctors", task=str(task.number), grade=grade,
                scale=(0.0, 1.0, 2.0, 3.0),
            )  # fmt: skip
            desk.store.judgments.add([with_uuid(said)])
    context = chromium.new_context(base_url=desk.url, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"/?token={TOKEN}")
    page.goto(f"/agreement?task={task.number}")
    pairs = page.locator("table", has=page.get_by_role("columnheader", name="quadratic kappa"))
    assert pairs.get_by_text("Ann", exact=True).is_visible()
    assert pairs.get_by_text("Bo", exact=True).is_visible()
    hardest = page.locator("table", has=page.get_by_role("columnheader", name="doc", exact=True)).first
    row = hardest.locator("tbody tr").first
    shown = [cell.inner_text() for cell in row.locator("th, td").all() if cell.is_visible()]
    assert shown[-2:] == ["0", "3"]
    assert any(DOCS[doc].title in " ".join(shown) for _, doc in PAIRS)
    context.close()


def test_words_of_a_doc_stay_whole_on_a_phone_and_an_id_without_end_is_broken(chromium, tmp_path):
    titles = {"d1": StoredDoc("numerical comparison between theories"), "d2": StoredDoc("x" * 70)}
    with fill(tmp_path, docs={**DOCS, **titles}) as store:
        task = add_task(store, "titles", PAIRS[:2], overlap=3)
        for grade, name in enumerate(("Ann", "Bo", "Evelyn")):
            rater, _ = store.raters.invite(task, name=name)
            said = {"source": JudgmentSource("person", id=rater.id), "collection": "doctors", "task": str(task.number)}
            for query, doc in PAIRS[:2]:
                store.judgments.add([with_uuid(SingleJudgment(query=query, doc=doc, grade=float(grade), **said))])
        server = Server(Library(store))
        context = chromium.new_context(base_url=server.url, viewport={"width": 390, "height": 844})
        page = context.new_page()
        page.goto(f"/?token={TOKEN}")
        page.goto(f"/agreement?task={task.number}")
        hardest = page.locator("table", has=page.get_by_role("columnheader", name="doc", exact=True)).first
        words_in_parts = """(cell) => {
          const text = cell.firstChild, part = document.createRange();
          return [...text.data.matchAll(/[^ ]+/g)].filter(({ 0: word, index }) => {
            part.setStart(text, index);
            part.setEnd(text, index + word.length);
            return part.getClientRects().length > 1;
          }).map(([word]) => word);
        }"""
        cell = hardest.get_by_role("cell", name="numerical")
        assert cell.evaluate(words_in_parts) == []
        assert hardest.get_by_role("cell", name="xxx").bounding_box()["width"] <= 390 * 0.45
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        context.close()
        server.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_no_label_of_a_forest_is_cut_and_a_quick_pace_has_a_decimal(chromium, desk, width):
    runs = tuple(run.number for run in desk.store.runs.list())
    task = add_task(desk.store, f"labels {width}", PAIRS, measure="P@2", runs=runs, systems=tuple(LISTS))
    for name, grades in (("A rater with a rather long name and a title", (0.0, 1.0, 2.0)), ("Bo", (3.0, 1.0, 0.0))):
        rater, token = desk.store.raters.invite(task, name=name)
        source = JudgmentSource("person", id=rater.id)
        for (query, doc), grade in zip(PAIRS, grades, strict=True):
            place = {"query": query, "doc": doc, "collection": "doctors", "task": str(task.number)}
            said = SingleJudgment(source=source, grade=grade, scale=(0.0, 1.0, 2.0, 3.0), seconds=0.2, **place)
            desk.store.judgments.add([with_uuid(said)])
    context = chromium.new_context(base_url=desk.url, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(f"/?token={TOKEN}")
    page.goto(f"/agreement?task={task.number}")
    names = page.locator(".forest .name")
    assert "highest grade of each doc (3 queries)" in names.all_inner_texts()
    wide = "(names) => names.map((name) => name.scrollWidth - name.clientWidth)"
    assert max(names.evaluate_all(wide)) <= 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"/judge/show?task={task.number}")
    assert page.locator("td[data-of=pace]").all_inner_texts() == ["0.2 s", "0.2 s"]
    of_task = page.locator("code .one-line", has_text=f"--task {task.number}")
    assert of_task.evaluate("(each) => each.getClientRects().length") == 1
    page.goto(f"/judge/start?invite={token}")
    page.locator("#pace", has_text="0.2 s a doc").wait_for(state="attached")
    context.close()


def test_little_markdown():
    text = "# Head\n\nOne **bold** and `code`\nline <b>.\n\n- first\n  goes on\n- second\n1. third\nafter\n"
    heading, paragraph, items, after = markdown_blocks(text)
    assert (heading.kind, heading.lines[0][0].text) == ("heading", "Head")
    assert paragraph.lines[0] == (
        MarkdownSpan("One "),
        MarkdownSpan("bold", "bold"),
        MarkdownSpan(" and "),
        MarkdownSpan("code", "code"),
        MarkdownSpan(" line <b>."),
    )
    assert [line[0].text for line in items.lines] == ["first goes on", "second", "third"]
    assert after.lines[0][0].text == "after"


def test_agreement_on_lists_is_what_they_prefer(desk):
    """Lists get no grades: the page of agreement sends a browser on, and its data says why."""
    task = add_task(desk.store, "whole lists", PAIRS, mode="lists")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    sent = urllib3.request("GET", f"{desk.url}/agreement?task={task.number}", headers=headers, redirect=False)
    assert (sent.status, sent.headers["location"]) == (303, f"/flags?task={task.number}")
    page = desk.get(f"/flags?task={task.number}").data.decode()
    assert "which get no grades: there is no agreement on grades to show" in page
    assert "<h1>Flags, choices and preferences</h1>" in page
    found = json.loads(desk.get(f"/agreement.json?task={task.number}").data)
    assert (found["agreement"], found["why_not"]) == (None, "Lists get no grades, so there are none to compare.")


@pytest.mark.parametrize("margin", [float("nan"), float("inf"), 2.0])
def test_a_stored_task_whose_margin_is_no_number_is_shown_and_judged(desk, margin):
    """Such a task may be in a store: nothing is settled by it, in words, and raters go on."""
    runs = tuple(run.number for run in desk.store.runs.list())
    task = add_task(desk.store, f"odd {margin}", PAIRS, overlap=1, measure="P@2", margin=margin, runs=runs)
    _, token = desk.store.raters.invite(task, name="Ann")
    for path in (f"/judge/show?task={task.number}", f"/judge/show.json?task={task.number}", "/judge"):
        answer = desk.get(path)
        assert answer.status == 200, (path, answer.data)
    page = desk.get(f"/judge/show?task={task.number}").data.decode()
    assert f"The margin of this task is {margin:g}" in page
    assert "nothing is settled" in page
    for path in ("/judge/state.json", "/judge/settling.json"):
        assert desk.ask("GET", path, Authorization=f"Bearer {token}").status == 200


def test_the_form_has_every_rule_of_the_command_line(desk):
    page = desk.get("/judge").data.decode()
    rules = re.search(r'<select name="rule".*?</select>', page, re.DOTALL)[0]
    assert set(re.findall(r'value="([^"]*)"', rules)) == set(get_args(LabelRule))


def test_who_gave_no_answer_yet_is_not_said_to_have_given_any(desk):
    task = add_task(desk.store, "one of two", PAIRS)
    tokens = [desk.store.raters.invite(task, name=name)[1] for name in ("Ann", "Bo")]
    query, doc = PAIRS[0]
    body = {"uuid": str(uuid.uuid4()), "query": query, "doc": doc, "grade": 1.0}
    assert desk.ask("POST", "/judge/save.json", json.dumps(body), Authorization=f"Bearer {tokens[0]}").status == 200
    page = desk.get(f"/judge/show?task={task.number}").data.decode()
    assert f"1 of {2 * len(PAIRS)} answers are given, by 1 of 2 raters." in page
