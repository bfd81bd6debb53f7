"""Writes docs/generated from the code: measures, systems, the command line, errors, profiles, JSON schemas."""
# ruff: noqa: INP001 (a script, not a package)

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankscope import PUBLIC, errors
from rankscope.analysis.diagnose import Diagnosis
from rankscope.analysis.explain import Explanation
from rankscope.analysis.targets import TargetsReport
from rankscope.analysis.validate import ValidationReport
from rankscope.cli.judge import ShownTask
from rankscope.cli.main import COMMANDS, parser_of, top_level_parser
from rankscope.comparison.gate import GateResult
from rankscope.experiment.project import project_schema
from rankscope.experiment.target_file import target_schema
from rankscope.experiment.watch import WatchResult
from rankscope.judging.agreement import AgreementReport
from rankscope.judging.opinion_records import OpinionReport
from rankscope.measures.listing import by_family
from rankscope.measures.parameters import show_value
from rankscope.measures.profiles import PROFILES, Profile
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scores_record import scores_schema
from rankscope.predecessors.importers import test_case_schema
from rankscope.records import field_docs, json_schema
from rankscope.registry import Registry
from rankscope.report import benchmark_json, comparison_json
from rankscope.report.measure_help import measure_markdown, usual_name
from rankscope.systems.encoders import PACKAGED
from rankscope.systems.fusion import METHODS
from rankscope.systems.options import MISSING, options_in, plain
from rankscope.systems.registry import SYSTEMS

HERE = Path(__file__).parent / "generated"
NOTICE = "<!-- Made from the code by scripts/docs: change the code, not this page. -->\n"


def pages() -> dict[str, str]:
    """Return every generated file by its name."""
    return {
        "measures.md": measures_page(),
        "cli.md": cli_page(),
        "errors.md": errors_page(),
        "profiles.md": profiles_page(),
        "systems.md": systems_page(),
        **{f"schema/{name}.schema.json": schema_text(schema) for name, schema in schemas().items()},
    }


def schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of every JSON record that is printed, and of the files that are checked."""
    return {
        "evaluate": scores_schema(),
        "compare": comparison_json.json_schema(),
        "validate": json_schema(ValidationReport),
        "diagnose": json_schema(Diagnosis),
        "explain": json_schema(Explanation),
        "check": json_schema(TargetsReport),
        "targets": target_schema(),
        "gate": json_schema(GateResult),
        "project": project_schema(),
        "run": benchmark_json.run_schema(),
        "watch": json_schema(WatchResult),
        "judge-show": json_schema(ShownTask),
        "judge-agreement": json_schema(AgreementReport),
        "judge-flags": json_schema(OpinionReport),
        "test-cases": test_case_schema(),
    }


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as it is published."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def measures_page() -> str:
    """Return the page of all measures, by family."""
    lines = [NOTICE, "# Measures\n"]
    for family, specs in by_family().items():
        listed = [f"| [`{usual_name(spec)}`](#{spec.name.lower()}) | {spec.title} |\n" for spec in specs]
        lines += [f"**{family}**\n", "".join(["| measure | |\n", "| --- | --- |\n", *listed])]
    for family, specs in by_family().items():
        lines += [f"## {family[0].upper()}{family[1:]}\n", *map(measure_markdown, specs)]
    return "\n".join(lines)


def cli_page() -> str:
    """Return the help of every command."""
    lines = [NOTICE, "# The command line\n", fenced(top_level_parser().format_help())]
    for name in COMMANDS:
        lines += [f"## rankscope {name}\n", fenced(parser_of(name).format_help())]
    return "\n".join(lines)


def errors_page() -> str:
    """Return the tree of errors."""
    lines = [NOTICE, "# Errors and warnings\n", fenced(str(errors.__doc__))]
    lines.append("".join(["| error | when | it is also a |\n", "| --- | --- | --- |\n", *error_rows()]))
    return "\n".join(lines)


def error_rows() -> Iterator[str]:
    """Yield a row of the table of errors for each class."""
    for name in errors.__all__:
        error = getattr(errors, name)
        if inspect.isclass(error) and issubclass(error, Warning | Exception):
            bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
            yield f"| `{name}` | {str(error.__doc__).splitlines()[0]} | {bases} |\n"


def profiles_page() -> str:
    """Return the page of profiles."""
    return "\n".join([NOTICE, "# Profiles\n", *map(profile_section, PROFILES.values())])


def profile_section(profile: Profile) -> str:
    """Return what one profile sets."""
    facts = [f"- *policy* `{name}` = `{value}`" for name, value in profile.policies.items()]
    for base, params in profile.variants.items():
        variant = ", ".join(f"{name}={show_value(value)}" for name, value in params.items())
        facts.append(f"- *measure* `{base}` is computed as `{base}({variant})`")
    if profile.measures:
        facts.append(f"- *default measures* {', '.join(f'`{name}`' for name in profile.measures)}")
    if profile.measures_of_docs:
        facts.append(f"- *where their data is given* {', '.join(f'`{name}`' for name in profile.measures_of_docs)}")
    if profile.unjudged_queries != "skip":
        facts.append(f"- *queries without judgments* `unjudged_queries` = `{profile.unjudged_queries}`")
    facts += [f"- *note* {note}" for note in profile.notes]
    return "\n".join([f"## {profile.name}\n", f"{profile.description}.\n", *facts]) + "\n"


def systems_page() -> str:
    """Return the page of all types of systems with their options."""
    about = "All types of systems that a project file can name; [Systems that rank](../systems.md) explains them.\n"
    types = [f"| [`{name}`](#{name}) | {SYSTEMS.summary(name)} |\n" for name in SYSTEMS.entries]
    return "\n".join(
        [
            NOTICE,
            "# Systems\n",
            about,
            "".join(["| type | |\n", "| --- | --- |\n", *types]),
            *map(system_section, SYSTEMS.entries),
            "# Embedded models\n",
            table("model", PACKAGED),
            "# Methods of fusion\n",
            table("method", METHODS),
        ]
    )


def system_section(name: str) -> str:
    """Return what a type of system is, with its options."""
    kind: Any = SYSTEMS[name]
    docs = field_docs(kind)
    rows = []
    for option in options_in(kind).values():
        default = "(needed)" if option.default is MISSING else json.dumps(plain(option.default), ensure_ascii=False)
        shown = "" if default == "null" else default if option.default is MISSING else f"`{default}`"
        rows.append(f"| `{option.name}` | {shown} | {docs[option.field].replace('|', '&#124;')} |\n")
    head = ["| option | default | |\n", "| --- | --- | --- |\n"]
    return "\n".join([f"## {name}\n", inspect.cleandoc(str(kind.__doc__)) + "\n", "".join([*head, *rows])])


def table(what: str, parts: Registry[Any]) -> str:
    """Return the names of a registry, and what each is."""
    rows = [f"| `{name}` | {parts.summary(name)} |\n" for name in parts.entries]
    return "".join([f"| {what} | |\n", "| --- | --- |\n", *rows])


def fenced(text: str) -> str:
    """Return a text as a block."""
    return f"```text\n{text.strip()}\n```\n"


STUB = Path(__file__).parents[1] / "src/rankscope/__init__.pyi"


def stub() -> str:
    """Return the public names as type checkers and editors read them: those of PUBLIC, and the measures as values."""
    lines = [
        "# Made from the code by scripts/docs: change PUBLIC in __init__.py, not this file.",
        "from rankscope._version import __version__ as __version__",
    ]
    for name, target in sorted(PUBLIC.items(), key=lambda item: (item[1].partition(":")[0], item[0])):
        module, _, obj = target.partition(":")
        lines.append(f"from {module} import {obj} as {name}")
    measures = sorted(name for name in REGISTRY if name not in PUBLIC)
    lines += ["", "PUBLIC: dict[str, str]", "", *(f"{name}: Measure" for name in measures)]
    listed = "".join(f'    "{name}",\n' for name in sorted(["__version__", *PUBLIC]))
    return "\n".join(lines) + f"\n\n__all__ = [\n{listed}]\n"


def write() -> None:
    """Write every page, and the public names."""
    STUB.write_text(stub(), encoding="utf-8")
    for name, text in pages().items():
        target = HERE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
