"""The core's actions become requests, and responses become its events."""

from dataclasses import replace

import pytest

from tests.support.altered_messages import altered
from tests.support.group_members import tps
from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.assignment.coordinated.view import MemberView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DecodeError, LocalProtocolError
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core import requests
from zkconsumer.membership.coordinator.core.events import JoinReason
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import (
    GroupTerms,
    cooperative_data,
    sticky_data,
    to_wire,
)
from zkconsumer.wire.codec import encode_request
from zkconsumer.wire.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from zkconsumer.wire.messages.group_members import (
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest

StaticRequest = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest

SETTINGS = GroupSettings(strategies=tuple(STRATEGIES))
TERMS = GroupTerms(group_id="g", settings=SETTINGS, rack_id="r1")
JOIN = ev.SendJoin(
    round=3,
    member_id="m",
    topics=frozenset({"u", "t"}),
    owned=tps("t", 1, 0),
    remembered=tps("t", 0, 1, 2),
    generation=4,
    cause=JoinReason.TOPICS,
)


def join_request() -> JoinGroupRequest:
    """Return the request of the action ``JOIN``."""
    return requests.join_request(TERMS, JOIN, session_timeout_ms=10, rebalance_timeout_ms=20)


def result(protocol: str, *members: JoinGroupMember) -> JoinGroupResponse:
    """Return a JoinGroup response as the leader gets it."""
    return JoinGroupResponse(
        error_code=0,
        generation_id=5,
        protocol_name=protocol,
        leader="m",
        member_id="m",
        members=members,
    )


def member(member_id: str, subscription: ConsumerSubscription, *, version: int) -> JoinGroupMember:
    """Return a member whose subscription is encoded in that version."""
    metadata = encode_subscription(subscription, version=version)
    return JoinGroupMember(member_id=member_id, metadata=metadata)


def test_join_has_the_owned_partitions_for_each_strategy() -> None:
    """They are in order of preference; the sticky strategies have user data as well."""
    request = join_request()
    assert [protocol.name for protocol in request.protocols] == list(STRATEGIES)
    read = {
        protocol.name: decode_subscription(protocol.metadata)[1] for protocol in request.protocols
    }
    for consumer_subscription in read.values():
        assert consumer_subscription.topics == ("t", "u")
        assert consumer_subscription.owned_partitions == to_wire(JOIN.owned)
        assert (consumer_subscription.generation_id, consumer_subscription.rack_id) == (4, "r1")
    assert read["range"].user_data is None
    assert read["sticky"].user_data == sticky_data(JOIN.remembered, 4)
    assert read["cooperative-sticky"].user_data == cooperative_data(4)
    assert request.reason == "cached metadata has changed"


@pytest.mark.parametrize("cause", JoinReason)
def test_the_coordinator_is_told_why_a_member_joins(cause: JoinReason) -> None:
    """Each reason is a different text, which brokers log in full (KIP-800)."""
    join = replace(JOIN, cause=cause)
    request = requests.join_request(TERMS, join, session_timeout_ms=10, rebalance_timeout_ms=20)
    assert request.reason is not None
    assert 10 < len(request.reason) <= 255
    assert [reason for reason in JoinReason if reason.value == request.reason] == [cause]


@pytest.mark.parametrize("version", range(JoinGroupRequest.API.last + 1))
def test_join_can_be_encoded_in_every_version(version: int) -> None:
    """Older versions leave out fields that the group can do without."""
    assert encode_request(join_request(), version=version, correlation_id=1, client_id="c")


@pytest.mark.parametrize("version", range(SyncGroupResponse.API.last + 1))
def test_sync_can_be_encoded_in_every_version(version: int) -> None:
    """The leader's assignments for all members may come in any order."""
    action = ev.SendSync(
        round=3,
        member_id="m",
        generation=5,
        protocol="range",
        shares={"m": tuple(tps("t", 1, 0)), "n": ()},
    )
    request = requests.sync_request(TERMS, action)
    assert encode_request(request, version=version, correlation_id=1, client_id="c")
    share = encode_assignment(ConsumerAssignment(assigned_partitions=to_wire(tps("t", 0, 1))))
    assert request.assignments[0].assignment == share
    # From version 5 on brokers refuse a member whose protocol is not the group's (KIP-559).
    assert (request.protocol_type, request.protocol_name) == ("consumer", "range")


def test_the_leader_reads_owned_partitions_where_the_strategy_puts_them() -> None:
    """``sticky`` uses its own user data, the others the subscription's fields."""
    reported = ConsumerSubscription(
        topics=("t",),
        user_data=sticky_data(tps("t", 3), 2),
        owned_partitions=to_wire(tps("t", 1)),
        generation_id=4,
    )
    for protocol, owned, generation in (
        ("range", tps("t", 1), 4),
        ("sticky", tps("t", 3), 2),
        ("cooperative-sticky", tps("t", 1), 4),
    ):
        read, unreadable = requests.join_completed(
            JOIN, result(protocol, member("m", reported, version=2))
        )
        assert unreadable == {}
        view = MemberView(topics=frozenset({"t"}), owned=owned, generation=generation)
        assert read.members == {"m": view}


def test_an_older_cooperative_member_has_its_generation_in_its_user_data() -> None:
    """Subscriptions before version 2 have no field for the generation."""
    reported = ConsumerSubscription(
        topics=("t",), user_data=cooperative_data(6), owned_partitions=to_wire(tps("t", 1))
    )
    read, _ = requests.join_completed(
        JOIN, result("cooperative-sticky", member("m", reported, version=1))
    )
    assert read.members["m"].generation == 6


def test_a_member_with_an_unreadable_subscription_is_assigned_nothing() -> None:
    """The rest of the group must not wait for it."""
    good = member("m", ConsumerSubscription(topics=("t",)), version=0)
    bad = JoinGroupMember(
        member_id="n", group_instance_id="i", metadata=b"\x00\x00\x00\x00\x00\x09"
    )
    read, unreadable = requests.join_completed(JOIN, result("range", good, bad))
    assert list(unreadable) == ["n"]
    assert "Subscription" in unreadable["n"]
    assert read.members["n"] == MemberView(topics=frozenset(), instance_id="i")
    assign = ev.Assign(1, "range", read.members)
    assert requests.topics_of(assign) == frozenset({"t"})
    assert requests.shares_of(assign, {"t": (0, 1)}) == {
        "m": tuple(sorted(tps("t", 0, 1))),
        "n": (),
    }


def test_an_unreadable_assignment_is_an_error() -> None:
    """It is an error; an empty assignment, and any assignment in a refusal, has no partitions."""
    sync = ev.SendSync(round=3, member_id="m", generation=5, protocol="range", shares={})
    response = SyncGroupResponse(error_code=0, assignment=b"\x00\x00\xff")
    with pytest.raises(DecodeError):
        requests.sync_completed(sync, response)
    assert requests.sync_completed(sync, SyncGroupResponse(error_code=0, assignment=b"")) == (
        ev.SyncCompleted(3, 0)
    )
    refused = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS, assignment=b"\x01")
    assert requests.sync_completed(sync, refused).code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_join_has_all_fields_that_the_coordinator_needs() -> None:
    """It has the group, the member, the time-outs, and a static member's instance id."""
    settings = replace(SETTINGS, instance_id="i1")
    terms = GroupTerms(group_id="g", settings=settings)
    request = requests.join_request(terms, JOIN, session_timeout_ms=10, rebalance_timeout_ms=20)
    assert (request.group_id, request.member_id) == ("g", "m")
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (10, 20)
    assert (request.protocol_type, request.group_instance_id) == ("consumer", "i1")


def test_a_sync_names_the_member_and_its_generation() -> None:
    """It has the generation, and the assignments of all members if this one is the leader."""
    terms = GroupTerms(group_id="g", settings=replace(SETTINGS, instance_id="i1"))
    sync = ev.SendSync(
        round=3, member_id="m", generation=5, protocol="range", shares={"m": (), "n": ()}
    )
    request = requests.sync_request(terms, sync)
    assert (request.group_id, request.generation_id, request.member_id) == ("g", 5, "m")
    assert request.group_instance_id == "i1"
    assert [assignment.member_id for assignment in request.assignments] == ["m", "n"]


def test_a_join_response_becomes_an_event() -> None:
    """This includes a returned leader, which has nothing to assign (KIP-814)."""
    response = JoinGroupResponse(
        error_code=0,
        generation_id=5,
        protocol_name="range",
        leader="n",
        member_id="m",
        skip_assignment=True,
        members=(),
    )
    assert requests.join_completed(JOIN, response) == (
        ev.JoinCompleted(
            round=3,
            code=0,
            member_id="m",
            generation=5,
            protocol="range",
            leader_id="n",
            members={},
            skip_assignment=True,
        ),
        {},
    )
    refused = altered(response, error_code=79, generation_id=-1, member_id="given")
    completed, _ = requests.join_completed(JOIN, refused)
    assert (completed.round, completed.code, completed.member_id) == (3, 79, "given")


def test_a_sync_response_becomes_an_event() -> None:
    """The event has the round, and the protocol if the version of the response has it."""
    sync = ev.SendSync(round=3, member_id="m", generation=5, protocol="range", shares={})
    share = encode_assignment(ConsumerAssignment(assigned_partitions=to_wire(tps("t", 1))))
    response = SyncGroupResponse(error_code=0, assignment=share, protocol_name="range")
    assert requests.sync_completed(sync, response) == (ev.SyncCompleted(3, 0, tps("t", 1), "range"))
    old = SyncGroupResponse(error_code=0, assignment=share, protocol_name=None)
    assert requests.sync_completed(sync, old) == ev.SyncCompleted(3, 0, tps("t", 1))
    refused = SyncGroupResponse(error_code=27, assignment=b"")
    assert requests.sync_completed(sync, refused) == ev.SyncCompleted(3, 27)


@pytest.mark.parametrize(
    ("request_", "since"),
    [
        (join_request(), requests.STATIC_MEMBERS_SINCE),
        (
            requests.sync_request(
                TERMS, ev.SendSync(round=1, member_id="m", generation=5, protocol="", shares={})
            ),
            requests.STATIC_SYNC_SINCE,
        ),
        (
            requests.heartbeat_request(TERMS, ev.SendHeartbeat("m", 5)),
            requests.STATIC_BEATS_SINCE,
        ),
    ],
    ids=["JoinGroup", "SyncGroup", "Heartbeat"],
)
def test_static_members_need_the_first_version_that_names_them(
    request_: StaticRequest, since: int
) -> None:
    """Older versions can't be sent for static members; dynamic members may use any version."""
    static = altered(request_, group_instance_id="instance")

    def sent(version: int) -> bytes:
        return encode_request(static, version=version, correlation_id=1, client_id="c")

    with pytest.raises(LocalProtocolError, match="group_instance_id"):
        sent(since - 1)
    assert b"instance" in sent(since)
    terms = GroupTerms(group_id="g", settings=replace(SETTINGS, instance_id="instance"))
    assert requests.least_version(terms, since=since) == since
    assert requests.least_version(TERMS, since=since) == 0


def test_the_strategy_knows_what_each_member_owns() -> None:
    """With ``sticky`` it keeps its partitions, unless a later generation moved them elsewhere."""
    assign = ev.Assign(
        1,
        "sticky",
        {
            "m": MemberView(topics=frozenset({"t"}), owned=tps("t", 0, 1), generation=4),
            "n": MemberView(topics=frozenset({"t"}), owned=tps("t", 1, 2), generation=5),
        },
    )
    shares = requests.shares_of(assign, {"t": (0, 1, 2)})
    assert {member_id: frozenset(share) for member_id, share in shares.items()} == {
        "m": tps("t", 0),
        "n": tps("t", 1, 2),
    }


def test_static_members_are_assigned_in_the_order_of_their_instances() -> None:
    """Their member ids change at each start, and a restart must move no partition (KIP-345)."""
    members = tuple(
        JoinGroupMember(
            member_id=member_id,
            group_instance_id=instance_id,
            metadata=encode_subscription(ConsumerSubscription(topics=("t",)), version=0),
        )
        for member_id, instance_id in (("a", "i2"), ("b", "i1"))
    )
    read, _ = requests.join_completed(JOIN, result("range", *members))
    assert [member.instance_id for member in read.members.values()] == ["i2", "i1"]
    shares = requests.shares_of(ev.Assign(1, "range", read.members), {"t": (0, 1)})
    assert shares == {"b": tuple(tps("t", 0)), "a": tuple(tps("t", 1))}


def test_a_heartbeat_names_the_member() -> None:
    """It has the generation, and a static member's instance id (KIP-345)."""
    settings = replace(SETTINGS, instance_id="i1")
    terms = GroupTerms(group_id="g", settings=settings)
    request = requests.heartbeat_request(terms, ev.SendHeartbeat("m", 5))
    assert (request.group_id, request.generation_id, request.member_id) == ("g", 5, "m")
    assert request.group_instance_id == "i1"


def test_unknown_strategies_are_named() -> None:
    """The message lists the strategies that exist."""
    assert requests.strategies_problem(["range", "sticky"]) is None
    assert "names no strategy" in (requests.strategies_problem([]) or "")
    assert "fastest is not one of range" in (requests.strategies_problem(["fastest"]) or "")
