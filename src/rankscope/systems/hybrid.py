"""Hybrid search: several systems are asked, and their rankings fused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from rankscope.errors import OptionError
from rankscope.systems.base import OptionSystem, Query, RankedDocs, System, search_once
from rankscope.systems.fusion import METHODS, RRF_K, Fusion
from rankscope.systems.options import SYSTEM, AtLeastOne

TUNE = "tune"


class Hybrid(OptionSystem, kw_only=True):
    """Fuses the rankings of several systems; see `fusion` for the methods."""

    kind: ClassVar[str] = "hybrid"
    of: Annotated[Sequence[System], SYSTEM]
    """The systems whose rankings are fused."""
    method: str = "rrf"
    """How rankings are fused: rrf, combsum, borda …; `rankscope fuse --help` says what each does."""
    k: float | None = None
    """The constant of rrf; 60 where not given."""
    weights: Sequence[float] | str | None = None
    """How much each system counts; "tune" chooses the weights on training queries."""
    norm: str | None = None
    """How scores are made comparable: none, minmax, max, sum, zscore or rank."""
    depth: AtLeastOne = 1000
    """How many docs of each system are looked at."""
    step: Annotated[float, Meta(ge=0.001, le=1)] = 0.1
    """How fine the weights are tried where they are tuned."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.of = tuple(self.of)
        if len(self.of) < 2:
            raise OptionError(f"{self.name}: fusing takes at least two systems", hint='of = ["bm25", "dense"]')
        if isinstance(self.weights, str) and self.weights != TUNE:
            raise OptionError(f"weights {self.weights!r} are neither numbers nor {TUNE!r}")
        self.tuned_weights: tuple[float, ...] | None = None
        self.fusion  # noqa: B018 (its options are checked now, not at the first search)

    def __reduce__(self) -> tuple[Any, ...]:
        options: Any = super().__reduce__()
        return (*options, {"tuned_weights": self.tuned_weights})

    @property
    def needs_tuning(self) -> bool:
        """Whether weights have to be tuned on training queries before anything can be searched."""
        return self.weights == TUNE and self.tuned_weights is None

    @property
    def fusion(self) -> Fusion:
        weights = self.tuned_weights if self.weights == TUNE else self.weights
        given = None if weights is None else tuple(map(float, weights))
        fusion = Fusion(method=self.method, k=self.k, weights=given, norm=self.norm)
        fusion.weights_for(len(self.of))
        return fusion

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        if self.needs_tuning:
            raise OptionError(
                f"{self.name}: its weights have not been tuned yet",
                hint="call tune() with training queries, or give weights",
            )
        fusion = self.fusion
        return [fusion.fuse(lists)[:k] for lists in self.lists(queries, k=k)]

    def lists(self, queries: Sequence[Query], *, k: int) -> list[tuple[RankedDocs, ...]]:
        answers = [search_once(system, queries, k=max(k, self.depth)) for system in self.of]
        return list(zip(*answers, strict=True))

    def tune(
        self, queries: Sequence[Query], measure: Callable[[Mapping[str, RankedDocs]], float], *, k: int = 1000
    ) -> dict[tuple[float, ...], float]:
        """Choose the weights that score best on training queries, and return what each that was tried scored.

        Give training queries alone: on the queries it was chosen for, a choice looks better than it is. Of weights that
        score alike the most even ones are taken, then those that favour the first system.
        """
        if not queries:
            raise OptionError("weights cannot be tuned without training queries")
        lists = self.lists(queries, k=k)
        curve = {}
        n_steps, n_others = round(1 / self.step), len(self.of) - 1
        for cuts in itertools.combinations(range(n_steps + n_others), n_others):  # all weights that add up to 1
            ends = (-1, *cuts, n_steps + n_others)
            weights = tuple((b - a - 1) / n_steps for a, b in itertools.pairwise(ends))
            fusion = Fusion(method=self.method, k=self.k, weights=weights, norm=self.norm)
            fused = {query.id: fusion.fuse(own)[:k] for query, own in zip(queries, lists, strict=True)}
            curve[weights] = measure(fused)
        self.tuned_weights = max(curve, key=lambda weights: (curve[weights], -max(weights), weights))
        return curve

    def describe(self) -> dict[str, Any]:
        tuned = {} if self.tuned_weights is None else {"tuned_weights": list(self.tuned_weights)}
        k = RRF_K if self.k is None and METHODS[self.method].takes_k else self.k  # the number itself: it may change
        return {**super().describe(), "k": k, **tuned}
