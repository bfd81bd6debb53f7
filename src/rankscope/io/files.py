"""Whole files of text and JSON: read decompressed, written completely or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError, InputError
from rankscope.io.source import PathLike, source_of
from rankscope.io.write import open_target


def read_text(path: PathLike) -> str:
    return source_of(path).read().decode("utf-8", "surrogateescape")


def read_json(path: PathLike) -> Any:
    text = read_text(path)
    try:
        return json.loads(text)
    except ValueError as error:
        raise FormatError(f"{path} is not valid JSON: {error}", hint="was the file written completely?") from error


def make_folder(target: Path) -> None:
    """Make the folder; one that already holds something is not touched."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there already", hint="name a new or empty folder")
    target.mkdir(parents=True, exist_ok=True)


def write_jsonl(records: Iterable[Mapping[str, Any]], path: Path) -> None:
    write_text(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def write_text(path: Path, text: str) -> None:
    with open_target(str(path)) as stream:
        stream.write(text.encode("utf-8", "surrogateescape"))
