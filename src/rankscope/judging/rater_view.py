"""What a rater is sent, and sends: nothing of it names a system or a rank where the task is blind."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from rankscope.judging.records import CannotTell, Guideline, TaskMode, TaskState
from rankscope.records import Options, Record


class DocState(Record, kw_only=True):
    """What a rater says of a doc now."""

    uuid: str | None = None
    """Of the judgment that holds, or that took back what held; None where there never was one."""
    grade: float | None = None
    flag: bool = False
    note: str = ""
    cannot_tell: CannotTell | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is a grade, or the rater cannot tell; a flag alone is no grade."""
        return self.grade is not None or self.cannot_tell is not None


class ChoiceState(Record, kw_only=True):
    """Which doc of a query a rater would choose."""

    uuid: str | None = None
    """As in DocState."""
    doc: str | None = None


class PreferenceState(Record, kw_only=True):
    """Which of two lists a rater finds better; lists are named by their places on the screen, from 0."""

    uuid: str | None = None
    left: int
    right: int
    value: int | None = None
    """-2 left clearly to 2 right clearly; None where nothing was said, or the rater cannot tell."""
    cannot_tell: bool = False
    note: str = ""


class QueueItem(Record, kw_only=True):
    """A doc to judge, or in `lists` a query (then `doc` is empty)."""

    query: str
    doc: str
    again: bool = False
    """Whether it is shown a second time; what is said then is kept apart."""
    done: bool = False
    state: DocState = DocState()
    """In `lists` nothing."""


class QueuedQuery(Record, kw_only=True):
    """A query of a rater, to find it among the others."""

    query: str
    text: str
    n: int
    """How many items it has in the queue."""
    done: int


class RaterState(Record, kw_only=True):
    """Where a rater stands: counts, and the queue in its order: what is done, then what comes next."""

    task: str
    """The name of the task."""
    mode: TaskMode
    state: TaskState
    """A stopped task can be read only."""
    blind: bool
    rater: str
    """The name that the rater gave; empty until then."""
    guideline: Guideline
    n: int
    done: int
    pace_s: float | None
    """Seconds that the rater took for a doc: the median of those that are known."""
    flags: int
    cannot_tell: int
    """Docs that the rater cannot tell, or in `lists` comparisons of two lists."""
    choices: int
    again_done: int
    """How many docs (in `lists`, queries) were judged a second time."""
    again_compared: int
    """How many of these have an answer that is not “cannot tell” both times: a grade, or which list is better."""
    again_alike: int
    """How many of these alike; of two preferences with sides swapped, those for the same list."""
    items: tuple[QueueItem, ...]
    queries: tuple[QueuedQuery, ...]
    """In the order of the queue."""


class DocView(Record, kw_only=True):
    """A doc as a rater sees it."""

    doc: str
    again: bool = False
    title: str
    text: str
    """At most 20,000 characters, as the store has them."""
    fields: dict[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    """Values of fields that are addresses of the web (http or https)."""
    ranks: dict[str, int] = field(default_factory=dict)
    """By system; empty where the task is blind."""
    state: DocState = DocState()


class ScreenList(Record, kw_only=True):
    """The result list of a system, at its place on the screen from left to right."""

    docs: tuple[str, ...]
    """Ids, the first rank first; `QueryView.docs` says more of each."""
    system: str | None = None
    """None where the task is blind."""


class QueryView(Record, kw_only=True):
    """A query with its docs, in the order of the rater's queue."""

    query: str
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)
    """All but the conversation."""
    conversation: tuple[str, ...] = ()
    """What was said before, from the attribute `conversation` (a text, or a list of them)."""
    docs: tuple[DocView, ...]
    choice: ChoiceState
    lists: tuple[ScreenList, ...] = ()
    """In `lists` only."""
    again: bool = False
    """In `lists`: whether it is shown a second time, with sides swapped."""
    preferences: tuple[PreferenceState, ...] = ()
    """One for every two lists that differ."""


class SaveRequest(Options):
    """What a rater says of a doc: the whole of it, not what has changed. With `choice`, of the query's choice only."""

    uuid: str
    """Made by the browser; the same when it is sent again."""
    query: str
    doc: str
    again: bool = False
    """Whether the doc was shown a second time."""
    grade: float | None = None
    flag: bool = False
    note: str = ""
    cannot_tell: CannotTell | None = None
    choice: bool | None = None
    """True: this is the doc that the rater would choose; False: it is not any more. Then the others stay empty."""
    withdrawn: bool = False
    """Nothing is said of the doc any more."""
    seconds: float | None = None
    at: str | None = None
    """By the rater's clock."""
    guideline: str | None = None
    """The sha256 of the text that the rater had before them; None: that of the task."""
    replaces: str | None = None
    """The uuid that the browser has for the doc (with `choice`: for the query); None: there was none."""


class PreferenceRequest(Options):
    """Which of two lists of a query a rater finds better."""

    uuid: str
    query: str
    left: int
    """The place of a list on the screen, from 0."""
    right: int
    again: bool = False
    value: int | None = None
    """-2 left clearly, -1 left slightly, 0 no difference, 1 right slightly, 2 right clearly."""
    cannot_tell: bool = False
    note: str = ""
    withdrawn: bool = False
    seconds: float | None = None
    at: str | None = None
    guideline: str | None = None
    """As in SaveRequest."""
    replaces: str | None = None
    """As in SaveRequest, for these two lists."""


class SaveAnswer(Record, kw_only=True):
    """What became of a save."""

    status: Literal["ok", "conflict", "refused"]
    """`conflict`: another tab saved meanwhile, and nothing was stored; `refused`: sending it again does not help."""
    reason: str = ""
    """Why not, in a sentence."""
    later: bool = False
    """The same save is taken when the task is reopened, or the invitation given back: a browser keeps it until then."""
    doc: DocState | None = None
    """What holds now of the doc that was saved."""
    choice: ChoiceState | None = None
    """What holds now, where a choice was saved."""
    preference: PreferenceState | None = None
    guideline: str | None = None
    """The sha256 of the text that holds in the task now, by which a page sees that it shows an older one."""
