"""All kinds of faults, and their order."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.chaos import cluster_faults as on_cluster
from tests.chaos import member_faults as on_members
from tests.chaos.cluster import ChaosCluster


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    Attributes:
        name: its name in the report.
        inflict: inflicts the fault, waits for its effect, repairs it, and returns a description.
    """

    name: str
    inflict: Callable[[ChaosCluster, random.Random], str]


FAULTS = (
    Fault("member of ours killed", on_members.kill_ours),
    Fault("original killed", on_members.kill_original),
    Fault("two members killed", on_members.kill_two),
    Fault("member frozen shortly", on_members.freeze_shortly),
    Fault("member frozen past its session", on_members.freeze_long),
    Fault("session expired", on_members.expire_session),
    Fault("member left and came back", on_members.leave_and_return),
    Fault("broker killed", on_cluster.kill_broker),
    Fault("broker stopped", on_cluster.stop_broker),
    Fault("broker and member killed", on_cluster.kill_broker_and_member),
    Fault("leaders moved", on_cluster.move_leaders),
    Fault("partitions added", on_cluster.add_partitions),
    Fault("ZooKeeper restarted", on_cluster.restart_zookeeper),
    Fault("ZooKeeper down for long", on_cluster.zookeeper_down),
    Fault("ZooKeeper frozen", on_cluster.freeze_zookeeper),
)


def shuffled_faults(rng: random.Random) -> Iterator[Fault]:
    """Yield faults without end, each kind once before any is repeated."""
    while True:
        yield from rng.sample(FAULTS, len(FAULTS))
