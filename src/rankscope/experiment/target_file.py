"""Target files, in TOML or YAML: what is expected of rankings, query by query.

    [[targets]]
    name = "opening hours first"
    query = "q17"
    doc = "d42"
    top = 3
    owner = "search team"
    reason = "callers ask for it every day"
    weight = 2
    quarantine_until = 2026-12-31

The same tables may stand in the project file. In YAML, the list stands below `targets:`, or alone.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, field

from rankscope.analysis.targets.known import stratum_text
from rankscope.analysis.targets.records import Target, TargetKind
from rankscope.errors import FormatError, MeasureError, OptionError, did_you_mean
from rankscope.experiment.collection import Text
from rankscope.experiment.toml_file import parse_toml, read_text, too_deep
from rankscope.io.addresses import address_in
from rankscope.io.source import missing
from rankscope.measures.parse import parse_measures
from rankscope.measures.spec import Measure
from rankscope.records import Misfit, Options, as_clause, field_docs, from_builtins, json_schema, replace

KINDS: dict[str, TargetKind] = {
    "doc": "docs",
    "one_of": "one_of",
    "never": "never",
    "distinct": "distinct",
    "measure": "measure",
}
"""By the key that says so, the kind of a target."""
PARTS_OF: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "doc": (("query", "top"), ()),
    "one_of": (("query", "top"), ()),
    "never": ((), ("query", "stratum", "top")),
    "distinct": (("field", "top"), ("query", "stratum")),
    "measure": ((), ("query", "stratum", "at_least", "at_most")),
}
"""By the same key, the keys that it needs, and others that go with it."""
ENDINGS = (".toml", ".yaml", ".yml")
YAML_PIP = "'rankscope[yaml]'"
_A_DATE = "a date, such as 2026-12-31"
_AN_ID = "an id (a text or a whole number)"

OneId = Annotated[str, Meta(min_length=1)] | int
IdText = Annotated[OneId, Meta(extra={"words": _AN_ID})]
Ids = Annotated[
    OneId | Annotated[tuple[OneId, ...], Meta(min_length=1)], Meta(extra={"words": f"{_AN_ID}, or a list of them"})
]
Names = Annotated[
    Annotated[str, Meta(min_length=1)] | Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)],
    Meta(extra={"words": "a name, or a list of names"}),
]
CountFromOne = Annotated[int, Meta(ge=1, extra={"words": "a whole number from 1 up"})]
Limit = Annotated[float, Meta(extra={"words": "a number"})]


class TargetOptions(Options):
    """What a target file may say of one target."""

    name: Text | None = None
    """What it is called; without a name, what it expects."""
    query: IdText | None = None
    """The query that it is about."""
    stratum: Annotated[
        dict[str, str | bool | int | float], Meta(min_length=1, extra={"words": 'a table, such as {language = "de"}'})
    ] = field(default_factory=dict)
    """The queries that it is about, by values of their attributes."""
    doc: Ids | None = None
    """A doc that must be among the first, or several that all must."""
    one_of: Ids | None = None
    """Docs of which at least one must be among the first."""
    never: Ids | None = None
    """A doc that must not be there, or several."""
    top: CountFromOne | None = None
    """How many of the first docs are looked at."""
    distinct: CountFromOne | None = None
    """How many different values of a field there must be among the first docs."""
    field: Text | None = None
    """The field of the docs that `distinct` is about, e.g. source."""
    measure: Text | None = None
    """A measure that must reach a limit, e.g. nDCG@10."""
    at_least: Limit | None = None
    """The least that the measure may be."""
    at_most: Limit | None = None
    """The most that it may be, of a measure that is better where it is lower."""
    only: Names | None = None
    """The systems, or runs, that it is about; otherwise all."""
    collection: Names | None = None
    """In a project, the collections that it is about; otherwise all."""
    owner: Text | None = None
    """Who knows what it is for."""
    reason: Text | None = None
    """Why it matters."""
    quarantine_until: Annotated[date, Meta(extra={"words": _A_DATE})] | None = None
    """The last day on which it may fail without failing the check."""
    weight: Annotated[float, Meta(gt=0, extra={"words": "a number above 0"})] = 1.0
    """How important it is, beside others."""


class TargetFile(Options):
    """What a target file holds."""

    targets: tuple[TargetOptions, ...] = ()
    """One table each."""


TargetsLike = str | os.PathLike[str] | Target | Mapping[str, Any] | Iterable[Target | Mapping[str, Any]]
"""What may be given as targets: the path of a file, or one or several targets, as records or as tables of keys."""


def load_targets(path: str | os.PathLike[str]) -> tuple[Target, ...]:
    r"""Read a target file, as docs/targets.md describes it.

    Parameters
    ----------
    path
        A file in TOML, or in YAML where PyYAML is installed (`pip install 'rankscope[yaml]'`).

    Returns
    -------
    tuple of Target
        For `check`.

    Raises
    ------
    InputError, OptionError
        There is no such file, or it says what it cannot say.

    Examples
    --------
    >>> import rankscope as rs
    >>> from pathlib import Path
    >>> _ = Path("targets.toml").write_text('[[targets]]\nquery = "q"\ndoc = "a"\ntop = 3')
    >>> rs.load_targets("targets.toml")[0].name
    'q: a in the top 3'
    """
    file = Path(path)
    if address_in(file) is not None:
        raise missing(file)
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(f"{file} is no target file by its name", hint=f"its name ends in {', '.join(ENDINGS)}")
    text = read_text(file)
    if ending == ".toml":
        content = parse_toml(text, file)
        lines = target_lines(text, content.get("targets"))
    else:
        content, lines = read_yaml(text, file)
    read = from_builtins(TargetFile, content, where=file.name, wording=TargetWording(text, lines))
    if not read.targets:
        raise OptionError(f"{file} holds no targets", hint="each is a table: [[targets]], query = …, doc = …, top = 3")
    return named_targets(read.targets, where=file.name, lines=lines)


def given_targets(targets: TargetsLike) -> tuple[Target, ...]:
    """Return targets from a path, records, or tables of keys."""
    if isinstance(targets, str | os.PathLike):
        return load_targets(targets)
    listed = [targets] if isinstance(targets, Target | Mapping) else list(targets)
    tables = [with_measure_name(one) for one in listed if not isinstance(one, Target)]
    read = from_builtins(TargetFile, {"targets": tables}, where="targets", wording=TargetWording())
    from_tables = iter(named_targets(read.targets, where="targets"))
    found = tuple(one if isinstance(one, Target) else next(from_tables) for one in listed)
    if not found:
        raise OptionError("no targets are given", hint="nothing checked is nothing shown; give at least one")
    refuse_repeated(found, where="targets")
    return found


def with_measure_name(table: Any) -> Any:
    """Return a table of keys whose measure is a name, where it is a value such as `rs.nDCG @ 10`."""
    if isinstance(table, Mapping) and isinstance(table.get("measure"), Measure):
        return {**table, "measure": table["measure"].name}
    return dict(table) if isinstance(table, Mapping) else table


def named_targets(options: Sequence[TargetOptions], *, where: str, lines: Sequence[int] = ()) -> tuple[Target, ...]:
    """Return targets that are checked, each with a name of its own; errors name the line where that is known."""
    found = []
    for i, one in enumerate(options):
        place = f"{where}:{lines[i]}" if lines else where
        label = repr(one.name) if one.name else f"number {i + 1}"
        found.append(target_of(one, where=f"{place}: target {label}"))
    refuse_repeated(found, where=where, lines=lines)
    return tuple(found)


def refuse_repeated(targets: Sequence[Target], *, where: str, lines: Sequence[int] = ()) -> None:
    seen: dict[str, int] = {}
    for i, target in enumerate(targets):
        if target.name in seen:
            first, second = (f"line {lines[j]}" if lines else f"number {j + 1}" for j in (seen[target.name], i))
            raise OptionError(
                f"{where}: two targets are called {target.name!r}: {first} and {second}",
                hint="give each a name of its own, so that it is clear whose result it is",
            )
        seen[target.name] = i


def target_of(options: TargetOptions, *, where: str) -> Target:
    """Return the target that options describe; what does not go together is an error."""
    given = [key for key in KINDS if getattr(options, key) is not None]
    if len(given) != 1:
        listed = ", ".join(KINDS)
        what = f"has both {' and '.join(given)}" if given else "says nothing of what is expected"
        raise OptionError(f"{where} {what}", hint=f"a target has one of {listed}; write several targets instead")
    kind = KINDS[given[0]]
    check_parts(options, given[0], where=where)
    target = Target(
        name=options.name or "",
        kind=kind,
        query=None if options.query is None else str(options.query),
        stratum={name: stratum_text(value) for name, value in options.stratum.items()},
        docs=as_texts(next((ids for ids in (options.doc, options.one_of, options.never) if ids is not None), ())),
        top=options.top,
        field=options.field or "",
        distinct=options.distinct or 0,
        measure=options.measure or "",
        at_least=options.at_least,
        at_most=options.at_most,
        only=as_texts(options.only or ()),
        collections=as_texts(options.collection or ()),
        owner=options.owner or "",
        reason=options.reason or "",
        quarantine_until=options.quarantine_until,
        weight=options.weight,
    )
    repeated = next((doc for doc in target.docs if target.docs.count(doc) > 1), None)
    if repeated is not None:
        raise OptionError(f"{where} names doc {repeated!r} twice", hint="name each once")
    if kind == "docs" and target.top is not None and len(target.docs) > target.top:
        message = f"{where}: {len(target.docs)} docs cannot all be in the top {target.top}"
        raise OptionError(message, hint="raise top, or use one_of where one of them is enough")
    return target if target.name else replace(target, name=f"{target.where}: {target.expected}")


def check_parts(options: TargetOptions, key: str, *, where: str) -> None:
    """Refuse keys that do not go with what is expected, and say which are needed."""
    needed, taken = PARTS_OF[key]
    for name in needed:
        if getattr(options, name) is None:
            raise OptionError(f"{where} has {key}, but no {name}", hint=f"add {name} = …: {about(name)}")
    for name in ("query", "stratum", "top", "field", "at_least", "at_most"):
        if getattr(options, name) not in (None, {}) and name not in (*needed, *taken):
            raise OptionError(f"{where} has {key}, with which {name} does not go", hint=f"{name} is {about(name)}")
    if options.query is not None and options.stratum:
        raise OptionError(f"{where} has both query and stratum", hint="a target is about one query, or about a stratum")
    if key == "measure":
        check_measure_and_limit(options, where=where)
    if not math.isfinite(options.weight):
        raise OptionError(f"{where}: weight is {options.weight}, but must be a number above 0")


def check_measure_and_limit(options: TargetOptions, *, where: str) -> None:
    given = {name: getattr(options, name) for name in ("at_least", "at_most") if getattr(options, name) is not None}
    for name, limit in given.items():
        if not math.isfinite(limit):
            raise OptionError(f"{where}: {name} is {limit}, which is no number to reach", hint=f"e.g. {name} = 0.5")
    if len(given) != 1:
        raise OptionError(f"{where} has measure, which needs one limit", hint="add at_least = 0.5, or at_most")
    try:
        parse_measures(options.measure or "")
    except MeasureError as error:
        raise MeasureError(f"{where}: {error.message}", hint=error.hint) from error


def about(name: str) -> str:
    return as_clause(field_docs(TargetOptions).get(name, ""))


def as_texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)


# Errors that name the line


class TargetWording:
    """Says what does not fit in a file, with the line of the target, or of the key where that can be found."""

    def __init__(self, text: str = "", lines: Sequence[int] = ()) -> None:
        self.text, self.lines = text.splitlines(), lines

    def __call__(self, misfit: Misfit, where: str) -> OptionError:
        found = re.fullmatch(r"targets\[(\d+)\](?:\.(.+))?", misfit.path)
        key = (found[2] or "") if found else misfit.path
        place = f"{where}:{self.line_of(int(found[1]), key)}" if found and self.lines else where
        label = f"target number {int(found[1]) + 1}: " if found else ""
        if misfit.problem == "unknown":
            hint = did_you_mean(misfit.key, misfit.known) or f"the keys here are {', '.join(misfit.known)}"
            return OptionError(f"{place}: {label}unknown key {misfit.key!r}", hint=hint)
        if misfit.problem != "wrong":
            return OptionError(f"{place}: {label}{key + ': ' if key else ''}{misfit.wanted}")
        shown = misfit.value.isoformat() if isinstance(misfit.value, date) else repr(misfit.value)
        hint = f"{key} is {as_clause(misfit.about)}" if misfit.about else ""
        return OptionError(f"{place}: {label}{key or 'it'} is {shown}, but must be {misfit.wanted}", hint=hint)

    def line_of(self, i: int, key: str) -> int:
        """Return the line of a key of a target, or that of the target."""
        start = self.lines[i]
        stop = self.lines[i + 1] - 1 if i + 1 < len(self.lines) else len(self.text)
        pattern = re.compile(rf"\s*-?\s*[\"']?{re.escape(key.partition('.')[0].partition('[')[0])}[\"']?\s*[=:]")
        inside = (number for number in range(start, stop + 1) if key and pattern.match(self.text[number - 1]))
        return next(inside, start)


def target_lines(text: str, targets: Any) -> tuple[int, ...]:
    """Return the lines of a TOML file on which its targets begin; none where that is not clear."""
    header = re.compile(r"""\s*\[\[\s*(tool\.rankscope\.)?["']?targets["']?\s*\]\]""")
    found = tuple(number for number, line in enumerate(text.splitlines(), 1) if header.match(line))
    # what looks like a table may stand in a text, and tables may be written in one line
    return found if isinstance(targets, list) and len(targets) == len(found) else ()


# YAML


def read_yaml(text: str, file: Path) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return what a YAML file holds, as TOML would have it, and the lines on which its targets begin.

    Ids are texts: only what is a number, a date, true, false or null by the newer rules of YAML is taken as such, so
    that `no` and `0123` stay what they are. Anchors and aliases are refused, by which a small file becomes a large one.
    """
    from rankscope.systems.options import need

    yaml = need("yaml", pip=YAML_PIP, why=f"{file.name}, a file in YAML,")
    try:
        loader = plain_loader(yaml)(text)
        try:
            node = loader.get_single_node()
            check_nodes(node, yaml, file)
            content = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except RecursionError as error:
        raise too_deep(file) from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark is not None else str(file)
        problem = getattr(error, "problem", None) or error
        raise FormatError(f"{place} is not valid YAML: {problem}", hint="docs/targets.md shows the form") from error
    if isinstance(content, list):
        content, items = {"targets": content}, node
    elif isinstance(content, dict):
        items = next((value for key, value in node.value if key.value == "targets"), None)
    else:
        raise FormatError(f"{file} holds no targets", hint="a list of them, or `targets:` and the list below it")
    is_list = isinstance(items, yaml.SequenceNode)
    return content, tuple(item.start_mark.line + 1 for item in items.value) if is_list else ()


def plain_loader(yaml: Any) -> Any:
    """Return PyYAML's safe loader with fewer plain words that are not texts, and without aliases."""

    class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]  # it is known when PyYAML is there
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.composer.ComposerError(None, None, "aliases (*name) are not read: write it out", mark)
            return super().compose_node(parent, index)

    PlainLoader.yaml_implicit_resolvers = {}
    for tag, pattern, first in (
        ("null", r"~|null|", ["~", "n", ""]),
        ("bool", r"true|false", list("tf")),
        ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
        ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
        ("timestamp", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", list("0123456789")),
    ):
        PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), first)
    return PlainLoader


def check_nodes(node: Any, yaml: Any, file: Path) -> None:
    """Refuse a key that is there twice, of which YAML would take the last."""
    if isinstance(node, yaml.MappingNode):
        seen: set[Any] = set()
        for key, value in node.value:
            if key.value.__hash__ is not None and key.value in seen:
                line = key.start_mark.line + 1
                raise FormatError(f"{file}:{line}: the key {key.value!r} is there twice", hint="keep one of them")
            if key.value.__hash__ is not None:
                seen.add(key.value)
            check_nodes(value, yaml, file)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            check_nodes(item, yaml, file)


def target_schema() -> dict[str, Any]:
    """Return the JSON schema of a target file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Target file of Rankscope",
        **json_schema(TargetFile),
    }
