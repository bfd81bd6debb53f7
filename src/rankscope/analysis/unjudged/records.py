"""What is known of unjudged docs: how much they could change, and which of them to judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from rankscope.arrays import Floats
from rankscope.records import Record

NEARLY_ZERO = 1e-9
"""What rounding alone may make of a difference of 0."""


class SettleDoc(Record):
    """A doc to judge for one query."""

    query_id: str
    doc_id: str
    swing: float
    """How far this doc alone can move the mean difference, and to which side: above 0 it favours the second system."""
    rank_a: int | None
    """Its rank in the first system's list; None where it is not among the docs that the measure looks at."""
    rank_b: int | None


class Sensitivity(Record):
    """The same comparison by other ways of dealing with unjudged docs."""

    judged_only: float
    """The difference when docs without a judgment are removed from both lists."""
    bpref: float
    """The difference by bpref, which looks at judged docs only; NaN where grades are fractions and no threshold is set."""


class UnjudgedEffect(msgspec.Struct, frozen=True, eq=False):
    """What unjudged docs among the first k could do to the difference between two systems, the second minus the first.

    All numbers are means over the queries that count in the comparison. Only docs in the first k ranks of either
    system are looked at; a doc that both have is one doc and gets one grade. `low` and `high` hold for every way to
    grade these docs from 0 to the top grade, not for judgments of other docs, nor for other judgments of judged ones.
    """

    k: int | None
    """How many ranks the measure looks at; None is all of them."""
    top_grade: float
    """The best grade that an unjudged doc may turn out to have."""
    n_unjudged: int
    """Pairs of query and doc in the first k ranks of either system that nobody judged."""
    useless: float
    """The difference if every unjudged doc gets grade 0; that is how most measures count them."""
    perfect: float
    """The difference if every unjudged doc gets the top grade."""
    low: float
    high: float
    exact: bool
    """Whether some grades really lead to `low` and `high`; else they may be further out than any grades lead."""
    query_ids: tuple[str, ...]
    query_low: Floats
    """The same by query; NaN where a query does not count."""
    query_high: Floats
    n_certain: int
    """How many docs to judge until the sign is settled whatever their grades: all that can change the difference,
    0 where it is settled."""
    sensitivity: Sensitivity
    docs: Callable[..., tuple[SettleDoc, ...]]
    """`docs(n)` returns the n docs to judge first, `docs()` all that can change the difference."""


def straddles_zero(low: float, high: float) -> bool:
    """Tell whether 0 lies within bounds or on one of them, rounding errors aside; bounds that coincide are certain."""
    return low <= NEARLY_ZERO and high >= -NEARLY_ZERO and high - low > NEARLY_ZERO


class TippingCheck(Record):
    """Whether the unjudged docs of the system that is behind could close the gap, were they relevant often enough."""

    behind: str
    ahead: str
    difference: float
    """The mean of the one that is behind less that of the other, on the judgments there are; below 0, better up."""
    n_unjudged: int
    """Pairs of query and doc that only the system behind retrieved, within the depth of the measure, unjudged."""
    judged_relevant: float
    """The share of relevant docs among the judged docs of the system behind, at the same ranks (r); NaN of none."""
    r95: float
    """What that share may be at most: the upper end of its one-sided 95 % Wilson interval."""
    n_judged: int
    """How many judged docs that share comes from."""
    from_all_systems: bool
    """Whether it comes from all systems, as the one behind has too few judged docs."""
    strength: Literal["stands", "cautious", "not_safe"]
    """stands: the gap stays if the unjudged docs are relevant at 0.8 r95; cautious: only at 0.6 r95; not_safe: it is
    gone at 0.6 r95 already."""


class SameCheck(Record):
    """Whether two systems stay as close as they are when the unjudged docs of either are relevant at 0.8 r95.

    All differences are the second system's mean less the first's, better up.
    """

    first_gains: float
    """If the unjudged docs of the first system are relevant."""
    second_gains: float
    holds: bool
    """Whether neither brings the difference beyond the margin."""
