"""What is odd about qrels and runs, found without scoring: one small function per check.

Rows are looked at as they were read, since what is wrong with them may be what `Qrels` and `Run` refuse. There are
checks of either file (`either`), of the qrels (`qrels`), of one run (`run`), of one run against the qrels (`pair`, with
`near_ids`), and of all runs together (`order`); `validate` makes them all. `tables` holds what they look at, `finding`
what they return.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from rankscope.align.finding import LEVELS, Finding
from rankscope.analysis.validate.either import EITHER_CHECKS
from rankscope.analysis.validate.finding import malformed_lines, worst_first
from rankscope.analysis.validate.order import inverted_order
from rankscope.analysis.validate.pair import PAIR_CHECKS
from rankscope.analysis.validate.qrels import QRELS_CHECKS
from rankscope.analysis.validate.run import RUN_CHECKS
from rankscope.analysis.validate.tables import match, qrels_table, run_table
from rankscope.io.rows import QrelsRows, RunRows

__all__ = ["LEVELS", "Finding", "malformed_lines", "validate", "worst_first"]


def validate(
    qrels_rows: QrelsRows, run_rows: Mapping[str, RunRows], *, qrels_name: str = "qrels"
) -> tuple[Finding, ...]:
    """Return what is odd about the qrels, about each run by its name, and about how they fit: worst first for each."""
    qrels = qrels_table(qrels_name, qrels_rows)
    runs = [run_table(name, rows) for name, rows in run_rows.items()]
    pairs = [match(qrels, run) for run in runs if len(qrels.rows) and len(run.rows)]
    found = chain(
        (finding for check in (*QRELS_CHECKS, *EITHER_CHECKS) for finding in check(qrels)),
        (finding for run in runs for check in (*RUN_CHECKS, *EITHER_CHECKS) for finding in check(run)),
        (finding for pair in pairs for check in PAIR_CHECKS for finding in check(pair)),
        inverted_order(pairs),
    )
    return worst_first(found, [qrels_name, *run_rows])
