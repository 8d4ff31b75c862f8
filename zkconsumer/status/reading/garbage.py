"""Suspends Python's cyclic garbage collection while a cluster is read."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend the garbage collector while the block runs, unless it is off already.

    A snapshot consists of hundreds of thousands of values without cycles. The collector would
    traverse them after every few hundred new ones, which is a fifth of the time of reading a large
    cluster. Other cycles are collected after the block.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
