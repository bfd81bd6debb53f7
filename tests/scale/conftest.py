"""What all tests of runs in parts have in common."""

import os

import pytest


@pytest.fixture(autouse=True)
def little_is_taken(monkeypatch):
    """Let the process seem small: how much of the memory is taken already depends on the tests that ran before."""
    for module in ("io.memory", "align.sharded", "comparison.evidence"):
        monkeypatch.setattr(f"rankscope.{module}.resident_bytes", lambda: 60 << 20)


@pytest.fixture
def plain_environment():
    """Return the variables of this process without those that let a child count its coverage, which takes memory."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "COVERAGE_"))}
