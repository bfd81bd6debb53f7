"""The recommendation: what to do, in one sentence, from the verdicts and nothing else.

| action | when | systems |
| --- | --- | --- |
| use | it is better than the baseline, or than each of the others | that one |
| prefer | it is probably better | that one |
| keep | no other system is better, or shown to be | the baseline |
| either | no difference, or none that matters | all of them |
| choose | all pairs are compared, and some may be as good as the leader | those, the leader first |
| none | not comparable, too few queries, or means over different queries | none |
| by_group | groups of queries, such as languages, call for different things | none |
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from rankscope.comparison.records import Action, Code, PairResult, QueryGroup, Recommendation
from rankscope.comparison.verdict import CLAIMS, MIN_UNITS, TURNED, WORDS, about, decimals, unit_word
from rankscope.printable import SHOWN_NAMES, counted, listed

BETTER: tuple[Code, ...] = ("better", "probably_better")
WORSE: tuple[Code, ...] = ("worse", "probably_worse")
ALIKE: tuple[Code, ...] = ("same", "identical")
OPEN: tuple[Code, ...] = ("cannot_tell", "too_few")
ACTIONS: dict[Code, Action] = {"better": "use", "probably_better": "prefer"}
IN_DOUBT: tuple[Code, ...] = ("not_safe", "not_comparable")
KEPT_BY: tuple[Code, ...] = ("cannot_tell", "not_safe", "too_few", *ALIKE, "probably_worse", "worse")
"""Verdicts on others by which a baseline is kept, the one that leaves most open first."""
JUDGE = "Judging the docs that rankscope compare --settle FILE lists would settle it."
LONGEST = 120
"""A headline that is longer names fewer systems, where it can."""


def recommend(groups: Sequence[QueryGroup], baseline: str | None, *, at: str = "in") -> Recommendation:
    """Return what to do; where groups of queries call for different things, what to do in each (`at` each: in, on)."""
    found = [(group.name or "", group.recommendation or recommend_in(group, baseline)) for group in groups]
    if len(found) == 1:
        return found[0][1]
    places: dict[tuple[Action, tuple[str, ...]], list[str]] = {}
    for name, one in found:
        places.setdefault((one.action, one.systems), []).append(name)
    words = [f"{phrase(action, systems)} {at} {listed(names, most=8)}" for (action, systems), names in places.items()]
    text = "; ".join(words)
    codes = {one.code for _, one in found}
    (action, systems), *others = places
    return Recommendation(
        text=f"{text[0].upper()}{text[1:]}." if words[0][0].islower() else f"{text}.",
        action="by_group" if others else action,
        systems=() if others else systems,
        code=code_over(codes),
    )


def code_over(codes: AbstractSet[Code]) -> Code:
    """Return what groups of queries say together: the weaker of two that go the same way, else it is open."""
    if len(codes) == 1:
        return next(iter(codes))
    if codes <= set(WORSE):
        return "probably_worse"
    return "probably_better" if codes <= set(BETTER) else "cannot_tell"


def phrase(action: Action, systems: Sequence[str]) -> str:
    """Return an action in a word or two, for a sentence over several groups."""
    return {
        "use": f"use {listed(systems)}",
        "prefer": f"prefer {listed(systems)}, which is probably better,",
        "keep": f"keep {listed(systems)}",
        "either": "any system will do",
        "choose": f"choose between {listed(systems)}" if len(systems) > 1 else f"choose {listed(systems)} for now",
        "none": "nothing can be recommended",
        "by_group": "",
    }[action]


def recommend_in(group: QueryGroup, baseline: str | None) -> Recommendation:
    """Return what to do by the verdicts on one group of queries."""
    if len(group.compared) == 1:
        return of_one_pair(group.compared[0], has_baseline=baseline is not None)
    if not group.leaderboard:
        return Recommendation("Nothing can be recommended: no query has a score.", "none", (), "not_comparable")
    if all(code_of(pair) == "not_comparable" for pair in group.compared):
        words = "Nothing can be recommended: no two of the systems are comparable."
        return Recommendation(words, "none", (), "not_comparable")
    if all(code_of(pair) in ALIKE for pair in group.compared):
        return of_equals(group)
    if baseline is None:
        return among_all(group)
    return against_baseline(group, baseline)


def of_one_pair(pair: PairResult, *, has_baseline: bool) -> Recommendation:
    code = code_of(pair)
    if not has_baseline and code in WORSE:  # nobody is the one to be kept
        code = TURNED[code]
        return Recommendation(better_words(pair, pair.a, pair.b, code), ACTIONS[code], (pair.a,), code)
    if code in BETTER:
        return Recommendation(better_words(pair, pair.b, pair.a, code), ACTIONS[code], (pair.b,), code)
    if code in ALIKE:
        how = f"practically the same (the difference is below {pair.margin:g})"
        if not pair.differs:
            how = f"equal in every query's {pair.measure}"
        if code == "identical":
            how = "identical"
        return Recommendation(f"Either will do: {pair.b} and {pair.a} are {how}.", "either", (pair.a, pair.b), code)
    if code == "not_comparable":
        words = f"Nothing can be recommended: {pair.b} and {pair.a} are not comparable."
        return Recommendation(words, "none", (), code)
    words = {
        "worse": f"{pair.b} is worse, by {gain_words(pair)}",
        "probably_worse": f"{pair.b} is probably worse, by {gain_words(pair)}{unless(pair, 'loss')}",
        "cannot_tell": f"{pair.b} is not shown to be better{', but may be' if pair.gain > 0 else ''}",
        "too_few": f"{few_words([pair])} to tell whether {pair.b} is better; at least {MIN_UNITS} are needed",
        "not_safe": f"whether {pair.b} is better is not safe to say, as too many results are unjudged",
    }[code]
    more = more_queries([pair]) if code == "cannot_tell" else JUDGE if code == "not_safe" else ""
    if has_baseline:
        return Recommendation(f"Keep {pair.a}: {words}.", "keep", (pair.a,), code, more)
    words = {
        "cannot_tell": f"{pair.a} and {pair.b} cannot be distinguished",
        "too_few": f"{few_words([pair])} to distinguish {pair.a} and {pair.b}; at least {MIN_UNITS} are needed",
        "not_safe": f"which of {pair.a} and {pair.b} is better is not safe to say, as too many results are unjudged",
    }[code]
    return Recommendation(f"Nothing can be recommended: {words}.", "none", (), code, more)


def of_equals(group: QueryGroup) -> Recommendation:
    """Return what to do where no pair has a difference that matters."""
    codes, systems = {code_of(pair) for pair in group.compared}, systems_of(group)
    how = f"practically the same (differences below {group.compared[0].margin:g})"
    if not any(pair.differs for pair in group.compared):
        how = "identical" if codes == {"identical"} else f"equal in every query's {group.compared[0].measure}"
    code: Code = "identical" if codes == {"identical"} else "same"
    return Recommendation(f"Any will do: all {len(systems)} systems are {how}.", "either", systems, code)


def against_baseline(group: QueryGroup, baseline: str) -> Recommendation:
    """Return what to do where several systems are compared with a baseline, but not with one another."""
    pairs = in_order_of_gain(group.compared)
    for code in BETTER:
        found = [pair for pair in pairs if code_of(pair) == code]
        if found:
            return of_better_ones(found, pairs, group, baseline)
    comparable = [pair for pair in pairs if code_of(pair) != "not_comparable"]
    code = min((code_of(pair) for pair in comparable), key=KEPT_BY.index)
    if all(code_of(pair) == "too_few" for pair in comparable):
        words = f"{few_words(comparable)} to tell whether another is better; at least {MIN_UNITS} are needed"
        return Recommendation(f"Keep {baseline}: {words}.", "keep", (baseline,), code)
    settled = all(code_of(pair) in (*WORSE, *ALIKE) for pair in pairs)
    words = f"none of the {len(pairs)} others is {'better' if settled else 'shown to be better'} on this set"
    hopeful = [pair.b for pair in pairs if code_of(pair) == "cannot_tell" and pair.gain > 0]
    if hopeful:
        words = short_enough(hopeful, f"Keep {baseline}: {words}; {{}} may be.", last="or")
    else:
        words = f"Keep {baseline}: {words}."
    return Recommendation(words, "keep", (baseline,), code, " ".join(open_words(pairs, baseline)))


def of_better_ones(
    found: Sequence[PairResult], pairs: Sequence[PairResult], group: QueryGroup, baseline: str
) -> Recommendation:
    """Return what to do where some systems are better than the baseline, or probably so, the largest gain first."""
    best, code = found[0], found[0].final_verdict.code
    if len(found) > 1 and not group.is_over_same_queries:
        names = tuple(pair.b for pair in found)
        words = f"each is {WORDS[code]} than {baseline}, but their means are not over the same queries"
        text = f"{ACTIONS[code].capitalize()} {listed(names, last='or')}: {words}."
        return Recommendation(text, ACTIONS[code], names, code)
    others = [pair.b for pair in found[1:]]
    more = []
    if others:
        are = "is" if len(others) == 1 else "are"
        more.append(f"{listed(others, most=3)} {are} {WORDS[code]}, too, but not by more than {best.b}.")
    ahead = [pair.b for pair in pairs if pair.gain > best.gain]
    if ahead and group.is_over_same_queries:
        more.append(f"{listed(ahead)} {'has' if len(ahead) == 1 else 'have'} a better mean, but a weaker verdict.")
    return Recommendation(
        better_words(best, best.b, baseline, code), ACTIONS[code], (best.b,), code, more=" ".join(more)
    )


def open_words(pairs: Sequence[PairResult], baseline: str) -> Iterator[str]:
    """Say how many more queries would be enough, which systems are left open, and of which nothing can be said."""
    unsure = [pair for pair in pairs if code_of(pair) == "cannot_tell"]
    hopeful = [pair for pair in unsure if pair.gain > 0]
    if unsure and not hopeful:
        yield f"{listed([pair.b for pair in unsure])} cannot be distinguished from {baseline}."
    yield from filter(None, [more_queries(hopeful or unsure)])
    for code, what in (
        ("not_safe", "not safe to call, as too many results are unjudged"),
        ("too_few", "known by too few queries"),
        ("not_comparable", f"not comparable with {baseline}"),
    ):
        names = [pair.b for pair in pairs if code_of(pair) == code]
        if names:
            yield f"{listed(names)} {'is' if len(names) == 1 else 'are'} {what}."


def among_all(group: QueryGroup) -> Recommendation:
    """Return what to do where each is compared with each: how the one with the best mean stands to the others."""
    top, names = group.leaderboard[0].system, systems_of(group)
    if not group.is_over_same_queries:
        words = "the means are not over the same queries, so none of them is the best"
        return Recommendation(f"Nothing can be recommended: {words}.", "none", (), "cannot_tell")
    if max(pair.n_units for pair in group.compared) < MIN_UNITS:
        words = f"{few_words(group.compared)} to distinguish the systems"
        return Recommendation(
            f"Nothing can be recommended: {words}; at least {MIN_UNITS} are needed.", "none", (), "too_few"
        )
    losers = {pair.a if code_of(pair) in BETTER else pair.b for pair in group.compared if code_of(pair) in CLAIMS}
    codes = codes_against(top, group)
    beaten = {name: code for name, code in codes.items() if code in BETTER}
    if len(beaten) == len(names) - 1:
        nearest = min((pair for pair in group.compared if top in (pair.a, pair.b)), key=lambda pair: abs(pair.gain))
        if set(beaten.values()) == {"better"}:
            words = f"Use {top}: it is better than each of the {len(beaten)} others, by {gain_words(nearest)} or more."
            return Recommendation(words, "use", (top,), "better")
        words = f"Prefer {top}: it is better, or probably better, than each of the {len(beaten)} others."
        return Recommendation(words, "prefer", (top,), "probably_better")
    if top in losers:
        words = f"{top} has the best mean, but another is better than it by verdict"
        return Recommendation(f"Nothing can be recommended: {words}.", "none", (), "cannot_tell")
    unsure = [place.system for place in group.leaderboard if codes.get(place.system) in (*OPEN, *ALIKE)]
    rivals = [name for name in unsure if name not in losers]
    words = f"Choose {top} for now: it has the best mean, but is not shown to be the best."
    more: list[str] = []
    if rivals:
        words = "Choose among {}: none of them is shown to be better than another."
        if len(rivals) == 1:
            words = "Choose between {}: neither is shown to be better."
        words = short_enough([top, *rivals], words, most=5)
        pairs = (pair for pair in group.compared if top in (pair.a, pair.b) and {pair.a, pair.b} & set(rivals))
        more += filter(None, [more_queries([pair for pair in pairs if code_of(pair) == "cannot_tell"], f" from {top}")])
    if beaten:
        more.append(f"{top} is better, or probably better, than {len(beaten)} of the {len(names) - 1} others.")
    doubtful = [place.system for place in group.leaderboard if codes.get(place.system) in IN_DOUBT]
    if doubtful:
        are = "is" if len(doubtful) == 1 else "are"
        more.append(f"{listed(doubtful)} {are} {doubt_words(codes[name] for name in doubtful)} against {top}.")
    code: Code = "cannot_tell" if unsure else "not_safe"
    return Recommendation(words, "choose", (top, *rivals), code, more=" ".join(more))


def code_of(pair: PairResult) -> Code:
    return pair.final_verdict.code


def doubt_words(codes: Iterable[Code]) -> str:
    return " or ".join(WORDS[code] for code in sorted(set(codes), key=list(WORDS).index))


def better_words(pair: PairResult, winner: str, other: str, code: Code) -> str:
    weakened = "" if code == "better" else unless(pair, "gain")
    how = f"it is {WORDS[code]} than {other}, by {gain_words(pair)}{weakened}"
    return f"{ACTIONS[code].capitalize()} {winner}: {how}."


def gain_words(pair: PairResult) -> str:
    return f"{abs(pair.gain):.{decimals(pair)}f} in {pair.measure}"


def unless(pair: PairResult, what: str) -> str:
    """Say what weakens a probable verdict."""
    if pair.final_verdict.because == "unjudged" and pair.unjudged is not None:
        return f", unless {pair.unjudged.system}'s unjudged results are unusually good"
    return f", but the {what} may be too small to matter"


def more_queries(pairs: Sequence[PairResult], against: str = "") -> str:
    """Say how many more queries would be enough, where the records know it and it is more than there are."""
    needed = [max(pair.n_needed, MIN_UNITS) - pair.n_units for pair in pairs if pair.n_needed is not None]
    if len(needed) < len(pairs) or min(needed, default=0) <= 0:
        return ""  # where one of them has no figure, no number of queries is known to tell
    what = f"would be enough to detect a difference of {pairs[0].margin:g}{against}"
    return f"About {about(max(needed))} more {unit_word(pairs[0])} {what}{if_as_seen(pairs)}."


def if_as_seen(pairs: Sequence[PairResult]) -> str:
    """Say how many more queries it would take if the true differences were those that were found."""
    known = [pair for pair in pairs if pair.mde.value and pair.gain]
    needed = [math.ceil(pair.n_units * ((pair.mde.value or 0.0) / pair.gain) ** 2) - pair.n_units for pair in known]
    if len(known) < len(pairs) or max(needed) <= 0:
        return ""
    are = "the difference is" if len(pairs) == 1 else "the differences are"
    return f", about {about(max(needed))} if {are} as large as found here"


def few_words(pairs: Sequence[PairResult]) -> str:
    most = max(pairs, key=lambda pair: pair.n_units)
    units = counted(most.n_units, "cluster" if most.clustered else "query")
    return f"{units} {'is' if most.n_units == 1 else 'are'} too few"


def in_order_of_gain(pairs: Sequence[PairResult]) -> list[PairResult]:
    """Return pairs, the largest gain over the baseline first; one without a difference last."""
    return sorted(pairs, key=lambda pair: -pair.gain if pair.gain == pair.gain else float("inf"))


def systems_of(group: QueryGroup) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for pair in group.compared for name in (pair.a, pair.b)))


def codes_against(system: str, group: QueryGroup) -> dict[str, Code]:
    """Return the verdict on a system against each other one, as if it were the challenger."""
    found: dict[str, Code] = {}
    for pair in group.compared:
        code = code_of(pair)
        if pair.b == system:
            found[pair.a] = code
        elif pair.a == system:
            found[pair.b] = TURNED.get(code, code)
    return found


def short_enough(names: Sequence[str], sentence: str, *, last: str = "and", most: int = SHOWN_NAMES) -> str:
    """Return a sentence with as many of the names in place of {} as keep it short, but two of them at least."""
    before, after = sentence.split("{}")
    found = (f"{before}{listed(names, last=last, most=n)}{after}" for n in range(most, 2, -1))
    return next((text for text in found if len(text) <= LONGEST), f"{before}{listed(names, last=last, most=2)}{after}")
