"""`rankscope judge` from making a task to qrels: what is printed, and what the store has then."""

from __future__ import annotations

import csv
import io
import json
import re
import uuid

import pytest

import rankscope as rs
from rankscope.cli.judge import ListedTask, is_meant, judged_words
from rankscope.cli.judge_grade import FileDesk, Grading, keys_of
from rankscope.data.tasks import TaskPlan
from rankscope.judging.records import GradeLabel
from rankscope.judging.session import PreferenceRequest, SaveRequest, open_session, session_of, states_of_raters
from rankscope.judging.tasks import create_task
from rankscope.records import replace
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
        return rankscope("judge", "grade", what, *given, *more.get("flags", ()))

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
    assert "24 docs, rule lower median, of 1 rater\n" in made.out
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
    grades(*["3"] * 24, rater="bo", flags=["--new-rater"])
    assert "they differed on 24" in rankscope("judge", "qrels", "t", "--rule", "max", "-o", "out.txt").out
    assert {line.split()[-1] for line in (clinic / "out.txt").read_text().splitlines()} == {"3"}
    assert (
        rankscope("judge", "export", "book.csv", "--task", "t", "--to", "quepid").out
        == "24 lines written to book.csv\n"
    )
    rows = list(csv.reader((clinic / "book.csv").read_text().splitlines()))
    assert rows[0] == ["query", "docid", "ann", "bo"]
    assert rows[1][2:] == ["1", "3"]


def test_qrels_of_a_task_take_the_place_of_no_others_in_silence(clinic, rankscope, grades):
    """Of 24 docs one is known before; two are graded, and the qrels hold these three."""
    with open_store(clinic) as store:
        before = store.qrels.add(rs.Qrels({"q00": {"y": 1}}), name="clinic")
    create(rankscope, "--qrels", "clinic")
    grades("2", "0")
    made = rankscope("judge", "qrels", "t").out
    assert re.match(r"qrels t \(\w+\): 3 docs \(2 graded here, 1 known before\), rule lower median, of 1 rater\n", made)
    assert "is a collection" not in made
    with open_store(clinic) as store:
        assert store.qrels.find("clinic") == before
    named = " ".join(rankscope("judge", "qrels", "t", "--name", "clinic").out.split())
    assert "clinic is a collection: its pages use these labels from now on, in place of those before" in named


def test_who_is_known_only_by_a_file_takes_no_docs_from_those_invited(clinic, rankscope, grades):
    """24 docs of 12 queries, shared by Ann and Bo."""

    def shares():
        with open_store(clinic) as store:
            task = store.tasks.get("t")
            return {store.raters.get(n).name: state.n for n, state in states_of_raters(store, task).items()}

    create(rankscope)
    assert rankscope("judge", "invite", "t", "Ann", "Bo").code == 0
    before = shares()
    assert sum(before.values()) == 24
    (clinic / "in.csv").write_text("query,doc,grade,rater\nq00,y,1,Cy\n")
    assert rankscope("judge", "import", "in.csv", "--task", "t").code == 0
    (with_q00,) = [name for name, n in shares().items() if n < before.get(name, 0)]
    assert shares() == {**before, with_q00: before[with_q00] - 1, "Cy": 1}
    assert "rater 3, Cy: 1 judged, not invited" in rankscope("judge", "show", "t").out
    invited = rankscope("judge", "invite", "t", "cy")
    assert invited.out.startswith("rater 3, Cy: ")
    assert sorted(shares().values()) == [8, 8, 8]
    assert rankscope("judge", "invite", "t", "Cy").code == 2, "now there is a link"


def test_who_is_known_only_by_a_file_judges_in_the_terminal(clinic, rankscope, grades):
    create(rankscope)
    (clinic / "in.csv").write_text("query,doc,grade\nq00,y,1\n")
    assert rankscope("judge", "import", "in.csv", "--task", "t").code == 0
    shown = " ".join(rankscope("judge", "show", "t").out.split())
    assert "No rater is left to judge them: `rankscope judge invite 1 NAME` adds one." in shown
    assert "2 of 24 docs judged" in grades("1", rater="imported").out


def test_a_store_that_may_only_be_read_can_be_looked_at(clinic, rankscope, grades, monkeypatch):
    create(rankscope)
    grades("2", "x wrong city", "j", "0")
    monkeypatch.setattr("rankscope.store.store.may_write", lambda _: False)
    monkeypatch.setattr("rankscope.store.store.is_read_only", lambda _: True)
    looks = [["list"], ["show", "t"], ["agreement", "t"], ["flags", "t"], ["guideline", "t"]]
    for words in [*looks, ["export", "said.csv", "--task", "t"]]:
        shown = rankscope("judge", *words)
        assert shown.code == 0, (words, shown.err)
    refused = rankscope("judge", "invite", "t", "Bo")
    assert (refused.code, "cannot be written: its file system is read-only" in refused.err) == (3, True)


def test_the_terminal_sees_what_the_page_judges_meanwhile(clinic, rankscope, monkeypatch):
    """Ann judges all 24 docs on the page while the terminal shows her the first."""
    create(rankscope)
    rankscope("judge", "invite", "t", "Ann")

    class Typed(io.StringIO):
        def __iter__(self):
            with open_store(clinic) as store:
                task = store.tasks.get("t")
                ann = session_of(store, task, store.raters.list(task)[0])
                for item in ann.state().items:
                    said = SaveRequest(uuid=str(uuid.uuid4()), query=item.query, doc=item.doc, grade=1.0)
                    assert ann.save(said).status == "ok"
            yield "2\n"

    monkeypatch.setattr("sys.stdin", Typed())
    done = rankscope("judge", "grade", "t", "--rater", "Ann")
    assert "Something else was saved meanwhile" in done.out
    assert done.out.count("0 of 24 docs judged") == 1
    assert "24 of 24 docs judged" in done.out


def test_a_table_without_rows_is_refused(clinic, rankscope, grades):
    (clinic / "empty.csv").write_text("query,doc,grade\n")
    refused = grades("1", what="empty.csv", rater="")
    assert (refused.code, "empty.csv holds no doc to judge" in refused.err) == (2, True)


def test_names_of_raters_stand_in_messages(clinic, rankscope, grades):
    create(rankscope)
    grades("2", rater="Dan")
    refused = rankscope("judge", "qrels", "t", "--rule", "dawid-skene")
    assert (refused.code, "but Dan has 1" in " ".join(refused.err.split())) == (2, True)
    rankscope("judge", "forget", "t", "Dan")
    assert "  rater 1 (name taken away): 1 judged, revoked" in rankscope("judge", "show", "t").out


def test_judgments_that_overlap_are_told_so_that_nobody_adds_them_up(clinic, rankscope):
    create(rankscope)
    (clinic / "in.csv").write_text("query,doc,grade,flag\nq00,y,1,yes\nq00,z,2,\n")
    taken = rankscope("judge", "import", "in.csv", "--task", "t")
    assert taken.out == "in.csv (table): 2 judgments (with 2 grades, 1 flag), 2 of them new\n"


def test_a_rater_who_is_not_known_is_not_added_by_a_typo(clinic, rankscope, grades):
    create(rankscope)
    rankscope("judge", "invite", "t", "Jörg")
    refused = grades("2", rater="Jorg")
    assert refused.code == 2
    assert "t has no rater 'Jorg'" in refused.err
    assert "Jörg" in refused.err
    assert "--new-rater" in refused.err
    with open_store(clinic) as store:
        assert [rater.name for rater in store.raters.list(store.tasks.get("t"))] == ["Jörg"]
    assert grades("2", rater="jörg").code == 0
    assert grades("2", rater="1").code == 0, "a number names a rater, too"
    assert grades("2", rater="Bo", flags=["--new-rater"]).code == 0
    again = grades("2", rater="Bo", flags=["--new-rater"])
    assert (again.code, "has a rater Bo already" in again.err) == (2, True)
    shown = rankscope("judge", "show", "t").out
    assert "rater 1, Jörg: 2 judged, not on the page" in shown
    assert "rater 2, Bo: 1 judged, not on the page" in shown


def test_a_number_in_place_of_a_rater_of_a_file_is_that_of_one(clinic, rankscope):
    create(rankscope)
    rankscope("judge", "invite", "t", "Ann")
    (clinic / "in.csv").write_text("query,doc,grade,flag\nq00,y,1,\n")
    refused = rankscope("judge", "import", "in.csv", "--task", "t", "--rater", "999")
    assert (refused.code, "t has no rater '999'" in refused.err, "there are Ann" in refused.err) == (2, True, True)
    assert rankscope("judge", "import", "in.csv", "--task", "t", "--rater", "1").code == 0
    assert "rater 1, Ann: 1 judged" in rankscope("judge", "show", "t").out


@pytest.mark.parametrize(("typed", "added"), [("y\n", True), ("\n", False)])
def test_at_a_terminal_it_is_asked_whether_a_new_rater_is_meant(monkeypatch, typed, added):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stdout", said := Terminal())
    assert is_meant("t has no rater Bo. Add one") is added
    assert said.getvalue() == "t has no rater Bo. Add one? [y/N] "


def test_answers_to_docs_that_come_twice_are_not_called_docs(clinic, rankscope, grades):
    """24 docs, of which a half are shown again: 36 answers."""
    rankscope("judge", "create", "t", "old", "new", "-m", "P@2", "--pool", "settle", "--repeat-share", "0.5")
    assert "0 of 36 answers given (12 docs are shown twice)" in grades("e").out


def test_who_has_nothing_left_is_told_so_once(clinic, rankscope, grades):
    create(rankscope, "--overlap", "2")
    lines = grades(*["1"] * 24).out.splitlines()
    assert lines[-2].startswith("24 of 24 docs judged. At most 24 more judgments")
    assert " ".join(lines[-2:]).endswith("Nothing of that is left for you.")
    assert len(lines[-2]) <= 80
    nothing = grades("e").out
    assert nothing.count("24 of 24 docs judged") == 1
    shown = " ".join(rankscope("judge", "show", "t").out.split())
    assert "10 docs have to be judged by 2 raters before there is a guess at fewer" in shown


def test_where_nobody_is_left_to_judge_it_is_said(clinic, rankscope, grades):
    """Two are to judge each of 24 docs. Who has judged one cannot be the second rater of it."""

    def shown():
        return " ".join(rankscope("judge", "show", "t").out.split())

    nobody = "No rater is left to judge them: `rankscope judge invite 1 NAME` adds one."
    create(rankscope, "--overlap", "2")
    assert "rater is left" not in shown(), "nobody was invited yet, and `create` says what is next"
    grades(*["1"] * 4)
    assert "Too few raters are left for 24 of them, as 2 judge each doc: `rankscope judge invite 1 NAME`" in shown()
    grades(*["1"] * 20)
    assert nobody in shown()
    grades("1", rater="bo", flags=["--new-rater"])
    assert "rater is left" not in shown()
    assert "raters are left" not in shown()
    rankscope("judge", "revoke", "t", "bo")
    assert nobody in shown()
    rankscope("judge", "revoke", "t", "ann")
    assert nobody in shown()


def test_extending_by_nothing_is_an_error(clinic, rankscope):
    create(rankscope)
    refused = rankscope("judge", "extend", "t", "--overlap", "1")
    assert (refused.code, "nothing is added: 1 rater for each doc is what t has" in refused.err) == (2, True)
    rankscope("judge", "create", "lists", "old", "new", "--lists", "--k", "2")
    assert "shows whole lists, which get no grades" in rankscope("judge", "extend", "lists", "--settle").err
    assert "shows whole lists, which get no grades" in rankscope("judge", "qrels", "lists").err


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


def test_a_revoked_rater_counts_in_the_list_where_something_was_judged(clinic, rankscope, grades):
    create(rankscope)
    grades("1")
    rankscope("judge", "invite", "t", "Bo", "Cy")
    rankscope("judge", "revoke", "t", "ann", "Cy")
    assert "1 of 24 docs judged, 2 raters, 1 of them revoked, open" in rankscope("judge", "list").out
    (task,) = json.loads(rankscope("judge", "list", "--format", "json").out)
    assert (task["raters"], task["revoked"]) == (2, 1)


def test_what_was_added_to_a_random_sample_is_not_called_drawn(clinic, rankscope):
    """Two runs have x, y and x, z of twelve queries: 36 docs, of which 5 are drawn. Of y and z, 24 docs can move P@2."""
    rankscope("judge", "create", "t", "old", "new", "-m", "P@2", "--pool", "sample", "--size", "5")
    assert "pool sample, 1 rater" in rankscope("judge", "show", "t").out
    added = int(re.search(r"t: (\d+) docs added", rankscope("judge", "extend", "t", "--settle").out)[1])
    assert 24 - 5 <= added <= 24
    assert f"pool sample and {added} docs added since, 1 rater" in rankscope("judge", "show", "t").out
    rankscope("judge", "extend", "t", "--size", "7")
    assert re.search(
        rf"pool sample and ({added}|{added - 1}|{added - 2}) docs added", rankscope("judge", "show", "t").out
    )


def test_docs_outside_a_task_are_said_and_added(clinic, rankscope):
    """Of each run's first doc, x, P@2 learns nothing: y and z of twelve queries decide, and are not in the task."""
    made = rankscope("judge", "create", "t", "old", "new", "-m", "P@2", "--k", "1", "--repeat-share", "0")
    assert made.out.startswith("task 1, t: 12 docs of 12 queries")
    (clinic / "in.txt").write_text("".join(f"{query} 0 x 2\n" for query in QUERIES))
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann")
    shown = " ".join(rankscope("judge", "show", "t").out.split())
    assert "24 open docs (24 of them outside the task)" in shown
    assert "The task alone cannot settle it for certain: 24 docs outside it could turn it" in shown
    read = json.loads(rankscope("judge", "show", "t", "--format", "json").out)
    figures = [read[name] for name in ("n_open", "n_judgments", "n_outside", "can_be_settled", "n_queries")]
    assert figures == [0, 0, 24, False, 12]
    (command,) = re.findall(r"`rankscope (judge extend [^`]*)`", shown)
    assert "t: 24 docs added" in rankscope(*command.split()).out
    assert "Judging all 24 open docs that can move it settles it for certain" in " ".join(
        rankscope("judge", "show", "t").out.split()
    )
    assert "no doc outside the task t can turn its verdict" in rankscope(*command.split()).err


def test_settled_says_of_which_docs_it_speaks(clinic, rankscope):
    """nDCG@1 reads x alone, which is first in both: +0 whatever it is. A doc further down would change the ideal."""
    rankscope("judge", "create", "t", "old", "new", "-m", "nDCG@1", "--k", "1", "--repeat-share", "0")
    (clinic / "in.txt").write_text("".join(f"{query} 0 x 2\n" for query in QUERIES))
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann")
    shown = " ".join(rankscope("judge", "show", "t").out.split())
    assert "Settled: no grade of an open doc of the task, or at rank 1 of a list, changes this." in shown
    elsewhere = "a relevant doc further down, or in no list, would change the ideal of nDCG@1"
    assert f"Not covered: {elsewhere}" in shown
    read = json.loads(rankscope("judge", "show", "t", "--format", "json").out)
    assert [read[name] for name in ("settled", "depth", "open_ideal", "n_outside")] == [True, 1, True, 0]
    refused = rankscope("judge", "extend", "t", "--settle")
    assert refused.code == 2
    assert "no doc outside the task t that is at rank 1 of a list can turn its verdict" in refused.err
    assert elsewhere in " ".join(refused.err.split())


def test_a_measure_without_bounds_is_noted_and_shown(clinic, rankscope):
    """ERR@2 by hand: y is worth nothing and z all there is, so new is ahead by 1/2 * 1/2 * 1/2 of each query."""
    made = rankscope("judge", "create", "t", "old", "new", "-m", "ERR@2", "--pool", "settle", "--repeat-share", "0")
    assert made.out.startswith("task 1, t: 36 docs of 12 queries to judge\n")
    assert "note: what open docs could do to ERR@2 at the worst is not known" in " ".join(made.out.split())
    rows = [f"{query} 0 {doc} {int(doc != 'y')}\n" for query in QUERIES for doc in "xyz"]
    for n, said in ((35, "it is settled once the 1 open doc is judged."), (36, "Settled: no grade of an open doc")):
        (clinic / "in.txt").write_text("".join(rows[:n]))
        rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann")
        shown = " ".join(rankscope("judge", "show", "t").out.split())
        assert "new against old: new is better. Its ERR@2 is higher by" in shown
        assert said in shown
    assert "higher by 0.125" in shown


def test_grades_that_a_measure_cannot_read_lock_nobody_out(clinic, rankscope):
    (clinic / "half.md").write_text("## Scale\n- 0 no\n- 0.5 half\n- 1 yes\n")
    given = ("judge", "create", "t", "old", "new", "--guideline", "half.md", "--k", "2", "--repeat-share", "0")
    refused = rankscope(*given, "-m", "P@2")
    assert refused.code == 2
    (works,) = re.findall(r"such as (P\S*);", " ".join(refused.err.split()))
    assert rankscope(*given, "-m", works).code == 0
    with open_store(clinic) as store:
        task = store.tasks.get("t")
        plan = replace(task.plan, measure="P@2")  # as a store from before it was refused has it
        store.tasks.extend(task, (), plan=plan)
    (clinic / "in.txt").write_text("".join(f"{query} 0 {doc} 0.5\n" for query in QUERIES for doc in "xyz"))
    assert rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann").code == 0
    shown = rankscope("judge", "show", "t")
    assert shown.code == 0
    assert "36 of 36 docs judged" in shown.out
    assert "rater 1, Ann: 36 judged" in shown.out
    assert "There is no verdict: P@2 needs whole grades" in " ".join(shown.out.split())
    assert rankscope("judge", "agreement", "t").code == 0
    assert rankscope("judge", "qrels", "t").code == 0


def test_a_scale_below_one_has_its_numbers_in_compare_as_well(clinic, rankscope):
    """nDCG@2 by hand: x is worth half of what there is at most, z all of it; so old has 0.5 / (1 + 0.5 / log2 3) = 0.380
    and new (0.5 + 1 / log2 3) / (1 + 0.5 / log2 3) = 0.860, which is 0.4796 more."""
    (clinic / "small.md").write_text("## Scale\n- 0 no\n- 0.25 some\n- 0.5 all\n")
    rankscope("judge", "create", "t", "old", "new", "--guideline", "small.md", "--k", "2", "-m", "nDCG@2")
    grade = {"x": 0.25, "y": 0, "z": 0.5}
    (clinic / "in.txt").write_text("".join(f"{query} 0 {doc} {grade[doc]}\n" for query in QUERIES for doc in "xyz"))
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann")
    assert "nDCG@2 is higher by 0.4796" in " ".join(rankscope("judge", "show", "t").out.split())
    assert "+0.4796" in rankscope("judge", "agreement", "t").out
    made = rankscope("judge", "qrels", "t", "-o", "out.txt").out
    export, compare = (line.split()[1:] for line in made.splitlines() if line.startswith("    rankscope "))
    assert compare[compare.index("--min-rel") + 1] == "0.25"
    rankscope(*export)
    files = [str(next(clinic.glob(word))) if "*" in word else word for word in compare]
    assert "0.4796" in rankscope(*files).out


def test_the_most_raters_of_a_doc_are_named(clinic, rankscope):
    create(rankscope)
    refused = rankscope("judge", "extend", "t", "--overlap", "1000000")
    assert (refused.code, "the number of raters of each doc (1000000) is from 1 to 1,000" in refused.err) == (2, True)


def test_compare_on_the_qrels_of_a_task_has_its_numbers(clinic, rankscope):
    """z is relevant for three of twelve queries: by P@2 +0.5 on each, which is 1.5 / 12, and 1.5 / 3 of those judged."""
    create(rankscope)
    rows = "".join(f"q0{i} 0 y 0\nq0{i} 0 z 2\n" for i in range(3))
    (clinic / "in.txt").write_text(rows)
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann")
    made = rankscope("judge", "qrels", "t", "-o", "out.txt").out
    told = " ".join(made.split())
    assert "As `judge show` has it: new +0.125 against old (n = 12)." in told
    assert "`compare` leaves out queries that qrels do not have, and says new +0.500 against old (n = 3)." in told
    export, compare = (line.split()[1:] for line in made.splitlines() if line.startswith("    rankscope "))
    assert rankscope(*export).code == 0
    files = [str(next(clinic.glob(word))) if "*" in word else word for word in compare]
    assert "+0.125" in rankscope(*files).out
    assert "higher by 0.125" in " ".join(rankscope("judge", "show", "t").out.split())


def test_lists_get_no_grades_and_settle_nothing(clinic, rankscope):
    rankscope("judge", "create", "l", "old", "new", "--lists", "-m", "P@2")
    shown = rankscope("judge", "show", "l").out
    assert "1 rater for each query, blind\n" in shown
    assert "Lists get no grades, so nothing is settled by them; `rankscope judge flags 1`" in " ".join(shown.split())
    assert "settles it for certain" not in shown


def test_large_numbers_have_separators():
    many = ListedTask(1, "t", "c", "docs", "top", "open", 1406, 0, 1203, 1001, 2, 3, 0, "2026-01-01")
    assert judged_words(many) == "1,203 of 1,406 docs judged (1,001 by 2 raters)"
    assert judged_words(replace(many, gold=4)).endswith("(1,001 by 2 raters), beside 4 gold docs")


def test_gold_docs_are_counted_apart_as_nobody_may_have_them(clinic, rankscope):
    """Ten docs are judged, and gold docs are checks: what of these is in nobody's queue would never be judged."""
    with open_store(clinic) as store:
        task = create_task(
            store,
            "t",
            TaskPlan(pool="file", gold_share=0.2, repeat_share=0.0),
            collection=store.runs.collections()[0],
            pairs=[("q00", doc) for doc in "xyz"],
            gold={"q00": {"w": 1.0, "v": 0.0}},
        )
        ann, _ = store.raters.invite(task, name="Ann")
        session = session_of(store, task, ann)
        for item in session.state().items:
            assert (
                session.save(SaveRequest(uuid=str(uuid.uuid4()), query=item.query, doc=item.doc, grade=1.0)).status
                == "ok"
            )
        assert session.state().done == session.state().n
        n_gold = sum(item.gold is not None for item in store.tasks.items(task))
    assert f"task 1, t: 3 of 3 docs judged, beside {n_gold} gold doc" in rankscope("judge", "show", "t").out


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
    folder = rankscope("judge", "guideline", "t", ".")
    assert (folder.code, folder.err) == (
        2,
        "error: . is a folder\nhint: give the file of the guideline, a text in Markdown\n",
    )
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
        "in.txt (qrels): 1 judgment (with 1 grade), 1 of them new\n  note: 1 judgment of docs outside the task left out\n"
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
        (["qrels", "t", "--format", "html"], "hint: --format html goes with agreement, flags\n"),
        (["show", "t", "--format", "html"], "show writes text or json, not html"),
        (["list", "--format", "latex"], "list writes text or json, not latex"),
        (["show", "nobody"], "there is no task 'nobody'"),
        (["invite", "t"], "no rater is named"),
        (["invite", "t", "Ann", "--url", "javascript:x"], "is no address of a page"),
        (["invite", "t", ""], "a rater has no name"),
        (["revoke", "t", "Ann"], "t has no rater 'Ann'"),
        (["extend", "t"], "nothing is added"),
        (["import", "a", "b"], "one file is named"),
        (["import", "none.txt", "--task", "t", "--kind", "x"], "--kind 'x' is not one of"),
        (["export", "x.bin"], "in which form judgments are written"),
        (["create", "t2", "old", "--k", "1_0"], "--k '1_0' is not a whole number"),
        (["create", "t2", "old", "--k", "9" * 20], "is not a whole number, or too large"),
        (["create", "t2", "old", "--k", str(2**31)], "k (2147483648) is at most 2,147,483,647"),
        (["create", "t2", "old", "--size", str(2**31)], "the size (2147483648) is at most 2,147,483,647"),
        (["create", "t2", "--file", "none.csv"], "none.csv does not exist"),
        (["show", "t", "x", "y z"], "show does nothing with x 'y z'"),
        (["list", "t"], "list does nothing with t"),
        (["guideline", "t", "a.md", "b.md"], "guideline does nothing with b.md"),
        (["grade", "a.csv", "b.csv"], "grade does nothing with b.csv"),
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


def test_the_first_line_in_a_terminal_names_the_keys(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("query,doc,grade\nq1,d1,\n")
    grading = Grading(FileDesk(path))
    first, *others = grading.start()
    assert first == "keys: 0 1 2 3 grade, x flag, b choose, ? cannot tell, u undo, m all keys, e end"
    assert others == list(grading.screen())
    list(grading.press("2"))
    assert list(Grading(FileDesk(path)).start()) == ["1 of 1 doc judged"], "no key grades where nothing is left"


def test_what_would_command_a_terminal_is_seen(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        json.dumps({"query": "q", "doc": "d", "query_text": "\x1b[2J heart", "text": "\x1b]0;x\x07 heart"}) + "\n"
    )
    shown = "\n".join(Grading(FileDesk(path), bold=True).screen())
    assert "\\x1b[2J heart" in shown
    assert "\x1b[1mheart\x1b[0m" in shown
    assert "\x1b]" not in shown


def model_lines(path):
    """Write what a model says: x and z are relevant for all queries."""
    source = {"kind": "judge", "name": "grader", "model": "gpt 5"}
    said = [
        {"query": query, "doc": doc, "grade": 2.0 * (doc != "y"), "source": source}
        for query in QUERIES
        for doc in "xyz"
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in said))


def test_labels_of_a_model_are_taken_in_and_audited(clinic, rankscope):
    model_lines(clinic / "model.jsonl")
    taken = rankscope("judge", "import", "model.jsonl")
    assert taken.code == 0, taken.err
    assert taken.out == (
        "model.jsonl (judgments): 36 judgments (with 36 grades), 36 of them new\n"
        "labels of a model: --judge-qrels 'gpt 5' audits them\n"
    )
    made = rankscope("judge", "create", "a", "old", "new", "-m", "P@2", "--pool", "audit", "--judge-qrels", "gpt 5")
    # x, y and z of every query: P@2 reads two docs of each list, though more are usual
    assert made.out.startswith("task 1, a: 36 docs of 12 queries to judge\n")
    same = rankscope("judge", "create", "b", "old", "new", "-m", "P@1", "--pool", "audit", "--judge-qrels", "gpt 5")
    assert (same.code, "there is nothing to judge" in same.err) == (2, True)
    lost = rankscope("judge", "create", "c", "old", "new", "--pool", "audit", "--judge-qrels", "gpd")
    assert (lost.code, "a file of labels can be named, too" in lost.err) == (2, True)


@pytest.mark.parametrize(("name", "called"), [("model.jsonl", "'gpt 5'"), ("labels.txt", "labels")])
def test_labels_of_a_model_are_named_as_a_file(clinic, rankscope, name, called):
    model_lines(clinic / "model.jsonl")
    (clinic / "labels.txt").write_text("".join(f"{query} 0 z 2\n" for query in QUERIES))
    made = rankscope("judge", "create", "a", "old", "new", "-m", "P@2", "--pool", "audit", "--judge-qrels", name)
    assert made.code == 0, made.err
    first, second, _ = made.out.split("\n", 2)
    assert first == f"the labels of {name} are kept as those of a model: --judge-qrels {called}"
    assert second == "task 1, a: 36 docs of 12 queries to judge"


def test_a_rule_that_makes_no_labels_is_said_wherever_a_task_is_shown(clinic, rankscope):
    """Ann and Bo differ on x: `only` refuses that, so nothing is settled, and qrels are refused."""
    rankscope("judge", "create", "t", "old", "new", "--k", "2", "-m", "P@1", "--overlap", "2", "--rule", "only")
    for name, grade in {"Ann": 2, "Bo": 1}.items():
        (clinic / "in.txt").write_text(f"q00 0 y 2\nq00 0 x {grade}\n")
        rankscope("judge", "import", "in.txt", "--task", "t", "--rater", name)
    shown = json.loads(rankscope("judge", "show", "t", "--format", "json").out)
    why = "raters disagree on 1 doc, the first is x for query q00"
    assert (shown["stage"], shown["settled"], shown["no_labels"]) == ("no labels", False, why)
    assert shown["short"].startswith("It is not settled: the rule of this task gives no labels yet, as raters gave")
    assert f"The task's rule (only) gives no labels yet: {why}." in shown["words"]
    assert rankscope("judge", "qrels", "t").code == 2


def test_qrels_by_the_trusted_rater_are_those_of_show_by_any_word_for_them(clinic, rankscope):
    rankscope("judge", "create", "t", "old", "new", "--k", "2", "-m", "P@1", "--rule", "trusted", "--trusted", "Ann")
    (clinic / "in.txt").write_text("q00 0 y 2\nq00 0 x 1\n")
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Ann")
    (clinic / "in.txt").write_text("q01 0 y 2\n")
    rankscope("judge", "import", "in.txt", "--task", "t", "--rater", "Bo")
    for word in ("Ann", "1"):
        made = rankscope("judge", "qrels", "t", "--trusted", word).out
        assert "note: Ann did not grade 1 doc: lower median of the others" in made
        assert "so that its numbers are others" not in made
    rankscope("judge", "forget", "t", "Ann")
    assert "note: rater 1 did not grade 1 doc" in rankscope("judge", "qrels", "t").out
