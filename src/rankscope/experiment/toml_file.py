"""TOML files as they are read: text in UTF-8, and values that are not nested too deeply."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError
from rankscope.io.source import missing

DEEPEST = 50
"""Tables and lists in one another that no file of ours has."""


def read_text(file: Path) -> str:
    if not file.exists():
        raise missing(file)
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8 text: {error}", hint="save it as UTF-8") from error


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    try:
        record = tomllib.loads(text)
    except RecursionError as error:
        raise too_deep(file) from error
    except ValueError as error:  # also a number of thousands of digits
        raise FormatError(
            f"{file} is not valid TOML: {error}", hint='texts stand in quotes: path = "scifact"'
        ) from error
    level: list[Any] = [record]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in values_in(value)]
    if level:
        raise too_deep(file)
    return record


def values_in(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def too_deep(file: Path) -> FormatError:
    return FormatError(f"{file} cannot be read: its values are nested too deeply", hint="is it the right file?")
