"""The text that trec_eval 9.0.8 and 10.0 print, byte for byte; the expected files are the programs' own output."""

from pathlib import Path

import pytest

from rankscope.evaluation import trec_eval_text

pytestmark = pytest.mark.filterwarnings("ignore:.*does not answer:rankscope.errors.RankscopeWarning")

HERE = Path(__file__).parent / "trec_eval"
OPTIONS = {
    "q": {},
    "qc": {"complete": True},
    "qcl2": {"complete": True, "min_rel": 2},
    "qcM10": {"complete": True, "depth": 10},
    "qcJ": {"complete": True, "judged_only": True},
}
CASES = sorted(
    (case.name, path.name.rsplit(".", 2)[0], path.name.rsplit(".", 2)[1])
    for case in HERE.iterdir()
    for path in case.glob("trec_eval-*.txt")
)


def text_of(case: str, program: str, option: str) -> str:
    folder = HERE / case
    return trec_eval_text(
        folder / "qrels.txt",
        folder / "run.txt",
        ["all_trec"],
        profile={"trec_eval-9.0.8": "trec_eval-9", "trec_eval-10.0": "trec_eval-10"}[program],
        per_query=True,
        **OPTIONS[option],
    )


def test_all_cases_are_there():
    assert len(CASES) == 8 * 2 * 5 - 1  # trec_eval 10 itself fails on missing queries without -c


@pytest.mark.parametrize(("case", "program", "option"), CASES)
def test_text_equals_the_program(case, program, option):
    expected = (HERE / case / f"{program}.{option}.txt").read_text()
    assert text_of(case, program, option) == expected
