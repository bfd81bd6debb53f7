import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.errors import OptionError
from rankscope.notify.mail import EmailNotifier
from rankscope.notify.notice import Notice, NotifyError, PartlySentError

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback_smtp import LoopbackMail

NOTICE = Notice("alert", "hybrid fell\r\nBcc: everybody@example.org", "from 0.41 to 0.38\n.\nQUIT\n\x1b[2J für", {})


def mailer(server, **options):
    given = {"sender": "rank@example.org", "to": ["a@example.org", "b@example.org"], "security": "none"}
    return EmailNotifier(host="127.0.0.1", port=server.port, timeout_s=20, **{**given, **options})


def test_mail_arrives_as_plain_text():
    with LoopbackMail() as server:
        mailer(server).send(NOTICE)
    (mail,) = server.mails
    assert (mail.sender, mail.recipients) == ("rank@example.org", ["a@example.org", "b@example.org"])
    message = mail.message
    assert message["Subject"] == r"hybrid fell\r\nBcc: everybody@example.org"
    assert message["To"] == "a@example.org, b@example.org"
    assert message["Bcc"] is None
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    assert message.get_content().replace("\r\n", "\n") == "from 0.41 to 0.38\n.\nQUIT\n\\x1b[2J für\n"


def test_subject_of_many_letters_is_cut():
    with LoopbackMail() as server:
        mailer(server).send(Notice("alert", "ü" * 5000, "text"))
    assert len(server.mails[0].message["Subject"]) == 200


def test_server_that_refuses_for_now():
    with LoopbackMail(refuse={"DATA": ["451 try later\x1b[0m"]}) as server:
        with pytest.raises(NotifyError, match=r"127.0.0.1 answered 451: try later\\x1b"):
            mailer(server).send(NOTICE)
        assert server.mails == []
        mailer(server).send(NOTICE)
    assert len(server.mails) == 1


def test_nobody_takes_it_or_only_some():
    with LoopbackMail(refuse={"RCPT": ["550 unknown", "550 unknown"]}) as server:
        with pytest.raises(NotifyError, match=r"takes no mail for a@example.org \(550 unknown\); b@example.org"):
            mailer(server).send(NOTICE)
        server.refuse["RCPT"] = ["550 unknown"]
        with pytest.raises(PartlySentError, match=r"a@example.org \(550 unknown\); all others have got it"):
            mailer(server).send(NOTICE)
    assert [mail.recipients for mail in server.mails] == [["b@example.org"]]


def test_nobody_there():
    with LoopbackMail() as server:
        gone = mailer(server)
    with pytest.raises(NotifyError, match="cannot be reached: Connection refused"):
        gone.send(NOTICE)


def test_login():
    with LoopbackMail(login=("rank", "p4ssword!")) as server:
        mailer(server, user="rank", password="p4ssword!").send(NOTICE)
        with pytest.raises(NotifyError, match="answered 535"):
            mailer(server, user="rank", password="wrong").send(NOTICE)
    assert len(server.mails) == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate of the loopback server")
    folder = tmp_path_factory.mktemp("certificate")
    files = (str(folder / "cert.pem"), str(folder / "key.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return files


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_connection_is_encrypted_and_the_certificate_checked(certificate, security, monkeypatch):
    options = {"security": security, "user": "rank", "password": "p4ssword!"}
    with LoopbackMail(certificate=certificate, tls_first=security == "tls", login=("rank", "p4ssword!")) as server:
        with pytest.raises(NotifyError, match="certificate"):
            mailer(server, **options).send(NOTICE)
        assert "AUTH" not in server.commands
        monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
        mailer(server, **options).send(NOTICE)
    assert [mail.encrypted for mail in server.mails] == [True]


def test_server_without_encryption_gets_no_password():
    with LoopbackMail(login=("rank", "p4ssword!")) as server:
        with pytest.raises(NotifyError, match="STARTTLS"):
            mailer(server, security="starttls", user="rank", password="p4ssword!").send(NOTICE)
        assert "AUTH" not in server.commands


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"to": []}, "to is empty"),
        ({"to": "nobody"}, "to holds 'nobody', which is no address"),
        ({"to": ["a@b.org\r\nBcc: c@d.org"]}, "no address"),
        ({"to": "Team <a@b.org>"}, "no address"),
        ({"sender": "rank@exa mple.org"}, "from holds"),
        ({"user": "rank"}, "password is missing"),
        ({"host": "smtp.example.org/x"}, "no name of a server"),
        ({"host": "smtp.example.org", "user": "a", "password": "b", "security": "none"}, "could read the password"),
    ],
)
def test_options_that_cannot_be(options, words):
    with pytest.raises(OptionError, match=words):
        EmailNotifier(**{"host": "localhost", "sender": "a@b.org", "to": "c@d.org", **options}).check()
