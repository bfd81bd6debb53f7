"""ir_measures on pandas DataFrames, the tables it takes; only the evaluation counts."""

import ir_measures
from columns import QRELS_COLUMNS, RUN_COLUMNS, read_pandas
from common import PYTREC_MEASURES, paths, report, timed

qrels_path, run_path = paths()
measures = [ir_measures.parse_measure(name) for name in PYTREC_MEASURES.values()]
qrels, run = read_pandas(qrels_path, QRELS_COLUMNS), read_pandas(run_path, RUN_COLUMNS)
means, seconds = timed(lambda: ir_measures.calc_aggregate(measures, qrels, run))
report({str(measure): value for measure, value in means.items()}, seconds)
