"""ILD of many queries: ours against scipy's pdist called for each query, in one process.

    python benchmarks/ild.py                            # 10,000 queries x top 10 x 384 dimensions, 60,000 docs
    python benchmarks/ild.py --queries 1000 --json      # figures for a program

Both start from a float32 matrix and the rows of the ranked docs, and the scores must agree; looking up the rows by doc
id, which either of them needs as well, is timed apart. Without scipy, which is no dependency of ours, only our own time
is taken. The target is ten times as fast. Ours uses all cores: on a busy machine the ratio is lower.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from rankscope.data.embeddings import Embeddings, make_embeddings
from rankscope.measures.embedding import mean_cosine_distances

SEED = 20_240_601
TARGET = 10
AGREE = 1e-6

Rankings = Sequence[Sequence[str]]


def scipy_pdist(vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ILD as it is usually written."""
    from scipy.spatial.distance import pdist

    return np.array([pdist(vectors[row], "cosine").mean() for row in rows])


def data(args: argparse.Namespace) -> tuple[Embeddings, Rankings]:
    """Draw vectors with a common direction, as those of texts have, and results of every query."""
    rng = np.random.default_rng(SEED)
    vectors = rng.standard_normal((args.docs, args.dims), dtype=np.float32) + 0.5
    ids = [f"doc{i}" for i in range(args.docs)]
    chosen = rng.integers(0, args.docs, (args.queries, args.k))
    return make_embeddings(ids, vectors), [tuple(ids[i] for i in row) for row in chosen.tolist()]


def seconds(function: Callable[[], np.ndarray], rounds: int) -> tuple[float, np.ndarray]:
    """Return the median time of some calls, after one that does not count, and what the function gives."""
    result = function()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return statistics.median(times), result


def figures(args: argparse.Namespace) -> dict[str, object]:
    """Take the times."""
    embeddings, rankings = data(args)
    lookup_time, rows = seconds(lambda: embeddings.row_matrix(rankings), args.rounds)
    our_time, scores = seconds(lambda: mean_cosine_distances(embeddings, rows), args.rounds)
    found: dict[str, object] = {
        "workload": workload(args),
        "ours_seconds": our_time,
        "lookup_seconds": lookup_time,
    }
    try:
        import scipy
    except ImportError:
        return found
    their_time, theirs = seconds(lambda: scipy_pdist(embeddings.vectors, rows), args.rounds)
    worst = float(np.abs(scores - theirs).max())
    if worst > AGREE:
        raise SystemExit(f"ours and scipy's differ by {worst}")
    return {
        **found,
        "scipy": scipy.__version__,
        "scipy_seconds": their_time,
        "ratio": their_time / our_time,
        "target": TARGET,
        "largest_difference": worst,
    }


def workload(args: argparse.Namespace) -> str:
    """Name the sizes."""
    return f"{args.queries:,} queries x top {args.k} x {args.dims} dimensions, {args.docs:,} docs"


def report(found: dict[str, object]) -> str:
    """Return the figures in words."""
    lines = [f"ILD, {found['workload']}", f"  rankscope              {found['ours_seconds']:8.4f} s"]
    lines.append(f"  looking up the rows    {found['lookup_seconds']:8.4f} s")
    if "ratio" in found:
        lines.append(f"  scipy {found['scipy']} pdist     {found['scipy_seconds']:8.4f} s")
        lines.append(
            f"  ratio {found['ratio']:.1f} (target: {TARGET}); largest difference {found['largest_difference']:.1e}"
        )
    else:
        lines.append("  scipy is not installed here, so nothing is compared")
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, take the times and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = {"queries": 10_000, "k": 10, "dims": 384, "docs": 60_000, "rounds": 5}
    for name, usual in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=usual, metavar="N")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    found = figures(args)
    print(json.dumps(found) if args.json else report(found))


if __name__ == "__main__":
    main()
