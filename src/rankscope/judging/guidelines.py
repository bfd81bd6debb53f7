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
from collections.abc import Collection

from rankscope.align.policies import Policies
from rankscope.data.qrels import Qrels
from rankscope.errors import GradeError, InputError
from rankscope.io.numbers import grade_text
from rankscope.judging.records import GradeLabel, Guideline, TaskMode
from rankscope.measures.parse import parse_measure
from rankscope.measures.scoring import check_grades
from rankscope.measures.spec import Measure
from rankscope.printable import listed

LONGEST = 100_000
MOST_GRADES = 11
SCALE = "scale"
REASONS = "flag reasons"
SCALE_HAS = "the scale of the guideline has"
USUAL_LEVEL = 1.0
"""The grade from which on a doc is relevant to a measure that does not say it itself."""
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

LISTS_GUIDELINE = f"""\
# What to judge

Read the query as the person who typed it, and ask what they want to achieve. Then say which list of docs would serve
them better. Lists are compared as a whole: the first docs count most, since hardly anybody reads far down.

- Where either list would do, they are even: do not look for what sets them apart.
- Flag a doc that should never be shown for this query, and say why in a few words.
- Mark the one doc that you would choose, whichever list it is in.
- Say that you cannot tell where the query or the docs are unclear. Do not guess.

## Scale

{DEFAULT_GUIDELINE.partition("## Scale")[2].strip()}
"""
"""With lists side by side, where no guideline is given; the scale is kept for grades from elsewhere, and not shown."""


def default_guideline(mode: TaskMode) -> str:
    """Return the text that raters follow where none is given."""
    return LISTS_GUIDELINE if mode == "lists" else DEFAULT_GUIDELINE


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
        named = ", ".join(map(grade_text, grades[:MOST_GRADES]))
        more = f" and {len(grades) - MOST_GRADES:,} more" if len(grades) > MOST_GRADES else ""
        found = f"it names {named}{more}" if grades else "it names no grade"
        raise InputError(
            f"the scale of the guideline needs 2 to {MOST_GRADES} grades, each once; {found}",
            hint="add a heading `## Scale` with a list below it, such as `- 2 Relevant: a fair choice`",
        )
    reasons = tuple(dict.fromkeys(sections.get(REASONS, ())))
    return Guideline(text, tuple(sorted(labels, key=lambda each: each.grade)), reasons)


def check_scale(scale: Collection[float]) -> None:
    """Refuse grades below 0 for a new task: to every measure these say that nobody has judged a doc."""
    if below := sorted(grade for grade in scale if grade < 0):
        raise InputError(
            f"the scale of the guideline has the grade {grade_text(below[0])}, which measures take for a doc that "
            "nobody judged",
            hint="grades begin at 0; give the lowest one 0, and let raters flag what should never be shown",
        )


def check_readable(measure: str, grades: Collection[float], whose: str = SCALE_HAS) -> None:
    """Refuse grades of which a measure cannot tell which are relevant; `whose` says what has them."""
    if words := unreadable_words(measure, grades, whose):
        raise GradeError(words, hint=readable_hint(parse_measure(measure), grades))


def check_some_not_relevant(measure: str, scale: Collection[float]) -> None:
    """Refuse a scale whose lowest grade a measure takes for relevant: no doc could be graded as not relevant."""
    parsed = parse_measure(measure)
    said = {**parsed.spec.parameters, **parsed.options}.get("rel")
    level = USUAL_LEVEL if parsed.uses_threshold else said
    lowest, *higher = sorted(scale)
    if not isinstance(level, int | float) or lowest < level:
        return
    own = Measure.of(parsed.spec, {**parsed.options, "rel": higher[0]}).name
    raise GradeError(
        f"to {parsed.name} a doc is relevant from the grade {grade_text(level)} on, and the lowest grade of the "
        f"guideline is {grade_text(lowest)}: every doc would be relevant",
        hint=f"grades begin at 0; give the lowest one 0, or say from which grade on a doc is relevant, such as {own}",
    )


def unreadable_words(measure: str, grades: Collection[float], whose: str = SCALE_HAS) -> str:
    """Say why a measure cannot read grades; empty where it can, or where no measure is named."""
    fractions = fractions_in(grades)
    if not measure or not fractions:
        return ""
    try:
        check_grades(Qrels([("q", "d", fractions[0])]), [parse_measure(measure)], Policies())
    except GradeError:
        several = "the grades" if len(fractions) > 1 else "the grade"
        found = listed(list(map(grade_text, fractions)))
        return f"{parse_measure(measure).name} needs whole grades, and {whose} {several} {found}"
    return ""


def fractions_in(grades: Collection[float]) -> list[float]:
    """Return the grades above 0 that are no whole numbers, each once, the lowest first."""
    return sorted({grade for grade in grades if grade > 0 and not float(grade).is_integer()})


def readable_hint(measure: Measure, grades: Collection[float]) -> str:
    """Say what works instead: where it is a question of what is relevant, the measure can say so itself."""
    whole = "take whole grades, or a measure of graded gain, such as nDCG@10"
    if not measure.uses_threshold or measure.spec.whole_grades:
        return whole
    own = Measure.of(measure.spec, {**measure.options, "rel": fractions_in(grades)[0]}).name
    return f"say from which grade on a doc is relevant, such as {own}; or {whole}"


def lowest_relevant(scale: Collection[float]) -> float | None:
    """Return the grade from which on a doc of a scale with fractions is relevant: all but 0; None: from 1 on, as usual.

    Measures of graded gain read such grades; beside them it is asked whether any doc is relevant at all.
    """
    return min(grade for grade in scale if grade > 0) if fractions_in(scale) else None


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
    return f"- {grade_text(each.grade)} {each.label}{described}"
