"""The state of a page as an address, and back: every option of a page is a parameter of its URL."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import msgspec
from msgspec import inspect

from rankscope.errors import OptionError
from rankscope.records import Options, replace

Asked = TypeVar("Asked", bound=Options)
DECIMAL_COMMA = re.compile(r"^(\s*[+-]?\d*),(\d+\s*)$")
LARGEST_NUMBER = 2**53
"""Databases take no larger ones, and browsers do not know them exactly."""


def encode(value: object) -> str:
    """Return a value as it stands in an address; ids may hold bytes that are not text, and halves of characters."""
    return quote(as_text(value).encode("utf-8", "surrogatepass"), safe="@:,~")


def as_text(value: object) -> str:
    return {True: "1", False: "0"}[value] if isinstance(value, bool) else str(value)


def address(path: str, asked: Options | None = None, /, **changes: object) -> str:
    """Return the address of a page in a state; what is as it is by default is left out."""
    if asked is None:
        known = {name: value for name, value in changes.items() if value is not None}
        given = [(name, as_text(each)) for name, value in known.items() for each in several(value)]
    else:
        given = state_without(replace(asked, **changes))
    pairs = [f"{name}={encode(text)}" for name, text in given]
    return path + (f"?{'&'.join(pairs)}" if pairs else "")


fields_of = cache(msgspec.structs.fields)
"""The fields of a kind of options; msgspec reads its annotations again each time."""


def state_without(asked: Options, *names: str) -> list[tuple[str, str]]:
    """Return the state of a page as names and values, such as of hidden fields of a form that changes other ones."""
    return [
        (field.name, as_text(each))
        for field in fields_of(type(asked))
        if field.name not in names and getattr(asked, field.name) != default_of(field)
        for each in several(getattr(asked, field.name))
    ]


def several(value: object) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def options_in(kind: type[Asked], query_string: str) -> Asked:
    """Return the options that an address holds; a parameter that is empty counts as not given, others are left alone.

    Raises
    ------
    OptionError
        A value is not what the option must be.
    """
    pairs = parameters_in(query_string)
    given: dict[str, Any] = {}
    for field in fields_of(kind):
        values = [value for name, value in pairs if name == field.encode_name]
        if values:
            given[field.encode_name] = one_value(field, values if is_list(field.type) else values[-1])
        elif field.required:
            raise OptionError(f"{field.encode_name} is missing", hint="fill it in, and send it again")
    return msgspec.convert(given, kind)


def one_value(field: msgspec.structs.FieldInfo, text: str | list[str]) -> Any:
    """Return a value of an option by what an address or a form says; a comma may stand for the point of a decimal."""
    kinds = kinds_of(field.type)
    if isinstance(text, str) and any(isinstance(one, inspect.FloatType) for one in kinds):
        text = DECIMAL_COMMA.sub(r"\1.\2", text)
    try:
        value = msgspec.convert(text, field.type, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError):  # msgspec turns texts to numbers by their bytes
        must = next((words for words in map(must_be, kinds) if words), "something else")
        raise OptionError(f"{field.encode_name} must be {must}", hint="correct it, and try again") from None
    if any(isinstance(one, int) and abs(one) > LARGEST_NUMBER for one in several(value)):
        raise OptionError(f"{field.encode_name} is too large a number", hint="correct it, and try again")
    return value


def kinds_of(kind: Any) -> tuple[inspect.Type, ...]:
    """Return what an option may be: of several kinds each, of a list what is in it."""
    known = inspect.type_info(kind)
    each = known.types if isinstance(known, inspect.UnionType) else (known,)
    return tuple(one.item_type if isinstance(one, inspect.VarTupleType) else one for one in each)


def must_be(kind: inspect.Type) -> str:
    """Say what a value must be; empty where any text will do."""
    match kind:
        case inspect.BoolType():
            return "1 or 0"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, kind.values))}"
        case inspect.IntType(ge=least, le=most) if least is not None and most is not None:
            return f"a whole number from {least:,} to {most:,}"
        case inspect.IntType(ge=least):
            return "a whole number, such as 10" if least is None else f"a whole number of {least} or more"
        case inspect.FloatType(ge=least):
            return "a number, such as 0.05" if least is None else f"a number of {least:g} or more, such as 0.05"
    return ""


def parameters_in(query_string: str, *, keep_blank_values: bool = False) -> list[tuple[str, str]]:
    """Return the names and values of an address or a form, as `encode` has written them; any bytes can be read."""
    pairs = parse_qsl(query_string, encoding="latin-1", keep_blank_values=keep_blank_values)
    return [(decode(name), decode(value)) for name, value in pairs]


def decode(text: str) -> str:
    """Return the text that bytes stand for, given as Latin-1."""
    content = text.encode("latin-1", "replace")
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return content.decode("utf-8", "surrogateescape")


def is_list(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) in (tuple, list)
