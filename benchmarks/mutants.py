"""Mutation testing: does a test fail when the code is changed? A seeded sample, each against its package's tests.

Every mutant is one small change (`<` becomes `<=`, a number is off by one, a condition is negated, a loop does nothing)
in a copy of the code. A mutant that no test notices survives and is listed: it needs a test, or changes nothing.
All tests of the packages run once, measured, so that a mutant meets only the tests that reach the changed line; a line
that runs while its module is loaded meets all tests of the package.

    scripts/mutants                            400 mutants, an hour or two
    scripts/mutants --sample 40 --seed 7 --packages stats
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

ROOT = Path(__file__).parents[1]
TESTS_OF = {
    "stats": ["tests/stats", "tests/comparison"],
    "comparison": ["tests/comparison", "tests/cli/test_compare.py", "tests/cli/test_gate.py", "tests/cli/test_plan.py"],
    "measures": ["tests/measures", "tests/golden", "tests/evaluation", "tests/properties"],
    "experiment": ["tests/experiment", "tests/cli/test_run.py", "tests/cli/test_split.py", "tests/hpo"],
}
OPERATORS = [
    *(
        name
        for name in operator_names()
        if name.startswith("core/ReplaceComparisonOperator") and not name.endswith(("_Is", "_IsNot"))
    ),
    *(
        f"core/{name}"
        for name in (
            "AddNot",
            "NumberReplacer",
            "ReplaceAndWithOr",
            "ReplaceBinaryOperator_Add_Sub",
            "ReplaceBinaryOperator_Div_Mul",
            "ReplaceBinaryOperator_FloorDiv_Mul",
            "ReplaceBinaryOperator_Mod_Add",
            "ReplaceBinaryOperator_Mul_Div",
            "ReplaceBinaryOperator_Pow_Mul",
            "ReplaceBinaryOperator_Sub_Add",
            "ReplaceBreakWithContinue",
            "ReplaceContinueWithBreak",
            "ReplaceFalseWithTrue",
            "ReplaceOrWithAnd",
            "ReplaceTrueWithFalse",
            "ReplaceUnaryOperator_Delete_Invert",
            "ReplaceUnaryOperator_Delete_Not",
            "ReplaceUnaryOperator_Delete_USub",
            "ZeroIterationForLoop",
        )
    ),
]
"""Not all that the tool has: `|` is nearly always part of a type here, and `is` against `==` changes nothing."""

WITHOUT_EDITABLE = """\
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
"""

TIMES = """\
import json
seconds = {}

def pytest_runtest_logreport(report):
    seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration

def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        with open("seconds.json", "w") as stream:
            json.dump(seconds, stream)
"""
"""A plugin of pytest that writes how long each test took."""

FIRST_TESTS = 40
"""So many of the quickest tests run first: most mutants fall to them, and collecting a few files takes little time."""


class Mutant(NamedTuple):
    """One small change of one module."""

    package: str
    module: Path
    operator: str
    occurrence: int


def mutants_of(package: str) -> Iterator[Mutant]:
    for module in sorted((ROOT / "src/rankscope" / package).rglob("*.py")):
        tree = get_ast(module.read_text("utf-8"))
        for operator in OPERATORS:
            instance, n = get_operator(operator)(), 0
            for node in nodes_of(tree):
                occurrences = range(n, n := n + len(list(instance.mutation_positions(node))))
                if not (is_index(node) or is_keyword_marker(node)):
                    yield from (Mutant(package, module.relative_to(ROOT), operator, i) for i in occurrences)


def is_index(node: object) -> bool:
    """Tell whether a node is the number of an item: of one item the last is the first, so nothing would change."""
    parent = getattr(node, "parent", None)
    return getattr(node, "type", "") == "number" and getattr(parent, "type", "") in ("trailer", "subscriptlist")


def is_keyword_marker(node: object) -> bool:
    """Tell whether a node is the `*` of a list of parameters, which the tool takes for a multiplication."""
    parent = getattr(node, "parent", None)
    return getattr(node, "value", "") == "*" and getattr(parent, "type", "") == "parameters"


def nodes_of(node: object) -> Iterator[object]:
    """Yield a syntax tree's nodes in the order in which mutations are counted."""
    yield node
    for child in getattr(node, "children", ()):
        yield from nodes_of(child)


def copy_checkout(folder: Path) -> Path:
    """Copy what tests need, with the compiled kernel beside the code, and return the copy."""
    for name in ("src", "tests", "benchmarks", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "ARCHITECTURE.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    from rankscope.native import load_kernel

    if (kernel := load_kernel()) is not None:
        shutil.copy(kernel.__file__, folder / "src/rankscope")
    (folder / "start").mkdir()
    (folder / "start/sitecustomize.py").write_text(WITHOUT_EDITABLE)
    (folder / "start/times.py").write_text(TIMES)
    (folder / "start/coverage.ini").write_text("[run]\nsource = src/rankscope\n")
    if (ROOT.parent / "shared").exists():
        (folder.parent / "shared").symlink_to(ROOT.parent / "shared")
    return folder


def run_pytest(copy: Path, arguments: list[str], *, timeout_s: float) -> int | None:
    """Return the exit code of pytest in a copy, None where it did not end in time."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    paths = os.pathsep.join([str(copy / "start"), str(copy / "src")])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with what it started
            return None


class Reach:
    """Which tests reach which line, and how long they take: all tests of the packages run once, unchanged."""

    def __init__(self, copy: Path, packages: list[str], workers: int) -> None:
        tests = sorted({path for package in packages for path in TESTS_OF[package]})
        measured = ["-p", "times", "-n", str(workers), "--cov", "--cov-config=start/coverage.ini", "--cov-report="]
        if run_pytest(copy, [*measured, "--cov-context=test", *tests], timeout_s=3600) != 0:
            raise SystemExit("the tests fail without any mutant")
        self.seconds: dict[str, float] = json.loads((copy / "seconds.json").read_text("utf-8"))
        self._data = CoverageData(str(copy / ".coverage"))
        self._data.read()
        if not any(name.startswith(str(copy.resolve())) for name in self._data.measured_files()):
            raise SystemExit("the tests ran with other code than the copy's")
        self._copy = copy

    def tests_of(self, mutant: Mutant, lines: range) -> list[str]:
        """The tests of the mutant's package that run one of the lines, quickest first."""
        folders = tuple(TESTS_OF[mutant.package])
        everything = [test for test in self.seconds if test.startswith(folders)]
        contexts = self._data.contexts_by_lineno(str((self._copy / mutant.module).resolve()))
        reached = {context.rpartition("|")[0] for line in lines for context in contexts.get(line, ())} - {""}
        return sorted((test for test in everything if not reached or test in reached), key=self.seconds.__getitem__)


def lines_around(source: str, changed: int) -> range:
    """Return the lines of the smallest statement around a line; of a compound statement its head."""
    best = range(changed, changed + 1)
    size = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= changed <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            if changed < max(end, node.lineno + 1) and (size is None or end - node.lineno < size):
                best, size = range(node.lineno, max(end, node.lineno + 1)), end - node.lineno
    return best


def survives(copy: Path, tests: list[str], seconds: dict[str, float], *, timeout_s: float) -> bool:
    """Return whether all tests pass in a copy: the quickest first, then the others."""
    for chosen in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
        if chosen:
            (copy / "chosen.txt").write_text("\n".join(chosen), "utf-8")
            limit = min(timeout_s, 60 + 5 * sum(seconds[test] for test in chosen))
            if run_pytest(copy, ["-x", "@chosen.txt"], timeout_s=limit) != 0:
                return False
    return True


def print_results(results: list[dict[str, object]]) -> None:
    """Print the survivors, then the share that was noticed by package."""
    for each in results:
        if each["survived"]:
            print(f"\n{each['place']} ({each['operator']}, {each['tests']} tests)")
            print(f"  - {each['before']}\n  + {each['after']}")
    print()
    for package in [*dict.fromkeys(each["package"] for each in results), ""]:
        chosen = [each for each in results if package in ("", each["package"])]
        killed = sum(not each["survived"] for each in chosen)
        print(f"{package or 'all'}: {killed} of {len(chosen)} noticed ({killed / max(len(chosen), 1):.1%})")


def main() -> int:
    """Test a sample of mutants and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants, spread evenly over the packages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", nargs="+", choices=TESTS_OF, default=list(TESTS_OF))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout-s", type=float, default=900, help="a mutant that runs longer counts as noticed")
    parser.add_argument("--output", type=Path, help="write every result as JSON lines")
    args = parser.parse_args()

    sample: list[Mutant] = []
    for package in args.packages:
        everything = list(mutants_of(package))
        n = min(len(everything), args.sample // len(args.packages))
        sample += random.Random(f"{args.seed} {package}").sample(everything, n)
        print(f"{package}: {n} of {len(everything)} mutants", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(args.workers):
            (Path(folder) / str(worker)).mkdir()
            copies.put(copy_checkout(Path(folder) / str(worker) / "checkout"))
        reach = Reach(Path(folder) / "0" / "checkout", args.packages, args.workers)
        print(f"{len(reach.seconds)} tests pass without mutants", flush=True)

        def test(mutant: Mutant) -> dict[str, object]:
            copy = copies.get()
            target = copy / mutant.module
            before = target.read_text("utf-8")
            started = time.perf_counter()
            after = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
            pairs = zip(before.splitlines(), after.splitlines(), strict=False)
            number, change = next((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1])
            tests = reach.tests_of(mutant, lines_around(before, number))
            try:
                target.write_text(after, "utf-8")
                survived = survives(copy, tests, reach.seconds, timeout_s=args.timeout_s)
            finally:
                target.write_text(before, "utf-8")
                copies.put(copy)
            return {
                "package": mutant.package,
                "place": f"{mutant.module}:{number}",
                "operator": mutant.operator,
                "survived": survived,
                "tests": len(tests),
                "seconds": round(time.perf_counter() - started, 1),
                "before": change[0].strip(),
                "after": change[1].strip(),
            }

        results = []
        with ThreadPoolExecutor(args.workers) as pool:
            for result in pool.map(test, sample):
                results.append(result)
                n_survived = sum(bool(each["survived"]) for each in results)
                print(
                    f"\r{len(results)}/{len(sample)} tested, {n_survived} survived", end="", file=sys.stderr, flush=True
                )
                if args.output:
                    with args.output.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(result) + "\n")

    print(file=sys.stderr)
    print_results(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
