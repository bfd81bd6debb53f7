"""Grading in the terminal: one doc at a time, the keys of the page, every judgment saved at once.

On a terminal a key is enough; from a pipe a line is taken for a key with what follows it, as in `x wrong city`. What is
judged is a task of the store, or a table of docs such as `compare --settle` writes, in which grades are filled in.
"""

from __future__ import annotations

import codecs
import json
import os
import select
import shutil
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rankscope.cli.style import show
from rankscope.data.texts import query_words
from rankscope.errors import FormatError, InputError
from rankscope.io.files import write_text
from rankscope.io.formulas import as_csv, as_text_cell, restored_rows
from rankscope.io.numbers import grade_text, number_in
from rankscope.io.table import read_rows
from rankscope.judging.guidelines import DEFAULT_GUIDELINE, parse_guideline
from rankscope.judging.rater_view import DocState, SaveRequest
from rankscope.judging.records import CannotTell, GradeLabel
from rankscope.judging.settling import order_for
from rankscope.printable import counted, printable, printable_lines
from rankscope.records import Record, replace

if TYPE_CHECKING:
    from rankscope.judging.session import RaterSession
    from rankscope.judging.settling import TaskSettling

KEYS = """\
keys
  {grades}
  x NOTE   flag as wrong, with a note; x again takes it back
  b        would choose: one doc per query
  ? q|d    cannot tell: the query (q) or the doc (d) is unclear
  u        undo, as often as you like
  j k      next, previous doc without a grade
  / WORDS  find a query
  m        this help
  e        end; all is saved already"""
SHORT_KEYS = "keys: {grades} grade, x flag, b choose, ? cannot tell, u undo, m all keys, e end"
UNCLEAR: dict[str, CannotTell] = {"q": "query unclear", "d": "doc unclear"}
ASKS = {"x": "why is it wrong? ", "/": "find: "}
"""Keys after which a line is typed."""
ASKS_KEY = {"?": "q the query or d the doc is unclear: "}
"""Keys after which one more key is pressed."""
LONGEST_TEXT = 1200
"""So many characters of a doc are shown."""
WIDEST = 100
LOOK_S = 0.2
"""So long a press of Ctrl-C may go unnoticed."""
END = "e"


class DocAtHand(Record, kw_only=True):
    """What is shown of a doc."""

    query: str
    doc: str
    query_text: str
    said: tuple[str, ...] = ()
    """What was said before, and attributes of the query."""
    title: str = ""
    text: str = ""
    facts: tuple[str, ...] = ()
    chosen: bool = False


class GradingDesk(Protocol):
    """Docs to grade, whoever keeps them."""

    @property
    def scale(self) -> Sequence[GradeLabel]: ...

    def __len__(self) -> int: ...

    def show(self, place: int) -> DocAtHand: ...

    def query_text(self, place: int) -> str: ...

    def state(self, place: int) -> DocState: ...

    def save(self, place: int, state: DocState, *, seconds: float | None) -> str: ...

    def choose(self, place: int, *, chosen: bool) -> str: ...

    def progress(self) -> str: ...

    def refresh(self) -> None:
        """Look again at what is said of the docs: somebody may judge elsewhere meanwhile."""

    @property
    def n_twice(self) -> int:
        """How many of the docs are shown a second time."""


class TaskDesk:
    """The queue of a rater of a task."""

    def __init__(self, session: RaterSession, settling: TaskSettling | None = None) -> None:
        self.session, self.settling = session, settling
        self.scale: Sequence[GradeLabel] = session.guideline.scale
        state = None if settling is None else settling.state()
        seen = session.state(order=order_for(state, session.rater.seed))
        self.items, self.texts = list(seen.items), {line.query: line.text for line in seen.queries}
        self.chosen_again: dict[int, str | None] = {}
        """Places of docs that were chosen when they came a second time, with what was chosen for the query before."""
        if session.task.plan.mode == "lists":
            raise InputError(
                f"the task {session.task.name} is about whole lists, which need a page", hint="rankscope serve"
            )

    def __len__(self) -> int:
        return len(self.items)

    def query_text(self, place: int) -> str:
        return self.texts[self.items[place].query]

    def state(self, place: int) -> DocState:
        return self.items[place].state

    def show(self, place: int) -> DocAtHand:
        item = self.items[place]
        view = self.session.query(item.query)
        doc = next(each for each in view.docs if (each.doc, each.again) == (item.doc, item.again))
        attributes = [f"{name}: {one_line(value)}" for name, value in view.attributes.items()]
        facts = [f"{name}: {one_line(value)}" for name, value in doc.fields.items()]
        ranks = [f"rank {rank} of {system}" for system, rank in doc.ranks.items()]
        return DocAtHand(
            query=item.query,
            doc=item.doc,
            query_text=view.text,
            said=(*view.conversation, *([", ".join(attributes)] if attributes else [])),
            title=doc.title or doc.doc,
            text=doc.text,
            facts=(*facts, *ranks),
            chosen=place in self.chosen_again if item.again else view.choice.doc == item.doc,
        )

    def save(self, place: int, state: DocState, *, seconds: float | None) -> str:
        item = self.items[place]
        nothing = state.grade is None and not state.flag and state.cannot_tell is None
        answer = self.session.save(
            SaveRequest(
                uuid=str(uuid.uuid4()),
                query=item.query,
                doc=item.doc,
                again=item.again,
                grade=state.grade,
                flag=state.flag,
                note="" if nothing else state.note,
                cannot_tell=state.cannot_tell,
                withdrawn=nothing,
                seconds=seconds,
                replaces=item.state.uuid,
            )
        )
        if answer.status == "refused":
            raise InputError(answer.reason, hint="`rankscope judge show` says where the task stands")
        held = answer.doc or DocState()
        self.items[place] = replace(item, state=held, done=held.is_done)
        if answer.status != "conflict":
            return ""
        self.refresh()
        return answer.reason

    def choose(self, place: int, *, chosen: bool) -> str:
        item = self.items[place]
        held = self.session.query(item.query).choice
        wanted = item.doc if chosen else self.chosen_again.get(place)
        if wanted != held.doc:
            doc, is_one = wanted or item.doc, wanted is not None
            request = SaveRequest(uuid=str(uuid.uuid4()), query=item.query, doc=doc, choice=is_one, replaces=held.uuid)
            answer = self.session.save(request)
            if answer.status != "ok":
                return answer.reason
        if item.again and chosen:
            self.chosen_again[place] = held.doc
        else:
            self.chosen_again.pop(place, None)
        return ""

    def refresh(self) -> None:
        held = {(each.query, each.doc, each.again): each for each in self.session.state().items}
        self.items = [held.get((each.query, each.doc, each.again), each) for each in self.items]

    def progress(self) -> str:
        """Say how far the answer is from settled; nothing where the task settles nothing."""
        if self.settling is None:
            return ""
        state = self.settling.state()
        left = any(not item.done for item in self.items)
        return state.short if left or not state.n_open else f"{state.short} Nothing of that is left for you."

    @property
    def n_twice(self) -> int:
        return sum(item.again for item in self.items)


class FileDesk:
    """A table of docs whose column `grade` is filled in; the file is written anew after each judgment."""

    n_twice = 0  # each row is a doc of its own

    def __init__(self, path: Path, guideline: str = DEFAULT_GUIDELINE) -> None:
        self.path = path
        self.scale: Sequence[GradeLabel] = parse_guideline(guideline).scale
        self.is_csv = path.suffix.lower() == ".csv"
        if path.suffix.lower() not in (".csv", ".jsonl", ".ndjson"):
            raise FormatError(f"{path} is no table that grades can be filled into", hint="use .csv or .jsonl")
        numbered = list(restored_rows(read_rows(path)) if self.is_csv else read_rows(path))
        self.rows = [dict(row) for _, row in numbered]
        if not self.rows:
            raise InputError(f"{path} holds no doc to judge", hint="`rankscope compare --settle` writes a table")
        for (number, _), row in zip(numbered, self.rows, strict=True):
            if not str(row.get("query") or "") or not str(row.get("doc") or ""):
                raise FormatError(
                    f"{path}:{number}: the row has no query or no doc",
                    hint="`rankscope compare --settle` writes a table",
                )
            check_grade(row.get("grade"), self.scale, where=f"{path}:{number}")

    def __len__(self) -> int:
        return len(self.rows)

    def query_text(self, place: int) -> str:
        return str(self.rows[place].get("query_text") or self.rows[place]["query"])

    def state(self, place: int) -> DocState:
        row = self.rows[place]
        grade, note = row.get("grade"), str(row.get("note") or "")
        unclear = str(row.get("status") or "") == "cannot_tell"
        return DocState(
            grade=number_in(grade),
            flag=str(row.get("flag") or "").lower() in ("yes", "true"),
            note="" if unclear else note,
            cannot_tell=next((each for each in UNCLEAR.values() if each == note), "doc unclear") if unclear else None,
        )

    def show(self, place: int) -> DocAtHand:
        row = self.rows[place]
        return DocAtHand(
            query=str(row["query"]),
            doc=str(row["doc"]),
            query_text=self.query_text(place),
            title=str(row.get("title") or row["doc"]),
            text=str(row.get("text") or ""),
            chosen=str(row.get("choice") or "") == "yes",
        )

    def save(self, place: int, state: DocState, *, seconds: float | None) -> str:
        row = self.rows[place]
        row["grade"] = None if state.grade is None else number_of(state.grade)
        more = {
            "flag": "yes" if state.flag else "",
            "note": state.cannot_tell or state.note,
            "status": "cannot_tell" if state.cannot_tell else "",
            "seconds": "" if seconds is None else f"{seconds:.1f}",
        }
        for name, value in more.items():
            if value or name in row:
                self._fill(row, name, value)
        self._write()
        return ""

    def choose(self, place: int, *, chosen: bool) -> str:
        for other in self.rows:
            if other["query"] == self.rows[place]["query"] and other.get("choice"):
                other["choice"] = ""
        self._fill(self.rows[place], "choice", "yes" if chosen else "")
        self._write()
        return ""

    def refresh(self) -> None:
        """Keep the rows: the file is written by nobody else meanwhile."""

    def _fill(self, row: dict[str, Any], name: str, value: str) -> None:
        for each in self.rows:  # all rows of a table have the same columns
            each.setdefault(name, "" if self.is_csv else None)
        row[name] = value

    def _write(self) -> None:
        if not self.is_csv:
            write_text(self.path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows))
            return
        names = dict.fromkeys(name for row in self.rows for name in row)
        cells = ([as_text_cell("" if row.get(name) is None else str(row[name])) for name in names] for row in self.rows)
        write_text(self.path, as_csv([list(names), *cells]))

    def progress(self) -> str:
        return ""


def number_of(grade: float) -> float | int:
    return int(grade) if grade.is_integer() else grade


def check_grade(cell: Any, scale: Sequence[GradeLabel], *, where: str) -> None:
    if cell in (None, ""):
        return
    grade = number_in(cell)
    if grade is None:
        raise FormatError(f"{where}: {str(cell)[:40]!r} is no grade", hint="leave it empty where there is none")
    if grade not in [each.grade for each in scale]:
        steps = ", ".join(grade_text(each.grade) for each in scale)
        raise InputError(
            f"{where}: the grade {grade_text(grade)} is not on the scale {steps}", hint="--guideline FILE names another"
        )


def one_line(value: Any) -> str:
    return printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:200]


class Grading:
    """What the keys do: which doc is at hand, what was done before, and what is shown."""

    def __init__(self, desk: GradingDesk, *, clock: Callable[[], float] = time.monotonic, bold: bool = False) -> None:
        self.desk, self.clock, self.bold = desk, clock, bold
        self.keys = keys_of(desk.scale)
        self.place = self._next(-1, 1)
        self.before: list[tuple[int, DocState]] = []
        self.shown_at = clock()
        self.is_over = False

    def press(self, line: str) -> Iterator[str]:
        """Do what a key says; yield what is to be shown then."""
        key, rest = line[:1], line[1:].strip()
        self.shown_at, since = self.clock(), self.clock() - self.shown_at
        if key == END:
            self.is_over = True
        elif key == "m":
            yield from help_of(self.keys)
        elif key == "/":
            yield from self._find(rest)
        elif key in ("j", "k"):
            self._go(1 if key == "j" else -1)
            yield from self.screen()
        elif key == "u":
            yield from self._undo()
        elif self.place is None:
            yield f"{done_words(self.desk)}: nothing is left; u undoes, e ends"
        elif line.strip() in self.keys:
            yield from self._grade(self.keys[line.strip()], since)
        elif key in ("x", "b", "?"):
            yield from {"x": self._flag, "b": self._choose, "?": self._cannot_tell}[key](rest, since)
        elif line.strip():
            yield f"{line.strip()[:20]!r} is no key; m shows them all"

    def start(self) -> Iterator[str]:
        """Yield the keys in short, and the doc at hand."""
        if self.place is not None:
            yield "\n".join(textwrap.wrap(SHORT_KEYS.format(grades=" ".join(self.keys)), width_of_screen()))
        yield from self.screen()

    def screen(self) -> Iterator[str]:
        """Yield the doc at hand."""
        line, width = done_words(self.desk), width_of_screen()
        if progress := self.desk.progress():
            line = "\n".join(textwrap.wrap(f"{line}. {progress}", width, break_on_hyphens=False))
        if self.place is None:
            yield line
            return
        shown, state = self.desk.show(self.place), self.desk.state(self.place)
        yield ""
        yield line
        yield self._marked(f"query: {shown.query_text}", frozenset())
        yield from (f"  {printable(each)}" for each in shown.said)
        yield f"doc:   {printable(shown.title)}"
        yield from (f"  {printable(fact)}" for fact in shown.facts)
        for paragraph in shown.text[:LONGEST_TEXT].splitlines():
            for part in textwrap.wrap(printable(paragraph), width - 2):
                yield self._marked(f"  {part}", query_words(shown.query_text))
        if len(shown.text) > LONGEST_TEXT:
            yield f"  … and {len(shown.text) - LONGEST_TEXT:,} more characters"
        said = state_words(state, chosen=shown.chosen)
        yield "  ".join(f"{key} {each.label}" for key, each in self._labels()) + (f"   [{said}]" if said else "")

    def _labels(self) -> Iterator[tuple[str, GradeLabel]]:
        for key, grade in self.keys.items():
            yield key, next(each for each in self.desk.scale if each.grade == grade)

    def _marked(self, line: str, words: frozenset[str]) -> str:
        """Return a line with the words of the query in bold, where the terminal can."""
        line = printable_lines(line)
        if not self.bold or not words:
            return line
        parts = line.split(" ")
        return " ".join(f"\x1b[1m{part}\x1b[0m" if query_words(part) & words else part for part in parts)

    def _grade(self, grade: float, since: float) -> Iterator[str]:
        state = self._now()
        yield from self._save(replace(state, grade=grade, cannot_tell=None), since, moves=True)

    def _flag(self, note: str, since: float) -> Iterator[str]:
        from rankscope.data.judgments import LONGEST_NOTE

        if len(note) > LONGEST_NOTE:
            yield f"a note has at most {LONGEST_NOTE:,} characters, and this one {len(note):,}: it is not saved"
            return
        state = self._now()
        flag = not state.flag or bool(note)
        yield from self._save(replace(state, flag=flag, note=note if flag else "", cannot_tell=None), since)

    def _cannot_tell(self, why: str, since: float) -> Iterator[str]:
        if why[:1] not in UNCLEAR:
            yield "say what is unclear: ?q the query, ?d the doc"
            return
        yield from self._save(DocState(uuid=self._now().uuid, cannot_tell=UNCLEAR[why[:1]]), since, moves=True)

    def _choose(self, _rest: str, _since: float) -> Iterator[str]:
        place = self._at()
        problem = self.desk.choose(place, chosen=not self.desk.show(place).chosen)
        yield from [problem] if problem else []
        yield from self.screen()

    def _save(self, state: DocState, since: float, *, moves: bool = False) -> Iterator[str]:
        place = self._at()
        self.before.append((place, self.desk.state(place)))
        problem = self.desk.save(place, state, seconds=round(since, 1))
        if problem:
            yield problem
        elif moves:
            self._go(1)
        yield from self.screen()

    def _undo(self) -> Iterator[str]:
        if not self.before:
            yield "there is nothing to undo"
            return
        self.place, state = self.before.pop()
        self.desk.save(self.place, state, seconds=None)
        yield from self.screen()

    def _find(self, words: str) -> Iterator[str]:
        wanted = words.casefold().split()
        for place in range(len(self.desk)):
            text = self.desk.query_text(place).casefold()
            if wanted and all(word in text for word in wanted):
                self.place = place
                yield from self.screen()
                return
        yield f"no query has {words!r}"

    def _go(self, step: int) -> None:
        """Go to the next doc without a grade, round the end; where all have one, to the next."""
        start = -1 if self.place is None else self.place
        found = self._next(start, step)
        if found is None and len(self.desk) and self.place is not None:
            found = None if step > 0 and self.desk.state(self.place).is_done else self.place
        self.place = found

    def _next(self, start: int, step: int) -> int | None:
        n = len(self.desk)
        around = ((start + step * i) % n for i in range(1, n + 1)) if n else ()
        return next((place for place in around if not self.desk.state(place).is_done), None)

    def _at(self) -> int:
        assert self.place is not None  # noqa: S101 (press has looked)
        return self.place

    def _now(self) -> DocState:
        return self.desk.state(self._at())


def width_of_screen() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def keys_of(scale: Sequence[GradeLabel]) -> dict[str, float]:
    """Return the key of each grade: its own digit, or its place from 1 where a grade has no single digit."""
    own = {grade_text(each.grade): each.grade for each in scale}
    if all(len(key) == 1 for key in own):
        return own
    return {str(place): each.grade for place, each in enumerate(scale, 1)}


def help_of(keys: Mapping[str, float]) -> list[str]:
    return KEYS.format(grades=f"{' '.join(keys):<8} grade, and on to the next doc").splitlines()


def state_words(state: DocState, *, chosen: bool) -> str:
    said = [
        f"grade {grade_text(state.grade)}" if state.grade is not None else "",
        f"flagged{': ' + printable(state.note) if state.note else ''}" if state.flag else "",
        state.cannot_tell or "",
        "your choice" if chosen else "",
    ]
    return ", ".join(each for each in said if each)


def grade_all(desk: GradingDesk) -> None:
    """Let somebody grade until all is done, or they end it."""
    if sys.stdin is None:
        raise InputError("there is nobody to grade: standard input is closed")
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    grading = Grading(desk, bold=is_terminal and not os.environ.get("NO_COLOR"))
    last = put(grading.start() if is_terminal else grading.screen(), is_terminal=is_terminal)
    with pressed_keys() if is_terminal else typed_lines() as lines:
        for line in lines:
            last = put(grading.press(line), is_terminal=is_terminal) or last
            if grading.is_over:
                break
    desk.refresh()
    if not last.startswith(done_words(desk)):  # else it was the last thing that was said
        show(done_words(desk))


def done_words(desk: GradingDesk) -> str:
    """Say how far somebody is; docs that are shown twice take two answers, and are one doc."""
    done = sum(desk.state(place).is_done for place in range(len(desk)))
    if not desk.n_twice:
        return f"{done:,} of {counted(len(desk), 'doc')} judged"
    twice = f"{counted(desk.n_twice, 'doc')} {'is' if desk.n_twice == 1 else 'are'} shown twice"
    return f"{done:,} of {counted(len(desk), 'answer')} given ({twice})"


def put(lines: Iterator[str], *, is_terminal: bool) -> str:
    """Print what is made safe already: bold words would not be seen as such otherwise; return the last line."""
    line = ""
    for line in lines:
        if is_terminal:
            print(line)
        else:
            show(line)
    if is_terminal:
        sys.stdout.flush()
    return line


@contextmanager
def typed_lines() -> Iterator[Iterator[str]]:
    yield (line.rstrip("\r\n") for line in sys.stdin)


@contextmanager
def pressed_keys() -> Iterator[Iterator[str]]:
    """Give single keys of a terminal; after some of them a line is typed. The terminal is as before at the end."""
    try:
        import termios
        import tty
    except ImportError:  # Windows has neither: a key there is a line
        with typed_lines() as lines:
            yield lines
        return
    at = sys.stdin.fileno()
    usual = termios.tcgetattr(at)

    def pressed(asks: str = "") -> str:
        """Return the next key; nothing at the end of the input, which Ctrl-D is."""
        print(asks, end="\n" if asks else "", flush=True)
        key = next_byte(at).decode("utf-8", "replace")
        return "" if key == "\x04" else key

    def keys() -> Iterator[str]:
        # what is typed while something is worked out is neither echoed nor thrown away
        tty.setcbreak(at, termios.TCSADRAIN)
        while key := pressed():
            more: str | None = ""
            if key in ASKS_KEY:
                more = pressed(ASKS_KEY[key]) or None
            elif key in ASKS:
                more = typed_line(at, ASKS[key])
            if more is None:  # Ctrl-D ends here as it does elsewhere
                return
            yield f"{key} {more}".rstrip()

    try:
        yield keys()
    finally:
        termios.tcsetattr(at, termios.TCSADRAIN, usual)


def next_byte(at: int) -> bytes:
    """Return the next byte of a terminal, and let Ctrl-C end the waiting for it.

    The library that reads tables lets calls of the system go on after a signal, so that a plain read would not end.
    """
    while not select.select([at], [], [], LOOK_S)[0]:
        pass
    return os.read(at, 1)


def typed_line(at: int, asks: str) -> str | None:
    """Return the line that is typed on a terminal in which keys come one by one; None where Ctrl-D ends it.

    To let the terminal collect the line would leave what was typed ahead where nobody finds it.
    """
    print(asks, end="", flush=True)
    typed = ""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while byte := next_byte(at):
        character = decode(byte)
        if character in ("\n", "\r"):
            print()
            return typed
        if character == "\x04" and not typed:
            break
        if character == "\x15":  # Ctrl-U takes the whole line away
            print("\b \b" * len(typed), end="", flush=True)
            typed = ""
        elif character in ("\x7f", "\b"):
            print("\b \b" * bool(typed), end="", flush=True)
            typed = typed[:-1]
        else:
            print(printable(character), end="", flush=True)
            typed += character
    print()
    return None
