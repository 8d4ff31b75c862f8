"""Faults of brokers, topics and ZooKeeper: each function waits for the effect, and repairs it.

Two faults don't overlap: a broker fails only if all replicas are in sync, and ZooKeeper only if all
brokers run. Otherwise Kafka 0.8 itself could lose acknowledged messages.
"""

import random
from collections.abc import Callable, Sequence

from tests.chaos.cluster import BROKERS, EFFECT_S, ORIGINAL, SESSION_MS, TOPICS, ChaosCluster
from tests.chaos.member_faults import ALL_SLOTS, kill
from tests.histories.rules import REGISTRY_AWAY
from zkconsumer.model import TopicPartition

_MOST_PARTITIONS = 12


# --- brokers --------------------------------------------------------------------------------------


def kill_broker(cluster: ChaosCluster, rng: random.Random) -> str:
    """Kill a broker with SIGKILL, wait until others lead its partitions, and start it again."""
    broker = rng.randrange(BROKERS)
    _end_broker(cluster, broker, cluster.sandbox.kill_broker)
    return _await_new_leaders_and_restart(cluster, broker)


def stop_broker(cluster: ChaosCluster, rng: random.Random) -> str:
    """Stop a broker gracefully, and start it again."""
    broker = rng.randrange(BROKERS)
    _end_broker(cluster, broker, cluster.sandbox.stop_broker)
    return _await_new_leaders_and_restart(cluster, broker)


def _end_broker(cluster: ChaosCluster, broker: int, end: Callable[[int], None]) -> None:
    _await_in_sync(cluster)
    cluster.down.add(broker)
    end(broker)


def _await_new_leaders_and_restart(cluster: ChaosCluster, broker: int) -> str:
    try:
        cluster.wait(
            lambda: all(
                leader not in {broker, -1}
                for topic in TOPICS
                for leader in cluster.tree.leaders(topic).values()
            ),
            timeout_s=EFFECT_S,
            what=f"others to lead the partitions of broker {broker}",
        )
    finally:
        cluster.sandbox.start_broker(broker)
        cluster.down.discard(broker)
    _await_in_sync(cluster)
    return f"broker {broker}"


def _await_in_sync(cluster: ChaosCluster) -> None:
    cluster.wait(cluster.in_sync, timeout_s=90, what="all replicas in sync")


def kill_broker_and_member(cluster: ChaosCluster, rng: random.Random) -> str:
    """Kill a broker and a member together."""
    broker, slot = rng.randrange(BROKERS), rng.choice(ALL_SLOTS)
    _end_broker(cluster, broker, cluster.sandbox.kill_broker)
    dead = kill(cluster, slot)
    cluster.enter(slot)
    return f"{_await_new_leaders_and_restart(cluster, broker)} and {dead}"


def move_leaders(cluster: ChaosCluster, rng: random.Random) -> str:
    """Change which replicas are preferred, and have the preferred ones elected."""
    moved = rng.sample(cluster.partitions(), 4)
    wanted: dict[TopicPartition, int] = {}
    reassignments = []
    for tp in moved:
        leader = cluster.tree.leaders(tp.topic)[tp.partition]
        replicas = rng.sample(
            [broker for broker in range(BROKERS) if broker != leader], BROKERS - 1
        )
        reassignments.append(
            {"topic": tp.topic, "partition": tp.partition, "replicas": [*replicas, leader]}
        )
        wanted[tp] = replicas[0]
    _await_in_sync(cluster)
    _request(cluster, "/admin/reassign_partitions", reassignments)
    _await_followers(cluster, moved)
    elected = [{"topic": tp.topic, "partition": tp.partition} for tp in moved]
    _request(cluster, "/admin/preferred_replica_election", elected)
    cluster.wait(
        lambda: all(
            cluster.tree.leaders(tp.topic)[tp.partition] == leader for tp, leader in wanted.items()
        ),
        timeout_s=EFFECT_S,
        what=f"new leaders of {', '.join(map(str, moved))}",
    )
    _await_in_sync(cluster)
    return ", ".join(f"{tp} to broker {leader}" for tp, leader in wanted.items())


def _await_followers(cluster: ChaosCluster, moved: Sequence[TopicPartition]) -> None:
    """Wait until replicas have fetched again what they truncated when the assignment changed."""
    before = cluster.load.ends()
    cluster.wait(
        lambda: all(cluster.load.ends().get(tp, 0) > before.get(tp, 0) for tp in moved),
        timeout_s=EFFECT_S,
        what="further acknowledgements",
    )
    _await_in_sync(cluster)


def _request(cluster: ChaosCluster, path: str, partitions: Sequence[dict[str, object]]) -> None:
    cluster.write_controller_request(path, {"partitions": partitions})
    cluster.wait(
        lambda: cluster.tree.get(path) is None,
        timeout_s=EFFECT_S,
        what=f"the controller to carry out {path}",
    )


def add_partitions(cluster: ChaosCluster, rng: random.Random) -> str:
    """Add partitions to a topic that has few enough of them."""
    counts = {
        topic: count
        for topic in TOPICS
        if (count := len(cluster.peek.partitions(topic))) < _MOST_PARTITIONS
    }
    if not counts:
        return "every topic has enough"
    topic = rng.choice(list(counts))
    fresh = range(counts[topic], counts[topic] + rng.choice((1, 2)))
    cluster.start_offsets(topic, fresh)
    cluster.sandbox.add_partitions(topic, fresh.stop)
    cluster.load.add([TopicPartition(topic, number) for number in fresh])
    return f"{topic} has {fresh.stop}"


# --- ZooKeeper ------------------------------------------------------------------------------------


def restart_zookeeper(cluster: ChaosCluster, _chance: random.Random) -> str:
    """Kill ZooKeeper, and start it again at once."""
    _await_original(cluster)
    began_ms = cluster.clock.wall_ms()
    cluster.sandbox.kill_zookeeper()
    cluster.sandbox.start_zookeeper()
    _note_zookeeper_fault(cluster, began_ms)
    _await_in_sync(cluster)
    return "at once"


def _await_original(cluster: ChaosCluster) -> None:
    """Wait until the original is a member: if it finds no ZooKeeper at its start, it ends."""
    cluster.wait(
        lambda: cluster.session_of(cluster.running[ORIGINAL]) is not None,
        timeout_s=EFFECT_S,
        what="the original to register",
    )


def _note_zookeeper_fault(cluster: ChaosCluster, began_ms: int) -> None:
    cluster.note_fault(REGISTRY_AWAY, None, began_ms)


def zookeeper_down(cluster: ChaosCluster, rng: random.Random) -> str:
    """Stop ZooKeeper for longer than a session's timeout; afterwards it still has all sessions."""
    _await_original(cluster)
    began_ms = cluster.clock.wall_ms()
    cluster.sandbox.stop_zookeeper()
    duration_ms = rng.randrange(SESSION_MS, 2 * SESSION_MS)
    try:
        cluster.pause(duration_ms)
    finally:
        cluster.sandbox.start_zookeeper()
        _note_zookeeper_fault(cluster, began_ms)
    _await_in_sync(cluster)
    return f"for {duration_ms} ms"


def freeze_zookeeper(cluster: ChaosCluster, rng: random.Random) -> str:
    """Suspend ZooKeeper for a part of a session's timeout."""
    duration_ms = rng.randrange(SESSION_MS // 8, SESSION_MS // 2)
    began_ms = cluster.clock.wall_ms()
    cluster.sandbox.pause_zookeeper()
    try:
        cluster.pause(duration_ms)
    finally:
        cluster.sandbox.resume_zookeeper()
        _note_zookeeper_fault(cluster, began_ms)
    _await_in_sync(cluster)
    return f"for {duration_ms} ms"
