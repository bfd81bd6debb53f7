"""Checking files of test cases, for the commands that do so."""

from __future__ import annotations

import json

FOUND_SOMETHING = 1


def check_test_cases(path: str, *, as_json: bool) -> int:
    """Check a file of test cases against its schema, print every problem, and return the exit code."""
    from rankscope.io.files import read_json
    from rankscope.predecessors.importers import problems_of
    from rankscope.records import to_builtins

    problems = problems_of(read_json(path))
    if as_json:
        print(json.dumps([to_builtins(problem) for problem in problems], indent=1, ensure_ascii=False))
    else:
        for problem in problems:
            print(f"{path}: {problem}")
        print(f"{path}: {len(problems)} problems" if problems else f"{path}: a valid test-case file")
    return FOUND_SOMETHING if problems else 0
