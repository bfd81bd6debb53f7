"""The pages: one file each, with what it takes, what stands on it, and the function that computes it."""

from __future__ import annotations

from typing import Any

from rankscope.web.actions import ActionRoute
from rankscope.web.pages.agreement import AgreementPage, agreement_moved, agreement_page, page_report
from rankscope.web.pages.collections import CollectionsOptions, CollectionsPage, collections_page, collections_report
from rankscope.web.pages.compare import ComparePage, ComparePageOptions, compare_page, compare_report, compare_view
from rankscope.web.pages.flags import FlagsPage, flags_page, flags_report
from rankscope.web.pages.history import HistoryOptions, HistoryPage, history_page, history_report
from rankscope.web.pages.jobs import (
    JobNumber,
    JobOptions,
    JobPage,
    JobsOptions,
    JobsPage,
    StartOptions,
    cancel_job,
    job_page,
    jobs_page,
    resume_job,
    start_job,
)
from rankscope.web.pages.judge import (
    GuidelineOptions,
    JudgeOptions,
    JudgePage,
    RaterNumber,
    TaskNumber,
    TaskOptions,
    TaskPage,
    forget_rater,
    judge_page,
    reopen_task,
    revoke_rater,
    save_guideline,
    stop_task,
    task_page,
)
from rankscope.web.pages.live import (
    AttributesOptions,
    LiveOptions,
    LivePage,
    SaveOptions,
    live_page,
    save_attributes,
    save_case,
)
from rankscope.web.pages.measures import MeasuresOptions, MeasuresPage, measures_page
from rankscope.web.pages.overview import OverviewOptions, OverviewPage, overview_page, overview_report, overview_view
from rankscope.web.pages.queries import QueriesOptions, QueriesPage, queries_page, queries_report
from rankscope.web.pages.query import QueryOptions, QueryPage, query_page, query_report
from rankscope.web.pages.run import RunPage, RunPageOptions, run_page, run_report
from rankscope.web.pages.share import ShareOptions, SharePage, share_page
from rankscope.web.pages.systems import SystemsOptions, SystemsPage, systems_page, systems_report, systems_view
from rankscope.web.pages.targets import TargetsOptions, TargetsPage, targets_page, targets_report
from rankscope.web.pages.task_results import TaskResultOptions
from rankscope.web.routing import PageRoute

PAGES: tuple[PageRoute[Any], ...] = (
    PageRoute(
        "/",
        "Overview",
        OverviewOptions,
        overview_page,
        OverviewPage,
        "overview.html",
        view=overview_view,
        report=overview_report,
    ),
    PageRoute(
        "/systems",
        "Systems",
        SystemsOptions,
        systems_page,
        SystemsPage,
        "systems.html",
        view=systems_view,
        report=systems_report,
        site_options=frozenset(("collection", "over", "sort", "reverse", "measure")),
    ),
    PageRoute(
        "/compare",
        "Compare",
        ComparePageOptions,
        compare_page,
        ComparePage,
        "compare.html",
        view=compare_view,
        report=compare_report,
        site_options=frozenset(("collection", "challenger")),
    ),
    PageRoute(
        "/queries",
        "Queries",
        QueriesOptions,
        queries_page,
        QueriesPage,
        "queries.html",
        report=queries_report,
        site_options=frozenset(("collection", "page", "show")),
        site_limit=400,
    ),
    PageRoute(
        "/query",
        "Query",
        QueryOptions,
        query_page,
        QueryPage,
        "query.html",
        report=query_report,
        in_menu=False,
        site_options=frozenset(("collection", "query")),
        site_ignored=frozenset(("words", "stratum", "show", "sort", "descending")),
        site_limit=1_000,
    ),
    PageRoute(
        "/run",
        "Run",
        RunPageOptions,
        run_page,
        RunPage,
        "run.html",
        report=run_report,
        in_menu=False,
        site_options=frozenset(("run",)),
    ),
    PageRoute("/judge", "Judge", JudgeOptions, judge_page, JudgePage, "judge.html", site_limit=0),
    PageRoute(
        "/judge/show",
        "A judging task",
        TaskOptions,
        task_page,
        TaskPage,
        "judge_task.html",
        in_menu=False,
        site_limit=0,
    ),
    PageRoute(
        "/agreement",
        "Agreement",
        TaskResultOptions,
        agreement_page,
        AgreementPage,
        "task_result.html",
        report=page_report,
        moved=agreement_moved,
        in_menu=False,
        site_limit=0,
    ),
    PageRoute(
        "/flags",
        "Flags, choices and preferences",
        TaskResultOptions,
        flags_page,
        FlagsPage,
        "task_result.html",
        report=flags_report,
        in_menu=False,
        site_limit=0,
    ),
    PageRoute(
        "/history",
        "History",
        HistoryOptions,
        history_page,
        HistoryPage,
        "history.html",
        report=history_report,
        site_options=frozenset(("collection", "system")),
    ),
    PageRoute(
        "/targets",
        "Targets",
        TargetsOptions,
        targets_page,
        TargetsPage,
        "targets.html",
        report=targets_report,
        site_options=frozenset(("collection", "system", "state")),
    ),
    PageRoute(
        "/collections",
        "Collections",
        CollectionsOptions,
        collections_page,
        CollectionsPage,
        "collections.html",
        report=collections_report,
    ),
    PageRoute("/live", "Live", LiveOptions, live_page, LivePage, "live.html", sends=True, site_limit=0),
    PageRoute(
        "/jobs",
        "Start runs",
        JobsOptions,
        jobs_page,
        JobsPage,
        "jobs.html",
        menu_role="editor",
        sends=True,
        site_limit=0,
    ),
    PageRoute("/job", "A run that was started", JobOptions, job_page, JobPage, "job.html", in_menu=False, site_limit=0),
    PageRoute(
        "/measures",
        "Measures",
        MeasuresOptions,
        measures_page,
        MeasuresPage,
        "measures.html",
        site_options=frozenset(("name",)),
    ),
    PageRoute(
        "/share", "Share", ShareOptions, share_page, SharePage, "share.html", role="editor", in_menu=False, site_limit=0
    ),
)
"""In the order of the menu."""

ACTIONS: tuple[ActionRoute[Any], ...] = (
    ActionRoute("/jobs/start", "Start a run", StartOptions, start_job),
    ActionRoute("/jobs/cancel", "Cancel a run", JobNumber, cancel_job),
    ActionRoute("/jobs/resume", "Resume a run", JobNumber, resume_job),
    ActionRoute("/judge/stop", "Stop a judging task", TaskNumber, stop_task),
    ActionRoute("/judge/reopen", "Reopen a judging task", TaskNumber, reopen_task),
    ActionRoute("/judge/revoke", "Revoke the invitation of a rater", RaterNumber, revoke_rater),
    ActionRoute("/judge/forget", "Take the name of a rater away", RaterNumber, forget_rater),
    ActionRoute("/judge/guideline", "Change the guideline of a judging task", GuidelineOptions, save_guideline),
    ActionRoute("/live/save", "Save a test case", SaveOptions, save_case),
    ActionRoute("/live/attributes", "Change attributes of a query", AttributesOptions, save_attributes),
)
"""The forms that change something."""
