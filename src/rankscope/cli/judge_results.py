"""`rankscope judge agreement` and `rankscope judge flags`: what came of a judging task."""

from __future__ import annotations

import argparse

from rankscope.cli import options
from rankscope.data.tasks import Task
from rankscope.records import replace
from rankscope.store import Store


def show_agreement(args: argparse.Namespace, store: Store, task: Task) -> None:
    """Write how raters agree, and the verdict under each of them."""
    from rankscope.judging.agreement import agreement_of
    from rankscope.measures.parse import parse_measure
    from rankscope.report.agreement import agreement_report

    form, command = form_of(args), options.command_line(args)
    if measure := getattr(args, "measure", None):
        task = replace(task, plan=replace(task.plan, measure=parse_measure(measure).name))
    found = agreement_of(store, task)
    options.write_result(args, form, found, lambda **_: agreement_report(found, command=command))


def show_flags(args: argparse.Namespace, store: Store, task: Task) -> None:
    """Write what raters flagged, would choose and prefer."""
    from rankscope.judging.opinions import opinions_of
    from rankscope.report.opinions import opinions_report

    form, command = form_of(args), options.command_line(args)
    found = opinions_of(store, task)
    options.write_result(args, form, found, lambda **_: opinions_report(found, command=command))


def form_of(args: argparse.Namespace) -> str:
    """Return what is written: by --format, else by the ending of the file; of other actions -o is no report."""
    by_ending = {**vars(args), "by_extension": options.REPORT_EXTENSIONS}
    return options.chosen_format(argparse.Namespace(**by_ending))
