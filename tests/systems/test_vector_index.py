"""Exact search against a plain sort, and its independence of how the work is cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.systems import base, vector_index
from rankscope.systems.base import DocIds, best_first
from rankscope.systems.vector_index import VectorIndex


def index_of(matrix, *, block=3):
    ids = [f"d{i}" for i in range(len(matrix))]
    return VectorIndex(ids, [matrix[a : a + block] for a in range(0, len(matrix), block)], device="cpu")


def brute_force(matrix, query, k):
    """Sort all products, computed one by one in double precision and rounded as scores are."""
    products = [float(np.float32(sum(float(a) * float(b) for a, b in zip(row, query, strict=True)))) for row in matrix]
    return best_first({f"d{i}": product for i, product in enumerate(products)}, k)


SMALL = st.integers(-3, 3).map(lambda n: n / 4)  # many ties


@settings(max_examples=80, deadline=None)
@given(
    matrix=st.integers(1, 12).flatmap(
        lambda n: st.lists(st.lists(SMALL, min_size=3, max_size=3), min_size=n, max_size=n)
    ),
    queries=st.lists(st.lists(SMALL, min_size=3, max_size=3), min_size=1, max_size=5),
    k=st.integers(1, 14),
    block=st.integers(1, 13),
)
def test_equals_a_plain_sort_ties_included(matrix, queries, k, block):
    docs, asked = np.array(matrix, dtype=np.float32), np.array(queries, dtype=np.float32)
    found = index_of(docs, block=block).search(asked, k=k)
    for query, ranking in zip(asked, found, strict=True):
        assert ranking == (brute_force(docs, query, k) if query.any() else [])


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(7)
    docs = rng.standard_normal((700, 32)).astype(np.float32)
    docs[600:] = docs[:100]  # docs that are there twice
    return docs, rng.standard_normal((60, 32)).astype(np.float32)


@pytest.mark.parametrize("block", [1, 64, 333, 700])
def test_the_size_of_blocks_changes_nothing(cloud, block):
    docs, queries = cloud
    expected = [brute_force(docs, query, 25) for query in queries]
    assert index_of(docs, block=block).search(queries, k=25) == expected


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_number_of_threads_changes_nothing(cloud, monkeypatch, n):
    docs, queries = cloud
    monkeypatch.setattr(vector_index, "n_threads", lambda: n)
    index = index_of(docs, block=100)
    together = index.search(queries, k=25)
    assert together == [index.search(query[None, :], k=25)[0] for query in queries]
    assert together == [brute_force(docs, query, 25) for query in queries]


def test_no_thread_sees_the_order_of_ids_half_made(monkeypatch):
    docs, seen, arange = DocIds(["a", "c", "b"]), [], np.arange
    monkeypatch.setattr(np, "arange", lambda *given: (seen.append(docs._place), arange(*given))[1])
    assert docs.place.tolist() == [2, 0, 1]
    assert seen == [None]


def test_more_docs_are_asked_for_than_there_are():
    found = index_of(np.eye(3, dtype=np.float32)).search(np.array([[1, 0, 0]], dtype=np.float32), k=99)
    assert found == [[("d0", 1.0), ("d2", 0.0), ("d1", 0.0)]]


def test_no_docs_no_results():
    assert VectorIndex([], [], device="cpu").search(np.ones((2, 4), dtype=np.float32), k=5) == [[], []]


def test_vectors_come_back_in_the_order_asked_for(cloud):
    docs, _ = cloud
    index = index_of(docs, block=64)
    assert (index.vectors_of(["d650", "d0", "d65"]) == docs[[650, 0, 65]]).all()
    parts = list(index.parts_of([f"d{i}" for i in range(700)]))
    assert [len(part) for part in parts] == [64] * 10 + [60]
    assert (np.concatenate(parts) == docs).all()
    assert index.vectors_of([]).shape == (0, 0)


@pytest.mark.skipif(vector_index.visible_gpu() is None, reason="torch sees no GPU")
@pytest.mark.parametrize("k", [1, 25, 900])
def test_a_gpu_finds_the_same(cloud, k):
    docs, queries = cloud
    ids = [f"d{i}" for i in range(len(docs))]
    assert VectorIndex(ids, [docs], device="auto").search(queries, k=k) == index_of(docs).search(queries, k=k)


@pytest.mark.slow
def test_same_docs_as_faiss():
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    rng = np.random.default_rng(3)
    docs = rng.standard_normal((20_000, 64)).astype(np.float32)
    queries = rng.standard_normal((50, 64)).astype(np.float32)
    theirs = faiss.IndexFlatIP(64)
    theirs.add(docs)
    scores, rows = theirs.search(queries, 100)
    found = index_of(docs, block=4096).search(queries, k=100)
    for ranking, row, score in zip(found, rows, scores, strict=True):
        assert {doc for doc, _ in ranking} == {f"d{i}" for i in row}
        assert [s for _, s in ranking] == pytest.approx(score.tolist(), abs=1e-4)


@pytest.fixture(params=["kernel", "python"])
def way(request, monkeypatch):
    """Search by the compiled kernel, and without it."""
    if request.param == "python":
        for module in (vector_index, base):
            monkeypatch.setattr(module, "kernel", lambda: None)
    elif vector_index.kernel() is None:
        pytest.skip("the kernel was not built")
    return request.param


@pytest.mark.parametrize("k", [1, 7, 64, 65, 699, 700, 5_000])
def test_both_ways_find_what_a_plain_sort_finds(cloud, way, k):
    docs, queries = cloud
    found = index_of(docs, block=130).search(queries[:6], k=k)
    assert found == [brute_force(docs, query, k) for query in queries[:6]]


def test_docs_that_are_all_alike_are_in_the_order_of_their_ids(way):
    docs = np.ones((3_000, 5), dtype=np.float32)
    (found,) = index_of(docs, block=1024).search(np.ones((1, 5), dtype=np.float32), k=40)
    assert found == [(doc, 5.0) for doc in sorted((f"d{i}" for i in range(3_000)), reverse=True)[:40]]


def test_docs_that_get_better_and_better_overtake_all_before_them(way):
    docs = np.arange(4_000, dtype=np.float32)[:, None]  # the bar rises with every doc, and down again for the second
    up, down = index_of(docs, block=1000).search(np.array([[1], [-1]], dtype=np.float32), k=3)
    assert up == [("d3999", 3999.0), ("d3998", 3998.0), ("d3997", 3997.0)]
    assert [doc for doc, _ in down] == ["d0", "d1", "d2"]


def test_zeros_of_either_sign_tie(way):
    docs = np.array([[-0.0], [0.0], [1.0], [-1.0]], dtype=np.float32)
    (found,) = index_of(docs, block=4).search(np.array([[1.0]], dtype=np.float32), k=4)
    assert [doc for doc, _ in found] == ["d2", "d1", "d0", "d3"]


def test_the_kernel_refuses_what_does_not_fit_together():
    module = vector_index.kernel()
    if module is None:
        pytest.skip("the kernel was not built")
    docs, queries = np.ones((3, 2), dtype=np.float32), np.ones((2, 2), dtype=np.float32)
    one, room = np.zeros(1, dtype=np.int64), np.empty(1, dtype=np.float32)
    for doc, query in ((3, 0), (-1, 0), (0, 2), (0, -1)):
        with pytest.raises(RuntimeError, match="no such row"):
            module.exact_products(docs, queries, one + doc, one + query, room)
    with pytest.raises(RuntimeError, match="fit together"):
        module.exact_products(docs, np.ones((2, 3), dtype=np.float32), one, one, room)
    nearest = module.nearest(k=1, margins=np.zeros(2, dtype=np.float32))
    with pytest.raises(RuntimeError, match="a row of products per query"):
        nearest.add(docs, 0)
