"""Checks, backups, copies and exports: nothing is lost on the way, and what is damaged is named."""

from __future__ import annotations

import json
import sys
import threading
import uuid
from pathlib import Path

import pytest
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from small_store import fill, fill_watched, make_first_tables, ranked, run_facts

from rankscope.cli.main import main
from rankscope.errors import InputError, OptionError
from rankscope.records import replace, to_builtins
from rankscope.store import open_store
from rankscope.store.alerts import Alert, NotificationAttempt
from rankscope.store.blobs import put_blob
from rankscope.store.check import check_store
from rankscope.store.engine import location_of
from rankscope.store.exchange import export_store, import_export
from rankscope.store.schema import blob, blob_chunk, config, doc, guideline, judgment, metadata, notification
from rankscope.store.schema import scores as scores_table
from rankscope.store.upkeep import back_up, collect_garbage, copy_all, restore, store_info
from small_project import small_project, systems


@pytest.fixture
def full(store):
    """Return a store with a little of everything."""
    fill(store)
    return store


@pytest.fixture
def file(tmp_path):
    """Return the file of a store with a little of everything."""
    path = tmp_path / "project" / ".rankscope" / "store.db"
    with open_store(path, create=True) as store:
        fill(store)
    return path


def contents(store) -> dict[str, list[tuple]]:
    """Return all rows of all tables, but for what a store says of itself."""
    with store.reading() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
            if table.name != "meta"
        }


def test_a_store_is_fine(full):
    fill_watched(full)
    found = check_store(full, every_vector=True)
    assert found.findings == ()
    assert (found.runs, found.vectors, found.computed_again) == (3, 3, 3)
    assert found.from_json(found.to_json()) == found


DAMAGES = {
    "a chunk is missing": (lambda: sa.delete(blob_chunk).where(blob_chunk.c.sha256 == ranking()), "0 of its 1 chunks"),
    "a size": (lambda: sa.update(blob).where(blob.c.sha256 == ranking()).values(n_bytes=7), "7 are noted"),
    "an option": (lambda: sa.update(config).values(value={"k1": 9}), "config: is not what its hash says"),
    "a text": (lambda: sa.update(doc).where(doc.c.id == 3).values(text="other"), "row 3 of doc: is not what"),
    "a judgment": (lambda: sa.update(judgment).where(judgment.c.id == 2).values(doc="d9"), "says one thing"),
    "a grade": (lambda: sa.update(judgment).where(judgment.c.id == 2).values(grade=0.0), "row 2 of judgment: says one"),
    "a time": (
        lambda: of_table("run", started="2020-01-01T00:00:00.000000+00:00"),
        "row 2 of run: its system, options",
    ),
    "a repetition": (lambda: of_table("run", repetition=2), "row 2 of run: its column says repetition 2"),
    "facts": (lambda: replaced("run", "facts", "a note", "no note"), "row 2 of run: what it says of how it was made"),
    "a system": (lambda: of_table("system", 1, name="dense"), "row 1 of run: its system, options"),
    "a collection": (lambda: of_table("collection", 1, name="large"), "row 1 of run: its system, options"),
    "a version": (
        lambda: of_table("collection_version", 1, docs_sha256="e" * 64),
        "row 1 of collection_version: is not",
    ),
    "counts": (
        lambda: of_table("collection_version", 1, counts={"queries": 3}),
        "it counts 3 queries, and 12 are stored",
    ),
    "qrels": (lambda: of_table("qrels", 1, kind="clicks"), "row 1 of qrels: is not what its hash says"),
    "a count of judgments": (lambda: replaced("qrels", "facts", "36", "35", 1), "it counts 35 judgments, and has 36"),
    "a look": (lambda: of_table("comparison", 1, look=-1), "row 1 of comparison: it is the look number -1"),
    "a verdict": (
        lambda: replaced("comparison", "pairs", '"verdict"', '"verdikt"', 1),
        "row 1 of comparison: cannot be",
    ),
    "a tag": (lambda: of_table("tag", 1, name=""), "row 1 of tag: it has no name"),
    "a target": (lambda: replaced("target", "definition", "d1", "d2", 1), "row 1 of target: is not what its hash says"),
    "an outcome": (lambda: of_table("target_result", 1, outcome="passed"), "row 1 of target_result: says one thing"),
    "an alert": (lambda: of_table("alert", 1, opened="2020"), "row 1 of alert: says one thing"),
    "an alert as JSON": (lambda: replaced("alert", "facts", "{", "[", 1), "table alert: cannot be read on from here"),
    "a notification": (lambda: of_table("notification", 1, kind="party"), "row 1 of notification: it is attempt 1 of"),
    "a number of queries": (lambda: replaced("scores", "facts", "12", "11"), "nDCG@10 of run 2"),
    "a mean": (
        lambda: sa.update(scores_table).where(scores_table.c.run_id == 2).values(mean=0.123),
        "nDCG@10 of run 2",
    ),
}


def of_table(of: str, row: int = 2, **values: object) -> sa.Update:
    """Return what changes columns of a row behind the back of the store."""
    table = metadata.tables[of]
    return sa.update(table).where(table.c.id == row).values(**values)


def replaced(name: str, column: str, old: str, new: str, row: int = 2) -> sa.TextClause:
    return sa.text(f"UPDATE {name} SET {column} = replace({column}, '{old}', '{new}') WHERE id = {row}")


def ranking() -> sa.ScalarSelect:
    return sa.select(metadata.tables["run"].c.ranking_sha256).where(metadata.tables["run"].c.id == 2).scalar_subquery()


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_named(full, damage):
    fill_watched(full)
    change, said = DAMAGES[damage]
    with full.writing() as connection:
        connection.execute(change())
    found = check_store(full, every_vector=True)
    assert said in f"{found.findings[0].what}: {found.findings[0].problem}"
    runs = [each for each in found.findings if each.problem.startswith("its system, options")]
    assert len(found.findings) == 1 or len(runs) >= len(found.findings) - 1  # what all runs share is wrong of all
    if "chunk" in damage:
        assert found.findings[0].used_by == "run 2"


def test_a_flipped_byte_in_a_chunk_is_found_and_named(full):
    with full.writing() as connection:
        row = connection.execute(sa.select(blob_chunk).where(blob_chunk.c.sha256 == ranking())).one()
        data = bytearray(row.data)
        data[len(data) // 2] ^= 16
        connection.execute(sa.update(blob_chunk).where(blob_chunk.c.sha256 == row.sha256).values(data=bytes(data)))
    (finding,) = check_store(full).findings
    assert finding.what == f"ranking {row.sha256[:12]}"
    assert finding.used_by == "run 2"
    assert "damaged" in finding.problem
    with pytest.raises(InputError, match=f"{row.sha256[:12]} in the store is damaged"):
        full.runs.ranking(full.runs.find("2"))
    full.runs.ranking(full.runs.find("1"))


def test_rows_that_name_nothing_are_found(file):
    with open_store(file) as store:
        plain = store.engine.raw_connection()
        plain.cursor().execute("PRAGMA foreign_keys=OFF")
        plain.cursor().execute("DELETE FROM config")
        plain.close()
        store.engine.dispose()
        assert any("names a row of config that is not there" in each.problem for each in check_store(store).findings)


def test_only_what_nothing_points_to_is_removed(full):
    before = contents(full)
    assert collect_garbage(full).blobs == 0
    assert contents(full) == before
    with full.writing() as connection:
        put_blob(connection, b"x" * 100, kind="test", now="now")
    full.scores.drop()
    done = collect_garbage(full)
    assert done.blobs == 1 + 3 + 1  # the one above, three vectors, the queries that were scored
    assert check_store(full).findings == ()
    assert contents(full)["run"] == before["run"]


def test_half_written_files_are_removed(file):
    (file.parent / "store.db.before-0002.half").write_text("x")
    (file.parent / "mine.txt").write_text("x")
    with open_store(file) as store:
        assert collect_garbage(store).files == ("store.db.before-0002.half",)
    assert (file.parent / "mine.txt").exists()


def test_a_backup_is_a_whole_store_although_others_write(full, tmp_path):
    going, problems = threading.Event(), []

    def write() -> None:
        number = 10
        while not going.is_set() and number < 60:
            try:
                full.runs.add(ranked(number), run_facts("other", number))
            except Exception as error:  # noqa: BLE001 (a thread would hide it)
                problems.append(error)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        size = back_up(full, tmp_path / "backup.db")
    finally:
        going.set()
        writer.join()
    assert problems == []
    assert size == (tmp_path / "backup.db").stat().st_size
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("backup")] == ["backup.db"]
    with open_store(tmp_path / "backup.db", read_only=True) as copy:
        assert check_store(copy).findings == ()
        ours = {run.digest for run in full.runs.list()}
        assert {run.digest for run in copy.runs.list()} <= ours
        assert len(copy.runs.list(system="bm25")) == 3
    with pytest.raises(OptionError, match="is there already"):
        back_up(full, tmp_path / "backup.db")


def test_a_backup_is_put_back_and_what_it_replaces_is_kept(file, tmp_path):
    with open_store(file) as store:
        back_up(store, tmp_path / "b.db")
        before = contents(store)
        late = store.runs.add(ranked(50), run_facts("late", 50))
    with open_store(file, read_only=True) as store:
        kept = restore(tmp_path / "b.db", store.location)
    with open_store(file) as store:
        assert contents(store) == before
    with open_store(kept, read_only=True) as replaced:
        assert replaced.runs.find("late") == late
    assert (tmp_path / "b.db").exists()


def test_a_damaged_backup_is_not_put_back(file, tmp_path):
    with open_store(file) as store:
        back_up(store, tmp_path / "b.db")
        before = contents(store)
    content = bytearray((tmp_path / "b.db").read_bytes())
    at = content.index(b"\x28\xb5\x2f\xfd") + 40  # within the first frame of zstd
    content[at] ^= 255
    (tmp_path / "b.db").write_bytes(content)
    with open_store(file) as store, pytest.raises(InputError, match=r"backup .* is damaged"):
        restore(tmp_path / "b.db", store.location)
    with open_store(file) as store:
        assert contents(store) == before


def test_a_damaged_store_is_replaced_by_its_backup(file, tmp_path, capsys):
    with open_store(file) as store:
        back_up(store, tmp_path / "b.db")
    file.write_bytes(file.read_bytes()[:5000])
    assert main(["store", "info", "--store", str(file)]) == 2
    assert "is damaged" in capsys.readouterr().err
    assert main(["store", "restore", str(tmp_path / "b.db"), "--store", str(file)]) == 0
    assert main(["store", "check", "--store", str(file)]) == 0


def test_a_store_is_copied_to_postgresql_and_back(file, tmp_path, postgres_server):
    address = postgres_server.new_database()
    with open_store(file) as ours, open_store(address, create=True) as theirs:
        done = copy_all(ours, theirs)
        assert done["run"] == 3
        assert contents(theirs) == contents(ours)
        assert check_store(theirs, every_vector=True).findings == ()
        assert store_info(theirs).store_id == store_info(ours).store_id
        assert theirs.runs.add(ranked(70), run_facts("new", 30)).number == 4  # numbers go on
        with pytest.raises(InputError, match="is not empty"):
            copy_all(ours, theirs)
    assert main(["store", "copy", "--store", address, "--to", str(tmp_path / "back.db")]) == 0
    with open_store(tmp_path / "back.db") as back, open_store(address) as theirs:
        assert contents(back) == contents(theirs)
    postgres_server.drop(address)


def fill_log(store) -> None:
    """Add what is only ever added to: moves of tags, results of targets, alerts, messages; and judge again."""
    import rankscope as rs

    runs = store.runs.list()
    store.tags.move("baseline", runs[1])
    store.tags.move("release", runs[2])
    store.tags.remove("release")
    grades = {"q1": {"d1": 1}}
    for number, floor in ((0, 0.0), (1, 1.0)):
        run = store.runs.ranking(runs[number])
        report = rs.check(grades, {"bm25": run}, [{"name": "floor", "measure": "RR", "at_least": floor}])
        results = tuple(replace(one, collection="small") for one in report.results)
        store.targets.add(replace(report, results=results), {("small", "bm25"): run})
    (opened,) = store.alerts.put([
        Alert(
            kind="drop", collection="small", system="bm25", measure="RR", opened="2026-01-02", reasons=("It fell.",),
            run=runs[2].number, reference=runs[0].number, history=(runs[0].number, runs[1].number), before=0.5, value=0.1,
        )
    ])  # fmt: skip
    attempt = NotificationAttempt(alert=opened.number, notifier="mail", kind="alert", attempts=1, at="t1", sent=False)
    store.alerts.add_attempt(replace(attempt, failure="no answer"))
    store.alerts.add_attempt(replace(attempt, attempts=2, at="t2", sent=True))
    store.alerts.put([replace(opened, closed="2026-01-01", end="accepted", run_at_end=runs[1].number)])  # a slow clock
    first = store.judgments.list()[0].judgment
    store.judgments.add(replace(first, grade=0.0, at="2001-01-01T00:00:00.000000+00:00", uuid=str(uuid.uuid4())))
    small = store.qrels.judgments(store.qrels.find("small"))
    store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="small")
    store.qrels.add(small, name="small")


def log_of(store) -> dict:
    """Return all that a store tells, but for scores."""
    alerts = store.alerts.history()
    with store.reading() as connection:
        sent = [tuple(row) for row in connection.execute(sa.select(notification).order_by(notification.c.id))]
        guidelines = connection.execute(sa.select(guideline)).all()
    return {
        "runs": store.runs.list(repetitions=True),
        "qrels": store.qrels.list(),
        "judgments": store.judgments.list(),
        "current": store.judgments.current("small"),
        "comparisons": store.comparisons.list(),
        "tags": store.tags.moves(),
        "targets": store.targets.list(),
        "alerts": alerts,
        "attempts": store.alerts.attempts(range(10)),
        "sent": sent,
        "guidelines": guidelines,
    }


def test_an_export_gives_back_all_that_was_there(full, tmp_path):
    fill_log(full)
    done = export_store(full, tmp_path / "out")
    assert (done.runs, done.qrels, done.judgments, done.comparisons) == (3, 3, 13, 1)
    assert (done.tags, done.target_results, done.alerts, done.notifications) == (4, 2, 2, 2)
    with open_store(tmp_path / "new.db", create=True) as new:
        assert import_export(new, tmp_path / "out") == done
        assert log_of(new) == log_of(full)
        assert set(to_builtins(import_export(new, tmp_path / "out")).values()) == {0}
        export_store(new, tmp_path / "again")
    for name in ("judgments.jsonl", "manifest.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_what_a_store_has_of_its_own_stays(full, tmp_path):
    fill_log(full)
    export_store(full, tmp_path / "out")
    with open_store(tmp_path / "new.db", create=True) as new:
        run = new.runs.add(ranked(77), run_facts("other", 7))
        new.tags.move("baseline", run)
        import_export(new, tmp_path / "out")
        assert new.tags.current() == {"baseline": run.number}
        assert new.alerts.history()[0].history == (run.number + 1, run.number + 2)
        assert {each.run for each in new.targets.list()} == {run.number + 1, run.number + 2}


def test_lines_of_two_exports_merge(tmp_path):
    """As git does with files whose lines are sorted: what either has is there once, the order of each store kept."""
    with open_store(tmp_path / "a.db", create=True) as a, open_store(tmp_path / "b.db", create=True) as b:
        for store in (a, b):
            fill(store)
            fill_log(store)
            export_store(store, tmp_path / store.location.path.stem)
        for name in ("judgments.jsonl", "judgments-order.jsonl", "targets.jsonl"):
            lines = {line for side in "ab" for line in (tmp_path / side / name).read_text().splitlines()}
            ids = [json.loads(line).get("id", "") for line in sorted(lines)]
            assert ids == sorted(ids)
            (tmp_path / "a" / name).write_text("".join(f"{line}\n" for line in sorted(lines)))
        with open_store(tmp_path / "new.db", create=True) as new:
            import_export(new, tmp_path / "a")
            assert len(new.judgments.list()) == len({each.judgment.uuid for each in new.judgments.list()}) == 14
            assert len(new.targets.list()) == 4
            for store in (a, b):
                mine = [each.judgment.uuid for each in store.judgments.list()][-2:]
                found = [each.judgment.uuid for each in new.judgments.list()]
                assert found.index(mine[0]) < found.index(mine[1])


def test_an_export_is_taken_in_again(full, tmp_path):
    export_store(full, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert all(each["file"].endswith(".trec.gz") for each in manifest["runs"])
    with open_store(tmp_path / "new.db", create=True) as new:
        import_export(new, tmp_path / "out")
        for ours, theirs in zip(new.runs.list(), full.runs.list(), strict=True):
            assert new.runs.ranking(ours) == full.runs.ranking(theirs)
            assert new.runs.latencies_ms(ours) == full.runs.latencies_ms(theirs)
        assert new.texts.docs("small", ["d3"]) == full.texts.docs("small", ["d3"])
        assert new.qrels.judgments(new.qrels.find("small")) == full.qrels.judgments(full.qrels.find("small"))


def test_runs_that_no_plain_file_gives_back_are_exported_all_the_same(tmp_path):
    import rankscope as rs

    odd = rs.Run({"q 1\ud800": {"a b": 1.0, "\0": 0.5}})
    with open_store(tmp_path / "a.db", create=True) as store, open_store(tmp_path / "b.db", create=True) as new:
        run = store.runs.add(odd, run_facts())
        export_store(store, tmp_path / "out")
        import_export(new, tmp_path / "out")
        assert new.runs.ranking(new.runs.find(run.digest)) == odd


def test_a_file_of_an_export_that_was_changed_is_refused(full, tmp_path):
    import gzip

    export_store(full, tmp_path / "out")
    path = next((tmp_path / "out" / "runs").glob("*.trec.gz"))
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b" d3 ", b" d99 ")))
    with (
        open_store(tmp_path / "new.db", create=True) as new,
        pytest.raises(InputError, match="its hash is another one"),
    ):
        import_export(new, tmp_path / "out")


def test_results_from_before_there_was_a_store_are_taken_in(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    project = small_project(tmp_path)
    project.write(systems("one", "other"))
    assert project.run("--no-store").returncode == 0
    store = str(tmp_path / "kept.db")
    arguments = ["store", "import", str(project.folder / "results"), "--store", store]
    assert main(arguments) == 0
    assert "2 new runs" in capsys.readouterr().out
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["known"] == 2
    with open_store(store) as opened:
        one = opened.runs.find("one")
        assert opened.texts.queries(one.queries_sha256)["q7"].text == "text 7"
        assert len(opened.qrels.list()) == 1
        assert one.details.latency_ms["n"] > 0
        assert one.details.costs["queries_per_second"] > 0
    assert main(["store", "check", "--store", store]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek"], "did you mean check"),
        (["backup"], "no file is given"),
        (["info", "x"], "takes no path"),
        (["info", "--all"], "--all does nothing with info"),
        (["copy"], "where to copy to is not given"),
        (["import", "."], "has no manifest.json"),
        (["restore", "nothing.db"], "there is no backup nothing.db"),
    ],
)
def test_wrong_arguments(file, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(file.parents[1])
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    assert main(["store", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["{}", "[]", '{"rankscope_store": 1}', '{"collections": {"a": 1}, "started": 1}', "{"]
)
def test_a_manifest_that_is_none(tmp_path, capsys, content):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "manifest.json").write_text(content)
    assert main(["store", "import", str(tmp_path / "in"), "--store", str(tmp_path / "s.db")]) == 2
    assert "manifest" in capsys.readouterr().err


def test_the_command_ends_with_a_finding(file, capsys):
    assert main(["store", "check", "--store", str(file), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    with open_store(file) as store, store.writing() as connection:
        connection.execute(sa.delete(blob_chunk))
    assert main(["store", "check", "--store", str(file)]) == 1
    assert "chunks are there (used by run" in capsys.readouterr().out


def test_info(file, capsys):
    assert main(["store", "info", "--store", str(file)]) == 0
    said = capsys.readouterr().out
    assert "3 runs, 1 qrels, 1 comparison, 12 single judgments" in said
    assert "baseline (run 1)" in said


def test_a_backup_of_the_first_version_is_restored(tmp_path, file):
    old = tmp_path / "old.db"
    make_first_tables(str(old))
    before = old.read_bytes()
    assert restore(old, location_of(file)) is not None
    assert old.read_bytes() == before
    assert not list(file.parent.glob("restore-*"))
    with open_store(file) as store:
        assert list(store.judgments.guidelines().values()) == ["old"]
        assert store.users.list() == ()


def test_a_tag_that_differs_is_said(file, tmp_path, capsys):
    folder, other = str(tmp_path / "out"), str(tmp_path / "other.db")
    assert main(["store", "export", folder, "--store", str(file)]) == 0
    assert main(["store", "import", folder, "--store", other]) == 0
    assert "tag baseline" not in capsys.readouterr().out
    with open_store(other) as store:
        first, second, *_ = store.runs.list()
        on, off = (first, second) if store.tags.current()["baseline"] == first.number else (second, first)
        store.tags.move("baseline", off)
    assert main(["store", "import", folder, "--store", other]) == 0
    said = capsys.readouterr().out
    assert f"tag baseline stays on {off.in_words}; in {folder} it is on {on.in_words}" in said
