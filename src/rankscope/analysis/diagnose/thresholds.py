"""From when on something is worth a word: every limit of the diagnosis, with its reason."""

from __future__ import annotations

LATE_RANK = 3
"""A first relevant doc below this rank is late: most readers look closely at about three results."""
SURE_TOP = 3
"""How many docs make the top of which one says that it is right; as above."""
SURE_SHARE = 2 / 3
"""The share of them that must be relevant: two of three, the doctor finder's example of good precision."""
LOW_RECALL = 0.6
"""Finding less than this share of the relevant docs at all is low: below it, two in five are out of anyone's reach."""
LOST_SHARE = 0.2
"""The share of the relevant docs that the top could hold, but that stand below it, from which on it is a loss.
One of five: for a query with ten or more relevant docs a single one that just misses the cut is noise."""
ORDER_LOSS = 0.2
"""How much nDCG the best order of the same top docs would add: 0.2 is what it costs to turn three docs of grades
3, 2 and 1 upside down."""
UNJUDGED_SHARE = 0.3
"""The unjudged share of the top from which on a query's score is unknown: were they all relevant, P@10 would be
0.3 higher, more than systems usually differ by."""
LOW_CEILING = 0.8
"""A candidate pool is a ceiling where even its best order stays below this nDCG, which band tables call very good."""
FEW_RELEVANT = 3
"""With fewer relevant docs than this a query's scores take only a few values, and one doc more or less decides."""
FEW_RELEVANT_SHARE = 0.2
"""The share of such queries from which on it is worth a remark."""
FEW_QUERIES = 50
"""Below this number of queries, means differ by chance more than systems do (Buckley & Voorhees, SIGIR 2000)."""
REDUNDANT_SHARE = 0.2
"""From two near-repeats in a top ten on, a reader notices, and places are lost for something new."""
SMALLEST_SLICE = 5
"""Fewer queries of one value are too few to be tested against the others."""
MANY_VALUES = 20
"""An attribute with more values than this is no division of the queries unless it is asked for."""
LOWER_SLICE = 0.1
"""How much lower than that of the others a slice's nDCG is to be worth a word: band tables go in steps of 0.1 or 0.2."""
SLICE_ALPHA = 0.05
"""The chance of a false alarm, controlled over all slices."""
SERIOUS_SHARE = 0.2
"""Where one query in five is concerned, it shapes the mean."""
MODERATE_SHARE = 0.05
"""Below one query in twenty a finding is a remark: worth knowing, not worth a plan."""
N_EXAMPLES = 3
N_WORST = 5
"""How many of the worst queries are shown with their docs."""
N_BEST = 3
N_MISSED = 5
"""How many of the relevant docs that a shown query lacks are named."""
