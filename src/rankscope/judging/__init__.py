"""Judging: tasks for raters, what they say, what becomes of it, and how far they agree."""
