"""Words of statistics that stand in reports, each explained in a sentence or two, for those who meet them there."""

from __future__ import annotations

import re
from collections.abc import Iterator

TERMS: dict[str, tuple[str, str]] = {
    "p (adj.)": (
        r"p \(adj\.?\)",
        """How often chance alone would give a difference at least this large if the systems were equally good,
        corrected for the number of comparisons. Small values speak against chance; they say nothing about the size.""",
    ),
    "won / tied / lost": (
        r"W / T / L|won / tied / lost",
        "On how many queries the system scores higher than, the same as, and lower than the one it is compared with.",
    ),
    "d_z": (
        r"d_z",
        """Size of the effect: the mean difference divided by the spread of the differences between queries. As a rule
        of thumb, 0.2 is small, 0.5 medium and 0.8 large.""",
    ),
    "margin": (
        r"margin",
        "The smallest difference that one would act on; what lies within it is called practically the same.",
    ),
    "confidence interval": (
        r"(?:simultaneous )?\d\d(?:\.\d)?% (?:CI|intervals?|confidence intervals?)|confidence intervals?",
        """The differences that agree with the data: if this were repeated with other queries of the same kind, the
        stated share of such intervals would contain the true difference. Simultaneous: all of a page do so jointly.""",
    ),
    "Δ (difference)": (r"Δ", "The difference of the means: the system less the one it is compared with."),
    "smallest difference that can be found": (
        r"MDE|smallest difference (?:that )?this set can find",
        """With this many queries, a true difference of that size is found in 80 of 100 tests; a smaller one is often
        missed.""",
    ),
    "baseline": (r"baseline", "The system that the others are compared with, usually the one in use."),
    "judged": (
        r"judged@\d+",
        "The share of the first results that somebody has judged; the others count as not relevant.",
    ),
    "bootstrap": (
        r"(?:Bayesian )?bootstrap",
        """The differences are drawn again many times from those that were seen, to learn how much chance can move the
        mean.""",
    ),
    "run to run": (
        r"[Rr]un to run",
        """How much a mean changes when the same system is asked again: the standard deviation between repetitions.""",
    ),
    "exploratory": (
        r"[Ee]xploratory|explor\.",
        """To find ideas, not to prove them: looked at beside the one question that was asked, so findings by chance
        are likely.""",
    ),
}
"""By name: how it stands in a report, as a regular expression, and what it means."""

_ANY = re.compile("|".join(rf"(?<!\w)(?:{pattern})(?!\w)" for pattern, _ in TERMS.values()))
_MEASURE = re.compile(r"[A-Za-z][\w-]*(?:\([^()]*\))?@\d+|nDCG|AP|RR|bpref|Rprec")
_WHOLE = [(re.compile(pattern), name) for name, (pattern, _) in TERMS.items()]


def split_terms(text: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text with the name of the term that each is, or nothing."""
    end = 0
    for found in _ANY.finditer(text):
        if found.start() > end:
            yield text[end : found.start()], ""
        yield found[0], next(name for pattern, name in _WHOLE if pattern.fullmatch(found[0]))
        end = found.end()
    if end < len(text):
        yield text[end:], ""


def meaning(name: str) -> str:
    return " ".join(TERMS[name][1].split())


def measure_meaning(text: str) -> str:
    """Return what a measure answers, where a text is the name of one; otherwise nothing."""
    if not _MEASURE.fullmatch(text):
        return ""
    from rankscope.errors import MeasureError
    from rankscope.measures.parse import parse_measure

    try:
        spec = parse_measure(text).spec
    except MeasureError:
        return ""
    return f"{spec.title[:1].upper()}{spec.title[1:]}. {spec.summary}"
