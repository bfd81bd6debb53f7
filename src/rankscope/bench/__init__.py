"""Benchmarks: the project file, collections, splits, and the collection made of the Human Phenotype Ontology."""
