"""Records that are stored and sent: one msgspec Struct each, from which JSON, schema, decoding and checks follow.

Whatever is not on the path of a plain `evaluate` uses these; that path uses `rankscope.light`, as importing msgspec
takes a good part of a small evaluation. There is no third kind of record.

A number that may be undefined is `float | None` in a record: None is written as null, read back as None, and equal to
itself, which NaN is not. Sequences are tuples. So a record that is written and read back equals the one it was.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import msgspec

from rankscope.errors import OptionError, did_you_mean

AnyRecord = TypeVar("AnyRecord")


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True):
    """A result: its values stay as they are, and two records of the same values are equal."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody asks for, from a command line, a project file, Python keywords or an HTTP body."""


replace = msgspec.structs.replace


def or_none(number: float | None) -> float | None:
    """Return a number as records hold it: None where it is NaN or infinite."""
    return number if number is not None and math.isfinite(number) else None


def or_nan(number: float | None) -> float:
    """Return a number of a record to calculate with: NaN where it is None."""
    return math.nan if number is None else number


def to_builtins(record: Any) -> Any:
    """Return a record as dicts, lists, texts and numbers."""
    return msgspec.to_builtins(record, enc_hook=_builtin_of)


def to_json(record: Any, *, indent: int | None = 2, ascii_only: bool = False) -> str:
    """Return a record as JSON; NaN and infinity are refused, as JSON has neither.

    `ascii_only` writes all other characters as escapes: for ids and paths that may hold bytes that are not text.
    """
    return json.dumps(to_builtins(record), indent=indent, ensure_ascii=ascii_only, allow_nan=False)


def from_json(kind: type[AnyRecord], text: str | bytes, *, where: str = "") -> AnyRecord:
    """Return the record that JSON holds."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise OptionError(f"{where + ': ' if where else ''}not JSON: {error}") from None
    return from_builtins(kind, data, where=where)


def from_builtins(kind: type[AnyRecord], data: Any, *, where: str = "") -> AnyRecord:
    """Return the record that dicts, lists, texts and numbers hold; what does not fit is an error that says where."""
    try:
        # the keys of JSON are texts
        return msgspec.convert(data, kind, str_keys=True, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        raise in_our_words(kind, data, error, where) from None


_WORDS = {
    "str": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def in_our_words(kind: type[Any], data: Any, error: msgspec.ValidationError, where: str) -> OptionError:
    """Return an error that names the key and its value, what it must be, and for an unknown key the closest known."""
    message, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").removeprefix(".")
    before = f"{where}: " if where else ""
    if unknown := re.fullmatch(r"Object contains unknown field `(.+)`", message):
        inside = f" in {path}" if path else ""
        return OptionError(f"{before}unknown key {unknown[1]!r}{inside}", hint=did_you_mean(unknown[1], _keys(kind)))
    if missing := re.fullmatch(r"Object missing required field `(.+)`", message):
        return OptionError(f"{before}{path + ' needs' if path else 'there must be'} the key {missing[1]!r}")
    if wrong := re.fullmatch(r"Expected `([^`]+)`(.*?)(?:, got `.*`)?", message):
        wanted = " or ".join(_WORDS.get(name, name) for name in wrong[1].split(" | ") if name != "null")
        return OptionError(f"{before}{path} is {_value_at(data, path)!r}, but it must be {wanted}{wrong[2]}")
    return OptionError(f"{before}{path + ': ' if path else ''}{message[:1].lower()}{message[1:]}")


def _value_at(data: Any, path: str) -> Any:
    """Return what lies at a path such as systems.bm25[0]; `[...]` stands for a key that msgspec does not name."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]", path):
        if index == "...":
            return data
        data = data[int(index)] if index else data[name]
    return data


@cache
def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a record; what its docstrings say of the fields becomes their description.

    It describes what is written: a `Record` is written with all of its fields, and no others.
    """
    schema = msgspec.json.schema(kind)
    for record in _records_in(kind):
        definition = schema.get("$defs", {}).get(record.__name__, {})
        properties = definition.get("properties", {})
        texts = field_docs(record)
        for field in msgspec.structs.fields(record):
            if field.encode_name in properties and field.name in texts:
                properties[field.encode_name].setdefault("description", texts[field.name])
        if issubclass(getattr(record, "__origin__", record), Record):
            definition.update(required=list(properties), additionalProperties=False)
    return schema


def inline_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its definitions where they are used, so that it can be part of another one."""
    definitions = schema.get("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(item) for item in part]
        if not isinstance(part, dict):
            return part
        more = {name: inline(value) for name, value in part.items() if name not in ("$ref", "$defs")}
        if "$ref" not in part:
            return more
        return {**inline(definitions[part["$ref"].rpartition("/")[2]]), **more}

    inlined: dict[str, Any] = inline(schema)
    return inlined


def field_docs(kind: type[Any]) -> dict[str, str]:
    """Return what the string below each field of a class says of it; empty where the source cannot be read."""
    import ast  # only a schema needs these
    import inspect
    import textwrap

    found: dict[str, str] = {}
    for parent in reversed(getattr(kind, "__origin__", kind).__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(parent)))
        except (OSError, TypeError, SyntaxError):
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, after in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                text = after.value.value if isinstance(after.value, ast.Constant) else None
                if isinstance(text, str):
                    found[field.target.id] = inspect.cleandoc(text)
    return found


def _records_in(kind: Any) -> list[type[Any]]:
    """Return all record types that a type consists of."""
    found: dict[type[Any], None] = {}

    def visit(info: Any) -> None:
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in found:
                return
            found[info.cls] = None
            for field in info.fields:
                visit(field.type)
        for name in ("item_type", "key_type", "value_type", "type"):
            if isinstance(inner := getattr(info, name, None), msgspec.inspect.Type):
                visit(inner)
        for several in ("types", "item_types"):
            for inner in getattr(info, several, ()):
                visit(inner)

    visit(msgspec.inspect.type_info(kind))
    return list(found)


def _keys(kind: Any) -> list[str]:
    return [field.encode_name for record in _records_in(kind) for field in msgspec.structs.fields(record)]


def _builtin_of(value: Any) -> Any:
    """Return a NumPy number or array as Python has it, and a light record as its values by name."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__record_fields__"):
        return {name: getattr(value, name) for name in value.__record_fields__}
    raise NotImplementedError(f"{type(value).__name__} cannot be written as JSON")


def _decoded(kind: Any, value: Any) -> Any:
    """Return a light record from its values by name."""
    if not hasattr(kind, "__record_fields__") or not isinstance(value, dict):
        raise ValueError(f"Expected `{'object' if isinstance(kind, type) else kind}`")
    types = get_type_hints(kind)
    return kind(**{name: msgspec.convert(each, types[name], dec_hook=_decoded) for name, each in value.items()})
