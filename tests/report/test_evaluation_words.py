"""What is said below a table of scores: shares that are true, and nothing twice."""

import pytest

from rankscope.cli.main import main
from rankscope.report.evaluation import percent


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1 - 40_000 / 10_000_000, "99.6%"),
        (1 - 40 / 10_000_000, "over 99.9%"),
        (1.0, "100%"),
        (0.354, "35%"),
        (0.004, "0.4%"),
        (0.00001, "under 0.1%"),
        (0.0, "0%"),
    ],
)
def test_a_share_that_is_not_all_is_never_100_percent(share, words):
    assert percent(share) == words


def test_the_share_of_unjudged_docs_is_not_rounded_up_to_all(write_file, capsys):
    run = write_file("".join(f"q1 Q0 d{i} {i} {-i} t\n" for i in range(1, 301)), "a.run")
    qrels = write_file("q1 0 d1 1\n", "qrels.txt")
    assert main(["evaluate", str(qrels), str(run), "--no-store"]) == 0
    assert "99.7% of the retrieved docs are unjudged" in capsys.readouterr().out  # 299 of 300


def test_details_say_once_what_files_were_read_as(write_file, capsys):
    run = write_file("query,doc,score\nq1,d1,2\n", "a.csv")
    qrels = write_file("q1 0 d1 1\n", "qrels.txt")
    assert main(["evaluate", str(qrels), str(run), "--no-store"]) == 0
    assert capsys.readouterr().out.count("read as") == 1
    assert main(["evaluate", str(qrels), str(run), "--no-store", "--details"]) == 0
    assert capsys.readouterr().out.count("read as") == 1
