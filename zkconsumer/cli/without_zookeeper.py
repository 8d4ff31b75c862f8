"""Supports clusters without ZooKeeper access: KRaft, or brokers only."""

import argparse

from zkconsumer.cli.output import note
from zkconsumer.errors import ConfigError
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.status.model import ClusterSnapshot, GroupKind

NEEDS_ZOOKEEPER = (
    "this is stored in ZooKeeper, and brokers can't access it: give --zookeeper HOSTS; nothing "
    "was done"
)
NO_CLUSTER = (
    "no cluster given: give --zookeeper HOSTS, or --bootstrap-server HOSTS for a cluster without "
    "ZooKeeper, or with one that you can't reach"
)


def address_of(args: argparse.Namespace, client: ClientSettings) -> str:
    """Return the cluster's address as given; check that it suffices for the requested groups.

    Args:
        args: parsed arguments of ``add_cluster_arguments``.
        client: the brokers' settings, which may have bootstrap servers.

    Raises:
        ConfigError: neither ZooKeeper nor brokers are given, or ZooKeeper groups are requested
            without ZooKeeper.
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
    """Return the kind of groups that is given; by default ZooKeeper's, if there is one."""
    if args.kind is not None:
        kind: GroupKind = args.kind
        return kind
    return GroupKind.ZOOKEEPER if args.zookeeper else GroupKind.COORDINATOR


def print_unknown(snapshot: ClusterSnapshot, kind: GroupKind | None) -> None:
    """Print to standard error that ZooKeeper groups are missing, if the kind includes them.

    Args:
        snapshot: the cluster.
        kind: the kind of the groups shown; None: all.
    """
    if snapshot.zookeeper == "unknown" and kind is not GroupKind.COORDINATOR:
        alone = snapshot.brokers_alone
        note("" if alone is None else alone.unknown)
