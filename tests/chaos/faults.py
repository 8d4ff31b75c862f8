"""The faults, each with the effect that is awaited before the next one. All of them heal.

What is not allowed is a second broker in trouble while the first one is not back in sync, or
ZooKeeper gone while a broker is: Kafka 0.8 itself could then lose what it acknowledged.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.chaos.cast import FREEZE, THAW, Actor, OurActor
from tests.chaos.stage import BROKERS, GROUP, ORIGINAL, OURS, SESSION_MS, TOPICS, Stage, pick
from tests.chaos.verdict import Interval
from zkconsumer.errors import SandboxError
from zkconsumer.model import TopicPartition

_EFFECT_S = 45
_STOP_MS = 30_000
_MOST_PARTITIONS = 12
_EVERYONE = (*OURS, ORIGINAL)


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault.

    Attributes:
        name: for the table.
        inflict: does it, waits for its effect and heals it; says what it did.
    """

    name: str
    inflict: Callable[[Stage, random.Random], str]


# --- members --------------------------------------------------------------------------------------


def _kill(stage: Stage, place: str) -> str:
    actor = stage.actors.pop(place)
    began_ms = stage.clock.wall_ms()
    actor.kill()
    _note(stage, "kill", actor, began_ms)
    return actor.consumer_id


def _note(stage: Stage, kind: str, actor: Actor, began_ms: int) -> None:
    interval = Interval(kind, actor.consumer_id, began_ms, stage.clock.wall_ms())
    stage.intervals.append(interval)


def _gone(stage: Stage, actor_id: str) -> Callable[[], bool]:
    return lambda: actor_id not in stage.tree.members(GROUP)


def kill_ours(stage: Stage, chance: random.Random) -> str:
    """SIGKILL one of ours; a new one comes at once, or when the dead one's session is over."""
    place = pick(chance, stage.actors, OURS)
    return _kill_and_replace(stage, chance, place)


def kill_original(stage: Stage, chance: random.Random) -> str:
    """SIGKILL the original."""
    return _kill_and_replace(stage, chance, ORIGINAL)


def _kill_and_replace(stage: Stage, chance: random.Random, *places: str) -> str:
    dead = [_kill(stage, place) for place in places]
    at_once = chance.random() < 0.5
    if at_once:
        for place in places:
            stage.enter(place)
    for one in dead:
        stage.wait(_gone(stage, one), timeout_s=_EFFECT_S, what=f"the end of {one}'s session")
    if not at_once:
        for place in places:
            stage.enter(place)
    return f"{', '.join(dead)}; replaced {'at once' if at_once else 'after the session'}"


def kill_two(stage: Stage, chance: random.Random) -> str:
    """SIGKILL two members together."""
    return _kill_and_replace(stage, chance, *chance.sample(_EVERYONE, 2))


def freeze_shortly(stage: Stage, chance: random.Random) -> str:
    """SIGSTOP a member for a part of its session's time."""
    actor = stage.actors[pick(chance, stage.actors, _EVERYONE)]
    duration_ms = chance.randrange(SESSION_MS // 8, SESSION_MS // 2)
    began_ms = stage.clock.wall_ms()
    actor.signal(FREEZE)
    try:
        stage.pause(duration_ms)
    finally:
        actor.signal(THAW)
        _note(stage, "freeze", actor, began_ms)
    return f"{actor.consumer_id} for {duration_ms} ms"


def freeze_long(stage: Stage, chance: random.Random) -> str:
    """SIGSTOP a member until its session is over and, perhaps, others read its partitions."""
    actor = stage.actors[pick(chance, stage.actors, _EVERYONE)]
    session = stage.session_of(actor)
    began_ms = stage.clock.wall_ms()
    actor.signal(FREEZE)
    try:
        gone = _gone(stage, actor.consumer_id)
        stage.wait(gone, timeout_s=_EFFECT_S, what=f"the end of {actor.consumer_id}'s session")
        stage.pause(chance.choice((0, 0, 1_500, 3_000)))
    finally:
        actor.signal(THAW)
        _note(stage, "freeze", actor, began_ms)
    _await_new_session(stage, actor, session)
    return actor.consumer_id


def _await_new_session(stage: Stage, actor: Actor, session: int | None) -> None:
    stage.wait(
        lambda: stage.session_of(actor) not in {session, None},
        timeout_s=_EFFECT_S,
        what=f"{actor.consumer_id} to register in a new session",
    )


def expire_session(stage: Stage, chance: random.Random) -> str:
    """End the session of a member that works."""
    actor = stage.actors[pick(chance, stage.actors, _EVERYONE)]
    session = stage.session_of(actor)
    if session is None:
        return f"{actor.consumer_id} has no session to end"
    began_ms = stage.clock.wall_ms()
    try:
        stage.expire(session)
    except SandboxError as error:
        return f"{actor.consumer_id}: {error}"
    _note(stage, "expire", actor, began_ms)
    _await_new_session(stage, actor, session)
    return actor.consumer_id


def leave_and_return(stage: Stage, chance: random.Random) -> str:
    """Stop one of ours in order; another one comes."""
    place = pick(chance, stage.actors, OURS)
    actor = stage.actors.pop(place)
    assert isinstance(actor, OurActor)
    began_ms = stage.clock.wall_ms()
    assert actor.stop(_STOP_MS), f"{actor.consumer_id} did not end: {actor.last_words()}"
    assert actor.poll() == 0, f"{actor.consumer_id} died: {actor.last_words()}"
    _note(stage, "leave", actor, began_ms)
    stage.wait(_gone(stage, actor.consumer_id), timeout_s=_EFFECT_S, what="the leaving")
    stage.enter(place)
    return actor.consumer_id


# --- brokers --------------------------------------------------------------------------------------


def kill_broker(stage: Stage, chance: random.Random) -> str:
    """SIGKILL a broker, wait until others lead its partitions, start it again."""
    broker = chance.randrange(BROKERS)
    _end_broker(stage, broker, stage.cluster.kill_broker)
    return _leaderless_then_back(stage, broker)


def stop_broker(stage: Stage, chance: random.Random) -> str:
    """Stop a broker in order and start it again."""
    broker = chance.randrange(BROKERS)
    _end_broker(stage, broker, stage.cluster.stop_broker)
    return _leaderless_then_back(stage, broker)


def _end_broker(stage: Stage, broker: int, end: Callable[[int], None]) -> None:
    _await_in_sync(stage)
    stage.down.add(broker)
    end(broker)


def _leaderless_then_back(stage: Stage, broker: int) -> str:
    try:
        stage.wait(
            lambda: all(
                leader not in {broker, -1}
                for topic in TOPICS
                for leader in stage.tree.leaders(topic).values()
            ),
            timeout_s=_EFFECT_S,
            what=f"others to lead the partitions of broker {broker}",
        )
    finally:
        stage.cluster.start_broker(broker)
        stage.down.discard(broker)
    _await_in_sync(stage)
    return f"broker {broker}"


def _await_in_sync(stage: Stage) -> None:
    stage.wait(stage.in_sync, timeout_s=90, what="all replicas in sync")


def kill_broker_and_member(stage: Stage, chance: random.Random) -> str:
    """A broker and a member die together."""
    broker, place = chance.randrange(BROKERS), chance.choice(_EVERYONE)
    _end_broker(stage, broker, stage.cluster.kill_broker)
    dead = _kill(stage, place)
    stage.enter(place)
    return f"{_leaderless_then_back(stage, broker)} and {dead}"


def move_leaders(stage: Stage, chance: random.Random) -> str:
    """Change which replica is preferred, and have the preferred ones elected."""
    moved = chance.sample(stage.partitions(), 4)
    wanted: dict[TopicPartition, int] = {}
    plan = []
    for tp in moved:
        leader = stage.tree.leaders(tp.topic)[tp.partition]
        replicas = chance.sample([one for one in range(BROKERS) if one != leader], BROKERS - 1)
        plan.append({"topic": tp.topic, "partition": tp.partition, "replicas": [*replicas, leader]})
        wanted[tp] = replicas[0]
    _await_in_sync(stage)
    _ask(stage, "/admin/reassign_partitions", plan)
    _await_followers(stage, moved)
    elected = [{"topic": tp.topic, "partition": tp.partition} for tp in moved]
    _ask(stage, "/admin/preferred_replica_election", elected)
    stage.wait(
        lambda: all(
            stage.tree.leaders(tp.topic)[tp.partition] == leader for tp, leader in wanted.items()
        ),
        timeout_s=_EFFECT_S,
        what=f"new leaders of {', '.join(map(str, moved))}",
    )
    _await_in_sync(stage)
    return ", ".join(f"{tp} to broker {leader}" for tp, leader in wanted.items())


def _await_followers(stage: Stage, moved: Sequence[TopicPartition]) -> None:
    """Wait until the replicas have again what they dropped when they were told of the plan."""
    before = stage.load.ends()
    stage.wait(
        lambda: all(stage.load.ends().get(tp, 0) > before.get(tp, 0) for tp in moved),
        timeout_s=_EFFECT_S,
        what="further acknowledgements",
    )
    _await_in_sync(stage)


def _ask(stage: Stage, path: str, partitions: Sequence[dict[str, object]]) -> None:
    stage.ask_controller(path, {"partitions": partitions})
    stage.wait(
        lambda: stage.tree.get(path) is None,
        timeout_s=_EFFECT_S,
        what=f"the controller to carry out {path}",
    )


def add_partitions(stage: Stage, chance: random.Random) -> str:
    """Give a topic more partitions, as long as there is room."""
    room = {
        topic: count
        for topic in TOPICS
        if (count := len(stage.peek.partitions(topic))) < _MOST_PARTITIONS
    }
    if not room:
        return "every topic has enough"
    topic = chance.choice(list(room))
    fresh = range(room[topic], room[topic] + chance.choice((1, 2)))
    stage.start_offsets(topic, fresh)
    stage.cluster.add_partitions(topic, fresh.stop)
    stage.load.add([TopicPartition(topic, number) for number in fresh])
    return f"{topic} has {fresh.stop}"


# --- ZooKeeper ------------------------------------------------------------------------------------


def restart_zookeeper(stage: Stage, _chance: random.Random) -> str:
    """Kill ZooKeeper and start it again at once."""
    stage.cluster.kill_zookeeper()
    stage.cluster.start_zookeeper()
    _await_in_sync(stage)
    return "at once"


def zookeeper_down(stage: Stage, chance: random.Random) -> str:
    """Stop ZooKeeper for longer than the members' sessions; it starts again with all of them."""
    stage.cluster.stop_zookeeper()
    duration_ms = chance.randrange(SESSION_MS, 2 * SESSION_MS)
    try:
        stage.pause(duration_ms)
    finally:
        stage.cluster.start_zookeeper()
    _await_in_sync(stage)
    return f"for {duration_ms} ms"


def freeze_zookeeper(stage: Stage, chance: random.Random) -> str:
    """Freeze ZooKeeper for a part of a session."""
    duration_ms = chance.randrange(SESSION_MS // 8, SESSION_MS // 2)
    stage.cluster.pause_zookeeper()
    try:
        stage.pause(duration_ms)
    finally:
        stage.cluster.resume_zookeeper()
    _await_in_sync(stage)
    return f"for {duration_ms} ms"


DECK = (
    Fault("member of ours killed", kill_ours),
    Fault("original killed", kill_original),
    Fault("two members killed", kill_two),
    Fault("member frozen shortly", freeze_shortly),
    Fault("member frozen past its session", freeze_long),
    Fault("session expired", expire_session),
    Fault("member left and came back", leave_and_return),
    Fault("broker killed", kill_broker),
    Fault("broker stopped", stop_broker),
    Fault("broker and member killed", kill_broker_and_member),
    Fault("leaders moved", move_leaders),
    Fault("partitions added", add_partitions),
    Fault("ZooKeeper restarted", restart_zookeeper),
    Fault("ZooKeeper down for long", zookeeper_down),
    Fault("ZooKeeper frozen", freeze_zookeeper),
)


def draw(chance: random.Random) -> Iterator[Fault]:
    """Faults without end, each kind once before any comes again."""
    while True:
        yield from chance.sample(DECK, len(DECK))
