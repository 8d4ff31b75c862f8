"""Describes a ZooKeeper without registered brokers, in one wording for all tools. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBrokers:
    """The finding that no broker is registered where the cluster should be.

    Attributes:
        zookeeper_connect: the connect string, with its chroot.
        is_cluster: whether a cluster has been there: its nodes exist, but all brokers are down.
        other_chroots: connect strings of the same servers with registered brokers.
    """

    zookeeper_connect: str
    is_cluster: bool
    other_chroots: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """The problem, in a sentence or two."""
        if self.is_cluster:
            return (
                f"No broker is registered in {self.zookeeper_connect}: there was a cluster, but "
                "all of its brokers are down."
            )
        return (
            f"No broker is registered in {self.zookeeper_connect}, and none ever was: there is no "
            "cluster to read from. Usually the chroot is missing or wrong."
        )

    @property
    def evidence(self) -> tuple[str, ...]:
        """The observations in ZooKeeper that show the problem."""
        node = "/brokers/ids is empty" if self.is_cluster else "there is no /brokers"
        seen = f"{node} in {self.zookeeper_connect}"
        return (seen, *(f"brokers are registered in {chroot}" for chroot in self.other_chroots))

    @property
    def repair(self) -> str:
        """The remedy, in a sentence."""
        if self.other_chroots:
            where = " or ".join(self.other_chroots)
            return f"Did you mean {where} (the chroot comes after the last server)?"
        if self.is_cluster:
            return "Start the brokers, and check their logs for why they are down."
        return (
            "Check that the brokers run, and that the chroot at the end of zookeeper.connect is "
            "that of the brokers."
        )

    def __str__(self) -> str:
        """Return the problem and the repair, for an error."""
        return f"{self.what} {self.repair}"
