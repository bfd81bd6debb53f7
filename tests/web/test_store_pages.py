"""The pages of history, targets, collections and measures: what they say is what the functions of the library say."""

import json

import pytest
from sample import fill_store

import rankscope as rs
from rankscope.errors import InputError, collect_notes
from rankscope.experiment.history import history_of
from rankscope.records import to_json
from rankscope.store import open_store
from rankscope.web.library import Library
from rankscope.web.pages.collections import CollectionsOptions, collections_page
from rankscope.web.pages.history import HistoryOptions, history_page
from rankscope.web.pages.measures import MeasuresOptions, measures_page
from rankscope.web.pages.targets import TargetsOptions, targets_page

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")


def test_the_history_of_the_page_is_that_of_the_command(server, filled):
    shown = json.loads(server.get("/history.json?measure=RR@10").data)["history"]
    known = history_of(filled, collection="doctor-finder", measure="RR@10", n_changes=8)
    assert shown == json.loads(to_json(known))


def test_the_history_says_what_must_be_known_of_its_numbers(tmp_path):
    with fill_store(tmp_path, n_queries=12) as store, collect_notes() as notes:
        library = Library(store)
        history_page(library, HistoryOptions())
        assert any("does not answer 1 of 12 queries" in note for note in notes)
        notes.clear()
        history_page(library, HistoryOptions())  # from before, with its notes
        assert any("does not answer 1 of 12 queries" in note for note in notes)


def test_a_measure_that_does_not_exist_is_an_error_with_a_suggestion(server):
    answer = server.get("/history?measure=ndgc@10")
    assert answer.status == 400
    assert "did you mean nDCG" in answer.data.decode()
    assert server.get("/history.json?measure=ndgc@10").status == 400


def test_an_option_that_is_no_number_is_refused(server):
    answer = server.get("/history.json?last=many")
    assert answer.status == 400
    assert "last" in json.loads(answer.data)["error"]


@pytest.fixture
def judged(tmp_path):
    """A store of two queries: three docs were judged, two of those are found, in a list of four."""
    with open_store(tmp_path, create=True) as store:
        from rankscope.store import CollectionFacts, RunFacts, StoredQuery

        queries = {"q1": StoredQuery("soup", {"language": "en"}), "q2": StoredQuery("Kuchen", {"language": "de"})}
        run = rs.Run({"q1": {"d1": 4.0, "d2": 3.0, "d8": 2.0, "d9": 1.0}, "q2": {"d1": 1.0, "d7": 0.5}})
        facts = RunFacts(
            system="bm25",
            started="2026-10-05T09:12:00.000000+00:00",
            collection=CollectionFacts(name="food", queries=queries, counts={"docs": 9}),
        )
        store.runs.add(run, facts)
        store.qrels.add(rs.Qrels({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}), name="food")
        yield store


def test_a_collection_says_how_much_of_what_is_found_is_judged(judged):
    page = collections_page(Library(judged), CollectionsOptions(collection="food"))
    assert page.details.judged[0].share == pytest.approx((2 / 4 + 1 / 2) / 2)  # by hand, the mean over queries
    assert page.details.grades == ((2.0, 1), (1.0, 1), (0.0, 1))
    assert [(one.name, one.values) for one in page.details.attributes] == [("language", (("en", 1), ("de", 1)))]
    assert page.lines[0].n_docs == 9
    assert page.lines[0].n_queries == 2
    assert "not judged" in page.answer.headline


def test_an_unknown_collection_is_named_with_those_that_there_are(judged):
    with pytest.raises(InputError, match="no runs on 'drink'"):
        collections_page(Library(judged), CollectionsOptions(collection="drink"))


def test_targets_that_fail_come_first_and_are_counted(judged):
    run = judged.runs.ranking(judged.runs.find("bm25"))
    targets = [
        {"query": "q1", "doc": "d1", "top": 1, "name": "soup first"},
        {"query": "q1", "doc": "d9", "top": 2, "name": "nine", "owner": "ada", "reason": "sold most"},
    ]
    report = rs.check({"q1": {"d1": 2}, "q2": {"d1": 1}}, {"bm25": run}, targets)
    judged.targets.add(report, {("", "bm25"): run})
    page = targets_page(Library(judged), TargetsOptions())
    assert page.answer.headline == "1 of 2 targets fails."
    assert [line.state for line in page.lines] == ["failed", "passed"]
    assert page.lines[0].owner == "ada"
    only = targets_page(Library(judged), TargetsOptions(state="passed"))
    assert [line.name for line in only.lines] == ["soup first"]
    assert only.answer == page.answer


def test_a_target_counts_once_whatever_the_number_of_systems(judged):
    run = judged.runs.ranking(judged.runs.find("bm25"))
    targets = [
        {"query": "q1", "doc": "d9", "top": 2, "name": "nine"},
        {"query": "q1", "doc": "d1", "top": 1, "name": "a"},
    ]
    report = rs.check({"q1": {"d1": 2}, "q2": {"d1": 1}}, {"bm25": run, "other": {"q1": {"d1": 1.0}}}, targets)
    judged.targets.add(report, {("", "bm25"): run, ("", "other"): run})
    answer = targets_page(Library(judged), TargetsOptions()).answer
    assert answer.headline == "1 of 2 targets fails."
    assert answer.reason == "2 targets in 2 systems, 4 checks: 2 hold, 2 fail, 0 in quarantine."


def test_no_targets_say_how_to_get_some(server):
    assert b"No target was checked yet" in server.get("/targets").data


def test_measures_are_those_of_the_registry():
    page = measures_page(None, MeasuresOptions())
    shown = {entry.name for _, entries in page.families for entry in entries}
    assert {"nDCG", "AP", "RR", "ERR", "RBP"} <= shown
    assert page.n_measures == len(shown)
    assert page.chosen is None
    found = measures_page(None, MeasuresOptions(find="reciprocal"))
    assert "RR" in {entry.name for _, entries in found.families for entry in entries}
    assert len(found.families) < len(page.families)
    one = measures_page(None, MeasuresOptions(name="nDCG")).chosen
    assert "0.6199" in dict(one.facts)["example"]  # by hand: 1.6309 / 2.6309


def test_an_empty_store_says_what_will_be_here(tmp_path):
    with open_store(tmp_path, create=True) as store:
        library = Library(store)
        assert collections_page(library, CollectionsOptions()).answer is None
        assert targets_page(library, TargetsOptions()).answer is None
