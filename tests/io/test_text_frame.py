"""TREC text as a frame is what the reader of TREC text makes of the same lines, or nothing."""

import polars as pl
import pytest

from rankscope.io.read import read_run
from rankscope.io.text_frame import frame_of_plain

PLAIN = [
    "q1 Q0 d1 1 2.5 t",
    "q1 Q0 d2 2 -1e-3 t",
    "q2 Q0 é 1 7 t",
    'q2 0 "d 2 .5 x',
    "q2 0 e 3 +1E400 x",
    "q3 Q0 d 01 4. t",
]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("blank", [" ", "\t"], ids=["space", "tab"])
@pytest.mark.parametrize("last", ["", "end"])
def test_plain_lines_are_a_frame(end, blank, last):
    text = end.join(line.replace(" ", blank) for line in PLAIN) + (end if last else "")
    frame = frame_of_plain(text.encode())
    assert frame is not None
    assert frame.schema == {"query": pl.String, "doc": pl.String, "score": pl.Float64, "rank": pl.Int64}
    assert frame.rows() == [
        ("q1", "d1", 2.5, 1),
        ("q1", "d2", -0.001, 2),
        ("q2", "é", 7.0, 1),
        ("q2", '"d', 0.5, 2),
        ("q2", "e", float("inf"), 3),
        ("q3", "d", 4.0, 1),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"q1 Q0 d1 1 2.5",
        b"q1 Q0 d1 1 2.5 t more",
        b"q1  Q0 d1 1 2.5 t",
        b" q1 Q0 d1 1 2.5 t",
        b"q1 Q0 d1 1 2.5 t ",
        b"q1\tQ0 d1 1 2.5 t",
        b"q1\vQ0 d1 1 2.5 t",
        b"q1 Q0 d1 1 2.5\rt",
        b"#q1 Q0 d1 1 2.5 t",
        b"q1 Q0 d1 one 2.5 t",
        b"q1 Q0 d1 9999999999999999999 2.5 t",
        b"q1 Q0 d1 1 nan t",
        b"q1 Q0 d1 1 inf t",
        b"q1 Q0 d1 1 1_0 t",
        b"q1 Q0 d\xe9 1 2.5 t",
        b"",
        b"\xef\xbb\xbfq1 Q0 d1 1 2.5 t",
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_lines_that_are_not_quite_plain_are_left_to_the_reader_of_such_text(line, place):
    lines = [b"q7 Q0 d1 1 2.5 t", b"q7 Q0 d2 2 1.5 t"]
    lines.insert(place, line)
    if line.startswith(b"\xef") and place:  # within a text it is part of an id
        assert frame_of_plain(b"\n".join(lines) + b"\n")["query"].to_list()[place] == "\ufeffq1"
    else:
        assert frame_of_plain(b"\n".join(lines) + b"\n") is None


def test_scores_are_the_same_bits(write_file):
    """Numbers that lie next to the middle of two others, where a reader that is not exact takes the wrong one."""
    numbers = [
        "0.1",
        "2.2250738585072011e-308",
        "9007199254740993",
        "1e23",
        "8.41",
        "4.9e-324",
        "0.30000000000000004441",
    ]
    text = "".join(f"q Q0 d{i} {i} {number} t\n" for i, number in enumerate(numbers)).encode()
    expected = list(map(float, numbers))
    assert frame_of_plain(text)["score"].to_list() == expected
    assert read_run(write_file(text, "r.run")).rows.score.tolist() == expected


@pytest.mark.parametrize("begin", ["x^", "x\x01", "x\x9c", "x\xda", "\x1f\x8b", "(\xb5/\xfd", "BZh"])
def test_text_that_begins_as_a_compressed_file_does_is_text(begin):
    line = f"{begin}2 Q0 d1 1 1.5 t\n".encode("latin-1")
    frame = frame_of_plain(line)
    try:
        name = line.split()[0].decode()
    except UnicodeDecodeError:
        assert frame is None
    else:
        assert frame.rows() == [(name, "d1", 1.5, 1)]
