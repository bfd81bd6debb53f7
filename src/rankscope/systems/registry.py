"""The registry: from the type and options of a project file to a system.

The options of a system are the fields of its class, with their types; nothing about them is written down twice. A class
is imported when its type is asked for.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import os
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from rankscope.errors import OptionError, did_you_mean
from rankscope.systems.base import System
from rankscope.systems.options import load_function

TYPES = {
    "bm25": "rankscope.systems.bm25:BM25",
    "dense": "rankscope.systems.dense:Dense",
    "hybrid": "rankscope.systems.hybrid:Hybrid",
    "mmr": "rankscope.systems.diversify:MMR",
    "dartboard": "rankscope.systems.diversify:Dartboard",
    "rerank": "rankscope.systems.rerank:Rerank",
    "expand": "rankscope.systems.expand:Expand",
    "python": "rankscope.systems.function:PythonFunction",
    "run": "rankscope.systems.run_file:RunFile",
    "http": "rankscope.systems.http:Http",
    "elasticsearch": "rankscope.systems.elasticsearch:Elasticsearch",
    "opensearch": "rankscope.systems.elasticsearch:OpenSearch",
    "command": "rankscope.systems.command:Command",
}
"""The types of systems, and the classes that make them; `package.module:Class` is a type too."""

Resolve = Callable[[str], System]


def make_system(
    type: str,  # noqa: A002 (as it is called in a project file)
    options: Mapping[str, Any],
    *,
    name: str = "",
    resolve: Resolve | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> System:
    """Return a system of a type.

    `resolve` turns the name of another system, as in `of = ["bm25", "dense"]`, into that system. `cache` is the folder
    for what takes long to compute; systems that keep nothing ignore it.
    """
    check_options(type, options)
    kind = class_of(type)
    known = fields_of(kind)
    given = {field_name(option): value for option, value in options.items()}
    for field_, value in given.items():
        if known[field_].metadata.get("system"):
            given[field_] = resolved(value, resolve, where=field_)
    if cache is not None and "cache" in known:
        given.setdefault("cache", Path(cache))
    made: System = kind(**given, **({"name": name} if name else {}))
    return made


def check_options(type: str, options: Mapping[str, Any], *, where: str = "") -> None:  # noqa: A002 (as above)
    """Refuse options that a type does not have, lacks, or that are not of the kind they should be."""
    before = f"{where}: " if where else ""
    kind = class_of(type, where=where)
    known = fields_of(kind)
    hints = get_type_hints(kind)
    for option, value in options.items():
        if field_name(option) not in known:
            hint = did_you_mean(option, option_names(type)) or f"{type} has {', '.join(option_names(type))}"
            raise OptionError(f"{before}{type} has no option {option!r}", hint=hint)
        wanted = hints[field_name(option)]
        if not known[field_name(option)].metadata.get("system") and not fits(value, wanted):
            raise OptionError(f"{before}{option} is {value!r}, but it must be {in_words(wanted)}")
    missing = [option for option in needed(known) if option not in options]
    if missing:
        raise OptionError(f"{before}{type} needs the option {missing[0]!r}", hint=explanation(kind, missing[0]))


def option_names(type: str) -> tuple[str, ...]:  # noqa: A002 (as above)
    """Return the options of a type, as they are written in a project file."""
    return tuple(option_name(field_) for field_ in fields_of(class_of(type)))


def system_names_in(type: str, options: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: A002 (as above)
    """Return the names of other systems that options refer to."""
    known = fields_of(class_of(type))
    held = [options[option_name(name)] for name, field_ in known.items()
            if field_.metadata.get("system") and option_name(name) in options]  # fmt: skip
    return tuple(
        name for value in held for name in ([value] if isinstance(value, str) else value) if isinstance(name, str)
    )


def class_of(type: str, *, where: str = "") -> Any:  # noqa: A002 (as above)
    """Return the class of a type."""
    if type not in TYPES and ":" not in type:
        hint = did_you_mean(type, TYPES) or f"there are {', '.join(TYPES)}, and package.module:Class"
        raise OptionError(f"{where + ': ' if where else ''}there is no system of type {type!r}", hint=hint)
    kind = load_function(TYPES.get(type, type), what="the system type")
    if not dataclasses.is_dataclass(kind):
        raise OptionError(
            f"the system type {type!r} is no dataclass", hint="its fields are its options: decorate it with @dataclass"
        )
    return kind


def fields_of(kind: Any) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a class that are options."""
    return {field_.name: field_ for field_ in dataclasses.fields(kind) if field_.init and field_.name != "name"}


def needed(known: Mapping[str, dataclasses.Field[Any]]) -> Iterator[str]:
    """Yield the options that have no default."""
    nothing = dataclasses.MISSING
    for name, field_ in known.items():
        if field_.default is nothing and field_.default_factory is nothing:
            yield option_name(name)


def field_name(option: str) -> str:
    """Return the field of an option; Python keeps `lambda` for itself, so its field has an underscore behind it."""
    return "lambda_" if option == "lambda" else option


def option_name(field_: str) -> str:
    """Return the option of a field."""
    return field_.rstrip("_")


def resolved(value: Any, resolve: Resolve | None, *, where: str) -> Any:
    """Return the systems that names stand for; systems stay as they are."""
    if isinstance(value, list | tuple):
        return [resolved(each, resolve, where=where) for each in value]
    if not isinstance(value, str):
        return value
    if resolve is None:
        raise OptionError(f"{where} names the system {value!r}, and no systems are known by name here")
    return resolve(value)


def explanation(kind: Any, option: str) -> str:
    """Return what the class says an option is, in its source; empty where that cannot be read."""
    import inspect
    import re

    for parent in kind.__mro__[:-1]:
        try:
            source = inspect.getsource(parent)
        except (OSError, TypeError):
            continue
        found = re.search(rf'^    {field_name(option)}: .*\n    """(.*)"""$', source, re.MULTILINE)
        if found:
            return found[1]
    return ""


def fits(value: Any, wanted: Any) -> bool:
    """Tell whether a value is of the kind that a field is annotated with."""
    if wanted is Any:
        return True
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in get_args(wanted))
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is collections.abc.Sequence:
        entries = get_args(wanted)[0]
        return isinstance(value, list | tuple) and all(fits(entry, entries) for entry in value)
    if origin is collections.abc.Callable:
        return callable(value)
    plain = origin or wanted
    return isinstance(value, plain) if isinstance(plain, type) else True


def in_words(wanted: Any) -> str:
    """Return a kind of value in plain words."""
    simple = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", type(None): ""}
    if wanted in simple:
        return simple[wanted]
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(words for one in get_args(wanted) if (words := in_words(one))))
    if origin is collections.abc.Sequence:
        return "a list of " + {str: "texts", float: "numbers"}.get(get_args(wanted)[0], "values")
    if origin is collections.abc.Mapping:
        return "a table"
    return "a function" if origin is collections.abc.Callable else "a path"
