"""The arguments for the cluster: its addresses, security and time-outs."""

import argparse
from typing import Final, TypeAlias

from zkconsumer.cli.numbers import whole_number
from zkconsumer.status.silence import ABANDONED_AFTER_MS

# A class in argparse without a public name: a parser, or a group of its options.
Container: TypeAlias = "argparse._ActionsContainer"  # noqa: SLF001

DEFAULT_TIMEOUT_MS = 10_000
milliseconds: Final = whole_number("is not a number of milliseconds")
"""Parses a duration in ms, at least 1."""


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for a cluster's addresses and security; ``open_cluster`` requires one."""
    group = parser.add_argument_group("the cluster")
    group.add_argument(
        "--zookeeper",
        "--zkconnect",
        "--zookeeper.connect",
        dest="zookeeper",
        metavar="HOSTS",
        help="the ZooKeeper servers: host1:port1,host2:port2/chroot",
    )
    group.add_argument(
        "--bootstrap-servers",
        "--bootstrap-server",
        dest="bootstrap_servers",
        metavar="HOSTS",
        help="bootstrap brokers, at the listener that --command-config is for (default: those "
        "registered in ZooKeeper); without --zookeeper, the cluster is read through its "
        "brokers alone: for a cluster without ZooKeeper, or with one that you can't reach",
    )
    add_broker_arguments(group)


def add_broker_arguments(group: Container) -> None:
    """Add the arguments for the brokers."""
    group.add_argument(
        "--command-config",
        metavar="FILE",
        help="a .properties file with security settings: security.protocol, sasl.*, ssl.* "
        "for brokers; zookeeper.auth.*, zookeeper.ssl.* for ZooKeeper",
    )
    group.add_argument(
        "--timeout-ms",
        type=milliseconds,
        default=DEFAULT_TIMEOUT_MS,
        metavar="MS",
        help="how long one server may take to respond (default: %(default)s)",
    )


def add_zookeeper_argument(container: Container) -> None:
    """Add ``--zookeeper`` for commands that consume; these have other options for brokers."""
    container.add_argument(
        "--zookeeper", metavar="HOSTS", help="the ZooKeeper servers: host1:port1,host2:port2/chroot"
    )


def add_consumer_config_argument(container: Container) -> None:
    """Add ``--consumer.config``, the file of a single consumer."""
    container.add_argument(
        "--consumer.config",
        dest="consumer_config",
        metavar="FILE",
        help="a .properties file with settings of the consumer, such as security.protocol",
    )


def add_abandoned_argument(parser: Container) -> None:
    """Add the time without commits after which a group is abandoned; ``open_cluster`` reads it."""
    parser.add_argument(
        "--abandoned-after-ms",
        type=milliseconds,
        default=ABANDONED_AFTER_MS,
        metavar="MS",
        help="the time without a commit after which a group without members counts as abandoned, "
        "and no longer as in trouble (default: %(default)s, half an hour)",
    )
