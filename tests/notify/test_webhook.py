import json
import sys
from pathlib import Path

import pytest

from rankscope.errors import OptionError
from rankscope.notify.notice import Notice, NotifyError
from rankscope.notify.webhook import WebhookNotifier, chat_text

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said

NOTICE = Notice("alert", "hybrid <b>fell</b>", "from 0.41 to 0.38 & more\n<!here> @channel \x1b[2J", {"value": 0.38})


def hook(server, **options):
    return WebhookNotifier(url=f"{server.url}/services/T0/SECRETPART", **options)


def test_slack_gets_a_text_and_programs_get_data():
    with Loopback(lambda _: Said(b"ok")) as server:
        hook(server, headers={"Authorization": "Bearer ümlaut"}).send(NOTICE)
    (asked,) = server.requests
    assert (asked.method, asked.path) == ("POST", "/services/T0/SECRETPART")
    assert asked.headers["Content-Type"] == "application/json"
    got = asked.json()
    assert got["text"] == (
        "hybrid &lt;b&gt;fell&lt;/b&gt;\nfrom 0.41 to 0.38 &amp; more\n&lt;!here&gt; @\u200bchannel \\x1b[2J"
    )
    assert got["mrkdwn"] is False
    assert got["rankscope"]["facts"] == {"value": 0.38}
    assert got["rankscope"]["kind"] == "alert"


@pytest.mark.parametrize("text", ["@here", "a @all b", "(@everyone)"])
def test_nobody_is_called(text):
    assert "@\u200b" in chat_text(text)


def test_address_of_a_person_without_a_name_stays():
    assert chat_text("P @ 10") == "P @ 10"


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_refusal_is_said_without_the_address(status):
    said = Said(b"no_service at /services/T0/SECRETPART\n\x1b[31m", status=status)
    with Loopback(lambda _: said) as server, pytest.raises(NotifyError) as caught:
        hook(server).send(NOTICE)
    assert f"answered HTTP {status}: no_service at (hidden)" in str(caught.value)
    assert "SECRETPART" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    ["no team for SECRETPART", "key=s3cret/key here", "?key=s3cret%2Fkey", "token t0ken-long is old", "secretpart?"],
)
def test_no_part_of_the_address_is_shown(said):
    reply = Said(said.encode(), status=403)
    with Loopback(lambda _: reply) as server, pytest.raises(NotifyError) as caught:
        WebhookNotifier(
            url=f"{server.url}/services/T0/SECRETPART?v=1&key=s3cret%2Fkey",
            headers={"Authorization": "Bearer t0ken-long"},
        ).send(NOTICE)
    assert "(hidden)" in str(caught.value)
    for part in ("secretpart", "s3cret", "t0ken-long"):
        assert part not in str(caught.value).lower()


def test_redirection_is_not_followed():
    reply = Said(b"", 302, {"Location": "/elsewhere"})
    with Loopback(lambda _: reply) as server, pytest.raises(NotifyError, match="302, a redirection"):
        hook(server).send(NOTICE)
    assert [asked.path for asked in server.requests] == ["/services/T0/SECRETPART"]


def test_answer_that_takes_too_long():
    with (
        Loopback(lambda _: Said(b"slowly", pause_s=0.5)) as server,
        pytest.raises(NotifyError, match=r"did not answer within 0\.3 s"),
    ):
        hook(server, timeout_s=0.3).send(NOTICE)


def test_nobody_there():
    with Loopback(lambda _: Said()) as server:
        gone = hook(server)
    with pytest.raises(NotifyError, match="did not answer: Connection refused"):
        gone.send(NOTICE)


def test_bytes_that_are_no_text_are_sent_as_escapes():
    with Loopback(lambda _: Said(b"ok")) as server:
        hook(server).send(Notice("alert", "query \udc80", "\ud800"))
    assert json.loads(server.requests[0].body)["text"] == "query \\udc80\n\\ud800"


@pytest.mark.parametrize(
    "url", ["hooks.slack.com", "ftp://x.org/a", "https://u:TOPSECRET@x.org/", "https:// x.org/TOPSECRET"]
)
def test_what_is_no_address_is_refused_unseen(url):
    with pytest.raises(OptionError, match="no http or https address") as caught:
        WebhookNotifier(url=url).check()
    assert "TOPSECRET" not in str(caught.value)


def test_plain_http_to_another_machine_has_to_be_allowed():
    with pytest.raises(OptionError, match=r"not encrypted \(chat.example.org\)") as caught:
        WebhookNotifier(url="http://chat.example.org/hooks/SECRETPART").check()
    assert "SECRETPART" not in str(caught.value)
    WebhookNotifier(url="http://chat.example.org/hooks/1", allow_plain_http=True).check()
    WebhookNotifier(url="http://127.0.0.1:8065/hooks/1").check()


def test_header_that_would_start_another_one():
    with pytest.raises(OptionError, match="line break"):
        WebhookNotifier(url="https://x.org", headers={"X-A": "1\r\nX-B: 2"}).check()
