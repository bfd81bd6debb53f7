"""Tasks, raters and preferences in the store; and that all of it survives copies, exports and older tables."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import pytest
import sqlalchemy as sa

from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.data.tasks import Preference, TaskItem, TaskPlan
from rankscope.errors import InputError, OptionError, UnknownNameError
from rankscope.records import replace, to_builtins
from rankscope.store import open_store
from rankscope.store.check import check_store
from rankscope.store.exchange import export_store, import_export
from rankscope.store.judgments import judgment_row
from rankscope.store.schema import judgment, metadata
from rankscope.store.upkeep import back_up, copy_all

sys.path.insert(0, str(Path(__file__).parent))
from small_store import fill, make_first_tables, ranked, run_facts

ODD = "<b>\udc80\0\\"


def item(query="q1", doc="d1", **more) -> TaskItem:
    return TaskItem(number=0, query=query, doc=doc, **{"place": 0, **more})


def add_task(store, name="hearts", **more):
    rules = store.judgments.add_guideline("## Scale\n- 0 No\n- 1 Yes\n")
    items = more.pop("items", [item(), item(ODD, ODD, gold=1.0, purpose="audit", ranks={ODD: 3})])
    return store.tasks.add(name, collection="small", plan=TaskPlan(**more), guideline=rules, items=items, who="ada")


def liked(task, rater, value: int | None = 1, **more) -> Preference:
    named = {"query": "q1", "left": "bm25", "right": "dense", **more}
    return Preference(uuid=str(uuid.uuid4()), task=str(task.number), rater=rater.id, value=value, **named)


def fill_judging(store) -> None:
    """Keep a task with runs and labels, two raters, judgments and preferences."""
    fill(store)
    task = add_task(store, systems=("bm25", "dense"), runs=(1, 3), qrels=1)
    ada, _ = store.raters.invite(task, name="Ada")
    bo, _ = store.raters.invite(task)
    store.raters.revoke(bo.number)
    store.tasks.stop(add_task(store, "lists", mode="lists", items=[item(doc="")]))
    said = SingleJudgment(
        query=ODD, doc=ODD, source=JudgmentSource("person", id=ada.id), grade=1.0, collection="small",
        task=str(task.number), uuid=str(uuid.uuid4()),
    )  # fmt: skip
    store.saves.keep_judgment(said, rater=ada, replaces=None)
    store.preferences.add([liked(task, ada), liked(task, ada, None, status="cannot_tell", query=ODD)])
    store.preferences.add(liked(task, ada, -2))


def judging_of(store) -> dict:
    """Return all that a store says of judging; numbers of items are its own."""
    tasks = store.tasks.list()
    return {
        "tasks": tasks,
        "items": [[replace(each, number=0) for each in store.tasks.items(task)] for task in tasks],
        "raters": [store.raters.list(task) for task in tasks],
        "judgments": store.judgments.list(),
        "preferences": store.preferences.list(),
        "current": store.preferences.current(),
    }


def test_a_task_is_found_by_name_and_number(store):
    task = add_task(store)
    assert store.tasks.get("hearts") == store.tasks.get(task.number) == store.tasks.get(str(task.number)) == task
    assert (task.state, task.who, task.collection) == ("open", "ada", "small")
    with pytest.raises(UnknownNameError, match="there is no task 'heart'") as raised:
        store.tasks.get("heart")
    assert "hearts" in raised.value.hint
    with pytest.raises(OptionError, match="already"):
        add_task(store)
    for bad in ("", " x", "a\nb", "7", "n" * 101):
        with pytest.raises(OptionError, match="cannot be the name of a task"):
            add_task(store, bad)
    assert len(store.tasks.list()) == 1


def test_items_are_kept_once_as_they_are(store):
    task = add_task(store)
    found = store.tasks.items(task)
    assert [replace(each, number=0) for each in found] == [
        item(), item(ODD, ODD, gold=1.0, purpose="audit", ranks={ODD: 3}),
    ]  # fmt: skip
    assert store.tasks.find_item(task, ODD, ODD) == found[1]
    assert store.tasks.items(task, query=ODD) == found[1:]
    assert store.tasks.find_item(task, "q1", ODD) is None
    assert store.tasks.extend(task, [item(place=9), item(doc="d2"), item(doc="d2")]) == 1
    assert store.tasks.items(task)[0].place == 0
    store.tasks.set_places(task, {found[1].number: 5})
    assert [each.place for each in store.tasks.items(task)] == [0, 5, 0]
    with pytest.raises(InputError, match="for no query"):
        store.tasks.extend(task, [item("")])


def test_tokens_are_kept_as_hashes_only(store):
    task = add_task(store)
    rater, token = store.raters.invite(task, name="Ada")
    assert store.raters.by_token(token) == rater
    assert store.raters.with_task(token) == (rater, task)
    with store.reading() as connection:
        for table in metadata.sorted_tables:
            rows = [tuple(row) for row in connection.execute(sa.select(table))]
            assert token not in repr(rows)
    renewed, other = store.raters.renew(rater.number)
    assert store.raters.by_token(token) is None
    assert store.raters.by_token(other) == renewed


def test_raters_are_revoked_and_forgotten(store):
    task = add_task(store)
    rater, token = store.raters.invite(task, name="Ada Lovelace")
    assert store.raters.revoke(rater.number).revoked is not None
    assert store.raters.by_token(token).revoked is not None
    assert store.raters.renew(rater.number)[0].revoked is None
    forgotten = store.raters.forget(rater.number)
    assert (forgotten.name, forgotten.id) == (f"rater {rater.number}", rater.id)
    assert store.raters.by_token(token) is None
    with store.reading() as connection:
        assert "Lovelace" not in repr(connection.execute(sa.select(metadata.tables["rater"])).all())
    with pytest.raises(UnknownNameError, match="there is no rater 99"):
        store.raters.revoke(99)


def test_seeds_of_raters_differ_and_follow_from_the_task(tmp_path):
    seeds = []
    for name in ("a.db", "b.db"):
        with open_store(tmp_path / name, create=True) as store:
            task = add_task(store, seed=3)
            seeds.append([store.raters.invite(task)[0].seed for _ in range(3)])
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 3


def test_a_rater_is_seen_once_a_minute(store_address):
    times = iter(
        f"2026-01-01T00:{minute:02}:{second:02}.000000+00:00"
        for minute, second in ((0, 0), (0, 0), (0, 0), (1, 0), (1, 30), (3, 0))
    )
    with open_store(store_address, clock=lambda: next(times)) as store:
        rater, _ = store.raters.invite(add_task(store))
        first = store.raters.seen(rater)
        assert store.raters.seen(first) == first
        assert store.raters.seen(first).seen == "2026-01-01T00:03:00.000000+00:00"
        assert store.raters.get(rater.number).seen == "2026-01-01T00:03:00.000000+00:00"


def test_preferences_hold_as_judgments_do(store):
    task = add_task(store)
    rater, _ = store.raters.invite(task)
    first = liked(task, rater, 1)
    (stored,) = store.preferences.add(first)
    assert store.preferences.add(first) == (stored,)
    store.preferences.add(liked(task, rater, 2, left="dense", right="bm25"))  # the same lists, with sides swapped
    assert [each.preference.value for each in store.preferences.current(task=str(task.number))] == [2]
    store.preferences.add(liked(task, rater, None, status="withdrawn"))
    assert store.preferences.current() == ()
    assert len(store.preferences.list(query="q1")) == 3
    with pytest.raises(InputError, match="stands for another preference"):
        store.preferences.add(replace(first, value=0))
    for bad in ({"value": 3}, {"value": None}, {"right": "bm25"}, {"uuid": "x"}, {"at": "now"}, {"query": ""}):
        with pytest.raises(InputError, match="cannot be kept"):
            store.preferences.add(replace(first, **bad))


def test_all_of_it_is_fine_and_damage_is_named(store):
    fill_judging(store)
    assert check_store(store).findings == ()
    damages = {
        "task": ({"state": "asleep"}, "row 1 of task: cannot be read"),
        "task_item": ({"doc": "other"}, "row 1 of task_item: is not what its hash says"),
        "preference": ({"query": "other"}, "row 1 of preference: says one thing"),
        "judgment": ({"state_sha256": "0" * 64}, "row 1 of judgment: says one thing"),
    }
    for name, (values, _) in damages.items():
        with store.writing() as connection:
            table = metadata.tables[name]
            connection.execute(sa.update(table).where(table.c.id == 1).values(**values))
    found = [f"{each.what}: {each.problem}" for each in check_store(store).findings]
    for _, said in damages.values():
        assert any(each.startswith(said) for each in found)


def test_an_export_gives_back_tasks_raters_and_preferences(store, tmp_path):
    fill_judging(store)
    done = export_store(store, tmp_path / "out")
    assert (done.tasks, done.preferences) == (2, 3)
    with open_store(tmp_path / "new.db", create=True) as new:
        assert import_export(new, tmp_path / "out") == done
        assert judging_of(new) == judging_of(store)
        assert set(to_builtins(import_export(new, tmp_path / "out")).values()) == {0}
        assert new.raters.invite(new.tasks.list()[0])[0].number == 3
        assert add_task(new, "third").number == 3
        assert check_store(new).findings == ()
        export_store(new, tmp_path / "again")
    text = (tmp_path / "out" / "tasks.jsonl").read_text()
    assert "token" not in text
    assert (tmp_path / "again" / "preferences.jsonl").read_text().count("\n") == 3


def test_runs_and_labels_of_a_task_have_other_numbers_elsewhere(tmp_path):
    with open_store(tmp_path / "a.db", create=True) as store, open_store(tmp_path / "b.db", create=True) as new:
        fill_judging(store)
        export_store(store, tmp_path / "out")
        new.runs.add(ranked(77), run_facts("other", 7))
        import_export(new, tmp_path / "out")
        numbers = {run.digest: run.number for run in new.runs.list()}
        digests = {run.number: run.digest for run in store.runs.list()}
        assert new.tasks.get("hearts").plan.runs == (numbers[digests[1]], numbers[digests[3]]) == (2, 4)


def test_an_export_says_who_was_invited(tmp_path):
    with open_store(tmp_path / "first.db", create=True) as first:
        task = add_task(first)
        first.raters.invite(task, name="Ada")
        first.raters.add(task, name="Bo")
        assert [each.is_asked for each in first.raters.list(task)] == [True, False]
        export_store(first, tmp_path / "kept")
    with open_store(tmp_path / "second.db", create=True) as second:
        import_export(second, tmp_path / "kept")
        task = second.tasks.get("1")
        assert [(each.name, each.is_asked) for each in second.raters.list(task)] == [("Ada", True), ("Bo", False)]
        bo, _ = second.raters.invite(task, name="bo")
        assert (bo.number, bo.name, bo.is_asked) == (2, "Bo", True)


def test_a_store_with_another_task_of_that_number_stays_as_it_is(tmp_path):
    with open_store(tmp_path / "a.db", create=True) as store, open_store(tmp_path / "b.db", create=True) as new:
        fill_judging(store)
        export_store(store, tmp_path / "out")
        add_task(new, "elsewhere")
        with pytest.raises(InputError, match="the task hearts has the number 1, and the store has another task"):
            import_export(new, tmp_path / "out")
        assert (new.judgments.list(), new.runs.list(), len(new.tasks.list())) == ((), (), 1)


def test_an_export_of_an_earlier_version_has_no_tasks(tmp_path):
    with open_store(tmp_path / "a.db", create=True) as store, open_store(tmp_path / "b.db", create=True) as new:
        fill(store)
        export_store(store, tmp_path / "out")
        for name in ("tasks.jsonl", "preferences.jsonl"):
            (tmp_path / "out" / name).unlink()
        assert import_export(new, tmp_path / "out").runs == 3


def test_a_store_with_tasks_is_copied_and_backed_up(store, tmp_path):
    fill_judging(store)
    back_up(store, tmp_path / "backup.db")
    with open_store(tmp_path / "backup.db") as kept, open_store(tmp_path / "copy.db", create=True) as copy:
        assert judging_of(kept) == judging_of(store)
        copy_all(kept, copy)
        assert judging_of(copy) == judging_of(store)
        assert copy.raters.invite(copy.tasks.get("hearts"))[0].number == 3


def test_judgments_of_older_tables_say_what_they_are_about(tmp_path, postgres_server):
    """The migration notes it as a new row does, whatever bytes ids have, and for choices without the doc."""
    for address in (str(tmp_path / "store.db"), postgres_server.new_store()):
        if address.startswith("postgres"):
            empty(address)
        make_first_tables(address)
        said = [
            SingleJudgment(
                query=ODD, doc=ODD, source=JudgmentSource("person", id=ODD), grade=1.0, collection="c", task=ODD,
                uuid=str(uuid.uuid4()),
            ),
            SingleJudgment(
                query="q", doc="d", source=JudgmentSource("person", id="ada"), choice=True, uuid=str(uuid.uuid4()),
            ),
        ]  # fmt: skip
        add_old_rows(address, [judgment_row(each, "2026-01-01T00:00:00.000000+00:00") for each in said])
        with open_store(address) as store:
            with store.reading() as connection:
                states = connection.execute(sa.select(judgment.c.state_sha256).order_by(judgment.c.id)).scalars().all()
            assert states == [judgment_row(each, "")["state_sha256"] for each in said]
            assert check_store(store).findings == ()
        if address.startswith("postgres"):
            postgres_server.drop(address)


def empty(address: str) -> None:
    """Take the tables of today away."""
    from rankscope.store.engine import connect, location_of

    engine = connect(location_of(address), read_only=False)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    engine.dispose()


def add_old_rows(address: str, rows: list[dict]) -> None:
    from rankscope.store.engine import connect, location_of

    engine = connect(location_of(address), read_only=False)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        for row in rows:
            old = {name: value for name, value in row.items() if name != "state_sha256"}
            connection.execute(sa.insert(judgment).inline().values(**old))
    engine.dispose()


def test_lines_of_tasks_are_json(store, tmp_path):
    fill_judging(store)
    export_store(store, tmp_path / "out")
    (first, second) = map(json.loads, (tmp_path / "out" / "tasks.jsonl").read_text().splitlines())
    assert (first["name"], second["state"]) == ("hearts", "stopped")
    assert [rater["name"] for rater in first["raters"]] == ["Ada", ""]
