"""What is compared with what, and the goal of each. One row of the table is one entry here."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from measure import Job
from paths import JOBS, OUR_BIN, PEERS_BIN
from workloads import Files

FilesOf = Callable[[str], Files]
PEER_MEASURES = ("nDCG@10", "RR", "AP", "R@100", "P@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is asked of a row."""

    words: str
    faster: float | None = None
    """The other's time over ours is at least this."""
    memory: float | None = None
    """Our peak over the other's is at most this."""
    seconds: float | None = None
    """Our time is at most this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Ours against one other program, or against nothing but the clock."""

    section: str
    what: str
    ours: Job
    other: Job | None = None
    other_name: str = ""
    target: Target | None = None
    slow: bool = False
    """Whether the row takes longer than all others together, so that --quick leaves it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The same job on one, four and sixteen times as many rows."""

    jobs: tuple[Job, ...]
    at_most: float = 1.15
    """Rows of the large file cost at most this many times as much as those of the middle one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What merely reading the file takes."""

    section: str
    what: str
    job: Job


SECTIONS = ("marco", "robust", "small", "dicts", "columns", "shuffled", "tied", "gzip", "growth", "start-up")
WORKLOADS_OF = {
    "dicts": ("marco",),
    "columns": ("marco",),
    "shuffled": ("marco", "shuffled"),
    "gzip": ("quarter",),
    "growth": ("quarter", "marco", "fourfold"),
    "start-up": ("small",),
}
"""The workloads a section needs, where it is not the one of its own name."""

NOT_SLOWER = Target(words="not slower", faster=1)


def our_script(name: str, files: Files, *arguments: str) -> Job:
    """Return a Python script of ours on a workload."""
    return Job((str(OUR_BIN / "python"), str(JOBS / name), files.qrels, files.run, *arguments), files.name)


def peer_script(name: str, files: Files, *arguments: str) -> Job:
    """Return a Python script of a peer on a workload."""
    return Job((str(PEERS_BIN / "python"), str(JOBS / name), files.qrels, files.run, *arguments), files.name)


def our_command(files: Files, run: str | None = None) -> Job:
    """Return `rankscope evaluate` on a workload."""
    return Job((str(OUR_BIN / "rankscope"), "evaluate", files.qrels, run or files.run), files.name)


def ir_measures_command(files: Files) -> Job:
    """Return the `ir_measures` command on a workload."""
    return Job((str(PEERS_BIN / "ir_measures"), files.qrels, files.run, *PEER_MEASURES), files.name)


def shell(line: str, files: Files) -> Job:
    """Return a line of shell."""
    return Job(("sh", "-c", line), files.name)


def comparisons(files: FilesOf) -> Iterator[Comparison]:
    """Yield every row, in the order of the table."""
    yield from file_rows("marco", files, Target(words="20x, a third of the memory", faster=20, memory=1 / 3))
    yield from file_rows("robust", files, Target(words="3x", faster=3))
    yield from small_rows(files("small"))
    yield from dict_rows(files("marco"))
    yield from column_rows(files("marco"))
    yield from odd_rows(files)
    yield from start_up_rows(files("small"))


def file_rows(name: str, files: FilesOf, target: Target) -> Iterator[Comparison]:
    """Yield our command on files against every peer."""
    ours = our_command(files(name))
    what = "files, whole process"
    others = {
        "pytrec_eval": peer_script("pytrec_file.py", files(name)),
        "ir_measures": ir_measures_command(files(name)),
        "ranx": peer_script("ranx_file.py", files(name)),
    }
    for other_name, other in others.items():
        aim = target if other_name == "pytrec_eval" else None
        slow = other_name == "ranx"
        yield Comparison(section=name, what=what, ours=ours, other=other, other_name=other_name, target=aim, slow=slow)


def small_rows(files: Files) -> Iterator[Comparison]:
    """Yield what a small file takes, which is mostly starting up."""
    yield Comparison(
        section="small", what="Python script", target=NOT_SLOWER,
        ours=our_script("ours_file.py", files), other=peer_script("pytrec_file.py", files), other_name="pytrec_eval",
    )  # fmt: skip
    yield Comparison(
        section="small", what="command", target=NOT_SLOWER,
        ours=our_command(files), other=ir_measures_command(files), other_name="ir_measures",
    )  # fmt: skip


def dict_rows(files: Files) -> Iterator[Comparison]:
    """Yield dicts of dicts, with all default measures and with three."""
    yield Comparison(
        section="dicts", what="dicts, evaluate only", target=Target(words="8x", faster=8),
        ours=our_script("ours_dict.py", files), other=peer_script("pytrec_dict.py", files), other_name="pytrec_eval",
    )  # fmt: skip
    yield Comparison(
        section="dicts", what="dicts, nDCG@10 AP RR", target=Target(words="faster", faster=1),
        ours=our_script("ours_dict.py", files, "nDCG@10", "AP", "RR"),
        other=peer_script("pytrec_dict.py", files, "ndcg_cut_10", "map", "recip_rank"), other_name="pytrec_eval",
    )  # fmt: skip


def column_rows(files: Files) -> Iterator[Comparison]:
    """Yield tables of three libraries; ir_measures takes those of pandas."""
    other = peer_script("ir_measures_columns.py", files)
    aims = {"polars": Target(words="50x", faster=50), "pyarrow": Target(words="50x", faster=50), "pandas": None}
    for library, target in aims.items():
        yield Comparison(
            section="columns", what=f"{library}, evaluate only", target=target,
            ours=our_script("ours_columns.py", files, library), other=other, other_name="ir_measures (pandas)",
        )  # fmt: skip


def odd_rows(files: FilesOf) -> Iterator[Comparison]:
    """Yield rows in random order, equal scores, and compressed input."""
    shuffled, tied, quarter = files("shuffled"), files("tied"), files("quarter")
    yield Comparison(
        section="shuffled", what="files, whole process",
        target=Target(words="at most 5x the time, 3x the memory", faster=1 / 5, memory=3),
        ours=our_command(shuffled), other=our_command(files("marco")), other_name="ours, sorted",
    )  # fmt: skip
    yield Comparison(
        section="shuffled", what="files, whole process",
        ours=our_command(shuffled), other=peer_script("pytrec_file.py", shuffled), other_name="pytrec_eval",
    )  # fmt: skip
    yield Comparison(
        section="tied", what="files, whole process", target=NOT_SLOWER,
        ours=our_command(tied), other=peer_script("pytrec_file.py", tied), other_name="pytrec_eval",
    )  # fmt: skip
    yield Comparison(
        section="gzip", what="run.gz, whole process", target=NOT_SLOWER,
        ours=our_command(quarter, quarter.run_gz), other=zcat(quarter), other_name="zcat | ours",
    )  # fmt: skip


def zcat(files: Files) -> Job:
    """Return our command fed by zcat."""
    command = our_command(files, "-").command
    return shell(f"zcat {shlex.quote(files.run_gz)} | {shlex.join(command)}", files)


def start_up_rows(files: Files) -> Iterator[Comparison]:
    """Yield what a user waits for when hardly anything is to be done."""
    yield Comparison(
        section="start-up", what="rankscope --help", target=Target(words="under 0.15 s", seconds=0.15),
        ours=Job((str(OUR_BIN / "rankscope"), "--help"), files.name),
    )  # fmt: skip
    yield Comparison(
        section="start-up", what="rankscope evaluate, 50 x 100", target=Target(words="under 0.25 s", seconds=0.25),
        ours=our_command(files),
    )  # fmt: skip


def growth(files: FilesOf) -> Growth:
    """Return our command on files of growing length."""
    small, middle, large = (our_command(files(name)) for name in ("quarter", "marco", "fourfold"))
    return Growth(jobs=(small, middle, large))


def floors(files: FilesOf) -> Iterator[Floor]:
    """Yield what merely reading takes, for the workloads that are files."""
    for name in ("marco", "robust"):
        run = shlex.quote(files(name).run)
        yield Floor(section=name, what="cat", job=shell(f"exec cat {run} > /dev/null", files(name)))
        yield Floor(section=name, what="wc -l", job=shell(f"exec wc -l {run}", files(name)))


def workloads_of(sections: tuple[str, ...]) -> list[str]:
    """Return the workloads that sections need, and the small one, on which programs are warmed up."""
    names = [name for section in sections for name in WORKLOADS_OF.get(section, (section,))]
    return list(dict.fromkeys([*names, "small"]))
