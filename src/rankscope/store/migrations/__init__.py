"""Migrations of the store, forward only; one file each in versions."""
