"""The ``zkconsumer`` command: dispatches to the subcommands, and reports errors in one line.

The subcommands are listed in ``commands.py``.
"""

import argparse
import itertools
import logging
import os
import sys
from collections.abc import Sequence

from zkconsumer.cli.completion import complete_shell
from zkconsumer.cli.configuration import Configuration, Defaults, user_configuration
from zkconsumer.cli.exit_status import INTERRUPTED, REFUSED
from zkconsumer.cli.output import discard_standard_output, mend_standard_streams, report_error
from zkconsumer.cli.parsing import called, commands_of, parse, parser_for, without_help_command
from zkconsumer.cli.timed_output import LogHandler, SafeLogFormatter
from zkconsumer.errors import ConfigError, ZkConsumerError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: the arguments, without the program's name; None: those of the process.

    Returns:
        The exit status: 0, or one of ``exit_status``.
    """
    complete_shell()
    mend_standard_streams()
    words = sys.argv[1:] if arguments is None else arguments
    # From here on failures are logged for debugging.
    _set_up_logging(debug="--debug" in itertools.takewhile(lambda word: word[:1] == "-", words))
    try:
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ConfigError as error:
        return _report(error, status=REFUSED)
    except ZkConsumerError as error:
        return _report(error)
    except OSError as error:
        return _report(error, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - the top of the process reports internal errors
        return _report(error, f"unexpected {error!r}: please report it, with what --debug shows")


def _run(words: Sequence[str]) -> int:
    args = _parse(words)
    _set_up_logging(debug=args.debug)
    if sys.stdout is None:
        raise ZkConsumerError("standard output is closed: send it to a file or a pipe")
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has gone.
        discard_standard_output()
        return 0
    return status


def _parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments, with defaults of the configuration file.

    Raises:
        ConfigError: the file can't be used.
    """
    words = without_help_command(words)
    parser = parser_for(words)
    command, cluster_name = called(words)
    if command is None:
        return parse(parser, words)
    configuration = user_configuration()
    if configuration is None and cluster_name is not None:
        raise ConfigError(
            f"--cluster {cluster_name}: there is no configuration file to define it; see "
            "zkconsumer man for how to write one"
        )
    configuration = configuration or Configuration()
    if cluster_name is None:
        configuration = configuration.with_environment(os.environ)
    defaults = Defaults(configuration, cluster_name)
    defaults.apply(command, commands_of(parser)[command])
    args = parse(parser, words)
    defaults.settle(args)
    return args


def _report(error: Exception, text: str | None = None, status: int = 1) -> int:
    report_error(error, text)
    return status


def _set_up_logging(*, debug: bool) -> None:
    form = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"
    handler = LogHandler(sys.stderr)
    handler.setFormatter(SafeLogFormatter(form if debug else "zkconsumer: %(message)s"))
    logging.basicConfig(
        level=logging.DEBUG if debug else logging.WARNING, handlers=[handler], force=True
    )
    if not debug:
        # The connector itself logs what happens to its ZooKeeper connection.
        logging.getLogger("kazoo").setLevel(logging.CRITICAL)
