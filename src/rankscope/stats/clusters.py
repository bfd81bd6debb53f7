"""Clusters: queries that are not independent, such as paraphrases of one question, are taken together."""

from __future__ import annotations

import numpy as np

from rankscope.arrays import Floats, Ints
from rankscope.errors import OptionError


def members_of(clusters: np.ndarray, n: int) -> Ints:
    """Return the number of each query's cluster, from 0 up."""
    if len(clusters) != n:
        raise OptionError(f"there are {len(clusters)} cluster labels for {n} queries", hint="give one label per query")
    return np.asarray(np.unique(clusters, return_inverse=True)[1], dtype=np.int64)


def cluster_sums(values: Floats, clusters: np.ndarray) -> Floats:
    """Return the sum of every cluster: of one column, or of each column of a matrix.

    Tests that flip or permute by query do so by cluster when they are given these sums instead.
    """
    member = members_of(clusters, len(values))
    sums = np.zeros((int(member.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(sums, member, values)
    return sums
