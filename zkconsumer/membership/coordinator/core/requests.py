"""Converts the core's actions to requests of each version, and responses to events. Pure.

Fields that a broker is too old for are left out if they are optional, and refused if required.
Source: Kafka ``AbstractCoordinator``, ``ConsumerCoordinator``.
"""

from collections.abc import Collection, Mapping

from zkconsumer.assignment.coordinated.assignors import ASSIGNORS
from zkconsumer.assignment.coordinated.strategy import STRATEGIES, Shares
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DecodeError, UnsupportedVersion
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.terms import (
    GroupTerms,
    cooperative_data,
    from_wire,
    read_cooperative_data,
    read_sticky_data,
    sticky_data,
    to_wire,
)
from zkconsumer.wire.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from zkconsumer.wire.messages.group_members import (
    CONSUMER_PROTOCOL_TYPE,
    JoinGroupMember,
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    SyncGroupAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest

STATIC_MEMBERS_SINCE = 5
"""The first JoinGroup version with static members (KIP-345)."""

STATIC_SYNC_SINCE = 3
"""The first SyncGroup version with static members."""

STATIC_BEATS_SINCE = 3
"""The first Heartbeat version with static members."""


def least_version(terms: GroupTerms, *, since: int) -> int:
    """Return the lowest usable version; ``since`` is the first with static members."""
    return 0 if terms.settings.instance_id is None else since


# --- joining -----------------------------------------------------------------------------------


def join_request(
    terms: GroupTerms, action: ev.SendJoin, *, session_timeout_ms: int, rebalance_timeout_ms: int
) -> JoinGroupRequest:
    """Build the JoinGroup request, with a subscription for each strategy.

    Raises:
        LocalProtocolError: a topic's name can't be sent.
    """
    return JoinGroupRequest(
        group_id=terms.group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=action.member_id,
        group_instance_id=terms.settings.instance_id,
        protocols=tuple(
            JoinGroupProtocol(
                name=name, metadata=encode_subscription(_subscription(terms, name, action))
            )
            for name in terms.settings.strategies
        ),
        reason=action.cause.value,
    )


def _subscription(terms: GroupTerms, strategy: str, action: ev.SendJoin) -> ConsumerSubscription:
    known = STRATEGIES[strategy]
    user_data = None
    if known.remembers:
        user_data = sticky_data(action.remembered, action.generation)
    elif known.cooperative:
        user_data = cooperative_data(action.generation)
    return ConsumerSubscription(
        topics=tuple(sorted(action.topics)),
        user_data=user_data,
        owned_partitions=to_wire(action.owned),
        generation_id=action.generation,
        rack_id=terms.rack_id,
    )


def join_completed(
    action: ev.SendJoin, response: JoinGroupResponse
) -> tuple[ev.JoinCompleted, dict[str, str]]:
    """Build the event of a response; also return why subscriptions are unreadable, by member id."""
    unreadable: dict[str, str] = {}
    members: dict[str, MemberView] = {}
    for member in response.members:
        try:
            members[member.member_id] = _view(response.protocol_name, member)
        except DecodeError as error:
            # It gets no partitions; the others must not wait for it.
            unreadable[member.member_id] = str(error)
            members[member.member_id] = MemberView(
                topics=frozenset(), instance_id=member.group_instance_id or None
            )
    result = ev.JoinCompleted(
        round=action.round,
        code=response.error_code,
        member_id=response.member_id,
        generation=response.generation_id,
        protocol=response.protocol_name,
        leader_id=response.leader,
        members=members,
        skip_assignment=response.skip_assignment,
    )
    return result, unreadable


def _view(protocol: str, member: JoinGroupMember) -> MemberView:
    _, subscription = decode_subscription(member.metadata)
    owned = from_wire(subscription.owned_partitions)
    generation = subscription.generation_id
    strategy = STRATEGIES.get(protocol)
    if strategy is not None and strategy.remembers:
        owned, generation = read_sticky_data(subscription.user_data)
    elif strategy is not None and strategy.cooperative and generation == -1:
        generation = read_cooperative_data(subscription.user_data)
    return MemberView(
        topics=frozenset(subscription.topics),
        owned=owned,
        generation=generation,
        instance_id=member.group_instance_id,
    )


# --- assigning ---------------------------------------------------------------------------------


def topics_of(action: ev.Assign) -> frozenset[str]:
    """Return the topics that the whole group reads."""
    return frozenset[str]().union(*(member.topics for member in action.members.values()))


def shares_of(action: ev.Assign, partitions: Mapping[str, tuple[int, ...]]) -> Shares:
    """Compute the group's assignment."""
    return ASSIGNORS[action.protocol](CoordinatedView(action.members, partitions))


def sync_request(terms: GroupTerms, action: ev.SendSync) -> SyncGroupRequest:
    """Build the SyncGroup request.

    Raises:
        LocalProtocolError: an assignment can't be sent.
    """
    return SyncGroupRequest(
        group_id=terms.group_id,
        generation_id=action.generation,
        member_id=action.member_id,
        group_instance_id=terms.settings.instance_id,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=action.protocol,
        assignments=tuple(
            SyncGroupAssignment(
                member_id=member_id,
                assignment=encode_assignment(
                    ConsumerAssignment(assigned_partitions=to_wire(share))
                ),
            )
            for member_id, share in action.shares.items()
        ),
    )


def sync_completed(action: ev.SendSync, response: SyncGroupResponse) -> ev.SyncCompleted:
    """Build the event of a response.

    Raises:
        DecodeError: the leader's assignment can't be read.
    """
    if response.error_code != ErrorCode.NONE:
        return ev.SyncCompleted(action.round, response.error_code)
    _, assignment = decode_assignment(response.assignment)
    share = from_wire(assignment.assigned_partitions)
    return ev.SyncCompleted(action.round, 0, share, response.protocol_name or "")


# --- membership --------------------------------------------------------------------------------


def heartbeat_request(terms: GroupTerms, action: ev.SendHeartbeat) -> HeartbeatRequest:
    """Build the Heartbeat request."""
    return HeartbeatRequest(
        group_id=terms.group_id,
        generation_id=action.generation,
        member_id=action.member_id,
        group_instance_id=terms.settings.instance_id,
    )


def strategies_problem(names: Collection[str]) -> str | None:
    """Return what is wrong with a list of strategies, or None."""
    if not names:
        return "partition.assignment.strategy names no strategy"
    unknown = sorted(set(names) - STRATEGIES.keys())
    if unknown:
        return f"partition.assignment.strategy: {unknown[0]} is not one of {', '.join(STRATEGIES)}"
    return None


def too_old(error: UnsupportedVersion) -> str:
    """Return the advice for brokers without coordinated groups."""
    return (
        f"{error}; groups that brokers coordinate need Kafka 0.9 or later. With older ones, share "
        "a group through zookeeper_connect, with offsets_storage='kafka' if its offsets are in "
        "Kafka (0.8.2; those of kafka-python are): else it would not continue from them. Or read "
        "all partitions in one consumer with assign(), which commits for the group from 0.8.1 on"
    )


def too_old_for_offsets(error: UnsupportedVersion) -> str:
    """Return the advice for brokers that keep no offsets."""
    return (
        f"{error}; brokers store offsets from Kafka 0.8.1 on. With older ones, give "
        "zookeeper_connect, and the group's offsets are kept in ZooKeeper; or leave group_id out"
    )


def too_old_for_static(error: UnsupportedVersion) -> str:
    """Return the advice for brokers without static members (KIP-345)."""
    return (
        f"{error}; static members came with Kafka 2.3: with older brokers, leave group_instance_id "
        "unset"
    )
