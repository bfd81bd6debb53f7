"""The folder that relative paths, programs and modules of a project's systems are looked up in.

It is that of the project file while a project is read or run, and belongs to the thread that does so: two projects can
run at the same time, each in its own folder, also where both have a module of the same name. Neither the process's
current folder nor `sys.path` is touched. Outside of a project there is no such folder, and Python's own rules apply.
A module that is found nowhere else is looked for in the current folder.

A folder that is on `sys.path` is left to Python, with all that it can import and other processes can find:
`rankscope run` and jobs put the project's folder there (`process_of`), as their process belongs to that project alone.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from contextvars import ContextVar
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_FOLDER: ContextVar[Path | None] = ContextVar("working_directory", default=None)
_LOADING = threading.RLock()


@contextmanager
def working_directory(folder: Path) -> Iterator[None]:
    """Look up paths and modules in a folder, in this thread, until the block ends."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


@contextmanager
def process_of(folder: Path) -> Iterator[None]:
    """Give the process to a project: its code opens relative paths and imports modules in the project's folder.

    Only for a process that has nothing else to do. `run_project` touches neither the current folder nor `sys.path`, so
    that several projects can run in one process.
    """
    sys.path.insert(0, str(folder))
    with chdir(folder):
        yield


def current_directory() -> Path | None:
    return _FOLDER.get()


def resolve_path(path: str) -> str:
    """Return a path as it can be used here; what is not in the folder stays as it is, as it may be another name."""
    folder = _FOLDER.get()
    return str(folder / path) if folder is not None and (folder / path).exists() else path


def load_module(name: str) -> ModuleType:
    """Import a module: from the folder where it is there, else as Python does, else from the current folder."""
    folder, top = _FOLDER.get(), name.partition(".")[0]
    if folder is not None and str(folder) not in sys.path and _source_of(folder, top) is not None:
        return _load_from(folder, name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != top or _source_of(Path.cwd(), top) is None:
            raise
    return _load_from(Path.cwd(), name)


def _source_of(folder: Path, name: str) -> Path | None:
    """Return the file of a module or package in a folder; a folder of modules counts where Python knows no other."""
    for file in (folder / name / "__init__.py", folder / f"{name}.py"):
        if file.is_file():
            return file
    is_package = any((folder / name).glob("*.py")) and importlib.util.find_spec(name) is None
    return folder / name if is_package else None


def _prefix(folder: Path) -> str:
    """Return what the names of a folder's modules begin with in `sys.modules`, so that folders are kept apart."""
    return f"_project_{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}_"


def _load_from(folder: Path, name: str) -> ModuleType:
    """Import a module of a folder once; of `package.module` the package first."""
    parent, _, own = name.rpartition(".")
    full_name = _prefix(folder) + name
    with _LOADING:
        if full_name in sys.modules:
            return sys.modules[full_name]
        inside = folder
        if parent:
            places = getattr(_load_from(folder, parent), "__path__", None)
            if places is None:
                raise ModuleNotFoundError(f"No module named {name!r}; {parent!r} is not a package", name=name)
            inside = Path(places[0])
        file = _source_of(inside, own)
        if file is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = sys.modules[full_name] = _run_module(full_name, file, folder)
        if parent:
            setattr(sys.modules[_prefix(folder) + parent], own, module)
        return module


def _run_module(full_name: str, file: Path, folder: Path) -> ModuleType:
    """Return a new module with what its file defines; one that fails is forgotten."""
    if file.is_dir():
        package = ModuleType(full_name)
        package.__path__ = [str(file)]
        return package
    loader = SourceFileLoader(full_name, str(file))
    inner = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(full_name, file, loader=loader, submodule_search_locations=inner)
    assert spec is not None  # noqa: S101 (a loader is given)
    module = sys.modules[full_name] = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _importer(folder)}
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[full_name]
        raise
    return module


def _importer(folder: Path) -> Callable[..., Any]:
    """Return what `import` does in a module of a project: look in its folder first, as a script's imports do."""
    prefix = _prefix(folder)

    def import_(
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 (as Python calls it)
        locals: Mapping[str, Any] | None = None,  # noqa: A002 (as above)
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        wanted = name
        if level and globals:
            wanted = importlib.util.resolve_name("." * level + name, str(globals["__package__"])).removeprefix(prefix)
        top = wanted.partition(".")[0]
        if top in sys.stdlib_module_names or _source_of(folder, top) is None:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = _load_from(folder, wanted)
        for inner in fromlist or ():
            if not hasattr(module, inner) and hasattr(module, "__path__") and inner != "*":
                _load_from(folder, f"{wanted}.{inner}")
        return module if fromlist else sys.modules[prefix + top]

    return import_
