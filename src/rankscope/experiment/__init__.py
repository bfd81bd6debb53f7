"""Experiments: the project file, collections, splits, and the runner that asks systems and compares them."""
