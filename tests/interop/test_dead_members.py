"""Members that die, freeze or return: their nodes stay until their sessions end."""

import pytest

from tests.interop.members import Member, OurProcess, ScalaMember
from tests.interop.mixed_group import MixedGroup
from tests.support.waiting import wait_until

pytestmark = pytest.mark.sandbox
SHORT_SESSION = {"zookeeper.session.timeout.ms": "1500"}
PARTITIONS = 4

KillableMember = OurProcess | ScalaMember


@pytest.fixture(params=["ours", "scala"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of the member that dies."""
    kind: str = request.param
    return kind


def killable(group: MixedGroup, kind: str, topic: str, name: str) -> KillableMember:
    """Start a member as a process, with a short session."""
    if kind == "ours":
        return group.our_process(topic, name, settings=SHORT_SESSION)
    return group.scala(topic, name, settings=SHORT_SESSION)


@pytest.mark.parametrize("successor", ["ours", "scala"])
def test_a_killed_members_partitions_go_to_the_other_kind(
    group: MixedGroup, kind: str, successor: str
) -> None:
    """The successor owns them once the session is over, and reads its own until then."""
    topic = group.topic(PARTITIONS)
    stays = (
        group.ours({topic: 1}, "b-successor")
        if successor == "ours"
        else group.scala(topic, "b-successor")
    )
    group.await_settled([topic], ["b-successor"])
    group.await_values(group.write(1, topic), stays)
    dies = killable(group, kind, topic, "a-killable")
    group.await_settled([topic], ["a-killable", "b-successor"])
    with group.traffic(topic):
        seen = len(dies.values)
        wait_until(lambda: len(dies.values) > seen + 50, what="the killable one to read")
        dies.kill()
        seen = count_of(stays, "23")
        wait_until(lambda: count_of(stays, "23") > seen, what="the successor to read its own on")
        wait_until(
            lambda: session_is_over(group, topic, dies), what="the end of the dead one's session"
        )
        group.await_settled([topic], ["b-successor"])
        wait_until(
            lambda: count_of(stays, "01") > 2, what="the successor to read what it took over"
        )
    group.await_values(group.writer.values, stays, dies)
    assert set(stays.values) | set(dies.values) == set(group.writer.values)
    group.await_committed(topic)


def count_of(member: Member, partitions: str) -> int:
    """Return how many messages of these partitions a member delivered."""
    return sum(value.split(":")[1] in partitions for value in member.values)


def session_is_over(group: MixedGroup, topic: str, dead: KillableMember) -> bool:
    """Return whether the session is over; until then its owner nodes must stay."""
    owners = group.peek.owners([topic])
    if dead.consumer_id not in group.peek.registrations():
        return True
    mine = {f"{topic}-{number}": f"{dead.consumer_id}-0" for number in (0, 1)}
    assert owners.items() >= mine.items()
    return False


def test_a_member_that_joins_waits_for_a_dead_members_partitions(
    group: MixedGroup, kind: str
) -> None:
    """Nobody deletes the dead member's owner nodes; all members retry until they are gone."""
    topic = group.topic(PARTITIONS)
    dies = killable(group, kind, topic, "b-killable")
    group.await_settled([topic], ["b-killable"])
    before = group.write(3, topic)
    group.await_values(before, dies)
    group.await_committed(topic)
    dies.kill()
    scala = group.scala(topic, "c-scala")
    ours = group.ours({topic: 1}, "a-ours")
    group.await_settled([topic], ["a-ours", "c-scala"])
    after = group.write(3, topic)
    group.await_values(after, ours, scala)
    assert sorted(ours.values + scala.values) == sorted(after)


def test_a_frozen_member_loses_its_share_and_comes_back(group: MixedGroup, kind: str) -> None:
    """Its session expires while it is frozen; resumed, it joins again and gets its share back."""
    topic = group.topic(PARTITIONS)
    stays = group.ours({topic: 1}, "b-stays") if kind == "scala" else group.scala(topic, "b-stays")
    group.await_settled([topic], ["b-stays"])
    group.await_values(group.write(1, topic), stays)
    sleeps = killable(group, kind, topic, "a-sleeper")
    group.await_settled([topic], ["a-sleeper", "b-stays"])
    with group.traffic(topic):
        wait_until(lambda: len(sleeps.values) > 50, what=f"{kind} to read")
        sleeps.pause()
        group.await_settled([topic], ["b-stays"])
        seen = count_of(stays, "01")
        wait_until(lambda: count_of(stays, "01") > seen, what="the other one to read everything")
        sleeps.resume()
        group.await_settled([topic], ["a-sleeper", "b-stays"])
        seen = len(sleeps.values)
        wait_until(lambda: len(sleeps.values) > seen + 50, what=f"{kind} to read again")
    group.await_values(group.writer.values, stays, sleeps)
    group.await_committed(topic)


def test_a_member_with_the_id_of_a_dead_one_waits_for_its_session_to_end(
    group: MixedGroup, kind: str
) -> None:
    """The registration of another session is not taken over, whichever kind created it."""
    topic = group.topic(2)
    dies = killable(group, kind, topic, "same")
    group.await_settled([topic], ["same"])
    group.await_values(group.write(3, topic), dies)
    group.await_committed(topic)
    dies.kill()
    dead = sessions(group)
    again = group.ours({topic: 1}, "same")
    assert sessions(group).isdisjoint(dead)
    group.await_settled([topic], ["same"])
    after = group.write(3, topic)
    group.await_values(after, again)
    assert sorted(again.values) == sorted(after)


def sessions(group: MixedGroup) -> set[int]:
    """Return the sessions of the group's registrations and owners."""
    return {node.ephemeral_owner for node in group.peek.tree().values()} - {0}
