"""A kind of chart is a file and a line in the registry: commands and reports find it there, and load no other."""

import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

import rankscope as rs
from rankscope.errors import OptionError
from rankscope.records import replace
from rankscope.report.charts import CHARTS, charts_from, figure, figures
from rankscope.report.charts import numbers as n
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.svg import straight

QRELS = {f"q{i}": {"d1": 1} for i in range(6)}
RUNS = {"old": {q: {"d2": 2.0, "d1": 1.0} for q in QRELS}, "new": {q: {"d1": 2.0, "d2": 1.0} for q in QRELS}}


class TallyChart(Chart):
    """How many systems there are, as a tally."""

    kind: ClassVar[str] = "tally"
    names: list[str]

    @classmethod
    def from_comparison(cls, comparison):
        return cls(list(comparison.systems), title="Systems")

    def checked(self):
        n.require(self.names, "systems")
        return replace(self, names=sorted(self.names))

    def records(self):
        return [{"system": name} for name in self.names]

    def alt(self):
        return f"{len(self.names)} systems."

    def draw(self, drawing):
        for i, _ in enumerate(self.names):
            drawing.add(straight(20 + 10 * i, drawing.y, 20 + 10 * i, drawing.y + 30, stroke="currentColor"))
        drawing.space(30)


@pytest.fixture
def tally(monkeypatch):
    monkeypatch.setattr(CHARTS, "entries", dict(CHARTS.entries))
    monkeypatch.setattr(CHARTS, "_loaded", dict(CHARTS._loaded))
    CHARTS.add("tally", TallyChart, "one stroke per system")


@pytest.fixture
def files(tmp_path):
    lines = [f"{q} 0 {d} {grade}\n" for q, docs in QRELS.items() for d, grade in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, run in RUNS.items():
        rows = [f"{q} Q0 {d} 1 {score} {name}\n" for q, docs in run.items() for d, score in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    return [str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run")]


@pytest.mark.usefixtures("tally")
def test_a_new_kind_is_drawn_by_the_command_that_has_what_it_needs(files, tmp_path, capsys):
    from rankscope.cli.main import main

    target = tmp_path / "tally.svg"
    assert main(["compare", *files, "--chart", "tally", "-o", str(target)]) == 0
    assert target.read_text().count("<line") == 2
    assert main(["evaluate", *files, "--chart", "tally", "-o", str(target)]) == 2
    assert "--chart tally is not one of curves" in capsys.readouterr().err
    assert charts_from("comparison")[-1] == "tally"


@pytest.mark.usefixtures("tally")
def test_a_new_kind_is_a_block_of_a_report():
    comparison = rs.compare(QRELS, RUNS, "RR")
    block = figure("tally", "comparison", comparison)
    assert (block.title, block.alt) == ("Systems", "2 systems.")
    assert 'id="tally-title"' in block.svg


def test_what_cannot_be_drawn_is_no_block():
    comparison = rs.compare(QRELS, RUNS, "RR")
    with pytest.raises(OptionError, match="nothing to draw"):
        CHARTS["strata"].from_comparison(comparison).render()
    assert figures("strata", "comparison", comparison) == []


def test_commands_offer_the_kinds_they_can_draw():
    of_comparison = ["forest", "matrix", "differences", "scatter", "strata", "systems", "distribution"]
    assert charts_from("comparison") == of_comparison
    assert charts_from("runs") == [
        "curves",
        "precision_recall",
        "systems",
        "distribution",
        "positions",
        "overlap",
        "relevance_diversity",
    ]
    assert charts_from("score_files") == ["trend"]
    for source in ("comparison", "runs", "score_files"):
        assert charts_from(source) == [name for name in CHARTS if hasattr(CHARTS[name], f"from_{source}")]


def test_the_help_of_a_command_loads_no_chart():
    code = (
        "import sys\n"
        "from rankscope.cli.main import parser_of\n"
        "parser_of('compare').format_help()\n"
        "print(*(name for name in sys.modules if name.startswith('rankscope.report.charts.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_every_kind_has_a_summary_and_its_name():
    for name in CHARTS:
        assert CHARTS.summary(name)
        assert CHARTS[name].kind == name


def test_a_text_report_loads_no_chart():
    code = (
        "import sys, rankscope as rs\n"
        "from rankscope.report.comparison import report_of\n"
        "from rankscope.report.render import render\n"
        f"comparison = rs.compare({QRELS!r}, {RUNS!r}, 'RR')\n"
        "render(report_of(comparison, with_figures=False), 'text')\n"
        "print(*(name for name in sys.modules if name.startswith('rankscope.report.charts.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rankscope.report.charts.sources"]


def test_overlap_follows_the_policies_of_the_evaluation(files, tmp_path):
    from rankscope.cli.main import main

    with Path(files[2]).open("a") as run:
        run.write("q0 Q0 d1 3 0.5 new\n")
    target = tmp_path / "overlap.svg"
    options = ["--chart", "overlap", "-o", str(target)]
    assert main(["evaluate", *files, *options]) == 2
    assert main(["evaluate", *files, "--duplicates", "first", *options]) == 0
    assert "new and old share 1.000 of their first 10 docs" in target.read_text()


def test_a_trend_names_a_system_that_is_not_there(files, tmp_path, capsys):
    from rankscope.cli.main import main

    saved = str(tmp_path / "scores.json")
    assert main(["evaluate", *files, "-o", saved]) == 0
    assert main(["report", saved, "--chart", "trend", "--system", "olt", "-o", str(tmp_path / "x.svg")]) == 2
    assert "there is no system 'olt'" in (err := capsys.readouterr().err)
    assert "did you mean old?" in err
