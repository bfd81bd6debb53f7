"""Telling plain TREC text by one look: in any doubt the closer inspection decides."""

import pytest

from rankscope.io.text import is_plain, trec_text


@pytest.fixture
def file_of(tmp_path):
    def write(content):
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"q Q0 d 1 0.5 tag\n", "run"),
        (b"\xef\xbb\xbf# a comment\n\n  q\tQ0\td\t1\t-2e3\ttag more\r\n", "run"),
        (b"q 0 d 1\n", "qrels"),
    ],
)
def test_plain_text_is_seen_at_once(file_of, content, kind):
    assert is_plain(file_of(content), kind)
    assert trec_text(file_of(content), kind).compression is None


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"q 0 d 1\n", "run"),
        (b"q Q0 d 1 0.5 tag\n", "qrels"),
        (b"query\tQ0\tdoc\trank\tscore\ttag\n", "run"),
        (b'{"query": 1, "doc": 2, "score": 3}\n', "run"),
        (b"\x1f\x8b q Q0 d 1 0.5 tag\n", "run"),
        (b"q Q0 d\0 1 0.5 tag\n", "run"),
        (b"", "run"),
    ],
)
def test_anything_else_is_looked_at_more_closely(file_of, content, kind):
    assert not is_plain(file_of(content), kind)


def test_what_is_no_file_is_not_plain_text(tmp_path):
    assert not is_plain(tmp_path, "run")
    assert not is_plain(tmp_path / "missing", "run")
