"""Look after the store, which keeps every run, judgment and comparison of a project.

info           what it holds, and how much room it takes
check          read all of it: hashes, references, and scores computed again; exit code 1 where something is damaged
gc             remove what nothing points to, and files that were left half-written
backup FILE    write all of it to one file, while others go on writing
restore FILE   put a backup in its place; the backup is checked first, and the file that was there is kept beside it
export FOLDER  write runs, qrels, judgments, comparisons and tags as plain files
import FOLDER  take in what export wrote, or the results folder of a project
copy           copy all of it to another store (--to), and compare every row afterwards
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.cli import options
from rankscope.cli.exit_codes import FINDING, FINE
from rankscope.cli.style import show
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.printable import counted
from rankscope.records import to_builtins, to_json

if TYPE_CHECKING:
    from rankscope.store import Store, StoreLocation
    from rankscope.store.upkeep import StoreInfo

EPILOG = """\
examples:
  rankscope store info
  rankscope store check
  rankscope store check --all --format json
  rankscope store backup monday.db
  rankscope store restore monday.db
  rankscope store export kept/
  rankscope store import results/
  rankscope store copy --to postgresql://me@server/rankscope
  rankscope store copy --store postgresql://me@server/rankscope --to copy.db"""

_KINDS = {"backup": "FILE", "restore": "FILE", "export": "FOLDER", "import": "FOLDER"}
"""The actions that take a path."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help=f"{', '.join([*ACTIONS][:-1])} or {[*ACTIONS][-1]}")
    parser.add_argument("path", metavar="PATH", nargs="?", help="the file or folder of backup, restore, export, import")
    options.add_store_option(parser)
    parser.add_argument("--to", metavar="WHERE", help="with copy: the other store, a file or postgresql://…")
    parser.add_argument("--all", action="store_true", help="with check: compute all scores again, not a sample")
    parser.add_argument("--force", action="store_true", help="with backup: replace a file that is there already")
    options.add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    if args.action not in ACTIONS:
        message = f"there is no action {args.action!r}; there are {', '.join(ACTIONS)}"
        raise OptionError(message, hint=did_you_mean(args.action, ACTIONS))
    refuse_what_does_nothing(args)
    as_json = options.chosen_format(args) == "json"
    return ACTIONS[args.action](args, as_json)


def refuse_what_does_nothing(args: argparse.Namespace) -> None:
    wanted = _KINDS.get(args.action)
    if wanted and args.path is None:
        raise OptionError(f"no {wanted.lower()} is given", hint=f"rankscope store {args.action} {wanted}")
    if args.path is not None and not wanted:
        raise OptionError(f"`rankscope store {args.action}` takes no path", hint="--store says which store it is about")
    for option, action in (("to", "copy"), ("all", "check"), ("force", "backup")):
        if getattr(args, option) and args.action != action:
            raise OptionError(f"--{option} does nothing with {args.action}", hint=f"it is for {action}")
    if args.action == "copy" and not args.to:
        raise OptionError("where to copy to is not given", hint="rankscope store copy --to postgresql://… (or a file)")


def opened(args: argparse.Namespace, *, read_only: bool = False, create: bool = False) -> Store:
    from rankscope.store import open_store

    return open_store(args.store, read_only=read_only, create=create)


def place_of(args: argparse.Namespace) -> StoreLocation:
    """Return where the store is, or is to be, whatever state it is in."""
    from rankscope.store import find_store
    from rankscope.store.engine import location_of

    return location_of(args.store) if args.store else find_store() or location_of(Path.cwd())


def say(record: Any, lines: list[str], *, as_json: bool) -> None:
    if as_json:
        print(to_json(record))
    else:
        show(*lines)


def size_in_words(n: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} bytes"


def info(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store.upkeep import store_info

    with opened(args, read_only=True) as store:
        found = store_info(store)
    say(found, info_lines(found), as_json=as_json)
    return FINE


def info_lines(found: StoreInfo) -> list[str]:
    rows = found.rows
    n_further = sum(n * (times - 1) for times, n in found.repeated.items())
    runs = ", ".join(
        [
            counted(rows["run"] - n_further, "run"),
            *(f"{n} of them repeated {k} times" for k, n in found.repeated.items()),
        ]
    )
    others = (("comparison", "comparison"), ("judgment", "single judgment"))
    numbers = [runs, f"{rows['qrels']} qrels", *(counted(rows[table], noun) for table, noun in others)]
    lines = [
        found.store,
        f"  {'holds':<12} {', '.join(numbers)}",
        f"  {'size':<12} {size_in_words(found.bytes)}",
        f"  {'since':<12} {found.created[:16].replace('T', ' ')} (Rankscope {found.created_by}, tables {found.schema})",
    ]
    if found.first and found.last:
        lines.append(f"  {'runs':<12} {found.first[:16].replace('T', ' ')} to {found.last[:16].replace('T', ' ')}")
    lines.append(f"  {'collections':<12} {', '.join(found.collections) or 'none'}")
    lines.append(f"  {'systems':<12} {', '.join(found.systems) or 'none'}")
    tags = ", ".join(f"{name} (run {number})" for name, number in sorted(found.tags.items()))
    lines.append(f"  {'tags':<12} {tags or 'none'}")
    return lines


def check(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store.check import check_store

    with opened(args, read_only=True) as store:
        found = check_store(store, every_vector=args.all, progress=options.progress_on(sys.stderr))
    looked = (
        f"{counted(found.blobs, 'blob')} ({size_in_words(found.bytes)}), {counted(found.runs, 'run')}, "
        f"{found.computed_again} of {found.vectors} score vectors computed again"
    )
    lines = [f"{found.store}: {'fine' if found.is_fine else counted(len(found.findings), 'finding')}", f"  {looked}"]
    lines += [
        f"  {each.what}: {each.problem}" + (f" (used by {each.used_by})" if each.used_by else "")
        for each in found.findings
    ]
    if not found.is_fine:
        lines.append("next: rankscope store restore BACKUP; the file that is replaced is kept beside it")
    say(found, lines, as_json=as_json)
    return FINE if found.is_fine else FINDING


def gc(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store.upkeep import collect_garbage

    with opened(args) as store:
        done = collect_garbage(store)
        place = str(store.location)
    removed = f"removed {counted(done.blobs, 'blob')} ({size_in_words(done.bytes)})"
    files = f" and {counted(len(done.files), 'half-written file')}" if done.files else ""
    lines = [f"{place}: {removed}{files}; {size_in_words(done.gave_back)} given back to the disk"]
    say(done, lines, as_json=as_json)
    return FINE


def backup(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store.upkeep import back_up

    with opened(args, read_only=True) as store:
        size = back_up(store, Path(args.path), replace=args.force, progress=options.progress_on(sys.stderr))
        record = {"store": str(store.location), "backup": args.path, "bytes": size}
    say(record, [f"{args.path}: all of {record['store']}, {size_in_words(size)}"], as_json=as_json)
    return FINE


def restore(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store.upkeep import restore as put_back

    location = place_of(args)
    kept = put_back(Path(args.path), location, progress=options.progress_on(sys.stderr))
    lines = [f"{location}: as it was in {args.path}"]
    if kept is not None:
        lines.append(f"  what was there before is kept as {kept}")
    record = {"store": str(location), "backup": args.path, "kept": None if kept is None else str(kept)}
    say(record, lines, as_json=as_json)
    return FINE


def export(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store.exchange import export_store

    with opened(args, read_only=True) as store:
        done = export_store(store, Path(args.path), progress=options.progress_on(sys.stderr))
    say({"folder": args.path, **to_builtins(done)}, [f"{args.path}: {counts_in_words(done)}"], as_json=as_json)
    return FINE


def counts_in_words(done: Any) -> str:
    nouns = {
        "judgments": "judgment",
        "comparisons": "comparison",
        "tags": "tag move",
        "target_results": "target result",
        "alerts": "alert state",
        "notifications": "notification",
        "tasks": "judging task",
        "preferences": "preference",
    }
    words = [counted(n, noun) for name, noun in nouns.items() if (n := getattr(done, name))]
    return ", ".join([counted(done.runs, "run"), f"{done.qrels} qrels", *words])


def import_(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.experiment.results_import import import_results
    from rankscope.store.exchange import import_export, is_export

    folder, progress = Path(args.path), options.progress_on(sys.stderr)
    if not (folder / "manifest.json").is_file():
        raise InputError(
            f"{folder} has no manifest.json",
            hint="name a folder that `rankscope store export` or `rankscope run` has written",
        )
    with opened(args, create=True) as store:
        if is_export(folder):
            done = import_export(store, folder, progress=progress)
            record, lines = to_builtins(done), [f"{store.location}: new are {counts_in_words(done)}"]
            lines += other_tags(store, folder)
        else:
            found = import_results(store, folder, progress=progress)
            record = {"runs": [run.digest for run in found.runs], "known": found.known, "notes": found.notes}
            stored = [f"{run.system} {run.short}" for run in found.runs]
            there = f"; {found.known} there already" if found.known else ""
            lines = [
                f"{store.location}: {counted(len(stored), 'new run')}{there}",
                *(f"  stored: {each}" for each in stored),
            ]
            lines += [f"  note: {note}" for note in found.notes]
    say(record, lines, as_json=as_json)
    return FINE


def other_tags(store: Store, folder: Path) -> Iterator[str]:
    """Yield which tags of a folder are on another run there than in the store, where they stay."""
    from rankscope.errors import RankscopeError
    from rankscope.io.files import read_json

    there = {move["name"]: move["run"] for move in read_json(folder / "manifest.json")["tags"] if move["run"]}
    for name, number in store.tags.current().items():
        here = store.runs.find(str(number))
        if name in there and there[name] != here.digest:
            try:
                other = store.runs.find(there[name]).in_words
            except RankscopeError:
                other = there[name][:8]
            yield f"  tag {name} stays on {here.in_words}; in {folder} it is on {other}"


def copy(args: argparse.Namespace, as_json: bool) -> int:
    from rankscope.store import open_store
    from rankscope.store.upkeep import copy_all

    with opened(args, read_only=True) as source, open_store(args.to, create=True) as target:
        if source.location == target.location:
            raise OptionError("a store cannot be copied onto itself", hint="--to names another one")
        done = copy_all(source, target, progress=options.progress_on(sys.stderr))
        record = {"from": str(source.location), "to": str(target.location), "rows": done}
    line = f"{record['to']}: {sum(done.values()):,} rows of {record['from']}, every one compared"
    say(record, [line], as_json=as_json)
    return FINE


ACTIONS: Mapping[str, Callable[[argparse.Namespace, bool], int]] = {
    "info": info,
    "check": check,
    "gc": gc,
    "backup": backup,
    "restore": restore,
    "export": export,
    "import": import_,
    "copy": copy,
}
