"""What a drain in Spark's file systems says when its JVM is gone, without one."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.errors import DrainError

CALLS: dict[str, Callable[[HadoopStorage], object]] = {
    "read": lambda storage: storage.read("a"),
    "create": lambda storage: storage.create("a", b""),
    "names": lambda storage: storage.names("a"),
    "files": lambda storage: storage.files("a"),
    "move": lambda storage: storage.move("a", "b"),
    "delete": lambda storage: storage.delete("a"),
}


class _Gateway:
    """A JVM that makes one path, and is killed."""

    def __init__(self) -> None:
        self._is_there = True

    def __getattr__(self, _name: str) -> Any:
        return self

    def __call__(self, *_: object) -> Any:
        return self

    def Path(self, *_: object) -> Any:  # noqa: N802 - Java's
        """Refuse the connection, as the port of a dead process does."""
        if not self._is_there:
            raise ConnectionRefusedError(111, "Connection refused")
        self._is_there = False
        return self

    def toString(self) -> str:  # noqa: N802 - Java's
        """See Java's."""
        return "file:/lake"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_jvm_that_is_gone_is_named(call: Callable[[HadoopStorage], object]) -> None:
    """With the drain's path and what to do, wherever in a call it dies."""
    gateway = _Gateway()
    context = SimpleNamespace(_jvm=gateway, _gateway=gateway, _jsc=gateway)
    session = cast("SparkSession", SimpleNamespace(sparkContext=context))
    storage = HadoopStorage(session, "/lake")
    with pytest.raises(DrainError, match=r"/lake, at 'a': Spark's JVM is gone .*start again"):
        call(storage)


def test_a_jvm_that_was_gone_before_is_named() -> None:
    """When the drain opens its path."""

    def refuse() -> object:
        raise ConnectionRefusedError(111, "Connection refused")

    gateway = _Gateway()
    jsc = SimpleNamespace(hadoopConfiguration=refuse)
    context = SimpleNamespace(_jvm=gateway, _gateway=gateway, _jsc=jsc)
    session = cast("SparkSession", SimpleNamespace(sparkContext=context))
    with pytest.raises(DrainError, match=r"/lake, at '/lake': Spark's JVM is gone .*start again"):
        HadoopStorage(session, "/lake")
