"""A short run of the fuzzer; `scripts/fuzz` makes long ones."""

import os

import pytest
from fuzz_bytes import compared
from fuzz_files import problems

N_INPUTS = 100 * int(os.environ.get("RANKSCOPE_TEST_EXAMPLES", "50"))


@pytest.mark.parametrize("seed", range(4))
def test_kernel_and_reference_read_any_bytes_alike(seed):
    n_aligned = 0
    for case, found, expected in compared(N_INPUTS, seed):
        assert found == expected, case
        n_aligned += not expected.is_error
    assert n_aligned > N_INPUTS / 4  # most bytes are nonsense, but not all of them


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_files_give_rows_or_an_error_of_ours(kind, tmp_path):
    assert list(problems(kind, iter(range(60)), 3, tmp_path)) == []
