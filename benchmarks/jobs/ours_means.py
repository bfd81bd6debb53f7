"""Rankscope with the conventions of pytrec_eval: the means that must agree before anything is timed."""

from common import PYTREC_MEASURES, our_means, paths, report

import rankscope as rs

qrels_path, run_path = paths()
measures = list(PYTREC_MEASURES.values())
report(our_means(rs.evaluate(qrels_path, run_path, measures, profile="trec_eval-9", missing="zero")))
