"""Whole files of text and JSON: read decompressed, written completely or not at all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError, InputError
from rankscope.io.addresses import shown_url
from rankscope.io.source import PathLike, source_of
from rankscope.io.write import open_target


def read_text(path: PathLike) -> str:
    return source_of(path).read().decode("utf-8", "surrogateescape")


def read_json(path: PathLike, *, keys_once: bool = False) -> Any:
    return parse_json(read_text(path), where=shown_url(str(path)), keys_once=keys_once)


def parse_json(
    text: str | bytes, *, where: str, hint: str = "was the file written completely?", keys_once: bool = False
) -> Any:
    """Return what JSON holds, or raise why it cannot be read: damaged, nested too deeply, or not text at all.

    With `keys_once` an object that has a key twice is refused; else the last one counts.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise FormatError(f"{where}: {json.dumps(twice, ensure_ascii=False)} is there twice in one object")
        return found

    try:
        content = text.decode("utf-8-sig", "surrogateescape") if isinstance(text, bytes) else text
        return json.loads(content, object_pairs_hook=unique if keys_once else None)
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(f"{where} is not valid JSON: {error}", hint=hint) from error
    except RecursionError as error:
        raise FormatError(f"{where} cannot be read: its values are nested too deeply", hint=hint) from error


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
