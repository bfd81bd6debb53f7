"""The names of similarities between terms of an ontology, apart from their computation, which takes long to load."""

SIMILARITIES = ("lin", "resnik", "jc", "rel", "phentrieve_hybrid", "phentrieve_simple")
INFORMATION = ("graph", "annotations")
"""Where information content can come from."""
