"""Measures: each defined in one place, parsed by name, evaluated over hits."""
