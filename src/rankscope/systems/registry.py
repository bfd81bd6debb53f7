"""The registry: from the type and options of a project file to a system.

To add a type, write its file and one line here. Other packages add theirs through the entry point `rankscope.systems`;
`package.module:Class` is a type without any registration. A class is imported when its type is asked for.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rankscope.errors import OptionError, did_you_mean
from rankscope.records import field_docs
from rankscope.registry import Entry, Registry
from rankscope.systems.base import OptionSystem, System
from rankscope.systems.options import MISSING, check_value, load_function, options_in

SYSTEMS: Registry[type[System]] = Registry(
    "system of type",
    {
        "bm25": Entry("rankscope.systems.bm25:BM25", "by words; a baseline that is hard to beat"),
        "dense": Entry(
            "rankscope.systems.dense:Dense",
            "by meaning, with the embedded model (English); for others see docs/systems.md",
        ),
        "hybrid": Entry("rankscope.systems.hybrid:Hybrid", "several systems as one, by reciprocal rank fusion"),
        "mmr": Entry(
            "rankscope.systems.diversify:MMR", "fewer near-duplicates among the first docs (maximal marginal relevance)"
        ),
        "dartboard": Entry(
            "rankscope.systems.diversify:Dartboard", "fewer near-duplicates, by relevant information gain"
        ),
        "rerank": Entry("rankscope.systems.rerank:Rerank", "the first docs of a system, scored again by your function"),
        "expand": Entry(
            "rankscope.systems.expansion:Expand", "terms, anchor phrases and negative terms added to queries"
        ),
        "python": Entry("rankscope.systems.function:PythonFunction", "your function, plain or async"),
        "run": Entry("rankscope.systems.run_file:RunFileSystem", "an existing run file"),
        "http": Entry("rankscope.systems.http:Http", "any search that answers over HTTP with JSON"),
        "elasticsearch": Entry("rankscope.systems.elasticsearch:Elasticsearch", "an index of Elasticsearch"),
        "opensearch": Entry("rankscope.systems.elasticsearch:OpenSearch", "an index of OpenSearch"),
        "command": Entry("rankscope.systems.command:Command", "any program that reads queries and prints a run"),
    },
    entry_points="rankscope.systems",
    hint="package.module:Class",
)
"""The types of systems."""


def make_system(
    type: str,  # noqa: A002 (as it is called in a project file)
    options: Mapping[str, Any],
    *,
    name: str = "",
    resolve: Callable[[str], System] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> System:
    """Return a system of a type, a name of `SYSTEMS` or package.module:Class, with options as a project file has them.

    `resolve` turns the name of another system, as in `of = ["bm25", "dense"]`, into that system. `cache` is the folder
    for what takes long to compute; systems that keep nothing ignore it.
    """
    check_options(type, options)
    kind = class_of(type)
    known = options_in(kind)

    def resolved(value: Any, option: str) -> Any:
        if isinstance(value, list | tuple):
            return [resolved(each, option) for each in value]
        if not isinstance(value, str):
            return value
        if resolve is None:
            raise OptionError(f"{option} names the system {value!r}, and no systems are known by name here")
        return resolve(value)

    given = {
        known[option].field: resolved(value, option) if known[option].is_system else value
        for option, value in options.items()
    }
    if cache is not None and "cache" in known:
        given.setdefault("cache", Path(cache))
    made: System = kind(**given, **({"name": name} if name else {}))
    return made


def check_options(type: str, options: Mapping[str, Any], *, where: str = "") -> None:  # noqa: A002 (as above)
    """Refuse options that a type does not have, lacks, or that are not of the kind they should be.

    The message begins with `where`, the place of the options in a file.
    """
    try:
        refuse_misfits(class_of(type), type, options)
    except OptionError as error:
        if not where:
            raise
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error


def refuse_misfits(kind: Any, type: str, options: Mapping[str, Any]) -> None:  # noqa: A002 (as above)
    known = options_in(kind)
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known) or f"{type} has {', '.join(known)}"
            raise OptionError(f"{type} has no option {name!r}", hint=hint)
    for name, option in known.items():
        if option.default is MISSING and name not in options:
            raise OptionError(f"{type} needs the option {name!r}", hint=field_docs(kind).get(option.field, ""))
    for name in known:
        if name in options:
            check_value(known[name], options[name])
    if issubclass(kind, OptionSystem):
        kind.check_given(options)


def system_names_in(type: str, options: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: A002 (as above)
    known = options_in(class_of(type))
    held = [options[name] for name, option in known.items() if option.is_system and name in options]
    listed = (each for value in held for each in (value if isinstance(value, list | tuple) else [value]))
    return tuple(name for name in listed if isinstance(name, str))


def class_of(type: str) -> Any:  # noqa: A002 (as above)
    kind: Any = load_function(type, what="the system type") if ":" in type else SYSTEMS[type]
    is_struct = inspect.isclass(kind) and issubclass(kind, msgspec.Struct)
    if not is_struct and not dataclasses.is_dataclass(kind):
        raise OptionError(
            f"the system type {type!r} is no dataclass and no msgspec.Struct",
            hint="its fields are its options: decorate it with @dataclass, or derive it from msgspec.Struct",
        )
    return kind
