"""How help and mistakes in the arguments are printed: alike on every Python, whatever the width of the terminal."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from typing import NoReturn, Self, TextIO

from rankscope.errors import OptionError, did_you_mean
from rankscope.printable import printable_lines

WIDTH = 100
COLUMN = 26
"""Where the explanation of an argument starts."""


class Later(str):
    """The help of an argument that is written when it is shown: what it lists takes a while to load."""

    __slots__ = ("_write",)
    _write: Callable[[], str]

    def __new__(cls, write: Callable[[], str]) -> Self:
        """Take what writes the text; until then it is empty."""
        text = super().__new__(cls)
        text._write = write
        return text

    def __str__(self) -> str:
        return self._write()


class ParserExit(SystemExit):
    """Help or a version was shown, and that is all; any other SystemExit must not end a command as fine."""


class Parser(argparse.ArgumentParser):
    """Reads the arguments of one command; its help is laid out here, its errors are Rankscope's own."""

    def __init__(self, prog: str, *, description: str, epilog: str, usage: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=partial(argparse.HelpFormatter, width=WIDTH),  # it would load much to find the width itself
            allow_abbrev=False,
            add_help=False,
        )
        self.add_argument("-h", "--help", action="help", help="show this help")
        self.add_argument("--debug", action="store_true", help="show the traceback of an error, to report it")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        if message:
            self._print_message(message)
        raise ParserExit(status)

    def format_usage(self) -> str:
        if self.usage:
            return f"usage: {self.usage}\n"
        needed = [invocation(action) for action in self._actions if not action.option_strings or action.required]
        return f"usage: {' '.join([self.prog, *needed])} [options]\n"

    def format_help(self) -> str:
        blocks = [self.format_usage(), textwrap.dedent(str(self.description)).strip() + "\n"]
        for group in self._action_groups:
            mine = group._group_actions  # noqa: SLF001 (argparse has no other way to ask)
            lines = [line for action in mine for line in help_lines(action)]
            if lines:
                title = {"positional arguments": "arguments"}.get(str(group.title), group.title)
                blocks.append("\n".join([f"{title}:", *lines]) + "\n")
        return "\n".join([*blocks, str(self.epilog) + "\n"])

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        close = did_you_mean(unknown.split()[0].partition("=")[0], known) if unknown != message else ""
        raise OptionError(message, hint=close or f"`{self.prog} --help` shows how it is used")


def invocation(action: argparse.Action) -> str:
    """Return an argument as it is written: QRELS, RUN..., -m/--measures NAME."""
    name = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return {"+": f"{name}...", "?": f"[{name}]", "*": f"[{name}...]"}.get(str(action.nargs), name)
    value = f" {name}" if action.nargs != 0 else ""
    return ", ".join(action.option_strings) + value


def help_lines(action: argparse.Action) -> Iterator[str]:
    """Yield the lines that explain an argument; a line break in its help starts a new line here."""
    first, *more = str(action.help).split("\n")
    shown = f"  {invocation(action)}"
    indent = " " * COLUMN
    if len(shown) > COLUMN - 2:
        yield shown
        shown = ""
    hanging = f"{indent}  " if more else indent
    yield from textwrap.wrap(first, WIDTH, initial_indent=f"{shown:<{COLUMN}}", subsequent_indent=hanging)
    for line in more:
        yield from textwrap.wrap(line, WIDTH, initial_indent=indent, subsequent_indent=hanging)


def show(*lines: str, file: TextIO | None = None) -> None:
    """Print lines for people; what would command a terminal is seen, not obeyed."""
    print(*map(printable_lines, lines), sep="\n", file=file, flush=file is not None)


def words(choices: dict[str, str], *, default: str | None = None) -> str:
    """Explain an option that takes one of some words, a line each."""
    return "\n".join(f"{word}{' (default)' if word == default else ''}: {meaning}" for word, meaning in choices.items())
