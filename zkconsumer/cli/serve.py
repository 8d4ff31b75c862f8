"""``zkconsumer serve``: serves a cluster's web pages, history, events and metrics."""

import argparse
import ipaddress
import re
from pathlib import Path
from typing import Final

from zkconsumer.cli.browsing import add_registry_argument
from zkconsumer.cli.cluster_arguments import add_abandoned_argument, add_cluster_arguments
from zkconsumer.cli.notifying import notify_settings
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.timed_output import limit_log_writes
from zkconsumer.errors import ConfigError

TOKEN_VARIABLE: Final = "ZKCONSUMER_TOKEN"  # noqa: S105 - its name
MISSING: Final = "the page needs more: pip install 'zkconsumer[web]'"
_LISTEN: Final = "127.0.0.1:8380"
_POSITIVE: Final = whole_number("is not a number of at least 1")
DESCRIPTION: Final = """\
Serves a page of the whole cluster: brokers, topics, consumer groups of both kinds, who reads what,
how far groups are behind, when they rebalanced and why, and what is wrong with them. Also what
Prometheus scrapes (/metrics), JSON (/api/...) and a health check (/healthz).

It only reads: nothing in ZooKeeper or on a broker is ever changed by it, and no group is joined.
Whom [notify] of the configuration file names is told of groups in trouble (docs/watch.md).
A cluster that goes away is waited for; what is shown meanwhile says how old it is.

  zkconsumer serve --zookeeper zk1:2181,zk2:2181/kafka
  zkconsumer serve --bootstrap-server kafka1:9092,kafka2:9092        (without a ZooKeeper)
  zkconsumer serve --zookeeper zk1:2181 --listen 0.0.0.0:8380 --token-file /etc/zkconsumer/token
  zkconsumer serve --play                               (a sandbox, in the browser)

It listens on this machine alone unless told otherwise. Who can reach it can see the cluster, so
another address needs a token: people type it in once, programs send "Authorization: Bearer TOKEN".
"""
EPILOG: Final = """\
exit codes: 0 it was asked to end (SIGTERM); 1 it could not listen or work; 2 wrong usage;
130 Ctrl-C
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_arguments(parser)
    _add_page_arguments(parser)
    _add_access_arguments(parser)
    _add_limit_arguments(parser)
    _add_history_arguments(parser)
    parser.add_argument(
        "--play",
        action="store_true",
        help="of no cluster of yours: start a sandbox in which something goes on, and show that, "
        "in a browser if there is one at this terminal",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="with --play: print the address, and open nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal."""
    try:
        import zkconsumer.web.serving  # noqa: F401, PLC0415 - an extra
    except ImportError as missing:
        raise ConfigError(MISSING) from missing
    from zkconsumer.cli.serving import serve_pages, serve_sandbox  # noqa: PLC0415 - as above

    limit_log_writes()
    return serve_sandbox(args) if args.play else serve_pages(args, notify_settings())


def _add_page_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the page")
    group.add_argument(
        "--clusters",
        metavar="NAMES",
        help="several clusters of the configuration file, and an overview of them: NAME,NAME, or "
        "all (one of them: zkconsumer --cluster NAME serve)",
    )
    group.add_argument(
        "--listen",
        default=_LISTEN,
        metavar="HOST:PORT",
        help="where to listen; port 0: any that is free (default: %(default)s)",
    )
    group.add_argument(
        "--interval-ms",
        type=_interval,
        default=5_000,
        metavar="MS",
        help="how often all of the cluster is read; what somebody looks at is read each second "
        "(default: %(default)s)",
    )
    add_abandoned_argument(group)
    group.add_argument(
        "--groups",
        type=_pattern,
        metavar="REGEX",
        help="show only groups whose id has a match of this (default: all)",
    )


def _add_access_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("who may see it")
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"a file with the token that is asked for; the variable {TOKEN_VARIABLE} does, too",
    )
    group.add_argument(
        "--no-token",
        action="store_true",
        help="listen on more than this machine without a token: everybody who gets there sees all",
    )
    group.add_argument(
        "--messages",
        action="store_true",
        help="let those who have the token look at messages of topics; each look is logged, "
        "without what it shows (default: nobody sees any)",
    )
    add_registry_argument(group)
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name under which browsers ask for the page, such as that of a proxy in front of "
        "it; can be given more than once (default: on loopback its own names, else any)",
    )


def _add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits for clients")
    group.add_argument(
        "--max-connections",
        type=_POSITIVE,
        metavar="NUMBER",
        help="how many there may be; when all are taken, those give way that keep it waiting, and "
        "/healthz is answered (default: 500, or what half of the files that it may open allows)",
    )
    group.add_argument(
        "--client-timeout-ms",
        type=_deadline,
        default=10_000,
        metavar="MS",
        help="how long a client may take to send a request, to send its body, and to take some of "
        "the answer (default: %(default)s)",
    )
    group.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        type=_network,
        metavar="ADDRESS",
        help="a proxy in front of the page, or a network of them, whose X-Forwarded-For and "
        "X-Forwarded-Proto are believed; can be given more than once",
    )


def _add_history_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the past")
    place = group.add_mutually_exclusive_group()
    place.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="where lags and rebalances are kept, a SQLite file "
        "(default: one for each cluster in ~/.local/state/zkconsumer)",
    )
    place.add_argument(
        "--no-history", action="store_true", help="keep nothing beyond the end of the program"
    )
    group.add_argument(
        "--keep-days",
        type=_POSITIVE,
        default=14,
        metavar="DAYS",
        help="for how long the past is kept (default: %(default)s)",
    )
    group.add_argument(
        "--history-mb",
        type=_POSITIVE,
        default=1024,
        metavar="MB",
        help="how large its file may become; then fewer moments are kept (default: %(default)s)",
    )


def _interval(text: str) -> int:
    number = _POSITIVE(text)
    if number < 200:
        raise argparse.ArgumentTypeError("at least 200 ms must lie between two readings")
    return number


def _deadline(text: str) -> int:
    number = _POSITIVE(text)
    if number < 100:
        raise argparse.ArgumentTypeError("at least 100 ms are needed, even by the quickest client")
    return number


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address or network of a proxy: {error}"
        ) from error


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from error
