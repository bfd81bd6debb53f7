"""Grading on a terminal, with single keys, and from a pipe: what is typed is kept, and nothing that is typed ends it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from rankscope.store import open_store
from small_task import small_task

pty = pytest.importorskip("pty")
PATIENCE_S = 20


class Typist:
    """Somebody at a terminal, who waits for what is shown before the next key is pressed."""

    def __init__(self, folder, *arguments):
        self.master, slave = pty.openpty()
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "RANKSCOPE_STORE": str(folder / "store.db")}
        command = [sys.executable, "-m", "rankscope", "judge", "grade", *arguments]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True
        )
        os.close(slave)
        self.seen = ""

    def shown(self, text):
        """Wait until a text is shown, and return all that came before it since the last one."""
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], PATIENCE_S)
            assert ready, f"{text!r} is not shown, but {self.seen!r}"
            try:
                more = os.read(self.master, 65536)
            except OSError:  # the other side is closed
                more = b""
            assert more, f"it ended without {text!r}: {self.seen!r}"
            self.seen += more.decode("utf-8", "replace").replace("\r\n", "\n")
        before, _, self.seen = self.seen.partition(text)
        return before

    def press(self, keys):
        os.write(self.master, keys.encode())

    def ends(self):
        """Return the exit status, once the terminal is closed from the other side."""
        while True:
            try:
                if not os.read(self.master, 65536):
                    break
            except OSError:
                break
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def typist(tmp_path):
    with small_task(tmp_path, n_queries=3, measure="", repeat_share=0.0):
        pass
    made = Typist(tmp_path, "hearts", "--rater", "Tty")
    yield made
    made.process.kill()
    made.process.wait(PATIENCE_S)
    os.close(made.master)


SCALE_LINE = "0 No  1 Related  2 Relevant  3 Exactly"


def said(folder):
    """Return what holds: for each doc grade, flag, note, status; and the chosen docs."""
    with open_store(folder / "store.db") as store:
        held = [each.judgment for each in store.judgments.current("doctors")]
    docs = {(each.query, each.doc): (each.grade, each.flag, each.note, each.status) for each in held if not each.choice}
    return docs, {each.query: each.doc for each in held if each.choice}


def test_keys_act_at_once(typist, tmp_path):
    typist.shown("0 of 12 docs judged")
    typist.shown(SCALE_LINE)
    typist.press("2")
    typist.shown("1 of 12 docs judged")
    typist.shown(SCALE_LINE)
    typist.press("x")
    typist.shown("why is it wrong? ")
    typist.press("wrong city\n")
    typist.shown("[flagged: wrong city]")
    typist.press("b")
    typist.shown("[flagged: wrong city, your choice]")
    typist.press("1")
    typist.shown("2 of 12 docs judged")
    typist.press("?")
    typist.shown("q the query or d the doc is unclear: ")
    typist.press("d")  # no Enter
    typist.shown("3 of 12 docs judged")
    typist.press("?")
    typist.shown("q the query or d the doc is unclear: ")
    typist.press("q")
    typist.shown("4 of 12 docs judged")
    typist.shown(SCALE_LINE)
    typist.press("u")
    typist.shown("3 of 12 docs judged")
    typist.shown(SCALE_LINE)
    typist.press("j")
    first = typist.shown(SCALE_LINE)
    typist.press("k")
    assert typist.shown(SCALE_LINE) != first
    typist.press("/")
    typist.shown("find: ")
    typist.press("q02\n")
    typist.shown("query: text of q02")
    typist.shown(SCALE_LINE)
    typist.press("m")
    typist.shown("flag as wrong, with a note")
    typist.press("q")
    typist.shown("'q' is no key; m shows them all")
    typist.press("e")
    typist.shown("3 of 12 docs judged")
    assert typist.ends() == 0
    docs, chosen = said(tmp_path)
    assert sorted(docs.values(), key=str) == [
        (1.0, True, "wrong city", "ok"),
        (2.0, False, "", "ok"),
        (None, False, "doc unclear", "cannot_tell"),
    ]
    assert len(chosen) == 1


def test_keys_that_are_typed_ahead_are_not_lost(typist, tmp_path):
    typist.shown("0 of 12 docs judged")
    typist.press("0123xfar away\n?d3e")
    typist.shown("6 of 12 docs judged")
    assert typist.ends() == 0
    docs, _ = said(tmp_path)
    assert sorted((str(grade), note) for grade, _, note, _ in docs.values()) == [
        ("0.0", ""), ("1.0", ""), ("2.0", ""), ("3.0", ""), ("3.0", ""), ("None", "doc unclear"),
    ]  # fmt: skip


@pytest.mark.parametrize(("key", "asks"), [("x", "why is it wrong? "), ("/", "find: "), ("?", "is unclear: ")])
def test_ctrl_d_ends_it_wherever_something_is_asked(typist, tmp_path, key, asks):
    typist.shown(SCALE_LINE)
    typist.press("3")
    typist.shown("1 of 12 docs judged")
    typist.shown(SCALE_LINE)
    typist.press(key)
    typist.shown(asks)
    typist.press("\x04")
    typist.shown("1 of 12 docs judged")
    assert typist.ends() == 0
    assert list(said(tmp_path)[0].values()) == [(3.0, False, "", "ok")]


@pytest.mark.parametrize(("key", "asks"), [("", SCALE_LINE), ("x", "why is it wrong? ")])
def test_an_interrupt_ends_the_waiting_for_a_key(typist, tmp_path, key, asks):
    """Libraries may let calls of the system go on after a signal: reading a key must not be such a call."""
    typist.shown(SCALE_LINE)
    typist.press("3")
    typist.shown("1 of 12 docs judged")
    typist.shown(SCALE_LINE)
    if key:
        typist.press(key)
        typist.shown(asks)
    typist.process.send_signal(signal.SIGINT)
    assert typist.process.wait(PATIENCE_S) in (130, -signal.SIGINT)
    assert list(said(tmp_path)[0].values()) == [(3.0, False, "", "ok")]


def test_ctrl_u_takes_a_note_away(typist, tmp_path):
    typist.shown(SCALE_LINE)
    typist.press("x")
    typist.shown("why is it wrong? ")
    typist.press("far awäy\x15wrong city\n")
    typist.shown("[flagged: wrong city]")
    typist.press("e")
    assert typist.ends() == 0
    assert [(flag, note) for _, flag, note, _ in said(tmp_path)[0].values()] == [(True, "wrong city")]


def test_a_nul_in_a_note_swallows_nothing(typist, tmp_path):
    typist.shown(SCALE_LINE)
    typist.press("x")
    typist.shown("why is it wrong? ")
    typist.press("a\x00üzz\x7f\x7fb\n")
    typist.shown("[flagged: a")
    typist.press("3")
    typist.shown("1 of 12 docs judged")
    typist.press("e")
    assert typist.ends() == 0
    ((grade, flag, note, _),) = said(tmp_path)[0].values()
    assert (grade, flag, note[0], note[-2:]) == (3.0, True, "a", "üb")


def test_a_note_that_is_too_long_ends_nothing(tmp_path):
    with small_task(tmp_path, n_queries=3, measure="", repeat_share=0.0):
        pass
    lines = f"x {'y' * 2001}\n2\nx {'y' * 2000}\ne\n"
    environment = {**os.environ, "RANKSCOPE_STORE": str(tmp_path / "store.db")}
    command = [sys.executable, "-m", "rankscope", "judge", "grade", "hearts", "--rater", "Pipe"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "a note has at most 2,000 characters, and this one 2,001: it is not saved" in done.stdout
    docs, _ = said(tmp_path)
    assert sorted((grade, flag, len(note)) for grade, flag, note, _ in docs.values() if grade is not None) == [
        (2.0, False, 0)
    ]
    assert [len(note) for grade, flag, note, _ in docs.values() if flag] == [2000]
