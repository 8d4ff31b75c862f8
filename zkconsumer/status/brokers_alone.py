"""A cluster read without ZooKeeper, and what is unknown then. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersAlone:
    """A cluster read through its brokers only: no ZooKeeper is configured, or it has none.

    Only ZooKeeper knows its groups, their members, owners and offsets, its clock and sessions, when
    brokers registered, topic configs, and topics being deleted: all of that is unknown.

    Attributes:
        bootstrap_servers: the bootstrap brokers, as ``host:port``, comma-separated.
        no_zookeeper: whether the cluster has none (KRaft), as a broker reports it; None before
            that.

    Example:
        >>> print(BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=True).unknown)
        groups that meet in a ZooKeeper: unknown, since the cluster has none
    """

    bootstrap_servers: str
    no_zookeeper: bool | None = None

    @property
    def why(self) -> str:
        """Why nothing is known of a ZooKeeper."""
        return "the cluster has none" if self.no_zookeeper else "no ZooKeeper was given"

    @property
    def unknown(self) -> str:
        """What is unknown, and why, in a line."""
        return f"groups that meet in a ZooKeeper: unknown, since {self.why}"
