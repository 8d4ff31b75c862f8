"""Choose the fetch loop: the native one with the native engine, else the Python one."""

from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.records.engine import ENGINE, Engine


def loop_class(engine: Engine = ENGINE) -> type[PythonFetchLoop]:
    """Return the loop class of an engine.

    The native one is a Python loop as well: it runs as such if a connection has no descriptor
    or a queue is not a native one.
    """
    if engine is Engine.PURE:
        return PythonFetchLoop
    # It may not be installed, or not be wanted.
    from zkconsumer.fetch.native_loop import NativeFetchLoop  # noqa: PLC0415

    return NativeFetchLoop
