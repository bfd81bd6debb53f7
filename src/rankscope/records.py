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
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial, reduce
from itertools import pairwise
from operator import getitem
from pathlib import Path, PurePath
from typing import Any, Generic, Literal, Self, TypeVar, dataclass_transform, get_type_hints

import msgspec

from rankscope.errors import OptionError, did_you_mean

AnyRecord = TypeVar("AnyRecord")
Value = TypeVar("Value")


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True):
    """A result: its values stay as they are, and two records of the same values are equal."""


class StoredRecord(Record):
    """A result that is kept: it is written as JSON, and read back equal."""

    def to_json(self) -> str:
        """Return the record as JSON, from which `from_json` makes an equal one."""
        return to_json(self, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the record that `to_json`, or the command with `--format json`, wrote."""
        return from_json(cls, text)


class Both(Record, Generic[Value]):
    """The same of both systems of a pair."""

    a: Value
    b: Value


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

    Ids and paths may hold bytes that are not text, which no file takes as they are: then, or with `ascii_only`,
    all characters beyond ASCII are written as escapes.
    """
    data = to_builtins(record)
    try:
        text = json.dumps(data, ensure_ascii=ascii_only, allow_nan=False).encode()
        # json itself would indent twenty times as slowly
        return (text if indent is None else msgspec.json.format(text, indent=indent)).decode()
    except (UnicodeEncodeError, msgspec.DecodeError):
        return json.dumps(data, indent=indent, allow_nan=False)


def from_json(kind: type[AnyRecord], text: str | bytes, *, where: str = "") -> AnyRecord:
    """Return the record that a JSON text holds; of another kind of record it is said which one it is."""
    before = f"{where}: " if where else ""
    name = kind.__name__.removesuffix("Record")
    try:
        data = json.loads(text, parse_float=finite_float, parse_constant=finite_float)
    except (ValueError, TypeError) as error:
        raise OptionError(f"{before}not JSON: {error}", hint=f"what is wanted is the JSON of {name}") from None
    except RecursionError:
        raise OptionError(f"{before}the values of its JSON are nested too deeply") from None
    found = kind_of_json(data)
    if found and found != name:
        raise OptionError(f"{before}this is the JSON of {found}, but what is wanted is that of {name}")
    return from_builtins(kind, data, where=where, wording=partial(_wording_of_kind, name))


KINDS_OF_JSON = {
    "WatchResult": {"rankscope", "watched", "opened"},
    "Comparison": {"rankscope", "primary", "groups"},
    "Benchmark": {"rankscope", "project", "collections"},
    "Diagnosis": {"rankscope", "is_fine", "findings"},
    "ValidationReport": {"rankscope", "findings", "files"},
    "Explanation": {"formula", "why_undefined", "steps"},
    "QueryPlan": {"alpha_per_comparison", "pairs"},
    "TargetsReport": {"rankscope", "targets", "results"},
    "GateResult": {"checks", "policy", "outcome"},
    "AgreementReport": {"rankscope", "task", "alpha", "verdicts"},
    "OpinionReport": {"rankscope", "task", "flags", "choices", "preferences"},
    "Scores": {"rankscope", "policies", "runs", "measures"},
}
"""The keys by which the JSON of a record that users keep is known; the first that has them all is it."""


def kind_of_json(data: Any) -> str:
    """Return the name of the record that data is the JSON of, empty where it is none that users keep."""
    keys = set(data) if isinstance(data, dict) else set()
    return next((name for name, known in KINDS_OF_JSON.items() if known <= keys), "")


def _wording_of_kind(name: str, misfit: Misfit, where: str) -> OptionError:
    """Say what was expected where data is no record of the kind at all."""
    if misfit.problem == "missing" and "." not in misfit.path:
        before = f"{where}: " if where else ""
        return OptionError(f"{before}this is not the JSON of {name}: there must be the key {misfit.key!r}")
    if not misfit.path:
        return OptionError(f"{where + ': ' if where else ''}this is not the JSON of {name}, which is a table")
    return default_wording(misfit, where)


def finite_float(text: str) -> float:
    """Read a number of JSON, which knows neither NaN nor infinity; null is what is undefined."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


class Misfit(Record):
    """What does not fit in data that a record was to be made of."""

    problem: Literal["unknown", "missing", "wrong", "other"]
    path: str
    """Where it is, e.g. `systems.bm25.k1`; for a missing key, where the key should be."""
    value: Any = None
    wanted: str = ""
    """What the value must be, in words; for `other`, all that is known."""
    about: str = ""
    """What the docstring of the field says."""
    known: tuple[str, ...] = ()
    """The keys that there may be."""

    @property
    def key(self) -> str:
        return self.path.rpartition(".")[2]


def default_wording(misfit: Misfit, where: str) -> OptionError:
    """Return an error that names the key and its value, what it must be, and for an unknown key the closest known."""
    before = f"{where}: " if where else ""
    parent = misfit.path.rpartition(".")[0]
    if misfit.problem == "unknown":
        inside = f" in {parent}" if parent else ""
        return OptionError(f"{before}unknown key {misfit.key!r}{inside}", hint=did_you_mean(misfit.key, misfit.known))
    if misfit.problem == "missing":
        return OptionError(f"{before}{parent + ' needs' if parent else 'there must be'} the key {misfit.key!r}")
    if misfit.problem == "wrong":
        return OptionError(f"{before}{misfit.path} is {misfit.value!r}, but it must be {misfit.wanted}")
    return OptionError(f"{before}{misfit.path + ': ' if misfit.path else ''}{misfit.wanted}")


def from_builtins(
    kind: type[AnyRecord],
    data: Any,
    *,
    where: str = "",
    wording: Callable[[Misfit, str], OptionError] = default_wording,
) -> AnyRecord:
    """Return the record that dicts, lists, texts and numbers hold; what does not fit is an error that says where."""
    try:
        # the keys of JSON are texts
        return msgspec.convert(data, kind, str_keys=True, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        raise wording(find_misfit(kind, data, error), where) from None


_WORDS = {
    "str": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def find_misfit(kind: type[Any], data: Any, error: msgspec.ValidationError) -> Misfit:
    """Return what msgspec complains of, with full paths, and in the words that the type itself has for it."""
    message, place = str(error), ""
    if found := re.fullmatch(r"(.*) - at (?:`key` in )?`\$\.?(.*?)`", message, re.DOTALL):
        message, place = found[1], found[2]
    steps = _full_steps(kind, data, re.findall(r"[^.\[\]]+|\.\.\.", place), complaint=str(error))
    problem: Any
    named = re.fullmatch(r"Object (contains unknown|missing required) field `(.+)`", message)
    owner, n_inside, words = _innermost_record(kind, [*steps, named[2]] if named else steps)
    if named and not (words and len(steps) > n_inside):
        problem = "unknown" if named[1].startswith("contains") else "missing"
        known = tuple(field.encode_name for field in msgspec.structs.fields(owner)) if owner else ()
        return Misfit(problem, _path_of([*steps, named[2]]), known=known)
    about = ""
    if owner and len(steps) > n_inside:
        names = {field.encode_name: field.name for field in msgspec.structs.fields(owner)}
        about = field_docs(owner).get(names.get(str(steps[n_inside]), ""), "")
    problem, wanted = "other", f"{message[:1].lower()}{message[1:]}"
    if words:
        problem, wanted, steps = "wrong", words, steps[: n_inside + 1]
    elif wrong := re.fullmatch(r"Expected `([^`]+)`(.*?)(?:, got `.*`)?", message):
        types = (_WORDS.get(name, name) for name in wrong[1].split(" | ") if name != "null")
        problem, wanted = "wrong", f"{' or '.join(types)}{wrong[2]}"
    return Misfit(problem, _path_of(steps), reduce(getitem, steps, data), wanted, about)


def _full_steps(kind: type[Any], data: Any, steps: list[str], *, complaint: str) -> list[str | int]:
    """Return the keys and positions that lead to a misfit; msgspec writes `[...]` for the key of a table.

    That key is the one with which alone the table leads to the same complaint.
    """
    found: list[str | int] = []
    for step in steps:
        inside = reduce(getitem, found, data)
        if step != "...":
            found.append(int(step) if isinstance(inside, list | tuple) else step)
            continue
        for key in inside:
            try:
                msgspec.convert(_with_value(data, found, {key: inside[key]}), kind, str_keys=True, dec_hook=_decoded)
            except msgspec.ValidationError as error:
                if str(error) == complaint:
                    found.append(key)
                    break
    return found


def _path_of(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _with_value(data: Any, steps: Sequence[str | int], value: Any) -> Any:
    if not steps:
        return value
    changed: Any = dict(data) if isinstance(data, dict) else list(data)
    changed[steps[0]] = _with_value(data[steps[0]], steps[1:], value)
    return changed


def _innermost_record(kind: Any, steps: Sequence[str | int]) -> tuple[type[Any] | None, int, str]:
    """Return the innermost record on a path, how many steps lead to it, and what its field on the path says it must be.

    A type says so in words by `Meta(extra={"words": "a whole number from 1 up"})`.
    """
    info: Any = msgspec.inspect.type_info(kind)
    owner, n_inside, words = None, 0, ""
    for i, step in enumerate(steps):
        info = _plain_type(info)
        if isinstance(info, msgspec.inspect.StructType):
            owner, n_inside, words = info.cls, i, ""
            field = next((field for field in info.fields if field.encode_name == step), None)
            if field is None:
                break
            words = _words_of(field.type)
            info = field.type
        else:
            info = getattr(info, "value_type", None) or getattr(info, "item_type", None)
    return owner, n_inside, words


def _plain_type(info: Any) -> Any:
    """Return a type without its annotations; of a union, the member that has fields or items."""
    while isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    if isinstance(info, msgspec.inspect.UnionType):
        kinds = [_plain_type(one) for one in info.types]
        parts = ("fields", "value_type", "item_type")
        return next((one for one in kinds if any(hasattr(one, part) for part in parts)), kinds[0])
    return info


def _words_of(info: Any) -> str:
    extra = getattr(info, "extra", None) or {}
    if isinstance(info, msgspec.inspect.UnionType):
        return next((words for one in info.types if (words := _words_of(one))), "")
    return str(extra.get("words", ""))


@cache
def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a record; what its docstrings say of the fields becomes their description.

    It describes what is written: a `Record` is written with all of its fields, and no others.
    """
    schema = msgspec.json.schema(kind, schema_hook=_schema_of)
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
    found: dict[str, str] = {}
    for parent in reversed(getattr(kind, "__origin__", kind).__mro__[:-1]):
        found |= _docs_in_module(parent.__module__).get(parent.__qualname__, {})
    return found


@cache
def _docs_in_module(name: str) -> dict[str, dict[str, str]]:
    """Return what is said below the fields of each class of a module, which is read once for all of them."""
    import ast  # only a schema needs these
    import inspect

    try:
        waiting: list[tuple[str, ast.AST]] = [("", ast.parse(inspect.getsource(sys.modules[name])))]
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, dict[str, str]] = {}
    while waiting:
        inside, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                found[f"{inside}{child.name}"] = _docs_in_class(child)
                waiting.append((f"{inside}{child.name}.", child))
            elif isinstance(child, ast.FunctionDef):
                waiting.append((f"{inside}{child.name}.<locals>.", child))
            elif isinstance(child, ast.stmt):
                waiting.append((inside, child))
    return found


def _docs_in_class(node: Any) -> dict[str, str]:
    import ast
    import inspect

    found: dict[str, str] = {}
    for field, after in pairwise(node.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
            text = after.value.value if isinstance(after.value, ast.Constant) else None
            if isinstance(text, str):
                found[field.target.id] = inspect.cleandoc(text)
    return found


def _records_in(kind: Any) -> list[type[Any]]:
    found: list[type[Any]] = []
    waiting: list[Any] = [msgspec.inspect.type_info(kind)]
    while waiting:
        info = waiting.pop()
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls not in found:
                found.append(info.cls)
                waiting += [field.type for field in info.fields]
        elif isinstance(info, msgspec.inspect.Type):
            inside = [getattr(info, name) for name in info.__struct_fields__]
            waiting += [inner for each in inside for inner in (each if isinstance(each, tuple) else [each])]
    return found


def as_clause(text: str) -> str:
    """Return what a docstring says in one line, to stand inside a sentence or behind a comment sign."""
    line = " ".join(text.split())
    return line[:1].lower() + line[1:].rstrip(".")


def _builtin_of(value: Any) -> Any:
    """Return a NumPy number or array as Python has it, a path as text, and a light record as its values by name."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "__record_fields__"):
        return {name: getattr(value, name) for name in value.__record_fields__}
    raise NotImplementedError(f"{type(value).__name__} cannot be written as JSON")


def _decoded(kind: Any, value: Any) -> Any:
    """Return a path from a text that is not empty, and a light record from its values by name."""
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    if not hasattr(kind, "__record_fields__") or not isinstance(value, dict):
        expected = "str" if kind is Path else "object" if isinstance(kind, type) else kind
        raise ValueError(f"Expected `{expected}`")
    types = get_type_hints(kind)
    return kind(**{name: msgspec.convert(each, types[name], dec_hook=_decoded) for name, each in value.items()})


def _schema_of(kind: Any) -> dict[str, Any]:
    if kind is Path:
        return {"type": "string", "minLength": 1}
    raise NotImplementedError(f"{kind} has no JSON schema")
