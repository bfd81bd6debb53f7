"""Flags, choices and preferences of a task: expected numbers by hand."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

import rankscope as rs
from rankscope.data.tasks import TaskItem
from rankscope.judging.agreement import CountOf
from rankscope.judging.opinion_records import OpinionReport, rate_end_text, rate_text
from rankscope.judging.opinions import opinions_of, outcome_of
from rankscope.judging.pools import with_ranks
from rankscope.records import replace
from rankscope.report.document import Estimate, Estimates, Report
from rankscope.report.opinions import choices_table, opinions_report
from rankscope.report.render import render
from rankscope.report.render.interval import text_estimate
from rankscope.store.schema import task_item
from small_task import small_task

GRADES = {"d0": 3, "d1": 1, "d2": 0, "d3": 0}


def test_win_rate_of_choices(tmp_path):
    """By hand: ada chooses d0 for nine queries, which new has first, and d3 for three, which old has first."""
    with small_task(tmp_path) as made:
        for i, query in enumerate(made.queries):
            made.say("ada", query, "d3" if i < 3 else "d0", choice=True)
        found = opinions_of(made.store, made.task)
    (pair,) = found.choices.pairs
    assert (pair.a, pair.b) == ("old", "new")
    assert (pair.won, pair.tied, pair.lost, pair.n_queries, pair.n_opinions) == (9, 0, 3, 12, 12)
    assert pair.rate == 0.75
    # the same differences as scores of two systems: 1 - 0 and 0 - 1
    shares = {f"q{i}": {"d": 1} for i in range(12)}
    runs = {"a": {q: ["x", "d"] if i >= 3 else ["d"] for i, q in enumerate(shares)}}
    runs["b"] = {q: ["d"] if i >= 3 else ["x", "d"] for i, q in enumerate(shares)}
    expected = rs.compare(shares, runs, "Success@1", margin=0, order="given")["a", "b"]
    assert (pair.low, pair.high) == pytest.approx(((1 + expected.ci.low) / 2, (1 + expected.ci.high) / 2))
    assert pair.code == expected.verdict.code == "cannot_tell"
    assert pair.low <= 0.5 < pair.high
    assert pair.text.startswith(
        "By choices, one cannot tell whether new or old is better. The win rate of new against old is 75.0% (95% CI"
    )
    assert pair.text.endswith("on 12 queries: of 12 choices, new has 9 at a better rank, old 3.")
    old, new = found.choices.systems
    assert (old.first, new.first) == (CountOf(3, 12), CountOf(9, 12))
    assert (old.median_rank, new.median_rank) == (4, 1)
    assert [(each.rank, each.n) for each in new.by_rank] == [(1, 9), (4, 3)]
    assert OpinionReport.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("a", "b", "outcome"), [(1, 4, 0), (4, 1, 1), (2, 2, 0.5), (None, 3, 1), (3, None, 0), (None, None, 0.5)]
)
def test_who_has_the_chosen_doc_higher(a, b, outcome):
    assert outcome_of(a, b) == outcome


def test_a_first_doc_that_the_task_does_not_hold_could_not_be_chosen(tmp_path):
    """By hand: both have x on top, which a task of docs that settle something leaves out, and no item shows it."""
    lists = {"old": ("x", "d1", "d0"), "new": ("x", "d0", "d1")}
    with small_task(tmp_path, lists=lists) as made:
        with made.store.writing() as connection:
            connection.execute(sa.delete(task_item).where(task_item.c.doc == "x", task_item.c.query != "q00"))
        for query in made.queries[:5]:
            made.say("ada", query, "d0", choice=True)
        found = opinions_of(made.store, made.task)
    assert (found.choices.n_queries, found.choices.n_first_left_out) == (5, 4)
    assert found.details[0].startswith(
        "Raters chose among the docs of the task: in 4 of 5 queries with a choice it does not hold the first doc of a"
    )
    assert found.details[0] in render(opinions_report(found), "html")


def test_what_has_no_interval_is_drawn_as_a_point_beside_others():
    rows = (
        Estimate("with", 10.0, -5.0, 20.0, "+10", "unsure"),
        Estimate("without", 20.0, None, None, "+20", "better"),
        Estimate("half", 20.0, 10.0, None, "+20"),
    )
    block = Estimates("points", rows)
    assert text_estimate(rows[1], block, width=26, ends=False) == "·····|···················●"
    assert text_estimate(rows[2], block) == ""
    assert render(Report("r", (block,), (), ()), "html").count('class="pt"') == 2


@pytest.mark.parametrize(
    ("end", "words"), [(0.999999, "100.0%"), (1e-7, "0.0%"), (0.9994, "99.9%"), (0.5001, "50.01%"), (0.25, "25.0%")]
)
def test_an_interval_ends_at_all_or_nothing_plainly(end, words):
    assert rate_end_text(end) == words


def test_raters_of_a_query_are_one_unit(tmp_path):
    """Three raters choose for q00, one for the others: each query counts the same, so 11 of 12 won, and q00 a third."""
    with small_task(tmp_path) as made:
        for query in made.queries:
            made.say("ada", query, "d0", choice=True)
        made.say("bo", "q00", "d3", choice=True)
        made.say("cy", "q00", "d3", choice=True)
        (pair,) = opinions_of(made.store, made.task).choices.pairs
    assert (pair.n_queries, pair.n_opinions, pair.won, pair.lost) == (12, 14, 12, 2)
    assert pair.rate == pytest.approx((11 + 1 / 3) / 12)
    assert pair.code == "better"
    assert pair.low > 0.5
    assert pair.high <= 1


def test_few_queries_and_choices_of_one_kind(tmp_path):
    with small_task(tmp_path, n_queries=3) as made:
        for query in made.queries:
            made.say("ada", query, "d0", choice=True)
        (pair,) = opinions_of(made.store, made.task).choices.pairs
    assert (pair.code, pair.rate) == ("too_few", 1)
    assert pair.text == (
        "By choices, there are too few queries to tell new from old. The win rate of new against old is 100.0%, on 3 "
        "queries: of 3 choices, new has 3 at a better rank, old 0."
    )


def test_a_few_ties_are_not_even(tmp_path):
    lists = {"old": ("d0", "d1"), "new": ("d0", "d2")}
    with small_task(tmp_path, lists=lists, n_queries=9) as made:
        for query in made.queries:
            made.say("ada", query, "d0", choice=True)
        (few,) = opinions_of(made.store, made.task).choices.pairs
    with small_task(tmp_path / "more", lists=lists, n_queries=10) as made:
        for query in made.queries:
            made.say("ada", query, "d0", choice=True)
        (enough,) = opinions_of(made.store, made.task).choices.pairs
    assert (few.words, few.rate, enough.words, enough.rate) == ("too few queries", 0.5, "even", 0.5)


def test_where_few_queries_differ_the_interval_is_not_all_there_is_to_say(tmp_path):
    """Of two queries that differ, every flip of signs is as far away in one of two cases: p is never below 0.5."""
    lists = {"old": ("d0", "d1"), "new": ("d0", "d2")}
    with small_task(tmp_path, lists=lists, n_queries=12) as made:
        for place, query in enumerate(made.queries):
            made.say("ada", query, "d2" if place < 2 else "d0", choice=True)
        (pair,) = opinions_of(made.store, made.task).choices.pairs
    assert (pair.won, pair.tied, pair.code) == (2, 10, "cannot_tell")
    assert pair.text.endswith(
        "Only 2 of 12 queries differ in share of choices won: too few for p to reach 0.05, wherever the interval ends."
    )


def test_a_side_that_is_named_too_often_and_answers_that_change(tmp_path):
    with small_task(tmp_path, mode="lists") as made:
        for query in made.queries:
            made.prefer("ada", query, "old", "new", -1)
            made.prefer("ada", query, "new", "old", -1, again=True)
        found = opinions_of(made.store, made.task)
    assert found.preferences.pairs[0].words == "even"
    assert found.details == (
        "Preferences are not steady: shown again with sides swapped, 12 of 12 got another answer. They count as ties.",
        "The side may matter: 24 of 24 preferences are for the list on the left.",
    )


def test_a_choice_that_is_taken_back_or_moved(tmp_path):
    with small_task(tmp_path) as made:
        made.say("ada", "q00", "d0", choice=True)
        made.say("ada", "q00", "d3", choice=True)
        made.say("ada", "q01", "d0", choice=True)
        made.say("ada", "q01", "d0", choice=True, status="withdrawn")
        found = opinions_of(made.store, made.task)
    assert (found.choices.n, found.choices.pairs[0].lost) == (1, 1)
    assert "All choices are of one query: they say nothing of others." in found.details


def test_flags_by_rank_system_and_note(tmp_path):
    """ada and bo grade everything; ada flags d3 of all 12 queries, bo of the first 6: old has it first, new last."""
    with small_task(tmp_path) as made:
        for name, flagged in (("ada", 12), ("bo", 6)):
            for i, query in enumerate(made.queries):
                for doc, grade in GRADES.items():
                    flag = doc == "d3" and i < flagged
                    note = ("Wrong city" if i % 2 else "not a surgeon, wrong city") if flag else ""
                    made.say(name, query, doc, grade=float(grade), flag=flag, note=note)
        found = opinions_of(made.store, made.task).flags
    assert found.share == CountOf(18, 96)
    assert found.n_docs == 12
    old, new = found.systems
    assert old.share == new.share == CountOf(18, 96)
    assert [each.share.n for each in old.by_rank] == [18, 0, 0, 0]
    assert [each.share.n for each in new.by_rank] == [0, 0, 0, 18]
    assert [(each.rank, each.share) for each in found.by_rank] == [
        (1, CountOf(18, 48)),
        (2, CountOf(0, 48)),
        (3, CountOf(0, 48)),
        (4, CountOf(18, 48)),
    ]
    assert [(each.text, each.n) for each in found.notes] == [("Wrong city", 9), ("not a surgeon, wrong city", 9)]
    assert [(each.text, each.n) for each in found.words] == [("city", 18), ("wrong", 18), ("surgeon", 9)]
    # the fields of queries alternate, and so do the notes
    values = {each.value: each for each in found.by_value if each.name == "field"}
    assert values["heart"].share == values["skin"].share == CountOf(9, 48)
    assert [word.text for word in values["heart"].words] == ["city", "wrong"]
    assert [word.text for word in values["skin"].words] == ["city", "surgeon", "wrong"]
    assert found.docs[0].share == CountOf(2, 2)
    assert found.docs[0].ranks == {"new": 4, "old": 1}
    (pair,) = found.pairs
    assert (pair.code, pair.words, pair.rate) == ("same", "even", 0)


def test_fewer_flags_are_better(tmp_path):
    """Of two lists without a doc in common, only docs of old are flagged: one of its two in each query."""
    lists = {"old": ("a", "b"), "new": ("c", "d")}
    with small_task(tmp_path, lists=lists) as made:
        for i, query in enumerate(made.queries):
            for doc in "abcd":
                made.say("ada", query, doc, grade=1.0, flag=doc == ("a" if i % 3 else "c"))
        found = opinions_of(made.store, made.task)
    (pair,) = found.flags.pairs
    # eight queries with one of two docs of old, four with one of two of new
    assert pair.rate == pytest.approx((4 * 0.5 - 8 * 0.5) / 12)
    assert (pair.won, pair.lost) == (8, 4)
    assert "less often" in pair.text
    assert found.flags.n_without_note == 12
    assert found.flags.notes == ()


def uneven_flags(made):
    """ada flags a in q00 to q05 and grades the rest; bo flags all three docs of q00 and has seen no other query."""
    for i, query in enumerate(made.queries):
        for doc in "abc":
            made.say("ada", query, doc, grade=1.0, flag=doc == "a" and i < 6)
    for doc in "abc":
        made.say("bo", "q00", doc, grade=0.0, flag=True)
    return opinions_of(made.store, made.task)


def test_a_difference_of_flags_is_that_of_the_two_rates_shown(tmp_path):
    """By hand: of old 3 of 4 looks in q00 and 1 of 2 in five more, of new 2 of 4 looks in q00, over 12 queries."""
    with small_task(tmp_path, lists={"old": ("a", "b"), "new": ("b", "c")}) as made:
        found = uneven_flags(made)
    old, new = found.flags.systems
    assert (old.rate, new.rate) == pytest.approx((3.25 / 12, 0.5 / 12))
    assert (old.share, new.share, found.flags.share) == (CountOf(8, 26), CountOf(2, 26), CountOf(9, 39))
    (pair,) = found.flags.pairs
    assert pair.rate == pytest.approx(-2.75 / 12)
    assert pair.flag_rates == (old.rate, new.rate)
    assert (pair.n_queries, pair.n_opinions, found.flags.n_queries) == (12, 52, 12)
    assert (
        "Docs of new are flagged less often than those of old: 4.2% against 27.1%, 22.9 percentage points less (95% CI"
    ) in pair.text
    report = opinions_report(found)
    text = render(report, "markdown")
    for shown in ("27.1%", "4.2%", "8 of 26", "2 of 26"):
        assert shown in text
    chart = next(block for block in report.first_screen if isinstance(block, Estimates))
    (drawn,) = chart.estimates
    assert chart.title == "Flagged more often, in percentage points"
    assert drawn.value == pytest.approx(-100 * 2.75 / 12)
    assert drawn.short.startswith("-22.9 [")


def test_who_subtracts_the_rates_shown_finds_the_difference_shown(tmp_path):
    """Of old 1 of 2 docs in 1 of 14 queries, 3.57%, of new 2 of 2 in 1 and 1 of 2 in 1, 10.71%: 3.6 and 10.7 are 7.1."""
    with small_task(tmp_path, n_queries=14, lists={"old": ("a", "b"), "new": ("c", "d")}) as made:
        flagged = {("q00", "a"), ("q01", "c"), ("q01", "d"), ("q02", "c")}
        for query in made.queries:
            for doc in "abcd":
                made.say("ada", query, doc, grade=1.0, flag=(query, doc) in flagged)
        found = opinions_of(made.store, made.task)
    (pair,) = found.flags.pairs
    assert pair.rate == pytest.approx(1 / 14)
    assert "10.7% against 3.6%, 7.1 percentage points more" in pair.evidence
    off = replace(pair, rate=0.0456 - 0.0594, flag_rates=(0.0594, 0.0456))  # 1.38 points, which would be 1.4
    assert "4.6% against 5.9%, 1.3 percentage points less" in off.evidence


def test_flag_rates_are_over_the_queries_that_all_systems_have(tmp_path):
    """bo has seen q00 alone, and ada nothing: the other queries are in no rate."""
    lists = {"old": ("a", "b"), "new": ("b", "c"), "third": ("c", "e")}
    with small_task(tmp_path, lists=lists) as made:
        for doc in "abce":
            made.say("bo", "q00", doc, grade=0.0, flag=doc == "a")
        made.say("bo", "q01", "a", grade=0.0, flag=True)
        found = opinions_of(made.store, made.task).flags
    assert [(each.rate, each.share) for each in found.systems] == [
        (0.5, CountOf(2, 3)),
        (0, CountOf(0, 2)),
        (0, CountOf(0, 2)),
    ]
    assert found.n_queries == 1
    assert {(pair.a, pair.b): pair.rate for pair in found.pairs} == {
        ("old", "new"): -0.5,
        ("old", "third"): -0.5,
        ("new", "third"): 0,
    }


def test_flags_count_as_far_down_as_the_task_takes_docs(tmp_path):
    """Both systems have e at rank 3, and the task takes two docs of each: e was asked for, and its flag is nobody's."""
    with small_task(tmp_path, lists={"old": ("a", "b", "e"), "new": ("b", "c", "e")}, k=2) as made:
        for query in made.queries:
            for doc in "abce":
                made.say("ada", query, doc, grade=1.0, flag=doc == "e" or (doc == "a" and query < "q03"))
            made.say("ada", query, "e", choice=True)
        found = opinions_of(made.store, made.task)
    flags = found.flags
    assert (flags.depth, flags.n_below, flags.share) == (2, 12, CountOf(15, 48))
    assert [(each.rank, each.share) for each in flags.by_rank] == [(1, CountOf(3, 24)), (2, CountOf(0, 24))]
    assert {each.system: each.share for each in flags.systems} == {"old": CountOf(3, 24), "new": CountOf(0, 24)}
    assert [(each.rank, each.n) for each in found.choices.systems[0].by_rank] == [(3, 12)]
    text = " ".join(render(opinions_report(found), "markdown").split())
    assert "at the ranks 1 to 2, of which the task takes docs" in text
    assert "12 flags are of docs that no system has so far up." in text


def test_of_one_rank_and_of_once(tmp_path):
    with small_task(tmp_path, lists={"old": ("a", "b"), "new": ("b", "a")}, k=1, n_queries=3, mode="lists") as made:
        for query, value in (("q00", 1), ("q01", -1), ("q02", -2)):
            made.prefer("ada", query, "old", "new", value)
        made.prefer("ada", "q00", "new", "old", 0, again=True)
        made.say("ada", "q00", "a", flag=True)
        text = " ".join(render(opinions_report(opinions_of(made.store, made.task)), "markdown").split())
    assert "Flags count for a system at rank 1, of which" in text
    assert "The list on the left was named 2 times, the one on the right once." in text
    assert "every time that two lists were shown counts once: 4 times, of which 1 again with sides swapped" in text
    assert "Shown again with sides swapped: 0 of 1 comparison got the same answer" in text


def test_docs_that_were_named_have_the_ranks_of_the_whole_lists(tmp_path):
    """A doc that somebody adds to a task has its rank in the runs, however few docs the task takes of each."""
    with small_task(tmp_path, lists={"old": ("a", "b", "e"), "new": ("e", "c", "d")}, k=1, n_queries=1) as made:
        named = TaskItem(number=0, query="q00", doc="e", place=0)
        (item,) = with_ranks(made.store, made.task.plan, [named])
    assert item.ranks == {"old": 3, "new": 1}


def test_ranks_far_down_are_counted_together(tmp_path):
    """By hand: d00 is at rank 1 for q00, d10 and d11 at ranks 11 and 12 for the two others."""
    docs = tuple(f"d{i:02}" for i in range(12))
    with small_task(tmp_path, lists={"old": docs, "new": docs[::-1]}, n_queries=3, k=12) as made:
        for query, doc in zip(made.queries, ("d00", "d10", "d11"), strict=True):
            made.say("ada", query, doc, choice=True)
        table = choices_table(opinions_of(made.store, made.task).choices)
    assert list(table.header[4:]) == ["rank 1", "rank 2", "below 10"]
    shown = {row[0].text: [cell.text for cell in row[4:]] for row in table.rows}
    assert shown == {"old": ["1", "0", "2"], "new": ["1", "1", "1"]}


def test_a_win_rate_is_drawn_in_the_unit_in_which_it_is_said(tmp_path):
    with small_task(tmp_path) as made:
        for i, query in enumerate(made.queries):
            made.say("ada", query, "d3" if i < 3 else "d0", choice=True)
        report = opinions_report(opinions_of(made.store, made.task))
    chart = next(block for block in report.first_screen if isinstance(block, Estimates))
    assert chart.title == "Chosen doc ranked higher: win rate less 50%, in percentage points"
    assert chart.estimates[0].value == 25
    assert chart.estimates[0].short.startswith("+25.0 [")


def test_what_cannot_be_told_is_said_once(tmp_path):
    lists = {"old": ("d3", "d2"), "mid": ("d2", "d0"), "new": ("d0", "d1")}
    with small_task(tmp_path, lists=lists, n_queries=3) as made:
        for query in made.queries:
            made.say("ada", query, "d0", choice=True)
        found = opinions_of(made.store, made.task)
    assert found.headline.startswith(
        "By choices, there are too few queries to tell mid from old, or new from old, or new from mid."
    )


def test_in_lists_every_doc_of_a_judged_query_was_looked_at(tmp_path):
    with small_task(tmp_path, mode="lists") as made:
        made.say("ada", "q00", "d3", flag=True, note="wrong city")
        made.say("ada", "q01", "d0", choice=True)
        made.prefer("ada", "q02", "old", "new", 1)
        found = opinions_of(made.store, made.task)
    assert found.flags.share == CountOf(1, 12)


def test_preferences_with_sides_swapped(tmp_path):
    """In 12 queries new is on the right and preferred; sides swapped, q00 to q02 name new again, q03 the old one."""
    with small_task(tmp_path, mode="lists") as made:
        for query in made.queries:
            made.prefer("ada", query, "old", "new", 2)
        for query in made.queries[:3]:
            made.prefer("ada", query, "new", "old", -1, again=True)
        made.prefer("ada", "q03", "new", "old", 1, again=True)
        made.prefer("bo", "q00", "new", "old", None)
        found = opinions_of(made.store, made.task).preferences
    (pair,) = found.pairs
    assert (pair.won, pair.tied, pair.lost, pair.n_queries) == (11, 1, 0, 12)
    assert pair.rate == pytest.approx(11.5 / 12)
    assert (pair.code, pair.b) == ("better", "new")
    assert found.swapped.alike == CountOf(3, 4)
    assert found.swapped.left == CountOf(3, 16)
    (counts,) = found.counts
    assert (counts.a_clearly, counts.a_slightly, counts.none, counts.b_slightly, counts.b_clearly) == (0, 1, 0, 3, 12)
    assert counts.cannot_tell == 1


def test_three_systems_share_the_error_rate(tmp_path):
    lists = {"old": ("d3", "d2"), "mid": ("d2", "d0"), "new": ("d0", "d1")}
    with small_task(tmp_path, lists=lists) as made:
        for query in made.queries:
            made.say("ada", query, "d0" if query != "q00" else "d3", choice=True)
        found = opinions_of(made.store, made.task)
    assert [(pair.a, pair.b) for pair in found.choices.pairs] == [("old", "mid"), ("old", "new"), ("mid", "new")]
    assert {(pair.level, pair.n_pairs) for pair in found.choices.pairs} == {(0.95, 3)}
    # old wins q00 and loses 11, as when it is compared alone at a third of alpha
    shares = {f"q{i}": {"d": 1} for i in range(12)}
    runs = {"a": {q: ["x", "d"] if i else ["d"] for i, q in enumerate(shares)}}
    runs["b"] = {q: ["d"] if i else ["x", "d"] for i, q in enumerate(shares)}
    expected = rs.compare(shares, runs, "Success@1", margin=0, order="given", alpha=0.05 / 3)["a", "b"]
    won = found.choices.pairs[1]
    assert (won.low, won.high) == pytest.approx(((1 + expected.ci.low) / 2, min(1, (1 + expected.ci.high) / 2)))
    assert "(simultaneous 95% CI " in won.evidence
    assert found.choices.systems[0].found == CountOf(1, 12)


def test_nothing_is_said(tmp_path):
    with small_task(tmp_path) as made:
        found = opinions_of(made.store, made.task)
        assert found.headline == "Nobody has flagged, chosen or preferred anything yet."
        made.grade("ada", GRADES)
        found = opinions_of(made.store, made.task)
        assert found.headline == "Nothing is flagged, of 48 looks at a doc."
        alone = replace(made.task, plan=replace(made.task.plan, systems=(), runs=()))
        assert opinions_of(made.store, alone).choices.pairs == ()


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.5, "50.0%"),
        (0.502, "50.2%"),
        (0.4999, "49.99%"),
        (0, "0.0%"),
        (0.0001, "0.01%"),
        (1, "100.0%"),
        (0.9996, "99.96%"),
        (1 / 3, "33.3%"),
    ],
)
def test_shares_are_shown_on_their_side_of_a_half(share, shown):
    assert rate_text(share) == shown


def test_why_a_rater_cannot_tell_is_no_note_on_a_flag(tmp_path):
    """Two of four flags are without a note: what is unclear is said of the doc, and not of what is wrong with it."""
    with small_task(tmp_path, n_queries=1) as made:
        made.say("ada", "q00", "d0", status="cannot_tell", flag=True, note="query unclear")
        made.say("ada", "q00", "d1", status="cannot_tell", flag=True, note="doc unclear")
        made.say("ada", "q00", "d2", status="cannot_tell", flag=True, note="doc unclear: wrong city")
        made.say("ada", "q00", "d3", grade=1.0, flag=True, note="query unclear")  # a note of the rater's own
        found = opinions_of(made.store, made.task).flags
    assert found.n_without_note == 2
    assert [(each.text, each.n) for each in found.notes] == [("query unclear", 1), ("wrong city", 1)]
    assert {doc.doc: doc.notes for doc in found.docs}["d2"] == ("wrong city",)
