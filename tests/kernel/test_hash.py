"""Ids made to meet in one place of the kernel's tables must cost no more than others, and no key may change a result."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fuzz_bytes import compared

import rankscope as rs

MASK = (1 << 64) - 1
FIRST, SECOND = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
"""The numbers of a hash without a key, which could be undone."""


def mix(word: int) -> int:
    word = word * FIRST & MASK
    return word ^ (word >> 32)


def unmixed(word: int) -> int:
    return (word ^ (word >> 32)) * pow(FIRST, -1, 1 << 64) & MASK


def hash_without_key(identifier: bytes) -> int:
    """Hash 16 bytes as was done once."""
    first, last = (int.from_bytes(part, "little") for part in (identifier[:8], identifier[8:]))
    return mix(mix(16 ^ first) * SECOND & MASK ^ last)


def ids_that_met(n: int) -> list[bytes]:
    """Return ids of 16 bytes that all had the same hash, none with a blank in it."""
    rng = random.Random(5)
    wanted = unmixed(0x1234567812345678)
    found: dict[bytes, None] = {}
    while len(found) < n:
        first = rng.getrandbits(64) | 0x2020202020202020 | 0x8080808080808080
        last = (mix(16 ^ first) * SECOND & MASK) ^ wanted
        identifier = first.to_bytes(8, "little") + last.to_bytes(8, "little")
        if len(identifier.split()) == 1 and identifier.split()[0] == identifier and b"\0" not in identifier:
            found[identifier] = None
    return list(found)


def test_the_ids_did_meet():
    assert {hash_without_key(identifier) for identifier in ids_that_met(100)} == {0x1234567812345678}


@pytest.mark.slow
def test_ids_that_met_once_take_no_longer_than_others(tmp_path):
    n = 20_000
    rng = random.Random(6)
    others = [b"%016d" % number for number in rng.sample(range(10**15), n)]
    qrels = {"q1": {"known": 1}}

    def seconds(ids: list[bytes], name: str) -> float:
        path = tmp_path / name
        path.write_bytes(
            b"q1 Q0 known 1 0 t\n"
            + b"".join(b"q1 Q0 %b 1 %d t\n" % (identifier, n - i) for i, identifier in enumerate(ids))
        )
        taken = []
        for _ in range(3):
            start = time.process_time()
            rs.evaluate(qrels, path, ["P@10"], threads=1)
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds(ids_that_met(n), "met.run") < 4 * seconds(others, "others.run")


@pytest.mark.parametrize("seed", ["0", "1", "18446744073709551615"])
def test_no_key_changes_a_result(seed):
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_hash; test_hash.compare_some()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        env=os.environ | {"RANKSCOPE_HASH_SEED": seed},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def compare_some() -> None:
    for case, found, expected in compared(200, 11):
        assert found == expected, case
