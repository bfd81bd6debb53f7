"""Options of systems: how they are declared, checked and described.

The fields of a class are its options, with their types and docstrings; nothing about them is written down twice.
Systems of ours are msgspec Structs; classes of users may be Structs or dataclasses.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import hashlib
import importlib
import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from rankscope.errors import OptionError, did_you_mean
from rankscope.systems.secrets import words_about
from rankscope.systems.working_directory import load_module

AtLeastZero = Annotated[float, Meta(ge=0)]
AboveZero = Annotated[float, Meta(gt=0)]
ZeroToOne = Annotated[float, Meta(ge=0, le=1)]
AtLeastOne = Annotated[int, Meta(ge=1)]
DocFields = Annotated[str | Sequence[str], Meta(extra={"doc_fields": True})]
"""Fields of docs; a single one may be given as it is, and becomes a tuple."""

SYSTEM = Meta(extra={"system": True})
"""Marks an option that holds another system, or several; in a project file their names stand there."""
NO_EFFECT = Meta(extra={"no_effect": True})
"""Marks an option that changes how fast or where something is done, never what comes out."""


class Option(msgspec.Struct, frozen=True):
    """One option of a kind of system."""

    field: str
    """The name of the attribute."""
    name: str
    """The name in a project file: Python keeps `lambda` for itself, so that field is called `lambda_`."""
    type: Any
    default: Any
    """The default, or MISSING where a value must be given."""
    marks: Mapping[str, Any]
    """What SYSTEM and NO_EFFECT say of it."""

    @property
    def is_system(self) -> bool:
        return bool(self.marks.get("system"))


class LoadError(OptionError):
    """A function, or the module that it is in, cannot be loaded."""


MISSING: Any = msgspec.NODEFAULT
_UNIONS = (Union, types.UnionType)


@cache
def options_in(kind: Any) -> Mapping[str, Option]:
    """Return the options of a class, a Struct or a dataclass, by the name they have in a project file."""
    is_struct = issubclass(kind, msgspec.Struct)
    hints = {} if is_struct else get_type_hints(kind, include_extras=True)
    found = {}
    fields: Iterable[Any] = msgspec.structs.fields(kind) if is_struct else dataclasses.fields(kind)
    for field in fields:
        if field.name == "name" or not (is_struct or field.init):
            continue
        name, wanted = field.name.rstrip("_"), hints.get(field.name)
        if is_struct:
            name, wanted = field.encode_name, field.type
        default = MISSING if field.default is dataclasses.MISSING else field.default
        if field.default_factory not in (MISSING, dataclasses.MISSING):
            default = field.default_factory()
        metas = (meta for meta in getattr(wanted, "__metadata__", ()) if isinstance(meta, Meta))
        marks = {key: value for meta in metas for key, value in (meta.extra or {}).items()}
        marks |= {} if is_struct else field.metadata
        found[name] = Option(field.name, name, wanted, default, marks)
    return found


def check_value(option: Option, value: Any) -> None:
    """Refuse a value that is not of the type of its option, or outside its limits; systems are not looked at."""
    if option.is_system:
        return
    problem = _problem(value.item() if isinstance(value, np.generic) else value, option.type)
    if not problem:
        return
    choices = [choice for part in _parts(option.type) if get_origin(part) is Literal for choice in get_args(part)]
    if choices and isinstance(value, str):
        check_choice(value, choices, what=option.name)
    if problem == "type":
        raise OptionError(f"{option.name} is {value!r}, but it must be {in_words(option.type)}")
    metas = (meta for part in (option.type, *_parts(option.type)) for meta in getattr(part, "__metadata__", ()))
    limits = next(meta for meta in metas if (meta.ge, meta.gt, meta.le) != (None, None, None))
    if limits.ge is not None and limits.le is not None:
        words = f"between {limits.ge:g} and {limits.le:g}"
    elif limits.gt is not None:
        words = f"above {limits.gt:g}"
    else:
        words = f"{limits.ge:g} or more" if limits.ge is not None else f"{limits.le:g} or less"
    raise OptionError(f"{option.name} is {value:g}, but it must be {words}")


def _problem(value: Any, wanted: Any) -> Literal["", "type", "limits"]:
    """Tell what is wrong with a value; unions that msgspec does not support are tried part by part."""
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return "limits" if re.match(r"Expected `(int|float)` [<>]=? [-\d.]+$", str(error)) else "type"
    except TypeError:
        parts = _parts(wanted)
        if parts == (wanted,):  # a type that only its owner understands
            return ""
        found = {_problem(value, part) for part in parts}
        return "" if "" in found else "limits" if "limits" in found else "type"
    return ""


def _parts(wanted: Any) -> tuple[Any, ...]:
    if get_origin(wanted) is Annotated and get_origin(get_args(wanted)[0]) in (*_UNIONS, Literal):
        wanted = get_args(wanted)[0]
    return get_args(wanted) if get_origin(wanted) in _UNIONS else (wanted,)


def in_words(wanted: Any) -> str:
    simple = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", type(None): ""}
    if wanted in simple:
        return simple[wanted]
    origin = get_origin(wanted)
    if origin is Annotated:
        return in_words(get_args(wanted)[0])
    if origin in _UNIONS:
        return " or ".join(dict.fromkeys(words for part in get_args(wanted) if (words := in_words(part))))
    if origin is collections.abc.Sequence:
        return "a list of " + {str: "texts", float: "numbers"}.get(get_args(wanted)[0], "values")
    if origin is collections.abc.Mapping:
        return "a table of texts" if get_args(wanted)[1] is str else "a table"
    if origin is Literal:
        return f"one of {', '.join(map(str, get_args(wanted)))}"
    return "a function" if origin is collections.abc.Callable else "a path"


def check_choice(value: object, choices: Iterable[str], *, what: str) -> None:
    listed = list(choices)
    if value not in listed:
        raise OptionError(f"{what} {value!r} is not one of {', '.join(listed)}", hint=did_you_mean(str(value), listed))


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; a function becomes module:function."""
    if hasattr(value, "describe"):
        return value.describe()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return f"{getattr(value, '__module__', '?')}:{getattr(value, '__qualname__', type(value).__qualname__)}"


def need(module: str, *, pip: str, why: str) -> Any:
    """Import a package that not every installation has, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OptionError(
            f"{why} needs the package {module}, which is not installed", hint=f"pip install {pip}"
        ) from error


def versions_of(*packages: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = dict.fromkeys(packages, "not installed")
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def load_function(target: str | Callable[..., Any], *, what: str) -> Callable[..., Any]:
    """Return the function that `package.module:function` names; a function is returned as it is."""
    if not isinstance(target, str):
        return target
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise OptionError(f"{what} {target!r} is not module:function", hint="for example my_package.search:rank")
    try:
        found: Any = load_module(module_name)
    except ImportError as error:
        raise LoadError(
            f"{what} {target!r}{words_about(target, f': {error}') or ' cannot be found'}",
            hint="is the module on PYTHONPATH, beside the project file, or in the current folder?",
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module does when it is loaded, sys.exit too
        from rankscope.systems.answers import reason_of

        raise LoadError(
            f"{what} {target!r}: loading {words_about(target, module_name) or 'it'} fails: {reason_of(error)}",
            hint=f"import {words_about(target, module_name) or 'the module'} in Python to see where",
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            problem = words_about(target, f": {module_name} has no {path}") or " is not there"
            raise LoadError(f"{what} {target!r}{problem}", hint=did_you_mean(part, dir(found)))
        found = getattr(found, part)
    if not callable(found):
        raise LoadError(f"{what} {target!r} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def source_hash(function: Callable[..., Any]) -> str:
    """Return the hash of the file that defines a function, so that a change is noticed; empty where there is none."""
    path = getattr(inspect.getmodule(function), "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path and Path(path).is_file() else ""
