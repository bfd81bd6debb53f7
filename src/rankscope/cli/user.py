"""Say who may use the page of a team, and what each of them may do.

list                 all users, their roles, and how many browsers each is logged in with
add NAME [ROLE]      add a user (default: viewer)
role NAME ROLE       give a user another role, which holds at once
password NAME        give a user another password, and end all of their sessions
disable NAME         keep a user out, and end all of their sessions
enable NAME          let a user in again
remove NAME          remove a user; what they have done keeps the name

A rater judges, a viewer also sees all pages, an editor also saves test cases and starts runs, an owner also starts
systems that run programs. The password is asked for, or is the first line of stdin; it is never an argument, which
others could see. Only its scrypt hash is stored.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import show
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.printable import counted
from rankscope.records import Record, to_json

if TYPE_CHECKING:
    from rankscope.store import Store

EPILOG = """\
examples:
  rankscope user add ada owner
  rankscope user add bo                          a viewer
  rankscope user add cy editor --no-password     for somebody who comes by a proxy that has checked the name
  rankscope user role bo editor
  pass show rankscope/ada | rankscope user password ada
  rankscope user list --store postgresql://me@server/rankscope"""


class ListedUser(Record):
    """A user as the list shows it."""

    name: str
    role: str
    has_password: bool
    is_disabled: bool
    since: str
    sessions: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help=f"{', '.join([*ACTIONS][:-1])} or {[*ACTIONS][-1]}")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the user; not with list")
    parser.add_argument("role", metavar="ROLE", nargs="?", help="with add and role: owner, editor, viewer or rater")
    without = "with add: a user who has no password, and comes by the header of a reverse proxy only"
    parser.add_argument("--no-password", action="store_true", help=without)
    options.add_store_option(parser)
    options.add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    from rankscope.store import open_store

    if args.action not in ACTIONS:
        message = f"there is no action {args.action!r}; there are {', '.join(ACTIONS)}"
        raise OptionError(message, hint=did_you_mean(args.action, ACTIONS))
    refuse_what_does_nothing(args)
    with open_store(args.store, create=args.action == "add") as store:
        ACTIONS[args.action](args, store)
    return FINE


def refuse_what_does_nothing(args: argparse.Namespace) -> None:
    action = args.action
    if action == "list" and args.name is not None:
        raise OptionError("`rankscope user list` takes no name", hint="it lists all users")
    if action != "list" and not args.name:
        raise OptionError("no user is named", hint=f"rankscope user {action} NAME")
    if action == "role" and args.role is None:
        raise OptionError("no role is given", hint=f"rankscope user role {args.name} owner (editor, viewer, rater)")
    if args.role is not None and action not in ("add", "role"):
        raise OptionError(f"a role does nothing with {action}", hint=f"rankscope user role {args.name} {args.role}")
    if args.no_password and action != "add":
        raise OptionError(f"--no-password does nothing with {action}", hint="it is for add")
    if options.chosen_format(args) == "json" and action != "list":
        raise OptionError(f"--format json does nothing with {action}", hint="it is for list")


def read_password() -> str:
    """Ask for a password twice, or read it from the first line of stdin where nobody sits there."""
    if sys.stdin is None:
        raise InputError("there is no password: standard input is closed", hint="give it there, on a line of its own")
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("password: ")
    if getpass.getpass("once more: ") != password:
        raise InputError("the two passwords are not the same", hint="try again")
    return password


def list_users(args: argparse.Namespace, store: Store) -> None:
    open_of = [session.user for session in store.users.sessions()]
    users = [
        ListedUser(each.name, each.role, each.has_password, each.is_disabled, each.since, open_of.count(each.name))
        for each in store.users.list()
    ]
    if options.chosen_format(args) == "json":
        print(to_json(users))
        return
    if not users:
        show("there are no users: whoever has the link that `rankscope serve` prints is the owner")
    width = max((len(each.name) for each in users), default=0)
    for each in users:
        facts = [
            f"since {each.since[:10]}",
            *(["disabled"] if each.is_disabled else []),
            *([] if each.has_password else ["no password"]),
            *([f"logged in with {counted(each.sessions, 'browser')}"] if each.sessions else []),
        ]
        show(f"{each.name:<{width}}  {each.role:<6}  {', '.join(facts)}")


def add_user(args: argparse.Namespace, store: Store) -> None:
    from rankscope.store.users import check_name, checked_role

    check_name(args.name)
    role = checked_role(args.role or "viewer")
    is_known = store.users.find(args.name) is not None  # an error, for which nobody has to type a password
    password = None if args.no_password or is_known else read_password()
    store.users.add(args.name, role, password=password)
    show(f"{args.name} is {with_article(role)} now")


def with_article(role: str) -> str:
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}"


def change_role(args: argparse.Namespace, store: Store) -> None:
    changed = store.users.set_role(args.name, args.role)
    show(f"{args.name} is {with_article(changed.role)} now")


def change_password(args: argparse.Namespace, store: Store) -> None:
    store.users.get(args.name)
    store.users.set_password(args.name, read_password())
    show(f"{args.name} has another password now, and has to log in again")


def disable(args: argparse.Namespace, store: Store) -> None:
    store.users.set_disabled(args.name, is_disabled=True)
    show(f"{args.name} is kept out now")


def enable(args: argparse.Namespace, store: Store) -> None:
    store.users.set_disabled(args.name, is_disabled=False)
    show(f"{args.name} may log in again")


def remove(args: argparse.Namespace, store: Store) -> None:
    store.users.remove(args.name)
    show(f"{args.name} is removed")


ACTIONS: Mapping[str, Callable[[argparse.Namespace, Store], None]] = {
    "list": list_users,
    "add": add_user,
    "role": change_role,
    "password": change_password,
    "disable": disable,
    "enable": enable,
    "remove": remove,
}
