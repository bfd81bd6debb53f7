"""The state of a page as an address, and back: every option of a page is a parameter of its URL."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

import msgspec

from rankscope.errors import OptionError
from rankscope.records import Options, replace

Asked = TypeVar("Asked", bound=Options)
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
        if not values:
            continue
        given[field.encode_name] = values if is_list(field.type) else values[-1]
    try:
        asked = msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise OptionError(f"the address asks for what cannot be: {error}", hint="follow a link of the page") from None
    except UnicodeEncodeError:  # msgspec turns texts to numbers by their bytes
        raise OptionError("the address has a text where a number must be", hint="follow a link of the page") from None
    for value in (one for each in msgspec.structs.astuple(asked) for one in several(each)):
        if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
            raise OptionError("the address has a number that is too large", hint="follow a link of the page")
    return asked


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
