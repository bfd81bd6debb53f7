"""Qrels made of a task: expected grades by hand."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from rankscope.cli.judge import find_rater
from rankscope.data.tasks import raters_meant, shown_rater
from rankscope.errors import InputError
from rankscope.judging.agreement import agreement_of
from rankscope.judging.labels import make_qrels
from rankscope.judging.settling import settling_of
from rankscope.records import replace
from rankscope.store.labels import nearest_mean
from rankscope.store.schema import rater as rater_table
from small_task import small_task


def test_the_rule_of_the_task_and_others(tmp_path):
    with small_task(tmp_path, n_queries=1) as made:
        made.grade("ada", {"d0": 3, "d1": 1, "d2": 0})
        made.grade("bo", {"d0": 0, "d1": 2, "d3": 1})
        made.grade("cy", {"d0": 3})
        found = {
            rule: made.store.qrels.judgments(make_qrels(made.store, made.task, rule=rule))["q00"]
            for rule in (None, "majority", "mean", "max", "latest")
        }
        trusted = make_qrels(made.store, made.task, rule="trusted", trusted="bo")
        assert made.store.qrels.judgments(trusted)["q00"] == {"d0": 0, "d1": 2, "d2": 0, "d3": 1}
    assert found[None] == {"d0": 3, "d1": 1, "d2": 0, "d3": 1}
    assert found["majority"] == {"d0": 3, "d1": 1, "d2": 0, "d3": 1}
    assert found["mean"] == {"d0": 2, "d1": 1, "d2": 0, "d3": 1}  # 2 and 1.5
    assert found["max"] == {"d0": 3, "d1": 2, "d2": 0, "d3": 1}
    assert found["latest"] == {"d0": 3, "d1": 2, "d2": 0, "d3": 1}


def test_what_is_kept_with_them(tmp_path):
    known = {"q00": {"d0": 2, "x": 1}, "q01": {"y": 3}}
    with small_task(tmp_path, n_queries=2, known=known, gold={("q00", "d1"): 3.0}) as made:
        made.grade("ada", {"d0": 1, "d1": 0})
        made.grade("bo", {"d0": 3})
        made.say("bo", "q00", "d0", grade=0.0, again=True)
        stored = make_qrels(made.store, made.task)
        grades = made.store.qrels.judgments(stored)
    assert grades["q00"] == {"d0": 1, "d1": 3, "x": 1}
    assert grades["q01"] == {"d0": 1, "d1": 0, "y": 3}
    assert stored.name == "hearts", "as the task, whatever the labels that it began with are called"
    facts = {name: stored.facts[name] for name in ("rule", "task", "n_known", "n_gold", "n_raters", "n_disagreed")}
    assert facts == {"rule": "lower median", "task": "1", "n_known": 2, "n_gold": 1, "n_raters": 2, "n_disagreed": 2}
    assert stored.facts["guidelines"] == [made.task.guideline]


def test_nothing_graded_is_an_error(tmp_path):
    with small_task(tmp_path, n_queries=1) as made:
        with pytest.raises(InputError, match="nothing is graded in the task hearts yet"):
            make_qrels(made.store, made.task)
        made.say("ada", "q00", "d0", flag=True)
        with pytest.raises(InputError, match="nothing is graded"):
            make_qrels(made.store, made.task)


def test_a_task_without_known_labels_names_its_qrels(tmp_path):
    with small_task(tmp_path, n_queries=1) as made:
        made.grade("ada", {"d0": 1})
        assert make_qrels(made.store, made.task).name == "hearts"
        assert make_qrels(made.store, made.task, name="mine").name == "mine"


def test_a_trusted_rater_whose_name_two_have_is_not_guessed(tmp_path):
    with small_task(tmp_path, n_queries=1) as made:
        made.grade("ada", {"d0": 3, "d1": 1})
        made.grade("bo", {"d0": 0})
        second = made.rater("bo")
        with made.store.writing() as connection:  # as stores of before may have it
            connection.execute(sa.update(rater_table).where(rater_table.c.id == second.number).values(name="ada"))
        with pytest.raises(InputError, match="several raters of hearts are called ada"):
            make_qrels(made.store, made.task, rule="trusted", trusted="ada")
        stored = make_qrels(made.store, made.task, rule="trusted", trusted=second.id)
        assert made.store.qrels.judgments(stored)["q00"] == {"d0": 0, "d1": 1}
        assert stored.facts["n_untrusted"] == 1


@pytest.mark.parametrize("word", ["ada", "1"])
@pytest.mark.parametrize("new_name", ["", "Dr. A."])
def test_trust_follows_the_rater_when_names_change(tmp_path, word, new_name):
    """By ada's grades the new system has a relevant doc at rank 1 for each query, by all others' the old one."""
    with small_task(tmp_path, measure="P@1", overlap=3, rule="trusted", trusted=word) as made:
        made.grade("ada", {"d0": 3, "d1": 0, "d2": 0, "d3": 0})
        made.grade("bo", {"d0": 0, "d1": 0, "d2": 0, "d3": 3})
        number = made.raters["ada"].number
        if new_name:
            made.store.raters.rename(number, new_name)
        else:
            made.store.raters.forget(number)
        task = made.store.tasks.get("hearts")
        assert settling_of(made.store, task).pairs[0].delta == 1.0
        later = made.store.raters.invite(task, name=word)[0]  # another person, who is called as the plan said
        made.raters["later"] = later
        made.grade("later", {"d0": 0, "d1": 0, "d2": 0, "d3": 3})
        task = made.store.tasks.get("hearts")
        assert settling_of(made.store, task).pairs[0].delta == 1.0
        assert make_qrels(made.store, task).facts["n_untrusted"] == 0
        (pair,) = agreement_of(made.store, task).verdicts.pairs
        assert pair.main.name == f"where there are any, the grades of {new_name or 'rater 1'}"
        assert shown_rater(made.store.raters.list(task), task.plan.trusted) == (new_name or "rater 1")


def test_a_plan_that_is_extended_keeps_whom_it_trusts(tmp_path):
    with small_task(tmp_path, n_queries=1, rule="trusted", trusted="ada") as made:
        ada = made.rater("ada")
        made.store.raters.forget(ada.number)
        made.store.tasks.extend(made.task, (), plan=replace(made.task.plan, overlap=2))  # read before the name went
        plan = made.store.tasks.get("hearts").plan
        assert (plan.overlap, plan.trusted) == (2, ada.id)


def test_a_word_that_is_a_name_and_a_number_is_the_name(tmp_path):
    """The rater with the number 1 is called 2, and the one with the number 2 is called 1."""
    with small_task(tmp_path, n_queries=1) as made:
        made.grade("2", {"d0": 3})
        made.grade("1", {"d0": 0})
        made.grade("3rd", {"d0": 1})
        numbers = {rater.name: str(rater.number) for rater in made.store.raters.list(made.task)}
        assert numbers == {"2": "1", "1": "2", "3rd": "3"}
        for word, grade in {"2": 3.0, "1": 0.0, "3": 1.0, "3RD": 1.0}.items():
            stored = make_qrels(made.store, made.task, rule="trusted", trusted=word)
            assert made.store.qrels.judgments(stored)["q00"] == {"d0": grade}
            assert raters_meant(made.store.raters.list(made.task), word) == [find_rater(made.store, made.task, word)]


def test_the_mean_of_two_neighbours_is_the_lower_one(tmp_path):
    with small_task(tmp_path, n_queries=1) as made:
        made.grade("ada", {"d0": 0, "d1": 1, "d2": 2})
        made.grade("bo", {"d0": 1, "d1": 2, "d2": 3})
        stored = make_qrels(made.store, made.task, rule="mean")
        assert made.store.qrels.judgments(stored)["q00"] == {"d0": 0, "d1": 1, "d2": 2}


def test_a_mean_between_two_decimals_is_the_lower_one(tmp_path):
    """(0.1 + 0.2) / 2 is half-way between 0.1 and 0.2, although as a binary number it is nearer to 0.2."""
    assert nearest_mean([0.1, 0.2], [0.0, 0.1, 0.2, 0.3]) == 0.1
    assert nearest_mean([0.2, 0.3], [0.0, 0.1, 0.2, 0.3]) == 0.2
    assert nearest_mean([0.1, 0.2, 0.2], [0.0, 0.1, 0.2]) == 0.2
