"""Files of other frameworks that hold queries, and perhaps docs and judgments as well.

What reads them is a package above this one, so it is named in a table and loaded when such a file is met.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rankscope.data.judgments import SingleJudgment
from rankscope.io.rows import QrelsRows
from rankscope.registry import Entry, Registry


class ImportedContent(Protocol):
    """What such a file holds; `rankscope.predecessors.importers.model` says what its entries have."""

    title: str
    """What kind of file it is, in words."""
    docs: Sequence[Any]
    """Docs, each with `id` and `fields`."""
    queries: Sequence[Any]
    """Queries, each with `id`, `text` and `attributes`."""
    judgments: Sequence[Any]
    """Judgments, each with `query` and `doc`."""
    opinions: Sequence[SingleJudgment]
    """Flags, choices and verdicts on single results."""
    qrels_rows: QrelsRows
    """The judgments as the rows of qrels."""


IMPORTERS: Registry[Callable[..., ImportedContent]] = Registry(
    "importer",
    {
        "predecessors": Entry(
            "rankscope.predecessors.importers:import_file", "test cases and results of four earlier frameworks"
        )
    },
)


def import_collection(
    path: str | os.PathLike[str], *, kind: str | None = None, query: str | None = None
) -> ImportedContent:
    """Return what a file of an earlier framework holds; its kind is recognised by its content unless it is given.

    `query` is what was searched for, where the file does not say.
    """
    return IMPORTERS["predecessors"](path, kind=kind, query=query)
