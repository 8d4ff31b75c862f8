"""A group's offsets in Kafka, for a migration: written without membership or generation.

From 0.9 on the coordinator itself refuses such a write while the group has members, so the offsets
of a member that joins at the last moment are not overwritten; 0.8.2 accepts any write.

Not all versions have a request that deletes an offset. To restore "no offset", -1 is written, which
every client takes for that, as the coordinator does.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode, error_name, explained
from zkconsumer.errors import BrokerError
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.offsets.coordinator import (
    ChannelSettings,
    CoordinatorAttempt,
    CoordinatorChannel,
)
from zkconsumer.offsets.coordinator_requests import ALL_AT_ONCE_SINCE
from zkconsumer.offsets.coordinator_state import ResponseOutcome, outcome_of
from zkconsumer.offsets.kafka import CommitExchange, FetchExchange, fetched, result
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.parts import parts_of
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages import group_admin as dg
from zkconsumer.wire.negotiation import BrokerVersions

NO_OFFSET: Final = -1
"""The offset of a partition without one, when read and when written."""

_OF_MEMBERS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
"""The error codes for a commit without membership while the group has members."""

_COMMIT_BYTES: Final = 1 << 18
"""Approximate limit of one commit in the coordinator's log, where it becomes one batch. A batch
larger than ``message.max.bytes`` (by default 1 MB: some 8000 partitions) is refused as a whole."""
_ENTRY_BYTES: Final = 64
"""An upper estimate of the size of a partition's entry there, without names and metadata."""
_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})


INTERACTIVE: Final = ChannelSettings(backoff_ms=250)
"""Limits for tools, whose users wait: retries follow sooner than those of a member."""


class KafkaGroupOffsets:
    """A ``GroupOffsetStore`` in Kafka.

    Args:
        client: reads the cluster's metadata; its creator stops it.
        dialer: connects to the coordinator; its creator stops it.
    """

    name: Final = OffsetStorage.KAFKA

    def __init__(
        self,
        client: ClusterClient,
        dialer: BrokerDialer,
        group_id: str,
        settings: ChannelSettings,
        clock: Clock,
    ) -> None:
        self._client = client
        self._group_id = group_id
        self._settings = settings
        self._channel = CoordinatorChannel(
            group_id, settings, list_brokers=self._brokers, dialer=dialer, clock=clock
        )

    def close(self) -> None:
        """Close the connection; later calls fail."""
        self._channel.close()

    def partitions(self, topics: Collection[str] | None = None) -> frozenset[TopicPartition]:
        """Return the partitions of the cluster, without creating topics."""
        view = self._client.view(None, timeout_ms=self._settings.limit_ms)
        return frozenset(
            TopicPartition(topic, number)
            for topic, numbers in view.partitions.items()
            if topics is None or topic in topics
            for number in numbers
        )

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``. Before 0.10.2 every partition of the cluster is requested."""
        fetches_all = self._versions().has(ApiKey.OFFSET_FETCH, at_least=ALL_AT_ONCE_SINCE)
        found = self._read(None if fetches_all else sorted(self.partitions(topics)))
        return {
            tp: offset
            for tp, offset in found.items()
            if offset != FetchedOffset(None) and (topics is None or tp.topic in topics)
        }

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``GroupOffsetStore``."""
        return self._read(partitions)

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """See ``GroupOffsetStore``."""
        outcome: dict[TopicPartition, str | None] = {}
        nothing = OffsetAndMetadata(NO_OFFSET)
        wanted = [(tp, offset or nothing) for tp, offset in offsets.items()]
        for part in map(dict, parts_of(wanted, _COMMIT_BYTES, self._size_of)):
            commit = CommitExchange(self._group_id, part)
            # A try whose response was lost can be repeated: the result is the same.
            self._channel.call(commit, tries=None)
            outcome |= {tp: _outcome(commit.responses.get(tp)) for tp in part}
        return outcome

    def _size_of(self, entry: tuple[TopicPartition, OffsetAndMetadata]) -> int:
        tp, offset = entry
        texts = (self._group_id, tp.topic, offset.metadata)
        return _ENTRY_BYTES + sum(len(text.encode()) for text in texts)

    def members(self) -> list[str]:
        """See ``GroupOffsetStore``; empty before 0.9, where only ZooKeeper knows the members."""
        if not self._versions().has(ApiKey.DESCRIBE_GROUPS):
            return []
        request = dg.DescribeGroupsRequest(groups=(self._group_id,))
        groups: tuple[dg.DescribedGroup, ...] = ()

        def exchange(coordinator: CoordinatorAttempt) -> ResponseOutcome:
            nonlocal groups
            groups = coordinator.request_hedged(lambda _: request).groups
            return outcome_of(group.error_code for group in groups)

        self._channel.call(exchange, tries=None)
        names = [name for group in groups for name in _living(group)]
        codes = {group.error_code for group in groups} - {0, ErrorCode.GROUP_ID_NOT_FOUND}
        if codes:
            names.append(f"unknown members: {', '.join(map(explained, sorted(codes)))}")
        return names

    def _brokers(self) -> list[Broker]:
        view = self._client.view((), timeout_ms=self._settings.timeout_ms)
        return list(view.brokers.values())

    def _versions(self) -> BrokerVersions:
        """Return the versions that the coordinator serves."""
        found: list[BrokerVersions] = []

        def exchange(coordinator: CoordinatorAttempt) -> ResponseOutcome:
            found.append(coordinator.versions())
            return ResponseOutcome.DONE

        self._channel.call(exchange, tries=None)
        return found[-1]

    def _read(
        self, partitions: Collection[TopicPartition] | None
    ) -> dict[TopicPartition, FetchedOffset]:
        """Return the stored offsets of these partitions, or of the whole group (None)."""
        if partitions is not None and not partitions:
            return {}
        exchange = FetchExchange(self._group_id, partitions)
        self._channel.call(exchange, tries=None)
        read = exchange.positions()
        if read.code:
            about = f"group {self._group_id}: {explained(read.code)}"
            raise BrokerError(read.code, "OffsetFetch", about)
        named = [*read.found, *read.codes] if partitions is None else partitions
        return {tp: fetched(read, tp, "its offset in Kafka") for tp in named}


def _living(group: dg.DescribedGroup) -> list[str]:
    names = [
        f"{member.member_id} of client {member.client_id} at {member.client_host}"
        for member in group.members
    ]
    if not names and group.state not in _WITHOUT_MEMBERS and not group.error_code:
        names = [f"members that are just joining (the group is {group.state})"]
    return names


def _outcome(code: int | None) -> str | None:
    if code is not None and code in _OF_MEMBERS:
        return f"{error_name(code)}: the group has members: stop them"
    return result(code)
