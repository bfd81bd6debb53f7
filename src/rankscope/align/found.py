"""What alignment finds in a run, before the policies on missing queries are applied."""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.arrays import Bools, Floats, Ints
from rankscope.light import LightRecord


class Found(LightRecord, eq=False):
    """The judged docs of every query of the qrels, as flat arrays; both implementations of alignment return this."""

    answered: Bools
    n_retrieved: Ints
    n_hits: Ints
    ranks: Ints
    grades: Floats
    n_other_queries: int
    """Queries of the run that the qrels do not have."""
    other_queries: Sequence[str] = ()
    """The first of them."""
    duplicate: tuple[str, str] | None = None
    """The first query that lists a doc twice, and that doc, where this is an error."""
