"""Rankscope on dicts of dicts; only the evaluation counts. Further arguments are its measures."""

import sys

from common import our_means, paths, read_qrels_dict, read_run_dict, report, timed

from rankscope import evaluate

qrels_path, run_path = paths()
measures = sys.argv[3:] or None
qrels, run = read_qrels_dict(qrels_path), read_run_dict(run_path)
scores, seconds = timed(lambda: evaluate(qrels, run, measures))
report(our_means(scores), seconds)
