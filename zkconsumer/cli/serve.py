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
_POSITIVE: Final = whole_number()
DESCRIPTION: Final = """\
Serve a page of the whole cluster: brokers, topics, consumer groups of both kinds, who reads what,
how far groups are behind, when they rebalanced and why, and what is wrong with them. Also metrics
for Prometheus (/metrics), JSON (/api/...) and a health check (/healthz).

It only reads: it never changes anything in ZooKeeper or on a broker, and joins no group. The
targets in [notify] of the configuration file are notified of groups in trouble (docs/watch.md). If
the cluster is unreachable, the page shows its last state with its age until it is back.

  zkconsumer serve --zookeeper zk1:2181,zk2:2181/kafka
  zkconsumer serve --bootstrap-server kafka1:9092,kafka2:9092        (without a ZooKeeper)
  zkconsumer serve --zookeeper zk1:2181 --listen 0.0.0.0:8380 --token-file /etc/zkconsumer/token
  zkconsumer serve --play                               (a sandbox, in the browser)

It listens on loopback by default. Everybody who can reach it can see the cluster, so another
address needs a token: people type it in once, programs send "Authorization: Bearer TOKEN".
"""
EPILOG: Final = """\
exit codes: 0 stopped by SIGTERM; 1 it could not listen or work; 2 wrong usage;
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
        help="start a sandbox with sample traffic and show that instead of a cluster of yours, "
        "in a browser if this terminal has one",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="with --play: print the address, and open nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Serve the pages until a signal; return the exit status."""
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
        help="several clusters of the configuration file, with an overview: NAME,NAME, or all "
        "(for one of them: zkconsumer --cluster NAME serve)",
    )
    group.add_argument(
        "--listen",
        default=_LISTEN,
        metavar="HOST:PORT",
        help="the address to listen on; port 0: any free port (default: %(default)s)",
    )
    group.add_argument(
        "--interval-ms",
        type=_interval,
        default=5_000,
        metavar="MS",
        help="the interval between reads of the whole cluster; groups on open pages are read "
        "every second (default: %(default)s)",
    )
    add_abandoned_argument(group)
    group.add_argument(
        "--groups",
        type=_pattern,
        metavar="REGEX",
        help="show only groups whose id matches this regular expression somewhere (default: all)",
    )


def _add_access_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("access")
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"a file with the required token; the variable {TOKEN_VARIABLE} sets it, too",
    )
    group.add_argument(
        "--no-token",
        action="store_true",
        help=(
            "listen on other addresses than loopback without a token: everybody who can reach it "
            "sees everything"
        ),
    )
    group.add_argument(
        "--messages",
        action="store_true",
        help="let those who have the token see messages of topics; each query is logged, without "
        "its results (default: nobody sees messages)",
    )
    add_registry_argument(group)
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a host name under which browsers request the page, such as that of a proxy; may be "
        "repeated (default: on loopback its own names, else any)",
    )


def _add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("limits for clients")
    group.add_argument(
        "--max-connections",
        type=_POSITIVE,
        metavar="NUMBER",
        help="the maximum number of connections; when it is reached, slow ones are closed for "
        "new ones, and /healthz still responds (default: 500, or half of the open files "
        "limit)",
    )
    group.add_argument(
        "--client-timeout-ms",
        type=_deadline,
        default=10_000,
        metavar="MS",
        help="how long a client may take to send a request, to send its body, and to accept a "
        "part of the response (default: %(default)s)",
    )
    group.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        type=_network,
        metavar="ADDRESS",
        help="a proxy, or a network of proxies, whose X-Forwarded-For and X-Forwarded-Proto are "
        "trusted; may be repeated",
    )


def _add_history_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("history")
    place = group.add_mutually_exclusive_group()
    place.add_argument(
        "--history",
        type=Path,
        metavar="FILE",
        help="the SQLite file for the history of lags and rebalances (default: one for each "
        "cluster in ~/.local/state/zkconsumer)",
    )
    place.add_argument("--no-history", action="store_true", help="keep the history in memory only")
    group.add_argument(
        "--keep-days",
        type=_POSITIVE,
        default=14,
        metavar="DAYS",
        help="how long the history is kept (default: %(default)s)",
    )
    group.add_argument(
        "--history-mb",
        type=_POSITIVE,
        default=1024,
        metavar="MB",
        help=(
            "the maximum size of its file; beyond it, fewer samples are kept (default: %(default)s)"
        ),
    )


def _interval(text: str) -> int:
    number = _POSITIVE(text)
    if number < 200:
        raise argparse.ArgumentTypeError("the interval between reads must be at least 200 ms")
    return number


def _deadline(text: str) -> int:
    number = _POSITIVE(text)
    if number < 100:
        raise argparse.ArgumentTypeError("the time-out of clients must be at least 100 ms")
    return number


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address or network of a proxy: {error}"
        ) from error


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a regular expression: {error}"
        ) from error
