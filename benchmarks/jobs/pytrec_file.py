"""pytrec_eval, as its documentation shows it: load both files, evaluate, print the means."""

from pathlib import Path

import pytrec_eval
from common import PYTREC_MEASURES, paths, pytrec_means, report

qrels_path, run_path = paths()
with Path(qrels_path).open() as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with Path(run_path).open() as lines:
    run = pytrec_eval.parse_run(lines)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(PYTREC_MEASURES))
report(pytrec_means(evaluator.evaluate(run)))
