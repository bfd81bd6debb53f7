"""The journal: what is on disk after a crash at any byte, after damage of any kind, and while others write to it."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import sys
from pathlib import Path

import pytest

from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.experiment import journal as journals
from rankscope.experiment.answer_store import IndexCost, TunedWeights
from rankscope.experiment.journal import Journal, JournalStore, seal, seal_key
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.systems.answers import Answer

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

ABOUT = {"system": "s", "collection": "c", "fingerprint": "f" * 64}
RANKINGS = {"a": (("d1", 0.1), ("d2", 1 / 3)), "b": (), "c": (("d\udc80x", -1e300),), "d": (("7", 2.0),)}


def write(path: Path) -> None:
    with Journal(path, about=ABOUT) as journal:
        journal.add_fit(IndexCost(1.5, 100))
        journal.add([Answer("a", RANKINGS["a"], seconds=0.25, n_attempts=2)], seconds=0.3, cold=True)
        journal.add([Answer("b", RANKINGS["b"]), Answer("e", None, "broken"), Answer("c", RANKINGS["c"])], seconds=1)
        journal.add([Answer("d", RANKINGS["d"])], seconds=0.5)
        journal.add_memory(5)


def rankings_in(path: Path, about=ABOUT) -> dict[str, tuple[tuple[str, float], ...]]:
    with Journal(path, about=about) as journal:
        return {query: tuple(journal.ranking(query)) for query in journal.summary.answered}


@pytest.fixture
def quick_disk(monkeypatch):
    """Do not wait for the disk, where thousands of journals are written."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def path(tmp_path):
    """Return a journal with four answers and a failure."""
    write(tmp_path / "j.jsonl")
    return tmp_path / "j.jsonl"


def test_reads_back_what_was_written(path):
    with Journal(path, about=ABOUT) as journal:
        assert {query: journal.ranking(query) for query in journal.summary.answered} == RANKINGS
        assert {query: answer.reason for query, answer in journal.summary.failures.items()} == {"e": "broken"}
        assert [call.n_queries for call in journal.summary.calls] == [1, 3, 1]
        assert journal.summary.fit == IndexCost(1.5, 100)
        assert journal.summary.memory_bytes == 5
        assert journal.summary.answered["a"].seconds == 0.25
        assert journal.summary.answered["a"].cold
        assert journal.summary.notes == []
        journal.add([Answer("e", [("d9", 1.0)])], seconds=1)
        assert not journal.summary.failures


def test_no_rise_of_memory_is_a_number_too(tmp_path):
    for n_bytes, highest in ((0, 0), (7, 7), (3, 7)):
        with Journal(tmp_path / "j.jsonl", about=ABOUT) as journal:
            journal.add_memory(n_bytes)
        with Journal(tmp_path / "j.jsonl", about=ABOUT) as journal:
            assert journal.summary.memory_bytes == highest


@pytest.mark.usefixtures("quick_disk")
def test_cut_off_at_any_byte_whole_calls_are_kept_and_the_rest_can_be_added_again(path):
    whole = path.read_bytes()
    ends = {}  # after how many bytes each call is complete, from the file itself
    position, pending = 0, []
    for line in whole.splitlines(keepends=True):
        position += len(line)
        record = json.loads(line)
        pending += [record["query"]] if "query" in record else []
        if "call" in record:
            ends |= dict.fromkeys(pending, position)
            pending = []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        complete = {query for query, end in ends.items() if end <= length}
        with Journal(path, about=ABOUT) as journal:
            assert {*journal.summary.answered, *journal.summary.failures} == complete
            assert journal.summary.notes == [], "a crash is no damage"
            journal.add([Answer("new", [("x", 1.0)])], seconds=1)
        assert rankings_in(path) == {"new": (("x", 1.0),), **{q: RANKINGS[q] for q in complete if q in RANKINGS}}


class TestDamage:
    @pytest.mark.usefixtures("quick_disk")
    def test_a_flipped_bit_at_any_byte_costs_at_most_what_stands_there(self, path):
        whole = path.read_bytes()
        line_of = [number for number, line in enumerate(whole.splitlines(keepends=True)) for _ in line]
        records = [json.loads(line) for line in whole.splitlines()]
        draw = random.Random(0)
        for place in range(len(whole)):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << draw.randrange(8)
            path.write_bytes(damaged)
            found = rankings_in(path)
            assert found.items() <= RANKINGS.items(), "nothing that was not written is read"
            hit = {line_of[place], line_of[place] + (whole[place] == ord("\n"))} & set(range(len(records)))
            lost = {records[number].get("query") for number in hit}
            if any("call" in records[number] for number in hit) and max(hit) + 2 >= len(records):
                lost.add("d")  # the last call is not closed any more
            assert RANKINGS.keys() - lost <= found.keys()
            assert rankings_in(path) == found, "and it stays as it is"

    def test_damage_is_told_once(self, path):
        path.write_bytes(path.read_bytes().replace(b'"d1"', b'"d3"'))
        with Journal(path, about=ABOUT) as journal:
            assert journal.summary.answered.keys() == RANKINGS.keys() - {"a"}
            assert journal.summary.notes == [
                "1 damaged record was found in j.jsonl; answers that are lost with it are asked again."
            ]
            journal.add([Answer("a", RANKINGS["a"])], seconds=1)
        with Journal(path, about=ABOUT) as journal:
            assert journal.summary.notes == []
            assert {query: journal.ranking(query) for query in journal.summary.answered} == RANKINGS

    @pytest.mark.usefixtures("quick_disk")
    def test_a_damaged_header_is_written_anew_and_no_answer_is_said_to_be_lost(self, path):
        whole = path.read_bytes()
        length = whole.index(b"\n")
        for place in range(length):
            for flip in (1 << random.Random(place).randrange(8), whole[place] ^ ord("\n")):  # or it becomes two lines
                path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
                with Journal(path, about=ABOUT) as journal:
                    assert journal.summary.answered.keys() == RANKINGS.keys()
                    assert journal.summary.notes == [
                        "The header of j.jsonl was damaged and is written anew; all answers are sound."
                    ]
                assert path.read_bytes() == whole

    def test_a_header_that_is_damaged_together_with_the_record_behind_it(self, path):
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"\n", b"\0", 1))
        with Journal(path, about=ABOUT) as journal:
            assert journal.summary.answered.keys() == RANKINGS.keys()
            assert journal.summary.fit is None
            assert journal.summary.notes == [
                "The header of j.jsonl was damaged and is written anew.",
                "1 damaged record was found in j.jsonl; answers that are lost with it are asked again.",
            ]
        assert path.read_bytes().splitlines()[0] == whole.splitlines()[0]
        assert rankings_in(path) == RANKINGS

    def test_where_the_header_is_gone_no_sound_record_is_written_over(self, path):
        whole = path.read_bytes()
        path.write_bytes(b"damaged\n" + whole[whole.index(b"\n") + 1 :])
        with Journal(path, about=ABOUT) as journal:
            assert journal.summary.fit == IndexCost(1.5, 100)
            assert journal.summary.notes == [
                "1 damaged record was found in j.jsonl; answers that are lost with it are asked again."
            ]
        assert rankings_in(path) == RANKINGS

    @pytest.mark.parametrize(
        "record",
        [
            {"query": "a"},
            {"query": "a", "docs": [["d", 1.0]], "attempts": 1, "at": "x"},
            {"query": "a", "docs": 7, "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": "a", "docs": [["d"]], "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": "a", "docs": [["d", "1"]], "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": "a", "docs": {"d": 1.0}, "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": "a", "docs": [["d", 1.0]], "seconds": "1", "attempts": 1, "at": "x"},
            {"query": "a", "docs": [["d", 1.0]], "failed": "no", "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": "a", "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": 7, "docs": [], "seconds": 1.0, "attempts": 1, "at": "x"},
            {"query": None},
            {"call": 1},
            {"call": [], "seconds": 1.0, "cold": False},
            {"fit": 1.0},
            {"memory_bytes": "many"},
            {"something": "else"},
            {},
        ],
    )
    def test_a_record_that_is_well_formed_but_wrong_is_left_out(self, record, path):
        with path.open("ab") as stream:
            stream.write(seal(record, seal_key(ABOUT)))
            stream.write(seal({"memory_bytes": 9}, seal_key(ABOUT)))
        with Journal(path, about=ABOUT) as journal:
            assert {query: journal.ranking(query) for query in journal.summary.answered} == RANKINGS
            assert journal.summary.memory_bytes == 9
            assert len(journal.summary.notes) == 1

    @pytest.mark.parametrize("text", [b"[" * 100_000, b"{" * 100_000, b'{"query":' * 50_000, b"\0" * 1000, b"\xff\xfe"])
    def test_a_line_that_is_no_record_is_left_out(self, text, path):
        path.write_bytes(path.read_bytes() + text + b"\n" + seal({"memory_bytes": 9}, seal_key(ABOUT)))
        assert rankings_in(path) == RANKINGS

    def test_a_ranking_that_changes_while_the_journal_is_open_is_refused(self, path):
        with Journal(path, about=ABOUT) as journal:
            path.write_bytes(path.read_bytes().replace(b'"d1"', b'"d3"'))
            with pytest.raises(InputError, match="has changed since it was opened"):
                journal.ranking("a")

    def test_nothing_of_another_journal_is_taken(self, path):
        for name in ABOUT:
            copy = path.with_name("copy.jsonl")
            copy.write_bytes(path.read_bytes())
            with Journal(copy, about={**ABOUT, name: "0" * 64}) as journal:
                assert not journal.summary.answered
                (note,) = journal.summary.notes
                assert "was of another version or about something else" in note
            assert copy.with_name("copy.jsonl.old").read_bytes() == path.read_bytes(), "and nothing is lost"

    def test_a_single_line_of_another_journal_is_not_taken(self, path):
        other = path.with_name("other.jsonl")
        with Journal(other, about={**ABOUT, "fingerprint": "0" * 64}) as journal:
            journal.add([Answer("x", [("y", 1.0)])], seconds=1)
        path.write_bytes(path.read_bytes() + other.read_bytes())
        assert rankings_in(path) == RANKINGS

    def test_a_journal_of_the_first_version_is_put_aside(self, tmp_path):
        old = (
            '{"rankscope_journal":1,"system":"s"}\n'
            '{"query":"a","docs":[["d1",0.5]],"seconds":0.1,"attempts":1}\n{"call":1,"seconds":0.1,"cold":false}\n'
        )
        (tmp_path / "j.jsonl").write_text(old)
        with Journal(tmp_path / "j.jsonl", about=ABOUT) as journal:
            assert not journal.summary.answered
            assert "everything was asked anew; it was kept as j.jsonl.old" in journal.summary.notes[0]
        assert (tmp_path / "j.jsonl.old").read_text() == old
        (tmp_path / "s.0123456789ab.jsonl").write_text(old)
        with JournalStore(tmp_path, "c").open("s", "f" * 64) as journal:
            assert "answers of an earlier version of Rankscope are not used" in journal.summary.notes[0]
        with JournalStore(tmp_path, "c").open("s", "f" * 64) as journal:
            assert journal.summary.notes == [], "it is said once"

    def test_damaged_weights_are_tuned_again(self, tmp_path):
        store = JournalStore(tmp_path, "c")
        tuned = TunedWeights((0.3, 0.7), (((0.3, 0.7), 0.5), ((1.0, 0.0), None)))
        store.put_tuned("s", "f" * 64, tuned)
        assert store.get_tuned("s", "f" * 64) == tuned
        (path,) = tmp_path.iterdir()
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert store.get_tuned("s", "f" * 64) is None
        path.write_bytes(whole)
        assert store.get_tuned("s", "e" + "f" * 63) is None


def disturbed(content: bytes, draw: random.Random) -> bytes:
    """Return content in which one byte or line was flipped, dropped, doubled or put elsewhere, or the end cut off."""
    place = draw.randrange(len(content))
    lines = content.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    return draw.choice(
        [
            content[:place] + bytes([content[place] ^ (1 << draw.randrange(8))]) + content[place + 1 :],
            content[:place] + content[place + 1 :],
            content[:place] + content[place : place + 1] + content[place:],
            content[:place],
            b"".join(lines[:at] + lines[at + 1 :]),
            b"".join(lines[:at] + lines[at : at + 1] + lines[at:]),
            b"".join([*lines[:at], *lines[at + 1 :], lines[at]]),
        ]
    )


@pytest.mark.slow
@pytest.mark.usefixtures("quick_disk")
@pytest.mark.parametrize("seed", range(4))
def test_whatever_becomes_of_a_journal_the_run_is_the_same(seed, tmp_path):
    small = small_project(tmp_path, n_queries=30)
    small.write(systems("one", "other"))
    project = load_project(small.folder)
    run_project(project)
    expected = small.runs
    files = sorted((small.folder / "results" / "journal" / "small").iterdir())
    draw = random.Random(seed)
    for _ in range(25):
        path = draw.choice(files)
        before, n_asked = path.read_bytes(), small.asked.total()
        after = disturbed(before, draw)
        path.write_bytes(after)
        run_project(project)
        assert small.runs == expected
        assert before.startswith(after) or small.asked.total() - n_asked <= 2, "only what was damaged is asked again"
    assert not list((small.folder / "results").rglob("*.old"))


@pytest.mark.skipif(os.name != "posix", reason="files are not locked here")
class TestLocks:
    def test_two_runs_do_not_write_to_the_same_journal(self, path):
        with Journal(path, about=ABOUT), pytest.raises(OptionError, match="another run is writing"):
            Journal(path, about=ABOUT)

    def test_fresh_does_not_throw_away_what_another_run_is_writing(self, tmp_path):
        small = small_project(tmp_path)
        small.write(systems("one", "other"))
        project = load_project(small.folder)
        run_project(project)
        runs = small.runs
        journals_before = {path: path.read_bytes() for path in (tmp_path / "results/journal/small").iterdir()}
        store = JournalStore(tmp_path / "results/journal/small", "small")
        (fingerprint,) = (
            json.loads(path.read_bytes().splitlines()[0])["fingerprint"]
            for path in journals_before
            if path.name.startswith("other.")
        )
        with store.open("other", fingerprint), pytest.raises(OptionError, match="another run is writing"):
            run_project(project, RunOptions(fresh=True))
        assert {path: path.read_bytes() for path in (tmp_path / "results/journal/small").iterdir()} == journals_before
        assert small.runs == runs
        run_project(project, RunOptions(fresh=True))
        assert set(small.asked.values()) == {2}

    def test_a_journal_that_is_thrown_away_before_it_is_locked_is_made_anew(self, path, monkeypatch):
        taken = journals.lock
        n_calls = []

        def lock_late(stream, where, **options):
            if not n_calls:
                where.unlink()
            n_calls.append(where)
            taken(stream, where, **options)

        monkeypatch.setattr(journals, "lock", lock_late)
        with Journal(path, about=ABOUT) as journal:
            journal.add([Answer("z", [("d", 1.0)])], seconds=1)
        monkeypatch.undo()
        assert rankings_in(path) == {"z": (("d", 1.0),)}


class TestFullDisk:
    """The disk is full at each of the moments at which something is written, once."""

    @pytest.mark.slow
    def test_a_clear_error_then_the_same_run(self, tmp_path, monkeypatch):
        whole = small_project(tmp_path / "whole", n_queries=6, module="searching")
        whole.write(systems("one", "other"))
        run_project(load_project(whole.folder))
        small = small_project(tmp_path / "full", n_queries=6, module="searching")
        small.write(systems("one", "other"))
        project = load_project(small.folder)
        on_disk, n_left = os.fsync, 0

        def fsync(descriptor):
            nonlocal n_left
            n_left -= 1
            if n_left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            on_disk(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        for n_written in (0, 1, 2, 3, 3, 3, 3, 3):
            n_left = n_written
            with pytest.raises(UnfinishedError, match="cannot be written: No space left on device"):
                run_project(project)
            assert small.runs in ({}, {name: whole.runs[name] for name in small.runs})
        monkeypatch.undo()
        run_project(project)
        assert small.runs == whole.runs
        assert max(small.asked.values()) <= 3

    def test_what_could_not_be_written_whole_is_taken_back(self, path, monkeypatch):
        before = path.read_bytes()
        with Journal(path, about=ABOUT) as journal:
            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
                with pytest.raises(UnfinishedError, match=r"j.jsonl cannot be written: No space left"):
                    journal.add([Answer("z", [("d", 1.0)])], seconds=1)
            assert path.read_bytes() == before
            assert "z" not in journal.summary.answered
            journal.add([Answer("z", [("d", 1.0)])], seconds=1)
        assert rankings_in(path) == {**RANKINGS, "z": (("d", 1.0),)}


def test_runs_are_read_back_as_they_were_answered(tmp_path):
    """What a journal holds and what the run holds are the same, whatever the ids are."""
    small = small_project(tmp_path, n_queries=3)
    small.add("def odd(query):\n    return [('\\udc80ä', 2.0), ('#x', 1.0), ('d1', 0.1)]\n")
    small.write(systems("odd"))
    (result,) = run_project(load_project(small.folder), RunOptions(anyway=True)).collections
    lines = gzip.decompress((small.folder / result.systems[0].run).read_bytes())
    assert lines.count(b"\x80\xc3\xa4") == 3 or lines.count(b"\\udc80") == 3
