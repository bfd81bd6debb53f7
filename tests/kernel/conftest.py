"""Lets the tests of this folder share modules, and run fewer examples where each of them is slow."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

from both import load_kernel

# Under the sanitizers (scripts/sanitize) everything takes several times as long.
N_EXAMPLES = int(os.environ.get("RANKSCOPE_TEST_EXAMPLES", "0"))
if N_EXAMPLES:
    settings.register_profile("short", parent=settings.get_profile("rankscope"), max_examples=N_EXAMPLES)
    settings.load_profile("short")


@pytest.fixture(autouse=True, scope="session")
def _kernel_is_there():
    if load_kernel() is None:
        pytest.skip("the kernel is not built here")
