"""Describes errors of pyarrow and file systems in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from zkconsumer.drain.local.workers import GivenUp
from zkconsumer.errors import DrainError, ZkConsumerError

_SHOWN_CHARS = 2_000


@contextmanager
def described_by_arrow(what: str) -> Iterator[None]:
    """Convert pyarrow's exceptions to a ``DrainError``."""
    try:
        yield
    except ZkConsumerError:
        raise
    except (pa.ArrowException, OSError, BufferError, GivenUp) as error:
        message = " ".join(str(error).split())[:_SHOWN_CHARS]
        raise DrainError(f"{what}: {message or type(error).__name__}") from error
