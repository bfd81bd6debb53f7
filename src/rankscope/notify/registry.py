"""The types of notifiers, and how a table [notify.NAME] becomes one.

To add a type, write its file and one line here. Other packages add theirs through the entry point
`rankscope.notifiers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankscope.errors import OptionError, did_you_mean
from rankscope.notify.notice import Notice, NotifierOptions, NotifyError
from rankscope.records import Misfit, Record, as_clause, from_builtins
from rankscope.registry import Entry, Registry
from rankscope.systems.secrets import SECRET_NAMES, Secrets
from rankscope.systems.working_directory import working_directory

NOTIFIERS: Registry[type[NotifierOptions]] = Registry(
    "notifier of type",
    {
        "command": Entry("rankscope.notify.command:CommandNotifier", "any program, which reads the message"),
        "webhook": Entry("rankscope.notify.webhook:WebhookNotifier", "JSON posted to Slack, Mattermost or any address"),
        "email": Entry("rankscope.notify.mail:EmailNotifier", "a mail, by SMTP"),
    },
    entry_points="rankscope.notifiers",
)


class Notifier(Record, eq=False):
    """A notifier of the project, by its name."""

    name: str
    type: str
    options: NotifierOptions
    secrets: Secrets
    """What must not be seen in any error."""
    folder: Path
    """The folder of the project, in which commands are started."""

    def send(self, notice: Notice) -> None:
        """Send a notice, or raise a NotifyError; whatever else goes wrong in a notifier becomes one."""
        with self.secrets.kept_out_of_errors(), working_directory(self.folder):
            try:
                self.options.send(notice)
            except (NotifyError, MemoryError):
                raise
            except Exception as error:
                raise NotifyError(f"{type(error).__name__}: {error}") from error


def read_notifier(table: Any, *, where: str) -> NotifierOptions:
    """Return the options of a table, whose keys and types are checked; errors begin with `where`."""
    kind = table.get("type") if isinstance(table, Mapping) else None
    if not isinstance(kind, str):
        shown = "has no type" if kind is None else f"has the type {kind!r}, which is no text"
        raise OptionError(f"{where} {shown}", hint=f'add type = "…": one of {", ".join(NOTIFIERS)}')
    if kind not in NOTIFIERS:
        hint = did_you_mean(kind, NOTIFIERS) or f"there are {', '.join(NOTIFIERS)}"
        raise OptionError(f"{where}.type is {kind!r}, which is not known", hint=hint)
    options = {key: value for key, value in table.items() if key != "type"}
    return from_builtins(NOTIFIERS[kind], options, where=where, wording=notifier_wording)


def notifier_wording(misfit: Misfit, where: str) -> OptionError:
    if misfit.problem == "unknown":
        hint = did_you_mean(misfit.key, misfit.known) or f"the keys here are type, {', '.join(misfit.known)}"
        return OptionError(f"{where}.{misfit.path} is not known", hint=hint)
    if misfit.problem == "missing":
        return OptionError(f"{where} needs the key {misfit.key!r}", hint="docs/watch.md describes it")
    about = f"it is {as_clause(misfit.about)}" if misfit.about else ""
    is_secret = misfit.key in ("url", "headers") or SECRET_NAMES.search(misfit.key)
    given = "" if is_secret else f"is {misfit.value!r}, but "
    return OptionError(f"{where}.{misfit.path} {given}should be {misfit.wanted}", hint=about)
