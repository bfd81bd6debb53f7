# Made from the code by scripts/docs: change PUBLIC in __init__.py, not this file.
from rankscope._version import __version__ as __version__
from rankscope.align.hits import Hits as Hits
from rankscope.align.policies import Policies as Policies
from rankscope.analysis.diagnose import Diagnosis as Diagnosis
from rankscope.analysis.diagnose import diagnose as diagnose
from rankscope.analysis.explain import Explanation as Explanation
from rankscope.analysis.explain import explain as explain
from rankscope.analysis.robustness import Robustness as Robustness
from rankscope.analysis.robustness import robustness as robustness
from rankscope.analysis.side_by_side import SideBySide as SideBySide
from rankscope.analysis.side_by_side import side_by_side as side_by_side
from rankscope.analysis.targets import Target as Target
from rankscope.analysis.targets import TargetsReport as TargetsReport
from rankscope.analysis.validate import ValidationReport as ValidationReport
from rankscope.analysis.validate import validate as validate
from rankscope.comparison.compare import compare as compare
from rankscope.comparison.compare import compare_scores as compare_scores
from rankscope.comparison.gate import GateResult as GateResult
from rankscope.comparison.planning import QueryPlan as QueryPlan
from rankscope.comparison.planning import plan as plan
from rankscope.comparison.records import Comparison as Comparison
from rankscope.data.loading import ReadOptions as ReadOptions
from rankscope.data.loading import load_qrels as load_qrels
from rankscope.data.loading import load_run as load_run
from rankscope.data.loading import write_run as write_run
from rankscope.data.qrels import Qrels as Qrels
from rankscope.data.run import Run as Run
from rankscope.data.shapes import QrelsLike as QrelsLike
from rankscope.data.shapes import RunLike as RunLike
from rankscope.data.shapes import RunsLike as RunsLike
from rankscope.data.tasks import Task as Task
from rankscope.data.tasks import TaskPlan as TaskPlan
from rankscope.errors import FormatError as FormatError
from rankscope.errors import InputError as InputError
from rankscope.errors import MeasureError as MeasureError
from rankscope.errors import OptionError as OptionError
from rankscope.errors import RankscopeError as RankscopeError
from rankscope.errors import RankscopeWarning as RankscopeWarning
from rankscope.errors import UnfinishedError as UnfinishedError
from rankscope.errors import UnknownKeywordError as UnknownKeywordError
from rankscope.errors import UnknownNameError as UnknownNameError
from rankscope.evaluation import evaluate as evaluate
from rankscope.evaluation import trec_eval_text as trec_eval_text
from rankscope.experiment.keep import keep_benchmark as keep_benchmark
from rankscope.experiment.project import Project as Project
from rankscope.experiment.project import load_project as load_project
from rankscope.experiment.results import Benchmark as Benchmark
from rankscope.experiment.results import BenchmarkRecord as BenchmarkRecord
from rankscope.experiment.runner import RunOptions as RunOptions
from rankscope.experiment.runner import run_project as run_project
from rankscope.experiment.target_file import load_targets as load_targets
from rankscope.experiment.targets import check as check
from rankscope.experiment.targets import check_project as check_project
from rankscope.experiment.watch import WatchOptions as WatchOptions
from rankscope.experiment.watch import WatchResult as WatchResult
from rankscope.experiment.watch import watch_project as watch_project
from rankscope.io.conversion import Conversion as Conversion
from rankscope.io.conversion import convert as convert
from rankscope.io.shards import ByteRange as ByteRange
from rankscope.io.shards import RowGroups as RowGroups
from rankscope.io.shards import WholeFile as WholeFile
from rankscope.judging.exporting import export_judgments as export_judgments
from rankscope.judging.importing import TakenIn as TakenIn
from rankscope.judging.importing import import_judgments as import_judgments
from rankscope.judging.settling import settling_of as settling_of
from rankscope.judging.settling_state import SettlingState as SettlingState
from rankscope.judging.tasks import create_task as create_task
from rankscope.measures.listing import list_measures as list_measures
from rankscope.measures.parse import parse_measure as parse_measure
from rankscope.measures.parse import parse_measures as parse_measures
from rankscope.measures.profiles import list_profiles as list_profiles
from rankscope.measures.score_files import read_scores as read_scores
from rankscope.measures.scores import Aggregate as Aggregate
from rankscope.measures.scores import RunScores as RunScores
from rankscope.measures.scores import Scores as Scores
from rankscope.measures.shard_scores import ShardScores as ShardScores
from rankscope.measures.shard_scores import score_shard as score_shard
from rankscope.measures.shard_scores import shards_of as shards_of
from rankscope.measures.spec import Measure as Measure
from rankscope.measures.spec import MeasureExample as MeasureExample
from rankscope.measures.spec import MeasureFamily as MeasureFamily
from rankscope.measures.spec import Workings as Workings
from rankscope.measures.spec import measure as measure
from rankscope.progress import JobState as JobState
from rankscope.report.document import Report as Report
from rankscope.report.render import render as render
from rankscope.store import Store as Store
from rankscope.store import StoredRun as StoredRun
from rankscope.store import open_store as open_store
from rankscope.systems.fusion import fuse as fuse
from rankscope.typing import EvaluateOptions as EvaluateOptions
from rankscope.typing import MeasureLike as MeasureLike
from rankscope.typing import MeasuresLike as MeasuresLike
from rankscope.typing import PolicyOptions as PolicyOptions

PUBLIC: dict[str, str]

AP: Measure
AP_IA: Measure
BinG: Measure
Bpref: Measure
CG: Measure
CatalogCoverage: Measure
CategoryEntropy: Measure
Compat: Measure
ContentDiversity: Measure
DCG: Measure
DateDistinct: Measure
DateSpan: Measure
Distinct: Measure
DocAge: Measure
ERR: Measure
ERR_IA: Measure
Exposure: Measure
F: Measure
FirstRel: Measure
Freshness: Measure
G: Measure
GapEntropy: Measure
Gini: Measure
GroupShare: Measure
ILD: Measure
INST: Measure
IPrec: Measure
IPrec11: Measure
Judged: Measure
LastRel: Measure
MaxOntSim: Measure
MeanBestMatch: Measure
MeanGain: Measure
MeanRel: Measure
MedianDistance: Measure
MinDistance: Measure
NCG: Measure
NRBP: Measure
NoveltyNDCG: Measure
NumNonrelRet: Measure
NumRel: Measure
NumRelRet: Measure
NumRet: Measure
P: Measure
P_IA: Measure
P_ret: Measure
Q: Measure
R: Measure
RBP: Measure
RBP_resid: Measure
RR: Measure
R_cap: Measure
Redundancy: Measure
RelDiv: Measure
Rndcg: Measure
Rprec: Measure
SetAP: Measure
SetF: Measure
SetP: Measure
SetR: Measure
SetRelP: Measure
StRecall: Measure
Success: Measure
TopicCoverage: Measure
TopicRecall: Measure
Uniqueness: Measure
Unjudged: Measure
Utility: Measure
alpha_DCG: Measure
alpha_nDCG: Measure
infAP: Measure
nDCG: Measure
nDCG_rel: Measure
nERR: Measure
nERR_IA: Measure
nNRBP: Measure

__all__ = [
    "Aggregate",
    "Benchmark",
    "BenchmarkRecord",
    "ByteRange",
    "Comparison",
    "Conversion",
    "Diagnosis",
    "EvaluateOptions",
    "Explanation",
    "FormatError",
    "GateResult",
    "Hits",
    "InputError",
    "JobState",
    "Measure",
    "MeasureError",
    "MeasureExample",
    "MeasureFamily",
    "MeasureLike",
    "MeasuresLike",
    "OptionError",
    "Policies",
    "PolicyOptions",
    "Project",
    "Qrels",
    "QrelsLike",
    "QueryPlan",
    "RankscopeError",
    "RankscopeWarning",
    "ReadOptions",
    "Report",
    "Robustness",
    "RowGroups",
    "Run",
    "RunLike",
    "RunOptions",
    "RunScores",
    "RunsLike",
    "Scores",
    "SettlingState",
    "ShardScores",
    "SideBySide",
    "Store",
    "StoredRun",
    "TakenIn",
    "Target",
    "TargetsReport",
    "Task",
    "TaskPlan",
    "UnfinishedError",
    "UnknownKeywordError",
    "UnknownNameError",
    "ValidationReport",
    "WatchOptions",
    "WatchResult",
    "WholeFile",
    "Workings",
    "__version__",
    "check",
    "check_project",
    "compare",
    "compare_scores",
    "convert",
    "create_task",
    "diagnose",
    "evaluate",
    "explain",
    "export_judgments",
    "fuse",
    "import_judgments",
    "keep_benchmark",
    "list_measures",
    "list_profiles",
    "load_project",
    "load_qrels",
    "load_run",
    "load_targets",
    "measure",
    "open_store",
    "parse_measure",
    "parse_measures",
    "plan",
    "read_scores",
    "render",
    "robustness",
    "run_project",
    "score_shard",
    "settling_of",
    "shards_of",
    "side_by_side",
    "trec_eval_text",
    "validate",
    "watch_project",
    "write_run",
]
