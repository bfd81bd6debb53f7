"""Targets on small runs whose outcomes are worked out by hand."""

from datetime import date

import pytest

import rankscope as rs
from rankscope.analysis.targets import TargetsReport
from rankscope.errors import InputError, OptionError

DAY = date(2026, 11, 16)
QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"c": 1}, "q3": {"e": 1}}
# q3 is not answered; the longest list holds four docs
RUN = {"q1": ["x", "b", "a", "c"], "q2": ["c", "y", "z"]}
DOCS = {
    "a": {"title": "Apples", "source": "s1"},
    "b": {"title": "Bees", "source": "s1"},
    "c": {"title": "Cows", "source": ["s2", "s3"]},
    "e": {"title": "Eels"},
    "x": {"title": "Xylophones", "source": "s1"},
    "y": {"source": "s2"},
    "z": {},
    "w": {"source": "s9"},
}
QUERIES = {
    "q1": {"text": "fruit", "language": "en", "length": 1},
    "q2": {"text": "milk", "language": "de", "length": 1},
    "q3": {"text": "fish", "language": "de", "length": 2},
}


def check(*targets, run=None, docs=DOCS, queries=QUERIES, **options):
    given = {"docs": docs, "queries": queries, "today": DAY, **options}
    return rs.check(QRELS, {"new": RUN if run is None else run}, list(targets), **given)


def one(target, **options):
    (result,) = check(target, **options).results
    return result


@pytest.mark.parametrize(
    ("target", "outcome", "value"),
    [
        ({"query": "q1", "doc": "a", "top": 3}, "passed", 3),
        ({"query": "q1", "doc": "a", "top": 2}, "failed", 3),
        ({"query": "q1", "doc": "w", "top": 4}, "failed", None),
        ({"query": "q1", "doc": ["x", "a"], "top": 3}, "passed", 3),
        ({"query": "q1", "doc": ["x", "a"], "top": 2}, "failed", 3),
        ({"query": "q1", "doc": ["x", "w"], "top": 2}, "failed", None),
        ({"query": "q1", "one_of": ["a", "b"], "top": 2}, "passed", 2),
        ({"query": "q1", "one_of": ["a", "c"], "top": 2}, "failed", 3),
        ({"query": "q1", "one_of": ["w", "e"], "top": 2}, "failed", None),
        ({"query": "q1", "never": "b", "top": 1}, "passed", None),
        ({"query": "q1", "never": "b", "top": 2}, "failed", 2),
        ({"query": "q1", "never": ["c", "b"]}, "failed", 2),
        ({"query": "q1", "never": "w"}, "passed", None),
        # of x, b and a each is from s1; c is from two sources
        ({"query": "q1", "distinct": 1, "field": "source", "top": 3}, "passed", 1),
        ({"query": "q1", "distinct": 2, "field": "source", "top": 3}, "failed", 1),
        ({"query": "q1", "distinct": 3, "field": "source", "top": 4}, "passed", 3),
        # c from two, y from one of them, z from none
        ({"query": "q2", "distinct": 3, "field": "source", "top": 3}, "failed", 2),
        # 1/3 for a at rank 3, as b is not relevant; the mean over three queries is (1/3 + 1 + 0) / 3
        ({"query": "q1", "measure": "RR", "at_least": 0.3333}, "passed", 1 / 3),
        ({"query": "q1", "measure": "RR", "at_least": 0.34}, "failed", 1 / 3),
        ({"measure": "RR", "at_least": 0.4444}, "passed", 4 / 9),
        ({"measure": "RR", "at_least": 0.45}, "failed", 4 / 9),
        ({"stratum": {"language": "de"}, "measure": "RR", "at_least": 0.5}, "passed", 0.5),
        ({"stratum": {"language": "de", "length": 1}, "measure": "RR", "at_least": 1}, "passed", 1.0),
        ({"stratum": {"language": "de", "length": 2}, "measure": "RR", "at_least": 0.1}, "failed", 0.0),
        # lower is better: ranks 3 and 1
        ({"query": "q1", "measure": "FirstRel", "at_most": 3}, "passed", 3.0),
        ({"query": "q1", "measure": "FirstRel", "at_most": 2}, "failed", 3.0),
    ],
)
def test_each_kind_passes_and_fails_where_it_should(target, outcome, value):
    result = one(target)
    assert result.outcome == outcome
    assert result.value == (None if value is None else pytest.approx(value))


def test_what_is_there_instead_has_titles_grades_and_the_text_of_the_query():
    result = one({"query": "q1", "doc": "a", "top": 2})
    assert result.query_text == "fruit"
    assert result.words == "Apples (a) is at rank 3, but must be in the top 2"
    lines = ["1. Xylophones (x), not judged", "2. Bees (b), grade 0", "3. Apples (a), grade 2"]
    assert [line.line for line in result.instead] == lines


def test_values_that_are_there_instead_of_distinct_ones_are_counted():
    result = one({"query": "q1", "distinct": 2, "field": "source", "top": 3})
    assert result.words == "1 distinct value of source in the first 3 docs, but there must be at least 2"
    assert [line.line for line in result.instead] == ["s1: 3 docs"]
    without = one({"query": "q2", "distinct": 3, "field": "source", "top": 3})
    assert without.words.startswith("2 distinct values of source in the first 3 docs (1 doc without one)")


def test_the_worst_queries_stand_below_a_mean_that_is_too_low():
    result = one({"measure": "RR", "at_least": 0.9})
    assert result.words == "RR is 0.4444 over 3 queries, but must be at least 0.9"
    assert [line.line for line in result.instead] == ["fish (q3): 0.0000", "fruit (q1): 0.3333", "milk (q2): 1.0000"]


def test_what_passes_shows_nothing_instead():
    assert one({"query": "q1", "doc": "a", "top": 3}).instead == ()


@pytest.mark.parametrize(
    "target",
    [
        {"query": "q3", "doc": "e", "top": 3},
        {"query": "q3", "one_of": "e", "top": 3},
        {"query": "q3", "never": "x"},
        {"query": "q3", "distinct": 1, "field": "source", "top": 3},
    ],
)
def test_a_query_that_the_run_does_not_answer_fails(target):
    result = one(target)
    assert result.outcome == "failed"
    assert result.words == "new does not answer the query, so nothing can be shown"


def test_never_fails_where_the_run_is_cut_above():
    # q1 has four docs, the most of any query: what would stand at rank 5 is not known
    assert one({"query": "q1", "never": "w", "top": 4}).outcome == "passed"
    cut = one({"query": "q1", "never": "w", "top": 5})
    assert cut.outcome == "failed"
    assert cut.words == "new holds at most 4 docs per query, so nothing is known of ranks 5 to 5"


def test_a_list_that_ended_by_itself_is_not_cut():
    # q2 has three docs where the run goes down to four: there are no more
    assert one({"query": "q2", "never": "w", "top": 4}).outcome == "passed"
    whole = {"q1": list(DOCS), "q2": list(DOCS)}  # all docs there are
    assert one({"query": "q1", "one_of": "w", "top": 20}, run=whole).outcome == "passed"
    fewer = {doc: DOCS[doc] for doc in ("a", "b", "c", "x", "y", "z")}
    short = {"q1": ["a", "b", "c", "x", "y"], "q2": ["a", "b", "c", "x", "y"]}
    assert one({"query": "q1", "never": "z", "top": 9}, run=short, docs=fewer).outcome == "failed"
    none_left = {doc: fewer[doc] for doc in fewer if doc != "z"}
    assert one({"query": "q1", "never": "y", "top": 4}, run=short, docs=none_left).outcome == "passed"


@pytest.mark.parametrize("where", [{}, {"query": "q1"}])
def test_a_ceiling_fails_where_the_run_is_cut_above_the_cutoff(where):
    # b and y are not relevant, x and z not judged; below rank 4 there may be more of them
    assert one({"measure": "NumNonrelRet@4", "at_most": 10, **where}).outcome == "passed"
    result = one({"measure": "NumNonrelRet@5", "at_most": 10, **where})
    assert (result.outcome, result.words) == (
        "failed",
        "NumNonrelRet@5 looks at 5 docs, but new holds at most 4 docs per query",
    )


def test_depth_cuts_lists_as_it_cuts_those_of_measures():
    assert one({"query": "q1", "doc": "a", "top": 3}, depth=2).outcome == "failed"
    assert one({"query": "q1", "never": "a", "top": 2}, depth=2).outcome == "passed"
    assert one({"query": "q1", "never": "w", "top": 3}, depth=2).outcome == "failed"


def test_ties_are_broken_as_for_all_measures():
    tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"c": 1.0}}
    first = {"query": "q1", "doc": "a", "top": 1}
    # trec_eval puts the greater id first among equal scores
    assert one(first, run=tied).outcome == "failed"
    assert one(first, run=tied, ties="ascending").outcome == "passed"
    assert one({"query": "q1", "measure": "P@1", "at_least": 1}, run=tied).outcome == "failed"
    assert one({"query": "q1", "measure": "P@1", "at_least": 1}, run=tied, ties="ascending").outcome == "passed"


def test_unjudged_docs_stay_in_lists_also_where_measures_leave_them_out():
    result = one({"query": "q1", "never": "x", "top": 1}, judged_only=True)
    assert result.outcome == "failed"


def test_never_and_distinct_hold_for_every_query_where_none_is_named():
    answered = {"q1": ["a", "b", "c"], "q2": ["c", "a", "x"], "q3": ["e", "c", "a"]}
    assert one({"never": "x", "top": 2}, run=answered).words == "so in all 3 queries"
    result = one({"never": ["x", "b"], "top": 3}, run=answered)
    assert (result.outcome, result.words) == ("failed", "2 of 3 queries fail")
    assert [line.line for line in result.instead] == [
        "fruit (q1): Bees (b) is at rank 2, but must not be there in the top 3",
        "milk (q2): Xylophones (x) is at rank 3, but must not be there in the top 3",
    ]
    of_stratum = one({"never": "b", "top": 3, "stratum": {"language": "de"}}, run=answered)
    assert of_stratum.words == "so in all 2 queries"
    # q3: e has no source, c two, a one; q1: a and b one, c two
    assert one({"distinct": 3, "field": "source", "top": 3}, run=answered).outcome == "passed"


def test_never_for_every_query_fails_where_one_is_not_answered():
    result = one({"never": "w"})
    assert result.outcome == "failed"
    assert [line.name for line in result.instead] == ["q3"]


def test_a_query_that_was_answered_with_no_docs_holds_no_unwanted_one(tmp_path):
    """A file beside the run says which queries were asked: an empty answer is then known to be one."""
    import hashlib

    from rankscope.data.asked_queries import AskedQueries

    path = tmp_path / "new.trec"
    path.write_text("q1 Q0 a 1 2.0 new\nq2 Q0 c 1 2.0 new\n")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    note = path.with_name("new.trec.queries.json")
    note.write_text(AskedQueries(digest, ("q1", "q2", "q3")).to_json())
    targets = [{"never": "x"}, {"query": "q3", "never": "x"}, {"query": "q3", "doc": "e", "top": 1}]
    report = rs.check(QRELS, [str(path)], targets, docs=DOCS, today=DAY)
    assert [result.outcome for result in report.results] == ["passed", "passed", "failed"]
    note.write_text(AskedQueries(digest, ("q1", "q2", "q3"), failed=("q3",)).to_json())
    report = rs.check(QRELS, [str(path)], targets, docs=DOCS, today=DAY)
    assert [result.outcome for result in report.results] == ["failed", "failed", "failed"]


def test_a_mean_that_leaves_out_many_queries_as_undefined_reaches_no_limit():
    # nothing relevant is found for q3, so that the rank of the first is undefined for one query in three
    result = one({"measure": "FirstRel", "at_most": 100})
    assert result.outcome == "failed"
    assert "undefined for 1 of 3 queries" in result.words
    assert one({"query": "q3", "measure": "FirstRel", "at_most": 100}).words == "FirstRel is undefined for the query"


def test_a_limit_on_a_query_without_judgments_fails():
    result = one({"query": "q4", "measure": "RR", "at_least": 0.1}, run={**RUN, "q4": ["a"]})
    assert (result.outcome, result.words) == ("failed", "RR is undefined: nobody judged docs of the query")


def test_a_score_that_misses_a_limit_by_rounding_alone_reaches_it():
    qrels = {f"q{i}": {"a": 1} for i in range(4)}
    run = {"q0": ["a"], **{f"q{i}": ["x", "y", "a"] for i in (1, 2, 3)}}
    assert rs.check(qrels, {"r": run}, {"measure": "RR", "at_least": 0.5}).passed


# quarantine


@pytest.mark.parametrize(
    ("until", "outcome", "remark"),
    [
        (None, "failed", ""),
        ("2026-11-17", "quarantined", "in quarantine until 2026-11-17"),
        ("2026-11-16", "quarantined", "in quarantine until 2026-11-16"),
        ("2026-11-15", "failed", "its quarantine ended on 2026-11-15: it counts again"),
    ],
)
def test_a_quarantine_ends_with_its_last_day(until, outcome, remark):
    target = {"query": "q1", "doc": "a", "top": 1, **({} if until is None else {"quarantine_until": until})}
    report = check(target)
    assert (report.results[0].outcome, report.results[0].remark) == (outcome, remark)
    assert report.passed == (outcome == "quarantined")
    assert report.exit_code == (0 if outcome == "quarantined" else 1)


def test_a_target_that_passes_in_quarantine_counts_as_passed_and_says_so():
    result = one({"query": "q1", "doc": "a", "top": 3, "quarantine_until": "2026-12-31"})
    assert result.outcome == "passed"
    assert result.remark == "in quarantine until 2026-12-31; it passes, so the quarantine can end"


def test_the_share_is_by_weight_and_leaves_out_what_is_quarantined():
    report = check(
        {"query": "q1", "doc": "a", "top": 3, "weight": 3},
        {"query": "q1", "doc": "a", "top": 2},
        {"query": "q1", "doc": "a", "top": 1, "weight": 10, "quarantine_until": "2026-12-31"},
    )
    counts = report.counts
    assert (counts.passed, counts.failed, counts.quarantined, counts.share) == (1, 1, 1, 0.75)
    only_quarantined = check({"query": "q1", "doc": "a", "top": 1, "quarantine_until": "2026-12-31"})
    assert only_quarantined.counts.share is None
    assert only_quarantined.passed


# runs and measures


def test_each_target_is_checked_on_each_run_unless_it_names_some():
    runs = {"old": RUN, "new": {"q1": ["a"], "q2": ["c"]}}
    report = rs.check(
        QRELS, runs, [{"query": "q1", "doc": "a", "top": 1}, {"query": "q2", "doc": "c", "top": 1, "only": "new"}]
    )
    assert [(result.target, result.run, result.outcome) for result in report.results] == [
        ("q1: a in the top 1", "old", "failed"),
        ("q1: a in the top 1", "new", "passed"),
        ("q2: c in the top 1", "new", "passed"),
    ]


def test_the_graded_measures_are_those_of_evaluate():
    report = check({"measure": "P@1", "at_least": 0}, measures="AP RR")
    with pytest.warns(rs.RankscopeWarning, match="does not answer 1 of 3"):
        scores = rs.evaluate(QRELS, {"new": RUN}, "AP RR P@1", missing="zero")
    assert report.notes == scores.notes
    assert {mean.measure: mean.value for mean in report.means} == {
        name: mean.value for name, mean in scores["new"].mean().items()
    }


def test_weights_of_queries_weigh_the_mean():
    queries = {"q1": {"often": 3}, "q2": {"often": 1}, "q3": {"often": 0}}
    result = one({"measure": "RR", "at_least": 0.5}, queries=queries, weights="often")
    assert result.value == pytest.approx((3 * 1 / 3 + 1) / 4)


def test_a_report_is_read_back_equal():
    report = check(
        {"query": "q1", "doc": "a", "top": 1, "quarantine_until": "2026-12-31", "owner": "me", "reason": "why not"},
        {"stratum": {"language": "de"}, "measure": "RR", "at_least": 0.9, "weight": 2},
        {"measure": "FirstRel", "at_most": 2},
    )
    assert TargetsReport.from_json(report.to_json()) == report


def test_ids_are_texts_or_whole_numbers():
    report = rs.check({"7": {"8": 1}}, {"r": {"7": ["8"]}}, {"query": 7, "doc": 8, "top": 1})
    assert report.passed


# what does not exist


@pytest.mark.parametrize(
    ("target", "message", "hint"),
    [
        ({"query": "q11", "doc": "a", "top": 1}, "query 'q11' is neither judged nor asked nor answered", "q1"),
        ({"query": "q1", "doc": "aa", "top": 1}, "doc 'aa' is not among the docs", "check the id"),
        ({"query": "q1", "never": "nothing"}, "doc 'nothing' is not among the docs", "remove the target"),
        ({"query": "q1", "distinct": 1, "field": "sourc", "top": 1}, "no field 'sourc'", "source"),
        ({"stratum": {"languag": "de"}, "measure": "RR", "at_least": 1}, "no attribute 'languag'", "language"),
        ({"stratum": {"language": "fr"}, "measure": "RR", "at_least": 1}, "no query has language = fr", "check"),
        ({"query": "q1", "doc": "a", "top": 1, "only": "knew"}, "there is no run 'knew'", "new"),
    ],
)
def test_a_target_on_what_does_not_exist_is_refused(target, message, hint):
    with pytest.raises(InputError) as caught:
        check({**target, "name": "mine"})
    assert caught.value.message.startswith("target 'mine': ")
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_without_docs_a_doc_is_known_that_is_judged_or_in_a_run():
    for doc in ("e", "z"):
        assert one({"query": "q1", "doc": doc, "top": 1}, docs=None).outcome == "failed"
    with pytest.raises(InputError, match="'w' is neither judged nor in any run") as caught:
        check({"query": "q1", "never": "w"}, docs=None)
    assert "--docs" in caught.value.hint


def test_a_field_that_no_doc_of_the_lists_has_is_a_field_all_the_same():
    docs = {**DOCS, "w": {"rare": 1}}
    assert one({"query": "q1", "distinct": 1, "field": "rare", "top": 3}, docs=docs).outcome == "failed"


def test_what_is_needed_and_not_given_is_said():
    with pytest.raises(OptionError, match="no docs are given"):
        check({"query": "q1", "distinct": 1, "field": "source", "top": 3}, docs=None)
    with pytest.raises(OptionError, match="no queries are given"):
        check({"stratum": {"language": "de"}, "measure": "RR", "at_least": 1}, queries=None)
    with pytest.raises(OptionError, match="no targets are given"):
        check()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"measure": "FirstRel", "at_least": 1}, "better where it is lower"),
        ({"measure": "RR", "at_most": 1}, "better where it is higher"),
        ({"measure": "RR AP", "at_least": 1}, "names 2 measures"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(target, message):
    with pytest.raises(OptionError, match=message):
        check(target)


def test_all_that_does_not_exist_is_named_at_once():
    with pytest.raises(InputError) as caught:
        check(*({"query": f"no{i}", "doc": "a", "top": 1} for i in range(7)))
    assert caught.value.message.count("\n") == 5
    assert caught.value.message.endswith("… and 2 more")
