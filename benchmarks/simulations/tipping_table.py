"""How many verdicts on a system outside the pool do complete judgments confirm, with and without the tipping point?

    OMP_NUM_THREADS=1 PYTHONPATH=benchmarks .venv/bin/python -m simulations.tipping_table
    … --pairs 10 --pools 5        # a small part of it, to see that all works

Prints a table in Markdown. Real runs (21 of TREC-COVID, round 1) stand in for systems. For each pair, A and B, a pool
is made of P other runs and A: judgments of docs that are not among the first 10 of a run of the pool are taken away. So
B did not contribute, as a new system has not. Then `rankscope.compare` is asked about B three times:

- naive: on the judgments of the pool, unjudged docs being not relevant (`unjudged="irrelevant"`);
- by the rule: on the same judgments, unjudged docs being uncertain (`unjudged="uncertain"`);
- the truth: on all judgments, unjudged docs being not relevant.

A verdict is one that names the better system: (probably) better or worse. It is confirmed if the truth is a verdict to
the same side. Verdicts of the rule stand where they are the naive ones without a further word; they are cautious where
unjudged docs have turned "better" into "probably better", or where they come with a caution about unjudged docs.

The last column says how good unjudged docs really are: how often docs of the system behind that the pool left unjudged
are relevant, divided by how often its judged docs are, over all naive verdicts with at least 20 such docs.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

import rankscope
from rankscope.align.top import leading_docs

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs" / "trec-covid-round1"
MEASURE, DEPTH = "nDCG@10", 10
POOLS = (5, 10, 19)
N_PAIRS = 200
LOWEST_MEAN = 0.2
"""Runs that find hardly anything are told apart from all others whatever the pool."""
FEWEST_DOCS = 20
"""With fewer unjudged docs than this, nothing is said of how often they are relevant."""
N_RESAMPLES = 1_999
SIDES = {"better": 1, "probably_better": 1, "worse": -1, "probably_worse": -1}
"""To which side a verdict speaks; all others speak to none."""
UNJUDGED_CAUTION = "unusually good"
"""The words with which a verdict says that it depends on unjudged docs."""

Docs = Mapping[str, Sequence[str]]
Judgments = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Trial:
    """What was said of one pair."""

    naive: int
    """The side of the naive verdict; 0 where it names no system."""
    rule: int
    cautious: bool
    """Whether the verdict of the rule depends on unjudged docs."""
    truth: int
    ratio: float
    """How much less often than judged docs unjudged ones are relevant; NaN where too few are known."""


def main() -> None:
    """Print a row for every size of the pool as soon as it is done."""
    parser = argparse.ArgumentParser(prog="simulations.tipping_table", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--data", type=Path, default=DATA, metavar="DIR", help="qrels.trec.gz and runs/ (default: %(default)s)"
    )
    parser.add_argument("--pools", type=int, nargs="+", default=POOLS, metavar="P", help="sizes (default: 5 10 19)")
    parser.add_argument("--pairs", type=int, default=N_PAIRS, metavar="N", help=f"per pool (default: {N_PAIRS})")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if not args.data.is_dir():
        parser.error(f"{args.data} is not there; name the folder with --data")
    qrels, runs, compared = read(args.data)
    pairs = list(permutations(compared, 2))
    print("\n".join(header()), flush=True)
    for n_pool in args.pools:
        rng = np.random.default_rng(np.random.SeedSequence([args.seed, n_pool]))
        chosen = [pairs[i] for i in rng.permutation(len(pairs))[: args.pairs].tolist()]
        print(row(n_pool, [trial(qrels, runs, a, b, n_pool=n_pool, rng=rng) for a, b in chosen]), flush=True)


def read(folder: Path) -> tuple[Judgments, dict[str, Docs], list[str]]:
    """Return all judgments, the first docs of every run, and the names of those that are worth comparing."""
    qrels = rankscope.load_qrels(folder / "qrels.trec.gz")
    runs = {path.name.removesuffix(".gz"): rankscope.load_run(path) for path in sorted((folder / "runs").iterdir())}
    means = {name: run.mean()[MEASURE].value for name, run in rankscope.evaluate(qrels, runs, MEASURE).items()}
    policies = rankscope.Policies()
    first = {
        name: dict(zip(qrels.query_ids, leading_docs(run, qrels.query_ids, policies, depth=DEPTH).docs, strict=True))
        for name, run in runs.items()
    }
    judged = {query: {doc: int(grade) for doc, grade in docs.items()} for query, docs in qrels.judged.items()}
    return judged, first, [name for name in runs if means[name] >= LOWEST_MEAN]


def trial(
    qrels: Judgments, runs: Mapping[str, Docs], a: str, b: str, *, n_pool: int, rng: np.random.Generator
) -> Trial:
    """Ask about one pair, with a pool of its own."""
    pool = [a, *rng.permutation([name for name in runs if name not in (a, b)])[:n_pool].tolist()]
    pooled = {query: {doc for name in pool for doc in runs[name][query]} for query in qrels}
    judged = {
        query: {doc: grade for doc, grade in docs.items() if doc in pooled[query]} for query, docs in qrels.items()
    }
    pair = {a: runs[a], b: runs[b]}
    naive, rule, truth = (
        verdict_on(given, pair, unjudged)
        for given, unjudged in ((judged, "irrelevant"), (judged, "uncertain"), (qrels, "irrelevant"))
    )
    side = SIDES.get(naive.code, 0)
    return Trial(
        naive=side,
        rule=SIDES.get(rule.code, 0),
        cautious=rule.code != naive.code or UNJUDGED_CAUTION in repr(rule),
        truth=SIDES.get(truth.code, 0),
        ratio=relevance_ratio(qrels, judged, runs[b] if side < 0 else runs[a]) if side else float("nan"),
    )


def verdict_on(qrels: Judgments, pair: Mapping[str, Docs], unjudged: str) -> Any:
    """Return what `compare` says of the second system."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rankscope.RankscopeWarning)
        compared = rankscope.compare(qrels, pair, MEASURE, unjudged=unjudged, n_resamples=N_RESAMPLES)
    return next(iter(compared)).verdict


def relevance_ratio(qrels: Judgments, judged: Judgments, docs: Docs) -> float:
    """Return how often docs that the pool left unjudged are relevant, as a share of how often its judged docs are."""
    known = [qrels[query][doc] > 0 for query in qrels for doc in docs[query] if doc in judged[query]]
    hidden = [
        qrels[query][doc] > 0
        for query in qrels
        for doc in docs[query]
        if doc not in judged[query] and doc in qrels[query]
    ]
    return float(np.mean(hidden) / np.mean(known)) if len(hidden) >= FEWEST_DOCS and any(known) else float("nan")


def header() -> Iterator[str]:
    """Yield the head of the table."""
    yield (
        "| pool of | pairs | naive verdicts: not confirmed, opposite | stand by the rule: not confirmed, opposite | "
        "cautious: not confirmed, opposite | no verdict by the rule | unjudged docs' true relevance / judged docs' "
        "(5 %, median, 95 %) |"
    )
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"


def row(n_pool: int, found: Sequence[Trial]) -> str:
    """Return one row of the table."""
    naive = [each for each in found if each.naive]
    kept = [each for each in naive if each.rule == each.naive]
    ratios = [each.ratio for each in naive if not np.isnan(each.ratio)]
    spread = " ".join(f"{share:.2f}" for share in np.quantile(ratios, (0.05, 0.5, 0.95))) if ratios else "-"
    cells = (
        f"{n_pool} + A",
        len(found),
        counts(naive),
        counts([each for each in kept if not each.cautious]),
        counts([each for each in kept if each.cautious]),
        len(naive) - len(kept),
        spread,
    )
    return f"| {' | '.join(map(str, cells))} |"


def counts(found: Sequence[Trial]) -> str:
    """Return how many verdicts there are, how many of them are not confirmed, and how many turned to the other side."""
    n_wrong = sum(each.truth != each.naive for each in found)
    return f"{len(found)}: {n_wrong}, {sum(each.truth == -each.naive for each in found)}"


if __name__ == "__main__":
    main()
