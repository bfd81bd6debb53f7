"""Mutation testing: does a test fail when the code is changed? A seeded sample, each against its package's tests.

Every mutant is one small change (`<` becomes `<=`, a number is off by one, a condition is negated, a loop does nothing)
in a copy of the code. A mutant that no test notices survives and is listed: it needs a test, or changes nothing.

    scripts/mutants                            400 mutants, an hour or two
    scripts/mutants --sample 40 --seed 7 --packages stats
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import random
import shutil
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
sys.meta_path[:] = [finder for finder in sys.meta_path if "ditable" not in type(finder).__name__]
"""


class Mutant(NamedTuple):
    """One small change of one module."""

    package: str
    module: Path
    operator: str
    occurrence: int


def mutants_of(package: str) -> Iterator[Mutant]:
    """Yield all mutants of a package."""
    for module in sorted((ROOT / "src/rankscope" / package).rglob("*.py")):
        tree = get_ast(module.read_text("utf-8"))
        for operator in OPERATORS:
            instance = get_operator(operator)()
            n = sum(1 for node in nodes_of(tree) for _ in instance.mutation_positions(node))
            yield from (Mutant(package, module, operator, i) for i in range(n))


def nodes_of(node: object) -> Iterator[object]:
    """Yield a syntax tree's nodes in the order in which mutations are counted."""
    yield node
    for child in getattr(node, "children", ()):
        yield from nodes_of(child)


def copy_of_checkout(folder: Path) -> Path:
    """Copy what tests need, with the compiled kernel beside the code, and return the copy."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tests", "benchmarks", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    from rankscope.native import load_kernel

    if (kernel := load_kernel()) is not None:
        shutil.copy(kernel.__file__, folder / "src/rankscope")
    (folder / "start").mkdir()
    (folder / "start/sitecustomize.py").write_text(WITHOUT_EDITABLE)
    if (ROOT.parent / "shared").exists():
        (folder.parent / "shared").symlink_to(ROOT.parent / "shared")
    return folder


def run_tests(copy: Path, tests: list[str], *, timeout_s: float) -> bool:
    """Return whether all tests pass in a copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    paths = os.pathsep.join([str(copy / "start"), str(copy / "src")])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def tests_for(mutant: Mutant) -> list[str]:
    """Return the package's tests, those named after the module first: most mutants fall to them at once."""
    tests = TESTS_OF[mutant.package]
    named = sorted(
        str(path.relative_to(ROOT))
        for folder in tests
        for path in (ROOT / folder).rglob(f"test_*{mutant.module.stem.strip('_')}*.py")
    )
    return [*named, *tests]


def difference(mutant: Mutant, mutated: str) -> str:
    """Return the changed lines."""
    before = mutant.module.read_text("utf-8").splitlines()
    lines = difflib.unified_diff(before, mutated.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


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
        chosen = random.Random(f"{args.seed} {package}").sample(
            everything, min(len(everything), args.sample // len(args.packages))
        )
        print(f"{package}: {len(chosen)} of {len(everything)} mutants", flush=True)
        sample += chosen

    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for worker in range(args.workers):
            (Path(folder) / str(worker)).mkdir()
            copies.put(copy_of_checkout(Path(folder) / str(worker) / "checkout"))

        def test(mutant: Mutant) -> dict[str, object]:
            copy = copies.get()
            target = copy / mutant.module.relative_to(ROOT)
            before = target.read_text("utf-8")
            started = time.perf_counter()
            mutated = mutate_code(before, get_operator(mutant.operator)(), mutant.occurrence)
            try:
                target.write_text(mutated, "utf-8")
                survived = run_tests(copy, tests_for(mutant), timeout_s=args.timeout_s)
            finally:
                target.write_text(before, "utf-8")
                copies.put(copy)
            return {
                "package": mutant.package,
                "module": str(mutant.module.relative_to(ROOT)),
                "operator": mutant.operator,
                "survived": survived,
                "seconds": round(time.perf_counter() - started, 1),
                "change": difference(mutant, mutated),
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
    for package in args.packages:
        of_package = [each for each in results if each["package"] == package]
        killed = sum(not each["survived"] for each in of_package)
        print(f"{package}: {killed} of {len(of_package)} noticed ({killed / max(len(of_package), 1):.1%})")
    for each in results:
        if each["survived"]:
            print(f"\nsurvived: {each['module']} ({each['operator']})\n{each['change']}")
    killed = sum(not each["survived"] for each in results)
    print(f"\n{killed} of {len(results)} noticed ({killed / max(len(results), 1):.1%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
