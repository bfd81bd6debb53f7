"""Options of the gate, which `compare` and `run` share: what lets a build pass."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankscope.cli.options import GATE, output_to
from rankscope.errors import OptionError

if TYPE_CHECKING:
    from rankscope.comparison.gate import GatePolicy, GateResult
    from rankscope.report.render.junit import JUnitCase


def add_gate_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(GATE)
    worse = "fail where a system is worse than the baseline, or lower by more than the margin while nothing is safe"
    group.add_argument("--fail-if-worse", action="store_true", help=worse)
    required = "non-inferior: pass only where the whole interval lies above minus the margin"
    group.add_argument("--require", metavar="WORD", help=required)
    inconclusive = "where it cannot be told: warn (default: pass, and say so), fail or pass"
    group.add_argument("--on-inconclusive", metavar="WORD", help=inconclusive)
    missing = "the share of queries that a system may leave unanswered (default: 0.1)"
    group.add_argument("--allow-missing", type=float, metavar="SHARE", help=missing)


def gate_policy_from(args: argparse.Namespace, *, always: bool = False) -> GatePolicy | None:
    """Return what the gate lets pass, None where none was asked for."""
    details = {"on_inconclusive": args.on_inconclusive, "allow_missing": args.allow_missing}
    given = {name: value for name, value in details.items() if value is not None}
    if not (args.fail_if_worse or args.require or always):
        if given:
            name = next(iter(given)).replace("_", "-")
            raise OptionError(f"--{name} does nothing without a gate", hint="add --fail-if-worse")
        return None
    from rankscope.comparison.gate import GatePolicy

    return GatePolicy(require=args.require, **given)


def gate_exit_code(gate: GateResult | None, args: argparse.Namespace) -> int:
    """Say on stderr what the gate says, and return the exit code: 0 where no gate was asked for."""
    if gate is None or not (args.fail_if_worse or args.require):
        return 0
    for line in gate.lines():
        print(line, file=sys.stderr)
    return gate.exit_code


def write_cases(cases: Iterable[JUnitCase], output: str | None, *, command: str) -> None:
    """Write test cases for a build server."""
    from rankscope.report.render.junit import to_junit

    with output_to(output) as stream:
        stream.write(to_junit(cases, suite=f"rankscope {command}"))
