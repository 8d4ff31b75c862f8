"""A broker whose responses are larger than requested, or have impossible offsets."""

import struct
from dataclasses import replace

import pytest

from tests.fakes.fake_script import Raw, ScriptedReply
from tests.support.chunks import T0
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    claim_on,
    each_loop,
    new_queue,
    take_values,
    values,
    wait_for,
)
from tests.support.fetch_responses import fetched
from tests.support.record_sets import records
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Chunk
from zkconsumer.records.build import build_message_set
from zkconsumer.wire.api import ApiKey

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")

ANNOUNCED = 600 << 20
BIT_36 = 1 << 36


def with_offset(entry: bytes, offset: int) -> bytes:
    """Set another offset in an entry, which no checksum covers."""
    return offset.to_bytes(8, "big", signed=True) + entry[8:]


def test_a_response_far_beyond_the_requested_size_is_not_awaited() -> None:
    """Its length alone closes the connection, and the next one gets the same request."""
    with FetchBench() as bench:
        bench.cluster.append(T0, values("a", "b"))
        bench.brokers[0].script(ApiKey.FETCH, Raw(struct.pack(">iii", ANNOUNCED, 0, 1)))
        patient = replace(SETTINGS, request_timeout_ms=600_000)
        queue, loop = new_queue(10), bench.loop(settings=patient)
        loop.add(claim_on(queue), 0)
        bench.run(loop)
        assert take_values(queue, 2) == ["a", "b"]
        assert bench.opened == 2
        assert bench.lost == []


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_bit_that_flips_once_costs_one_more_fetch(at: int) -> None:
    """The position does not jump ahead, and no record is reported as damaged."""
    entries = [build_message_set(records(number)) for number in range(3)]
    entries[at] = with_offset(entries[at], at + BIT_36)
    with FetchBench() as bench:
        bench.cluster.append(T0, records(0, 1, 2))
        scripted = ScriptedReply(fetched(T0, b"".join(entries), high_watermark=3))
        bench.brokers[0].script(ApiKey.FETCH, scripted)
        queue, loop = new_queue(10), bench.loop()
        claim = claim_on(queue)
        loop.add(claim, 0)
        bench.run(loop)
        assert take_values(queue, 3) == [f"value {number}" * 3 for number in range(3)]
        wait_for(lambda: bench.fetches_of(T0) >= 3, "it to go on behind them")
        last = bench.brokers[0].requests[-1].request
        assert last.topics[0].partitions[0].fetch_offset == 3  # type: ignore[attr-defined]
        assert bench.opened == 1


@pytest.mark.parametrize("magic", [0, 1])
def test_an_offset_that_stays_wrong_is_poison(magic: int) -> None:
    """Records before it are delivered, and the poison has its bytes; nothing is skipped."""
    entries = [build_message_set(records(number, magic=magic), magic=magic) for number in range(3)]
    entries[1] = with_offset(entries[1], 1 + BIT_36)
    whole, rest = b"".join(entries), b"".join(entries[1:])
    with FetchBench() as bench:
        bench.cluster.append(T0, records(0, 1, 2))
        lies = [
            ScriptedReply(fetched(T0, data, high_watermark=3)) for data in (whole, rest, rest, rest)
        ]
        bench.brokers[0].script(ApiKey.FETCH, *lies)
        queue, loop = new_queue(10), bench.loop()
        claim = claim_on(queue)
        loop.add(claim, 0)
        bench.run(loop)
        delivered: list[int] = []
        poison = None
        while poison is None:
            chunk = queue.take(5_000)
            assert isinstance(chunk, Chunk)
            delivered += [record.offset for record in chunk.records]
            poison = chunk.poison
            queue.release(chunk)
        assert delivered == [0]
        assert (poison.offset, poison.next_offset, poison.raw) == (1, 2, entries[1])
        assert isinstance(poison.error, PartitionFailed)
        assert f"claims offset {1 + BIT_36}, but the log ends at 3" in str(poison.error)
        assert poison.error.__traceback__ is None
