"""What a gate says as annotations of GitHub: lines on standard output that the runner turns into marks on the page.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankscope.report.render.junit import one_line, query_words

if TYPE_CHECKING:
    from rankscope.comparison.gate import GateCheck, GateResult

MOST_OF_A_KIND = 10
"""GitHub shows so many errors, and so many warnings, of one step."""


def github_annotations(result: GateResult) -> Iterator[str]:
    """Yield one line for each check that did not pass, and one for all where all passed."""
    errors = [check for check in result.checks if check.outcome == "error" or result.fails(check)]
    warnings = [check for check in result.checks if check.outcome == "inconclusive" and not result.fails(check)]
    for level, checks in (("error", errors), ("warning", warnings)):
        shown = checks if len(checks) <= MOST_OF_A_KIND else checks[: MOST_OF_A_KIND - 1]
        for check in shown:
            yield annotation(level, f"Rankscope gate: {check.name}", message_of(check))
        if more := len(checks) - len(shown):
            yield annotation(level, "Rankscope gate", f"{more} more checks did not pass: see the log.")
    if not errors and not warnings and result.checks:
        yield annotation("notice", "Rankscope gate passed", " ".join(check.words for check in result.checks[:1]))


def message_of(check: GateCheck) -> str:
    lines = [check.words]
    lines += (f"{query_words(change)}: {change.a:.3f} to {change.b:.3f}" for change in check.losses)
    return "\n".join(lines)


def annotation(level: str, title: str, message: str) -> str:
    text = "\n".join(map(one_line, message.splitlines()))
    return f"::{level} title={escaped_property(one_line(title))}::{escaped(text)}"


def escaped(text: str) -> str:
    """Return a text as the message of a command: % and line breaks are written as the runner reads them."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def without_commands(text: str) -> str:
    """Return a text between two lines that keep the runner from obeying what looks like a command in it."""
    token = secrets.token_hex(16)
    return f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::\n"
