"""The project that the pages show, as its file says it now."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from rankscope.errors import RankscopeError
from rankscope.experiment.project import Project, load_project


class ServedProject:
    """A project file that may change while the server runs: it is read again when it has changed.

    Where it cannot be read any more, the pages go on with what it said before, and `problem` says why.
    """

    def __init__(self, project: Project | None) -> None:
        self.project = project
        self.problem = ""
        """Why the file could not be read; empty where it could."""
        self._state = None if project is None else state_of(project.file)
        self._lock = threading.Lock()

    def read_again(self) -> bool:
        """Read the file where it has changed; tell whether the project is another one now."""
        with self._lock:
            if self.project is None or (state := state_of(self.project.file)) == self._state:
                return False
            self._state = state
            try:
                self.project, self.problem = load_project(self.project.file), ""
            except (RankscopeError, OSError) as error:
                said = str(error).replace(f"{self.project.file.parent}{os.sep}", "")  # pages show no paths
                self.problem = f"{self.project.file.name} was changed and cannot be read: {said}"
                return False
            return True


def state_of(file: Path) -> tuple[int, ...] | None:
    """Return what is another one when a file was written; None where it is gone."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
