"""The ``zkconsumer`` command: picks the subcommand and reports errors in one line.

A subcommand is a module here with ``add_parser(subparsers)``, which sets ``run`` as a default of
its parser: a function from the parsed arguments to the exit status.
"""

import argparse
import logging
import sys
from collections.abc import Sequence

from zkconsumer.cli import consume, demo, drain, offsets, sandbox
from zkconsumer.cli.output import discard_standard_output, mend_standard_error
from zkconsumer.cli.version import ShowVersion
from zkconsumer.errors import ZkConsumerError

log = logging.getLogger(__name__)

_COMMANDS = (consume, offsets, drain, sandbox, demo)
_INTERRUPTED = 130


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="zkconsumer",
        description="The consumer for Kafka clusters of the ZooKeeper era.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action=ShowVersion, nargs=0, help="show what is installed and runs, and exit"
    )
    parser.add_argument(
        "--debug", action="store_true", help="log everything, and show where an error came from"
    )
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; those of the process unless given.

    Returns:
        The exit status: 0, or 1 after an error. (Wrong usage ends the process with 2.)
    """
    mend_standard_error()
    args = build_parser().parse_args(arguments)
    _set_up_logging(debug=args.debug)
    if sys.stdout is None:
        print("zkconsumer: standard output is closed: send it to a file or a pipe", file=sys.stderr)
        return 1
    try:
        return _run(args)
    except ZkConsumerError as error:
        return _report(error, str(error))
    except OSError as error:
        return _report(error, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - the top of the process: a fault of ours, named
        return _report(error, f"unexpected {error!r}: please report it, with what --debug shows")


def _run(args: argparse.Namespace) -> int:
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output had enough of it.
        discard_standard_output()
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _report(error: Exception, text: str) -> int:
    """Say what went wrong in one line; only the debug log shows where."""
    log.debug("the error came from here", exc_info=error)
    print(f"zkconsumer: {' '.join(text.split())}", file=sys.stderr)
    return 1


def _set_up_logging(*, debug: bool) -> None:
    form = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"
    logging.basicConfig(
        level=logging.DEBUG if debug else logging.WARNING,
        format=form if debug else "zkconsumer: %(message)s",
        stream=sys.stderr,
        force=True,
    )
    if not debug:
        # What kazoo has to say about connections, the connector says in our own words.
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
