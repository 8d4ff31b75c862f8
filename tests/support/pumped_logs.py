"""Logs large enough for the pump in C, and what a broker may do while it fetches them."""

from random import Random
from typing import Final

from tests.support.log_broker import LogBroker
from zkconsumer.records.codecs import Codec

ALL_OF_0_8: Final = (Codec.NONE, Codec.GZIP, Codec.SNAPPY)
ALL_OF_0_10: Final = (*ALL_OF_0_8, Codec.LZ4)
ALL: Final = (*ALL_OF_0_10, Codec.ZSTD)


def fill(broker: LogBroker, magic: int = 2, codecs: tuple[Codec, ...] = ALL, sets: int = 60) -> int:
    """Give each log sets of these codecs; return the number of records of one."""
    chance = Random(magic)
    for log in broker.logs:
        for number in range(sets):
            values = [chance.randbytes(chance.choice((20, 400, 900))) for _ in range(20)]
            log.add([b"%d" % number, None, *values], codecs[number % len(codecs)], magic)
    return broker.logs[0].end


def hang(broker: LogBroker) -> None:
    """Leave the next request without a response."""
    broker.silences = 1


def cut_early(broker: LogBroker) -> None:
    """Close the connection within the length of the next response."""
    broker.cuts.append(3)


def throttle(broker: LogBroker) -> None:
    """Name a throttle time in the next response."""
    broker.throttle_ms.append(50)
