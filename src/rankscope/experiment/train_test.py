"""Which queries options may be chosen on, and which ones the results are about."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from rankscope.data.queries import QueryTable
from rankscope.errors import InputError
from rankscope.experiment.collection import Collection
from rankscope.experiment.results import TrainTestSplit
from rankscope.experiment.splits import divide, load_split, reveal


def train_test_split(
    collection: Collection, *, has_choices: bool, revealed: bool, strata: Sequence[str], seed: int, command: str
) -> TrainTestSplit:
    """Return which queries choices are made on and which ones are measured; only judged queries are either.

    Where options or weights have to be chosen and there is no stored split, half of the queries are drawn for that,
    balanced by the attributes in `strata`. With `revealed` the hold-out of a stored split is measured, which is
    recorded beside its file together with the command.
    """
    queries, spec = collection.queries, collection.spec
    judged_ids = set(collection.qrels.query_ids)
    judged = tuple(query for query in queries.ids if query in judged_ids)
    if not judged:
        raise InputError(
            f"{collection.name}: none of its queries has a judgment",
            hint=f"do the ids match? The first query is {queries.ids[0]!r}, "
            f"the first judged one {collection.qrels.query_ids[0]!r}",
        )
    if spec.group is not None:
        queries.attribute(spec.group)  # a wrong name is an error also where nothing has to be divided
    if spec.split is not None:
        return stored_split(collection, spec.split, judged, revealed=revealed, command=command)
    if not has_choices:
        return TrainTestSplit((), judged)
    by = tuple(name for name in strata if name in queries.attributes)
    table = QueryTable(judged, queries.texts, queries.attributes)
    drawn, holdout = divide(table, share=Fraction(1, 2), by=by, seed=seed, group=spec.group)
    whole = f", whole groups by {spec.group}" if spec.group else ""
    words = (
        f"No split is given, so half of the queries were drawn to choose on ({len(drawn.train)}, seed {seed}"
        f"{whole}); all results are about the other {len(holdout)}."
    )
    return TrainTestSplit(drawn.train, holdout, "drawn", words)


def stored_split(
    collection: Collection, path: Path, judged: Sequence[str], *, revealed: bool, command: str
) -> TrainTestSplit:
    """Return a split that is stored; its hold-out is measured only where it is to be revealed, which is recorded."""
    split = load_split(path, queries=collection.queries, group=collection.spec.group)
    inside = set(split.train)
    train = tuple(query for query in judged if query in inside)
    if not revealed:
        words = (
            f"Results are about the {len(train)} train queries; {split.n_holdout} are held out, "
            "and --reveal measures those."
        )
        return TrainTestSplit(train, train, "train", words)
    holdout = reveal(path, command=command, queries=collection.queries, group=collection.spec.group)
    inside = set(holdout.query_ids)
    measured = tuple(query for query in judged if query in inside)
    times = "for the first time" if holdout.n_reveals == 1 else f"for the {holdout.n_reveals}. time"
    words = f"Results are about the {len(measured)} held-out queries, revealed {times}."
    return TrainTestSplit(train, measured, "holdout", words)
