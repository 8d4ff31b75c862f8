"""A group's offsets in Kafka, for a migration: written by nobody's member, in no generation.

From 0.9 on the coordinator itself refuses such a write while the group has members, so one that
comes in the last moment is not overwritten; 0.8.2 takes whatever comes.

An offset can't be taken back in a way that all versions know. Where there was none, -1 is written,
which every client takes for "no offset", as the coordinator itself says it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import BrokerError, RemoteProtocolError, RequestTimedOut, TransportError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.offsets.coordinator_state import LEAST_PAUSE_MS, Verdict, judge
from zkconsumer.offsets.migration.plan import Offset, Place
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.scope import wait_ms
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages import describe_groups as dg
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of
from zkconsumer.wire.offsets import is_committed_offset

NO_OFFSET: Final = -1
"""What is read where nothing is stored, and written where nothing shall be."""

_IN_KAFKA: Final = 1
"""Version 0 of both offset APIs means ZooKeeper."""
_ALL_AT_ONCE: Final = 2
"""From this version on OffsetFetch can ask for everything that a group has."""
_WAITS_FOR_STABLE: Final = 7
"""From this version on it can say that a transaction is about to move an offset."""
_UNKNOWN_TRIES: Final = 5
_COMMIT_BYTES: Final = 1 << 18
"""About how much one commit may take in the coordinator's log, where it becomes one batch: one of
more than ``message.max.bytes`` (by default 1 MB: some 8000 partitions) is refused as a whole."""
_ENTRY_BYTES: Final = 64
"""What one partition's offset takes there beside names and metadata, rather too much."""
_WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait.

    Attributes:
        request_timeout_ms: for one answer.
        limit_ms: for one call of the place, all tries included.
        backoff_ms: between two tries.
    """

    request_timeout_ms: int = 10_000
    limit_ms: int = 30_000
    backoff_ms: int = 250


class KafkaPlace:
    """An ``OffsetPlace``.

    Args:
        client: knows the cluster; whoever made it stops it.
        dialer: connects to the coordinator; the same.
        group_id: the group.
        patience: how long to wait.
        clock: for deadlines.
    """

    name: Final = Place.KAFKA

    def __init__(
        self,
        client: ClusterClient,
        dialer: BrokerDialer,
        group_id: str,
        patience: Patience = Patience(),
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._dialer = dialer
        self._group_id = group_id
        self._patience = patience
        self._clock = clock or SystemClock()
        self._connection: NegotiatedConnection | None = None

    def close(self) -> None:
        """Hang up."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def partitions(self, topics: Collection[str] | None = None) -> frozenset[TopicPartition]:
        """The partitions that the cluster has; asking creates none."""
        view = self._client.view(None, timeout_ms=self._patience.limit_ms)
        return frozenset(
            TopicPartition(topic, number)
            for topic, numbers in view.partitions.items()
            if topics is None or topic in topics
            for number in numbers
        )

    def logs(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """First offset and end of the logs of these partitions, as far as anybody says."""
        try:
            starts, ends = (
                self._client.list_offsets(
                    dict.fromkeys(partitions, time), timeout_ms=self._patience.request_timeout_ms
                )
                for time in (EARLIEST, LATEST)
            )
        except TransportError:
            # Nobody leads them just now: there is nothing to be told.
            return {}
        return {
            tp: (start.offset, end.offset)
            for tp in partitions
            if isinstance(start := starts.get(tp), TimedOffset)
            and isinstance(end := ends.get(tp), TimedOffset)
        }

    def stored(self, topics: Collection[str] | None) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetPlace``. Before 0.10.2 every partition of the cluster is asked for."""
        if self._try(self._asks_for_all):
            found = self._read(None)
            chosen = {tp: it for tp, it in found.items() if topics is None or tp.topic in topics}
        else:
            chosen = self._read(sorted(self.partitions(topics)))
        return {tp: it for tp, it in chosen.items() if it != FetchedOffset(None)}

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """See ``OffsetPlace``."""
        found = self._read(partitions) if partitions else {}
        missing = FetchedOffset(None, "the coordinator's answer leaves it out")
        return {tp: found.get(tp, missing) for tp in partitions}

    def write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        """See ``OffsetPlace``."""
        outcome: dict[TopicPartition, str | None] = {}
        for part in _parts_of(offsets, self._group_id):
            outcome |= self._write(part)
        return outcome

    def members(self) -> list[str]:
        """See ``OffsetPlace``: none before 0.9, whose members only ZooKeeper knows of."""

        def ask(connection: NegotiatedConnection) -> "_Answer[list[str]]":
            if not connection.versions.has(ApiKey.DESCRIBE_GROUPS):
                return _Answer([], ())
            request = dg.DescribeGroupsRequest(groups=(self._group_id,))
            answer = connection.call(request, timeout_ms=self._patience.request_timeout_ms)
            codes = [group.error_code for group in answer.groups]
            names = [name for group in answer.groups for name in _living(group)]
            refused = [code for code in codes if judge((code,)) is Verdict.DONE]
            if any(code not in {0, ErrorCode.GROUP_ID_NOT_FOUND} for code in refused):
                names.append(f"nobody knows who: {', '.join(map(_told, refused))}")
            return _Answer(names, codes)

        return self._try(ask)

    def _write(self, offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        request = oc.OffsetCommitRequest(
            group_id=self._group_id,
            topics=tuple(
                oc.OffsetCommitTopic(
                    topic=topic, partitions=tuple(_written(tp, offsets[tp]) for tp in of_topic)
                )
                for topic, of_topic in _by_topic(offsets).items()
            ),
        )

        def ask(connection: NegotiatedConnection) -> "_Answer[dict[TopicPartition, int]]":
            answer = connection.call(
                request, timeout_ms=self._patience.request_timeout_ms, at_least=_IN_KAFKA
            )
            codes = {
                TopicPartition(topic.topic, one.partition): one.error_code
                for topic in answer.topics
                for one in topic.partitions
            }
            return _Answer(codes, codes.values())

        codes = self._try(ask)
        return {
            tp: "the coordinator's answer leaves it out"
            if (code := codes.get(tp)) is None
            # Whoever wrote the same before, in a try whose answer was lost, wrote the same.
            else _refusal(code)
            for tp in offsets
        }

    def _asks_for_all(self, connection: NegotiatedConnection) -> "_Answer[bool]":
        served = connection.versions.has(ApiKey.OFFSET_FETCH, at_least=_ALL_AT_ONCE)
        return _Answer(served, ())

    def _read(
        self, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, FetchedOffset]:
        topics = None
        if partitions is not None:
            topics = tuple(
                of.OffsetFetchTopic(topic=topic, partitions=tuple(tp.partition for tp in of_topic))
                for topic, of_topic in _by_topic(partitions).items()
            )
            if not topics:
                return {}
        least = _ALL_AT_ONCE if topics is None else _IN_KAFKA
        unknown_tries = 0

        def ask(connection: NegotiatedConnection) -> "_Answer[of.OffsetFetchResponse]":
            nonlocal unknown_tries
            version = connection.version_of(of.OffsetFetchRequest, at_least=least)
            request = of.OffsetFetchRequest(
                group_id=self._group_id, topics=topics, require_stable=version >= _WAITS_FOR_STABLE
            )
            answer = connection.call(
                request, timeout_ms=self._patience.request_timeout_ms, at_least=least
            )
            codes = {one.error_code for topic in answer.topics for one in topic.partitions}
            again = ErrorCode.UNSTABLE_OFFSET_COMMIT in codes
            if ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in codes:
                # One that has just started knows no topics yet.
                unknown_tries += 1
                again = again or unknown_tries < _UNKNOWN_TRIES
            return _Answer(answer, {*codes, answer.error_code}, again=again)

        answer = self._try(ask)
        if answer.error_code:
            code = answer.error_code
            raise BrokerError(code, "OffsetFetch", f"group {self._group_id}: {_told(code)}")
        return {
            TopicPartition(topic.topic, one.partition): _fetched(one)
            for topic in answer.topics
            for one in topic.partitions
        }

    def _try(self, ask: "Callable[[NegotiatedConnection], _Answer[T]]") -> T:
        """Ask the coordinator until its answer is worth something.

        Raises:
            RequestTimedOut: it was not, in time; the message has the last reason.
            ZkConsumerError: trying again would not help.
        """
        deadline_ms = self._clock.now_ms() + self._patience.limit_ms
        while True:
            try:
                answer = ask(self._connected(deadline_ms))
                verdict = judge(answer.codes)
                if verdict is Verdict.DONE and not answer.again:
                    return answer.value
                failure = ", ".join(_told(code) for code in sorted(set(answer.codes)) if code)
                if verdict is Verdict.LOOK_UP:
                    self.close()
            except (TransportError, RemoteProtocolError) as error:
                failure = str(error)
                self.close()
            pause_ms = max(self._patience.backoff_ms, LEAST_PAUSE_MS)
            if self._clock.now_ms() + pause_ms >= deadline_ms:
                raise RequestTimedOut(
                    f"group {self._group_id}: no answer of its coordinator in time: {failure}"
                )
            wait_ms(pause_ms)

    def _connected(self, deadline_ms: int) -> NegotiatedConnection:
        if self._connection is None or not self._connection.is_idle:
            left_ms = max(1, deadline_ms - self._clock.now_ms())
            found = self._client.coordinator(self._group_id, timeout_ms=left_ms)
            if isinstance(found, int):
                if judge((found,)) is Verdict.DONE:
                    raise BrokerError(
                        found, "FindCoordinator", f"group {self._group_id}: {_told(found)}"
                    )
                raise RequestTimedOut(f"no coordinator: {_told(found)}")
            self._connection = self._dialer.dial(found)
        return self._connection


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    """What was answered, with the codes that tell whether it counts."""

    value: T
    codes: Collection[int]
    again: bool = False


def _living(group: dg.DescribedGroup) -> list[str]:
    names = [
        f"{one.member_id} of client {one.client_id} at {one.client_host}" for one in group.members
    ]
    if not names and group.state not in _WITHOUT_MEMBERS and not group.error_code:
        names = [f"members that are just joining (the group is {group.state})"]
    return names


def _written(tp: TopicPartition, it: Offset) -> oc.OffsetCommitPartition:
    it = OffsetAndMetadata(NO_OFFSET) if it is None else it
    return oc.OffsetCommitPartition(partition=tp.partition, offset=it.offset, metadata=it.metadata)


def _parts_of(
    offsets: Mapping[TopicPartition, Offset], group_id: str
) -> Iterator[dict[TopicPartition, Offset]]:
    """Pieces that a coordinator can take, each in one commit."""
    part: dict[TopicPartition, Offset] = {}
    used = 0
    for tp, it in offsets.items():
        texts = (group_id, tp.topic, "" if it is None else it.metadata)
        size = _ENTRY_BYTES + sum(len(text.encode()) for text in texts)
        if part and used + size > _COMMIT_BYTES:
            yield part
            part, used = {}, 0
        part[tp] = it
        used += size
    if part:
        yield part


def _fetched(one: of.OffsetFetchedPartition) -> FetchedOffset:
    if one.error_code:
        return FetchedOffset(None, f"its offset in Kafka: {_told(one.error_code)}")
    if not is_committed_offset(one.offset):
        return FetchedOffset(None, f"its offset in Kafka: {one.offset} is no offset")
    if one.offset < 0:
        return FetchedOffset(None)
    return FetchedOffset(one.offset, metadata=one.metadata)


def _refusal(code: int) -> str | None:
    if code in {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }:
        return f"{error_name(code)}: the group has members: stop them"
    return _told(code) if code else None


def _told(code: int) -> str:
    return f"{error_name(code)}: {ErrorCode.of(code).text}"


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for tp in dict.fromkeys(partitions):
        topics.setdefault(tp.topic, []).append(tp)
    return topics
