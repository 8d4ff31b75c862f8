"""What a drain in Spark's file systems says when its JVM is gone, without one."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
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


def storage_of(gateway: _Gateway, configuration: Callable[[], object]) -> HadoopStorage:
    """Of a session with this JVM."""
    jsc = SimpleNamespace(hadoopConfiguration=configuration)
    context = SimpleNamespace(_jvm=gateway, _gateway=gateway, _jsc=jsc)
    return HadoopStorage(cast("SparkSession", SimpleNamespace(sparkContext=context)), "/lake")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_jvm_that_is_gone_is_named(call: Callable[[HadoopStorage], object]) -> None:
    """With the drain's path and what to do, wherever in a call it dies."""
    storage = storage_of(_Gateway(), object)
    with pytest.raises(DrainError, match=r"/lake, at 'a': Spark's JVM is gone .*start again"):
        call(storage)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Spark's JVM is gone .*start again"),
        (Py4JNetworkError("Answer from Java side is empty"), "Spark's JVM is gone .*start again"),
        (Py4JError("An error occurred while calling o1.opt"), "Spark's JVM is gone .*start again"),
        (
            Py4JError("An error occurred while calling o1.opt. Trace:\npy4j.X: no opt\n\tat y"),
            "py4j.X: no opt$",
        ),
    ],
)
def test_only_a_jvm_that_is_gone_is_said_to_be(error: Exception, told: str) -> None:
    """When the drain opens its path; one that lacks a method would not be mended by a start."""

    def fail() -> object:
        raise error

    with pytest.raises(DrainError, match=rf"^/lake, at '/lake': {told}"):
        storage_of(_Gateway(), fail)
