"""Makes values like those of real topics: log lines, which compress as logs do."""

import random
from collections.abc import Iterator

from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec

_TEXT_BYTES = 1 << 22


def log_text(size_bytes: int) -> bytes:
    """Return log lines like a web server's, the same ones every time."""
    chance = random.Random(1)
    lines, total = [], 0
    while total < size_bytes:
        line = (
            f"10.{chance.randrange(256)}.{chance.randrange(256)}.7 - user{chance.randrange(9999)} "
            f"[11/Mar/2015:10:{chance.randrange(60):02}:{chance.randrange(60):02} +0000] "
            f'"GET /{chance.choice(("shop", "cart", "img", "api/v1"))}/{chance.randrange(99999)} '
            f'HTTP/1.1" {chance.choice((200, 200, 200, 304, 404))} {chance.randrange(90000)}\n'
        )
        lines.append(line)
        total += len(line)
    return "".join(lines).encode()


def values(value_bytes: int) -> Iterator[bytes]:
    """Yield pieces of log text, without end."""
    text = log_text(max(_TEXT_BYTES, 4 * value_bytes))
    chance = random.Random(2)
    while True:
        start = chance.randrange(len(text) - value_bytes)
        yield text[start : start + value_bytes]


def message_sets(
    value_bytes: int, codec: Codec, *, records_in_each: int, count: int
) -> list[bytes]:
    """Return sets with null keys, which can be produced repeatedly: the broker assigns offsets."""
    source = values(value_bytes)
    return [
        build_message_set(
            [Record(offset, None, next(source)) for offset in range(records_in_each)], codec=codec
        )
        for _ in range(count)
    ]
