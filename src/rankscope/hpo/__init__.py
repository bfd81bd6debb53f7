"""The HPO benchmark: finding terms of the Human Phenotype Ontology."""
