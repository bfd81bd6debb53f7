"""pytrec_eval on dicts of dicts; only the evaluation counts. Further arguments are its measures."""

import sys

import pytrec_eval
from common import PYTREC_MEASURES, paths, pytrec_means, read_qrels_dict, read_run_dict, report, timed

qrels_path, run_path = paths()
measures = set(sys.argv[3:] or PYTREC_MEASURES)
qrels, run = read_qrels_dict(qrels_path), read_run_dict(run_path)
scores, seconds = timed(lambda: pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run))
report(pytrec_means(scores), seconds)
