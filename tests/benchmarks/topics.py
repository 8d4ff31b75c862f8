"""Fills the topics to read: once per session, with sets that are built once and sent often."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle

from tests.benchmarks.payloads import message_sets
from tests.support.raw_connections import raw_connection
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.produce.settings import ACKS_LEADER
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.produce import ProducePartition, ProduceRequest, ProduceTopic
from zkconsumer.wire.versions import KNOWN_VERSIONS, OLDEST

TIMEOUT_MS = 60_000
# The set size of the original's asynchronous producer. Large uncompressed sets would be produced
# faster, but the broker adds at most one index entry for each, and for every fetch searches from
# there message by message: the broker's search would be measured instead of the clients.
_SET_RECORDS = 200
_MOST_SET_BYTES = 500_000
_DIFFERENT_SETS = 16
_PRODUCE_VERSION = KNOWN_VERSIONS[OLDEST][ApiKey.PRODUCE].last


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """A topic full of values of one length.

    Attributes:
        value_bytes: the length of each value; keys are null.
        codec: the codec that producers use.
        partitions: the number of partitions; all have equally many records.
        records: the number of records, over all partitions.
    """

    value_bytes: int
    codec: Codec
    partitions: int
    records: int

    @property
    def name(self) -> str:
        """The topic's name, such as ``100-none-p4``."""
        return f"{self.value_bytes}-{self.codec.name.lower()}-p{self.partitions}"

    @property
    def partition_records(self) -> int:
        """The number of records in each partition."""
        return self.records // self.partitions


def fill(sandbox: Sandbox, spec: TopicSpec) -> None:
    """Create the topic with all its records, and have them written to disk.

    Otherwise they would be written while something is measured, and disturb it.
    """
    sandbox.create_topic(spec.name, spec.partitions)
    sizes = set_sizes(spec)
    different = min(_DIFFERENT_SETS, len(sizes))
    whole = message_sets(spec.value_bytes, spec.codec, records_in_each=sizes[0], count=different)
    last = message_sets(spec.value_bytes, spec.codec, records_in_each=sizes[-1], count=1)
    [broker] = sandbox.brokers

    def fill_one(partition: int) -> None:
        with closing(raw_connection(broker, timeout_ms=TIMEOUT_MS)) as connection:
            sets = cycle(whole)
            for size in sizes:
                data = next(sets) if size == sizes[0] else last[0]
                produce(connection, spec.name, partition, data)

    with ThreadPoolExecutor(spec.partitions) as pool:
        list(pool.map(fill_one, range(spec.partitions)))
    os.sync()


def set_sizes(spec: TopicSpec) -> list[int]:
    """Return the number of records in each set of a partition; only the last one may differ."""
    step = max(1, min(_SET_RECORDS, _MOST_SET_BYTES // (spec.value_bytes + 26)))
    whole, rest = divmod(spec.partition_records, step)
    return [step] * whole + [rest] * bool(rest)


def produce(connection: BrokerConnection, topic: str, partition: int, data: bytes) -> None:
    """Append a set to a partition and wait until its leader has it."""
    request = ProduceRequest(
        acks=ACKS_LEADER,
        timeout_ms=TIMEOUT_MS,
        topics=(
            ProduceTopic(
                topic=topic, partitions=(ProducePartition(partition=partition, records=data),)
            ),
        ),
    )
    response = connection.request(request, version=_PRODUCE_VERSION, timeout_ms=TIMEOUT_MS)
    [result] = response.topics[0].partitions
    assert result.error_code == 0, f"{topic} [{partition}] was refused: {result.error_code}"
