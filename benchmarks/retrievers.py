"""How well the systems that come with Rankscope rank: the tables of docs/systems.md.

    python benchmarks/retrievers.py COLLECTIONS                     # the folder that holds scifact, cranfield and xquad
    python benchmarks/retrievers.py COLLECTIONS --model wordllama   # with the embedded model instead of MiniLM
    python benchmarks/retrievers.py COLLECTIONS --only xquad

A collection is a folder with corpus.jsonl.gz, queries.jsonl and qrels.trec; those of XQuAD have the language in their
names (corpus.de.jsonl.gz). Embeddings are kept in --cache, so that only the first time takes long.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import rankscope as rs
from rankscope.experiment.collection import Collection, CollectionSpec, load_collection
from rankscope.systems.base import System
from rankscope.systems.bm25 import BM25
from rankscope.systems.dense import Dense
from rankscope.systems.diversify import MMR, Dartboard
from rankscope.systems.hybrid import Hybrid

LANGUAGES = {"de": "german", "en": "english", "es": "spanish", "ru": "russian"}
K = 100


def collection_in(folder: Path, language: str = "") -> Collection:
    """Open a collection, or one language of it."""
    part = f".{language}" if language else ""
    return load_collection(
        CollectionSpec(
            name=folder.name,
            docs=folder / f"corpus{part}.jsonl.gz",
            queries=folder / f"queries{part}.jsonl",
            qrels=folder / "qrels.trec",
        )
    )


def run_of(system: System, collection: Collection) -> tuple[dict[str, dict[str, float]], float]:
    """Return what a system finds, and how long a query takes in ms."""
    system.fit(collection.docs)
    queries = collection.query_list
    started = time.perf_counter()
    rankings = system.search(queries, k=K)
    took_ms = (time.perf_counter() - started) * 1000 / len(queries)
    return {query.id: dict(ranking) for query, ranking in zip(queries, rankings, strict=True)}, took_ms


def vectors_by_doc(dense: Dense) -> dict[str, np.ndarray]:
    """Return the embeddings that ILD is computed from."""
    return dict(zip(dense.vectors.docs.ids, np.concatenate(dense.vectors.blocks), strict=True))


def print_table(title: str, systems: Mapping[str, System], collection: Collection, dense: Dense) -> None:
    """Print relevance, diversity and time of each system."""
    found = {name: run_of(system, collection) for name, system in systems.items()}
    runs = {name: run for name, (run, _) in found.items()}
    scores = rs.evaluate(collection.qrels, runs, ["nDCG@10", "R@100", "ILD@10"], embeddings=vectors_by_doc(dense))
    print(f"\n{title}\n\n| system | nDCG@10 | R@100 | ILD@10 | ms a query |\n| --- | --- | --- | --- | --- |")
    for name, means in scores.mean().items():
        row = " | ".join(f"{means[measure].value:.4f}" for measure in ("nDCG@10", "R@100", "ILD@10"))
        print(f"| {name} | {row} | {found[name][1]:.1f} |", flush=True)


def scifact(args: argparse.Namespace) -> None:
    """Compare all systems on SciFact."""
    bm25, dense = BM25(), Dense(model=args.model, cache=args.cache)
    hybrid = Hybrid(of=[bm25, dense])
    systems: dict[str, System] = {"bm25": bm25, f"dense ({args.model})": dense, "hybrid (rrf)": hybrid}
    systems |= {f"mmr, lambda {value}": MMR(of=dense, lambda_=value) for value in (0.9, 0.7, 0.5)}
    systems |= {f"dartboard, sigma {value}": Dartboard(of=dense, sigma=value) for value in (0.1, 0.2, 0.3)}
    systems |= {
        f"dartboard of hybrid, sigma {value}": Dartboard(of=hybrid, sigma=value, relevance="pool")
        for value in (0.2, 0.3)
    }
    print_table("SciFact (300 queries, 5,183 docs)", systems, collection_in(args.collections / "scifact"), dense)


def cranfield(args: argparse.Namespace) -> None:
    """Compare words, vectors and both on Cranfield."""
    bm25, dense = BM25(), Dense(model=args.model, cache=args.cache)
    systems = {"bm25": bm25, f"dense ({args.model})": dense, "hybrid (rrf)": Hybrid(of=[bm25, dense])}
    print_table("Cranfield (225 queries, 1,400 docs)", systems, collection_in(args.collections / "cranfield"), dense)


def xquad(args: argparse.Namespace) -> None:
    """Search every language of XQuAD by itself, with one model for all of them."""
    print("\nXQuAD (1,190 queries, 240 docs, each language by itself), nDCG@10\n")
    print(f"| system | {' | '.join(LANGUAGES)} | mean | spread (max - min) |\n|{' --- |' * (len(LANGUAGES) + 3)}")
    kinds: dict[str, Callable[[str], System]] = {
        "bm25 (stemmer and stop words of the language)": lambda name: BM25(stemmer=name, stop_words=name),
        "dense (multilingual)": lambda _: Dense(model="multilingual", cache=args.cache),
    }
    for label, make in kinds.items():
        means = [language_mean(make(name), args.collections / "xquad", code) for code, name in LANGUAGES.items()]
        cells = " | ".join(f"{mean:.4f}" for mean in means)
        print(f"| {label} | {cells} | {statistics.mean(means):.4f} | {max(means) - min(means):.4f} |", flush=True)


def language_mean(system: System, folder: Path, language: str) -> float:
    """Return the mean nDCG@10 of one language."""
    collection = collection_in(folder, language)
    run, _ = run_of(system, collection)
    return float(rs.evaluate(collection.qrels, {"system": run}, ["nDCG@10"]).mean()["system"]["nDCG@10"].value)


PARTS = {"scifact": scifact, "cranfield": cranfield, "xquad": xquad}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collections", type=Path, help="the folder that holds the collections")
    parser.add_argument("--model", default="minilm", help="the embeddings for English")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache" / "rankscope", help="where embeddings are kept"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="print this table alone")
    args = parser.parse_args()
    for part in args.only or PARTS:
        PARTS[part](args)


if __name__ == "__main__":
    main()
