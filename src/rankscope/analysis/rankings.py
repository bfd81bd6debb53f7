"""What scores were made of, kept for reports that look at the docs themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from rankscope.align.policies import Policies
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.texts import Texts
from rankscope.light import LightRecord


class Rankings(LightRecord, eq=False):
    """Judgments and runs by name, how they are scored, and where the words behind their ids are."""

    qrels: Qrels
    runs: Mapping[str, Run]
    policies: Policies
    profile: str | None = None
    """The tool whose conventions measures follow."""
    texts_of: Callable[[AbstractSet[str]], Texts] = lambda _docs: Texts()
    """Returns the texts of all queries, and of these docs."""
