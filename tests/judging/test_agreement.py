"""How raters of a task agree, and the verdict under each: expected numbers by hand."""

from __future__ import annotations

import math

import pytest
import sqlalchemy as sa

from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.judging.agreement import AgreementReport, CountOf, agreement_of, alpha_number, pairs_sentence
from rankscope.judging.settling import settling_of
from rankscope.judging.tasks import change_guideline
from rankscope.records import replace
from rankscope.report.agreement import agreement_report
from rankscope.report.render import render
from rankscope.store.schema import rater as rater_table
from small_task import GUIDELINE, SmallTask, small_task

TRUE = {"d0": 3, "d1": 1, "d2": 0, "d3": 0}
TURNED = {"d0": 0, "d1": 0, "d2": 1, "d3": 3}


def test_raters_who_agree(tmp_path):
    with small_task(tmp_path) as made:
        made.grade("ada", TRUE, seconds=4.0)
        made.grade("bo", TRUE, seconds=6.0)
        found = agreement_of(made.store, made.task)
    assert (found.n_raters, found.n_docs, found.n_queries, found.n_grades) == (2, 48, 12, 96)
    assert found.alpha.value == 1
    assert (found.same, found.apart, found.twice) == (CountOf(48, 48), CountOf(0, 48), CountOf(48, 48))
    assert [(each.grade, each.label, each.share.n) for each in found.given] == [
        (0, "No", 48),
        (1, "Related", 24),
        (2, "Relevant", 0),
        (3, "Exactly", 24),
    ]
    (pair,) = found.pairs
    assert pair.quadratic_kappa == pair.plain_kappa == 1
    assert pair.confusion == ((24, 0, 0, 0), (0, 12, 0, 0), (0, 0, 0, 0), (0, 0, 0, 12))
    assert [(rater.name, rater.median_seconds, rater.remarks) for rater in found.raters] == [
        ("ada", 4, ()),
        ("bo", 6, ()),
    ]
    (verdict,) = found.verdicts.pairs
    assert (verdict.verdict.code, verdict.before, verdict.against) == ("better", "better", ())
    assert [line.code for line in verdict.lines] == ["better"] * 2
    assert found.headline == (
        "The verdict does not depend on the rater: 2 of 2 find new better than old. Agreement is reliable (alpha 1.00)."
    )
    assert pairs_sentence([verdict, replace(verdict, b="third")]) == (
        "No verdict depends on the rater: 2 of 2 find new and third better than old."
    )
    assert found.hardest == ()
    assert AgreementReport.from_json(found.to_json()) == found


def test_a_rater_who_sees_the_opposite_lowers_the_verdict(tmp_path):
    """By ada's grades, which count, new is better on every query; by bo's it is worse on every query."""
    with small_task(tmp_path, rule="trusted", trusted="ada") as made:
        swap = lambda query, doc: {**TRUE, **({"d0": 1, "d1": 3} if query > "q05" else {})}[doc]  # noqa: E731
        back = lambda query, doc: {**TURNED, **({"d3": 1, "d2": 3} if query > "q05" else {})}[doc]  # noqa: E731
        made.grade("ada", swap)
        made.grade("bo", back)
        found = agreement_of(made.store, made.task)
    (pair,) = found.verdicts.pairs
    ada, bo, _highest, _lowest = pair.lines
    assert (pair.before, pair.verdict.code, pair.verdict.because) == ("better", "probably_better", "raters")
    assert pair.against == ("bo",)
    assert pair.verdict.text == "new is probably better, but not by the grades of bo alone."
    assert any("By the grades of bo alone, new's nDCG@4 is lower by" in each for each in pair.verdict.cautions)
    assert (ada.code, bo.code) == ("better", "worse")
    assert ada.low > 0 > bo.high
    assert ada.delta == pytest.approx(-bo.delta)
    assert pair.depends_on_rater
    assert found.headline.startswith(
        "new against old: probably better (where there are any, the grades of ada), but that depends on the rater: "
        "ada better, bo worse."
    )
    assert found.alpha.value < 0
    assert "Raters do not agree" in found.headline
    assert found.apart.n == 24  # in each query, the docs of 3 and 0
    assert "see the hardest docs and the guideline" in found.headline
    assert "see the hardest queries and the guideline" in replace(found, hardest=()).headline
    assert "): see the guideline." in replace(found, hardest=(), hardest_queries=()).headline
    assert len(found.hardest) == 48  # on all docs they differ
    assert found.hardest[0].steps == 3
    assert set(found.hardest[0].grades) == {"ada", "bo"}
    assert found.hardest[0].title.startswith("title of d")


def test_a_probable_verdict_stays_with_the_caution(tmp_path):
    """By hand, differences are .5065 and .2650, six times each, so the interval reaches into a margin of .38."""
    with small_task(tmp_path, rule="trusted", trusted="ada", margin=0.38) as made:
        made.grade("ada", lambda query, doc: {**TRUE, **({"d0": 1, "d1": 3} if query > "q05" else {})}[doc])
        made.grade("bo", lambda query, doc: {**TURNED, **({"d3": 1, "d2": 3} if query > "q05" else {})}[doc])
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
    assert pair.before == "probably_better"
    assert (pair.verdict.code, pair.verdict.because) == ("probably_better", "margin")
    assert "By the grades of bo alone" in pair.verdict.cautions[-1]


@pytest.mark.parametrize("n_queries", [1, 3])
def test_few_queries_give_sentences(tmp_path, n_queries):
    with small_task(tmp_path, n_queries=n_queries) as made:
        made.grade("ada", TRUE)
        made.grade("bo", TRUE)
        found = agreement_of(made.store, made.task)
    assert found.alpha.interval is None or n_queries > 1
    (pair,) = found.verdicts.pairs
    assert pair.verdict.code == "too_few"
    assert pair.depends_on_rater is None
    assert (
        "whether that depends on the rater is not known, as no rater has grades of 10 queries or more" in found.headline
    )


def test_one_rater(tmp_path):
    with small_task(tmp_path) as made:
        made.grade("ada", TRUE)
        found = agreement_of(made.store, made.task)
    assert found.alpha.value is None
    assert found.pairs == ()
    assert found.twice == CountOf(0, 48)
    assert found.headline == (
        "new against old: better; whether that depends on the rater is not known, as there is one rater. "
        "Nothing can be said of agreement: only one rater has graded."
    )


def test_raters_without_a_doc_in_common(tmp_path):
    with small_task(tmp_path) as made:
        made.grade("ada", lambda query, doc: TRUE[doc] if query < "q06" else None)
        made.grade("bo", lambda query, doc: TRUE[doc] if query >= "q06" else None)
        found = agreement_of(made.store, made.task)
    assert found.alpha.words == "no doc was graded by two raters"
    (pair,) = found.pairs
    assert (pair.n_docs, pair.quadratic_kappa, pair.same.value) == (0, None, None)
    assert [rater.alpha_with_rest for rater in found.raters] == [None, None]
    assert [line.words for line in found.verdicts.pairs[0].lines[:2]] == ["too few queries"] * 2
    assert found.verdicts.pairs[0].lines[0].n_queries == 6


def test_all_grades_the_same(tmp_path):
    with small_task(tmp_path) as made:
        made.grade("ada", lambda *_: 2)
        made.grade("bo", lambda *_: 2)
        found = agreement_of(made.store, made.task)
    assert found.alpha.value is None
    assert found.alpha.words.startswith("all docs that were graded twice have the same grade")
    assert found.same == CountOf(48, 48)
    assert found.pairs[0].quadratic_kappa is None
    AgreementReport.from_json(found.to_json())


def test_nothing_relevant_is_no_crash(tmp_path):
    with small_task(tmp_path) as made:
        made.grade("ada", lambda *_: 0)
        made.grade("bo", TRUE)
        found = agreement_of(made.store, made.task)
        nothing = agreement_of(made.store, made.task)
    assert found == nothing
    assert "every score is 0" in found.verdicts.note
    assert found.verdicts.pairs == ()


def test_nothing_is_graded(tmp_path):
    with small_task(tmp_path) as made:
        found = agreement_of(made.store, made.task)
        assert found.headline == "Nothing can be said of agreement: nothing is graded yet."
        assert "Nothing is graded yet, so there is no verdict." in found.details
        made.say("ada", "q00", "d0", grade=None, status="cannot_tell", note="doc unclear")
        assert agreement_of(made.store, made.task).n_grades == 0


def test_a_task_that_compares_nothing(tmp_path):
    with small_task(tmp_path, measure="") as made:
        made.grade("ada", TRUE)
        made.grade("bo", TRUE)
        found = agreement_of(made.store, made.task)
    assert found.verdicts.pairs == ()
    assert "The task compares no systems" in found.details[0]
    assert found.headline == "Agreement is reliable (alpha 1.00)."


def test_what_is_remarked_on_raters(tmp_path):
    """cy is a step kinder than ada and bo on every doc but those of the top grade, three times as fast, and unsteady."""
    with small_task(
        tmp_path, gold={("q00", "d2"): 0.0, ("q01", "d2"): 0.0, **{(f"q0{i}", "d3"): 0.0 for i in range(4)}}
    ) as made:
        made.grade("ada", TRUE, seconds=9.0)
        made.grade("bo", TRUE, seconds=11.0)
        made.grade("cy", {doc: min(3, grade + 1) for doc, grade in TRUE.items()}, seconds=3.0)
        for i in range(6):
            made.say("ada", f"q0{i}", "d0", grade=3.0, again=True)
            made.say("cy", f"q0{i}", "d0", grade=3.0 if i < 4 else 2.0, again=True)
        found = agreement_of(made.store, made.task)
    ada, bo, cy = found.raters
    assert ada.remarks == bo.remarks == ()
    # three of four docs are a step higher than the others' mean
    assert cy.kinder_by == pytest.approx(0.75)
    # of two raters, of whom one is kinder by .75 and one alike
    assert ada.kinder_by == pytest.approx(-0.375)
    assert (ada.own, cy.own, bo.own) == (CountOf(6, 6), CountOf(4, 6), CountOf(0, 0))
    assert (ada.gold, cy.gold) == (CountOf(6, 6), CountOf(0, 6))
    assert cy.remarks[0] == "differs from the rest"
    assert cy.remarks[-3:] == ("fast", "differs from earlier answers of their own", "misses gold docs")
    assert ada.median_seconds == 9
    (said,) = [each for each in found.details if each.startswith("cy differs from the rest, ")]
    assert said.endswith("judges fast, differs from earlier answers of their own and misses gold docs.")


def test_who_can_hardly_have_read_is_very_fast_also_beside_others_like_that(tmp_path):
    """A doc whose unclear query took 9 seconds counts: of 1, ..., 1 and 9 the median is 1."""
    with small_task(tmp_path) as made:
        made.grade("ada", lambda query, doc: None if (query, doc) == ("q00", "d0") else TRUE[doc], seconds=1.0)
        made.say("ada", "q00", "d0", status="cannot_tell", note="query unclear", seconds=9.0)
        made.grade("bo", TRUE, seconds=1.2)
        found = agreement_of(made.store, made.task)
    assert [rater.remarks for rater in found.raters] == [("very fast",), ("very fast",)]
    assert found.raters[0].median_seconds == 1


def test_docs_shown_a_second_time_are_no_grades(tmp_path):
    with small_task(tmp_path) as made:
        made.grade("ada", TRUE)
        made.say("ada", "q00", "d0", grade=0.0, again=True)
        found = agreement_of(made.store, made.task)
    assert found.n_grades == 48
    assert found.raters[0].own == CountOf(0, 1)


def test_one_rater_of_all_docs_has_the_numbers_of_all_raters(tmp_path):
    """A sample has docs of 11 of 20 queries, on which new is ahead; the others count as no difference for both."""
    with small_task(tmp_path, n_queries=20) as whole:
        items = [item for item in whole.store.tasks.items(whole.task) if item.query < "q11"]
        plan = replace(whole.task.plan, pool="sample")
        guideline = whole.store.judgments.add_guideline(GUIDELINE)
        task = whole.store.tasks.add("part", collection="doctors", plan=plan, guideline=guideline, items=items)
        made = SmallTask(whole.store, task)
        made.grade("dan", lambda query, doc: 3 - int(doc[1]) if query != "q00" else None)
        (some,) = agreement_of(made.store, made.task).verdicts.pairs
        made.grade("dan", lambda query, doc: 3 - int(doc[1]) if query == "q00" else None)
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
    main, (dan,) = pair.main, pair.lines
    assert (main.n_queries, dan.n_queries) == (20, 20)
    assert (dan.delta, dan.low, dan.high, dan.code) == (main.delta, main.low, main.high, main.code)
    assert (some.main.n_queries, some.lines[0].n_queries) == (20, 19)  # of q00 nothing is known by dan's grades


def test_before_anybody_has_graded_the_verdict_rests_on_what_was_known(tmp_path):
    known = {f"q{i:02}": {"d0": 3.0, "d3": 0.0} for i in range(12)}
    with small_task(tmp_path, known=known) as made:
        found = agreement_of(made.store, made.task)
        state = settling_of(made.store, made.task)
    assert [pair.code for pair in state.pairs] == ["better"]
    assert "No rater has graded yet: the verdict of `judge show` rests on the qrels doctors." in found.details
    assert not any("there is no verdict" in each for each in found.details)


def test_ties_of_systems_are_seen_in_their_order(tmp_path):
    """Two of three systems have the same first doc, so that nDCG@1 is the same; bo finds that of the third better."""
    lists = {"old": ("d3", "d2"), "mid": ("d0", "d2"), "new": ("d0", "d1")}
    with small_task(tmp_path, lists=lists, measure="nDCG@1", k=2) as made:
        made.grade("ada", {"d0": 3, "d1": 0, "d2": 0, "d3": 0})
        made.grade("bo", {"d0": 1, "d1": 0, "d2": 0, "d3": 3})
        found = agreement_of(made.store, made.task)
    orders = {each.name: each.places for each in found.verdicts.orders}
    assert orders["ada"] == (("mid", "new"), ("old",))
    assert orders["bo"] == (("old",), ("mid", "new"))
    text = render(agreement_report(found), "markdown")
    assert "mid = new, old" in text
    assert "a = b: both have the same mean" in text


def test_a_remark_on_a_rater_is_a_sentence(tmp_path):
    """Bo gives each of 48 docs a grade or two more than ada."""
    with small_task(tmp_path) as made:
        made.grade("ada", {"d0": 1, "d1": 0, "d2": 1, "d3": 0})
        made.grade("bo", lambda query, doc: {"d0": 2, "d1": 1, "d2": 2, "d3": 1}[doc] + int(query[1:]) % 2)
        found = agreement_of(made.store, made.task)
    said = {each.name: each.remarks for each in found.raters}
    assert ("kind" in said["bo"], "strict" in said["ada"]) == (True, True)
    text = " ".join(found.details)
    assert "grades higher than the others" in text
    assert "grades lower than the others" in text
    assert "kind." not in text


def test_order_of_three_systems_under_each_rater(tmp_path):
    """By bo's grades the order of the three is turned around, so that tau is -1."""
    lists = {"old": ("d3", "d2", "d1", "d0"), "mid": ("d3", "d0", "d1", "d2"), "new": ("d0", "d1", "d2", "d3")}
    with small_task(tmp_path, lists=lists, rule="trusted", trusted="ada") as made:
        made.grade("ada", {"d0": 3, "d1": 0, "d2": 0, "d3": 0})
        made.grade("bo", {"d0": 0, "d1": 0, "d2": 2, "d3": 3})
        found = agreement_of(made.store, made.task)
    orders = {each.name: each for each in found.verdicts.orders}
    assert orders["ada"].order == ("new", "mid", "old")
    assert orders["ada"].tau == 1
    assert orders["bo"].order == ("old", "mid", "new")
    assert orders["bo"].tau == -1
    assert [(pair.a, pair.b) for pair in found.verdicts.pairs] == [("old", "mid"), ("old", "new")]


def test_names_that_are_lacking_or_there_twice(tmp_path):
    with small_task(tmp_path) as made:
        first, second = made.store.raters.invite(made.task)[0], made.store.raters.invite(made.task, name="Bo")[0]
        third = made.store.raters.invite(made.task, name="another")[0]
        with made.store.writing() as connection:  # as stores of before have it, which took a name twice
            connection.execute(sa.update(rater_table).where(rater_table.c.id == third.number).values(name="Bo"))
        fourth = made.store.raters.invite(made.task, name="Bo (2)")[0]
        fifth = made.store.raters.invite(made.task, name="lowest grade of each doc")[0]
        made.raters.update({"v": first, "w": second, "x": third, "y": fourth, "z": fifth})
        for name in "vwxyz":
            made.grade(name, TRUE if name != "z" else TURNED)
        found = agreement_of(made.store, made.task)
    names = ["rater 1", "Bo", "Bo (2)", "Bo (2) (2)", "lowest grade of each doc"]
    assert [rater.name for rater in found.raters] == names
    lines = found.verdicts.pairs[0].lines
    assert [line.name for line in lines] == [*names, "highest grade of each doc", "lowest grade of each doc"]
    assert (lines[4].kind, lines[6].kind) == ("rater", "lowest")


def test_raters_with_hostile_names_and_notes(tmp_path):
    name = '<script>alert("x")</script>'
    with small_task(tmp_path) as made:
        made.grade(name, TRUE, note="\x1b[31m<b>" + "long " * 1000)
        made.grade("bo", TURNED)
        found = agreement_of(made.store, made.task)
    assert found.raters[0].name == name
    assert found.hardest[0].notes[0].startswith("\x1b[31m<b>")


@pytest.mark.parametrize(
    ("alpha", "shown"),
    [
        (0.714, "0.71"),
        (0.7996, "0.7996"),
        (0.8, "0.80"),
        (0.6665, "0.666"),
        (0.6669, "0.6669"),
        (0.667, "0.67"),
        (-0.5, "-0.50"),
    ],
)
def test_alpha_is_shown_on_its_side_of_the_limits(alpha, shown):
    assert alpha_number(alpha) == shown


def test_every_number_of_a_line_is_that_of_compare(tmp_path):
    """The line of a rater is what compare says of the same runs by that rater's grades."""
    import rankscope as rs

    with small_task(tmp_path) as made:
        made.grade("ada", lambda query, doc: (TRUE if query < "q08" else TURNED)[doc])
        made.grade("bo", TRUE)
        found = agreement_of(made.store, made.task)
        runs = {run.system: made.store.runs.ranking(run) for run in made.store.runs.list()}
    qrels = {f"q{i:02}": TRUE if i < 8 else TURNED for i in range(12)}
    expected = rs.compare(qrels, runs, "nDCG@4", order="given")["old", "new"]
    line = found.verdicts.pairs[0].lines[0]
    assert (line.delta, line.low, line.high) == (expected.delta, expected.ci.low, expected.ci.high)
    assert line.code == expected.verdict.code
    assert not math.isnan(line.delta)


def test_a_rater_who_differs_by_the_same_amount_on_every_query_is_opposite_too(tmp_path):
    """There is no interval then: by hand, every query differs by .5065 for ada and -.5065 for bo."""
    with small_task(tmp_path, rule="trusted", trusted="ada") as made:
        made.grade("ada", TRUE)
        made.grade("bo", TURNED)
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
    assert pair.lines[1].low is None
    assert pair.lines[1].delta == pytest.approx(-0.5065, abs=5e-5)
    assert (pair.verdict.code, pair.against) == ("probably_better", ("bo",))


def test_on_a_scale_of_two_grades_docs_on_which_raters_differ_are_the_hardest(tmp_path):
    """By hand: bo differs on d1 of q01, cy on d0 of q02; three graded d0, two d1, so d0 comes first."""
    with small_task(tmp_path, n_queries=3) as made:
        truth = {"d0": 1, "d1": 0, "d2": 0, "d3": 0}
        made.grade("ada", truth)
        made.grade("bo", lambda query, doc: 1 if (query, doc) == ("q01", "d1") else truth[doc])
        made.grade("cy", lambda query, doc: {"q02": 0, "q01": 1}.get(query, 1) if doc == "d0" else None)
        found = agreement_of(made.store, made.task)
    assert found.apart.n == 0
    assert [(each.query, each.doc, each.steps) for each in found.hardest] == [("q02", "d0", 1), ("q01", "d1", 1)]
    assert found.hardest[0].grades == {"ada": 1, "bo": 1, "cy": 0}
    section = next(each for each in agreement_report(found).sections if each.title == "Hardest docs")
    assert section.intro == "Raters differ on 2 docs, those whose grades are furthest apart first."


def test_what_is_settled_has_the_verdict_that_raters_lower(tmp_path):
    """One verdict everywhere: what a rater's own grades show the opposite of is no more than probable."""
    with small_task(tmp_path, rule="trusted", trusted="ada", measure="P@1", overlap=2) as made:
        made.grade("ada", TRUE)
        half = settling_of(made.store, made.task)
        made.grade("bo", TURNED)
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
        state = settling_of(made.store, made.task)
    assert half.pairs[0].code == "better"
    assert half.words.endswith(
        "Settled: no grade of an open doc changes what the labels say; what single raters' grades make of it can change."
    )
    assert half.short.endswith("what all grades say together; what those of single raters make of it can change.")
    assert (state.settled, state.pairs[0].code, state.pairs[0].text) == (True, "probably_better", pair.verdict.text)
    assert pair.verdict.because == "raters"
    assert state.words.endswith("Settled: no grade of an open doc changes this.")


@pytest.mark.parametrize(("name", "expected"), [("latest", "all raters, latest grade"), ("only", "all raters")])
def test_lines_of_rules(tmp_path, name, expected):
    with small_task(tmp_path, rule=name) as made:
        made.grade("ada", TRUE)
        made.grade("bo", TRUE)
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
    assert pair.main.name == expected


def test_the_rule_needs_more_raters(tmp_path):
    with small_task(tmp_path, rule="dawid-skene") as made:
        made.grade("ada", TRUE)
        made.grade("bo", TRUE)
        found = agreement_of(made.store, made.task)
    assert found.verdicts.pairs[0].main.name == "all raters, lower median"
    assert found.errors == ()
    assert found.details[-1] == (
        "The task's rule (dawid-skene) gives no labels yet: the rule dawid-skene needs 5 raters with 20 grades each, "
        "but there are 2. Until it does, the lower median stands in, by which nothing is settled."
    )


def test_how_raters_err(tmp_path):
    with small_task(tmp_path, rule="dawid-skene") as made:
        for name in ("ada", "bo", "cy", "di"):
            made.grade(name, TRUE)
        made.grade("ed", {"d0": 0, "d1": 1, "d2": 3, "d3": 3})
        found = agreement_of(made.store, made.task)
    ed = found.errors[-1]
    assert (ed.name, ed.grades) == ("ed", (0, 1, 2, 3))
    assert ed.matrix[0][3] > 0.8
    assert ed.matrix[3][0] > 0.8


def test_an_audit_has_its_looks(tmp_path):
    with small_task(tmp_path, pool="audit") as made:
        made.grade("ada", TRUE)
        made.grade("bo", TRUE)
        found = agreement_of(made.store, made.task)
    assert found.verdicts.pairs == ()
    assert "looked at after 20, 40 and 80 queries only" in found.details[0]
    assert found.alpha.value == 1


def test_an_audit_of_few_queries_has_the_looks_that_show_has(tmp_path):
    with small_task(tmp_path, pool="audit") as made:
        items = made.store.tasks.items(made.task)
        audited = [replace(item, number=0, purpose="audit") for item in items]
        plan = replace(made.task.plan, looks=(5, 20, 40))
        made.task = made.store.tasks.add(
            "u", collection="doctors", plan=plan, guideline=made.task.guideline, items=audited
        )
        made.grade("ada", TRUE)
        shown, found = settling_of(made.store, made.task), agreement_of(made.store, made.task)
    assert shown.look.looks == (5, 12)
    assert "looked at after 5 and 12 queries only" in found.details[0]


def test_labels_known_before_stand_beside_the_grades(tmp_path):
    """Only d0 is graded, and by both; what was known of the others decides where it lies among them."""
    known = {f"q{i:02}": {"d1": 3, "d2": 0, "d3": 0, "d0": 0} for i in range(12)}
    with small_task(tmp_path, known=known) as made:
        made.grade("ada", {"d0": 1})
        made.grade("bo", {"d0": 2})
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
        runs = {run.system: made.store.runs.ranking(run) for run in made.store.runs.list()}
    import rankscope as rs

    by_bo = {query: {**docs, "d0": 2} for query, docs in known.items()}
    expected = rs.compare(by_bo, runs, "nDCG@4", order="given")["old", "new"]
    assert pair.lines[1].delta == pytest.approx(expected.delta)


def test_of_a_gold_doc_raters_have_grades_of_their_own(tmp_path):
    gold = {(f"q{i:02}", "d0"): 3.0 for i in range(12)}
    with small_task(tmp_path, gold=gold) as made:
        made.grade("ada", TRUE)
        made.grade("bo", TURNED)
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
    assert pair.lines[1].delta == pytest.approx(-0.5065, abs=5e-5)
    assert pair.main.delta > 0  # d0 is 3 for certain, and the lower of 0 and 1, or 3, is 0


def test_versions_of_the_guideline_are_counted_once_with_the_present_one(tmp_path):
    """What came from a file names no text; a changed text is a version before and after anybody follows it."""
    with small_task(tmp_path) as made:
        source = {"grade": 1.0, "task": str(made.task.number), "collection": "doctors"}
        person = JudgmentSource("person", id=made.rater("ada").id)
        made.store.judgments.add(SingleJudgment(query="q00", doc="d0", source=person, **source))
        assert agreement_of(made.store, made.task).n_guidelines == 1
        made.say("bo", "q00", "d0", grade=2.0)
        assert agreement_of(made.store, made.task).n_guidelines == 1
        made.task = change_guideline(made.store, made.task, f"Look twice.\n{GUIDELINE}")
        found = agreement_of(made.store, made.task)
        assert found.n_guidelines == 2
        assert found.n_followed == 1, "nobody has judged by the new words yet"
        assert "versions of the guideline" not in " ".join(found.details)
        made.say("bo", "q00", "d1", status="cannot_tell", note="doc unclear")
        found = agreement_of(made.store, made.task)
        assert (found.n_guidelines, found.n_followed) == (2, 2)
        assert "Judgments follow 2 versions of the guideline" in " ".join(found.details)


def test_raters_of_lists_are_compared_answer_by_answer(tmp_path):
    """By hand: of q00 to q04 both said something; q00 and q01 alike, also with sides swapped, q02 and q03 not.

    Of q04 bo cannot tell, and q05 only ada has compared.
    """
    said = {
        "ada": [("old", "new", 1), ("old", "new", 0), ("old", "new", 2), ("old", "new", 0), ("old", "new", 1)],
        "bo": [("new", "old", -2), ("new", "old", 0), ("old", "new", -1), ("new", "old", 1), ("old", "new", None)],
    }
    with small_task(tmp_path, mode="lists") as made:
        for name, answers in said.items():
            for i, (left, right, value) in enumerate(answers):
                made.prefer(name, f"q{i:02}", left, right, value)
        made.prefer("ada", "q05", "old", "new", 1)
        found = agreement_of(made.store, made.task)
    both = found.preferences
    assert (both.n, both.n_raters, both.n_queries) == (11, 2, 6)
    assert (both.twice, both.same) == (CountOf(4, 6), CountOf(2, 4))
    assert [(pair.first, pair.second, pair.same) for pair in both.pairs] == [("ada", "bo", CountOf(2, 4))]
    assert found.details == ()
    assert AgreementReport.from_json(found.to_json()) == found
    with small_task(tmp_path / "docs") as made:
        assert agreement_of(made.store, made.task).preferences is None
