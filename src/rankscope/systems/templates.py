"""Requests from templates, and paths into answers.

In a template `{query}`, `{query_id}`, `{k}` and the name of any attribute stand for the values of each query;
`{language:-en}` has a default. A list or object, such as a conversation, is written as JSON. `${NAME}` is a
variable of the environment, taken when the request is made, so that it is written down nowhere. Doubled braces stand
for the braces themselves: `{{query}}`.

A path picks ids and scores out of JSON, such as $.hits.hits[*]._id: the part of JSONPath (RFC 9535) with `.name` or
`['any name']` for a key, `[0]` or `[-1]` for a place in a list, `[*]` or `.*` for all of them, and what else may stand
in brackets: a filter `[?@.name == 'x']`, a slice `[:10]`, or several names and places. A key or place that is not there
is an error, since an answer of another shape is no empty answer; a list that is empty gives nothing. An error is also a
filter that fits nothing where a list is taken out of what it picks: `$.variants[?@.name == 'x'].results[*].id`; and so
is an `error` in what a filter picks, or in any object on the way where nothing is found. Filters with match() and
search() are refused: a text from a server could keep a pattern busy for ever.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rankscope.errors import OptionError, did_you_mean, shorten
from rankscope.systems.answers import BadAnswerError, shown
from rankscope.systems.base import Query
from rankscope.systems.secrets import words_about

_PLACE = re.compile(
    r"\$\{(?P<variable>[A-Za-z_]\w*)\}|(?P<open>\{\{)|(?P<close>\}\})|\{(?P<name>[A-Za-z_][\w.-]*?)(?P<default>:-[^{}]*)?\}"
)
_QUOTE = re.compile(r'(?<!\\)"')
ALL = object()
"""The step to everything in a list or table."""

_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]'"*$]+) | (?P<all>\.\*|\[\*\]) | \[(?P<place>-?\d+)\]
    | \['(?P<single>(?:[^'\\]|\\.)+)'\] | \["(?P<double>(?:[^"\\]|\\.)+)"\]""",
    re.VERBOSE,
)


_STEPS_HINT = "for example $.hits.hits[*]._id; the steps are .name, ['name'], [0], [*] and filters [?@.name == 'x']"
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_INSIDE = rf"(?:[^\[\]'\"]|{_TEXT})"
_BRACKET = re.compile(rf"\[(?:{_INSIDE}|\[{_INSIDE}*\])*\]")
"""A filter, slice or list of names: brackets, with at most one pair of others in them."""


def values_of(query: Query, *, k: int) -> dict[str, Any]:
    """Return what the places of a template stand for; an attribute cannot take the place of the query's text."""
    return {**query.attributes, "query": query.text, "query_id": query.id, "k": k}


def fill(template: str, values: Mapping[str, Any], *, escape: Callable[[str], str] = str, is_json: bool = False) -> str:
    """Return a template with its places filled in, each value escaped as the surroundings need it.

    In a template of JSON, a list or object stands as it is, unless its place is inside of a text.
    """

    def replacement(match: re.Match[str]) -> str:
        if match["open"] or match["close"]:
            return match[0][0]
        if name := match["variable"]:
            if name not in os.environ:
                raise OptionError(f"the environment variable {name} is not set", hint=f"set it: export {name}=…")
            return escape(os.environ[name])
        value = value_at(match, values)
        if isinstance(value, Mapping | list | tuple):
            text = json.dumps(value, ensure_ascii=False)
            is_in_text = len(_QUOTE.findall(template[: match.start()])) % 2
            return text if is_json and not is_in_text else escape(text)
        return escape(str(value).lower() if isinstance(value, bool) else str(value))

    return _PLACE.sub(replacement, template)


def value_at(match: re.Match[str], values: Mapping[str, Any]) -> Any:
    """Return the value for a place; a query without it fails: a request with a gap would ask something else."""
    name, default = match["name"], match["default"]
    if (value := values.get(name)) is not None:
        return value
    if default is not None:
        return default.removeprefix(":-")
    hint = did_you_mean(name, values)
    raise BadAnswerError(f"the request needs {{{name}}}, which this query does not have", hint=hint)


def fill_data(template: Any, values: Mapping[str, Any]) -> Any:
    """Return nested data with the places of all its texts filled in.

    A text that is nothing but one place takes on the value itself: "{k}" becomes a number, "{turns:-[]}" a list.
    """
    if isinstance(template, str):
        whole = _PLACE.fullmatch(template)
        if whole is None or not whole["name"]:
            return fill(template, values)
        value = value_at(whole, values)
        return [] if value == "[]" and values.get(whole["name"]) is None else value
    if isinstance(template, Mapping):
        return {fill(str(key), values): fill_data(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_data(value, values) for value in template]
    return template


class Selector(msgspec.Struct, frozen=True):
    """What stands in brackets and may pick any number of values: a filter, a slice, or several names."""

    text: str
    compiled: Any
    """As the library for JSONPath has it."""

    def values(self, data: Any) -> list[Any]:
        return [match.obj for match in self.compiled.finditer(data)]


class JsonPath(msgspec.Struct, frozen=True):
    """A path that has been read, with its text."""

    text: str
    steps: tuple[Any, ...]
    """Each a key as text, a place as whole number, ALL, or a Selector."""

    def values(self, data: Any) -> list[Any]:
        found = [data]
        path = "$"
        faults = [fault_in(data)]
        for number, step in enumerate(self.steps):
            picks_lists = any(later is ALL or isinstance(later, Selector) for later in self.steps[number + 1 :])
            words = f"[{step}]" if isinstance(step, int) else getattr(step, "text", f".{step}")
            path += "[*]" if step is ALL else words
            outer, found = found, []
            for value in outer:
                is_key = isinstance(step, str) and isinstance(value, Mapping) and step in value
                is_place = isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value)
                is_many = isinstance(value, list | Mapping)
                if step is ALL and is_many:
                    found.extend(value.values() if isinstance(value, Mapping) else value)
                elif isinstance(step, Selector) and is_many and ((fit := step.values(value)) or not picks_lists):
                    found.extend(fit)
                    if picks_lists and (fault := next(filter(None, map(fault_in, fit)), "")):
                        raise BadAnswerError(f"the answer holds an error: {fault}")
                elif is_key or is_place:
                    found.append(value[step])
                    faults.append(fault_in(value[step]))
                else:
                    place = words_about(self.text, path) or "a part of it"
                    but = shown(value, limit=80)
                    raise BadAnswerError(f"the answer has nothing at {self.text}: {place} is not there, but {but}")
        if not found and any(faults):
            raise BadAnswerError(f"the answer holds an error: {next(filter(None, faults))}")
        return found


def fault_in(value: Any) -> str:
    """Return what an object says in its `error`; nothing where that is a number, or empty."""
    fault = value.get("error") if isinstance(value, Mapping) else None
    if not fault or (isinstance(fault, int | float) and fault is not True):
        return ""
    return fault if isinstance(fault, str) else shown(fault, limit=200)


def parse_path(text: str, *, what: str = "the path") -> JsonPath:
    """Return the path that a text describes; `$` in front may be left out."""
    rest = text.strip().removeprefix("$")
    if rest and rest[0] not in ".[":
        rest = f".{rest}"
    steps: list[Any] = []
    position = 0
    while position < len(rest):
        match = _STEP.match(rest, position)
        bracket = None if match else _BRACKET.match(rest, position)
        if bracket is not None:
            steps.append(parse_selector(bracket[0], text, what=what))
            position = bracket.end()
            continue
        if match is None:
            raise OptionError(
                f"{what} {text!r} cannot be read{words_about(text, f' from {rest[position:]!r} on')}", hint=_STEPS_HINT
            )
        if match["all"]:
            steps.append(ALL)
        elif match["place"]:
            steps.append(int(match["place"]))
        else:
            steps.append(match["name"] or re.sub(r"\\(.)", r"\1", match["single"] or match["double"]))
        position = match.end()
    return JsonPath(text, tuple(steps))


def parse_selector(bracket: str, path: str, *, what: str) -> Selector:
    """Return what brackets select; a filter sees the entry that it looks at (@), not the whole answer ($)."""
    import jsonpath

    try:
        compiled = jsonpath.compile(f"${bracket}", strict=True)
    except (jsonpath.JSONPathError, OverflowError, RecursionError) as error:
        reading_error = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = words_about(path, f" at {shorten(bracket)}: {shorten(reading_error)}")
        raise OptionError(f"{what} {shorten(path)!r} cannot be read{reason}", hint=_STEPS_HINT) from None
    outside_of_texts = re.sub(_TEXT, "", bracket)
    if re.search(r"\b(match|search)\s*\(", outside_of_texts):
        raise OptionError(
            f"{what} {shorten(path)!r} has a filter with a pattern, "
            "which a text from the server could keep busy for ever",
            hint="compare with a value: @.name == 'x'",
        )
    if "$" in outside_of_texts:
        raise OptionError(
            f"{what} {path!r} has a filter that looks at the whole answer ($)",
            hint="compare with a value: @.name == 'x'",
        )
    return Selector(bracket, compiled)
