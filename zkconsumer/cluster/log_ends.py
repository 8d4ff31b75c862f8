"""Asks the leaders where their logs end (or begin)."""

from collections.abc import Callable, Iterable, Mapping

from zkconsumer.cluster.offset_lists import offsets_question, read_offset_lists
from zkconsumer.errors import ProtocolError, TransportError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.list_offsets import LATEST_TIMESTAMP
from zkconsumer.wire.versions import OLDEST, version_for

LIST_OFFSETS_VERSION = version_for(ApiKey.LIST_OFFSETS, OLDEST)


class LogEndReader:
    """Reads log end offsets.

    Args:
        open_connection: connects to a broker.
        timeout_ms: how long one broker may take.
    """

    def __init__(
        self, open_connection: Callable[[Broker], BrokerConnection], *, timeout_ms: int
    ) -> None:
        self._open = open_connection
        self._timeout_ms = timeout_ms

    def read(
        self, leaders: Mapping[TopicPartition, Broker], time: int = LATEST_TIMESTAMP
    ) -> dict[TopicPartition, int]:
        """The offset of each partition whose leader gave one.

        Args:
            leaders: whom to ask about which partition.
            time: ``LATEST_TIMESTAMP`` (the high watermark) or ``EARLIEST_TIMESTAMP``.
        """
        by_broker: dict[Broker, list[TopicPartition]] = {}
        for tp, broker in leaders.items():
            by_broker.setdefault(broker, []).append(tp)
        ends: dict[TopicPartition, int] = {}
        for broker, partitions in by_broker.items():
            try:
                ends.update(self._ask(broker, partitions, time))
            except (TransportError, ProtocolError):
                # A broker that is away has no log ends to tell; the others have.
                continue
        return ends

    def _ask(
        self, broker: Broker, partitions: Iterable[TopicPartition], time: int
    ) -> dict[TopicPartition, int]:
        request = offsets_question(dict.fromkeys(partitions, time))
        connection = self._open(broker)
        try:
            response = connection.request(
                request, version=LIST_OFFSETS_VERSION, timeout_ms=self._timeout_ms
            )
        finally:
            connection.close()
        listed = read_offset_lists(response).offsets
        return {tp: offsets[0] for tp, offsets in listed.items() if offsets}
