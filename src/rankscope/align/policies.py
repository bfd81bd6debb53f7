"""The decisions on which evaluation tools differ, each one word, trec_eval's behaviour being the default.

Where trec_eval has no measure of the kind, nothing is made up: an undefined score is left out, and how many
there are is reported.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from rankscope.checks import is_number, is_truth, is_whole
from rankscope.errors import OptionError, did_you_mean
from rankscope.light import LightRecord, asdict

CHOICES: dict[str, dict[str, str]] = {
    "ties": {
        "trec": "docs with equal scores are ordered by doc id, descending by bytes, as trec_eval does",
        "given": "docs with equal scores keep the order of the rank column, else of the file",
        "ascending": "docs with equal scores are ordered by doc id, ascending by bytes",
    },
    "precision": {
        "double": "scores are compared as 64-bit numbers (trec_eval 10)",
        "single": "scores are rounded to 32 bits first, so nearly equal ones tie (trec_eval 9, pytrec_eval)",
    },
    "duplicates": {
        "error": "a doc listed twice for one query is an error",
        "first": "the first row counts, later ones are dropped",
    },
    "self_match": {
        "keep": "a doc whose id is the query's own id is a doc like any other",
        "drop": "it is removed from the ranking, as BEIR does where queries are themselves in the collection",
    },
    "missing": {
        "zero": "queries of the qrels that the run does not answer count as an empty ranking (trec_eval -c)",
        "skip": "they are left out of the mean (trec_eval 9 without -c)",
        "error": "they are an error",
    },
    "no_relevant": {
        "zero": "a query without relevant docs scores 0 and counts, as in trec_eval",
        "exclude": "it is left out of the mean",
    },
    "undefined": {
        "skip": "a score undefined for another reason, such as the diversity of one doc, is left out of the mean",
        "zero": "it counts as 0, except where 0 would be the best score there is",
        "error": "it is an error",
    },
}


class Policies(LightRecord, kw_only=True):
    """How ties, duplicates, missing queries and thresholds are handled in one evaluation."""

    ties: str = "trec"
    precision: str = "double"
    duplicates: str = "error"
    self_match: str = "keep"
    missing: str = "zero"
    no_relevant: str = "zero"
    undefined: str = "skip"
    depth: int | None = None
    judged_only: bool = False
    min_rel: float | None = None
    """The lowest grade that counts as relevant; None is 1, for grades that are whole numbers."""

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in choices:
                message = f"{name} = {value!r} is not one of {', '.join(choices)}"
                raise OptionError(message, hint=did_you_mean(str(value), choices))
        if self.depth is not None:
            depth = operator.index(self.depth) if is_whole(self.depth) else 0
            if depth < 1:
                raise OptionError(f"depth = {self.depth!r}: it counts ranks, so it is a whole number from 1 up")
            object.__setattr__(self, "depth", depth)
        if not is_truth(self.judged_only):
            raise OptionError(f"judged_only is {self.judged_only!r}, but it must be True or False")
        grade: Any = self.min_rel
        if grade is not None and not (is_number(grade) and 0 <= float(grade) < math.inf):
            raise OptionError(
                f"min_rel = {self.min_rel!r}: it is a grade from 0 up",
                hint="negative grades mean pooled but unjudged, so they cannot be relevant",
            )

    @property
    def relevance_level(self) -> float:
        """The lowest grade that counts as relevant."""
        return 1.0 if self.min_rel is None else float(self.min_rel)

    def as_dict(self) -> dict[str, Any]:
        """Return the policies with the relevance level filled in, for records and reports."""
        level = self.relevance_level
        return {**asdict(self), "min_rel": int(level) if level.is_integer() else level}
