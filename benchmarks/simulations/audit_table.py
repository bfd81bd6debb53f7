"""How often the interval of an audit holds the truth: a model's labels corrected by people's, against the two alone.

Every trial draws queries of a population in which people's difference of two systems is known on average, and a judge
that is biased and errs; people audit the first of them. Printed is how often 95% intervals hold the true mean, and how
wide they are: of the judge's scores of all queries, of people's of the audited ones, and of both by `mixed_mean`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from rankscope.stats.mixed import mixed_mean, over_all_queries

TRUE_MEAN = 0.05
SEED = 20261118


@dataclass(frozen=True)
class AuditCase:
    """How many queries there are, how many are audited, and what the judge is like."""

    n: int
    n_all: int
    agrees: float
    """How far the judge's differences go with people's: their correlation."""
    bias: float
    changed: float = 1.0
    """The share of queries whose lists differ; of the others the difference is 0 and nobody audits them."""
    skewed: bool = False
    """Whether a few queries differ much more than all others; else both systems have such queries."""


CASES = (
    AuditCase(20, 100, 0.75, 0.05),
    AuditCase(20, 100, 0.4, 0.05),
    AuditCase(30, 300, 0.75, 0.1),
    AuditCase(30, 300, 0.0, 0.1),
    AuditCase(20, 300, 0.75, 0.05, changed=0.5),
    AuditCase(30, 300, 0.75, 0.1, skewed=True),
)
LEVEL = 0.95


def trial(case: AuditCase, random: np.random.Generator) -> list[tuple[bool, float]]:
    """Return for judge, people and both whether the interval holds the true mean, and its width."""
    n_changed = case.n_all if case.changed == 1 else int(random.binomial(case.n_all, case.changed))
    true = TRUE_MEAN * case.changed
    spread = 0.25
    shape = random.exponential(1.0, n_changed) - 1 if case.skewed else random.laplace(0, np.sqrt(0.5), n_changed)
    people = TRUE_MEAN + spread * shape
    noise = random.normal(0, spread, n_changed)
    judge = TRUE_MEAN + case.bias + case.agrees * (people - TRUE_MEAN) + np.sqrt(1 - case.agrees**2) * noise
    n = min(case.n, n_changed)
    mixed = over_all_queries(mixed_mean(people[:n], judge[:n], judge[n:]), n_changed, case.n_all)
    alone = np.concatenate([judge, np.zeros(case.n_all - n_changed)])
    found = [
        (float(alone.mean()), float(alone.std(ddof=1)) / np.sqrt(case.n_all), case.n_all - 1),
        (mixed.people_mean, mixed.people_error, n - 1),
        (mixed.mean, mixed.standard_error, n - 1),
    ]
    halves = [float(t.ppf((1 + LEVEL) / 2, df)) * error for _, error, df in found]
    return [(abs(mean - true) <= half, 2 * half) for (mean, _, _), half in zip(found, halves, strict=True)]


def coverage(case: AuditCase, n_trials: int, seed: int = SEED) -> list[tuple[float, float]]:
    """Return for judge, people and both how often intervals hold, and their median width."""
    random = np.random.default_rng(seed)
    trials = [trial(case, random) for _ in range(n_trials)]
    return [
        (float(np.mean([each[i][0] for each in trials])), float(np.median([each[i][1] for each in trials])))
        for i in range(3)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000)
    asked = parser.parse_args()
    print("| audited of all | changed | correlation | bias | differences | judge alone | people alone | both |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        cells = " | ".join(f"{held:.3f} / {width:.3f}" for held, width in coverage(case, asked.trials))
        facts = f"{case.n} of {case.n_all} | {case.changed:.0%} | {case.agrees:g} | {case.bias:+g}"
        print(f"| {facts} | {'skewed' if case.skewed else 'even'} | {cells} |")


if __name__ == "__main__":
    main()
