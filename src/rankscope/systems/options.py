"""Options of systems: what they may be, what they are, and the packages that some of them need."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rankscope.errors import OptionError, did_you_mean
from rankscope.systems.working_directory import load_module

SYSTEM: Mapping[str, Any] = {"system": True}
"""Marks a field of a system that holds another system, or several; in a project file their names stand there."""
NO_EFFECT: Mapping[str, Any] = {"no_effect": True}
"""Marks an option that changes how fast or where something is done, never what comes out."""


def need(module: str, *, pip: str, why: str) -> Any:
    """Import a package that not every installation has, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OptionError(f"{why} needs the package {module}, which is not installed", hint=f"pip install {pip}") from (
            error
        )


def versions_of(*packages: str) -> dict[str, str]:
    """Return the installed versions of packages."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def load_function(target: str, *, what: str) -> Callable[..., Any]:
    """Return the function that `package.module:function` names."""
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise OptionError(f"{what} {target!r} is not module:function", hint="for example my_package.search:rank")
    try:
        found: Any = load_module(module_name)
    except ImportError as error:
        raise OptionError(
            f"{what} {target!r}: {error}", hint="is the module on PYTHONPATH, or in the current folder?"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise OptionError(f"{what} {target!r}: {module_name} has no {path}", hint=did_you_mean(part, dir(found)))
        found = getattr(found, part)
    if not callable(found):
        raise OptionError(f"{what} {target!r} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


def source_hash(function: Callable[..., Any]) -> str:
    """Return the hash of the file that defines a function, so that a change is noticed; empty where there is none."""
    path = getattr(inspect.getmodule(function), "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path and Path(path).is_file() else ""


def check_choice(value: object, choices: Iterable[str], *, what: str) -> None:
    """Refuse a word that is not one of some."""
    listed = list(choices)
    if value not in listed:
        raise OptionError(f"{what} {value!r} is not one of {', '.join(listed)}", hint=did_you_mean(str(value), listed))


def check_range(value: float, *, what: str, low: float | None = None, high: float | None = None) -> None:
    """Refuse a number outside a range; its ends belong to it."""
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        raise OptionError(f"{what} is {value:g}, but it must be {range_in_words(low, high)}")


def range_in_words(low: float | None, high: float | None) -> str:
    """Return a range as one says it."""
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    return f"{low:g} or more" if low is not None else f"{high:g} or less"


def check_fields(fields: Iterable[str]) -> tuple[str, ...]:
    """Return the fields of docs to search; a single one may be given as it is."""
    listed = (fields,) if isinstance(fields, str) else tuple(fields)
    if not listed:
        raise OptionError("no field of the docs is to be searched", hint='for example fields = ["title", "text"]')
    return listed


def options_of(system: Any) -> dict[str, Any]:
    """Return the options of a system as plain data, those that change no result left out, systems described."""
    return {
        option.name: plain(getattr(system, option.name))
        for option in dataclasses.fields(system)
        if option.init and option.name != "name" and not option.metadata.get("no_effect")
    }


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if hasattr(value, "describe"):
        return value.describe()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float | bool) else function_name(value)


def function_name(value: Any) -> str:
    """Return module:function for a function that was given as it is."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '?')}:{name}"
