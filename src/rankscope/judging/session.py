"""A rater at work: what they see of a task, and save.

Every save says which judgment it takes the place of. Where another one holds by now, as another tab saved meanwhile,
nothing is stored, and the answer says what holds. A save that is sent again, with the same uuid, is stored once.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import combinations
from statistics import median
from typing import Any, TypeAlias

from rankscope.data.judgments import LONGEST_NOTE, JudgmentSource, JudgmentStatus, SingleJudgment, as_text
from rankscope.data.tasks import reason_and_note
from rankscope.errors import InputError
from rankscope.io.numbers import grade_text
from rankscope.judging.guidelines import parse_guideline
from rankscope.judging.queue import QueryDoc, QueueEntry, likely_again, queue_of, screen_order, share_out
from rankscope.judging.rater_view import (
    ChoiceState,
    DocState,
    DocView,
    PreferenceRequest,
    PreferenceState,
    QueryView,
    QueuedQuery,
    QueueItem,
    RaterState,
    SaveAnswer,
    SaveRequest,
    ScreenList,
)
from rankscope.judging.records import Guideline, Preference, Task, TaskItem, TaskRater, again_name
from rankscope.records import from_builtins, replace
from rankscope.store import Store, StoredDoc, StoredQuery
from rankscope.store.preferences import StoredPreference
from rankscope.store.saving import RaterRow, Remembered, SaveOutcome, StateAnswer

__all__ = [
    "ChoiceState",
    "DocState",
    "DocView",
    "PreferenceRequest",
    "PreferenceState",
    "QueryView",
    "QueueItem",
    "QueuedQuery",
    "RaterSession",
    "RaterState",
    "SaveAnswer",
    "SaveRequest",
    "ScreenList",
    "open_session",
    "session_of",
    "states_of_raters",
]

LONGEST_S = 3600.0
"""A doc that took longer was left open: nothing is known of how long it took."""
CONVERSATION = "conversation"
CLOCK_AHEAD = timedelta(minutes=5)
"""So much may a rater's clock be ahead of ours."""
NOT_TWICE = "This is not shown to you a second time."
NOT_YET_TWICE = "This comes to you a second time later: judge it for the first time before."
NOT_YOURS = "This doc is not among yours: it is for another rater."
LISTS_NOT_YOURS = "These lists are not among yours: they are for another rater."
ANSWERS = ("expected", "groundtruth", "ground_truth")
"""Attributes whose names begin so say what should be found: who judges must not see them."""
REASONS: Mapping[SaveOutcome, str] = {
    "conflict": "Something else was saved meanwhile, in another tab or window.",
    "revoked": "Your invitation was revoked.",
    "stopped": "The task was stopped; nothing is saved any more.",
    "other": "Something else was saved with the same uuid.",
    "changed": "The task has changed meanwhile.",
}


ShownPlace: TypeAlias = tuple[str, str, bool]
"""A query and a doc in a queue, and whether they come a second time; in `lists`, the doc is empty."""


def open_session(store: Store, token: str, *, to_save: bool = False) -> RaterSession:
    """Return the session of an invitation.

    A task that was stopped can be read, and nothing is saved. With `to_save`, a revoked invitation gives a session,
    too: it can hear of a save from before whether it was kept, and anything new is refused by the store.

    Raises
    ------
    InputError
        The token belongs to no invitation, or to one that was revoked.
    """
    found = store.raters.with_task(token)
    if found is None:
        raise InputError("this invitation is not known", hint="ask whoever sent the link for a new one")
    rater, task = found
    if rater.revoked is not None and to_save:
        return session_of(store, task, rater)
    if rater.revoked is not None:
        raise InputError(
            f"this invitation to the task {task.name} was revoked",
            hint="what was saved before is kept; ask whoever sent the link if you should go on",
        )
    return session_of(store, task, store.raters.seen(rater))


def session_of(store: Store, task: Task, rater: TaskRater) -> RaterSession:
    """Return the session of a rater without a token, as for one person in a terminal."""
    return RaterSession(store, task, rater, parsed(store.tasks.guideline_text(task)))


def states_of_raters(store: Store, task: Task, *, work: TaskWork | None = None) -> dict[int, RaterState]:
    """Return where all raters of a task stand, by their numbers, in the order in which they were invited.

    `work` is what is known of the task, where somebody has read it already.
    """
    guideline, work = parsed(store.tasks.guideline_text(task)), work or TaskWork(store, task)
    return {rater.number: RaterSession(store, task, rater, guideline).state(work=work) for rater in work.raters}


@lru_cache(maxsize=32)
def parsed(text: str) -> Guideline:
    return parse_guideline(text)


def turn_words(turn: Any) -> str:
    """Return a turn of a conversation in words: who said what, where that is known."""
    if not isinstance(turn, Mapping):
        return str(turn)
    said = next((str(turn[name]) for name in ("content", "text", "message") if name in turn), "")
    who = next((str(turn[name]) for name in ("role", "speaker", "name") if name in turn), "")
    return f"{who}: {said}" if who and said else said or ", ".join(f"{name}: {value}" for name, value in turn.items())


class RaterSession:
    """A rater at work; `open_session` and `session_of` make one. It may be kept, or made anew for every request."""

    def __init__(self, store: Store, task: Task, rater: TaskRater, guideline: Guideline) -> None:
        self.store = store
        self.task = task
        self.rater = rater
        self.guideline = guideline
        self.shown: set[ShownPlace] = set()
        """What was ever in the rater's queue, as far as it was looked at; it is saved whoever has it now."""
        self.earlier_from = ""
        """Queues of raters who were invited before this moment may have been looked at by somebody else."""

    # What a rater sees

    def state(self, *, order: Sequence[QueryDoc] = (), work: TaskWork | None = None) -> RaterState:
        """Return where the rater stands, with the queue; `order` is what matters most at the moment.

        `work` is what is known of the task and all raters, where somebody has read it already.
        """
        work = work or TaskWork(self.store, self.task)
        said = SaidByRater(self, work)
        queue = self._queue(said, work, order=order)
        names = dict.fromkeys(entry.item.query for entry in queue)
        texts = self._queries(names)
        n = Counter(entry.item.query for entry in queue)
        n_done = Counter(entry.item.query for entry in queue if entry.done)
        states, (n_alike, n_compared) = said.states(), said.alike()
        return RaterState(
            task=self.task.name,
            mode=self.task.plan.mode,
            state=self.task.state,
            blind=self.task.plan.blind,
            rater=self.rater.name,
            guideline=self.guideline,
            n=len(queue),
            done=sum(entry.done for entry in queue),
            pace_s=said.pace_s(),
            flags=sum(state.flag for state in states),
            cannot_tell=sum(state.cannot_tell is not None for state in states) + said.n_lists_untold(),
            choices=len(said.chosen),
            again_done=len(said.done_again),
            again_compared=n_compared,
            again_alike=n_alike,
            items=tuple(said.queue_item(entry) for entry in queue),
            queries=tuple(
                QueuedQuery(query=name, text=text_of(texts, name), n=n[name], done=n_done[name]) for name in names
            ),
        )

    def _queue(self, said: SaidByRater, work: TaskWork, *, order: Sequence[QueryDoc] = ()) -> tuple[QueueEntry, ...]:
        """Return the queue of the rater, with what each item is made of; it is not for the eyes of a rater."""
        queue = queue_of(
            self.task.plan,
            work.shared,
            rater=self.rater.number,
            seed=self.rater.seed,
            done=work.done,
            done_again=said.done_again,
            order=order,
        )
        self.shown.update((entry.item.query, entry.item.doc, entry.again) for entry in queue)
        return queue

    def query(self, query: str, *, again: bool = False) -> QueryView:
        """Return a query with its docs and what the rater said of them; in `lists`, `again` with sides swapped."""
        work = TaskWork(self.store, self.task)
        said = SaidByRater(self, work)
        entries = [entry for entry in self._queue(said, work) if entry.item.query == query]
        if not entries:
            raise InputError(f"the query {query!r} is not among yours", hint="it may have gone to another rater")
        stored = self._queries([query]).get(query, StoredQuery())
        shown: list[tuple[TaskItem, bool]] = [(entry.item, entry.again) for entry in entries]
        lists: tuple[ScreenList, ...] = ()
        if self._shows_lists:
            in_lists = [item for item in self.store.tasks.items(self.task, query=query) if item.doc]
            lists = self._lists(query, in_lists, again=again)
            item_of = {item.doc: item for item in in_lists}
            shown = [(item_of[doc], again) for doc in dict.fromkeys(doc for each in lists for doc in each.docs)]
        texts = self.store.texts.docs(self.task.collection, [item.doc for item, _ in shown])
        spoken = stored.attributes.get(CONVERSATION, ())
        return QueryView(
            query=query,
            text=stored.text or query,
            attributes={
                name: value
                for name, value in shown_fields(stored.attributes).items()
                if name != CONVERSATION and not name.casefold().startswith(ANSWERS)
            },
            conversation=tuple(map(turn_words, spoken)) if isinstance(spoken, list | tuple) else (str(spoken),),
            docs=tuple(
                self._doc_view(item, texts.get(item.doc, StoredDoc()), said, again=shown_again)
                for item, shown_again in shown
            ),
            choice=said.choice(query),
            lists=lists,
            again=again and self._shows_lists,
            preferences=said.preferences_of(query, lists, again=again) if self._shows_lists else (),
        )

    def _doc_view(self, item: TaskItem, doc: StoredDoc, said: SaidByRater, *, again: bool) -> DocView:
        return DocView(
            doc=item.doc,
            again=again,
            title=doc.title,
            text=doc.text,
            fields=shown_fields(doc.fields),
            links=links_in(doc.fields.values()),
            ranks={} if self.task.plan.blind else item.ranks,
            state=said.state((item.query, item.doc), again=again),
        )

    def _lists(self, query: str, items: Sequence[TaskItem], *, again: bool) -> tuple[ScreenList, ...]:
        """Return the lists of a query from left to right."""
        return tuple(
            ScreenList(
                docs=tuple(
                    item.doc
                    for item in sorted(items, key=lambda item: item.ranks.get(system, 0))
                    if system in item.ranks
                ),
                system=None if self.task.plan.blind else system,
            )
            for system in self.screen(query, again=again)
        )

    def screen(self, query: str, *, again: bool) -> tuple[str, ...]:
        """Return the systems whose lists stand on the screen, from left to right."""
        return screen_order(self.task.plan.systems, self.rater.seed, query, again=again)

    def _queries(self, names: Iterable[str]) -> dict[str, StoredQuery]:
        return self.store.tasks.queries(self.task, names)

    @property
    def _shows_lists(self) -> bool:
        return self.task.plan.mode == "lists"

    def task_name(self, *, again: bool) -> str:
        """Return what judgments of this task name it by."""
        return again_name(str(self.task.number)) if again else str(self.task.number)

    # What a rater saves

    def save(self, request: SaveRequest, *, remembered: Remembered | None = None) -> SaveAnswer:
        """Keep what the rater says of a doc of theirs, also of one that has gone to another rater meanwhile.

        A doc is theirs where it was ever in their queue; any other one is refused. Nothing is kept where what a session
        from before was made with, `remembered`, is no longer so.
        """
        if reason := self._problem_with(request):
            return SaveAnswer(status="refused", reason=reason)
        purpose = self.store.tasks.purpose_of(self.task, request.query, request.doc) if request.doc else None
        if purpose is None:
            return SaveAnswer(status="refused", reason="This doc is not part of the task.")
        if reason := self._not_theirs(request.query, request.doc, again=request.again):
            return SaveAnswer(status="refused", reason=reason)
        said = self._choice(request) if request.choice is not None else self._judgment(request)
        said, replaces = replace(said, purpose=purpose), checked_uuid(request.replaces)
        answer = self.store.saves.keep_judgment(said, rater=self.rater, replaces=replaces, remembered=remembered)
        if request.choice is not None:
            return save_answer(answer, self.task, choice=choice_of(answer.value))
        return save_answer(answer, self.task, doc=doc_state_of(answer.value))

    def save_preference(self, request: PreferenceRequest) -> SaveAnswer:
        """Keep which of two lists the rater finds better."""
        if reason := self._problem_with_preference(request):
            return SaveAnswer(status="refused", reason=reason)
        if self.store.tasks.find_item(self.task, request.query, "") is None:
            return SaveAnswer(status="refused", reason="This query is not part of the task.")
        if reason := self._not_theirs(request.query, "", again=request.again):
            return SaveAnswer(status="refused", reason=reason)
        systems = self.screen(request.query, again=request.again)
        said = Preference(
            uuid=request.uuid,
            task=self.task_name(again=request.again),
            query=request.query,
            rater=self.rater.id,
            left=systems[request.left],
            right=systems[request.right],
            value=None if request.withdrawn or request.cannot_tell else request.value,
            status="withdrawn" if request.withdrawn else "cannot_tell" if request.cannot_tell else "ok",
            note=as_text(request.note),
            at=self._moment(request.at),
            seconds=seconds_of(request.seconds),
            guideline=self._followed(request.guideline),
        )
        answer = self.store.saves.keep_preference(said, rater=self.rater, replaces=checked_uuid(request.replaces))
        held = None if answer.value is None else from_builtins(Preference, answer.value)
        state = preference_state_of(held, systems, request.left, request.right)
        return save_answer(answer, self.task, preference=state)

    def rename(self, name: str) -> TaskRater:
        """Give the rater the name that they wrote."""
        self.rater = self.store.raters.rename(self.rater.number, name)
        return self.rater

    def _judgment(self, request: SaveRequest) -> SingleJudgment:
        says_nothing = request.grade is None and not request.flag and request.cannot_tell is None
        status: JudgmentStatus = "cannot_tell" if request.cannot_tell else "ok"
        note = as_text(request.note)
        if request.cannot_tell is not None:
            note = f"{request.cannot_tell}: {note}" if note else request.cannot_tell
        if request.withdrawn or says_nothing:
            status, note = "withdrawn", ""
        return SingleJudgment(
            **self._about(request),
            grade=request.grade + 0.0 if status == "ok" and request.grade is not None else None,  # no -0
            flag=request.flag and status != "withdrawn",
            note=note,
            status=status,
            task=self.task_name(again=request.again),
        )

    def _choice(self, request: SaveRequest) -> SingleJudgment:
        status: JudgmentStatus = "ok" if request.choice and not request.withdrawn else "withdrawn"
        return SingleJudgment(**self._about(request), choice=True, status=status, task=self.task_name(again=False))

    def _about(self, request: SaveRequest) -> dict[str, Any]:
        return {
            "uuid": request.uuid,
            "query": request.query,
            "doc": request.doc,
            "source": JudgmentSource("person", id=self.rater.id),
            "scale": tuple(each.grade for each in self.guideline.scale),
            "at": self._moment(request.at),
            "collection": self.task.collection,
            "guideline": self._followed(request.guideline),
            "seconds": seconds_of(request.seconds),
        }

    def _followed(self, seen: str | None) -> str:
        """Return the guideline that a rater followed: that of a page from before it changed, if it was the task's."""
        if seen is None or seen == self.task.guideline:
            return self.task.guideline
        return seen if seen in self.task.plan.earlier_guidelines else self.task.guideline

    def _moment(self, at: str | None) -> str:
        """Return when something was judged: by the clock of the rater, where that can be read, and can be true."""
        now = self.store.clock()
        try:
            moment = datetime.fromisoformat(at or "")
            latest = datetime.fromisoformat(now) + CLOCK_AHEAD
            if moment.tzinfo is None or moment > latest:
                return now
            return self.task.created if moment < datetime.fromisoformat(self.task.created) else moment.isoformat()
        except (ValueError, OverflowError):
            return now

    def _not_theirs(self, query: str, doc: str, *, again: bool) -> str:
        """Say why the rater does not judge something; empty where they do.

        Who was revoked has no queue: the store refuses them, and what they send waits for a new link.
        """
        pair = query, "" if self._shows_lists else doc
        if self.rater.revoked is not None or ((*pair, False) in self.shown and not again):
            return ""
        work = TaskWork(self.store, self.task)
        said = SaidByRater(self, work)
        begun = said.begun()
        self._queue(said, work)
        if (*pair, False) not in self.shown and pair not in begun and not self._was_theirs(pair, said):
            return LISTS_NOT_YOURS if self._shows_lists else NOT_YOURS
        if not again or pair in said.done_again:
            return ""
        likely = likely_again(self.task.plan, work.shared, rater=self.rater.number, seed=self.rater.seed)
        if (*pair, True) not in self.shown and pair not in likely:
            return NOT_TWICE
        return "" if pair in begun else NOT_YET_TWICE

    def _was_theirs(self, pair: QueryDoc, said: SaidByRater) -> bool:
        """Tell whether a rater had something before others were invited, where nobody knows any more what they saw."""
        if self.rater.created >= self.earlier_from:
            return False
        others = [each.number for each in self.store.raters.list(self.task) if each.number >= self.rater.number]
        for last in others:
            work = TaskWork(self.store, self.task, until=last)
            queue = queue_of(
                self.task.plan,
                work.shared,
                rater=self.rater.number,
                seed=self.rater.seed,
                done=work.done,
                done_again=said.done_again,
            )
            if any((entry.item.query, entry.item.doc) == pair for entry in queue):
                return True
        return False

    def _problem_with(self, request: SaveRequest) -> str:
        if checked_uuid(request.uuid) is None:
            return "The uuid of the judgment cannot be read."
        if request.replaces is not None and checked_uuid(request.replaces) is None:
            return "The uuid of what it takes the place of cannot be read."
        if len(request.note) > LONGEST_NOTE:
            return f"A note has at most {LONGEST_NOTE:,} characters."
        if request.grade is not None and self.task.plan.mode == "lists":
            return "Docs of lists get no grades: flag, choose, or say which list is better."
        grades = [each.grade for each in self.guideline.scale]
        if request.grade is not None and request.grade not in grades:
            return f"{grade_text(request.grade)} is not one of the grades {', '.join(map(grade_text, grades))}."
        if request.grade is not None and request.cannot_tell is not None:
            return "Who cannot tell gives no grade."
        is_bare = request.grade is None and not request.flag and request.cannot_tell is None
        if request.choice is not None and not (is_bare and not request.note):
            return "A choice is saved for itself, without a grade, a flag or a note."
        if is_bare and request.note and not request.withdrawn:
            return "A note goes with a grade, with a flag, or with being unable to tell."
        return ""

    def _problem_with_preference(self, request: PreferenceRequest) -> str:
        if not self._shows_lists:
            return "In this task, docs are judged one by one."
        if checked_uuid(request.uuid) is None:
            return "The uuid of the preference cannot be read."
        if request.replaces is not None and checked_uuid(request.replaces) is None:
            return "The uuid of what it takes the place of cannot be read."
        if len(request.note) > LONGEST_NOTE:
            return f"A note has at most {LONGEST_NOTE:,} characters."
        n_lists = len(self.task.plan.systems)
        if request.left == request.right or not all(0 <= each < n_lists for each in (request.left, request.right)):
            return f"There are {n_lists} lists, and two different ones are compared."
        if request.withdrawn or request.cannot_tell:
            return "" if request.value is None else "Who cannot tell, or takes a preference back, gives no value."
        return "" if request.value in range(-2, 3) else "A preference is one of -2, -1, 0, 1 and 2."


class TaskWork:
    """What is to do in a task, and what all raters have done of it; with `until`, as if no later ones were invited."""

    def __init__(self, store: Store, task: Task, *, until: int | None = None) -> None:
        self.raters = tuple(each for each in store.raters.list(task) if until is None or each.number <= until)
        shows_lists = task.plan.mode == "lists"
        self.preferences = store.preferences.list(task=str(task.number)) if shows_lists else ()
        self.done: dict[QueryDoc, dict[int, int]] = {}
        """As `queue_of` wants it."""
        in_vain: dict[QueryDoc, list[int]] = {}
        if shows_lists:
            number_of = {rater.id: rater.number for rater in self.raters}
            for pair, key, first in lists_done(self.preferences, len(task.plan.systems)):
                if key in number_of:
                    self.done.setdefault(pair, {})[number_of[key]] = first
        else:
            number_of = {rater.key: rater.number for rater in self.raters}
            for row in store.saves.judged(task):
                if row.done and row.rater in number_of:
                    self.done.setdefault((row.query, row.doc), {})[number_of[row.rater]] = row.first
                    if task.plan.pool == "audit" and not row.graded:  # every doc of an audit needs a grade
                        in_vain.setdefault((row.query, row.doc), []).append(number_of[row.rater])
        self.shared = share_out(
            task.plan,
            [item for item in store.tasks.items(task) if not (item.doc and shows_lists)],
            raters=[rater.number for rater in self.raters if rater.is_asked],
            done=self.done,
            in_vain=in_vain,
        )


class SaidByRater:
    """What a rater has said so far in a task, as it holds now."""

    def __init__(self, session: RaterSession, work: TaskWork) -> None:
        self.session = session
        store, task, rater = session.store, session.task, session.rater
        first, second = store.saves.of_rater(task, rater)
        self.docs: dict[bool, dict[QueryDoc, RaterRow]] = {
            again: {(row.query, row.doc): row for row in rows if not row.value["choice"]}
            for again, rows in ((False, first), (True, second))
        }
        self.choices = {row.query: row for row in first if row.value["choice"]}
        self.chosen = {query: row for query, row in self.choices.items() if row.value["status"] == "ok"}
        self.preferences = work.preferences
        self.preferences_again: tuple[StoredPreference, ...] = ()
        if task.plan.mode == "lists":
            again = store.preferences.list(task=session.task_name(again=True))
            self.preferences_again = tuple(each for each in again if each.preference.rater == rater.id)
            self.done_again = {pair: number for pair, _, number in lists_done(self.preferences_again, self.n_lists)}
        else:
            self.done_again = {
                pair: row.first for pair, row in self.docs[True].items() if doc_state_of(row.value).is_done
            }

    @property
    def n_lists(self) -> int:
        return len(self.session.task.plan.systems)

    def state(self, pair: QueryDoc, *, again: bool) -> DocState:
        row = self.docs[again].get(pair)
        return doc_state_of(None if row is None else row.value)

    def states(self) -> list[DocState]:
        """Return what is said of all docs that were not shown a second time."""
        return [doc_state_of(row.value) for row in self.docs[False].values()]

    def begun(self) -> set[QueryDoc]:
        """Return what something was said of when it was shown first, also what was taken back; in `lists`, queries."""
        if self.session.task.plan.mode == "lists":
            return {(key[0], "") for key in self.held_preferences(again=False)}
        return set(self.docs[False])

    def choice(self, query: str) -> ChoiceState:
        row = self.choices.get(query)
        return choice_of(None if row is None else row.value)

    def queue_item(self, entry: QueueEntry) -> QueueItem:
        pair = entry.item.query, entry.item.doc
        state = self.state(pair, again=entry.again)
        return QueueItem(query=pair[0], doc=pair[1], again=entry.again, done=entry.done, state=state)

    def pace_s(self) -> float | None:
        rows = [row.value for rows in self.docs.values() for row in rows.values()]
        own = [each.preference for each in self.preferences if each.preference.rater == self.session.rater.id]
        known = [value.get("seconds") for value in rows] + [each.seconds for each in own]
        taken = [seconds for seconds in known if seconds is not None]
        return median(taken) if taken else None

    def preferences_of(self, query: str, lists: Sequence[ScreenList], *, again: bool) -> tuple[PreferenceState, ...]:
        """Return what is said of every two lists of a query that differ, as they stand on the screen."""
        systems = self.session.screen(query, again=again)
        held = self.held_preferences(again=again)
        places = list(combinations(range(len(systems)), 2))
        differ = [(left, right) for left, right in places if lists[left].docs != lists[right].docs]
        return tuple(
            preference_state_of(held.get((query, *sorted((systems[left], systems[right])))), systems, left, right)
            for left, right in differ or places
        )

    def held_preferences(self, *, again: bool) -> dict[tuple[str, ...], Preference]:
        """Return the newest preference of the rater, by query and the two systems, also one that was withdrawn."""
        rows = self.preferences_again if again else self.preferences
        own = (each.preference for each in rows if each.preference.rater == self.session.rater.id)
        return {(each.query, *sorted((each.left, each.right))): each for each in own}

    def n_lists_untold(self) -> int:
        """Return of how many comparisons of two lists the rater cannot tell which is better."""
        return sum(said.status == "cannot_tell" for said in self.held_preferences(again=False).values())

    def alike(self) -> tuple[int, int]:
        """Return how many docs, or queries, got the same answer both times, and how many got two that can be compared.

        Who could not tell at one of the times has given one answer, which nothing can be compared with.
        """
        if self.session.task.plan.mode == "lists":
            first, second = (self.held_preferences(again=again) for again in (False, True))
            both: dict[str, bool] = {}
            for key, said in second.items():
                before = first.get(key)
                if (key[0], "") in self.done_again and before and None not in (before.value, said.value):
                    both[key[0]] = both.get(key[0], True) and better_of(before) == better_of(said)
            return sum(both.values()), len(both)
        grades = [
            (self.state(pair, again=False).grade, doc_state_of(row.value).grade)
            for pair, row in self.docs[True].items()
            if pair in self.done_again
        ]
        same = [first == second for first, second in grades if first is not None and second is not None]
        return sum(same), len(same)


def lists_done(rows: Iterable[StoredPreference], n_lists: int) -> list[tuple[QueryDoc, str, int]]:
    """Return the queries of which each list was compared with another, by whom, and the first number."""
    newest: dict[tuple[str, ...], Preference] = {}
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        said = row.preference
        newest[said.query, said.rater, *sorted((said.left, said.right))] = said
        first.setdefault((said.query, said.rater), row.number)
    compared: dict[tuple[str, str], set[str]] = {}
    for said in newest.values():
        if said.status != "withdrawn":
            compared.setdefault((said.query, said.rater), set()).update((said.left, said.right))
    return [
        ((query, ""), rater, first[query, rater])
        for (query, rater), systems in compared.items()
        if len(systems) == n_lists
    ]


def better_of(said: Preference | None) -> str | None:
    """Return the system whose list is better, empty where none is, None where nothing was said."""
    if said is None or said.value is None:
        return None
    return said.left if said.value < 0 else said.right if said.value > 0 else ""


def doc_state_of(value: Mapping[str, Any] | None) -> DocState:
    """Return what the record of a judgment says of its doc."""
    if value is None:
        return DocState()
    if value["status"] == "withdrawn":
        return DocState(uuid=value["uuid"])
    reason, note = None, value["note"]
    if value["status"] == "cannot_tell":
        reason, note = reason_and_note(note)
        reason = reason or "doc unclear"
    return DocState(uuid=value["uuid"], grade=value["grade"], flag=value["flag"], note=note, cannot_tell=reason)


def choice_of(value: Mapping[str, Any] | None) -> ChoiceState:
    if value is None:
        return ChoiceState()
    return ChoiceState(uuid=value["uuid"], doc=value["doc"] if value["status"] == "ok" else None)


def preference_state_of(held: Preference | None, systems: Sequence[str], left: int, right: int) -> PreferenceState:
    """Return a preference as the sides are on the screen, which may be others than when it was said."""
    if held is None:
        return PreferenceState(left=left, right=right)
    sign = 1 if held.left == systems[left] else -1
    return PreferenceState(
        uuid=held.uuid,
        left=left,
        right=right,
        value=None if held.value is None else sign * held.value,
        cannot_tell=held.status == "cannot_tell",
        note=held.note,
    )


def save_answer(
    answer: StateAnswer,
    task: Task,
    *,
    doc: DocState | None = None,
    choice: ChoiceState | None = None,
    preference: PreferenceState | None = None,
) -> SaveAnswer:
    if answer.outcome == "kept":
        return SaveAnswer(status="ok", doc=doc, choice=choice, preference=preference, guideline=task.guideline)
    return SaveAnswer(
        status="conflict" if answer.outcome == "conflict" else "refused",
        later=answer.outcome in ("stopped", "revoked"),
        reason=REASONS[answer.outcome],
        doc=doc,
        choice=choice,
        preference=preference,
        guideline=task.guideline,
    )


def checked_uuid(text: str | None) -> str | None:
    """Return a uuid as the store writes it; None where it is none."""
    try:
        return str(uuid.UUID(text or ""))
    except ValueError:
        return None


def seconds_of(seconds: float | None) -> float | None:
    """Return how long something took, where that can be true."""
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds <= LONGEST_S:
        return None
    return seconds


def shown_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as raters read them, in JSON: each once, by the last part of its name where no other has that.

    What an inner object holds, such as the metadata of BEIR, may be known by names of its own as well; then the object
    says nothing new.
    """
    fields = {
        name: value
        for name, value in values.items()
        if not (isinstance(value, Mapping) and all(key in values and values[key] == value[key] for key in value))
    }
    last = {name: name.rpartition(".")[2] for name in fields}
    n_names = Counter(last.values())
    return {last[name] if last[name] and n_names[last[name]] == 1 else name: in_json(fields[name]) for name in fields}


def in_json(value: Any) -> Any:
    """Return a value of a field as JSON can have it: what is no number, or without end, in words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: in_json(each) for name, each in value.items()}
    return [in_json(each) for each in value] if isinstance(value, list | tuple) else value


def links_in(values: Iterable[Any]) -> tuple[str, ...]:
    """Return those of some values that are addresses of the web."""
    found = []
    for value in values:
        for each in value if isinstance(value, list | tuple) else [value]:
            text = each.strip() if isinstance(each, str) else ""
            if text.lower().startswith(("http://", "https://")) and text.isprintable() and " " not in text:
                found.append(text)
    return tuple(dict.fromkeys(found))


def text_of(texts: Mapping[str, StoredQuery], query: str) -> str:
    return (texts[query].text or query) if query in texts else query
