"""`rankscope demo --podcast|--doctors|--hpo|--recipes`: each tells a story that is true and that a user can go on with."""

import gzip
import json
import re
import shlex
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope.cli.demo_stories import STORIES, fitted_lines, typed, wrapped
from rankscope.cli.main import main
from rankscope.demo import demo_file, story_files

READING = ("evaluate", "explain", "diagnose")
"""Commands that print and write nothing."""
LEFT_BEHIND = {
    "podcast": ("judged/qrels.txt", "week-2.json", "trend.svg"),
    "doctors": ("cases/qrels.txt", "cases/queries.jsonl"),
    "hpo": ("hpo/corpus.jsonl", "hpo/qrels/test.tsv"),
    "recipes": ("vectors.npy", "vectors.ids.txt", "relevance-diversity.svg"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("stories")


@pytest.fixture(scope="module")
def told(home):
    """Return a function that tells a story once, and gives what it printed."""
    texts = {}

    def tell(name, capsys, monkeypatch):
        monkeypatch.chdir(home)
        missing = [package for package in STORIES[name].needs if find_spec(package) is None]
        if missing:
            pytest.skip(f"{', '.join(missing)} is not installed")
        if name not in texts:
            assert main(["demo", f"--{name}"]) == 0
            texts[name] = capsys.readouterr().out
        return texts[name]

    return tell


def commands_in(text):
    """Return the commands that were typed, with what each of them printed."""
    whole = text.replace(" \\\n", " ")
    parts = re.split(r"^\$ rankscope ", whole, flags=re.MULTILINE)[1:]
    return [(shlex.split(part.partition("\n")[0]), part.partition("\n")[2]) for part in parts]


def numbers_in(text):
    return re.findall(r"-?\d+\.\d+", text)


@pytest.mark.parametrize("name", STORIES)
class TestAStory:
    """What holds for each of them."""

    def test_the_answer_comes_first_and_is_that_of_the_run(self, told, name, capsys, monkeypatch):
        text = told(name, capsys, monkeypatch)
        question, nothing, *rest = text.splitlines()
        assert (question, nothing) == (STORIES[name].question, "")
        answer = " ".join(line.strip() for line in rest[: rest.index("")])
        comparison = rs.run_project(f"{name}-demo").collections[0].comparison
        for pair in comparison:
            verdict = pair.final_verdict
            assert f"{verdict.text} {verdict.reason}" in answer

    def test_it_fits_into_80_columns(self, told, name, capsys, monkeypatch):
        text = told(name, capsys, monkeypatch)
        assert [line for line in text.splitlines() if len(line) > 80] == []

    def test_it_leaves_a_project_to_go_on_with(self, told, name, capsys, monkeypatch):
        told(name, capsys, monkeypatch)
        folder = Path(f"{name}-demo")
        for file in ("rankscope.toml", "report.html", "results/manifest.json", *LEFT_BEHIND[name]):
            assert (folder / file).stat().st_size > 0
        assert main(["run", str(folder)]) == 0

    def test_its_commands_print_what_it_shows(self, told, name, capsys, monkeypatch):
        text = told(name, capsys, monkeypatch)
        checked = 0
        for arguments, printed in commands_in(text):
            if arguments[0] in READING and "-o" not in arguments:
                main(arguments)
                again = capsys.readouterr().out
                shown = next(found for paragraph in printed.split("\n\n") if (found := numbers_in(paragraph)))
                assert set(shown) <= set(numbers_in(again))
                checked += 1
        assert checked

    def test_what_it_proposes_works(self, told, name, capsys, monkeypatch):
        told(name, capsys, monkeypatch)
        for command in STORIES[name].next_commands:
            arguments = [re.sub("^F(?=/|$)", f"{name}-demo", word) for word in shlex.split(command)]
            assert main(arguments) in (0, 1), arguments
        capsys.readouterr()

    def test_a_folder_that_is_there_is_not_touched(self, told, name, capsys, monkeypatch):
        told(name, capsys, monkeypatch)
        before = Path(f"{name}-demo/report.html").read_bytes()
        assert main(["demo", f"--{name}"]) == 2
        err = capsys.readouterr().err
        assert f"{name}-demo is there already" in err
        assert f"rankscope run {name}-demo" in err
        assert Path(f"{name}-demo/report.html").read_bytes() == before


def test_a_story_that_is_stopped_leaves_an_empty_folder(tmp_path, capsys, monkeypatch):
    if any(find_spec(package) is None for package in STORIES["doctors"].needs):
        pytest.skip("what the demo needs is not installed")

    def stop(folder, *_, **__):
        assert any(folder.iterdir())
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rankscope.cli.demo_stories.run_story", stop)
        assert main(["demo", "--doctors", "--folder", str(tmp_path / "mine")]) == 130
    assert not list((tmp_path / "mine").iterdir())
    assert main(["demo", "--doctors", "--folder", str(tmp_path / "mine")]) == 0, "the same can be asked for again"
    assert (tmp_path / "mine/report.html").is_file()
    capsys.readouterr()


def test_scores_of_the_podcast_story_are_those_of_trec_eval(told, capsys, monkeypatch):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    text = told("podcast", capsys, monkeypatch)
    qrels, run = {}, {}
    for line in Path("podcast-demo/judged/qrels.txt").read_text().splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    packed = Path("podcast-demo/results/runs/podcasts/meaning.trec.gz").read_bytes()
    for line in gzip.decompress(packed).decode().splitlines():
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    scored = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    mean = sum(of_query["ndcg_cut_10"] for of_query in scored.values()) / len(qrels)
    assert re.search(rf"^nDCG@10 +{mean:.4f} excellent", text, flags=re.MULTILINE)


def test_the_best_doctor_variant_is_the_one_that_is_shown_in_full(told, capsys, monkeypatch):
    text = told("doctors", capsys, monkeypatch)
    assert "negatives has the best mean RR" in text
    assert "nobody is called 'Dr Otto Quint'" in " ".join(text.split())


def test_the_most_precision_that_the_doctor_story_names_is_that_of_its_judgments(told, capsys, monkeypatch):
    text = " ".join(told("doctors", capsys, monkeypatch).split())
    judged = [line.split() for line in Path("doctors-demo/cases/qrels.txt").read_text().splitlines()]
    relevant = Counter(query for query, _, _, grade in judged if int(grade) > 0)
    n_cases = len({query for query, *_ in judged})
    most = [sum(min(n, k) for n in relevant.values()) / k / n_cases for k in (3, 5, 10)]
    assert "P@3 cannot exceed {:.3f}, P@5 {:.3f} and P@10 {:.3f}".format(*most) in text


def test_the_ontology_story_shows_kinds_of_queries(told, capsys, monkeypatch):
    text = told("hpo", capsys, monkeypatch)
    cases = json.loads(Path("hpo-demo/german_cases.json").read_text("utf-8"))["test_cases"]
    for category, n in Counter(case["category"] for case in cases).items():
        assert re.search(rf"^category +{category} +{n} ", text, flags=re.MULTILINE)
    page = Path("hpo-demo/report.html").read_text("utf-8")
    assert "MaxOntSim@10" in page


def test_the_recipes_report_has_the_charts_of_diversity(told, capsys, monkeypatch):
    told("recipes", capsys, monkeypatch)
    page = Path("recipes-demo/report.html").read_text("utf-8")
    assert "Relevance and diversity" in page
    assert "What the systems have in common" in page


@pytest.mark.parametrize("name", ["podcast", "doctors", "hpo"])
def test_without_its_packages_a_story_says_what_to_install(rankscope, monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rankscope.cli.demo_stories.find_spec", lambda _: None)
    done = rankscope("demo", f"--{name}")
    assert done.code == 2
    assert 'pip install "rankscope[systems' in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_else(rankscope, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    done = rankscope("demo", "--doctors", "--folder", tmp_path)
    assert done.code == 2
    assert "rankscope run" not in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_terminal_that_knows_no_lines(start, tmp_path):
    pytest.importorskip("bm25s")
    folder = tmp_path / "a folder"
    done = start("demo", "--doctors", "--folder", folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.code == 0, done.err
    assert "-----" in done.out
    assert shlex.quote(str(folder / "report.html")) in done.out


def test_one_story_at_a_time(rankscope):
    assert rankscope("demo", "--podcast", "--hpo").code == 2
    assert rankscope("demo", "--podcast", "--files", "x").code == 2


def test_long_commands_are_typed_over_several_lines():
    lines = typed(["evaluate", "a" * 60, "-m", "nDCG@10 AP", "--format", "csv", "b" * 70])
    assert lines == [
        "$ rankscope evaluate \\",
        f"    {'a' * 60} \\",
        "    -m 'nDCG@10 AP' --format csv \\",
        f"    {'b' * 70}",
    ]


def test_prose_is_wrapped_behind_its_label():
    first, second = wrapped("  note       " + "word " * 20)
    assert first.startswith("  note       word word")
    assert second.startswith("             word")
    assert max(map(len, (first, second))) <= 80


def test_tables_are_not_wrapped():
    rule = "─" * 90
    two = [f"measure{'run':>83}", rule, f"a{'0.5000 good':>89}", f"{'b' * 60}{'1.0000':>30}"]
    assert list(fitted_lines([*two, "prose " * 20])) == [
        f"measure{'run':>73}",
        "─" * 80,
        f"a{'0.5000 good':>79}",
        f"{'b' * 60}{'1.0000':>20}",
        *wrapped("prose " * 20),
    ]
    three = [f"run   one{'two':>81}", rule, f"a{'0.5000   0.6000':>89}"]
    assert list(fitted_lines(three)) == [three[0], "─" * 80, three[2]]
    narrow = ["measure   run", "─────────────", "a         0.5"]
    assert list(fitted_lines(narrow)) == narrow
    assert list(fitted_lines([])) == []


# The data


def rows_in(name):
    return [json.loads(line) for line in demo_file(name).read_text("utf-8").splitlines()]


def test_the_podcast_set_is_complete():
    episodes = rows_in("podcast/episodes.jsonl")
    assert len(episodes) == 10
    wanted = {"_id", "title", "text", "topics", "podcast_id", "podcast_title", "published_at"}
    assert all(set(episode) == wanted and episode["topics"] for episode in episodes)
    ids = [episode["_id"] for episode in episodes]
    judgments = json.loads(demo_file("podcast/judgments.json").read_text("utf-8"))
    assert all(list(grades) == ids and set(grades.values()) <= {0, 1, 2, 3} for grades in judgments.values())
    assert all(max(grades.values()) >= 2 for grades in judgments.values())
    assert demo_file("podcast/episodes.ids.txt").read_text("utf-8").split() == ids


def test_the_vectors_of_the_podcast_set_are_those_of_the_embedded_model(rankscope, tmp_path, monkeypatch):
    pytest.importorskip("wordllama")
    monkeypatch.chdir(tmp_path)
    for name, file in story_files("podcast").items():
        (tmp_path / name).write_bytes(file.read_bytes())
    assert rankscope("import", "judgments.json", "-o", "judged").code == 0
    assert rankscope("embed", "podcasts", "-o", "made.npy").code == 0
    np.testing.assert_allclose(np.load("episodes.npy"), np.load("made.npy"), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(np.load("episodes.npy"), axis=1), 1, atol=1e-6)


def test_the_doctor_set_is_complete():
    people = json.loads(demo_file("doctors/practitioners.json").read_text("utf-8"))
    names = {person["name"] for person in people}
    assert all(set(person) == {"practitioner_id", "name", "specialty", "profile"} for person in people)
    cases = json.loads(demo_file("doctors/test-cases.json").read_text("utf-8"))["testCases"]
    specialties = {person["specialty"] for person in people}
    for case in cases:
        assert case["conversation"][0] == {"role": "user", "content": case["userQuery"]}
        assert [turn["role"] for turn in case["conversation"]] == ["user", "assistant", "user"]
        assert case["expectedSpecialty"] in specialties
        assert names & set(case["groundTruth"])
    assert {name for case in cases for name in case["groundTruth"]} - names == {"Dr Otto Quint"}
    expansions = json.loads(demo_file("doctors/expansions.json").read_text("utf-8"))
    assert list(expansions) == [case["id"] for case in cases]


def test_the_cookbook_has_a_text_for_every_judged_recipe():
    judged = {line.split()[2] for line in demo_file("qrels.txt").read_text("utf-8").splitlines()}
    docs = rows_in("recipes/docs.jsonl")
    assert {doc["_id"] for doc in docs} == judged
    assert all(doc["title"] and len(doc["text"]) > 40 for doc in docs)
    queries = {line.split()[0] for line in demo_file("qrels.txt").read_text("utf-8").splitlines()}
    assert {query["_id"] for query in rows_in("recipes/queries.jsonl")} == queries


def test_the_sample_data_is_small():
    sizes = [len(file.read_bytes()) for name in STORIES for file in story_files(name).values()]
    assert sum(sizes) < 60_000
