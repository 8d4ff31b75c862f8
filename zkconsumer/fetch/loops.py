"""Which fetch loop runs: the native one with the native engine, else the one in Python."""

from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.records.engine import ENGINE, Engine


def loop_class(engine: Engine = ENGINE) -> type[PythonFetchLoop]:
    """The loop for an engine.

    The native one is a Python loop as well: it works like that where a connection has no descriptor
    or a queue is not a native one.
    """
    if engine is Engine.PURE:
        return PythonFetchLoop
    # It may be missing, or not be wanted.
    from zkconsumer.fetch.native_loop import NativeFetchLoop  # noqa: PLC0415

    return NativeFetchLoop
