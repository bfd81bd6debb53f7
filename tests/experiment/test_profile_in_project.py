"""Profile, policies and bands of a project file: `run` scores as `evaluate` does with the same options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.errors import OptionError
from rankscope.experiment.project import read_project
from rankscope.experiment.results import BenchmarkRecord
from rankscope.report.benchmark import report_of
from rankscope.report.render import render

EPISODES = ("machine learning", "deep learning", "deep vision", "pasta", "machine")
PROJECT = """\
[collections.pod]
path = "pod"
[systems.bm25]
type = "bm25"
"""


@pytest.fixture
def project(tmp_path):
    """Return a function that runs a project on five episodes and three queries, of which one is not judged."""
    folder = tmp_path / "pod"
    folder.mkdir()
    docs = [
        {"_id": f"e{i}", "text": text, "podcast_id": f"p{i % 2}", "published_at": f"2025-01-0{i + 1}", "topics": [text]}
        for i, text in enumerate(EPISODES)
    ]
    queries = [{"_id": text, "text": text} for text in ("learning", "deep", "pasta")]
    for name, rows in (("corpus", docs), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "qrels.txt").write_text("learning 0 e1 3\nlearning 0 e0 1\ndeep 0 e4 1\n")

    def run(text):
        file = tmp_path / "rankscope.toml"
        file.write_text(text + PROJECT)
        return rs.run_project(rs.load_project(file))

    return run


def means(benchmark):
    return {name: mean.value for name, mean in benchmark.collections[0].scores["bm25"].mean().items()}


def test_a_profile_brings_its_measures_policies_and_queries(project):
    """By hand: `learning` shows e0 and e1 in some order, `deep` e1 and e2, `pasta`, not judged, e3."""
    benchmark = project('profile = "parakeet"\n')
    found = means(benchmark)
    first = benchmark.collections[0].scores["bm25"]["learning", "RR"]
    assert list(found) == [
        "MeanGain(max_grade=3)", "P@10", "R@10", "nDCG@10", "RR", "Uniqueness", "TopicCoverage",
        "Distinct(field='podcast_id')", "DateDistinct(field='published_at')",
        "ContentDiversity(field='podcast_id', date='published_at')",
    ]  # fmt: skip
    assert found["RR"] == pytest.approx(first / 3)  # from grade 2 up, so e4 of `deep` is not relevant; `pasta` counts 0
    assert found["MeanGain(max_grade=3)"] == pytest.approx((4 / 6 + 0 + 0) / 3)
    assert found["TopicCoverage"] == pytest.approx((2 / 5 + 2 / 5 + 1 / 5) / 3)
    assert found["Distinct(field='podcast_id')"] == 1
    notes = " ".join(benchmark.collections[0].notes)
    assert "1 query without judgments was asked. Its relevance is 0, and it counts." in notes
    assert "profile parakeet: not measured are ILD: add embeddings = FILE to the collection" in notes


def test_what_run_says_is_what_evaluate_says_of_its_runs(project, tmp_path):
    found = means(project('profile = "parakeet"\n'))
    run = tmp_path / "results/runs/pod/bm25.trec.gz"
    with pytest.warns(rs.RankscopeWarning, match="1 of 3 queries has no judgments") as caught:
        scores = rs.evaluate(tmp_path / "pod/qrels.txt", run, profile="parakeet", docs=tmp_path / "pod/corpus.jsonl")
    (warning,) = caught
    assert any("ILD" in note for note in warning.message.notes)
    assert {name: mean.value for name, mean in scores["bm25"].mean().items()} == pytest.approx(found)


def test_what_the_file_says_wins_over_the_profile(project):
    text = 'profile = "parakeet"\nmeasures = ["RR", "P@2"]\nunjudged_queries = "skip"\nmin_rel = 1\n'
    found = means(project(text))
    assert found == {"RR": 0.5, "P@2": 0.5}  # `learning` has two relevant docs, `deep` shows none of its own
    excluded = means(project('measures = "RR"\nmin_rel = 2\nno_relevant = "exclude"\n'))
    assert excluded["RR"] in (1, 1 / 2)  # `deep` has no doc of grade 2, so `learning` alone counts


def test_run_shows_the_words_of_the_bands(project):
    """P@2 over two queries is 0.5, R@5 is 0.5 and nDCG@10 at most 0.5 by one query without anything found."""
    benchmark = project('bands = "doctor-search"\nmeasures = ["P@2", "R@5", "nDCG@10"]\n')
    text = render(report_of(benchmark, with_figures=False), "markdown")
    words = "bm25: moderate precision@2, moderate recall@5"
    assert "In words (bands doctor-search)" in text
    assert words in text
    assert words in render(report_of(benchmark), "html")
    record = BenchmarkRecord.from_json(benchmark.to_json())
    assert (record.bands, record.profile) == ("doctor-search", None)
    stored = record.collections[0].evaluation
    assert stored.bands == "doctor-search"
    assert stored.runs[0].words["P@2"] == "moderate"
    assert stored.runs[0].in_words.startswith("moderate precision@2, moderate recall@5")


def test_run_says_over_how_many_queries_a_rank_is(project):
    text = render(report_of(project('measures = ["FirstRel", "RR"]\n'), with_figures=False), "markdown")
    assert "(n=1)" in text  # nothing is found for `deep`
    assert "n: how many queries the mean is over" in text


def test_bands_of_ones_own_stand_beside_the_project(project, tmp_path):
    (tmp_path / "ours.toml").write_text('[bands]\nRR = [[0, 0.6, "weak"], [0.6, 1, "strong"]]\n')
    benchmark = project('bands = "ours.toml"\nmeasures = "RR"\n')
    assert benchmark.record.collections[0].evaluation.runs[0].words == {"RR": "weak"}


def test_options_are_chosen_by_the_measure_of_the_profile(project, tmp_path):
    project('profile = "dartboard"\nprimary = "nDCG@10"\n')
    manifest = json.loads((tmp_path / "results/manifest.json").read_text())
    assert (manifest["profile"], manifest["primary"]) == ("dartboard", "nDCG(gain='binary')@10")


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("profile = 'parakit'", "rankscope.toml: there is no profile 'parakit'", "parakeet"),
        ("ties = 'randomly'", "rankscope.toml: ties = 'randomly' is not one of trec, given, ascending", ""),
        ("min_rel = -1", "rankscope.toml: min_rel is -1, but should be a grade from 0 up", ""),
        ("unjudged_queries = 'ask'", "rankscope.toml: unjudged_queries is 'ask', but should be one of skip, zero", ""),
        ("bands = 'doctor'", "rankscope.toml: bands: there are no bands 'doctor'", ""),
        ("judged_only = 1", "rankscope.toml: judged_only is 1, but should be", ""),
    ],
)
def test_what_a_project_cannot_say(text, problem, hint):
    with pytest.raises(OptionError) as raised:
        read_project(text, file=Path("rankscope.toml"), environment={})
    assert raised.value.message.startswith(problem)
    assert hint in (raised.value.hint or "")


def test_measures_and_primary_are_those_of_the_profile():
    project = read_project('profile = "ranking_algo"', file=Path("rankscope.toml"), environment={})
    assert project.measures[:6] == ("P@3", "R@3", "P@5", "R@5", "RR", "nDCG(gain='binary')@5")
    assert project.primary == "P@3"
    named = read_project('profile = "ranking_algo"\nprimary = "nDCG@12"', file=Path("rankscope.toml"), environment={})
    assert named.primary == named.measures[-1] == "nDCG(gain='binary')@12"
    assert len(named.measures) == 12


REPEATS = """\
def listed(text):
    return ["e1", "e0", "e1", "e3"]

def scored(text):
    return [("e1", 1.0), ("e0", 2.0), ("e1", 3.0), ("e3", 0.5)]
"""
"""`e1` is listed twice; in `scored` its later row has the higher score."""
SYSTEMS = """
[systems.listed]
type = "python"
function = "repeats:listed"
[systems.scored]
type = "python"
function = "repeats:scored"
[systems.old]
type = "run"
path = "old.run"
[systems.both]
type = "hybrid"
of = ["listed", "bm25"]
"""
LISTS = {
    "listed": ["e1", "e0", "e1", "e3"],
    "scored": {"e0": 2.0, "e1": 1.0, "e3": 0.5},
    "old": ["e0", "e1", "e0", "e3"],
}


@pytest.fixture
def repeats(project, tmp_path):
    """Return a function that runs the project with systems whose lists have a doc twice."""
    (tmp_path / "repeats.py").write_text(REPEATS)
    rows = (
        f"{q} Q0 {d} {r} {9 - r} old\n" for q in ("learning", "deep", "pasta") for r, d in enumerate(LISTS["old"], 1)
    )
    (tmp_path / "old.run").write_text("".join(rows))

    def run(text):
        file = tmp_path / "rankscope.toml"
        file.write_text(text + PROJECT + SYSTEMS)
        return rs.run_project(rs.load_project(file)).collections[0]

    return run


@pytest.mark.parametrize("text", ['profile = "parakeet"\n', 'duplicates = "first"\n'])
@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
def test_lists_with_a_doc_twice_are_measured_as_evaluate_does(repeats, tmp_path, text):
    result = repeats(f'measures = ["Uniqueness", "RR", "nDCG@10", "P@3"]\n{text}')
    assert [len(system.failures) for system in result.systems] == [0] * 5
    how = {"profile": "parakeet"} if "profile" in text else {"duplicates": "first"}
    asked = ("learning", "deep", "pasta") if "profile" in text else ("learning", "deep")
    runs = {name: dict.fromkeys(asked, docs) for name, docs in LISTS.items()}
    given = rs.evaluate(tmp_path / "pod/qrels.txt", runs, result.scores.measures, **how)
    for name in ("listed", "old"):
        assert result.scores[name].to_dict() == given[name].to_dict()
        assert result.scores[name]["learning", "Uniqueness"] == 3 / 4
    for measure in ("RR", "nDCG@10", "P@3"):  # the first row of `e1` counts, which has the lower score
        assert result.scores["scored"]["learning", measure] == given["scored"]["learning", measure]
    assert result.scores["scored"]["learning", "Uniqueness"] == 3 / 4
    assert result.scores["both"]["learning", "Uniqueness"] == 1  # what is made of lists has each doc once
    written = rs.evaluate(tmp_path / "pod/qrels.txt", tmp_path / "results/runs/pod/listed.trec.gz", "Uniqueness", **how)
    assert written["listed"]["learning", "Uniqueness"] == 3 / 4


def test_without_such_a_policy_a_list_with_a_doc_twice_fails(repeats):
    repeats('measures = ["RR"]\nduplicates = "first"\n')  # what was kept under it is not taken for an answer
    result = repeats('measures = ["RR"]\n')
    failed = {system.name: len(system.failures) for system in result.systems}
    assert failed == {"bm25": 0, "listed": 2, "scored": 2, "old": 2, "both": 2}
    reasons = {failure.reason for system in result.systems for failure in system.failures if system.name == "listed"}
    assert all("doc 'e1' is there twice" in reason for reason in reasons)
