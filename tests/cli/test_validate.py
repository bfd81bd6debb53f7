"""`rankscope validate` from the command line: exit codes, text, JSON, and files of evaluation campaigns."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from rankscope import __version__, evaluate
from rankscope.analysis.validate import FileInfo, ValidationReport, validate
from rankscope.cli.main import main
from rankscope.records import from_json, json_schema, to_json
from rankscope.report.findings import conclusion, print_findings

SHARED = Path(__file__).parents[2].parent / "shared" / "data"

QRELS = "".join(f"{query} 0 d{i} {i % 2}\n" for query in (1, 2) for i in range(12))
RUN = "".join(f"{query} Q0 d{i} {i + 1} {12 - i} tag\n" for query in (1, 2) for i in range(12))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write qrels and a run into the working folder, and return a function that writes more."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: str) -> str:
        Path(name).write_text(content, encoding="utf-8", errors="surrogateescape")
        return name

    write("qrels.txt", QRELS)
    write("good.run", RUN)
    return write


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the folder of real files, shared/data beside the repository, is not here")
    return SHARED


def validated(capsys, *arguments: str) -> tuple[int, dict]:
    """Return the exit code and the JSON."""
    code = main(["validate", *map(str, arguments), "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def codes_of(record: dict, path: str) -> dict[str, str]:
    """Return the level of each finding on a file, by code."""
    return {one["code"]: one["level"] for one in record["findings"] if one["where"] == str(path)}


def test_good_files_exit_0(files, capsys):
    assert main(["validate", "qrels.txt", "good.run"]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "qrels.txt (qrels, trec)\n"
        "  24 rows, 2 queries\n"
        "\n"
        "good.run (run, trec)\n"
        "  24 rows, 2 queries\n"
        "  remark   12 docs per query\n"
        "  remark   judged: 100.0% of the first 10 docs, 100.0% of the first 100 docs\n"
        "\n"
        "nothing odd found (2 remarks)\n"
    )
    assert shown.err == ""


def test_a_warning_exits_1(files, capsys):
    files("half.run", RUN[: len(RUN) // 2])
    assert main(["validate", "qrels.txt", "half.run"]) == 1
    shown = capsys.readouterr().out.splitlines()
    at = shown.index("  warning  not answered: 1 of 2 queries of the qrels")
    assert shown[at + 1 : at + 3] == [
        '             "2"',
        "           hint: they score 0 and count; --missing skip leaves them out of the mean",
    ]
    assert shown[-1] == "1 warning, 2 remarks"


def test_an_error_exits_1_and_comes_first(files, capsys):
    files("twice.run", RUN + "1 Q0 d0 13 0 tag\n")
    code, record = validated(capsys, "qrels.txt", "good.run", "twice.run")
    assert code == 1
    assert [one["code"] for one in record["findings"]] == [
        "depth",
        "share_judged",
        "duplicate_docs",
        "depth",
        "share_judged",
    ]


def test_the_json_record(files, capsys):
    code, record = validated(capsys, "qrels.txt", "good.run")
    assert code == 0
    assert list(record) == ["rankscope", "findings", "files"]
    assert record["rankscope"] == __version__
    assert record["files"] == [
        {"path": "qrels.txt", "kind": "qrels", "format": "trec", "n_rows": 24, "n_queries": 2},
        {"path": "good.run", "kind": "run", "format": "trec", "n_rows": 24, "n_queries": 2},
    ]
    assert record["findings"][0] == {
        "level": "remark", "code": "depth", "where": "good.run", "message": "12 docs per query", "examples": [], "hint": "",
    }  # fmt: skip


def test_the_json_follows_its_schema(files, capsys):
    files("bad.qrels", QRELS + "1 0 d99\n")
    files("odd.run", RUN + "1 Q0 d0 13 0 tag\n1 Q0 caf\udce9 14 0 tag\n3 Q0\n")
    _, record = validated(capsys, "bad.qrels", "good.run", "odd.run")
    assert {one["level"] for one in record["findings"]} == {"error", "warning", "remark"}
    schema = json_schema(ValidationReport)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(record, schema)
    report = validate("bad.qrels", ["good.run", "odd.run"])
    assert from_json(ValidationReport, json.dumps(record)) == report
    assert from_json(ValidationReport, to_json(report, ascii_only=True)) == report


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"files": []},
        {"findings": [{}]},
        {"findings": [{"level": "note", "code": "depth", "where": "", "message": "", "examples": [], "hint": ""}]},
        {"findings": [{"level": "remark", "code": "depth", "where": "", "message": "", "examples": [1], "hint": ""}]},
    ],
)
def test_the_schema_refuses_other_records(files, capsys, change):
    _, record = validated(capsys, "qrels.txt", "good.run")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**record, **change}, json_schema(ValidationReport))


def test_malformed_lines_are_findings(files, capsys):
    files("bad.run", RUN + "1 Q0 d99\n2 Q0 d99 5 abc tag\n")
    code, record = validated(capsys, "qrels.txt", "bad.run")
    assert code == 1
    finding = record["findings"][0]
    assert (finding["code"], finding["level"], finding["where"]) == ("malformed_lines", "error", "bad.run")
    assert finding["message"] == "malformed lines, left out here: 2"
    assert finding["examples"] == [
        'bad.run:25: 3 fields where 6 are needed: "1 Q0 d99"',
        "bad.run:26: score 'abc' is not a number: \"2 Q0 d99 5 abc tag\"",
    ]
    assert record["files"][1]["n_rows"] == 24


def test_malformed_lines_of_qrels_are_findings(files, capsys):
    files("bad.qrels", QRELS + "1 0 d99\n")
    code, record = validated(capsys, "bad.qrels", "good.run")
    assert (code, codes_of(record, "bad.qrels")["malformed_lines"]) == (1, "error")


def test_strict_stops_at_a_malformed_line(files, capsys):
    files("bad.run", RUN + "1 Q0 d99\n")
    assert main(["validate", "qrels.txt", "bad.run", "--strict"]) == 2
    assert "bad.run:25" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["absent.run", "qrels.txt", "empty.run"])
def test_what_cannot_be_read_exits_2(files, capsys, name):
    files("empty.run", "")
    assert main(["validate", "qrels.txt", name]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")


def test_an_unknown_format_exits_2(files, capsys):
    assert main(["validate", "qrels.txt", "good.run", "--format", "tabel"]) == 2
    assert "table" in capsys.readouterr().err


def test_ids_that_nearly_match(files, capsys):
    files("padded.run", RUN.replace("1 Q0", "001 Q0").replace("2 Q0", "002 Q0"))
    code, record = validated(capsys, "qrels.txt", "padded.run")
    assert (code, codes_of(record, "padded.run")["no_overlap"]) == (1, "error")
    near = next(one for one in record["findings"] if one["code"] == "query_ids_nearly_match")
    assert near["examples"] == ['run "001" ~ qrels "1"', 'run "002" ~ qrels "2"']


def test_tables_with_named_columns(files, capsys):
    files("qrels.csv", "question,doc,stars\n1,d0,1\n1,d1,0\n")
    files("run.csv", "question,doc,sim\n1,d0,2.5\n1,d1,1.5\n")
    options = ["--qrels-columns", "query=question,grade=stars", "--run-columns", "query=question,score=sim"]
    code, record = validated(capsys, "qrels.csv", "run.csv", *options)
    assert (code, [file["format"] for file in record["files"]]) == (0, ["csv", "csv"])


def test_a_file_given_twice_is_looked_at_once(files, capsys):
    _, record = validated(capsys, "qrels.txt", "good.run", "good.run")
    assert len(record["files"]) == 2


def test_ids_that_are_not_utf8_are_printed_as_escapes(files, capsys):
    files("latin.run", RUN + "1 Q0 caf\udce9 13 0 tag\n")
    assert main(["validate", "qrels.txt", "latin.run"]) == 1
    assert r"'caf\udce9'" in capsys.readouterr().out
    code, record = validated(capsys, "qrels.txt", "latin.run")
    assert (code, codes_of(record, "latin.run")["not_utf8"]) == (1, "warning")


def test_long_lines_are_wrapped_and_coloured_for_a_person(files, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)
    files("half.run", RUN[: len(RUN) // 2])
    main(["validate", "qrels.txt", "half.run"])
    coloured = capsys.readouterr().out
    assert "\x1b[33m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    main(["validate", "qrels.txt", "half.run"])
    plain = capsys.readouterr().out
    assert "\x1b[33m" not in plain
    assert "           hint: they score 0 and count; --missing skip\n           leaves them out of the mean\n" in plain


def test_nothing_found_is_said(capsys):
    report = ValidationReport(__version__, (), (FileInfo("a\udce4.txt", "qrels", "trec", 1, 1),))
    assert conclusion(report) == "nothing odd found"
    print_findings(report)
    assert "a\\udce4.txt" in capsys.readouterr().out
    assert json.loads(to_json(report, ascii_only=True))["files"][0]["path"] == "a\udce4.txt"


def test_help_names_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["validate", "--help"])
    assert stopped.value.code == 0
    assert "1 an error or a warning was found" in capsys.readouterr().out


def test_help_says_that_malformed_lines_do_not_stop_it(capsys):
    with pytest.raises(SystemExit):
        main(["validate", "--help"])
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith("  --")}
    assert "(the default)" not in lines["--strict"]
    assert "(the default)" in lines["--lenient"]


# files of evaluation campaigns


def test_trec_covid(shared_data, capsys):
    """SFDC's scores are distances; CincyMedIR was hardly judged; savantx answers two queries with fewer than 10 docs."""
    folder = shared_data / "runs" / "trec-covid-round1"
    runs = {path.name.removesuffix(".gz"): path for path in sorted((folder / "runs").glob("*.gz"))}
    code, record = validated(capsys, folder / "qrels.trec.gz", *runs.values())
    assert code == 1
    assert len(record["files"]) == 22
    by_run = {name: codes_of(record, path) for name, path in runs.items()}
    assert [name for name, codes in by_run.items() if "inverted_scores" in codes] == ["SFDC-23April-run1"]
    assert [name for name, codes in by_run.items() if "ranks_against_scores" in codes] == ["SFDC-23April-run1"]
    assert [name for name, codes in by_run.items() if "short_rankings" in codes] == ["savantx_nist_run_2"]
    assert by_run["CincyMedIR-run1"]["share_judged"] == "warning"
    assert by_run["lda400s2000"]["tied_scores"] == "warning"
    assert "error" not in {one["level"] for one in record["findings"]}


@pytest.mark.parametrize("name", ["lda400s2000", "savantx_nist_run_2"])
def test_the_share_judged_is_the_measure(shared_data, capsys, name):
    """Both runs have many ties, so this also holds the order of tied docs against that of the evaluation."""
    folder = shared_data / "runs" / "trec-covid-round1"
    files = [str(folder / "qrels.trec.gz"), str(folder / "runs" / f"{name}.gz")]
    mean = evaluate(*files, ["Judged@10", "Judged@100"]).mean()[name]
    shares = [f"{100 * mean[f'Judged@{k}'].value:.1f}% of the first {k} docs" for k in (10, 100)]
    _, record = validated(capsys, *files)
    told = next(one["message"] for one in record["findings"] if one["code"] == "share_judged")
    assert told == f"judged: {', '.join(shares)}"


def test_robust_2003(shared_data, capsys):
    folder = shared_data / "runs" / "robust03"
    code, record = validated(capsys, folder / "qrels.trec.gz", *sorted((folder / "runs").glob("*.gz")))
    assert code == 1
    assert {one["code"] for one in record["findings"]} == {"tied_scores", "depth", "share_judged"}
    assert codes_of(record, folder / "runs" / "uic0301.gz") == {"depth": "remark", "share_judged": "remark"}


def test_scifact_judges_only_relevant_docs(shared_data, capsys):
    run = shared_data / "runs" / "scifact-local" / "runs" / "minilm-l6-v2.gz"
    code, record = validated(capsys, shared_data / "collections" / "scifact" / "qrels.trec", run)
    assert code == 0
    assert "only_relevant_judged" in {one["code"] for one in record["findings"]}
    assert codes_of(record, run)["share_judged"] == "remark"


def test_runs_of_another_collection(shared_data, capsys):
    run = shared_data / "runs" / "robust03" / "runs" / "uic0301.gz"
    code, record = validated(capsys, shared_data / "runs" / "trec-covid-round1" / "qrels.trec.gz", run)
    assert (code, codes_of(record, run)["no_overlap"]) == (1, "error")
    assert "query_ids_nearly_match" not in codes_of(record, run)


def test_subtopics_are_no_duplicates(shared_data, capsys):
    folder = shared_data / "runs" / "web2012-diversity"
    _, record = validated(capsys, folder / "qrels.ndeval.gz", folder / "runs" / "indri-rm-catb.gz")
    assert "duplicate_docs" not in {one["code"] for one in record["findings"]}
