"""Whether scripts/sanitize tests what it says: the sanitized kernel, with the sanitizers at work."""

import os
from pathlib import Path

import pytest
from both import load_kernel

SANITIZED = pytest.mark.skipif("RANKSCOPE_SANITIZED" not in os.environ, reason="scripts/sanitize runs this")


@SANITIZED
def test_the_kernel_under_test_is_the_sanitized_one():
    path = Path(load_kernel().__file__)
    assert path.parts[-3:-1] == ("build", "sanitize")
    assert b"__asan_report_load" in path.read_bytes()
    assert b"__ubsan_handle" in path.read_bytes()


@SANITIZED
def test_the_sanitizers_are_loaded():
    maps = Path("/proc/self/maps").read_text()
    assert "libasan" in maps
    assert "libubsan" in maps
