"""What there is to know of a measure, as text and as Markdown."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator

from rankscope.measures.parameters import PARAMETERS, REQUIRED, show_value
from rankscope.measures.spec import IF_UNDEFINED, MeasureSpec

WIDTH = 100


def usual_name(spec: MeasureSpec) -> str:
    if spec.cutoff is None:
        return spec.name
    required = spec.parameters[spec.cutoff] is REQUIRED
    return f"{spec.name}@{spec.cutoff}" if required else f"{spec.name}[@{spec.cutoff}]"


def parameter_lines(spec: MeasureSpec) -> Iterator[tuple[str, str]]:
    for name, default in spec.parameters.items():
        if default is REQUIRED:
            shown = "required"
        elif default is not None:
            shown = f"default {show_value(default)}"
        elif name == "rel" and spec.graded:
            shown = "default: every grade has its gain; where gains are binary, --min-rel, which is 1"
        else:
            usual = {"k": "all ranks", "rel": "--min-rel, which is 1", "reference": "the newest date of the docs"}
            shown = f"default: {usual.get(name, 'from the qrels')}"
        yield name, f"{PARAMETERS[name].meaning}; {PARAMETERS[name].accepts} ({shown})"
    yield "judged_only", f"{PARAMETERS['judged_only'].meaning}; True or False (default False)"
    yield "agg", f"{PARAMETERS['agg'].meaning}; {PARAMETERS['agg'].accepts} (default {spec.aggregate})"


_SIGNS = "sum Σ prod Π cdot · le ≤ ge ≥ alpha α beta β epsilon ε cap ∩ cup ∪ bigcup ∪ in ∈"
_WORDS: dict[str, str] = dict(re.findall(r"(\w+) (\S)", _SIGNS)) | dict.fromkeys(("left", "right", ";", ","), "")
_WORDS["quad"] = " "
"""How the words of LaTeX read in a terminal; others, such as log and min, stay as they are."""
_BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}"


def plain_formula(formula: str) -> str:
    formula = re.sub(r"\\(?:mathrm|text)\{([^{}]*)\}", r"\1", formula)
    for _ in range(2):  # a script may have a script of its own
        formula = re.sub(r"(?<!\\)([_^])\{([^{}]*)\}", lambda found: found[1] + grouped(found[2]), formula)
    formula = re.sub(rf"\\frac{_BRACED}{_BRACED}", lambda found: f"{grouped(found[1])}/{grouped(found[2])}", formula)
    formula = re.sub(r"\\([A-Za-z]+|[;,{} ])", lambda found: _WORDS.get(found[1], found[1]), formula)
    return re.sub(r" {2,}", " ", formula).strip()


def grouped(part: str) -> str:
    """Put a part of a formula in parentheses unless it is a single name or number."""
    return part if re.fullmatch(r"\w+", part) else f"({part})"


def facts(spec: MeasureSpec) -> Iterator[tuple[str, str]]:
    low, high = (format(bound, "g") if math.isfinite(bound) else "unbounded" for bound in spec.range)
    yield "formula", spec.formula
    yield "range", f"{low} to {high}, {spec.better} is better"
    yield "undefined", spec.undefined
    if not spec.undefined.startswith("never"):
        by_trec_eval = spec.about_relevance and spec.if_undefined == "policy"
        rest = "; without relevant docs, or without results, it is 0" if by_trec_eval else ""
        yield "then", IF_UNDEFINED[spec.if_undefined] + rest
    example = spec.example
    shown = ", ".join("unjudged" if grade is None else f"{grade:g}" for grade in example.grades)
    judged = ", ".join(f"{grade:g}" for grade in sorted(example.judged, reverse=True))
    params = ", ".join(f"{name}={show_value(value)}" for name, value in example.params.items())
    score = f"score{f' with {params}' if params else ''}: {example.score:.4f} ({example.working})"
    yield "example", f"grades down the ranking: {shown}; all judged grades: {judged}\n{score}"
    yield "cite", spec.cite
    if spec.names_elsewhere:
        yield "elsewhere", "; ".join(f"{tool}: {name}" for tool, name in spec.names_elsewhere.items())
    if spec.aliases:
        yield "also read as", ", ".join(spec.aliases)
    if spec.aggregate != "mean":
        yield "over queries", f"the {spec.aggregate}"
    yield "version", f"{spec.version} of its definition"


def measure_text(spec: MeasureSpec) -> str:
    lines = [f"{usual_name(spec)}: {spec.title} (family: {spec.family})", ""]
    for paragraph in spec.description.split("\n\n"):
        lines += [*hanging(" ".join(paragraph.split()), ""), ""]
    for heading, text in facts(spec):
        shown = plain_formula(text) if heading == "formula" else text
        for i, line in enumerate(shown.split("\n")):
            lines += hanging(line, f"{'' if i else heading:<14}")
    lines += ["", "parameters:"]
    width = max(len(name) for name, _ in parameter_lines(spec))
    for name, meaning in parameter_lines(spec):
        lines += hanging(meaning, f"  {name:<{width}}  ")
    return "\n".join(lines) + "\n"


def hanging(text: str, label: str) -> list[str]:
    indent = " " * len(label)
    return textwrap.wrap(text, WIDTH, initial_indent=label, subsequent_indent=indent, break_on_hyphens=False)


def measure_markdown(spec: MeasureSpec) -> str:
    lines = [f"### {spec.name}", "", f"**{spec.title}.** {spec.description}", ""]
    for heading, text in facts(spec):
        shown = f"${text}$" if heading == "formula" else text.replace("\n", "; ")
        lines.append(f"- *{heading}*: {shown}")
    lines += ["", "| parameter | meaning |", "| --- | --- |"]
    lines += [f"| `{name}` | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in parameter_lines(spec)]
    return "\n".join(lines) + "\n"
