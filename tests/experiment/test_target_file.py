"""Target files: the same from TOML and YAML, and errors that name the line."""

from datetime import date

import pytest

import rankscope as rs
from rankscope.errors import InputError, RankscopeError
from rankscope.experiment.target_file import target_schema
from rankscope.records import to_builtins

TOML = """\
# what we promise
[[targets]]
name = "opening hours first"
query = "q17"
doc = "d42"
top = 3
owner = "search team"
reason = "callers ask for it"
weight = 2
quarantine_until = 2026-12-31

[[targets]]
query = 7
never = ["d1", 0]
top = 10

[[targets]]
distinct = 3
field = "source"
top = 10
stratum = {language = "de", long = true}

[[targets]]
name = "floor"
measure = "nDCG@10"
at_least = 0.5
only = "hybrid"
collection = ["a", "b"]
"""
YAML = """\
# what we promise
targets:
  - name: opening hours first
    query: q17
    doc: d42
    top: 3
    owner: search team
    reason: callers ask for it
    weight: 2
    quarantine_until: 2026-12-31
  - query: 7
    never: [d1, 0]
    top: 10
  - distinct: 3
    field: source
    top: 10
    stratum: {language: de, long: true}
  - name: floor
    measure: nDCG@10
    at_least: 0.5
    only: hybrid
    collection:
      - a
      - b
"""


def load(tmp_path, text, name="targets.toml"):
    path = tmp_path / name
    path.write_text(text)
    return rs.load_targets(path)


def refused(tmp_path, text, name="targets.toml"):
    with pytest.raises(RankscopeError) as caught:
        load(tmp_path, text, name)
    return caught.value


def test_toml_and_yaml_hold_the_same(tmp_path):
    from_toml, from_yaml = load(tmp_path, TOML), load(tmp_path, YAML, "targets.yaml")
    assert from_toml == from_yaml
    assert load(tmp_path, YAML.replace("targets:\n", ""), "targets.yml") == from_toml  # the list alone
    first, second, third, fourth = from_toml
    assert (first.name, first.kind, first.query, first.docs, first.top) == (
        "opening hours first",
        "docs",
        "q17",
        ("d42",),
        3,
    )
    assert (first.owner, first.reason, first.weight) == ("search team", "callers ask for it", 2.0)
    assert first.quarantine_until == date(2026, 12, 31)
    assert (second.name, second.query, second.docs) == ("7: never d1 or 0 in the top 10", "7", ("d1", "0"))
    assert third.stratum == {"language": "de", "long": "true"}
    assert third.name == "language = de, long = true: at least 3 distinct values of source in the top 10"
    assert (fourth.measure, fourth.at_least, fourth.only, fourth.collections) == (
        "nDCG@10",
        0.5,
        ("hybrid",),
        ("a", "b"),
    )


def test_dates_may_be_texts(tmp_path):
    (target,) = load(tmp_path, '[[targets]]\nquery = "q"\nnever = "d"\nquarantine_until = "2026-12-31"\n')
    assert target.quarantine_until == date(2026, 12, 31)


def test_ids_of_yaml_stay_what_they_look_like(tmp_path):
    text = "- {query: no, never: [0123, 12:30, 0x1F, 1_000, ~tilde, off]}\n- {query: '2026-01-01', never: 'true'}\n"
    first, second = load(tmp_path, text, "t.yaml")
    assert (first.query, first.docs) == ("no", ("0123", "12:30", "0x1F", "1_000", "~tilde", "off"))
    assert (second.query, second.docs) == ("2026-01-01", ("true",))


ONE = '[[targets]]\nname = "one"\nquery = "q"\n'


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (f'{ONE}doc = "d"\ntopp = 3\n', "targets.toml:5: target number 1: unknown key 'topp'", "did you mean top?"),
        ('[[target]]\nquery = "q"\n', "targets.toml: unknown key 'target'", "did you mean targets?"),
        (f'{ONE}doc = "d"\n', "targets.toml:1: target 'one' has doc, but no top", "add top = …"),
        ('[[targets]]\ndoc = "d"\ntop = 3\n', "targets.toml:1: target number 1 has doc, but no query", "add query"),
        (f'{ONE}doc = "d"\nnever = "e"\ntop = 3\n', "has both doc and never", "one of doc, one_of, never"),
        (ONE, "target 'one' says nothing of what is expected", "one of doc"),
        (f'{ONE}doc = "d"\ntop = 0\n', "targets.toml:5: target number 1: top is 0, but must be a whole number", ""),
        (f'{ONE}doc = "d"\ntop = "3"\n', "top is '3', but must be a whole number from 1 up", "how many"),
        (f'{ONE}doc = "d"\ntop = true\n', "top is True, but must be a whole number", ""),
        (f"{ONE}doc = 1.5\ntop = 3\n", "doc is 1.5, but must be an id", ""),
        (f'{ONE}doc = ""\ntop = 3\n', "doc is '', but must be an id", ""),
        (f"{ONE}doc = []\ntop = 3\n", "doc is [], but must be an id", ""),
        (f'{ONE}doc = ["a", "a"]\ntop = 3\n', "names doc 'a' twice", ""),
        (f'{ONE}doc = ["a", "b"]\ntop = 1\n', "2 docs cannot all be in the top 1", "one_of"),
        (f'{ONE}never = "d"\nfield = "x"\n', "has never, with which field does not go", ""),
        (f'{ONE}stratum = {{a = 1}}\nnever = "d"\n', "has both query and stratum", ""),
        (f'{ONE}doc = "d"\ntop = 1\nstratum = {{a = 1}}\n', "has doc, with which stratum does not go", ""),
        (f'{ONE}measure = "nDCG@10"\n', "has measure, which needs one limit", "at_least"),
        (f'{ONE}measure = "nDCG@10"\nat_least = 1\nat_most = 1\n', "needs one limit", ""),
        (
            f'{ONE}measure = "nDCG@10"\nat_least = nan\n',
            "at_least is nan, which is no number to reach",
            "at_least = 0.5",
        ),
        (f'{ONE}measure = "nDGC@10"\nat_least = 1\n', "targets.toml:1: target 'one': ", "nDCG"),
        (f'{ONE}measure = "nDCG@10"\nat_least = 1\ntop = 3\n', "has measure, with which top does not go", ""),
        (f'{ONE}never = "d"\nweight = 0\n', "weight is 0, but must be a number above 0", ""),
        (f'{ONE}never = "d"\nweight = inf\n', "weight is inf", ""),
        (f'{ONE}never = "d"\nquarantine_until = "soon"\n', "quarantine_until is 'soon', but must be a date", ""),
        (f'{ONE}never = "d"\nquarantine_until = "2026-02-30"\n', "'2026-02-30', but must be a date", ""),
        (f'{ONE}never = "d"\nquarantine_until = 2026-12-31T10:00:00\n', "but must be a date", ""),
        (f'{ONE}never = "d"\nquarantine_until = 20261231\n', "20261231, but must be a date", ""),
        (f'{ONE}never = "d"\nquarantine_until = 2026-02-30\n', "is not valid TOML: ", ""),
        ("", "holds no targets", "[[targets]]"),
        ("targets = 3\n", "targets is 3, but must be a list", ""),
        ("targets = [3]\n", "target number 1: it is 3, but must be a table", ""),
        (f'{ONE}never = "d"\n\n{ONE}never = "e"\n', "two targets are called 'one': line 1 and line 6", "own"),
        ('[[targets]]\nquery = "q"\nnever = "d"\n' * 2, "two targets are called 'q: never d': line 1 and line 4", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, message, hint):
    error = refused(tmp_path, text)
    assert message in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("targets:\n  - query: q\n    doc: d\n    topp: 3\n", "targets.yaml:4: target number 1: unknown key 'topp'"),
        ("- query: q\n  doc: d\n- query: q\n  never: d\n", "targets.yaml:1: target number 1 has doc, but no top"),
        ("- query: q\n  never: d\n  query: r\n", "targets.yaml:3: the key 'query' is there twice"),
        ("- query: q\n  never: true\n", "never is True, but must be an id"),
        ("- query: q\n  never: 2026-01-01\n", "never is 2026-01-01, but must be an id"),
        ("- query: q\n  never: d\n  quarantine_until: 2026-02-30\n", "is not valid YAML"),
        ("- query: [q\n", "targets.yaml:2 is not valid YAML"),
        ("- &a {query: q, never: d}\n- *a\n", "aliases (*name) are not read"),
        ("- !!python/object/apply:os.system [exit]\n", "is not valid YAML: could not determine a constructor"),
        ("a: 1\n---\nb: 2\n", "is not valid YAML"),
        ("just a text\n", "holds no targets"),
        ("", "holds no targets"),
        ("targets: []\n", "holds no targets"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_in_yaml_is_said_with_its_line(tmp_path, text, message):
    assert message in refused(tmp_path, text, "targets.yaml").message


def test_a_file_that_is_not_there_or_no_target_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        rs.load_targets(tmp_path / "none.toml")
    assert ".toml, .yaml" in refused(tmp_path, "[]", "targets.json").hint
    (tmp_path / "latin.toml").write_bytes(b'[[targets]]\nname = "\xe9"\n')
    with pytest.raises(InputError, match="not UTF-8"):
        rs.load_targets(tmp_path / "latin.toml")


def test_without_pyyaml_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    error = refused(tmp_path, YAML, "targets.yaml")
    assert "needs the package yaml" in error.message
    assert error.hint == "pip install 'rankscope[yaml]'"
    assert len(load(tmp_path, TOML)) == 4  # which needs no package


def test_lines_are_not_taken_from_texts_that_look_like_tables(tmp_path):
    text = 'reason = """\n[[targets]]\n"""\n'
    error = refused(tmp_path, f'[[targets]]\nquery = "q"\nnever = "d"\n{text}topp = 3\n')
    assert error.message.startswith("targets.toml: target number 1: unknown key 'topp'")


def test_the_schema_takes_what_is_read(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    import tomllib

    jsonschema.validate(to_builtins(tomllib.loads(TOML)), target_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"targets": [{"topp": 3}]}, target_schema())


def test_targets_from_python_are_records_or_tables():
    qrels, run = {"q": {"a": 1}}, {"r": {"q": ["a"]}}
    (target,) = rs.check(qrels, run, {"query": "q", "doc": "a", "top": 1}).targets
    report = rs.check(qrels, run, [target, {"query": "q", "never": "a", "name": "other"}])
    assert [result.outcome for result in report.results] == ["passed", "failed"]
    with pytest.raises(RankscopeError, match="two targets are called"):
        rs.check(qrels, run, [target, target])
    with pytest.raises(RankscopeError, match="targets: target number 1: unknown key 'tpo'"):
        rs.check(qrels, run, {"query": "q", "doc": "a", "tpo": 1})
    with pytest.raises(RankscopeError, match="names a collection"):
        rs.check(qrels, run, {"query": "q", "doc": "a", "top": 1, "collection": "x"})
