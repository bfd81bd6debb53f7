"""The project file that `rankscope init` writes: complete, commented, and right as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rankscope.errors import OptionError, did_you_mean
from rankscope.experiment.project import ProjectOptions
from rankscope.records import Options, as_clause, field_docs, to_builtins
from rankscope.systems import registry as system_types

SYSTEMS: Mapping[str, str] = {
    name: system_types.SYSTEMS.summary(name) for name in ("bm25", "dense", "hybrid", "mmr", "dartboard")
}
"""Systems that need no more than their type, and what they do."""
COMBINED = ("hybrid",)
RERANKED = ("mmr", "dartboard")
_OPTIONAL = ("measures", "strata", "margin", "seeds", "depth", "output", "cache")
_EXAMPLES = {"strata": ["language", "difficulty"], "margin": 0.01}


class InitOptions(Options):
    """What the file is to say."""

    collections: Sequence[str]
    """Paths as they shall stand in the file."""
    systems: Sequence[str] = ("bm25",)
    primary: str = "nDCG@10"


def project_text(options: InitOptions) -> str:
    """Return the text of a project file."""
    check_systems(options.systems)
    return "\n".join(
        [
            "# A project of Rankscope: `rankscope run` retrieves, measures and compares what is named here.",
            "# Paths are relative to this file; ${NAME} in a text is an environment variable.",
            "",
            *top_lines(options.primary),
            "",
            *collection_lines(options.collections),
            *system_lines(options.systems),
        ]
    )


def check_systems(names: Iterable[str]) -> None:
    """Refuse systems that cannot be written without knowing more."""
    for name in names:
        if name not in SYSTEMS:
            raise OptionError(
                f"system {name!r} is not one of {', '.join(SYSTEMS)}",
                hint=did_you_mean(name, SYSTEMS) or "add others to the file by hand: docs/systems.md shows how",
            )


def top_lines(primary: str) -> Iterator[str]:
    """Yield the keys of the project itself; those that are left at their default are commented out."""
    about, defaults = field_docs(ProjectOptions), to_builtins(ProjectOptions())
    yield f"primary = {json.dumps(primary)}    # {as_clause(about['primary']).partition(';')[0]}"
    for name in _OPTIONAL:
        yield f"# {name} = {json.dumps(_EXAMPLES.get(name, defaults[name]))}    # {as_clause(about[name])}"


def collection_lines(paths: Sequence[str]) -> Iterator[str]:
    """Yield a table for each collection."""
    for name, path in zip(distinct_names(paths), paths, strict=True):
        yield f"[collections.{name}]"
        yield f"path = {json.dumps(path, ensure_ascii=False)}    # corpus.jsonl, queries.jsonl and qrels are in it"
        yield '# docs = "corpus.jsonl"    # where a part has another name; queries and qrels likewise'
        yield '# attributes = { language = "en" }    # what holds for all of its queries'
        yield ""


def distinct_names(paths: Sequence[str]) -> list[str]:
    """Return a name for each collection, as TOML takes it without quotes."""
    names: list[str] = []
    for path in paths:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).resolve().name.partition(".")[0]).strip("-") or "collection"
        names.append(f"{name}-{names.count(name) + 1}" if name in names else name)
    return names


def system_lines(systems: Sequence[str]) -> Iterator[str]:
    """Yield a table for each system; what is made of others names those that stand before it."""
    simple = [name for name in systems if name not in (*COMBINED, *RERANKED)]
    for name in systems:
        yield f"[systems.{name}]"
        yield f"type = {json.dumps(name)}    # {SYSTEMS[name]}"
        if name in COMBINED:
            yield f"of = {json.dumps(parts_of(name, simple, at_least=2))}"
        elif name in RERANKED:
            yield f"of = {json.dumps(base_of(name, systems))}"
        yield ""


def parts_of(name: str, simple: Sequence[str], *, at_least: int) -> list[str]:
    """Return the systems that one is made of."""
    if len(simple) < at_least:
        raise OptionError(f"{name} is made of two systems or more", hint=f"for example --systems bm25,dense,{name}")
    return list(simple)


def base_of(name: str, systems: Sequence[str]) -> str:
    """Return the system whose docs are ranked again: one that has embeddings."""
    if "dense" not in systems:
        raise OptionError(f"{name} ranks the docs of dense again", hint=f"for example --systems dense,{name}")
    return "dense"
