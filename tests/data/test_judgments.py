"""Single judgments: written, read back equal, and refused where they say what they cannot say."""

import json

import pytest

from rankscope.data.judgments import JudgmentSource, SingleJudgment, read_judgments, with_uuid, write_judgments
from rankscope.errors import FormatError, RankscopeError

FLAG = SingleJudgment(
    query="c1", doc="p2", source=JudgmentSource("person", id="ann"), flag=True, note="too far", system="parallel"
)
GRADE = SingleJudgment(
    query="c1", doc="p1", source=JudgmentSource("judge", name="j", model="m"), grade=2.0, scale=(0.0, 1.0, 2.0)
)
LINE = {
    "uuid": "5b0c2f0e-4a37-5d7c-9a55-4f2f9f5f7a10", "query": "c1", "doc": "p1", "source": {"kind": "person"}, "flag": True,
}  # fmt: skip


@pytest.fixture
def save(tmp_path):
    def write(*rows):
        path = tmp_path / "judgments.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def test_what_is_written_is_read_back_equal_and_sorted(tmp_path):
    given = [with_uuid(judgment) for judgment in (FLAG, GRADE)]
    write_judgments(given, tmp_path / "judgments.jsonl")
    found = read_judgments(tmp_path / "judgments.jsonl")
    assert set(found) == set(given)
    assert [one.uuid for one in found] == sorted(one.uuid for one in found)


def test_the_same_judgment_has_the_same_uuid():
    assert with_uuid(FLAG) == with_uuid(with_uuid(FLAG))
    assert with_uuid(FLAG).uuid != with_uuid(GRADE).uuid


def test_the_same_line_twice_is_one_judgment(save):
    assert len(read_judgments(save(LINE, LINE))) == 1
    with pytest.raises(FormatError, match=r":2: the uuid .* stands for another judgment"):
        read_judgments(save(LINE, {**LINE, "note": "other"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"uuid": "7"}, "cannot be read"),
        ({"at": "yesterday"}, "cannot be read"),
        ({"query": ""}, "no query or no doc"),
        ({"flag": False}, "it says nothing"),
        ({"grade": 1, "status": "cannot_tell"}, "has a grade, but its status is cannot_tell"),
        ({"grade": 5, "scale": [0, 1]}, "its grade 5 is not on its scale 0, 1"),
        ({"status": "fine"}, "status"),
        ({"flagg": True}, "flagg"),
        ({"source": {"kind": "robot"}}, "kind"),
        ({"grade": "high"}, "grade"),
    ],
)
def test_what_is_no_judgment_is_refused_with_its_line(save, change, words):
    with pytest.raises(RankscopeError, match=words) as error:
        read_judgments(save(LINE, {**LINE, "uuid": "5b0c2f0e-4a37-5d7c-9a55-4f2f9f5f7a11", **change}))
    assert "judgments.jsonl:2" in error.value.message


def test_without_a_grade_nothing_becomes_0(save):
    (kept,) = read_judgments(save({**LINE, "flag": False, "status": "skipped"}))
    assert kept.grade is None
