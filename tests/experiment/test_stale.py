"""Nothing that has changed is taken for what it was: docs, queries, judgments, code; and what is reused is said."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from rankscope.errors import InputError
from rankscope.experiment import collection as collections
from rankscope.experiment import doc_files, fingerprint
from rankscope.experiment.collection import load_collection, spec_of
from rankscope.experiment.fingerprint import FileState, code_of
from rankscope.experiment.project import load_project
from rankscope.experiment.results import benchmark_record
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.records import to_json
from rankscope.report.benchmark import report_of
from rankscope.systems.bm25 import BM25

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

BM25_SYSTEM = '[systems.words]\ntype = "bm25"\n'


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a small project whose files are as good as old: what is known of them is kept."""
    monkeypatch.setattr(fingerprint, "SETTLED_NS", -1)
    small = small_project(tmp_path)
    small.write(systems("one") + BM25_SYSTEM)
    return small


def run(small, **options):
    return run_project(load_project(small.folder), RunOptions(**options))


def edit_in_place(path: Path, old: bytes, new: bytes) -> None:
    """Change a file without a change of its size, its inode and its mtime."""
    assert len(old) == len(new)
    status = path.stat()
    content = path.read_bytes()
    assert old in content
    time.sleep(0.02)
    with path.open("r+b") as stream:
        stream.write(content.replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns


class TestEditsInPlace:
    @pytest.mark.parametrize(
        ("part", "name", "old", "new"),
        [
            ("docs", "corpus.jsonl", b"text 7 of", b"text 8 of"),
            ("queries", "queries.jsonl", b'"text 7"', b'"text 8"'),
            ("qrels", "qrels/test.tsv", b"q7\td7\t1", b"q7\td8\t1"),
        ],
    )
    def test_an_edit_of_the_same_size_with_the_old_time_is_noticed(self, small, part, name, old, new):
        (before,) = run(small).collections
        edit_in_place(small.folder / "small" / name, old, new)
        (after,) = run(small).collections
        assert after.parts[part].sha256 != before.parts[part].sha256
        untouched = load_collection(spec_of(small.folder / "small"))  # without anything that was kept
        assert {name: found.sha256 for name, found in after.parts.items()} == untouched.hashes
        manifest = json.loads((small.folder / "results/manifest.json").read_text())
        assert manifest["collections"]["small"]["parts"][part]["sha256"] == untouched.hashes[part]
        is_same = [
            one.fingerprint == other.fingerprint for one, other in zip(before.systems, after.systems, strict=True)
        ]
        assert set(is_same) == {part == "qrels"}
        runs = small.runs
        run(small, fresh=True)
        assert small.runs == runs

    def test_a_file_that_has_just_been_written_is_hashed_each_time(self, small, monkeypatch):
        """Two writes within a tick of the clock of the file system have the same times."""
        monkeypatch.setattr(fingerprint, "SETTLED_NS", 60 * 10**9)
        run(small)
        assert not (small.folder / ".rankscope" / "collections").exists()

    def test_what_is_kept_of_a_file_is_checked(self, small):
        (before,) = run(small).collections
        for note in (small.folder / ".rankscope" / "collections").iterdir():
            record = json.loads(note.read_text())
            found = record["found"]
            if "sha256" in found:
                found["sha256"] = ("1" if found["sha256"][0] == "0" else "0") + found["sha256"][1:]
            else:  # which queries repeat a doc
                found["n_queries"] += 1
            note.write_text(json.dumps(record))
        assert run(small).collections[0].parts == before.parts


class TestChangesMeanwhile:
    """A file is changed between two readings of it."""

    def test_docs_that_change_after_they_were_hashed_are_not_indexed(self, small, monkeypatch):
        corpus = small.folder / "small" / "corpus.jsonl"
        scan = doc_files.scan_docs

        def scan_then_edit(docs):
            found = scan(docs)
            edit_in_place(corpus, b"text 7 of", b"text 8 of")
            return found

        with monkeypatch.context() as patch:
            patch.setattr(doc_files, "scan_docs", scan_then_edit)
            with pytest.raises(InputError, match=r"corpus.jsonl has changed while it was read"):
                run(small, only=("words",))
        assert small.runs == {}
        (result,) = run(small, only=("words",)).collections
        assert result.parts["docs"].sha256 == load_collection(spec_of(small.folder / "small")).hashes["docs"]

    def test_docs_that_change_while_they_are_indexed_leave_no_answer(self, small, monkeypatch):
        corpus = small.folder / "small" / "corpus.jsonl"
        index = BM25.index

        def edit_then_index(system, docs, *, progress):
            rows = iter(docs)
            next(rows)
            edit_in_place(corpus, b"text 7 of", b"text 8 of")
            list(rows)
            index(system, docs, progress=progress)

        with monkeypatch.context() as patch:
            patch.setattr(BM25, "index", edit_then_index)
            with pytest.raises(InputError, match=r"corpus.jsonl has changed while it was read"):
                run(small, only=("words",))
        run(small, only=("words",))
        runs = small.runs
        run(small, only=("words",), fresh=True)
        assert small.runs == runs

    @pytest.mark.parametrize(
        ("loader", "edit"),
        [
            ("load_queries", ("queries.jsonl", b'"text 7"', b'"text 8"')),
            ("load_qrels", ("qrels/test.tsv", b"q7\td7\t1", b"q7\td8\t1")),
        ],
    )
    def test_what_was_read_has_the_hash_of_what_was_read(self, small, monkeypatch, loader, edit):
        """The file changes right after it was read for the first time, so it is read again."""
        read, n_calls = getattr(collections, loader), []

        def read_then_edit(*given, **options):
            found = read(*given, **options)
            if not n_calls:
                edit_in_place(small.folder / "small" / edit[0], *edit[1:])
            n_calls.append(1)
            return found

        monkeypatch.setattr(collections, loader, read_then_edit)
        cache = small.folder / "cache"
        found = load_collection(spec_of(small.folder / "small"), cache=cache)
        monkeypatch.undo()
        clean = load_collection(spec_of(small.folder / "small"))
        assert len(n_calls) == 2
        assert found.hashes == clean.hashes
        assert found.qrels.origin.sha256 == clean.qrels.origin.sha256
        assert load_collection(spec_of(small.folder / "small"), cache=cache).hashes == clean.hashes

    def test_a_file_that_changes_all_the_time_is_refused(self, small, monkeypatch):
        read = collections.load_queries
        path = small.folder / "small" / "queries.jsonl"

        def read_then_touch(*given, **options):
            os.utime(path)
            time.sleep(0.02)
            return read(*given, **options)

        monkeypatch.setattr(collections, "load_queries", read_then_touch)
        with pytest.raises(InputError, match=r"queries.jsonl has changed while it was read"):
            load_collection(spec_of(small.folder / "small"))

    def test_a_pipe_has_no_state(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        assert FileState.of(tmp_path / "pipe") is None


CUSTOM = """
from dataclasses import dataclass
from pathlib import Path

@dataclass(kw_only=True)
class Custom:
    name: str = ""
    index_bytes = 0

    def fit(self, docs, *, progress=None): ...

    def search(self, queries, *, k):
        return [[("d{number}", 1.0)] for _ in queries]

    def describe(self):
        return {{"type": "custom"}}
"""


class TestCode:
    def fingerprints(self, small) -> dict[str, str]:
        return {system.name: system.fingerprint for system in run(small).collections[0].systems}

    def test_another_version_of_rankscope_is_asked_anew(self, small, monkeypatch):
        before = self.fingerprints(small)
        monkeypatch.setattr(fingerprint, "__version__", "99.0")
        after = self.fingerprints(small)
        assert before.keys() == after.keys()
        assert not set(before.values()) & set(after.values())
        assert set(small.asked.values()) == {2}

    def test_the_sources_of_systems_are_part_of_it(self, tmp_path, monkeypatch):
        package = tmp_path / "systems"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "bm25.py").write_text("x = 1\n")
        monkeypatch.setattr(fingerprint.rankscope.systems, "__file__", str(package / "__init__.py"))
        before = code_of([])
        assert code_of([]) == before
        (package / "bm25.py").write_text("x = 2\n")
        assert code_of([]) != before

    def test_so_is_the_file_of_a_class_of_ones_own(self, tmp_path):
        runs = {}
        for number in (1, 2):
            small = small_project(tmp_path / str(number), module="searching")
            (small.folder / "own.py").write_text(CUSTOM.format(number=number))
            small.write('[systems.own]\ntype = "own:Custom"\n')
            runs[number] = run(small).collections[0].systems[0].fingerprint
        assert runs[1] != runs[2]
        assert code_of([object()]) == code_of([])

    def test_parts_count_as_well(self, tmp_path):
        found = {}
        for number in (1, 2):
            small = small_project(tmp_path / str(number), module="searching")
            (small.folder / "own.py").write_text(CUSTOM.format(number=number))
            small.write(
                '[systems.own]\ntype = "own:Custom"\n[systems.again]\ntype = "own:Custom"\n'
                '[systems.both]\ntype = "hybrid"\nof = ["own", "again"]\n'
            )
            found[number] = self.fingerprints(small)["both"]
        assert found[1] != found[2]


class TestReuse:
    def test_a_run_says_what_it_reused(self, small):
        first = run(small)
        assert [system.reused for system in first.collections[0].systems] == [None, None]
        again = run(small)
        one = again.collections[0].systems[0]
        assert one.reused.n == 40
        assert first.started <= one.reused.first <= one.reused.last <= first.finished
        day = one.reused.first[:10]
        words = f"one: 40 of 40 queries' answers are from an earlier run of {day}; --fresh asks again."
        assert words in str(report_of(again).first_screen)
        record = json.loads(to_json(benchmark_record(again)))
        assert record["collections"][0]["systems"][0]["reused"]["n"] == 40
        manifest = json.loads((small.folder / "results/manifest.json").read_text())
        assert manifest["collections"]["small"]["systems"]["one"]["reused"]["n"] == 40

    def test_text_says_it_too(self, small):
        run(small)
        assert "one: 40 of 40 queries' answers are from an earlier run of" in small.run().stdout

    def test_some_answers_are_new(self, small):
        small.write(systems("picky"))
        run(small)
        (picky,) = run(small).collections[0].systems
        assert (picky.reused.n, picky.n_answered) == (36, 36)
        module = small.folder / f"{small.module}.py"
        module.write_text(module.read_text().replace("I do not like", "I dislike"))
        fresh = run(small, fresh=True).collections[0].systems[0]
        assert fresh.reused is None

    def test_answers_of_the_same_run_are_not_reused_ones(self, small):
        """Options are chosen on answers that the run then takes for its results."""
        small.add("def two(query):\n    return docs_for(query.id, 'two')\n")
        functions = [f"{small.module}:{name}" for name in ("one", "two")]
        small.write(f'[systems.s]\ntype = "python"\nrecords = true\nfunction = {json.dumps(functions)}\n')
        (system,) = run(small).collections[0].systems
        assert system.reused is None
        (system,) = run(small).collections[0].systems
        assert system.reused.n == 20
