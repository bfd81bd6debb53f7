"""What users give: runs, qrels, queries, docs, embeddings, an ontology, from files or from memory."""
