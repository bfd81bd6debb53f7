"""One run or one pair of runs looked at closely: explain, diagnose, validate, targets, unjudged docs, movement."""
