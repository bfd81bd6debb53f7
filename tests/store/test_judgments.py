"""Judgments are only added to; what holds is the newest of each rater."""

from __future__ import annotations

import json
import threading
import uuid

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rankscope.data.judgments import (
    JudgmentCost,
    JudgmentSource,
    SingleJudgment,
    judgment_record,
    read_judgments,
    with_uuid,
    write_judgments,
)
from rankscope.errors import InputError
from rankscope.records import replace
from rankscope.store import open_store


def said(doc="d1", grade=1.0, *, query="q1", rater="ada", kind="person", **more) -> SingleJudgment:
    source = JudgmentSource("person", id=rater) if kind == "person" else JudgmentSource("judge", name=rater, model="m")
    more.setdefault("uuid", str(uuid.uuid4()))
    return SingleJudgment(query=query, doc=doc, source=source, grade=grade, collection="c", **more)


def docs_of(found) -> list[tuple]:
    return [(each.judgment.doc, each.judgment.grade) for each in found]


def test_a_retry_is_kept_once(store):
    first = said()
    (stored,) = store.judgments.add(first)
    assert store.judgments.add(first) == (stored,)
    assert store.judgments.list() == (stored,)
    assert stored.judgment == first


def test_the_same_uuid_in_other_letters_is_the_same(store):
    first = said(uuid="AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA")
    store.judgments.add(first)
    store.judgments.add(said(uuid="urn:uuid:aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"))
    assert len(store.judgments.list()) == 1


def test_the_uuid_of_another_judgment_is_an_error_and_nothing_is_kept(store):
    first = said()
    store.judgments.add(first)
    with pytest.raises(InputError, match="stands for another judgment"):
        store.judgments.add([said("d7"), said("d2", uuid=first.uuid)])
    assert docs_of(store.judgments.list()) == [("d1", 1.0)]


def test_the_highest_number_holds_although_clocks_go_backwards(store_address):
    times = iter(["2026-01-02T00:00:00.000000+00:00", "2026-01-01T00:00:00.000000+00:00"])
    with open_store(store_address, clock=lambda: next(times)) as store:
        store.judgments.add(said(grade=1.0, at="2026-01-02T00:00:00+00:00"))
        store.judgments.add(said(grade=3.0, at="2026-01-01T00:00:00+00:00"))
        assert docs_of(store.judgments.current("c")) == [("d1", 3.0)]
        assert len(store.judgments.list("c")) == 2


def test_a_judgment_is_withdrawn_by_a_new_row(store):
    store.judgments.add([said("d1"), said("d2")])
    store.judgments.add(said("d1", None, status="withdrawn"))
    assert docs_of(store.judgments.current("c")) == [("d2", 1.0)]
    store.judgments.add(said("d1", 2.0))
    assert docs_of(store.judgments.current("c")) == [("d2", 1.0), ("d1", 2.0)]
    assert len(store.judgments.list("c")) == 4


def test_each_task_and_rater_has_a_judgment_of_its_own(store):
    store.judgments.add(
        [said(grade=0.0), said(grade=1.0, rater="bo"), said(grade=2.0, task="t"), said(grade=3.0, task="t")]
    )
    assert [grade for _, grade in docs_of(store.judgments.current("c"))] == [0.0, 1.0, 3.0]
    assert [grade for _, grade in docs_of(store.judgments.current("c", task="t"))] == [3.0]
    assert store.judgments.current("other") == ()


def test_a_choice_is_one_for_a_query(store):
    store.judgments.add([said("d1", None, choice=True), said("d2", None, choice=True), said("d1", 2.0)])
    assert docs_of(store.judgments.current("c")) == [("d2", None), ("d1", 2.0)]


def test_a_guideline_must_be_known(store):
    with pytest.raises(InputError, match="does not have the guideline"):
        store.judgments.add(said(guideline="ab" * 32))
    sha256 = store.judgments.add_guideline("3 is what you would click.\n")
    (stored,) = store.judgments.add(said(guideline=sha256, seconds=2.5, cost=JudgmentCost(10, 2, 0.01)))
    assert stored.judgment.guideline == sha256
    assert store.judgments.guidelines() == {sha256: "3 is what you would click.\n"}
    assert store.judgments.list()[0].judgment.cost == JudgmentCost(10, 2, 0.01)


@pytest.mark.parametrize("grade", [float("nan"), float("inf")])
def test_a_grade_is_a_number(store, grade):
    with pytest.raises(InputError, match="its grade is"):
        store.judgments.add(said(grade=grade))


TEXTS = st.text(st.one_of(st.sampled_from("\\\0\udc80\udcff"), st.characters(codec="utf-8")), min_size=1, max_size=9)


@settings(max_examples=20, phases=(Phase.explicit, Phase.generate))
@given(
    st.builds(
        SingleJudgment,
        query=TEXTS,
        doc=TEXTS,
        source=st.builds(JudgmentSource, kind=st.sampled_from(["person", "judge"]), id=TEXTS, name=TEXTS, model=TEXTS),
        grade=st.floats(allow_nan=False, allow_infinity=False),
        note=TEXTS,
        flag=st.booleans(),
        collection=TEXTS,
        task=st.one_of(st.none(), TEXTS),
        seconds=st.one_of(st.none(), st.floats(0, 1e9)),
        system=st.one_of(st.none(), TEXTS),
    )
)
def test_judgments_are_read_back_equal(store, tmp_path, judgment):
    judgment = replace(judgment, uuid=str(uuid.uuid4()))
    (stored,) = store.judgments.add(judgment)
    assert stored.judgment == judgment
    assert store.judgments.list(judgment.collection)[-1] == stored
    write_judgments([judgment], tmp_path / "one.jsonl")
    assert read_judgments(tmp_path / "one.jsonl") == (judgment,)


def test_lines_written_before_the_later_fields_stay_the_same():
    """Their uuids follow from what they say, so nothing may be added to that; this one was made before."""
    old = SingleJudgment(query="q", doc="d", source=JudgmentSource("person", id="ada"), grade=1.0)
    assert with_uuid(old).uuid == "7bfcde64-f241-5f47-8abb-020d5e50a2f8"
    assert not {"collection", "task", "guideline", "seconds", "cost"} & set(judgment_record(old))


def test_two_files_merge_line_by_line(store, tmp_path):
    ours, theirs = [said(f"d{i}") for i in range(5)], [said(f"e{i}") for i in range(5)]
    store.judgments.add([*ours, *theirs])
    assert store.judgments.save(tmp_path / "all.jsonl") == 10
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert [json.loads(line)["uuid"] for line in lines] == sorted(each.uuid for each in [*ours, *theirs])
    write_judgments(ours, tmp_path / "ours.jsonl")
    write_judgments(theirs, tmp_path / "theirs.jsonl")
    merged = [
        *(tmp_path / "ours.jsonl").read_text().splitlines(),
        *(tmp_path / "theirs.jsonl").read_text().splitlines(),
    ]
    assert sorted(merged) == sorted(lines)


def test_a_file_is_taken_in_once(store, tmp_path):
    sent = [said("d1", 1.0, at="2026-01-02T00:00:00+00:00"), said("d1", 2.0, at="2026-01-01T00:00:00+00:00")]
    write_judgments(sent, tmp_path / "sent.jsonl")
    assert store.judgments.load(tmp_path / "sent.jsonl") == 2
    assert store.judgments.load(tmp_path / "sent.jsonl") == 0
    assert docs_of(store.judgments.current("c")) == [("d1", 1.0)]


@pytest.mark.parametrize(("rule", "expected"), [("majority", 1.0), ("mean", 4 / 3), ("max", 2.0)])
def test_grades_of_raters_become_qrels(store, rule, expected):
    """By hand: d1 has 1, 1 and 2; d2 has 0 and 3, of which as many raters gave either; d3 one grade."""
    ada, bo, cy = ({"rater": name} for name in ("ada", "bo", "cy"))
    store.judgments.add([said("d1", 1.0, **ada), said("d1", 1.0, **bo), said("d1", 2.0, **cy), said("d3", 2.0, **cy)])
    store.judgments.add([said("d2", 0.0, **ada), said("d2", 3.0, **bo), said("d1", 3.0, kind="judge")])
    stored = store.judgments.to_qrels("c", rule=rule)
    grades = store.qrels.judgments(stored)["q1"]
    assert grades["d1"] == expected
    assert grades["d2"] == {"majority": 0.0, "mean": 1.5, "max": 3.0}[rule]
    assert grades["d3"] == 2.0
    assert (stored.kind, stored.facts["rule"], stored.facts["n_disagreed"], stored.facts["n_single"]) == (
        "people",
        rule,
        2,
        1,
    )
    assert store.qrels.judgments(store.judgments.to_qrels("c", kind="judge"))["q1"] == {"d1": 3.0}


def test_without_a_rule_disagreement_is_refused(store):
    store.judgments.add([said("d1", 1.0), said("d1", 2.0, rater="bo")])
    with pytest.raises(InputError, match="raters disagree on 1 doc, the first is d1 for query q1"):
        store.judgments.to_qrels("c")
    with pytest.raises(InputError, match="no grades of clicks"):
        store.judgments.to_qrels("c", kind="clicks")


def test_many_clients_at_once(store):
    """Every judgment is kept, each once; benchmarks/store.py measures how long they wait."""
    problems = []

    def judge(rater: int) -> None:
        try:
            for i in range(10):
                each = said(f"d{i}", float(i % 3), rater=str(rater))
                store.judgments.add(each)
                store.judgments.add(each)
        except Exception as error:  # noqa: BLE001 (a thread would hide it)
            problems.append(error)

    threads = [threading.Thread(target=judge, args=(rater,)) for rater in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    found = store.judgments.list()
    assert len(found) == 200
    assert len({each.judgment.uuid for each in found}) == 200
