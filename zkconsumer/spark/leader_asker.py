"""Asks many leaders for offsets at once, over connections that are kept.

Every leader is asked before the first answer is waited for. A kept connection that turns out to be
closed (brokers close those that idle) is no failure: the question goes over a new one.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.cluster.log_ends import LIST_OFFSETS_VERSION
from zkconsumer.cluster.offset_lists import offsets_question, read_offset_lists
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import BrokerError, RemoteProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection, InFlight
from zkconsumer.net.connection_cache import ConnectionCache
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

OffsetsOf = dict[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question on its way."""

    leader: Broker
    question: ListOffsetsRequest
    connection: BrokerConnection
    in_flight: InFlight[ListOffsetsResponse]
    is_reused: bool


class OffsetAsker:
    """Thread: one.

    Args:
        connections: where connections come from and go back to.
        timeout_ms: how long a leader may take to answer.
    """

    def __init__(self, connections: ConnectionCache, *, timeout_ms: int) -> None:
        self._connections = connections
        self._timeout_ms = timeout_ms

    def ask(
        self,
        leaders: Mapping[TopicPartition, Broker],
        times: Mapping[TopicPartition, int],
        *,
        max_offsets: int,
    ) -> OffsetsOf:
        """Offsets of every one of these partitions; see ``OffsetLists.offsets``.

        Args:
            leaders: whom to ask about each partition of ``times``.
            times: milliseconds since the epoch, ``LATEST_TIMESTAMP`` or ``EARLIEST_TIMESTAMP``.
            max_offsets: how many offsets of each, at most.

        Raises:
            BrokerError: a leader has an error for a partition; names both.
            RemoteProtocolError: a leader answered about other partitions.
            TransportError: a leader can't be reached, or does not answer.
        """
        by_leader: dict[Broker, dict[TopicPartition, int]] = {}
        for tp, time_ms in times.items():
            by_leader.setdefault(leaders[tp], {})[tp] = time_ms
        found: OffsetsOf = {}
        with contextlib.ExitStack() as stack:
            # What is left on its way by an error, is closed as it comes back.
            asked = [
                self._send(leader, offsets_question(of_leader, max_offsets=max_offsets), stack)
                for leader, of_leader in by_leader.items()
            ]
            for one in asked:
                found |= _checked(one.leader, self._answer(one, stack), by_leader[one.leader])
        return found

    def _send(
        self, leader: Broker, question: ListOffsetsRequest, stack: contextlib.ExitStack
    ) -> _Asked:
        kept = self._connections.take(leader)
        if kept is not None:
            with contextlib.suppress(TransportError):
                return self._begin(leader, question, kept, stack, is_reused=True)
        fresh = self._connections.open(leader)
        return self._begin(leader, question, fresh, stack, is_reused=False)

    def _begin(
        self,
        leader: Broker,
        question: ListOffsetsRequest,
        connection: BrokerConnection,
        stack: contextlib.ExitStack,
        *,
        is_reused: bool,
    ) -> _Asked:
        stack.callback(self._connections.give_back, connection)
        in_flight = connection.begin(
            question, version=LIST_OFFSETS_VERSION, timeout_ms=self._timeout_ms
        )
        return _Asked(
            leader=leader,
            question=question,
            connection=connection,
            in_flight=in_flight,
            is_reused=is_reused,
        )

    def _answer(self, asked: _Asked, stack: contextlib.ExitStack) -> ListOffsetsResponse:
        timeout_ms = self._timeout_ms
        try:
            return asked.connection.finish(asked.in_flight, timeout_ms=timeout_ms)
        except TransportError:
            if not asked.is_reused:
                raise
        fresh = self._connections.open(asked.leader)
        stack.callback(self._connections.give_back, fresh)
        return fresh.request(asked.question, version=LIST_OFFSETS_VERSION, timeout_ms=timeout_ms)


def _checked(
    leader: Broker, response: ListOffsetsResponse, wanted: Mapping[TopicPartition, int]
) -> OffsetsOf:
    listed = read_offset_lists(response)
    for tp, code in sorted(listed.errors.items()):
        raise BrokerError(
            code,
            "ListOffsets",
            f"{leader}: no offsets of {tp}: {error_name(code)}, {ErrorCode.of(code).text}",
            tp,
        )
    if listed.offsets.keys() != wanted.keys():
        raise RemoteProtocolError(f"{leader}: answered about other partitions than it was asked")
    return dict(listed.offsets)
