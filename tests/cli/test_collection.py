"""`rankscope collection`."""

import json

import pytest

OBO = """format-version: 1.2
data-version: hp/releases/2000-01-01

[Term]
id: HP:0000118
name: Phenotypic abnormality

[Term]
id: HP:0000010
name: Abnormality of the nervous system
synonym: "Nerve trouble" EXACT layperson []
is_a: HP:0000118

[Term]
id: HP:0000011
name: Seizure
def: "A sudden event." []
synonym: "Fits" EXACT layperson []
synonym: "Epileptic attack" EXACT []
is_a: HP:0000010
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.obo").write_text(OBO)
    return tmp_path


@pytest.fixture
def mini(here):
    folder = here / "mini"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "text": "A sudden event.", "year": 2020}\n{"_id": "d2", "text": ""}\n'
    )
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "q{i}", "text": "x", "language": "{"de" if i % 3 else "en"}", "note": "n{i}"}}\n' for i in range(8)))  # fmt: skip
    (folder / "qrels.txt").write_text("q0 0 d1 2\nq1 0 d9 0\n")
    return folder


def test_show(rankscope, mini):
    done = rankscope("collection", "show", "mini")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["mini"]
    assert lines[1][:2] == ["docs", "2"]
    assert lines[2][:2] == ["queries", "8"]
    assert lines[3][:2] == ["judgments", "2"]
    assert "grades     0: 1, 2: 1" in done.out
    assert "fields     year" in done.out
    assert "by language de 5, en 3" in done.out
    assert "by note    8 values, each once" in done.out
    assert "problems   1 doc without a text or title, the first at mini/corpus.jsonl:2" in done.out
    assert "problems   6 queries without judgments: q2, q3, q4, …" in done.out
    assert "problems   1 judged doc not among the docs: d9" in done.out


def test_show_by_name_and_as_json(rankscope, mini, here, monkeypatch):
    (here / "rankscope.toml").write_text('[collections.small]\npath = "mini"\n')
    monkeypatch.setattr(
        "rankscope.experiment.fingerprint.SETTLED_NS", 0
    )  # hashes of files that are old enough are kept
    record = json.loads(rankscope("collection", "show", "small", "--format", "json").out)
    assert record["name"] == "small"
    assert record["docs"]["n"] == 2
    assert len(record["qrels"]["sha256"]) == 64
    assert record["attributes"]["language"] == {"de": 5, "en": 3}
    assert len(record["problems"]) == 3
    assert (here / ".rankscope" / "collections").is_dir()


def test_a_name_of_the_project_goes_before_a_folder_of_that_name(rankscope, mini, here):
    (here / "small").mkdir()  # a folder that is no collection
    (here / "rankscope.toml").write_text('[collections.small]\npath = "mini"\n[systems.x]\nurl = "${NOT_SET}"\n')
    assert "needs the environment variable" in rankscope("collection", "show", "small").err
    assert rankscope("collection", "show", "mini").code == 0  # the project does not name it
    (here / "rankscope.toml").write_text('[collections.small]\npath = "mini"\n')
    done = rankscope("collection", "show", "small")
    assert done.out.splitlines()[0] == "small"
    assert done.out.splitlines()[1].split()[-1] == "mini/corpus.jsonl"
    assert "holds no" in rankscope("collection", "show", "./small").err


def test_size_and_dates(rankscope, mini):
    docs = [("d1", "2024-05-31"), ("d2", "2024-01-07T10:00:00"), ("d3", "2023-12"), ("d4", "last week"), ("d5", None)]
    lines = [{"_id": doc, "text": "y", "published_at": date, "year": 2020 + i, "n": 2024} for i, (doc, date) in enumerate(docs)]  # fmt: skip
    (mini / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = rankscope("collection", "show", "mini")
    assert "dates      2023-12 to 2024-05-31 (published_at of 3 docs)" in done.out
    assert "dates      2020 to 2024 (year of 5 docs)" in done.out
    assert "(n of" not in done.out  # a number that looks like a year
    assert "problems   1 doc where the field published_at holds no date as 2024-05-31: 'last week'" in done.out
    assert "size       2 judged queries: too few even for a quick check, which takes 9; 50 for development" in done.out
    record = json.loads(rankscope("collection", "show", "mini", "--format", "json").out)
    assert record["dates"]["year"] == {"n": 5, "first": "2020", "last": "2024", "n_other": 0, "first_other": ""}
    assert record["size"]["judged_queries"] == 2
    checked = rankscope("validate", "mini")
    assert checked.code == 1
    assert "mini: dates from 2023-12 to 2024-05-31 (published_at of 3 docs)" in checked.out
    assert "mini: 6 queries without judgments" in checked.out
    assert checked.out.splitlines()[-1] == "mini: 3 problems (5 docs, 8 queries)"
    as_json = rankscope("validate", "mini", "--format", "json")
    assert as_json.code == 1
    assert len(json.loads(as_json.out)["problems"]) == 3


def test_validate_finds_queries_that_repeat_a_doc(rankscope, mini):
    (mini / "corpus.jsonl").write_text('{"_id": "d1", "text": "X."}\n{"_id": "d9", "text": "other"}\n')
    (mini / "qrels.txt").write_text("".join(f"q{i} 0 d1 1\n" for i in range(8)))
    done = rankscope("validate", "mini")
    assert done.code == 1
    assert "8 of 8 queries (100.0%) are the whole text of a doc, 8 of them of a relevant one" in done.out
    (mini / "corpus.jsonl").write_text('{"_id": "d1", "title": "X.", "text": "and more"}\n')
    done = rankscope("validate", "mini")
    assert done.code == 1
    assert "8 of 8 queries (100.0%) are the title of a doc, 8 of them of a relevant one" in done.out
    (mini / "corpus.jsonl").write_text('{"_id": "d1", "text": "X and more"}\n')
    assert rankscope("validate", "mini").out == "mini: nothing odd (1 doc, 8 queries)\n"
    assert rankscope("validate", "mini").code == 0


def test_hpo(rankscope, here):
    done = rankscope("collection", "hpo", "--ontology", "small.obo", "--size", "2", "-o", "hpo")
    assert done.code == 0, done.err
    assert done.out.startswith("hpo: 3 docs, 2 queries, ")
    assert "category   " in done.out
    assert "hp/releases/2000-01-01" in done.out
    assert "Gargano MA" in done.out
    assert "https://hpo.jax.org/app/license" in done.out
    assert done.out.splitlines()[-1] == "next: rankscope init --collection hpo"
    shown = rankscope("collection", "show", "hpo")
    assert "Gargano MA" in shown.out
    assert "problems   none" in shown.out
    again = rankscope("collection", "hpo", "--ontology", "small.obo", "--size", "2", "-o", "hpo")
    assert again.code == 2
    assert "hpo is there already" in again.err


def test_hpo_in_several_languages(rankscope, here):
    (here / "t").mkdir()
    (here / "t/labels.de.tsv").write_text("hpo_id\tlabel\nHP:0000011\tAnfall\nHP:0000010\tNerven\n")
    lacking = rankscope("collection", "hpo", "--ontology", "small.obo", "--languages", "en,de", "--translations", "t", "-o", "y")  # fmt: skip
    assert lacking.code == 2
    assert "there are labels in 'de', but no synonyms" in lacking.err
    assert "synonyms.de.tsv" in lacking.err
    assert not (here / "y").exists()
    (here / "t/synonyms.de.tsv").write_text("hpo_id\tsynonym\nHP:0000011\tKrampf|Fits\nHP:0000010\tStörung\n")
    done = rankscope("collection", "hpo", "--ontology", "small.obo", "--size", "2", "--languages", "en,de", "--translations", "t", "--parallel", "--format", "json", "-o", "hpo")  # fmt: skip
    english, german = json.loads(done.out)
    assert (english["folder"], german["folder"]) == ("hpo/en", "hpo/de")
    ids = [[json.loads(line)["_id"] for line in (here / "hpo" / code / "queries.jsonl").read_text().splitlines()] for code in ("en", "de")]  # fmt: skip
    assert ids[0] == ids[1] == ["q-HP:0000010", "q-HP:0000011"]
    assert english["counts"]["docs"] == german["counts"]["docs"] == 2
    german_queries = [json.loads(line)["text"] for line in (here / "hpo/de/queries.jsonl").read_text().splitlines()]
    assert german_queries == ["Störung", "Krampf"]  # Fits is an English name
    more = rankscope("collection", "hpo", "--ontology", "small.obo", "--size", "1", "--languages", "de", "--translations", "t", "--docs", "label+definition", "-o", "z")  # fmt: skip
    assert "1 of 2 terms have a definition in English, but none in 'de'" in more.err


def test_hpo_queries_that_are_labels_come_with_a_warning(rankscope):
    arguments = ["--ontology", "small.obo", "--size", "3", "--categories", "exact_match,layperson", "--docs", "label"]
    done = rankscope("collection", "hpo", *arguments, "-o", "y")
    assert done.code == 2  # there are two terms in the branches
    done = rankscope("collection", "hpo", *arguments, "--size", "2", "-o", "hpo")
    assert "1 of 2 queries (50.0%) is the whole text of a doc, 1 of them of a relevant one" in done.out
    shown = rankscope("collection", "show", "hpo")
    assert "1 of 2 queries (50.0%) is the whole text of a doc" in shown.out
    wrong = rankscope("collection", "hpo", *arguments, "--categories", "laypersn", "-o", "y")
    assert "category 'laypersn' is not one of exact_match, synonym" in wrong.err


def test_the_shipped_german_cases(rankscope, here):
    done = rankscope("collection", "hpo", "--ontology", "small.obo", "--cases", "german", "-o", "german")
    assert done.code == 0, done.err
    assert "german: 3 docs, 30 queries, 31 judgments" in done.out
    again = rankscope("collection", "hpo", "--ontology", "small.obo", "--cases", "german", "-o", "other")
    assert again.code == 0, again.err  # the folder of that name is no file of cases
    assert "abbreviation 4, complex 6, exact_match 6, layperson 8, synonym 6" in done.out
    assert json.loads((here / "german/queries.jsonl").read_text().splitlines()[0])["language"] == "de"


def test_hpo_cases(rankscope, here):
    (here / "cases.json").write_text(json.dumps([{"text": "Anfall", "expected_hpo_ids": ["HP:0000011"]}]))
    done = rankscope("collection", "hpo", "--ontology", "small.obo", "--cases", "cases.json", "--languages", "de", "-o", "out")  # fmt: skip
    assert done.code == 0, done.err
    assert json.loads((here / "out/queries.jsonl").read_text())["language"] == "de"
    assert (here / "out/qrels/test.tsv").read_text() == "query-id\tcorpus-id\tscore\n0\tHP:0000011\t1\n"
    several = rankscope("collection", "hpo", "--cases", "cases.json", "--languages", "de,en", "-o", "x")
    assert "test cases are in one language" in several.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["shwo", "x"], "there is no action 'shwo'; there are show, hpo"),
        (["show"], "no collection is given"),
        (["hpo"], "where to write is given with -o"),
        (["hpo", "x", "-o", "y"], "where to write is given with -o"),
        (["hpo", "--size", "huge", "-o", "y"], "size 'huge' is neither"),
        (["hpo", "--languages", "de", "--ontology", "small.obo", "-o", "y"], "what terms are called in 'de'"),
        (
            ["hpo", "--size", "99", "--ontology", "small.obo", "-o", "y"],
            "99 queries were asked for, but there are only 2",
        ),
        (["show", "nowhere"], "nowhere does not exist"),
    ],
)
def test_what_is_refused(rankscope, arguments, message, here):
    done = rankscope("collection", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not (here / "y").exists()
