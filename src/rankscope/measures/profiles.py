"""Profiles: the conventions of other tools, each a small table of policies and measure variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankscope.errors import OptionError, did_you_mean
from rankscope.light import LightRecord, field
from rankscope.measures.spec import Measure
from rankscope.registry import Registry


class Profile(LightRecord):
    """What one tool does where tools differ."""

    name: str
    description: str
    policies: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters that the tool's version of a measure has, by measure."""
    measures: Sequence[str] = ()
    """The measures the tool reports by default; those of Rankscope where it has none."""
    measures_of_docs: Sequence[str] = ()
    """More of them, which need data of the docs (fields, embeddings, an ontology): left out where it is not given."""
    unjudged_queries: str = "skip"
    """Whether queries without any judgment are left out ("skip"), or score 0 and count ("zero")."""
    notes: Sequence[str] = ()
    """Where the tool itself is not followed, and why."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The tool's own names for a query's scores, each with the measure it stands for; {k} is any cut-off."""
    mean_keys: Mapping[str, str] = field(default_factory=dict)
    """The same for means over queries."""
    cuts: Sequence[int] = ()
    """The cut-offs that the tool fills in."""

    def adapt(self, measures: Sequence[Measure]) -> tuple[Measure, ...]:
        """Return the measures as the tool computes them; parameters given by the user stay."""
        return tuple(measure.with_params(self.variants.get(measure.base, {})) for measure in measures)


VERSIONS = {"trec_eval-9": 9, "trec_eval-10": 10}
"""The versions of trec_eval whose text can be reproduced, by profile."""


def _notes(text: str) -> tuple[str, ...]:
    return tuple(" ".join(note.split()) for note in text.split("•")[1:])


_TREC_NOTES = _notes("""
    • the number of relevant docs that -c reports for all queries counts grades from 1 up whatever -l says, as the
      program does
    • a query whose judgments are all below 0 scores 0; the program stops or crashes on some of these
    • gains that differ by less than 1 (ndcg.1=0.9,2=0.5) are ordered correctly; the program takes them for equal
    • a grade that is not a whole number is an error; the program cuts it off silently
    • a score that is not a number is an error; the program takes it for 0
""")

_OWN = (
    Profile(
        "trec_eval-9",
        "trec_eval 9.0.x and pytrec_eval: scores compared in single precision, queries missing from the run skipped",
        policies={"precision": "single", "missing": "skip"},
        variants={"IPrec": {"rounding": "up"}, "IPrec11": {"rounding": "up"}},
        measures=("official",),
        notes=_TREC_NOTES,
    ),
    Profile(
        "trec_eval-10",
        "trec_eval 10.0: scores compared in double precision, recall levels rounded to the nearest doc",
        policies={"precision": "double", "missing": "skip"},
        variants={
            "IPrec": {"rounding": "nearest"},
            "IPrec11": {"rounding": "nearest"},
            "RBP": {"p": 0.9, "gain": "linear", "max_grade": "query"},
            "RBP_resid": {"p": 0.9},
        },
        measures=("official",),
        notes=(*_TREC_NOTES, "queries missing from the run are skipped unless asked for; the program stops on them"),
    ),
    Profile(
        "gdeval",
        "gdeval.pl of the TREC Web track: exponential gains, grades up to 4, queries without relevant docs left out",
        policies={"no_relevant": "exclude", "missing": "skip"},
        variants={"nDCG": {"gain": "exp2"}, "ERR": {"max_grade": 4}},
        measures=("nDCG@20", "ERR@20"),
        notes=("query ids need not be numbers", "scores are not rounded to five decimals"),
    ),
    Profile(
        "ndeval",
        (
            "ndeval 4.5 of the TREC Web track's diversity task: measures by subtopic, equal scores in the order of "
            "the ranks given"
        ),
        policies={"ties": "given", "missing": "skip"},
        variants={"alpha_DCG": {"scale": "best"}},
        measures=(
            *(f"{name}@{k}" for name in ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG") for k in (5, 10, 20)),
            *("NRBP", "nNRBP", "AP_IA"),
            *(f"{name}@{k}" for name in ("P_IA", "StRecall") for k in (5, 10, 20)),
        ),
        notes=_notes("""
            • docs are ordered by score, equal ones by the rank column; the program goes by the rank column alone
            • the program's -traditional, by score and then by doc id, is ties='trec'
            • ERR_IA@1 and alpha_DCG@1 are divided as at any other k; the program leaves them undivided (and does not
              print them)
            • any k, not only up to 20; query ids and subtopics need not be numbers
            • a grade below 0 means pooled but unjudged; the program stops on it
            • queries missing from the run are left out, as without the program's -c; missing='zero' is with it
        """),
    ),
    Profile(
        "msmarco",
        "the MS MARCO passage ranking script: RR@10 over all queries of the qrels, docs in the order given",
        policies={"ties": "given", "missing": "zero"},
        measures=("RR@10",),
        notes=("docs are ordered by score first; the script knows only the rank column",),
    ),
    Profile(
        "beir",
        "BEIR's EvaluateRetrieval: trec_eval 9 through pytrec_eval, docs that are the query itself removed",
        policies={"precision": "single", "missing": "skip", "self_match": "drop"},
        measures=tuple(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in (1, 3, 5, 10, 100, 1000)),
        notes=("nothing is rounded to five decimals",),
    ),
    Profile(
        "sentence-transformers",
        "InformationRetrievalEvaluator: binary nDCG, AP over at most k relevant docs, ties by ascending id",
        policies={"ties": "ascending", "no_relevant": "exclude"},
        variants={"nDCG": {"gain": "binary"}, "AP": {"norm": "min"}},
        measures=(
            *(f"{name}@{k}" for name in ("Success", "P", "R") for k in (1, 3, 5, 10)),
            *("nDCG@10", "RR@10", "AP@100"),
        ),
    ),
    Profile(
        "ir_measures",
        "ir_measures: trec_eval 9 through pytrec_eval for most measures, queries missing from the run count 0",
        policies={"precision": "single", "missing": "zero", "undefined": "zero"},
        variants={
            "IPrec": {"rounding": "up"},
            "ERR": {"max_grade": 4},
            "INST": {"gain": "linear"},
            "alpha_DCG": {"scale": "best"},
        },
        notes=_notes("""
            • all measures see one order of docs, pytrec_eval's; there RR@k, Judged, Compat and the measures by subtopic
              order equal scores by ascending id, and RBP and INST as given, all in double precision
            • SetF(beta=b) is SetF(beta=√b) here: the package hands b to trec_eval, which takes it for beta squared
            • Compat looks at 1000 ranks, as its authors' program does; the package stops at the end of the longer list
            • ERR and nDCG(dcg='exp-log2') are not rounded to five decimals, and query ids need not be numbers
            • INST goes on without end; the package stops at rank 1000
            • ERR_IA@1 and alpha_DCG@1 are divided as at any other k, k may exceed 20, and nNRBP is 0, not NaN, for a
              query without relevant docs
            • Judged leaves out grades below 0, which mean pooled but unjudged; the package counts them
            • NumRel counts the relevant docs of all queries; the package those of the queries in the run
            • SetP(relative=True) is SetRelP
            • not covered: NumQ, Accuracy, BPM, SDCG, INSQ, NERR8 to NERR11, Compat(normalize=False)
        """),
    ),
    Profile(
        "ranx",
        "ranx: queries missing from the run count 0, as with its make_comparable=True; equal scores in the order given",
        policies={"ties": "given", "missing": "zero"},
        variants={"RBP": {"gain": "linear"}},
        notes=_notes("""
            • a list of more than 15 docs with equal scores is in no fixed order in ranx, and a plain dict (not a Run)
              in reverse
            • rbp is divided by the highest grade of the qrels, so that it stays below 1; ranx multiplies by the grade
              as it is
            • write rbp.80; rbp@80 is RBP down to rank 80 here
            • bpref follows trec_eval; in ranx it is NaN where no doc was judged not relevant, counts grades below 0 as
              such, and one query without relevant docs sets others to 0
            • precision and f1 without a cut-off are SetP and SetF; hit_rate needs one
            • grades that are not whole numbers keep their value; ranx cuts them off silently
            • ids are compared as they are; ranx compares 53 bits of their hash
        """),
    ),
    Profile(
        "sklearn",
        (
            "scikit-learn's ranking metrics: ndcg_score, dcg_score, label_ranking_average_precision_score (AP), "
            "coverage_error (LastRel), top_k_accuracy_score (Success@k)"
        ),
        measures=("nDCG", "DCG", "AP", "LastRel", "Success@2"),
        notes=_notes("""
            • covered are scores without ties: for equal ones scikit-learn takes the mean over all their orders
              (ndcg_score, dcg_score), or the last of their ranks (AP, LastRel)
            • with ignore_ties=True, scikit-learn leaves the order of equal scores open
            • the ideal ranking is made of all judged docs; scikit-learn knows the docs of its row only, so it has to be
              given every judged doc, and unjudged ones as 0
            • a query without relevant docs scores 0 by nDCG and AP and has no LastRel; there it is 0 by ndcg_score, 1
              by label_ranking_average_precision_score and 0 by coverage_error
            • average_precision_score(average='samples') is AP, too
            • top_k_accuracy_score is for one relevant doc a query
            • a grade below 0 means unjudged and gains 0; ndcg_score refuses it, and dcg_score subtracts it
            • not covered: label_ranking_loss, roc_auc_score and other metrics of classes, log_base other than 2,
              sample_weight
        """),
    ),
)

PROFILES: Registry[Profile] = Registry("profile", {})
for _profile in _OWN:
    PROFILES.add(_profile.name, _profile)
for _name in ("ranking_algo", "parakeet", "phentrieve", "phentrieve-plan", "dartboard", "dartboard-code"):
    PROFILES.add(_name, f"rankscope.predecessors.profiles:{_name.upper().replace('-', '_')}")


def list_profiles() -> dict[str, str]:
    """Return every profile with what it follows.

    Returns
    -------
    dict
        ``{name: description}``.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.list_profiles()["msmarco"]
    'the MS MARCO passage ranking script: RR@10 over all queries of the qrels, docs in the order given'
    """
    return {name: profile.description for name, profile in PROFILES.items()}


def find_profile(name: str) -> Profile:
    if name not in PROFILES:
        raise OptionError(
            f"there is no profile {name!r}; there are {', '.join(PROFILES)}", hint=did_you_mean(name, PROFILES)
        )
    return PROFILES[name]
