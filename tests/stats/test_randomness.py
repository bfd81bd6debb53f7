"""Resampling depends on the seed and on nothing else: not on chunks, threads, or anybody's global state."""

import os
import subprocess
import sys
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest

from rankscope.stats import rng
from rankscope.stats.family import bonferroni_tests, joint_test, separate_tests
from rankscope.stats.interval import bca_interval, jackknife, percentile_interval
from rankscope.stats.paired import bayesian_bootstrap, bootstrap_shift_test, sign_flip_test
from rankscope.stats.units import Moments, UnitColumns, Units, sums_in_blocks

RNG = np.random.default_rng(11)
DIFFERENCES = RNG.normal(0.02, 0.1, 77)
SCORES = RNG.random((77, 4))
PAIRS = np.column_stack([b - a for a, b in combinations(SCORES.T, 2)])
CLUSTERS = np.arange(77) // 4


def row_medians(rows):
    return np.median(rows, axis=1)


def units(differences):
    columns = differences if differences.ndim > 1 else differences[:, None]
    return Units.of(len(columns)).sums(columns)


def family(columns, seed, **options):
    found = joint_test(units(columns), alpha=0.05, n_resamples=2500, seed=seed, **options)
    return [*found.p.tolist(), *found.critical.tolist()]


RESAMPLED = {
    "sign flip": lambda seed: sign_flip_test(DIFFERENCES, n_resamples=2500, seed=seed),
    "sign flip by cluster": lambda seed: sign_flip_test(DIFFERENCES, n_resamples=2500, seed=seed, clusters=CLUSTERS),
    "bootstrap shift": lambda seed: bootstrap_shift_test(units(DIFFERENCES), n_resamples=2500, seed=seed),
    "percentile": lambda seed: percentile_interval(DIFFERENCES, n_resamples=2500, seed=seed),
    "BCa": lambda seed: bca_interval(DIFFERENCES, n_resamples=2500, seed=seed),
    "BCa of the median": lambda seed: bca_interval(DIFFERENCES, row_medians, n_resamples=2500, seed=seed),
    "BCa by cluster": lambda seed: bca_interval(DIFFERENCES, n_resamples=2500, seed=seed, clusters=CLUSTERS),
    "max t": lambda seed: family(SCORES[:, 1:] - SCORES[:, :1], seed),
    "max t of many": lambda seed: family(np.repeat(SCORES, 3, axis=1) - 0.5, seed),
    "all pairs": lambda seed: family(SCORES, seed, pairs=units(PAIRS).moments()),
    "Bayesian bootstrap": lambda seed: bayesian_bootstrap(units(DIFFERENCES), 0.01, n_draws=2500, seed=seed),
}


@pytest.fixture(params=RESAMPLED, ids=str)
def resampled(request):
    return RESAMPLED[request.param]


def test_weights_that_are_held_are_those_that_are_drawn(monkeypatch):
    held = [bayesian_bootstrap(units(DIFFERENCES[:n]), 0.01, n_draws=500) for n in (77, 40, 77)]
    monkeypatch.setattr("rankscope.stats.paired.HELD_WEIGHTS", 0)
    assert [bayesian_bootstrap(units(DIFFERENCES[:n]), 0.01, n_draws=500) for n in (77, 40, 77)] == held


def test_the_same_seed_gives_the_same(resampled):
    assert resampled(4) == resampled(4)


def test_another_seed_gives_another(resampled):
    assert len({str(resampled(seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("chunk", [1, 77, 1000, 1 << 24])
def test_chunks_do_not_matter(resampled, chunk, monkeypatch):
    usual = resampled(4)
    monkeypatch.setattr(rng, "CHUNK", chunk)
    assert resampled(4) == usual


def test_threads_do_not_matter(resampled):
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(resampled, [3, 4, 3, 4]))
    assert together == [resampled(3), resampled(4)] * 2


def test_threads_of_matrix_products_do_not_matter():
    program = """
from itertools import combinations
import numpy as np
from rankscope.stats.family import joint_test
from rankscope.stats.units import Units
scores, units = np.random.default_rng(3).random((300, 40)) - 0.5, Units.of(300)
pairs = units.sums(np.column_stack([b - a for a, b in combinations(scores.T, 2)])).moments()
options = {"alpha": 0.05, "n_resamples": 1500, "seed": 0}
for more in ({}, {"pairs": pairs}):
    print(joint_test(units.sums(scores), **more, **options).p.tolist())
"""
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "OPENBLAS_NUM_THREADS": n, "OMP_NUM_THREADS": n},
            capture_output=True,
            check=True,
        ).stdout
        for n in ("1", "4")
    }
    assert len(printed) == 1


def test_global_state_is_neither_used_nor_changed(resampled):
    np.random.seed(1)  # noqa: NPY002 (the global state is what is looked at)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = resampled(4)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert resampled(4) == first


def signs_of(flips):
    """Return the patterns of signs as numbers."""
    return flips.sums(np.eye(flips.n))


def test_more_resamples_continue_the_fewer():
    fewer, more = (signs_of(rng.SignFlips(70, n, 1)) for n in (1500, 4000))
    np.testing.assert_array_equal(more[:1500], fewer)


def test_purposes_have_streams_of_their_own():
    one, other = (rng.stream(1, purpose).random(100) for purpose in "ab")
    assert (one != other).any()


def test_signs_are_fair():
    signs = signs_of(rng.SignFlips(100, 10_000, 3))
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    assert (np.abs(signs.mean(axis=0)) < 5 / np.sqrt(len(signs))).all()


@pytest.mark.parametrize("n", [14, 63, 64, 65, 200, 1024, 1025, 3000])
def test_sums_by_looking_up_eights_equal_the_matrix_product(n):
    values = np.random.default_rng(n).normal(size=(n, 1))
    flips = rng.SignFlips(n, 300, 5)
    np.testing.assert_allclose(flips.sums(values), flips.sums(np.repeat(values, 9, axis=1))[:, :1], atol=1e-11)


def test_blocks_of_units_can_be_flipped_apart():
    """Whoever holds 1,024 units needs no others: partial sums add up, in the order of the blocks."""
    values = np.random.default_rng(0).normal(size=(2500, 2))
    flips = rng.SignFlips(2500, 200, 5)
    parts = [np.where(np.arange(2500)[:, None] // 1024 == block, values, 0.0) for block in range(3)]
    np.testing.assert_allclose(sum(flips.sums(part) for part in parts), flips.sums(values), atol=1e-12)
    np.testing.assert_array_equal(flips.bits(0), rng.SignFlips(1024, 200, 5).bits(0))


def test_all_patterns_but_the_unflipped_one_are_tried_once():
    flips = rng.SignFlips(5, 31, 0)
    patterns = signs_of(flips)
    assert flips.is_exact
    assert len({tuple(row) for row in patterns}) == len(patterns) == flips.n_flips == 31
    assert (1.0,) * 5 not in {tuple(row) for row in patterns}
    assert not rng.SignFlips(5, 30, 0).is_exact


def test_chunks_hold_few_numbers():
    drawn = rng.random_rows(100_000, n_resamples=10, seed=0, purpose="x")
    assert max(rows.size for rows in drawn) <= rng.CHUNK


@pytest.mark.parametrize(
    "resample",
    [
        lambda d: sign_flip_test(d, n_resamples=1100),
        lambda d: bca_interval(d, n_resamples=1100),
        lambda d: bayesian_bootstrap(units(d), 0.01, n_draws=1100),
        lambda d: joint_test(units(np.column_stack([d, d + 0.1] * 4)), alpha=0.05, n_resamples=1100, seed=0),
    ],
)
def test_memory_stays_small(resample):
    # 1,024 resamples of 50,000 numbers would take 400 MB
    d = np.random.default_rng(0).normal(size=50_000)
    tracemalloc.start()
    resample(d)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_closed_form_of_the_jackknife():
    by_hand = [np.delete(DIFFERENCES, i).mean() for i in range(len(DIFFERENCES))]
    from rankscope.stats.interval import row_means

    np.testing.assert_allclose(jackknife(DIFFERENCES, row_means), by_hand, atol=1e-14)
    np.testing.assert_allclose(jackknife(DIFFERENCES, lambda rows: rows.mean(axis=1)), by_hand, atol=1e-14)


def family_of_many_units(**options):
    """Return all pairs of 12 systems, and the systems themselves, over units that fill two blocks and a bit."""
    scores = np.random.default_rng(8).random((2_100, 12)) - 0.5
    pairs = units(np.column_stack([b - a for a, b in combinations(scores.T, 2)])).moments()
    found = [
        joint_test(units(scores), more, alpha=0.05, n_resamples=1_500, seed=0, **options) for more in (None, pairs)
    ]
    return [array.tobytes() for each in found for array in (each.p, each.p_alone, each.critical)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_of_flips_do_not_matter(threads):
    assert family_of_many_units(threads=threads) == family_of_many_units()


@pytest.mark.parametrize("chunk", [1, 5_000, 1 << 24])
def test_flips_that_are_tried_together_do_not_matter(chunk, monkeypatch):
    usual = family_of_many_units()
    monkeypatch.setattr(rng, "CHUNK", chunk)
    assert family_of_many_units(threads=2) == usual


@pytest.mark.parametrize("n_columns", [3, 40])  # looked up, and multiplied
@pytest.mark.parametrize("n", [5, 70, 2_100])  # all flips, one block, three blocks
def test_some_flips_are_those_of_all(n, n_columns):
    values = np.random.default_rng(n).normal(size=(n, n_columns))
    flips = rng.SignFlips(n, 700, 5)
    whole = flips.sums(values)
    for first, stop in ((0, 256), (256, 512), (512, 700)):
        if stop <= flips.n_flips:
            some = slice(first, stop)
            np.testing.assert_array_equal(flips.bits(0, some), flips.bits(0)[some])
            np.testing.assert_array_equal(flips.sums(values, some), whole[some])


def test_whoever_adds_blocks_in_their_order_has_the_same_sums():
    values = np.random.default_rng(1).normal(size=(3_500, 6))
    flips = rng.SignFlips(3_500, 300, 5)
    blocks = [values[start : start + 1024] for start in range(0, 3_500, 1024)]
    for groups in ([[0], [1], [2], [3]], [[0, 1, 2], [3]], [[0], [1, 2, 3]]):  # blocks of one worker each
        total = np.zeros((300, 6))
        for group in groups:
            for block in group:
                flips.add_block(total, block, blocks[block])
        np.testing.assert_array_equal(total, flips.sums(values))


def test_signs_are_those_of_the_seed_the_purpose_and_the_block():
    """The streams are written down, so that they are the same in every version and in other programs."""
    seed = np.random.SeedSequence([9, zlib.crc32(b"sign flip"), 1])
    words = np.random.PCG64(seed).random_raw(4 * 2).reshape(4, 2)  # four flips of 100 units: two words each
    by_hand = [[1 - 2 * ((int(row[i // 64]) >> (i % 64)) & 1) for i in range(100)] for row in words]
    values = np.zeros((1_124, 1_124))
    values[1024:, 1024:] = np.eye(100)
    assert rng.SignFlips(1_124, 4, 9).sums(values)[:, 1024:].tolist() == by_hand


def test_sums_of_blocks_do_not_depend_on_the_columns_beside_them():
    values = np.random.default_rng(2).normal(size=(2_500, 7))
    whole = sums_in_blocks(values)
    assert whole == pytest.approx(values.sum(axis=0))
    for columns in ([0], [6], [2, 5], [6, 0, 3]):
        np.testing.assert_array_equal(sums_in_blocks(values[:, columns]), whole[columns])


def test_columns_that_are_made_when_needed_are_those_that_are_held():
    values = np.random.default_rng(3).normal(0.01, 0.1, (60, 700))
    values[:40, 5] = np.nan  # as of a pair that has other queries
    held = units(values)
    made = UnitColumns(700, held.columns)
    for test in (joint_test, separate_tests, bonferroni_tests):
        some, whole = (test(each, alpha=0.05, n_resamples=300, seed=1) for each in (made, held))
        for name in ("p", "p_alone", "critical", "critical_equivalence"):
            np.testing.assert_array_equal(getattr(some, name), getattr(whole, name))


def test_memory_of_all_pairs_does_not_grow_with_flips_and_pairs():
    # 9,999 flips of 19,900 pairs would take 1.6 GB, and those of 200 systems 16 MB
    scores = np.random.default_rng(0).random((300, 200))
    gram = scores.T @ scores
    i, j = np.triu_indices(200, 1)
    total, ones = (scores.sum(axis=0)[j] - scores.sum(axis=0)[i]), np.ones(len(i))
    squares = np.diag(gram)[i] + np.diag(gram)[j] - 2 * gram[i, j]
    moments = Moments(300 * ones, total, 300 * ones, squares, total, 300 * ones)
    tracemalloc.start()
    joint_test(units(scores), moments, alpha=0.05, n_resamples=9_999, seed=0, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6
