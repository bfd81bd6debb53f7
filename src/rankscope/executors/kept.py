"""Results of earlier jobs, one small file each: what is done is not done again, what is damaged counts as absent."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from rankscope.errors import InputError, OptionError
from rankscope.io.addresses import is_remote
from rankscope.io.write import errors_of_writing, sweep_half_written
from rankscope.records import Record

MARK = b"rankscope kept 1\n"
ENDING = ".kept"


class Kept(Record):
    """A folder of results, each under the digest of all that it depends on; several jobs may use it at once."""

    folder: Path

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Kept:
        """Return the folder, made where it is not there; what killed jobs have left half-written is removed."""
        if not os.fspath(folder) or is_remote(folder):
            raise OptionError(
                f"results are kept in a folder of this machine, which {os.fspath(folder)!r} is not",
                hint="name a folder",
            )
        path = Path(folder)
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file, but results are kept in a folder", hint="name a folder")
        with errors_of_writing(str(path)):
            path.mkdir(parents=True, exist_ok=True)
        sweep_half_written(path)
        return cls(path)

    def load(self, key: str) -> bytes | None:
        """Return what was kept under a key; None where nothing was, or where it is not what was written."""
        path = self._path(key)
        try:
            content = path.read_bytes() if path.is_file() else b""  # nobody writes into a pipe that lies there
        except OSError:
            return None
        mark, digest, payload = content[: len(MARK)], content[len(MARK) : len(MARK) + 32], content[len(MARK) + 32 :]
        return payload if mark == MARK and digest == _digest(key, payload) else None

    def store(self, key: str, payload: bytes) -> None:
        """Keep a result: it is there as a whole, and on the disk, when this returns, or not at all."""
        path = self._path(key)
        temporary = path.with_name(f".rankscope-{secrets.token_hex(8)}.tmp")
        with errors_of_writing(str(path)):
            try:
                with temporary.open("wb") as stream:
                    stream.write(MARK + _digest(key, payload) + payload)
                    stream.flush()
                    os.fsync(stream.fileno())
                if path.is_dir():
                    path.rmdir()  # one that holds something stays, and is named in the error
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogateescape')).hexdigest()}{ENDING}"


def _digest(key: str, payload: bytes) -> bytes:
    """Return what binds a payload to its key, so that a file under another name is not taken for it."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape") + b"\0" + payload).digest()
