"""Offsets in Kafka: topic ``__consumer_offsets``, through the group's coordinator. 0.8.2 and later.

Entries expire ``offsets.retention.minutes`` (a day) after their last commit, so a member has to
commit unchanged offsets, too.

Kafka does not check who commits. So a member reads the owner nodes before each commit, and only
offsets of partitions that are still ours are sent. That is a check, not a fence: ZooKeeper can
check the owner in the transaction that writes (``fenced``), Kafka can't. A member that is delayed
between the check and the commit, until after its session has expired, still overwrites what the
next owner has committed: the group then reads some messages again. Without the check, the time in
which that can happen would begin with the last event of the member's session; with it, it is
milliseconds.

The last commit may be lost although the coordinator acknowledged it: if the coordinator dies before
the other replicas learn that all have the entry, which takes up to half a second, its successor
reads only up to the high watermark that it knows, and returns the previous offset, or none. An
entry is safe once a later one in the same partition of the offsets topic is acknowledged, so each
commit makes the previous one safe. While members live, their next commit repairs the loss. With
``dual.commit.enabled`` ZooKeeper has the offset, too.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector`` with ``offsets.storage=kafka``. Unlike there,
an error of one partition is reported instead of treated as "no offset", which would skip messages
or deliver all of them again; and a commit that fails is reported.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import RequestTimedOut, TransportError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.offsets.coordinator import CoordinatorAttempt, CoordinatorChannel
from zkconsumer.offsets.coordinator_requests import (
    ALL_AT_ONCE_SINCE,
    IN_KAFKA_SINCE,
    LEFT_OUT,
    Positions,
    commit_codes,
    commit_request,
    fetch_request,
    positions,
)
from zkconsumer.offsets.coordinator_state import ResponseOutcome, is_retriable, outcome_of
from zkconsumer.offsets.store import FetchedOffset, commit_refusal
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

METADATA_LIMIT: Final = 4096
"""Default of ``offset.metadata.max.bytes``, which despite its name counts characters."""

UNKNOWN_TRIES: Final = 5
"""How often a coordinator must report a partition as unknown before that is believed."""

_OTHER_USE = (
    "members of a new-style consumer group (0.9 and later) use the same group id: give one of the "
    "two another name"
)
_ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "shorten it, or raise offset.metadata.max.bytes",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "its coordinator does not know it, or not yet",
    ErrorCode.ILLEGAL_GENERATION: _OTHER_USE,
    ErrorCode.UNKNOWN_MEMBER_ID: _OTHER_USE,
    ErrorCode.REBALANCE_IN_PROGRESS: _OTHER_USE,
}


class KafkaOffsetStore:
    """An ``OffsetStore`` in Kafka.

    Args:
        channel: the connection to the group's coordinator; its creator closes it.
        still_ours: reads which of these partitions are still ours, the only ones that are then
            committed; may raise ``RegistryError``. None: any offset is committed.
        commit_max_retries: ``offsets.commit.max.retries``.
        metadata_limit: the number of metadata characters that the brokers accept.
    """

    storage: Final = "kafka"
    expires: Final = True

    def __init__(
        self,
        channel: CoordinatorChannel,
        *,
        still_ours: Callable[[Sequence[TopicPartition]], Collection[TopicPartition]] | None = None,
        commit_max_retries: int = 5,
        metadata_limit: int = METADATA_LIMIT,
    ) -> None:
        self._channel = channel
        self._group_id = channel.group_id
        self._still_ours = still_ours
        self._commit_max_retries = commit_max_retries
        self._metadata_limit = metadata_limit

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Read committed offsets, all in one request; see ``OffsetStore``.

        Raises:
            TransportError: no response in time, or interrupted; names the last failure.
            UnsupportedVersion: the brokers are older than 0.8.2.
            RegistryError: the brokers could not be listed.
        """
        if not partitions:
            return {}
        fetch = FetchExchange(self._group_id, partitions)
        self._channel.call(fetch, tries=None, fetching=True)
        read = fetch.positions()
        group = f"group {self._group_id}"
        return {tp: fetched(read, tp, f"{group}: offset of {tp} in Kafka") for tp in partitions}

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,  # noqa: ARG002 - Kafka accepts any offset
    ) -> dict[TopicPartition, str | None]:
        """Write offsets over any earlier ones, all in one request; see ``OffsetStore``.

        Args:
            offsets: the offsets to write.
            retry: retry offsets that failed with a retriable error, up to
                ``offsets.commit.max.retries`` times within the channel's time limit; the original
                does so only at shutdown.
            rewind: has no effect.

        Raises:
            TransportError: no response in time, or interrupted: some may be committed.
            UnsupportedVersion: the brokers are older than 0.8.2.
            RegistryError: the brokers could not be listed, or the owners not be read.
        """
        owned: Collection[TopicPartition] = offsets
        if self._still_ours is not None and offsets:
            owned = self._still_ours(list(offsets))
        outcome = {
            tp: self._refusal(tp, offset) if tp in owned else _not_ours(tp)
            for tp, offset in offsets.items()
        }
        wanted = {tp: offset for tp, offset in offsets.items() if outcome[tp] is None}
        if not wanted:
            return outcome
        commit = CommitExchange(self._group_id, wanted)
        failed: dict[TopicPartition, str | None] = {}
        try:
            self._channel.call(commit, tries=1 + (self._commit_max_retries if retry else 0))
        except TransportError as error:
            if not commit.responses:
                raise
            # An earlier try settled some of the offsets; the others failed with this error.
            failed = dict.fromkeys(filter(commit.is_unsettled, wanted), str(error))
        codes = commit.responses
        return outcome | {tp: result(codes.get(tp), _ADVICE) for tp in wanted} | failed

    def _refusal(self, tp: TopicPartition, offset: OffsetAndMetadata) -> str | None:
        length = len(offset.metadata.encode("utf-16-be", "surrogatepass")) // 2
        if length > self._metadata_limit:
            return (
                f"its metadata has {length} characters, but the brokers accept "
                f"{self._metadata_limit} (offset.metadata.max.bytes): shorten it"
            )
        if any("\ud800" <= char <= "\udfff" for char in offset.metadata):
            return "its metadata can't be encoded as UTF-8"
        return commit_refusal(tp, offset)


class FetchExchange:
    """Reads the committed offsets of a group.

    A partition that the coordinator reports as unknown is requested again: a coordinator that has
    just started, or does not know a new topic yet, reports that although there may be an offset.
    To treat it as "no offset" would lose messages.

    Args:
        partitions: the partitions; None for all of the group, if the coordinator supports that.
    """

    def __init__(self, group_id: str, partitions: Collection[TopicPartition] | None) -> None:
        self._group_id = group_id
        self._partitions = partitions
        self._unknown_tries = 0
        self._read = Positions()
        self._broker = ""

    def __call__(self, exchange: CoordinatorAttempt) -> ResponseOutcome:
        """See ``Exchange``."""
        self._read = positions(exchange.request_hedged(self._request))
        self._broker = str(exchange.broker)
        codes = self._read.all_codes
        outcome = outcome_of(codes)
        if outcome is ResponseOutcome.DONE and ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in codes:
            self._unknown_tries += 1
            if self._unknown_tries < UNKNOWN_TRIES:
                return ResponseOutcome.RETRY
        return outcome

    def positions(self) -> Positions:
        """Return the last response.

        Raises:
            RequestTimedOut: it still has a retriable error.
        """
        unsettled = sorted(code for code in self._read.all_codes if is_retriable(code))
        if unsettled:
            raise RequestTimedOut(
                f"group {self._group_id}: no offsets in time: {self._broker} still reports "
                f"{', '.join(map(explained, unsettled))}"
            )
        return self._read

    def _request(self, connection: NegotiatedConnection) -> OffsetFetchRequest:
        least = IN_KAFKA_SINCE if self._partitions is not None else ALL_AT_ONCE_SINCE
        version = connection.version_of(OffsetFetchRequest, at_least=least)
        return fetch_request(self._group_id, self._partitions, version=version)


class CommitExchange:
    """Commits offsets as a client that is not a member of the coordinator's group.

    Attributes:
        responses: the last error code of each partition.
    """

    def __init__(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._group_id = group_id
        self._offsets = offsets
        self.responses: dict[TopicPartition, int] = {}

    def __call__(self, exchange: CoordinatorAttempt) -> ResponseOutcome:
        """Write all offsets, or those that failed before with a retriable error."""
        due = {
            tp: offset
            for tp, offset in self._offsets.items()
            if tp not in self.responses or self.is_unsettled(tp)
        }
        request = commit_request(self._group_id, due)
        self.responses |= commit_codes(exchange.request(request, at_least=IN_KAFKA_SINCE))
        return outcome_of(self.responses.get(tp, ErrorCode.NONE) for tp in due)

    def is_unsettled(self, tp: TopicPartition) -> bool:
        """Return whether a retry may change the result of a partition."""
        return is_retriable(self.responses.get(tp, ErrorCode.NONE))


def _not_ours(tp: TopicPartition) -> str:
    return (
        f"the owner node of {tp} is gone, or another member's: a commit could overwrite that of "
        "the new owner; messages since the last commit are delivered again there"
    )


def fetched(read: Positions, tp: TopicPartition, about: str) -> FetchedOffset:
    """Return a response's result for one partition; ``about`` is the beginning of an error."""
    reason = read.reason(tp)
    if reason is not None:
        return FetchedOffset(None, f"{about}: {reason}")
    offset = read.found[tp]
    return (
        FetchedOffset(None)
        if offset is None
        else FetchedOffset(offset.offset, metadata=offset.metadata)
    )


def result(code: int | None, advice: Mapping[ErrorCode, str] | None = None) -> str | None:
    """Return why the commit of one partition failed, or None."""
    if code is None:
        return LEFT_OUT
    what_to_do = (advice or {}).get(ErrorCode.of(code))
    reported = f"{explained(code)}: {what_to_do}" if what_to_do else explained(code)
    return reported if code else None
