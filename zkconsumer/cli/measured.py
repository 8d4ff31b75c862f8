"""``--metrics-port``: a command that consumes serves its consumer's metrics while it runs."""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from zkconsumer.cli.cluster_arguments import Container
from zkconsumer.metrics.families import Family
from zkconsumer.observe import Observer


def add_metrics_arguments(parser: Container) -> None:
    """Add the options of ``serving_metrics`` to a parser or an argument group."""
    parser.add_argument(
        "--metrics-port",
        type=port_number,
        metavar="PORT",
        help="serve its metrics for Prometheus at http://127.0.0.1:PORT/metrics while "
        "it runs (extra: metrics); 0 takes a free port and prints it",
    )
    parser.add_argument(
        "--metrics-host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to serve them at (default: %(default)s, this machine only; 0.0.0.0: "
        "for all that can reach it)",
    )


@contextmanager
def serving_metrics(
    args: argparse.Namespace, families: Callable[[], Iterator[Family]]
) -> Iterator[None]:
    """Serve metrics while the block runs, if requested.

    If the system chose the port, the address is printed to standard error.

    Args:
        args: parsed arguments of ``add_metrics_arguments``.
        families: computes the metrics on each scrape. Thread: any.

    Raises:
        ConfigError: the port can't be opened, or the extra ``metrics`` is missing.
    """
    if args.metrics_port is None:
        yield
        return
    from zkconsumer.metrics.consumer import MetricsServer  # noqa: PLC0415 - few want it

    with MetricsServer(args.metrics_port, families, host=args.metrics_host) as server:
        if args.metrics_port == 0:
            address = f"http://{args.metrics_host}:{server.port}/metrics"
            print(f"metrics at {address}", file=sys.stderr, flush=True)
        yield


def tracers() -> tuple[Observer, ...]:
    """Return the OpenTelemetry observers, if its API is installed."""
    from zkconsumer.metrics.spans import tracing_observers  # noqa: PLC0415 - its own dependencies

    return tracing_observers()


def port_number(text: str) -> int:
    """Parse a port.

    Raises:
        argparse.ArgumentTypeError: it is invalid.
    """
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port: expected a number from 0 to 65535"
        )
    return int(text)
