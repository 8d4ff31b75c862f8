"""A system that has no thread left."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Never

import pytest


@contextmanager
def no_threads() -> Iterator[None]:
    """Let no thread start while the block runs."""

    def refuse(_: object) -> Never:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("threading.Thread.start", refuse)
        yield
