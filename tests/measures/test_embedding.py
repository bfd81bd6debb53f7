"""Measures by embedding; expected numbers are worked out by hand, by plain loops, or by the RAG predecessor's code."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.align.top import TopDocs
from rankscope.cli.main import main
from rankscope.data.embeddings import Embeddings, make_embeddings
from rankscope.errors import InputError, MeasureError, RankscopeWarning
from rankscope.measures.embedding import novelty_ndcg
from rankscope.measures.extras import Extras, Need
from rankscope.measures.registry import REGISTRY

SPECS = [spec for spec in REGISTRY.values() if Need.EMBEDDINGS in spec.needs]
NAMES = {"ILD", "MinDistance", "MedianDistance", "Redundancy", "NoveltyNDCG", "RelDiv"}


def with_cosines(*rows):
    """Return vectors a, b, c … that have these cosines with one another."""
    return dict(zip("abcdef", np.linalg.cholesky(np.array(rows, dtype=float)), strict=False))


def score(measure, vectors, ranking=None, relevant=(), **more):
    """Return the score of one query whose results are the docs in this order."""
    ranking = list(vectors) if ranking is None else ranking
    qrels = {"q": dict.fromkeys(relevant, 1) or {"unrelated": 1}}
    return rs.evaluate(qrels, {"q": ranking}, measure, embeddings=vectors, **more)["run"]["q", measure]


def test_the_family_is_complete():
    assert {spec.name for spec in SPECS} == NAMES


# Golden values: MEASURES.md sections 5 and 6, from the documents and the code of the RAG predecessor (D).
DOCUMENT_ILD = with_cosines([1, 0.9, 0.3], [0.9, 1, 0.4], [0.3, 0.4, 1])
DOCUMENT_ALPHA = with_cosines([1, 0.2, 0.1], [0.2, 1, 0.1], [0.1, 0.1, 1])


def test_ild_of_the_predecessors_document():
    assert score("ILD", DOCUMENT_ILD) == pytest.approx(0.4667, abs=5e-5)
    assert score("MinDistance", DOCUMENT_ILD) == pytest.approx(0.1)
    assert score("MedianDistance", DOCUMENT_ILD) == pytest.approx(0.6)


def test_ild_of_opposite_vectors_is_2():
    opposite = {"a": [1.0, 0.0], "b": [-2.0, 0.0]}
    assert score("ILD", opposite) == 2.0
    assert score("ILD(distance='angular')", opposite) == 1.0


@pytest.mark.parametrize(("relevant", "wanted"), [("ab", 0.9613), ("abd", 0.7358)])
def test_novelty_ndcg_of_the_predecessors_document(relevant, wanted):
    got = score("NoveltyNDCG@10", DOCUMENT_ALPHA, ["a", "b", "c"], relevant)
    assert got == pytest.approx(wanted, abs=5e-5)
    ideal = sum(1 / math.log2(i + 2) for i in range(len(relevant)))
    assert got * ideal == pytest.approx(1.56784, abs=5e-6)  # the document's alpha-DCG


def test_novelty_ndcg_of_a_doc_listed_twice_is_that_of_the_predecessor():
    hits = Hits(
        query_ids=("q",), answered=np.array([True]), n_retrieved=np.array([2]), offsets=np.array([0, 2]),
        ranks=np.array([1, 2]), grades=np.array([1.0, 1.0]), ideal_offsets=np.array([0, 1]), ideal_grades=np.array([1.0]),
        max_grade=1.0,
    )  # fmt: skip
    extras = Extras(
        rs.Qrels({"q": {"a": 1}}), TopDocs(("q",), (("a", "a"),)), embeddings=make_embeddings(["a"], [[3.0, 4.0]])
    )
    assert novelty_ndcg(hits, extras, k=10) == pytest.approx([1.31546], abs=5e-6)


@pytest.mark.parametrize("k", [1, 2, 5, None])
def test_novelty_ndcg_with_rel_weight_1_is_binary_ndcg(k):
    rng = np.random.default_rng(3)
    vectors = {f"d{i}": rng.standard_normal(4) for i in range(8)}
    qrels = {"q": {f"d{i}": i % 3 for i in range(8)}}
    at = f"@{k}" if k else ""
    run = {"q": ["d5", "d3", "d0", "d4", "d1", "d7"]}
    scores = rs.evaluate(qrels, run, [f"NoveltyNDCG(rel_weight=1){at}", f"nDCG(gain='binary'){at}"], embeddings=vectors)
    assert scores["run"].values[0, 0] == pytest.approx(scores["run"].values[0, 1], abs=1e-12)


def test_novelty_looks_at_all_docs_above_also_those_that_are_not_relevant():
    vectors = {"wrong": [1.0, 0.0], "right": [1.0, 0.0]}
    # by hand: the only relevant doc, at rank 2, is no news: its gain is 0.5, over log2(3)
    assert score("NoveltyNDCG@10", vectors, relevant=["right"]) == pytest.approx(0.5 / math.log2(3))


def test_novelty_takes_opposite_vectors_and_missing_ones_as_novel():
    vectors = {"a": [1.0, 0.0], "b": [-1.0, 0.0]}
    with pytest.warns(RankscopeWarning, match="1 of the 3 docs that NoveltyNDCG@10 looks at have no vector: c"):
        assert score("NoveltyNDCG@10", vectors, ["a", "b", "c"], "abc") == pytest.approx(1)


def test_every_measure_that_looks_at_docs_without_a_vector_is_named():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    with pytest.warns(RankscopeWarning) as caught:
        rs.evaluate({"q": {"a": 1}}, {"q": ["a", "b", "c"]}, "ILD@2 ILD@3 NoveltyNDCG@10 nDCG", embeddings=vectors)
    [text] = [str(warning.message) for warning in caught]
    assert text == (
        "run: 1 of the 3 docs that NoveltyNDCG@10, ILD@3 look at have no vector: c; see `rankscope measures NAME`"
    )


def test_novelty_honours_the_threshold():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}
    scores = rs.evaluate(qrels, run, ["NoveltyNDCG@10", "NoveltyNDCG(rel=2)@10"], embeddings=vectors)
    assert scores["run"].values[0] == pytest.approx([1, 1 / math.log2(3)])
    assert rs.evaluate(qrels, run, "NoveltyNDCG@10", embeddings=vectors, min_rel=2)["run"].values[
        0, 0
    ] == pytest.approx(1 / math.log2(3))


def test_the_predecessors_name_for_it_never_gives_the_score_of_another_measure_in_silence():
    # ndeval's alpha-nDCG is the same name but for its case; it goes by subtopics, so it asks for them
    with pytest.raises(MeasureError, match=r"subtopics|no measure"):
        score("Alpha-NDCG@10", DOCUMENT_ALPHA, relevant="ab")


def test_its_parameter_is_not_called_alpha():
    with pytest.raises(MeasureError, match="has no parameter 'alpha'"):
        rs.parse_measure("NoveltyNDCG(alpha=0.5)@10")


# Edge cases, by hand.
def test_a_doc_without_vector_is_left_out_and_reported():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    with pytest.warns(RankscopeWarning, match=r"4 of the 6 docs .* have no vector: m0, m1, m2, …"):
        assert score("ILD@6", vectors, ["m0", "a", "m1", "m2", "b", "m3"]) == pytest.approx(1)


def test_where_no_doc_has_a_vector_the_ids_are_in_doubt():
    with pytest.warns(RankscopeWarning, match="do the ids match"):
        assert score("ILD", {"x": [1.0]}, ["a", "b"], undefined="zero") == 0


def test_a_doc_without_vector_below_the_cut_is_not_reported():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score("ILD@2", {"a": [1.0, 0.0], "b": [0.0, 1.0]}, ["a", "b", "c"]) == pytest.approx(1)


def test_fewer_than_two_vectors_are_undefined_and_left_out():
    with pytest.warns(RankscopeWarning) as said:
        run = rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, sorted(NAMES), embeddings={"a": [1.0]})["run"]
    assert len(said) == 1
    assert list(said[0].message.notes) == [
        f"run: {names} undefined for 1 of 1 queries ({why}): left out of the mean"
        for names, why in (
            ("ILD, MedianDistance, MinDistance are", "fewer than two of the first k docs have a vector"),
            ("RelDiv is", "nDCG or ILD is undefined"),
        )
    ]
    assert dict(zip(run.measures, run.undefined[0].tolist(), strict=True)) == {
        "ILD": True, "MinDistance": True, "MedianDistance": True, "RelDiv": True, "Redundancy": False, "NoveltyNDCG": False,
    }  # fmt: skip
    assert math.isnan(run["q", "ILD"])
    assert run.mean()["ILD"].n == 0
    assert run["q", "Redundancy"] == 0


def test_nothing_retrieved_has_no_redundancy_rather_than_none_of_it():
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"]}
    with pytest.warns(RankscopeWarning, match="does not answer 1 of 2 queries.* but Redundancy is undefined for them"):
        scores = rs.evaluate(qrels, run, ["Redundancy", "ILD"], embeddings={"a": [1.0]}, undefined="zero")["run"]
    assert math.isnan(scores["r", "Redundancy"])
    assert scores["r", "ILD"] == 0


def test_a_vector_of_zeros_has_cosine_0_with_every_other():
    vectors = {"a": [0.0, 0.0], "b": [1.0, 0.0], "c": [1.0, 0.0]}
    assert score("ILD", vectors) == pytest.approx(2 / 3)  # distances 1, 1, 0
    assert score("MinDistance", vectors) == pytest.approx(0)
    assert score("ILD(distance='angular')", vectors) == pytest.approx(1 / 3, abs=1e-7)
    assert score("ILD", {"a": [0.0, 0.0], "b": [0.0, 0.0]}) == 1


def test_redundancy_counts_docs_that_repeat_one_above():
    vectors = {"a": [1.0, 0.0], "b": [2.0, 0.0], "c": [0.9, 0.1], "d": [0.0, 1.0]}
    assert score("Redundancy", vectors) == 2 / 4
    assert score("Redundancy(threshold=1)", vectors) == 1 / 4
    assert score("Redundancy@1", vectors) == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_every_kind_of_number_works(dtype):
    vectors = make_embeddings(["a", "b", "c"], np.array([[1, 0], [0, 3], [2, 0]], dtype=dtype))
    assert score("ILD", vectors, ["a", "b", "c"]) == pytest.approx(2 / 3, abs=1e-7)
    assert score("MinDistance", vectors, ["a", "b", "c"]) == 0


@pytest.mark.parametrize(("dtype", "length"), [(np.float32, 1e30), (np.float32, 1e-30), (np.float64, 1e200), (np.float64, 1e-200)])  # fmt: skip
def test_very_long_and_very_short_vectors_have_a_direction(dtype, length):
    matrix = np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype) * dtype(length)
    wanted = (1 + 2 * (1 - math.sqrt(0.5))) / 3
    assert score("ILD", make_embeddings("abc", matrix), ["a", "b", "c"]) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_vector_that_is_no_number_is_refused_with_its_doc(bad):
    with pytest.raises(InputError, match=r"doc 'b' \(row 2\) holds NaN or infinity"):
        score("ILD", {"a": [1.0, 0.0], "b": [bad, 1.0], "c": [1.0, 1.0]})


def test_a_bad_vector_of_a_doc_that_is_not_shown_does_not_matter():
    assert score("ILD", {"bad": [math.nan, 1.0], "b": [0.0, 1.0], "c": [1.0, 0.0]}, ["b", "c"]) == pytest.approx(1)
    with pytest.warns(RankscopeWarning, match="no vector"):
        assert score("ILD", {"bad": [math.nan], "b": [1.0]}, ["b", "unknown"], undefined="zero") == 0


def test_without_embeddings_it_says_how_to_give_them():
    with pytest.raises(MeasureError, match="ILD@10 needs embeddings") as error:
        rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "ILD@10")
    assert "--embeddings FILE" in error.value.hint


def test_relevance_and_diversity():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 3.0], "c": [2.0, 0.0]}
    names = ["RelDiv@3", "RelDiv(combine='arithmetic', weight=0.25)@3", "RelDiv(weight=1)@3", "RelDiv(weight=0)@3"]
    got = rs.evaluate({"q": {"a": 1}}, {"q": ["a", "b", "c"]}, names, embeddings=vectors)["run"].values[0]
    assert got == pytest.approx([0.8, 0.25 + 0.75 * 2 / 3, 1, 2 / 3])  # nDCG 1, ILD 2/3
    assert score("RelDiv@2", {"a": [1.0], "b": [1.0]}, relevant=["a"]) == 0  # nothing but copies


# Against plain loops.
def cosine(x, y):
    lengths = math.sqrt(sum(v * v for v in x)) * math.sqrt(sum(v * v for v in y))
    return sum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 0.0


def loops(vectors, docs, angular):
    known = [vectors[doc] for doc in docs if doc in vectors]
    cosines = [max(-1.0, min(1.0, cosine(x, y))) for x, y in itertools.combinations(known, 2)]
    return sorted(math.acos(c) / math.pi if angular else 1 - c for c in cosines)


def middle(values):
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2


NUMBER = st.integers(-4, 4).map(float)
TABLE = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(NUMBER, min_size=3, max_size=3), min_size=1)
RANKINGS = st.lists(st.lists(st.sampled_from("abcdefghi"), unique=True, max_size=9), min_size=1, max_size=5)


def per_query(name, vectors, rankings, dtype):
    """Return the scores as the measure's function gives them, NaN where undefined."""
    queries = [f"q{i}" for i in range(len(rankings))]
    qrels = rs.Qrels({query: {"a": 1} for query in queries})
    hits = align(
        qrels, rs.Run({query: docs or ["none"] for query, docs in zip(queries, rankings, strict=True)}), Policies()
    )
    embeddings = make_embeddings(list(vectors), np.array(list(vectors.values()), dtype=dtype))
    extras = Extras(qrels, TopDocs(tuple(queries), tuple(map(tuple, rankings))), embeddings=embeddings)
    return rs.parse_measure(name).score(hits, extras=extras).tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("angular", [False, True])
@pytest.mark.parametrize(
    ("name", "joined"),
    [("ILD", lambda d: sum(d) / len(d)), ("MinDistance", min), ("MedianDistance", middle)],
)
@given(vectors=TABLE, rankings=RANKINGS, k=st.sampled_from([None, 1, 3]))
def test_distances_equal_plain_loops(name, joined, angular, dtype, *, vectors, rankings, k):
    full = name + ("(distance='angular')" if angular else "") + (f"@{k}" if k else "")
    wanted = [loops(vectors, docs[:k], angular) for docs in rankings]
    got = per_query(full, vectors, rankings, dtype)
    assert got == pytest.approx([joined(d) if d else math.nan for d in wanted], abs=1e-6, nan_ok=True)


@given(vectors=TABLE, rankings=RANKINGS, threshold=st.sampled_from([-1, 0, 0.5, 0.95, 1]))
def test_redundancy_equals_plain_loops(vectors, rankings, threshold):
    wanted = []
    for docs in rankings:
        known = [vectors[doc] for doc in docs if doc in vectors]
        repeats = [any(cosine(x, y) >= threshold - 1e-9 for y in known[:i]) for i, x in enumerate(known)]
        wanted.append(sum(repeats) / len(known) if known else math.nan)
    got = per_query(f"Redundancy(threshold={threshold})", vectors, rankings, np.float64)
    assert got == pytest.approx(wanted, nan_ok=True)


@given(vectors=TABLE, ranking=st.lists(st.sampled_from("abcdefghi"), unique=True, min_size=1), k=st.integers(1, 9),
       relevant=st.sets(st.sampled_from("abcdefghi"), min_size=1), weight=st.sampled_from([0, 0.3, 0.5, 1]))  # fmt: skip
def test_novelty_ndcg_equals_the_predecessors_loop(vectors, ranking, k, relevant, weight):
    dcg = 0.0
    for i, doc in enumerate(ranking[:k]):
        if doc in relevant:
            seen = [vectors[other] for other in ranking[:i] if other in vectors]
            closest = max([0.0, *(cosine(vectors[doc], other) for other in seen)]) if doc in vectors else 0.0
            dcg += (weight + (1 - weight) * (1 - closest)) / math.log2(i + 2)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(len(relevant), k)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = score(rs.parse_measure(f"NoveltyNDCG(rel_weight={weight})@{k}").name, vectors, ranking, relevant)
    assert got == pytest.approx(dcg / ideal, abs=1e-9)


@given(vectors=TABLE, rankings=RANKINGS)
def test_scores_stay_in_their_range_whatever_the_order_of_queries(vectors, rankings):
    for spec in SPECS:
        low, high = spec.range
        forwards = per_query(spec.name, vectors, rankings, np.float32)
        assert all(math.isnan(s) or low - 1e-7 <= s <= high + 1e-7 for s in forwards)
        backwards = per_query(spec.name, vectors, rankings[::-1], np.float32)
        assert backwards[::-1] == pytest.approx(forwards, abs=1e-6, nan_ok=True)


def test_blocks_and_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    vectors = {f"d{i}": row for i, row in enumerate(rng.standard_normal((200, 8)))}
    rankings = [[f"d{i}" for i in rng.permutation(210)[: rng.integers(0, 12)]] for _ in range(300)]
    for name in ("ILD", "MedianDistance"):
        monkeypatch.undo()
        whole = per_query(name, vectors, rankings, np.float64)
        monkeypatch.setattr("rankscope.data.embeddings._BLOCK_BYTES", 4000)
        monkeypatch.setattr("rankscope.data.embeddings.n_cores", lambda: 3)
        assert per_query(name, vectors, rankings, np.float64) == pytest.approx(whole, abs=1e-12, nan_ok=True)


def test_a_query_has_the_same_score_in_any_block_to_the_bit(monkeypatch):
    rng = np.random.default_rng(6)
    vectors = {f"d{i}": row for i, row in enumerate(rng.standard_normal((50, 16)))}
    rankings = [[f"d{i}" for i in rng.permutation(50)[:10]] for _ in range(40)]
    together = per_query("ILD", vectors, rankings, np.float32)
    assert together == [per_query("ILD", vectors, [docs], np.float32)[0] for docs in rankings]


def test_only_the_rows_of_docs_that_are_shown_are_read():
    read = []

    class Watched(np.ndarray):
        def take(self, rows, **more):
            read.extend(np.asarray(rows).tolist())
            return np.ndarray.take(self, rows, **more)

    vectors = np.eye(6).view(Watched)
    embeddings = Embeddings({doc: row for row, doc in enumerate("abcdef")}, vectors)
    assert score("ILD@2", embeddings, ["f", "b", "a"]) == pytest.approx(1)
    assert sorted(read) == [1, 5]


def test_from_files_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    (tmp_path / "x.run").write_text("q Q0 a 1 3 x\nq Q0 b 2 2 x\nq Q0 c 3 1 x\n")
    np.save("vec.npy", np.array([[1, 0], [0, 3]], dtype=np.float16))
    (tmp_path / "vec.ids.txt").write_text("a\nb\n")
    assert main(["evaluate", "qrels.txt", "x.run", "-m", "ILD@3", "--embeddings", "vec.npy", "--format", "csv"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split(",")[1] == "1.0"
    assert "1 of the 3 docs that ILD@3 looks at have no vector: c" in shown.err
    explained = ["explain", "qrels.txt", "x.run", "--query", "q", "-m", "ILD@3", "--embeddings", "vec.npy"]
    assert main(explained) == 0
    assert "ILD@3 = 1" in capsys.readouterr().out
    assert main(["evaluate", "qrels.txt", "x.run", "-m", "ILD@3"]) == 2
    assert "--embeddings FILE" in capsys.readouterr().err


def test_with_judged_docs_only_vectors_belong_to_the_docs_that_remain():
    vectors = {"u": [1.0, 0.0], "a": [1.0, 0.0], "b": [0.0, 1.0]}
    qrels, run = {"q": {"a": 1, "b": 1}}, {"q": ["u", "a", "b"]}
    # by hand: without u, which nobody judged, both docs are novel
    for measure, policy in (("NoveltyNDCG(judged_only=True)@2", {}), ("NoveltyNDCG@2", {"judged_only": True})):
        scores = rs.evaluate(qrels, run, measure, embeddings=vectors, **policy)
        assert scores["run"].values.tolist() == [[1.0]]


def test_module_registers_nothing_under_the_name_of_the_literature():
    names = [alias.lower() for spec in SPECS for alias in (spec.name, *spec.aliases)]
    assert not any("alpha" in name for name in names)
