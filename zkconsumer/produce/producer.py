"""A minimal synchronous producer of the 0.8 protocol.

One call writes one message set to one partition and returns when the broker acknowledged it. There
is no batching and no background thread: what it is for is knowing exactly what was written.

Source: the protocol of Kafka 0.8.2.2 ``ProducerRequest``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zkconsumer.errors import (
    BrokerError,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    TransportError,
)
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.transport import Connector
from zkconsumer.produce.routes import Routes
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import wait_ms
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.error_codes import ErrorCode, error_name
from zkconsumer.wire.messages.produce import (
    ProducedPartition,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceTopic,
)
from zkconsumer.wire.versions import OLDEST, version_for

PRODUCE_VERSION = version_for(ApiKey.PRODUCE, OLDEST)
ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """How a producer writes.

    Attributes:
        client_id: sent with every request.
        acks: ``ACKS_ALL`` waits for all in-sync replicas, ``ACKS_LEADER`` for the leader's log,
            ``ACKS_NONE`` for nothing (the base offset is then -1, and a failure goes unnoticed).
        timeout_ms: how long the broker, and then the answer, may take.
        retries: further tries after one that may have failed for a passing reason. A try whose
            answer was lost may have been written: then the set is there twice.
        backoff_ms: the pause before each further try.
    """

    client_id: str = "zkconsumer-producer"
    acks: int = ACKS_ALL
    timeout_ms: int = 10_000
    retries: int = 20
    backoff_ms: int = 200


class Producer:
    """Writes message sets to partitions. Thread: one at a time.

    Args:
        brokers: whom to ask for leaders.
        connector: connects to them.
        settings: see there.
        wait: waits for so many milliseconds.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        *,
        connector: Connector | None = None,
        settings: ProducerSettings | None = None,
        wait: Callable[[int], None] = wait_ms,
    ) -> None:
        settings = settings or ProducerSettings()
        self._routes = Routes(
            brokers,
            connector=connector,
            client_id=settings.client_id,
            timeout_ms=settings.timeout_ms,
        )
        self._settings = settings
        self._wait = wait

    def send(
        self, tp: TopicPartition, records: Sequence[Record], *, codec: Codec = Codec.NONE
    ) -> int:
        """Write these records as one set; their offsets are ignored, the broker gives new ones.

        Returns:
            The offset of the first one; -1 with ``ACKS_NONE``.

        Raises:
            LocalProtocolError: the records, or the topic's name, can't be written.
            BrokerError: the broker refused them, for good or until the tries were used up.
            TransportError: no answer until the tries were used up.
        """
        data = build_message_set(records, codec=codec)
        for _ in range(self._settings.retries):
            try:
                return self._send_once(tp, data)
            except LocalProtocolError:
                raise
            except (TransportError, ProtocolError):
                pass
            except BrokerError as error:
                if not ErrorCode.of(error.code).retriable:
                    raise
            self._routes.forget(tp)
            self._wait(self._settings.backoff_ms)
        return self._send_once(tp, data)

    def close(self) -> None:
        """Close all connections."""
        self._routes.close()

    def _send_once(self, tp: TopicPartition, data: bytes) -> int:
        leader = self._routes.leader_of(tp)
        partition = ProducePartition(partition=tp.partition, records=data)
        request = ProduceRequest(
            acks=self._settings.acks,
            timeout_ms=self._settings.timeout_ms,
            topics=(ProduceTopic(topic=tp.topic, partitions=(partition,)),),
        )
        connection = self._routes.connection_to(leader)
        timeout_ms = 2 * self._settings.timeout_ms
        try:
            if self._settings.acks == ACKS_NONE:
                connection.send_only(request, version=PRODUCE_VERSION, timeout_ms=timeout_ms)
                return -1
            response = connection.request(request, version=PRODUCE_VERSION, timeout_ms=timeout_ms)
        except (TransportError, ProtocolError):
            self._routes.hang_up(leader)
            raise
        answer = _answer_about(tp, response)
        if answer is None:
            raise RemoteProtocolError(f"{leader}: no word about {tp} in its answer")
        if answer.error_code != ErrorCode.NONE:
            raise BrokerError(
                answer.error_code,
                "Produce",
                f"{leader} refused a set for {tp}: {error_name(answer.error_code)}",
                tp,
            )
        return answer.base_offset


def _answer_about(tp: TopicPartition, response: ProduceResponse) -> ProducedPartition | None:
    for topic in response.topics:
        for answer in topic.partitions:
            if (topic.topic, answer.partition) == tp:
                return answer
    return None
