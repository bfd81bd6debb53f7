"""Where the settling of a task stands, as a record and in words: for the owner, and for raters, who know no systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rankscope.comparison.records import Code
from rankscope.data.tasks import LabelRule
from rankscope.judging.labels import stand_in_words
from rankscope.judging.worst_case import queries_words
from rankscope.printable import counted, listed
from rankscope.records import Record
from rankscope.store.labels import QueryDoc

FEWEST_GRADES = 10
"""With fewer docs judged so far, nothing is said of those to come."""
NONE_RELEVANT = "No doc is relevant, so no score differs."

NO_LABELS: dict[LabelRule, str] = {
    "only": "raters gave docs different grades",
    "trusted": "there is no grade of the one rater whose grades count",
    "dawid-skene": "too few raters have given enough grades",
}
"""Why a rule makes no labels, in words for raters, which name neither docs nor people."""

SettlingStage = Literal[
    "nothing to settle", "nothing judged", "cannot be bounded", "no labels", "open", "settled", "audit"
]


class PairSettling(Record, kw_only=True):
    """Where the comparison of two systems stands; differences are b minus a."""

    a: str
    b: str
    measure: str
    code: Code
    """The verdict on the judgments there are."""
    text: str
    reason: str
    delta: float | None
    low: float | None
    """The lowest difference that any grades of the open docs lead to; None where it is not known."""
    high: float | None
    tipping_point: float | None
    """How often the unjudged docs of the system behind would have to be relevant to close the gap; None: no share does,
    or nothing is claimed."""
    n_open: int
    """Open docs that can move the difference."""
    n_outside: int
    """Those of them that the task does not hold."""
    ahead: bool
    """Whether no grades of the open docs change which system has the higher mean, or that both have the same."""
    settled: bool
    """Whether the verdict is the same one whatever the open docs are: those of the task, and those that the measure
    reads of the lists. `SettlingState.open_ideal` says whether other docs could change it."""
    raters_open: bool = False
    """Whether docs are to be judged that may change what raters' own grades make of the verdict; `settled` is said of
    the labels of the task alone."""


class AuditLook(Record, kw_only=True):
    """Where an audit stands: between two planned looks, or at one."""

    n_audited: int
    """Queries at the beginning of the audit order whose docs are all judged."""
    n_queries: int
    look: int
    """How many looks have been reached; 0 before the first."""
    looks: tuple[int, ...]
    """After how many queries each is."""
    level: float
    """Of the intervals at each look."""
    n_changed: int = 0
    """Queries for which the systems have different docs, where only these are audited; 0 where all are."""
    n_all: int = 0
    """All queries that the systems were asked; 0 where all are audited."""
    mixed: bool = False
    """Whether the labels of the model count, corrected by people's; else people's grades alone do."""
    untold: tuple[QueryDoc, ...] = ()
    """Docs that raters could not tell: somebody else is to grade them, as the audit does not go past their queries."""
    untold_by_several: tuple[QueryDoc, ...] = ()
    """Those of them that two raters or more could not tell."""
    n_waiting: int = 0
    """Queries after the first of these that are judged, and do not count yet."""

    @property
    def next_at(self) -> int | None:
        """After how many queries the next look is; None after the last."""
        return self.looks[self.look] if self.look < len(self.looks) else None


class SettlingState(Record, kw_only=True):
    """What is settled in a task after its newest judgment, and what is left to judge."""

    stage: SettlingStage
    """`nothing judged`: no doc is known to be relevant, so there is no verdict yet; `cannot be bounded`: the worst case
    of this measure is not known, and docs are open; `no labels`: the task's rule makes none of the grades there are."""
    last_judgment: int
    """The number of the newest judgment that it knows."""
    n_judged: int
    """Docs that have as many grades as the task asks for."""
    n_open: int
    """Open docs of the task that can still turn a verdict, and that raters are asked for."""
    n_about: int | None
    """About how many judgments it takes if these docs are graded like those so far; None where too few are."""
    n_judgments: int = 0
    """How many judgments these docs lack: as many as raters are to judge each."""
    outside: tuple[QueryDoc, ...] = ()
    """Open docs that can turn a verdict and are not in the task: no rater will grade them."""
    n_untold: int = 0
    """Open docs of the task that can turn a verdict, and that all raters who were asked could not tell; in an audit
    somebody else is asked."""
    n_untrusted: int = 0
    """Docs that the trusted rater did not grade: the lower median of the others counts."""
    n_queries: int = 0
    """On so many queries systems are compared."""
    n_unjudged_queries: int = 0
    """Of these, queries without a judged doc; they count as no difference."""
    overlap: int = 1
    """How many raters judge each doc."""
    task: int | None = None
    """Its number."""
    why: str = ""
    """Why there is nothing to settle, where that is not for want of a measure; or why there are no bounds."""
    rule: LabelRule | None = None
    """The task's rule, where it makes no labels of the grades there are, so that lower medians stand in."""
    no_labels: str = ""
    """Why it makes none; then nothing is settled."""
    measure: str = ""
    depth: int | None = None
    """How many docs of each list the measure reads: these are covered, and the docs of the task; None: all."""
    open_ideal: bool = False
    """Whether a relevant doc that is not covered would change the ideal of the measure, and so could change what is
    called settled."""
    pairs: tuple[PairSettling, ...] = ()
    order: tuple[QueryDoc, ...] = ()
    """Open docs of the task, those that move the verdict most first, and the docs of a query one after the other."""
    look: AuditLook | None = None

    @property
    def n_outside(self) -> int:
        """How many docs outside the task can turn a verdict."""
        return len(self.outside)

    @property
    def can_be_settled(self) -> bool:
        """Whether it is settled for certain once the docs of the task are judged."""
        return not self.outside and not self.n_untold and not self.no_labels

    @property
    def settled(self) -> bool:
        """Whether no grades of open docs that are covered can change the verdict."""
        return self.stage == "settled"

    @property
    def short(self) -> str:
        """A line for raters: it names no system and no verdict."""
        return rater_line(self)

    @property
    def lines(self) -> tuple[str, ...]:
        """For those who may know the systems: what stands, what it would take, and what that assumes."""
        pairs = (pair_words(pair, self) for pair in self.pairs)
        last = assumption_words(self), stand_in_line(self), not_covered_words(self), untrusted_words(self)
        return tuple(line for line in (queries_line(self), *pairs, *last) if line)

    @property
    def words(self) -> str:
        """The lines as one text."""
        return " ".join(self.lines)


def rater_line(state: SettlingState) -> str:
    """Say how far it is to a settled answer, to somebody who is not to know between which systems."""
    if state.stage == "settled":
        which = " as far as these docs go: no grade of those" if state.open_ideal else ": no grade of the docs"
        answer = "the answer"
        if any(pair.raters_open for pair in state.pairs):
            answer = "what all grades say together; what those of single raters make of it can change"
        return f"It is settled{which} that are left can change {answer}."
    if state.look is not None:
        n = len(state.look.untold)
        others = (
            f" {counted(n, 'doc')} that could not be told {'waits' if n == 1 else 'wait'} for somebody who can."
            * (n > 0)
        )
        return look_words(state.look) + others
    if state.stage == "nothing to settle":
        return ""
    docs = "" if state.n_judgments == state.n_open else f" (of {counted(state.n_open, 'doc')})"
    if state.rule is not None:
        return no_labels_line(state.rule, f"{counted(state.n_judgments, 'judgment')}{docs}" if state.n_open else "")
    if not state.n_open and state.can_be_settled:
        return NONE_RELEVANT
    if not state.can_be_settled:
        if not state.n_open:
            return "No judgment of this task is left that can change the answer, which is not settled."
        left = counted(state.n_judgments, "judgment")
        others = "other docs can, too" if state.outside else "docs that nobody could tell can, too"
        return f"{left}{docs} of this task can change the answer; {others}."
    settled = "it is settled as far as these docs go" if state.open_ideal else "it is settled"
    if state.n_about is None or state.n_about == state.n_judgments:
        return f"At most {more_judgments(state.n_judgments)}{docs} and {settled}."
    return f"About {more_judgments(state.n_about)} and {settled}, at most {state.n_judgments:,}{docs}."


def no_labels_line(rule: LabelRule, left: str) -> str:
    """Say to a rater that the rule makes no labels of the grades there are; `left` is what can still be judged."""
    more = f" Of this task {left} can be given." if left else ""
    return (
        f"It is not settled: the rule of this task gives no labels yet, as {NO_LABELS[rule]}; "
        f"the lower median stands in until it does.{more}"
    )


def more_judgments(n: int) -> str:
    return f"{n:,} more judgment{'' if n == 1 else 's'}"


def look_words(look: AuditLook) -> str:
    done = f"{look.n_audited:,} of {counted(look.n_queries, 'query')} audited"
    if look.next_at is None:
        return f"{done}; {'all planned looks are' if len(look.looks) > 1 else 'the only look is'} reached."
    which = f"look {look.look + 1} of {len(look.looks)}" if len(look.looks) > 1 else "the only look"
    return f"{done}; {which} is after {look.next_at:,}."


def pair_words(pair: PairSettling, state: SettlingState) -> str:
    """Say what stands between two systems, how far the open docs could move it, and which docs these are."""
    against = f"{pair.b} against {pair.a}: {pair.text} {pair.reason}".rstrip()
    if pair.settled:
        which = f" of the task, or {read_words(state)}," if state.open_ideal else ""
        what = "what the labels say; what single raters' grades make of it can change" if pair.raters_open else "this"
        return f"{against} Settled: no grade of an open doc{which} changes {what}."
    if pair.low is None or pair.high is None:
        return against
    ends = f"{pair.low:+z.3f} to {pair.high:+z.3f}"
    stays = "they do not change who is ahead" if state.open_ideal else "who is ahead is certain"
    ahead = f" ({stays})" if pair.ahead else ""
    outside = f" ({pair.n_outside:,} of them outside the task)" if pair.n_outside else ""
    return (
        f"{against} Not settled: {counted(pair.n_open, 'open doc')}{outside} could make the difference {ends}{ahead}."
    )


def read_words(state: SettlingState) -> str:
    """Say which docs of the lists a measure reads."""
    if state.depth is None:
        return "of a list"
    return "at rank 1 of a list" if state.depth == 1 else f"among the first {state.depth:,} of a list"


def not_covered_words(state: SettlingState) -> str:
    """Say which docs are not covered where these could change the verdict: it may be any relevant one of all docs."""
    if not state.open_ideal:
        return ""
    which = "that no list has" if state.depth is None else "further down, or in no list,"
    return f"Not covered: a relevant doc {which} would change the ideal of {state.measure}, and so could change this."


def audit_words(look: AuditLook, *, has_pairs: bool) -> str:
    """Say which look it is, how wide that makes intervals, and of which queries it is said."""
    several = len(look.looks) > 1
    words = f"{look_words(look)} {'Each look' if several else 'It'} has a level of {look.level:.1%}."
    if several and look.next_at is not None:
        words += " Intervals are wider, as there may be more looks."
    if not has_pairs or look.mixed:
        return words
    if look.n_changed < look.n_all:
        where = f"It is said of all {counted(look.n_all, 'query')}, of which {look.n_changed} have different docs"
        return f"{words} {where} and are audited; people's grades alone count."
    return f"{words} People's grades alone count."


def untold_words(look: AuditLook) -> str:
    """Say which docs an audit waits for because raters cannot tell them, and what can be done."""
    if not look.untold:
        return ""
    waits = "that is judged waits" if look.n_waiting == 1 else "that are judged wait"
    waiting = f", so {counted(look.n_waiting, 'query')} {waits}" if look.n_waiting else ""
    could_not = f"{docs_words(look.untold)} could not be told{waiting}: an audit goes in its order."
    words = f"{could_not} Somebody who can tell has to grade {it(look.untold)}."
    return f"{words} {untold_by_several_words(look)}".rstrip()


def untold_by_several_words(look: AuditLook) -> str:
    """Say what becomes of an audit whose docs a second rater could not tell either."""
    docs = look.untold_by_several
    if not docs:
        return ""
    without = "" if look.next_at is None else f", without the look after {look.next_at:,}"
    which = docs_words(docs)
    those = it(docs) if docs == look.untold else f"{which[0].lower()}{which[1:]}"
    return (
        f"Two raters or more could not tell {those}: as long as nobody can, the audit stays at "
        f"{counted(look.n_audited, 'query')}{without}. No query is left out for it, as the others would be no random "
        "ones any more."
    )


def docs_words(docs: Sequence[QueryDoc]) -> str:
    return f"{'Doc' if len(docs) == 1 else 'Docs'} {listed([f'{doc} of query {query}' for query, doc in docs])}"


def it(docs: Sequence[QueryDoc]) -> str:
    return "it" if len(docs) == 1 else "them"


def assumption_words(state: SettlingState) -> str:
    """Say how many judgments are left, and what that number assumes."""
    if state.look is not None:
        return f"{audit_words(state.look, has_pairs=bool(state.pairs))} {untold_words(state.look)}".rstrip()
    if state.stage == "nothing to settle":
        return state.why or "No measure is named, so nothing is to be settled."
    if state.rule is not None:
        each = "" if state.n_judgments == state.n_open else f" ({more_judgments(state.n_judgments)})"
        return f"{counted(state.n_open, 'open doc')} of the task can be judged{each}." if state.n_open else ""
    if state.stage == "cannot be bounded":
        return unbounded_words(state)
    if state.stage == "settled":
        return ""
    return left_words(state)


def left_words(state: SettlingState) -> str:
    """Say how many docs are left of a task that is not settled, and whether they settle it."""
    if not state.n_open and state.can_be_settled:
        return NONE_RELEVANT
    each = "" if state.n_judgments == state.n_open else f" ({more_judgments(state.n_judgments)})"
    if not state.can_be_settled:
        left = f"{counted(state.n_open, 'open doc')} of the task can move it{each}. " if state.n_open else ""
        return left + " ".join(cannot_words(state))
    certain = "as far as these docs go" if state.open_ideal else "for certain"
    every = "the" if state.n_open == 1 else "all"
    most = f"Judging {every} {counted(state.n_open, 'open doc')} that can move it{each} settles it {certain}"
    if state.n_about is None:
        few, by = (
            state.n_judged < FEWEST_GRADES,
            f"judged by {state.overlap:,} raters" if state.overlap > 1 else "graded",
        )
        return f"{most}; {FEWEST_GRADES} docs have to be {by} before there is a guess at fewer." if few else f"{most}."
    about = counted(state.n_about, "judgment") if each else f"{state.n_about:,}"
    would = "does if it is" if state.n_about == 1 else "do if they are"
    return f"{most}; about {about} {would} graded like those so far."


def unbounded_words(state: SettlingState) -> str:
    """Say how many docs are left where nothing is known of what they could do."""
    each = "" if state.n_judgments == state.n_open else f" ({more_judgments(state.n_judgments)})"
    if state.can_be_settled:
        every, are = ("the", "is") if state.n_open == 1 else ("all", "are")
        return f"{state.why}: it is settled once {every} {counted(state.n_open, 'open doc')}{each} {are} judged."
    left = f" {counted(state.n_open, 'open doc')} of the task can be judged{each}." if state.n_open else ""
    return " ".join([f"{state.why}: it is not settled as long as docs are open.{left}", *cannot_words(state)])


def cannot_words(state: SettlingState) -> Iterator[str]:
    """Say why the task alone cannot settle it, and what adds what it lacks."""
    if state.outside:
        docs = counted(state.n_outside, "doc")
        them = "it" if state.n_outside == 1 else "them"
        add = "" if state.task is None else f"; `rankscope judge extend {state.task} --settle` adds {them}"
        yield f"The task alone cannot settle it for certain: {docs} outside it could turn it{add}."
    if state.n_untold:
        docs = counted(state.n_untold, "doc")
        add = "" if state.task is None else f" (`rankscope judge extend {state.task} --overlap N`)"
        turn = f"{docs} that raters could not tell could turn it"
        if state.n_open or state.outside:
            yield f"{turn}, too: other docs may settle it all the same; if not, more raters of each doc can{add}."
        else:
            yield f"{turn}: only more raters of each doc can settle that{add}."


def queries_line(state: SettlingState) -> str:
    """Say on which queries systems are compared, once there is a verdict."""
    return queries_words(state.n_queries, state.n_unjudged_queries) if state.pairs and state.look is None else ""


def stand_in_line(state: SettlingState) -> str:
    """Say that the labels are not those of the task's rule, and why."""
    return "" if state.rule is None else stand_in_words(state.rule, state.no_labels)


def untrusted_words(state: SettlingState) -> str:
    """Say of how many docs the label is not that of the trusted rater."""
    if not state.n_untrusted:
        return ""
    return (
        f"The trusted rater did not grade {counted(state.n_untrusted, 'doc')} of those graded: "
        "the lower median of the others counts there."
    )
