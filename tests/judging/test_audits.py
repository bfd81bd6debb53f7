"""Looks at an audit: a model's labels on all queries that changed, corrected by people's on those that were drawn."""

from __future__ import annotations

import math

import pytest
from scipy.stats import t

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.data.run import Run
from rankscope.data.tasks import TaskItem, TaskPlan
from rankscope.errors import InputError, OptionError
from rankscope.judging.audits import JudgeLabels, corrected_pairs, judge_labels
from rankscope.judging.settling import people_say, settle_audit, settling_of
from rankscope.judging.tasks import create_task, extend_task
from rankscope.judging.worst_case import ComparedRuns, KnownGrades
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunFacts, StoredQuery, open_store

QUERIES = [f"q{i:02}" for i in range(40)]


def half_audited(judge_of_audited):
    """Return forty queries of which people judged twenty: they prefer b's doc for 12 of them, the judge for 16 of the
    others."""
    lists = {"a": {query: ["y"] for query in QUERIES}, "b": {query: ["z"] for query in QUERIES}}
    runs = {name: Run(of, name=name) for name, of in lists.items()}
    compared = ComparedRuns(
        runs=runs, measure="P@1", margin=0.1, query_ids=tuple(QUERIES), scale=(0.0, 1.0), docs=frozenset()
    )
    people = {query: {"y": 0.0, "z": float(query < "q12")} for query in QUERIES[:20]}
    model = {query: {"y": 0.0, "z": float(query < "q36")} for query in QUERIES[20:]}
    model |= {query: {"y": 0.0, "z": judge_of_audited(query)} for query in QUERIES[:20]}
    items = [
        TaskItem(number=2 * i + j, query=query, doc=doc, place=i, purpose="audit")
        for i, query in enumerate(QUERIES)
        for j, doc in enumerate("yz")
    ]
    return compared, KnownGrades(grades=people, last_judgment=1), items, JudgeLabels(name="gpt", grades=model)


def test_the_mixed_estimate_at_a_look_by_hand():
    """The judge says of the audited queries what people say: with n / N = 1 it counts for a half.

    By hand: 0.5 * 0.8 + 0.5 * 0.6 on the forty that changed, half of it on all eighty.
    """
    compared, known, items, judge = half_audited(lambda query: float(query < "q12"))
    state = settle_audit(compared, known, items, looks=(20, 40), changed=(40, 80), judge=judge)
    (pair,) = state.pairs
    assert pair.delta == pytest.approx(0.35)
    variance = 0.25 * (0.16 * 20 / 19) / 20 + 0.25 * (0.24 * 20 / 19) / 20
    error = math.sqrt(0.25 * variance + 0.25 * 0.7**2 / 80)
    half = t.ppf(1 - 0.025 / 2, 19) * error
    assert pair.code == "better"
    assert f"higher by 0.350 (97.5% CI +{0.35 - half:.3f} to +{0.35 + half:.3f})" in pair.reason
    assert (
        "Labels: gpt on the 40 changed ones of all 80 queries; 20 of them, drawn at random, were judged by people, who "
        "correct the model. The model counted for 50%"
    ) in pair.reason
    assert "people's grades alone" not in state.words.lower()
    assert "Intervals are wider, as there may be more looks." in state.words


def test_several_pairs_share_the_level():
    compared, known, _, judge = half_audited(lambda query: float(query < "q12"))
    at_look = ComparedRuns(
        runs={**compared.runs, "c": compared.runs["b"]}, measure="P@1", margin=0.1, query_ids=tuple(QUERIES[:20]),
        scale=(0.0, 1.0),
    )  # fmt: skip
    by_people = people_say(at_look, known)
    found = corrected_pairs(by_people, at_look, known, judge, n_all=40, level=0.95)
    assert [pair.b for pair, _ in found] == ["b", "c"]
    for pair, mixed in found:
        assert pair.ci.high - mixed.mean == pytest.approx(t.ppf(1 - 0.05 / 4, 19) * mixed.standard_error)
        assert pair.ci.level == 0.95


def test_a_judge_that_favours_a_system_is_corrected_and_said():
    """The judge likes b's doc everywhere: it says nothing of which queries are which, so people's result stays."""
    compared, known, items, judge = half_audited(lambda _: 1.0)
    state = settle_audit(compared, known, items, looks=(20,), judge=judge)
    (pair,) = state.pairs
    assert pair.delta == pytest.approx(0.6)
    assert "The model was not useful here: this is practically the people's result." in pair.reason
    # by hand: 8 of 20 are 1 higher, a mean of 0.4 with a variance of 0.24 * 20 / 19
    half = t.ppf(0.975, 19) * math.sqrt(0.24 / 19)
    assert f"the model scored b 0.400 higher against a than people did (95% CI +{0.4 - half:.3f} to" in pair.reason


def test_the_favour_of_the_model_is_that_on_the_audited_queries():
    """Forty of eighty queries changed; on the twenty audited ones the judge is 0.4 higher, as above, not 0.2."""
    compared, known, items, judge = half_audited(lambda _: 1.0)
    (pair,) = settle_audit(compared, known, items, looks=(20,), changed=(40, 80), judge=judge).pairs
    half = t.ppf(0.975, 19) * math.sqrt(0.24 / 19)
    ends = f"(95% CI +{0.4 - half:.3f} to +{0.4 + half:.3f})"
    assert f"On the audited queries the model scored b 0.400 higher against a than people did {ends}" in pair.reason
    assert pair.delta == pytest.approx(0.3)


def test_an_audit_with_one_look_speaks_of_one():
    compared, known, items, judge = half_audited(lambda _: 1.0)
    first = settle_audit(compared, KnownGrades(grades={}), items, looks=(20,), judge=judge)
    assert first.words == "0 of 40 queries audited; the only look is after 20. It has a level of 95.0%."
    reached = settle_audit(compared, known, items, looks=(20,), judge=judge)
    assert "20 of 40 queries audited; the only look is reached." in reached.words
    assert "wider" not in reached.words


@pytest.mark.parametrize(
    ("measure", "queries", "docs"),
    [
        ("P@2", {"differ"}, {"a", "b", "c"}),  # the set of the first two is the same in the others
        ("R@2", {"differ"}, {"a", "b", "c", "best"}),  # has an ideal: the two docs that the judge grades highest
        ("RR@2", {"differ", "swapped"}, {"a", "b", "c"}),
        ("nDCG@2", {"differ", "swapped"}, {"a", "b", "c", "best"}),
    ],
)
def test_an_audit_asks_for_what_its_measure_reads(tmp_path, measure, queries, docs):
    lists = {
        "old": {"differ": "abd", "swapped": "abd", "below": "abd", "same": "abd"},
        "new": {"differ": "acd", "swapped": "bad", "below": "abe", "same": "abd"},
    }
    with open_store(tmp_path / "store.db", create=True) as store:
        facts = CollectionFacts(name="c", queries={name: StoredQuery(name) for name in lists["old"]})
        for system, of in lists.items():
            run = Run({query: list(docs) for query, docs in of.items()})
            store.runs.add(run, RunFacts(system=system, started="2026-01-01T00:00:00", collection=facts))
        model = {query: {"best": 3.0, "a": 2.0, "e": 1.0} for query in facts.queries}
        number = store.qrels.add(rs.Qrels(model), name="gpt", kind="judge").number
        plan = TaskPlan(pool="audit", measure=measure, k=2, judge_qrels=number)
        task = create_task(store, "t", plan, runs=["old", "new"])
        items = store.tasks.items(task)
        assert {item.query for item in items} == queries
        assert {item.doc for item in items if item.query == "differ"} == docs
        assert settling_of(store, task).look.n_changed == len(queries)
        with pytest.raises(OptionError, match="k is 2, and P@3 reads more docs"):
            create_task(store, "u", TaskPlan(pool="audit", measure="P@3", k=2, judge_qrels=number), runs=["old", "new"])


def test_few_queries_that_differ_are_a_caution():
    compared, known, items, judge = half_audited(lambda query: float(query < "q12"))
    (pair,) = settle_audit(compared, known, items, looks=(20,), judge=judge).pairs
    assert "Strong caution: few queries decide this, as 12 of 20 audited ones differ." in pair.reason


def test_between_looks_the_model_says_nothing_either():
    compared, known, items, judge = half_audited(lambda query: float(query < "q12"))
    del known.grades["q05"]["z"]
    state = settle_audit(compared, known, items, looks=(20, 40), changed=(40, 80), judge=judge)
    assert state.pairs == ()
    assert "gpt" not in state.words


def test_a_stored_audit_is_corrected_by_people(tmp_path):
    """Thirty queries, of which six have the same list; the task holds ten. The judge lacks the doc of b in one."""
    names = [f"q{i:02}" for i in range(30)]
    with open_store(tmp_path / "store.db", create=True) as store:
        facts = CollectionFacts(name="c", queries={name: StoredQuery(name) for name in names})
        for system, doc in (("a", "y"), ("b", "z")):
            run = Run({name: [doc if i >= 6 else "x"] for i, name in enumerate(names)})
            store.runs.add(run, RunFacts(system=system, started="2026-01-01T00:00:00", collection=facts))
        model = {name: {"y": 0.0, "z": float(i % 2), "x": 1.0} for i, name in enumerate(names)}
        del model["q29"]["z"]
        number = store.qrels.add(rs.Qrels(model), name="c", kind="judge").number
        plan = TaskPlan(pool="audit", measure="P@1", k=1, judge_qrels=number, size=10, looks=(10,), repeat_share=0.0)
        task = create_task(store, "t", plan, runs=["a", "b"])
        judge = judge_labels(store, task)
        assert set(judge.grades) == set(names[6:])
        # the docs of both systems; not x, which the judge grades highest, as P has no ideal
        assert judge.grades["q07"] == {"y": 0.0, "z": 1.0}
        assert (judge.grades["q29"]["z"], judge.n_missing) == (0.0, 1)
        rater = store.raters.invite(task, name="ann")[0]
        for item in store.tasks.items(task):
            store.judgments.add(
                SingleJudgment(
                    query=item.query, doc=item.doc, source=JudgmentSource("person", id=rater.id),
                    uuid=f"00000000-0000-4000-8000-{item.number:012}", collection="c", task=str(task.number),
                    grade=3.0 if item.doc == "z" and model[item.query].get("z") else 0.0,
                )
            )  # fmt: skip
        state = settling_of(store, task)
    (pair,) = state.pairs
    assert "on the 24 changed ones of all 30 queries; 10 of them" in pair.reason
    assert "Strong caution: only 10 queries are audited." in pair.reason
    assert "1 doc without a label of the model counts as 0 for it." in pair.reason


@pytest.fixture
def audit(tmp_path):
    """A store with a model's labels of thirty queries, for each of which both systems have another doc."""
    names = [f"q{i:02}" for i in range(30)]
    with open_store(tmp_path / "store.db", create=True) as store:
        facts = CollectionFacts(name="c", queries={name: StoredQuery(name) for name in names})
        for system, docs in (("a", ["y", "v"]), ("b", ["z", "w"])):
            run = Run(dict.fromkeys(names, docs))
            store.runs.add(run, RunFacts(system=system, started="2026-01-01T00:00:00", collection=facts))
        store.qrels.add(rs.Qrels({name: {"y": 0.0, "z": 1.0} for name in names}), name="gpt", kind="judge")
        yield store


def audited(store, size, **more):
    given = {"k": 1, "measure": "P@1", "repeat_share": 0.0, **more}
    plan = TaskPlan(pool="audit", judge_qrels=store.qrels.list()[0].number, size=size, **given)
    task = create_task(store, "t", plan, runs=["a", "b"])
    return task, store.raters.invite(task, name="ann")[0]


def judge_first(store, task, rater, n_queries, **more):
    """Grade the first queries of the audit order."""
    items = sorted(store.tasks.items(task), key=lambda item: item.place)
    queries = list(dict.fromkeys(item.query for item in items if item.purpose == "audit"))[:n_queries]
    store.judgments.add(
        [
            SingleJudgment(
                query=item.query, doc=item.doc, source=JudgmentSource("person", id=rater.id),
                task=str(task.number), **{"grade": float(item.doc == "z"), **more},
            )
            for item in items
            if item.query in queries
        ],
        collection="c",
    )  # fmt: skip


def test_an_audit_grows_until_its_first_look_and_not_after_it(audit):
    """Twenty queries have one look, at 95%. With 25 there would be two, at 97.5%, and with 30 there would be another
    one: these were not planned."""
    task, rater = audited(audit, 19)
    judge_first(audit, task, rater, 18)
    task = extend_task(audit, task, size=20).task
    assert settling_of(audit, task).look.looks == (20,)
    judge_first(audit, task, rater, 19)
    assert settling_of(audit, task).look.look == 0
    judge_first(audit, task, rater, 20)
    state = settling_of(audit, task)
    assert (state.look.look, state.look.looks, state.look.level) == (1, (20,), 0.95)
    audit_items = [TaskItem(number=0, query="q29", doc="y", place=1, purpose="audit")]
    for more in ({"size": 25}, {"size": 80}, {"k": 2}, {"overlap": 2}, {"items": audit_items}):
        with pytest.raises(OptionError, match=r"the audit t was looked at after 20 queries, so its plan stays") as said:
            extend_task(audit, task, **more)
        assert "--size 80 is looked at after 20, 40 and 80 queries" in said.value.hint
    now = audit.tasks.get("t")
    assert (now.plan, settling_of(audit, now)) == (task.plan, state)
    assert extend_task(audit, task, pairs=[("q00", "v")]).items == 1, "docs that are not audited are no look"
    assert settling_of(audit, task).look.looks == (20,)


def test_an_audit_of_all_queries_says_at_its_end_that_nothing_can_grow(audit):
    task, rater = audited(audit, None)
    with pytest.raises(OptionError, match="made of all that its pool has"):
        extend_task(audit, task, size=40)
    judge_first(audit, task, rater, 20)
    with pytest.raises(OptionError, match="was looked at after 20 queries, so its plan stays as it is"):
        extend_task(audit, task, size=40)


def test_a_look_stays_a_look_when_a_grade_is_taken_back(audit):
    task, rater = audited(audit, 20)
    judge_first(audit, task, rater, 20)
    judge_first(audit, task, rater, 1, grade=None, status="withdrawn")
    assert settling_of(audit, task).look.look == 0
    with pytest.raises(OptionError, match="was looked at after 20 queries"):
        extend_task(audit, task, size=25)


def test_an_audit_of_two_raters_is_looked_at_when_both_are_through(audit):
    task, rater = audited(audit, 20, overlap=2)
    judge_first(audit, task, rater, 20)
    task = extend_task(audit, task, size=25).task
    other = audit.raters.invite(task, name="bo")[0]
    judge_first(audit, task, other, 20)
    assert settling_of(audit, task).look.looks == (20, 25)
    with pytest.raises(OptionError, match="was looked at after 20 queries"):
        extend_task(audit, task, size=30)


def test_a_look_at_one_query_is_too_little_to_mix(audit):
    task, rater = audited(audit, 1)
    judge_first(audit, task, rater, 1)
    state = settling_of(audit, task)
    assert (state.look.look, state.look.mixed, state.pairs[0].code) == (1, False, "too_few")


def test_labels_of_a_model_that_the_measure_cannot_read_are_refused(audit):
    names = sorted(audit.qrels.judgments(audit.qrels.list()[0]).judged)
    number = audit.qrels.add(
        rs.Qrels({name: {"y": 0.25, "z": 1.0} for name in names}), name="half", kind="judge"
    ).number
    plan = TaskPlan(pool="audit", k=1, measure="P@1", judge_qrels=number)
    with pytest.raises(
        InputError, match=r"P@1 needs whole grades, and the qrels half \(\w+\) have the grade 0.25"
    ) as said:
        create_task(audit, "half", plan, runs=["a", "b"])
    assert "such as P(rel=0.25)@1" in said.value.hint
    task = create_task(audit, "half", replace(plan, measure="P(rel=0.25)@1"), runs=["a", "b"])
    stored = audit.tasks.add(
        "before", collection="c", plan=replace(task.plan, measure="P@1"), guideline=task.guideline,
        items=audit.tasks.items(task),
    )  # fmt: skip
    judge_first(audit, stored, audit.raters.invite(stored, name="ann")[0], 30)
    state = settling_of(audit, stored)
    assert (state.stage, state.n_judged) == ("nothing to settle", 60)
    assert "There is no verdict: P@1 needs grades that are whole numbers" in state.words


def audited_in_full(n_audited, n_better, *, n_queries=40):
    """Return queries of which the first were audited: b's first doc is relevant, and a's is not, for some of these."""
    queries = QUERIES[:n_queries]
    lists = {"a": {query: ["y"] for query in queries}, "b": {query: ["z"] for query in queries}}
    runs = {name: Run(of, name=name) for name, of in lists.items()}
    people = {query: {"y": 0.0, "z": float(i < n_better)} for i, query in enumerate(queries[:n_audited])}
    model = {query: {"y": 0.0, "z": 1.0} for query in queries}
    items = [
        TaskItem(number=2 * i + j, query=query, doc=doc, place=i, purpose="audit")
        for i, query in enumerate(queries)
        for j, doc in enumerate("yz")
    ]
    compared = ComparedRuns(
        runs=runs, measure="P@1", margin=0.1, query_ids=tuple(queries), scale=(0.0, 1.0), docs=frozenset()
    )
    return compared, KnownGrades(grades=people, last_judgment=1), items, JudgeLabels(name="gpt", grades=model)


@pytest.mark.parametrize("labels", ["with a model", "people alone"])
@pytest.mark.parametrize(("measure", "code"), [("P@1", "better"), ("RR@3", "too_few"), ("Success@1", "too_few")])
def test_measures_of_one_doc_take_twenty_audited_queries(measure, code, labels):
    compared, known, items, judge = audited_in_full(12, 11)
    compared = replace(compared, measure=measure)
    (pair,) = settle_audit(
        compared, known, items, looks=(12, 20), judge=judge if labels == "with a model" else None
    ).pairs
    assert pair.code == code
    assert ("At least 20 queries are needed for a verdict." in pair.reason) == (code == "too_few")


def test_an_interval_ends_where_a_difference_can():
    """By hand: 19 of 20 differ by 1; 0.95 and 2.4 standard errors of 0.05 are 1.07."""
    compared, known, items, judge = audited_in_full(20, 19)
    (pair,) = settle_audit(compared, known, items, looks=(20, 40), judge=judge).pairs
    low = 0.95 - t.ppf(1 - 0.025 / 2, 19) * 0.05
    assert f"higher by 0.950 (97.5% CI +{low:.3f} to +1.000)" in pair.reason


def test_a_complete_audit_of_few_queries_is_cautioned_as_well():
    compared, known, items, judge = audited_in_full(12, 11, n_queries=12)
    (pair,) = settle_audit(compared, known, items, looks=(12,), judge=judge).pairs
    assert "so those of gpt are not needed. Strong caution: only 12 queries are audited." in pair.reason
    assert "Strong caution: few queries decide this, as 11 of 12 audited ones differ." in pair.reason
