"""A mean over queries of which people judged some, and a model all: the model's mean, corrected by the audited ones.

For the n audited queries y are people's scores and f the model's, for the N others g are the model's; scores may be
differences of two systems. The model counts for as much as it is worth on the audited queries (PPI++), and how much
that is for a query is worked out without this query:

    w_i = clip(Cov_-i(y, f) / ((1 + n / N) Var_-i(f)), 0, 1), 0 where Var is 0
    r_i = y_i - w_i f_i, and w the mean of all w_i
    mean = w mean(g) + mean(r)
    SE^2 = w^2 Var(g) / N + Var(r) / n

The interval is the mean -+ t(n - 1) SE. It holds for every model, good, bad or biased, as long as the audited queries
were drawn at random; where the model is of no use, it is that of people's scores alone.
"""

from __future__ import annotations

import math

import numpy as np

from rankscope.arrays import Floats
from rankscope.records import Record, replace

FEWEST_AUDITED = 3
"""With fewer there is no covariance without one of them that says anything."""
FEWEST_OTHERS = 2
NO_VARIANCE = 1e-12


class MixedMean(Record, kw_only=True):
    """A mean of people's and a model's scores, with its standard error; n - 1 degrees of freedom go with it."""

    mean: float
    standard_error: float
    weight: float
    """How much the model counts: 0 not at all, 1 as if it were right."""
    n: int
    """Audited queries."""
    n_others: int
    """Queries that the model alone judged."""
    people_mean: float
    """Of the audited queries, by people alone."""
    people_error: float
    favour: float
    """By how much the model's scores of the audited queries are higher than people's, on average."""
    favour_error: float

    @property
    def worth(self) -> float:
        """How many audited queries would be as exact without the model."""
        return self.n * (self.people_error / self.standard_error) ** 2 if self.standard_error else float(self.n)


def mixed_mean(people: Floats, judge: Floats, others: Floats) -> MixedMean:
    """Return the mean over all queries: of people's and the judge's scores of some, and the judge's of the others.

    Parameters
    ----------
    people
        People's scores of the audited queries; at least two.
    judge
        The judge's of the same queries, by its labels alone.
    others
        The judge's of all other queries.

    Examples
    --------
    >>> import numpy as np
    >>> audited = np.array([0.0, 1.0, 0.0, 1.0])
    >>> found = mixed_mean(audited, audited, np.array([1.0, 1.0, 1.0, 0.0]))
    >>> found.weight  # n / N is 1, so that half of what the judge says counts
    0.5
    >>> found.mean
    0.625
    """
    y, f, g = (np.asarray(each, dtype=np.float64) for each in (people, judge, others))
    n, n_others = len(y), len(g)
    if n < FEWEST_AUDITED or n_others < FEWEST_OTHERS:
        weights = np.zeros(n)
    else:
        weights = weights_without_each(y, f, n / n_others)
    weight, rest = float(weights.mean()), y - weights * f
    variance = float(rest.var(ddof=1)) / n
    mean = float(rest.mean())
    if weight:
        variance += weight**2 * float(g.var(ddof=1)) / n_others
        mean += weight * float(g.mean())
    return MixedMean(
        mean=mean,
        standard_error=math.sqrt(variance),
        weight=weight,
        n=n,
        n_others=n_others,
        people_mean=float(y.mean()),
        people_error=math.sqrt(float(y.var(ddof=1)) / n),
        favour=float((f - y).mean()),
        favour_error=math.sqrt(float((f - y).var(ddof=1)) / n),
    )


def weights_without_each(y: Floats, f: Floats, ratio: float) -> Floats:
    """Return for each query the best weight of the judge by all other ones."""
    n = len(y)
    y, f = y - y.mean(), f - f.mean()  # sums of small numbers lose fewer digits
    mean_y, mean_f = (y.sum() - y) / (n - 1), (f.sum() - f) / (n - 1)
    covariance = ((y * f).sum() - y * f - (n - 1) * mean_y * mean_f) / (n - 2)
    variance = ((f * f).sum() - f * f - (n - 1) * mean_f * mean_f) / (n - 2)
    varies = variance > NO_VARIANCE
    best = np.where(varies, covariance / np.where(varies, variance, 1.0), 0.0) / (1 + ratio)
    found: Floats = np.clip(best, 0.0, 1.0)
    return found


def over_all_queries(found: MixedMean, n_changed: int, n_all: int) -> MixedMean:
    """Return a mean difference of the queries that changed as one of all: where nothing changed, it is 0.

    The favour of the model stays that on the audited queries.

    With s the share that changed, it is s times the mean, and its squared error s^2 SE^2 + s (1 - s) mean^2 / n_all, as
    another set of queries has another share.
    """
    if not 0 < n_changed < n_all:
        return found
    share = n_changed / n_all

    def error(mean: float, of: float) -> float:
        return math.sqrt((share * of) ** 2 + share * (1 - share) * mean**2 / n_all)

    return replace(
        found,
        mean=share * found.mean,
        standard_error=error(found.mean, found.standard_error),
        people_mean=share * found.people_mean,
        people_error=error(found.people_mean, found.people_error),
    )
