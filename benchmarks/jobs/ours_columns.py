"""Rankscope on a table of polars, pyarrow or pandas (the third argument); only the evaluation counts."""

import sys

from columns import QRELS_COLUMNS, READERS, RUN_COLUMNS
from common import our_means, paths, report, timed

from rankscope import evaluate

qrels_path, run_path = paths()
read = READERS[sys.argv[3]]
qrels, run = read(qrels_path, QRELS_COLUMNS), read(run_path, RUN_COLUMNS)
scores, seconds = timed(lambda: evaluate(qrels, run))
report(our_means(scores), seconds)
