"""Searches over HTTP: requests as templates, answers by paths, and everything that can go wrong on the way."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from rankscope.errors import InputError, OptionError
from rankscope.systems import transport
from rankscope.systems.answers import BadAnswerError, check_ranking
from rankscope.systems.base import ListDocs, Query
from rankscope.systems.encoders import Endpoint
from rankscope.systems.http import Http, Pace, wait_s
from rankscope.systems.registry import make_system
from rankscope.systems.secrets import url_without_secrets, without_secrets
from rankscope.systems.templates import fill, fill_data, parse_path
from rankscope.systems.transport import HttpReply

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Asked, Loopback, Said

QUERIES = [Query(f"q{i}", f"text of {i}") for i in range(12)]
HITS = {"results": [{"id": "b", "score": 2.5}, {"id": "a", "score": 7}]}


gzipped = partial(zlib.compress, wbits=31)
"""The same bytes each time, without the time of day."""


def http(server: Loopback, **options: object) -> Http:
    given = {"url": f"{server.url}/search?q={{query}}", "ids": "$.results[*].id", "scores": "$.results[*].score"}
    return Http(**{"backoff_s": 0.001, **given, **options})


def by_query(system: Http, queries=QUERIES, k=10):
    return {answer.query_id: answer for answer in system.answers(queries, k=k)}


# After the example of RFC 9535, section 1.5.
STORE = {"store": {"book": [{"title": "A", "price": 8.95}, {"title": "B", "price": 12.99}], "bicycle": {"price": 399}}}


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "values"),
        [
            ("$.store.book[*].title", ["A", "B"]),
            ("$['store']['book'][0]['title']", ["A"]),
            ("$.store.book[-1].price", [12.99]),
            ("$.store.*", [STORE["store"]["book"], STORE["store"]["bicycle"]]),
            ("store.bicycle.price", [399]),
            ("$", [STORE]),
        ],
    )
    def test_lead_to_values(self, path, values):
        assert parse_path(path).values(STORE) == values

    def test_an_empty_list_is_an_answer_but_a_missing_key_is_not(self):
        path = parse_path("$.hits[*]._id")
        assert path.values({"hits": []}) == []
        for other in ({"error": "down"}, {"hits": {"_id": 1}}, {"hits": [{"id": 1}]}, [], "text", None):
            with pytest.raises(BadAnswerError, match="has nothing at"):
                path.values(other)

    @pytest.mark.parametrize("path", ["$..id", "$.a[", "$.a[?@.b", "$.", "$.a b"])
    def test_that_cannot_be_read_are_refused(self, path):
        with pytest.raises(OptionError, match="cannot be read from"):
            parse_path(path)

    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("$.variants[?(@.name=='b')].results[*].id", [3]),
            ("$.variants[?@.name == 'a'].results[*].id", [1, 2]),
            ('variants[?@["name"] == "a" && @.ok].results[?@.id > 1].id', [2]),
            ("$.variants[?@.results[0].id == 3].name", ["b"]),
            ("$.variants[?@.name == 'x]y'].results[*].id", []),
            ("$.variants[?@.name == 'none'].name", []),  # nothing is taken out of what it picks
            ("$.variants[0:1].name", ["a"]),
            ("$.variants[0]['name','ok']", ["a", True]),
        ],
    )
    def test_filters(self, path, found):
        a = {"name": "a", "ok": True, "results": [{"id": 1}, {"id": 2}]}
        others = [{"name": "b", "results": [{"id": 3}]}, {"name": "x]y", "results": []}]
        assert parse_path(path).values({"variants": [a, *others]}) == found

    def test_a_filter_that_fits_no_list_is_no_empty_answer(self):
        path = parse_path("$.variants[?@.name == 'b'].results[*].id")
        for variants in ([], [{"name": "a", "results": [{"id": 1}]}], "none"):
            with pytest.raises(BadAnswerError, match=r"variants\[\?@.name == 'b'\] is not there, but"):
                path.values({"variants": variants})
        with pytest.raises(BadAnswerError, match=r"results is not there"):
            path.values({"variants": [{"name": "b"}]})

    def test_an_error_in_what_a_filter_picks_is_no_empty_answer(self):
        path = parse_path("$.variants[?@.name == 'b'].results[*].id")
        for fault, words in (("boom", "boom"), ({"code": 7}, "{'code': 7}"), (True, "True")):
            for results in ([], [{"id": 1}]):
                variant = {"name": "b", "error": fault, "results": results}
                with pytest.raises(BadAnswerError, match=f"^the answer holds an error: {words}$"):
                    path.values({"variants": [{"name": "a", "error": "other"}, variant]})
        for nothing in (None, "", False, {}, 0.25):
            assert path.values({"variants": [{"name": "b", "error": nothing, "results": []}]}) == []
        assert parse_path("$.rows[?@.name == 'match(x)'].ids[*]").values(
            {"rows": [{"name": "match(x)", "ids": [1]}]}
        ) == [1]

    def test_an_error_beside_an_empty_list_is_no_empty_answer(self):
        path = parse_path("$.answer.hits[*].id")
        for content in ({"error": "down", "answer": {"hits": []}}, {"answer": {"error": "down", "hits": []}}):
            with pytest.raises(BadAnswerError, match=r"^the answer holds an error: down$"):
                path.values(content)
        assert path.values({"error": "one shard of two", "answer": {"hits": [{"id": 1}]}}) == [1]

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("$.a[?@.b === 1]", r"cannot be read at \[\?@.b === 1\]: unexpected token"),
            ("$.a[?(@.b == $.c)].d", "looks at the whole answer"),
            ("$.a[?match(@.b, '(a+)+b')].d[*]", "a text from the server could keep busy for ever"),
            ("$.a[?@.c == 1 && search(@.b, '(a|aa)+$')].d[*]", "a text from the server could keep busy for ever"),
            ("$.a[?@.b > 1e999].d", "cannot be read at"),
            ("$.a[?@.b =~ /(a+)+b/]", "cannot be read"),
            (f"$.a[?{'(' * 5000}@.b]", "cannot be read"),
        ],
    )
    def test_filters_that_are_refused(self, path, words):
        with pytest.raises(OptionError, match=words) as raised:
            parse_path(path, what="ids")
        assert len(str(raised.value)) < 600


class TestTemplates:
    def test_values_attributes_defaults_and_braces(self, monkeypatch):
        monkeypatch.setenv("RS_TOKEN", "s3cret")
        values = {"query": 'say "hi"', "k": 5, "language": "de"}
        text = '{query}|{k}|{language}|{domain:-any}|{{k}}|${RS_TOKEN}|{ "x": 1}'
        assert fill(text, values) == 'say "hi"|5|de|any|{k}|s3cret|{ "x": 1}'

    def test_a_place_by_itself_keeps_the_type(self):
        assert fill_data({"size": "{k}", "a": ["{query}!", {"b": "{k}"}], "n": 3}, {"query": "x", "k": 7}) == {
            "size": 7, "a": ["x!", {"b": 7}], "n": 3,
        }  # fmt: skip

    def test_a_query_without_the_attribute_fails(self):
        with pytest.raises(BadAnswerError, match=r"needs \{language\}"):
            fill("{language}", {"query": "x"})

    def test_secrets_are_not_written_down(self):
        headers = {"Authorization": "Bearer abc", "X-Api-Key": "abc", "X-Index": "v2", "author": "me"}
        assert without_secrets(headers) == {
            "Authorization": "(hidden)", "X-Api-Key": "(hidden)", "X-Index": "v2", "author": "me",
        }  # fmt: skip
        assert url_without_secrets("https://me:pw@x.org/s?api_key=1&q={query}") == (
            "https://(hidden)@x.org/s?api_key=(hidden)&q={query}"
        )
        described = Http(url="https://x.org/?token=pw7", headers={"Authorization": "Bearer abc"}).describe()
        assert "abc" not in str(described)
        assert "pw7" not in str(described)
        with pytest.raises(OptionError, match="has a name or password in it") as refused:
            Http(url="https://u:pw7@x.org/")
        assert "pw7" not in str(refused.value)


class TestRequests:
    def test_the_address_is_percent_encoded(self):
        with Loopback(lambda _: Said(HITS)) as server:
            query = Query("7", "a&b=c d/ü", {"language": "de"})
            system = http(server, url=f"{server.url}/{{language}}/s?q={{query}}&n={{k}}&id={{query_id}}")
            assert system.search([query], k=3) == [[("a", 7.0), ("b", 2.5)]]
        parts = urlsplit(server.requests[0].path)
        assert parts.path == "/de/s"
        assert parse_qs(parts.query) == {"q": ["a&b=c d/ü"], "n": ["3"], "id": ["7"]}
        assert server.requests[0].method == "GET"

    def test_a_table_and_a_json_text_give_the_same_body(self):
        query = Query("7", 'say "hi" {k}\n', {"language": "de"})
        with Loopback(lambda _: Said(HITS)) as server:
            http(server, body={"q": "{query}", "n": "{k}", "lang": "{language}"}).search([query], k=3)
            http(server, body='{"q": "{query}", "n": {k}, "lang": "{language}"}').search([query], k=3)
        assert [asked.json() for asked in server.requests] == [{"q": 'say "hi" {k}\n', "n": 3, "lang": "de"}] * 2
        assert {asked.method for asked in server.requests} == {"POST"}
        assert {asked.headers["Content-Type"] for asked in server.requests} == {"application/json"}

    def test_lists_and_objects_go_out_as_json(self):
        turns = [{"role": "user", "content": 'my "heart" races'}, {"role": "assistant", "content": "since when?"}]
        query = Query("7", "svt", {"conversation": turns, "filters": {"city": "Ulm"}})
        table = {"messages": "{conversation}", "filters": "{filters}", "said": "he: {conversation}", "none": "{x:-[]}"}
        text = '{"messages": {conversation} , "filters": {filters} , "said": "he: {conversation}", "none": {x:-[]} }'
        with Loopback(lambda _: Said(HITS)) as server:
            http(server, body=table).search([query], k=3)
            http(server, body=text).search([query], k=3)
            http(server, body="turns={conversation}").search([query], k=3)
        sent = {"messages": turns, "filters": {"city": "Ulm"}, "said": f"he: {json.dumps(turns)}", "none": []}
        assert [asked.json() for asked in server.requests[:2]] == [sent, sent]
        assert json.loads(parse_qs(server.requests[2].body)["turns"][0]) == turns

    def test_a_form_and_headers(self, monkeypatch):
        monkeypatch.setenv("RS_TOKEN", "abc")
        with Loopback(lambda _: Said(HITS)) as server:
            headers = {"Authorization": "Bearer ${RS_TOKEN}", "X-Text": "{query}"}
            http(server, body="q={query}&n={k}", headers=headers).search([Query("1", "a b\r\nX-Evil: 1")], k=2)
        asked = server.requests[0]
        assert parse_qs(asked.body) == {"q": ["a b\r\nX-Evil: 1"], "n": ["2"]}
        assert asked.headers["Authorization"] == "Bearer abc"
        assert asked.headers["X-Text"] == "a b X-Evil: 1"
        assert asked.headers["Content-Type"] == "application/x-www-form-urlencoded"

    def test_an_environment_variable_that_is_not_set_stops_everything(self):
        with Loopback(lambda _: Said(HITS)) as server, pytest.raises(OptionError, match="RS_NOT_SET is not set"):
            by_query(http(server, headers={"Authorization": "${RS_NOT_SET}"}))

    def test_connections_are_kept_open(self):
        with Loopback(lambda _: Said(HITS)) as server:
            by_query(http(server, concurrency=1))
            assert len(server.requests) == len(QUERIES)
            assert server.connections == 1

    def test_a_connection_that_the_server_closed_is_opened_again(self):
        with Loopback(lambda _: Said(HITS, headers={"Connection": "close"})) as server:
            answers = by_query(http(server, concurrency=1, attempts=1))
        assert not any(answer.failed for answer in answers.values())


class TestAnswers:
    def test_scores_decide_the_order_and_k_cuts(self):
        with Loopback(lambda _: Said(HITS)) as server:
            assert http(server).search(QUERIES[:1], k=1) == [[("a", 7.0)]]

    def test_without_scores_the_order_counts(self):
        with Loopback(lambda _: Said({"results": [{"id": 3}, {"id": "x"}, {"id": 1}]})) as server:
            assert http(server, scores=None).search(QUERIES[:1], k=2) == [[("3", 1.0), ("x", 0.5)]]

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"<html>oops</html>", "not JSON: <html>oops"),
            (b"", "not JSON: nothing at all"),
            (b'{"results": [{"id": "a", "score": NaN}]}', "score of doc 'a' is nan, which is no number"),
            ({"results": [{"id": "a", "score": None}]}, "is None, which is no number"),
            ({"results": [{"id": "a", "score": True}]}, "is True, which is no number"),
            ({"results": [{"id": "a", "score": "7"}]}, "is '7', which is no number"),
            ({"results": [{"id": "a", "score": 1}, {"id": "a", "score": 2}]}, "doc 'a' is there twice"),
            ({"results": [{"id": 1.5, "score": 1}]}, "1.5 .float. is given as the id of a doc"),
            ({"results": [{"id": "", "score": 1}]}, "an empty text"),
            ({"results": [{"score": 1}]}, r"\$.results\[\*\].id is not there"),
            ({"error": "no index"}, r"\$.results is not there"),
            ([1, 2], "has nothing at"),
        ],
    )
    def test_garbage_is_a_failure_with_a_reason(self, content, reason):
        with Loopback(lambda _: Said(content)) as server:
            answer = by_query(http(server, attempts=2), QUERIES[:1])["q0"]
        assert answer.ranking is None
        assert answer.n_attempts == 2
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(answer.reason)

    def test_as_many_scores_as_ids(self):
        with Loopback(lambda _: Said({"ids": ["a", "b"], "scores": [1]})) as server:
            answer = by_query(http(server, ids="$.ids[*]", scores="$.scores[*]", attempts=1), QUERIES[:1])["q0"]
        assert answer.reason == "the answer has 2 ids, but 1 scores"

    def test_as_part_of_another_system_a_failure_is_an_error(self):
        with Loopback(lambda _: Said(b"no")) as server, pytest.raises(InputError, match="did not answer query 'q0'"):
            http(server, attempts=1).search(QUERIES[:1], k=3)

    def test_pairs_are_checked(self):
        assert check_ranking([("a", 1), ("b", 2.0)], k=5) == [("b", 2.0), ("a", 1.0)]
        for wrong in (["ab"], [("a",)], [("a", 1, 2)], [7]):
            with pytest.raises(BadAnswerError, match="no pair"):
                check_ranking(wrong, k=5)


class TestFailures:
    def test_one_bad_query_does_not_take_the_others_along(self):
        def answer(asked: Asked) -> Said:
            return Said(b"", 400) if "text%20of%203" in asked.path else Said(HITS)

        with Loopback(answer) as server:
            answers = by_query(http(server))
        assert {query for query, got in answers.items() if got.failed} == {"q3"}
        assert answers["q3"].reason == "the server answered 400"
        assert len(server.requests) == len(QUERIES), "what is refused is not asked again"

    def test_a_busy_server_is_asked_again(self):
        seen: dict[str, int] = {}
        lock = threading.Lock()

        def answer(asked: Asked) -> Said:
            with lock:
                seen[asked.path] = seen.get(asked.path, 0) + 1
            return Said(b"", 503) if seen[asked.path] < 3 else Said(HITS)

        with Loopback(answer) as server:
            answers = by_query(http(server))
        assert {answer.n_attempts for answer in answers.values()} == {3}
        assert set(seen.values()) == {3}

    def test_a_slow_server_runs_into_the_timeout(self):
        release = threading.Event()

        def answer(asked: Asked) -> Said:
            if "text%20of%201" in asked.path:
                release.wait(5)
            return Said(HITS)

        with Loopback(answer) as server:
            answers = by_query(http(server, timeout_s=1.0, attempts=1), QUERIES[:3])
            release.set()
        assert {query: got.failed for query, got in answers.items()} == {"q0": False, "q1": True, "q2": False}
        assert answers["q1"].reason == "no answer within 1 s"

    @pytest.mark.parametrize("headers", [{}, {"Connection": "close"}], ids=["kept open", "closed"])
    def test_an_answer_that_trickles_in_has_a_deadline_as_a_whole(self, headers):
        started = time.monotonic()
        with Loopback(lambda _: Said(b" " * 100, headers=headers, pause_s=0.05)) as server:
            answer = by_query(http(server, timeout_s=0.4, attempts=1), QUERIES[:1])["q0"]
            assert answer.reason == "no answer within 0.4 s"
        assert time.monotonic() - started < 3, "all of it would take five seconds"

    def test_an_answer_that_is_cut_off_is_none(self):
        with Loopback(lambda _: Said(b"{}", headers={"Content-Length": "9", "Connection": "close"})) as server:
            answer = by_query(http(server, timeout_s=2, attempts=1), QUERIES[:1])["q0"]
        assert answer.reason.startswith("no answer: IncompleteRead"), answer.reason

    def test_an_answer_that_is_too_long_is_none(self, monkeypatch):
        monkeypatch.setattr(transport, "LARGEST_ANSWER_BYTES", 1 << 20)
        with Loopback(lambda _: Said(b" " * (1 << 21))) as server:
            answer = by_query(http(server, attempts=1), QUERIES[:1])["q0"]
        assert answer.reason == "no answer: HTTPException: the answer is longer than 1 MB"

    def test_nobody_there(self):
        with Loopback(lambda _: Said(HITS)) as server:
            url = server.url
        answer = by_query(Http(url=url, attempts=2, backoff_s=0.001), QUERIES[:1])["q0"]
        assert answer.reason.startswith("no answer: ConnectionRefusedError")

    def test_after_many_failures_in_a_row_nothing_more_is_asked(self):
        many = [Query(str(i), "x") for i in range(200)]
        with Loopback(lambda _: Said(b"no", 500)) as server:
            answers = by_query(http(server, attempts=1), many)
        assert all(answer.failed for answer in answers.values())
        assert len(answers) == 200
        assert 50 <= len(server.requests) < 60
        assert answers["199"].reason == "not asked, as 50 queries in a row had failed"
        assert answers["199"].n_attempts == 0

    def test_a_redirection_says_where_to(self):
        with Loopback(lambda _: Said(b"", 301, {"Location": "/other"})) as server:
            assert by_query(http(server), QUERIES[:1])["q0"].reason == "the server answered 301: see /other"

    def test_stopping_does_not_wait_for_answers_that_are_under_way(self):
        release = threading.Event()

        def answer(asked: Asked) -> Said:
            if "text%20of%200" not in asked.path:
                release.wait(10)
            return Said(HITS)

        with Loopback(answer) as server:
            answers = http(server, timeout_s=10.0).answers(QUERIES, k=3)
            next(answers)
            started = time.monotonic()
            answers.close()
            assert time.monotonic() - started < 5
            release.set()

    def test_stopping_in_the_middle_leaves_nothing_running(self):
        with Loopback(lambda _: Said(HITS)) as server:
            before = threading.active_count()
            answers = http(server, rate=50).answers(QUERIES * 20, k=3)
            next(answers)
            answers.close()
            assert sum(thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate()) == 0
            assert threading.active_count() <= before + 4, "only threads of the server may be left"


@pytest.fixture
def environment(monkeypatch):
    """Return a function that sets variables of the environment; those of proxies are empty otherwise."""
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch.setenv


class TestProxies:
    def test_the_proxy_of_the_environment_is_asked(self, environment):
        with Loopback(lambda _: Said(HITS)) as proxy:
            environment("http_proxy", proxy.url.replace("http://", "http://me:p%40ss@"))
            system = http(proxy, url="http://search.invalid/s?q={query}", concurrency=1)
            assert not any(answer.failed for answer in by_query(system, QUERIES[:3]).values())
            assert proxy.connections == 1
        asked = proxy.requests[0]
        assert asked.path == "http://search.invalid/s?q=text%20of%200"
        assert asked.headers["Host"] == "search.invalid"
        assert asked.headers["proxy-authorization"] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"

    def test_an_address_may_be_written_without_its_scheme(self, environment):
        with Loopback(lambda _: Said(HITS)) as proxy:
            environment("http_proxy", proxy.url.removeprefix("http://"))
            by_query(http(proxy, url="http://search.invalid/"), QUERIES[:1])
        assert proxy.requests[0].path == "http://search.invalid/"

    def test_no_proxy_names_servers_that_are_asked_directly(self, environment):
        with Loopback(lambda _: Said(HITS)) as server, Loopback(lambda _: Said(b"", 500)) as proxy:
            environment("http_proxy", proxy.url)
            environment("no_proxy", "localhost,127.0.0.1")
            assert not by_query(http(server), QUERIES[:1])["q0"].failed
        assert proxy.requests == []

    def test_encrypted_requests_go_through_a_tunnel(self, environment):
        with Loopback(lambda _: Said(b"", 403)) as proxy:
            environment("https_proxy", proxy.url)
            answer = by_query(http(proxy, url="https://search.invalid/", attempts=1), QUERIES[:1])["q0"]
        assert (proxy.requests[0].method, proxy.requests[0].path) == ("CONNECT", "search.invalid:443")
        assert "403" in answer.reason

    def test_one_of_an_unknown_kind_is_an_error(self, environment):
        environment("http_proxy", "socks9://127.0.0.1:1")
        with pytest.raises(OptionError, match=r"the proxy 'socks9://127\.0\.0\.1:1' of the environment"):
            by_query(Http(url="http://search.invalid/"), QUERIES[:1])

    def test_embeddings_come_by_way_of_it_too(self, environment):
        with Loopback(lambda _: Said({"data": [{"index": 0, "embedding": [1.0]}]})) as proxy:
            environment("http_proxy", proxy.url)
            assert Endpoint("m", base_url="http://models.invalid/v1").encode(["x"], role="doc") == [[1.0]]
        assert proxy.requests[0].path == "http://models.invalid/v1/embeddings"


class TestWaiting:
    def test_doubles_with_a_part_left_to_chance_that_can_be_repeated(self):
        query = Query("7", "x")
        waits = [wait_s(OSError(), query, attempt, 0.5) for attempt in (1, 2, 3, 4)]
        for i, wait in enumerate(waits):
            assert 0.5 * 2**i / 2 <= wait <= 0.5 * 2**i
        assert waits == [wait_s(OSError(), query, attempt, 0.5) for attempt in (1, 2, 3, 4)]
        assert waits != [wait_s(OSError(), Query("8", "x"), attempt, 0.5) for attempt in (1, 2, 3, 4)]

    def test_retry_after_is_seconds_or_a_date(self):
        def asked_wait(headers: dict[str, str]) -> float | None:
            return HttpReply(503, headers, b"").retry_after_s

        assert asked_wait({"Retry-After": "3"}) == 3
        assert asked_wait({"retry-after": "1.5"}) == 1.5
        assert asked_wait({}) is None
        assert asked_wait({"Retry-After": "soon"}) is None
        soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
        assert 25 < asked_wait({"Retry-After": soon}) <= 30
        past = format_datetime(datetime.now(UTC) - timedelta(seconds=30), usegmt=True)
        assert asked_wait({"Retry-After": past}) == 0

    def test_what_the_server_asks_for_is_honoured(self):
        times: list[float] = []

        def answer(_: Asked) -> Said:
            times.append(time.monotonic())
            return Said(b"", 429, {"Retry-After": "0.4"}) if len(times) == 1 else Said(HITS)

        with Loopback(answer) as server:
            answer = by_query(http(server), QUERIES[:1])["q0"]
        assert answer.n_attempts == 2
        assert times[1] - times[0] >= 0.4

    @pytest.mark.parametrize("wait", ["121", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
    def test_a_wait_that_is_too_long_is_not_waited_for(self, wait):
        with Loopback(lambda _: Said(b"", 503, {"Retry-After": wait})) as server:
            answer = by_query(http(server), QUERIES[:1])["q0"]
        assert answer.n_attempts == 1
        assert answer.reason.endswith("it asks to wait longer than 120 s")

    def test_the_rate_is_kept_by_all_threads_together(self):
        waits: list[float] = []

        class Stop(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                waits.append(timeout or 0.0)
                return False

        pace = Pace(50, Stop())
        started = time.monotonic()
        for _ in range(12):
            pace.wait()
        elapsed = time.monotonic() - started
        # turns are 20 ms apart from the first one on; what has passed meanwhile need not be waited for
        assert all(i / 50 - elapsed <= wait <= i / 50 for i, wait in enumerate(waits))
        assert len(waits) == 12
        Pace(None, Stop()).wait()
        assert len(waits) == 12

    def test_latency_is_the_time_of_the_attempt_that_gave_the_answer(self):
        ticks = iter([10.0, 10.25, 100.0, 100.5])  # a failed attempt reads the clock twice as well
        n_requests = 0

        def answer(_: Asked) -> Said:
            nonlocal n_requests
            n_requests += 1
            return Said(b"", 503) if n_requests == 1 else Said(HITS)

        with Loopback(answer) as server:
            system = http(server)
            system.clock = lambda: next(ticks)
            assert by_query(system, QUERIES[:1])["q0"].seconds == 0.5


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"url": "ftp://x"}, "is no http or https address"),
            ({"url": "localhost:80"}, "is no http or https address"),
            ({"url": "http://x", "ids": "$..id"}, "ids '..*' cannot be read"),
            ({"url": "http://x", "concurrency": 0}, "concurrency is 0"),
            ({"url": "http://x", "attempts": 0}, "attempts is 0"),
            ({"url": "http://x", "rate": 0}, "rate is 0"),
            ({"url": "http://x", "timeout_s": -1}, "timeout_s is -1"),
            ({"url": "http://x", "headers": "X: 1"}, "headers is 'X: 1', but it must be a table"),
            ({"url": "http://x", "retries": 1}, "has no option 'retries'"),
            ({}, "needs the option 'url'"),
        ],
    )
    def test_wrong_ones_are_refused(self, options, message):
        with pytest.raises(OptionError, match=message):
            make_system("http", options)

    def test_those_that_change_no_result_are_not_described(self):
        fast, slow = (
            make_system("http", {"url": "http://x", "concurrency": n, "timeout_s": n, "attempts": n, "rate": n})
            for n in (1, 9)
        )
        assert fast.describe() == slow.describe()
        assert make_system("http", {"url": "http://y"}).describe() != fast.describe()
        assert fast.index_bytes == 0
        fast.fit(ListDocs([]))


class TestCompressed:
    """Nobody asks for compression, but some servers compress all the same."""

    CONTENT = json.dumps(HITS).encode()

    @pytest.mark.parametrize(
        ("encoding", "content"),
        [
            ("gzip", gzipped(CONTENT)),
            ("X-GZip", gzipped(CONTENT)),
            ("gzip", gzipped(CONTENT[:9]) + gzipped(CONTENT[9:]) + b"\0\0"),
            ("deflate", zlib.compress(CONTENT)),
            ("deflate", zlib.compress(CONTENT, wbits=-15)),
            ("deflate, gzip", gzipped(zlib.compress(CONTENT))),
            ("identity", CONTENT),
            ("utf-8", CONTENT),
        ],
    )
    def test_answers_are_read(self, encoding, content):
        with Loopback(lambda _: Said(content, headers={"Content-Encoding": encoding})) as server:
            (answer,) = http(server, attempts=1).answers(QUERIES[:1], k=10)
        assert answer.ranking == [("a", 7.0), ("b", 2.5)]

    @pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
    def test_one_that_is_cut_off_anywhere_fails_its_query(self, encoding, wbits):
        packed = zlib.compress(self.CONTENT, wbits=wbits)
        queries = [Query(str(n), "x") for n in range(len(packed))]

        def answer(asked: Asked) -> Said:
            return Said(packed[: int(asked.path.strip("/"))], headers={"Content-Encoding": encoding})

        with Loopback(answer) as server:
            system = http(server, url=f"{server.url}/{{query_id}}", attempts=1)
            answers = [found for query in queries for found in system.answers([query], k=10)]
        assert all(answer.failed for answer in answers)
        assert answers[-1].reason == "no answer: HTTPException: the compressed answer is cut off"

    @pytest.mark.parametrize(
        ("encoding", "content", "reason"),
        [
            ("gzip", gzipped(CONTENT)[:-8] + b"\0" * 8, "damaged"),
            ("gzip", gzipped(CONTENT) + b"more", "damaged"),
            ("gzip", CONTENT, "damaged"),
            ("br", CONTENT, "compressed as br, which was not asked for"),
            ("gzip", gzipped(b" " * (2 << 20)), "longer than 1 MB"),
            ("gzip", b"", "nothing at all"),
        ],
    )
    def test_one_that_is_damaged_fails_its_query(self, encoding, content, reason, monkeypatch):
        monkeypatch.setattr(transport, "LARGEST_ANSWER_BYTES", 1 << 20)
        with Loopback(lambda _: Said(content, headers={"Content-Encoding": encoding})) as server:
            (answer,) = http(server, attempts=1).answers(QUERIES[:1], k=10)
        assert answer.failed
        assert reason in answer.reason
