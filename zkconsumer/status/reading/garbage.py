"""Keeps Python's search for cyclic garbage from a reading."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Let the collector rest while the block runs; whoever switched it off keeps it so.

    A snapshot is made of values without cycles, by the hundred thousand, and after each few hundred
    of them the collector goes through those that are there already: a fifth of the time that a
    large cluster takes. Cycles that others leave meanwhile wait for the end of the block.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
