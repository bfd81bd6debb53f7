"""Which rater of a task somebody named in a file is, by id or by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rankscope.data.judgments import JudgmentSource, as_text
from rankscope.data.tasks import Task, TaskRater, composed, name_key, names_of_raters
from rankscope.errors import InputError
from rankscope.io.addresses import shown_url
from rankscope.judging.judgment_files import IMPORTED
from rankscope.records import replace
from rankscope.store.raters import checked_rater_name

if TYPE_CHECKING:
    from rankscope.store.store import Store


def composed_source(source: JudgmentSource) -> JudgmentSource:
    if source.kind == "judge":
        return source
    return replace(source, id=composed(source.id), name=composed(source.name))


def check_names_are_text(path: str | Path, sources: Iterable[JudgmentSource]) -> None:
    for name in map(called, sources):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"the name of a rater in {shown_url(str(path))} is not UTF-8: {as_text(name)[:200]}",
                hint="save the file as UTF-8",
            ) from None


def raters_of_sources(
    store: Store,
    task: Task,
    sources: Iterable[JudgmentSource],
    *,
    own: Mapping[JudgmentSource, str] = MappingProxyType({}),
) -> dict[JudgmentSource, TaskRater]:
    """Return the rater of a task for each who judged; whom it does not have is added, without an invitation.

    `own` has the ids of those who are known to be raters of this task, whatever these are called by now. All are looked
    for before anybody is added: the id of a new rater may be that of another one in a file. Two of a file never become
    one.
    """
    known = store.raters.list(task)
    by_id = {rater.id: rater for rater in known}
    found = {source: by_id.get(own.get(source, "")) or rater_of_source(task, known, source) for source in sources}
    meant: dict[str, JudgmentSource] = {}
    for source, rater in found.items():
        name = called(source)
        other = meant.setdefault(name_key(name) if rater is None else rater.id, source)
        if key_of(other) != key_of(source):
            both = f"{called(other)!r} ({key_of(other)}) and {name!r} ({key_of(source)})"
            raise InputError(
                f"{both} of the file would be one rater of {task.name}",
                hint="give them names that differ in more than small and large letters",
            )
        if rater is None:
            checked_rater_name(name)
    new = {key_of(source): called(source) for source, rater in found.items() if rater is None}
    made = {key: store.raters.add(task, name=name) for key, name in new.items()}
    return {source: made[key_of(source)] if rater is None else rater for source, rater in found.items()}


def key_of(source: JudgmentSource) -> str:
    """Return by what a file tells people apart: the id, or the name where there is none."""
    return source.id or called(source)


def called(source: JudgmentSource) -> str:
    return source.name or source.id or IMPORTED


def rater_of_source(task: Task, known: Sequence[TaskRater], source: JudgmentSource) -> TaskRater | None:
    """Return which of the raters is meant, None where none is; an id with another name is of another store."""
    shown, name = names_of_raters(known), called(source)
    for rater in known:
        if source.name and rater.id == source.id and shown[rater.id] == source.name:
            return rater
    ways = (
        [rater for rater in known if name == rater.name],
        [rater for rater in known if name == shown[rater.id]],
        [rater for rater in known if name == rater.id and not source.name],
        [rater for rater in known if name_key(name) == name_key(rater.name)],
    )
    found = next((way for way in ways if way), [])
    if len(found) > 1:
        ids = ", ".join(rater.id for rater in found)
        raise InputError(f"several raters of {task.name} are called {name}", hint=f"say which one: {ids}")
    return found[0] if found else None


def rater_named(store: Store, task: Task, name: str) -> TaskRater:
    """Return the rater of a task with this name or id, who is to judge; a new one, or one of a file, is invited."""
    known = rater_of_source(task, store.raters.list(task), JudgmentSource("person", id=name))
    if known is None or (known.revoked is None and not known.invited):
        return store.raters.invite(task, name=name if known is None else known.name)[0]
    return known
