"""Tables [notify.NAME] of a project file."""

from pathlib import Path

import pytest

from rankscope.errors import OptionError
from rankscope.experiment.project import build_notifiers, project_schema, read_project
from rankscope.notify.mail import EmailNotifier
from rankscope.notify.webhook import WebhookNotifier

SLACK = '[notify.slack]\ntype = "webhook"\nurl = "https://hooks.example.org/${TOKEN}"\n'
MAIL = '[notify.mail]\ntype = "email"\nhost = "smtp.example.org"\nfrom = "a@b.org"\nto = "c@d.org"\n'


def project(text, name="rankscope.toml"):
    return read_project(text, file=Path(name), environment={})


def test_variables_are_filled_in_when_a_notifier_is_built():
    found = project(SLACK + MAIL)
    slack, mail = build_notifiers(found, {"TOKEN": "abcdef1"})
    assert (slack.name, slack.type, slack.options) == (
        "slack",
        "webhook",
        WebhookNotifier(url="https://hooks.example.org/abcdef1"),
    )
    assert mail.options == EmailNotifier(host="smtp.example.org", sender="a@b.org", to="c@d.org")
    assert "abcdef1" not in repr(found)


def test_a_variable_that_is_not_set_is_an_error_then():
    with pytest.raises(OptionError, match=r"rankscope.toml: notify.slack.url needs the environment variable TOKEN"):
        build_notifiers(project(SLACK), {})


def test_in_pyproject():
    text = SLACK.replace("[notify", "[tool.rankscope.notify")
    with pytest.raises(OptionError, match=r"pyproject.toml: tool.rankscope.notify.slack.url needs"):
        build_notifiers(project(text, "pyproject.toml"), {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[notify.x]\nurl = 'y'\n", r"rankscope.toml: notify.x has no type\nHint: .*command, webhook, email"),
        ("[notify.x]\ntype = 7\n", "notify.x has the type 7"),
        ("[notify.x]\ntype = 'slak'\n", "notify.x.type is 'slak', which is not known"),
        ("[notify.x]\ntype = 'webhok'\n", "did you mean webhook?"),
        ("[notify.x]\ntype = 'webhook'\n", "notify.x needs the key 'url'"),
        ("[notify.x]\ntype = 'webhook'\nurll = 'y'\n", r"notify.x.urll is not known\nHint: did you mean url\?"),
        (SLACK + "timeout_s = 'long'\n", "notify.slack.timeout_s is 'long', but should be a number"),
        (SLACK + "timeout_s = 0\n", "notify.slack.timeout_s is 0"),
        (MAIL + "security = 'ssl'\n", "notify.mail.security is 'ssl'"),
        (MAIL + "port = 70000\n", "notify.mail.port is 70000"),
        (MAIL.replace("c@d.org", "nobody"), "notify.mail: to holds 'nobody', which is no address"),
        ("[notify.x]\ntype = 'command'\ncommand = ''\n", "notify.x: command is empty"),
        ("notify = 3\n", "notify is 3, but should be a table of tables"),
        ("[notify]\ntype = 'webhook'\n", "notify is"),
    ],
)
def test_what_is_wrong_is_said_when_the_file_is_read(text, words):
    with pytest.raises(OptionError, match=words):
        project(text)


@pytest.mark.parametrize("given", ["password = 1234567", "password = ['hidden-secret']"])
def test_a_secret_in_the_file_is_not_shown(given):
    with pytest.raises(OptionError, match=r"notify.mail.password should be") as caught:
        project(f"{MAIL}user = 'x'\n{given}\n")
    assert "hidden-secret" not in str(caught.value)
    assert "1234567" not in str(caught.value)


def test_a_value_that_is_wrong_is_not_shown_where_it_comes_from_the_environment():
    (found,) = [project(SLACK)]
    with pytest.raises(OptionError) as caught:
        build_notifiers(found, {"TOKEN": "with blank secret99"})
    assert "notify.slack: url is no http or https address" in str(caught.value)
    assert "secret99" not in str(caught.value)


def test_the_schema_knows_the_tables():
    notify = project_schema()["$defs"]["ProjectOptions"]["properties"]["notify"]
    assert notify["additionalProperties"]["required"] == ["type"]
