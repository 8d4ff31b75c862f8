"""Members that die, freeze or come back: their nodes stay until their sessions end."""

import pytest

from tests.interop.members import Member, OurProcess, ScalaMember
from tests.interop.mixed_group import MixedGroup
from tests.support.waiting import wait_until

pytestmark = pytest.mark.sandbox
SHORT_SESSION = {"zookeeper.session.timeout.ms": "1500"}
PARTITIONS = 4

MortalMember = OurProcess | ScalaMember


@pytest.fixture(params=["ours", "scala"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which kind dies."""
    kind: str = request.param
    return kind


def mortal(group: MixedGroup, kind: str, topic: str, name: str) -> MortalMember:
    """A member as a process, with a short session."""
    if kind == "ours":
        return group.our_process(topic, name, settings=SHORT_SESSION)
    return group.scala(topic, name, settings=SHORT_SESSION)


@pytest.mark.parametrize("heir", ["ours", "scala"])
def test_a_killed_members_partitions_go_to_the_other_kind(
    group: MixedGroup, kind: str, heir: str
) -> None:
    """The heir takes them once the session is over, reads on until then, and nothing is lost."""
    topic = group.topic(PARTITIONS)
    stays = group.ours({topic: 1}, "b-heir") if heir == "ours" else group.scala(topic, "b-heir")
    group.await_settled([topic], ["b-heir"])
    group.await_values(group.write(1, topic), stays)
    dies = mortal(group, kind, topic, "a-mortal")
    group.await_settled([topic], ["a-mortal", "b-heir"])
    with group.traffic(topic):
        seen = len(dies.values)
        wait_until(lambda: len(dies.values) > seen + 50, what="the mortal one to read")
        dies.kill()
        seen = count_of(stays, "23")
        wait_until(lambda: count_of(stays, "23") > seen, what="the heir to read its own on")
        wait_until(lambda: buried(group, topic, dies), what="the end of the dead one's session")
        group.await_settled([topic], ["b-heir"])
        wait_until(lambda: count_of(stays, "01") > 2, what="the heir to read what it took over")
    group.await_values(group.writer.values, stays, dies)
    assert set(stays.values) | set(dies.values) == set(group.writer.values)
    group.await_committed(topic)


def count_of(member: Member, partitions: str) -> int:
    """How many messages of these partitions a member delivered."""
    return sum(value.split(":")[1] in partitions for value in member.values)


def buried(group: MixedGroup, topic: str, dead: MortalMember) -> bool:
    """Whether the session is over; as long as it is not, nobody may touch its owner nodes."""
    owners = group.peek.owners([topic])
    if dead.consumer_id not in group.peek.registrations():
        return True
    mine = {f"{topic}-{number}": f"{dead.consumer_id}-0" for number in (0, 1)}
    assert owners.items() >= mine.items()
    return False


def test_who_joins_while_a_dead_member_still_owns_partitions_gets_them_later(
    group: MixedGroup, kind: str
) -> None:
    """The dead one's owner nodes are in the way; nobody deletes them, and all wait for them."""
    topic = group.topic(PARTITIONS)
    dies = mortal(group, kind, topic, "b-mortal")
    group.await_settled([topic], ["b-mortal"])
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
    """Its session expires while it hangs; awake again it joins anew and they share as before."""
    topic = group.topic(PARTITIONS)
    stays = group.ours({topic: 1}, "b-stays") if kind == "scala" else group.scala(topic, "b-stays")
    group.await_settled([topic], ["b-stays"])
    group.await_values(group.write(1, topic), stays)
    sleeps = mortal(group, kind, topic, "a-sleeper")
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
    """The registration of another session is not taken over, whichever kind left it."""
    topic = group.topic(2)
    dies = mortal(group, kind, topic, "same")
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
    """The sessions of the group's registrations and owners."""
    return {node.ephemeral_owner for node in group.peek.tree().values()} - {0}
