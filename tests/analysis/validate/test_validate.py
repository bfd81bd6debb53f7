"""All checks together: what is told of good files, and in which order."""

from __future__ import annotations

import rankscope as rs
from rankscope.analysis.validate import validate_rows


def test_of_good_files_only_the_depth_and_the_share_judged_are_told(good_qrels, good_run):
    findings = validate_rows(good_qrels, {"run": good_run})
    assert [(finding.level, finding.code) for finding in findings] == [("remark", "depth"), ("remark", "share_judged")]
    assert findings[0].message == "12 docs per query"
    assert findings[1].message == "judged: 100.0% of the first 10 docs, 100.0% of the first 100 docs"


def test_findings_are_grouped_by_place_and_the_worst_come_first(make_qrels, make_run, good_run):
    bad = make_run([("q1", "d1", 1), ("q1", "d1", 1), ("q1", "d2", 1)])
    findings = validate_rows(
        make_qrels([("q1", "d1", 1), ("q9", "d1", 0)]), {"b": bad, "a": good_run}, qrels_name="judged"
    )
    assert [(finding.where, finding.level) for finding in findings] == sorted(
        ((finding.where, finding.level) for finding in findings),
        key=lambda one: (["judged", "b", "a"].index(one[0]), ["error", "warning", "remark"].index(one[1])),
    )
    assert {finding.where for finding in findings} == {"judged", "b", "a"}


def test_data_in_memory_is_looked_at_like_files(tmp_path):
    qrels = {"q1": {"d1": 1, "d2": 0}}
    report = rs.validate(qrels, {"bm25": {"q1": {"d1": 1.0, "d3": 1.0}}, "dense": rs.Run({"q1": {"d1": 2.0}})})
    assert [(file.path, file.format, file.n_rows) for file in report.files] == [
        ("qrels", "memory", 2),
        ("bm25", "memory", 2),
        ("dense", "memory", 1),
    ]
    assert [finding.where for finding in report.findings if finding.code == "constant_scores"] == ["bm25"]
    assert rs.validate(rs.Qrels(qrels), [rs.Run({"q1": {"d1": 2.0}}, name="only")]).files[1].path == "only"
