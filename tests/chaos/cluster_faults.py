"""Faults of brokers, topics and ZooKeeper: each function waits for the effect, and repairs it.

Two faults don't overlap: a broker fails only if all replicas are in sync, and ZooKeeper only if all
brokers run. Otherwise Kafka 0.8 itself could lose acknowledged messages.
"""

import random
from collections.abc import Callable, Sequence

from tests.chaos.member_faults import ALL_SLOTS, kill
from tests.chaos.stage import BROKERS, EFFECT_S, ORIGINAL, SESSION_MS, TOPICS, Stage
from tests.histories.rules import REGISTRY_AWAY
from zkconsumer.model import TopicPartition

_MOST_PARTITIONS = 12


# --- brokers --------------------------------------------------------------------------------------


def kill_broker(stage: Stage, rng: random.Random) -> str:
    """Kill a broker with SIGKILL, wait until others lead its partitions, and start it again."""
    broker = rng.randrange(BROKERS)
    _end_broker(stage, broker, stage.cluster.kill_broker)
    return _await_new_leaders_and_restart(stage, broker)


def stop_broker(stage: Stage, rng: random.Random) -> str:
    """Stop a broker gracefully, and start it again."""
    broker = rng.randrange(BROKERS)
    _end_broker(stage, broker, stage.cluster.stop_broker)
    return _await_new_leaders_and_restart(stage, broker)


def _end_broker(stage: Stage, broker: int, end: Callable[[int], None]) -> None:
    _await_in_sync(stage)
    stage.down.add(broker)
    end(broker)


def _await_new_leaders_and_restart(stage: Stage, broker: int) -> str:
    try:
        stage.wait(
            lambda: all(
                leader not in {broker, -1}
                for topic in TOPICS
                for leader in stage.tree.leaders(topic).values()
            ),
            timeout_s=EFFECT_S,
            what=f"others to lead the partitions of broker {broker}",
        )
    finally:
        stage.cluster.start_broker(broker)
        stage.down.discard(broker)
    _await_in_sync(stage)
    return f"broker {broker}"


def _await_in_sync(stage: Stage) -> None:
    stage.wait(stage.in_sync, timeout_s=90, what="all replicas in sync")


def kill_broker_and_member(stage: Stage, rng: random.Random) -> str:
    """Kill a broker and a member together."""
    broker, slot = rng.randrange(BROKERS), rng.choice(ALL_SLOTS)
    _end_broker(stage, broker, stage.cluster.kill_broker)
    dead = kill(stage, slot)
    stage.enter(slot)
    return f"{_await_new_leaders_and_restart(stage, broker)} and {dead}"


def move_leaders(stage: Stage, rng: random.Random) -> str:
    """Change which replicas are preferred, and have the preferred ones elected."""
    moved = rng.sample(stage.partitions(), 4)
    wanted: dict[TopicPartition, int] = {}
    reassignments = []
    for tp in moved:
        leader = stage.tree.leaders(tp.topic)[tp.partition]
        replicas = rng.sample(
            [broker for broker in range(BROKERS) if broker != leader], BROKERS - 1
        )
        reassignments.append(
            {"topic": tp.topic, "partition": tp.partition, "replicas": [*replicas, leader]}
        )
        wanted[tp] = replicas[0]
    _await_in_sync(stage)
    _request(stage, "/admin/reassign_partitions", reassignments)
    _await_followers(stage, moved)
    elected = [{"topic": tp.topic, "partition": tp.partition} for tp in moved]
    _request(stage, "/admin/preferred_replica_election", elected)
    stage.wait(
        lambda: all(
            stage.tree.leaders(tp.topic)[tp.partition] == leader for tp, leader in wanted.items()
        ),
        timeout_s=EFFECT_S,
        what=f"new leaders of {', '.join(map(str, moved))}",
    )
    _await_in_sync(stage)
    return ", ".join(f"{tp} to broker {leader}" for tp, leader in wanted.items())


def _await_followers(stage: Stage, moved: Sequence[TopicPartition]) -> None:
    """Wait until replicas have fetched again what they truncated when the assignment changed."""
    before = stage.load.ends()
    stage.wait(
        lambda: all(stage.load.ends().get(tp, 0) > before.get(tp, 0) for tp in moved),
        timeout_s=EFFECT_S,
        what="further acknowledgements",
    )
    _await_in_sync(stage)


def _request(stage: Stage, path: str, partitions: Sequence[dict[str, object]]) -> None:
    stage.write_controller_request(path, {"partitions": partitions})
    stage.wait(
        lambda: stage.tree.get(path) is None,
        timeout_s=EFFECT_S,
        what=f"the controller to carry out {path}",
    )


def add_partitions(stage: Stage, rng: random.Random) -> str:
    """Add partitions to a topic that has few enough of them."""
    counts = {
        topic: count
        for topic in TOPICS
        if (count := len(stage.peek.partitions(topic))) < _MOST_PARTITIONS
    }
    if not counts:
        return "every topic has enough"
    topic = rng.choice(list(counts))
    fresh = range(counts[topic], counts[topic] + rng.choice((1, 2)))
    stage.start_offsets(topic, fresh)
    stage.cluster.add_partitions(topic, fresh.stop)
    stage.load.add([TopicPartition(topic, number) for number in fresh])
    return f"{topic} has {fresh.stop}"


# --- ZooKeeper ------------------------------------------------------------------------------------


def restart_zookeeper(stage: Stage, _chance: random.Random) -> str:
    """Kill ZooKeeper, and start it again at once."""
    _await_original(stage)
    began_ms = stage.clock.wall_ms()
    stage.cluster.kill_zookeeper()
    stage.cluster.start_zookeeper()
    _note_zookeeper_fault(stage, began_ms)
    _await_in_sync(stage)
    return "at once"


def _await_original(stage: Stage) -> None:
    """Wait until the original is a member: if it finds no ZooKeeper at its start, it ends."""
    stage.wait(
        lambda: stage.session_of(stage.running[ORIGINAL]) is not None,
        timeout_s=EFFECT_S,
        what="the original to register",
    )


def _note_zookeeper_fault(stage: Stage, began_ms: int) -> None:
    stage.note_fault(REGISTRY_AWAY, None, began_ms)


def zookeeper_down(stage: Stage, rng: random.Random) -> str:
    """Stop ZooKeeper for longer than a session's timeout; afterwards it still has all sessions."""
    _await_original(stage)
    began_ms = stage.clock.wall_ms()
    stage.cluster.stop_zookeeper()
    duration_ms = rng.randrange(SESSION_MS, 2 * SESSION_MS)
    try:
        stage.pause(duration_ms)
    finally:
        stage.cluster.start_zookeeper()
        _note_zookeeper_fault(stage, began_ms)
    _await_in_sync(stage)
    return f"for {duration_ms} ms"


def freeze_zookeeper(stage: Stage, rng: random.Random) -> str:
    """Suspend ZooKeeper for a part of a session's timeout."""
    duration_ms = rng.randrange(SESSION_MS // 8, SESSION_MS // 2)
    began_ms = stage.clock.wall_ms()
    stage.cluster.pause_zookeeper()
    try:
        stage.pause(duration_ms)
    finally:
        stage.cluster.resume_zookeeper()
        _note_zookeeper_fault(stage, began_ms)
    _await_in_sync(stage)
    return f"for {duration_ms} ms"
