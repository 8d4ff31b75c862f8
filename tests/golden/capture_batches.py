"""Captures batches of magic 2 as Kafka's own classes write and read them.

Run it with ``python -m tests.golden.capture_batches``; it needs a JDK and writes data/batches.json:
the batches that Kafka 2.8 writes from given records, the same after its log cleaner, markers, and
our batches with each codec; each with the records that Kafka 3.9 reads from it.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from tests.golden.jvm import DATA, run_oracle
from tests.support.markers import build_marker
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.rows import Headers
from zkconsumer.records.transactions import Marker
from zkconsumer.sandbox import jars

BATCHES = DATA / "batches.json"
WRITER, READER = "BatchWriterOracle.java", "BatchReaderOracle.java"
NOW = 1_700_000_000_000
APPENDED = NOW + 7

KINDS = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}


class Golden(TypedDict):
    """A record set and the records that Kafka 3.9 reads from it."""

    name: str
    hex: str
    read: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """The properties and records of one batch."""

    name: str
    records: list[Record]
    headers: dict[int, Headers]
    codec: Codec
    kind: TimestampType
    traits: BatchTraits

    def ours(self) -> bytes:
        """Return the batch as our code writes it."""
        return build_batch(self.records, codec=self.codec, headers=self.headers, traits=self.traits)

    def oracle_line(self) -> str:
        """Return the batch's line for the Java writer; with append time, records keep their own."""
        traits = self.traits
        words: list[object] = ["write", self.codec.name.lower(), KINDS[self.kind], APPENDED]
        words += [traits.base_offset, traits.producer_id, traits.producer_epoch]
        words += [traits.base_sequence, str(traits.is_transactional).lower(), traits.leader_epoch]
        for place, record in enumerate(self.records):
            parts = [
                str(record.offset),
                str(record.timestamp),
                in_hex(record.key),
                in_hex(record.value),
            ]
            for name, value in self.headers.get(place, ()):
                parts.append(f"{name.encode().hex()}={in_hex(value)}")
            words.append(":".join(parts))
        return " ".join(map(str, words))


def in_hex(data: bytes | None) -> str:
    """Return bytes in the oracles' format."""
    return "-" if data is None else data.hex() or "."


def cases() -> Iterator[Case]:
    """Yield batches with each codec and timestamp type, in and out of transactions."""
    source = random.Random(9)
    for codec in Codec:
        for kind, time in KINDS.items():
            for is_transactional in (False, True):
                base = source.choice([0, 70, 2**40])
                stamp = APPENDED if kind is TimestampType.LOG_APPEND_TIME else NOW
                records = [
                    Record(
                        base + at,
                        source.choice([None, b"", f"key-{at}".encode()]),
                        source.choice([None, b"", b"v" * 70, source.randbytes(9)]),
                        stamp + (source.randint(-9000, 9000) if stamp == NOW else 0),
                        kind,
                    )
                    for at in range(source.choice([1, 12, 80]))
                ]
                headers: dict[int, Headers] = {
                    at: (("trace", source.randbytes(8)), ("größe", None), ("trace", b""))
                    for at in range(0, len(records), 5)
                }
                traits = BatchTraits(
                    base_offset=base,
                    leader_epoch=source.randint(-1, 300),
                    producer_id=source.randint(0, 2**50) if is_transactional else -1,
                    producer_epoch=4 if is_transactional else -1,
                    base_sequence=30 if is_transactional else -1,
                    is_transactional=is_transactional,
                )
                name = f"{codec.name.lower()} {time} {len(records)} records"
                name += " in a transaction" if is_transactional else ""
                yield Case(
                    name=name,
                    records=records,
                    headers=headers,
                    codec=codec,
                    kind=kind,
                    traits=traits,
                )


MARKERS = {
    "abort": (Marker.ABORT, 9, NOW, 77, 3, 5, 2),
    "commit": (Marker.COMMIT, 2**33, NOW, 2**40, 0, -1, 2**31 - 1),
}
"""Type, offset, timestamp, producer id and epoch, leader epoch, coordinator epoch."""

KEPT = [(), (0,), (3, 4, 7), (11,)]
"""The records that the log cleaner leaves, by index in a batch of twelve."""


def our_marker(name: str) -> bytes:
    """Return a transaction marker as our code writes it."""
    kind, offset, timestamp, producer_id, epoch, leader_epoch, coordinator_epoch = MARKERS[name]
    traits = BatchTraits(producer_id=producer_id, producer_epoch=epoch, leader_epoch=leader_epoch)
    return build_marker(
        kind, offset, timestamp=timestamp, traits=traits, coordinator_epoch=coordinator_epoch
    )


def query_oracle(oracle: str, version: str, lines: Sequence[str]) -> list[str]:
    """Return the output of an oracle on the class path of a Kafka version."""
    return run_oracle(oracle, [], lines, class_path=jars.class_path(version))


def capture() -> list[Golden]:
    """Write batches with Kafka's code and ours, and let Kafka read all of them."""
    every = list(cases())
    names = [f"Kafka's {case.name}" for case in every]
    lines = [case.oracle_line() for case in every]
    names += [f"Kafka's {name} marker" for name in MARKERS]
    lines += [" ".join(map(str, ["marker", kind.name, *rest])) for kind, *rest in MARKERS.values()]
    written = query_oracle(WRITER, "2.8.2", lines)
    twelve = [at for at, case in enumerate(every) if len(case.records) == 12]
    compacting = [(at, kept) for at in twelve for kept in KEPT]
    names += [f"Kafka's {every[at].name}, compacted to {list(kept)}" for at, kept in compacting]
    written += query_oracle(
        WRITER,
        "2.8.2",
        [
            " ".join(
                ["compact", written[at], *(str(every[at].records[size].offset) for size in kept)]
            )
            for at, kept in compacting
        ],
    )
    names += [f"our {case.name}" for case in every] + [f"our {name} marker" for name in MARKERS]
    written += [case.ours().hex() for case in every] + [
        our_marker(marker).hex() for marker in MARKERS
    ]
    read = query_oracle(READER, "3.9.1", written)
    return [
        Golden(name=name, hex=data, read=words)
        for name, data, words in zip(names, written, read, strict=True)
    ]


if __name__ == "__main__":
    BATCHES.write_text(json.dumps(capture(), indent=1) + "\n")
