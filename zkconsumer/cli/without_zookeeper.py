"""Clusters that are reached through their brokers alone: KRaft, or a ZooKeeper closed to us."""

import argparse
import sys

from zkconsumer.errors import ConfigError
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.printable import printable
from zkconsumer.status.model import ClusterSnapshot, GroupKind

NEEDS_ZOOKEEPER = (
    "this is kept in ZooKeeper, which brokers don't tell of: give --zookeeper HOSTS; nothing was "
    "done"
)
NO_CLUSTER = (
    "no cluster given: say where it is with --zookeeper HOSTS, or with --bootstrap-server HOSTS "
    "where it has no ZooKeeper or that is closed to you"
)


def address_of(args: argparse.Namespace, client: ClientSettings) -> str:
    """Return where the cluster is, as the user says it; what is asked for can be there.

    Args:
        args: with what ``add_cluster_arguments`` added.
        client: the settings for brokers, which may name those to begin with.

    Raises:
        ConfigError: neither ZooKeeper nor brokers are given, or groups of a ZooKeeper are wanted
            and none is given.
    """
    if args.zookeeper:
        address: str = args.zookeeper
        return address
    if not client.bootstrap:
        raise ConfigError(NO_CLUSTER)
    if getattr(args, "kind", None) is GroupKind.ZOOKEEPER:
        raise ConfigError("--kind zookeeper needs a --zookeeper: brokers don't know those groups")
    return ",".join(f"{broker.host}:{broker.port}" for broker in client.bootstrap)


def usual_kind(args: argparse.Namespace) -> GroupKind:
    """Return where a group lives unless something else is said: in ZooKeeper, if there is one."""
    if args.kind is not None:
        kind: GroupKind = args.kind
        return kind
    return GroupKind.ZOOKEEPER if args.zookeeper else GroupKind.COORDINATOR


def print_unknown(snapshot: ClusterSnapshot, kind: GroupKind | None) -> None:
    """Say on standard error that groups of a ZooKeeper are not among all that are shown.

    Args:
        snapshot: the cluster.
        kind: of the groups that are shown; None: all.
    """
    if snapshot.zookeeper == "unknown" and kind is not GroupKind.COORDINATOR:
        alone = snapshot.brokers_alone
        reported = "" if alone is None else alone.unknown
        print(f"zkconsumer: {printable(reported)}", file=sys.stderr)
