"""Judgments from files and to files: what goes in comes out, the same file twice adds nothing, the rest is counted."""

from __future__ import annotations

import csv
import json
import operator
import uuid

import pytest
import sqlalchemy as sa

import rankscope as rs
from rankscope.data.judgments import (
    JudgmentSource,
    SingleJudgment,
    judgment_record,
    read_judgments,
    with_uuid,
    write_judgments,
)
from rankscope.data.tasks import TaskItem, TaskPlan, again_name
from rankscope.errors import DuplicateError, FormatError, InputError, OptionError, RankscopeError
from rankscope.judging.agreement import agreement_of
from rankscope.judging.exporting import export_judgments
from rankscope.judging.importing import import_judgments, judge_qrels_in
from rankscope.judging.judgment_files import format_of
from rankscope.judging.opinions import opinions_of
from rankscope.judging.settling import settling_of
from rankscope.judging.tasks import create_task
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunFacts, StoredQuery, open_store
from rankscope.store.schema import rater as rater_table
from small_task import small_task as five_raters

GUIDELINE = "Grade it.\n\n## Scale\n\n- 0 No\n- 1 Perhaps\n- 2 Yes\n"
TEXTS = {"q1": "heart at night", "q2": "knee, running"}
DOCS = ("d1", "d2", "=d3")


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "store.db", create=True) as opened:
        queries = {name: StoredQuery(text) for name, text in TEXTS.items()}
        facts = RunFacts(
            system="a", started="2026-01-01T00:00:00", collection=CollectionFacts(name="c", queries=queries)
        )
        opened.runs.add(rs.Run({query: {doc: 1.0 / (i + 1) for i, doc in enumerate(DOCS)} for query in TEXTS}), facts)
        yield opened


@pytest.fixture
def task(store):
    guideline = store.judgments.add_guideline(GUIDELINE)
    pairs = [(query, doc) for query in TEXTS for doc in DOCS]
    items = [TaskItem(number=0, query=query, doc=doc, place=i) for i, (query, doc) in enumerate(pairs)]
    return store.tasks.add("t", collection="c", plan=TaskPlan(overlap=2), guideline=guideline, items=items)


def grades_in(store, task=None):
    held = store.judgments.current("c", task=None if task is None else str(task.number))
    return {(each.judgment.query, each.judgment.doc): each.judgment.grade for each in held}


def test_trec_qrels_go_in_once(store, tmp_path):
    (tmp_path / "in.txt").write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\n")
    taken = import_judgments(store, tmp_path / "in.txt", collection="c", rater="ann")
    assert (taken.format, taken.n, taken.n_new, taken.n_grades) == ("qrels", 2, 2, 2)
    assert taken.notes == ("1 doc with a grade below 0, which is none, left out",)
    assert grades_in(store) == {("q1", "d1"): 2.0, ("q1", "d2"): 0.0}
    assert {each.judgment.source.id for each in store.judgments.list("c")} == {"ann"}
    assert import_judgments(store, tmp_path / "in.txt", collection="c", rater="ann").n_new == 0


def test_a_book_of_quepid_has_a_column_for_each_rater_and_texts_for_queries(store, task, tmp_path):
    path = tmp_path / "book.csv"
    path.write_text('query,docid,Ann,bo@example.org\nheart at night,d1,2,1\n"knee, running",d2,0,\nelbow,d1,1,1\n')
    taken = import_judgments(store, path, collection="c", task=task)
    assert (taken.format, taken.n, taken.n_grades) == ("quepid", 3, 3)
    assert taken.notes == ("2 judgments of 1 query left out that c does not have, or has twice: elbow",)
    assert [rater.name for rater in store.raters.list(task)] == ["Ann", "bo@example.org"]
    said = {(each.judgment.query, each.judgment.doc, each.judgment.source.id): each.judgment.grade
            for each in store.judgments.current("c", task=str(task.number))}  # fmt: skip
    first, second = (rater.id for rater in store.raters.list(task))
    assert said == {("q1", "d1", first): 2.0, ("q1", "d1", second): 1.0, ("q2", "d2", first): 0.0}


def test_a_case_of_quepid_has_one_rating(store, tmp_path):
    path = tmp_path / "case.csv"
    path.write_text("query,docid,rating\nheart at night,d1,3\n")
    assert import_judgments(store, path, collection="c", rater="team").n_grades == 1
    assert grades_in(store) == {("q1", "d1"): 3.0}


def test_flags_and_choices_of_the_doctor_finder(store, tmp_path):
    rows = [
        {"Variant": "parallel", "Rank": 1, "Practitioner ID": "d1", "Practitioner Name": "A", "Specialty": "x",
         "BM25 Score": 2, "Relevance Flagged": "No", "Flag Reason": "", "Booking Proxy": "Yes", "Precision@3": ""},
        {"Variant": "parallel", "Rank": 2, "Practitioner ID": "d2", "Practitioner Name": "B", "Specialty": "y",
         "BM25 Score": 1, "Relevance Flagged": "Yes", "Flag Reason": "too far", "Booking Proxy": "No",
         "Precision@3": ""},
    ]  # fmt: skip
    path = tmp_path / "export.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert format_of(path) == "export"
    with pytest.raises(InputError, match="no judgment that can be taken"):
        import_judgments(store, path, collection="c")  # the file does not say what was asked
    taken = import_judgments(store, path, collection="c", query="q1")
    assert (taken.n, taken.n_flags, taken.n_choices, taken.n_grades) == (2, 1, 1, 0)
    flagged = next(each.judgment for each in store.judgments.list("c") if each.judgment.flag)
    assert (flagged.query, flagged.doc, flagged.note, flagged.system) == ("q1", "d2", "too far", "parallel")


def test_kept_judgments_keep_their_uuids(store, tmp_path):
    said = with_uuid(
        SingleJudgment(query="q1", doc="d1", source=JudgmentSource("person", id="ann"), flag=True, note="n")
    )
    path = tmp_path / "opinions.jsonl"
    write_judgments([said], path)
    assert import_judgments(store, path, collection="c").n_flags == 1
    assert store.judgments.list("c")[0].judgment.uuid == said.uuid
    assert import_judgments(store, path, collection="c").n_new == 0


def test_a_table_goes_out_and_in_again(store, task, tmp_path):
    rater, _ = store.raters.invite(task, name="Ann, B.")
    person = JudgmentSource("person", id=rater.id)
    more = {"collection": "c", "task": str(task.number), "source": person}
    store.judgments.add([
        with_uuid(SingleJudgment(query="q1", doc="=d3", grade=1.0, flag=True, note='=1+1, "no"', **more)),
        with_uuid(SingleJudgment(query="q1", doc="d2", choice=True, **more)),
        with_uuid(SingleJudgment(query="q2", doc="d1", status="cannot_tell", note="query unclear", **more)),
    ])  # fmt: skip
    path = tmp_path / "out.csv"
    assert export_judgments(store, path, collection="c", task=task) == 3
    assert "'=1+1" in path.read_text()
    with open_store(tmp_path / "other.db", create=True) as other:
        taken = import_judgments(other, path, collection="c")
        assert (taken.format, taken.n, taken.n_grades, taken.n_flags, taken.n_choices) == ("table", 3, 1, 1, 1)
        found = {each.judgment.doc: each.judgment for each in other.judgments.list("c")}
    assert (found["=d3"].grade, found["=d3"].note, found["=d3"].source.id) == (1.0, '=1+1, "no"', "Ann, B.")
    assert found["d2"].choice
    assert (found["d1"].status, found["d1"].note) == ("cannot_tell", "query unclear")


def test_a_table_of_grades_by_several_raters_keeps_them_apart(store, task, tmp_path):
    path = tmp_path / "grades.csv"
    path.write_text("query,doc,grade,rater\nq1,d1,2,Ann\nq1,d1,0,Bo\nq2,d2,1,Ann\n")
    taken = import_judgments(store, path, collection="c", task=task)
    assert (taken.format, taken.n_grades) == ("table", 3)
    names = {rater.id: rater.name for rater in store.raters.list(task)}
    said = {(names[each.judgment.source.id], each.judgment.query): each.judgment.grade
            for each in store.judgments.current("c", task=str(task.number))}  # fmt: skip
    assert said == {("Ann", "q1"): 2.0, ("Bo", "q1"): 0.0, ("Ann", "q2"): 1.0}


@pytest.mark.parametrize("note", ["  both ends  ", "\ttab", "\u2028line", "two\nlines", " "])
def test_notes_go_out_and_come_back_to_the_last_blank(store, tmp_path, note):
    person = JudgmentSource("person", id="ann")
    said = SingleJudgment(query="q1", doc="d1", grade=1.0, flag=True, note=note, source=person, collection="c")
    store.judgments.add([with_uuid(said)])
    export_judgments(store, tmp_path / "out.csv", collection="c")
    with rs.open_store(tmp_path / "other.db", create=True) as other:
        import_judgments(other, tmp_path / "out.csv", collection="c")
        assert [each.judgment.note for each in other.judgments.list("c")] == [note]


def test_exports_name_raters_and_have_ids_beside_the_names(store, task, tmp_path):
    ann, bo = (store.raters.invite(task, name=name)[0] for name in ("Ann", "Bo"))
    more = {"collection": "c", "task": str(task.number), "query": "q1", "doc": "d1", "scale": (0.0, 1.0, 2.0)}
    store.judgments.add([
        with_uuid(SingleJudgment(grade=grade, source=JudgmentSource("person", id=rater.id), **more))
        for rater, grade in ((ann, 2.0), (bo, 1.0))
    ])  # fmt: skip
    empty = store.raters.invite(task, name="C")[0]
    with store.writing() as connection:  # a second Ann without judgments, as stores of before may have one
        connection.execute(sa.update(rater_table).where(rater_table.c.id == empty.number).values(name="Ann"))
    for form in ("csv", "quepid", "jsonl"):
        export_judgments(store, tmp_path / form, collection="c", task=task, format=form)
    rows = list(csv.DictReader((tmp_path / "csv").read_text().splitlines()))
    assert [(row["rater"], row["rater_id"]) for row in rows] == [("Ann", ann.id), ("Bo", bo.id)]
    assert (tmp_path / "quepid").read_text().splitlines()[0] == "query,docid,Ann,Bo"
    lines = [json.loads(line)["source"] for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert sorted(line["name"] for line in lines) == ["Ann", "Bo"]
    assert {line["id"] for line in lines} == {ann.id, bo.id}
    (tmp_path / "jsonl").rename(tmp_path / "back.jsonl")
    assert import_judgments(store, tmp_path / "back.jsonl", collection="c", task=task).n_new == 0
    assert import_judgments(store, tmp_path / "back.jsonl", collection="c").n_new == 0


def test_names_of_a_file_of_another_store_are_kept(store, task, tmp_path):
    """There rater 1 was Zoe; here it is Ann."""
    store.raters.invite(task, name="Ann")
    zoe = JudgmentSource("person", id=f"task {task.number} rater 1", name="Zoe")
    write_judgments([with_uuid(SingleJudgment(query="q1", doc="d1", grade=2.0, source=zoe))], tmp_path / "in.jsonl")
    import_judgments(store, tmp_path / "in.jsonl", collection="c", task=task)
    assert [rater.name for rater in store.raters.list(task)] == ["Ann", "Zoe"]
    (kept,) = store.judgments.list("c")
    assert kept.judgment.source == JudgmentSource("person", id=store.raters.list(task)[1].id)


def test_a_flag_that_is_neither_yes_nor_no_is_an_error(store, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("query,doc,grade,flag\nq1,d1,2,no\nq1,d2,1,maybe\n")
    with pytest.raises(FormatError, match=r"t\.csv:3: 'maybe' does not say whether there is a flag"):
        import_judgments(store, path, collection="c", rater="ann")


def test_a_name_of_two_raters_is_not_guessed(store, task, tmp_path):
    second = [store.raters.invite(task, name=name)[0] for name in ("Ann", "Bo")][1]
    with store.writing() as connection:
        connection.execute(sa.update(rater_table).where(rater_table.c.id == second.number).values(name="Ann"))
    (tmp_path / "in.txt").write_text("q1 0 d1 2\n")
    with pytest.raises(InputError, match="several raters of t are called Ann") as refused:
        import_judgments(store, tmp_path / "in.txt", collection="c", task=task, rater="Ann")
    assert refused.value.hint == "say which one: task 1 rater 1, task 1 rater 2"
    import_judgments(store, tmp_path / "in.txt", collection="c", task=task, rater="Ann (2)")
    assert [each.judgment.source.id for each in store.judgments.list("c")] == [second.id]


def test_a_grade_with_a_choice_becomes_two_judgments(store, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("query,doc,grade,choice,note\nq1,d1,2,yes,fine\nq2,d1,,,\n")
    taken = import_judgments(store, path, collection="c", rater="ann")
    assert (taken.n, taken.n_grades, taken.n_choices) == (2, 1, 1)
    assert taken.notes == ("1 row without grade, flag and choice left out",)


@pytest.mark.parametrize("status", ["cannot_tell", "skipped"])
def test_a_choice_without_a_grade_is_a_choice_as_on_the_page(store, tmp_path, status):
    path = tmp_path / "t.csv"
    path.write_text(f"query,doc,status,choice,note\nq1,d1,{status},yes,doc unclear\n")
    taken = import_judgments(store, path, collection="c", rater="ann")
    assert (taken.n, taken.n_choices) == (2, 1)
    said, chosen = (each.judgment for each in store.judgments.current("c"))
    assert (said.status, said.choice, said.note) == (status, False, "doc unclear")
    assert (chosen.status, chosen.choice, chosen.note) == ("ok", True, "")
    assert import_judgments(store, path, collection="c", rater="ann").n_new == 0


def test_a_choice_that_was_taken_back_stays_taken_back(store, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("query,doc,status,choice\nq1,d1,,yes\nq1,d1,withdrawn,yes\n")
    import_judgments(store, path, collection="c", rater="ann")
    assert [(each.judgment.status, each.judgment.choice) for each in store.judgments.list("c")] == [
        ("ok", True),
        ("withdrawn", True),
    ]


def test_labels_go_out_as_qrels_by_the_rule_of_the_task(store, task, tmp_path):
    (tmp_path / "a.txt").write_text("q1 0 d1 2\nq1 0 d2 2\n")
    (tmp_path / "b.txt").write_text("q1 0 d1 1\nq1 0 d2 2\n")
    for name in ("a", "b"):
        import_judgments(store, tmp_path / f"{name}.txt", collection="c", task=task, rater=name)
    assert export_judgments(store, tmp_path / "labels.txt", collection="c", task=task) == 2
    assert (tmp_path / "labels.txt").read_text() == "q1 0 d1 1\nq1 0 d2 2\n"  # lower median of 2 and 1, and of 2 and 2
    assert export_judgments(store, tmp_path / "book.csv", collection="c", task=task, format="quepid") == 2
    rows = list(csv.reader((tmp_path / "book.csv").read_text().splitlines()))
    assert rows == [
        ["query", "docid", "a", "b"],
        ["heart at night", "d1", "2", "1"],
        ["heart at night", "d2", "2", "2"],
    ]
    assert export_judgments(store, tmp_path / "all.jsonl", collection="c", task=task) == 4
    assert len(read_judgments(tmp_path / "all.jsonl")) == 4


@pytest.mark.parametrize(("form", "ending"), [("quepid", "csv"), ("qrels", "txt")])
def test_files_of_grades_alone_take_back_no_flag_and_no_time_of_the_same_grade(store, task, form, ending, tmp_path):
    """What a file has no place for, it does not say the opposite of."""
    at = "2026-01-01T00:00:00+00:00"
    rows = [f"q1,d1,0,yes,,wrong,{at}", f"q1,d2,2,,yes,,{at}", f"q2,d1,1,,,,{at}"]
    (tmp_path / "in.csv").write_text("\n".join(["query,doc,grade,flag,choice,note,at", *rows, ""]))
    import_judgments(store, tmp_path / "in.csv", collection="c", task=task, rater="ann")
    before = store.judgments.current("c", task=str(task.number))
    path = tmp_path / f"book.{ending}"
    export_judgments(store, path, collection="c", task=task, format=form)
    taken = import_judgments(store, path, collection="c", task=task, rater="ann")
    assert (taken.format, taken.n, taken.n_new) == (form, 3, 0)
    assert store.judgments.current("c", task=str(task.number)) == before
    other = {"quepid": "query,docid,ann\nq1,d1,1\n", "qrels": "q1 0 d1 1\n"}[form]
    path.write_text(other)
    assert import_judgments(store, path, collection="c", task=task, rater="ann").n_new == 1
    assert grades_in(store, task)["q1", "d1"] == 1


def test_of_several_grades_of_a_doc_in_a_file_the_last_holds_also_where_it_is_the_one_that_was_held(
    store, task, tmp_path
):
    path = tmp_path / "book.csv"
    for text in (
        "query,doc,grade,at\nq1,d1,2,2026-01-01T00:00:00+00:00\n",
        "query,docid,ann\nq1,d1,1\nq1,d1,2\n",
    ):
        path.write_text(text)
        import_judgments(store, path, collection="c", task=task, rater="ann")
    assert grades_in(store, task)["q1", "d1"] == 2


def test_what_does_not_belong_is_said(store, task, tmp_path):
    (tmp_path / "in.txt").write_text("q1 0 d1 2\nq1 0 other 1\n")
    taken = import_judgments(store, tmp_path / "in.txt", collection="c", task=task, rater="ann")
    assert taken.notes == ("1 judgment of docs outside the task left out",)
    (tmp_path / "far.txt").write_text("q1 0 d1 7\n")
    with pytest.raises(InputError, match="grade 7 of doc 'd1' for query 'q1' is not on the scale 0, 1, 2"):
        import_judgments(store, tmp_path / "far.txt", collection="c", task=task, rater="ann")
    (tmp_path / "bad.csv").write_text("query,docid,rating\nheart at night,d1,good\n")
    with pytest.raises(FormatError, match=r"bad\.csv:2: 'good' is no rating"):
        import_judgments(store, tmp_path / "bad.csv", collection="c")
    with pytest.raises(OptionError, match="in which form"):
        export_judgments(store, tmp_path / "x.bin", collection="c")


def test_an_id_with_a_blank_is_no_trec(store, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"query": "q1", "doc": "a b", "grade": 1}) + "\n")
    import_judgments(store, path, collection="c", rater="ann")
    with pytest.raises(InputError, match="blank"):
        export_judgments(store, tmp_path / "out.txt", collection="c")
    assert not (tmp_path / "out.txt").exists()


def model_line(**more):
    source = JudgmentSource("judge", name="m", model="m-1")
    said = {"query": "q1", "doc": "d1", "grade": 2.0, "scale": (0.0, 1.0, 2.0), **more}
    return with_uuid(SingleJudgment(source=source, **said))


def test_grades_of_a_model_never_become_those_of_a_rater(store, task, tmp_path):
    ann = JudgmentSource("person", id="ann")
    people = with_uuid(SingleJudgment(query="q1", doc="d2", grade=1.0, source=ann))
    write_judgments([model_line(), people], tmp_path / "both.jsonl")
    taken = import_judgments(store, tmp_path / "both.jsonl", collection="c", task=task, rater="Zed")
    assert taken.notes == (
        "the file says who made 2 judgments, so Zed did not",
        "1 judgment of a model left out: people judge in tasks",
    )
    assert grades_in(store, task) == {("q1", "d2"): 1.0}
    assert [rater.name for rater in store.raters.list(task)] == ["ann"]
    write_judgments([model_line()], tmp_path / "model.jsonl")
    with pytest.raises(InputError, match="no judgment that can be taken") as refused:
        import_judgments(store, tmp_path / "model.jsonl", collection="c", task=task)
    assert "of a model left out" in refused.value.hint


def test_lines_that_name_a_model_and_little_else_are_no_qrels(store, task, tmp_path):
    path = tmp_path / "in.jsonl"
    source = {"kind": "judge", "name": "m", "model": "m"}
    path.write_text(json.dumps({"query": "q1", "doc": "d1", "grade": 2, "source": source}) + "\n")
    assert format_of(path) == "judgments"
    with pytest.raises(InputError, match="no judgment that can be taken"):
        import_judgments(store, path, collection="c", task=task, rater="Zed")
    for form in ("qrels", "table"):
        with pytest.raises(FormatError, match=f"say who judged, which is lost when they are read as {form}"):
            import_judgments(store, path, collection="c", task=task, rater="Zed", format=form)
    assert import_judgments(store, path, collection="c").n_new == 1
    assert store.judgments.list("c")[0].judgment.source == JudgmentSource("judge", name="m", model="m")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_model_stays_one_in_files_of_a_collection(store, tmp_path, form):
    store.judgments.add([model_line(collection="c")])
    path = tmp_path / f"out.{form}"
    export_judgments(store, path, collection="c")
    with open_store(tmp_path / "other.db", create=True) as other:
        import_judgments(other, path, collection="c", rater="Zed")
        (kept,) = other.judgments.list("c")
        assert export_judgments(other, tmp_path / "labels.txt", collection="c") == 0
    assert (kept.judgment.source, kept.judgment.grade) == (JudgmentSource("judge", name="m", model="m-1"), 2.0)
    assert export_judgments(store, tmp_path / "book.csv", collection="c", format="quepid") == 0


def test_a_kind_of_rater_that_is_none_is_refused(store, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("query,doc,grade,flag,kind\nq1,d1,2,,robot\n")
    with pytest.raises(FormatError, match=r"in\.csv:2: 'robot' is no kind of rater"):
        import_judgments(store, path, collection="c")


def test_ids_of_a_file_are_not_those_of_raters_that_it_adds(store, task, tmp_path):
    """Without names: rater 5 comes first and becomes rater 1 here, which is another one in the file."""
    numbers = (5, 3, 1, 2, 4)
    lines = [
        with_uuid(SingleJudgment(
            query="q1", doc="d1", grade=float(n % 3), source=JudgmentSource("person", id=f"task 1 rater {n}")
        ))
        for n in numbers
    ]  # fmt: skip
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(judgment_record(each)) + "\n" for each in lines))
    assert import_judgments(store, path, collection="c", task=task).n_new == 5
    assert import_judgments(store, path, collection="c", task=task).n_new == 0
    names = {rater.id: rater.name for rater in store.raters.list(task)}
    held = store.judgments.current("c", task=str(task.number))
    said = {names[each.judgment.source.id]: each.judgment.grade for each in held}
    assert said == {f"task 1 rater {n}": float(n % 3) for n in numbers}


def test_two_of_a_file_never_become_one_rater(store, task, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("query,doc,grade,note,rater\nq1,d1,2,,Ann\nq1,d1,0,,ann\n")
    with pytest.raises(InputError, match=r"'Ann' \(Ann\) and 'ann' \(ann\) of the file would be one rater of t"):
        import_judgments(store, path, collection="c", task=task)
    store.raters.invite(task, name="ANN")
    with pytest.raises(InputError, match="would be one rater"):
        import_judgments(store, path, collection="c", task=task)
    assert [rater.name for rater in store.raters.list(task)] == ["ANN"]
    assert not store.judgments.list("c")


def test_judgments_of_another_stores_task_do_not_land_in_a_task_of_this_number(store, task, tmp_path):
    zoe = JudgmentSource("person", id="task 1 rater 1", name="Zoe")
    said = SingleJudgment(query="q1", doc="d1", grade=2.0, source=zoe, task=str(task.number))
    again = SingleJudgment(query="q1", doc="d1", grade=0.0, source=zoe, task=again_name(str(task.number)))
    write_judgments([with_uuid(said), with_uuid(again)], tmp_path / "in.jsonl")
    taken = import_judgments(store, tmp_path / "in.jsonl", collection="c")
    assert taken.notes == ("1 judgment of docs that were shown again left out",)
    assert not store.judgments.current("c", task=str(task.number))
    (kept,) = store.judgments.list("c")
    assert (kept.judgment.source, kept.judgment.task) == (JudgmentSource("person", id="Zoe"), None)


def test_a_second_choice_for_a_query_is_said(store, task, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("query,doc,grade,choice\nq1,d1,,yes\nq1,d2,,yes\nq2,d1,1,\nq2,d1,2,\n")
    taken = import_judgments(store, path, collection="c", task=task, rater="Ann")
    assert taken.notes == (
        "several choices of a rater for a query, 1 time, of which the last holds; the first: Ann, query q1",
        "several judgments of a rater of a doc, 1 time, of which the last holds; the first: Ann, query q2, doc d1",
    )
    chosen = [each.judgment.doc for each in store.judgments.current("c") if each.judgment.choice]
    assert chosen == ["d2"]


def test_who_returns_to_an_earlier_answer_has_the_last_one(store, task, tmp_path):
    path = tmp_path / "in.csv"
    rows = ["q1,d1,1,", "q1,d1,2,", "q1,d1,1,", "q1,d1,1,", "q2,d1,,yes", "q2,d2,,yes", "q2,d1,,yes"]
    path.write_text("\n".join(["query,doc,grade,choice", *rows]))
    first = tmp_path / "first.csv"
    first.write_text("query,doc,grade,choice\nq1,d1,1,\n")
    import_judgments(store, first, collection="c", task=task, rater="Ann")
    taken = import_judgments(store, path, collection="c", task=task, rater="Ann")
    assert (taken.n, taken.n_new) == (6, 5)  # the fourth row repeats the third, and the first was there
    held = {(each.judgment.query, each.judgment.doc, each.judgment.grade) for each in store.judgments.current("c")}
    assert held == {("q1", "d1", 1.0), ("q2", "d1", None)}
    again = import_judgments(store, path, collection="c", task=task, rater="Ann")
    assert (again.n_new, [note for note in again.notes if "replaced" in note]) == (0, [])
    outside = import_judgments(store, path, collection="c", rater="Ann")
    assert (outside.n, outside.n_new) == (6, 6)
    held = {each.judgment.grade for each in store.judgments.current("c") if each.judgment.task is None}
    assert held == {1.0, None}


def test_a_file_whose_judgments_were_replaced_says_that_they_do_not_hold(store, task, tmp_path):
    for name, rows in {"f1": "q1,d1,1\nq2,d1,2\n", "f2": "q1,d1,2\n"}.items():
        (tmp_path / f"{name}.csv").write_text(f"query,doc,grade\n{rows}")
        taken = import_judgments(store, tmp_path / f"{name}.csv", collection="c", task=task, format="table")
        assert taken.notes == ()
    again = import_judgments(store, tmp_path / "f1.csv", collection="c", task=task, format="table")
    assert (again.n, again.n_new) == (2, 0)
    (note,) = again.notes
    assert note == (
        "1 judgment was taken in before and has been replaced since: what came later holds; a time in the column `at` "
        "tells it from the earlier ones"
    )
    assert grades_in(store, task) == {("q1", "d1"): 2.0, ("q2", "d1"): 2.0}


def test_an_error_of_a_line_has_one_colon_after_its_place(store, task, tmp_path):
    path = tmp_path / "alien.jsonl"
    path.write_text('{"query": "q1", "doc": "d1", "grade": 1, "source": {"kind": "alien"}}\n')
    with pytest.raises(OptionError, match=r"alien\.jsonl:1: source\.kind: ") as said:
        import_judgments(store, path, collection="c", task=task)
    assert ": :" not in str(said.value)


def test_a_rater_called_as_a_column_of_quepid_is_refused(store, task, tmp_path):
    (tmp_path / "in.txt").write_text("q1 0 d1 2\n")
    import_judgments(store, tmp_path / "in.txt", collection="c", task=task, rater="Rating")
    with pytest.raises(InputError, match="'Rating' is called as a column"):
        export_judgments(store, tmp_path / "book.csv", collection="c", task=task, format="quepid")


RATERS = ("Zoe", "ann", "Bo B.", "", "=Cy, the 5th")
"""In the order of their numbers, which is that of no file."""


def judge_all(made):
    """Five raters with tastes of their own: grades, flags with notes, choices, and docs that nobody can tell."""
    for i, name in enumerate(RATERS):
        for j, item in enumerate(made.store.tasks.items(made.task)):
            at = {"at": f"2026-01-0{i + 1}T10:{j:02}:00+00:00", "seconds": 1.5 + i}
            if (i + 2 * j) % 11 == 0:
                made.say(name, item.query, item.doc, status="cannot_tell", note="doc unclear", **at)
                continue
            flagged = (i * j) % 7 == 3
            grade = float((3 * i + j * j + len(item.doc)) % 4)
            made.say(name, item.query, item.doc, grade=grade, flag=flagged, note="too far" * flagged, **at)
            if (i + j) % 5 == 0:
                made.say(name, item.query, item.doc, choice=True, **at)


def all_held(made, names=("", "")):
    """Return what holds, in its order; raters by name, as their numbers are the store's own."""
    called = {rater.id: rater.name for rater in made.store.raters.list(made.task)}
    held = [each.judgment for each in made.store.judgments.current("doctors", task=str(made.task.number))]
    found = []
    for each in held:
        who = called[each.source.id]
        scale = each.scale if each.grade is not None else None
        found.append((names[1] if who == names[0] else who, replace(each, uuid="", source=SOMEBODY, scale=scale)))
    return found


SOMEBODY = JudgmentSource("person")
NAMELESS = "rater 4"
"""What an export calls the fourth rater, who has no name."""


@pytest.mark.parametrize("rule", ["lower median", "latest"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "quepid"])
def test_five_raters_go_out_and_come_back_the_same(tmp_path, form, rule):
    path = tmp_path / f"judged.{'jsonl' if form == 'jsonl' else 'csv'}"
    with five_raters(tmp_path / "first", n_queries=4, rule=rule) as first:
        judge_all(first)
        said = all_held(first, ("", NAMELESS))
        before = agreement_of(first.store, first.task), settling_of(first.store, first.task)
        export_judgments(first.store, path, collection="doctors", task=first.task, format=form)
    assert len({who for who, _ in said}) == 5
    if form == "quepid":  # it holds grades alone
        said = [(who, each) for who, each in said if each.grade is not None]
    with five_raters(tmp_path / "second", n_queries=4, rule=rule) as second:
        taken = import_judgments(second.store, path, collection="doctors", task=second.task)
        assert (taken.format, taken.n, taken.n_new, taken.notes) == (KINDS[form], len(said), len(said), ())
        back = all_held(second)
        after = agreement_of(second.store, second.task), settling_of(second.store, second.task)
        assert import_judgments(second.store, path, collection="doctors", task=second.task).n_new == 0
    key = operator.itemgetter(0)
    if form == "quepid":
        grades = [sorted((who, each.query, each.doc, each.grade) for who, each in held) for held in (said, back)]
        assert grades[0] == grades[1]
    else:
        assert back == said
    assert sorted(map(key, back)) == sorted(map(key, said))
    if form == "quepid" and rule == "latest":
        return  # in a table with a column for each rater nobody is last
    assert (after[0].alpha.value, after[0].n_grades, after[0].n_raters) == (
        before[0].alpha.value, before[0].n_grades, before[0].n_raters
    )  # fmt: skip
    assert [pair.text for pair in after[1].pairs] == [pair.text for pair in before[1].pairs]
    assert [pair.delta for pair in after[1].pairs] == [pair.delta for pair in before[1].pairs]


KINDS = {"jsonl": "judgments", "csv": "table", "quepid": "quepid"}


def prefer_all(made):
    """Two raters with notes that a table must not change, sides swapped for some, and lists that nobody can tell."""
    for i, query in enumerate(made.queries):
        made.prefer("=Ann, A.", query, "old", "new", i % 5 - 2)
        if i % 2:
            made.prefer("=Ann, A.", query, "new", "old", 1, again=True)
        made.prefer("Bo", query, "new", "old", None if i == 3 else 1)
    for each, note in zip(made.store.preferences.list()[:3], (' "=1+1,\n ', "<b>x</b>", "'quoted"), strict=True):
        more = {"note": note, "at": "2026-01-02T03:04:05+00:00", "seconds": 0.1 + 0.2}
        made.store.preferences.add(replace(each.preference, uuid=str(uuid.uuid4()), **more))


def preferences_held(made):
    called = {rater.id: rater.name for rater in made.store.raters.list(made.task)}
    found = [each.preference for each in made.store.preferences.list()]
    states = {(each.task, each.rater, each.query): replace(each, uuid="", rater=called[each.rater]) for each in found}
    return sorted(states.values(), key=repr)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_preferences_go_out_and_come_back_the_same(tmp_path, form):
    path = tmp_path / f"said.{form}"
    with five_raters(tmp_path / "first", n_queries=12, mode="lists") as first:
        prefer_all(first)
        first.say("Bo", "q00", "d3", flag=True, note="wrong city")
        said, before = preferences_held(first), opinions_of(first.store, first.task)
        n = export_judgments(first.store, path, collection="doctors", task=first.task)
        assert n == 31  # 12 of each rater, 6 with sides swapped, and a flag
        again = import_judgments(first.store, path, collection="doctors", task=first.task)
        assert (again.n_preferences, preferences_held(first)) == (30, said)
        assert len(first.store.preferences.list()) == 33  # three were said twice before
    with five_raters(tmp_path / "second", n_queries=12, mode="lists") as second:
        taken = import_judgments(second.store, path, collection="doctors", task=second.task)
        assert (taken.n, taken.n_new, taken.n_preferences, taken.n_flags, taken.notes) == (31, 31, 30, 1, ())
        assert preferences_held(second) == said
        after = opinions_of(second.store, second.task)
        assert (after.preferences, after.flags.share) == (before.preferences, before.flags.share)
        assert import_judgments(second.store, path, collection="doctors", task=second.task).n_new == 0
        assert len(second.store.preferences.list()) == 30


def test_the_last_of_several_preferences_holds_and_an_earlier_file_says_that_it_does_not(tmp_path):
    head = "query,left,right,preference,rater"
    (tmp_path / "a.csv").write_text(f"{head}\nq00,old,new,1,Ann\nq00,old,new,-1,Ann\nq00,old,new,1,Ann\n")
    (tmp_path / "b.csv").write_text(f"{head}\nq00,old,new,2,Ann\n")
    with five_raters(tmp_path / "first", mode="lists") as made:
        given = {"collection": "doctors", "task": made.task}
        assert import_judgments(made.store, tmp_path / "a.csv", **given).n_new == 3
        assert [each.preference.value for each in made.store.preferences.current()] == [1]
        assert import_judgments(made.store, tmp_path / "b.csv", **given).notes == ()
        again = import_judgments(made.store, tmp_path / "a.csv", **given)
        assert again.n_new == 0
        assert again.notes[-1] == (
            "1 preference was taken in before and has been replaced since: what came later holds; a time in the "
            "column `at` tells it from the earlier ones"
        )
        assert [each.preference.value for each in made.store.preferences.current()] == [2]


def test_preferences_of_other_lists_and_of_no_task_are_said(tmp_path):
    path = tmp_path / "said.csv"
    path.write_text("query,left,right,preference,rater\nq00,old,new,2,Ann\nq00,old,newer,1,Ann\nq99,old,new,1,Ann\n")
    with five_raters(tmp_path / "first", mode="lists") as made:
        taken = import_judgments(made.store, path, collection="doctors", task=made.task)
        assert (taken.format, taken.n_preferences) == ("table", 1)
        (note,) = taken.notes
        assert note == (
            "2 preferences for queries or lists outside the task left out, such as old against newer for q00"
        )
        (held,) = made.store.preferences.list()
        assert (held.preference.value, held.preference.left) == (2, "old")
        with pytest.raises(InputError, match=r"holds no judgment that can be taken.*\n.*3 preferences left out"):
            import_judgments(made.store, path, collection="doctors")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("q00,old,new,3", "its value 3 is not one of"),
        ("q00,old,new,0.5", "csv:3: preference is 0.5"),
        ("q00,old,new,", "its value is None, and its status ok"),
        ("q00,old,old,1", "the same list twice"),
        ("q00,old,,1", "fewer than two lists"),
    ],
)
def test_what_is_no_preference_is_an_error_with_its_line(tmp_path, row, problem):
    path = tmp_path / "said.csv"
    path.write_text(f"query,left,right,preference\nq00,old,new,1\n{row}\n")
    with five_raters(tmp_path / "first", mode="lists") as made, pytest.raises(RankscopeError, match=problem) as error:
        import_judgments(made.store, path, collection="doctors", task=made.task)
    assert f"{path}:3" in str(error.value)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_was_said_of_docs_shown_twice_goes_out_and_comes_back(tmp_path, form):
    """Ann is shown three docs twice, and says the same of two of them."""
    path = tmp_path / f"judged.{form}"
    twice = [("q00", "d0", 1.0), ("q00", "d1", 2.0), ("q01", "d0", 0.0)]
    with five_raters(tmp_path / "first", n_queries=4) as first:
        first.grade("Ann", {"d0": 1.0, "d1": 2.0, "d2": 0.0, "d3": 3.0})
        for query, doc, grade in twice:
            first.say("Ann", query, doc, grade=grade, again=True)
        (ann,) = agreement_of(first.store, first.task).raters
        assert export_judgments(first.store, path, collection="doctors", task=first.task) == 19
        assert export_judgments(first.store, tmp_path / "q.txt", collection="doctors", task=first.task) == 16
    assert (ann.own.n, ann.own.of) == (2, 3)
    with five_raters(tmp_path / "second", n_queries=4) as second:
        second.store.tasks.add(
            "other", collection="doctors", plan=second.task.plan, guideline=second.task.guideline,
            items=second.store.tasks.items(second.task),
        )  # fmt: skip
        second.task = second.store.tasks.get("other")
        taken = import_judgments(second.store, path, collection="doctors", task=second.task)
        assert (taken.n, taken.n_new, taken.notes) == (19, 19, ())
        assert agreement_of(second.store, second.task).raters[0].own == ann.own
        assert len(second.store.judgments.current("doctors", task=str(second.task.number))) == 16
        assert import_judgments(second.store, path, collection="doctors", task=second.task).n_new == 0


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_was_said_of_lists_does_not_go_into_a_task_of_docs(tmp_path, form):
    path = tmp_path / f"said.{form}"
    with five_raters(tmp_path / "first", mode="lists") as first:
        prefer_all(first)
        first.say("Bo", "q00", "d3", choice=True)
        export_judgments(first.store, path, collection="doctors", task=first.task)
    with five_raters(tmp_path / "second") as second:
        with pytest.raises(InputError, match="no judgment that can be taken") as refused:
            import_judgments(second.store, path, collection="doctors", task=second.task)
        assert refused.value.hint == (
            "30 preferences and 1 judgment of a task of lists left out, as hearts shows docs one by one"
        )
        assert second.store.raters.list(second.task) == ()
        assert second.store.judgments.list() == second.store.preferences.list() == ()


HALF = "\ud800x\x00"
WHOLE = "\ufffdx\ufffd"


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_note_that_is_no_text_is_replaced_where_it_enters_and_where_it_leaves(store, tmp_path, form):
    path, out = tmp_path / "in.jsonl", tmp_path / f"out.{form}"
    ann = {"kind": "person", "id": "ann"}
    path.write_text(json.dumps({"query": "q1", "doc": "d1", "flag": True, "note": HALF, "source": ann}) + "\n")
    taken = import_judgments(store, path, collection="c")
    assert taken.notes == ("1 note with bytes or characters that are no text: these are \ufffd now",)
    assert store.judgments.list()[0].judgment.note == WHOLE
    assert import_judgments(store, path, collection="c").n_new == 0
    # one that was stored before
    kept = SingleJudgment(query="q2", doc="d1", flag=True, note=HALF, source=JudgmentSource("person", id="bo"))
    store.judgments.add(kept, collection="c")
    assert export_judgments(store, out, collection="c") == 2
    with open_store(tmp_path / "other.db", create=True) as other:
        import_judgments(other, out, collection="c")
        assert [each.judgment.note for each in other.judgments.list()] == [WHOLE, WHOLE]


def test_a_note_is_as_long_as_on_the_page(store, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(f"query,doc,flag,note\nq1,d1,yes,{'a' * 2000}\n")
    assert import_judgments(store, path, collection="c").n_flags == 1
    path.write_text(f"query,doc,flag,note\nq1,d1,yes,{'a' * 2001}\n")
    with pytest.raises(InputError, match="the note on doc 'd1' for query 'q1' has 2,001 characters"):
        import_judgments(store, path, collection="c")


@pytest.mark.parametrize("seconds", ["1e999", "inf", "-3"])
def test_a_time_that_is_none_is_refused_and_never_written(store, tmp_path, seconds):
    path = tmp_path / "in.csv"
    path.write_text(f"query,doc,grade,note,seconds\nq1,d1,1,,{seconds}\n")
    with pytest.raises(FormatError, match=r"in\.csv:2: it took .* seconds, which is no time"):
        import_judgments(store, path, collection="c")
    odd = SingleJudgment(query="q1", doc="d1", grade=1.0, seconds=float(seconds), source=SOMEBODY)
    assert "seconds" not in judgment_record(odd)


def test_labels_of_a_model_become_qrels_of_a_judge(store, tmp_path):
    path = tmp_path / "model.jsonl"
    write_judgments([model_line(), model_line(doc="d2", grade=0.0)], path)
    assert import_judgments(store, path, collection="c").judge_qrels == ("m-1",)
    found = store.qrels.find("m-1")
    assert (found.kind, found.facts["collection"]) == ("judge", "c")
    assert store.qrels.judgments(found).judged == {"q1": {"d1": 2.0, "d2": 0.0}}
    import_judgments(store, path, collection="c")
    assert len(store.qrels.list()) == 1
    write_judgments([model_line(doc="d2", grade=1.0, at="2026-02-01T00:00:00+00:00")], path)
    import_judgments(store, path, collection="c")
    newest = store.qrels.find("m-1")
    assert newest.number > found.number
    assert store.qrels.judgments(newest).judged == {"q1": {"d1": 2.0, "d2": 1.0}}


def test_labels_of_a_model_never_take_the_name_of_others(store, tmp_path):
    store.qrels.add(rs.Qrels({"q1": {"d1": 1}}), name="m-1")
    write_judgments([model_line()], tmp_path / "model.jsonl")
    assert import_judgments(store, tmp_path / "model.jsonl", collection="c").judge_qrels == ("m-1 on c",)
    assert store.qrels.find("m-1").kind == "people"


def test_a_file_of_qrels_can_be_the_labels_of_a_model(store, tmp_path):
    (tmp_path / "gpt.txt").write_text("q1 0 d1 2\n")
    kept = judge_qrels_in(store, tmp_path / "gpt.txt", collection="c")
    assert (kept.name, kept.kind) == ("gpt", "judge")
    assert judge_qrels_in(store, tmp_path / "gpt.txt", collection="c") == kept
    (tmp_path / "people.csv").write_text("query,doc,grade,flag\nq1,d1,2,\n")
    with pytest.raises(InputError, match="should hold the labels of one model, and holds none of a model"):
        judge_qrels_in(store, tmp_path / "people.csv", collection="c")


def test_a_doc_with_two_grades_of_one_rater_says_what_an_import_can_do(store, tmp_path):
    (tmp_path / "in.txt").write_text("q1 0 d1 1\nq1 0 d1 2\n")
    with pytest.raises(DuplicateError) as refused:
        import_judgments(store, tmp_path / "in.txt", collection="c", rater="ann")
    assert refused.value.hint == "keep one grade for each doc; several raters are told apart by a column `rater`"
    assert store.judgments.list() == ()


def test_a_case_of_quepid_may_write_its_columns_in_capitals(store, tmp_path):
    path = tmp_path / "case.csv"
    path.write_text("Query,Docid,Rating\nq1,d1,2\n")
    assert import_judgments(store, path, collection="c").format == "quepid"
    (held,) = store.judgments.current("c")
    assert (held.judgment.query, held.judgment.doc, held.judgment.grade) == ("q1", "d1", 2.0)
    assert held.judgment.source.id == "imported"


def test_raters_of_a_book_keep_their_capitals(store, task, tmp_path):
    path = tmp_path / "book.csv"
    path.write_text("QUERY,DocId,Ann,bO\nq1,d1,2,1\n")
    import_judgments(store, path, collection="c", task=task)
    assert [rater.name for rater in store.raters.list(task)] == ["Ann", "bO"]


def test_what_is_no_table_of_quepid_is_an_error_with_its_line(store, tmp_path):
    path = tmp_path / "case.csv"
    path.write_text("query,doc,x\nq1,d1,2\n")
    with pytest.raises(FormatError, match=r"case\.csv:2: the row has no query or no docid"):
        import_judgments(store, path, collection="c", format="quepid")


def test_older_answers_that_take_the_place_of_newer_ones_are_counted(store, task, tmp_path):
    """Of three answers held, the file is older than one, newer than one, and says no time of one."""
    head, first = "query,doc,grade,rater,at", tmp_path / "first.csv"
    first.write_text(f"{head}\nq1,d1,2,A,2030-01-01T00:00:00+00:00\nq1,d2,2,A,2010-01-01\nq2,d1,2,A,2030-01-01\n")
    assert import_judgments(store, first, collection="c", task=task).notes == ()
    second = tmp_path / "second.csv"
    second.write_text(f"{head}\nq1,d1,0,A,2020-01-01\nq1,d2,0,A,2020-01-01\nq2,d1,0,A,\n")
    taken = import_judgments(store, second, collection="c", task=task)
    assert taken.notes == (
        "1 judgment took the place of newer ones, by the times in `at`: what is taken in last holds",
    )
    assert set(grades_in(store, task).values()) == {0.0}


def test_an_older_preference_in_the_place_of_a_newer_one_is_counted(tmp_path):
    head = "query,left,right,preference,rater,at"
    for name, line in {"new": "1,Ann,2030-01-01", "old": "2,Ann,2020-01-01"}.items():
        (tmp_path / f"{name}.csv").write_text(f"{head}\nq00,old,new,{line}\n")
    with five_raters(tmp_path / "first", mode="lists") as made:
        given = {"collection": "doctors", "task": made.task}
        assert import_judgments(made.store, tmp_path / "new.csv", **given).notes == ()
        (note,) = import_judgments(made.store, tmp_path / "old.csv", **given).notes
        assert note.startswith("1 preference took the place of newer ones")


def test_grades_stay_out_of_a_task_of_lists_and_flags_go_in(tmp_path):
    """Two rows have a grade; one of them is flagged, too, and a third is a choice."""
    path = tmp_path / "said.csv"
    path.write_text("query,doc,grade,flag,choice,rater\nq00,d0,3,,,Ann\nq00,d1,0,yes,,Ann\nq00,d2,,,yes,Ann\n")
    with five_raters(tmp_path / "first", mode="lists") as made:
        taken = import_judgments(made.store, path, collection="doctors", task=made.task)
        assert (taken.n, taken.n_grades, taken.n_flags, taken.n_choices) == (2, 0, 1, 1)
        assert taken.notes == ("2 grades left out, as hearts shows whole lists, which get no grades",)
        assert agreement_of(made.store, made.task).raters == ()
        path.write_text("query,doc,grade,rater\nq00,d0,3,Ann\n")
        with pytest.raises(InputError, match="no judgment that can be taken"):
            import_judgments(made.store, path, collection="doctors", task=made.task)


def test_a_source_that_is_a_name_is_refused_with_its_line(store, tmp_path):
    path = tmp_path / "said.jsonl"
    lines = [{"query": "q1", "doc": "d1", "grade": 1}, {"query": "q1", "doc": "d2", "grade": 1, "source": "zoe"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(FormatError, match=r"said\.jsonl:2: its source 'zoe' does not say who judged") as refused:
        import_judgments(store, path, collection="c")
    assert '{"kind": "person", "id": "a name"}' in refused.value.hint
    assert store.judgments.list() == ()


def test_a_person_has_no_status_of_a_model(store, tmp_path):
    path = tmp_path / "said.csv"
    path.write_text("query,doc,status,rater\nq1,d1,unparsable,Ann\n")
    with pytest.raises(FormatError, match="status unparsable is none of a person: ok, skipped, cannot_tell, withdrawn"):
        import_judgments(store, path, collection="c")


COMPOSED, APART = "Jos\u00e9", "Jose\u0301"


def test_names_that_look_alike_are_one_rater(store, task, tmp_path):
    path = tmp_path / "said.csv"
    path.write_text(f"query,doc,grade,rater\nq1,d1,1,{COMPOSED}\nq1,d2,1,{APART}\n", encoding="utf-8")
    import_judgments(store, path, collection="c", task=task)
    assert [rater.name for rater in store.raters.list(task)] == [COMPOSED]
    assert store.raters.invite(task, name=APART)[0].name == COMPOSED, "who was in a file alone is invited now"
    with pytest.raises(OptionError, match="called Jos\u00e9 already"):
        store.raters.invite(task, name=APART.upper())
    import_judgments(store, path, collection="c")
    assert {each.judgment.source.id for each in store.judgments.current("c", task="")} == {COMPOSED}
    assert store.raters.rename(store.raters.invite(task, name="Bo")[0].number, "Zoe\u0308").name == "Zo\u00eb"


@pytest.mark.parametrize("grade", ["1_0", "\uff11", "nan"])
def test_a_grade_is_a_number_as_files_have_it(store, tmp_path, grade):
    path = tmp_path / "said.csv"
    path.write_text(f"query,doc,grade,rater\nq1,d1,{grade},Ann\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"said\.csv:2: .* is no grade"):
        import_judgments(store, path, collection="c")


def test_a_name_in_latin_1_says_that_the_file_is_not_utf_8(store, task, tmp_path):
    path = tmp_path / "said.csv"
    path.write_bytes("query,doc,grade,rater\nq1,d1,1,J\u00fcrg\n".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8: J\ufffdrg") as refused:
        import_judgments(store, path, collection="c", task=task)
    assert refused.value.hint == "save the file as UTF-8"


@pytest.mark.parametrize("form", [None, "judgments", "table", "quepid", "export", "qrels"])
def test_a_folder_is_an_error_of_ours(store, tmp_path, form):
    (tmp_path / "folder").mkdir()
    with pytest.raises(RankscopeError, match="folder"):
        import_judgments(store, tmp_path / "folder", collection="c", format=form)


def ann_says(store, task, **more):
    """Let somebody who is invited grade two docs, as the page keeps it."""
    ann, _ = store.raters.invite(task, name="Ann")
    for i, (doc, grade) in enumerate([("d1", 2.0), ("d2", 0.0)]):
        said = SingleJudgment(
            **{"query": "q1", "doc": doc, "grade": grade, "scale": (0.0, 1.0, 2.0), "collection": "c"} | more,
            source=JudgmentSource("person", id=ann.id),
            task=str(task.number),
            guideline=task.guideline,
            uuid=str(uuid.uuid4()),
            at=f"2026-01-01T00:00:0{i}+00:00",
            seconds=12.345678 + i,
        )
        store.judgments.add([said])
    return ann


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_taken_in_again_adds_nothing(store, task, tmp_path, form):
    ann_says(store, task)
    path = tmp_path / f"out.{form}"
    export_judgments(store, path, collection="c", task=task)
    assert import_judgments(store, path, collection="c", task=task).n_new == 0
    assert len(store.judgments.list("c")) == 2


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("called", ["", "Anna"])
def test_who_was_forgotten_or_renamed_is_the_same_rater_in_an_earlier_export(store, task, tmp_path, form, called):
    ann = ann_says(store, task)
    path = tmp_path / f"out.{form}"
    export_judgments(store, path, collection="c", task=task)
    known = store.raters.rename(ann.number, called) if called else store.raters.forget(ann.number)
    assert import_judgments(store, path, collection="c", task=task).n_new == 0
    assert [rater.name for rater in store.raters.list(task)] == [known.name]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "said",
    [("export", ""), ("export", "2026-01-01T00:00:00+00:00"), ("table", ""), ("table", "2026-01-01T00:00:00+00:00")],
)
def test_a_file_without_times_or_ids_gives_no_name_back(store, task, tmp_path, form, said):
    """An export has the rater's id; a table made by hand has a name alone, and is known by its times."""
    again, at = said
    table, path = tmp_path / "in.csv", tmp_path / f"out.{form}"
    table.write_text(f"query,doc,grade,rater,at\nq1,d1,2,Ann,{at}\nq1,d2,1,Bo,{at}\n")
    import_judgments(store, table, collection="c", task=task)
    export_judgments(store, path, collection="c", task=task)
    ann, bo = store.raters.list(task)
    names = [store.raters.forget(ann.number).name, bo.name]
    found = import_judgments(store, path if again == "export" else table, collection="c", task=task)
    if again == "table" and not at:  # anybody may have said so: nothing tells whose it is
        assert (found.n_new, len(store.raters.list(task))) == (1, 3)
        return
    assert (found.n_new, [rater.name for rater in store.raters.list(task)]) == (0, names)


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "quepid.csv"])
def test_an_export_without_judgments_is_taken_in(store, task, tmp_path, name):
    path = tmp_path / name
    assert export_judgments(store, path, collection="c", task=task, format="quepid" if name[0] == "q" else None) == 0
    found = import_judgments(store, path, collection="c", task=task)
    assert (found.n, found.n_new) == (0, 0)
    assert found.notes[0].endswith("is an export without any judgment")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(RankscopeError, match="empty"):
        import_judgments(store, empty, collection="c", task=task)


def test_the_same_judgments_by_another_format_are_not_new(store, task, tmp_path):
    """A table has no place for uuids: what it brought is known again by what was said, and when."""
    ann_says(store, task, flag=True, note="why")
    paths = [tmp_path / "out.csv", tmp_path / "out.jsonl"]
    for path in paths:
        export_judgments(store, path, collection="c", task=task)
    with open_store(tmp_path / "other.db", create=True) as other:
        known = store.tasks.items(task)
        pairs = [(item.query, item.doc) for item in known]
        text = store.tasks.guideline_text(task)
        there = create_task(other, "t", TaskPlan(pool="file"), collection="c", guideline=text, pairs=pairs)
        assert [import_judgments(other, path, collection="c", task=there).n_new for path in paths] == [2, 0]


def test_the_same_id_of_another_store_is_another_rater(store, task, tmp_path):
    ann_says(store, task)
    path = tmp_path / "out.jsonl"
    export_judgments(store, path, collection="c", task=task)
    forgotten = store.raters.forget(store.raters.list(task)[0].number)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:  # nobody said this here
        line |= {"at": "2026-01-02T00:00:00+00:00", "uuid": str(uuid.uuid4())}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert import_judgments(store, path, collection="c", task=task).n_new == 2
    assert [rater.name for rater in store.raters.list(task)] == [forgotten.name, "Ann"]


@pytest.mark.parametrize(
    "said", ["kind,model\nq1,d1,2,judge,gpt", "model,kind\nq1,d1,2,gpt,judge", "kind\nq1,d1,2,judge"]
)
def test_a_table_that_names_a_model_and_no_rater_is_no_persons(store, task, tmp_path, said):
    path = tmp_path / "in.csv"
    path.write_text(f"query,doc,grade,{said}\n")
    with pytest.raises(InputError, match="no judgment that can be taken"):
        import_judgments(store, path, collection="c", task=task)
    import_judgments(store, path, collection="c")
    assert [each.judgment.source.kind for each in store.judgments.list("c")] == ["judge"]


@pytest.mark.parametrize(
    ("header", "row", "problem"),
    [
        ("seconds", "abc", "is no number of seconds"),
        ("seconds", "-4", "no time"),
        ("at", "yesterday", "cannot be read"),
        ("kind", "alien", "is no kind of rater"),
    ],
)
def test_what_a_table_of_grades_says_besides_is_read_or_refused(store, tmp_path, header, row, problem):
    path = tmp_path / "in.csv"
    path.write_text(f"query,doc,grade,{header}\nq1,d1,2,{row}\n")
    with pytest.raises(FormatError, match=problem):
        import_judgments(store, path, collection="c")


def test_preferences_go_out_of_a_task_that_was_changed_since_it_was_read(tmp_path):
    with five_raters(tmp_path / "made", n_queries=3, mode="lists") as made:
        made.prefer("Ann", made.queries[0], "old", "new", 1)
        made.store.tasks.stop(made.task)
        assert export_judgments(made.store, tmp_path / "a.jsonl", collection="doctors", task=made.task) == 1


@pytest.mark.parametrize("grade", [99.12345, 0.1 + 0.2, 1234567.0, 1e-7])
@pytest.mark.parametrize("form", ["csv", "jsonl", "txt"])
def test_grades_go_out_as_they_are(store, tmp_path, grade, form):
    said = SingleJudgment(query="q1", doc="d1", source=JudgmentSource("person", id="ann"), grade=grade)
    store.judgments.add([with_uuid(replace(said, collection="c"))])
    path = tmp_path / f"out.{form}"
    export_judgments(store, path, collection="c")
    with open_store(tmp_path / "other.db", create=True) as other:
        import_judgments(other, path, collection="c")
        assert grades_in(other) == {("q1", "d1"): grade}


@pytest.mark.parametrize("note", ["first\rsecond", "first\r\nsecond", "\r", 'a "quoted"\r, b'])
def test_ends_of_lines_in_notes_go_out_and_come_back(store, tmp_path, note):
    said = SingleJudgment(query="q1", doc="d1", source=JudgmentSource("person", id="ann"), flag=True, note=note)
    store.judgments.add([with_uuid(replace(said, collection="c"))])
    export_judgments(store, tmp_path / "out.csv", collection="c")
    with open_store(tmp_path / "other.db", create=True) as other:
        import_judgments(other, tmp_path / "out.csv", collection="c")
        assert [each.judgment.note for each in other.judgments.list("c")] == [note]
