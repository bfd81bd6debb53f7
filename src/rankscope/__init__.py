"""Rankscope tells whether a ranking is good, which variant is better, and whether that answer can be trusted.

>>> import rankscope as rs
>>> qrels = {"q1": {"d1": 1}, "q2": {"d2": 1}}
>>> runs = {"bm25": {"q1": ["d1", "d3"], "q2": ["d3", "d2"]}, "dense": {"q1": ["d1"], "q2": ["d2"]}}
>>> rs.evaluate(qrels, runs, [rs.nDCG @ 10, rs.AP]).mean()
run    nDCG@10      AP
bm25    0.8155  0.7500
dense   1.0000  1.0000

Every public name is in `PUBLIC`, and what it stands for is imported when first used. Measures are values: `nDCG @ 10`,
`P(rel=2) @ 5`, `AP`. Whatever else is inside the package may change; see docs/stability.md.
"""

import gc
from importlib import import_module
from types import ModuleType
from typing import Any

from rankscope._version import __version__

PUBLIC = {
    # what is done
    "check": "rankscope.experiment.targets:check",
    "check_project": "rankscope.experiment.targets:check_project",
    "compare": "rankscope.comparison.compare:compare",
    "compare_scores": "rankscope.comparison.compare:compare_scores",
    "convert": "rankscope.io.conversion:convert",
    "create_task": "rankscope.judging.tasks:create_task",
    "diagnose": "rankscope.analysis.diagnose:diagnose",
    "evaluate": "rankscope.evaluation:evaluate",
    "explain": "rankscope.analysis.explain:explain",
    "export_judgments": "rankscope.judging.exporting:export_judgments",
    "fuse": "rankscope.systems.fusion:fuse",
    "import_judgments": "rankscope.judging.importing:import_judgments",
    "list_measures": "rankscope.measures.listing:list_measures",
    "keep_benchmark": "rankscope.experiment.keep:keep_benchmark",
    "list_profiles": "rankscope.measures.profiles:list_profiles",
    "load_project": "rankscope.experiment.project:load_project",
    "load_qrels": "rankscope.data.loading:load_qrels",
    "load_run": "rankscope.data.loading:load_run",
    "load_targets": "rankscope.experiment.target_file:load_targets",
    "measure": "rankscope.measures.spec:measure",
    "parse_measure": "rankscope.measures.parse:parse_measure",
    "parse_measures": "rankscope.measures.parse:parse_measures",
    "open_store": "rankscope.store:open_store",
    "plan": "rankscope.comparison.planning:plan",
    "read_scores": "rankscope.measures.score_files:read_scores",
    "render": "rankscope.report.render:render",
    "robustness": "rankscope.analysis.robustness:robustness",
    "run_project": "rankscope.experiment.runner:run_project",
    "score_shard": "rankscope.measures.shard_scores:score_shard",
    "settling_of": "rankscope.judging.settling:settling_of",
    "shards_of": "rankscope.measures.shard_scores:shards_of",
    "side_by_side": "rankscope.analysis.side_by_side:side_by_side",
    "trec_eval_text": "rankscope.evaluation:trec_eval_text",
    "validate": "rankscope.analysis.validate:validate",
    "watch_project": "rankscope.experiment.watch:watch_project",
    "write_run": "rankscope.data.loading:write_run",
    # what goes in and comes out
    "Aggregate": "rankscope.measures.scores:Aggregate",
    "Benchmark": "rankscope.experiment.results:Benchmark",
    "BenchmarkRecord": "rankscope.experiment.results:BenchmarkRecord",
    "ByteRange": "rankscope.io.shards:ByteRange",
    "Comparison": "rankscope.comparison.records:Comparison",
    "Conversion": "rankscope.io.conversion:Conversion",
    "Diagnosis": "rankscope.analysis.diagnose:Diagnosis",
    "Explanation": "rankscope.analysis.explain:Explanation",
    "GateResult": "rankscope.comparison.gate:GateResult",
    "Hits": "rankscope.align.hits:Hits",
    "JobState": "rankscope.progress:JobState",
    "Measure": "rankscope.measures.spec:Measure",
    "MeasureExample": "rankscope.measures.spec:MeasureExample",
    "MeasureFamily": "rankscope.measures.spec:MeasureFamily",
    "Policies": "rankscope.align.policies:Policies",
    "Project": "rankscope.experiment.project:Project",
    "Qrels": "rankscope.data.qrels:Qrels",
    "QueryPlan": "rankscope.comparison.planning:QueryPlan",
    "ReadOptions": "rankscope.data.loading:ReadOptions",
    "Report": "rankscope.report.document:Report",
    "Robustness": "rankscope.analysis.robustness:Robustness",
    "RowGroups": "rankscope.io.shards:RowGroups",
    "Run": "rankscope.data.run:Run",
    "RunOptions": "rankscope.experiment.runner:RunOptions",
    "RunScores": "rankscope.measures.scores:RunScores",
    "Scores": "rankscope.measures.scores:Scores",
    "SettlingState": "rankscope.judging.settling_state:SettlingState",
    "ShardScores": "rankscope.measures.shard_scores:ShardScores",
    "SideBySide": "rankscope.analysis.side_by_side:SideBySide",
    "Store": "rankscope.store:Store",
    "StoredRun": "rankscope.store:StoredRun",
    "TakenIn": "rankscope.judging.importing:TakenIn",
    "Target": "rankscope.analysis.targets:Target",
    "TargetsReport": "rankscope.analysis.targets:TargetsReport",
    "Task": "rankscope.data.tasks:Task",
    "TaskPlan": "rankscope.data.tasks:TaskPlan",
    "ValidationReport": "rankscope.analysis.validate:ValidationReport",
    "WatchOptions": "rankscope.experiment.watch:WatchOptions",
    "WatchResult": "rankscope.experiment.watch:WatchResult",
    "WholeFile": "rankscope.io.shards:WholeFile",
    "Workings": "rankscope.measures.spec:Workings",
    # what goes wrong
    "FormatError": "rankscope.errors:FormatError",
    "InputError": "rankscope.errors:InputError",
    "MeasureError": "rankscope.errors:MeasureError",
    "OptionError": "rankscope.errors:OptionError",
    "UnfinishedError": "rankscope.errors:UnfinishedError",
    "UnknownKeywordError": "rankscope.errors:UnknownKeywordError",
    "UnknownNameError": "rankscope.errors:UnknownNameError",
    "RankscopeError": "rankscope.errors:RankscopeError",
    "RankscopeWarning": "rankscope.errors:RankscopeWarning",
    # types of what may be given
    "EvaluateOptions": "rankscope.typing:EvaluateOptions",
    "MeasureLike": "rankscope.typing:MeasureLike",
    "MeasuresLike": "rankscope.typing:MeasuresLike",
    "PolicyOptions": "rankscope.typing:PolicyOptions",
    "QrelsLike": "rankscope.data.shapes:QrelsLike",
    "RunLike": "rankscope.data.shapes:RunLike",
    "RunsLike": "rankscope.data.shapes:RunsLike",
}
"""Every public name but those of the measures, and where it is: "module:object"."""

__all__ = ["__version__", *PUBLIC]  # noqa: PLE0604 (they are texts)


def __getattr__(name: str) -> Any:
    """Load a part of the library when it is first used, so that importing it costs almost nothing."""
    if name in PUBLIC:
        module, _, target = PUBLIC[name].partition(":")
        value = getattr(import_without_collecting(module), target)
    else:
        value = None if name.startswith("_") else measure_value(name)
        if value is None:
            raise AttributeError(f"module 'rankscope' has no attribute {name!r}")
    globals()[name] = value
    return value


def import_without_collecting(module: str) -> ModuleType:
    """Import a module with the garbage collector at rest: what an import makes stays, and NumPy makes a lot of it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collecting:
            gc.enable()


def measure_value(name: str) -> Any:
    """Return the measure of this name, without parameters, or None."""
    from rankscope.measures.registry import REGISTRY
    from rankscope.measures.spec import Measure

    return Measure(name) if name in REGISTRY else None


def __dir__() -> list[str]:
    from rankscope.measures.registry import REGISTRY

    return sorted({*__all__, *REGISTRY})
