"""Ranx: load both files, evaluate, print the means (its own: it breaks ties differently, so they are not compared)."""

from common import paths
from ranx import Qrels, Run, evaluate

qrels_path, run_path = paths()
qrels = Qrels.from_file(qrels_path, kind="trec")
run = Run.from_file(run_path, kind="trec")
print(evaluate(qrels, run, ["ndcg@10", "mrr", "map", "recall@100", "precision@10"]))
