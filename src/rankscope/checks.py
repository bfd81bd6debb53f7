"""Checks of options: a value must be of the type that its annotation says, else the error names what is allowed.

Modules on the path of a plain `evaluate` import this one, so it is light. What a value of the right type may be, such
as one of some words, is checked where it is used.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

from rankscope.errors import OptionError, UnknownKeywordError, did_you_mean


def is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number, NumPy's included."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not is_truth(value)


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not is_truth(value)


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple | np.ndarray) and all(map(check, value))


KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "bool": (is_truth, "True or False"),
    "int": (is_whole, "a whole number"),
    "float": (is_number, "a number"),
    "str": (is_text, "a text"),
    "Sequence[int]": (is_list_of(is_whole), "a list of whole numbers"),
    "Sequence[float]": (is_list_of(is_number), "a list of numbers"),
    "tuple[str, ...]": (is_list_of(is_text), "a list of texts"),
    "dict[str, str]": (lambda value: isinstance(value, Mapping), "a dict"),
    "Mapping[str, str]": (lambda value: isinstance(value, Mapping), "a dict"),
}
"""By annotation, how a value is checked, and what it must be in words."""


def check_options(types: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Refuse what is not of the type that its annotation, a text, says.

    What the annotation leaves open (Any), and what may come in many shapes (RunLike), is checked where it is read. Any
    other word is the name of a class.
    """
    for name, value in values.items():
        kinds = types[name].split(" | ")
        if (value is None and "None" in kinds) or any(kind == "Any" or kind.endswith("Like") for kind in kinds):
            continue
        named = [kind for kind in kinds if kind != "None"]
        classes = {parent.__name__ for parent in type(value).__mro__}
        if not any(KINDS[kind][0](value) if kind in KINDS else kind in classes for kind in named):
            wanted = " or ".join(KINDS[kind][1] if kind in KINDS else f"a {kind}" for kind in named)
            none = " (or None)" if "None" in kinds else ""
            raise OptionError(f"{name} is {value!r}, but it must be {wanted}{none}")


def check_at_least(least: float, **values: Any) -> None:
    """Refuse numbers below the least; None is not given."""
    for name, value in values.items():
        if value is not None and not value >= least:
            raise OptionError(f"{name} is {value!r}, but it must be {least} or more")


def check_between(low: float, high: float, **values: Any) -> None:
    """Refuse numbers that are not above the one and below the other; None is not given."""
    for name, value in values.items():
        if value is not None and not low < value < high:
            wanted = f"above {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
            raise OptionError(f"{name} is {value!r}, but it must be {wanted}")


def check_keywords(caller: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a keyword that a function does not have; the error names the closest."""
    for name in given:
        if name not in known:
            raise UnknownKeywordError(
                f"{caller}() got an unexpected keyword argument {name!r}", hint=did_you_mean(name, known)
            )
