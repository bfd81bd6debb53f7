"""From a run and qrels to hits: the one place where ids, ties, duplicates and missing queries are decided."""
