"""The text of trec_eval beyond the golden files: measure parameters, order of lines, mistakes."""

import pytest

from rankscope.errors import GradeError, MeasureError, OptionError
from rankscope.evaluation import trec_eval_text

QRELS = {"1": {"a": 2, "b": 1, "c": 0}, "2": {"a": 1}}
RUN = {"1": {"a": 3.0, "x": 2.0, "b": 1.0}, "2": {"a": 1.0}}


def lines(*measures, **options):
    return trec_eval_text(QRELS, RUN, measures, **options).splitlines()


def test_format_of_a_line():
    assert lines("map") == ["map                   \tall\t0.9167"]  # (1 + 2/3) / 2 and 1


def test_lines_come_in_the_order_of_the_program_not_of_the_caller():
    names = [line.split()[0] for line in lines("P.10,5", "map", "num_ret")]
    assert names == ["num_ret", "map", "P_5", "P_10"]


def test_the_first_parameters_of_a_measure_stay():
    assert [line.split()[0] for line in lines("P.5", "P.10")] == ["P_5"]


def test_parameters_appear_in_the_name_as_written():
    names = [
        line.split()[0]
        for line in lines("utility.2,-1,0,0", "11pt_avg.0.5,1", "ndcg.1=3,2=9", "set_F.0.5", "rbp.p=0.8", "G.1=2")
    ]
    assert names == ["utility_2,-1,0,0", "11pt_avg_0.5,1", "G_1=2", "ndcg_1=3,2=9", "set_F_0.5", "rbp_p=0.8"]


def test_values_with_parameters():
    assert lines("utility.2,-1,0,0") == ["utility_2,-1,0,0      \tall\t2.5000"]  # 2+2-1 = 3 and 2
    # query 1: P = 2/3, R = 1: 1.5·(2/3) / (1 + 0.5·(2/3)) = 0.75; query 2: 1
    assert lines("set_F.0.5") == ["set_F_0.5             \tall\t0.8750"]


def test_per_query_lines_come_first_and_show_grades_as_digits():
    printed = lines("relstring", "runid", "num_q", per_query=True)
    assert printed[:2] == ["relstring             \t1\t'2-1'", "relstring             \t2\t'1'"]
    assert printed[2:] == ["runid                 \tall\trankscope", "num_q                 \tall\t2"]


def test_relstring_can_be_cut_and_shows_high_grades_as_greater():
    qrels = {"1": {"a": 12, "b": -1}}
    run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    assert trec_eval_text(qrels, run, ["relstring"], per_query=True) == "relstring             \t1\t'>.-'\n"
    assert trec_eval_text(qrels, run, ["relstring.2"], per_query=True) == "relstring_2           \t1\t'>.'\n"


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("P.0", "cut-offs are from 1 up, each once"),
        ("P.5,5", "cut-offs are from 1 up, each once"),
        ("P.x", "cut-offs are whole numbers"),
        ("Rprec_mult.x", "the parameters are numbers"),
        ("utility.1,-1,0,1", "needs the size of the collection"),
        ("nDCGG@10", "trec_eval 10 has no measure 'nDCGG@10'\nHint: did you mean ndcg"),
        ("ERR@10", "trec_eval 10 has no measure 'ERR@10'"),
        ("P(rel=2)@5", "trec_eval 10 has no measure"),
        ("official P@7", "P@7 is asked for, but trec_eval prints P once"),
        ("zzzzzzz", "trec_eval 10 has no measure 'zzzzzzz'\nHint: it has official"),
        ("relstring.x", "relstring.x: cut-offs are whole numbers"),
    ],
)
def test_mistakes_are_explained(measure, message):
    with pytest.raises(MeasureError, match=message):
        lines(measure, per_query=True)


@pytest.mark.parametrize(
    ("measures", "message"), [([], "no measure is named"), ([3], "3 is not the name of a measure")]
)
def test_something_must_be_named(measures, message):
    with pytest.raises(MeasureError, match=message):
        trec_eval_text({"1": {"a": 1}}, {"1": ["a"]}, measures)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("nDCG@10", "ndcg_cut.10"),
        ("nDCG@10 map nDCG@5", "ndcg_cut.5,10 map"),
        ("ndcg_cut_10", "ndcg_cut.10"),
        ("nDCG", "ndcg"),
        ("AP@5, RR", "map_cut.5 recip_rank"),
        ("IPrec@0.1", "iprec_at_recall.0.1"),
        ("R@5 R_cap@5 Success@1 SetF", "recall.5 relative_P.5 success.1 set_F"),
        ("official P@10", "official"),
        ("P.5,10 P@5", "P.5,10"),
    ],
)
def test_our_names_are_taken_where_trec_eval_has_the_measure(ours, theirs):
    qrels, run = {"1": {"a": 2, "b": 1}, "2": {"c": 1}}, {"1": ["x", "b", "a"], "2": ["y", "c"]}
    expected = trec_eval_text(qrels, run, theirs.split(), per_query=True)
    assert trec_eval_text(qrels, run, ours, per_query=True) == expected
    assert trec_eval_text(qrels, run, ours.replace(", ", " ").split(), per_query=True) == expected


def test_version_9_does_not_have_what_came_with_10():
    with pytest.raises(MeasureError, match="trec_eval 9 has no measure 'rbp'"):
        lines("rbp", profile="trec_eval-9")
    assert not any(line.startswith(("rbp", "unj")) for line in lines("all_trec", profile="trec_eval-9"))


def test_group_of_set_measures():
    names = [line.split()[0] for line in lines("set")]
    assert names[:2] == ["runid", "num_q"]
    assert {"set_P", "set_recall", "set_map", "set_F", "set_relative_P", "utility"} <= set(names)


def test_another_profile_is_refused():
    with pytest.raises(OptionError, match="'beir' is not one of trec_eval-9, trec_eval-10"):
        lines("map", profile="beir")


def test_fractional_grades_are_refused_where_the_program_would_cut_them_off():
    with pytest.raises(GradeError, match=r"row 2 of the qrels .* has grade 0.5"):
        trec_eval_text({"1": {"a": 1, "b": 0.5}}, {"1": {"a": 1.0}})


def test_recall_levels_are_rounded_up_by_version_9_and_to_the_nearest_by_10():
    # 4 relevant docs at ranks 1, 3, 4, 5: recall .3 needs 2 docs (best precision 4/5) or 1 (1.0)
    qrels = {"1": {"a": 1, "b": 1, "c": 1, "d": 1}}
    run = {"1": {"a": 9.0, "x": 8.0, "b": 7.0, "c": 6.0, "d": 5.0}}
    nine, ten = (
        trec_eval_text(qrels, run, ["iprec_at_recall.0.3"], profile=profile).split()[-1]
        for profile in ("trec_eval-9", "trec_eval-10")
    )
    assert (nine, ten) == ("0.8000", "1.0000")
