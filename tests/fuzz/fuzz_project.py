"""Project files that are nearly right: `load_project` returns a project or raises an error of ours, nothing else.

`scripts/fuzz --kind project --inputs 1000 --seed 1`. A right project is taken apart: values of other types, keys that
are missing, misspelt or too many, odd names, huge numbers, deep nesting, odd paths; then bytes of its text are changed.
"""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankscope.errors import RankscopeError
from rankscope.experiment.project import load_project

RIGHT: dict[str, Any] = {
    "measures": ["nDCG@10", "RR@10"],
    "primary": "nDCG@10",
    "strata": ["difficulty"],
    "margin": 0.02,
    "seeds": [1, 2],
    "depth": 50,
    "output": "results",
    "collections": {
        "small": {"path": "small", "group": "difficulty", "weights": "w"},
        "apart": {"docs": "small/corpus.jsonl", "queries": "small/queries.jsonl", "qrels": "small/qrels/test.tsv"},
    },
    "systems": {
        "words": {"type": "bm25", "k1": 0.9, "b": 0.4},
        "meaning": {"type": "dense", "model": "wordllama", "similarity": "cosine", "fields": ["title", "text"]},
        "both": {"type": "hybrid", "of": ["words", "meaning"], "weights": [1, 2], "method": "combsum"},
        "web": {
            "type": "http",
            "url": "http://127.0.0.1:9/{query}",
            "ids": "$[*].id",
            "headers": {"X-A": "b"},
            "timeout_s": 3,
        },
        "point": {"type": "dense", "model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "HOME"},
        "program": {"type": "command", "command": ["cat"], "timeout_s": 1},
        "code": {"type": "python", "function": "searching:one", "records": True},
        "file": {"type": "run", "path": "some.run"},
        "spread": {"type": "mmr", "of": "meaning", "pool": 20},
        "again": {"type": "rerank", "of": "words", "function": "searching:one", "pool": 10},
        "longer": {"type": "expand", "of": "words"},
        "elastic": {
            "type": "elasticsearch",
            "url": "http://127.0.0.1:9",
            "index_name": "i",
            "query": {"match": {"text": "{query}"}},
        },
    },
}
ODD_TEXTS = [
    *(
        "",
        " ",
        ".",
        "..",
        "/",
        "//",
        "a/../..",
        "~",
        "/dev/zero",
        "/proc/self/mem",
        "con",
        "a\nb",
        "a\tb",
        "\u202e",
        "é",
        "x" * 5000,
    ),
    *(
        "${HOME}",
        "${",
        "${}",
        "${NO_SUCH}",
        "${A:-b}",
        "$${A}",
        "{query}",
        "{",
        "}{",
        "{0}",
        "{query.__class__}",
        "%s",
        "module:",
        ":f",
    ),
    *(
        "os:system",
        "searching:one",
        "searching:nothing",
        "no_module:x",
        "a:b:c",
        "nDCG@",
        "nDCG@0",
        "nDCG@10",
        "P(rel=)@3",
        "@",
        "RR@1e9",
    ),
    *(
        "http://",
        "http://[",
        "http://a:99999/",
        "file:///etc/passwd",
        "http://127.0.0.1:9/{query}",
        "$[",
        "$..*",
        "$[*].id",
        "inf",
        "0",
    ),
    *("bm25", "dense", "hybrid", "http", "words", "both", "small", "rrf", "wordllama", "\\u0000", "\u2028"),
]
ODD_NUMBERS = [
    0,
    -1,
    1,
    2,
    1 << 31,
    1 << 63,
    -(1 << 63),
    10**30,
    10**5000,
    0.0,
    -0.5,
    1e308,
    float("inf"),
    float("nan"),
    1e-320,
]


class RawText(str):
    """What goes into the file as it is."""

    __slots__ = ()


ODD_RAW = [
    RawText(text)
    for text in (
        "1979-05-27T07:32:00Z",
        "07:32:00",
        "0x_1",
        "1__0",
        "1e",
        "tru",
        "'''",
        '"""\n"""',
        "nan",
        "[,]",
        "{,}",
    )
]


class ProjectTexts:
    """Makes the texts of project files from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        rng = self.rng
        kind = rng.randrange(9 if depth < 3 else 6)
        if kind < 3:
            return rng.choice(ODD_TEXTS)
        if kind == 3:
            return rng.choice(ODD_NUMBERS)
        if kind == 4:
            return rng.choice((True, False))
        if kind == 5:
            return rng.choice(ODD_RAW) if rng.random() < 0.2 else rng.choice(ODD_TEXTS)
        if kind < 8:
            return [self.value(depth + 1) for _ in range(rng.choice((0, 1, 2, 2, 40)))]
        return {rng.choice(ODD_TEXTS): self.value(depth + 1) for _ in range(rng.randrange(4))}

    def mutate(self, table: Any) -> None:
        """Change something in a table, or in one that it holds."""
        rng = self.rng
        inner = [
            value for value in (table.values() if isinstance(table, dict) else table) if isinstance(value, dict | list)
        ]
        if inner and rng.random() < 0.75:
            self.mutate(rng.choice(inner))
            return
        keys = list(table) if isinstance(table, dict) else list(range(len(table)))
        how = rng.randrange(6)
        if not keys or how == 0:
            if isinstance(table, dict):
                table[rng.choice(ODD_TEXTS)] = self.value()
            else:
                table.append(self.value())
        elif how == 1:
            del table[rng.choice(keys)]
        elif how == 2 and isinstance(table, dict):
            key = rng.choice(keys)
            at = rng.randrange(len(key) + 1)
            table[key[:at] + rng.choice(("", "x", "_", "é")) + key[at + 1 :]] = table.pop(key)
        elif how == 3:
            table[rng.choice(keys)] = copy.deepcopy(table[rng.choice(keys)])
        elif how == 4 and isinstance(table, dict):
            table[rng.choice(ODD_TEXTS)] = table.pop(rng.choice(keys))
        else:
            table[rng.choice(keys)] = self.value()

    def text(self) -> tuple[str, bytes]:
        """Return the name of a file, and what it holds."""
        rng = self.rng
        project = copy.deepcopy(RIGHT)
        systems = project["systems"]
        for name in rng.sample(sorted(systems), rng.randrange(len(systems))):
            del systems[name]
        for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
            self.mutate(project)
        if rng.random() < 0.01:
            n = rng.choice((300, 5000, 100_000))
            project["margin"] = RawText(rng.choice(("[" * n, "[" * n + "]" * n, "{a=" * n, "{a=" * n + "1" + "}" * n)))
        is_inner = rng.random() < 0.1
        text = toml({"tool": {"rankscope": project}} if is_inner else project)
        name = "pyproject.toml" if is_inner else "rankscope.toml"
        encoding = rng.choice(("utf-8",) * 30 + ("utf-8-sig", "utf-16", "latin-1"))
        return name, self.with_odd_bytes(text.encode(encoding, "replace"))

    def with_odd_bytes(self, content: bytes) -> bytes:
        rng = self.rng
        changed = bytearray(content)
        for _ in range(rng.choice((0, 0, 0, 1, 3))):
            at = rng.randrange(len(changed) + 1)
            how = rng.randrange(4)
            if how == 0 and at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            elif how == 1:
                del changed[at : at + rng.randrange(1, 30)]
            elif how == 2:
                changed[at:at] = rng.choice(
                    (b"\0", b"\xff", b"\r", b"=", b"[[", b'"', b"'''", b"\xed\xa0\x80", b"#", b"\xef\xbb\xbf")
                )
            else:
                del changed[at:]
        return bytes(changed)


def toml(value: Any, *, top: bool = True) -> str:
    """Return TOML for a value, tables within one another on one line."""
    if isinstance(value, RawText):
        return str(value)
    if isinstance(value, dict):
        pairs = [f"{json.dumps(key)} = {toml(item, top=False)}" for key, item in value.items()]
        return "\n".join(pairs) if top else "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item, top=False) for item in value) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**4000:
        return "9" * 5000
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def problems(inputs: Iterator[int], seed: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files that `load_project` does anything with but to read or refuse them."""
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from small_project import small_project

    small_project(folder, n_queries=4, module="searching")
    texts = ProjectTexts(seed)
    for _ in inputs:
        name, content = texts.text()
        path = folder / name
        path.write_bytes(content)
        try:
            load_project(path)
        except RankscopeError as error:
            if not str(error).strip():
                yield repr(content), "an error without words"
        except Exception as error:  # noqa: BLE001 (that is what is looked for)
            yield repr(content), reason_of(error)
        path.unlink()


def reason_of(error: BaseException) -> str:
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:200]} at {last.filename}:{last.lineno}"
