"""Names of measures: canonical ones, those of other tools, and what is said about a mistake."""

import pytest

import rankscope as rs
from rankscope.errors import MeasureError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("nDCG@10", ["nDCG@10"]),
        ("ndcg@10", ["nDCG@10"]),
        ("NDCG@10", ["nDCG@10"]),
        ("nDCG@10.0", ["nDCG@10"]),
        ("P(rel=2)@5", ["P(rel=2)@5"]),
        ("P(rel=2.0)@5", ["P(rel=2)@5"]),
        ("nDCG(gain='exp2')@20", ["nDCG(gain='exp2')@20"]),
        ("nDCG(gain=exp2)@20", ["nDCG(gain='exp2')@20"]),
        ("nDCG(gain='linear')@20", ["nDCG@20"]),  # a default is not shown
        ("RBP(p=0.8)", ["RBP"]),
        ("nDCG(gain={2: 9, 1: 3})", ["nDCG(gain={1: 3, 2: 9})"]),
        ("nDCG(gain={1: 0.123456789})", ["nDCG(gain={1: 0.123456789})"]),
        ("P@5,10", ["P@5", "P@10"]),
        ("P@5 P@10, RR", ["P@5", "P@10", "RR"]),
        ("P@5,10,RR", ["P@5", "P@10", "RR"]),
        ("P@5 P@5 Precision@5", ["P@5"]),
        ("nDCG@10,11pt_avg", ["nDCG@10", "IPrec11"]),
        # trec_eval
        ("map", ["AP"]),
        ("recip_rank", ["RR"]),
        ("ndcg", ["nDCG"]),
        ("ndcg_cut.10", ["nDCG@10"]),
        ("ndcg_cut_10", ["nDCG@10"]),
        ("map_cut_100", ["AP@100"]),
        ("P.5,10", ["P@5", "P@10"]),
        ("P_5", ["P@5"]),
        ("recall_100", ["R@100"]),
        ("success", ["Success@1", "Success@5", "Success@10"]),
        ("iprec_at_recall_0.10", ["IPrec@0.1"]),
        ("iprec_at_recall.0,.1", ["IPrec@0", "IPrec@0.1"]),
        ("Rprec_mult_0.20", ["Rprec(mult=0.2)"]),
        ("Rprec_mult.1.0", ["Rprec"]),
        ("set_F.0.25", ["SetF(beta=0.5)"]),
        ("gm_map", ["AP(agg='gmean')"]),
        ("ndcg.1=3,2=9,4=4.5", ["nDCG(gain={1: 3, 2: 9, 4: 4.5})"]),
        ("rbp.p=0.9", ["RBP(p=0.9)"]),
        ("unj_5", ["Unjudged@5"]),
        # ranx
        ("hit_rate@5", ["Success@5"]),
        ("hits@5", ["NumRelRet@5"]),
        ("mrr@10", ["RR@10"]),
        ("r-precision", ["Rprec"]),
        ("f1@5", ["F@5"]),
        ("rbp.95", ["RBP(p=0.95)"]),
        ("ndcg@10-l2", ["nDCG(rel=2)@10"]),
        ("precision@10-l2", ["P(rel=2)@10"]),
        ("ndcg_burges@10", ["nDCG(gain='exp2')@10"]),
        # ir_measures
        ("nDCG(dcg='exp-log2')@10", ["nDCG(gain='exp2')@10"]),
        ("nDCG(dcg='log2')@10", ["nDCG@10"]),
        ("nDCG(gains={1: 3})@10", ["nDCG(gain={1: 3})@10"]),
        ("P(cutoff=10)", ["P@10"]),
        ("ERR(max_rel=4)@20", ["ERR(max_grade=4)@20"]),
        ("AP(rel=2, judged_only=True)@100", ["AP(rel=2, judged_only=True)@100"]),
        # everyday words
        ("MRR@10", ["RR@10"]),
        ("HR@3", ["Success@3"]),
        ("MAP@100", ["AP@100"]),
        ("Recall@10", ["R@10"]),
        ("GMAP", ["AP(agg='gmean')"]),
    ],
)
def test_names(text, names):
    assert [measure.name for measure in rs.parse_measures(text)] == names


def test_groups_of_trec_eval():
    official = [measure.name for measure in rs.parse_measures("official")]
    cuts = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    tenths = ("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1")
    assert official == [
        *("NumRet", "NumRel", "NumRelRet", "AP", "AP(agg='gmean')", "Rprec", "Bpref", "RR"),
        *(f"IPrec@{level}" for level in tenths),
        *(f"P@{k}" for k in cuts),
    ]
    everything = [measure.name for measure in rs.parse_measures("ALL_TREC")]
    assert everything[: len(official)] == official
    assert {"nDCG@10", "infAP", "R@1000", "Utility", "G", "BinG", "Rndcg", "nDCG_rel", "Success@1"} <= set(everything)
    assert [measure.name for measure in rs.parse_measures("set")][3:5] == ["Utility", "SetP"]


def test_measures_may_be_given_as_objects_and_mixed():
    ndcg = rs.parse_measure("nDCG@10")
    assert rs.parse_measures([ndcg, "RR", "ndcg@10"]) == (ndcg, rs.parse_measure("RR"))
    assert rs.parse_measures(ndcg) == (ndcg,)


def test_measures_compare_and_hash_by_value():
    assert rs.parse_measure("nDCG@10") == rs.parse_measure("ndcg_cut_10")
    assert len({rs.parse_measure("P@5"), rs.parse_measure("precision@5"), rs.parse_measure("P@6")}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDGC@10", "no measure 'nDGC'.*\n.*did you mean nDCG"),
        ("recal@10", "no measure 'recal'.*\n.*did you mean recall"),
        ("zzzzzz", "no measure 'zzzzzz'\n.*`rankscope measures` lists them all"),
        ("P", "P needs a cut-off\n.*write P@10"),
        ("IPrec", "IPrec needs a cut-off"),
        ("P@0", "k = '0' is not valid; it takes a whole number from 1 up"),
        ("P@-1", "k = '-1' is not valid"),
        ("P@2.5", "k = '2.5' is not valid"),
        ("P@ten", "k = 'ten' is not valid"),
        ("P@inf", "k = 'inf' is not valid"),
        ("IPrec@1.5", "recall = '1.5' is not valid; it takes a number from 0 to 1"),
        ("Bpref@5", "Bpref has no cut-off, but 'Bpref@5' gives one"),
        ("nDCG(gain='foo')@10", "gain = 'foo' is not valid; it takes 'linear', 'exp2', 'binary' or a map"),
        ("nDCG(gains=7)@10", "gain = 7 is not valid"),
        ("nDCG(gian='exp2')@10", "has no parameter 'gian'.*\n.*did you mean gain"),
        ("P(rel=-1)@5", "rel = -1 is not valid; it takes a grade from 0 up"),
        ("P(rel=True)@5", "rel = True is not valid"),
        ("RBP(p=1)", "p = 1 is not valid; it takes a number between 0 and 1"),
        ("Rprec(mult=0)", "mult = 0 is not valid"),
        ("P(judged_only=1)@5", "judged_only = 1 is not valid; it takes True or False"),
        ("P(agg='best')@5", "agg = 'best' is not valid"),
        ("ERR(max_grade=0)", "max_grade = 0 is not valid"),
        ("P(rel=1, rel=2)@5", "rel is given twice"),
        ("P(cutoff=3)@5", "k is given twice"),
        ("P(2)@5", "'2' in 'P\\(2\\)@5' is not a parameter"),
        ("P(=2)@5", "is not a parameter"),
        ("AP(rel=2", "is not the name of a measure"),
        ("nDCG@10@5", "is not the name of a measure"),
        ("ndcg.1=x", "are not grade=gain pairs"),
        ("set_F.1x", "the parameter of 'set_F.1x' is not a number"),
        ("ndcg_cut_10@5", "no measure 'ndcg_cut_10'"),
        ("utility.1,-1", "Utility has no cut-off"),
        ("", "no measure is named"),
        (" , ", "no measure is named"),
    ],
)
def test_mistakes_are_explained(text, message):
    with pytest.raises(MeasureError, match=message):
        rs.parse_measures(text)


def test_what_is_no_text_is_refused():
    with pytest.raises(MeasureError, match="10 is not the name of a measure"):
        rs.parse_measures([10])


def test_one_measure_is_expected_where_one_is_asked_for():
    with pytest.raises(MeasureError, match="'P@5,10' names 2 measures where one is expected"):
        rs.parse_measure("P@5,10")
