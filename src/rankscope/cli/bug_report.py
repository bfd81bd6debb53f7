"""What is printed where Rankscope itself fails: enough to report it, without secrets."""

from __future__ import annotations

import platform
import re
import shlex
import traceback
from collections.abc import Iterator, Sequence

from rankscope._version import __version__
from rankscope.errors import shorten
from rankscope.io.addresses import is_remote, shown_url
from rankscope.systems.secrets import HIDDEN, SECRET_NAMES, secrets_of_environment, url_without_secrets


def bug_lines(error: BaseException, given: Sequence[str]) -> list[str]:
    """Return what happened, where, and how to report it."""
    said = shorten(f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": "), limit=500)
    lines = [
        f"error: Rankscope has a bug: {said}",
        f"  rankscope {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"  command: {shlex.join(['rankscope', *without_secrets(given)])}",
        "hint: please report it with these lines; the same command with --debug also shows the traceback",
    ]
    return [secrets_of_environment().hide(line) for line in lines]


def traceback_text(error: BaseException) -> str:
    return secrets_of_environment().hide("".join(traceback.format_exception(error)))


def without_secrets(given: Sequence[str]) -> Iterator[str]:
    """Yield the arguments of a command; what stands under a name that speaks of a secret is hidden."""
    is_secret = False
    for argument in given:
        name, equals, value = argument.partition("=")
        if is_secret and not argument.startswith("-"):
            yield HIDDEN
        elif equals and "://" not in name and SECRET_NAMES.search(name) and value:
            yield f"{name}={HIDDEN}"
        else:
            yield f"{name}={shown_url(value)}" if is_remote(value) else url_without_secrets(shown_url(argument))
        is_secret = bool(re.match("--?[^=]+$", argument) and SECRET_NAMES.search(argument))
