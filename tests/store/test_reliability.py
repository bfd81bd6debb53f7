"""Kills, full disks, locks and damaged files: nothing acknowledged is lost, nothing is half there, errors say what to do."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).parent))
from small_store import fill, make_first_tables, ranked, run_facts

import rankscope as rs
from rankscope.align.policies import Policies
from rankscope.cli.exit_codes import UNFINISHED, WRONG_INPUT, code_of_error
from rankscope.cli.main import main
from rankscope.errors import InputError, OptionError, RankscopeError, UnfinishedError
from rankscope.measures.parse import parse_measures
from rankscope.store import engine as engine_module
from rankscope.store import open_store
from rankscope.store.check import check_store
from rankscope.store.schema import meta

KILLING = Path(__file__).parent / "killing.py"
SEED = 20261116


def forked(*arguments) -> dict:
    done = subprocess.run(
        [sys.executable, KILLING, *map(str, arguments)],
        capture_output=True, text=True, timeout=900, check=False, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture
def empty_address(request, tmp_path):
    """Return a function that gives places where there is no store yet."""

    def give(kind: str) -> str:
        if kind == "sqlite":
            return str(tmp_path / "new" / "store.db")
        return request.getfixturevalue("postgres_server").new_database()

    return give


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_writers_are_killed(store_address, tmp_path):
    done = forked("write", store_address, tmp_path, SEED)
    assert done["failures"] == []
    assert done["kills"] >= 10
    with open_store(store_address) as store:
        found = check_store(store)
        assert found.findings == ()
        runs = {run.digest: run for run in store.runs.list()}
        kept = {*runs, *(each.judgment.uuid for each in store.judgments.list()), *store.tags.current()}
        noted = [name for names in done["noted"] for name in names]
        assert len(noted) == 200
        assert set(noted) <= kept
        assert len(runs) == 4 * 30
        for writer in range(4):
            one = store.runs.find(done["noted"][writer][0])
            assert store.runs.ranking(one) == ranked(writer * 1000, depth=50)


@pytest.mark.slow
def test_no_acknowledged_judgment_is_lost_when_threads_that_add_them_are_killed(store_address, tmp_path):
    done = forked("judge", store_address, tmp_path, SEED)
    assert done["failures"] == []
    assert done["kills"] >= 5
    with open_store(store_address) as store:
        kept = [each.judgment.uuid for each in store.judgments.list()]
        assert check_store(store).findings == ()
    assert len(kept) == len(set(kept)) == 400
    assert {name for names in done["noted"] for name in names} == set(kept)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_that_was_killed_while_it_was_made_can_be_made(empty_address, kind):
    address = empty_address(kind)
    assert forked("create", address, SEED)["kills"] >= 1
    with open_store(address, create=True) as store:
        fill(store, n_runs=2)
        assert check_store(store).findings == ()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_is_made_once_by_processes_that_start_together(empty_address, kind):
    address = empty_address(kind)
    assert forked("together", address)["codes"] == [0, 0, 0, 0]
    with open_store(address) as store:
        assert len(store.runs.list()) == 1
        with store.reading() as connection:
            assert connection.execute(sa.select(meta.c.value).where(meta.c.key == "store_id")).scalars().all()
        assert check_store(store).findings == ()


def test_a_lock_that_stays_is_an_error_and_readers_do_not_wait(store_address):
    with open_store(store_address) as holder, open_store(store_address, timeout_s=0.2) as other:
        kept = holder.runs.add(ranked(0), run_facts())
        with holder.writing() as connection:
            connection.execute(sa.select(meta)).all()
            assert other.runs.list() == (kept,)
            with pytest.raises(UnfinishedError, match="is locked by another program, which was waited for") as caught:
                other.runs.add(ranked(1), run_facts("late"))
            assert code_of_error(caught.value) == UNFINISHED
        assert other.runs.add(ranked(1), run_facts("late")).number == 2
        assert check_store(other).findings == ()


def test_a_newer_store_is_refused(store_address):
    with open_store(store_address) as store:
        kept = store.runs.add(ranked(0), run_facts())
        with store.writing() as connection:
            connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
            connection.execute(sa.update(meta).where(meta.c.key == "migrated_by").values(value="77.1"))
    for read_only in (True, False):
        with pytest.raises(InputError, match=r"was written by Rankscope 77\.1 \(tables 9999\)") as caught:
            open_store(store_address, read_only=read_only)
        assert "install Rankscope 77.1 or newer" in caught.value.hint
        assert code_of_error(caught.value) == WRONG_INPUT
    location = engine_module.location_of(store_address)
    plain = engine_module.connect(location, read_only=False)
    with plain.connect() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{engine_module.SCHEMA_VERSION}'"))
        connection.commit()
    plain.dispose()
    with open_store(store_address) as store:
        assert store.runs.list() == (kept,)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_of_the_first_version_is_brought_up_to_date(empty_address, kind):
    address = empty_address(kind)
    make_first_tables(address)
    with pytest.raises(InputError, match="has the tables of an older version, and may only be read"):
        open_store(address, read_only=True)
    with open_store(address) as store:
        assert list(store.judgments.guidelines().values()) == ["old"]
        assert store.jobs.add("/rankscope.toml", {}, who="ada").number == 1
        assert store.users.list() == ()
        with store.reading() as connection:
            facts = dict(connection.execute(sa.select(meta)).all())
        assert (facts["schema"], facts["store_id"]) == (engine_module.SCHEMA_VERSION, "a" * 32)
        assert check_store(store).findings == ()
    if kind == "sqlite":
        kept = Path(address).with_name(f"store.db.before-{engine_module.SCHEMA_VERSION}")
        with sqlite3.connect(kept) as copy:
            assert copy.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
            assert copy.execute("SELECT text FROM guideline").fetchone() == ("old",)


def test_the_database_of_another_program_is_refused(empty_address):
    address = empty_address("postgresql")
    plain = engine_module.connect(engine_module.location_of(address), read_only=False)
    with plain.connect() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES ('ae1027a6acf')"))
        connection.commit()
    plain.dispose()
    with pytest.raises(InputError, match="holds the tables of another program"):
        open_store(address, create=True)


@pytest.fixture
def full(tmp_path):
    path = tmp_path / "store.db"
    with open_store(path, create=True) as store:
        fill(store)
    return path


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.3, 0.6, 0.99, 0.9999])
def test_a_truncated_file_is_never_taken_for_a_store(full, share, capsys):
    content = full.read_bytes()
    full.write_bytes(content[: max(1, int(len(content) * share))])
    before = full.read_bytes()
    assert main(["store", "check", "--store", str(full)]) == WRONG_INPUT
    assert "error: " in capsys.readouterr().err
    with pytest.raises(RankscopeError):
        open_store(full)
    assert full.read_bytes() == before


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "notes.txt").write_text("my notes, longer than nothing")
    with pytest.raises(InputError, match="is not a store"):
        open_store(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text().startswith("my notes")


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_lost_all_of_its_bytes_is_no_new_store(full, create):
    full.write_bytes(b"")
    with pytest.raises(InputError, match=r"is empty: it has lost all that was in it") as caught:
        open_store(full, create=create)
    assert "store restore BACKUP" in caught.value.hint
    assert "remove the file" in caught.value.hint
    assert full.read_bytes() == b""


def test_what_a_kill_left_of_a_new_store_is_passed_over(tmp_path):
    (tmp_path / "store.db.new.half").write_bytes(b"half")
    (tmp_path / "store.db-wal").write_bytes(b"of a file that was removed")
    with open_store(tmp_path / "store.db", create=True) as store:
        assert store.runs.list() == ()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_database_with_other_tables_is_left_alone(empty_address, kind, capsys):
    address = empty_address(kind)
    location = engine_module.location_of(address)
    if location.path is not None:
        location.path.parent.mkdir()
        location.path.touch()
    plain = engine_module.connect(location, read_only=False)
    with plain.connect() as connection:
        connection.execute(sa.text("CREATE TABLE bookmarks (id INTEGER)"))
        connection.execute(sa.text("CREATE TABLE run (id INTEGER)"))
        connection.commit()
    for given in ({"create": True}, {}, {"read_only": True}):
        with pytest.raises(InputError, match=r"is not a store of Rankscope: .* \(bookmarks\)"):
            open_store(address, **given)
    assert main(["store", "check", "--store", address]) == WRONG_INPUT
    assert "no tables yet" not in capsys.readouterr().err
    with plain.connect() as connection:
        assert sorted(sa.inspect(connection).get_table_names()) == ["bookmarks", "run"]
    plain.dispose()


@pytest.mark.parametrize("table", ["alembic_version", "tag", "run", "alert"])
def test_a_lost_table_is_damage_and_no_hint_leads_in_a_circle(full, capsys, table):
    with sqlite3.connect(full) as plain:
        plain.execute("PRAGMA foreign_keys=OFF")
        plain.execute(f"DROP TABLE {table}")
    assert main(["store", "check", "--store", str(full)]) in (1, WRONG_INPUT)
    printed = capsys.readouterr()
    assert "rankscope store check" not in printed.err + printed.out
    assert "rankscope store restore BACKUP" in printed.err + printed.out
    if table in ("tag", "run"):
        assert f"table {table}: it is missing" in printed.out
        assert main(["history", "--store", str(full)]) == WRONG_INPUT
        assert f"is damaged: no such table: {table}" in capsys.readouterr().err


@pytest.fixture
def read_only_folder(tmp_path):
    """Return a folder on a file system of its own, and what makes that read-only."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield folder, lambda: subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_file_system_can_be_looked_at(read_only_folder, capsys):
    """Under a measure and judgments that the store has no scores of."""
    folder, make_read_only = read_only_folder
    path, labels = folder / "store.db", folder / "new.qrels"
    with open_store(path, create=True) as store:
        fill(store)
    labels.write_text("q1 0 d2 1\nq2 0 d2 1\n")
    make_read_only()
    for words in (
        ["history"], ["history", "-m", "AP"], ["history", "diff", "1", "2"], ["history", "show", "1"],
        ["history", "tag"], ["rescore", "-m", "RR@5"], ["leaderboard"], ["store", "check"], ["judge", "list"],
        ["rescore", "--qrels", str(labels), "-m", "RR@5"],
    ):  # fmt: skip
        assert main([*words, "--store", str(path)]) == 0, (words, capsys.readouterr().err)
    capsys.readouterr()
    for words in (["history", "tag", "best", "1"], ["store", "gc"]):
        assert main([*words, "--store", str(path)]) == UNFINISHED
        assert "file system is read-only" in capsys.readouterr().err


def test_scores_of_a_read_only_store_are_those_of_any_other(full):
    with open_store(full) as store:
        runs, qrels = store.runs.list(), store.qrels.find("small")
        kept = {name: store.scores.of(runs[0], qrels, parse_measures(name)) for name in ("nDCG@10", "AP")}
        store.scores.drop()
    labels = rs.Qrels({"q1": {"d2": 1}})
    with open_store(full, read_only=True) as store:
        for name, known in kept.items():
            found = store.scores.of(runs[0], qrels, parse_measures(name))[name]
            assert found.summary == known[name].summary
            assert found.query_ids == known[name].query_ids
            assert found.vector.values.tolist() == known[name].vector.values.tolist()
        held = store.qrels.add(labels, name="small")
        assert store.qrels.find("small") == held
        assert store.qrels.judgments(held) == labels
        assert store.scores.means(runs, held, parse_measures("AP")[0]).keys() == {run.number for run in runs}
    with open_store(full) as store:
        assert store.qrels.list() == (qrels,)
        assert store.scores.lacking(runs, qrels, parse_measures("AP"), Policies())


def test_a_folder_on_a_read_only_file_system_gets_no_store(read_only_folder, capsys):
    folder, make_read_only = read_only_folder
    make_read_only()
    with pytest.raises(UnfinishedError, match="its file system is read-only"):
        open_store(folder / "new" / "store.db", create=True)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 255
    path.write_bytes(content)


def test_a_flipped_byte_anywhere_in_the_file_is_no_crash(full, capsys):
    """Found as a finding (1) or an error (2, 3); only in room that nothing uses may it go unnoticed (0)."""
    whole = full.read_bytes()
    noticed = 0
    used = [at for at, byte in enumerate(whole) if byte and at >= 120]  # most of a small file is room for more
    for at in used[:: len(used) // 12]:
        full.write_bytes(whole)
        for ending in ("-wal", "-shm"):
            full.with_name(full.name + ending).unlink(missing_ok=True)
        flip(full, at)
        code = main(["store", "check", "--store", str(full)])
        said = capsys.readouterr()
        assert code in (0, 1, 2, 3), (at, said.err)
        noticed += code != 0
    assert noticed >= 1


def test_a_full_disk_leaves_the_store_as_it_was(full):
    """SQLite says of a limit on pages what it says of a full disk."""
    with open_store(full) as store:
        before = store.runs.list()
        store.engine.dispose()

        @sa.event.listens_for(store.engine, "connect")
        def limit(connection, _):
            connection.execute("PRAGMA max_page_count = 1")  # it takes the number of pages that there are

        with pytest.raises(UnfinishedError, match="cannot grow: the disk is full") as caught:
            store.runs.add(ranked(77, depth=3000), run_facts("large"))
        assert code_of_error(caught.value) == UNFINISHED
        assert store.runs.list() == before
    with open_store(full) as store:
        assert store.runs.list() == before
        assert check_store(store).findings == ()
        store.runs.add(ranked(77, depth=3000), run_facts("large"))


def test_a_command_on_a_full_disk_says_so(full, tmp_path):
    """A limit on the size of files stands for the end of the room."""
    limit = full.stat().st_size // 2
    before = full.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "rankscope", "store", "backup", tmp_path / "b.db", "--store", full],
        capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == UNFINISHED, done.stderr
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "b.db").exists()
    assert [path.name for path in tmp_path.iterdir() if "b.db" in path.name] == []
    assert full.read_bytes() == before


def test_a_folder_that_may_only_be_read():
    """As a user without rights: reading works, writing says why it does not."""
    folder = Path(tempfile.mkdtemp(prefix="rankscope-read-only-"))
    try:
        path = folder / "kept" / "store.db"
        with open_store(path, create=True) as store:
            kept = store.runs.add(ranked(0), run_facts())
        path.chmod(0o444)
        path.parent.chmod(0o555)
        folder.chmod(0o755)
        before = path.read_bytes()
        done = forked("unprivileged", path)
        assert done["read"] == [kept.digest]
        assert done["queries"]
        assert "cannot be written" in done["said"]
        assert done["code"] == WRONG_INPUT
        assert path.read_bytes() == before
        assert [each.name for each in path.parent.iterdir()] == ["store.db"]
    finally:
        path.parent.chmod(0o755)
        shutil.rmtree(folder)


def test_a_log_that_cannot_be_read_is_not_passed_over(full, monkeypatch):
    """Where nobody may write beside a store, its log must be read all the same: it may hold the newest rows."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert not engine_module.needs_shared_files(full)
    full.with_name("store.db-wal").write_bytes(b"x" * 64)
    assert engine_module.needs_shared_files(full)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "lustre"])
def test_a_network_file_system_is_refused(tmp_path, monkeypatch, capsys, kind):
    monkeypatch.setattr(engine_module, "file_system_of", lambda _: kind)
    with pytest.raises(OptionError, match=f"is on a network file system \\({kind}\\)"):
        open_store(tmp_path / "store.db", create=True)
    assert main(["store", "info", "--store", str(tmp_path / "store.db")]) == WRONG_INPUT
    assert not (tmp_path / "store.db").exists()
    capsys.readouterr()


def test_mounts_are_found_by_where_a_link_leads(tmp_path, monkeypatch):
    real = tmp_path / "real place"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    mounts = f"/dev/a / ext4 rw 0 0\nserver:/x {str(real).replace(' ', chr(92) + '040')} nfs4 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    assert engine_module.file_system_of(tmp_path / "link" / "store.db") == "nfs4"
    assert engine_module.file_system_of(tmp_path / "store.db") == "ext4"


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("postgresql://me:hidden@127.0.0.1:1/x", UNFINISHED, "does not answer as it should"),
        ("postgresql://me@127.0.0.1:1/x?password=hidden", UNFINISHED, "does not answer as it should"),
        ("postgresql:///x?host=127.0.0.1&port=1&sslpassword=hidden", UNFINISHED, "does not answer as it should"),
        ("mysql://me:hidden@h/x", WRONG_INPUT, "mysql is no database that a store can be in"),
        ("postgresql://me:hidden@h:port/x", WRONG_INPUT, "the address of the store cannot be read"),
    ],
)
def test_an_address_that_leads_nowhere(capsys, address, code, said):
    assert main(["store", "info", "--store", address]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert "hidden" not in printed.err + printed.out


def test_a_database_that_does_not_exist(postgres_server, capsys):
    assert main(["store", "info", "--store", postgres_server.address_of("nothing_there")]) == WRONG_INPUT
    assert "does not exist" in capsys.readouterr().err


def test_the_log_is_used_and_every_write_is_synced(full):
    """What a loss of power leaves depends on both."""
    with open_store(full) as store, store.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
    assert sqlite3.connect(full).execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("what", ["removed", "replaced"])
def test_nothing_is_said_to_be_kept_in_a_file_that_is_no_longer_there(tmp_path, what):
    path = tmp_path / "store.db"
    with open_store(path, create=True) as store:
        store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="first")
        for file in tmp_path.glob("store.db*"):
            file.unlink()
        if what == "replaced":
            open_store(path, create=True).close()
        for work in (lambda: store.qrels.add(rs.Qrels({"q1": {"d2": 1}}), name="second"), store.qrels.list):
            with pytest.raises(UnfinishedError, match="removed or replaced"):
                work()


def test_a_store_that_a_newer_program_has_changed_meanwhile_is_not_written(tmp_path):
    with open_store(tmp_path / "store.db", create=True) as store:
        with sqlite3.connect(tmp_path / "store.db") as other:
            other.execute("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(InputError, match="tables 9999"):
            store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="first")


def test_making_a_store_prints_nothing_where_a_package_has_turned_on_the_log(tmp_path):
    code = (
        "import logging; logging.basicConfig(level='INFO'); import rankscope as rs; rs.open_store('s.db', create=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
