"""Which is better: a request, families of pairs, verdicts with their evidence, the record of the result."""
