"""Guidelines: a text in Markdown that raters follow. Two of its lists are read: the scale, and reasons for a flag.

## Scale
- 2 Relevant: a fair choice
- 0 Not relevant: another problem

## Flag reasons
- wrong city
"""

from __future__ import annotations

import math
import re

from rankscope.errors import InputError
from rankscope.judging.records import GradeLabel, Guideline

LONGEST = 100_000
MOST_GRADES = 11
SCALE = "scale"
REASONS = "flag reasons"
_GRADE = re.compile(r"([-+]?[0-9]{1,6}(?:\.[0-9]{1,6})?)(?:\s*[:.=]?\s+|\s*$)(.*)", re.DOTALL)

DEFAULT_GUIDELINE = """\
# What to judge

Read the query as the person who typed it, and ask what they want to achieve. Then grade each doc by what it would be
worth to them. Judge only what the doc says: not how long or how well it is written, and not whether you like it.

- A doc that holds all of the answer gets the highest grade, also where other docs hold it, too.
- Flag a doc that should never be shown for this query, and say why in a few words. A flag is no grade.
- Say that you cannot tell where the query or the doc is unclear. Do not guess.

## Scale

- 0 Not relevant: has nothing to do with the query
- 1 Related: on the topic, but no help
- 2 Relevant: helps, in part
- 3 Exactly: this is what was looked for

## Flag reasons

- another topic
- only shares a word
- out of date
- cannot be opened
"""


def parse_guideline(text: str) -> Guideline:
    """Return a guideline with the scale and the reasons that its lists name; the text stays as it is.

    Raises
    ------
    InputError
        It has no scale of at least two grades, or names a grade twice.
    """
    if len(text) > LONGEST:
        raise InputError(f"the guideline has {len(text):,} characters", hint=f"at most {LONGEST:,} are allowed")
    sections = lists_of(text)
    labels = [label_of(item) for item in sections.get(SCALE, ())]
    grades = [each.grade for each in labels]
    if not 2 <= len(set(grades)) <= MOST_GRADES or len(set(grades)) < len(grades):
        found = f"it names {', '.join(f'{grade:g}' for grade in grades)}" if grades else "it names no grade"
        raise InputError(
            f"the scale of the guideline needs 2 to {MOST_GRADES} grades, each once; {found}",
            hint="add a heading `## Scale` with a list below it, such as `- 2 Relevant: a fair choice`",
        )
    reasons = tuple(dict.fromkeys(sections.get(REASONS, ())))
    return Guideline(text, tuple(sorted(labels, key=lambda each: each.grade)), reasons)


def lists_of(text: str) -> dict[str, list[str]]:
    """Return the items of the lists below each heading, by the heading in small letters."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in map(str.strip, text.splitlines()):  # without patterns, which take long for long lines of blanks
        if line.startswith("#"):
            heading = line.strip("#").strip().casefold()
        elif line[:1] in ("-", "*", "+") and line[1:2].isspace():
            found.setdefault(heading, []).append(line[1:].replace("**", "").strip())
    return found


def label_of(item: str) -> GradeLabel:
    found = _GRADE.fullmatch(item)
    if found is None or not math.isfinite(float(found[1])):
        raise InputError(
            f"{item[:100]!r} in the scale of the guideline does not begin with a grade",
            hint="a line of the scale is such as `- 2 Relevant: a fair choice`",
        )
    label, _, description = found[2].partition(":")
    return GradeLabel(float(found[1]) + 0.0, label.strip() or found[1], description.strip())


def guideline_text(guideline: Guideline) -> str:
    """Return a text from which `parse_guideline` makes the same scale and reasons: its own, or one with both added."""
    sections = lists_of(guideline.text)
    lines = [guideline.text.rstrip()]
    if SCALE not in sections:
        lines += ["", "## Scale", "", *(grade_line(each) for each in guideline.scale)]
    if REASONS not in sections and guideline.flag_reasons:
        lines += ["", "## Flag reasons", "", *(f"- {reason}" for reason in guideline.flag_reasons)]
    return "\n".join(lines).lstrip("\n") + "\n"


def grade_line(each: GradeLabel) -> str:
    described = f": {each.description}" if each.description else ""
    return f"- {each.grade:g} {each.label}{described}"
