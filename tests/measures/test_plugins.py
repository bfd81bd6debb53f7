"""Measures from other packages, through the entry point `rankscope.measures`."""

import importlib.metadata

import numpy as np
import pytest

import rankscope as rs
from rankscope.measures import registry
from rankscope.measures.spec import MeasureExample, MeasureFamily, measure


class Plugin:
    """What an entry point offers: loading it imports a module, which registers."""

    name = "double"

    def load(self):
        example = MeasureExample([1, 1], [1], 4.0, {}, "2 docs, counted twice")

        @measure(
            "Twice",
            "Twice",
            family=MeasureFamily.SET,
            formula="2n",
            range=(0, 99),
            cite="Nobody, 2026",
            example=example,
        )
        def twice(hits):
            """Answers: what is twice the number of docs retrieved?"""
            return 2.0 * np.asarray(hits.n_retrieved)


@pytest.fixture
def plugin(monkeypatch):
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda *, group: [Plugin()] if group == "rankscope.measures" else []
    )
    registry.load_families.cache_clear()  # it may have looked already
    yield
    registry.REGISTRY.remove("Twice")
    registry.ALIASES.remove("twice")


@pytest.mark.usefixtures("plugin")
def test_a_plugins_measure_is_used_by_name():
    assert rs.evaluate({"q": ["a"]}, {"q": ["a", "b"]}, "twice")["run"]["q", "Twice"] == 4
