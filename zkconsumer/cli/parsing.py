"""Parses the command line: loads the called command, and reports mistakes in one line."""

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from zkconsumer.cli.commands import SECTIONS, add_command, every_command, find_command, load_command
from zkconsumer.cli.exit_status import REFUSED
from zkconsumer.cli.help_text import FittedHelpFormatter
from zkconsumer.cli.version import ShowVersion
from zkconsumer.given_once import refuse_repeats
from zkconsumer.nearest import did_you_mean

_DESCRIPTION = """\
Read, watch and drain Kafka clusters of the ZooKeeper era (0.8 and later), alongside existing
consumers and tools."""

_EPILOG = """\
Every command has its own help: zkconsumer help COMMAND. The ZooKeeper servers can be set in the
variable ZKCONSUMER_ZOOKEEPER; repeated settings, and several clusters by name for --cluster, in a
configuration file; see zkconsumer man, or docs/shell.md.

To try it without a cluster: zkconsumer serve --play.

exit status: 0 done, without findings; 1 failed; 2 wrong usage, or refused: nothing was done; 3
problems were found (doctor, verify, lag, topics); 130 interrupted."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that reports errors in one line, with advice, and wraps its help.

    Commands use it for their parsers, too: flags can't be abbreviated unless a command allows it,
    and an option with a single value can't be given twice.
    """

    def __init__(self, **settings: Any) -> None:
        fitted = {"formatter_class": FittedHelpFormatter, "allow_abbrev": False}
        super().__init__(**{**fitted, **settings})
        refuse_repeats(self)

    def error(self, message: str) -> NoReturn:
        """See ``argparse.ArgumentParser``: ends the process with ``REFUSED``."""
        self.exit(REFUSED, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line.

    Args:
        only: the command to load; only the names of the others are added. None: load all.
    """
    parser: argparse.ArgumentParser = Parser(
        prog="zkconsumer",
        usage="zkconsumer [--cluster NAME] [--debug] COMMAND ...",
        description=f"{_DESCRIPTION}\n\n{_listed()}",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--version",
        action=ShowVersion,
        nargs=0,
        help="show the installed version and engine, and exit",
    )
    parser.add_argument(
        "--debug", action="store_true", help="log everything, and show the traceback of an error"
    )
    parser.add_argument(
        "--cluster",
        dest="cluster_name",
        metavar="NAME",
        help="take zookeeper and other settings from [clusters.NAME] of the configuration file",
    )
    # The description lists commands by section; argparse has only one list.
    subparsers = parser.add_subparsers(
        prog="zkconsumer",
        required=True,
        metavar="COMMAND",
        help=argparse.SUPPRESS,
    )
    for command in every_command():
        if only is None or command.name == only:
            add_command(subparsers, command.name, load_command(command), command.summary)
        else:
            subparsers.add_parser(command.name, help=command.summary, add_help=False)
    return parser


def _listed() -> str:
    width = max(len(command.name) for command in every_command())
    return "\n".join(
        line
        for section in SECTIONS
        for line in (
            f"{section.title}:",
            *(f"  {command.name:{width}}  {command.summary}" for command in section.commands),
            "",
        )
    )


class Called(NamedTuple):
    """The arguments before the command's own."""

    command: str | None
    cluster_name: str | None


def called(arguments: Sequence[str]) -> Called:
    """Find the command among the arguments, and the ``--cluster`` before it."""
    cluster_name: str | None = None
    words = iter(arguments)
    for word in words:
        if word == "--cluster":
            cluster_name = next(words, None)
        elif word.startswith("--cluster="):
            cluster_name = word.partition("=")[2]
        elif not word.startswith("-"):
            return Called(word, cluster_name)
    return Called(None, cluster_name)


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for the arguments; end the process if they name no command."""
    name = called(arguments).command
    if name is not None and find_command(name) is None:
        hint = did_you_mean(name, [command.name for command in every_command()])
        message = f"there is no command {name!r}{hint} (see zkconsumer --help)"
        print(f"zkconsumer: {message}", file=sys.stderr)
        raise SystemExit(REFUSED)
    parser = build_parser("" if name is None else name)
    if not arguments:
        # Without arguments, list the commands.
        parser.print_help(sys.stderr)
        parser.exit(REFUSED)
    return parser


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parse; end the process on an unknown argument, suggesting similar ones."""
    leaf = innermost(parser, arguments)
    # Before argparse, which would report a misspelt flag only as the absence of the right one.
    of_all, of_leaf = options_of(parser), options_of(leaf)
    command = called(arguments).command
    is_after_command = False
    for before, word in pairwise(["", *arguments]):
        if word == "--":
            break
        is_after_command = is_after_command or (word == command and before != "--cluster")
        name = word.partition("=")[0]
        if not name.startswith("--") or name in of_leaf:
            continue
        if name not in of_all:
            _refuse_unknown(leaf, word)
        if is_after_command:
            value = f" {of_all[name].metavar}" if of_all[name].metavar else ""
            leaf.error(
                f"{name} has to precede the command: {parser.prog} {name}{value} {command} ..."
            )
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        _refuse_unknown(leaf, next((w for w in unknown if w.startswith("-")), unknown[0]))
    return args


def _refuse_unknown(leaf: argparse.ArgumentParser, word: str) -> NoReturn:
    name = word.partition("=")[0]
    leaf.error(f"unknown option {name!r}{did_you_mean(name, list(options_of(leaf)))}")


def without_help_command(arguments: Sequence[str]) -> Sequence[str]:
    """Convert ``help X`` to ``X --help``; return other arguments unchanged."""
    if not arguments or arguments[0] != "help":
        return arguments
    return [*(word for word in arguments[1:] if not word.startswith("-")), "--help"]


def innermost(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the called subcommand, as far as it can be determined."""
    for word in arguments:
        parser = commands_of(parser).get(word, parser)
    return parser


# argparse has no public way to inspect a parser; only these functions use private ones.
def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Return every flag of a parser with its action."""
    return dict(parser._option_string_actions)  # noqa: SLF001


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands directly below a parser."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found |= action.choices
    return found


def exclusive_groups(
    parser: argparse.ArgumentParser, action: argparse.Action
) -> list[argparse._MutuallyExclusiveGroup]:
    """Return the groups of mutually exclusive options that contain an option."""
    groups = parser._mutually_exclusive_groups  # noqa: SLF001
    return [group for group in groups if action in members_of(group)]


def members_of(group: argparse._MutuallyExclusiveGroup) -> list[argparse.Action]:
    """Return the options of such a group."""
    return list(group._group_actions)  # noqa: SLF001
