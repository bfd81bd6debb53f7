"""What a judging task is: the docs to judge, the guideline, the scale, and who judges.

The judgments of a task name it by its number as a text. What a rater said of a doc that was shown a second time is kept
under another name (`again_name`), so that it never becomes a label, and can be compared with what was said first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from rankscope.records import Record

TaskMode = Literal["docs", "lists"]
"""`docs`: one doc at a time is graded; `lists`: whole result lists side by side."""
TaskState = Literal["open", "stopped"]
PoolKind = Literal["top", "settle", "sample", "disagreements", "audit", "file"]
"""Where the docs come from: the first k of each system, those that move a comparison, a random sample, docs on which a
judge and people differ, the order of an audit, or a file."""
LabelRule = Literal["lower median", "majority", "mean", "max", "trusted", "latest", "dawid-skene", "only"]
"""How several grades of a doc become one; `mean` is rounded to the nearest grade of the scale."""
CannotTell = Literal["query unclear", "doc unclear"]
CANNOT_TELL: tuple[CannotTell, ...] = get_args(CannotTell)


def reason_and_note(note: str) -> tuple[CannotTell | None, str]:
    """Return why somebody cannot tell, and what they noted beside: a judgment keeps both in one text."""
    reason = next((each for each in CANNOT_TELL if note == each or note.startswith(f"{each}: ")), None)
    return reason, note if reason is None else note.removeprefix(reason).removeprefix(": ")


AGAIN = " again"


def again_name(task: str) -> str:
    """Return the `task` of judgments of docs that were shown a second time."""
    return task + AGAIN


class GradeLabel(Record):
    """A grade of the scale, as raters see it."""

    grade: float
    label: str
    """A word or two: "Relevant"."""
    description: str = ""
    """Half a line: "a fair choice"."""


class Guideline(Record):
    """What raters follow: a text in Markdown, with the scale. Another text is another version."""

    text: str
    scale: tuple[GradeLabel, ...]
    flag_reasons: tuple[str, ...] = ()
    """Notes that a rater can choose with one press."""


class TaskPlan(Record, kw_only=True):
    """What a task is made of; it stays as it is, but for how many docs there are, and raters of each."""

    mode: TaskMode = "docs"
    pool: PoolKind = "top"
    k: int = 10
    systems: tuple[str, ...] = ()
    """Whose docs, or in `lists` whose lists; the first is the baseline."""
    runs: tuple[int, ...] = ()
    """Numbers of the stored runs of these systems, in the same order."""
    measure: str = ""
    """By which the systems are compared, such as nDCG@10; empty where nothing is to be settled."""
    margin: float | None = None
    """The smallest difference that matters; None: the usual one of the measure."""
    unusable_margin: str = ""
    """What a store holds instead of a margin where that is no number: nothing is settled by such a plan."""
    qrels: int | None = None
    """The stored qrels that are known already; None: judged from nothing."""
    overlap: int = 1
    """How many raters judge each doc."""
    gold_share: float = 0.0
    """The share of a rater's docs that are gold: their grade is known, and the rater is checked against it."""
    repeat_share: float = 0.05
    """The share of docs that a rater is shown twice, to compare what they say; of lists, the sides are swapped."""
    blind: bool = True
    """Whether raters see neither systems nor ranks."""
    rule: LabelRule = "lower median"
    trusted: str = ""
    """The rater whose grade counts, where the rule is `trusted`: by name or number, and by id once names change."""
    seed: int = 0
    judge_qrels: int | None = None
    """The stored qrels of a judge that is a model, which people audit or disagree with."""
    size: int | None = None
    """How many docs at most, of `top` those of whole queries; of an audit or of lists how many queries; None: all."""
    changed_only: bool = True
    """Whether an audit of several systems leaves out queries for which all of them have the same first k docs."""
    looks: tuple[int, ...] = (20, 40, 80)
    """After how many audited queries an audit is looked at."""
    earlier_guidelines: tuple[str, ...] = ()
    """The sha256 of texts that the task had before its present one: a page that was open meanwhile follows them."""


class Task(Record, kw_only=True):
    """A stored task."""

    number: int
    name: str
    collection: str
    plan: TaskPlan
    guideline: str
    """The sha256 of the guideline that holds now; judgments keep the one that they followed."""
    state: TaskState
    created: str
    who: str


class TaskItem(Record, kw_only=True):
    """A doc to judge; in `lists` a query whose lists are to judge (then `doc` is empty), or a doc of these lists."""

    number: int
    query: str
    doc: str
    place: int
    """The order in which items matter: the lowest first."""
    purpose: Literal["audit", "other"] = "other"
    gold: float | None = None
    """The grade that is known, of a gold doc."""
    ranks: dict[str, int] = {}  # noqa: RUF012 (msgspec copies it)
    """The rank of the doc in the list of each system that found it; never sent to a rater of a blind task."""


class TaskRater(Record, kw_only=True):
    """Somebody who judges in a task, known by an invitation, whose token itself is not stored, or by a file."""

    number: int
    task: int
    name: str
    """As the rater wrote it; empty until then."""
    seed: int
    created: str
    seen: str | None = None
    revoked: str | None = None
    invited: bool = True
    """Whether there ever was a link; who is known only by what a file says is asked for nothing more."""

    @property
    def is_asked(self) -> bool:
        """Whether this rater gets a share of what is left to judge."""
        return self.invited and self.revoked is None

    @property
    def id(self) -> str:
        """What judgments call this rater: stays when the name changes."""
        return f"task {self.task} rater {self.number}"

    @property
    def key(self) -> str:
        """What the judgments of this rater have as `SingleJudgment.rater`."""
        return f'person "{self.id}"'


def name_of_forgotten(number: int) -> str:
    """Return what a rater is called whose name was taken away, or is not known."""
    return f"rater {number}"


def names_of_raters(raters: Iterable[TaskRater], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return what people read instead of the ids of raters: names, no two of them alike, nor like one that is taken."""
    used, names = set(taken), dict[str, str]()
    for rater in raters:
        name = wanted = rater.name or name_of_forgotten(rater.number)
        n = 1
        while name in used:
            n += 1
            name = f"{wanted} ({n})"
        used.add(name)
        names[rater.id] = name
    return names


def composed(name: str) -> str:
    """Return a name in the one form that is kept: é is one character, not e with an accent behind it."""
    return unicodedata.normalize("NFC", name)


def name_key(name: str) -> str:
    """Return what names have in common that look alike, or differ in small and large letters alone."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def raters_called(raters: Sequence[TaskRater], word: str) -> list[TaskRater]:
    """Return the raters of a task whom a word names, or is the id of; small and large letters are alike."""
    shown = names_of_raters(raters)
    if exact := [rater for rater in raters if word and word in (rater.name, shown[rater.id], rater.id, rater.key)]:
        own = [
            rater
            for rater in exact
            if word in (rater.id, rater.key) or (word == shown[rater.id] and word != rater.name)
        ]
        return own or exact
    return [rater for rater in raters if rater.name and name_key(rater.name) == name_key(word)]


def raters_meant(raters: Sequence[TaskRater], word: str, *, taken: Iterable[str] = ()) -> list[TaskRater]:
    """Return the raters of a task whom somebody means: by name or id, and who is called so by nobody, by number.

    `taken` are names of others who judged, which come before a number, too.
    """
    named = raters_called(raters, word)
    if named or word in taken:
        return named
    return [rater for rater in raters if word == str(rater.number)]


def shown_rater(raters: Sequence[TaskRater], word: str) -> str:
    """Return what the rater is called whom a word means; the word itself where it means nobody, or several."""
    found = raters_meant(raters, word)
    return names_of_raters(raters)[found[0].id] if len(found) == 1 else word


class Preference(Record, kw_only=True):
    """Which of two lists somebody found better for a query."""

    uuid: str
    task: str
    query: str
    rater: str
    left: str
    """The system on the left; `right` was on the other side."""
    right: str
    value: int | None
    """-2 left clearly, -1 left slightly, 0 no difference, 1 right slightly, 2 right clearly; None: cannot tell."""
    status: Literal["ok", "cannot_tell", "withdrawn"] = "ok"
    note: str = ""
    at: str | None = None
    seconds: float | None = None
    guideline: str | None = None
