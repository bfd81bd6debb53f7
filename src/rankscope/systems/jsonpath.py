"""Paths into JSON: the part of JSONPath (RFC 9535) that picks out ids and scores, such as $.hits.hits[*]._id.

A path is `$` and then steps: `.name` or `['any name']` for a key, `[0]` or `[-1]` for a place in a list, `[*]` or `.*`
for all of them. A key or place that is not there is an error, since an answer of another shape is no empty answer; a
list that is empty gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rankscope.errors import OptionError, shorten
from rankscope.systems.answers import BadAnswerError

ALL = object()
"""The step to everything in a list or table."""

_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]'"*$]+) | (?P<all>\.\*|\[\*\]) | \[(?P<place>-?\d+)\]
    | \['(?P<single>(?:[^'\\]|\\.)+)'\] | \["(?P<double>(?:[^"\\]|\\.)+)"\]""",
    re.VERBOSE,
)


class JsonPath(msgspec.Struct, frozen=True):
    """A path that has been read, with its text."""

    text: str
    steps: tuple[Any, ...]
    """Each a key as text, a place as whole number, or ALL."""

    def values(self, data: Any) -> list[Any]:
        found = [data]
        for number, step in enumerate(self.steps):
            found = [inner for value in found for inner in self._step_values(value, step, number)]
        return found

    def _step_values(self, value: Any, step: Any, number: int) -> Iterator[Any]:
        is_key = isinstance(step, str) and isinstance(value, Mapping) and step in value
        is_place = isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value)
        if step is ALL and isinstance(value, list | Mapping):
            yield from value.values() if isinstance(value, Mapping) else value
        elif is_key or is_place:
            yield value[step]
        else:
            path = self.steps[: number + 1]
            shown = ("[*]" if step is ALL else f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            raise BadAnswerError(
                f"the answer has nothing at {self.text}: ${''.join(shown)} is not there, "
                f"but {shorten(repr(value), limit=80)}"
            )


def parse_path(text: str, *, what: str = "the path") -> JsonPath:
    """Return the path that a text describes; `$` in front may be left out."""
    rest = text.strip().removeprefix("$")
    if rest and rest[0] not in ".[":
        rest = f".{rest}"
    steps: list[Any] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        if match is None:
            raise OptionError(
                f"{what} {text!r} cannot be read from {rest[position:]!r} on",
                hint="for example $.hits.hits[*]._id; the steps are .name, ['name'], [0] and [*]",
            )
        if match["all"]:
            steps.append(ALL)
        elif match["place"]:
            steps.append(int(match["place"]))
        else:
            steps.append(match["name"] or re.sub(r"\\(.)", r"\1", match["single"] or match["double"]))
        position = match.end()
    return JsonPath(text, tuple(steps))
