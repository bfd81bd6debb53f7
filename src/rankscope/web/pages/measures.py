"""Every measure of the registry: what it answers, its formula, a worked example, its citation."""

from __future__ import annotations

from rankscope.measures.listing import by_family
from rankscope.measures.spec import MeasureSpec
from rankscope.records import Options, Record
from rankscope.report.measure_help import facts, parameter_lines, plain_formula, usual_name
from rankscope.web.library import Library


class MeasuresOptions(Options):
    """Which measures are shown."""

    find: str | None = None
    """A part of a name, a title or what it answers."""
    name: str | None = None
    """One measure, with all that is known of it."""


class MeasureEntry(Record, kw_only=True):
    """One measure."""

    name: str
    usual_name: str
    """With its cut-off where it has one: `nDCG[@k]`."""
    title: str
    family: str
    answers: str
    description: str
    formula: str
    facts: tuple[tuple[str, str], ...]
    """Range, when it is undefined, a worked example, citation, names in other tools."""
    parameters: tuple[tuple[str, str], ...]


class MeasuresPage(Record):
    """What stands on the page of the measures."""

    n_measures: int
    families: tuple[tuple[str, tuple[MeasureEntry, ...]], ...]
    chosen: MeasureEntry | None


def measures_page(library: Library, asked: MeasuresOptions) -> MeasuresPage:  # noqa: ARG001
    """Explain the measures, from the registry that computes them."""
    specs = [spec for family in by_family().values() for spec in family]
    wanted = (asked.find or "").casefold()
    families: dict[str, list[MeasureEntry]] = {}
    for spec in specs:
        words = f"{spec.name} {spec.title} {spec.summary} {' '.join(spec.aliases)}".casefold()
        if wanted in words:
            families.setdefault(str(spec.family), []).append(entry_of(spec))
    chosen = next((spec for spec in specs if spec.name == asked.name), None)
    return MeasuresPage(
        n_measures=len(specs),
        families=tuple((family, tuple(entries)) for family, entries in families.items()),
        chosen=None if chosen is None else entry_of(chosen),
    )


def entry_of(spec: MeasureSpec) -> MeasureEntry:
    return MeasureEntry(
        name=spec.name,
        usual_name=usual_name(spec),
        title=spec.title,
        family=str(spec.family),
        answers=spec.summary.removeprefix("Answers: "),
        description=spec.description.removeprefix("Answers: "),
        formula=plain_formula(spec.formula),
        facts=tuple((name, text) for name, text in facts(spec) if name != "formula"),
        parameters=tuple(parameter_lines(spec)),
    )
