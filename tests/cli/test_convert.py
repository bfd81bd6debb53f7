"""`rankscope convert`."""

import pytest

RUN = "q1 Q0 a 1 0.30000000000000004 mine\nq1 Q0 b 2 1e-320 mine\nq2 Q0 ä 1 -7.0 mine\n"


@pytest.fixture
def run_file(tmp_path, monkeypatch):
    (tmp_path / "in.run").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.tsv.gz", "out.parquet", "out.arrow", "out.txt.zst"])
def test_there_and_back_again_is_the_same(rankscope, run_file, name):
    there = rankscope("convert", "in.run", name)
    assert (there.code, there.out) == (0, "")
    assert there.err.startswith("run: 3 rows, 2 queries, trec -> ")
    assert rankscope("convert", name, "back.run").code == 0
    assert (run_file / "back.run").read_text() == RUN


def test_to_standard_output(start, run_file):
    done = start("convert", "in.run", "-", "--to", "json")
    assert done.out == '{\n"q1": {"a": 0.30000000000000004, "b": 1e-320},\n"q2": {"ä": -7.0}\n}\n'
    assert done.err == "run: 3 rows, 2 queries, trec -> json\n"


def test_from_standard_input(start, run_file):
    assert start("convert", "-", "out.run", stdin=RUN.encode()).code == 0
    assert (run_file / "out.run").read_text() == RUN


def test_columns_can_be_named(rankscope, run_file):
    (run_file / "stars.csv").write_text("question,page,stars\nq1,a,3\n")
    done = rankscope("convert", "stars.csv", "qrels.txt", "--columns", "query=question,doc=page,grade=stars")
    assert done.code == 0
    assert (run_file / "qrels.txt").read_text() == "q1 0 a 3\n"


def test_lenient_says_how_many_lines_were_skipped(rankscope, run_file):
    (run_file / "bad.run").write_text(RUN + "oops\n")
    assert rankscope("convert", "bad.run", "out.csv").code == 2
    done = rankscope("convert", "bad.run", "out.csv", "--lenient")
    assert done.code == 0
    assert "warning: 1 bad line was skipped" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.run", "out.csv", "--to", "cvs"], "did you mean csv"),
        (["in.run", "out.csv", "--kind", "runs"], "did you mean run?"),
        (["in.run", "out.tsv", "--to", "beir"], "BEIR has no format for runs"),
        (["in.run"], "the following arguments are required: OUT"),
        (["nothing.run", "out.csv"], "nothing.run does not exist"),
        (["in.run", "nowhere/out.csv"], "nowhere does not exist"),
    ],
)
def test_mistakes_get_a_message_that_helps(rankscope, run_file, arguments, message):
    done = rankscope("convert", *arguments)
    assert done.code == 2
    assert message in done.err
