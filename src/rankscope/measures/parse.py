"""From a text such as `nDCG(gain='exp2')@10` to a measure; names of other tools are understood on input."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rankscope.errors import MeasureError, did_you_mean
from rankscope.measures import gain, rank, sets  # noqa: F401 (the usual measures register themselves)
from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.measures.spec import Measure

CUTS = "5,10,15,20,30,100,200,500,1000"
TENTHS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
DEFAULT_CUTS = {
    "ndcg_cut": CUTS,
    "map_cut": CUTS,
    "relative_p": CUTS,
    "success": "1,5,10",
    "unj": "5,10,20",
    "iprec_at_recall": TENTHS,
}
"""The cut-offs that trec_eval takes where one of its own names stands without any."""

_OFFICIAL = f"num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P.{CUTS}"
GROUPS = {
    "official": _OFFICIAL,
    "all_trec": f"{_OFFICIAL} recall.{CUTS} infAP gm_bpref Rprec_mult.0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0 utility "
    "11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut relative_P success set_P set_relative_P set_recall set_map "
    "set_F num_nonrel_judged_ret rbp.p=0.9 RBP_resid(p=0.9) unj",
    "set": "num_ret num_rel num_rel_ret utility set_P set_recall set_relative_P set_map set_F",
}
"""trec_eval's names for whole groups of measures."""

# Patterns are compiled when they are first used: most names need none.
_NAME = r"\s*([^\s(@]+?)\s*(?:\((.*)\))?\s*(?:@\s*([^@]+?))?\s*"
_RANX_LEVEL = r"(.+)-l(\d+)"
_TREC_PARAMS = r"([A-Za-z_]*[A-Za-z]|11pt_avg)[._]?([0-9.].*|p=.*)"
_ONE_MORE = r"-?\.?[0-9][0-9.=-]*(?![^,\s])"
"""A further number of a list such as P.5,10: one that runs up to the next comma or blank."""
_IR_MEASURES_GAINS = {"log2": "linear", "exp-log2": "exp2"}
_IR_MEASURES_NAMES = {"gains": "gain", "cutoff": "k", "max_rel": "max_grade"}


def parse_measures(names: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Return the measures named, each once, in the order given.

    Parameters
    ----------
    names
        Names such as ``"nDCG@10"``, also as trec_eval, ranx and ir_measures write them, or measures. A text may name
        several.

    Returns
    -------
    tuple of Measure
        What can be compared, printed and evaluated.

    Raises
    ------
    MeasureError
        There is no such measure, or a parameter is not one of its own.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.parse_measures("ndcg_cut_10 map P.5,10")
    (nDCG@10, AP, P@5, P@10)
    """
    if isinstance(names, str | Measure) or not isinstance(names, Iterable):
        names = [names]
    found: dict[Measure, None] = {}
    for name in names:
        if isinstance(name, Measure):
            found[Measure.of(name.spec, name.options)] = None
        elif isinstance(name, str):
            for part in split_outside(name, " ,\t\n"):
                found.update(dict.fromkeys(parse_one(part)))
        else:
            raise MeasureError(f"{name!r} is not the name of a measure", hint="write 'nDCG@10' or rs.nDCG @ 10")
    if not found:
        raise MeasureError("no measure is named", hint="for example nDCG@10")
    return tuple(found)


def parse_measure(name: str | Measure) -> Measure:
    """Return the one measure that is named.

    Parameters
    ----------
    name
        A name such as ``"nDCG@10"``, also as trec_eval, ranx and ir_measures write it.

    Returns
    -------
    Measure
        What can be compared, printed and evaluated.

    Raises
    ------
    MeasureError
        There is no such measure, or the text names several.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.parse_measure("recip_rank")
    RR
    """
    measures = parse_measures(name)
    if len(measures) != 1:
        raise MeasureError(f"{name!r} names {len(measures)} measures where one is expected")
    return measures[0]


def parse_one(text: str) -> list[Measure]:
    """Return the measures of one name: several where it is a group or has several cut-offs."""
    if text.lower() in GROUPS:
        return [measure for name in GROUPS[text.lower()].split() for measure in parse_one(name)]
    plain, at, cutoff = text.partition("@")
    if plain.lower() in ALIASES.entries and cutoff.isdecimal() == bool(at):  # nDCG@10, AP: no need to look closer
        return build(plain, {}, split_cutoffs(cutoff), text)
    match = re.fullmatch(_NAME, text, re.DOTALL)
    if match is None:
        raise MeasureError(f"{text!r} is not the name of a measure", hint="write it as nDCG@10 or P(rel=2)@5")
    name, inside, cutoffs = match.groups()
    if "-l" in text and (level := re.fullmatch(_RANX_LEVEL, text)):
        return [measure.with_params({"rel": int(level.group(2))}) for measure in parse_one(level.group(1))]
    params = parse_params(inside, text) if inside else {}
    if is_known(name):
        return build(name, params, split_cutoffs(cutoffs), text)
    return parse_trec(name, params, cutoffs, text)


def is_known(name: str) -> bool:
    return name.lower() in ALIASES


def build(alias: str, params: Mapping[str, Any], cutoffs: list[str], text: str) -> list[Measure]:
    """Return the measures of a name with its parameters: one per cut-off, or one where there is none.

    An alias may imply parameters and cut-offs, which those given replace; `text` is what the user wrote, for errors.
    """
    base, implied = ALIASES[alias.lower()]
    spec = REGISTRY[base]
    params = {**implied, **params}
    cutoffs = cutoffs or split_cutoffs(DEFAULT_CUTS.get(alias.lower()))
    if not cutoffs:
        return [Measure.of(spec, params)]
    if spec.cutoff is None:
        raise MeasureError(f"{spec.name} has no cut-off, but {text!r} gives one", hint=f"write {spec.name}")
    if spec.cutoff in params:
        raise MeasureError(f"{spec.cutoff} is given twice in {text!r}")
    return [Measure.of(spec, {**params, spec.cutoff: cut}) for cut in cutoffs]


def split_cutoffs(cutoffs: str | None) -> list[str]:
    """Return the cut-offs behind @, which may be several."""
    return [cut.strip() for cut in cutoffs.split(",")] if cutoffs else []


def parse_trec(name: str, params: Mapping[str, Any], cutoffs: str | None, text: str) -> list[Measure]:
    """Return the measures of a name as trec_eval writes it: P_5, P.5,10, ndcg_cut_10, set_F.0.5, rbp.p=0.8."""
    match = re.fullmatch(_TREC_PARAMS, name)
    base, values = (match.group(1).lower(), match.group(2)) if match else ("", "")
    if not (is_known(base) or base == "rprec_mult") or cutoffs:
        raise MeasureError(
            f"there is no measure {name!r}" + (f" (in {text!r})" if name != text else ""),
            hint=did_you_mean(name, [*REGISTRY, *filter(str.isascii, ALIASES), *GROUPS])
            or "`rankscope measures` lists them all",
        )
    if base == "rprec_mult":
        return [Measure.of(REGISTRY["Rprec"], {**params, "mult": mult}) for mult in values.split(",")]
    if base == "set_f":
        try:
            beta = math.sqrt(float(values))  # trec_eval's is beta squared
        except ValueError:
            raise MeasureError(f"the parameter of {text!r} is not a number", hint="write set_F.0.5") from None
        return build(base, {**params, "beta": beta}, [], text)
    if base == "rbp":
        p = values.removeprefix("p=") if values.startswith("p=") else f"0.{values}"  # ranx writes rbp.95
        return build(base, {**params, "p": p}, [], text)
    if "=" in values:
        return build(base, {**params, "gain": gain_map(values, text)}, [], text)
    return build(base, params, values.split(","), text)


def gain_map(values: str, text: str) -> dict[int, float]:
    """Return the gains of trec_eval's ndcg.1=3,2=9."""
    try:
        return {int(grade): float(gain) for grade, gain in (pair.split("=") for pair in values.split(","))}
    except ValueError:
        raise MeasureError(f"the gains in {text!r} are not grade=gain pairs", hint="write ndcg.1=3,2=9") from None


def parse_params(inside: str, text: str) -> dict[str, Any]:
    """Return the parameters within parentheses: name=value pairs, separated by commas."""
    import ast  # most measures have no parameters within parentheses

    params: dict[str, Any] = {}
    for part in split_outside(inside, ","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise MeasureError(f"{part!r} in {text!r} is not a parameter", hint="write name=value, such as rel=2")
        try:
            parsed = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            parsed = value.strip()  # a bare word is taken as text
        key = _IR_MEASURES_NAMES.get(name.strip(), name.strip())
        if key == "dcg" and parsed in _IR_MEASURES_GAINS:
            key, parsed = "gain", _IR_MEASURES_GAINS[parsed]
        if key in params:
            raise MeasureError(f"{key} is given twice in {text!r}")
        params[key] = parsed
    return params


def split_outside(text: str, separators: str) -> list[str]:
    """Split at separators that stand outside of brackets and quotes; digits after a comma stay (P.5,10)."""
    parts, depth, quote, part = [], 0, "", ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        depth += (char in "([{") - (char in ")]}")
        goes_on = char == "," and part[-1:].isdigit() and re.match(_ONE_MORE, text[i + 1 :]) is not None
        if char in separators and depth == 0 and not quote and not goes_on:
            parts.append(part)
            part = ""
        else:
            part += char
    return [part.strip() for part in [*parts, part] if part.strip()]
