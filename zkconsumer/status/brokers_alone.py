"""That a cluster is read without its ZooKeeper, and what is not known then. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersAlone:
    """A cluster is read through its brokers: nobody said where a ZooKeeper is, or it has none.

    What only a ZooKeeper could tell is not known then: which groups meet there, who is in them,
    what they own and commit there, its clock and its sessions, when brokers registered, which
    topics have settings of their own or are being deleted.

    Attributes:
        bootstrap_servers: the bootstrap brokers, as ``host:port``, by commas.
        no_zookeeper: whether the cluster has none (KRaft), by the word of a broker; None while
            none has been asked.

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
        """What is not known, and why, in a line."""
        return f"groups that meet in a ZooKeeper: unknown, since {self.why}"
