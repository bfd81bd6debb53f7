"""Checks of either file: rows and encodings."""

from __future__ import annotations

import pytest

from rankscope.analysis.validate import validate_rows


def test_files_without_rows_are_errors(make_qrels, make_run):
    findings = validate_rows(make_qrels([]), {"run": make_run([])})
    assert [(finding.where, finding.code) for finding in findings] == [("qrels", "no_rows"), ("run", "no_rows")]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("not_utf8", b"caf\xe9".decode("utf-8", "surrogateescape")),
        ("replacement_character", "caf\ufffd"),
        ("mojibake", "caf\u00c3\u00a4"),
        ("mojibake", "l\u00e2\u20ac\u2122art"),
        ("byte_order_mark", "q\ufeff1"),
        ("control_character", "q\x011"),
        ("control_character", "q\x7f"),
    ],
)
def test_damaged_ids(code, name, found, make_qrels, make_run):
    for files in (
        {"qrels": make_qrels([(name, "d1", 1)])},
        {"qrels": make_qrels([("q1", name, 1)])},
        {"run": make_run([("q1", name, 1)])},
    ):
        finding = found(code, **files)
        assert (finding.level, finding.examples) == ("warning", (ascii(name),))
        assert finding.examples[0].isascii()


@pytest.mark.parametrize("name", ["café", "Ärzte", "S\u00c3O", "日本語", "naïve", "Привет", "a b", "âge"])
def test_ids_of_all_languages_are_sound(name, make_qrels, make_run):
    codes = {
        finding.code for finding in validate_rows(make_qrels([(name, name, 1)]), {"run": make_run([(name, name, 1)])})
    }
    assert codes <= {"depth", "short_rankings", "share_judged", "self_matches", "only_relevant_judged"}


def test_a_damaged_id_is_reported_once(found, make_run):
    run = make_run([("q1", "\u00e2\u0080\u0099", 1)])  # mojibake, whose bytes are also control characters
    assert found("mojibake", run=run) is not None
    assert found("control_character", run=run) is None
