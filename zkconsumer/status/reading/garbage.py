"""Suspends Python's cyclic garbage collection while a cluster is read."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend the garbage collector while the block runs, unless it is off already.

    A snapshot consists of values without cycles, by the hundred thousand, and after every few
    hundred of them the collector would traverse the others: a fifth of the time that a large
    cluster takes. Cycles elsewhere are collected after the block.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
