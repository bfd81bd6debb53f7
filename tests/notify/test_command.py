import json
import sys
import time

import pytest

from rankscope.errors import OptionError
from rankscope.notify.command import CommandNotifier
from rankscope.notify.notice import Notice, NotifyError

NOTICE = Notice("alert", "down\r\nBcc: all", "nDCG@10 fell\n--to everybody \x1b[31m \0", {"value": 0.4})
KEEP = "import os, sys; open({!r}, 'wb').write(sys.stdin.buffer.read() + os.environ['RANKSCOPE_SUBJECT'].encode())"


def test_message_comes_on_standard_input_and_subject_in_the_environment(tmp_path):
    file = tmp_path / "got"
    CommandNotifier(command=[sys.executable, "-c", KEEP.format(str(file))]).send(NOTICE)
    line = r"down\r\nBcc: all"
    assert file.read_text() == f"{line}\n\nnDCG@10 fell\n--to everybody \\x1b[31m \\x00\n{line}"


def test_message_as_json(tmp_path):
    file = tmp_path / "got"
    code = f"import sys; open({str(file)!r}, 'w').write(sys.stdin.read())"
    CommandNotifier(command=[sys.executable, "-c", code], input="json").send(NOTICE)
    got = json.loads(file.read_text())
    assert (got["kind"], got["facts"]) == ("alert", {"value": 0.4})


def test_exit_code_and_last_words_are_said():
    code = "import sys; print('first', file=sys.stderr); print('no network', file=sys.stderr); sys.exit(7)"
    with pytest.raises(NotifyError, match="ended with code 7: no network"):
        CommandNotifier(command=[sys.executable, "-c", code]).send(NOTICE)


def test_program_that_does_not_end_is_ended():
    started = time.monotonic()
    with pytest.raises(NotifyError, match=r"had not ended after 0\.5 s"):
        CommandNotifier(command=[sys.executable, "-c", "import time; time.sleep(600)"], timeout_s=0.5).send(NOTICE)
    assert time.monotonic() - started < 120


def test_program_that_is_not_there():
    with pytest.raises(NotifyError, match="cannot be started: No such file"):
        CommandNotifier(command="./nobody-is-here").send(NOTICE)


def test_program_that_reads_nothing(tmp_path):
    """A program may end without reading what it is sent: that is no failure, and it was started."""
    CommandNotifier(command=f"touch {tmp_path / 'started'}").send(Notice("alert", "s", "x" * 1_000_000))
    assert (tmp_path / "started").exists()


@pytest.mark.parametrize(("command", "words"), [("", "empty"), ([], "empty"), ("a 'b", "cannot be read")])
def test_command_that_cannot_be(command, words):
    with pytest.raises(OptionError, match=words):
        CommandNotifier(command=command).check()
