"""`rankscope judge` from making a task to qrels: what is printed, and what the store has then."""

from __future__ import annotations

import csv
import io
import json
import re
import uuid

import pytest

import rankscope as rs
from rankscope.cli.judge_grade import FileDesk, Grading, keys_of
from rankscope.judging.records import GradeLabel
from rankscope.judging.session import PreferenceRequest, open_session
from rankscope.store import CollectionFacts, RunFacts, StoredDoc, StoredQuery, open_store

QUERIES = {f"q{i:02}": StoredQuery(f"heart trouble {i}", {"city": "Leeds"}) for i in range(12)}
DOCS = {name: StoredDoc(f"Dr. {name.upper()}", f"{name} treats the heart.", {"city": "Leeds"}) for name in "xyz"}


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """Go to a folder whose store has two runs of twelve queries: old answers x, y, new answers x, z."""
    monkeypatch.chdir(tmp_path)
    with open_store(tmp_path, create=True) as store:
        for system, docs in (("old", "xy"), ("new", "xz")):
            facts = RunFacts(
                system=system,
                started="2026-01-01T00:00:00",
                collection=CollectionFacts(name="clinic", queries=QUERIES),
            )
            run = rs.Run({query: {doc: 2.0 - i for i, doc in enumerate(docs)} for query in QUERIES})
            store.runs.add(run, facts, docs=DOCS)
    return tmp_path


@pytest.fixture
def grades(rankscope, monkeypatch):
    """Return a function that grades with lines that somebody types."""

    def type_lines(*lines, what="t", rater="ann", **more):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        given = ["--rater", rater] if rater else []
        return rankscope("judge", "grade", what, *given, *more)

    return type_lines


def create(rankscope, *more):
    made = rankscope(
        "judge", "create", "t", "old", "new", "-m", "P@2", "--pool", "settle", "--repeat-share", "0", *more
    )
    assert made.code == 0, made.err
    return made


def test_a_task_from_making_to_settled(clinic, rankscope, grades):
    made = create(rankscope)
    # y and z differ in every query: 24 docs; x is the same for both, and is not asked for
    assert made.out == "task 1, t: 24 docs of 12 queries to judge\nnext: rankscope judge invite 1 NAME\n"
    assert "0 of 24 docs judged, 0 raters, open" in rankscope("judge", "list").out
    assert "Judging all 24 open docs that can move it settles it for certain" in rankscope("judge", "show", "t").out
    done = grades(*["2"] * 23)
    assert done.code == 0
    assert "23 of 24 docs judged" in done.out
    shown = json.loads(rankscope("judge", "show", "t", "--format", "json").out)
    assert shown["task"]["judged"] == 23
    assert shown["raters"][0]["name"] == "ann"
    done = grades("0")
    assert "24 of 24 docs judged" in done.out
    shown = " ".join(rankscope("judge", "show", "1").out.split())
    assert "Settled: no grade of an open doc changes this." in shown
    made = rankscope("judge", "qrels", "t", "-o", "out.txt")
    assert "24 docs, rule lower median, of 1 rater; they differed on 0" in made.out
    lines = (clinic / "out.txt").read_text().splitlines()
    assert len(lines) == 24
    assert sum(line.endswith(" 2") for line in lines) == 23


def test_keys_flag_choose_cannot_tell_undo_and_find(clinic, rankscope, grades):
    create(rankscope)
    done = grades("m", "x too far", "2", "u", "b", "?", "?q", "/ trouble 7", "1", "nonsense", "e")
    assert done.code == 0
    assert "flagged: too far" in done.out
    assert "your choice" in done.out
    assert "say what is unclear" in done.out
    assert "'nonsense' is no key" in done.out
    assert "query: heart trouble 7" in done.out
    with open_store(clinic) as store:
        held = [each.judgment for each in store.judgments.current("clinic", task="1")]
    others = {(each.flag, each.choice, each.status, each.note) for each in held if each.grade is None}
    assert others == {(False, False, "cannot_tell", "query unclear"), (False, True, "ok", "")}
    graded = [each for each in held if each.grade is not None]
    assert [(each.query, each.grade) for each in graded] == [("q07", 1.0)]


def test_undo_gives_back_what_was_said_before(clinic, rankscope, grades):
    create(rankscope)
    grades("x far", "3", "u", "e")
    with open_store(clinic) as store:
        (held,) = [each.judgment for each in store.judgments.current("clinic", task="1")]
    assert (held.grade, held.flag, held.note) == (None, True, "far")
    grades("u")
    assert "there is nothing to undo" in grades("u").out


def test_two_raters_and_their_agreement_in_qrels(clinic, rankscope, grades):
    create(rankscope, "--overlap", "2")
    grades(*["1"] * 24, rater="ann")
    grades(*["3"] * 24, rater="bo")
    assert "they differed on 24" in rankscope("judge", "qrels", "t", "--rule", "max", "-o", "out.txt").out
    assert {line.split()[-1] for line in (clinic / "out.txt").read_text().splitlines()} == {"3"}
    assert (
        rankscope("judge", "export", "book.csv", "--task", "t", "--to", "quepid").out
        == "24 lines written to book.csv\n"
    )
    rows = list(csv.reader((clinic / "book.csv").read_text().splitlines()))
    assert rows[0] == ["query", "docid", "ann", "bo"]
    assert rows[1][2:] == ["1", "3"]


def test_invitations_stop_extend_and_revoke(clinic, rankscope, grades):
    create(rankscope)
    invited = rankscope("judge", "invite", "t", "Ann", "<b>Bo</b>", "--url", "https://x.example/")
    assert re.search(r"rater 1, Ann: https://x\.example/judge/start\?invite=[\w-]{20,}\n", invited.out)
    assert "revoked; what was judged stays" in rankscope("judge", "revoke", "t", "Ann").out
    refused = grades("2", rater="Ann")
    assert (refused.code, "was revoked" in refused.err) == (2, True)
    assert rankscope("judge", "stop", "t").out == "t takes no more judgments\n"
    assert "was stopped" in grades("2").err
    assert rankscope("judge", "reopen", "t").out == "t goes on\n"
    assert "0 docs added, 3 raters for each doc" in rankscope("judge", "extend", "t", "--overlap", "3").out
    (clinic / "more.csv").write_text("query,doc\nq00,x\n")
    assert "1 doc added" in rankscope("judge", "extend", "t", "--file", "more.csv").out


def test_a_name_is_that_of_one_rater_and_links_are_renewed(clinic, rankscope):
    made = rankscope("judge", "create", "t", "old", "new", "--k", "2", "--overlap", "2")
    assert made.code == 0
    first = rankscope("judge", "invite", "t", "Ann").out
    again = rankscope("judge", "invite", "t", "ann")
    assert (again.code, "a rater of this task is called Ann already" in again.err) == (2, True)
    (hint,) = re.findall(r"`rankscope (judge renew [^`]*)`", again.err)
    renewed = rankscope(*hint.split(), "--url", "https://x.example")
    assert re.search(r"rater 1, Ann: https://x\.example/judge/start\?invite=[\w-]{20,}\n", renewed.out)
    assert renewed.out.partition("invite=")[2] != first.partition("invite=")[2]
    assert "rater 1, Ann: 0 judged" in rankscope("judge", "show", "t").out
    (clinic / "in.txt").write_text("q00 0 y 2\nq00 0 x 1\n")
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "ann")
    assert "2 of 36 docs judged (0 by 2 raters)" in rankscope("judge", "show", "t").out
    assert "rater 1, Ann: 2 judged" in rankscope("judge", "show", "t").out
    trusted = rankscope("judge", "qrels", "t", "--rule", "trusted", "--trusted", "Zoe")
    assert "there are Ann\n" in trusted.err
    made = rankscope("judge", "qrels", "t").out
    assert "note: 11 of 12 queries have no doc in these qrels" in made
    (clinic / "bo.txt").write_text("q00 0 y 2\n")
    rankscope("judge", "import", "bo.txt", "--task", "t", "--rater", "Bo")
    assert (
        "note: Bo did not grade 1 doc" in rankscope("judge", "qrels", "t", "--rule", "trusted", "--trusted", "Bo").out
    )
    forgotten = rankscope("judge", "forget", "t", "Ann")
    assert forgotten.out == "Ann is called rater 1 from now on, and the link has ended; what was judged stays\n"
    assert "Ann" not in rankscope("judge", "show", "t").out


def test_the_guideline_of_a_task_is_shown_and_changed(clinic, rankscope):
    assert rankscope("judge", "create", "t", "old", "new", "--k", "2").code == 0
    text = rankscope("judge", "guideline", "t").out
    assert "## Scale" in text
    (clinic / "new.md").write_text(f"Look twice.\n\n{text}")
    assert rankscope("judge", "guideline", "t", "new.md").out == "what is judged in t from now on follows new.md\n"
    assert rankscope("judge", "guideline", "t").out.startswith("Look twice.")
    (clinic / "other.md").write_text("Grade.\n\n## Scale\n\n- 0 No\n- 7 Yes\n")
    refused = rankscope("judge", "guideline", "t", "other.md")
    assert (refused.code, "the grades may not" in refused.err) == (2, True)


def test_answers_to_lists_are_counted_by_query(clinic, rankscope):
    assert rankscope("judge", "create", "t", "old", "new", "--lists", "--repeat-share", "0", "--k", "2").code == 0
    with open_store(clinic) as store:
        task = store.tasks.get("t")
        _, token = store.raters.invite(task, name="Cy")
        session = open_session(store, token)
        request = PreferenceRequest(uuid=str(uuid.uuid4()), query="q00", left=0, right=1, value=1)
        assert session.save_preference(request).status == "ok"
    shown = rankscope("judge", "show", "t").out
    assert "task 1, t: 1 of 12 queries judged, open" in shown
    assert "Cy: 1 judged" in shown
    assert "1 of 12 queries judged" in rankscope("judge", "list").out


def test_import_into_a_task(clinic, rankscope):
    create(rankscope)
    (clinic / "in.txt").write_text("q00 0 y 2\nq00 0 x 1\n")
    taken = rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "old book")
    assert taken.out == (
        "in.txt (qrels): 1 judgment (1 grade), 1 of them new\n  note: 1 judgment of docs outside the task left out\n"
    )
    assert "0 of them new" in rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "old book").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "there is no action 'nonsense'"),
        (["create"], "the task has no name"),
        (["create", "t2", "old", "--pool", "tops"], "there is no pool 'tops'"),
        (["create", "t2", "old", "--k", "ten"], "--k 'ten' is not a whole number"),
        (["create", "t2", "old", "--rule", "best"], "there is no rule 'best'"),
        (["create", "t2", "old", "new", "--pool", "settle"], "needs a measure"),
        (["list", "--k", "3"], "--k does nothing with list"),
        (["stop", "t", "--format", "json"], "--format does nothing with stop"),
        (["show", "nobody"], "there is no task 'nobody'"),
        (["invite", "t"], "no rater is named"),
        (["invite", "t", "Ann", "--url", "javascript:x"], "is no address of a page"),
        (["invite", "t", ""], "a rater has no name"),
        (["revoke", "t", "Ann"], "t has no rater 'Ann'"),
        (["extend", "t"], "nothing is added"),
        (["import", "a", "b"], "one file is named"),
        (["import", "none.txt", "--task", "t", "--kind", "x"], "--kind 'x' is not one of"),
        (["export", "x.bin"], "in which form judgments are written"),
        (["grade", "table.txt"], "no table that grades can be filled into"),
    ],
)
def test_mistakes_are_said_with_a_next_step(clinic, rankscope, arguments, message):
    create(rankscope)
    failed = rankscope("judge", *arguments)
    assert failed.code == 2
    assert message in failed.err


def test_a_table_of_compare_is_filled_in(cookbook, rankscope, monkeypatch):
    assert rankscope("compare", "qrels.txt", "bm25.run", "dense.run", "--settle", "judge-these.csv").code == 0
    with (cookbook / "judge-these.csv").open(newline="") as stream:
        before = list(csv.DictReader(stream))
    monkeypatch.setattr("sys.stdin", io.StringIO("2\nx =1+1\n?d\nb\n0\n"))
    done = rankscope("judge", "grade", "judge-these.csv")
    assert done.code == 0, done.err
    with (cookbook / "judge-these.csv").open(newline="") as stream:
        after = list(csv.DictReader(stream))
    assert [row["doc"] for row in after] == [row["doc"] for row in before]
    assert [row["grade"] for row in after[:4]] == ["2", "", "0", ""]
    assert after[1]["status"] == "cannot_tell"
    assert after[2]["choice"] == "yes"
    again = rankscope("compare", "qrels.txt", "bm25.run", "dense.run", "--more-qrels", "judge-these.csv")
    assert again.code == 0, again.err


def test_a_file_that_is_no_table_stays_as_it_was(tmp_path, rankscope):
    path = tmp_path / "t.csv"
    path.write_text("query,doc,grade\nq1,d1,9\n")
    failed = rankscope("judge", "grade", path)
    assert (failed.code, "not on the scale" in failed.err) == (2, True)
    assert path.read_text() == "query,doc,grade\nq1,d1,9\n"


def test_keys_of_scales_without_single_digits():
    labels = [GradeLabel(grade, "x") for grade in (0.0, 0.5, 10.0)]
    assert keys_of(labels) == {"1": 0.0, "2": 0.5, "3": 10.0}
    assert keys_of([GradeLabel(grade, "x") for grade in (0.0, 1.0)]) == {"0": 0.0, "1": 1.0}


def test_what_would_command_a_terminal_is_seen(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        json.dumps({"query": "q", "doc": "d", "query_text": "\x1b[2J heart", "text": "\x1b]0;x\x07 heart"}) + "\n"
    )
    shown = "\n".join(Grading(FileDesk(path), bold=True).screen())
    assert "\\x1b[2J heart" in shown
    assert "\x1b[1mheart\x1b[0m" in shown
    assert "\x1b]" not in shown
