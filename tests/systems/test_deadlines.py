"""Time-outs hold for the whole of an exchange, and nothing is left behind: no process, no thread, no open file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from rankscope.systems import command, program
from rankscope.systems.base import Query
from rankscope.systems.encoders import Endpoint
from rankscope.systems.http import Http
from rankscope.systems.registry import make_system

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said
from small_project import small_project

QUERIES = [Query("1", "one"), Query("2", "two"), Query("3", "three")]
SHELL = pytest.mark.skipif(os.name != "posix", reason="there is no shell")


@contextmanager
def raw_server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Listen on the loopback address, and give every connection to a function, in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

    def serve_one(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            serve(connection)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def drip(text: bytes, pause_s: float = 0.1) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        for i in range(len(text)):
            connection.sendall(text[i : i + 1])
            time.sleep(pause_s)

    return serve


HEADERS = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % i for i in range(50))


class TestHttp:
    @pytest.mark.parametrize(
        "text",
        [
            HEADERS,
            b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b" " * 500,
            b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
        ],
        ids=["headers", "content", "continue"],
    )
    def test_what_drips_in_ends_in_time(self, text):
        with raw_server(drip(text, 0.05)) as port:
            started = time.monotonic()
            (answer,) = Http(url=f"http://127.0.0.1:{port}/", timeout_s=1, attempts=1).answers(QUERIES[:1], k=1)
            assert 0.9 < time.monotonic() - started < 5
        assert answer.reason == "no answer within 1 s"

    def test_an_encrypted_connection_that_is_never_made_ends_in_time(self):
        with raw_server(drip(b"\x16\x03\x03" + b"\x00" * 500, 0.05)) as port:
            started = time.monotonic()
            (answer,) = Http(url=f"https://127.0.0.1:{port}/", timeout_s=1, attempts=1).answers(QUERIES[:1], k=1)
            assert time.monotonic() - started < 5
        assert answer.failed

    def test_a_door_that_nobody_opens(self):
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            port = full.getsockname()[1]
            waiting = [socket.socket() for _ in range(4)]
            for one in waiting:
                one.settimeout(0)
                one.connect_ex(("127.0.0.1", port))
            started = time.monotonic()
            (answer,) = Http(url=f"http://127.0.0.1:{port}/", timeout_s=1, attempts=1).answers(QUERIES[:1], k=1)
            assert time.monotonic() - started < 10
            for one in waiting:
                one.close()
        assert answer.failed

    def test_an_endpoint_for_embeddings_has_the_same_deadline(self):
        with raw_server(drip(HEADERS, 0.05)) as port:
            endpoint = Endpoint("m", base_url=f"http://127.0.0.1:{port}", n_attempts=1)
            endpoint._transport.timeout_s = 1
            started = time.monotonic()
            with pytest.raises(ValueError, match="did not answer in 1 attempts"):
                endpoint.encode(["x"], role="doc")
            assert time.monotonic() - started < 5

    def test_an_endless_answer_is_refused_while_it_arrives(self, monkeypatch):
        monkeypatch.setattr("rankscope.systems.transport.LARGEST_ANSWER_BYTES", 1 << 20)

        def pour(connection: socket.socket) -> None:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                connection.sendall(b"[" * 65536)

        with raw_server(pour) as port:
            (answer,) = Http(url=f"http://127.0.0.1:{port}/", timeout_s=30, attempts=1).answers(QUERIES[:1], k=1)
            assert answer.reason.endswith("the answer is longer than 1 MB")
            with pytest.raises(ValueError, match="the answer is longer than 1 MB"):
                Endpoint("m", base_url=f"http://127.0.0.1:{port}", n_attempts=1).encode(["x"], role="doc")

    def test_nothing_is_left_open(self):
        with Loopback(lambda _: Said([{"id": "a"}])) as server:
            list(Http(url=server.url).answers(QUERIES, k=1))
            before = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
            for _ in range(5):
                list(Http(url=server.url).answers(QUERIES, k=1))
            time.sleep(0.2)  # the server lets go of connections that were closed
            after = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
        assert after[0] <= before[0] + 4
        assert after[1] <= before[1] + 4


class TestFirstQuery:
    """Where all queries would fail, that is found out with the first ones."""

    def test_nobody_there(self):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        many = [Query(str(i), "x") for i in range(40)]
        started = time.monotonic()
        answers = list(Http(url=f"http://127.0.0.1:{port}/", backoff_s=0.1).answers(many, k=1))
        assert time.monotonic() - started < 10
        assert len(answers) == 40
        assert answers[0].reason.startswith("no answer: ConnectionRefusedError")
        assert answers[0].reason.endswith(f" (http://127.0.0.1:{port}/)")
        assert answers[0].n_attempts == 2
        assert answers[39].reason.startswith("not asked, as it would fail like query '0': no answer: Connection")

    @pytest.mark.parametrize("concurrency", [1, 4])
    def test_somebody_who_never_says_a_word(self, concurrency):
        many = [Query(str(i), "x") for i in range(40)]
        n_asked = 0

        def stay_silent(connection: socket.socket) -> None:
            nonlocal n_asked
            n_asked += 1
            while connection.recv(65536):
                pass

        with raw_server(stay_silent) as port:
            url = f"http://127.0.0.1:{port}/s?q={{query}}&key=mine"
            started = time.monotonic()
            answers = list(Http(url=url, timeout_s=0.5, concurrency=concurrency).answers(many, k=1))
            assert time.monotonic() - started < 5
        assert n_asked == 2
        assert len(answers) == 40
        lost, second = answers[0], next(answer for answer in answers if answer.query_id == "1")
        assert lost.for_all
        assert lost.reason == (
            f"no answer within 0.5 s, twice (http://127.0.0.1:{port}/s?q={{query}}&key=(hidden)); "
            "where it needs longer, raise timeout_s"
        )
        assert second.reason == "no answer within 0.5 s"
        assert [(answer.reason, answer.n_attempts) for answer in answers if answer.query_id == "39"] == [
            (f"not asked, as it would fail like query '0': {lost.reason}", 0)
        ]

    def test_somebody_who_closes_every_connection_at_once(self):
        many = [Query(str(i), "x") for i in range(40)]
        with raw_server(lambda connection: connection.recv(65536) and None) as port:
            started = time.monotonic()
            answers = list(Http(url=f"http://127.0.0.1:{port}/", backoff_s=0.01).answers(many, k=1))
            assert time.monotonic() - started < 5
        assert answers[0].for_all
        assert answers[0].reason.startswith("no answer: RemoteDisconnected")
        assert answers[0].reason.endswith(f", twice (http://127.0.0.1:{port}/)")
        assert sum(answer.n_attempts > 0 for answer in answers) == 2

    @pytest.mark.parametrize("slow", ["1", "2"], ids=["first", "second"])
    @pytest.mark.parametrize("patience_s", [0.1, 5], ids=["at the same time", "one after the other"])
    def test_one_slow_query_is_not_taken_for_silence(self, slow, patience_s, monkeypatch):
        monkeypatch.setattr("rankscope.systems.http._SILENT_S", patience_s)
        asked = []

        def answer(request):
            asked.append(request.path)
            time.sleep(1 if request.path == f"/{slow}" else 0.2)
            return Said([{"id": "a"}])

        with Loopback(answer) as server:
            system = Http(url=f"{server.url}/{{query_id}}", timeout_s=0.5, attempts=2, backoff_s=0.01)
            answers = {answer.query_id: answer for answer in system.answers(QUERIES, k=1)}
        assert {query: answer.failed for query, answer in answers.items()} == {q: q == slow for q in "123"}
        assert (answers[slow].reason, answers[slow].n_attempts) == ("no answer within 0.5 s", 2)
        assert asked.count(f"/{slow}") == 2
        assert len(asked) == 4

    def test_silence_later_on_fails_these_queries_alone(self):
        many = [Query(str(i), "x") for i in range(8)]

        def answer(request):
            time.sleep(1 if request.path in ("/3", "/4", "/5") else 0)
            return Said([{"id": "a"}])

        with Loopback(answer) as server:
            system = Http(url=f"{server.url}/{{query_id}}", timeout_s=0.3, attempts=1, concurrency=1)
            failed = {answer.query_id: answer.failed for answer in system.answers(many, k=1)}
        assert [query for query in failed if failed[query]] == ["3", "4", "5"]

    def test_silence_is_noticed_where_queries_are_asked_one_by_one_too(self):
        with raw_server(lambda connection: time.sleep(5)) as port:
            system = Http(url=f"http://127.0.0.1:{port}/", timeout_s=0.2, attempts=2, backoff_s=0.01)
            (first,), (second,) = (list(system.answers([query], k=1)) for query in QUERIES[:2])
        assert (first.for_all, first.n_attempts) == (False, 2)
        assert (second.for_all, second.n_attempts) == (True, 1)

    def test_an_address_of_the_environment_is_shown_by_its_name(self, monkeypatch):
        from rankscope.systems.secrets import FromEnvironment

        with raw_server(lambda connection: time.sleep(5)) as port:
            value = f"http://127.0.0.1:{port}/private"
            url = FromEnvironment(value, "${SEARCH_URL}", {"SEARCH_URL": value})
            lost = next(Http(url=url, timeout_s=0.2).answers(QUERIES, k=1))
        assert "(${SEARCH_URL})" in lost.reason
        assert str(port) not in lost.reason

    @pytest.mark.parametrize("status", [301, 401, 403, 404, 405])
    def test_a_wrong_address(self, status):
        many = [Query(str(i), "x") for i in range(40)]
        with Loopback(lambda _: Said(b"no", status)) as server:
            answers = list(Http(url=server.url).answers(many, k=1))
            assert len(server.requests) == 3
        assert answers[2].for_all
        assert answers[39].reason == f"not asked, as it would fail like query '2': the server answered {status}: no"

    def test_one_doc_that_is_not_there_is_no_wrong_address(self):
        with Loopback(lambda asked: Said([{"id": "a"}], 404 if asked.path in ("/1", "/2") else 200)) as server:
            answers = list(Http(url=f"{server.url}/{{query_id}}").answers(QUERIES, k=1))
        assert [answer.failed for answer in answers] == [True, True, False]

    def test_a_server_that_is_down_for_a_moment_is_asked_again(self):
        n_asked = 0

        def answer(_):
            nonlocal n_asked
            n_asked += 1
            return Said(b"", 503) if n_asked < 3 else Said([{"id": "a"}])

        with Loopback(answer) as server:
            answers = list(Http(url=server.url, backoff_s=0.001).answers(QUERIES, k=1))
        assert not any(answer.failed for answer in answers)

    @pytest.mark.parametrize(
        ("table", "reason"),
        [
            ('type = "http"\nurl = "http://127.0.0.1:PORT/"', "no answer: ConnectionRefusedError"),
            (
                'type = "http"\ntimeout_s = 0.5\nurl = "http://127.0.0.1:SILENT/"',
                "; where it needs longer, raise timeout_s",
            ),
            ('type = "command"\ncommand = "./nowhere"', "./nowhere cannot be started: No such file"),
            ('type = "dense"\nmodel = "m"\nbase_url = "http://127.0.0.1:PORT/"', "did not answer in 2 attempts"),
        ],
    )
    def test_such_a_system_is_left_out_and_the_others_go_on(self, table, reason, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            table = table.replace("PORT", str(gone.getsockname()[1]))
        silent = socket.create_server(("127.0.0.1", 0))  # connections are made, and nobody ever looks at them
        table = table.replace("SILENT", str(silent.getsockname()[1]))
        small = small_project(tmp_path)
        both = '[systems.both]\ntype = "hybrid"\nof = ["dead", "one"]\n'
        one = '[systems.one]\ntype = "python"\nrecords = true\nfunction = "MODULE:one"\n'
        small.write(f"[systems.dead]\n{table}\n{both}{one}")
        started = time.monotonic()
        outcome = small.run()
        silent.close()
        assert time.monotonic() - started < 30
        assert outcome.returncode == 2
        for name in ("dead", "both"):
            assert f"error: {name} is left out: it cannot be asked: " in outcome.stderr
        assert outcome.stderr.count(reason) >= 2
        assert list(small.runs) == ["one.trec.gz", "one.trec.gz.queries.json"]

    def test_the_first_failure_is_shown_at_once(self, tmp_path):
        small = small_project(tmp_path, n_queries=4)
        small.write('[systems.picky]\ntype = "python"\nrecords = true\nfunction = "MODULE:picky"\n')
        assert small.run().stderr.startswith("warning: picky: query 'q3' failed: ValueError: I do not like q3\n")


@SHELL
class TestPrograms:
    def shell(self, script: str, **options: object):
        return make_system("command", {"command": ["sh", "-c", script], "attempts": 1, **options})

    def test_children_end_with_the_program(self, tmp_path):
        script = f"sleep 25 & echo $! > {tmp_path}/child; cat >/dev/null; sleep 25"
        started = time.monotonic()
        answers = list(self.shell(script, timeout_s=1).answers(QUERIES, k=1))
        assert time.monotonic() - started < 10
        assert {answer.reason for answer in answers} == {"the program had not ended after 1 s"}
        assert not is_running(int((tmp_path / "child").read_text()))

    def test_a_child_that_outlives_the_program_is_ended_too(self, tmp_path):
        script = f"""sleep 25 >/dev/null 2>&1 </dev/null & echo $! > {tmp_path}/child
            cat >/dev/null; echo '1 Q0 a 1 1.0 me'"""
        answers = {answer.query_id: answer for answer in self.shell(script).answers(QUERIES, k=1)}
        assert answers["1"].ranking == [("a", 1.0)]
        assert not is_running(int((tmp_path / "child").read_text()))

    def test_one_that_has_left_the_group_does_not_keep_us_waiting(self, tmp_path):
        script = f"setsid sleep 20 & echo $! > {tmp_path}/child; cat >/dev/null; sleep 25"
        started = time.monotonic()
        answers = list(self.shell(script, timeout_s=0.5).answers(QUERIES, k=1))
        assert time.monotonic() - started < 15
        assert all(answer.failed for answer in answers)

    def test_stopping_ends_the_children(self, tmp_path):
        script = f"""sleep 25 & echo $! > {tmp_path}/child; echo '{{"query_id": "1", "results": ["a"]}}'; sleep 25"""
        answers = self.shell(script).answers(QUERIES, k=1)
        next(answers)
        answers.close()
        assert not is_running(int((tmp_path / "child").read_text()))

    def test_an_interruption_ends_the_children(self, tmp_path):
        """Ctrl-C reaches Rankscope alone, as the program is in a session of its own."""
        small = small_project(tmp_path, n_queries=3)
        small.write('[systems.slow]\ntype = "command"\ncommand = "sh -c \'sleep 60 & echo $! > child; sleep 60\'"\n')
        process = small.start()
        until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
        process.send_signal(2)
        assert process.wait(20) == 130
        assert not is_running(int((tmp_path / "child").read_text()))

    def test_nothing_is_left_behind(self):
        system = self.shell("cat >/dev/null; echo '1 Q0 a 1 1.0 me'")
        list(system.answers(QUERIES, k=1))
        before = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
        for _ in range(5):
            list(system.answers(QUERIES, k=1))
        assert len(list(Path("/proc/self/fd").iterdir())) <= before[0]
        assert threading.active_count() <= before[1]
        own = ["ps", "-o", "stat=", "--ppid", str(os.getpid())]
        states = subprocess.run(own, capture_output=True, text=True, check=False).stdout.split()
        assert not any(state.startswith("Z") for state in states), "zombies"

    @pytest.mark.parametrize(
        ("script", "reason"),
        [
            ("tr '\\0' x </dev/zero", "a line that is longer than 1 MB"),
            ("yes '1 Q0 a 1 1.0 me'", "more than 1 MB for query '1'"),
            ("tr '\\0' x </dev/zero >&2", "had not ended after 2 s"),
            ("yes ''", "had not ended after 2 s"),
            ("while echo; do :; done", "had not ended after 2 s"),
        ],
    )
    def test_endless_output_is_refused_while_it_arrives(self, script, reason, monkeypatch):
        for module in (command, program):
            monkeypatch.setattr(module, "LARGEST_ANSWER_BYTES", 1 << 20)
        monkeypatch.setattr(command, "_MOST_SKIPPED", 1 << 40, raising=False)
        started = time.monotonic()
        answers = list(self.shell(script, timeout_s=2).answers(QUERIES, k=1))
        assert all(reason in answer.reason for answer in answers)
        assert time.monotonic() - started < 10


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Tell whether a process is there and no zombie; it may take a moment to go."""
    for _ in range(20):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
        if not state.strip() or state.startswith("Z"):
            return False
        time.sleep(0.1)
    return True


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("http", {"url": "http://x:99999/"}, "Port out of range"),
        ("http", {"url": "http://x:ab/"}, "is no address: Port could not be cast"),
        ("http", {"url": "http://[::1/"}, "is no address: Invalid IPv6"),
        ("http", {"url": "http://[::zz]/"}, "is no address"),
        ("http", {"url": "http://joe:secret@localhost/"}, "has a name or password in it, which is not sent"),
        ("http", {"url": "http://a b/"}, "has blanks or control characters"),
        ("http", {"url": "http://x/\x01"}, "has blanks or control characters"),
        ("http", {"url": "http://x", "method": "GE T"}, "method 'GE T' is no method"),
        ("http", {"url": "http://x", "method": ""}, "method '' is no method"),
        ("http", {"url": "http://x", "headers": {"X Y": "1"}}, "headers: 'X Y' cannot be the name"),
        ("http", {"url": "http://x", "headers": {"X:": "1"}}, "headers: 'X:' cannot be the name"),
        ("http", {"url": "http://x", "headers": {"": "1"}}, "headers: '' cannot be the name"),
        ("elasticsearch", {"url": "http://x:99999", "index_name": "x"}, "Port out of range"),
        ("opensearch", {"url": "ftp://x", "index_name": "x"}, "is no http or https address"),
        ("dense", {"base_url": "http://x:99999"}, "Port out of range"),
        ("dense", {"base_url": "localhost"}, "is no http or https address"),
        ("dense", {"base_url": "https://x", "api_key": "a", "api_key_env": "B"}, "both api_key and api_key_env"),
        ("command", {"command": "search 'half"}, "cannot be read: No closing quotation"),
        ("command", {"command": "search \x00"}, "holds the character NUL"),
        ("command", {"command": ["search", "a\x00b"]}, "holds the character NUL"),
        ("command", {"command": []}, "command is empty"),
    ],
)
def test_options_that_cannot_work_are_refused_when_the_project_is_read(kind, options, message, tmp_path):
    import json

    from rankscope.errors import OptionError
    from rankscope.experiment.project import read_project

    def toml(value):
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{json.dumps(key)} = {json.dumps(inner)}" for key, inner in value.items()) + " }"
        return json.dumps(value)

    lines = "".join(f"{key} = {toml(value)}\n" for key, value in options.items())
    with pytest.raises(OptionError) as found:
        read_project(f'[systems.x]\ntype = "{kind}"\n{lines}', file=tmp_path / "rankscope.toml")
    assert message in str(found.value)
    assert str(found.value).startswith("rankscope.toml: systems.x")


def test_addresses_with_places_are_fine():
    for url in (
        "http://{host}:{port}/{query}",
        "http://x/?q={query}&l={language:-en}",
        "http://[::1]:80/",
        "http://x/{a b}",
    ):
        make_system("http", {"url": url})
