"""The project file that `rankscope init` writes: complete, commented, and right as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rankscope.errors import OptionError, did_you_mean
from rankscope.experiment.collection import Collection
from rankscope.experiment.project import ProjectOptions
from rankscope.records import Options, as_clause, field_docs, to_builtins
from rankscope.systems import registry as system_types

SYSTEMS: Mapping[str, str] = {
    name: system_types.SYSTEMS.summary(name) for name in ("bm25", "dense", "hybrid", "mmr", "dartboard")
}
"""Systems that need no more than their type, and what they do."""
_OPTIONAL = ("measures", "strata", "margin", "seeds", "depth", "output", "cache")
_WORD = re.compile(r"[^\W\d_]{2}")
_EXAMPLES = {"strata": ["language", "difficulty"], "margin": 0.01}


class InitOptions(Options):
    """What the file is to say."""

    collections: Sequence[str]
    """Paths as they shall stand in the file."""
    systems: Sequence[str] = ("bm25",)
    primary: str = "nDCG@10"
    languages: Sequence[str] = ()
    """Those of the queries; for others than English the dense system gets the multilingual model."""
    fields: Sequence[str] = ()
    """The fields of docs to search, where docs have no text."""


def project_text(options: InitOptions) -> str:
    for name in options.systems:
        if name not in SYSTEMS:
            raise OptionError(
                f"system {name!r} is not one of {', '.join(SYSTEMS)}",
                hint=did_you_mean(name, SYSTEMS) or "add others to the file by hand: docs/systems.md shows how",
            )
    about, defaults = field_docs(ProjectOptions), to_builtins(ProjectOptions())
    lines = [
        "# A project of Rankscope: `rankscope run` retrieves, measures and compares what is named here.",
        "# Paths are relative to this file; ${NAME} in a text is an environment variable.",
        "",
        f"primary = {json.dumps(options.primary)}    # {as_clause(about['primary']).partition(';')[0]}",
    ]
    lines += [
        f"# {name} = {json.dumps(_EXAMPLES.get(name, defaults[name]))}    # {as_clause(about[name])}"
        for name in _OPTIONAL
    ]
    names: list[str] = []
    for path in options.collections:
        # a name that TOML takes without quotes
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).resolve().name.partition(".")[0]).strip("-") or "collection"
        names.append(f"{stem}-{names.count(stem) + 1}" if stem in names else stem)
        lines += [
            "",
            f"[collections.{names[-1]}]",
            f"path = {json.dumps(path, ensure_ascii=False)}    # corpus.jsonl, queries.jsonl and qrels are in it",
            '# docs = "corpus.jsonl"    # where a part has another name; queries and qrels likewise',
            '# attributes = { language = "en" }    # what holds for all of its queries',
        ]
    return "\n".join([*lines, "", *system_lines(options.systems, options.languages, options.fields)])


def fields_to_search(collections: Iterable[Collection]) -> list[str]:
    """Return the fields of docs that hold words, where the docs of a collection have no text; else none."""
    found: dict[str, None] = {}
    all_lack_texts = True
    for collection in collections:
        docs = collection.docs
        if any(doc.text.strip() for doc in docs):
            all_lack_texts = False
            continue
        values = ((name, value) for doc in docs for name, value in doc.fields.items())
        found |= {name: None for name, value in values if _WORD.search(str(value)) and name not in docs.scan.dates}
    usual = ["title"] if all_lack_texts else ["title", "text"]
    return [*usual, *found] if found else []


def system_lines(systems: Sequence[str], languages: Sequence[str], fields: Sequence[str]) -> Iterator[str]:
    """Yield a table for each system; what is made of others names those that stand before it."""
    simple = [name for name in systems if name in ("bm25", "dense")]
    for name in systems:
        yield f"[systems.{name}]"
        yield f"type = {json.dumps(name)}    # {SYSTEMS[name]}"
        if fields and name in simple:
            listed = json.dumps(list(fields), ensure_ascii=False)
            yield f"fields = {listed}    # searched, as docs have no text; keep the fields that say what a doc is about"
        if name == "dense" and any(code.lower().split("-")[0] != "en" for code in languages):
            needs = 'pip install "rankscope[multilingual]"'
            yield f'model = "multilingual"    # not all queries are in English, which the default knows alone; {needs}'
        if name == "hybrid":
            if len(simple) < 2:
                hint = f"for example --systems bm25,dense,{name}"
                raise OptionError(f"{name} is made of two systems or more", hint=hint)
            yield f"of = {json.dumps(simple)}"
        elif name not in simple:
            if "dense" not in systems:  # the one that has embeddings
                hint = f"for example --systems dense,{name}"
                raise OptionError(f"{name} ranks the docs of dense again", hint=hint)
            yield 'of = "dense"'
        yield ""
