"""Rankscope from Python: evaluate both files with the default measures, print the means."""

from common import our_means, paths, report

import rankscope as rs

qrels_path, run_path = paths()
report(our_means(rs.evaluate(qrels_path, run_path)))
