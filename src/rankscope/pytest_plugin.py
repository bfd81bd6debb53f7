"""The pytest plugin: one test for every target of a project, and one for every run that its baseline is compared with.

It does nothing, and loads nothing, unless --rankscope PROJECT is given or the ini file has `rankscope_project`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rankscope.analysis.targets import Target, TargetResult, TargetsReport
    from rankscope.comparison.gate import GateCheck, GateResult
    from rankscope.experiment.baseline import KeptBaseline
    from rankscope.experiment.project import Project

BASELINE = "baseline"
"""The folder beside the project file that is taken where no baseline is named."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rankscope", "Rankscope: targets and the gate of a project")
    project = "test the targets of this project (rankscope.toml or its folder), and compare it with its baseline"
    group.addoption("--rankscope", metavar="PROJECT", help=project)
    baseline = f"what to compare with, as rankscope gate --baseline takes it (default: {BASELINE} beside the project)"
    group.addoption("--rankscope-baseline", metavar="FOLDER|RUN|TAG", help=baseline)
    as_is = "take the runs that the last `rankscope run` has left, instead of running the project first"
    group.addoption("--rankscope-no-run", action="store_true", help=as_is)
    parser.addini("rankscope_project", "the project to test, from the folder of this file", default="")
    parser.addini("rankscope_baseline", "what to compare with, as --rankscope-baseline", default="")
    parser.addini("rankscope_run", "whether to run the project first (default: true)", type="bool", default=True)
    words = "what an inconclusive gate does: warn (default), fail or pass"
    parser.addini("rankscope_on_inconclusive", words, default="warn")


def pytest_configure(config: pytest.Config) -> None:
    given, named = config.getoption("--rankscope"), config.getini("rankscope_project")
    if given or named:
        path = config.invocation_params.dir / given if given else config.rootpath / named
        config.pluginmanager.register(ProjectTests(config, path), "rankscope project")


class ProjectTests:
    """The tests of one project; what they share is computed when the first of them needs it."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self.config = config
        self.path = path
        self.has_run = False

    @cached_property
    def project(self) -> Project:
        from rankscope.errors import RankscopeError
        from rankscope.experiment.project import load_project

        try:
            return load_project(self.path)
        except RankscopeError as error:
            raise pytest.UsageError(f"--rankscope: {error}") from error

    @property
    def baseline_name(self) -> str:
        """The baseline that is named, or the usual folder where it is there; empty where there is none."""
        given = self.config.getoption("--rankscope-baseline") or self.config.getini("rankscope_baseline")
        usual = self.project.folder / BASELINE
        if not given:
            return str(usual) if usual.is_dir() else ""
        beside = self.project.folder / str(given)
        return str(beside) if beside.exists() else str(given)

    @cached_property
    def baseline(self) -> KeptBaseline:
        from rankscope.experiment.gating import find_baseline

        return find_baseline(self.baseline_name, self.project)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        from rankscope.experiment.targets import targets_of

        has_any = self.project.targets or self.project.target_file is not None
        return targets_of(self.project) if has_any else ()

    def run_once(self) -> None:
        """Run the project, unless that is not wanted, so that what is tested is the code as it is.

        What was answered before is not asked again. Of several processes of pytest-xdist the first one has done it.
        """
        wanted = self.config.getini("rankscope_run") and not self.config.getoption("--rankscope-no-run")
        if wanted and not self.has_run and not hasattr(self.config, "workerinput"):
            from rankscope.experiment.runner import run_project

            run_project(self.project)
        self.has_run = True

    @cached_property
    def gate(self) -> GateResult:
        from rankscope.comparison.gate import GatePolicy
        from rankscope.experiment.gating import GateOptions, gate_project

        policy = GatePolicy(on_inconclusive=str(self.config.getini("rankscope_on_inconclusive")))
        self.run_once()
        return gate_project(self.project, self.baseline, GateOptions(policy=policy))

    @cached_property
    def checked(self) -> TargetsReport:
        from rankscope.experiment.targets import check_project

        self.run_once()
        return check_project(self.project)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Run the project before pytest-xdist starts its processes, which would get into one another's way."""
        if self.config.getoption("numprocesses", None) and not hasattr(self.config, "workerinput"):
            self.run_once()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        items += self.items(session)

    def items(self, session: pytest.Session) -> Iterator[pytest.Item]:
        from rankscope.errors import RankscopeError

        project = self.project
        parent = ProjectNode.from_parent(session, name=project.file.name, nodeid=project.file.name)
        n_found = 0
        if self.baseline_name:
            try:
                checks = [(name, system) for name, runs in self.baseline.runs.items() for system in runs]
            except RankscopeError as error:
                yield BrokenTest.from_parent(parent, name="gate", error=error)
                return
            several = len({name for name, _ in checks}) > 1
            for name, system in checks:
                n_found += 1
                label = f"gate[{system}, {name}]" if several and name else f"gate[{system}]"
                yield GateTest.from_parent(parent, name=label, tests=self, system=system, collection=name)
        try:
            targets = self.targets
        except RankscopeError as error:
            yield BrokenTest.from_parent(parent, name="targets", error=error)
            return
        for target in targets:
            n_found += 1
            yield TargetTest.from_parent(parent, name=f"target[{target.name}]", tests=self, target=target.name)
        if not n_found:
            where = project.folder / BASELINE
            raise pytest.UsageError(
                f"--rankscope: {project.file.name} has no targets, and there is no baseline in {where}: nothing to test"
            )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say which gates were inconclusive: they pass, and would else not be seen."""
        result: GateResult | None = self.__dict__.get("gate")
        lines = [] if result is None else [f"{one.name}: {one.words}" for one in result.checks if is_open(one, result)]
        if lines:
            terminalreporter.section("rankscope: inconclusive", sep="-")
            for line in lines:
                terminalreporter.write_line(line)


def is_open(check: GateCheck, result: GateResult) -> bool:
    return check.outcome == "inconclusive" and not result.fails(check)


class ProjectNode(pytest.Collector):
    """What the tests of a project belong to."""

    def collect(self) -> list[pytest.Item]:
        """Return nothing: the tests are added once all others are known."""
        return []


class FailedCheckError(Exception):
    """A check did not pass; its text is the whole message."""


class RankscopeTest(pytest.Item):
    """A test of the plugin: its failure is a text, not a traceback."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from rankscope.errors import RankscopeError

        if isinstance(excinfo.value, FailedCheckError | RankscopeError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class BrokenTest(RankscopeTest):
    """What could not even be looked at."""

    def __init__(self, *, error: Exception, **more: Any) -> None:
        super().__init__(**more)
        self.error = error

    def runtest(self) -> None:
        raise self.error


class GateTest(RankscopeTest):
    """The run of one system, against the one that the baseline has of it."""

    def __init__(self, *, tests: ProjectTests, system: str, collection: str, **more: Any) -> None:
        super().__init__(**more)
        self.tests, self.system, self.collection = tests, system, collection

    def runtest(self) -> None:
        from rankscope.report.gate import failure_text

        result = self.tests.gate
        several = len(self.tests.baseline.runs) > 1
        single = "" in self.tests.baseline.runs  # a run without a name is compared with every system
        mine = [
            check
            for check in result.checks
            if (single or check.system == self.system) and (not several or check.collection == self.collection)
        ]
        if not mine:
            raise FailedCheckError(f"nothing was compared with the baseline of {self.system}")
        failed = [check for check in mine if check.outcome == "error" or result.fails(check)]
        if failed:
            raise FailedCheckError("\n\n".join([*map(failure_text, failed), *result.notes]))


class TargetTest(RankscopeTest):
    """One target, in all runs that it is about."""

    def __init__(self, *, tests: ProjectTests, target: str, **more: Any) -> None:
        super().__init__(**more)
        self.tests, self.target = tests, target

    def runtest(self) -> None:
        results = [one for one in self.tests.checked.results if one.target == self.target]
        target = next(one for one in self.tests.targets if one.name == self.target)
        if not results:
            raise FailedCheckError(f"{self.target} was not checked")
        if failed := [one for one in results if one.outcome == "failed"]:
            raise FailedCheckError("\n\n".join(target_text(target, one) for one in failed))
        if waiting := [one for one in results if one.outcome == "quarantined"]:
            pytest.xfail(f"in quarantine until {target.quarantine_until}: {waiting[0].words}")


def target_text(target: Target, result: TargetResult) -> str:
    """Return why a target fails: what is expected, what is so, and what is there instead."""
    asked = f"“{result.query_text}” ({target.where})" if result.query_text else target.where
    where = f" on {result.collection}" if result.collection else ""
    lines = [f"{target.name}: {result.run}{where}, {asked}", f"expected: {target.expected}", result.words]
    lines += ["instead:"] if result.instead else []
    lines += [f"  {one.line}" for one in result.instead]
    lines += [f"reason: {target.reason}"] if target.reason else []
    lines += [f"owner: {target.owner}"] if target.owner else []
    lines += [result.remark] if result.remark else []
    return "\n".join(lines)
