"""What measures there are, for programs."""

from __future__ import annotations

from rankscope.measures.registry import REGISTRY
from rankscope.measures.spec import MeasureFamily, MeasureSpec


def by_family() -> dict[MeasureFamily, list[MeasureSpec]]:
    """Return all measures, by the kind of question they answer."""
    return {family: [spec for spec in REGISTRY.values() if spec.family is family] for family in MeasureFamily}


def list_measures() -> dict[str, str]:
    """Return every measure with the question that it answers, family by family.

    Returns
    -------
    dict
        ``{name: question}``; plugins' measures are among them.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.list_measures()["RR"]
    'how early does the first relevant doc come?'
    """
    return {spec.name: spec.summary.removeprefix("Answers: ") for specs in by_family().values() for spec in specs}
